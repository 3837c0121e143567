"""The progress bar of ``aucmax reproduce``, and its table on the screen."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

__all__ = ["bar", "plain_table"]


@contextlib.contextmanager
def bar(total: int, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Turn a progress bar with the time left on stderr; yields what to call after each job."""
    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield lambda words, seconds: None
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=screen, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda words, seconds: progress.update(task, advance=1, description=words)


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
