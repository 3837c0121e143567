"""Sparse rows in coordinates that would make them dense."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import Rows, products
from aucmax.data.rows.store import Numbers
from aucmax.objective.problem import RowsProblem, Summaries
from aucmax.statistics.moments import ClassMoments

__all__ = ["MappedProblem"]


@dataclass(frozen=True, eq=False)
class MappedProblem(RowsProblem):
    """The rows Tᵀx, of which only x is stored: a product with T takes the place of each column.

    Parameters
    ----------
    data : WeightedRows
        The rows x in memory, with summaries of the rows Tᵀx.
    root : csc_matrix, shape (d, k)
        T.
    """

    root: Any = None
    offers = frozenset({"moments", "products"})

    @classmethod
    def behind(
        cls,
        X: Rows,
        root: sp.csc_matrix,
        moments: ClassMoments,
        sign: np.ndarray,
        weight: np.ndarray | None,
    ) -> Self:
        """Return the problem of rows in memory, given the moments of the rows Tᵀx.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d)
            The rows x.
        root : csc_matrix, shape (d, k)
            T.
        moments : ClassMoments
            Of k features.
        sign, weight : ndarray, shape (n,)
            As for `RowsProblem.of`.
        """
        rows = RowsProblem.of(X, sign, weight).data
        return cls(replace(rows, summaries=Summaries(moments, spreads=moments)), root=root)

    @property
    def n_features(self) -> int:
        return int(self.root.shape[1])

    @property
    def pair_gram_cost(self) -> float:
        return np.inf

    def pair_gram(
        self, s: Numbers, rows: np.ndarray, others: np.ndarray, first: np.ndarray
    ) -> np.ndarray:
        X = self.data.in_memory()
        matrix = products.pair_gram(X, s[:], rows, others, first, np.zeros(self.data.n_features))
        return self.root.T @ (self.root.T @ matrix).T

    def scores(self, W: np.ndarray) -> np.ndarray:
        return self.data.store.stacked(products.scores, self.root @ W)

    def scored(self, w: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        yield slice(0, self.n_samples), self.scores(w)

    def adjoint(self, g: Numbers) -> np.ndarray:
        return self.root.T @ self.data.store.total(products.adjoint, (g,))

    def product(
        self,
        s: Numbers,
        V: np.ndarray,
        offset: Numbers | float | None = None,
        origin: np.ndarray | None = None,
    ) -> np.ndarray:
        if isinstance(offset, float):
            offset = self.data.by_class(offset, offset)
        shift = None if offset is None else offset[:]
        total, sums = products.normal_product(self.data.in_memory(), s[:], self.root @ V, shift)
        mapped = self.root.T @ total
        return mapped if origin is None else mapped - np.multiply.outer(origin, sums)

    def gram(self, s: Numbers, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        X, weight = self.data.in_memory(), s[:]
        about_zero, sums = products.gram(X, weight, np.zeros(self.data.n_features))
        mean, mass = self.root.T @ sums, float(weight.sum())
        cross = np.outer(origin, mean - 0.5 * mass * origin)
        matrix = self.root.T @ (self.root.T @ about_zero).T
        return matrix - cross - cross.T, mean - mass * origin
