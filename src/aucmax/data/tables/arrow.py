"""Arrow tables: how they are read, their types, and the place of a row in the file."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

__all__ = ["BLOCK_BYTES", "ArrowFile", "InTurn", "Native", "is_binary", "is_numeric", "is_text"]

# A line of a wide table must fit in one block.
BLOCK_BYTES = 1 << 24
_BYTES_AT_ONCE = 1 << 22  # bytes of numbers


@dataclass(frozen=True)
class ArrowFile:
    """An Arrow table, or an object with its columns, and the place of each row in the file."""

    path: Path
    table: pa.Table | InTurn | SomeRows
    place: Callable[[int], int | str]
    typed: bool = True  # the file declares its types; otherwise Arrow inferred them
    first_words: Callable[[], Mapping[str, Sequence[str]]] = dict  # of columns, as they are written
    unnamed: bool = False  # whether a column has no name
    kept: pa.Table | None = None  # of text; by default the columns of ``table``, written out

    def written(self, name: str) -> list[str | None]:
        """Return the text of a column; None where a value is missing."""
        values = (self.table if self.kept is None else self.kept).column(name).to_pylist()
        return [value if value is None else str(value) for value in values]

    def at(self, chosen: NDArray[np.bool_]) -> ArrowFile:
        """Return the same with some of the rows, given as a mask (n,)."""
        rows = np.flatnonzero(chosen)
        table = SomeRows(self.table, chosen, len(rows))
        return replace(self, table=table, place=lambda row: self.place(int(rows[row])))


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
    """Columns of a Parquet file, read a few at a time, in the order in which they are requested.

    All at once would take twice the memory of their numbers, and longer.

    Parameters
    ----------
    file : ParquetFile
    groups : list of int
        Row groups.
    names : list of str
        The requested columns, in order.
    """

    def __init__(self, file: parquet.ParquetFile, groups: list[int], names: list[str]) -> None:
        import pyarrow as pa

        self.num_rows = sum(file.metadata.row_group(k).num_rows for k in groups)
        self._read = partial(file.read_row_groups, groups)
        self._names, self._place = names, {name: j for j, name in enumerate(names)}
        self._at_once = max(_BYTES_AT_ONCE // (8 * max(self.num_rows, 1)), pa.cpu_count())
        self._first: int | None = None

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        place = self._place[name]
        first = place - place % self._at_once
        if first != self._first:
            self._table = self._read(columns=self._names[first : first + self._at_once])
            self._first = first
        return self._table.column(name)


class Native:
    """A file that Arrow reads itself, and whether it contains quotes, or 0x, a number for Arrow.

    Arrow's threads may still hold the file when Python ends. Releasing a Python stream then would
    end the process with "terminate called".

    Parameters
    ----------
    stream : BufferedReader
        The bytes, unpacked.
    watch : bool
        Whether to look for them.
    """

    def __init__(self, stream: io.BufferedReader, watch: bool = False) -> None:
        import pyarrow as pa

        raw = getattr(stream, "raw", None)
        plain = isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
        kept = None if plain else pa.BufferOutputStream()
        self.hexadecimal = self.quoted = False
        end = b""
        while (watch or not plain) and (chunk := stream.read(BLOCK_BYTES)):
            self.hexadecimal |= watch and _has_hexadecimal(end, chunk)
            self.quoted = self.quoted or (watch and b'"' in chunk)
            end = chunk[-1:]
            if kept is not None:
                kept.write(chunk)
        self.file = (
            pa.OSFile(str(stream.name)) if kept is None else pa.BufferReader(kept.getvalue())
        )


def _has_hexadecimal(before: bytes, text: bytes) -> bool:
    """Return whether a text, after another one, has an x after a 0; ``find`` is far slower."""
    letters = np.frombuffer(text, np.uint8)
    places = np.flatnonzero((letters | 0x20) == ord("x"))
    at_start = before == b"0" and text[:1] in (b"x", b"X")
    return at_start or bool((letters[places[places > 0] - 1] == ord("0")).any())


def is_numeric(kind: pa.DataType) -> bool:
    from pyarrow import types

    tests = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    return any(test(kind) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_binary(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_binary(kind))
