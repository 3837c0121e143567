"""DeLong, DeLong, Clarke-Pearson (1988), read literally: every pair of rows in one matrix."""

import numpy as np

__all__ = ["area", "clustered", "components", "covariance", "psi"]


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


def clustered(positive, score, group, cells=None):
    """The area and its variance of Obuchowski (1997), section 2.2, for rows in groups.

    Each of her factors I/(I − 1) corrects a sum of squares over I groups, or a sum of products.
    ``cells`` puts other numbers in place of I10 and I01, the groups with a positive and a negative,
    whose geometric mean also takes the place of I.
    """
    theta, (v10, v01) = area(positive, score), components(positive, score)
    m, n = positive.sum(), (~positive).sum()
    names = np.unique(group)
    # sums over a group of the components of its positives, and of its negatives, less their means
    of_group = [
        (
            sum(v10[i] - theta for i in np.flatnonzero(group[positive] == name)),
            sum(v01[j] - theta for j in np.flatnonzero(group[~positive] == name)),
        )
        for name in names
    ]
    i10, i01 = (len(np.unique(group[own])) for own in (positive, ~positive))
    f10, f01, f11 = i10 / (i10 - 1), i01 / (i01 - 1), len(names) / (len(names) - 1)
    if cells is not None:
        f10, f01 = (k / (k - 1) for k in cells)
        f11 = np.sqrt(f10 * f01)
    s10 = f10 * sum(x * x for x, _ in of_group) / m
    s01 = f01 * sum(y * y for _, y in of_group) / n
    s11 = f11 * sum(x * y for x, y in of_group)
    return theta, s10 / m + s01 / n + 2 * s11 / (m * n)
