"""A store of rows in parts: every pass reads the source once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.sparse import sp
from aucmax.data.rows import products
from aucmax.data.rows.source import Part, Source
from aucmax.data.rows.store import Arrays, ByClass, Formula, Made, Numbers, Store, Task
from aucmax.data.rows.view import (
    CSR,
    Rows,
    as_rows,
    n_features,
    n_rows,
    stacked_rows,
    take_rows,
    to_scipy,
)

__all__ = ["InParts", "Passes", "Tell", "changed", "rows_of", "same_numbers", "sample_of"]

Tell = Callable[[Part], tuple[np.ndarray, np.ndarray]]


@dataclass
class Passes:
    """Number of passes over the parts, counted together for a store and its subsets."""

    count: int = 0


class InParts(Store):
    """The rows of a source, read for every pass.

    Parameters
    ----------
    source : Source
    sizes : ndarray of int, shape (parts,)
        Number of rows of each part.
    d : int
        Number of features; sparse parts may have fewer columns.
    samples : list of ndarray, optional
        The `sample_of` each part, to detect changes.
    kept : list of ndarray of int, optional
        The rows of each part to use; by default all.
    passes : Passes, optional
        The counter of passes to continue.
    tell : list of callable, optional
        Functions that return the classes and weights of a part's rows, one for each part, so that
        `ByClass` numbers need not be stored or sent to a worker.
    """

    def __init__(
        self,
        source: Source,
        sizes: np.ndarray,
        d: int,
        samples: Sequence[np.ndarray] | None = None,
        kept: list[np.ndarray] | None = None,
        passes: Passes | None = None,
        tell: Sequence[Tell] | None = None,
    ) -> None:
        self.source, self.sizes, self.kept, self.samples = source, sizes, kept, samples
        self.tell = tell
        self.passes = Passes() if passes is None else passes
        counts = sizes if kept is None else np.array([len(rows) for rows in kept])
        self.ends = np.cumsum(counts)
        self.n_rows, self.n_features = int(self.ends[-1]), d

    def each(self, task: Task, by_row: Arrays = (), common: Sequence[Any] = ()) -> Iterator[Any]:
        return self.source.each(_on_rows, self._pass(self._cut(by_row)), (task, *common))

    def stacked(self, task: Task, *common: Any) -> np.ndarray:
        results, first = np.empty(0), 0
        for part in self.each(task, (), common):
            if not first:
                results = np.empty((self.n_rows, *part.shape[1:]))
            results[first : first + len(part)] = part
            first += len(part)
        return results

    def total(self, task: Task, by_row: Arrays = (), common: Sequence[Any] = ()) -> Any:
        return self.source.total(_on_rows, self._pass(self._cut(by_row)), (task, *common))

    def _cut(self, by_row: Arrays) -> Iterator[list[Numbers | Formula | None]]:
        """Yield the per-row arguments for each part."""
        for lo, hi in pairwise([0, *self.ends.tolist()]):
            yield [self._some(values, slice(lo, hi)) for values in by_row]

    def _some(self, values: Numbers | None, rows: slice) -> Numbers | Formula | None:
        if isinstance(values, ByClass) and self.tell is not None:
            return values.formula
        if values is None:
            return None
        return values.part(rows) if isinstance(values, Made) else values[rows]

    def _pass(self, by_part: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of `_on_rows` for each part; count the pass."""
        self.passes.count += 1
        for k, own in enumerate(by_part):
            sample = None if self.samples is None else self.samples[k]
            tell = None if self.tell is None else self.tell[k]
            expected = _Expected(int(self.sizes[k]), self.n_features, sample, tell)
            yield expected, None if self.kept is None else self.kept[k], own

    @cached_property
    def gram_cost(self) -> float:
        costs = self.source.each(_gram_cost, repeat(()))
        return next(cost for cost in costs if cost is not None)  # parts are much alike

    @cached_property
    def told(self) -> tuple[np.ndarray, np.ndarray]:
        """The classes and the weights (n,) of all rows, read in one pass."""
        by_part = self._pass([] for _ in self.sizes)
        classes, weights = zip(*self.source.each(_told, by_part), strict=True)
        return np.concatenate(classes), np.concatenate(weights)

    @property
    def untold(self) -> InParts:
        store = copy.copy(self)
        store.tell = None
        return store

    def taken(self, rows: np.ndarray) -> InParts:
        kept = [
            in_part if self.kept is None else self.kept[k][in_part]
            for k, in_part in enumerate(self._by_part(rows))
        ]
        return InParts(
            self.source, self.sizes, self.n_features, self.samples, kept, self.passes, self.tell
        )

    def take(self, rows: np.ndarray) -> Rows:
        by_part = self._pass([in_part] for in_part in self._by_part(rows))
        return stacked_rows(list(self.source.each(_on_rows, by_part, (take_rows,))))

    def scores_of(self, asked: Sequence[tuple[np.ndarray, np.ndarray]]) -> Iterator[np.ndarray]:
        tables = [np.empty((len(rows), W.shape[1])) for rows, W in asked]
        filled = [0] * len(asked)
        by_part = self._pass(
            [of_part] for of_part in zip(*(self._by_part(rows) for rows, _ in asked), strict=True)
        )
        common = _scores_of, [W for _, W in asked]
        for scores in self.source.each(_on_rows, by_part, common):
            for k, Z in enumerate(scores):
                tables[k][filled[k] : filled[k] + len(Z)] = Z
                filled[k] += len(Z)
        yield from tables

    def _by_part(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the positions within each part of the rows at these ascending positions."""
        for lo, hi in pairwise([0, *self.ends.tolist()]):
            in_part = rows[np.searchsorted(rows, lo) : np.searchsorted(rows, hi)]
            yield in_part.astype(np.int64) - lo

    def columns(self, S: np.ndarray, factor: np.ndarray | None) -> np.ndarray | sp.csc_array:
        scale = np.ones(len(S)) if factor is None else factor[S]
        parts = list(self.each(_columns, (), (S, scale)))
        if any(sp.issparse(part) for part in parts):
            return sp.csc_array(sp.vstack([sp.csc_array(part) for part in parts]))
        return np.asfortranarray(np.concatenate(parts))


def rows_of(X: Any, d: int | None = None) -> Rows:
    """Return the rows of a part in the form that kernels take, with d features if it is sparse."""
    rows = as_rows(X)
    return rows._replace(n_features=d) if d is not None and isinstance(rows, CSR) else rows


class _Expected(NamedTuple):
    """The properties of a part when it was first read."""

    rows: int
    features: int
    sample: np.ndarray | None
    tell: Tell | None

    def check(self, rows: Rows) -> None:
        """Raise ValueError if the part has changed."""
        if (n_rows(rows), n_features(rows)) != (self.rows, self.features):
            raise ValueError(
                f"it had {self.rows:,} rows of {self.features:,} features when it was first read, "
                f"and now has {n_rows(rows):,} of {n_features(rows):,}: parts must not change."
            )
        if self.sample is not None and not same_numbers(sample_of(rows), self.sample):
            raise changed("rows")


_SAMPLED_ROWS = 5  # per part
_ROUNDING = 1e-5  # relative, because recomputed values need not have the same bits


def changed(what: str) -> ValueError:
    """Return the error for the rows, labels or weights of a part that has changed."""
    return ValueError(
        f"it has other {what} than when it was first read: parts must not change, nor their "
        f"order. A function that draws {what} at random needs a fixed seed."
    )


def same_numbers(now: np.ndarray, first: np.ndarray) -> bool:
    """Return whether numbers equal those of the first pass, up to rounding."""
    size = float(np.abs(first).max(initial=0.0))
    return np.allclose(now, first, _ROUNDING, _ROUNDING * size)


def sample_of(rows: Rows) -> np.ndarray:
    """Return a checksum for each of a few rows."""
    n = n_rows(rows)
    places = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED_ROWS)).astype(np.int64))
    if not isinstance(rows, CSR):
        return rows[places] @ np.cos(np.arange(rows.shape[1]))
    entries = [slice(rows.indptr[i], rows.indptr[i + 1]) for i in places]
    return np.array([rows.data[at] @ np.cos(rows.indices[at]) for at in entries])


def _on_rows(
    part: Part,
    expected: _Expected,
    kept: np.ndarray | None,
    by_row: Sequence[Any],
    task: Task,
    *common: Any,
) -> Any:
    """Run a task on the rows of a part; raise ValueError if they have changed."""
    rows = rows_of(part.X, expected.features)
    expected.check(rows)
    if expected.tell is not None and any(isinstance(values, Formula) for values in by_row):
        positive, weight = expected.tell(part)
        if kept is not None:
            positive, weight = positive[kept], weight[kept]
        by_row = [
            values(positive, weight) if isinstance(values, Formula) else values for values in by_row
        ]
    arrays = (values[:] if isinstance(values, Made) else values for values in by_row)
    return task(rows if kept is None else take_rows(rows, kept), *arrays, *common)


def _told(
    part: Part, expected: _Expected, kept: np.ndarray | None, _: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    assert expected.tell is not None
    positive, weight = expected.tell(part)
    return (positive, weight) if kept is None else (positive[kept], weight[kept])


def _scores_of(
    X: Rows, by_request: Sequence[np.ndarray], coefficients: Sequence[np.ndarray]
) -> list[np.ndarray]:
    requests = zip(by_request, coefficients, strict=True)
    return [products.scores_at(X, rows, W) for rows, W in requests]


def _gram_cost(part: Part) -> float | None:
    rows = rows_of(part.X)
    return products.gram_cost(rows) if n_rows(rows) else None


def _columns(X: Rows, S: np.ndarray, scale: np.ndarray) -> np.ndarray | sp.csc_array:
    if isinstance(X, CSR):
        return sp.csc_array(to_scipy(X))[:, S].multiply(scale).tocsc()
    return products.take_columns(X, S, scale)
