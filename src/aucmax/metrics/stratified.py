"""The area under the ROC curve over pairs of the same stratum, with its interval and test.

docs/measures.md gives the formulas and the coverage of the interval.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax.basics.checks import number
from aucmax.data.strata import StrataWeight, check_strata_weight, omega_of
from aucmax.metrics.delong import ROUNDING, Spread, carrying_rows, effective_rows, variance_of_mean
from aucmax.metrics.intervals import AUCInterval, interval_around
from aucmax.metrics.levels import pairs_within
from aucmax.metrics.measured import MeasureTest, paired_test
from aucmax.metrics.reading import Bools, Floats, Labels, codes_of, read

__all__ = [
    "StratumAreas",
    "areas_in_order",
    "areas_within",
    "interval_within_folds",
    "stratified_auc",
    "stratified_auc_test",
]


def stratified_auc(
    y: Labels,
    score: ArrayLike,
    strata: ArrayLike,
    sample_weight: ArrayLike | None = None,
    strata_weight: StrataWeight = "positives",
    confidence: float = 0.95,
    pos_label: Any = None,
) -> AUCInterval:
    """Return the area under the ROC curve over pairs of the same stratum, with its interval.

    Parameters
    ----------
    y, score, sample_weight, pos_label
        As for `roc_auc`.
    strata : array-like of shape (n,)
        The stratum of each row: a day, a hospital, a query, a matched set. Numbers or text.
    strata_weight : {"positives", "pairs", "strata"}
        The weight of a stratum in the mean: that of its positives, so that each positive counts
        the same; that of its pairs; or 1.
    confidence : float, default=0.95
        Coverage of the two-sided interval, above 0 and below 1.

    Returns
    -------
    AUCInterval
        The named tuple ``(auc, low, high, std_error)``: the mean of the areas of the strata, and
        its interval, as from `auc_interval`. Strata of one class have no pairs and do not count.

    Raises
    ------
    ValueError
        If no stratum has both classes, if `strata_weight` is none of these, and for the reasons
        given in `auc_interval`.

    See Also
    --------
    stratified_auc_test : Compare two scorers on the same rows.

    Notes
    -----
    Scores of different strata are never compared, so they need not be comparable.
    With ``strata_weight="positives"`` this is the area adjusted for the strata as a covariate [1]_;
    for rankings within queries or users it is called GAUC. It takes O(n log n).

    Strata are the independent units, as if new strata were drawn; their rows may depend on each
    other. The area is a ratio of two sums over strata, and its variance that of its linear
    approximation [2]_: Σ h² (AUC − mean)² · k/(k − 1) for strata with shares h of the weight and
    their effective number k = 1/Σ h². The interval follows from it as in `auc_interval`, with
    strata instead of rows. With few strata it is wide, however many rows they have.

    References
    ----------
    .. [1] Janes, Pepe (2009). Adjusting for covariate effects on classification accuracy using the
       covariate-adjusted receiver operating characteristic curve. Biometrika 96, 371-382.
    .. [2] Cochran (1977). Sampling techniques. Wiley, section 6.3.

    Examples
    --------
    >>> day = ["mon", "mon", "tue", "tue", "tue"]
    >>> stratified_auc([0, 1, 0, 1, 1], [1, 2, 8, 7, 9], day).auc
    0.6666666666666666
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(100), 10)
    >>> y = rng.random(1000) < 0.2
    >>> score = y + rng.normal(size=1000) + rng.normal(size=100)[day]
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*stratified_auc(y, score, day)[:3]))
    0.750 (0.702 to 0.787)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    rows = read(y, sample_weight, pos_label, score=score, strata=_codes(strata))
    return areas_within(*rows).interval(strata_weight, confidence)


def stratified_auc_test(
    y: Labels,
    score_a: ArrayLike,
    score_b: ArrayLike,
    strata: ArrayLike,
    confidence: float = 0.95,
    pos_label: Any = None,
    sample_weight: ArrayLike | None = None,
    strata_weight: StrataWeight = "positives",
) -> MeasureTest:
    """Test whether two scorers rank pairs of the same stratum equally well.

    Parameters
    ----------
    y, strata, sample_weight, strata_weight, pos_label
        As for `stratified_auc`.
    score_a, score_b : array-like of shape (n,)
        Scores of the two scorers for the same rows, in the same order.
    confidence : float, default=0.95
        Coverage of the interval of the difference, above 0 and below 1.

    Returns
    -------
    MeasureTest
        The named tuple ``(difference, low, high, z, p_value)``, as from `average_precision_test`.

    Raises
    ------
    ValueError
        For the reasons given in `stratified_auc`.

    See Also
    --------
    stratified_auc : The area of one scorer with its confidence interval.

    Notes
    -----
    The variance is that of `stratified_auc`, for the differences between the areas of each
    stratum, plus difference² / k for k effective strata, as if the areas were equal; for matched
    pairs this is McNemar's test. With few strata it is a little stricter than Student's test.

    Examples
    --------
    >>> day = np.repeat(np.arange(30), 2)
    >>> y = np.arange(60) % 2
    >>> test = stratified_auc_test(y, y, np.where(day < 20, y, -y), day)
    >>> print("{:.3f} ({:.3f} to {:.3f})".format(*test[:3]))
    0.333 (0.124 to 0.542)
    """
    number(confidence, "confidence", high=1.0, open_low=True, open_high=True)
    positive, weight, *scores, stratum = read(
        y, sample_weight, pos_label, score_a=score_a, score_b=score_b, strata=_codes(strata)
    )
    a, b = (areas_within(positive, weight, score, stratum) for score in scores)
    rise = a._replace(auc=a.auc - b.auc)
    difference = a.mean(strata_weight) - b.mean(strata_weight)
    return paired_test(difference, rise.spread(strata_weight), confidence)


