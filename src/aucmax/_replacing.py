"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: str | PathLike[str], text: bool = False) -> Iterator[Any]:
    """Yield a stream that becomes the file at `path` once the block has ended well.

    After an error or an interruption the file is as it was.

    Parameters
    ----------
    path : path
        A device or a pipe is written to as it is.
    text : bool
        Whether the stream takes text, to be written in UTF-8, and not bytes.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    how: dict[str, Any] = {"mode": "wb"}
    if text:
        how = {"mode": "w", "encoding": "utf-8", "newline": ""}
    if Path(path).exists() and not Path(path).is_file():
        with open(path, **how) as stream:
            yield stream
        return
    target = Path(path).resolve()  # a link stays one
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, **how) as stream:
            yield stream
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
