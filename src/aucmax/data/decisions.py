"""Decisions that the readers make about an unprepared table in place of a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from aucmax.basics.visible import counted

__all__ = ["Decision", "doubts_of_parts"]


@dataclass(frozen=True)
class Decision:
    """One decision about a column, or about the whole table.

    Parameters
    ----------
    column : str
        The name of the column; "" for the whole table.
    what : str
        What was done, without the name of the column, such as "12 gaps: the median 34, and marked".
    otherwise : dict
        Arguments of `datasets.read` that override the decision; empty if there are none.
    doubtful : bool
        Whether values of the file were ignored, which a model's user should know as well.
    leaves_out : bool
        Whether models do not learn from the column.
    counts : bool
        Whether ``what`` counts cells: for a file in parts, those of the first part.
    """

    column: str
    what: str
    otherwise: dict[str, Any] = field(default_factory=dict)
    doubtful: bool = False
    leaves_out: bool = False
    counts: bool = False

    def __str__(self) -> str:
        return f"{self.column}: {self.what}" if self.column else self.what

    def of_first_part(self) -> Decision:
        """Return the decision, worded as one about the first part of several."""
        return replace(self, what=f"in the first part, {self.what}") if self.counts else self


def doubts_of_parts(of_parts: Iterable[Iterable[Decision]]) -> list[Decision]:
    """Return the first decision about each column to ignore cells, with a count of the parts."""
    first: dict[str, Decision] = {}
    parts: Counter[str] = Counter()
    for decisions in of_parts:
        for decision in decisions:
            if decision.doubtful:
                first.setdefault(decision.column, decision)
                parts[decision.column] += 1
    more = {
        name: f" (and some in {counted(count - 1, 'further part')})"
        for name, count in parts.items()
    }
    return [
        replace(decision, what=decision.what + (more[name] if parts[name] > 1 else ""))
        for name, decision in first.items()
    ]
