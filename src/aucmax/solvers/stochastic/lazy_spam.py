"""SPAM's steps with an elastic net, for rows with few entries.

A coordinate stays untouched until a row contains it again; then all the thresholds it has missed
apply at once. A heap finds the coordinates that become 0 in a step: a(w) and b(w) lose their
entries of μ±.
"""

import numpy as np

from aucmax.data.rows import compiled, inlined, row_dot, row_entry, row_size
from aucmax.solvers.stochastic.expiry import heap_fill, heap_pop, heap_put
from aucmax.solvers.stochastic.scaled import MIN_SCALE

__all__ = ["lazy_steps", "pairs", "slope"]


@inlined
def slope(q, wx, a, b, pos, neg):
    """Return the factor of x in G, from w·x, a = w·Σ₊x, b = w·Σ₋x and the class weights."""
    p = pos / (pos + neg)
    if q == 0:
        return 2.0 * (1.0 - p) * (wx - b / neg - 1.0)
    return 2.0 * p * (wx - a / pos + 1.0)


@inlined
def pairs(pos, neg):
    """Return 2p(1−p), which converts J's penalty to the paper's scale."""
    p = pos / (pos + neg)
    return 2.0 * p * (1.0 - p)


@compiled
def _fold(v, u, total, c, theta, S, B, P):
    """Set v to w and u to minus the sum of the iterates; recompute P; return a and b."""
    # the order by |v| does not change, so the heap stays valid
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


@inlined
def _row_score(X, i, v, theta):
    """Return x·w/c, where w_j/c is v_j moved towards 0 by θ."""
    score = 0.0
    for e in range(row_size(X, i)):
        j, x = row_entry(X, i, e)
        score += x * (v[j] - np.sign(v[j]) * theta)
    return score


@inlined
def _enter(X, i, weight, v, total, P, q):
    """Add a row to the sum of its class, and to P."""
    for e in range(row_size(X, i)):
        j, x = row_entry(X, i, e)
        total[q, j] += weight * x
        P[q] += weight * x * np.sign(v[j])


@inlined
def _signs_add(P, total, j, change):
    """Update P for a change of the sign of v_j."""
    P[0] += change * total[0, j]
    P[1] += change * total[1, j]


@compiled
def lazy_steps(visits, eta, classes, settings, v, u, queue, P):
    # θ is the sum of the thresholds, each divided by the scale c. With σ = sign v_j,
    # w_j = c σ (|v_j| − θ) until θ reaches |v_j|; from then on v_j = 0. a and b, also divided by c,
    # fall by P = Σ σ total_j as θ grows by 1. The sum of the iterates is S v − B σ − u, where
    # S = Σ c and B = Σ c θ over the steps.
    X, order, rows = visits
    mass, total, dots = classes
    running, l2, l1, average = settings
    heap, place = queue
    c, S, theta, B = 1.0, 0.0, 0.0, 0.0
    a, b = _fold(v, u, total, c, theta, S, B, P)
    size = heap_fill(v, heap, place)
    for t in range(len(order)):
        i = order[t]
        q, weight = 0 if rows[i]["sign"] > 0 else 1, rows[i]["weight"]
        vx = _row_score(X, i, v, theta)
        if running:
            _enter(X, i, weight, v, total, P, q)
            a, b = a + (1 - q) * weight * vx, b + q * weight * vx
            xa, xb = row_dot(X, i, total[0]), row_dot(X, i, total[1])
        else:
            xa, xb = dots[i, 0], dots[i, 1]
        g = slope(q, c * vx, c * a, c * b, mass[t, 0], mass[t, 1])
        # w ← soft(w − ηgx, ηβ₁)/(1 + ηβ): the gradient moves the row's entries, soft moves all
        h = -eta[t] * weight * g / c
        scale = eta[t] * pairs(mass[t, 0], mass[t, 1])
        threshold = scale * l1 / c
        a, b = a + h * xa, b + h * xb
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            old, s_old = v[j], np.sign(v[j])
            now = old - s_old * theta + h * x
            s_now = np.sign(now)
            if abs(now) <= threshold:  # 0 after this step
                a, b = a - now * total[0, j], b - now * total[1, j]
                now, s_now = 0.0, 0.0
            now += s_now * theta
            v[j] = now
            if average:
                u[j] += S * (now - old) - B * (s_now - s_old)
            if s_now != s_old:
                _signs_add(P, total, j, s_now - s_old)
            size = heap_put(v, heap, place, size, np.int64(j))
        while size > 0 and abs(v[heap[0]]) <= theta + threshold:
            j, size = heap_pop(v, heap, place, size)
            s = np.sign(v[j])
            left = v[j] - s * theta
            a, b = a - left * total[0, j], b - left * total[1, j]
            _signs_add(P, total, j, -s)
            if average:
                u[j] -= S * v[j] - B * s
            v[j] = 0.0
        a, b = a - threshold * P[0], b - threshold * P[1]
        theta += threshold
        c /= 1.0 + scale * l2
        S += c
        B += c * theta
        if c < MIN_SCALE:
            a, b = _fold(v, u, total, c, theta, S, B, P)
            c, S, theta, B = 1.0, 0.0, 0.0, 0.0
    _fold(v, u, total, c, theta, S, B, P)
