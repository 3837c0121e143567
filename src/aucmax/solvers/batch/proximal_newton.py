"""Proximal Newton steps for a smooth or piecewise quadratic loss and a convex penalty.

At w, with gradient ∇ and second derivative H of the data term, a step goes towards

    v = argmin  ∇·(v − w) + ½ (v − w)·H(v − w) + penalty(v),    w ← w + t (v − w),

over a working set of features: the support, and those with the largest possible gain. The model is
minimised by coordinate descent on the set's own matrix if that is small, and by products with
the rows if it is large.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.losses import ByRow, LossAt
from aucmax.objective.penalties import Penalty
from aucmax.solvers.base import Monitor, Run
from aucmax.solvers.batch.coordinate_descent import on_matrix, sparse_columns
from aucmax.solvers.batch.krylov import Product, minimise
from aucmax.solvers.batch.working_set import (
    FIRST_SET_FEATURES,
    Stall,
    candidates,
    decrement,
    decrement_by_products,
    promises_off,
    working_set,
)

__all__ = ["MAX_MATRIX_FEATURES", "ColumnSet", "Minimum", "proximal_newton"]

MAX_MATRIX_FEATURES = 1000  # of a working set whose matrix is formed; sparse: a third
_MAX_HELD_ENTRIES = 10**8  # rows times features up to which the set's columns are held for it
MIN_DENSITY = 0.05  # share of stored entries above which sparse columns are held dense
_DENSE_COST = 6.0  # features for which a dense matrix costs as much as a product
_COLUMNS_PER_BLOCK = 64  # columns of that matrix computed at a time
_SET_TOL = 0.01  # a working set is solved to this share of its features' possible gain
_MODEL_TOL = 0.01  # a model is solved to this share of the possible gain where it was made
_MAX_SWEEPS = 500  # most sweeps of coordinate descent on one matrix
_MAX_PRODUCTS_PER_MODEL = 200  # most products spent on one model
_SYSTEM_TOL = 0.01  # share of its gain that may be missing when a system on the support is solved
_MAX_PROXIMAL_STEPS = 10  # most consecutive proximal steps


class Minimum(NamedTuple):
    """A minimiser w (d,), J(w), a bound or estimate of J(w) − J*, the steps, and their cost.

    The cost of a step is the products with the data that it took, and 1 at least.
    """

    w: np.ndarray
    value: float
    gap: float
    steps: int
    cost: int


def proximal_newton(objective: Objective, w: np.ndarray, run: Run) -> Minimum:
    """Minimise J by steps on working sets.

    A step on a matrix costs 1, a step by products as many as it took. Stops at ``tol``, when the
    cost reaches ``max_iter``, when the monitor says so, or when rounding prevents progress.
    """
    penalty, curvature = objective.penalty, objective.data_curvature()
    w[curvature <= 0.0] = 0.0
    size, steps, cost, stalled = FIRST_SET_FEATURES, 0, 0, Stall()
    part: ColumnSet | None = None
    before = np.inf
    while True:
        value, gradient = objective.data_term(w)
        promise = penalty.promise(gradient, w, curvature)
        gap = objective.gap(value, gradient, w)
        now = value + penalty.value(w)
        fall, before = before - now, now
        if objective.relative(gap, now) > run.tol and part is not None:
            # while pairs become active or inactive, the decrement is too small but J still falls
            gap = min(gap, max(_decrement(objective, part, promise, gradient, w), fall))
        if objective.relative(gap, now) <= run.tol or cost >= run.max_iter or run.monitor.stopped:
            return Minimum(w, now, gap, steps, cost)
        if size >= len(w) and stalled(float(promise.sum())):
            return Minimum(w, now, gap, steps, cost)
        S = working_set(promise, w, penalty, size)
        if part is None or not np.array_equal(S, part.S):
            part = ColumnSet(objective, S)
        aim = _SET_TOL * float(promise[S].sum())
        w, newton_steps, spent = _on_set(
            objective, part, w, aim, run.max_iter - cost, steps, run.monitor
        )
        steps, cost = steps + newton_steps, cost + max(spent, 1)
        size = min(2 * max(size, len(S)), len(w))


def _decrement(
    objective: Objective,
    part: "ColumnSet",
    promise: np.ndarray,
    gradient: np.ndarray,
    w: np.ndarray,
) -> float:
    """Return `decrement` of the working set, infinite if a feature outside promises a gain."""
    S = part.S
    if promises_off(S, promise, w, objective.data_curvature()):
        return np.inf
    term, point = objective.at(part.matrix @ w[S]), (gradient[S], w[S], objective.penalty.of(S))
    if part.small:
        return decrement(part.hessian(term), *point)
    return decrement_by_products(
        lambda v: part.transposed @ term.product(part.matrix @ v), part.curvature, *point
    )


class ColumnSet:
    """The columns of a working set, dense or sparse, in the problem's coordinates.

    If only differences between rows matter, a column without zeros is shifted near the origin,
    where its products keep their digits.
    """

    def __init__(self, objective: Objective, S: np.ndarray) -> None:
        problem = objective.problem
        self.objective, self.S = objective, S
        self.matrix: np.ndarray | sp.csc_array
        columns = problem.columns(S)
        if not isinstance(columns.X, np.ndarray):
            self.matrix = sparse_columns(problem, S, columns, objective.translates).matrix
            entries = problem.n_samples * len(S)
            if MIN_DENSITY * entries <= self.matrix.nnz and entries <= _MAX_HELD_ENTRIES:
                self.matrix = np.asfortranarray(self.matrix.toarray())
        else:
            self.matrix = columns.X
            if objective.translates:
                self.matrix -= problem.mean_neg[S]
        self.transposed = self.matrix.T
        self.curvature = objective.data_curvature()[S]
        dense = isinstance(self.matrix, np.ndarray)
        # a sparse product costs less
        most = MAX_MATRIX_FEATURES if dense else MAX_MATRIX_FEATURES // 3
        self.small = len(S) <= most and problem.n_samples * len(S) <= _MAX_HELD_ENTRIES

    def hessian(self, term: LossAt) -> np.ndarray:
        """Return the second derivative of the data term over the set, by blocks of columns."""
        if isinstance(term, ByRow):
            if self.objective.problem.gram_cost <= len(self.S) / _DENSE_COST:
                return self.objective.bend_matrix(term)[np.ix_(self.S, self.S)]
            return self._weighted(term)
        k = len(self.S)
        H = np.zeros((k, k))
        for first in range(0, k, _COLUMNS_PER_BLOCK):
            block = self.matrix[:, first : first + _COLUMNS_PER_BLOCK]
            if not isinstance(block, np.ndarray):
                block = block.toarray()
            bent = np.empty(block.shape, order="F")
            for j in range(block.shape[1]):
                bent[:, j] = term.product(np.ascontiguousarray(block[:, j]))
            H[first:, first : first + _COLUMNS_PER_BLOCK] = self.matrix[:, first:].T @ bent
        return np.tril(H) + np.tril(H, -1).T

    def _weighted(self, term: ByRow) -> np.ndarray:
        bent = term.bent[:]
        rows = np.flatnonzero(bent)  # the others have no curvature
        matrix = self.matrix if len(rows) == len(bent) else self.matrix[rows]
        bent = bent[rows]
        root = np.sqrt(bent)[:, None]
        if isinstance(matrix, np.ndarray):
            rooted = matrix * root
            H = rooted.T @ rooted
        else:
            rooted = matrix.multiply(root).tocsc()
            H = (rooted.T @ rooted).toarray()
        if term.follows and len(rows):
            total = matrix.T @ bent
            H -= np.outer(total, total) / bent.sum()
        return H


def _on_set(
    objective: Objective,
    part: ColumnSet,
    w: np.ndarray,
    aim: float,
    max_cost: int,
    before: int,
    monitor: Monitor,
) -> tuple[np.ndarray, int, int]:
    """Take steps over a working set until the possible gain of its features is at most ``aim``.

    Returns w, the number of steps and their cost.
    """
    iterate, w = _Iterate(objective, part, w[part.S]), w.copy()
    steps = cost = 0
    stalled = Stall()
    while True:
        gradient, promise = iterate.promise()
        if promise <= aim or cost >= max_cost or stalled(promise):
            break
        inner = max(_MODEL_TOL * promise, 0.1 * aim)
        target, spent = iterate.target(gradient, inner, max_cost - cost)
        cost += spent
        if not iterate.advance(gradient, target):
            break
        steps += 1
        if steps % 10 == 0:
            iterate.recompute_scores()
        if monitor.active or monitor.keep is not None:
            w = w.copy()
            w[part.S] = iterate.v
            if monitor(w, float(before + steps)):
                break
    w[part.S] = iterate.v
    return w, steps, cost


class _Iterate:
    """A point v on a working set: the rows' scores z (n,), the data term, and J there."""

    def __init__(self, objective: Objective, part: ColumnSet, v: np.ndarray) -> None:
        self.objective, self.part, self.v = objective, part, v
        self.penalty = objective.penalty.of(part.S)
        self.recompute_scores()
        self.value = self.term.value + self.penalty.value(v)

    def recompute_scores(self) -> None:
        """Compute the scores anew: rounding errors accumulate in them."""
        self.z = self.part.matrix @ self.v
        self.term = self.objective.at(self.z)

    def promise(self) -> tuple[np.ndarray, float]:
        """Return the data term's gradient, and the possible gain of all features."""
        gradient = self.part.transposed @ self.term.gradient[:]
        return gradient, float(self.penalty.promise(gradient, self.v, self.part.curvature).sum())

    def target(self, gradient: np.ndarray, aim: float, max_cost: int) -> tuple[np.ndarray, int]:
        """Return the model's minimum, solved to a possible gain of ``aim``, and its cost."""
        part, v, term = self.part, self.v, self.term
        if part.small:
            H = part.hessian(term)
            return on_matrix(H, H @ v - gradient, self.penalty, v.copy(), aim, _MAX_SWEEPS)[0], 1

        def product(u: np.ndarray) -> np.ndarray:
            return part.transposed @ term.product(part.matrix @ u)

        limit = min(_MAX_PRODUCTS_PER_MODEL, max_cost)
        model = _Model(product, part.curvature, gradient, v, self.penalty, limit)
        # proximal steps find the support, conjugate gradient solves on it
        while model.promise > aim and model.spent < limit:
            model.proximal_steps(aim)
            model.support_step(aim)
        return model.v, model.spent

    def advance(self, gradient: np.ndarray, target: np.ndarray) -> bool:
        """Go to the target, or as far towards it as lowers J enough; False if nothing does."""
        v, penalty, at = self.v, self.penalty, self.objective.at
        direction = target - v
        move = self.part.matrix @ direction
        # the gain of the model, at least
        fall = dot(gradient, direction) + penalty.value(target) - penalty.value(v)
        t, term = 1.0, at(self.z + move)
        for _ in range(30):
            value = term.value + penalty.value(v + t * direction)
            if value <= self.value + 1e-4 * t * fall + 1e-15 * abs(self.value):
                break
            t *= 0.5
            term = at(self.z + t * move)
        else:
            return False
        self.v = target if t == 1.0 else v + t * direction
        self.z, self.term, self.value = self.z + t * move, term, value
        return True


