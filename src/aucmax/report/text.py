"""Numbers, intervals and p-values as text with enough digits, and no more."""

import math

from aucmax.basics.visible import counted

__all__ = [
    "SUPERSCRIPT",
    "auc_text",
    "clipped",
    "counted",
    "difference_text",
    "gap_text",
    "interval_text",
    "left_out",
    "p_text",
    "p_words",
    "percent_text",
    "plain_number",
    "reach_text",
    "verdict",
]

_MAX_DIGITS = 12
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MIN_SHOWN_END = 1e-6  # ends of an interval around 0 that are closer to 0 may be written as 0
_MIN_P = 1e-16  # below it no test's tails are accurate


def auc_text(value: float, digits: int = 4) -> str:
    """Format a number from 0 to 1 such that only 0 and 1 are shown as such: ``0.99998``."""
    while digits < _MAX_DIGITS and 0.0 < value < 1.0 and float(f"{value:.{digits}f}") in (0, 1):
        digits += 1
    return f"{value:.{digits}f}"


def interval_text(low: float, high: float) -> str:
    """Format an interval with enough decimals for its ends to differ: ``0.9734 to 0.9953``."""
    digits = 4
    while digits < _MAX_DIGITS and f"{low:.{digits}f}" == f"{high:.{digits}f}":
        digits += 1
    return f"{auc_text(low, digits)} to {auc_text(high, digits)}"


def difference_text(difference: float, low: float, high: float) -> tuple[str, str]:
    """Format a difference and its interval, with enough decimals to distinguish the ends from 0.

    Such as ``("+0.0123", "-0.0020 to +0.0266")``, or
    ``("+0.000031", "+0.000010 to +0.000052")``.
    """
    # a rounding error has no sign worth showing
    difference, low, high = (
        0.0 if abs(value) < 1e-12 else value for value in (difference, low, high)
    )
    # two digits of the half-width, or of the end that is closer to 0; one digit of an end near 0
    size = (high - low) / 2 if low <= 0 <= high else min(abs(low), abs(high))
    least = min((abs(end) for end in (low, high) if abs(end) >= _MIN_SHOWN_END), default=1.0)
    digits = 4
    while digits < _MAX_DIGITS and (0 < size * 10**digits < 10 or least * 10**digits < 0.5):
        digits += 1
    estimate, start, end = (f"{value:+.{digits}f}" for value in (difference, low, high))
    return estimate, f"{start} to {end}"


def reach_text(difference: float, low: float, high: float) -> str:
    """Format a difference and the half-width of its interval, in at most 18 characters.

    ``+0.0123 ± 0.0143``, or ``-3.1e-07 ± 4.1e-06``.
    """
    reach = (high - low) / 2
    if 0.0 < reach < 1e-4:
        return f"{difference:+.1e} ± {reach:.1e}"
    digits = 5 if 0.0 < reach < 1e-3 else 4
    return f"{difference:+.{digits}f} ± {reach:.{digits}f}"


def p_text(p_value: float) -> str:
    """Format a p-value, never as 0: ``0.30``, ``0.051``, ``1.2e-09`` or ``< 1e-16``."""
    if p_value < _MIN_P:
        return f"< {_MIN_P:.0e}"
    return f"{p_value:.2f}" if p_value >= 0.095 else f"{p_value:.2g}"


def p_words(p_value: float) -> str:
    """Format a p-value for a sentence: ``p = 0.30`` or ``p < 1e-16``."""
    text = p_text(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def percent_text(share: float) -> str:
    """Format a share such that only 0 and 1 are shown as 0 % and 100 %: ``0.24 %``, ``51 %``."""
    near = min(share, 1.0 - share)
    places = 0 if near <= 0.0 else math.ceil(-math.log10(near))
    digits = min(max(places - 2 * (share > 0.5), 1), 8)
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def plain_number(value: float, digits: int = 3) -> str:
    """Format a number with significant digits, never as ``4.1e-06``: ``4.10 × 10⁻⁶``."""
    if value == 0.0 or 1e-4 <= abs(value) < 1e15:
        rounded = float(f"{value:.{digits}g}")
        return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(SUPERSCRIPT)}"


def clipped(name: str, letters: int) -> str:
    """Return a name shortened to so many letters."""
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def left_out(count: int, single: str, several: str) -> str:
    """Return a note on items not shown: ``1 smaller one is left out.``; empty if there are none."""
    what_is_left = f"{single} is" if count == 1 else f"{several} are"
    return f"{count:,} {what_is_left} left out." if count else ""


def gap_text(value: float) -> str:
    """Format a relative gap, and rounding errors as ``< 1e-14``: ``3.4e-05``."""
    return "< 1e-14" if abs(value) < 1e-14 else f"{value:.1e}"


def verdict(difference: float, p_value: float) -> str:
    """Return the verdict on the first of two in a paired test: "tie" unless p < 0.05."""
    if not p_value < 0.05:
        return "tie"
    return "better" if difference > 0 else "worse"
