"""Two classes from the labels of rows: which one is positive, and the name of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from aucmax.data.bunch import Labels
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.readers import find_label
from aucmax.data.reading import Reading
from aucmax.data.transforms import binarize

__all__ = ["Classes", "classes_of", "halves", "positive_of"]

_MANY_LABELS = 20  # of which one may be meant to be positive
_HALVES = {  # the names of the two halves, the negative one first
    "even-odd": ("odd", "even"),
    "first-half": ("second half", "first half"),
    "random-halves": ("other half", "random half"),
}


class Classes(NamedTuple):
    """Rows in two classes.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n,)
        The positive rows.
    labels : (label, label)
        The negative and the positive label for a model.
    negative, positive : label
        The names of the classes in the file.
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
        """The positive label in ``y``."""
        return self.labels[1]

    @property
    def y(self) -> Labels:
        """The two labels, with the name of their column, shape (n,)."""
        return Labels(np.array(self.labels)[self.is_positive.astype(np.intp)], self.column)


def positive_of(labels: Sequence[Any], counts: Sequence[float] | np.ndarray) -> Any:
    """Return which of two labels is positive by default: the larger number, the rarer word.

    Parameters
    ----------
    labels : sequence
        In ascending order.
    counts : sequence
        The rows of each, or their weight. Of two equally frequent words the larger is positive.
    """
    words = any(isinstance(label, str) for label in labels)
    return labels[int(counts[1] <= counts[0])] if words else labels[1]


def classes_of(rows: Bunch, reading: Reading) -> Classes:
    """Divide rows into two classes as the arguments ``positive`` and ``binarize`` say.

    With more than two labels, one is ranked against the rest, which is called "not" that label.
    """
    if reading.binarize is not None:
        return halves(rows, reading.binarize)
    y, column = np.asarray(rows.target), rows.target_name
    path = rows.files[0] if len(rows.files) == 1 else rows.name
    different, counts = np.unique(y, return_counts=True)
    labels = different.tolist()
    listed = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    if len(labels) < 2:
        raise ValueError(
            f"{path}: all rows have the label {listed}; ranking needs rows of two classes."
        )
    if reading.positive is not None:
        try:
            label = find_label(y, reading.positive)
        except ValueError as error:
            raise ValueError(f"{path}: {error}.") from None
    elif len(labels) == 2:
        label = positive_of(labels, counts)
    else:
        what = f"{len(labels):,} different labels ({listed})"
        hint = (
            "name the one to rank first with positive=LABEL, against all others (or take halves "
            "of the labels with binarize='even-odd')"
        )
        few = len(labels) <= _MANY_LABELS
        some = {"positive": str(labels[int(np.argmin(counts))])} if few else None
        raise TableError(path, [Obstacle("labels", what, hint, remedy=some)], some)
    if len(labels) > 2:
        negative = f"not {label}"
        return Classes(y == label, (negative, str(label)), negative, label, column)
    negative = next(other for other in labels if other != label)
    by_count = reading.positive is None and isinstance(label, str) and counts[0] != counts[1]
    return Classes(y == label, (negative, label), negative, label, column, bool(by_count), True)


def halves(rows: Bunch, how: str) -> Classes:
    """Divide rows into two groups of labels, as the argument ``binarize`` says."""
    word, _, seed = how.partition(":")
    if word not in _HALVES or seed.isdigit() != (word == "random-halves"):
        raise ValueError(
            f"binarize={how!r}: must be even-odd, first-half or random-halves:SEED; for one "
            "label against the rest use positive=LABEL."
        )
    negative, positive = _HALVES[word]
    is_positive = binarize(rows.target, how) > 0
    return Classes(is_positive, (negative, positive), negative, positive, rows.target_name)
