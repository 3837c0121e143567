"""Rows of CSV files with more or fewer cells than the header, and headers that come again."""

from __future__ import annotations

from collections.abc import Iterable

from aucmax.data.decisions import Decision

__all__ = ["LEFT_OUT", "evened", "told_of_lines"]

LEFT_OUT = "left out"
_MORE = "more cells than in the header", LEFT_OUT
_EMPTY = "further cells, all empty,", "ignored"
_FEWER = "fewer cells than in the header", "read with gaps"
_AGAIN = "the header again", LEFT_OUT


def evened(
    row: list[str], header: list[str], each_counts: bool
) -> tuple[list[str] | None, tuple[str, str] | None]:
    """Return a row with as many cells as the header, and what was odd about it and done.

    The row is None if it is left out. Further cells may be empty. If each row counts, as where each
    gets a score, only a header that comes again is left out, and others remain as they are.
    """
    width = len(header)
    if [*map(str.strip, row[:width])] == [*map(str.strip, header)] and not any(row[width:]):
        return None, _AGAIN
    if each_counts:
        return row, None
    if any(map(str.strip, row[width:])):
        return None, _MORE
    oddity = None if len(row) == width else _FEWER if len(row) < width else _EMPTY
    return (row + [""] * (width - len(row)))[:width], oddity


def told_of_lines(oddities: Iterable[tuple[int, tuple[str, str]]]) -> list[Decision]:
    """Return what was decided about lines that are odd, in one sentence for each way."""
    lines: dict[tuple[str, str], list[int]] = {}
    for line, oddity in oddities:
        lines.setdefault(oddity, []).append(line)
    sentences = []
    for (kind, done), odd in lines.items():
        where = f"line {odd[0]}" if len(odd) == 1 else f"{len(odd):,} lines, the first {odd[0]}"
        sentences.append(f"{kind} in {where}: {done}")
    return [Decision("", "; ".join(sentences), doubtful=True)] if sentences else []
