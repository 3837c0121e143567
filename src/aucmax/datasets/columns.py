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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.files import fault, opened
from aucmax.datasets.svmlight import label_too_large, whole_labels
from aucmax.datasets.transforms import listing
from aucmax.errors import DataFileError

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
_MISSING = ("", "na", "n/a", "nan", "null", "none")
# Where missing values are taken: "none" may be a category, and UCI's files have "?".
_NO_NUMBER = (*_MISSING, "?")
_NO_WORD = ("", "na", "n/a", "nan", "null", "?")
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
    missing: bool = False
    categories: tuple[str, ...] = ()

    @property
    def mixed(self) -> bool:
        """Whether text or missing values are taken."""
        return bool(self.text) or self.missing or bool(self.categories)

    @property
    def for_model(self) -> bool:
        """Whether a model says which columns are read, so that none can be left out."""
        return self.columns is not None

    def is_named_text(self, name: str) -> bool:
        """Whether a column is text because the caller says so, whatever it holds."""
        return name in self.categories or (isinstance(self.text, tuple) and name in self.text)


@dataclass(frozen=True)
class Columns:
    """Rows, labels, the names the columns had, and which of them are text."""

    X: NDArray[Any]
    y: NDArray | None
    feature_names: list[str]
    target: str | None
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Source:
    """An Arrow table and how to say where in the file a row of it stands."""

    path: Path
    table: pa.Table
    place: Callable[[int], int | str]
    typed: bool = True  # the file says what is text; otherwise Arrow took it for text


def read_csv(path: Path, delimiter: str, choice: Choice) -> Columns:
    """Rows and labels of a CSV file whose first line names the columns."""
    import pyarrow as pa
    from pyarrow import csv as pa_csv

    try:
        with opened(path) as stream:
            native = _Native(stream, watch=True)
            table = pa_csv.read_csv(
                native.file,
                pa_csv.ReadOptions(block_size=_BLOCK_BYTES),
                pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(column_types=_text_types(choice)),
            )
        names = table.column_names
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _csv_fault(path, delimiter, str(error)) from None
    _check_header(path, names, choice)
    target, features = _choose(path, names, choice)
    kinds = table.select([*features, *([target] if target else [])]).schema.types
    # Arrow takes text that is not UTF-8 for bytes.
    if any(pa.types.is_binary(kind) for kind in kinds):
        raise _csv_fault(path, delimiter, "bytes that are not text")
    if native.hexadecimal:
        _refuse_hexadecimal(path, delimiter, table, [*features, *([target] if target else [])])
    source = _Source(path, table, lambda row: _csv_line(path, delimiter, row), typed=False)
    return _extract(source, target, features, choice)


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


def _text_types(choice: Choice) -> dict[str, Any] | None:
    """The type of the columns known to be text, so that "01" stays what it is."""
    import pyarrow as pa

    named = (*choice.categories, *(choice.text if isinstance(choice.text, tuple) else ()))
    return {name: pa.string() for name in named} or None


