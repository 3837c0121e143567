"""Checks of labels, scores and weights, with the same messages for all metrics."""

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax.basics.checks import refuse_nul
from aucmax.data.rows.source import Source

__all__ = [
    "Bools", "Floats", "Labels", "codes_of", "read", "read_groups", "row_count", "scaled",
    "scores_of", "weights_of",
]  # fmt: skip

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Labels = ArrayLike | Source  # a source also provides weights, unless others are passed


def read(
    y: Labels, sample_weight: ArrayLike | None, pos_label: Any, **scores: ArrayLike
) -> tuple[Any, ...]:
    """Return a mask of the positive rows, the weights or None, and each of the scores.

    Rows of weight zero are dropped.
    """
    if isinstance(y, Source):
        y, of_rows = y.labels()
        sample_weight = of_rows if sample_weight is None else sample_weight
    refuse_nul(y)
    labels = _vector(y, "y")
    if labels.size == 0:
        raise ValueError("y is empty; it needs at least one positive and one negative row.")
    weight, weighs, scope = None, None, ""
    if sample_weight is not None:
        weight = weights_of(sample_weight, labels.size)
        weighs = weight > 0
        weight = weight[weighs]
        scope = "" if weighs.all() else " in the rows of non-zero sample_weight"
    positive = _positive(labels if weighs is None else labels[weighs], pos_label, scope)
    n = labels.size
    return positive, weight, *(scores_of(score, name, n, weighs) for name, score in scores.items())


def read_groups(
    y: Labels,
    sample_weight: ArrayLike | None,
    pos_label: Any,
    groups: ArrayLike | None,
    **scores: ArrayLike,
) -> tuple[Any, ...]:
    """Return the same as `read`, with the index of each row's group, or None, before the scores."""
    if groups is None:
        positive, weight, *plain = read(y, sample_weight, pos_label, **scores)
        return positive, weight, None, *plain
    codes = codes_of(groups, "groups")[1]
    positive, weight, codes, *plain = read(y, sample_weight, pos_label, groups=codes, **scores)
    return positive, weight, codes, *plain


def codes_of(values: ArrayLike, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct values, and for each row the index of its value."""
    try:
        distinct, codes = np.unique(_vector(values, name), return_inverse=True)
        if np.any(distinct != distinct):  # NaN and NaT are missing
            raise TypeError
    except TypeError:
        raise ValueError(
            f"{name} must be numbers or text, all of one type and none of them missing."
        ) from None
    return distinct, codes


def _vector(values: ArrayLike, name: str, n: int | None = None) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one-dimensional; got rows of unequal length.") from None
    if array.ndim != 1:
        hint = ""
        if array.ndim == 2:
            hint = " (ravel it)" if array.shape[1] == 1 else f" (pass one column, {name}[:, 1])"
        raise ValueError(f"{name} must be one-dimensional{hint}; got shape {array.shape}.")
    if n is not None and array.size != n:
        raise ValueError(f"{name} must have one value per row of y, {n}; got {array.size}.")
    return array


def _numeric(values: ArrayLike, name: str, n: int) -> NDArray[Any]:
    array = _vector(values, name, n)
    if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} must be numbers, none of them missing.") from None
    if array.dtype.kind not in "biuf":
        kind = "text" if array.dtype.kind in "OUST" else str(array.dtype)
        raise ValueError(f"{name} must be real numbers; got {kind}.")
    return array


def scores_of(values: ArrayLike, name: str, n: int, rows: Bools | None = None) -> NDArray[Any]:
    """Return the scores of some of n rows, or of all; raise ValueError if one is missing."""
    # scores keep their type: as float64, different int64 scores above 2**53 could become ties
    array = _numeric(values, name, n)
    missing = np.isnan(array)
    if rows is not None:
        missing &= rows
    if missing.any():
        raise ValueError(
            f"{name} has {missing.sum()} NaN, the first in row {missing.argmax()}; "
            "every row needs a number (infinity is allowed)."
        )
    return array if rows is None else np.asarray(array[rows])


def weights_of(values: ArrayLike, n: int) -> Floats:
    """Return the weights of n rows, scaled; raise ValueError if they are invalid or all 0."""
    weight = _numeric(values, "sample_weight", n).astype(np.float64)
    invalid = ~(np.isfinite(weight) & (weight >= 0))
    if invalid.any():
        row = int(invalid.argmax())
        raise ValueError(
            f"sample_weight must be finite and not negative; got {weight[row]} in row {row}."
        )
    if not weight.any():
        raise ValueError("sample_weight is zero in every row; at least one must be positive.")
    return scaled(weight)


def scaled(weight: Floats) -> Floats:
    """Scale weights to at most 1, so that sums and products of sums do not overflow.

    No metric depends on the scale. The factor is a power of two, so that sums of integer weights
    stay exact.
    """
    return np.asarray(np.ldexp(weight, -np.frexp(weight.max())[1]))


def _positive(labels: NDArray[Any], pos_label: Any, scope: str = "") -> Bools:
    distinct: Any
    try:
        # a set first, because sorting a million Python strings takes half a second
        distinct = sorted(set(labels)) if labels.dtype.kind == "O" else np.unique(labels)
        values = list(distinct) if labels.dtype.kind == "O" else distinct.tolist()
        if any(label is None or label != label for label in values):
            raise ValueError("y has missing labels; every row needs one.")
    except TypeError:
        raise ValueError(
            "y has missing labels, or labels of different types, which cannot be ordered; "
            "every row needs a label, all of one type."
        ) from None
    listed = ", ".join(map(repr, values[:5])) + (", ..." if len(values) > 5 else "")
    if pos_label is not None:
        chosen = [i for i, label in enumerate(values) if label == pos_label]
        if not chosen:
            raise ValueError(f"pos_label={pos_label!r} is not a label of y{scope}: {listed}.")
    else:
        chosen = [len(values) - 1]
    if len(values) == 1:
        raise ValueError(
            f"y has only one class{scope}, {listed}; it needs at least one positive and one "
            "negative row."
        )
    if len(values) > 2 and pos_label is None:
        raise ValueError(
            f"y has {len(values)} labels ({listed}); give two, or name the positive one with "
            "pos_label to compare it with the rest."
        )
    return np.asarray(labels == distinct[chosen[0]])


def row_count(k: Any, n: int) -> float:
    """Return k if it is an integer from 1 to n, or the number of rows if it is a share below 1."""
    if isinstance(k, float | np.floating) and 0 < k < 1:
        return float(k) * n
    try:
        count = operator.index(k)
    except TypeError:
        raise ValueError(
            "k must be a whole number of rows, at least 1, or a share of them between 0 and 1; "
            f"got {k!r}."
        ) from None
    if not 1 <= count <= n:
        raise ValueError(f"k must be from 1 to the number of rows, {n}; got {k!r}.")
    return count
