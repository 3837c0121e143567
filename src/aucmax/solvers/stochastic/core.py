"""What the stochastic solvers share: sample order, epochs, divergence, and going on with new rows.

A subclass gives four verbs on one state, a plain dict of arrays and numbers so that it can be
saved: `begin` makes it, `take` runs steps over some rows, `current` reads the solution.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MemoryProblem
from aucmax.rows import Rows
from aucmax.solvers.base import Result, Run, Solver, lacking

__all__ = ["ORDERS", "Sampler", "StochasticSolver"]

ORDERS = ("shuffle", "cyclic", "random")


class Sampler:
    """Gives the rows' order: each epoch shuffled, as they are, or with replacement.

    Parameters
    ----------
    n : int
        Number of rows.
    order : {"shuffle", "cyclic", "random"}
    rng : RandomState
    """

    def __init__(self, n: int, order: str, rng: np.random.RandomState) -> None:
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}; got {order!r}.")
        self.n, self.order, self.rng = n, order, rng
        self._left = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> np.ndarray:
        """Return the next ``count`` positions; an epoch goes on where the last take ended."""
        if self.order == "random":
            return self.rng.randint(0, self.n, size=count).astype(np.int64)
        while len(self._left) < count:
            epoch = np.arange(self.n) if self.order == "cyclic" else self.rng.permutation(self.n)
            self._left = np.concatenate([self._left, epoch.astype(np.int64)])
        taken, self._left = self._left[:count], self._left[count:]
        return taken


class StochasticSolver(Solver):
    """Base of the solvers that take one step per row.

    Subclasses hold ``n_epochs`` (or their own name for it) and ``order`` among their settings.
    """

    losses: ClassVar[tuple[str, ...]] = ("square",)
    takes_l1: ClassVar[bool] = True
    accuracy: ClassVar[bool] = False
    # how far above J(0), as a share of it, the end may lie before that is called divergence
    slack: ClassVar[float] = 1e-3
    # which setting to lower, or to raise, when it diverges
    step_setting: ClassVar[str] = "step_size"
    step_remedy: ClassVar[str] = "lower"

    def unfit(self, objective: Objective) -> str | None:
        kinds = ["quadratic"] * (not self.accuracy) + ["kinked"] * ("hinge" in self.losses)
        reason = lacking(
            objective,
            loss=kinds,
            single=self.accuracy,
            differentiable=not self.takes_l1 and "alpha" not in self.own,
            data=("rows",),
        )
        if reason is None and self.accuracy and objective.penalty.l1_ratio not in (0, 1):
            return "takes l1_ratio=0 or 1 only"
        return reason

    def epochs(
        self,
        objective: Objective,
        problem: MemoryProblem,
        start: np.ndarray | None,
        max_iter: int,
        rng: np.random.RandomState,
    ) -> Iterator[tuple[Any, ...]]:
        """Yield (solution, passes) after every epoch or stage, at most ``max_iter`` times.

        A third entry, if there is one, is the state from which `take` goes on; without it
        `resume` makes one. It may change in place.
        """
        raise NotImplementedError

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        problem = objective.problem
        assert isinstance(problem, MemoryProblem)
        zero = np.zeros(problem.n_features)
        w = zero if start is None else start
        count, message, state = 0, None, None
        for new, passes, *rest in self.epochs(objective, problem, start, run.max_iter, run.rng):
            count += 1
            state = rest[0] if rest else None
            if not np.all(np.isfinite(new)):
                message = self._diverged(f"its weights were not finite after epoch {count}")
                break
            w = new
            if run.monitor(w, passes) or run.monitor.optimality <= run.tol:
                break
        if message is None and not objective.value(w) <= (1 + self.slack) * objective.value(zero):
            message = self._diverged("the objective at the end is above its value at w = 0")
        return Result(w, max(count, 1), message, state=state)

    def _diverged(self, sign: str) -> str:
        name = self.step_setting
        return (
            f"{type(self).__name__} diverged ({sign}); {self.step_remedy} {name} "
            f"(now {getattr(self, name, None)!r}) or use {name}='auto'."
        )

    # ---- going on with new rows: partial_fit -----------------------------------------------

    def begin(self, n_features: int, penalty: ElasticNet) -> dict[str, Any]:
        """Return the state before the first row."""
        raise NotImplementedError

    def resume(
        self, problem: MemoryProblem, penalty: ElasticNet, coef: np.ndarray, n_iter: int
    ) -> dict[str, Any]:
        """Return the state after a fit, from which more rows go on."""
        state = self.begin(problem.n_features, penalty)
        means = np.stack(problem.raw_means())
        state["mass"] = problem.unit * np.array([problem.n_pos, problem.n_neg])
        state["total"] = state["mass"][:, None] * means
        self.place(state, coef, n_iter * problem.n_samples)
        return state

    def place(self, state: dict[str, Any], coef: np.ndarray, steps: int) -> None:
        """Put the iterate of a fresh state at ``coef`` after so many steps."""
        raise NotImplementedError

    def check_steps(self, state: dict[str, Any], n_features: int, penalty: ElasticNet) -> None:
        """Raise ValueError unless steps that `begin` began can go on from this state.

        Kernels do not look at the bounds of arrays.
        """
        for name, zeros in self.begin(n_features, penalty).items():
            if not _alike(state.get(name), zeros):
                raise ValueError(
                    f"the state of {type(self).__name__} ({name}) does not fit its settings and "
                    f"{n_features} features; begin with a new estimator."
                )

    def take(
        self,
        state: dict[str, Any],
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        """Take one pass of steps over new rows, in place."""
        raise NotImplementedError

    def current(self, state: dict[str, Any]) -> np.ndarray:
        """Return the solution the state stands for, shape (d,)."""
        raise NotImplementedError


def _alike(value: Any, fresh: Any) -> bool:
    """Tell whether a part of a state is of the kind and shape that it has at the beginning."""
    if not isinstance(fresh, np.ndarray):
        return fresh is None or isinstance(value, type(fresh))
    if not isinstance(value, np.ndarray) or value.dtype != fresh.dtype:
        return False
    first = int(fresh.shape[:1] == (0,))  # buffers begin without rows
    return value.shape[first:] == fresh.shape[first:] and bool(np.isfinite(value).all())
