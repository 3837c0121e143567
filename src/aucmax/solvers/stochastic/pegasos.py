"""Pegasos: the primal sub-gradient solver of the support vector machine.

    w ← (1 − ηα) w + η y x where y w·x < 1, else (1 − ηα) w,    η_t = 1/(αt),

and then, if asked, the projection of w onto the ball of radius 1/√α, in which the optimum of
F(w) = mean hinge + (α/2)‖w‖² lies. The papers' λ is α, or α/2 where the penalty is λ‖w‖².
"""

from typing import Any

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.rows import compiled, row_add, row_dot
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.hinge import HingeSolver
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import FOLD, fold, times

__all__ = ["Pegasos"]


class Pegasos(HingeSolver):
    """Stochastic sub-gradient steps of size 1/(αt) on the l2-regularised hinge loss.

    Parameters
    ----------
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement as published.
    average : bool
        Return the mean of all iterates; else the last.
    project : bool
        Keep w in the ball ‖w‖ ≤ 1/√α.
    t0 : float or "auto"
        η_t = 1/(α(t + t0)). "auto" is 0, as published; an epoch of a fit that ends above F(0), as
        the first steps, of length ‖x‖/α, may bring about where α is small and the rows are few, is
        undone and repeated with (mean of ‖x‖²)/α, with which the first step is
        1/(mean of ‖x‖²), and with four times that while it must.
    tol : float, optional
        Optimality to stop at, measured after each epoch; None never does.

    Notes
    -----
    A step touches only the row's stored entries: w is kept as a scale times a vector, its norm as
    one number, and the average by one more sparse vector.

    Takes l2 alone (``l1_ratio=0``) and ``alpha`` > 0. Sample weights multiply the gradient. With
    t0 = 0 the first step forgets where it started. ``partial_fit`` takes the steps of ``fit``: any
    division of the rows gives one cyclic pass with the same t0.

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
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.project = project
        self.t0 = t0
        self.tol = tol

    def unfit(self, objective: Objective) -> str | None:
        return lacking(
            objective, single=True, loss=("kinked",), differentiable=True, data=("rows",)
        )

    def check_penalty(self, penalty: ElasticNet) -> None:
        if self.t0 != "auto":
            number(self.t0, "t0")
        if not penalty.l2 > 0.0:
            raise ValueError("Pegasos has steps 1/(αt) and needs alpha > 0.")

    def step(
        self, state: dict[str, Any], batch: Batch, penalty: ElasticNet, rng: np.random.RandomState
    ) -> None:
        self.check_penalty(penalty)
        alpha, k = penalty.l2, state["k"][0]
        t = times(state, batch)
        if self.t0 != "auto":
            t = t + self.t0
        elif state["slower"][0] > 1.0:
            t = t + 0.25 * state["slower"] * batch.mean_norm2() / alpha
        radius = alpha**-0.5 if self.project else np.inf
        rows = (batch.X, batch.order, batch.sign, batch.weight, batch.norm2)
        _steps(*rows, t, alpha, radius, bool(self.average), state["v"], state["u"], k)


@compiled
def _steps(X, order, sign, weight, norm2, times, alpha, R, average, v, u, k):
    # w = c v,  Σ w = S v − u;  vv = ‖v‖² is carried along, and made anew with the fold
    c, S, vv = k["scale"], k["sum"], 0.0
    for j in range(len(v)):
        vv += v[j] * v[j]
    for t in range(len(order)):
        i = order[t]
        vx = row_dot(X, i, v)
        short = sign[i] * c * vx < 1.0
        # w ← (1 − ηα) w, with ηα = 1/t
        c *= 1.0 - 1.0 / times[t]
        if c < FOLD:
            fold(c, S, v, u)
            vx, c, S, vv = c * vx, 1.0, 0.0, 0.0
            for j in range(len(v)):
                vv += v[j] * v[j]
        if short:
            # w ← w + η y x
            h = weight[i] * sign[i] / (alpha * times[t] * c)
            row_add(X, i, h, v)
            vv += h * (2.0 * vx + h * norm2[i])
            if average:
                row_add(X, i, h * S, u)
        if c * c * vv > R * R:
            c = R / np.sqrt(vv)
        S += c
    k["scale"], k["sum"] = c, S
    k["steps"] += len(order)
