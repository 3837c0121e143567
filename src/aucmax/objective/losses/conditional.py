"""Conditional logistic regression: the likelihood of a stratum's labels, given their numbers.

With k positives among the m rows of a stratum,

    L = exp(Σ_{i positive} z_i) / Σ_{S: |S| = k} exp(Σ_{i in S} z_i),

the probability that just these k rows are positive. Let rows be positive independently, with the
probabilities π_i = 1/(1 + exp(−z_i − c)). For any c the sum follows from the probability that k
rows are positive, which a recursion over the rows gives, with numbers in [0, 1]; at a c for which k
rows are expected, none of them underflows. If most rows are positive, the negatives take their
place.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aucmax.data.rows.kernels import allocating, compiled, inlined
from aucmax.data.rows.store import Numbers
from aucmax.objective.losses.base import Bends, RankingLoss, Shares

__all__ = ["MOST_CELLS", "ConditionalLogistic", "StrataLikelihood", "likelihoods"]

MOST_CELLS = 10_000_000  # rows times positives (or negatives if fewer) up to which L is exact
_TILT_STEPS = 50


class ConditionalLogistic(RankingLoss):
    """Σ_g (ω_g/k_g) (−log L_g), the negative conditional log likelihood per positive.

    Strata with more than `MOST_CELLS` rows times positives have Efron's form,

        L = Π_{l < k} exp(z_(l)) / (Σ_negatives exp(z) + (1 − l/k) Σ_positives exp(z)).

    References
    ----------
    Gail, Lubin & Rubinstein (1981), "Likelihood calculations for matched case-control studies and
    survival studies with tied death times". Efron (1977), "The efficiency of Cox's likelihood
    function for censored data". Chen, Dempster & Liu (1994), "Weighted finite population sampling
    to maximize entropy", for the recursion.
    """

    name = "logistic"
    usual_alpha = 0.3
    slope_at_zero = -0.5
    bends_at_zero = Bends(0.25, 0.25)
    bytes_kept = (60, 0)
    concordant = True

    def at(
        self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None
    ) -> "StrataLikelihood":
        assert strata is not None
        return StrataLikelihood(z, sign[:], s[:], strata)


@dataclass(frozen=True, eq=False)
class StrataLikelihood:
    """The loss at scores z (n,)."""

    z: np.ndarray
    sign: np.ndarray
    s: np.ndarray
    strata: Shares

    @cached_property
    def value(self) -> float:
        return self._evaluated[0]

    @property
    def gradient(self) -> np.ndarray:
        return self._evaluated[1]

    def product(self, u: np.ndarray) -> np.ndarray:
        """Return the second derivative times u (n,)."""
        products, (_, _, tilts) = np.zeros(len(u)), self._evaluated
        _bend(self._rows, self.strata.apart(u), tilts, MOST_CELLS, products)
        return products

    def range_of(self, move: np.ndarray) -> float:
        """Return a bound on the range of what is compared if scores change by ``move`` (n,).

        −log L is the logarithm of a sum of exponentials, minus a linear term. The range is that of
        the exponents in a stratum: sums of k scores, or in Efron's form single scores.
        """
        rarer, exact = _forms(self.sign > 0, self.strata)
        order, bounds = self.strata.by_stratum
        apart, starts = self.strata.apart(move)[order], bounds[:-1]
        of_rows = np.maximum.reduceat(apart, starts) - np.minimum.reduceat(apart, starts)
        return float(np.max(np.where(exact, rarer, 1.0) * of_rows * (self.strata.omega > 0.0)))

    def along(self, move: np.ndarray) -> tuple[float, float]:
        """Return the first and the second derivative along a change of the scores (n,)."""
        return float(self.gradient @ move), float(move @ self.product(move))

    @cached_property
    def _rows(self) -> "_Rows":
        order, bounds = self.strata.by_stratum
        z = self.strata.apart(self.z)
        return _Rows(order, bounds, z, self.sign > 0, self.s, self.strata.omega)

    @cached_property
    def _evaluated(self) -> tuple[float, np.ndarray, np.ndarray]:
        gradient, tilts = np.zeros(len(self.z)), np.zeros(len(self.strata.omega))
        return _slopes(self._rows, tilts, MOST_CELLS, gradient), gradient, tilts


class _Rows(NamedTuple):
    """The rows stratum by stratum, their scores, classes and shares, and the ω of strata."""

    order: np.ndarray
    bounds: np.ndarray
    z: np.ndarray
    positive: np.ndarray
    share: np.ndarray
    omega: np.ndarray


def likelihoods(positive: np.ndarray, strata: Shares) -> tuple[int, int]:
    """Return the numbers of strata whose likelihood is exact, and has Efron's form."""
    _, exact = _forms(positive, strata)
    weighs = strata.omega > 0.0
    return int((exact & weighs).sum()), int((~exact & weighs).sum())


