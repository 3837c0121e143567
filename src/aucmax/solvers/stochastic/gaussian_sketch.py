"""The steps of OPAUCr: each costs the rank times the row's stored entries, plus the rank squared.

For a class of weight T, t = T c is the sum of its rows and Z their sketch. A step adds to w
multiples of x, of t, and of Z u for some u. So w is kept as

    w = ω (a + Z₊v₊ + Z₋v₋ + g₊t₊ + g₋t₋),

and the vector a changes only where x has entries. When a row enters Z and t, it would change w; a
changes by the opposite. A step needs Zᵀw, t·w, ZᵀZ, Zᵀt and t·t for both classes; it updates them
from Zᵀx, t·x and ‖x‖² alone. The sum of the iterates has the same form. Its vector is Ω a minus
each change of a times the Ω of that step, where Ω is the sum of ω over the steps.

The first dense row is subtracted from all rows, which preserves digits if they lie far from 0.
Only the printed form depends on the origin; it takes the rows as they are.
"""

from typing import Any

import numpy as np

from aucmax.data.rows import (
    CSR,
    compiled,
    row_add,
    row_dot,
    row_entry,
    row_norm2,
    row_size,
    shifted_rows,
    take_rows,
    to_scipy,
)
from aucmax.solvers.stochastic.core import State
from aucmax.solvers.stochastic.full_covariance import Settings, automatic_step
from aucmax.solvers.stochastic.samples import Visits
from aucmax.solvers.stochastic.scaled import numbers

__all__ = ["begin", "run", "solution"]

_FOLD = 1e-5  # ω below this, or above its inverse, is folded into the vectors


def begin(d: int, tau: int) -> State:
    """Return the state before the first row; a first axis of length 2 is that of the classes."""
    k = numbers("kappa", "steps", "omega", "sum")  # the largest curvature, steps taken, ω and Ω
    k["omega"] = 1.0
    return {
        "T": np.zeros(2),
        "t": np.zeros((2, d)),
        "origin": np.zeros(d),
        "Z": np.zeros((2, d, tau)),
        "s": np.zeros((2, tau)),
        "w": np.zeros(d),
        "sum": np.zeros(d),
        "k": k,
        "v": np.zeros((2, tau)),
        "g": np.zeros(2),
        "sum_v": np.zeros((2, tau)),
        "sum_g": np.zeros(2),
        "Zw": np.zeros((2, tau)),
        "tw": np.zeros(2),
        "ZZ": np.zeros((2, 2, tau, tau)),
        "Zt": np.zeros((2, 2, tau)),
        "tt": np.zeros((2, 2)),
    }


def solution(state: State, average: bool) -> np.ndarray:
    """Return w, or the mean of the iterates."""
    k = state["k"][0]
    if average and k["steps"] > 0.0:
        a = k["sum"] * state["w"] - state["sum"]
        v, g, scale = state["sum_v"], state["sum_g"], 1.0 / k["steps"]
    else:
        a, v, g, scale = state["w"], state["v"], state["g"], k["omega"]
    out = a + g @ state["t"]
    for q in range(2):
        out += state["Z"][q] @ v[q]
    return scale * out


def run(state: State, visits: Visits, draws: np.ndarray, settings: Settings) -> None:
    """Take the steps of these visits; r is ``draws[t]`` times √weight."""
    X, order, sign, weight = visits
    if settings.centered and not state["T"].any() and not isinstance(X, CSR):
        state["origin"] = X[order[0]].astype(np.float64)
    far = bool(state["origin"].any())
    if far:
        few: Any = to_scipy(take_rows(X, order))
        few = few.toarray() if isinstance(X, CSR) else few
        few = shifted_rows(few.astype(np.float64), state["origin"])
        visits = Visits(few, np.arange(len(order)), sign[order], weight[order])
    names = ("T", "t", "Z", "s", "w", "sum", "v", "g", "sum_v", "sum_g", "Zw", "tw")
    products = (state["ZZ"], state["Zt"], state["tt"])
    arrays = (state[name] for name in names)
    _steps(*visits, draws, *settings, state["k"][0], *arrays, *products)


