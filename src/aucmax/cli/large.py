"""Options of the commands that read files in parts, and their messages about the passes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from aucmax.basics.doors import Door, postponed
from aucmax.basics.journal import key_of
from aucmax.basics.memory import Footprint
from aucmax.cli.errors import worded
from aucmax.cli.options import Scale, Transforms, given_file, reading_option
from aucmax.cli.screen import tell
from aucmax.data.files import Mark, files_of
from aucmax.data.obstacles import TableError
from aucmax.data.reading import Reading

with postponed():
    from aucmax.data.bunch import Bunch
    from aucmax.data.labelled import Labelled
    from aucmax.data.large_files import Plan
    from aucmax.data.rows.source import Source
    from aucmax.estimators.resuming import resumable

if TYPE_CHECKING:
    from aucmax.report.facts import Pass

__all__ = ["Large", "going_on", "passes_over"]

_facts = Door("aucmax.report.facts")
_preparation = Door("aucmax.estimators.preparation")


@dataclass(frozen=True, kw_only=True)
class Large(contextlib.AbstractContextManager[Any]):
    """Options of the commands that read files in parts, and what they mean."""

    footprint: ClassVar[Footprint] = Footprint(50, 650, 5)
    memory: str | None = reading_option(
        None,
        "Memory for the data, in addition to the program, such as 4GB; a file that needs more "
        "is read in parts, again for each pass over it. By default half of what the program "
        "leaves free.",
        metavar="SIZE",
    )
    dask: str | None = reading_option(
        None,
        "Read the file in parts on a Dask cluster: local (a process for each core of "
        'this machine) or the address of a scheduler (needs "aucmax\\[dask]").',
        metavar="WHERE",
    )

    @cached_property
    def plan(self) -> Plan:
        """How files are read, until the command ends."""
        return Plan(self.footprint, self.memory, self.dask)

    def __exit__(self, *error: Any) -> None:
        self.plan.__exit__(*error)

    def read(self, path: Any, reading: Reading, transforms: Transforms | None = None) -> Bunch:
        """Return the rows of a file in parts, behind the steps that a model needs."""
        self.warn(path, self.footprint.always, self.plan.rows_in(path, reading))
        if transforms is None:
            rows = self.plan.read(path, reading)
        else:
            rows = _preparation.in_parts(
                self.plan, path, reading, transforms.splines, transforms.scale.value
            )
        reason = self.plan.why if self.dask is None else f" by --dask {self.dask}"
        tell("note", f"{path} is read in parts{reason}")
        return rows

    def warn(self, name: Any, of_row: float, rows: int) -> None:
        """Warn, before rows are read, if a fit would keep more of them than memory allows."""
        if excess := self.plan.excess(of_row, rows):
            tell("warning", worded(f"{name}: {excess}"))

    def one_pass(self, path: Any, reading: Reading, transforms: Transforms) -> Source:
        """Return a file in parts, to be read once, whatever memory there is."""
        if reading.missing and not reading.prepare:
            self.plan.refuse(path, "missing", one_pass=True)
        if transforms.splines:
            self.plan.refuse(path, "splines", one_pass=True)
        if transforms.scale is not Scale.none:
            self.plan.refuse(path, "scale", one_pass=True)
        numbers = replace(reading, missing=False, text=False, dates=False)
        try:
            return self.plan.source(path, numbers, one_pass=True)
        except TableError as error:
            for obstacle in error.obstacles:
                if obstacle.column:
                    hint = "read the file without --one-pass, or leave the column out (--drop)"
                    obstacle.hint, obstacle.remedy = hint, {"drop": [obstacle.column]}
            raise TableError(error.path, error.obstacles) from None


@contextlib.contextmanager
def going_on(output: Path | None, data: str, rows: Labelled, *settings: Any) -> Iterator[None]:
    """Context of a fit to rows in parts, which resumes where an interrupted one stopped.

    Parameters
    ----------
    output : Path, optional
        The file of the model, beside which the fit stores its progress.
    data : str
        What the rows were read from.
    rows : Labelled
    *settings
        What determines the model.
    """
    if output is None or not rows.in_parts or (output.exists() and not output.is_file()):
        yield
        return
    path = output.with_name(f"{output.name}.partial")
    marks = [repr(Mark.of(file)) for file in files_of(given_file(data))]
    key = key_of({"files": marks, "settings": [*map(repr, settings)]})
    was_there = path.exists()
    with resumable(path, key, rows.X.counts) as trail:
        if was_there and trail.before:
            tell("note", f"continues from pass {trail.before} of an interrupted run ({path})")
        elif was_there:
            tell("note", f"starts afresh: {path} belongs to other data or settings")
        try:
            yield
        except (KeyboardInterrupt, typer.Exit, OSError, MemoryError):
            if path.exists():
                tell("note", f"the same command continues from pass {trail.passes} ({path})")
            raise


def passes_over(*data: Any) -> list[Pass] | None:
    """Return the passes over sources; None for rows in memory."""
    counts = [source.counts for source in data if isinstance(source, Source)]
    if not counts:
        return None
    return [
        _facts.Pass(
            place=place,
            passes=sum(each.passes[place] for each in counts),
            bytes=sum(each.read[place] for each in counts),
        )
        for place in dict.fromkeys(place for each in counts for place in each.passes)
    ]
