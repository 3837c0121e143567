"""Weighted quantiles that do not depend on the unit of the weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["quantiles"]

_ROUNDING = 1e-9  # tolerance for a share of the weight


def quantiles(
    values: NDArray[Any], weight: NDArray[Any] | None, shares: NDArray[Any]
) -> NDArray[Any]:
    """Return the quantiles of values at some shares of the weight.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Numbers, without missing values.
    weight : ndarray, shape (n,), or None
        The weights of the values; None if all are the same.
    shares : ndarray, shape (m,)
        Shares from 0 to 1.

    Returns
    -------
    ndarray, shape (m,)
        For each share, the smallest value such that it and lower values have more of the weight.
    """
    if weight is None or not np.ptp(weight):  # faster without return_inverse
        different, rows = np.unique(values, return_counts=True)
    else:
        different, place = np.unique(values, return_inverse=True)
        rows = np.bincount(place, weight)
    passed = np.cumsum(rows)
    rank = np.searchsorted(passed, (shares + _ROUNDING) * passed[-1], side="right")
    return different[np.minimum(rank, len(different) - 1)]
