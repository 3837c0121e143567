"""OPAUC (Gao, Jin, Zhu & Zhou, ICML 2013) read literally: dense, one row after the other.

The means and covariances are taken afresh from all rows met so far, and the gradient is the one of
the paper's L_t, a mean over the rows of the other class.
"""

import numpy as np

__all__ = ["covariance", "fit", "gradient", "printed_recursion", "right_recursion", "theorem_step"]


def covariance(X, weight=None):
    """Biased: divided by the weight."""
    weight = np.ones(len(X)) if weight is None else weight
    c = weight @ X / weight.sum()
    return (weight[:, None] * (X - c)).T @ (X - c) / weight.sum()


def gradient(w, x, y, others, weight, lam):
    """∇L_t, Equation (3), pair by pair."""
    total = np.zeros_like(w)
    for other, q in zip(others, weight, strict=True):
        D = x - other
        total -= q * y * (1 - y * D @ w) * D
    return lam * w + total / weight.sum()


def equations(w, x, y, others, weight, lam):
    """∇L_t from the other class's mean and covariance: Equations (4) and (5)."""
    c, S = weight @ others / weight.sum(), covariance(others, weight)
    z = x - c
    return lam * w - y * z + z * (z @ w) + S @ w


def theorem_step(kappa, t, delta2, lam):
    """Theorem 2's η with the 2 that its proof needs, L* = ½ and B = ‖δ‖/(‖δ‖² + λ)."""
    if delta2 == 0.0:
        return 1 / (2 * kappa)
    B = np.sqrt(delta2) / (delta2 + lam)
    return 1 / (kappa + np.sqrt(kappa**2 + 2 * kappa * t * 0.5 / B**2))


def fit(X, y, weight, lam, eta, epochs=1, pairwise=False):
    """Return the iterates after each step over the rows in file order.

    ``eta`` is a number or "auto". ``pairwise`` takes the gradient from the pairs. The weights are
    taken as they are.
    """
    order = np.tile(np.arange(len(X)), epochs)
    w, kappa, iterates = np.zeros(X.shape[1]), 0.0, []
    for t, i in enumerate(order):
        met = order[: t + 1]
        others = met[y[met] != y[i]]
        if len(others) == 0:
            continue
        Z, q = X[others], weight[others]
        rate = eta
        if eta == "auto":
            curvature = lam + q @ ((X[i] - Z) ** 2).sum(axis=1) / q.sum()
            kappa = max(kappa, weight[i] * curvature)
            c = [np.average(X[met[y[met] == s]], axis=0, weights=weight[met[y[met] == s]])
                 for s in (-1, 1)]  # fmt: skip
            rate = theorem_step(kappa, len(iterates) + 1, np.sum((c[1] - c[0]) ** 2), lam)
        g = (gradient if pairwise else equations)(w, X[i], y[i], Z, q, lam)
        w = w - rate * weight[i] * g
        iterates.append(w)
    return np.array(iterates)


def printed_recursion(X):
    """Γ as the paper prints it: Γ + (x xᵀ − Γ)/t + c_{t−1}c_{t−1}ᵀ − c_t c_tᵀ."""
    G, c = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for t, x in enumerate(X, start=1):
        new = c + (x - c) / t
        G = G + (np.outer(x, x) - G) / t + np.outer(c, c) - np.outer(new, new)
        c = new
    return G


def right_recursion(X):
    """The same with − c_{t−1}c_{t−1}ᵀ inside the /t term."""
    G, c = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for t, x in enumerate(X, start=1):
        new = c + (x - c) / t
        G = G + (np.outer(x, x) - G - np.outer(c, c)) / t + np.outer(c, c) - np.outer(new, new)
        c = new
    return G
