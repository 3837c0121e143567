"""Statistics of rows that are compared only within strata.

Rows are taken relative to the mean of the negatives of their stratum ("seen from their strata"). J
within strata then is the J of two plain classes: with the weights ω_g of the strata, the means of
such rows are 0 and δ = Σ ω_g δ_g, and their covariances add up to
Σ ω_g (Σ₊ᵍ + Σ₋ᵍ + (δ_g − δ)(δ_g − δ)ᵀ). All of these are sums over strata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.archive import ArraySpec, Specs, check_arrays
from aucmax.basics.checks import is_whole
from aucmax.basics.visible import counted
from aucmax.data.rows import Rows, allocating, fetch_ahead, inlined, n_features, row_add
from aucmax.data.strata import Compared, Strata, StrataWeight, check_strata_weight

__all__ = [
    "NO_STRATA", "STRATA", "KnownStrata", "SeenFromStrata", "Sums", "Weights", "blocks_of_strata",
    "buffer_of",
    "seen_block", "seen_from_strata",
]  # fmt: skip

_BLOCK_CELLS, _BLOCK_ROWS = 1 << 18, 1 << 8  # numbers in a block, but at least so many rows
_NUMBERS, CACHED_NUMBERS = 3, 1 << 19  # for each stratum and feature, and how many fit the cache


@dataclass(frozen=True, eq=False)
class KnownStrata:
    """The strata behind some statistics.

    Parameters
    ----------
    weighting : {"positives", "pairs", "strata"}
        What ω_g is proportional to.
    positive : label
        The label of the positives.
    digests : ndarray of uint64, shape (G,)
        One digest for each stratum, ascending; the probability that two of 2³⁰ strata have the same
        digest is 3 %.
    rows : ndarray of uint32, shape (G, 2)
        The numbers of negatives and of positives with a weight above 0 in each stratum, or 2³² − 1
        if there are more.
    column : str, optional
        The name of the strata, such as that of their column in a table.
    """

    weighting: StrataWeight
    positive: Any
    digests: NDArray[np.uint64]
    rows: NDArray[np.uint32]
    column: str | None = None

    @classmethod
    def of(
        cls,
        strata: Strata,
        positive: NDArray[np.bool_],
        weight: NDArray[Any] | None,
        label: Any,
        column: str | None = None,
    ) -> KnownStrata:
        """Return the strata of n rows, given which rows are positive and their label."""
        side = 2 * strata.code.astype(np.intp) + positive
        rows = np.bincount(side if weight is None else side[weight > 0.0], None, 2 * len(strata))
        counts = rows.reshape(-1, 2)
        return cls.of_counts(strata.weighting, label, strata.digests, counts, column)

    @classmethod
    def of_counts(
        cls,
        weighting: StrataWeight,
        label: Any,
        digests: NDArray[np.uint64],
        counts: NDArray[Any],
        column: str | None = None,
    ) -> KnownStrata:
        """Return strata, in any order, with their numbers of negatives and positives (G, 2)."""
        order, most = np.argsort(digests), np.iinfo(np.uint32).max
        rows = np.minimum(counts, most).astype(np.uint32)
        return cls(weighting, label, digests[order], rows[order], column)

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def of_one_class(self) -> int:
        """The number of strata with rows of only one class, which have weight 0."""
        return int(np.count_nonzero(self.rows.min(axis=1) == 0))

    def joined(self, other: KnownStrata) -> KnownStrata:
        """Return the strata of both; raise ValueError if some are in both, or weightings differ."""
        self._check_alike(other)
        shared = int(self.has(other.digests).sum())
        if shared:
            raise ValueError(
                f"{counted(shared, 'stratum is', 'strata are')} in both; a stratum's rows are "
                "compared with each other, so give all rows of a stratum at once."
            )
        few, many = sorted((self, other), key=len)
        place = np.searchsorted(many.digests, few.digests)  # avoids sorting many again
        digests = np.insert(many.digests, place, few.digests)
        return replace(self, digests=digests, rows=np.insert(many.rows, place, few.rows, axis=0))

    def has(self, digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which of some digests belong to these strata, shape (k,)."""
        place = np.searchsorted(self.digests, digests)
        inside = place < len(self.digests)
        inside[inside] = self.digests[place[inside]] == digests[inside]
        return inside

    def without(self, other: KnownStrata) -> KnownStrata:
        """Return these without other strata; raise ValueError unless these have them, in full."""
        self._check_alike(other)
        unknown = int(np.count_nonzero(~self.has(other.digests)))
        if unknown:
            raise ValueError(
                f"{counted(unknown, 'stratum to subtract was', 'strata to subtract were')} never "
                "added; give whole strata that were."
            )
        place = np.searchsorted(self.digests, other.digests)
        partial = int(np.count_nonzero(np.any(self.rows[place] != other.rows, axis=1)))
        if partial:
            have = "stratum to subtract has" if partial == 1 else "strata to subtract have"
            raise ValueError(
                f"{partial:,} {have} another number of rows than was added; give whole strata, "
                "with all of their rows."
            )
        digests = np.delete(self.digests, place)
        return replace(self, digests=digests, rows=np.delete(self.rows, place, axis=0))

    def ranked(self, positive: Any) -> KnownStrata:
        """Return the same strata with ``positive``, one of the labels, as the positive label."""
        rows = self.rows if positive == self.positive else self.rows[:, ::-1].copy()
        return replace(self, positive=positive, rows=rows)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays, as specified by `STRATA`."""
        return {"strata": self.digests, "rows_of_strata": self.rows}

    def packed(self, classes: NDArray[Any]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the data for a file, as JSON and as arrays."""
        place = classes.tolist().index(self.positive)
        facts = {"weighting": self.weighting, "positive": place, "column": self.column}
        return facts, self.arrays

    @classmethod
    def unpacked(
        cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], classes: NDArray[Any]
    ) -> KnownStrata:
        """Return the strata from the data of `packed`."""
        place = facts["positive"]
        if not (is_whole(place) and place in range(len(classes))):
            raise ValueError("its strata are not described as they should be")
        digests, rows = (arrays[name] for name in STRATA)
        strata = cls(facts["weighting"], classes.tolist()[place], digests, rows, facts["column"])
        strata.check_state()
        return strata

    def check_state(self) -> None:
        """Raise ValueError unless these are valid strata."""
        check_strata_weight(self.weighting)
        check_arrays(self.arrays, STRATA)
        if not isinstance(self.column, str | None):
            raise ValueError("its strata are not described as they should be")
        if np.any(self.digests[1:] <= self.digests[:-1]):
            raise ValueError("the digests of its strata are not in order")

    def _check_alike(self, other: KnownStrata) -> None:
        for name, mine, theirs in (
            ("strata_weight", self.weighting, other.weighting),
            ("a positive label", self.positive, other.positive),
        ):
            if mine != theirs:
                raise ValueError(
                    f"these statistics have {name} {mine!r}, the others {theirs!r}; "
                    "use the same in all parts."
                )


