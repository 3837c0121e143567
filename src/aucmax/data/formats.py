"""The formats of the files of known data sets: svmlight text and the publishers' own formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.sparse import sp
from aucmax.data.files import fault, opened
from aucmax.data.registry import Part
from aucmax.data.svmlight import read_svmlight

__all__ = ["FORMATS", "parse", "with_most_rows"]

Rows: TypeAlias = "tuple[sp.csr_matrix, NDArray[Any]]"

# magic04: gamma (signal) and hadron (background)
_MAGIC_LABELS = {"g": 1, "h": -1}
# kddcup04: columns in which 999 and 9999 mean a missing value, counted from 1 after the row's
# number and its label
_PHY_COLUMNS = 78
_PHY_MISSING = (20, 21, 22, 29, 44, 45, 46, 55)


def parse(path: Path, part: Part) -> Rows:
    """Return rows and labels of one file of a data set, after a check of their shape.

    Several labels of a row stay together, as bytes such as ``b"33,59"``.
    """
    X, y = FORMATS["magic" if path.name.endswith(".data") else part.format](path, part)
    shape = (X.shape[0] if part.n_samples is None else part.n_samples, part.n_features)
    if X.shape != shape:
        raise fault(
            path,
            f"{X.shape[0]} rows of {X.shape[1]} features where {part.stem} has {shape[0]} "
            f"of {shape[1]}: the file is not complete, or not this data set",
        )
    return X, y


def with_most_rows(parts: Iterable[NDArray[Any]]) -> list[NDArray[np.int64]]:
    """Return, for each part of a data set, +1 for rows with the most frequent label, else −1.

    Ties go to the smaller label.
    """
    rows = [_label_lists(y) for y in parts]
    counts = Counter(label for part in rows for labels in part for label in set(labels))
    most = min(counts, key=lambda label: (-counts[label], label))
    return [np.array([1 if most in labels else -1 for labels in part]) for part in rows]


def _label_lists(y: NDArray[Any]) -> list[list[int]]:
    if y.dtype.kind != "S":
        return [[label] for label in y.tolist()]
    return [[int(label) for label in row.split(b",") if label] for row in y.tolist()]


def _svmlight(path: Path, part: Part) -> Rows:
    X, labels, _ = read_svmlight(path, part.n_features, "required")
    return X, np.asarray(labels)


def _multilabel(path: Path, part: Part) -> Rows:
    return _labelled(path, part.n_features)


def _occurring(path: Path, part: Part) -> Rows:
    """Read several labels per row; features that no row has are left out."""
    X, labels = _labelled(path, None)
    return X[:, np.unique(X.indices)].tocsr(), labels


def _labelled(path: Path, n_features: int | None) -> Rows:
    X, labels, _ = read_svmlight(path, n_features, "several")
    if labels is None:
        raise fault(path, "no row has a label; rows look like '33,59 3:0.5 7:2'")
    return X, labels


def _magic(path: Path, part: Part) -> Rows:
    """Read UCI's format of magic04: ten numbers and g or h, comma-separated, without a header."""
    with opened(path) as stream:
        try:
            lines = [line.split(",") for line in stream.read().decode().split()]
            y = np.array([_MAGIC_LABELS[line.pop()] for line in lines])
            return sp.csr_matrix(np.array(lines, dtype=np.float64)), y.astype(np.int64)
        except (ValueError, KeyError) as error:
            raise fault(path, f"not UCI's magic04.data ({error})") from None


def _phy(path: Path, part: Part) -> Rows:
    """Read KDD Cup 2004's format: row number, label, 78 numbers, separated by white space."""
    with opened(path) as stream:
        try:
            table = np.loadtxt(stream, ndmin=2)
        except ValueError as error:
            raise fault(path, f"not KDD Cup 2004's phy_train.dat ({error})") from None
    if table.shape[1] != 2 + _PHY_COLUMNS or not np.isin(table[:, 1], (0, 1)).all():
        raise fault(
            path,
            "not KDD Cup 2004's phy_train.dat: each line has a number, the label 0 or 1, and "
            f"{_PHY_COLUMNS} features",
        )
    X = np.delete(table[:, 2:], np.subtract(_PHY_MISSING, 1), axis=1)
    return sp.csr_matrix(X[:, np.any(X != 0, axis=0)]), table[:, 1].astype(np.int64)


FORMATS: dict[str, Callable[[Path, Part], Rows]] = {
    "svmlight": _svmlight,
    "multilabel": _multilabel,
    "multilabel-occurring": _occurring,
    "magic": _magic,
    "phy": _phy,
}
