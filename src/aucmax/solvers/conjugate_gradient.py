"""Conjugate gradient for the square loss and an l2 penalty, matrix-free; one path per solve.

    (Σ₊ + Σ₋ + αI) u = δ,    w = u / (1 + δ·u)

needs only products with Σ₊ + Σ₋: one pass over the rows each. Systems that differ in α alone
share their Krylov space, so `multi_shift` solves a whole path of α with the products of its
hardest member.
"""

from collections.abc import Callable

import numpy as np

from aucmax._checks import number
from aucmax.objective import Objective
from aucmax.penalties import L2
from aucmax.problem import Problem
from aucmax.products import dot
from aucmax.rows import compiled
from aucmax.solvers.base import Monitor, Result, Solver

__all__ = ["ConjugateGradient", "multi_shift"]

_CHECKS = 3  # times the true residual may send a solve back to work


class ConjugateGradient(Solver):
    """Minimise J for the square loss and an l2 penalty by conjugate gradient, O(nnz) a step.

    Parameters
    ----------
    tol : float, optional
        Optimality to stop at, checked with a fresh gradient; None is the estimator's.
    max_iter : int, optional
        Most products with the data; None is the estimator's.

    References
    ----------
    Hestenes & Stiefel (1952). Jegerlehner (1996), "Krylov space solvers for shifted linear
    systems", for `solve_path`.
    """

    name = "conjugate_gradient"

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
        problem, alpha = objective.problem, objective.penalty.l2
        delta, aim = problem.delta, tol * objective.slope_at_zero
        u = np.zeros(problem.n_features)
        if start is not None and abs(1.0 - delta @ start) > 1e-8:
            u = start / (1.0 - delta @ start)
        steps = 0
        for _ in range(_CHECKS):
            u, taken = _single(problem, alpha, u, aim, max_iter - steps, monitor, steps)
            steps += taken
            w = u / (1.0 + delta @ u)
            quality = objective.optimality(w)
            if quality <= tol or steps >= max_iter or taken == 0 or monitor.stopped:
                break
        message = None
        if quality > tol and not monitor.stopped:
            message = (
                f"conjugate gradient stopped after {steps} steps at optimality {quality:.1e} > "
                f"tol={tol:g}; raise max_iter, or scale the features (standardize=0.5)."
            )
        return Result(w, max(steps, 1), message)

    def solve_path(
        self, problem: Problem, alphas: np.ndarray, tol: float = 1e-4, max_iter: int = 1000
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the optima for many α from one Krylov space.

        Parameters
        ----------
        problem : Problem
        alphas : array-like, shape (k,)
            All > 0, in any order.
        tol, max_iter : float, int
            As for the estimator; this object's own settings win.

        Returns
        -------
        coefs : ndarray, shape (k, d)
            In the problem's coordinates.
        optimality : ndarray, shape (k,)
            Of each, from a fresh gradient.
        """
        from aucmax.losses import Square

        tol, max_iter = self._own("tol", tol), self._own("max_iter", max_iter)
        shifts = np.asarray(alphas, dtype=np.float64)
        for alpha in shifts:
            number(float(alpha), "each alpha of a path", open_low=True)
        delta = problem.delta
        U, steps = multi_shift(problem.within_product, delta, shifts, tol, max_iter)
        W = U / (1.0 + U @ delta)[:, None]
        quality = np.empty(len(shifts))
        for k, alpha in enumerate(shifts):
            objective = Objective(problem, Square(), L2(float(alpha)))
            quality[k] = objective.optimality(W[k])
            if quality[k] > tol and steps < max_iter:  # rounding in the shared recurrences
                monitor = Monitor(objective, tol)
                result = self.solve(
                    objective, W[k], tol=tol, max_iter=max_iter - steps,
                    rng=np.random.RandomState(0), monitor=monitor,
                )  # fmt: skip
                W[k], quality[k] = result.coef, objective.optimality(result.coef)
        return W, quality


def _single(
    problem: Problem,
    alpha: float,
    u: np.ndarray,
    aim: float,
    max_iter: int,
    monitor: Monitor,
    before: int,
) -> tuple[np.ndarray, int]:
    """Run conjugate gradient from u until J's gradient is below ``aim`` by its recurrence."""
    delta = problem.delta
    r = delta - alpha * u - problem.within_product(u) if u.any() else delta.copy()
    p, rr = r.copy(), dot(r, r)
    steps = 0
    # the gradient of J at w = u/(1+δ·u) is −r/(1+δ·u)
    while steps < max_iter and np.max(np.abs(r), initial=0.0) > aim * abs(1.0 + dot(delta, u)):
        q = problem.within_product(p) + alpha * p
        curvature = dot(p, q)
        if not curvature > 0.0:
            break
        a = rr / curvature
        u = u + a * p
        r = r - a * q
        rr, old = dot(r, r), rr
        p = r + (rr / old) * p
        steps += 1
        if monitor.active and monitor(u / (1.0 + delta @ u), before + steps):
            break
    return u, steps


def multi_shift(
    product: Callable[[np.ndarray], np.ndarray],
    b: np.ndarray,
    shifts: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, int]:
    """Solve (A + σ_k I) u_k = b for all shifts σ_k > 0 with the products of the smallest.

    Parameters
    ----------
    product : callable
        v ↦ A v, A symmetric positive semi-definite, (d,) to (d,).
    b : ndarray, shape (d,)
    shifts : ndarray, shape (k,)
    tol : float
        A shift is done when ‖r_k‖_∞ ≤ tol (1 + b·u_k) ‖b‖_∞: the optimality of u_k/(1 + b·u_k).
    max_iter : int

    Returns
    -------
    U : ndarray, shape (k, d)
    steps : int
        Products taken.

    References
    ----------
    Jegerlehner (1996), hep-lat/9612014, equations (2.42)–(2.44) for conjugate gradient.
    """
    order = np.argsort(shifts)
    base = shifts[order[0]]
    sigma = shifts[order] - base
    K, d = len(shifts), len(b)
    U, P = np.zeros((d, K)), np.repeat(b[:, None], K, axis=1)
    r, p = b.copy(), b.copy()
    rr, size = dot(b, b), float(np.max(np.abs(b), initial=0.0))
    zeta, zeta_old = np.ones(K), np.ones(K)  # r_k = ζ_k r
    a_old, ratio = 1.0, 0.0
    live, steps = K, 0  # larger shifts converge first: the live ones are the first ``live``
    fit = np.zeros(K)  # b·u_k
    while live and steps < max_iter and rr > 0.0:
        q = product(p) + base * p
        curvature = dot(p, q)
        if not curvature > 0.0:
            break
        a = rr / curvature
        r_new = r - a * q
        rr_new = dot(r_new, r_new)
        s, z, zo = sigma[:live], zeta[:live], zeta_old[:live]
        zn = z * zo * a_old / (a * ratio * (zo - z) + zo * a_old * (1.0 + s * a))
        step = a * zn / z
        ratio_new = rr_new / rr
        turn = ratio_new * (zn / z) ** 2
        _advance(U, P, r_new, step, zn, turn, b, fit)
        zeta_old[:live], zeta[:live] = z, zn
        a_old, ratio, r, rr = a, ratio_new, r_new, rr_new
        p = r + ratio * p
        steps += 1
        worst = float(np.max(np.abs(r)))
        while live and zeta[live - 1] * worst <= tol * (1.0 + fit[live - 1]) * size:
            live -= 1
    out = np.empty((K, d))
    out[order] = U.T
    return out, steps


@compiled
def _advance(U, P, r, step, zeta, turn, b, fit):
    # u_k += step_k p_k,  p_k = ζ_k r + turn_k p_k,  fit_k = b·u_k; only the live shifts
    live = len(step)
    total = np.zeros(live)
    for j in range(len(r)):
        for k in range(live):
            U[j, k] += step[k] * P[j, k]
            P[j, k] = zeta[k] * r[j] + turn[k] * P[j, k]
            total[k] += b[j] * U[j, k]
    for k in range(live):
        fit[k] = total[k]
