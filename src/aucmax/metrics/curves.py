"""ROC and precision-recall curves, computed by scikit-learn, for any scores.

scikit-learn refuses infinite scores and compares others as float64, so it is given ranks.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax.basics.doors import Door
from aucmax.metrics.reading import Bools, Floats, Labels, read

__all__ = ["precision_recall_curve", "roc_curve"]

_sklearn = Door("sklearn.metrics")


def _ranked(
    y: Labels, score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[Bools, NDArray[np.int64], Floats | None, Floats]:
    """Return a mask of the positives, the ranks of the scores, weights, and distinct scores."""
    positive, weight, scores = read(y, sample_weight, pos_label, score=score)
    distinct, rank = np.unique(scores, return_inverse=True)
    return positive, rank, weight, distinct.astype(np.float64)


def roc_curve(
    y: Labels,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the ROC curve: false-positive and true-positive rates at every threshold.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.

    Returns
    -------
    fpr : ndarray of shape (t + 1,)
        Share of the negatives with a score at or above each threshold, from 0 to 1.
    tpr : ndarray of shape (t + 1,)
        Share of the positives with a score at or above each threshold, from 0 to 1.
    thresholds : ndarray of shape (t + 1,)
        Infinity, at which no row is positive (not even one with an infinite score), then the t
        distinct scores in descending order.

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
    positive, rank, weight, distinct = _ranked(y, score, sample_weight, pos_label)
    fpr, tpr, _ = _sklearn.roc_curve(positive, rank, sample_weight=weight, drop_intermediate=False)
    return fpr, tpr, np.concatenate(([np.inf], distinct[::-1]))


def precision_recall_curve(
    y: Labels,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> tuple[Floats, Floats, Floats]:
    """Return the precision and the recall at every threshold.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.

    Returns
    -------
    precision : ndarray of shape (t + 1,)
        Share of positives among the rows with a score at or above each threshold; 1 at the end.
    recall : ndarray of shape (t + 1,)
        Share of the positives with a score at or above each threshold, decreasing from 1; 0 at the
        end.
    thresholds : ndarray of shape (t,)
        The distinct scores in ascending order.

    Raises
    ------
    ValueError
        For the reasons given in `roc_auc`.

    See Also
    --------
    average_precision : The area under this curve.

    Notes
    -----
    Equal to ``sklearn.metrics.precision_recall_curve``.

    Examples
    --------
    >>> precision, recall, thresholds = precision_recall_curve([0, 1, 1], [0.1, 0.4, 0.8])
    >>> recall.tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    positive, rank, weight, distinct = _ranked(y, score, sample_weight, pos_label)
    precision, recall, _ = _sklearn.precision_recall_curve(positive, rank, sample_weight=weight)
    return precision, recall, distinct
