"""The lines of a stream's input that its state has not read yet.

The beginning of the input must equal the bytes that the state has read, so that no lines of another
file are skipped.
"""

import io
import os
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO

from aucmax.data.files import fault, opened
from aucmax.streams.state import State

__all__ = ["Input"]

_POLL_SECONDS = 0.1  # between checks of a file for new lines
_CHUNK_BYTES = 1 << 20
_TAIL_BYTES = 256  # last bytes read, which show whether a file was rewritten

Batches = Generator[list[bytes], None, str | None]


class Input:
    """Lines of a file or of standard input, in batches.

    Parameters
    ----------
    file : str
        A path, or ``-``.
    state : State
        It has read the first ``state.offset`` bytes, and learns each batch before the next is
        requested.
    every : int
        A batch ends when the number of lines is a multiple of this.
    line : bytes
        The first line of standard input, if already read.
    """

    def __init__(self, file: str, state: State, every: int, line: bytes = b"") -> None:
        self.piped = file == "-"
        self.path = Path("standard input" if self.piped else file)
        self.state, self.every = state, every
        self._tail, self._held = b"", line

    def first(self) -> Iterator[bytes]:
        """Yield the first lines, which remain to be read."""
        if not self.piped:
            with opened(self.path) as source:
                yield from source
            return
        if self._held:
            yield self._held
        for line in iter(sys.stdin.buffer.readline, b""):
            self._held += line
            yield line

    def batches(self) -> Iterator[list[bytes]]:
        """Yield the lines up to the end of the input; the last may lack its line end.

        Raises
        ------
        DataFileError
            If the input does not begin with the bytes that the state has read.
        """
        with self._opened() as source:
            self._skip(source)
            yield from self._lines(source, closed=True)

    def followed(self, idle: float | None, tell: Callable[[str], None]) -> Iterator[list[bytes]]:
        """Yield the lines of a file that grows, then those of the file that replaces it.

        The replacement is another file with the same name, or the same file after it was emptied.
        An empty batch precedes its first line; by then the state refers to the new file.

        Parameters
        ----------
        idle : float, optional
            Seconds without a new line after which to stop.
        tell : callable
            Called with a message when another file is read.
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
    def _opened(self) -> Iterator[Any]:
        if self.piped:
            yield _Held(self._held, sys.stdin.buffer)
            return
        with opened(self.path) as source:
            yield source

    def _skip(self, source: BinaryIO) -> None:
        """Skip the bytes that the state has read, and check them."""
        digest, rest, self._tail = 0, self.state.offset, b""
        while rest and (chunk := source.read(min(rest, _CHUNK_BYTES))):
            digest, rest = zlib.crc32(chunk, digest), rest - len(chunk)
            self._tail = chunk[-_TAIL_BYTES:]
        if rest:
            problem = f"has fewer bytes than were read ({self.state.offset:,})"
        elif digest != self.state.digest:
            problem = f"its first {self.state.offset:,} bytes are not those that were read"
        else:
            return
        raise fault(
            self.path,
            f"{problem}: another file? Give the one that the state belongs to, or another state=; "
            "or from_here=True if all lines of this one are new",
        )

    def _lines(self, source: BinaryIO, closed: bool) -> Iterator[list[bytes]]:
        """Yield the available lines; if the input is closed, the last may lack its line end."""
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
        """Yield lines as they arrive; return what happened to the file, or None if it is idle."""
        since = monotonic()
        while True:
            if self._rewritten(source):
                return (
                    "was emptied: continuing from its beginning (lines written after byte "
                    f"{self.state.offset:,} and before it was emptied are lost)"
                )
            before = self.state.lines
            yield from self._lines(source, closed=False)
            if self._replaced(source):
                source.seek(self.state.offset)
                yield from self._lines(source, closed=True)
                return "was replaced: read to its end, continuing with the new file"
            now = monotonic()
            if self.state.lines > before:
                since = now
            elif idle is not None and now - since >= idle:
                return None
            sleep(_POLL_SECONDS)

    def _rewritten(self, source: BinaryIO) -> bool:
        """Return whether the last bytes read have changed; if not, seek to their end."""
        source.seek(self.state.offset - len(self._tail))
        return source.read(len(self._tail)) != self._tail

    def _replaced(self, source: Any) -> bool:
        """Return whether a non-empty file has taken the name; until then the old one may grow."""
        try:
            named, mine = self.path.stat(), os.fstat(source.fileno())
        except FileNotFoundError:  # renamed, and the next file does not exist yet
            return False
        return named.st_size > 0 and not os.path.samestat(named, mine)


class _Held:
    """A stream whose first bytes have already been read."""

    def __init__(self, held: bytes, rest: BinaryIO) -> None:
        self._held, self._rest = io.BytesIO(held), rest

    def read(self, size: int) -> bytes:
        return self._held.read(size) or self._rest.read(size)

    def readline(self) -> bytes:
        return self._held.readline() or self._rest.readline()
