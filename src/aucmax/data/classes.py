"""Two classes from the labels of rows: which one is positive, and the name of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from aucmax.data.columns import named
from aucmax.data.labelled import Labelled
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.readers import find_label
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Source
from aucmax.data.transforms import binarize

__all__ = ["Classes", "classes_of", "halves", "labelled_of", "positive_of"]

_MANY_LABELS = 20  # of which one may be meant to be positive
_HALVES = {  # the names of the two halves, the negative one first
    "even-odd": ("odd", "even"),
    "first-half": ("second half", "first half"),
    "random-halves": ("other half", "random half"),
}


class Classes(NamedTuple):
    """The two classes of the rows of a file.

    Parameters
    ----------
    labels : (label, label)
        The negative and the positive label for a model.
    positive : label
        The positive one in the file, where several others may be negative.
    rarer : bool
        Whether the positive label was chosen as the rarer of the two.
    as_given : bool
        Whether the labels are those of the file.
    """

    labels: tuple[Any, Any]
    positive: Any
    rarer: bool = False
    as_given: bool = False

    @property
    def negative(self) -> Any:
        """The negative label, or a name of all others than the positive one."""
        return self.labels[0]


def positive_of(labels: Sequence[Any], counts: Sequence[float] | np.ndarray | None = None) -> Any:
    """Return which of two labels is positive, unless the user names one.

    It is the larger number. Of two words it is the rarer for commands, which read files and count
    what they read: what is looked for is rare, and the order of words means nothing. In Python it
    is the larger label of any kind, because scikit-learn's scorers, such as "roc_auc", take
    ``classes_[1]``, the last in sort order, for positive.

    Parameters
    ----------
    labels : sequence
        In ascending order.
    counts : sequence, optional
        The rows of each, or their weight, for the rule of commands. Of two equally frequent words
        the larger is positive.
    """
    if counts is None or not any(isinstance(label, str) for label in labels):
        return labels[1]
    return labels[int(counts[1] <= counts[0])]


def labelled_of(rows: Bunch, reading: Reading) -> tuple[Labelled, Classes]:
    """Return rows that were read as rows of two classes, as `classes_of` divides them."""
    positive, classes = classes_of(rows, reading)
    y = np.array(classes.labels)
    X, columns = rows.data, rows.columns
    if isinstance(X, Source):
        columns = None if X.feature_names is None else tuple(named(X.feature_names, X.columns))
        X = X if classes.as_given else X.with_labels(y[positive.astype(np.intp)])
    return Labelled(
        X, positive, rows.weight, y, rows.groups, rows.time, columns, rows.target_name, rows.name
    ), classes


def classes_of(rows: Bunch, reading: Reading) -> tuple[np.ndarray, Classes]:
    """Divide rows into two classes as the arguments ``positive`` and ``binarize`` say.

    With more than two labels, one is ranked against the rest, which is called "not" that label.

    Returns
    -------
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    classes : Classes
        What the classes are called.
    """
    if reading.binarize is not None:
        return halves(rows, reading.binarize)
    y = np.asarray(rows.target)
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
        return y == label, Classes((f"not {label}", str(label)), label)
    negative = next(other for other in labels if other != label)
    by_count = reading.positive is None and isinstance(label, str) and counts[0] != counts[1]
    return y == label, Classes((negative, label), label, bool(by_count), as_given=True)


def halves(rows: Bunch, how: str) -> tuple[np.ndarray, Classes]:
    """Divide rows into two groups of labels, as the argument ``binarize`` says."""
    word, _, seed = how.partition(":")
    if word not in _HALVES or seed.isdigit() != (word == "random-halves"):
        raise ValueError(
            f"binarize={how!r}: must be even-odd, first-half or random-halves:SEED; for one "
            "label against the rest use positive=LABEL."
        )
    return binarize(rows.target, how) > 0, Classes(_HALVES[word], _HALVES[word][1])
