"""How far each row moves a measure of scored rows, from which its variance follows.

docs/measures.md gives the formulas and references.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import number
from aucmax.metrics.delong import effective_rows
from aucmax.metrics.levels import (
    at_rows,
    flagged_up_to,
    mean_precision,
    ranked,
    recall_up_to,
    share_of_top,
)
from aucmax.metrics.reading import Bools, Floats, row_count

__all__ = [
    "Influence",
    "Measure",
    "average_precision",
    "precision_at_k",
    "recall_at_fpr",
    "recall_at_k",
]

_REACH = 2.0  # standard errors of a threshold's rank, within which a measure's slope is taken


class Influence(NamedTuple):
    """A measure, and how far each row moves it.

    Parameters
    ----------
    value : float
        The measure, between 0 and 1.
    moved : ndarray, shape (n,)
        Its derivative in the number of times that each row occurs; sums to 0.
    trials : ndarray, shape (n,)
        How much each row counts in the mean that the measure is; 0 for rows that it does not count.
    """

    value: float
    moved: Floats
    trials: Floats


Measure = Callable[[Bools, Floats | None, NDArray[Any]], Influence]


def _weights(positive: Bools, weight: Floats | None) -> Floats:
    return np.ones(len(positive)) if weight is None else weight


def average_precision(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> Influence:
    """Return the influence of each row on the average precision."""
    rows = ranked(positive, weight, score)
    pos, neg = rows.levels.pos, rows.levels.neg
    hits, alarms = np.cumsum(pos), np.cumsum(neg)
    value, total, weight = mean_precision(rows.levels), hits[-1], _weights(positive, weight)
    # a row changes the precision at its own level and at all levels below
    gain, loss = (
        np.cumsum((pos / total * part / (hits + alarms) ** 2)[::-1])[::-1]
        for part in (alarms, hits)
    )
    moved = at_rows(rows, positive, (hits / (hits + alarms) - value) / total + gain, -loss)
    return Influence(value, weight * moved, weight * positive)


def precision_at_k(k: float) -> Measure:
    """Return the influence of rows on the share of positives among the k highest scores."""

    def influence(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> Influence:
        top, weight = _Top.of(k, positive, weight, score), _weights(positive, weight)
        hits, hits_moved = top.sum_of(weight * positive)
        flagged, flagged_moved = top.sum_of(weight)
        value = min(hits / flagged, 1.0)
        return Influence(value, (hits_moved - value * flagged_moved) / flagged, weight * top.share)

    return influence


def recall_at_k(k: float) -> Measure:
    """Return the influence of rows on the share of the positives among the k highest scores."""

    def influence(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> Influence:
        top, own = _Top.of(k, positive, weight, score), positive * _weights(positive, weight)
        (hits, moved), total = top.sum_of(own), float(own.sum())
        value = min(hits / total, 1.0)
        return Influence(value, (moved - value * own) / total, own)

    return influence


class _Top(NamedTuple):
    """The k rows with the highest scores."""

    share: Floats  # (n,) how much of each row is among them
    around: Floats  # (n,) the rows around the cut; sums to 1
    rows: float  # k/n

    @classmethod
    def of(cls, k: float, positive: Bools, weight: Floats | None, score: NDArray[Any]) -> "_Top":
        rows, n = ranked(positive, weight, score), len(positive)
        k = row_count(k, n)
        reach = _REACH * float(np.sqrt(k * (1.0 - k / n)))
        ends = max(k - reach, 0.0), k, min(k + reach, float(n))
        of_levels = [share_of_top(rows.levels, end) for end in ends]
        above, share, below = (at_rows(rows, positive, of, of) for of in of_levels)
        return cls(share, (below - above) / max(ends[2] - ends[0], 1.0), k / n)

    def sum_of(self, weight: Floats) -> tuple[float, Floats]:
        """Return the weight among them, and how far each row moves it.

        A further row among them takes the place of one at the cut, and each further row lets k grow
        by k/n.
        """
        at_the_cut = float(weight @ self.around)
        moved = weight * self.share + at_the_cut * (self.rows - self.share)
        return float(weight @ self.share), moved


def recall_at_fpr(max_fpr: float) -> Measure:
    """Return the influence of rows on the largest recall at a false-positive rate."""
    number(max_fpr, "max_fpr", high=1.0)

    def influence(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> Influence:
        rows, weight = ranked(positive, weight, score), _weights(positive, weight)
        flagged, fpr, value = flagged_up_to(rows.levels, max_fpr)
        negatives = effective_rows(weight[~positive])
        reach = _REACH * float(np.sqrt(max_fpr * (1.0 - max_fpr) / negatives))
        low, high = max(max_fpr - reach, 0.0), min(max_fpr + reach, 1.0)
        rise = recall_up_to(rows.levels, high) - recall_up_to(rows.levels, low)
        slope = rise / (high - low) if high > low else 0.0
        above = (np.arange(len(rows.levels.rows)) < flagged).astype(np.float64)
        moved = weight * at_rows(rows, positive, above - value, slope * (fpr - above))
        share = np.where(positive, weight[positive].sum(), weight[~positive].sum())
        return Influence(value, moved / share, weight * positive)

    return influence
