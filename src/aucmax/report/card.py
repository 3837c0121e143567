"""The report card of a fitted model: a few lines of HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as as_html

from aucmax.basics.visible import in_line
from aucmax.report.text import plain_number

__all__ = ["card_html"]

_CARD = (
    "font: 14px/1.5 system-ui, sans-serif; max-width: 44rem; padding: .75rem 1rem; margin: .5rem 0;"
    " border: 1px solid #8886; border-radius: 8px;"
)
_TABLE = "border-collapse:collapse;background:none;color:inherit;font:inherit;margin:.4rem 0 0"
_UP, _DOWN = "#0072b2", "#d55e00"


def card_html(
    title: str, facts: Sequence[tuple[str, str]], bars: Sequence[tuple[str, float]], caption: str
) -> str:
    """Return a card that follows the light or dark mode of its page, and loads nothing.

    Parameters
    ----------
    title : str
        Above the facts.
    facts : sequence of (str, str)
        Names and values, one per line.
    bars : sequence of (str, float)
        Names and numbers, drawn as bars to both sides of 0.
    caption : str
        Below the bars.
    """
    lines = "".join(
        f'<tr><td style="text-align:left;opacity:.7;padding:0 1rem 0 0">{escape(name)}</td>'
        f'<td style="text-align:left;padding:0">{escape(value)}</td></tr>'
        for name, value in facts
    )
    plain = f'style="{_TABLE}"'
    body = f'<div style="font-weight:600">{escape(title)}</div><table {plain}>{lines}</table>'
    if bars:
        largest = max(abs(value) for _, value in bars) or 1.0
        rows = "".join(_bar(name, value, abs(value) / largest) for name, value in bars)
        small = f'<div style="opacity:.7;font-size:12px">{escape(caption)}</div>'
        body += f"<table {plain}>{rows}</table>{small}"
    return f'<div class="aucmax-card" style="{_CARD}">{body}</div>'


def escape(text: str) -> str:
    return as_html(in_line(text))


def _bar(name: str, value: float, share: float) -> str:
    """Return a table row: a name, a bar to the left or the right of the middle, a number."""
    width, up = 48.0 * share, value >= 0
    left = 50.0 if up else 50.0 - width
    bar = (
        '<div style="position:relative;width:12rem;height:.8rem">'
        '<div style="position:absolute;left:50%;width:1px;height:100%;background:#8888"></div>'
        f'<div style="position:absolute;left:{left:.1f}%;width:{width:.1f}%;height:100%;'
        f'border-radius:2px;background:{_UP if up else _DOWN}"></div></div>'
    )
    number = f"{'+' if up else '-'}{plain_number(abs(value))}"
    return (
        f'<tr><td style="text-align:left;padding:0 1rem 0 0">{escape(name)}</td>'
        f'<td style="padding:0">{bar}</td>'
        f'<td style="text-align:right;padding:0 0 0 .75rem">{number}</td></tr>'
    )
