"""Sums over the partners of rows: those of lower degree, and those of higher degree."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows.kernels import compiled, inlined

__all__ = ["AllPartners", "NearPartners"]

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


class AllPartners(NamedTuple):
    """Every two rows of one stratum and of different degrees are partners.

    Parameters
    ----------
    rows : ndarray of int, shape (n,)
        The rows, stratum by stratum and by ascending degree.
    bounds : ndarray of int, shape (L + 1,)
        Where the rows of each degree of each stratum begin, and the end.
    first : ndarray of int, shape (G + 1,)
        Which of the degrees is the first of each stratum, and L.
    """

    rows: Places
    bounds: Places
    first: Places

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
            For each row i the sum over its partners j of lower degree, and for each row j that over
            its partners i of higher degree.
        """
        below, above = np.empty((2, len(u)))
        _all(*self, (ahead, behind, margin, u), below, above)
        return below, above


class NearPartners(NamedTuple):
    """Only those of `AllPartners` whose scores z differ by less than a reach, z_i − z_j < reach.

    The rows of two neighbouring degrees, each by score, have their sums by two sweeps, and are then
    merged, until all rows of a stratum are.

    Parameters
    ----------
    rows, bounds, first
        As for `AllPartners`; those of a degree are by ascending score.
    z : ndarray, shape (n,)
        Scores.
    reach : float
    closed : bool
        Whether rows whose scores differ by the reach are partners, too.
    """

    rows: Places
    bounds: Places
    first: Places
    z: Floats
    reach: float
    closed: bool

    def sums(
        self, ahead: Floats, behind: Floats, margin: float, u: Floats
    ) -> tuple[Floats, Floats]:
        """Return the sums of `AllPartners.sums` over these partners."""
        below, above = np.empty((2, len(u)))
        order = AllPartners(self.rows, self.bounds, self.first)
        near = self.z, self.reach, self.closed
        _near(order, near, (ahead, behind, margin, u), below, above)
        return below, above


@compiled
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


@compiled
def _near(order, near, summands, below, above):
    # a row's numbers move with it, so that each pass reads memory in order: z, u, its sums below
    # and above, the factors ahead and behind
    rows, bounds, first = order
    z, reach, closed = near
    ahead, behind, margin, u = summands
    q, most = ahead.shape[1], 1
    for g in range(len(first) - 1):
        most = max(most, bounds[first[g + 1]] - bounds[first[g]])
    table, merged = np.empty((most, 4 + 2 * q)), np.empty((most, 4 + 2 * q))
    owner, owners = np.empty(most, rows.dtype), np.empty(most, rows.dtype)
    edges = np.empty(most + 1, np.int64)
    for g in range(len(first) - 1):
        begin, end = bounds[first[g]], bounds[first[g + 1]]
        for k in range(end - begin):
            i = rows[begin + k]
            owner[k] = i
            table[k, 0], table[k, 1], table[k, 2], table[k, 3] = z[i], u[i], 0.0, 0.0
            for c in range(q):
                table[k, 4 + c], table[k, 4 + q + c] = ahead[i, c], behind[i, c]
        blocks = first[g + 1] - first[g]
        for k in range(blocks + 1):
            edges[k] = bounds[first[g] + k] - begin
        while blocks > 1:
            for b in range(0, blocks - 1, 2):
                places = edges[b], edges[b + 1], edges[b + 2]
                _add_sums(table, places, reach, closed, margin)
                _merge(table, owner, places, merged, owners)
            if blocks % 2 == 1:
                for k in range(edges[blocks - 1], edges[blocks]):
                    for c in range(table.shape[1]):
                        merged[k, c] = table[k, c]
                    owners[k] = owner[k]
            for b in range(0, blocks, 2):
                edges[b // 2] = edges[b]
            edges[(blocks + 1) // 2] = edges[blocks]
            blocks = (blocks + 1) // 2
            table, merged, owner, owners = merged, table, owners, owner
        for k in range(end - begin):
            below[owner[k]], above[owner[k]] = table[k, 2], table[k, 3]


@compiled
def _add_sums(table, places, reach, closed, margin):
    # of rows of lower degree and of rows of higher degree that follow them, both by score
    low, middle, high = places
    q = (table.shape[1] - 4) // 2
    for c in range(4, 4 + q):
        j, mass, total = middle, 0.0, 0.0
        for i in range(high - 1, middle - 1, -1):
            while j > low and _is_near(table[i, 0] - table[j - 1, 0], reach, closed):
                j -= 1
                mass += table[j, q + c]
                total += table[j, q + c] * table[j, 1]
            table[i, 2] += table[i, c] * ((margin - table[i, 1]) * mass + total)
        i, mass, total = middle, 0.0, 0.0
        for j in range(low, middle):
            while i < high and _is_near(table[i, 0] - table[j, 0], reach, closed):
                mass += table[i, c]
                total += table[i, c] * table[i, 1]
                i += 1
            table[j, 3] += table[j, q + c] * ((margin + table[j, 1]) * mass - total)


@inlined
def _is_near(apart, reach, closed):
    return apart < reach or (closed and apart == reach)


@compiled
def _merge(table, owner, places, merged, owners):
    low, middle, high = places
    i, j = low, middle
    for k in range(low, high):
        if j == high or (i < middle and table[i, 0] <= table[j, 0]):
            lower = i
            i += 1
        else:
            lower = j
            j += 1
        owners[k] = owner[lower]
        for c in range(table.shape[1]):
            merged[k, c] = table[lower, c]
