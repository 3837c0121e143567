"""Parsing a stream's lines into rows: numbers by name, a label, and a weight.

A missing value, null in NDJSON or empty in CSV, means that the row lacks the feature.
"""

import codecs
import csv
import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from aucmax.basics.visible import counted
from aucmax.data.strata import QUERY
from aucmax.data.tables.dialect import WESTERN
from aucmax.data.tables.wanted import LABEL_NAMES

__all__ = [
    "FORMATS", "Row", "as_float", "cells_of", "check_roles", "encoding_of", "format_of", "label_of",
    "parser", "text_of",
]  # fmt: skip

FORMATS = ("ndjson", "csv", "svmlight")
_ENTRY = re.compile(rb"\S+\s+[0-9]+:\S")  # a label, an index and the beginning of its value
_MAX_WEIGHT = 1e50  # squares of sums of weights must not overflow


class Row(NamedTuple):
    """Values by name, the label, and the weight and the stratum of the row."""

    features: dict[str, Any]
    label: Any
    weight: float = 1.0
    stratum: Any = None


Parser = Callable[[bytes], Row | None]


def parser(
    format: str,
    target: str | None = None,
    drop: Sequence[str] = (),
    sep: str = ",",
    header: Sequence[str] | None = None,
    weight: str | None = None,
    encoding: str | None = None,
    numbers: bool = True,
    strata: str | None = None,
) -> Parser:
    """Return a function that parses a line into a row, or None if the line has none.

    The function raises ValueError for an invalid line.

    Parameters
    ----------
    format : {"ndjson", "csv", "svmlight"}
    target : str, optional
        The label's name; by default target, label, y or class.
    drop : sequence of str
        Names to leave out.
    sep : str
        Separator of CSV.
    header : sequence of str, optional
        The column names of CSV.
    weight : str, optional
        The name of the rows' weights, in NDJSON and CSV.
    encoding : str, optional
        The encoding of NDJSON and CSV, as `encoding_of` returns it; by default that of `text_of`.
    numbers : bool
        Whether the cells of CSV are numbers; otherwise all are returned as text, including gaps.
    strata : str, optional
        The name of the rows' strata; ``qid`` in svmlight.
    """
    if format == "svmlight":
        if strata not in (None, QUERY):
            raise ValueError(f"svmlight text has its strata in {QUERY}: fields; name them {QUERY}.")
        return lambda line: _svmlight(line, strata is not None)
    if format == "ndjson":
        return lambda line: _object(text_of(line, encoding), target, drop, weight, strata)
    assert header is not None
    at = header.index(_target(header, target))
    check_roles(header[at], drop, weight, strata)
    aside = {"weights": weight, "strata": strata}
    for role, name in aside.items():
        if name is not None and name not in header:
            raise ValueError(f"there is no column of {role} called {name!r}")
    places = [None if name is None else header.index(name) for name in aside.values()]
    left_out = (at, *places)
    names = [None if i in left_out or name in drop else name for i, name in enumerate(header)]
    read = _number if numbers else _as_written
    return lambda line: _cells(text_of(line, encoding), names, at, sep, places, read)


def check_roles(
    label: str | None, drop: Sequence[str], weight: str | None, strata: str | None
) -> None:
    """Raise ValueError if the column of the weights or of the strata has another role."""
    dropped = [name for name in drop if name != weight]  # weights are never features
    roles = dict.fromkeys(dropped, "dropped") | {label: "the label"}
    for role, name in {"the weight of the rows": weight, "their strata": strata}.items():
        if name is not None and name in roles:
            raise ValueError(f"column {name!r} is both {roles[name]} and {role}")
        roles[name] = role


def text_of(line: bytes, encoding: str | None) -> str:
    """Return the text of a line, by default UTF-8, or Windows' encoding if it is not UTF-8."""
    try:
        return line.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        if encoding is None:
            return line.decode(WESTERN, "replace")
        name = "UTF-8" if encoding == "utf-8" else encoding
        raise ValueError(
            f"not {name} text; name its encoding (encoding='cp1252'), or save it as UTF-8"
        ) from None


def encoding_of(name: str) -> str:
    """Return Python's name for an encoding; ValueError unless its lines can be split by bytes."""
    try:
        python_name = codecs.lookup(name).name
        if "\n".encode(python_name) == b"\n":
            return python_name
    except (LookupError, TypeError):  # TypeError: a codec that is not for text
        raise ValueError(
            f"there is no text encoding called {name!r}; some are utf-8, latin-1, cp1252, gbk."
        ) from None
    raise ValueError(
        f"lines in {python_name} cannot be split by bytes; convert them to UTF-8 first."
    )


