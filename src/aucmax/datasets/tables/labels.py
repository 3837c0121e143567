"""Columns that are no features: labels, and the weights, groups and times of the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.dates import days_of_arrow
from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.svmlight import label_too_large, whole_labels
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

__all__ = ["groups_of", "labels_of", "times_of", "weights_of"]


def labels_of(source: Source, name: str, labels: str) -> NDArray | None:
    """The labels; None where there are none and none are needed."""
    column = decoded(source, name)
    if labels == "optional" and missing_values(column).all():
        return None
    column = _complete(
        source, name, f"the label is missing in column {name!r}", "leave such rows out of the file"
    )
    if is_text(column.type):
        return _text_labels(source, name, column)
    if not is_numeric(column.type):
        what = f"the label column {name!r} has the type {column.type}"
        raise Obstacle(name, what, "labels are numbers or text")
    return _number_labels(source, name, column)


def _text_labels(source: Source, name: str, column: pa.ChunkedArray) -> NDArray:
    encoded = column.combine_chunks().dictionary_encode()
    words = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy()
    for code, word in enumerate(words):
        # NumPy drops it from the end of a text.
        if "\0" in word:
            what = f"the label {word!r} in column {name!r} holds a NUL character"
            raise Obstacle(name, what, "remove it", source.first(codes == code))
        # A stray quotation mark swallows whole rows into one value.
        if "\n" in word:
            what = f"the label in column {name!r} runs over several lines"
            hint = "look for a stray quotation mark"
            raise Obstacle(name, what, hint, source.first(codes == code))
    return np.asarray(words)[codes]


def _number_labels(source: Source, name: str, column: pa.ChunkedArray) -> NDArray:
    from pyarrow import types

    if types.is_boolean(column.type) or types.is_integer(column.type):
        values = column.to_numpy()
        if values.dtype != np.uint64 or values.max() <= np.iinfo(np.int64).max:
            return values.astype(np.int64)
    values = floats(column)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        what = f"the label in column {name!r} is {values[row]}, not a finite number"
        raise Obstacle(name, what, "", source.place(row))
    what = label_too_large(values)
    if what:
        place = source.place(int(np.abs(values).argmax()))
        raise Obstacle(name, f"column {name!r}: {what}", "", place)
    return whole_labels(values)


def weights_of(source: Source, name: str, choice: Choice) -> NDArray[np.float64]:
    column = _given(source, name, "weight")
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
        what = f"column {name!r} holds the weight {values[wrong][0]:g}"
        raise Obstacle(name, what, "weights are finite numbers, 0 or more", source.first(wrong))
    return values


def groups_of(source: Source, name: str, choice: Choice) -> NDArray[Any]:
    return np.asarray(_given(source, name, "group").to_numpy())


def times_of(source: Source, name: str, choice: Choice) -> NDArray[np.float64]:
    """Numbers as they are, dates as days."""
    from pyarrow import types

    column = _given(source, name, "time")
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


def _given(source: Source, name: str, kind: str) -> pa.ChunkedArray:
    what, hint = f"column {name!r} has a missing value", f"every row needs a {kind}"
    return _complete(source, name, what, hint)


def _complete(source: Source, name: str, what: str, hint: str) -> pa.ChunkedArray:
    """A column in which every row has a value."""
    column = decoded(source, name)
    missing = missing_values(column)
    if missing.any():
        count = int(np.count_nonzero(missing))
        more = f", the first of {count:,}" * (count > 1)
        raise Obstacle(name, f"{what}{more}", hint, source.first(missing))
    return column
