"""Online univariate learners (Kotlowski, Dembczynski & Hüllermeier, ICML 2011) read literally."""

import numpy as np

__all__ = ["LOSSES", "automatic", "fit", "objective", "schedule"]

# ℓ(t), ℓ′(t) and ℓ″(t)
LOSSES = {
    "exp": lambda t: (np.exp(-t), -np.exp(-t), np.exp(-t)),
    "square": lambda t: ((1 - t) ** 2, -2 * (1 - t), 2 + 0 * t),
    "logistic": lambda t: (
        np.log(1 + np.exp(-t)), -1 / (1 + np.exp(t)), np.exp(-t) / (1 + np.exp(-t)) ** 2
    ),
}  # fmt: skip


def balance(y, weight):
    """weight · n/(2 n_y) of every row."""
    n = {label: weight[y == label].sum() for label in (-1, 1)}
    return weight * sum(n.values()) / (2 * np.array([n[label] for label in y]))


def objective(X, y, weight, w, loss, alpha):
    """F."""
    values = LOSSES[loss](y * (X @ w))[0]
    return balance(y, weight) @ values / weight.sum() + alpha / 2 * w @ w


def schedule(C):
    return lambda t, row, seen: C / np.sqrt(t)


def automatic(loss, slower=1):
    """4/(L√t), L the balanced mean of ‖x‖²ℓ″(0), but no longer than Newton's step for the row."""

    def step(t, row, seen):
        (x, q, margin), (X, y, weight) = row, seen
        L = balance(y, weight) @ (X**2).sum(axis=1) / weight.sum() * LOSSES[loss](0.0)[2]
        curvature = LOSSES[loss](0.0 if loss == "logistic" else margin)[2]
        longest = 1 / (q * x @ x * curvature) if x @ x > 0 else np.inf
        return min(4 / (slower * L * np.sqrt(t)), longest)

    return step


def fit(X, y, weight, loss, alpha, eta, epochs=1, running=False, start=None, steps=0):
    """Return the iterates after each step over the rows in file order.

    ``eta`` maps (step, (x, balance, margin), rows that gave the class weights) to η. With
    ``running`` those are the rows met so far, else all.
    """
    w, iterates = np.zeros(X.shape[1]) if start is None else start, []
    for s, i in enumerate(np.tile(np.arange(len(X)), epochs)):
        seen = slice(0, s + 1) if running else slice(None)
        if len(set(y[seen])) == 1:
            continue
        q = balance(y[seen], weight[seen])[i]
        margin = y[i] * (w @ X[i])
        steps += 1
        rate = eta(steps, (X[i], q, margin), (X[seen], y[seen], weight[seen]))
        w = (w - rate * q * LOSSES[loss](margin)[1] * y[i] * X[i]) / (1 + rate * alpha)
        iterates.append(w)
    return np.array(iterates)
