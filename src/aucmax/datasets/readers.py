"""Rows and labels from files: svmlight text, CSV and Parquet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.columns import Choice, Columns, read_csv, read_parquet
from aucmax.datasets.files import COMPRESSIONS, fault
from aucmax.datasets.svmlight import read_svmlight
from aucmax.datasets.transforms import listing

__all__ = ["Table", "find_label", "read"]

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}
_WORDS = {"true": 1, "false": 0}
_LABELS = ("required", "optional", "none")
# Refused at once: read as text they would fail with a puzzling first line.
_FOREIGN = (
    *(".arff", ".arrow", ".db", ".feather", ".h5", ".hdf5", ".json", ".jsonl", ".npy", ".npz"),
    *(".ods", ".orc", ".pickle", ".pkl", ".tar", ".tgz", ".xls", ".xlsx", ".zip", ".zst"),
)


@dataclass(frozen=True)
class Table:
    """Rows and labels read from a file.

    Parameters
    ----------
    X : csr_matrix or ndarray of shape (n, d), float64
        CSR with int32 indices from svmlight, C-contiguous from CSV and Parquet; finite.
    y : ndarray of shape (n,) or None
        Labels: int64 if all are whole numbers or booleans, else float64 or text.
    feature_names : list of str or None
        Column names; None for svmlight.
    target : str or None
        Name of the label column; None for svmlight, or if there is no such column.
    text : tuple of str
        Names of the columns that hold text. Where there are any, X is an array of objects:
        numbers, strings, and NaN for what is missing.
    """

    X: Any
    y: NDArray | None
    feature_names: list[str] | None = None
    target: str | None = None
    text: tuple[str, ...] = ()


def read(
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    labels: str = "required",
    positive: Any = None,
    drop: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    n_features: int | None = None,
    format: str | None = None,
    text: bool | Sequence[str] = False,
    missing: bool = False,
    categories: Sequence[str] = (),
) -> Table:
    """Read rows and labels from a file.

    Parameters
    ----------
    path : str or path-like
        ``.csv``, ``.tsv``, ``.parquet`` (or ``.pq``); any other name is svmlight text. Text may
        be compressed: ``.gz``, ``.bz2``, ``.xz``.
    target : str, optional
        The label column of a CSV or Parquet file. By default the one column called target,
        label, y or class, in any case.
    labels : {"required", "optional", "none"}
        What to do about labels: fail without them, take them if they are there, or ignore them.
        The label column is no feature in any case.
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
    text : bool or sequence of str
        Whether text columns are taken as they are; a sequence names those to be read as text,
        and all others must be numbers. By default text is an error. With True, a column of
        numbers in which some are written otherwise ("1O.5", "0,125") is an error too: one with
        numbers in 9 of 10 values, or in half of them where more than 20 values differ.
    missing : bool
        Whether missing values are taken, as NaN. By default they are an error.
    categories : sequence of str
        Columns to be read as text whatever they hold, numbers among them; ``"01"`` stays so.

    Returns
    -------
    Table
        Rows, labels and names.

    Raises
    ------
    DataFileError
        The file cannot be read, is empty, or does not hold what is expected; the message names
        the file and the line (or column) and says what would be right.
    ValueError
        An argument is not one of those above.
    """
    if labels not in _LABELS:
        raise ValueError(f"labels={labels!r} is not one of {', '.join(_LABELS)}")
    if any(isinstance(given, str) for given in (drop, columns, text, categories)):
        raise ValueError(
            "drop, columns, text and categories are lists of column names, not one string"
        )
    path = Path(path)
    kind = _format(path, format)
    choice = Choice(
        target,
        labels,
        tuple(drop),
        None if columns is None else tuple(columns),
        text if isinstance(text, bool) else tuple(text),
        missing,
        tuple(categories),
    )
    if kind == "svmlight":
        _refuse_names(path, choice)
        table = Table(*read_svmlight(path, n_features, labels))
    elif kind == "parquet":
        table = _named(path, read_parquet(path, choice), n_features)
    else:
        table = _named(path, read_csv(path, "\t" if kind == "tsv" else ",", choice), n_features)
    return table if positive is None or table.y is None else _one_positive(path, table, positive)


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
    raise ValueError(f"no label {label!r}; the labels are {listing(known)}")


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _one_positive(path: Path, table: Table, positive: Any) -> Table:
    try:
        label = find_label(table.y, positive)
    except ValueError as error:
        raise fault(path, str(error)) from None
    y = np.where(np.asarray(table.y) == label, 1, -1).astype(np.int64)
    return Table(table.X, y, table.feature_names, table.target, table.text)


def _format(path: Path, format: str | None) -> str:
    formats = ("svmlight", "csv", "tsv", "parquet")
    if format is not None:
        if format not in formats:
            raise ValueError(f"format={format!r} is not one of {', '.join(formats)}")
        return format
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _FOREIGN and not path.is_dir():
        raise fault(
            path, f"{suffix} files are not read; convert to .csv, .tsv, .parquet or svmlight text"
        )
    return _FORMATS.get(suffix, "svmlight")


def _refuse_names(path: Path, choice: Choice) -> None:
    """svmlight text has no column names, so arguments that give some are mistakes."""
    if choice.columns is not None:
        names = listing(choice.columns)
        raise fault(path, f"svmlight text has no column names, but these are needed: {names}")
    for given, flag in ((choice.target, "--target"), (choice.drop, "--drop")):
        if given:
            raise fault(
                path,
                f"svmlight text has no column names, so {flag} does not apply; the label is the "
                "first number of each line",
            )
    for wanted, flag in (
        (choice.text, "--one-hot"),
        (choice.missing, "--impute"),
        (choice.categories, "--category"),
    ):
        if wanted:
            raise fault(path, f"svmlight text holds finite numbers only, so {flag} does not apply")


def _named(path: Path, found: Columns, n_features: int | None) -> Table:
    if n_features is not None and len(found.feature_names) != n_features:
        raise fault(
            path, f"{len(found.feature_names)} feature columns where {n_features} are expected"
        )
    return Table(found.X, found.y, found.feature_names, found.target, found.text)
