"""The checks of rows, labels and weights in every fit, and the names that it records."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from aucmax.basics.checks import refuse_collections, refuse_odd_labels, refuse_sizes, sample_weights
from aucmax.data.classes import Classes, classes_named, two_classes
from aucmax.data.columns import columns_in, named, other_than_numbers, usual_labels
from aucmax.data.labelled import Labelled
from aucmax.data.rows import as_rows
from aucmax.data.rows.source import Source, opened
from aucmax.data.rows.store import InMemory
from aucmax.estimators.survey import survey
from aucmax.statistics.base import ClassStatistics, Statistics
from aucmax.statistics.diagonal import DiagonalMoments

__all__ = [
    "check_some_weight", "checked", "classes_behind", "input_names", "labelled_rows",
    "of_two_classes", "of_usual_labels", "record_names", "restore_names", "unchanged_on_error",
    "with_names_of",
]  # fmt: skip

# the attributes that a fit records of its input
_NO_WEIGHT = "sample_weight is zero for every row; give some rows a weight."
_NAMES = ("n_features_in_", "feature_names_in_", "columns_", "target_name_")


def input_names(model: Any) -> dict[str, Any]:
    """Return the attributes in which a fit recorded its input."""
    return {name: model.__dict__[name] for name in _NAMES if name in model.__dict__}


def restore_names(model: Any, names: dict[str, Any]) -> None:
    """Set the attributes that `input_names` returned on a model, and remove the others."""
    for name in _NAMES:
        model.__dict__.pop(name, None)
    model.__dict__.update(names)


@contextmanager
def unchanged_on_error(model: Any) -> Iterator[None]:
    """Restore the recorded attributes of a model if a block fails."""
    names = input_names(model)
    try:
        yield
    except BaseException:
        restore_names(model, names)
        raise


def labelled_rows(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    empty: ClassStatistics | None = None,
    max_features: float = np.inf,
    labels: bool = True,
    strata: Any = None,
) -> Labelled:
    """Check rows and labels, those of a source in one pass; the model records their names.

    Parameters
    ----------
    model : estimator
        Its ``positive`` says which label ranks first.
    X, y, sample_weight
        As given to a fit. Labels and weights of rows that are `Labelled` are not checked again.
    empty : ClassStatistics, optional
        The class statistics of a source to keep, as for `survey`; by default variances.
    max_features : float
        The number of features up to which to keep them.
    labels : bool
        Whether to keep the labels and weights of a source, too.
    strata : array-like, shape (n,), optional
        The stratum of each row; by default those of `Labelled` rows.
    """
    if strata is not None:
        rows = labelled_rows(model, X, y, sample_weight).within(strata)
        assert rows.coded_strata is not None  # checked
        return rows
    if isinstance(X, Labelled) and not X.in_parts:
        refuse_sizes(X.X, whole=True)
        rows = replace(X, store=InMemory(as_rows(X.X)))
        record_names(model, rows)
        return rows
    if isinstance(X, Labelled):
        if X.strata is not None:
            rows = labelled_rows(model, X.X, y, sample_weight, strata=X.strata)
            return replace(rows, strata_name=X.strata_name)
        X = X.X
    X, y, sample_weight = opened(X, y, sample_weight)
    if isinstance(X, Source):
        if y is not None or sample_weight is not None:
            name = getattr(y, "name", None)
            X = X.with_labels(y, sample_weight)
            X.target_name = name if isinstance(name, str) else X.target_name
        empty = DiagonalMoments() if empty is None else empty
        rows = survey(X, empty, max_features, model.positive, labels)
        if rows.strata is not None:  # the statistics are those of all pairs
            rows = replace(rows, statistics=None)
        record_names(model, rows)
    else:
        numbers, y, weight = checked(model, X, y, sample_weight, reset=True, whole=True)
        classes = two_classes(np.unique(y), model.positive)
        names = getattr(model, "feature_names_in_", None)
        rows = Labelled(
            X, y == classes[1], weight, classes,
            columns=None if names is None else tuple(named(names, model.columns_)),
            store=InMemory(as_rows(numbers)),
        )  # fmt: skip
    _check_both_weigh(rows)
    return rows


def record_names(model: Any, rows: Labelled | ClassStatistics) -> None:
    """Record in a model the names of the rows of a source, or of those behind statistics."""
    names = rows.feature_names
    recorded: dict[str, Any] = {
        "n_features_in_": rows.n_features,
        "feature_names_in_": None if names is None else np.array(names, dtype=object),
        "target_name_": rows.target_name,
    }
    if isinstance(rows, Labelled):
        recorded["columns_"] = other_than_numbers(rows.columns or ())
    restore_names(model, {name: value for name, value in recorded.items() if value is not None})


def with_names_of(model: Any, moments: Statistics) -> Statistics:
    """Give moments the model's names of features and labels, and return them."""
    names = getattr(model, "feature_names_in_", None)
    moments.feature_names = None if names is None else [str(name) for name in names]
    moments.target_name = getattr(model, "target_name_", None)
    return moments


