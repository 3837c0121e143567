"""``aucmax reproduce``: a published table or figure, computed again from raw data."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from aucmax.basics.doors import postponed
from aucmax.cli.common import counted, listed, print_json, show, working
from aucmax.cli.errors import command_line, interrupted
from aucmax.cli.options import Json, option
from aucmax.cli.reproduce_table import plain_table
from aucmax.cli.screen import console, tell

with postponed():
    from aucmax.experiments import figures, table_report, tables
    from aucmax.experiments.catalogue import CATALOGUE
    from aucmax.experiments.figures import FigureSpec
    from aucmax.experiments.jobs import Store, locked_store
    from aucmax.experiments.reproduced import (
        Catalogue,
        FigureRun,
        Reproduced,
        Reproducible,
        TableRun,
    )
    from aucmax.experiments.sources import present
    from aucmax.experiments.tables import TableSpec

__all__ = ["reproduce"]

TUNE_ROWS = 5000


class TunedOn(StrEnum):
    """The rows on which settings are tuned."""

    nested = "nested"
    authors = "authors"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a run."""

    output: Path = option(
        Path("reproduced"), "Folder for the results.", flags=("-o", "--output"), metavar="FOLDER"
    )
    protocol: TunedOn = option(
        TunedOn.nested,
        "nested: tune on every training part. authors: tune once, on the first, as the papers "
        "did, which leaks test rows of later parts into the tuning.",
    )
    data: str | None = option(None, "Only these data sets.", metavar="A,B,…")
    runs: int | None = option(None, "Repetitions of the folds or splits.", min=1)
    tune_rows: int = option(TUNE_ROWS, "Maximum rows used to tune (tables only).", min=60)
    quick: bool = option(False, "A small version of everything, in minutes.")
    jobs: int = option(-1, "Number of processes; -1 uses all cores.")
    seed: int = option(0, "Random seed of the splits and the methods.", min=0, max=2**31)
    as_json: Json = False

    @property
    def cores(self) -> int:
        return (os.cpu_count() or 1) if self.jobs < 1 else self.jobs


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="What to regenerate; --list shows the choices."),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the tables and figures, and the available data.")
    ] = False,
    *,
    options: Options,
) -> None:
    """Regenerate a published table or figure from raw data.

    Writes into FOLDER/NAME: every single run (runs.csv), Markdown, figures as SVG and PNG, and a
    page. A table is shown beside the published figures and the test AUC of the exact optimum of the
    pairwise square loss on the same splits, which the papers' learners approach. A run that was
    killed resumes where it stopped; "all" runs everything.

    Examples:

        aucmax reproduce --list

        aucmax reproduce spam-table --data diabetes,german --runs 4

        aucmax reproduce all --quick
    """
    if show_list:
        _list(options.as_json)
        return
    if name is None:
        raise ValueError("name a table or figure to regenerate; --list shows the choices.")
    if name != "all" and name not in CATALOGUE:
        raise ValueError(f"no table or figure {name!r}; there are {', '.join(CATALOGUE)} and all.")
    _check_figure(name, options)
    chosen = list(CATALOGUE.values()) if name == "all" else [CATALOGUE[name]]
    only = _names(options.data, chosen)
    reports, failed = [], False
    for spec in chosen:
        try:
            sources = _find(spec, only, options)
            if isinstance(spec, TableSpec) and (sources.readable or sources.absent):
                reports.append(_table(spec, sources, options))
            elif isinstance(spec, FigureSpec) and sources.readable:
                reports.append(_figure(spec, sources, options))
            if not sources.readable:
                _nothing(spec, sources, skip=name == "all")
        except (ValueError, OSError) as error:
            if name != "all":
                raise
            tell("error", f"{spec.name}: {error}")
            failed = True
    if options.as_json:
        print_json(reports)
    if failed:
        raise typer.Exit(1)


def _check_figure(name: str, options: Options) -> None:
    """Raise ValueError for options that apply only to tables."""
    if name == "all" or isinstance(CATALOGUE[name], TableSpec):
        return
    for setting in ("protocol", "tune_rows"):
        if getattr(options, setting) != getattr(Options(), setting):
            raise ValueError(
                f"--{setting.replace('_', '-')} is for tables; {name} is a figure and does not "
                "use it."
            )


def _names(data: str | None, chosen: list[Any]) -> list[str]:
    """Return the names in --data; raise ValueError for one that no experiment has."""
    names = listed(data or "")
    if data is not None and not names:
        raise ValueError("--data names no data set; give names separated by commas.")
    all_names = dict.fromkeys(source.name for spec in chosen for source in spec.sources)
    for word in names:
        if word not in all_names:
            scope = chosen[0].name if len(chosen) == 1 else "any of them"
            raise ValueError(f"--data: no {word!r} in {scope}; there are {', '.join(all_names)}.")
    return names


def _list(as_json: bool) -> None:
    entries = []
    for spec in CATALOGUE.values():
        presence = present(spec.sources)
        names = [source.name for source in presence.readable]
        entries.append(
            Reproducible(
                name=spec.name,
                title=spec.title,
                readable=names,
                missing=presence.missing,
                broken=presence.broken,
            )
        )
    show(Catalogue(entries=entries), as_json)


class Sources(NamedTuple):
    """The data sets to run on, and why others are left out."""

    readable: list[Any]
    absent: dict[str, str]


