"""Leave-pair-out read literally: a model for every pair, fitted to all other rows."""

import numpy as np

__all__ = ["auc", "margins"]

_TIE = 1e-9  # of a margin, as a share of |w| |x_i − x_j|


def margins(X, y, alpha, tau=0.5):
    """(n₊, n₋): w·(x_i − x_j) for unit w and unit difference, w fitted without i and j."""
    pos, neg = np.flatnonzero(y == max(y)), np.flatnonzero(y == min(y))
    found = np.zeros((len(pos), len(neg)))
    for a, i in enumerate(pos):
        for b, j in enumerate(neg):
            P, Q = X[pos[pos != i]], X[neg[neg != j]]
            p = len(P) / (len(P) + len(Q)) if tau == "pooled" else tau
            P_mean, Q_mean = P.mean(axis=0), Q.mean(axis=0)
            within = 2 * p * (P - P_mean).T @ (P - P_mean) / len(P)
            within += 2 * (1 - p) * (Q - Q_mean).T @ (Q - Q_mean) / len(Q)
            w = np.linalg.solve(within + alpha * np.eye(X.shape[1]), P_mean - Q_mean)
            apart = X[i] - X[j]
            size = np.linalg.norm(w) * np.linalg.norm(apart)
            found[a, b] = w @ apart / size if size > 0 else 0.0
    return found


def auc(X, y, alpha, tau=0.5):
    """The share of positive margins, ties half."""
    found = margins(X, y, alpha, tau)
    return np.mean(np.where(np.abs(found) <= _TIE, 0.5, found > 0))
