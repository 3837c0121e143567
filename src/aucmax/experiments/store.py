"""Finished pieces of an experiment, kept in a file so that a run goes on where it was killed."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["Store", "key_of"]


def key_of(facts: dict[str, Any]) -> str:
    """Return a digest of everything that determines a result."""
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _rows(raw: bytes) -> dict[str, dict[str, Any]]:
    rows = {}
    for line in raw.splitlines():
        try:
            row = json.loads(line)
            rows[row["key"]] = row
        except (ValueError, KeyError, TypeError):
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
            new = path.with_name(path.name + ".new")
            new.write_bytes(whole)
            os.replace(new, path)
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
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
