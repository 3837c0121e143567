"""The sandwich, read literally: the pairs one by one, and all rows but one refitted."""

import numpy as np

__all__ = ["by_pairs", "jackknife"]


def by_pairs(X, positive, w, slope, bent, bend):
    """H⁻¹ (Var h(x₊)/n₊ + Var h(x₋)/n₋) H⁻¹ for ½ · mean over pairs of ℓ, ℓ′ and ℓ″ given.

    h(x) is the mean of ½ ℓ′(w·(x − x′))(x − x′) over the rows x′ of the other class.
    """
    P, N = X[positive], X[~positive]
    d = X.shape[1]
    H, of_pos, of_neg = np.diag(bend).astype(float), np.zeros((len(P), d)), np.zeros((len(N), d))
    for i, x in enumerate(P):
        for j, other in enumerate(N):
            t = w @ (x - other)
            H += 0.5 * bent(t) * np.outer(x - other, x - other) / (len(P) * len(N))
            of_pos[i] += 0.5 * slope(t) * (x - other) / len(N)
            of_neg[j] += 0.5 * slope(t) * (x - other) / len(P)
    spread = np.cov(of_pos.T, ddof=1) / len(P) + np.cov(of_neg.T, ddof=1) / len(N)
    inverse = np.linalg.inv(H)
    return inverse @ np.atleast_2d(spread) @ inverse


def jackknife(fit, X, y):
    """Standard errors of ``fit(X, y)`` (d,) from leaving out each row, class by class."""
    whole, total = fit(X, y), 0.0
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        left = np.array([fit(np.delete(X, i, axis=0), np.delete(y, i)) for i in rows])
        total = total + (len(rows) - 1) / len(rows) * np.sum((left - whole) ** 2, axis=0)
    return np.sqrt(total)
