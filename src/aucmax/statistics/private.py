"""Class moments with calibrated noise, for differential privacy.

Every feature has bounds that the user knows without looking at the rows; values are clipped to
them, and z = 2(x − low)/(high − low) − 1 is in [−1, 1]. For a class with rows z₁ … zₙ the release
contains

    n,    s = Σ zᵢ  (d numbers),    Q = Σ zᵢ zᵢᵀ  (its d(d+1)/2 entries on and above the diagonal).

**Neighbours** are two data sets, one of which has one additional row. That row is in one class and
does not change the sums of others, so the sensitivity of all classes together is that of one class:
1 for n, d for s and d(d+1)/2 for Q in the l1 norm, reached at a corner of the box; in the l2 norm,
the square roots of these.

With δ = 0 every number gets discrete Laplace noise. Its scale is the sensitivity of its group
divided by the group's share of ε: one tenth for n, three for s, six for Q. The release is
ε-differentially private. With δ > 0 the noise is discrete Gaussian, and the groups have the same
shares of ρ, the largest ρ for which ρ-zCDP implies (ε, δ). Replacing a row means one removal and
one addition: for such neighbours the guarantee is 2ε, or 4ρ.

Postprocessing costs no privacy: counts are raised to at least 1, means are clipped to the bounds,
and negative eigenvalues of a covariance are set to 0.

The guarantee is exact, not an approximation. Sums and noise are integers (z is rounded to
multiples of 2⁻¹⁶), so the low digits of floating-point numbers reveal nothing about a
row (Mironov 2012). Noise is drawn from random bits of the operating system by comparing integers,
with exact probabilities and tails that are not truncated; its scale is rounded up by
less than 10⁻⁵ of its value. 64-bit sums wrap around; since this happens to the noisy numbers, it
costs no privacy. The duration of a release is not hidden.

References
----------
Dwork, McSherry, Nissim & Smith (2006), "Calibrating noise to sensitivity in private data
analysis". Canonne, Kamath & Steinke (2020), "The discrete Gaussian for differential privacy": the
discrete distributions, Laplace noise, and δ from ρ. Karney (2016), "Sampling exactly from the
normal distribution": Algorithm D, normal noise. Dwork, Talwar, Thakurta & Zhang (2014), "Analyze
Gauss". Mironov (2012), "On significance of the least significant bits for differential privacy".
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from aucmax.basics.checks import LARGEST, number
from aucmax.data.rows import as_rows, n_rows
from aucmax.data.rows.products import dense_rows
from aucmax.statistics.moments import ClassMoments

__all__ = ["SHARES", "BoundedSums", "noise_scales", "sensitivity", "zcdp_delta"]

SHARES = {"counts": 0.1, "sums": 0.3, "products": 0.6}  # of ε or ρ
UNITS = {"counts": 1, "sums": 2**16, "products": 2**32}  # units in 1; sums of units are integers
_BLOCK_ROWS = 2**14  # products of up to so many rows are exact in floating point
_MAX_ROWS = 2**29  # sums of up to so many rows fit into 64 bits, with room for noise
_MAX_NOISE_SCALE = 2.0**56  # the largest scale of noise that fits into 64 bits
_MIN_EPSILON = 1e-100  # the smallest ε whose square can be computed
_SCALE_BITS = 20  # the scale of small noise is rounded up to so many bits
_DRAWS_AT_A_TIME = 2**17

Random = Callable[[int], bytes]


def sensitivity(d: int, order: int) -> dict[str, float]:
    """Return the sensitivity of counts, sums and products: their largest change by one row.

    Parameters
    ----------
    d : int
        Number of features.
    order : {1, 2}
        1 for the l1 norm, 2 for the l2 norm.
    """
    at_a_corner = {"counts": 1.0, "sums": float(d), "products": d * (d + 1) / 2}
    return {name: size ** (1 / order) for name, size in at_a_corner.items()}


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the δ for which ρ-zCDP implies (ε, δ): Canonne, Kamath & Steinke, Corollary 13.

    It is the minimum of exp((a − 1)(aρ − ε)) (1 − 1/a)ᵃ / (a − 1) over a > 1. Its derivative is 0
    at u = a − 1 where ρ = (ε + log(1 + 1/u)) / (2u + 1), and then log δ = −u²ρ − log(1 + u).

    Parameters
    ----------
    rho, epsilon : float
        ρ and ε, positive.
    """
    number(rho, "rho", open_low=True, high=1 / _MIN_EPSILON)
    number(epsilon, "epsilon", low=_MIN_EPSILON, high=1 / _MIN_EPSILON)
    u = _root(lambda u: np.log(rho) - np.log(_rho(u, epsilon)))
    return float(np.exp(-u * (u * rho) - np.log1p(u)))


