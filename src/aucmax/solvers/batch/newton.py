"""Newton's method for the squared hinge and for smooth losses, matrix-free with an l2 penalty.

    (∇²f(w) + αI) d = −∇J(w),    w ← w + t d

The squared hinge is piecewise quadratic: its second derivative counts the pairs with margin below
1, and its product with a vector takes two passes over the rows and one sweep over the sorted
scores. The second derivative of the logistic loss weights the rows; its product takes one pass.
With another penalty the steps are those of `proximal_newton`.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.losses import ActivePairs, ByRow, LossAt, PairwiseLoss
from aucmax.objective.losses.base import row_blocks
from aucmax.objective.penalties import L2
from aucmax.solvers.base import Result, Run, Solver, lacking, unfinished
from aucmax.solvers.batch.krylov import (
    Preconditioner,
    Solved,
    minimise,
    preconditioner,
    solved,
)
from aucmax.solvers.batch.proximal_newton import proximal_newton

__all__ = ["Expansion", "Newton"]

_FORCING = 0.2  # share of its gain that may be missing when a Newton system is solved
_MORE = 3.0  # times Newton's decrement bounds the gain: pairs that drop out lose their curvature
_EIGENVALUE_FALL = 0.3  # solve again only if the smallest eigenvalue fell below this share
_USUAL = 11  # products that a system is expected to take, until one has taken more
_CHEAP = 22  # products that a matrix may cost if it serves several α
_STEEP = 0.1  # share of the initial slope at which a line search stops
_LONGER = 4.0  # largest factor between two steps tried along the same direction
_EXACT = 0.1  # share of its gain that may be missing if there is only one step
_IDLE = 3  # consecutive steps that do not lower J, after which only rounding moves w
_ROUNDED = 1e-15  # share of J by which rounding alone may raise or lower it
_LOST = 100.0  # times the rounding of J: a smaller gain cannot be seen in it

Enough = Callable[[float, float], bool]
Product = Callable[[np.ndarray], np.ndarray]


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
    loss. Steps are halved until J falls enough; close to the optimum the full step is exact as
    soon as the set of active pairs stays the same. With another penalty each step minimises the
    quadratic model plus the penalty over a working set: by coordinate descent on its matrix up to
    1000 features (a third of that where the rows are sparse), by proximal and conjugate-gradient
    steps beyond. Optimality is always that over all features.

    For the logistic loss the length of a step is nearly optimal, since a line search costs little
    compared with a pass over the rows, and a system is solved by its matrix if that costs less than
    the products with the rows.

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
        run = self.settled(run)
        w = np.zeros(objective.problem.n_features) if start is None else start.copy()
        method = _newton if "l2" in objective.penalty.offers else proximal_newton
        w, value, gap, steps, products = method(objective, w, run)
        quality = objective.relative(gap, value)
        what = f"Newton's method stopped after {products} products with the data"
        message = unfinished(objective, run, quality, max(steps, products), what)
        return Result(w, max(steps, 1), message, gap, value)


def _newton(
    objective: Objective, w: np.ndarray, run: Run
) -> tuple[np.ndarray, float, float, int, int]:
    """Minimise J with an l2 penalty; return w, J(w), J(w) − J*, the steps and their products.

    J(w) − J* is the gain of the model at w, Newton's decrement, if that is small: then the pairs
    that are active at w remain active along the step. The last step only confirms this.
    """
    problem, penalty = objective.problem, objective.penalty
    tol, max_iter = run.tol, run.max_iter
    if w.any():
        z = problem.scores(w)
        t, z, there = _length(objective, w, z)
        w, data, gradient = t * w, there.value, objective.adjoint(there.gradient)
    else:
        z, data, gradient = np.zeros(problem.n_samples), objective.at_zero, objective.slope_at_zero
        there = objective.at(z)
    systems, done, of_pairs = _Systems(objective), False, isinstance(objective.loss, PairwiseLoss)
    forcing, before = _FORCING, np.inf
    steps, products, idle = 0, 0, 0
    while True:
        value = data + penalty.value(w)
        gap = objective.gap(data, gradient, w)
        stop = steps > 0 and run.monitor(w, 2.0 * products + 2.0 * steps)
        if objective.relative(gap, value) <= tol or stop or products >= max_iter:
            break
        if steps > max_iter or idle > _IDLE:
            break

        fallen, fall = objective.at_zero - value, before - value

        def enough(
            gained: float, left: float, fallen: float = fallen, forcing: float = forcing
        ) -> bool:
            # from w = 0 the model is more accurate the less gain it promises
            share = forcing if fallen > 0.0 else min(forcing, gained / objective.at_zero)
            return gained > 0.0 and left <= max(share * gained, 0.1 * tol * (fallen + gained))

        right = -(gradient + penalty.l2 * w)
        model = systems.solve(there, right, enough, max_iter - products)
        # for pairs no bound depends on how far the scores move
        move = None if of_pairs else problem.scores(model.x)
        claim = _claim(objective, model, move, fall)
        most = _claim(objective, systems.certain(model), move, fall)
        if run.sure and objective.relative(claim, value) <= tol < objective.relative(most, value):
            surer = systems.surer(there, model, right, enough, max(max_iter - products, 1))
            if surer is not model:
                model, products = surer, products + model.steps
                del move
                move = None if of_pairs else problem.scores(model.x)
                claim = _claim(objective, model, move, fall)
        products += model.steps
        decrement, done = model.gained + model.left, objective.relative(claim, value) <= tol
        if done:
            gap = min(gap, claim)
        if not model.x.any():  # too small to move
            gap = min(gap, _MORE * decrement)
            break
        del there  # large, as rows are many; computed again if needed
        if move is None:
            for rows, change in problem.scored(model.x):
                z[rows] += change
            t, z, there = _backtracked(objective, value, gradient, w, model.x, z)
        else:
            z += move
            t, z, there = _line_search(objective, value, gradient, w, model.x, z, move)
            del move
        if t == 0.0:  # no step lowers J beyond rounding
            gap = min(gap, _blamed(objective, decrement, w))
            break
        w, data = w + t * model.x, there.value
        steps += 1
        fall = value - data - penalty.value(w)
        idle = idle + 1 if fall <= _ROUNDED * abs(value) else 0
        before = value if t >= 1.0 else np.inf  # a short step does not show the remaining gain
        if done:
            break
        if steps % 10 == 0:
            z = problem.scores(w)
            there = objective.at(z)
            data = there.value
        gradient = objective.adjoint(there.gradient)
        forcing = min(_FORCING, max(decrement / max(fallen + decrement, decrement), 1e-6))
    return w, data + penalty.value(w), gap, steps, products


class Expansion:
    """The data term of J to second order near a point: the optimum for any α is one step away.

        f(w) ≈ f(v) + ∇f(v)·(w − v) + ½ (w − v)·∇²f(v)(w − v)

    Parameters
    ----------
    objective : Objective
        One that `Newton` supports; its penalty is ignored.
    point : ndarray, shape (d,)
        v, in the problem's coordinates.
    like : Expansion, optional
        An expansion at the same point, for the same rows with other weights.
    """

    def __init__(
        self, objective: Objective, point: np.ndarray, like: "Expansion | None" = None
    ) -> None:
        self.objective, self.point = objective, point
        if like is None:
            self.scores = objective.problem.scores(point)
            self.there = objective.at(self.scores)
        else:
            self.scores = like.scores
            self.there = objective.at(self.scores, like.there)
        self.gradient = objective.adjoint(self.there.gradient)

    def reweighed(self, objective: Objective) -> "Expansion":
        """Return the expansion of the same loss with other weights of the rows."""
        coef = self.objective.problem.to_features(self.point)
        return Expansion(objective, objective.problem.from_features(coef), self)

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """∇²f(v), if it costs little compared with the products that it saves."""
        problem, there = self.objective.problem, self.there
        if isinstance(there, ByRow):
            return self.objective.bend_matrix(there) if problem.gram_cost <= _CHEAP else None
        if isinstance(there, ActivePairs) and problem.pair_gram_cost <= _CHEAP:
            return self.objective.bend_matrix(there)
        return None

    def optimum(self, l2: float, tol: float, max_iter: int) -> tuple[np.ndarray, float]:
        """Return the optimum for α = ``l2`` and an estimate of its optimality.

        Newton's steps converge quadratically: the error is about the square of that of v,
        which is three times the decrement, plus that of the system, at most ``tol`` / 2.
        """
        objective = self.objective.with_penalty(L2(l2))
        value = self.there.value + objective.penalty.value(self.point)
        right = -(self.gradient + l2 * self.point)
        if self.matrix is not None:
            model = solved(self.matrix + l2 * np.eye(len(right)), right)
        else:
            near, bending = preconditioner(objective, l2), objective.bending(self.there)

            def enough(gained: float, left: float) -> bool:
                return left <= _EXACT * gained and objective.relative(left, value) <= 0.5 * tol

            model = minimise(
                lambda v: bending(v) + l2 * v, right, near.solve, enough, max_iter,
                floor=near.floor,
            )  # fmt: skip
        lacks = objective.relative(_MORE * (model.gained + model.left), value)
        return self.point + model.x, lacks**2 + objective.relative(model.left, value)


def _length(objective: Objective, w: np.ndarray, z: np.ndarray) -> tuple[float, np.ndarray, LossAt]:
    """Return a factor for a start w, and the scores and the data term there.

    The optimum of another loss may have only the right direction. If each point of a line search
    costs a sort, w is taken as it is.
    """
    if objective.loss.kind != "smooth":
        return 1.0, z, objective.at(z)
    at_zero, slope, nowhere = objective.at_zero, objective.slope_at_zero, np.zeros_like(w)
    if isinstance(objective.loss, PairwiseLoss):
        return _backtracked(objective, at_zero, slope, nowhere, w, z)
    return _line_search(objective, at_zero, slope, nowhere, w, z.copy(), z)


class _Systems:
    """Newton's systems (∇²f + αI) x = b: by products, or by their matrices if these cost less.

    Systems solved by products share a preconditioner and the known part of the spectrum.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective, self.known = objective, 1.0
        self.probed, self.by_matrix, self.usual = False, False, _USUAL

    @cached_property
    def near(self) -> Preconditioner:
        return preconditioner(self.objective, self.objective.penalty.l2)

    def solve(self, there: LossAt, right: np.ndarray, enough: Enough, limit: int) -> Solved:
        """Return the solution at scores with the data term ``there``, until ``enough``."""
        l2 = self.objective.penalty.l2
        if isinstance(there, ByRow) and self.objective.problem.gram_cost <= self.usual:
            matrix = self.objective.bend_matrix(there)
            matrix[np.diag_indices(len(matrix))] += l2
            self.by_matrix = True
            return solved(matrix, right)
        self.by_matrix = False
        return self._minimised(self._product(there), right, enough, limit)

    def _product(self, there: LossAt) -> Product:
        bending, l2 = self.objective.bending(there), self.objective.penalty.l2
        return lambda v: bending(v) + l2 * v

    def certain(self, model: Solved) -> Solved:
        """Return the solution with the bound on its error for any spectrum, ‖r‖²/(2α)."""
        if self.by_matrix:
            return model
        l2, square = self.objective.penalty.l2, dot(model.residual, model.residual)
        return model._replace(left=0.5 * square / l2 if l2 > 0.0 else np.inf)

    def surer(
        self, there: LossAt, model: Solved, right: np.ndarray, enough: Enough, limit: int
    ) -> Solved:
        """Return the last solution, or a better one if a random vector reveals more."""
        if not self.probed:
            self.probed, least, product = True, self.known, self._product(there)
            self.known = min(self.known, self.near.probe(product))
            if self.known <= _EIGENVALUE_FALL * least:
                return self._minimised(product, right, enough, limit)
        return model

    def _minimised(self, product: Product, right: np.ndarray, enough: Enough, limit: int) -> Solved:
        model = minimise(
            product, right, self.near.solve, enough, limit,
            floor=self.near.floor, known=self.known,
        )  # fmt: skip
        self.known, self.usual = model.smallest, max(self.usual, model.steps)
        return model


