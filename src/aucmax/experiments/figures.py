"""Reproduction of a published figure: its pieces are run and stored, its panels drawn."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from aucmax.experiments.jobs import Row, Store, core_seconds, finish, key_of
from aucmax.experiments.sources import Source
from aucmax.experiments.trial import TrainTest, train_test
from aucmax.experiments.writing import sections_of, spent, write_results
from aucmax.report.figures import Figure, Line, around
from aucmax.report.page import Page, Section
from aucmax.report.provenance import provenance

__all__ = [
    "Effort",
    "FigureSpec",
    "Piece",
    "grouped",
    "mean_lines",
    "pieces_of",
    "repeated",
    "run_figure",
    "write_figure",
]


@dataclass(frozen=True)
class Effort:
    """The extent of the runs for a figure."""

    runs: int  # repetitions
    seed: int  # of splits and methods
    quick: bool  # a small version


@dataclass(frozen=True)
class Piece:
    """A part of a figure that is run and stored separately."""

    source: Source
    settings: tuple[tuple[str, Any], ...]  # names and values of all other things that determine it

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    @property
    def seed(self) -> int:
        """The seed of its repetition."""
        return self["seed"] + self["run"]

    def train_test(self, test_size: float = 0.2) -> TrainTest:
        """Return the training and the test rows of its repetition."""
        return train_test(*self.source.load(), test_size, self.seed)


def repeated(source: Source, effort: Effort, settings: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """Return a piece for each repetition and each of the settings."""
    return [
        Piece(source, tuple({**setting, "run": run, "seed": effort.seed}.items()))
        for run in range(effort.runs)
        for setting in settings
    ]


@dataclass(frozen=True)
class FigureSpec:
    """A published figure, or one of ours."""

    name: str  # as ``aucmax reproduce`` calls it
    title: str  # its name and its paper
    sources: Sequence[Source]  # data sets it can be run on
    pieces: Callable[[Source, Effort], list[Piece]]  # what has to be run
    run: Callable[[Piece], list[Row]]  # a piece to rows, each a flat dict
    panels: Callable[[str, list[Row]], list[Figure]]  # the rows of a group to panels
    finding: Callable[[list[Row]], str]  # the rows of a group to a sentence on what they show
    runs: int  # default number of repetitions
    panels_by: str = "data"  # what rows are grouped by; if empty, all are one group
    findings_by: tuple[str, ...] = ("data",)
    timed: bool = False  # whether it shows seconds; its pieces then run one at a time
    fixed: tuple[Any, ...] = ()  # constants that the rows of every piece depend on


@dataclass(frozen=True)
class FigureResults:
    """The rows and panels of a figure, and the findings."""

    spec: FigureSpec
    rows: list[Row]
    panels: list[Figure]
    findings: list[str]
    failures: list[str]
    seconds: dict[str, float]  # of one core, by data set


@dataclass(frozen=True)
class _FigureJob:
    spec: FigureSpec
    piece: Piece

    @property
    def source(self) -> Source:
        return self.piece.source

    @property
    def title(self) -> str:
        return self.source.name

    @property
    def key(self) -> str:
        facts = {"figure": self.spec.name, "source": self.source.facts}
        return key_of({**facts, "what": self.piece.settings, "fixed": self.spec.fixed})

    @property
    def about(self) -> Row:
        return {}

    def run(self) -> Row:
        about = {"data": self.source.name, "seed": self.piece["seed"]}
        return {"rows": [{**about, **row} for row in self.spec.run(self.piece)]}


def pieces_of(spec: FigureSpec, sources: Sequence[Source], effort: Effort) -> list[Piece]:
    """Return all pieces."""
    return [piece for source in sources for piece in spec.pieces(source, effort)]


def run_figure(
    spec: FigureSpec,
    sources: Sequence[Source],
    effort: Effort,
    store: Store,
    n_jobs: int,
    on_done: Callable[[str, float], None],
    absent: Mapping[str, str] = MappingProxyType({}),
) -> FigureResults:
    """Run the jobs that are not in the store yet; return the rows and panels.

    The findings end with the data sets that are ``absent``, and why.
    """
    jobs = {piece: _FigureJob(spec, piece) for piece in pieces_of(spec, sources, effort)}
    results = finish(jobs, store, n_jobs, on_done)
    rows, failures = [], []
    for piece, row in results.items():
        rows += row.get("rows", [])
        if "error" in row:
            words = ", ".join(f"{name} {value}" for name, value in piece.settings)
            failures.append(f"{piece.source.name}, {words}: {row['error']}")
    panels: list[Figure] = []
    findings: list[str] = []
    try:
        groups = grouped(rows, spec.panels_by) if spec.panels_by else {"": rows}
        panels = [
            panel for name, group in groups.items() if group for panel in spec.panels(name, group)
        ]
        for group in grouped(rows, *spec.findings_by).values():
            name = " ".join(_word(group[0][by]) for by in spec.findings_by)
            findings.append(f"{name}: {spec.finding(group)}")
    except Exception as error:  # pieces may be missing; the rows are still written
        failures.append(f"drawing: {type(error).__name__}: {error}")
    findings += [f"{name}: {reason}" for name, reason in absent.items()]
    return FigureResults(spec, rows, panels, findings, failures, core_seconds(jobs, results))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def grouped(rows: Iterable[Row], *names: str) -> dict[Any, list[Row]]:
    """Group rows by the value of one name, or the values of several, in order of appearance."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        value = row[names[0]] if len(names) == 1 else tuple(row[name] for name in names)
        groups.setdefault(value, []).append(row)
    return groups


def mean_lines(
    rows: Sequence[Row], x: str, y: str, by: str, spread: bool = True
) -> dict[str, Line]:
    """Return, for each value of ``by``, the mean of y over the repetitions at every x.

    With ``spread``, a line has their standard deviation if there are several.
    """
    lines = {}
    for name, line_rows in grouped(rows, by).items():
        at = grouped((row for row in line_rows if row[y] is not None), x)
        values = [[row[y] for row in at[value]] for value in sorted(at)]
        mean = np.array([np.mean(v) for v in values])
        several = spread and max(map(len, values), default=0) > 1
        band = around(mean, np.array([np.std(v) for v in values])) if several else None
        lines[str(name)] = Line(np.array(sorted(at), dtype=float), mean, band)
    return lines


def write_figure(results: FigureResults, folder: Path, command: str, seed: int) -> list[str]:
    """Write rows, panels as SVG and PNG, findings as Markdown, and the page; return the names."""
    for panel in results.panels:
        for suffix in (".svg", ".png"):
            panel.save(folder / f"{panel.name}{suffix}")
    sections = sections_of({"Findings": results.findings, "What did not run": results.failures})
    if results.panels:
        sections.append(Section("Figures", figures=results.panels))
    page = Page(
        results.spec.title,
        f"{len(results.rows):,} points on {', '.join(grouped(results.rows, 'data'))}.",
        sections,
        provenance=provenance(command, spent(results.seconds), seed),
    )
    head = list(dict.fromkeys(name for row in results.rows for name in row))
    names = write_results(folder, head, results.rows, page, "findings.md")
    return [*names, *(f"{panel.name}.svg and .png" for panel in results.panels[:1])]
