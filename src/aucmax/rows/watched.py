"""A source that is watched: how far each pass is, and what all of them read."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aucmax.basics.progress import Reading, on_screen
from aucmax.rows.source import Part, Source

__all__ = ["Watched"]


class Watched(Source):
    """The parts of another source, told to the progress bar as they are read, if there is one.

    Parameters
    ----------
    source : Source

    Attributes
    ----------
    passes : Counter
        Over all parts, so far: of files, and of temporary files, by `Stored.place`.
    read : Counter
        Bytes, so far, by the same; of passes that ended early, too.
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
        with self.one_pass() as seen:
            for part in self.source._read():
                seen(1, part.X.shape[0])
                yield part

    @contextmanager
    def one_pass(self) -> Iterator[Callable[[int, int], None]]:
        """Watch a pass; give what is to be called with how many more parts and rows were read."""
        started, number = time.monotonic(), self.passes.total() + 1
        place, size = self.source.stored
        count = rows = 0

        def seen(more_parts: int, more_rows: int) -> None:
            nonlocal count, rows
            count, rows = count + more_parts, rows + more_rows
            share = None if self._parts is None else count / self._parts
            so_far = None if size is None or share is None else share * size
            seconds = time.monotonic() - started
            on_screen().reads(Reading(number, rows, seconds, share, so_far))

        try:
            yield seen
            with self._lock:
                self._parts = count
                self.passes[place] += 1
        finally:
            with self._lock:
                self.read[place] += int((size or 0) * count / (self._parts or count or 1))
