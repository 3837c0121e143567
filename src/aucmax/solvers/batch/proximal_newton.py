"""Proximal Newton steps for a smooth or piecewise quadratic loss and a convex penalty.

At w, with gradient ∇ and second derivative H of the data term, a step goes towards

    v = argmin  ∇·(v − w) + ½ (v − w)·H(v − w) + penalty(v),    w ← w + t (v − w),

over a working set of features: the support, and those with the largest possible gain. The model is
minimised by coordinate descent: on the set's own matrix if the set is small, or on its columns if
the second derivative is a weight for each row. Otherwise it is minimised by products with H.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import as_rows
from aucmax.data.rows.products import adjoint, dot
from aucmax.data.rows.store import Numbers
from aucmax.objective import Objective
from aucmax.objective.at_intercept import AtIntercept
from aucmax.objective.losses import ByRow, LossAt
from aucmax.solvers.base import Minimum, Monitor, Run
from aucmax.solvers.batch.columns import WeightedColumns, about_mean, shifted, weighted_gram
from aucmax.solvers.batch.coordinate_descent import on_matrix
from aucmax.solvers.batch.model import MAX_PRODUCTS_PER_MODEL, ColumnModel, Model
from aucmax.solvers.batch.slopes import Slopes
from aucmax.solvers.batch.working_set import (
    FIRST_SET_FEATURES,
    NEAR,
    Stall,
    decrement,
    decrement_by_products,
    holds_most,
    promises_off,
    straight,
    working_set,
)

__all__ = ["MAX_MATRIX_FEATURES", "ColumnSet", "Trace", "proximal_newton"]

MAX_MATRIX_FEATURES = 1000  # of a working set whose matrix is formed; sparse: a third
_FEW_ENTRIES = 100_000  # of dense columns, up to which columns of zeros cost less than to skip them
_FEW_HELD_ENTRIES = 10**6  # of dense columns, up to which a product with all costs least
_MAX_HELD_ENTRIES = 10**8  # rows times features up to which the set's columns are held for it
MIN_DENSITY = 0.05  # share of stored entries above which sparse columns are held dense
_DENSE_COST = 6.0  # features for which a dense matrix costs as much as a product
_MIN_PRODUCTS_PER_DECREMENT = 3  # a matrix that costs no more replaces them
_COLUMNS_PER_BLOCK = 64  # columns of that matrix computed at a time
_SET_TOL = 0.01  # a working set is solved to this share of its features' possible gain
_SOUGHT_SHARE = 0.1  # of the gap that remains at ``tol``: the least possible gain that is sought
_MODEL_TOL = 0.01  # a model is solved to this share of the possible gain where it was made
_MAX_SWEEPS = 500  # most sweeps of coordinate descent on one matrix
_MAX_RATIO = 4.0  # by which one step raises or lowers a kept matrix
_SLOW_SHARE = 0.1  # of the possible gain: more left after a step needs the matrix where it ended
_COSTLY_FEATURES = 500  # whose matrix costs dozens of steps, so that it is kept
_COSTLY_SHARE = 0.5  # until a step leaves this share
_NEXT_SET_FEATURES = 300  # off the support in a working set that replaces another: few are made
_NEXT_OF_MANY_ENTRIES = 150  # the same with many dense entries, where another set costs less
_HELD_SHARE = 0.25  # of the features: a set of more holds the columns of all
_MAX_SET_SHARE = 0.5  # of the features: a set of more has all, if it holds their columns


class Point(NamedTuple):
    """A point w (d,), the rows' scores z (n,), the data term there, and its gradient (d,).

    The gradient is one of `Slopes`: where it does not matter, it may be inexact.
    """

    w: np.ndarray
    z: np.ndarray
    term: LossAt
    gradient: np.ndarray


class Reached(NamedTuple):
    """A point w (d,), the rows' scores z (n,) and the data term there."""

    w: np.ndarray
    z: np.ndarray
    term: LossAt


