"""The label column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.svmlight import label_too_large, whole_labels
from aucmax.datasets.tables.arrow import (
    Source,
    decoded,
    floats,
    is_numeric,
    is_text,
    missing_values,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["labels_of"]


def labels_of(source: Source, name: str, labels: str) -> NDArray | None:
    column = decoded(source, name)
    missing = missing_values(column)
    if missing.all() and labels == "optional":
        return None
    if missing.any():
        count = int(np.count_nonzero(missing))
        more = f", the first of {count:,}" * (count > 1)
        what = f"the label is missing in column {name!r}{more}"
        hint = "leave such rows out of the file"
        raise Obstacle(name, what, hint, source.place(int(np.argmax(missing))))
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
            row = int(np.argmax(codes == code))
            what = f"the label {word!r} in column {name!r} holds a NUL character"
            raise Obstacle(name, what, "remove it", source.place(row))
        # A stray quotation mark swallows whole rows into one value.
        if "\n" in word:
            row = int(np.argmax(codes == code))
            what = f"the label in column {name!r} runs over several lines"
            raise Obstacle(name, what, "look for a stray quotation mark", source.place(row))
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
