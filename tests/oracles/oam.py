"""OAM (Zhao, Hoi, Jin & Yang, ICML 2011) read literally: dense, one pair after the other.

A pair's C_t is multiplied by the weights of both rows.
"""

import numpy as np

__all__ = ["Reservoir", "automatic", "constant", "fit", "gradient", "sequential"]


class Reservoir:
    """Row numbers; the N-th to come replaces a uniform slot with probability size/N."""

    def __init__(self, size):
        self.size, self.N, self.rows = size, 0, []

    def meet(self, i, u):
        self.N += 1
        if len(self.rows) < self.size:
            self.rows.append(i)
        elif u < self.size / self.N:
            self.rows[int(u * self.N)] = i


def sequential(w, x, y, others, C):
    """A passive-aggressive step on every pair; C (m,) holds C_t of each."""
    for other, C_t in zip(others, C, strict=True):
        z = x - other
        loss = max(0.0, 1 - y * w @ z)
        if loss > 0 and z @ z > 0:
            w = w + min(C_t / 2, loss / (z @ z)) * y * z
    return w


def gradient(w, x, y, others, C):
    """One step along the sum over the pairs of margin at most 1."""
    move = np.zeros_like(w)
    for other, C_t in zip(others, C, strict=True):
        if y * w @ (x - other) <= 1:
            move += C_t / 2 * y * (x - other)
    return w + move


def constant(C):
    """C_t = C max(1, N/|B|)."""
    return lambda t, N, m, kappa: C * max(1, N / m)


def automatic(c):
    """C_t of C = c/(κ √t max(|B|, N))."""
    return lambda t, N, m, kappa: c / (kappa * np.sqrt(t) * max(m, N)) * max(1, N / m)


def fit(X, y, weight, update, C_t, size=10**6, rng=None, epochs=1, start=None):
    """Return the iterates after each step over the rows in file order, and the reservoirs.

    ``C_t`` maps (step, N, |B|, κ) to C_t. ``rng`` gives a number for each row that comes.
    """
    w = np.zeros(X.shape[1]) if start is None else start
    B, distances, iterates = {1: Reservoir(size), -1: Reservoir(size)}, [], []
    rng = np.random.RandomState() if rng is None else rng
    met = np.tile(np.arange(len(X)), epochs)
    for s, i in enumerate(met):
        B[y[i]].meet(i, rng.random_sample())
        other = B[-y[i]]
        if other.N == 0:
            continue
        before = met[: s + 1]
        before = before[y[before] != y[i]]
        q = weight[i] * weight[before]
        distances.append(q @ ((X[i] - X[before]) ** 2).sum(axis=1) / len(before))
        t, m = len(iterates) + 1, len(other.rows)
        C = C_t(t, other.N, m, np.mean(distances)) * weight[i] * weight[other.rows]
        w = update(w, X[i], y[i], X[other.rows], C)
        iterates.append(w)
    return np.array(iterates), B
