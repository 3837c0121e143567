"""A published figure again: run its pieces, keep them, draw the panels."""

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from aucmax.basics.replacing import replacing
from aucmax.experiments.protocol import Source, present, quiet
from aucmax.experiments.store import Store, key_of
from aucmax.experiments.workers import shared_out
from aucmax.report.figures import Figure, Line
from aucmax.report.page import Page, ResultTable, Section, write_page
from aucmax.report.provenance import provenance

__all__ = ["Effort", "FigureSpec", "Piece", "mean_lines", "present", "run_figure"]


@dataclass(frozen=True)
class Effort:
    """How much of a figure is run.

    Parameters
    ----------
    runs : int
        Repetitions.
    seed : int
        Of splits and methods.
    quick : bool
        A small version.
    """

    runs: int
    seed: int
    quick: bool


@dataclass(frozen=True)
class Piece:
    """A part of a figure that is run and kept by itself.

    Parameters
    ----------
    source : Source
    what : tuple of (str, value)
        All that determines it beside the data: the method, its settings, the seed.
    """

    source: Source
    what: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.what)[name]


Row = dict[str, Any]


@dataclass(frozen=True)
class FigureSpec:
    """A published figure, or one of ours.

    Parameters
    ----------
    name, title : str
        As ``aucmax reproduce`` calls it; what it is, and whose.
    sources : sequence of Source
        Data sets it can be run on.
    pieces : callable
        (source, effort) to what has to be run.
    run : callable
        A piece to rows, each a flat dict.
    panels : callable
        All rows to the panels.
    findings : callable
        All rows to sentences that say what they show.
    runs : int
        Repetitions when none are asked for.
    timed : bool
        Whether it shows seconds: its pieces then run one after the other.
    fixed : tuple
        Constants that determine the rows beside what a piece names.
    """

    name: str
    title: str
    sources: Sequence[Source]
    pieces: Callable[[Source, Effort], list[Piece]]
    run: Callable[[Piece], list[Row]]
    panels: Callable[[list[Row]], list[Figure]]
    findings: Callable[[list[Row]], list[str]]
    runs: int
    timed: bool = False
    fixed: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Drawn:
    """What a figure gave: all rows, the panels, the findings, what failed, seconds by data set."""

    spec: FigureSpec
    rows: list[Row]
    panels: list[Figure]
    findings: list[str]
    failures: list[str]
    seconds: dict[str, float]


def pieces_of(spec: FigureSpec, sources: Sequence[Source], effort: Effort) -> list[Piece]:
    """Return all pieces."""
    return [piece for source in sources for piece in spec.pieces(source, effort)]


def run_figure(
    spec: FigureSpec,
    sources: Sequence[Source],
    effort: Effort,
    store: Store,
    n_jobs: int,
    done: Callable[[str, float], None],
    absent: Mapping[str, str] = MappingProxyType({}),
) -> Drawn:
    """Run what is not in the store yet; return the rows and panels.

    `absent` says of other data sets why they are not run; so do the findings.
    """
    keys = {piece: _key(spec, piece) for piece in pieces_of(spec, sources, effort)}
    todo = [piece for piece, key in keys.items() if key not in store]
    for _ in range(len(keys) - len(todo)):
        done(spec.name, 0.0)
    failures = []
    parts = ((spec.run, piece, i) for i, piece in enumerate(todo))
    for i, rows, error, took in shared_out(_one, parts, n_jobs if len(todo) > 1 else 1):
        piece = todo[i]
        if error is None:
            store.add(keys[piece], {"rows": rows, "job_seconds": took})
        else:
            words = ", ".join(f"{name} {value}" for name, value in piece.what)
            failures.append(f"{piece.source.name}, {words}: {error}")
        done(f"{spec.name}, {piece.source.name}", took)
    seconds = dict.fromkeys((source.name for source in sources), 0.0)
    for piece, key in keys.items():
        if key in store:
            seconds[piece.source.name] += store[key]["job_seconds"]
    rows = [row for key in keys.values() if key in store for row in store[key]["rows"]]
    panels, findings = [], []
    try:
        panels = spec.panels(rows) if rows else []
        findings = spec.findings(rows) if rows else []
    except Exception as error:  # where pieces are missing; the rows are written all the same
        failures.append(f"drawing: {type(error).__name__}: {error}")
    findings += [f"{name}: {why}" for name, why in absent.items()]
    return Drawn(spec, rows, panels, findings, failures, seconds)


def _key(spec: FigureSpec, piece: Piece) -> str:
    facts = {
        "figure": spec.name,
        "source": piece.source.facts,
        "what": piece.what,
        "fixed": spec.fixed,
    }
    return key_of(facts)


def _one(
    run: Callable[[Piece], list[Row]], piece: Piece, i: int
) -> tuple[int, list[Row], str | None, float]:
    started, error = time.perf_counter(), None
    rows: list[Row] = []
    try:
        with quiet():
            about = {"data": piece.source.name, "seed": piece["seed"]}
            rows = [{**about, **row} for row in run(piece)]
    except Exception as failed:
        error = " ".join(f"{type(failed).__name__}: {failed}".split())
    return i, rows, error, time.perf_counter() - started


def mean_lines(
    rows: Sequence[Row], x: str, y: str, by: str, spread: bool = True
) -> dict[str, Line]:
    """Return, for each value of ``by``, the mean of y at every x over the repetitions.

    With its standard deviation where there are several and ``spread`` asks for it.
    """
    lines = {}
    for name in dict.fromkeys(row[by] for row in rows):
        mine = [row for row in rows if row[by] == name and row[y] is not None]
        at = sorted({row[x] for row in mine})
        values = [[row[y] for row in mine if row[x] == here] for here in at]
        mean = np.array([np.mean(v) for v in values])
        several = spread and max(map(len, values), default=0) > 1
        deviation = np.array([np.std(v) for v in values]) if several else None
        lines[str(name)] = Line(np.array(at, dtype=float), mean, deviation)
    return lines


def write_figure(drawn: Drawn, folder: Path, command: str, seed: int) -> list[str]:
    """Write rows, panels as SVG and PNG, findings as Markdown, and the page; return the names."""
    head = list(dict.fromkeys(name for row in drawn.rows for name in row))
    with replacing(folder / "runs.csv", text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([[row.get(name, "") for name in head] for row in drawn.rows])
    for panel in drawn.panels:
        for suffix in (".svg", ".png"):
            panel.save(folder / f"{panel.name}{suffix}")
    sections = [
        Section(title, tables=[ResultTable.facts(line.partition(": ")[::2] for line in lines)])
        for title, lines in (("Findings", drawn.findings), ("What did not run", drawn.failures))
        if lines
    ]
    if drawn.panels:
        sections.append(Section("Figures", figures=drawn.panels))
    facts: list[tuple[str, Any]] = [
        (data, f"{seconds:.0f} seconds of one core") for data, seconds in drawn.seconds.items()
    ]
    page = Page(
        drawn.spec.title,
        f"{len(drawn.rows):,} points on "
        f"{', '.join(dict.fromkeys(row['data'] for row in drawn.rows))}.",
        sections,
        provenance=provenance(command, facts, seed),
    )
    names = ["runs.csv", "findings.md", "report.html"]
    for name in names[1:]:
        write_page(page, folder / name)
    return [*names, *(f"{panel.name}.svg and .png" for panel in drawn.panels[:1])]
