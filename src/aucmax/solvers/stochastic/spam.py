"""SPAM: stochastic proximal AUC maximization.

For one sample z = (x, y), with a = w·μ₊ and b = w·μ₋ at their optimum,

    G(w; z) = 2(1−p) (w·x − b − 1) x    for y = +1
    G(w; z) = 2p (w·x − a + 1) x        for y = −1

is an unbiased gradient of f(w) = p(1−p) · mean over pairs of (1 − w·(x−x′))², and a step is

    w ← prox_{ηΩ}(w − η G),    Ω(w) = (β/2)‖w‖² + β₁‖w‖₁.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from aucmax import theory
from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import (
    Rows,
    compiled,
    n_features,
    n_rows,
    n_stored,
    products,
    row_add,
    row_dot,
    row_entry,
    row_size,
)
from aucmax.solvers.stochastic.core import Sampler, StochasticSolver
from aucmax.solvers.stochastic.expiry import heap_move, heap_of, heap_pop, heap_push, heap_remove

__all__ = ["SPAM", "Samples", "safe_steps", "samples_of", "with_rows"]

_RETRIES = 10  # times the automatic step may be halved


class Samples(NamedTuple):
    """Rows and the class statistics that SPAM's gradient uses.

    ``mass`` (2,) holds the weights of the positive and the negative class, ``total`` (2, d) their
    weighted sums of rows, so that μ± = total/mass; ``dots`` (n, 2) is X totalᵀ.
    """

    X: Rows
    sign: np.ndarray
    weight: np.ndarray
    mass: np.ndarray
    total: np.ndarray
    dots: np.ndarray

    @property
    def p(self) -> float:
        return float(self.mass[0] / self.mass.sum())


def samples_of(problem: MemoryProblem, X: Rows, means: np.ndarray) -> Samples:
    """Return the samples of a whole training set; means (2, d) are those of X's rows."""
    mass = np.array([problem.p, 1.0 - problem.p])
    total = mass[:, None] * means
    return Samples(X, problem.sign, problem.weight, mass, total, _dots(X, total))


def _dots(X: Rows, total: np.ndarray) -> np.ndarray:
    return np.column_stack([products.scores(X, total[0]), products.scores(X, total[1])])


def safe_steps(samples: Samples) -> tuple[float, float]:
    """Return (L, M²): the largest curvature of one sample, and the largest squared row norm.

    L = max of weight · 2(1−p)‖x‖‖x−μ₋‖ over positives and weight · 2p‖x‖‖x−μ₊‖ over negatives.
    """
    p, pos = samples.p, samples.sign > 0
    norm2 = products.row_norms2(samples.X)
    other = np.where(pos, 1, 0)
    mean2 = np.einsum("kj,kj->k", samples.total, samples.total) / samples.mass**2
    along = samples.dots[np.arange(len(other)), other] / samples.mass[other]
    away2 = np.maximum(norm2 - 2.0 * along + mean2[other], 0.0)
    curvature = np.where(pos, 2.0 * (1.0 - p), 2.0 * p) * np.sqrt(norm2 * away2)
    weight = samples.weight
    return float(np.max(weight * curvature)), float(np.max(weight * norm2))


