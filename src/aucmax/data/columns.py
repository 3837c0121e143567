"""The kinds of columns in a table, decided once, when data are read, and kept with a model.

A `Column` of numbers is the plain case. Every other kind is a subclass, which defines how a value
is read from text and how it is shown, for all code that reads, explains or exports columns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.sparse import sp
from aucmax.data.dates import EXAMPLES, ISO, day_fraction, day_number, duration_of

__all__ = [
    "KINDS", "NO_NUMBER", "NO_WORD", "Amount", "Column", "Date", "Remarks", "Time", "Words",
    "YesNo", "column_of", "columns_in", "date_of", "declare", "declared_in", "in_days", "is_gap",
    "is_no_word", "label_as", "labels_as", "named", "names_in", "other_than_numbers",
    "series_in", "usual_labels", "usual_spellings", "values_at", "values_in", "values_of",
]  # fmt: skip

_DAY_SECONDS = 86_400
# "none" is missing from this list as it may be a category; "?" is here for UCI's files
_ERRORS = ("#n/a", "#nv", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!")  # Excel's
NO_WORD = ("", "na", "n/a", "nan", "null", "?", *_ERRORS)
NO_NUMBER = (*NO_WORD, "none", "-", "--", ".", "n.a.", "missing")
# in any case
_NO = (
    "false", "no", "n", "f", "off", "nein", "non", "nee", "nej", "nei", "não", "nao", "nie", "нет",
    "falsch", "faux", "falso",
)  # fmt: skip
_YES = (
    "true", "yes", "y", "t", "on", "ja", "oui", "si", "sí", "sì", "sim", "tak", "да",
    "wahr", "vrai", "vero", "verdadero", "verdadeiro",
)  # fmt: skip


def is_gap(value: Any) -> bool:
    """Return whether a value of a table is missing: None, or NaN, NaT and NA of data frames."""
    return not isinstance(value, str) and (value is None or str(value) in ("nan", "<NA>", "NaT"))


def is_no_word(value: Any) -> bool:
    """Return whether a value of a text column is missing, or a word that means missing."""
    return value.strip().lower() in NO_WORD if isinstance(value, str) else is_gap(value)


def in_days(values: NDArray[Any]) -> NDArray[Any]:
    """Return dates and times as days since 1970-01-01, durations as days, others unchanged.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Of any type; NaT becomes NaN.
    """
    if values.dtype.kind == "M":
        values = values - np.datetime64(0, "D")
    return values / np.timedelta64(1, "D") if values.dtype.kind == "m" else values


@dataclass(frozen=True)
class Column:
    """A column of numbers.

    Parameters
    ----------
    name : str
        Its name in the file or the data frame; "" if only its position is known.
    gaps : bool
        Whether a model accepts missing values in it.
    gap_is_none : bool
        Whether a missing value is None in a data frame, not NaN.
    objects : bool
        Whether its values are Python objects in a data frame.
    """

    name: str
    gaps: bool = False
    gap_is_none: bool = False
    objects: bool = False

    is_text: ClassVar[bool] = False  # its values are words, not numbers
    is_days: ClassVar[bool] = False  # its numbers are days, which files write as text
    is_date: ClassVar[bool] = False  # they count from 1970-01-01
    is_number: ClassVar[bool] = True  # also in files and data frames
    is_float: ClassVar[bool] = True  # a database stores the same numbers, or NaN
    sql_type: ClassVar[str] = "a number"  # what a database must store for this column

    def __str__(self) -> str:
        return self.name

    @property
    def source(self) -> str:
        """The name of the column of a file or a database that contains its values."""
        return self.name

    @property
    def is_duration(self) -> bool:
        """Whether its numbers are durations, which have no time of day."""
        return False

    @property
    def example(self) -> str:
        """An example of a value in a file, for columns of days; "" for others."""
        return ""

    @property
    def in_files(self) -> str:
        """An example of values that a database stores in another form than files, or ""."""
        return self.example

    def number(self, word: str) -> float | None:
        """Return the number that a word stands for, or None; plain numbers have no words."""
        return None

    def shown(self, value: Any) -> float | str:
        """Return a value in a form for readers: a number, NaN for a gap, or words."""
        if isinstance(value, float):
            return value
        if is_gap(value):
            return np.nan
        if isinstance(value, (str, bool, np.bool_)):
            return str(value)
        try:
            return float(value)
        except (TypeError, ValueError):
            return str(value)

    def intervals(self, edges: list[float]) -> list[str]:
        """Return the names of the intervals between edges."""
        if not edges:
            return ["any"]
        ends = self._told_apart(edges)
        return [f"< {ends[0]}", *(f"{a} to < {b}" for a, b in pairwise(ends)), f"≥ {ends[-1]}"]

    def _told_apart(self, edges: list[float]) -> list[str]:
        """Return edges as text, with as many digits as distinguish them, at least six."""
        texts = ([f"{edge:.{digits}g}" for edge in edges] for digits in range(6, 18))
        return next(text for text in texts if len(set(text)) == len(text))

    def check_state(self) -> None:
        """Raise ValueError for properties that no reader produces but a model file may have."""
        if not isinstance(self.name, str):
            raise ValueError("the name of a column is not text")


@dataclass(frozen=True)
class YesNo(Column):
    """A column of two words, such as true and false, whose numbers are 0 and 1.

    Parameters
    ----------
    words : (str, str)
        Their spelling in the file, that of 0 first.
    """

    words: tuple[str, str] = ("False", "True")

    is_number = is_float = False
    sql_type = "true and false, or 1 and 0"

    @property
    def in_files(self) -> str:
        """Return the words, or "" for true and false, for which databases have a type."""
        usual = {word.lower() for word in self.words} <= {"false", "true"}
        return "" if usual else " and ".join(reversed(self.words))

    @classmethod
    def written(cls, name: str, words: Iterable[str]) -> YesNo | None:
        """Return a column of these words if they mean yes and no; each keeps its first spelling.

        Either of true and false alone is enough.
        """
        spelt: dict[int, str] = {}
        for word in words:
            yes = _yes(word)
            if yes is None:
                return None
            spelt.setdefault(yes, word)
        if len(spelt) == 1:
            ((yes, word),) = spelt.items()
            opposite = (_NO if yes else _YES)[0]
            if word.lower() not in (_NO[0], _YES[0]):
                return None
            spelling = str.upper if word.isupper() else str.title if word.istitle() else str
            spelt[1 - yes] = spelling(opposite)
        return cls(name, words=(spelt[0], spelt[1])) if spelt else None

    def number(self, word: str) -> float | None:
        """Return 0 or 1; words that mean yes or no are read in any spelling."""
        if word in self.words:
            return float(self.words.index(word))
        return _yes(word)

    def shown(self, value: Any) -> float | str:
        """Return the word for a value."""
        return np.nan if is_gap(value) else self.words[bool(value)]

    def intervals(self, edges: list[float]) -> list[str]:
        """Return the two words, or "any"."""
        return list(self.words) if len(edges) == 1 else super().intervals(edges)

    def check_state(self) -> None:
        super().check_state()
        if len(self.words) != 2 or not all(isinstance(word, str) for word in self.words):
            raise ValueError("a column of two words has other words")


@dataclass(frozen=True)
class Amount(Column):
    """A column of numbers with thousands separators, currency symbols, percent signs or units.

    Parameters
    ----------
    decimal : {".", ","}
        The decimal mark.
    units : tuple of str
        The units that may follow the numbers, such as ``kg``, or precede them if it is money.
    unit : str
        The unit to which numbers with other units, such as ``g``, are converted; "" if none are.
    """

    decimal: str = "."
    units: tuple[str, ...] = ()
    unit: str = ""

    is_number = False

    @property
    def in_files(self) -> str:
        """Return examples with a thousands separator, a currency symbol and a percent sign."""
        return "$ 1,234.50 or 5 %" if self.decimal == "." else "1.234,50 EUR or 5 %"

    def number(self, word: str) -> float | None:
        """Return the number without separators, currency symbols and units."""
        import pyarrow as pa

        from aucmax.data.tables.written import amounts

        (value,) = amounts(pa.array([word.strip()]), self.decimal, self.units, self.unit).tolist()
        return None if value != value else value

    def check_state(self) -> None:
        super().check_state()
        if self.decimal not in (".", ","):
            raise ValueError("a column of amounts has an unknown decimal mark")
        from aucmax.data.tables.written import measure_of

        if not all(isinstance(unit, str) for unit in (*self.units, self.unit)):
            raise ValueError("a column of amounts has units that are not words")
        if self.unit and (self.unit not in self.units or measure_of(self.units) is None):
            raise ValueError("a column of amounts is converted to a unit of another quantity")


@dataclass(frozen=True)
class Date(Column):
    """A column of dates, whose numbers are days since 1970-01-01.

    Parameters
    ----------
    form : str
        The form of the date in files, one of `aucmax.data.dates.EXAMPLES`.
    """

    form: str = ISO

    is_days = is_date = True
    is_number = is_float = False
    sql_type = "a date or timestamp"

    @property
    def example(self) -> str:
        """Return 31 January 2024 as it is written in files."""
        return EXAMPLES[self.form]

    def number(self, word: str) -> float | None:
        """Return the days since 1970-01-01."""
        return day_number(word, self.form)

    def shown(self, value: Any) -> float | str:
        """Return the date in ISO form, with the time of day if there is one."""
        return np.nan if is_gap(value) else date_of(value)

    def _told_apart(self, edges: list[float]) -> list[str]:
        if all(edge.is_integer() for edge in edges):
            return [date_of(edge) for edge in edges]
        return [str(np.datetime64(round(edge * _DAY_SECONDS), "s")) for edge in edges]

    def check_state(self) -> None:
        super().check_state()
        if self.form not in EXAMPLES:
            raise ValueError("a column of dates has an unknown form")


@dataclass(frozen=True)
class Time(Column):
    """A column of times of day or of durations, both counted in days.

    Parameters
    ----------
    duration : bool
        Whether the file has durations rather than times of day.
    """

    duration: bool = False

    is_days = True
    is_number = is_float = False
    sql_type = "a time or interval"

    @property
    def is_duration(self) -> bool:
        """Return whether the file has durations."""
        return self.duration

    @property
    def example(self) -> str:
        """Return a quarter past six in the evening as files write it."""
        return "18:15:00"

    def number(self, word: str) -> float | None:
        """Return the fraction of a day, or a duration in days."""
        time = day_fraction(f" {word}")
        return duration_of(word) if time is None else time

    def shown(self, value: Any) -> float | str:
        """Return hours, minutes and seconds, preceded by days if there are any."""
        return np.nan if is_gap(value) else str(timedelta(seconds=round(_DAY_SECONDS * value)))

    def _told_apart(self, edges: list[float]) -> list[str]:
        return [str(self.shown(edge)) for edge in edges]


@dataclass(frozen=True)
class Words(Column):
    """A column of words, each a category.

    Parameters
    ----------
    as_written : bool
        Whether words that differ only in case or surrounding space are different categories.
    trimmed: bool
        Whether the space around words was removed when they were read.
    """

    as_written: bool = False
    trimmed: bool = False

    is_text = True
    is_number = is_float = False
    sql_type = "text"


@dataclass(frozen=True)
class Remarks(Words):
    """The frequent words in a column of numbers, such as ``neg``; other cells are gaps.

    Parameters
    ----------
    words : tuple of str
        In the spelling of the file.
    """

    words: tuple[str, ...] = ()

    _ENDING: ClassVar[str] = ": word"

    @classmethod
    def among(cls, name: str, words: Iterable[str] = ()) -> Remarks:
        """Return the column for the words in a column of numbers of this name."""
        return cls(f"{name}{cls._ENDING}", trimmed=True, words=tuple(words))

    @property
    def source(self) -> str:
        """Return the name of the column of numbers."""
        return self.name.removesuffix(self._ENDING)

    def check_state(self) -> None:
        super().check_state()
        if not all(isinstance(word, str) for word in self.words):
            raise ValueError("a column of words has words that are not text")


KINDS: tuple[type, ...] = (Column, *Column.__subclasses__(), Remarks)


def _yes(word: str) -> int | None:
    """Return 1 for a word that means yes, 0 for no, None for any other."""
    word = word.lower()
    return 1 if word in _YES else 0 if word in _NO else None


def usual_spellings(counts: Mapping[str, float]) -> dict[str, str]:
    """Return the most frequent spelling of each word that is spelt in several ways."""
    return _most_frequent(counts, {word: word.strip().casefold() for word in counts})


def usual_labels(counts: Mapping[str, float]) -> dict[str, str]:
    """Return the most frequent spelling of each label that is spelt in several ways."""
    return _most_frequent(counts, _labels(counts))


def labels_as(labels: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return labels, each spelt like the known label that means the same, if any."""
    meant = _labels([*labels, *known])
    spelling = {meant[label]: label for label in known}
    if len(spelling) < len(known):  # the known labels distinguish such spellings
        return [*labels]
    return [spelling.get(meant[label], label) for label in labels]


