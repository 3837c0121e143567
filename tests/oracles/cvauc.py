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

    In each fold a class's squared influences are scaled by k/(k − 1), k being its groups there, by
    Kish's count. A fold where k is below 2 has none, and those of the others are raised instead.
    """
    folds = np.unique(fold)
    areas, variance = [], 0.0
    pulls = {g: 0.0 for g in np.unique(group)}
    for side in (True, False):
        k = {}
        for v in folds:
            _, sizes = np.unique(group[(fold == v) & (positive == side)], return_counts=True)
            k[v] = sizes.sum() ** 2 / (sizes**2).sum()
        raised = sum(1 / k[v] for v in folds) / sum(1 / k[v] for v in folds if k[v] >= 2)
        for v in folds:
            here = np.flatnonzero(fold == v)
            area = delong.area(positive[here], score[here])
            v10, v01 = delong.components(positive[here], score[here])
            rows = here[positive[here] == side]
            areas.append(area)
            if k[v] >= 2:
                scale = np.sqrt(raised * k[v] / (k[v] - 1)) / len(folds)
                for row, placed in zip(rows, v10 if side else v01, strict=True):
                    pulls[group[row]] += scale * (placed - area) / len(rows)
    variance = sum(pull**2 for pull in pulls.values())
    return np.mean(areas), np.sqrt(variance)
