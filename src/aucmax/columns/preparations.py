"""How a column of a table becomes features: decided from its summary, and applied to rows.

A preparation has the features of its column in three blocks: the numbers, the marker of gaps, and
the levels. In a table, all numbers come first, then all markers, then all levels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import is_whole
from aucmax.columns.functions import Function, Pieces, phase
from aucmax.columns.summaries import MAX_DAYS, Coded, NumberSummary, WordSummary, weekday
from aucmax.data.columns import Column, Words, YesNo, usual_spellings
from aucmax.statistics.disclosure import are_few

__all__ = ["CYCLES", "WEEKDAYS", "Cycle", "Entries", "Filled", "Joined", "Levels", "Rules"]

MAX_PLAIN_WORDS = 20  # words of a column that are levels however rare they are
WEEKDAYS = ("Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday")
_DAY_PARTS = 8  # of three hours
_DATES = {  # descriptions, by whether a date has levels for weekdays and for times of day
    (False, False): "a date: days since 1970-01-01",
    (False, True): "a date: days and time of day",
    (True, False): "a date: days and weekday",
    (True, True): "a date: days, weekday and time of day",
}

Floats = NDArray[np.float64]


class Cycle(NamedTuple):
    """A cycle of dates and times: its points as days since 1970-01-01, and their names, if any."""

    days: Floats
    names: NDArray[Any] | None


CYCLES = {
    # starting with Monday, 1970-01-05
    "weekday": Cycle(np.arange(4.0, 11.0), np.roll(np.array(WEEKDAYS, dtype=object), -4)),
    # until just before midnight, where a curve may differ from its value at 0:00
    "hour": Cycle(np.append(np.arange(24.0) / 24, np.nextafter(1.0, 0.0)), None),
}


class Rules(NamedTuple):
    """The settings of `TableEncoder` that preparations follow."""

    missing: bool
    min_level_rows: int
    max_levels: int
    date_parts: bool


class Joined(NamedTuple):
    """A preparation without features that are 1 in few rows.

    Parameters
    ----------
    preparation : Filled or Levels
    places : tuple of list of int
        The new feature to which each feature is added, in each block; −1 for none.
    """

    preparation: Filled | Levels
    places: tuple[list[int], ...]


class Entries(NamedTuple):
    """One entry in each row: its feature in a block, and its value.

    Parameters
    ----------
    place : int, or ndarray of int, shape (n,)
        The feature, the same in all rows or one for each row.
    value : ndarray, shape (n,), or number
        The value, 0 if there is no entry.
    """

    place: Any
    value: Any


@dataclass(frozen=True)
class Filled:
    """Numbers, yes and no, dates or times, with gaps filled by a value.

    Parameters
    ----------
    rows, gaps : int
        The numbers of rows and gaps in the fit.
    value : float
        The value that fills gaps; NaN if there are only gaps, so that the column is left out.
    marked : bool
        Whether a feature marks the gaps.
    weekdays : tuple of int
        The weekdays that have a level, from 0 for Thursday.
    has_clock : bool
        Whether the time of day has features: hats at 0:00, 3:00, …, 21:00, which add up to 1.
    """

    rows: int
    gaps: int
    value: float
    marked: bool
    weekdays: tuple[int, ...] = ()
    has_clock: bool = False

    @classmethod
    def of(cls, column: Column, summary: NumberSummary, rules: Rules) -> Self:
        """Return the preparation that follows from the summary of a column."""
        value = summary.median
        if isinstance(column, YesNo) and not np.isnan(value):
            value = float(value > 0.5)
        marked = rules.missing and 0 < summary.gaps < summary.rows
        calendar = summary.calendar if rules.date_parts else None
        if calendar is None:
            return cls(summary.rows, summary.gaps, value, marked)
        weekdays: tuple[int, ...] = ()
        if column.is_date and len(calendar.days) == MAX_DAYS and len(calendar.weekdays) > 1:
            weekdays = tuple(sorted(calendar.weekdays, key=lambda day: (day + 3) % 7))
        lowest, highest = summary.range
        has_clock = calendar.seconds[0] < calendar.seconds[1] and (
            column.is_date or (not column.is_duration and lowest >= 0.0 and highest <= 1.0)
        )
        return cls(summary.rows, summary.gaps, value, marked, weekdays, has_clock)

    @property
    def is_left_out(self) -> bool:
        """Whether the column has no features."""
        return bool(np.isnan(self.value))

    def names(self, name: str) -> tuple[list[str], ...]:
        """Return the names of the features in each block."""
        if self.is_left_out:
            return [], [], []
        hours = [f"{24 // _DAY_PARTS * part:02d}:00" for part in range(_DAY_PARTS)]
        levels = [*(WEEKDAYS[day] for day in self.weekdays), *(hours if self.has_clock else [])]
        markers = [f"missingindicator_{name}"] if self.marked else []
        return [name], markers, [f"{name}_{level}" for level in levels]

    def cycles(self) -> tuple[list[str], ...]:
        """Return which of `CYCLES` each feature in each block represents, or ""."""
        numbers, markers, levels = self.names("")
        days = ["weekday"] * len(self.weekdays)
        hours = ["hour"] * (len(levels) - len(days))
        return [""] * len(numbers), [""] * len(markers), days + hours

    def functions(self, function: Function) -> tuple[list[Function], ...]:
        """Return the features in each block as functions of a column, given as a function."""
        if self.is_left_out:
            return [], [], []
        filled = function.filled(self.value)
        levels = [*map(_is_weekday, self.weekdays), *(_hats() if self.has_clock else [])]
        markers = [function.is_gap()] if self.marked else []
        return [filled], markers, [filled.then(level) for level in levels]

    def entries(self, cells: Floats) -> tuple[list[Entries], ...]:
        """Return the features of rows (n,) in each block."""
        if self.is_left_out:
            return [], [], []
        gaps = np.isnan(cells)
        filled = np.where(gaps, self.value, cells)
        levels = []
        if self.weekdays:
            place = np.full(7, -1)
            place[[*self.weekdays]] = np.arange(len(self.weekdays))
            levels.append(_at(place[weekday(filled)]))
        if self.has_clock:
            levels += _clock(filled, len(self.weekdays))
        markers = [Entries(0, gaps)] if self.marked else []
        return [Entries(0, filled)], markers, levels

    def joined(self, counts: tuple[Floats, ...], rows: Floats, fewest: float) -> Joined:
        """Return the preparation without a marker or weekdays that are 1 in few rows.

        Parameters
        ----------
        counts : tuple of ndarray, shape (K, number of features)
            The sum of each feature over the rows of each class, for each block.
        rows : ndarray, shape (K,)
            The number of rows of each class.
        fewest : float
            Numbers of rows above 0 and below this are too few.
        """
        numbers, markers, levels = counts
        marks = np.column_stack([markers, rows - markers.sum(axis=1)])
        marked = self.marked and not are_few(marks, fewest).any()
        days = len(self.weekdays)
        rare = _rare_levels(levels[:, :days], np.zeros(len(rows)), fewest)
        weekdays = tuple(day for j, day in enumerate(self.weekdays) if j not in rare)
        places = (
            [*range(numbers.shape[1])],
            [0 if marked else -1] * markers.shape[1],
            _ranks(levels.shape[1], rare),
        )
        return Joined(replace(self, marked=marked, weekdays=weekdays), places)

    def told(self, column: Column) -> Iterator[str]:
        """Yield the decisions, as text."""
        if self.is_left_out:
            yield "no row has a value: left out"
            return
        if column.is_date:
            yield _DATES[bool(self.weekdays), self.has_clock]
        elif self.has_clock:
            yield "a time of day: a number, and levels near 0:00, 3:00, …, 21:00"
        elif column.is_days:
            yield "a duration: days" if column.is_duration else "a time: days"
        if self.gaps:
            yield self._told_of_gaps(column)

    def _told_of_gaps(self, column: Column) -> str:
        shown = column.shown(self.value)
        value = f"the median {shown:.6g}" if isinstance(shown, float) else f"the median {shown}"
        if isinstance(column, YesNo):
            value = f"{shown!r}, the more frequent"
        marked = ", and marked by a feature" if self.marked else ""
        return f"{self.gaps:,} of {self.rows:,} missing: filled with {value}{marked}"

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to this state."""
        ok = is_whole(self.rows) and is_whole(self.gaps) and self.gaps <= self.rows
        ok = ok and isinstance(self.value, float) and not np.isinf(self.value)
        ok = ok and isinstance(self.marked, bool) and isinstance(self.has_clock, bool)
        ok = ok and isinstance(self.weekdays, tuple) and all(map(is_whole, self.weekdays))
        if not ok or len({*self.weekdays} & {*range(7)}) != len(self.weekdays):
            raise ValueError("a column of numbers is prepared in a way that no fit does")


