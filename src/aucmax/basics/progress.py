"""The one progress bar: what runs, how much of it is done, for how long, and the best so far.

Rows that are read in parts have a line of their own beneath it.
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
    """How far a pass over rows in parts is, after some seconds of it.

    ``share`` is that of all parts, ``size`` the bytes that were read; None where not known.
    """

    number: int
    rows: int
    seconds: float
    share: float | None = None
    size: float | None = None


class Working:
    """Work that is under way, and its lines on the screen, if there are any.

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
            self._task = screen.add_task(what, total=None)
            self._reading = screen.add_task("", total=None, visible=False)

    def __call__(self, what: str) -> None:
        """Say what begins, of which it is not known how far it is."""
        if self._screen is not None:
            self._screen.update(self._task, completed=0, total=None, description=what, best="")
            self._screen.update(self._reading, visible=False)

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

    def reads(self, at: Reading) -> None:
        """Say how far the rows are read."""
        if self._screen is not None:
            total = None if at.share is None else 1.0
            self._screen.update(
                self._reading, completed=at.share, total=total, reading=at, visible=True
            )


_SILENT = Working()
_shown = _SILENT


def on_screen() -> Working:
    """Return the work whose lines are on the screen; one that shows nothing if there are none."""
    return _shown


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
    global _shown
    bar = None if quiet else _bar()
    if bar is None:
        yield _SILENT
        return
    with bar:
        _shown = Working(bar, what)
        try:
            yield _shown
        finally:
            _shown = _SILENT


def _bar() -> Progress | None:
    try:
        needs("rich", "a progress bar")  # most fits do without
    except MissingPackage as missing:
        warnings.warn(str(missing), stacklevel=2)
        return None
    from aucmax.basics.progress_bar import progress_bar

    return progress_bar()
