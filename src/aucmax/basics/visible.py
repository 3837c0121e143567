"""Foreign text made harmless, so that it cannot move the cursor, end a line or start a formula."""

import json
import re
import unicodedata

__all__ = ["counted", "in_line", "in_lines", "json_text", "spreadsheet_cell"]

_JOINERS = "\u200c\u200d"  # invisible parts of words and of emoji
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")  # some spreadsheets accept wide signs, too


def in_line(text: str) -> str:
    """Return text for one line, with control and format characters escaped, as in ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(c if _is_seen(c) else c.encode("unicode_escape").decode() for c in text)


def in_lines(text: str) -> str:
    """Return a text of several lines, with `in_line` applied to each."""
    return "\n".join(map(in_line, text.split("\n")))


def json_text(text: str) -> str:
    """Return JSON in which characters that affect a terminal are escaped as well."""
    return re.sub(r"[^\n -~]", lambda c: c[0] if _is_seen(c[0]) else json.dumps(c[0])[1:-1], text)


def _is_seen(c: str) -> bool:
    return c.isprintable() or c in _JOINERS or unicodedata.category(c) == "Zs"


def spreadsheet_cell(text: str) -> str:
    """Return text as a cell that spreadsheets do not interpret as a formula: ``'=A1``."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def counted(number: int, unit: str, units: str = "") -> str:
    """Return a number with its unit: ``1 row`` or ``2,000 rows``."""
    return f"{number:,} {unit if number == 1 else units or f'{unit}s'}"
