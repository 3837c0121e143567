"""Intervals and paired tests of measures other than the AUC, from the influence of each row.

docs/measures.md gives the formulas and the coverage of the intervals.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri, stdtrit

from aucmax.basics.checks import number
from aucmax.metrics import influence
from aucmax.metrics.delong import (
    ROUNDING,
    Spread,
    shrunk_variance,
)
from aucmax.metrics.influence import Influence, Measure, Scores
from aucmax.metrics.intervals import largest_error, wilson
from aucmax.metrics.reading import Labels, read_groups

__all__ = [
    "MeasureInterval",
    "MeasureTest",
    "average_precision_interval",
    "average_precision_test",
    "by_group",
    "interval_of",
    "interval_of_recall",
    "logit_ends",
    "mean_of",
    "paired_test",
    "precision_at_k_interval",
    "precision_at_k_test",
    "recall_at_fpr_interval",
    "recall_at_fpr_test",
    "recall_at_k_interval",
    "recall_at_k_test",
]

_MIN_FLAGGED_SHARE = 0.5  # flagged rows per positive, below which their number limits the recall
_UNSEEN_UNITS = 1.0  # units of the largest possible variance that a sample may have missed


class MeasureInterval(NamedTuple):
    """A measure of a ranking with its confidence interval.

    Parameters
    ----------
    value : float
        The measure.
    low, high : float
        The ends of the interval.
    std_error : float
        The standard error of the measure.

    See Also
    --------
    average_precision_interval : Computes one.
    """

    value: float
    low: float
    high: float
    std_error: float


class MeasureTest(NamedTuple):
    """The difference of a measure between two scorers, with its confidence interval and test.

    Parameters
    ----------
    difference : float
        The first scorer's measure minus the second's.
    low, high : float
        The ends of the interval, from −1 to 1.
    z : float
        The difference in standard errors.
    p_value : float
        The two-sided p-value.

    See Also
    --------
    average_precision_test : Computes one.
    """

    difference: float
    low: float
    high: float
    z: float
    p_value: float


def average_precision_interval(
    y: Labels,
    score: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureInterval:
    """Return the average precision with its standard error and a confidence interval.

    Parameters
    ----------
    y, score, confidence, pos_label, sample_weight, groups
        As for `auc_interval`.

    Returns
    -------
    MeasureInterval
        The named tuple ``(value, low, high, std_error)``. Always ``0 <= low <= value <= high <= 1``
        and ``low < high``; `std_error` is always above 0.

    Raises
    ------
    ValueError
        For the reasons given in `auc_interval`.

    See Also
    --------
    average_precision_test : Compare two scorers on the same rows.

    Notes
    -----
    The standard error is that of a smooth function of the rows, from the influence of each row, in
    one sort. It assumes that rows are drawn at random, so that the share of positives varies, too.
    With `groups`, influences are added up over each group before they are squared. The interval is
    symmetric on the logit scale, as Boyd, Eng & Page [1]_ recommend, with Student's quantile
    for the number of positives; at an average precision of 1 it is that of as many successes. With
    few positives, the average precision of a sample is biased upwards if that of the population is
    low. docs/measures.md gives the formulas and the coverage of the interval.

    References
    ----------
    .. [1] Boyd, Eng, Page (2013). Area under the precision-recall curve: point estimates and
       confidence intervals. ECML PKDD, 451-466.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 50])
    >>> interval = average_precision_interval(y, rng.normal(size=550) + 2 * y)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    0.718 (0.584 to 0.822)
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score=score)
    return _interval(influence.average_precision, rows, confidence, logit_ends)


