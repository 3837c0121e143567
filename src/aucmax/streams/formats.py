"""Lines of a stream as rows: names with numbers, and a label.

A value that is missing, null in NDJSON or empty in CSV, is a feature that the row lacks.
"""

import csv
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from aucmax.datasets.tables.wanted import LABEL_NAMES

__all__ = ["FORMATS", "Row", "cells_of", "label_of", "parser"]

FORMATS = ("ndjson", "csv", "svmlight")


class Row(NamedTuple):
    """Values by name, and the label."""

    features: dict[str, Any]
    label: Any


Parser = Callable[[bytes], Row | None]


def parser(
    format: str,
    target: str | None = None,
    drop: Sequence[str] = (),
    sep: str = ",",
    header: Sequence[str] | None = None,
) -> Parser:
    """Return a function of a line that gives its row, or None for a line without one.

    It raises ValueError for a line that is no row.

    Parameters
    ----------
    format : {"ndjson", "csv", "svmlight"}
    target : str, optional
        The label's name; else the one called target, label, y or class.
    drop : sequence of str
        Names to leave out.
    sep : str
        Separator of CSV.
    header : sequence of str, optional
        The names of CSV.
    """
    if format == "svmlight":
        return _svmlight
    if format == "ndjson":
        return lambda line: _object(line, target, drop)
    assert header is not None
    at = header.index(_target(header, target))
    names = [None if i == at or name in drop else name for i, name in enumerate(header)]
    return lambda line: _cells(line, names, at, sep)


def _object(line: bytes, target: str | None, drop: Sequence[str]) -> Row | None:
    if not line.strip():
        return None
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError('expected an object such as {"age": 41, "label": 1}')
    name = _target(found, target)
    label = found.pop(name)
    if not isinstance(label, (bool, int, float, str)) or label != label:
        raise ValueError(f"the label {name!r} is {label!r}")
    for other in drop:
        found.pop(other, None)
    return Row({name: value for name, value in found.items() if value is not None}, label)


def _cells(line: bytes, names: list[str | None], at: int, sep: str) -> Row | None:
    text = line.decode("utf-8").strip("\r\n")
    if not text:
        return None
    cells = cells_of(text, sep)
    if len(cells) != len(names):
        raise ValueError(f"has {len(cells)} fields, the header has {len(names)}")
    row = {
        name: _number(cell, name)
        for name, cell in zip(names, cells, strict=True)
        if name is not None and cell
    }
    return Row(row, label_of(cells[at]))


def cells_of(text: str, sep: str) -> list[str]:
    """Return the fields of a line of CSV without its end."""
    if '"' not in text:
        return text.split(sep)
    try:
        return next(csv.reader([text], delimiter=sep))
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _svmlight(line: bytes) -> Row | None:
    label, *entries = line.partition(b"#")[0].decode("ascii").split() or [""]
    if not label:
        return None
    row: dict[str, float] = {}
    for entry in entries:
        index, colon, value = entry.partition(":")
        if not (colon and index.isdigit() and int(index)):
            raise ValueError(f"{entry!r} is not index:value, with indices from 1")
        name = str(int(index))
        if name in row:
            raise ValueError(f"the index {name} occurs twice")
        row[name] = _number(value, name)
    _number(label, "label")
    return Row(row, label_of(label))


def _target(names: Collection[str], target: str | None) -> str:
    """Return the name of the label."""
    for name in LABEL_NAMES if target is None else [target]:
        if name in names:
            return name
    wanted = "target, label, y or class" if target is None else repr(target)
    raise ValueError(f"there is no label, called {wanted}")


def _number(text: str, name: str) -> float:
    try:
        if "_" not in text:  # which float() takes for a digit separator
            return float(text)
    except ValueError:
        pass
    raise ValueError(f"feature {name!r} holds {text!r}; expected a number")


def label_of(text: str) -> Any:
    """Return a number where the text is one, whole where it is; else the text."""
    text = text.strip()
    if not text:
        raise ValueError("the label is empty")
    try:
        value = float(text)
    except ValueError:
        return text
    if value != value:
        raise ValueError(f"the label is {text!r}")
    return int(value) if value.is_integer() else value
