"""The area under the ROC curve from positives and unlabelled rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from aucmax.basics.checks import number
from aucmax.metrics.intervals import AUCInterval, auc_interval
from aucmax.metrics.reading import Labels

__all__ = ["unlabelled_auc"]


def unlabelled_auc(
    y: Labels,
    score: ArrayLike,
    prior: float,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> AUCInterval:
    """Return the area under the ROC curve if only some positives are labelled, and no negatives.

    Parameters
    ----------
    y : array-like of shape (n,)
        The positive label for labelled positives, another label for unlabelled rows.
    score, pos_label, sample_weight, groups
        As for `auc_interval`.
    prior : float
        π, the share of positives among the unlabelled rows, from 0 to below 1.
    confidence : float, default=0.95
        Coverage of the two-sided interval, above 0 and below 1.

    Returns
    -------
    AUCInterval
        The named tuple ``(auc, low, high, std_error)``; areas are cut off at 0 and 1.

    Raises
    ------
    ValueError
        If `prior` is not in [0, 1), if no area from 0 to 1 is compatible with it, and for the
        reasons given in `auc_interval`.

    Notes
    -----
    A share π of the unlabelled rows are positives, half of which score below a labelled positive:
    the area against unlabelled rows is (1 − π) AUC + π/2 [1]_. The labelled positives must be a
    random sample of all positives. π cannot be learnt from the ranking and is treated as known: the
    interval only reflects the sampling of rows, so compare the areas for several π.

    References
    ----------
    .. [1] Menon, van Rooyen, Ong, Williamson (2015). Learning from corrupted binary labels via
       class-probability estimation. ICML, 125-134.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ill = rng.random(20_000) < 0.2
    >>> score = rng.normal(size=20_000) + ill
    >>> labelled = ill & (rng.random(20_000) < 0.3)
    >>> print("{:.3f}".format(ill[~labelled].mean()))
    0.147
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*unlabelled_auc(labelled, score, 0.147)[:3]))
    0.761 (0.744 to 0.777)
    """
    prior = float(number(prior, "prior", high=1.0, open_high=True))
    observed = auc_interval(y, score, confidence, pos_label, sample_weight, groups)
    auc, low, high = ((area - 0.5 * prior) / (1.0 - prior) for area in observed[:3])
    if low > 1.0:
        raise ValueError(
            f"the area against unlabelled rows, {observed.auc:.3f} (at least {observed.low:.3f}), "
            f"is larger than prior={prior:g} allows: at most {1.0 - 0.5 * prior:.3f}; give a "
            "smaller prior."
        )
    if high < 0.0:
        raise ValueError(
            f"the area against unlabelled rows, {observed.auc:.3f} (at most {observed.high:.3f}), "
            f"is smaller than prior={prior:g} allows: at least {0.5 * prior:.3f}; give a smaller "
            "prior, or negate the scores."
        )
    auc, low, high = (min(max(area, 0.0), 1.0) for area in (auc, low, high))
    return AUCInterval(auc, low, high, observed.std_error / (1.0 - prior))
