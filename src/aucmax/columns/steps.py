"""The registry of steps: what is known of each type of step in front of a linear model.

An entry is a subclass of `Step`, and says which column each feature looks at, what it computes as a
function of that column, what the columns hold, and which types a model file then has. SQL and ONNX
write the functions down, so that a new type of step needs no more than its entry: beside its class,
or, for a step of scikit-learn, in `aucmax.columns.sklearn_steps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from aucmax.columns.functions import Feature

__all__ = [
    "Column", "Kind", "OneToOne", "Step", "columns_taken", "flat", "parts_of", "step_of",
    "that_learn_from_labels", "transformed", "types_in_files",
]  # fmt: skip

Places = NDArray[np.intp]


class Kind(Enum):
    """What a column holds."""

    number = "numbers"
    text = "text"
    truth = "true or false"


@dataclass(frozen=True)
class Column:
    """A column that a model takes.

    Parameters
    ----------
    name : str
        As the data frame had it; "" where the model knows its columns by position.
    kind : Kind
        What it held.
    gaps : bool
        Whether the model takes missing values.
    gap : None or float
        What stood for one: None, or NaN.
    objects : bool
        Whether the model saw Python objects, as of a column of mixed types.
    date : str or None
        Of days since 1970-01-01: the form in which files hold the date, one of
        `aucmax.data.dates.EXAMPLES`.
    """

    name: str
    kind: Kind = Kind.number
    gaps: bool = False
    gap: float | None = np.nan
    objects: bool = False
    date: str | None = None

    @property
    def text(self) -> bool:
        """Whether it holds words."""
        return self.kind is Kind.text


_ENTRIES: dict[type, type[Step]] = {}


class Step:
    """A fitted transformer, seen as a maker of features; of an unknown type, unless overridden.

    Parameters
    ----------
    fitted : transformer
        Or "passthrough".

    Attributes
    ----------
    file_types : tuple of type
        Those of this package that a model file has for it.
    results : tuple of str
        What every fit leaves in it; a model file in which a part of it is missing is refused.
    encodes : bool
        Whether a model to be compared with needs these features in place of the columns.
    of_whole_rows : bool
        Whether a feature depends on other columns than its own.
    renames : bool
        Whether readers know the values of a column by other names, see `told`.
    """

    file_types: ClassVar[tuple[type, ...]] = ()
    results: ClassVar[tuple[str, ...]] = ()
    encodes: ClassVar[bool] = False
    of_whole_rows: ClassVar[bool] = False
    renames: ClassVar[bool] = False

    def __init_subclass__(cls, of: Sequence[type] = ()) -> None:
        _ENTRIES.update(dict.fromkeys(of, cls))

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted

    @property
    def name(self) -> str:
        """What its type is called."""
        return type(self.fitted).__name__

    def columns(self, columns: Places) -> Places:
        """Return the column that each feature looks at, given those of what the step takes.

        Raises
        ------
        LookupError
            Where it is not known that each feature looks at one column.
        """
        raise LookupError(f"a {self.name} may make features of several columns.")

    def features(self, features: list[Feature]) -> list[Feature]:
        """Return the features that the step makes of others, as functions of their columns.

        Raises
        ------
        ValueError
            Where they cannot be written so.
        """
        raise ValueError(
            f"the step {self.name} cannot be exported: only such as look at one column at a "
            "time, and are known, can."
        )

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        """Yield the columns that the step uses, with what it knows of them."""
        yield from columns

    def parts(self) -> Iterator[Step]:
        """Yield the steps that it is made of, or itself."""
        yield self

    def told(self, j: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of column j as a reader knows them: the names of bins, for instance."""
        return values

    @property
    def dates(self) -> Mapping[str, str]:
        """The form of the columns that files hold as dates."""
        return getattr(self.fitted, "dates", None) or {}

    @property
    def reading(self) -> dict[str, Any] | None:
        """How `datasets.read` reads tables for it; None where it takes arrays or data frames."""
        return None

    @property
    def learns_from_labels(self) -> bool:
        """Whether the features are made of labels, too."""
        return bool(get_tags(self.fitted).target_tags.required)

    @property
    def row_norm(self) -> str | None:
        """The norm that it makes 1 in each row, if it does."""
        return None


class OneToOne(Step, of=[OneToOneFeatureMixin]):
    """A step that makes a feature of each column."""

    def columns(self, columns: Places) -> Places:
        """Return the same columns."""
        return columns


def step_of(fitted: Any) -> Step:
    """Return what is known of a fitted transformer."""
    kinds = type(fitted).__mro__
    return next((_ENTRIES[kind] for kind in kinds if kind in _ENTRIES), Step)(fitted)


def types_in_files() -> list[type]:
    """Return the types of this package that a model file may have for steps."""
    return [kind for entry in _ENTRIES.values() for kind in entry.file_types]


def parts_of(model: Any) -> tuple[list[Step], Any]:
    """Return the steps in front of a linear model, and that model.

    Parameters
    ----------
    model : estimator
        Fitted: a pipeline, a scorecard, a search or the linear model itself.
    """
    if hasattr(model, "steps"):
        more, last = parts_of(model[-1])
        return [*flat(model[:-1]), *more], last
    if hasattr(model, "binning_"):
        more, last = parts_of(model.classifier_)
        return [step_of(model.binning_), *more], last
    if hasattr(model, "best_estimator_"):
        return parts_of(model.best_estimator_)
    return [], model


def flat(pipeline: Pipeline) -> list[Step]:
    """Return the steps of a fitted pipeline, those of pipelines in it included."""
    steps: list[Step] = []
    for _, step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps += flat(step)
        elif step is not None and step != "passthrough":
            steps.append(step_of(step))
    return steps


def transformed(steps: Sequence[Step], rows: Any) -> Any:
    """Return what fitted steps make of rows."""
    for step in steps:
        rows = step.fitted.transform(rows)
    return rows


def columns_taken(steps: Sequence[Step], columns: Sequence[Column]) -> dict[str, Column]:
    """Return the columns that steps use, by their names, with what the first step knows of them.

    Where several transformers take a column, the one that takes words decides: the others can be
    given it only as words, too.
    """
    by_name: dict[str, Column] = {}
    for column in steps[0].taken(columns) if steps else columns:
        if column.name not in by_name or by_name[column.name].kind is Kind.number:
            by_name[column.name] = column
    return by_name


def that_learn_from_labels(steps: Sequence[Step]) -> list[str]:
    """Return the names of those that make features of labels, too; choosing some is not making."""
    parts = [part for step in steps for part in step.parts()]
    return [part.name for part in parts if part.learns_from_labels]
