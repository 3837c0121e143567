"""Conjugate gradient for the square loss and an l2 penalty, matrix-free; one path per solve.

    (S + δδᵀ + αI) w = δ,    S = Σ₊ + Σ₋, or 2τΣ₊ + 2(1−τ)Σ₋

needs only products with S, each of which takes one pass over the rows. J falls by half the sum of
the squared steps, and the remaining distance is known to about one digit (`krylov`). Systems that
differ only in α share their Krylov space: if the features have similar units, `multi_shift` solves
a whole path of α with the products of its hardest member; otherwise each α has its own
preconditioner.
"""

from collections.abc import Callable, Sequence

import numpy as np

from aucmax.basics.checks import number
from aucmax.data.rows.kernels import vectorised
from aucmax.data.rows.products import dot
from aucmax.objective import Objective
from aucmax.objective.losses import Square
from aucmax.objective.penalties import L2
from aucmax.objective.problem import Problem
from aucmax.solvers.base import Monitor, Result, Run, Solver, lacking, unfinished
from aucmax.solvers.batch.krylov import (
    LOOK_GROWTH,
    MAX_CURVATURE_RATIO,
    POLE_DISTANCE,
    SMALLEST_VALUE_SHARE,
    minimise,
    preconditioner,
    radau,
    smallest_ritz,
    spread,
)

__all__ = ["ConjugateGradient", "multi_shift"]

_EIGENVALUE_FALL = 0.3  # solve again only if the smallest eigenvalue fell below this share
_EIGENVALUE_SHARE = 1e-4  # share of the smallest eigenvalue, assumed near the optimum (few steps)
_LEAST_STEPS = 12  # after which the smallest Ritz value tells about the rest of the spectrum
_MAX_RESTARTS = 4  # number of times that a solve may resume because of its true residual


