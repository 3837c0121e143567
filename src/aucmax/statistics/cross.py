"""Covariances between sparse and dense features of the same rows, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from aucmax.data.strata import Strata

__all__ = ["cross_covariances"]

Floats = NDArray[np.float64]


def cross_covariances(
    X: sp.csr_matrix,
    Y: Floats,
    positive: NDArray[np.bool_],
    weight: NDArray[Any] | None,
    strata: Strata | None = None,
) -> Floats:
    """Return the biased covariances of features X and Y in each class, shape (2, d, k).

    Parameters
    ----------
    X : csr_matrix, shape (n, d)
    Y : ndarray, shape (n, k)
    positive : ndarray of bool, shape (n,)
        Negatives are the first class.
    weight : ndarray, shape (n,), optional
    strata : Strata, optional
        The strata of the rows, which are then relative to the mean of their stratum's negatives.
    """
    n, groups = len(positive), 0 if strata is None else len(strata)
    share = np.ones(n) if weight is None else weight
    member, mean = sp.csr_array((n, groups)), sp.csr_array((groups, n))
    if strata is not None:
        compared, rows, code = strata.compared(positive, weight).shares, np.arange(n), strata.code
        share = compared.of_row
        omega = np.where(compared.of_stratum > 0.0, compared.of_stratum, 1.0)[code]
        member = sp.csr_array((np.ones(n), (rows, code)), shape=(n, groups))
        mean = sp.csr_array((share * ~positive / omega, (code, rows)), shape=(groups, n))
    centres, seen_Y = mean @ X, Y - member @ (mean @ Y)
    cross = np.empty((2, X.shape[1], Y.shape[1]))
    for side, own in enumerate((~positive, positive)):
        weights = share[own] / share[own].sum()
        weighed = weights[:, None] * seen_Y[own]
        of_strata = member[own].T
        mean_X = weights @ X[own] - (of_strata @ weights) @ centres
        cross[side] = X[own].T @ weighed - centres.T @ (of_strata @ weighed)
        cross[side] -= np.outer(mean_X, weighed.sum(axis=0))
    return cross