def _rho(u: float, epsilon: float) -> float:
    """Return the ρ for which 1 + u is the best order."""
    return (epsilon + np.log1p(1 / u)) / (2 * u + 1)


def _root(rises: Callable[[float], float]) -> float:
    """Return the root of an increasing function in [10⁻²⁰⁴, 10²⁰⁴], or the nearer end."""
    low, high = -470.0, 470.0  # of log u
    for end, beyond in ((low, rises(np.exp(low)) >= 0), (high, rises(np.exp(high)) <= 0)):
        if beyond:
            return float(np.exp(end))
    return float(np.exp(brentq(lambda t: np.tanh(rises(np.exp(t))), low, high, xtol=1e-13)))


def noise_scales(d: int, epsilon: float, delta: float = 0.0) -> dict[str, float]:
    """Return the scales of Laplace noise, or for δ > 0 the standard deviations of Gaussian noise.

    Parameters
    ----------
    d : int
        Number of features.
    epsilon : float
        ε, from 10⁻¹⁰⁰ to 10¹⁰⁰.
    delta : float
        δ: 0, or from 10⁻²⁰⁰ to below 1.

    Returns
    -------
    dict
        The scales for counts, sums and products of rows that are scaled to [−1, 1].
    """
    number(d, "d", whole=True)
    epsilon = float(number(epsilon, "epsilon", low=_MIN_EPSILON, high=1 / _MIN_EPSILON))
    delta = float(number(delta, "delta", high=1.0, open_high=True))
    if 0.0 < delta < _MIN_EPSILON**2:
        raise ValueError(
            f"delta={delta:g} is too small to compute with; use 0, or {_MIN_EPSILON**2:g} or more."
        )
    if delta == 0.0:
        sizes = sensitivity(d, order=1)
        return {name: size / (SHARES[name] * epsilon) for name, size in sizes.items()}
    goal = -np.log(delta)
    u = _root(lambda u: u * (u * _rho(u, epsilon)) + np.log1p(u) - goal)
    rho = _rho(u, epsilon) * (1 - 1e-9)  # a margin for rounding
    sizes = sensitivity(d, order=2)
    return {name: size / np.sqrt(2 * SHARES[name] * rho) for name, size in sizes.items()}


