"""OAM: online AUC maximization, each row against a reservoir of the other class.

The row x_t of class y enters its class's reservoir and meets the rows x_i in that of the other
class, B. With N rows of the other class met so far,

    C_t = C max(1, N/|B|),

so that the pairs of a full reservoir stand for all N. In the sequential update each pair in turn
is a passive-aggressive step,

    w ← w + τ y (x_t − x_i),    τ = min(C_t/2, max(0, 1 − y w·(x_t − x_i))/‖x_t − x_i‖²);

in the gradient update all pairs are taken at the same w,

    w ← w + ½ C_t Σ_i 1[y w·(x_t − x_i) ≤ 1] y (x_t − x_i).
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import Rows, compiled, n_rows, products, row_add, row_dot
from aucmax.solvers.stochastic.core import Sampler, StochasticSolver
from aucmax.statistics.reservoir import in_front, kept_rows, sampled, slots, whole

__all__ = ["OAM"]

_RETRIES = 6  # times the automatic C may be quartered
# the two updates, and c of their automatic C
_UPDATES = {"sequential": 32.0, "gradient": 16.0}


class OAM(StochasticSolver):
    """Online AUC maximization: steps on the pairs of a row with a sample of the other class.

    It minimises the sum over pairs of the hinge max(0, 1 − y w·(x_t − x_i)) without a penalty; C
    says how far one row may move w. ``objective_`` is ½ · mean over all pairs of that hinge.

    Parameters
    ----------
    update : {"sequential", "gradient"}
        The paper's two: a passive-aggressive step on each pair in turn, or one step along the sum
        of the pairs' gradients.
    C : float or "auto"
        C, the same at every step. "auto" is c/(κ √t max(|B|, N)) at step t, so that the steps
        become shorter like 1/√t; κ is the mean squared distance of the rows met so far to those
        of the other class met before them, and c is 32, but 16 for the gradient update, which
        does not stop at a pair's margin. Quartered while the first epoch of a fit ends above J(0).
    buffer_size : int
        Rows kept of each class.
    n_epochs : int
        Passes over the rows; N and the reservoirs go on from one to the next.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement.
    average : bool
        Return the mean of all iterates; else the last, as published.

    Notes
    -----
    A step costs two or three products with each row of the reservoir, and touches the non-zeros
    of these rows only. Sparse rows are kept sparse.

    With sample weights a pair's C_t is multiplied by the weights of both rows; N counts rows.

    On rows that hold no signal the last iterate may lie a little above J(0) after several epochs:
    only 10 % above counts as divergence.

    The estimator's ``alpha`` and ``l1_ratio`` stay at their defaults, and its ``loss`` is "square"
    (the default) or "hinge"; none of them enters.

    ``partial_fit`` takes the steps of ``fit``: any division of the rows gives one cyclic pass.
    After a fit the reservoirs are drawn anew from its rows.

    References
    ----------
    Zhao, Hoi, Jin & Yang (2011), "Online AUC maximization", ICML.
    """

    name = "oam"
    losses = ("hinge",)
    takes_l1 = False
    own: ClassVar = {"loss": "the pairwise hinge", "alpha": "C", "l1_ratio": "C"}
    step_setting = "C"
    slack = 0.1

    def __init__(
        self,
        update: str = "sequential",
        C: float | str = "auto",
        buffer_size: int = 100,
        n_epochs: int = 1,
        order: str = "shuffle",
        average: bool = False,
    ) -> None:
        self.update = update
        self.C = C
        self.buffer_size = buffer_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average

    def own_objective(self, objective: Objective) -> Objective:
        return Objective(objective.problem, LOSSES["hinge"], ElasticNet(0.0, 0.0))

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float]]:
        number(self.n_epochs, "n_epochs", low=1, whole=True)
        n, slower, wasted = problem.n_samples, 1.0, 0
        most = n * min(self.n_epochs, max_iter)  # no reservoir can hold more
        state, buffer = self._fresh(objective, start, most)
        X, norm2 = problem.rows(), products.row_norms2(problem.rows())
        sampler = Sampler(n, self.order, rng)
        for epoch in range(min(self.n_epochs, max_iter)):
            while True:
                order = sampler.take(n)
                rows = (X, order, problem.sign, problem.weight, norm2)
                self._run(state, buffer, *rows, slower, rng)
                w = self.current(state).copy()
                if epoch > 0 or self.C != "auto" or wasted == _RETRIES:
                    break
                if objective.value(w) <= objective.value(np.zeros(len(w))):
                    break
                # the automatic C was too large for these rows: begin again
                slower, wasted = 4.0 * slower, wasted + 1
                state, buffer = self._fresh(objective, start, most)
            yield w, epoch + 1.0 + wasted

    def _fresh(
        self, objective: Objective, start: np.ndarray | None, most: int
    ) -> tuple[dict[str, Any], np.ndarray]:
        """Return the state at ``start`` and the row numbers (2, size) of empty reservoirs."""
        state = self.begin(objective.problem.n_features, objective.penalty)
        if start is not None:
            state["w"][:] = start
        return state, np.zeros((2, min(self.buffer_size, most)), dtype=np.int64)

    def _run(
        self,
        state: dict[str, Any],
        buffer: np.ndarray,
        X: Rows,
        order: np.ndarray,
        sign: np.ndarray,
        weight: np.ndarray,
        norm2: np.ndarray,
        slower: float,
        rng: np.random.RandomState,
    ) -> None:
        """Take the steps in this order; ``slower`` divides the automatic C."""
        if self.update not in _UPDATES:
            raise ValueError(f"update must be 'sequential' or 'gradient'; got {self.update!r}.")
        C = 0.0 if self.C == "auto" else float(number(self.C, "C", open_low=True))
        slot = slots(sign[order], state["met"], self.buffer_size, rng)
        rows = (X, order, sign, weight, norm2, slot, buffer)
        c = _UPDATES[self.update] / slower
        settings = (C, c, self.update == "gradient", bool(self.average))
        seen = (state["met"], state["mass"], state["square"], state["total"])
        work = (np.empty(buffer.shape[1]), np.zeros(len(state["w"])))
        _steps(*rows, *settings, *seen, *work, state["w"], state["u"], state["k"])

    # ---- partial_fit -----------------------------------------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        number(self.buffer_size, "buffer_size", low=1, whole=True)
        return {
            "met": np.zeros(2),
            "mass": np.zeros(2),
            "square": np.zeros(2),
            "total": np.zeros((2, n_features)),
            "kept": {"dense": np.zeros((0, n_features))},
            "kept_weight": np.zeros(0),
            "w": np.zeros(n_features),
            "u": np.zeros(n_features),
            "k": np.zeros(3),
        }

    def check_steps(self, state: dict[str, Any], n_features: int, penalty: ElasticNet) -> None:
        super().check_steps(state, n_features, penalty)
        if not whole(state["kept"], len(state["kept_weight"]), n_features):
            raise ValueError("the rows that OAM keeps do not fit together.")

    def resume(
        self, problem: MemoryProblem, penalty: ElasticNet, coef: np.ndarray, n_iter: int
    ) -> dict[str, Any]:
        state = super().resume(problem, penalty, coef, n_iter)
        weight, norm2 = problem.unit * problem.weight, products.row_norms2(problem.X)
        chosen, rng = [], np.random.RandomState(0)
        for k, label in enumerate((1.0, -1.0)):
            members = np.flatnonzero(problem.sign == label)
            state["met"][k] = n_iter * len(members)
            state["square"][k] = n_iter * (weight[members] @ norm2[members])
            passes = np.tile(members, min(n_iter, -(-self.buffer_size // len(members))))
            chosen.append(sampled(passes, self.buffer_size, rng))
        state["mass"] *= n_iter
        state["total"] *= n_iter
        where = np.concatenate(chosen)
        state["kept"], state["kept_weight"] = kept_rows(problem.X, where), weight[where]
        # κ: every row to the whole of the other class, its mean over all pairs
        mean_weight = state["mass"] / state["met"]
        distance = _mean_distance(state["mass"], state["square"], state["total"])
        state["k"][_KAPPA] = mean_weight.prod() * distance * state["k"][_STEPS]
        return state

    def place(self, state: dict[str, Any], coef: np.ndarray, steps: int) -> None:
        state["w"][:], state["k"][_STEPS] = coef, steps

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        # the reservoirs' rows and then the new ones are one matrix; the reservoirs are row numbers
        filled = np.minimum(state["met"], float(self.buffer_size)).astype(np.int64)
        kept, n = int(filled.sum()), n_rows(X)
        if kept != len(state["kept_weight"]):
            raise ValueError("buffer_size cannot change between calls of partial_fit.")
        rows = in_front(state["kept"], X)
        buffer = np.zeros((2, min(self.buffer_size, kept + n)), dtype=np.int64)
        buffer[0, : filled[0]] = np.arange(filled[0])
        buffer[1, : filled[1]] = np.arange(filled[0], kept)
        order = kept + Sampler(n, self.order, rng).take(n)
        sign = np.concatenate([np.repeat([1.0, -1.0], filled), sign])
        weight = np.concatenate([state["kept_weight"], weight])
        self._run(state, buffer, rows, order, sign, weight, products.row_norms2(rows), 1.0, rng)
        filled = np.minimum(state["met"], float(self.buffer_size)).astype(np.int64)
        where = np.concatenate([buffer[0, : filled[0]], buffer[1, : filled[1]]])
        state["kept"], state["kept_weight"] = kept_rows(rows, where), weight[where]

    def current(self, state: dict[str, Any]) -> np.ndarray:
        k = state["k"]
        if self.average and k[_AVERAGED] > 0.0:
            return state["w"] - state["u"] / k[_AVERAGED]
        return state["w"]


def _mean_distance(mass: np.ndarray, square: np.ndarray, total: np.ndarray) -> float:
    """Return the mean over pairs of ‖x − x′‖²."""
    between = 2.0 * float(total[0] @ total[1]) / (mass[0] * mass[1])
    return max(float(np.sum(square / mass)) - between, 0.0)


# where in k: the sum of the squared distances whose mean is κ, the steps taken, and how many of
# them the average holds
_KAPPA, _STEPS, _AVERAGED = range(3)


@compiled
def _steps(
    X, order, sign, weight, norm2, slot, B, C, c, gradient, average, met, mass, square, total, h,
    z, w, u, k,
):  # fmt: skip
    # h_i is what a step adds to w along x_t − x_i; z is zero between steps.
    # sum of iterates = T w − u, since Σ_t w_t = T w_T − Σ_t (t−1)(w_t − w_{t−1})
    size = B.shape[1]
    for s in range(len(order)):
        t = order[s]
        y = sign[t]
        q = 0 if y > 0 else 1
        o = 1 - q
        met[q] += 1.0
        mass[q] += weight[t]
        square[q] += weight[t] * norm2[t]
        row_add(X, t, weight[t], total[q])
        if slot[s] >= 0:
            B[q, slot[s]] = t
        if met[o] == 0.0:
            continue
        m = min(size, np.int64(met[o]))
        k[1] += 1.0
        C_t = C * max(1.0, met[o] / m)
        if C == 0.0:
            # the mean of ‖x_t − x‖² over the other class, with the weights of the pairs
            away2 = norm2[t] + (square[o] - 2.0 * row_dot(X, t, total[o])) / mass[o]
            k[0] += weight[t] * mass[o] / met[o] * max(away2, 0.0)
            kappa = k[0] / k[1]
            C_t = c / (kappa * np.sqrt(k[1]) * m) if kappa > 0.0 else 0.0
        # a = w·x_t, H = Σ h_i
        a, H = row_dot(X, t, w), 0.0
        if gradient:
            for j in range(m):
                i = B[o, j]
                h[j] = 0.0
                if y * (a - row_dot(X, i, w)) <= 1.0:
                    h[j] = 0.5 * C_t * weight[t] * weight[i] * y
                    H += h[j]
            for j in range(m):
                if h[j] != 0.0:
                    row_add(X, B[o, j], -h[j], w)
            row_add(X, t, H, w)
        else:
            row_add(X, t, 1.0, z)
            for j in range(m):
                i = B[o, j]
                h[j] = 0.0
                loss = 1.0 - y * (a - row_dot(X, i, w))
                if loss <= 0.0:
                    continue
                xx = row_dot(X, i, z)
                away2 = norm2[t] + norm2[i] - 2.0 * xx
                if away2 <= 0.0:
                    continue
                tau = min(0.5 * C_t * weight[t] * weight[i], loss / away2)
                h[j] = tau * y
                H += h[j]
                row_add(X, t, h[j], w)
                row_add(X, i, -h[j], w)
                a += h[j] * (norm2[t] - xx)
            row_add(X, t, -1.0, z)
        if average:
            for j in range(m):
                if h[j] != 0.0:
                    row_add(X, B[o, j], -h[j] * k[2], u)
            row_add(X, t, H * k[2], u)
            k[2] += 1.0