def _forms(positive: np.ndarray, strata: Shares) -> tuple[np.ndarray, np.ndarray]:
    """Return the size of the rarer class and whether L is exact, for each stratum, (G,) each."""
    rows = np.bincount(strata.code, minlength=len(strata.omega))
    few = np.bincount(strata.code, positive, len(strata.omega))
    rarer = np.minimum(few, rows - few)
    return rarer, rows * rarer <= MOST_CELLS


@allocating
def _slopes(data, tilts, most, gradient):
    # the loss and its first derivatives; stores the tilt of each stratum
    size = np.max(np.diff(data.bounds))
    who, z, chosen = np.empty(size, np.int64), np.empty(size), np.empty(size, np.bool_)
    slopes, total = np.empty(size), 0.0
    for g in range(len(data.omega)):
        n, k, side = _members(data, g, who, z, chosen)
        if k == 0:
            continue
        weight = data.omega[g] / (k if side > 0.0 else n - k)
        if k == 1:
            loss = _of_one(z, chosen, n, slopes)
        elif n * k <= most:
            tilts[g] = _tilt(z, n, k)
            loss = _exact(z, chosen, n, k, tilts[g], slopes)
        else:
            loss = _efron(z, chosen, n, side, slopes)
        total += weight * loss
        for m in range(n):
            gradient[who[m]] = weight * side * slopes[m]
    return total


@allocating
def _bend(data, u, tilts, most, out):
    # the second derivative times u
    size = np.max(np.diff(data.bounds))
    who, z, chosen = np.empty(size, np.int64), np.empty(size), np.empty(size, np.bool_)
    v, bent = np.empty(size), np.empty(size)
    for g in range(len(data.omega)):
        n, k, side = _members(data, g, who, z, chosen)
        if k == 0:
            continue
        for m in range(n):
            v[m] = side * u[who[m]]
        if k == 1:
            _bend_of_one(z, v, n, bent)
        elif n * k <= most:
            _exact_bend(z, v, n, k, tilts[g], bent)
        else:
            _efron_bend(z, chosen, v, n, side, bent)
        weight = data.omega[g] / (k if side > 0.0 else n - k)
        for m in range(n):
            out[who[m]] = weight * side * bent[m]


@compiled
def _members(data, g, who, z, chosen):
    # the rows of a stratum with weight; the smaller class is chosen, and all scores change their
    # signs if that is the negatives
    n, k = 0, 0
    for p in range(data.bounds[g], data.bounds[g + 1]):
        i = data.order[p]
        if data.share[i] > 0.0:
            who[n], z[n], chosen[n] = i, data.z[i], data.positive[i]
            k += data.positive[i]
            n += 1
    if 2 * k <= n:
        return n, k, 1.0
    for m in range(n):
        z[m], chosen[m] = -z[m], not chosen[m]
    return n, n - k, -1.0


@inlined
def _expit(t):
    e = np.exp(-abs(t))
    return 1.0 / (1.0 + e) if t >= 0.0 else e / (1.0 + e)


@allocating
def _of_one(z, chosen, n, slopes):
    # `_exact` for one chosen row: the probability of each row is its share of Σ exp(z)
    high, total, own = np.max(z[:n]), 0.0, 0.0
    for i in range(n):
        slopes[i] = np.exp(z[i] - high)
        total += slopes[i]
        if chosen[i]:
            own = z[i] - high
    for i in range(n):
        slopes[i] = slopes[i] / total - (1.0 if chosen[i] else 0.0)
    return np.log(total) - own


@allocating
def _bend_of_one(z, v, n, bent):
    high, total, mean = np.max(z[:n]), 0.0, 0.0
    for i in range(n):
        bent[i] = np.exp(z[i] - high)
        total += bent[i]
        mean += bent[i] * v[i]
    mean /= total
    for i in range(n):
        bent[i] *= (v[i] - mean) / total


@allocating
def _tilt(z, n, k):
    # a c at which about k of n rows are expected, by Newton steps within bounds
    even = np.log(k / (n - k))
    low, high = even - np.max(z[:n]), even - np.min(z[:n])
    c = even - np.mean(z[:n])
    for _ in range(_TILT_STEPS):
        expected, bend = 0.0, 0.0
        for i in range(n):
            p = _expit(z[i] + c)
            expected += p
            bend += p * (1.0 - p)
        if abs(expected - k) <= 0.1 * np.sqrt(bend):
            break
        if expected > k:
            high = c
        else:
            low = c
        c -= (expected - k) / bend if bend > 0.0 else np.inf
        if not low <= c <= high:
            c = 0.5 * (low + high)
    return c


@allocating
def _counted(z, n, k, c):
    # table[i, j]: the probability that j of the first i rows are positive
    table = np.zeros((n + 1, k + 1))
    table[0, 0] = 1.0
    for i in range(n):
        p = _expit(z[i] + c)
        table[i + 1, 0] = (1.0 - p) * table[i, 0]
        for j in range(1, min(i + 1, k) + 1):
            table[i + 1, j] = (1.0 - p) * table[i, j] + p * table[i, j - 1]
    return table


