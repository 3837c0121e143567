"""The steps in front of a linear model, and which column each feature that they make looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
)
from sklearn.utils import get_tags

from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.estimators.encoder import TableEncoder

__all__ = ["chosen", "flat", "looked_at", "parts_of", "that_learn_from_labels"]

Columns = NDArray[np.intp]


def parts_of(model: Any) -> tuple[list[Any], Any]:
    """Return the steps in front of a linear model, and that model.

    Parameters
    ----------
    model : estimator
        Fitted: a pipeline, a scorecard, a search or the linear model itself.
    """
    if hasattr(model, "steps"):
        more, last = parts_of(model[-1])
        return [*flat(model[:-1]), *more], last
    if isinstance(model, Scorecard):
        more, last = parts_of(model.classifier_)
        return [model.binning_, *more], last
    if hasattr(model, "best_estimator_"):
        return parts_of(model.best_estimator_)
    return [], model


def flat(steps: Pipeline) -> list[Any]:
    """Return the steps of a pipeline, those of pipelines in it included.

    Parameters
    ----------
    steps : Pipeline
        Fitted.
    """
    out: list[Any] = []
    for _, step in steps.steps:
        out += flat(step) if isinstance(step, Pipeline) else [step]
    return [step for step in out if step is not None and step != "passthrough"]


def chosen(step: ColumnTransformer) -> list[tuple[Any, list[int]]]:
    """Return the transformers that give features, each with the columns that it is given.

    Parameters
    ----------
    step : ColumnTransformer
        Fitted.
    """
    places = step._transformer_to_input_indices
    return [
        (one, list(places[name]))
        for name, one, _ in step.transformers_
        if not (isinstance(one, str) and one == "drop") and len(places[name])
    ]


def that_learn_from_labels(steps: Sequence[Any]) -> list[str]:
    """Return the names of those that make features of labels, too; choosing some is not making.

    Parameters
    ----------
    steps : sequence of transformer
    """
    return [
        type(step).__name__
        for step in _inner(steps)
        if get_tags(step).target_tags.required and not isinstance(step, SelectorMixin)
    ]


def _inner(steps: Sequence[Any]) -> Iterator[Any]:
    for step in steps:
        if isinstance(step, Pipeline):
            yield from _inner(flat(step))
        elif isinstance(step, ColumnTransformer):
            yield from _inner([one for one, _ in chosen(step)])
        elif isinstance(step, FeatureUnion):
            yield from _inner([one for _, one in step.transformer_list])
        elif not isinstance(step, str):
            yield step


@singledispatch
def looked_at(step: Any, found: Columns) -> Columns:
    """Return the column that each feature looks at which a fitted step makes.

    Parameters
    ----------
    step : transformer
        Fitted.
    found : ndarray of int
        The columns that the features look at which it is given.

    Raises
    ------
    LookupError
        For a step of which it is not known that each feature looks at one column.
    """
    if isinstance(step, str) and step == "passthrough":
        return found
    raise LookupError(f"a {type(step).__name__} may make features of several columns.")


@looked_at.register(OneToOneFeatureMixin)
@looked_at.register(Binning)
def _(step: Any, found: Columns) -> Columns:
    return found


@looked_at.register
def _(step: SplineFeatures, found: Columns) -> Columns:
    return np.append(found, np.repeat(found, [step.n_splines(knots) for knots in step.knots_]))


@looked_at.register
def _(step: TableEncoder, found: Columns) -> Columns:
    return looked_at(step.columns_, found)


@looked_at.register
def _(step: Pipeline, found: Columns) -> Columns:
    for one in flat(step):
        found = looked_at(one, found)
    return found


@looked_at.register
def _(step: ColumnTransformer, found: Columns) -> Columns:
    return np.concatenate([looked_at(one, found[some]) for one, some in chosen(step)])


@looked_at.register
def _(step: FeatureUnion, found: Columns) -> Columns:
    parts = [one for _, one in step.transformer_list if one != "drop"]
    return np.concatenate([looked_at(one, found) for one in parts])


@looked_at.register
def _(step: FunctionTransformer, found: Columns) -> Columns:
    if step.func is None or step.feature_names_out == "one-to-one":
        return found
    raise LookupError("the function of a FunctionTransformer may take several columns.")


@looked_at.register
def _(step: SelectorMixin, found: Columns) -> Columns:
    return found[step.get_support()]


@looked_at.register
def _(step: SimpleImputer, found: Columns) -> Columns:
    gone = [value != value for value in step.statistics_.tolist()]  # columns of gaps only
    kept = found if step.keep_empty_features else found[~np.array(gone, dtype=bool)]
    return kept if step.indicator_ is None else np.append(kept, looked_at(step.indicator_, found))


@looked_at.register
def _(step: MissingIndicator, found: Columns) -> Columns:
    return found[step.features_]


@looked_at.register
def _(step: OneHotEncoder, found: Columns) -> Columns:
    return np.repeat(found, step._n_features_outs)


@looked_at.register
def _(step: SplineTransformer, found: Columns) -> Columns:
    return np.repeat(found, step.n_features_out_ // len(found))


@looked_at.register
def _(step: KBinsDiscretizer, found: Columns) -> Columns:
    return found if step.encode == "ordinal" else np.repeat(found, step.n_bins_)
