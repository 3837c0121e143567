"""What AUCClassifierCV computes: held-out scores for a whole grid, fold by fold.

The square loss with few features needs the data once: each training part's moments are merged
from those of the other folds, and one eigendecomposition gives all α of a `standardize`, coordinate
descent those with an l1 part. With many features
one multi-shift conjugate gradient gives all α of a `standardize`. The others are solved from one α
to the next, by Newton's method and by cutting planes. The held-out scores of all cells are one
product.
"""

import itertools
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.scoring import Cell, Judge, Scoring
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES, RankingLoss
from aucmax.objective.penalties import Bounded, ElasticNet, Penalty
from aucmax.objective.problem import ANY_ROWS, MemoryProblem, MomentsProblem, Problem
from aucmax.rows import Rows, n_features, take_rows
from aucmax.rows.products import scores
from aucmax.solvers import ConjugateGradient, Exact, Monitor, Run
from aucmax.solvers.auto import FEW_FEATURES, choose, pick
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
    "warn_of",
    "within_of",
]

_STRONGEST = 0.5  # decades of α relative to half the mean squared pair distance
_WEAKEST = {"few": -8.0, "many": -6.0}  # with many features less is overfitting, and slow
_PER_DECADE = 2


class Fold(NamedTuple):
    """Row numbers of a training and of a held-out part."""

    train: np.ndarray
    test: np.ndarray


class Grid(NamedTuple):
    """The cells: ``alphas`` (n_standardize, n_alphas) ascending, one row for each γ.

    The square loss is there with each of its τ. ``coef_bounds`` (d, 2) go with every cell, for the
    features as given.
    """

    losses: tuple[NamedLoss, ...]
    standardize: tuple[float, ...]
    l1_ratios: tuple[float, ...]
    alphas: np.ndarray
    coef_bounds: np.ndarray | None = None

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


def within_of(n_pos: float, n_neg: float, scoring: Scoring) -> tuple[float, ...]:
    """Return the τ to try with the square loss, given the weights of the classes.

    ½ aims at the whole AUC, less at low false-positive rates.
    """
    return (0.05, 0.2, 0.5) if scoring.top else (0.5,)


def alpha_grid(problem: Problem, gamma: float) -> np.ndarray:
    """Return the automatic α for a `standardize`, ascending.

    Half-decade steps relative to half the mean squared distance of two rows in the scaled
    coordinates: 1 for ``gamma > 0`` and, nearly, for unit-norm rows. As given, the rows are a
    positive and a negative, so that nothing depends on the class weights.
    """
    distance = 2.0
    if gamma == 0.0:
        distance = float(problem.curvature.sum())
    weakest = _WEAKEST["few" if problem.n_features <= FEW_FEATURES else "many"]
    count = round((_STRONGEST - weakest) * _PER_DECADE) + 1
    unit = distance / 2.0 if distance > 0 else 1.0
    return unit * np.logspace(weakest, _STRONGEST, count)


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


def best_cell(mean: np.ndarray, smoothed: bool) -> tuple[int, ...] | None:
    """Return the place of the cell to choose, given mean held-out scores; None if all are NaN.

    Parameters
    ----------
    mean : ndarray, shape (…, n_alphas)
        α ascending along the last axis.
    smoothed : bool
        Compare cells by their mean with half the weight and their two neighbours with a quarter
        each: an α that is high by chance has poor neighbours.

    Notes
    -----
    Among equals the strongest penalty. Where a path is flat, as it is below the α that still moves
    the model, its strongest α.
    """
    if not np.isfinite(mean).any():
        return None
    compared = mean
    if smoothed:
        weaker = np.concatenate([mean[..., :1], mean[..., :-1]], axis=-1)
        stronger = np.concatenate([mean[..., 1:], mean[..., -1:]], axis=-1)
        compared = 0.25 * weaker + 0.5 * mean + 0.25 * stronger
    equal = np.argwhere(compared == np.nanmax(compared))
    *line, k = equal[np.argmax(equal[:, -1])].tolist()
    path = mean[tuple(line)]
    while k + 1 < len(path) and path[k + 1] >= path[k]:
        k += 1
    return (*line, k)


def fold_moments(
    X: Rows, sign: np.ndarray, weight: np.ndarray | None, folds: Sequence[Fold]
) -> tuple[list[ClassMoments], ClassMoments]:
    """Return the moments of each training part, and those of all rows.

    Where the held-out parts share no row and each training part is the rest, the data are read
    once: all are merged from prefix and suffix sums of the parts' moments. Subtracting from the
    total would leave noise where a feature vanishes from a part.
    """
    n, empty = len(sign), ClassMoments(classes=[-1.0, 1.0])

    def of(rows: np.ndarray) -> ClassMoments:
        part = None if weight is None else weight[rows]
        return empty.copy().add_rows(take_rows(X, rows), sign[rows], part)

    seen = np.zeros(n, dtype=np.int64)
    for fold in folds:
        np.add.at(seen, fold.test, 1)
    if not (np.all(seen == 1) and all(_is_the_rest(fold, n) for fold in folds)):
        return [of(fold.train) for fold in folds], empty.add_rows(X, sign, weight)
    parts = [of(fold.test) for fold in folds]
    suffixes = [empty, *itertools.accumulate(reversed(parts))][::-1]
    prefixes = [empty, *itertools.accumulate(parts)]
    training = [before + after for before, after in zip(prefixes[:-1], suffixes[1:], strict=True)]
    return training, prefixes[-1]


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
