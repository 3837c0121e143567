"""Curves of how scores rank: their bands, few enough points to draw, and the figures of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucmax import metrics
from aucmax.metrics.delong import effective_rows
from aucmax.report.figures import Figure, Line

__all__ = [
    "RARE",
    "Scored",
    "budget_figures",
    "gains",
    "lift",
    "mean_precision_recall",
    "mean_roc",
    "precision_recall",
    "ranking_figures",
    "roc",
    "wilson",
]

Floats = NDArray[np.float64]
# a test set: which rows are positive, their scores and, where they have any, their weights
Scored = tuple[NDArray[np.bool_], ArrayLike] | tuple[NDArray[np.bool_], ArrayLike, Floats | None]

_MOST_POINTS = 500
_GRID = np.linspace(0.0, 1.0, 201)
_AXIS = (-0.01, 1.01)
RARE = 0.05  # shares of positives below that get logarithmic axes
RECALL, FPR = "recall (true-positive rate)", "false-positive rate"


def ranking_figures(
    scored: Mapping[str, Sequence[Scored]],
    confidence: float = 0.95,
    *,
    of: str = "",
    bands: Collection[str] = (),
    details: Sequence[Mapping[str, str]] = ({}, {}),
) -> list[Figure]:
    """Make the ROC curve and the precision-recall curve of several scorers.

    Parameters
    ----------
    scored : mapping of str to sequence of (positive, score) or (positive, score, weight)
        The test sets of each scorer. One gives its curve with a confidence band, several give
        the mean curve and the spread.
    confidence : float
        Of the band of one test set.
    of : str
        What is scored, where a page has several pairs of figures.
    bands : collection of str
        The scorers that get a band; all if empty.
    details : two mappings of str to str
        Further words for the legend of each figure, by scorer.
    """
    tests = next(iter(scored.values()))
    several = len(tests) > 1
    banded = _banded(scored, bands)
    band = "Band" if len(banded) == len(scored) else f"Band (of {' and '.join(banded)})"
    if several:
        mean = f"Mean over {len(tests)} test sets of the"
        spread = f"{band}: one standard deviation to either side."
        captions = (
            f"{mean} recall at each false-positive rate. {spread}",
            f"{mean} precision at each recall. {spread}",
        )
    else:
        percent = f"{100 * confidence:g} %"
        captions = (
            f"{band}: at each threshold, the joint {percent} region of both rates from Wilson's "
            "binomial intervals; pointwise, not for the whole curve at once.",
            f"{band}: at each threshold, Wilson's {percent} interval of the precision; pointwise.",
        )

    def drawn(curve: Callable[..., Line], mean: Callable[..., Line], i: int) -> dict[str, Line]:
        lines = {}
        for name, (first, *rest) in scored.items():
            line = mean([first, *rest]) if rest else curve(*first[:2], confidence, *first[2:])
            lines[name] = replace(_bare(line, name in banded), detail=details[i].get(name, ""))
        return lines

    share = float(np.mean([_share(*test) for test in tests]))
    rocs, rare = drawn(roc, mean_roc, 0), share < RARE
    return [
        Figure(
            f"roc {of}", _title(of, "ROC curve"), FPR, RECALL, rocs,
            f"{captions[0]} Dotted: random scores.{' Zoomed in.' * (_corner(rocs) < 1)}",
            xpercent=True, ypercent=True, xlim=(-0.01 * _corner(rocs), _corner(rocs)),
            ylim=_AXIS, guide=((0.0, 1.0), (0.0, 1.0)), follows="roc",
        ),
        Figure(
            f"precision {of}", _title(of, "precision and recall"), RECALL, "precision",
            drawn(precision_recall, mean_precision_recall, 1),
            f"{captions[1]} Dotted: the share of positives.",
            xpercent=True, ypercent=True, xlim=_AXIS, ylog=rare,
            ylim=(share / 2, 1.2) if rare else _AXIS,
            guide=((0.0, 1.0), (share, share)), follows="precision",
        ),
    ]  # fmt: skip


def budget_figures(
    scored: Mapping[str, Scored],
    confidence: float = 0.95,
    *,
    bands: Collection[str] = (),
) -> list[Figure]:
    """Make the gains curve, the lift curve and the ROC curve at few false alarms.

    Parameters
    ----------
    scored : mapping of str to (positive, score) or (positive, score, weight)
        The test set of each scorer.
    confidence, bands
        As for `ranking_figures`.

    Notes
    -----
    Where fewer than 5 % of the rows are positive, the share flagged has a logarithmic axis: what
    counts is its left end.
    """
    test = next(iter(scored.values()))
    share, rows = _share(*test), len(test[0])
    few = 1.0 / max(rows - int(np.count_nonzero(test[0])), 1)
    percent, banded = f"{100 * confidence:g} %", _banded(scored, bands)
    grid = np.geomspace(1.0 / rows, 1.0, 101)
    best = np.minimum(grid / share, 1.0)
    rare = share < RARE

    def drawn(curve: Callable[..., Line]) -> dict[str, Line]:
        return {
            name: _bare(curve(*test[:2], confidence, *test[2:]), name in banded)
            for name, test in scored.items()
        }

    lim = (1.0 / rows if rare else 0.0, 1.0)
    return [
        Figure(
            "gains", "Gains", "share flagged", RECALL, drawn(gains),
            f"What share of the positives is found by flagging the highest scores. Band: Wilson's "
            f"{percent} interval of the recall, pointwise. Dotted: random and perfect scores.",
            xlog=rare, xpercent=True, ypercent=True, xlim=lim, ylim=_AXIS, follows="gains",
            guide=(np.r_[grid, np.nan, grid].tolist(), np.r_[grid, np.nan, best].tolist()),
        ),
        Figure(
            "lift", "Lift", "share flagged", "lift over random", drawn(lift),
            f"How many times as many positives are found as among as many rows at random. Band: "
            f"Wilson's {percent} interval, pointwise. Dotted: random scores.",
            xlog=rare, ylog=rare, xpercent=True, xlim=lim, follows="lift",
            ylim=(0.7 if rare else 0.0, None), guide=((0.0, 1.0), (1.0, 1.0)),
        ),
        Figure(
            "roc few", "ROC curve at few false alarms", FPR, RECALL, drawn(roc),
            "That curve over a logarithmic false-positive rate. Dotted: random scores.",
            xlog=True, xpercent=True, ypercent=True, xlim=(few, 1.0), ylim=_AXIS, follows="roc",
            guide=(np.geomspace(few, 1.0, 101).tolist(),) * 2,
        ),
    ]  # fmt: skip


def _banded(scored: Mapping[str, Any], bands: Collection[str]) -> list[str]:
    """The scorers that get a band."""
    return [name for name in scored if not bands or name in bands]


def _bare(line: Line, banded: bool) -> Line:
    """The line, without its band unless it gets one."""
    return line if banded else replace(line, edge=None, interval=None)


def _share(positive: NDArray[np.bool_], score: ArrayLike, weight: Floats | None = None) -> float:
    """The share of the weight that is of positives."""
    return float(np.average(positive, weights=_weights(positive, score, weight)))


def _corner(lines: Mapping[str, Line]) -> float:
    """Where the axis of false-positive rates ends: at 1, unless the curves are steep."""
    full = max(float(line.x[np.searchsorted(line.y, 0.99)]) for line in lines.values())
    return next((end for end in (0.02, 0.05, 0.1, 0.2) if 2 * full <= end), 1.01)


def _title(of: str, what: str) -> str:
    title = f"{of}: {what}" if of else what
    return title[:1].upper() + title[1:]


def roc(
    positive: NDArray[np.bool_], score: ArrayLike, confidence: float, weight: Floats | None = None
) -> Line:
    """Recall over the false-positive rate, with a band that holds each threshold's true point.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Which rows are positive; both kinds must occur.
    score : array-like of shape (n,)
        The scores.
    confidence : float
        Of the joint region of both rates at any one threshold.
    weight : ndarray of shape (n,), optional
        Of the rows; the band counts as many rows as Kish's effective number of a class.

    Notes
    -----
    At a threshold the two rates are binomial shares of independent classes, so the product of
    their Wilson intervals, each of level √confidence, is a joint region of that confidence. The
    band is swept by these rectangles: pointwise in the threshold, not for the whole curve at once.
    """
    fpr, tpr, _ = metrics.roc_curve(positive, score, weight)
    kept = _thinned(fpr + tpr)
    fpr, tpr = fpr[kept], tpr[kept]
    weight, level = _weights(positive, score, weight), float(np.sqrt(confidence))
    n_positive, n_negative = (effective_rows(weight[positive == kind]) for kind in (True, False))
    x_low, x_high = wilson(fpr * n_negative, np.full(len(fpr), n_negative), level)
    y_low, y_high = wilson(tpr * n_positive, np.full(len(tpr), n_positive), level)
    upper_x, upper_y = np.r_[0.0, x_low, 1.0], np.r_[0.0, y_high, 1.0]
    lower_x, lower_y = np.r_[0.0, x_high, 1.0], np.r_[0.0, y_low, 1.0]
    edge = np.r_[upper_x, lower_x[::-1]], np.r_[upper_y, lower_y[::-1]]
    return Line(fpr, tpr, edge=edge)


def precision_recall(
    positive: NDArray[np.bool_], score: ArrayLike, confidence: float, weight: Floats | None = None
) -> Line:
    """Precision over recall, in steps, with Wilson's interval at each threshold.

    Parameters are those of `roc`; the effective number is that of all rows.
    """
    fpr, tpr, _ = metrics.roc_curve(positive, score, weight)
    weight = _weights(positive, score, weight)
    share, total = np.average(positive, weights=weight), effective_rows(weight)
    recall, found = tpr[1:], tpr[1:] * share * total
    taken = found + fpr[1:] * (1 - share) * total
    rises = recall > np.r_[0.0, recall[:-1]]  # the steps between change neither curve nor area
    recall, found, taken = recall[rises], found[rises], taken[rises]
    moved = np.abs(np.diff(recall, prepend=0.0)) + np.abs(np.diff(found / taken, prepend=1.0))
    kept = _thinned(np.cumsum(moved))
    recall, found, taken = recall[kept], found[kept], taken[kept]
    x = np.repeat(np.r_[0.0, recall], 2)[1:-1]  # the corners of steps from each recall to the next
    y, low, high = (np.repeat(v, 2) for v in (found / taken, *wilson(found, taken, confidence)))
    return Line(x, y, interval=(low, high))


def _flagged(
    positive: NDArray[np.bool_], score: ArrayLike, weight: Floats | None
) -> tuple[Floats, Floats, float, float]:
    """At each threshold, recall and the share of all rows flagged; positives' share, rows."""
    fpr, tpr, _ = metrics.roc_curve(positive, score, weight)
    recall, share = tpr[1:], _share(positive, score, weight)  # the first threshold flags nothing
    taken = share * recall + (1 - share) * fpr[1:]
    rows = effective_rows(_weights(positive, score, weight))
    kept = _thinned(np.log1p(rows * taken))
    return recall[kept], taken[kept], share, rows


