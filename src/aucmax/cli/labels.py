"""Two classes out of the labels of a file: which is positive, and what the other is called."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from aucmax import datasets
from aucmax.cli.screen import tell
from aucmax.datasets.bunch import Labels
from aucmax.datasets.obstacles import Obstacle, TableError
from aucmax.datasets.reading import Reading

__all__ = ["Classes", "check_weights", "classes_of", "positives_for"]

_MANY_LABELS = 20  # of which one may be meant to be positive


class Classes(NamedTuple):
    """Rows in two classes.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n,)
        Which rows are.
    labels : (label, label)
        The negative and the positive one that a model is to see.
    negative, positive : label
        What the classes are called in the file.
    column : str or None
        The name of the labels.
    rarer : bool
        Whether the positive label was chosen as the rarer of the two.
    as_given : bool
        Whether the labels are those of the file.
    """

    is_positive: np.ndarray
    labels: tuple[Any, Any]
    negative: Any
    positive: Any
    column: str | None
    rarer: bool = False
    as_given: bool = False

    @property
    def positive_label(self) -> Any:
        """The positive label as ``y`` has it."""
        return self.labels[1]

    @property
    def y(self) -> Labels:
        """Two labels, named by their column, shape (n,)."""
        return Labels(np.array(self.labels)[self.is_positive.astype(np.intp)], self.column)


def classes_of(source: Bunch, reading: Reading) -> Classes:
    """Divide rows into two classes as the options say.

    Of more than two labels one is against the rest, which is called "not" that one. Without
    ``--positive`` the larger of two numbers is positive, and the rarer of two words.
    """
    if reading.binarize is not None:
        return _halves(source, reading.binarize)
    y, positive = np.asarray(source.target), reading.positive
    path = source.files[0] if len(source.files) == 1 else source.name
    found, counts = np.unique(y, return_counts=True)
    labels = found.tolist()
    listed = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    if len(labels) < 2:
        raise ValueError(
            f"{path}: all rows have the label {listed}; ranking needs rows of two classes."
        )
    if positive is None and len(labels) > 2:
        what = f"{len(labels):,} different labels ({listed})"
        hint = (
            "name the one to rank first with --positive LABEL, against all others (or take halves "
            "of the labels with --binarize even-odd)"
        )
        few = len(labels) <= _MANY_LABELS
        some = {"positive": str(labels[int(np.argmin(counts))])} if few else None
        raise TableError(path, [Obstacle("labels", what, hint, remedy=some)], some)
    words = positive is None and y.dtype.kind not in "iufb"
    if positive is None:
        # of two that are equally frequent the larger
        label = labels[int(counts[1] <= counts[0]) if words else 1]
    else:
        label = _found(y, positive, path)
    rarer = words and bool(counts[0] != counts[1])
    if len(labels) > 2:
        negative: Any = f"not {label}"
        called = negative, str(label)
    else:
        negative = next(other for other in labels if other != label)
        called = negative, label
    as_given = len(labels) == 2
    return Classes(y == label, called, negative, label, source.target_name, rarer, as_given)


def _found(y: np.ndarray, label: Any, path: Any, hint: str = ".") -> Any:
    """A label as the rows have it; ValueError where they do not."""
    try:
        return datasets.find_label(y, label)
    except ValueError as error:
        raise ValueError(f"{path}: {error}{hint}") from None


def _halves(source: Bunch, binarize: str) -> Classes:
    """Two groups of labels, as --binarize says it."""
    word, _, seed = binarize.partition(":")
    named: dict[str, tuple[Any, str, str]] = {
        "even-odd": (binarize, "odd", "even"),
        "first-half": (binarize, "second half", "first half"),
    }
    if word == "random-halves" and seed.isdigit():
        named[binarize] = ((word, int(seed)), "other half", "random half")
    if binarize not in named:
        raise ValueError(
            f"--binarize {binarize}: must be even-odd, first-half or random-halves:SEED; for one "
            "label against the rest use --positive LABEL."
        )
    how, negative, positive = named[binarize]
    is_positive = datasets.binarize(source.target, how) > 0
    return Classes(is_positive, (negative, positive), negative, positive, source.target_name)


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
        y = np.asarray(_halves(rows, reading.binarize).y)
    labels = np.unique(y).tolist()
    wanted = positive if reading.positive is None else reading.positive
    label = _found(y, wanted, data, "; choose the positive one with --positive.")
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
