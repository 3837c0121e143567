"""Downloads into the cache folder, with a checksum recorded the first time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, BinaryIO

from aucmax.basics.errors import DataFileError
from aucmax.basics.locks import locked
from aucmax.basics.needs import needs
from aucmax.basics.replacing import errors_name, flushed
from aucmax.basics.visible import counted
from aucmax.data import cache, registry
from aucmax.data.files import fault, opened
from aucmax.data.formats import parse
from aucmax.data.loading import locate
from aucmax.data.registry import DataSet, Part

__all__ = ["fetch"]

Progress = Callable[[int, int], None]

MAX_BYTES = 32 * 10**9
CONNECT_SECONDS, READ_SECONDS = 10.0, 30.0  # timeouts of the connection and between bytes
# a download may take this long, plus a second for each LEAST_BYTES_PER_SECOND bytes
PATIENCE_SECONDS, LEAST_BYTES_PER_SECOND = 60.0, 10_000.0
MAX_SECONDS = 24 * 3600.0

_CHUNK_BYTES = 1 << 16
_DIGITS_OF_A_LENGTH = 20
_BYTES_OF_A_HEADER, _BYTES_OF_A_ROW, _BYTES_OF_A_VALUE = 10**6, 1000, 40  # upper bounds, as text
_PART = (
    ".aucmax-part-"  # prefix of a file that is arriving; its suffix must still show the compression
)


class DownloadError(DataFileError):
    """A file could not be downloaded from an address."""


def fetch(
    name: str,
    *,
    base_url: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Download a data set from its publisher into the cache folder.

    Some data sets cannot be downloaded automatically, since they are behind a form or in an
    archive: the error then says where to get the files and how to name them.

    The SHA-256 of each file is recorded at its first download and must be the same from then on.
    A file is kept only if it has arrived completely and has the published numbers of rows and
    features, label counts and SHA-256, as far as these are known (``n_samples``, ``class_counts``
    and ``content_sha256`` of `about`). A file that already exists is checked, not downloaded again.
    A download that is too slow, or larger than such rows can be, is abandoned.

    Parameters
    ----------
    name : str
        One of `names`, or an alias.
    base_url : str, optional
        The address of a folder on a mirror with the files under the publisher's names.
    force : bool, default=False
        Download again, and replace the recorded checksum.
    progress : callable, optional
        Called with (bytes done, bytes in all) while a file arrives; the total is 0 if unknown.

    Returns
    -------
    list of Path
        The files, training rows first.

    Raises
    ------
    ValueError
        If there is no such data set.
    DataFileError
        If a file cannot be downloaded, has another checksum than before, or is not the data set; or
        if the data set must be downloaded by hand and has not been yet.

    Notes
    -----
    If the publisher's file is not the reference file (see `about`), `load` returns
    ``verified=False``: for usps (more decimals), connect-4 (perhaps another column order), and
    every file with another compression.
    """
    entry = registry.about(name)
    if base_url is None and not all(part.urls for part in entry.parts):
        return _by_hand(entry)
    folder = cache.cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_fetch_part(entry, part, base_url, force, progress) for part in entry.parts]
    except OSError as error:
        raise fault(folder, f"cannot be written to: {error.strerror or error}") from error


def _by_hand(entry: DataSet) -> list[Path]:
    """Return the files of a data set that cannot be downloaded; if missing, say how to get them."""
    try:
        return locate(entry.name)
    except DataFileError:
        pages = [part.page for part in entry.parts if part.page]
        source = f"from {pages[0]}" if pages else "(no public address is known to us)"
        files = " and ".join(part.stem for part in entry.parts)
        raise DataFileError(
            f"data set {entry.name!r} cannot be downloaded automatically: get it {source} and put "
            f"{files} (plain, .xz, .gz or .bz2) into {cache.cache_folder()}, or into the folder "
            "that AUCMAX_DATA names"
        ) from None


def _fetch_part(
    entry: DataSet, part: Part, base_url: str | None, force: bool, progress: Progress | None
) -> Path:
    """Fetch one file from the first of its addresses that answers."""
    files = part.downloads or [part.file]
    paths = [cache.cache_folder() / file for file in files]
    for path in paths:
        if path.exists() and not force:
            _check_present(entry, part, path)
            return path
    urls = [f"{base_url.rstrip('/')}/{file}" for file in files] if base_url else part.urls
    for url, path in zip(urls[:-1], paths, strict=False):
        with contextlib.suppress(DownloadError):
            return _fetch_file(entry, part, url, path, force, progress)
    return _fetch_file(entry, part, urls[-1], paths[-1], force, progress)


def _fetch_file(
    entry: DataSet, part: Part, url: str, path: Path, force: bool, progress: Progress | None
) -> Path:
    most = most_bytes(part)
    with _arriving(path) as stream:
        _download(url, stream, most, progress)
        flushed(stream)
        arrived = Path(stream.name)
        checksum = cache.digest(arrived)
        expected = None if force else cache.recorded(path.name)
        if expected not in (None, checksum):
            raise DataFileError(
                f"{url}: the SHA-256 is {checksum}, but {expected} was recorded at the first "
                f"download; if the publisher replaced the file, accept it with "
                f"datasets.fetch({entry.name!r}, force=True)"
            )
        # never keep an error page or half a file
        try:
            content = _content_digest(arrived, most)
            _, y = cache.parsed(path, checksum, lambda: parse(arrived, part))
            _check_counts(arrived, part, y)
        except DataFileError as error:
            problem = str(error).replace(str(arrived), path.name)
            raise DataFileError(f"{url}: the download is not the data set: {problem}") from None
        if not force and part.content_sha256 not in ("", content):
            raise DataFileError(
                f"{url}: the SHA-256 of its content is {content}, but that of the published file "
                f"is {part.content_sha256}; if the publisher replaced the file, accept it with "
                f"datasets.fetch({entry.name!r}, force=True)"
            )
    cache.record(path.name, checksum)
    return path


