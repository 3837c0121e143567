"""The pairs with margin below 1, and sums over them in one sweep over the rows.

With strata only rows of the same stratum form pairs. The rows of the rarer class are stored stratum
by stratum, and each sum starts again at each stratum; without strata, all rows are in one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from aucmax.data.rows.few import FEW_ROWS
from aucmax.data.rows.kernels import compiled, inlined, unless
from aucmax.data.rows.sorting import ascending, grouped
from aucmax.data.rows.store import Made, Numbers
from aucmax.objective.losses.base import Shares, row_blocks

__all__ = ["ActivePairs", "PairsInParts", "active_pairs", "pairs_in_parts"]

_FEW_STRATA = 20  # up to which NumPy sums stratum by stratum
Scored = Iterable[tuple[slice, np.ndarray]]  # blocks of rows in order, with a number for each row


def active_pairs(
    z: np.ndarray, sign: np.ndarray, s: np.ndarray, strata: Shares | None = None
) -> "ActivePairs":
    """Return the pairs with margin below 1 at scores z (n,).

    Parameters
    ----------
    z, sign, s : ndarray, shape (n,)
        Scores, ±1, and weights, whose products are the weights of pairs.
    strata : Shares, optional
        Only rows of the same stratum form pairs.
    """
    side, z, centre = _seen_from(z, sign, strata)
    # half the memory if 32 bits can count all rows
    few = np.flatnonzero(side * sign > 0).astype(_places(len(z)))
    few = few[ascending(side * (z[few] - centre), np.arange(len(few), dtype=few.dtype))]
    code, start = None, np.array([0, len(few)])
    if strata is not None:
        code = strata.code
        few, start = grouped(code, len(strata.omega), few)
    reach = _Reach(z, sign, side, centre, side * (z[few] - centre), start, code)
    return ActivePairs(z, s, side, centre, few, reach[:], start)


def pairs_in_parts(
    z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None
) -> "PairsInParts":
    """Return the pairs with margin below 1 for rows in parts; arguments as for `active_pairs`."""
    side, z, centre = _seen_from(z, sign, strata)
    rarer = np.concatenate([side * sign[rows] > 0 for rows, _ in _by_block(z)])
    scores, code = side * (z[rarer] - centre), None
    if strata is None:
        start = np.array([0, len(scores)])
        scores.sort()
    else:
        code = strata.code
        places, start = grouped(code[rarer], len(strata.omega), np.argsort(scores))
        scores = scores[places]
    return PairsInParts(z, s, side, centre, _Reach(z, sign, side, centre, scores, start, code))


def _seen_from(
    z: np.ndarray, sign: Numbers, strata: Shares | None
) -> tuple[float, np.ndarray, float]:
    """Return the sign of the rarer class, scores with equal differences, and one near them all."""
    positives = sum(np.count_nonzero(part > 0) for _, part in _by_block(sign))
    side = 1.0 if 2 * positives <= len(z) else -1.0
    if strata is None:
        # only differences matter, and scores near 0 keep their digits
        return side, z, 0.5 * (float(z.min()) + float(z.max()))
    return side, strata.apart(z), 0.0


def _places(n: int) -> Any:
    return np.int32 if n < 2**31 else np.int64


def _by_block(numbers: Numbers) -> Scored:
    return ((rows, numbers[rows]) for rows in row_blocks(len(numbers)))


class _Guide(NamedTuple):
    """Ascending scores (m,), cut into ranges of equal width for looking up places among them.

    ``below[b]`` of the scores lie below range b; the range of a score is ``scale`` times its
    distance from ``low``. Each stratum has its own scores and ranges, which begin at ``start`` and
    ``first``.
    """

    scores: np.ndarray
    below: np.ndarray
    start: np.ndarray
    first: np.ndarray
    low: np.ndarray
    scale: np.ndarray


class _Reach(Made):
    """The number of rows of the rarer class with which each row forms pairs, looked up on demand.

    ``scores`` (m,) are those of the rarer class, ascending in each stratum. A stratum with m_g of
    them has m_g + 1 places: before, between and after them. Row j of the other class forms pairs
    with all rows of its stratum that lie before the place reach[j]. For a row of the rarer class
    with the place k, reach is −1 − k.
    """

    def __init__(
        self,
        z: np.ndarray,
        sign: Numbers,
        side: float,
        centre: float,
        scores: np.ndarray,
        start: np.ndarray,
        code: np.ndarray | None,
    ) -> None:
        self.z, self.sign, self.side, self.centre, self.code = z, sign, side, centre, code
        first = np.concatenate([[0], np.cumsum(_fineness(np.diff(start)))])
        low, scale = np.empty((2, len(start) - 1))
        below = np.zeros(first[-1] + 1, _places(len(z)))
        self.guide = _Guide(scores, below, start, first, low, scale)
        _guide(self.guide)

    @property
    def n_places(self) -> int:
        """The number of places of all strata."""
        return len(self.guide.scores) + len(self.guide.low)

    def __len__(self) -> int:
        return len(self.z)

    def __getitem__(self, rows: slice) -> np.ndarray:
        reach = np.empty(len(self.z[rows]), self.guide.below.dtype)
        code = None if self.code is None else self.code[rows]
        _reaches(self.z[rows], self.sign[rows], code, self.side, self.centre, self.guide, reach)
        return reach


@dataclass(frozen=True)
class ActivePairs:
    """Scores z (n,), weights s (n,), and the pairs with margin below 1.

    ``few`` (m,) are the rows of the rarer class by ascending score, or descending if they are the
    negatives (``side`` −1); each stratum begins at its ``start``. Row j of the other class forms
    such pairs with the rows before the place ``reach[j]``, (n,), as `_Reach` counts; for rows of
    ``few``, reach is negative. ``centre`` is a score near all scores.
    """

    z: np.ndarray
    s: Numbers
    side: float
    centre: float
    few: np.ndarray
    reach: Numbers
    start: np.ndarray

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

    def grouped(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return ``few``, the other rows, and the ranges of these that pair with each of ``few``.

        few[k] forms pairs with others[first[k]:end[k]]; strata are consecutive.
        """
        others = np.empty(len(self.z) - len(self.few), self.few.dtype)
        first = np.zeros(len(self.few) + len(self.start), self.few.dtype)
        _grouped(self.reach[:], first, others)
        counts = np.diff(self.start)
        stratum = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(self.few)) + stratum
        return (
            self.few,
            others,
            first[place],
            first[self.start[1:] + np.arange(len(counts))][stratum],
        )

    def _sums(self, u: np.ndarray, margin: float, origin: float, out: np.ndarray) -> float:
        """Write Σ_j s_i s_j (margin − u_i + u_j) with its sign for every row to ``out``.

        Return Σ s_i s_j (margin − u_i + u_j)(1 − u_i + u_j); both sums run over the active pairs.
        ``out`` may be u.
        """
        few, s, start = self.few, self.s[self.few], self.start
        shift = _Shift(self.side, origin, margin)
        table = np.zeros((len(few) + len(start) - 1, 4))
        _before(u, few, s, start, shift, table)
        total = 0.0
        for rows in row_blocks(len(u)):
            total += _of_others(u[rows], self.s[rows], self.reach[rows], shift, table, out[rows])
        return total + _of_few(u, few, s, start, shift, table, out)


