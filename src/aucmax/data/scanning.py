"""Files as sources, read part by part, for data larger than memory."""

from __future__ import annotations

import copy
import io
import itertools
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from aucmax.basics.checks import number
from aucmax.basics.sparse import sp
from aucmax.data.bunch import Bunch
from aucmax.data.columns import Column, named, other_than_numbers
from aucmax.data.decisions import Decision
from aucmax.data.files import (
    AnyFile,
    Block,
    DataFiles,
    Mark,
    Recoded,
    can_seek,
    fault,
    files_of,
    is_packed,
    opened,
    size_of,
)
from aucmax.data.frames import scan_frame
from aucmax.data.lake import is_lake
from aucmax.data.named import check_names
from aucmax.data.named import named as of_names
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.readers import reader_of, rows_of
from aucmax.data.reading import ASIDE, Reading, with_fields
from aucmax.data.rows.source import Part, Source, Stored
from aucmax.data.rows.spool import Spool
from aucmax.data.tables.parquet_files import row_groups, stored_bytes
from aucmax.data.tables.wanted import check_columns

__all__ = ["PART_BYTES", "kinds_in", "read_parts", "scan", "with_kinds"]

PART_BYTES = 1 << 26  # of text, or of numbers in a table
_MAX_FEATURES = 2**31 - 1  # assumed for svmlight text until all of it has been read


@with_fields(lambda field: field["in_parts"])
def scan(
    data: Any,
    *,
    reading: Reading,
    part_bytes: int | None = PART_BYTES,
    spool: bool | str | os.PathLike[str] | None = None,
) -> Source:
    """Return a source of data that need not fit into memory.

    Parameters
    ----------
    data : str, path-like, a list of them, or a frame
        Files and tables as for `read`: Parquet is read by row groups, text in pieces of whole
        lines, compressed or not. The columns of the first part determine those of the others. Fits
        take numbers; parts with words or missing values need a fitted step, in `Source.mapped`.
        Some files may have no rows. Also a Polars frame, lazy or not, an Arrow dataset or table, or
        a Dask data frame.
    {fields}
    part_bytes : int, optional
        The approximate size of a part: bytes of text, or of a table's numbers. A larger row group
        of a Parquet file is read in slices. Two parts are in memory, and the results for one. None
        makes each file one part, so that a cluster can also read compressed files.
    spool : bool, str or path-like, optional
        Whether to read the data once and then from temporary files, which take as much space as all
        rows would in memory and are removed with the source; or the folder for these files, instead
        of the system's temporary folder. By default this is done for text, which takes longest to
        parse. Not with ``keep``, whose columns are not in the temporary files.

    Returns
    -------
    Source

    Raises
    ------
    DataFileError
        If there is no such file, or its columns are not those of the first file; the message names
        it. Errors in the rows, or a change of a file since the scan, are raised when the rows are
        read.
    ValueError
        If the data are of another kind, or another argument is wrong.
    """
    if part_bytes is not None:
        number(part_bytes, "part_bytes", low=1.0)
    if isinstance(data, str | os.PathLike | list | tuple | AnyFile) or is_lake(data):
        path = of_names(data)
        source = _files(path, reading, part_bytes)
        names = data.named if isinstance(data, DataFiles) else data
        if not isinstance(names, AnyFile):
            source.check = partial(check_names, names, files_of(path))
        slow = reader_of(path, reading.format).name != "parquet"
    else:
        if reading.keep:
            raise ValueError("keep= is for files.")
        source, slow = scan_frame(data, part_bytes, reading), False
    if (spool or (spool is None and slow)) and not reading.keep:
        source.spool = Spool(None if isinstance(spool, bool | None) else spool)
    return source


# ---- files


