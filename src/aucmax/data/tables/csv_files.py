"""CSV files, and the line on which each row starts."""

from __future__ import annotations

import codecs
import csv
import functools
import io
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import needs
from aucmax.basics.visible import counted
from aucmax.data.bunch import Bunch
from aucmax.data.columns import NO_NUMBER
from aucmax.data.decisions import Decision
from aucmax.data.files import Block, columns_of, constants_of, fault, files_of, opened
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.reading import FIRST_ROWS, NUMBER, Reading
from aucmax.data.tables.arrow import (
    BLOCK_BYTES,
    ArrowFile,
    Native,
    interrupts_kept,
    is_binary,
    is_text,
    place_in,
    stacked,
    with_constants,
)
from aucmax.data.tables.column import NEARLY_ALL, Distinct
from aucmax.data.tables.dialect import WESTERN, as_written, distinct
from aucmax.data.tables.extract import extract
from aucmax.data.tables.uneven import LEFT_OUT, Oddity, evened, obstacles_of_lines, told_of_lines
from aucmax.data.tables.wanted import check_others, choose, columns_used

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["csv_columns", "first_lines", "read_csv"]

_SEPARATORS = ";\t|,"
_MAY_HAVE_HEXADECIMAL = {"0x": "somewhere"}  # metadata of a table


