"""Dates and date-times as days since 1970-01-01, numbers for a linear model.

A form is the date part of a `strptime` format; one without a day means the first of the month. In
every form a time of day may follow, and a zone after the time; without a zone it is UTC. Only a
whole column can show whether the day or the month comes first, and some do not.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.digits import dates_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CENTURY_AGO", "DIGITS", "EPOCHS", "EXAMPLES", "ISO", "day_fraction", "day_number",
    "day_numbers", "days_of_arrow", "duration_of", "forms_of",
]  # fmt: skip

ISO = "%Y-%m-%d"
DIGITS = "%Y%m%d"
EPOCHS = {"%s": 86_400.0, "%Q": 86_400_000.0}  # units since 1970: how many of them a day has
CENTURY_AGO = 30  # two-digit years from 30 on are in the last century, as in spreadsheets
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_PART = {
    "%Y": r"(?P<year>[0-9]{4})",
    "%y": r"(?P<year>[0-9]{2})",
    "%m": r"(?P<month>[0-9]{1,2})",
    "%d": r"(?P<day>[0-9]{1,2})",
    "%b": r"(?P<name>[A-Za-z]{3,9})\.?",
    **dict.fromkeys(EPOCHS, r"(?P<epoch>[0-9]+(?:[.][0-9]+)?)"),
}
_TIME = re.compile(
    r"(?:[T :]|, )\s*(?P<hour>[0-9]{1,2})[:.](?P<minute>[0-9]{2})"
    r"(?:[:.](?P<second>[0-9]{2}(?:[.,][0-9]+)?))?(?:\s?(?P<half>[AaPp])\.?[Mm]\.?| Uhr)?"
    r"\s?(?:(?P<utc>Z|UTC|GMT)|(?P<sign>[+-])(?P<east>[0-9]{2}):?(?P<more>[0-9]{2})?)?"
    r"(?:\s?\([A-Za-z ]+\))?\]?"
)
_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_CLOCK = ("hour", "minute", "second")
_DAYS = {  # in each part of a duration
    "year": 365.25, "month": 365.25 / 12, "week": 7.0, "day": 1.0,
    "hour": 1 / 24, "minute": 1 / 1440, "second": 1 / 86_400,
}  # fmt: skip
_DURATION = re.compile(
    rf"(?i:(?:(?P<year>{_NUMBER})\s?y(?:(?:ea)?rs?)?,?\s*)?"
    rf"(?:(?P<month>{_NUMBER})\s?mo(?:n(?:th)?)?s?,?\s*)?"
    rf"(?:(?P<week>{_NUMBER})\s?w(?:(?:ee)?ks?)?,?\s*)?"
    rf"(?:(?P<day>{_NUMBER})\s?d(?:ays?)?,?\s*)?(?:"
    r"(?P<clock>[0-9]+:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?)|"
    rf"(?:(?P<hour>{_NUMBER})\s?h(?:ours?|rs?)?\s*)?"
    rf"(?:(?P<minute>{_NUMBER})\s?m(?:in(?:ute)?s?)?\s*)?"
    rf"(?:(?P<second>{_NUMBER})\s?s(?:ec(?:ond)?s?)?)?))"
)
_MILITARY = re.compile(r" (?:[01][0-9]|2[0-4])[0-5][0-9]\s?(?:h|hrs?)")
# The form of a date and an example; 31 is the day.
EXAMPLES = {
    ISO: "2024-01-31",
    "%Y/%m/%d": "2024/01/31",
    "%Y.%m.%d": "2024.01.31",
    "%d.%m.%Y": "31.01.2024",
    "%d/%m/%Y": "31/01/2024",
    "%m/%d/%Y": "01/31/2024",
    "%d-%m-%Y": "31-01-2024",
    "%m-%d-%Y": "01-31-2024",
    "%d %b %Y": "31 Jan 2024",
    "%d-%b-%Y": "31-Jan-2024",
    "%d/%b/%Y": "31/Jan/2024",
    "%b %d %Y": "Jan 31, 2024",
    "%d.%m.%y": "31.01.24",
    "%d/%m/%y": "31/01/24",
    "%m/%d/%y": "01/31/24",
    "%d-%b-%y": "31-Jan-24",
    DIGITS: "20240131",
    "%Y-%m": "2024-01",
    "%m/%Y": "01/2024",
    "%b-%Y": "Jan-2024",
    "%b %Y": "Jan 2024",
    "%b-%y": "Jan-24",
    "%s": "1706659200",
    "%Q": "1706659200000",
}
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"


def _pattern(form: str) -> re.Pattern[str]:
    text = re.escape(form).replace(r"\ ", ",? ")
    for part, group in _PART.items():
        text = text.replace(re.escape(part), group)
    if form == DIGITS:
        text = text.replace("{1,2}", "{2}")
    before = _WEEKDAY + r"\[?" if "%b" in form else ""
    return re.compile(rf"{before}{text}(?![0-9/.-])")  # not the beginning of a longer form


_PATTERNS = {form: _pattern(form) for form in EXAMPLES}


def day_number(word: str, form: str) -> float | None:
    """Return the days from 1970-01-01 to a date, with the time of day as a fraction.

    Parameters
    ----------
    word : str
        Such as ``"2024-01-31 18:00"``.
    form : str
        One of `EXAMPLES`.

    Returns
    -------
    float or None
        None if the word is not a date of this form.
    """
    date = _PATTERNS[form].match(word)
    if date is None:
        return None
    if form in EPOCHS:
        return float(word) / EPOCHS[form] if date.end() == len(word) else None
    parts = date.groupdict()
    month = parts.get("month") or _month(parts["name"])
    try:
        year = int(parts["year"])
        if "%y" in form:
            year += 1900 if year >= CENTURY_AGO else 2000
        day = datetime.date(year, int(month), int(parts.get("day") or 1)).toordinal()
    except ValueError:
        return None
    rest = word[date.end() :]
    time = 0.0 if not rest else day_fraction(rest)
    return None if time is None else day - _EPOCH + time


def day_numbers(words: pa.Array, form: str) -> NDArray[np.float64]:
    """Return `day_number` of words, shape (n,), NaN for those that are not dates of this form.

    Words that the compiled loops leave are split into date and time, and each distinct one is
    parsed once, because there are few of them.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if form in EPOCHS:
        return _numbers_of(words.dictionary_encode(), lambda word: day_number(word, form))
    numbers, rest = dates_of(words, form)
    if not rest.any():
        return numbers
    words = words.filter(pa.array(rest))
    pattern = re.sub(r"\(\?!.*", "", _PATTERNS[form].pattern)
    apart = pc.extract_regex(words, rf"^(?P<date>{_NAMED.sub('(?:', pattern)})(?P<rest>(?s:.*))$")
    fits = apart.is_valid().to_numpy(zero_copy_only=False)
    date, time = (apart.filter(apart.is_valid()).field(name).dictionary_encode() for name in (0, 1))
    days = _numbers_of(date, lambda word: day_number(word, form))
    days += _numbers_of(time, lambda word: day_fraction(word) if word else 0.0)
    numbers[np.flatnonzero(rest)[fits]] = days
    return numbers


