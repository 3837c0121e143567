"""What the learners of the hinge loss share: one step per row on

    F(w) = mean over rows of max(0, 1 − y w·x) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ],    ρ = 0 or 1,

without a bias. The papers write λ‖w‖₂², so that their λ is α/2 for l2, and α for l1.

No step touches more than the row's stored entries. With l2 that is a scale in front of a vector;
with l1 the other coordinates only move towards zero, by amounts that do not depend on them, and
catch up when they are next met (`last_below`).
"""

from typing import Any

import numpy as np

from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.rows import compiled
from aucmax.solvers.base import lacking
from aucmax.solvers.stochastic.core import StochasticSolver
from aucmax.solvers.stochastic.scaled import scaled

__all__ = ["HingeSolver", "last_below", "thresholded_sums"]


class HingeSolver(StochasticSolver):
    """Base of the learners of the hinge loss, those of `HingeClassifier`.

    With l1 the state's v is w and its u minus the sum of the iterates.
    """

    sums_rows = False  # there is no intercept

    def unfit(self, objective: Objective) -> str | None:
        reason = lacking(objective, single=True, loss=("kinked",), data=("rows",))
        if reason is None and objective.penalty.l1_ratio not in (0, 1):
            return "takes l1_ratio=0 or 1 only"
        return reason

    def begin(self, d: int, penalty: ElasticNet) -> dict[str, Any]:
        self.check_penalty(penalty)
        return scaled(d)

    def check_penalty(self, penalty: ElasticNet) -> None:
        """Raise for a penalty, or settings, that the solver cannot do with."""


# ---- thresholds that are caught up with ---------------------------------------------------
#
# After step s the thresholds sum to A_s, and B_s is the sum of the A up to there. A coordinate of
# absolute value u after step a, met no more, is max(u + A_a − A_s, 0) after step s.


def thresholded_sums(u: np.ndarray, a: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return Σ max(u + A_a − A_s, 0) over s = a+1, … to the end of A, for each coordinate."""
    level = u + A[a]
    last = np.clip(np.searchsorted(A, level) - 1, a, len(A) - 1)
    return (last - a) * level - (B[last] - B[a])


@compiled
def last_below(level, a, t, A):
    """Return the largest s in a, …, t with A_s < level, where A_a < level ≤ A_t."""
    while t - a > 1:
        middle = (a + t) // 2
        if A[middle] < level:
            a = middle
        else:
            t = middle
    return a
