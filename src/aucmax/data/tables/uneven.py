"""Rows of CSV files with more or fewer cells than the header, and repeated headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aucmax.data.decisions import Decision
from aucmax.data.obstacles import Obstacle

__all__ = ["LEFT_OUT", "Oddity", "evened", "obstacles_of_lines", "told_of_lines"]

Oddity = tuple[str, str]  # what is odd about a line, and what is done about it

LEFT_OUT = "left out"
_MORE = "more cells than in the header", LEFT_OUT
_EMPTY = "further empty cells", "ignored"
_FEWER = "fewer cells than in the header", "read with gaps"
_AGAIN = "a repeated header", LEFT_OUT


def evened(
    row: list[str], header: list[str], each_counts: bool
) -> tuple[list[str] | None, Oddity | None]:
    """Return a row with as many cells as the header, and what was odd about it, if anything.

    The row is None if it is left out: a repeated header, or a row with further cells that are not
    empty. If each row counts, because each gets a score, only repeated headers are left out, and
    other rows remain unchanged.
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


def _by_oddity(oddities: Iterable[tuple[int, Oddity]]) -> dict[Oddity, list[int]]:
    lines: dict[Oddity, list[int]] = {}
    for line, oddity in oddities:
        lines.setdefault(oddity, []).append(line)
    return lines


def obstacles_of_lines(oddities: Iterable[tuple[int, Oddity]], path: Any = None) -> list[Obstacle]:
    """Return an obstacle for each kind of odd line; ``path`` is needed among several files."""
    of_file = "" if path is None else f" of {path}"
    return [
        Obstacle(
            f"{kind}{of_file}",
            kind + (f", in the first of {len(odd):,} such lines" if len(odd) > 1 else ""),
            f"correct the line, or let it be {done} (without strict=True)",
            f"line {odd[0]}{of_file}",
            {"strict": False},
        )
        for (kind, done), odd in _by_oddity(oddities).items()
    ]


def told_of_lines(oddities: Iterable[tuple[int, Oddity]]) -> list[Decision]:
    """Return the decision about odd lines, with one clause for each kind."""
    sentences = []
    for (kind, done), odd in _by_oddity(oddities).items():
        where = f"line {odd[0]}" if len(odd) == 1 else f"{len(odd):,} lines, the first {odd[0]}"
        sentences.append(f"{kind} in {where}: {done}")
    return [Decision("", "; ".join(sentences), doubtful=True)] if sentences else []
