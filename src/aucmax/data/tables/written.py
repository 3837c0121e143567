"""Numbers as people write them: plain, or with thousands, currencies, percents and brackets.

Compiled loops read the usual forms if there are many words, and Arrow reads all other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aucmax.data.digits import SIGNS, first_bytes, numbers_of, signs_of
from aucmax.data.reading import NUMBER

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DECIMALS", "MULTIPLES", "amounts", "are_bounds", "are_one", "measure_of", "plain_numbers",
    "unit_of_each", "units_of",
]  # fmt: skip

DECIMALS = (".", ",")
_UNIT = r"(?:\p{Sc}|%|‰|[A-Z]{1,2}\p{Sc}|[A-Z]{3})"
_DIGITS = r"((?:[0-9]|[.,'’ \x{00a0}\x{202f}][0-9])+[.,]?(?:[eE][+-]?[0-9]+)?)"
# sign, unit, digits and unit; the sign may also be last
_BARE = rf"^([+-])?{_UNIT}?\s?([+-])?{_DIGITS}\s?{_UNIT}?([+-])?$"
_ROUND = r"([0-9])[.,]-+"  # no cents
_BRACKETS = rf"^{_UNIT}?\s?\(([^()]*)\)\s?{_UNIT}?$"  # a minus
_MONEY = re.compile(r"(?i:kr|rs|fr|sfr|rm|rp|z\u0142|k\u010d|ft|lei)\.?")  # may come first
BOUND = r"^[<>≤≥]=?\s?"  # before a number that is only a bound
_SIGN_OF_BOUND = "≤≥".encode()[0]
_NO_UNIT = r"[-+()<>≤≥=0-9.,'’\x{2212}\s\x{00a0}\x{202f}]"
_USUAL_UNITS = "$€£% "
MULTIPLES = {
    **dict.fromkeys(("k", "K", "Tsd", "thousand"), 1e3),
    **dict.fromkeys(("M", "Mio", "mio", "mn", "Mn", "million"), 1e6),
    **dict.fromkeys(("B", "bn", "Bn", "Mrd", "mrd", "billion"), 1e9),
}
_MEASURES: tuple[Mapping[str, float], ...] = (  # the units of one quantity, in lower case
    {"b": 1.0, "bytes": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    {"mg": 1e-3, "g": 1.0, "kg": 1e3, "t": 1e6, "oz": 28.349523125}
    | dict.fromkeys(("lb", "lbs"), 453.59237)
    | dict.fromkeys(("µg", "ug", "mcg"), 1e-6),
    {"mm": 1e-3, "cm": 1e-2, "in": 0.0254, "ft": 0.3048, "m": 1.0, "km": 1e3, "mi": 1609.344},
    {"µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}
    | dict.fromkeys(("m", "min", "mins"), 60.0)
    | dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0)
    | dict.fromkeys(("d", "day", "days"), 86_400.0),
    dict.fromkeys(("m", "mo", "month", "months"), 1.0)
    | dict.fromkeys(("y", "yr", "yrs", "year", "years"), 12.0),
    {"%": 1.0, "bp": 0.01, "bps": 0.01},
    {"ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0},
)
_THOUSANDS = {".": ",", ",": "."}  # the usual separator, by the decimal mark
_OTHERS = r"(?:['’ \x{00a0}\x{202f}][0-9]{3})+"  # thousands with other separators


def plain_numbers(words: pa.Array, decimal: str = ".") -> NDArray[np.float64]:
    """Return words (n,) as numbers of digits, sign, decimal mark and exponent; NaN for others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers, rest = numbers_of(words, decimal)
    if rest.any():
        words = words.filter(pa.array(rest))
        if decimal == ",":
            words = pc.if_else(
                pc.match_substring(words, "."), "", pc.replace_substring(words, ",", ".")
            )
        fits = pc.match_substring_regex(words, rf"^(?:{NUMBER.pattern})$")
        numbers[rest] = _numbers(words, fits)
    return numbers


