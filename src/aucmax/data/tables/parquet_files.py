"""Reading of Parquet files, by row groups or slices of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from aucmax.basics.needs import needs
from aucmax.data.bunch import Bunch
from aucmax.data.files import Mark, RowGroups, columns_of, constants_of, fault, files_of, opened
from aucmax.data.obstacles import Obstacle
from aucmax.data.reading import Reading
from aucmax.data.tables.arrow import ArrowFile, InTurn, Native, place_in, stacked, with_constants
from aucmax.data.tables.extract import extract
from aucmax.data.tables.wanted import check_others, choose, columns_used

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

__all__ = [
    "may_have_gaps", "parquet_columns", "parquet_metadata", "read_parquet", "row_groups",
    "stored_bytes",
]  # fmt: skip

_PAGES_BYTES = 1 << 20  # of each column in memory at once when a slice is read
# pandas stores a row index in Parquet under this name
_PANDAS_INDEX = re.compile(r"__index_level_[0-9]+__")


def read_parquet(path: Any, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Return rows and labels of Parquet files, or of some row groups."""
    files = files_of(path)
    with ExitStack() as stack:
        open_file: Callable[[Any], AbstractContextManager[Any]] = _readable
        if len(files) == 1:  # several may be too many to keep open
            only = nullcontext(stack.enter_context(_readable(path)))
            open_file = {path: only}.__getitem__
        names, sizes = [], []
        for part in files:
            with open_file(part) as file:
                names.append(columns_of(part, _names(file)))
                sizes.append(_count(file, part))
        target, features = choose(path, names[0], reading)
        check_others(files, names, reading)
        used = list(columns_used(target, features, reading))

        def read(columns: list[str]) -> pa.Table:
            tables = []
            for part in files:
                with open_file(part) as file:
                    tables.append(_columns(file, part, columns))
            return stacked(files, tables)

        slices = any(isinstance(part, RowGroups) and part.most is not None for part in files)
        table = read(used) if slices else InTurn(sum(sizes), read, used)
        places = [partial(_row, first=getattr(part, "first", 0)) for part in files]
        rows = ArrowFile(path, table, place_in(files, sizes, places), unnamed="" in names[0])
        return extract(rows, target, features, reading)


def _row(row: int, first: int) -> str:
    return f"row {first + row + 1}"


def _groups(file: parquet.ParquetFile, path: Any) -> list[int]:
    groups = path.groups if isinstance(path, RowGroups) else ()
    return list(groups or range(file.num_row_groups))


def _count(file: parquet.ParquetFile, path: Any) -> int:
    """Return the number of rows of a file, of some row groups or of a slice of one."""
    rows = sum(file.metadata.row_group(k).num_rows for k in _groups(file, path))
    if isinstance(path, RowGroups) and path.most is not None:
        return min(path.most, rows - path.skipped)
    return rows


def _columns(file: parquet.ParquetFile, path: Any, names: list[str]) -> pa.Table:
    """Return columns of a file; some may come from its folders' names."""
    in_file = set(file.schema_arrow.names)  # the property makes a new schema at each access
    stored = [name for name in names if name in in_file]
    if isinstance(path, RowGroups) and path.most is not None:
        table = _slice(path, stored)
    else:
        table = file.read_row_groups(_groups(file, path), columns=stored)
    return with_constants(table, constants_of(path), names)


# ---- slices of a row group that is larger than a part

_Slices = Iterator[tuple["pa.Table", bool]]
_begun: dict[Any, _Slices] = {}  # slices of a file whose next slice is likely to be read next


def _slice(path: RowGroups, names: list[str]) -> pa.Table:
    """Return a slice of row groups; the rows before it are decoded, unless they just were."""
    assert path.most is not None
    file = path.path, Mark.of(path), path.groups, tuple(names)
    slices = _begun.pop((*file, path.skipped), None) or _slices(path, names)
    table, more = next(slices)
    _begun.clear()
    if more and path.groups:
        _begun[(*file, path.skipped + path.most)] = slices
    return table


def _slices(path: RowGroups, names: list[str]) -> _Slices:
    """Yield ``path.most`` rows at a time, and whether there are more."""
    import pyarrow as pa

    assert path.most is not None
    with _readable(path, _PAGES_BYTES) as file:
        groups = _groups(file, path)
        left = sum(file.metadata.row_group(k).num_rows for k in groups) - path.skipped
        skipped, batches = path.skipped, []
        if left <= 0:
            yield file.schema_arrow.empty_table().select(names), False
        for batch in file.iter_batches(path.most, row_groups=groups, columns=names):
            batches.append(batch.slice(min(skipped, batch.num_rows)))
            skipped = max(skipped - batch.num_rows, 0)
            while (rows := sum(batch.num_rows for batch in batches)) >= min(path.most, left) > 0:
                table = pa.Table.from_batches(batches)
                yield table.slice(0, path.most), left > path.most
                left -= path.most
                batches = table.slice(path.most).to_batches() if rows > path.most else []


