"""The table of ``aucmax reproduce`` on the screen."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["plain_table"]


def plain_table(screen: Console, head: list[str], rows: list[list[str]]) -> None:
    """Print a table that fits 80 columns: a block for each data set."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for i, name in enumerate(head[1:]):
        words = (
            name.replace("difference in std", "diff\nin std")
            .replace("against it", "\nagainst")
            .replace("optimum", "\noptimum")
        )
        table.add_column(words, justify="left" if i == 0 else "right", no_wrap=True)
    last = None
    for data, *cells in rows:
        if data != last:
            table.add_row(Text(data, style="bold"))
            last = data
        table.add_row(*cells)
    screen.print(table)
