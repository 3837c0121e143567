"""Rows and labels from files: one `Reader` for each format."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from aucmax.basics.errors import DataWarning
from aucmax.datasets.bunch import rows_and_labels
from aucmax.datasets.dates import EXAMPLES
from aucmax.datasets.files import COMPRESSIONS, Piped, RowGroups, fault, unchanged
from aucmax.datasets.obstacles import Obstacle, TableError, tried
from aucmax.datasets.svmlight import read_svmlight
from aucmax.datasets.tables import (
    Choice,
    Columns,
    csv_columns,
    parquet_columns,
    read_csv,
    read_parquet,
)
from aucmax.datasets.transforms import listing

__all__ = ["READERS", "Reader", "find_label", "read", "reader_of"]

_WORDS = {"true": 1, "false": 0}
_LABELS = ("required", "optional", "none")
# Refused at once: read as text they would fail with a puzzling first line.
_FOREIGN = (
    *(".arff", ".arrow", ".db", ".feather", ".h5", ".hdf5", ".json", ".jsonl", ".npy", ".npz"),
    *(".ods", ".orc", ".pickle", ".pkl", ".tar", ".tgz", ".xls", ".xlsx", ".zip", ".zst"),
)


def read(
    path: str | os.PathLike[str] | BinaryIO | Piped | RowGroups,
    *,
    target: str | None = None,
    labels: str = "required",
    positive: Any = None,
    drop: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    n_features: int | None = None,
    format: str | None = None,
    sep: str | None = None,
    decimal: str = ".",
    text: bool | Sequence[str] = False,
    missing: bool | Sequence[str] = False,
    categories: Sequence[str] = (),
    dates: bool | Mapping[str, str] = False,
    weight: str | None = None,
    groups: str | None = None,
    time: str | None = None,
) -> Bunch:
    """Read rows and labels from a file.

    What looks like an ID or a code among columns of whole numbers gets a warning, unless a model
    asks for it (`columns`).

    Parameters
    ----------
    path : str, path-like or binary file
        ``.csv``, ``.tsv``, ``.parquet`` (or ``.pq``); any other name is svmlight text. Text may
        be compressed: ``.gz``, ``.bz2``, ``.xz``. An open file is CSV unless `format` says else.
    target : str, optional
        The label column of a CSV or Parquet file. By default the one column called target,
        label, y or class, in any case.
    labels : {"required", "optional", "none"}
        What to do about labels: fail without them, take them if they are there, or ignore them,
        and weights, groups and times with them. The label column is no feature in any case.
    positive : label, optional
        Give labels as +1 for this label and −1 for all others (int64). Text such as ``"1"``
        stands for the number, so it can come from a command line.
    drop : sequence of str
        Columns to leave out.
    columns : sequence of str, optional
        The features wanted, in this order; further columns are ignored.
    n_features : int, optional
        Number of features expected; svmlight rows are padded to it.
    format : {"svmlight", "csv", "tsv", "parquet"}, optional
        Overrides the file's suffix.
    sep : str, optional
        The character that separates the values of a CSV file; by default a comma (tab in TSV).
    decimal : {".", ","}
        What stands before the decimals in a CSV file.
    text : bool or sequence of str
        Whether text columns are taken as they are; a sequence names those to be read as text,
        and all others must be numbers. By default text is an error. With True, a text column is
        an error still if it holds dates, if more than half its values (and more than 20) differ,
        as ids do, or if it is one of numbers in which some are written otherwise ("1O.5",
        "0,125"): numbers in 9 of 10 values, or in half of them where more than 20 differ.
    missing : bool or sequence of str
        Whether missing values are taken, as NaN; a sequence names the columns that may have some.
        By default they are an error.
    categories : sequence of str
        Columns to be read as text whatever they hold, numbers among them; ``"01"`` stays so.
    dates : bool or mapping
        Whether columns of dates are taken, as days since 1970-01-01, the time of day as a
        fraction; without a zone it is taken for UTC. Times of day become fractions of a day. By
        default dates are an error. Text is a date in ISO's form (2024-01-31, 2024-01-31T18:00) or
        in another whose order of day and month is clear from its punctuation, its words or the
        whole column: 31.01.2024, 31/01/2024, 2024/01/31, 31 Jan 2024, Jan 31, 2024. A mapping
        gives the form of each date column, such as ``{"day": "%d/%m/%Y"}``.
    weight, groups, time : str, optional
        Columns that are no features, and have a value in every row: weights (numbers, 0 or more),
        what rows belong to (anything), and when they were (numbers or dates).

    Returns
    -------
    Bunch
        ``data`` (n, d): float64, finite but for what is missing; CSR with int32 indices from
        svmlight, C-contiguous from CSV and Parquet, an array of objects where columns are text.
        ``target`` (n,): int64 if all are whole numbers or booleans, else float64 or text; None
        without labels. ``feature_names``: list of str, None for svmlight. ``target_name``: the
        label column, or None. ``text``: names of the text columns. ``dates``: the form of each
        date column. ``weight``, ``groups``, ``time`` (n,): those columns, dates as days; None
        without them. ``name``, ``n_features``, ``files``.

    Raises
    ------
    DataFileError
        The file cannot be read, is empty, is written to meanwhile, or does not hold what is
        expected; the message names the file and the line (or column) and says what would be
        right. Where columns of a table stand in the way, it is a `TableError`, which names them
        all, and in its ``remedy`` the arguments that were found to solve it.
    ValueError
        An argument is not one of those above.
    """
    if labels not in _LABELS:
        raise ValueError(f"labels={labels!r} is not one of {', '.join(_LABELS)}")
    if any(isinstance(given, str) for given in (drop, columns, text, missing, categories)):
        raise ValueError(
            "drop, columns, text, missing and categories are lists of column names, not one string"
        )
    source = _source(path)
    reader = reader_of(source, format)
    choice = Choice(
        target,
        labels,
        tuple(drop),
        None if columns is None else tuple(columns),
        text if isinstance(text, bool) else tuple(text),
        missing if isinstance(missing, bool) else tuple(missing),
        tuple(categories),
        _dates(dates),
        _separator(sep, decimal, reader),
        decimal,
        by_place=columns is None and n_features is not None,
        weight=weight,
        groups=groups,
        time=time,
    )
    with unchanged(source):
        rows = _bunch(source, _opened(source, reader, choice, n_features))
    if positive is not None and rows.target is not None:
        rows.target = _one_positive(source, rows.target, positive)
    return rows


def _source(path: Any) -> Any:
    if isinstance(path, Piped | RowGroups):
        return path
    return (
        Piped(path, str(getattr(path, "name", "stream"))) if hasattr(path, "read") else Path(path)
    )


def _bunch(source: Any, found: Columns) -> Bunch:
    return rows_and_labels(
        source.name,
        found.X,
        found.y,
        [str(source)],
        feature_names=found.feature_names,
        target_name=found.target,
        text=found.text,
        dates=dict(found.dates),
        **found.aside,
    )


def _dates(dates: Any) -> bool | Mapping[str, str]:
    for form in dates.values() if isinstance(dates, Mapping) else ():
        if form not in EXAMPLES:
            raise ValueError(f"dates: {form!r} is not one of {', '.join(EXAMPLES)}")
    return dict(dates) if isinstance(dates, Mapping) else bool(dates)


def _separator(sep: str | None, decimal: str, reader: Reader) -> str | None:
    if decimal not in (".", ","):
        raise ValueError(f"decimal={decimal!r} must be '.' or ','")
    if (sep is not None or decimal != ".") and not reader.separated:
        raise ValueError(f"sep and decimal are for CSV files; this one is read as {reader.name}")
    if sep is not None and (len(sep) != 1 or not sep.isascii() or sep in '"\r\n' or sep.isalnum()):
        raise ValueError(f"sep={sep!r} must be one character, such as ';' or a tab")
    if sep == decimal:
        raise ValueError(f"sep and decimal are both {sep!r}; they must differ")
    return sep


def find_label(y: Any, label: Any) -> Any:
    """The label of `y` that is meant, for instance by a word on a command line.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels.
    label : label or str
        One of the labels, or its text: ``"1"``, ``"+1"`` and ``"1.0"`` all mean the number 1, and
        ``"true"`` and ``"false"`` mean 1 and 0 where these are labels.

    Returns
    -------
    label
        The label itself, as a Python object.

    Raises
    ------
    ValueError
        It is none of the labels, which the message lists.
    """
    known = np.unique(np.asarray(y)).tolist()
    text = str(label).strip()
    number = _number(_WORDS.get(text.lower(), text))
    for meaning in (label, text, number):
        for candidate in known:
            if candidate == meaning:
                return candidate
    for candidate in known:  # with space around it, as after the commas of some files
        if isinstance(candidate, str) and candidate.strip() == text:
            return candidate
    raise ValueError(f"no label {label!r}; the labels are {listing(known)}")


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _one_positive(path: Path, y: NDArray[Any], positive: Any) -> NDArray[np.int64]:
    try:
        label = find_label(y, positive)
    except ValueError as error:
        raise fault(path, str(error)) from None
    return np.where(np.asarray(y) == label, 1, -1).astype(np.int64)


def reader_of(path: Path | Piped, format: str | None) -> Reader:
    """The reader that is asked for, else that of the file's suffix."""
    if format is not None:
        if format not in READERS:
            raise ValueError(f"format={format!r} is not one of {', '.join(READERS)}")
        return READERS[format]
    if isinstance(path, Piped):
        return READERS["csv"]
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _FOREIGN and not path.is_dir():
        raise fault(
            path, f"{suffix} files are not read; convert to .csv, .tsv, .parquet or svmlight text"
        )
    known = (reader for reader in READERS.values() if suffix in reader.suffixes)
    return next(known, READERS["svmlight"])


