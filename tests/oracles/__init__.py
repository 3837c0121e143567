"""Literal NumPy versions of what the papers define, to hold the library against."""

import numpy as np

__all__ = ["rows"]


def rows(seed, n=40, d=5, share=0.4, density=1.0, shift=0.0, norm=None):
    """Return (X, y): dense rows with labels −1 and +1, both present, that can be ranked a little.

    ``density`` is the share of entries that are not zero; ``norm`` rescales the largest row.
    """
    rng = np.random.RandomState(seed)
    y = np.where(rng.permutation(n) < max(1, round(share * n)), 1, -1)
    X = rng.randn(n, d) + 0.5 * (y == 1)[:, None] * rng.randn(d)
    X *= rng.rand(n, d) < density
    if norm is not None:
        X *= norm / np.linalg.norm(X, axis=1).max()
    return X + shift, y
