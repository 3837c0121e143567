"""J: a loss and a penalty on a problem; its value, gradient and optimality.

    J(w) = ½ · mean over pairs of ℓ(w·(x − x′)) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ]

For the square loss J(w) = ½(1 − w·δ)² + ½ w·(Σ₊+Σ₋)w + penalty. `UnivariateObjective` has the
mean of a loss over single rows in place of that over pairs.

**Optimality** is the distance of −∇(data term) to the penalty's subdifferential. With a hinge that
distance says little away from the kinks, so there it is a duality gap instead: any weights β in
[0, 1] on the kinks' slopes give a lower bound of the optimum, and the slopes of a hinge with a
rounded kink at w give a good one.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from aucmax.losses import Hinge, PairwiseLoss, UnivariateHinge, UnivariateLoss
from aucmax.penalties import ElasticNet
from aucmax.problem import MemoryProblem, Problem
from aucmax.products import dot

__all__ = ["Objective", "UnivariateObjective", "dual_bound"]

_WIDTHS = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the rounded kinks that a bound is tried from


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
        optimum, 1 at w = 0 without an l1 penalty. With a hinge it is a bound of
        (J(w) − J*)/J(0).
        """
        if not self.loss.smooth:
            return self.evaluate(w)[1]
        return self.violation(self.gradient(w), w)

    def evaluate(self, w: np.ndarray) -> tuple[float, float]:
        """Return (J(w), optimality of w) from one pass."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            value, gradient = self.data_term(w)
            value += self.penalty.value(w)
            if self.loss.smooth:
                return value, self.violation(gradient, w)
            return value, self.gap(value, w)

    def gap(self, value: float, w: np.ndarray) -> float:
        """Return a bound of (J(w) − J*)/J(0) for a hinge, given J(w)."""
        if not np.all(np.isfinite(w)):
            return np.inf
        best = max((dual_bound(t, v, self.penalty) for t, v in self._duals(w)), default=0.0)
        return max(value - best, 0.0) / self._at_zero

    _at_zero = 0.5

    def _duals(self, w: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the sum of weights β and of β times the rows (d,), for β near the optimal ones."""
        problem = self.problem
        assert isinstance(problem, MemoryProblem)
        assert isinstance(self.loss, Hinge)
        pairs = self.loss.at(problem.scores(w), problem.sign, problem.share)
        # below that, rounding in the differences of `smoothed` is larger than what is gained
        for width in _WIDTHS[1:]:
            g = pairs.smoothed(width)
            yield -float(g[problem.sign > 0].sum()), -problem.adjoint(g)


class UnivariateObjective(Objective):
    """Mean over rows of ℓ(y w·x) + penalty.

    Parameters
    ----------
    problem : MemoryProblem
    loss : UnivariateLoss
    penalty : ElasticNet
    balanced : bool
        Give both classes half of the weight.
    """

    loss: UnivariateLoss  # type: ignore[assignment]
    problem: MemoryProblem

    def __init__(
        self,
        problem: MemoryProblem,
        loss: UnivariateLoss,
        penalty: ElasticNet,
        balanced: bool = False,
    ) -> None:
        self.problem, self.loss, self.penalty = problem, loss, penalty
        self.balanced = balanced
        self.share = 0.5 * problem.share if balanced else problem.weight / problem.n_samples

    def data_term(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        t = self.problem.sign * self.problem.scores(w)
        slope = self.share * self.problem.sign * self.loss.derivative(t)
        return float(self.share @ self.loss.point(t)), self.problem.adjoint(slope)

    def value(self, w: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            t = self.problem.sign * self.problem.scores(w)
            return float(self.share @ self.loss.point(t)) + self.penalty.value(w)

    def hessian_product(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @cached_property
    def slope_at_zero(self) -> float:
        slope = np.abs(self.gradient(np.zeros(self.problem.n_features))).max(initial=0.0)
        return float(slope) if slope > 0.0 else 1.0

    _at_zero = 1.0

    def _duals(self, w: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
        assert isinstance(self.loss, UnivariateHinge)
        sign = self.problem.sign
        t = sign * self.problem.scores(w)
        for width in _WIDTHS:
            beta = self.share * self.loss.smoothed(t, width)
            yield float(beta.sum()), self.problem.adjoint(beta * sign)


def dual_bound(total: float, v: np.ndarray, penalty: ElasticNet) -> float:
    """Return the largest c·total − penalty*(c v) over c in [0, 1], at least 0.

    With ``total`` Σ β and ``v`` Σ β y x for β in [0, 1] (weighted as the data term is), it is at
    most the objective's minimum for a hinge.
    """
    if penalty.l2 == 0.0:
        over = float(np.abs(v).max(initial=0.0))
        return total * min(1.0, penalty.l1 / over) if over > 0.0 else total
    size = np.abs(v)

    def slope(c: float) -> float:
        return total - float(size @ np.maximum(c * size - penalty.l1, 0.0)) / penalty.l2

    low, high = 0.0, 1.0
    if slope(high) >= 0.0:
        low = high
    elif penalty.l1 == 0.0:
        low = total * penalty.l2 / float(size @ size)
    else:  # concave in c: bisection on the slope
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) >= 0.0 else (low, middle)
    return max(0.0, low * total - penalty.conjugate(low * v))
