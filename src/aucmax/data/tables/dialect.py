"""The dialect of a CSV file: encoding, header, separator, decimal mark, from its first lines."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

from aucmax.data.decisions import Decision
from aucmax.data.files import Recoded, opened
from aucmax.data.reading import NUMBER, Reading

__all__ = ["TITLE_LINES", "WESTERN", "as_written", "distinct"]

_SEPARATORS = ",;\t|"
_SAMPLE_BYTES = 1 << 18
_SAMPLE_LINES = 200
TITLE_LINES = 20  # most lines above the header
WESTERN = "cp1252"  # Windows' encoding in western Europe and America, unless it writes UTF-8
_ALIKE = 0.9  # share of lines that must have as many values as the header
_EXCEL = re.compile(r"[\"]?sep=(.)[\"]?\s*", re.IGNORECASE)  # a line above the header
# numbers whose last mark can only be a decimal mark, and those whose marks separate thousands
_DECIMAL = re.compile(
    r"[^0-9]*(?:[0-9]*|[0-9]{1,3}(?:[.,' \u00a0][0-9]{3})+)([.,])(?:[0-9]{1,2}|[0-9]{4,})[^0-9]*"
)
_GROUPS = re.compile(r"[^0-9]*[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\1[0-9]{3})+[^0-9]*")
_EITHER = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")
_FEW_NUMBERS = 10  # least numbers that make a column of possible thousands
_NAMES = {"\t": "tabs", ";": "semicolons", "|": "vertical bars", ",": "commas"}


def as_written(path: Any, mark: str, reading: Reading) -> tuple[Reading, list[Decision]]:
    """Return how to read a CSV file, completed from its first lines, and the decisions about it.

    Parameters
    ----------
    path : Path
    mark : str
        The usual separator of such files.
    reading : Reading
        Its settings take precedence; without `prepare`, nothing is added.
    """
    if not (reading.prepare or reading.encoding):
        return reading, []
    with opened(path) as stream:
        start, recoded = stream.read(_SAMPLE_BYTES), isinstance(stream.raw, Recoded)
    utf16 = (reading.encoding or "").lower().replace("-", "").startswith("utf16")
    if utf16 and b"\0" not in start:
        reading = replace(reading, encoding=None)  # `opened` has recoded it as UTF-8
    if not reading.prepare:
        return reading, []
    decisions = [Decision("", "read as utf-16, as it is not UTF-8")] if recoded else []
    encoding = reading.encoding or _encoding(start)
    text = start.decode(encoding or "utf-8-sig", errors="ignore")
    lines = [*itertools.islice(io.StringIO(text, newline=""), _SAMPLE_LINES)]
    excel = _EXCEL.fullmatch(lines[0]) if lines else None
    sep, header = reading.sep or (excel[1] if excel else None), reading.header
    layouts = [_Layout.of(lines, char, reading, bool(excel)) for char in sep or mark + _SEPARATORS]
    layout = max(layouts, key=lambda layout: layout.fit)
    sep, header = layout.sep, layout.header
    decimal = reading.decimal or _decimal(layout.rows, sep)
    if encoding != reading.encoding:
        decisions.append(Decision("", f"read as {encoding}, as it is not UTF-8"))
    if any(line.strip() for line in lines[: header - 1]) and not reading.header:
        finding = f"line {header} names the columns; the lines above it are left out"
        decisions.append(Decision("", finding, {"header": 1}))
    if reading.sep is None and sep != mark:
        says = ", as line 1 says" if excel else ""
        finding = f"values are separated by {_NAMES.get(sep, repr(sep))}{says}"
        decisions.append(Decision("", finding, {"sep": mark}))
    if reading.decimal is None and decimal == ",":
        decisions.append(Decision("", "numbers have decimal commas", {"decimal": "."}))
    if reading.header is None:
        names = [name.strip() for name in layout.names]
        more = ((new, old) for new, old in zip(distinct(names), names, strict=True) if new != old)
        for new, old in more:
            finding = f"another column called {old!r}"
            decisions.append(Decision(new, finding, {"drop": [new]}, doubtful=reading.for_model))
    if reading.decimal is None:
        decisions += _either(layout, decimal, doubtful=reading.for_model)
    return replace(reading, sep=sep, decimal=decimal, encoding=encoding, header=header), decisions


def distinct(names: list[str]) -> list[str]:
    """Return names with a number added to repeated ones, such as ``amount_2``."""
    used, counts, unique = set(names), Counter[str](), []
    for name in names:
        counts[name] += 1
        new = name
        while name and counts[name] > 1 and new in used:
            new = f"{name}_{counts[name]}"
            counts[name] += new in used
        used.add(new)
        unique.append(new)
    return unique


def _encoding(start: bytes) -> str | None:
    """Return the encoding of text if it is not UTF-8: no non-ASCII letter in it is valid UTF-8."""
    return WESTERN if not start.isascii() and start.decode("utf-8", "ignore").isascii() else None


class _Layout(NamedTuple):
    """A file's first lines, split by a separator.

    Parameters
    ----------
    sep : str
    header : int
        The line that names the columns.
    fit : (bool, float)
        Whether the first line is the header and the others have as many values, and how many.
    names : list of str
    rows : list of lists of str
    """

    sep: str
    header: int
    fit: tuple[bool, float]
    names: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, lines: list[str], sep: str, reading: Reading, excel: bool) -> _Layout:
        """Split lines; titles above the header fill less than half of the columns."""
        first = reading.header or 1 + excel
        reader = csv.reader(lines[first - 1 :], delimiter=sep)
        numbered, begins = list[tuple[int, list[str]]](), first
        for row in reader:
            if row:
                numbered.append((begins, row))
            begins = first + reader.line_num  # a quoted value may span several lines
        ((width, _),) = Counter(len(row) for _, row in numbered).most_common(1) or [(0, 0)]
        filled = [sum(map(bool, map(str.strip, row))) for _, row in numbered]
        k = next(
            (k for k, (_, row) in enumerate(numbered) if 2 * filled[k] >= width == len(row)), 0
        )
        cells = {name.strip() for _, row in numbered[:1] for name in row}
        if k and (
            reading.header or reading.target in cells or k > TITLE_LINES or k + 2 > len(numbered)
            or 2 * max(filled[:k]) > width or any(map(NUMBER.fullmatch, numbered[k][1]))
        ):  # fmt: skip
            k, width = 0, len(numbered[0][1])
        rows = [row for _, row in numbered[k:]]
        alike = sum(len(row) == width for row in rows) >= _ALIKE * len(rows)
        header = reading.header or (numbered[k][0] if numbered else 1)
        # a header of several names above uneven lines is better than a single column
        uneven = 1.5 if rows and len(rows[0]) > 1 else 0.0
        fit = (width > 1 and k == 0, width) if alike else (False, uneven)
        return cls(sep, header, fit, rows[0] if rows else [], rows[1:])


def _decimal(rows: list[list[str]], sep: str) -> str:
    """Return the decimal mark that most of the unambiguous numbers have."""
    words = [word for row in rows for word in row]
    shown = Counter(match[1] for word in words if (match := _DECIMAL.fullmatch(word)))
    groups = Counter(match[1] for word in words if (match := _GROUPS.fullmatch(word)))
    return "," if shown[","] + groups["."] > shown["."] + groups[","] and sep != "," else "."


def _either(layout: _Layout, decimal: str, doubtful: bool) -> list[Decision]:
    """Return doubts about columns such as 5.533, if nothing in the file shows a decimal point.

    A comma as the separator shows one, because files with decimal commas avoid it.
    """
    words = (word for row in layout.rows for word in row)
    if decimal == "," or layout.sep == "," or any(map(_DECIMAL.fullmatch, words)):
        return []
    doubts = []
    for name, cells in zip(layout.names, zip(*layout.rows, strict=False), strict=False):
        filled = [cell.strip() for cell in cells if cell.strip()]
        if len(filled) >= _FEW_NUMBERS and all(map(_EITHER.fullmatch, filled)):
            finding = f"{filled[0]!r} is read with a decimal point, but it may separate thousands"
            doubts.append(Decision(name.strip(), finding, {"decimal": ","}, doubtful))
    return doubts
