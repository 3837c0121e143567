"""Exact: the optimum of J for the square loss and an l2 penalty, by one Cholesky factorisation.

(S + δδᵀ + αI) w = δ,    S = Σ₊ + Σ₋, or 2τΣ₊ + 2(1−τ)Σ₋

With a sketch, diag(D) + BᵀB replaces S: w = u / (1 + δ·u), and u = (S + αI)⁻¹ δ follows from
Woodbury's identity.
"""

from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError, eigh

from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.losses import Square
from aucmax.objective.penalties import L2
from aucmax.objective.problem import Problem
from aucmax.solvers.base import Result, Run, Solver, lacking
from aucmax.solvers.batch.cholesky import Cholesky
from aucmax.solvers.batch.krylov import Product
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.woodbury import woodbury

__all__ = ["Exact"]

_MIN_ALPHA_SHARE = 1e-9  # share of the largest eigenvalue above which α is safe from rounding
_MAX_CHOLESKY_ALPHAS = 8  # so many factorisations cost less than one eigendecomposition,
_FEW_FEATURES = 40  # except up to so many features
_ROUNDING_SHARE = 1e-14  # share of J(0) below which no gain is possible
_NO_SLOPE = 1e-12  # share of the slope at 0: less of it may be rounding
_COVARIANCES = ("full", "diagonal", "frequent_directions")


class Exact(Solver):
    """The minimiser of ½(1 − w·δ)² + ½ w·Sw + (α/2)‖w‖² to machine precision.

    S = Σ₊ + Σ₋, or 2τΣ₊ + 2(1−τ)Σ₋ with ``within`` = τ.

    It reads the data once, for the class moments (O(n d²)), and factors one d×d matrix (O(d³)).
    It is for few features; `ConjugateGradient` is for many. With α = 0 and a singular matrix it
    gives the minimiser of smallest norm, in features scaled to unit curvature.

    Parameters
    ----------
    covariance : {"full", "diagonal", "frequent_directions"}
        How to keep Σ₊ and Σ₋. The last two are for streams and shards of rows with many features.
        They give the optimum of a J in which Σ₊ + Σ₋ is replaced: by its diagonal, O(d) numbers;
        or by a sketch of ``rank`` directions for each class, whose diagonal is exact, O(rank · d)
        numbers. ``objective_`` and ``optimality_`` are still those of the true J. After
        ``partial_fit``, ``fit_moments`` or a ``fit`` to a source, which is read once, there are no
        rows to compute them from, and both are bounds: J is at most ``objective_``.
    rank : int or None
        Number of directions of "frequent_directions" for each class; None is 50.

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

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic", "weighted quadratic"), penalty="l2", data=None)

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        problem, empty = objective.problem, self.empty([-1.0, 1.0])
        self.check_memory(problem)
        statistics = problem.statistics(empty)
        value = None
        if statistics.has_covariances:
            w, gap = solve_moments(objective)
        else:
            w, gap = solve_sketch(objective, *problem.low_rank(statistics)), np.inf
            if not problem.offers:  # nothing to compute the true J from
                value, gap = sketch_bounds(objective, statistics, w)
        run.monitor(w, 1.0)
        return Result(w, 1, gap=gap, value=value)

    def solve_path(self, problem: Problem, alphas: np.ndarray) -> np.ndarray:
        """Return the optima for several α from the moments; many α share one eigendecomposition.

        Parameters
        ----------
        problem : Problem
            Its moments must be known; its τ is used.
        alphas : ndarray, shape (k,)

        Returns
        -------
        ndarray, shape (k, d)
            In the problem's coordinates.
        """
        few_features = problem.n_features <= _FEW_FEATURES and len(alphas) > 1
        matrix = _second_derivative(problem)
        if few_features or len(alphas) > _MAX_CHOLESKY_ALPHAS:
            delta = problem.delta
            values, vectors = eigh(matrix, check_finite=False)
            if (
                alphas.min() > _MIN_ALPHA_SHARE * values[-1]
            ):  # otherwise rounding swamps the smallest α

                def solve(rhs: np.ndarray) -> np.ndarray:
                    return vectors @ ((vectors.T @ rhs) / (values[:, None] + alphas))

                W = solve(delta[:, None])
                for _ in range(2):  # iterative refinement
                    W += solve(delta[:, None] - matrix @ W - alphas * W)
                return W.T
        loss = Square(problem.tau)
        goals = [Objective(problem, loss, L2(float(alpha))) for alpha in alphas]
        return np.array([_solve(goal, matrix)[0] for goal in goals])

    def check_memory(self, problem: Problem) -> None:
        """Raise ValueError if two d×d covariances are needed and would take too much memory."""
        if self.covariance != "full":
            return
        size = 2 * problem.n_features**2 * 8
        free = problem.knows_moments or "products" not in problem.offers
        if size > self.max_moment_bytes and not free:
            raise ValueError(
                f"the solver 'exact' keeps two d×d covariances, {size / 1e9:.1f} GB for "
                f"{problem.n_features} features, more than Exact.max_moment_bytes "
                f"({self.max_moment_bytes / 1e9:g} GB); use solver='conjugate_gradient', which "
                "gives the same optimum, or Exact(covariance='diagonal')."
            )

    def empty(self, classes: np.ndarray | list[float] | None) -> ClassStatistics:
        """Return the statistics to keep, before the first row.

        Parameters
        ----------
        classes : sequence of labels, optional
            The possible labels; by default any.
        """
        if self.covariance not in _COVARIANCES:
            names = ", ".join(map(repr, _COVARIANCES))
            raise ValueError(f"covariance must be one of {names}; got {self.covariance!r}.")
        if self.covariance == "frequent_directions":
            return FrequentDirections(50 if self.rank is None else self.rank, classes)
        if self.rank is not None:
            raise ValueError(
                f"rank={self.rank!r} does nothing with covariance={self.covariance!r}; leave it "
                "None, or use covariance='frequent_directions'."
            )
        return ClassMoments(classes) if self.covariance == "full" else DiagonalMoments(classes)


def solve_sketch(objective: Objective, D: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the optimum of J with diag(D) + BᵀB in place of S; B is overwritten."""
    delta = objective.problem.delta
    u = woodbury(D, B, objective.penalty.l2, delta)
    return u / (1.0 + delta @ u)


