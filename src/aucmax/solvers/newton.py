"""Newton's method for the squared hinge, matrix-free with an l2 penalty.

    (∇²f(w) + αI) d = −∇J(w),    w ← w + t d

The data term is piecewise quadratic: its second derivative counts the pairs with margin below 1,
and its product with a vector is two passes over the rows and one sweep over the sorted scores.
With an l1 part the steps are those of `_proximal_newton`.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from aucmax.losses import PairSum
from aucmax.objective import Objective
from aucmax.problem import MemoryProblem
from aucmax.solvers._proximal_newton import proximal_newton
from aucmax.solvers._truncated import Product, truncated_cg
from aucmax.solvers.base import Monitor, Result, Solver

__all__ = ["Newton"]

_FORCING = 0.1  # a Newton system is solved at least to this share of its right side
_SMALL = 1500  # features up to which a d×d matrix preconditions the systems
_ROWS = 2  # rows per feature that the matrix is made from


class Newton(Solver):
    """Minimise J for the squared hinge and an elastic net by truncated Newton steps.

    Parameters
    ----------
    tol : float, optional
        Optimality to stop at, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Most products with the data in all; None is the estimator's. With an l1 part a step on
        the matrix of a working set counts as one.

    Notes
    -----
    From w = 0, where every pair is active, the first step heads for the optimum of the square
    loss. Steps are halved until J falls enough; close to the optimum the full step is exact as
    soon as the set of active pairs stays the same. With an l1 part each step minimises the
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
    losses = ("squared_hinge",)
    takes_l1 = True
    needs_rows = True

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(
        self,
        objective: Objective,
        start: np.ndarray | None,
        *,
        tol: float,
        max_iter: int,
        rng: np.random.RandomState,
        monitor: Monitor,
    ) -> Result:
        tol, max_iter = self._own("tol", tol), self._own("max_iter", max_iter)
        w = np.zeros(objective.problem.n_features) if start is None else start.copy()
        run = proximal_newton if objective.penalty.l1 > 0.0 else _newton
        w, steps, products = run(objective, w, tol, max_iter, monitor)
        quality = objective.optimality(w)
        message = None
        if quality > tol and not monitor.stopped:
            message = (
                f"Newton's method stopped after {products} products with the data at optimality "
                f"{quality:.1e} > tol={tol:g}; raise max_iter, or scale the features "
                "(standardize=0.5)."
            )
        return Result(w, max(steps, 1), message)


def _newton(
    objective: Objective, w: np.ndarray, tol: float, max_iter: int, monitor: Monitor
) -> tuple[np.ndarray, int, int]:
    """Minimise J with an l2 penalty; return w, the steps taken and their products."""
    problem, loss, alpha = objective.problem, objective.loss, objective.penalty.l2
    assert isinstance(problem, MemoryProblem)
    sign, s = problem.sign, problem.share
    z = problem.scores(w)
    precondition = _preconditioner(problem, alpha)
    # a system solved to this leaves, where the set of pairs stays, half of tol
    enough = 0.5 * tol * objective.slope_at_zero
    steps, products = 0, 0
    pairs = loss.at(z, sign, s)
    while True:
        gradient = problem.adjoint(pairs.gradient)
        quality = objective.violation(gradient, w)
        stop = steps > 0 and monitor(w, 2.0 * products + 2.0 * steps)
        if quality <= tol or stop or products >= max_iter or steps > max_iter:
            break

        def curvature(v: np.ndarray, pairs: PairSum = pairs) -> np.ndarray:
            return problem.adjoint(pairs.product(problem.scores(v))) + alpha * v

        rtol = min(_FORCING, float(np.sqrt(quality))) if quality > 1e-6 else 1e-10
        left = max(max_iter - products, 1)
        direction, taken = truncated_cg(
            curvature, -(gradient + alpha * w), rtol, left, precondition, enough
        )
        products += taken
        if not direction.any():  # too small to move: its squares underflow
            break
        move = problem.scores(direction)
        t, there = _line_search(objective, pairs, gradient, w, direction, z, move)
        steps += 1
        if t == 0.0:  # no step lowers J beyond rounding
            break
        w, pairs = w + t * direction, there
        z = z + t * move
        if steps % 10 == 0:
            z = problem.scores(w)
            pairs = loss.at(z, sign, s)
    return w, steps, products


def _line_search(
    objective: Objective,
    pairs: PairSum,
    gradient: np.ndarray,
    w: np.ndarray,
    direction: np.ndarray,
    z: np.ndarray,
    move: np.ndarray,
) -> tuple[float, PairSum]:
    """Return the first of 1, ½, ¼, … that lowers J enough (Armijo), and the pairs there.

    0 and the pairs as they are if none does.
    """
    problem, loss, penalty = objective.problem, objective.loss, objective.penalty
    assert isinstance(problem, MemoryProblem)
    now = pairs.value + penalty.value(w)
    slope = float(gradient @ direction) + penalty.l2 * float(w @ direction)
    t = 1.0
    for _ in range(30):
        there = loss.at(z + t * move, problem.sign, problem.share)
        reached = there.value + penalty.value(w + t * direction)
        if reached <= now + 1e-4 * t * slope + 1e-15 * abs(now):
            return t, there
        t *= 0.5
    return 0.0, pairs


def _preconditioner(problem: MemoryProblem, alpha: float) -> Product:
    """Return the inverse of the Hessian at w = 0, where every pair is active, of some rows.

    A few rows per feature are enough: the matrix only has to know which directions are long.
    With many features it is the identity.
    """
    d = problem.n_features
    if d > _SMALL:
        return lambda v: v
    part = problem.sample(_ROWS * d + 500)
    matrix = part.within + np.outer(part.delta, part.delta)
    shift = alpha + 1e-12 * float(np.trace(matrix)) / max(d, 1)
    matrix[np.diag_indices(d)] += shift if shift > 0 else 1.0
    try:
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return lambda v: v
    return lambda v: cho_solve(factor, v, check_finite=False)
