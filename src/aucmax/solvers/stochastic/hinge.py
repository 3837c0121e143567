"""The base of the learners of the hinge loss, which take one step per row on

    F(w) = mean over rows of max(0, 1 − y w·x) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ],    ρ = 0 or 1,

without a bias. The papers write λ‖w‖₂² for l2, so that their λ is α/2, and λ‖w‖₁ for l1.

A step touches only the stored entries of its row. With l2 the other coordinates are multiplied by
one number, so w is kept as a scale times a vector. With l1 they all move towards 0 by the same
threshold, and catch up when a row next contains them (`Missed`).
"""

from typing import NamedTuple

import numpy as np

from aucmax.data.rows import compiled, inlined
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty, soft
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.core import State, StochasticSolver
from aucmax.solvers.stochastic.scaled import scaled

__all__ = ["HingeSolver", "Missed", "left", "sum_until"]


class HingeSolver(StochasticSolver):
    """Base of the learners of the hinge loss, for `HingeClassifier`.

    With l1, v in the state is w, and u is minus the sum of the iterates.
    """

    sums_rows = False  # there is no intercept
    origin_remedy = "centre the features first, as StandardScaler does"

    def unfit(self, objective: Objective) -> str | None:
        reason = lacking(
            objective, single=True, loss=("kinked",), penalty="elastic net", data=("rows",)
        )
        if reason is None and objective.penalty.l1_ratio not in (0, 1):
            return "takes l1_ratio=0 or 1 only"
        return reason

    def begin(self, d: int, penalty: Penalty) -> State:
        self.check_penalty(penalty)
        return scaled(d)

    def check_penalty(self, penalty: Penalty) -> None:
        """Raise ValueError for a penalty or settings that the solver does not support."""
        self.given_step()


class Missed(NamedTuple):
    """Thresholds that coordinates have missed since a row last contained them.

    The thresholds of steps 1, …, s sum to A_s, and A_0, …, A_s to B_s. The last row that contained
    coordinate j was that of step met_j = a, and gone_j = A_a. If the coordinate was w then, it is
    sign(w) max(level − A_s, 0) after step s, with level = |w| + gone_j. Until it is 0, its values
    sum to sign(w) ((s − a) level − (B_s − B_a)).
    """

    A: np.ndarray
    B: np.ndarray
    met: np.ndarray
    gone: np.ndarray

    @classmethod
    def of(cls, thresholds: np.ndarray, d: int) -> "Missed":
        """Return the state of d coordinates before the first step, without missed thresholds."""
        A = np.concatenate([[0.0], np.cumsum(thresholds)])
        return cls(A, np.cumsum(A), np.zeros(d, dtype=np.int64), np.zeros(d))

    def catch_up(self, w: np.ndarray, u: np.ndarray, average: bool) -> None:
        """Update w, and with ``average`` also u, to their values after the last step."""
        A, B, a, gone = self
        if average:
            level = np.abs(w) + gone
            last = np.clip(np.searchsorted(A, level) - 1, a, len(A) - 1)
            u -= np.sign(w) * ((last - a) * level - (B[last] - B[a]))
        w[:] = soft(w, A[-1] - gone)


@inlined
def left(w, missed):
    """Return soft(w, missed)."""
    return max(w - missed, 0.0) + min(w + missed, 0.0)


@inlined
def sum_until(w, a, gone, t, A, B):
    """Return the sum of the iterates of a coordinate after steps a+1, …, t of `Missed`."""
    if w == 0.0:
        return 0.0
    level = abs(w) + gone
    last = t if level > A[t] else _last_below(level, a, t, A)
    return np.sign(w) * ((last - a) * level - (B[last] - B[a]))


@compiled
def _last_below(level, a, t, A):
    """Return the largest s in a, …, t with A_s < level, where A_a < level ≤ A_t."""
    while t - a > 1:
        middle = (a + t) // 2
        if A[middle] < level:
            a = middle
        else:
            t = middle
    return a
