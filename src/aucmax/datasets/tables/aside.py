"""Weights, groups and times of the rows: columns that are no features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.dates import days_of_arrow
from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.tables.arrow import (
    Source,
    decoded,
    floats,
    is_numeric,
    is_text,
    missing_values,
    stripped,
)
from aucmax.datasets.tables.choice import Choice
from aucmax.datasets.tables.date_columns import dates_in_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["groups_of", "times_of", "weights_of"]


def weights_of(source: Source, name: str, choice: Choice) -> NDArray[np.float64]:
    column = _complete(source, name, "weight")
    if is_text(column.type):
        words = stripped(column)
        plain = [choice.number(word) for word in words]
        if None in plain:
            row = plain.index(None)
            what = f"column {name!r} holds {words[row]!r}, which is not a number"
            raise Obstacle(name, what, "weights are numbers", source.place(row))
        values = np.array(plain, dtype=np.float64)
    elif is_numeric(column.type):
        values = np.array(floats(column))
    else:
        what = f"column {name!r} has the type {column.type}"
        raise Obstacle(name, what, "weights are numbers")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"column {name!r} holds the weight {values[row]:g}"
        raise Obstacle(name, what, "weights are finite numbers, 0 or more", source.place(row))
    return values


def groups_of(source: Source, name: str, choice: Choice) -> NDArray[Any]:
    return np.asarray(_complete(source, name, "group").to_numpy())


def times_of(source: Source, name: str, choice: Choice) -> NDArray[np.float64]:
    """Numbers as they are, dates as days."""
    from pyarrow import types

    column = _complete(source, name, "time")
    if types.is_temporal(column.type):
        return days_of_arrow(column)
    if is_numeric(column.type):
        return np.array(floats(column))
    words = stripped(column) if is_text(column.type) else []
    try:
        known = [True] * len(words)
        found = dates_in_text(source, name, words, known, replace(choice, dates=True))
    except Obstacle as obstacle:  # its hint is for features
        raise Obstacle(name, obstacle.what, "write dates as 2024-01-31", obstacle.where) from None
    if found is None:
        what = f"column {name!r} holds neither numbers nor dates"
        hint = "the rows are put in its order, so write dates as 2024-01-31"
        raise Obstacle(name, what, hint, source.place(0))
    return found.values


def _complete(source: Source, name: str, what: str) -> pa.ChunkedArray:
    """A column in which every row has a value."""
    column = decoded(source, name)
    missing = missing_values(column)
    if missing.any():
        count = int(np.count_nonzero(missing))
        more = f", the first of {count:,}" * (count > 1)
        hint = f"every row needs a {what}"
        place = source.place(int(np.argmax(missing)))
        raise Obstacle(name, f"column {name!r} has a missing value{more}", hint, place)
    return column
