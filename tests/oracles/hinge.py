"""SADMM, RDA, COMID and Pegasos read literally: dense, one row after the other, λ as in the papers.

    F(w) = mean of max(0, 1 − y w·x) + λ R(w),    R = ‖w‖₁ ("l1") or ‖w‖₂² ("l2")

Every function returns the iterates after each step; sample weights multiply the loss of a row.
The rows are taken in file order, ``epochs`` times.
"""

from typing import NamedTuple

import numpy as np

__all__ = [
    "F",
    "Triple",
    "comid",
    "gap",
    "nearest_margin",
    "pegasos",
    "prox",
    "rda",
    "sadmm",
    "subgradient",
]


class Triple(NamedTuple):
    """(w, z, μ) of SADMM."""

    w: np.ndarray
    z: np.ndarray
    mu: np.ndarray


def loss(w, x, y):
    return max(0.0, 1 - y * (w @ x))


def R(w, kind):
    return np.abs(w).sum() if kind == "l1" else w @ w


def F(w, X, y, lam, kind, weight=None):
    """The objective; for (w, z) take the loss at w and R at z."""
    weight = np.ones(len(y)) if weight is None else weight
    losses = [loss(w, x, s) for x, s in zip(X, y, strict=True)]
    return np.average(losses, weights=weight) + lam * R(w, kind)


def subgradient(w, x, y):
    """Of max(0, 1 − y w·x)."""
    return -y * x if y * (w @ x) < 1 else np.zeros_like(x)


def soft(u, threshold):
    out = np.zeros_like(u)
    for j, u_j in enumerate(u):
        if u_j > threshold:
            out[j] = u_j - threshold
        elif u_j < -threshold:
            out[j] = u_j + threshold
    return out


def prox(u, step, kind):
    """argmin_w ½‖w − u‖² + step R(w)."""
    return soft(u, step) if kind == "l1" else u / (1 + 2 * step)


def passes(X, y, weight, epochs):
    for _ in range(epochs):
        yield from zip(X, y, weight, strict=True)


def sadmm(X, y, weight, lam, kind, rho, epochs=1, start=None):
    """The triples after each step; ``rho`` maps t = 1, 2, … to ρ_t."""
    d = X.shape[1]
    _, z, mu = Triple(*np.zeros((3, d))) if start is None else start
    out = []
    for t, (x, s, q) in enumerate(passes(X, y, weight, epochs), start=1):
        r = rho(t)
        v = z - mu / r
        # min over w of q l(w) + (ρ/2)‖w − v‖², by its dual in one variable β in [0, q]
        beta = min(max(0, r * (1 - s * (v @ x)) / (x @ x)), q) if x.any() else 0.0
        w = v + beta * s * x / r
        z = soft(r * w + mu, lam) / r if kind == "l1" else (r * w + mu) / (2 * lam + r)
        mu = mu + r * (w - z)
        out.append(Triple(w, z, mu))
    return out


def rda(X, y, weight, lam, kind, gamma, epochs=1, start=None):
    """``gamma`` maps t to γ_t, β_t = γ_t√t; ``start`` is (w, the gradient that stands for it)."""
    w, total = (np.zeros((2, X.shape[1]))) if start is None else start
    out = []
    for t, (x, s, q) in enumerate(passes(X, y, weight, epochs), start=1):
        total = total + q * subgradient(w, x, s)
        mean, strength = total / t, gamma(t) * np.sqrt(t) / t
        # argmin of mean·w + λR(w) + strength ½‖w‖²
        w = -soft(mean, lam) / strength if kind == "l1" else -mean / (2 * lam + strength)
        out.append(w)
    return np.array(out)


def comid(X, y, weight, lam, kind, step, epochs=1, start=None):
    """``step`` maps (t, row, weight) to η_t."""
    w = np.zeros(X.shape[1]) if start is None else start
    out = []
    for t, (x, s, q) in enumerate(passes(X, y, weight, epochs), start=1):
        eta = step(t, x, q)
        w = prox(w - eta * q * subgradient(w, x, s), eta * lam, kind)
        out.append(w)
    return np.array(out)


def pegasos(X, y, weight, lam, project, t0=0.0, epochs=1, start=None):
    """λ‖w‖₂², so that η = 1/(2λ(t + t0)) and the ball is of radius 1/√(2λ)."""
    w = np.zeros(X.shape[1]) if start is None else start
    out = []
    for t, (x, s, q) in enumerate(passes(X, y, weight, epochs), start=1):
        eta = 1 / (2 * lam * (t + t0))
        w = w - eta * (2 * lam * w + q * subgradient(w, x, s))
        radius = 1 / np.sqrt(2 * lam)
        if project and np.linalg.norm(w) > radius:
            w = w * radius / np.linalg.norm(w)
        out.append(w)
    return np.array(out)


def nearest_margin(iterates, X, y, epochs=1):
    """The least |1 − y w·x| over the rows met, each at the w before its step."""
    rows = passes(X, y, np.ones(len(y)), epochs)
    before = [np.zeros(X.shape[1]), *iterates[:-1]]
    return min(abs(1 - s * (w @ x)) for w, (x, s, _) in zip(before, rows, strict=True))


def gap(at, v, value, reference):
    """F(u_t) − F(u) + ⟨v_t − v, Q(v)⟩ with Q(v) = (μ, −μ, z − w): what Definition 4.2 bounds."""
    Q = (v.mu, -v.mu, v.z - v.w)
    return value - reference + sum((a - b) @ q for a, b, q in zip(at, v, Q, strict=True))
