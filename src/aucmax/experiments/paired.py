"""Paired tests of algorithms on the same splits, and groups that do not differ significantly."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

__all__ = ["PairedTest", "confidence_of_each", "groups_alike", "resampled_test"]


class PairedTest(NamedTuple):
    """The difference of two algorithms over several splits."""

    difference: float  # the mean
    low: float  # the ends of its interval, which contains 0 unless p < 1 - confidence
    high: float
    statistic: float  # the difference divided by its corrected standard error
    p_value: float  # two-sided


def resampled_test(
    differences: Sequence[float], test_share: float, confidence: float = 0.95
) -> PairedTest:
    """Corrected resampled t-test of the differences over random splits of the same rows.

    Parameters
    ----------
    differences : sequence of float
        One per split, at least two; each from −1 to 1.
    test_share : float
        Number of test rows divided by the number of training rows.
    confidence : float
        Coverage of the interval.

    Returns
    -------
    PairedTest
        The mean difference, its interval within −1 to 1, t with len(differences) − 1 degrees of
        freedom, and p. If all differences are equal, p is that of a sign test, and the interval is
        that difference alone, or −1 to 1 if there are too few signs. If all are 0, p = 1.

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
        low, high = (mean, mean) if mean == 0 or p < 1 - confidence else (-1.0, 1.0)
        return PairedTest(mean, low, high, statistic, p)
    error = float(np.sqrt((1 / len(d) + test_share) * variance))
    reach = float(stdtrit(len(d) - 1, (1 + confidence) / 2)) * error
    p = float(2 * stdtr(len(d) - 1, -abs(mean / error)))
    return PairedTest(mean, max(mean - reach, -1.0), min(mean + reach, 1.0), mean / error, p)


def confidence_of_each(k: int) -> float:
    """Return the level at which all k (k − 1) / 2 paired intervals hold together with 95 %.

    Notes
    -----
    Bonferroni's correction. As the intervals hold simultaneously, any pair may be read, even one
    that was chosen on the same rows, such as a pair with the best. Holm's tests have slightly more
    power, but no simple intervals correspond to them.
    """
    return 1 - (1 - 0.95) / max(k * (k - 1) // 2, 1)


def groups_alike(differ: np.ndarray) -> list[tuple[int, int]]:
    """List the longest runs of algorithms, best to worst, that do not differ significantly.

    Parameters
    ----------
    differ : ndarray of bool, shape (k, k)
        Which pairs differ significantly, in the order of their means; only the part above the
        diagonal is used.

    Returns
    -------
    list of (first, last)
        Both belong to the run, which has at least two members.

    References
    ----------
    Demšar (2006), "Statistical comparisons of classifiers over multiple data sets", draws such
    groups as bars.
    """
    runs: list[tuple[int, int]] = []
    k = len(differ)
    for first in range(k):
        last = first
        while last + 1 < k and not differ[first : last + 1, last + 1].any():
            last += 1
        if last > first and not (runs and runs[-1][1] >= last):
            runs.append((first, last))
    return runs