def label_as(label: Any, known: Collection[Any]) -> Any:
    """Return a label, spelt like the known label that means the same, if any."""
    if not isinstance(label, str) or label in known:
        return label
    (usual,) = labels_as([label], [word for word in known if isinstance(word, str)])
    return usual


def _labels(words: Iterable[str]) -> dict[str, Any]:
    """Return what words mean as labels: case is ignored; if all mean yes or no, y is yes."""
    meant: dict[str, Any] = {word: word.strip().casefold() for word in words}
    if any(_yes(word) is None for word in meant.values()):
        return meant
    return {word: (_yes(lower), lower[0]) for word, lower in meant.items()}  # N and F are two


def _most_frequent(counts: Mapping[str, float], meant: Mapping[str, Any]) -> dict[str, str]:
    """Return, for each word, the most frequent word with the same meaning, if it is another."""
    alike: dict[Any, list[str]] = {}
    for word in counts:
        alike.setdefault(meant[word], []).append(word)
    usual: dict[str, str] = {}
    for words in alike.values():
        most = max(words, key=lambda word: (counts[word], word))
        usual |= {word: most for word in words if word != most}
    return usual


def date_of(days: float) -> str:
    """Return days since 1970-01-01 as a date in ISO form, with the time unless it is midnight."""
    return str(np.datetime64(round(_DAY_SECONDS * days), "s")).removesuffix("T00:00:00")


