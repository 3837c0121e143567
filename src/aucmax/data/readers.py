"""Rows and labels from files, with one `Reader` for each format."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.errors import DataWarning
from aucmax.basics.sparse import sp
from aucmax.data.bunch import Bunch, objects_of, rows_and_labels
from aucmax.data.codes import CODE_DOUBT
from aucmax.data.columns import labels_as
from aucmax.data.decisions import Decision
from aucmax.data.files import (
    FORMATS,
    Block,
    DataFiles,
    Piped,
    RowGroups,
    fault,
    files_of,
    size_of,
    suffix_of,
    unchanged,
)
from aucmax.data.named import named
from aucmax.data.obstacles import Obstacle, TableError, tried
from aucmax.data.reading import FIELDS, FIRST_ROWS, Reading, with_fields
from aucmax.data.svmlight import read_svmlight
from aucmax.data.tables import (
    as_written,
    csv_columns,
    first_lines,
    parquet_columns,
    read_csv,
    read_parquet,
)
from aucmax.data.transforms import binarize, listing

__all__ = ["READERS", "Reader", "find_label", "read", "reader_of", "rows_of"]

_LARGE_BYTES = 1 << 22  # a larger file is refused after its first rows, if these show a problem
_WORDS = {"true": 1, "false": 0}
# refused at once: as text they would fail with a puzzling error about their first line
_FOREIGN = (
    *(".arff", ".arrow", ".db", ".feather", ".h5", ".hdf5", ".json", ".jsonl", ".npy", ".npz"),
    *(".ods", ".orc", ".pickle", ".pkl", ".tar", ".tgz", ".xls", ".xlsx", ".zip", ".zst"),
)


@with_fields(lambda field: True)
def read(path: Any, *, reading: Reading) -> Bunch:
    """Read rows and labels from a file, or from several as one table.

    Columns of whole numbers that look like IDs or codes cause a warning, unless they are requested
    by `columns`.

    Parameters
    ----------
    path : str, path-like, a list of them, or binary file
        ``.csv``, ``.tsv``, ``.parquet`` (or ``.pq``); any other name is svmlight text. Text may
        be compressed: ``.gz``, ``.bz2``, ``.xz``. An open file is CSV unless `format` is given.
        ``"2026-*.csv"`` means all files that match, sorted; a folder means all data files in it and
        its subfolders, whose names, such as ``country=DE``, become columns. Several files have the
        columns of the first. Addresses (``s3://``, ``gs://``, ``az://``, ``https://``) are opened
        by fsspec, which finds credentials in its own way. A `deltalake.DeltaTable` and a table of
        pyiceberg are read, too.
    {fields}

    Returns
    -------
    Bunch
        ``data`` (n, d): float64, finite except for missing values; CSR with int32 indices from
        svmlight, C-contiguous from CSV and Parquet, an array of objects if columns are text.
        ``target`` (n,): int64 if all are whole numbers or booleans, else float64 or text; None
        without labels. ``feature_names``: list of str, None for svmlight. ``columns``:
        a `Column` for each feature, None for svmlight. ``target_name``: the label column, or None.
        ``weight``, ``groups``, ``time``, ``strata``, ``segments`` (n,): the values of these
        columns, with dates as days; None without them. ``kept``: the columns of ``keep`` by name,
        as lists of n values; None without ``keep``. The ``qid`` fields of svmlight text are its
        strata. ``name``, ``n_features``, ``files``.

    Raises
    ------
    DataFileError
        If the file cannot be read, is empty, changes while it is read, or has unexpected contents;
        the message names the file and the line (or column) and says how to fix it. If columns of a
        table cannot be read, the error is a `TableError`, which lists all of them; its ``remedy``
        contains the arguments that solve the problem.
    ValueError
        If an argument is not one of those above.
    """
    rows = rows_of(path, reading)
    rows.data = objects_of(rows.data)
    return rows.of_sklearn()


def rows_of(path: Any, reading: Reading, check: Callable[[Bunch], object] | None = None) -> Bunch:
    """Return the result of `read`, as a data frame if some columns have words.

    Parameters
    ----------
    path, reading
        As for `read`.
    check : callable, optional
        Called with the first rows before the others are read, so that errors are raised early.
    """
    source = _source(path)
    reader = reader_of(source, reading.format)
    of_text = reading.sep or reading.decimal or reading.encoding or reading.header
    if of_text and reader.written is None:
        raise ValueError(
            "sep, decimal, encoding and header are for CSV files; this one is read as "
            f"{reader.name}"
        )
    asked = reading.categories
    with unchanged(source):
        first, rows = _first_rows(source, reader, reading), None
        if first is not None:
            reading, rows = _after(first, reader, reading, check)
        if first is not source or rows is None:
            rows = _opened(source, reader, reading)
        rows.decisions += [
            Decision(name, "codes, not amounts: treated as words", {"numbers": [name]})
            for name in reading.categories
            if name not in asked
        ]
    if rows.target is not None and reading.positive is not None:
        rows.target = _one_positive(source, rows.target, reading.positive)
    if rows.target is not None and reading.binarize is not None:
        rows.target = binarize(rows.target, reading.binarize)
    return rows


def _source(path: Any) -> Any:
    if isinstance(path, Piped | RowGroups):
        return path
    if hasattr(path, "read"):
        return Piped(path, str(getattr(path, "name", "stream")))
    return named(path)


def find_label(y: Any, label: Any) -> Any:
    """Return the label in `y` that a label or a word, such as one from a command line, means.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    label : label or str
        One of the labels, or its text: ``"1"``, ``"+1"`` and ``"1.0"`` all mean the number 1, and
        ``"true"`` and ``"false"`` mean 1 and 0 if these are labels. Any other word means the label
        that differs from it only in case, or that also means yes, or no.

    Returns
    -------
    label
        The label itself, as a Python object.

    Raises
    ------
    ValueError
        If it means none of the labels, which the message lists.
    """
    labels = np.unique(np.asarray(y)).tolist()
    text = str(label).strip()
    number = _number(_WORDS.get(text.lower(), text))
    for meaning in (label, text, number):
        for candidate in labels:
            if candidate == meaning:
                return candidate
    words = [candidate for candidate in labels if isinstance(candidate, str)]
    for candidate in words:  # with surrounding space, as after the commas of some files
        if candidate.strip() == text:
            return candidate
    (usual,) = labels_as([text], words)
    if usual in words:
        return usual
    raise ValueError(f"no label {label!r}; the labels are {listing(labels)}")


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _one_positive(path: Any, y: NDArray[Any], positive: Any) -> NDArray[np.int64]:
    try:
        label = find_label(y, positive)
    except ValueError as error:
        raise fault(path, str(error)) from None
    return np.where(np.asarray(y) == label, 1, -1).astype(np.int64)


def reader_of(path: Any, format: str | None) -> Reader:
    """Return the requested reader, or else that of the suffix, which all files must share."""
    if format is not None:
        if format not in READERS:
            raise ValueError(f"format={format!r} is not one of {', '.join(READERS)}")
        return READERS[format]
    if isinstance(path, Piped):
        return READERS["csv"]
    if isinstance(path, DataFiles):
        return _one_reader(path.files)
    suffix = suffix_of(path)
    if suffix in _FOREIGN:
        raise fault(
            path, f"{suffix} files are not supported; convert to .csv, .tsv, .parquet or svmlight"
        )
    readers = (reader for reader in READERS.values() if suffix in reader.suffixes)
    return next(readers, READERS["svmlight"])


def _one_reader(files: Sequence[Any]) -> Reader:
    """Return the reader of all files; raise DataFileError if their formats differ."""
    readers = [reader_of(file, None) for file in files]
    for file, reader in zip(files, readers, strict=True):
        if reader is not readers[0]:
            raise fault(
                file, f"is read as {reader.name}, but {files[0]} as {readers[0].name}: give files "
                "of one format, or say which (format=…)"
            )  # fmt: skip
    return readers[0]


def _first_rows(path: Any, reader: Reader, reading: Reading) -> Any:
    """Return the first rows of a table if they should be read before the others, else None."""
    if reader.first is None or isinstance(path, RowGroups | Block):
        return None
    large = (size_of(path) or 0) > _LARGE_BYTES
    if not large and (reading.for_model or not reading.prepare):
        return None
    if not isinstance(path, DataFiles):
        first = reader.first(path)
        is_whole = isinstance(first, Block) and first.end == size_of(path)
        return path if is_whole else first
    sizes = itertools.accumulate(size_of(file) or 0 for file in path.files)
    files = [file for file, end in zip(path.files, sizes, strict=True) if end <= _LARGE_BYTES]
    first = [reader.first(file) for file in files or path.files[:1]]
    return None if None in first else replace(path, files=tuple(first))


def _after(
    first: Any, reader: Reader, reading: Reading, check: Callable[[Bunch], object] | None
) -> tuple[Reading, Bunch | None]:
    """Return how to read a table, completed by what its first rows show, and these rows.

    The rows are None if they are to be read again.

    Raises
    ------
    DataFileError
        If there is a problem that further rows cannot solve.
    """
    try:
        rows, doubts = _tried(first, reader, reading)
    except TableError as error:
        if all(obstacle.provisional for obstacle in error.obstacles):
            return reading, None
        raise
    if check is not None and rows.target is not None:
        check(rows)
    if not reading.prepare:
        return reading, None
    codes = rows.codes = _codes(doubts)
    if not codes:
        return reading, rows
    return replace(reading, categories=(*reading.categories, *codes)), None


def _opened(path: Any, reader: Reader, reading: Reading) -> Bunch:
    """Return a reader's result, and warn about doubtful columns."""
    rows, doubts = _tried(path, reader, reading)
    if reading.prepare:
        rows.codes = _codes(doubts)  # the caller decides about them
        return rows
    for doubt in doubts:
        warnings.warn(f"{path}: {doubt.sentence()}", DataWarning, stacklevel=5)
    return rows


def _codes(doubts: Sequence[Obstacle]) -> list[str]:
    """Return the doubtful columns whose numbers look like codes."""
    return [doubt.column for doubt in doubts if CODE_DOUBT.search(doubt.what)]


def _tried(path: Any, reader: Reader, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Return a reader's result; an error lists all obstacles and their remedy."""

    def opened(remedy: dict[str, Any]) -> tuple[Bunch, list[Obstacle]]:
        remedied = replace(
            reading, **{name: _added(reading, name, value) for name, value in remedy.items()}
        )
        rows, doubts = reader.open(path, remedied)
        expected = reading.n_features
        if rows.columns is not None and expected not in (None, rows.n_features):
            raise fault(path, f"{rows.n_features} feature columns where {expected} are expected")
        return rows, doubts

    try:
        return opened({})
    except TableError as error:
        doubtless = (lambda remedy: (opened(remedy)[0], [])) if reading.prepare else opened
        raise tried(error, doubtless) from None


def _added(reading: Reading, name: str, value: Any) -> Any:
    """Return the value of a remedy; its columns are added to those the caller listed already."""
    return (*getattr(reading, name), *value) if isinstance(value, list) else value


# ---- the formats


@dataclass(frozen=True)
class Reader:
    """A format of files.

    Parameters
    ----------
    name : str
        Its name in the argument ``format`` of `read`.
    suffixes : tuple of str
        The suffixes of its files.
    open : callable
        (path, reading) → the requested rows, and the doubts about their columns.
    written : callable, optional
        (path, reading) → how to read its text, and the decisions about that; None if ``sep`` and
        ``decimal`` do not apply.
    columns : callable, optional
        (files, reading) → the column names of each file; None if columns have no names.
    first : callable, optional
        (path) → its first rows, as another file; None if they are not known.
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[Any, Reading], tuple[Bunch, list[Obstacle]]]
    written: Callable[[Any, Reading], tuple[Reading, list[Decision]]] | None = None
    columns: Callable[[Sequence[Any], Reading], list[list[str]]] | None = None
    first: Callable[[Any], Any] | None = None


def _svmlight(path: Any, reading: Reading) -> tuple[Bunch, list[Obstacle]]:
    """Read svmlight text; it has no column names, so arguments that name columns are mistakes."""
    if reading.columns is not None:
        names = listing(reading.names)
        raise fault(path, f"svmlight text has no column names, but these are needed: {names}")
    for name in reading.given():
        value = getattr(reading, name)
        allowed = value is False or (value is True and reading.for_model)  # such as gaps
        if FIELDS[name]["columns"] and not allowed:
            raise fault(
                path,
                f"svmlight text has no column names, so {name}= does not apply; a line is a label "
                "and finite numbers",
            )
    files = files_of(path)
    # among several files, empty ones are left out
    tables = [
        read_svmlight(file, reading.n_features, reading.labels)
        for file in files
        if len(files) == 1 or size_of(file) != 0
    ]
    X, y, query = tables[0] if len(tables) == 1 else _stacked(tables)
    if query is not None and len(query) < X.shape[0]:
        raise fault(path, "some of its files have a qid in each row and others have none")
    return rows_and_labels(path.name, X, y, list(map(str, files)), strata=query), []


def _stacked(tables: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    """Return the rows, labels and queries of several tables, some of which lack last features."""
    d = max(X.shape[1] for X, _, _ in tables)
    for X, _, _ in tables:
        X.resize(X.shape[0], d)
    labels = [y for _, y, _ in tables]
    y = None if any(y is None for y in labels) else np.concatenate(labels)
    queries = [query for _, _, query in tables if query is not None]
    query = np.concatenate(queries) if queries else None
    return sp.vstack([X for X, _, _ in tables], "csr"), y, query


def _separated(name: str, mark: str) -> Reader:
    return Reader(
        name,
        FORMATS[name],
        lambda path, reading: read_csv(path, mark, reading),
        written=lambda path, reading: as_written(path, mark, reading),
        columns=lambda files, reading: csv_columns(files, mark, reading),
        first=lambda path: first_lines(path, FIRST_ROWS),
    )


READERS = {
    reader.name: reader
    for reader in (
        Reader("svmlight", FORMATS["svmlight"], _svmlight),
        _separated("csv", ","),
        _separated("tsv", "\t"),
        Reader(
            "parquet",
            FORMATS["parquet"],
            read_parquet,
            columns=lambda files, _: [*map(parquet_columns, files)],
            first=lambda path: RowGroups(path, (), 0, FIRST_ROWS),
        ),
    )
}
