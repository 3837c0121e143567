"""Data files as streams of bytes, for any compression.

Any failure to open or unpack a file raises a `DataFileError`.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import platform
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from aucmax.basics.errors import DataFileError
from aucmax.data.remote import Remote, is_remote

__all__ = ["COMPRESSIONS", "FORMATS", "AnyFile", "Block", "DataFiles", "Mark", "Partitioned"]
__all__ += ["Piped", "Recoded", "RowGroups", "TableFile", "absolute", "alone", "can_seek"]
__all__ += ["columns_of", "constants_of", "exists", "fault", "files_of", "is_packed", "opened"]
__all__ += ["size_of", "suffix_of", "unchanged"]

COMPRESSIONS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
FORMATS = {  # format: the suffixes of its files
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet", ".pq"),
}


class Piped:
    """A stream, such as standard input, in place of a path: its bytes can be read again.

    Parameters
    ----------
    stream : binary file
        Read to its end when it is first needed.
    name : str
        Its name in messages.
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
        Where the piece begins and ends in the unpacked file.
    header : bytes
        The file's first line; empty if that is a row.
    text : bytes, optional
        The bytes of the piece if they were already read.
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
        with opened(self.path) as stream:
            stream.seek(self.start)
            return self.header + stream.read(self.end - self.start)

    @property
    def where(self) -> str:
        """Return the name of the piece in messages."""
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
    """What the operating system knows of a file, which shows whether the file has changed.

    Parameters
    ----------
    path : Path
    size : int
        Bytes.
    written : int or str
        Time of the last change, in nanoseconds; for a remote file, the version its store reports.
    place : (str, int, int)
        The machine, the device and the inode; the last two mean nothing on another machine.
    """

    path: Path | Remote
    size: int | None
    written: int | str
    place: tuple[str, int, int] = ("", 0, 0)

    @classmethod
    def of(cls, path: Any) -> Mark | None:
        """Return the mark of a file; None for a pipe or another stream."""
        path = alone(path)
        if isinstance(path, Remote):
            version = path.version()
            return None if version is None else cls(path, *version)
        if not isinstance(path, Path):
            return None
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
            event = "the file disappeared"
        elif now.size != self.size:
            event = f"the file changed from {self.size:,} to {now.size:,} bytes"
        elif now.written != self.written and isinstance(self.written, str):
            event = "the file was overwritten"
        elif now.written != self.written:
            event = f"the file of {_clock(self.written)} was overwritten at {_clock(now.written)}"
        elif now.place[0] == self.place[0] and now.place != self.place:
            event = "it was replaced by another file"
        else:
            return
        raise fault(
            self.path,
            f"{event} while it was in use: rows are read repeatedly and must not change; start "
            "again when nothing writes to it, or use a copy",
        )

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Check the file before and after a block, also after an error: a change may explain it."""
        self.check()
        try:
            yield
        except Exception:
            self.check()
            raise
        self.check()


@contextmanager
def unchanged(path: Any) -> Iterator[None]:
    """Return a context in which files must not change; it does nothing for other data."""
    with ExitStack() as stack:
        for mark in map(Mark.of, files_of(path)):
            if mark is not None:
                stack.enter_context(mark.checked())
        yield


def _clock(nanoseconds: Any) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9).isoformat(" ", "milliseconds")


class _Of:
    """Base of what belongs to a file and has its name."""

    path: Any

    @property
    def name(self) -> str:
        return str(self.path.name)

    @property
    def suffix(self) -> str:
        return str(self.path.suffix)

    @property
    def suffixes(self) -> list[str]:
        return list(self.path.suffixes)

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class Partitioned(_Of):
    """A file with the columns encoded in the names of its folders, such as ``country=DE``.

    Parameters
    ----------
    path : Path or Remote
    constants : tuple of (str, object)
        The value of each of these columns, in all rows.
    """

    path: Path | Remote
    constants: tuple[tuple[str, Any], ...]


class TableFile(Partitioned):
    """A file of a Delta or Iceberg table; the table's columns are the keys of ``constants``.

    If the file lacks a column, the constant is its value in all rows.
    """


@dataclass(frozen=True)
class DataFiles:
    """Several files whose rows are one table, in this order.

    Parameters
    ----------
    files : tuple of files
        At least one; a table has the columns of the first.
    named : object
        The pattern, folder, list or table that the user named.
    name : str
        Their name in messages.
    """

    files: tuple[Any, ...]
    named: Any
    name: str

    suffix = ""  # a name of several files has none
    suffixes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class RowGroups(_Of):
    """Some row groups of a Parquet file after ``first`` rows, or some rows of them.

    Parameters
    ----------
    path : Path, Remote or Partitioned
    groups : tuple of int
        The row groups; all if this is empty.
    first : int
        The number of rows of the file before these rows.
    most : int, optional
        The number of these rows, if they are not all rows of the groups.
    skipped : int
        The number of rows of the groups before these rows.
    """

    path: Path | Remote | Partitioned
    groups: tuple[int, ...]
    first: int
    most: int | None = None
    skipped: int = 0

    @property
    def where(self) -> str:
        """Return the name of the row groups in messages."""
        return f"{self.path}, rows from {self.first + 1:,} on"


AnyFile = Remote | Partitioned | DataFiles  # what a user's file name can mean beside a path


def alone(path: Any) -> Any:
    """Return the bare file, without row groups or constants."""
    while isinstance(path, RowGroups | Partitioned):
        path = path.path
    return path


def _whole(path: Any) -> Any:
    """Return the file of a part, with its constants."""
    return path.path if isinstance(path, RowGroups | Block) else path


def files_of(path: Any) -> tuple[Any, ...]:
    """Return all files, or the only one."""
    return path.files if isinstance(path, DataFiles) else (path,)


def constants_of(path: Any) -> dict[str, Any]:
    """Return the values encoded in the names of a file's folders, by column."""
    file = _whole(path)
    return dict(file.constants) if isinstance(file, Partitioned) else {}


