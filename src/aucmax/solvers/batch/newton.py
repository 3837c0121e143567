"""Newton's method for the squared hinge and for smooth losses, matrix-free with an l2 penalty.

    (∇²f(w) + αI) d = −∇J(w),    w ← w + t d

The squared hinge is piecewise quadratic: its second derivative counts the pairs with margin below
1, and its product with a vector takes two passes over the rows and one sweep over the sorted
scores. The second derivative of the logistic loss weights the rows; its product takes one pass.
For rows in parts, the logistic loss is minimised over w and the intercept together, and no scores
are kept: every pass recomputes them where the rows are (`in_parts`). With other penalties, steps
are those of `proximal_newton` or `proximal_in_parts`.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.at_intercept import AtIntercept
from aucmax.objective.losses import ByRow, LossAt, PairwiseLoss, StrataLikelihood
from aucmax.objective.losses.base import row_blocks
from aucmax.solvers.base import Minimum, Result, Run, Solver, lacking, unfinished
from aucmax.solvers.batch.in_parts import IterateInParts, proximal_in_parts, scores_stay
from aucmax.solvers.batch.krylov import (
    Enough,
    Preconditioner,
    Product,
    Solved,
    minimise,
    preconditioner,
    solved,
)
from aucmax.solvers.batch.proximal_newton import Trace, proximal_newton

__all__ = ["GAP_PER_DECREMENT", "Newton"]

_SYSTEM_TOL = 0.2  # share of its gain that the solution of a Newton system may lack
GAP_PER_DECREMENT = 3.0  # bounds the gain: pairs that become inactive lose their curvature
_EIGENVALUE_FALL = 0.3  # solve again only if the smallest eigenvalue fell below this share
_USUAL_PRODUCTS = 11  # expected number of products of a system, until one takes more
_SLOPE_SHARE = 0.1  # share of the initial slope at which a line search stops
_MAX_STEP_GROWTH = 4.0  # largest factor between two steps tried along the same direction
_MAX_IDLE_STEPS = 3  # after so many consecutive steps that do not lower J, only rounding moves w
_ROUNDING_SHARE = 1e-15  # share of J by which rounding alone may raise or lower it
_ROUNDING_FACTOR = 100.0  # times the rounding error of J: smaller gains are not visible in J


class Newton(Solver):
    """Minimise J for the squared hinge or a smooth loss by truncated Newton steps.

    Parameters
    ----------
    tol : float, optional
        Stop at this optimality, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Maximum total number of products with the data; None is the estimator's. If the penalty is
        not l2, a step on the matrix of a working set counts as one product.

    Notes
    -----
    From w = 0, where every pair is active, the first step heads for the optimum of the square
    loss. Steps are halved until J falls enough; close to the optimum the full step is exact once
    the set of active pairs stays the same. With another penalty, each step minimises the quadratic
    model plus the penalty over a working set: by coordinate descent on its matrix for up to 1000
    features (a third of that with sparse rows), and by proximal and conjugate-gradient steps for
    more. Optimality always refers to all features.

    For the logistic loss the step length is nearly optimal, because a line search costs little
    compared with a pass over the rows, and a system is solved by its matrix if that costs less than
    the products with the rows. For rows in parts, a pass gives J, its gradient and that matrix at
    one point, so full steps are taken unless J does not fall enough.

    References
    ----------
    Chapelle & Keerthi (2010), "Efficient algorithms for ranking with SVMs". Keerthi & DeCoste
    (2005), "A modified finite Newton method for fast solution of large scale linear SVMs". With
    an l1 part: Lee, Sun & Saunders (2014), "Proximal Newton-type methods for minimizing composite
    functions"; Yuan, Ho & Lin (2012), "An improved GLMNET for l1-regularized logistic
    regression"; Byrd, Chin, Nocedal & Wu (2012), "Sample size selection in optimization methods
    for machine learning", section 5. For the error with the logistic loss: Bach (2010),
    "Self-concordant analysis for logistic regression".
    """

    name = "newton"

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("piecewise quadratic", "smooth"), data=("products",))

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        return self.solve_next(objective, start, run, Trace())

    def solve_next(
        self, objective: Objective, start: np.ndarray | None, run: Run, trace: Trace
    ) -> Result:
        """Solve one of several objectives that differ in the penalty, from the last one's trace."""
        run = self.settled(run)
        w = np.zeros(objective.problem.n_features) if start is None else start.copy()
        if "l2" in objective.penalty.offers:
            minimum = _newton(objective, w, run)
        elif scores_stay(objective):
            minimum, trace.in_parts = proximal_in_parts(objective, w, run, trace.in_parts)
        else:
            minimum = proximal_newton(objective, w, run, trace)
        w, value, gap, steps, cost, intercept = minimum
        quality = objective.relative(gap, value)
        stop = f"Newton's method stopped after {cost} products with the data"
        message = unfinished(objective, run, quality, max(steps, cost), stop)
        return Result(w, max(steps, 1), message, gap, value, intercept)