class Trace:
    """What a solve leaves to the next one, with another penalty on the same features and rows.

    Attributes
    ----------
    part : ColumnSet or None
        The last working set.
    in_parts : AtIntercept or None
        The point where the last solve ended, for rows in parts whose scores stay with them.
    """

    def __init__(self) -> None:
        self.part: ColumnSet | None = None
        self.in_parts: AtIntercept | None = None
        self._all: ColumnSet | None = None  # which holds the columns of all features
        self._curvature: np.ndarray | None = None
        self._slopes: Slopes | None = None
        self._end: Reached | None = None

    def curvature(self, objective: Objective) -> np.ndarray:
        """Return the data term's curvature at w = 0, shape (d,), which penalties do not change."""
        if self._curvature is None:
            self._curvature = objective.data_curvature()
        return self._curvature

    def slopes(self, objective: Objective) -> Slopes:
        """Return the slopes of the data term, which steps move along."""
        self._slopes = self._slopes or Slopes(objective)
        return self._slopes

    def point(
        self, objective: Objective, w: np.ndarray, reached: Reached | None, afresh: bool
    ) -> Point:
        """Return the data term at w; it and its slopes are known if steps have ended there.

        They are computed ``afresh`` if rounding errors of the steps may matter.
        """
        slopes, penalty, part = self.slopes(objective), objective.penalty, self.part
        if reached is not None:
            self._end = None if afresh else reached
        if self._end is None or not (reached or np.array_equal(self._end.w, w)):
            z = objective.problem.scores(w)
            self._end = Reached(w.copy(), z, objective.at(z))
            slopes.move(self._end.term.gradient)
        if self._all is not None and self._all.is_dense:
            slopes.on_set(self._all, penalty, w)
        elif part is not None:
            slopes.on_set(part, penalty.of(part.S), w[part.S])
        slopes.complete(penalty, w)
        return Point(*self._end, slopes.gradient)

    def columns(
        self, objective: Objective, promise: np.ndarray, point: Point, size: int
    ) -> "ColumnSet":
        """Return a working set: the last one, unless other features promise much of the gain."""
        if self.part is not None and holds_most(self.part.S, promise):
            return self.part
        return self.new_columns(objective, promise, point, size)

    def new_columns(
        self, objective: Objective, promise: np.ndarray, point: Point, size: int
    ) -> "ColumnSet":
        """Return a working set of the features that promise the most.

        Once it would have a good part of them, all columns are held in memory, as copying some for
        each set would cost more. Then a set has fewer features, and a matrix that costs little; or
        all features, if it would have half of them.
        """
        slopes, d = self.slopes(objective), len(promise)
        place = promise, point.gradient, point.w, objective.penalty
        if self._all is None:
            following = _NEXT_OF_MANY_ENTRIES if slopes.bounds else _NEXT_SET_FEATURES
            S = working_set(*place, size if self.part is None else max(size, following))
            if len(S) > _HELD_SHARE * d and d <= MAX_MATRIX_FEATURES:
                self._all = ColumnSet(objective, np.arange(d))
        if self._all is not None:
            S = working_set(*place, size)
            S = S if self._all.is_dense and len(S) <= _MAX_SET_SHARE * d else self._all.S
        if self.part is None or not np.array_equal(S, self.part.S):
            self.part = ColumnSet(objective, S, self._all or self.part)
            slopes.on_set(self.part, objective.penalty.of(S), point.w[S])
        return self.part


