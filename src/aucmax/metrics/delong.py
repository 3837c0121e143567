"""DeLong's variance of the area under the ROC curve, and Hoeffding's bounds where it fails.

docs/auc_intervals.md gives the formulas and references.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import rel_entr

from aucmax.metrics.levels import area, levels_of, rivals_above
from aucmax.metrics.reading import Bools, Floats, Labels, read

__all__ = [
    "ROUNDING",
    "Pair",
    "delong_variances",
    "effective_rows",
    "hoeffding_interval",
    "hoeffding_log_p",
    "paired",
    "smaller_class",
]

ROUNDING = 1e-12  # shares of a class that differ by less are equal


class Pair(NamedTuple):
    """Two scorers on the same rows."""

    difference: float
    variance: float  # DeLong's
    smaller: float  # rows of the smaller class
    alike: bool  # whether they rank all rows alike


def paired(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    pos_label: Any,
    sample_weight: ArrayLike | None,
) -> Pair:
    """Return the difference of two areas, its variance, and what the bounds need."""
    positive, weight, a, b = read(y, sample_weight, pos_label, score_a=score_a, score_b=score_b)
    levels_a, levels_b = levels_of(positive, weight, a), levels_of(positive, weight, b)
    difference = area(levels_a) - area(levels_b)
    rise = rivals_above(levels_a, positive) - rivals_above(levels_b, positive)
    if weight is not None:  # sums in different orders differ by rounding
        total = np.where(positive, weight[~positive].sum(), weight[positive].sum())
        rise[np.abs(rise) <= ROUNDING * total] = 0.0
    variance = sum(delong_variances(positive, rise, weight))
    return Pair(difference, variance, smaller_class(positive, weight), not rise.any())


def smaller_class(positive: Bools, weight: Floats | None) -> float:
    """Return the rows of the smaller class; with weights, Kish's effective number of rows."""
    if weight is None:
        m = int(positive.sum())
        return min(m, positive.size - m)
    return min(effective_rows(weight[rows]) for rows in (positive, ~positive))


def effective_rows(weight: Floats) -> float:
    """Return Kish's effective number of rows, (Σ w)² / Σ w²: their number if all weigh the same."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share @ share))


def delong_variances(positive: Bools, above: Floats, weight: Floats | None) -> tuple[float, float]:
    """Return var(V10)/m and var(V01)/n from `rivals_above`; zeros if a class has one row only."""
    if smaller_class(positive, weight) < 2 - ROUNDING:
        return 0.0, 0.0
    # n (1 - V10) rivals lie above a positive, with the same variance; m V01 above a negative.
    of_positives, of_negatives = above[positive], above[~positive]
    # Multiples of ½, less the first of them: equal shares have variance zero exactly.
    of_positives, of_negatives = of_positives - of_positives[0], of_negatives - of_negatives[0]
    if weight is None:
        m, n = of_positives.size, of_negatives.size
        v10, v01 = of_positives / n, of_negatives / m
        return float(v10.var(ddof=1)) / m, float(v01.var(ddof=1)) / n
    of_weight = weight[positive], weight[~positive]
    u, w = (part / part.sum() for part in of_weight)
    v10, v01 = of_positives / of_weight[1].sum(), of_negatives / of_weight[0].sum()
    return _variance_of_mean(v10, u), _variance_of_mean(v01, w)


def _variance_of_mean(values: Floats, share: Floats) -> float:
    """Return Σ share² (v − mean)² k/(k − 1) for shares that sum to 1: var/n if they are equal."""
    k = effective_rows(share)
    if np.abs(values).max() <= ROUNDING:
        return 0.0
    return float(np.sum((share * (values - share @ values)) ** 2)) * k / (k - 1)


def hoeffding_interval(mean: float, k: float, confidence: float) -> tuple[float, float]:
    """Return all θ with k KL(mean ‖ θ) ≤ log(2 / (1 - confidence)), for a mean in [0, 1]."""
    bound = np.log(2 / (1 - confidence)) / k

    def lower(mean: float) -> float:
        def excess(log_theta: float) -> float:
            theta = np.exp(log_theta)
            return float(rel_entr(mean, theta) + rel_entr(1 - mean, 1 - theta) - bound)

        # Solved for log θ, in which the divergence is nearly linear; θ may be below any float.
        least = np.log(np.finfo(float).tiny)
        if mean == 0.0 or excess(least) <= 0.0:
            return 0.0
        return float(np.exp(brentq(excess, least, np.log(mean))))

    return lower(mean), 1.0 - lower(1.0 - mean)


def hoeffding_log_p(difference: float, k: float) -> float:
    """Return the log of a bound on P(|A - B| ≥ difference), for AUCs of equal expectation."""
    half_up = (1 + difference) / 2
    divergence = rel_entr(half_up, 0.5) + rel_entr(1 - half_up, 0.5)
    return min(0.0, float(np.log(2) - k * divergence))