def column_of(name: str, values: NDArray[Any]) -> Column:
    """Return the kind of a column of an array or a data frame, judged by its values (n,)."""
    if values.dtype.kind == "b":
        return YesNo(name)
    if values.dtype.kind in "mM":
        return Date(name) if values.dtype.kind == "M" else Time(name, duration=True)
    if values.dtype.kind not in "OUST":
        return Column(name)
    if any(isinstance(value, str) for value in values):
        return Words(name)
    filled = [value for value in values if not is_gap(value)]
    truth = bool(filled) and all(isinstance(value, (bool, np.bool_)) for value in filled)
    return YesNo(name) if truth else Column(name)


def columns_in(X: Any) -> tuple[Column, ...]:
    """Return the columns of a data frame that are not numbers; none for an array.

    Columns that `declared_in` does not list are judged by their values.
    """
    if not hasattr(X, "columns"):
        return ()
    declared = declared_in(X)
    return other_than_numbers(
        declared.get(name) or column_of(name, values_of(X[name])) for name in names_in(X)
    )


def names_in(X: Any) -> list[str]:
    """Return the names of the columns of a data frame."""
    return list(getattr(X, "column_names", X.columns))  # the former is Arrow's


def values_in(X: Any, names: Sequence[str]) -> Iterator[NDArray[Any]]:
    """Yield the values of columns, as arrays; see `series_in`."""
    yield from map(values_of, series_in(X, names))


