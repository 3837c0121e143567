"""Two classes from the labels of rows: which one is positive, and the name of the other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.errors import DataWarning
from aucmax.data.bunch import Bunch
from aucmax.data.columns import YesNo, labels_as, named, usual_labels
from aucmax.data.decisions import Decision
from aucmax.data.labelled import Labelled
from aucmax.data.obstacles import Obstacle, TableError
from aucmax.data.readers import find_label
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Source
from aucmax.data.strata import QUERY
from aucmax.data.transforms import binarize

__all__ = [
    "Classes", "classes_named", "classes_of", "labelled_for", "labelled_of", "of_usual_labels",
    "positive_of", "too_many_labels", "two_classes",
]  # fmt: skip

_STRAY_ROWS = 2  # a label with at most as many rows may be a slip
_MANY_LABELS = 20  # with more labels, none is suggested as positive
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
        The negative and the positive label for a model; text if one is ranked against all others.
    positive : label
        The positive label in the file, where several others may be negative.
    rarer : bool
        Whether the positive label was chosen as the rarer of the two.
    as_given : bool
        Whether the labels are those of the file.
    words : mapping
        How the file spells labels that are true and false.
    """

    labels: tuple[Any, Any]
    positive: Any
    rarer: bool = False
    as_given: bool = False
    words: Mapping[Any, str] = {}

    def shown(self, label: Any) -> Any:
        """Return a label as the file spells it."""
        return self.words.get(label, label)


def positive_of(labels: Sequence[Any], counts: Sequence[float] | np.ndarray | None = None) -> Any:
    """Return which of two labels is positive, unless the user names one.

    Of two numbers it is the larger. Of two words it is the rarer for commands, which read files and
    count the labels: what one looks for is usually rare, and the order of words means nothing. In
    Python it is the larger label of any kind, because scikit-learn's scorers, such as "roc_auc",
    treat ``classes_[1]``, the last in sort order, as positive.

    Parameters
    ----------
    labels : sequence
        In ascending order.
    counts : sequence, optional
        The number of rows with each label, or their weight, for the rule of commands. Of two
        equally frequent words the larger is positive.
    """
    if counts is None or not any(isinstance(label, str) for label in labels):
        return labels[1]
    return labels[int(counts[1] <= counts[0])]


def two_classes(labels: np.ndarray, positive: Any) -> np.ndarray:
    """Return the negative and the positive label of rows in Python.

    Parameters
    ----------
    labels : ndarray, shape (k,)
        All labels, in ascending order.
    positive : label, optional
        By default the one that `positive_of` chooses.
    """
    values = labels.tolist()
    if len(values) > 2:
        raise ValueError(too_many_labels(labels))
    if len(values) < 2:
        raise ValueError(
            f"y holds only one class ({values[0]!r}); ranking needs rows of two classes."
        )
    positive = positive_of(values) if positive is None else positive
    if positive not in values:
        raise ValueError(f"positive={positive!r} is not among the labels {values}.")
    return labels if positive == values[1] else labels[::-1].copy()


def too_many_labels(labels: np.ndarray) -> str:
    """Return the message for labels of more than two classes, in ascending order."""
    integral = labels.dtype.kind != "f" or bool((labels == np.rint(labels)).all())
    return (
        "Only binary classification is supported. The type of the target is "
        f"{'multiclass' if integral else 'continuous'}: y holds {len(labels)} labels; make one of "
        "them the positive class, for instance with y == label, or take MulticlassAUCClassifier."
    )


def classes_named(labels: np.ndarray, counts: np.ndarray, positive: Any, file: Any) -> Classes:
    """Return the two classes of labels in a file: ``positive`` against all others.

    Parameters
    ----------
    labels : ndarray, shape (k,)
        In ascending order.
    counts : ndarray, shape (k,)
        The number of rows with each label, or their weight.
    positive : label or str, optional
        As `find_label` takes it; of two labels, by default the one that `positive_of` chooses.
    file : path or str
        The name of the file in messages.
    """
    try:
        values = labels.tolist()
        label = positive_of(values, counts) if positive is None else find_label(labels, positive)
    except ValueError as error:
        raise ValueError(f"{file}: {error}.") from None
    if len(values) > 2:
        return Classes((f"not {label}", str(label)), label)
    negative = next((value for value in values if value != label), None)
    by_count = positive is None and isinstance(label, str) and counts[0] != counts[1]
    return Classes((negative, label), label, bool(by_count), as_given=True)


