"""The interval of an area under the ROC curve; the difference of two, its interval and test."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtr, ndtri, ndtri_exp, stdtrit

from aucmax.basics.checks import number
from aucmax.metrics.delong import (
    delong_variances,
    hoeffding_interval,
    hoeffding_log_p,
    paired,
    smaller_class,
)
from aucmax.metrics.levels import levels_of, pairs_won_and_lost, rivals_above
from aucmax.metrics.reading import Labels, read

__all__ = [
    "AUCDifference",
    "AUCInterval",
    "AUCTest",
    "auc_difference",
    "auc_interval",
    "auc_test",
    "interval_around",
    "largest_error",
]


class AUCDifference(NamedTuple):
    """The difference of two areas under the ROC curve with its confidence interval.

    Parameters
    ----------
    difference : float
        The first area less the second.
    low, high : float
        The ends of the interval.

    See Also
    --------
    auc_difference : Makes it.
    """

    difference: float
    low: float
    high: float


class AUCInterval(NamedTuple):
    """An area under the ROC curve with its confidence interval.

    Parameters
    ----------
    auc : float
        The area.
    low, high : float
        The ends of the interval.
    std_error : float
        The standard error of the area.

    See Also
    --------
    auc_interval : Makes it.
    """

    auc: float
    low: float
    high: float
    std_error: float


class AUCTest(NamedTuple):
    """The difference of two areas under the ROC curve and its test.

    Parameters
    ----------
    difference : float
        The first area less the second.
    z : float
        The difference in standard errors.
    p_value : float
        The two-sided p-value.

    See Also
    --------
    auc_test : Makes it.
    """

    difference: float
    z: float
    p_value: float


def auc_interval(
    y: Labels,
    score: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AUCInterval:
    """Area under the ROC curve with DeLong's standard error and a confidence interval.

    Parameters
    ----------
    y, score, pos_label
        As for `roc_auc`.
    confidence : float, default=0.95
        Coverage of the two-sided interval, above 0 and below 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more: how much each row counts, not how often it was seen.

    Returns
    -------
    AUCInterval
        The named tuple ``(auc, low, high, std_error)``. Always ``0 <= low <= auc <= high <= 1``
        and ``low < high``; `std_error` is always above 0.

    Raises
    ------
    ValueError
        If `confidence` is not in (0, 1), and for the reasons given in `roc_auc`.

    See Also
    --------
    auc_test : Compare two scorers on the same rows.
    cv_auc_interval : The same for scores from cross-validation.

    Notes
    -----
    The standard error is DeLong's [1]_, from one sort [2]_. The interval is taken on the logit
    scale with Student's quantile for the rows of the smaller class. It is cut to the one that
    Hoeffding's inequality guarantees for every distribution [3]_, which takes over where DeLong's
    variance fails: one row in a class, an AUC of 0 or 1, all scores tied. Weights must not stand
    for repeated rows. docs/auc_intervals.md gives the formulas, and how well the interval covers.

    References
    ----------
    .. [1] DeLong, DeLong, Clarke-Pearson (1988). Comparing the areas under two or more correlated
       receiver operating characteristic curves. Biometrics 44, 837-845.
    .. [2] Sun, Xu (2014). Fast implementation of DeLong's algorithm for comparing the areas under
       correlated receiver operating characteristic curves. IEEE Signal Processing Letters 21,
       1389-1393.
    .. [3] Hoeffding (1963). Probability inequalities for sums of bounded random variables. Journal
       of the American Statistical Association 58, 13-30, theorem 1 and section 5.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 50])
    >>> interval = auc_interval(y, rng.normal(size=550) + 2 * y)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    0.940 (0.900 to 0.964)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    positive, weight, scores = read(y, sample_weight, pos_label, score=score)
    levels = levels_of(positive, weight, scores)
    won, lost = pairs_won_and_lost(levels)
    auc = won / (won + lost)
    above = rivals_above(levels, positive)
    of_positives, of_negatives = delong_variances(positive, above, weight)
    smaller = smaller_class(positive, weight)
    variance = of_positives + of_negatives
    std_error = float(np.sqrt(variance)) if variance > 0.0 else largest_error(auc, smaller)
    shown = min(of_positives, of_negatives) > 0.0
    freedom = smaller - 1 if shown else 0.0
    # lost / (won + lost) is 1 - auc without cancellation.
    return interval_around(auc, lost / (won + lost), std_error, freedom, smaller, confidence)


