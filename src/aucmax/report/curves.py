"""ROC and precision-recall curves with their bands, thinned to what an image can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucmax import metrics
from aucmax.metrics.delong import effective_rows

__all__ = ["Band", "mean_precision_recall", "mean_roc", "precision_recall", "roc", "wilson"]

Floats = NDArray[np.float64]

_MOST_POINTS = 500
_GRID = np.linspace(0.0, 1.0, 201)


class Band(NamedTuple):
    """A curve and the area around it.

    Parameters
    ----------
    x, y : ndarray of shape (m,)
        The curve.
    edge_x, edge_y : ndarray
        The outline of the band, a closed polygon.
    """

    x: Floats
    y: Floats
    edge_x: Floats
    edge_y: Floats


def wilson(hits: ArrayLike, trials: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's interval for a share.

    Parameters
    ----------
    hits, trials : array-like of int
        How often it happened, out of how many; trials of 0 give (0, 1).
    confidence : float
        Coverage, above 0 and below 1.

    Returns
    -------
    low, high : ndarray
        The ends, from 0 to 1.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference. Journal
    of the American Statistical Association 22, 209-212.
    """
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    middle = (k + z2 / 2) / (n + z2)
    reach = np.sqrt(z2 * (np.where(n > 0, k * (n - k) / np.maximum(n, 1), 0.0) + z2 / 4)) / (n + z2)
    low = np.where(k == 0, 0.0, np.maximum(middle - reach, 0.0))
    high = np.where(k == n, 1.0, np.minimum(middle + reach, 1.0))
    return low, high


def roc(
    positive: NDArray[np.bool_],
    score: ArrayLike,
    confidence: float,
    weight: Floats | None = None,
) -> Band:
    """ROC curve with a band that holds each threshold's true point with a given confidence.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Which rows are positive; both kinds must occur.
    score : array-like of shape (n,)
        The scores.
    confidence : float
        Of the joint region of false-positive rate and recall at any one threshold.
    weight : ndarray of shape (n,), optional
        Of the rows; the band counts as many rows as Kish's effective number of a class.

    Returns
    -------
    Band
        False-positive rate and recall, from (0, 0) to (1, 1).

    Notes
    -----
    At a threshold the two rates are binomial shares of independent classes, so the product of
    their Wilson intervals, each of level √confidence, is a joint region of that confidence. The
    band is swept by these rectangles: pointwise in the threshold, not for the whole curve at once.
    """
    fpr, tpr, _ = metrics.roc_curve(positive, score, weight)
    kept = _thinned(fpr + tpr)
    fpr, tpr = fpr[kept], tpr[kept]
    n_positive, n_negative = (_effective(positive == kind, weight) for kind in (True, False))
    level = float(np.sqrt(confidence))
    x_low, x_high = wilson(fpr * n_negative, np.full(len(fpr), n_negative), level)
    y_low, y_high = wilson(tpr * n_positive, np.full(len(tpr), n_positive), level)
    upper_x, upper_y = np.r_[0.0, x_low, 1.0], np.r_[0.0, y_high, 1.0]
    lower_x, lower_y = np.r_[0.0, x_high, 1.0], np.r_[0.0, y_low, 1.0]
    return Band(fpr, tpr, np.r_[upper_x, lower_x[::-1]], np.r_[upper_y, lower_y[::-1]])