def columns_of(path: Any, names: list[str]) -> list[str]:
    """Return the columns of a file: those in it, and those encoded in its folders' names."""
    constants = constants_of(path)
    if isinstance(_whole(path), TableFile):
        return list(constants)
    return [*names, *(name for name in constants if name not in names)]


def exists(path: Any) -> bool:
    """Return whether a path is that of an existing file or files."""
    return path.is_file() if isinstance(path, Path) else not isinstance(path, Piped)


def absolute(path: Any) -> Any:
    """Return files, or the names of files, with absolute paths."""
    if isinstance(path, str):
        return path if is_remote(path) else os.path.abspath(path)
    if isinstance(path, list | tuple):
        return list(map(absolute, path))
    if isinstance(path, DataFiles):
        return replace(path, files=tuple(absolute(path.files)), named=absolute(path.named))
    if isinstance(path, Partitioned):
        return replace(path, path=absolute(path.path))
    return path.absolute() if isinstance(path, Path) else path


def size_of(path: Any) -> int | None:
    """Return the number of bytes of files; None for other data, or if a server does not tell."""
    total = 0
    for file in map(alone, files_of(path)):
        if isinstance(file, Remote):
            size = file.size
        else:
            size = file.stat().st_size if isinstance(file, Path) and file.is_file() else None
        if size is None:
            return None
        total += size
    return total


def is_packed(path: Any) -> bool:
    """Return whether a file is compressed, by its suffix."""
    return path.suffix.lower() in COMPRESSIONS


def can_seek(path: Any) -> bool:
    """Return whether any range of a file's bytes, before unpacking, can be read alone."""
    path = alone(path)
    return not isinstance(path, Remote) or path.in_ranges


def suffix_of(path: Any) -> str:
    """Return the last suffix of a file's name, in lower case, ignoring that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def fault(path: Any, what: str, where: int | str = "") -> DataFileError:
    """Return the error for a file: `where` is a line number or words such as "row 3"."""
    if isinstance(path, Block) and isinstance(where, int) and where > bool(path.header):
        where += path.lines_before
    place = f"line {where}" if isinstance(where, int) else where
    return DataFileError(f"{path}{', ' if place else ''}{place}: {what}")


@contextmanager
def opened(path: Any) -> Iterator[io.BufferedReader]:
    """Open the bytes of a file, unpacked according to its suffix, or of a stream."""
    path = alone(path)
    if isinstance(path, Piped):
        yield _in_utf8(io.BufferedReader(io.BytesIO(path.content)))
        return
    if isinstance(path, Path) and path.is_dir():
        raise fault(path, "this is a folder; name a file in it")
    packed = is_packed(path)
    unpack = COMPRESSIONS.get(path.suffix.lower(), open)
    try:
        with ExitStack() as stack:
            file = stack.enter_context(path.open()) if isinstance(path, Remote) else path
            stream = stack.enter_context(unpack(file, "rb")) if packed or file is path else file
            # a large C buffer, since reading lines directly from gzip or lzma objects is slow
            yield _in_utf8(io.BufferedReader(stream, 1 << 20) if packed else stream)
    except FileNotFoundError:
        raise fault(path, "no such file") from None
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise _corrupt(path, error) from error
    except OSError as error:
        # bz2 reports broken data as an OSError without an error number
        if packed and error.errno is None:
            raise _corrupt(path, error) from error
        raise fault(path, f"cannot be read: {error.strerror or error}") from error


class Recoded(io.RawIOBase):
    """A stream of UTF-16 text, recoded as UTF-8."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._text, self._rest = io.TextIOWrapper(stream, "utf-16", "replace", newline=""), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or self._text.read(1 << 20).encode("utf-8", "replace")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _in_utf8(stream: io.BufferedReader) -> io.BufferedReader:
    """Return a stream unchanged, or as UTF-8 if its first bytes show that it is in UTF-16."""
    utf16 = stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    return io.BufferedReader(Recoded(stream)) if utf16 else stream


def _corrupt(path: Any, error: Exception) -> DataFileError:
    return fault(path, f"the compressed file is cut short or corrupt ({error}); get it again")
