"""The lines of a stream's input behind those that its state has read.

What the state has read is compared with what the input begins with, so that no line of another file
is skipped.
"""

import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO

from aucmax.datasets.files import fault, opened
from aucmax.streams.state import State

__all__ = ["Input"]

_POLL_SECONDS = 0.1  # between looks at a file that has no more lines
_CHUNK_BYTES = 1 << 20
_TAIL_BYTES = 256  # last bytes read, by which a file that was written anew is told

Batches = Generator[list[bytes], None, str | None]


class Input:
    """Lines of a file or of standard input, in batches.

    Parameters
    ----------
    file : str
        A path, or ``-``.
    state : State
        The first ``state.offset`` bytes are those that it has read, and it learns each batch before
        it asks for the next.
    every : int
        A batch ends where the number of lines is a multiple of this.
    """

    def __init__(self, file: str, state: State, every: int) -> None:
        self.piped = file == "-"
        self.path = Path("standard input" if self.piped else file)
        self.state, self.every = state, every
        self._tail = b""

    def batches(self) -> Iterator[list[bytes]]:
        """Yield the lines to the end of the input; the last may lack its end.

        Raises
        ------
        DataFileError
            The input begins with other bytes than those that the state has read.
        """
        with self._opened() as source:
            self._skip(source)
            yield from self._lines(source, closed=True)

    def followed(self, idle: float | None, tell: Callable[[str], None]) -> Iterator[list[bytes]]:
        """Yield the lines of a file that grows, then those of the file that takes its place.

        That is another file of its name, or itself when it was emptied and written anew. Before its
        first line comes a batch without lines, of a state that knows of the new file.

        Parameters
        ----------
        idle : float, optional
            Seconds without a new line after which the lines end.
        tell : callable
            Told in words when another file is read.
        """
        while True:
            with self._opened() as source:
                self._skip(source)
                change = yield from self._growing(source, idle)
            if change is None:
                return
            tell(f"{self.path}: {change}")
            self.state.next_input()
            yield []

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.piped:
            yield sys.stdin.buffer
            return
        with opened(self.path) as source:
            yield source

    def _skip(self, source: BinaryIO) -> None:
        """Read what the state has read."""
        digest, rest, self._tail = 0, self.state.offset, b""
        while rest and (chunk := source.read(min(rest, _CHUNK_BYTES))):
            digest, rest = zlib.crc32(chunk, digest), rest - len(chunk)
            self._tail = chunk[-_TAIL_BYTES:]
        if rest:
            what = f"has fewer bytes than were read ({self.state.offset:,})"
        elif digest != self.state.digest:
            what = f"its first {self.state.offset:,} bytes are not those that were read"
        else:
            return
        raise fault(
            self.path,
            f"{what}: another file? Give the one that the state belongs to, or another state=; or "
            "from_here=True if all lines of this one are new",
        )

    def _lines(self, source: BinaryIO, closed: bool) -> Iterator[list[bytes]]:
        """Yield the lines that are there; if no more will come, the last may lack its end."""
        count, batch = self.state.lines, []
        for line in iter(source.readline, b""):
            if not (closed or line.endswith(b"\n")):
                break
            batch.append(line)
            self._tail = line[-_TAIL_BYTES:]
            count += 1
            if count % self.every == 0:
                yield batch
                batch = []
        if batch:
            yield batch

    def _growing(self, source: BinaryIO, idle: float | None) -> Batches:
        """Yield lines as they come; return what has become of the file, None if it is idle."""
        since = monotonic()
        while True:
            if self._rewritten(source):
                return (
                    "was emptied: going on from its beginning (what was written to it after byte "
                    f"{self.state.offset:,} and before that is lost)"
                )
            before = self.state.lines
            yield from self._lines(source, closed=False)
            if self._replaced(source):
                source.seek(self.state.offset)
                yield from self._lines(source, closed=True)
                return "was replaced: read to its end, going on with the new file"
            now = monotonic()
            if self.state.lines > before:
                since = now
            elif idle is not None and now - since >= idle:
                return None
            sleep(_POLL_SECONDS)

    def _rewritten(self, source: BinaryIO) -> bool:
        """Whether the last bytes that were read are no longer there; else go to their end."""
        source.seek(self.state.offset - len(self._tail))
        return source.read(len(self._tail)) != self._tail

    def _replaced(self, source: Any) -> bool:
        """Whether another file has the name and lines: until then the old one may get more."""
        try:
            named, mine = self.path.stat(), os.fstat(source.fileno())
        except FileNotFoundError:  # renamed, and the next one is yet to come
            return False
        return named.st_size > 0 and not os.path.samestat(named, mine)
