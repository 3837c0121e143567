"""OAM: online AUC maximization, each row against a reservoir of the other class.

The row x_t of class y enters the reservoir of its class and is paired with the rows x_i in the
reservoir B of the other class. If N rows of the other class have been seen so far,

    C_t = C max(1, N/|B|),

so that the pairs of a full reservoir represent all N. In the sequential update each pair in turn
gives a passive-aggressive step,

    w ← w + τ y (x_t − x_i),    τ = min(C_t/2, max(0, 1 − y w·(x_t − x_i))/‖x_t − x_i‖²);

in the gradient update all pairs give one step from the same w,

    w ← w + ½ C_t Σ_i 1[y w·(x_t − x_i) ≤ 1] y (x_t − x_i).
"""

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import allocating, compiled, n_rows, row_add, row_dot
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import ElasticNet, Penalty
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.samples import Batch, Visits, records
from aucmax.solvers.stochastic.scaled import numbers
from aucmax.statistics.reservoir import in_front, kept_rows, slots, valid_rows

__all__ = ["OAM"]

# the two updates, and c of their automatic C
_UPDATES = {"sequential": 32.0, "gradient": 16.0}


class _Reservoirs(NamedTuple):
    """The slot that each step's row enters, or −1, and the rows in the slots, shape (2, m)."""

    slot: np.ndarray
    rows: np.ndarray


class _Met(NamedTuple):
    """Sums over the rows seen, by class: their number, Σ weight, Σ weight ‖x‖², Σ weight x."""

    met: np.ndarray
    met_mass: np.ndarray
    met_square: np.ndarray
    met_total: np.ndarray


