"""Columns of dates, as days since 1970-01-01."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import NO_NUMBER, Column, Date, Time
from aucmax.data.dates import (
    CENTURY_AGO,
    DIGITS,
    EPOCHS,
    EXAMPLES,
    ISO,
    day_fraction,
    day_numbers,
    days_of_arrow,
    forms_of,
)  # fmt: skip
from aucmax.data.decisions import Decision
from aucmax.data.obstacles import Obstacle
from aucmax.data.tables.column import MOSTLY, NEARLY_ALL, FileColumn, Read

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["dates_in_numbers", "dates_in_text", "declared_dates", "times_in_text", "typed_dates"]

_SAMPLED_VALUES = 50  # values that decide which formats are tried
_ORDERS = {  # orders of day and month, between which a column may not decide
    form: form.replace("%d", "day")
    .replace("%m", "month")
    .replace("%Y", "year")
    .replace("%y", "year")
    for form in EXAMPLES
    if "%d" in form and "%m" in form
}
_FIRST_DIGITS, _LAST_DIGITS = 1800_01_01, 2100_12_31
_FIRST_EPOCH, _LAST_EPOCH = 7305, 47483  # days from 1970 to 1990 and to 2100
_YEAR_2000 = 10_957  # in days
_TIMES = re.compile(  # names that suggest times
    r"(?:.*[^a-z])?(?:[a-z]*(?:time|date|stamp)|ts|at|on|epoch|created|updated|modified)",
    re.IGNORECASE,
)


def typed_dates(column: FileColumn) -> Read:
    """Return the dates of a column whose Arrow type is a date or time."""
    from pyarrow import types

    declared = column.declared
    if column.reading.dates is True or (declared is not None and declared.is_days):
        kind: Column = Date(column.name)
        if types.is_time(column.kind) or types.is_duration(column.kind):
            kind = Time(column.name, duration=types.is_duration(column.kind))
        return Read(kind, days_of_arrow(column.values))
    raise _dates(column, column.values.drop_null()[0].as_py())


def dates_in_numbers(column: FileColumn) -> Read | None:
    """Return a column of dates if its numbers look like 20240131, or like times since 1970."""
    import pyarrow.compute as pc
    from pyarrow import types

    ends = pc.min_max(column.values)
    if _TIMES.fullmatch(re.sub("(?<=[a-z])(?=[A-Z])", " ", column.name)):
        low, high = float(ends["min"].as_py()), float(ends["max"].as_py())
        for form, a_day in EPOCHS.items():
            if _FIRST_EPOCH * a_day <= low <= high <= _LAST_EPOCH * a_day:
                return _told(column, declared_dates(column, Date(column.name, form=form)))
    if not types.is_integer(column.kind):
        return None
    if not _FIRST_DIGITS <= ends["min"].as_py() <= ends["max"].as_py() <= _LAST_DIGITS:
        return None
    month, day = np.divmod(column.values.drop_null().to_numpy() % 10_000, 100)
    if not all(np.all((part >= 1) & (part <= most)) for part, most in ((month, 12), (day, 31))):
        return None
    return _told(column, declared_dates(column, Date(column.name, form=DIGITS)))


def times_in_text(column: FileColumn, known: NDArray[np.bool_]) -> Read | None:
    """Return times of day or durations in days, if all known words, a mask (k,), are such."""
    distinct = column.distinct
    first = [distinct.words[int(j)].as_py() for j in np.flatnonzero(known)[:_SAMPLED_VALUES]]
    kind = Time(column.name)
    if not first or any(kind.number(word) is None for word in first):
        return None
    times = np.array(distinct.each(kind.number), dtype=np.float64)
    if any(day_fraction(f" {word}") is None for word in first) or (times[known] > 1.0).any():
        kind = Time(column.name, duration=True)
        if known.sum() <= 2:  # a column of two words is treated as categories
            return None
    strange = known & np.isnan(times)
    if distinct.rows(strange) > (1 - NEARLY_ALL) * distinct.rows(known):
        return None
    odd = (column.not_one(strange, f"a time such as {kind.example}"),) if strange.any() else ()
    return _told(column, Read(kind, distinct.of_rows(times), odd), "categories")


def dates_in_text(column: FileColumn, known: NDArray[np.bool_]) -> Read | None:
    """Return dates as numbers, if all known words of a column, a mask (k,), have one format.

    Some may be in ISO format, which cannot be mistaken for another.
    """
    distinct = column.distinct
    total = distinct.rows(known)
    places = np.flatnonzero(known)
    spread = np.linspace(0, len(places) - 1, min(len(places), _SAMPLED_VALUES)).astype(int)
    sampled = [distinct.words[int(j)].as_py() for j in places[spread]]
    counts, most = forms_of(sampled), MOSTLY * len(sampled)
    often = [form for form, count in counts.items() if count > (1 - NEARLY_ALL) * len(sampled)]
    iso = counts[ISO] if ISO in often else 0
    forms = [form for form in often if counts[form] + iso * (form != ISO) > most]
    if not forms:
        _refuse_two_formats(column, known, often)
        return None
    days = {form: _with_iso(distinct.words, form) for form in forms}
    strange = {form: known & np.isnan(days[form]) for form in forms}
    fits = [form for form in forms if not strange[form].any()]
    if not fits:
        best = min(forms, key=lambda form: distinct.rows(strange[form]))
        share = 1 - distinct.rows(strange[best]) / total
        if share < NEARLY_ALL:
            _refuse_two_formats(column, known, often)
            return None
        decision = column.not_one(
            strange[best],
            f"a date such as {EXAMPLES[best]}",
            f"as {total - distinct.rows(strange[best]):,} of its {total:,} values are",
        )
        return _read(column, best, days[best], *_told_of_iso(column, best, iso), decision)
    form = fits[0]
    if any(not np.array_equal(days[rival], days[form], equal_nan=True) for rival in fits[1:]):
        if column.reading.day_first is None:
            raise column.wrong(
                f"holds dates such as {distinct.word(distinct.first(known))!r}, which may be "
                f"{' or '.join(_ORDERS[rival] for rival in fits)}",
                "say which (day_first=True or day_first=False), write them as 2024-01-31, or leave "
                f"the column {column.out}",
                remedy={"day_first": True},
                provisional=True,
            )
        first = "%d" if column.reading.day_first else "%m"
        form = next(rival for rival in fits if rival.startswith(first))
    if column.reading.dates is not True:
        raise _dates(column, repr(distinct.word(distinct.first(known))))
    return _read(column, form, days[form], *_told_of_iso(column, form, iso))


def _with_iso(words: pa.Array, form: str) -> NDArray[np.float64]:
    """Return the days of words (k,) in a form, or else in ISO form, which is unambiguous."""
    days = day_numbers(words, form)
    rest = np.isnan(days)
    if form != ISO and rest.any():
        days[rest] = day_numbers(words.filter(rest), ISO)
    return days


def _told_of_iso(column: FileColumn, form: str, count: int) -> tuple[Decision, ...]:
    """Return the decision that ``count`` sampled dates are in ISO form, in a column of another."""
    distinct = column.distinct
    if form == ISO or not count:
        return ()
    row = distinct.first(~np.isnan(day_numbers(distinct.words, ISO)))
    sentence = f"dates in a second format, such as {distinct.word(row)!r}, which are read as well"
    return (Decision(column.name, sentence),)


def _refuse_two_formats(column: FileColumn, known: NDArray[np.bool_], forms: Sequence[str]) -> None:
    """Raise Obstacle if nearly all known words, a mask (k,), are dates in one of several forms."""
    distinct, total = column.distinct, column.distinct.rows(known)
    if not column.reading.prepare or len(forms) < 2:
        return
    of_form = {form: known & ~np.isnan(day_numbers(distinct.words, form)) for form in forms}
    if distinct.rows(np.any([*of_form.values()], axis=0)) < NEARLY_ALL * total:
        return
    first = max(forms, key=lambda form: distinct.rows(of_form[form]))
    second = max(forms, key=lambda form: distinct.rows(of_form[form] & ~of_form[first]))
    others = of_form[second] & ~of_form[first]
    rows = [distinct.first(of_form[first]), distinct.first(others)]
    words = " and ".join(repr(distinct.word(row)) for row in rows)
    raise column.wrong(
        f"holds dates in two formats, such as {words}",
        f"write all in one, such as 2024-01-31, or leave the column {column.out}",
        max(rows),
        remedy=column.drop,
    )


def declared_dates(column: FileColumn, declared: Column) -> Read:
    """Return dates or times of a declared format as numbers."""
    distinct = column.distinct
    if isinstance(declared, Date):
        days = _with_iso(distinct.words, declared.form)
    else:
        days = np.array(distinct.each(declared.number), dtype=np.float64)
    strange = np.isnan(days) & ~distinct.are(NO_NUMBER)
    decision = None
    if strange.any():
        kind = "date" if declared.is_date else "time"
        decision = column.not_one(
            strange,
            f"a {kind} such as {declared.example}",
            of_model=f"the model was trained on {kind}s of this format, so give one",
        )
    return Read(declared, distinct.of_rows(days), () if decision is None else (decision,))


def _read(column: FileColumn, form: str, days: NDArray[np.float64], *decisions: Decision) -> Read:
    read = Read(Date(column.name, form=form), column.distinct.of_rows(days), decisions)
    return _told(column, read) if form != ISO and column.reading.prepare else read


def _told(column: FileColumn, read: Read, otherwise: str = "") -> Read:
    """Return a column with the decision that its values are dates or times."""
    values, form, more = read.values, getattr(read.column, "form", ""), ""
    row = int(np.argmax(values == values))
    kind = "dates" if form else "durations" if read.column.is_duration else "times"
    if form in EPOCHS:
        kind = f"{'milli' if form == '%Q' else ''}seconds since 1970"
    ago = values < _YEAR_2000
    if "%y" in form and ago.any():
        row = int(np.argmax(ago))
        more = f"; years from {CENTURY_AGO} on are of the last century"
    text = f"{kind} such as {column.distinct.word(row)!r}, read as {read.column.shown(values[row])}"
    otherwise = otherwise or ("numbers" if column.source.typed or form in (*EPOCHS, DIGITS) else "")
    option = {otherwise: [column.name]} if otherwise else {}
    return read._replace(decisions=(Decision(column.name, text + more, option), *read.decisions))


def _dates(column: FileColumn, example: object) -> Obstacle:
    return column.wrong(
        f"holds dates, such as {example}, not numbers",
        "take dates as numbers, days since 1970-01-01 (dates=True), or leave the column "
        f"{column.out}",
        remedy={"dates": True},
        of_model="the model was trained on numbers here, so give a number",
    )
