"""Text of others as text: nothing in it moves a cursor, ends a line or starts a formula."""

import re
import unicodedata

__all__ = ["in_line", "in_lines", "json_text", "spreadsheet_cell"]

_JOINERS = "\u200c\u200d"  # parts of words and of emoji
_HIDDEN = re.compile(r"[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def in_line(text: str) -> str:
    """Return a text for one line: control and format characters as escapes such as ``\\x1b``."""
    return text if text.isprintable() else "".join(map(_visible, text))


def in_lines(text: str) -> str:
    """Return a text of several lines, each as by `in_line`."""
    return "\n".join(map(in_line, text.split("\n")))


def _visible(c: str) -> str:
    if c.isprintable() or c in _JOINERS or unicodedata.category(c) == "Zs":
        return c
    return c.encode("unicode_escape").decode()


def json_text(text: str) -> str:
    """Return JSON in which characters that act on a terminal are escaped, as it escapes others."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def spreadsheet_cell(text: str) -> str:
    """Return words as a cell that no spreadsheet takes for a formula: ``'=A1``."""
    return f"'{text}" if text.startswith(_FORMULA) else text
