"""What AUCClassifierCV computes: held-out scores for a whole grid, fold by fold.

The square loss with few features needs the data once: each training part's moments are merged
from those of the other folds, and one eigendecomposition gives all α of a `standardize`, coordinate
descent those with an l1 part. With many features
one multi-shift conjugate gradient gives all α of a `standardize`. The others are solved from one α
to the next, by Newton's method and by cutting planes. The held-out scores of all cells are one
product.
"""

import itertools
import math
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from aucmax.estimators.folds import FEW_ROWS
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.scoring import Cell, Judge, Scoring
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES, RankingLoss
from aucmax.objective.penalties import Bounded, ElasticNet, Penalty
from aucmax.objective.problem import ANY_ROWS, MemoryProblem, MomentsProblem, Problem
from aucmax.rows import Rows, n_features, take_rows
from aucmax.rows.products import scores
from aucmax.solvers import ConjugateGradient, Exact, Monitor, Run
from aucmax.solvers.auto import choose, pick
from aucmax.statistics.moments import ClassMoments

__all__ = [
    "Fold",
    "Grid",
    "SearchProgress",
    "Tuning",
    "alpha_grid",
    "best_cell",
    "fold_moments",
    "takes",
    "tune",
    "usual_alpha",
    "warn_of",
    "within_of",
]

# the usual α relative to `_unit`, times the rows of the rarer class
_USUAL = {"square": 2.0, "squared_hinge": 0.6, "hinge": 0.6, "logistic": 0.1}
_LEAN = 0.1  # standard deviations of a fold, for a decade away from the usual α


class Fold(NamedTuple):
    """Row numbers of a training and of a held-out part."""

    train: np.ndarray
    test: np.ndarray


class Grid(NamedTuple):
    """The cells: ``alphas`` (n_standardize, n_alphas) ascending, one row for each γ.

    The square loss is there with each of its τ. ``coef_bounds`` (d, 2) go with every cell, for the
    features as given. ``usual`` (n_losses, n_standardize) is the α that each would start from, see
    `usual_alpha`; None where the α are the user's.
    """

    losses: tuple[NamedLoss, ...]
    standardize: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    alphas: np.ndarray
    coef_bounds: np.ndarray | None = None
    usual: np.ndarray | None = None

    @property
    def decades(self) -> np.ndarray | None:
        """How far each α is from the usual one, (losses, standardize, 1, alphas)."""
        if self.usual is None:
            return None
        return np.log10(self.alphas / self.usual[..., None])[:, :, None]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(losses, standardize, l1_ratios, alphas)."""
        return (
            len(self.losses),
            len(self.standardize),
            len(self.l1_ratios),
            self.alphas.shape[1],
        )


class Tuning(NamedTuple):
    """``scores`` (folds, *grid.shape), NaN where no solver takes a cell; messages of solvers.

    ``kept`` is, of each fold, what gives the held-out scores of a cell.
    """

    scores: np.ndarray
    messages: list[str]
    kept: list["_Fold"]

    def held_out(self, place: tuple[int, ...]) -> list[np.ndarray]:
        """Return the held-out scores of a cell, fold by fold."""
        return [fold.held_out(place) for fold in self.kept]


class SearchProgress(NamedTuple):
    """Where a search is.

    Parameters
    ----------
    what : str
        The path of α that begins.
    done, total : int
        Paths: one for each fold, loss and `standardize`.
    scores : ndarray, shape (folds, *grid.shape)
        Held-out scores so far, NaN where there is none yet; it fills up as the search goes on.
    finished : ndarray of bool, shape (folds,)
        The folds that are done; it goes on, too.
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
        """The highest mean score of a cell over the folds that are done, or NaN."""
        scores = self.scores[self.finished] if self.finished.any() else self.scores
        counts = np.isfinite(scores).sum(axis=0)
        there = counts > 0
        means = np.nansum(scores, axis=0)[there] / counts[there]
        return float(means.max()) if len(means) else float("nan")


def penalty_of(alpha: float, l1_ratio: float, coef_bounds: Any) -> Penalty:
    """Return an elastic net, on a box where there is one."""
    net = ElasticNet(alpha, l1_ratio)
    return net if coef_bounds is None else Bounded(net, coef_bounds)


