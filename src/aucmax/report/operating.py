"""Operating points: what flagging the rows with the highest scores finds and lets through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax import metrics
from aucmax.metrics.delong import effective_rows
from aucmax.report.distributions import with_weight

__all__ = ["MOST_POINTS", "budgets", "operating_points"]

MOST_POINTS = 1000
_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

Counts = NDArray[np.int64] | NDArray[np.float64]  # of rows, or of their weights
Weight = NDArray[np.float64] | None


def operating_points(
    name: str,
    positive: NDArray[np.bool_],
    score: ArrayLike,
    weight: Weight = None,
    own: float | None = 0.0,
) -> dict[str, Any]:
    """List what flagging the rows at or above each threshold finds.

    Parameters
    ----------
    name : str
        What the scores are called.
    positive : ndarray of bool, shape (n,)
        Which rows are positive; both kinds must occur.
    score : array-like of shape (n,)
        The scores.
    weight : ndarray of shape (n,), optional
        How much each row counts. What is counted are then weights, scaled so that they add up to
        the number of rows that have any.
    own : float, optional
        Rows above this score are those the model itself calls positive; None if it has no such
        threshold.

    Returns
    -------
    dict
        ``name``; ``positives`` and ``negatives``, the rows of each class; ``weighted``, and
        ``effective``, as how many rows one of the positives and one of all rows counts where
        intervals are computed (Kish); ``threshold``, falling,
        with None at first where no row is flagged; ``tp`` and ``fp``, exact counts at each
        threshold; ``own``, the position of the model's own threshold, or None; ``start``, that of
        the budget to begin with; ``thresholds``, how many there are in all; ``exact``, whether
        every threshold that is the cheapest for some costs of the two errors is among them: the
        corners of the curve's convex hull are kept first. At most `MOST_POINTS`, the others evenly
        over the logarithm of the rows flagged.
    """
    positive, score, weight = with_weight(positive, score, weight)
    tp, fp, thresholds = _counted(positive, score, weight)
    at_own = None if own is None else int(np.count_nonzero(thresholds > own)) - 1
    start = _within(tp + fp, _first_budget(float(tp[-1]) / len(positive)))
    kept, exact = _kept(tp, fp, [start] if at_own is None else [start, at_own])
    return {
        "name": name,
        "positives": tp[-1].item(),
        "negatives": fp[-1].item(),
        "weighted": weight is not None,
        "effective": [_effective(positive, weight), _effective(np.ones_like(positive), weight)],
        "threshold": [float(t) if np.isfinite(t) else None for t in thresholds[kept]],
        "tp": tp[kept].tolist(),
        "fp": fp[kept].tolist(),
        "own": None if at_own is None else int(np.searchsorted(kept, at_own)),
        "start": int(np.searchsorted(kept, start)),
        "thresholds": len(thresholds) - 1,
        "exact": exact,
    }


def budgets(
    positive: NDArray[np.bool_], score: ArrayLike, weight: Weight = None
) -> list[dict[str, Any]]:
    """List what flagging some shares of the rows finds, from 0.1 % to a half.

    A share is never exceeded: rows with equal scores are flagged together or not at all. Shares
    that flag no row are left out.

    Returns
    -------
    list of dict
        ``share``, ``flagged`` and ``found``, numbers of rows and of positives among them,
        ``positives`` and ``rows``, how many there are (all as in `operating_points`, by weight),
        ``threshold``, ``first`` (whether it is the budget to begin with), ``effective``, as how
        many rows a positive counts in an interval.
    """
    positive, score, weight = with_weight(positive, score, weight)
    tp, fp, thresholds = _counted(positive, score, weight)
    first = _first_budget(float(tp[-1]) / len(positive))
    places = {share: _within(tp + fp, share) for share in _SHARES}
    return [
        {
            "share": share,
            "flagged": (tp[i] + fp[i]).item(),
            "found": tp[i].item(),
            "positives": tp[-1].item(),
            "rows": len(positive),
            "effective": _effective(positive, weight),
            "threshold": float(thresholds[i]),
            "first": share == first,
        }
        for share, i in places.items()
        if i > 0
    ]


def _counted(
    positive: NDArray[np.bool_], score: ArrayLike, weight: Weight
) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Positives and negatives at or above each threshold, and the thresholds, falling."""
    fpr, tpr, thresholds = metrics.roc_curve(positive, score, weight)
    share = float(np.average(positive, weights=weight))
    tp, fp = tpr * share * len(positive), fpr * (1.0 - share) * len(positive)
    if weight is not None:
        return tp, fp, thresholds
    return np.rint(tp).astype(np.int64), np.rint(fp).astype(np.int64), thresholds


def _effective(rows: NDArray[np.bool_], weight: Weight) -> float:
    """As how many rows one of these counts, if their weights, scaled, are their number."""
    if weight is None:
        return 1.0
    counted = float(weight[rows].sum() / weight.mean())
    return effective_rows(weight[rows]) / counted


def _first_budget(share: float) -> float:
    """The share of rows to flag to begin with: 1 %, or what holds as many as are positive."""
    return next((s for s in _SHARES if s >= max(share, 0.01)), _SHARES[-1])


def _within(flagged: Counts, share: float) -> int:
    """The position of the threshold that flags most rows without exceeding a share of them."""
    return int(np.searchsorted(flagged, share * flagged[-1] + 1e-9, side="right")) - 1


def _kept(tp: Counts, fp: Counts, wanted: list[int]) -> tuple[NDArray[np.int64], bool]:
    """Positions of the points to keep, rising, and whether all corners of the hull are kept."""
    n = len(tp)
    if n <= MOST_POINTS:
        return np.arange(n), True
    corners = _hull(tp, fp)
    room = MOST_POINTS - 2 - len(wanted)
    exact = len(corners) <= room
    if not exact:
        corners = corners[np.linspace(0, len(corners) - 1, room).astype(int)]
    along = np.log1p(tp + fp)
    spread = np.searchsorted(along, np.linspace(0, along[-1], room - len(corners)))
    return np.unique(np.r_[0, wanted, n - 1, corners, np.minimum(spread, n - 1)]), exact


def _hull(tp: Counts, fp: Counts) -> NDArray[np.int64]:
    """Corners of the upper convex hull of the points (fp, tp), both rising."""
    corners: list[int] = []
    x, y = fp.tolist(), tp.tolist()  # Python's integers do not overflow
    for i in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return np.array(corners, dtype=np.int64)
