"""VRSPAM: SPAM with variance reduction (proximal SVRG).

A stage fixes w̃, computes μ̃ = ∇f(w̃) in one pass, and then steps along

    v = G(w; z) − G(w̃; z) + μ̃
      = 2(1−p) ((w−w̃)·(x−μ₋)) x + μ̃    for y = +1
      = 2p     ((w−w̃)·(x−μ₊)) x + μ̃    for y = −1,

    w ← prox_{ηΩ}(w − η v),

with a constant η: v is unbiased and its variance goes to 0 as w and w̃ reach the optimum.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import CSR, compiled, fetch_ahead, products, row_add, row_dot, shifted_rows
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty, prox1
from aucmax.solvers import theory
from aucmax.solvers.base import Run
from aucmax.solvers.stochastic.core import Epoch, State, StochasticSolver
from aucmax.solvers.stochastic.samples import Batch, Sampler, Whole
from aucmax.solvers.stochastic.scaled import numbers
from aucmax.solvers.stochastic.spam import SPAM

__all__ = ["VRSPAM"]


class VRSPAM(StochasticSolver):
    """Variance-reduced SPAM: linear convergence with a constant step.

    Parameters
    ----------
    step_size : float or "auto"
        η on the paper's scale. "auto" is min(1/(2L), 1/(2M²)), with L the largest curvature of one
        sample and M = max‖x‖ (docs/notes_on_the_papers.md, 3).
    n_stages : int
        Number of stages; each takes one pass for the full gradient and ``n_inner`` steps.
    n_inner : int or "auto"
        m, the steps in a stage; "auto" is the number of rows.
    order, tol
        As for every learner: see `StochasticSolver`. The paper draws with replacement; ``tol`` is
        checked after each stage.
    init : {"spam", "zero"}
        Start from one averaged epoch of `SPAM` with its automatic step, or from 0.
    center : "auto" or False
        With an automatic step, subtract the mean from dense rows, which does not change J and
        lowers M, at the cost of a copy of the rows. False leaves the rows, as in the paper.
    safeguard : bool
        Whether to undo a stage that raises J, and halve the step.

    Notes
    -----
    With an l2 penalty a step touches only the stored entries of its row: w is kept as c·v + e·μ̃
    with two scalars. With an l1 part a step costs O(d).

    References
    ----------
    Dan & Sahoo, "Variance reduced stochastic proximal algorithm for AUC maximization".
    Xiao & Zhang (2014), "A proximal stochastic gradient method with progressive variance
    reduction".
    """

    name = "vrspam"

    def __init__(
        self,
        step_size: float | str = "auto",
        n_stages: int = 20,
        n_inner: int | str = "auto",
        order: str = "shuffle",
        init: str = "spam",
        center: bool | str = "auto",
        safeguard: bool = True,
        tol: float | None = None,
    ) -> None:
        self.step_size = step_size
        self.n_stages = n_stages
        self.n_inner = n_inner
        self.order = order
        self.init = init
        self.center = center
        self.safeguard = safeguard
        self.tol = tol

    def epochs(self, objective: Objective, start: np.ndarray | None, run: Run) -> Iterator[Epoch]:
        n_stages = min(number(self.n_stages, "n_stages", low=1, whole=True), run.max_iter)
        if self.init not in ("spam", "zero"):
            raise ValueError(f"init must be 'spam' or 'zero'; got {self.init!r}.")
        problem, penalty = objective.problem, objective.penalty
        n, rows = problem.n_samples, Whole(problem, problem.n_features)
        state, m = self.fresh(rows, penalty, start, {}), self.steps_for(n)
        self._centre(rows)
        eta = min(self._step_size(state, part) for part in rows.batches())
        assert run.rng is not None
        sampler, passes = Sampler(n, self.order, run.rng), 0.0
        if start is None and self.init == "spam":
            warm_up = SPAM(n_epochs=1, order=self.order)
            state["w"], passes, *_ = next(warm_up.epochs(objective, None, replace(run, max_iter=1)))
        at = _Snapshot.of(rows.batches(), n, state["w"])
        value = objective.at(at.z).value + penalty.value(at.w)  # also for centred rows
        for _ in range(n_stages):
            w = _stage(rows.ordered(sampler.take(m)), at, penalty, eta)
            passes += 1.0 + m / n
            with np.errstate(over="ignore", invalid="ignore"):  # for a diverging stage
                proposal = _Snapshot.of(rows.batches(), n, w)
                reached = objective.at(proposal.z).value + penalty.value(w)
            if self.safeguard and not reached <= value * (1.0 + 1e-12):
                eta *= 0.5
            else:
                at, value = proposal, reached
                if np.all(np.isfinite(w)):
                    state["w"] = w
            yield Epoch(at.w, passes, state, value)

    def _centre(self, rows: Whole) -> None:
        """Shift the rows by one vector if that lowers M."""
        if self.center not in ("auto", False):
            raise ValueError(f"center must be 'auto' or False; got {self.center!r}.")
        batch, (mass, total, _) = rows.only, rows.after
        if batch is None or isinstance(batch.X, CSR) or not (self.center and self.automatic):
            return
        middle = total.sum(axis=0) / mass.sum()
        moved = rows.after._replace(total=total - mass[:, None] * middle)
        X = shifted_rows(batch.X, middle)
        rows.only = Batch(X, batch.sign, batch.weight, batch.order, None, moved)

    def steps_for(self, n: int) -> int:
        return n if self.n_inner == "auto" else number(self.n_inner, "n_inner", low=1, whole=True)

    def _step_size(self, state: State, batch: Batch) -> float:
        step = self.given_step()
        if step is not None:
            return step
        k = state["k"][0]
        k["largest"] = np.maximum(k["largest"], max(batch.smoothness))
        return float(1.0 / (2.0 * k["largest"])) if k["largest"] > 0.0 else 1.0

    # ---- partial_fit: one stage on the new rows, with running p and μ± ----------------------

    def begin(self, d: int, penalty: Penalty) -> State:
        return {"w": np.zeros(d), "k": numbers("largest")}

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        if batch.after.mass.min() == 0.0:
            return
        eta = self._step_size(state, batch)
        at = _Snapshot.of([batch], len(batch.sign), state["w"])
        state["w"] = _stage([batch], at, penalty, eta)


class _Snapshot(NamedTuple):
    """w̃, its scores z = X w̃, its mean scores a(w̃), b(w̃), and μ̃ = 1/n Σ G(w̃; z_i)."""

    w: np.ndarray
    z: np.ndarray
    means: np.ndarray
    gradient: np.ndarray

    @classmethod
    def of(cls, batches: Iterable[Batch], n: int, w: np.ndarray) -> "_Snapshot":
        scores, gradient, means = [], np.zeros(len(w)), np.zeros(2)
        for batch in batches:
            z = products.scores(batch.X, w)
            a, b = means = batch.after.total @ w / batch.after.mass
            p, pos = batch.p, batch.sign > 0
            slope = np.where(pos, 2.0 * (1.0 - p) * (z - b - 1.0), 2.0 * p * (z - a + 1.0))
            gradient += products.adjoint(batch.X, batch.weight * slope / n)
            scores.append(z)
        return cls(w, np.concatenate(scores), means, gradient)


def _stage(batches: Iterable[Batch], at: _Snapshot, penalty: Penalty, eta: float) -> np.ndarray:
    """Return w after the steps of one stage from w̃."""
    w = at.w.copy()
    for batch in batches:
        (mass, total, _), p = batch.after, batch.p
        z = at.z[batch.first or 0 :][: len(batch.sign)]
        # the steps' settings, and a and b of w, of w̃ and of μ̃
        k = numbers("p", "eta", "beta", "a", "b", "start_a", "start_b", "slope_a", "slope_b")[0]
        k["p"], k["eta"] = p, eta
        k["start_a"], k["start_b"] = at.means
        k["a"], k["b"] = total @ w / mass
        if "l2" not in penalty.offers:
            means = total / mass[:, None]
            _steps(batch.visits, k, penalty.compiled(), means, at.gradient, z, w)
            continue
        along = products.scores(batch.X, at.gradient)
        k["beta"] = theory.beta_from_alpha(penalty.l2, p)
        k["slope_a"], k["slope_b"] = total @ at.gradient / mass
        c, e = _shrinking_steps(batch.visits, k, batch.dots / mass, along, z, w)
        w = c * w + e * at.gradient
    return w


@compiled
def _shrinking_steps(visits, k, dots, along, z, v):
    # w = c v + e μ̃;  a = v·μ₊, b = v·μ₋;  ``along`` = X μ̃, z = X w̃
    X, order, rows = visits
    p, eta, beta, a, b, c, e = k["p"], k["eta"], k["beta"], k["a"], k["b"], 1.0, 0.0
    start_a, start_b, slope_a, slope_b = k["start_a"], k["start_b"], k["slope_a"], k["slope_b"]
    shrink = 1.0 / (1.0 + eta * beta)
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        fetch_ahead(order, t, dots)
        fetch_ahead(order, t, along)
        fetch_ahead(order, t, z)
        i = order[t]
        rate = eta * rows[i]["weight"] / c
        moved = c * row_dot(X, i, v) + e * along[i] - z[i]  # (w − w̃)·x
        if rows[i]["sign"] > 0:
            r = 2.0 * (1.0 - p) * (moved - (c * b + e * slope_b - start_b))
        else:
            r = 2.0 * p * (moved - (c * a + e * slope_a - start_a))
        # w ← (w − η (r x + μ̃))/(1 + ηβ)
        h = -rate * r
        row_add(X, i, h, v)
        a += h * dots[i, 0]
        b += h * dots[i, 1]
        c *= shrink
        e = (e - eta) * shrink
        if c < 1e-100:
            for j in range(len(v)):
                v[j] *= c
            a, b, c = c * a, c * b, 1.0
    return c, e


@compiled
def _steps(visits, k, penalty, means, gradient, z, w):
    X, order, rows = visits
    p, eta, a, b, start_a, start_b = k["p"], k["eta"], k["a"], k["b"], k["start_a"], k["start_b"]
    for t in range(len(order)):
        fetch_ahead(order, t, X)
        fetch_ahead(order, t, rows)
        fetch_ahead(order, t, z)
        i = order[t]
        moved = row_dot(X, i, w) - z[i]
        if rows[i]["sign"] > 0:
            r = 2.0 * (1.0 - p) * (moved - (b - start_b))
        else:
            r = 2.0 * p * (moved - (a - start_a))
        row_add(X, i, -eta * rows[i]["weight"] * r, w)
        # w ← prox(w − η μ̃)
        a, b = 0.0, 0.0
        for j in range(len(w)):
            w[j] = prox1(penalty, j, w[j] - eta * gradient[j], 2.0 * p * (1.0 - p) * eta)
            a += w[j] * means[0, j]
            b += w[j] * means[1, j]
