"""Moments of the differences of rows that are compared by degree, in one pass.

With pair weights p_ij that sum to 1, the moments are δ = Σ p_ij (x_i − x_j) and

    M = Σ p_ij (x_i − x_j)(x_i − x_j)ᵀ = Σ_i x_i b_iᵀ + b_i x_iᵀ,   b_i = ½ q_i x_i − Σ_j p_ij x_j,

where q_i is the weight of row i's pairs and j runs over the rows of lower degree, whose sums grow
as the rows are read by degree. The square loss is that of two classes of rows whose means differ
by δ and whose covariances add up to S = M − δδᵀ. Rows are relative to the mean of their stratum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.comparisons import Comparisons
from aucmax.data.rows import Rows, allocating, compiled, n_features, row_add
from aucmax.statistics.moments import ClassMoments

__all__ = ["PairMoments", "pair_moments"]

BLOCK_CELLS = 1 << 20  # numbers in a block of rows

Floats = NDArray[np.float64]


class PairMoments(NamedTuple):
    """Moments of the differences of the rows of pairs.

    Parameters
    ----------
    origin : ndarray, shape (d,)
        Σ p_ij x_j, the mean of the lower rows.
    delta : ndarray, shape (d,)
        δ.
    within : ndarray, shape (d, d) or (d,)
        S, or its diagonal.
    spread : ndarray, shape (d,)
        The mean squared difference of two rows of the same stratum, twice the variance.
    """

    origin: Floats
    delta: Floats
    within: Floats
    spread: Floats

    @property
    def variances(self) -> Floats:
        """The diagonal of S, shape (d,)."""
        return np.einsum("jj->j", self.within) if self.within.ndim == 2 else self.within

    @property
    def of_classes(self) -> ClassMoments:
        """Moments of two classes −1 and +1 that have the same δ and S."""
        moments, zero = ClassMoments([-1.0, 1.0]), np.zeros_like(self.delta)
        moments._grow(moments.classes, len(zero))
        for label, mean, S in ((-1.0, zero, 0.0), (1.0, self.delta, self.within)):
            moments._add(label, {"counts": 1.0, "squares": 1.0, "means": mean, "covariances": S})
        return moments


def pair_moments(X: Rows, pairs: Comparisons, own: Floats, full: bool = True) -> PairMoments:
    """Return the moments of pairs of rows.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    pairs : Comparisons
        Pairs whose weights sum to 1.
    own : ndarray, shape (n,)
        The weights of the rows; rows without pairs do not count in the spread.
    full : bool
        Whether to return the matrix S rather than its diagonal.
    """
    d = n_features(X)
    weight = np.where(pairs.lead + pairs.trail > 0.0, own, 0.0)
    half, delta, scatter = np.zeros((d, d) if full else d), np.zeros(d), np.zeros(d)
    state = _State(np.zeros((2, pairs.ahead.shape[1], d)), np.zeros((2, d)), np.zeros(d))
    surplus, origin = pairs.lead - pairs.trail, state.origin
    for rows, centred, beside in _blocks(X, pairs, weight, state):
        delta += surplus[rows] @ centred
        origin += pairs.trail[rows] @ centred
        scatter += weight[rows] @ centred**2
        half += centred.T @ beside if full else np.einsum("ij,ij->j", centred, beside)
    within = half + half.T if full else 2.0 * half
    within -= np.outer(delta, delta) if full else delta**2
    diagonal = np.einsum("jj->j", within) if full else within
    np.maximum(diagonal, 0.0, out=diagonal)  # rounding can lower it
    return PairMoments(origin, delta, within, 2.0 * scatter / weight.sum())


def _blocks(
    X: Rows, pairs: Comparisons, weight: Floats, state: _State
) -> Iterator[tuple[NDArray[np.intp], Floats, Floats]]:
    """Yield rows by degree, relative to the mean of their stratum, with their b."""
    rows, start, d = pairs.rows, pairs.start, n_features(X)
    facts = _Facts(pairs.ahead, pairs.behind, pairs.lead, pairs.trail, weight, pairs.level)
    size = max(BLOCK_CELLS // max(d, 1), 1)
    centred, beside = np.empty((2, min(size, len(rows)), d))
    for first in range(0, len(rows), size):
        block = rows[first : first + size]
        strata = pairs.strata.code[block]
        _see(X, rows, start[strata[0] : strata[-1] + 2], first, facts, state,
             centred, beside)  # fmt: skip
        yield block, centred[: len(block)], beside[: len(block)]


class _Facts(NamedTuple):
    """Facts about n rows: the factors and weights of their pairs, their own weights and degrees."""

    ahead: Floats
    behind: Floats
    lead: Floats
    trail: Floats
    own: Floats
    level: NDArray[np.int32]


class _State(NamedTuple):
    """The state of a pass over the rows.

    It consists of sums over the rows of lower and of the same degree, (2, q, d); the first row of
    the stratum, and the mean relative to it, (2, d); and Σ p_ij x_j, (d,).
    """

    sums: Floats
    centre: Floats
    origin: Floats


@compiled
def _see(X, rows, start, first, facts, state, centred, beside):
    # reads rows first, first + 1, … by degree, in the strata that begin at start; the first stratum
    # may have begun in the block before
    ahead, behind, lead, trail, own, level = facts
    sums, centre, origin = state
    d, q = centred.shape[1], ahead.shape[1]
    g = 0
    for k in range(min(len(centred), len(rows) - first)):
        p = first + k
        while start[g + 1] <= p:
            g += 1
        if p == start[g]:
            for c in range(q):
                for j in range(d):
                    sums[0, c, j], sums[1, c, j] = 0.0, 0.0
            _centre(X, rows[start[g] : start[g + 1]], own, trail, centre, origin)
        elif level[rows[p]] != level[rows[p - 1]]:
            for c in range(q):
                for j in range(d):
                    sums[0, c, j] += sums[1, c, j]
                    sums[1, c, j] = 0.0
        i, x, b = rows[p], centred[k], beside[k]
        for j in range(d):
            x[j] = -centre[0, j]
        row_add(X, i, 1.0, x)
        for j in range(d):
            x[j] -= centre[1, j]
            b[j] = 0.5 * (lead[i] + trail[i]) * x[j]
        for c in range(q):
            for j in range(d):
                b[j] -= ahead[i, c] * sums[0, c, j]
                sums[1, c, j] += behind[i, c] * x[j]


@allocating
def _centre(X, rows, own, trail, centre, origin):
    # for a constant feature, rows minus the first row and their mean are exactly 0
    d, total, behind = centre.shape[1], 0.0, 0.0
    for j in range(d):
        centre[0, j], centre[1, j] = 0.0, 0.0
    row_add(X, rows[0], 1.0, centre[0])
    x = np.empty(d)
    for i in rows:
        behind += trail[i]
        if own[i] > 0.0:
            total += own[i]
            for j in range(d):
                x[j] = -centre[0, j]
            row_add(X, i, 1.0, x)
            for j in range(d):
                centre[1, j] += own[i] * x[j]
    for j in range(d):
        centre[1, j] /= max(total, 1e-300)
        origin[j] += behind * (centre[0, j] + centre[1, j])
