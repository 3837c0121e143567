"""Which rows are positive for a model, and whether their weights tell the two classes apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from aucmax.cli.screen import tell
from aucmax.datasets.classes import halves
from aucmax.datasets.readers import find_label
from aucmax.datasets.reading import Reading

__all__ = ["check_weights", "positives_for"]


def positives_for(model: Any, data: Any, rows: Bunch, reading: Reading) -> tuple[np.ndarray, Any]:
    """Return which rows are positive for a model, and the positive label in the file.

    Parameters
    ----------
    model : estimator
        Fitted.
    data : path or str
        What the rows are called in messages.
    rows : Bunch
        What `rows_for` gives, with labels.
    reading : Reading
        What the options say.

    Raises
    ------
    ValueError
        The labels are not those of the model, or all rows of a class weigh nothing.
    """
    negative, positive = np.asarray(model.classes_).tolist()
    y = np.asarray(rows.target)
    if reading.binarize is not None:
        y = np.asarray(halves(rows, reading.binarize).y)
    labels = np.unique(y).tolist()
    wanted = positive if reading.positive is None else reading.positive
    try:
        label = find_label(y, wanted)
    except ValueError as error:
        hint = "; choose the positive one with --positive."
        raise ValueError(f"{data}: {error}{hint}") from None
    others = [other for other in labels if other != label]
    if not others:
        raise ValueError(
            f"{data}: all rows have the label {label}; an AUC needs rows of two classes."
        )
    if reading.positive is not None and label == negative:
        tell("warning", f"the model ranks {positive} first, and is now measured for {label}")
    rest = negative == f"not {positive}"
    if reading.positive is None and not rest and others != [negative]:
        strange = next(other for other in others if other != negative)
        raise ValueError(
            f"{data}: the label {strange} is none of the model's ({negative} and {positive}); "
            "say which label is positive with --positive LABEL."
        )
    check_weights(rows.weight, y == label, data)
    return y == label, label


def check_weights(weight: np.ndarray | None, is_positive: np.ndarray, data: Any) -> None:
    """Raise ValueError where all rows of a class weigh nothing."""
    if weight is None:
        return
    for rows, kind in ((is_positive, "positive"), (~is_positive, "negative")):
        if not weight[rows].any():
            raise ValueError(f"{data}: all {kind} rows have the weight 0.")
