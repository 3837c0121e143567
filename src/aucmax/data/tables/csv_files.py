"""CSV files, and the line on which each row starts."""

from __future__ import annotations

import codecs
import csv
import functools
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn.utils import Bunch

from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import needs
from aucmax.data.columns import NO_NUMBER
from aucmax.data.files import Block, fault, opened
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.reading import NUMBER, Reading
from aucmax.data.tables.arrow import BLOCK_BYTES, ArrowFile, Native, is_binary
from aucmax.data.tables.dialect import WESTERN, as_written
from aucmax.data.tables.extract import extract
from aucmax.data.tables.wanted import choose, columns_used

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_columns", "first_lines", "read_csv"]

_SEPARATORS = ";\t|,"
_FIRST_LINES = 1000  # lines that show how values are written


def read_csv(path: Path, delimiter: str, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Return rows and labels of a CSV file whose first line names the columns."""
    reading, decisions = as_written(path, delimiter, reading.trimmed())
    text = _Text(path, reading.sep or delimiter, reading.encoding)
    raw = text.header()
    text.check_separator(raw, reading)
    table, hexadecimal = _arrow_table(text, raw, reading)
    names = table.column_names
    _check_header(path, names, reading)
    target, features = choose(path, names, reading)
    kept, reading_alone = table, replace(reading, keep=())
    used = columns_used(target, features, reading_alone)
    if set(used) & set(reading.keep):  # their kinds are found in values that are not text
        table, hexadecimal = _arrow_table(text, raw, reading_alone)
    kinds = table.select(used).schema.types
    # Arrow reads text that is not UTF-8 as bytes.
    if any(is_binary(kind) for kind in kinds):
        if reading.prepare and reading.encoding is None:
            return read_csv(path, delimiter, replace(reading, encoding=WESTERN))
        raise text.fault("bytes that are not text")
    if hexadecimal:
        _refuse_hexadecimal(text, table, used)
    source = ArrowFile(
        path,
        table,
        lambda row: text.line(row, table.num_rows),
        typed=False,
        first_words=functools.cache(lambda: text.first_words(names)),
        unnamed="" in names,
        kept=kept,
    )
    rows, doubts = extract(source, target, features, reading)
    rows.decisions = [*decisions, *rows.decisions]
    return rows, doubts


def csv_columns(path: Path, delimiter: str, encoding: str | None = None) -> list[str]:
    """Return the names of the columns of a CSV file."""
    return [name.strip() for name in _Text(path, delimiter, encoding).header()]


def first_lines(path: Path, count: int) -> Block | None:
    """Return the header and the first rows of a CSV file; None if they end in a quoted value."""
    with opened(path) as stream:
        header = stream.readline()
        lines = list(itertools.islice(stream, count))
    text = b"".join(lines)
    if text.count(b'"') % 2:
        return None
    return Block(path, len(header), len(header) + len(text), header, text)


def _arrow_table(text: _Text, raw: list[str], reading: Reading) -> tuple[pa.Table, bool]:
    """Return the Arrow table, with stripped column names, and whether the file contains 0x."""
    pa = needs("pyarrow", "a CSV file")
    from pyarrow import csv as pa_csv

    # text and dates are kept as written, such as "01"
    as_written = {
        name for name, one in reading.declared.items() if one.is_text or not one.is_number
    }
    as_written.update(reading.keep)
    as_text = [name for name in raw if name.strip() in as_written]
    nulls = pa_csv.ConvertOptions().null_values
    if reading.prepare:
        nulls += {f(word) for word in NO_NUMBER for f in (str, str.upper, str.title)}

    try:
        with opened(text.path) as stream:
            native = Native(stream, watch=True)
            table = pa_csv.read_csv(
                native.file,
                pa_csv.ReadOptions(block_size=BLOCK_BYTES, encoding=text.encoding or "utf8"),
                pa_csv.ParseOptions(delimiter=text.sep, newlines_in_values=native.quoted),
                pa_csv.ConvertOptions(
                    column_types=dict.fromkeys(as_text, pa.string()) or None,
                    decimal_point=reading.decimal or ".",
                    null_values=nulls,
                ),
            )
        table = table.rename_columns([name.strip() for name in table.column_names])
        return table, native.hexadecimal
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise text.fault(str(error)) from None


def _refuse_hexadecimal(text: _Text, table: pa.Table, used: list[str]) -> None:
    """Raise DataFileError if a column of integers has a value such as 0x10."""
    from pyarrow import types

    whole = {name for name in used if types.is_integer(table.schema.field(name).type)}
    places = [j for j, name in enumerate(table.column_names) if name in whole]
    for line, row in itertools.islice(text.rows(), 1, None):
        for j in places:
            if j < len(row) and re.fullmatch(r"[+-]?0[xX][0-9a-fA-F]+", row[j].strip()):
                raise fault(
                    text.path,
                    f"column {table.column_names[j]!r} holds {row[j]!r}; write numbers with "
                    "decimal digits",
                    line,
                )


def _check_header(path: Path, names: list[str], reading: Reading) -> None:
    """Refuse a first line that is data, not a header."""
    counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
    asked = {reading.target, *(reading.names or ())}
    if names in counted or asked & set(names):
        return
    if all(NUMBER.fullmatch(name.strip()) for name in names):
        raise fault(path, "the first line holds numbers, not column names; add a header", 1)


@dataclass(frozen=True)
class _Text:
    """The lines of a CSV file, for what Arrow does not tell.

    Parameters
    ----------
    path : Path
    sep : str
        The separator.
    encoding : str, optional
        By default UTF-8.
    """

    path: Path
    sep: str
    encoding: str | None = None

    def header(self) -> list[str]:
        """Return the column names as written in the file; none if it is empty."""
        return next((row for _, row in self.rows()), [])

    def first_words(self, names: list[str]) -> dict[str, tuple[str, ...]]:
        """Return the values of each column in the first lines, as they are written."""
        lines = itertools.islice(self.rows(), 1, _FIRST_LINES)
        return dict(zip(names, zip(*(row for _, row in lines), strict=False), strict=False))

    def check_separator(self, names: list[str], reading: Reading) -> None:
        """Refuse a header with another separator."""
        if len(names) != 1:
            return
        counts = {mark: names[0].count(mark) for mark in _SEPARATORS if mark != self.sep}
        mark = max(counts, key=lambda mark: counts[mark])
        if counts[mark]:
            what = f"one column, {names[0]!r}: values are separated by {mark!r}"
            hint = f"say so (sep={mark!r})" if reading.sep is None else f"not by {self.sep!r}"
            remedy = {"sep": mark} if reading.sep is None else None
            raise TableError(self.path, [Obstacle("", what, hint, 1, remedy)])

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the non-empty rows, header included, with the line each one starts on."""
        with opened(self.path) as stream:
            reader = csv.reader(self._decoded(stream), delimiter=self.sep)
            start = 1
            try:
                for row in reader:
                    if row:
                        yield start, row
                    start = reader.line_num + 1
            except csv.Error:  # Python's reader has limits that Arrow's does not.
                return

    def _decoded(self, stream: io.BufferedReader) -> Iterator[str]:
        if self.encoding is not None:
            yield from codecs.getreader(self.encoding)(stream, "replace")
            return
        for number, line in enumerate(stream, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                what = "not UTF-8 text; name its encoding (encoding='cp1252'), or save it as UTF-8"
                raise fault(self.path, what, number) from None

    def line(self, row: int, rows: int) -> int | str:
        """Return the line of one of some data rows, or "row N" where Arrow counts otherwise."""
        before = getattr(self.path, "lines_before", 0)  # of a block
        if self._lines() == rows + 1:  # a header, and a line for each row
            return row + 2 + before
        for i, (line, _) in enumerate(self.rows()):
            if i == row + 1:
                return line + before
        return f"row {row + 1}"

    def _lines(self) -> int:
        """Return the number of lines."""
        lines, end = 0, b""
        with opened(self.path) as stream:
            while chunk := stream.read(BLOCK_BYTES):
                lines += chunk.count(b"\n")
                end = chunk[-1:]
        return lines + (end != b"\n")

    def fault(self, otherwise: str) -> DataFileError:
        """Return the error of the first line that does not fit the header."""
        header: Sequence[str] | None = None
        try:
            for line, row in self.rows():
                header = header or row
                if len(row) != len(header):
                    what = f"{len(row)} values where the header names {len(header)} columns"
                    return fault(self.path, what, line)
        except DataFileError as error:
            return error
        with opened(self.path) as stream:  # Python's reader fails at a lone carriage return
            blank = header is None and not stream.read(BLOCK_BYTES).strip()
        what = "the file is empty" if blank else f"not a CSV file ({otherwise})"
        return fault(self.path, what)