def precision_at_k_interval(
    y: Labels,
    score: ArrayLike,
    k: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureInterval:
    """Return the precision among the `k` highest scores, with its error and confidence interval.

    Parameters
    ----------
    y, score, confidence, pos_label, sample_weight, groups
        As for `auc_interval`.
    k : int or float
        As for `precision_at_k`.

    Returns
    -------
    MeasureInterval
        As from `average_precision_interval`.

    Raises
    ------
    ValueError
        For the reasons given in `auc_interval` and `precision_at_k`.

    See Also
    --------
    precision_at_k_test : Compare two scorers on the same rows.
    recall_at_k_interval : The share of the positives that are among these rows.

    Notes
    -----
    The interval is Wilson's, for the number of trials that the variance implies. It is for the
    precision at the threshold that the same share of the population exceeds. So the variance has a
    part for the threshold, which differs between samples. This part needs the share of positives
    near the threshold, estimated within twice the standard error of its rank, as in Woodruff [1]_.
    docs/measures.md gives the formulas and the coverage of the interval.

    References
    ----------
    .. [1] Woodruff (1952). Confidence intervals for medians and other position measures. Journal of
       the American Statistical Association 47, 635-646.

    Examples
    --------
    >>> interval = precision_at_k_interval([1, 0, 1, 0, 0, 0], [6, 5, 4, 3, 2, 1], 3)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    0.667 (0.175 to 0.950)
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score=score)
    return _interval(influence.precision_at_k(k), rows, confidence)


def recall_at_k_interval(
    y: Labels,
    score: ArrayLike,
    k: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureInterval:
    """Return the recall among the `k` highest scores, with its error and confidence interval.

    Parameters
    ----------
    y, score, k, confidence, pos_label, sample_weight, groups
        As for `precision_at_k_interval`.

    Returns
    -------
    MeasureInterval
        As from `average_precision_interval`.

    Raises
    ------
    ValueError
        For the reasons given in `precision_at_k_interval`.

    See Also
    --------
    recall_at_k_test : Compare two scorers on the same rows.

    Notes
    -----
    The interval is computed as in `precision_at_k_interval`. If k is less than half the number of
    positives, it follows from that of the precision, since the recall is the precision times k over
    the number of positives: the variance of that ratio is added to the squared distance of each end
    [1]_.

    References
    ----------
    .. [1] Zou, Donner (2008). Construction of confidence limits about effect measures: a general
       approach. Statistics in Medicine 27, 1693-1702.

    Examples
    --------
    >>> interval = recall_at_k_interval([1, 0, 1, 0, 0, 0], [6, 5, 4, 3, 2, 1], 2)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    0.500 (0.095 to 0.905)
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score=score)
    recall, precision = (
        _influence(measure(k), rows)
        for measure in (influence.recall_at_k, influence.precision_at_k)
    )
    return interval_of_recall(recall, precision, confidence)


def recall_at_fpr_interval(
    y: Labels,
    score: ArrayLike,
    max_fpr: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureInterval:
    """Return the recall at a false-positive rate, with its error and confidence interval.

    Parameters
    ----------
    y, score, confidence, pos_label, sample_weight, groups
        As for `auc_interval`.
    max_fpr : float
        As for `recall_at_fpr`.

    Returns
    -------
    MeasureInterval
        As from `average_precision_interval`.

    Raises
    ------
    ValueError
        For the reasons given in `auc_interval` and `recall_at_fpr`.

    See Also
    --------
    recall_at_fpr_test : Compare two scorers on the same rows.

    Notes
    -----
    The variance is that of a point of the ROC curve at a given false-positive rate [1]_: that of
    the recall at the threshold, plus the squared slope of the curve times the variance of the
    false-positive rate. The slope is taken between the rates two standard errors below and above.
    If the rate allows only a few false positives, they do not determine its threshold well, and the
    interval is too narrow. The interval is Wilson's, as in `precision_at_k_interval`.

    References
    ----------
    .. [1] Hsieh, Turnbull (1996). Nonparametric and semiparametric estimation of the receiver
       operating characteristic curve. Annals of Statistics 24, 25-40.

    Examples
    --------
    >>> interval = recall_at_fpr_interval([1, 0, 1, 0, 0, 0], [6, 5, 4, 3, 2, 1], 0.25)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    1.000 (0.342 to 1.000)
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score=score)
    return _interval(influence.recall_at_fpr(max_fpr), rows, confidence)


def average_precision_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureTest:
    """Test whether two scorers, applied to the same rows, have the same average precision.

    Parameters
    ----------
    y, score_a, score_b, pos_label, sample_weight, groups
        As for `auc_test`.
    confidence : float, default=0.95
        Coverage of the interval of the difference, above 0 and below 1.

    Returns
    -------
    MeasureTest
        The named tuple ``(difference, low, high, z, p_value)``: the measure of `score_a` minus that
        of `score_b`, its interval, the difference in standard errors, and the two-sided p-value.

    Raises
    ------
    ValueError
        For the reasons given in `auc_interval`.

    See Also
    --------
    average_precision_interval : The measure of one scorer with its confidence interval.
    auc_test : The same for the AUC.

    Notes
    -----
    The variance is that of the differences in influence, row by row or group by group, plus
    difference² / m for m positives, as if the measures were equal; for recalls at given thresholds
    this is McNemar's test. The interval contains 0 if and only if p is 1 − `confidence` or more.
    docs/measures.md gives the formulas, and how often the tests err.

    Examples
    --------
    >>> test = average_precision_test([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], [0.3, 0.1, 0.2, 0.4])
    >>> test.difference
    0.0
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score_a=score_a, score_b=score_b)
    return _test(influence.average_precision, rows, confidence)