def _files(path: Any, reading: Reading, part_bytes: int | None) -> Source:
    paths = files_of(path)
    marks = [Mark.of(path) for path in paths]
    reader, reading, decisions = _as_written(path, reading)
    if reader.columns is not None:
        columns = reader.columns(paths, reading)
        for path, names in zip(paths, columns, strict=True):
            if reading.columns is None:  # else each file may have further columns
                check_columns(path, names, paths[0], columns[0])
    pieces = [
        partial(_marked_pieces, path, mark, reading, part_bytes)
        for path, mark in zip(paths, marks, strict=True)
    ]
    first, mark = next((piece for of_file in pieces for piece in of_file()), (None, None))
    if first is None:
        others = ", and neither have the others" if len(paths) > 1 else ""
        raise fault(paths[0], f"the file has no rows{others}")
    load = _load_alike if reading.columns is None else _load
    with _checked(mark):
        rows = _read(first, reading)
    names = rows.feature_names
    if names is not None:
        reading = _as_first(reading, rows)
    elif reading.n_features is None:
        reading = replace(reading, n_features=_MAX_FEATURES)
    settings = {"feature_names": names, "target_name": rows.target_name}
    if part_bytes is None or all(_random(path, reader.name) for path in paths):
        every = [piece for of_file in pieces for piece in of_file()]
        source = Source(
            [partial(load, piece, reading, mark) for piece, mark in every],
            names=[str(getattr(piece, "where", piece)) for piece, _ in every],
            **settings,
        )
    else:
        source = Source.from_iterable(partial(_loaded, pieces, load, reading), **settings)
    used = [*(names or ()), reading.target, reading.weight, *reading.keep]
    sizes = (stored_bytes(path, used) if reader.name == "parquet" else size_of(path) or 0
             for path in paths)  # fmt: skip
    source.stored = Stored("file", sum(sizes))
    source.columns = other_than_numbers(rows.columns or ())
    several = source.loads is None or len(source.loads) > 1
    of_first = [own.of_first_part() for own in rows.decisions] if several else rows.decisions
    source.decisions = [*decisions, *of_first]
    source.codes = rows.get("codes", ())
    source.label_words = rows.get("label_words") or {}
    return source


def _loaded(
    pieces: Sequence[Callable[[], Iterator[Any]]], load: Callable[..., Part], reading: Reading
) -> Iterator[Part]:
    for of_file in pieces:
        for piece, mark in of_file():
            yield load(piece, reading, mark)


def kinds_in(piece: Any, path: Any, reading: Reading, names: Collection[str]) -> Bunch:
    """Return the kinds of some columns in one part of files, and the decisions about them.

    Raises
    ------
    DataFileError
        If the part cannot be read on its own.
    """
    _, reading, _ = _as_written(path, reading)
    rows = _read(piece, replace(reading, labels="none"))
    columns = [column for column in rows.columns if column.name in names]
    return Bunch(columns=columns, decisions=[own for own in rows.decisions if own.column in names])


def with_kinds(source: Source, kinds: Sequence[Column]) -> Source:
    """Return a source of files whose columns have these kinds, not those of the first part."""
    if not kinds:
        return source
    by_name = {column.name: column for column in kinds}

    def decided(reads: Any) -> partial[Any]:
        """Return a partial function that loads parts, with these kinds."""
        arguments = (
            replace(value, columns=[by_name.get(str(own), own) for own in value.columns or ()])
            if isinstance(value, Reading)
            else value
            for value in reads.args
        )
        return partial(reads.func, *arguments)

    source = source.read_by(decided)
    columns = named(source.feature_names or [], source.columns)
    source.columns = other_than_numbers([by_name.get(own.name, own) for own in columns])
    return source


def _random(path: Any, kind: str) -> bool:
    """Return whether a part of a file can be read without the parts before it."""
    if kind == "parquet":
        return True
    if is_packed(path) or not can_seek(path):
        return False
    with opened(path) as stream:
        return not isinstance(getattr(stream, "raw", None), Recoded)


def _as_written(path: Any, reading: Reading) -> tuple[Any, Reading, list[Decision]]:
    """Return the reader, how to read all parts, and the decisions about it."""
    reader = reader_of(path, reading.format)
    reading = replace(reading, format=reader.name)
    if reader.written is None:
        return reader, reading, []
    reading, decisions = reader.written(files_of(path)[0], reading)
    return reader, reading, decisions


