"""The positive class of moments, and the AUC that moments imply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from aucmax.data.classes import positive_of
from aucmax.datasets import find_label
from aucmax.metrics import moment_auc
from aucmax.report.facts import AUCOfMoments
from aucmax.report.text import counted
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.moments import ClassMoments

__all__ = ["auc_of", "two_classes"]


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
