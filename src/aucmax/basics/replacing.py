"""Files that are written whole or not at all, and are on the disk before they take their place."""

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
    """Context in which an OSError names this file: that of a full disk names none.

    Parameters
    ----------
    path : path
    """
    try:
        yield
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror or str(error), str(path)) from error


def flushed(stream: Any) -> None:
    """Return once all that was written to a file is on the disk; a device or pipe is flushed only.

    Parameters
    ----------
    stream : file
    """
    stream.flush()
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        os.fsync(stream.fileno())


@contextlib.contextmanager
def replacing(path: str | PathLike[str], text: bool = False) -> Iterator[Any]:
    """Yield a stream that becomes the file at `path` once the block has ended well.

    Until then its file, ``stream.name``, stands beside it under another name, with its suffix. It
    is on the disk before it replaces the old one, so a loss of power leaves one of the two whole.

    After an error or an interruption the file is as it was, and nothing is left beside it.

    Parameters
    ----------
    path : path
        A device or a pipe is written to as it is.
    text : bool
        Whether the stream takes text, to be written in UTF-8, and not bytes.

    Raises
    ------
    OSError
        The file, which it names, cannot be written.
    """
    how: dict[str, Any] = {} if not text else {"encoding": "utf-8", "newline": ""}
    mode = "" if text else "b"
    with errors_name(path):  # the temporary file's name says nothing
        if Path(path).exists() and not Path(path).is_file():
            with open(path, "w" + mode, **how) as stream:
                yield stream
            return
        target = Path(path).resolve()  # a link stays one
        # named before it is made: an interruption at any moment finds it to remove
        temporary = target.with_name(f".aucmax-{secrets.token_hex(8)}{target.suffix}")
        try:
            with open(temporary, "x" + mode, **how) as stream:
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
    """Have the names in a folder on the disk, on systems that can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)  # which Windows refuses
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