@compiled
def _steps(
    X, order, sign, weight, draws, unit, eta, slower, lam, average, centered,
    k, mass, total, Z, s, w, sums, v, g, sum_v, sum_g, Zw, tw, ZZ, Zt, tt,
):  # fmt: skip
    tau = s.shape[1]
    zx, r, u, tx = np.empty((2, tau)), np.empty(tau), np.empty(tau), np.empty(2)
    kappa, steps, omega, Omega = k["kappa"], k["steps"], k["omega"], k["sum"]
    for t in range(len(order)):
        i = order[t]
        q = 0 if sign[i] > 0 else 1
        o = 1 - q
        m = unit * weight[i]
        for c in range(tau):
            r[c] = np.sqrt(m) * draws[t, c]
        xx = row_norm2(X, i)
        zx[:] = 0.0
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            for c in range(tau):
                zx[0, c] += Z[0, j, c] * x
                zx[1, c] += Z[1, j, c] * x
        tx[0], tx[1] = row_dot(X, i, total[0]), row_dot(X, i, total[1])
        wx = row_dot(X, i, w) + g[0] * tx[0] + g[1] * tx[1]
        for c in range(tau):
            wx += v[0, c] * zx[0, c] + v[1, c] * zx[1, c]
        # the row enters its own class; w stays the same
        moved, moved_sum = m * g[q], m * sum_g[q]
        for c in range(tau):
            moved += r[c] * v[q, c]
            moved_sum += r[c] * sum_v[q, c]
        row_add(X, i, -moved, w)
        if average:
            row_add(X, i, moved_sum - Omega * moved, sums)
        mass[q] += m
        row_add(X, i, m, total[q])
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            for c in range(tau):
                Z[q, j, c] += x * r[c]
        for b in range(tau):
            for c in range(tau):
                ZZ[q, q, b, c] += zx[q, b] * r[c] + r[b] * zx[q, c] + xx * r[b] * r[c]
                ZZ[q, o, b, c] += r[b] * zx[o, c]
                ZZ[o, q, c, b] = ZZ[q, o, b, c]
        for c in range(tau):
            Zt[q, q, c] += r[c] * (tx[q] + m * xx) + m * zx[q, c]
            Zt[q, o, c] += r[c] * tx[o]
            Zt[o, q, c] += m * zx[o, c]
            Zw[q, c] += r[c] * wx
            zx[q, c] += xx * r[c]
            s[q, c] += r[c]
        tt[q, q] += m * (2.0 * tx[q] + m * xx)
        tt[q, o] += m * tx[o]
        tt[o, q] = tt[q, o]
        tw[q] += m * wx
        tx[q] += m * xx
        # and meets the other
        T = mass[o]
        if T == 0.0:
            continue
        steps += 1.0
        cw = omega * tw[o] / T
        zw = omega * wx - cw
        # S w = (Z u − f t/T)/T
        f = 0.0
        for c in range(tau):
            u[c] = omega * Zw[o, c]
            if centered:
                u[c] -= s[o, c] * cw
                f += s[o, c] * u[c]
            else:
                f += s[o, c] * s[o, c] * cw / T
        rate = eta
        if eta == 0.0:
            away2 = xx - 2.0 * tx[o] / T + tt[o, o] / T**2
            bound = 0.0
            for c in range(tau):
                bound += ZZ[o, o, c, c]
                if centered:
                    bound += s[o, c] * (s[o, c] * tt[o, o] / T - 2.0 * Zt[o, o, c]) / T
            kappa = max(kappa, weight[i] * (max(away2, 0.0) + max(bound, 0.0) / T + lam))
            M = mass[q]
            delta2 = tt[q, q] / M**2 - 2.0 * tt[q, o] / (M * T) + tt[o, o] / T**2
            rate = automatic_step(kappa, steps, delta2, lam) / slower
        rate *= weight[i]
        # w ← (1 − ηα) w − η (res x − (res + f/T) t/T + Z u/T)
        res = zw - sign[i]
        omega *= 1.0 - rate * lam
        if not _FOLD < abs(omega) < 1.0 / _FOLD:
            if average:
                for j in range(len(w)):
                    sums[j] -= Omega * w[j]
                Omega = 0.0
            for j in range(len(w)):
                w[j] *= omega
            for a in range(2):  # loops compile twice as fast as array expressions
                g[a] *= omega
                tw[a] *= omega
                for c in range(tau):
                    v[a, c] *= omega
                    Zw[a, c] *= omega
            omega = 1.0
        h = -rate * res / omega
        h_t = rate * (res + f / T) / (T * omega)
        h_u = -rate / (T * omega)
        row_add(X, i, h, w)
        if average:
            row_add(X, i, h * Omega, sums)
        g[o] += h_t
        for c in range(tau):
            v[o, c] += h_u * u[c]
        for a in range(2):
            tw[a] += h * tx[a] + h_t * tt[a, o]
            for b in range(tau):
                gained = h * zx[a, b] + h_t * Zt[a, o, b]
                for c in range(tau):
                    gained += h_u * ZZ[a, o, b, c] * u[c]
                Zw[a, b] += gained
            for c in range(tau):
                tw[a] += h_u * Zt[o, a, c] * u[c]
        if average:
            Omega += omega
            for a in range(2):
                sum_g[a] += omega * g[a]
                for c in range(tau):
                    sum_v[a, c] += omega * v[a, c]
    k["kappa"], k["steps"], k["omega"], k["sum"] = kappa, steps, omega, Omega
