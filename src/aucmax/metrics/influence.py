"""The influence of each row on a measure of scored rows, from which its variance follows.

docs/measures.md gives the formulas and references.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.checks import number
from aucmax.metrics.delong import ROUNDING
from aucmax.metrics.levels import (
    Levels,
    Ranked,
    above,
    at_rows,
    flagged_up_to,
    levels_of,
    mean_precision,
    pairs_won_and_lost,
    ranked,
    recall_up_to,
    share_of_top,
)
from aucmax.metrics.reading import Bools, Floats, row_count

__all__ = [
    "Influence",
    "Measure",
    "Scores",
    "area",
    "average_precision",
    "flagged_at_fpr",
    "flagged_at_k",
    "precision_at_k",
    "rate",
    "recall_at_fpr",
    "recall_at_k",
]

_REACH = 2.0  # a slope at a threshold is taken within so many standard errors of its rank


class Influence(NamedTuple):
    """A measure, and how far each row, or other independent unit, moves it.

    Parameters
    ----------
    value : float
        The measure, between 0 and 1.
    moved : ndarray, shape (u,)
        The derivative of the measure by the number of times that each unit occurs; sums to 0.
    trials : ndarray, shape (u,)
        The weight of each unit in the mean that the measure is; 0 for units that do not count.
    times : ndarray or float
        How many units each entry stands for.
    """

    value: float
    moved: Floats
    trials: Floats
    times: Floats | float = 1.0

    @property
    def variance(self) -> float:
        """The variance of the measure."""
        return float(np.sum(self.times * self.moved**2))

    @property
    def units(self) -> float:
        """Kish's effective number of trials."""
        share = self.trials / self.trials.max()
        return float(np.sum(self.times * share) ** 2 / np.sum(self.times * share**2))

    @property
    def carriers(self) -> float:
        """The effective number of units that carry the variance, (Σ D²)² / Σ D⁴."""
        squares = self.moved**2 / max(self.variance, ROUNDING**2)
        return 1.0 / max(float(np.sum(self.times * squares**2)), ROUNDING)


class Scores(NamedTuple):
    """Scored rows, whose influence on a measure is computed.

    Parameters
    ----------
    positive, weight, score
        As `read` returns them.
    alike : bool
        Whether rows of one class with no positive between them may form one unit, if rows have no
        weights: this takes a fraction of the memory if positives are rare.
    """

    positive: Bools
    weight: Floats | None
    score: NDArray[Any]
    alike: bool = False

    def units(self, *cuts: Any) -> "_Units":
        """Return the units of the rows; units of several rows are divided at the cuts."""
        if not self.alike or self.weight is not None:
            rows = ranked(self.positive, self.weight, self.score)
            weight = np.ones(len(self.positive)) if self.weight is None else self.weight
            return _Units(rows.levels, self.positive, weight, 1.0, rows)
        levels = levels_of(self.positive, None, self.score, cuts)
        positive = np.repeat([True, False], len(levels.rows))
        times = np.concatenate([levels.pos, levels.neg])
        return _Units(levels, positive, np.ones(len(times)), times)


def _highest(score: NDArray[Any], rank: int) -> Any:
    """Return the score of a rank, which is 1 for the highest score, or the lowest score beyond."""
    place = max(len(score) - rank, 0)
    return np.partition(score, place)[place]


class _Units(NamedTuple):
    """Units: single rows, or all rows of a class at a level."""

    levels: Levels
    positive: Bools  # (u,)
    weight: Floats  # (u,) the weight of each row of the unit
    times: Floats | float  # how many rows the unit has
    rows: Ranked | None = None

    def at(self, of_pos: Floats, of_neg: Floats) -> Floats:
        """Return, for each unit, the value of its class at its level."""
        if self.rows is None:
            return np.concatenate([of_pos, of_neg])
        return at_rows(self.rows, self.positive, of_pos, of_neg)

    def effective(self, positive: bool) -> float:
        """Return Kish's effective number of rows of a class."""
        own = self.weight * (self.positive == positive)
        return self.sum(own) ** 2 / self.sum(own**2)

    def sum(self, values: Floats) -> float:
        """Return the sum of values over rows."""
        return float(np.sum(self.times * values))


Measure = Callable[[Scores], Influence]


def rate(share: Floats, weight: Floats) -> Influence:
    """Return the influence of rows on the mean of their shares, numbers in [0, 1]."""
    value = min(float(np.average(share, weights=weight)), 1.0)
    return Influence(value, weight * (share - value) / weight.sum(), weight)


def area(scores: Scores) -> Influence:
    """Return the influence of rows on the area under the ROC curve; the rarer class are the trials.

    The variance is DeLong's without the corrections for few rows.
    """
    units = scores.units()
    won, lost = pairs_won_and_lost(units.levels)
    value, totals = won / (won + lost), [of.sum() for of in units.levels[1:]]
    of_pos, of_neg = above(units.levels)
    moved = units.at((1.0 - of_neg / totals[1] - value) / totals[0],
                     (of_pos / totals[0] - value) / totals[1])  # fmt: skip
    rarer = units.positive == (units.effective(True) <= units.effective(False))
    return Influence(value, units.weight * moved, units.weight * rarer, units.times)


