"""The page of a command: sections of results, and its renderers.

`plain` renders a page as text, `aucmax.report.terminal` prints it in colour, `write_page` writes a
self-contained HTML file, or Markdown. Figures are drawn for the HTML file only, and the packages
for drawing are imported then.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from aucmax.basics.needs import needs
from aucmax.basics.replacing import replacing
from aucmax.report.figures import Figure, visible
from aucmax.report.text import difference_text, p_text, verdict

__all__ = ["Page", "ResultTable", "Section", "plain", "write_page"]


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    head : sequence of str
        The column names; the first column names the rows. A table without names lists facts.
    rows : sequence of sequence of str
        The cells.
    caption : str
        How to read it.
    strong : sequence of int
        Positions of rows to highlight.
    words : sequence of int
        Positions of columns that contain words, not numbers (besides the first).
    lesser : sequence of int
        Positions of columns that a narrow page leaves out.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    strong: Sequence[int] = ()
    words: Sequence[int] = ()
    lesser: Sequence[int] = ()

    @classmethod
    def facts(cls, pairs: Iterable[tuple[str, Any]], caption: str = "") -> ResultTable:
        """Make a table of names and values."""
        return cls(("", ""), [(name, str(value)) for name, value in pairs], caption, words=(1,))

    @classmethod
    def differences(
        cls,
        head: str,
        tests: Iterable[tuple[str, Any]],
        interval: str,
        caption: str,
        difference: str = "AUC difference",
    ) -> ResultTable:
        """Make a table of paired tests: difference, low and high, p_value, and the verdict."""
        rows = [
            (
                name,
                *difference_text(test.difference, test.low, test.high),
                p_text(test.p_value),
                verdict(test.difference, test.p_value),
            )
            for name, test in tests
        ]
        return cls((head, difference, interval, "p", "verdict"), rows, caption, words=(4,))


@dataclass(frozen=True)
class Section:
    """A section of a page: a heading, with text, tables and figures.

    Parameters
    ----------
    heading : str
        The heading.
    lead : str
        One or two sentences below it.
    tables : list of ResultTable
        Results.
    figures : list of Figure
        Figures, drawn only on the HTML page.
    points : sequence of dict
        Results of `operating_points`, one per scorer, for a slider over the rows to flag; at most
        one section of a page has them.
    on_terminal : bool
        Whether the terminal also shows the section.
    """

    heading: str
    lead: str = ""
    tables: list[ResultTable] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    points: Sequence[dict[str, Any]] = ()
    on_terminal: bool = True


@dataclass(frozen=True)
class Page:
    """A report, for all renderers.

    Parameters
    ----------
    title : str
        The title.
    lead : str
        The first lines: the data and their use.
    sections : list of Section
        The sections in order.
    provenance : sequence of (str, str)
        The result of `provenance`.
    verdict : str
        The conclusion in a few words, shown on the HTML page only.
    """

    title: str
    lead: str
    sections: list[Section]
    provenance: Sequence[tuple[str, str]] = ()
    verdict: str = ""

    def on_terminal(self) -> Page:
        """Return the part for a terminal, with control characters escaped."""
        shown = [s for s in self.sections if s.on_terminal and (s.tables or s.lead)]
        return visible(replace(self, sections=shown))


# ---- text


def plain(page: Page) -> str:
    """Return a page as text without colours: lead, headings, tables and captions."""
    page = page.on_terminal()
    parts = [page.lead] if page.lead else []
    for section in page.sections:
        blocks = [section.lead] if section.lead else []
        for table in section.tables:
            blocks.append("\n".join([*_plain_lines(table), *filter(None, [table.caption])]))
        heading = f"{section.heading}\n" if len(page.sections) > 1 else ""
        parts.append(heading + "\n\n".join(blocks))
    return "\n\n".join(parts)


def _plain_lines(table: ResultTable) -> list[str]:
    rows = [table.head, *table.rows] if any(table.head) else list(table.rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left_aligned = {0, *table.words}
    return [
        "  ".join(
            cell.ljust(width) if i in left_aligned else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


# ---- HTML


def write_page(page: Page, path: str | PathLike[str]) -> None:
    """Write a page as HTML, or as Markdown if the path ends in .md.

    An old file is replaced only when the new one is complete. In HTML all text is escaped, and
    only the page's own scripts run.
    """
    page = visible(page)
    text = _markdown(page) if Path(path).suffix == ".md" else _html(page)
    with replacing(path, text=True) as stream:
        stream.write(text)


def _html(page: Page) -> str:
    needs("jinja2", "an HTML page")
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
    # figures.js before page.js, which sends the operating point to the figures
    style, *scripts = (
        files.get_source(environment, name)[0].replace("\r\n", "\n")
        for name in ("page.css", "tables.js", "figures.js", "page.js")
    )
    return environment.get_template("page.html").render(
        page=page, style=style, scripts=scripts, policy=_policy(style, scripts)
    )


def _policy(style: str, scripts: Sequence[str]) -> str:
    """Return the content policy of a page, which allows its scripts and style sheet by digest.

    Style attributes are allowed, because the lines of figures have them. ``style-src`` is for
    browsers without separate rules for attributes.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_digest, scripts))}",
            "style-src 'unsafe-inline'",
            f"style-src-elem {_digest(style)}",
            "style-src-attr 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    sha256 = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(sha256).decode()}'"


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
