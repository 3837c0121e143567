"""The sums over rows that the gains of pairs need; the sums of parts add up to those of all rows.

The weights of the classes and the class means of the scores follow from the sums, so that one pass
over the rows is enough once there are scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from aucmax.statistics.pairs import Cells, cell_sums, steps

__all__ = ["PairSums"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over the rows in each cell of pairs of columns.

    Parameters
    ----------
    weight, scores : ndarray, shape (2, m, c)
        For negatives and positives: the weight of the rows in each cell, and the sum of their
        scores times weights. There are m pairs of at most c cells; further entries are 0.
    pairs : tuple of (str, str)
        The names of the columns, if known.
    model : str
        A digest of the model that the scores and cells come from, if known.
    """

    weight: Floats
    scores: Floats
    pairs: tuple[tuple[str, str], ...] = ()
    model: str = ""

    @classmethod
    def of(
        cls,
        cells: Cells,
        sizes: NDArray[np.int64],
        pairs: NDArray[np.int64],
        positive: NDArray[np.bool_],
        weight: Floats,
        scores: Floats,
    ) -> PairSums:
        """Return the sums of rows.

        Parameters
        ----------
        cells, sizes, pairs
            As for `aucmax.statistics.pairs.cell_sums`.
        positive, weight, scores : ndarray, shape (n,)
            Which rows are positive, their weights, and their scores.
        """
        own = np.array([weight * ~positive, weight * positive])
        sums = cell_sums(cells, sizes, pairs, np.concatenate([own, own * scores]).T)
        return cls(*np.moveaxis(sums, -1, 0).reshape(2, 2, *sums.shape[:2]))

    def __add__(self, other: PairSums) -> PairSums:
        """Return the sums over the rows of both; raise ValueError if pairs or models differ."""
        if (self.pairs, self.model) != (other.pairs, other.model):
            raise ValueError("these are sums of other pairs, or of another model.")
        return replace(self, weight=self.weight + other.weight, scores=self.scores + other.scores)

    def gains(self, alpha: float, tau: float = 0.5) -> Floats:
        """Return how much each pair lowers the square loss at the scores, shape (m,).

        Parameters
        ----------
        alpha : float
            The penalty α > 0 of the cells.
        tau : float
            τ.

        Raises
        ------
        ValueError
            If there are only rows of one class.
        """
        *_, g = self._model(tau)
        return -0.5 * np.einsum("mc,mc->m", g, self.steps(alpha, tau))

    def steps(self, alpha: float, tau: float = 0.5) -> Floats:
        """Return the best map of each pair alone, which adds to the scores, shape (m, c)."""
        return steps(*self._model(tau), alpha, tau)

    def _model(self, tau: float) -> tuple[Floats, Floats, Floats]:
        """Return the shares of positives and of negatives in each cell, and their slopes."""
        total = self.weight.sum(axis=2, keepdims=True)
        if not total.all():
            raise ValueError("there are only rows of one class; add sums of the other.")
        q, p = share = self.weight / total
        mean = self.scores.sum(axis=2, keepdims=True) / total
        below, above = self.scores / total - mean * share  # Σ share · (score − its class mean)
        gap = 1.0 - (mean[1] - mean[0])
        return p, q, gap * (q - p) + 2.0 * tau * above + 2.0 * (1.0 - tau) * below
