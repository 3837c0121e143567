"""A source that reports the progress of each pass and counts what all passes read."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aucmax.basics.progress import Reading, on_screen
from aucmax.data.rows.source import Part, Source

__all__ = ["Watched"]


class Watched(Source):
    """The parts of another source, reported to the progress bar as they are read.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    passes : Counter
        Number of complete passes so far, by `Stored.place`.
    read : Counter
        Bytes read so far, by place, including passes that ended early.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.feature_names = source, source.feature_names
        self.target_name, self.loads = source.target_name, source.loads
        self.check = source.check
        self.passes: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self._parts = None if source.loads is None else len(source.loads)
        self._lock = threading.Lock()

    def name(self, k: int) -> str:
        return self.source.name(k)

    def load(self, k: int) -> Part:
        return self.source.load(k)

    def _read(self) -> Iterator[Part]:
        with self.one_pass() as report:
            for part in self.source._read():
                report(1, part.X.shape[0])
                yield part

    @contextmanager
    def one_pass(self) -> Iterator[Callable[[int, int], None]]:
        """Context of a pass; yields a function to report further parts and rows that were read."""
        started, number = time.monotonic(), self.passes.total() + 1
        place, size = self.source.stored
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
            with self._lock:
                self._parts = count
                self.passes[place] += 1
        finally:
            with self._lock:
                self.read[place] += int((size or 0) * count / (self._parts or count or 1))
