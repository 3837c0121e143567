"""The base of the stochastic learners: epochs, streams, restarts, averages.

A learner has three methods on one state, a dict of arrays that can be saved: `begin` creates it,
`step` takes the steps over a batch of rows in one compiled kernel, and `current` returns the
solution. `fit` runs epochs, each of which does what `partial_fit` does once; either continues from
the other's state.
"""

import copy
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState

from aucmax.basics.checks import number
from aucmax.data.rows import Rows, n_rows
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty
from aucmax.solvers.base import Result, Run, Solver, lacking
from aucmax.solvers.stochastic.samples import Batch, Classes, Sampler, Whole
from aucmax.solvers.stochastic.scaled import solution

__all__ = ["Epoch", "State", "StochasticSolver"]

State = dict[str, Any]
_MAX_STEP_CUTS = 8  # maximum number of times to quarter the automatic step
_MAX_OFFSET_RATIO = 100.0  # mean ‖x‖² over mean ‖x − μ‖² above which rows are far from the origin
_MAX_UNGAINED_SHARE = 0.5  # of the possible improvement of J, above which a fit warns


class Epoch(NamedTuple):
    """The solution after an epoch, the passes over the data so far, the state, and J(w) if known.

    ``state`` changes in place; ``coef`` (d,) and ``value`` do not.
    """

    coef: np.ndarray
    passes: float
    state: State
    value: float | None = None


