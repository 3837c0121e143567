"""The sandwich, read literally: the pairs one by one, all rows but one, rows a little heavier."""

import numpy as np

__all__ = ["by_pairs", "by_weights", "jackknife"]


def by_pairs(X, positive, w, slope, bent, bend):
    """H⁻¹ (Var h(x₊)/n₊ + Var h(x₋)/n₋) H⁻¹ for ½ · mean over pairs of ℓ, ℓ′ and ℓ″ given.

    h(x) is the mean of ½ ℓ′(w·(x − x′))(x − x′) over the rows x′ of the other class.
    """
    P, N = X[positive], X[~positive]
    d = X.shape[1]
    H, of_pos, of_neg = np.diag(bend).astype(float), np.zeros((len(P), d)), np.zeros((len(N), d))
    for i, x in enumerate(P):
        for j, other in enumerate(N):
            t = w @ (x - other)
            H += 0.5 * bent(t) * np.outer(x - other, x - other) / (len(P) * len(N))
            of_pos[i] += 0.5 * slope(t) * (x - other) / len(N)
            of_neg[j] += 0.5 * slope(t) * (x - other) / len(P)
    spread = np.cov(of_pos.T, ddof=1) / len(P) + np.cov(of_neg.T, ddof=1) / len(N)
    inverse = np.linalg.inv(H)
    return inverse @ np.atleast_2d(spread) @ inverse


def jackknife(fit, X, y):
    """Standard errors of ``fit(X, y)`` (d,) from leaving out each row, class by class.

    About the mean of the class: that each class is one row short is no news of the row left out.
    """
    total = 0.0
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        left = np.array([fit(np.delete(X, i, axis=0), np.delete(y, i)) for i in rows])
        total = total + (len(rows) - 1) / len(rows) * np.sum(
            (left - left.mean(axis=0)) ** 2, axis=0
        )
    return np.sqrt(total)


def by_weights(fit, y, weight, step=1e-5):
    """The covariance of ``fit(weight)`` (d,) from its derivative in each row's share of its class.

    Σ_± k/(k − 1) Σ_i s_i² w_i′ w_i′ᵀ, the class's weight as it is and k its effective rows.
    """
    total = 0.0
    for label in np.unique(y):
        mine, of_class = y == label, np.sum(weight[y == label])
        s = np.where(mine, weight, 0.0) / of_class
        k = 1.0 / np.sum(s**2)
        for i in np.flatnonzero(mine):
            toward = np.eye(len(y))[i] - s
            ends = [fit(weight + of_class * move * toward) for move in (step, -step)]
            slope = (ends[0] - ends[1]) / (2.0 * step)
            total = total + k / (k - 1.0) * s[i] ** 2 * np.outer(slope, slope)
    return total
