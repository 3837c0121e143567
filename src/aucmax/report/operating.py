"""Operating points: positives found and missed when the rows with the highest scores are
flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax import metrics
from aucmax.metrics.levels import ranked
from aucmax.metrics.scored import Scored
from aucmax.report.reports import named

__all__ = ["MAX_POINTS", "Budget", "budgets", "operating_points"]

MAX_POINTS = 1000
_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

Counts = NDArray[np.int64] | NDArray[np.float64]  # of rows, or of their weights


def operating_points(name: str, scored: Scored) -> dict[str, Any]:
    """List the counts of flagged positives and negatives at each threshold.

    Parameters
    ----------
    name : str
        Name of the scores.
    scored : Scored
        With weights, counts are sums of weights, scaled to add up to the number of rows with
        positive weight.

    Returns
    -------
    dict
        ``name``; ``positives`` and ``negatives``, the rows of each class; ``weighted``;
        ``effective``, Kish's effective number per row, for the positives and for all rows, used in
        intervals; ``threshold``, descending, first None where no row is flagged; ``tp`` and ``fp``,
        exact counts at each threshold; ``own``, the position of 0, above which models predict the
        positive class; ``start``, the position of the initial budget; ``thresholds``, the number of
        all thresholds; ``exact``, whether every threshold that is optimal for some costs of the two
        errors is included: the corners of the curve's convex hull are kept first. There are at most
        `MAX_POINTS` points, the others evenly over the logarithm of the rows flagged.
    """
    scored = scored.of_weight()
    tp, fp, thresholds = _counted(scored)
    own = int(np.count_nonzero(thresholds > 0.0)) - 1
    start = _within(tp + fp, _first_budget(float(tp[-1]) / len(scored.positive)))
    positions, exact = _kept(tp, fp, [start, own])
    all_rows = np.ones_like(scored.positive)
    return {
        "name": name,
        "positives": tp[-1].item(),
        "negatives": fp[-1].item(),
        "weighted": scored.weight is not None,
        "effective": [_effective(scored), _effective(scored._replace(positive=all_rows))],
        "threshold": [float(t) if np.isfinite(t) else None for t in thresholds[positions]],
        "tp": tp[positions].tolist(),
        "fp": fp[positions].tolist(),
        "own": int(np.searchsorted(positions, own)),
        "start": int(np.searchsorted(positions, start)),
        "thresholds": len(thresholds) - 1,
        "exact": exact,
    }


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What flagging a share of the rows finds; counts are sums of weights if rows have weights."""

    share: float
    flagged: float
    hits: float = named("found")  # positives among them
    positives: float
    rows: int
    effective: float  # Kish's effective number per positive row
    threshold: float
    first: bool  # whether it is the initial budget

    @property
    def recall(self) -> float:
        """The share of the positives that is found."""
        return self.hits / self.positives

    @property
    def precision(self) -> float:
        """The share of the flagged rows that is positive."""
        return self.hits / self.flagged

    @property
    def lift(self) -> float:
        """The precision as a multiple of that of random rows."""
        return self.precision / (self.positives / self.rows)


def budgets(scored: Scored) -> list[Budget]:
    """List what flagging some shares of the rows finds, from 0.1 % to a half.

    A share is never exceeded: rows with equal scores are flagged together or not at all. Shares
    that flag no row are left out. Weights are scaled as in `operating_points`.
    """
    scored = scored.of_weight()
    n_rows, effective = len(scored.positive), _effective(scored)
    *points, (all_hits, _, _) = _flagged(scored, [*_SHARES, 1.0])
    initial = _first_budget(float(all_hits) / n_rows)
    return [
        Budget(
            share=share,
            flagged=hits + false_alarms,
            hits=hits,
            positives=all_hits,
            rows=n_rows,
            effective=effective,
            threshold=threshold,
            first=share == initial,
        )
        for share, (hits, false_alarms, threshold) in zip(_SHARES, points, strict=True)
        if hits + false_alarms > 0
    ]


def _flagged(scored: Scored, shares: Sequence[float]) -> list[tuple[float, float, float]]:
    """Return the flagged positives and negatives, and the lowest threshold, of shares of rows."""
    if scored.weight is not None:
        tp, fp, thresholds = _counted(scored)
        places = [_within(tp + fp, share) for share in shares]
        return [(tp[i].item(), fp[i].item(), float(thresholds[i])) for i in places]
    points = list[tuple[float, float, float]]()
    n, descending = len(scored.score), np.sort(scored.score)[::-1]
    for share in shares:
        k = int(share * n + 1e-9)
        if 0 < k < n and descending[k - 1] == descending[k]:
            k = int(np.count_nonzero(scored.score > descending[k]))
        if k == 0:
            points.append((0, 0, np.inf))
            continue
        hits = int(np.count_nonzero(scored.positive[scored.score >= descending[k - 1]]))
        points.append((hits, k - hits, float(descending[k - 1])))
    return points


def _counted(scored: Scored) -> tuple[Counts, Counts, NDArray[np.float64]]:
    """Return positives and negatives at or above each threshold, and the descending thresholds."""
    if scored.weight is None:
        rows = ranked(scored.positive, None, scored.score)
        counts = rows.levels.pos, rows.levels.neg
        tp, fp = (np.cumsum(np.append(0, of_class), dtype=np.int64) for of_class in counts)
        return tp, fp, np.append(np.inf, rows.score)
    fpr, tpr, thresholds = metrics.roc_curve(*scored[:3])
    n_rows, share = len(scored.positive), scored.share
    return tpr * share * n_rows, fpr * (1.0 - share) * n_rows, thresholds


def _effective(scored: Scored) -> float:
    """Return Kish's effective number of the positives, divided by their scaled weight."""
    if scored.weight is None and scored.groups is None:
        return 1.0
    total = float(scored.weights[scored.positive].sum() / scored.weights.mean())
    return scored.effective(True) / total


def _first_budget(share: float) -> float:
    """Return the initial share of rows to flag: at least 1 % and the share of positives."""
    return next((s for s in _SHARES if s >= max(share, 0.01)), _SHARES[-1])


def _within(flagged: Counts, share: float) -> int:
    """Return the position of the lowest threshold that does not exceed a share of the rows."""
    return int(np.searchsorted(flagged, share * flagged[-1] + 1e-9, side="right")) - 1


def _kept(tp: Counts, fp: Counts, required: list[int]) -> tuple[NDArray[np.int64], bool]:
    """Return the positions of the points to keep, ascending, and whether the whole hull is kept."""
    n = len(tp)
    if n <= MAX_POINTS:
        return np.arange(n), True
    corners = _hull(tp, fp)
    room = MAX_POINTS - 2 - len(required)
    exact = len(corners) <= room
    if not exact:
        corners = corners[np.linspace(0, len(corners) - 1, room).astype(int)]
    along = np.log1p(tp + fp)
    spread = np.searchsorted(along, np.linspace(0, along[-1], room - len(corners)))
    return np.unique(np.r_[0, required, n - 1, corners, np.minimum(spread, n - 1)]), exact


def _hull(tp: Counts, fp: Counts) -> NDArray[np.int64]:
    """Return the corners of the upper convex hull of the points (fp, tp), both ascending."""
    corners: list[int] = []
    ends = np.unique(np.r_[0, np.flatnonzero(np.diff(tp)) + 1, len(tp) - 1])  # corners are of these
    x, y = fp[ends].tolist(), tp[ends].tolist()  # Python's integers do not overflow
    for i in range(len(x)):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return ends[corners]
