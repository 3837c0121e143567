"""The computations of AUCClassifierCV: held-out scores of the cells that it tries, fold by fold.

The square loss with few features reads the data once: the moments of each training part are merged
from those of the other folds, and one factorisation gives all α of a `standardize`, coordinate
descent those with an l1 part. With many features one multi-shift conjugate gradient gives all α of
a `standardize`. The other losses are solved from one α to the next, by Newton's method with the
moments as preconditioner, or by cutting planes. If the moments are known, one Newton step from the
optimum of all rows mostly suffices (`centres`). The held-out scores of a path of α are one product.
"""

import itertools
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from aucmax.data.rows import Rows
from aucmax.data.rows.parts import InParts
from aucmax.data.rows.store import Store
from aucmax.estimators.centres import Centres, Place
from aucmax.estimators.scoring import Cell, Judge
from aucmax.estimators.selection import Grid, best_cell, penalty_of, takes
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES, RankingLoss
from aucmax.objective.penalties import Penalty
from aucmax.objective.problem import MomentsProblem, Problem, RowsProblem
from aucmax.solvers import ConjugateGradient, Exact, Monitor, Run
from aucmax.solvers.auto import choose
from aucmax.solvers.batch.newton import Expansion
from aucmax.statistics.base import members
from aucmax.statistics.labelled import Labelled
from aucmax.statistics.moments import ClassMoments

__all__ = ["Fold", "SearchProgress", "Tuning", "fold_moments", "tune", "warn_of"]

# times tol suffices in the folds, as a ranking is less sensitive than J; not for a step from the
# optimum of all rows, whose error depends on the held-out rows
_LOOSE_TOL_FACTOR = 10.0
_ROWS_PER_FEATURE = 50  # of a training part, from which other rows hardly move the optimum
_MIN_EFFECTIVE_ROWS = 100  # effective rows of each class, below which a single row may move it far


class Fold(NamedTuple):
    """Row numbers of a training and of a held-out part."""

    train: np.ndarray
    test: np.ndarray


class Tuning(NamedTuple):
    """``scores`` (folds, *grid.shape), NaN for cells without one, and messages of solvers.

    ``kept`` has, for each fold, the data from which the held-out scores of a cell follow.
    """

    scores: np.ndarray
    messages: list[str]
    kept: list["_Fold"]
    store: Store

    def held_out(self, place: Place) -> list[np.ndarray]:
        """Return the held-out scores of a cell, fold by fold."""
        kept = [(fold.fold.test, fold.kept[place][:, None]) for fold in self.kept]
        asked = [(rows, W) for rows, W in kept if len(W) == self.store.n_features]
        scores = self.store.scores_of(asked) if asked else iter(())
        return [(next(scores) if len(W) == self.store.n_features else W)[:, 0] for _, W in kept]

    def scores_of(self, coef: np.ndarray) -> list[np.ndarray]:
        """Return the scores w·x of the same rows, fold by fold, for one w."""
        asked = [(fold.fold.test, coef[:, None]) for fold in self.kept]
        return [Z[:, 0] for Z in self.store.scores_of(asked)]

    def start(self) -> np.ndarray | None:
        """Return coefficients near those of the best cell on all rows, if there are any."""
        return _mean_start(self.kept)


class SearchProgress(NamedTuple):
    """The progress of a search.

    Parameters
    ----------
    what : str
        The path of α that begins.
    done, total : int
        Paths: one for each fold and line of α to try. There are more as the search continues.
    scores : ndarray, shape (folds, *grid.shape)
        Held-out scores so far, NaN where there is none yet; a read-only view that is filled as the
        search continues.
    finished : ndarray of bool, shape (folds,)
        The folds in which all first cells are finished; also a view.
    grid : Grid
        The cells.
    """

    what: str
    done: int
    total: int
    scores: np.ndarray
    finished: np.ndarray
    grid: Grid

    @property
    def best(self) -> float:
        """The highest mean score of a cell over the finished folds, or NaN."""
        scores = self.scores[self.finished] if self.finished.any() else self.scores
        counts = np.isfinite(scores).sum(axis=0)
        scored = counts > 0
        means = np.nansum(scores, axis=0)[scored] / counts[scored]
        return float(means.max()) if len(means) else float("nan")


