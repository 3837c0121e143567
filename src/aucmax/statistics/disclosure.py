"""Check whether moments of few rows would disclose a row."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.statistics.base import ClassStatistics

__all__ = ["MIN_ROWS", "Disclosed", "are_few", "disclosures"]

MIN_ROWS = 10  # minimum of effective rows in a class, and with each value of a 0/1 feature
_VARIANCE_ROUNDING = 1e-9  # tolerance for the variance of a 0/1 feature
_NONE, _COUNT_ROUNDING = 0.5, 1e-6  # in effective rows: less means none; tolerance


class Disclosed(NamedTuple):
    """A count so small that moments would disclose a row."""

    words: str
    rows: float


def disclosures(moments: ClassStatistics, fewest: float = MIN_ROWS) -> list[Disclosed]:
    """List the counts so small that moments would disclose a row.

    The mean of one row is the row, and two rows follow from their mean and covariance. The
    covariances of a 0/1 feature reveal the means of the rows in which it is 1 and of those in
    which it is 0, so both must be numerous enough. Rows of unequal weight count as in
    `ClassStatistics.effective_rows`. Private releases may have any counts.

    Parameters
    ----------
    moments : ClassStatistics
        Statistics of any kind.
    fewest : float
        The minimum number of effective rows.

    Returns
    -------
    list of Disclosed
        The classes, or else the features of a class, with fewer rows.

    Notes
    -----
    This checks one set of moments. If two sets differ in few rows, anyone who has both
    can subtract one from the other. Combinations of features are not checked.
    """
    if moments.guarantee is not None:
        return []
    rows = moments.effective_rows
    classes = [
        Disclosed(f"class {label!r} has {_rows(rows[k], 'effective row')}", rows[k])
        for k, label in enumerate(moments.classes.tolist())
        if 0 < rows[k] < fewest
    ]
    if classes or not moments.has_covariances:
        return classes
    mean, names = moments.means, moments.feature_names
    indicator = np.abs(moments.variances - mean * (1 - mean)) <= _VARIANCE_ROUNDING
    counts = rows[:, None] * np.stack([1 - mean, mean])  # with the values 0 and 1
    # a feature that is 0, or 1, in all rows reveals nothing
    varies = (counts > _NONE).all(axis=0)
    revealing = np.argwhere(indicator & varies & are_few(counts, fewest).any(axis=0))
    features = []
    for k, j in revealing.tolist():
        value = int(counts[1, k, j] <= counts[0, k, j])
        count = counts[value, k, j]
        name = f"number {j + 1}" if names is None else repr(names[j])
        label = moments.classes.tolist()[k]
        words = f"feature {name} is {value} in only {_rows(count)} of class {label!r}"
        features.append(Disclosed(words, count))
    return features


def are_few(counts: NDArray[np.float64], fewest: float) -> NDArray[np.bool_]:
    """Return whether counts of effective rows, of any shape, are small enough to reveal a row."""
    return (counts > _NONE) & (counts < fewest - _COUNT_ROUNDING)


def _rows(count: float, unit: str = "row") -> str:
    text = f"{count:.3g}"
    return f"{text} {unit}{'' if text == '1' else 's'}"
