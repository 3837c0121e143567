"""The one progress bar: what runs, how much of it is done, for how long, and the best so far."""

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

__all__ = ["Working", "working"]


class Working:
    """Work that is under way, and its line on the screen, if there is one.

    Parameters
    ----------
    screen : Progress, optional
        Where it is shown; None shows nothing.
    what : str
        What begins.
    """

    def __init__(self, screen: Progress | None = None, what: str = "") -> None:
        self._screen = screen
        if screen is not None:
            self._task = screen.add_task(what, total=None, best="")

    def __call__(self, what: str) -> None:
        """Say what begins, of which it is not known how far it is."""
        if self._screen is not None:
            self._screen.update(self._task, completed=0, total=None, description=what, best="")

    def at(self, done: int, total: int, what: str, best: str = "") -> None:
        """Say how far it is.

        Parameters
        ----------
        done, total : int
            Parts.
        what : str
            The part that begins.
        best : str
            The best result so far.
        """
        if self._screen is not None:
            self._screen.update(
                self._task, completed=done, total=total, description=what, best=best
            )


@contextlib.contextmanager
def working(what: str, quiet: bool = False) -> Iterator[Working]:
    """Show on stderr that work is under way while the block runs, on a terminal only.

    Parameters
    ----------
    what : str
        What runs.
    quiet : bool
        Show nothing at all.

    Yields
    ------
    Working
        What to call as the work goes on.
    """
    console = Console(stderr=True, markup=False, emoji=False)
    if quiet or not (console.file.isatty() or console.is_jupyter):
        yield Working()
        return
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
    with Progress(*columns, console=console, transient=True, expand=True) as screen:
        yield Working(screen, what)


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
