"""The first rows of a stream decide how the cells of all rows become features."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from aucmax.data.decisions import Decision
from aucmax.data.files import Piped
from aucmax.data.readers import rows_of
from aucmax.data.reading import FIRST_ROWS, Reading
from aucmax.data.tables.dialect import as_written, distinct
from aucmax.estimators.preparation import learnt
from aucmax.estimators.written_steps import as_text
from aucmax.streams.formats import Row, as_float, cells_of, text_of
from aucmax.streams.prepared import Prepared, as_word
from aucmax.streams.state import Settings

__all__ = ["FIRST_ROWS", "prepared_by"]

_LINES_TO_A_ROW = 25  # maximum number of lines up to the first row, with titles and a header


def prepared_by(
    lines: Iterator[bytes],
    settings: Settings,
    reading: Reading,
    steps: list[tuple[str, Any]] | None = None,
    waits: bool = False,
) -> tuple[Prepared | None, list[Decision], int]:
    """Return how a stream's rows become features, the decisions, and the number of title lines.

    The first value is None if cells need no preparation: if all are numbers, written as expected.
    It is also None for NDJSON objects whose columns are numbers; a missing feature is then 0.

    Parameters
    ----------
    lines : iterator of bytes
        The first `FIRST_ROWS` rows of these decide.
    settings : Settings
    reading : Reading
    steps : list of (str, transformer), optional
        Steps that are already known, such as those of a model.
    waits : bool
        Whether rows arrive over time: if the first has only numbers, no more are read.
    """
    first = list[bytes]()
    while waits and steps is None and len(first) < _LINES_TO_A_ROW:
        count = len(first)
        first += islice(lines, 1 if first else 2)
        look = _Look.at(first, settings, reading)
        if look.rows or len(first) == count:
            if look.is_plain:
                return None, look.decisions, look.titles
            break
    first += islice(lines, FIRST_ROWS + 1 - len(first))
    look = _Look.at(first, settings, reading)
    written = look.reading.sep or settings.sep, look.reading.decimal or ".", reading.strict
    if steps is not None:
        return Prepared(as_text(steps) or "", *written), look.decisions, look.titles
    if look.is_plain:
        return None, look.decisions, look.titles
    table = replace(
        look.reading, format="tsv", sep="\t", encoding=None, target=None, labels="none",
        weight=None, strata=None, drop=(), header=1,
    )  # fmt: skip
    learned = learnt(lambda how, of: iter([of(rows_of(look.table(), how))]), table, False, "none")
    steps = learned.steps
    if settings.format == "ndjson" and not steps[0][1].columns_:
        return None, [], 0
    # doubtful cells are counted row by row
    sure = [decision for decision in learned.decisions if not decision.doubtful]
    return Prepared(as_text(steps) or "", *written), [*look.decisions, *sure], look.titles


class _Look(NamedTuple):
    """What the first lines show.

    Parameters
    ----------
    reading : Reading
        With the separator and the decimal mark.
    decisions : list of Decision
        Decisions about the reading.
    rows : list of Row
        Cells by name, as written.
    is_plain : bool
        Whether all cells are numbers that a stream can take without preparation.
    """

    reading: Reading
    decisions: list[Decision]
    rows: list[Row]
    is_plain: bool

    @classmethod
    def at(cls, lines: list[bytes], settings: Settings, reading: Reading) -> _Look:
        """Look at lines, and leave out those that are not rows."""
        decisions: list[Decision] = []
        header, rest = None, lines
        if settings.format == "csv" and lines:
            text = Piped(io.BytesIO(b"".join(lines)), "")
            with_encoding = replace(reading, encoding=settings.encoding)
            reading, decisions = as_written(text, settings.sep, with_encoding)
            first, *rest = lines[(reading.header or 1) - 1 :]
            text_of_header = text_of(first, settings.encoding).lstrip("\ufeff").strip("\r\n")
            cells = cells_of(text_of_header, reading.sep or ",")
            header = distinct([cell.strip() for cell in cells])
        try:
            parse = settings.parser(header, reading.sep, numbers=False)
        except (ValueError, AssertionError):  # reported when the line is read
            return cls(reading, [], [], is_plain=True)
        rows: list[Row] = []
        for line in rest:
            try:
                row = parse(line)
            except (ValueError, RecursionError):
                continue
            if row is not None and row.weight:
                rows.append(row)
        is_csv = settings.format == "csv"
        usual = not is_csv or reading.sep == settings.sep
        plain = usual and all(_is_plain(row, is_csv) for row in rows)
        return cls(reading, decisions, rows, plain)

    @property
    def titles(self) -> int:
        """The number of lines above the header."""
        return (self.reading.header or 1) - 1

    def table(self) -> Piped:
        """Return the rows as text, with tabs between cells."""
        names = [*dict.fromkeys(name for row in self.rows for name in row.features)]
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        writer.writerow(names)
        writer.writerows([as_word(row.features.get(name)) for name in names] for row in self.rows)
        return Piped(io.BytesIO(text.getvalue().encode()), "the first rows")


def _is_plain(row: Row, is_text: bool) -> bool:
    """Return whether all cells of a row are numbers; in JSON, whether none is text."""
    cells = row.features.values()
    if not is_text:
        return not any(isinstance(cell, str) for cell in cells)
    return all(as_float(cell) is not None for cell in cells)
