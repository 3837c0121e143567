"""Sums over the partners of rows: those of lower degree, and those of higher degree."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows.kernels import allocating, compiled, inlined

__all__ = ["AllPartners", "NearPartners"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class AllPartners(NamedTuple):
    """All pairs of rows in one stratum with different degrees; the rows of a pair are partners.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        The rows, stratum by stratum and by ascending degree.
    bounds : ndarray of int, shape (L + 1,)
        The position at which each degree of each stratum begins, and the end.
    first : ndarray of int, shape (G + 1,)
        The index of the first degree of each stratum, and L.
    """

    rows: Places
    bounds: Places
    first: Places

    @property
    def start(self) -> Places:
        """The position in ``rows`` at which each stratum begins, and the end."""
        return self.bounds[self.first]

    def sums(
        self, ahead: Floats, behind: Floats, margin: float, u: Floats
    ) -> tuple[Floats, Floats]:
        """Return Σ_j p_ij (margin − u_i + u_j), p_ij = ahead_i · behind_j, for all rows.

        Parameters
        ----------
        ahead, behind : ndarray, shape (n, q)
        margin : float
        u : ndarray, shape (n,)

        Returns
        -------
        below, above : ndarray, shape (n,)
            For each row i the sum over its partners j of lower degree, and for each row j the sum
            over its partners i of higher degree.
        """
        below, above = np.empty((2, len(u)))
        _all(*self, (ahead, behind, margin, u), below, above)
        return below, above


class NearPartners(NamedTuple):
    """The pairs of `AllPartners` with z_i − z_j < reach, where i has the higher degree.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        The rows, stratum by stratum and by ascending score.
    start : ndarray of int, shape (G + 1,)
        The position at which each stratum begins, and the end.
    level : ndarray of int, shape (n,)
        The rank of each row's degree, counted from the lowest degree of the first stratum.
    z : ndarray, shape (n,)
        Scores.
    reach : float
    closed : bool
        Whether rows with z_i − z_j = reach are partners, too.
    """

    rows: Places
    start: Places
    level: NDArray[np.int32]
    z: Floats
    reach: float
    closed: bool

    def sums(
        self, ahead: Floats, behind: Floats, margin: float, u: Floats
    ) -> tuple[Floats, Floats]:
        """Return the same sums as `AllPartners.sums`, over these partners only."""
        below, above = np.empty((2, len(u)))
        _near(self, (ahead, behind, margin, u), below, above)
        return below, above


@allocating
def _all(rows, bounds, first, summands, below, above):
    ahead, behind, margin, u = summands
    q = ahead.shape[1]
    sums = np.zeros((2, q))  # Σ p and Σ p u over the degrees before, for each factor
    for g in range(len(first) - 1):
        sums[:] = 0.0
        for level in range(first[g], first[g + 1]):
            for i in rows[bounds[level] : bounds[level + 1]]:
                below[i] = 0.0
                for c in range(q):
                    below[i] += ahead[i, c] * ((margin - u[i]) * sums[0, c] + sums[1, c])
            for i in rows[bounds[level] : bounds[level + 1]]:
                for c in range(q):
                    sums[0, c] += behind[i, c]
                    sums[1, c] += behind[i, c] * u[i]
        sums[:] = 0.0
        for level in range(first[g + 1] - 1, first[g] - 1, -1):
            for i in rows[bounds[level] : bounds[level + 1]]:
                above[i] = 0.0
                for c in range(q):
                    above[i] += behind[i, c] * ((margin + u[i]) * sums[0, c] - sums[1, c])
            for i in rows[bounds[level] : bounds[level + 1]]:
                for c in range(q):
                    sums[0, c] += ahead[i, c]
                    sums[1, c] += ahead[i, c] * u[i]


@allocating
def _near(near, summands, below, above):
    # a sweep by score has passed the rows that are near the current one; a tree sums them by degree
    rows, start, level, z, reach, closed = near
    ahead, behind, margin, u = summands
    most = 1
    for g in range(len(start) - 1):
        most = max(most, start[g + 1] - start[g])
    table, place = np.empty((most, 2 + 2 * ahead.shape[1])), np.empty(most, np.int64)
    nodes = np.empty((most + 1, 2 * ahead.shape[1]))
    for g in range(len(start) - 1):
        of_stratum = rows[start[g] : start[g + 1]]
        count = _gather(of_stratum, (level, z, u, ahead, behind), table, place)
        m, q, tree = len(of_stratum), ahead.shape[1], nodes[: count + 1]
        upper, lower = slice(2, 2 + q), slice(2 + q, 2 + 2 * q)
        tree[:] = 0.0
        j = m
        for i in range(m - 1, -1, -1):
            while j > 0 and _is_near(table[i, 0] - table[j - 1, 0], reach, closed):
                j -= 1
                _add(tree, place[j], table[j, lower], table[j, 1])
            below[of_stratum[i]] = _sum(tree, place[i], table[i, upper], margin - table[i, 1], 1.0)
        tree[:] = 0.0
        i = 0
        for j in range(m):
            while i < m and _is_near(table[i, 0] - table[j, 0], reach, closed):
                _add(tree, count - 1 - place[i], table[i, upper], table[i, 1])
                i += 1
            rank, far = count - 1 - place[j], margin + table[j, 1]
            above[of_stratum[j]] = _sum(tree, rank, table[j, lower], far, -1.0)


@inlined
def _is_near(apart, reach, closed):
    return apart < reach or (closed and apart == reach)


@compiled
def _gather(rows, numbers, table, place):
    # put each row's numbers side by side, and count degrees from 0; returns the number of degrees
    level, z, u, ahead, behind = numbers
    q = ahead.shape[1]
    low, high = level[rows[0]], level[rows[0]]
    for i in rows:
        low, high = min(low, level[i]), max(high, level[i])
    for k in range(len(rows)):
        i = rows[k]
        place[k] = level[i] - low
        table[k, 0], table[k, 1] = z[i], u[i]
        for c in range(q):
            table[k, 2 + c], table[k, 2 + q + c] = ahead[i, c], behind[i, c]
    return high - low + 1


@inlined
def _add(tree, place, factor, u):
    # Σ p and Σ p u of the factors, in a binary indexed tree (Fenwick 1994)
    for c in range(len(factor)):
        k = place + 1 if factor[c] != 0.0 else len(tree)
        while k < len(tree):
            tree[k, 2 * c] += factor[c]
            tree[k, 2 * c + 1] += factor[c] * u
            k += k & -k


@inlined
def _sum(tree, place, factor, far, sign):
    # Σ p (far ± u) over the lower places
    total = 0.0
    for c in range(len(factor)):
        k = place if factor[c] != 0.0 else 0
        while k > 0:
            total += factor[c] * (far * tree[k, 2 * c] + sign * tree[k, 2 * c + 1])
            k -= k & -k
    return total
