"""Leaving out a site read literally, from the rows of all sites.

Coefficients come from the rows of the other sites, scaled by `standardize` as these rows say;
loss, estimate and bound from the scores of the rows left out.
"""

import numpy as np
from scipy.stats import norm

from oracles.pairs import factors

__all__ = ["choice", "left_out", "mean"]


def left_out(X, y, weight, site, alpha, tau, gamma):
    """(loss, estimate, bound, positives) of each site with rows of both classes."""
    judged = []
    for name in np.unique(site):
        own = site == name
        if len(np.unique(y[own])) < 2:
            continue
        w = _coefficients(X[~own], y[~own], weight[~own], alpha, tau, gamma)
        judged.append(_judged(X[own] @ w, y[own], weight[own], _tau(y[~own], weight[~own], tau)))
    return np.array(judged)


def mean(judged):
    """The means of loss, estimate and bound, weighted by positives."""
    return np.average(judged[:, :3], axis=0, weights=judged[:, 3])


def choice(X, y, weight, site, alphas, taus, gammas):
    """The (α, τ, γ) with the least loss for each τ, and of these the first or a better estimate."""
    best = []
    for tau in taus:
        cells = [(alpha, tau, gamma) for alpha in alphas for gamma in gammas]
        losses = [mean(left_out(X, y, weight, site, *cell))[0] for cell in cells]
        best.append(cells[int(np.argmin(losses))])
    judged = [left_out(X, y, weight, site, *cell) for cell in best]
    gains = [0.0]
    for other in judged[1:]:
        share, apart = other[:, 3] / other[:, 3].sum(), other[:, 1] - judged[0][:, 1]
        gain = share @ apart
        variance = share**2 @ (apart - gain) ** 2 / (1 - share @ share)
        gains.append(gain if gain > 2 * np.sqrt(variance) else 0.0)
    return best[int(np.argmax(gains))]


def _tau(y, weight, tau):
    return weight[y == 1].sum() / weight.sum() if tau == "pooled" else tau


def _coefficients(X, y, weight, alpha, tau, gamma):
    factor = factors(X, weight, gamma) if gamma > 0 else np.ones(X.shape[1])
    tau = _tau(y, weight, tau)
    Z, pos = X * factor, y == 1
    P, Q = Z[pos], Z[~pos]
    p, q = weight[pos] / weight[pos].sum(), weight[~pos] / weight[~pos].sum()
    delta = p @ P - q @ Q
    within = 2 * tau * (P - p @ P).T @ (p[:, None] * (P - p @ P))
    within += 2 * (1 - tau) * (Q - q @ Q).T @ (q[:, None] * (Q - q @ Q))
    matrix = within + np.outer(delta, delta) + alpha * np.eye(len(delta))
    return factor * np.linalg.solve(matrix, delta)


def _judged(score, y, weight, tau):
    pos = y == 1
    a, b, p, q = score[pos], score[~pos], weight[pos], weight[~pos]
    gap = np.average(a, weights=p) - np.average(b, weights=q)
    of_pos = np.average((a - np.average(a, weights=p)) ** 2, weights=p)
    of_neg = np.average((b - np.average(b, weights=q)) ** 2, weights=q)
    if tau == 0.5:  # the mean over pairs
        loss = 0.5 * np.average((1 - (a[:, None] - b)) ** 2, weights=np.outer(p, q))
    else:
        loss = 0.5 * (1 - gap) ** 2 + tau * of_pos + (1 - tau) * of_neg
    spread = of_pos + of_neg
    bound = gap**2 / (gap**2 + spread) if gap > 0 else 0.0
    return loss, norm.cdf(gap / np.sqrt(spread)), bound, p.sum()
