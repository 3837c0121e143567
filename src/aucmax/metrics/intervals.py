"""The area under the ROC curve and its interval; the difference of two, its interval and test."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaincc, ndtr, ndtri, ndtri_exp, stdtrit

from aucmax.basics.checks import number
from aucmax.metrics.delong import (
    Spread,
    hoeffding_interval,
    hoeffding_log_p,
    paired,
    placed,
    shrunk_variance,
)
from aucmax.metrics.levels import pairs_won_and_lost
from aucmax.metrics.reading import Labels, read_groups

__all__ = [
    "AUCDifference",
    "AUCInterval",
    "AUCTest",
    "auc_difference",
    "auc_interval",
    "auc_test",
    "interval_around",
    "largest_error",
    "wilson",
]

# rows of each class, of the largest possible variance, that a sample may have missed
_UNSEEN_ROWS = 1.0
# the largest tail probability that is taken from a beta distribution: with larger ones, intervals
# would not contain those of lower confidence
_MAX_TAIL = 0.025
_MIN_SIZE = 1e-9  # least α + β of a beta distribution, for a variance as large as that of one coin


class AUCDifference(NamedTuple):
    """The difference of two areas under the ROC curve with its confidence interval.

    Parameters
    ----------
    difference : float
        The first area minus the second.
    low, high : float
        The ends of the interval.

    See Also
    --------
    auc_difference : Computes it.
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
    auc_interval : Computes it.
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
        The first area minus the second.
    z : float
        The difference in standard errors.
    p_value : float
        The two-sided p-value.

    See Also
    --------
    auc_test : Computes it.
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
    groups: ArrayLike | None = None,
) -> AUCInterval:
    """Return the area under the ROC curve with DeLong's standard error and a confidence interval.

    Parameters
    ----------
    y, score, pos_label
        As for `roc_auc`.
    confidence : float, default=0.95
        Coverage of the two-sided interval, above 0 and below 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more: how much each row counts, not how often it occurred.
    groups : array-like of shape (n,), optional
        Rows of one group are not independent, such as those of one customer. Numbers or text.

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
    The standard error is DeLong's [1]_, from one sort [2]_. The interval is Wilson's, for the
    number of pairs that DeLong's variance implies, with Student's quantile. For the end nearer to ½
    this variance is shrunk towards its largest possible value by one row of each class: at a high
    AUC, the rare rows that are ranked low may be missing from a small sample. If no sample could
    miss that end, the other end may be missed in nearly all of the 5 %. With many rows the interval
    is the area plus or minus multiples of DeLong's error. In simulations with normal, exponential
    and logistic scores, and with heavy tails (Student's t, 3 degrees of freedom), the 95 % interval
    covers 93 to 98 % from 15 rows of a class on, up to an AUC of .98. Hoeffding's interval, which
    holds for every distribution [3]_, is used if a class shows no variance: one row, an AUC of 0 or
    1, all scores tied. Weights must not stand for repeated rows. With `groups` the standard error
    is Obuchowski's [4]_, and statements about rows apply to groups: what counts is the number of
    groups, not of rows. docs/auc_intervals.md gives the formulas and the interval's coverage.

    References
    ----------
    .. [1] DeLong, DeLong, Clarke-Pearson (1988). Comparing the areas under two or more correlated
       receiver operating characteristic curves. Biometrics 44, 837-845.
    .. [2] Sun, Xu (2014). Fast implementation of DeLong's algorithm for comparing the areas under
       correlated receiver operating characteristic curves. IEEE Signal Processing Letters 21,
       1389-1393.
    .. [3] Hoeffding (1963). Probability inequalities for sums of bounded random variables. Journal
       of the American Statistical Association 58, 13-30, theorem 1 and section 5.
    .. [4] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53,
       567-578.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 50])
    >>> interval = auc_interval(y, rng.normal(size=550) + 2 * y)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    0.940 (0.889 to 0.961)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    positive, weight, group, scores = read_groups(y, sample_weight, pos_label, groups, score=score)
    levels, units = placed(positive, weight, group, scores)
    won, lost = pairs_won_and_lost(levels)
    # lost / (won + lost) is 1 - auc without cancellation
    auc, miss = won / (won + lost), lost / (won + lost)
    return interval_around(
        auc, miss, units.spreads(), units.carriers(), confidence, shared=units.shared()
    )


def interval_around(
    auc: float,
    miss: float,
    spreads: Sequence[Spread],
    carriers: Sequence[float],
    confidence: float,
    *,
    shared: float = 0.0,
    pairs: float | None = None,
    freedom: float | None = None,
) -> AUCInterval:
    """Return Wilson's interval, with allowance towards ½ for rows that the sample may have missed.

    All intervals of an area follow this rule; docs/auc_intervals.md derives it.

    Parameters
    ----------
    auc, miss : float
        The area, and 1 minus the area.
    spreads : sequence of Spread
        The contribution of each class, or of strata, to the variance of the area, and its rows.
    carriers : sequence of float
        The effective number of rows of each class, or of strata, that carry its variance.
    confidence : float
        Coverage.
    shared : float
        The rest of the variance: the covariance of the classes due to groups with rows of both, and
        the variance due to errors that models with common training rows share.
    pairs : float, optional
        Number of independent pairs of a positive and a negative; by default the number of rows of
        the smaller class.
    freedom : float, optional
        Degrees of freedom of Student's quantile; by default one less than the number of rows of the
        smaller class; infinite for the normal quantile.
    """
    rows = min(spread.rows for spread in spreads)
    pairs = rows if pairs is None else pairs
    variance = sum(spread.variance for spread in spreads) + shared
    std_error = float(np.sqrt(variance)) if variance > 0.0 else largest_error(auc, pairs)
    if variance > 0.0 and min(spread.variance for spread in spreads) > 0.0:
        with_unseen = shared + sum(
            shrunk_variance(spread, number, auc * miss, _UNSEEN_ROWS)
            for spread, number in zip(spreads, carriers, strict=True)
        )
        wide, plain = (square / (auc * miss) for square in (with_unseen, variance))
        freedom = rows - 1 if freedom is None else freedom
        region = _Region(wide, plain, 1.0 - confidence, freedom, pairs)
        low = region.nearer_end(auc, miss) if auc >= miss else 1.0 - region.farther_end(miss, auc)
        high = 1.0 - region.nearer_end(miss, auc) if auc <= miss else region.farther_end(auc, miss)
    else:
        low, high = hoeffding_interval(auc, pairs, confidence)
    # rounding must neither close the interval nor leave the AUC outside it
    low, high = min(low, float(np.nextafter(auc, 0.0))), max(high, float(np.nextafter(auc, 1.0)))
    return AUCInterval(auc, float(low), float(high), std_error)


class _Region(NamedTuple):
    """The areas that a sample is expected to have if the true area is θ ≥ ½.

    It extends from θ − z(α − u)·√(plain θ(1 − θ)) to θ + z(α/2)·√(wide θ(1 − θ)), where u is the
    probability of exceeding the latter, at most α/2.
    """

    wide: float  # the variance as a share of θ(1 − θ), with rows that the sample may have missed
    plain: float  # the same without such rows
    error: float  # α, the probability of areas outside
    freedom: float
    pairs: float  # number of independent pairs: no variance is larger than θ(1 − θ)/pairs

    def square(self, share: float, probability: float) -> float:
        """Return z²·share, for the z that Student's distribution exceeds with a probability ≤ ½.

        For the largest variance, which is known rather than estimated, z is the normal quantile.
        """
        probability, normal = min(probability, 0.5), float(ndtri(min(probability, 0.5)))
        student = normal if np.isinf(self.freedom) else float(stdtrit(self.freedom, probability))
        return min(student**2 * share, normal**2 / self.pairs)

    def nearer_end(self, auc: float, miss: float) -> float:
        """Return the lowest θ whose region contains the area."""
        return wilson(auc, miss, self.square(self.wide, self.error / 2))[0]

    def farther_end(self, auc: float, miss: float) -> float:
        """Return the highest θ whose region contains the area."""
        lowest, highest = (
            wilson(auc, miss, self.square(self.plain, error))[1]
            for error in (self.error, self.error / 2)
        )
        if self._above(highest, auc) <= 0.0:  # u is α/2
            return highest
        if self._above(lowest, auc) >= 0.0:  # u is 0
            return lowest
        return float(brentq(self._above, lowest, highest, args=(auc,)))

    def _above(self, theta: float, auc: float) -> float:
        """Return how far above the area the region of θ begins."""
        square = self.square(self.plain, self.error - self._exceeded(theta))
        return theta - auc - float(np.sqrt(square * theta * (1.0 - theta)))

    def _exceeded(self, theta: float) -> float:
        """Return u, from the beta distribution with mean θ and variance plain·θ(1 − θ)."""
        tail = min(self.error / 2, _MAX_TAIL)
        top = theta + float(np.sqrt(self.square(self.wide, tail) * theta * (1.0 - theta)))
        if top >= 1.0:
            return 0.0
        size = max(1.0 / min(self.plain, 1.0 / self.pairs) - 1.0, _MIN_SIZE)
        beyond = float(betaincc(size * theta, size * (1.0 - theta), top))
        return min(beyond / tail, 1.0) * self.error / 2


def wilson(auc: float, miss: float, square: float) -> tuple[float, float]:
    """Return all θ with (auc − θ)² ≤ square · θ(1 − θ), cut to [0, 1]."""
    middle, reach = auc + square / 2, float(np.sqrt(square * (auc * miss + square / 4)))
    return max((middle - reach) / (1 + square), 0.0), min((middle + reach) / (1 + square), 1.0)


def largest_error(auc: float, k: float) -> float:
    """Return the largest standard error for k pairs, at an area a little nearer to ½ than `auc`."""
    shrunk = (k * auc + 1) / (k + 2)
    return float(np.sqrt(shrunk * (1 - shrunk) / k))


def auc_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> AUCTest:
    """Test whether two scorers, applied to the same rows, have the same area under the ROC curve.

    Parameters
    ----------
    y, pos_label, sample_weight, groups
        As for `auc_interval`.
    score_a, score_b : array-like of shape (n,)
        Scores of the two scorers for the same rows, in the same order.

    Returns
    -------
    AUCTest
        The named tuple ``(difference, z, p_value)``: AUC of `score_a` minus AUC of `score_b`, the
        difference in standard errors, and the two-sided p-value. Swapping the scorers changes
        the signs of the first two and nothing else.

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
    normal distribution. If the variance is zero or undefined, p is Hoeffding's bound on the
    probability of so large a difference between equal scorers, and z the quantile of p. With fewer
    than 50 rows of a class p is approximate: at 5 %, equal scorers are found different in up to 7 %
    of samples. The interval of `auc_difference` allows for few rows; difference ± 1.96 standard
    errors is too narrow if unequal areas are above .95. The references are those of `auc_interval`;
    docs/auc_intervals.md gives the formulas, and how often the test errs.

    Examples
    --------
    >>> test = auc_test([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], [0.3, 0.1, 0.2, 0.4])
    >>> test.difference
    0.0
    """
    pair = paired(y, score_a, score_b, pos_label, sample_weight, groups)
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
    groups: ArrayLike | None = None,
) -> AUCDifference:
    """Return the difference of the areas under two scorers' ROC curves, with its interval.

    Parameters
    ----------
    y, score_a, score_b, pos_label, sample_weight
        As for `auc_test`.
    confidence : float
        Coverage of the interval, above 0 and below 1.
    groups : array-like of shape (n,), optional
        As for `auc_interval`.

    Returns
    -------
    AUCDifference
        The named tuple ``(difference, low, high)``: AUC of `score_a` minus AUC of `score_b`, and
        the ends of the interval, from −1 to 1.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`, or if `confidence` is out of range.

    See Also
    --------
    auc_test : The corresponding test.

    Notes
    -----
    DeLong's variance is shrunk towards its largest possible value by two rows of each class, one
    for each scorer. So the interval contains all differences that `auc_test` does not reject, and
    with few rows more: a 95 % interval contains 0 whenever p ≥ 0.05. For scorers that rank all rows
    alike it is 0 to 0.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> found = auc_difference(y, [1, 2, 4, 3, 5, 6], [2, 4, 1, 3, 6, 5])
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*found))
    0.000 (-0.477 to 0.477)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    pair = paired(y, score_a, score_b, pos_label, sample_weight, groups)
    difference = pair.difference
    if pair.variance > 0.0:
        reach = -float(ndtri((1.0 - confidence) / 2) * np.sqrt(pair.shrunk))
        return AUCDifference(
            difference, max(difference - reach, -1.0), min(difference + reach, 1.0)
        )
    if pair.alike:
        return AUCDifference(0.0, 0.0, 0.0)
    low, high = hoeffding_interval((1 + difference) / 2, pair.smaller, confidence)
    return AUCDifference(difference, 2 * low - 1, 2 * high - 1)
