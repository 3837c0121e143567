"""ROC, precision-recall, gains and lift curves with bands, thinned for drawing, as figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucmax import metrics
from aucmax.metrics.delong import effective_rows
from aucmax.metrics.scored import Scored
from aucmax.report.figures import Figure, Line
from aucmax.report.text import auc_text, interval_text

__all__ = [
    "RARE_SHARE",
    "ScoredSets",
    "gains",
    "gains_figure",
    "lift",
    "lift_figure",
    "mean_precision_recall",
    "mean_roc",
    "precision_figure",
    "precision_recall",
    "ranking_figures",
    "roc",
    "roc_figure",
    "wilson",
]

Floats = NDArray[np.float64]

_MAX_POINTS = 500  # of a curve
_GRID = np.linspace(0.0, 1.0, 201)
_AXIS = (-0.01, 1.01)
RARE_SHARE = 0.05  # share of positives below which axes are logarithmic
RECALL, FPR = "recall (true-positive rate)", "false-positive rate"
_NO_DETAILS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class ScoredSets:
    """The test sets of several scorers, and how their curves are drawn.

    Parameters
    ----------
    scored : mapping of str to sequence of Scored
        The test sets of each scorer. One is drawn as a curve with a confidence band, several as
        the mean curve with the spread.
    confidence : float
        Confidence level of the band of one test set.
    of : str
        The name of the data, if a page has several pairs of figures.
    bands : collection of str
        The scorers that get a band; all if empty.
    """

    scored: Mapping[str, Sequence[Scored]]
    confidence: float = 0.95
    of: str = ""
    bands: Collection[str] = ()

    @property
    def first(self) -> tuple[str, Scored]:
        """The first scorer and its first test set."""
        (name, (test, *_)), *_ = self.scored.items()
        return name, test

    @property
    def percent(self) -> str:
        """The confidence level in words."""
        return f"{100 * self.confidence:g} %"

    def lines(
        self,
        curve: Callable[[Scored, float], Line],
        mean: Callable[[Sequence[Scored]], Line] | None = None,
        area: Callable[[Scored, float], str] | None = None,
        details: Mapping[str, str] = _NO_DETAILS,
    ) -> dict[str, Line]:
        """Return the curve of each scorer's test set, or the mean curve of several.

        Their ``details`` in the legend are, by default, the area under the curve of a scorer with
        one test set.
        """
        lines = {}
        for name, (test, *more_tests) in self.scored.items():
            if more_tests and mean is not None:
                line = mean([test, *more_tests])
            else:
                line = curve(test, self.confidence)
            if self.bands and name not in self.bands:
                line = replace(line, edge=None, interval=None)
            detail = details.get(name, "")
            if name not in details and area is not None and not more_tests:
                detail = area(test, self.confidence)
            lines[name] = replace(line, detail=detail)
        return lines

    def caption(self, curve: str, band: str) -> str:
        """Return the caption of a curve, with what its band means for one test set or several."""
        banded = [name for name in self.scored if not self.bands or name in self.bands]
        all_banded = len(banded) == len(self.scored)
        band_of = "Band" if all_banded else f"Band (of {' and '.join(banded)})"
        several = len(next(iter(self.scored.values())))
        if several == 1:
            return f"{band_of}: at each threshold, {band}."
        return (
            f"Mean over {several} test sets of the {curve}. {band_of}: one standard deviation to "
            "either side."
        )

    def titled(self, subject: str) -> str:
        """Return the title of a figure."""
        title = f"{self.of}: {subject}" if self.of else subject
        return title[:1].upper() + title[1:]


def ranking_figures(
    tests: ScoredSets, details: Sequence[Mapping[str, str]] = (_NO_DETAILS, _NO_DETAILS)
) -> list[Figure]:
    """Make the ROC curve and the precision-recall curve, with the details of each by scorer."""
    return [roc_figure(tests, details[0]), precision_figure(tests, details[1])]


def roc_figure(
    tests: ScoredSets, details: Mapping[str, str] = _NO_DETAILS, few: bool = False
) -> Figure:
    """Make the ROC curve of several scorers, zoomed in if it is steep.

    ``few`` makes the axis of the false-positive rate logarithmic, which magnifies the part with few
    false alarms.
    """
    lines = tests.lines(roc, mean_roc, _auc, details)
    all_sets = [test for sets in tests.scored.values() for test in sets]
    least = min(1.0 / np.count_nonzero(~test.positive) for test in all_sets)
    end = 1.0 if few else _corner(lines)
    caption = tests.caption(
        "recall at each false-positive rate",
        f"the joint {tests.percent} region of both rates from Wilson's binomial intervals; "
        "pointwise, not for the whole curve at once",
    )
    at_random = np.geomspace(least, 1.0, 101) if few else np.array([0.0, 1.0])
    title = "ROC curve at few false alarms" if few else "ROC curve"
    caption += " Dotted: random scores."
    if end < 1:
        caption += " Zoomed in."
    return Figure(
        f"roc {'few' if few else ''}{tests.of}", tests.titled(title), FPR, RECALL, lines, caption,
        xlog=few, xpercent=True, ypercent=True, xlim=(least if few else -0.01 * end, end),
        ylim=_AXIS, guide=(at_random.tolist(), at_random.tolist()), follows="roc",
    )  # fmt: skip


def precision_figure(tests: ScoredSets, details: Mapping[str, str] = _NO_DETAILS) -> Figure:
    """Make the precision-recall curve of several scorers.

    If positives are rare, precision has a logarithmic axis.
    """
    share = float(np.mean([test.share for test in next(iter(tests.scored.values()))]))
    rare = share < RARE_SHARE
    band = f"Wilson's {tests.percent} interval of the precision; pointwise"
    return Figure(
        f"precision {tests.of}", tests.titled("precision and recall"), RECALL, "precision",
        tests.lines(precision_recall, mean_precision_recall, _average_precision, details),
        f"{tests.caption('precision at each recall', band)} Dotted: the share of positives.",
        xpercent=True, ypercent=True, xlim=_AXIS, ylog=rare,
        ylim=(share / 2, 1.2) if rare else _AXIS,
        guide=((0.0, 1.0), (share, share)), follows="precision",
    )  # fmt: skip


def gains_figure(tests: ScoredSets) -> Figure:
    """Make the gains curve of several scorers of one test set: recall over the share flagged.

    If positives are rare, the share has a logarithmic axis, because its left end matters.
    """
    share, rare, lim = _flagging(tests)
    grid = np.geomspace(lim[0] or 1e-3, 1.0, 101)
    best = np.minimum(grid / share, 1.0)
    return Figure(
        "gains", "Gains", "share flagged", RECALL, tests.lines(gains),
        "Share of the positives found by flagging the highest scores. Band: Wilson's "
        f"{tests.percent} interval of the recall, pointwise. Dotted: random and perfect scores.",
        xlog=rare, xpercent=True, ypercent=True, xlim=lim, ylim=_AXIS, follows="gains",
        guide=(np.r_[grid, np.nan, grid].tolist(), np.r_[grid, np.nan, best].tolist()),
    )  # fmt: skip


def lift_figure(tests: ScoredSets) -> Figure:
    """Make the lift curve of several scorers of one test set.

    If positives are rare, both axes are logarithmic.
    """
    _, rare, lim = _flagging(tests)
    return Figure(
        "lift", "Lift", "share flagged", "lift over random", tests.lines(lift),
        "Positives found, as a multiple of those among as many random rows. Band: "
        f"Wilson's {tests.percent} interval, pointwise. Dotted: random scores.",
        xlog=rare, ylog=rare, xpercent=True, xlim=lim, follows="lift",
        ylim=(0.7 if rare else 0.0, None), guide=((0.0, 1.0), (1.0, 1.0)),
    )  # fmt: skip


def _flagging(tests: ScoredSets) -> tuple[float, bool, tuple[float, float]]:
    """Return the share of positives, whether they are rare, and the limits of the flagged share."""
    _, test = tests.first
    rare = test.share < RARE_SHARE
    return test.share, rare, (1.0 / len(test.positive) if rare else 0.0, 1.0)


def _auc(test: Scored, confidence: float) -> str:
    positive, score, weight, groups = test
    auc, low, high, _ = metrics.auc_interval(
        positive, score, confidence, sample_weight=weight, groups=groups
    )
    return f"AUC {auc_text(auc)} ({interval_text(low, high)})"


def _average_precision(test: Scored, confidence: float) -> str:
    positive, score, weight, groups = test
    interval = metrics.average_precision_interval(
        positive, score, confidence, sample_weight=weight, groups=groups
    )
    return measure_words("average precision", interval)


def measure_words(name: str, interval: metrics.MeasureInterval) -> str:
    """Return a measure with its interval, in words."""
    ends = interval_text(interval.low, interval.high)
    return f"{name} {auc_text(interval.value)} ({ends})"


def _corner(lines: Mapping[str, Line]) -> float:
    """Return the end of the axis of false-positive rates: 1, unless the curves are steep."""
    full = max(float(line.x[np.searchsorted(line.y, 0.99)]) for line in lines.values())
    return next((end for end in (0.02, 0.05, 0.1, 0.2) if 2 * full <= end), 1.01)


def roc(test: Scored, confidence: float) -> Line:
    """Return the ROC curve with a pointwise confidence band.

    Parameters
    ----------
    test : Scored
        With weights, the band uses Kish's effective number of rows of each class.
    confidence : float
        Confidence level of the joint region of both rates at a threshold.

    Notes
    -----
    At a threshold the two rates are binomial proportions of independent classes, so the product of
    their Wilson intervals, each of level √confidence, is a joint region of that confidence. The
    band is the union of these rectangles: pointwise in the threshold, not simultaneous.
    """
    fpr, tpr, _ = metrics.roc_curve(*test[:3])
    points = _thinned(fpr + tpr)
    fpr, tpr = fpr[points], tpr[points]
    n_positive, n_negative = test.effective(True), test.effective(False)
    level = float(np.sqrt(confidence))
    x_low, x_high = wilson(fpr * n_negative, np.full(len(fpr), n_negative), level)
    y_low, y_high = wilson(tpr * n_positive, np.full(len(tpr), n_positive), level)
    upper_x, upper_y = np.r_[0.0, x_low, 1.0], np.r_[0.0, y_high, 1.0]
    lower_x, lower_y = np.r_[0.0, x_high, 1.0], np.r_[0.0, y_low, 1.0]
    edge = np.r_[upper_x, lower_x[::-1]], np.r_[upper_y, lower_y[::-1]]
    return Line(fpr, tpr, edge=edge)


def precision_recall(test: Scored, confidence: float) -> Line:
    """Return precision over recall, in steps, with Wilson's interval at each threshold.

    Parameters are those of `roc`; the effective number is that of all rows.
    """
    fpr, tpr, _ = metrics.roc_curve(*test[:3])
    share, total = test.share, effective_rows(test.weights)
    recall, hits = tpr[1:], tpr[1:] * share * total
    flagged = hits + fpr[1:] * (1 - share) * total
    rises = recall > np.r_[0.0, recall[:-1]]  # other thresholds change neither curve nor area
    recall, hits, flagged = recall[rises], hits[rises], flagged[rises]
    distance = np.abs(np.diff(recall, prepend=0.0)) + np.abs(np.diff(hits / flagged, prepend=1.0))
    points = _thinned(np.cumsum(distance))
    recall, hits, flagged = recall[points], hits[points], flagged[points]
    x = np.repeat(np.r_[0.0, recall], 2)[1:-1]  # the corners of steps from each recall to the next
    y, low, high = (np.repeat(v, 2) for v in (hits / flagged, *wilson(hits, flagged, confidence)))
    return Line(x, y, interval=(low, high))


def _flagged(test: Scored) -> tuple[Floats, Floats]:
    """Return the recall and the flagged share at each threshold."""
    fpr, tpr, _ = metrics.roc_curve(*test[:3])
    recall = tpr[1:]  # the first threshold flags nothing
    flagged = test.share * recall + (1 - test.share) * fpr[1:]
    points = _thinned(np.log1p(effective_rows(test.weights) * flagged))
    return recall[points], flagged[points]


def gains(test: Scored, confidence: float) -> Line:
    """Return recall over the share of rows flagged, with Wilson's interval of the recall.

    Parameters are those of `roc`; the effective number is that of the positives.
    """
    recall, flagged = _flagged(test)
    n_positive = test.effective(True)
    interval = wilson(recall * n_positive, np.full(len(recall), n_positive), confidence)
    return Line(flagged, recall, interval=interval)


def lift(test: Scored, confidence: float) -> Line:
    """Return precision, divided by the share of positives, over the share of rows flagged.

    Parameters are those of `roc`; the effective number is that of all rows.
    """
    recall, flagged = _flagged(test)
    share, rows = test.share, effective_rows(test.weights)
    low, high = wilson(recall * share * rows, flagged * rows, confidence)
    return Line(flagged, recall / flagged, interval=(low / share, high / share))


def wilson(hits: ArrayLike, trials: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval for a proportion; with 0 trials it is 0 to 1.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference. Journal
    of the American Statistical Association 22, 209-212.
    """
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    z2 = float(ndtri((1 + confidence) / 2)) ** 2
    middle = (k + z2 / 2) / (n + z2)
    reach = np.sqrt(z2 * (np.where(n > 0, k * (n - k) / np.maximum(n, 1), 0.0) + z2 / 4)) / (n + z2)
    low = np.where(k == 0, 0.0, np.maximum(middle - reach, 0.0))
    high = np.where(k == n, 1.0, np.minimum(middle + reach, 1.0))
    return low, high


