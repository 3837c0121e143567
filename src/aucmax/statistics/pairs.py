"""The gains of pairs of columns: how much a map of the two can lower the loss.

Rows are counted in the cells formed by the places of two columns, class by class, with the sum of
the slopes of the loss. The square loss's quadratic model for a block of cells is

    g·v + ½ v·(H + αI)v,   H = diag(2τp + 2(1−τ)q) − 2τ ppᵀ − 2(1−τ) qqᵀ + (p − q)(p − q)ᵀ,

with p and q the cells' shares of the positives and of the negatives and g their slopes. H is the
sum of a diagonal and a matrix of rank 2, so that the largest drop, ½ g·(H + αI)⁻¹g, takes only as
long as counting the cells. Lou, Caruana, Gehrke & Hooker (2013), "Accurate intelligible models with
pairwise interactions", screen pairs by such counts, for other models.
"""

from itertools import combinations
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows.kernels import compiled, unless

__all__ = ["Cells", "all_pairs", "cell_sums", "steps"]

_NUMPY_SUMS = 100_000  # summands over all pairs, up to which NumPy adds them
_PAIRS_AT_A_TIME = 256  # pairs whose cells are in memory

Floats = NDArray[np.float64]
Cells = NDArray[np.uint8]


def all_pairs(d: int) -> NDArray[np.int64]:
    """Return the d(d−1)/2 pairs of columns, shape (m, 2)."""
    return np.array([*combinations(range(d), 2)], dtype=np.int64).reshape(-1, 2)


def cell_sums(
    cells: Cells, sizes: NDArray[np.int64], pairs: NDArray[np.int64], summands: Floats
) -> Floats:
    """Return the sums over rows in the cells of each pair, shape (m, c, k).

    If a pair has fewer than c cells, further entries are 0.

    Parameters
    ----------
    cells : ndarray of uint8, shape (d, n)
        The place of each row in each column.
    sizes : ndarray of int, shape (d,)
        The number of places of each column.
    pairs : ndarray of int, shape (m, 2)
    summands : ndarray, shape (n, k)
    """
    counted = _Counted.of(cells, sizes, summands)
    most = int(np.prod(sizes[pairs], axis=1).max(initial=0))
    sums = np.zeros((len(pairs), most, summands.shape[1]))
    _add_up(counted, sizes, pairs, sums)
    return sums


class _Counted(NamedTuple):
    """Rows by their places, and the sums over each place of each column.

    Parameters
    ----------
    cells : ndarray of uint8, shape (d, n)
    summands : ndarray, shape (n, k)
    of_places : ndarray, shape (d, places, k)
    common : ndarray of int, shape (d,)
        The place with the most rows, for each column.
    ends : ndarray of int, shape (d + 1,)
    others : ndarray of int32
        The rows at other places, column by column: those of column j are ends[j] to ends[j + 1].
    """

    cells: Cells
    summands: Floats
    of_places: Floats
    common: NDArray[np.int64]
    ends: NDArray[np.int64]
    others: NDArray[np.int32]

    @classmethod
    def of(cls, cells: Cells, sizes: NDArray[np.int64], summands: Floats) -> Self:
        most = int(sizes.max(initial=0))
        counts = np.array([np.bincount(places, minlength=most) for places in cells])
        common = counts.argmax(axis=1)
        ends = np.cumsum([0, *(cells.shape[1] - counts.max(axis=1))])
        listed = [np.flatnonzero(own != place) for own, place in zip(cells, common, strict=True)]
        of_places = np.array(
            [[np.bincount(own, v, minlength=most) for v in summands.T] for own in cells]
        )
        others = np.concatenate(listed).astype(np.int32)
        return cls(cells, summands, of_places.transpose(0, 2, 1).copy(), common, ends, others)


def steps(p: Floats, q: Floats, g: Floats, alpha: float, tau: float) -> Floats:
    """Return the minimiser of each pair's quadratic model, (m, c), given its cells (m, c)."""
    diagonal = 2.0 * tau * p + 2.0 * (1.0 - tau) * q + alpha
    solved = g / diagonal
    U = np.stack([p, q], axis=-1)
    # H + αI = diagonal + U C Uᵀ, inverted by Woodbury's formula
    C = np.array([[1.0 - 2.0 * tau, -1.0], [-1.0, 2.0 * tau - 1.0]])
    middle = np.linalg.inv(C) + U.transpose(0, 2, 1) @ (U / diagonal[..., None])
    h = np.linalg.solve(middle, np.einsum("mck,mc->mk", U, solved)[..., None])
    return (U @ h)[..., 0] / diagonal - solved


def _add_few(
    counted: _Counted, sizes: NDArray[np.int64], pairs: NDArray[np.int64], out: Floats
) -> None:
    for m, (i, j) in enumerate(pairs):
        cell = counted.cells[i] * sizes[j] + counted.cells[j]
        for k, summand in enumerate(counted.summands.T):
            out[m, :, k] = np.bincount(cell, summand, minlength=out.shape[1])


@unless(
    lambda counted, sizes, pairs, out: len(pairs) * counted.summands.size <= _NUMPY_SUMS, _add_few
)
@compiled
def _add_up(counted, sizes, pairs, out):
    # visit only rows that are not at the common place of one column: the other sums follow
    cells, summands, of_places, common, ends, others = counted
    for m in range(len(pairs)):
        i, j = pairs[m]
        a, b, step_a, step_b = i, j, sizes[j], 1
        if ends[j + 1] - ends[j] < ends[i + 1] - ends[i]:
            a, b, step_a, step_b = j, i, 1, sizes[j]
        for r in others[ends[a] : ends[a + 1]]:
            cell = cells[a, r] * step_a + cells[b, r] * step_b
            for k in range(out.shape[2]):
                out[m, cell, k] += summands[r, k]
        for place in range(sizes[b]):
            for k in range(out.shape[2]):
                left = of_places[b, place, k]
                for level in range(sizes[a]):
                    left -= out[m, level * step_a + place * step_b, k]
                out[m, common[a] * step_a + place * step_b, k] = left
