"""Dates as numbers: days since 1970-01-01, with the time of day as a fraction."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_days"]

_DAY = np.timedelta64(1, "D")


def in_days(values: NDArray[Any]) -> NDArray[Any]:
    """Return dates and times as days since 1970-01-01, durations as days, others unchanged.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Of any type; NaT becomes NaN.
    """
    if values.dtype.kind == "M":
        values = values - np.datetime64(0, "D")
    return values / _DAY if values.dtype.kind == "m" else values
