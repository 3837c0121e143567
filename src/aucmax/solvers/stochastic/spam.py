"""SPAM: stochastic proximal AUC maximization.

For one sample z = (x, y), with a = w·μ₊ and b = w·μ₋ at their optimum,

    G(w; z) = 2(1−p) (w·x − b − 1) x    for y = +1
    G(w; z) = 2p (w·x − a + 1) x        for y = −1

is an unbiased gradient of f(w) = p(1−p) · mean over pairs of (1 − w·(x−x′))², and a step is

    w ← prox_{ηΩ}(w − η G),    Ω(w) = (β/2)‖w‖² + β₁‖w‖₁.
"""

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import compiled, fetch_ahead, n_features, n_rows, n_stored, row_add, row_dot
from aucmax.objective.penalties import Penalty, prox1
from aucmax.solvers import theory
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.expiry import heap_of
from aucmax.solvers.stochastic.lazy_spam import lazy_steps, pairs, slope
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import MIN_SCALE, fold, scaled, scaled_add, times, unscaled

__all__ = ["SPAM"]

_MIN_FEATURES_PER_ENTRY = 12  # features per stored entry above which the lazy form is faster


class SPAM(StochasticSolver):
    """Stochastic proximal AUC maximization: one row, one proximal step, O(nnz of the row).

    Parameters
    ----------
    step_size : float or "auto"
        C of the schedules "sqrt" and "power", or C̃ of "strong", on the paper's scale. "auto" is
        4/L, where L is the largest curvature of one sample, so that "sqrt" steps are below 2/L from
        the fifth on; for "strong" it is the paper's C̃ from β and M = max‖x‖.
    n_epochs, order, average, tol
        As for every learner: see `StochasticSolver`. The paper's experiments use averages.
    schedule : {"sqrt", "power", "strong"}
        η_t = C/√t, C/t^θ, or 1/(C̃(t + t0)).
    theta : float
        θ of "power", in (0, 1).
    t0 : float or "auto"
        For "strong": "auto" is 2M²/C̃, so that no step exceeds 1/(2M²); the paper's value is 1,
        with which the iterates overflow for small β.

    Notes
    -----
    With l2, a step touches only the stored entries of its row: w is kept as a scale times a vector,
    and a(w) and b(w) as two scalars. The same holds with l1 if the rows have few entries
    (`lazy_spam`); otherwise, and with every other penalty, a step costs O(d).

    References
    ----------
    Natole, Ying & Lyu (2018), "Stochastic proximal algorithms for AUC maximization", ICML.
    """

    name = "spam"

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        schedule: str = "sqrt",
        theta: float = 0.75,
        t0: float | str = "auto",
        tol: float | None = None,
    ) -> None:
        super().__init__(n_epochs, order, average, tol)
        self.step_size = step_size
        self.schedule = schedule
        self.theta = theta
        self.t0 = t0

    @property
    def automatic(self) -> bool:
        return (self.t0 if self.schedule == "strong" else self.step_size) == "auto"

    def begin(self, d: int, penalty: Penalty) -> State:
        return scaled(d, "curvature", "norm2")

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        v, u, k = state["v"], state["u"], state["k"][0]
        batch = batch.both_met()
        if len(batch.order) == 0:  # without both classes the rows are only counted
            return
        running = batch.before is not None
        total = batch.before.total.copy() if batch.before is not None else batch.after.total
        eta = self._step_sizes(state, batch, penalty)
        mass = batch.by_step("mass")
        inner, average = total @ v, bool(self.average)  # the products with w, updated from here on
        if "l2" in penalty.offers:
            settings, dots = (penalty.l2, average, *inner), None if running else batch.dots
            _shrinking_steps(batch.visits, eta, (mass, total), dots, settings, v, u, k)
            return
        inner = k["scale"] * inner
        unscaled(state)
        X = batch.X
        if "elastic net" in penalty.offers and _MIN_FEATURES_PER_ENTRY * n_stored(X) < n_rows(
            X
        ) * n_features(X):
            settings = (running, penalty.l2, penalty.l1, average)
            dots = np.zeros((0, 2)) if running else batch.dots
            classes, queue = (mass, total, dots), heap_of(len(v))
            lazy_steps(batch.visits, eta, classes, settings, v, u, queue, np.zeros(2))
            k["steps"] += len(eta)
        else:
            settings = (penalty.compiled(), average, *inner)
            _steps(batch.visits, eta, total, (mass, running), settings, v, u, k)

    def _step_sizes(self, state: State, batch: Batch, penalty: Penalty) -> np.ndarray:
        """Return η_t for the steps of a batch."""
        k = state["k"][0]
        t = times(state, batch)
        L, M2 = batch.smoothness
        k["curvature"], k["norm2"] = max(k["curvature"], L), max(k["norm2"], M2)
        L, M2 = state["slower"][0] * k["curvature"], state["slower"][0] * k["norm2"]
        step = self.given_step()
        C = step or 0.0
        if self.schedule == "strong":
            if step is None:
                beta = theory.beta_from_alpha(penalty.convexity, batch.p)
                if not beta > 0.0:
                    raise ValueError(
                        "schedule='strong' needs an l2 penalty: use alpha > 0 and l1_ratio < 1, "
                        "or schedule='sqrt'."
                    )
                C = theory.spam_strong_constant(beta, float(np.sqrt(M2))) if M2 else beta
            t0 = 2.0 * M2 / C if self.t0 == "auto" else number(self.t0, "t0", open_low=True)
            return 1.0 / (C * (t + t0))
        if step is None:
            C = 4.0 / L if L > 0 else 1.0
        if self.schedule == "sqrt":
            return C / np.sqrt(t)
        if self.schedule == "power":
            if not 0.0 < self.theta < 1.0:
                raise ValueError(f"theta must lie strictly between 0 and 1; got {self.theta!r}.")
            return C / t**self.theta
        raise ValueError(f"schedule must be 'sqrt', 'power' or 'strong'; got {self.schedule!r}.")


