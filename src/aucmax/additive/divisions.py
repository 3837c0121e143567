"""The best division of counts in a row into neighbouring bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.isotonic import isotonic_regression

__all__ = ["blocks", "divide", "likelihood"]

Ends = NDArray[np.intp]


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
    counts: NDArray[np.float64], most: int, smallest: float, price: float
) -> tuple[Ends, float]:
    """Divide cells in a row into the bins whose likelihood, less a price for each, is highest.

    Exact, by dynamic programming over where the last bin starts.

    Parameters
    ----------
    counts : ndarray, shape (m, 2)
        Negatives and positives in each cell.
    most : int
        Most bins.
    smallest : float
        Least count of a bin; where all cells together have fewer, they are one.
    price : float
        Of a bin, in units of the log-likelihood.

    Returns
    -------
    ends : ndarray
        After which cell each bin ends; the last is m.
    value : float
        The log-likelihood, less the price of all bins.
    """
    m = len(counts)
    sums = np.vstack([np.zeros(2), np.cumsum(counts, axis=0)])
    inside = sums[None, :, :] - sums[:, None, :]  # (i, j): of the cells from i to before j
    gain = likelihood(inside) - price
    allowed = (inside.sum(axis=2) >= smallest) & (np.arange(m + 1) > np.arange(m + 1)[:, None])
    gain[~allowed] = -np.inf
    best = np.full(m + 1, -np.inf)
    best[0] = 0.0
    starts, values = [], []
    for _ in range(min(most, m)):
        reached = best[:, None] + gain
        starts.append(np.argmax(reached, axis=0))
        best = reached.max(axis=0)
        values.append(best[m])
    bins = int(np.argmax(values))
    if not np.isfinite(values[bins]):
        return np.array([m]), float(likelihood(sums[m]) - price)
    ends = [m]
    for start in starts[bins:0:-1]:
        ends.append(int(start[ends[-1]]))
    return np.array(ends[::-1]), float(values[bins])


def blocks(counts: NDArray[np.float64], increasing: bool) -> Ends:
    """Pool neighbouring cells until their rates rise, or fall, from one to the next.

    The best division into bins with such rates never parts a block, whatever the number of bins
    (Hardwick & Stout 2014).

    Parameters
    ----------
    counts : ndarray, shape (m, 2)
        Negatives and positives in each cell, in sum not 0.
    increasing : bool
        Whether the rates rise.

    Returns
    -------
    ndarray
        After which cell each block ends.
    """
    total = counts.sum(axis=1)
    rates = isotonic_regression(counts[:, 1] / total, sample_weight=total, increasing=increasing)
    return np.append(np.flatnonzero(np.diff(rates) != 0) + 1, len(counts))
