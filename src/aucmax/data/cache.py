"""The user's cache folder: downloaded files, their checksums, and parsed copies."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.needs import needs
from aucmax.basics.replacing import replacing
from aucmax.basics.sparse import sp
from aucmax.data.files import fault

__all__ = ["cache_folder", "digest", "parsed", "record", "recorded", "verify"]

# Part of the names of parsed copies: raise it when the readers' results change.
PARSER_VERSION = 1
_RECORDS = "checksums.json"

Rows: TypeAlias = "tuple[sp.csr_matrix, NDArray[Any]]"


def cache_folder() -> Path:
    """Return ``$AUCMAX_CACHE``, or else the platform's cache folder for aucmax."""
    folder = os.environ.get("AUCMAX_CACHE")
    return Path(folder or needs("pooch", "a known data set").os_cache("aucmax")).expanduser()


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise fault(path, f"cannot be read: {error.strerror or error}") from error


# --- checksums of downloads


def recorded(file: str) -> str | None:
    """Return the checksum recorded when a file was first downloaded."""
    return _records().get(file)


def record(file: str, checksum: str) -> None:
    """Record the checksum of a downloaded file."""
    text = json.dumps({**_records(), file: checksum}, indent=2, sort_keys=True)
    with replacing(cache_folder() / _RECORDS, text=True) as stream:
        stream.write(text)


def verify(path: Path, found: str, name: str) -> None:
    """Compare a file of the cache folder with its recorded checksum."""
    expected = recorded(path.name)
    if expected not in (None, found):
        raise fault(
            path,
            f"the SHA-256 is {found}, but {expected} was recorded at the first download; the file "
            f"has changed since: delete it and call datasets.fetch({name!r}), or accept the "
            f"publisher's current file with datasets.fetch({name!r}, force=True)",
        )


def _records() -> dict[str, str]:
    path = cache_folder() / _RECORDS
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise fault(path, f"the record of checksums is unreadable ({error}); delete it") from None
    if not isinstance(records, dict):
        raise fault(path, "the record of checksums is not a JSON object; delete it")
    return records


# --- parsed copies


def parsed(path: Path, checksum: str, parse: Callable[[], Rows]) -> Rows:
    """Return the result of `parse`, or a parsed copy of the file with this checksum if any."""
    copy = cache_folder() / "parsed" / f"{path.name}-{checksum[:16]}-v{PARSER_VERSION}.npz"
    rows = _load_copy(copy)
    if rows is None:
        rows = parse()
        _save_copy(copy, *rows)
    return rows


def _load_copy(copy: Path) -> Rows | None:
    """Return the rows of a parsed copy; None if it is absent or unusable."""
    try:
        with open(copy, "rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
            X = sp.csr_matrix(parts, shape=tuple(arrays["shape"].tolist()))
            y = arrays["y"]
        X.check_format(full_check=True)
    except Exception:  # whatever is wrong with the copy, the file itself can be parsed again
        return None
    return (X, y) if y.shape == (X.shape[0],) else None


def _save_copy(copy: Path, X: sp.csr_matrix, y: NDArray[Any]) -> None:
    """Save a parsed copy; if the folder is not writable, the file is just parsed again."""
    arrays = {"data": _compact(X.data), "indices": X.indices, "indptr": X.indptr}
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        with replacing(copy) as stream:
            np.savez(stream, **arrays, shape=np.array(X.shape), y=y, allow_pickle=False)
    except OSError:
        pass


def _compact(data: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers as bytes if nothing is lost: pixels, flags and most counts."""
    if data.size and data.min() >= 0 and data.max() <= 255:
        small = data.astype(np.uint8)
        return small if np.array_equal(small, data) else data
    return data
