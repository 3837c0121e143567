"""Fits that resume where an interrupted run of the same command stopped.

Until its model is saved, a fit to rows in parts keeps in a file the coefficients after each pass,
and the optima of the cells that a search has finished. They only serve as starting points, so the
optimum of a resumed run is certified like any other.
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

SECONDS = 1.0  # at least, between saved coefficients; passes over large files take longer


class Trail:
    """The intermediate results of a command's fits, by name; without a file none are kept.

    Parameters
    ----------
    path : Path, optional
        The file.
    key : str
        A digest of the data and the settings; results with another key are dropped.
    counts : PassCounts, optional
        The passes of the command.

    Attributes
    ----------
    before : int
        The number of passes of interrupted runs.
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
        """The number of passes so far, including those of interrupted runs."""
        return self.before + (0 if self._counts is None else self._counts.passes.total())

    def last(self, name: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """Return the numbers that an interrupted run kept under a name, or None."""
        row = None if self._journal is None else self._journal.rows.pop(name, None)
        with contextlib.suppress(ValueError):  # of a file that was changed
            if row is not None:
                values = np.frombuffer(base64.b64decode(row["values"])).reshape(shape)
                return values.copy() if np.isfinite(values).all() else None
        return None

    def keep(self, name: str, values: np.ndarray) -> None:
        """Keep numbers under a name, replacing earlier ones."""
        if self._journal is None:
            return
        coded = base64.b64encode(values.tobytes()).decode()
        with self._lock:  # folds may be fitted on threads
            self._journal.add(name, {"of": self._key, "passes": self.passes, "values": coded})
            del self._journal.rows[name]
            self._kept_at = time.monotonic()

    def keeper(self, name: str, as_kept: Callable[[np.ndarray], np.ndarray]) -> Any:
        """Return a function that keeps an iterate, unless one was kept less than `SECONDS` ago."""

        def keep(w: np.ndarray) -> None:
            if time.monotonic() - self._kept_at >= SECONDS:
                self.keep(name, as_kept(w))

        return None if self._journal is None else keep


_NONE = Trail()
_open = _NONE


def trail() -> Trail:
    """Return the trail of the running command; by default one that keeps nothing."""
    return _open


@contextlib.contextmanager
def resumable(path: Path, key: str, counts: PassCounts) -> Iterator[Trail]:
    """Context in which fits keep intermediate results in a file, and start from those in it.

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