class SPAM(StochasticSolver):
    """Stochastic proximal AUC maximization: one row, one proximal step, O(nnz of the row).

    Parameters
    ----------
    step_size : float or "auto"
        C of the schedules "sqrt" and "power", C̃ of "strong", on the paper's scale. "auto" is 4/L,
        L the largest curvature of one sample, so that "sqrt" steps are below 2/L from the fifth
        on, and is halved while the first epoch ends above J(0); for "strong" it is the paper's C̃
        from β and M = max‖x‖.
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement.
    average : bool
        Return the mean of all iterates, as the paper's experiments did; else the last.
    schedule : {"sqrt", "power", "strong"}
        η_t = C/√t, C/t^θ, or 1/(C̃(t + t0)).
    theta : float
        θ of "power", in (0, 1).
    t0 : float or "auto"
        Of "strong": "auto" is 2M²/C̃, so that no step exceeds 1/(2M²); 1 is the paper's, which
        overflows for small β.

    Notes
    -----
    The l2 step touches only the row's stored entries: w is kept as a scale times a vector, a(w)
    and b(w) as two scalars, and the average by one more sparse vector. An l1 part costs O(d) on
    dense rows. On rows of few entries a coordinate loses the thresholds of all steps since it was
    last met when it is met again, and a heap tells which ones a step brings to 0: their entries of
    μ± are what a(w) and b(w) need.

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
    ) -> None:
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.schedule = schedule
        self.theta = theta
        self.t0 = t0

    def step_sizes(
        self, first: int, count: int, curvature: float, norm2: float, beta: float
    ) -> np.ndarray:
        """Return η_t for t = first, …, first + count − 1.

        Parameters
        ----------
        first, count : int
            t starts at 1.
        curvature, norm2 : float
            L and M² of `safe_steps`.
        beta : float
            The penalty's β on the paper's scale.
        """
        t = np.arange(first, first + count, dtype=np.float64)
        given = None if self.step_size == "auto" else self.step_size
        C = 0.0 if given is None else float(number(given, "step_size", open_low=True))
        if self.schedule == "strong":
            if given is None:
                if not beta > 0.0:
                    raise ValueError(
                        "schedule='strong' needs an l2 penalty: use alpha > 0 and l1_ratio < 1, "
                        "or schedule='sqrt'."
                    )
                C = theory.spam_strong_constant(beta, float(np.sqrt(norm2))) if norm2 else beta
            t0 = 2.0 * norm2 / C if self.t0 == "auto" else number(self.t0, "t0", open_low=True)
            return 1.0 / (C * (t + t0))
        if given is None:
            C = 4.0 / curvature if curvature > 0 else 1.0
        if self.schedule == "sqrt":
            return C / np.sqrt(t)
        if self.schedule == "power":
            if not 0.0 < self.theta < 1.0:
                raise ValueError(f"theta must lie strictly between 0 and 1; got {self.theta!r}.")
            return C / t**self.theta
        raise ValueError(f"schedule must be 'sqrt', 'power' or 'strong'; got {self.schedule!r}.")

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float]]:
        number(self.n_epochs, "n_epochs", low=1, whole=True)
        means = np.stack([problem.mean_pos, problem.mean_neg])
        samples = samples_of(problem, problem.rows(), means)
        sampler = Sampler(problem.n_samples, self.order, rng)
        curvature, norm2 = safe_steps(samples)
        penalty = objective.penalty
        beta = theory.beta_from_alpha(penalty.l2, samples.p)
        tame = self.t0 if self.schedule == "strong" else self.step_size
        state, wasted = _Iterate.at(samples, start), 0
        for epoch in range(min(self.n_epochs, max_iter)):
            while True:
                order = sampler.take(problem.n_samples)
                eta = self.step_sizes(state.steps + 1, len(order), curvature, norm2, beta)
                state.run(samples, order, eta, penalty, False, self.average)
                w = state.solution(self.average)
                if epoch > 0 or tame != "auto" or wasted == _RETRIES:
                    break
                if objective.value(w) <= objective.value(np.zeros(len(w))):
                    break
                # the automatic step overshot on these rows: begin again with half of it
                curvature, norm2 = 2.0 * curvature, 2.0 * norm2
                state, wasted = _Iterate.at(samples, start), wasted + 1
            yield w, epoch + 1.0 + wasted

    # ---- partial_fit: running p and μ± -----------------------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        return {
            "mass": np.zeros(2),
            "total": np.zeros((2, n_features)),
            "curvature": 0.0,
            "norm2": 0.0,
            **_Iterate.fresh(n_features)._asdict(),
        }

    def place(self, state: dict[str, Any], coef: np.ndarray, steps: int) -> None:
        state["v"][:], state["k"][_STEPS] = coef, steps
        state["k"][[_A, _B]] = state["total"] @ coef

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        order = Sampler(n_rows(X), self.order, rng).take(n_rows(X))
        mass, total = with_rows(state["mass"], state["total"], X, sign, weight)
        iterate = _Iterate(**{k: state[k] for k in _Iterate._fields})
        eta = np.zeros(len(order))
        if mass.min() > 0.0:  # without both classes the rows are only counted
            samples = Samples(X, sign, weight, mass, total, _dots(X, total))
            curvature, norm2 = safe_steps(samples)
            state["curvature"] = max(state["curvature"], curvature)
            state["norm2"] = max(state["norm2"], norm2)
            beta = theory.beta_from_alpha(penalty.l2, samples.p)
            eta = self.step_sizes(
                iterate.steps + 1, len(order), state["curvature"], state["norm2"], beta
            )
        samples = Samples(X, sign, weight, state["mass"], state["total"], np.zeros((0, 2)))
        iterate.run(samples, order, eta, penalty, True, self.average)

    def current(self, state: dict[str, Any]) -> np.ndarray:
        return _Iterate(**{k: state[k] for k in _Iterate._fields}).solution(self.average)


def with_rows(
    mass: np.ndarray, total: np.ndarray, X: Rows, sign: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the running class weights and sums with new rows taken in."""
    pos = np.where(sign > 0, weight, 0.0)
    neg = weight - pos
    mass = mass + np.array([pos.sum(), neg.sum()])
    total = total + np.stack([products.adjoint(X, pos), products.adjoint(X, neg)])
    return mass, total


