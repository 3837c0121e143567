"""The progress bar on a terminal; `aucmax.basics.progress` decides whether there is one."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task
from rich.table import Column
from rich.text import Text

from aucmax.basics.progress import Reading
from aucmax.basics.visible import in_line

__all__ = ["progress_bar"]


def progress_bar() -> Progress | None:
    """Return a bar on stderr, or None if stderr is not a terminal."""
    console = Console(stderr=True, markup=False, emoji=False)
    if not (console.file.isatty() or console.is_jupyter):
        return None
    count = CountColumn(time.monotonic())
    columns = (SpinnerColumn(), BarColumn(bar_width=12), count, TaskColumn())
    return Progress(*columns, console=console, transient=True, expand=True)


class CountColumn(ProgressColumn):
    """A column such as ``12 of 30, 0:14, best 0.9312``, or ``pass 3, 0:05 left``."""

    def __init__(self, started: float) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self.started = started

    def render(self, task: Task) -> Text:
        at: Reading | None = task.fields.get("reading")
        if at is not None:
            return Text(f"pass {at.number}{_left(at)}")
        count = "" if task.total is None else f"{task.completed:,.0f} of {task.total:,.0f}, "
        best = f", best {in_line(task.fields['best'])}" if task.fields.get("best") else ""
        return Text(f"{count}{_clock(time.monotonic() - self.started)}{best}")


class TaskColumn(ProgressColumn):
    """A column with the task, or ``1.2 M rows, 830,000/s, 340 MB/s``; cut off at the line's end."""

    def __init__(self) -> None:
        super().__init__(table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))

    def render(self, task: Task) -> Text:
        at: Reading | None = task.fields.get("reading")
        if at is None:
            return Text(in_line(task.description), style="dim")
        words = [f"{_short(at.rows)} rows"] if at.rows else []  # on a cluster not known at first
        if at.rows and at.seconds:
            words.append(f"{_short(at.rows / at.seconds)}/s")
        if at.size is not None and at.seconds:
            words.append(f"{at.size / at.seconds / 1e6:,.0f} MB/s")
        return Text(", ".join(words), style="dim")


def _left(at: Reading) -> str:
    if not at.share or at.share == 1:
        return ""
    return f", {_clock(at.seconds * (1 / at.share - 1))} left"


def _clock(time: float) -> str:
    """Return a time such as ``0:14`` or ``1:00:14``."""
    minutes, seconds = divmod(int(time), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _short(number: float) -> str:
    """Return a number such as ``830,000`` or ``1.25 M``."""
    return f"{number:,.0f}" if number < 1e6 else f"{number / 1e6:.2f} M"