def checked(
    model: Any, X: Any, y: Any, sample_weight: Any, reset: bool, whole: bool = False
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return checked rows, labels and weights in memory; ``whole`` means that these are all rows.

    With ``reset`` the model records their names; otherwise they must have the recorded names.
    """
    refuse_collections(X)
    refuse_odd_labels(y)
    if reset:
        model.__dict__.pop("target_name_", None)
        if isinstance(name := getattr(y, "name", None), str):
            model.target_name_ = name
    kinds = [np.float64, np.float32]
    columns = columns_in(X)
    X, y = validate_data(
        model, X, y, reset=reset, accept_sparse="csr", dtype=kinds, ensure_all_finite=False
    )
    if reset:
        model.columns_ = columns
    refuse_sizes(X, whole, type(model).__name__)
    if y.dtype.kind not in "biuUS":  # these are never continuous
        check_classification_targets(y)
    return X, y, sample_weights(sample_weight, X.shape[0])


def classes_behind(statistics: ClassStatistics, positive: Any, name: Any) -> Classes:
    """Return the two classes of the rows behind statistics; arguments as for `of_two_classes`."""
    labels = statistics.classes.tolist()
    if positive is None:
        of_strata = statistics.strata
        positive = statistics.positive if of_strata is None else of_strata.positive
    if positive is None and len(labels) != 2:
        raise ValueError(
            f"{name}: has {len(labels):,} label{'' if len(labels) == 1 else 's'} "
            f"({', '.join(map(str, labels[:5]))}); a model needs two, or one against all others: "
            "name it with positive=LABEL."
        )
    return classes_named(statistics.classes, statistics.counts, positive, name)


def of_two_classes(
    statistics: ClassStatistics, positive: Any, name: Any
) -> tuple[ClassStatistics, Any]:
    """Return the statistics of two classes of the rows of a file, and the positive label.

    Parameters
    ----------
    statistics : ClassStatistics
        Statistics of all labels.
    positive : label, optional
        As for `aucmax.data.classes.classes_of`, which divides rows in the same way.
    name : str or Path
        The name of the file in messages.
    """
    classes = classes_behind(statistics, positive, name)
    if not classes.as_given:
        negative, label = classes.labels
        sides = [label if old == classes.positive else negative for old in statistics.classes]
        statistics = statistics.relabelled(sides)
    return statistics, classes.labels[1]


def of_usual_labels(held: ClassStatistics) -> ClassStatistics:
    """Return moments with labels that differ only in case merged into the most frequent one."""
    labels = held.classes.tolist()
    if not all(isinstance(label, str) for label in labels):
        return held
    usual = usual_labels(dict(zip(labels, held.counts.tolist(), strict=True)))
    return held.relabelled([usual.get(label, label) for label in labels]) if usual else held


def check_some_weight(weight: np.ndarray | None) -> None:
    """Raise ValueError if every row has weight 0."""
    if weight is not None and not weight.any():
        raise ValueError(_NO_WEIGHT)


def _check_both_weigh(rows: Labelled) -> None:
    """Raise ValueError if every row of a class has weight 0."""
    weighing = [rows.weighs(positive) for positive in (False, True)]
    if not any(weighing):
        raise ValueError(_NO_WEIGHT)
    for weighs, label in zip(weighing, rows.classes.tolist(), strict=True):
        if not weighs:
            raise ValueError(
                f"sample_weight is zero for every row of class {label!r}; ranking needs rows "
                "of two classes with weight."
            )