def _newton(objective: Objective, w: np.ndarray, run: Run) -> Minimum:
    """Minimise J with an l2 penalty.

    J(w) − J* is about the gain of the model at w, the Newton decrement, if that is small: then the
    pairs that are active at w remain active along the step. The last step only confirms this.
    """
    iterate, systems = _iterate(objective, w), _Systems(objective, run)
    forcing, before = _SYSTEM_TOL, np.inf
    steps, products, idle = 0, 0, 0
    while True:
        value, gap = iterate.value, iterate.gap()
        stop = steps > 0 and run.monitor(iterate.w, 2.0 * products + 2.0 * steps)
        if objective.relative(gap, value) <= run.tol or stop or products >= run.max_iter:
            break
        if steps > run.max_iter:
            break
        step = systems.step(iterate, before - value, forcing, run.max_iter - products)
        products, decrement = products + step.products, step.decrement
        sufficient = objective.relative(step.claim, value) <= run.tol
        if sufficient:
            gap = min(gap, step.claim)
        if not step.direction.any():  # too small to move
            gap = min(gap, GAP_PER_DECREMENT * decrement)
            break
        length = iterate.advance(step)
        steps += length > 0.0
        fall = value - iterate.data - objective.penalty.value(iterate.w)
        idle = idle + 1 if fall <= _ROUNDING_SHARE * abs(value) else 0
        if length == 0.0 or idle > _MAX_IDLE_STEPS:  # no step lowers J by more than rounding
            gap = min(gap, systems.left(iterate, step))
            break
        del step
        before = value if length >= 1.0 else np.inf  # a short step tells nothing about the rest
        if sufficient:
            break
        if steps % 10 == 0:
            iterate.recompute_scores()
        iterate.recompute_gradient()
        total = max(objective.at_zero - value + decrement, decrement)
        forcing = min(_SYSTEM_TOL, max(decrement / total, 1e-6))
    if steps == 0:
        gap = min(gap, iterate.settle())
    return Minimum(iterate.w, iterate.value, gap, steps, products, iterate.intercept)


def _iterate(objective: Objective, w: np.ndarray) -> "_Iterate | _IterateInParts":
    if not scores_stay(objective):
        return _Iterate(objective, w)
    by_matrix = objective.problem.gram_cost <= _USUAL_PRODUCTS
    return _IterateInParts(objective, w, np.arange(len(w)) if by_matrix else None)


