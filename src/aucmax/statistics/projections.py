"""Low-dimensional bases for OPAUC: subsets of features, random projections, principal axes.

A basis is either an array of feature positions, (k,) integers, or a matrix H (d, k).
"""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from aucmax.data.rows import Rows, as_rows, n_features, n_rows, products, to_scipy
from aucmax.statistics.centred import Centred
from aucmax.statistics.moments import block_moments

__all__ = [
    "gaussian_projection",
    "lifted",
    "lowered",
    "principal_axes",
    "random_features",
    "reduced",
]

_MAX_DENSE_SIDE = 8  # side of a matrix, in multiples of k, above which Lanczos is faster
_MIN_VARIANCE_SHARE = 1e-13  # share of the largest variance below which an axis is rounding error


def random_features(d: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the positions of k random features of d, in ascending order."""
    return np.sort(rng.permutation(d)[:k]).astype(np.int64)


def gaussian_projection(d: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return H (d, k) with independent N(0, 1/k) entries, so that the expectation of H Hᵀ is I."""
    return rng.standard_normal((d, k)) / np.sqrt(k)


def principal_axes(X: Rows, weight: np.ndarray, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the first k principal axes (d, k) of weighted rows, padded with zeros.

    They are computed from the covariance or the Gram matrix, whichever is smaller, if its side is
    at most 8k; otherwise by Lanczos iterations on the rows.
    """
    n, d = n_rows(X), n_features(X)
    side = min(n, d)
    axes = np.zeros((d, k))
    if side <= _MAX_DENSE_SIDE * k and d <= n:
        cov = block_moments(X, np.arange(n), weight)["covariances"]
        values, V = eigh(cov, subset_by_index=[d - min(k, d), d - 1], check_finite=False)
        U = V[:, ::-1]
        nonzero = values[::-1] > _MIN_VARIANCE_SHARE * max(float(values[-1]), 0.0)
        axes[:, : np.sum(nonzero)] = U[:, nonzero]
        return axes
    sign, s = np.ones(n), weight / weight.sum()
    A = Centred(X, s, products.class_means(X, sign, s)[0])
    if side <= _MAX_DENSE_SIDE * k:
        values, U = eigh(A.gram(), subset_by_index=[n - min(k, n), n - 1], check_finite=False)
    else:
        order = (A.times, A.adjoint) if n <= d else (A.adjoint, A.times)
        operator = LinearOperator((side, side), lambda v: order[0](order[1](v)), dtype=float)
        values, U = eigsh(operator, k, v0=rng.standard_normal(side))
    values, U = values[::-1], U[:, ::-1]
    nonzero = values > _MIN_VARIANCE_SHARE * max(float(values[0]), 0.0)
    V = U[:, nonzero] if d < n else A.adjoint(U[:, nonzero]) / np.sqrt(values[nonzero])
    axes[:, : V.shape[1]] = V
    return axes


def reduced(X: Rows, basis: np.ndarray) -> Rows:
    """Return the rows in the coordinates of a basis."""
    if basis.ndim == 1:
        return as_rows(to_scipy(X)[:, basis])
    return as_rows(products.scores(X, basis))


def lifted(w: np.ndarray, basis: np.ndarray, d: int) -> np.ndarray:
    """Return the coefficients (d,) with the same scores as w (k,) in a basis."""
    if basis.ndim == 1:
        coef = np.zeros(d)
        coef[basis] = w
        return coef
    return basis @ w


def lowered(coef: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the w (k,) for which `lifted` is closest to the coefficients (d,)."""
    if basis.ndim == 1:
        return coef[basis]
    return np.linalg.lstsq(basis, coef, rcond=None)[0]