def _pieces(path: Any, reading: Reading, part_bytes: int | None) -> Iterator[Any]:
    """Yield the parts of a file, not yet read; none for a file without rows."""
    kind = str(reading.format)
    if part_bytes is None:
        if next(_pieces(path, reading, 1), None) is not None:
            yield path
        return
    if kind == "parquet":
        yield from row_groups(path, part_bytes)
        return
    with opened(path) as stream:
        above = [*itertools.islice(stream, 0 if kind == "svmlight" else reading.header or 1)]
        start, header = sum(map(len, above)), above[-1] if above else b""
        if not _random(path, kind):
            yield from _unpacked(path, stream, start, header, part_bytes)
            return
        size = size_of(path) or 0
        while start < size:
            stream.seek(min(start + part_bytes, size))
            stream.readline()
            end = stream.tell()
            yield Block(path, start, end, header)
            start = end


def _unpacked(
    path: Any, stream: io.BufferedReader, start: int, header: bytes, part_bytes: int
) -> Iterator[Block]:
    """Yield the parts of a compressed file, already read into memory."""
    while text := stream.read(part_bytes):
        text += stream.readline()
        yield Block(path, start, start + len(text), header, text)
        start += len(text)


def _marked_pieces(
    path: Any, mark: Mark | None, reading: Reading, part_bytes: int | None
) -> Iterator[tuple[Any, Mark | None]]:
    """Yield the parts of a file, each with the mark that the file had when it was scanned."""
    with _checked(mark):
        for piece in _pieces(path, reading, part_bytes):
            yield piece, mark


def _checked(mark: Mark | None) -> AbstractContextManager[None]:
    return nullcontext() if mark is None else mark.checked()


def _read(piece: Any, reading: Reading) -> Any:
    piece = copy.copy(piece)  # the copy caches its text, the piece does not
    if isinstance(piece, Block) and reading.format != "svmlight":
        piece.check_quotes()
        reading = replace(reading, header=reading.header and 1)  # it comes with the block
    return rows_of(piece, reading)


def _as_first(reading: Reading, rows: Any) -> Reading:
    """Return how to read later parts of a table, with the columns of the first part."""
    return replace(reading, columns=rows.columns, target=rows.target_name, drop=())


def read_parts(path: Any, part_bytes: int, reading: Reading) -> Iterator[Any]:
    """Yield the result of `read` for each part of files; unlike `scan`, with text, gaps, dates.

    Parameters
    ----------
    path : Path, Remote, Partitioned or DataFiles
    part_bytes : int
        As for `scan`.
    reading : Reading
        Without ``n_features``, each part of svmlight text has as many features as its rows show.
    """
    _, reading, _ = _as_written(path, reading)
    pieces = (
        piece
        for file in files_of(path)
        for piece in _marked_pieces(file, Mark.of(file), reading, part_bytes)
    )
    for piece, mark in pieces:
        with _checked(mark):
            rows = _read(piece, reading)
        yield rows
        if rows.feature_names is not None:
            reading = _as_first(reading, rows)


def _load(piece: Any, reading: Reading, mark: Mark | None) -> Part:
    with _checked(mark):
        rows = _read(piece, reading)
    _check_dates(piece, rows, reading)
    X = rows.data
    if X.shape[1] == _MAX_FEATURES:
        shape = X.shape[0], int(X.indices.max(initial=0)) + 1
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=shape)
    further = {name: rows[name] for name in (*ASIDE[1:], "decisions")}
    return Part(X, rows.target, rows.weight, rows.kept, further)


def _check_dates(piece: Any, rows: Bunch, reading: Reading) -> None:
    """Raise TableError for dates in columns that had numbers in the first part."""
    late = [
        Obstacle(own.name, f"column {own.name!r} holds dates, not numbers", "")
        for own in rows.columns or ()
        if own.is_days and own.name in reading.declared and not reading.declared[own.name].is_days
    ]
    if late and reading.prepare:
        raise TableError(piece, late)


def _load_alike(piece: Any, reading: Reading, mark: Mark | None) -> Part:
    """Load a part whose columns were determined by the first part, not by a model."""
    try:
        return _load(piece, reading, mark)
    except TableError as error:
        for obstacle in error.obstacles:
            if obstacle.column in (reading.names or ()) and obstacle.remedy is None:
                name = [obstacle.column]
                as_words = f"take the column as words (categories={name!r}), "
                obstacle.hint = (
                    "the first part, which decides, has no such values; correct it, "
                    f"{as_words if reading.prepare else ''}or leave the column out (drop={name!r})"
                )
        raise TableError(error.path, error.obstacles, error.remedy, error.found) from None