NO_STRATA = KnownStrata("positives", None, np.empty(0, np.uint64), np.empty((0, 2), np.uint32))
STRATA: Specs = {
    "strata": ArraySpec(("strata",), np.uint64),
    "rows_of_strata": ArraySpec(("strata", 2), np.uint32),
}


class Weights(NamedTuple):
    """For n rows: whether they are positive, their share ω_g s, and their own weight."""

    positive: NDArray[np.bool_]
    share: NDArray[np.float64]
    own: NDArray[np.float64]


class Sums(NamedTuple):
    """Sums over the rows of each class, (2, d), negatives first.

    ``origin`` is Σ s times the negatives' mean, ``scatter`` Σ a (x − x̄_g)² with the rows' own
    weights a; ``first`` and ``second`` are Σ s x and Σ s x² for rows relative to their strata.
    """

    origin: NDArray[np.float64]
    scatter: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenFromStrata:
    """Some rows relative to the means of the negatives of their strata.

    Parameters
    ----------
    positive : ndarray of bool, shape (m,)
    share : ndarray, shape (m,)
        Weights, which sum to ω_g in each class of stratum g, up to a factor.
    sums : Sums
    own : ndarray, shape (2,)
        Σ a for each class, negatives first.
    place : callable
        Computes the rows of a class, minus a vector (d,), times weights (n,): in blocks, each of
        which overwrites the one before.
    """

    positive: NDArray[np.bool_]
    share: NDArray[np.float64]
    sums: Sums
    own: NDArray[np.float64]
    place: Callable[[bool, NDArray[np.float64], NDArray[np.float64]], Iterator[NDArray[np.float64]]]

    def rows(self, side: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows of a class, shape (m, d), and their shares (m,)."""
        share = self.share[self.positive == bool(side)]
        d = self.sums.origin.shape[1]
        blocks = self.place(bool(side), np.zeros(d), np.ones(len(share)))
        return np.concatenate([block.copy() for block in blocks]), share

    def moments(self, side: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean (d,) and the biased covariance (d, d) of a class."""
        share, weight = self.share[self.positive == bool(side)], self.weight[side]
        mean = self.sums.first[side] / weight
        cov = np.zeros((len(mean), len(mean)))
        for Z in self.place(bool(side), mean, np.sqrt(share / weight)):
            cov += Z.T @ Z
        return mean, cov

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """The weight of each class (2,): that of the strata, if these are all of their rows."""
        return np.bincount(self.positive, self.share, 2).astype(np.float64)

    def part(self, side: int) -> dict[str, Any]:
        """Return the arrays of a class besides its moments; side 1 is that of the positives."""
        origin, scatter = self.sums.origin[side] / self.weight[side], self.sums.scatter[side]
        return {"origins": origin, "scatter": scatter, "own": self.own[side]}


def seen_from_strata(
    X: Rows,
    positive: NDArray[np.bool_],
    weight: NDArray[Any] | None,
    strata: Strata,
    compared: Compared,
    at_once: bool = False,
) -> Iterator[SeenFromStrata]:
    """Yield all rows that are compared with others, in blocks of whole strata.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    positive, weight
        The class of the rows, and their own weights.
    strata, compared
        The strata of the rows, and the weights of strata and rows.
    at_once : bool
        Whether the rows may form one block, in their own order, if there are few strata.
    """
    counted, d = compared.of_stratum > 0.0, n_features(X)
    G, buffer = int(counted.sum()), buffer_of(d)
    if at_once and _NUMBERS * G * d <= CACHED_NUMBERS:
        rows = np.flatnonzero(compared.of_row > 0.0)
        place = (np.cumsum(counted) - 1)[strata.code[rows]]
        weights = _weights(rows, positive, weight, compared)
        yield _seen(X, rows, place, *_summed(X, rows, place, weights, G), weights, buffer)
        return
    order = strata.order[compared.of_row[strata.order] > 0.0]
    for rows, bounds in blocks_of_strata(order, strata.code, d):
        weights = _weights(rows, positive, weight, compared)
        sums, centres = Sums(*np.zeros((4, 2, d))), np.empty((len(bounds) - 1, d))
        _sum(X, rows, bounds, weights, centres, sums)
        yield seen_block(X, rows, bounds, centres, weights, sums, buffer)


def _weights(
    rows: NDArray[Any], positive: NDArray[np.bool_], weight: NDArray[Any] | None, compared: Compared
) -> Weights:
    own = np.ones(len(rows)) if weight is None else weight[rows].astype(np.float64)
    return Weights(positive[rows], compared.of_row[rows], own)


def _summed(
    X: Rows, rows: NDArray[Any], stratum: NDArray[Any], weights: Weights, G: int
) -> tuple[NDArray[np.float64], Sums]:
    """Return the centres of G strata and the sums over their rows, in the order of the rows."""
    d = n_features(X)
    base, mass, of_strata = np.zeros((G, d)), np.zeros((2, G, 1)), np.zeros((2, G, d))
    of_rows = np.zeros((2, 2, d))
    _add_up(X, rows, stratum, weights, base, (mass, of_strata, of_rows))
    omega = np.bincount(stratum, weights.share * weights.positive, G)
    centre, mean = of_strata[0] / mass[0], of_strata.sum(axis=0) / mass.sum(axis=0)
    centres, sums = base + centre, Sums(*np.zeros((4, 2, d)))
    sums.origin[:] = omega @ centres
    sums.first[1] = omega @ (of_strata[1] / mass[1] - centre)
    for side in range(2):
        total, own = of_strata[side], mass[side]
        about = np.sum(mean * (own * mean - 2.0 * total), axis=0)
        sums.scatter[side] = np.maximum(of_rows[0, side] + about, 0.0)
        about = omega @ (centre * (centre - 2.0 * total / own))
        sums.second[side] = np.maximum(of_rows[1, side] + about, 0.0)
    return centres, sums


def blocks_of_strata(
    order: NDArray[Any], code: NDArray[Any], d: int
) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the rows of some strata at a time, and the bounds of the strata among them.

    Parameters
    ----------
    order : ndarray of int, shape (k,)
        The rows, stratum by stratum.
    code : ndarray of int, shape (n,)
        The stratum of each of n rows.
    d : int
        Number of features.
    """
    first = np.flatnonzero(np.diff(code[order], prepend=-1))
    end, start = np.append(first[1:], len(order)), 0
    while start < len(first):
        stop = int(np.searchsorted(end, first[start] + _rows_of_a_block(d)))
        stop = min(max(stop, start) + 1, len(first))
        bounds = np.append(first[start:stop], end[stop - 1])
        yield order[bounds[0] : bounds[-1]], bounds - bounds[0]
        start = stop


def _rows_of_a_block(d: int) -> int:
    return max(_BLOCK_CELLS // max(d, 1), _BLOCK_ROWS)


def buffer_of(d: int) -> NDArray[np.float64]:
    """Return memory for a block of rows of d features, to be used again: new memory costs more."""
    return np.empty((_rows_of_a_block(d), d))


def seen_block(
    X: Rows,
    rows: NDArray[Any],
    bounds: NDArray[Any],
    centres: NDArray[np.float64],
    weights: Weights,
    sums: Sums,
    buffer: NDArray[np.float64],
) -> SeenFromStrata:
    """Return a block of rows whose strata begin at ``bounds`` and have these centres."""
    stratum = np.repeat(np.arange(len(centres)), np.diff(bounds))
    return _seen(X, rows, stratum, centres, sums, weights, buffer)


def _seen(
    X: Rows,
    rows: NDArray[Any],
    stratum: NDArray[Any],
    centres: NDArray[np.float64],
    sums: Sums,
    weights: Weights,
    buffer: NDArray[np.float64],
) -> SeenFromStrata:
    """Return rows relative to the centres of their strata."""
    mass = np.bincount(weights.positive, weights.own, 2).astype(np.float64)
    place = partial(_placed, X, rows, stratum, centres, weights.positive, buffer)
    return SeenFromStrata(weights.positive, weights.share, sums, mass, place)


def _placed(
    X: Rows,
    rows: NDArray[Any],
    stratum: NDArray[Any],
    centres: NDArray[np.float64],
    positive: NDArray[np.bool_],
    buffer: NDArray[np.float64],
    side: bool,
    mean: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> Iterator[NDArray[np.float64]]:
    """Yield the rows of a class minus the centre of their stratum and a mean, times weights."""
    chosen = np.flatnonzero(positive == side)
    size = len(buffer)
    for start in range(0, len(chosen), size):
        block = slice(start, start + size)
        own = chosen[block]
        placed = buffer[: len(own)]
        _place(X, rows[own], stratum[own], centres, mean, weight[block], placed)
        yield placed


@inlined
def _gather(a, x, total, square):
    for j in range(len(x)):
        weighed = a * x[j]
        total[j] += weighed
        square[j] += weighed * x[j]


@allocating
def _sum(X, rows, bounds, weights, centres, sums):
    # adds to the sums; rows are relative to the first row of their stratum, to keep their digits
    positive, share, own = weights
    d = centres.shape[1]
    x, base = np.empty(d), np.empty(d)
    total, square = np.empty((2, d)), np.empty((2, d))
    for g in range(len(bounds) - 1):
        low, high = bounds[g], bounds[g + 1]
        for j in range(d):
            base[j] = 0.0
            for side in range(2):
                total[side, j], square[side, j] = 0.0, 0.0
        row_add(X, rows[low], -1.0, base)
        mass_neg, mass_pos, omega = 0.0, 0.0, 0.0
        for k in range(low, high):
            fetch_ahead(rows, k, X)
            for j in range(d):
                x[j] = base[j]
            row_add(X, rows[k], 1.0, x)
            if positive[k]:
                mass_pos += own[k]
                omega += share[k]
                _gather(own[k], x, total[1], square[1])
            else:
                mass_neg += own[k]
                _gather(own[k], x, total[0], square[0])
        for j in range(d):
            centre = total[0, j] / mass_neg
            mean = (total[0, j] + total[1, j]) / (mass_neg + mass_pos)
            centres[g, j] = centre - base[j]
            sums.origin[0, j] += omega * centres[g, j]
            sums.origin[1, j] += omega * centres[g, j]
            sums.first[1, j] += omega * (total[1, j] / mass_pos - centre)
            for side in range(2):
                mass = mass_pos if side else mass_neg
                about = square[side, j] - 2.0 * mean * total[side, j] + mass * mean * mean
                sums.scatter[side, j] += max(about, 0.0)
                about = square[side, j] - 2.0 * centre * total[side, j] + mass * centre * centre
                sums.second[side, j] += omega / mass * max(about, 0.0)


@allocating
def _add_up(X, rows, stratum, weights, base, sums):
    # rows are relative to the first row of their stratum, to keep their digits
    (positive, share, own), (mass, of_strata, of_rows) = weights, sums
    d = base.shape[1]
    x = np.empty(d)
    for k in range(len(rows)):
        g, side = stratum[k], 1 if positive[k] else 0
        if mass[0, g, 0] + mass[1, g, 0] == 0.0:
            row_add(X, rows[k], 1.0, base[g])
        mass[side, g, 0] += own[k]
        first, total, weight, omega = base[g], of_strata[side, g], own[k], share[k]
        squares, shares = of_rows[0, side], of_rows[1, side]
        for j in range(d):
            x[j] = -first[j]
        row_add(X, rows[k], 1.0, x)
        for j in range(d):
            weighed = weight * x[j]
            total[j] += weighed
            squares[j] += weighed * x[j]
            shares[j] += omega * x[j] * x[j]


@allocating
def _place(X, rows, stratum, centres, mean, weight, out):
    d = out.shape[1]
    x = np.empty(d)
    for k in range(len(rows)):
        fetch_ahead(rows, k, X)
        fetch_ahead(stratum, k, centres)
        centre = centres[stratum[k]]
        for j in range(d):
            x[j] = -centre[j]
        row_add(X, rows[k], 1.0, x)
        for j in range(d):
            out[k, j] = weight[k] * (x[j] - mean[j])