def tune(
    labelled: Labelled,
    folds: Sequence[Fold],
    grid: Grid,
    *,
    judge: Judge,
    training: Sequence[ClassMoments] | None,
    whole: RowsProblem,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
    callback: Callable[[SearchProgress], object],
) -> Tuning:
    """Return the held-out scores of the cells that a walk on the grid visits, in every fold.

    Parameters
    ----------
    labelled : Labelled
        n rows.
    folds : sequence of Fold
    grid : Grid
    judge : Judge
        Scores the cells on the held-out rows.
    training : sequence of ClassMoments, optional
        Those of the training parts; the square loss is then solved from them.
    whole : RowsProblem
        All rows of positive weight.
    tol, max_iter : float, int
        Those of the final model; the folds use ten times ``tol``.
    n_jobs : int, optional
        Folds solved at a time, on threads.
    callback : callable
        Called with a `SearchProgress` before every path of α, by the thread that solves it, and at
        the end.
    """
    moments = [None] * len(folds) if training is None else training
    shared = whole if whole.n_samples == len(labelled.positive) else None
    parts = [_Fold(labelled, *one, judge, shared) for one in zip(folds, moments, strict=True)]
    board = _Board(len(folds), grid, callback)
    walk = _Walk(parts, labelled.store, Centres(whole, grid, tol, max_iter), board)
    tried = np.zeros(grid.shape, dtype=bool)
    messages: list[str] = []
    # the folds of rows in parts are scored in one pass, others one by one, to show progress
    every = list(range(len(folds)))
    groups = [every] if isinstance(labelled.store, InParts) else [[k] for k in every]
    pool = Parallel(n_jobs=n_jobs, prefer="threads")
    cells = grid.first()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)  # of cells that predict one class
        while cells.any():
            walk.begin(cells)
            tables = pool(delayed(walk.tables)(group, cells) for group in groups)
            for k, (scores, fold_messages) in enumerate(itertools.chain.from_iterable(tables)):
                board.scores[k][cells] = scores[cells]
                messages += fold_messages
            tried |= cells
            best = best_cell(board.scores, grid.decades)
            for part in parts:
                part.begin_at(best)
            cells = grid.following(best, tried)
    board.done = board.total
    board.tell("refit")
    return Tuning(board.scores, messages, parts, labelled.store)


class _Board:
    """The scores (folds, *grid.shape) so far, and the number of finished paths."""

    def __init__(
        self, n_folds: int, grid: Grid, callback: Callable[[SearchProgress], object]
    ) -> None:
        self.grid, self.callback = grid, callback
        self.scores = np.full((n_folds, *grid.shape), np.nan)
        self.finished = np.zeros(n_folds, dtype=bool)
        self.done, self.total, self._lock = 0, 0, threading.Lock()
        self._shown = self.scores.view(), self.finished.view()
        for view in self._shown:
            view.flags.writeable = False  # a callback must not change what is chosen

    def tell(self, what: str) -> None:
        """Tell the callback which path begins."""
        self.callback(SearchProgress(what, self.done, self.total, *self._shown, self.grid))

    def count(self) -> None:
        """Count a path as finished."""
        with self._lock:
            self.done += 1

    def finish(self, k: int, scores: np.ndarray) -> None:
        """Show the scores of a fold whose first cells are finished."""
        if not self.finished[k]:
            self.scores[k], self.finished[k] = scores, True