class _Iterate(NamedTuple):
    """w = k[SCALE] · v and the sum of all iterates, k[SUM] · v − u; all arrays change in place."""

    v: np.ndarray
    u: np.ndarray
    k: np.ndarray

    @classmethod
    def fresh(cls, d: int) -> "_Iterate":
        k = np.zeros(6)
        k[_SCALE] = 1.0
        return cls(np.zeros(d), np.zeros(d), k)

    @classmethod
    def at(cls, samples: Samples, start: np.ndarray | None) -> "_Iterate":
        state = cls.fresh(samples.total.shape[1])
        if start is not None:
            state.v[:] = start
            state.k[_A], state.k[_B] = samples.total @ start
        return state

    @property
    def steps(self) -> int:
        return int(self.k[_STEPS])

    def run(
        self,
        samples: Samples,
        order: np.ndarray,
        eta: np.ndarray,
        penalty: ElasticNet,
        running: bool,
        average: bool,
    ) -> None:
        X, sign, weight, mass, total, dots = samples
        settings = (running, average, penalty.l2, penalty.l1)
        arrays = (X, order, sign, weight, eta, mass, total)
        if penalty.l1 > 0.0:
            self._fold()
            if _FEW * n_stored(X) < n_rows(X) * n_features(X):
                heap = heap_of(len(self.v))
                _lazy_steps(*arrays, dots, *settings, self.v, self.u, self.k, *heap)
                self.k[_A], self.k[_B] = total @ self.v
            else:
                _elastic_net_steps(*arrays, *settings, self.v, self.u, self.k)
        else:
            _l2_steps(*arrays, dots, *settings[:3], self.v, self.u, self.k)
            # the two scalars are carried along: renew them once an epoch
            self.k[_A], self.k[_B] = total @ self.v

    def _fold(self) -> None:
        """Fold the scale into v and the sum of iterates into u; both mean the same as before."""
        self.u[:] -= self.k[_SUM] * self.v
        for scaled in (self.v, self.k[_A : _B + 1]):
            scaled *= self.k[_SCALE]
        self.k[_SCALE], self.k[_SUM] = 1.0, 0.0

    def solution(self, average: bool) -> np.ndarray:
        k = self.k
        if average and k[_AVERAGED] > 0:
            return (k[_SUM] * self.v - self.u) / k[_AVERAGED]
        return k[_SCALE] * self.v


# where in k: the scale, v·total₊, v·total₋, the sum of the scales of past iterates, the steps
# taken, and how many of them the average holds
_SCALE, _A, _B, _SUM, _STEPS, _AVERAGED = 0, 1, 2, 3, 4, 5
_FEW = 12  # times fewer stored entries than features make the lazy elastic net the faster one
_FOLD = 1e-5  # the average loses this factor of its digits before the scale is folded into v


