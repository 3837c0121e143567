"""Linear systems whose matrix is a diagonal plus a low-rank term."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

__all__ = ["woodbury"]

_MIN_CURVATURE_SHARE = 1e-12  # curvatures are raised to this share of the largest


def woodbury(D: np.ndarray, B: np.ndarray, alpha: float, delta: np.ndarray) -> np.ndarray:
    """Return u with (diag(D) + BᵀB + αI) u = δ.

    Parameters
    ----------
    D : ndarray, shape (d,)
        Not negative. Entries of D + α are raised to at least 1e-12 of the largest curvature, since
        there is no solution if a feature does not vary and α is 0.
    B : ndarray, shape (r, d)
        Overwritten.
    alpha : float
    delta : ndarray, shape (d,)
    """
    curvature = D + alpha
    largest = np.max(curvature + np.einsum("rj,rj->j", B, B) + delta**2, initial=0.0)
    curvature = np.maximum(curvature, _MIN_CURVATURE_SHARE * largest if largest > 0.0 else 1.0)
    if not len(B):
        return delta / curvature
    # scaled such that the diagonal is I:  (I + CᵀC) v = r,  v = r − Cᵀ(I + CCᵀ)⁻¹ C r
    root = np.sqrt(curvature)
    B /= root
    inner = cho_factor(np.eye(len(B)) + B @ B.T, lower=True, check_finite=False)

    def solve(r: np.ndarray) -> np.ndarray:
        return r - B.T @ cho_solve(inner, B @ r, check_finite=False)

    r = delta / root
    v = solve(r)
    v += solve(r - v - B.T @ (B @ v))
    return v / root
