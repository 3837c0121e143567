"""Tables with named columns, CSV and Parquet, as dense rows and labels."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.errors import DataFileError
from aucmax.datasets.codes import doubts, zero_padded
from aucmax.datasets.dates import EXAMPLES, ISO, day_number, days_of_arrow, forms_of
from aucmax.datasets.files import fault, opened
from aucmax.datasets.obstacles import Obstacle, TableError
from aucmax.datasets.svmlight import label_too_large, whole_labels
from aucmax.datasets.transforms import listing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Choice", "Columns", "read_csv", "read_parquet"]

LABEL_NAMES = ("target", "label", "y", "class")
# A line of a wide table must fit in one block.
_BLOCK_BYTES = 1 << 24
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Numbers as spreadsheets write them: "0,125", "1.234,5", "1,234.5", "12 %", "$5".
_WRITTEN = re.compile(r"[+-]?[$€£]?[0-9]+([.,][0-9]{3})*([.,][0-9]+)?([eE][+-]?[0-9]+)?\s?[%$€£]?")
_MOSTLY = 0.5  # share of numbers from which many different values are no categories
_NEARLY_ALL = 0.9  # share of numbers from which no other value is taken for a category
_FEW_VALUES = 20
# Numbers with a decimal comma; those of groups of three digits may have thousands instead.
_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+")
_SAMPLE = 50  # values that decide of which forms a date may be
_NAMES = {
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y": "month/day/year",
    "%d-%m-%Y": "day-month-year",
    "%m-%d-%Y": "month-day-year",
}
# What stands for a missing value: "none" may be a category, and UCI's files have "?".
_NO_NUMBER = ("", "na", "n/a", "nan", "null", "none", "?")
_NO_WORD = ("", "na", "n/a", "nan", "null", "?")
_SEPARATORS = ";\t|,"
# pandas stores a row index in Parquet under this name.
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True)
class Choice:
    """Which columns are wanted, in the words of `readers.read`."""

    target: str | None
    labels: str
    drop: tuple[str, ...]
    columns: tuple[str, ...] | None
    text: bool | tuple[str, ...] = False
    missing: bool | tuple[str, ...] = False
    categories: tuple[str, ...] = ()
    dates: bool | Mapping[str, str] = False
    sep: str | None = None
    decimal: str = "."
    by_place: bool = False
    weight: str | None = None
    groups: str | None = None
    time: str | None = None

    @property
    def aside(self) -> dict[str, str]:
        """The columns that say something of the rows and are no features, by what they say."""
        named = {"weight": self.weight, "groups": self.groups, "time": self.time}
        return {what: name for what, name in named.items() if name is not None}

    @property
    def date_forms(self) -> Mapping[str, str]:
        """The forms of the columns known to be dates."""
        return self.dates if isinstance(self.dates, Mapping) else {}

    @property
    def for_model(self) -> bool:
        """Whether a model says what is read, by the columns' names or their number."""
        return self.columns is not None or self.by_place

    def is_named_text(self, name: str) -> bool:
        """Whether a column is text because the caller says so, whatever it holds."""
        return name in self.categories or (isinstance(self.text, tuple) and name in self.text)

    def may_have_gaps(self, name: str) -> bool:
        """Whether missing values of a column are taken."""
        return name in self.missing if isinstance(self.missing, tuple) else self.missing

    def without(self, name: str) -> dict[str, Any] | None:
        """The remedy of leaving a column out, which a model that names it does not allow."""
        return None if self.columns is not None else {"drop": [name]}

    def number(self, word: str) -> float | None:
        """A word as a number, or None."""
        if self.decimal != ".":
            if "." in word:
                return None
            word = word.replace(self.decimal, ".")
        return float(word) if _NUMBER.fullmatch(word) else None

    def trimmed(self) -> Choice:
        """The same with names as they are once the space around them is gone."""

        def trim(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(name.strip() for name in names)

        aside: dict[str, Any] = {what: name.strip() for what, name in self.aside.items()}
        return replace(
            self,
            target=None if self.target is None else self.target.strip(),
            drop=trim(self.drop),
            columns=None if self.columns is None else trim(self.columns),
            text=trim(self.text) if isinstance(self.text, tuple) else self.text,
            missing=trim(self.missing) if isinstance(self.missing, tuple) else self.missing,
            categories=trim(self.categories),
            dates=(
                {name.strip(): form for name, form in self.dates.items()}
                if isinstance(self.dates, Mapping)
                else self.dates
            ),
            **aside,
        )


@dataclass(frozen=True)
class Columns:
    """Rows, labels, the columns' names, which are text, which dates, which look like codes.

    What is known of the rows besides stands in `aside`: weights, groups, times.
    """

    X: NDArray[Any]
    y: NDArray | None
    feature_names: list[str] | None = None
    target: str | None = None
    text: tuple[str, ...] = ()
    dates: Mapping[str, str] = field(default_factory=dict)
    codes: tuple[Obstacle, ...] = ()
    aside: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Source:
    """An Arrow table and how to say where in the file a row of it stands."""

    path: Path
    table: pa.Table
    place: Callable[[int], int | str]
    typed: bool = True  # the file says what is text; otherwise Arrow took it for text
    padded: Callable[[list[str]], set[str]] = lambda names: set()  # columns such as 00501


def read_csv(path: Path, delimiter: str, choice: Choice) -> Columns:
    """Rows and labels of a CSV file whose first line names the columns."""
    choice, delimiter = choice.trimmed(), choice.sep or delimiter
    raw = _header(path, delimiter)
    _check_separator(path, raw, delimiter, choice)
    table, hexadecimal = _arrow_table(path, delimiter, raw, choice)
    names = table.column_names
    _check_header(path, names, choice)
    target, features = _choose(path, names, choice)
    used = _used(target, features, choice)
    kinds = table.select(used).schema.types
    # Arrow takes text that is not UTF-8 for bytes.
    if any(_binary(kind) for kind in kinds):
        raise _csv_fault(path, delimiter, "bytes that are not text")
    if hexadecimal:
        _refuse_hexadecimal(path, delimiter, table, used)
    source = _Source(
        path,
        table,
        lambda row: _csv_line(path, delimiter, row),
        typed=False,
        padded=lambda wanted: zero_padded(
            (row for _, row in _csv_rows(path, delimiter)), names, wanted
        ),
    )
    return _extract(source, target, features, choice)


def _arrow_table(
    path: Path, delimiter: str, raw: list[str], choice: Choice
) -> tuple[pa.Table, bool]:
    """The file as Arrow reads it, no space around the columns' names; and whether it has 0x."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    # what is known to be text or dates stays as it is written, "01" for instance
    known = {
        *choice.categories,
        *(choice.text if isinstance(choice.text, tuple) else ()),
        *choice.date_forms,
    }
    as_text = {name: pa.string() for name in raw if name.strip() in known}
    try:
        with opened(path) as stream:
            native = _Native(stream, watch=True)
            table = pa_csv.read_csv(
                native.file,
                pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
                pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(column_types=as_text or None, decimal_point=choice.decimal),
            )
        table = table.rename_columns([name.strip() for name in table.column_names])
        return table, native.hexadecimal
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _csv_fault(path, delimiter, str(error)) from None


class _Native:
    """A file as Arrow reads it by itself, and whether 0x is in it, which Arrow takes for a number.

    Arrow's threads may still hold what they read when Python ends; were it a stream of Python's,
    letting go of it would then end the process with "terminate called".

    Parameters
    ----------
    stream : BufferedReader
        The bytes, unpacked.
    watch : bool
        Whether to look for 0x.
    """

    def __init__(self, stream: io.BufferedReader, watch: bool = False) -> None:
        import pyarrow as pa

        raw = getattr(stream, "raw", None)
        plain = isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
        kept = None if plain else pa.BufferOutputStream()
        self.hexadecimal, end = False, b""
        while (watch or not plain) and (chunk := stream.read(_BLOCK_BYTES)):
            seam, end = end + chunk[:1], chunk[-1:]
            self.hexadecimal |= any(x in part for x in (b"0x", b"0X") for part in (seam, chunk))
            if kept is not None:
                kept.write(chunk)
        self.file = (
            pa.OSFile(str(stream.name)) if kept is None else pa.BufferReader(kept.getvalue())
        )


def _refuse_hexadecimal(path: Path, delimiter: str, table: pa.Table, used: list[str]) -> None:
    """Raise where a column was taken for numbers and a value is written as 0x10."""
    from pyarrow import types

    whole = {name for name in used if types.is_integer(table.schema.field(name).type)}
    places = [j for j, name in enumerate(table.column_names) if name in whole]
    for line, row in itertools.islice(_csv_rows(path, delimiter), 1, None):
        for j in places:
            if j < len(row) and re.fullmatch(r"[+-]?0[xX][0-9a-fA-F]+", row[j].strip()):
                raise fault(
                    path,
                    f"column {table.column_names[j]!r} holds {row[j]!r}; write numbers with "
                    "decimal digits",
                    line,
                )


def _binary(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind))


def read_parquet(path: Path, choice: Choice) -> Columns:
    """Rows and labels of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with opened(path) as stream, parquet.ParquetFile(_Native(stream).file) as file:
            names = [n for n in file.schema_arrow.names if not _PANDAS_INDEX.fullmatch(n)]
            target, features = _choose(path, names, choice)
            table = file.read(columns=_used(target, features, choice))
        return _extract(
            _Source(path, table, lambda row: f"row {row + 1}"), target, features, choice
        )
    except pa.ArrowException as error:
        raise fault(path, f"not a readable Parquet file ({error}); write it again") from None
    except UnicodeDecodeError:
        what = "a column's name or text is not UTF-8; write the file again"
        raise fault(path, what) from None


# --- which columns


def _used(target: str | None, features: list[str], choice: Choice) -> list[str]:
    """All columns that are read, each once."""
    return list(dict.fromkeys([*features, *([target] if target else []), *choice.aside.values()]))


def _choose(path: Path, names: list[str], choice: Choice) -> tuple[str | None, list[str]]:
    """The label column's name, if there is one, and the features' names in order."""
    counts = Counter(names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise fault(path, f"the column name {twice[0]!r} comes twice; names must differ")
    unknown = [name for name in choice.drop if name not in counts]
    if unknown:
        raise fault(path, f"no column {unknown[0]!r} to drop{_suggest(unknown[0], names)}")
    target = _target(path, names, choice)
    for name in choice.categories:
        if name not in counts:
            what = f"no column {name!r} to take as categories{_suggest(name, names)}"
            raise fault(path, what)
        if name == target or name in choice.drop:
            other = "the label column" if name == target else "dropped"
            raise fault(path, f"column {name!r} is both {other} and taken as categories")
    _check_aside(path, names, target, choice)
    if choice.columns is not None:
        missing = [name for name in choice.columns if name not in counts]
        if missing:
            have = _suggest(missing[0], names)
            raise fault(path, f"columns the model needs are missing: {listing(missing)}{have}")
        return target, list(choice.columns)
    left_out = {target, choice.target, *choice.drop, *choice.aside.values()}
    features = [name for name in names if name not in left_out]
    if not features:
        raise fault(path, "no feature column is left")
    if "" in features:
        what = f"column {names.index('') + 1} has no name (a saved row index?)"
        hint = "name it in the header, or leave it out (--drop '')"
        raise TableError(path, [Obstacle("no name", what, hint, remedy={"drop": [""]})])
    return target, features


def _check_aside(path: Path, names: list[str], target: str | None, choice: Choice) -> None:
    """Refuse weights, groups and times that are no column, or one with another part to play."""
    taken = {name: "taken as categories" for name in choice.categories}
    taken |= {name: "dropped" for name in choice.drop}
    if target is not None:
        taken[target] = "the label column"
    for what, name in choice.aside.items():
        part = {"weight": "the weight of the rows", "groups": "their groups", "time": "their time"}
        if name not in names:
            raise fault(path, f"no column {name!r} for {part[what]}{_suggest(name, names)}")
        if name in taken:
            raise fault(path, f"column {name!r} is both {taken[name]} and {part[what]}")
        taken[name] = part[what]


def _target(path: Path, names: list[str], choice: Choice) -> str | None:
    wanted = choice.target
    if wanted is None and not (choice.labels == "none" and choice.columns is not None):
        taken = {*choice.drop, *(choice.columns or ()), *choice.aside.values()}
        found = [name for name in names if name.lower() in LABEL_NAMES and name not in taken]
        if len(found) > 1:
            raise fault(
                path,
                f"{' and '.join(map(repr, found))} could each be the label column; "
                "name one (--target NAME)",
            )
        wanted = found[0] if found else None
    if wanted in choice.drop:
        raise fault(path, f"column {wanted!r} is both the label column and dropped")
    if wanted in names:
        return wanted
    if choice.labels != "required":
        return None
    if wanted is None:
        raise fault(
            path,
            f"no column is called {', '.join(LABEL_NAMES[:-1])} or {LABEL_NAMES[-1]}; name the "
            f"label column (--target NAME){_suggest('', names)}{_header_hint(names)}",
        )
    raise fault(path, f"no label column {wanted!r}{_suggest(wanted, names)}{_header_hint(names)}")


def _suggest(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else f"; the columns are {listing(names)}"


def _header_hint(names: list[str]) -> str:
    data = any(_NUMBER.fullmatch(name.strip()) for name in names)
    return "; the first line looks like data: is the header missing?" if data else ""


def _header(path: Path, delimiter: str) -> list[str]:
    """The columns' names as they stand in the file; none if there is no such line."""
    return next((row for _, row in _csv_rows(path, delimiter)), [])


def _check_separator(path: Path, names: list[str], delimiter: str, choice: Choice) -> None:
    """Refuse a header that other characters separate."""
    if len(names) != 1:
        return
    counts = {mark: names[0].count(mark) for mark in _SEPARATORS if mark != delimiter}
    mark = max(counts, key=lambda mark: counts[mark])
    if counts[mark]:
        what = f"one column, {names[0]!r}: values are separated by {mark!r}"
        hint = f"say so (--sep {mark!r})" if choice.sep is None else f"not by {delimiter!r}"
        remedy = {"sep": mark} if choice.sep is None else None
        raise TableError(path, [Obstacle("", what, hint, 1, remedy)])


def _check_header(path: Path, names: list[str], choice: Choice) -> None:
    """Refuse a first line of numbers that do not name columns."""
    counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
    asked = {choice.target, *(choice.columns or ())}
    if names in counted or asked & set(names):
        return
    if all(_NUMBER.fullmatch(name.strip()) for name in names):
        raise fault(path, "the first line holds numbers, not column names; add a header", 1)


# --- columns to arrays


def _extract(source: _Source, target: str | None, features: list[str], choice: Choice) -> Columns:
    n = source.table.num_rows
    if not n:
        raise fault(source.path, "the table has column names but no rows")
    X = np.empty((n, len(features)))
    obstacles: list[Obstacle] = []
    text: dict[int, NDArray[Any]] = {}
    dates: dict[str, str] = {}
    for j, name in enumerate(features):
        try:
            found = _feature(source, name, choice)
        except Obstacle as obstacle:
            obstacles.append(obstacle)
            continue
        if found.values.dtype == np.float64:
            X[:, j] = found.values
        else:
            text[j] = found.values
        if found.form is not None:
            dates[name] = found.form
    y = None
    if target is not None and choice.labels != "none":
        try:
            y = _labels(source, target, choice.labels)
        except Obstacle as obstacle:
            obstacles.append(obstacle)
    aside = {}
    for what, name in choice.aside.items() if choice.labels != "none" else ():
        try:
            aside[what] = _ASIDE[what](source, name, choice)
        except Obstacle as obstacle:
            obstacles.append(obstacle)
    if obstacles:
        raise TableError(source.path, obstacles)
    numbers = {name: X[:, j] for j, name in enumerate(features) if j not in text}
    codes = () if choice.for_model else _codes(source, numbers, dates)
    if text:
        X = X.astype(object)
        for j, values in text.items():
            X[:, j] = values
    texts = tuple(features[j] for j in text)
    return Columns(X, y, features, target, texts, dates, codes, aside)


@dataclass(frozen=True)
class _Feature:
    """A column of numbers (float64), perhaps from dates of one form, or of text (object)."""

    values: NDArray[Any]
    form: str | None = None


def _codes(
    source: _Source, numbers: Mapping[str, NDArray[np.float64]], dates: Collection[str]
) -> tuple[Obstacle, ...]:
    """Columns of whole numbers that seem to name things rather than to measure them."""
    padded = source.padded(list(numbers))
    return tuple(
        Obstacle(name, f"column {name!r} {what}", hint, remedy={option: [name]})
        for name, values in numbers.items()
        if name not in dates
        for what, hint, option in doubts(name, values, name in padded)
    )


def _decoded(source: _Source, name: str) -> pa.ChunkedArray:
    """A column of the table; dictionary-encoded values are written out."""
    from pyarrow import types

    column = source.table.column(name)
    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def _numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    return any(test(kind) for test in tests)


def _text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A numeric column as float64; missing values are NaN."""
    import pyarrow as pa

    return column.cast(pa.float64(), safe=False).to_numpy()


def _stripped(column: pa.ChunkedArray) -> list[str]:
    return ["" if value is None else value.strip() for value in column.to_pylist()]


def _feature(source: _Source, name: str, choice: Choice) -> _Feature:
    """A column as numbers or text; what is missing is NaN in both."""
    from pyarrow import types

    column = _decoded(source, name)
    named = choice.is_named_text(name)
    if column.null_count == len(column):
        return _gaps_only(name, len(column), named, choice)
    if named:
        return _checked(source, name, _words(name, column, choice), choice)
    if types.is_temporal(column.type):
        return _checked(source, name, _typed_dates(name, column, choice), choice)
    if _numeric(column.type) and name not in choice.date_forms:
        return _checked(source, name, _Feature(np.array(_floats(column))), choice)
    if not _text(column.type):
        raise _strange_type(name, column, choice)
    return _checked(source, name, _of_text(source, name, column, choice), choice)


def _checked(source: _Source, name: str, found: _Feature, choice: Choice) -> _Feature:
    """The column, once it is clear that its gaps are allowed and its numbers finite."""
    numbers = found.values.dtype == np.float64
    if numbers and np.isinf(found.values).any():
        row = int(np.argmax(np.isinf(found.values)))
        what = f"column {name!r} holds {found.values[row]}, which is not finite"
        out = "" if choice.for_model else f", or leave the column {_out(name)}"
        raise Obstacle(name, what, f"replace it{out}", source.place(row), choice.without(name))
    gaps = np.isnan(found.values) if numbers else found.values != found.values
    if gaps.all() and not choice.for_model:
        raise _empty(name, choice)
    if gaps.any() and not choice.may_have_gaps(name):
        raise _missing(source, name, gaps, choice)
    return found


def _missing(source: _Source, name: str, gaps: NDArray[np.bool_], choice: Choice) -> Obstacle:
    count = int(np.count_nonzero(gaps))
    what = f"column {name!r} has a missing value" + (f", the first of {count:,}" * (count > 1))
    if choice.for_model:
        hint = "fill it in, or score with a model trained with --impute"
        remedy = choice.without(name)
    else:
        hint = f"fill it in (or let --impute do so), or leave the column {_out(name)}"
        remedy = {"missing": True}
    return Obstacle(name, what, hint, source.place(int(np.argmax(gaps))), remedy)


def _empty(name: str, choice: Choice) -> Obstacle:
    hint = "the model needs its values" if choice.for_model else f"leave the column {_out(name)}"
    what = f"column {name!r} is empty in every row"
    return Obstacle(name, what, hint, remedy=choice.without(name))


def _gaps_only(name: str, n: int, named_text: bool, choice: Choice) -> _Feature:
    # a model knows such a column from other rows
    if not (choice.for_model and choice.may_have_gaps(name)):
        raise _empty(name, choice)
    return _Feature(np.full(n, np.nan, dtype=object if named_text else np.float64))


def _strange_type(name: str, column: pa.ChunkedArray, choice: Choice) -> Obstacle:
    what = f"column {name!r} has the type {column.type}, not numbers"
    hint = (
        "the model was trained on numbers here, so give a number"
        if choice.for_model
        else f"turn the column into numbers, or leave it {_out(name)}"
    )
    return Obstacle(name, what, hint, remedy=choice.without(name))


def _words(name: str, column: pa.ChunkedArray, choice: Choice) -> _Feature:
    """A column as text, whatever it holds."""
    import pyarrow as pa

    if not _text(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            where = "where the model has text" if choice.for_model else "which is not text"
            what = f"column {name!r} has the type {column.type}, {where}"
            hint = "" if choice.for_model else f"leave the column {_out(name)}"
            raise Obstacle(name, what, hint, remedy=choice.without(name)) from None
    values = np.array(column.to_pylist(), dtype=object)
    values[[word.lower() in _NO_WORD for word in _stripped(column)]] = np.nan
    return _Feature(values)


def _typed_dates(name: str, column: pa.ChunkedArray, choice: Choice) -> _Feature:
    """Dates that the file, or Arrow, takes for such."""
    if choice.dates is True or name in choice.date_forms:
        return _Feature(days_of_arrow(column), ISO)
    example = column.drop_null()[0].as_py()
    raise _dates(name, f"column {name!r} holds dates, such as {example}, not numbers", choice)


def _dates(name: str, what: str, choice: Choice) -> Obstacle:
    if choice.for_model:
        hint = "the model was trained on numbers here, so give a number"
        return Obstacle(name, what, hint, remedy=choice.without(name))
    hint = (
        f"take dates as numbers, days since 1970-01-01 (--dates), or leave the column {_out(name)}"
    )
    return Obstacle(name, what, hint, remedy={"dates": True})


def _of_text(source: _Source, name: str, column: pa.ChunkedArray, choice: Choice) -> _Feature:
    """A column that Arrow takes for text: numbers with gaps, dates, text, or something wrong."""
    words = _stripped(column)
    form = choice.date_forms.get(name)
    if form is not None:
        return _Feature(_days(source, name, words, form, choice), form)
    plain = [choice.number(word) for word in words]
    known = [plain[i] is not None or word.lower() not in _NO_NUMBER for i, word in enumerate(words)]
    strange = [i for i, is_known in enumerate(known) if is_known and plain[i] is None]
    typed_text = source.typed and any(known)  # the file itself says that it is text
    if not strange and not (typed_text and choice.text is True):
        if typed_text and not choice.for_model:
            what = f"column {name!r} has the type {column.type}, not numbers"
            raise _is_text(name, what, words)
        return _Feature(np.array([np.nan if value is None else value for value in plain]))
    if strange:
        _check_decimal(source, name, words, strange, choice)
    if choice.for_model:
        row = strange[0]
        what = f"column {name!r} holds {words[row]!r}, which is not a number"
        hint = "the model was trained on numbers here, so give a number"
        raise Obstacle(name, what, hint, source.place(row), choice.without(name))
    if strange:
        _refuse_numbers(source, name, words, known, strange, choice)
    found = _dates_in_text(source, name, words, known, choice)
    if found is not None:
        return found
    different = {word for word, is_known in zip(words, known, strict=True) if is_known}
    if len(different) > _FEW_VALUES and len(different) > sum(known) / 2:
        raise _identifies(name, len(different), sum(known), words[int(np.argmax(known))])
    if choice.text is not True:
        what = f"column {name!r} holds {words[strange[0]]!r}, which is not a number"
        raise _is_text(name, what, words, source.place(strange[0]))
    return _words(name, column, choice)


def _identifies(name: str, different: int, known: int, word: str) -> Obstacle:
    return Obstacle(
        name,
        f"column {name!r} has {different:,} different values in {known:,} rows, such as {word!r}",
        "these tell rows apart and teach nothing about others; leave the column "
        f"{_out(name)}, or take each as a category (--category {name!r})",
        remedy={"drop": [name]},
    )


def _is_text(name: str, what: str, words: list[str], where: int | str = "") -> Obstacle:
    hint = f"turn the column into numbers (or take text with --one-hot), or leave it {_out(name)}"
    gaps = any(word.lower() in _NO_WORD for word in words)
    return Obstacle(name, what, hint, where, {"text": True, **({"missing": True} if gaps else {})})


def _refuse_numbers(
    source: _Source,
    name: str,
    words: list[str],
    known: list[bool],
    strange: list[int],
    choice: Choice,
) -> None:
    """Refuse a text column that is one of numbers but for how some are written."""
    written = [i for i in strange if _WRITTEN.fullmatch(words[i])]
    total = sum(known)
    numbers = total - len(strange)
    share = (numbers + len(written)) / total
    many = len({word for word, is_known in zip(words, known, strict=True) if is_known})
    if share < (_MOSTLY if many > _FEW_VALUES else _NEARLY_ALL):
        return
    row = strange[0]
    if row in written[:1]:
        what, right = "looks like a number", "write it with digits and a decimal point only"
    else:
        what = f"is not a number, as {numbers:,} of its {total:,} values are"
        right = "correct it"
    raise Obstacle(
        name,
        f"column {name!r} holds {words[row]!r}, which {what}",
        f"{right}, leave the column {_out(name)}, or take every value as a category "
        f"(--category {name!r})",
        source.place(row),
        {"drop": [name]},
    )


def _check_decimal(
    source: _Source, name: str, words: list[str], strange: list[int], choice: Choice
) -> None:
    """Raise where all that is strange has a comma for the decimal point (not for thousands)."""
    found = [words[i] for i in strange]
    if (
        choice.decimal == "."
        and not source.typed
        and all(_COMMA.fullmatch(word) for word in found)
        and not all(_THOUSANDS.fullmatch(word) for word in found)
    ):
        what = f"column {name!r} holds {found[0]!r}, with a decimal comma"
        hint = "say so (--decimal ,), or write numbers with a decimal point"
        raise Obstacle(name, what, hint, source.place(strange[0]), {"decimal": ","})


# --- dates in text


def _dates_in_text(
    source: _Source, name: str, words: list[str], known: list[bool], choice: Choice
) -> _Feature | None:
    """Dates as numbers, if all that is known in the column are dates of one form."""
    rows = [i for i, is_known in enumerate(known) if is_known]
    first = forms_of(words[i] for i in rows[:_SAMPLE])
    forms = [form for form, count in first.items() if count > _MOSTLY * min(len(rows), _SAMPLE)]
    if not forms:
        return None
    different = {words[i] for i in rows}
    days = {form: {word: day_number(word, form) for word in different} for form in forms}
    fits = [form for form in forms if None not in days[form].values()]
    if not fits:
        best = max(forms, key=lambda form: sum(day is not None for day in days[form].values()))
        strange = [i for i in rows if days[best][words[i]] is None]
        share = 1 - len(strange) / len(rows)
        if share < _NEARLY_ALL:
            return None
        what = (
            f"column {name!r} holds {words[strange[0]]!r}, which is not a date such as "
            f"{EXAMPLES[best]}, as {len(rows) - len(strange):,} of its {len(rows):,} values are"
        )
        hint = f"correct it, or leave the column {_out(name)}"
        raise Obstacle(name, what, hint, source.place(strange[0]), {"drop": [name]})
    form = fits[0]
    if any(days[other] != days[form] for other in fits[1:]):
        what = (
            f"column {name!r} holds dates such as {words[rows[0]]!r}, which may be "
            f"{' or '.join(_NAMES[other] for other in fits)}"
        )
        hint = f"write them as 2024-01-31, or leave the column {_out(name)}"
        raise Obstacle(name, what, hint, remedy={"drop": [name]})
    if choice.dates is not True:
        what = f"column {name!r} holds dates, such as {words[rows[0]]!r}, not numbers"
        raise _dates(name, what, choice)
    values = [days[form][word] if known[i] else None for i, word in enumerate(words)]
    return _Feature(np.array(values, dtype=np.float64), form)


def _days(
    source: _Source, name: str, words: list[str], form: str, choice: Choice
) -> NDArray[np.float64]:
    """Dates of a form that is known, as numbers."""
    known: dict[str, float | None] = {word: day_number(word, form) for word in set(words)}
    for row, word in enumerate(words):
        if known[word] is None and word.lower() not in _NO_NUMBER:
            example = EXAMPLES[form]
            what = f"column {name!r} holds {word!r}, which is not a date such as {example}"
            hint = (
                "the model was trained on dates of this form, so give one"
                if choice.for_model
                else f"correct it, or leave the column {_out(name)}"
            )
            raise Obstacle(name, what, hint, source.place(row), choice.without(name))
    return np.array([known[word] for word in words], dtype=np.float64)


def _out(name: str) -> str:
    return f"out (--drop {name!r})"


# --- labels


def _labels(source: _Source, name: str, labels: str) -> NDArray | None:
    column = _decoded(source, name)
    missing = _missing_labels(column)
    if missing.all() and labels == "optional":
        return None
    if missing.any():
        count = int(np.count_nonzero(missing))
        more = f", the first of {count:,}" * (count > 1)
        what = f"the label is missing in column {name!r}{more}"
        hint = "leave such rows out of the file"
        raise Obstacle(name, what, hint, source.place(int(np.argmax(missing))))
    if _text(column.type):
        return _text_labels(source, name, column)
    if not _numeric(column.type):
        what = f"the label column {name!r} has the type {column.type}"
        raise Obstacle(name, what, "labels are numbers or text")
    return _number_labels(source, name, column)


def _missing_labels(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    if _text(column.type):
        column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
    return column.is_null(nan_is_null=True).to_numpy()


def _text_labels(source: _Source, name: str, column: pa.ChunkedArray) -> NDArray:
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy()
    for code, word in enumerate(words):
        # NumPy drops it from the end of a text.
        if "\0" in word:
            row = int(np.argmax(codes == code))
            what = f"the label {word!r} in column {name!r} holds a NUL character"
            raise Obstacle(name, what, "remove it", source.place(row))
        # A stray quotation mark swallows whole rows into one value.
        if "\n" in word:
            row = int(np.argmax(codes == code))
            what = f"the label in column {name!r} runs over several lines"
            raise Obstacle(name, what, "look for a stray quotation mark", source.place(row))
    return np.asarray(words)[codes]


def _number_labels(source: _Source, name: str, column: pa.ChunkedArray) -> NDArray:
    from pyarrow import types

    if types.is_boolean(column.type) or types.is_integer(column.type):
        values = column.to_numpy()
        if values.dtype != np.uint64 or values.max() <= np.iinfo(np.int64).max:
            return values.astype(np.int64)
    values = _floats(column)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        what = f"the label in column {name!r} is {values[row]}, not a finite number"
        raise Obstacle(name, what, "", source.place(row))
    what = label_too_large(values)
    if what:
        place = source.place(int(np.abs(values).argmax()))
        raise Obstacle(name, f"column {name!r}: {what}", "", place)
    return whole_labels(values)


# --- what is known of the rows besides


def _weights(source: _Source, name: str, choice: Choice) -> NDArray[np.float64]:
    column = _complete(source, name, "weight")
    if _text(column.type):
        words = _stripped(column)
        plain = [choice.number(word) for word in words]
        if None in plain:
            row = plain.index(None)
            what = f"column {name!r} holds {words[row]!r}, which is not a number"
            raise Obstacle(name, what, "weights are numbers", source.place(row))
        values = np.array(plain, dtype=np.float64)
    elif _numeric(column.type):
        values = np.array(_floats(column))
    else:
        what = f"column {name!r} has the type {column.type}"
        raise Obstacle(name, what, "weights are numbers")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"column {name!r} holds the weight {values[row]:g}"
        raise Obstacle(name, what, "weights are finite numbers, 0 or more", source.place(row))
    return values


def _groups(source: _Source, name: str, choice: Choice) -> NDArray[Any]:
    return np.asarray(_complete(source, name, "group").to_numpy())


def _times(source: _Source, name: str, choice: Choice) -> NDArray[np.float64]:
    """Numbers as they are, dates as days."""
    from pyarrow import types

    column = _complete(source, name, "time")
    if types.is_temporal(column.type):
        return days_of_arrow(column)
    if _numeric(column.type):
        return np.array(_floats(column))
    words = _stripped(column) if _text(column.type) else []
    try:
        known = [True] * len(words)
        found = _dates_in_text(source, name, words, known, replace(choice, dates=True))
    except Obstacle as obstacle:  # its hint is for features
        raise Obstacle(name, obstacle.what, "write dates as 2024-01-31", obstacle.where) from None
    if found is None:
        what = f"column {name!r} holds neither numbers nor dates"
        hint = "the rows are put in its order, so write dates as 2024-01-31"
        raise Obstacle(name, what, hint, source.place(0))
    return found.values


def _complete(source: _Source, name: str, what: str) -> pa.ChunkedArray:
    """A column in which every row has a value."""
    column = _decoded(source, name)
    missing = _missing_labels(column)
    if missing.any():
        count = int(np.count_nonzero(missing))
        more = f", the first of {count:,}" * (count > 1)
        hint = f"every row needs a {what}"
        place = source.place(int(np.argmax(missing)))
        raise Obstacle(name, f"column {name!r} has a missing value{more}", hint, place)
    return column


_ASIDE = {"weight": _weights, "groups": _groups, "time": _times}


# --- where in a CSV file


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Filled rows of a CSV file, the header among them, with the line each one starts on."""
    with opened(path) as stream:
        reader = csv.reader(_decoded_lines(path, stream), delimiter=delimiter)
        start = 1
        try:
            for row in reader:
                if row:
                    yield start, row
                start = reader.line_num + 1
        except csv.Error:  # Python's reader has limits that Arrow's has not.
            return


def _decoded_lines(path: Path, stream: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise fault(path, "not UTF-8 text; save the file as UTF-8", number) from None


def _csv_line(path: Path, delimiter: str, row: int) -> int | str:
    """Line number of a data row; the row's number if the two readings of the file differ."""
    for i, (line, _) in enumerate(_csv_rows(path, delimiter)):
        if i == row + 1:
            return line
    return f"row {row + 1}"


def _csv_fault(path: Path, delimiter: str, otherwise: str) -> DataFileError:
    """The first line that does not fit the header."""
    header: Sequence[str] | None = None
    try:
        for line, row in _csv_rows(path, delimiter):
            header = header or row
            if len(row) != len(header):
                what = f"{len(row)} values where the header names {len(header)} columns"
                return fault(path, what, line)
    except DataFileError as error:
        return error
    return fault(path, f"not a CSV file ({otherwise})" if header else "the file is empty")
