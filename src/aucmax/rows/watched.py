"""A source that is watched: how far each pass is, and what all of them read."""

import threading
import time
from collections import Counter
from collections.abc import Iterator

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
        self.passes: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        self._parts = None if source.loads is None else len(source.loads)
        self._lock = threading.Lock()

    def name(self, k: int) -> str:
        return self.source.name(k)

    def load(self, k: int) -> Part:
        return self.source.load(k)

    def _read(self) -> Iterator[Part]:
        started, number = time.monotonic(), self.passes.total() + 1
        place, size = self.source.stored
        count = rows = 0
        try:
            for count, part in enumerate(self.source._read(), 1):
                rows += part.X.shape[0]
                share = None if self._parts is None else count / self._parts
                so_far = None if size is None or share is None else share * size
                seconds = time.monotonic() - started
                on_screen().reads(Reading(number, rows, seconds, share, so_far))
                yield part
            with self._lock:
                self._parts = count
                self.passes[place] += 1
        finally:
            with self._lock:
                self.read[place] += int((size or 0) * count / (self._parts or count or 1))
