"""Whether moments of few rows show a row to whoever reads them."""

import numpy as np

from aucmax.statistics.base import ClassStatistics

__all__ = ["FEWEST", "disclosure"]

FEWEST = 10  # effective rows of a class, or with a value that others do not have
_INDICATOR = 1e-9  # rounding of the variance of a feature that is 0 or 1


def disclosure(moments: ClassStatistics, fewest: float = FEWEST) -> str | None:
    """Say in which counts moments would show a row; None where all are large enough.

    The mean of one row is the row, and two rows follow from their mean and covariance. Where a
    feature is 0 or 1, its covariances tell the means of the rows in which it is 1, and of those in
    which it is 0: these have to be as many. Rows of unequal weight count as
    `ClassStatistics.effective_rows` says. Private releases may have any counts.

    Parameters
    ----------
    moments : ClassStatistics
        Of any kind.
    fewest : float
        Effective rows that are enough.

    Returns
    -------
    str or None
        The first class, or feature of a class, with fewer.

    Notes
    -----
    This is a check of one set of moments. Of two sets that differ in few rows, whoever has both
    can subtract one from the other; and other combinations of features than the features
    themselves are not looked at.
    """
    if moments.guarantee is not None:
        return None
    rows = moments.effective_rows
    for k, label in enumerate(moments.classes.tolist()):
        if 0 < rows[k] < fewest:
            return f"class {label!r} has {_rows(rows[k], 'effective row')}"
    if not moments.has_covariances:
        return None
    mean, names = moments.means, moments.feature_names
    indicator = np.abs(moments.variances - mean * (1 - mean)) <= _INDICATOR
    ones, zeros = rows[:, None] * mean, rows[:, None] * (1 - mean)
    # of a feature that is 0, or 1, in all rows there is nothing to tell
    some = (ones > 0.5) & (zeros > 0.5)
    few = np.argwhere(indicator & some & (np.minimum(ones, zeros) < fewest - 1e-6))
    for k, j in few.tolist():
        value, count = (1, ones[k, j]) if ones[k, j] <= zeros[k, j] else (0, zeros[k, j])
        name = f"number {j + 1}" if names is None else repr(names[j])
        label = moments.classes.tolist()[k]
        return f"feature {name} is {value} in only {_rows(count)} of class {label!r}"
    return None


def _rows(count: float, unit: str = "row") -> str:
    text = f"{count:.3g}"
    return f"{text} {unit}{'' if text == '1' else 's'}"
