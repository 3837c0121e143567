"""Cutting planes for the hinge and an l2 penalty: SVM-perf, whose objective is also SVM-OR's.

    J(w) = R(w) + (α/2) ‖w‖²,    R(w) = ½ · mean over pairs of max(0, 1 − w·(x − x′))

is, up to the factor C, SVM-perf's ½‖w‖² + C · mean pair hinge with α = 1/(2C). R lies above its
tangent plane at any point v,

    R(w) ≥ b − a·w,    a = −∂R(v),    b = R(v) + a·v.

Replacing R by the maximum of some planes (and 0) gives a quadratic program in a handful of
variables, whose value is a lower bound on the optimum:

    max over μ ≥ 0, Σμ ≤ 1 of  b·μ − ‖Σ μ_k a_k‖² / (2α),    w_t = Σ μ_k a_k / α.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.basics.needs import needs
from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.solvers.base import Result, Run, Solver, lacking, unfinished

__all__ = ["MAX_IDLE_PROGRAMS", "CuttingPlane", "Planes", "plane_weights"]

_CENTRE_SHARE = 0.1  # share of the way from the best point to w_t at which the next plane touches R
MAX_IDLE_PROGRAMS = 30  # a plane without weight in so many consecutive programs is dropped
_ROUNDING_WIDTHS = (0.01, 0.1, 1.0)  # widths of rounded kinks, for the planes of a warm start
_MAX_STALLED_PLANES = 20  # if so many planes in a row change neither bound, rounding ends the fit
_LINE_SEARCH_POINTS = 14  # points of a line search


class CuttingPlane(Solver):
    """Minimise J for the hinge and an l2 penalty by cutting planes, O(n log n + nnz) per plane.

    Parameters
    ----------
    tol : float, optional
        Stop when (J(w) − L)/(J(0) − L) is at most this, where L is the lower bound; None is the
        estimator's.
    max_iter : int, optional
        Maximum number of planes; None is the estimator's.

    Notes
    -----
    The bound is a certificate: it holds however accurately the quadratic programs are solved.
    Between two planes, J is minimised along the line from the best point so far to w_t, which costs
    sorts but no pass over the rows; the next plane touches R a tenth of the way. Without a penalty
    the program has no minimum, so α must be above 0.

    References
    ----------
    Joachims (2005), "A support vector method for multivariate performance measures"; (2006),
    "Training linear SVMs in linear time". Teo, Vishwanathan, Smola & Le (2010), "Bundle methods
    for regularized risk minimization". Franc & Sonnenburg (2009), "Optimized cutting plane
    algorithm for large-scale risk minimization", for the line search.
    """

    name = "cutting_plane"

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("kinked",), penalty="l2", data=("products",))

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        run = self.settled(run)
        problem, alpha = objective.problem, objective.penalty.l2
        if not alpha > 0.0:
            raise ValueError(
                "the solver 'cutting_plane' needs alpha > 0; got 0, for which its quadratic "
                "program has no minimum. Use a small alpha, such as 1e-6."
            )
        planes = Planes(alpha)

        w = np.zeros(problem.n_features) if start is None else start.copy()
        z = problem.scores(w)
        pairs = objective.at(z)
        best, lower = pairs.value + 0.5 * alpha * dot(w, w), 0.0
        planes.add(*objective.plane(pairs))
        if start is not None:
            for slopes in objective.slopes(z, _ROUNDING_WIDTHS):
                planes.add(*objective.plane(slopes))
        count, idle = 1, 0
        while True:
            w_t, bound = planes.lowest()
            z_t = problem.scores(w_t)
            t, value = _search(objective, w, z, w_t - w, z_t - z, best)
            # if both are equal up to rounding, prefer w_t, because the planes meet there
            if t == 1.0:
                w, z = w_t, z_t
            else:
                w, z = w + t * (w_t - w), z + t * (z_t - z)
            moved = value < best * (1.0 - 1e-15) or bound > lower * (1.0 + 1e-15)
            idle = 0 if moved else idle + 1
            best, lower = value, max(lower, bound)
            quality = objective.relative(max(best - lower, 0.0), best)
            if quality <= run.tol or count >= run.max_iter or idle >= _MAX_STALLED_PLANES:
                # the scores were updated along the way; report the value at w itself
                z = problem.scores(w)
                best = objective.at(z).value + 0.5 * alpha * dot(w, w)
                quality = objective.relative(max(best - lower, 0.0), best)
                if quality <= run.tol or count >= run.max_iter or idle >= _MAX_STALLED_PLANES:
                    break
            if run.monitor(w, 2.0 * count):
                break
            planes.add(*objective.plane(objective.at(z + _CENTRE_SHARE * (z_t - z))))
            count += 1
        stop = f"cutting planes stopped after {count} planes"
        message = unfinished(objective, run, quality, count, stop)
        return Result(w, count, message, max(best - lower, 0.0))


def _search(
    objective: Objective,
    w: np.ndarray,
    z: np.ndarray,
    direction: np.ndarray,
    move: np.ndarray,
    best: float,
) -> tuple[float, float]:
    """Return the t ≥ 0 with the smallest J(w + t direction) of those tried, and that J.

    J is convex along the line: the sign change of its slope is bracketed, and the bracket is
    narrowed by regula falsi that stays away from its ends.
    """
    alpha = objective.penalty.l2
    ww, wd, dd = dot(w, w), dot(w, direction), dot(direction, direction)
    lowest = (0.0, best)

    def slope(t: float) -> float:
        nonlocal lowest
        pairs = objective.at(z + t * move)
        value = pairs.value + 0.5 * alpha * (ww + 2.0 * t * wd + t * t * dd)
        if value < lowest[1] or (t == 1.0 and value <= lowest[1] + 1e-15 * best):
            lowest = t, value
        return dot(pairs.gradient[:], move) + alpha * (wd + t * dd)

    low, high = 0.0, 1.0
    at_low, at_high = slope(low), slope(high)
    if at_low >= 0.0:
        return lowest
    looks = 2
    while at_high < 0.0 and looks < 2 * _LINE_SEARCH_POINTS:
        low, at_low = high, at_high
        high *= 2.0
        at_high = slope(high)
        looks += 1
    for _ in range(_LINE_SEARCH_POINTS):
        width = high - low
        if at_high <= 0.0 or width <= 1e-3 * high:
            break
        t = low - at_low * width / (at_high - at_low)
        t = min(max(t, low + 0.1 * width), high - 0.1 * width)
        at_t = slope(t)
        low, at_low, high, at_high = (
            (t, at_t, high, at_high) if at_t < 0 else (low, at_low, t, at_t)
        )
    return lowest


class Planes:
    """The planes b_k − a_k·w below R, and the quadratic program over them."""

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.a: list[np.ndarray] = []
        self.b = np.empty(0)
        self.gram = np.empty((0, 0))  # a_k·a_l
        self.idle = np.empty(0, dtype=np.int64)

    def add(self, b: float, a: np.ndarray) -> None:
        k = len(self.a)
        self.a.append(a)
        self.b, self.idle = np.append(self.b, b), np.append(self.idle, 0)
        gram = np.empty((k + 1, k + 1))
        gram[:k, :k] = self.gram
        gram[k] = gram[:, k] = [dot(row, a) for row in self.a]
        self.gram = gram

    def lowest(self) -> tuple[np.ndarray, float]:
        """Return w_t and a lower bound on the minimum of J; drop planes long without weight."""
        mu = plane_weights(self.gram / self.alpha, self.b)
        w = np.zeros_like(self.a[0])
        for weight, a in zip(mu, self.a, strict=True):
            if weight > 0.0:
                w += (weight / self.alpha) * a
        bound = float(mu @ self.b) - 0.5 * self.alpha * dot(w, w)
        self.idle = np.where(mu > 1e-10 * mu.max(), 0, self.idle + 1)
        if np.any(self.idle > MAX_IDLE_PROGRAMS):
            used = np.flatnonzero(self.idle <= MAX_IDLE_PROGRAMS)
            self.a = [self.a[k] for k in used]
            self.b, self.idle = self.b[used], self.idle[used]
            self.gram = self.gram[np.ix_(used, used)]
        return w, bound


def plane_weights(H: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the μ that maximises b·μ − ½ μ·Hμ over μ ≥ 0, Σμ ≤ 1.

    It comes from an interior-point method, and then from the linear system of the weights that
    remain positive, which gives more digits; the better of the two is returned, clipped to the
    bounds.
    """
    clarabel = needs("clarabel", "the cutting-plane solver")

    k = len(b)
    rows = sp.csc_array(np.vstack([-np.eye(k), np.ones((1, k))]))
    settings: Any = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cone = [clarabel.NonnegativeConeT(k + 1)]
    limits = np.append(np.zeros(k), 1.0)
    program = clarabel.DefaultSolver(sp.csc_array(np.triu(H)), -b, rows, limits, cone, settings)
    solution = program.solve()
    mu, slack, price = (np.nan_to_num(np.array(v)) for v in (solution.x, solution.s, solution.z))
    mu = np.maximum(mu, 0.0)
    mu /= max(1.0, float(mu.sum()))

    def value(v: np.ndarray) -> float:
        return float(b @ v - 0.5 * v @ (H @ v))

    best, full = (value(mu), mu), bool(slack[k] < price[k])
    diagonal = np.einsum("jj->j", H)
    S = np.flatnonzero(slack[:k] * np.maximum(diagonal, 1.0) > price[:k])
    for _ in range(10):
        if len(S) == 0:
            break
        scale = 1.0 / np.sqrt(np.maximum(diagonal[S], 1e-300))
        system = H[np.ix_(S, S)] * scale * scale[:, None]
        rhs = b[S] * scale
        if full:
            edge = (scale / scale.max())[:, None]
            system = np.block([[system, edge], [edge.T, np.zeros((1, 1))]])
            rhs = np.append(rhs, 1.0 / scale.max())
        part = np.linalg.lstsq(system, rhs, rcond=1e-15)[0][: len(S)] * scale
        if part.min() < 0.0:
            S = S[part >= 0.0]
            continue
        if part.sum() > 1.0 + 1e-9:
            if full:
                break
            full = True
            continue
        polished = np.zeros(k)
        polished[S] = part / max(1.0, float(part.sum()))
        if value(polished) >= best[0]:
            best = value(polished), polished
        break
    return best[1]
