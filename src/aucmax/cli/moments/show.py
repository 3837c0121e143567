"""``aucmax moments show``: the contents of a file of moments, as all its commands print them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from aucmax.basics.doors import postponed
from aucmax.cli import common
from aucmax.cli.like import steps_in
from aucmax.cli.moments.common import MomentsFile
from aucmax.cli.options import Json
from aucmax.data.decisions import Decision

with postponed():
    from aucmax.estimators.labelling import classes_behind
    from aucmax.estimators.written_steps import decisions_of
    from aucmax.report.moments import Moments
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.files import load_moments

__all__ = ["report_of", "show"]


def show(
    file: MomentsFile,
    top: Annotated[int, typer.Option(min=0, help="How many features to list.")] = 20,
    as_json: Json = False,
) -> None:
    """Show a file of moments: its classes, and the features that separate them best.

    Example:

        aucmax moments show a.moments --top 5
    """
    common.show(report_of(load_moments(file), file, top), as_json)


def report_of(
    held: ClassStatistics, path: Path, top: int = 0, decisions: list[Decision] | None = None
) -> Moments:
    """Return the report of moments; noise that was added to them would look like spread.

    What was decided about the table is by default what their steps say.
    """
    first = None
    if len(held.classes) == 2 and held.counts.all() and held.guarantee is None:
        first = classes_behind(held, None, path).positive
    decisions = decisions_of(steps_in(held, path)) if decisions is None else decisions
    return replace(Moments.of(held, path, top, first), decisions=decisions or None)
