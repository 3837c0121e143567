"""Passes over a source: the parts they yield, and what they read, counted and shown."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from aucmax.basics.progress import Reading, on_screen

__all__ = ["Part", "PassCounts", "Stored"]


class Part(NamedTuple):
    """Some rows X (m, d), with their labels and weights (m,), and further columns, if any.

    ``told`` has what else the file contains about them (groups, time, strata) and the decisions; a
    spool keeps only the strata.
    """

    X: Any
    y: Any = None
    weight: Any = None
    kept: Any = None
    told: Mapping[str, Any] | None = None


class Stored(NamedTuple):
    """The place from which a pass reads the parts, and its size in bytes; None if unknown."""

    place: str
    size: int | None = None


class PassCounts:
    """Counts of what the passes over a source have read.

    Parameters
    ----------
    parts : int, optional
        Number of parts; unknown until the end of the first pass if None.

    Attributes
    ----------
    passes : Counter
        Number of complete passes, by `Stored.place`.
    read : Counter
        Bytes read, by place, including passes that ended early.
    """

    def __init__(self, parts: int | None) -> None:
        self.passes: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self._parts = parts

    @contextmanager
    def one_pass(self, stored: Stored) -> Iterator[Callable[[int, int], None]]:
        """Return a context for a pass, with a function that reports parts and rows it has read."""
        started, number = time.monotonic(), self.passes.total() + 1
        place, size = stored
        count = rows = 0

        def report(more_parts: int, more_rows: int) -> None:
            nonlocal count, rows
            count, rows = count + more_parts, rows + more_rows
            share = None if self._parts is None else count / self._parts
            so_far = None if size is None or share is None else share * size
            seconds = time.monotonic() - started
            on_screen().reads(Reading(number, rows, seconds, share, so_far))

        try:
            yield report
            self._parts = count
            self.passes[place] += 1
        finally:
            self.read[place] += int((size or 0) * count / (self._parts or count or 1))
