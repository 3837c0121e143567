"""DeLong's variance of the area under the ROC curve, and Hoeffding's bounds where it fails.

docs/auc_intervals.md gives the formulas and references.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import rel_entr

from aucmax.metrics.levels import Levels, above, area, levels_of, ranked, rivals_above
from aucmax.metrics.reading import Bools, Floats, Labels, read_groups

__all__ = [
    "ROUNDING",
    "Pair",
    "Placed",
    "Spread",
    "carrying_rows",
    "effective_rows",
    "hoeffding_interval",
    "hoeffding_log_p",
    "paired",
    "placed",
    "shrunk_variance",
    "variance_of_counted",
    "variance_of_mean",
]

ROUNDING = 1e-12  # shares of a class that differ by less count as equal


class Spread(NamedTuple):
    """The contribution of one class to the variance of an area."""

    variance: float
    rows: float  # number of independent rows; with weights, Kish's effective number


class Placed(NamedTuple):
    """Rows with the number of rows of the other class above each; or means over groups of rows.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Which rows are positive.
    above : ndarray, shape (n,)
        The `rivals_above` each row, or the difference of two such counts.
    weight : ndarray, shape (n,), optional
        The weights of the rows.
    group : ndarray of int, shape (n,), optional
        The group of each entry, if entries stand for all rows of one class and one group.
    times : ndarray, shape (n,), optional
        How many rows each entry stands for, if rows have no weights.
    """

    positive: Bools
    above: Floats
    weight: Floats | None = None
    group: NDArray[np.intp] | None = None
    times: Floats | None = None

    @classmethod
    def at(cls, levels: Levels) -> "Placed":
        """Return one entry for all rows of a class at a level, for rows without weights."""
        counts = np.concatenate([levels.pos, levels.neg])
        positive = np.repeat([True, False], len(levels.rows))
        rivals = np.concatenate(above(levels)[::-1])
        occupied = counts > 0
        return cls(positive[occupied], rivals[occupied], times=counts[occupied])

    def by_group(self, group: NDArray[np.intp] | None) -> "Placed":
        """Return one entry for all rows of a class in a group, with their mean and total weight.

        Rows of a group are not independent, but the means of groups are: they can be treated like
        weighted rows, except that a group may have rows of both classes, see `shared`.
        """
        if group is None:
            return self
        weight = np.ones(len(group)) if self.weight is None else self.weight
        cells, cell = np.unique(2 * group + self.positive, return_inverse=True)
        total, above = (
            np.bincount(cell, values).astype(np.float64) for values in (weight, weight * self.above)
        )
        return Placed(cells % 2 == 1, above / total, total, cells // 2)

    def spreads(self) -> tuple[Spread, Spread]:
        """Return var(V10)/m and var(V01)/n; zeros if a class has only one row."""
        above, weight = self.above, self.weight
        classes = (self.positive, ~self.positive)
        if weight is None:
            rows = totals = [self._count(own) for own in classes]
        else:
            rows = [effective_rows(weight[own]) for own in classes]
            totals = [float(weight[own].sum()) for own in classes]
        if min(rows) < 2 - ROUNDING:
            return Spread(0.0, rows[0]), Spread(0.0, rows[1])
        # n (1 - V10) rivals are above a positive, with the same variance; m V01 above a negative.
        # These are multiples of ½; minus the first one, equal shares have variance exactly zero.
        placed = [
            (above[own] - above[own][0]) / total
            for own, total in zip(classes, reversed(totals), strict=True)
        ]
        if self.times is not None:
            times = [self.times[own] for own in classes]
            variances = [variance_of_counted(*pair) for pair in zip(placed, times, strict=True)]
        elif weight is None:
            variances = [float(v.var(ddof=1)) / v.size for v in placed]
        else:
            shares = [weight[own] / total for own, total in zip(classes, totals, strict=True)]
            variances = [variance_of_mean(*pair) for pair in zip(placed, shares, strict=True)]
        return Spread(variances[0], rows[0]), Spread(variances[1], rows[1])

    def carriers(self) -> tuple[float, float]:
        """Return the effective number of rows of each class that carry its variance."""
        return self._carriers(self.positive), self._carriers(~self.positive)

    def _carriers(self, own: Bools) -> float:
        times = None if self.times is None else self.times[own]
        if self.weight is None:
            return carrying_rows(self.above[own] / self._count(~own), times, times)
        return carrying_rows(self.above[own] / self.weight[~own].sum(), self.weight[own])

    def _count(self, own: Bools) -> float:
        """Return the number of rows of a class."""
        return float(np.count_nonzero(own) if self.times is None else self.times[own].sum())

    def shared(self) -> float:
        """Return twice the covariance between the classes, due to groups with rows of both.

        This is Obuchowski's (1997), with Kish's effective numbers of groups instead of counts.
        """
        if self.group is None or self.weight is None:
            return 0.0
        moved = []
        for own in (self.positive, ~self.positive):
            share, k = self.weight[own] / self.weight[own].sum(), effective_rows(self.weight[own])
            if k < 2 - ROUNDING:
                return 0.0
            placed = (self.above[own] - self.above[own][0]) / self.weight[~own].sum()
            by_group = share * (placed - share @ placed) * np.sqrt(k / (k - 1))
            moved.append(np.bincount(self.group[own], by_group, self.group.max() + 1))
        # rivals above a positive lower the area, rivals above a negative raise it
        return -2 * float(moved[0] @ moved[1])


class Pair(NamedTuple):
    """Two scorers on the same rows."""

    difference: float
    variance: float  # DeLong's, or Obuchowski's for groups
    shrunk: float  # the same, shrunk towards the largest possible variance
    smaller: float  # number of rows, or groups, of the smaller class
    alike: bool  # whether both scorers rank all rows alike


def paired(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    pos_label: Any,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
) -> Pair:
    """Return the difference of two areas, its variance, and the data for bounds."""
    scores = {"score_a": score_a, "score_b": score_b}
    positive, weight, group, a, b = read_groups(y, sample_weight, pos_label, groups, **scores)
    rows_a, rows_b = ranked(positive, weight, a), ranked(positive, weight, b)
    difference = area(rows_a.levels) - area(rows_b.levels)
    rise = rivals_above(rows_a, positive) - rivals_above(rows_b, positive)
    if weight is not None:  # sums in different orders differ by rounding
        total = np.where(positive, weight[~positive].sum(), weight[positive].sum())
        rise[np.abs(rise) <= ROUNDING * total] = 0.0
    alike = not rise.any()
    units = Placed(positive, rise, weight).by_group(group)
    positive, rise, weight = units.positive, units.above, units.weight
    spreads, shared = units.spreads(), units.shared()
    shrunk = shared
    for spread, own, rivals in zip(
        spreads, (positive, ~positive), (~positive, positive), strict=True
    ):
        size, square = _mean(np.abs(rise), own, weight, rivals), spread.variance * spread.rows
        # the effective number of rows that carry the difference, (Σ |v|)² / Σ v²
        squares = square + difference**2
        carriers = spread.rows * size**2 / squares if squares > 0.0 else 0.0
        shrunk += shrunk_variance(spread, carriers, size - difference**2, added=2)
    variance = sum(spread.variance for spread in spreads) + shared
    return Pair(difference, variance, shrunk, min(spread.rows for spread in spreads), alike)


def _mean(rivals: Floats, own: Bools, weight: Floats | None, others: Bools) -> float:
    """Return the mean, over a class, of rivals as shares of the other class."""
    if weight is None:
        return float(rivals[own].mean()) / np.count_nonzero(others)
    return float(np.average(rivals[own], weights=weight[own]) / weight[others].sum())


def shrunk_variance(spread: Spread, seen: float, largest: float, added: float) -> float:
    """Return the variance due to a class, with `added` rows of the largest possible variance.

    The observed rows count as `seen` rows; `largest` is the largest variance of a row.
    docs/auc_intervals.md has the formulas.
    """
    if seen <= 0.0:
        return spread.variance
    square = spread.variance * spread.rows
    return max((seen * square + added * largest) / (seen + added) / spread.rows, spread.variance)


def carrying_rows(
    loss: Floats, weight: Floats | None = None, square: Floats | None = None
) -> float:
    """Return the effective number of rows that carry a class's variance, (Σ l²)² / Σ l⁴.

    The l are the losses, or 1 − losses if that gives less: the variance of a high AUC comes from
    the few rows that lose much. `weight` is the weight of each row, or of all rows with a loss;
    then `square` is the sum of their squared weights.
    """
    weight = np.ones(len(loss)) if weight is None else weight
    square = weight**2 if square is None else square
    numbers = []
    for part in (loss, 1 - loss):
        second = part**2
        fourth = float(square @ second**2)  # 0 also if the squares of decayed weights underflow
        numbers.append(float(weight @ second) ** 2 / fourth if fourth > 0.0 else 0.0)
    return min(numbers)


def effective_rows(weight: Floats) -> float:
    """Return Kish's effective number of rows, (Σ w)² / Σ w²: their count if weights are equal."""
    share = weight / weight.max()
    return float(share.sum() ** 2 / (share @ share))


