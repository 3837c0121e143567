"""Coordinate descent for the square loss with an l1, elastic-net or l2 penalty.

Few features: on the d×d matrix H = Σ₊ + Σ₋ + δδᵀ. Many: on the columns of the rows, over working
sets of the features that violate optimality most. Either way one step is

    w_j ← soft(h_j w_j − ∇_j, αρ) / (h_j + α(1−ρ)),    h_j = H_jj,    ∇ = H w − δ.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, solve

from aucmax.objective import Objective
from aucmax.problem import MemoryProblem
from aucmax.rows import compiled, to_scipy
from aucmax.solvers.base import Monitor, Result, Solver

__all__ = ["CoordinateDescent"]

_MATRIX_UP_TO = 1500  # features for which the d×d matrix is formed
_FIRST_SET = 100
_INNER = 0.1  # a working set is solved to this share of the violation outside it
_SWEEPS = 10  # sweeps between two looks at the support


class CoordinateDescent(Solver):
    """Minimise J for the square loss with elastic-net penalty, features one at a time.

    Parameters
    ----------
    tol : float, optional
        Optimality to stop at, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Most sweeps, over all features or over a working set; None is the estimator's.

    Notes
    -----
    On the matrix, sweeps alternate with solving the linear system on the current support
    exactly (stopping where a coefficient would change sign), so that correlated features do not
    need many sweeps. The working sets grow by doubling; optimality is always that over all
    features.

    References
    ----------
    Friedman, Hastie & Tibshirani (2010), "Regularization paths for generalized linear models via
    coordinate descent". Bertrand et al. (2022), "Beyond L1: faster and better sparse models with
    skglm": working sets.
    """

    name = "coordinate_descent"
    takes_l1 = True

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(
        self,
        objective: Objective,
        start: np.ndarray | None,
        *,
        tol: float,
        max_iter: int,
        rng: np.random.RandomState,
        monitor: Monitor,
    ) -> Result:
        tol, max_iter = self._own("tol", tol), self._own("max_iter", max_iter)
        problem = objective.problem
        w = np.zeros(problem.n_features) if start is None else start.copy()
        if problem.knows_moments or problem.n_features <= _MATRIX_UP_TO:
            problem.moments()
            w, sweeps, quality = _on_matrix(objective, w, tol, max_iter, monitor)
        else:
            assert isinstance(problem, MemoryProblem)
            w, sweeps, quality = _on_columns(objective, problem, w, tol, max_iter, monitor)
        message = None
        if quality > tol:
            message = (
                f"coordinate descent stopped after {sweeps} sweeps at optimality {quality:.1e} > "
                f"tol={tol:g}; raise max_iter, or scale the features (standardize=0.5)."
            )
        return Result(w, max(sweeps, 1), message)


def _on_matrix(
    objective: Objective, w: np.ndarray, tol: float, max_iter: int, monitor: Monitor
) -> tuple[np.ndarray, int, float]:
    """Minimise with H in memory; return w, sweeps and the optimality reached."""
    delta, penalty = objective.problem.delta, objective.penalty
    H = objective.problem.within + np.outer(delta, delta)
    h = np.einsum("jj->j", H).copy()
    w[h <= 0.0] = 0.0
    everything = np.arange(len(w))
    sweeps = 0
    while True:
        gradient = H @ w - delta
        quality = objective.violation(gradient, w)
        if monitor(w, sweeps) or quality <= tol or sweeps >= max_iter:
            return w, sweeps, objective.optimality(w)
        _matrix_sweep(H, h, gradient, w, penalty.l1, penalty.l2, everything)
        active = np.flatnonzero(w)
        extra = min(_SWEEPS, max_iter - sweeps) - 1
        for _ in range(extra):
            _matrix_sweep(H, h, gradient, w, penalty.l1, penalty.l2, active)
        sweeps += 1 + max(extra, 0)
        w = _on_support(H, delta, w, penalty.l1, penalty.l2)


def _on_support(
    H: np.ndarray, delta: np.ndarray, w: np.ndarray, l1: float, l2: float
) -> np.ndarray:
    """Move towards the optimum over the support with fixed signs; never raises the objective.

    Where a coefficient would change sign the move stops, the coefficient becomes 0 and leaves the
    support.
    """
    w = w.copy()
    for _ in range(50):
        S = np.flatnonzero(w)
        if len(S) == 0:
            return w
        now, sign = w[S], np.sign(w[S])
        system = H[np.ix_(S, S)]
        system[np.diag_indices(len(S))] += l2
        try:
            aim = solve(system, delta[S] - l1 * sign, assume_a="pos", check_finite=False)
        except LinAlgError:
            return w
        if not np.all(np.isfinite(aim)):
            return w
        crossing = (np.sign(aim) != sign) if l1 > 0 else np.zeros(len(S), dtype=bool)
        if not crossing.any():
            w[S] = aim
            return w
        steps = np.full(len(S), np.inf)
        steps[crossing] = now[crossing] / (now[crossing] - aim[crossing])
        first = int(np.argmin(steps))
        w[S] = now + steps[first] * (aim - now)
        w[S[first]] = 0.0
    return w


class _Columns(NamedTuple):
    """A set of columns in CSC form, with what a step on each needs."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    mean_pos: np.ndarray
    mean_neg: np.ndarray
    curvature: np.ndarray


