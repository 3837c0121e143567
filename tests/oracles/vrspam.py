"""VRSPAM (Dan & Sahoo) read literally: Algorithm 1, dense, with ∂₁F as in `oracles.spam`."""

from itertools import cycle

import numpy as np

from oracles.spam import G, Population, prox, typical

__all__ = ["fit", "full_gradient", "v"]


def full_gradient(w, X, y, weight, population):
    """μ̃ = 1/n Σ G(w̃, z_i)."""
    total = np.zeros(X.shape[1])
    for x, y_i, q in zip(X, y, weight, strict=True):
        total = total + q * G(w, x, y_i, population)
    return total / len(X)


def v(w, snapshot, mu, x, y, q, population):
    """G(w, z) − G(w̃, z) + μ̃, the first two times the sample's weight."""
    return q * G(w, x, y, population) - q * G(snapshot, x, y, population) + mu


def fit(X, y, weight, alpha, rho, eta, stages, inner, start):
    """Return w̃ after each stage, (stages, d), the rows taken in file order."""
    weight = typical(weight)
    here = Population(X, y, weight)
    scale = 2 * here.p * (1 - here.p)
    beta, beta1 = scale * alpha * (1 - rho), scale * alpha * rho
    rows, snapshot, snapshots = cycle(range(len(X))), start, []
    for _ in range(stages):
        mu = full_gradient(snapshot, X, y, weight, here)
        w = snapshot
        for _ in range(inner):
            i = next(rows)
            w = prox(w - eta * v(w, snapshot, mu, X[i], y[i], weight[i], here), eta, beta, beta1)
        snapshot = w
        snapshots.append(snapshot)
    return np.array(snapshots)
