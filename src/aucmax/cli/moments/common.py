"""Options that the commands on moments share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aucmax.basics.doors import postponed

with postponed():
    import numpy as np

    from aucmax.data.bunch import Bunch
    from aucmax.solvers import Exact
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.diagonal import DiagonalMoments
    from aucmax.statistics.moments import ClassMoments

__all__ = [
    "MIN_ROWS", "Align", "Kept", "MinRows", "MomentsFile", "Out", "check_memory", "kind_of",
]  # fmt: skip

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
        "--align", help="Put features with the same names in the order of the first file."
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


class Kept(StrEnum):
    """How covariances are kept."""

    full = "full"
    diagonal = "diagonal"


def kind_of(covariance: Kept) -> type[ClassStatistics]:
    """Return the class of moments that keep this of covariances."""
    return ClassMoments if covariance is Kept.full else DiagonalMoments


def check_memory(empty: ClassStatistics, rows: Bunch) -> None:
    """Raise ValueError if covariances would not fit in memory."""
    labels, d = len(np.unique(rows.target)), rows.data.shape[1]
    size = empty.nbytes(d) * labels / 2
    if size > Exact.max_moment_bytes:
        raise ValueError(
            f"{rows.name}: the covariances of {d:,} features and {labels} labels would take "
            f"{size / 1e9:.1f} GB; keep only variances, with --covariance diagonal."
        )
