"""The table from which metrics are computed: the weight of each class at each level of the scores.

It takes one sort. Counts are summed in float64, which is exact up to 2**53 and cannot overflow.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows import compiled
from aucmax.data.rows.few import FEW_ROWS
from aucmax.data.rows.kernels import unless
from aucmax.data.rows.sorting import ascending
from aucmax.metrics.reading import Bools, Floats

__all__ = [
    "Levels",
    "Ranked",
    "above",
    "area",
    "area_of",
    "area_up_to",
    "at_rows",
    "flagged_up_to",
    "levels_of",
    "mean_precision",
    "pairs_within",
    "pairs_won_and_lost",
    "ranked",
    "recall_up_to",
    "rivals_above",
    "rivals_tied",
    "share_of_top",
]

# relative tolerance: ten weights of 0.1 must count like ten of 1, although sums are rounded
_ROUNDING_FACTOR = 1 + 1e-12
_MAX_BY_NUMPY = 1500  # scores up to which NumPy counts pairs as fast as the kernels


class Levels(NamedTuple):
    """The rows at each level of the scores, from the highest to the lowest."""

    rows: NDArray[np.int64]  # (t,) number of rows
    pos: Floats  # (t,) weight of the positives
    neg: Floats  # (t,) weight of the negatives


class Ranked(NamedTuple):
    """Rows in the order of their scores; each distinct score is a level."""

    levels: Levels
    score: NDArray[Any]  # (t,) the score of each level
    order: NDArray[np.intp]  # (n,) rows, from the highest score to the lowest


def levels_of(
    positive: Bools, weight: Floats | None, score: NDArray[Any], cuts: Sequence[Any] = ()
) -> Levels:
    """Return the levels of rows with these scores; weights, if any, must be above 0.

    Without weights, all negatives between two scores of positives form one level, which makes no
    difference to any metric: the table then has about one entry for each positive, and takes only
    two sorts of scores. The scores in ``cuts`` are separate levels, too.
    """
    if weight is not None:
        return ranked(positive, weight, score).levels
    scores, negatives = score[positive], score[~positive]
    for of_class in (scores, negatives):  # copies
        of_class.sort()
    starts = _starts(scores)
    distinct, counts = scores[starts], np.diff(starts, append=scores.size)
    for cut in cuts:
        place = int(np.searchsorted(distinct, cut))
        if place == len(distinct) or distinct[place] != cut:
            distinct, counts = np.insert(distinct, place, cut), np.insert(counts, place, 0)
    ends = [np.searchsorted(negatives, distinct, side) for side in ("left", "right")]
    neg = np.diff(np.column_stack(ends).ravel(), prepend=0, append=negatives.size)
    pos = np.zeros_like(neg)
    pos[1::2] = counts
    rows = (pos + neg)[::-1]
    occupied = rows > 0
    pos, neg = (counts[::-1][occupied].astype(np.float64) for counts in (pos, neg))
    return Levels(rows[occupied], pos, neg)


def ranked(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> Ranked:
    """Return rows in the order of their scores; weights, if any, must be above 0."""
    order = np.argsort(score)[::-1]
    descending = score[order]
    starts = _starts(descending)
    rows = np.diff(starts, append=descending.size)
    is_pos = positive[order]
    if weight is None:
        pos = np.add.reduceat(is_pos, starts, dtype=np.float64)
        neg = rows - pos
    else:
        ranked_weight = weight[order]
        pos = np.add.reduceat(np.where(is_pos, ranked_weight, 0.0), starts)
        neg = np.add.reduceat(np.where(is_pos, 0.0, ranked_weight), starts)
    return Ranked(Levels(rows, pos, neg), descending[starts], order)


def _starts(in_order: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions at which runs of equal scores begin."""
    # compare rather than subtract: infinite and unsigned scores have no usable difference
    return np.flatnonzero(np.concatenate(([True], in_order[1:] != in_order[:-1])))


def pairs_won_and_lost(levels: Levels) -> tuple[float, float]:
    """Return the weight of the pairs ranked correctly, and wrongly; ties count half for each."""
    pos_above, neg_above = above(levels)
    return float(levels.neg @ pos_above), float(levels.pos @ neg_above)


def area(levels: Levels) -> float:
    """Return the area under the ROC curve."""
    won, lost = pairs_won_and_lost(levels)
    # divided by the sum, since the product of the totals could give more than 1
    return won / (won + lost)


def area_of(positive: Bools, weight: Floats | None, score: NDArray[Any]) -> float:
    """Return the area under the ROC curve of rows with these scores.

    Without weights it needs no table, and takes a third of the time.
    """
    if weight is not None:
        return area(levels_of(positive, weight, score))
    parts = positive, ~positive
    if len(score) <= _MAX_BY_NUMPY:
        won = _won_by_few(score, *parts)
    else:
        won = _won(score, *(ascending(score, np.flatnonzero(part)) for part in parts))
    n_pos = np.count_nonzero(positive)
    return won / (n_pos * (len(score) - n_pos))


