"""SADMM: stochastic alternating direction method of multipliers, for the hinge loss.

F(w) = mean of l_i(w) + R(w) is split as l(w) + R(z) with w = z. A step on the row (x, y) of loss
l_t, with v = z − μ/ρ, is

    w ← argmin l_t(w) + (ρ/2)‖w − v‖² = v + β y x/ρ,    β = clip(ρ(1 − y v·x)/‖x‖², 0, 1)
    z ← argmin R(z) + (ρ/2)‖z − w − μ/ρ‖² = prox_{R/ρ}(w + μ/ρ)
    μ ← μ + ρ(w − z),

an implicit step of size 1/ρ on the row, and the penalty's prox.
"""

from typing import Any

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.penalties import ElasticNet, soft
from aucmax.rows import compiled, row_add, row_dot, row_entry, row_size
from aucmax.solvers.stochastic.hinge import HingeSolver, last_below, thresholded_sums
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import FOLD, fold, times, unscaled

__all__ = ["SADMM"]

_FIRST = 0.1  # the automatic ρ, over the mean of ‖x‖² √t


class SADMM(HingeSolver):
    """Stochastic ADMM: the loss of one row solved exactly, then the penalty, then the multiplier.

    ``coef_`` is z, its mean or the last one: the part that meets the penalty, which with l1 has
    exact zeros. The mean of w differs from it by (μ_T − μ_0)/(ρT).

    Parameters
    ----------
    rho : float or "auto"
        ρ, the same at every step, as published; the larger, the shorter the steps. "auto" grows:
        ρ_t = 0.1 √t (mean of ‖x‖²), so that the steps become shorter and the iterates settle,
        which with a constant ρ they do not. An epoch of a fit that ends above F(0) is
        undone and repeated with four times that.
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement as published.
    average : bool
        Return the mean of all z; else the last.
    tol : float, optional
        Optimality to stop at, measured after each epoch; None never does.

    Notes
    -----
    A step touches only the row's stored entries. Where x_j = 0 the step is z ← prox_{R/ρ}(z): for
    l1 the thresholds missed add up, z_j = soft(z_j, Σ α/ρ), and μ_j is ρ times the last change of
    z_j. For l2 μ = αz after any step, so that the step is z ← (ρz + β y x)/(ρ + α), β being that
    of v = (1 − α/ρ) z; z is kept as a scale times a vector.

    The paper's Theorem 4.1 holds along every run. Its Theorem 4.2, which concludes that the
    expected gap of the variational inequality (`aucmax.theory.vi_gap`) at the mean of T iterates
    falls like 1/T, does not: the proof treats the iterates as independent of the row they were
    computed from. With the rows x = 1, y = +1 and x = 2, y = −1, λ = .01 and a start at the saddle
    point the stated bound is 0, and after 1000 steps the gap is .372 for ρ = .1, .311 for ρ = 1
    and .080 for ρ = 10 (its part in the loss alone: .375, .314, .082): with a constant ρ the
    iterates hover about the optimum, the nearer the larger ρ is.

    Sample weights multiply the loss of the row: β is clipped at the weight. ``partial_fit`` takes
    the steps of ``fit``: any division of the rows gives one cyclic pass, where ρ is given.

    References
    ----------
    Tao, Gao, Chu & Wu (2014), "Stochastic learning via optimizing the variational inequalities",
    IEEE TNNLS 25(10). For a ρ that grows: Wang & Banerjee (2012), "Online alternating direction
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
        self.rho = rho
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.tol = tol

    def check_penalty(self, penalty: ElasticNet) -> None:
        if self.rho != "auto":
            number(self.rho, "rho", open_low=True)

    def begin(self, d: int, penalty: ElasticNet) -> dict[str, Any]:
        return super().begin(d, penalty) | {"mu": np.zeros(d)}

    def place(
        self, state: dict[str, Any], start: np.ndarray, penalty: ElasticNet, batch: Batch
    ) -> None:
        # μ in the subdifferential of the penalty at z, as after any step
        state["v"][:] = start
        state["mu"][:] = penalty.l2 * start + penalty.l1 * np.sign(start)

    def step(
        self, state: dict[str, Any], batch: Batch, penalty: ElasticNet, rng: np.random.RandomState
    ) -> None:
        self.check_penalty(penalty)
        v, u, mu, k = state["v"], state["u"], state["mu"], state["k"][0]
        rho, average = self._rhos(state, batch), bool(self.average)
        rows = (batch.X, batch.order, batch.sign, batch.weight, batch.norm2, rho)
        if penalty.shrinks:
            _l2_steps(*rows, penalty.l2, average, v, u, k)
            mu[:] = penalty.l2 * k["scale"] * v
            return
        unscaled(state)
        A = np.concatenate([[0.0], np.cumsum(penalty.l1 / rho)])
        B, met, gone = np.cumsum(A), np.zeros(len(v), dtype=np.int64), np.zeros(len(v))
        _l1_steps(*rows, penalty.l1, A, B, average, v, mu, u, met, gone)
        if average:
            u -= np.sign(v) * thresholded_sums(np.abs(v), met, A, B)
        late = met < len(rho)
        before = soft(v, A[-2] - gone)
        v[:] = soft(v, A[-1] - gone)
        last = np.where(v != 0.0, penalty.l1 * np.sign(v), rho[-1] * before)
        mu[late] = last[late]
        k["steps"] += len(rho)

    def _rhos(self, state: dict[str, Any], batch: Batch) -> np.ndarray:
        """Return ρ_t for the steps of a batch."""
        if self.rho != "auto":
            return np.full(len(batch.order), float(self.rho))
        t, scale = (
            times(state, batch),
            batch.mean_norm2(),
        )
        return _FIRST * state["slower"] * np.where(scale > 0.0, scale, 1.0) * np.sqrt(t)


@compiled
def _l2_steps(X, order, sign, weight, norm2, rho, alpha, average, v, u, k):
    # z = c v,  Σ z = S v − u
    c, S = k["scale"], k["sum"]
    for t in range(len(order)):
        i, r = order[t], rho[t]
        short = 1.0 - sign[i] * (1.0 - alpha / r) * c * row_dot(X, i, v)
        if short > 0.0 and norm2[i] > 0.0:
            # z ← (ρz + β y x)/(ρ + α)
            beta = min(r * short / norm2[i], weight[i])
            h = beta * sign[i] / (r * c)
            row_add(X, i, h, v)
            if average:
                row_add(X, i, h * S, u)
        c *= r / (r + alpha)
        S += c
        if c < FOLD:
            fold(c, S, v, u)
            c, S = 1.0, 0.0
    k["scale"], k["sum"] = c, S
    k["steps"] += len(order)


@compiled
def _l1_steps(X, order, sign, weight, norm2, rho, alpha, A, B, average, z, mu, u, met, gone):
    # z_j and μ_j are those of after met_j steps, but for steps since with β = 0 or x_j = 0. Such a
    # step is z ← soft(z, α/ρ), μ ← ρ times the change of z; their thresholds by step t are
    # A_t − gone_j, with gone_j = A_{met_j}.
    for t in range(len(order)):
        i, r, vx = order[t], rho[t], 0.0
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            if met[j] == t:
                vx += x * (z[j] - mu[j] / r)
            elif z[j] != 0.0:
                # v = z − μ/ρ, with μ = ±α where z is not 0 now, else ρ times the z before
                left = abs(z[j]) - (A[t] - gone[j])
                if left > 0.0:
                    v = left - alpha / r
                else:
                    v = -rho[t - 1] * max(abs(z[j]) - (A[t - 1] - gone[j]), 0.0) / r
                vx += x * v if z[j] > 0.0 else -x * v
        short = 1.0 - sign[i] * vx
        if not (short > 0.0 and norm2[i] > 0.0):
            continue
        beta = min(r * short / norm2[i], weight[i])
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            size, a, last, missed = abs(z[j]), met[j], t, A[t] - gone[j]
            if average and size > 0.0 and a < t:
                level = size + gone[j]
                if level <= A[t]:  # it reached 0 on the way
                    last = last_below(level, a, t, A)
                u[j] -= np.sign(z[j]) * ((last - a) * level - (B[last] - B[a]))
            # z ← soft(ρw + μ, α)/ρ,   μ ← μ + ρ(w − z),   where ρw + μ = ρz + β y x
            s = r * (max(z[j] - missed, 0.0) + min(z[j] + missed, 0.0)) + beta * sign[i] * x
            mu[j] = min(max(s, -alpha), alpha)
            z[j] = (s - mu[j]) / r
            met[j] = t + 1
            gone[j] = A[t + 1]
            if average:
                u[j] -= z[j]
