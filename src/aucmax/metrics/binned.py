"""The AUC of scores of which only counts by bins are kept, its interval, and how far it can be off.

Pairs in different bins are ranked as their scores are. Pairs in the same bin count half: the AUC of
the scores differs from that of the bins by at most half the share of such pairs.
"""

from typing import NamedTuple

import numpy as np

from aucmax.metrics.delong import ROUNDING, Spread
from aucmax.metrics.intervals import interval_around

__all__ = ["BinnedAUC", "binned_auc"]


class BinnedAUC(NamedTuple):
    """An area under the ROC curve from bins of scores, with its confidence interval.

    Parameters
    ----------
    auc : float
        The area of the bins, ties half.
    low, high : float
        The ends of the interval, each moved outwards by `error`.
    std_error : float
        DeLong's standard error, with the bins for scores.
    error : float
        How far the area of the scores themselves may be from `auc`: half the share of the pairs
        in bins that hold more than one score. No assumption is behind it.

    See Also
    --------
    aucmax.ScoreSketch : Makes it.
    """

    auc: float
    low: float
    high: float
    std_error: float
    error: float


def binned_auc(
    weight: np.ndarray, square: np.ndarray, mixed: np.ndarray | bool, confidence: float
) -> BinnedAUC:
    """Return the area of bins from the lowest to the highest, as `auc_interval` does of scores.

    Parameters
    ----------
    weight : ndarray, shape (2, B)
        Of the negatives and of the positives in each bin; both have some.
    square : ndarray, shape (2, B)
        The same of the rows' squared weights.
    mixed : ndarray of bool, shape (B,), or bool
        Whether a bin may hold different scores.
    confidence : float
        Coverage of the interval.
    """
    totals, of_squares = weight.sum(axis=1), square.sum(axis=1)
    neg, pos = weight / totals[:, None]
    below, above = np.cumsum(neg) - neg / 2, pos.sum() - np.cumsum(pos) + pos / 2
    won, lost = float(pos @ below), float(neg @ (pos.sum() - above))
    auc, miss = won / (won + lost), lost / (won + lost)  # 1 - auc without cancellation
    rows = totals**2 / of_squares  # Kish's effective numbers
    variances = [0.0, 0.0]
    if rows.min() >= 2.0 - ROUNDING:
        placed = (above - neg @ above, below - pos @ below)
        for c, gap in enumerate(placed):
            gap[np.abs(gap) <= ROUNDING] = 0.0
            variances[c] = float(square[c] @ gap**2) / (of_squares[c] * (rows[c] - 1.0))
    spreads = Spread(variances[1], float(rows[1])), Spread(variances[0], float(rows[0]))
    found = interval_around(auc, miss, spreads, confidence)
    error = 0.5 * float(np.sum(neg * pos * mixed))
    low, high = max(found.low - error, 0.0), min(found.high + error, 1.0)
    return BinnedAUC(auc, low, high, found.std_error, error)
