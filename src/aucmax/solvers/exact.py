"""Exact: the optimum of J for the square loss and an l2 penalty, by one Cholesky.

w = u / (1 + δ·u),    (Σ₊ + Σ₋ + αI) u = δ
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from aucmax.objective import Objective
from aucmax.solvers.base import Monitor, Result, Solver

__all__ = ["Exact"]


class Exact(Solver):
    """The minimiser of ½(1 − w·δ)² + ½ w·(Σ₊+Σ₋)w + (α/2)‖w‖² to machine precision.

    Reads the data once, for the class moments (O(n d²)), and factors one d×d matrix (O(d³)).
    For few features; `ConjugateGradient` is for many. With α = 0 and a singular matrix it gives
    the minimiser of least norm in the features scaled to unit curvature.

    References
    ----------
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization": the pairwise square loss through
    means and covariances. Pahikkala et al. (2009): RankRLS, the same optimum.
    """

    name = "exact"

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
        objective.problem.moments()
        w = solve_moments(objective)
        monitor(w, 1.0)
        return Result(w, 1)


def solve_moments(objective: Objective) -> np.ndarray:
    """Return the optimum of J from the problem's moments."""
    delta, within, alpha = objective.problem.delta, objective.problem.within, objective.penalty.l2
    system = within + alpha * np.eye(len(delta))
    curvature = np.einsum("jj->j", system)
    # unit curvature: the same solution, and Cholesky's verdict no longer depends on units
    unit = 1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    system *= unit
    system *= unit[:, None]
    try:
        factor = cho_factor(system, lower=True, check_finite=False)
    except LinAlgError:
        return _least_norm(objective, unit)
    u = unit * cho_solve(factor, unit * delta, check_finite=False)
    w = u / (1.0 + delta @ u)
    best, quality = w, objective.optimality(w)
    for _ in range(3):  # iterative refinement, by Sherman–Morrison with the same factor
        residual = -(objective.gradient(best) + alpha * best)
        r = unit * cho_solve(factor, unit * residual, check_finite=False)
        w = best + r - u * (delta @ r) / (1.0 + delta @ u)
        found = objective.optimality(w)
        if not found < quality:
            break
        best, quality = w, found
    return best if quality < 1e-6 else _least_norm(objective, unit)


def _least_norm(objective: Objective, unit: np.ndarray) -> np.ndarray:
    """Return a minimiser where the matrix is singular to working precision."""
    delta, alpha = objective.problem.delta, objective.penalty.l2
    hessian = objective.problem.within + np.outer(delta, delta) + alpha * np.eye(len(delta))
    values, vectors = eigh(hessian * unit * unit[:, None], check_finite=False)
    kept = values > len(delta) * np.finfo(float).eps * max(values[-1], 0.0)
    values, vectors = values[kept], vectors[:, kept]
    return unit * (vectors @ ((vectors.T @ (unit * delta)) / values))
