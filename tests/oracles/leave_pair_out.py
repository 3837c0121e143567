"""Leave-pair-out read literally: a model for every pair, fitted to all other rows."""

from fractions import Fraction

import numpy as np

__all__ = ["auc", "exact_auc", "margins"]

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


def exact_auc(X, y, alpha, tau=0.5):
    """The same in rational arithmetic, of whole numbers X and an α and a τ that floats hold."""
    X, alpha = [[Fraction(int(value)) for value in row] for row in X], Fraction(alpha)
    pos, neg = np.flatnonzero(y == max(y)), np.flatnonzero(y == min(y))
    features, wins = range(len(X[0])), Fraction(0)
    for i in pos:
        P = _moments([X[k] for k in pos if k != i])
        for j in neg:
            Q = _moments([X[k] for k in neg if k != j])
            p = Fraction(len(pos) - 1, len(y) - 2) if tau == "pooled" else Fraction(tau)
            H = [
                [2 * p * P[1][a][b] + 2 * (1 - p) * Q[1][a][b] + alpha * (a == b) for b in features]
                for a in features
            ]
            delta = [P[0][a] - Q[0][a] for a in features]
            margin = _solve(H, delta, [X[i][a] - X[j][a] for a in features])
            wins += Fraction(int(margin > 0) + int(margin >= 0), 2)
    return wins / (len(pos) * len(neg))


def _moments(rows):
    """The mean and the covariance of rows of fractions."""
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    about = [[value - m for value, m in zip(row, mean, strict=True)] for row in rows]
    columns = list(zip(*about, strict=True))
    dot = [[sum(map(Fraction.__mul__, a, b)) / len(rows) for b in columns] for a in columns]
    return mean, dot


def _solve(H, delta, apart):
    """apart·H⁻¹δ of a positive definite H, by elimination in [[H, δ], [apart, 0]]."""
    rows = [[*row, value] for row, value in zip(H, delta, strict=True)] + [[*apart, Fraction(0)]]
    for k in range(len(H)):
        for row in rows[k + 1 :]:
            if row[k]:
                factor = row[k] / rows[k][k]
                for column in range(k, len(row)):
                    row[column] -= factor * rows[k][column]
    return -rows[-1][-1]