class _Model:
    """The model of J over a working set, by products: its point, its slope there, its cost."""

    def __init__(
        self,
        product: Product,
        diagonal: np.ndarray,
        gradient: np.ndarray,
        w: np.ndarray,
        penalty: Penalty,
        limit: int,
    ) -> None:
        self.product, self.penalty, self.limit = product, penalty, limit
        self.metric = np.maximum(diagonal, 1e-12 * float(diagonal.max(initial=1.0)))
        self.v, self.slope = w.copy(), gradient.copy()
        self.length, self.spent = 1.0, 0

    @property
    def promise(self) -> float:
        return float(self.penalty.promise(self.slope, self.v, self.metric).sum())

    def proximal_steps(self, aim: float) -> None:
        """v ← prox(v − η slope/h) in the metric of the diagonal h, until the signs stay.

        η is halved if it is too long.
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

    def support_step(self, aim: float) -> None:
        """Solve on the support by conjugate gradient, and move to the lower of `candidates`.

        Once its point leaves a piece of the penalty the support is wrong, and it stops: to solve on
        costs products for no gain. The candidate that ends at the first edge of a piece always
        lowers the model.
        """
        pieces = self.penalty.pieces(self.v)
        S = np.flatnonzero(pieces.smooth)
        if len(S) == 0 or self.spent >= self.limit:
            return
        now, slope, bend = self.v[S], self.slope[S] + pieces.left[S], pieces.bend[S]
        scale, start, end = self.metric[S] + bend, pieces.start[S], pieces.end[S]

        def embedded(u: np.ndarray) -> np.ndarray:
            vector = np.zeros(len(self.v))
            vector[S] = u
            return vector

        def leaves(move: np.ndarray, _: int) -> bool:
            return bool(np.any((now + move <= start) | (now + move >= end)))

        direction = minimise(
            lambda u: self._bend(embedded(u))[S] + bend * u,
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
