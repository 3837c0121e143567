"""SADMM: stochastic alternating direction method of multipliers, for the hinge loss.

F(w) = mean of l_i(w) + R(w) is split into l(w) + R(z) with w = z. With v = z − μ/ρ, a step on the
row (x, y) with loss l_t is

    w ← argmin l_t(w) + (ρ/2)‖w − v‖² = v + β y x/ρ,    β = clip(ρ(1 − y v·x)/‖x‖², 0, 1)
    z ← argmin R(z) + (ρ/2)‖z − w − μ/ρ‖² = prox_{R/ρ}(w + μ/ρ)
    μ ← μ + ρ(w − z).
"""

import numpy as np
from numpy.random import RandomState

from aucmax.data.rows import compiled, fetch_ahead, row_add, row_dot, row_entry, row_size
from aucmax.objective.penalties import Penalty, soft
from aucmax.solvers.stochastic.core import State
from aucmax.solvers.stochastic.hinge import HingeSolver, Missed, left, sum_until
from aucmax.solvers.stochastic.samples import Batch, Classes
from aucmax.solvers.stochastic.scaled import MIN_SCALE, fold, scaled_add, times, unscaled

__all__ = ["SADMM"]


class SADMM(HingeSolver):
    """Stochastic ADMM: an implicit step of size 1/ρ on a row, then the penalty's prox.

    ``coef_`` is z, which the penalty applies to, and which has exact zeros with l1. The mean of w
    differs from that of z by (μ_T − μ_0)/(ρT).

    Parameters
    ----------
    rho : float or "auto"
        ρ, the same at every step, as published; the larger ρ, the shorter the steps. "auto" grows:
        ρ_t = 0.1 √t (mean of ‖x‖²), so that the iterates converge; with a constant ρ they do not
        (erratum 1 of docs/notes_on_the_papers.md).
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The paper uses ``order="random"``.

    Notes
    -----
    Where x_j = 0 the step is z ← prox_{R/ρ}(z). With l1 the missed thresholds add up,
    z_j = soft(z_j, Σ α/ρ), and μ_j is ρ times the last change of z_j. With l2, μ = αz after any
    step, so that the step is z ← (ρz + β y x)/(ρ + α), with β computed at v = (1 − α/ρ) z.

    A sample weight multiplies the loss of its row: β is clipped at the weight instead of 1.

    References
    ----------
    Tao, Gao, Chu & Wu (2014), "Stochastic learning via optimizing the variational inequalities",
    IEEE TNNLS 25(10). For a growing ρ: Wang & Banerjee (2012), "Online alternating direction
    method", ICML.
    """

    name = "sadmm"
    step_setting = "rho"
    step_remedy = "raise"

    def __init__(
        self,
        rho: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.rho = rho

    def begin(self, d: int, penalty: Penalty) -> State:
        return super().begin(d, penalty) | {"mu": np.zeros(d)}

    def place(self, state: State, start: np.ndarray, penalty: Penalty, classes: Classes) -> None:
        # μ is in the subdifferential of the penalty at z, as after any step
        state["v"][:] = start
        state["mu"][:] = penalty.l2 * start + penalty.l1 * np.sign(start)

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        v, u, mu, k = state["v"], state["u"], state["mu"], state["k"][0]
        average, step = bool(self.average), self.given_step()
        if step is None:
            rho = 0.1 * state["slower"] * batch.mean_norm2() * np.sqrt(times(state, batch))
        else:
            rho = np.full(len(batch.order), step)
        if "l2" in penalty.offers:
            _l2_steps(batch.visits, rho, penalty.l2, average, v, u, k)
            mu[:] = penalty.l2 * k["scale"] * v
        else:
            unscaled(state)
            missed = Missed.of(penalty.l1 / rho, len(v))
            settings = (penalty.l1, average)
            _l1_steps(batch.visits, rho, missed, settings, v, mu, u)
            before = soft(v, missed.A[-2] - missed.gone)  # the last step
            missed.catch_up(v, u, average)
            last = np.where(v != 0.0, penalty.l1 * np.sign(v), rho[-1] * before)
            np.copyto(mu, last, where=missed.met < len(rho))
        k["steps"] += len(rho)


@compiled
def _l2_steps(visits, rho, alpha, average, v, u, k):
    # z = c v,  Σ z = S v − u
    X, order, rows = visits
    c, S = k["scale"], k["sum"]
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i, r = order[t], rho[t]
        y, norm2 = rows[i]["sign"], rows[i]["norm2"]
        short = 1.0 - y * (1.0 - alpha / r) * c * row_dot(X, i, v)
        if short > 0.0 and norm2 > 0.0:
            # z ← (ρz + β y x)/(ρ + α)
            beta = min(r * short / norm2, rows[i]["weight"])
            h = beta * y / (r * c)
            if average:
                scaled_add(X, i, h, S, v, u)
            else:
                row_add(X, i, h, v)
        c *= r / (r + alpha)
        S += c
        if c < MIN_SCALE:
            fold(c, S, v, u)
            c, S = 1.0, 0.0
    k["scale"], k["sum"] = c, S


@compiled
def _l1_steps(visits, rho, missed, settings, z, mu, u):
    # z_j and μ_j miss the steps with β = 0 or x_j = 0: z ← soft(z, α/ρ), μ ← ρ times its change
    X, order, rows = visits
    A, B, met, gone = missed
    alpha, average = settings
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i, r, vx = order[t], rho[t], 0.0
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            if met[j] == t:
                vx += x * (z[j] - mu[j] / r)
            elif z[j] != 0.0:
                # v = z − μ/ρ, with μ = ±α if z is not 0 now, otherwise ρ times the previous z
                now = abs(z[j]) - (A[t] - gone[j])
                if now > 0.0:
                    v = now - alpha / r
                else:
                    v = -rho[t - 1] * max(abs(z[j]) - (A[t - 1] - gone[j]), 0.0) / r
                vx += x * v if z[j] > 0.0 else -x * v
        y, norm2 = rows[i]["sign"], rows[i]["norm2"]
        short = 1.0 - y * vx
        if not (short > 0.0 and norm2 > 0.0):
            continue
        beta = min(r * short / norm2, rows[i]["weight"])
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            if average and met[j] < t:
                u[j] -= sum_until(z[j], met[j], gone[j], t, A, B)
            # z ← soft(ρw + μ, α)/ρ,   μ ← μ + ρ(w − z),   where ρw + μ = ρz + β y x
            s = r * left(z[j], A[t] - gone[j]) + beta * y * x
            mu[j] = min(max(s, -alpha), alpha)
            z[j] = (s - mu[j]) / r
            met[j] = t + 1
            gone[j] = A[t + 1]
            if average:
                u[j] -= z[j]
