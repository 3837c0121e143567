"""What the means and variances of scores tell of their AUC, where the scores are not known."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

__all__ = ["MomentAUC", "moment_auc"]


class MomentAUC(NamedTuple):
    """What moments tell of an area under the ROC curve.

    Parameters
    ----------
    binormal : float or ndarray
        An estimate: the area if the scores of both classes are normal.
    low, high : float or ndarray
        A guarantee: the least and the largest area of any scores with these moments.

    See Also
    --------
    moment_auc : Makes it.
    """

    binormal: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray


def moment_auc(gap: ArrayLike, variance: ArrayLike) -> MomentAUC:
    """Area under the ROC curve as far as means and variances of the scores tell it.

    Parameters
    ----------
    gap : float or array-like
        The mean score of the positives less that of the negatives, in the scores' units.
    variance : float or array-like
        The sum of both classes' variances, in the units squared. For the area of given rows, not
        of a population, those that are divided by the number of rows.

    Returns
    -------
    MomentAUC
        The named tuple ``(binormal, low, high)``: an estimate under an assumption, and bounds
        without one.

    Notes
    -----
    The score of a positive less that of a negative has mean g and variance v. If it is normal, it
    is above 0 with probability Φ(g/√v), the binormal area [1]_. Whatever it is, it is at most 0
    with probability v/(v + g²) at most if g > 0, by Cantelli's inequality [2]_, so the area is at
    least g²/(v + g²); and at most v/(v + g²) if g < 0. Some scores with these moments come as near
    to the bound as you like.

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
        raise ValueError("gap and variance must be finite, and no variance negative.")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(g == 0.0, 0.0, g / np.sqrt(v))
        beaten = 1.0 / (1.0 + ratio**-2.0)  # g²/(v + g²), whose squares could overflow
    low, high = np.where(g > 0.0, beaten, 0.0), np.where(g < 0.0, 1.0 - beaten, 1.0)
    tied = (g == 0.0) & (v == 0.0)  # all scores are the same
    found = ndtr(ratio), np.where(tied, 0.5, low), np.where(tied, 0.5, high)
    return MomentAUC(*(part if part.ndim else float(part) for part in map(np.asarray, found)))
