"""What was decided about a table as it came, in the place of a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Decision"]


@dataclass(frozen=True)
class Decision:
    """One decision about a column, or about the whole table.

    Parameters
    ----------
    column : str
        Its name; "" for the whole table.
    what : str
        What was done, without the name of the column, such as "12 gaps: the median 34, and marked".
    otherwise : dict
        Arguments of `datasets.read` that decide otherwise; empty if there are none.
    doubtful : bool
        Whether values of the file were not used, which a model's user should know as well.
    leaves_out : bool
        Whether no model learns from the column.
    """

    column: str
    what: str
    otherwise: dict[str, Any] = field(default_factory=dict)
    doubtful: bool = False
    leaves_out: bool = False

    def __str__(self) -> str:
        return f"{self.column}: {self.what}" if self.column else self.what
