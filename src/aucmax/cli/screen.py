"""The only place that prints: characters that act on a terminal are made visible.

Names, labels and words come from files, and a terminal interprets some characters as commands. Data
are written as they are, unless a terminal reads them.
"""

from __future__ import annotations

import sys
from textwrap import wrap
from typing import Any, TextIO, cast

from rich.console import Console
from rich.text import Text

from aucmax.basics.visible import in_line, in_lines

__all__ = ["console", "data_out", "say", "tell"]


class _Screen(Console):
    """A console on stdout that prints text as it is: no markup, no escape codes."""

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(in_lines(text), **how)


def console() -> Console:
    """Return a console on stdout that prints text as it is."""
    return _Screen()


def say(line: str, stream: TextIO | None = None) -> None:
    """Print one line, on stdout by default."""
    print(in_line(line), file=stream or sys.stdout, flush=True)


def tell(kind: str, message: str, width: int | None = None) -> None:
    """Print one line on stderr, or several of a width."""
    line = f"{kind}: {' '.join(in_lines(message).split())}"
    for part in [line] if width is None else wrap(line, width, subsequent_indent="  "):
        say(part, sys.stderr)


def data_out() -> TextIO:
    """Return stdout for data: unchanged for programs, made visible on a terminal."""
    return cast(TextIO, _OnTerminal()) if sys.stdout.isatty() else sys.stdout


class _OnTerminal:
    """Stdout that is a terminal."""

    def write(self, text: str) -> int:
        return sys.stdout.write(in_lines(text))