def read_parquet(path: Path, choice: Choice) -> Columns:
    """Rows and labels of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with opened(path) as stream, parquet.ParquetFile(_Native(stream).file) as file:
            names = [n for n in file.schema_arrow.names if not _PANDAS_INDEX.fullmatch(n)]
            target, features = _choose(path, names, choice)
            table = file.read(columns=[*features, *([target] if target else [])])
        return _extract(
            _Source(path, table, lambda row: f"row {row + 1}"), target, features, choice
        )
    except pa.ArrowException as error:
        raise fault(path, f"not a readable Parquet file ({error}); write it again") from None
    except UnicodeDecodeError:
        what = "a column's name or text is not UTF-8; write the file again"
        raise fault(path, what) from None


# --- which columns


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
    if choice.columns is not None:
        missing = [name for name in choice.columns if name not in counts]
        if missing:
            have = _suggest(missing[0], names)
            raise fault(path, f"columns the model needs are missing: {listing(missing)}{have}")
        return target, list(choice.columns)
    left_out = {target, choice.target, *choice.drop}
    features = [name for name in names if name not in left_out]
    if not features:
        raise fault(path, "no feature column is left")
    if "" in features:
        raise fault(
            path,
            f"column {names.index('') + 1} has no name (a saved row index?); name it in the "
            "header, or leave it out (--drop '')",
        )
    return target, features


def _target(path: Path, names: list[str], choice: Choice) -> str | None:
    wanted = choice.target
    if wanted is None and not (choice.labels == "none" and choice.columns is not None):
        taken = {*choice.drop, *(choice.columns or ())}
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


def _check_header(path: Path, names: list[str], choice: Choice) -> None:
    """Refuse other separators, and a first line of numbers that do not name columns."""
    if len(names) == 1 and re.search(r"[;\t|]", names[0]):
        raise fault(path, f"one column, {names[0]!r}: values must be separated by commas", 1)
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
    read = _mixed if choice.mixed else _feature
    found: list[NDArray[Any]] = []
    X = np.empty((n, len(features)))
    for j, name in enumerate(features):
        values = read(source, name, choice)
        if values.dtype == np.float64:
            X[:, j] = values
        else:
            found.append(values)
    text = tuple(name for name in features if _is_text(source, name, choice))
    if text:
        X = X.astype(object)
        for name, values in zip(text, found, strict=True):
            X[:, features.index(name)] = values
    y = (
        None
        if target is None or choice.labels == "none"
        else _labels(source, target, choice.labels)
    )
    return Columns(X, y, features, target, text)


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


def _feature(source: _Source, name: str, choice: Choice) -> NDArray[np.float64]:
    column = _decoded(source, name)
    if column.null_count == len(column):
        raise _empty(source, name, choice)
    if not _numeric(column.type):
        raise _not_numeric(source, name, column, choice)
    values = _floats(column)
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise _bad_value(source, name, row, values[row], choice)
    return values


def _empty(source: _Source, name: str, choice: Choice) -> DataFileError:
    hint = (
        "; the model needs its values" if choice.for_model else f"; leave the column {_out(name)}"
    )
    return fault(source.path, f"column {name!r} is empty in every row{hint}")


def _is_text(source: _Source, name: str, choice: Choice) -> bool:
    """Whether a column is to be read as text: as the caller says, or as the file has it."""
    if choice.is_named_text(name):
        return True
    if isinstance(choice.text, tuple):
        return False
    column = _decoded(source, name)
    if not choice.text or not _text(column.type):
        return False
    if source.typed:
        return True
    # in CSV a word such as "None" among numbers stands for a missing one
    known = [word for word in _stripped(column) if word.lower() not in _NO_NUMBER]
    return not known or not all(_NUMBER.fullmatch(word) for word in known)


def _stripped(column: pa.ChunkedArray) -> list[str]:
    return ["" if value is None else value.strip() for value in column.to_pylist()]


def _mixed(source: _Source, name: str, choice: Choice) -> NDArray[Any]:
    """A column of numbers (float64) or of text (object); what is missing is NaN in both."""
    column = _decoded(source, name)
    if column.null_count == len(column):
        # a model knows such a column from other rows
        if choice.columns is None or not choice.missing:
            raise _empty(source, name, choice)
        kind = object if _is_text(source, name, choice) else np.float64
        return np.full(len(column), np.nan, dtype=kind)
    as_text = _is_text(source, name, choice)
    if as_text and not choice.is_named_text(name):
        _refuse_numbers(source, name, column, choice)
    values, missing = (_words if as_text else _numbers)(source, name, column, choice)
    if missing.any() and not choice.missing:
        row = int(np.argmax(missing))
        raise _bad_value(source, name, row, None, choice)
    if missing.all() and choice.columns is None:
        raise _empty(source, name, choice)
    return values


def _refuse_numbers(source: _Source, name: str, column: pa.ChunkedArray, choice: Choice) -> None:
    """Refuse a text column that is one of numbers but for how some are written."""
    words = _stripped(column)
    plain = [_NUMBER.fullmatch(word) is not None for word in words]
    known = [plain[i] or word.lower() not in _NO_NUMBER for i, word in enumerate(words)]
    strange = [i for i, word in enumerate(words) if known[i] and not plain[i]]
    if not strange:
        return
    written = [i for i in strange if _WRITTEN.fullmatch(words[i])]
    total = sum(known)
    numbers = sum(plain)
    share = (numbers + len(written)) / total
    many = len({word for i, word in enumerate(words) if known[i]}) > _FEW_VALUES
    if share < (_MOSTLY if many else _NEARLY_ALL):
        return
    row = strange[0]
    if row in written[:1]:
        what = "looks like a number; write it with digits and a decimal point only"
    else:
        what = f"is not a number, as {numbers:,} of its {total:,} values are; mend it"
    raise fault(
        source.path,
        f"column {name!r} holds {words[row]!r}, which {what}, leave the column {_out(name)}, or "
        f"take every value as a category (--category {name!r})",
        source.place(row),
    )


def _words(
    source: _Source, name: str, column: pa.ChunkedArray, choice: Choice
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A text column, and where it is missing."""
    import pyarrow as pa

    if not _text(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            where = "where the model has text" if choice.for_model else "which is not text"
            what = f"column {name!r} has the type {column.type}, {where}"
            raise fault(source.path, what) from None
    values = np.array(column.to_pylist(), dtype=object)
    missing = np.array([word.lower() in _NO_WORD for word in _stripped(column)])
    values[missing] = np.nan
    return values, missing


def _numbers(
    source: _Source, name: str, column: pa.ChunkedArray, choice: Choice
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column of numbers, and where it is missing."""
    if _text(column.type):
        values = np.full(len(column), np.nan)
        for row, word in enumerate(_stripped(column)):
            if _NUMBER.fullmatch(word):
                values[row] = float(word)
            elif word.lower() not in _NO_NUMBER:
                raise _bad_value(source, name, row, word, choice)
    elif _numeric(column.type):
        values = np.array(_floats(column))
    else:
        raise _not_numeric(source, name, column, choice)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise _bad_value(source, name, row, float(values[row]), choice)
    return values, np.isnan(values)


def _bad_value(source: _Source, name: str, row: int, value: Any, choice: Choice) -> DataFileError:
    """The error for a value that is missing, not finite, or no number."""
    if value is None or str(value).strip().lower() in _MISSING:
        if choice.for_model:
            hint = "fill it in, or score with a model trained with --impute"
        else:
            hint = f"fill it in (or let --impute do so), or leave the column {_out(name)}"
        what = f"column {name!r} has a missing value; {hint}"
    elif isinstance(value, float) or str(value).strip().lower().lstrip("+-").startswith("inf"):
        out = "" if choice.for_model else f", or leave the column {_out(name)}"
        what = f"column {name!r} holds {value}, which is not finite; replace it{out}"
    else:
        what = f"column {name!r} holds {value!r}, which is not a number; {_encode(name, choice)}"
    return fault(source.path, what, source.place(row))


def _not_numeric(
    source: _Source, name: str, column: pa.ChunkedArray, choice: Choice
) -> DataFileError:
    from pyarrow import types

    if _text(column.type):
        for row, scalar in enumerate(column):
            value = scalar.as_py()
            if value is None or not _NUMBER.fullmatch(value.strip()):
                return _bad_value(source, name, row, value, choice)
    hint = _encode(name, choice)
    if types.is_temporal(column.type) and not choice.for_model:
        hint = f"turn it into numbers, such as days since a date, or leave it {_out(name)}"
    return fault(source.path, f"column {name!r} has the type {column.type}, not numbers; {hint}")


def _encode(name: str, choice: Choice) -> str:
    """What to do about a column that is not numbers."""
    if choice.for_model:
        return "the model was trained on numbers here, so give a number"
    if choice.text is True:
        return f"turn the column into numbers, or leave it {_out(name)}"
    return f"turn the column into numbers (or take text with --one-hot), or leave it {_out(name)}"


def _out(name: str) -> str:
    return f"out (--drop {name!r})"


# --- labels


def _labels(source: _Source, name: str, labels: str) -> NDArray | None:
    column = _decoded(source, name)
    missing = _missing_labels(column)
    if missing.all() and labels == "optional":
        return None
    if missing.any():
        row = int(np.argmax(missing))
        raise fault(source.path, f"the label is missing in column {name!r}", source.place(row))
    if _text(column.type):
        return _text_labels(source, name, column)
    if not _numeric(column.type):
        raise fault(
            source.path,
            f"the label column {name!r} has the type {column.type}; labels are numbers or text",
        )
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
            what = f"the label {word!r} in column {name!r} holds a NUL character; remove it"
            raise fault(source.path, what, source.place(row))
        # A stray quotation mark swallows whole rows into one value.
        if "\n" in word:
            row = int(np.argmax(codes == code))
            raise fault(
                source.path,
                f"the label in column {name!r} runs over several lines; look for a stray "
                "quotation mark",
                source.place(row),
            )
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
        raise fault(source.path, what, source.place(row))
    what = label_too_large(values)
    if what:
        place = source.place(int(np.abs(values).argmax()))
        raise fault(source.path, f"column {name!r}: {what}", place)
    return whole_labels(values)


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
