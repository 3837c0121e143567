"""VRSPAM: SPAM with variance reduction (proximal SVRG).

A stage fixes w̃, takes μ̃ = ∇f(w̃) in one pass, and then steps along

    v = G(w; z) − G(w̃; z) + μ̃
      = 2(1−p) ((w−w̃)·(x−μ₋)) x + μ̃    for y = +1
      = 2p     ((w−w̃)·(x−μ₊)) x + μ̃    for y = −1,

    w ← prox_{ηΩ}(w − η v),

with a constant η: v is unbiased and its variance goes to 0 as w and w̃ reach the optimum.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from aucmax import theory
from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import CSR, Rows, compiled, n_rows, products, row_add, row_dot, shifted_rows
from aucmax.solvers.stochastic.core import Sampler, StochasticSolver
from aucmax.solvers.stochastic.spam import SPAM, Samples, safe_steps, samples_of, with_rows

__all__ = ["VRSPAM"]


class VRSPAM(StochasticSolver):
    """Variance-reduced SPAM: linear convergence with a constant step.

    Parameters
    ----------
    step_size : float or "auto"
        η on the paper's scale. "auto" is min(1/(2L), 1/(2M²)), L the largest curvature of one
        sample and M = max‖x‖; the theory's β/(128M⁴) is far too small to use.
    n_stages : int
        Stages; each takes one pass for the full gradient and ``n_inner`` steps.
    n_inner : int or "auto"
        m, the steps in a stage; "auto" is the number of rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement (the paper's).
    init : {"spam", "zero"}
        Start from one averaged epoch of `SPAM` with its automatic step, or from 0.
    center : "auto" or False
        Subtract one common vector from dense rows when the step is automatic: J is unchanged and
        M falls. False is the paper's. Costs a copy of the rows.
    safeguard : bool
        Undo a stage that raises J and halve the step.

    Notes
    -----
    With an l2 penalty a step touches only the row's stored entries: w is kept as
    c·v + e·μ̃ with two scalars. An l1 part costs O(d) a step.

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
    ) -> None:
        self.step_size = step_size
        self.n_stages = n_stages
        self.n_inner = n_inner
        self.order = order
        self.init = init
        self.center = center
        self.safeguard = safeguard

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float]]:
        number(self.n_stages, "n_stages", low=1, whole=True)
        if self.init not in ("spam", "zero"):
            raise ValueError(f"init must be 'spam' or 'zero'; got {self.init!r}.")
        n = problem.n_samples
        m = self._inner(n)
        samples = samples_of(problem, *self._rows(problem))
        eta = self._step(*safe_steps(samples))
        penalty = objective.penalty
        sampler = Sampler(n, self.order, rng)

        w, passes = np.zeros(problem.n_features), 0.0
        if start is not None:
            w = start.copy()
        elif self.init == "spam":
            first = SPAM(n_epochs=1, order=self.order)
            w, passes = next(first.epochs(objective, problem, None, 1, rng))
        at = _Snapshot.of(samples, w)
        value = _value(samples, at.z, penalty, w)
        for _ in range(min(self.n_stages, max_iter)):
            new = _stage(samples, at, penalty, sampler.take(m), eta)
            passes += 1.0 + m / n
            with np.errstate(over="ignore", invalid="ignore"):  # of a diverging stage
                there = _Snapshot.of(samples, new)
                reached = _value(samples, there.z, penalty, new)
            if self.safeguard and not reached <= value * (1.0 + 1e-12):
                eta *= 0.5
            else:
                w, at, value = new, there, reached
            yield w, passes

    def _rows(self, problem: MemoryProblem) -> tuple[Rows, np.ndarray]:
        """Return the rows, shifted where that helps, and their class means (2, d)."""
        if self.center not in ("auto", False):
            raise ValueError(f"center must be 'auto' or False; got {self.center!r}.")
        X, means = problem.rows(), np.stack([problem.mean_pos, problem.mean_neg])
        if isinstance(X, CSR) or self.center is False or self.step_size != "auto":
            return X, means
        middle = problem.p * means[0] + (1.0 - problem.p) * means[1]
        return shifted_rows(X, middle), means - middle

    def _inner(self, n: int) -> int:
        return n if self.n_inner == "auto" else number(self.n_inner, "n_inner", low=1, whole=True)

    def _step(self, curvature: float, norm2: float) -> float:
        if self.step_size != "auto":
            return float(number(self.step_size, "step_size", open_low=True))
        largest = max(curvature, norm2)
        return 1.0 / (2.0 * largest) if largest > 0 else 1.0

    # ---- partial_fit: one stage on the new rows, with running p and μ± ----------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        return {
            "mass": np.zeros(2),
            "total": np.zeros((2, n_features)),
            "curvature": 0.0,
            "norm2": 0.0,
            "w": np.zeros(n_features),
        }

    def place(self, state: dict[str, Any], coef: np.ndarray, steps: int) -> None:
        state["w"] = coef.copy()

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        mass, total = with_rows(state["mass"], state["total"], X, sign, weight)
        state["mass"], state["total"] = mass, total
        if mass.min() == 0.0:
            return
        dots = np.column_stack([products.scores(X, total[0]), products.scores(X, total[1])])
        samples = Samples(X, sign, weight, mass, total, dots)
        curvature, norm2 = safe_steps(samples)
        state["curvature"] = max(state["curvature"], curvature)
        state["norm2"] = max(state["norm2"], norm2)
        order = Sampler(n_rows(X), self.order, rng).take(self._inner(n_rows(X)))
        eta = self._step(state["curvature"], state["norm2"])
        at = _Snapshot.of(samples, state["w"])
        state["w"] = _stage(samples, at, penalty, order, eta)

    def current(self, state: dict[str, Any]) -> np.ndarray:
        return state["w"]