def precision_at_k_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    k: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureTest:
    """Test whether two scorers have the same precision among their `k` highest scores.

    Parameters
    ----------
    y, score_a, score_b, confidence, pos_label, sample_weight, groups
        As for `average_precision_test`.
    k : int or float
        As for `precision_at_k`.

    Returns
    -------
    MeasureTest
        As from `average_precision_test`.

    Raises
    ------
    ValueError
        For the reasons given in `precision_at_k_interval`.

    See Also
    --------
    precision_at_k_interval : The measure of one scorer with its confidence interval.

    Examples
    --------
    >>> test = precision_at_k_test([0, 0, 1, 1], [1, 2, 3, 4], [4, 1, 2, 3], 2)
    >>> print(f"{test.difference:.2f}, p = {test.p_value:.2f}")
    0.50, p = 0.25
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score_a=score_a, score_b=score_b)
    return _test(influence.precision_at_k(k), rows, confidence)


def recall_at_k_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    k: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureTest:
    """Test whether two scorers have the same recall among their `k` highest scores.

    Parameters
    ----------
    y, score_a, score_b, k, confidence, pos_label, sample_weight, groups
        As for `precision_at_k_test`.

    Returns
    -------
    MeasureTest
        As from `average_precision_test`.

    Raises
    ------
    ValueError
        For the reasons given in `precision_at_k_interval`.

    See Also
    --------
    recall_at_k_interval : The measure of one scorer with its confidence interval.

    Examples
    --------
    >>> test = recall_at_k_test([0, 0, 1, 1], [1, 2, 3, 4], [4, 1, 2, 3], 2)
    >>> print(f"{test.difference:.2f}, p = {test.p_value:.2f}")
    0.50, p = 0.32
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score_a=score_a, score_b=score_b)
    return _test(influence.recall_at_k(k), rows, confidence)


def recall_at_fpr_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    max_fpr: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> MeasureTest:
    """Test whether two scorers have the same recall at a false-positive rate.

    Parameters
    ----------
    y, score_a, score_b, confidence, pos_label, sample_weight, groups
        As for `average_precision_test`.
    max_fpr : float
        As for `recall_at_fpr`.

    Returns
    -------
    MeasureTest
        As from `average_precision_test`.

    Raises
    ------
    ValueError
        For the reasons given in `recall_at_fpr_interval`.

    See Also
    --------
    recall_at_fpr_interval : The measure of one scorer with its confidence interval.

    Examples
    --------
    >>> test = recall_at_fpr_test([0, 0, 1, 1], [1, 2, 3, 4], [4, 1, 2, 3], 0.5)
    >>> print(f"{test.difference:.2f}, p = {test.p_value:.2f}")
    0.00, p = 1.00
    """
    rows = read_groups(y, sample_weight, pos_label, groups, score_a=score_a, score_b=score_b)
    return _test(influence.recall_at_fpr(max_fpr), rows, confidence)


def _interval(
    measure: Measure,
    rows: tuple[Any, ...],
    confidence: float,
    ends: Callable[[float, float, float], tuple[float, float]] = wilson,
) -> MeasureInterval:
    """Return the interval of a measure of rows in the form of `read_groups`."""
    return interval_of(_influence(measure, rows), confidence, ends)


def _influence(measure: Measure, rows: tuple[Any, ...]) -> Influence:
    """Return the influence of each independent unit, for rows in the form of `read_groups`."""
    positive, weight, group, score = rows
    return by_group(measure(Scores(positive, weight, score, alike=group is None)), group)


