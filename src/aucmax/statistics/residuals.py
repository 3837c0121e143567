"""Tests whether the cells of columns say more about the labels than a score does.

If P(positive | x) = h(s(x)) for an h that never falls, no ranking is better than the one by s, and
the residuals of the labels, y − h(s), have mean 0 whatever the values of columns. With h from
isotonic regression, u_c is the sum of residuals in a cell and w_c its variance, Σ h(1 − h). Effects
of simpler terms, a line in one column or curves in two, are projected out of u. Against effects of
the cells with prior covariance R Rᵀ, the test by ‖Rᵀu‖² is locally the most powerful on average;
its tail is approximated by that of a multiple of χ² with the same mean and variance.

References
----------
Goeman, van de Geer & van Houwelingen (2006), "Testing against a high dimensional alternative".
Satterthwaite (1946), "An approximate distribution of estimates of variance components".
Simes (1986), "An improved Bonferroni procedure for multiple tests of significance".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.isotonic import isotonic_regression

__all__ = ["p_of_any", "p_values", "residuals"]

_LEAST_VARIANCE = 1e-6  # share of the variance below which the projection leaves only rounding

Floats = NDArray[np.float64]


def residuals(scores: Floats, positive: NDArray[np.bool_], weight: Floats | None) -> Floats:
    """Return the residuals of the labels after the best increasing function of the scores.

    Parameters
    ----------
    scores, positive, weight : ndarray, shape (n,)
        Weights, if any, must be above 0.

    Returns
    -------
    ndarray, shape (n, 3)
        The residual times the weight, its variance and its fourth cumulant. The rows are
        independent, so all three add up.
    """
    w = np.ones(len(scores)) if weight is None else weight
    _, place = np.unique(scores, return_inverse=True)
    total = np.bincount(place, w)
    rates = np.bincount(place, w * positive) / total
    h = isotonic_regression(rates, sample_weight=total)[place]
    variance = h * (1.0 - h)
    fourth = variance * (1.0 - 6.0 * variance)
    return np.column_stack([w * (positive - h), w**2 * variance, w**4 * fourth])


def p_values(sums: Floats, simpler: Floats, root: Floats) -> Floats:
    """Return the p-values of some blocks of cells, shape (m,), one for each block.

    Parameters
    ----------
    sums : ndarray, shape (m, c, 3)
        The sums of `residuals` in each cell.
    simpler : ndarray, shape (c, k)
        The effects on cells to project out.
    root : ndarray, shape (c, r)
        R, a root of the prior covariance.
    """
    left, variance, fourth = np.moveaxis(sums, -1, 0)
    weighed = variance[:, :, None] * root
    inner = np.einsum("ck,mc,cl->mkl", simpler, variance, simpler)
    inverse = np.linalg.pinv(inner, rcond=1e-9, hermitian=True)
    beyond = root - simpler @ (inverse @ (simpler.T @ weighed))  # R without the simpler effects
    covariance = beyond.transpose(0, 2, 1) @ (variance[:, :, None] * beyond)
    statistic = (np.einsum("mcr,mc->mr", beyond, left) ** 2).sum(axis=1)
    mean = np.trace(covariance, axis1=1, axis2=2)
    excess = (fourth * (beyond**2).sum(axis=2) ** 2).sum(axis=1)
    spread = 2.0 * (covariance**2).sum(axis=(1, 2)) + np.maximum(excess, 0.0)
    usable = mean > _LEAST_VARIANCE * np.einsum("mc,cr->m", variance, root**2)
    factor, freedom = (np.ones(len(sums)) for _ in range(2))
    factor[usable] = spread[usable] / (2.0 * mean[usable])
    freedom[usable] = mean[usable] / factor[usable]
    return np.where(usable, chi2.sf(statistic / factor, freedom), 1.0)


def p_of_any(p: Floats) -> float:
    """Return Simes' joint p-value of some tests, 1 if there are none."""
    return float((np.sort(p) * len(p) / np.arange(1, len(p) + 1)).min(initial=1.0))
