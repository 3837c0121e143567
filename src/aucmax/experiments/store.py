"""Finished pieces of an experiment, kept in a file so that a run goes on where it was killed."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from aucmax.basics.replacing import replacing

__all__ = ["Store", "key_of", "locked_store"]

# what a row of each kind must have to be of use
_PARTS = {
    "figure": {"key", "rows", "job_seconds"},
    "tuning": {"key", "data", "method", "settings", "job_seconds"},
    "fit": {"key", "data", "method", "settings", "auc", "seconds", "optimality", "job_seconds"},
}


def key_of(facts: dict[str, Any]) -> str:
    """Return a digest of everything that determines a result, the version of aucmax among it."""
    from aucmax import __version__

    text = json.dumps({**facts, "aucmax": __version__}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _rows(raw: bytes) -> dict[str, dict[str, Any]]:
    """Return the rows of a file by key, without those that are broken."""
    rows = {}
    for line in raw.splitlines():
        try:
            row = json.loads(line)
            if _PARTS[row.get("kind", "figure")] <= row.keys():
                rows[row["key"]] = row
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return rows


class Store:
    """Rows of results by key, one JSON line each.

    Parameters
    ----------
    path : Path
        Made at the first row. A line that a kill cut short is dropped.
    beside : sequence of Path
        Files of other experiments, which may hold some of the same results; read, never written.
    """

    def __init__(self, path: Path, beside: Sequence[Path] = ()) -> None:
        self.path = path
        raw = path.read_bytes() if path.exists() else b""
        mine = _rows(raw)
        whole = "".join(json.dumps(row) + "\n" for row in mine.values()).encode()
        if whole != raw:
            with replacing(path) as file:
                file.write(whole)
        self.rows: dict[str, dict[str, Any]] = {}
        for other in beside:
            if other.exists():
                self.rows |= _rows(other.read_bytes())
        self.rows |= mine

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self.rows[key]

    def add(self, key: str, row: dict[str, Any]) -> None:
        """Keep a row; it is on the disk when this returns."""
        row = {"key": key, **row}
        self.rows[key] = row
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(
                f"{self.path}: cannot be written to ({error.strerror or error}); what is in it is "
                "kept: make room and run the same command again, or name another --output"
            ) from error


@contextlib.contextmanager
def locked_store(path: Path, beside: Sequence[Path] = ()) -> Iterator[Store]:
    """Yield a `Store` that no other process writes to meanwhile."""
    try:
        held = FileLock(path.with_name(".lock")).acquire(blocking=False)
    except Timeout:
        raise ValueError(
            f"another command is writing to {path.parent}; wait until it ends, or name another "
            "--output."
        ) from None
    with held:
        yield Store(path, beside)
