"""The worth of pairs of columns: how much the loss can fall if a map of the two is added.

Rows are counted in the cells that the places of two columns make, class by class, with the sum of
the slopes of the loss. The square loss's quadratic model of a block of cells is

    g·v + ½ v·(H + αI)v,   H = diag(2τp + 2(1−τ)q) − 2τ ppᵀ − 2(1−τ) qqᵀ + (p − q)(p − q)ᵀ,

with p and q the cells' shares of the positives and of the negatives and g their slopes. H is a
diagonal and a matrix of rank 2, so that its largest drop, ½ g·(H + αI)⁻¹g, takes as long as the
cells take to count. Lou, Caruana, Gehrke & Hooker (2013), "Accurate intelligible models with
pairwise interactions", screen pairs by such counts, for other models.
"""

from itertools import combinations

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from aucmax.data.rows.kernels import compiled

__all__ = ["all_pairs", "cell_sums", "gains"]

_PAIRS_AT_A_TIME = 256  # for each task of a thread

Floats = NDArray[np.float64]
Cells = NDArray[np.uint8]


def all_pairs(d: int) -> NDArray[np.int64]:
    """Return the d(d−1)/2 pairs of columns, shape (m, 2)."""
    return np.array([*combinations(range(d), 2)], dtype=np.int64).reshape(-1, 2)


def gains(
    cells: Cells,
    sizes: NDArray[np.int64],
    pairs: NDArray[np.int64],
    rows: tuple[NDArray[np.bool_], Floats, Floats],
    alpha: float,
    tau: float = 0.5,
    n_jobs: int | None = None,
) -> Floats:
    """Return how much the quadratic model of the square loss falls for each pair, shape (m,).

    Parameters
    ----------
    cells : ndarray of uint8, shape (d, n)
        The place of each row in each column.
    sizes : ndarray of int, shape (d,)
        The number of places.
    pairs : ndarray of int, shape (m, 2)
    rows : (ndarray of bool, ndarray, ndarray), shape (n,) each
        Which are positive, their weights, which sum to 1 in each class, and the slopes of the loss.
    alpha : float
        α > 0 of the cells.
    tau : float
        τ.
    n_jobs : int, optional
        Threads.
    """
    chunks = [
        pairs[first : first + _PAIRS_AT_A_TIME] for first in range(0, len(pairs), _PAIRS_AT_A_TIME)
    ]
    pool = Parallel(n_jobs=n_jobs, prefer="threads")
    worth = pool(delayed(_gains)(cells, sizes, chunk, rows, alpha, tau) for chunk in chunks)
    return np.concatenate(worth) if worth else np.empty(0)


def cell_sums(
    cells: Cells,
    sizes: NDArray[np.int64],
    pairs: NDArray[np.int64],
    rows: tuple[NDArray[np.bool_], Floats, Floats],
) -> tuple[Floats, Floats, Floats]:
    """Return p, q and g of the cells of each pair, shape (m, c) each; arguments as for `gains`.

    Beyond the cells of a pair there are zeros.
    """
    most = int(np.prod(sizes[pairs], axis=1).max(initial=0))
    sums = np.zeros((len(pairs), most, 3))
    positive, weight, slope = rows
    _add_up(cells, sizes, pairs, positive, weight, slope, sums)
    return sums[..., 1], sums[..., 0], sums[..., 2]


def _gains(
    cells: Cells,
    sizes: NDArray[np.int64],
    pairs: NDArray[np.int64],
    rows: tuple[NDArray[np.bool_], Floats, Floats],
    alpha: float,
    tau: float,
) -> Floats:
    p, q, g = cell_sums(cells, sizes, pairs, rows)
    diagonal = 2.0 * tau * p + 2.0 * (1.0 - tau) * q + alpha
    solved = g / diagonal
    U = np.stack([p, q], axis=-1)
    # H + αI = diagonal + U C Uᵀ, inverted by Woodbury's formula
    C = np.array([[1.0 - 2.0 * tau, -1.0], [-1.0, 2.0 * tau - 1.0]])
    middle = np.linalg.inv(C) + U.transpose(0, 2, 1) @ (U / diagonal[..., None])
    h = np.einsum("mck,mc->mk", U, solved)
    correction = np.einsum("mk,mk->m", h, np.linalg.solve(middle, h[..., None])[..., 0])
    return 0.5 * (np.einsum("mc,mc->m", g, solved) - correction)


@compiled
def _add_up(cells, sizes, pairs, positive, weight, slope, out):
    for m in range(len(pairs)):
        i, j = pairs[m]
        first, second, width = cells[i], cells[j], sizes[j]
        for r in range(len(weight)):
            cell = first[r] * width + second[r]
            out[m, cell, 1 if positive[r] else 0] += weight[r]
            out[m, cell, 2] += slope[r]
