"""Reservoirs: a uniform sample of the rows met so far, of each class, in fixed memory.

The N-th row of a class enters its reservoir of ``size`` slots for sure while N ≤ size, and after
that with probability size/N, in place of a uniformly drawn one. Whatever N, each of the N rows is
then in the reservoir with the same probability.

References
----------
Vitter (1985), "Random sampling with a reservoir", ACM Transactions on Mathematical Software.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.rows import CSR, Rows, as_rows, n_rows, take_rows, to_scipy

__all__ = ["in_front", "kept_rows", "sampled", "slots", "whole"]


def slots(sign: np.ndarray, met: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the slot of its class's reservoir that each row enters, −1 for none.

    Parameters
    ----------
    sign : ndarray, shape (n,)
        ±1, in the order in which the rows arrive.
    met : ndarray, shape (2,)
        How many rows of the positive and of the negative class came before them.
    size : int
        Slots of each reservoir.
    rng : RandomState
        Gives one number for each row, so that a division of the rows into parts draws alike.
    """
    uniform, out = rng.random_sample(len(sign)), np.empty(len(sign), dtype=np.int64)
    for k, members in enumerate((sign > 0, sign < 0)):
        N = met[k] + np.arange(1.0, np.count_nonzero(members) + 1.0)
        drawn = np.floor(uniform[members] * N)
        out[members] = np.where(
            float(size) >= N, N - 1.0, np.where(drawn < float(size), drawn, -1.0)
        )
    return out


def sampled(members: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Return up to ``size`` of the members, a uniform sample in their order."""
    if len(members) <= size:
        return members
    return np.sort(rng.choice(members, size, replace=False))


def kept_rows(X: Rows, where: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows named by ``where`` as a dict of arrays, which can be saved."""
    rows = take_rows(X, where)
    return rows._asdict() if isinstance(rows, CSR) else {"dense": rows}


def in_front(kept: dict[str, Any], X: Rows) -> Rows:
    """Return the rows of `kept_rows` with those of X below them; dense only where both are."""
    before: Rows = kept["dense"] if "dense" in kept else CSR(**kept)
    if n_rows(before) == 0:
        return X
    if isinstance(before, CSR) or isinstance(X, CSR):
        return as_rows(sp.vstack([sp.csr_array(to_scipy(before)), sp.csr_array(to_scipy(X))]))
    return as_rows(np.concatenate([before, X]))


def whole(kept: dict[str, Any], n_rows: int, n_features: int) -> bool:
    """Tell whether these are so many rows of so many features, as `kept_rows` returns them."""
    if "dense" in kept:
        dense = kept["dense"]
        return bool(np.shape(dense) == (n_rows, n_features) and np.isfinite(dense).all())
    try:
        rows = sp.csr_array((kept["data"], kept["indices"], kept["indptr"]), (n_rows, n_features))
        rows.check_format(full_check=True)
    except (KeyError, TypeError, ValueError):
        return False
    return kept.get("n_features") == n_features and bool(np.isfinite(rows.data).all())