@dataclass(frozen=True)
class PairsInParts:
    """`ActivePairs` for rows in parts: keeps the scores, and sorts only those of the rarer class.

    The pairs are looked up again in every pass.
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

        c holds for a single u, which is given in blocks of rows.
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
        """Return Σ s and Σ s u over the partners of each row, (m + 1, 4).

        For a row of the larger class with reach k they are in columns 0 and 1 of row k; for a row
        of the rarer class with reach −1 − k, in columns 2 and 3.
        """
        table = np.zeros((self.reach.n_places, 4))
        for rows, u in scored:
            _collect(u, self.s[rows], self.reach[rows], self.side, origin, table)
        _close(table, self.reach.guide.start)
        return table

    def _slopes_of(
        self, rows: slice, z: np.ndarray, table: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return shifted scores of some rows, their slopes, and which belong to the rarer class."""
        reach = self.reach[rows]
        weight, total = _partners_of(reach, table)
        own, x = reach < 0, self.side * (z - self.centre)
        return x, self.s[rows] * (weight * (x + np.where(own, -1.0, 1.0)) - total), own


class _Shift(NamedTuple):
    """A factor for scores, the origin to subtract before, and a margin."""

    side: float
    origin: float
    margin: float


def _fineness(m: np.ndarray) -> np.ndarray:
    # number of ranges for looking up places: so many that few contain several of the m scores
    bits = np.frexp(m)[1]
    return np.where(m > 8, 1 << np.minimum(bits + 3, 22), 1)


