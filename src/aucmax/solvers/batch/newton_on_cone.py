"""Newton's method on a cone, for an l2 penalty and any loss with second derivatives.

    w⁺ = argmin over the cone of ∇J(w)·(w⁺ − w) + ½ (w⁺ − w)·(∇²f(w) + αI)(w⁺ − w)

The model's minimum on the cone is the point of the cone nearest to its unconstrained minimum, in
the metric of its matrix. For the square loss one step is enough.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.cone import nearest
from aucmax.objective.losses import LossAt
from aucmax.solvers.base import Result, Run, Solver, lacking, unfinished

__all__ = ["NewtonOnCone", "gap_on_cone"]

_MAX_HALVINGS = 30
_SLOPE_SHARE = 1e-4  # share of the fall promised by the slope that a step must achieve
_ROUNDING_SHARE = 1e-15  # share of J by which rounding alone may raise it
_MIN_GAIN = 1e-11  # if J cannot fall by this share of J(0), w is 0


class NewtonOnCone(Solver):
    """Minimise J on a cone by Newton steps: each minimises the quadratic model on the cone.

    Parameters
    ----------
    tol : float, optional
        Stop at this optimality, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Maximum number of steps; None is the estimator's.

    Notes
    -----
    It forms the matrix of second derivatives, and is for at most a few thousand features. If no
    point of the cone is better than 0 by more than rounding, the solution is 0.

    References
    ----------
    Nocedal & Wright (2006), "Numerical optimization", section 18.1.
    """

    name = "newton_on_cone"

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def unfit(self, objective: Objective) -> str | None:
        kinds = ("quadratic", "weighted quadratic", "piecewise quadratic", "smooth")
        return lacking(objective, loss=kinds, penalty="cone")

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        run = self.settled(run)
        w = np.zeros(objective.problem.n_features) if start is None else start.copy()
        at = _Point.of(objective, w)
        steps, gap, factor = 0, np.inf, None
        while objective.relative(gap, at.value) > run.tol and steps < run.max_iter:
            if factor is None or not objective.by_moments:
                factor = cho_factor(at.matrix(objective), overwrite_a=True, check_finite=False)
            system = factor

            def inverse(g: np.ndarray, system: Any = system) -> np.ndarray:
                return cho_solve(system, g, check_finite=False)

            penalty = objective.penalty
            step = nearest(penalty.cone, at.w - inverse(at.slope), inverse)
            lower = at.lowered(objective, step.point)
            if lower is None:  # not beyond rounding
                gap = min(gap, gap_on_cone(objective, at.slope, at.w, step.pull))
                break
            fall, at, steps = at.value - lower.value, lower, steps + 1
            gap = gap_on_cone(objective, at.slope, at.w, step.pull)
            if run.monitor(at.w, 2.0 * steps) or fall <= _ROUNDING_SHARE * abs(at.value):
                break
        if objective.at_zero - at.value + gap <= _MIN_GAIN * objective.at_zero:
            return Result(np.zeros(len(w)), max(steps, 1), gap=0.0, value=objective.at_zero)
        stop = f"Newton's method stopped after {steps} steps"
        quality = objective.relative(gap, at.value)
        message = unfinished(objective, run, quality, steps, stop)
        return Result(at.w, max(steps, 1), message, gap, at.value)


def gap_on_cone(objective: Objective, slope: np.ndarray, w: np.ndarray, pull: np.ndarray) -> float:
    """Return a bound on J(w) − J* on a cone.

    It is ‖∇J(w) − q‖²/(2α) + q·w: the difference between J(w) and the dual objective at q and the
    slopes of the loss at w, for any q with non-negative products with all points of the cone.

    Parameters
    ----------
    objective : Objective
        Its penalty is an `L2Cone`.
    slope : ndarray, shape (d,)
        ∇J(w).
    w : ndarray, shape (d,)
        The bound is infinite if it is not in the cone.
    pull : ndarray, shape (d,)
        q.
    """
    residual = slope - pull
    if w not in objective.penalty.cone:
        return np.inf
    return 0.5 * dot(residual, residual) / objective.penalty.l2 + abs(dot(pull, w))


class _Point(NamedTuple):
    """A point w (d,), J(w), ∇J(w) (d,), and the data term at the scores unless moments suffice."""

    w: np.ndarray
    value: float
    slope: np.ndarray
    term: LossAt | None

    @classmethod
    def of(cls, objective: Objective, w: np.ndarray) -> "_Point":
        penalty, term = objective.penalty, None
        if objective.by_moments:
            data, gradient = objective.data_term(w)
        else:
            term = objective.at(objective.problem.scores(w))
            data, gradient = term.value, objective.adjoint(term.gradient)
        return cls(w, data + penalty.value(w), gradient + penalty.l2 * w, term)

    def matrix(self, objective: Objective) -> np.ndarray:
        """Return the second derivative of J, shape (d, d)."""
        if self.term is None:
            delta = objective.problem.delta
            matrix = objective.problem.within + np.outer(delta, delta)
        else:
            matrix = objective.bend_matrix(self.term)
        matrix[np.diag_indices(len(matrix))] += objective.penalty.l2
        return matrix

    def lowered(self, objective: Objective, target: np.ndarray) -> "_Point | None":
        """Return the first point at 1, ½, ¼, … of the way to a target where J is low enough."""
        direction = target - self.w
        promised = dot(self.slope, direction)
        for halvings in range(_MAX_HALVINGS):
            length = 0.5**halvings
            point = _Point.of(objective, self.w + length * direction)
            fall = _SLOPE_SHARE * length * promised + _ROUNDING_SHARE * abs(self.value)
            if point.value <= self.value + fall:
                return point
        return None
