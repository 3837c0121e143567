"""Missing values, in data frames and as words of a file."""

from typing import Any

__all__ = ["NO_NUMBER", "NO_WORD", "is_gap", "is_no_word"]

# "none" may be a category, and UCI's files have "?"
NO_WORD = ("", "na", "n/a", "nan", "null", "?")
NO_NUMBER = (*NO_WORD, "none")


def is_gap(value: Any) -> bool:
    """Return whether a value of a table is missing: None, or NaN, NaT and NA of data frames."""
    return not isinstance(value, str) and (value is None or str(value) in ("nan", "<NA>", "NaT"))


def is_no_word(value: Any) -> bool:
    """Return whether a value of a text column is missing, or a word that means missing."""
    return value.strip().lower() in NO_WORD if isinstance(value, str) else is_gap(value)
