"""What a fitted model computes, as a sum of functions of single columns.

A linear model of features that each look at one column is such a sum, whatever scikit-learn put in
front of it: imputed, scaled, one-hot, binned, splines. Rows of unit norm divide it by the root of
another one. This is all that an exported model needs to say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, PPoly
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.estimators.encoder import TableEncoder
from aucmax.estimators.probabilities import Calibration
from aucmax.explain.steps import chosen, flat, parts_of
from aucmax.export.shapes import Pieces, Shape, Words, total

__all__ = ["Additive", "Column", "additive"]


@dataclass(frozen=True)
class Column:
    """A column that a model takes.

    Parameters
    ----------
    name : str
        What it is called; "" where the model knows its columns by position.
    text : bool
        Whether it holds words, not numbers.
    date : str or None
        Of days since 1970-01-01: the form in which files hold the date, one of
        `aucmax.datasets.dates.EXAMPLES`.
    """

    name: str
    text: bool = False
    date: str | None = None


@dataclass(frozen=True)
class _Word:
    """A column of words as it is, a gap perhaps standing for one of them."""

    gap: str | None = None
    gap_words: bool = False  # as of `Words`


@dataclass(frozen=True)
class Feature:
    """A function of a column.

    Parameters
    ----------
    column : int
        Its position.
    shape : Pieces, Words or _Word
        The function.
    """

    column: int
    shape: Any


@dataclass(frozen=True)
class Additive:
    """A score: intercept + Σ parts, the sum divided by the root of Σ squares where there are some.

    Parameters
    ----------
    columns : tuple of Column
        In the order in which an array has them.
    parts, squares : tuple of Feature
        At most one of each kind for a column, of `Words` with the same ``gap_words``. Where the
        squares add up to 0 nothing is divided.
    intercept : float
    classes : ndarray, shape (2,)
        The negative and the positive label.
    spread : float or None
        About the standard deviation of the scores, where the model tells.
    calibration : Sigmoid, Isotonic or None
        What makes probabilities of the scores, where the model has them.
    """

    columns: tuple[Column, ...]
    parts: tuple[Feature, ...]
    squares: tuple[Feature, ...]
    intercept: float
    classes: NDArray[Any]
    spread: float | None
    calibration: Calibration | None = None

    def scores(self, columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the scores of rows, given as columns, computed in a precision."""
        out = _added(self.parts, columns, dtype)
        if self.squares:
            squares = _added(self.squares, columns, dtype)
            out = out / np.sqrt(np.where(squares > 0, squares, dtype(1)))
        return out + dtype(self.intercept)

    def rounding(self) -> float:
        """Return about how far rounding every number to float32 may move a score."""
        size = abs(self.intercept)
        for part in self.parts:
            if isinstance(part.shape, Pieces) and part.shape.coefs.shape[1] > 1:
                size += float(np.abs(part.shape.coefs[:, 1] * part.shape.origins).max())
        return size * float(np.finfo(np.float32).eps) / 2