class _Iterate:
    """A point w (d,), the rows' scores z (n,), and the data term of J and its gradient (d,).

    Parameters
    ----------
    objective : Objective
    w : ndarray, shape (d,)
        A start. For a smooth loss it is first scaled by a line search, because in the optimum of
        another loss only the direction may be right.
    """

    term: LossAt
    excess = 0.0
    intercept = None

    def __init__(self, objective: Objective, w: np.ndarray) -> None:
        self.objective, self.w = objective, w
        if not w.any():
            self.z, self.data = np.zeros(objective.problem.n_samples), objective.at_zero
            self.gradient, self.term = objective.slope_at_zero, objective.at(self.z)
            return
        self.z = objective.problem.scores(w)
        if objective.loss.kind != "smooth":
            length, self.term = 1.0, objective.at(self.z)
        else:
            line = _Line(objective, objective.at_zero, objective.slope_at_zero, np.zeros_like(w), w)
            move = None if isinstance(objective.loss, PairwiseLoss) else self.z.copy()
            length, self.z, self.term = line.search(self.z, move)
        self.w, self.data = length * w, self.term.value
        self.recompute_gradient()

    @property
    def value(self) -> float:
        """J(w)."""
        return self.data + self.objective.penalty.value(self.w)

    def gap(self) -> float:
        """Return a bound on J(w) − J* by duality."""
        return self.objective.gap(self.data, self.gradient, self.w)

    settle = gap  # the intercept is already the best

    def recompute_scores(self) -> None:
        """Recompute the scores, in which rounding errors accumulate."""
        self.z = self.objective.problem.scores(self.w)
        self.term = self.objective.at(self.z)
        self.data = self.term.value

    def recompute_gradient(self) -> None:
        """Bring the gradient up to date after w has moved."""
        self.gradient = self.objective.adjoint(self.term.gradient)

    def advance(self, step: "_Step") -> float:
        """Move along a step if that lowers J enough; return the length of the move, or 0."""
        line = _Line(self.objective, self.value, self.gradient, self.w, step.direction)
        del self.term  # has the size of the rows; recomputed if needed
        if step.move is None:
            for rows, change in self.objective.problem.scored(step.direction):
                self.z[rows] += change
        else:
            self.z += step.move
        length, self.z, self.term = line.search(self.z, step.move)
        if length > 0.0:
            self.w, self.data = self.w + length * step.direction, self.term.value
        return length


class _IterateInParts(IterateInParts):
    """A point (w, b) of the logistic loss, whose scores are recomputed in every pass."""

    def recompute_scores(self) -> None:
        """Do nothing."""

    recompute_gradient = recompute_scores

    def advance(self, step: "_Step") -> float:
        """Move along a step if that lowers J enough; return the length of the move, or 0."""
        return self.go(step.direction, self.objective.penalty.l2 * dot(self.w, step.direction))


class _Step(NamedTuple):
    """A direction (d,) from a model of J, the change of the scores (n,), and the gap it implies.

    ``move`` is None for losses of pairs, whose bounds do not depend on it. ``claim`` bounds
    J(w) − J*, and ``decrement`` is the gain of the model.
    """

    direction: np.ndarray
    move: np.ndarray | None
    claim: float
    decrement: float
    products: int


