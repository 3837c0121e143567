"""Atomic writes of files: complete or not at all, flushed to the disk before the replacement."""

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

__all__ = ["errors_name", "flushed", "replacing"]


@contextlib.contextmanager
def errors_name(path: str | PathLike[str]) -> Iterator[None]:
    """Return a context in which every OSError names this file: that of a full disk names none.

    Parameters
    ----------
    path : path
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror or str(error), str(path)) from error


def flushed(stream: Any) -> None:
    """Flush a file to the disk, or a device or pipe to the operating system.

    Parameters
    ----------
    stream : file
    """
    stream.flush()
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        os.fsync(stream.fileno())


@contextlib.contextmanager
def replacing(path: str | PathLike[str], text: bool = False) -> Iterator[Any]:
    """Yield a stream that becomes the file at `path` when the block ends without an error.

    Until then there is a temporary file, ``stream.name``, beside it, with the same suffix. It is
    flushed to the disk before it replaces the old file, so that one of the two is complete after a
    power failure.

    After an error or an interruption the old file is unchanged, and the temporary file is removed.

    Parameters
    ----------
    path : path
        A device or a pipe is written to directly.
    text : bool
        Whether the stream accepts text, written in UTF-8, instead of bytes.

    Raises
    ------
    OSError
        If the file, which the error names, cannot be written.
    """
    encoding: dict[str, Any] = {} if not text else {"encoding": "utf-8", "newline": ""}
    mode = "" if text else "b"
    with errors_name(path):  # the name of the temporary file would mean nothing to users
        if Path(path).exists() and not Path(path).is_file():
            with open(path, "w" + mode, **encoding) as stream:
                yield stream
            return
        target = Path(path).resolve()  # replace the target of a link, not the link
        # the name is chosen before the file exists, so that any interruption removes the file
        temporary = target.with_name(f".aucmax-{secrets.token_hex(8)}{target.suffix}")
        try:
            with open(temporary, "x" + mode, **encoding) as stream:
                yield stream
                flushed(stream)
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk, on systems that support it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)  # not possible on Windows
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
