"""Results by key in a file of JSON lines, which stays readable if the process is killed."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aucmax.basics.replacing import flushed, replacing
from aucmax.basics.version import package_version

__all__ = ["Journal", "Row", "key_of", "rows_in"]

Row = dict[str, Any]


def key_of(facts: dict[str, Any]) -> str:
    """Return a digest of everything that determines a result, including aucmax's version."""
    text = json.dumps({**facts, "aucmax": package_version()}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def rows_in(path: Path, is_row: Callable[[Row], bool]) -> dict[str, Row]:
    """Return the rows of a file by key, without broken rows; {} if there is no file."""
    rows = {}
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            if is_row(row):
                rows[row["key"]] = row
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return rows


class Journal:
    """Rows of results by key, one JSON line each.

    Parameters
    ----------
    path : Path
        The file, created with the first row. A line that was cut short by a kill is dropped.
    is_row : callable
        Returns whether the content of a line is a row.
    """

    def __init__(self, path: Path, is_row: Callable[[Row], bool]) -> None:
        self.path, self.rows = path, rows_in(path, is_row)
        text = "".join(json.dumps(row) + "\n" for row in self.rows.values()).encode()
        if path.exists() and text != path.read_bytes():
            with replacing(path) as file:
                file.write(text)

    def add(self, key: str, row: Row) -> None:
        """Store a row; it is on disk when this returns."""
        self.rows[key] = {"key": key, **row}
        try:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(self.rows[key]) + "\n")
                flushed(file)
        except OSError as error:
            raise OSError(
                f"{self.path}: cannot be written to ({error.strerror or error}); its contents are "
                "kept: make room and run the same command again, or name another folder"
            ) from error
