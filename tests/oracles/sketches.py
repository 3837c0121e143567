"""OPAUC with sketched covariances, and frequent directions, read literally: dense, from all rows.

The covariance that a step sees is formed as a d×d matrix from every row of the other class.
"""

import numpy as np

from oracles.opauc import theorem_step

__all__ = [
    "axes",
    "centered_sketch",
    "frequent_directions",
    "gaussian_fit",
    "low_rank_optimum",
    "printed_sketch",
    "scatter",
    "shrink",
]


def scatter(X, weight):
    """AᵀA, A the centred rows times the roots of their weights."""
    c = np.average(X, axis=0, weights=weight)
    return (weight[:, None] * (X - c)).T @ (X - c)


def centered_sketch(X, weight, R):
    """Ŝ = (1/T)(X − c1ᵀ) R Rᵀ (X − c1ᵀ)ᵀ, R (n, τ) with rows N(0, I/τ); its trace too."""
    A = (X - np.average(X, axis=0, weights=weight)).T * np.sqrt(weight)
    S = A @ R @ R.T @ A.T / weight.sum()
    return S, np.trace(S)


def printed_sketch(X, weight, R):
    """Ŝ = Z Zᵀ/T − ĉ ĉᵀ, ĉ = c (1ᵀR)/T, as printed; and the trace of its first part."""
    T, c = weight.sum(), np.average(X, axis=0, weights=weight)
    Z = (X.T * np.sqrt(weight)) @ R
    hat = np.outer(c, np.sqrt(weight) @ R) / T
    return Z @ Z.T / T - hat @ hat.T, np.trace(Z @ Z.T) / T


def gaussian_fit(X, y, weight, lam, eta, R, sketch=centered_sketch, epochs=1):
    """Return the iterates over the rows in file order; R (epochs · n, τ) holds each row's draw."""
    order = np.tile(np.arange(len(X)), epochs)
    w, kappa, iterates = np.zeros(X.shape[1]), 0.0, []
    for t, i in enumerate(order):
        met = np.arange(t + 1)
        others = met[y[order[met]] != y[i]]
        if len(others) == 0:
            continue
        rows, q = X[order[others]], weight[order[others]]
        c = np.average(rows, axis=0, weights=q)
        S, bound = sketch(rows, q, R[others])
        z, rate = X[i] - c, eta
        if eta == "auto":
            kappa = max(kappa, weight[i] * (z @ z + bound + lam))
            past = order[: t + 1]
            pos, neg = (past[y[past] == s] for s in (1, -1))
            delta = np.average(X[pos], axis=0, weights=weight[pos])
            delta = delta - np.average(X[neg], axis=0, weights=weight[neg])
            rate = theorem_step(kappa, len(iterates) + 1, delta @ delta, lam)
        w = w - rate * weight[i] * (lam * w - y[i] * z + z * (z @ w) + S @ w)
        iterates.append(w)
    return np.array(iterates)


def axes(X, weight, k):
    """The first k principal axes (d, k) of the weighted rows."""
    A = np.sqrt(weight)[:, None] * (X - np.average(X, axis=0, weights=weight))
    return np.linalg.svd(A, full_matrices=False)[2][:k].T


def shrink(M, rank):
    """Singular values back by σ² ← max(σ² − σ²_{rank+1}, 0); the rows that are left, the cut."""
    _, s, Vt = np.linalg.svd(M, full_matrices=False)
    cut = s[rank] ** 2 if len(s) > rank else 0.0
    return np.sqrt(np.maximum(s**2 - cut, 0.0))[:rank, None] * Vt[:rank], cut


def frequent_directions(X, weight, rank, blocks):
    """B and Δ of one class whose centred rows come block by block."""
    A = np.sqrt(weight)[:, None] * (X - np.average(X, axis=0, weights=weight))
    B, lost = np.zeros((0, X.shape[1])), 0.0
    for block in blocks:
        B, cut = shrink(np.vstack([B, A[block]]), rank)
        lost += cut
    return B, lost


def low_rank_optimum(S, delta, alpha):
    """The minimiser of ½(1 − w·δ)² + ½ w·Sw + (α/2)‖w‖²."""
    return np.linalg.solve(S + np.outer(delta, delta) + alpha * np.eye(len(delta)), delta)
