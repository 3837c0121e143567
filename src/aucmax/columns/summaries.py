"""Summaries of the columns of a table in bounded memory; summaries of parts merge.

A summary counts the rows of a column and its gaps. For numbers it also has their median, and the
days, weekdays and times of day of dates; for words it counts each word. The summaries of parts
merge to that of the whole table: exactly within bounds, whatever the parts and their order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import refuse_collections
from aucmax.basics.needs import needs
from aucmax.columns.functions import phase
from aucmax.data.columns import (
    Column,
    columns_in,
    in_days,
    is_no_word,
    named,
    names_in,
    series_in,
    values_of,
)
from aucmax.statistics.score_bins import positions

__all__ = [
    "Bins", "Calendar", "Coded", "NumberSummary", "TableSummary", "WordSummary", "cells", "weekday",
]  # fmt: skip

MAX_BINS = 2**14  # different numbers of a column that are counted separately
MAX_WORDS = 100_000  # different words of a column that are counted
MAX_DAYS = 15  # different days that are recorded
_DAY_SECONDS = 86_400

Floats = NDArray[np.float64]


# ---- the cells of a column


@dataclass(frozen=True)
class Coded:
    """A column of words: the different words, and the index of each row's word.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        The index of the word, −1 for gaps.
    words : list, length k
        The different words; some may not occur.
    """

    codes: NDArray[np.integer[Any]]
    words: list[Any]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, series: Any) -> Self:
        """Return a pandas series or array as a coded column; words such as ``n/a`` are gaps."""
        pd = needs("pandas", "a column of words")
        if isinstance(getattr(series, "dtype", None), pd.CategoricalDtype):
            codes, words = series.cat.codes.to_numpy(), series.cat.categories.tolist()
        else:
            is_series = isinstance(series, pd.Series)
            codes, words = pd.factorize(series if is_series else np.asarray(series).astype(object))
            words = words.tolist()
        gaps = np.array([is_no_word(word) for word in words], dtype=bool)
        if gaps.any():
            codes = np.append(np.where(gaps, -1, np.arange(len(words))), -1)[codes]
        return cls(codes, words)


def cells(X: Any, columns: Sequence[Column]) -> Iterator[Coded | Floats]:
    """Yield the columns of a table, as words or as float64 numbers with NaN for gaps.

    Parameters
    ----------
    X : data frame, or array of shape (n, d)
        Its columns are matched by name, those of an array by position.
    columns : sequence of Column, length d

    Raises
    ------
    ValueError
        If a column is missing, or its values are not of its kind.
    """
    names = [column.name for column in columns]
    for column, series in zip(columns, series_in(X, names), strict=True):
        yield Coded.of(series) if column.is_text else _numbers(column, in_days(values_of(series)))


def _numbers(column: Column, values: NDArray[Any]) -> Floats:
    try:
        numbers = _floats(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column.name!r}: {error}") from None
    if np.isinf(numbers).any():
        raise ValueError(f"column {column.name!r} contains infinity.")
    return numbers


def _floats(values: NDArray[Any]) -> Floats:
    """Return values as float64; gaps among objects are NaN."""
    try:
        return values.astype(np.float64, copy=False)
    except TypeError:  # for pandas' NA
        if "pandas" not in sys.modules:
            raise
        return np.where(sys.modules["pandas"].isna(values), np.nan, values).astype(np.float64)


# ---- summaries


@dataclass(frozen=True)
class Calendar:
    """The days, weekdays and times of day of numbers that are days.

    Parameters
    ----------
    days : tuple of int
        The first `MAX_DAYS` different days.
    weekdays : frozenset of int
        The weekdays that occur, from 0 for Thursday, like 1970-01-01, to 6.
    seconds : (int, int)
        The earliest and the latest time of day, in seconds.
    """

    days: tuple[int, ...]
    weekdays: frozenset[int]
    seconds: tuple[int, int]

    @classmethod
    def of(cls, days: Floats) -> Self:
        """Return the calendar of days (m,), at least one, in ascending order."""
        dates = np.floor(days)
        different = dates[np.append(True, np.diff(dates) > 0)]
        seconds = np.round(_DAY_SECONDS * phase(days, 1.0)) % _DAY_SECONDS
        return cls(
            tuple(map(int, different[:MAX_DAYS].tolist())),
            frozenset(np.unique(weekday(different)).tolist()),
            (int(seconds.min()), int(seconds.max())),
        )

    def merge(self, other: Calendar) -> Calendar:
        """Return the calendar of both."""
        ends = zip(self.seconds, other.seconds, strict=True)
        earliest, latest = (choose(pair) for choose, pair in zip((min, max), ends, strict=True))
        days = sorted({*self.days, *other.days})[:MAX_DAYS]
        return Calendar(tuple(days), self.weekdays | other.weekdays, (earliest, latest))


def weekday(days: Floats) -> NDArray[np.intp]:
    """Return the weekdays of days since 1970-01-01, from 0 for Thursday to 6."""
    return np.clip(np.floor(phase(days, 7.0)), 0, 6).astype(np.intp)


class Bins(NamedTuple):
    """Counts of numbers in bins: at first one bin for each different number, later joined ones.

    A bin is 2^shift consecutive float64 numbers, as in `aucmax.statistics.score_bins`. So the bins
    depend on the numbers alone, not on their order.

    Parameters
    ----------
    low, high : ndarray, shape (b,)
        The lowest and the highest number in each bin, ascending.
    counts : ndarray of int, shape (b,)
        The count of numbers in each bin.
    shift : int
        The width of the bins.
    """

    low: Floats
    high: Floats
    counts: NDArray[np.int64]
    shift: int

    def joined(self) -> Bins:
        """Join neighbours until there are at most `MAX_BINS` bins."""
        if not len(self.low):
            return self
        key, shift = positions(self.low), self.shift
        steps = (key[1:] ^ key[:-1]).view(np.uint64)
        if len(steps) >= MAX_BINS:  # join neighbours whose keys differ only in the lowest bits
            largest_steps = np.partition(steps, -MAX_BINS)[-MAX_BINS:]
            shift = max(shift, int(largest_steps[0]).bit_length())
        key >>= shift
        starts = np.flatnonzero(np.append(True, key[1:] > key[:-1]))
        high, counts = np.maximum.reduceat(self.high, starts), np.add.reduceat(self.counts, starts)
        return Bins(self.low[starts], high, counts, shift)

    def merge(self, other: Bins) -> Bins:
        """Return the bins of both."""
        order = np.argsort(np.concatenate([self.low, other.low]), kind="stable")
        low, high, counts = (
            np.concatenate(pair)[order] for pair in zip(self[:3], other[:3], strict=True)
        )
        return Bins(low, high, counts, max(self.shift, other.shift)).joined()

    @property
    def median(self) -> float:
        """The median, as if each number were in the middle of its bin; NaN if there are none."""
        if not len(self.counts):
            return np.nan
        passed = np.cumsum(self.counts)
        ranks = [(passed[-1] - 1) // 2, passed[-1] // 2]
        middle = np.searchsorted(passed, ranks, side="right")
        lower, upper = (0.5 * self.low[middle] + 0.5 * self.high[middle]).tolist()
        return 0.5 * lower + 0.5 * upper


@dataclass(frozen=True, eq=False)
class NumberSummary:
    """The summary of a column of numbers.

    Parameters
    ----------
    rows, gaps : int
        The numbers of rows and of gaps.
    bins : Bins
        The counts of the numbers.
    median : float
        It is exact for one part, and for several with at most `MAX_BINS` different numbers.
        Otherwise, the middle numbers are replaced by the middles of their bins. NaN if all are
        gaps.
    calendar : Calendar, optional
        The calendar of a column of days.
    """

    rows: int
    gaps: int
    bins: Bins
    median: float
    calendar: Calendar | None = None

    @classmethod
    def of(cls, numbers: Floats, is_days: bool = False) -> Self:
        """Return the summary of numbers (n,); NaN is a gap."""
        ordered = np.sort(numbers[~np.isnan(numbers)]) + 0.0  # −0 is 0
        starts = np.flatnonzero(np.append(True, np.diff(ordered) > 0)[: len(ordered)])
        different, counts = ordered[starts], np.diff(np.append(starts, len(ordered)))
        bins = Bins(different, different, counts, 0)
        calendar = Calendar.of(different) if is_days and len(different) else None
        gaps = len(numbers) - len(ordered)
        return cls(len(numbers), gaps, bins.joined(), bins.median, calendar)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest number."""
        return float(self.bins.low[0]), float(self.bins.high[-1])

    @property
    def is_constant(self) -> bool:
        """Whether each row has the same number."""
        return not self.gaps and self.rows > 0 and len({*self.range}) == 1

    @property
    def distinct(self) -> int:
        """The count of different numbers, or fewer if neighbours were counted together."""
        return len(self.bins.counts)

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many rows have each value; None if neighbours were counted together."""
        return self.bins.counts if self.bins.shift == 0 else None

    def merge(self, other: NumberSummary) -> NumberSummary:
        """Return the summary of the rows of both."""
        bins = self.bins.merge(other.bins)
        calendars = [summary.calendar for summary in (self, other) if summary.calendar is not None]
        calendar = calendars[0].merge(calendars[-1]) if calendars else None
        rows, gaps = self.rows + other.rows, self.gaps + other.gaps
        return NumberSummary(rows, gaps, bins, bins.median, calendar)

    def bounded(self) -> NumberSummary:
        """Return the summary unchanged, as its size is bounded anyway."""
        return self


@dataclass(frozen=True, eq=False)
class WordSummary:
    """The summary of a column of words: counts of rows for the most frequent words.

    Beyond `MAX_WORDS` different words, the count of the next word is subtracted from all counts,
    and words with a count of 0 are dropped (Misra & Gries 1982; Agarwal et al. 2013 show that such
    counts merge). So no count is too high, and none is too low by more than ``uncounted``, which is
    at most the number of rows divided by `MAX_WORDS`.

    Parameters
    ----------
    rows, gaps : int
        The numbers of rows and of gaps.
    counts : mapping of str to int
        The number of rows with each word.
    uncounted : int
        The most by which a count may be too low.
    """

    rows: int
    gaps: int
    counts: Mapping[str, int]
    uncounted: int = 0

    @property
    def distinct(self) -> int:
        """The number of different words, or `MAX_WORDS` if there are more."""
        return MAX_WORDS if self.uncounted else len(self.counts)

    @property
    def is_constant(self) -> bool:
        """Whether each row has the same word."""
        return not self.gaps and not self.uncounted and len(self.counts) == 1

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many rows have each value; None if not all words were counted."""
        return None if self.uncounted else np.array([*self.counts.values()], dtype=np.int64)

    @classmethod
    def of(cls, coded: Coded) -> Self:
        """Return the summary of words, with all of them, however many there are."""
        rows = np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.words)).tolist()
        counts = {word: count for word, count in zip(coded.words, rows, strict=True) if count}
        number = next((word for word in counts if not isinstance(word, str)), None)
        if number is not None:
            raise ValueError(
                f"words and {number!r}, a {type(number).__name__}; make all of them text"
            )
        gaps = len(coded.codes) - sum(counts.values())
        return cls(len(coded.codes), gaps, counts)

    def merge(self, other: WordSummary) -> WordSummary:
        """Return the summary of the rows of both."""
        counts = dict(self.counts)
        for word, count in other.counts.items():
            counts[word] = counts.get(word, 0) + count
        merged = WordSummary(
            self.rows + other.rows,
            self.gaps + other.gaps,
            counts,
            self.uncounted + other.uncounted,
        )
        return merged.bounded()

    def bounded(self) -> WordSummary:
        """Return the summary with at most `MAX_WORDS` words."""
        excess = len(self.counts) - MAX_WORDS
        if excess <= 0:
            return self
        counts = np.fromiter(self.counts.values(), dtype=np.int64, count=len(self.counts))
        cut = int(np.partition(counts, excess - 1)[excess - 1])
        lowered = {word: count - cut for word, count in self.counts.items() if count > cut}
        return replace(self, counts=lowered, uncounted=self.uncounted + cut)


