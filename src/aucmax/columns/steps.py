"""The registry of steps: the properties of each type of step in front of a linear model.

An entry is a subclass of `Step`, which defines the column of each feature, the feature as a
function of that column, the kinds of the columns, and the types in a model file. The exports to SQL
and ONNX write these functions, so that a new type of step needs only its entry: beside its class,
or, for a step of scikit-learn, in `aucmax.columns.sklearn_steps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags

from aucmax.basics.checks import refuse_collections
from aucmax.columns.functions import Feature
from aucmax.data.columns import Column, named
from aucmax.data.rows.source import Source

__all__ = [
    "OneToOne", "Pair", "Stages", "Step", "columns_of", "flat", "parts_of", "step_of",
    "that_learn_from_labels", "transformed", "types_in_files",
]  # fmt: skip

Places = NDArray[np.intp]


_ENTRIES: dict[type, type[Step]] = {}


class Pair(NamedTuple):
    """Two columns, or cycles of columns, on which features depend jointly.

    Parameters
    ----------
    columns : (int, int)
        The positions of the columns.
    cycles : (str, str)
        Which of `CYCLES` it is of each column, "" for the column itself.
    """

    columns: tuple[int, int]
    cycles: tuple[str, str] = ("", "")


class Step:
    """A fitted transformer as a source of features; subclasses describe known types.

    Parameters
    ----------
    fitted : transformer
        A transformer, or "passthrough".

    Attributes
    ----------
    file_types : tuple of type
        The types of this package in a model file with this step.
    results : tuple of str
        Attributes that every fit sets; a model file that lacks one is refused.
    encodes : bool
        Whether other models in a comparison need these features instead of the columns.
    of_whole_rows : bool
        Whether a feature depends on other columns than its own.
    takes_tables : bool
        Whether it takes columns as `datasets.read` returns them; other steps need a data frame.
    renames : bool
        Whether reports show the values of a column by other names, see `told`.
    """

    file_types: ClassVar[tuple[type, ...]] = ()
    results: ClassVar[tuple[str, ...]] = ()
    encodes: ClassVar[bool] = False
    of_whole_rows: ClassVar[bool] = False
    takes_tables: ClassVar[bool] = False
    renames: ClassVar[bool] = False

    def __init_subclass__(cls, of: Sequence[type] = ()) -> None:
        _ENTRIES.update(dict.fromkeys(of, cls))

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted

    @property
    def name(self) -> str:
        """The name of the transformer's type."""
        return type(self.fitted).__name__

    @property
    def pairs(self) -> Sequence[Pair]:
        """The pairs of input columns on which features depend jointly."""
        return ()

    def columns(self, columns: Places) -> Places:
        """Return the column of each feature, given the columns of the step's input.

        A feature of the k-th pair has −1 − k instead of a column.

        Raises
        ------
        LookupError
            If features may depend on several other columns.
        """
        raise LookupError(f"a {self.name} may make features from several columns.")

    def coordinates(self, mass: NDArray[np.float64]) -> Any:
        """Return M if the model that follows penalises u rather than its coefficients M u.

        M is a sparse matrix (D, k); None if coefficients are penalised.

        Parameters
        ----------
        mass : ndarray, shape (D,)
            The weighted sum of each feature over the rows.
        """
        return None

    def features(self, features: list[Feature]) -> list[Any]:
        """Return the output features of the step as functions of columns, `Feature` or `Product`.

        Raises
        ------
        ValueError
            If they are not functions of one column or products of two.
        """
        raise ValueError(
            f"the step {self.name} cannot be exported: only known steps that look at one column "
            "at a time can."
        )

    def for_rivals(self, rows: Any, features: Any) -> Any:
        """Return rows as numbers for another model, given the rows and this model's features."""
        return features

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        """Yield the columns that the step uses, with their kinds."""
        yield from columns

    def parts(self) -> Iterator[Step]:
        """Yield the steps of which this step consists, or itself."""
        yield self

    def told(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of column j in a form for readers, such as the names of bins."""
        return values

    def cycles(self) -> list[str]:
        """Return which cycle of its column each feature represents, such as the weekday, or "".

        An empty list means that there are no cycles.
        """
        return []

    @property
    def learns_from_labels(self) -> bool:
        """Whether the features depend on the labels of the fit."""
        return bool(get_tags(self.fitted).target_tags.required)

    @property
    def row_norm(self) -> str | None:
        """The norm to which each row is scaled, if any."""
        return None


class OneToOne(Step, of=[OneToOneFeatureMixin]):
    """A step that makes one feature from each column."""

    def columns(self, columns: Places) -> Places:
        """Return the same columns."""
        return columns


def step_of(fitted: Any) -> Step:
    """Return the entry of a fitted transformer."""
    kinds = type(fitted).__mro__
    return next((_ENTRIES[cls] for cls in kinds if cls in _ENTRIES), Step)(fitted)


def types_in_files() -> list[type]:
    """Return the types of this package that may occur in a model file for steps."""
    return [file_type for entry in _ENTRIES.values() for file_type in entry.file_types]


def parts_of(model: Any) -> tuple[list[Step], Any]:
    """Return the steps in front of a linear model, and that model.

    Parameters
    ----------
    model : estimator
        A fitted pipeline, scorecard, search or linear model.
    """
    if hasattr(model, "steps"):
        steps, linear = parts_of(model[-1])
        return [*flat(model[:-1]), *steps], linear
    if hasattr(model, "binning_"):
        steps, linear = parts_of(model.classifier_)
        return [step_of(model.binning_), *steps], linear
    if hasattr(model, "best_estimator_"):
        return parts_of(model.best_estimator_)
    return [], model


def flat(pipeline: Pipeline) -> list[Step]:
    """Return the steps of a fitted pipeline, including those of nested pipelines."""
    steps: list[Step] = []
    for _, step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps += flat(step)
        elif step is not None and step != "passthrough":
            steps.append(step_of(step))
    return steps


def transformed(steps: Sequence[Step], rows: Any) -> list[Any]:
    """Return rows, and the output of each fitted step for them; as sources if rows are a source."""
    return [*accumulate(steps, _transformed, initial=rows)]


def _transformed(rows: Any, step: Step) -> Any:
    transform = step.fitted.transform
    return rows.mapped(transform) if isinstance(rows, Source) else transform(rows)


@dataclass(frozen=True, eq=False)
class Stages:
    """Rows at all stages of a fitted model, so that each step transforms them only once.

    Parameters
    ----------
    model : estimator
        As for `parts_of`.
    rows : list
        The rows in front of the model, and after each step.
    """

    model: Any
    rows: list[Any]

    @classmethod
    def of(cls, model: Any, X: Any) -> Self:
        """Pass rows through the steps of a model."""
        refuse_collections(X)
        return cls(model, transformed(parts_of(model)[0], X))

    @property
    def features(self) -> Any:
        """The rows after the last step."""
        return self.rows[-1]

    def scores(self) -> NDArray[np.float64]:
        """Return the scores of the rows, shape (n,)."""
        return np.asarray(parts_of(self.model)[1].decision_function(self.features))

    def at(self, rows: NDArray[np.intp]) -> Self:
        """Return the stages of some of the rows."""
        return replace(self, rows=[_safe_indexing(X, rows) for X in self.rows])


def _taken(steps: Sequence[Step], columns: Sequence[Column]) -> dict[str, Column]:
    """Return the columns that steps use, by name, with their kinds in the first step.

    If several transformers use a column, the one that takes words decides: the others receive it as
    words, too.
    """
    by_name: dict[str, Column] = {}
    for column in steps[0].taken(columns) if steps else columns:
        if column.name not in by_name or by_name[column.name].is_number:
            by_name[column.name] = column
    return by_name


def columns_of(model: Any, names: Sequence[str]) -> list[Column | None]:
    """Return the kinds of the columns of a fitted model, None for a column that no step uses.

    Parameters
    ----------
    model : estimator
        As for `parts_of`.
    names : sequence of str, shape (d,)
        The names of the columns; "" if only their positions are known.
    """
    steps, _ = parts_of(model)
    noted = getattr(steps[0].fitted if steps else model, "columns_", ())
    by_place = [replace(column, name=str(j)) for j, column in enumerate(named(names, noted))]
    used = _taken(steps, by_place)
    return [
        replace(used[str(j)], name=name) if str(j) in used else None for j, name in enumerate(names)
    ]


def that_learn_from_labels(steps: Sequence[Step]) -> list[str]:
    """Return the names of steps that learn features from labels, not counting selection."""
    parts = [part for step in steps for part in step.parts()]
    return [part.name for part in parts if part.learns_from_labels]
