"""Newton steps for the logistic loss of rows in parts, whose scores stay where the rows are.

J is a convex function of w and the intercept b, and a step moves both. Each point takes one pass,
which recomputes the scores and returns sums: J, its gradient, and the second derivative over the
features of the next step. The amount of data sent does not depend on the number of rows.
"""

import numpy as np

from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.at_intercept import AtIntercept
from aucmax.objective.losses import Logistic
from aucmax.solvers.base import Minimum, Run
from aucmax.solvers.batch.coordinate_descent import on_matrix
from aucmax.solvers.batch.model import MAX_PRODUCTS_PER_MODEL, Model
from aucmax.solvers.batch.working_set import (
    FIRST_SET_FEATURES,
    NEAR,
    Stall,
    decrement,
    decrement_by_products,
    holds_most,
    promises_off,
    working_set,
)

__all__ = ["MAX_MATRIX_FEATURES", "IterateInParts", "proximal_in_parts", "scores_stay"]

MAX_MATRIX_FEATURES = 1000  # of a working set whose matrix each part returns
_ROUNDING_SHARE = 1e-15  # share of J by which rounding alone may raise or lower it
_MODEL_TOL = 1e-6  # share of the possible gain to which a model is solved: a pass costs far more
_MAX_SWEEPS = 500  # maximum number of sweeps of coordinate descent on one matrix


def scores_stay(objective: Objective) -> bool:
    """Return whether this module's steps are needed."""
    return objective.problem.scores_stay and isinstance(objective.loss, Logistic)


class IterateInParts:
    """A point (w, b) of the logistic loss.

    Parameters
    ----------
    objective : Objective
    w : ndarray, shape (d,)
        A start, replaced by 0 if J is lower at 0.
    S : ndarray of int, shape (k,), optional
        The features over which a pass returns the second derivative.
    last : AtIntercept, optional
        The data term where the last solve ended; it is reused if that was at w.
    """

    def __init__(
        self,
        objective: Objective,
        w: np.ndarray,
        S: np.ndarray | None,
        last: AtIntercept | None = None,
    ) -> None:
        self.objective, self.S = objective, S
        at_w = last is not None and np.array_equal(last.w, w)
        self.term = last if last is not None and at_w else self._first(w)
        if w.any() and self.value > objective.at_zero:
            self.term = self._first(np.zeros_like(w))

    def _first(self, w: np.ndarray) -> AtIntercept:
        problem, loss = self.objective.problem, self.objective.loss
        assert isinstance(loss, Logistic)
        b = loss.first_intercept(dot(problem.mean_pos, w), dot(problem.mean_neg, w))
        return AtIntercept.of(problem, loss, w, b, self.S)

    @property
    def w(self) -> np.ndarray:
        """The coefficients, shape (d,)."""
        return self.term.w

    @property
    def intercept(self) -> float:
        """The best intercept."""
        return self.term.intercept

    @property
    def excess(self) -> float:
        """How much a better intercept may lower J; 0 if rounding hides it."""
        excess = self.term.excess
        return excess if excess > _ROUNDING_SHARE * self.data else 0.0

    @property
    def data(self) -> float:
        """The data term of J."""
        return self.term.value

    @property
    def gradient(self) -> np.ndarray:
        """The gradient of the data term, shape (d,)."""
        return self.term.gradient

    @property
    def value(self) -> float:
        """J(w, b)."""
        return self.data + self.objective.penalty.value(self.w)

    def gap(self) -> float:
        """Return a bound on J(w, b) − J* by duality."""
        return self.objective.gap(self.data, self.gradient, self.w) + self.excess

    def settle(self) -> float:
        """Take the best intercept, in one pass, if that lowers J visibly; return the new `gap`.

        A start with optimal coefficients has only a guess of the intercept.
        """
        if self.excess > 0.0:
            self.term = self.term.moved(np.zeros_like(self.w), 1.0, self.S)
        return self.gap()

    def go(self, direction: np.ndarray, slope_of_penalty: float) -> float:
        """Move along a direction if that lowers J enough; return the length of the step, or 0.

        Parameters
        ----------
        direction : ndarray, shape (d,)
        slope_of_penalty : float
            An upper bound on the slope of the penalty along it: the slope if the penalty is smooth,
            otherwise the change over the whole step.
        """
        start, value = self.term, self.value
        slope = start.towards(direction)[1] + slope_of_penalty
        t = 1.0
        for _ in range(30):
            self.term = start.moved(direction, t, self.S)
            rise = self.value - value
            if rise <= 1e-4 * t * slope + _ROUNDING_SHARE * abs(value):
                return t
            # the minimum of the parabola through both values and the slope
            share = -0.5 * t * slope / (rise - t * slope) if np.isfinite(rise) else 0.0
            t *= min(max(share, 0.1), 0.5)
        self.term = start
        return 0.0


