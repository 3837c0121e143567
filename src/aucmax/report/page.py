"""A report: what a command found, as sections for several renderers.

`terminal` prints a page, `as_json` gives it to machines, `write_page` makes one HTML file of it
that needs nothing else, or Markdown. Figures are drawn for the HTML file only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aucmax.basics.replacing import replacing
from aucmax.report.figures import Figure
from aucmax.report.text import difference_text, p_text

__all__ = ["Page", "ResultTable", "Section", "as_json", "terminal", "write_page"]


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    head : sequence of str
        The columns' names; the first column names the rows. Without names it is a table of facts.
    rows : sequence of sequence of str
        The cells.
    caption : str
        How to read it.
    strong : sequence of int
        Positions of rows to set off.
    words : sequence of int
        Positions of columns that hold words, not numbers (beside the first).
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    strong: Sequence[int] = ()
    words: Sequence[int] = ()

    @classmethod
    def facts(cls, pairs: Iterable[tuple[str, Any]], caption: str = "") -> ResultTable:
        """Make a table of names and values."""
        return cls(("", ""), [(name, str(value)) for name, value in pairs], caption, words=(1,))

    @classmethod
    def differences(
        cls,
        head: str,
        tests: Iterable[tuple[str, Mapping[str, Any]]],
        interval: str,
        caption: str,
    ) -> ResultTable:
        """Make a table of paired tests: the difference, its interval, p and the verdict."""
        rows = [
            (
                name,
                *difference_text(test["difference"], test["low"], test["high"]),
                p_text(test["p_value"]),
                test["verdict"],
            )
            for name, test in tests
        ]
        return cls((head, "AUC difference", interval, "p", "verdict"), rows, caption, words=(4,))

    def rich(self) -> Table:
        """Return it for a terminal, without lines."""
        table = Table(
            box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=any(self.head),
            header_style="not bold dim",
        )  # fmt: skip
        facts = not any(self.head)
        for i, name in enumerate(self.head):
            word = i == 0 or i in self.words
            table.add_column(
                name, justify="left" if word else "right", style="bold" if facts and i == 0 else "",
                # numbers are never broken, words fold rather than vanish
                no_wrap=not word or (facts and i == 0), overflow="fold",
            )  # fmt: skip
        for i, row in enumerate(self.rows):
            table.add_row(*map(Text, row), style="bold green" if i in self.strong else "")
        return table


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, and under it words, tables and figures.

    Parameters
    ----------
    heading : str
        Its name.
    lead : str
        A sentence or two.
    tables : list of ResultTable
        Results.
    figures : list of Figure
        Drawn on the HTML page.
    points : sequence of dict
        What `operating_points` gives, one per scorer, for a slider over the rows to flag; in one
        section of a page.
    on_terminal : bool
        Whether the terminal shows it, too.
    """

    heading: str
    lead: str = ""
    tables: list[ResultTable] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    points: Sequence[dict[str, Any]] = ()
    on_terminal: bool = True


@dataclass(frozen=True)
class Page:
    """All that a report shows.

    Parameters
    ----------
    title : str
        What it is about.
    lead : str
        The first lines: the data, and how they were used.
    sections : list of Section
        Its parts, in order.
    provenance : sequence of (str, str)
        What `provenance` gives.
    data : dict or list
        All numbers, for machines.
    verdict : str
        What comes of it all, in a few words; on the HTML page.
    """

    title: str
    lead: str
    sections: list[Section]
    provenance: Sequence[tuple[str, str]] = ()
    data: Any = field(default_factory=dict)
    verdict: str = ""


# ---- terminal


def terminal(page: Page, screen: Console) -> None:
    """Print a page: its lead, then its sections, with headings where there are several."""
    shown = [s for s in page.sections if s.on_terminal and (s.tables or s.lead)]
    if page.lead:
        screen.print(page.lead, soft_wrap=True)
    for number, section in enumerate(shown):
        if page.lead or number:
            screen.print()
        if len(shown) > 1:
            screen.print(Text(section.heading, style="bold"))
        if section.lead:
            screen.print(Text(section.lead))
        for i, table in enumerate(section.tables):
            if i or section.lead:
                screen.print()
            screen.print(table.rich())
            if table.caption:
                screen.print(Text(table.caption, style="dim"))


# ---- JSON


def as_json(value: Any) -> str:
    """Return JSON of dicts, sequences, arrays, numbers and text; anything else is given as text.

    Numbers that are not finite become null.
    """
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


# ---- HTML


def write_page(page: Page, path: str | PathLike[str]) -> None:
    """Write a page as HTML, or as Markdown where the path ends in .md.

    An old file is replaced only once the new one is complete; in HTML all words are escaped.
    """
    text = _markdown(page) if Path(path).suffix == ".md" else _html(page)
    with replacing(path, text=True) as stream:
        stream.write(text)


def _html(page: Page) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("aucmax.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    files = environment.loader
    assert files is not None
    # the operating point tells the figures where it is, so they come first
    style, *scripts = (
        files.get_source(environment, name)[0]
        for name in ("page.css", "tables.js", "figures.js", "page.js")
    )
    return environment.get_template("page.html").render(page=page, style=style, scripts=scripts)


def _markdown(page: Page) -> str:
    parts = [f"# {page.title}", page.lead]
    for section in page.sections:
        parts += [f"## {section.heading}", section.lead]
        for table in section.tables:
            parts += ["\n".join(_markdown_lines(table)), table.caption]
        parts += [f"![{figure.title}]({figure.name}.svg)" for figure in section.figures]
    parts += ["## What was run", "\n".join(f"- {name}: {value}" for name, value in page.provenance)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _markdown_lines(table: ResultTable) -> list[str]:
    if not any(table.head):
        return [f"- {': '.join(row)}" for row in table.rows]
    rows = [table.head, ["---"] * len(table.head), *table.rows]
    return [f"| {' | '.join(row)} |" for row in rows]
