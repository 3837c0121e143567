"""Operating points: what each threshold finds and what it lets through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucmax import metrics

__all__ = ["MOST_POINTS", "operating_points"]

MOST_POINTS = 1000


def operating_points(
    name: str, positive: NDArray[np.bool_], score: ArrayLike, own: float | None = 0.0
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
    own : float, optional
        Rows above this score are those the model itself calls positive; None if it has no such
        threshold.

    Returns
    -------
    dict
        ``name``; ``positives`` and ``negatives``, the rows of each class; ``threshold``, rising,
        with None at the end where no row is flagged; ``tp`` and ``fp``, exact counts at each
        threshold; ``start``, the position of the model's own threshold; ``thresholds``, how many
        there are in all; ``exact``, whether every threshold that is the cheapest for some costs
        of the two errors is among them: the corners of the curve's convex hull are kept first.
        At most `MOST_POINTS`.
    """
    fpr, tpr, thresholds = metrics.roc_curve(positive, score)
    n_positive = int(np.count_nonzero(positive))
    n_negative = len(positive) - n_positive
    tp = np.rint(tpr * n_positive).astype(np.int64)
    fp = np.rint(fpr * n_negative).astype(np.int64)
    first = len(thresholds) - 1
    if own is not None:
        first = int(np.count_nonzero(thresholds > own)) - 1
    kept, exact = _kept(tp, fp, first)
    rising = kept[::-1]
    return {
        "name": name,
        "positives": n_positive,
        "negatives": n_negative,
        "threshold": [float(t) if np.isfinite(t) else None for t in thresholds[rising]],
        "tp": tp[rising].tolist(),
        "fp": fp[rising].tolist(),
        "start": int(np.flatnonzero(rising == first)[0]) if own is not None else len(kept) // 2,
        "thresholds": len(thresholds) - 1,
        "exact": exact,
    }


def _kept(
    tp: NDArray[np.int64], fp: NDArray[np.int64], first: int
) -> tuple[NDArray[np.int64], bool]:
    """Positions of the points to keep, rising, and whether all corners of the hull are kept."""
    n = len(tp)
    if n <= MOST_POINTS:
        return np.arange(n), True
    corners = _hull(tp, fp)
    room = MOST_POINTS - 3
    exact = len(corners) <= room
    if not exact:
        corners = corners[np.linspace(0, len(corners) - 1, room).astype(int)]
    along = tp / tp[-1] + fp / fp[-1]
    spread = np.searchsorted(along, np.linspace(0, along[-1], room - len(corners)))
    return np.unique(np.r_[0, first, n - 1, corners, np.minimum(spread, n - 1)]), exact


def _hull(tp: NDArray[np.int64], fp: NDArray[np.int64]) -> NDArray[np.int64]:
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
