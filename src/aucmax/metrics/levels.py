"""The table behind the metrics: the weight of both classes at each distinct score.

One sort makes it. Counts are summed in float64, which is exact up to 2**53 and cannot overflow.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax.metrics.reading import Bools, Floats, read

__all__ = ["Levels", "area", "levels_of", "pairs_won_and_lost", "rivals_above", "table"]


class Levels(NamedTuple):
    """The distinct scores, falling, and what lies at each."""

    score: NDArray[Any]  # (t,)
    rows: NDArray[np.int64]  # (t,) number of rows
    pos: Floats  # (t,) weight of the positives
    neg: Floats  # (t,) weight of the negatives
    order: NDArray[np.intp]  # (n,) rows, from the highest score to the lowest


def levels_of(positive: Bools, score: NDArray[Any], weight: Floats | None) -> Levels:
    """The table of rows with these scores; weights, if any, above 0."""
    order = np.argsort(score)[::-1]
    ranked = score[order]
    # Compared, not subtracted: infinite and unsigned scores have no usable difference.
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    rows = np.diff(starts, append=ranked.size)
    is_pos = positive[order]
    if weight is None:
        pos = np.add.reduceat(is_pos, starts, dtype=np.float64)
        neg = rows - pos
    else:
        ranked_weight = weight[order]
        pos = np.add.reduceat(np.where(is_pos, ranked_weight, 0.0), starts)
        neg = np.add.reduceat(np.where(is_pos, 0.0, ranked_weight), starts)
    return Levels(ranked[starts], rows, pos, neg, order)


def table(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> Levels:
    """The table of a metric's arguments, checked."""
    return levels_of(*read(y, score, sample_weight, pos_label))


def pairs_won_and_lost(levels: Levels) -> tuple[float, float]:
    """Weight of the pairs ranked rightly and wrongly, ties half to each."""
    pos_above, neg_above = _above(levels)
    return float(levels.neg @ pos_above), float(levels.pos @ neg_above)


def area(levels: Levels) -> float:
    """The area under the ROC curve."""
    won, lost = pairs_won_and_lost(levels)
    # Not divided by the product of the totals: so no rounding can carry it above 1.
    return won / (won + lost)


def rivals_above(levels: Levels, positive: Bools) -> Floats:
    """(n,) number of rows of the other class above each row, ties half."""
    pos_above, neg_above = _above(levels)
    ranked = np.repeat([neg_above, pos_above], levels.rows, axis=1)
    above = np.empty(positive.size)
    above[levels.order] = np.where(positive[levels.order], *ranked)
    return above


def _above(levels: Levels) -> tuple[Floats, Floats]:
    """(t,) weight of the positives and of the negatives above each score, ties half."""
    return np.cumsum(levels.pos) - levels.pos / 2, np.cumsum(levels.neg) - levels.neg / 2
