"""The logistic loss read literally: one sum over rows, one best intercept.

    f(z) = min over b of Σ_i c_i s_i log(1 + exp(−y_i (z_i + b)))

s sums to 1 in each class; c is τ for a positive and 1 − τ for a negative, over 4τ(1 − τ).
"""

import numpy as np
from scipy.optimize import brentq

__all__ = ["at", "intercept", "shares"]


def shares(y, weight=None):
    """Each row's weight as a share of its class's."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return weight / np.where(y > 0, weight[y > 0].sum(), weight[y <= 0].sum())


def class_weights(y, tau):
    """c for each row."""
    return np.where(y > 0, tau, 1 - tau) / (4 * tau * (1 - tau))


def intercept(z, y, s, tau=0.5):
    """Where the derivative with respect to b is 0."""
    c = class_weights(y, tau)

    def slope(b):
        return np.sum(-c * s * y / (1 + np.exp(np.clip(y * (z + b), -700, 700))))

    return brentq(slope, -z.max() - 40, -z.min() + 40, xtol=1e-14, rtol=1e-15)


def at(z, y, s, tau=0.5):
    """f, its derivative (n,) and its second derivative (n, n) at scores z."""
    t, c = y * (z + intercept(z, y, s, tau)), class_weights(y, tau)
    value = np.sum(c * s * np.logaddexp(0, -t))
    p = 1 / (1 + np.exp(np.clip(t, -700, 700)))
    D = np.diag(c * s * p * (1 - p))
    one = np.ones(len(z))  # b moves with z so that the derivative with respect to b stays 0
    return value, -c * s * y * p, D - np.outer(D @ one, D @ one) / (one @ D @ one)