def placed(
    positive: Bools, weight: Floats | None, group: NDArray[np.intp] | None, score: NDArray[Any]
) -> tuple[Levels, Placed]:
    """Return the levels of the scores, and the rows or groups placed among their rivals."""
    if weight is None and group is None:
        levels = levels_of(positive, None, score)
        return levels, Placed.at(levels)
    rows = ranked(positive, weight, score)
    return rows.levels, Placed(positive, rivals_above(rows, positive), weight).by_group(group)


def variance_of_counted(values: Floats, times: Floats) -> float:
    """Return var/n of values that each occur several times; 0 for a single value."""
    n = float(times.sum())
    apart = values - float(times @ values) / n
    return float(times @ apart**2) / max(n - 1.0, 1.0) / n


def variance_of_mean(values: Floats, share: Floats) -> float:
    """Return Σ share² (v − mean)² k/(k − 1) for shares that sum to 1: var/n if they are equal."""
    k = effective_rows(share)
    if np.abs(values).max() <= ROUNDING:
        return 0.0
    return float(np.sum((share * (values - share @ values)) ** 2)) * k / (k - 1)


def hoeffding_interval(mean: float, k: float, confidence: float) -> tuple[float, float]:
    """Return all θ with k KL(mean ‖ θ) ≤ log(2 / (1 - confidence)), for a mean in [0, 1]."""
    bound = np.log(2 / (1 - confidence)) / k

    def lower(mean: float) -> float:
        def excess(log_theta: float) -> float:
            theta = np.exp(log_theta)
            return float(rel_entr(mean, theta) + rel_entr(1 - mean, 1 - theta) - bound)

        # solved for log θ: the divergence is nearly linear in it, and θ may underflow
        least = np.log(np.finfo(float).tiny)
        if mean == 0.0 or excess(least) <= 0.0:
            return 0.0
        return float(np.exp(brentq(excess, least, np.log(mean))))

    return lower(mean), 1.0 - lower(1.0 - mean)


def hoeffding_log_p(difference: float, k: float) -> float:
    """Return the log of a bound on P(|A - B| ≥ difference), for AUCs of equal expectation."""
    half_up = (1 + difference) / 2
    divergence = rel_entr(half_up, 0.5) + rel_entr(1 - half_up, 0.5)
    return min(0.0, float(np.log(2) - k * divergence))
