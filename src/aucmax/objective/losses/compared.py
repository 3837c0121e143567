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
        Scores; those of different strata are never compared, and near 0 they keep their digits.
    pairs : Comparisons
        All pairs for the square loss, those with z_i − z_j < 1 for the squared hinge.
    """

    z: np.ndarray
    pairs: Comparisons

    @property
    def value(self) -> float:
        # the sum of m_ij² = m_ij (1 − z_i + z_j) from those of m_ij, which the gradient has
        missed = self.pairs.lead.sum() - float((self.pairs.lead - self.pairs.trail) @ self.z)
        return 0.5 * float(missed + self.gradient @ self.z)

    @cached_property
    def gradient(self) -> np.ndarray:
        return self.pairs.product(self.z) - self.pairs.lead + self.pairs.trail

    def product(self, u: np.ndarray) -> np.ndarray:
        """Return the second derivative times u (n,)."""
        return self.pairs.product(u)
