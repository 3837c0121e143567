"""``aucmax demo``: rare events on one screen, computed as you watch.

No network, no number written in advance. With --files, it writes the tutorial's data instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aucmax.basics.doors import postponed
from aucmax.cli.common import show, working
from aucmax.cli.options import Html, Json
from aucmax.cli.paths import check_paths
from aucmax.cli.screen import say

with postponed():
    from aucmax.experiments.demo import computed
    from aucmax.experiments.payments import write_payments
    from aucmax.experiments.solver_gaps import computed_gaps

__all__ = ["demo"]


def demo(
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed of the rows, the splits and the solvers.")
    ] = 0,
    research: Annotated[
        bool,
        typer.Option("--research", help="Show each solver's distance to the true optimum instead."),
    ] = False,
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="Write card payments as a bank exports them to this folder instead: payments.csv, "
            "june.csv and july.csv.",
        ),
    ] = None,
    html: Html = None,
    as_json: Json = False,
) -> None:
    """Find rare events, with every number computed now.

    A tuned model compared with class-balanced logistic regression, in AUC and seconds; what a day's
    alerts are worth; a customer's rows deleted and three sites merged, exactly. Needs no network
    and no files.

    Examples:

        aucmax demo --seed 1 --html demo.html

        aucmax demo --files .
    """
    if files is not None:
        if research or html is not None or as_json:
            raise ValueError("--files writes no report; leave out --research, --html and --json.")
        for path in write_payments(files, seed):
            say(f"{path} written")
        return
    check_paths({"--html": html})
    with working("starting", as_json) as now:
        report = computed_gaps(seed, now) if research else computed(seed, now)
    show(report, as_json, html)
