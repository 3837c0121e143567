"""LeDell, Petersen, van der Laan (2015), read literally; and what this library makes of it."""

import numpy as np

from oracles import delong

__all__ = ["corrected", "formula"]


def formula(positive, score, fold):
    """The area and its standard error, as R's ``cvAUC::ci.cvAUC`` has them without ties.

    Theirs counts a tie as lost in the influence curve, though as half in the area.
    """
    n, share = len(positive), positive.mean()
    areas, squares = [], []
    for v in np.unique(fold):
        here = fold == v
        v10, v01 = delong.components(positive[here], score[here])
        area = delong.area(positive[here], score[here])
        curve = np.r_[(v10 - area) / share, (v01 - area) / (1 - share)]
        areas.append(area)
        squares.append(np.mean(curve**2))
    return np.mean(areas), np.sqrt(np.mean(squares) / n)


def corrected(positive, score, fold, group):
    """The area and its standard error from sums of influences over groups of rows.

    In each fold a class's influences are scaled by √(k/(k − 1)), k being its groups there by Kish's
    count; a fold where k is below 2 has none. The sum of squares is set against what it is expected
    to be for independent placements.
    """
    folds = np.unique(fold)
    areas, pulls = [], {g: 0.0 for g in np.unique(group)}
    for side in (True, False):
        share, scale, own = {}, {}, dict.fromkeys(pulls, 0.0)
        for v in folds:
            rows = np.flatnonzero((fold == v) & (positive == side))
            share[v] = {g: np.mean(group[rows] == g) for g in pulls}
            k = 1 / sum(h**2 for h in share[v].values())
            scale[v] = np.sqrt(k / (k - 1)) if k > 2 - 1e-9 else 0.0
            here = np.flatnonzero(fold == v)
            v10, v01 = delong.components(positive[here], score[here])
            areas.append(delong.area(positive[here], score[here]))
            for row, placed in zip(rows, v10 if side else v01, strict=True):
                own[group[row]] += scale[v] * (placed - areas[-1]) / len(rows) / len(folds)
        true = expected = 0.0
        for u in folds:
            for v in folds:
                common, uu, vv = (
                    sum(share[a][g] * share[b][g] for g in pulls)
                    for a, b in ((u, v), (u, u), (v, v))
                )
                true += common
                expected += scale[u] * scale[v] * common * (1 - uu - vv + common)
        for g in pulls:
            pulls[g] += own[g] * np.sqrt(true / expected)
    return np.mean(areas), np.sqrt(sum(pull**2 for pull in pulls.values()))
