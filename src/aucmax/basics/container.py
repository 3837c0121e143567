"""The file that models and moments are kept in: one line of header, a digest, the body.

    aucmax <format> <kind> <sha256 of the body> <bytes in the body>\\n<body>

The header is checked before the body is looked at, so a damaged, truncated, foreign or newer
file gives one clear error.
"""

import hashlib
from os import PathLike
from pathlib import Path

from aucmax.basics.errors import ModelFileError
from aucmax.basics.replacing import replacing

__all__ = ["FORMAT", "kind_of", "pack", "unpack"]

FORMAT = 1
_MAGIC = "aucmax"
_HEADER_LIMIT = 200


def pack(path: str | PathLike[str], kind: str, body: bytes) -> None:
    """Write a body of the given kind; the old file stays until the new one is complete."""
    digest = hashlib.sha256(body).hexdigest()
    header = f"{_MAGIC} {FORMAT} {kind} {digest} {len(body)}\n".encode()
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target}: there is no folder {target.parent}; create it first.")
    with replacing(target) as stream:
        stream.write(header)
        stream.write(body)


def kind_of(path: str | PathLike[str]) -> str | None:
    """Return the kind that a file says it holds; None if there is none, or it is not ours."""
    try:
        with open(path, "rb") as stream:
            words = stream.readline(_HEADER_LIMIT).decode("ascii").split(" ")
    except (OSError, ValueError):
        return None
    return words[2] if len(words) == 5 and words[0] == _MAGIC else None


def unpack(path: str | PathLike[str], kind: str) -> bytes:
    """Return the body of a file written by `pack`.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is not ours, of another kind, newer, cut short or damaged.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelFileError(f"{path}: cannot be read ({reason}).") from error
    head, newline, body = raw.partition(b"\n")
    try:
        magic, version, found, digest, size = head[:_HEADER_LIMIT].decode("ascii").split(" ")
        number, length = int(version), int(size)
    except ValueError:
        magic = ""
    if magic != _MAGIC or not newline or number < 1:
        raise ModelFileError(
            f"{path}: not an aucmax {kind} file, or its first line is damaged; "
            f"give a file that aucmax saved."
        )
    if number > FORMAT:
        raise ModelFileError(
            f"{path}: written by a newer aucmax (file format {number}, this version reads up to "
            f"{FORMAT}); upgrade aucmax."
        )
    if found != kind:
        raise ModelFileError(f"{path}: holds {found}, expected {kind}.")
    if len(body) != length:
        raise ModelFileError(
            f"{path}: has {len(body)} bytes after its first line, expected {length}; the file was "
            "cut short or changed: copy or save it again."
        )
    if hashlib.sha256(body).hexdigest() != digest:
        raise ModelFileError(f"{path}: damaged (its digest does not match): copy or save it again.")
    return body
