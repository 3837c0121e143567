"""The progress bar on a terminal; `aucmax.basics.progress` decides whether there is one."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

__all__ = ["progress_bar"]


def progress_bar() -> Progress | None:
    """Return a bar on stderr, or None where that is no terminal."""
    console = Console(stderr=True, markup=False, emoji=False)
    if not (console.file.isatty() or console.is_jupyter):
        return None
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=12),
        _Count(time.monotonic()),
        # what does not fit into the line is cut off
        TextColumn(
            "{task.description}",
            style="dim",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
    )
    return Progress(*columns, console=console, transient=True, expand=True)


class _Count(ProgressColumn):
    """``12 of 30, 0:14, best 0.9312``."""

    def __init__(self, started: float) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self.started = started

    def render(self, task: Task) -> Text:
        minutes, seconds = divmod(int(time.monotonic() - self.started), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
        count = "" if task.total is None else f"{task.completed:,.0f} of {task.total:,.0f}, "
        best = f", best {task.fields['best']}" if task.fields["best"] else ""
        return Text(f"{count}{clock}{best}")
