"""Online learners with a univariate loss: single rows instead of pairs, with balanced classes.

With n_y the number of rows of class y, the row (x, y) has the weight n/(2 n_y), so that both
classes have the same weight, and a step is

    w ← (w − η n/(2 n_y) ∇ℓ(y w·x)) / (1 + ηα),

a stochastic proximal step on F(w) = balanced mean of ℓ(y w·x) + (α/2)‖w‖², where ℓ(t) is
exp(−t), (1 − t)² or log(1 + exp(−t)).
"""

from typing import ClassVar

import numpy as np
from numpy.random import RandomState

from aucmax.data.rows import compiled, fetch_ahead, row_add, row_dot
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import UNIVARIATE_LOSSES, UnivariateLoss, bend1, derivative1
from aucmax.objective.penalties import Penalty
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import MIN_SCALE, fold, scaled, scaled_add, times

__all__ = ["UnivariateSGD"]

_LOSSES = ("exp", "square", "logistic")


class UnivariateSGD(StochasticSolver):
    """Stochastic proximal gradient on a class-balanced loss of single rows.

    It minimises F(w) = balanced mean of ℓ(y w·x) + (α/2)‖w‖² instead of J, and ``objective_`` is F.
    Minimising the exponential or the logistic F also ranks, as the paper shows.

    Parameters
    ----------
    loss : {"exp", "square", "logistic"}
        ℓ(t) = exp(−t), (1 − t)² or log(1 + exp(−t)).
    step_size : float or "auto"
        C in η_t = C/√t. "auto" is 4/L, where L is the balanced mean of ‖x‖²ℓ″(0), the curvature of
        one row at w = 0. But no step is longer than the Newton step for its own row, 1/(‖x‖²ℓ″)
        divided by the row's weight (for "logistic" with the largest ℓ″), which keeps the
        exponential loss from overshooting.
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`.

    Notes
    -----
    The loss has no intercept; the estimator computes one afterwards, as always. If all features are
    positive (neither centred nor sparse), the margins of one class therefore start on the wrong
    side, and a pairwise loss, which sees only differences, learns faster. Far from the origin, no
    step that is safe for a row changes the differences much: a fit warns, and centring helps.

    On rows without signal F may end slightly above F(0): only more than 2 % counts as divergence.

    Leave the estimator's ``loss`` at its default. ``partial_fit`` counts the rows of each class so
    far, including the row of the step.

    References
    ----------
    Kotlowski, Dembczynski & Hüllermeier (2011), "Bipartite ranking through minimization of
    univariate loss", ICML.
    """

    name = "univariate"
    own: ClassVar = {"loss": "loss"}
    slack = 0.02

    def __init__(
        self,
        loss: str = "exp",
        step_size: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.loss = loss
        self.step_size = step_size

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic",), penalty="l2", data=("rows",))

    def own_objective(self, objective: Objective) -> Objective:
        loss, penalty = self._loss(), objective.penalty
        return UnivariateObjective(objective.problem, loss, penalty, balanced=True)

    def _loss(self) -> UnivariateLoss:
        if self.loss not in _LOSSES:
            raise ValueError(
                f"the loss of UnivariateSGD must be 'exp', 'square' or 'logistic'; "
                f"got {self.loss!r}."
            )
        return UNIVARIATE_LOSSES[self.loss]

    def begin(self, d: int, penalty: Penalty) -> State:
        return scaled(d)

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        batch, loss, k = batch.both_met(), self._loss(), state["k"][0]
        C = self.given_step()
        if C is None:
            C = 4.0 / (loss.bend * state["slower"][0]) / batch.mean_norm2(balanced=True)
        settings = (self.automatic, loss.compiled(), penalty.l2, bool(self.average))
        rates = C / np.sqrt(times(state, batch)), batch.by_step("mass")
        _steps(batch.visits, *rates, settings, state["v"], state["u"], k)
        k["steps"] += len(batch.order)


@compiled
def _steps(visits, eta, mass, settings, v, u, k):
    # w = c v,  Σ w = S v − u
    X, order, rows = visits
    automatic, loss, alpha, average = settings
    c, S = k["scale"], k["sum"]
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i, rate = order[t], eta[t]
        y = rows[i]["sign"]
        # both classes have the same weight: n/(2 n_y)
        own_mass = mass[t, 0] if y > 0 else mass[t, 1]
        balance = rows[i]["weight"] * (mass[t, 0] + mass[t, 1]) / (2.0 * own_mass)
        margin = y * c * row_dot(X, i, v)
        if automatic:  # no step is longer than the Newton step for its own row
            bound = balance * rows[i]["norm2"] * bend1(loss, margin)
            if rate * bound > 1.0:
                rate = 1.0 / bound
        # w ← (w − η ℓ′ y x)/(1 + ηα)
        h = -rate * balance * derivative1(loss, margin) * y / c
        if average:
            scaled_add(X, i, h, S, v, u)
        else:
            row_add(X, i, h, v)
        c /= 1.0 + rate * alpha
        S += c
        if c < MIN_SCALE:
            fold(c, S, v, u)
            c, S = 1.0, 0.0
    k["scale"], k["sum"] = c, S
