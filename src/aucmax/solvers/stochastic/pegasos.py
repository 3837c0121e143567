"""Pegasos: the primal sub-gradient solver of the support vector machine.

    w ← (1 − ηα) w + η y x where y w·x < 1, else (1 − ηα) w,    η_t = 1/(αt),

and then, with ``project``, the projection of w onto the ball of radius 1/√α, which contains the
optimum of F(w) = mean hinge + (α/2)‖w‖². The papers' λ is α, or α/2 where the penalty is λ‖w‖².
"""

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import compiled, fetch_ahead, row_add, row_dot
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.core import State
from aucmax.solvers.stochastic.hinge import HingeSolver
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import MIN_SCALE, fold, scaled_add, squared, times

__all__ = ["Pegasos"]


class Pegasos(HingeSolver):
    """Stochastic sub-gradient steps of size 1/(αt) on the l2-regularised hinge loss.

    Requires ``alpha`` > 0 and ``l1_ratio=0``.

    Parameters
    ----------
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The paper uses ``order="random"``.
    project : bool
        Keep w in the ball ‖w‖ ≤ 1/√α.
    t0 : float or "auto"
        η_t = 1/(α(t + t0)). "auto" is 0, as published: the first steps, of length ‖x‖/α, forget the
        start, and with a small α and few rows a fit may end above F(0). Then the fit starts again
        with (mean of ‖x‖²)/α, so that the first step is 1/(mean of ‖x‖²), and multiplies this t0 by
        four as often as necessary.

    Notes
    -----
    ‖w‖ is a single number that each step updates.

    References
    ----------
    Shalev-Shwartz, Singer, Srebro & Cotter (2011), "Pegasos: primal estimated sub-gradient solver
    for SVM", Mathematical Programming 127.
    """

    name = "pegasos"
    step_setting = "t0"
    step_remedy = "raise"

    def __init__(
        self,
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        project: bool = True,
        t0: float | str = "auto",
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.project = project
        self.t0 = t0

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, single=True, loss=("kinked",), penalty="l2", data=("rows",))

    def check_penalty(self, penalty: Penalty) -> None:
        if self.t0 != "auto":
            number(self.t0, "t0")
        if not penalty.l2 > 0.0:
            raise ValueError("Pegasos has steps 1/(αt) and needs alpha > 0.")

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        self.check_penalty(penalty)
        alpha, k = penalty.l2, state["k"][0]
        t = times(state, batch)
        if self.t0 != "auto":
            t = t + self.t0
        elif state["slower"][0] > 1.0:
            t = t + 0.25 * state["slower"] * batch.mean_norm2() / alpha
        radius = alpha**-0.5 if self.project else np.inf
        settings = (alpha, radius, bool(self.average))
        _steps(batch.visits, t, settings, state["v"], state["u"], k)


@compiled
def _steps(visits, times, settings, v, u, k):
    # w = c v,  Σ w = S v − u,  vv = ‖v‖²
    X, order, rows = visits
    alpha, R, average = settings
    c, S, vv = k["scale"], k["sum"], squared(v)
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i = order[t]
        vx = row_dot(X, i, v)
        y = rows[i]["sign"]
        short = y * c * vx < 1.0
        # w ← (1 − ηα) w, with ηα = 1/t
        c *= 1.0 - 1.0 / times[t]
        if c < MIN_SCALE:
            fold(c, S, v, u)
            vx, c, S, vv = c * vx, 1.0, 0.0, squared(v)
        if short:
            # w ← w + η y x
            h = rows[i]["weight"] * y / (alpha * times[t] * c)
            if average:
                scaled_add(X, i, h, S, v, u)
            else:
                row_add(X, i, h, v)
            vv += h * (2.0 * vx + h * rows[i]["norm2"])
        if c * c * vv > R * R:
            c = R / np.sqrt(vv)
        S += c
    k["scale"], k["sum"] = c, S
    k["steps"] += len(order)
