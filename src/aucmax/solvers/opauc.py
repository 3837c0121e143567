"""OPAUC: one-pass AUC optimization from running class means and covariances.

The row x_t of class y meets the rows of the other class met so far, of mean c and covariance S,

    L_t(w) = (α/2)‖w‖² + ½ · mean over them of (1 − y (x_t − x′)·w)²,
    ∇L_t(w) = αw − y (x_t − c) + (x_t − c)(x_t − c)ᵀw + S w,    w ← w − η ∇L_t(w),

the paper's Equations (4) and (5). Its λ is J's α.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload

from aucmax import products
from aucmax._checks import number
from aucmax.objective import Objective
from aucmax.penalties import ElasticNet
from aucmax.problem import MemoryProblem
from aucmax.rows import Rows, compiled, n_rows, row_add
from aucmax.solvers._epochs import Sampler, StochasticSolver

__all__ = ["OPAUC"]

_RETRIES = 6  # times the automatic step may be quartered


class OPAUC(StochasticSolver):
    """One-pass AUC optimization: a step on a row against all rows of the other class so far.

    Each row first enters its own class's mean c and covariance S, T being the class's weight,

        S ← (1 − 1/T) S + ((T−1)/T²)(x − c)(x − c)ᵀ,    c ← c + (x − c)/T,

    and then, once the other class has been seen, w takes one step along ∇L_t.

    Parameters
    ----------
    step_size : float or "auto"
        η, the same at every step. "auto" is the step of the paper's Theorem 2, with what has been
        met so far: 1/(κ + √(κ² + 2κtL/B²)) after t steps, κ the largest curvature of one step,
        ‖x − c‖² + tr S + α, with the theorem's L* bounded by L = J(0) = ½ and
        B = ‖δ‖/(‖δ‖² + α), the norm that the optimum would have were each class a point. (The
        printed η lacks the 2 that its proof needs.) Quartered while the first epoch of a fit ends
        above J(0), as it may on rows that hold little signal.
    n_epochs : int
        Passes over the rows; the means and covariances go on from one to the next.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement.
    average : bool
        Return the mean of all iterates; else the last, as published.
    covariance : {"full"}
        How the covariances are kept: two d×d matrices.

    Notes
    -----
    A step costs O(d²) and the state two d×d matrices. The matrices hold T S, to which a row only
    adds: T S ← T S + ((T−1)/T)(x − c)(x − c)ᵀ is the same recursion, as stable. The one that the
    paper prints for S leaves out a term (−c cᵀ inside its /T).

    With weights q, T grows by q, (T−1)/T becomes q(T−q)/T, and q multiplies the gradient.

    ``partial_fit`` takes the steps of ``fit``: any division of the rows gives one cyclic pass.

    References
    ----------
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization", ICML.
    """

    name = "opauc"
    takes_l1 = False
    max_covariance_bytes: ClassVar[int] = 10**9

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 1,
        order: str = "shuffle",
        average: bool = False,
        covariance: str = "full",
    ) -> None:
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.covariance = covariance

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float]]:
        number(self.n_epochs, "n_epochs", low=1, whole=True)
        penalty, d, n = objective.penalty, problem.n_features, problem.n_samples
        state, slower, wasted = self._fresh(d, penalty, start), 1.0, 0
        X, sampler = problem.rows(), Sampler(n, self.order, rng)
        for epoch in range(min(self.n_epochs, max_iter)):
            while True:
                order = sampler.take(n)
                self._run(state, X, order, problem.sign, problem.weight, penalty.l2, slower)
                w = self.current(state).copy()
                if epoch > 0 or self.step_size != "auto" or wasted == _RETRIES:
                    break
                if objective.value(w) <= objective.value(np.zeros(d)):
                    break
                # the automatic step was too long for these rows: begin again
                slower, wasted = 4.0 * slower, wasted + 1
                state = self._fresh(d, penalty, start)
            yield w, epoch + 1.0 + wasted

    def _fresh(self, d: int, penalty: ElasticNet, start: np.ndarray | None) -> dict[str, Any]:
        state = self.begin(d, penalty)
        if start is not None:
            state["w"][:] = start
        return state

    def _run(
        self,
        state: dict[str, Any],
        X: Rows,
        order: np.ndarray,
        sign: np.ndarray,
        weight: np.ndarray,
        alpha: float,
        slower: float = 1.0,
    ) -> None:
        """Take the steps in this order; ``slower`` divides the automatic step."""
        eta = 0.0  # automatic
        if self.step_size != "auto":
            eta = float(number(self.step_size, "step_size", open_low=True))
        moments = (FullCovariance(state["scatter"]), state["mass"], state["mean"], state["trace"])
        settings = (eta, slower, alpha, bool(self.average))
        iterate = (state["w"], state["sum"], state["k"])
        _steps(X, order, sign, weight, *settings, *moments, *iterate)
        state["total"] = state["mass"][:, None] * state["mean"]

    # ---- partial_fit -----------------------------------------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        d = n_features
        if self.covariance != "full":
            raise ValueError(f"covariance must be 'full'; got {self.covariance!r}.")
        size = 2 * d * d * 8
        if size > self.max_covariance_bytes:
            raise ValueError(
                f"covariance='full' keeps two {d}×{d} matrices, {size / 1e9:.1f} GB, more than "
                f"OPAUC.max_covariance_bytes ({self.max_covariance_bytes / 1e9:g} GB); use "
                "solver='spam', which keeps O(d)."
            )
        return {
            "mass": np.zeros(2),
            "total": np.zeros((2, d)),
            "mean": np.zeros((2, d)),
            "scatter": np.zeros((2, d, d)),
            "trace": np.zeros(2),
            "w": np.zeros(d),
            "sum": np.zeros(d),
            "k": np.zeros(3),
        }

    def resume(
        self, problem: MemoryProblem, penalty: ElasticNet, coef: np.ndarray, n_iter: int
    ) -> dict[str, Any]:
        state = self.begin(problem.n_features, penalty)
        moments = problem.moments()
        state["mass"] += n_iter * np.array([moments.n_pos, moments.n_neg])
        state["mean"] += np.stack([moments.mean_pos, moments.mean_neg])
        state["total"] += state["mass"][:, None] * state["mean"]
        for T, scatter, cov in zip(
            state["mass"], state["scatter"], (moments.cov_pos, moments.cov_neg), strict=True
        ):
            scatter += T * cov
        state["trace"] += np.einsum("kjj->k", state["scatter"])
        state["k"][_KAPPA] = _largest_curvature(problem, penalty.l2)
        self.place(state, coef, n_iter * problem.n_samples)
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
        order = Sampler(n_rows(X), self.order, rng).take(n_rows(X))
        self._run(state, X, order, sign, weight, penalty.l2)

    def current(self, state: dict[str, Any]) -> np.ndarray:
        if self.average and state["k"][_AVERAGED] > 0.0:
            return state["sum"] / state["k"][_AVERAGED]
        return state["w"]


def _largest_curvature(problem: MemoryProblem, alpha: float) -> float:
    """Return the largest weight · (‖x − c‖² + tr S + α), c and S of the whole other class."""
    moments, norm2, largest = problem.moments(), products.row_norms2(problem.X), 0.0
    for sign, c, S in (
        (1.0, moments.mean_neg, moments.cov_neg),
        (-1.0, moments.mean_pos, moments.cov_pos),
    ):
        own = problem.sign == sign
        away2 = np.maximum(norm2 - 2.0 * products.scores(problem.X, c) + c @ c, 0.0)
        curvature = problem.weight * (away2 + np.trace(S) + alpha)
        largest = max(largest, float(curvature[own].max()))
    return largest


# where in k: the largest curvature, the steps taken, and how many of them the sum holds
_KAPPA, _STEPS, _AVERAGED = range(3)


# ---- how the covariances are kept --------------------------------------------------------
#
# A kind is a NamedTuple of arrays and two functions, add and dot. They are chosen by the type of
# the tuple, as in aucmax.rows: in compiled code at compile time, else at run time.


class FullCovariance(NamedTuple):
    """T S of both classes, the lower triangles of (2, d, d)."""

    scatter: np.ndarray


def _full_add(S, q, z, h):
    for a in range(len(z)):
        row, f = S.scatter[q, a], h * z[a]
        for b in range(a + 1):
            row[b] += f * z[b]


def _full_dot(S, q, T, w, out):
    for a in range(len(w)):
        row, w_a = S.scatter[q, a], w[a] / T
        out[a] = dot(row, w, a + 1) / T
        for b in range(a):
            out[b] += row[b] * w_a


def dot(x, y, n):
    """Return the product of the first n entries."""
    s = 0.0
    for j in range(n):
        s += x[j] * y[j]
    return s


def covariance_add(S, q, z, h):
    """Add h z zᵀ to T S of class q, where z = x − c and h = q(T − q)/T."""
    _KINDS[type(S)][0](S, q, z, h)


def covariance_dot(S, q, T, w, out):
    """Set out to S w of class q, whose weight is T."""
    _KINDS[type(S)][1](S, q, T, w, out)


_KINDS: dict[type, tuple[Callable[..., None], Callable[..., None]]] = {
    FullCovariance: (_full_add, _full_dot)
}


@overload(dot, jit_options={"fastmath": {"reassoc", "contract", "nsz"}})  # to use vector registers
def _dot(x, y, n):
    return dot


@overload(covariance_add)
def _covariance_add(S, q, z, h):
    return _KINDS[S.instance_class][0]


@overload(covariance_dot)
def _covariance_dot(S, q, T, w, out):
    return _KINDS[S.instance_class][1]


# ---- the steps ---------------------------------------------------------------------------


@compiled
def _steps(X, order, sign, weight, eta, slower, lam, average, S, mass, mean, trace, w, sums, k):
    d = len(w)
    x, z, g = np.empty(d), np.empty(d), np.empty(d)
    kappa, steps = k[0], k[1]
    for t in range(len(order)):
        i = order[t]
        q = 0 if sign[i] > 0 else 1
        x[:] = 0.0
        row_add(X, i, 1.0, x)
        # the row enters its own class
        T = mass[q] + weight[i]
        h = weight[i] * mass[q] / T
        mass[q] = T
        norm2 = 0.0
        for j in range(d):
            z[j] = x[j] - mean[q, j]
            norm2 += z[j] * z[j]
            mean[q, j] += weight[i] / T * z[j]
        covariance_add(S, q, z, h)
        trace[q] += h * norm2
        # and meets the other
        o = 1 - q
        if mass[o] == 0.0:
            continue
        steps += 1.0
        norm2, zw, delta2 = 0.0, 0.0, 0.0
        for j in range(d):
            z[j] = x[j] - mean[o, j]
            norm2 += z[j] * z[j]
            zw += z[j] * w[j]
            delta2 += (mean[0, j] - mean[1, j]) ** 2
        rate = eta
        if eta == 0.0:
            # 1/(κ + √(κ² + κt/B²)),  1/B = (‖δ‖² + α)/‖δ‖
            kappa = max(kappa, weight[i] * (norm2 + trace[o] / mass[o] + lam))
            noise = steps * (delta2 + lam) ** 2 / delta2 if delta2 > 0.0 else 0.0
            rate = kappa + np.sqrt(kappa * (kappa + noise))
            rate = 1.0 / (slower * rate) if rate > 0.0 else 0.0
        covariance_dot(S, o, mass[o], w, g)
        r = zw - sign[i]
        rate *= weight[i]
        for j in range(d):
            w[j] -= rate * (lam * w[j] + r * z[j] + g[j])
        if average:
            for j in range(d):
                sums[j] += w[j]
            k[2] += 1.0
    k[0], k[1] = kappa, steps