def mean_roc(tests: Sequence[Scored]) -> Line:
    """Return the mean ROC curve over several test sets, ± one standard deviation of the recall."""
    curves = []
    for test in tests:
        fpr, tpr, _ = metrics.roc_curve(*test[:3])
        tops = np.r_[np.flatnonzero(np.diff(fpr)), len(fpr) - 1]  # tops of the vertical segments
        curves.append(np.interp(_GRID, fpr[tops], tpr[tops]))
    return _mean(curves)


def mean_precision_recall(tests: Sequence[Scored]) -> Line:
    """Return the mean precision at each recall over several test sets, ± one std deviation."""
    curves = []
    for test in tests:
        precision, recall, _ = metrics.precision_recall_curve(*test[:3])
        precision, recall = precision[:-1][::-1], recall[:-1][::-1]  # in ascending order of recall
        place = np.searchsorted(recall, _GRID - 1e-12)
        curves.append(precision[np.minimum(place, len(recall) - 1)])
    return _mean(curves)


def _mean(curves: list[Floats]) -> Line:
    mean = np.mean(curves, axis=0)
    spread = np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.zeros(len(mean))
    low, high = np.clip([mean - spread, mean + spread], 0, 1)
    return Line(_GRID, mean, interval=(low, high))


def _thinned(along: Floats) -> NDArray[np.int64]:
    """Return positions of at most `_MAX_POINTS` points, evenly along an increasing quantity."""
    if len(along) <= _MAX_POINTS:
        return np.arange(len(along))
    positions = np.searchsorted(along, np.linspace(along[0], along[-1], _MAX_POINTS))
    return np.unique(np.r_[0, np.minimum(positions, len(along) - 1), len(along) - 1])
