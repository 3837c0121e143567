"""w = scale · v, so that an l2 penalty, which multiplies w, changes only one number.

The sum of the iterates is kept as sum · v − u. With c the scale and S its sum over the steps,
Σ_t c_t v_t = S_T v_T − Σ_t S_{t−1}(v_t − v_{t−1}): each change of v is added S times to u.
"""

from typing import Any

import numpy as np

from aucmax.data.rows import compiled, inlined, row_add_both
from aucmax.solvers.stochastic.samples import Batch

__all__ = [
    "MIN_SCALE",
    "fold",
    "numbers",
    "scaled",
    "scaled_add",
    "solution",
    "squared",
    "times",
    "unscaled",
]


def numbers(*names: str) -> np.ndarray:
    """Return a record of zeros, shape (1,); Python and kernels access the fields of [0] by name."""
    return np.zeros(1, dtype=[(name, np.float64) for name in names])


MIN_SCALE = 1e-4  # smaller scales are folded into v, because the average would lose more digits


def scaled(d: int, *names: str) -> dict[str, np.ndarray]:
    """Return the state of w = 0: ``v``, ``u`` and the record ``k``.

    ``k`` holds scale, sum, steps (the number of iterates in the sum), and ``names``.
    """
    k = numbers("scale", "sum", "steps", *names)
    k["scale"] = 1.0
    return {"v": np.zeros(d), "u": np.zeros(d), "k": k}


def solution(state: dict[str, Any], average: bool) -> np.ndarray:
    """Return w, or the mean of the iterates."""
    k = state["k"][0]
    if average and k["steps"] > 0.0:
        return (k["sum"] * state["v"] - state["u"]) / k["steps"]
    return k["scale"] * state["v"]


def times(state: dict[str, Any], batch: Batch) -> np.ndarray:
    """Return the numbers t of a batch's steps, counted from the very first step."""
    first = float(state["k"][0]["steps"]) + 1.0
    return np.arange(first, first + len(batch.order))


def unscaled(state: dict[str, Any]) -> None:
    """Fold the scale into the vectors, so that v is w, and u is minus the sum of the iterates."""
    k = state["k"][0]
    fold(k["scale"], k["sum"], state["v"], state["u"])
    k["scale"], k["sum"] = 1.0, 0.0


@compiled
def fold(c, S, v, u):
    """Fold scale and sum into the vectors, so that c = 1 and S = 0 give the same w and sum."""
    for j in range(len(v)):
        u[j] -= S * v[j]
        v[j] *= c


@inlined
def scaled_add(X, i, h, S, v, u):
    """Add h x_i to v and S h x_i to u, for the sum of the iterates.

    Without an average, call `row_add` instead. That choice belongs in the kernel: with a branch
    here, Numba would count references to all arrays at each step.
    """
    row_add_both(X, i, h, v, h * S, u)


@compiled
def squared(v):
    """Return ‖v‖²."""
    s = 0.0
    for j in range(len(v)):
        s += v[j] * v[j]
    return s
