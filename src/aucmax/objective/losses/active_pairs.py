"""The pairs with margin below 1, and sums over them in one sweep over the rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from aucmax.data.rows.kernels import compiled, inlined
from aucmax.data.rows.sorting import ascending
from aucmax.data.rows.store import Made, Numbers
from aucmax.objective.losses.base import row_blocks

__all__ = ["ActivePairs", "PairsInParts", "active_pairs", "pairs_in_parts"]

Scored = Iterable[tuple[slice, np.ndarray]]  # blocks of rows in order, with a number for each row


def active_pairs(z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> "ActivePairs":
    """Return the pairs with margin below 1 at scores z (n,)."""
    side, centre = _seen_from(z, sign)
    # half of the memory if 32 bits can count all rows
    few = np.flatnonzero(side * sign > 0).astype(_places(len(z)))
    few = few[ascending(side * (z[few] - centre), np.arange(len(few), dtype=few.dtype))]
    reach = _Reach(z, sign, side, centre, side * (z[few] - centre))
    return ActivePairs(z, s, side, centre, few, reach[:])


def pairs_in_parts(z: np.ndarray, sign: Numbers, s: Numbers) -> "PairsInParts":
    """Return the pairs with margin below 1 for rows in parts."""
    side, centre = _seen_from(z, sign)
    blocks = ((scored, side * sign[rows] > 0) for rows, scored in _by_block(z))
    scores = np.concatenate([side * (scored[rarer] - centre) for scored, rarer in blocks])
    scores.sort()
    return PairsInParts(z, s, side, centre, _Reach(z, sign, side, centre, scores))


def _seen_from(z: np.ndarray, sign: Numbers) -> tuple[float, float]:
    """Return the sign of the rarer class, and a score near all scores."""
    positives = sum(np.count_nonzero(part > 0) for _, part in _by_block(sign))
    # only differences matter, and near 0 they keep their digits
    return 1.0 if 2 * positives <= len(z) else -1.0, 0.5 * (float(z.min()) + float(z.max()))


def _places(n: int) -> Any:
    return np.int32 if n < 2**31 else np.int64


def _by_block(numbers: Numbers) -> Scored:
    return ((rows, numbers[rows]) for rows in row_blocks(len(numbers)))


class _Guide(NamedTuple):
    """Ascending scores (m,), cut into ranges of equal width in which a score is looked up.

    ``start[b]`` of them lie below range b; that of a score is ``scale`` times its distance from
    ``low``.
    """

    scores: np.ndarray
    start: np.ndarray
    low: float
    scale: float


class _Reach(Made):
    """The number of rows of the rarer class with which each row forms pairs, looked up on demand.

    Row j of the other class forms pairs with the first reach[j] of ``scores`` (m,), those of the
    rarer class, ascending. A row of the rarer class has −1 − k if k scores lie below its own.
    """

    def __init__(
        self, z: np.ndarray, sign: Numbers, side: float, centre: float, scores: np.ndarray
    ) -> None:
        self.z, self.sign, self.side, self.centre = z, sign, side, centre
        start = np.zeros(_fineness(len(scores)) + 1, _places(len(z)))
        self.guide = _Guide(scores, start, *_guide(scores, start))

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, rows: slice) -> np.ndarray:
        reach = np.empty(len(self.z[rows]), self.guide.start.dtype)
        _reaches(self.z[rows], self.sign[rows], self.side, self.centre, self.guide, reach)
        return reach


@dataclass(frozen=True)
class ActivePairs:
    """Scores z (n,), weights s (n,), and the pairs with margin below 1.

    ``few`` (m,) are the rows of the rarer class by ascending score, or descending if they are the
    negatives (``side`` −1); row j of the other class forms such pairs with the first ``reach[j]``
    of them, (n,); for rows of ``few``, reach is negative. ``centre`` is a score near all scores.
    """

    z: np.ndarray
    s: Numbers
    side: float
    centre: float
    few: np.ndarray
    reach: Numbers

    @cached_property
    def value(self) -> float:
        # Σ s_i s_j m_ij² with m_ij = 1 − z_i + z_j; the gradient already has the sums of m_ij
        value, self.__dict__["_slopes"] = self._value_and_gradient()
        return value

    @property
    def gradient(self) -> Numbers:
        """The derivative with respect to the scores (n,), kept from `value` until its first use."""
        slopes = self.__dict__.pop("_slopes", None)
        return self._value_and_gradient()[1] if slopes is None else slopes

    def _value_and_gradient(self) -> tuple[float, np.ndarray]:
        slopes = np.empty(len(self.z))
        return 0.5 * self._sums(self.z, 1.0, self.centre, slopes), slopes

    def product(self, u: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the second derivative times u (n,), in ``out`` if given, which may be u."""
        products = np.empty(len(u)) if out is None else out
        self._sums(u, 0.0, 0.0, products)
        return products

    def slopes(self) -> np.ndarray:
        """Return the derivative of the hinge, ½ Σ s_i s_j max(0, 1 − z_i + z_j), (n,)."""
        slopes = np.zeros(len(self.z))
        self._sums(slopes, 0.5, 0.0, slopes)
        return slopes

    def grouped(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``few``, the other rows, and where among these the partners of ``few`` begin.

        few[k] forms pairs with others[first[k]] and all that follow.
        """
        others = np.empty(len(self.z) - len(self.few), self.few.dtype)
        first = np.zeros(len(self.few) + 2, self.few.dtype)
        _grouped(self.reach[:], first, others)
        return self.few, others, first[:-2]

    def _sums(self, u: np.ndarray, margin: float, origin: float, out: np.ndarray) -> float:
        """Write Σ_j s_i s_j (margin − u_i + u_j) with its sign for every row to ``out``.

        Return Σ s_i s_j (margin − u_i + u_j)(1 − u_i + u_j); both sums run over the active pairs.
        ``out`` may be u.
        """
        few, s = self.few, self.s[self.few]
        table = np.zeros((len(few) + 1, 4))
        _before(u, few, s, self.side, origin, table)
        total = 0.0
        for rows in row_blocks(len(u)):
            at = self.s[rows], self.reach[rows], self.side, origin, margin
            total += _of_others(u[rows], *at, table, out[rows])
        return total + _of_few(u, few, s, self.side, origin, margin, table, out)


@dataclass(frozen=True)
class PairsInParts:
    """`ActivePairs` for rows in parts: it keeps the scores, and only the rarer class is sorted.

    The pairs are looked up anew in every pass.
    """

    z: np.ndarray
    s: Numbers
    side: float
    centre: float
    reach: _Reach

    @cached_property
    def value(self) -> float:
        table, total = self._table(_by_block(self.z), self.centre), 0.0
        for rows, z in _by_block(self.z):
            x, slopes, own = self._slopes_of(rows, z, table)
            total += float(slopes @ x) - float(slopes[own].sum())
        return 0.5 * total

    @property
    def gradient(self) -> Made:
        table = self._table(_by_block(self.z), self.centre)
        return Made(
            len(self.z),
            lambda rows: self.side * self._slopes_of(rows, self.z[rows], table)[1],
        )

    def product(self, u: np.ndarray) -> np.ndarray:
        """Return the second derivative times u (n,)."""
        bent, centre = self.bends(_by_block(u))
        return np.concatenate([bent[rows] * (v - centre[rows]) for rows, v in _by_block(u)])

    def bends(self, scored: Scored) -> tuple[Made, Made]:
        """Return a and c (n,): the second derivative times u (n,) is a ∘ (u − c).

        This is for one u, which is given in blocks of rows.
        """
        table = self._table(scored, 0.0)

        @lru_cache(maxsize=1)
        def bent_and_centre(start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
            rows = slice(start, end)
            weight, total = _partners_of(self.reach[rows], table)
            centre = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0.0)
            return self.s[rows] * weight, self.side * centre

        return (
            Made(len(self.z), lambda rows: bent_and_centre(rows.start, rows.stop)[0]),
            Made(len(self.z), lambda rows: bent_and_centre(rows.start, rows.stop)[1]),
        )

    def _table(self, scored: Scored, origin: float) -> np.ndarray:
        """Return Σ s and Σ s u over the partners of a row, (m + 1, 4).

        For a row of the larger class with reach k they are in columns 0 and 1 of row k, for a row
        of the rarer class with reach −1 − k in columns 2 and 3.
        """
        table = np.zeros((len(self.reach.guide.scores) + 1, 4))
        for rows, u in scored:
            _collect(u, self.s[rows], self.reach[rows], self.side, origin, table)
        _close(table)
        return table

    def _slopes_of(
        self, rows: slice, z: np.ndarray, table: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return shifted scores of some rows, their slopes, and which belong to the rarer class."""
        reach = self.reach[rows]
        weight, total = _partners_of(reach, table)
        own, x = reach < 0, self.side * (z - self.centre)
        return x, self.s[rows] * (weight * (x + np.where(own, -1.0, 1.0)) - total), own


def _fineness(m: int) -> int:
    # number of ranges of scores for looking up places: enough that few contain several of m scores
    return 1 << min(m.bit_length() + 3, 22)


@compiled
def _guide(scores, start):
    # start[b]: how many of the ascending scores lie below range b
    low, high, n = scores[0], scores[-1], len(start) - 1
    scale = n / (high - low) if np.isfinite(high - low) and high > low else 0.0
    for x in scores:
        start[_range_of(x, low, scale, n) + 1] += 1
    for b in range(n):
        start[b + 1] += start[b]
    return low, scale


@inlined
def _range_of(x, low, scale, n):
    # never decreases with x, whatever the rounding; NaN belongs to the first
    place = (x - low) * scale
    if place >= n:
        return n - 1
    return int(place) if place > 0.0 else 0


@compiled
def _reaches(z, sign, side, centre, guide, out):
    # how many scores of the rarer class lie less than 1 above each; for its own rows, below each
    scores, start, low, scale = guide
    for i in range(len(z)):
        own = side * sign[i] > 0.0
        x = side * (z[i] - centre) + (0.0 if own else 1.0)
        b = _range_of(x, low, scale, len(start) - 1)
        k, end = start[b], start[b + 1]
        while k < end:
            middle = (k + end) >> 1
            if scores[middle] < x:
                k = middle + 1
            else:
                end = middle
        out[i] = -1 - k if own else k


@compiled
def _before(u, few, s, side, origin, table):
    # Σ s_i and Σ s_i u_i over the rows of the rarer class before each
    for k in range(len(few)):
        table[k + 1, 0] = table[k, 0] + s[k]
        table[k + 1, 1] = table[k, 1] + s[k] * side * (u[few[k]] - origin)


@compiled
def _of_others(u, s, reach, side, origin, margin, table, out):
    # the sum of a row from the sums over its partners; its own terms are collected for these
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
def _collect(u, s, reach, side, origin, table):
    # rows of the rarer class go to the row after that of their place, others to that of their reach
    for i in range(len(u)):
        k, column = reach[i], 2
        if k < 0:
            k, column = -k, 0
        table[k, column] += s[i]
        table[k, column + 1] += s[i] * side * (u[i] - origin)


@compiled
def _close(table):
    # sums over the rows of the rarer class before each place, and over the others after it
    before, total_before, after, total_after = 0.0, 0.0, 0.0, 0.0
    for k in range(len(table)):
        before += table[k, 0]
        total_before += table[k, 1]
        table[k, 0], table[k, 1] = before, total_before
    for k in range(len(table) - 1, -1, -1):
        own, own_total = table[k, 2], table[k, 3]
        table[k, 2], table[k, 3] = after, total_after
        after += own
        total_after += own_total


@compiled
def _partners(reach, table, weight, total):
    for i in range(len(reach)):
        k, column = reach[i], 0
        if k < 0:
            k, column = -1 - k, 2
        weight[i], total[i] = table[k, column], table[k, column + 1]


def _partners_of(reach: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    weight, total = np.empty((2, len(reach)))
    _partners(reach, table, weight, total)
    return weight, total


@compiled
def _grouped(reach, first, others):
    # a counting sort; first[k]: how many rows have reach at most k
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
