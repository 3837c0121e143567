"""The distance of any w from the optimum, by comparison with a batch solver's solution.

The bounds that an `Objective` gives at a single w are loose if w is far from the optimum, as after
a stochastic solver. J at the optimum, once computed, serves for every w.
"""

from functools import cached_property

import numpy as np

from aucmax.objective import Objective
from aucmax.objective.losses import RoundedMargin
from aucmax.objective.penalties import L2, L2Ball, Penalty
from aucmax.solvers.auto import choose
from aucmax.solvers.base import Monitor, Run, Solver
from aucmax.solvers.batch.conjugate_gradient import ConjugateGradient
from aucmax.solvers.batch.newton import Newton

__all__ = ["Certificate"]

# tolerances of the minimum, with maximum numbers of products, tried until one is sufficient for w;
# for a hinge, widths of the rounded kink
_TOLS = ((1e-2, 50), (1e-4, 500), (1e-6, 2000), (1e-8, 4000))
_WIDTHS = tuple((width, 300) for width in (4.0, 1.0, 0.3, 0.1, 0.03, 0.01))
_SLACK_FACTOR = 1.25  # a gap of at least so many slacks is known within a factor of 5
_TOL_PER_WIDTH = 0.1  # tolerance for a rounded hinge, relative to the width
_ROUNDING = 1e-12  # times d · mean ‖x‖² / mean ‖x − μ‖²: above 1 rounding hides differences
_MAX_MULTIPLIERS = 12  # to try for a ball
_FIRST_MULTIPLIER = 1e-4  # as a share of the curvature, if α is 0
_SPHERE_TOL = 1e-3  # relative distance from the sphere


