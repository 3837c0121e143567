"""DeLong, DeLong, Clarke-Pearson (1988), read literally: every pair of rows in one matrix."""

import numpy as np

__all__ = ["area", "components", "covariance", "psi"]


def psi(x, y):
    """(m, n): 1 where a positive's score x beats a negative's y, 1/2 where they tie."""
    return np.array([[1.0 if a > b else 0.5 if a == b else 0.0 for b in y] for a in x])


def area(positive, score):
    """θ̂ of their equation 1."""
    return psi(score[positive], score[~positive]).mean()


def components(positive, score):
    """V10 (m,) and V01 (n,): the structural components of their section 3."""
    wins = psi(score[positive], score[~positive])
    return wins.mean(axis=1), wins.mean(axis=0)


def covariance(positive, scores):
    """S = S10 / m + S01 / n of the areas of several scorers, (r, r)."""
    v10, v01 = zip(*[components(positive, score) for score in scores], strict=True)
    m, n = positive.sum(), (~positive).sum()
    return np.atleast_2d(np.cov(v10)) / m + np.atleast_2d(np.cov(v01)) / n