@compiled
def _shrinking_steps(visits, eta, classes, dots, settings, v, u, k):
    # w = c v,  Σ w = S v − u;  a, b = v·total; without dots, total is that of the rows so far
    X, order, rows = visits
    mass, total = classes
    l2, average, a, b = settings
    c, S = k["scale"], k["sum"]
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        if dots is not None:
            fetch_ahead(order, t, dots)
        i = order[t]
        q, weight = 0 if rows[i]["sign"] > 0 else 1, rows[i]["weight"]
        rate = eta[t] * weight / c  # divided before the row's product is needed
        vx = row_dot(X, i, v)
        if dots is None:  # the row enters its class's sum first
            row_add(X, i, weight, total[q])
            a, b = a + (1 - q) * weight * vx, b + q * weight * vx
            xa, xb = row_dot(X, i, total[0]), row_dot(X, i, total[1])
        else:
            xa, xb = dots[i, 0], dots[i, 1]
        g = slope(q, c * vx, c * a, c * b, mass[t, 0], mass[t, 1])
        # w ← (w − η g x)/(1 + ηβ)
        h = -rate * g
        if average:
            scaled_add(X, i, h, S, v, u)
        else:
            row_add(X, i, h, v)
        a += h * xa
        b += h * xb
        c /= 1.0 + eta[t] * pairs(mass[t, 0], mass[t, 1]) * l2
        S += c
        if c < MIN_SCALE:
            fold(c, S, v, u)
            a, b, c, S = c * a, c * b, 1.0, 0.0
    k["scale"], k["sum"] = c, S
    k["steps"] += len(order)


@compiled
def _steps(visits, eta, total, classes, settings, w, u, k):
    # u is minus the sum of the iterates, a = w·total₊, b = w·total₋
    X, order, rows = visits
    mass, running = classes
    penalty, average, a, b = settings
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        i = order[t]
        q, weight = 0 if rows[i]["sign"] > 0 else 1, rows[i]["weight"]
        wx = row_dot(X, i, w)
        if running:
            row_add(X, i, weight, total[q])
            a, b = a + (1 - q) * weight * wx, b + q * weight * wx
        g = slope(q, wx, a, b, mass[t, 0], mass[t, 1])
        # w ← prox(w − η g x)
        row_add(X, i, -eta[t] * weight * g, w)
        a, b, scale = 0.0, 0.0, eta[t] * pairs(mass[t, 0], mass[t, 1])
        for j in range(len(w)):
            w[j] = prox1(penalty, j, w[j], scale)
            a += w[j] * total[0, j]
            b += w[j] * total[1, j]
        if average:
            for j in range(len(w)):
                u[j] -= w[j]
    k["steps"] += len(order)