@contextlib.contextmanager
def _arriving(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream that becomes the file if the block succeeds; one process at a time."""
    _clear_parts(path.parent)
    part = path.with_name(_PART + path.name)
    with _one_process(part), errors_name(path):
        try:
            with part.open("wb") as stream:
                yield stream
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def _clear_parts(folder: Path) -> None:
    """Remove the remains of killed downloads; the lock of a running one is held."""
    for part in folder.glob(f"{_PART}*"):
        with contextlib.suppress(ValueError), _one_process(part):
            part.unlink(missing_ok=True)


def _one_process(part: Path) -> AbstractContextManager[None]:
    locks = part.parent / "locks"
    locks.mkdir(exist_ok=True)
    name = part.name.removeprefix(_PART)
    return locked(
        locks / f"{name}.lock", "a download", f"{name}: another process is downloading it; wait."
    )


def most_bytes(part: Part) -> int:
    """Return an upper bound on the bytes of a text file with these rows, compressed or not.

    Parameters
    ----------
    part : Part
        One file of a data set; if its number of rows is unknown, the bound is that for any file.

    Returns
    -------
    int
    """
    if part.n_samples is None:
        return MAX_BYTES
    row = _BYTES_OF_A_ROW + _BYTES_OF_A_VALUE * part.n_features
    return min(_BYTES_OF_A_HEADER + part.n_samples * row, MAX_BYTES)


def _content_digest(path: Path, most: int) -> str:
    """Return the SHA-256 of a file's unpacked content; raise if this is larger than ``most``."""
    digest, size = hashlib.sha256(), 0
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > most:
                raise fault(path, f"it unpacks to more than {most:,} bytes")
            digest.update(chunk)
    return digest.hexdigest()


def _check_counts(path: Path, part: Part, y: Any) -> None:
    """Raise DataFileError if the labels are not those of the published file."""
    counts = tuple(sorted(Counter(y.tolist()).items()))
    if part.class_counts and counts != part.class_counts:
        listed = ", ".join(
            f"{counted(count, 'row')} of label {label}" for label, count in counts[:5]
        )
        raise fault(path, f"its labels are not those of the published file: {listed}")


def _check_present(entry: DataSet, part: Part, path: Path) -> None:
    """Check a file that already exists; record it if it was not downloaded."""
    checksum = cache.digest(path)
    cache.verify(path, checksum, entry.name)
    if cache.recorded(path.name) is None:
        cache.parsed(path, checksum, lambda: parse(path, part))
        cache.record(path.name, checksum)


def _download(url: str, stream: BinaryIO, most: int, progress: Progress | None) -> None:
    """Write a download as it arrives, and give up on a slow or endless one."""
    arrivals: Queue[int | bytes | Exception] = Queue(maxsize=4)
    stopped = threading.Event()
    # in a thread, since a server can keep a request busy without sending a byte of the file
    get = needs("requests", "a download").get
    threading.Thread(target=_request, args=(get, url, arrivals, stopped), daemon=True).start()
    started, done, total = time.monotonic(), 0, 0
    try:
        while True:
            end = started + min(PATIENCE_SECONDS + done / LEAST_BYTES_PER_SECOND, MAX_SECONDS)
            arrival = _next(arrivals, end, f"{done:,} bytes took {end - started:.0f} seconds")
            if isinstance(arrival, int):
                total = arrival
            elif arrival:
                done += stream.write(arrival)
            else:
                return
            if max(done, total) > most:
                raise OSError(f"it is larger than {most:,} bytes, which the data set cannot be")
            if progress is not None and done:
                progress(min(done, total) if total else done, total)
    except OSError as error:
        again = "try again, or put the file into the folder that AUCMAX_DATA names"
        raise DownloadError(f"{url}: the download failed ({error}); {again}") from error
    finally:
        stopped.set()


def _next(arrivals: Queue[Any], end: float, timed_out: str) -> int | bytes:
    """Return the next item of a request; raise OSError after a timeout or an error."""
    try:
        arrival = arrivals.get(timeout=max(end - time.monotonic(), 0.0))
    except Empty:
        raise OSError(timed_out) from None
    if isinstance(arrival, Exception):
        raise OSError(str(arrival)) from arrival
    return arrival


def _request(
    get: Callable[..., Any], url: str, arrivals: Queue[Any], stopped: threading.Event
) -> None:
    """Put the announced number of bytes (0 if unknown), the bytes, then b"" or an error."""

    def put(arrival: Any) -> None:
        while not stopped.is_set():
            with contextlib.suppress(Full):
                return arrivals.put(arrival, timeout=0.1)

    try:
        with get(url, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)) as response:
            response.raise_for_status()
            length = response.headers.get("content-length", "")
            put(int(length) if length.isdecimal() and len(length) < _DIGITS_OF_A_LENGTH else 0)
            while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=True):
                put(chunk)
                if stopped.is_set():
                    return
        put(b"")
    except Exception as error:  # the thread that waits for the bytes raises it
        put(error)