def takes(loss: str, penalty: Penalty) -> bool:
    """Tell whether a batch solver minimises this loss with this penalty."""
    return pick(Objective(ANY_ROWS, LOSSES[loss], penalty)) is not None


def within_of(scoring: Scoring) -> tuple[float, ...]:
    """Return the τ to try with the square loss.

    ½ aims at the whole AUC, less at low false-positive rates. For the AUC it is a rule: however few
    the positives, no other τ and no choice among them did reliably better (docs/choosing.md).
    """
    return (0.05, 0.2, 0.5) if scoring.top else (0.5,)


def alpha_grid(problem: Problem, gamma: float) -> np.ndarray:
    """Return the automatic α for a `standardize`: half-decades below `_unit`, ascending.

    Down to 10⁻³ where a class has fewer than `FEW_ROWS` rows, which overfit with less; otherwise to
    a hundredth of the usual α or 10⁻⁶.
    """
    rarer, lowest = min(problem.n_pos, problem.n_neg), -3.0
    if rarer >= FEW_ROWS:
        lowest = max(math.log10(_USUAL["squared_hinge"] / rarer) - 2.0, -6.0)
    return _unit(problem, gamma) * 10.0 ** (0.5 * np.arange(math.floor(2.0 * lowest), 0))


def usual_alpha(problem: Problem, gamma: float, loss: str) -> float:
    """Return the α that is about right on most data: one over the rows of the rarer class."""
    return _unit(problem, gamma) * _USUAL[loss] / min(problem.n_pos, problem.n_neg)


def _unit(problem: Problem, gamma: float) -> float:
    """Half the mean squared distance of two rows in the scaled coordinates.

    1 for ``gamma > 0`` and, nearly, for unit-norm rows. As given, the rows are a positive and a
    negative, so that nothing depends on the class weights.
    """
    distance = 2.0 if gamma > 0.0 else float(problem.curvature.sum())
    return distance / 2.0 if distance > 0 else 1.0


def tune(
    X: Rows,
    sign: np.ndarray,
    weight: np.ndarray | None,
    folds: Sequence[Fold],
    grid: Grid,
    *,
    judge: Judge,
    training: Sequence[ClassMoments] | None,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
    callback: Callable[[SearchProgress], object],
) -> Tuning:
    """Return the held-out score of every cell of the grid in every fold.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    sign : ndarray, shape (n,)
        ±1.
    weight : ndarray, shape (n,), optional
    folds : sequence of Fold
    grid : Grid
    judge : Judge
        Scores the cells on the held-out rows.
    training : sequence of ClassMoments, optional
        Those of the training parts; the square loss is then solved from them.
    tol, max_iter : float, int
        For the solvers.
    n_jobs : int, optional
        Folds solved at a time, on threads.
    callback : callable
        Called with a `SearchProgress` before every path of α, by the thread that solves it, and at
        the end.
    """
    moments = [None] * len(folds) if training is None else training
    kept = [_Fold(X, sign, weight, *one, judge) for one in zip(folds, moments, strict=True)]
    table = np.full((len(folds), *grid.shape), np.nan)
    finished = np.zeros(len(folds), dtype=bool)
    total, done = len(folds) * len(grid.losses) * len(grid.standardize), 0
    lock = threading.Lock()

    def one(k: int) -> list[str]:
        nonlocal done
        said: list[str] = []
        for a, b in np.ndindex(len(grid.losses), len(grid.standardize)):
            name = f"{grid.losses[a]}, standardize {grid.standardize[b]:g}"
            what = f"fold {k + 1}: {name}"
            callback(SearchProgress(what, done, total, table, finished, grid))
            table[k, a, b], messages = _tune_paths(kept[k], grid, a, b, tol, max_iter)
            said += [f"fold {k}: {message}" for message in messages]
            with lock:
                done += 1
        finished[k] = True
        kept[k].forget_rows()
        return said

    pool = Parallel(n_jobs=n_jobs, prefer="threads")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)  # of cells that predict one class
        messages = [m for said in pool(delayed(one)(k) for k in range(len(folds))) for m in said]
    callback(SearchProgress("refit", total, total, table, finished, grid))
    return Tuning(table, messages, kept)


