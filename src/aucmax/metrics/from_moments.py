"""The AUC implied by means and variances of scores, when the scores are unknown."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

__all__ = ["MomentAUC", "moment_auc"]


class MomentAUC(NamedTuple):
    """An estimate of the area under the ROC curve from moments, and bounds.

    Parameters
    ----------
    binormal : float or ndarray
        An estimate: the area if the scores of both classes are normal.
    low, high : float or ndarray
        Bounds: the smallest and the largest area of any scores with these moments.

    See Also
    --------
    moment_auc : Computes it.
    """

    binormal: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray


def moment_auc(gap: ArrayLike, variance: ArrayLike) -> MomentAUC:
    """Return the area under the ROC curve implied by means and variances of the scores.

    Parameters
    ----------
    gap : float or array-like
        The mean score of the positives minus that of the negatives, in units of the scores.
    variance : float or array-like
        The sum of the variances of both classes, in these units squared. For the area of particular
        rows, not of a population, use variances divided by the number of rows (ddof 0).

    Returns
    -------
    MomentAUC
        The named tuple ``(binormal, low, high)``: an estimate under an assumption, and bounds
        without one.

    Notes
    -----
    The score of a positive minus that of a negative has mean g and variance v. If the difference is
    normal, it is above 0 with probability Φ(g/√v), the binormal area [1]_. For any distribution, if
    g > 0, it is at most 0 with probability at most v/(v + g²), by Cantelli's inequality [2]_, so
    the area is at least g²/(v + g²); if g < 0, the area is at most v/(v + g²). Some scores with
    these moments come arbitrarily close to the bound.

    References
    ----------
    .. [1] Hanley, McNeil (1982). The meaning and use of the area under a receiver operating
       characteristic (ROC) curve. Radiology 143, 29-36.
    .. [2] Cantelli (1928). Sui confini della probabilità. Atti del Congresso Internazionale dei
       Matematici 6, 47-59.

    Examples
    --------
    >>> from aucmax import AUCClassifier, ClassMoments
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.2
    >>> moments = ClassMoments.from_data(rng.normal(size=(1000, 2)) + y[:, None], y)
    >>> w = AUCClassifier().fit_moments(moments).coef_[0]
    >>> gap = w @ (moments.mean_pos - moments.mean_neg)
    >>> area = moment_auc(gap, w @ (moments.cov_pos + moments.cov_neg) @ w)
    >>> print("{:.2f} if normal, {:.2f} to {:.2f} in any case".format(*area))
    0.82 if normal, 0.47 to 1.00 in any case
    """
    g, v = np.asarray(gap, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    if np.any(v < 0.0) or not (np.isfinite(g).all() and np.isfinite(v).all()):
        raise ValueError("gap and variance must be finite, and variance must not be negative.")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(g == 0.0, 0.0, g / np.sqrt(v))
        beaten = 1.0 / (1.0 + ratio**-2.0)  # g²/(v + g²), whose squares could overflow
    low, high = np.where(g > 0.0, beaten, 0.0), np.where(g < 0.0, 1.0 - beaten, 1.0)
    tied = (g == 0.0) & (v == 0.0)  # all scores are the same
    areas = ndtr(ratio), np.where(tied, 0.5, low), np.where(tied, 0.5, high)
    return MomentAUC(*(area if area.ndim else float(area) for area in map(np.asarray, areas)))
