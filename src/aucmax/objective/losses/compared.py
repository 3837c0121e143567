"""The square losses over pairs of rows of many degrees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aucmax.data.comparisons import Comparisons

__all__ = ["SquaresOfPairs"]


@dataclass(frozen=True, eq=False)
class SquaresOfPairs:
    """½ Σ p_ij (1 − z_i + z_j)² over pairs: a `LossAt`.

    Parameters
    ----------
    z : ndarray, shape (n,)
        Scores; those of different strata are never compared, and scores near 0 keep their digits.
    pairs : Comparisons
        All pairs for the square loss, those with z_i − z_j < 1 for the squared hinge.
    """

    z: np.ndarray
    pairs: Comparisons

    @cached_property
    def _missed(self) -> tuple[float, np.ndarray]:
        """Σ p_ij m_ij for m_ij = 1 − z_i + z_j, and the derivative with respect to z."""
        below, above = self.pairs.sums(1.0, self.z)
        return float(below.sum()), above - below

    @property
    def value(self) -> float:
        total, gradient = self._missed
        return 0.5 * (total + float(gradient @ self.z))  # m_ij² = m_ij (1 − z_i + z_j)

    @property
    def gradient(self) -> np.ndarray:
        return self._missed[1]

    def product(self, u: np.ndarray) -> np.ndarray:
        """Return the second derivative times u (n,)."""
        return self.pairs.product(u)
