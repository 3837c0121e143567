"""The shape of a model: a line, curves, or curves with maps of pairs, chosen on the same folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aucmax.basics.memory import free_memory
from aucmax.data.labelled import Labelled
from aucmax.estimators.additive import AdditiveAUCClassifier
from aucmax.estimators.additive_search import SHAPES
from aucmax.estimators.folds import Pairs
from aucmax.estimators.many_rows import ManyRows

__all__ = ["Bent", "bent", "why_straight"]

_MAX_COLUMNS = 500
_MAX_CELLS = 50_000_000  # of a table as an array
_MAX_PAIRS = 80  # by default: nobody can read more maps
_MAX_FEATURES = 3000
_KEPT_MOMENTS = 12  # of two numbers of pairs in five folds, and those under construction


@dataclass(frozen=True, kw_only=True)
class Bent:
    """A fitted additive model, and the held-out scores of each shape.

    Parameters
    ----------
    search : AdditiveAUCClassifier or None
        None if the line was chosen.
    held_out : dict of str to float
        The mean held-out score of each shape that was tried.
    """

    search: AdditiveAUCClassifier | None
    held_out: dict[str, float]


def why_straight(table: Labelled) -> str:
    """Return why curves are not tried by default for these rows; empty if they are."""
    if table.in_parts:
        return "as the file is read in parts"
    n, d = len(table.positive), table.n_features
    if d > _MAX_COLUMNS:
        return f"as there are more than {_MAX_COLUMNS} columns"
    if n * d > _MAX_CELLS:
        return f"as there are more than {_MAX_CELLS:,} cells"
    needed, free = _bytes_needed(n, d), free_memory()
    if free is not None and needed > free / 2:
        return f"as they may take {needed / 1e9:.2g} GB, and {free / 1e9:.2g} GB is free"
    return ""


def _bytes_needed(n: int, d: int) -> float:
    """Return about how many bytes a search takes for n rows of d columns."""
    pairs = d * (d - 1) // 2
    entries = 6 * d + 4 * min(pairs, _MAX_PAIRS)  # per row: curves twice, and maps
    features = min(_MAX_FEATURES, 34 * d + 25 * pairs)
    coordinates = 12 * d  # of curves: see `LEADING_SHARE`
    return n * (12.0 * entries + 8.0 * coordinates) + 16.0 * _KEPT_MOMENTS * features**2


def bent(
    table: Labelled,
    folds: Pairs,
    line: np.ndarray | None,
    every: ManyRows | None = None,
    **settings: Any,
) -> Bent:
    """Fit an additive model, and choose between it and a line on the same folds.

    Parameters
    ----------
    table : Labelled
        Rows in memory, before any step.
    folds : list of (train, test)
    line : ndarray, shape (folds,), optional
        The held-out score of the line in each fold that has one; without it the model is additive.
    every : ManyRows, optional
        The rows that ``table`` is a sample of: the model is fitted to all of them.
    **settings
        Settings of `AdditiveAUCClassifier`; without a line, they include the shape.
    """
    if line is None:
        most = _MAX_PAIRS if settings["shape"] == "auto" else "auto"
        search = AdditiveAUCClassifier(most, cv=folds, **settings)
        search.fit(table) if every is None else search.fit_drawn(table, every, folds)
        return Bent(search=search, held_out=_means(search.shape_scores_))
    search = AdditiveAUCClassifier(_MAX_PAIRS, cv=folds, **settings)
    held_out = _means(search.fit_beside(table, line) | {SHAPES[0]: line})
    return Bent(search=search if hasattr(search, "best_estimator_") else None, held_out=held_out)


def _means(scores: dict[str, np.ndarray]) -> dict[str, float]:
    return {shape: float(of_folds.mean()) for shape, of_folds in scores.items()}
