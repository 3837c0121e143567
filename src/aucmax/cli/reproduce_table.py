"""The table of ``aucmax reproduce`` on the screen."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

__all__ = ["plain_table"]

# a head's words, broken so that the table fits 80 columns
_BREAKS = {
    "difference in std": "diff\nin std",
    " against it": "\nagainst",
    "square-loss optimum": "square-\nloss\noptimum",
}


def plain_table(
    screen: Console, head: list[str], rows: list[list[str]], absent: Mapping[str, str]
) -> None:
    """Print a table in 80 columns: a block for each data set, with a note on missing ones."""
    rows = [[row[0], row[1], "–", *row[3:]] if row[0] in absent else row for row in rows]
    names = _broken(head[1:])
    columns = zip(*names, *(row[1:] for row in rows), strict=True)
    widths = [max(map(len, column)) for column in columns]
    for line in names:
        screen.print(_line(line, widths), style="bold", soft_wrap=True)
    last = None
    for data, *cells in rows:
        if data != last:
            note = Text(absent.get(data, ""), style="dim")
            screen.print(Text(data, style="bold"), note, sep="  " if note else "", soft_wrap=True)
            last = data
        screen.print(_line(cells, widths), soft_wrap=True)


def _broken(names: Sequence[str]) -> list[list[str]]:
    """Return the lines of a head, with its words at the bottom."""
    parts = []
    for name in names:
        for phrase, broken in _BREAKS.items():
            name = name.replace(phrase, broken)
        parts.append(name.split("\n"))
    height = max(map(len, parts))
    return [list(line) for line in zip(*([""] * (height - len(p)) + p for p in parts), strict=True)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(cells, widths, strict=True)
    words = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]
    return " ".join(words).rstrip()
