"""w = scale · v: the vector of a learner whose penalty multiplies all of w by a number.

A step of an l2 penalty is then one multiplication of the scale, and touches no entry. The sum of
the iterates is kept as sum · v − u, since Σ_t c_t v_t = S_T v_T − Σ_t S_{t−1}(v_t − v_{t−1}), S
being the sum of the scales c: a kernel that adds h x to v adds S h x to u.
"""

from typing import Any

import numpy as np

from aucmax.rows import compiled
from aucmax.solvers.stochastic.samples import Batch

__all__ = ["FOLD", "fold", "numbers", "scaled", "solution", "times", "unscaled"]


def numbers(*names: str) -> np.ndarray:
    """Return one record of zeros, shape (1,): Python and kernels read and write its [0] by name."""
    return np.zeros(1, dtype=[(name, np.float64) for name in names])


FOLD = 1e-4  # the average loses this factor of its digits before the scale is folded into v


def scaled(d: int, *names: str) -> dict[str, np.ndarray]:
    """Return the state of w = scale · v, with Σ iterates = sum · v − u: ``v``, ``u`` and ``k``.

    A step of an l2 penalty multiplies w by a number, which is then one multiplication of the
    scale. The sum holds because Σ_t c_t v_t = S_T v_T − Σ_t S_{t−1}(v_t − v_{t−1}), S being the
    sum of the scales c: a kernel that adds h x to v adds S h x to u.

    ``k`` holds scale, sum, steps (so many iterates are in the sum), and ``names``.
    """
    k = numbers("scale", "sum", "steps", *names)
    k["scale"] = 1.0
    return {"v": np.zeros(d), "u": np.zeros(d), "k": k}


def solution(state: dict[str, Any], average: bool) -> np.ndarray:
    """Return w, or the mean of the iterates, of a state that `scaled` began."""
    k = state["k"][0]
    if average and k["steps"] > 0.0:
        return (k["sum"] * state["v"] - state["u"]) / k["steps"]
    return k["scale"] * state["v"]


def times(state: dict[str, Any], batch: Batch) -> np.ndarray:
    """Return the numbers t of a batch's steps, after those the state has taken."""
    return state["k"][0]["steps"] + np.arange(1.0, len(batch.order) + 1.0)


def unscaled(state: dict[str, Any]) -> None:
    """Take the scale of a state into its vectors: v is then w, and u minus the sum of iterates."""
    k = state["k"][0]
    fold(k["scale"], k["sum"], state["v"], state["u"])
    k["scale"], k["sum"] = 1.0, 0.0


@compiled
def fold(c, S, v, u):
    """Take scale and sum into the vectors: they mean the same with c = 1 and S = 0."""
    for j in range(len(v)):
        u[j] -= S * v[j]
        v[j] *= c
