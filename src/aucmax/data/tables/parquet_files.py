"""Parquet files."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils import Bunch

from aucmax.basics.needs import needs
from aucmax.data.files import RowGroups, fault, opened
from aucmax.data.obstacles import Obstacle
from aucmax.data.reading import Reading
from aucmax.data.tables.arrow import ArrowFile, InTurn, Native
from aucmax.data.tables.extract import extract
from aucmax.data.tables.wanted import choose, columns_used

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

__all__ = ["parquet_columns", "parquet_metadata", "read_parquet", "row_groups", "stored_bytes"]

# pandas stores a row index in Parquet under this name.
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")


def read_parquet(path: Path, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Return rows and labels of a Parquet file, or of some of its row groups."""
    with _readable(path) as file:
        target, features = choose(path, _names(file), reading)
        used = columns_used(target, features, reading)
        if isinstance(path, RowGroups):
            first, groups = path.first, list(path.groups)
        else:
            first, groups = 0, list(range(file.num_row_groups))
        most = path.most if isinstance(path, RowGroups) else None
        table = _first_rows(file, most, used) or InTurn(file, groups, used)
        unnamed = "" in _names(file)
        rows = ArrowFile(path, table, lambda row: f"row {first + row + 1}", unnamed=unnamed)
        return extract(rows, target, features, reading)


def _first_rows(file: parquet.ParquetFile, count: int | None, names: list[str]) -> pa.Table | None:
    """Return up to ``count`` rows of a file; None if there are none, or all are wanted."""
    import pyarrow as pa

    batches = () if count is None else itertools.islice(file.iter_batches(count, columns=names), 1)
    first = list(batches)
    return pa.Table.from_batches(first) if first else None


def parquet_metadata(path: Path) -> parquet.FileMetaData:
    """Return a Parquet file's metadata of its row groups and columns."""
    with _readable(path) as file:
        return file.metadata


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    with _readable(path) as file:
        return _names(file)


def stored_bytes(path: Path, columns: Collection[str]) -> int:
    """Return the number of bytes that these columns take in a Parquet file."""
    about, names = parquet_metadata(path), set(columns)
    chunks = (
        about.row_group(k).column(j)
        for k in range(about.num_row_groups)
        for j in range(about.num_columns)
    )
    return sum(c.total_compressed_size for c in chunks if c.path_in_schema in names)


def row_groups(path: Path, part_bytes: int) -> Iterator[RowGroups]:
    """Yield groups of a file's row groups that hold up to this many bytes of numbers."""
    with _readable(path) as file:
        about, width = file.metadata, 8 * max(len(_names(file)), 1)
        counts = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
    taken: list[int] = []
    first = rows = 0
    for k, count in enumerate(counts):
        if taken and (rows + count) * width > part_bytes:
            yield RowGroups(path, tuple(taken), first)
            first, rows, taken = first + rows, 0, []
        if count:
            taken.append(k)
            rows += count
    if taken:
        yield RowGroups(path, tuple(taken), first)


def _names(file: parquet.ParquetFile) -> list[str]:
    return [name for name in file.schema_arrow.names if not _PANDAS_INDEX.fullmatch(name)]


_FRESH_NANOSECONDS = 10**9  # in which a file may change without a new time stamp
_seen: dict[Any, parquet.FileMetaData] = {}  # of the last file


def _file(path: Path | RowGroups, native: Any) -> parquet.ParquetFile:
    """Open a file; the metadata of many row groups take longer to read than one of them."""
    from pyarrow import parquet

    if isinstance(path, RowGroups):
        path = path.path
    stat = path.stat() if isinstance(path, Path) else None
    if stat is None or time.time_ns() - stat.st_mtime_ns < _FRESH_NANOSECONDS:
        return parquet.ParquetFile(native)
    key = path, stat.st_ino, stat.st_size, stat.st_mtime_ns
    file = parquet.ParquetFile(native, metadata=_seen.get(key))
    if key not in _seen:
        _seen.clear()
        _seen[key] = file.metadata
    return file


@contextmanager
def _readable(path: Path) -> Iterator[parquet.ParquetFile]:
    """Open a Parquet file; raise DataFileError if it is not readable."""
    pa = needs("pyarrow", "a Parquet file")

    try:
        with opened(path) as stream, _file(path, Native(stream).file) as file:
            yield file
    except pa.ArrowException as error:
        raise fault(path, f"not a readable Parquet file ({error}); write it again") from None
    except UnicodeDecodeError:
        what = "a column's name or text is not UTF-8; write the file again"
        raise fault(path, what) from None
