"""OPAUC: one-pass AUC optimization from running class means and covariances.

The row x_t of class y meets the rows of the other class met so far, of mean c and covariance S,

    L_t(w) = (α/2)‖w‖² + ½ · mean over them of (1 − y (x_t − x′)·w)²,
    ∇L_t(w) = αw − y (x_t − c) + (x_t − c)(x_t − c)ᵀw + S w,    w ← w − η ∇L_t(w),

the paper's Equations (4) and (5). Its λ is J's α. For many features S is kept in less memory: as a
random sketch (OPAUCr), or in a space of fewer dimensions (OPAUCf, OPAUCrp, OPAUCpca).
"""

from typing import ClassVar

import numpy as np
from numba import njit
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.rows import compiled, row_add, take_rows
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic import gaussian_sketch
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.samples import Batch
from aucmax.solvers.stochastic.scaled import numbers
from aucmax.statistics.projections import (
    gaussian_projection,
    lifted,
    lowered,
    principal_axes,
    random_features,
    reduced,
)

__all__ = ["OPAUC"]

_BLOCK = 512  # rows that get their random numbers, or are reduced, at a time
_LATE = 8  # rows that the full matrices take in at a time
_MANY = 150  # from so many features on
_REDUCED = ("subset", "projection", "pca")
_COVARIANCES = ("full", "gaussian", *_REDUCED)


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
        printed η lacks the 2 that its proof needs.) Quartered where an epoch of a fit ends
        above J(0), as it may on rows that hold little signal.
    n_epochs : int
        Passes over the rows; the means and covariances go on from one to the next.
    order : {"shuffle", "cyclic", "random"}
        Rows shuffled each epoch, in file order, or drawn with replacement.
    average : bool
        Return the mean of all iterates; else the last, as published.
    covariance : {"full", "gaussian", "subset", "projection", "pca"}
        How the covariances of d features are kept.

        - "full": two d×d matrices.
        - "gaussian", the paper's OPAUCr: with r ~ N(0, I/τ) drawn for each row, Z is the sum of
          x rᵀ and s the sum of r over a class, and S is taken as (Z − c sᵀ)(Z − c sᵀ)ᵀ/T. Its mean
          over the draws is S.
        - "subset" (OPAUCf): τ random features alone.
        - "projection" (OPAUCrp): the τ coordinates Hᵀx, H of independent N(0, 1/τ).
        - "pca" (OPAUCpca): the coordinates along the first τ principal axes of the rows of `fit`;
          `partial_fit` needs a `fit` before it.

        In the last three the full algorithm runs on τ coordinates, and ``coef_`` is what its
        weights say for the d features.
    rank : int or None
        τ; None is 50 for "gaussian" and 1000 for the others, as in the paper. More than d counts
        as d but for "gaussian".
    centered : bool
        For "gaussian": False takes S as Z Zᵀ/T − ĉ ĉᵀ, ĉ = c sᵀ/T, as the paper prints it. That
        is near the second moment S + c cᵀ, not near S: the mean of ĉ ĉᵀ is c cᵀ/T. As it divides
        by T once too often, it alone depends on the scale of sample weights.
    tol : float, optional
        Optimality to stop at, measured after each epoch; None never does.

    Notes
    -----
    A step costs O(d²) and the state two d×d matrices. With "gaussian" a step costs O(τ) for each
    stored entry of the row and O(τ²) beside them, and the state is two d×τ matrices. With the
    others it is O(τ²) and two τ×τ, besides H.

    The full matrices hold T S, to which a row only adds: T S ← T S + ((T−1)/T)(x − c)(x − c)ᵀ is
    the same recursion, as stable. The one that the paper prints for S leaves out a term (−c cᵀ
    inside its /T).

    With weights q, T grows by q, (T−1)/T becomes q(T−q)/T, and q multiplies the gradient; Z and s
    take √q r in place of r.

    ``partial_fit`` takes the steps of ``fit``: any division of the rows gives one cyclic pass.

    References
    ----------
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization", ICML.
    """

    name = "opauc"
    drawn = ("basis",)
    max_covariance_bytes: ClassVar[int] = 10**9

    def __init__(
        self,
        step_size: float | str = "auto",
        n_epochs: int = 1,
        order: str = "shuffle",
        average: bool = False,
        covariance: str = "full",
        rank: int | None = None,
        centered: bool = True,
        tol: float | None = None,
    ) -> None:
        self.step_size = step_size
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.covariance = covariance
        self.rank = rank
        self.centered = centered
        self.tol = tol

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic",), differentiable=True, data=("rows",))

    def begin(self, d: int, penalty: ElasticNet) -> State:
        self._check(d)
        k = self._rank(d)
        if self.covariance == "gaussian":
            return gaussian_sketch.begin(d, k)
        m = k if self.covariance in _REDUCED else d  # coordinates in which the steps are taken
        return {
            "T": np.zeros(2),
            "mean": np.zeros((2, m)),
            "w": np.zeros(m),
            "sum": np.zeros(m),
            "k": numbers("kappa", "steps"),
            "scatter": np.zeros((2, m, m)),
            "trace": np.zeros(2),
        }

    def place(self, state: State, start: np.ndarray, penalty: ElasticNet, batch: Batch) -> None:
        if self.covariance in _REDUCED:
            state["start"] = start  # until there are coordinates for it
        else:
            state["w"][:] = start

    def step(self, state: State, batch: Batch, penalty: ElasticNet, rng: RandomState) -> None:
        self._same_settings(state, batch.n_features)
        self._draw_basis(state, batch, rng)
        eta = 0.0  # automatic
        if self.step_size != "auto":
            eta = float(number(self.step_size, "step_size", open_low=True))
        slower, order = float(state["slower"][0]), batch.order
        settings = (float(batch.unit), eta, slower, penalty.l2, bool(self.average))
        for lo in range(0, len(order), _BLOCK):
            part = order[lo : lo + _BLOCK]
            rows = (batch.X, part, batch.sign, batch.weight)
            if self.covariance == "gaussian":
                tau = state["s"].shape[1]
                draws = rng.standard_normal((len(part), tau)) / np.sqrt(tau)
                gaussian_sketch.run(state, rows, draws, settings, self.centered)
                continue
            if "basis" in state:
                few = reduced(take_rows(batch.X, part), state["basis"])
                rows = (few, np.arange(len(part)), batch.sign[part], batch.weight[part])
            moments = (state["scatter"], state["trace"], state["T"], state["mean"])
            _steps(*rows, *settings, *moments, state["w"], state["sum"], state["k"][0])

    def current(self, state: State) -> np.ndarray:
        if self.covariance == "gaussian":
            return gaussian_sketch.solution(state, self.average)
        w, d = state["w"], state["total"].shape[1]
        if self.average and state["k"][0]["steps"] > 0.0:
            w = state["sum"] / state["k"][0]["steps"]
        if "basis" in state:
            return lifted(w, state["basis"], d)
        return w if len(w) == d else np.zeros(d)

    # ---- the covariance and its settings -----------------------------------------------------

    def _draw_basis(self, state: State, batch: Batch, rng: RandomState) -> None:
        """Draw the coordinates in which the steps are taken, where they are not all features."""
        if self.covariance not in _REDUCED or "basis" in state:
            return
        d, rank = batch.n_features, self._rank(batch.n_features)
        if self.covariance == "pca":
            if batch.before is not None:
                raise ValueError(
                    "covariance='pca' takes its axes from the rows of a fit, and there was none; "
                    "call fit before partial_fit, or use covariance='projection'."
                )
            state["basis"] = principal_axes(batch.X, batch.weight, rank, rng)
        else:
            draw = random_features if self.covariance == "subset" else gaussian_projection
            state["basis"] = draw(d, rank, rng)
        if "start" in state:
            state["w"][:] = lowered(state.pop("start"), state["basis"])

    def _rank(self, d: int) -> int:
        if self.rank is not None:
            number(self.rank, "rank", low=1, whole=True)
        if self.covariance == "gaussian":
            return int(self.rank or 50)
        return min(int(self.rank or 1000), d)

    def _check(self, d: int) -> None:
        """Raise unless the settings of the covariance go together and it fits in memory."""
        if self.covariance not in _COVARIANCES:
            names = ", ".join(map(repr, _COVARIANCES))
            raise ValueError(f"covariance must be one of {names}; got {self.covariance!r}.")
        if self.covariance == "full" and self.rank is not None:
            raise ValueError(
                f"rank={self.rank!r} does nothing with covariance='full'; leave it None, or take "
                "covariance='gaussian', 'subset', 'projection' or 'pca'."
            )
        if self.covariance != "gaussian" and not self.centered:
            raise ValueError("centered=False is for covariance='gaussian' only.")
        k = self._rank(d)
        if self.covariance == "full":
            size, what = 2 * d * d, f"two {d}×{d} matrices"
            instead = (
                "solver='spam', which keeps O(d), or covariance='gaussian', which keeps O(d) "
                "times its rank."
            )
        else:
            instead = "a lower rank, or solver='spam', which keeps O(d)."
            if self.covariance == "gaussian":
                size, what = 2 * d * k, f"two {d}×{k} matrices"
            elif self.covariance == "subset":
                size, what = 2 * k * k, f"two {k}×{k} matrices"
            else:
                size = 2 * k * k + d * k
                what = f"two {k}×{k} matrices and one of {d}×{k}"
        if 8 * size > self.max_covariance_bytes:
            raise ValueError(
                f"covariance={self.covariance!r} keeps {what}, {8e-9 * size:.1f} GB, more than "
                f"OPAUC.max_covariance_bytes ({self.max_covariance_bytes / 1e9:g} GB); use "
                f"{instead}"
            )

    def _same_settings(self, state: State, d: int) -> None:
        """Raise where a stream was begun with other settings of the covariance."""
        self._check(d)
        tau, begun = self._rank(d), state["k"][0]["steps"] > 0.0
        if self.covariance == "gaussian":
            same = "Z" in state and state["s"].shape[1] == tau
        else:
            wanted = {"subset": 1, "projection": 2, "pca": 2}.get(self.covariance, 0)
            there = state["basis"].ndim if "basis" in state else 0
            same = "scatter" in state and (not begun or wanted == there)
            same = same and len(state["w"]) == (tau if wanted else d)
        if not same:
            raise ValueError(
                "covariance and rank cannot change between calls of partial_fit; set them back, "
                "or begin with a new estimator."
            )


@compiled
def scatter_add(scatter, Z, h, count):
    """Add h z zᵀ to the lower triangle for each of the first ``count`` rows z of Z."""
    fours = count // 4 * 4
    for a in range(Z.shape[1]):
        row = scatter[a]
        for k in range(0, fours, 4):  # four at a time: the row is read and written once for them
            z, z1, z2, z3 = Z[k], Z[k + 1], Z[k + 2], Z[k + 3]
            f, f1, f2, f3 = h[k] * z[a], h[k + 1] * z1[a], h[k + 2] * z2[a], h[k + 3] * z3[a]
            for b in range(a + 1):
                row[b] += (f * z[b] + f1 * z1[b]) + (f2 * z2[b] + f3 * z3[b])
        for k in range(fours, count):
            z, f = Z[k], h[k] * Z[k, a]
            for b in range(a + 1):
                row[b] += f * z[b]


@compiled
def scatter_dot(scatter, T, w, out):
    """Set out to S w, the lower triangle of T S given."""
    for a in range(len(w)):
        row, w_a = scatter[a], w[a] / T
        out[a] = _dot(row, w, a + 1) / T
        for b in range(a):
            out[b] += row[b] * w_a


@njit(fastmath={"reassoc", "contract", "nsz"})  # to use vector registers
def _dot(x, y, n):
    """Return the product of the first n entries."""
    s = 0.0
    for j in range(n):
        s += x[j] * y[j]
    return s


@compiled
def _steps(
    X, order, sign, weight, unit, eta, slower, lam, average, scatter, trace, mass, mean, w, sums, k
):
    d = len(w)
    x, z, g = np.empty(d), np.empty(d), np.empty(d)
    kappa, steps = k["kappa"], k["steps"]
    # rows wait until one reading of the matrix takes in several of them
    most = _LATE if d >= _MANY else 1
    late, late_h, waiting = np.empty((2, most, d)), np.empty((2, most)), np.zeros(2, np.int64)
    for t in range(len(order)):
        i = order[t]
        q = 0 if sign[i] > 0 else 1
        for j in range(d):
            x[j] = 0.0
        row_add(X, i, 1.0, x)
        # the row enters its own class
        m = unit * weight[i]
        fresh, T = late[q, waiting[q]], mass[q] + m
        mass[q] = T
        for j in range(d):
            z[j] = x[j] - mean[q, j]
            fresh[j] = z[j]
            mean[q, j] += m / T * z[j]
        h = m * (T - m) / T
        late_h[q, waiting[q]] = h
        waiting[q] += 1
        for j in range(d):
            trace[q] += h * z[j] * z[j]
        if waiting[q] == most:
            scatter_add(scatter[q], late[q], late_h[q], most)
            waiting[q] = 0
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
        scatter_dot(scatter[o], mass[o], w, g)
        for b in range(waiting[o]):
            row = late[o, b]
            f = late_h[o, b] * _dot(row, w, d) / mass[o]
            for j in range(d):
                g[j] += f * row[j]
        rate = eta
        if eta == 0.0:
            # 1/(κ + √(κ² + κt/B²)),  1/B = (‖δ‖² + α)/‖δ‖
            kappa = max(kappa, weight[i] * (norm2 + trace[o] / mass[o] + lam))
            noise = steps * (delta2 + lam) ** 2 / delta2 if delta2 > 0.0 else 0.0
            rate = kappa + np.sqrt(kappa * (kappa + noise))
            rate = 1.0 / (slower * rate) if rate > 0.0 else 0.0
        r = zw - sign[i]
        rate *= weight[i]
        for j in range(d):
            w[j] -= rate * (lam * w[j] + r * z[j] + g[j])
        if average:
            for j in range(d):
                sums[j] += w[j]
    for q in range(2):
        scatter_add(scatter[q], late[q], late_h[q], waiting[q])
    k["kappa"], k["steps"] = kappa, steps
