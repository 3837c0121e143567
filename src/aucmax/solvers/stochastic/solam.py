"""SOLAM: stochastic online AUC maximization, as a saddle point problem.

With f as for SPAM, f(w) − p(1−p) is the saddle value, over a, b and the dual α, of the mean over
the samples z = (x, y) of

    F(w, a, b, α; z) = (1−p)(w·x − a)² 1[y=1] + p(w·x − b)² 1[y=−1]
                       + 2(1+α) w·x (p 1[y=−1] − (1−p) 1[y=1]) − p(1−p)α²,

and a step descends in w, a, b and ascends in α, where p is estimated from the rows so far.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import compiled, fetch_ahead, products, row_dot
from aucmax.objective import Objective
from aucmax.objective.penalties import L2Ball, Penalty
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.samples import Batch, Classes
from aucmax.solvers.stochastic.scaled import MIN_SCALE, fold, scaled, scaled_add, squared, times

__all__ = ["SOLAM"]


class _Schedule(NamedTuple):
    """For each step: γ_t, the step η_t of w, 1/(1 + η_t β), p̂, and the bound on ∣a∣ and ∣b∣."""

    gamma: np.ndarray
    eta: np.ndarray
    shrink: np.ndarray
    p: np.ndarray
    bound: np.ndarray


class SOLAM(StochasticSolver):
    """Stochastic online AUC maximization: J on a ball; a step takes one row, O(nnz of the row).

    With γ_t = C/√t, on a row x with y = +1

        w ← w − γ_t (2(1−p̂)(w·x − a) − 2(1+α)(1−p̂)) x,    a ← a + γ_t 2(1−p̂)(w·x − a),
        α ← α − γ_t (2(1−p̂) w·x + 2p̂(1−p̂)α),

    and with y = −1

        w ← w − γ_t (2p̂(w·x − b) + 2(1+α)p̂) x,    b ← b + γ_t 2p̂(w·x − b),
        α ← α + γ_t (2p̂ w·x − 2p̂(1−p̂)α),

    all from the values before the step, followed by projection onto ‖w‖ ≤ R, ∣a∣, ∣b∣ ≤ Rκ,
    ∣α∣ ≤ 2Rκ with κ = max‖x‖. p̂ is the share of positives among the rows so far, including this
    one. The start is w = (R/√d)·1, a = b = R, α = 2R, and the solution is the mean of the
    iterates before each step, weighted by γ_t.

    Parameters
    ----------
    step_size : float or "auto"
        C, on the paper's scale. "auto" runs the paper's algorithm on rows divided by κ, with
        C = 5/√(p(1−p)): 10 for balanced classes.
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The authors used file order.
    radius : float or "auto"
        R, in the solver's (scaled) coordinates. "auto" is min(2‖δ‖/(‖δ‖² + α + s), 0.4 T^¼/κ) for
        T steps, where s is the variance Σ₊ + Σ₋ along δ.

    Notes
    -----
    ``alpha=0`` gives the published algorithm. With ``alpha > 0``, w is also divided by 1 + γ_t β
    before the projection, with β = 2p(1−p)α. The reported optimality is for the problem on the
    ball.
    docs/notes_on_the_papers.md explains these choices, and how a stream estimates κ, s, T and β.

    References
    ----------
    Ying, Wen & Lyu (2016), "Stochastic online AUC maximization", NIPS; and the authors' code.
    Natole, Ying & Lyu (2018), "Stochastic proximal algorithms for AUC maximization", ICML.
    """

    name = "solam"
    slack = 0.1  # on rows without signal J may end slightly above J(0)

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        radius: float | str = "auto",
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.step_size = step_size
        self.radius = radius

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic",), penalty="l2", data=("rows",))

    def own_objective(self, objective: Objective) -> Objective:
        problem, alpha = objective.problem, objective.penalty.l2
        delta, delta2 = problem.delta, float(problem.delta @ problem.delta)
        kappa2 = float(max(products.row_norms2(rows.X).max() for rows in problem.batches()))
        along = float(delta @ problem.within_product(delta)) / delta2 if delta2 > 0.0 else 0.0
        T = problem.n_samples * number(self.n_epochs, "n_epochs", low=1, whole=True)
        ball = L2Ball(alpha, self._radius(T, kappa2, delta2, alpha + along))
        return Objective(problem, objective.loss, ball)

    @property
    def automatic(self) -> bool:
        return False  # no step diverges in the ball

    def begin(self, d: int, penalty: Penalty) -> State:
        return scaled(d, "gammas", "a", "b", "alpha", "kappa2", "begun") | {"met": np.zeros(2)}

    def place(self, state: State, start: np.ndarray, penalty: Penalty, classes: Classes) -> None:
        mean_pos, mean_neg = classes.total / classes.mass[:, None]
        w, k = penalty.prox(start, 0.0), state["k"][0]
        a, b = float(w @ mean_pos), float(w @ mean_neg)
        state["v"][:] = w
        k["a"], k["b"], k["alpha"], k["begun"] = a, b, b - a, 1.0

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        v, u, k, own = state["v"], state["u"], state["k"][0], self.step_size == "auto"
        complete, norm2 = batch.before is None, batch.norm2[batch.order]
        met = batch.running(state["met"], batch.weight)
        p = met[:, 0] / met.sum(axis=1)
        share, first = batch.p if complete else p, k["begun"] == 0.0
        kappa2 = max(float(batch.norm2.max()), k["kappa2"])
        if complete or (first and own):
            k["kappa2"] = kappa2
        R = penalty.radius if isinstance(penalty, L2Ball) else self._streamed(state, batch, penalty)
        if first:  # the authors' start; the automatic steps see rows divided by κ
            a = R * np.sqrt(k["kappa2"]) if own else R
            v[:] = R / np.sqrt(len(v))
            k["a"], k["b"], k["alpha"], k["begun"] = a, a, 2.0 * a, 1.0
        kappa2 = np.maximum(np.maximum.accumulate(norm2), k["kappa2"])
        C = self.given_step()
        if C is None:
            C = 5.0 / np.sqrt(batch.p * (1.0 - batch.p)) if 0.0 < batch.p < 1.0 else 10.0
        gamma = C / np.sqrt(times(state, batch))
        # on rows divided by κ the step of κw is γ, so that of w is γ/κ²
        eta = gamma / np.where(kappa2 > 0.0, kappa2, 1.0) if own else gamma
        shrink = 1.0 / (1.0 + eta * 2.0 * share * (1.0 - share) * penalty.l2)
        schedule = _Schedule(gamma, eta, shrink, p, R * np.sqrt(kappa2))
        _steps(batch.visits, schedule, R, v, u, k)
        state["met"], k["kappa2"] = met[-1], kappa2[-1]
        k["gammas"] += gamma.sum()

    def _streamed(self, state: State, batch: Batch, penalty: Penalty) -> float:
        """Return R from the rows of a stream so far."""
        (mass, total, _), k, delta2 = batch.after, state["k"][0], 0.0
        if mass.min() > 0.0:
            pos, neg = total / mass[:, None]
            delta2 = float((pos - neg) @ (pos - neg))
        kappa2 = max(float(batch.norm2.max()), k["kappa2"])
        return self._radius(int(k["steps"]) + len(batch.order), kappa2, delta2, penalty.l2)

    def _radius(self, T: int, kappa2: float, delta2: float, strength: float) -> float:
        """Return R; ``strength`` is α plus the variance along δ."""
        if self.radius != "auto":
            return float(number(self.radius, "radius", open_low=True))
        limit = 0.4 * T**0.25 / np.sqrt(kappa2 if kappa2 > 0.0 else 1.0)
        return min(limit, 2.0 * np.sqrt(delta2) / (delta2 + strength)) if delta2 > 0.0 else limit

    def current(self, state: State) -> np.ndarray:
        k, v = state["k"][0], state["v"]
        if state["mass"].min() == 0.0:
            return np.zeros(len(v))
        if self.average and k["gammas"] > 0.0:
            return (k["sum"] * v - state["u"]) / k["gammas"]
        return k["scale"] * v


@compiled
def _steps(visits, schedule, R, v, u, k):
    # w = c v,  Σ γ_t w_t = S v − u with S = Σ γ_t c_t,  N = ‖v‖²
    X, order, rows = visits
    gamma, eta, shrink, p, bound = schedule
    c, S, N = k["scale"], k["sum"], squared(v)
    a, b, alpha = k["a"], k["b"], k["alpha"]
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i, p_t = order[t], p[t]
        y, weight, norm2 = rows[i]["sign"], rows[i]["weight"], rows[i]["norm2"]
        rate = eta[t] * weight / c
        S += gamma[t] * c
        vx = row_dot(X, i, v)
        wx = c * vx
        g = gamma[t] * weight
        rise = -2.0 * p_t * (1.0 - p_t) * alpha
        if y > 0:
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
        h = -rate * r
        N += h * (2.0 * vx + h * norm2)
        c *= shrink[t]
        length = c * np.sqrt(max(N, 0.0))
        if length > R:
            c *= R / length
        scaled_add(X, i, h, S, v, u)
        if c < MIN_SCALE:
            fold(c, S, v, u)
            N, c, S = c * c * N, 1.0, 0.0
    k["scale"], k["sum"], k["a"], k["b"], k["alpha"] = c, S, a, b, alpha
    k["steps"] += len(order)
