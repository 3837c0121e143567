"""Numbers, and dates in digits, parsed from the bytes of many words by compiled loops.

They read the usual forms, with the same result as the parser of single words, and leave unusual
forms to it. A decimal number of at most 15 digits is the quotient or product of two exact numbers,
rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.rows.kernels import compiled

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SIGNS", "dates_of", "ends_within_quotes", "first_bytes", "numbers_of", "signs_of"]

SIGNS = ("", "$", "%", "€", "£")

NUMBA_WORDS = 10_000  # below which importing Numba takes longer than parsing them
_NUMBER, _OTHER, _UNSURE = 0, 1, 2  # what a word is; another parser decides if unsure
_POWERS = 10.0 ** np.arange(23)  # all exact


def numbers_of(
    words: pa.Array, decimal: str, thousands: str = ""
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return words (n,) as numbers, else NaN, and which words another parser must read.

    Parameters
    ----------
    words : Array of strings
    decimal : {".", ","}
        The decimal mark.
    thousands : {"", ",", "."}
        The thousands separator; with one, currency symbols and percent signs around a number are
        ignored, and every word that is not a number is left to another parser.
    """
    numbers, states = np.full(len(words), np.nan), np.full(len(words), _UNSURE, np.uint8)
    if len(words) > NUMBA_WORDS:
        marks = ord(decimal), ord(thousands or "\0")
        _read_numbers(*_bytes_of(words), marks, _POWERS, numbers, states)
    return numbers, states == _UNSURE


