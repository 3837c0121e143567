"""Centred rows times the square roots of their weights, as an implicit matrix."""

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import CSR, Rows, to_scipy
from aucmax.data.rows.products import origin_of

__all__ = ["Centred"]


class Centred:
    """A = diag(√q)(X − 1 meanᵀ), as Y − √q gapᵀ with sparse Y, or as dense Y."""

    def __init__(self, X: Rows, q: np.ndarray, mean: np.ndarray) -> None:
        self.root, self.gap = np.sqrt(q), np.zeros(0)
        if isinstance(X, CSR):
            # shift full columns first, to keep digits if they are far from the origin
            origin = origin_of(X)
            data = X.data - origin[X.indices]
            self.gap = mean - origin
            self.Y = sp.diags_array(self.root) @ to_scipy(X._replace(data=data))
        else:
            self.Y = self.root[:, None] * (X - mean)

    def gram(self) -> np.ndarray:
        """Return A Aᵀ."""
        G = self.Y @ self.Y.T
        if not len(self.gap):
            return G
        y = self.Y @ self.gap
        cross = np.outer(y, self.root)
        return (
            G.toarray() - cross - cross.T + (self.gap @ self.gap) * np.outer(self.root, self.root)
        )

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return A V for V of shape (d,) or (d, k)."""
        product = self.Y @ V
        if len(self.gap):
            product -= np.multiply.outer(self.root, self.gap @ V)
        return product

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Return Aᵀ U for U of shape (n,) or (n, k)."""
        product = self.Y.T @ U
        if len(self.gap):
            product -= np.multiply.outer(self.gap, self.root @ U)
        return product