def average_precision(scores: Scores) -> Influence:
    """Return the influence of each row on the average precision."""
    units = scores.units()
    pos, neg = units.levels.pos, units.levels.neg
    hits, alarms = np.cumsum(pos), np.cumsum(neg)
    value, total = mean_precision(units.levels), hits[-1]
    # a row changes the precision at its own level and at all levels below it
    gain, loss = (
        np.cumsum((pos / total * part / (hits + alarms) ** 2)[::-1])[::-1]
        for part in (alarms, hits)
    )
    moved = units.weight * units.at((hits / (hits + alarms) - value) / total + gain, -loss)
    return Influence(value, moved, units.weight * units.positive, units.times)


def precision_at_k(k: float) -> Measure:
    """Return the influence of rows on the share of positives among the k highest scores."""

    def influence(scores: Scores) -> Influence:
        top = _Top.of(k, scores)
        units, weight = top.units, top.units.weight
        hits, hits_moved = top.sum_of(weight * units.positive)
        flagged, flagged_moved = top.sum_of(weight)
        value = min(hits / flagged, 1.0)
        moved = (hits_moved - value * flagged_moved) / flagged
        return Influence(value, moved, weight * top.share, units.times)

    return influence


def recall_at_k(k: float) -> Measure:
    """Return the influence of rows on the share of the positives among the k highest scores."""

    def influence(scores: Scores) -> Influence:
        top = _Top.of(k, scores)
        own = top.units.weight * top.units.positive
        (hits, moved), total = top.sum_of(own), top.units.sum(own)
        value = min(hits / total, 1.0)
        return Influence(value, (moved - value * own) / total, own, top.units.times)

    return influence


class _Top(NamedTuple):
    """The k rows with the highest scores."""

    units: _Units
    share: Floats  # (u,) the share of each unit that is among them
    around: Floats  # (u,) the weights of the units around the cut; sum to 1
    rows: float  # k/n

    @classmethod
    def of(cls, k: float, scores: Scores) -> "_Top":
        n = len(scores.positive)
        k = row_count(k, n)
        units = scores.units(_highest(scores.score, int(np.ceil(k))))
        reach = _REACH * float(np.sqrt(k * (1.0 - k / n)))
        ends = max(k - reach, 0.0), k, min(k + reach, float(n))
        of_levels = [share_of_top(units.levels, end) for end in ends]
        higher, share, lower = (units.at(of, of) for of in of_levels)
        return cls(units, share, (lower - higher) / max(ends[2] - ends[0], 1.0), k / n)

    def sum_of(self, weight: Floats) -> tuple[float, Floats]:
        """Return the total weight of these rows, and how far each row moves it.

        A further row among them displaces one at the cut, and any further row raises k by k/n.
        """
        at_the_cut = self.units.sum(weight * self.around)
        moved = weight * self.share + at_the_cut * (self.rows - self.share)
        return self.units.sum(weight * self.share), moved


def recall_at_fpr(max_fpr: float) -> Measure:
    """Return the influence of rows on the largest recall at a false-positive rate."""
    number(max_fpr, "max_fpr", high=1.0)

    def influence(scores: Scores) -> Influence:
        negatives = scores.score[~scores.positive]
        units = scores.units(_highest(negatives, int(max_fpr * len(negatives)) + 1))
        levels, weight = units.levels, units.weight
        flagged, fpr, value = flagged_up_to(levels, max_fpr)
        error = np.sqrt(max_fpr * (1.0 - max_fpr) / units.effective(False))
        reach = _REACH * float(error)
        low, high = max(max_fpr - reach, 0.0), min(max_fpr + reach, 1.0)
        rise = recall_up_to(levels, high) - recall_up_to(levels, low)
        slope = rise / (high - low) if high > low else 0.0
        share = (np.arange(len(levels.rows)) < flagged).astype(np.float64)
        pos, neg = levels.pos.sum(), levels.neg.sum()
        moved = units.at((share - value) / pos, slope * (fpr - share) / neg)
        return Influence(value, weight * moved, weight * units.positive, units.times)

    return influence


def flagged_at_k(k: float, scores: Scores) -> Floats:
    """Return the share of each row that is among the k highest scores, shape (n,)."""
    return _Top.of(k, scores).share


def flagged_at_fpr(max_fpr: float, scores: Scores) -> Floats:
    """Return which rows may be flagged at a false-positive rate, 1 or 0, shape (n,)."""
    units = scores.units()
    share = np.zeros(len(units.levels.rows))
    share[: flagged_up_to(units.levels, max_fpr)[0]] = 1.0
    return units.at(share, share)