@dataclass(frozen=True, eq=False)
class TableSummary:
    """The summaries of the columns of a table, or of parts of it.

    Parameters
    ----------
    columns : tuple of Column
        The names and kinds of the columns.
    summaries : tuple of NumberSummary and WordSummary
    """

    columns: tuple[Column, ...]
    summaries: tuple[NumberSummary | WordSummary, ...]

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the summary of a data frame.

        Raises
        ------
        ValueError
            If a column has both words and numbers, or values that are neither.
        """
        columns = cls.columns_of(X)
        return cls.of_cells(columns, cells(X, columns))

    @staticmethod
    def columns_of(X: Any) -> tuple[Column, ...]:
        """Return the columns of a data frame; raise ValueError if they have no names."""
        refuse_collections(X)
        names = names_in(X) if hasattr(X, "columns") else []
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError("X must be a data frame whose columns have names.")
        return tuple(named(names, columns_in(X)))

    @classmethod
    def of_cells(cls, columns: tuple[Column, ...], values: Iterable[Coded | Floats]) -> Self:
        """Return the summary of columns, given by their cells."""
        return cls(columns, tuple(map(_summary, columns, values)))

    def merge(self, other: TableSummary) -> TableSummary:
        """Return the summary of the rows of both, whose columns have the same names and kinds.

        A column that has only gaps in one of them takes the kind that it has in the other.

        Raises
        ------
        ValueError
            If the columns differ.
        """
        theirs = dict(zip((c.name for c in other.columns), other._items, strict=True))
        missing = [column.name for column in self.columns if column.name not in theirs]
        if missing or len(theirs) != len(self.columns):
            names = missing or sorted(theirs.keys() - {column.name for column in self.columns})
            raise ValueError(f"some parts lack the columns {', '.join(names)}")
        pairs = zip(self._items, (theirs[c.name] for c in self.columns), strict=True)
        columns, summaries = zip(*(_merged(*pair) for pair in pairs), strict=True)
        return TableSummary(columns, summaries)

    def bounded(self) -> TableSummary:
        """Return the summary in bounded memory."""
        return replace(self, summaries=tuple(summary.bounded() for summary in self.summaries))

    def without(self, names: Sequence[str]) -> TableSummary:
        """Return the summary without some columns."""
        columns, summaries = zip(
            *(item for item in self._items if item[0].name not in names), strict=True
        )
        return TableSummary(columns, summaries)

    @property
    def _items(self) -> list[tuple[Column, NumberSummary | WordSummary]]:
        return [*zip(self.columns, self.summaries, strict=True)]


def _summary(column: Column, values: Coded | Floats) -> NumberSummary | WordSummary:
    if not isinstance(values, Coded):
        return NumberSummary.of(values, column.is_days)
    try:
        return WordSummary.of(values)
    except ValueError as error:
        raise ValueError(f"column {column.name!r} has {error}.") from None


def _merged(first: Any, second: Any) -> tuple[Column, NumberSummary | WordSummary]:
    """Merge two summaries of a column, each with its kind."""
    (column, mine), (other_column, theirs) = first, second
    rows, gaps = mine.rows + theirs.rows, mine.gaps + theirs.gaps
    if mine.gaps == mine.rows and column != other_column:
        return other_column, replace(theirs, rows=rows, gaps=gaps)
    if theirs.gaps == theirs.rows and column != other_column:
        return column, replace(mine, rows=rows, gaps=gaps)
    if type(column) is not type(other_column):
        kinds = " and ".join(type(kind).__name__ for kind in (column, other_column))
        raise ValueError(f"column {column.name!r} is of two kinds in different parts: {kinds}.")
    return column, mine.merge(theirs)
