"""What the commands on moments share: options, the positive class, and the AUC they imply."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.data.classes import positive_of
from aucmax.datasets import find_label
from aucmax.metrics import moment_auc
from aucmax.report.facts import AUCOfMoments
from aucmax.report.text import counted
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.moments import ClassMoments

__all__ = ["Align", "Like", "MinRows", "MomentsFile", "Out", "auc_of", "two_classes"]

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
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="MODEL",
        help="Use the columns of this model, with its encoding of text, gaps and dates.",
    ),
]


def two_classes(held: ClassStatistics, positive: object, path: Path) -> tuple[ClassStatistics, Any]:
    """Return moments of two classes, and the positive label, chosen as `classes_of` does."""
    labels, counts = held.classes.tolist(), held.counts
    if positive is None:
        if len(labels) != 2:
            raise ValueError(
                f"{path}: has {counted(len(labels), 'label')} ({', '.join(map(str, labels[:5]))}); "
                "a model needs two, or one against all others: name it with --positive LABEL."
            )
        return held, positive_of(labels, counts)
    try:
        label = find_label(held.classes, positive)
    except ValueError as error:
        raise ValueError(f"{path}: {error}.") from None
    if len(labels) > 2:
        held = held.relabelled([str(one) if one == label else f"not {label}" for one in labels])
        label = str(label)
    return held, label


def auc_of(held: ClassStatistics | None, w: np.ndarray, positive: Any) -> AUCOfMoments | None:
    """Return the AUC that moments imply for the scores w·x of their rows; None if unknown."""
    if not isinstance(held, ClassMoments) or held.guarantee is not None:
        return None
    gap = w @ (held.mean_pos - held.mean_neg)
    variance = w @ (held.cov_pos + held.cov_neg) @ w
    return AUCOfMoments.of(moment_auc(gap if positive == held.classes[1] else -gap, variance))
