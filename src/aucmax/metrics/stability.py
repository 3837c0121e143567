"""How far apart two distributions are: of two classes' scores, or of rows then and now."""

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
    """Kolmogorov and Smirnov's distance of the two classes' scores: the largest ∣TPR − FPR∣.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.

    Returns
    -------
    float
        From 0, where the classes have the same scores, to 1, where one threshold separates them.
        The distance has no direction: −score gives the same. Whether positives score higher or
        lower shows in the AUC, above or below ½.

    Notes
    -----
    The two-sided statistic of two samples, ``scipy.stats.ks_2samp(...).statistic``, with weights.

    Examples
    --------
    >>> from aucmax.metrics import ks_statistic
    >>> ks_statistic([0, 0, 1, 1], [0.1, 0.6, 0.5, 0.9])
    0.5
    """
    fpr, tpr, _ = roc_curve(y, score, sample_weight, pos_label)
    return float(np.max(np.abs(tpr - fpr)))


def population_stability(expected: ArrayLike, actual: ArrayLike) -> float:
    """Population stability index: Σ (a − e) log(a / e) over the shares of rows in bins.

    Under 0.1 is commonly read as no change, over 0.25 as a large one.

    Parameters
    ----------
    expected, actual : array-like, shape (k,)
        Rows in each bin, before and now. An empty bin counts as half a row, unless it is empty in
        both.

    Returns
    -------
    float
        0 or more.

    Raises
    ------
    ValueError
        If they are not of one length, or one of them holds no rows.

    Examples
    --------
    >>> from aucmax.metrics import population_stability
    >>> round(population_stability([50, 50], [60, 40]), 4)
    0.0405
    """
    counts = [np.asarray(rows, dtype=np.float64) for rows in (expected, actual)]
    if counts[0].shape != counts[1].shape or counts[0].ndim != 1:
        raise ValueError(
            f"expected and actual must be of one length; got {counts[0].shape}, {counts[1].shape}."
        )
    if not all(np.isfinite(rows).all() and (rows >= 0).all() and rows.any() for rows in counts):
        raise ValueError("expected and actual must hold rows, none of them less than 0.")
    some = (counts[0] > 0) | (counts[1] > 0)
    before, now = (np.where(rows > 0, rows, 0.5)[some] / rows.sum() for rows in counts)
    return float((now - before) @ np.log(now / before))
