"""The logistic loss of single rows, with a weight for each class, at the best intercept."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from aucmax.data.rows.few import FEW_ROWS
from aucmax.data.rows.kernels import inlined, unless, vectorised
from aucmax.data.rows.store import ByClass, Made, Numbers
from aucmax.objective.losses.base import Bends, ByRow, RankingLoss, Shares, row_blocks, total

__all__ = ["AtThreshold", "Logistic"]


class Logistic(RankingLoss):
    """min over b of Σ_i c_i s_i log(1 + exp(−y_i (z_i + b))), c₊ : c₋ = τ : 1 − τ.

    As s sums to 1 in each class, τ = ½ takes half of each class's mean: the regret, the distance to
    the smallest value over all scores, bounds that of the AUC (Kotłowski et al. 2011). If τ is the
    positives' share of the weight, this is plain logistic regression. The best b follows the
    scores, so that a constant added to all of them changes nothing. The weights c₊ = ¼/(1 − τ) and
    c₋ = ¼/τ make the slope at 0 the same for every τ, so that a penalty has the same effect.

    Parameters
    ----------
    within : float
        τ, above 0 and below 1.

    References
    ----------
    Kotłowski, Dembczyński & Hüllermeier (2011), "Bipartite ranking through minimization of
    univariate loss", ICML.
    """

    name = "logistic"
    weighs = has_threshold = concordant = True
    slope_at_zero = -0.25
    usual_alpha = 0.1
    bytes_kept = (2, 0)

    def __init__(self, within: float = 0.5) -> None:
        self.within = within
        self._weights = 0.25 / (1.0 - within), 0.25 / within

    def takes_within(self, within: float) -> bool:
        return bool(np.finfo(float).tiny <= within < 1.0)  # both classes must count

    def weighing(self, within: float) -> "Logistic":
        return Logistic(within)

    @property
    def at_zero(self) -> float:
        tau, (pos, neg) = self.within, self._weights
        return -pos * math.log(tau) - neg * math.log1p(-tau)

    @property
    def bends_at_zero(self) -> Bends:
        return Bends(0.125, 0.25 * self.within * (1.0 - self.within))

    def at(
        self,
        z: np.ndarray,
        sign: Numbers,
        s: Numbers,
        strata: Shares | None = None,
        near: "AtThreshold | None" = None,
    ) -> "AtThreshold":
        """Return the loss at scores z; ``near`` is that of the same rows at scores nearby."""
        weight = _by_class(s, sign, *self._weights) if near is None else near.weight
        at_zero = math.log(self.within) - math.log1p(-self.within)
        b = _best_intercept(z, sign, weight, at_zero, None if near is None else near.intercept)
        if isinstance(sign, np.ndarray) and isinstance(weight, np.ndarray):
            return _at(z, sign, weight, b)
        terms = _Terms(z, sign, weight, b)
        value = sum(terms(rows)[0] for rows in row_blocks(len(z)))
        return AtThreshold(
            value,
            Made(len(z), lambda rows: terms(rows)[1][0]),
            Made(len(z), lambda rows: terms(rows)[1][1]),
            b,
            weight,
        )

    def at_intercept(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, intercept: float
    ) -> "AtThreshold":
        """Return the loss of some of the rows at a given intercept."""
        return _at(z, sign, _by_class(s, sign, *self._weights)[:], intercept)

    def first_intercept(self, mean_pos: float, mean_neg: float) -> float:
        """Return the intercept at which the search for the best one starts.

        Parameters
        ----------
        mean_pos, mean_neg : float
            The mean score of each class.
        """
        (pos, neg), tau = self._weights, self.within
        mean = (pos * mean_pos + neg * mean_neg) / (pos + neg)
        return math.log(tau) - math.log1p(-tau) - mean

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        # a row's slope minus the part that the intercept compensates
        at_z = self.at(z, sign, s)
        bent = at_z.bent[:]
        centre = bent @ X / bent.sum()
        slope = np.divide(at_z.gradient[:], s, out=np.zeros(len(s)), where=s > 0.0)
        return slope[:, None] * (X - centre)


@dataclass(frozen=True)
class AtThreshold(ByRow):
    """The loss at scores z and the best ``intercept`` b, as a function of z alone.

    ``weight`` (n,) are the rows' weights in it.
    """

    value: float
    gradient: Numbers
    bent: Numbers
    intercept: float
    weight: Numbers
    follows: ClassVar[bool] = True


def _at(z: np.ndarray, sign: np.ndarray, weight: np.ndarray, b: float) -> AtThreshold:
    gradient, bent = np.empty((2, len(z)))
    value = _terms(z, sign, weight, b, gradient, bent)
    return AtThreshold(value, gradient, bent, b, weight)


class _Terms(NamedTuple):
    """Scores, signs and weights (n,), and the intercept."""

    z: np.ndarray
    sign: Numbers
    weight: Numbers
    b: float

    def __call__(self, rows: slice) -> tuple[float, np.ndarray]:
        """Return the loss of some rows, and the first and second derivative of each."""
        z = self.z[rows]
        slopes = np.empty((2, len(z)))
        value = _terms(z, self.sign[rows], self.weight[rows], self.b, *slopes)
        return value, slopes


def _by_class(s: Numbers, sign: Numbers, pos: float, neg: float) -> Numbers:
    if isinstance(s, ByClass):
        return s.times(pos, neg)
    return pos * s[:] if pos == neg else np.where(sign[:] > 0, pos, neg) * s


# ---- one pass over the scores ---------------------------------------------------------------

# exp and log1p are polynomials, so that the compiler can vectorise over rows
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
    # log(1 + e) for 0 ≤ e ≤ 1 as 2 atanh(e/(2 + e)), which keeps the digits of a small e
    x = e / (2.0 + e)
    total = _ATANH[-1]
    for j in range(len(_ATANH) - 2, -1, -1):
        total = total * (x * x) + _ATANH[j]
    return 2.0 * x * total


def _best_intercept(
    z: np.ndarray, sign: Numbers, weight: Numbers, at_zero: float, near: float | None
) -> float:
    """Return the root of Σ gradient, which increases with b, by Halley steps within bounds."""
    blocks = [(z[rows], rows) for rows in row_blocks(len(z))]
    # if all scores are the same, z_i + b is `at_zero`
    low, high = at_zero - float(z.max()), at_zero - float(z.min())
    if near is None:
        mean = sum(float(weight[rows] @ part) for part, rows in blocks) / total(weight)
        near = at_zero - mean
    b, before = min(max(near, low), high), math.inf
    for _ in range(200):
        parts = [_derivatives(part, sign[rows], weight[rows], b) for part, rows in blocks]
        slope, bend, turn = parts[0] if len(parts) == 1 else map(sum, zip(*parts, strict=True))
        if slope == 0.0 or not math.isfinite(slope):
            break
        if slope > 0.0:
            high = b
        else:
            low = b
        new = 0.5 * (low + high)  # far from the root, where the slope hardly changes
        if bend > 0.0 and abs(slope) <= 0.5 * before:
            newton = slope / bend
            halley = b - newton / max(1.0 - 0.5 * newton * turn / bend, 0.5)
            new = halley if low <= halley <= high else new
        before = abs(slope)
        step, b = abs(new - b), new
        if step <= 1e-5:  # the error is less than its cube
            break
    return b


def _few(z: np.ndarray, *_: object) -> bool:
    return len(z) <= FEW_ROWS


def _shares(z: np.ndarray, sign: np.ndarray, b: float) -> tuple[np.ndarray, ...]:
    """Return t = y (z + b), exp(−|t|), 1/(1 + exp(−|t|)), and 1 minus the latter."""
    t = sign * (z + b)
    e = np.exp(-np.abs(t))
    near = 1.0 / (1.0 + e)
    return t, e, near, e * near


def _derivatives_of_few(
    z: np.ndarray, sign: np.ndarray, weight: np.ndarray, b: float
) -> tuple[float, float, float]:
    t, _, near, far = _shares(z, sign, b)
    bent = weight * far * near
    slope = -float((sign * weight) @ np.where(t > 0.0, far, near))
    turn = float(bent @ np.where(z + b > 0.0, far - near, near - far))
    return slope, float(bent.sum()), turn


def _terms_of_few(
    z: np.ndarray,
    sign: np.ndarray,
    weight: np.ndarray,
    b: float,
    gradient: np.ndarray,
    bent: np.ndarray,
) -> float:
    t, e, near, far = _shares(z, sign, b)
    gradient[:] = -sign * weight * np.where(t > 0.0, far, near)
    bent[:] = weight * far * near
    return float(weight @ (np.log1p(e) + np.maximum(-t, 0.0)))


@unless(_few, _derivatives_of_few)
@vectorised
def _derivatives(z, sign, weight, b):
    # the first three with respect to b
    slope, bend, turn = 0.0, 0.0, 0.0
    for i in range(len(z)):
        t = sign[i] * (z[i] + b)
        e = _exp(-abs(t))
        near = 1.0 / (1.0 + e)
        far = e * near
        slope -= sign[i] * weight[i] * (far if t > 0.0 else near)
        bent = weight[i] * far * near
        bend += bent
        turn += bent * (far - near if z[i] + b > 0.0 else near - far)
    return slope, bend, turn


@unless(_few, _terms_of_few)
@vectorised
def _terms(z, sign, weight, b, gradient, bent):
    value = 0.0
    for i in range(len(z)):
        t = sign[i] * (z[i] + b)
        e = _exp(-abs(t))
        near = 1.0 / (1.0 + e)
        far = e * near
        gradient[i] = -sign[i] * weight[i] * (far if t > 0.0 else near)
        bent[i] = weight[i] * far * near
        value += weight[i] * (_log1p(e) + max(-t, 0.0))
    return value
