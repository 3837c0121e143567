"""A column that was read, and how text is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.tables.arrow import is_text, stripped
from aucmax.datasets.tables.choice import Choice

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOSTLY", "NEARLY_ALL", "NO_NUMBER", "NO_WORD", "Feature", "left_out", "words_of"]

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


def words_of(name: str, column: pa.ChunkedArray, choice: Choice) -> Feature:
    """A column as text, whatever it holds."""
    import pyarrow as pa

    if not is_text(column.type):
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            where = "where the model has text" if choice.for_model else "which is not text"
            what = f"column {name!r} has the type {column.type}, {where}"
            hint = "" if choice.for_model else f"leave the column {left_out(name)}"
            raise Obstacle(name, what, hint, remedy=choice.without(name)) from None
    values = np.array(column.to_pylist(), dtype=object)
    values[[word.lower() in NO_WORD for word in stripped(column)]] = np.nan
    return Feature(values)


def left_out(name: str) -> str:
    """How to leave a column out, after "leave the column"."""
    return f"out (--drop {name!r})"