@dataclass(frozen=True)
class Levels:
    """Words, each a 0/1 feature: all of them, or the frequent ones and one level for the others.

    Parameters
    ----------
    words : tuple of str
        The words that have a level, sorted.
    has_gap, has_other : bool
        Whether there is a level for gaps, and one for all other words.
    n_words : int
        The number of different words in the fit.
    has_more_words : bool
        Whether there were more words than that, which were not all counted.
    min_rows : int
        The least number of rows for a level; 0 if some words without a level have as many.
    spelt : mapping of str to str
        Other spellings of words with a level, which differ only in case or surrounding space.
    """

    words: tuple[str, ...]
    has_gap: bool
    has_other: bool
    n_words: int
    has_more_words: bool = False
    min_rows: int = 0
    spelt: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, column: Column, summary: WordSummary, rules: Rules) -> Self:
        """Return the levels that follow from the summary of a column."""
        as_written = isinstance(column, Words) and column.as_written
        least = 1 if as_written else rules.min_level_rows
        usual = {} if as_written else usual_spellings(summary.counts)
        counts: Counter[str] = Counter()
        for word, rows in summary.counts.items():
            counts[usual.get(word, word)] += rows
        has_gap, min_rows = summary.gaps > 0, 0
        words = [*counts]
        if len(counts) > MAX_PLAIN_WORDS or summary.uncounted:
            words = [word for word in counts if counts[word] >= least]
            if len(words) > rules.max_levels:
                words = sorted(words, key=lambda word: (-counts[word], word))[: rules.max_levels]
            else:
                min_rows = least
        if len(counts) == len(words) + 1 and not summary.uncounted:
            words = [*counts]  # the level of the others would have only this word
        has_more = summary.uncounted > 0
        has_other = has_more or len(words) < len(counts)
        spelt = {odd: word for odd, word in usual.items() if word in {*words}}
        n_words = summary.distinct - len(usual)
        return cls(tuple(sorted(words)), has_gap, has_other, n_words, has_more, min_rows, spelt)

    @property
    def _known(self) -> list[str | None]:
        """The words that have a level, then None if gaps have one, in the order of the levels."""
        return [*self.words, *([None] if self.has_gap else [])]

    def names(self, name: str) -> tuple[list[str], ...]:
        """Return the names of the features in each block."""
        levels = [f"{name}_{'nan' if word is None else word}" for word in self._known]
        return [], [], [*levels, *([f"{name}_other"] if self.has_other else [])]

    def cycles(self) -> tuple[list[str], ...]:
        """Return "" for each feature in each block."""
        return [], [], [""] * len(self.names("")[2])

    def functions(self, function: Function) -> tuple[list[Function], ...]:
        """Return the features in each block as functions of a column, given as a function."""
        spellings = {word: [word] for word in self._known}
        for odd, word in self.spelt.items():
            spellings[word].append(odd)
        levels: list[Function] = [
            function.looked_up(dict.fromkeys(words, 1.0), 0.0) for words in spellings.values()
        ]
        if self.has_other:
            with_level = [word for words in spellings.values() for word in words]
            levels.append(function.looked_up(dict.fromkeys(with_level, 0.0), 1.0))
        return [], [], levels

    def entries(self, cells: Coded) -> tuple[list[Entries], ...]:
        """Return the features of rows (n,) in each block."""
        place = {word: j for j, word in enumerate(self._known)}
        default = len(place) if self.has_other else -1
        places = [place.get(self.spelt.get(word, word), default) for word in [*cells.words, None]]
        return [], [], [_at(np.array(places)[cells.codes])] if self._known or self.has_other else []

    def joined(self, counts: tuple[Floats, ...], rows: Floats, fewest: float) -> Joined:
        """Return the levels with rare ones joined to "other"; the arguments are as in `Filled`."""
        levels, own = counts[2], len(self._known)
        rare = _rare_levels(levels[:, :own], levels[:, own:].sum(axis=1), fewest)
        if not rare:
            return Joined(self, ([], [], [*range(levels.shape[1])]))
        words = tuple(word for j, word in enumerate(self.words) if j not in rare)
        spelt = {odd: word for odd, word in self.spelt.items() if word in {*words}}
        has_gap = self.has_gap and own - 1 not in rare
        fewer = replace(self, words=words, has_gap=has_gap, has_other=True, min_rows=0, spelt=spelt)
        last = own - len(rare)
        places = [last if j < 0 else j for j in _ranks(own, rare)] + [last] * self.has_other
        return Joined(fewer, ([], [], places))

    def told(self, column: Column) -> Iterator[str]:
        """Yield the decisions, as text."""
        words = f"{self.n_words:,} word{'' if self.n_words == 1 else 's'}"
        if self.spelt:
            words += f" (spelt in {self.n_words + len(self.spelt):,} ways by case or space)"
        if not self.has_other:
            each = "" if len(self._known) == 1 else " each"
            yield f"{words}{' and gaps' if self.has_gap else ''}, a level{each}"
            return
        frequent = f"the {len(self.words):,} most frequent"
        if self.min_rows:
            frequent = f"the {len(self.words):,} with at least {self.min_rows:,} rows"
        levels = [*(["gaps"] if self.has_gap else []), *([frequent] if self.words else [])]
        prepared = f"levels for {' and '.join(levels)}, 'other' for the rest"
        more = "more than " if self.has_more_words else ""
        yield f"{more}{words}: {prepared if levels else 'all are one level'}"

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to this state."""
        ok = isinstance(self.words, tuple) and all(isinstance(word, str) for word in self.words)
        ok = ok and len({*self.words}) == len(self.words) and is_whole(self.n_words)
        flags = self.has_gap, self.has_other, self.has_more_words
        ok = ok and all(isinstance(flag, bool) for flag in flags)
        ok = ok and isinstance(self.spelt, dict) and {*self.spelt.values()} <= {*self.words}
        ok = ok and not {*self.spelt} & {*self.words}
        if not ok or not is_whole(self.min_rows):
            raise ValueError("a column of words is prepared in a way that no fit does")


def _rare_levels(counts: Floats, others: Floats, fewest: float) -> set[int]:
    """Return the levels to join to the others, so that no level, nor they, have too few rows.

    Parameters
    ----------
    counts : ndarray, shape (K, number of levels)
        The number of rows of each class. A row has one level, or is among the others.
    others : ndarray, shape (K,)
        The number of rows of each class without a level.
    fewest : float
        Numbers of rows above 0 and below this are too few, in any class.
    """
    rare = np.atleast_1d(are_few(counts, fewest).any(axis=0))
    for level in np.argsort(counts.sum(axis=0), kind="stable").tolist():
        joint = others + counts[:, rare].sum(axis=1)
        if not are_few(joint, fewest).any():
            break
        rare[level] = True
    return {*np.flatnonzero(rare).tolist()}


def _ranks(count: int, without: set[int]) -> list[int]:
    """Return the ranks of 0, 1, …, count − 1 among those not in ``without``; −1 for the others."""
    remains = np.array([j not in without for j in range(count)], dtype=bool)
    return np.where(remains, np.cumsum(remains) - 1, -1).tolist()


def _at(place: NDArray[np.intp]) -> Entries:
    """Return entries of 1 at places (n,), and none at −1."""
    return Entries(np.maximum(place, 0), place >= 0)


def _is_weekday(day: int) -> Pieces:
    """Return the function of days since 1970-01-01 that is 1 on a weekday and 0 on others."""
    return Pieces.steps(np.arange(1.0, 7.0), np.eye(7)[day], period=7.0)


def _hats() -> list[Pieces]:
    """Return the functions of the time of day that are 1 at one multiple of 3 h, 0 at others."""
    starts = np.arange(_DAY_PARTS) / _DAY_PARTS
    hats = np.eye(_DAY_PARTS)
    # from each multiple to the next, one hat falls from 1 to 0 and the next rises from 0 to 1
    slopes = _DAY_PARTS * (np.roll(hats, -1, axis=1) - hats)
    return [
        Pieces(starts[1:], starts, np.column_stack([hat, slope]), period=1.0)
        for hat, slope in zip(hats, slopes, strict=True)
    ]


def _clock(days: Floats, start: int) -> list[Entries]:
    """Return the two hats that are not 0 at days (n,); hats begin at ``start`` in their block."""
    hours = _DAY_PARTS * phase(days, 1.0)
    part = np.minimum(np.floor(hours), _DAY_PARTS - 1)
    risen = hours - part
    before = part.astype(np.intp)
    return [
        Entries(start + before, 1.0 - risen),
        Entries(start + (before + 1) % _DAY_PARTS, risen),
    ]
