"""What the stochastic learners share: epochs, streams, restarts, averages.

A learner is three verbs on one state, a dict of arrays that can be saved: `begin` makes it, `step`
takes a pass of steps over a batch of rows, in one compiled kernel, and `current` reads the
solution. `fit` is epochs of what `partial_fit` does once; the state goes on from one to the other.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import Problem
from aucmax.rows import Rows, compiled, n_features, n_rows, products, take_rows
from aucmax.solvers.base import Result, Run, Solver, lacking

__all__ = [
    "FOLD",
    "Batch",
    "Classes",
    "StochasticSolver",
    "fold",
    "numbers",
    "scaled",
    "solution",
    "times",
    "unscaled",
]

ORDERS = ("shuffle", "cyclic", "random")
_RETRIES = 8  # times the automatic step may be quartered


class Classes(NamedTuple):
    """Of each class, the positive one first: weight (2,), Σ weight · x (2, d), Σ weight ‖x‖² (2,).

    ``total`` is (2, 0) where a learner has no use for it.
    """

    mass: np.ndarray
    total: np.ndarray
    square: np.ndarray

    def joined(self, X: Rows, sign: np.ndarray, weight: np.ndarray, norm2: np.ndarray) -> "Classes":
        """Return those of these rows and the ones before."""
        parts = [np.where(sign > 0, weight, 0.0), np.where(sign > 0, 0.0, weight)]
        total = self.total
        if total.shape[1]:
            total = total + np.stack([products.adjoint(X, part) for part in parts])
        return Classes(
            self.mass + [part.sum() for part in parts],
            total,
            self.square + [part @ norm2 for part in parts],
        )


class Batch:
    """Rows that take a step each, in an order.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    sign, weight : ndarray, shape (n,)
        ±1, and what multiplies a row's gradient.
    order : ndarray
        The rows' positions, step by step.
    before : Classes
        Of the rows met before; None where the classes are known from the start.
    after : Classes
        Of all rows met in the end.
    unit : float
        A row counts in the classes with so many times its weight.
    """

    def __init__(
        self,
        X: Rows,
        sign: np.ndarray,
        weight: np.ndarray,
        order: np.ndarray,
        before: Classes | None,
        after: Classes | None = None,
        unit: float = 1.0,
    ) -> None:
        self.X, self.sign, self.weight, self.order, self.before = X, sign, weight, order, before
        self.unit = unit
        self._made: dict[str, Any] = {}
        if after is None:
            assert before is not None
            after = before.joined(X, sign, weight, self.norm2)
        self.after = after

    @classmethod
    def whole(cls, problem: Problem, d: int) -> "Batch":
        """Return a whole training set, whose classes are known; d features are summed."""
        ((X, sign, weight),) = problem.batches()
        nothing = Classes(*np.zeros((3, 2, 0)))
        out = cls(X, sign, weight, np.arange(0), None, nothing, problem.unit)
        mass = problem.unit * np.array([problem.n_pos, problem.n_neg])
        means = np.stack([problem.mean_pos, problem.mean_neg]) if d else np.zeros((2, 0))
        each = problem.unit * weight * out.norm2
        square = np.array([each[sign > 0].sum(), each[sign < 0].sum()])
        out.after = Classes(mass, mass[:, None] * means, square)
        return out

    def ordered(self, order: np.ndarray) -> "Batch":
        """Return the same rows in another order."""
        out = copy.copy(self)
        out.order = order
        return out

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what does not depend on the order, made once for all orders of these rows."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def norm2(self) -> np.ndarray:
        """‖x‖² of each row, shape (n,)."""
        return self._once("norm2", lambda: products.row_norms2(self.X))

    @property
    def dots(self) -> np.ndarray:
        """The rows' products with both class sums, shape (n, 2)."""

        def make() -> np.ndarray:
            return np.column_stack([products.scores(self.X, total) for total in self.after.total])

        return self._once("dots", make)

    @property
    def smoothness(self) -> tuple[float, float]:
        """(L, M²): the largest curvature of one of SPAM's gradients, the largest weight · ‖x‖².

        L = max of weight · 2(1−p)‖x‖‖x−μ₋‖ over positives and weight · 2p‖x‖‖x−μ₊‖ over negatives.
        """

        def make() -> tuple[float, float]:
            p, positive, (mass, total, _) = self.p, self.sign > 0, self.after
            other = np.where(positive, 1, 0)
            mean2 = np.einsum("kj,kj->k", total, total) / mass**2
            along = self.dots[np.arange(len(other)), other] / mass[other]
            away2 = np.maximum(self.norm2 - 2.0 * along + mean2[other], 0.0)
            curvature = 2.0 * np.where(positive, 1.0 - p, p) * np.sqrt(self.norm2 * away2)
            return float(np.max(self.weight * curvature)), float(np.max(self.weight * self.norm2))

        return self._once("smoothness", make)

    @property
    def n_features(self) -> int:
        """d."""
        return n_features(self.X)

    @property
    def p(self) -> float:
        """The share of positives in the end."""
        return float(self.after.mass[0] / self.after.mass.sum())

    def by_step(self, name: str, each: np.ndarray | None = None) -> np.ndarray:
        """Return ``mass`` or ``square`` of both classes at each step, the row included: (steps, 2).

        ``each`` (n,) is what a row adds to it.
        """
        if self.before is None:
            known, steps = getattr(self.after, name), len(self.order)
            return self._once(f"{name} by {steps} steps", lambda: np.tile(known, (steps, 1)))
        return self.running(getattr(self.before, name), self.weight if each is None else each)

    def running(self, first: np.ndarray, each: np.ndarray) -> np.ndarray:
        """Return sums over the rows of each class, (2,) before the first step: (steps, 2)."""
        added, positive = each[self.order], self.sign[self.order] > 0
        added = np.column_stack([np.where(positive, added, 0.0), np.where(positive, 0.0, added)])
        return first + np.cumsum(added, axis=0)

    def mean_norm2(self) -> np.ndarray:
        """Return the mean of ‖x‖² at each step, over the rows met by then, shape (steps,)."""
        if self.before is None:
            mean, steps = self.after.square.sum() / self.after.mass.sum(), len(self.order)
            return self._once(f"mean by {steps} steps", lambda: np.full(steps, mean))
        square = self.by_step("square", self.weight * self.norm2).sum(axis=1)
        return square / self.by_step("mass").sum(axis=1)

    def both_met(self) -> "Batch":
        """Return the steps from that on before which, or with which, both classes were met."""
        if self.before is None or self.before.mass.min() > 0.0:
            return self
        met = self.by_step("mass").min(axis=1) > 0.0
        first = int(np.argmax(met)) if met.any() else len(met)
        out, early = self.ordered(self.order[first:]), self.order[:first]
        rows = take_rows(self.X, early), self.sign[early], self.weight[early], self.norm2[early]
        out.before = self.before.joined(*rows)
        return out


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

    Subclasses hold ``n_epochs`` (or their own name for it), ``order`` and, where they have them,
    ``average`` and ``tol`` among their settings. Where the setting named by ``step_setting`` is
    "auto", epochs of a fit that end above J(0) are undone and repeated with a quarter of the step.
    """

    # how far above J(0), as a share of it, the end may lie before that is called divergence
    slack: ClassVar[float] = 1e-3
    # which setting to lower, or to raise, when it diverges
    step_setting: ClassVar[str] = "step_size"
    step_remedy: ClassVar[str] = "lower"
    # whether it sums the rows of each class, as an intercept needs
    sums_rows: ClassVar[bool] = True
    # parts of the state that are drawn once and kept when a fit begins again
    drawn: ClassVar[tuple[str, ...]] = ()
    n_epochs: int
    order: str
    tol: float | None = None

    def unfit(self, objective: Objective) -> str | None:
        return lacking(objective, loss=("quadratic",), data=("rows",))

    # ---- what a learner gives ----------------------------------------------------------------

    def begin(self, d: int, penalty: ElasticNet) -> dict[str, Any]:
        """Return the state before the first row, checking the settings."""
        raise NotImplementedError

    def step(
        self,
        state: dict[str, Any],
        batch: Batch,
        penalty: ElasticNet,
        rng: np.random.RandomState,
    ) -> None:
        """Take the steps of a batch, in place; ``state["slower"]`` divides an automatic step."""
        raise NotImplementedError

    def current(self, state: dict[str, Any]) -> np.ndarray:
        """Return the solution the state stands for, shape (d,)."""
        return solution(state, getattr(self, "average", False))

    def place(
        self, state: dict[str, Any], start: np.ndarray, penalty: ElasticNet, batch: Batch
    ) -> None:
        """Put a fresh state at ``start``, before the steps of a batch."""
        state["v"][:] = start

    def steps_for(self, n: int) -> int:
        """Return how many steps a pass over n rows takes."""
        return n

    @property
    def automatic(self) -> bool:
        """Whether the step is this library's own, to be shortened where it is too long."""
        return bool(getattr(self, self.step_setting) == "auto")

    # ---- fit: epochs -------------------------------------------------------------------------

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        tol = 0.0 if self.tol is None else self.settled(run).tol
        w = np.zeros(objective.problem.n_features) if start is None else start
        count, message, state = 0, None, None
        for new, passes, then in self.epochs(objective, start, run):
            count += 1
            state = then
            if not np.all(np.isfinite(new)):
                message = self._diverged(f"its weights were not finite after epoch {count}")
                break
            w = new
            if run.monitor(w, passes) or (tol > 0.0 and run.monitor.measure(w) <= tol):
                break
        if message is None and not objective.value(w) <= (1 + self.slack) * objective.at_zero:
            message = self._diverged("the objective at the end is above its value at w = 0")
        return Result(w, max(count, 1), message, state=state)

    def epochs(
        self, objective: Objective, start: np.ndarray | None, run: Run
    ) -> Iterator[tuple[np.ndarray, float, dict[str, Any]]]:
        """Yield (solution, passes, state) after every epoch; the state changes in place."""
        most = min(number(self.n_epochs, "n_epochs", low=1, whole=True), run.max_iter)
        problem, penalty = objective.problem, objective.penalty
        batch = Batch.whole(problem, problem.n_features * self.sums_rows)
        sampler, passes, slower = Sampler(problem.n_samples, self.order, run.rng), 0.0, 1.0
        state, last = self.fresh(batch, penalty, start, {}), start
        sound, since, epoch = copy.deepcopy(state), 0, 0  # the last state below J(0), and when
        while epoch < most:
            self.step(state, batch.ordered(sampler.take(problem.n_samples)), penalty, run.rng)
            epoch, passes = epoch + 1, passes + 1.0
            w = self.current(state).copy()
            # a look costs a pass over the data: after 1, 2, 4, 8, … epochs and the last
            if self.automatic and (epoch & (epoch - 1) == 0 or epoch == most):
                if objective.value(w) <= objective.at_zero:
                    sound, since = copy.deepcopy(state), epoch
                elif slower < 4.0**_RETRIES:
                    epoch, slower = since, 4.0 * slower
                    if epoch == 0:  # the start may depend on the step
                        sound = self.fresh(batch, penalty, start, state, slower)
                    state = copy.deepcopy(sound)
                    state["slower"][0] = slower
                    continue
                else:
                    state, epoch = sound, most
                    w = self.current(state).copy()
            if not np.all(np.isfinite(w)):  # a stream goes on from where it was finite
                state = self.fresh(batch, penalty, last, state, slower)
            yield w, passes, state
            last = w

    def fresh(
        self,
        batch: Batch,
        penalty: ElasticNet,
        start: np.ndarray | None,
        old: dict[str, Any],
        slower: float = 1.0,
    ) -> dict[str, Any]:
        """Return the state before the first step of a fit; ``old`` is what it began with before."""
        state = self.blank(batch.n_features, penalty) | batch.after._asdict()
        state |= {name: old[name] for name in self.drawn if name in old}
        state["slower"][0] = slower
        if start is not None:
            self.place(state, start, penalty, batch)
        return state

    def blank(self, d: int, penalty: ElasticNet) -> dict[str, Any]:
        """Return the state before the first row, with what the base keeps of the classes."""
        classes = Classes(np.zeros(2), np.zeros((2, d * self.sums_rows)), np.zeros(2))
        return classes._asdict() | {"slower": np.ones(1)} | self.begin(d, penalty)

    def _diverged(self, sign: str) -> str:
        name = self.step_setting
        return (
            f"{type(self).__name__} diverged ({sign}); {self.step_remedy} {name} "
            f"(now {getattr(self, name, None)!r}) or use {name}='auto'."
        )

    # ---- partial_fit: a stream ---------------------------------------------------------------

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
        order = Sampler(n_rows(X), self.order, rng).take(self.steps_for(n_rows(X)))
        met = Classes(*(state[name] for name in Classes._fields))
        batch = Batch(X, sign, weight, order, met)
        self.step(state, batch, penalty, rng)
        state.update(batch.after._asdict())

    def check_steps(self, state: dict[str, Any], d: int, penalty: ElasticNet) -> None:
        """Raise ValueError unless steps that `begin` began can go on from this state.

        Kernels do not look at the bounds of arrays.
        """
        for name, zeros in self.blank(d, penalty).items():
            if not _alike(state.get(name), zeros):
                raise ValueError(
                    f"the state of {type(self).__name__} ({name}) does not fit its settings and "
                    f"{d} features; begin with a new estimator."
                )


def _alike(value: Any, fresh: Any) -> bool:
    """Tell whether a part of a state is of the kind and shape that it has at the beginning."""
    if not isinstance(fresh, np.ndarray):
        return fresh is None or isinstance(value, type(fresh))
    if not isinstance(value, np.ndarray) or value.dtype != fresh.dtype:
        return False
    first = int(fresh.shape[:1] == (0,))  # buffers begin without rows
    numbers = value.view(np.float64) if value.dtype.names else value
    return value.shape[first:] == fresh.shape[first:] and bool(np.isfinite(numbers).all())


# ---- numbers by name, and a vector with a scale ----------------------------------------------


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
