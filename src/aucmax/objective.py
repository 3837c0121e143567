"""J: a loss and a penalty on a problem; its value, gradient and optimality.

    J(w) = ½ · mean over pairs of ℓ(w·(x − x′)) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ]

For the square loss J(w) = ½(1 − w·δ)² + ½ w·(Σ₊+Σ₋)w + penalty.
"""

from functools import cached_property

import numpy as np

from aucmax.losses import PairwiseLoss
from aucmax.penalties import ElasticNet
from aucmax.problem import MemoryProblem, Problem
from aucmax.products import dot

__all__ = ["Objective"]


class Objective:
    """J on one problem, in the problem's (scaled) coordinates.

    Parameters
    ----------
    problem : Problem
    loss : PairwiseLoss
    penalty : ElasticNet
    """

    def __init__(self, problem: Problem, loss: PairwiseLoss, penalty: ElasticNet) -> None:
        self.problem, self.loss, self.penalty = problem, loss, penalty

    def data_term(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the data term of J at w and its gradient (d,), in one pass or from moments."""
        problem = self.problem
        if self.loss.quadratic:
            gap = 1.0 - dot(problem.delta, w)
            hw = problem.within_product(w)
            return 0.5 * gap * gap + 0.5 * dot(w, hw), hw - gap * problem.delta
        if not isinstance(problem, MemoryProblem):
            raise ValueError(f"the loss {self.loss.name!r} needs rows; only moments are given.")
        pairs = self.loss.at(problem.scores(w), problem.sign, problem.share)
        return pairs.value, problem.adjoint(pairs.gradient)

    def value(self, w: np.ndarray) -> float:
        """Return J(w)."""
        return self.evaluate(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the gradient of the data term at w, shape (d,)."""
        return self.data_term(w)[1]

    def hessian_product(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the data term's second derivative at w times v, shape (d,)."""
        problem = self.problem
        if self.loss.quadratic:
            return problem.within_product(v) + problem.delta * dot(problem.delta, v)
        if not isinstance(problem, MemoryProblem):
            raise ValueError(f"the loss {self.loss.name!r} needs rows; only moments are given.")
        z, u = problem.scores(w), problem.scores(v)
        return problem.adjoint(self.loss.hessian_product(z, u, problem.sign, problem.share))

    @cached_property
    def slope_at_zero(self) -> float:
        """The maximum norm of the data term's gradient at w = 0 (1 where that is 0).

        At w = 0 every pair has t = 0, so the gradient is ½ ℓ′(0) δ.
        """
        half = 0.5 * float(self.loss.derivative(np.zeros(1))[0])
        slope = abs(half) * float(np.max(np.abs(self.problem.delta), initial=0.0))
        return slope if slope > 0.0 else 1.0

    def violation(self, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return the optimality of w, given the data term's gradient there."""
        return float(np.max(self.penalty.distance(gradient, w), initial=0.0)) / self.slope_at_zero

    def optimality(self, w: np.ndarray) -> float:
        """Return the distance of −∇(data term) to the penalty's subdifferential at w.

        Maximum norm, divided by the maximum norm of the data term's gradient at w = 0: 0 at the
        optimum, 1 at w = 0 without an l1 penalty.
        """
        return self.violation(self.gradient(w), w)

    def evaluate(self, w: np.ndarray) -> tuple[float, float]:
        """Return (J(w), optimality of w) from one pass."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            value, gradient = self.data_term(w)
            return value + self.penalty.value(w), self.violation(gradient, w)
