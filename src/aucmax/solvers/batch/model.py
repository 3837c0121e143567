"""Quadratic models of J over a working set of features, and their minima.

Steps on single features find the support; conjugate gradient solves on the support.
"""

from typing import NamedTuple

import numpy as np

from aucmax.data.rows import row_add, row_entry, row_size
from aucmax.data.rows.kernels import vectorised
from aucmax.data.rows.products import dot
from aucmax.objective.penalties import Penalty, prox1
from aucmax.solvers.batch.columns import WeightedColumns
from aucmax.solvers.batch.krylov import Product, minimise
from aucmax.solvers.batch.working_set import candidates

__all__ = ["MAX_PRODUCTS_PER_MODEL", "ColumnModel", "Model"]

MAX_PRODUCTS_PER_MODEL = 200  # maximum number of products, or sweeps, for one model
_MAX_PROXIMAL_STEPS = 10  # maximum number of consecutive proximal steps
_MAX_SWEEPS = 10  # maximum number of consecutive sweeps over the features
_SYSTEM_TOL = 0.01  # share of its gain that a solution on the support may lack


class Model:
    """A quadratic model of J over a working set, by products: a point, the slope there, the cost.

    Parameters
    ----------
    product : callable
        v ↦ H v, the second derivative of the data term.
    diagonal : ndarray, shape (k,)
        Approximately the diagonal of H, and not below it.
    slope, v : ndarray, shape (k,)
        The starting point v, and the slope of the data term's model there.
    penalty : Penalty
    limit : int
        Maximum number of products.
    """

    def __init__(
        self,
        product: Product,
        diagonal: np.ndarray,
        slope: np.ndarray,
        v: np.ndarray,
        penalty: Penalty,
        limit: int,
    ) -> None:
        self.product, self.penalty, self.limit = product, penalty, limit
        self.metric = np.maximum(diagonal, 1e-12 * float(diagonal.max(initial=1.0)))
        self.v, self.slope = v.copy(), slope.copy()
        self.length, self.spent = 1.0, 0

    @property
    def promise(self) -> float:
        return float(self.penalty.promise(self.slope, self.v, self.metric).sum())

    def minimise(self, aim: float) -> None:
        """Iterate until the possible gain of single features is at most ``aim``."""
        while self.promise > aim and self.spent < self.limit:
            self.find_support(aim)
            if self.promise > aim:
                self.solve_on_support(aim)

    def find_support(self, aim: float) -> None:
        """Step v ← prox(v − η slope/h) in the metric of the diagonal h, until no sign changes.

        η is halved if a step is too long.
        """
        steps = 0
        while steps < _MAX_PROXIMAL_STEPS and self.spent < self.limit and self.promise > aim:
            step = self.length / self.metric
            new = self.penalty.prox(self.v - step * self.slope, step)
            move = new - self.v
            bent = self._bend(move)
            if dot(move, bent) > dot(self.metric * move, move) / self.length:
                self.length *= 0.5
                continue
            same = np.array_equal(np.sign(new), np.sign(self.v))
            self.v, self.slope = new, self.slope + bent
            self.length *= 1.2
            steps += 1
            if same:
                break

    def solve_on_support(self, aim: float) -> None:
        """Solve on the support by conjugate gradient, and move to the lower of `candidates`.

        Conjugate gradient stops once it leaves a piece of the penalty: the support is then wrong,
        and more products would gain nothing. The candidate that ends at the first edge of a piece
        always lowers the model.
        """
        pieces = self.penalty.pieces(self.v)
        S = np.flatnonzero(pieces.smooth)
        if len(S) == 0 or self.spent >= self.limit:
            return
        now, slope, bend = self.v[S], self.slope[S] + pieces.left[S], pieces.bend[S]
        convex = np.maximum(bend, 0.0)
        scale, start, end = self.metric[S] + convex, pieces.start[S], pieces.end[S]

        def embedded(u: np.ndarray) -> np.ndarray:
            vector = np.zeros(len(self.v))
            vector[S] = u
            return vector

        def leaves(move: np.ndarray, _: int) -> bool:
            return bool(np.any((now + move <= start) | (now + move >= end)))

        direction = minimise(
            lambda u: self._bend(embedded(u))[S] + convex * u,
            -slope,
            lambda u: u / scale,
            lambda gained, left: left <= max(_SYSTEM_TOL * gained, 0.5 * aim),
            self.limit - self.spent,
            watch=leaves,
        ).x
        tried = []
        for new in candidates(now, direction, start, end):
            move = new - now
            bent = self._bend(embedded(move))
            tried.append((dot(slope + 0.5 * (bent[S] + bend * move), move), new, bent))
        rise, new, bent = min(tried, key=lambda one: one[0])
        if rise < 0.0:
            self.v[S], self.slope = new, self.slope + bent

    def _bend(self, move: np.ndarray) -> np.ndarray:
        self.spent += 1
        return self.product(move)


class ColumnModel(Model):
    """A `Model` on columns with a weight for each row: a sweep over all features costs one product.

    Parameters
    ----------
    columns : WeightedColumns
    slope, v, penalty, limit
        As for `Model`.
    """

    def __init__(
        self,
        columns: WeightedColumns,
        slope: np.ndarray,
        v: np.ndarray,
        penalty: Penalty,
        limit: int,
    ) -> None:
        super().__init__(columns.product, columns.diagonal, slope, v, penalty, limit)
        self.columns = columns

    def find_support(self, aim: float) -> None:
        """Step v_j ← prox(v_j − slope_j/h_j), one feature at a time, until a sweep gains little."""
        z, along = np.zeros(len(self.columns.weight)), np.zeros(len(self.columns.factor))
        limit, penalty = min(_MAX_SWEEPS, self.limit - self.spent), self.penalty.compiled()
        place = _Place(self.slope, self.v, z, along)
        self.spent += _sweeps(self.columns, place, penalty, aim, limit)
        self.slope = self.slope + self.columns.of_scores(z, along)


class _Place(NamedTuple):
    """The slope (k,) where sweeps began, the current v (k,), and the scores of the move so far."""

    slope: np.ndarray
    v: np.ndarray
    z: np.ndarray
    along: np.ndarray


@vectorised
def _sweeps(bent, place, penalty, aim, max_sweeps):
    # changes v, z and along in place, and returns the number of sweeps
    columns, weight, directions, factor, diagonal = bent
    slope, v, z, along = place
    sweep = 0
    for number in range(max_sweeps):
        sweep = number + 1
        gained = 0.0
        for j in range(len(v)):
            h = diagonal[j]
            if h <= 0.0:
                continue
            g = slope[j]
            for r in range(len(along)):
                g += factor[r] * along[r] * directions[r, j]
            for e in range(row_size(columns, j)):
                i, x = row_entry(columns, j, e)
                g += x * weight[i] * z[i]
            old = v[j]
            move = prox1(penalty, j, old - g / h, 1.0 / h) - old
            if move != 0.0:
                gained += 0.5 * h * move * move
                v[j] = old + move
                row_add(columns, j, move, z)
                for r in range(len(along)):
                    along[r] += move * directions[r, j]
        if gained <= aim:
            break
    return sweep
