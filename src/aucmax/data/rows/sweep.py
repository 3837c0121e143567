"""Sums over the partners of rows, in one pass over the rows in an order."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows.kernels import compiled

__all__ = ["Sweep", "reaches"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class Sweep(NamedTuple):
    """An order of n rows in which each one's partners lie before a place.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        The rows, stratum by stratum.
    start : ndarray of int, shape (G + 1,)
        Where each stratum begins, and the end.
    reach : ndarray of int, shape (n,)
        The partners of the row at a place lie before this place of its stratum; never descending.
    level : ndarray of int32, shape (n,)
        By row: partners have a lower level, or one that is not higher, as ``ties`` says.
    ties : int
        1 if rows of the same level are partners, else 0.
    """

    rows: Places
    start: Places
    reach: Places
    level: NDArray[np.int32]
    ties: int

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values (n, k) over the partners of each row, shape (n, k)."""
        sums = np.empty(values.shape)
        _sums(self, np.ascontiguousarray(values), sums)
        return sums


def reaches(z: Floats, start: Places, margin: float, closed: bool) -> tuple[Places, Places]:
    """Return how far the partners of rows reach, of those that ascend and of those that descend.

    Parameters
    ----------
    z : ndarray, shape (n,)
        Scores, ascending in each stratum.
    start : ndarray of int, shape (G + 1,)
        Where each stratum begins, and the end.
    margin : float
        At least 0.
    closed : bool
        Whether scores that differ by the margin are near.

    Returns
    -------
    reach, first : ndarray of int, shape (n,)
        The row at place p is above, or less than the margin below, those before ``reach[p]``; it is
        below, or less than the margin above, those from ``first[p]`` on.
    """
    reach, first = np.empty((2, len(z)), np.intp)
    _reaches(z, start, margin, closed, reach, first)
    return reach, first


@compiled
def _reaches(z, start, margin, closed, reach, first):
    # z ascends in each stratum; reach[p]: the places before it have z below z[p] + margin, or at it
    # if closed; first[q]: the places from it on have such a reach beyond q
    for g in range(len(start) - 1):
        low, high = start[g], start[g + 1]
        q = low
        for p in range(low, high):
            while q < high and (z[q] - z[p] < margin or (closed and z[q] - z[p] == margin)):
                first[q] = p
                q += 1
            reach[p] = q
        first[q:high] = high


@compiled
def _sums(sweep, values, out):
    # a Fenwick tree of sums by level, to which rows are added as the reach of those asked grows
    rows, start, reach, level, ties = sweep
    k, most = values.shape[1], 0
    for i in rows:
        most = max(most, level[i] + 1)
    tree = np.zeros((most + 1, k))
    for g in range(len(start) - 1):
        low, high = start[g], start[g + 1]
        levels = 0
        for p in range(low, high):
            levels = max(levels, level[rows[p]] + 1)
        tree[: levels + 1] = 0.0
        q = low
        for p in range(low, high):
            while q < reach[p]:
                j = rows[q]
                place = level[j] + 1
                while place <= levels:
                    for c in range(k):
                        tree[place, c] += values[j, c]
                    place += place & -place
                q += 1
            i = rows[p]
            for c in range(k):
                out[i, c] = 0.0
            place = level[i] + ties
            while place > 0:
                for c in range(k):
                    out[i, c] += tree[place, c]
                place -= place & -place
