"""The concordance index: the area under the ROC curve for labels of many degrees.

docs/ranking.md gives the formulas, and how well the interval covers.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax.basics.checks import number
from aucmax.data.comparisons import Comparisons
from aucmax.data.degrees import Degrees
from aucmax.data.strata import Strata, StrataWeight
from aucmax.metrics.delong import ROUNDING, Spread, carrying_rows, effective_rows
from aucmax.metrics.intervals import AUCInterval, interval_around
from aucmax.metrics.reading import Floats, scores_of, weights_of
from aucmax.metrics.stratified import StratumAreas

__all__ = ["concordance"]


def concordance(
    y: ArrayLike,
    score: ArrayLike,
    sample_weight: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    strata_weight: StrataWeight = "pairs",
    confidence: float = 0.95,
) -> AUCInterval:
    """Return the concordance index with its standard error and a confidence interval.

    Parameters
    ----------
    y : array-like of shape (n,)
        Numbers, such as grades or amounts, where higher ones should have higher scores; or a
        structured array with two fields, a bool (whether the event occurred) and a number (the time
        of the event or of the censoring).
    score : array-like of shape (n,)
        Scores; for times, a higher score means an earlier event.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, zero or more; the weight of a pair is the product of its rows' weights.
    strata : array-like of shape (n,), optional
        Only rows of the same stratum are compared. Numbers or text.
    strata_weight : {"pairs", "positives", "strata"}
        The weight of a stratum in the mean: that of its pairs, so that each pair counts the same;
        that of its rows that should rank above another row; or 1.
    confidence : float, default=0.95
        Coverage of the two-sided interval, above 0 and below 1.

    Returns
    -------
    AUCInterval
        The named tuple ``(auc, low, high, std_error)``, as from `auc_interval`: ``auc`` is the
        share of the pairs whose scores have the order of y; tied scores count half.

    Raises
    ------
    ValueError
        If the order of no two rows is known, if a row lacks a score or a finite value of y, or if a
        setting is not one of the above.

    See Also
    --------
    auc_interval : The same for two classes.
    stratified_auc : The same for two classes within strata.

    Notes
    -----
    The order of two rows is known if their grades differ; for times, if the earlier time is that of
    an event [1]_. With two grades this is the area under the ROC curve. It takes O(n log n).

    The standard error is that of the linear approximation: the index is a ratio of two sums over
    pairs, and each row moves it by the sum over its own pairs. The interval follows from it as in
    `auc_interval`. With strata, the strata are the independent units, as in `stratified_auc`.

    References
    ----------
    .. [1] Harrell, Califf, Pryor, Lee, Rosati (1982). Evaluating the yield of medical tests. JAMA
       247, 2543-2546.

    Examples
    --------
    >>> grade = np.repeat([0, 1, 2, 3], 50)
    >>> score = grade + np.random.default_rng(0).normal(scale=2, size=200)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*concordance(grade, score)[:3]))
    0.689 (0.635 to 0.735)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    degrees = Degrees.of(y)
    n, rows = len(degrees), np.arange(len(degrees))
    weight = None
    if sample_weight is not None:
        weight = weights_of(sample_weight, n)
        rows = np.flatnonzero(weight)
        weight = weight[rows]
    scores = np.unique(scores_of(score, "score", n)[rows], return_inverse=True)[1]
    of_rows = None if strata is None else Strata.of(strata, n).at(rows)
    pairs = Comparisons.of(degrees.at(rows), weight, of_rows)
    own = np.ones(len(rows)) if weight is None else weight
    if not pairs.lead.any():
        where = "" if strata is None else " within any stratum"
        raise ValueError(
            f"y has no two rows of which one is known to rank above the other{where}; it needs two "
            "different grades, or an event before another time."
        )
    if strata is None:
        return _interval(pairs, scores, own, confidence)
    return _areas(pairs, scores, own).interval(strata_weight, confidence)


def _lost(pairs: Comparisons, scores: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return the weight of the pairs in the wrong order, by upper row and by lower row."""
    z = scores.astype(np.float64)
    wrong, not_right = pairs.near(z, 0.0), pairs.near(z, 0.0, closed=True)
    return 0.5 * (wrong.lead + not_right.lead), 0.5 * (wrong.trail + not_right.trail)


def _interval(
    pairs: Comparisons, scores: NDArray[Any], own: Floats, confidence: float
) -> AUCInterval:
    """Return the index of all pairs, with rows as independent units."""
    (lost_above, lost_below), total = _lost(pairs, scores), pairs.lead.sum()
    miss = float(lost_above.sum() / total)
    every = pairs.lead + pairs.trail
    counted = every > 0.0
    every, lost = every[counted], (lost_above + lost_below)[counted]
    moved = (lost - miss * every) / total  # the derivative by the number of times each row occurs
    # at most as many pairs are independent of each other
    rows = effective_rows(every)
    upper, lower = (effective_rows(own[of > 0.0]) for of in (pairs.lead, pairs.trail))
    units = min(upper, lower, 0.5 * rows)
    variance = float(moved @ moved) * units / (units - 1.0) if units > 2.0 - ROUNDING else 0.0
    carriers = carrying_rows(lost / every, every) * units / rows
    return interval_around(1.0 - miss, miss, [Spread(variance, units)], [carriers], confidence)


def _areas(pairs: Comparisons, scores: NDArray[Any], own: Floats) -> StratumAreas:
    """Return the index of each stratum that has pairs."""
    lost = pairs.of_stratum(_lost(pairs, scores)[0])
    total, upper = pairs.of_stratum(pairs.lead), pairs.of_stratum(own * (pairs.lead > 0.0))
    number = np.flatnonzero(total > 0.0)
    total, upper = total[number], upper[number]
    # the product of the last two is the weight of the pairs
    return StratumAreas(number, 1.0 - lost[number] / total, upper, total / upper)
