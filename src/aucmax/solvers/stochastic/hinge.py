"""What the learners of the hinge loss share: one step per row on

    F(w) = mean over rows of max(0, 1 − y w·x) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ],    ρ = 0 or 1,

without a bias. The papers write λ‖w‖₂², so that their λ is α/2 for l2, and α for l1.

No step touches more than the row's stored entries. With l2 that is a scale in front of a vector;
with l1 the other coordinates only move towards zero, by amounts that do not depend on them, and
catch up when they are next met (`last_below`).
"""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import Rows, compiled, n_rows, products
from aucmax.solvers.stochastic.core import Sampler, StochasticSolver

__all__ = ["SLOWER", "STEPS", "HingeSolver", "Pass", "last_below", "thresholded_sums"]

_RETRIES = 8  # times the automatic step may be quartered in a fit


class Pass(NamedTuple):
    """Rows in the order in which they take their steps.

    ``sign``, ``weight`` and ``norm2``, the ‖x‖², belong to the rows of X; ``order`` and ``scale``
    to the steps. ``scale`` is the mean of ‖x‖², over all rows or over those met by that step;
    ``slower`` divides the automatic step.
    """

    X: Rows
    order: np.ndarray
    sign: np.ndarray
    weight: np.ndarray
    norm2: np.ndarray
    scale: np.ndarray
    slower: float

    def steps(self, state: dict[str, Any]) -> np.ndarray:
        """Return the numbers t of the steps, after those the state has taken."""
        return state["k"][STEPS] + np.arange(1.0, len(self.order) + 1.0)


# where in state["k"]: the steps taken, how many iterates the sum holds, what divides the automatic
# step, and the sum of weight·‖x‖²
STEPS, AVERAGED, SLOWER, MOMENT = range(4)


class HingeSolver(StochasticSolver):
    """Base of the learners of the hinge loss, those of `HingeClassifier`.

    A subclass takes the steps of a pass (`_steps`) on a state with the iterate ``w`` and the sum
    of iterates ``sum``; what else it keeps it adds in `begin`. Where its `step_setting` is "auto"
    an epoch of a fit that ends above F(0) is taken back and done again with a quarter of the step,
    so that no data set makes it diverge.
    """

    losses = ("hinge",)
    accuracy = True
    n_epochs: int
    order: str
    average: bool

    def _steps(self, state: dict[str, Any], rows: Pass, penalty: ElasticNet) -> None:
        """Take the steps of a pass, in place."""
        raise NotImplementedError

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[np.ndarray, float, dict[str, Any]]]:
        number(self.n_epochs, "n_epochs", low=1, whole=True)
        X, n, d = problem.rows(), problem.n_samples, problem.n_features
        norm2 = products.row_norms2(X)
        scale = np.full(n, float(problem.weight @ norm2) / n)
        sampler, penalty, auto = Sampler(n, self.order, rng), objective.penalty, self._automatic
        slower, wasted, ceiling = 1.0, 0, objective.value(np.zeros(d))
        state = self._fresh(problem, penalty, scale[0], start, slower)
        for epoch in range(min(self.n_epochs, max_iter)):
            before = copy.deepcopy(state) if auto else state
            while True:
                rows = Pass(X, sampler.take(n), problem.sign, problem.weight, norm2, scale, slower)
                self._run(state, rows, penalty)
                if not auto or objective.value(self.current(state)) <= ceiling:
                    break
                # the automatic step is too long for these rows: take the epoch back
                if wasted == _RETRIES:
                    yield self.current(before).copy(), epoch + 1.0 + wasted, before
                    return
                slower, wasted = 4.0 * slower, wasted + 1
                if epoch == 0:  # the start may depend on the step
                    before = self._fresh(problem, penalty, scale[0], start, slower)
                state = copy.deepcopy(before)
                state["k"][SLOWER] = slower
            yield self.current(state).copy(), epoch + 1.0 + wasted, state

    @property
    def _automatic(self) -> bool:
        return bool(getattr(self, self.step_setting) == "auto" and self._chosen_here)

    @property
    def _chosen_here(self) -> bool:
        """Whether "auto" is this library's step, and not one that a paper fixes."""
        return True

    def _fresh(
        self,
        problem: MemoryProblem,
        penalty: ElasticNet,
        scale: float,
        start: np.ndarray | None,
        slower: float,
    ) -> dict[str, Any]:
        state = self.begin(problem.n_features, penalty)
        state["mass"] = problem.unit * np.array([problem.n_pos, problem.n_neg])
        state["k"][[SLOWER, MOMENT]] = slower, scale * state["mass"].sum()
        if start is not None:
            self._start(state, start, penalty, scale)
        return state

    def _start(
        self, state: dict[str, Any], start: np.ndarray, penalty: ElasticNet, scale: float
    ) -> None:
        """Begin at ``start``; ``scale`` is the mean of ‖x‖²."""
        state["w"][:] = start

    def _run(self, state: dict[str, Any], rows: Pass, penalty: ElasticNet) -> None:
        self._steps(state, rows, penalty)
        state["k"][STEPS] += len(rows.order)
        if self.average:
            state["k"][AVERAGED] += len(rows.order)

    # ---- partial_fit -----------------------------------------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        self._check(penalty)
        return {
            "mass": np.zeros(2),
            "total": np.zeros((2, 0)),  # no class means: there is no intercept
            "w": np.zeros(n_features),
            "sum": np.zeros(n_features),
            "k": np.array([0.0, 0.0, 1.0, 0.0]),
        }

    def _check(self, penalty: ElasticNet) -> None:
        """Raise for a penalty that the solver cannot do with."""
        if penalty.l1 > 0.0 and not self.takes_l1:
            raise ValueError(f"{type(self).__name__} takes no l1 penalty; use l1_ratio=0.")

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        self._check(penalty)
        norm2 = products.row_norms2(X)
        order = Sampler(n_rows(X), self.order, rng).take(n_rows(X))
        taken = weight[order]
        moment = state["k"][MOMENT] + np.cumsum(taken * norm2[order])
        scale = moment / (state["mass"].sum() + np.cumsum(taken))
        slower = float(state["k"][SLOWER])
        self._run(state, Pass(X, order, sign, weight, norm2, scale, slower), penalty)
        state["k"][MOMENT] = moment[-1]
        state["mass"] += [taken[sign[order] > 0].sum(), taken[sign[order] < 0].sum()]

    def current(self, state: dict[str, Any]) -> np.ndarray:
        if self.average and state["k"][AVERAGED] > 0.0:
            return state["sum"] / state["k"][AVERAGED]
        return state["w"]


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
