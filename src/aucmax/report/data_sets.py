"""The reports of ``aucmax datasets``: the list of data sets, or one in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.reports import Report, as_data, inline, named

if TYPE_CHECKING:
    from aucmax.report.facts import Facts

__all__ = ["DataSetInDetail", "DataSets", "KnownData", "Loaded"]

_VERIFIED = {True: "yes", False: "not the reference files", None: "no reference to compare with"}
_MAX_LABELS = 6  # number of labels that are listed


@dataclass(frozen=True, kw_only=True)
class KnownData:
    """A data set of the registry, and where its files are."""

    name: str
    rows: int | None
    features: int
    sparse: bool
    classes: int
    smallest_share: float | None
    splits: Sequence[str]
    is_here: bool = named("found")
    files: Sequence[str]

    @property
    def smallest(self) -> str:
        """The share of the rarest class."""
        return "–" if self.smallest_share is None else f"{100 * self.smallest_share:.3g} %"


@dataclass(frozen=True, kw_only=True)
class DataSets(Report):
    """The list of data sets."""

    sets: Sequence[KnownData]

    def contents(self) -> Any:
        """Return the list, for JSON."""
        return as_data(self.sets)

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        cells = []
        for data_set in self.sets:
            folders = ", ".join(sorted({str(Path(file).parent) for file in data_set.files})) or "–"
            numbers = (data_set.rows, data_set.features, data_set.classes)
            counts = ("–" if number is None else f"{number:,}" for number in numbers)
            cells.append((data_set.name, *counts, data_set.smallest, folders))
        missing = [data_set.name for data_set in self.sets if not data_set.is_here]
        caption = "smallest: the share of the rarest class"
        if missing:
            caption += (
                f"\n\n{len(missing)} not found: set AUCMAX_DATA to the folder that holds them, or "
                f"get them with: aucmax datasets fetch {missing[0]} …"
            )
        head = ("name", "rows", "features", "classes", "smallest", "found in")
        table = ResultTable(head, cells, caption, words=(5,))
        return Page("Data sets", "", [Section("", tables=[table])])


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The facts that reading a data set has shown."""

    labels: Mapping[Any, int]
    verified: bool | None
    positive_share: float | None  # of two labels

    def facts(self) -> Facts:
        """Return it as lines of a table."""
        listed = [f"{label}: {count:,}" for label, count in self.labels.items()]
        hidden = len(listed) - _MAX_LABELS
        labels = ", ".join([*listed[:_MAX_LABELS], *([f"and {hidden} more"] if hidden > 0 else [])])
        positive = f"one of {len(listed)}, or a half: load(…, binarize=…)"
        if self.positive_share is not None:
            positive = f"{self.positive_share:.1%}"
        return [
            ("labels", labels), ("positive", positive), ("verified", _VERIFIED[self.verified])
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class DataSetInDetail(Report):
    """One data set."""

    summary: KnownData = inline()
    aliases: Sequence[str]
    notes: Mapping[str, str]  # by file, as the sources
    labels_rule: str
    source: Mapping[str, str]
    loaded: Loaded | None = inline()

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        summary = self.summary
        classes = str(summary.classes)
        if summary.smallest_share is not None:
            classes += f", the rarest with {summary.smallest} of rows"
        facts = [
            ("name", summary.name),
            ("also", ", ".join(self.aliases)),
            ("rows", "" if summary.rows is None else f"{summary.rows:,}"),
            ("features", f"{summary.features:,} ({'sparse' if summary.sparse else 'dense'})"),
            ("splits", ", ".join(summary.splits)),
            ("classes", classes),
            ("rule", self.labels_rule),
        ]
        if self.loaded is None:
            fetching = f"aucmax datasets fetch {summary.name}"
            facts.append(("file", f"not found: set AUCMAX_DATA, or: {fetching}"))
        else:
            facts += [*self.loaded.facts(), *(("file", file) for file in summary.files)]
        facts += [("source", url) for url in dict.fromkeys(self.source.values())]
        facts += [("notes", f"{file}: {notes}") for file, notes in self.notes.items()]
        table = ResultTable.facts((name, value) for name, value in facts if value)
        return Page(summary.name, "", [Section("", tables=[table])])
