"""Options that the commands on moments share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["MIN_ROWS", "Align", "MinRows", "MomentsFile", "Out"]

MIN_ROWS = 10  # as in `aucmax.statistics.disclosure`
MomentsFile = Annotated[
    Path, typer.Argument(metavar="MOMENTS", help="Written by 'aucmax moments build' or the others.")
]
Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where to save the moments.")
]
Align = Annotated[
    bool,
    typer.Option(
        "--align", help="Put features that have the same names in the order of the first file."
    ),
]
MinRows = Annotated[
    int,
    typer.Option(
        "--min-rows",
        min=1,
        help="Minimum number of rows of a class, or with one value of a 0/1 feature: with fewer "
        "the file could reveal a row, and is not written. 1 allows all.",
    ),
]