class OAM(StochasticSolver):
    """Online AUC maximization: steps on the pairs of a row and a sample of the other class.

    It minimises the sum over pairs of the hinge max(0, 1 − y w·(x_t − x_i)), without a penalty; C
    limits how far one row may move w. ``objective_`` is half the mean hinge of all pairs.

    Parameters
    ----------
    update : {"sequential", "gradient"}
        The paper's two updates: a passive-aggressive step on each pair in turn, or one step along
        the sum of the pairs' gradients.
    C : float or "auto"
        C, the same at every step. "auto" is c/(κ √t max(∣B∣, N)) at step t: κ is the mean squared
        distance of the rows seen so far to the earlier rows of the other class; c is 32, but 16
        for the gradient update, which does not stop at a pair's margin.
    buffer_size : int
        Number of rows to keep of each class.
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. N and the reservoirs carry over from one epoch
        to the next. As published, the last iterate is returned.

    Notes
    -----
    A step takes two or three products with each row of the reservoir, over its stored entries
    only. The sample weights of both rows multiply a pair's C_t; N counts rows.

    Leave the estimator's ``alpha`` and ``l1_ratio`` at their defaults, and its ``loss`` at "square"
    or "hinge"; OAM does not use them.

    References
    ----------
    Zhao, Hoi, Jin & Yang (2011), "Online AUC maximization", ICML.
    """

    name = "oam"
    own: ClassVar = {"loss": "the pairwise hinge", "alpha": "C", "l1_ratio": "C"}
    step_setting = "C"
    origin_remedy = None  # it sees only differences of rows
    slack = 0.1  # on rows without signal the last iterate may be slightly above J(0)

    def __init__(
        self,
        update: str = "sequential",
        C: float | str = "auto",
        buffer_size: int = 100,
        n_epochs: int = 1,
        order: str = "shuffle",
        average: bool = False,
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.update = update
        self.C = C
        self.buffer_size = buffer_size

    def unfit(self, objective: Objective) -> str | None:
        return lacking(
            objective, loss=("quadratic", "kinked"), penalty="elastic net", data=("rows",)
        )

    def own_objective(self, objective: Objective) -> Objective:
        return Objective(objective.problem, LOSSES["hinge"], ElasticNet(0.0, 0.0))

    def begin(self, d: int, penalty: Penalty) -> State:
        number(self.buffer_size, "buffer_size", low=1, whole=True)
        return {
            "met": np.zeros(2),
            # over the rows seen: Σ weight, Σ weight ‖x‖², Σ weight x
            "met_mass": np.zeros(2),
            "met_square": np.zeros(2),
            "met_total": np.zeros((2, d)),
            "kept": {"dense": np.zeros((0, d))},
            "kept_weight": np.zeros(0),
            "w": np.zeros(d),
            "u": np.zeros(d),
            "k": numbers("kappa", "steps"),
        }

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        if self.update not in _UPDATES:
            raise ValueError(f"update must be 'sequential' or 'gradient'; got {self.update!r}.")
        # one matrix holds the reservoirs' rows, then new ones; the reservoirs hold row numbers
        filled, unit = self._filled(state), batch.unit
        n_kept, n = int(filled.sum()), n_rows(batch.X)
        if n_kept != len(state["kept_weight"]):
            raise ValueError("buffer_size cannot change between calls of partial_fit.")
        X = in_front(state["kept"], batch.X)
        sign = np.concatenate([np.repeat([1.0, -1.0], filled), batch.sign])
        weight = np.concatenate([state["kept_weight"] / unit, batch.weight])
        rows = records(X, sign, weight) if n_kept else batch.rows
        buffer = np.zeros((2, min(self.buffer_size, n_kept + n)), dtype=np.int64)
        buffer[0, : filled[0]] = np.arange(filled[0])
        buffer[1, : filled[1]] = np.arange(filled[0], n_kept)
        order = n_kept + batch.order

        C = self.given_step() or 0.0
        c = _UPDATES[self.update] / float(state["slower"][0])
        settings = (C, c, unit, self.update == "gradient", bool(self.average))
        slot = slots(sign[order], state["met"], self.buffer_size, rng)
        met = _Met(*(state[name] for name in _Met._fields))
        visits, reservoirs = Visits(X, order, rows), _Reservoirs(slot, buffer)
        _steps(visits, reservoirs, settings, met, state["w"], state["u"], state["k"][0])

        filled = self._filled(state)
        positions = np.concatenate([buffer[0, : filled[0]], buffer[1, : filled[1]]])
        state["kept"], state["kept_weight"] = kept_rows(X, positions), unit * weight[positions]

    def _filled(self, state: State) -> np.ndarray:
        """Return the number of rows in the reservoir of each class."""
        return np.minimum(state["met"], float(self.buffer_size)).astype(np.int64)

    def current(self, state: State) -> np.ndarray:
        if self.average and state["k"][0]["steps"] > 0.0:
            return state["w"] - state["u"] / state["k"][0]["steps"]
        return state["w"]

    def check_steps(self, state: State, d: int, penalty: Penalty) -> None:
        super().check_steps(state, d, penalty)
        if not valid_rows(state["kept"], len(state["kept_weight"]), d):
            raise ValueError("the rows that OAM keeps are inconsistent.")


@compiled
def _add_pairs(X, t, pairs, h, H, factor, out):
    """Add ``factor`` times Σ h_i (x_t − x_i) to ``out``, with H = Σ h_i."""
    for j in range(len(pairs)):
        if h[j] != 0.0:
            row_add(X, pairs[j], -h[j] * factor, out)
    row_add(X, t, H * factor, out)


@compiled
def _gradient_update(visits, t, pairs, cap, h, w):
    """Take the step along the sum of the pairs' gradients; set h, and return H = Σ h_i."""
    X, _, rows = visits
    y, a, H = rows[t]["sign"], row_dot(X, t, w), 0.0
    for j in range(len(pairs)):
        i = pairs[j]
        h[j] = 0.0
        if y * (a - row_dot(X, i, w)) <= 1.0:
            h[j] = cap * rows[i]["weight"] * y
            H += h[j]
    _add_pairs(X, t, pairs, h, H, 1.0, w)
    return H


@compiled
def _sequential_update(visits, t, pairs, cap, h, z, w):
    """Take a passive-aggressive step on each pair; set h, and return H. z is 0 before and after."""
    X, _, rows = visits
    y, a, H = rows[t]["sign"], row_dot(X, t, w), 0.0  # a = w·x_t
    row_add(X, t, 1.0, z)
    for j in range(len(pairs)):
        i = pairs[j]
        h[j] = 0.0
        loss = 1.0 - y * (a - row_dot(X, i, w))
        if loss <= 0.0:
            continue
        xx = row_dot(X, i, z)
        away2 = rows[t]["norm2"] + rows[i]["norm2"] - 2.0 * xx
        if away2 <= 0.0:
            continue
        h[j] = min(cap * rows[i]["weight"], loss / away2) * y
        H += h[j]
        row_add(X, t, h[j], w)
        row_add(X, i, -h[j], w)
        a += h[j] * (rows[t]["norm2"] - xx)
    row_add(X, t, -1.0, z)
    return H


@allocating
def _steps(visits, reservoirs, settings, classes, w, u, k):
    # h_i is what a step adds to w along x_t − x_i
    # sum of iterates = T w − u, since Σ_t w_t = T w_T − Σ_t (t−1)(w_t − w_{t−1})
    X, order, rows = visits
    slot, B = reservoirs
    C, c, unit, gradient, average = settings
    met, mass, square, total = classes
    size, steps, h, z = B.shape[1], k["steps"], np.empty(B.shape[1]), np.zeros(len(w))
    for s in range(len(order)):
        t = order[s]
        q, weight, norm2 = 0 if rows[t]["sign"] > 0 else 1, rows[t]["weight"], rows[t]["norm2"]
        o = 1 - q
        met[q] += 1.0
        q_t = unit * weight
        mass[q] += q_t
        square[q] += q_t * norm2
        row_add(X, t, q_t, total[q])
        if slot[s] >= 0:
            B[q, slot[s]] = t
        if met[o] == 0.0:
            continue
        m = min(size, np.int64(met[o]))
        steps += 1.0
        C_t = C * max(1.0, met[o] / m)
        if C == 0.0:
            # the mean of ‖x_t − x‖² over the other class, with the weights of the pairs
            away2 = norm2 + (square[o] - 2.0 * row_dot(X, t, total[o])) / mass[o]
            k["kappa"] += q_t * mass[o] / met[o] * max(away2, 0.0)
            kappa = k["kappa"] / (steps * unit * unit)
            C_t = c / (kappa * np.sqrt(steps) * m) if kappa > 0.0 else 0.0
        pairs, cap = B[o, :m], 0.5 * C_t * weight
        if gradient:
            H = _gradient_update(visits, t, pairs, cap, h, w)
        else:
            H = _sequential_update(visits, t, pairs, cap, h, z, w)
        if average:
            _add_pairs(X, t, pairs, h, H, steps - 1.0, u)
    k["steps"] = steps
