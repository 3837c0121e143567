"""SOLAM (Ying, Wen & Lyu, NIPS 2016) read literally: dense, one row after the other.

The steps, the start and the output are those of the authors' code; the projections those of the
paper, with κ = max‖x‖. Sample weights multiply the gradient and enter p̂.
"""

import numpy as np

from oracles.spam import d1F

__all__ = ["Iterate", "constrained_optimum", "fit", "mean", "project", "start"]


class Iterate:
    """(w, a, b, α) before a step, and γ of that step."""

    def __init__(self, w, a, b, alpha, gamma=np.nan):
        self.w, self.a, self.b, self.alpha, self.gamma = w, a, b, alpha, gamma


def start(d, R):
    """The authors' start."""
    return Iterate(np.full(d, R / np.sqrt(d)), R, R, 2 * R)


def partials(at, x, y, p):
    """∂F/∂w, ∂F/∂a, ∂F/∂b, ∂F/∂α at one sample."""
    z = at.w @ x
    dw = d1F(at.w, at.a, at.b, at.alpha, x, y, p)
    if y == 1:
        return dw, -2 * (1 - p) * (z - at.a), 0.0, -2 * (1 - p) * z - 2 * p * (1 - p) * at.alpha
    return dw, 0.0, -2 * p * (z - at.b), 2 * p * z - 2 * p * (1 - p) * at.alpha


def clip(value, bound):
    return np.sign(value) * min(abs(value), bound)


def project(w, R):
    norm = np.sqrt(np.sum(w**2))
    return w * R / norm if norm > R else w


def fit(
    X, y, weight, C, R, epochs, beta=lambda p: 0.0, kappa=None, begin=None, steps=0, met=(0, 0)
):
    """Return the iterates before each step over the rows in file order, and the one at the end.

    ``beta`` maps p̂ to the β of the L2-regularised variant. ``kappa`` None is max‖x‖, "running"
    that of the rows met so far. The weights are taken as they are.
    """
    norms = np.sqrt((X**2).sum(axis=1))
    at = start(X.shape[1], R) if begin is None else begin
    positive, total = met[0], sum(met)
    iterates, t, largest = [], steps, 0.0
    for _ in range(epochs):
        for i in range(len(X)):
            t += 1
            gamma = C / np.sqrt(t)
            at.gamma = gamma
            iterates.append(at)
            largest = max(largest, norms[i])
            box = R * (largest if kappa == "running" else norms.max() if kappa is None else kappa)
            positive, total = positive + weight[i] * (y[i] == 1), total + weight[i]
            p = positive / total
            dw, da, db, dalpha = (weight[i] * g for g in partials(at, X[i], y[i], p))
            at = Iterate(
                project((at.w - gamma * dw) / (1 + gamma * beta(p)), R),
                clip(at.a - gamma * da, box),
                clip(at.b - gamma * db, box),
                clip(at.alpha + gamma * dalpha, 2 * box),
            )
    return iterates, at


def mean(iterates):
    """The authors' output, by their own recursion."""
    w, Gamma = 0.0, 0.0
    for at in iterates:
        w = (Gamma * w + at.gamma * at.w) / (Gamma + at.gamma)
        Gamma += at.gamma
    return w


def constrained_optimum(pairs, alpha, R):
    """The minimiser of J over ‖w‖ ≤ R: the l2 optimum whose extra penalty λ puts it on the ball."""
    H, target = pairs.hessian(), pairs.D.T @ pairs.q
    values, vectors = np.linalg.eigh(H)
    along = vectors.T @ target

    def norm(lam):
        return np.linalg.norm(along / (values + alpha + lam))

    if norm(0.0) <= R:
        return vectors @ (along / (values + alpha))
    low, high = 0.0, np.linalg.norm(target) / R
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if norm(middle) > R else (low, middle)
    return vectors @ (along / (values + alpha + high))
