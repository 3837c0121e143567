"""From the words of a command line to rows for a model.

`labelled_rows` opens a file or a data set known by name for a command that learns: two classes, and
only numeric columns. `rows_for` opens one for a model, which determines the columns and labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import Normalizer
from sklearn.utils import Bunch, _safe_indexing

from aucmax import datasets
from aucmax.basics.checks import LARGEST
from aucmax.cli.common import counted, working
from aucmax.cli.large import Large
from aucmax.cli.options import Scale, Transforms, given_file
from aucmax.cli.screen import tell
from aucmax.columns import SplineFeatures, TableEncoder
from aucmax.columns.steps import parts_of, transformed
from aucmax.data.bunch import Labels, frame
from aucmax.data.classes import Classes, classes_of, halves
from aucmax.data.columns import columns_in
from aucmax.data.large_files import take
from aucmax.data.obstacles import TableError
from aucmax.data.readers import find_label, reader_of, rows_of
from aucmax.data.reading import Reading
from aucmax.data.rows.source import Source, ahead
from aucmax.data.scanning import read_parts
from aucmax.estimators.folds import Folding, Pairs
from aucmax.estimators.inputs import Inputs, inputs_of
from aucmax.estimators.sampled import sample_of_classes
from aucmax.metrics.scored import Scored
from aucmax.report.facts import TrainingRows

__all__ = [
    "PART_BYTES",
    "LabelledRows",
    "encoding_of",
    "labelled_columns",
    "labelled_rows",
    "parts_for",
    "plain_rows",
    "positives_for",
    "rows_for",
]

PART_BYTES = 1 << 26  # of a file, above which `plain_rows` and `parts_for` read it in parts
_MAX_USUAL_CATEGORIES = 1000  # of one column, that are worth a word


@dataclass(frozen=True)
class LabelledRows:
    """Rows of two classes, and the transformers in front of a model that learns from them.

    Parameters
    ----------
    source : Bunch
        What was read.
    classes : Classes
        Their labels.
    weight_name : str or None
        The column of the rows' weights.
    steps : list of (str, transformer)
        Fitted: what turns the columns into the numbers of ``X``.
    X : ndarray or csr_matrix, shape (n, d)
        The rows as numbers.
    """

    source: Bunch
    classes: Classes
    weight_name: str | None
    steps: list[tuple[str, Any]]
    X: Any

    @property
    def name(self) -> str:
        """The name of the rows."""
        return self.source.name

    @property
    def in_parts(self) -> bool:
        """Whether the rows are read in parts."""
        return isinstance(self.X, Source)

    @property
    def weight(self) -> np.ndarray | None:
        """Of the rows, shape (n,)."""
        return self.source.weight

    @property
    def folding(self) -> Folding:
        """The way in which the rows may be split."""
        return Folding(self.source.groups, self.source.time, self.weight)

    @property
    def y(self) -> Labels:
        """The two labels, with the name of their column, shape (n,)."""
        return self.classes.y

    @property
    def is_positive(self) -> np.ndarray:
        """Which rows are positive, shape (n,)."""
        return self.classes.is_positive

    @property
    def rarest(self) -> int:
        """The number of rows of the rarer class, without those of weight 0."""
        counted = True if self.weight is None else self.weight > 0.0
        return int(min((self.is_positive & counted).sum(), (~self.is_positive & counted).sum()))

    def folds(self, folds: int, seed: int, rounds: int) -> Pairs:
        """Return the rows of the folds; raise ValueError if a training part lacks a class."""
        try:
            parts = self.folding.folds(self.is_positive, folds, seed, rounds)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        for k, (train, _) in enumerate(parts, 1):
            if len(np.unique(self.is_positive[train])) < 2:
                raise ValueError(
                    f"{self.name}: the training rows of fold {k} of {folds} are of only one class, "
                    f"with folds {self.folding.words}."
                )
        return parts

    def scored(self, rows: np.ndarray, score: np.ndarray) -> Scored:
        """Return some rows as a test set: which are positive, their scores and their weights."""
        weight = None if self.weight is None else self.weight[rows]
        return Scored(self.is_positive[rows], score, weight)

    def given(self) -> tuple[Any, Labels | None, np.ndarray | None]:
        """Return the arguments of a fit: rows, labels and weights, or a source that has all."""
        if self.in_parts and self.classes.as_given:
            return self.X, None, None
        return self.named(), self.y, self.weight

    def sample(self) -> np.ndarray:
        """Return the numbers of rows of a file in parts that fit in memory together."""
        return sample_of_classes(self.is_positive, self.source.room.rows)

    def thinned(self) -> LabelledRows:
        """Return this sample, in memory."""
        rows = self.sample()
        X = take(self.source, rows)
        weight = None if self.weight is None else self.weight[rows]
        # with names they would be copied into a table
        plain = {"data": X, "weight": weight, "columns": None}
        source = Bunch(**{**self.source, **plain})
        classes = self.classes._replace(is_positive=self.is_positive[rows])
        return LabelledRows(source, classes, self.weight_name, [], X)

    def named(self) -> Any:
        """The rows for the fit: the columns by name, or the output of the steps."""
        return self.X if self.steps or self.in_parts else frame(self.source)

    def whole(self, model: Any) -> Any:
        """The fitted model and its steps in one pipeline."""
        if not self.steps:
            return model
        from sklearn.pipeline import Pipeline

        return Pipeline([*self.steps, ("model", model)])

    def facts(self) -> TrainingRows:
        """Return the facts about the data that every report has."""
        return TrainingRows(
            data=self.name,
            rows=len(self.is_positive),
            features=self.source.n_features if not self.steps else int(self.X.shape[1]),
            columns=self.source.n_features,
            positives=int(self.is_positive.sum()),
            positive=self.classes.positive,
            positive_is="rarer" if self.classes.rarer else None,
            negative=self.classes.negative,
            weight=self.weight_name,
        )


# ---- for a command that learns


def labelled_rows(
    data: str,
    reading: Reading,
    transforms: Transforms,
    quiet: bool = False,
    large: Large | None = None,
) -> LabelledRows:
    """Open a file, or a data set by name, as two classes of rows of numbers.

    Parameters
    ----------
    data : str
        A path, ``-`` for standard input, or a name or alias that `datasets.names` knows; a file
        goes first.
    reading : Reading
        The options.
    transforms : Transforms
        The transforms of the columns.
    quiet : bool
        Do not show that a file is read.
    large : Large, optional
        How large files are read.

    Raises
    ------
    ValueError
        There is no such file or data set, or it does not hold two classes.
    """
    if reading.groups is not None and reading.time is not None:
        raise ValueError("--groups and --time split the rows in different ways; give only one.")
    with working(f"reading {given_file(data).name}", quiet):
        path = given_file(data)
        if large is not None and large.plan.takes(path, reading):
            source = large.read(path, _with_own_labels(reading), transforms)
        else:
            source = _of_two_classes(data, reading)
        rows = _labelled(data, source, reading)
        if rows.in_parts:
            return rows
        steps, X = _steps(source, reading, transforms)
        return replace(rows, steps=steps, X=X)


def labelled_columns(data: str, reading: Reading, quiet: bool = False) -> LabelledRows:
    """Open a file, or a data set by name, as two classes of rows with unchanged columns.

    Parameters
    ----------
    data, reading, quiet
        As for `labelled_rows`, whose errors it raises.
    """
    path = given_file(data)
    with working(f"reading {path.name}", quiet):
        tabular = reader_of(path, reading.format).columns is not None
        anything = dict.fromkeys(("text", "missing", "dates"), True) if tabular else {}
        source = _of_two_classes(data, reading, **anything)
        return _labelled(data, source, reading)


def _labelled(data: str, source: Bunch, reading: Reading) -> LabelledRows:
    classes = classes_of(source, reading)
    check_weights(source.weight, classes.is_positive, data)
    return LabelledRows(source, classes, reading.weight, [], source.data)


def plain_rows(data: str, reading: Reading, n_features: int | None = None) -> Iterator[Bunch]:
    """Yield the rows of a file, or a data set by name, as numbers with their own labels.

    A large file is read in parts, and a part of svmlight text may lack the last features.

    Parameters
    ----------
    data, reading
        As for `labelled_rows`, whose errors it raises.
    n_features : int, optional
        Number of features to which rows of an svmlight file are padded.
    """
    for rows in _parts(data, reading, n_features=n_features):
        _check_sizes(rows.data, rows.feature_names, rows.name)
        yield rows


def _parts(data: Any, reading: Reading, **more: Any) -> Iterator[Bunch]:
    """The rows of a file, in parts where it is large, or of a data set known by name."""
    path = given_file(data)
    if isinstance(path, Path) and path.is_file() and path.stat().st_size > PART_BYTES:
        return ahead(read_parts(path, PART_BYTES, replace(reading, **more)))
    return iter([_opened(data, reading, **more)])


def _opened(data: Any, reading: Reading, **more: Any) -> Bunch:
    """The rows of a file, or of a data set known by name; ``more`` is not of the options."""
    path, reading = given_file(data), _with_own_labels(reading)
    if isinstance(path, Path) and not path.exists():
        try:
            datasets.about(str(data))
        except ValueError as error:
            if not path.suffix and len(path.parts) == 1:
                raise ValueError(f"{data}: there is no such file, and {error}") from None
        else:
            for name in reading.given():
                raise ValueError(f"{name}= is for files; {data} is a data set known by name.")
            return datasets.load(str(data))
    return rows_of(path, replace(reading, **more))


def _with_own_labels(reading: Reading) -> Reading:
    """The same with the labels of the file, of which all tell what the two classes are called."""
    return replace(reading, positive=None, binarize=None)


def _of_two_classes(data: Any, reading: Reading, **more: Any) -> Bunch:
    """The rows of a file, or of a data set; an error also says what is wrong with their labels."""
    try:
        return _opened(data, reading, **more)
    except TableError as error:
        raise _with_labels(error, reading) from None


def _with_labels(error: TableError, reading: Reading) -> TableError:
    """The same error, with what is wrong with the labels added."""
    if error.found is None or error.found.target is None:
        return error
    try:
        classes_of(error.found, reading)
    except TableError as other:
        remedy = {**(error.remedy or {}), **(other.remedy or {})}
        return TableError(error.path, [*error.obstacles, *other.obstacles], remedy, error.found)
    except ValueError:  # said once the table is read
        pass
    return error


def _steps(
    source: Bunch, reading: Reading, transforms: Transforms
) -> tuple[list[tuple[str, Any]], Any]:
    """Fit the transformers that a model needs in front, and apply them."""
    steps: list[tuple[str, Any]] = []
    X, names = source.data, source.feature_names
    columns = source.columns or ()
    if reading.missing or any(column.is_text or column.is_days for column in columns):
        for j, column in enumerate(columns):
            if column.is_text and column.name not in reading.categories:
                _tell_of_many(X[:, j], column.name)
        encoder = TableEncoder(bool(reading.missing))
        X = _fitted_to(encoder, frame(source), source.weight)
        names = encoder.get_feature_names_out()
        steps.append(("columns", encoder))
    _check_sizes(X, names, source.name)
    named = X if steps else frame(source)
    if transforms.splines:
        splines = SplineFeatures()
        X = named = _fitted_to(splines, named, source.weight)
        steps.append(("splines", splines))
    if transforms.scale is not Scale.none:
        norm = Normalizer().fit(named)
        norm.columns_ = columns_in(named)
        X = datasets.scale(X, transforms.scale.value)
        steps.append(("unit_norm", norm))
    return steps, X


def _fitted_to(step: Any, rows: Any, weight: np.ndarray | None) -> Any:
    """Fit a step to the rows that have weight, and apply it to all."""
    if weight is None or weight.all():
        return step.fit_transform(rows)
    return step.fit(_safe_indexing(rows, np.flatnonzero(weight))).transform(rows)


def _tell_of_many(values: np.ndarray, name: str) -> None:
    """Warn of a column with very many categories."""
    different = len({value for value in values if isinstance(value, str)})
    if different > _MAX_USUAL_CATEGORIES:
        tell(
            "warning",
            f"column {name!r} has {different:,} different values and becomes as many features; "
            f"leave it out with --drop {name!r}, or say that you mean it with --category {name!r}",
        )


def _check_sizes(X: Any, names: Any, file: str) -> None:
    """Raise ValueError for values too large for a fit, with the column of the file."""
    ends = [X.max(axis=0), -X.min(axis=0)]
    size = np.max([end.toarray().ravel() if hasattr(end, "nnz") else end for end in ends], axis=0)
    j = int(np.argmax(size))
    if size[j] > LARGEST:
        name = f"feature {j + 1}" if names is None else f"column {str(names[j])!r}"
        raise ValueError(
            f"{file}: {name} has values as large as {size[j]:.1e}, whose powers overflow; divide "
            "them by a constant."
        )


def check_weights(weight: np.ndarray | None, is_positive: np.ndarray, data: Any) -> None:
    """Raise ValueError if all rows of a class have weight 0."""
    if weight is None:
        return
    for rows, kind in ((is_positive, "positive"), (~is_positive, "negative")):
        if not weight[rows].any():
            raise ValueError(f"{data}: all {kind} rows have the weight 0.")


# ---- for a model


def rows_for(
    model: Any, data: Any, reading: Reading, *, labels: str, large: Large | None = None
) -> Bunch:
    """Open rows for a model: its features by name if it has names, else by position.

    Parameters
    ----------
    model : estimator
        Fitted.
    data : path or str
        As for `labelled_rows`.
    reading : Reading
        What the options say; the label column is by default the one the model was trained on.
    labels : {"required", "none"}
        As for `datasets.read`.
    large : Large, optional
        What is read in parts, and where, for a model without steps.

    Returns
    -------
    Bunch
        That of `datasets.read`, its ``data`` in the form that the model takes.
    """
    inputs = inputs_of(model)
    more = _wanted(model, inputs, reading) | {"labels": labels}
    path = given_file(data)
    if large is not None and large.plan.takes(path, reading):
        if not hasattr(model, "steps"):
            return large.read(path, replace(_with_own_labels(reading), **more))
        if large.dask is not None:
            raise ValueError("--dask is for models without steps in front, but this one has some.")
    return _for_model(_opened(data, reading, **more), inputs, data)


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
        tell("warning", f"the model ranks {positive} first, but is now measured for {label}")
    rest = negative == f"not {positive}"
    if reading.positive is None and not rest and others != [negative]:
        strange = next(other for other in others if other != negative)
        raise ValueError(
            f"{data}: the label {strange} is none of the model's ({negative} and {positive}); "
            "say which label is positive with --positive LABEL."
        )
    check_weights(rows.weight, y == label, data)
    return y == label, label


def parts_for(model: Any, data: Any, reading: Reading) -> Iterator[Bunch]:
    """Yield rows with labels as `rows_for` does, those of a large file in parts."""
    inputs = inputs_of(model)
    for rows in _parts(data, reading, **_wanted(model, inputs, reading)):
        yield _for_model(rows, inputs, data)


def _wanted(model: Any, inputs: Inputs, reading: Reading) -> dict[str, Any]:
    """The arguments of `datasets.read` for what a model takes in."""
    if reading.target is not None:
        return dict(inputs.arguments)
    last = model[-1] if hasattr(model, "steps") else model
    return inputs.arguments | {"target": getattr(last, "target_name_", None)}


def _for_model(rows: Bunch, inputs: Inputs, data: Any) -> Bunch:
    """Return the rows in the form a model needs; raise ValueError if its features are missing."""
    wanted = inputs.arguments["n_features"]
    if rows.n_features != wanted or (inputs.arguments["columns"] and not rows.feature_names):
        raise ValueError(
            f"{data}: has {counted(rows.n_features, 'feature')} without names, but the model was "
            f"trained on other columns ({wanted:,})."
        )
    rows.data = inputs.given(rows)
    return rows


def encoding_of(model: Any) -> Any:
    """Return what turns the rows that a model takes into numbers, for another model to learn from.

    Parameters
    ----------
    model : estimator
        Fitted; of its steps only those are wanted that encode columns, or scale rows to unit norm.
    """
    steps, _ = parts_of(model)
    if steps and (steps[0].encodes or inputs_of(model).frame):
        return partial(transformed, steps)
    return np.asarray if inputs_of(model).arguments["columns"] else lambda X: X
