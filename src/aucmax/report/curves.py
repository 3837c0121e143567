"""ROC and precision-recall curves: the two figures, their bands, few enough points to draw."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucmax import metrics
from aucmax.metrics.delong import effective_rows
from aucmax.report.figures import Figure, Line

__all__ = [
    "Scored",
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
    banded = [name for name in scored if not bands or name in bands]
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
            edge = line.edge if name in banded else None
            lines[name] = replace(line, edge=edge, detail=details[i].get(name, ""))
        return lines

    share = float(np.mean([np.average(test[0], weights=_weights(*test)) for test in tests]))
    recall = "recall (true-positive rate)"
    return [
        Figure(
            f"roc {of}", _title(of, "ROC curve"), "false-positive rate", recall,
            drawn(roc, mean_roc, 0), f"{captions[0]} Dotted: random scores.",
            xlim=_AXIS, ylim=_AXIS, guide=((0.0, 1.0), (0.0, 1.0)),
        ),
        Figure(
            f"precision {of}", _title(of, "precision and recall"), recall, "precision",
            drawn(precision_recall, mean_precision_recall, 1),
            f"{captions[1]} Dotted: the share of positives.",
            xlim=_AXIS, ylim=_AXIS, guide=((0.0, 1.0), (share, share)),
        ),
    ]  # fmt: skip


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
    return Line(x, y, edge=(np.r_[x, x[::-1]], np.r_[low, high[::-1]]))


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
    return Line(_GRID, mean, edge=(np.r_[_GRID, _GRID[::-1]], np.r_[low, high[::-1]]))


def _weights(positive: NDArray[np.bool_], _: ArrayLike, weight: Floats | None = None) -> Floats:
    """The weights of a test set's rows."""
    return np.ones(len(positive)) if weight is None else weight


def _thinned(along: Floats) -> NDArray[np.int64]:
    """Positions of at most so many points, evenly along a rising quantity; both ends stay."""
    if len(along) <= _MOST_POINTS:
        return np.arange(len(along))
    kept = np.searchsorted(along, np.linspace(along[0], along[-1], _MOST_POINTS))
    return np.unique(np.r_[0, np.minimum(kept, len(along) - 1), len(along) - 1])
