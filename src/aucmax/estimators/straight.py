"""Whether a line is enough: tests of each column and pair, before any features are computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.axes import Axis
from aucmax.columns.hat_prior import prior_root
from aucmax.data.labelled import Labelled
from aucmax.statistics.pairs import cell_sums
from aucmax.statistics.residuals import p_of_any, p_values, residuals

__all__ = ["line_suffices"]

LEVEL = 0.05  # significance level of the test of all curves, and of that of all pairs
_LEAST_ROWS = 1000  # of the rarer class: with fewer, effects worth .002 of AUC may be missed
_PAIRS_AT_A_TIME = 2000


def line_suffices(
    features: AdditiveFeatures,
    table: Any,
    rows: Labelled,
    scores: np.ndarray,
    pairs: Sequence[tuple[int, int]],
) -> bool:
    """Return whether neither a curve nor a pair explains more of the labels than chance would.

    If the probability is an increasing function of the scores, each of the two tests still says no
    for about one table in twenty. The answer is no if rows are too few for the tests, or compared
    within strata, where the probability depends on more than the score.

    Parameters
    ----------
    features : AdditiveFeatures
        With the knots and levels of the columns.
    table : data frame or array, shape (n, d)
    rows : Labelled
        The labels and weights of the same rows.
    scores : ndarray, shape (n,)
        The scores of the line.
    pairs : sequence of (int, int)
        The axes that may have a map.
    """
    if rows.strata is not None or rows.rarest < _LEAST_ROWS:
        return False
    left = residuals(scores, rows.positive, rows.weight)
    of_curves = [_of_curve(left, *knots) for knots in features.knot_places(table)]
    if p_of_any(np.concatenate([[], *of_curves])) < LEVEL:
        return False
    return p_of_any(np.concatenate([[], *_of_pairs(left, features, table, pairs)])) >= LEVEL


def _of_curve(left: np.ndarray, axis: Axis, places: np.ndarray) -> np.ndarray:
    """Return the p-values of a smooth and of a rough curve of a column, beyond a line."""
    k = len(axis.knots)
    sums = np.array([np.bincount(1 + places, of, 1 + k)[1:] for of in left.T], dtype=np.float64).T
    line = np.column_stack([np.ones(k), (axis.knots - axis.centre) / axis.scale])
    roots = _root((k, 0, False)), np.eye(k)
    return np.concatenate([p_values(sums[None], line, root) for root in roots])


def _of_pairs(
    left: np.ndarray, features: AdditiveFeatures, table: Any, pairs: Sequence[tuple[int, int]]
) -> Iterator[np.ndarray]:
    """Yield the p-values of maps beyond curves of their columns, for pairs of similar axes."""
    cells = features.map_places(table).nearest()
    alike = dict[Any, list[tuple[int, int]]]()
    for i, j in pairs:
        kind = features.axes_[i].map_size, features.axes_[j].map_size
        alike.setdefault(kind, []).append((i, j))
    for sizes, own in alike.items():
        first, second = (np.eye(k + gap) for k, gap, _ in sizes)
        of_first = np.kron(first, np.ones((len(second), 1)))
        curves = np.hstack([of_first, np.kron(np.ones((len(first), 1)), second)])
        for start in range(0, len(own), _PAIRS_AT_A_TIME):
            chosen = np.array(own[start : start + _PAIRS_AT_A_TIME])
            sums = cell_sums(cells, features.n_places, chosen, left)
            yield p_values(sums, curves, _root(*sizes))


def _root(*sizes: tuple[int, int, bool]) -> np.ndarray:
    """Return a root of the prior covariance of the effects of cells."""
    return np.asarray(prior_root(sizes).toarray())
