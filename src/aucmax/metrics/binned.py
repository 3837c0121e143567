"""The AUC from counts of scores in bins, with its interval and a bound on its error.

Pairs in different bins are ranked exactly. Pairs in the same bin count half, so the AUC of
the bins differs from that of the scores by at most half the share of such pairs.
"""

from typing import NamedTuple

import numpy as np

from aucmax.metrics.delong import ROUNDING, Spread, carrying_rows
from aucmax.metrics.intervals import interval_around

__all__ = ["BinnedAUC", "binned_auc"]


class BinnedAUC(NamedTuple):
    """An area under the ROC curve from bins of scores, with its confidence interval.

    Parameters
    ----------
    auc : float
        The area of the bins; pairs in the same bin count half.
    low, high : float
        The ends of the interval, each moved outwards by `error`.
    std_error : float
        DeLong's standard error, with the bins as scores.
    error : float
        Largest possible difference between `auc` and the area of the scores themselves: half the
        share of the pairs in bins with more than one score. It holds without assumptions.

    See Also
    --------
    aucmax.ScoreSketch : Computes it.
    """

    auc: float
    low: float
    high: float
    std_error: float
    error: float


def binned_auc(
    weight: np.ndarray, square: np.ndarray, mixed: np.ndarray | bool, confidence: float
) -> BinnedAUC:
    """Return the area of bins, ordered from the lowest to the highest, with its interval.

    Parameters
    ----------
    weight : ndarray, shape (2, B)
        Weight of the negatives and of the positives in each bin; neither sums to 0.
    square : ndarray, shape (2, B)
        The same for the squared weights of the rows.
    mixed : ndarray of bool, shape (B,), or bool
        Whether a bin may contain different scores.
    confidence : float
        Coverage of the interval.
    """
    totals, of_squares = weight.sum(axis=1), square.sum(axis=1)
    neg, pos = weight / totals[:, None]
    below, above = np.cumsum(neg) - neg / 2, pos.sum() - np.cumsum(pos) + pos / 2
    won, lost = float(pos @ below), float(neg @ (pos.sum() - above))
    auc, miss = won / (won + lost), lost / (won + lost)  # 1 - auc without cancellation
    rows = totals**2 / of_squares  # Kish's effective numbers
    variances, carriers = [0.0, 0.0], [0.0, 0.0]
    if rows.min() >= 2.0 - ROUNDING:
        placed = (above - neg @ above, below - pos @ below)
        for c, gap in enumerate(placed):
            gap[np.abs(gap) <= ROUNDING] = 0.0
            variances[c] = float(square[c] @ gap**2) / (of_squares[c] * (rows[c] - 1.0))
            carriers[c] = carrying_rows((above, below)[c], weight[c], square[c])
    spreads = Spread(variances[1], float(rows[1])), Spread(variances[0], float(rows[0]))
    interval = interval_around(auc, miss, spreads, (carriers[1], carriers[0]), confidence)
    error = 0.5 * float(np.sum(neg * pos * mixed))
    low, high = max(interval.low - error, 0.0), min(interval.high + error, 1.0)
    return BinnedAUC(auc, low, high, interval.std_error, error)
