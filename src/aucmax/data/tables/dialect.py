"""How a CSV file is written: encoding, separator and decimal mark, by its first lines."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import Any

from aucmax.data.decisions import Decision
from aucmax.data.files import opened
from aucmax.data.reading import Reading

__all__ = ["WESTERN", "as_written", "not_utf8"]

_SEPARATORS = ",;\t|"
_SAMPLE_BYTES = 1 << 18
_SAMPLE_LINES = 200
WESTERN = "cp1252"  # what Windows writes in western Europe and America, unless it is UTF-8
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_ALIKE = 0.9  # share of lines with as many values as the header
# numbers whose last mark can only be a decimal mark
_DECIMAL = re.compile(
    r"[^0-9]*(?:[0-9]*|[0-9]{1,3}(?:[.,' \u00a0][0-9]{3})+)([.,])(?:[0-9]{1,2}|[0-9]{4,})[^0-9]*"
)
_NAMES = {"\t": "tabs", ";": "semicolons", "|": "vertical bars", ",": "commas"}


def as_written(path: Any, mark: str, reading: Reading) -> tuple[Reading, list[Decision]]:
    """Return how to read a CSV file, completed by what its first lines show, and what was decided.

    Parameters
    ----------
    path : Path
    mark : str
        The usual separator of such files.
    reading : Reading
        What it has is kept; without `prepare`, nothing is added.
    """
    if not reading.prepare:
        return reading, []
    with opened(path) as stream:
        start = stream.read(_SAMPLE_BYTES)
    decisions = []
    encoding = reading.encoding or _encoding(start)
    text = start.decode(encoding or "utf-8-sig", errors="ignore")
    lines = [*itertools.islice(io.StringIO(text, newline=""), _SAMPLE_LINES)]
    sep = reading.sep or _separator(lines, mark)
    decimal = reading.decimal or _decimal(lines, sep)
    if encoding != reading.encoding:
        decisions.append(not_utf8(str(encoding)))
    if reading.sep is None and sep != mark:
        decisions.append(Decision("", f"values are separated by {_NAMES[sep]}", {"sep": mark}))
    if reading.decimal is None and decimal == ",":
        decisions.append(Decision("", "numbers have decimal commas", {"decimal": "."}))
    return replace(reading, sep=sep, decimal=decimal, encoding=encoding), decisions


def not_utf8(encoding: str) -> Decision:
    """Return the decision that a text has another encoding."""
    return Decision("", f"read as {encoding}, as it is not UTF-8")


def _encoding(start: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8."""
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be cut
    except UnicodeDecodeError:
        return WESTERN
    return None


def _separator(lines: list[str], mark: str) -> str:
    """Return the character that divides most lines as it divides the header."""

    def columns(sep: str) -> int:
        counts = [len(row) for row in csv.reader(lines, delimiter=sep) if row]
        alike = sum(count == counts[0] for count in counts)
        return counts[0] if counts and alike >= _ALIKE * len(counts) else 0

    counts = {sep: columns(sep) for sep in dict.fromkeys(mark + _SEPARATORS)}
    return max(counts, key=lambda sep: counts[sep])


def _decimal(lines: list[str], sep: str) -> str:
    """Return the mark before the last digits of most numbers that show it."""
    rows = list(csv.reader(lines, delimiter=sep))[1:]
    shown = Counter(match[1] for row in rows for word in row if (match := _DECIMAL.fullmatch(word)))
    return "," if shown[","] > shown["."] and sep != "," else "."
