"""Losses at the differences of the scores of a positive and a negative row.

A `PairwiseLoss` ℓ(t) is taken at t = z_i − z_j. It gives ½ · mean over pairs of ℓ at given scores,
its derivative with respect to every score, and the product of its second derivative with a vector:
each in O(n), once the scores are sorted where the loss needs that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aucmax.objective.losses.base import (
    Bends,
    LossAt,
    PointLoss,
    RankingLoss,
    Rounded,
    row_blocks,
)
from aucmax.rows.kernels import compiled, inlined
from aucmax.rows.sorting import ascending
from aucmax.rows.store import Numbers

__all__ = ["ActivePairs", "Hinge", "PairwiseLoss", "RoundedHinge", "Square", "SquaredHinge"]

_PAIRS = 10**6  # held at a time where a loss has no faster way than every pair
_ALL = Bends(1.0, 1.0)  # as if each pair bent J: of hinges, whose pairs do so at their kinks only


class PairwiseLoss(PointLoss, RankingLoss):
    """½ Σ_i Σ_j s_i s_j ℓ(z_i − z_j): half the weighted mean over pairs, i positive, j negative.

    A subclass gives `point`, `derivative` and `curvature`, at single differences, or, where there
    is a faster way than by every pair, its own `at`.
    """

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers) -> LossAt:
        """Return the sum over pairs at scores z."""
        pos, neg = np.flatnonzero(sign[:] > 0), np.flatnonzero(sign[:] < 0)
        return _EveryPair(self, z, s[:], pos, neg)

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        # of a positive i: Σ_j s_j ½ ℓ′(z_i − z_j)(x_i − x_j); of a negative j the same over i
        pos, neg = np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
        out, weighed = np.zeros(X.shape), s[:, None] * X
        for i in np.array_split(pos, len(pos) * len(neg) // _PAIRS + 1):
            slope = 0.5 * self.derivative(z[i, None] - z[neg])
            out[i] = (slope @ s[neg])[:, None] * X[i] - slope @ weighed[neg]
            out[neg] += slope.T @ weighed[i] - (slope.T @ s[i])[:, None] * X[neg]
        return out

    @property
    def at_zero(self) -> float:
        return 0.5 * float(self.point(np.zeros(1))[0])

    @property
    def slope_at_zero(self) -> float:
        return 0.5 * float(self.derivative(np.zeros(1))[0])

    @property
    def bends_at_zero(self) -> Bends:
        half = 0.5 * float(self.curvature(np.zeros(1))[0])
        return Bends(half, half)


@dataclass(frozen=True)
class _EveryPair:
    """Loss, scores, weights and each class's rows: the sums of any loss, in O(n₊ n₋)."""

    loss: PairwiseLoss
    z: np.ndarray
    s: np.ndarray
    pos: np.ndarray
    neg: np.ndarray

    @property
    def value(self) -> float:
        return float(sum((half * self.loss.point(t)).sum() for _, t, half in self._blocks()))

    @cached_property
    def gradient(self) -> np.ndarray:
        return self._by_row(lambda i, t: self.loss.derivative(t))

    def product(self, u: np.ndarray) -> np.ndarray:
        return self._by_row(lambda i, t: self.loss.curvature(t) * (u[i, None] - u[self.neg]))

    def _by_row(self, slope: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        out = np.zeros(len(self.z))
        for i, t, half in self._blocks():
            pairs = half * slope(i, t)
            out[i] = pairs.sum(axis=1)
            out[self.neg] -= pairs.sum(axis=0)
        return out

    def _blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield some positives, their differences from all negatives, and the pairs' weights."""
        z, s, neg = self.z, self.s, self.neg
        for i in np.array_split(self.pos, len(self.pos) * len(neg) // _PAIRS + 1):
            yield i, z[i, None] - z[neg], 0.5 * np.outer(s[i], s[neg])


class Square(PairwiseLoss):
    """ℓ(t) = (1 − t)²: the mean over pairs needs only each class's mean and variance of scores.

    ½ mean (1 − t)² = ½(1 − (m₊ − m₋))² + ½(v₊ + v₋), with m and v the class means and variances
    of the scores (Gao et al. 2013). With another τ than ½ it is ½(1 − (m₊ − m₋))² + τv₊ + (1−τ)v₋,
    which is no mean over pairs.

    Parameters
    ----------
    within : float
        τ, in [0, 1].

    References
    ----------
    Anderson & Bahadur (1962), "Classification into two multivariate normal distributions with
    different covariance matrices": every τ is the best at some false-positive rate. Su & Liu
    (1993), "Linear combinations of multiple diagnostic markers": τ = ½ is the best for the AUC.
    """

    name = "square"

    def __init__(self, within: float = 0.5) -> None:
        self.within = within
        self.kind = "quadratic" if within == 0.5 else "weighted quadratic"

    def point(self, t: np.ndarray) -> np.ndarray:
        return (1.0 - t) ** 2

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -2.0 * (1.0 - t)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.full_like(t, 2.0)

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers) -> "_SquarePairs":
        weight = np.where(sign[:] > 0, 2.0 * self.within, 2.0 * (1.0 - self.within))
        return _SquarePairs(z, sign[:], s[:], weight)

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        # ∇ = Sw − (1 − w·δ)δ: a row moves its class's mean, by c, and its covariance, by c cᵀ
        there, pos = self.at(z, sign, s), sign > 0
        moved, gap = there._centred(z)  # c·w, w·δ
        of_pos, of_neg = s[pos] @ X[pos], s[~pos] @ X[~pos]
        centred = X - np.where(pos[:, None], of_pos, of_neg)
        slope = there.weight * moved - sign * (1.0 - gap)
        return slope[:, None] * centred + np.outer(sign * moved, of_pos - of_neg)


class _SquarePairs(NamedTuple):
    z: np.ndarray
    sign: np.ndarray
    s: np.ndarray
    weight: np.ndarray  # of each row's class: 2τ or 2(1−τ)

    @property
    def value(self) -> float:
        centred, gap = self._centred(self.z)
        # a product becomes infinite where a power of a Python float is an error
        spread = (self.weight * self.s) @ centred**2
        return float(0.5 * (1.0 - gap) * (1.0 - gap) + 0.5 * spread)

    @property
    def gradient(self) -> np.ndarray:
        centred, gap = self._centred(self.z)
        return self.s * (self.weight * centred - self.sign * (1.0 - gap))

    def product(self, u: np.ndarray) -> np.ndarray:
        centred, gap = self._centred(u)
        return self.s * (self.weight * centred + self.sign * gap)

    def _centred(self, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Return u minus its class's mean, and the difference of the class means."""
        pos = self.sign > 0
        m_pos, m_neg = float(self.s[pos] @ u[pos]), float(self.s[~pos] @ u[~pos])
        return u - np.where(pos, m_pos, m_neg), m_pos - m_neg


class SquaredHinge(PairwiseLoss):
    """ℓ(t) = max(0, 1 − t)², summed over pairs in O(n log m), m rows in the rarer class.

    The pairs with margin below 1 are, for a row of the larger class, the first rows of the rarer
    one by score. So only these are sorted, and the others find their place among them.

    References
    ----------
    Chapelle & Keerthi (2010), "Efficient algorithms for ranking with SVMs". Lee & Lin (2014),
    "Large-scale linear RankSVM". Rust & Hocking (2023), "A log-linear gradient descent algorithm
    for unbalanced binary classification using the all pairs squared hinge loss".
    """

    name = "squared_hinge"
    kind = "piecewise quadratic"

    def point(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - t, 0.0) ** 2

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -2.0 * np.maximum(1.0 - t, 0.0)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(t) < 1.0, 2.0, 0.0)

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers) -> "ActivePairs":
        return _active_pairs(z, sign, s)

    def reweighed(self, there: LossAt, z: np.ndarray, sign: Numbers, s: Numbers) -> LossAt:
        assert isinstance(there, ActivePairs)
        return replace(there, s=s)  # the order stays

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        out = np.empty(X.shape)
        for rows, others, side in ((sign > 0, sign < 0, 1.0), (sign < 0, sign > 0, -1.0)):
            short, pull = _shortfalls(side * z[rows], side * z[others], s[others], X[others])
            out[rows] = side * (pull - short[:, None] * X[rows])
        return out


