"""How well scores rank: area under the ROC curve, its relatives, its interval and its test.

Every metric takes labels and scores, a higher score meaning "more likely positive", and sees the
scores only through their order and their ties, so any increasing transform of them, and infinite
scores, give the same value. All share one table: the weight of the positives and of the negatives
at each distinct score, from one sort. Counts are summed in float64, which is exact up to 2**53 and
cannot overflow.
"""

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, ndtr, ndtri, ndtri_exp, rel_entr, stdtrit

from aucmax.basics.checks import refuse_nul

__all__ = [
    "AUCDifference",
    "AUCInterval",
    "AUCTest",
    "auc_difference",
    "auc_interval",
    "auc_test",
    "average_precision",
    "partial_auc",
    "precision_at_k",
    "precision_recall_curve",
    "recall_at_fpr",
    "roc_auc",
    "roc_curve",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_ROUNDING = 1e-12  # shares of a class that differ by less are equal


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


# --------------------------------------------------------------------------- ranking metrics


def roc_auc(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Area under the ROC curve: the share of pairs ranked rightly, ties counted half.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more. A pair weighs the product of its rows' weights. Rows of
        weight zero are left out before anything else is looked at.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels in
        `y`, in sorted order.

    Returns
    -------
    float
        The area, between 0 and 1.

    Raises
    ------
    ValueError
        If `y` has one class only, or more than two labels and no `pos_label`; if a label or a
        score is missing; if the lengths differ; if a weight is negative or not finite.

    See Also
    --------
    auc_interval : The area with its confidence interval.
    partial_auc : The area over low false-positive rates only.

    Notes
    -----
    This is the Mann-Whitney statistic divided by the weight of all pairs, in O(n log n).

    References
    ----------
    .. [1] Hanley, McNeil (1982). The meaning and use of the area under a receiver operating
       characteristic (ROC) curve. Radiology 143, 29-36.

    Examples
    --------
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    return _area(*_pairs_won_and_lost(_table(y, score, sample_weight, pos_label)))


def partial_auc(
    y: ArrayLike,
    score: ArrayLike,
    max_fpr: float,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Area under the ROC curve for false-positive rates up to `max_fpr`, standardised.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    max_fpr : float
        Largest false-positive rate that counts, above 0 and at most 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; rows of weight zero are left out.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    float
        McClish's standardised area [1]_: 1 for perfect scores and 0.5 for scores without
        information. With ``max_fpr=1`` it is `roc_auc`.

    Raises
    ------
    ValueError
        If `max_fpr` is not in (0, 1], and for the reasons given in `roc_auc`.

    See Also
    --------
    roc_auc : The whole area.
    recall_at_fpr : The height of the curve instead of its area.

    Notes
    -----
    Equal to ``sklearn.metrics.roc_auc_score(y, score, max_fpr=max_fpr)``.

    References
    ----------
    .. [1] McClish (1989). Analyzing a portion of the ROC curve. Medical Decision Making 9,
       190-195.

    Examples
    --------
    >>> partial_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.5)
    0.6666666666666666
    """
    max_fpr = _number(max_fpr, "max_fpr", "above 0 and at most 1", lambda v: 0 < v <= 1)
    fpr, tpr, _ = roc_curve(y, score, sample_weight, pos_label)
    inside = int(np.searchsorted(fpr, max_fpr, side="right"))
    if inside < fpr.size:
        # Cut the segment that crosses max_fpr by linear interpolation.
        step = (max_fpr - fpr[inside - 1]) / (fpr[inside] - fpr[inside - 1])
        height = tpr[inside - 1] + step * (tpr[inside] - tpr[inside - 1])
        fpr, tpr = np.append(fpr[:inside], max_fpr), np.append(tpr[:inside], height)
    mean_recall = np.trapezoid(tpr, fpr) / max_fpr
    chance = max_fpr / 2
    standardised = (1 + (mean_recall - chance) / (1 - chance)) / 2
    return float(np.clip(standardised, 0.0, 1.0))


def average_precision(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Average precision: the mean, over the positives, of the precision at their score.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; rows of weight zero are left out.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    float
        The average precision, above 0 and at most 1. Scores without information give the share
        of positives.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`.

    See Also
    --------
    precision_recall_curve : The curve this is the area of.

    Notes
    -----
    The sum over distinct scores of (gain in recall) × (precision), without interpolation: equal to
    ``sklearn.metrics.average_precision_score``.

    References
    ----------
    .. [1] Davis, Goadrich (2006). The relationship between precision-recall and ROC curves. ICML.

    Examples
    --------
    >>> average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333333333333333
    """
    levels = _table(y, score, sample_weight, pos_label)
    found, false_alarms = _reached(levels)
    total = float(levels.pos @ (found / (found + false_alarms)))
    return min(1.0, total / float(found[-1]))


def precision_at_k(
    y: ArrayLike,
    score: ArrayLike,
    k: int,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Share of positives among the `k` rows with the highest scores.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    k : int
        Number of rows looked at, from 1 to the number of rows of non-zero weight.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; rows of weight zero are left out.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    float
        The precision, between 0 and 1.

    Raises
    ------
    ValueError
        If `k` is not a whole number from 1 to the number of rows, and for the reasons given in
        `roc_auc`.

    See Also
    --------
    average_precision : The precision over all cuts in one number.

    Notes
    -----
    Where the cut falls among tied scores, the tied rows count in part, as many as fit divided by
    as many as are tied: the expected precision when ties are broken at random. So the value does
    not depend on the order of the rows. With weights, `k` still counts rows, and the result is the
    (expected) weight of the positives among them divided by the (expected) weight of all of them.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], 2)
    0.75
    """
    levels = _table(y, score, sample_weight, pos_label)
    n = int(levels.rows.sum())
    k = _row_count(k, n)
    reached = np.cumsum(levels.rows)
    # Each level counts by the share of its rows that fit into the k: 1, then a part, then 0.
    share = np.clip((k - (reached - levels.rows)) / levels.rows, 0.0, 1.0)
    found, false_alarms = float(levels.pos @ share), float(levels.neg @ share)
    return found / (found + false_alarms)


def recall_at_fpr(
    y: ArrayLike,
    score: ArrayLike,
    max_fpr: float,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Largest recall of a threshold whose false-positive rate is at most `max_fpr`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    max_fpr : float
        Largest false-positive rate allowed, from 0 to 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; rows of weight zero are left out.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    float
        The recall (true-positive rate), between 0 and 1. It is 0 where no threshold is strict
        enough.

    Raises
    ------
    ValueError
        If `max_fpr` is not in [0, 1], and for the reasons given in `roc_auc`.

    See Also
    --------
    roc_curve : Recall and false-positive rate at every threshold.

    Notes
    -----
    Only thresholds that exist are used: nothing is interpolated, and tied rows are taken or left
    together.

    Examples
    --------
    >>> recall_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.25)
    0.5
    """
    max_fpr = _number(max_fpr, "max_fpr", "from 0 to 1", lambda v: 0 <= v <= 1)
    fpr, tpr, _ = roc_curve(y, score, sample_weight, pos_label)
    # Ten weights of 0.1 must count as ten of 1, though their sums are rounded.
    max_fpr *= 1 + 1e-12
    return float(tpr[np.searchsorted(fpr, max_fpr, side="right") - 1])


# --------------------------------------------------------------------------- curves


def roc_curve(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> tuple[Floats, Floats, Floats]:
    """ROC curve: false-positive and true-positive rate at every threshold.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; rows of weight zero are left out.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    fpr : ndarray of shape (t + 1,)
        Share of the negatives with a score at or above each threshold, from 0 to 1.
    tpr : ndarray of shape (t + 1,)
        Share of the positives with a score at or above each threshold, from 0 to 1.
    thresholds : ndarray of shape (t + 1,)
        The t distinct scores, falling, after a first threshold of infinity that takes no row (not
        even one whose score is infinite).

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`.

    See Also
    --------
    roc_auc : The area under this curve.

    Notes
    -----
    Equal to ``sklearn.metrics.roc_curve(..., drop_intermediate=False)``.

    Examples
    --------
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> tpr.tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    levels = _table(y, score, sample_weight, pos_label)
    found, false_alarms = _reached(levels)
    fpr = np.concatenate(([0.0], false_alarms / false_alarms[-1]))
    tpr = np.concatenate(([0.0], found / found[-1]))
    return fpr, tpr, np.concatenate(([np.inf], levels.score.astype(np.float64)))


def precision_recall_curve(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> tuple[Floats, Floats, Floats]:
    """Precision and recall at every threshold.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; rows of weight zero are left out.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    precision : ndarray of shape (t + 1,)
        Share of positives among the rows with a score at or above each threshold; 1 at the end.
    recall : ndarray of shape (t + 1,)
        Share of the positives with a score at or above each threshold, falling from 1; 0 at the
        end.
    thresholds : ndarray of shape (t,)
        The distinct scores, rising.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`.

    See Also
    --------
    average_precision : The area under this curve.

    Notes
    -----
    Ordered as ``sklearn.metrics.precision_recall_curve``, and equal to it.

    Examples
    --------
    >>> precision, recall, thresholds = precision_recall_curve([0, 1, 1], [0.1, 0.4, 0.8])
    >>> recall.tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    levels = _table(y, score, sample_weight, pos_label)
    found, false_alarms = _reached(levels)
    precision = np.concatenate(((found / (found + false_alarms))[::-1], [1.0]))
    recall = np.concatenate(((found / found[-1])[::-1], [0.0]))
    return precision, recall, levels.score[::-1].astype(np.float64)


# --------------------------------------------------------------------------- interval and test


def auc_interval(
    y: ArrayLike,
    score: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AUCInterval:
    """Area under the ROC curve with DeLong's standard error and a confidence interval.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score : array-like of shape (n,)
        Scores, higher for rows held to be positive. Infinite scores rank first or last.
    confidence : float, default=0.95
        Wanted coverage of the two-sided interval, above 0 and below 1.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.
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

    Notes
    -----
    With m positives, n negatives and k = min(m, n):

    *The standard error* is DeLong's [1]_: with V10 the share of negatives each positive beats and
    V01 the share of positives that beat each negative, ties counted half, its square is
    var(V10)/m + var(V01)/n. The shares come from one sort, as in [2]_.

    *The interval* is taken on the logit scale, as recommended in [3]_, so it never leaves (0, 1):
    logit(auc) ± t · std_error / (auc (1 − auc)). The quantile t is Student's with k − 1 degrees of
    freedom, the conservative choice of Welch's problem (a bound for normal data [4]_), and the
    normal one for large k. In simulations of the 95 % interval with normal scores, 1000 negatives
    and an AUC of 0.6 this raised the coverage from 0.70 to 0.98 with 2 positives and from 0.89 to
    0.96 with 5. DeLong's variance remains too small when positives that score low are too rare to
    be seen: with 10 positives and an AUC of 0.98 coverage was 0.83, with 30 it was 0.88.

    *The guaranteed interval* is all θ with k · KL(auc ‖ θ) ≤ log(2 / (1 − confidence)), KL being
    the divergence between coins of those biases: Hoeffding's inequality, which holds for
    U-statistics [5]_, inverted. It covers with at least `confidence` for every distribution and
    sample size, and the interval above is cut to it. It takes over where DeLong's variance knows
    nothing of one class: a single row, or rows that all beat the same share of the other class (as
    at an AUC of 0 or 1, or with all scores tied). At an AUC of 1 it is the Clopper-Pearson bound
    for k successes out of k, low = ((1 − confidence)/2)^(1/k), which may lie below that for an AUC
    just under 1: without a single misranked pair the data do not show their own spread.

    *Where DeLong's variance is zero or undefined*, `std_error` is √(θ(1 − θ)/k), which bounds the
    standard error at any AUC θ [6]_, taken at θ = (k · auc + 1)/(k + 2) to keep it above 0.

    *Weights* are a property of a row, such as its cost or one over the chance that it was drawn;
    rows stay independent. With u for those of the positives the variance is
    Σ u² (V10 − auc)² / (Σ u)² · k/(k − 1) for their part, and alike for the negatives; the rows of
    a class are counted by k = (Σ u)² / Σ u² [7]_. Equal weights change nothing. Rows that stand for
    several equal ones must be repeated instead: for these the interval would be too wide.

    References
    ----------
    .. [1] DeLong, DeLong, Clarke-Pearson (1988). Comparing the areas under two or more correlated
       receiver operating characteristic curves. Biometrics 44, 837-845.
    .. [2] Sun, Xu (2014). Fast implementation of DeLong's algorithm for comparing the areas under
       correlated receiver operating characteristic curves. IEEE Signal Processing Letters 21,
       1389-1393.
    .. [3] Pepe (2003). The statistical evaluation of medical tests for classification and
       prediction. Oxford University Press, section 5.2.
    .. [4] Mickey, Brown (1966). Bounds on the distribution functions of the Behrens-Fisher
       statistic. Annals of Mathematical Statistics 37, 639-642.
    .. [5] Hoeffding (1963). Probability inequalities for sums of bounded random variables. Journal
       of the American Statistical Association 58, 13-30, theorem 1 and section 5.
    .. [6] Birnbaum, Klose (1957). Bounds for the variance of the Mann-Whitney statistic. Annals of
       Mathematical Statistics 28, 933-945.
    .. [7] Kish (1965). Survey sampling. Wiley, section 8.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [500, 50])
    >>> interval = auc_interval(y, rng.normal(size=550) + 2 * y)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*interval[:3]))
    0.940 (0.900 to 0.964)
    """
    confidence = _confidence(confidence)
    positive, scores, weight = _read(y, score, sample_weight, pos_label)
    levels = _levels(positive, scores, weight)
    won, lost = _pairs_won_and_lost(levels)
    auc = _area(won, lost)
    above = _rivals_above(levels, positive)
    of_positives, of_negatives = _delong_variances(positive, above, weight)
    smaller = _smaller_class(positive, weight)
    if of_positives + of_negatives > 0.0:
        std_error = float(np.sqrt(of_positives + of_negatives))
    else:
        shrunk = (smaller * auc + 1) / (smaller + 2)
        std_error = float(np.sqrt(shrunk * (1 - shrunk) / smaller))
    low, high = _hoeffding_interval(auc, smaller, confidence)
    if min(of_positives, of_negatives) > 0.0:
        t = stdtrit(smaller - 1, (1.0 + confidence) / 2)
        # lost / (won + lost) is 1 - auc without cancellation.
        reach = t * std_error / (auc * (lost / (won + lost)))
        middle = np.log(won) - np.log(lost)
        low, high = max(low, float(expit(middle - reach))), min(high, float(expit(middle + reach)))
    # Rounding must not close the interval, nor leave the AUC outside it.
    low, high = min(low, float(np.nextafter(auc, 0.0))), max(high, float(np.nextafter(auc, 1.0)))
    return AUCInterval(auc, low, high, std_error)


def auc_test(
    y: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AUCTest:
    """Test whether two scorers, applied to the same rows, have the same area under the ROC curve.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score_a : array-like of shape (n,)
        Scores of the first scorer. Infinite scores rank first or last.
    score_b : array-like of shape (n,)
        Scores of the second scorer for the same rows, in the same order.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more: how much each row counts, not how often it was seen.

    Returns
    -------
    AUCTest
        The named tuple ``(difference, z, p_value)``: AUC of `score_a` less AUC of `score_b`, the
        difference in standard errors, and the two-sided p-value. Exchanging the scorers changes
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
    DeLong's test [1]_ for paired samples, in O(n log n) [2]_: z = difference / √variance, compared
    with the normal distribution. The variance is var(D10)/m + var(D01)/n with D10, D01 the
    differences of the two scorers' V10 and V01 (see `auc_interval`). With few rows in a class the
    normal distribution makes the p-value too small.

    Where this variance is zero or undefined (the scorers rank alike, one ranks perfectly and the
    other perfectly wrong or not at all, or one class has a single row) p is Hoeffding's bound on
    the chance of so large a difference between equal scorers [3]_,
    min(1, 2 exp(−k KL((1 + |difference|)/2 ‖ 1/2))) with k the size of the smaller class, and z is
    the normal quantile that belongs to p. Scorers that rank alike give difference 0, z 0, p 1;
    1 against 0 gives the p-value of a sign test with k like signs.

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
    >>> test = auc_test([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], [0.3, 0.1, 0.2, 0.4])
    >>> test.difference
    0.0
    """
    pair = _paired(y, score_a, score_b, pos_label, sample_weight)
    if pair.variance > 0.0:
        z = pair.difference / float(np.sqrt(pair.variance))
        p_value = 2 * float(ndtr(-abs(z)))
    else:
        log_p = _hoeffding_log_p(abs(pair.difference), pair.smaller)
        p_value = float(np.exp(log_p))
        z = float(np.copysign(ndtri_exp(log_p - np.log(2)), pair.difference)) if log_p < 0 else 0.0
    return AUCTest(pair.difference, z, p_value)


def auc_difference(
    y: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
) -> AUCDifference:
    """Difference of the areas under the ROC curves of two scorers, with a confidence interval.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: numbers, booleans or strings.
    score_a : array-like of shape (n,)
        Scores of the first scorer. Infinite scores rank first or last.
    score_b : array-like of shape (n,)
        Scores of the second scorer for the same rows, in the same order.
    confidence : float
        Coverage of the interval, above 0 and below 1.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more: how much each row counts, not how often it was seen.

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
    The interval holds the differences that the test of `auc_test` does not reject: at a confidence
    of 0.95 it holds 0 just where p ≥ 0.05. With DeLong's variance it is difference ± z √variance;
    where that is zero, the two-sided bound of Hoeffding. Scorers that rank all rows alike give 0
    to 0.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> found = auc_difference(y, [1, 2, 4, 3, 5, 6], [2, 4, 1, 3, 6, 5])
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*found))
    0.000 (-0.377 to 0.377)
    """
    confidence = _confidence(confidence)
    pair = _paired(y, score_a, score_b, pos_label, sample_weight)
    difference = pair.difference
    if pair.variance > 0.0:
        reach = float(ndtri((1.0 + confidence) / 2) * np.sqrt(pair.variance))
        return AUCDifference(
            difference, max(difference - reach, -1.0), min(difference + reach, 1.0)
        )
    if pair.alike:
        return AUCDifference(0.0, 0.0, 0.0)
    low, high = _hoeffding_interval((1 + difference) / 2, pair.smaller, confidence)
    return AUCDifference(difference, 2 * low - 1, 2 * high - 1)


class _Pair(NamedTuple):
    """Two scorers on the same rows."""

    difference: float
    variance: float  # DeLong's
    smaller: float  # rows of the smaller class
    alike: bool  # whether they rank all rows alike


def _paired(
    y: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    pos_label: Any,
    sample_weight: ArrayLike | None,
) -> _Pair:
    positive, a, weight = _read(y, score_a, sample_weight, pos_label, score_name="score_a")
    n = positive.size if sample_weight is None else np.size(sample_weight)
    kept = slice(None) if sample_weight is None else _weights(sample_weight, n) > 0
    b = _scores(score_b, "score_b", n, kept)
    levels_a, levels_b = _levels(positive, a, weight), _levels(positive, b, weight)
    difference = _area(*_pairs_won_and_lost(levels_a)) - _area(*_pairs_won_and_lost(levels_b))
    rise = _rivals_above(levels_a, positive) - _rivals_above(levels_b, positive)
    if weight is not None:  # sums in different orders differ by rounding
        total = np.where(positive, weight[~positive].sum(), weight[positive].sum())
        rise[np.abs(rise) <= _ROUNDING * total] = 0.0
    variance = sum(_delong_variances(positive, rise, weight))
    return _Pair(difference, variance, _smaller_class(positive, weight), not rise.any())


def _confidence(value: Any) -> float:
    return _number(value, "confidence", "above 0 and below 1, such as 0.95", lambda v: 0 < v < 1)


def _smaller_class(positive: Bools, weight: Floats | None) -> float:
    """Rows of the smaller class; of unequal weights, Kish's effective number."""
    if weight is None:
        m = int(positive.sum())
        return min(m, positive.size - m)
    return min(effective_rows(weight[rows]) for rows in (positive, ~positive))


def effective_rows(weight: Floats) -> float:
    """Kish's effective number of rows, (Σ w)² / Σ w²: their number where all weigh the same."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share @ share))


def _delong_variances(positive: Bools, above: Floats, weight: Floats | None) -> tuple[float, float]:
    """var(V10)/m and var(V01)/n from `_rivals_above`; zeros where a class has not two rows."""
    if _smaller_class(positive, weight) < 2 - _ROUNDING:
        return 0.0, 0.0
    # Those above a positive are n (1 - V10), of the same variance; those above a negative m V01.
    of_positives, of_negatives = above[positive], above[~positive]
    # Whole halves less the first of them: equal shares have variance zero exactly.
    of_positives, of_negatives = of_positives - of_positives[0], of_negatives - of_negatives[0]
    if weight is None:
        m, n = of_positives.size, of_negatives.size
        v10, v01 = of_positives / n, of_negatives / m
        return float(v10.var(ddof=1)) / m, float(v01.var(ddof=1)) / n
    of_weight = weight[positive], weight[~positive]
    u, w = (part / part.sum() for part in of_weight)
    v10, v01 = of_positives / of_weight[1].sum(), of_negatives / of_weight[0].sum()
    return _variance_of_mean(v10, u), _variance_of_mean(v01, w)


def _variance_of_mean(values: Floats, share: Floats) -> float:
    """Σ share² (v − mean)² k/(k − 1) for shares that sum to 1; var/n where they are equal."""
    k = effective_rows(share)
    if np.abs(values).max() <= _ROUNDING:
        return 0.0
    return float(np.sum((share * (values - share @ values)) ** 2)) * k / (k - 1)


def _hoeffding_interval(mean: float, k: float, confidence: float) -> tuple[float, float]:
    """All θ with k KL(mean ‖ θ) ≤ log(2 / (1 - confidence)), for a mean in [0, 1]."""
    bound = np.log(2 / (1 - confidence)) / k

    def lower(mean: float) -> float:
        def excess(log_theta: float) -> float:
            theta = np.exp(log_theta)
            return float(rel_entr(mean, theta) + rel_entr(1 - mean, 1 - theta) - bound)

        # Solved for log θ, in which the divergence is nearly linear; θ may be below any float.
        least = np.log(np.finfo(float).tiny)
        if mean == 0.0 or excess(least) <= 0.0:
            return 0.0
        return float(np.exp(brentq(excess, least, np.log(mean))))

    return lower(mean), 1.0 - lower(1.0 - mean)


def _hoeffding_log_p(difference: float, k: float) -> float:
    """Log of the bound on P(|A - B| ≥ difference) for two AUCs of equal expectation."""
    half_up = (1 + difference) / 2
    divergence = rel_entr(half_up, 0.5) + rel_entr(1 - half_up, 0.5)
    return min(0.0, float(np.log(2) - k * divergence))


# --------------------------------------------------------------------------- the shared table


class _Levels(NamedTuple):
    """The distinct scores, falling, and what lies at each."""

    score: NDArray[Any]  # (t,)
    rows: NDArray[np.int64]  # (t,) number of rows
    pos: Floats  # (t,) weight of the positives
    neg: Floats  # (t,) weight of the negatives
    order: NDArray[np.intp]  # (n,) rows, from the highest score to the lowest


def _levels(positive: Bools, score: NDArray[Any], weight: Floats | None) -> _Levels:
    order = np.argsort(score)[::-1]
    ranked = score[order]
    # Compared, not subtracted: infinite and unsigned scores have no usable difference.
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    rows = np.diff(starts, append=ranked.size)
    is_pos = positive[order]
    if weight is None:
        pos = np.add.reduceat(is_pos, starts, dtype=np.float64)
        neg = rows - pos
    else:
        ranked_weight = weight[order]
        pos = np.add.reduceat(np.where(is_pos, ranked_weight, 0.0), starts)
        neg = np.add.reduceat(np.where(is_pos, 0.0, ranked_weight), starts)
    return _Levels(ranked[starts], rows, pos, neg, order)


def _table(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> _Levels:
    return _levels(*_read(y, score, sample_weight, pos_label))


def _reached(levels: _Levels) -> tuple[Floats, Floats]:
    """(t,) weight of the positives and of the negatives at or above each score."""
    return np.cumsum(levels.pos), np.cumsum(levels.neg)


def _above(levels: _Levels) -> tuple[Floats, Floats]:
    """(t,) weight of the positives and of the negatives above each score, ties half."""
    found, false_alarms = _reached(levels)
    return found - levels.pos / 2, false_alarms - levels.neg / 2


def _pairs_won_and_lost(levels: _Levels) -> tuple[float, float]:
    """Weight of the pairs ranked rightly and wrongly, ties half to each."""
    pos_above, neg_above = _above(levels)
    return float(levels.neg @ pos_above), float(levels.pos @ neg_above)


def _area(won: float, lost: float) -> float:
    # Not divided by the product of the totals: so no rounding can carry it above 1.
    return won / (won + lost)


def _rivals_above(levels: _Levels, positive: Bools) -> Floats:
    """(n,) number of rows of the other class above each row, ties half."""
    pos_above, neg_above = _above(levels)
    ranked = np.repeat([neg_above, pos_above], levels.rows, axis=1)
    above = np.empty(positive.size)
    above[levels.order] = np.where(positive[levels.order], *ranked)
    return above


# --------------------------------------------------------------------------- reading arguments


def _read(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    score_name: str = "score",
) -> tuple[Bools, NDArray[Any], Floats | None]:
    """Which rows are positive, their scores, and their weights; rows of weight zero dropped."""
    refuse_nul(y)
    labels = _vector(y, "y")
    if labels.size == 0:
        raise ValueError("y is empty; it needs at least one positive and one negative row.")
    if sample_weight is None:
        return _positive(labels, pos_label), _scores(score, score_name, labels.size), None
    weight = _weights(sample_weight, labels.size)
    kept = weight > 0
    where = "" if kept.all() else " in the rows of non-zero sample_weight"
    positive = _positive(labels[kept], pos_label, where)
    return positive, _scores(score, score_name, labels.size, kept), weight[kept]


def _vector(values: ArrayLike, name: str, n: int | None = None) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one-dimensional; got rows of unequal length.") from None
    if array.ndim != 1:
        hint = ""
        if array.ndim == 2:
            hint = " (ravel it)" if array.shape[1] == 1 else f" (pass one column, {name}[:, 1])"
        raise ValueError(f"{name} must be one-dimensional{hint}; got shape {array.shape}.")
    if n is not None and array.size != n:
        raise ValueError(f"{name} must have one value per row of y, {n}; got {array.size}.")
    return array


def _numeric(values: ArrayLike, name: str, n: int) -> NDArray[Any]:
    array = _vector(values, name, n)
    if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be numbers, none of them missing.") from None
    if array.dtype.kind not in "biuf":
        kind = "text" if array.dtype.kind in "OUST" else str(array.dtype)
        raise ValueError(f"{name} must be real numbers; got {kind}.")
    return array


def _scores(
    values: ArrayLike, name: str, n: int, kept: Bools | slice = slice(None)
) -> NDArray[Any]:
    # Kept in their own type: int64 scores above 2**53 would gain ties as float64.
    array = _numeric(values, name, n)
    missing = np.zeros(n, dtype=bool)
    missing[kept] = np.isnan(array[kept])
    if missing.any():
        raise ValueError(
            f"{name} has {missing.sum()} NaN, the first in row {missing.argmax()}; "
            "every row needs a number (infinity is allowed)."
        )
    return np.asarray(array[kept])


def _weights(values: ArrayLike, n: int) -> Floats:
    weight = _numeric(values, "sample_weight", n).astype(np.float64)
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"sample_weight must be finite and not negative; got {weight[row]} in row {row}."
        )
    largest = weight.max()
    if largest == 0:
        raise ValueError("sample_weight is zero in every row; at least one must be positive.")
    # No metric depends on their scale, and sums of weights up to 1 cannot overflow. By a power of
    # two, so that sums of whole weights stay exact.
    return np.asarray(np.ldexp(weight, -np.frexp(largest)[1]))


def _positive(labels: NDArray[Any], pos_label: Any, where: str = "") -> Bools:
    found: Any
    try:
        # A set, as sorting a million Python strings takes half a second.
        found = sorted(set(labels)) if labels.dtype.kind == "O" else np.unique(labels)
        known = list(found) if labels.dtype.kind == "O" else found.tolist()
        if any(label is None or label != label for label in known):
            raise ValueError("y has missing labels; every row needs one.")
    except TypeError:
        raise ValueError(
            "y has missing labels, or labels of different types, which have no order; "
            "every row needs one, and all of one type."
        ) from None
    shown = ", ".join(map(repr, known[:5])) + (", ..." if len(known) > 5 else "")
    if pos_label is not None:
        chosen = [i for i, label in enumerate(known) if label == pos_label]
        if not chosen:
            raise ValueError(f"pos_label={pos_label!r} is not a label of y{where}: {shown}.")
    else:
        chosen = [len(known) - 1]
    if len(known) == 1:
        raise ValueError(
            f"y has one class only{where}, {shown}; it needs at least one positive and one "
            "negative row."
        )
    if len(known) > 2 and pos_label is None:
        raise ValueError(
            f"y has {len(known)} labels ({shown}); give two, or name the positive one with "
            "pos_label to set it against the rest."
        )
    return np.asarray(labels == found[chosen[0]])


def _number(value: Any, name: str, expected: str, valid: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number {expected}; got {value!r}.") from None
    if not valid(number):
        raise ValueError(f"{name} must be a number {expected}; got {value!r}.")
    return number


def _row_count(k: Any, n: int) -> int:
    try:
        count = operator.index(k)
    except TypeError:
        raise ValueError(f"k must be a whole number of rows, at least 1; got {k!r}.") from None
    if not 1 <= count <= n:
        raise ValueError(f"k must be from 1 to the number of rows, {n}; got {k!r}.")
    return count