def best_cell(scores: np.ndarray, decades: np.ndarray | None = None) -> tuple[int, ...] | None:
    """Return the place of the cell to choose, given held-out scores; None if all are NaN.

    Parameters
    ----------
    scores : ndarray, shape (folds, …, n_alphas)
        α ascending along the last axis.
    decades : ndarray, shape (…, n_alphas), optional
        How far each α is from the usual one. A cell then has to make good 0.1·decades² times the
        noise, the standard deviation of a fold's differences between cells: where the folds tell
        cells apart this is nothing, and where they do not, the α near the usual one are better.

    Notes
    -----
    Among equals the strongest penalty. docs/choosing.md has the evidence.
    """
    counts = np.isfinite(scores).sum(axis=0)
    if not counts.any():
        return None
    total = np.nansum(scores, axis=0)
    compared = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    if decades is not None:
        compared = compared - _LEAN * _noise(scores, int(np.nanargmax(compared))) * decades**2
    equal = np.argwhere(compared == np.nanmax(compared))
    return tuple(equal[np.argmax(equal[:, -1])].tolist())


def _noise(scores: np.ndarray, best: int) -> float:
    """Return the standard deviation over the folds of how far cells are from the best."""
    cells = scores.reshape(len(scores), -1)
    apart = cells - cells[:, [best]]
    apart = apart[:, np.isfinite(apart).sum(axis=0) > 1]
    return float(np.sqrt(np.nanvar(apart, axis=0, ddof=1).mean())) if apart.size else 0.0


def fold_moments(
    X: Rows, sign: np.ndarray, weight: np.ndarray | None, folds: Sequence[Fold]
) -> tuple[list[ClassMoments], ClassMoments]:
    """Return the moments of each training part, and those of all rows.

    Where the held-out parts hold every row once and each training part is the rest, the data are
    read once, or once for each time they do: all are merged from prefix and suffix sums of the
    parts' moments. Subtracting from the total would leave noise where a feature vanishes from a
    part.
    """
    n, empty = len(sign), ClassMoments(classes=[-1.0, 1.0])

    def of(rows: np.ndarray) -> ClassMoments:
        part = None if weight is None else weight[rows]
        return empty.copy().add_rows(take_rows(X, rows), sign[rows], part)

    rounds = _rounds(folds, n)
    if not rounds:
        return [of(fold.train) for fold in folds], empty.add_rows(X, sign, weight)
    training: list[ClassMoments] = []
    for held_out in rounds:
        parts = [of(fold.test) for fold in held_out]
        suffixes = [empty, *itertools.accumulate(reversed(parts))][::-1]
        prefixes = [empty, *itertools.accumulate(parts)]
        training += [a + b for a, b in zip(prefixes[:-1], suffixes[1:], strict=True)]
    return training, prefixes[-1]


def _rounds(folds: Sequence[Fold], n: int) -> list[list[Fold]]:
    """Return the folds in rounds that hold out each row once; none where they do not."""
    if not all(_is_the_rest(fold, n) for fold in folds):
        return []
    rounds: list[list[Fold]] = [[]]
    seen = np.zeros(n, dtype=np.int64)
    for fold in folds:
        if seen.all():
            rounds.append([])
            seen[:] = 0
        rounds[-1].append(fold)
        seen[fold.test] += 1
        if seen.max() > 1:
            return []
    return rounds if seen.all() else []


def _is_the_rest(fold: Fold, n: int) -> bool:
    """Tell whether the training part is each row once that is not held out."""
    there = np.zeros(n, dtype=np.int64)
    for rows in fold:
        np.add.at(there, rows, 1)
    return bool(np.all(there == 1))