def _guide_of_few(guide: _Guide) -> None:
    m = np.diff(guide.start)
    held = m > 0
    low, high = (guide.scores[side[held]] for side in (guide.start[:-1], guide.start[1:] - 1))
    width, n = high - low, np.diff(guide.first)[held]
    guide.low[...], guide.scale[...] = 0.0, 0.0
    guide.low[held] = low
    guide.scale[held] = np.divide(
        n, width, out=np.zeros(len(n)), where=(width > 0.0) & (width < np.inf)
    )
    own = _ranges_of(guide, guide.scores, np.repeat(np.arange(len(m)), m))
    guide.below[1:] = np.cumsum(np.bincount(own, minlength=len(guide.below) - 1))


def _ranges_of(guide: _Guide, x: np.ndarray, code: np.ndarray | int) -> np.ndarray:
    place = (x - guide.low[code]) * guide.scale[code]
    last = np.diff(guide.first)[code] - 1
    # never decreases with x; NaN belongs to the first
    return guide.first[code] + np.where(place > 0.0, np.minimum(place, last), 0.0).astype(np.int64)


@unless(lambda guide: len(guide.scores) <= FEW_ROWS, _guide_of_few, same_bits=True)
@compiled
def _guide(guide):
    # below[b]: how many of the ascending scores lie below range b
    scores, below, start, first, lows, scales = guide
    for g in range(len(lows)):
        n = first[g + 1] - first[g]
        lows[g], scales[g] = 0.0, 0.0
        if start[g + 1] > start[g]:
            low, high = scores[start[g]], scores[start[g + 1] - 1]
            scale = n / (high - low) if np.isfinite(high - low) and high > low else 0.0
            lows[g], scales[g] = low, scale
            for k in range(start[g], start[g + 1]):
                below[first[g] + _range_of(scores[k], low, scale, n) + 1] += 1
    for b in range(len(below) - 1):
        below[b + 1] += below[b]


@inlined
def _range_of(x, low, scale, n):
    # never decreases with x, whatever the rounding; NaN belongs to the first
    place = (x - low) * scale
    if place >= n:
        return n - 1
    return np.int64(place) if place > 0.0 else 0


def _reaches_of_few(
    z: np.ndarray,
    sign: np.ndarray,
    code: np.ndarray | None,
    side: float,
    centre: float,
    guide: _Guide,
    out: np.ndarray,
) -> None:
    own, g = side * sign > 0.0, 0 if code is None else code
    x = side * (z - centre) + np.where(own, 0.0, 1.0)
    b = _ranges_of(guide, x, g)
    k, end = guide.below[b], guide.below[b + 1]
    while np.any(k < end):
        middle = (k + end) >> 1
        less = (k < end) & (guide.scores[np.minimum(middle, len(guide.scores) - 1)] < x)
        k, end = np.where(less, middle + 1, k), np.where(less, end, middle)
    out[:] = np.where(own, -1 - k - g, k + g)


@unless(lambda z, *_: len(z) <= FEW_ROWS, _reaches_of_few, same_bits=True)
@compiled
def _reaches(z, sign, code, side, centre, guide, out):
    # for each row, how many scores of the rarer class are below 1 + its own; for rows of the rarer
    # class, their own place
    scores, below, _, first, low, scale = guide
    g = 0
    for i in range(len(z)):
        if code is not None:
            g = code[i]
        own = side * sign[i] > 0.0
        x = side * (z[i] - centre) + (0.0 if own else 1.0)
        b = first[g] + _range_of(x, low[g], scale[g], first[g + 1] - first[g])
        k, end = below[b], below[b + 1]
        while k < end:
            middle = (k + end) >> 1
            if scores[middle] < x:
                k = middle + 1
            else:
                end = middle
        out[i] = -1 - k - g if own else k + g


