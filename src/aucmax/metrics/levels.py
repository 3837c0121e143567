"""The table behind the metrics: the weight of each class at each distinct score.

It takes one sort. Counts are summed in float64, which is exact up to 2**53 and cannot overflow.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.metrics.reading import Bools, Floats

__all__ = ["Levels", "area", "levels_of", "pairs_won_and_lost", "rivals_above"]


class Levels(NamedTuple):
    """The distinct scores, falling, and the rows at each."""

    score: NDArray[Any]  # (t,)
    rows: NDArray[np.int64]  # (t,) number of rows
    pos: Floats  # (t,) weight of the positives
    neg: Floats  # (t,) weight of the negatives
    order: NDArray[np.intp]  # (n,) rows, from the highest score to the lowest


def levels_of(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> Levels:
    """Return the table of rows with these scores; weights, if any, are above 0."""
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


def pairs_won_and_lost(levels: Levels) -> tuple[float, float]:
    """Return the weight of the pairs ranked correctly and wrongly, ties half to each."""
    pos_above, neg_above = _above(levels)
    return float(levels.neg @ pos_above), float(levels.pos @ neg_above)


def area(levels: Levels) -> float:
    """Return the area under the ROC curve."""
    won, lost = pairs_won_and_lost(levels)
    # Not divided by the product of the totals: rounding could carry it above 1.
    return won / (won + lost)


def rivals_above(levels: Levels, positive: Bools) -> Floats:
    """Return the number of rows of the other class above each row, ties half, shape (n,)."""
    pos_above, neg_above = _above(levels)
    ranked = np.repeat([neg_above, pos_above], levels.rows, axis=1)
    above = np.empty(positive.size)
    above[levels.order] = np.where(positive[levels.order], *ranked)
    return above


def _above(levels: Levels) -> tuple[Floats, Floats]:
    """Return the weights of both classes above each score, ties half, shapes (t,)."""
    return np.cumsum(levels.pos) - levels.pos / 2, np.cumsum(levels.neg) - levels.neg / 2
