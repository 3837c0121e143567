"""The prior of hats: neighbouring ones are alike, so that one penalty makes functions smooth."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from aucmax.columns.axes import spaced

__all__ = ["prior_root"]

Floats = NDArray[np.float64]

_DECAY = 0.25  # variance of hats at twice as many knots, over that of those before


@lru_cache(maxsize=4096)
def prior_root(sizes: tuple[tuple[int, int, bool], ...], share: float = 1.0) -> sp.coo_array:
    """Return a root of the prior covariance of hats, or of their products.

    Its columns are along the covariance's axes, the one with the largest variance first.

    Hats at 2, 3, 5, 9, … knots are added up, with variances that fall by a factor: those of
    neighbouring knots are alike, as they share coarser hats. Levels of words are all different.

    Parameters
    ----------
    sizes : tuple of (int, int, bool)
        For each column, its knots or levels, whether gaps have one more, whether it has words.
    share : float
        Of the variance: axes beyond it are left out.
    """
    finest = max(max(int(np.ceil(np.log2(max(k - 1, 1)))), 0) for k, _, _ in sizes)
    covariance: Any = 0.0
    for level in range(finest + 1):
        of_level: Any = np.ones((1, 1))
        for k, gap, is_text in sizes:
            hats = np.eye(k) if is_text else _coarse_hats(k, level)
            own = np.zeros((k + gap, k + gap))
            own[:k, :k] = hats @ hats.T
            own[k:, k:] = 1.0
            of_level = np.kron(of_level, own)
        covariance = covariance + _DECAY**level * of_level
    covariance = covariance / np.diag(covariance).mean()
    variances, axes = np.linalg.eigh(covariance)
    order = np.argsort(-variances, kind="stable")
    of_first = np.cumsum(variances[order]) / variances.sum()
    order = order[: int(np.searchsorted(of_first, share)) + 1]
    return sp.coo_array(axes[:, order] * np.sqrt(variances[order]))


def _coarse_hats(k: int, level: int) -> Floats:
    """Return hats at up to 2^level + 1 of k knots, at all of these, shape (k, m)."""
    coarse = spaced(k, 2**level + 1)
    return np.column_stack([np.interp(np.arange(k), coarse, hat) for hat in np.eye(len(coarse))])