class _Walk(NamedTuple):
    """The folds of a search, and the starting points of their solvers."""

    parts: list["_Fold"]
    store: Store
    centres: Centres
    board: _Board

    def begin(self, cells: np.ndarray) -> None:
        """Prepare for some cells, given as a mask."""
        self.board.total += len(self.parts) * int(cells.any(axis=-1).sum())
        if any(part.steps for part in self.parts):
            self.centres.find(cells, _mean_start(self.parts), _LOOSE_TOL_FACTOR * self.centres.tol)

    def tables(self, group: list[int], cells: np.ndarray) -> list[tuple[np.ndarray, list[str]]]:
        """Return the scores of some cells in a group of folds, NaN elsewhere, and messages."""
        grid = self.board.grid
        answers = [self._answers(k, cells) for k in group]
        coefs = [np.hstack([answer.coefs for answer in of_fold]) for of_fold in answers]
        asked = [(self.parts[k].fold.test, W) for k, W in zip(group, coefs, strict=True)]
        tables = []
        for k, of_fold, Z in zip(group, answers, self.store.scores_of(asked), strict=True):
            scores = np.full(grid.shape, np.nan)
            for answer in of_fold:
                z, Z = np.split(Z, [len(answer.new)], axis=1)
                scores[answer.line][answer.new] = self.parts[k].judged(answer, z)
            self.board.finish(k, scores)
            messages = [
                f"fold {k}: {grid.name(answer.line)}: {message}"
                for answer in of_fold
                for message in answer.messages
            ]
            tables.append((scores, messages))  # and no coefficients, of which wide data have many
        return tables

    def _answers(self, k: int, cells: np.ndarray) -> list["_Answer"]:
        """Solve some cells in a fold, line by line."""
        answers = []
        for line in zip(*np.nonzero(cells.any(axis=-1)), strict=True):
            self.board.tell(f"fold {k + 1}: {self.board.grid.name(line)}")
            answers.append(self.parts[k].solve(line, np.flatnonzero(cells[line]), self.centres))
            self.board.count()
        self.parts[k].forget_rows()
        return answers


def fold_moments(
    labelled: Labelled, folds: Sequence[Fold]
) -> tuple[list[ClassMoments], ClassMoments]:
    """Return the moments of each training part, and those of all rows.

    If the held-out parts contain every row once and each training part is the rest, the data are
    read once, or once per round: all moments are merged from prefix and suffix sums of those of the
    parts. Subtracting from the total would leave noise if a feature vanishes from a part.
    """
    n, empty = len(labelled.positive), ClassMoments(classes=[-1.0, 1.0])
    rounds = _rounds(folds, n)
    if not rounds:
        every = Fold(np.arange(n), np.arange(n))
        parts = _moments_of([fold.train for fold in (*folds, every)], labelled)
        return parts[:-1], parts[-1]
    training: list[ClassMoments] = []
    for held_out in rounds:
        parts = _moments_of([fold.test for fold in held_out], labelled)
        suffixes = [empty, *itertools.accumulate(reversed(parts))][::-1]
        prefixes = [empty, *itertools.accumulate(parts)]
        training += [a + b for a, b in zip(prefixes[:-1], suffixes[1:], strict=True)]
    return training, prefixes[-1]


def _moments_of(parts: Sequence[np.ndarray], labelled: Labelled) -> list[ClassMoments]:
    """Return the moments of two sets of rows, in one pass over all."""
    positive, weight = labelled.positive, labelled.weight
    counts = (np.bincount(rows, minlength=len(positive)) for rows in parts)
    times = [count.astype(np.min_scalar_type(count.max())) for count in counts]
    return list(labelled.store.total(_moments_by_part, (positive, weight, *times)))


def _moments_by_part(
    X: Rows, positive: np.ndarray, weight: np.ndarray | None, *times: np.ndarray
) -> tuple[ClassMoments, ...]:
    parts, sign = [], np.where(positive, 1.0, -1.0)
    for count in times:
        rows = np.repeat(np.arange(len(count)), count)
        of_rows = None if weight is None else weight[rows]
        empty = ClassMoments(classes=[-1.0, 1.0])
        parts.append(empty.add_rows(members(X, rows), sign[rows], of_rows))
    return tuple(parts)


def _rounds(folds: Sequence[Fold], n: int) -> list[list[Fold]]:
    """Return the folds in rounds that hold out each row once; none if they do not."""
    if not all(_is_the_rest(fold, n) for fold in folds):
        return []
    rounds: list[list[Fold]] = [[]]
    times = np.zeros(n, dtype=np.int32)
    for fold in folds:
        if times.all():
            rounds.append([])
            times[:] = 0
        rounds[-1].append(fold)
        times[fold.test] += 1
        if times.max() > 1:
            return []
    return rounds if times.all() else []


