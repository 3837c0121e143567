"""Reservoirs: a uniform sample of the rows of each class seen so far, in fixed memory.

The N-th row of a class always enters the reservoir of ``size`` slots if N ≤ size. After that, it
replaces a uniformly drawn row with probability size/N. Then, for every N, each of the N rows is in
the reservoir with the same probability.

References
----------
Vitter (1985), "Random sampling with a reservoir", ACM Transactions on Mathematical Software.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import CSR, Rows, as_rows, n_rows, take_rows, to_scipy

__all__ = ["in_front", "kept_rows", "slots", "valid_rows"]


def slots(sign: np.ndarray, met: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the slot in its class's reservoir that each row enters, −1 for none.

    Parameters
    ----------
    sign : ndarray, shape (n,)
        ±1, in the order in which the rows arrive.
    met : ndarray, shape (2,)
        Numbers of earlier rows of the positive and of the negative class.
    size : int
        The number of slots of each reservoir.
    rng : RandomState
        One number is drawn for each row, so the result does not depend on the division into parts.
    """
    uniform, slot = rng.random_sample(len(sign)), np.empty(len(sign), dtype=np.int64)
    for k, members in enumerate((sign > 0, sign < 0)):
        N = met[k] + np.arange(1.0, np.count_nonzero(members) + 1.0)
        drawn = np.floor(uniform[members] * N)
        slot[members] = np.where(
            float(size) >= N, N - 1.0, np.where(drawn < float(size), drawn, -1.0)
        )
    return slot


def kept_rows(X: Rows, positions: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows at these positions as a dict of arrays, which can be saved."""
    rows = take_rows(X, positions)
    return rows._asdict() if isinstance(rows, CSR) else {"dense": rows}


def in_front(kept: dict[str, Any], X: Rows) -> Rows:
    """Return the rows of `kept_rows` followed by those of X; dense only if both are dense."""
    before: Rows = kept["dense"] if "dense" in kept else CSR(**kept)
    if n_rows(before) == 0:
        return X
    if isinstance(before, CSR) or isinstance(X, CSR):
        return as_rows(sp.vstack([sp.csr_array(to_scipy(before)), sp.csr_array(to_scipy(X))]))
    return as_rows(np.concatenate([before, X]))


def valid_rows(kept: dict[str, Any], n_rows: int, n_features: int) -> bool:
    """Return whether ``kept`` is a valid result of `kept_rows` with so many rows and features."""
    if "dense" in kept:
        dense = kept["dense"]
        return bool(np.shape(dense) == (n_rows, n_features) and np.isfinite(dense).all())
    try:
        rows = sp.csr_array((kept["data"], kept["indices"], kept["indptr"]), (n_rows, n_features))
        rows.check_format(full_check=True)
    except (KeyError, TypeError, ValueError):
        return False
    return kept.get("n_features") == n_features and bool(np.isfinite(rows.data).all())