def _opened(path: Path, reader: Reader, choice: Choice, n_features: int | None) -> Columns:
    """What a reader finds; an error says all that stands in the way, and what would solve it."""

    def columns(**more: Any) -> Columns:
        wanted = replace(choice, **{name: _added(choice, name, more[name]) for name in more})
        found = reader.open(path, wanted, n_features)
        names = found.feature_names
        if names is not None and n_features is not None and len(names) != n_features:
            raise fault(path, f"{len(names)} feature columns where {n_features} are expected")
        return found

    try:
        found = columns()
    except TableError as error:

        def again(remedy: dict[str, Any]) -> tuple[Bunch, Sequence[Obstacle]]:
            found = columns(**remedy)
            return _bunch(path, found), found.codes

        raise tried(error, again) from None
    for code in found.codes:
        warnings.warn(f"{path}: {code.sentence()}", DataWarning, stacklevel=3)
    return found


def _added(choice: Choice, name: str, value: Any) -> Any:
    """The value of a remedy; lists of columns come on top of those that were asked for."""
    return (*getattr(choice, name), *value) if isinstance(value, list) else value


# ---- the formats


@dataclass(frozen=True)
class Reader:
    """A format of files.

    Parameters
    ----------
    name : str
        As the argument ``format`` of `read` has it.
    suffixes : tuple of str
        How the names of its files end.
    open : callable
        (path, choice, n_features) to the columns that the choice wants.
    separated : bool
        Whether a character separates its values, so that ``sep`` and ``decimal`` apply.
    columns : callable, optional
        (path, sep) to the names of all columns; None where they have none.
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[Path, Choice, int | None], Columns]
    separated: bool = False
    columns: Callable[[Path, str | None], list[str]] | None = None


def _svmlight(path: Path, choice: Choice, n_features: int | None) -> Columns:
    """svmlight text; it has no column names, so arguments that give some are mistakes."""
    if choice.columns is not None:
        names = listing(choice.columns)
        raise fault(path, f"svmlight text has no column names, but these are needed: {names}")
    for name in ("target", "drop"):
        if getattr(choice, name):
            raise fault(
                path,
                f"svmlight text has no column names, so {name}= does not apply; the label is the "
                "first number of each line",
            )
    for name in choice.aside:
        raise fault(path, f"svmlight text has no column names, so {name}= does not apply")
    for name in ("text", "missing", "categories", "dates"):
        if getattr(choice, name):
            raise fault(path, f"svmlight text holds finite numbers only, so {name}= does not apply")
    return Columns(*read_svmlight(path, n_features, choice.labels))


def _separated(name: str, mark: str) -> Reader:
    return Reader(
        name,
        (f".{name}",),
        lambda path, choice, _: read_csv(path, mark, choice),
        separated=True,
        columns=lambda path, sep: csv_columns(path, sep or mark),
    )


READERS = {
    reader.name: reader
    for reader in (
        Reader("svmlight", (".svm", ".svmlight", ".libsvm"), _svmlight),
        _separated("csv", ","),
        _separated("tsv", "\t"),
        Reader(
            "parquet",
            (".parquet", ".pq"),
            lambda path, choice, _: read_parquet(path, choice),
            columns=lambda path, _: parquet_columns(path),
        ),
    )
}