def _find(spec: Any, only: list[str], options: Options) -> Sources:
    """Find the data sets to run on."""
    sources = [s for s in spec.sources if s.made or not only or s.name in only]
    with working(f"reading the data of {spec.name}", options.as_json):
        presence = present(sources)
    for reason in presence.broken.values():
        tell("warning", f"{spec.name}: left out: {reason}")
    for name in presence.altered:
        tell("warning", f"{name}: its files are not the published ones; figures may not compare")
    readable = presence.readable[:2] if options.quick and not only else presence.readable
    skipped = dict.fromkeys(
        (s.name for s in presence.readable[len(readable) :]), "left out of a quick run"
    )
    return Sources(readable, presence.absent | skipped)


def _nothing(spec: Any, sources: Sources, skip: bool) -> None:
    """Report that no data set is available: an error, unless other experiments run."""
    if skip:
        tell(
            "warning",
            f"{spec.name}: not run: none of its data sets is available or asked for",
        )
        return
    raise ValueError(
        f"{spec.name}: none of its data sets can be read here ({', '.join(sources.absent)}); set "
        "AUCMAX_DATA to their folder, or get one with 'aucmax datasets fetch NAME'."
    )


def _table(spec: TableSpec, sources: Sources, options: Options) -> Reproduced:
    protocol = replace(
        spec.protocol, tuning=options.protocol.value, tune_rows=options.tune_rows, seed=options.seed
    )
    if options.quick:
        protocol = protocol.quick()
    if options.runs is not None:
        protocol = replace(protocol, runs=options.runs)
    jobs = len(sources.readable) * len(spec.all_methods) * (protocol.tuned_parts + protocol.parts)
    runs = f"{counted(protocol.parts, 'run')} of each method"
    # tables share cells: OPAUC's are the same in two of them
    beside = [options.output / name / "jobs.jsonl" for name in CATALOGUE if name != spec.name]
    with _running(spec, sources, runs, options.cores, jobs, options, beside) as (
        folder,
        store,
        done,
    ):
        results = tables.run_table(
            spec, sources.readable, protocol, store, options.cores, done, sources.absent
        )
    names = table_report.write_table(results, folder, command_line())
    head, rows = table_report.comparison(results)
    far, failures = table_report.far_cells(results), table_report.failures(results)
    if not options.as_json:
        screen = console()
        plain_table(screen, head, rows, sources.absent)
        for line in far:
            screen.print(f"far: {line}", style="dim")
    rows_by_name = [dict(zip(head, row, strict=True)) for row in rows]
    more = TableRun(rows=rows_by_name, far=far, seconds=results.seconds)
    return _report(spec, sources, folder, names, failures, options, more)


def _figure(spec: FigureSpec, sources: Sources, options: Options) -> Reproduced:
    runs = options.runs if options.runs is not None else 1 if options.quick else spec.runs
    effort = figures.Effort(runs, options.seed, options.quick)
    cores = 1 if spec.timed else options.cores  # what is timed runs alone
    jobs = len(figures.pieces_of(spec, sources.readable, effort))
    with _running(spec, sources, counted(runs, "run"), cores, jobs, options) as (
        folder,
        store,
        done,
    ):
        results = figures.run_figure(
            spec, sources.readable, effort, store, cores, done, sources.absent
        )
    names = figures.write_figure(results, folder, command_line(), options.seed)
    if not options.as_json:
        for line in results.findings:
            console().print(line)
    more = FigureRun(findings=results.findings)
    return _report(spec, sources, folder, names, results.failures, options, more)


@contextlib.contextmanager
def _running(
    spec: Any,
    sources: Sources,
    runs: str,
    cores: int,
    jobs: int,
    options: Options,
    beside: Sequence[Path] = (),
) -> Iterator[tuple[Path, Store, Callable[[str, float], None]]]:
    """Report what runs and how many jobs are finished; on Ctrl-C, what has been stored.

    Yields the folder, the store of finished jobs, and a function to call after each job.
    """
    if not options.as_json:
        console().print(spec.title)
        size = f"{counted(len(sources.readable), 'data set')}, {runs}, on {counted(cores, 'core')}"
        console().print(size, style="dim")
    folder = options.output / spec.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(
            f"--output: the folder {folder} cannot be created ({error.strerror or error}); name "
            "another."
        ) from None
    done = ran = 0

    def one_more(words: str, seconds: float) -> None:
        nonlocal done, ran
        done += 1
        ran += seconds > 0  # the others were stored before, or are the same as another
        now.at(done, jobs, f"{spec.name}: {words}")

    with locked_store(folder / "jobs.jsonl", beside) as store:
        try:
            with working(spec.name, options.as_json) as now:
                now.at(done, jobs, spec.name)
                yield folder, store, one_more
        except KeyboardInterrupt:
            raise interrupted(
                f"{spec.name}: {counted(ran, 'job')} done by this run and kept in {folder}; to "
                f"resume: {command_line()}"
            ) from None


def _report(
    spec: Any,
    sources: Sources,
    folder: Path,
    names: list[str],
    failures: list[str],
    options: Options,
    results: TableRun | FigureRun,
) -> Reproduced:
    """Report what was written and what failed; return the report."""
    if not options.as_json:
        console().print(f"written to {folder}: {', '.join(names)}\n", soft_wrap=True)
    for line in failures:
        tell("warning", line)
    return Reproduced(
        name=spec.name,
        folder=str(folder),
        failures=failures,
        absent=sources.absent,
        results=results,
    )