def precision_recall(
    positive: NDArray[np.bool_],
    score: ArrayLike,
    confidence: float,
    weight: Floats | None = None,
) -> Band:
    """Precision against recall, in steps, with a band for the precision at each threshold.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Which rows are positive; both kinds must occur.
    score : array-like of shape (n,)
        The scores.
    confidence : float
        Of Wilson's interval for the precision at any one threshold.
    weight : ndarray of shape (n,), optional
        Of the rows; the band counts them by Kish's effective number.

    Returns
    -------
    Band
        Recall and precision, the recall rising from 0.
    """
    fpr, tpr, _ = metrics.roc_curve(positive, score, weight)
    share = _shares(positive, weight)
    total = _effective(np.ones(len(positive), dtype=bool), weight)
    found = _whole(tpr[1:] * share * total, weight)
    taken = found + _whole(fpr[1:] * (1 - share) * total, weight)
    recall = tpr[1:]
    rises = recall > np.r_[0.0, recall[:-1]]  # the steps between change neither curve nor area
    recall, found, taken = recall[rises], found[rises], taken[rises]
    kept = _thinned(
        np.cumsum(
            np.abs(np.diff(recall, prepend=0.0)) + np.abs(np.diff(found / taken, prepend=1.0))
        )
    )
    recall, found, taken = recall[kept], found[kept], taken[kept]
    low, high = wilson(found, taken, confidence)
    x, y = _steps(recall, found / taken)
    _, y_low = _steps(recall, low)
    _, y_high = _steps(recall, high)
    return Band(x, y, np.r_[x, x[::-1]], np.r_[y_low, y_high[::-1]])


def _effective(rows: NDArray[np.bool_], weight: Floats | None) -> float:
    """How many rows these are; of unequal weights, Kish's effective number."""
    return float(rows.sum()) if weight is None else effective_rows(weight[rows])


def _shares(positive: NDArray[np.bool_], weight: Floats | None) -> float:
    """The share of the positives."""
    return float(np.average(positive, weights=weight))


def _whole(counts: Floats, weight: Floats | None) -> Floats:
    """Counts of rows, without their rounding errors."""
    return np.rint(counts) if weight is None else counts


Part = tuple[NDArray[np.bool_], ArrayLike] | tuple[NDArray[np.bool_], ArrayLike, Floats | None]


def mean_roc(parts: Sequence[Part]) -> Band:
    """Mean recall at each false-positive rate over several test sets, ± one standard deviation.

    Parameters
    ----------
    parts : sequence of (positive, score) or (positive, score, weight)
        One for each test set.

    Returns
    -------
    Band
        On a fixed grid of false-positive rates.
    """
    curves = []
    for part in parts:
        fpr, tpr, _ = metrics.roc_curve(*part)
        last = np.r_[np.flatnonzero(np.diff(fpr)), len(fpr) - 1]  # the top of each vertical piece
        curves.append(np.interp(_GRID, fpr[last], tpr[last]))
    return _around(np.stack(curves))


def mean_precision_recall(parts: Sequence[Part]) -> Band:
    """Mean precision at each recall over several test sets, ± one standard deviation.

    Parameters
    ----------
    parts : sequence of (positive, score) or (positive, score, weight)
        One for each test set.

    Returns
    -------
    Band
        On a fixed grid of recalls.
    """
    curves = []
    for part in parts:
        precision, recall, _ = metrics.precision_recall_curve(*part)
        precision, recall = precision[:-1][::-1], recall[:-1][::-1]  # recall rising
        first = np.searchsorted(recall, _GRID - 1e-12)
        curves.append(precision[np.minimum(first, len(recall) - 1)])
    return _around(np.stack(curves))


def _around(curves: Floats) -> Band:
    mean = curves.mean(axis=0)
    spread = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros(len(mean))
    low, high = np.clip(mean - spread, 0, 1), np.clip(mean + spread, 0, 1)
    return Band(_GRID, mean, np.r_[_GRID, _GRID[::-1]], np.r_[low, high[::-1]])


def _steps(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The corners of a step function that has the value y[i] on (x[i−1], x[i]]."""
    return np.repeat(np.r_[0.0, x], 2)[1:-1], np.repeat(y, 2)


def _thinned(along: Floats) -> NDArray[np.int64]:
    """Positions of at most so many points, evenly along a rising quantity; both ends stay."""
    if len(along) <= _MOST_POINTS:
        return np.arange(len(along))
    kept = np.searchsorted(along, np.linspace(along[0], along[-1], _MOST_POINTS))
    return np.unique(np.r_[0, np.minimum(kept, len(along) - 1), len(along) - 1])
