"""Markdown tables, and the parameters that benchmarks have in common."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

Names = Annotated[list[str], typer.Argument(help="Names of data sets.")]


def line(cells: Iterable[Any]) -> str:
    """Return a row of a table."""
    escaped = (str(cell).replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def table(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table."""
    return "\n".join(map(line, [head, ["---"] * len(head), *rows]))


def show(head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a table, each row as soon as it comes."""
    print("\n" + table(head, []))
    for cells in rows:
        print(line(cells), flush=True)
