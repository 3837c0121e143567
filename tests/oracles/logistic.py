"""The class-balanced logistic loss read literally: one sum over rows, one best intercept.

    f(z) = min over b of ½ Σ_i s_i log(1 + exp(−y_i (z_i + b)))

s sums to 1 in each class.
"""

import numpy as np
from scipy.optimize import brentq

__all__ = ["at", "intercept", "shares"]


def shares(y, weight=None):
    """Each row's weight as a share of its class's."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return weight / np.where(y > 0, weight[y > 0].sum(), weight[y <= 0].sum())


def intercept(z, y, s):
    """Where the derivative with respect to b is 0."""

    def slope(b):
        return np.sum(-0.5 * s * y / (1 + np.exp(np.clip(y * (z + b), -700, 700))))

    return brentq(slope, -z.max() - 1, -z.min() + 1, xtol=1e-14, rtol=1e-15)


def at(z, y, s):
    """f, its derivative (n,) and its second derivative (n, n) at scores z."""
    t = y * (z + intercept(z, y, s))
    value = 0.5 * np.sum(s * np.logaddexp(0, -t))
    p = 1 / (1 + np.exp(np.clip(t, -700, 700)))
    D = np.diag(0.5 * s * p * (1 - p))
    one = np.ones(len(z))  # b moves with z so that the derivative with respect to b stays 0
    return value, -0.5 * s * y * p, D - np.outer(D @ one, D @ one) / (one @ D @ one)
