"""Areas and intervals as text that says neither more nor less than the numbers."""

import math

__all__ = [
    "SUPERSCRIPT",
    "auc_text",
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

_MOST_DIGITS = 12
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SHOWN = 1e-6  # what is nearer to 0 than that is written as 0 in an interval that holds 0
_LEAST_P = 1e-16  # below it the tails of no test are to be trusted


def auc_text(value: float, digits: int = 4) -> str:
    """Write a number from 0 to 1 so that it reads 0 or 1 only where it is: ``0.99998``."""
    while digits < _MOST_DIGITS and 0.0 < value < 1.0 and float(f"{value:.{digits}f}") in (0, 1):
        digits += 1
    return f"{value:.{digits}f}"


def interval_text(low: float, high: float) -> str:
    """Write an interval, with decimals enough for its ends to differ: ``0.9734 to 0.9953``."""
    digits = 4
    while digits < _MOST_DIGITS and f"{low:.{digits}f}" == f"{high:.{digits}f}":
        digits += 1
    return f"{auc_text(low, digits)} to {auc_text(high, digits)}"


def difference_text(difference: float, low: float, high: float) -> tuple[str, str]:
    """Write a difference and its interval, with decimals enough to tell the ends from 0.

    Such as ``("+0.0123", "-0.0020 to +0.0266")``, or
    ``("+0.000031", "+0.000010 to +0.000052")``.
    """
    # a rounding error has no sign worth showing
    difference, low, high = (
        0.0 if abs(value) < 1e-12 else value for value in (difference, low, high)
    )
    # two figures of the interval's reach, or of the end by which it misses 0; one of an end near 0
    size = (high - low) / 2 if low <= 0 <= high else min(abs(low), abs(high))
    least = min((abs(end) for end in (low, high) if abs(end) >= _SHOWN), default=1.0)
    digits = 4
    while digits < _MOST_DIGITS and (0 < size * 10**digits < 10 or least * 10**digits < 0.5):
        digits += 1
    here, start, end = (f"{value:+.{digits}f}" for value in (difference, low, high))
    return here, f"{start} to {end}"


def reach_text(difference: float, low: float, high: float) -> str:
    """Write a difference and the reach of the interval around it, in 18 characters at most.

    ``+0.0123 ± 0.0143``, or ``-3.1e-07 ± 4.1e-06``.
    """
    reach = (high - low) / 2
    if 0.0 < reach < 1e-4:
        return f"{difference:+.1e} ± {reach:.1e}"
    digits = 5 if 0.0 < reach < 1e-3 else 4
    return f"{difference:+.{digits}f} ± {reach:.{digits}f}"


def p_text(p_value: float) -> str:
    """Write a p-value, never as 0: ``0.30``, ``0.051``, ``1.2e-09`` or ``< 1e-16``."""
    if p_value < _LEAST_P:
        return f"< {_LEAST_P:.0e}"
    return f"{p_value:.2f}" if p_value >= 0.095 else f"{p_value:.2g}"


def p_words(p_value: float) -> str:
    """Write a p-value in a sentence: ``p = 0.30`` or ``p < 1e-16``."""
    text = p_text(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def percent_text(share: float) -> str:
    """Write a share so that it reads 0 % or 100 % only where it is: ``0.24 %``, ``51 %``."""
    near = min(share, 1.0 - share)
    digits = 1 if not 0.0 < near < 0.1 else min(math.ceil(-math.log10(near)), 8)
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def plain_number(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, never as ``4.1e-06``: ``4.10 × 10⁻⁶``."""
    if value == 0.0 or 1e-4 <= abs(value) < 1e15:
        rounded = float(f"{value:.{digits}g}")
        return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    return f"{mantissa} × 10{str(int(power)).translate(SUPERSCRIPT)}"


def left_out(count: int, one: str, several: str) -> str:
    """Say how many are not shown: ``1 smaller one is left out.``, or nothing of none."""
    what = f"{one} is" if count == 1 else f"{several} are"
    return f"{count:,} {what} left out." if count else ""


def gap_text(value: float) -> str:
    """Write a relative gap, rounding errors as such: ``3.4e-05`` or ``< 1e-14``."""
    return "< 1e-14" if abs(value) < 1e-14 else f"{value:.1e}"


def verdict(difference: float, p_value: float) -> str:
    """Say how the first of two did in a paired test: "tie" unless p < 0.05."""
    if not p_value < 0.05:
        return "tie"
    return "better" if difference > 0 else "worse"
