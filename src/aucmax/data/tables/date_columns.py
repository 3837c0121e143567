"""Columns of dates, as days since 1970-01-01."""

from __future__ import annotations

import numpy as np

from aucmax.data.columns import NO_NUMBER, Column, Date, Time
from aucmax.data.dates import EXAMPLES, day_number, days_of_arrow, forms_of
from aucmax.data.obstacles import Obstacle
from aucmax.data.tables.column import MOSTLY, NEARLY_ALL, FileColumn, Read

__all__ = ["dates_in_text", "declared_dates", "typed_dates"]

_SAMPLED_VALUES = 50  # values that decide which formats are tried
_NAMES = {
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y": "month/day/year",
    "%d-%m-%Y": "day-month-year",
    "%m-%d-%Y": "month-day-year",
}


def typed_dates(column: FileColumn) -> Read:
    """Return the dates of a column whose type is a date or time."""
    from pyarrow import types

    declared = column.declared
    if column.reading.dates is True or (declared is not None and declared.is_days):
        kind = Time if types.is_time(column.kind) or types.is_duration(column.kind) else Date
        return kind(column.name), days_of_arrow(column.values)
    raise _dates(column, column.values.drop_null()[0].as_py())


def dates_in_text(column: FileColumn, known: list[bool]) -> Read | None:
    """Return dates as numbers, if all known values of a text column are dates of one format."""
    words = column.words
    rows = [i for i, is_known in enumerate(known) if is_known]
    first = forms_of(words[i] for i in rows[:_SAMPLED_VALUES])
    forms = [
        form for form, count in first.items() if count > MOSTLY * min(len(rows), _SAMPLED_VALUES)
    ]
    if not forms:
        return None
    different = {words[i] for i in rows}
    days = {form: {word: day_number(word, form) for word in different} for form in forms}
    fits = [form for form in forms if None not in days[form].values()]
    if not fits:
        best = max(forms, key=lambda form: sum(day is not None for day in days[form].values()))
        strange = [i for i in rows if days[best][words[i]] is None]
        if 1 - len(strange) / len(rows) < NEARLY_ALL:
            return None
        raise column.wrong(
            f"holds {words[strange[0]]!r}, which is not a date such as {EXAMPLES[best]}, as "
            f"{len(rows) - len(strange):,} of its {len(rows):,} values are",
            f"correct it, or leave the column {column.out}",
            strange[0],
            remedy=column.drop,
        )
    form = fits[0]
    if any(days[other] != days[form] for other in fits[1:]):
        raise column.wrong(
            f"holds dates such as {words[rows[0]]!r}, which may be "
            f"{' or '.join(_NAMES[other] for other in fits)}",
            f"write them as 2024-01-31, or leave the column {column.out}",
            remedy=column.drop,
        )
    if column.reading.dates is not True:
        raise _dates(column, repr(words[rows[0]]))
    values = [days[form][word] if known[i] else None for i, word in enumerate(words)]
    return Date(column.name, form=form), np.array(values, dtype=np.float64)


def declared_dates(column: FileColumn, declared: Column) -> Read:
    """Return dates of a given format as numbers."""
    days = {word: declared.number(word) for word in set(column.words)}
    for row, word in enumerate(column.words):
        if days[word] is None and word.lower() not in NO_NUMBER:
            raise column.wrong(
                f"holds {word!r}, which is not a date such as {declared.example}",
                f"correct it, or leave the column {column.out}",
                row,
                remedy=column.drop,
                of_model="the model was trained on dates of this format, so give one",
            )
    return declared, np.array([days[word] for word in column.words], dtype=np.float64)


def _dates(column: FileColumn, example: object) -> Obstacle:
    return column.wrong(
        f"holds dates, such as {example}, not numbers",
        "take dates as numbers, days since 1970-01-01 (dates=True), or leave the column "
        f"{column.out}",
        remedy={"dates": True},
        of_model="the model was trained on numbers here, so give a number",
    )
