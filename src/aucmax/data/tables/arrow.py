"""Arrow tables: reading them, their types, and the place of a row in the file."""

from __future__ import annotations

import io
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.digits import ends_within_quotes
from aucmax.data.files import fault
from aucmax.data.remote import RemoteBytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BLOCK_BYTES", "ArrowFile", "InTurn", "Native", "interrupts_kept", "is_binary", "is_numeric",
    "is_text", "place_in", "stacked", "with_constants",
]  # fmt: skip

Kept = str | float | None  # a value that is written beside a score
# a line of a wide table must fit in one block
BLOCK_BYTES = 1 << 24
_CACHED_BYTES = 1 << 18  # so few that they fit in a core's cache
_BYTES_AT_ONCE = 1 << 22  # bytes of numbers


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow table, or an object with its columns, and the place of each row in the file."""

    path: Any
    table: pa.Table | InTurn | SomeRows
    place: Callable[[int], int | str]
    typed: bool = True  # the file declares its types; otherwise Arrow inferred them
    first_words: Callable[[], Mapping[str, Sequence[str]]] = dict  # the first cells by column
    unnamed: bool = False  # whether a column has no name
    kept: pa.Table | None = None  # the columns to keep, as text; by default those of ``table``

    def written(self, name: str) -> list[Kept]:
        """Return a column as in the file: numbers and booleans if the file types them, or text."""
        values = (self.table if self.kept is None else self.kept).column(name).to_pylist()
        return [value if _is_plain(value) else str(value) for value in values]

    def at(self, chosen: NDArray[np.bool_]) -> ArrowFile:
        """Return the same file with only some of the rows, given as a mask (n,)."""
        rows = np.flatnonzero(chosen)
        table = SomeRows(self.table, chosen, len(rows))
        return replace(self, table=table, place=lambda row: self.place(int(rows[row])))


def _is_plain(value: Any) -> bool:
    """Return whether JSON has such values: whole or finite numbers, booleans, text and null."""
    return (
        value is None
        or isinstance(value, int | str)
        or (isinstance(value, float) and math.isfinite(value))
    )


class SomeRows(NamedTuple):
    """Some rows of a table, given as a mask (n,)."""

    table: pa.Table | InTurn
    chosen: NDArray[np.bool_]
    num_rows: int

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        import pyarrow as pa

        return self.table.column(name).filter(pa.array(self.chosen))


class InTurn:
    """Columns of Parquet files, read a few at a time, in the order in which they are requested.

    Reading all at once would take twice the memory of their numbers, and more time.

    Parameters
    ----------
    num_rows : int
    read : callable
        (names) → a table of these columns.
    names : list of str
        The requested columns, in order.
    """

    def __init__(
        self, num_rows: int, read: Callable[[list[str]], pa.Table], names: list[str]
    ) -> None:
        import pyarrow as pa

        self.num_rows, self._read = num_rows, read
        self._names, self._place = names, {name: j for j, name in enumerate(names)}
        self._at_once = max(_BYTES_AT_ONCE // (8 * max(self.num_rows, 1)), pa.cpu_count())
        self._first: int | None = None

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        place = self._place[name]
        first = place - place % self._at_once
        if first != self._first:
            self._table = self._read(self._names[first : first + self._at_once])
            self._first = first
        return self._table.column(name)


def with_constants(table: pa.Table, constants: Mapping[str, Any], names: Sequence[str]) -> pa.Table:
    """Return some columns of a table; those it lacks have one value in all rows, a constant."""
    import pyarrow as pa

    if not set(names) - set(table.column_names):
        return table.select(names)
    stored, n = set(table.column_names), table.num_rows
    return pa.table({
        name: table.column(name) if name in stored else pa.repeat(pa.scalar(constants[name]), n)
        for name in names
    })  # fmt: skip


def stacked(files: Sequence[Any], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the tables of files, which have the same columns, as one table.

    Raises
    ------
    DataFileError
        If the types of a column in these files are not compatible.
    """
    import pyarrow as pa

    if len(tables) == 1:
        return tables[0]
    columns = {}
    for name in tables[0].column_names:
        parts = [table.select([name]) for table in tables]
        kinds = [part.schema.field(0).type for part in parts]
        if len(set(kinds)) > 1:
            parts = [_plain(part, any(map(is_float, kinds))) for part in parts]
        try:
            columns[name] = pa.concat_tables(parts, promote_options="permissive").column(name)
        except MemoryError:  # an ArrowException may be one
            raise
        except pa.ArrowException:
            k = next(k for k, kind in enumerate(kinds) if kind != kinds[0])
            raise fault(
                files[k], f"column {name!r} has the type {kinds[k]}, but {kinds[0]} in {files[0]}; "
                "write both alike"
            ) from None  # fmt: skip
    return pa.table(columns)


