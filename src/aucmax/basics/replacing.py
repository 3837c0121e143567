"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: str | PathLike[str], text: bool = False) -> Iterator[Any]:
    """Yield a stream that becomes the file at `path` once the block has ended well.

    Until then its file, ``stream.name``, stands beside it under another name, with its suffix.

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
    try:
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
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:  # a full disk has no name, and the temporary file's says nothing
        raise OSError(error.errno or 0, error.strerror or str(error), str(path)) from error
