"""Weights of the rows of two classes in bins of their scores, in fixed memory, with decay.

Float64 numbers have the same order as their bits read as integers, so every score has a position
among 2⁶⁴. A bin is 2ˢ consecutive positions. At first s is 0 and each distinct score has its own
bin; when there are too many bins, s increases by one and neighbours are joined. Joined bins are
the bins of the larger s, so the bins depend only on the scores, not on their order.

After some increases of s the ends of a bin have about the same ratio everywhere (2 % at s = 47, a
factor of 2 at s = 52), so no range needs to be known in advance, and units do not matter.

Rows are counted one at a time, in order, and bins are joined and old rows decay exactly at the row
that requires it. So even rounded sums do not depend on how rows are divided into calls.
"""

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np

from aucmax.basics.archive import ArraySpec, Specs
from aucmax.basics.checks import is_whole, number
from aucmax.data.rows import allocating, compiled
from aucmax.metrics.binned import BinnedAUC, binned_auc

__all__ = ["ScoreBins", "bins_specs", "positions"]

_WAITING_ROWS = 2**16  # rows that are counted together, to save time
_MAX_UNIT = 2.0**64  # stored weight of a new row above which stored weights are reduced
_MAX_TOTAL = 1e150  # largest stored weight of all rows: its square must not overflow
_LARGE_WEIGHT = 1e100  # weight of a call's rows below which no number of calls reaches _MAX_TOTAL
_MIN_WEIGHT = 1e-150  # stored weight below which a row is ignored: its square underflows
_GROUP_SHIFT = 48  # a group is 2⁴⁸ positions, 1/16 of the numbers between two powers of 2
_NOWHERE = np.iinfo(np.int64).max  # above the position of every score


class _Bins(NamedTuple):
    """Bins in ascending order: the positions of the lowest and the highest score in each, and sums.

    ``sums`` (2, 2, B) are the stored sums of the weights and of their squares, by class. In an
    empty bin the lowest position is above the highest.
    """

    low: np.ndarray
    high: np.ndarray
    sums: np.ndarray


class _Rows(NamedTuple):
    """Positions of scores, codes 0 or 1 of the classes, and weights (n,)."""

    place: np.ndarray
    code: np.ndarray
    weight: np.ndarray