def _claim(objective: Objective, model: Solved, move: np.ndarray | None, fall: float) -> float:
    """Return a bound on J(w) − J*: from the model at w, the change of the scores, the last gain.

    While pairs still become active or inactive, the decrement alone is too small. It is also too
    small far from the optimum of a smooth loss; while no score moves by more than S, by a factor of
    at most 2 (eˢ − S − 1)/(1 − e⁻ˢ)², 3.6 for S = 1 (from Bach 2010, "Self-concordant analysis for
    logistic regression", proposition 1).
    """
    claim = _MORE * (model.gained + model.left)
    near = objective.loss.concordant and move is not None and np.ptp(move) <= 1.0
    return claim if near else max(claim, fall)


def _blamed(objective: Objective, decrement: float, w: np.ndarray) -> float:
    """Return Newton's decrement if it is lost in rounding, else infinity."""
    return decrement if decrement <= _LOST * objective.rounding(w) else np.inf


def _backtracked(
    objective: Objective,
    now: float,
    gradient: np.ndarray,
    w: np.ndarray,
    direction: np.ndarray,
    z: np.ndarray,
) -> tuple[float, np.ndarray, LossAt]:
    """Return the first of the steps 1, ½, ¼, … that lowers J enough, with its scores and data term.

    The step is 0 if none does. ``z`` (n,) are the scores after the whole step, and are overwritten.
    """
    fallen, t, start = _fallen(objective, now, gradient, w, direction), 1.0, None
    for _ in range(30):
        there = objective.at(z)
        if fallen(t, there) is not None:
            return t, z, there
        del there
        start = objective.problem.scores(w) if start is None else start
        z += start
        z *= 0.5
        t *= 0.5
    return _unmoved(objective, w)


