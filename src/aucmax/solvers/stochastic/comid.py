"""COMID: composite objective mirror descent, for the hinge loss.

    w ← prox_{ηΩ}(w − η g),    g = −y x where y w·x < 1, else 0,

the penalty kept whole and the loss linearised: soft(w − ηg, ηα) for l1, (w − ηg)/(1 + ηα) for l2.
"""

from typing import Any

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.penalties import ElasticNet, soft
from aucmax.rows import compiled, row_add, row_dot, row_entry, row_size
from aucmax.solvers.stochastic.hinge import HingeSolver, last_below, thresholded_sums
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import FOLD, fold, times, unscaled

__all__ = ["COMID"]

_FIRST = 10.0  # the automatic C, times the mean of ‖x‖²


class COMID(HingeSolver):
    """Composite objective mirror descent: one gradient step on a row, then the penalty's prox.

    Parameters
    ----------
    step_size : float or "auto"
        C of η_t = C/√t. "auto" is 10/(mean of ‖x‖²), and no step moves the margin of its own row
        by more than 1; an epoch of a fit that ends above F(0) is undone and repeated with a
        quarter of the step. With ``schedule="strong"`` it is left at "auto" and means nothing more:
        the steps are as published.
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement as published.
    average : bool
        Return the mean of all iterates; else the last.
    schedule : {"sqrt", "strong"}
        η_t = C/√t, or for l2 alone 1/(αt), which is the paper's 1/(2λt).
    tol : float, optional
        Optimality to stop at, measured after each epoch; None never does.

    Notes
    -----
    A step touches only the row's stored entries. For l2, w is kept as a scale times a vector. For
    l1, the thresholds that a coordinate has missed since it was last met add up:
    soft(soft(w, a), b) = soft(w, a + b).

    Sample weights multiply the gradient. ``partial_fit`` takes the steps of ``fit``: any division
    of the rows gives one cyclic pass, where the step is given.

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
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.schedule = schedule
        self.tol = tol

    def check_penalty(self, penalty: ElasticNet) -> None:
        if self.schedule not in ("sqrt", "strong"):
            raise ValueError(f"schedule must be 'sqrt' or 'strong'; got {self.schedule!r}.")
        if self.step_size != "auto":
            number(self.step_size, "step_size", open_low=True)
        if self.schedule == "strong":
            if not penalty.l2 > 0.0:
                raise ValueError(
                    "schedule='strong' has steps 1/(αt) and needs an l2 penalty: use alpha > 0 "
                    "and l1_ratio=0, or schedule='sqrt'."
                )
            if self.step_size != "auto":
                raise ValueError(
                    f"schedule='strong' has steps 1/(αt) and takes no step_size; leave it 'auto' "
                    f"instead of {self.step_size!r}, or use schedule='sqrt'."
                )

    @property
    def automatic(self) -> bool:
        return self.schedule != "strong" and self.step_size == "auto"

    def step(
        self, state: dict[str, Any], batch: Batch, penalty: ElasticNet, rng: np.random.RandomState
    ) -> None:
        self.check_penalty(penalty)
        v, u, k = state["v"], state["u"], state["k"][0]
        eta = self._step_sizes(state, batch, penalty.l2)
        rows, average = (batch.X, batch.order, batch.sign, batch.weight, eta), bool(self.average)
        if penalty.shrinks:
            _l2_steps(*rows, penalty.l2, average, v, u, k)
            return
        unscaled(state)
        A = np.concatenate([[0.0], np.cumsum(eta * penalty.l1)])
        B, met, gone = np.cumsum(A), np.zeros(len(v), dtype=np.int64), np.zeros(len(v))
        _l1_steps(*rows, A, B, average, v, u, met, gone)
        if average:
            u -= np.sign(v) * thresholded_sums(np.abs(v), met, A, B)
        v[:] = soft(v, A[-1] - gone)
        k["steps"] += len(eta)

    def _step_sizes(self, state: dict[str, Any], batch: Batch, alpha: float) -> np.ndarray:
        """Return η_t for the steps of a batch."""
        t = times(state, batch)
        if self.schedule == "strong":
            return 1.0 / (alpha * t)
        if self.step_size != "auto":
            return self.step_size / np.sqrt(t)
        scale = batch.mean_norm2()
        eta = _FIRST / (state["slower"] * np.where(scale > 0.0, scale, 1.0) * np.sqrt(t))
        own = (batch.weight * batch.norm2)[batch.order]
        return np.minimum(eta, np.divide(1.0, own, out=np.full(len(own), np.inf), where=own > 0.0))


@compiled
def _l2_steps(X, order, sign, weight, eta, alpha, average, v, u, k):
    # w = c v,  Σ w = S v − u
    c, S = k["scale"], k["sum"]
    for t in range(len(order)):
        i = order[t]
        if sign[i] * c * row_dot(X, i, v) < 1.0:
            # w ← (w + η y x)/(1 + ηα)
            h = eta[t] * weight[i] * sign[i] / c
            row_add(X, i, h, v)
            if average:
                row_add(X, i, h * S, u)
        c /= 1.0 + eta[t] * alpha
        S += c
        if c < FOLD:
            fold(c, S, v, u)
            c, S = 1.0, 0.0
    k["scale"], k["sum"] = c, S
    k["steps"] += len(order)


@compiled
def _l1_steps(X, order, sign, weight, eta, A, B, average, w, u, met, gone):
    # w_j is that of after met_j steps, but for its thresholds since: A_t − gone_j by step t, with
    # gone_j = A_{met_j}. Only a step along the row makes it anew.
    for t in range(len(order)):
        i, m = order[t], 0.0
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            missed = A[t] - gone[j]
            m += x * (max(w[j] - missed, 0.0) + min(w[j] + missed, 0.0))
        if sign[i] * m < 1.0:
            # w ← soft(w + η y x, ηα)
            h = eta[t] * weight[i] * sign[i]
            for k in range(row_size(X, i)):
                j, x = row_entry(X, i, k)
                size, a, last, missed = abs(w[j]), met[j], t, A[t] - gone[j]
                if average and size > 0.0 and a < t:
                    level = size + gone[j]
                    if level <= A[t]:  # it reached 0 on the way
                        last = last_below(level, a, t, A)
                    u[j] -= np.sign(w[j]) * ((last - a) * level - (B[last] - B[a]))
                w[j] = max(w[j] - missed, 0.0) + min(w[j] + missed, 0.0) + h * x
                met[j] = t
                gone[j] = A[t]