@compiled
def _l2_steps(
    X, order, sign, weight, eta, mass, total, dots, running, average, l2, v, u, k
):  # fmt: skip
    # the η of a step is that of its number: rows that take no step use none up
    # w = c v;   sum of iterates = S v − u, since Σ_t c_t v_t = S_T v_T − Σ_t S_{t−1}(v_t − v_{t−1})
    c, a, b, S, steps = k[0], k[1], k[2], k[3], 0
    for t in range(len(order)):
        i = order[t]
        q = 0 if sign[i] > 0 else 1
        if weight[i] == 0.0:
            continue
        vx = row_dot(X, i, v)
        if running:  # take the row into p and μ± first
            mass[q] += weight[i]
            row_add(X, i, weight[i], total[q])
            if q == 0:
                a += weight[i] * vx
            else:
                b += weight[i] * vx
            if mass[0] == 0.0 or mass[1] == 0.0:
                continue
            xa, xb = row_dot(X, i, total[0]), row_dot(X, i, total[1])
        else:
            xa, xb = dots[i, 0], dots[i, 1]
        p = mass[0] / (mass[0] + mass[1])
        beta = 2.0 * p * (1.0 - p) * l2
        if q == 0:
            g = 2.0 * (1.0 - p) * (c * (vx - b / mass[1]) - 1.0)
        else:
            g = 2.0 * p * (c * (vx - a / mass[0]) + 1.0)
        # w ← (w − η g x)/(1 + ηβ)
        h = -eta[steps] * weight[i] * g / c
        row_add(X, i, h, v)
        a += h * xa
        b += h * xb
        if average:
            row_add(X, i, h * S, u)
        c /= 1.0 + eta[steps] * beta
        S += c
        steps += 1
        if c < _FOLD:
            for j in range(len(v)):
                u[j] -= S * v[j]
                v[j] *= c
            a *= c
            b *= c
            c, S = 1.0, 0.0
    k[0], k[1], k[2], k[3] = c, a, b, S
    k[4] += steps
    k[5] += steps


@compiled
def _elastic_net_steps(
    X, order, sign, weight, eta, mass, total, running, average, l2, l1, w, u, k
):  # fmt: skip
    # the plain iteration; u is minus the sum of the iterates, a = w·total₊, b = w·total₋
    a, b, steps = k[1], k[2], 0
    for t in range(len(order)):
        i = order[t]
        q = 0 if sign[i] > 0 else 1
        if weight[i] == 0.0:
            continue
        wx = row_dot(X, i, w)
        if running:
            mass[q] += weight[i]
            row_add(X, i, weight[i], total[q])
            if q == 0:
                a += weight[i] * wx
            else:
                b += weight[i] * wx
            if mass[0] == 0.0 or mass[1] == 0.0:
                continue
        p = mass[0] / (mass[0] + mass[1])
        if q == 0:
            g = 2.0 * (1.0 - p) * (wx - b / mass[1] - 1.0)
        else:
            g = 2.0 * p * (wx - a / mass[0] + 1.0)
        row_add(X, i, -eta[steps] * weight[i] * g, w)
        # w ← soft(w, ηβ₁)/(1 + ηβ)
        scale = 2.0 * p * (1.0 - p) * eta[steps]
        threshold, shrink = scale * l1, 1.0 / (1.0 + scale * l2)
        a, b = 0.0, 0.0
        for j in range(len(w)):
            new = np.sign(w[j]) * max(abs(w[j]) - threshold, 0.0) * shrink
            w[j] = new
            a += new * total[0, j]
            b += new * total[1, j]
        if average:
            for j in range(len(w)):
                u[j] -= w[j]
        steps += 1
    k[1], k[2] = a, b
    k[4] += steps
    k[5] += steps


@compiled
def _fold_lazy(v, u, total, c, theta, S, B, P):
    """Set v to the weights and u to minus the sum of the iterates; return a and b, and renew P."""
    # a heap by |v| stays one: the new |v| grow with the old
    a, b = 0.0, 0.0
    P[:] = 0.0
    for j in range(len(v)):
        if v[j] == 0.0:
            continue
        s = np.sign(v[j])
        u[j] -= S * v[j] - B * s
        v[j] = c * (v[j] - s * theta)
        a += v[j] * total[0, j]
        b += v[j] * total[1, j]
        P[0] += s * total[0, j]
        P[1] += s * total[1, j]
    return a, b