class _Systems:
    """Newton systems (∇²f + αI) x = b, solved by products, or by matrices if these cost less.

    Systems solved by products share a preconditioner and what is known of the spectrum.
    """

    def __init__(self, objective: Objective, run: Run) -> None:
        self.objective, self.run, self.smallest = objective, run, 1.0
        self.probed, self.by_matrix, self.usual = False, False, _USUAL_PRODUCTS

    @cached_property
    def near(self) -> Preconditioner:
        return preconditioner(self.objective, self.objective.penalty.l2)

    def step(
        self, iterate: "_Iterate | _IterateInParts", fall: float, forcing: float, limit: int
    ) -> _Step:
        """Return the step from an iterate; ``fall`` is how much J fell in the last step.

        A system is solved until at most a share ``forcing`` of its gain is missing, or for
        ``limit`` products.
        """
        objective, tol, value = self.objective, self.run.tol, iterate.value
        fallen = objective.at_zero - value

        def enough(gained: float, left: float) -> bool:
            # at w = 0, the smaller the promised gain, the more accurate the model
            share = forcing if fallen > 0.0 else min(forcing, gained / objective.at_zero)
            return gained > 0.0 and left <= max(share * gained, 0.1 * tol * (fallen + gained))

        rhs = -(iterate.gradient + objective.penalty.l2 * iterate.w)
        model = self.solve(iterate.term, rhs, enough, limit)
        products, move = model.steps, self._move(model, iterate)

        def claim_of(model: Solved, least: float = 0.0) -> float:
            claim = GAP_PER_DECREMENT * (model.gained + model.left + iterate.excess)
            return max(claim, least)

        near = objective.relative(claim_of(model), value) <= tol and self._near(
            iterate, model.x, move
        )
        least = 0.0 if near else fall
        claim, certain_claim = claim_of(model, least), claim_of(self.certain(model), least)
        if self.run.sure and (
            objective.relative(claim, value) <= tol < objective.relative(certain_claim, value)
        ):
            surer = self.surer(iterate.term, model, rhs, enough, limit)
            if surer is not model:
                model, products = surer, products + surer.steps
                del move
                move = self._move(model, iterate)
                claim = claim_of(model, 0.0 if self._near(iterate, model.x, move) else fall)
        return _Step(model.x, move, claim, model.gained + model.left, products)

    def _move(self, model: Solved, iterate: "_Iterate | _IterateInParts") -> np.ndarray | None:
        # for losses of pairs, no bound depends on how far the scores move
        if isinstance(self.objective.loss, PairwiseLoss) or isinstance(iterate, IterateInParts):
            return None
        return self.objective.problem.scores(model.x)

    def left(self, iterate: "_Iterate | _IterateInParts", step: _Step) -> float:
        """Return a bound on J(w) − J* where rounding ends the steps; infinity if none is sure."""
        if self._near(iterate, step.direction, step.move):
            return GAP_PER_DECREMENT * step.decrement
        lost = _ROUNDING_FACTOR * self.objective.rounding(iterate.w)
        return step.decrement if step.decrement <= lost else np.inf

    def _near(
        self, iterate: "_Iterate | _IterateInParts", change: np.ndarray, move: np.ndarray | None
    ) -> bool:
        """Return whether the scores move so little that the second derivative hardly changes.

        While pairs still become active or inactive, the decrement is too small a bound. It is also
        too small far from the optimum of a smooth loss: if the range of the moves is at most S, by
        a factor of at most 2 (eˢ − S − 1)/(1 − e⁻ˢ)², 3.6 for S = 1 (from Bach 2010,
        "Self-concordant analysis for logistic regression", proposition 1).
        """
        if not self.objective.loss.concordant:
            return False
        if move is not None:
            assert isinstance(iterate.term, ByRow | StrataLikelihood)
            return iterate.term.range_of(move) <= 1.0
        # with matrices, another step takes no more than this pass
        return not self.by_matrix and self.objective.problem.range_of_scores(change) <= 1.0

    def solve(
        self, term: LossAt | AtIntercept, rhs: np.ndarray, enough: Enough, limit: int
    ) -> Solved:
        """Return a good enough solution of the system at the data term ``term``."""
        l2 = self.objective.penalty.l2
        if isinstance(term, ByRow | AtIntercept) and self.objective.problem.gram_cost <= self.usual:
            matrix = self.objective.bend_matrix(term)
            matrix[np.diag_indices(len(matrix))] += l2
            self.by_matrix = True
            return solved(matrix, rhs, l2)
        self.by_matrix = False
        return self._minimised(self._product(term), rhs, enough, limit)

    def _product(self, term: LossAt | AtIntercept) -> Product:
        bending, l2 = self.objective.bending(term), self.objective.penalty.l2
        return lambda v: bending(v) + l2 * v

    def certain(self, model: Solved) -> Solved:
        """Return the solution with an error bound that holds for any spectrum, ‖r‖²/(2α)."""
        if self.by_matrix:
            return model
        l2, square = self.objective.penalty.l2, dot(model.residual, model.residual)
        return model._replace(left=0.5 * square / l2 if l2 > 0.0 else np.inf)

    def surer(
        self, term: LossAt | AtIntercept, model: Solved, rhs: np.ndarray, enough: Enough, limit: int
    ) -> Solved:
        """Return the last solution, or a better one if a random vector reveals more."""
        if not self.probed:
            self.probed, least, product = True, self.smallest, self._product(term)
            self.smallest = min(self.smallest, self.near.probe(product))
            if self.smallest <= _EIGENVALUE_FALL * least:
                return self._minimised(product, rhs, enough, limit)
        return model

    def _minimised(self, product: Product, rhs: np.ndarray, enough: Enough, limit: int) -> Solved:
        model = minimise(
            product, rhs, self.near.solve, enough, limit,
            floor=self.near.floor, known=self.smallest,
        )  # fmt: skip
        self.smallest, self.usual = model.smallest, max(self.usual, model.steps)
        return model