def interval_around(
    auc: float, miss: float, std_error: float, freedom: float, k: float, confidence: float
) -> AUCInterval:
    """Return the interval on the logit scale, cut to Hoeffding's for k pairs of rows.

    Parameters
    ----------
    auc, miss : float
        The area, and 1 less it.
    std_error : float
        Of the area.
    freedom : float
        Degrees of freedom of Student's quantile; 0 leaves Hoeffding's interval alone.
    k : float
        Independent pairs of a positive and a negative.
    confidence : float
        Coverage.
    """
    low, high = hoeffding_interval(auc, k, confidence)
    if freedom > 0.0:
        reach = stdtrit(freedom, (1.0 + confidence) / 2) * std_error / (auc * miss)
        middle = np.log(auc) - np.log(miss)
        low, high = max(low, float(expit(middle - reach))), min(high, float(expit(middle + reach)))
    # Rounding must not close the interval, nor leave the AUC outside it.
    low, high = min(low, float(np.nextafter(auc, 0.0))), max(high, float(np.nextafter(auc, 1.0)))
    return AUCInterval(auc, low, high, std_error)


def largest_error(auc: float, k: float) -> float:
    """Return the largest standard error of k pairs at an area a little nearer to ½ than `auc`."""
    shrunk = (k * auc + 1) / (k + 2)
    return float(np.sqrt(shrunk * (1 - shrunk) / k))


def auc_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AUCTest:
    """Test whether two scorers, applied to the same rows, have the same area under the ROC curve.

    Parameters
    ----------
    y, pos_label, sample_weight
        As for `auc_interval`.
    score_a, score_b : array-like of shape (n,)
        Scores of the two scorers for the same rows, in the same order.

    Returns
    -------
    AUCTest
        The named tuple ``(difference, z, p_value)``: AUC of `score_a` less AUC of `score_b`, the
        difference in standard errors, and the two-sided p-value. Swapping the scorers changes
        the sign of the first two and nothing else.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`.

    See Also
    --------
    auc_difference : The difference with its confidence interval.
    auc_interval : The area of one scorer with its confidence interval.

    Notes
    -----
    DeLong's test for paired samples, in O(n log n): z = difference / √variance, compared with the
    normal distribution. Where the variance is zero or undefined, p is Hoeffding's bound on so large
    a difference between equal scorers, and z the quantile that belongs to p. With few rows in a
    class, p is too small. The references are those of `auc_interval`; docs/auc_intervals.md gives
    the formulas.

    Examples
    --------
    >>> test = auc_test([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], [0.3, 0.1, 0.2, 0.4])
    >>> test.difference
    0.0
    """
    pair = paired(y, score_a, score_b, pos_label, sample_weight)
    if pair.variance > 0.0:
        z = pair.difference / float(np.sqrt(pair.variance))
        p_value = 2 * float(ndtr(-abs(z)))
    else:
        log_p = hoeffding_log_p(abs(pair.difference), pair.smaller)
        p_value = float(np.exp(log_p))
        z = float(np.copysign(ndtri_exp(log_p - np.log(2)), pair.difference)) if log_p < 0 else 0.0
    return AUCTest(pair.difference, z, p_value)


def auc_difference(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AUCDifference:
    """Difference of the areas under the ROC curves of two scorers, with a confidence interval.

    Parameters
    ----------
    y, score_a, score_b, pos_label, sample_weight
        As for `auc_test`.
    confidence : float
        Coverage of the interval, above 0 and below 1.

    Returns
    -------
    AUCDifference
        The named tuple ``(difference, low, high)``: AUC of `score_a` less AUC of `score_b`, and the
        ends of the interval, from −1 to 1.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`, or if `confidence` is out of range.

    See Also
    --------
    auc_test : The test that belongs to it.

    Notes
    -----
    The interval holds all differences that `auc_test` does not reject: a 95 % interval contains 0
    exactly if p ≥ 0.05. Scorers that rank all rows alike give 0 to 0.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> found = auc_difference(y, [1, 2, 4, 3, 5, 6], [2, 4, 1, 3, 6, 5])
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*found))
    0.000 (-0.377 to 0.377)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    pair = paired(y, score_a, score_b, pos_label, sample_weight)
    difference = pair.difference
    if pair.variance > 0.0:
        reach = float(ndtri((1.0 + confidence) / 2) * np.sqrt(pair.variance))
        return AUCDifference(
            difference, max(difference - reach, -1.0), min(difference + reach, 1.0)
        )
    if pair.alike:
        return AUCDifference(0.0, 0.0, 0.0)
    low, high = hoeffding_interval((1 + difference) / 2, pair.smaller, confidence)
    return AUCDifference(difference, 2 * low - 1, 2 * high - 1)
