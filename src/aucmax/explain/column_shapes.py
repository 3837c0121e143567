"""Shapes of columns: what each value adds to the score, unless that is a straight line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from aucmax.basics.quantiles import quantiles
from aucmax.columns.functions import phase
from aucmax.columns.preparations import CYCLES
from aucmax.data.columns import Column, is_gap
from aucmax.explain.by_column import ByColumn
from aucmax.explain.curve_points import curve_points
from aucmax.explain.feature_effects import Effects, Sampling, effects_of, labelled, sampling_of
from aucmax.explain.pair_shapes import PairShape, pair_shape, pair_shapes_of

__all__ = ["Shape", "shape_of", "shapes", "shapes_of"]

Floats = NDArray[np.float64]

_PROBED_VALUES = 300  # distinct values at which linearity is checked
_QUANTILES = (0.01, *np.linspace(0.1, 0.9, 9).tolist(), 0.99)
_MAX_NAMED_COLUMNS = 20  # columns in a message
_MAX_PROBED_COLUMNS = 100  # columns to check, those with the largest effects first
_LINE_TOL = 1e-6  # negligible deviation from a line, as a share of the contribution


class Shape(NamedTuple):
    """What the values of a column add to the score, minus the average contribution of the column.

    Parameters
    ----------
    column : Column
        The column.
    values : ndarray, shape (m,)
        Numbers in ascending order, from the smallest to the largest of the rows, dense enough for
        linear interpolation. Or words (objects), those that add most first; among ties, the most
        frequent first.
    added : ndarray, shape (m,)
        What each value adds.
    low, high : ndarray, shape (m,)
        The ends of its interval, NaN if there is none.
    missing : float
        The contribution of a missing number; NaN if none is missing.
    quantiles : ndarray, shape (11,)
        Quantiles of the numbers in the rows: 1 %, the deciles, and 99 %; empty for words.
    """

    column: Column
    values: NDArray[Any]
    added: Floats
    low: Floats
    high: Floats
    missing: float = np.nan
    quantiles: Floats = np.empty(0)

    @property
    def feature(self) -> str:
        """The name of the column."""
        return self.column.name


def shapes(
    model: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    feature_names: Sequence[str] | None = None,
) -> list[Shape | PairShape]:
    """Return the shapes of nonlinear columns, largest effects first, and then those of pairs.

    The weekday and the time of day of a date have their own shapes, after that of the date.

    Parameters
    ----------
    model, X, y, sample_weight, confidence, feature_names
        As for `aucmax.effects`, whose errors it raises.
    """
    by, sign, weight, _ = labelled(model, X, y, sample_weight, feature_names)
    effects, sampling = effects_of(by, sign, weight, confidence)
    curves = shapes_of(by, effects, sampling, confidence, weight)
    return [*curves, *pair_shapes_of(by, effects, weight)]


def shapes_of(
    by: ByColumn,
    effects: Effects,
    sampling: Sampling,
    confidence: float = 0.95,
    weight: Floats | None = None,
) -> Iterator[Shape]:
    """Yield the shapes of nonlinear columns, those with the largest effects first.

    Parameters
    ----------
    by : ByColumn
        Rows, whose values are shown.
    effects : Effects
        The effects of their columns.
    sampling : Sampling
        The variation of the coefficients.
    confidence : float
        Coverage of the interval at each value.
    weight : ndarray, shape (n,), optional
        Of the rows.
    """
    place = {name: j for j, name in enumerate(by.names)}
    terms = [place[name] for name in effects.feature.tolist()]
    columns = [j for j in terms if j < len(by.columns)][:_MAX_PROBED_COLUMNS]
    yield from _bent(by, columns, sampling, confidence, weight)


def shape_of(
    model: Any,
    X: Any,
    y: ArrayLike,
    column: str,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    feature_names: Sequence[str] | None = None,
) -> Shape | PairShape:
    """Return the shape of one column, or of a pair.

    Parameters
    ----------
    model, X, y, sample_weight, confidence, feature_names
        As for `aucmax.effects`, whose errors it raises.
    column : str
        Its name; for a cycle of a date, the name with ": weekday" or ": hour"; or the names of a
        pair with a map, such as "age × income".

    Raises
    ------
    ValueError
        If it is not a column of the model, or has no shape, for instance because it is linear.
    """
    by, sign, weight, _ = labelled(model, X, y, sample_weight, feature_names)
    owner = column if column in by.names else column.rpartition(": ")[0]
    if owner not in by.names:
        names = ", ".join(by.names[:_MAX_NAMED_COLUMNS]) + (
            ", …" if len(by.names) > _MAX_NAMED_COLUMNS else ""
        )
        raise ValueError(f"column={column!r} is not one of the model's columns: {names}.")
    if (k := by.names.index(owner) - len(by.columns)) >= 0:
        return pair_shape(by, k, weight)
    sampling = sampling_of(by, sign, weight)
    for shape in _bent(by, [by.names.index(owner)], sampling, confidence, weight):
        if column in (owner, shape.feature):
            return shape
    reason = "its effect is a straight line"
    if _of_whole_rows(by):
        reason = "what a value adds depends on the rest of its row"
    raise ValueError(f"column={column!r} has no shape to draw: {reason}.")


def _bent(
    by: ByColumn,
    columns: list[int],
    sampling: Sampling,
    confidence: float,
    weight: Floats | None,
) -> Iterator[Shape]:
    """Yield the shapes of the columns that are not linear."""
    if not by.steps or _of_whole_rows(by):
        return
    examples = {j: _different(by.values(j)) for j in columns}
    bent = [j for j in columns if not _straight(by, j, *examples[j])]
    numeric = [j for j in bent if examples[j][0].dtype != object]
    curves = curve_points(by, {j: _filled(by.values(j)) for j in numeric})
    added_by = _Contributions(by, sampling, confidence, by.mean(weight))
    for j in columns:
        if j in bent:
            yield _shape(by, j, examples[j], curves.get(j), added_by, weight)
        for name in CYCLES:
            if len(by.features_of(j, name)) and len(examples[j][0]):
                yield _shape_of_cycle(by, j, name, added_by, weight)


class _Contributions(NamedTuple):
    """What values of features add to the score, relative to the mean features (D,)."""

    by: ByColumn
    sampling: Sampling
    confidence: float
    mean: Floats

    def __call__(self, Z: Floats, features: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return what some features add (m,), and half the width of its interval (m,)."""
        coef = np.ravel(self.by.linear.coef_).astype(np.float64)
        Z = Z - self.mean[features]
        added, reach = Z @ coef[features], np.full(len(Z), np.nan)
        has_error, covariance = self.sampling.of(features)
        if has_error.any():
            variance = np.einsum("ij,jk,ik->i", Z[:, has_error], covariance, Z[:, has_error])
            reach = stdtrit(self.sampling.freedom, 0.5 + 0.5 * self.confidence) * np.sqrt(variance)
        return added, reach


