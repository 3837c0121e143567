"""Shapes of pairs of columns: what their values add to the score together, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.quantiles import quantiles
from aucmax.columns.cycles import cycle_values
from aucmax.data.columns import Column, is_gap
from aucmax.explain.by_column import ByColumn
from aucmax.explain.feature_effects import Effects

__all__ = ["PairShape", "pair_shape", "pair_shapes_of"]

Floats = NDArray[np.float64]

_MAX_CELLS = 10  # along a column, not counting that of gaps


class PairShape(NamedTuple):
    """What the values of two columns add to the score together, beyond what each adds alone.

    Parameters
    ----------
    columns : (Column, Column)
        The columns.
    values : (ndarray of shape (k,), ndarray of shape (l,))
        The cells along each column: numbers, or medians of tenths of the rows if there are too
        many, in ascending order; or words (objects), the most frequent first. NaN is a gap.
    added : ndarray, shape (k, l)
        What the pair adds on average in each cell, minus its average over all rows; NaN in cells
        without rows.
    share : ndarray, shape (k, l)
        The share of the rows in each cell.
    """

    columns: tuple[Column, Column]
    values: tuple[NDArray[Any], NDArray[Any]]
    added: Floats
    share: Floats

    @property
    def feature(self) -> str:
        """The name of the pair."""
        return " × ".join(column.name for column in self.columns)


def pair_shapes_of(
    by: ByColumn, effects: Effects, weight: Floats | None = None
) -> Iterator[PairShape]:
    """Yield the shapes of pairs, those with the largest effects first.

    Parameters
    ----------
    by : ByColumn
        Rows, whose values are shown.
    effects : Effects
        The effects of their columns.
    weight : ndarray, shape (n,), optional
        Of the rows.
    """
    place = {name: k for k, name in enumerate(by.names[len(by.columns) :])}
    for name in effects.feature.tolist():
        if name in place:
            yield pair_shape(by, place[name], weight)


def pair_shape(by: ByColumn, k: int, weight: Floats | None = None) -> PairShape:
    """Return the shape of the k-th pair."""
    features = by.features_of(len(by.columns) + k)
    coef = np.ravel(by.linear.coef_).astype(np.float64)[features]
    added = by.columnwise[:, features] @ coef
    weight = np.ones(len(added)) if weight is None else weight
    weight = weight / weight.sum()
    pair = by.pairs[k]
    sides = [by.values(j) for j in pair.columns]
    (first, row), (second, column) = (
        _cells(cycle_values(cycle, values.astype(np.float64)) if cycle else values, weight)
        for cycle, values in zip(pair.cycles, sides, strict=True)
    )
    shape = len(first), len(second)
    cell = np.ravel_multi_index((row, column), shape)
    share, total = (
        np.bincount(cell, of_rows, len(first) * len(second)).astype(np.float64)
        for of_rows in (weight, weight * (added - weight @ added))
    )
    mean = np.divide(total, share, out=np.full(len(share), np.nan), where=share > 0)
    return PairShape(by.sides(pair), (first, second), mean.reshape(shape), share.reshape(shape))


def _cells(values: NDArray[Any], weight: Floats) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the cells along a column, and the cell of each row."""
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return _cells_of_words(values, weight)
    finite = np.flatnonzero(~np.isnan(numbers))
    middles, cell = np.unique(numbers[finite], return_inverse=True)
    if len(middles) > _MAX_CELLS:
        parting = np.linspace(0.0, 1.0, _MAX_CELLS + 1)[1:-1]
        edges = np.unique(quantiles(numbers[finite], weight[finite], parting))
        tenth = np.searchsorted(edges, numbers[finite], side="right")
        tenths, cell = np.unique(tenth, return_inverse=True)
        middles = np.array([np.median(numbers[finite][tenth == t]) for t in tenths])
    place = np.full(len(values), len(middles))
    place[finite] = cell
    return (middles if len(finite) == len(values) else np.append(middles, np.nan)), place


def _cells_of_words(values: NDArray[Any], weight: Floats) -> tuple[NDArray[Any], NDArray[np.intp]]:
    words = np.array(["missing" if is_gap(value) else str(value) for value in values], dtype=object)
    different, place = np.unique(words, return_inverse=True)
    order = np.argsort(-np.bincount(place, weight), kind="stable")
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    if len(order) <= _MAX_CELLS:
        return different[order], rank[place]
    last = _MAX_CELLS - 1
    return np.append(different[order[:last]], "other words"), np.minimum(rank[place], last)
