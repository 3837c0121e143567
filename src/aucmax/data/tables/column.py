"""A column of a table: its Arrow values, and how problems with it are reported."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import Column
from aucmax.data.obstacles import Obstacle
from aucmax.data.reading import Reading
from aucmax.data.tables.arrow import ArrowFile, is_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOSTLY", "NEARLY_ALL", "FileColumn", "Read"]

# a column's kind and its values: float64, NaN for gaps, or words (object)
Read = tuple[Column, NDArray[Any]]

NEARLY_ALL = 0.9  # share of numbers above which other values are errors, not categories
MOSTLY = 0.5  # the same for a column of many different values


@dataclass(frozen=True)
class FileColumn:
    """A column to be read."""

    source: ArrowFile
    name: str
    reading: Reading

    @cached_property
    def values(self) -> pa.ChunkedArray:
        """The Arrow values, decoded if they are dictionary-encoded."""
        from pyarrow import types

        column = self.source.table.column(self.name)
        return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column

    @cached_property
    def words(self) -> list[str]:
        """The text, stripped; empty if it is missing."""
        return ["" if value is None else value.strip() for value in self.values.to_pylist()]

    @property
    def declared(self) -> Column | None:
        """The column as declared by the caller."""
        return self.reading.declared.get(self.name)

    @property
    def kind(self) -> pa.DataType:
        """Arrow's type."""
        return self.values.type

    def numbers(self) -> NDArray[np.float64]:
        """Numbers as float64, perhaps in Arrow's memory; NaN for missing values."""
        import pyarrow as pa

        return self.values.cast(pa.float64(), safe=False).to_numpy()

    def missing(self) -> NDArray[np.bool_]:
        """The rows without a value: null, NaN, or only white space."""
        import pyarrow.compute as pc

        column = self.values
        if is_text(column.type):
            column = pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
        return column.is_null(nan_is_null=True).to_numpy()

    @property
    def out(self) -> str:
        """How to drop it, to follow "leave the column"."""
        return f"out (drop={[self.name]!r})"

    def wrong(
        self,
        what: str,
        hint: str,
        row: int | None = None,
        *,
        remedy: dict[str, Any] | None = None,
        of_model: str | None = None,
    ) -> Obstacle:
        """Return the obstacle to raise.

        Parameters
        ----------
        what, hint : str
            What is wrong, to follow "column NAME", and how to fix it.
        row : int, optional
            The first row that is wrong.
        remedy : dict, optional
            Arguments of `read` that remove the obstacle.
        of_model : str, optional
            The hint if a model needs the column.
        """
        if of_model is not None and self.reading.for_model:
            hint, remedy = of_model, self.reading.without(self.name)
        where = "" if row is None else self.source.place(row)
        return Obstacle(self.name, f"column {self.name!r} {what}", hint, where, remedy)

    @property
    def drop(self) -> dict[str, Any]:
        """The remedy of dropping it."""
        return {"drop": [self.name]}