_NAMED = re.compile(r"\(\?P<[a-z]+>")


def _numbers_of(words: Any, number: Callable[[str], float | None]) -> NDArray[np.float64]:
    """Return the number for each word of an Arrow dictionary array, NaN for None."""
    values = np.array([number(word) for word in words.dictionary.to_pylist()], dtype=np.float64)
    return values[words.indices.to_numpy()] if len(values) else np.empty(0)


def _month(name: str) -> int:
    """Return the number of a month by its English name or three letters of it, else 0."""
    numbers = (i for i, full in enumerate(_MONTHS, 1) if name.lower() in (full, full[:3]))
    return next(numbers, 0)


def day_fraction(text: str) -> float | None:
    """Return a time behind a date, such as ``" 18:15:00"``, as a fraction of a day, or None."""
    if _MILITARY.fullmatch(text):  # 1815h
        text = f"{text[:3]}:{text[3:5]}"
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    part = match.groupdict()
    hour, minute = int(part["hour"]), int(part["minute"])
    second = float((part["second"] or "0").replace(",", "."))
    if part["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (part["half"] in "Pp")
    if hour == 24 and minute == second == 0:  # the end of the day
        hour, minute, second = 23, 59, 60.0
    if hour > 23 or minute > 59 or second >= 61:
        return None
    east = 60 * int(part["east"] or 0) + int(part["more"] or 0)
    minute += east if part["sign"] == "-" else -east
    return (3600 * hour + 60 * minute + second) / 86400


def duration_of(text: str) -> float | None:
    """Return a duration such as ``"13d 15h"`` or ``"31:05:00"`` in days; None if it is not one.

    In ISO 8601 the first is ``"P13DT15H"``, where M means months before T and minutes after it.
    """
    if text.startswith("P"):
        date, _, time = text[1:].partition("T")
        text = f"{date.replace('M', 'mo')} {time}".strip()
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    parts = {name: part.replace(",", ".") for name, part in match.groupdict("0").items()}
    clock = parts.pop("clock").split(":")
    days = sum(_DAYS[name] * float(part) for name, part in parts.items())
    return days + sum(_DAYS[name] * float(part) for name, part in zip(_CLOCK, clock, strict=False))


def forms_of(words: Iterable[str]) -> dict[str, int]:
    """Return the number of words that are dates, by form; forms without any are left out."""
    words = list(words)
    forms = [form for form in EXAMPLES if form not in EPOCHS]
    counts = {form: sum(day_number(word, form) is not None for word in words) for form in forms}
    return {form: count for form, count in counts.items() if count}


def days_of_arrow(column: object) -> NDArray[np.float64]:
    """Return the days since 1970-01-01 of an Arrow column of dates, times or durations.

    A time of day is a fraction of a day, a duration its length in days.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = column.type  # type: ignore[attr-defined]
    if types.is_date32(kind):
        unit, per_day = pa.int32(), 1.0
    elif types.is_date64(kind):
        unit, per_day = pa.int64(), 86_400_000.0
    else:
        unit = pa.int32() if types.is_time32(kind) else pa.int64()
        per_day = 86400 * {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
    numbers = column.cast(unit)  # type: ignore[attr-defined]
    return np.asarray(numbers.cast(pa.float64(), safe=False).to_numpy() / per_day)
