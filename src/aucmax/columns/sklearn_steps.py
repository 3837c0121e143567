"""The entries of scikit-learn's steps in the registry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline, PPoly
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
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
    TargetEncoder,
)

from aucmax.columns.functions import Feature, Pieces
from aucmax.columns.steps import OneToOne, Places, Step, flat, step_of
from aucmax.data.columns import Column, Words, column_of

__all__ = ["spline_with_ends"]

Floats = NDArray[np.float64]


# ---- steps made of steps


class _Pipeline(Step, of=[Pipeline]):
    def columns(self, columns: Places) -> Places:
        return reduce(lambda columns, step: step.columns(columns), flat(self.fitted), columns)

    def features(self, features: list[Feature]) -> list[Feature]:
        return reduce(lambda features, step: step.features(features), flat(self.fitted), features)

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        steps = flat(self.fitted)
        return steps[0].taken(columns) if steps else iter(columns)

    def parts(self) -> Iterator[Step]:
        for step in flat(self.fitted):
            yield from step.parts()


class _SideBySide(Step):
    def branches(self, inputs: Sequence[Any]) -> list[tuple[Step, Sequence[Any]]]:
        """Return the steps, each with the columns or features that it receives."""
        raise NotImplementedError

    def columns(self, columns: Places) -> Places:
        branches = self.branches(columns.tolist())
        return np.concatenate([step.columns(np.asarray(part, np.intp)) for step, part in branches])

    def features(self, features: list[Feature]) -> list[Feature]:
        return [z for step, part in self.branches(features) for z in step.features([*part])]

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        for step, part in self.branches(columns):
            yield from step.taken(part)

    def parts(self) -> Iterator[Step]:
        for step, _ in self.branches(range(getattr(self.fitted, "n_features_in_", 0))):
            yield from step.parts()


class _ColumnTransformer(_SideBySide, of=[ColumnTransformer]):
    results = ("transformers_", "n_features_in_")

    def branches(self, inputs: Sequence[Any]) -> list[tuple[Step, Sequence[Any]]]:
        places = self.fitted._transformer_to_input_indices
        return [
            (step_of(step), [inputs[j] for j in places[name]])
            for name, step, _ in self.fitted.transformers_
            if not (isinstance(step, str) and step == "drop") and len(places[name])
        ]


class _FeatureUnion(_SideBySide, of=[FeatureUnion]):
    def branches(self, inputs: Sequence[Any]) -> list[tuple[Step, Sequence[Any]]]:
        steps = (step for _, step in self.fitted.transformer_list if step != "drop")
        return [(step_of(step), inputs) for step in steps]


# ---- a feature for each column


class _Passthrough(OneToOne, of=[str]):
    learns_from_labels = False

    def features(self, features: list[Feature]) -> list[Feature]:
        return features


class _FunctionTransformer(Step, of=[FunctionTransformer]):
    def columns(self, columns: Places) -> Places:
        if self.fitted.func is None or self.fitted.feature_names_out == "one-to-one":
            return columns
        raise LookupError("the function of a FunctionTransformer may use several columns.")

    def features(self, features: list[Feature]) -> list[Feature]:
        if self.fitted.func is not None:
            raise ValueError("a FunctionTransformer with a function cannot be exported.")
        return features


class _Scaler(OneToOne):
    def features(self, features: list[Feature]) -> list[Feature]:
        if getattr(self.fitted, "clip", False):
            raise ValueError(f"{self.name}(clip=True) cannot be exported.")
        lines = zip(*self.lines(np.zeros(len(features))), features, strict=True)
        return [feature.then(Pieces.line(slope, at)) for slope, at, feature in lines]

    def lines(self, zero: Floats) -> tuple[Floats, Floats]:
        """Return the slope and the zero of each column's line; ``zero`` has a 0 for each column."""
        scale = self.fitted.scale_
        return zero + 1.0 if scale is None else 1.0 / scale, self.centre(zero)

    def centre(self, zero: Floats) -> Floats:
        return zero


class _MaxAbsScaler(_Scaler, of=[MaxAbsScaler]):
    results = ("scale_", "n_features_in_")


class _StandardScaler(_Scaler, of=[StandardScaler]):
    results = ("mean_", "scale_", "n_features_in_")

    def centre(self, zero: Floats) -> Floats:
        return self.fitted.mean_ if self.fitted.with_mean else zero


class _RobustScaler(_Scaler, of=[RobustScaler]):
    results = ("center_", "scale_", "n_features_in_")

    def centre(self, zero: Floats) -> Floats:
        return self.fitted.center_ if self.fitted.with_centering else zero


