"""RDA: regularized dual averaging, for the hinge loss.

With ḡ the mean of the t gradients so far, each g = −y x where y w·x < 1, else 0,

    w ← argmin_w ḡ·w + Ω(w) + (γ/√t) ½‖w‖²,

which is −(√t/γ) soft(ḡ, α) for l1 and −ḡ/(α + γ/√t) for l2.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from aucmax.data.rows import compiled, fetch_ahead, row_entry, row_size
from aucmax.objective.penalties import Penalty, soft
from aucmax.solvers.stochastic.core import State
from aucmax.solvers.stochastic.hinge import HingeSolver, left
from aucmax.solvers.stochastic.samples import Batch, Classes
from aucmax.solvers.stochastic.scaled import times

__all__ = ["RDA"]

_AUTOMATIC_GAMMA = 0.1  # the automatic γ divided by the mean of ‖x‖²


class _Betas(NamedTuple):
    """β_t + tα for the steps ``first``, ``first`` + 1, …, and the sums P of 1/β and Q of t/β."""

    beta: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    first: float


class RDA(HingeSolver):
    """Regularized dual averaging: w from the mean of all gradients so far.

    Parameters
    ----------
    gamma : float or "auto"
        γ in β_t = γ√t, the strength of ½‖w‖² after t steps. "auto" is a tenth of the mean of ‖x‖².
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The paper uses ``order="random"``.

    Notes
    -----
    With G the sum of the gradients, w_j = −soft(G_j, tα)/β_t for l1 and −G_j/(tα + β_t) for l2.
    With l1 the last iterate is sparse: the threshold on the mean gradient is α itself, not η_t α as
    in a proximal step. ``warm_start`` begins with the G for which the first step gives the start.

    References
    ----------
    Xiao (2010), "Dual averaging methods for regularized stochastic learning and online
    optimization", JMLR 11. Tao, Gao, Chu & Wu (2014), "Stochastic learning via optimizing the
    variational inequalities", IEEE TNNLS 25(10).
    """

    name = "rda"
    step_setting = "gamma"
    step_remedy = "raise"

    def __init__(
        self,
        gamma: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.gamma = gamma

    def begin(self, d: int, penalty: Penalty) -> State:
        # the sum of the gradients, and β_t + tα
        return super().begin(d, penalty) | {"G": np.zeros(d), "beta": np.zeros(1)}

    def place(self, state: State, start: np.ndarray, penalty: Penalty, classes: Classes) -> None:
        scale = classes.square.sum() / classes.mass.sum()
        beta = self._betas(state, np.ones(1), scale if scale > 0.0 else 1.0, penalty.l2)
        state["G"][:] = -(beta * start + penalty.l1 * np.sign(start))
        state["v"][:], state["beta"][:] = start, beta

    def _betas(self, state: State, t: np.ndarray, scale: Any, alpha: float) -> np.ndarray:
        """Return β_t + tα for the steps t; ``scale`` is the mean of ‖x‖² up to each step."""
        step = self.given_step()
        gamma = _AUTOMATIC_GAMMA * state["slower"] * scale if step is None else step
        return gamma * np.sqrt(t) + alpha * t

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        G, u, first, t = state["G"], state["u"], float(state["k"][0]["steps"]), times(state, batch)
        beta = self._betas(state, t, batch.mean_norm2(), penalty.l2)
        before = state["beta"] if first > 0.0 else beta[:1]
        beta = np.maximum.accumulate(np.concatenate([before, beta]))
        P = np.concatenate([[0.0], np.cumsum(1.0 / beta[1:])])
        Q = np.concatenate([[0.0], np.cumsum(t / beta[1:])])
        betas = _Betas(beta, P, Q, first)
        met, average = np.zeros(len(G), dtype=np.int64), bool(self.average)
        _steps(batch.visits, betas, penalty.l1, average, G, u, met)
        if average:
            u -= _sums(G, met, betas, penalty.l1)
        state["v"][:], state["beta"][0] = -soft(G, penalty.l1 * t[-1]) / beta[-1], beta[-1]
        state["k"][0]["steps"] += len(t)


def _sums(G: np.ndarray, met: np.ndarray, betas: _Betas, alpha: float) -> np.ndarray:
    """Return Σ −soft(G, (first + s)α)/β_s over s = met+1, … to the end of P."""
    _, P, Q, first = betas
    size, end = np.abs(G), np.full(len(G), len(P) - 1)
    gone = size < alpha * (first + end)  # 0 from some step on
    if gone.any():
        end[gone] = np.maximum(met[gone], np.ceil(size[gone] / alpha - first) - 1.0)
    return -np.sign(G) * (size * (P[end] - P[met]) - alpha * (Q[end] - Q[met]))


@compiled
def _steps(visits, betas, alpha, average, G, u, met):
    # w_j = −soft(G_j, tα)/β_t; the sum of iterates includes coordinate j up to step met_j; P and Q
    # are the sums of 1/β and t/β. Initially G is 0, or the G that gives the start.
    X, order, rows = visits
    beta, P, Q, first = betas
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i, m, threshold = order[t], 0.0, alpha * max(first + t, 1.0)
        for k in range(row_size(X, i)):
            j, x = row_entry(X, i, k)
            m -= x * left(G[j], threshold)
        y = rows[i]["sign"]
        if y * m < beta[t]:
            h = rows[i]["weight"] * y
            for k in range(row_size(X, i)):
                j, x = row_entry(X, i, k)
                if average:
                    size, a, end = abs(G[j]), met[j], t
                    if size < alpha * (first + t):  # w_j is 0 from some step on
                        end = max(a, np.int64(np.ceil(size / alpha - first)) - 1)
                    if end > a:
                        past = size * (P[end] - P[a]) - alpha * (Q[end] - Q[a])
                        u[j] += np.sign(G[j]) * past
                    met[j] = t
                G[j] -= h * x
