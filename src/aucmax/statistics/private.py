"""Class moments with calibrated noise, for differential privacy.

Every feature has bounds that the user knows without looking at the rows; values are clipped to
them, and z = 2(x − low)/(high − low) − 1 lies in [−1, 1]. A class with rows z₁ … zₙ gives

    n,    s = Σ zᵢ  (d numbers),    Q = Σ zᵢ zᵢᵀ  (its d(d+1)/2 entries on and above the diagonal).

**Neighbours** are two data sets of which one has one row more. That row is in one class and changes
no sum of the others, so all classes together change by no more than one of them: n by 1, s by at
most d and Q by at most d(d+1)/2 in sums of absolute values, both at a corner of the box; in
Euclidean length, by the square roots of these.

With δ = 0 every number gets discrete Laplace noise. Its scale is what the number's part changes by,
divided by the part's share of ε: one tenth for n, three for s, six for Q. The release is
ε-differentially private. With δ > 0 the noise is discrete normal, and the parts have the same
shares of ρ, the largest for which ρ-zCDP implies (ε, δ). A row that is replaced by another is one
taken away and one added: for such neighbours it is 2ε, or 4ρ.

What comes after the noise costs no privacy: counts are raised to 1, means brought into the bounds,
and negative eigenvalues of a covariance set to 0.

Sums and noise are whole numbers (z is rounded to multiples of 2⁻¹⁶), so no low digits of a
floating-point number tell of a row (Mironov 2012). Random bits are the operating system's.

References
----------
Dwork, McSherry, Nissim & Smith (2006), "Calibrating noise to sensitivity in private data
analysis". Canonne, Kamath & Steinke (2020), "The discrete Gaussian for differential privacy": both
samplers, and δ from ρ. Dwork, Talwar, Thakurta & Zhang (2014), "Analyze Gauss". Mironov (2012), "On
significance of the least significant bits for differential privacy".
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize_scalar
from sklearn.utils.validation import _get_feature_names, check_array, check_consistent_length

from aucmax.basics.checks import number
from aucmax.rows import as_rows, n_rows
from aucmax.rows.products import dense_rows
from aucmax.statistics.moments import ClassMoments

__all__ = ["SHARES", "BoundedSums", "noise_scales", "sensitivity", "zcdp_delta"]

SHARES = {"counts": 0.1, "sums": 0.3, "products": 0.6}  # of ε or ρ
UNITS = {"counts": 1, "sums": 2**16, "products": 2**32}  # to 1, in which sums are whole numbers
_BLOCK = 2**14  # rows whose products are exact in floating point
_MOST_ROWS = 2**29  # whose sums fit 64 bits, with room for noise
_LARGEST = 2.0**56  # scale of noise that does
_SMALL = 2.0**10  # scale of noise all of whose values floating-point numbers reach

Random = Callable[[int], bytes]


def sensitivity(d: int, order: int) -> dict[str, float]:
    """Return by how much one row changes counts, sums and products, at most.

    Parameters
    ----------
    d : int
        Features.
    order : {1, 2}
        1 for the sum of absolute values, 2 for the Euclidean length.
    """
    at_a_corner = {"counts": 1.0, "sums": float(d), "products": d * (d + 1) / 2}
    return {name: size ** (1 / order) for name, size in at_a_corner.items()}


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the δ for which ρ-zCDP implies (ε, δ): Canonne, Kamath & Steinke, Corollary 13.

    The least of exp((a − 1)(aρ − ε)) (1 − 1/a)ᵃ / (a − 1) over a > 1.

    Parameters
    ----------
    rho, epsilon : float
        ρ and ε, positive.
    """
    return float(np.exp(_log_delta(rho, epsilon)))