@dataclass(frozen=True)
class ActivePairs:
    """Scores z (n,), weights s (n,), and the pairs with margin below 1.

    ``few`` (m,) are the rows of the rarer class by ascending score, descending where they are the
    negatives (``side`` −1); row j of the other class makes such pairs with the first ``reach[j]``
    of them, (n,), −1 for the rows of ``few``. ``centre`` is a score near all.

    It keeps 4 bytes a row beside the scores, and what goes with ``few``.
    """

    z: np.ndarray
    s: Numbers
    side: float
    centre: float
    few: np.ndarray
    reach: np.ndarray

    @cached_property
    def value(self) -> float:
        # Σ s_i s_j m_ij² with m_ij = 1 − z_i + z_j, and m_ij summed is already in the gradient
        value, self.__dict__["_slopes"] = self._value_and_gradient()
        return value

    @property
    def gradient(self) -> np.ndarray:
        """The derivative with respect to the scores (n,): kept from `value` to its first use."""
        kept = self.__dict__.pop("_slopes", None)
        return self._value_and_gradient()[1] if kept is None else kept

    def _value_and_gradient(self) -> tuple[float, np.ndarray]:
        out = np.empty(len(self.z))
        return 0.5 * self._sums(self.z, 1.0, self.centre, out), out

    def product(self, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the second derivative times u (n,), in ``out`` if given, which may be u."""
        out = np.empty(len(u)) if out is None else out
        self._sums(u, 0.0, 0.0, out)
        return out

    def slopes(self) -> np.ndarray:
        """Return the derivative of the hinge, ½ Σ s_i s_j max(0, 1 − z_i + z_j), (n,)."""
        out = np.zeros(len(self.z))
        self._sums(out, 0.5, 0.0, out)
        return out

    def grouped(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``few``, the other rows, and where among these the partners of ``few`` begin.

        few[k] makes pairs with others[first[k]] and all that follow.
        """
        others = np.empty(len(self.z) - len(self.few), self.few.dtype)
        first = np.zeros(len(self.few) + 2, self.few.dtype)
        _grouped(self.reach, first, others)
        return self.few, others, first[:-2]

    def _sums(self, u: np.ndarray, margin: float, origin: float, out: np.ndarray) -> float:
        """Write Σ_j s_i s_j (margin − u_i + u_j) with its sign for every row to ``out``.

        Return Σ s_i s_j (margin − u_i + u_j)(1 − u_i + u_j), over the pairs in both. ``out`` may be
        u.
        """
        few, s = self.few, self.s[self.few]
        table = np.zeros((len(few) + 1, 4))
        _before(u, few, s, self.side, origin, table)
        total = 0.0
        for rows in row_blocks(len(u)):
            at = self.s[rows], self.reach[rows], self.side, origin, margin
            total += _of_others(u[rows], *at, table, out[rows])
        return total + _of_few(u, few, s, self.side, origin, margin, table, out)


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
        """Return this loss with its kink rounded over so wide a range of t."""
        return RoundedHinge(width)

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers) -> "_HingePairs":
        return _HingePairs(_active_pairs(z, sign, s), sign[:])


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

    Nowhere below the hinge, nor more than width/8 above it: the difference of two squared hinges
    with margins 1 ± width/2, divided by 2 width.

    Parameters
    ----------
    width : float
    """

    bends_at_zero = _ALL

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers) -> "_RoundedPairs":
        signs, half = sign[:], 0.5 * self.width
        far, near = (_active_pairs(z - shift * (signs > 0), signs, s[:]) for shift in (half, -half))
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
        return self.factor * (self.far.gradient - self.near.gradient)

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
    first = np.searchsorted(others[order], z - 1.0, side="right")  # from there on pairs count
    weighed = np.column_stack([s, s[:, None] * X])[order]
    zero = np.zeros((1, weighed.shape[1]))
    plain, scored = (
        np.concatenate([np.cumsum(rows[::-1], axis=0)[::-1], zero])
        for rows in (weighed, others[order, None] * weighed)
    )
    total = (1.0 - z)[:, None] * plain[first] + scored[first]
    return total[:, 0], total[:, 1:]


def _active_pairs(z: np.ndarray, sign: Numbers, s: Numbers) -> ActivePairs:
    """Return the pairs with margin below 1 at scores z."""
    n = len(z)
    # half of the memory where 32 bits count all rows
    places = np.int32 if n < 2**31 else np.int64
    positive = np.concatenate([sign[rows] > 0 for rows in row_blocks(n)])
    side = 1.0 if 2 * np.count_nonzero(positive) <= n else -1.0
    few = np.flatnonzero(positive if side > 0.0 else ~positive).astype(places)
    # differences are all that counts: near 0 they keep their digits
    centre = 0.5 * (float(z.min()) + float(z.max()))
    scores = side * (z[few] - centre)
    order = ascending(scores, np.arange(len(few), dtype=places))
    few, scores = few[order], scores[order]
    start = np.zeros(_fineness(len(few)) + 1, places)
    low, scale = _guide(scores, start)
    reach = np.zeros(n, places)
    reach[few] = -1
    for rows in row_blocks(n):
        _reaches(z[rows], side, centre, scores, low, scale, start, reach[rows])
    return ActivePairs(z, s, side, centre, few, reach)


def _fineness(m: int) -> int:
    # ranges of scores in which places are looked up: so many that few hold several of m scores
    return 1 << min(m.bit_length() + 3, 22)


@compiled
def _guide(scores, start):
    # start[b]: how many scores, which ascend, lie below range b
    low, high, n = scores[0], scores[-1], len(start) - 1
    scale = n / (high - low) if np.isfinite(high - low) and high > low else 0.0
    for x in scores:
        start[_range_of(x, low, scale, n) + 1] += 1
    for b in range(n):
        start[b + 1] += start[b]
    return low, scale


@inlined
def _range_of(x, low, scale, n):
    # never falls with x, whatever the rounding; what is not a number belongs to the first
    place = (x - low) * scale
    if place >= n:
        return n - 1
    return int(place) if place > 0.0 else 0


@compiled
def _reaches(z, side, centre, scores, low, scale, start, out):
    # how many of the scores of the rarer class lie less than 1 above each
    for i in range(len(z)):
        if out[i] < 0:
            continue
        x = side * (z[i] - centre) + 1.0
        b = _range_of(x, low, scale, len(start) - 1)
        k, end = start[b], start[b + 1]
        while k < end:
            middle = (k + end) >> 1
            if scores[middle] < x:
                k = middle + 1
            else:
                end = middle
        out[i] = k


@compiled
def _before(u, few, s, side, origin, table):
    # Σ s_i and Σ s_i u_i over the rows of the rarer class before each
    for k in range(len(few)):
        table[k + 1, 0] = table[k, 0] + s[k]
        table[k + 1, 1] = table[k, 1] + s[k] * side * (u[few[k]] - origin)


@compiled
def _of_others(u, s, reach, side, origin, margin, table, out):
    # a row's sum from those over its partners; for these its own are collected
    total = 0.0
    for j in range(len(u)):
        k = reach[j]
        if k >= 0:
            x = side * (u[j] - origin)
            slope = s[j] * ((margin + x) * table[k, 0] - table[k, 1])
            table[k, 2] += s[j]
            table[k, 3] += s[j] * x
            total += slope * x
            out[j] = side * slope
    return total


@compiled
def _of_few(u, few, s, side, origin, margin, table, out):
    weight, partners, total = 0.0, 0.0, 0.0  # Σ s_j, Σ s_j u_j over the partners of row k
    for k in range(len(few) - 1, -1, -1):
        weight += table[k + 1, 2]
        partners += table[k + 1, 3]
        x = side * (u[few[k]] - origin)
        slope = -s[k] * ((margin - x) * weight + partners)
        total += slope * (x - 1.0)
        out[few[k]] = side * slope
    return total


@compiled
def _grouped(reach, first, others):
    # a counting sort; first[k]: how many rows reach row k of the rarer class at most
    for k in reach:
        if k >= 0:
            first[k + 1] += 1
    for k in range(1, len(first)):
        first[k] += first[k - 1]
    for i in range(len(reach)):
        k = reach[i]
        if k >= 0:
            others[first[k]] = i
            first[k] += 1