def _unmoved(objective: Objective, w: np.ndarray) -> tuple[float, np.ndarray, LossAt]:
    z = objective.problem.scores(w)
    return 0.0, z, objective.at(z)


def _line_search(
    objective: Objective,
    now: float,
    gradient: np.ndarray,
    w: np.ndarray,
    direction: np.ndarray,
    z: np.ndarray,
    move: np.ndarray,
) -> tuple[float, np.ndarray, LossAt]:
    """Return nearly the best step that lowers J enough, and the scores and the data term there.

    This is for a loss of single rows, whose value costs little compared with a pass over the rows.
    The step is 0 if none lowers J enough. ``z`` (n,) are the scores after the whole step, which
    changes them by ``move`` (n,); they are overwritten.
    """
    fallen = _fallen(objective, now, gradient, w, direction)
    along = objective.penalty.l2 * float(w @ direction)
    across = objective.penalty.l2 * float(direction @ direction)
    slope = float(gradient @ direction) + along
    best, lowest = 0.0, np.inf
    t, low, high = 1.0, 0.0, np.inf
    there = objective.at(z)
    for _ in range(30):
        assert isinstance(there, ByRow)
        value = fallen(t, there)
        if value is None:
            high = t
            new = 0.5 * (low + high)
        else:
            if value < lowest:
                best, lowest = t, value
            steep, bend = there.along(move)
            steep, bend = steep + along + t * across, bend + across
            if abs(steep) <= _STEEP * abs(slope):
                break
            low, high = (t, high) if steep < 0.0 else (low, t)
            most = min(high, _LONGER * t)
            new = t - steep / bend if bend > 0.0 else most
            new = new if low < new < most else 0.5 * (low + most)
        del there
        _add(z, new - t, move)
        t, there = new, objective.at(z)
    if best == 0.0:
        return _unmoved(objective, w)
    if t != best:
        _add(z, best - t, move)
        there = objective.at(z)
    return best, z, there


def _add(z: np.ndarray, times: float, move: np.ndarray) -> None:
    """Add a multiple of ``move`` to z (n,), without another array of n rows."""
    for rows in row_blocks(len(z)):
        z[rows] += times * move[rows]


def _fallen(
    objective: Objective, now: float, gradient: np.ndarray, w: np.ndarray, direction: np.ndarray
) -> Callable[[float, LossAt], float | None]:
    """Return J after a step of length t from w, given the data term; None if too high (Armijo).

    ``now`` is J(w).
    """
    penalty = objective.penalty
    slope = float(gradient @ direction) + penalty.l2 * float(w @ direction)

    def fallen(t: float, there: LossAt) -> float | None:
        value = there.value + penalty.value(w + t * direction)
        return value if value <= now + 1e-4 * t * slope + _ROUNDED * abs(now) else None

    return fallen