def _shape(
    by: ByColumn,
    j: int,
    examples: tuple[NDArray[Any], NDArray[np.intp]],
    curve: tuple[Floats, Floats] | None,
    added_by: _Contributions,
    weight: Floats | None,
) -> Shape:
    """Return the shape of a column, without its cycles."""
    values, rows = examples
    features, has_gap = by.features_of(j, cycle=""), len(rows) > len(values)
    Z, missing = _dense(by.features[rows][:, features]), np.nan
    if curve is not None:
        values, at_values = curve
        Z = np.vstack([at_values, Z[-1:]]) if has_gap else at_values
    added, reach = added_by(Z, features)
    if has_gap:
        of_cycles = np.setdiff1d(by.features_of(j), features)
        of_gap = _dense(by.features[rows[-1:]][:, of_cycles])
        missing = float(added[-1] + added_by(of_gap, of_cycles)[0][0])
        added, reach = added[:-1], reach[:-1]
    order = slice(len(values)) if curve is not None else np.argsort(-added, kind="stable")
    ends = (added - reach)[order], (added + reach)[order]
    parting = np.empty(0) if curve is None else _quantiles(by.values(j), weight)
    return Shape(by.columns[j], values[order], added[order], *ends, missing, parting)


def _shape_of_cycle(
    by: ByColumn, j: int, name: str, added_by: _Contributions, weight: Floats | None
) -> Shape:
    """Return the shape of a cycle of a column."""
    features, cycle = by.features_of(j, name), CYCLES[name]
    order: Any
    if cycle.names is None:
        days, Z = curve_points(by, {j: cycle.days}, name)[j]
        values, order = 24.0 * days, slice(len(days))
        parting = _quantiles(24.0 * phase(by.values(j).astype(np.float64), 1.0), weight)
        added, reach = added_by(Z, features)
    else:
        values, parting = cycle.names, np.empty(0)
        Z = _dense(by.features_at({j: cycle.days})[:, features])
        added, reach = added_by(Z, features)
        order = np.argsort(-added, kind="stable")
    ends = (added - reach)[order], (added + reach)[order]
    column = Column(f"{by.names[j]}: {name}")
    return Shape(column, values[order], added[order], *ends, quantiles=parting)