def labelled_of(rows: Bunch, reading: Reading) -> tuple[Labelled, Classes]:
    """Return rows that were read, divided into two classes by `classes_of`.

    Raises
    ------
    ValueError
        If there are not two classes, or if all rows of one have weight 0.
    """
    positive, classes = classes_of(rows, reading)
    y = np.array(classes.labels)
    X, columns = rows.data, rows.columns
    if isinstance(X, Source):
        columns = None if X.feature_names is None else tuple(named(X.feature_names, X.columns))
        as_given = classes.as_given and not rows.get("respelt")
        X = X if as_given else X.with_labels(y[positive.astype(np.intp)])
    labelled = Labelled(
        X, positive, rows.weight, y, rows.groups, rows.time, rows.get("strata"),
        _strata_name(rows, reading), columns=columns, target_name=rows.target_name, name=rows.name,
    )  # fmt: skip
    classes = classes._replace(words=rows.get("label_words") or {})
    return _weighing(labelled, _file_of(rows)), classes


def _spelt_as(y: np.ndarray, known: tuple[Any, Any]) -> np.ndarray:
    """Return labels (n,), spelt like the known label that they mean, if any."""
    labels, place = np.unique(y, return_inverse=True)
    return np.array(labels_as(labels.tolist(), [*map(str, known)]))[place]


def of_usual_labels(rows: Bunch, reading: Reading) -> Bunch:
    """Return rows in which labels that mean the same have one spelling, the most frequent one.

    These are labels that differ only in case, or labels that all mean yes or no.
    """
    y = np.asarray(rows.target)
    if not reading.prepare or y.dtype.kind not in "OU" or "respelt" in rows:
        return rows
    labels, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    names = labels.tolist()
    usual = usual_labels(dict(zip(names, counts.tolist(), strict=True)))
    if not usual:
        return Bunch(**(rows | {"respelt": False}))
    in_meaning = [name for name, word in usual.items() if name.casefold() != word.casefold()]
    odd, alike = [*in_meaning, *usual][0], "mean the same" if in_meaning else "differ only in case"
    finding = f"labels that {alike} are merged, such as {odd!r} and {usual[odd]!r}"
    y = np.array([usual.get(name, name) for name in names])[place]
    decisions = [*rows.decisions, Decision(rows.target_name or "", finding)]
    return Bunch(**(rows | {"target": y, "decisions": decisions, "respelt": True}))


def labelled_for(model_classes: Any, rows: Bunch, reading: Reading, name: str) -> Labelled:
    """Return rows in the two classes of a model, unless the arguments name others.

    Parameters
    ----------
    model_classes : ndarray, shape (2,)
        The negative and the positive label of the model.
    rows : Bunch
        What `read` returned, with labels.
    reading : Reading
        ``positive`` is ranked against all other labels; `binarize` replaces the labels.
    name : str
        What the rows are called in messages.

    Returns
    -------
    Labelled
        With the labels of the file: the positive one, and one of the others.

    Raises
    ------
    ValueError
        If the labels are not those of the model, or if all rows of a class have weight 0.
    """
    negative, positive = np.asarray(model_classes).tolist()
    y = np.asarray(rows.target)
    if reading.prepare and y.dtype.kind in "OU":
        y = _spelt_as(y, (negative, positive))
    if reading.binarize is not None:
        is_positive, halved = halves(rows, reading.binarize)
        y = np.array(halved.labels)[is_positive.astype(np.intp)]
    try:
        label = find_label(y, positive if reading.positive is None else reading.positive)
    except ValueError as error:
        raise ValueError(f"{name}: {error}; choose the positive one with positive=.") from None
    others = [value for value in np.unique(y).tolist() if value != label]
    if not others:
        raise ValueError(
            f"{name}: all rows have the label {label}; an AUC needs rows of two classes."
        )
    if reading.positive is not None and label == negative:
        message = f"the model ranks {positive} first, but is now evaluated for {label}"
        warnings.warn(message, DataWarning, stacklevel=2)
    one_against_all = reading.positive is not None or negative == f"not {positive}"
    if not one_against_all and others != [negative]:
        strange = next(value for value in others if value != negative)
        raise ValueError(
            f"{name}: the label {strange} is not one of the model's ({negative} and {positive}); "
            "say which label is positive with positive=LABEL."
        )
    classes = np.array([others[0], label])
    of_rows = {name: rows[name] for name in ("groups", "strata", "segments")}
    of_rows |= {"name": rows.name, "strata_name": _strata_name(rows, reading)}
    labelled = Labelled(rows.data, y == label, rows.weight, classes, **of_rows)
    return _weighing(labelled, name)