def sketch_bounds(
    objective: Objective, statistics: ClassStatistics, w: np.ndarray
) -> tuple[float, float]:
    """Return an upper bound on J(w), and J(w) − J* for `relative`, from a sketch of S.

    S = BᵀB + R, where the diagonal D of R ⪰ 0 and a bound r on its norm are known. So w·Rw is at
    most r‖w‖² (w for the unscaled features) and, by Cauchy–Schwarz, (Σ √D_j |w_j|)²; and J* is at
    least the minimum of J without R, which is α-strongly convex. The remaining share of J(0) − J*
    is largest for the smallest J*, unless J(w) may be above J(0): then it is largest for the
    largest J*, which is at most the smallest bound on J along w.
    """
    problem, alpha = objective.problem, objective.penalty.l2
    D, B = problem.low_rank(statistics)
    coef, r = problem.to_features(w), statistics.missed(problem.covariance_weights[::-1])
    missed = min(r * dot(coef, coef), dot(np.sqrt(D), np.abs(w)) ** 2)

    def without(v: np.ndarray) -> tuple[float, np.ndarray]:
        gap, Bv = 1.0 - dot(problem.delta, v), B @ v
        value = 0.5 * (gap * gap + dot(Bv, Bv) + alpha * dot(v, v))
        return value, B.T @ Bv + alpha * v - gap * problem.delta

    value, lower = without(w)[0] + 0.5 * missed, 0.0
    if value > objective.at_zero:
        along = dot(problem.delta, w) ** 2
        curvature = 2.0 * value - (1.0 - dot(problem.delta, w)) ** 2
        lower = 0.5 * curvature / (along + curvature)
    elif alpha > 0.0:
        least, slope = without(solve_sketch(objective, np.zeros_like(D), B.copy()))
        lower = max(least - 0.5 * dot(slope, slope) / alpha, 0.0)
    return value, value - lower


def solve_moments(objective: Objective) -> tuple[np.ndarray, float]:
    """Return the optimum of J from the problem's moments, and J(w) − J* due to rounding."""
    return _solve(objective, _second_derivative(objective.problem))


def _second_derivative(problem: Problem) -> np.ndarray:
    """Return that of the data term of J, S + δδᵀ (d, d)."""
    matrix = np.outer(problem.delta, problem.delta)
    matrix += problem.within
    return matrix


def _solve(objective: Objective, matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the optimum and the gap of `solve_moments`, given the `_second_derivative`."""
    delta, alpha = objective.problem.delta, objective.penalty.l2
    w, gap = np.zeros(len(delta)), np.inf
    for method in (_cholesky, _pseudo_inverse):
        inverse = method(*_with_unit_diagonal(matrix, alpha), delta)
        if inverse is None:
            continue
        w = inverse(delta)
        for _ in range(4):  # iterative refinement, and the Newton decrement
            residual = -(objective.data_gradient(w) + alpha * w)
            move = inverse(residual)
            gap = abs(0.5 * dot(residual, move))
            if gap <= _ROUNDING_SHARE * objective.at_zero:
                return w, gap
            w = w + move
    return w, gap


def _cholesky(unit: np.ndarray, in_units: np.ndarray, _: np.ndarray) -> Product | None:
    """Return v ↦ A⁻¹ v for A in these units, or None if it is singular to working precision."""
    try:
        factor = Cholesky(in_units, overwrite=True)
    except LinAlgError:
        return None
    if factor.smallest**2 <= _rounding(unit):
        return None
    return lambda v: unit * factor.solve(unit * v)


def _pseudo_inverse(unit: np.ndarray, in_units: np.ndarray, b: np.ndarray) -> Product:
    """Return v ↦ A⁺ v without the directions along which A and b may both be 0 but for rounding."""
    values, vectors = eigh(in_units, check_finite=False)
    along = np.abs((unit * b) @ vectors)
    kept = values > _rounding(unit) * max(values[-1], 0.0)
    kept |= (values > 0.0) & (along > _NO_SLOPE * np.sqrt(dot(along, along)))
    values, vectors = values[kept], vectors[:, kept]
    return lambda v: unit * (vectors @ ((vectors.T @ (unit * v)) / values))


def _with_unit_diagonal(matrix: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return units (d,) in which the diagonal of matrix + αI is 1, or 0, and that matrix."""
    # with unit curvature, units do not decide whether Cholesky succeeds
    curvature = matrix.diagonal() + alpha
    unit = 1.0 / np.sqrt(np.where(curvature > 0, curvature, 1.0))
    in_units = matrix * unit
    in_units *= unit[:, None]
    # rounded like the rest, so that equal features have equal columns
    in_units[np.diag_indices(len(unit))] = curvature * unit * unit
    return unit, in_units


def _rounding(unit: np.ndarray) -> float:
    """Return the share of the largest eigenvalue, in units, below which one may be 0."""
    return 10.0 * len(unit) * float(np.finfo(float).eps)