def _plain(table: pa.Table, as_float: bool) -> pa.Table:
    """Return a table of one column with its words decoded, and its integers perhaps as floats."""
    import pyarrow as pa
    from pyarrow import types

    column = table.column(0)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if as_float and types.is_integer(column.type):  # beyond 2⁵³ rounded as when read from text
        column = column.cast(pa.float64(), safe=False)
    return pa.table({table.column_names[0]: column})


def place_in(
    files: Sequence[Any], sizes: Sequence[int], places: Sequence[Callable[[int], int | str]]
) -> Callable[[int], int | str]:
    """Return a function from a row of several files to its place, given one for each file."""
    if len(files) == 1:
        return places[0]
    ends = np.cumsum(sizes)

    def place(row: int) -> str:
        k = int(np.searchsorted(ends, row, side="right"))
        where = places[k](row - int(ends[k]) + sizes[k])
        return f"{f'line {where}' if isinstance(where, int) else where} of {files[k]}"

    return place


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Return a context in which Ctrl-C waits until Arrow has read a CSV file.

    Arrow's own handler would stop at once, but loses a Ctrl-C that arrives just as reading ends. It
    is on again afterwards: there is no way to learn whether it was on before.
    """
    import pyarrow as pa

    pa.enable_signal_handlers(False)
    try:
        yield
    finally:
        pa.enable_signal_handlers(True)


class Native:
    """A file for Arrow to read, and whether it is large, contains quotes, or numbers such as 0x1F.

    Arrow's threads may still hold the file when Python exits. Releasing a Python stream then would
    abort the process with "terminate called".

    Parameters
    ----------
    stream : BufferedReader
        The unpacked bytes.
    watch : str, optional
        The separator of a CSV file in which to look for quotes and 0x. In a large file, quotes only
        count if a line ends within them: then Arrow cannot parse blocks independently.
    """

    def __init__(self, stream: io.BufferedReader, watch: str | None = None) -> None:
        import pyarrow as pa

        self.hexadecimal = self.quoted = False
        self.large = True  # perhaps
        end = b""
        raw = getattr(stream, "raw", None)
        if isinstance(raw, RemoteBytes) and raw.seekable():
            self.quoted = True  # perhaps
            raw.seek(0)  # its first bytes may have been looked at
            self.file = pa.PythonFile(_Watched(self, raw) if watch else raw, "r")
            return
        plain = isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
        self.large = isinstance(raw, io.FileIO) and os.fstat(raw.fileno()).st_size > BLOCK_BYTES
        buffer, state = None if plain else pa.BufferOutputStream(), (ord("\n"), 0)
        while (watch or not plain) and (chunk := stream.read(_CACHED_BYTES)):
            if watch:
                self.hexadecimal |= _has_hexadecimal(end, chunk)
                if self.large and not self.quoted:
                    text = np.frombuffer(chunk, np.uint8)
                    self.quoted, state = ends_within_quotes(text, ord(watch), state)
                self.quoted = self.quoted or (not self.large and b'"' in chunk)
            end = chunk[-1:]
            if buffer is not None:
                buffer.write(chunk)
        self.file = (
            pa.OSFile(str(stream.name)) if buffer is None else pa.BufferReader(buffer.getvalue())
        )


class _Watched(io.RawIOBase):
    """Bytes that are read once, in order, and searched for 0x."""

    def __init__(self, native: Native, raw: io.RawIOBase) -> None:
        self.native, self.raw, self.end = native, raw, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        piece = self.raw.read(size) or b""
        self.native.hexadecimal |= _has_hexadecimal(self.end, piece)
        self.end = piece[-1:]
        return piece


def _has_hexadecimal(before: bytes, text: bytes) -> bool:
    """Return whether a text, preceded by another, contains 0x; ``find`` would be far slower."""
    if b"x" not in text and b"X" not in text:
        return False
    letters = np.frombuffer(before + text, np.uint8)
    return bool((((letters[1:] | 0x20) == ord("x")) & (letters[:-1] == ord("0"))).any())


def is_numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    return any(test(kind) for test in tests)


def is_float(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind))


def is_boolean(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_binary(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind))