class ScoreBins:
    """Weights of the rows of two classes, with the codes 0 and 1, in bins of their scores.

    Parameters
    ----------
    capacity : int
        Maximum number of bins.
    half_life : float, optional
        In rows: row i of m has weight 2^(−(m−i)/half_life) times its own. By default rows keep
        their weights.
    """

    def __init__(self, capacity: int, half_life: float | None = None) -> None:
        if half_life is not None:
            number(half_life, "half_life", low=1.0)
        self.capacity, self.half_life = capacity, half_life
        self._growth = 1.0 if half_life is None else 2.0 ** (1.0 / half_life)
        # weights are stored relative to that of a new row: new weights grow, old ones stay
        self._shift, self._unit = 0, 1.0
        no_places = np.zeros(0, dtype=np.int64)
        self._bins = _Bins(no_places, no_places, np.zeros((2, 2, 0)))
        self._waiting: list[_Rows] = []
        self._n_waiting = 0

    # ---- rows ----------------------------------------------------------------------------

    def check(self, weight: np.ndarray) -> None:
        """Raise ValueError if weights would be too large to compute with after these rows (n,)."""
        if (total := float(weight.sum())) > _LARGE_WEIGHT:
            unit = self._unit if self.half_life is None else _MAX_UNIT
            self._check_total(float(self._settled().sums[0].sum()) + unit * total)

    @staticmethod
    def _check_total(total: float) -> None:
        if not total <= _MAX_TOTAL:
            raise ValueError(
                "the weights of all rows together are too large to compute with; multiply all "
                "weights by a constant."
            )

    def add(self, codes: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> None:
        """Add rows: codes 0 or 1 of their classes (n,), scores without NaN (n,), weights (n,)."""
        for start in range(0, len(scores), _WAITING_ROWS):
            part = slice(start, start + _WAITING_ROWS)
            self._waiting.append(_Rows(positions(scores[part]), codes[part], weight[part].copy()))
            self._n_waiting += len(self._waiting[-1].place)
            if self._n_waiting >= _WAITING_ROWS:
                self._settled()

    def placements(self, codes: np.ndarray, scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Add rows as `add` does; return DeLong's placement of each among the earlier rows, (n,).

        That is the share of the other class's weight in bins below the row's bin, plus half of the
        share in the same bin; NaN while the other class has no weight.
        """
        self._settled()
        placements = np.empty(len(scores))
        self._count(_Rows(positions(scores), codes, weight), placements)
        return placements

    def _settled(self) -> _Bins:
        """Count the waiting rows, and return the bins."""
        if self._waiting:
            rows = _Rows(*map(np.concatenate, zip(*self._waiting, strict=True)))
            self._waiting, self._n_waiting = [], 0
            self._count(rows, np.empty(0))
        return self._bins

    def _count(self, rows: _Rows, placements: np.ndarray) -> None:
        """Count rows in a table with an empty bin for each new score."""
        places = np.concatenate([self._bins.low, rows.place])
        key, cells = np.unique(places >> self._shift, return_inverse=True)
        old_cells, new_cells = np.split(cells, [len(self._bins.low)])
        table = _empty(len(key))
        for part, old_part in zip(table, self._bins, strict=True):
            part[..., old_cells] = old_part
        self._take(key, table, rows, new_cells, placements)

    def _take(
        self, key: np.ndarray, table: _Bins, rows: _Rows, cells: np.ndarray, placements: np.ndarray
    ) -> None:
        """Add each row to the bin of its cell, in a table of ascending keys; keep filled bins."""
        clock = self._shift, self._unit, self._growth
        result = _add(key, table, rows, cells, clock, self.capacity, placements)
        table, self._shift, self._unit = result
        filled = table.low <= table.high
        self._bins = _Bins(*(part.compress(filled, axis=-1) for part in table))

    # ---- other bins ----------------------------------------------------------------------

    def merged(self, other: Self) -> Self:
        """Return the bins of both sets of rows; capacity and half-life must be the same."""
        unit = max(self.facts["unit"], other.facts["unit"])
        mine, theirs = self._relative_to(unit), other._relative_to(unit)
        merged = mine._with(mine._bins)
        merged._shift = max(mine._shift, theirs._shift)
        pairs = zip(mine._bins, theirs._bins, strict=True)
        joint = _Bins(*(np.concatenate(pair, axis=-1) for pair in pairs))
        order = np.argsort(joint.low, kind="stable")
        joint = _Bins(*(part.take(order, axis=-1) for part in joint))
        no_scores = np.empty(0)
        no_rows = _Rows(positions(no_scores), positions(no_scores), no_scores)
        merged._check_total(float(joint.sums[0].sum()))
        merged._take(joint.low >> merged._shift, joint, no_rows, no_rows.code, no_scores)
        return merged

    def decayed(self, gamma: float) -> Self:
        """Return a copy with all weights multiplied by gamma, in (0, 1]."""
        decayed = self._with(self._settled())
        decayed._unit /= gamma
        return decayed if decayed._unit <= _MAX_UNIT else decayed._relative_to(1.0)

    def exchanged(self) -> Self:
        """Return a copy in which the codes of the two classes are swapped."""
        bins = self._settled()
        return self._with(bins._replace(sums=bins.sums[:, ::-1].copy()))

    def _relative_to(self, unit: float) -> Self:
        """Return these bins, without waiting rows, for another stored weight of a new row."""
        bins = self._settled()
        if unit == self._unit:
            return self
        rescaled = self._with(bins._replace(sums=bins.sums.copy()))
        _rescale(rescaled._bins.sums, unit / self._unit)
        rescaled._unit = unit
        return rescaled

    def _with(self, bins: _Bins) -> Self:
        changed = copy(self)
        changed._bins, changed._waiting = bins, []
        return changed

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoreBins):
            return NotImplemented
        alike = (self.capacity, self.half_life) == (other.capacity, other.half_life)
        arrays = zip(self._settled(), other._settled(), strict=True)
        return alike and self.facts == other.facts and all(np.array_equal(*pair) for pair in arrays)

    __hash__ = None  # type: ignore[assignment]  # add() changes it in place

    # ---- results -------------------------------------------------------------------------

    @property
    def weights(self) -> np.ndarray:
        """The weight of each class, shape (2,)."""
        return self._settled().sums[0].sum(axis=1) / self._unit

    @property
    def rows(self) -> np.ndarray:
        """Kish's effective number of rows of each class, shape (2,)."""
        weights, squares = self._settled().sums.sum(axis=2)
        return np.divide(weights**2, squares, out=np.zeros(2), where=squares > 0.0)

    def auc(self, positive: int = 1, confidence: float = 0.95) -> BinnedAUC | None:
        """Return the AUC with its interval and error bound; None while a class has no weight.

        Parameters
        ----------
        positive : int
            The code of the positive class.
        confidence : float
            Coverage of the interval.
        """
        low, high, sums = self._settled()
        if not sums[0].any(axis=1).all():
            return None
        weight, square = sums[:, [1 - positive, positive]]
        return binned_auc(weight, square, low != high, confidence)

    # ---- files ---------------------------------------------------------------------------

    @property
    def facts(self) -> dict[str, Any]:
        """The data of the bins for a file, beside `arrays`, as JSON."""
        self._settled()
        return {"shift": self._shift, "unit": self._unit}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays of the bins, as specified by `bins_specs`."""
        return self._settled()._asdict()

    def restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Adopt bins that match `bins_specs`; raise ValueError if no rows could lead to them."""
        bins, shift, unit = _Bins(**arrays), facts["shift"], facts["unit"]
        if not is_whole(shift) or shift > 63:
            raise ValueError(f"its bins are 2 to the power of {shift!r} wide")
        if not isinstance(unit, float) or not 1.0 <= unit <= _MAX_UNIT:
            raise ValueError(f"the stored weight of a new row is {unit!r}")
        if len(bins.low) > self.capacity:
            raise ValueError(f"it has {len(bins.low)} bins, more than {self.capacity}")
        low, high = bins.low >> shift, bins.high >> shift
        if np.any(bins.low > bins.high) or np.any(low != high) or np.any(low[1:] <= low[:-1]):
            raise ValueError("its bins are not ascending")
        weights, squares = bins.sums
        if np.any(np.sqrt(squares) > 1.001 * weights + _MIN_WEIGHT):
            raise ValueError("its squared weights are larger than their sums allow")
        totals, of_squares = weights.sum(axis=1), squares.sum(axis=1)
        small = (totals > 0.0) & ((totals < _MIN_WEIGHT) | (of_squares <= 0.0))
        if small.any() or totals.sum() > _MAX_TOTAL:
            raise ValueError("its weights are too large or too small to compute with")
        self._shift, self._unit, self._bins, self._waiting = shift, unit, bins, []


def bins_specs(bins: str = "bins") -> Specs:
    """Return the specifications of the arrays of bins, where ``bins`` names their number."""
    # the positions of −∞ and ∞ are the first and the last
    place = ArraySpec((bins,), np.int64, -0x7FF0000000000000, 0x7FF0000000000000)
    return {"low": place, "high": place, "sums": ArraySpec((2, 2, bins), low=0.0)}


def positions(scores: np.ndarray) -> np.ndarray:
    """Return integers (n,) in the order of the scores, equal for −0 and 0."""
    bits = (scores + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


@allocating
def _empty(bins: int) -> Any:
    """Return empty bins."""
    return _Bins(np.full(bins, _NOWHERE), np.full(bins, -_NOWHERE), np.zeros((2, 2, bins)))


@allocating
def _add(
    key: Any, table: Any, rows: Any, cells: Any, clock: Any, capacity: int, placements: Any
) -> Any:
    """Add rows to their bins one by one; return the bins, the new shift and the new unit.

    ``clock`` is the shift, the stored weight of a new row (unit), and its growth from row to row.
    ``placements`` (n,) are computed unless they are empty.
    """
    shift, unit, growth = clock
    slot = np.arange(len(key))  # for each cell, the bin that it belongs to
    key, table, filled = _joined(key, table, np.int64(0), slot)
    while filled > capacity:
        shift += 1
        key, table, filled = _joined(key, table, np.int64(1), slot)
    group, ends, groups = _grouped(key, table.sums[0], shift)
    for i in range(len(cells)):
        b, k, rival = slot[cells[i]], rows.code[i], 1 - rows.code[i]
        unit *= growth
        if unit > _MAX_UNIT:
            _rescale(table.sums, 1.0 / unit)
            unit = 1.0
            group, ends, groups = _grouped(key, table.sums[0], shift)
        weights, squares = table.sums
        if len(placements) > 0:
            g, total = group[b], groups[rival].sum()
            below = groups[rival, :g].sum() + weights[rival, ends[g] : b].sum()
            below += 0.5 * weights[rival, b]
            placements[i] = below / total if total > 0.0 else np.nan
        if rows.weight[i] < _MIN_WEIGHT:
            continue
        filled += table.low[b] > table.high[b]
        table.low[b] = min(table.low[b], rows.place[i])
        table.high[b] = max(table.high[b], rows.place[i])
        weights[k, b] += unit * rows.weight[i]
        squares[k, b] += (unit * rows.weight[i]) ** 2
        if filled > capacity:
            while filled > capacity:
                shift += 1
                key, table, filled = _joined(key, table, np.int64(1), slot)
            group, ends, groups = _grouped(key, table.sums[0], shift)
        elif len(placements) > 0:  # summed anew: rounding must depend only on the bins
            groups[k, group[b]] = weights[k, ends[group[b]] : ends[group[b] + 1]].sum()
    return table, shift, unit


@compiled
def _rescale(sums: Any, factor: float) -> None:
    """Multiply stored weights by a factor; weights too small to square become 0."""
    for k in range(2):
        for b in range(sums.shape[2]):
            weight, square = sums[0, k, b] * factor, sums[1, k, b] * (factor * factor)
            large = weight >= _MIN_WEIGHT
            sums[0, k, b], sums[1, k, b] = (weight, square) if large else (0.0, 0.0)


@allocating
def _joined(key: Any, table: Any, bits: int, slot: Any) -> Any:
    """Shift keys right and join bins of equal keys; return both and the number of filled bins.

    ``slot`` contains indices of bins, which are replaced by those of the joined bins.
    """
    number = np.zeros(len(key), np.int64)
    for b in range(1, len(key)):
        number[b] = number[b - 1] + (key[b] >> bits != key[b - 1] >> bits)
    joined = _empty(number[-1] + 1 if len(key) else 0)
    new_key = np.empty_like(joined.low)
    for b in range(len(key)):
        n = number[b]
        new_key[n] = key[b] >> bits
        joined.low[n], joined.high[n] = (
            min(joined.low[n], table.low[b]),
            max(joined.high[n], table.high[b]),
        )
        for c in range(4):
            joined.sums[c // 2, c % 2, n] += table.sums[c // 2, c % 2, b]
    for i in range(len(slot)):
        slot[i] = number[slot[i]]
    filled = 0
    for n in range(len(new_key)):
        filled += joined.low[n] <= joined.high[n]
    return new_key, joined, filled


@allocating
def _grouped(key: Any, weights: Any, shift: int) -> Any:
    """Return the group of each bin, the bounds of groups, and their weights by class.

    With the sums of groups, a share of the weight takes few additions.
    """
    group, ends, current = np.zeros(len(key), np.int64), np.zeros(len(key) + 1, np.int64), -1
    bits = max(_GROUP_SHIFT - shift, 0)
    for b in range(len(key)):
        if b == 0 or key[b] >> bits != key[b - 1] >> bits:
            current += 1
        group[b], ends[current + 1] = current, b + 1
    sums = np.zeros((2, current + 1))
    for k in range(2):
        for g in range(current + 1):
            sums[k, g] = weights[k, ends[g] : ends[g + 1]].sum()
    return group, ends, sums
