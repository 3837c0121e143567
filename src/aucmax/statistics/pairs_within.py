"""The gains of pairs of columns within strata: how much a map of the two can lower the loss.

The square loss's quadratic model for a block of cells is g·v + ½ v·(H + αI)v with

    H = diag(p + q) − C − Cᵀ,   C = Σ_g ω_g p_g q_gᵀ,

with p_g and q_g the cells' shares of the positives and of the negatives of stratum g, p and q their
means with the weights ω_g, and g the cells' slopes. With one stratum it is the model of
`aucmax.statistics.pairs`, and C = pqᵀ. A map that is constant in each stratum has slope and
curvature 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows.kernels import allocating
from aucmax.data.strata import Strata
from aucmax.statistics.pairs import Cells, cell_sums

__all__ = ["PairsWithin"]

NUMBERS_AT_A_TIME = 1 << 22  # in the matrices C of the pairs in memory

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairsWithin:
    """Rows in the cells of pairs of columns, compared within strata.

    Parameters
    ----------
    cells, sizes, pairs
        As for `aucmax.statistics.pairs.cell_sums`.
    positive : ndarray of bool, shape (n,)
    share : ndarray, shape (n,)
        The weights of the rows, which sum to ω_g in each class of stratum g.
    slope : ndarray, shape (n,)
        The derivative of the square loss with respect to the score of each row.
    strata : Strata
    """

    cells: Cells
    sizes: NDArray[np.int64]
    pairs: NDArray[np.int64]
    positive: NDArray[np.bool_]
    share: Floats
    slope: Floats
    strata: Strata

    def gains(self, alpha: float) -> Floats:
        """Return how much each pair lowers the loss, shape (m,), with penalty α > 0 for cells."""
        falls = [-0.5 * np.einsum("mc,mc->m", g, step) for g, step in self._solved(alpha)]
        return np.concatenate([[], *falls])

    def steps(self, alpha: float) -> Floats:
        """Return the best map of each pair alone, which adds to the scores, shape (m, c)."""
        return np.concatenate([step for _, step in self._solved(alpha)])

    def _solved(self, alpha: float) -> Iterator[tuple[Floats, Floats]]:
        """Yield the slopes of the cells of some pairs, and the minimisers of their models."""
        counted = self.strata.order[self.share[self.strata.order] > 0.0]
        code = self.strata.code[counted]
        ends = np.flatnonzero(np.diff(code, append=-1)) + 1
        rows = self.cells[:, counted], self.positive[counted], self.share[counted]
        summands = np.column_stack([self.share, self.slope])
        most = int(np.prod(self.sizes[self.pairs], axis=1).max(initial=1))
        at_a_time = max(NUMBERS_AT_A_TIME // most**2, 1)
        for first in range(0, len(self.pairs), at_a_time):
            pairs = self.pairs[first : first + at_a_time]
            sums = np.zeros((len(pairs), most, 2))
            of_pairs = cell_sums(self.cells, self.sizes, pairs, summands)
            sums[:, : of_pairs.shape[1]] = of_pairs
            C = np.zeros((len(pairs), most, most))
            _add_products(*rows, ends, self.sizes, pairs, C)
            H = -C - C.transpose(0, 2, 1)
            H[:, np.arange(most), np.arange(most)] += sums[..., 0] + alpha
            g = sums[..., 1]
            yield g, np.linalg.solve(H, -g[..., None])[..., 0].astype(np.float64)


@allocating
def _add_products(cells, positive, share, ends, sizes, pairs, out):
    # adds Σ_g ω_g p_g q_gᵀ; rows come stratum by stratum
    most = out.shape[1]
    sums, occupied = np.zeros((2, most)), np.empty((2, most), np.int64)
    count = np.zeros(2, np.int64)
    for m in range(len(pairs)):
        i, j = pairs[m]
        start = 0
        for end in ends:
            count[0], count[1], omega = 0, 0, 0.0
            for r in range(start, end):
                side = int(positive[r])
                cell = cells[i, r] * sizes[j] + cells[j, r]
                if sums[side, cell] == 0.0:
                    occupied[side, count[side]] = cell
                    count[side] += 1
                sums[side, cell] += share[r]
                omega += side * share[r]
            for a in occupied[1, : count[1]]:
                for b in occupied[0, : count[0]]:
                    out[m, a, b] += sums[1, a] * sums[0, b] / omega
            for side in range(2):
                for a in occupied[side, : count[side]]:
                    sums[side, a] = 0.0
            start = end
