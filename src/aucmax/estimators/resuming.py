"""Fits that go on where an interrupted run of the same command ended.

What a fit to rows in parts finds is kept in a file until its model is saved: the coefficients after
each pass, and the optima of the cells that a search has finished. They are only points to start
from, so the optimum of a run that goes on is certified as that of any other.
"""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from aucmax.basics.journal import Journal, Row
from aucmax.data.rows.passes import PassCounts

__all__ = ["SECONDS", "Trail", "resumable", "trail"]

SECONDS = 1.0  # between coefficients that are kept, as passes over large files take longer


class Trail:
    """What the fits of a command have found, by name; without a file it keeps nothing.

    Parameters
    ----------
    path : Path, optional
        The file.
    key : str
        A digest of the data and the settings; what has another one is dropped.
    counts : PassCounts, optional
        The passes of the command.

    Attributes
    ----------
    before : int
        Passes of the runs that were interrupted.
    """

    def __init__(
        self, path: Path | None = None, key: str = "", counts: PassCounts | None = None
    ) -> None:
        self._key, self._counts, self._lock = key, counts, threading.Lock()
        self._journal = None if path is None else Journal(path, self._is_own)
        rows = {} if self._journal is None else self._journal.rows
        self.before = max((row["passes"] for row in rows.values()), default=0)
        self._kept_at = time.monotonic()

    def _is_own(self, row: Row) -> bool:
        return row["of"] == self._key and row["passes"] >= 0 and isinstance(row["values"], str)

    @property
    def passes(self) -> int:
        """Passes so far, with those of the runs that were interrupted."""
        return self.before + (0 if self._counts is None else self._counts.passes.total())

    def last(self, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """Return the numbers that an interrupted run has kept under a name, if there are any."""
        row = None if self._journal is None else self._journal.rows.pop(name, None)
        with contextlib.suppress(ValueError):  # of a file that was changed
            if row is not None:
                values = np.frombuffer(base64.b64decode(row["values"])).reshape(shape)
                return values.copy() if np.isfinite(values).all() else None
        return None

    def keep(self, name: str, values: np.ndarray) -> None:
        """Keep numbers under a name, in place of others."""
        if self._journal is None:
            return
        coded = base64.b64encode(values.tobytes()).decode()
        with self._lock:  # folds may be fitted on threads
            self._journal.add(name, {"of": self._key, "passes": self.passes, "values": coded})
            del self._journal.rows[name]
            self._kept_at = time.monotonic()

    def keeper(self, name: str, as_kept: Callable[[np.ndarray], np.ndarray]) -> Any:
        """Return a function of an iterate that keeps it, if the last one was kept a while ago."""

        def keep(w: np.ndarray) -> None:
            if time.monotonic() - self._kept_at >= SECONDS:
                self.keep(name, as_kept(w))

        return None if self._journal is None else keep


_NONE = Trail()
_open = _NONE


def trail() -> Trail:
    """Return what the running command keeps; by default nothing."""
    return _open


@contextlib.contextmanager
def resumable(path: Path, key: str, counts: PassCounts) -> Iterator[Trail]:
    """Context in which fits keep what they find in a file, and begin with what is there.

    The file is removed when the context ends without an error.

    Parameters
    ----------
    path, key, counts
        As for `Trail`.
    """
    global _open
    _open = Trail(path, key, counts)
    try:
        yield _open
        path.unlink(missing_ok=True)
    finally:
        _open = _NONE