def _few_sums(u: np.ndarray, few: np.ndarray, s: np.ndarray, start: np.ndarray, *_: object) -> bool:
    return len(u) <= FEW_ROWS and len(start) <= _FEW_STRATA


def _before_few(
    u: np.ndarray,
    few: np.ndarray,
    s: np.ndarray,
    start: np.ndarray,
    shift: _Shift,
    table: np.ndarray,
) -> None:
    summands = np.column_stack([s, s * shift.side * (u[few] - shift.origin)])
    for g, (first, end) in enumerate(pairwise(start)):
        np.cumsum(summands[first:end], axis=0, out=table[first + g + 1 : end + g + 1, :2])


@unless(_few_sums, _before_few, same_bits=True)
@compiled
def _before(u, few, s, start, shift, table):
    # Σ s_i and Σ s_i u_i over the rows of the rarer class before each place of a stratum
    side, origin, _ = shift
    for g in range(len(start) - 1):
        for k in range(start[g], start[g + 1]):
            table[k + g + 1, 0] = table[k + g, 0] + s[k]
            table[k + g + 1, 1] = table[k + g, 1] + s[k] * side * (u[few[k]] - origin)


def _of_few_others(
    u: np.ndarray,
    s: np.ndarray,
    reach: np.ndarray,
    shift: _Shift,
    table: np.ndarray,
    out: np.ndarray,
) -> float:
    others = np.flatnonzero(reach >= 0)
    k, s, x = reach[others], s[others], shift.side * (u[others] - shift.origin)
    slope = s * ((shift.margin + x) * table[k, 0] - table[k, 1])
    for column, summand in ((2, s), (3, s * x)):
        table[:, column] += np.bincount(k, summand, minlength=len(table))
    out[others] = shift.side * slope
    return float(slope @ x)


@unless(lambda u, *_: len(u) <= FEW_ROWS, _of_few_others)
@compiled
def _of_others(u, s, reach, shift, table, out):
    # a row's sum from the sums over its partners; its own terms are collected for the partners
    side, origin, margin = shift
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


def _of_rarer(
    u: np.ndarray,
    few: np.ndarray,
    s: np.ndarray,
    start: np.ndarray,
    shift: _Shift,
    table: np.ndarray,
    out: np.ndarray,
) -> float:
    sums = np.empty((len(few), 2))  # Σ s_j, Σ s_j u_j over the partners of each row
    for g, (first, end) in enumerate(pairwise(start)):
        after = table[first + g + 1 : end + g + 1, 2:]
        np.cumsum(after[::-1], axis=0, out=sums[first:end][::-1])
    x = shift.side * (u[few] - shift.origin)
    slope = -s * ((shift.margin - x) * sums[:, 0] + sums[:, 1])
    out[few] = shift.side * slope
    return float(slope @ (x - 1.0))


@unless(_few_sums, _of_rarer)
@compiled
def _of_few(u, few, s, start, shift, table, out):
    side, origin, margin = shift
    total = 0.0
    for g in range(len(start) - 2, -1, -1):
        weight, partners = 0.0, 0.0  # Σ s_j, Σ s_j u_j over the partners of row k
        for k in range(start[g + 1] - 1, start[g] - 1, -1):
            weight += table[k + g + 1, 2]
            partners += table[k + g + 1, 3]
            x = side * (u[few[k]] - origin)
            slope = -s[k] * ((margin - x) * weight + partners)
            total += slope * (x - 1.0)
            out[few[k]] = side * slope
    return total


@compiled
def _collect(u, s, reach, side, origin, table):
    # rows of the rarer class go to the table row after their place, others to that of their reach
    for i in range(len(u)):
        k, column = reach[i], 2
        if k < 0:
            k, column = -k, 0
        table[k, column] += s[i]
        table[k, column + 1] += s[i] * side * (u[i] - origin)


@compiled
def _close(table, start):
    # sums over the stratum's rows: of the rarer class before each place, of the other after it
    for g in range(len(start) - 1):
        first, end = start[g] + g, start[g + 1] + g + 1
        before, total_before, after, total_after = 0.0, 0.0, 0.0, 0.0
        for k in range(first, end):
            before += table[k, 0]
            total_before += table[k, 1]
            table[k, 0], table[k, 1] = before, total_before
        for k in range(end - 1, first - 1, -1):
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
