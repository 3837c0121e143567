"""Newton's method for the squared hinge and for smooth losses, matrix-free with an l2 penalty.

    (∇²f(w) + αI) d = −∇J(w),    w ← w + t d

The squared hinge is quadratic in pieces: its second derivative counts the pairs with margin below
1, and its product with a vector is two passes over the rows and one sweep over the sorted scores.
That of the logistic loss weighs the rows, and its product is one pass.
With another penalty the steps are those of `proximal_newton`.
"""

from functools import partial

import numpy as np

from aucmax.objective import Objective
from aucmax.objective.losses import LossAt
from aucmax.solvers.base import Result, Run, Solver, lacking, unfinished
from aucmax.solvers.batch.krylov import Product, Solved, minimise, preconditioner
from aucmax.solvers.batch.proximal_newton import proximal_newton

__all__ = ["Newton"]

_FORCING = 0.1  # a Newton system is solved until so large a share of its gain is left
_MORE = 3.0  # times Newton's decrement is what may be left: pairs that fall out bend J no more
_SAME = 0.3  # a smallest eigenvalue that is not below this share of the old one is no news
_LOST = 100.0  # times the rounding of J: a gain so small cannot be seen in it


class Newton(Solver):
    """Minimise J for the squared hinge or a smooth loss by truncated Newton steps.

    Parameters
    ----------
    tol : float, optional
        Optimality to stop at, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Most products with the data in all; None is the estimator's. Where the penalty is not
        l2, a step on the matrix of a working set counts as one.

    Notes
    -----
    From w = 0, where every pair is active, the first step heads for the optimum of the square
    loss. Steps are halved until J falls enough; close to the optimum the full step is exact as
    soon as the set of active pairs stays the same. With another penalty each step minimises the
    quadratic model plus the penalty over a working set: by coordinate descent on its matrix up to
    1000 features (a third of that where the rows are sparse), by proximal and conjugate-gradient
    steps beyond. Optimality is always that over all features.

    References
    ----------
    Chapelle & Keerthi (2010), "Efficient algorithms for ranking with SVMs". Keerthi & DeCoste
    (2005), "A modified finite Newton method for fast solution of large scale linear SVMs". With
    an l1 part: Lee, Sun & Saunders (2014), "Proximal Newton-type methods for minimizing composite
    functions"; Yuan, Ho & Lin (2012), "An improved GLMNET for l1-regularized logistic
    regression"; Byrd, Chin, Nocedal & Wu (2012), "Sample size selection in optimization methods
    for machine learning", section 5.
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
        return Result(w, max(steps, 1), message, gap)


def _newton(
    objective: Objective, w: np.ndarray, run: Run
) -> tuple[np.ndarray, float, float, int, int]:
    """Minimise J with an l2 penalty; return w, J(w), J(w) − J*, the steps and their products.

    J(w) − J* is what the model at w gains, Newton's decrement, where that is small: the pairs that
    are active at w stay so on so short a way. The last step is taken for nothing.
    """
    problem, penalty = objective.problem, objective.penalty
    tol, max_iter = run.tol, run.max_iter
    near = preconditioner(objective, penalty.l2)
    z = problem.scores(w) if w.any() else np.zeros(problem.n_samples)
    known, forcing, before = 1.0, _FORCING, np.inf
    probed = done = False
    steps, products = 0, 0
    there = objective.at(z)
    while True:
        gradient = problem.adjoint(there.gradient)
        value = there.value + penalty.value(w)
        gap = objective.gap(there.value, gradient, w)
        stop = steps > 0 and run.monitor(w, 2.0 * products + 2.0 * steps)
        if objective.relative(gap, value) <= tol or stop or products >= max_iter:
            break
        if steps > max_iter:
            break

        fallen, fall = objective.at_zero - value, before - value

        def enough(
            gained: float, left: float, fallen: float = fallen, forcing: float = forcing
        ) -> bool:
            return gained > 0.0 and left <= max(forcing * gained, 0.1 * tol * (fallen + gained))

        bending = objective.bending(there)

        def product(v: np.ndarray, bending: Product = bending) -> np.ndarray:
            return bending(v) + penalty.l2 * v

        right = -(gradient + penalty.l2 * w)
        solve = partial(minimise, product, right, near.solve, enough, floor=near.floor)
        model = solve(max_iter=max_iter - products, known=known)
        products, known = products + model.steps, model.smallest
        claim = _claim(model, fall)
        done = objective.relative(claim, value) <= tol
        if done and not probed:
            probed, least = True, known
            known = min(known, near.probe(product))
            if known <= _SAME * least:
                model = solve(max_iter=max(max_iter - products, 1), known=known)
                products, known = products + model.steps, model.smallest
                claim = _claim(model, fall)
                done = objective.relative(claim, value) <= tol
        decrement = model.gained + model.left
        if done:
            gap = min(gap, claim)
        if not model.x.any():  # too small to move
            gap = min(gap, _MORE * decrement)
            break
        move = problem.scores(model.x)
        t, reached = _line_search(objective, there, gradient, w, model.x, z, move)
        if t == 0.0:  # no step lowers J beyond rounding
            gap = min(gap, _blamed(objective, decrement, w))
            break
        w, z, there = w + t * model.x, z + t * move, reached
        steps += 1
        before = value if t == 1.0 else np.inf  # a short step tells nothing of what is left
        if done:
            break
        if steps % 10 == 0:
            z = problem.scores(w)
            there = objective.at(z)
        forcing = min(_FORCING, max(decrement / max(fallen + decrement, decrement), 1e-6))
    return w, there.value + penalty.value(w), gap, steps, products


def _claim(model: Solved, fall: float) -> float:
    """Return what J(w) − J* may be, given the model at w and how far J fell in the last step.

    Where pairs still come and go the decrement alone is too small.
    """
    return max(_MORE * (model.gained + model.left), fall)


def _blamed(objective: Objective, decrement: float, w: np.ndarray) -> float:
    """Return Newton's decrement where it is lost in rounding, else infinity."""
    return decrement if decrement <= _LOST * objective.rounding(w) else np.inf


def _line_search(
    objective: Objective,
    there: LossAt,
    gradient: np.ndarray,
    w: np.ndarray,
    direction: np.ndarray,
    z: np.ndarray,
    move: np.ndarray,
) -> tuple[float, LossAt]:
    """Return the first of 1, ½, ¼, … that lowers J enough (Armijo), and the data term there.

    0 and the data term as it is if none does.
    """
    penalty = objective.penalty
    now = there.value + penalty.value(w)
    slope = float(gradient @ direction) + penalty.l2 * float(w @ direction)
    t = 1.0
    for _ in range(30):
        reached = objective.at(z + t * move)
        value = reached.value + penalty.value(w + t * direction)
        if value <= now + 1e-4 * t * slope + 1e-15 * abs(now):
            return t, reached
        t *= 0.5
    return 0.0, there
