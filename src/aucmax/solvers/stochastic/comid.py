"""COMID: composite objective mirror descent, for the hinge loss.

    w ← prox_{ηΩ}(w − η g),    g = −y x where y w·x < 1, else 0,

the penalty kept whole and the loss linearised: soft(w − ηg, ηα) for l1, (w − ηg)/(1 + ηα) for l2.
"""

from typing import Any

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.penalties import ElasticNet, soft
from aucmax.rows import compiled, row_add, row_dot, row_entry, row_size
from aucmax.solvers.stochastic.hinge import HingeSolver, Pass, last_below, thresholded_sums

__all__ = ["COMID"]

_FIRST = 10.0  # the automatic C, times the mean of ‖x‖²


class COMID(HingeSolver):
    """Composite objective mirror descent: one gradient step on a row, then the penalty's prox.

    Parameters
    ----------
    step_size : float or "auto"
        C of η_t = C/√t. "auto" is 10/(mean of ‖x‖²), and no step moves the margin of its own row
        by more than 1; an epoch of a fit that ends above F(0) is taken back and done again with a
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
    ) -> None:
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.schedule = schedule

    def _check(self, penalty: ElasticNet) -> None:
        super()._check(penalty)
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
    def _chosen_here(self) -> bool:
        return self.schedule != "strong"

    def _step_sizes(self, rows: Pass, t: np.ndarray, alpha: float) -> np.ndarray:
        """Return η_t for the steps numbered t."""
        if self.schedule == "strong":
            return 1.0 / (alpha * t)
        if self.step_size != "auto":
            return self.step_size / np.sqrt(t)
        eta = _FIRST / (rows.slower * np.where(rows.scale > 0.0, rows.scale, 1.0) * np.sqrt(t))
        own = (rows.weight * rows.norm2)[rows.order]
        return np.minimum(eta, np.divide(1.0, own, out=np.full(len(own), np.inf), where=own > 0.0))

    def _steps(self, state: dict[str, Any], rows: Pass, penalty: ElasticNet) -> None:
        eta = self._step_sizes(rows, rows.steps(state), penalty.l2)
        passed = (rows.X, rows.order, rows.sign, rows.weight, eta)
        w, total = state["w"], state["sum"]
        if penalty.l1 > 0.0:
            A = np.concatenate([[0.0], np.cumsum(eta * penalty.l1)])
            B, met, gone = np.cumsum(A), np.zeros(len(w), dtype=np.int64), np.zeros(len(w))
            _l1_steps(*passed, A, B, bool(self.average), w, total, met, gone)
            if self.average:
                total += np.sign(w) * thresholded_sums(np.abs(w), met, A, B)
            w[:] = soft(w, A[-1] - gone)
        else:
            _l2_steps(*passed, penalty.l2, bool(self.average), w, total)


_FOLD = 1e-5  # the average loses this factor of its digits before the scale is folded into v


@compiled
def _l2_steps(X, order, sign, weight, eta, alpha, average, v, u):
    # w = c v;   sum of iterates = S v − u, since Σ_t c_t v_t = S_T v_T − Σ_t S_{t−1}(v_t − v_{t−1})
    for j in range(len(u)):
        u[j] = -u[j]
    c, S = 1.0, 0.0
    for t in range(len(order)):
        i = order[t]
        if sign[i] * c * row_dot(X, i, v) < 1.0:
            # w ← (w + η y x)/(1 + ηα)
            h = eta[t] * weight[i] * sign[i] / c
            row_add(X, i, h, v)
            if average:
                row_add(X, i, h * S, u)
        c /= 1.0 + eta[t] * alpha
        if average:
            S += c
        if c < _FOLD:
            for j in range(len(v)):
                u[j] -= S * v[j]
                v[j] *= c
            c, S = 1.0, 0.0
    for j in range(len(v)):
        u[j] = S * v[j] - u[j]
        v[j] *= c


@compiled
def _l1_steps(X, order, sign, weight, eta, A, B, average, w, total, met, gone):
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
                    total[j] += np.sign(w[j]) * ((last - a) * level - (B[last] - B[a]))
                w[j] = max(w[j] - missed, 0.0) + min(w[j] + missed, 0.0) + h * x
                met[j] = t
                gone[j] = A[t]
