"""The prior of hats: neighbours are alike, so that one penalty makes functions smooth."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from aucmax.columns.axes import spaced

__all__ = ["prior_root"]

Floats = NDArray[np.float64]

_DECAY = 0.25  # factor of the variance of hats from one level to the next, with twice the knots


@lru_cache(maxsize=4096)
def prior_root(sizes: tuple[tuple[int, int, bool], ...], share: float = 1.0) -> sp.coo_array:
    """Return a root of the prior covariance of hats, or of their products.

    Its columns are the principal axes of the covariance, the one with the largest variance first.

    The prior is a sum of hats at 2, 3, 5, 9, … knots, whose variances fall by a constant factor:
    values at neighbouring knots are alike, since they share coarser hats. Levels of words are
    independent.

    Parameters
    ----------
    sizes : tuple of (int, int, bool)
        For each column: the number of knots or levels, whether gaps have one more, whether it has
        words.
    share : float
        The share of the variance to keep; the smallest axes are left out.
    """
    finest = max(max(int(np.ceil(np.log2(max(k - 1, 1)))), 0) for k, _, _ in sizes)
    covariance: Any = 0.0
    for level in range(finest + 1):
        of_level: Any = np.ones((1, 1))
        for k, gap, is_text in sizes:
            hats = np.eye(k) if is_text else _coarse_hats(k, level)
            of_column = np.zeros((k + gap, k + gap))
            of_column[:k, :k] = hats @ hats.T
            of_column[k:, k:] = 1.0
            of_level = np.kron(of_level, of_column)
        covariance = covariance + _DECAY**level * of_level
    covariance = covariance / np.diag(covariance).mean()
    variances, axes = np.linalg.eigh(covariance)
    order = np.argsort(-variances, kind="stable")
    of_first = np.cumsum(variances[order]) / variances.sum()
    order = order[: int(np.searchsorted(of_first, share)) + 1]
    return sp.coo_array(axes[:, order] * np.sqrt(variances[order]))


def _coarse_hats(k: int, level: int) -> Floats:
    """Return the values at k knots of hats at up to 2^level + 1 of them, shape (k, m)."""
    coarse = spaced(k, 2**level + 1)
    return np.column_stack([np.interp(np.arange(k), coarse, hat) for hat in np.eye(len(coarse))])
