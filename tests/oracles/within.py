"""J of the square loss with a τ, read literally: a residual for the means, and one for every row.

    J(w) = ½(1 − w·δ)² + τ Σ s_i (w·(x_i − μ₊))² + (1−τ) Σ s_i (w·(x_i − μ₋))² + penalty

The sums run over the rows of each class, in which s sums to 1.
"""

import numpy as np

from oracles.pairs import Pairs

__all__ = ["Within"]


class Within(Pairs):
    """All rows about the means of their classes, in the coordinates of ``standardize=gamma``."""

    def __init__(self, X, y, weight=None, gamma=0.0, tau=0.5):
        super().__init__(X, y, weight, gamma)
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64) * self.factor
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        pos, means = y == max(y), []
        self.centred, self.counts = X.copy(), np.zeros(len(y))
        for rows, share in ((pos, tau), (~pos, 1 - tau)):
            means.append(np.average(X[rows], axis=0, weights=weight[rows]))
            self.centred[rows] -= means[-1]
            self.counts[rows] = 2 * share * weight[rows] / weight[rows].sum()
        self.delta = means[0] - means[1]

    def data_term(self, w, loss="square"):
        return 0.5 * (1 - w @ self.delta) ** 2 + 0.5 * self.counts @ (self.centred @ w) ** 2

    def gradient(self, w, loss="square"):
        inside = self.centred.T @ (self.counts * (self.centred @ w))
        return inside - (1 - w @ self.delta) * self.delta

    def hessian(self, w=None, loss="square"):
        inside = self.centred.T @ (self.counts[:, None] * self.centred)
        return inside + np.outer(self.delta, self.delta)
