"""How far any w is from the optimum of an objective, measured beside a batch solver's solution.

The bounds that an `Objective` gives at a single w are wide where w is far from the optimum, as that
of a stochastic solver may be. J at the optimum, once known, serves every w.
"""

from functools import cached_property

import numpy as np

from aucmax.objective import Objective
from aucmax.penalties import L2, ElasticNet, L2Ball
from aucmax.problem import SketchProblem
from aucmax.solvers.auto import choose
from aucmax.solvers.base import Monitor, Solver
from aucmax.solvers.conjugate_gradient import ConjugateGradient
from aucmax.solvers.cutting_plane import CuttingPlane
from aucmax.solvers.newton import Newton

__all__ = ["Certificate"]

_TOL = {True: 1e-6, False: 1e-3}  # of the batch solver, for smooth losses and hinges
_MAX_ITER = {True: 3000, False: 300}
_RADII = 12  # multipliers tried for a ball
_CLOSE = 1e-3  # relative distance from its sphere that is near enough


class Certificate:
    """J and (J(w) − J*)/(J(0) − J*) at any w.

    Parameters
    ----------
    objective : Objective
        Of it a batch solver is run once, when first asked.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective.apart()  # what a fit knows must not depend on who watches it

    @cached_property
    def lowest(self) -> float:
        """A number below J*, or nearly; 0 where no batch solver minimises the objective."""
        penalty = self.objective.penalty
        if isinstance(penalty, L2Ball):
            return self._lowest_on_ball(penalty)
        return self._minimum(penalty)[0]

    def evaluate(self, w: np.ndarray) -> tuple[float, float]:
        """Return (J(w), optimality of w), the latter bounded or estimated from above."""
        objective = self.objective
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            value, gradient = objective.data_term(w)
            total = value + objective.penalty.value(w)
            if not np.isfinite(total):
                return total, np.inf
            gap = objective.gap(value, gradient, w)
            gap = min(gap, max(total - self.lowest, objective.rounding(w)))
            return total, objective.relative(gap, total)

    def _minimum(self, penalty: ElasticNet) -> tuple[float, np.ndarray]:
        """Return a number below the minimum of J with another penalty, and the minimiser."""
        goal = self.objective.with_penalty(penalty)
        solver = _batch_solver(goal)
        if solver is None:
            return 0.0, np.zeros(goal.problem.n_features)
        smooth = goal.loss.smooth
        result = solver.solve(
            goal, None, tol=_TOL[smooth], max_iter=_MAX_ITER[smooth],
            rng=np.random.RandomState(0), monitor=Monitor(goal),
        )  # fmt: skip
        value, gradient = goal.data_term(result.coef)
        gap = min(result.gap, goal.gap(value, gradient, result.coef))
        return max(value + penalty.value(result.coef) - gap, 0.0), result.coef

    def _lowest_on_ball(self, ball: L2Ball) -> float:
        """Return the best of the bounds min J + (λ/2)(‖w‖² − R²) over some λ ≥ 0.

        Every λ gives one; the best is where ‖w‖ = R, and 1/‖w‖ is nearly linear in λ (Moré &
        Sorensen 1983).
        """
        best, points = 0.0, []
        multiplier = 0.0
        for _ in range(_RADII):
            lowest, w = self._minimum(L2(ball.l2 + multiplier))
            best = max(best, lowest - 0.5 * multiplier * ball.radius**2)
            norm = float(np.linalg.norm(w))
            if norm == 0.0 or (multiplier == 0.0 and norm <= ball.radius):
                break
            if abs(norm / ball.radius - 1.0) <= _CLOSE:
                break
            points = [*points, (multiplier, 1.0 / norm - 1.0 / ball.radius)][-2:]
            if len(points) == 1:
                multiplier = ball.l2 if ball.l2 > 0.0 else 1e-3
                continue
            (a, at_a), (b, at_b) = points
            multiplier = max(b - at_b * (b - a) / (at_b - at_a), 0.0) if at_a != at_b else 2.0 * b
        return best


def _batch_solver(objective: Objective) -> Solver | None:
    """Return a batch solver that minimises the objective over its rows or moments, or None."""
    if not objective.loss.smooth:
        proper = objective.penalty.l1 == 0.0 < objective.penalty.l2
        return CuttingPlane() if proper else None
    if not objective.translates:
        return Newton()
    if isinstance(objective.problem, SketchProblem):
        return ConjugateGradient()
    return choose(objective)
