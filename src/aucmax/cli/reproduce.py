"""``aucmax reproduce``: a published table or figure again, from raw data."""

from __future__ import annotations

import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from aucmax.cli._data import words
from aucmax.cli._shared import Json, command_line, console, print_json, tell, working

__all__ = ["reproduce"]


class Tuning(StrEnum):
    """How settings are tuned."""

    nested = "nested"
    authors = "authors"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="What to regenerate; --list shows what there is."),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show what there is, and which data are here.")
    ] = False,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where results go.")
    ] = Path("reproduced"),
    protocol: Annotated[
        Tuning,
        typer.Option(
            help="nested: tune on every training part. authors: once, on the first, as the papers "
            "did, which leaks test rows of later parts into the tuning."
        ),
    ] = Tuning.nested,
    data: Annotated[
        str | None, typer.Option("--data", metavar="A,B,…", help="Only these data sets.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, help="Repetitions of the folds or splits.")
    ] = None,
    tune_rows: Annotated[
        int, typer.Option("--tune-rows", min=60, help="Most rows of a training part to tune on.")
    ] = 5000,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version of everything, in minutes.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", help="Processes at a time; -1 is one for each core.")
    ] = -1,
    seed: Annotated[int, typer.Option(min=0, help="Of the splits and the methods.")] = 0,
    as_json: Json = False,
) -> None:
    """Regenerate a published table or figure from raw data.

    Writes into FOLDER/NAME: every single run (runs.csv), Markdown, figures as SVG and PNG, and a
    page. A table stands beside the published figures, and each row has a certificate: the test AUC
    of the exact optimum of the same objective on the same splits. A run that was killed goes on
    where it was; "all" is everything there is.

    Examples:

        aucmax reproduce --list

        aucmax reproduce spam-table --data diabetes,german --runs 4

        aucmax reproduce all --quick
    """
    from aucmax.experiments.catalogue import CATALOGUE
    from aucmax.experiments.tables import TableSpec

    if show_list:
        _list(as_json)
        return
    if name is None:
        raise ValueError("name what to regenerate, or use --list to see what there is.")
    if name != "all" and name not in CATALOGUE:
        raise ValueError(f"there is no {name!r}; there are {', '.join(CATALOGUE)} and all.")
    asked = Asked(
        output, protocol.value, words(data or ""), runs, tune_rows, quick, jobs, seed, as_json
    )
    chosen = list(CATALOGUE.values()) if name == "all" else [CATALOGUE[name]]
    reports = []
    for spec in chosen:
        there = _there(spec, asked, skip=name == "all")
        if there:
            run = _table if isinstance(spec, TableSpec) else _figure
            reports.append(run(spec, there, asked))
    if as_json:
        print_json(reports)


class Asked(NamedTuple):
    """The options."""

    output: Path
    tuning: str
    data: list[str]
    runs: int | None
    tune_rows: int
    quick: bool
    jobs: int
    seed: int
    as_json: bool

    @property
    def cores(self) -> int:
        return (os.cpu_count() or 1) if self.jobs < 1 else self.jobs


def _list(as_json: bool) -> None:
    from aucmax.experiments.catalogue import CATALOGUE
    from aucmax.experiments.protocol import present

    entries = []
    for spec in CATALOGUE.values():
        there, missing = present(spec.sources)
        here = [source.name for source in there]
        entries.append({"name": spec.name, "title": spec.title, "here": here, "missing": missing})
    if as_json:
        print_json(entries)
        return
    screen = console()
    for entry in entries:
        screen.print(f"{entry['name']}", style="bold")
        screen.print(f"  {entry['title']}")
        screen.print(f"  data here: {', '.join(entry['here']) or 'none'}", style="dim")
        if entry["missing"]:
            screen.print(
                f"  not here: {', '.join(entry['missing'])}; 'aucmax datasets' tells how to get "
                "them",
                style="dim",
            )


def _there(spec: Any, asked: Asked, skip: bool) -> list[Any]:
    """Return the data sets to run on; an error if there are none, unless they may be skipped."""
    from aucmax.experiments.protocol import present

    names = [source.name for source in spec.sources]
    unknown = [word for word in asked.data if word not in names]
    if unknown and not skip:
        listed = ", ".join(names)
        raise ValueError(f"--data: {spec.name} has no {unknown[0]!r}; it has {listed}.")
    sources = [s for s in spec.sources if not asked.data or s.name in asked.data]
    with working(f"reading the data of {spec.name}", asked.as_json):
        there, _ = present(sources)
    if not there and not skip:
        raise ValueError(
            f"{spec.name}: none of its data sets is here; set AUCMAX_DATA to their folder, or "
            "see 'aucmax datasets'."
        )
    if not there and sources:
        tell("warning", f"{spec.name}: left out, none of its data sets is here")
    return there[:2] if asked.quick and not asked.data else there


