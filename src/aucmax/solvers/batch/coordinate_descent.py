"""Coordinate descent for the square loss and any penalty that is a sum over features.

With few features it works on the d×d matrix H = S + δδᵀ, S = Σ₊ + Σ₋ or 2τΣ₊ + 2(1−τ)Σ₋; with many,
it works on columns, over working sets of the features with the largest possible gain. A step is

    w_j ← prox_{Ω_j/h_j}(w_j − ∇_j/h_j),    h_j = H_jj,    ∇ = H w − δ.
"""

from typing import NamedTuple

import numpy as np

from aucmax.data.rows import compiled
from aucmax.data.rows.kernels import unless
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty, prox1
from aucmax.solvers.base import Result, Run, Solver, lacking, unfinished
from aucmax.solvers.batch.columns import of_square
from aucmax.solvers.batch.model import MAX_PRODUCTS_PER_MODEL, ColumnModel
from aucmax.solvers.batch.working_set import (
    FIRST_SET_FEATURES,
    Stall,
    decrement,
    decrement_by_products,
    piece_move,
    promises_off,
    solved,
    support_of,
    working_set,
)

__all__ = [
    "MAX_MATRIX_FEATURES",
    "MAX_SET_MATRIX_FEATURES",
    "CoordinateDescent",
    "on_matrix",
]

MAX_MATRIX_FEATURES = 1500  # up to which the d×d matrix is formed
MAX_SET_MATRIX_FEATURES = 1000  # of a working set, up to which its own matrix is formed
_FEW_FEATURES = 50  # up to which a loop in Python takes a tenth of a millisecond
_INNER_TOL = 0.01  # a round stops at this share of the initial possible gain of single features
_SWEEPS_PER_MOVE = 10  # sweeps between two moves on the support
_SWEEPS_OF_FEW = 3  # of few features, whose sweeps cost as much as a move
_SYSTEMS_PER_MOVE = 10  # linear systems to solve in one such move


class CoordinateDescent(Solver):
    """Minimise J for the square loss, one feature at a time.

    Parameters
    ----------
    tol : float, optional
        Stop at this optimality, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Maximum number of sweeps, over all features or a working set; None is the estimator's.

    Notes
    -----
    Sweeps alternate with solving the linear system on the current support (coefficients that would
    change sign become 0, and those that would cross a bound stop there), so that correlated
    features do not need many sweeps. Working sets grow by doubling; optimality always refers to all
    features. With a non-convex penalty it refers to the local minimum.

    References
    ----------
    Friedman, Hastie & Tibshirani (2010), "Regularization paths for generalized linear models via
    coordinate descent". Bertrand et al. (2022), "Beyond L1: faster and better sparse models with
    skglm", for working sets.
    """

    name = "coordinate_descent"

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic", "weighted quadratic"), penalty="prox")

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        run = self.settled(run)
        problem = objective.problem
        w = np.zeros(problem.n_features) if start is None else start.copy()
        if problem.knows_moments or problem.n_features <= MAX_MATRIX_FEATURES:
            problem.moments()
            w, gap, sweeps = _on_features(objective, w, run)
        else:
            w, gap, sweeps = _on_rows(objective, w, run)
        quality = objective.relative(gap, objective.value(w))
        stop = f"coordinate descent stopped after {sweeps} sweeps"
        message = unfinished(objective, run, quality, sweeps, stop)
        return Result(w, max(sweeps, 1), message, gap)


def _on_features(objective: Objective, w: np.ndarray, run: Run) -> tuple[np.ndarray, float, int]:
    """Minimise over all features at once, with H in memory; return w, J(w) − J* and sweeps."""
    penalty, delta = objective.penalty, objective.problem.delta
    H = objective.problem.within + np.outer(delta, delta)
    h = np.einsum("jj->j", H)
    w[h <= 0.0] = 0.0
    sweeps, stalled = 0, Stall()
    while True:
        value, gradient = objective.data_term(w)
        promise = float(penalty.promise(gradient, w, h).sum())
        gap = min(objective.gap(value, gradient, w), decrement(H, gradient, w, penalty))
        converged = objective.relative(gap, value + penalty.value(w)) <= run.tol
        if run.monitor(w, sweeps) or converged or sweeps >= run.max_iter or stalled(promise):
            return w, gap, sweeps
        remaining = run.max_iter - sweeps
        limit = min(_SWEEPS_PER_MOVE, remaining) if run.monitor.active else remaining
        w, spent, _ = on_matrix(H, gradient, penalty, w, _INNER_TOL * promise, limit)
        sweeps += spent


def on_matrix(
    H: np.ndarray,
    gradient: np.ndarray,
    penalty: Penalty,
    w: np.ndarray,
    aim: float,
    max_iter: int,
    near: bool = False,
) -> tuple[np.ndarray, int, bool]:
    """Minimise a model with slope ``gradient`` at w and second derivative H, plus the penalty.

    It stops once the possible gain of the features is at most ``aim``. ``near`` says that the
    support is probably that of w. Returns the minimiser, the sweeps and whether the aim was
    reached.
    """
    h = H.diagonal().copy()
    features, form = np.arange(len(w)), penalty.compiled()
    per_move = _SWEEPS_OF_FEW if len(w) <= _FEW_FEATURES else _SWEEPS_PER_MOVE
    w, gradient, sweeps, reached = w.copy(), gradient.copy(), 0, False
    if near and len(w) <= _FEW_FEATURES:  # sweeps would cost as much
        w, gradient, reached = _moved(H, h, gradient, w, penalty, aim)
    while not reached and sweeps < max_iter:
        _matrix_sweep(H, h, gradient, w, form, features)
        active = np.flatnonzero(w)
        repeats = min(per_move, max_iter - sweeps) - 1
        for _ in range(repeats):
            _matrix_sweep(H, h, gradient, w, form, active)
        sweeps += 1 + repeats
        w, gradient, reached = _moved(H, h, gradient, w, penalty, aim)
    return w, sweeps, reached


