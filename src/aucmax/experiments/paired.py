"""Paired tests of two algorithms on the same splits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

__all__ = ["PairedTest", "resampled_test"]


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
