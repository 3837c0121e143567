"""COMID: composite objective mirror descent, for the hinge loss.

    w ← prox_{ηΩ}(w − η g),    g = −y x where y w·x < 1, else 0

linearises the loss but not the penalty: soft(w − ηg, ηα) for l1, (w − ηg)/(1 + ηα) for l2.
"""

import numpy as np
from numpy.random import RandomState

from aucmax.data.rows import compiled, fetch_ahead, row_add, row_dot, row_entry, row_size
from aucmax.objective.penalties import Penalty
from aucmax.solvers.stochastic.core import State
from aucmax.solvers.stochastic.hinge import HingeSolver, Missed, left, sum_until
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import MIN_SCALE, fold, scaled_add, times, unscaled

__all__ = ["COMID"]

_AUTOMATIC_C = 10.0  # the automatic C times the mean of ‖x‖²


class COMID(HingeSolver):
    """Composite objective mirror descent: a gradient step on one row, then the penalty's prox.

    Parameters
    ----------
    step_size : float or "auto"
        C in η_t = C/√t. "auto" is 10/(mean of ‖x‖²), limited so that no step moves the margin of
        its own row by more than 1. With ``schedule="strong"`` leave it at "auto".
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The paper uses ``order="random"``.
    schedule : {"sqrt", "strong"}
        η_t = C/√t or, for l2 only, 1/(αt), which is the paper's 1/(2λt).

    Notes
    -----
    With l1, the thresholds that a coordinate has missed since a row last contained it add up,
    because soft(soft(w, a), b) = soft(w, a + b).

    References
    ----------
    Duchi, Shalev-Shwartz, Singer & Tewari (2010), "Composite objective mirror descent", COLT.
    Tao, Gao, Chu & Wu (2014), "Stochastic learning via optimizing the variational inequalities",
    IEEE TNNLS 25(10).
    """

    name = "comid"

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        schedule: str = "sqrt",
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.step_size = step_size
        self.schedule = schedule

    def check_penalty(self, penalty: Penalty) -> None:
        if self.schedule not in ("sqrt", "strong"):
            raise ValueError(f"schedule must be 'sqrt' or 'strong'; got {self.schedule!r}.")
        super().check_penalty(penalty)
        if self.schedule == "strong":
            if not penalty.l2 > 0.0:
                raise ValueError(
                    "schedule='strong' has steps 1/(αt) and needs an l2 penalty: use alpha > 0 "
                    "and l1_ratio=0, or schedule='sqrt'."
                )
            if self.step_size != "auto":
                raise ValueError(
                    "schedule='strong' has steps 1/(αt) and takes no step_size; leave it at "
                    f"'auto' instead of {self.step_size!r}, or use schedule='sqrt'."
                )

    @property
    def automatic(self) -> bool:
        return self.schedule != "strong" and self.step_size == "auto"

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        self.check_penalty(penalty)
        v, u, k = state["v"], state["u"], state["k"][0]
        eta = self._step_sizes(state, batch, penalty.l2)
        average = bool(self.average)
        if "l2" in penalty.offers:
            _l2_steps(batch.visits, eta, penalty.l2, average, v, u, k)
        else:
            unscaled(state)
            missed = Missed.of(eta * penalty.l1, len(v))
            _l1_steps(batch.visits, eta, missed, average, v, u)
            missed.catch_up(v, u, average)
        k["steps"] += len(eta)

    def _step_sizes(self, state: State, batch: Batch, alpha: float) -> np.ndarray:
        """Return η_t for the steps of a batch."""
        t = times(state, batch)
        if self.schedule == "strong":
            return 1.0 / (alpha * t)
        step = self.given_step()
        if step is not None:
            return step / np.sqrt(t)
        eta = _AUTOMATIC_C / (state["slower"] * batch.mean_norm2() * np.sqrt(t))
        own = batch.weighted_norm2[batch.order]
        return np.minimum(eta, np.divide(1.0, own, out=np.full(len(own), np.inf), where=own > 0.0))


@compiled
def _l2_steps(visits, eta, alpha, average, v, u, k):
    # w = c v,  Σ w = S v − u
    X, order, rows = visits
    c, S = k["scale"], k["sum"]
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i = order[t]
        y = rows[i]["sign"]
        if y * c * row_dot(X, i, v) < 1.0:
            # w ← (w + η y x)/(1 + ηα)
            h = eta[t] * rows[i]["weight"] * y / c
            if average:
                scaled_add(X, i, h, S, v, u)
            else:
                row_add(X, i, h, v)
        c /= 1.0 + eta[t] * alpha
        S += c
        if c < MIN_SCALE:
            fold(c, S, v, u)
            c, S = 1.0, 0.0
    k["scale"], k["sum"] = c, S


@compiled
def _l1_steps(visits, eta, missed, average, w, u):
    # w_j misses thresholds until a step on a row that contains it
    X, order, rows = visits
    A, B, met, gone = missed
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i, m = order[t], 0.0
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            m += x * left(w[j], A[t] - gone[j])
        y = rows[i]["sign"]
        if y * m < 1.0:
            # w ← soft(w + η y x, ηα)
            h = eta[t] * rows[i]["weight"] * y
            for k in range(row_size(X, i)):
                j, x = row_entry(X, i, k)
                if average and met[j] < t:
                    u[j] -= sum_until(w[j], met[j], gone[j], t, A, B)
                w[j] = left(w[j], A[t] - gone[j]) + h * x
                met[j] = t
                gone[j] = A[t]