def format_of(line: bytes) -> str:
    """Return the format of a stream, judged by its first line; NDJSON if that is blank."""
    text = line.removeprefix(b"\xef\xbb\xbf").strip()
    if _ENTRY.match(text):
        return "svmlight"
    return "csv" if text and text[:1] not in b"{[" else "ndjson"


def _object(
    text: str, target: str | None, drop: Sequence[str], weight: str | None, strata: str | None
) -> Row | None:
    if not text.strip():
        return None
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError('expected an object such as {"age": 41, "label": 1}')
    name = _target(values, target)
    if name in (weight, strata):
        check_roles(name, drop, weight, strata)
    label = values.pop(name)
    if not isinstance(label, (bool, int, float, str)) or label != label:
        raise ValueError(f"the label {name!r} is {label!r}")
    row_weight = 1.0 if weight is None else _weight(values.pop(weight, None))
    stratum = None if strata is None else values.pop(strata, None)
    if strata is not None and (stratum is None or stratum != stratum):
        raise ValueError(f"the stratum {strata!r} is missing")
    if strata is not None and not isinstance(stratum, (int, float, str)):
        raise ValueError(f"the stratum {strata!r} is {stratum!r}")
    for dropped in drop:
        values.pop(dropped, None)
    features = {name: value for name, value in values.items() if value is not None}
    return Row(features, label, row_weight, stratum)


def _cells(
    text: str,
    names: list[str | None],
    at: int,
    sep: str,
    places: Sequence[int | None],
    read: Callable[[str, str], Any],
) -> Row | None:
    text = text.strip("\r\n")
    if not text:
        return None
    cells = cells_of(text, sep)
    if len(cells) != len(names):
        raise ValueError(f"has {counted(len(cells), 'field')}, the header has {len(names)}")
    row = {
        name: read(cell, name)
        for name, cell in zip(names, cells, strict=True)
        if name is not None and (cell or read is _as_written)
    }
    weight, stratum = (None if place is None else cells[place] for place in places)
    return Row(
        row,
        label_of(cells[at]),
        1.0 if weight is None else _weight(as_float(weight)),
        None if stratum is None else _stratum(stratum),
    )


def _stratum(cell: str) -> str:
    """Return the stratum that a cell names."""
    if not (word := cell.strip()):
        raise ValueError("the stratum is missing")
    return word


def cells_of(text: str, sep: str) -> list[str]:
    """Return the fields of a CSV line without its line end."""
    if '"' not in text:
        return text.split(sep)
    try:
        return next(csv.reader([text], delimiter=sep))
    except csv.Error as error:
        raise ValueError(str(error)) from None


def _svmlight(line: bytes, within: bool) -> Row | None:
    label, *entries = line.partition(b"#")[0].decode("ascii").split() or [""]
    if not label:
        return None
    query, stratum = f"{QUERY}:", None
    if entries and entries[0].startswith(query):
        if not within:
            raise ValueError(
                f"the row has a {QUERY}, but the stream has no strata: use strata={QUERY}"
            )
        stratum = label_of(entries.pop(0).removeprefix(query), "stratum")
    elif within:
        raise ValueError(f"the row has no {QUERY}:")
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
    return Row(row, label_of(label), stratum=stratum)


def _target(names: Collection[str], target: str | None) -> str:
    """Return the name of the label."""
    for name in LABEL_NAMES if target is None else [target]:
        if name in names:
            return name
    expected = "target, label, y or class" if target is None else repr(target)
    raise ValueError(f"there is no label, called {expected}")


def _number(text: str, name: str) -> float:
    value = as_float(text)
    if value is None:
        raise ValueError(f"feature {name!r} holds {text!r}; expected a number")
    return value


def _as_written(text: str, name: str) -> str:
    return text


def as_float(text: str) -> float | None:
    """Return a text as a number, or None if it is not a number."""
    try:
        return None if "_" in text else float(text)  # float() accepts _ as a digit separator
    except ValueError:
        return None


def _weight(value: Any) -> float:
    if (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value <= _MAX_WEIGHT
    ):
        return float(value)
    raise ValueError(f"the weight is {value!r}; expected a number from 0 to {_MAX_WEIGHT:g}")


def label_of(text: str, what: str = "label") -> Any:
    """Return a text as an int or float if it is a number, otherwise the text."""
    text = text.strip()
    if not text:
        raise ValueError(f"the {what} is empty")
    try:
        value = float(text)
    except ValueError:
        return text
    if value != value:
        raise ValueError(f"the {what} is {text!r}")
    return int(value) if value.is_integer() else value
