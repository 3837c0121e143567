"""The progress bar: the current task, how much is done, the time, and the best result so far.

Passes over rows in parts are shown on a separate line below it.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from aucmax.basics.needs import MissingPackage, needs

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Reading", "Working", "on_screen", "working"]


class Reading(NamedTuple):
    """The progress of a pass over rows in parts.

    ``seconds`` is the time since its start, ``share`` the share of parts read so far, ``size`` the
    bytes read so far; the latter two are None if unknown.
    """

    number: int
    rows: int
    seconds: float
    share: float | None = None
    size: float | None = None


class Working:
    """Work in progress, and its lines on the screen, if any.

    Parameters
    ----------
    screen : Progress, optional
        Where to show the work; by default it is not shown.
    task : str
        Name of the first task.
    """

    def __init__(self, screen: Progress | None = None, task: str = "") -> None:
        self._screen = screen
        if screen is not None:
            self._task = screen.add_task(task, total=None)
            self._reading = screen.add_task("", total=None, visible=False)

    def __call__(self, task: str) -> None:
        """Show a new task of unknown length."""
        if self._screen is not None:
            self._screen.update(self._task, completed=0, total=None, description=task, best="")
            self._screen.update(self._reading, visible=False)

    def at(self, completed: int, total: int, task: str, best: str = "") -> None:
        """Show the progress of a task.

        Parameters
        ----------
        completed, total : int
            Numbers of parts.
        task : str
            Name of the next part.
        best : str
            The best result so far.
        """
        if self._screen is not None:
            self._screen.update(
                self._task, completed=completed, total=total, description=task, best=best
            )

    def reads(self, at: Reading) -> None:
        """Show the progress of a pass over the rows."""
        if self._screen is not None:
            total = None if at.share is None else 1.0
            self._screen.update(
                self._reading, completed=at.share, total=total, reading=at, visible=True
            )


_SILENT = Working()
_shown = _SILENT


def on_screen() -> Working:
    """Return the work that is shown on the screen, or else work that shows nothing."""
    return _shown


@contextlib.contextmanager
def working(task: str, quiet: bool = False) -> Iterator[Working]:
    """Show on stderr that work is in progress while the block runs, if stderr is a terminal.

    Parameters
    ----------
    task : str
        Name of the work.
    quiet : bool
        Whether to show nothing.

    Yields
    ------
    Working
        Reports progress.
    """
    global _shown
    bar = None if quiet else _bar()
    if bar is None:
        yield _SILENT
        return
    with bar:
        _shown = Working(bar, task)
        try:
            yield _shown
        finally:
            _shown = _SILENT


def _bar() -> Progress | None:
    try:
        needs("rich", "a progress bar")  # imported late, because most fits show none
    except MissingPackage as missing:
        warnings.warn(str(missing), stacklevel=2)
        return None
    from aucmax.basics.progress_bar import progress_bar

    return progress_bar()
