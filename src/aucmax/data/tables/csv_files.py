"""CSV files, and the line on which each row starts."""

from __future__ import annotations

import csv
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn.utils import Bunch

from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import needs
from aucmax.data.files import fault, opened
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.reading import NUMBER, Reading
from aucmax.data.tables.arrow import BLOCK_BYTES, ArrowFile, Native, is_binary
from aucmax.data.tables.extract import extract
from aucmax.data.tables.wanted import choose, columns_used

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_columns", "read_csv"]

_SEPARATORS = ";\t|,"
_FIRST_LINES = 1000  # lines that show how values are written


def read_csv(path: Path, delimiter: str, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Return rows and labels of a CSV file whose first line names the columns."""
    reading, delimiter = reading.trimmed(), reading.sep or delimiter
    raw = _header(path, delimiter)
    _check_separator(path, raw, delimiter, reading)
    table, hexadecimal = _arrow_table(path, delimiter, raw, reading)
    names = table.column_names
    _check_header(path, names, reading)
    target, features = choose(path, names, reading)
    used = columns_used(target, features, reading)
    kinds = table.select(used).schema.types
    # Arrow reads text that is not UTF-8 as bytes.
    if any(is_binary(kind) for kind in kinds):
        raise _csv_fault(path, delimiter, "bytes that are not text")
    if hexadecimal:
        _refuse_hexadecimal(path, delimiter, table, used)
    source = ArrowFile(
        path,
        table,
        lambda row: _csv_line(path, delimiter, row),
        typed=False,
        first_words=functools.cache(lambda: _first_words(path, delimiter, names)),
    )
    return extract(source, target, features, reading)


def csv_columns(path: Path, delimiter: str) -> list[str]:
    """Return the names of the columns of a CSV file."""
    return [name.strip() for name in _header(path, delimiter)]


def _arrow_table(
    path: Path, delimiter: str, raw: list[str], reading: Reading
) -> tuple[pa.Table, bool]:
    """Return the Arrow table, with stripped column names, and whether the file contains 0x."""
    pa = needs("pyarrow", "a CSV file")
    from pyarrow import csv as pa_csv

    # text and dates are kept as written, such as "01"
    as_written = {name for name, one in reading.declared.items() if one.is_text or one.is_days}
    as_text = {name: pa.string() for name in raw if name.strip() in as_written}
    try:
        with opened(path) as stream:
            native = Native(stream, watch=True)
            table = pa_csv.read_csv(
                native.file,
                pa_csv.ReadOptions(block_size=BLOCK_BYTES),
                pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                pa_csv.ConvertOptions(column_types=as_text or None, decimal_point=reading.decimal),
            )
        table = table.rename_columns([name.strip() for name in table.column_names])
        return table, native.hexadecimal
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise _csv_fault(path, delimiter, str(error)) from None


def _first_words(path: Path, delimiter: str, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each column in the first lines, as they are written."""
    lines = itertools.islice(_csv_rows(path, delimiter), 1, _FIRST_LINES)
    return dict(zip(names, zip(*(row for _, row in lines), strict=False), strict=False))


def _refuse_hexadecimal(path: Path, delimiter: str, table: pa.Table, used: list[str]) -> None:
    """Raise DataFileError if a column of integers has a value such as 0x10."""
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


def _header(path: Path, delimiter: str) -> list[str]:
    """Return the column names as written in the file; none if it is empty."""
    return next((row for _, row in _csv_rows(path, delimiter)), [])


def _check_separator(path: Path, names: list[str], delimiter: str, reading: Reading) -> None:
    """Refuse a header with another separator."""
    if len(names) != 1:
        return
    counts = {mark: names[0].count(mark) for mark in _SEPARATORS if mark != delimiter}
    mark = max(counts, key=lambda mark: counts[mark])
    if counts[mark]:
        what = f"one column, {names[0]!r}: values are separated by {mark!r}"
        hint = f"say so (sep={mark!r})" if reading.sep is None else f"not by {delimiter!r}"
        remedy = {"sep": mark} if reading.sep is None else None
        raise TableError(path, [Obstacle("", what, hint, 1, remedy)])


def _check_header(path: Path, names: list[str], reading: Reading) -> None:
    """Refuse a first line that is data, not a header."""
    counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
    asked = {reading.target, *(reading.names or ())}
    if names in counted or asked & set(names):
        return
    if all(NUMBER.fullmatch(name.strip()) for name in names):
        raise fault(path, "the first line holds numbers, not column names; add a header", 1)


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty rows of a CSV file, header included, with the line each one starts on."""
    with opened(path) as stream:
        reader = csv.reader(_decoded_lines(path, stream), delimiter=delimiter)
        start = 1
        try:
            for row in reader:
                if row:
                    yield start, row
                start = reader.line_num + 1
        except csv.Error:  # Python's reader has limits that Arrow's does not.
            return


def _decoded_lines(path: Path, stream: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise fault(path, "not UTF-8 text; save the file as UTF-8", number) from None


def _csv_line(path: Path, delimiter: str, row: int) -> int | str:
    """Return the line of a data row, or its row number if Python and Arrow disagree on lines."""
    for i, (line, _) in enumerate(_csv_rows(path, delimiter)):
        if i == row + 1:
            return line + getattr(path, "lines_before", 0)  # of a block
    return f"row {row + 1}"


def _csv_fault(path: Path, delimiter: str, otherwise: str) -> DataFileError:
    """Return the error of the first line that does not fit the header."""
    header: Sequence[str] | None = None
    try:
        for line, row in _csv_rows(path, delimiter):
            header = header or row
            if len(row) != len(header):
                what = f"{len(row)} values where the header names {len(header)} columns"
                return fault(path, what, line)
    except DataFileError as error:
        return error
    with opened(path) as stream:  # Python's reader fails at a lone carriage return
        blank = header is None and not stream.read(BLOCK_BYTES).strip()
    return fault(path, "the file is empty" if blank else f"not a CSV file ({otherwise})")
