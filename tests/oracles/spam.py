"""SPAM (Natole, Ying & Lyu, ICML 2018) read literally: dense, one row after the other.

    F(w, a, b, α; z) = (1−p)(w·x − a)² 1[y=1] + p(w·x − b)² 1[y=−1]
                       + 2(1+α) w·x (p 1[y=−1] − (1−p) 1[y=1]) − p(1−p)α²

and each step takes ∂₁F at the optimal a(w), b(w), α(w). Sample weights multiply the gradient and
enter p and the class means.
"""

from itertools import cycle

import numpy as np

__all__ = [
    "F",
    "G",
    "Population",
    "d1F",
    "fit",
    "growing",
    "largest_curvature",
    "prox",
    "step_size",
    "strong_constant",
    "typical",
]


class Population:
    """p = P(y = 1), E[x | y = 1] and E[x | y = −1] of weighted rows."""

    def __init__(self, X, y, weight):
        self.p = weight[y == 1].sum() / weight.sum()
        self.mean_pos = np.average(X[y == 1], axis=0, weights=weight[y == 1])
        self.mean_neg = np.average(X[y == -1], axis=0, weights=weight[y == -1])

    def optima(self, w):
        """a(w), b(w), α(w): the poster's equations (3) and (4)."""
        a, b = w @ self.mean_pos, w @ self.mean_neg
        return a, b, w @ (self.mean_neg - self.mean_pos)


def F(w, a, b, alpha, x, y, p):
    """F(w, a, b, α; z)."""
    pos, neg = y == 1, y == -1
    value = (1 - p) * (w @ x - a) ** 2 * pos + p * (w @ x - b) ** 2 * neg
    return value + 2 * (1 + alpha) * (w @ x) * (p * neg - (1 - p) * pos) - p * (1 - p) * alpha**2


def d1F(w, a, b, alpha, x, y, p):
    """The partial derivative of F in its first argument."""
    if y == 1:
        return 2 * (1 - p) * (w @ x - a) * x - 2 * (1 + alpha) * (1 - p) * x
    return 2 * p * (w @ x - b) * x + 2 * (1 + alpha) * p * x


def G(w, x, y, population):
    """G(w; z) = ∂₁F(w, a(w), b(w), α(w); z)."""
    return d1F(w, *population.optima(w), x, y, population.p)


def prox(u, step, beta, beta1):
    """argmin_w ½‖w − u‖² + step ((β/2)‖w‖² + β₁‖w‖₁), coordinate by coordinate."""
    w = np.zeros_like(u)
    for j, u_j in enumerate(u):
        if u_j > step * beta1:
            w[j] = (u_j - step * beta1) / (1 + step * beta)
        elif u_j < -step * beta1:
            w[j] = (u_j + step * beta1) / (1 + step * beta)
    return w


def typical(weight):
    """Weights of mean 1."""
    return weight * len(weight) / weight.sum()


def largest_curvature(X, y, weight):
    """L, the largest Lipschitz constant of w ↦ weight · G(w; z)."""
    here = Population(X, y, weight)
    L = 0.0
    for x, y_i, q in zip(X, y, weight, strict=True):
        share, other = (1 - here.p, here.mean_neg) if y_i == 1 else (here.p, here.mean_pos)
        L = max(L, q * 2 * share * np.linalg.norm(x) * np.linalg.norm(x - other))
    return L


def strong_constant(beta, M):
    """C̃ of the poster's theorem."""
    return beta / (1 + beta**2 / (128 * M**4)) ** 2


def step_size(t, C, schedule, theta=None, t0=None):
    """η_t for t = 1, 2, …"""
    if schedule == "sqrt":
        return C / np.sqrt(t)
    if schedule == "power":
        return C / t**theta
    return 1 / (C * (t + t0))


def fit(X, y, weight, alpha, rho, steps, epochs):
    """Return the iterates after each step over the rows in file order, (steps taken, d).

    ``alpha`` and ``rho`` are the library's; ``steps`` maps t to η_t.
    """
    weight = typical(weight)
    here = Population(X, y, weight)
    scale = 2 * here.p * (1 - here.p)
    beta, beta1 = scale * alpha * (1 - rho), scale * alpha * rho
    w, iterates = np.zeros(X.shape[1]), []
    rows = cycle(range(len(X)))
    for t in range(1, epochs * len(X) + 1):
        i = next(rows)
        eta = steps(t)
        w = prox(w - eta * weight[i] * G(w, X[i], y[i], here), eta, beta, beta1)
        iterates.append(w)
    return np.array(iterates)


def growing(X, y, weight, alpha, rho, steps):
    """One pass with running p and class means: each row enters them before its own step.

    No step is taken, and none counted, until both classes have been seen. The weights are taken
    as they are.
    """
    w, iterates = np.zeros(X.shape[1]), [np.zeros(X.shape[1])]
    t = 0
    for i in range(len(X)):
        seen = slice(0, i + 1)
        if not (y[seen] == 1).any() or not (y[seen] == -1).any():
            continue
        here = Population(X[seen], y[seen], weight[seen])
        scale = 2 * here.p * (1 - here.p)
        t += 1
        eta = steps(t)
        w = prox(
            w - eta * weight[i] * G(w, X[i], y[i], here),
            eta,
            scale * alpha * (1 - rho),
            scale * alpha * rho,
        )
        iterates.append(w)
    return np.array(iterates[1:] if t else iterates)
