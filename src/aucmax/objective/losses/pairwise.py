"""Losses at the differences of the scores of a positive and a negative row.

A `PairwiseLoss` ℓ(t) is evaluated at t = z_i − z_j. It gives ½ · mean over pairs of ℓ at given
scores, the derivative with respect to every score, and the product of the second derivative with a
vector: each in O(n), after sorting the scores if the loss needs that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from aucmax.data.comparisons import Comparisons
from aucmax.data.rows.store import Numbers
from aucmax.objective.losses.active_pairs import (
    ActivePairs,
    PairsInParts,
    active_pairs,
    pairs_in_parts,
)
from aucmax.objective.losses.base import Bends, LossAt, PointLoss, RankingLoss, Rounded, Shares
from aucmax.objective.losses.compared import SquaresOfPairs

__all__ = ["Hinge", "PairwiseLoss", "RoundedHinge", "Square", "SquaredHinge"]

_PAIRS_PER_BLOCK = 10**6  # pairs in memory at a time for a loss that is summed over every pair
_ALL = Bends(1.0, 1.0)  # as if each pair had curvature: for losses that have it only elsewhere


class PairwiseLoss(PointLoss, RankingLoss):
    """½ Σ_i Σ_j s_i s_j ℓ(z_i − z_j): half the weighted mean over pairs, i positive, j negative.

    A subclass implements `point`, `derivative` and `curvature` at single differences or, if there
    is a faster way than a sum over all pairs, its own `at`.
    """

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None) -> LossAt:
        """Return the sum over pairs at scores z."""
        pos, neg = np.flatnonzero(sign[:] > 0), np.flatnonzero(sign[:] < 0)
        return _EveryPair(self, z, s[:], pos, neg, strata)

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        # for a positive i: Σ_j s_j ½ ℓ′(z_i − z_j)(x_i − x_j); for a negative j the same over i
        pos, neg = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
        influences, weighed = np.zeros(X.shape), s[:, None] * X
        for i in np.array_split(pos, len(pos) * len(neg) // _PAIRS_PER_BLOCK + 1):
            slope = 0.5 * self.derivative(z[i, None] - z[neg])
            influences[i] = (slope @ s[neg])[:, None] * X[i] - slope @ weighed[neg]
            influences[neg] += slope.T @ weighed[i] - (slope.T @ s[i])[:, None] * X[neg]
        return influences

    @property
    def at_zero(self) -> float:
        return 0.5 * float(self.point(np.zeros(1))[0])

    @property
    def slope_at_zero(self) -> float:
        return 0.5 * float(self.derivative(np.zeros(1))[0])

    @property
    def bends_at_zero(self) -> Bends:
        half = 0.5 * float(self.curvature(np.zeros(1))[0])
        return Bends(half, half) if half > 0.0 else _ALL


@dataclass(frozen=True)
class _EveryPair:
    """The sums of any loss over all pairs, in O(n₊ n₋)."""

    loss: PairwiseLoss
    z: np.ndarray
    s: np.ndarray
    pos: np.ndarray
    neg: np.ndarray
    strata: Shares | None

    @property
    def value(self) -> float:
        return float(sum((half * self.loss.point(t)).sum() for _, t, half in self._blocks()))

    @cached_property
    def gradient(self) -> np.ndarray:
        return self._by_row(lambda i, t: self.loss.derivative(t))

    def product(self, u: np.ndarray) -> np.ndarray:
        return self._by_row(lambda i, t: self.loss.curvature(t) * (u[i, None] - u[self.neg]))

    def _by_row(self, slope: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        sums = np.zeros(len(self.z))
        for i, t, half in self._blocks():
            pairs = half * slope(i, t)
            sums[i] = pairs.sum(axis=1)
            sums[self.neg] -= pairs.sum(axis=0)
        return sums

    def _blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield some positives, their differences from all negatives, and the pairs' weights."""
        z, neg, strata = self.z, self.neg, self.strata
        s = self.s if strata is None else strata.of_pairs(self.s)
        for i in np.array_split(self.pos, len(self.pos) * len(neg) // _PAIRS_PER_BLOCK + 1):
            half = 0.5 * np.outer(s[i], s[neg])
            if strata is not None:
                half *= strata.code[i, None] == strata.code[neg]
            yield i, z[i, None] - z[neg], half


class Square(PairwiseLoss):
    """ℓ(t) = (1 − t)²: the mean over pairs needs only the mean and variance of each class's scores.

    ½ mean (1 − t)² = ½(1 − (m₊ − m₋))² + ½(v₊ + v₋), with m and v the class means and variances
    of the scores (Gao et al. 2013). For τ ≠ ½ it is ½(1 − (m₊ − m₋))² + τv₊ + (1−τ)v₋,
    which is not a mean over pairs.

    Parameters
    ----------
    within : float
        τ, in [0, 1].

    References
    ----------
    Anderson & Bahadur (1962), "Classification into two multivariate normal distributions with
    different covariance matrices": every τ is optimal at some false-positive rate. Su & Liu
    (1993), "Linear combinations of multiple diagnostic markers": τ = ½ is optimal for the AUC.
    """

    name = "square"
    weighs = True
    usual_alpha = 2.0
    bytes_kept = (0, 0)

    def __init__(self, within: float = 0.5) -> None:
        self.within = within
        self.kind = "quadratic" if within == 0.5 else "weighted quadratic"

    def weighing(self, within: float) -> "Square":
        return Square(within)

    def point(self, t: np.ndarray) -> np.ndarray:
        return (1.0 - t) ** 2

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -2.0 * (1.0 - t)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.full_like(t, 2.0)

    def at(
        self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None
    ) -> "_SquarePairs":
        weight = np.where(sign[:] > 0, 2.0 * self.within, 2.0 * (1.0 - self.within))
        return _SquarePairs(z, sign[:], s[:], weight, strata)

    def over(self, z: np.ndarray, pairs: Comparisons) -> SquaresOfPairs:
        return SquaresOfPairs(z, pairs)

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        # ∇ = Sw − (1 − w·δ)δ: a row moves its class's mean by c and its class's covariance by c cᵀ
        at_z, pos = self.at(z, sign, s), sign > 0
        moved, gap = at_z._centred(z)  # c·w, w·δ
        of_pos, of_neg = s[pos] @ X[pos], s[~pos] @ X[~pos]
        centred = X - np.where(pos[:, None], of_pos, of_neg)
        slope = at_z.weight * moved - sign * (1.0 - gap)
        return slope[:, None] * centred + np.outer(sign * moved, of_pos - of_neg)


class _SquarePairs(NamedTuple):
    z: np.ndarray
    sign: np.ndarray
    s: np.ndarray
    weight: np.ndarray  # of each row's class: 2τ or 2(1−τ)
    strata: Shares | None

    @property
    def value(self) -> float:
        centred, gap = self._centred(self.z)
        # a product overflows to infinity; a power of a Python float raises an error
        spread, short = (self.weight * self.s) @ centred**2, 1.0 - gap
        if self.strata is None:
            return float(0.5 * short * short + 0.5 * spread)
        return float(0.5 * (self.strata.omega @ (short * short)) + 0.5 * spread)

    @property
    def gradient(self) -> np.ndarray:
        centred, gap = self._centred(self.z)
        return self.s * (self.weight * centred - self.sign * (1.0 - self._of_row(gap)))

    def product(self, u: np.ndarray) -> np.ndarray:
        centred, gap = self._centred(u)
        return self.s * (self.weight * centred + self.sign * self._of_row(gap))

    def _of_row(self, gap: Any) -> Any:
        return gap if self.strata is None else gap[self.strata.code]

    def _centred(self, u: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return u minus its class mean, and the difference of the class means.

        With strata these are the class means in each stratum, and their differences (G,).
        """
        pos = self.sign > 0
        if self.strata is None:
            of_pos = np.where(pos, self.s, 0.0)
            m_pos, m_neg = float(of_pos @ u), float((self.s - of_pos) @ u)
            return u - np.where(pos, m_pos, m_neg), m_pos - m_neg
        code, omega = self.strata.code, np.where(self.strata.omega > 0.0, self.strata.omega, 1.0)
        near = self.strata.apart(u)
        of_pos, of_neg = (self.strata.sums(self.s * near * of) / omega for of in (pos, ~pos))
        return near - np.where(pos, of_pos[code], of_neg[code]), of_pos - of_neg


class SquaredHinge(PairwiseLoss):
    """ℓ(t) = max(0, 1 − t)², summed over pairs in O(n log m) for m rows in the rarer class.

    A row of the larger class forms pairs with margin below 1 with the first rows of the rarer
    class, sorted by score. So only the rarer class is sorted; the places of the other rows among
    its scores are looked up.

    References
    ----------
    Chapelle & Keerthi (2010), "Efficient algorithms for ranking with SVMs". Lee & Lin (2014),
    "Large-scale linear RankSVM". Rust & Hocking (2023), "A log-linear gradient descent algorithm
    for unbalanced binary classification using the all pairs squared hinge loss".
    """

    name = "squared_hinge"
    kind = "piecewise quadratic"
    bytes_kept = (10, 44)

    def point(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - t, 0.0) ** 2

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -2.0 * np.maximum(1.0 - t, 0.0)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(t) < 1.0, 2.0, 0.0)

    def at(
        self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None
    ) -> ActivePairs | PairsInParts:
        s = s if strata is None else strata.of_pairs(s)
        if isinstance(sign, np.ndarray) and isinstance(s, np.ndarray):
            return active_pairs(z, sign, s, strata)
        return pairs_in_parts(z, sign, s, strata)

    def over(self, z: np.ndarray, pairs: Comparisons) -> SquaresOfPairs:
        return SquaresOfPairs(z, pairs.near(z, 1.0))

    def reweighed(
        self,
        loss_at: LossAt,
        z: np.ndarray,
        sign: Numbers,
        s: Numbers,
        strata: Shares | None = None,
    ) -> LossAt:
        assert isinstance(loss_at, ActivePairs | PairsInParts)
        s = s if strata is None else strata.of_pairs(s)
        return replace(loss_at, s=s)  # the pairs are the same

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        influences = np.empty(X.shape)
        for rows, partners, side in ((sign > 0, sign < 0, 1.0), (sign < 0, sign > 0, -1.0)):
            short, pull = _shortfalls(side * z[rows], side * z[partners], s[partners], X[partners])
            influences[rows] = side * (pull - short[:, None] * X[rows])
        return influences


class Hinge(PairwiseLoss):
    """ℓ(t) = max(0, 1 − t), summed over pairs in O(n log n).

    The derivative at the kink t = 1 is taken as 0.

    References
    ----------
    Joachims (2005), "A support vector method for multivariate performance measures"; (2006),
    "Training linear SVMs in linear time".
    """

    name = "hinge"
    kind = "kinked"
    bends_at_zero = _ALL

    def point(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - t, 0.0)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(t) < 1.0, -1.0, 0.0)

    def rounded(self, width: float) -> "RoundedHinge":
        """Return this loss with its kink rounded over a range of t of this width."""
        return RoundedHinge(width)

    def at(
        self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None
    ) -> "_HingePairs":
        s = s[:] if strata is None else strata.of_pairs(s[:])[:]
        return _HingePairs(active_pairs(z, sign[:], s, strata), sign[:])


@dataclass(frozen=True)
class _HingePairs:
    """The pairs with margin below 1, and the signs of the rows."""

    pairs: ActivePairs
    sign: np.ndarray

    @property
    def value(self) -> float:
        return self.active + float(self.gradient @ (self.pairs.z - self.pairs.centre))

    @cached_property
    def gradient(self) -> np.ndarray:
        return self.pairs.slopes()

    @property
    def active(self) -> float:
        return -float(self.gradient[self.sign > 0].sum())

    def product(self, u: np.ndarray) -> np.ndarray:
        return np.zeros(len(u))


class RoundedHinge(Rounded, PairwiseLoss):
    """The hinge with a parabola over the kink, from t = 1 − width/2 to 1 + width/2.

    It is at most width/8 above the hinge and never below it. It is the difference of two squared
    hinges with margins 1 ± width/2, divided by 2 width.

    Parameters
    ----------
    width : float
    """

    bends_at_zero = _ALL

    def at(
        self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None
    ) -> "_RoundedPairs":
        signs, half = sign[:], 0.5 * self.width
        s = s[:]
        if strata is not None:
            z, s = strata.apart(z), strata.of_pairs(s)[:]
        far, near = (
            active_pairs(z - shift * (signs > 0), signs, s, strata) for shift in (half, -half)
        )
        return _RoundedPairs(far, near, 0.5 / self.width, signs)


@dataclass(frozen=True)
class _RoundedPairs:
    far: ActivePairs
    near: ActivePairs
    factor: float
    sign: np.ndarray

    @property
    def value(self) -> float:
        return self.factor * (self.far.value - self.near.value)

    @cached_property
    def gradient(self) -> np.ndarray:
        return self.factor * (self.far.gradient[:] - self.near.gradient[:])

    @property
    def active(self) -> float:
        return -float(self.gradient[self.sign > 0].sum())

    def product(self, u: np.ndarray) -> np.ndarray:
        return self.factor * (self.far.product(u) - self.near.product(u))


# ---- sums over sorted scores -------------------------------------------------------------


def _shortfalls(
    z: np.ndarray, others: np.ndarray, s: np.ndarray, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ_j s_j m_ij (n,) and Σ_j s_j m_ij x_j (n, d), m_ij = max(0, 1 − z_i + others_j)."""
    order = np.argsort(others)
    start = np.searchsorted(others[order], z - 1.0, side="right")  # from here on, margins < 1
    weighed = np.column_stack([s, s[:, None] * X])[order]
    zero = np.zeros((1, weighed.shape[1]))
    plain, scored = (
        np.concatenate([np.cumsum(rows[::-1], axis=0)[::-1], zero])
        for rows in (weighed, others[order, None] * weighed)
    )
    total = (1.0 - z)[:, None] * plain[start] + scored[start]
    return total[:, 0], total[:, 1:]