@allocating
def _exact(z, chosen, n, k, c, slopes):
    # −log L and its derivatives: the probability that a row is chosen, minus 1 if it is
    table = _counted(z, n, k, c)
    after, loss = np.zeros(k + 1), np.log(table[n, k])
    after[0] = 1.0  # the probability that j of the rows after the i-th are positive
    for i in range(n - 1, -1, -1):
        t = z[i] + c
        loss += max(t, 0.0) + np.log1p(np.exp(-abs(t))) - (t if chosen[i] else 0.0)
        p, others = _expit(t), 0.0
        for j in range(max(0, k + i - n), min(i, k - 1) + 1):
            others += table[i, j] * after[k - 1 - j]
        slopes[i] = p * others / table[n, k] - (1.0 if chosen[i] else 0.0)
        for j in range(min(n - i, k), 0, -1):
            after[j] = (1.0 - p) * after[j] + p * after[j - 1]
        after[0] *= 1.0 - p
    return loss


@allocating
def _exact_bend(z, v, n, k, c, bent):
    # the derivatives along v of all numbers in `_exact`
    table, moved = _counted(z, n, k, c), np.zeros((n + 1, k + 1))
    for i in range(n):
        p = _expit(z[i] + c)
        q = p * (1.0 - p) * v[i]
        moved[i + 1, 0] = (1.0 - p) * moved[i, 0] - q * table[i, 0]
        for j in range(1, min(i + 1, k) + 1):
            moved[i + 1, j] = (1.0 - p) * moved[i, j] + p * moved[i, j - 1]
            moved[i + 1, j] += q * (table[i, j - 1] - table[i, j])
    after, after_moved = np.zeros(k + 1), np.zeros(k + 1)
    after[0] = 1.0
    total, change = table[n, k], moved[n, k] / table[n, k]
    for i in range(n - 1, -1, -1):
        p = _expit(z[i] + c)
        q = p * (1.0 - p) * v[i]
        others, others_moved = 0.0, 0.0
        for j in range(max(0, k + i - n), min(i, k - 1) + 1):
            others += table[i, j] * after[k - 1 - j]
            others_moved += moved[i, j] * after[k - 1 - j] + table[i, j] * after_moved[k - 1 - j]
        bent[i] = (q * others + p * others_moved - p * others * change) / total
        for j in range(min(n - i, k), 0, -1):
            after_moved[j] = (1.0 - p) * after_moved[j] + p * after_moved[j - 1]
            after_moved[j] += q * (after[j - 1] - after[j])
            after[j] = (1.0 - p) * after[j] + p * after[j - 1]
        after_moved[0] = (1.0 - p) * after_moved[0] - q * after[0]
        after[0] *= 1.0 - p


@allocating
def _efron_sums(z, chosen, n, side):
    # Σ exp(z) over negatives and positives, divided by exp(largest z); the largest z; the number of
    # positives
    high, k = -np.inf, 0
    for i in range(n):
        high = max(high, side * z[i])
        k += chosen[i] == (side > 0.0)
    sums = np.zeros(2)
    for i in range(n):
        sums[1 if chosen[i] == (side > 0.0) else 0] += np.exp(side * z[i] - high)
    return sums[0], sums[1], high, k


@compiled
def _efron(z, chosen, n, side, slopes):
    of_negatives, of_positives, high, k = _efron_sums(z, chosen, n, side)
    loss, once, left = k * high, 0.0, 0.0
    for l in range(k):
        rest = 1.0 - l / k
        total = of_negatives + rest * of_positives
        loss += np.log(total)
        once += 1.0 / total
        left += rest / total
    for i in range(n):
        e, positive = np.exp(side * z[i] - high), chosen[i] == (side > 0.0)
        loss -= side * z[i] if positive else 0.0
        slopes[i] = side * (e * left - 1.0 if positive else e * once)
    return loss


@allocating
def _efron_bend(z, chosen, v, n, side, bent):
    of_negatives, of_positives, high, k = _efron_sums(z, chosen, n, side)
    moved = np.zeros(2)
    for i in range(n):
        of = 1 if chosen[i] == (side > 0.0) else 0
        moved[of] += np.exp(side * z[i] - high) * side * v[i]
    once, left, once_moved, left_moved = 0.0, 0.0, 0.0, 0.0
    for l in range(k):
        rest = 1.0 - l / k
        total = of_negatives + rest * of_positives
        change = (moved[0] + rest * moved[1]) / total**2
        once += 1.0 / total
        left += rest / total
        once_moved += change
        left_moved += rest * change
    for i in range(n):
        e, positive = np.exp(side * z[i] - high), chosen[i] == (side > 0.0)
        u = side * v[i]
        bent[i] = side * e * (u * left - left_moved if positive else u * once - once_moved)