class ConjugateGradient(Solver):
    """Minimise J for the square loss and an l2 penalty by conjugate gradient, O(nnz) per step.

    Parameters
    ----------
    tol : float, optional
        Stop at this optimality; None is the estimator's.
    max_iter : int, optional
        Maximum number of products with the data; None is the estimator's.

    Notes
    -----
    For up to 1500 features, the preconditioner uses the correlations of a sample of rows. For more,
    it uses the curvature of each feature if curvatures differ by a factor of more than 10⁵, and
    otherwise the part of it that ``standardize=0.5`` would remove.

    References
    ----------
    Hestenes & Stiefel (1952). Meurant & Tichý (2013), for the distance to the optimum. Jegerlehner
    (1996), "Krylov space solvers for shifted linear systems", for `solve_path`.
    """

    name = "conjugate_gradient"

    def __init__(self, tol: float | None = None, max_iter: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic", "weighted quadratic"), penalty="l2")

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        run = self.settled(run)
        w, value, gap, steps = _solve(objective, run, start)
        quality = objective.relative(gap, value)
        stop = f"conjugate gradient stopped after {steps} steps"
        message = unfinished(objective, run, quality, steps, stop)
        return Result(w, max(steps, 1), message, gap, value)

    def solve_path(
        self,
        problem: Problem,
        alphas: np.ndarray,
        tol: float = 1e-4,
        max_iter: int = 1000,
        sure: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the optima for many α from one Krylov space.

        Parameters
        ----------
        problem : Problem
            Its τ is used.
        alphas : array-like, shape (k,)
            All > 0, in any order.
        tol, max_iter : float, int
            As for the estimator; this object's own settings take precedence.
        sure : bool
            Whether the gradient at every solution is computed. Otherwise, once it confirms one
            solution, the residuals of the iteration do for stronger α.

        Returns
        -------
        coefs : ndarray, shape (k, d)
            In the problem's coordinates.
        optimality : ndarray, shape (k,)
            The optimality of each solution.
        """
        shifts = np.asarray(alphas, dtype=np.float64)
        for alpha in shifts:
            number(float(alpha), "each alpha of a path", open_low=True)
        loss = Square(problem.tau)
        goals = [Objective(problem, loss, L2(float(alpha))) for alpha in shifts]
        runs = [self.settled(Run(Monitor(goal), tol, max_iter)) for goal in goals]
        tol, max_iter = runs[0].tol, runs[0].max_iter
        W, quality = np.zeros((len(shifts), problem.n_features)), np.full(len(shifts), np.inf)
        steps = 0
        if spread(problem.curvature + shifts.min()) <= MAX_CURVATURE_RATIO:
            product = goals[0].data_product
            zero = W[0]
            W, reach, squares, steps = multi_shift(
                lambda v: product(zero, v), problem.delta, shifts, 0.5 * tol, max_iter
            )
            quality = _qualities(goals, W, reach, squares, tol, sure)
        for k, goal in enumerate(goals):
            if quality[k] > tol and steps < max_iter:
                W[k], value, gap, _ = _solve(goal, runs[k])
                quality[k] = goal.relative(gap, value)
        return W, quality


def _solve(
    objective: Objective, run: Run, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, float, int]:
    """Return w, with optimality at most ``tol`` if possible, J(w), J(w) − J* and the steps."""
    problem, alpha = objective.problem, objective.penalty.l2
    tol, max_iter, monitor = run.tol, run.max_iter, run.monitor
    w, zero = np.zeros(problem.n_features), np.zeros(problem.n_features)
    near = preconditioner(objective, alpha)
    probed = False
    rhs, smallest, fallen, steps = problem.delta, 1.0, 0.0, 0
    if start is not None and objective.value(start) < objective.at_zero:
        w, smallest = start.copy(), _EIGENVALUE_SHARE
        fallen = objective.at_zero - objective.value(w)
        rhs = -(objective.data_gradient(w) + alpha * w)

    def product(v: np.ndarray) -> np.ndarray:
        return objective.data_product(zero, v) + alpha * v

    def enough(gained: float, left: float) -> bool:
        return left <= 0.5 * tol * (fallen + gained + left)

    def watch(x: np.ndarray, more_steps: int) -> bool:
        return monitor(w + x, steps + more_steps)

    for _ in range(_MAX_RESTARTS):
        solved = minimise(
            product, rhs, near.solve, enough, max_iter - steps,
            floor=near.floor, known=smallest, watch=watch,
        )  # fmt: skip
        w, smallest = w + solved.x, solved.smallest
        steps, fallen = steps + solved.steps, fallen + solved.gained
        value, gradient = objective.data_term(w)
        rhs = -(gradient + alpha * w)
        bound = objective.gap(value, gradient, w)
        gap = min(solved.left + solved.drift(rhs, near.solve), bound)
        value += objective.penalty.value(w)
        reached = gap <= tol * (fallen + gap)
        if not reached or probed:
            if reached or steps >= max_iter or solved.steps == 0 or monitor.stopped:
                break
            continue
        if steps >= max_iter or monitor.stopped or objective.relative(bound, value) <= tol:
            break
        probed, before = True, smallest
        smallest = min(smallest, near.probe(product))
        if smallest > _EIGENVALUE_FALL * before:
            break
    return w, value, gap, steps


def _qualities(
    goals: Sequence[Objective],
    W: np.ndarray,
    reach: np.ndarray,
    squares: np.ndarray,
    tol: float,
    sure: bool,
) -> np.ndarray:
    """Return the optimality of the solutions of a path, given those of `multi_shift`.

    Unless ``sure``, once a gradient confirms one within ``tol``, residuals do for stronger α.
    """
    quality, confirmed = np.full(len(goals), np.inf), False
    for k in np.argsort([goal.penalty.l2 for goal in goals]):  # from most steps, and most rounding
        goal, w = goals[k], W[k]
        left, fall = 0.5 * reach[k] * squares[k], 0.5 * dot(goal.problem.delta, w)
        if confirmed and left <= tol * (fall + left):
            quality[k] = left / (fall + left) if left > 0.0 else 0.0
            continue
        value, gradient = goal.data_term(w)
        r = gradient + goal.penalty.l2 * w
        gap = min(0.5 * reach[k] * dot(r, r), goal.gap(value, gradient, w))
        quality[k] = goal.relative(gap, value + goal.penalty.value(w))
        confirmed = not sure and quality[k] <= tol
    return quality


def multi_shift(
    product: Callable[[np.ndarray], np.ndarray],
    b: np.ndarray,
    shifts: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Solve (A + σ_k I) u_k = b for all shifts σ_k > 0, with the products for the smallest shift.

    Parameters
    ----------
    product : callable
        v ↦ A v, A symmetric positive semi-definite, (d,) to (d,).
    b : ndarray, shape (d,)
    shifts : ndarray, shape (k,)
    tol : float
        A shift is solved if ½ u·(A + σI)u − b·u can fall further by at most this share of its fall
        from 0.
    max_iter : int

    Returns
    -------
    U : ndarray, shape (k, d)
    reach : ndarray, shape (k,)
        ½ reach ‖b − (A + σI)u‖² bounds how much further those values can fall (an estimate from
        above).
    squares : ndarray, shape (k,)
        ‖b − (A + σI)u‖², but for rounding, when u was last looked at.
    steps : int
        Number of products.

    References
    ----------
    Jegerlehner (1996), hep-lat/9612014, equations (2.42)–(2.44) for conjugate gradient.
    """
    order = np.argsort(shifts)
    base = shifts[order[0]]
    sigma = shifts[order] - base
    K, d = len(shifts), len(b)
    U, P = np.zeros((K, d)), np.tile(b, (K, 1))
    r, p = b.copy(), b.copy()
    rr = dot(b, b)
    zeta, zeta_old = np.ones(K), np.ones(K)  # r_k = ζ_k r
    a_old, ratio = 1.0, 0.0
    live, steps, look = K, 0, 1  # larger shifts converge first: the first ``live`` are unsolved
    fit, reach = np.zeros(K), 1.0 / shifts[order]  # b·u_k: twice the fall
    squares = np.full(K, rr)
    lengths, turns = np.zeros((0, K)), np.zeros((0, K))
    while live and steps < max_iter and rr > 0.0:
        q = product(p)
        q += base * p
        curvature = dot(p, q)
        if not curvature > 0.0:
            break
        a = rr / curvature
        rr_new = _descend(r, q, a)
        s, z, zo = sigma[:live], zeta[:live], zeta_old[:live]
        zn = z * zo * a_old / (a * ratio * (zo - z) + zo * a_old * (1.0 + s * a))
        step = a * zn / z
        ratio_new = rr_new / rr
        turn = ratio_new * (zn / z) ** 2
        _advance(U, P, r, step, zn, turn, b, fit)
        zeta_old[:live], zeta[:live] = z, zn
        lengths, turns = _grown(lengths, step, steps), _grown(turns, turn, steps)
        a_old, ratio, rr = a, ratio_new, rr_new
        p *= ratio
        p += r
        steps += 1
        if steps < look and steps < max_iter and rr > 0.0:
            continue
        look = int(LOOK_GROWTH * steps) + 1
        squares[:live] = zeta[:live] ** 2 * rr
        ritz = smallest_ritz(lengths[:steps, 0], turns[:steps, 0]) - base
        # a few steps may show only the largest eigenvalues
        floor = SMALLEST_VALUE_SHARE * max(ritz, 0.0) if steps >= _LEAST_STEPS else 0.0
        for k in range(live):
            mu = POLE_DISTANCE * (sigma[k] + base) + floor
            reach[k] = radau(lengths[:steps, k], turns[:steps, k], mu)
        left = 0.5 * reach[:live] * squares[:live]
        unsolved = np.flatnonzero(left > 0.5 * tol * fit[:live])
        live = int(unsolved[-1]) + 1 if len(unsolved) else 0
    back = np.argsort(order)
    return U[back], reach[back], squares[back], steps


def _grown(table: np.ndarray, row: np.ndarray, k: int) -> np.ndarray:
    """Return a table with row k set; a full table is doubled."""
    if k == len(table):
        table = np.concatenate([table, np.zeros((max(k, 16), table.shape[1]))])
    table[k, : len(row)] = row
    return table


@vectorised
def _descend(r, q, a):
    # r −= a q; r·r
    total = 0.0
    for j in range(len(r)):
        r[j] -= a * q[j]
        total += r[j] * r[j]
    return total


@vectorised
def _advance(U, P, r, step, zeta, turn, b, fit):
    # u_k += step_k p_k,  p_k = ζ_k r + turn_k p_k,  fit_k = b·u_k; only for unsolved shifts
    for k in range(len(step)):
        total = 0.0
        for j in range(len(r)):
            U[k, j] += step[k] * P[k, j]
            P[k, j] = zeta[k] * r[j] + turn[k] * P[k, j]
            total += b[j] * U[k, j]
        fit[k] = total
