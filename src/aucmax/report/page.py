"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from aucmax.basics.replacing import replacing
from aucmax.report.figures import Drawing

__all__ = ["Page", "ResultTable", "Section", "check_page", "write_page"]

_SUFFIXES = (".html", ".htm")


@dataclass(frozen=True)
class ResultTable:
    """A table of results.

    Parameters
    ----------
    head : sequence of str
        The columns' names; the first column names the rows.
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


@dataclass(frozen=True)
class Section:
    """A part of a page: a heading, and under it words, tables and figures.

    Parameters
    ----------
    heading : str
        Its name.
    lead : str
        A sentence or two.
    tables : sequence of ResultTable
        Results.
    drawings : sequence of Drawing
        Figures.
    """

    heading: str
    lead: str = ""
    tables: Sequence[ResultTable] = ()
    drawings: Sequence[Drawing] = ()


@dataclass(frozen=True)
class Page:
    """All that a report shows.

    Parameters
    ----------
    title, lead : str
        What it is about.
    sections : sequence of Section
        Its parts, in order.
    points : sequence of dict
        What `operating_points` gives, one per scorer; empty for no operating point.
    provenance : sequence of (str, str)
        What `provenance` gives.
    """

    title: str
    lead: str
    sections: Sequence[Section]
    points: Sequence[dict[str, Any]] = field(default=())
    provenance: Sequence[tuple[str, str]] = ()


def check_page(path: Path | None) -> None:
    """Raise ValueError, before the work is done, unless the file's name ends in .html.

    Parameters
    ----------
    path : Path or None
        Where a page is to go; None is no page.
    """
    if path is not None and path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"{path}: a report is written as .html; end the name so.")


def write_page(page: Page, path: str | PathLike[str]) -> None:
    """Write a report to a file, which is replaced only once the new one is complete.

    Parameters
    ----------
    page : Page
        What it shows. All words are escaped.
    path : path
        Where it goes.
    """
    text = _render(page)
    with replacing(path, text=True) as stream:
        stream.write(text)


def _render(page: Page) -> str:
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
    style, tables, script = (
        files.get_source(environment, name)[0] for name in ("page.css", "tables.js", "page.js")
    )
    return environment.get_template("page.html").render(
        page=page, style=style, tables=tables, script=script
    )
