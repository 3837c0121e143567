"""Columns of dates, as days since 1970-01-01."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aucmax.datasets.dates import EXAMPLES, ISO, day_number, days_of_arrow, forms_of
from aucmax.datasets.obstacles import Obstacle
from aucmax.datasets.tables.arrow import Source
from aucmax.datasets.tables.choice import MOSTLY, NEARLY_ALL, NO_NUMBER, Choice, Feature, left_out

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["dates_in_text", "dates_obstacle", "days_of", "typed_dates"]

_SAMPLE = 50  # values that decide of which forms a date may be
_NAMES = {
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y": "month/day/year",
    "%d-%m-%Y": "day-month-year",
    "%m-%d-%Y": "month-day-year",
}


def typed_dates(name: str, column: pa.ChunkedArray, choice: Choice) -> Feature:
    """Dates that the file, or Arrow, takes for such."""
    if choice.dates is True or name in choice.date_forms:
        return Feature(days_of_arrow(column), ISO)
    example = column.drop_null()[0].as_py()
    raise dates_obstacle(
        name, f"column {name!r} holds dates, such as {example}, not numbers", choice
    )


def dates_obstacle(name: str, what: str, choice: Choice) -> Obstacle:
    if choice.for_model:
        hint = "the model was trained on numbers here, so give a number"
        return Obstacle(name, what, hint, remedy=choice.without(name))
    hint = (
        "take dates as numbers, days since 1970-01-01 (--dates), or leave the column "
        f"{left_out(name)}"
    )
    return Obstacle(name, what, hint, remedy={"dates": True})


def dates_in_text(
    source: Source, name: str, words: list[str], known: list[bool], choice: Choice
) -> Feature | None:
    """Dates as numbers, if all that is known in the column are dates of one form."""
    rows = [i for i, is_known in enumerate(known) if is_known]
    first = forms_of(words[i] for i in rows[:_SAMPLE])
    forms = [form for form, count in first.items() if count > MOSTLY * min(len(rows), _SAMPLE)]
    if not forms:
        return None
    different = {words[i] for i in rows}
    days = {form: {word: day_number(word, form) for word in different} for form in forms}
    fits = [form for form in forms if None not in days[form].values()]
    if not fits:
        best = max(forms, key=lambda form: sum(day is not None for day in days[form].values()))
        strange = [i for i in rows if days[best][words[i]] is None]
        share = 1 - len(strange) / len(rows)
        if share < NEARLY_ALL:
            return None
        what = (
            f"column {name!r} holds {words[strange[0]]!r}, which is not a date such as "
            f"{EXAMPLES[best]}, as {len(rows) - len(strange):,} of its {len(rows):,} values are"
        )
        hint = f"correct it, or leave the column {left_out(name)}"
        raise Obstacle(name, what, hint, source.place(strange[0]), {"drop": [name]})
    form = fits[0]
    if any(days[other] != days[form] for other in fits[1:]):
        what = (
            f"column {name!r} holds dates such as {words[rows[0]]!r}, which may be "
            f"{' or '.join(_NAMES[other] for other in fits)}"
        )
        hint = f"write them as 2024-01-31, or leave the column {left_out(name)}"
        raise Obstacle(name, what, hint, remedy={"drop": [name]})
    if choice.dates is not True:
        what = f"column {name!r} holds dates, such as {words[rows[0]]!r}, not numbers"
        raise dates_obstacle(name, what, choice)
    values = [days[form][word] if known[i] else None for i, word in enumerate(words)]
    return Feature(np.array(values, dtype=np.float64), form)


def days_of(
    source: Source, name: str, words: list[str], form: str, choice: Choice
) -> NDArray[np.float64]:
    """Dates of a form that is known, as numbers."""
    known: dict[str, float | None] = {word: day_number(word, form) for word in set(words)}
    for row, word in enumerate(words):
        if known[word] is None and word.lower() not in NO_NUMBER:
            example = EXAMPLES[form]
            what = f"column {name!r} holds {word!r}, which is not a date such as {example}"
            hint = (
                "the model was trained on dates of this form, so give one"
                if choice.for_model
                else f"correct it, or leave the column {left_out(name)}"
            )
            raise Obstacle(name, what, hint, source.place(row), choice.without(name))
    return np.array([known[word] for word in words], dtype=np.float64)