def _added(parts: Iterable[Feature], columns: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    out = np.zeros(len(columns[0]), dtype=dtype)
    for part in parts:
        out += part.shape(columns[part.column], dtype)
    return out


def additive(model: Any, names: Sequence[str] | None = None) -> Additive:
    """Write a fitted model as a sum of functions of its columns.

    Parameters
    ----------
    model : estimator
        A linear scorer of two classes, or a pipeline that ends in one.
    names : sequence of str, optional
        What the columns are called, for a model that does not know it.

    Returns
    -------
    Additive
        Its scores are those of the model.

    Raises
    ------
    ValueError
        For a step that is not known here, or a model that is not linear in its features.
    """
    check_is_fitted(model)
    steps, last = parts_of(model)
    if np.shape(getattr(last, "coef_", ()))[:1] != (1,) or len(getattr(last, "classes_", ())) != 2:
        raise ValueError(
            f"a {type(last).__name__} cannot be exported; only linear models of two classes can, "
            "with steps in front that look at one column at a time."
        )
    columns = _columns(model, names)
    found = [Feature(j, _Word() if c.text else Pieces.line()) for j, c in enumerate(columns)]
    unit_norm = False
    for step in steps:
        if unit_norm:
            raise ValueError("Normalizer can be exported only where the model comes next.")
        unit_norm = isinstance(step, Normalizer)
        found = found if unit_norm else features(step, found)
    if unit_norm and steps[-1].norm != "l2":
        raise ValueError(f"Normalizer(norm={steps[-1].norm!r}) cannot be exported; l2 can.")
    coef = np.ravel(last.coef_).astype(np.float64)
    weighed = [
        Feature(f.column, _numbers(f).shape.times(w))
        for f, w in zip(found, coef.tolist(), strict=True)
        if w != 0.0 or isinstance(f.shape, Words)  # a word without weight is known all the same
    ]
    squares = (
        [Feature(f.column, _numbers(f).shape.squared()) for f in found]
        if unit_norm and weighed
        else []
    )
    variances = getattr(last, "spread_", None)
    return Additive(
        columns,
        _by_column(weighed),
        _by_column(squares),
        float(np.ravel(last.intercept_)[0]),
        np.asarray(model.classes_),
        None if variances is None else float(np.sqrt(coef**2 @ variances / 2)),
        getattr(last, "calibration_", None),
    )


def _columns(model: Any, names: Sequence[str] | None) -> tuple[Column, ...]:
    seen = getattr(model, "feature_names_in_", names)
    d = int(model.n_features_in_)
    called = [""] * d if seen is None else [str(name) for name in seen]
    if len(called) != d:
        raise ValueError(f"the model has {d} columns, and {len(called)} names were given.")
    twice = [name for name, count in Counter(called).items() if name and count > 1]
    if twice:
        raise ValueError(f"two columns are called {twice[0]!r}; give each a name of its own.")
    first = model[0] if hasattr(model, "steps") else model
    dates = getattr(first, "dates", None) or {}
    text = {called[j] if seen is not None else j for j in _text(model, range(d))}
    return tuple(
        Column(name, (name if seen is not None else j) in text, dates.get(name))
        for j, name in enumerate(called)
    )


def _text(step: Any, columns: Iterable[int]) -> set[int]:
    """Which of the columns that reach a step it takes as words."""
    columns = list(columns)
    if isinstance(step, TableEncoder):
        return {columns[j] for j, n in enumerate(step.feature_names_in_) if n in step.text}
    if isinstance(step, (Binning, Scorecard)):
        bins = (step.binning_ if isinstance(step, Scorecard) else step).bins_
        return {j for j, one in zip(columns, bins, strict=True) if one.edges is None}
    if isinstance(step, Pipeline):
        return _text(step.steps[0][1], columns)
    if isinstance(step, FeatureUnion):
        return set().union(*(_text(one, columns) for _, one in step.transformer_list))
    if isinstance(step, ColumnTransformer):
        parts = chosen(step)
        return set().union(*(_text(one, [columns[j] for j in some]) for one, some in parts))
    learnt = getattr(step, "categories_", None)
    if learnt is None:
        learnt = [[value] for value in getattr(step, "statistics_", ())]
    return {
        j
        for j, words in zip(columns, learnt, strict=False)
        if any(isinstance(word, str) for word in words)
    }


def _by_column(parts: Sequence[Feature]) -> tuple[Feature, ...]:
    """Add up what looks at the same column."""
    groups: dict[tuple[int, type, bool], list[Shape]] = defaultdict(list)
    for part in parts:
        gap_words = isinstance(part.shape, Words) and part.shape.gap_words
        groups[part.column, type(part.shape), gap_words].append(part.shape)
    return tuple(Feature(column, total(shapes)) for (column, *_), shapes in groups.items())


def _numbers(feature: Feature) -> Feature:
    """Return a feature that is a number; ValueError for words."""
    if isinstance(feature.shape, _Word):
        raise ValueError("the model takes a column of words as it is, which cannot be exported.")
    return feature


# ---- the features that a fitted step makes of others


@singledispatch
def features(step: Any, found: list[Feature]) -> list[Feature]:
    """Return the features that a fitted step makes.

    Parameters
    ----------
    step : transformer
        Fitted.
    found : list of Feature
        Those that it is given.
    """
    if isinstance(step, str) and step == "passthrough":
        return found
    raise ValueError(
        f"the step {type(step).__name__} cannot be exported: only such as look at one column at a "
        "time, and are known, can."
    )


@features.register
def _(step: TableEncoder, found: list[Feature]) -> list[Feature]:
    read = [
        replace(f, shape=replace(f.shape, gap_words=True)) if isinstance(f.shape, _Word) else f
        for f in found
    ]
    return features(step.columns_, read)


@features.register
def _(step: ColumnTransformer, found: list[Feature]) -> list[Feature]:
    return [made for one, some in chosen(step) for made in features(one, [found[j] for j in some])]


@features.register
def _(step: Pipeline, found: list[Feature]) -> list[Feature]:
    for one in flat(step):
        found = features(one, found)
    return found


@features.register
def _(step: FeatureUnion, found: list[Feature]) -> list[Feature]:
    parts = [one for _, one in step.transformer_list if one != "drop"]
    return [made for one in parts for made in features(one, found)]


@features.register
def _(step: FunctionTransformer, found: list[Feature]) -> list[Feature]:
    if step.func is not None:
        raise ValueError("a FunctionTransformer with a function cannot be exported.")
    return found


@features.register
def _(step: SelectorMixin, found: list[Feature]) -> list[Feature]:
    return [feature for feature, kept in zip(found, step.get_support(), strict=True) if kept]


@features.register
def _(step: SimpleImputer, found: list[Feature]) -> list[Feature]:
    _gaps_are_nan(step)
    filled = [
        Feature(f.column, _filled(f.shape, value))
        for f, value in zip(found, step.statistics_.tolist(), strict=True)
        if step.keep_empty_features or value == value  # a column of gaps only has no median
    ]
    return filled if step.indicator_ is None else filled + features(step.indicator_, found)


def _filled(shape: Any, value: Any) -> Any:
    if isinstance(shape, _Word):
        return shape if shape.gap is not None else replace(shape, gap=value)
    return shape.filled(float(value)) if isinstance(shape, Pieces) else shape


@features.register
def _(step: MissingIndicator, found: list[Feature]) -> list[Feature]:
    _gaps_are_nan(step)
    return [Feature(found[j].column, _gap_of(found[j].shape)) for j in step.features_]


def _gaps_are_nan(step: Any) -> None:
    if step.missing_values is not None and step.missing_values == step.missing_values:
        raise ValueError(
            f"{type(step).__name__}(missing_values={step.missing_values!r}) cannot be exported; "
            "NaN as the missing value can."
        )


def _gap_of(shape: Any) -> Shape:
    if isinstance(shape, _Word):
        return Words({None: 1.0 if shape.gap is None else 0.0}, gap_words=shape.gap_words)
    if isinstance(shape, Words):  # of which none is missing
        return shape.times(0.0)
    return shape.is_gap()


@features.register(StandardScaler)
@features.register(MinMaxScaler)
@features.register(MaxAbsScaler)
@features.register(RobustScaler)
def _(step: Any, found: list[Feature]) -> list[Feature]:
    if getattr(step, "clip", False):
        raise ValueError(f"{type(step).__name__}(clip=True) cannot be exported.")
    d = len(found)
    if isinstance(step, MinMaxScaler):  # x · scale + min
        slopes, at = step.scale_, -step.min_ / step.scale_
    else:  # (x − centre) / scale
        centre = getattr(step, "mean_", getattr(step, "center_", None))
        centred = getattr(step, "with_mean", getattr(step, "with_centering", False))
        slopes = 1.0 / (np.ones(d) if step.scale_ is None else step.scale_)
        at = centre if centred and centre is not None else np.zeros(d)
    lines = [Pieces.line(slope, where) for slope, where in zip(slopes, at, strict=True)]
    return [_composed(line, feature) for line, feature in zip(lines, found, strict=True)]


def _composed(outer: Pieces, feature: Feature) -> Feature:
    """Return a function of a feature as one of its column."""
    inner = _numbers(feature).shape
    if isinstance(inner, Words):
        return Feature(feature.column, inner.then(outer))
    if inner.is_line and inner.coefs[0, 1] > 0.0:
        return Feature(feature.column, outer.of(inner))
    if outer.is_line:
        (start, slope), at = outer.coefs[0], outer.origins[0]
        return Feature(feature.column, inner.times(slope, start - slope * at))
    raise ValueError(
        "bins or splines of a feature that is not linear in its column cannot be exported."
    )


@features.register
def _(step: OneHotEncoder, found: list[Feature]) -> list[Feature]:
    made = []
    dropped = [None] * len(found) if step.drop_idx_ is None else step.drop_idx_
    for feature, words, without in zip(found, _known(step), dropped, strict=True):
        # a word that has no feature is known all the same
        always = {} if without is None else {words[without]: 0.0}
        made += [
            _looked_up(feature, {word: 1.0, **always}, step.handle_unknown != "error")
            for place, word in enumerate(words)
            if place != without
        ]
    return made


@features.register
def _(step: OrdinalEncoder, found: list[Feature]) -> list[Feature]:
    if step.handle_unknown != "error" or step.encoded_missing_value == step.encoded_missing_value:
        raise ValueError(
            "an OrdinalEncoder with codes for unknown words or gaps cannot be exported."
        )
    codes = [{word: float(i) for i, word in enumerate(words)} for words in _known(step)]
    return [_looked_up(f, words, False) for f, words in zip(found, codes, strict=True)]


def _known(step: Any) -> list[list[Any]]:
    """The words of each column that an encoder knows, None for a gap."""
    if any(words is not None for words in getattr(step, "infrequent_categories_", ())):
        raise ValueError(
            f"a {type(step).__name__} that puts rare words together cannot be exported."
        )
    known = [
        [None if word != word else word for word in words.tolist()] for words in step.categories_
    ]
    if any(isinstance(word, bool) for words in known for word in words):
        raise ValueError(
            f"a {type(step).__name__} of true and false cannot be exported; numbers can."
        )
    return known


def _looked_up(feature: Feature, values: dict[Any, float], skips: bool) -> Feature:
    """Return a feature that has a value for each of some words; ``skips`` has 0 for others."""
    shape, other = feature.shape, 0.0 if skips else np.nan
    gap_words = isinstance(shape, _Word) and shape.gap_words
    if isinstance(shape, Pieces) and shape.is_line and (shape.coefs[0] == [0, 1]).all():
        gap: Any = None if np.isnan(shape.gap) else shape.gap
    elif isinstance(shape, _Word):
        gap = shape.gap
    else:
        raise ValueError("categories of what is not a column as it is cannot be exported.")
    if gap is not None and gap in values:
        values = {**values, None: values[gap]}
    return Feature(feature.column, Words(values, other, gap_words))


@features.register
def _(step: SplineTransformer, found: list[Feature]) -> list[Feature]:
    if step.extrapolation in ("periodic", "error"):
        raise ValueError(
            f"SplineTransformer(extrapolation={step.extrapolation!r}) cannot be exported; "
            "'constant', 'linear' and 'continue' can."
        )
    if step.extrapolation == "linear" and step.degree < 2:
        # scikit-learn 1.9 goes on differently from the second column on
        raise ValueError("SplineTransformer(extrapolation='linear') needs degree 2 to be exported.")
    made = []
    for feature, spline in zip(found, step.bsplines_, strict=True):
        bases = range(spline.c.shape[1] - (not step.include_bias))
        made += [_composed(_of_basis(step, spline, b), feature) for b in bases]
    return made


def _of_basis(step: SplineTransformer, spline: Any, basis: int) -> Pieces:
    """Return a function of a basis of splines, which goes on beyond its ends as it is told."""
    gap = 0.0 if getattr(step, "handle_missing", "error") == "zeros" else np.nan
    one = BSpline(spline.t, spline.c[:, basis], spline.k)
    if step.extrapolation == "continue":
        ends, coefs = _inside(one)
        return Pieces(ends[1:-1], ends[:-1], coefs, gap)
    return _with_ends(one, step.extrapolation == "linear", gap)


def _inside(spline: BSpline) -> tuple[Any, Any]:
    """The knots and the polynomials of a spline, without those beyond its ends."""
    whole = PPoly.from_spline(spline)
    last = len(spline.t) - spline.k - 1
    return whole.x[spline.k : last + 1], whole.c[::-1, spline.k : last].T


def _with_ends(spline: BSpline, linear: bool, gap: float = np.nan) -> Pieces:
    """Return polynomials between knots that go on as lines, or constant."""
    ends, coefs = _inside(spline)
    lines = np.zeros((2, coefs.shape[1]))
    # not by the polynomials: rows of unit norm would stretch what they leave of 0 at the last knot
    lines[:, 0] = spline(ends[[0, -1]])
    if linear:
        lines[:, 1] = spline(ends[[0, -1]], nu=1)
    origins = np.concatenate([ends[:1], ends])
    return Pieces(ends, origins, np.vstack([lines[:1], coefs, lines[1:]]), gap)


@features.register
def _(step: SplineFeatures, found: list[Feature]) -> list[Feature]:
    made = [*found]
    for feature, knots in zip(found, step.knots_, strict=True):
        count, k = step.n_splines(knots), step.degree
        t = np.concatenate([np.repeat(knots[:1], k), knots, np.repeat(knots[-1:], k)])
        for row in np.eye(count, count + 1):
            made.append(_composed(_with_ends(BSpline(t, row, k), linear=False), feature))
    return made


@features.register
def _(step: Binning, found: list[Feature]) -> list[Feature]:
    made = []
    for feature, bins in zip(found, step.bins_, strict=True):
        woe = bins.woe.tolist()
        if bins.edges is not None:
            made.append(_composed(Pieces.steps(bins.edges, woe[:-1], woe[-1]), feature))
        else:
            known = {word: woe[k] for word, k in bins.words.items()} | {None: woe[-1]}
            other = woe[bins.other] if bins.other >= 0 else 0.0
            made.append(Feature(feature.column, Words(known, other, gap_words=True)))
    return made


@features.register
def _(step: KBinsDiscretizer, found: list[Feature]) -> list[Feature]:
    made = []
    for feature, edges in zip(found, step.bin_edges_, strict=True):
        inner, bins = edges[1:-1], np.arange(len(edges) - 1)
        values = [bins] if step.encode == "ordinal" else np.eye(len(bins))
        made += [_composed(Pieces.steps(inner, row), feature) for row in values]
    return made