def parquet_metadata(path: Any) -> parquet.FileMetaData:
    """Return the metadata of a Parquet file about its row groups and columns."""
    with _readable(path) as file:
        return file.metadata


def parquet_columns(path: Any) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    with _readable(path) as file:
        return columns_of(path, _names(file))


def stored_bytes(path: Any, columns: Collection[str]) -> int:
    """Return the number of bytes that these columns take in a Parquet file."""
    return sum(chunk.total_compressed_size for chunk in _chunks(path, columns))


def may_have_gaps(path: Any, columns: Collection[str]) -> bool:
    """Return whether some of these columns may have missing values, by the file's statistics."""
    counts = (chunk.statistics for chunk in _chunks(path, columns))
    return any(of is None or not of.has_null_count or of.null_count for of in counts)


def _chunks(path: Any, columns: Collection[str]) -> Iterator[parquet.ColumnChunkMetaData]:
    """Yield a Parquet file's metadata about these columns in each row group."""
    about, names = parquet_metadata(path), set(columns)
    for k in range(about.num_row_groups):
        chunks = map(about.row_group(k).column, range(about.num_columns))
        yield from (chunk for chunk in chunks if chunk.path_in_schema in names)


def row_groups(path: Any, part_bytes: int) -> Iterator[RowGroups]:
    """Yield row groups of up to ``part_bytes`` bytes of numbers, or slices of larger ones."""
    with _readable(path) as file:
        about, width = file.metadata, 8 * max(len(_names(file)), 1)
        counts = [about.row_group(k).num_rows for k in range(about.num_row_groups)]
    numbers: list[int] = []
    first = rows = 0
    for k, count in enumerate(counts):
        if numbers and (rows + count) * width > part_bytes:
            yield RowGroups(path, tuple(numbers), first)
            first, rows, numbers = first + rows, 0, []
        if count * width > part_bytes:
            yield from _sliced(RowGroups(path, (k,), first), count, int(part_bytes // width) or 1)
            first += count
        elif count:
            numbers.append(k)
            rows += count
    if numbers:
        yield RowGroups(path, tuple(numbers), first)


def _sliced(group: RowGroups, rows: int, most: int) -> Iterator[RowGroups]:
    """Yield the slices of a row group, of equal size except for the last."""
    for skipped in range(0, rows, most):
        yield replace(group, first=group.first + skipped, most=most, skipped=skipped)


def _names(file: parquet.ParquetFile) -> list[str]:
    return [name for name in file.schema_arrow.names if not _PANDAS_INDEX.fullmatch(name)]


_FRESH_NANOSECONDS = 10**9  # within this time a file may change without a new time stamp
_seen: dict[Any, parquet.FileMetaData] = {}  # the metadata of the last file


def _file(path: Any, native: Any, buffer_bytes: int) -> parquet.ParquetFile:
    """Open a file, with cached metadata: for many row groups, reading it takes longest."""
    from pyarrow import parquet

    mark = Mark.of(path)
    written = getattr(mark, "written", None)
    fresh = isinstance(written, int) and time.time_ns() - written < _FRESH_NANOSECONDS
    # without a buffer, all bytes of a row group are read ahead
    options: dict[str, Any] = {"buffer_size": buffer_bytes, "pre_buffer": not buffer_bytes}
    if mark is None or fresh:
        return parquet.ParquetFile(native, **options)
    file = parquet.ParquetFile(native, metadata=_seen.get(mark), **options)
    if mark not in _seen:
        _seen.clear()
        _seen[mark] = file.metadata
    return file


@contextmanager
def _readable(path: Any, buffer_bytes: int = 0) -> Iterator[parquet.ParquetFile]:
    """Open a Parquet file; raise DataFileError if it is not readable."""
    pa = needs("pyarrow", "a Parquet file")

    try:
        with opened(path) as stream, _file(path, Native(stream).file, buffer_bytes) as file:
            yield file
    except MemoryError:  # an ArrowException may be one
        raise
    except pa.ArrowException as error:
        raise fault(path, f"not a readable Parquet file ({error}); write it again") from None
    except UnicodeDecodeError:
        problem = "a column's name or text is not UTF-8; write the file again"
        raise fault(path, problem) from None
