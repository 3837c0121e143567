"""The logistic loss of single rows, both classes weighing the same, at the best intercept."""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from aucmax.objective.losses.base import Bends, ByRow, RankingLoss
from aucmax.rows import compiled, inlined

__all__ = ["BalancedLogistic"]


class BalancedLogistic(RankingLoss):
    """min over b of ½ Σ_i s_i log(1 + exp(−y_i (z_i + b))).

    As s sums to 1 in each class, it is half of each class's mean. Its regret, what it lies above
    the least that any scores reach, bounds the AUC's (Kotłowski et al. 2011). The best b follows
    the scores, so that a constant added to all of them changes nothing.

    References
    ----------
    Kotłowski, Dembczyński & Hüllermeier (2011), "Bipartite ranking through minimization of
    univariate loss", ICML.
    """

    name = "logistic"
    concordant = True
    at_zero = float(np.log(2.0))
    slope_at_zero = -0.25
    bends_at_zero = Bends(0.125, 0.0625)

    def at(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> "AtThreshold":
        gradient, bent = np.empty(len(z)), np.empty(len(z))
        b = _best_intercept(z, sign, s)
        value = _terms(z, sign, s, b, gradient, bent)
        return AtThreshold(value, gradient, bent, b)


@dataclass(frozen=True)
class AtThreshold(ByRow):
    """The loss at scores z and the best ``intercept`` b, as a function of z alone."""

    value: float
    gradient: np.ndarray
    bent: np.ndarray
    intercept: float
    follows: ClassVar[bool] = True


# ---- one pass over the scores ---------------------------------------------------------------

# exp and log1p are polynomials, so that several rows go at a time
_vectorised = partial(compiled, reorder=True)
_LOG2 = math.log(2.0)
_EXP = tuple(1.0 / math.factorial(k) for k in range(14))  # of exp(r), |r| ≤ ½ log 2
_ROOT = Chebyshev.interpolate(lambda x: np.arctanh(x**0.5) / x**0.5, 10, domain=[0.0, 1.0 / 9.0])
_ATANH = tuple(_ROOT.convert(kind=Polynomial, domain=[-1.0, 1.0]).coef)  # atanh(√x)/√x, x ≤ 1/9


@inlined
def _exp(t):
    # exp(t) for t ≤ 0, as 2^k exp(r): the exponent's bits, and a polynomial
    t = max(t, -700.0) / _LOG2
    k = np.floor(t + 0.5)
    r = (t - k) * _LOG2
    total = _EXP[-1]
    for j in range(len(_EXP) - 2, -1, -1):
        total = total * r + _EXP[j]
    return total * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@inlined
def _log1p(e):
    # log(1 + e) for 0 ≤ e ≤ 1, as 2 atanh(e/(2 + e)): it keeps the digits of a small e
    x = e / (2.0 + e)
    total = _ATANH[-1]
    for j in range(len(_ATANH) - 2, -1, -1):
        total = total * (x * x) + _ATANH[j]
    return 2.0 * x * total


@compiled
def _best_intercept(z, sign, s):
    # the root of Σ gradient, which rises with b: Newton steps, kept between two bounds
    b = 0.0
    low, high = np.inf, -np.inf
    for i in range(len(z)):
        low, high = min(low, -z[i]), max(high, -z[i])
        b -= 0.5 * s[i] * z[i]
    for _ in range(200):
        slope, bend = _slope_and_bend(z, sign, s, b)
        if slope == 0.0 or not np.isfinite(slope):
            break
        if slope > 0.0:
            high = b
        else:
            low = b
        new = b - slope / bend
        if not low <= new <= high:
            new = 0.5 * (low + high)
        step, b = abs(new - b), new
        if step <= 1e-7:  # what is left is less than its square
            break
    return b


@_vectorised
def _slope_and_bend(z, sign, s, b):
    slope, bend = 0.0, 0.0
    for i in range(len(z)):
        t = sign[i] * (z[i] + b)
        e = _exp(-abs(t))
        near = 1.0 / (1.0 + e)
        far = e * near
        slope -= sign[i] * s[i] * (far if t > 0.0 else near)
        bend += s[i] * far * near
    return 0.5 * slope, 0.5 * bend


@_vectorised
def _terms(z, sign, s, b, gradient, bent):
    value = 0.0
    for i in range(len(z)):
        t = sign[i] * (z[i] + b)
        e = _exp(-abs(t))
        near = 1.0 / (1.0 + e)
        far = e * near
        gradient[i] = -0.5 * sign[i] * s[i] * (far if t > 0.0 else near)
        bent[i] = 0.5 * s[i] * far * near
        value += s[i] * (_log1p(e) + max(-t, 0.0))
    return 0.5 * value