def _is_the_rest(fold: Fold, n: int) -> bool:
    """Return whether the training part has each row once that is not held out."""
    times = np.zeros(n, dtype=np.int32)
    for rows in fold:
        np.add.at(times, rows, 1)
    return bool(np.all(times == 1))


class _Answer(NamedTuple):
    """Coefficients (d, k) of k cells and their models; none if no solver supports the cells.

    They are those of the α ``new`` on a line of the grid.
    """

    line: Place
    new: np.ndarray
    coefs: np.ndarray
    models: Sequence[Cell]
    messages: list[str]


class _Fold:
    """A fold's data: the training problem by rows or by moments, and the held-out rows."""

    def __init__(
        self,
        labelled: Labelled,
        fold: Fold,
        moments: ClassMoments | None,
        judge: Judge,
        whole: RowsProblem | None,
    ) -> None:
        self.labelled, self.fold, self.moments = labelled, fold, moments
        self.judge, self.held = judge, judge.held_out(fold.test)
        self._rows: RowsProblem | None = None
        # a part with most of the rows, whose moments are known, is a view of all rows
        most = 2 * len(fold.train) > len(labelled.positive)
        self.whole = whole if moments is not None and most else None
        many = len(fold.train) >= _ROWS_PER_FEATURE * labelled.store.n_features
        enough = moments is not None and bool(moments.effective_rows.min() >= _MIN_EFFECTIVE_ROWS)
        self.steps = self.whole is not None and many and enough
        self._step: tuple[Expansion, Expansion] | None = None  # the last one, and its centre
        self.kept: dict[Place, np.ndarray] = {}  # of each cell, see `judged`
        self._solved: dict[Place, np.ndarray] = {}  # coefficients, since `begin_at`
        self.start: np.ndarray | None = None

    def rows(self) -> RowsProblem:
        """Return the training rows as a problem; made once, only where a solver needs rows."""
        train = self.fold.train
        if self._rows is None and self.whole is not None and self.moments is not None:
            self._rows = self.whole.part(train, self.moments)
        elif self._rows is None:
            labelled = self.labelled
            rows, weight = labelled.store.taken(train), labelled.weight_of(train)
            self._rows = RowsProblem.of(rows, labelled.positive[train], weight, self.moments)
        return self._rows

    def forget_rows(self) -> None:
        """Free a copy of the training rows, and a step that would need all rows again."""
        if self.whole is None:
            self._rows = None
        if self._step is not None and self._step[1].matrix is None:
            self._step = None

    def begin_at(self, best: Place | None) -> None:
        """Start the next cells at the coefficients of the best cell, if they are known."""
        near, self._solved = None if best is None else self._solved.get(best), {}
        if near is not None and np.isfinite(near).all():
            self.start = near

    def solve(self, line: Place, new: np.ndarray, centres: Centres) -> _Answer:
        """Solve the cells with the α ``new`` on a line of the grid."""
        grid, tol, max_iter = centres.grid, centres.tol, centres.max_iter
        a, b, c = line
        named, gamma, l1_ratio = grid.losses[a], grid.standardize[b], grid.l1_ratios[c]
        alphas = grid.alphas[b, new]
        penalties = [penalty_of(float(alpha), l1_ratio, grid.coef_bounds) for alpha in alphas]
        if not takes(named.loss, penalties[0]):
            return _Answer(line, new[:0], np.empty((self.labelled.store.n_features, 0)), [], [])
        if LOSSES[named.loss].by_moments and self.moments is not None:
            problem: Problem = MomentsProblem(self.moments).scaled(gamma)
        else:
            problem = self.rows().scaled(gamma)
        loss = named.on(problem)
        problem = problem.weighing(loss.within)
        W, alone = np.empty((len(new), problem.n_features)), []
        said: list[str] = []
        for i, k in enumerate(new):
            centre, left = centres.at((*line, k)) if self.steps else None, np.inf
            if centre is not None:
                step = self._step_from(centre, Objective(problem, loss, penalties[i]))
                W[i], left = step.optimum(penalties[i].l2, tol, max_iter)
            if left > tol:
                alone.append(i)
        if alone:
            start = None if self.start is None else problem.from_features(self.start)
            rest = alphas[alone], [penalties[i] for i in alone]
            W[alone], said = _path(problem, loss, *rest, _LOOSE_TOL_FACTOR * tol, max_iter, start)
        models = [
            partial(self.judge.model, float(alpha), l1_ratio, named, gamma, problem, w)
            for alpha, w in zip(alphas, W, strict=True)
        ]
        coefs = np.column_stack([problem.to_features(w) for w in W])
        if len(new) < grid.shape[-1]:  # more may follow, and digits do not matter
            with np.errstate(over="ignore"):  # of features so small that it does not begin there
                self._solved |= zip(_places(line, new), coefs.T.astype(np.float32), strict=True)
        return _Answer(line, new, coefs, models, said)

    def judged(self, answer: _Answer, Z: np.ndarray) -> np.ndarray:
        """Return the scores of the cells of an answer, given the scores (m, k) of held-out rows.

        `Tuning.held_out` recomputes the latter from the coefficients or Z, whichever is smaller.
        """
        kept = answer.coefs if len(answer.coefs) <= len(Z) else Z
        self.kept |= zip(_places(answer.line, answer.new), kept.T, strict=True)
        if not self.held.both_classes:
            return np.full(Z.shape[1], np.nan)
        counted = Z if self.held.counted.all() else Z[self.held.counted]
        return np.array(self.judge.scoring.of_cells(self.held, counted, answer.models))

    def _step_from(self, centre: Expansion, objective: Objective) -> Expansion:
        """Return the expansion of the training part at a centre."""
        if self._step is None or self._step[0] is not centre:
            self._step = centre, centre.reweighed(objective)
        return self._step[1]


