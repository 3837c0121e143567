"""Columns of dates, as days since 1970-01-01."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import NO_NUMBER, Column, Date, Time, date_of
from aucmax.data.dates import DIGITS, EXAMPLES, ISO, day_numbers, days_of_arrow, forms_of
from aucmax.data.decisions import Decision
from aucmax.data.obstacles import Obstacle
from aucmax.data.tables.column import MOSTLY, NEARLY_ALL, FileColumn, Read

__all__ = ["dates_in_text", "dates_of_digits", "declared_dates", "typed_dates"]

_SAMPLED_VALUES = 50  # values that decide which formats are tried
_ORDERS = {  # of which a column may show none
    form: form.replace("%d", "day")
    .replace("%m", "month")
    .replace("%Y", "year")
    .replace("%y", "year")
    for form in EXAMPLES
    if "%d" in form and "%m" in form
}
_FIRST_DIGITS, _LAST_DIGITS = 1800_01_01, 2100_12_31


def typed_dates(column: FileColumn) -> Read:
    """Return the dates of a column whose type is a date or time."""
    from pyarrow import types

    declared = column.declared
    if column.reading.dates is True or (declared is not None and declared.is_days):
        kind = Time if types.is_time(column.kind) or types.is_duration(column.kind) else Date
        return Read(kind(column.name), days_of_arrow(column.values))
    raise _dates(column, column.values.drop_null()[0].as_py())


def dates_of_digits(column: FileColumn) -> Read | None:
    """Return dates as numbers, if whole numbers are dates such as 20240131."""
    import pyarrow.compute as pc

    ends = pc.min_max(column.values)
    if not _FIRST_DIGITS <= ends["min"].as_py() <= ends["max"].as_py() <= _LAST_DIGITS:
        return None
    month, day = np.divmod(column.values.drop_null().to_numpy() % 10_000, 100)
    if not all(np.all((part >= 1) & (part <= most)) for part, most in ((month, 12), (day, 31))):
        return None
    return declared_dates(column, Date(column.name, form=DIGITS))


def dates_in_text(column: FileColumn, known: NDArray[np.bool_]) -> Read | None:
    """Return dates as numbers, if all known words of a column, a mask (k,), are of one format."""
    distinct = column.distinct
    places = np.flatnonzero(known)
    total = distinct.rows(known)
    sampled = [distinct.words[int(j)].as_py() for j in places[:_SAMPLED_VALUES]]
    forms = [form for form, count in forms_of(sampled).items() if count > MOSTLY * len(sampled)]
    if not forms:
        return None
    days = {form: day_numbers(distinct.words, form) for form in forms}
    strange = {form: known & np.isnan(days[form]) for form in forms}
    fits = [form for form in forms if not strange[form].any()]
    if not fits:
        best = min(forms, key=lambda form: distinct.rows(strange[form]))
        share = 1 - distinct.rows(strange[best]) / total
        if share < NEARLY_ALL:
            return None
        decision = column.not_one(
            strange[best],
            f"a date such as {EXAMPLES[best]}",
            f"as {total - distinct.rows(strange[best]):,} of its {total:,} values are",
        )
        return _read(column, best, days[best], decision)
    form = fits[0]
    if any(not np.array_equal(days[other], days[form], equal_nan=True) for other in fits[1:]):
        if column.reading.day_first is None:
            raise column.wrong(
                f"holds dates such as {distinct.word(distinct.first(known))!r}, which may be "
                f"{' or '.join(_ORDERS[other] for other in fits)}",
                "say which (day_first=True or day_first=False), write them as 2024-01-31, or leave "
                f"the column {column.out}",
                remedy={"day_first": True},
                provisional=True,
            )
        first = "%d" if column.reading.day_first else "%m"
        form = next(other for other in fits if other.startswith(first))
    if column.reading.dates is not True:
        raise _dates(column, repr(distinct.word(distinct.first(known))))
    return _read(column, form, days[form])


def declared_dates(column: FileColumn, declared: Column) -> Read:
    """Return dates of a given format as numbers."""
    distinct = column.distinct
    if isinstance(declared, Date):
        days = day_numbers(distinct.words, declared.form)
        days = np.where(np.isnan(days), day_numbers(distinct.words, ISO), days)  # never in doubt
    else:
        days = np.array(distinct.each(declared.number), dtype=np.float64)
    strange = np.isnan(days) & ~distinct.are(NO_NUMBER)
    decision = None
    if strange.any():
        decision = column.not_one(
            strange,
            f"a date such as {declared.example}",
            of_model="the model was trained on dates of this format, so give one",
        )
    return Read(declared, distinct.of_rows(days), () if decision is None else (decision,))


def _read(column: FileColumn, form: str, days: NDArray[np.float64], *decisions: Decision) -> Read:
    if form != ISO and column.reading.prepare:
        row = int(np.argmax(~np.isnan(column.distinct.of_rows(days))))
        word, date = column.distinct.word(row), date_of(column.distinct.of_rows(days)[row])
        told = Decision(column.name, f"dates such as {word!r}, read as {date}")
        decisions = (told, *decisions)
    return Read(Date(column.name, form=form), column.distinct.of_rows(days), decisions)


def _dates(column: FileColumn, example: object) -> Obstacle:
    return column.wrong(
        f"holds dates, such as {example}, not numbers",
        "take dates as numbers, days since 1970-01-01 (dates=True), or leave the column "
        f"{column.out}",
        remedy={"dates": True},
        of_model="the model was trained on numbers here, so give a number",
    )