class _MinMaxScaler(_Scaler, of=[MinMaxScaler]):
    results = ("min_", "scale_", "n_features_in_")

    def lines(self, zero: Floats) -> tuple[Floats, Floats]:
        return self.fitted.scale_, -self.fitted.min_ / self.fitted.scale_


class _TfidfTransformer(OneToOne, of=[TfidfTransformer]):
    of_whole_rows = True


class _Normalizer(OneToOne, of=[Normalizer]):
    encodes = True
    of_whole_rows = True

    @property
    def row_norm(self) -> str:
        return str(self.fitted.norm)


class _Selector(Step, of=[SelectorMixin]):
    learns_from_labels = False

    def columns(self, columns: Places) -> Places:
        return columns[self.fitted.get_support()]

    def features(self, features: list[Feature]) -> list[Feature]:
        return [features[j] for j in self.fitted.get_support(indices=True)]


# ---- gaps


class _Imputer(Step, of=[SimpleImputer]):
    results = ("statistics_", "n_features_in_")

    def columns(self, columns: Places) -> Places:
        kept, indicator = columns[self.filled], self.fitted.indicator_
        return kept if indicator is None else np.append(kept, step_of(indicator).columns(columns))

    def features(self, features: list[Feature]) -> list[Feature]:
        _refuse_other_gaps(self)
        values, indicator = self.fitted.statistics_.tolist(), self.fitted.indicator_
        kept = [
            Feature(features[j].column, features[j].function.filled(values[j]))
            for j in np.flatnonzero(self.filled).tolist()
        ]
        return kept if indicator is None else kept + step_of(indicator).features(features)

    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        objects = self.fitted.statistics_.dtype.kind in "OUS"
        gap_is_none = self.fitted.missing_values is None
        for column, value in zip(columns, self.fitted.statistics_.tolist(), strict=True):
            kind = Words if isinstance(value, str) else Column
            yield kind(column.name, True, gap_is_none, objects)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which columns are kept: those with a value to fill gaps."""
        values = self.fitted.statistics_.tolist()
        return np.array([self.fitted.keep_empty_features or v == v for v in values], dtype=bool)


class _MissingIndicator(Step, of=[MissingIndicator]):
    def columns(self, columns: Places) -> Places:
        return columns[self.fitted.features_]

    def features(self, features: list[Feature]) -> list[Feature]:
        _refuse_other_gaps(self)
        with_gaps = [features[j] for j in self.fitted.features_]
        return [Feature(feature.column, feature.function.is_gap()) for feature in with_gaps]


def _refuse_other_gaps(step: Step) -> None:
    gap = step.fitted.missing_values
    if gap is not None and gap == gap:
        raise ValueError(
            f"{step.name}(missing_values={gap!r}) cannot be exported; NaN as the missing value can."
        )


# ---- words


class _Encoder(Step):
    def taken(self, columns: Sequence[Column]) -> Iterator[Column]:
        skips = getattr(self.fitted, "handle_unknown", "error") != "error"
        for column, categories in zip(columns, self.fitted.categories_, strict=True):
            yield _encoded(column.name, np.asarray(categories), skips)

    def words(self) -> list[list[Any]]:
        """Return the words of each column that the encoder knows, None for gaps."""
        if any(words is not None for words in getattr(self.fitted, "infrequent_categories_", ())):
            raise ValueError(f"a {self.name} that groups rare words cannot be exported.")
        categories = [words.tolist() for words in self.fitted.categories_]
        if any(isinstance(word, bool) for words in categories for word in words):
            raise ValueError(f"a {self.name} of true and false cannot be exported; numbers can.")
        return [[None if word != word else word for word in words] for words in categories]


class _OneHotEncoder(_Encoder, of=[OneHotEncoder]):
    results = ("categories_", "n_features_in_")

    def columns(self, columns: Places) -> Places:
        return np.repeat(columns, self.fitted._n_features_outs)

    def features(self, features: list[Feature]) -> list[Feature]:
        default = np.nan if self.fitted.handle_unknown == "error" else 0.0
        dropped = self.fitted.drop_idx_
        encoded = []
        for j, (feature, words) in enumerate(zip(features, self.words(), strict=True)):
            without = None if dropped is None else dropped[j]
            # a word without a feature is still a known word
            always = {} if without is None else {words[without]: 0.0}
            for place, word in enumerate(words):
                if place != without:
                    values = feature.function.looked_up({word: 1.0, **always}, default)
                    encoded.append(Feature(feature.column, values))
        return encoded


class _OrdinalEncoder(OneToOne, _Encoder, of=[OrdinalEncoder]):
    results = ("categories_", "n_features_in_")

    def features(self, features: list[Feature]) -> list[Feature]:
        gap = self.fitted.encoded_missing_value
        if self.fitted.handle_unknown != "error" or gap == gap:
            raise ValueError(
                "an OrdinalEncoder with codes for unknown words or gaps cannot be exported."
            )
        encoded = []
        for feature, words in zip(features, self.words(), strict=True):
            codes = {word: float(code) for code, word in enumerate(words)}
            encoded.append(Feature(feature.column, feature.function.looked_up(codes, np.nan)))
        return encoded


class _TargetEncoder(OneToOne, _Encoder, of=[TargetEncoder]):
    """An encoder whose features cannot be exported."""


def _encoded(name: str, categories: NDArray[Any], skips: bool) -> Column:
    """Return the kind of a column with the categories of an encoder."""
    values = categories.tolist()
    words = [value for value in values if value is not None and value == value]
    return replace(
        column_of(name, categories),
        gaps=skips or len(words) < len(values),
        gap_is_none=any(value is None for value in values),
        objects=categories.dtype.kind not in "iufb",
    )


# ---- splines and bins


class _SplineTransformer(Step, of=[SplineTransformer]):
    def columns(self, columns: Places) -> Places:
        return np.repeat(columns, self.fitted.n_features_out_ // len(columns))

    def features(self, features: list[Feature]) -> list[Feature]:
        step = self.fitted
        if step.extrapolation in ("periodic", "error"):
            raise ValueError(
                f"SplineTransformer(extrapolation={step.extrapolation!r}) cannot be exported; "
                "'constant', 'linear' and 'continue' can."
            )
        if step.extrapolation == "linear" and step.degree < 2:
            # scikit-learn 1.9 extrapolates differently from the second column on
            raise ValueError(
                "SplineTransformer(extrapolation='linear') needs degree 2 to be exported."
            )
        return [
            feature.then(self._function(spline, basis))
            for feature, spline in zip(features, step.bsplines_, strict=True)
            for basis in range(spline.c.shape[1] - (not step.include_bias))
        ]

    def _function(self, spline: BSpline, basis: int) -> Pieces:
        """Return an element of a spline basis as a function, with the step's extrapolation."""
        gap = 0.0 if getattr(self.fitted, "handle_missing", "error") == "zeros" else np.nan
        element = BSpline(spline.t, spline.c[:, basis], spline.k)
        if self.fitted.extrapolation == "continue":
            ends, coefs = _inside(element)
            return Pieces(ends[1:-1], ends[:-1], coefs, gap)
        return spline_with_ends(element, self.fitted.extrapolation == "linear", gap)


