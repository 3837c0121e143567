"""Points at which to evaluate the functions of columns, for accurate linear interpolation.

Steps need not declare their knots or edges: an interval is halved as long as the function at its
midpoint is off the line between its ends. Smooth pieces take few points, corners some, and a jump
gets a point on either side.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from aucmax.explain.by_column import ByColumn

__all__ = ["curve_points"]

Floats = NDArray[np.float64]

_START_POINTS = 64  # points spread over the range, and as many over the rows
_MAX_HALVINGS = 30
_LINE_TOL = 1e-3  # tolerance at a midpoint, as a share of the typical contribution of a value
_ROUNDING_SHARE = 1e-9  # the same for rounding


def curve_points(
    by: ByColumn, numbers: Mapping[int, Floats], cycle: str = ""
) -> dict[int, tuple[Floats, Floats]]:
    """Return points of columns in ascending order, and the features of each column there.

    Parameters
    ----------
    by : ByColumn
        The model's features.
    numbers : mapping of int to ndarray
        The numbers of each column; the points range from the smallest to the largest.
    cycle : str
        The cycle of the features, "" for features without one.
    """
    if not numbers:
        return {}
    starts = {j: _starts(values) for j, values in numbers.items()}
    curves = [_Curve(by, j, cycle) for j in starts]
    _evaluate(by, {curve: starts[curve.j] for curve in curves})
    for curve in curves:
        inner = np.quantile(numbers[curve.j], (0.01, 0.99))
        usual = curve.added[(inner[0] <= curve.x) & (curve.x <= inner[1])]
        curve.scale = float(np.ptp(usual) if len(usual) and np.ptp(usual) else np.ptp(curve.added))
    for _ in range(_MAX_HALVINGS):
        middles = {curve: curve.middles() for curve in curves}
        middles = {curve: points for curve, points in middles.items() if len(points)}
        if not middles:
            break
        _evaluate(by, middles)
    return {curve.j: curve.needed(starts[curve.j]) for curve in curves}


class _Curve:
    """Points of a column's function, and the intervals on which it may not be a line."""

    def __init__(self, by: ByColumn, j: int, cycle: str) -> None:
        self.j, self.features = j, by.features_of(j, cycle)
        self.coef = np.ravel(by.linear.coef_).astype(np.float64)[self.features]
        self.x, self.Z = np.empty(0), np.empty((0, len(self.features)))
        self.open = np.empty(0, dtype=bool)  # for the interval after each point
        self.scale = 0.0

    @property
    def added(self) -> Floats:
        return self.Z @ self.coef

    def middles(self) -> Floats:
        """Return the midpoints of open intervals whose ends are not adjacent floats."""
        i = np.flatnonzero(self.open[:-1])
        low, high = self.x[i], self.x[i + 1]
        middle = low + (high - low) / 2
        return middle[(low < middle) & (middle < high)]

    def put(self, points: Floats, Z: Floats) -> None:
        """Add points; the halves of an interval are open if its midpoint is off the line."""
        if not len(self.x):
            self.x, self.Z, self.open = points, Z, np.ones(len(points), dtype=bool)
            return
        place, added = np.searchsorted(self.x, points), self.added
        line = (added[place - 1] + added[place]) / 2
        off = np.abs(Z @ self.coef - line) > _LINE_TOL * self.scale
        self.open[:] = False
        self.open[place - 1] = off
        self.x, self.Z = np.insert(self.x, place, points), np.insert(self.Z, place, Z, axis=0)
        self.open = np.insert(self.open, place, off)

    def needed(self, start_points: Floats) -> tuple[Floats, Floats]:
        """Return the points without redundant ones inside straight pieces."""
        added, x = self.added, self.x
        share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
        line = added[:-2] + share * (added[2:] - added[:-2])
        straight = np.zeros(len(x), dtype=bool)
        straight[1:-1] = np.abs(added[1:-1] - line) <= _ROUNDING_SHARE * self.scale
        stays = ~straight | np.isin(x, start_points)
        return x[stays], self.Z[stays]


def _starts(numbers: Floats) -> Floats:
    """Return points spread over the range of numbers, and over the rows."""
    over_rows = np.quantile(numbers, np.linspace(0.0, 1.0, _START_POINTS))
    return np.unique([*over_rows, *np.linspace(numbers.min(), numbers.max(), _START_POINTS)])


def _evaluate(by: ByColumn, points: Mapping[_Curve, Floats]) -> None:
    """Add points to curves: each artificial row has one point of every curve's column."""
    length = max(map(len, points.values()))
    features = by.features_at(
        {curve.j: np.pad(x, (0, length - len(x)), "edge") for curve, x in points.items()}
    )
    for curve, x in points.items():
        Z = features[: len(x)][:, curve.features]
        curve.put(x, np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z))