def _codes(strata: ArrayLike) -> NDArray[np.intp]:
    return codes_of(strata, "strata")[1]


class StratumAreas(NamedTuple):
    """The areas of the strata that have rows of both classes.

    Parameters
    ----------
    number : ndarray of int, shape (G,)
        The indices of these strata.
    auc : ndarray, shape (G,)
        The area of each stratum.
    pos, neg : ndarray, shape (G,)
        The weight of its positives and of its negatives.
    """

    number: NDArray[np.intp]
    auc: Floats
    pos: Floats
    neg: Floats

    def omega(self, strata_weight: StrataWeight) -> Floats:
        """Return the weight of each stratum, shape (G,)."""
        check_strata_weight(strata_weight)
        return np.asarray(omega_of(strata_weight, self.pos, self.neg, np.ones_like(self.pos)))

    def share(self, strata_weight: StrataWeight) -> Floats:
        """Return the share of each stratum in the mean, shape (G,)."""
        omega = self.omega(strata_weight)
        return np.asarray(omega / omega.sum())

    def mean(self, strata_weight: StrataWeight) -> float:
        """Return the mean of the areas."""
        return min(float(self.share(strata_weight) @ self.auc), 1.0)

    def spread(self, strata_weight: StrataWeight) -> Spread:
        """Return the variance of the mean, and Kish's effective number of strata behind it."""
        share = self.share(strata_weight)
        strata, apart = effective_rows(share), self.auc - self.auc[0]
        return Spread(variance_of_mean(apart, share) if strata > 2 - ROUNDING else 0.0, strata)

    def interval(self, strata_weight: StrataWeight, confidence: float) -> AUCInterval:
        """Return the mean of the areas with its interval."""
        auc, share = self.mean(strata_weight), self.share(strata_weight)
        carriers = carrying_rows(1.0 - self.auc, share)
        return interval_around(auc, 1.0 - auc, [self.spread(strata_weight)], [carriers], confidence)


def areas_within(
    positive: Bools, weight: Floats | None, score: NDArray[Any], stratum: NDArray[np.intp]
) -> StratumAreas:
    """Return the areas of strata with rows of both classes; raise ValueError if there are none."""
    order = np.argsort(score)
    order = order[np.argsort(stratum[order], kind="stable")]  # half the time of a lexsort
    own = np.ones(len(order)) if weight is None else weight[order]
    areas = areas_in_order(stratum[order], score[order], positive[order], own)
    if not len(areas.number):
        raise ValueError(
            "none of the strata has rows of both classes, so there are no pairs to rank; check "
            "that strata are days, sites or matched sets, not ids of rows."
        )
    return areas


def areas_in_order(
    stratum: NDArray[np.intp], score: NDArray[Any], positive: Bools, own: Floats
) -> StratumAreas:
    """Return the areas of the strata with rows of both classes.

    Parameters
    ----------
    stratum, score : ndarray, shape (n,)
        In ascending order of stratum, and of score within it.
    positive, own : ndarray, shape (n,)
        Whether the rows are positive, and their weights.
    """
    begins = np.ones((2, len(stratum)), dtype=bool)  # whether a stratum, or a score in it, begins
    begins[0, 1:] = stratum[1:] != stratum[:-1]
    begins[1, 1:] = begins[0, 1:] | (score[1:] != score[:-1])
    of_class = np.where(positive, own, 0.0), np.where(positive, 0.0, own)
    number, sums = stratum[begins[0]], np.zeros((int(begins[0].sum()), 4))
    pairs_within(begins, *of_class, sums)
    pos, neg, won, lost = sums.T
    rows = (pos > 0.0) & (neg > 0.0)
    auc = won[rows] / (won[rows] + lost[rows])
    return StratumAreas(number[rows], auc, pos[rows], neg[rows])


def interval_within_folds(
    held_out: tuple[Bools, Floats | None, NDArray[Any]],
    stratum: NDArray[Any],
    fold: NDArray[np.intp],
    strata_weight: StrataWeight,
) -> AUCInterval:
    """Return the area of held-out rows within strata with its 95 % interval; strata are the units.

    Scores of different folds are not compared. ``held_out`` consists of a mask of the positives,
    the weights and the scores.
    """
    count = int(stratum.max()) + 1
    areas = areas_within(*held_out, fold * count + stratum)
    share, unit = areas.share(strata_weight), areas.number % count
    total, area = (np.bincount(unit, of).astype(np.float64) for of in (share, share * areas.auc))
    units = np.flatnonzero(total)
    of_units = StratumAreas(units, area[units] / total[units], total[units], total[units])
    return of_units.interval("positives", 0.95)
