"""One error for everything that prevents a table from being read, with the remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from aucmax.basics.errors import DataFileError
from aucmax.basics.visible import in_line

__all__ = ["Obstacle", "TableError", "joined", "tried"]


class Obstacle(Exception):
    """A problem that prevents a table from being read, usually in a column.

    Parameters
    ----------
    column : str
        The name of the column; a later obstacle for the same column replaces this one.
    what : str
        What is wrong, as a sentence without a full stop.
    hint : str
        How to fix it.
    where : int or str
        A line number, or words such as "row 3".
    remedy : dict or None
        Arguments of `read` that solve the problem; None if only another file does.
    provisional : bool
        Whether the problem may disappear once further rows of the file are read.
    """

    def __init__(
        self,
        column: str,
        what: str,
        hint: str,
        where: int | str = "",
        remedy: dict[str, Any] | None = None,
        provisional: bool = False,
    ) -> None:
        super().__init__(what)
        self.column, self.what, self.hint, self.where = column, what, hint, where
        self.remedy, self.provisional = remedy, provisional

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to pickle the obstacle: workers send it with their errors."""
        made_of = self.column, self.what, self.hint, self.where, self.remedy, self.provisional
        return type(self), made_of

    @property
    def place(self) -> str:
        """The place of the problem, in words."""
        return f"line {self.where}" if isinstance(self.where, int) else self.where

    def sentence(self) -> str:
        """Return what is wrong and how to fix it."""
        return f"{self.what}; {self.hint}" if self.hint else self.what


class TableError(DataFileError):
    """A table cannot be read as it is.

    Parameters
    ----------
    path : path
        The file.
    obstacles : list of Obstacle
        At least one.
    remedy : dict or None
        Arguments of `read` with which the file could be read; None if there are none.
    found : Bunch or None
        The result of reading with these arguments.
    """

    def __init__(
        self,
        path: Path | str,
        obstacles: list[Obstacle],
        remedy: dict[str, Any] | None = None,
        found: Any = None,
    ) -> None:
        self.path, self.obstacles, self.remedy, self.found = path, obstacles, remedy, found
        super().__init__(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to pickle the error, without the rows that were read."""
        return type(self), (self.path, self.obstacles, self.remedy)

    def __str__(self) -> str:
        if len(self.obstacles) == 1:
            return self.report()
        advice = ", ".join(f"{name}={value!r}" for name, value in (self.remedy or {}).items())
        return self.report() + (f"\nread(…, {advice}) reads the rest" if advice else "")

    def report(self) -> str:
        """Return the obstacles, in one line or one line each, without the remedy."""
        if len(self.obstacles) == 1:
            obstacle = self.obstacles[0]
            where = f", {obstacle.place}" if obstacle.place else ""
            return in_line(f"{self.path}{where}: {obstacle.sentence()}")
        lines = [f"{self.path}: {len(self.obstacles)} problems"]
        for obstacle in self.obstacles:
            text = obstacle.what if obstacle.remedy else obstacle.sentence()
            lines.append(f"  {obstacle.place}{': ' if obstacle.place else ''}{text}")
        return "\n".join(map(in_line, lines))


def joined(remedies: Iterable[dict[str, Any] | None]) -> dict[str, Any]:
    """Return several remedies joined into one; a dropped column needs no other remedy."""
    union: dict[str, Any] = {}
    for remedy in remedies:
        for name, value in (remedy or {}).items():
            if isinstance(value, list):
                columns = union.setdefault(name, [])
                columns += [column for column in value if column not in columns]
            else:
                union[name] = value
    dropped = union.get("drop", [])
    if "categories" in union:
        union["categories"] = [column for column in union["categories"] if column not in dropped]
    return {name: value for name, value in union.items() if value not in ([], None)}


def tried(
    first: TableError, read: Callable[[dict[str, Any]], tuple[Any, Sequence[Obstacle]]]
) -> TableError:
    """Return the same error with all further obstacles, and a remedy that was tried out.

    Parameters
    ----------
    first : TableError
        The error of the first reading.
    read : callable
        Reads the file again, with further arguments; without labels if no argument removes an
        obstacle. Returns the result, and the doubts that remain.

    Returns
    -------
    TableError
        Its remedy is None if no arguments let the file be read.
    """
    obstacles = {obstacle.column: obstacle for obstacle in first.obstacles}
    remedy: dict[str, Any] = {}
    while True:
        more = joined([remedy, *(obstacle.remedy for obstacle in obstacles.values())])
        if more == remedy:  # nothing new to try
            return TableError(first.path, list(obstacles.values()))
        remedy = more
        unsolved = any(obstacle.remedy is None for obstacle in obstacles.values())
        try:
            rows, doubtful = read({**remedy, "labels": "none"} if unsolved else remedy)
        except TableError as error:
            obstacles |= {obstacle.column: obstacle for obstacle in error.obstacles}
        except DataFileError:
            return TableError(first.path, list(obstacles.values()))
        else:
            more_doubts = {f"{doubt.column} in doubt": doubt for doubt in doubtful}
            if more_doubts.keys() <= obstacles.keys():
                return TableError(first.path, list(obstacles.values()), remedy, rows)
            obstacles |= more_doubts
