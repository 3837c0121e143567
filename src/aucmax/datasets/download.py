"""Downloads into the cache folder, with a checksum recorded the first time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import needs
from aucmax.basics.replacing import replacing
from aucmax.datasets import cache, registry
from aucmax.datasets.files import fault
from aucmax.datasets.formats import parse
from aucmax.datasets.loading import locate
from aucmax.datasets.registry import DataSet, Part

__all__ = ["fetch"]

Progress = Callable[[int, int], None]
_CHUNK_BYTES = 1 << 16


class DownloadError(DataFileError):
    """No file came from an address."""


def fetch(
    name: str,
    *,
    base_url: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Download a data set from its publisher into the cache folder.

    Some cannot be downloaded without a form or an archive: the error then says where they are to
    be had, and under which names they are found.

    The SHA-256 of each file is recorded at its first download and must be the same ever after.
    A file is kept only once it has arrived whole and has the rows it should have; one that is
    already there is checked, not downloaded again.

    Parameters
    ----------
    name : str
        One of `names`, or an alias.
    base_url : str, optional
        Folder on a mirror that has the files under the publisher's names.
    force : bool, default=False
        Download again, and record the checksum anew.
    progress : callable, optional
        Called with (bytes done, bytes in all) while a file arrives; the total is 0 if unknown.

    Returns
    -------
    list of Path
        The files, training rows first.

    Raises
    ------
    ValueError
        No such data set.
    DataFileError
        A file cannot be downloaded, has another checksum than before, or is not the data set; or
        the data set has to be fetched by hand, and is not there yet.

    Notes
    -----
    Where the publisher's file is not the reference file (`about` tells), `load` says so by
    ``verified=False``: usps (more decimals), connect-4 (perhaps another column order), and every
    file packed another way.
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
    """Where the files of a data set are that cannot be downloaded; else how to get them."""
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
    """Fetch one file, by the first of its addresses that answers."""
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
    with replacing(path) as stream:
        _download(url, stream, progress)
        stream.flush()
        arriving = Path(stream.name)
        checksum = cache.digest(arriving)
        expected = None if force else cache.recorded(path.name)
        if expected not in (None, checksum):
            raise DataFileError(
                f"{url}: the SHA-256 is {checksum}, but {expected} was recorded at the first "
                f"download; if the publisher replaced the file, accept it with "
                f"datasets.fetch({entry.name!r}, force=True)"
            )
        # An error page or half a file is never kept.
        try:
            cache.parsed(path, checksum, lambda: parse(arriving, part))
        except DataFileError as error:
            what = str(error).replace(str(arriving), path.name)
            raise DataFileError(f"{url}: what arrived is not the data set: {what}") from None
    cache.record(path.name, checksum)
    return path


def _check_present(entry: DataSet, part: Part, path: Path) -> None:
    """Check a file that is there already; record it if it came by other ways."""
    checksum = cache.digest(path)
    cache.verify(path, checksum, entry.name)
    if cache.recorded(path.name) is None:
        cache.parsed(path, checksum, lambda: parse(path, part))
        cache.record(path.name, checksum)


def _download(url: str, stream: BinaryIO, progress: Progress | None) -> None:
    pooch = needs("pooch", "a download")

    bar = _Bar(progress) if progress else False
    responses: list[Any] = []
    hooks = {"response": lambda response, **_: responses.append(response)}
    downloader = pooch.HTTPDownloader(progressbar=bar, chunk_size=_CHUNK_BYTES, hooks=hooks)
    try:
        downloader(url, stream, None)
    except OSError as error:  # All of requests' exceptions are.
        raise DownloadError(
            f"{url}: the download failed ({error}); try again, or put the file into the folder "
            "that AUCMAX_DATA names"
        ) from error
    finally:
        # pooch leaves the connection open when it breaks.
        for response in responses:
            response.close()


class _Bar:
    """A callable in the form of the progress bar pooch calls."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.total = 0
        self.done = 0

    def update(self, n: int) -> None:
        """Add n bytes; pooch counts whole chunks, the last one too."""
        self.done += n
        self.progress(min(self.done, self.total) if self.total else self.done, self.total)

    def reset(self) -> None:
        """Back to zero."""
        self.done = 0

    def close(self) -> None:
        """Nothing to do."""