def are_bounds(words: pa.Array) -> NDArray[np.bool_]:
    """Return which words (n,) are bounds such as "<0.5"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = np.isin(first_bytes(words), [ord("<"), ord(">"), _SIGN_OF_BOUND])
    if bounds.any():
        candidates = words.filter(pa.array(bounds))
        matches = pc.match_substring_regex(candidates, BOUND)
        bounds[bounds] = matches.to_numpy(zero_copy_only=False)
    return bounds


def units_of(words: pa.Array) -> tuple[str, ...]:
    """Return the different units beside numbers, in alphabetical order."""
    return tuple(sorted(filter(None, unit_of_each(words).unique().to_pylist())))


def unit_of_each(words: pa.Array) -> pa.Array:
    """Return the text beside the number in each word (n,), or ""."""
    import pyarrow as pa
    import pyarrow.compute as pc

    signs = signs_of(words)
    unsure, units = signs < 0, pa.array(SIGNS, words.type).take(pa.array(np.maximum(signs, 0)))
    if not unsure.any():
        return units
    rest = words.filter(pa.array(unsure))
    rest = pc.replace_substring_regex(rest, rf"^{_NO_UNIT}+|{_NO_UNIT}+$", "")
    return pc.replace_with_mask(units, pa.array(unsure), rest)


def measure_of(units: Iterable[str]) -> Mapping[str, float] | None:
    """Return the sizes of all units of the quantity, in lower case, to which ``units`` belong."""
    units = set(units)
    if units <= MULTIPLES.keys():
        return None
    lower = {unit.lower() for unit in units}
    return next((measure for measure in _MEASURES if lower <= measure.keys()), None)


def are_one(units: Iterable[str]) -> bool:
    """Return whether all units are the same, such as month and months."""
    return len({unit.lower().rstrip("s") if len(unit) > 3 else unit for unit in units}) < 2


def amounts(
    words: pa.Array, decimal: str, units: Sequence[str] = (), unit: str = ""
) -> NDArray[np.float64]:
    """Return stripped words (n,) as numbers, ignoring currency symbols and units around them.

    Parameters
    ----------
    words : Array of strings
        Without surrounding space.
    decimal : {".", ","}
        The decimal mark; the other mark and blanks may separate thousands.
    units : sequence of str
        Further units that may follow a number, or precede it if they are money.
    unit : str
        The unit to which numbers with other units of the same quantity are converted.

    Returns
    -------
    ndarray, shape (n,)
        The numbers; NaN for other words.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    written = words
    numbers, rest = numbers_of(words, decimal, _THOUSANDS[decimal])
    if rest.any():
        words = _without_units(words.filter(pa.array(rest)), units)
        numbers[rest] = _usual(pc.utf8_trim(words, characters=_USUAL_UNITS), decimal)
        odd = np.isnan(numbers[rest])
    if rest.any() and odd.any():  # these patterns take several times as long
        rest[rest] = odd
        odd = pc.replace_substring_regex(words.filter(pa.array(odd)), _ROUND, r"\1")
        odd = pc.replace_substring_regex(odd, _BRACKETS, r"-\1")
        bare = pc.replace_substring_regex(odd, _BARE, r"\1\2\4\3")
        blanks = pc.match_substring_regex(bare, rf"^[+-]?[1-9][0-9]{{0,2}}{_OTHERS}(?:[.,]|$)")
        joined = pc.replace_substring_regex(bare, r"['’ \x{00a0}\x{202f}]", "")
        numbers[rest] = _usual(pc.if_else(blanks, joined, bare), decimal)
    measure = (measure_of(units) if unit else None) or {}
    factors: Mapping[str, float] = MULTIPLES
    if measure:
        present = set(units_of(written)) & set(units)
        factors = {sign: measure[sign.lower()] / measure[unit.lower()] for sign in present}
    for sign in factors.keys() & set(units):
        has = pc.match_substring_regex(written, rf"[0-9.,]\s?{sign}\.?$")
        numbers[has.to_numpy(zero_copy_only=False)] *= factors[sign]
    return numbers


def _without_units(words: pa.Array, units: Sequence[str]) -> pa.Array:
    """Return words with ASCII signs, and without units."""
    import pyarrow.compute as pc

    words = pc.replace_substring(words, "\u2212", "-")  # the sign that typesetters use
    words = pc.replace_substring_regex(words, BOUND, "")
    if units:
        any_unit = "|".join(map(re.escape, units))
        words = pc.replace_substring_regex(words, rf"([0-9.)]|[.,]-)\s?(?:{any_unit})\.?$", r"\1")
    for unit in filter(_MONEY.fullmatch, units):
        words = pc.replace_substring_regex(words, rf"^([+-]?){unit}\.?\s?", r"\1")
    return words


def _usual(words: pa.Array, decimal: str) -> NDArray[np.float64]:
    """Return words as numbers that may have the usual thousands separator."""
    import pyarrow.compute as pc

    mark = _THOUSANDS[decimal]
    groups = "(?:,[0-9]{2,3})*,[0-9]{3}" if decimal == "." else "(?:[.][0-9]{3})+"
    integer = rf"(?:[1-9][0-9]{{0,2}}{groups}|[0-9]+)"
    fraction = rf"[{decimal}][0-9]"
    pattern = rf"^[+-]?(?:{integer}(?:{fraction}*)?|{fraction}+)(?:[eE][+-]?[0-9]+)?$"
    fits = pc.match_substring_regex(words, pattern)
    digits = pc.replace_substring(words, mark, "")
    return _numbers(pc.replace_substring(digits, ",", ".") if decimal == "," else digits, fits)


def _numbers(words: pa.Array, fits: pa.Array) -> NDArray[np.float64]:
    """Return as numbers the words that fit, NaN for the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.if_else(fits, words, pa.scalar(None, words.type)).cast(pa.float64())
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
