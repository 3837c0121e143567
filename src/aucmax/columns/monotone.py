"""Scores of curves and maps that only rise, or only fall, with some columns.

A score is piecewise linear along a column, with the knots of its curve, and never falls if it does
not fall over any interval between knots, or beyond them. Its rise over an interval is that of the
curve plus that of each map of the column. The latter is linear between the places of the other
column, so the rise of the score is least where each map has its own least rise. A lower bound t of
this, for each map and each interval of its knots, makes the conditions linear:

    rise of the map at each place − t ≥ 0,    rise of the curve + Σ t of its maps ≥ 0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

if TYPE_CHECKING:
    from aucmax.columns.additive import AdditiveFeatures, Block

__all__ = ["MonotoneScores", "monotone_scores"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-12  # how far a rise may be below 0, relative to its terms plus 1


@dataclass(frozen=True, eq=False)
class MonotoneScores:
    """The coefficients w (d,) of scores that are monotone along some columns, as a `Cone`.

    Parameters
    ----------
    rows : csr_matrix, shape (p, d)
        The rises of maps, by their places, then the rises of curves.
    auxiliary : csr_matrix, shape (p, k)
        −1 for the bound of a rise of a map; for a curve, the share of each bound in its rise.
    bounds : ndarray of int, shape (k,)
        The first row of each bound.
    lines : ndarray of int, shape (p − number of rises of maps,)
        The feature that is the line of the curve, for each rise of a curve.
    """

    rows: Any
    auxiliary: Any
    bounds: NDArray[np.intp]
    lines: NDArray[np.intp]

    @property
    def _n_of_maps(self) -> int:
        return self.rows.shape[0] - len(self.lines)

    def in_coordinates(self, root: Any) -> Self:
        """Return the same scores in coordinates v, where w = root v are the first coefficients.

        The root must be diagonal for lines, which come first.
        """
        return replace(self, rows=(self.rows[:, : root.shape[0]] @ root).tocsr())

    def least(self, w: Floats) -> Floats:
        """Return the least rise of the score over each interval of each column."""
        rises, m = self.rows @ w, self._n_of_maps
        t = np.minimum.reduceat(rises[:m], self.bounds) if m else np.empty(0)
        return rises[m:] + self.auxiliary[m:] @ t

    def __contains__(self, w: Floats) -> bool:
        sizes, m = abs(self.rows) @ np.abs(w), self._n_of_maps
        t = np.maximum.reduceat(sizes[:m], self.bounds) if m else np.empty(0)
        rounding = _ROUNDING * (1.0 + sizes[m:] + self.auxiliary[m:] @ t)
        return bool((self.least(w) >= -rounding).all())

    def inside(self, w: Floats) -> Floats:
        """Return w with lines made steeper by the most that the score falls anywhere."""
        rows = np.arange(self._n_of_maps, self.rows.shape[0])
        of_lines = np.asarray(self.rows[rows, self.lines]).ravel()
        lacking = np.maximum(-self.least(w), 0.0) / np.abs(of_lines)
        steeper = w.copy()
        for line in np.unique(self.lines):
            along = self.lines == line
            steeper[line] += lacking[along].max() * np.sign(of_lines[along][0])
        return steeper


class _Rises(NamedTuple):
    """The rises of a map along a column, or of a column with all its maps.

    Parameters
    ----------
    at_places : csr_matrix, shape (m, D)
        The rises between knots of a map, at the places of the other column.
    sizes : ndarray of int, shape (k,)
        How many of these share each bound.
    shares : ndarray, shape (n, k)
        The share of each bound in the rise over an interval of the curve.
    direct : csr_matrix, shape (n, D)
        The rise over the interval that does not depend on other columns.
    """

    at_places: Any
    sizes: NDArray[np.intp]
    shares: Any
    direct: Any


def monotone_scores(features: AdditiveFeatures, mass: Floats) -> MonotoneScores:
    """Return the scores that follow the trends of some features.

    They do so for any row, also after maps have been purified: a map has no effect on rows with a
    gap in its other column, if there were none in the fit.

    Parameters
    ----------
    features : AdditiveFeatures
    mass : ndarray, shape (D,)
        As for `AdditiveFeatures.purified`.
    """
    columns = [_along(features, j, sign, mass) for j, sign in features.trends_]
    at_places = sp.vstack([column.at_places for column in columns])
    sizes = np.concatenate([column.sizes for column in columns])
    of_bounds = -sp.block_diag([np.ones((size, 1)) for size in sizes]) if len(sizes) else None
    lines = [features.blocks[j].features.start for j, _ in features.trends_]
    shares = sp.block_diag([column.shares for column in columns])
    return MonotoneScores(
        sp.vstack([at_places, *(column.direct for column in columns)]).tocsr(),
        sp.vstack([of_bounds, shares]).tocsr(),
        np.append(0, np.cumsum(sizes))[:-1],
        np.repeat(lines, [column.direct.shape[0] for column in columns]),
    )


def _along(features: AdditiveFeatures, j: int, sign: int, mass: Floats) -> _Rises:
    """Return the rises along a column, times the sign of its trend."""
    n, direct = len(features.axes_[j].knots), _of_curve(features, j)
    at_places, sizes = [sp.csr_matrix((0, features.n_features))], [np.empty(0, dtype=np.intp)]
    shares = [np.empty((n, 0))]
    for block in features.blocks:
        if block.kind == 2 and j in block.columns:
            of_map = _of_map(features, block, j, mass)
            at_places.append(of_map.at_places)
            sizes.append(of_map.sizes)
            shares.append(of_map.shares)
            direct = direct + of_map.direct
    return _Rises(
        sign * sp.vstack(at_places), np.concatenate(sizes), np.hstack(shares), sign * direct
    )


def _of_curve(features: AdditiveFeatures, j: int) -> Any:
    """Return the rise of a curve over each interval, then that of its line beyond the knots."""
    axis = features.axes_[j]
    rises = np.zeros((len(axis.knots), features.n_features))
    for block in features.blocks:
        if block.columns == (j,) and block.kind == 0:
            rises[:, block.features.start] = np.append(np.diff(axis.knots) / axis.scale, 1.0)
        elif block.columns == (j,):
            rises[:-1, block.features] = np.diff(np.eye(len(axis.knots)), axis=0)
    return sp.csr_matrix(rises)


def _of_map(features: AdditiveFeatures, block: Block, j: int, mass: Floats) -> _Rises:
    """Return the rises of a map between its knots, for each place of its other column."""
    place = block.columns.index(j)
    axis, across = features.axes_[j], features.axes_[block.columns[1 - place]]
    shape = [features.axes_[c].n_map for c in block.columns]
    size, n, k = shape[0] * shape[1], len(axis.knots), len(axis.map_knots)
    at_places = np.moveaxis(np.eye(size).reshape(*shape, size), place, 0)
    margin = features.margins(block, mass)[place]
    if not (across.is_text or across.has_gaps):  # a gap leaves only the effect moved to the curve
        at_places = np.concatenate([at_places, margin[:, None]], axis=1)
    rises = np.diff(at_places[:k], axis=0)
    ramps = [np.interp(axis.knots, axis.map_knots, ramp) for ramp in np.tri(k, k - 1, -1).T]
    line = np.zeros((n, size))
    line[-1] = features.curve_of_places(j)[1][0] @ margin
    placed = sp.eye(size, features.n_features, k=block.features.start, format="csr")
    return _Rises(
        sp.csr_matrix(rises.reshape(-1, size)) @ placed,
        np.full(k - 1, rises.shape[1]),
        np.vstack([np.diff(np.array(ramps), axis=1).T, np.zeros(k - 1)]),
        sp.csr_matrix(line) @ placed,
    )