def _of_whole_rows(by: ByColumn) -> bool:
    """Return whether any feature depends on the whole row."""
    return any(part.of_whole_rows for step in by.steps for part in step.parts())


def _straight(by: ByColumn, j: int, values: NDArray[Any], rows: NDArray[np.intp]) -> bool:
    """Return whether the distinct values of column j, at these rows, and gaps are on a line."""
    features = by.features_of(j, cycle="")
    if not len(values):
        return True  # only gaps
    added = _dense(by.features[rows][:, features]) @ np.ravel(by.linear.coef_)[features]
    # an indicator of gaps is not on the line of the other features
    marks_gaps = len(rows) > len(values) and len(features) > 1
    return _is_line(values, added[: len(values)]) and not marks_gaps


def _dense(Z: Any) -> Floats:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z)


def _filled(values: NDArray[Any]) -> Floats:
    """Return the numbers of a column without its gaps."""
    numbers = values.astype(np.float64)
    return numbers[~np.isnan(numbers)]


def _quantiles(values: NDArray[Any], weight: Floats | None) -> Floats:
    """Return quantiles of the numbers of a column."""
    numbers = values.astype(np.float64)
    filled = ~np.isnan(numbers)
    weights = None if weight is None else weight[filled]
    return quantiles(numbers[filled], weights, np.array(_QUANTILES))


def _different(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the distinct values of a column, numbers or words, and one row for each.

    Words come in descending order of their frequency. A gap counts as a word; among numbers its row
    comes last, without a value.
    """
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        words = np.array(["missing" if is_gap(v) else str(v) for v in values], dtype=object)
        different, rows, counts = np.unique(words, return_index=True, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return different[order], rows[order]
    filled, gaps = np.flatnonzero(~np.isnan(numbers)), np.flatnonzero(np.isnan(numbers))
    points, rows = np.unique(numbers[filled], return_index=True)
    if len(points) > _PROBED_VALUES:
        probed = np.unique(
            np.searchsorted(points, np.linspace(points[0], points[-1], _PROBED_VALUES))
        )
        points, rows = points[probed], rows[probed]
    return points, np.append(filled[rows], gaps[:1])


def _is_line(values: NDArray[Any], added: Floats) -> bool:
    """Return whether contributions are proportional to the values, or constant."""
    if len(values) < 2 or values.dtype == object:
        return len(values) < 2 or not np.ptp(added)
    line = added[0] + (values - values[0]) / np.ptp(values) * (added[-1] - added[0])
    return bool(np.abs(added - line).max() <= _LINE_TOL * np.ptp(added))
