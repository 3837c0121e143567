"""Exact: the optimum of J for the square loss and an l2 penalty, by one Cholesky.

w = u / (1 + δ·u),    (Σ₊ + Σ₋ + αI) u = δ

With a sketch, diag(D) + BᵀB stands for Σ₊ + Σ₋, and u comes from Woodbury's identity.
"""

from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from aucmax.moments import ClassMoments
from aucmax.objective import Objective
from aucmax.problem import MemoryProblem, MomentsProblem, Problem, SketchProblem
from aucmax.sketches import ClassSketch, DiagonalMoments, FrequentDirections, woodbury
from aucmax.solvers.base import Monitor, Result, Solver

__all__ = ["Exact"]

_COVARIANCES = ("full", "diagonal", "frequent_directions")


class Exact(Solver):
    """The minimiser of ½(1 − w·δ)² + ½ w·(Σ₊+Σ₋)w + (α/2)‖w‖² to machine precision.

    Reads the data once, for the class moments (O(n d²)), and factors one d×d matrix (O(d³)).
    For few features; `ConjugateGradient` is for many. With α = 0 and a singular matrix it gives
    the minimiser of least norm in the features scaled to unit curvature.

    Parameters
    ----------
    covariance : {"full", "diagonal", "frequent_directions"}
        What is kept of Σ₊ and Σ₋. The last two are for streams and shards of rows with many
        features, and give the optimum of a J in which Σ₊ + Σ₋ is replaced: by its diagonal, O(d)
        numbers; or by a sketch of ``rank`` directions for each class, whose diagonal is exact,
        O(rank · d) numbers. ``objective_`` and ``optimality_`` of a ``fit`` are those of the true
        J all the same; after ``partial_fit`` or ``fit_moments`` there are no rows, and they are
        those of the J that was solved.
    rank : int or None
        Directions of "frequent_directions" for each class; None is 50.

    References
    ----------
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization": the pairwise square loss through
    means and covariances. Pahikkala et al. (2009): RankRLS, the same optimum. Liberty (2013) and
    Ghashami et al. (2016): frequent directions.
    """

    name = "exact"
    max_moment_bytes: ClassVar[int] = 10**9

    def __init__(self, covariance: str = "full", rank: int | None = None) -> None:
        self.covariance = covariance
        self.rank = rank

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
        problem, empty = objective.problem, self.empty([-1.0, 1.0])
        if isinstance(problem, SketchProblem) or isinstance(empty, ClassSketch):
            assert isinstance(problem, MemoryProblem | MomentsProblem)
            sketch = problem.sketch(empty)
            w = solve_sketch(objective, *sketch.within())
        else:
            self._check_memory(problem)
            problem.moments()
            w = solve_moments(objective)
        monitor(w, 1.0)
        return Result(w, 1)

    def _check_memory(self, problem: Problem) -> None:
        size = 2 * problem.n_features**2 * 8
        if size > self.max_moment_bytes and not problem.knows_moments:
            raise ValueError(
                f"the solver 'exact' keeps two d×d covariances, {size / 1e9:.1f} GB for "
                f"{problem.n_features} features, more than Exact.max_moment_bytes "
                f"({self.max_moment_bytes / 1e9:g} GB); use solver='conjugate_gradient', which "
                "gives the same optimum, or Exact(covariance='diagonal')."
            )

    def empty(self, classes: np.ndarray | list[float]) -> ClassMoments | ClassSketch:
        """Return what is kept of the rows, before the first of them.

        Parameters
        ----------
        classes : sequence of labels
            The labels there may be.
        """
        if self.covariance not in _COVARIANCES:
            names = ", ".join(map(repr, _COVARIANCES))
            raise ValueError(f"covariance must be one of {names}; got {self.covariance!r}.")
        if self.covariance == "frequent_directions":
            return FrequentDirections(50 if self.rank is None else self.rank, classes)
        if self.rank is not None:
            raise ValueError(
                f"rank={self.rank!r} does nothing with covariance={self.covariance!r}; leave it "
                "None, or take covariance='frequent_directions'."
            )
        return ClassMoments(classes) if self.covariance == "full" else DiagonalMoments(classes)


def solve_sketch(objective: Objective, D: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the optimum of J with diag(D) + BᵀB, in the features' units, for Σ₊ + Σ₋.

    B is overwritten.
    """
    problem = objective.problem
    if problem.factor is not None:
        D = D * problem.factor**2
        B *= problem.factor
    delta = problem.delta
    u = woodbury(D, B, objective.penalty.l2, delta)
    return u / (1.0 + delta @ u)


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