class BoundedSums:
    """Exact sums of rows within bounds, which can be released with noise.

    Parameters
    ----------
    classes : sequence of labels
        All possible labels. They become public, as do the bounds and the feature names.
    bounds : array-like, shape (2,) or (d, 2)
        (low, high) for all features or for each; values outside are clipped. The bounds
        must not be derived from the rows.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the first data frame.

    Attributes
    ----------
    classes : ndarray, shape (K,)
        Sorted labels.
    counts, sums, products : ndarray of int64, shapes (K,), (K, d), (K, d, d)
        n, s in units of 2⁻¹⁶ and Q in units of 2⁻³², as defined in the module's docstring.
    target_name : str or None
        The name of y, if it had one.
    """

    def __init__(
        self,
        classes: Sequence[Any] | np.ndarray,
        bounds: Any,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.classes = np.unique(np.asarray(classes))
        try:
            self.bounds = np.asarray(bounds, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"bounds must be numbers; got {bounds!r}.") from None
        if self.bounds.ndim not in (1, 2) or self.bounds.shape[-1] != 2:
            raise ValueError(
                "bounds must be a pair (low, high), or one for each feature; got the shape "
                f"{self.bounds.shape}."
            )
        for j, (low, high) in enumerate(np.atleast_2d(self.bounds).tolist()):
            of_feature = f" for feature {j}" if self.bounds.ndim == 2 else ""
            if not -np.inf < low < high < np.inf:
                raise ValueError(
                    f"bounds must be finite, the first below the second; got {low:g} and "
                    f"{high:g}{of_feature}."
                )
            if max(-low, high) > LARGEST or high - low < 1 / LARGEST:
                raise ValueError(
                    f"bounds must be at most {LARGEST:g} in size and {1 / LARGEST:g} or more "
                    f"apart, to compute with; got {low:g} and {high:g}{of_feature}: multiply the "
                    "feature by a constant."
                )
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self.target_name: str | None = None
        self._hold(0 if self.feature_names is None else len(self.feature_names))

    def update(self, X: Any, y: Any) -> Self:
        """Add rows in place and return self; an error changes nothing.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Finite numbers.
        y : array-like, shape (n,)
            Labels, all of them among ``classes``.

        Raises
        ------
        ValueError
            If shapes, names or labels do not match.
        """
        names, target = _get_feature_names(X), getattr(y, "name", None)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        y = column_or_1d(y)
        check_consistent_length(X, y)
        unknown = np.setdiff1d(y, self.classes).tolist()
        if unknown:
            raise ValueError(
                f"y has the label {unknown[0]!r}, which is not among the declared classes, "
                f"{self.classes.tolist()}."
            )
        d = X.shape[1]
        names = None if names is None else [str(name) for name in names]
        self._empty()._match(d, names)
        if self.bounds.ndim == 2 and len(self.bounds) != d:
            raise ValueError(f"there are bounds for {len(self.bounds)} features, and X has {d}.")
        if self.counts.sum() + len(y) > _MAX_ROWS:
            raise ValueError(f"the sums support at most {_MAX_ROWS:,} rows.")
        if not self.sums.shape[1]:
            self._hold(d)
        self.feature_names = self.feature_names or names
        if isinstance(target, str):
            self.target_name = self.target_name or target
        rows = as_rows(X)
        for lo in range(0, n_rows(rows), _BLOCK_ROWS):
            block = np.arange(lo, min(lo + _BLOCK_ROWS, n_rows(rows)))
            dense, places = dense_rows(rows, block)
            Z = self._rounded(dense[places])
            for k, label in enumerate(self.classes.tolist()):
                class_rows = Z[y[block] == label]
                self.counts[k] += len(class_rows)
                self.sums[k] += class_rows.sum(axis=0).astype(np.int64)
                self.products[k] += (class_rows.T @ class_rows).astype(np.int64)
        return self

    def __add__(self, other: Any) -> "BoundedSums":
        """Return the sums of the union of two disjoint sets of rows, with the same bounds."""
        if not isinstance(other, BoundedSums):
            return NotImplemented
        if not np.array_equal(self.classes, other.classes) or not np.array_equal(
            self.bounds, other.bounds
        ):
            raise ValueError("sums add only if their classes and bounds are the same.")
        self._empty()._match(other.sums.shape[1], other.feature_names)
        total = BoundedSums(self.classes, self.bounds, self.feature_names or other.feature_names)
        total.target_name = self.target_name or other.target_name
        for name in UNITS:
            setattr(total, name, getattr(self, name) + getattr(other, name))
        if total.counts.sum() > _MAX_ROWS:
            raise ValueError(f"the sums support at most {_MAX_ROWS:,} rows.")
        return total

    def release(
        self, epsilon: float, delta: float = 0.0, random: Random = os.urandom
    ) -> ClassMoments:
        """Return noisy moments, which are (ε, δ)-differentially private.

        The ε and δ of several releases of the same rows add up.

        Parameters
        ----------
        epsilon : float
            ε > 0. If noise would exceed 10⁷ times the largest product of a row, an error is raised.
        delta : float
            δ in [0, 1). With 0, the noise is Laplace, which is much larger with many features.
        random : callable
            Returns a given number of random bytes. Only those of the operating system give a
            guarantee; others, such as those of a seeded generator, are for tests.

        Returns
        -------
        ClassMoments
            Its ``guarantee`` has ``epsilon``, ``delta`` and the standard deviations of the noise,
            ``noise_of_counts``, ``noise_of_sums`` and ``noise_of_products``, for features scaled to
            [−1, 1].
        """
        d = self.sums.shape[1]
        scales = noise_scales(d, epsilon, delta)
        upper = np.triu_indices(d)
        exact = {"counts": self.counts, "sums": self.sums, "products": self.products[:, *upper]}
        noisy = {}
        for name, values in exact.items():
            noise = _integer_noise(
                scales[name] * UNITS[name], values.size, normal=delta > 0.0, random=random
            )
            noisy[name] = (values + noise.reshape(values.shape)) / UNITS[name]
        moments = self._empty()
        moments.target_name = self.target_name
        low, high = np.broadcast_to(self.bounds, (d, 2)).T
        centre, half = (low + high) / 2, (high - low) / 2
        for k, label in enumerate(self.classes.tolist()):
            n = max(float(noisy["counts"][k]), 1.0)
            mean = np.clip(noisy["sums"][k] / n, -1.0, 1.0)
            Q = np.zeros((d, d))
            Q[upper] = Q.T[upper] = noisy["products"][k]
            values, U = eigh(Q / n - np.outer(mean, mean))
            root = half[:, None] * U * np.sqrt(np.maximum(values, 0.0))
            part = {"counts": n, "squares": n, "means": centre + half * mean}
            moments._add(label, part | {"covariances": root @ root.T})
        spread = 1.0 if delta else np.sqrt(2.0)  # standard deviation of noise of scale 1
        noise_of = {f"noise_of_{name}": float(spread * scale) for name, scale in scales.items()}
        moments.guarantee = {"epsilon": float(epsilon), "delta": float(delta), **noise_of}
        return moments

    def _empty(self) -> ClassMoments:
        moments = ClassMoments(self.classes, self.feature_names)
        moments._grow(self.classes, self.sums.shape[1])
        return moments

    def _hold(self, d: int) -> None:
        K = len(self.classes)
        self.counts, self.sums = np.zeros(K, np.int64), np.zeros((K, d), np.int64)
        self.products = np.zeros((K, d, d), np.int64)

    def _rounded(self, X: np.ndarray) -> np.ndarray:
        """Return rows scaled to [−1, 1] by the bounds, in units of 2⁻¹⁶."""
        low, high = np.broadcast_to(self.bounds, (X.shape[1], 2)).T
        z = 2.0 * ((np.clip(X, low, high) - low) / (high - low)) - 1.0
        return np.rint(UNITS["sums"] * z)


# ---- noise: all probabilities are rational, or the exponential of a negative rational number


def _integer_noise(scale: float, size: int, normal: bool, random: Random) -> np.ndarray:
    """Return discrete Gaussian or Laplace noise: P(x) ∝ exp(−x²/2σ²) or exp(−|x|/σ), mod 2⁶⁴."""
    if scale > _MAX_NOISE_SCALE:
        raise ValueError(
            f"the noise would have to be {scale / UNITS['products']:.1g} times the features' "
            "bounds; use a larger epsilon, a delta, or fewer features."
        )
    shift = min(max(_SCALE_BITS - math.frexp(scale)[1], 0), 2 * _SCALE_BITS)
    t = math.ceil(scale * 2.0**shift * (1 + 2.0**-40)) + 1
    draw = _normal if normal else _laplace
    noise = np.zeros(0, dtype=np.int64)
    while len(noise) < size:
        noise = np.append(
            noise, draw(t, shift, min(2 * (size - len(noise)) + 8, _DRAWS_AT_A_TIME), random)
        )
    return noise[:size]


def _laplace(t: int, shift: int, n: int, random: Random) -> np.ndarray:
    """Return up to n numbers with P(x) ∝ exp(−|x|/σ), σ = t/2ˢ; the others are rejected.

    |x| = ⌊(u + t v)/2ˢ⌋, P(u) ∝ exp(−u/t) for 0 ≤ u < t, P(v ≥ m) = e⁻ᵐ.
    """
    u = _below(t, n, random)
    u = u[_exponential(n, lambda i: _below(t, len(i), random) < u[i], random)]
    v = _geometric(len(u), random) // 2
    return _signed((u + t * v) >> shift, random)


def _normal(t: int, shift: int, n: int, random: Random) -> np.ndarray:
    """Return up to n numbers with P(x) ∝ exp(−x²/2σ²), σ = t/2ˢ; the others are rejected.

    |x|/σ = k + r with k whole and 0 ≤ r < 1 is drawn from P(k) ∝ exp(−k²/2) and a uniform r, and
    accepted with the probability exp(−r(2k + r)/2), in k + 1 steps of exp(−r(2k + r)/(2k + 2)).
    """
    k = _geometric(n, random)
    k = k[_geometric(n, random) >= k * (k - 1)]
    x = -((-k * t) >> shift) + _below(-(-t >> shift), len(k), random)
    r = (x << shift) - k * t  # in units of 1/t
    k, x, r = (values[r < t] for values in (k, x, r))
    accepted = np.full(len(k), True)
    for step in range(int(k.max(initial=-1)) + 1):
        candidates = np.flatnonzero(accepted & (step <= k))
        slope, share = 2 * k[candidates], r[candidates]

        def chance(i: np.ndarray, slope: np.ndarray = slope, share: np.ndarray = share) -> Any:
            place = _below(slope[i] + 2, len(i), random) - slope[i]
            in_share = [_below(t, len(i), random) < share[i] for _ in range(2)]
            return in_share[0] & ((place < 0) | ((place == 0) & in_share[1]))

        accepted[candidates] = _exponential(len(candidates), chance, random)
    return _signed(x[accepted], random)


def _signed(size: np.ndarray, random: Random) -> np.ndarray:
    """Return numbers of these sizes with random signs, where −0 is dropped."""
    negative = _below(2, len(size), random) == 1
    return np.where(negative, -size, size)[~(negative & (size == 0))]


def _geometric(n: int, random: Random) -> np.ndarray:
    """Return n numbers with P(x ≥ m) = exp(−m/2)."""
    numbers, going = np.zeros(n, dtype=np.int64), np.arange(n)
    while len(going):
        going = going[_exponential(len(going), lambda i: _below(2, len(i), random) == 0, random)]
        numbers[going] += 1
    return numbers


def _exponential(n: int, chance: Callable[[np.ndarray], Any], random: Random) -> np.ndarray:
    """Draw n events of probability exp(−γᵢ), γᵢ ≤ 1.

    ``chance(i)`` is true with probability γᵢ, independently in each call. Of draws with
    probabilities γ, γ/2, γ/3, … the first m are all true with probability γᵐ/m!, so the first false
    draw has an odd index with probability exp(−γ).
    """
    events, going, m = np.zeros(n, dtype=bool), np.arange(n), 1
    while len(going):
        holds = chance(going)
        if m > 1:
            holds &= _below(m, len(going), random) == 0
        events[going[~holds]] = m % 2 == 1
        going, m = going[holds], m + 1
    return events


def _below(bounds: Any, n: int, random: Random) -> np.ndarray:
    """Return n uniform integers from 0 to below their bounds, or below one common bound."""
    bounds = np.broadcast_to(np.asarray(bounds, dtype=np.int64), n)
    bits = np.frexp((bounds - 1).astype(np.float64))[1].astype(np.uint64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    numbers, going = np.zeros(n, dtype=np.int64), np.arange(n)
    while len(going):
        drawn = np.frombuffer(random(8 * len(going)), dtype=np.uint64) & mask[going]
        numbers[going] = drawn.astype(np.int64)
        going = going[numbers[going] >= bounds[going]]
    return numbers