def interval_of(
    influence: Influence,
    confidence: float,
    ends: Callable[[float, float, float], tuple[float, float]] = wilson,
) -> MeasureInterval:
    """Return the interval of a measure, given the influence of each independent unit.

    ``ends`` takes the value, 1 − value, and z² times the variance over their product.
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    value, spread = influence.value, Spread(influence.variance, influence.units)
    low, high = ends(value, 1.0 - value, _square(influence, spread, (1.0 - confidence) / 2))
    # rounding must neither close the interval nor leave the value outside it
    low, high = min(low, np.nextafter(value, 0.0)), max(high, np.nextafter(value, 1.0))
    shown = spread.variance > ROUNDING**2
    std_error = np.sqrt(spread.variance) if shown else largest_error(value, spread.rows)
    return MeasureInterval(value, float(low), float(high), float(std_error))


def interval_of_recall(
    recall: Influence, precision: Influence, confidence: float
) -> MeasureInterval:
    """Return the interval of the recall among k rows, which their precision limits if k is low."""
    own, of_few = interval_of(recall, confidence), interval_of(precision, confidence)
    # k is not small, or no positive is among these rows
    if own.value >= _MIN_FLAGGED_SHARE * of_few.value:
        return own
    ratio = own.value / of_few.value
    rest = np.sqrt(max(recall.variance - ratio**2 * precision.variance, 0.0))
    z = -float(ndtri((1.0 - confidence) / 2))
    low, high = (
        own.value + sign * float(np.hypot(ratio * (end - of_few.value), z * rest))
        for sign, end in ((-1, of_few.low), (1, of_few.high))
    )
    unseen = max(of_few.std_error**2 - precision.variance, 0.0)
    std_error = float(np.hypot(own.std_error, ratio * np.sqrt(unseen)))
    return MeasureInterval(own.value, max(low, 0.0), min(high, 1.0), std_error)


def by_group(influence: Influence, group: NDArray[np.intp] | None, n_groups: int = 0) -> Influence:
    """Return one unit for each group, with the sums over its rows."""
    if group is None:
        return influence
    of_rows = influence.moved, influence.trials
    moved, trials = (np.bincount(group, part, n_groups).astype(np.float64) for part in of_rows)
    return Influence(influence.value, moved, trials)


def mean_of(samples: Sequence[tuple[Influence, NDArray[np.intp]]], n_units: int) -> Influence:
    """Return the mean of a measure over samples, and how far each unit moves it.

    Parameters
    ----------
    samples : sequence of (influence, unit)
        For each sample, the measure with the influence of its rows, and the unit of each row, a
        number below `n_units`; samples may have units in common.
    n_units : int
        The number of units. A unit moves samples without it by 0.
    """
    parts = [by_group(of_rows, unit, n_units) for of_rows, unit in samples]
    return Influence(
        float(np.mean([part.value for part in parts])),
        np.mean([part.moved for part in parts], axis=0),
        np.mean([part.trials / part.trials.sum() for part in parts], axis=0),
    )


def _square(influence: Influence, spread: Spread, tail: float) -> float:
    """Return z² times the variance as a share of the largest variance of one trial.

    z is Student's quantile, or the normal one for the largest variance, which is known.
    """
    largest, normal = influence.value * (1.0 - influence.value), float(ndtri(tail)) ** 2
    if largest <= ROUNDING:
        return normal / spread.rows
    share = shrunk_variance(spread, influence.carriers, largest, added=_UNSEEN_UNITS) / largest
    most = max(normal * share, normal / spread.rows)
    freedom = spread.rows - 1.0
    return most if freedom <= ROUNDING else min(float(stdtrit(freedom, tail)) ** 2 * share, most)


def logit_ends(value: float, miss: float, square: float) -> tuple[float, float]:
    """Return the ends of the interval that is symmetric in the logit of the value."""
    if value * miss <= ROUNDING:
        return wilson(value, miss, square)
    reach = float(np.sqrt(square / (value * miss)))
    return float(expit(logit(value) - reach)), float(expit(logit(value) + reach))


def _test(measure: Measure, rows: tuple[Any, ...], confidence: float) -> MeasureTest:
    """Return the paired test of a measure of two scorers."""
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    positive, weight, group, *scores = rows
    a, b = (by_group(measure(Scores(positive, weight, score)), group) for score in scores)
    rise = a.moved - b.moved
    rise[np.abs(rise) <= ROUNDING * np.abs(a.moved).max()] = 0.0
    spread = Spread(float(rise @ rise), min(a.units, b.units))
    return paired_test(a.value - b.value, spread, confidence)


def paired_test(difference: float, spread: Spread, confidence: float) -> MeasureTest:
    """Return the test of a difference, given its variance and the number of units behind it.

    The variance is taken around 0, as if there were no difference, also for the interval.
    """
    std_error = float(np.sqrt(spread.variance + difference**2 / spread.rows))
    if std_error <= ROUNDING:
        return MeasureTest(0.0, 0.0, 0.0, 0.0, 1.0)
    z, reach = difference / std_error, -float(ndtri((1.0 - confidence) / 2)) * std_error
    low, high = max(difference - reach, -1.0), min(difference + reach, 1.0)
    return MeasureTest(difference, low, high, z, 2 * float(ndtr(-abs(z))))
