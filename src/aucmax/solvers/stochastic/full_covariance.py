"""The steps of OPAUC with full covariances.

For each class the state holds the weight T, the mean c and the lower triangle of T S, to which a
row of weight q adds (q(T−q)/T)(x − c)(x − c)ᵀ; with many features, several rows are added in one
pass.
"""

from typing import NamedTuple

import numpy as np

from aucmax.data.rows import allocating, compiled, inlined, row_add
from aucmax.data.rows.kernels import vectorised
from aucmax.solvers.stochastic.core import State
from aucmax.solvers.stochastic.samples import Visits
from aucmax.solvers.stochastic.scaled import numbers

__all__ = ["Settings", "automatic_step", "begin", "run", "solution"]


class Settings(NamedTuple):
    """The unit of the weights in T; η, or 0 if automatic; the divisor of the automatic η; and α.

    ``average`` tells whether to sum the iterates; ``centered`` is for a Gaussian sketch.
    """

    unit: float
    eta: float
    slower: float
    lam: float
    average: bool
    centered: bool


class _Moments(NamedTuple):
    """T, c, the lower triangle of T S and its trace, for both classes."""

    T: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    trace: np.ndarray


def begin(d: int) -> State:
    """Return the state before the first row; first axes of length 2 are the classes."""
    return {
        "T": np.zeros(2),
        "mean": np.zeros((2, d)),
        "w": np.zeros(d),
        "sum": np.zeros(d),
        "k": numbers("kappa", "steps"),
        "scatter": np.zeros((2, d, d)),
        "trace": np.zeros(2),
    }


def run(state: State, visits: Visits, settings: Settings) -> None:
    """Take the steps of these visits."""
    moments = _Moments(*(state[name] for name in _Moments._fields))
    _steps(visits, settings, moments, state["w"], state["sum"], state["k"][0])


def solution(state: State, average: bool) -> np.ndarray:
    """Return w, or the mean of the iterates."""
    steps = state["k"][0]["steps"]
    return state["sum"] / steps if average and steps > 0.0 else state["w"]


@inlined
def automatic_step(kappa, steps, delta2, lam):
    """Return 1/(κ + √(κ² + κt/B²)), with 1/B = (‖δ‖² + α)/‖δ‖."""
    noise = steps * (delta2 + lam) ** 2 / delta2 if delta2 > 0.0 else 0.0
    below = kappa + np.sqrt(kappa * (kappa + noise))
    return 1.0 / below if below > 0.0 else 0.0


@compiled
def _scatter_add(scatter, Z, h, count):
    """Add h z zᵀ to the lower triangle for each of the first ``count`` rows z of Z."""
    fours = count // 4 * 4
    for a in range(Z.shape[1]):
        row = scatter[a]
        for k in range(0, fours, 4):  # four at a time, to read and write the matrix row once
            z, z1, z2, z3 = Z[k], Z[k + 1], Z[k + 2], Z[k + 3]
            f, f1, f2, f3 = h[k] * z[a], h[k + 1] * z1[a], h[k + 2] * z2[a], h[k + 3] * z3[a]
            for b in range(a + 1):
                row[b] += (f * z[b] + f1 * z1[b]) + (f2 * z2[b] + f3 * z3[b])
        for k in range(fours, count):
            z, f = Z[k], h[k] * Z[k, a]
            for b in range(a + 1):
                row[b] += f * z[b]


@compiled
def _scatter_dot(scatter, T, w, out):
    """Set ``out`` to S w, given the lower triangle of T S."""
    for a in range(len(w)):
        row, w_a = scatter[a], w[a] / T
        out[a] = _dot(row, w, a + 1) / T
        for b in range(a):
            out[b] += row[b] * w_a


@vectorised
def _dot(x, y, n):
    """Return the dot product of the first n entries."""
    s = 0.0
    for j in range(n):
        s += x[j] * y[j]
    return s


@allocating
def _steps(visits, settings, moments, w, sums, k):
    X, order, rows = visits
    unit, eta, slower, lam, average, _ = settings
    mass, mean, scatter, trace = moments
    d = len(w)
    x, z, g = np.empty(d), np.empty(d), np.empty(d)
    kappa, steps = k["kappa"], k["steps"]
    most = 8 if d >= 150 else 1  # rows to collect for one pass over the matrix
    late, late_h, waiting = np.empty((2, most, d)), np.empty((2, most)), np.zeros(2, np.int64)
    for i in order:
        y, weight = rows[i]["sign"], rows[i]["weight"]
        q = 0 if y > 0 else 1
        x[:] = 0.0
        row_add(X, i, 1.0, x)
        # the row enters its own class
        m = unit * weight
        T = mass[q] = mass[q] + m
        fresh, h = late[q, waiting[q]], m * (T - m) / T
        late_h[q, waiting[q]] = h
        waiting[q] += 1
        for j in range(d):
            fresh[j] = x[j] - mean[q, j]
            mean[q, j] += m / T * fresh[j]
        for j in range(d):
            trace[q] += h * fresh[j] * fresh[j]
        if waiting[q] == most:
            _scatter_add(scatter[q], late[q], late_h[q], most)
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
        _scatter_dot(scatter[o], mass[o], w, g)
        for b in range(waiting[o]):
            row = late[o, b]
            f = late_h[o, b] * _dot(row, w, d) / mass[o]
            for j in range(d):
                g[j] += f * row[j]
        rate = eta
        if eta == 0.0:
            kappa = max(kappa, weight * (norm2 + trace[o] / mass[o] + lam))
            rate = automatic_step(kappa, steps, delta2, lam) / slower
        r = zw - y
        rate *= weight
        for j in range(d):
            w[j] -= rate * (lam * w[j] + r * z[j] + g[j])
        if average:
            for j in range(d):
                sums[j] += w[j]
    for q in range(2):
        _scatter_add(scatter[q], late[q], late_h[q], waiting[q])
    k["kappa"], k["steps"] = kappa, steps