def _columns(problem: MemoryProblem, S: np.ndarray, by_column: sp.csc_array) -> _Columns:
    part = by_column[:, S]
    delta = problem.delta[S]
    # H_jj = v_j of the scaled features
    curvature = problem.spread()[S]
    if problem.factor is not None:
        curvature = curvature * problem.factor[S] ** 2
        part = part.multiply(problem.factor[S]).tocsc()
    mean_neg = problem.mean_neg[S]
    return _Columns(
        part.data.astype(np.float64, copy=False),
        part.indices.astype(np.int32, copy=False),
        part.indptr.astype(np.int64, copy=False),
        mean_neg + delta,
        mean_neg,
        curvature,
    )


def _on_columns(
    objective: Objective,
    problem: MemoryProblem,
    w: np.ndarray,
    tol: float,
    max_iter: int,
    monitor: Monitor,
) -> tuple[np.ndarray, int, float]:
    """Minimise over growing working sets; return w, sweeps and the optimality reached."""
    penalty = objective.penalty
    by_column = sp.csc_array(to_scipy(problem.X))
    w[problem.spread() <= 0.0] = 0.0
    size, sweeps = _FIRST_SET, 0
    while True:
        gradient = objective.gradient(w)
        distance = penalty.distance(gradient, w)
        quality = float(distance.max()) / objective.slope_at_zero
        if monitor(w, sweeps) or quality <= tol or sweeps >= max_iter:
            return w, sweeps, quality
        support = np.flatnonzero(w)
        size = min(max(size, 2 * len(support)), len(w))
        distance[support] = np.inf
        S = np.sort(np.argpartition(-distance, size - 1)[:size])
        columns = _columns(problem, S, by_column)
        v, z = w[S].copy(), problem.scores(w)
        aim = max(_INNER * quality, 0.5 * tol) * objective.slope_at_zero
        sweeps += _column_sweeps(
            columns, problem.sign, problem.share, v, z, penalty.l1, penalty.l2, aim,
            max_iter - sweeps,
        )  # fmt: skip
        w[S] = v
        size *= 2


@compiled
def _step(w, g, h, l1, l2):
    # argmin over one coordinate, from the gradient g of the data term and its curvature h
    u = h * w - g
    if u > l1:
        return (u - l1) / (h + l2)
    if u < -l1:
        return (u + l1) / (h + l2)
    return 0.0


@compiled
def _matrix_sweep(H, h, gradient, w, l1, l2, features):
    # gradient = H w − δ is kept up to date
    for j in features:
        if h[j] > 0.0:
            move = _step(w[j], gradient[j], h[j], l1, l2) - w[j]
            if move != 0.0:
                w[j] += move
                for k in range(len(w)):
                    gradient[k] += move * H[j, k]


@compiled
def _column_sweeps(columns, sign, share, w, z, l1, l2, aim, max_iter):
    # z = X w and the class means of z are kept up to date; returns the sweeps taken
    m_pos, m_neg = 0.0, 0.0
    for i in range(len(z)):
        if sign[i] > 0:
            m_pos += share[i] * z[i]
        else:
            m_neg += share[i] * z[i]
    for sweep in range(max_iter):
        worst = 0.0
        for j in range(len(w)):
            h = columns.curvature[j]
            if h <= 0.0:
                continue
            a, b = columns.mean_pos[j], columns.mean_neg[j]
            # ∇_j = Σ_i s_i z_i x_ij − m₊μ₊j − m₋μ₋j − δ_j (1 − (m₊ − m₋))
            g = -m_pos * a - m_neg * b - (a - b) * (1.0 - (m_pos - m_neg))
            for e in range(columns.indptr[j], columns.indptr[j + 1]):
                i = columns.indices[e]
                g += share[i] * z[i] * columns.data[e]
            old = w[j]
            new = _step(old, g, h, l1, l2)
            # how far −g was from the subdifferential before the step
            off = abs(g + l2 * old + l1 * np.sign(old)) if old != 0.0 else max(abs(g) - l1, 0.0)
            worst = max(worst, off)
            move = new - old
            if move != 0.0:
                w[j] = new
                for e in range(columns.indptr[j], columns.indptr[j + 1]):
                    z[columns.indices[e]] += move * columns.data[e]
                m_pos += move * a
                m_neg += move * b
        if worst <= aim:
            return sweep + 1
    return max_iter