class StochasticSolver(Solver):
    """Base of the solvers that take one step per row.

    With an automatic step, an epoch that ends above J(0) is undone and repeated with a quarter of
    the step. Sample weights multiply the gradient of their row. ``partial_fit`` takes the same
    steps as ``fit``: with a fixed step, a stream gives the result of one pass in file order,
    however it is divided into calls.

    A ``ConvergenceWarning`` says that a fit diverged, or that it missed the optimum because rows
    are far from the origin: the mean of ‖x‖² is more than 100 times that of ‖x − μ‖², and more than
    half of the possible improvement over equal scores is missing. ``partial_fit`` never sees all
    rows and gives neither warning: it warns only if the weights are not finite.

    Parameters
    ----------
    n_epochs : int
        Passes over the rows.
    order : {"shuffle", "cyclic", "random"}
        Shuffle the rows in each epoch, take them in file order, or draw them with replacement.
    average : bool
        Return the mean of all iterates instead of the last.
    tol : float, optional
        Stop at this optimality, measured after each epoch; None never stops early.
    """

    # share of J(0) by which J may end above J(0) without counting as divergence
    slack: ClassVar[float] = 1e-3
    # the setting of the step, and whether to lower or raise it after divergence
    step_setting: ClassVar[str] = "step_size"
    step_remedy: ClassVar[str] = "lower"
    # what to do about rows far from the origin; None if no step depends on the origin
    origin_remedy: ClassVar[str | None] = (
        "centre the features first, as StandardScaler does, or use solver='auto'"
    )
    # whether the base class sums the rows of each class, for an intercept
    sums_rows: ClassVar[bool] = True
    # parts of the state that are drawn at random once, and kept when a fit starts again
    drawn: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        n_epochs: int = 15,
        order: str = "shuffle",
        average: bool = True,
        tol: float | None = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.order = order
        self.average = average
        self.tol = tol

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic",), data=("rows",))

    # ---- to be implemented -------------------------------------------------------------------

    def begin(self, d: int, penalty: Penalty) -> State:
        """Check the settings; return the state before the first row."""
        raise NotImplementedError

    def step(self, state: State, batch: Batch, penalty: Penalty, rng: RandomState) -> None:
        """Take the steps of a batch, in place; ``state["slower"]`` divides an automatic step."""
        raise NotImplementedError

    def current(self, state: State) -> np.ndarray:
        """Return the solution of a state, shape (d,)."""
        if "w" in state:
            return state["w"]
        return solution(state, getattr(self, "average", False))

    def place(self, state: State, start: np.ndarray, penalty: Penalty, classes: Classes) -> None:
        """Move a fresh state to ``start``; ``classes`` are the sums of the training set."""
        state["w" if "w" in state else "v"][:] = start

    def steps_for(self, n: int) -> int:
        """Return the number of steps in a pass over n rows."""
        return n

    def given_step(self) -> float | None:
        """Return the checked setting of the step; None if it is "auto"."""
        name, value = self.step_setting, getattr(self, self.step_setting)
        return None if value == "auto" else float(number(value, name, open_low=True))

    @property
    def automatic(self) -> bool:
        """Whether the step is chosen automatically, and shortened if it is too long."""
        return bool(getattr(self, self.step_setting) == "auto")

    # ---- fit: epochs -------------------------------------------------------------------------

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        tol = 0.0 if self.tol is None else self.settled(run).tol
        w = np.zeros(objective.problem.n_features) if start is None else start
        count, message, state, value = 0, None, None, None
        for epoch in self.epochs(objective, start, run):
            count, state = count + 1, epoch.state
            if not np.all(np.isfinite(epoch.coef)):
                message = self._diverged(f"its weights were not finite after epoch {count}")
                break
            w, value = epoch.coef, epoch.value
            if run.monitor(w, epoch.passes) or (tol > 0.0 and run.monitor.measure(w) <= tol):
                break
        if message is None:
            value = self._value(objective, w) if value is None else value
            if not value <= (1 + self.slack) * objective.at_zero:
                message = self._diverged("the objective at the end is above its value at w = 0")
        return Result(w, max(count, 1), message, state=state)

    def shortfall(self, objective: Objective, value: float, optimality: float) -> str | None:
        share = objective.share_to_gain(value, optimality)
        if self.origin_remedy is None or not share > _MAX_UNGAINED_SHARE:
            return None
        remoteness = objective.problem.remoteness
        if remoteness <= _MAX_OFFSET_RATIO:
            return None
        outcome = "the objective is no lower than with the same score for every row"
        if np.isfinite(share):
            outcome = f"{share:.0%} of the possible improvement over equal scores may be missing"
        return (
            f"{type(self).__name__} made little progress on rows far from the origin: {outcome}. "
            f"The rows are {np.sqrt(remoteness):.2g} times as far from the origin as from their "
            f"mean; {self.origin_remedy}."
        )

    def epochs(self, objective: Objective, start: np.ndarray | None, run: Run) -> Iterator[Epoch]:
        """Yield the solution after every epoch."""
        n_epochs = min(number(self.n_epochs, "n_epochs", low=1, whole=True), run.max_iter)
        problem, penalty, rng = objective.problem, objective.penalty, run.rng
        assert rng is not None
        rows = Whole(problem, problem.n_features * self.sums_rows)
        sampler, passes, slower = Sampler(problem.n_samples, self.order, rng), 0.0, 1.0
        state, finite = self.fresh(rows, penalty, start, {}), start
        sound, since, epoch = copy.deepcopy(state), 0, 0  # the last state below J(0), and when
        while epoch < n_epochs:
            for batch in rows.ordered(sampler.take(problem.n_samples)):
                self.step(state, batch, penalty, rng)
            epoch, passes = epoch + 1, passes + 1.0
            w, value = self.current(state).copy(), None
            # J costs a pass over the data: compute it after 1, 4, 16, … epochs and the last
            is_due = epoch in (max(4 * since, 1), n_epochs) or not np.all(np.isfinite(w))
            if self.automatic and is_due:
                value = self._value(objective, w)
                if value <= objective.at_zero:
                    sound, since = copy.deepcopy(state), epoch
                elif slower < 4.0**_MAX_STEP_CUTS:
                    epoch, slower = since, 4.0 * slower
                    if epoch == 0:  # the start may depend on the step size
                        sound = self.fresh(rows, penalty, start, state, slower)
                    state = copy.deepcopy(sound)
                    state["slower"][0] = slower
                    continue
                else:
                    state, epoch, value = sound, n_epochs, None
                    w = self.current(state).copy()
            if not np.all(np.isfinite(w)):  # a stream continues from the last finite weights
                state = self.fresh(rows, penalty, finite, state, slower)
            yield Epoch(w, passes, state, value)
            finite = w

    def fresh(
        self,
        rows: Whole,
        penalty: Penalty,
        start: np.ndarray | None,
        earlier: State,
        slower: float = 1.0,
    ) -> State:
        """Return the state before the first step of a fit; ``earlier`` is from an earlier try."""
        state = self.blank(rows.n_features, penalty) | rows.after._asdict()
        state |= {name: earlier[name] for name in self.drawn if name in earlier}
        state["slower"][0] = slower
        if start is not None:
            self.place(state, start, penalty, rows.after)
        return state

    def blank(self, d: int, penalty: Penalty) -> State:
        """Return the state before the first row, with the base class's sums over the classes."""
        classes = Classes(np.zeros(2), np.zeros((2, d * self.sums_rows)), np.zeros(2))
        return classes._asdict() | {"slower": np.ones(1)} | self.begin(d, penalty)

    def _value(self, objective: Objective, w: np.ndarray) -> float:
        """Return J(w) from the scores: `Objective.value` may also compute a gradient."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a diverging solver
            value = objective.at(objective.problem.scores(w)).value
            return value + objective.penalty.value(w)

    def _diverged(self, sign: str) -> str:
        name = self.step_setting
        return (
            f"{type(self).__name__} diverged ({sign}); {self.step_remedy} {name} "
            f"(now {getattr(self, name, None)!r}) or use {name}='auto'."
        )

    # ---- partial_fit: a stream ---------------------------------------------------------------

    def take(
        self,
        state: State,
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        penalty: Penalty,
        rng: RandomState,
    ) -> None:
        """Take one pass of steps over new rows, in place."""
        order = Sampler(n_rows(X), self.order, rng).take(self.steps_for(n_rows(X)))
        met = Classes(*(state[name] for name in Classes._fields))
        batch = Batch(X, sign, weight, order, met)
        self.step(state, batch, penalty, rng)
        state.update(batch.after._asdict())

    def check_steps(self, state: State, d: int, penalty: Penalty) -> None:
        """Raise ValueError unless the steps can continue from this state.

        Kernels do not check the bounds of arrays.
        """
        for name, zeros in self.blank(d, penalty).items():
            if not _alike(state.get(name), zeros):
                raise ValueError(
                    f"the state of {type(self).__name__} ({name}) does not fit its settings and "
                    f"{d} features; begin with a new estimator."
                )


def _alike(value: Any, fresh: Any) -> bool:
    """Return whether a part of a state has its initial type and shape."""
    if not isinstance(fresh, np.ndarray):
        return fresh is None or isinstance(value, type(fresh))
    if not isinstance(value, np.ndarray) or value.dtype != fresh.dtype:
        return False
    start = int(fresh.shape[:1] == (0,))  # buffers are initially empty
    numbers = value.view(np.float64) if value.dtype.names else value
    return value.shape[start:] == fresh.shape[start:] and bool(np.isfinite(numbers).all())
