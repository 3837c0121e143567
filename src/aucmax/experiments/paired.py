"""Paired tests of algorithms on the same splits, and which of many cannot be told apart."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

__all__ = ["PairedTest", "groups_alike", "holm", "resampled_test"]


class PairedTest(NamedTuple):
    """The difference of two algorithms over several splits."""

    difference: float  # the mean
    low: float  # the ends of its 95 % interval
    high: float
    statistic: float  # the difference in its corrected standard errors
    p_value: float  # two-sided


def resampled_test(differences: Sequence[float], test_share: float) -> PairedTest:
    """Corrected resampled t-test of the differences over random splits of the same rows.

    Parameters
    ----------
    differences : sequence of float
        One per split, at least two.
    test_share : float
        Number of test rows divided by the number of training rows.

    Returns
    -------
    PairedTest
        The mean difference, its interval and t with len(differences) − 1 degrees of freedom, and
        p. Where all differences are equal, the interval is empty and p that of a sign test (1 if
        they are 0).

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error. Machine Learning 52, 239-281:
    the variance of the mean is (1/J + n_test/n_train) times the sample variance, because the
    training sets overlap.
    """
    d = np.asarray(differences, dtype=np.float64)
    mean, variance = float(d.mean()), float(d.var(ddof=1))
    if variance <= (1e-14 * max(abs(mean), 1e-300)) ** 2 or np.ptp(d) == 0:
        p = 1.0 if mean == 0 else min(1.0, 2.0 * 0.5 ** len(d))
        statistic = 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
        return PairedTest(mean, mean, mean, statistic, p)
    error = float(np.sqrt((1 / len(d) + test_share) * variance))
    reach = float(stdtrit(len(d) - 1, 0.975)) * error
    p = float(2 * stdtr(len(d) - 1, -abs(mean / error)))
    return PairedTest(mean, mean - reach, mean + reach, mean / error, p)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values (m,) adjusted for as many tests.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    m, order = len(p_values), np.argsort(p_values)
    adjusted = np.maximum.accumulate((m - np.arange(m)) * p_values[order])
    out = np.empty(m)
    out[order] = np.minimum(adjusted, 1.0)
    return out


def groups_alike(p_values: np.ndarray, level: float = 0.05) -> list[tuple[int, int]]:
    """List the longest runs of algorithms, best to worst, of which no two can be told apart.

    Parameters
    ----------
    p_values : ndarray of shape (k, k)
        Of the paired tests of all pairs, in the order of their means; only those above the diagonal
        are read.
    level : float
        Two differ where the p-value, adjusted for all pairs (`holm`), is smaller.

    Returns
    -------
    list of (first, last)
        Both within the run, which has two members or more.

    References
    ----------
    Demšar (2006), "Statistical comparisons of classifiers over multiple data sets", draws such
    groups as bars.
    """
    k = len(p_values)
    above = np.triu_indices(k, 1)
    differ = np.zeros((k, k), dtype=bool)
    differ[above] = holm(p_values[above]) < level
    runs: list[tuple[int, int]] = []
    for first in range(k):
        last = first
        while last + 1 < k and not differ[first : last + 1, last + 1].any():
            last += 1
        if last > first and not (runs and runs[-1][1] >= last):
            runs.append((first, last))
    return runs
