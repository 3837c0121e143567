"""J within strata as it is written: a sum over strata of the mean over their pairs.

The conditional likelihood sums over all choices of as many rows as there are positives.
"""

from itertools import combinations

import numpy as np

LOSSES = {
    "square": lambda t: (1.0 - t) ** 2,
    "squared_hinge": lambda t: np.maximum(1.0 - t, 0.0) ** 2,
    "hinge": lambda t: np.maximum(1.0 - t, 0.0),
}


def parts(y, strata, weight, mode):
    """Yield ω up to a factor, and the rows of both classes, of each stratum that has both."""
    for stratum in np.unique(strata):
        pos = np.flatnonzero((strata == stratum) & (y == 1) & (weight > 0))
        neg = np.flatnonzero((strata == stratum) & (y == 0) & (weight > 0))
        if len(pos) and len(neg):
            of_pos, of_neg = weight[pos].sum(), weight[neg].sum()
            yield {"positives": of_pos, "pairs": of_pos * of_neg, "strata": 1.0}[mode], pos, neg


def mean_loss(z, y, strata, weight, mode, loss):
    """½ Σ_g ω_g · weighted mean over the pairs within g of ℓ(z_i − z_j)."""
    total = mass = 0.0
    for omega, pos, neg in parts(y, strata, weight, mode):
        pairs = np.outer(weight[pos], weight[neg])
        losses = LOSSES[loss](z[pos][:, None] - z[neg])
        total += omega * 0.5 * (pairs * losses).sum() / pairs.sum()
        mass += omega
    return total / mass


def moments(X, y, strata, weight, mode):
    """Σ_g ω_g mean of (x − x′)(x − x′)ᵀ, and Σ_g ω_g mean of x − x′, over the pairs within g."""
    square, linear, mass = 0.0, 0.0, 0.0
    for omega, pos, neg in parts(y, strata, weight, mode):
        share = np.outer(weight[pos], weight[neg])
        share = share / share.sum()
        apart = X[pos][:, None] - X[neg]
        square = square + omega * np.einsum("ij,ijk,ijl->kl", share, apart, apart)
        linear = linear + omega * np.einsum("ij,ijk->k", share, apart)
        mass += omega
    return square / mass, linear / mass


def spread(X, y, strata, weight, mode):
    """Twice the variance within strata, of all rows of the strata that have both classes."""
    scatter, mass = 0.0, 0.0
    for _, pos, neg in parts(y, strata, weight, mode):
        rows = np.concatenate([pos, neg])
        mean = np.average(X[rows], axis=0, weights=weight[rows])
        scatter = scatter + weight[rows] @ (X[rows] - mean) ** 2
        mass += weight[rows].sum()
    return 2.0 * scatter / mass


def likelihood(z, y, strata, weight, efron=False):
    """Σ_g a_g (−log L_g) / Σ_g a_g k_g, a_g the weight of the rows of stratum g."""
    total = mass = 0.0
    for _, pos, neg in parts(y, strata, weight, "positives"):
        rows, k, own = np.concatenate([pos, neg]), len(pos), weight[pos[0]]
        at = z - z[rows].mean()
        if efron:
            sums = [np.exp(at[neg]).sum() + (1.0 - l / k) * np.exp(at[pos]).sum() for l in range(k)]
            loss = np.log(sums).sum()
        else:
            loss = np.log(sum(np.exp(at[list(some)].sum()) for some in combinations(rows, k)))
        total += own * (loss - at[pos].sum())
        mass += own * k
    return total / mass
