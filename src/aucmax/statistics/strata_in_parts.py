"""Statistics within strata of rows in parts, where a stratum's rows may be spread over all parts.

The first of two passes sums both classes of each stratum, relative to its first row, so that rows
keep their digits; in the second, rows are relative to the mean of the stratum's negatives. Three
numbers are kept for each stratum and feature.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.memory import require
from aucmax.data.rows import Rows, allocating, n_features, row_add
from aucmax.data.rows.sorting import grouped
from aucmax.data.rows.store import Store
from aucmax.data.strata import Strata
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.strata import (
    NO_STRATA,
    KnownStrata,
    SeenFromStrata,
    Sums,
    Weights,
    blocks_of_strata,
    buffer_of,
    seen_block,
)

__all__ = ["statistics_in_parts"]

_NUMBERS = 3  # kept for each stratum and feature


def statistics_in_parts(
    store: Store,
    empty: ClassStatistics,
    positive: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    strata: Strata,
) -> ClassStatistics:
    """Return the statistics within strata of rows in parts, in two passes.

    Parameters
    ----------
    store : Store
        n rows of d features.
    empty : ClassStatistics
        Empty statistics of the requested kind, with two labels; the larger is the positive label.
    positive, weight : ndarray, shape (n,)
        The class of each row, and its own weight; None if all weights are the same.
    strata : Strata
        The strata of n rows.

    Raises
    ------
    MemoryError
        If the means of the strata would take more memory than there is.
    """
    compared, d = strata.compared(positive, weight), store.n_features
    counted = compared.of_stratum > 0.0
    # only strata with rows of both classes have a place
    place = np.where(counted, np.cumsum(counted) - 1, -1).astype(np.int32)[strata.code]
    G, own = int(counted.sum()), np.ones(len(place)) if weight is None else weight
    place[own == 0.0] = -1
    require(0, 8 * _NUMBERS * G * d, f"the means of {G:,} strata with {d:,} features")
    means = _means(store, G, positive, own, place)
    labels = empty.classes
    label = labels.tolist()[1]
    none = replace(NO_STRATA, weighting=strata.weighting, positive=label)
    by_row = positive, compared.of_row, own, place
    total: ClassStatistics = store.total(_seen_in_part, by_row, (empty, none, means))
    total.strata = KnownStrata.of(strata, positive, weight, label)
    return total


class _Means(NamedTuple):
    """For each stratum, (G, d): the negatives' mean, and the mean of all rows minus that."""

    centres: NDArray[np.float64]
    gaps: NDArray[np.float64]


class _ClassSums(NamedTuple):
    """For the strata ``place`` (m,) in a part: a row (m, d), Σ a (m, 2) and Σ a x (2, m, d).

    The sums have the negatives first; x is relative to the row.
    """

    place: NDArray[np.int32]
    base: NDArray[np.float64]
    mass: NDArray[np.float64]
    sums: NDArray[np.float64]


def _means(
    store: Store,
    G: int,
    positive: NDArray[np.bool_],
    own: NDArray[np.float64],
    place: NDArray[np.int32],
) -> _Means:
    """Return the means of G strata, in one pass."""
    base, mass = np.zeros((G, store.n_features)), np.zeros((G, 2))
    sums, begun = np.zeros((2, *base.shape)), np.zeros(G, bool)
    for part in store.each(_class_sums, (positive, own, place)):
        at, fresh = part.place, ~begun[part.place]
        base[at[fresh]] = part.base[fresh]
        apart = part.base - base[at]
        for side in range(2):
            sums[side, at] += part.sums[side] + part.mass[:, side, None] * apart
        mass[at] += part.mass
        begun[at] = True
    negatives, gaps = sums
    gaps += negatives
    gaps /= mass.sum(axis=1)[:, None]
    negatives /= mass[:, :1]
    gaps -= negatives
    base += negatives
    return _Means(base, gaps)


def _by_stratum(place: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the strata of a part, and its rows that have a stratum, stratum by stratum."""
    rows = np.flatnonzero(place >= 0)
    present, number = np.unique(place[rows], return_inverse=True)
    return present, rows[grouped(number, len(present))[0]]


def _class_sums(
    X: Rows, positive: NDArray[np.bool_], own: NDArray[np.float64], place: NDArray[np.int32]
) -> _ClassSums:
    present, rows = _by_stratum(place)
    shape = len(present), n_features(X)
    base, mass, sums = np.zeros(shape), np.zeros((shape[0], 2)), np.zeros((2, *shape))
    bounds = np.append(np.flatnonzero(np.diff(place[rows], prepend=-1)), len(rows))
    _add_up(X, rows, bounds, (positive, own), base, mass, sums)
    return _ClassSums(present, base, mass, sums)


def _seen_in_part(
    X: Rows,
    positive: NDArray[np.bool_],
    share: NDArray[np.float64],
    own: NDArray[np.float64],
    place: NDArray[np.int32],
    empty: ClassStatistics,
    strata: KnownStrata,
    means: _Means,
) -> ClassStatistics:
    """Return the statistics of a part's rows relative to their strata, which may be incomplete."""

    def blocks() -> Iterator[SeenFromStrata]:
        d = n_features(X)
        buffer = buffer_of(d)
        for rows, bounds in blocks_of_strata(_by_stratum(place)[1], place, d):
            at = place[rows[bounds[:-1]]]
            centres, weights = means.centres[at], Weights(positive[rows], share[rows], own[rows])
            sums = Sums(*np.zeros((4, 2, d)))
            _sum_seen(X, rows, bounds, weights, centres, means.gaps[at], sums)
            yield seen_block(X, rows, bounds, centres, weights, sums, buffer)

    return empty.of_seen(blocks(), empty.classes, strata, n_features(X))


@allocating
def _add_up(X, rows, bounds, of_rows, base, mass, sums):
    positive, own = of_rows
    x = np.empty(base.shape[1])
    for g in range(len(bounds) - 1):
        row_add(X, rows[bounds[g]], 1.0, base[g])
        for k in range(bounds[g], bounds[g + 1]):
            i = rows[k]
            side = 1 if positive[i] else 0
            for j in range(len(x)):
                x[j] = -base[g, j]
            row_add(X, i, 1.0, x)
            mass[g, side] += own[i]
            for j in range(len(x)):
                sums[side, g, j] += own[i] * x[j]


@allocating
def _sum_seen(X, rows, bounds, weights, centres, gaps, sums):
    positive, share, own = weights
    x = np.empty(centres.shape[1])
    for g in range(len(bounds) - 1):
        for k in range(bounds[g], bounds[g + 1]):
            side = 1 if positive[k] else 0
            for j in range(len(x)):
                x[j] = -centres[g, j]
            row_add(X, rows[k], 1.0, x)
            for j in range(len(x)):
                sums.origin[side, j] += share[k] * centres[g, j]
                sums.first[side, j] += share[k] * x[j]
                sums.second[side, j] += share[k] * x[j] * x[j]
                sums.scatter[side, j] += own[k] * (x[j] - gaps[g, j]) ** 2