def proximal_newton(objective: Objective, w: np.ndarray, run: Run, trace: Trace) -> Minimum:
    """Minimise J by steps on working sets.

    A step on a matrix costs 1, a step by products the number of products. The solve stops at
    ``tol``, when the cost reaches ``max_iter``, when the monitor says so, or when rounding prevents
    progress. It reuses from the ``trace`` of the last solve what has not changed.
    """
    penalty, curvature = objective.penalty, trace.curvature(objective)
    w[curvature <= 0.0] = 0.0
    size, steps, cost, stalled = FIRST_SET_FEATURES, 0, 0, Stall()
    before, share, reached, by_bound = np.inf, _SOUGHT_SHARE, None, not run.sure
    while True:
        point = trace.point(objective, w, reached, run.sure)
        promise = penalty.promise(point.gradient, w, curvature)
        possible = float(promise.sum())
        gap = objective.gap(point.term.value, point.gradient, w)
        value = point.term.value + penalty.value(w)
        if objective.relative(gap, value) <= run.tol:
            # a difference of values near J tells nothing below their rounding; the decrement does
            gap = max(gap, objective.rounding(w))
        enough = 0.0 if run.sure else run.tol * (objective.at_zero - value)
        # without a step nothing tells whether pairs become active, which the decrement leaves out
        at_start = objective.loss.concordant and possible <= share * enough
        fall = 0.0 if at_start and not reached else before - value
        before = value
        if fall < np.inf and trace.part and objective.relative(gap, value) > run.tol:
            left = _decrement(objective, trace, promise, point, size, run, by_bound)
            if objective.relative(left, value) > run.tol:
                # a more exact step costs less than a decrement by products
                share = min(share, max(possible / left, _SET_TOL * share))
                by_bound = False
            # too small far from the optimum, and while pairs become active or inactive
            near = objective.loss.concordant and objective.relative(fall, value) <= NEAR
            if run.sure or not near:
                left = max(left, fall)
            gap = min(gap, left)
        if objective.relative(gap, value) <= run.tol or cost >= run.max_iter or run.monitor.stopped:
            return Minimum(w, value, gap, steps, cost)
        if size >= len(w) and stalled(possible):
            return Minimum(w, value, gap, steps, cost)
        last, part = trace.part, trace.columns(objective, promise, point, size)
        promise_on_set = float(promise[part.S].sum())
        aim = max(_SET_TOL * promise_on_set, share * enough)
        w, reached, newton_steps, spent = _on_set(
            objective, trace, point, promise_on_set, aim, run.max_iter - cost, steps, run.monitor
        )
        steps, cost = steps + newton_steps, cost + max(spent, 1)
        if part is not last:
            size = min(2 * max(size, len(part.S)), len(w))


def _decrement(
    objective: Objective,
    trace: Trace,
    promise: np.ndarray,
    point: Point,
    size: int,
    run: Run,
    by_bound: bool,
) -> float:
    """Return `decrement` over a working set that holds all features that promise a gain.

    An earlier matrix gives a bound on it. If the bound is not enough, and not all that is asked for
    (``by_bound``), the decrement is computed from the current second derivative: by its matrix if
    ``run.sure``, if the matrix is small or if there is none, otherwise by products. It is infinite
    if too many features promise a gain.
    """
    part, curvature = trace.part, trace.curvature(objective)
    assert part is not None
    if promises_off(part.S, promise, point.w, curvature):
        part = trace.new_columns(objective, promise, point, size)
        if promises_off(part.S, promise, point.w, curvature):
            return np.inf
    S, term = part.S, point.term
    place = point.gradient[S], point.w[S], objective.penalty.of(S)
    most = np.inf
    if part.bent is not None and (share := part.share(term)) > 0.0:
        most = decrement(part.bent, *place, share)
        value = term.value + objective.penalty.value(point.w)
        if objective.relative(most, value) <= run.tol:
            return most
    few = len(S) <= _MIN_PRODUCTS_PER_DECREMENT * _DENSE_COST
    if part.small and (run.sure or few or part.bent is None):  # the next step needs it anyway
        return decrement(part.bend(term), *place)
    if by_bound and np.isfinite(most):
        return most
    if isinstance(term, ByRow) and not part.small:
        columns = part.weighted(term)
        return decrement_by_products(columns.product, columns.diagonal, *place)
    return decrement_by_products(partial(part.product, term), part.curvature, *place, part.bent)


