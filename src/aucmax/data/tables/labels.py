"""Columns that are not features: labels, weights, groups and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.dates import days_of_arrow
from aucmax.data.obstacles import Obstacle
from aucmax.data.strata import stratum_of
from aucmax.data.svmlight import label_too_large, whole_labels
from aucmax.data.tables.arrow import is_numeric, is_text
from aucmax.data.tables.column import FileColumn
from aucmax.data.tables.date_columns import dates_in_text
from aucmax.data.tables.written import DECIMALS, amounts, plain_numbers

__all__ = ["groups_of", "labels_of", "segments_of", "strata_of", "times_of", "weights_of"]

_STRATUM_NEEDED = "every row needs a stratum"


def labels_of(column: FileColumn) -> NDArray[Any] | None:
    """Return the labels; None if the column is empty and labels are optional."""
    if column.reading.labels == "optional" and column.missing().all():
        return None
    name = column.name
    hint, remedy = "leave such rows out of the file", None
    if column.reading.prepare and column.reading.strict:
        hint, remedy = f"{hint}, or do so here (without strict=True)", {"strict": False}
    _refuse_gaps(column, f"the label is missing in column {name!r}", hint, remedy)
    if is_text(column.kind):
        return _text_labels(column)
    if not is_numeric(column.kind):
        problem = f"the label column {name!r} has the type {column.kind}"
        raise Obstacle(name, problem, "labels must be numbers or text")
    return _number_labels(column)


def _text_labels(column: FileColumn) -> NDArray[Any]:
    distinct = (column.distinct if column.reading.prepare else column.written).each_once()
    words, codes = distinct.words.to_pylist(), distinct.codes
    for code, word in enumerate(words):
        problem = hint = ""
        if "\0" in word:  # NumPy drops it at the end of a string
            problem, hint = (
                f"the label {word!r} in column {column.name!r} holds a NUL character",
                "remove it",
            )
        if "\n" in word:  # a stray quotation mark swallows whole rows into one value
            problem = f"the label in column {column.name!r} runs over several lines"
            hint = "look for a stray quotation mark"
        if problem:
            place = column.source.place(int(np.argmax(codes == code)))
            raise Obstacle(column.name, problem, hint, place)
    return np.asarray(words)[codes]


def _number_labels(column: FileColumn) -> NDArray[Any]:
    from pyarrow import types

    if types.is_boolean(column.kind) or types.is_integer(column.kind):
        values = column.values.to_numpy()
        if values.dtype != np.uint64 or values.max() <= np.iinfo(np.int64).max:
            return values.astype(np.int64)
    values, name = column.numbers(), column.name
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        problem = f"the label in column {name!r} is {values[row]}, not a finite number"
        raise Obstacle(name, problem, "", column.source.place(row))
    problem = label_too_large(values)
    if problem:
        place = column.source.place(int(np.abs(values).argmax()))
        raise Obstacle(name, f"column {name!r}: {problem}", "", place)
    return whole_labels(values)


def weights_of(column: FileColumn) -> NDArray[np.float64]:
    """Return the weights of the rows."""
    _refuse_gaps(column, f"column {column.name!r} has a missing value", "every row needs a weight")
    if is_text(column.kind):
        values = _numbers(column)
        if np.isnan(values).any():
            row = int(np.argmax(np.isnan(values)))
            problem = f"holds {column.distinct.word(row)!r}, which is not a number"
            raise column.wrong(problem, "weights must be numbers", row)
    elif is_numeric(column.kind):
        values = column.numbers().copy()
    else:
        raise column.wrong(f"has the type {column.kind}", "weights must be numbers")
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        hint = "weights must be finite numbers, 0 or more"
        raise column.wrong(f"holds the weight {values[row]:g}", hint, row)
    return values


def groups_of(column: FileColumn) -> NDArray[Any]:
    """Return the groups of the rows, unchanged."""
    return _as_they_are(column, "every row needs a group")


def strata_of(column: FileColumn) -> NDArray[Any]:
    """Return the strata of the rows: values unchanged, and text as integers if all is."""
    if not is_text(column.kind):
        return _as_they_are(column, _STRATUM_NEEDED)
    _refuse_gaps(column, f"column {column.name!r} has a missing value", _STRATUM_NEEDED)
    distinct = column.distinct.each_once()
    strata = distinct.each(stratum_of)
    numbers = all(type(stratum) is int for stratum in strata)
    values = np.array(strata, np.int64) if numbers else np.array(distinct.words.to_pylist(), object)
    return distinct.of_rows(values, gap=0)


def segments_of(column: FileColumn) -> NDArray[Any]:
    """Return the segments of the rows, unchanged; None or NaN for a missing one."""
    return np.asarray(column.values.to_numpy())


def _as_they_are(column: FileColumn, hint: str) -> NDArray[Any]:
    _refuse_gaps(column, f"column {column.name!r} has a missing value", hint)
    return np.asarray(column.values.to_numpy())


def times_of(column: FileColumn) -> NDArray[np.float64]:
    """Return the times of the rows: numbers unchanged, dates as days."""
    from pyarrow import types

    _refuse_gaps(column, f"column {column.name!r} has a missing value", "every row needs a time")
    if types.is_temporal(column.kind):
        return days_of_arrow(column.values)
    if is_numeric(column.kind):
        return column.numbers().copy()
    dates = None
    if is_text(column.kind):
        reading = replace(column.reading, dates=True, missing=False, prepare=False)
        date_column = replace(column, reading=reading)
        try:
            dates = dates_in_text(date_column, np.ones(len(date_column.distinct.words), dtype=bool))
        except Obstacle as obstacle:  # its hint is meant for features
            hint = "write dates as 2024-01-31"
            raise Obstacle(column.name, obstacle.what, hint, obstacle.where) from None
    if dates is None:
        hint = "the rows are ordered by it, so write dates as 2024-01-31"
        raise column.wrong("holds neither numbers nor dates", hint, 0)
    return dates.values


def _numbers(column: FileColumn) -> NDArray[np.float64]:
    """Return a column of text as numbers, NaN for other words."""
    distinct = column.distinct.each_once()
    tried = [plain_numbers(distinct.words, column.reading.decimal or ".")]
    if column.reading.prepare:
        tried += [amounts(distinct.words, mark) for mark in DECIMALS]
    return distinct.of_rows(min(tried, key=lambda numbers: np.isnan(numbers).sum()))


def _refuse_gaps(
    column: FileColumn, what: str, hint: str, remedy: dict[str, Any] | None = None
) -> None:
    """Raise Obstacle if a row has no value."""
    missing = column.missing()
    if missing.any():
        count = int(np.count_nonzero(missing))
        more = f", the first of {count:,}" if count > 1 else ""
        place = column.source.place(int(np.argmax(missing)))
        raise Obstacle(column.name, f"{what}{more}", hint, place, remedy)
