"""The reports of ``aucmax reproduce``: the list of experiments, and the results of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.reports import Report, as_data, inline, named

__all__ = ["Catalogue", "FigureRun", "Reproduced", "Reproducible", "TableRun"]


@dataclass(frozen=True, kw_only=True)
class Reproducible:
    """A published table or figure, and which of its data sets are available."""

    name: str
    title: str
    readable: Sequence[str] = named("here")
    missing: Sequence[str]
    broken: Mapping[str, str]

    def section(self) -> Section:
        """Return its section of the page."""
        facts = [("available", ", ".join(self.readable) or "none")]
        if self.missing:
            missing = f"{', '.join(self.missing)}; get them with 'aucmax datasets fetch'"
            facts.append(("missing", missing))
        facts += [("broken", reason) for reason in self.broken.values()]
        return Section(self.name, self.title, [ResultTable.facts(facts)])


@dataclass(frozen=True, kw_only=True)
class Catalogue(Report):
    """All tables and figures."""

    entries: Sequence[Reproducible]

    def contents(self) -> Any:
        """Return the list, for JSON."""
        return as_data(self.entries)

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        return Page("Tables and figures", "", [entry.section() for entry in self.entries])


@dataclass(frozen=True, kw_only=True)
class TableRun:
    """The rows of a table, and which of its cells are far from the published ones."""

    rows: Sequence[Mapping[str, str]]
    far: Sequence[str]
    seconds: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FigureRun:
    """Sentences on what a figure shows."""

    findings: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """A table or a figure that was run."""

    name: str
    folder: str
    failures: Sequence[str]
    absent: Mapping[str, str]  # data sets that were not run, with the reason
    results: TableRun | FigureRun = inline()