def proximal_in_parts(
    objective: Objective, w: np.ndarray, run: Run, last: AtIntercept | None
) -> tuple[Minimum, AtIntercept]:
    """Minimise J with any penalty by proximal Newton steps, each over a working set of features.

    This is `proximal_newton` without keeping the columns of the set. ``last`` is the data term
    where the previous solve, with another penalty, ended; that of this solve is also returned.
    """
    penalty, curvature = objective.penalty, objective.data_curvature()
    w[curvature <= 0.0] = 0.0
    S = None if last is None else last.S
    if S is None:  # before the first pass: use the slopes at w = 0
        slope = objective.slope_at_zero
        promise = penalty.promise(slope, w, curvature)
        S = working_set(promise, slope, w, penalty, FIRST_SET_FEATURES)
    iterate = IterateInParts(objective, w, S, last)
    size, steps, cost, stalled, before = FIRST_SET_FEATURES, 0, 0, Stall(), np.inf
    while True:
        value, gradient, w = iterate.value, iterate.gradient, iterate.w
        promise = penalty.promise(gradient, w, curvature)
        gap, fall, before = iterate.gap(), before - value, value
        if steps > 0 and objective.relative(gap, value) > run.tol:
            left = _Model(iterate).decrement(promise)
            # far from the optimum the decrement is too small
            if run.sure or objective.relative(fall, value) > NEAR:
                left = max(left, fall)
            gap = min(gap, left + iterate.excess)
        stop = objective.relative(gap, value) <= run.tol or cost >= run.max_iter
        if stop or run.monitor.stopped:
            break
        if holds_most(S, promise):
            if stalled(float(promise.sum())):
                break
        else:
            room = max(MAX_MATRIX_FEATURES - int(np.count_nonzero(w)), FIRST_SET_FEATURES)
            size = min(2 * max(size, len(S)), room)
            S = iterate.S = working_set(promise, gradient, w, penalty, size)
        direction, spent = _Model(iterate).direction(promise, run.max_iter - cost)
        rise = penalty.value(w + direction) - penalty.value(w)
        steps, cost = steps + 1, cost + spent
        # no step lowers J by more than rounding
        if not direction.any() or iterate.go(direction, rise) == 0.0:
            break
        run.monitor(iterate.w, float(steps))
    if steps == 0:
        gap = min(gap, iterate.settle())
    return Minimum(w, iterate.value, gap, steps, cost, iterate.intercept), iterate.term


class _Model:
    """The quadratic model of J at a point, over its working set."""

    def __init__(self, iterate: IterateInParts) -> None:
        assert iterate.S is not None
        self.objective, self.term, self.S = iterate.objective, iterate.term, iterate.S
        self.place = iterate.gradient[self.S], iterate.w[self.S]
        self.penalty = self.objective.penalty.of(self.S)
        self.curvature = self.objective.data_curvature()

    def direction(self, promise: np.ndarray, limit: int) -> tuple[np.ndarray, int]:
        """Return the direction to the model's minimum, shape (d,), and its cost."""
        (gradient, v), aim = self.place, _MODEL_TOL * float(promise[self.S].sum())
        if len(self.S) <= MAX_MATRIX_FEATURES:
            H = self.term.matrix(self.S)
            target, *_ = on_matrix(H, gradient, self.penalty, v, aim, _MAX_SWEEPS)
            spent = 1
        else:
            most = min(MAX_PRODUCTS_PER_MODEL, limit)
            model = Model(self._product, self.curvature[self.S], *self.place, self.penalty, most)
            model.minimise(aim)
            target, spent = model.v, model.spent
        direction = np.zeros(len(promise))
        direction[self.S] = target - v
        return direction, spent

    def decrement(self, promise: np.ndarray) -> float:
        """Return `decrement`, or infinity if a feature off the set promises a gain."""
        if promises_off(self.S, promise, self.term.w, self.curvature):
            return np.inf
        if len(self.S) <= MAX_MATRIX_FEATURES:
            return decrement(self.term.matrix(self.S), *self.place, self.penalty)
        of_set = self.curvature[self.S], *self.place, self.penalty
        return decrement_by_products(self._product, *of_set)

    def _product(self, v: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self.term.w))
        full[self.S] = v
        return self.term.product(full)[self.S]
