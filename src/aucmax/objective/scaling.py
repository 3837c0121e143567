"""The solver's coordinates: `standardize` and the intercept.

`standardize` = γ divides feature j by v_j^{γ/2}, where v_j is the feature's mean squared difference
between two rows (twice its variance), and then all features by one constant, so that the mean
squared distance of two rows is 2, as for uncorrelated rows of unit norm. A shift of all rows
changes neither. Class weights change both: a feature that is rare among all rows gains weight, and
if positives are rare, such features may be the ones that identify them.
"""

import numpy as np

__all__ = ["feature_factors", "midpoint_intercept", "slope_influences"]


def feature_factors(spread: np.ndarray, gamma: float) -> np.ndarray | None:
    """Return the factor of each feature, or None if nothing changes.

    Parameters
    ----------
    spread : ndarray, shape (d,)
        v_j, in the features' units squared.
    gamma : float
        `standardize`, in [0, 1].

    Returns
    -------
    ndarray of shape (d,), or None if gamma is 0
        0 where v_j = 0: such a feature gets coefficient 0.
    """
    if gamma == 0.0:
        return None
    varies = spread > 0
    factor = np.zeros(len(spread))
    factor[varies] = spread[varies] ** (-gamma / 2)
    total = float(np.sum(spread[varies] ** (1.0 - gamma)))
    return factor * np.sqrt(2.0 / total) if total > 0 else factor


def slope_influences(
    Z: np.ndarray, distances: np.ndarray, class_share: np.ndarray, gamma: float, fall: np.ndarray
) -> np.ndarray:
    """Return how the penalty's slope changes with each row's share of its class, shape (n, d).

    The result is up to a constant for each class. A row changes v_j by 2 × its share of all weight
    × its squared distance from the mean in feature j, and thus the logarithm of feature j's factor
    by −(share of all weight) · [γ z_ij² + (1−γ) D_i]: one term from v_j, one from the constant.

    Parameters
    ----------
    Z : ndarray, shape (n, d)
        z_ij, the difference of feature j from its mean, in units of √v_j.
    distances : ndarray, shape (n,)
        D_i, half the squared distance of each row from the mean, in scaled coordinates and over all
        features, including those that are not in Z.
    class_share : ndarray, shape (n,)
        The share of each row's class in the total weight.
    gamma : float
        `standardize`.
    fall : ndarray, shape (d,)
        How much the penalty's slope decreases as the logarithm of feature j's factor increases.
    """
    moved = gamma * Z**2 + (1.0 - gamma) * distances[:, None]
    return class_share[:, None] * moved * fall


def midpoint_intercept(coef: np.ndarray, mean_pos: np.ndarray, mean_neg: np.ndarray) -> float:
    """Return the intercept that puts the threshold midway between the projected class means."""
    return float(-0.5 * (coef @ mean_pos + coef @ mean_neg))
