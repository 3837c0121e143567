"""J: a loss and a penalty on a problem; its value, gradient and distance to the optimum.

    J(w) = ½ · mean over pairs of ℓ(w·(x − x′)) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ]

or with another penalty, or another ranking loss. For the square loss J(w) = ½(1 − w·δ)² +
½ w·Sw + penalty with S = Σ₊ + Σ₋, or with S = 2τΣ₊ + 2(1−τ)Σ₋, when J is not a mean over pairs.
`UnivariateObjective` has the mean of a loss over single rows instead of pairs.

**Optimality** is (J(w) − J*)/(J(0) − J*), bounded from above: 0 at the optimum, 1 at w = 0, and
independent of the units of the features. `Objective.gap` bounds J(w) − J* by Fenchel duality: the
slopes of the loss at w are a dual point, as is every multiple of them, and its value is below J*.
For a hinge, the slopes are those of a hinge with a rounded kink.

Names with ``data_…`` refer to the data term alone; `value`, `gap` and `optimality` refer to J.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from aucmax.data.rows.products import dot
from aucmax.data.rows.store import Numbers
from aucmax.objective.at_intercept import AtIntercept
from aucmax.objective.losses import (
    ActivePairs,
    ByRow,
    Hinge,
    LossAt,
    PairsInParts,
    RankingLoss,
    UnivariateHinge,
    UnivariateLoss,
)
from aucmax.objective.losses.base import total
from aucmax.objective.penalties import Penalty
from aucmax.objective.problem import Problem

__all__ = ["ConditionalObjective", "Objective", "UnivariateObjective"]

# widths of rounded kinks to try for a bound; with smaller ones, rounding errors exceed the gain
_ROUNDING_WIDTHS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_NO_SLOPE = 1e-9  # in standard deviations: a slope of J that may be rounding


@dataclass(frozen=True, eq=False)
class Objective:
    """J on one problem, in the problem's (scaled) coordinates.

    Parameters
    ----------
    data : Problem
        The two classes, with any τ.
    loss : RankingLoss
    penalty : Penalty
    """

    data: Problem
    loss: RankingLoss
    penalty: Penalty
    translates = True  # J does not change when one vector is added to all rows

    @property
    def by_moments(self) -> bool:
        """Whether the class moments determine the data term."""
        return self.loss.by_moments

    @cached_property
    def problem(self) -> Problem:
        """The data with the loss's τ."""
        return self.data.weighing(self.loss.within)

    @cached_property
    def at_zero(self) -> float:
        """J(0)."""
        return self.loss.at_zero

    def apart(self) -> Self:
        """Return the same J on a problem with its own caches."""
        return replace(self, data=self.problem.apart())

    def with_penalty(self, penalty: Penalty) -> Self:
        """Return J with another penalty."""
        return replace(self, data=self.problem, penalty=penalty)

    def at(self, z: np.ndarray, like: LossAt | None = None, near: LossAt | None = None) -> LossAt:
        """Return the data term as a function of the rows' scores, at z (n,).

        ``like`` is the data term at the same scores with other weights of the rows, if known, and
        ``near`` that at scores nearby.
        """
        return self.problem.loss_at(self.loss, z, like, near)

    def adjoint(self, g: Numbers) -> np.ndarray:
        """Return Xᵀ g, (d,) or (d, k), for derivatives g of the data term, which sum to 0.

        g is (n,) or (n, k). Rows are taken relative to a mean, because the features' distance from
        zero would multiply the rounding error of the sum.
        """
        sums = g.sum(axis=0) if isinstance(g, np.ndarray) and g.ndim == 2 else total(g)
        return self.problem.adjoint(g) - np.multiply.outer(self.problem.mean_neg, sums)

    def data_term(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the data term of J at w and its gradient (d,), in one pass or from moments."""
        problem = self.problem
        if self.by_moments:
            gap = 1.0 - dot(problem.delta, w)
            hw = problem.within_product(w)
            return 0.5 * gap * gap + 0.5 * dot(w, hw), hw - gap * problem.delta
        loss_at = self.at(problem.scores(w))
        return loss_at.value, self.adjoint(loss_at.gradient)

    def value(self, w: np.ndarray) -> float:
        """Return J(w)."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            if self.by_moments:
                return self.data_term(w)[0] + self.penalty.value(w)
            return self.at(self.problem.scores(w)).value + self.penalty.value(w)

    def data_gradient(self, w: np.ndarray) -> np.ndarray:
        """Return the gradient of the data term at w, shape (d,)."""
        return self.data_term(w)[1]

    def data_product(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the data term's second derivative at w times v, shape (d,)."""
        problem = self.problem
        if self.by_moments:
            product = problem.within_product(v)
            product += problem.delta * dot(problem.delta, v)
            return product
        return self.bending(self.at(problem.scores(w)))(v)

    def bending(self, loss_at: LossAt | AtIntercept) -> Callable[[np.ndarray], np.ndarray]:
        """Return v ↦ (second derivative of the data term at some scores) v, (d,) to (d,)."""
        problem = self.problem
        if isinstance(loss_at, AtIntercept):
            return loss_at.product
        if isinstance(loss_at, PairsInParts):
            around = problem.raw_means()[1]

            def streamed(v: np.ndarray) -> np.ndarray:
                bent, centre = loss_at.bends(problem.scored(v))
                return problem.product(bent, v, centre, around)

            return streamed
        if isinstance(loss_at, ActivePairs):

            def in_place(v: np.ndarray) -> np.ndarray:
                u = problem.scores(v)
                return self.adjoint(loss_at.product(u, out=u))

            return in_place
        if not isinstance(loss_at, ByRow):
            return lambda v: self.adjoint(loss_at.product(problem.scores(v)))
        bent, mass = loss_at.bent, total(loss_at.bent)
        if not (loss_at.follows and mass > 0.0):
            return lambda v: problem.product(bent, v)
        centre = problem.adjoint(bent) / mass
        origin = problem.raw_means()[1]
        return lambda v: problem.product(bent, v, dot(centre, v), origin)

    def bend_matrix(self, loss_at: LossAt | AtIntercept) -> np.ndarray:
        """Return the data term's second derivative (d, d) at some scores."""
        problem = self.problem
        if isinstance(loss_at, AtIntercept):
            return loss_at.matrix(np.arange(problem.n_features))
        if isinstance(loss_at, ActivePairs):
            return problem.pair_gram(loss_at.s, *loss_at.grouped())
        if not isinstance(loss_at, ByRow):
            bending = self.bending(loss_at)
            return np.column_stack([bending(v) for v in np.eye(problem.n_features)])
        mass = total(loss_at.bent)
        origin = problem.raw_means()[1] if loss_at.follows else np.zeros(problem.n_features)
        matrix, mean = problem.gram(loss_at.bent, origin)
        if loss_at.follows and mass > 0.0:
            matrix -= np.outer(mean, mean / mass)
        return matrix

    # ---- second derivatives at w = 0 ------------------------------------------------------

    def data_curvature(self) -> np.ndarray:
        """Return the diagonal of the data term's second derivative at w = 0, shape (d,)."""
        within, between = self.loss.bends_at_zero
        return within * self.problem.curvature + (between - within) * self.problem.delta**2

    def data_hessian(self, part: Problem) -> np.ndarray:
        """Return the data term's second derivative at w = 0 on some rows, shape (d, d)."""
        within, between = self.loss.bends_at_zero
        return within * part.within + between * np.outer(part.delta, part.delta)

    # ---- distance to the optimum -----------------------------------------------------------

    def gap(self, value: float, gradient: np.ndarray, w: np.ndarray) -> float:
        """Return an upper bound on J(w) − J*, given the data term's value and gradient at w.

        It follows from Fenchel duality, and never exceeds J(w), because no loss is negative.
        """
        total = value + self.penalty.value(w)
        if not np.isfinite(total):
            return np.inf
        if self.loss.kind == "kinked":
            lower = max(map(self.bound, self.slopes(self.problem.scores(w), _ROUNDING_WIDTHS)))
        elif self.loss.kind != "smooth":
            slope = 2.0 * value - dot(gradient, w)
            lower = self.penalty.dual_value(slope, -gradient, value)
        else:
            lower = self.penalty.dual_value(value - dot(gradient, w), -gradient, most=1.0)
        gap = max(total - max(lower, 0.0), 0.0)
        if gap == 0.0 and not w.any():  # J may fall by less than its own rounding
            falls = np.abs(gradient) > _NO_SLOPE * np.sqrt(np.maximum(self.data_curvature(), 0.0))
            if np.any(self.penalty.prox(-gradient, 1.0)[falls]):
                return float(np.finfo(float).eps) * self.at_zero
        return gap

    def relative(self, gap: float, value: float) -> float:
        """Return (J(w) − J*)/(J(0) − J*), given J(w) − J* and J(w); a bound if the gap is one."""
        if gap == 0.0:
            return 0.0
        range_of_J = self.at_zero - value + gap
        return gap / range_of_J if range_of_J > 0.0 and np.isfinite(gap) else np.inf

    @property
    def at_constant(self) -> float:
        """The least data term if all rows have the same score: J(0) for a loss of pairs."""
        return self.at_zero

    def share_to_gain(self, value: float, optimality: float) -> float:
        """Return (J(w) − J*)/(J₁ − J*), where J₁ is `at_constant`: 1 or more if w does not beat it.

        It is the share of the improvement possible by ranking that w does not reach. For a loss of
        pairs it is the optimality.
        """
        gain = self.at_constant - value
        if not (optimality < 1.0 and gain > 0.0):
            return np.inf
        gap = optimality / (1.0 - optimality) * (self.at_zero - value)
        return gap / (gain + gap)

    def optimality(self, w: np.ndarray) -> float:
        """Return an upper bound on (J(w) − J*)/(J(0) − J*)."""
        return self.evaluate(w)[1]

    def evaluate(self, w: np.ndarray) -> tuple[float, float]:
        """Return (J(w), `optimality` of w) from one pass."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            value, gradient = self.data_term(w)
            total = value + self.penalty.value(w)
            return total, self.relative(self.gap(value, gradient, w), total)

    def rounding(self, w: np.ndarray) -> float:
        """Return the size of rounding errors in J(w): smaller differences mean nothing.

        They come from the slope, the penalty, and nearly cancelling sums of squares of features.
        """
        linear = float(np.abs(self.slope_at_zero) @ np.abs(w))
        spread = float(np.abs(w) @ np.sqrt(np.maximum(self.data_curvature(), 0.0)))
        return float(np.finfo(float).eps) * (linear + spread**2 + self.penalty.value(w))

    @cached_property
    def slope_at_zero(self) -> np.ndarray:
        """The data term's gradient at w = 0, shape (d,)."""
        return self.loss.slope_at_zero * self.problem.delta

    def bound(self, slopes: Any) -> float:
        """Return a lower bound on J for a hinge, from its `plane` with these slopes."""
        b, a = self.plane(slopes)
        return self.penalty.dual_value(b, a, most=1.0)

    def plane(self, slopes: Any) -> tuple[float, np.ndarray]:
        """Return (b, a), a (d,): the data term of a hinge is at least b − a·w at every w.

        ``slopes`` is the result of `at` for the hinge, or for one with a rounded kink: slopes with
        any weights β in [0, 1] are valid.
        """
        return slopes.active, -self.adjoint(slopes.gradient)

    def slopes(self, z: np.ndarray, widths: Iterable[float]) -> Iterator[LossAt]:
        """Yield the slopes of a hinge at scores z (n,) with its kink rounded, for each width."""
        for width in widths:
            yield self.rounded(width).at(z)

    def rounded(self, width: float) -> Self:
        """Return J with the kink of its hinge rounded."""
        assert isinstance(self.loss, Hinge | UnivariateHinge)
        return replace(self, data=self.problem, loss=self.loss.rounded(width))


@dataclass(frozen=True, eq=False)
class ConditionalObjective(Objective):
    """J with the conditional likelihood, whose derivatives at w = 0 depend on the strata."""

    @cached_property
    def at_zero(self) -> float:
        return self.at(np.zeros(self.problem.n_samples)).value

    @cached_property
    def slope_at_zero(self) -> np.ndarray:
        return self.data_gradient(np.zeros(self.problem.n_features))


@dataclass(frozen=True, eq=False)
class UnivariateObjective(Objective):
    """Mean over rows of ℓ(y w·x) + penalty.

    Parameters
    ----------
    data : Problem
    loss : UnivariateLoss
    penalty : Penalty
    balanced : bool
        Whether to give both classes half of the weight.
    """

    loss: UnivariateLoss  # type: ignore[assignment]
    balanced: bool = False
    translates = by_moments = False

    @property
    def problem(self) -> Problem:
        return self.data

    @cached_property
    def at_zero(self) -> float:
        return float(self.loss.point(np.zeros(1))[0])

    @property
    def at_constant(self) -> float:
        scores = np.array([-1.0, 0.0, 1.0])  # 0 for classes of equal weight; a hinge's kinks
        p = 0.5 if self.balanced else self.problem.p
        return float(np.min(p * self.loss.point(scores) + (1.0 - p) * self.loss.point(-scores)))

    def adjoint(self, g: Numbers) -> np.ndarray:
        return self.problem.adjoint(g)

    def at(self, z: np.ndarray, like: LossAt | None = None, near: LossAt | None = None) -> LossAt:
        return self.problem.margins(self.loss, z, self.balanced)

    def data_curvature(self) -> np.ndarray:
        mean_pos, mean_neg = self.problem.mean_pos, self.problem.mean_neg
        # as if each class had half of the weight
        total = self.problem.curvature - (mean_pos - mean_neg) ** 2 + mean_pos**2 + mean_neg**2
        return 0.5 * self.loss.bend * total

    def data_hessian(self, part: Problem) -> np.ndarray:
        means = np.outer(part.mean_pos, part.mean_pos) + np.outer(part.mean_neg, part.mean_neg)
        return 0.5 * self.loss.bend * (part.within + means)

    @cached_property
    def slope_at_zero(self) -> np.ndarray:
        return self.data_gradient(np.zeros(self.problem.n_features))