def dates_of(words: pa.Array, form: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return dates as days since 1970-01-01, and which words another parser must read.

    Parameters
    ----------
    words : Array of strings, shape (n,)
    form : str
        The date part of a `strptime` format.
    """
    days, states = np.full(len(words), np.nan), np.full(len(words), _UNSURE, np.uint8)
    if len(words) > NUMBA_WORDS and "%b" not in form and "%y" not in form:
        _read_dates(*_bytes_of(words), np.frombuffer(form.encode(), np.uint8), days, states)
    return days, states == _UNSURE


def signs_of(words: pa.Array) -> NDArray[np.int8]:
    """Return which of `SIGNS` words (n,) contain beside digits and marks; −1 if unsure."""
    signs = np.full(len(words), -1, np.int8)
    if len(words) > NUMBA_WORDS:
        _read_signs(*_bytes_of(words), signs)
    return signs


def first_bytes(words: pa.Array) -> NDArray[np.uint8]:
    """Return the first byte of each word, shape (n,); 0 for empty words."""
    first = np.zeros(len(words), np.uint8)
    if len(words):
        ends, text = _bytes_of(words)
        filled = ends[1:] > ends[:-1]
        first[filled] = text[ends[:-1][filled]]
    return first


def ends_within_quotes(
    text: NDArray[np.uint8], separator: int, state: tuple[int, int]
) -> tuple[bool, tuple[int, int]]:
    """Return whether a line ends within a quoted value, in a piece of text of a CSV file.

    ``state`` is the last byte before the text and whether it is within quotes; the state for the
    text that follows is returned as well. The first state is a line end, (10, 0).
    """
    quotes = np.flatnonzero(text == ord('"'))
    ends, inside = _ends_within_quotes(text, quotes, separator, *state)
    return bool(ends), (int(text[-1]), int(inside))


def _bytes_of(words: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the bounds of the words, shape (n + 1,), and their text; a gap is an empty word."""
    from pyarrow import types

    kind = np.int64 if types.is_large_string(words.type) else np.int32
    _, places, text = words.buffers()
    ends = np.frombuffer(places, kind, len(words) + 1, words.offset * np.dtype(kind).itemsize)
    # int64 for both, so that kernels are compiled once
    return ends.astype(np.int64), np.frombuffer(text or b"", np.uint8)


# The words of a text begin at ends[i] and end before ends[i + 1]. Marks and digits are bytes.


@compiled
def _read_numbers(ends: Any, text: Any, marks: Any, powers: Any, numbers: Any, states: Any) -> None:
    for i in range(len(numbers)):
        first, last = ends[i], ends[i + 1]
        if marks[1]:
            first, last = _bare(text, first, last)
        numbers[i], state = _number(text, first, last, marks, powers)
        states[i] = _UNSURE if marks[1] and state == _OTHER else state


@compiled
def _bare(text: Any, first: int, last: int) -> tuple[int, int]:
    """Return a word's ends without "$", "%", "€" (e2 82 ac), "£" (c2 a3) and blanks."""
    while first < last:
        if text[first] == 0x24 or text[first] == 0x25 or text[first] == 0x20:
            first += 1
        elif last - first > 2 and text[first] == 0xE2 and text[first + 1] == 0x82:
            if text[first + 2] != 0xAC:
                break
            first += 3
        elif last - first > 1 and text[first] == 0xC2 and text[first + 1] == 0xA3:
            first += 2
        else:
            break
    while first < last:
        if text[last - 1] == 0x24 or text[last - 1] == 0x25 or text[last - 1] == 0x20:
            last -= 1
        elif last - first > 2 and text[last - 1] == 0xAC and text[last - 2] == 0x82:
            if text[last - 3] != 0xE2:
                break
            last -= 3
        elif last - first > 1 and text[last - 1] == 0xA3 and text[last - 2] == 0xC2:
            last -= 2
        else:
            break
    return first, last


@compiled
def _number(text: Any, i: int, last: int, marks: Any, powers: Any) -> tuple[float, int]:
    """Return the number that a word is, NaN if none, and its state."""
    decimal, thousands = marks
    negative = i < last and text[i] == 0x2D
    if negative or (i < last and text[i] == 0x2B):
        i += 1
    mantissa = digits = significant = scale = groups = 0
    start = group = i
    while i < last:
        byte = int(text[i])
        if 0x30 <= byte <= 0x39:
            significant += significant > 0 or byte > 0x30
            if significant <= 15:
                mantissa = 10 * mantissa + byte - 0x30
            digits += 1
        elif thousands and byte == thousands:
            size = i - group  # Indian groups have two digits
            if groups == 0 and (size < 1 or size > 3 or text[start] == 0x30):
                return np.nan, _OTHER
            if groups > 0 and size != 3 and (size != 2 or decimal == 0x2C):
                return np.nan, _OTHER
            groups, group = groups + 1, i + 1
        else:
            break
        i += 1
    if groups and i - group != 3:
        return np.nan, _OTHER
    if i < last and text[i] == decimal:
        i += 1
        while i < last and 0x30 <= text[i] <= 0x39:
            significant += significant > 0 or text[i] > 0x30
            if significant <= 15:
                mantissa = 10 * mantissa + int(text[i]) - 0x30
            digits, scale, i = digits + 1, scale - 1, i + 1
    if digits == 0:
        return np.nan, _OTHER
    i, exponent = _exponent(text, i, last)
    scale += exponent
    if i < last:
        return np.nan, _OTHER
    if significant > 15 or abs(scale) > 22:
        return np.nan, _UNSURE
    value = mantissa / powers[-scale] if scale < 0 else mantissa * powers[scale]
    return (-value if negative else value), _NUMBER


@compiled
def _exponent(text: Any, i: int, last: int) -> tuple[int, int]:
    """Return where an exponent such as "e-5" ends, and its value; where it starts if it is none."""
    start, exponent = i, 0
    if i == last or (text[i] != 0x65 and text[i] != 0x45):
        return i, 0
    i += 1
    negative = i < last and text[i] == 0x2D
    if negative or (i < last and text[i] == 0x2B):
        i += 1
    first = i
    while i < last and 0x30 <= text[i] <= 0x39:
        exponent, i = min(10 * exponent + int(text[i]) - 0x30, 10_000), i + 1
    return (start if i == first else i), (-exponent if negative else exponent)


@compiled
def _read_dates(ends: Any, text: Any, form: Any, days: Any, states: Any) -> None:
    for i in range(len(days)):
        first, last = _date(text, ends[i], ends[i + 1], form, days, i)
        if first >= 0 and _time(text, first, last, days, i):
            states[i] = _NUMBER
        else:
            days[i] = np.nan


@compiled
def _date(text: Any, i: int, last: int, form: Any, days: Any, row: int) -> tuple[int, int]:
    """Write the day of a date, and return where it ends; −1 if it does not have the form."""
    year, month, day = 0, 1, 1
    packed = len(form) == 6  # %Y%m%d
    j = 0
    while j < len(form):
        if form[j] != 0x25:
            if i >= last or text[i] != form[j]:
                return -1, last
            i, j = i + 1, j + 1
            continue
        part, j = form[j + 1], j + 2
        most = 4 if part == 0x59 else 2
        least = 1 if (part == 0x64 or part == 0x6D) and not packed else most
        value = size = 0
        while i < last and size < most and 0x30 <= text[i] <= 0x39:
            value, size, i = 10 * value + int(text[i]) - 0x30, size + 1, i + 1
        if size < least:
            return -1, last
        if part == 0x64:
            day = value
        elif part == 0x6D:
            month = value
        else:
            year = value
    if year < 1 or month < 1 or month > 12 or day < 1:
        return -1, last
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > (28 + leap if month == 2 else 30 + (month + month // 8) % 2):
        return -1, last
    march = (month + 9) % 12  # years that begin in March
    years = year - (month < 3)
    leaps = years // 4 - years // 100 + years // 400
    days[row] = 365 * years + leaps + (153 * march + 2) // 5 + day - 719_469
    return i, last


@compiled
def _time(text: Any, i: int, last: int, days: Any, row: int) -> bool:
    """Add the time behind a date, such as " 18:15" or "T18:15:00", if any; return success."""
    if i == last:
        return True
    if text[i] != 0x20 and text[i] != 0x54:
        return False
    seconds, unit = 0, 3600
    i += 1
    while unit:
        value = size = 0
        while i < last and size < 2 and 0x30 <= text[i] <= 0x39:
            value, size, i = 10 * value + int(text[i]) - 0x30, size + 1, i + 1
        if size < (1 if unit == 3600 else 2) or value > (23 if unit == 3600 else 59):
            return False
        seconds += unit * value
        if i == last and unit < 3600:
            days[row] += seconds / 86400
            return True
        if i >= last or text[i] != 0x3A:
            return False
        i, unit = i + 1, unit // 60
    return False


@compiled
def _read_signs(ends: Any, text: Any, signs: Any) -> None:
    for i in range(len(signs)):
        j, last, sign, count = ends[i], ends[i + 1], 0, 0
        while j < last:
            byte = text[j]
            if byte == 0x24 or byte == 0x25:
                sign, count = byte - 0x23, count + 1
            elif last - j > 2 and byte == 0xE2 and text[j + 1] == 0x82 and text[j + 2] == 0xAC:
                sign, count, j = 3, count + 1, j + 2
            elif last - j > 1 and byte == 0xC2 and text[j + 1] == 0xA3:
                sign, count, j = 4, count + 1, j + 1
            elif not _stands_at_number(byte):
                count = 2
            j += 1
        signs[i] = sign if count < 2 else -1


@compiled
def _stands_at_number(byte: int) -> bool:
    """Return whether a byte is a digit, a blank or one of "'()+,-.<=>"."""
    if byte < 0x27:
        return byte == 0x20 or byte == 0x09 or byte == 0x0A or byte == 0x0C or byte == 0x0D
    return byte <= 0x3E and not (byte == 0x2A or byte == 0x2F or byte == 0x3A or byte == 0x3B)


@compiled
def _ends_within_quotes(
    text: Any, quotes: Any, separator: int, before: int, inside: int
) -> tuple[bool, int]:
    """A quote opens a value only at its beginning; within it, two quotes stand for one."""
    ends, start = False, 0
    for i in quotes:
        if inside:
            ends = ends or _has_line_end(text, start, i)
            inside = 0
        else:
            byte = text[i - 1] if i > 0 else before
            opens = byte == separator or byte == 0x0A or byte == 0x0D or byte == 0x22
            inside, start = (1 if opens else 0), i
    if inside:
        ends = ends or _has_line_end(text, start, len(text))
    return ends, inside


@compiled
def _has_line_end(text: Any, start: int, end: int) -> bool:
    ends = 0
    for i in range(start, end):
        ends += text[i] == 0x0A or text[i] == 0x0D
    return ends > 0
