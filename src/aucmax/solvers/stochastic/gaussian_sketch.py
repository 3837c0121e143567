"""The steps of OPAUCr: each costs the rank times the row's stored entries, plus the rank squared.

For a class of weight T, t = T c is the sum of its rows and Z their sketch. A step adds to w
multiples of x, of t, and of Z u for some u. So w is kept as

    w = ω (a + Z₊v₊ + Z₋v₋ + g₊t₊ + g₋t₋),

and the vector a changes only where x has entries. A row that enters Z and t would change w, so a
changes by the opposite. A step needs Zᵀw, t·w, ZᵀZ, Zᵀt and t·t for both classes; it updates them
from only Zᵀx, t·x and ‖x‖². The sum of the iterates has the same form. Its vector is Ω a minus each
change of a times the Ω of that step, where Ω is the sum of ω over the steps.

The first dense row is subtracted from all rows, which preserves digits if they are far from 0. Only
the printed form depends on the origin; it uses the rows as they are.
"""

from typing import Any, NamedTuple

import numpy as np

from aucmax.data.rows import (
    CSR,
    allocating,
    inlined,
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
from aucmax.solvers.stochastic.scaled import numbers, scaled_add

__all__ = ["begin", "run", "solution"]

_MIN_SCALE = 1e-5  # if ω is below this, or above its inverse, it is folded into the vectors


class _Row(NamedTuple):
    """A row that enters the class q: its weight m, ‖x‖², and w·x without ω."""

    q: int
    m: float
    xx: float
    wx: float


class _Sketch(NamedTuple):
    """For each class: its weight T, the sum t of its rows, their sketch Z, and the sketch of 1."""

    T: np.ndarray
    t: np.ndarray
    Z: np.ndarray
    s: np.ndarray


class _Parts(NamedTuple):
    """The vector a, and the coefficients v and g of the sketches and the sums in w."""

    w: np.ndarray
    v: np.ndarray
    g: np.ndarray


class _Products(NamedTuple):
    """Zᵀw and t·w without ω, and ZᵀZ, Zᵀt and t·t for all pairs of classes."""

    Zw: np.ndarray
    tw: np.ndarray
    ZZ: np.ndarray
    Zt: np.ndarray
    tt: np.ndarray


def begin(d: int, tau: int) -> State:
    """Return the state before the first row; first axes of length 2 are the classes."""
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
    w = a + g @ state["t"]
    for q in range(2):
        w += state["Z"][q] @ v[q]
    return scale * w


def run(state: State, visits: Visits, draws: np.ndarray, settings: Settings) -> None:
    """Take the steps of these visits; r is ``draws[t]`` times √weight."""
    X, order, rows = visits
    if settings.centered and not state["T"].any() and not isinstance(X, CSR):
        state["origin"] = X[order[0]].astype(np.float64)
    far = bool(state["origin"].any())
    if far:
        shifted: Any = to_scipy(take_rows(X, order))
        shifted = shifted.toarray() if isinstance(X, CSR) else shifted
        shifted = shifted_rows(shifted.astype(np.float64), state["origin"])
        rows, order = rows[order], np.arange(len(order))  # shifted rows have other norms
        visits = Visits(shifted, order, rows)
    draws = np.sqrt(settings.unit * rows["weight"][order])[:, None] * draws
    sketch = _Sketch(*(state[name] for name in _Sketch._fields))
    parts = _Parts(state["w"], state["v"], state["g"])
    sums = _Parts(state["sum"], state["sum_v"], state["sum_g"])
    inner = _Products(*(state[name] for name in _Products._fields))
    _steps(visits, draws, settings, state["k"][0], sketch, (parts, sums), inner)


@allocating
def _steps(visits, draws, settings, k, sketch, weights, inner):
    # helpers take plain arrays: in loops Numba would count references to the arrays of a tuple
    X, order, rows = visits
    unit, eta, slower, lam, average, centered = settings
    mass, total, Z, s = sketch
    ((w, v, g), (sum_w, sum_v, sum_g)), (Zw, tw, ZZ, Zt, tt) = weights, inner
    tau = s.shape[1]
    zx, tx, u = np.empty((2, tau)), np.empty(2), np.empty(tau)
    kappa, steps, omega, Omega = k["kappa"], k["steps"], k["omega"], k["sum"]
    for t in range(len(order)):
        i = order[t]
        y, weight, r = rows[i]["sign"], rows[i]["weight"], draws[t]
        q, o = (0, 1) if y > 0 else (1, 0)
        m, xx = unit * weight, row_norm2(X, i)
        zx[:] = 0.0
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            for c in range(tau):
                zx[0, c] += Z[0, j, c] * x
                zx[1, c] += Z[1, j, c] * x
        tx[0], tx[1] = row_dot(X, i, total[0]), row_dot(X, i, total[1])
        wx = _score(row_dot(X, i, w), g, v, tx, zx)
        row = _Row(q, m, xx, wx)
        # the row enters its own class; w stays the same
        moved = _of_row(m, r, g, v, q)
        row_add(X, i, -moved, w)
        if average:
            row_add(X, i, _of_row(m, r, sum_g, sum_v, q) - Omega * moved, sum_w)
        mass[q] += m
        row_add(X, i, m, total[q])
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            for c in range(tau):
                Z[q, j, c] += x * r[c]
        _products_add(row, r, zx, tx, ZZ, Zt, tt)
        _own_add(row, r, zx, tx, s, Zw, tw)
        # and meets the other
        T = mass[o]
        if T == 0.0:
            continue
        steps += 1.0
        cw = omega * tw[o] / T
        f = _spread(omega, o, Zw, cw, T, s, centered, u)
        rate = eta
        if eta == 0.0:
            curvature = _curvature(xx - 2.0 * tx[o] / T, o, T, centered, s, ZZ, Zt, tt)
            kappa = max(kappa, weight * (curvature + lam))
            rate = automatic_step(kappa, steps, _distance2(mass[q], T, q, tt), lam) / slower
        rate *= weight
        # w ← (1 − ηα) w − η (ρ x − (ρ + f/T) t/T + Z u/T) with the residual ρ
        residual = omega * wx - cw - y
        omega *= 1.0 - rate * lam
        if not _MIN_SCALE < abs(omega) < 1.0 / _MIN_SCALE:
            _fold(omega, Omega, w, sum_w, v, g, Zw, tw)
            omega, Omega = 1.0, 0.0
        h = -rate * residual / omega, rate * (residual + f / T) / (T * omega), -rate / (T * omega)
        scaled_add(X, i, h[0], Omega, w, sum_w)
        _weights_move(h, o, u, v, g)
        _sums_move(h, o, u, tx, tw, Zt, tt)
        _sketches_move(h, o, u, zx, Zw, ZZ, Zt)
        if average:
            Omega += omega
            _average_add(omega, g, v, sum_g, sum_v)
    k["kappa"], k["steps"], k["omega"], k["sum"] = kappa, steps, omega, Omega


@inlined
def _score(wx, g, v, tx, zx):
    """Return w·x without ω; ``wx`` is a·x."""
    wx = wx + g[0] * tx[0] + g[1] * tx[1]
    for c in range(zx.shape[1]):
        wx += v[0, c] * zx[0, c] + v[1, c] * zx[1, c]
    return wx


@inlined
def _of_row(m, r, g, v, q):
    """Return the factor with which a row that enters Z and t enters Z v + g t."""
    share = m * g[q]
    for c in range(len(r)):
        share += r[c] * v[q, c]
    return share


@inlined
def _products_add(row, r, zx, tx, ZZ, Zt, tt):
    """Update ZᵀZ, Zᵀt and t·t for a row that enters its class."""
    q, m, xx, _ = row
    o, tau = 1 - q, len(r)
    for b in range(tau):
        for c in range(tau):
            ZZ[q, q, b, c] += zx[q, b] * r[c] + r[b] * zx[q, c] + xx * r[b] * r[c]
            ZZ[q, o, b, c] += r[b] * zx[o, c]
            ZZ[o, q, c, b] = ZZ[q, o, b, c]
    for c in range(tau):
        Zt[q, q, c] += r[c] * (tx[q] + m * xx) + m * zx[q, c]
        Zt[q, o, c] += r[c] * tx[o]
        Zt[o, q, c] += m * zx[o, c]
    tt[q, q] += m * (2.0 * tx[q] + m * xx)
    tt[q, o] += m * tx[o]
    tt[o, q] = tt[q, o]


@inlined
def _own_add(row, r, zx, tx, s, Zw, tw):
    """Update s and the products with x and w for a row that enters its class."""
    q, m, xx, wx = row
    for c in range(len(r)):
        s[q, c] += r[c]
        Zw[q, c] += r[c] * wx
        zx[q, c] += xx * r[c]
    tw[q] += m * wx
    tx[q] += m * xx


@inlined
def _spread(omega, o, Zw, cw, T, s, centered, u):
    """Set u, and return f, of S w = (Z u − f t/T)/T for class o."""
    f = 0.0
    for c in range(len(u)):
        u[c] = omega * Zw[o, c]
        if centered:
            u[c] -= s[o, c] * cw
            f += s[o, c] * u[c]
        else:
            f += s[o, c] * s[o, c] * cw / T
    return f


@inlined
def _curvature(away2, o, T, centered, s, ZZ, Zt, tt):
    """Return the curvature of a step against class o; ``away2`` is ‖x‖² − 2 t·x/T."""
    away2 += tt[o, o] / T**2
    bound = 0.0
    for c in range(s.shape[1]):
        bound += ZZ[o, o, c, c]
        if centered:
            bound += s[o, c] * (s[o, c] * tt[o, o] / T - 2.0 * Zt[o, o, c]) / T
    return max(away2, 0.0) + max(bound, 0.0) / T


@inlined
def _average_add(omega, g, v, sum_g, sum_v):
    """Add the coefficients of an iterate to those of the sum."""
    for a in range(2):
        sum_g[a] += omega * g[a]
        for c in range(v.shape[1]):
            sum_v[a, c] += omega * v[a, c]


@inlined
def _fold(omega, Omega, w, sum_w, v, g, Zw, tw):
    """Fold ω into the vectors and the products with w, and Ω into the sum of the iterates."""
    for j in range(len(w)):
        sum_w[j] -= Omega * w[j]
        w[j] *= omega
    for a in range(2):  # loops compile twice as fast as array expressions
        g[a] *= omega
        tw[a] *= omega
        for c in range(v.shape[1]):
            v[a, c] *= omega
            Zw[a, c] *= omega


@inlined
def _distance2(M, T, q, tt):
    """Return ‖δ‖², given the weights of class q and of the other."""
    return tt[q, q] / M**2 - 2.0 * tt[q, 1 - q] / (M * T) + tt[1 - q, 1 - q] / T**2


@inlined
def _weights_move(h, o, u, v, g):
    """Add h₁ t + h₂ Z u, of class o, to w."""
    g[o] += h[1]
    for c in range(len(u)):
        v[o, c] += h[2] * u[c]


@inlined
def _sums_move(h, o, u, tx, tw, Zt, tt):
    """Update t·w for h₀ x + h₁ t + h₂ Z u, of class o, added to w."""
    for a in range(2):
        tw[a] += h[0] * tx[a] + h[1] * tt[a, o]
        for c in range(len(u)):
            tw[a] += h[2] * Zt[o, a, c] * u[c]


@inlined
def _sketches_move(h, o, u, zx, Zw, ZZ, Zt):
    """Update Zᵀw for h₀ x + h₁ t + h₂ Z u, of class o, added to w."""
    for a in range(2):
        for b in range(len(u)):
            gained = h[0] * zx[a, b] + h[1] * Zt[a, o, b]
            for c in range(len(u)):
                gained += h[2] * ZZ[a, o, b, c] * u[c]
            Zw[a, b] += gained