@compiled
def _lazy_steps(
    X, order, sign, weight, eta, mass, total, dots, running, average, l2, l1, v, u, k, heap, place
):  # fmt: skip
    # the same iterates from the row's stored entries alone. Thresholds are counted in units of the
    # scale c, θ their sum: w_j = c σ (|v_j| − θ) for σ = sign v_j, until θ reaches |v_j|; v_j = 0
    # from then on. P is Σ σ total_j over the others: what a and b lose as θ grows. The sum of the
    # iterates is S v − B σ − u, S = Σ c and B = Σ c θ over the steps.
    c, S, theta, B, P, steps, size = 1.0, 0.0, 0.0, 0.0, np.zeros(2), 0, 0
    a, b = _fold_lazy(v, u, total, c, theta, S, B, P)
    for j in range(len(v)):
        if v[j] != 0.0:
            size = heap_push(v, heap, place, size, j)
    for t in range(len(order)):
        i = order[t]
        q = 0 if sign[i] > 0 else 1
        if weight[i] == 0.0:
            continue
        vx = 0.0
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            vx += x * (v[j] - np.sign(v[j]) * theta)
        if running:
            mass[q] += weight[i]
            for e in range(row_size(X, i)):
                j, x = row_entry(X, i, e)
                total[q, j] += weight[i] * x
                P[q] += weight[i] * x * np.sign(v[j])
            if q == 0:
                a += weight[i] * vx
            else:
                b += weight[i] * vx
            if mass[0] == 0.0 or mass[1] == 0.0:
                continue
            xa, xb = row_dot(X, i, total[0]), row_dot(X, i, total[1])
        else:
            xa, xb = dots[i, 0], dots[i, 1]
        p = mass[0] / (mass[0] + mass[1])
        if q == 0:
            g = 2.0 * (1.0 - p) * (c * (vx - b / mass[1]) - 1.0)
        else:
            g = 2.0 * p * (c * (vx - a / mass[0]) + 1.0)
        # w ← soft(w − ηgx, ηβ₁)/(1 + ηβ): the row's entries move by h x, all lose the threshold
        h = -eta[steps] * weight[i] * g / c
        scale = 2.0 * p * (1.0 - p) * eta[steps]
        threshold = scale * l1 / c
        a += h * xa
        b += h * xb
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            old, s_old = v[j], np.sign(v[j])
            now = old - s_old * theta + h * x
            s_now = np.sign(now)
            if abs(now) <= threshold:  # ends within this step
                a -= now * total[0, j]
                b -= now * total[1, j]
                now, s_now = 0.0, 0.0
            now += s_now * theta
            v[j] = now
            if average:
                u[j] += S * (now - old) - B * (s_now - s_old)
            if s_now != s_old:
                P[0] += (s_now - s_old) * total[0, j]
                P[1] += (s_now - s_old) * total[1, j]
            if s_now != 0.0 and place[j] >= 0:
                heap_move(v, heap, place, size, j)
            elif s_now != 0.0:
                size = heap_push(v, heap, place, size, j)
            elif place[j] >= 0:
                size = heap_remove(v, heap, place, size, j)
        while size > 0 and abs(v[heap[0]]) <= theta + threshold:
            j, size = heap_pop(v, heap, place, size)
            s = np.sign(v[j])
            left = v[j] - s * theta
            a -= left * total[0, j]
            b -= left * total[1, j]
            P[0] -= s * total[0, j]
            P[1] -= s * total[1, j]
            if average:
                u[j] -= S * v[j] - B * s
            v[j] = 0.0
        a -= threshold * P[0]
        b -= threshold * P[1]
        theta += threshold
        c /= 1.0 + scale * l2
        S += c
        B += c * theta
        steps += 1
        if c < _FOLD:
            a, b = _fold_lazy(v, u, total, c, theta, S, B, P)
            c, S, theta, B = 1.0, 0.0, 0.0, 0.0
    _fold_lazy(v, u, total, c, theta, S, B, P)
    k[4] += steps
    k[5] += steps