def area_up_to(levels: Levels, max_fpr: float) -> float:
    """Return the standardised area under the ROC curve for false-positive rates up to a limit."""
    if max_fpr == 1.0:
        return area(levels)
    fpr, tpr = _rates(levels)
    end = int(np.searchsorted(fpr, max_fpr, side="right"))
    recall_at_end = np.interp(max_fpr, fpr[end - 1 : end + 1], tpr[end - 1 : end + 1])
    width, height = np.diff(fpr[:end], append=max_fpr), np.append(tpr[:end], recall_at_end)
    partial_area = 0.5 * float(width @ (height[1:] + height[:-1]))
    chance = 0.5 * max_fpr**2
    return min(max(0.5 * (1.0 + (partial_area - chance) / (max_fpr - chance)), 0.0), 1.0)


def recall_up_to(levels: Levels, max_fpr: float) -> float:
    """Return the largest recall of a threshold whose false-positive rate is at most ``max_fpr``."""
    return flagged_up_to(levels, max_fpr)[2]


def flagged_up_to(levels: Levels, max_fpr: float) -> tuple[int, float, float]:
    """Return how many levels may be flagged at a false-positive rate, and the resulting rates."""
    fpr, tpr = _rates(levels)
    flagged = int(np.searchsorted(fpr, max_fpr * _ROUNDING_FACTOR, side="right")) - 1
    return flagged, float(fpr[flagged]), float(tpr[flagged])


def mean_precision(levels: Levels) -> float:
    """Return the mean, over the positives, of the precision at their score."""
    hits, false_alarms = np.cumsum(levels.pos), np.cumsum(levels.neg)
    return min(float((levels.pos / hits[-1]) @ (hits / (hits + false_alarms))), 1.0)


def share_of_top(levels: Levels, k: float) -> Floats:
    """Return the share of each level's rows that are among the k highest: 1, a fraction, then 0."""
    return np.clip((k - (np.cumsum(levels.rows) - levels.rows)) / levels.rows, 0.0, 1.0)


def _rates(levels: Levels) -> tuple[Floats, Floats]:
    """Return false-positive and true-positive rates, shapes (t + 1,), from 0 to 1."""
    neg, pos = (np.concatenate(([0.0], np.cumsum(part))) for part in (levels.neg, levels.pos))
    return neg / neg[-1], pos / pos[-1]


def rivals_above(rows: Ranked, positive: Bools) -> Floats:
    """Return the weight of the other class above each row, ties half, shape (n,)."""
    of_pos, of_neg = above(rows.levels)
    return at_rows(rows, positive, of_neg, of_pos)


def rivals_tied(rows: Ranked, positive: Bools) -> Floats:
    """Return the number of rows of the other class that tie with each row, shape (n,)."""
    return at_rows(rows, positive, rows.levels.neg, rows.levels.pos)


def at_rows(rows: Ranked, positive: Bools, of_pos: Floats, of_neg: Floats) -> Floats:
    """Return, for each row, the value of its class at its score, shape (n,)."""
    values = np.repeat(of_neg, rows.levels.rows)
    np.copyto(values, np.repeat(of_pos, rows.levels.rows), where=positive[rows.order])
    in_place = np.empty(positive.size)
    in_place[rows.order] = values
    return in_place


def above(levels: Levels) -> tuple[Floats, Floats]:
    """Return the weights of both classes above each level, ties half, shapes (t,)."""
    return np.cumsum(levels.pos) - levels.pos / 2, np.cumsum(levels.neg) - levels.neg / 2


def _won_by_few(z: NDArray[Any], pos: NDArray[Any], neg: NDArray[Any]) -> float:
    of_pos, of_neg = z[pos], np.sort(z[neg])
    return 0.5 * sum(int(of_neg.searchsorted(of_pos, side).sum()) for side in ("left", "right"))


@unless(lambda z, pos, neg: len(pos) + len(neg) <= FEW_ROWS, _won_by_few, same_bits=True)
@compiled
def _won(z, pos, neg):
    # weight of the pairs ranked correctly, ties half, from each class's rows in ascending order
    below, up_to, won = 0, 0, 0.0
    for i in pos:
        while below < len(neg) and z[neg[below]] < z[i]:
            below += 1
        up_to = below if below > up_to else up_to
        while up_to < len(neg) and z[neg[up_to]] == z[i]:
            up_to += 1
        won += 0.5 * (below + up_to)
    return won


@compiled
def pairs_within(begins, pos, neg, sums):
    # sums[g]: weight of the positives, of the negatives, of the pairs won and lost, ties half to
    # each, in stratum g; rows are in ascending order of stratum and score
    g, i, n = -1, 0, pos.size
    while i < n:
        if begins[0, i]:
            g += 1
        tied_pos = tied_neg = 0.0
        while True:
            tied_pos, tied_neg = tied_pos + pos[i], tied_neg + neg[i]
            i += 1
            if i == n or begins[1, i]:
                break
        sums[g, 2] += tied_pos * (sums[g, 1] + 0.5 * tied_neg)
        sums[g, 3] += tied_neg * (sums[g, 0] + 0.5 * tied_pos)
        sums[g, 0] += tied_pos
        sums[g, 1] += tied_neg
