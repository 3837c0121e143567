"""SOLAM: stochastic online AUC maximization, as a saddle point.

With f as for SPAM, f(w) − p(1−p) is the optimum over a, b and the dual α of the mean over the
samples z = (x, y) of

    F(w, a, b, α; z) = (1−p)(w·x − a)² 1[y=1] + p(w·x − b)² 1[y=−1]
                       + 2(1+α) w·x (p 1[y=−1] − (1−p) 1[y=1]) − p(1−p)α²,

and a step goes down in w, a, b and up in α, p being estimated as the rows come.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from aucmax import theory
from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet, L2Ball
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import Rows, compiled, n_rows, products, row_add, row_dot
from aucmax.solvers.stochastic.core import Sampler, StochasticSolver
from aucmax.solvers.stochastic.spam import with_rows

__all__ = ["SOLAM"]


class SOLAM(StochasticSolver):
    """Stochastic online AUC maximization: J on a ball, one row and O(nnz of the row) a step.

    With γ_t = C/√t, on a row x with y = +1

        w ← w − γ_t (2(1−p̂)(w·x − a) − 2(1+α)(1−p̂)) x,    a ← a + γ_t 2(1−p̂)(w·x − a),
        α ← α − γ_t (2(1−p̂) w·x + 2p̂(1−p̂)α),

    and with y = −1

        w ← w − γ_t (2p̂(w·x − b) + 2(1+α)p̂) x,    b ← b + γ_t 2p̂(w·x − b),
        α ← α + γ_t (2p̂ w·x − 2p̂(1−p̂)α),

    all from the values before the step, followed by projection onto ‖w‖ ≤ R, |a|, |b| ≤ Rκ,
    |α| ≤ 2Rκ with κ = max‖x‖. p̂ is the share of positives among the rows met so far, this one
    included. The start is w = (R/√d)·1, a = b = R, α = 2R, and the solution the mean of the
    iterates before each step, weighted by γ_t.

    Parameters
    ----------
    step_size : float or "auto"
        C, on the paper's scale. "auto" is the paper's algorithm on rows divided by κ, so that the
        longest has unit norm, with C = 5/√(p(1−p)): 10 for balanced classes.
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order (the authors'), or drawn with replacement.
    average : bool
        Return the weighted mean of the iterates; else the last one.
    radius : float or "auto"
        R, in the solver's (scaled) coordinates. "auto" is twice the norm of the best multiple of
        δ, ‖δ‖/(‖δ‖² + α + s) with s the variance Σ₊ + Σ₋ along δ, but at most 0.4 T^¼/κ for T
        steps, so that κ²R²/√T, the order of the published bound, stays small: about 10, the
        authors' R, for their a9a. A stream does not know s and takes 0, and T is what it has met.

    Notes
    -----
    The published algorithm is ``alpha=0``. With ``alpha > 0`` it is the L2-regularised variant
    that the SPAM and VRSPAM papers compare with, "modified to have the Frobenius norm
    regularizer" (β/2)‖w‖² on SPAM's scale, β = 2p(1−p)α: after the gradient step and before the
    projection w is divided by 1 + γ_t β. The two together are the proximal map of
    (β/2)‖w‖² on the ball.

    The optimality reported is that of the problem on the ball. The iterates are bounded by the
    projections, so that too long a step shows in J, not in numbers that overflow. On rows that
    hold no signal J may end a little above J(0): only 10 % above counts as divergence.

    ``partial_fit`` takes the same steps; κ is then the largest norm so far, β follows p̂, and
    the coefficients stay 0 until both classes have been seen.

    References
    ----------
    Ying, Wen & Lyu (2016), "Stochastic online AUC maximization", NIPS; and the authors' code.
    Natole, Ying & Lyu (2018), "Stochastic proximal algorithms for AUC maximization", ICML.
    """

    name = "solam"
    takes_l1 = False
    slack = 0.1

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        radius: float | str = "auto",
    ) -> None:
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.radius = radius

    def own_objective(self, objective: Objective) -> Objective:
        problem = objective.problem
        assert isinstance(problem, MemoryProblem)
        return Objective(problem, objective.loss, self._ball(problem, objective.penalty.l2))

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float]]:
        X, penalty = problem.rows(), objective.penalty
        norm2 = products.row_norms2(X)
        ball = penalty if isinstance(penalty, L2Ball) else self._ball(problem, penalty.l2)
        R = ball.radius
        C = self._constant(problem.p)
        beta = theory.beta_from_alpha(penalty.l2, problem.p)
        state = self.begin(problem.n_features, penalty)
        state["k"][_KAPPA2] = norm2.max()
        if start is None:
            self._corner(state, R)
        else:
            _saddle(state, ball.prox(start, 0.0), problem.mean_pos, problem.mean_neg)
        sampler = Sampler(problem.n_samples, self.order, rng)
        for epoch in range(min(self.n_epochs, max_iter)):
            order = sampler.take(problem.n_samples)
            self._run(state, X, order, problem.sign, problem.weight, norm2, C, R, beta)
            yield self.current(state), epoch + 1.0

    def _constant(self, p: float) -> float:
        """Return C."""
        if self.step_size == "auto":
            return 5.0 / np.sqrt(p * (1.0 - p)) if 0.0 < p < 1.0 else 10.0
        return float(number(self.step_size, "step_size", open_low=True))

    def _ball(self, problem: MemoryProblem, alpha: float) -> L2Ball:
        delta = problem.delta
        kappa2, delta2 = float(products.row_norms2(problem.rows()).max()), float(delta @ delta)
        along = float(delta @ problem.within_product(delta)) / delta2 if delta2 > 0.0 else 0.0
        T = problem.n_samples * number(self.n_epochs, "n_epochs", low=1, whole=True)
        return L2Ball(alpha, self._radius(T, kappa2, delta2, alpha + along))

    def _radius(self, T: int, kappa2: float, delta2: float, more: float) -> float:
        """Return R; ``more`` is α plus the variance along δ."""
        if self.radius != "auto":
            return float(number(self.radius, "radius", open_low=True))
        most = 0.4 * T**0.25 / np.sqrt(kappa2 if kappa2 > 0.0 else 1.0)
        return min(most, 2.0 * np.sqrt(delta2) / (delta2 + more)) if delta2 > 0.0 else most

    def _corner(self, state: dict[str, Any], R: float) -> None:
        """Put a fresh state at the authors' start; the automatic steps see rows divided by κ."""
        d, kappa = len(state["v"]), np.sqrt(state["k"][_KAPPA2])
        state["v"][:] = R / np.sqrt(d)
        a = R * kappa if self.step_size == "auto" else R
        state["k"][[_A, _B, _ALPHA]] = a, a, 2.0 * a

    def _run(
        self,
        state: dict[str, Any],
        X: Rows,
        order: np.ndarray,
        sign: np.ndarray,
        weight: np.ndarray,
        norm2: np.ndarray,
        C: float,
        R: float,
        beta: float | None,
        alpha: float = 0.0,
    ) -> None:
        """Take one pass of steps; ``beta`` None is 2p̂(1−p̂)α with the running p̂."""
        mass, v, u, k = (state[name] for name in ("mass", "v", "u", "k"))
        q = weight[order]
        met = mass + np.cumsum(np.stack([q * (sign[order] > 0), q * (sign[order] < 0)], 1), axis=0)
        p = met[:, 0] / met.sum(axis=1)
        kappa2 = np.maximum(np.maximum.accumulate(norm2[order]), k[_KAPPA2])
        gamma = C / np.sqrt(k[_STEPS] + np.arange(1.0, len(order) + 1.0))
        # on rows divided by κ the step of κw is γ, and so that of w is γ/κ²
        eta = gamma / np.where(kappa2 > 0.0, kappa2, 1.0) if self.step_size == "auto" else gamma
        shrink = 1.0 / (1.0 + eta * (2.0 * p * (1.0 - p) * alpha if beta is None else beta))
        k[_NORM2] = v @ v  # carried along by the steps, renewed here
        bound = R * np.sqrt(kappa2)
        _steps(X, order, sign, weight, norm2, gamma, eta, shrink, p, bound, R, v, u, k)
        mass[:], k[_KAPPA2] = met[-1], kappa2[-1]
        k[_STEPS] += len(order)

    # ---- partial_fit: running κ, and β that follows p̂ --------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        k = np.zeros(10)
        k[_SCALE] = k[_FIRST] = 1.0
        return {
            "mass": np.zeros(2),
            "total": np.zeros((2, n_features)),
            "v": np.zeros(n_features),
            "u": np.zeros(n_features),
            "k": k,
        }

    def resume(
        self, problem: MemoryProblem, penalty: ElasticNet, coef: np.ndarray, n_iter: int
    ) -> dict[str, Any]:
        state = super().resume(problem, penalty, coef, n_iter)
        state["k"][_KAPPA2] = np.max(products.row_norms2(problem.X))
        return state

    def place(self, state: dict[str, Any], coef: np.ndarray, steps: int) -> None:
        _saddle(state, coef, *(state["total"] / state["mass"][:, None]))
        state["k"][_STEPS] = steps

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        order = Sampler(n_rows(X), self.order, rng).take(n_rows(X))
        norm2 = products.row_norms2(X)
        mass, state["total"] = with_rows(state["mass"], state["total"], X, sign, weight)
        delta2 = 0.0
        if mass.min() > 0.0:
            pos, neg = state["total"] / mass[:, None]
            delta2 = float((pos - neg) @ (pos - neg))
        k, first = state["k"], state["k"][_STEPS] == 0.0
        kappa2 = max(float(norm2.max()), k[_KAPPA2])
        R = self._radius(int(k[_STEPS]) + len(order), kappa2, delta2, penalty.l2)
        C = self._constant(mass[0] / mass.sum())
        if first:
            if self.step_size == "auto":
                k[_KAPPA2] = kappa2
            self._corner(state, R)
        self._run(state, X, order, sign, weight, norm2, C, R, None, penalty.l2)

    def current(self, state: dict[str, Any]) -> np.ndarray:
        v, u, k = state["v"], state["u"], state["k"]
        if state["mass"].min() == 0.0:
            return np.zeros(len(v))
        if self.average and k[_WEIGHT] > 0.0:
            return (k[_SUM] * v - u) / k[_WEIGHT]
        return k[_SCALE] * v


def _saddle(state: dict[str, Any], w: np.ndarray, pos: np.ndarray, neg: np.ndarray) -> None:
    """Put a fresh state at w, with a = w·μ₊, b = w·μ₋ and α = b − a: their optimum there."""
    a, b = float(w @ pos), float(w @ neg)
    state["v"][:] = w
    state["k"][[_A, _B, _ALPHA]] = a, b, b - a


# where in k: the scale c of w = c v, ‖v‖², Σ γc since c was C, that C, Σ γ, a, b, α, the steps
# taken, and κ²
_SCALE, _NORM2, _SUM, _FIRST, _WEIGHT, _A, _B, _ALPHA, _STEPS, _KAPPA2 = range(10)
_DIGITS = 1e-3  # the sum may lose this factor of its digits before it is taken into u
_SMALL = 1e-60  # below this the scale is taken into v


@compiled
def _steps(X, order, sign, weight, norm2, gamma, eta, shrink, p, bound, R, v, u, k):
    # w = c v;   Σ γ_t w_t = S v − u, since Σ_t γ_t c_t v_t = S_T v_T − Σ_t S_t (v_{t+1} − v_t)
    c, N, S, first, G = k[0], k[1], k[2], k[3], k[4]
    a, b, alpha = k[5], k[6], k[7]
    for t in range(len(order)):
        i, p_t = order[t], p[t]
        S += gamma[t] * c
        G += gamma[t]
        vx = row_dot(X, i, v)
        wx = c * vx
        g = gamma[t] * weight[i]
        rise = -2.0 * p_t * (1.0 - p_t) * alpha
        if sign[i] > 0:
            r = 2.0 * (1.0 - p_t) * (wx - a - 1.0 - alpha)
            rise -= 2.0 * (1.0 - p_t) * wx
            a += g * 2.0 * (1.0 - p_t) * (wx - a)
        else:
            r = 2.0 * p_t * (wx - b + 1.0 + alpha)
            rise += 2.0 * p_t * wx
            b += g * 2.0 * p_t * (wx - b)
        alpha += g * rise
        a = min(max(a, -bound[t]), bound[t])
        b = min(max(b, -bound[t]), bound[t])
        alpha = min(max(alpha, -2.0 * bound[t]), 2.0 * bound[t])
        # w ← (w − η r x)/(1 + ηβ),  then  w ← w min(1, R/‖w‖)
        h = -eta[t] * weight[i] * r / c
        N += h * (2.0 * vx + h * norm2[i])
        c *= shrink[t]
        length = c * np.sqrt(max(N, 0.0))
        if length > R:
            c *= R / length
        if c < _DIGITS * first:
            # S v and u are about to outgrow their difference
            for j in range(len(v)):
                u[j] -= S * v[j]
            S, first = 0.0, c
        row_add(X, i, h, v)
        row_add(X, i, h * S, u)
        if c < _SMALL:
            N = 0.0
            for j in range(len(v)):
                v[j] *= c
                N += v[j] * v[j]
            S, first, c = S / c, first / c, 1.0
    k[0], k[1], k[2], k[3], k[4] = c, N, S, first, G
    k[5], k[6], k[7] = a, b, alpha