class Certificate:
    """J and (J(w) − J*)/(J(0) − J*) at any w.

    Parameters
    ----------
    objective : Objective
        A batch solver minimises it at the first evaluation, and again with a smaller tolerance for
        a w that is closer to the optimum.
    """

    def __init__(self, objective: Objective) -> None:
        self._of_fit = objective
        self._efforts = list(_WIDTHS if objective.loss.kind == "kinked" else _TOLS)
        self._near: np.ndarray | None = None  # the minimiser for the last width
        self._lowest, self._slack = 0.0, np.inf  # a lower bound on J*, and its largest error

    @cached_property
    def objective(self) -> Objective:
        """The objective with a copy of what the fit has computed, which must not depend on this."""
        return self._of_fit.apart()

    def evaluate(self, w: np.ndarray) -> tuple[float, float]:
        """Return (J(w), optimality of w), the latter bounded or estimated from above."""
        objective = self.objective
        with np.errstate(over="ignore", invalid="ignore"):  # the solver may diverge
            value, gradient = objective.data_term(w)
            total = value + objective.penalty.value(w)
            if not np.isfinite(total):
                return total, np.inf
            gap = objective.gap(value, gradient, w)
        while total - self._lowest < _SLACK_FACTOR * self._slack and self._efforts:
            self._sharpen(*self._efforts.pop(0))
        gap = max(min(gap, total - self._lowest), objective.rounding(w))
        if total > objective.at_zero:  # where the share is larger the nearer J* is
            gap = total - (self._lowest + self._slack)
        return total, objective.relative(gap, total)

    def _sharpen(self, sharpness: float, products: int) -> None:
        penalty = self.objective.penalty
        if self.objective.loss.kind == "kinked":
            lowest, slack = self._minimum_of_hinge(sharpness, products)
        elif isinstance(penalty, L2Ball):
            lowest, slack = self._minimum_on_ball(penalty, sharpness, products)
        else:
            lowest, slack, _ = self._minimum(penalty, sharpness, products)
        if slack < self._slack:
            self._lowest, self._slack = lowest, slack

    def _minimum(
        self, penalty: Penalty, tol: float, products: int
    ) -> tuple[float, float, np.ndarray]:
        """Return a lower bound on the minimum of J with a penalty, its slack, and the minimiser."""
        goal = self.objective.with_penalty(penalty)
        w, value, gap, _ = _solved(_batch_solver(goal), goal, tol, products)
        return value - gap, gap, w

    def _minimum_of_hinge(self, width: float, products: int) -> tuple[float, float]:
        """Return a lower bound on J*, and its slack, from the minimum with a rounded kink.

        Rounding adds at most width/8 of J(0). The slopes at the minimum are also weights β of a
        dual point of the hinge itself.
        """
        objective = self.objective
        goal = objective.rounded(width)
        tol = _TOL_PER_WIDTH * width
        self._near, value, gap, converged = _solved(Newton(), goal, tol, products, self._near)
        z = objective.problem.scores(self._near)
        below = value - gap - width / 8.0 * objective.at_zero
        lowest = max(below, objective.bound(goal.at(z)), 0.0)
        slack = objective.value(self._near) - lowest
        if not converged and slack > self._slack:  # sharper kinks would not converge either
            self._efforts.clear()
        return lowest, slack

    def _minimum_on_ball(self, ball: L2Ball, tol: float, products: int) -> tuple[float, float]:
        """Return the best of the bounds min J + (λ/2)(‖w‖² − R²) over some λ ≥ 0, and its slack.

        The best λ is the one with ‖w‖ = R, and 1/‖w‖ is nearly linear in λ (Moré & Sorensen 1983).
        """
        best, slack = 0.0, np.inf
        points: list[tuple[float, float]] = []
        multiplier = 0.0
        for _ in range(_MAX_MULTIPLIERS):
            lowest, gap, w = self._minimum(L2(ball.l2 + multiplier), tol, products)
            lowest -= 0.5 * multiplier * ball.radius**2
            if lowest > best or not np.isfinite(slack):
                best, slack = max(lowest, 0.0), gap
            norm = float(np.linalg.norm(w))
            inside = multiplier == 0.0 and norm <= ball.radius
            if inside or norm == 0.0 or abs(norm / ball.radius - 1.0) <= _SPHERE_TOL:
                break
            points = [*points, (multiplier, 1.0 / norm - 1.0 / ball.radius)][-2:]
            if len(points) == 1:
                multiplier = ball.l2 if ball.l2 > 0.0 else _FIRST_MULTIPLIER * self._curvature()
                continue
            (a, at_a), (b, at_b) = points
            multiplier = max(b - at_b * (b - a) / (at_b - at_a), 0.0) if at_a != at_b else 2.0 * b
        return best, slack

    def _curvature(self) -> float:
        return float(self.objective.data_curvature().sum())


def _solved(
    solver: Solver, goal: Objective, tol: float, products: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, float, bool]:
    """Return a solver's minimiser w, J(w), J(w) − J*, and whether the solver reached its tolerance.

    For losses that change with a shift of the rows, the solver's own gap, from second derivatives,
    is unreliable for rows far from the origin, and for a hinge with few rows or none inside its
    rounded kink. The dual bound holds.
    """
    solution = solver.solve(goal, start, Run(Monitor(goal), tol, products))
    w = solution.coef
    value, gradient = goal.data_term(w)
    gap, problem = goal.gap(value, gradient, w), goal.problem
    blurred = _ROUNDING * problem.n_features * problem.remoteness
    unreliable = blurred > 1.0 or isinstance(goal.loss, RoundedMargin)
    if not unreliable or goal.translates:
        gap = min(solution.gap, gap)
    return w, value + goal.penalty.value(w), gap, not solution.message


def _batch_solver(objective: Objective) -> Solver:
    """Return a batch solver that minimises the objective over its rows or moments."""
    if not objective.translates:
        return Newton()
    problem = objective.problem
    square = objective.by_moments and "l2" in objective.penalty.offers
    if square and not problem.knows_moments:
        return ConjugateGradient()  # low accuracy costs it only a few passes
    return choose(objective)
