"""The logistic loss of single rows, both classes weighing the same, at the best threshold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aucmax.objective.losses.base import Bends, ByRow, RankingLoss
from aucmax.rows import compiled

__all__ = ["BalancedLogistic"]


class BalancedLogistic(RankingLoss):
    """min over b of ½ Σ_i s_i log(1 + exp(−y_i (z_i + b))).

    As s sums to 1 in each class, it is the mean over each class, half of each. What is small by it
    has small pairwise regret, too: its excess bounds that of the AUC (Kotłowski et al. 2011).
    The threshold −b is gone: the best one follows the scores, so that a constant added to all of
    them changes nothing.

    References
    ----------
    Kotłowski, Dembczyński & Hüllermeier (2011), "Bipartite ranking through minimization of
    univariate loss", ICML.
    """

    name = "logistic"
    at_zero = float(np.log(2.0))
    slope_at_zero = -0.25
    bends_at_zero = Bends(0.125, 0.0625)

    def at(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> "AtThreshold":
        gradient, bent = np.empty(len(z)), np.empty(len(z))
        value, b = _at_best_threshold(z, sign, s, gradient, bent)
        return AtThreshold(value, gradient, bent, b)


@dataclass(frozen=True)
class AtThreshold(ByRow):
    """The loss at scores z and the best ``intercept`` b, as a function of z alone."""

    value: float
    gradient: np.ndarray
    bent: np.ndarray
    intercept: float
    follows: ClassVar[bool] = True


@compiled
def _at_best_threshold(z, sign, s, gradient, bent):
    # b is the root of Σ gradient, which rises with b: Newton steps, kept between two bounds
    low, high, b = -np.inf, np.inf, 0.0
    for i in range(len(z)):
        low, high = max(low, -z[i]), min(high, -z[i])
        b -= 0.5 * s[i] * z[i]
    low, high = min(low, high), max(low, high)
    there = False
    for _ in range(200):
        slope, bend = 0.0, 0.0
        for i in range(len(z)):
            t = sign[i] * (z[i] + b)
            e = np.exp(-abs(t))
            q = (e if t > 0.0 else 1.0) / (1.0 + e)
            gradient[i] = -0.5 * s[i] * sign[i] * q
            bent[i] = 0.5 * s[i] * e / (1.0 + e) ** 2
            slope += gradient[i]
            bend += bent[i]
        if there or slope == 0.0 or not np.isfinite(slope):
            break
        if slope > 0.0:
            high = b
        else:
            low = b
        new = b - slope / bend
        if not low <= new <= high:
            new = 0.5 * (low + high)
        there = abs(new - b) <= 1e-7
        b = new
    value = 0.0
    for i in range(len(z)):
        t = sign[i] * (z[i] + b)
        value += 0.5 * s[i] * (np.log1p(np.exp(-abs(t))) + max(-t, 0.0))
    return value, b
