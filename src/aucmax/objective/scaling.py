"""Into the solver's coordinates and back: `standardize` and the intercept.

v_j, the mean squared difference of feature j over any two rows (twice its variance), is what
`standardize` = γ divides by: feature j by v_j^{γ/2}, then all by one constant so that the mean
squared distance of two rows is 2, as it is for uncorrelated rows of unit norm. Both steps are
unchanged by a shift of all rows. With the class weights they change: a feature that is rare among
all rows counts for more, and where positives are rare such features may be what tells them.
"""

import numpy as np

__all__ = ["feature_factors", "midpoint_intercept"]


def feature_factors(spread: np.ndarray, gamma: float) -> np.ndarray | None:
    """Return what each feature is multiplied by, or None where nothing changes.

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


def midpoint_intercept(coef: np.ndarray, mean_pos: np.ndarray, mean_neg: np.ndarray) -> float:
    """Return the intercept that puts the threshold midway between the projected class means."""
    return float(-0.5 * (coef @ mean_pos + coef @ mean_neg))
