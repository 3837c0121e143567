"""Ranking quality in one number: the area under the ROC curve and related metrics.

Every metric takes labels and scores; a higher score means "more likely positive". Only the order
and ties of the scores count: increasing transforms do not change the value, and scores may be
infinite.
"""

from typing import Any

from numpy.typing import ArrayLike

from aucmax.basics.checks import number
from aucmax.metrics.levels import (
    area,
    area_up_to,
    levels_of,
    mean_precision,
    recall_up_to,
    share_of_top,
)
from aucmax.metrics.reading import Labels, read, row_count

__all__ = [
    "average_precision",
    "partial_auc",
    "precision_at_k",
    "recall_at_fpr",
    "recall_at_k",
    "roc_auc",
]


def roc_auc(
    y: Labels,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the area under the ROC curve: the share of pairs ranked correctly, ties counting half.

    Parameters
    ----------
    y : array-like of shape (n,), or Source
        Labels: numbers, booleans or strings. The labels of a `Source` are read in a pass over it,
        and so are its weights unless `sample_weight` is given.
    score : array-like of shape (n,)
        Scores; a higher one means "more likely positive". They may be infinite.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more. The weight of a pair is the product of its rows' weights.
        Rows of weight zero are dropped first.
    pos_label : label, optional
        The positive label; all others are negative. By default the larger of the two labels.

    Returns
    -------
    float
        The area, between 0 and 1.

    Raises
    ------
    ValueError
        If `y` has only one class, or more than two labels and no `pos_label`; if a label or a
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
    return area(levels_of(*read(y, sample_weight, pos_label, score=score)))


def partial_auc(
    y: Labels,
    score: ArrayLike,
    max_fpr: float,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the standardised area under the ROC curve for false-positive rates up to `max_fpr`.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.
    max_fpr : float
        Largest false-positive rate to include, above 0 and at most 1.

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
    number(max_fpr, "max_fpr", high=1.0, open_low=True)
    return area_up_to(levels_of(*read(y, sample_weight, pos_label, score=score)), max_fpr)


def average_precision(
    y: Labels,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the average precision: the mean, over the positives, of the precision at their score.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.

    Returns
    -------
    float
        The average precision, above 0 and at most 1. For scores without information it is the share
        of positives.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`.

    See Also
    --------
    precision_recall_curve : The curve whose area this is.

    Notes
    -----
    The sum over distinct scores of (increase in recall) × (precision), without interpolation, as in
    ``sklearn.metrics.average_precision_score``.

    References
    ----------
    .. [1] Davis, Goadrich (2006). The relationship between precision-recall and ROC curves. ICML.

    Examples
    --------
    >>> average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333333333333333
    """
    return mean_precision(levels_of(*read(y, sample_weight, pos_label, score=score)))


def precision_at_k(
    y: Labels,
    score: ArrayLike,
    k: float,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the share of positives among the `k` rows with the highest scores.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.
    k : int or float
        Number of top rows, from 1 to the number of rows of non-zero weight; or their share of these
        rows, between 0 and 1.

    Returns
    -------
    float
        The precision, between 0 and 1.

    Raises
    ------
    ValueError
        If `k` is neither a whole number from 1 to the number of rows nor a share of them, and for
        the reasons given in `roc_auc`.

    See Also
    --------
    average_precision : The precision averaged over all thresholds.
    recall_at_k : The share of the positives that are among these rows.

    Notes
    -----
    If the cut falls among tied scores, each tied row counts as a fraction: the number of tied rows
    that fit into k divided by the number that are tied. This is the expected precision if ties are
    broken at random, so the value does not depend on the order of the rows. If a share is not a
    whole number of rows, the row at the cut counts as a fraction, too. With weights, `k` still
    counts rows; the result is the expected weight of the positives among them divided by the
    expected weight of all.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], 2)
    0.75
    """
    levels = levels_of(*read(y, sample_weight, pos_label, score=score))
    share = share_of_top(levels, row_count(k, int(levels.rows.sum())))
    hits, false_alarms = float(levels.pos @ share), float(levels.neg @ share)
    return hits / (hits + false_alarms)


def recall_at_k(
    y: Labels,
    score: ArrayLike,
    k: float,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the share of the positives that are among the `k` rows with the highest scores.

    Parameters
    ----------
    y, score, k, sample_weight, pos_label
        As for `precision_at_k`.

    Returns
    -------
    float
        The recall, between 0 and 1.

    Raises
    ------
    ValueError
        For the reasons given in `precision_at_k`.

    See Also
    --------
    precision_at_k : The share of positives among these rows.
    recall_at_fpr : The recall at a false-positive rate.

    Notes
    -----
    Ties and weights count as in `precision_at_k`.

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1], 2)
    0.75
    """
    levels = levels_of(*read(y, sample_weight, pos_label, score=score))
    share = share_of_top(levels, row_count(k, int(levels.rows.sum())))
    return min(float(levels.pos @ share) / float(levels.pos.sum()), 1.0)


def recall_at_fpr(
    y: Labels,
    score: ArrayLike,
    max_fpr: float,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> float:
    """Return the largest recall of a threshold whose false-positive rate is at most `max_fpr`.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.
    max_fpr : float
        Largest false-positive rate allowed, from 0 to 1.

    Returns
    -------
    float
        The recall (true-positive rate), between 0 and 1; 0 if no threshold is strict enough.

    Raises
    ------
    ValueError
        If `max_fpr` is not in [0, 1], and for the reasons given in `roc_auc`.

    See Also
    --------
    roc_curve : Recall and false-positive rate at every threshold.

    Notes
    -----
    Only existing thresholds are used: nothing is interpolated, and tied rows stay together.

    Examples
    --------
    >>> recall_at_fpr([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.25)
    0.5
    """
    number(max_fpr, "max_fpr", high=1.0)
    return recall_up_to(levels_of(*read(y, sample_weight, pos_label, score=score)), max_fpr)
