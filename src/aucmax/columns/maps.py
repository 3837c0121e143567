"""Maps of pairs of columns as sparse features: products of a row's places along the two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from aucmax.data.rows.kernels import compiled, unless

__all__ = ["MapPlaces", "map_features"]

_FEW_PRODUCTS = 50_000  # rows times pairs


class MapPlaces(NamedTuple):
    """The places of rows along the columns of maps: at a place, or between it and the next.

    Parameters
    ----------
    low : ndarray of int16, shape (n, d)
        The place; −1 if there is none, as for a gap in a column without gaps in the fit.
    rise : ndarray, shape (n, d)
        The share of the way to the next place, below 1.
    """

    low: NDArray[np.int16]
    rise: NDArray[np.float64]

    @classmethod
    def of_columns(cls, places: Sequence[tuple[NDArray[np.intp], NDArray[np.float64]]]) -> Self:
        """Return the places of rows from the place and rise in each column, shape (n,) each."""
        low, rise = zip(*places, strict=True)
        return cls(np.column_stack(low).astype(np.int16), np.column_stack(rise))

    def at(self, rows: NDArray[np.intp]) -> Self:
        """Return the places of some rows."""
        return type(self)(self.low[rows], self.rise[rows])

    def nearest(self) -> NDArray[np.uint8]:
        """Return the nearest place of each row in each column, shape (d, n); 0 if there is none."""
        return np.ascontiguousarray((np.maximum(self.low, 0) + (self.rise > 0.5)).T, dtype=np.uint8)


def map_features(
    places: MapPlaces, pairs: Sequence[tuple[int, int]], sizes: NDArray[np.intp]
) -> sp.csr_matrix:
    """Return the maps of pairs of columns, one after the other, up to four products in each.

    Parameters
    ----------
    places : MapPlaces
        The places of n rows along d columns.
    pairs : sequence of (int, int)
    sizes : ndarray of int, shape (d,)
        The number of places of each column.
    """
    chosen = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    of_maps = np.concatenate([[0], np.cumsum(sizes[chosen].prod(axis=1))])
    n = len(places.low)
    ends = np.zeros(n + 1, dtype=np.int64)
    _count(places.low, places.rise, chosen, ends)
    data, indices = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int32)
    _multiply(places, chosen, sizes[chosen[:, 1]], of_maps, ends, indices, data)
    if ends[-1] <= np.iinfo(np.int32).max:
        ends = ends.astype(np.int32)
    return sp.csr_matrix((data, indices, ends), shape=(n, int(of_maps[-1])))


def _products(
    low: NDArray[np.int16], rise: NDArray[np.float64], pairs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which of the four products of each pair are not 0 in a row, shape (n, m, 2, 2)."""
    i, j = pairs.T
    on_both = (low[:, i] >= 0) & (low[:, j] >= 0)
    between = np.stack([np.ones(rise.shape, bool), rise > 0.0])  # two places
    return on_both[..., None, None] & np.einsum("anm,bnm->nmab", between[..., i], between[..., j])


def _count_few(
    low: NDArray[np.int16],
    rise: NDArray[np.float64],
    pairs: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    ends[1:] = np.cumsum(_products(low, rise, pairs).sum(axis=(1, 2, 3)))


def _multiply_few(
    places: MapPlaces,
    pairs: NDArray[np.int64],
    widths: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    indices: NDArray[np.int32],
    data: NDArray[np.float64],
) -> None:
    nonzero = _products(places.low, places.rise, pairs)
    i, j = pairs.T
    cells = starts[:-1] + places.low[:, i] * widths + places.low[:, j]
    steps = widths[:, None, None] * np.array([[[0], [1]]]) + np.array([[[0, 1]]])
    shares = np.stack([1.0 - places.rise, places.rise])
    indices[:] = (cells[..., None, None] + steps)[nonzero]
    data[:] = np.einsum("anm,bnm->nmab", shares[..., i], shares[..., j])[nonzero]


@unless(lambda low, rise, pairs, ends: len(low) * len(pairs) <= _FEW_PRODUCTS, _count_few)
@compiled
def _count(low, rise, pairs, ends):
    for r in range(len(low)):
        products = 0
        for i, j in pairs:
            if low[r, i] >= 0 and low[r, j] >= 0:
                products += (1 + (rise[r, i] > 0.0)) * (1 + (rise[r, j] > 0.0))
        ends[r + 1] = ends[r] + products


@unless(lambda places, pairs, *_: len(places.low) * len(pairs) <= _FEW_PRODUCTS, _multiply_few)
@compiled
def _multiply(places, pairs, widths, starts, ends, indices, data):
    for r in range(len(places.low)):
        k = ends[r]
        for m in range(len(pairs)):
            i, j = pairs[m]
            if places.low[r, i] < 0 or places.low[r, j] < 0:
                continue
            first, second = places.rise[r, i], places.rise[r, j]
            cell = starts[m] + places.low[r, i] * widths[m] + places.low[r, j]
            for a in range(1 + (first > 0.0)):
                for b in range(1 + (second > 0.0)):
                    indices[k] = cell + a * widths[m] + b
                    data[k] = (first if a else 1.0 - first) * (second if b else 1.0 - second)
                    k += 1
