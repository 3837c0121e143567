"""Digests of rows: 64 bits each, the same for equal rows of any file, dense or sparse.

A digest is a sum over the cells that are not 0, so that columns can be added in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import is_whole
from aucmax.basics.needs import needs
from aucmax.basics.sparse import sp
from aucmax.data.columns import is_no_word, names_in, values_at
from aucmax.data.rows.passes import Part

__all__ = [
    "MOST_KEPT", "Copies", "DigestCounts", "RowDigests", "Watch", "cell_bits", "copies_in",
    "digests_of", "mixed",
]  # fmt: skip

MOST_KEPT = 4096  # digests, 32 KB
_BLOCK_CELLS = 1 << 15  # numbers at a time, which stay in the cache
_SAMPLE_ROWS = 2000  # the sample that shows how often two cells of a column are equal
Digests = NDArray[np.uint64]
T = TypeVar("T")


def digests_of(X: Any) -> Digests:
    """Return the digests of rows, shape (n,).

    Parameters
    ----------
    X : ndarray, csr_matrix or data frame, shape (n, d)
        Numbers, and text in columns of objects. Columns are identified by their position.
    """
    if sp.issparse(X):
        return mixed(_sums_by_row(sp.csr_matrix(X), _terms_of_sparse(sp.csr_matrix(X))))
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        return mixed(_sums_of_numbers(X))
    return mixed(_sums(X)[0].sum(axis=0))


# ---- a sample of the rows that a model was trained on


@dataclass(frozen=True, eq=False)
class RowDigests:
    """The smallest digests of some rows, a uniform sample of them.

    Parameters
    ----------
    rows : int
        The number of rows.
    repeated : float
        The share of the rows that are equal to another row.
    smallest : ndarray of uint64
        The smallest of their digests, in ascending order, without repetitions; all of them if few.
    """

    rows: int
    repeated: float
    smallest: Digests

    @classmethod
    def of(cls, X: Any) -> RowDigests:
        """Return a sample of the digests of rows (n, d)."""
        return DigestCounts.of(X).kept()

    def shared_with(self, X: Any) -> tuple[int, int]:
        """Return how many rows of X could be compared, and how many of those are among these rows.

        A row is compared if its digest is not above the largest in the sample. This does not
        depend on whether the row is among these, so the ratio of the two numbers is unbiased.
        """
        digests = digests_of(X)
        if len(self.smallest) < self.rows:
            digests = digests[digests <= self.smallest[-1]]
        return len(digests), int(np.isin(digests, self.smallest).sum())

    def check_state(self) -> None:
        """Raise ValueError unless rows could have these digests."""
        kept = self.smallest
        if not (
            is_whole(self.rows)
            and isinstance(self.repeated, float)
            and 0.0 <= self.repeated <= 1.0
            and isinstance(kept, np.ndarray)
            and kept.dtype == np.uint64
            and kept.ndim == 1
            and 0 < len(kept) <= self.rows
            and (kept[1:] > kept[:-1]).all()
        ):
            raise ValueError("the digests of its training rows are not those of rows")


@dataclass(frozen=True, eq=False)
class DigestCounts:
    """The smallest digests of rows, with their counts; parts merge to the result for all rows.

    Parameters
    ----------
    rows : int
        The number of rows.
    digests : ndarray of uint64, shape (k,)
        In ascending order.
    counts : ndarray of int, shape (k,)
        How many rows have each.
    """

    rows: int
    digests: Digests
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, X: Any) -> DigestCounts:
        """Return all digests of rows (n, d)."""
        digests, counts = np.unique(digests_of(X), return_counts=True)
        return cls(int(counts.sum()), digests, counts)

    @classmethod
    def of_part(cls, part: Part) -> DigestCounts:
        """Return the smallest digests in a part, without rows of weight 0."""
        if part.weight is None or np.all(part.weight):
            return cls.of(part.X).bounded()
        return cls.of(part.X[np.flatnonzero(part.weight)]).bounded()

    def bounded(self, most: int = MOST_KEPT) -> DigestCounts:
        """Return only the smallest digests."""
        digests, counts = self.digests[:most].copy(), self.counts[:most].copy()
        return replace(self, digests=digests, counts=counts)

    def merge(self, other: DigestCounts) -> DigestCounts:
        """Return the smallest digests of the rows of both."""
        digests, place = np.unique(
            np.concatenate([self.digests, other.digests]), return_inverse=True
        )
        counts = np.bincount(place, np.concatenate([self.counts, other.counts])).astype(np.int64)
        return DigestCounts(self.rows + other.rows, digests, counts).bounded()

    __add__ = merge  # sums over the parts of a source use it

    def kept(self) -> RowDigests:
        """Return the sample to keep; if it is not all rows, the repeated share is an estimate."""
        repeated = self.counts[self.counts > 1].sum() / self.counts.sum()
        return RowDigests(self.rows, float(repeated), self.bounded().digests)


class Watch:
    """Digests of rows in parts, collected in the first pass that reads all of them.

    Parameters
    ----------
    counts : DigestCounts, optional
        Those of the rows with a weight above 0; None before the end of that pass.
    """

    def __init__(self, counts: DigestCounts | None = None) -> None:
        self.counts = counts

    def over(self, parts: Iterator[Part]) -> Iterator[Part]:
        """Yield the parts of a pass unchanged."""
        if self.counts is not None:
            return parts
        return self.taken((part, DigestCounts.of_part(part)) for part in parts)

    def taken(self, of_parts: Iterable[tuple[T, DigestCounts]]) -> Iterator[T]:
        """Yield the first item of each pair; the second item has the digests of a part."""
        counts = None
        for result, of_part in of_parts:
            counts = of_part if counts is None else counts.merge(of_part)
            yield result
        self.counts = counts


# ---- rows that occur more than once


@dataclass(frozen=True)
class Copies:
    """How many rows are equal to an earlier one, and whether that may be chance.

    Parameters
    ----------
    rows : int
        The number of rows that repeat an earlier one.
    equal : float
        The share of the pairs of rows that are equal.
    by_chance : float
        That share if the columns were independent.
    in_half : float
        The share of the pairs that are equal in half of the columns: in the half where fewer are.
    """

    rows: int
    equal: float
    by_chance: float
    in_half: float

    @property
    def copied(self) -> bool:
        """Whether the rows are copies.

        Rows of few distinct values coincide by chance. Then most pairs that are equal in one half
        of the columns differ in the other half; copies are equal in all columns.
        """
        return self.equal > 3.0 * self.by_chance and self.equal >= 0.5 * self.in_half


def copies_in(X: Any) -> Copies:
    """Count the rows (n, d) that repeat an earlier one."""
    halves, by_chance = _sums(X)
    counts = _counts(halves.sum(axis=0))
    return Copies(
        int(counts.sum()) - len(counts),
        _equal_pairs(counts),
        by_chance,
        min(_equal_pairs(_counts(half)) for half in halves),
    )


def _counts(digests: Digests) -> NDArray[np.int64]:
    """Return how often each digest occurs."""
    ascending = np.sort(digests)
    starts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    return np.diff(starts, append=len(ascending))


def _equal_pairs(counts: NDArray[np.int64]) -> float:
    """Return the share of the pairs of rows that are equal, from the counts of distinct rows."""
    of_values, n = counts.astype(np.float64), float(counts.sum())
    return float(of_values @ (of_values - 1.0)) / max(n * (n - 1.0), 1.0)


# ---- sums over the cells of a row


def _sums_of_numbers(X: NDArray[Any]) -> Digests:
    """Return the sums of the rows of an array of numbers, computed for some rows at a time."""
    n, d = X.shape
    sums, step = np.empty(n, np.uint64), max(_BLOCK_CELLS // max(d, 1), 1)
    columns = np.arange(d, dtype=np.uint64)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        sums[rows] = _terms(_bits(X[rows]), columns).sum(axis=1)
    return sums


def _sums(X: Any) -> tuple[Digests, float]:
    """Return the sums over two halves of the columns (2, n), and the chance of two equal rows.

    The columns, ordered by how well they distinguish rows, go to the two halves in turn.
    """
    if sp.issparse(X):
        return _sums_of_sparse(sp.csr_matrix(X))
    framed, n = hasattr(X, "columns"), len(X)
    count = len(names_in(X)) if framed else X.shape[1]
    sample = np.linspace(0, n - 1, min(n, _SAMPLE_ROWS)).astype(np.intp)
    halves, equal = np.zeros((2, n), np.uint64), np.empty(count)

    def cells(j: int, rows: Any) -> Digests:
        values = X.iloc[rows, j] if framed else values_at(X, j)[rows]
        return _terms(cell_bits(values), np.uint64(j))

    for j in range(count):
        equal[j] = _equal_pairs(_counts(cells(j, sample)))
    for place, j in enumerate(np.argsort(equal, kind="stable")):
        halves[place % 2] += cells(int(j), slice(None))
    return halves, float(np.prod(equal))


def _sums_of_sparse(X: sp.csr_matrix) -> tuple[Digests, float]:
    """Return the same for sparse rows."""
    n, d = X.shape
    terms = _terms_of_sparse(X)
    cells, rows = sp.csr_matrix((terms, X.indices, X.indptr), X.shape), min(n, _SAMPLE_ROWS)
    sample = cells[np.linspace(0, n - 1, rows).astype(np.intp)]
    _, first, counts = np.unique(sample.data, return_index=True, return_counts=True)
    zeros = rows - np.bincount(sample.indices, minlength=d)
    pairs = np.bincount(sample.indices[first], counts * (counts - 1.0), d) + zeros * (zeros - 1.0)
    equal = pairs / max(rows * (rows - 1.0), 1.0)
    side, halves = np.empty(d, np.intp), np.empty((2, n), np.uint64)
    side[np.argsort(equal, kind="stable")] = np.arange(d) % 2
    for half in range(2):
        halves[half] = _sums_by_row(X, np.where(side[X.indices] == half, terms, np.uint64(0)))
    return halves, float(np.prod(equal))


def _terms_of_sparse(X: sp.csr_matrix) -> Digests:
    """Return what the stored cells add to the sums of their rows."""
    return _terms(_bits(X.data), X.indices.astype(np.uint64))


def _sums_by_row(X: sp.csr_matrix, terms: Digests) -> Digests:
    """Return, for each row, the sum of the terms of its stored cells."""
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms)])
    return running[X.indptr[1:]] - running[X.indptr[:-1]]


def _terms(bits: Digests, column: Any) -> Digests:
    """Return what cells add to the sums of their rows: 0 for the number 0."""
    return np.where(bits == 0, np.uint64(0), mixed(bits ^ mixed(column + np.uint64(1))))


def cell_bits(cells: Any) -> Digests:
    """Return 64 bits for each cell of a column: those of the number, or a hash of the word."""
    if hasattr(cells, "cat"):
        bits = _bits(np.array([*cells.cat.categories, None], dtype=object))
        return bits[np.asarray(cells.cat.codes)]
    return _bits(np.asarray(cells))


def _bits(values: NDArray[Any]) -> Digests:
    """Return the same for an array."""
    if values.dtype.kind != "O":
        numbers = values.astype(np.float64) + 0.0  # 0 has one sign
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)
    pd = needs("pandas", "a table with text")
    codes, words = pd.factorize(values, use_na_sentinel=True)
    gaps = np.array([is_no_word(word) for word in words], bool)
    texts = np.array([str(word) for word in words], dtype=object)
    hashes = pd.util.hash_array(texts, categorize=False) if len(texts) else np.empty(0, np.uint64)
    gap = np.float64(np.nan).view(np.uint64)
    return np.append(np.where(gaps, gap, hashes), gap)[codes]


def mixed(bits: Any) -> Any:
    """Return 64 bits that each depend on every input bit (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