def _log_delta(rho: float, epsilon: float) -> float:
    def at(t: float) -> float:
        a = 1.0 + np.exp(t)
        return float((a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - t)

    return min(float(minimize_scalar(at, bounds=(-30.0, 30.0), method="bounded").fun), 0.0)


def noise_scales(d: int, epsilon: float, delta: float = 0.0) -> dict[str, float]:
    """Return the scales of Laplace noise, or with δ > 0 the deviations of normal noise.

    Parameters
    ----------
    d : int
        Features.
    epsilon, delta : float
        The guarantee.

    Returns
    -------
    dict
        Of the counts, sums and products of rows scaled to [−1, 1].
    """
    if delta == 0.0:
        sizes = sensitivity(d, order=1)
        return {name: size / (SHARES[name] * epsilon) for name, size in sizes.items()}
    log_rho = brentq(
        lambda t: _log_delta(np.exp(t), epsilon) - np.log(delta),
        *(np.log(1e-20 * min(epsilon, 1.0)), np.log(1e4 * max(epsilon, 1.0))),
        xtol=1e-10,
    )
    rho = np.exp(log_rho) * (1 - 1e-6)  # on the safe side of what rounding leaves
    sizes = sensitivity(d, order=2)
    return {name: size / np.sqrt(2 * SHARES[name] * rho) for name, size in sizes.items()}


class BoundedSums:
    """Exact sums of rows within bounds, to be released with noise.

    Parameters
    ----------
    classes : sequence of labels
        All labels there can be. They become public, and so do the bounds and the features' names.
    bounds : array-like, shape (2,) or (d, 2)
        (low, high) of all features or of each; values outside are moved to the nearer one. They
        must not come from the rows.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the first data frame.

    Attributes
    ----------
    classes : ndarray, shape (K,)
        Sorted.
    counts, sums, products : ndarray of int64, shapes (K,), (K, d), (K, d, d)
        n, s in units of 2⁻¹⁶ and Q in units of 2⁻³², as the module's docstring has them.
    target_name : str or None
        The name of y, where it had one.
    """

    def __init__(
        self,
        classes: Sequence[Any] | np.ndarray,
        bounds: Any,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.classes = np.unique(np.asarray(classes))
        self.bounds = np.asarray(bounds, dtype=np.float64)
        if self.bounds.ndim not in (1, 2) or self.bounds.shape[-1] != 2:
            raise ValueError(
                "bounds must be a pair (low, high), or one for each feature; got the shape "
                f"{self.bounds.shape}."
            )
        for j, (low, high) in enumerate(np.atleast_2d(self.bounds).tolist()):
            if not -np.inf < low < high < np.inf:
                where = f" for feature {j}" if self.bounds.ndim == 2 else ""
                raise ValueError(
                    f"bounds must be finite, the first below the second; got {low:g} and "
                    f"{high:g}{where}."
                )
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self.target_name: str | None = None
        self._hold(0 if self.feature_names is None else len(self.feature_names))

    def update(self, X: Any, y: Any) -> Self:
        """Add rows in place and return self; an error changes nothing.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Finite.
        y : array-like, shape (n,)
            Labels, all of them among ``classes``.

        Raises
        ------
        ValueError
            If shapes, names or labels do not match.
        """
        names, target = _get_feature_names(X), getattr(y, "name", None)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        y = np.asarray(y)
        check_consistent_length(X, y)
        unknown = np.setdiff1d(y, self.classes).tolist()
        if unknown:
            raise ValueError(
                f"y holds the label {unknown[0]!r}, which is not among those announced, "
                f"{self.classes.tolist()}."
            )
        d = X.shape[1]
        names = None if names is None else [str(name) for name in names]
        self._empty()._match(d, names)
        if self.bounds.ndim == 2 and len(self.bounds) != d:
            raise ValueError(f"there are bounds for {len(self.bounds)} features, and X has {d}.")
        if self.counts.sum() + len(y) > _MOST_ROWS:
            raise ValueError(f"the sums hold at most {_MOST_ROWS:,} rows.")
        if not self.sums.shape[1]:
            self._hold(d)
        self.feature_names = self.feature_names or names
        if isinstance(target, str):
            self.target_name = self.target_name or target
        rows = as_rows(X)
        for lo in range(0, n_rows(rows), _BLOCK):
            block = np.arange(lo, min(lo + _BLOCK, n_rows(rows)))
            dense, where = dense_rows(rows, block)
            Z = self._rounded(dense[where])
            for k, label in enumerate(self.classes.tolist()):
                some = Z[y[block] == label]
                self.counts[k] += len(some)
                self.sums[k] += some.sum(axis=0).astype(np.int64)
                self.products[k] += (some.T @ some).astype(np.int64)
        return self

    def release(
        self, epsilon: float, delta: float = 0.0, random: Random = os.urandom
    ) -> ClassMoments:
        """Return moments with noise, which are (ε, δ)-differentially private.

        Every release of the same rows spends its ε and δ again.

        Parameters
        ----------
        epsilon : float
            ε > 0.
        delta : float
            δ in [0, 1). 0 takes Laplace noise, which is much larger where features are many.
        random : callable
            Gives so many random bytes. Anything but the operating system's, such as those of a
            generator with a seed, guarantees nothing and is for tests.

        Returns
        -------
        ClassMoments
            Its ``guarantee`` has ``epsilon``, ``delta`` and the standard deviations of the noise,
            ``noise_of_counts``, ``noise_of_sums`` and ``noise_of_products``, of features scaled to
            [−1, 1].
        """
        epsilon = float(number(epsilon, "epsilon", open_low=True))
        delta = float(number(delta, "delta", high=1.0, open_high=True))
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
        out = self._empty()
        out.target_name = self.target_name
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
            out._add(label, part | {"covariances": root @ root.T})
        spread = 1.0 if delta else np.sqrt(2.0)  # of a Laplace variable of scale 1
        noise_of = {f"noise_of_{name}": float(spread * scale) for name, scale in scales.items()}
        out.guarantee = {"epsilon": epsilon, "delta": delta, **noise_of}
        return out

    def _empty(self) -> ClassMoments:
        out = ClassMoments(self.classes, self.feature_names)
        out._grow(self.classes, self.sums.shape[1])
        return out

    def _hold(self, d: int) -> None:
        K = len(self.classes)
        self.counts, self.sums = np.zeros(K, np.int64), np.zeros((K, d), np.int64)
        self.products = np.zeros((K, d, d), np.int64)

    def _rounded(self, X: np.ndarray) -> np.ndarray:
        """Return rows in steps of 2⁻¹⁶ from −1 at the low bounds to 1 at the high ones."""
        low, high = np.broadcast_to(self.bounds, (X.shape[1], 2)).T
        z = 2.0 * ((np.clip(X, low, high) - low) / (high - low)) - 1.0
        return np.rint(UNITS["sums"] * z)


# ---- noise


def _integer_noise(scale: float, size: int, normal: bool, random: Random) -> np.ndarray:
    """Return discrete normal or Laplace noise: P(x) ∝ exp(−x²/2σ²), or exp(−|x|/σ)."""
    if scale > _LARGEST:
        raise ValueError(
            f"the noise would have to be {scale / UNITS['products']:.1g} times the features' "
            "bounds; take a larger epsilon, a delta, or fewer features."
        )
    if not normal:
        return _filled(size, lambda n: _laplace(scale, n, random))
    t = np.floor(scale) + 1.0

    def accepted(n: int) -> np.ndarray:
        x = _filled(n, lambda m: _laplace(t, m, random))
        gap = (np.abs(x) - scale**2 / t) / scale
        return x[_chances(n, random) < np.exp(-(gap**2) / 2)]

    return _filled(size, accepted)


def _filled(size: int, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return so many of what ``draw(n)`` gives, which rejects some of n."""
    out = np.zeros(0, dtype=np.int64)
    while len(out) < size:
        out = np.append(out, draw(2 * (size - len(out)) + 8))
    return out[:size]


def _laplace(scale: float, n: int, random: Random) -> np.ndarray:
    """Return up to n numbers with P(x) ∝ exp(−|x|/t), all others rejected; t is about ``scale``.

    For a large t, one that is whole: a floating-point logarithm does not have all |x|, whose lowest
    digits are drawn by themselves. |x| = u + t v, P(u) ∝ exp(−u/t) for 0 ≤ u < t, P(v ≥ m) = e⁻ᵐ.
    """
    bits = _integers(n, random)
    negative = bits % 2 == 1
    if scale < _SMALL:
        size = np.floor(-scale * np.log(_chances(n, random))).astype(np.int64)
        kept = np.full(n, True)
    else:
        t = int(np.ceil(scale))
        u = ((bits >> np.uint64(1)) & np.uint64(2 ** t.bit_length() - 1)).astype(np.int64)
        v = np.floor(-np.log(_chances(n, random))).astype(np.int64)
        size = u + t * v
        kept = (u < t) & (_chances(n, random) < np.exp(-u / t))
    kept &= ~(negative & (size == 0))  # not two zeros
    return np.where(negative, -size, size)[kept]


def _integers(n: int, random: Random) -> np.ndarray:
    return np.frombuffer(random(8 * n), dtype=np.uint64)


def _chances(n: int, random: Random) -> np.ndarray:
    """Return uniform numbers in (0, 1)."""
    return ((_integers(n, random) >> np.uint64(12)) + 0.5) / 2.0**52