def _moved(
    H: np.ndarray, h: np.ndarray, gradient: np.ndarray, w: np.ndarray, penalty: Penalty, aim: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return w and the slope there after `_on_support`, and whether the aim is reached."""
    new = _on_support(H, h, gradient, w, penalty)
    gradient = gradient + H @ (new - w)
    return new, gradient, float(penalty.promise(gradient, new, h).sum()) <= aim


def _on_support(
    H: np.ndarray, h: np.ndarray, gradient: np.ndarray, w: np.ndarray, penalty: Penalty
) -> np.ndarray:
    """Move towards the optimum over the support without raising the objective."""
    w, gradient = w.copy(), gradient.copy()
    for _ in range(_SYSTEMS_PER_MOVE):
        pieces = penalty.pieces(w)
        S = support_of(h, pieces)
        if len(S) == 0:
            break
        slope, bend, system = gradient[S] + pieces.left[S], pieces.bend[S], H[S[:, None], S]
        direction = solved(system.copy(), bend, -slope)
        if direction is None:
            break

        def rise(
            move: np.ndarray,
            slope: np.ndarray = slope,
            bend: np.ndarray = bend,
            system: np.ndarray = system,
        ) -> float:
            return float((slope + 0.5 * (system @ move + bend * move)) @ move)

        new, is_full = piece_move(w[S], direction, pieces.start[S], pieces.end[S], rise)
        gradient[S] += system @ (new - w[S])  # that of the support, which can only shrink
        w[S] = new
        if is_full:
            break
    return w


def _on_rows(objective: Objective, w: np.ndarray, run: Run) -> tuple[np.ndarray, float, int]:
    """Minimise over growing working sets; return w, J(w) − J* and the sweeps taken.

    A small set is solved on its own matrix, a large one column by column on the rows.
    """
    problem, penalty = objective.problem, objective.penalty
    w[problem.curvature <= 0.0] = 0.0
    size, sweeps, stalled = FIRST_SET_FEATURES, 0, Stall()
    S, H = np.empty(0, dtype=np.int64), np.empty((0, 0))
    columns = of_square(problem, S)
    while True:
        value, gradient = objective.data_term(w)
        promise = penalty.promise(gradient, w, problem.curvature)
        gap = objective.gap(value, gradient, w)
        if not promises_off(S, promise, w, problem.curvature):
            on_set = gradient[S], w[S], penalty.of(S)
            if len(H) == len(S):
                gap = min(gap, decrement(H, *on_set))
            elif objective.relative(gap, value + penalty.value(w)) > run.tol:
                gap = min(gap, decrement_by_products(columns.product, columns.diagonal, *on_set))
        converged = objective.relative(gap, value + penalty.value(w)) <= run.tol
        if run.monitor(w, sweeps) or converged or sweeps >= run.max_iter:
            return w, gap, sweeps
        if size >= len(w) and stalled(float(promise.sum())):
            return w, gap, sweeps
        S = working_set(promise, gradient, w, penalty, size)
        columns = of_square(problem, S)
        aim, remaining = _INNER_TOL * float(promise[S].sum()), run.max_iter - sweeps
        if len(S) <= MAX_SET_MATRIX_FEATURES:
            H = columns.gram()
            w[S], spent, _ = on_matrix(H, gradient[S], penalty.of(S), w[S], aim, remaining)
        else:
            limit = min(MAX_PRODUCTS_PER_MODEL, remaining)
            model = ColumnModel(columns, gradient[S], w[S], penalty.of(S), limit)
            model.minimise(aim)
            w[S], spent, H = model.v, model.spent, H[:0, :0]
        sweeps += max(spent, 1)
        size = min(2 * max(size, len(S)), len(w))


def _small_sweep(
    H: np.ndarray,
    h: np.ndarray,
    gradient: np.ndarray,
    w: np.ndarray,
    penalty: NamedTuple,
    features: np.ndarray,
) -> None:
    for j in features[h[features] > 0.0]:
        move = prox1(penalty, j, w[j] - gradient[j] / h[j], 1.0 / h[j]) - w[j]
        if move != 0.0:
            w[j] += move
            gradient += move * H[j]


@unless(lambda H, *_: len(H) <= _FEW_FEATURES, _small_sweep)
@compiled
def _matrix_sweep(H, h, gradient, w, penalty, features):
    # gradient = H w − δ is kept up to date
    for j in features:
        if h[j] > 0.0:
            move = prox1(penalty, j, w[j] - gradient[j] / h[j], 1.0 / h[j]) - w[j]
            if move != 0.0:
                w[j] += move
                for k in range(len(w)):
                    gradient[k] += move * H[j, k]
