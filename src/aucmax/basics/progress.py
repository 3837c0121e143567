"""The one progress bar: what runs, how much of it is done, for how long, and the best so far."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

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
    bar = None if quiet else _bar()
    if bar is None:
        yield Working()
        return
    with bar:
        yield Working(bar, what)


def _bar() -> Progress | None:
    from aucmax.basics.progress_bar import progress_bar  # rich, which most fits do without

    return progress_bar()