class _Fold:
    """A fold's data: the training problem by rows or by moments, and the held-out rows."""

    def __init__(
        self,
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray | None,
        fold: Fold,
        moments: ClassMoments | None,
        judge: Judge,
    ) -> None:
        self.X, self.sign, self.weight, self.fold, self.moments = X, sign, weight, fold, moments
        self.judge, self.held = judge, judge.held_out(fold.test)
        self._rows: MemoryProblem | None = None
        self.kept: dict[tuple[int, ...], np.ndarray] = {}  # of each path of α, see `score`

    def rows(self) -> MemoryProblem:
        """Return the training rows as a problem; made once, only where a solver needs rows."""
        if self._rows is None:
            train = self.fold.train
            weight = None if self.weight is None else self.weight[train]
            self._rows = MemoryProblem(take_rows(self.X, train), self.sign[train], weight)
        return self._rows

    def forget_rows(self) -> None:
        """Let go of the copy of the training rows."""
        self._rows = None

    def score(self, W: np.ndarray, models: Sequence[Cell]) -> tuple[np.ndarray, np.ndarray]:
        """Return the held-out score of each of k models, and their coefficients W (d, k) or X W.

        Whichever is smaller: `held_out` gives the scores of a cell from either.
        """
        Z, held = scores(take_rows(self.X, self.fold.test), W), self.held
        kept = W if len(W) <= len(Z) else Z
        if not held.both_classes:
            return np.full(W.shape[1], np.nan), kept
        counted = Z if held.counted.all() else Z[held.counted]
        return np.array(self.judge.scoring.of_cells(held, counted, models)), kept

    def held_out(self, place: tuple[int, ...]) -> np.ndarray:
        """Return the held-out scores of a cell that was solved."""
        *line, k = place
        test, column = self.fold.test, np.ascontiguousarray(self.kept[tuple(line)][:, k])
        few = n_features(self.X) <= len(test)
        return scores(take_rows(self.X, test), column) if few else column


def _tune_paths(
    fold: _Fold, grid: Grid, a: int, b: int, tol: float, max_iter: int
) -> tuple[np.ndarray, list[str]]:
    """Solve all cells of a loss and a γ on one training part, and score the held-out part.

    Returns the scores, shape (l1_ratios, alphas), NaN where no solver takes a cell, and messages.
    """
    named, gamma, alphas = grid.losses[a], grid.standardize[b], grid.alphas[b]
    table = np.full(grid.shape[2:], np.nan)
    messages: list[str] = []
    columns, models, solved = [], [], []
    for c, l1_ratio in enumerate(grid.l1_ratios):
        penalties = [penalty_of(float(alpha), l1_ratio, grid.coef_bounds) for alpha in alphas]
        if not takes(named.loss, penalties[0]):
            continue
        if named.loss == "square" and fold.moments is not None:
            problem: Problem = MomentsProblem(fold.moments, gamma)
        else:
            problem = fold.rows().scaled(gamma)
        loss = named.on(problem)
        problem = problem.weighing(loss.within)
        W, said = _path(problem, loss, alphas, penalties, tol, max_iter)
        columns += [problem.to_features(w) for w in W]
        models += [
            partial(fold.judge.model, float(alpha), l1_ratio, named, gamma, problem, w)
            for alpha, w in zip(alphas, W, strict=True)
        ]
        solved.append(c)
        messages += [f"{named}, standardize {gamma:g}: {m}" for m in said]
    if columns:
        found, kept = fold.score(np.column_stack(columns), models)
        table[solved] = found.reshape(len(solved), len(alphas))
        paths = np.split(kept, len(solved), axis=1)
        fold.kept.update({(a, b, c): path for c, path in zip(solved, paths, strict=True)})
    return table, messages


def _path(
    problem: Problem,
    loss: RankingLoss,
    alphas: np.ndarray,
    penalties: Sequence[Penalty],
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, list[str]]:
    """Return the optima (k, d) for ascending α, in the problem's coordinates, and messages."""
    if loss.name == "square" and all("l2" in penalty.offers for penalty in penalties):
        if problem.knows_moments:
            return Exact().solve_path(problem, alphas), []
        if alphas.min() > 0.0:
            W, quality = ConjugateGradient().solve_path(problem, alphas, tol, max_iter)
            late = quality > tol
            said = [f"alpha={a:.2g} ended at optimality {q:.1e}" for a, q in
                    zip(alphas[late], quality[late], strict=True)]  # fmt: skip
            return W, said
    W, said = np.empty((len(penalties), problem.n_features)), []
    start = None
    for k in range(len(penalties) - 1, -1, -1):  # from the strongest, each from the last
        objective = Objective(problem, loss, penalties[k].scaled(problem.factor))
        run = Run(Monitor(objective), tol, max_iter)
        result = choose(objective).solve(objective, start, run)
        W[k] = start = result.coef
        if result.message is not None:
            said.append(f"alpha={alphas[k]:.2g}: {result.message}")
    return W, said


def warn_of(messages: list[str]) -> None:
    """Give one ConvergenceWarning for all the cells that did not reach tol."""
    if messages:
        warnings.warn(
            f"{len(messages)} cells did not reach tol; the first: {messages[0]}",
            ConvergenceWarning,
            stacklevel=4,
        )
