"""Distances between two distributions: scores of two classes, or rows before and now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax.metrics.curves import roc_curve
from aucmax.metrics.reading import Labels

__all__ = ["ks_statistic", "population_stability"]


def ks_statistic(
    y: Labels, score: ArrayLike, sample_weight: ArrayLike | None = None, pos_label: Any = None
) -> float:
    """Return the Kolmogorov-Smirnov distance between two classes' scores, the largest ∣TPR − FPR∣.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.

    Returns
    -------
    float
        From 0, if the classes have the same distribution of scores, to 1, if a threshold separates
        them. The distance has no direction: −score gives the same value. The AUC, above or below ½,
        shows whether positives score higher or lower.

    Notes
    -----
    The two-sided two-sample statistic, ``scipy.stats.ks_2samp(...).statistic``, with weights.

    Examples
    --------
    >>> from aucmax.metrics import ks_statistic
    >>> ks_statistic([0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9])
    0.5
    """
    fpr, tpr, _ = roc_curve(y, score, sample_weight, pos_label)
    return float(np.max(np.abs(tpr - fpr)))


def population_stability(expected: ArrayLike, actual: ArrayLike) -> float:
    """Return the population stability index: Σ (a − e) log(a / e) over the shares of rows in bins.

    By convention, less than 0.1 means no change, and more than 0.25 a large change.

    Parameters
    ----------
    expected, actual : array-like, shape (k,)
        The number of rows in each bin, before and now. An empty bin counts as half a row, unless it
        is empty in both.

    Returns
    -------
    float
        The index, 0 or more.

    Raises
    ------
    ValueError
        If the lengths differ, or one of the two has no rows.

    Examples
    --------
    >>> from aucmax.metrics import population_stability
    >>> round(population_stability([50, 50], [60, 40]), 4)
    0.0405
    """
    counts = [np.asarray(rows, dtype=np.float64) for rows in (expected, actual)]
    if counts[0].shape != counts[1].shape or counts[0].ndim != 1:
        raise ValueError(
            "expected and actual must have the same length; got shapes "
            f"{counts[0].shape} and {counts[1].shape}."
        )
    if not all(np.isfinite(rows).all() and (rows >= 0).all() and rows.any() for rows in counts):
        raise ValueError("expected and actual must be counts of rows: 0 or more, not all 0.")
    occupied = (counts[0] > 0) | (counts[1] > 0)
    before, now = (np.where(rows > 0, rows, 0.5)[occupied] / rows.sum() for rows in counts)
    return float((now - before) @ np.log(now / before))