def _columns(objective: Objective, S: np.ndarray, few: bool) -> np.ndarray | sp.csc_array:
    """Return columns as stored, but dense if they are few and not nearly all zeros."""
    problem = objective.problem
    X, means = problem.columns(S).X, problem.mean_neg[S]
    matrix, _ = shifted(X, means if objective.translates else np.zeros(len(S)))
    if (
        few
        and not isinstance(matrix, np.ndarray)
        and matrix.nnz >= MIN_DENSITY * problem.n_samples * len(S)
    ):
        return np.asfortranarray(matrix.toarray())
    return matrix


class ColumnSet:
    """The columns of a working set, dense or sparse, in the problem's coordinates.

    If only differences between rows matter, columns without zeros are shifted near the origin,
    where their products keep their digits.
    """

    def __init__(
        self, objective: Objective, S: np.ndarray, before: "ColumnSet | None" = None
    ) -> None:
        self.objective, self.S = objective, S
        entries = objective.problem.n_samples * len(S)
        few = len(S) <= MAX_MATRIX_FEATURES and entries <= _MAX_HELD_ENTRIES
        # the columns in memory, one to a row, and which of them are those of the set if not all
        self._held: np.ndarray | sp.csr_array
        self._places: np.ndarray | None = None
        if before is not None and before._holds_all:
            self._held, self._places = before._held, S if len(S) < len(before._held) else None
        elif few and before is not None and before._holds_most_of(S):
            self._held = before._with_more(S)
        else:
            self._held = _columns(objective, S, few).T
        self.is_dense = isinstance(self._held, np.ndarray)
        self._rows = as_rows(self._held)
        self.bent: np.ndarray | None = None
        # the rows with curvature in it, and their weights there
        self._bending: np.ndarray | slice = slice(0)
        self._weights = np.zeros(0)
        self._term: ByRow | None = None  # whose weights `weighted` has
        self.curvature = objective.data_curvature()[S]
        # a product costs less with sparse columns
        self.small = few and (self.is_dense or len(S) <= MAX_MATRIX_FEATURES // 3)

    @property
    def matrix(self) -> np.ndarray | sp.csc_array:
        """The columns (n, k); a copy if the set holds more."""
        return (self._held if self._places is None else self._held[self._places]).T

    @property
    def _holds_all(self) -> bool:
        return self.is_dense and self._held.shape[0] == self.objective.problem.n_features

    def _holds_most_of(self, S: np.ndarray) -> bool:
        return self.is_dense and 2 * np.isin(S, self.S).sum() > len(S)

    def _with_more(self, S: np.ndarray) -> np.ndarray:
        """Return the columns S, dense; the columns that this set has are copied."""
        rows = np.empty((len(S), self._held.shape[1]))
        shared = np.isin(S, self.S)
        rows[shared] = self._held[np.searchsorted(self.S, S[shared])]
        new = _columns(self.objective, S[~shared], few=True)
        rows[~shared] = (new if isinstance(new, np.ndarray) else new.toarray()).T
        return rows

    def bend(self, term: LossAt) -> np.ndarray:
        """Return the second derivative of the data term over the set, and store it as ``bent``."""
        self.bent = self.hessian(term)
        if isinstance(term, ByRow):
            weights = term.bent[:]
            positive = weights > 0.0
            self._bending = slice(None) if positive.all() else np.flatnonzero(positive)
            self._weights = weights[self._bending]
        return self.bent

    def follow(self, step: np.ndarray, change: np.ndarray) -> None:
        """Scale ``bent`` to the curvature along a step (k,), from the change of the gradient (k,).

        Along a path the rows' weights fall, most of them by similar factors.
        """
        if self.bent is not None and (curvature := dot(step, self.bent @ step)) > 0.0:
            ratio = min(max(dot(step, change) / curvature, 1.0 / _MAX_RATIO), _MAX_RATIO)
            self.bent *= ratio
            self._weights = ratio * self._weights

    def share(self, term: LossAt) -> float:
        """Return a c for which the second derivative at ``term`` is at least c times ``bent``.

        c is the smallest ratio of a row's weight in ``term`` to that in ``bent``: a weighted sum of
        squares about the mean is monotone in the weights. It is 0 if there are no such weights.
        """
        if not isinstance(term, ByRow) or len(self._weights) == 0:
            return 0.0
        return float((term.bent[:][self._bending] / self._weights).min())

    def hessian(self, term: LossAt) -> np.ndarray:
        """Return the second derivative of the data term over the set, by blocks of columns."""
        if isinstance(term, ByRow):
            if self.objective.problem.gram_cost <= len(self.S) / _DENSE_COST:
                return self.objective.bend_matrix(term)[np.ix_(self.S, self.S)]
            return self._weighted(term)
        k, matrix = len(self.S), self.matrix
        H = np.zeros((k, k))
        for first in range(0, k, _COLUMNS_PER_BLOCK):
            block = matrix[:, first : first + _COLUMNS_PER_BLOCK]
            if not isinstance(block, np.ndarray):
                block = block.toarray()
            bent = np.empty(block.shape, order="F")
            for j in range(block.shape[1]):
                bent[:, j] = term.product(np.ascontiguousarray(block[:, j]))
            H[first:, first : first + _COLUMNS_PER_BLOCK] = matrix[:, first:].T @ bent
        return np.tril(H) + np.tril(H, -1).T

    def _weighted(self, term: ByRow) -> np.ndarray:
        bent, matrix = term.bent[:], self.matrix
        mass = float(bent.sum()) if term.follows else 0.0
        return weighted_gram(matrix, bent, *about_mean(matrix.T @ bent, mass))

    def weighted(self, term: ByRow) -> WeightedColumns:
        """Return the second derivative of the data term by columns."""
        if self._term is not term:
            self._columns = WeightedColumns.of_rows(self.matrix, term.bent[:], term.follows)
            self._term = term
        return self._columns

    def scores(self, v: np.ndarray) -> np.ndarray:
        """Return the rows' scores (n,) for v (k,), from the columns where v is not 0."""
        if self._places is not None:
            of_set, v = v, np.zeros(len(self._held))
            v[self._places] = of_set
        if self.is_dense and self._held.size <= _FEW_ENTRIES:
            return v @ self._held
        return adjoint(self._rows, v)

    @property
    def entries(self) -> int:
        """The number of entries of dense columns."""
        return self._held.shape[1] * len(self.S) if self.is_dense else 0

    def slopes(self, derivatives: Numbers, some: np.ndarray | None = None) -> np.ndarray:
        """Return the slopes of the data term along the features (k,), or some of dense ones."""
        g = derivatives[:]
        if some is None and self._places is None:
            return self._held @ g
        places = self.S if self._places is not None else np.arange(len(self.S))
        places = places if some is None else places[some]
        if self._held.size <= _FEW_HELD_ENTRIES:
            return (self._held @ g)[places]
        return np.array([self._held[j] @ g for j in places.tolist()])  # copies no column

    def product(self, term: LossAt, v: np.ndarray) -> np.ndarray:
        """Return the second derivative of the data term times v."""
        return self.slopes(term.product(self.scores(v)))


def _on_set(
    objective: Objective,
    trace: Trace,
    start: Point,
    promise: float,
    aim: float,
    max_cost: int,
    before: int,
    monitor: Monitor,
) -> tuple[np.ndarray, Reached, int, int]:
    """Take steps over a working set until the possible gain of its features is at most ``aim``.

    It is ``promise`` at the start. Return w, what is known there, the number of steps, and their
    cost.
    """
    part = trace.part
    assert part is not None
    iterate, w = _Iterate(objective, part, trace.slopes(objective), start), start.w.copy()
    steps = cost = 0
    stalled, last, is_fresh = Stall(), np.inf, False
    costly = min(len(part.S) / _COSTLY_FEATURES, 1.0)
    slow = max(_SLOW_SHARE, costly * _COSTLY_SHARE)
    while promise > aim and cost < max_cost and not stalled(promise):
        # reuse the matrix of an earlier point as long as its steps gain enough
        if part.small and (part.bent is None or promise > slow * last):
            part.bend(iterate.term)
            is_fresh = True
        inner = max(_MODEL_TOL * promise, 0.1 * aim)
        target, spent = iterate.target(inner, max_cost - cost)
        cost += spent
        if iterate.advance(target):
            last = promise
        elif part.small and not is_fresh:
            last = 0.0
            continue
        else:
            break
        is_fresh = False
        steps += 1
        if steps % 10 == 0:
            iterate.recompute_scores()
        promise = iterate.promise()
        if monitor.active or monitor.keep is not None:
            w = w.copy()
            w[part.S] = iterate.v
            if monitor(w, float(before + steps)):
                break
    w[part.S] = iterate.v
    return w, Reached(w.copy(), iterate.z, iterate.term), steps, cost


class _Iterate:
    """A point v on a working set: the rows' scores z (n,), the data term, and J there."""

    def __init__(self, objective: Objective, part: ColumnSet, slopes: Slopes, start: Point) -> None:
        self.objective, self.part, self.slopes = objective, part, slopes
        self.penalty, self.v = objective.penalty.of(part.S), start.w[part.S]
        self.z, self.term = start.z, start.term
        self.gradient = start.gradient[part.S]
        self.value = self.term.value + self.penalty.value(self.v)

    def recompute_scores(self) -> None:
        """Recompute the scores, in which rounding errors accumulate."""
        self.z = self.part.scores(self.v)
        self.term = self.objective.at(self.z)
        self.find_gradient()

    def find_gradient(self) -> None:
        """Find the slopes, as far as they matter."""
        self.slopes.move(self.term.gradient)
        self.gradient = self.slopes.on_set(self.part, self.penalty, self.v)

    def promise(self) -> float:
        """Return the possible gain of all features."""
        return float(self.penalty.promise(self.gradient, self.v, self.part.curvature).sum())

    def target(self, aim: float, max_cost: int) -> tuple[np.ndarray, int]:
        """Return the model's minimum, up to a possible gain of ``aim``, and its cost."""
        part, v, term, gradient = self.part, self.v, self.term, self.gradient
        if part.small:
            H = part.bent
            assert H is not None
            target = on_matrix(H, gradient, self.penalty, v, aim, _MAX_SWEEPS, near=True)[0]
            if not H.diagonal().all():
                pieces = self.penalty.pieces(v)
                idle, ends = straight(H.diagonal(), v, pieces, pieces.slope(gradient))
                target[idle] = np.where(np.isfinite(ends), ends, v[idle])
            return target, 1
        place = gradient, v, self.penalty, min(MAX_PRODUCTS_PER_MODEL, max_cost)
        if isinstance(term, ByRow):
            model: Model = ColumnModel(part.weighted(term), *place)
        else:
            model = Model(partial(part.product, term), part.curvature, *place)
        model.minimise(aim)
        return model.v, model.spent

    def advance(self, target: np.ndarray) -> bool:
        """Move to the target, or part of the way, so that J falls enough; False if impossible."""
        v, penalty, at = self.v, self.penalty, partial(self.objective.at, near=self.term)
        direction = target - v
        move = self.part.scores(direction)
        # a lower bound on the gain of the model
        end = penalty.value(target)
        fall = dot(self.gradient, direction) + end - (self.value - self.term.value)
        t, z = 1.0, self.z + move
        term = at(z)
        for _ in range(30):
            value = term.value + (end if t == 1.0 else penalty.value(v + t * direction))
            if value <= self.value + 1e-4 * t * fall + 1e-15 * abs(self.value):
                break
            t *= 0.5
            z = self.z + t * move
            term = at(z)
        else:
            return False
        self.v = target if t == 1.0 else v + t * direction
        before, self.z, self.term, self.value = self.gradient, z, term, value
        self.find_gradient()
        self.part.follow(t * direction, self.gradient - before)
        return True