class _Line:
    """J along a direction from w: the search for a step that lowers it enough (Armijo).

    Parameters
    ----------
    objective : Objective
    value : float
        J(w).
    gradient, w, direction : ndarray, shape (d,)
        The gradient is that of the data term at w.
    """

    def __init__(
        self,
        objective: Objective,
        value: float,
        gradient: np.ndarray,
        w: np.ndarray,
        direction: np.ndarray,
    ) -> None:
        self.objective, self.value, self.w, self.direction = objective, value, w, direction
        self.along = objective.penalty.l2 * float(w @ direction)
        self.across = objective.penalty.l2 * float(direction @ direction)
        self.slope = float(gradient @ direction) + self.along

    def search(self, z: np.ndarray, move: np.ndarray | None) -> tuple[float, np.ndarray, LossAt]:
        """Return the length of a step, or 0 if none lowers J enough, and the scores and data term.

        ``z`` (n,) are the scores after the whole step, which changes them by ``move``; they are
        overwritten. With ``move``, for losses by rows, whose value costs little compared with a
        pass over the rows, the step length is about the best one.
        """
        return self._halved(z) if move is None else self._best(z, move)

    def _lowered(self, t: float, term: LossAt) -> float | None:
        """Return J after a step of length t, given the data term there; None if it is too high."""
        value = term.value + self.objective.penalty.value(self.w + t * self.direction)
        limit = self.value + 1e-4 * t * self.slope + _ROUNDING_SHARE * abs(self.value)
        return value if value <= limit else None

    def _unmoved(self) -> tuple[float, np.ndarray, LossAt]:
        z = self.objective.problem.scores(self.w)
        return 0.0, z, self.objective.at(z)

    def _halved(self, z: np.ndarray) -> tuple[float, np.ndarray, LossAt]:
        """Return the first of the steps 1, ½, ¼, … that lowers J enough."""
        t, start = 1.0, None
        for _ in range(30):
            term = self.objective.at(z)
            if self._lowered(t, term) is not None:
                return t, z, term
            del term
            start = self.objective.problem.scores(self.w) if start is None else start
            z += start
            z *= 0.5
            t *= 0.5
        return self._unmoved()

    def _best(self, z: np.ndarray, move: np.ndarray) -> tuple[float, np.ndarray, LossAt]:
        """Return approximately the best step that lowers J enough."""
        best, lowest = 0.0, np.inf
        t, low, high = 1.0, 0.0, np.inf
        term = self.objective.at(z)
        for _ in range(30):
            assert isinstance(term, ByRow | StrataLikelihood)
            value = self._lowered(t, term)
            if value is None:
                high = t
                t_new = 0.5 * (low + high)
            else:
                if value < lowest:
                    best, lowest = t, value
                slope, bend = term.along(move)
                slope, bend = slope + self.along + t * self.across, bend + self.across
                if abs(slope) <= _SLOPE_SHARE * abs(self.slope):
                    break
                low, high = (t, high) if slope < 0.0 else (low, t)
                longest = min(high, _MAX_STEP_GROWTH * t)
                t_new = t - slope / bend if bend > 0.0 else longest
                t_new = t_new if low < t_new < longest else 0.5 * (low + longest)
            del term
            _add(z, t_new - t, move)
            t, term = t_new, self.objective.at(z)
        if best == 0.0:
            return self._unmoved()
        if t != best:
            _add(z, best - t, move)
            term = self.objective.at(z)
        return best, z, term


def _add(z: np.ndarray, times: float, move: np.ndarray) -> None:
    """Add a multiple of ``move`` to z (n,), without another array of that size."""
    for rows in row_blocks(len(z)):
        z[rows] += times * move[rows]
