"""Sparse rows in coordinates in which they would be dense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import Rows, products
from aucmax.data.rows.store import Numbers, Store
from aucmax.data.strata import Strata
from aucmax.objective.problem import RowsProblem, Summaries, normal_product
from aucmax.objective.within_strata import ProblemWithinStrata, rows_problem
from aucmax.statistics.moments import ClassMoments

__all__ = ["MappedProblem"]


@dataclass(frozen=True, eq=False)
class MappedProblem(RowsProblem):
    """The rows Tᵀx, stored as x and T: each operation multiplies with T before or after x.

    Parameters
    ----------
    data : WeightedRows
        The rows x, with summaries of the rows Tᵀx.
    root : csc_matrix, shape (d, k)
        T.
    """

    root: Any = None
    offers = frozenset({"moments", "products"})

    @classmethod
    def behind(
        cls,
        X: Rows | Store,
        root: sp.csc_matrix,
        moments: ClassMoments,
        sign: np.ndarray,
        weight: np.ndarray | None,
        strata: Strata | None = None,
    ) -> MappedProblem:
        """Return the problem of rows, given the moments of the rows Tᵀx.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d), or Store
            The rows x.
        root : csc_matrix, shape (d, k)
            T.
        moments : ClassMoments
            The moments of the k features.
        sign, weight, strata
            As for `rows_problem`.
        """
        # these are not the moments of x, but save a pass over it
        rows: Any = rows_problem(X, sign, weight, moments, strata).data
        kind = cls if strata is None else MappedWithinStrata
        return kind(replace(rows, summaries=Summaries(moments, spreads=moments)), root=root)

    @property
    def n_features(self) -> int:
        return int(self.root.shape[1])

    @property
    def pair_gram_cost(self) -> float:
        return np.inf

    @property
    def scores_stay(self) -> bool:
        return False

    def pair_gram(
        self,
        s: Numbers,
        rows: np.ndarray,
        others: np.ndarray,
        first: np.ndarray,
        end: np.ndarray,
    ) -> np.ndarray:
        X = self.data.in_memory()
        zeros = np.zeros(self.data.n_features)
        matrix = products.pair_gram(X, s[:], rows, others, first, end, zeros)
        return self.root.T @ (self.root.T @ matrix).T

    def scores(self, W: np.ndarray) -> np.ndarray:
        return self.store.stacked(products.scores, self.root @ W)

    def scored(self, w: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        return super().scored(self.root @ w)

    def adjoint(self, g: Numbers) -> np.ndarray:
        return self.root.T @ self.store.total(products.adjoint, (g,))

    def product(
        self,
        s: Numbers,
        V: np.ndarray,
        offset: Numbers | float | None = None,
        origin: np.ndarray | None = None,
    ) -> np.ndarray:
        if isinstance(offset, float):
            offset = self.data.by_class(offset, offset)
        total, sums = self.store.total(normal_product, (s, offset), (self.root @ V,))
        mapped = self.root.T @ total
        return mapped if origin is None else mapped - np.multiply.outer(origin, sums)

    def gram(self, s: Numbers, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        zeros = np.zeros(self.data.n_features)
        about_zero, sums = self.store.total(products.gram, (s,), (zeros,))
        mean, mass = self.root.T @ sums, float(s[:].sum())
        cross = np.outer(origin, mean - 0.5 * mass * origin)
        matrix = self.root.T @ (self.root.T @ about_zero).T
        return matrix - cross - cross.T, mean - mass * origin


@dataclass(frozen=True, eq=False)
class MappedWithinStrata(MappedProblem, ProblemWithinStrata):
    """Mapped rows that are compared within strata; their moments give the same J."""
