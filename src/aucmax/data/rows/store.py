"""Stores of rows: in memory, or in parts that are read in every pass.

A pass runs a task, a function of rows and their per-row data, and reduces the results: they are
stacked, or summed in an order that depends only on the number of parts. So the same parts give
the same bits wherever the tasks run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.sparse import sp
from aucmax.data.rows import products
from aucmax.data.rows.view import CSR, Rows, n_features, n_rows, take_rows, to_scipy

__all__ = [
    "ByClass",
    "Formula",
    "InMemory",
    "Made",
    "Numbers",
    "Store",
    "Told",
    "plus",
    "sum_in_order",
]

Task = Callable[..., Any]


class Made:
    """Numbers (n,) that are computed on request and not stored.

    Parameters
    ----------
    n : int
    make : callable
        Returns the numbers for a slice of rows.
    """

    def __init__(self, n: int, make: Callable[[slice], np.ndarray]) -> None:
        self._n, self._make = n, make

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._make(rows)

    def part(self, rows: slice) -> Numbers:
        """Return the numbers of some rows in the form with the fewest bytes to send."""
        return self[rows]


class Formula(NamedTuple):
    """A number for each row that follows from its class and its weight.

    Attributes
    ----------
    values : (float, float)
        The values for positives and negatives.
    totals : (float, float), optional
        The divisors of the weights of positives and negatives, before these are multiplied by the
        values; None if the numbers do not depend on the weights.
    scale : float
        A factor by which the weights are multiplied first.
    """

    values: tuple[float, float]
    totals: tuple[float, float] | None = None
    scale: float = 1.0

    def __call__(self, positive: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        numbers = np.where(positive, *self.values)
        if self.totals is None or weight is None:
            return numbers
        return numbers * (weight * self.scale / np.where(positive, *self.totals))


class ByClass(Made):
    """Numbers (n,) that follow from the class and the weight of each row.

    Parameters
    ----------
    formula : Formula
    positive : ndarray of bool or Told, shape (n,)
    weight : ndarray or Made, shape (n,), optional
    """

    def __init__(self, formula: Formula, positive: Numbers, weight: Numbers | None = None) -> None:
        self.formula, self.positive = formula, positive
        self.weight = None if formula.totals is None else weight

    def __len__(self) -> int:
        return len(self.positive)

    def __getitem__(self, rows: Any) -> np.ndarray:
        weight = None if self.weight is None else self.weight[rows]
        return self.formula(self.positive[rows], weight)

    def part(self, rows: slice) -> Numbers:
        weight = None if self.weight is None else self.weight[rows]
        return ByClass(self.formula, self.positive[rows], weight)

    def __reduce__(self) -> tuple[Any, ...]:  # a bit for each row
        return _unpacked, (self.formula, len(self), np.packbits(self.positive[:]), self.weight)

    def times(self, pos: float, neg: float) -> ByClass:
        """Return the product with a number for each class."""
        values = self.formula.values
        formula = self.formula._replace(values=(pos * values[0], neg * values[1]))
        return ByClass(formula, self.positive, self.weight)


def _unpacked(formula: Formula, n: int, bits: np.ndarray, weight: np.ndarray | None) -> ByClass:
    return ByClass(formula, np.unpackbits(bits, count=n).view(bool), weight)


class Told(Made):
    """Which of n rows are positive, read from their parts in every pass and stored nowhere else.

    Parameters
    ----------
    n, make
        As for `Made`; making the array takes a pass.
    rows, weight : (float, float)
        The number of rows of weight above 0 in each class, and their weight, negatives first.
    """

    def __init__(
        self,
        n: int,
        make: Callable[[slice], np.ndarray],
        rows: tuple[int, int],
        weight: tuple[float, float],
    ) -> None:
        super().__init__(n, make)
        self.rows, self.weight = rows, weight


Numbers = np.ndarray | Made  # (n,); [:] returns the array
Arrays = Sequence[Numbers | None]


class Store:
    """n rows of d features.

    Attributes
    ----------
    n_rows, n_features : int
    """

    n_rows: int
    n_features: int

    def each(self, task: Task, by_row: Arrays = (), common: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the results of a task for blocks of rows, in order.

        Parameters
        ----------
        task : callable
            ``task(X, *by_row, *common)``; a function at module level, so that it can be sent to
            other processes.
        by_row : sequence of ndarray or Made, shape (n, …), or None
            Per-row arguments; the task receives those of its rows.
        common : sequence
            Arguments that are the same for every call.
        """
        raise NotImplementedError

    def stacked(self, task: Task, *common: Any) -> np.ndarray:
        """Return the stacked per-row results of a task."""
        return np.concatenate(list(self.each(task, (), common)))

    def total(self, task: Task, by_row: Arrays = (), common: Sequence[Any] = ()) -> Any:
        """Return the sum of a task's results: arrays, tuples, or other objects with ``+``."""
        return sum_in_order(self.each(task, by_row, common))

    @property
    def gram_cost(self) -> float:
        """Cost of `products.gram` and of solving with its matrix, in products with the rows."""
        raise NotImplementedError

    @property
    def untold(self) -> Store:
        """The same rows, for labels or weights that differ from those in their parts."""
        return self

    def taken(self, rows: np.ndarray) -> Store:
        """Return a store of the rows at these ascending positions."""
        raise NotImplementedError

    def take(self, rows: np.ndarray) -> Rows:
        """Return the rows at these ascending positions, in memory."""
        raise NotImplementedError

    def scores_of(self, asked: Sequence[tuple[np.ndarray, np.ndarray]]) -> Iterator[np.ndarray]:
        """Yield, for each (positions, W), the scores (m, k) of those rows (m,) for W (d, k)."""
        raise NotImplementedError

    def columns(self, S: np.ndarray, factor: np.ndarray | None) -> np.ndarray | sp.csc_array:
        """Return the columns S of all rows times ``factor`` (d,), in Fortran order or as CSC."""
        raise NotImplementedError


