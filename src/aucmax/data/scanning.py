"""Files as a source, read part by part, for data larger than memory."""

from __future__ import annotations

import copy
import glob
import io
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from aucmax.basics.checks import number
from aucmax.basics.errors import DataFileError
from aucmax.data.columns import other_than_numbers
from aucmax.data.files import COMPRESSIONS, Block, Mark, fault, opened
from aucmax.data.frames import scan_frame
from aucmax.data.obstacles import TableError
from aucmax.data.readers import reader_of, rows_of
from aucmax.data.reading import Reading, with_fields
from aucmax.data.rows.source import Part, Source, Stored
from aucmax.data.rows.spool import Spool
from aucmax.data.tables.parquet_files import row_groups, stored_bytes
from aucmax.data.transforms import listing

__all__ = ["PART_BYTES", "read_parts", "scan"]

PART_BYTES = 1 << 26  # of text, or of numbers in a table
_MAX_FEATURES = 2**31 - 1  # assumed of svmlight text until all of it was read


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
        Files as for `read`: Parquet is read by row groups, text in pieces of whole lines,
        compressed or not. The columns of the first part decide for the others. Fits take numbers;
        parts with words or missing values are for `Source.mapped`, behind a fitted step.
        ``"2026-*.csv"`` names all files that match,
        sorted; some may have no rows. Or a Polars frame, lazy or not, an Arrow dataset or table,
        or a Dask data frame.
    {fields}
    part_bytes : int, optional
        The approximate size of a part: bytes of text, or of a table's numbers. A row group of a
        Parquet file is never divided. Two parts are in memory, and the results for one. None makes
        each file one part, so that a cluster can also read compressed files.
    spool : bool, str or path-like, optional
        Whether to read the data once and then from temporary files, which take as much space as all
        rows would in memory and are removed with the source; a folder for them, else the system's
        temporary folder. By default this is done for text, which takes longest to parse. Not with
        ``keep``, whose columns the files do not hold.

    Returns
    -------
    Source

    Raises
    ------
    DataFileError
        If there is no such file, or its columns are not those of the first; the message names it.
        Errors in the rows are raised when they are read, as is a change of a file since it was
        scanned.
    ValueError
        For any other argument.
    """
    if part_bytes is not None:
        number(part_bytes, "part_bytes", low=1.0)
    if isinstance(data, (str, os.PathLike, list, tuple)):
        paths = _named(data)
        source = _files(paths, reading, part_bytes)
        source.check = partial(_check_names, data, paths)
        slow = reader_of(paths[0], reading.format).name != "parquet"
    else:
        if reading.keep:
            raise ValueError("keep= is for files.")
        source, slow = scan_frame(data, part_bytes, reading), False
    if (spool or (spool is None and slow)) and not reading.keep:
        source.spool = Spool(None if isinstance(spool, bool | None) else spool)
    return source


# ---- files


def _named(data: Any) -> list[Path]:
    """Return the files that a path, a pattern or a list of them names."""
    patterns = data if isinstance(data, (list, tuple)) else [data]
    paths = []
    for one in patterns:
        text = os.fspath(one)
        matches = sorted(glob.glob(text)) if glob.has_magic(text) else []
        if glob.has_magic(text) and not matches and not Path(text).exists():
            raise DataFileError(f"{text}: no file matches")
        paths += [Path(match) for match in matches] or [Path(text)]
    if not paths:
        raise ValueError("no file is named.")
    return paths


def _check_names(data: Any, paths: list[Path]) -> None:
    """Raise DataFileError if a path, a pattern or a list names other files than before."""
    now = _named(data)
    for path in now:
        if path not in paths:
            raise fault(
                path,
                "the file was not there when the others were read first: rows are read again and "
                "again and must stay as they are; begin again when all files are there",
            )
    for path in paths:
        if path not in now:
            raise fault(path, "the file is gone, while it was in use; begin again without it")


def _files(paths: list[Path], reading: Reading, part_bytes: int | None) -> Source:
    marks = [Mark.of(path) for path in paths]
    readers = [reader_of(path, reading.format) for path in paths]
    for path, reader in zip(paths, readers, strict=True):
        if reader is not readers[0]:
            raise fault(
                path, f"is read as {reader.name}, but {paths[0]} as {readers[0].name}: give files "
                "of one format, or name it"
            )  # fmt: skip
    reader = readers[0]
    if reader.columns is not None:
        columns = [reader.columns(path, reading.sep) for path in paths]
        for path, names in zip(paths, columns, strict=True):
            if reading.columns is None:  # else each file may have further columns
                _check_columns(path, names, paths[0], columns[0])
    pieces = [
        partial(_marked_pieces, path, mark, reader.name, part_bytes)
        for path, mark in zip(paths, marks, strict=True)
    ]
    first, mark = next((piece for some in pieces for piece in some()), (None, None))
    if first is None:
        others = ", nor has any of the others" if len(paths) > 1 else ""
        raise fault(paths[0], f"the file has no rows{others}")
    reading = replace(reading, format=reader.name)
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
        every = [piece for some in pieces for piece in some()]
        source = Source(
            [partial(load, piece, reading, mark) for piece, mark in every],
            names=[str(getattr(piece, "where", piece)) for piece, _ in every],
            **settings,
        )
    else:

        def parts() -> Iterator[Part]:
            for some in pieces:
                for piece, mark in some():
                    yield load(piece, reading, mark)

        source = Source.from_iterable(parts, **settings)
    wanted = [*(names or ()), reading.target, reading.weight, *reading.keep]
    sizes = (stored_bytes(path, wanted) if reader.name == "parquet" else path.stat().st_size
             for path in paths)  # fmt: skip
    source.stored, source.columns = (
        Stored("file", sum(sizes)),
        other_than_numbers(rows.columns or ()),
    )
    return source


def _check_columns(path: Path, names: list[str], first: Path, others: list[str]) -> None:
    """Refuse a file whose columns are not those of the first, in whatever order."""
    lacks = [name for name in others if name not in names]
    more = [name for name in names if name not in others]
    if lacks or more:
        what = " and ".join(
            f"{verb} {listing(some)}" for verb, some in (("lacks", lacks), ("has", more)) if some
        )
        raise fault(path, f"{what}, unlike {first}; give files with the same columns")


def _random(path: Path, kind: str) -> bool:
    """Return whether a part can be read without those before it."""
    return kind == "parquet" or path.suffix.lower() not in COMPRESSIONS


def _pieces(path: Path, kind: str, part_bytes: int | None) -> Iterator[Any]:
    """Yield the parts of a file, not yet read; none for a file without rows."""
    if part_bytes is None:
        if next(_pieces(path, kind, 1), None) is not None:
            yield path
        return
    if kind == "parquet":
        yield from row_groups(path, part_bytes)
        return
    header = b""
    with opened(path) as stream:
        if kind != "svmlight":
            header = stream.readline()
        if not _random(path, kind):
            yield from _unpacked(path, stream, header, part_bytes)
            return
        start, size = stream.tell(), path.stat().st_size
        while start < size:
            stream.seek(min(start + part_bytes, size))
            stream.readline()
            end = stream.tell()
            yield Block(path, start, end, header)
            start = end


def _unpacked(
    path: Path, stream: io.BufferedReader, header: bytes, part_bytes: int
) -> Iterator[Block]:
    """Yield the parts of a compressed file, already read into memory."""
    start = stream.tell()
    while text := stream.read(part_bytes):
        text += stream.readline()
        yield Block(path, start, start + len(text), header, text)
        start += len(text)


def _marked_pieces(
    path: Path, mark: Mark | None, kind: str, part_bytes: int | None
) -> Iterator[tuple[Any, Mark | None]]:
    """Yield the parts of a file, each with the mark that the file had when it was scanned."""
    with _checked(mark):
        for piece in _pieces(path, kind, part_bytes):
            yield piece, mark


def _checked(mark: Mark | None) -> AbstractContextManager[None]:
    return nullcontext() if mark is None else mark.checked()


def _read(piece: Any, reading: Reading) -> Any:
    piece = copy.copy(piece)  # which keeps its text while it is read
    if isinstance(piece, Block) and reading.format != "svmlight":
        piece.check_quotes()
    return rows_of(piece, reading)


def _as_first(reading: Reading, rows: Any) -> Reading:
    """Return how the parts of a table after the first are read, with the columns of the first."""
    return replace(reading, columns=rows.columns, target=rows.target_name, drop=())


def read_parts(path: Path, part_bytes: int, reading: Reading) -> Iterator[Any]:
    """Yield the results of `read` for the parts of a file; unlike `scan`, with text, gaps, dates.

    Parameters
    ----------
    path : Path
    part_bytes : int
        As for `scan`.
    reading : Reading
        Without ``n_features``, each part of svmlight text has as many features as its rows show.
    """
    reader = reader_of(path, reading.format)
    reading = replace(reading, format=reader.name)
    for piece, mark in _marked_pieces(path, Mark.of(path), reader.name, part_bytes):
        with _checked(mark):
            rows = _read(piece, reading)
        yield rows
        if rows.feature_names is not None:
            reading = _as_first(reading, rows)


def _load(piece: Any, reading: Reading, mark: Mark | None) -> Part:
    with _checked(mark):
        rows = _read(piece, reading)
    X = rows.data
    if X.shape[1] == _MAX_FEATURES:
        shape = X.shape[0], int(X.indices.max(initial=0)) + 1
        X = sp.csr_matrix((X.data, X.indices, X.indptr), shape=shape)
    told = {name: rows[name] for name in ("groups", "time", "decisions")}
    return Part(X, rows.target, rows.weight, rows.kept, told)


def _load_alike(piece: Any, reading: Reading, mark: Mark | None) -> Part:
    """Load a part whose columns were determined by the first part, not by a model."""
    try:
        return _load(piece, reading, mark)
    except TableError as error:
        for one in error.obstacles:
            if one.column in (reading.names or ()) and one.remedy is None:
                one.hint = (
                    "the first part has a number in every row, so correct it, or leave the column "
                    f"out (drop={[one.column]!r})"
                )
        raise TableError(error.path, error.obstacles, error.remedy, error.found) from None
