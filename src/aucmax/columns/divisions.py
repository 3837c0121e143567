"""The best division of a sequence of cells into bins of neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.isotonic import isotonic_regression

__all__ = ["blocks", "divide", "likelihood"]

Ends = NDArray[np.intp]
_ROUNDING = 1e-12  # relative rounding error of a likelihood, and of the weight of a bin


def likelihood(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-likelihood of bins, each with its own rate.

    Parameters
    ----------
    counts : ndarray, shape (…, 2)
        Negatives and positives in each bin.
    """
    total = counts.sum(axis=-1)
    return np.asarray(xlogy(counts, counts).sum(axis=-1) - xlogy(total, total))


def divide(
    counts: NDArray[np.float64],
    max_bins: int,
    smallest: float,
    price: float,
    trends: Sequence[int] = (0,),
) -> tuple[Ends, float]:
    """Divide cells into the bins with the highest log-likelihood minus a price for each bin.

    The optimum is exact, by dynamic programming over the start and end of the last bin. If V(i, j)
    is the value of the best division of the cells before j whose last bin starts at i, a further
    bin gives

        V'(j, l) = gain(j, l) + max { V(i, j) : the rates of (i, j) and (j, l) follow the trend },

    a running maximum once the bins (i, j) that end at j are sorted by rate. So m cells take m²
    steps for each bin.

    Parameters
    ----------
    counts : ndarray, shape (m, 2)
        Negatives and positives in each cell.
    max_bins : int
        Maximum number of bins.
    smallest : float
        Minimum count of a bin; if all cells together have less, they form one bin.
    price : float
        Price of a bin, in units of the log-likelihood.
    trends : sequence of {1, -1, 0}
        Whether rates must increase (1) or decrease (−1) from bin to bin, or may do either (0). If
        there are several trends, the one that fits best is used.

    Returns
    -------
    ends : ndarray
        The cell after which each bin ends; the last is m.
    value : float
        The log-likelihood minus the price of all bins.
    """
    m = len(counts)
    sums = np.vstack([np.zeros(2), np.cumsum(counts, axis=0)])
    inside = np.maximum(sums[None, :, :] - sums[:, None, :], 0.0)  # (i, j): cells i to before j
    total = inside.sum(axis=2)
    gain = likelihood(inside) - price
    gain[(total < smallest * (1 - _ROUNDING)) | np.tri(m + 1, dtype=bool)] = -np.inf
    rates = inside[:, :, 1] / np.where(total > 0, total, 1.0)
    divisions = [_following(gain, trend * rates, max_bins) for trend in trends]
    ends, value = max(divisions, key=lambda division: division[1])
    if not np.isfinite(value):
        return np.array([m]), float(likelihood(sums[m]) - price)
    return ends, value


def _following(
    gain: NDArray[np.float64], level: NDArray[np.float64], max_bins: int
) -> tuple[Ends, float]:
    """Return the best division in which no bin has a lower level than the bin before it."""
    m = len(gain) - 1
    order = np.argsort(level, axis=0, kind="stable")  # of the bins (i, j) that end at j
    by_level = np.take_along_axis(level, order, axis=0)
    below = np.array([np.searchsorted(by_level[:, j], level[j], "right") for j in range(m + 1)])
    value = np.where(np.arange(m + 1)[:, None] == 0, gain, -np.inf)
    values = [value]
    while len(values) < min(max_bins, m) and np.isfinite(value).any():
        highest = np.maximum.accumulate(np.take_along_axis(value, order, axis=0), axis=0)
        highest = np.vstack([np.full(m + 1, -np.inf), highest])
        value = gain + highest[below, np.arange(m + 1)[:, None]]
        values.append(value)
    totals = np.array([value[:, m].max() for value in values])
    # the fewest bins among divisions whose values differ only by rounding
    bins = int(np.argmax(totals >= totals.max() - _ROUNDING * np.abs(gain[0, m])))
    start, end = int(np.argmax(values[bins][:, m])), m
    ends = [end]
    for value in values[bins - 1 :: -1] if bins else []:
        before = np.where(level[:, start] <= level[start, end], value[:, start], -np.inf)
        start, end = int(np.argmax(before)), start
        ends.append(end)
    return np.array(ends[::-1]), float(totals[bins])


def blocks(counts: NDArray[np.float64], increasing: bool) -> Ends:
    """Pool neighbouring cells until their rates increase, or decrease, from one to the next.

    These are the bins of highest likelihood with such rates (Hardwick & Stout 2014).

    Parameters
    ----------
    counts : ndarray, shape (m, 2)
        Negatives and positives in each cell, not all 0.
    increasing : bool
        Whether the rates increase.

    Returns
    -------
    ndarray
        The cell after which each block ends.
    """
    total = counts.sum(axis=1)
    rates = isotonic_regression(counts[:, 1] / total, sample_weight=total, increasing=increasing)
    return np.append(np.flatnonzero(np.diff(rates) != 0) + 1, len(counts))