class _Snapshot(NamedTuple):
    """w̃, its scores z = X w̃, its means a(w̃), b(w̃), and μ̃ = 1/n Σ G(w̃; z_i)."""

    w: np.ndarray
    z: np.ndarray
    means: np.ndarray
    gradient: np.ndarray

    @classmethod
    def of(cls, samples: Samples, w: np.ndarray) -> "_Snapshot":
        z = products.scores(samples.X, w)
        a, b = means = samples.total @ w / samples.mass
        p, pos = samples.p, samples.sign > 0
        slope = np.where(pos, 2.0 * (1.0 - p) * (z - b - 1.0), 2.0 * p * (z - a + 1.0))
        return cls(w, z, means, products.adjoint(samples.X, samples.weight * slope / len(z)))


def _value(samples: Samples, z: np.ndarray, penalty: ElasticNet, w: np.ndarray) -> float:
    """Return J from the scores of a whole training set."""
    pos = samples.sign > 0
    value = penalty.value(w)
    means = []
    for members in (pos, ~pos):
        s = samples.weight[members]
        s = s / s.sum()
        mean = float(s @ z[members])
        value += 0.5 * float(s @ (z[members] - mean) ** 2)
        means.append(mean)
    gap = 1.0 - (means[0] - means[1])
    return value + 0.5 * gap * gap


def _stage(
    samples: Samples, at: _Snapshot, penalty: ElasticNet, order: np.ndarray, eta: float
) -> np.ndarray:
    """Return w after the steps of one stage from w̃."""
    X, sign, weight, mass, total, dots = samples
    p = samples.p
    beta = theory.beta_from_alpha(penalty.l2, p)
    w = at.w.copy()
    arrays = (X, order, sign, weight, p, eta, beta)
    if penalty.l1 > 0.0:
        beta1 = theory.beta_from_alpha(penalty.l1, p)
        means = total / mass[:, None]
        _elastic_net_stage(*arrays, beta1, means, at.gradient, at.z, at.means, w)
        return w
    along = products.scores(X, at.gradient)
    fixed = np.stack([total @ at.w, total @ at.gradient]) / mass
    c, e = _l2_stage(*arrays, dots / mass, fixed, along, at.z, w)
    return c * w + e * at.gradient


@compiled
def _l2_stage(X, order, sign, weight, p, eta, beta, dots, fixed, along, z, v):
    # w = c v + e μ̃;  a = v·μ₊, b = v·μ₋;  ``along`` = X μ̃, z = X w̃
    c, e = 1.0, 0.0
    a, b = fixed[0, 0], fixed[0, 1]
    shrink = 1.0 / (1.0 + eta * beta)
    for t in range(len(order)):
        i = order[t]
        moved = c * row_dot(X, i, v) + e * along[i] - z[i]  # (w − w̃)·x
        if sign[i] > 0:
            r = 2.0 * (1.0 - p) * (moved - (c * b + e * fixed[1, 1] - fixed[0, 1]))
        else:
            r = 2.0 * p * (moved - (c * a + e * fixed[1, 0] - fixed[0, 0]))
        # w ← (w − η (r x + μ̃))/(1 + ηβ)
        h = -eta * weight[i] * r / c
        row_add(X, i, h, v)
        a += h * dots[i, 0]
        b += h * dots[i, 1]
        c *= shrink
        e = (e - eta) * shrink
        if c < 1e-100:
            for j in range(len(v)):
                v[j] *= c
            a *= c
            b *= c
            c = 1.0
    return c, e


@compiled
def _elastic_net_stage(
    X, order, sign, weight, p, eta, beta, beta1, means, gradient, z, start, w
):  # fmt: skip
    a, b = start[0], start[1]
    threshold, shrink = eta * beta1, 1.0 / (1.0 + eta * beta)
    for t in range(len(order)):
        i = order[t]
        moved = row_dot(X, i, w) - z[i]
        if sign[i] > 0:
            r = 2.0 * (1.0 - p) * (moved - (b - start[1]))
        else:
            r = 2.0 * p * (moved - (a - start[0]))
        row_add(X, i, -eta * weight[i] * r, w)
        # w ← soft(w − η μ̃, ηβ₁)/(1 + ηβ)
        a, b = 0.0, 0.0
        for j in range(len(w)):
            u = w[j] - eta * gradient[j]
            new = np.sign(u) * max(abs(u) - threshold, 0.0) * shrink
            w[j] = new
            a += new * means[0, j]
            b += new * means[1, j]