def series_in(X: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield columns of X unchanged: by name from a data frame, by position from an array.

    Raises
    ------
    ValueError
        If the data frame lacks some of them.
    """
    framed = hasattr(X, "columns")
    missing = set(names).difference(names_in(X)) if framed else set()
    if missing:
        listed = ", ".join(name for name in names if name in missing)
        raise ValueError(f"columns are missing: {listed}")
    for j, name in enumerate(names):
        yield X[name] if framed else values_at(X, j)


def values_of(series: Any) -> NDArray[Any]:
    """Return a column of a data frame as an array; times with a time zone are given in UTC."""
    dtype = getattr(series, "dtype", None)
    has_zone = getattr(dtype, "tz", None) is not None  # in pandas, which gives objects otherwise
    return np.asarray(series, "datetime64[ns]" if has_zone else None)


def values_at(X: Any, j: int) -> NDArray[Any]:
    """Return column j of a dense or sparse array, shape (n,)."""
    return X[:, [j]].toarray()[:, 0] if sp.issparse(X) else X[:, j]


def declare(table: Any, columns: Iterable[Column]) -> Any:
    """Record columns in a data frame's attributes, and return it.

    A scikit-learn transformer is fitted to X alone, so that X must carry the kinds that its values
    do not show, such as the form of a date; elsewhere `Labelled` has them.
    """
    table.attrs["columns"] = other_than_numbers(columns)
    return table


def declared_in(X: Any) -> dict[str, Column]:
    """Return the columns that `declare` recorded in a data frame, by name."""
    return {column.name: column for column in getattr(X, "attrs", {}).get("columns", ())}


def other_than_numbers(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return the columns that a model keeps because they are not plain numbers."""
    return tuple(column for column in columns if not column.is_number)


def named(names: Iterable[str], known: Iterable[Column]) -> Iterator[Column]:
    """Yield the columns of these names: the known one, or else a column of numbers."""
    by_name = {column.name: column for column in known}
    for name in names:
        yield by_name.get(name, Column(name))