def _announce(spec: Any, what: str, seconds: float, cores: int, asked: Asked) -> None:
    if not asked.as_json:
        screen = console()
        screen.print(spec.title)
        screen.print(
            f"{what}; about {_duration(seconds / cores)} on {_count(cores, 'core')} if "
            "nothing is there yet",
            style="dim",
        )


def _table(spec: Any, there: list[Any], asked: Asked) -> dict[str, Any]:
    from aucmax.cli._reproduce_bar import bar, plain_table
    from aucmax.experiments import table_report, tables
    from aucmax.experiments.catalogue import CATALOGUE
    from aucmax.experiments.store import Store

    protocol = replace(
        spec.protocol, tuning=asked.tuning, tune_rows=asked.tune_rows, seed=asked.seed
    )
    if asked.quick:
        protocol = tables.quick(protocol)
    if asked.runs is not None:
        protocol = replace(protocol, runs=asked.runs)
    about = tables.estimate(spec, there, protocol)
    what = f"{_count(len(there), 'data set')}, {_count(protocol.parts, 'run')} of each method"
    _announce(spec, what, sum(about.values()), asked.cores, asked)
    folder = asked.output / spec.name
    folder.mkdir(parents=True, exist_ok=True)
    # tables share cells: OPAUC's are the same in two of them
    beside = [asked.output / other / "jobs.jsonl" for other in CATALOGUE if other != spec.name]
    store = Store(folder / "jobs.jsonl", beside)
    with bar(_jobs(spec, there, protocol), asked.as_json) as done:
        results = tables.run_table(spec, there, protocol, store, asked.cores, done)
    tables.write_runs(results, folder / "runs.csv")
    table_report.write_markdown(results, folder / "table.md")
    table_report.write_report(results, folder / "report.html", command_line())
    head, rows = table_report.comparison(results)
    if not asked.as_json:
        screen = console()
        plain_table(screen, head, rows)
        for line in table_report.far_cells(results):
            screen.print(f"far: {line}", style="dim")
        screen.print(f"written to {folder}: runs.csv, table.md, report.html\n", soft_wrap=True)
    for line in table_report.failures(results):
        tell("warning", line)
    return {
        "name": spec.name,
        "folder": str(folder),
        "rows": [dict(zip(head, row, strict=True)) for row in rows],
        "far": table_report.far_cells(results),
        "failures": table_report.failures(results),
        "seconds": results.seconds,
    }


def _figure(spec: Any, there: list[Any], asked: Asked) -> dict[str, Any]:
    from aucmax.cli._reproduce_bar import bar
    from aucmax.experiments import figures
    from aucmax.experiments.store import Store

    runs = asked.runs if asked.runs is not None else 1 if asked.quick else spec.runs
    setting = figures.Setting(runs, asked.seed, asked.quick)
    about = sum(spec.seconds(source, setting) for source in there)
    # what is timed runs alone
    cores = 1 if spec.timed else asked.cores
    _announce(spec, f"{_count(len(there), 'data set')}, {_count(runs, 'run')}", about, cores, asked)
    folder = asked.output / spec.name
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "jobs.jsonl")
    with bar(len(figures.pieces_of(spec, there, setting)), asked.as_json) as done:
        drawn = figures.run_figure(spec, there, setting, store, cores, done)
    names = figures.write_figure(drawn, folder, command_line(), asked.seed)
    if not asked.as_json:
        screen = console()
        for line in drawn.findings:
            screen.print(line, soft_wrap=False)
        screen.print(f"written to {folder}: {', '.join(names)}\n", soft_wrap=True)
    for line in drawn.failures:
        tell("warning", line)
    return {
        "name": spec.name,
        "folder": str(folder),
        "findings": drawn.findings,
        "failures": drawn.failures,
    }


def _jobs(spec: Any, there: list[Any], protocol: Any) -> int:
    methods = len({*spec.methods, "optimum"})
    tunings = protocol.parts if protocol.tuning == "nested" else 1
    return len(there) * methods * (tunings + protocol.parts)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} seconds"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours"
