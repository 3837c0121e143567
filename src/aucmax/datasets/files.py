"""Data files as streams of bytes, whatever their compression.

Every way in which opening or unpacking can fail becomes one `DataFileError`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from aucmax.basics.errors import DataFileError

__all__ = ["COMPRESSIONS", "Piped", "fault", "opened"]

COMPRESSIONS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


class Piped:
    """A stream, such as standard input, where a path may stand: its bytes can be read again.

    Parameters
    ----------
    stream : binary file
        Read to its end when it is needed first.
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


def fault(path: Path, what: str, where: int | str = "") -> DataFileError:
    """The error for a file: `where` is a line number or words such as "row 3"."""
    place = f"line {where}" if isinstance(where, int) else where
    return DataFileError(f"{path}{', ' if place else ''}{place}: {what}")


@contextmanager
def opened(path: Path | Piped) -> Iterator[io.BufferedReader]:
    """The bytes of a file, unpacked by its suffix, or of a stream."""
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