def _strata_name(rows: Bunch, reading: Reading) -> str | None:
    """Return the name of the column with the strata of rows; None if they have none."""
    return None if rows.get("strata") is None else reading.strata or QUERY


def _weighing(rows: Labelled, file: Any) -> Labelled:
    """Return rows unchanged; raise ValueError if all rows of a class have weight 0."""
    for positive, kind in ((True, "positive"), (False, "negative")):
        if not rows.weighs(positive):
            raise ValueError(f"{file}: all {kind} rows have the weight 0.")
    return rows


def _file_of(rows: Bunch) -> str:
    """Return the name in messages of rows that were read."""
    return rows.files[0] if len(rows.files) == 1 else rows.name


def classes_of(rows: Bunch, reading: Reading) -> tuple[np.ndarray, Classes]:
    """Divide rows into two classes as the arguments ``positive`` and ``binarize`` say.

    With more than two labels, one is ranked against the rest, which is called "not" that label.

    Returns
    -------
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    classes : Classes
        The names of the classes.
    """
    if reading.binarize is not None:
        return halves(rows, reading.binarize)
    y, path = np.asarray(of_usual_labels(rows, reading).target), _file_of(rows)
    labels, counts = np.unique(y, return_counts=True)
    listed = ", ".join(map(str, labels.tolist()[:5])) + (", …" if len(labels) > 5 else "")
    if len(labels) < 2:
        of_labels = [d for d in rows.decisions or () if d.column == rows.target_name]
        left_out = "".join(f" ({decision.what})" for decision in of_labels)
        raise ValueError(
            f"{path}: all rows have the label {listed}{left_out}; ranking needs rows of "
            "two classes."
        )
    if reading.positive is None and len(labels) > 2:
        column = "" if rows.target_name is None else f"column {rows.target_name!r} has "
        problem = f"{column}{len(labels):,} different labels ({listed})"
        hint = (
            "name the one to rank first with positive=LABEL, against all others (or take halves "
            "of the labels with binarize='even-odd')"
        )
        few = len(labels) <= _MANY_LABELS
        frequent = counts > _STRAY_ROWS  # rarer labels are more likely slips than the event
        rare = np.where(frequent, counts, len(y)) if frequent.sum() > 1 else counts
        yes = [label for label in map(str, labels.tolist()) if YesNo("").number(label)]
        rarest = str(labels.tolist()[int(np.argmin(rare))])
        one_of_them = few and len(yes) < 2  # else further words for yes would be negative
        remedy: dict[str, Any] = {"positive": [*yes, rarest][0]} if one_of_them else {}
        spelt = usual_labels(dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True)))
        if spelt:  # several spellings of a label, which were not merged
            first = " and ".join(map(repr, next(iter(spelt.items()))))
            hint += f"; prepare=True merges {first}"
            remedy = {"prepare": True, **(remedy if len(labels) - len(spelt) > 2 else {})}
        if few and frequent.sum() > 1 and not frequent.all():
            strays = " and ".join(map(repr, labels[~frequent].tolist()))
            strays += " (the last row's)" if y[-1] in labels[~frequent] else ""
            hint += f"; {strays} may be a slip, which would count as negative: correct or remove it"
        raise TableError(
            path, [Obstacle("labels", problem, hint, remedy=remedy or None)], remedy or None
        )
    classes = classes_named(labels, counts, reading.positive, path)
    return y == classes.positive, classes


def halves(rows: Bunch, how: str) -> tuple[np.ndarray, Classes]:
    """Divide rows into two groups of labels, as the argument ``binarize`` says."""
    word, _, seed = how.partition(":")
    if word not in _HALVES or seed.isdigit() != (word == "random-halves"):
        raise ValueError(
            f"binarize={how!r}: must be even-odd, first-half or random-halves:SEED; for one "
            "label against the rest use positive=LABEL."
        )
    return binarize(rows.target, how) > 0, Classes(_HALVES[word], _HALVES[word][1])