def spline_with_ends(spline: BSpline, linear: bool = False, gap: float = np.nan) -> Pieces:
    """Return a spline as polynomials between knots, continued as lines or as constants."""
    ends, coefs = _inside(spline)
    lines = np.zeros((2, coefs.shape[1]))
    # not from the polynomials: unit-norm scaling would magnify their rounding at the last knot
    lines[:, 0] = spline(ends[[0, -1]])
    if linear:
        lines[:, 1] = spline(ends[[0, -1]], nu=1)
    origins = np.concatenate([ends[:1], ends])
    return Pieces(ends, origins, np.vstack([lines[:1], coefs, lines[1:]]), gap)


def _inside(spline: BSpline) -> tuple[Any, Any]:
    """Return the knots and polynomials of a spline, without the pieces beyond its ends."""
    polynomials = PPoly.from_spline(spline)
    end = len(spline.t) - spline.k - 1
    return polynomials.x[spline.k : end + 1], polynomials.c[::-1, spline.k : end].T


class _KBinsDiscretizer(Step, of=[KBinsDiscretizer]):
    def columns(self, columns: Places) -> Places:
        ordinal = self.fitted.encode == "ordinal"
        return columns if ordinal else np.repeat(columns, self.fitted.n_bins_)

    def features(self, features: list[Feature]) -> list[Feature]:
        binned = []
        for feature, edges in zip(features, self.fitted.bin_edges_, strict=True):
            bins = np.arange(len(edges) - 1)
            values = [bins] if self.fitted.encode == "ordinal" else np.eye(len(bins))
            binned += [feature.then(Pieces.steps(edges[1:-1], row)) for row in values]
        return binned
