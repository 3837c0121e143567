"""Data files as streams of bytes, for any compression.

Any failure to open or unpack a file raises a `DataFileError`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import platform
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from aucmax.basics.errors import DataFileError

__all__ = ["COMPRESSIONS", "Block", "Mark", "Piped", "RowGroups", "fault", "opened", "unchanged"]

COMPRESSIONS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


class Piped:
    """A stream, such as standard input, in place of a path: its bytes can be read again.

    Parameters
    ----------
    stream : binary file
        Read to its end when it is first needed.
    name : str
        For messages.
    """

    suffix = ""
    suffixes: tuple[str, ...] = ()

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.stream, self.name = stream, name

    def __str__(self) -> str:
        return self.name

    @cached_property
    def content(self) -> bytes:
        """All bytes of the stream."""
        return self.stream.read()


class Block(Piped):
    """A piece of whole lines of a text file, after the file's header if it has one.

    Parameters
    ----------
    path : Path
    start, end : int
        Its first and last byte in the unpacked file.
    header : bytes
        The file's first line; empty if that is a row.
    text : bytes, optional
        Its bytes if they were already read.
    """

    def __init__(
        self, path: Path, start: int, end: int, header: bytes = b"", text: bytes | None = None
    ) -> None:
        self.path, self.start, self.end, self.header, self.text = path, start, end, header, text
        self.name = str(path)

    @cached_property
    def content(self) -> bytes:
        """The header and the lines."""
        if self.text is not None:
            return self.header + self.text
        with self.path.open("rb") as stream:
            stream.seek(self.start)
            return self.header + stream.read(self.end - self.start)

    @property
    def where(self) -> str:
        """Return its name in messages."""
        return f"{self.path}, bytes {self.start:,} to {self.end:,}"

    @property
    def lines_before(self) -> int:
        """The number of lines of the file before the piece, without the header."""
        with opened(self.path) as stream:
            left, lines = self.start, 0
            while left and (chunk := stream.read(min(left, 1 << 24))):
                left -= len(chunk)
                lines += chunk.count(b"\n")
        return lines - bool(self.header)

    def check_quotes(self) -> None:
        """Raise DataFileError if a quoted value may continue after its last line."""
        if self.content.count(b'"') % 2:
            raise fault(
                self.path,
                f"a quoted value contains a line break near byte {self.end:,}, where the file is "
                "divided; read larger parts (part_bytes=…), or write it as Parquet",
            )


@dataclass(frozen=True)
class Mark:
    """The system's data on a file, which show whether it was written since.

    Parameters
    ----------
    path : Path
    size : int
        Bytes.
    written : int
        Time of the last change, in nanoseconds.
    place : (str, int, int)
        The machine, its device and the file's number there; these differ between machines.
    """

    path: Path
    size: int
    written: int
    place: tuple[str, int, int]

    @classmethod
    def of(cls, path: Path) -> Mark | None:
        """Return the mark of a file; None for a pipe and the like."""
        try:
            facts = path.stat()
        except OSError:
            return None
        if not stat.S_ISREG(facts.st_mode):
            return None
        place = platform.node(), facts.st_dev, facts.st_ino
        return cls(path, facts.st_size, facts.st_mtime_ns, place)

    def check(self) -> None:
        """Raise DataFileError if the file has changed."""
        now = Mark.of(self.path)
        if now is None:
            what = "the file is gone"
        elif now.size != self.size:
            what = f"the file had {self.size:,} bytes and now has {now.size:,}"
        elif now.written != self.written:
            what = f"the file of {_clock(self.written)} was written again at {_clock(now.written)}"
        elif now.place[0] == self.place[0] and now.place != self.place:
            what = "it was replaced by another file"
        else:
            return
        raise fault(
            self.path,
            f"{what}, while it was in use: rows are read again and again and must stay as they "
            "are; begin again when nothing writes to it, or with a copy",
        )

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check the file before and after a block, and after an error, which it may explain."""
        self.check()
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()


def unchanged(path: Any) -> AbstractContextManager[None]:
    """Return a context in which a file must not change; for other data it does nothing."""
    mark = Mark.of(path) if isinstance(path, Path) else None
    return nullcontext() if mark is None else mark.checked()


def _clock(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9).isoformat(" ", "milliseconds")


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of a Parquet file after ``first`` rows, or up to ``most`` rows of them."""

    path: Path
    groups: tuple[int, ...]
    first: int
    most: int | None = None

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def suffixes(self) -> list[str]:
        return self.path.suffixes

    @property
    def where(self) -> str:
        """Return its name in messages."""
        return f"{self.path}, rows from {self.first + 1:,} on"

    def __str__(self) -> str:
        return str(self.path)


def fault(path: Path | Piped | RowGroups | str, what: str, where: int | str = "") -> DataFileError:
    """Return the error for a file: `where` is a line number or words such as "row 3"."""
    if isinstance(path, Block) and isinstance(where, int) and where > bool(path.header):
        where += path.lines_before
    place = f"line {where}" if isinstance(where, int) else where
    return DataFileError(f"{path}{', ' if place else ''}{place}: {what}")


@contextmanager
def opened(path: Path | Piped | RowGroups) -> Iterator[io.BufferedReader]:
    """Open the bytes of a file, unpacked according to its suffix, or of a stream."""
    if isinstance(path, RowGroups):
        path = path.path
    if isinstance(path, Piped):
        yield io.BytesIO(path.content)  # type: ignore[misc]
        return
    packed = path.suffix.lower() in COMPRESSIONS
    if path.is_dir():
        raise fault(path, "this is a folder; name a file in it")
    try:
        with COMPRESSIONS.get(path.suffix.lower(), open)(path, "rb") as stream:
            # A large C buffer: reading lines off gzip or lzma objects directly is slow.
            yield io.BufferedReader(stream, 1 << 20) if packed else stream
    except FileNotFoundError:
        raise fault(path, "no such file") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise _corrupt(path, error) from error
    except OSError as error:
        # bz2 reports broken data as an OSError without a number.
        if packed and error.errno is None:
            raise _corrupt(path, error) from error
        raise fault(path, f"cannot be read: {error.strerror or error}") from error


def _corrupt(path: Path, error: Exception) -> DataFileError:
    return fault(path, f"the compressed file is cut short or corrupt ({error}); get it again")
