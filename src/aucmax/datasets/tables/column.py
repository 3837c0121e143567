"""A column of a table: its values as Arrow has them, and how to say what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.tables.arrow import ArrowFile, is_text
from aucmax.datasets.tables.choice import Choice

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOSTLY", "NEARLY_ALL", "NO_NUMBER", "NO_WORD", "Column", "Feature"]

NEARLY_ALL = 0.9  # share of numbers from which no other value is taken for a category
MOSTLY = 0.5  # share of numbers from which many different values are no categories
# What stands for a missing value: "none" may be a category, and UCI's files have "?".
NO_NUMBER = ("", "na", "n/a", "nan", "null", "none", "?")
NO_WORD = ("", "na", "n/a", "nan", "null", "?")


@dataclass(frozen=True)
class Feature:
    """A column of numbers (float64), perhaps from dates of one form, or of text (object)."""

    values: NDArray[Any]
    form: str | None = None


@dataclass(frozen=True)
class Column:
    """A column that is wanted."""

    source: ArrowFile
    name: str
    choice: Choice

    @cached_property
    def values(self) -> pa.ChunkedArray:
        """As Arrow has them; those encoded by a dictionary are written out."""
        from pyarrow import types

        column = self.source.table.column(self.name)
        return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column

    @cached_property
    def words(self) -> list[str]:
        """Text without the space around it; empty where it is missing."""
        return ["" if value is None else value.strip() for value in self.values.to_pylist()]

    @property
    def kind(self) -> pa.DataType:
        """Arrow's type."""
        return self.values.type

    def numbers(self) -> NDArray[np.float64]:
        """Numbers as float64; NaN where they are missing."""
        import pyarrow as pa

        return np.array(self.values.cast(pa.float64(), safe=False).to_numpy())

    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value: none, NaN, or nothing but space."""
        import pyarrow.compute as pc

        column = self.values
        if is_text(column.type):
            column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
        return column.is_null(nan_is_null=True).to_numpy()

    @property
    def out(self) -> str:
        """How to leave it out, after "leave the column"."""
        return f"out (--drop {self.name!r})"

    def wrong(
        self,
        what: str,
        hint: str,
        row: int | None = None,
        *,
        remedy: dict[str, Any] | None = None,
        of_model: str | None = None,
    ) -> Obstacle:
        """What stands in the way, to be raised.

        Parameters
        ----------
        what, hint : str
            What is wrong, after "column NAME", and what would be right.
        row : int, optional
            The first row of which this holds.
        remedy : dict, optional
            Arguments of `read` with which it is no longer in the way.
        of_model : str, optional
            The hint where a model wants the column, which may only be left out.
        """
        if of_model is not None and self.choice.for_model:
            hint, remedy = of_model, self.choice.without(self.name)
        where = "" if row is None else self.source.place(row)
        return Obstacle(self.name, f"column {self.name!r} {what}", hint, where, remedy)

    @property
    def drop(self) -> dict[str, Any]:
        """The remedy of leaving it out."""
        return {"drop": [self.name]}