class InMemory(Store):
    """Rows in memory.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
        As `aucmax.data.rows.as_rows` returns it.
    """

    def __init__(self, X: Rows) -> None:
        self.X, self.n_rows, self.n_features = X, n_rows(X), n_features(X)

    def each(self, task: Task, by_row: Arrays = (), common: Sequence[Any] = ()) -> Iterator[Any]:
        arrays = [None if values is None else values[:] for values in by_row]
        yield task(self.X, *arrays, *common)

    def stacked(self, task: Task, *common: Any) -> np.ndarray:
        return task(self.X, *common)

    @cached_property
    def gram_cost(self) -> float:
        return products.gram_cost(self.X)

    def taken(self, rows: np.ndarray) -> InMemory:
        return InMemory(take_rows(self.X, rows))

    def take(self, rows: np.ndarray) -> Rows:
        return take_rows(self.X, rows)

    def scores_of(self, asked: Sequence[tuple[np.ndarray, np.ndarray]]) -> Iterator[np.ndarray]:
        for rows, W in asked:
            yield products.scores_at(self.X, rows, W)

    def columns(self, S: np.ndarray, factor: np.ndarray | None) -> np.ndarray | sp.csc_array:
        if isinstance(self.X, CSR):
            part = self._by_column[:, S]
            return part if factor is None else part.multiply(factor[S]).tocsc()
        return products.take_columns(self.X, S, np.ones(len(S)) if factor is None else factor[S])

    @cached_property
    def _by_column(self) -> sp.csc_array:
        return sp.csc_array(to_scipy(self.X))


def sum_in_order(parts: Iterable[Any]) -> Any:
    """Return the sum of the parts by a balanced tree, with few of them in memory at a time.

    Parameters
    ----------
    parts : iterable of arrays, tuples of arrays, or objects with ``+``; not empty
    """
    waiting: list[tuple[int, Any]] = []  # (k, sum of 2ᵏ parts), like the digits of a binary counter
    for part in parts:
        height = 0
        while waiting and waiting[-1][0] == height:
            part = plus(waiting.pop()[1], part)
            height += 1
        waiting.append((height, part))
    total = waiting.pop()[1]
    while waiting:
        total = plus(waiting.pop()[1], total)
    return total


def plus(a: Any, b: Any) -> Any:
    """Return the sum of two results of a task."""
    return tuple(map(plus, a, b)) if isinstance(a, tuple) else a + b