def gains(
    positive: NDArray[np.bool_], score: ArrayLike, confidence: float, weight: Floats | None = None
) -> Line:
    """Recall over the share of rows flagged, with Wilson's interval of the recall.

    Parameters are those of `roc`; the effective number is that of the positives.
    """
    recall, taken, _, _ = _flagged(positive, score, weight)
    found = effective_rows(_weights(positive, score, weight)[positive])
    interval = wilson(recall * found, np.full(len(recall), found), confidence)
    return Line(taken, recall, interval=interval)


def lift(
    positive: NDArray[np.bool_], score: ArrayLike, confidence: float, weight: Floats | None = None
) -> Line:
    """Precision, in multiples of the share of positives, over the share of rows flagged.

    Parameters are those of `roc`; the effective number is that of all rows.
    """
    recall, taken, share, rows = _flagged(positive, score, weight)
    low, high = wilson(recall * share * rows, taken * rows, confidence)
    return Line(taken, recall / taken, interval=(low / share, high / share))


def wilson(hits: ArrayLike, trials: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Wilson's interval for a share: how often it happened, out of how many (0 give 0 to 1).

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
    """Mean recall at each false-positive rate over several test sets, ± one standard deviation."""
    curves = []
    for test in tests:
        fpr, tpr, _ = metrics.roc_curve(*test)
        last = np.r_[np.flatnonzero(np.diff(fpr)), len(fpr) - 1]  # the top of each vertical piece
        curves.append(np.interp(_GRID, fpr[last], tpr[last]))
    return _mean(curves)


def mean_precision_recall(tests: Sequence[Scored]) -> Line:
    """Mean precision at each recall over several test sets, ± one standard deviation."""
    curves = []
    for test in tests:
        precision, recall, _ = metrics.precision_recall_curve(*test)
        precision, recall = precision[:-1][::-1], recall[:-1][::-1]  # recall rising
        first = np.searchsorted(recall, _GRID - 1e-12)
        curves.append(precision[np.minimum(first, len(recall) - 1)])
    return _mean(curves)


def _mean(curves: list[Floats]) -> Line:
    mean = np.mean(curves, axis=0)
    spread = np.std(curves, axis=0, ddof=1) if len(curves) > 1 else np.zeros(len(mean))
    low, high = np.clip([mean - spread, mean + spread], 0, 1)
    return Line(_GRID, mean, interval=(low, high))


def _weights(positive: NDArray[np.bool_], _: ArrayLike, weight: Floats | None = None) -> Floats:
    """The weights of a test set's rows."""
    return np.ones(len(positive)) if weight is None else weight


def _thinned(along: Floats) -> NDArray[np.int64]:
    """Positions of at most so many points, evenly along a rising quantity; both ends stay."""
    if len(along) <= _MOST_POINTS:
        return np.arange(len(along))
    kept = np.searchsorted(along, np.linspace(along[0], along[-1], _MOST_POINTS))
    return np.unique(np.r_[0, np.minimum(kept, len(along) - 1), len(along) - 1])
