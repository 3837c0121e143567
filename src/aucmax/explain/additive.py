"""A fitted model as a sum of functions of single columns, and of products of two.

A linear model of features that each depend on one column is such a sum, with any of these steps of
scikit-learn in front: imputers, scalers, one-hot encoders, bins, splines. Maps of pairs add
products. Scaling rows to unit norm divides the sum by the root of another sum. Exports need nothing
else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aucmax.columns.functions import Feature, Pieces, Product, Word, Words, by_column
from aucmax.columns.steps import columns_of, parts_of
from aucmax.data.columns import Column
from aucmax.estimators import AUCRanker
from aucmax.estimators.probabilities import Calibration

__all__ = ["Additive", "additive"]

Part = Feature | Product


@dataclass(frozen=True)
class Additive:
    """A score: intercept + Σ parts, the sum divided by the root of Σ squares if there are any.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the columns of an array.
    parts, squares : tuple of Feature and Product
        At most one of each family for a column. If the squares add up to 0, there is no division.
    intercept : float
    classes : ndarray, shape (2,)
        The negative and the positive label; empty for a model that only ranks.
    spread : float or None
        The approximate standard deviation of the scores, if known.
    calibration : Sigmoid, Isotonic or None
        The map from scores to probabilities, if the model has one.
    """

    columns: tuple[Column, ...]
    parts: tuple[Part, ...]
    squares: tuple[Part, ...]
    intercept: float
    classes: NDArray[Any]
    spread: float | None
    calibration: Calibration | None = None

    def scores(self, columns: Sequence[NDArray[Any]], dtype: Any = np.float64) -> NDArray[Any]:
        """Return the scores of rows, given by columns, computed in the precision ``dtype``."""
        scores = _added(self.parts, columns, dtype)
        if self.squares:
            squares = _added(self.squares, columns, dtype)
            scores = scores / np.sqrt(np.where(squares > 0, squares, dtype(1)))
        return scores + dtype(self.intercept)

    def rounding(self) -> float:
        """Return the approximate error of a score after rounding to float32."""
        size = abs(self.intercept) + sum(map(_moved_by_rounding, self.parts))
        return size * float(np.finfo(np.float32).eps) / 2


def _added(parts: Iterable[Part], columns: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    total = np.zeros(len(columns[0]), dtype=dtype)
    for part in parts:
        total += part.values(columns, dtype)
    return total


def _moved_by_rounding(part: Part) -> float:
    """Return how far values would move if each origin moved by its own size."""
    if isinstance(part, Product):
        first, second = part.first, part.second
        return _moved_by_rounding(first) * _size(second) + _size(first) * _moved_by_rounding(second)
    pieces = part.function
    if isinstance(pieces, Pieces) and pieces.coefs.shape[1] > 1:
        return float(np.abs(pieces.coefs[:, 1] * pieces.origins).max())
    return 0.0


def _size(part: Feature) -> float:
    """Return the largest absolute value; for pieces, among those at their origins."""
    function = part.function
    if isinstance(function, Pieces):
        return float(np.abs(function.coefs[:, 0]).max())
    assert isinstance(function, Words)
    return max(map(abs, [*function.values.values(), function.other]))


def additive(model: Any, names: Sequence[str] | None = None) -> Additive:
    """Write a fitted model as a sum of functions of its columns.

    Parameters
    ----------
    model : estimator
        A linear scorer of two classes, an `AUCRanker`, or a pipeline that ends in one.
    names : sequence of str, optional
        The names of the columns, for a model that does not have them.

    Returns
    -------
    Additive
        Its scores are those of the model.

    Raises
    ------
    ValueError
        For an unknown step, or a model that is not linear in its features.
    """
    check_is_fitted(model)
    steps, linear = parts_of(model)
    shape, classes = np.shape(getattr(linear, "coef_", ())), getattr(linear, "classes_", ())
    if shape[:1] != (1,) or (len(classes) != 2 and not isinstance(linear, AUCRanker)):
        raise ValueError(
            f"a {type(linear).__name__} cannot be exported; only linear models of two classes can, "
            "with steps in front that use one column at a time."
        )
    columns = _columns(model, names)
    features: list[Any] = [
        Feature(j, Word() if column.is_text else Pieces.line()) for j, column in enumerate(columns)
    ]
    norm = None
    for step in steps:
        if norm is not None:
            raise ValueError("Normalizer can only be exported directly in front of the model.")
        norm = step.row_norm
        features = step.features(features) if norm is None else features
    if norm not in (None, "l2"):
        raise ValueError(f"Normalizer(norm={norm!r}) cannot be exported; l2 can.")
    coef = np.ravel(linear.coef_).astype(np.float64)
    weighed = [
        feature.times(weight)
        for feature, weight in zip(features, coef.tolist(), strict=True)
        # a word with the coefficient 0 is still known
        if weight != 0.0 or (isinstance(feature, Feature) and isinstance(feature.function, Words))
    ]
    squares = [feature.squared() for feature in features if norm is not None and weighed]
    variances = getattr(linear, "spread_", None)
    return Additive(
        columns,
        by_column(weighed),
        by_column(squares),
        float(np.ravel(linear.intercept_)[0]),
        np.asarray(getattr(model, "classes_", classes)),  # those of a scorecard, not of its line
        None if variances is None else float(np.sqrt(coef**2 @ variances / 2)),
        getattr(linear, "calibration_", None),
    )


def _columns(model: Any, labels: Sequence[str] | None) -> tuple[Column, ...]:
    """Return the columns that the first step takes."""
    d = int(model.n_features_in_)
    names = getattr(model, "feature_names_in_", labels)
    names = [""] * d if names is None else [str(name) for name in names]
    if len(names) != d:
        raise ValueError(f"the model has {d} columns, but {len(names)} names were given.")
    duplicates = [name for name, count in Counter(names).items() if name and count > 1]
    if duplicates:
        raise ValueError(f"two columns are called {duplicates[0]!r}; column names must be unique.")
    pairs = zip(names, columns_of(model, names), strict=True)
    return tuple(Column(name) if column is None else column for name, column in pairs)
