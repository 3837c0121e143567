"""The file format of models and moments: a header line with a digest, then the body.

    aucmax <format> <kind> <sha256 of the body> <bytes in the body>\\n<body>

The header and the size of the file are checked before the body is read, so a damaged, truncated,
foreign or newer file gives one clear error.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from aucmax.basics.errors import ModelFileError
from aucmax.basics.replacing import replacing

__all__ = ["FORMAT", "kind_of", "pack", "readable", "unpack"]

FORMAT = 1
_MAGIC = "aucmax"
_MAX_HEADER_BYTES = 200


def pack(path: str | PathLike[str], kind: str, body: bytes) -> None:
    """Write a file of some kind with this body; an old file stays until the new one is complete."""
    digest = hashlib.sha256(body).hexdigest()
    header = f"{_MAGIC} {FORMAT} {kind} {digest} {len(body)}\n".encode()
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}; create it first.")
    with replacing(target) as stream:
        stream.write(header)
        stream.write(body)


def kind_of(path: str | PathLike[str]) -> str | None:
    """Return the kind in a file's header; None if the file does not exist or is not aucmax's."""
    try:
        with _opened(path) as stream:
            words = stream.readline(_MAX_HEADER_BYTES).decode("ascii").split(" ")
    except ValueError:
        return None
    return words[2] if len(words) == 5 and words[0] == _MAGIC else None


def unpack(path: str | PathLike[str], kind: str) -> bytes:
    """Return the body of a file written by `pack`, after checking its header and size.

    Raises
    ------
    ModelFileError
        If the file does not exist, is not a regular file, not from aucmax, of another kind, from a
        newer version, cut short or damaged.
    """
    with _opened(path) as stream:
        head = stream.readline(_MAX_HEADER_BYTES)
        digest, length = _checked_header(path, kind, head)
        size = os.fstat(stream.fileno()).st_size - len(head)
        if size != length:
            raise ModelFileError(
                f"{path}: has {size} bytes after its first line, expected {length}; the file was "
                "cut short or changed: copy or save it again."
            )
        body = stream.read(length)
    if hashlib.sha256(body).hexdigest() != digest:
        raise ModelFileError(f"{path}: damaged (its digest does not match): copy or save it again.")
    return body


@contextlib.contextmanager
def readable(path: str | PathLike[str], noun: str) -> Iterator[None]:
    """Return a context in which every error says that the file is not a readable ``noun``."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:  # whatever a parser raises on a damaged body
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        if isinstance(error, KeyError):
            reason = f"it does not contain {reason}"
        raise ModelFileError(f"{path}: not a readable {noun} ({reason}).") from error


def _opened(path: str | PathLike[str]) -> BinaryIO:
    """Open a regular file; a device may have no end, and a pipe would block."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder raises its own error
            raise ModelFileError(f"{path}: not a regular file; give a file that aucmax saved.")
        return open(path, "rb")
    except (OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(f"{path}: cannot be read ({reason}).") from error


def _checked_header(path: str | PathLike[str], kind: str, head: bytes) -> tuple[str, int]:
    """Return the digest and the length of the body from the first line of a file."""
    try:
        magic, version, actual, digest, size = head.decode("ascii").split(" ")
        number, length = int(version), int(size)
    except ValueError:
        magic = ""
    if magic != _MAGIC or not head.endswith(b"\n") or number < 1:
        raise ModelFileError(
            f"{path}: not an aucmax {kind} file, or its first line is damaged; "
            f"give a file that aucmax saved."
        )
    if number > FORMAT:
        raise ModelFileError(
            f"{path}: written by a newer aucmax (file format {number}, this version reads up to "
            f"{FORMAT}); upgrade aucmax."
        )
    if actual != kind:
        raise ModelFileError(f"{path}: is an aucmax {actual} file; give an aucmax {kind} file.")
    return digest, length
