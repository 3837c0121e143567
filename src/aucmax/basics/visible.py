"""Text of others as text: nothing in it moves a cursor, ends a line or starts a formula."""

import json
import re
import unicodedata

__all__ = ["in_line", "in_lines", "json_text", "spreadsheet_cell"]

_JOINERS = "\u200c\u200d"  # parts of words and of emoji
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # some spreadsheets take wide signs, too


def in_line(text: str) -> str:
    """Return a text for one line: control and format characters as escapes such as ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(c if _is_seen(c) else c.encode("unicode_escape").decode() for c in text)


def in_lines(text: str) -> str:
    """Return a text of several lines, each as by `in_line`."""
    return "\n".join(map(in_line, text.split("\n")))


def json_text(text: str) -> str:
    """Return JSON with escapes for characters that act on a terminal and that JSON leaves alone."""
    return re.sub(r"[^\n -~]", lambda c: c[0] if _is_seen(c[0]) else json.dumps(c[0])[1:-1], text)


def _is_seen(c: str) -> bool:
    return c.isprintable() or c in _JOINERS or unicodedata.category(c) == "Zs"


def spreadsheet_cell(text: str) -> str:
    """Return words as a cell that no spreadsheet takes for a formula: ``'=A1``."""
    return f"'{text}" if text.startswith(_FORMULA) else text
