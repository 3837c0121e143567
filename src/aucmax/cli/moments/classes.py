"""Which class of moments is positive, and what moments tell of an AUC."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aucmax.cli.common import counted
from aucmax.datasets import find_label
from aucmax.metrics import MomentAUC
from aucmax.report.text import auc_text
from aucmax.statistics.base import ClassStatistics

__all__ = ["auc_known", "auc_words", "two_classes"]


def two_classes(
    held: ClassStatistics, positive: str | None, path: Path
) -> tuple[ClassStatistics, Any]:
    """Return moments of two classes, and the positive label, chosen as `classes_of` does."""
    labels, counts = held.classes.tolist(), held.counts
    if positive is None:
        if len(labels) != 2:
            raise ValueError(
                f"{path}: has {counted(len(labels), 'label')} ({', '.join(map(str, labels[:5]))}); "
                "a model needs two, or one against all others: name it with --positive LABEL."
            )
        words = held.classes.dtype.kind not in "iufb"
        return held, labels[int(counts[1] <= counts[0]) if words else 1]
    try:
        label = find_label(held.classes, positive)
    except ValueError as error:
        raise ValueError(f"{path}: {error}.") from None
    if len(labels) > 2:
        held = held.relabelled([str(one) if one == label else f"not {label}" for one in labels])
        label = str(label)
    return held, label


def auc_known(found: MomentAUC) -> dict[str, Any]:
    """Return what moments tell of an AUC, as reports have it."""
    return {"if_normal": found.binormal, "at_least": found.low, "at_most": found.high}


def auc_words(known: dict[str, Any]) -> tuple[str, str]:
    """Return the estimate, and the bound, of `auc_known` in words."""
    low, high = known["at_least"], known["at_most"]
    bound = f"{auc_text(low)} or more" if low > 0.0 else f"{auc_text(high)} or less"
    return auc_text(known["if_normal"]), bound