def _places(line: Place, new: np.ndarray) -> list[Place]:
    return [(*line, k) for k in new.tolist()]


def _mean_start(folds: "list[_Fold]") -> np.ndarray | None:
    """Return the mean of the starting points of the folds, if there are any."""
    starts = [fold.start for fold in folds if fold.start is not None]
    return np.asarray(np.mean(starts, axis=0, dtype=np.float64)) if starts else None


def _path(
    problem: Problem,
    loss: RankingLoss,
    alphas: np.ndarray,
    penalties: Sequence[Penalty],
    tol: float,
    max_iter: int,
    start: np.ndarray | None,
) -> tuple[np.ndarray, list[str]]:
    """Return the optima (k, d) for ascending α, in the problem's coordinates, and messages.

    They are solved from ``start``; without one, from the strongest α on, each from the previous.
    """
    if loss.by_moments and all("l2" in penalty.offers for penalty in penalties):
        if problem.knows_moments:
            return Exact().solve_path(problem, alphas), []
        if alphas.min() > 0.0:
            W, quality = ConjugateGradient().solve_path(problem, alphas, tol, max_iter)
            late = quality > tol
            said = [f"alpha={a:.2g} ended at optimality {q:.1e}" for a, q in
                    zip(alphas[late], quality[late], strict=True)]  # fmt: skip
            return W, said
    W, said = np.empty((len(penalties), problem.n_features)), []
    last = start
    for k in range(len(penalties) - 1, -1, -1):
        objective = Objective(problem, loss, penalties[k].scaled(problem.factor))
        run = Run(Monitor(objective), tol, max_iter, sure=False)
        begin = None if last is None else objective.penalty.prox(last, 0.0)  # within bounds
        result = choose(objective).solve(objective, begin, run)
        W[k] = result.coef
        last = W[k] if start is None else start
        if result.message is not None:
            said.append(f"alpha={alphas[k]:.2g}: {result.message}")
    return W, said


def warn_of(messages: list[str]) -> None:
    """Issue one ConvergenceWarning for all cells that did not reach tol."""
    if messages:
        warnings.warn(
            f"{len(messages)} cells did not reach tol; the first: {messages[0]}",
            ConvergenceWarning,
            stacklevel=4,
        )
