"""What tables and figures write in the same way: rows, pages, sentences as sections, run times."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from aucmax.basics.replacing import replacing
from aucmax.experiments.jobs import Row
from aucmax.report.page import Page, ResultTable, Section, write_page

__all__ = ["sections_of", "spent", "write_results"]


def write_results(
    folder: Path, head: Sequence[str], rows: Iterable[Row], page: Page, markdown: str
) -> list[str]:
    """Write rows as CSV, and the page as Markdown and HTML; return the names of the files."""
    with replacing(folder / "runs.csv", text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([[row.get(name, "") for name in head] for row in rows])
    for name in (markdown, "report.html"):
        write_page(page, folder / name)
    return ["runs.csv", markdown, "report.html"]


def sections_of(sentences: Mapping[str, Sequence[str]]) -> list[Section]:
    """Return a section for each title that has sentences, of the form "what: words"."""
    return [
        Section(title, tables=[ResultTable.facts(line.partition(": ")[::2] for line in lines)])
        for title, lines in sentences.items()
        if lines
    ]


def spent(seconds: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return how long each data set took, in words."""
    return [(data, f"{took:.0f} seconds of one core") for data, took in seconds.items()]
