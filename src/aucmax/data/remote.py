"""Files on other machines, through fsspec: ``s3://``, ``gs://``, ``https://`` and more.

Credentials and endpoints are left to fsspec: environment variables and its configuration files.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import MissingPackage, needs

__all__ = ["Remote", "RemoteBytes", "is_remote", "is_web", "store_of", "told"]

_BUFFER_BYTES = 1 << 20  # the least that a request reads
# what shows that a file was written again, under the names that stores give it
_VERSIONS = ["ETag", "etag", "generation", "LastModified", "Last-Modified", "last_modified"]
_VERSIONS += ["mtime", "created"]


def is_remote(name: Any) -> bool:
    """Return whether a name has a protocol, such as ``s3://``."""
    return isinstance(name, str) and "://" in name


def is_web(address: str) -> bool:
    """Return whether an address is on a web server, which has no folders."""
    return address.startswith(("http://", "https://"))


def store_of(url: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it.

    Raises
    ------
    MissingPackage
        If the package for its protocol is not installed; the message names the package.
    DataFileError
        If there is no such protocol.
    """
    fsspec = needs("fsspec", f"{url}: an address")
    try:
        return fsspec.core.url_to_fs(url)
    except ImportError as error:
        protocol = url.partition("://")[0]
        extra = "pip install 'aucmax[remote]'" if protocol in ("s3", "http", "https") else ""
        message = str(error).rstrip(".")
        raise MissingPackage(f"{url}: {message}{': ' if extra else ''}{extra}") from None
    except ValueError as error:
        raise DataFileError(f"{url}: {error}") from None


@dataclass(frozen=True)
class Remote:
    """A file in a store that fsspec supports; any process can open it by its address.

    Parameters
    ----------
    url : str
        Its address.
    """

    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return self.plain.name

    @property
    def suffix(self) -> str:
        return self.plain.suffix

    @property
    def suffixes(self) -> list[str]:
        return self.plain.suffixes

    @property
    def plain(self) -> PurePosixPath:
        """Its path, without the query of a web address."""
        return PurePosixPath(urlsplit(self.url).path if is_web(self.url) else self.url)

    @property
    def size(self) -> int | None:
        """The number of bytes; None if the server does not report it."""
        return self._about.get("size")

    @cached_property
    def _about(self) -> dict[str, Any]:
        with told(self.url):
            store, path = store_of(self.url)
            return dict(store.info(path))

    def version(self) -> tuple[int | None, str] | None:
        """Return its current size and its version in the store; None if the file is gone."""
        with told(self.url):
            store, path = store_of(self.url)
            store.invalidate_cache()  # of listings
            try:
                about = store.info(path)
            except FileNotFoundError:
                return None
        marks = [str(about[key]) for key in _VERSIONS if about.get(key) is not None]
        return about.get("size"), " ".join(marks)

    @cached_property
    def in_ranges(self) -> bool:
        """Whether any range of its bytes can be read; some web servers only send whole files."""
        if not is_web(self.url):
            return True
        if self.size is None or self._about.get("partial") is False:
            return False
        store, path = store_of(self.url)
        try:
            with store.open(path, "rb", cache_type="none") as file:
                file.seek(self.size - 1)
                return self.size > 1 and len(file.read(1)) == 1
        except ValueError:  # the server sent the whole file
            return False

    def open(self) -> io.BufferedReader:
        """Open the file for reading; the stream can seek if the file can be read in ranges."""
        with told(self.url):
            store, path = store_of(self.url)
            options = {"cache_type": "none"} if self.in_ranges else {"block_size": 0}
            raw = RemoteBytes(store.open(path, "rb", **options), self.url, self.in_ranges)
        return io.BufferedReader(raw, _BUFFER_BYTES)


class RemoteBytes(io.RawIOBase):
    """The bytes of a remote file, as a raw stream for Python's buffers and Arrow."""

    def __init__(self, file: Any, url: str, in_ranges: bool) -> None:
        self.file, self.url, self.in_ranges = file, url, in_ranges
        self.ended = False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self.in_ranges

    def readinto(self, buffer: Any) -> int:
        if self.ended and not self.in_ranges:
            return 0
        with told(self.url):
            piece = self.file.read(len(buffer))
        self.ended = not piece
        buffer[: len(piece)] = piece
        return len(piece)

    def seek(self, place: int, whence: int = 0) -> int:
        return int(self.file.seek(place, whence))

    def tell(self) -> int:
        return int(self.file.tell())

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()


@contextmanager
def told(url: str) -> Iterator[None]:
    """Turn the many kinds of errors of a store into a DataFileError."""
    try:
        yield
    except (DataFileError, MissingPackage):
        raise
    except FileNotFoundError as error:
        reason = error.__cause__ if is_web(url) else None  # the server may be unreachable instead
        if reason is None or getattr(reason, "status", None) == 404:
            raise DataFileError(f"{url}: no such file") from None
        raise _unreadable(url, reason) from error
    except Exception as error:
        raise _unreadable(url, error) from error


def _unreadable(url: str, error: BaseException) -> DataFileError:
    return DataFileError(f"{url}: cannot be read: {str(error) or type(error).__name__}")