def read_csv(path: Any, delimiter: str, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Return rows and labels of a CSV file whose first line names the columns."""
    files = files_of(path)
    reading, decisions = as_written(files[0], delimiter, reading.trimmed())
    texts = [_Text.of(file, delimiter, reading) for file in files]
    texts, as_kept, strange, uneven = _even_tables(texts, reading)
    decisions += [decision for decision in strange if not decision.column]
    tables = as_kept
    for file, table in zip(files, tables, strict=True):
        _check_header(file, table.column_names, reading)
    names = [
        columns_of(file, table.column_names) for file, table in zip(files, tables, strict=True)
    ]
    target, features = choose(path, names[0], reading)
    reading_alone = replace(reading, keep=())
    used = columns_used(target, features, reading_alone)
    check_others(files, names, reading)
    if set(used) & set(reading.keep):  # read again, since text does not show their kinds
        tables, strange = _arrow_tables(texts, reading_alone)
    for text, table in zip(texts, tables, strict=True):
        if any(is_binary(field.type) for field in table.schema if field.name in used):
            raise text.fault("bytes that are not text")
        if table.schema.metadata:
            _refuse_hexadecimal(text, table, used)
    sizes = [table.num_rows for table in tables]
    places = [partial(text.line, rows=n) for text, n in zip(texts, sizes, strict=True)]
    source = ArrowFile(
        path,
        _stacked(files, tables, used),
        place_in(files, sizes, places),
        typed=False,
        first_words=functools.cache(lambda: texts[0].first_words(tables[0].column_names)),
        unnamed="" in names[0],
        kept=_stacked(files, as_kept, list(reading.keep)) if reading.keep else None,
    )
    rows, doubts = extract(source, target, features, reading, uneven)
    decisions += [decision for decision in strange if decision.column in used]
    rows.decisions = [*decisions, *rows.decisions]
    return rows, doubts


def _stacked(files: Sequence[Any], tables: list[pa.Table], names: list[str]) -> pa.Table:
    """Return columns of the files' tables as one table, with columns from folders' names."""
    pairs = zip(files, tables, strict=True)
    chosen = [with_constants(table, constants_of(file), names) for file, table in pairs]
    return stacked(files, chosen)


def csv_columns(files: Sequence[Any], delimiter: str, reading: Reading) -> list[list[str]]:
    """Return the names of the columns of each CSV file, all read in the dialect of the first."""
    reading, _ = as_written(files[0], delimiter, reading)
    columns = []
    for file in files:
        text = _Text.of(file, delimiter, reading)
        header = text.header()
        if not header:
            raise text.fault("no line")
        text.check_separator(header, reading, files[0])
        columns.append(columns_of(file, text.distinct(header)))
    return columns


def first_lines(path: Any, count: int) -> Block | None:
    """Return the header and first rows of a CSV file; None if they end within a quoted value."""
    with opened(path) as stream:
        text = b"".join(itertools.islice(stream, count + 1))
    return None if text.count(b'"') % 2 else Block(path, 0, len(text), text=text)


def _even_tables(
    texts: list[_Text], reading: Reading
) -> tuple[list[_Text], list[pa.Table], list[Decision], list[Obstacle]]:
    """Return the lines of files, their Arrow tables, and decisions and obstacles about them.

    With `prepare`, rows are made even: all get as many cells as the header. For a strict reader,
    lines that were not even are obstacles.
    """
    try:
        tables, decisions = _arrow_tables(texts, reading)
        if not reading.prepare or not any(map(_may_repeat_header, texts, tables)):
            return texts, tables, decisions, []
        odd = [text.uneven() for text in texts]
    except DataFileError:
        odd = [text.uneven() for text in texts] if reading.prepare else []
        if not any(odd):
            raise
    if any(odd):
        texts = [replace(text, even=True) for text in texts]
        tables, decisions = _arrow_tables(texts, reading)
    if reading.lenient:
        of_lines = [decision for lines in odd for decision in told_of_lines(lines)]
        return texts, tables, [*of_lines, *decisions], []
    names = [text.path if len(texts) > 1 else None for text in texts]
    pairs = zip(odd, names, strict=True)
    obstacles = [obstacle for lines, name in pairs for obstacle in obstacles_of_lines(lines, name)]
    return texts, tables, decisions, obstacles


def _may_repeat_header(text: _Text, table: pa.Table) -> bool:
    """Return whether the cells of a row begin with the names of the columns."""
    import pyarrow.compute as pc

    same, names = None, [name.strip() for name in text.header()]
    if len(names) != table.num_columns:
        return False
    for name, column in zip(names, table.columns, strict=True):
        if is_text(column.type):
            # to compare with a Python object, PyArrow would import pandas
            begins = pc.starts_with(pc.utf8_ltrim_whitespace(column), pattern=name)
            same = begins if same is None else pc.and_(same, begins)
            if not pc.any(same).as_py():
                return False
        elif not (NUMBER.fullmatch(name) or name.lower() in NO_NUMBER):
            return False
    return same is not None


def _arrow_tables(
    texts: Sequence[_Text], reading: Reading
) -> tuple[list[pa.Table], list[Decision]]:
    """Return the Arrow tables of files, with columns of incompatible types as text.

    Also return the decisions about cells that are not UTF-8.
    """
    pa = needs("pyarrow", "a CSV file")
    first = texts[0].path
    tables = [_arrow_table(text, reading, first) for text in texts]
    words = set()
    schemas = [table.schema for table in tables]
    for name in schemas[0].names if len(schemas) > 1 else ():
        fields = [schema.field(name) for schema in schemas if schema.names.count(name) == 1]
        try:
            pa.unify_schemas([pa.schema([field]) for field in fields], promote_options="permissive")
        except pa.ArrowException:
            words.add(name)
    if words:
        tables = [_arrow_table(text, reading, first, words) for text in texts]
    pairs = zip(texts, tables, strict=True)
    in_utf8 = [_in_utf8(text, table, reading.prepare) for text, table in pairs]
    decisions = [decision for _, of_text in in_utf8 for decision in of_text]
    return [table for table, _ in in_utf8], decisions


def _arrow_table(
    text: _Text, reading: Reading, first: Any, words: Collection[str] = ()
) -> pa.Table:
    """Return the Arrow table of one of several files, with stripped names, ``words`` as text."""
    raw = text.header()
    text.check_separator(raw, reading, first)
    names = text.distinct(raw)
    pa = needs("pyarrow", "a CSV file")
    from pyarrow import csv as pa_csv

    # text, dates and strata are kept as written, such as "01"
    as_written = {
        name for name, column in reading.declared.items() if column.is_text or not column.is_number
    }
    as_written.update(reading.keep, words, [reading.strata] if reading.strata else [])
    as_text = [raw_name for raw_name, name in zip(raw, names, strict=True) if name in as_written]
    nulls = pa_csv.ConvertOptions().null_values
    if reading.prepare:
        nulls += {f(word) for word in NO_NUMBER for f in (str, str.upper, str.title)}

    try:
        with text.opened() as stream:
            native = Native(stream, watch=text.sep)
            with nullcontext() if native.large else interrupts_kept():
                table = pa_csv.read_csv(
                    native.file,
                    pa_csv.ReadOptions(
                        block_size=BLOCK_BYTES,
                        encoding=(not text.even and text.encoding) or "utf8",
                        skip_rows=0 if text.even else text.skipped,
                    ),
                    pa_csv.ParseOptions(delimiter=text.sep, newlines_in_values=native.quoted),
                    pa_csv.ConvertOptions(
                        column_types=dict.fromkeys(as_text, pa.binary()) or None,
                        decimal_point=reading.decimal or ".",
                        null_values=nulls,
                    ),
                )
        table = table.rename_columns(text.distinct(table.column_names))
    except MemoryError:  # an ArrowException may be one
        raise
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise text.fault(str(error)) from None
    return table.replace_schema_metadata(_MAY_HAVE_HEXADECIMAL if native.hexadecimal else None)


def _in_utf8(text: _Text, table: pa.Table, lenient: bool) -> tuple[pa.Table, list[Decision]]:
    """Return a table with Arrow's bytes decoded as UTF-8, and the decisions about them.

    A lenient reader decodes cells that are not UTF-8 as Windows' western encoding.
    """
    import pyarrow as pa

    decisions = []
    for j, field in enumerate(table.schema):
        if not is_binary(field.type):
            continue
        column = table.column(j)
        try:
            column = column.cast(pa.string())
        except pa.ArrowInvalid:
            if not lenient:
                continue
            cells = Distinct.of(column)
            texts = cells.words.to_pylist()
            strange = np.array([not _is_utf8(cell) for cell in texts])
            words = [
                cell.decode(WESTERN if odd else "utf-8", "replace")
                for cell, odd in zip(texts, strange, strict=True)
            ]
            column = pa.array(np.array([*words, None], dtype=object)[cells.codes], pa.string())
            row, count = cells.first(strange), cells.rows(strange)
            where = f"{column[row].as_py()!r} (line {text.line(row, table.num_rows)})"
            finding = f"{where} is not UTF-8"
            if count > 1:
                finding = f"{count:,} cells are not UTF-8, the first {where}"
            decisions.append(Decision(field.name, f"{finding}: read as {WESTERN}", doubtful=True))
        table = table.set_column(j, field.name, column)
    return table, decisions


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse_hexadecimal(text: _Text, table: pa.Table, used: list[str]) -> None:
    """Raise DataFileError if a column of integers has a value such as 0x10."""
    from pyarrow import types

    integers = {name for name in used if types.is_integer(table.schema.field(name).type)}
    places = [j for j, name in enumerate(table.column_names) if name in integers]
    for line, row in itertools.islice(text.rows(), 1, None):
        for j in places:
            if j < len(row) and re.fullmatch(r"[+-]?0[xX][0-9a-fA-F]+", row[j].strip()):
                raise fault(
                    text.path,
                    f"column {table.column_names[j]!r} holds {row[j]!r}; write numbers with "
                    "decimal digits",
                    line,
                )


def _check_header(path: Any, names: list[str], reading: Reading) -> None:
    """Raise DataFileError if the first line is data, not a header."""
    counted = [[str(i) for i in range(start, start + len(names))] for start in (0, 1)]
    asked = {reading.target, *(reading.names or ())}
    if names in counted or asked & set(names):
        return
    if all(NUMBER.fullmatch(name.strip()) for name in names):
        raise fault(path, "the first line holds numbers, not column names; add a header", 1)


@dataclass(frozen=True)
class _Text:
    """The lines of a CSV file, for what Arrow does not report.

    Parameters
    ----------
    path : Path
    sep : str
        The separator.
    encoding : str, optional
        By default UTF-8.
    skipped : int
        The number of lines above the header.
    apart : bool
        Whether columns with the same name get distinct names.
    even : bool
        Whether rows are padded or left out so that all have as many cells as the header.
    each_counts : bool
        As for `evened`.
    """

    path: Any
    sep: str
    encoding: str | None = None
    skipped: int = 0
    apart: bool = False
    even: bool = False
    each_counts: bool = False

    @classmethod
    def of(cls, path: Any, mark: str, reading: Reading) -> _Text:
        """Return the text of a file, for a reading whose dialect is decided."""
        skipped = (reading.header or 1) - 1
        each_counts = reading.labels != "required"
        mark, encoding = reading.sep or mark, reading.encoding
        return cls(path, mark, encoding, skipped, reading.prepare, each_counts=each_counts)

    def names(self) -> list[str]:
        """Return the names of the columns."""
        return self.distinct(self.header())

    def distinct(self, header: list[str]) -> list[str]:
        """Return the names of the columns, given the header as written in the file."""
        names = [name.strip() for name in header]
        return distinct(names) if self.apart else names

    def header(self) -> list[str]:
        """Return the column names as written in the file; [] if the file is empty."""
        return next((row for _, row in self.rows()), [])

    def first_words(self, names: list[str]) -> dict[str, tuple[str, ...]]:
        """Return the cells of each column in the first rows, as written in the file."""
        rows = (row for _, row in itertools.islice(self.rows(), 1, 1 + FIRST_ROWS))
        return dict(zip(names, zip(*rows, strict=False), strict=False))

    def check_separator(self, names: list[str], reading: Reading, first: Any) -> None:
        """Raise TableError if the header seems to have another separator."""
        if len(names) != 1:
            return
        counts = {mark: names[0].count(mark) for mark in _SEPARATORS if mark != self.sep}
        mark = max(counts, key=lambda mark: counts[mark])
        if counts[mark]:
            problem = f"one column, {names[0]!r}: values are separated by {mark!r}"
            if self.path is not first:
                hint = f"save it with {self.sep!r} between them, as {first} is"
            else:
                hint = f"say so (sep={mark!r})" if reading.sep is None else f"not by {self.sep!r}"
            remedy = {"sep": mark} if reading.sep is None else None
            raise TableError(self.path, [Obstacle("", problem, hint, 1, remedy)])

    def rows(self, errors: str = "replace") -> Iterator[tuple[int, list[str]]]:
        """Yield the non-empty rows, header included, each with the line on which it starts."""
        header = None
        for line, row in self._as_written(errors):
            even = evened(row, header, self.each_counts)[0] if self.even and header else row
            header = header or row
            if even is not None:
                yield line, even

    def uneven(self) -> list[tuple[int, Oddity]]:
        """Return the line numbers of uneven rows, and what is odd about them.

        Raises
        ------
        DataFileError
            If many rows would be left out, for instance because the separator is wrong.
        """
        rows, header = self._as_written("replace"), self.header()
        oddities = ((line, evened(row, header, self.each_counts)[1]) for line, row in rows)
        odd = [(line, oddity) for line, oddity in oddities if oddity is not None][1:]
        before, total = getattr(self.path, "lines_before", 0) if odd else 0, self._lines()
        if sum(done == LEFT_OUT for _, (_, done) in odd) > (1.0 - NEARLY_ALL) * total:
            raise self.fault("many rows do not fit the header; is a quote left open?")
        return [(line + before, oddity) for line, oddity in odd]

    @contextmanager
    def opened(self) -> Iterator[io.BufferedReader]:
        """Open the bytes of the file, or of its rows after they were made even."""
        if not self.even:
            with opened(self.path) as stream:
                yield stream
            return
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.sep, lineterminator="\n")
        writer.writerows(row for _, row in self.rows("surrogateescape"))
        yield io.BufferedReader(io.BytesIO(text.getvalue().encode("utf-8", "surrogateescape")))

    def _as_written(self, errors: str) -> Iterator[tuple[int, list[str]]]:
        with opened(self.path) as stream:
            lines = itertools.islice(self._decoded(stream, errors), self.skipped, None)
            reader = csv.reader(lines, delimiter=self.sep)
            start = self.skipped + 1
            try:
                for row in reader:
                    if row:
                        yield start, row
                    start = self.skipped + reader.line_num + 1
            except csv.Error as error:  # Python's reader has limits that Arrow's does not
                if self.even:
                    raise fault(self.path, f"not a CSV file ({error})", start) from None

    def _decoded(self, stream: io.BufferedReader, errors: str) -> Iterator[str]:
        if self.encoding is not None:
            yield from codecs.getreader(self.encoding)(stream, "replace")
            return
        for number, line in enumerate(stream, 1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8", errors)
            except UnicodeDecodeError:
                cause = "not UTF-8 text; name its encoding (encoding='cp1252'), or save it as UTF-8"
                raise fault(self.path, cause, number) from None

    def line(self, row: int, rows: int) -> int | str:
        """Return the line of one of ``rows`` data rows, or "row N" if Arrow counts differently."""
        before = getattr(self.path, "lines_before", 0)  # if it is a block
        if (
            not self.even and self._lines() == rows + 1 + self.skipped
        ):  # a header, and a line for each row
            return row + 2 + self.skipped + before
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
        """Return the error for the first line that does not fit the header."""
        header: Sequence[str] | None = None
        try:
            for line, row in self.rows("strict"):
                header = header or row
                if len(row) != len(header):
                    problem = (
                        f"{counted(len(row), 'value')} where the header names "
                        f"{counted(len(header), 'column')}"
                    )
                    if len(row) > len(header):
                        problem += f"; put quotes around a value that contains {self.sep!r}"
                    return fault(self.path, problem, line)
        except DataFileError as error:
            return error
        with opened(self.path) as stream:  # Python's reader fails at a lone carriage return
            blank = header is None and not stream.read(BLOCK_BYTES).strip()
        problem = "the file is empty" if blank else f"not a CSV file ({otherwise})"
        return fault(self.path, problem)
