"""The rows that a learner visits: their order, and the sums over the classes so far."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState

from aucmax.data.rows import Rows, n_features, products, take_rows
from aucmax.objective.problem import Problem

__all__ = ["Batch", "Classes", "Sampler", "Visits", "Whole", "records"]

ORDERS = ("shuffle", "cyclic", "random")


class Classes(NamedTuple):
    """Sums over each class, positives first: of weight, of weight · x, and of weight · ‖x‖².

    They are ``mass`` (2,), ``total`` (2, d), or (2, 0) for a learner that does not need it, and
    ``square`` (2,).
    """

    mass: np.ndarray
    total: np.ndarray
    square: np.ndarray

    def joined(self, X: Rows, sign: np.ndarray, weight: np.ndarray, norm2: np.ndarray) -> "Classes":
        """Return the sums with these rows added."""
        parts = [np.where(sign > 0, weight, 0.0), np.where(sign > 0, 0.0, weight)]
        total = self.total
        if total.shape[1]:
            total = total + np.stack([products.adjoint(X, part) for part in parts])
        return Classes(
            self.mass + [part.sum() for part in parts],
            total,
            self.square + [part @ norm2 for part in parts],
        )


class Visits(NamedTuple):
    """The rows of the steps, in the form for kernels, which unpack the tuple before their loop.

    Step t visits row ``order[t]`` of X; ``rows`` (n,) are the `records` of the rows of X.
    """

    X: Rows
    order: np.ndarray
    rows: np.ndarray


_RECORD = np.dtype([("sign", np.float64), ("weight", np.float64), ("norm2", np.float64)])


def records(X: Rows, sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return sign, weight and ‖x‖² of each row side by side, so that a step reads them together."""
    rows = np.empty(len(sign), _RECORD)
    rows["sign"], rows["weight"], rows["norm2"] = sign, weight, products.row_norms2(X)
    return rows


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows, and the order of the steps over them.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    sign, weight : ndarray, shape (n,)
        ±1, and the factor of a row's gradient.
    order : ndarray
        The position of each step's row.
    before : Classes
        The sums over the earlier rows; None if the classes are known from the start.
    classes : Classes, optional
        The sums over the whole training set, if known from the start.
    unit : float
        A row adds ``unit`` times its weight to the classes.
    first : int, optional
        Position of the batch's first row in a training set of several batches.
    """

    X: Rows
    sign: np.ndarray
    weight: np.ndarray
    order: np.ndarray
    before: Classes | None
    classes: Classes | None = None
    unit: float = 1.0
    first: int | None = None
    _made: dict[str, Any] = field(default_factory=dict, repr=False)

    def ordered(self, order: np.ndarray) -> "Batch":
        """Return the same rows in another order."""
        return replace(self, order=order)

    @cached_property
    def after(self) -> Classes:
        """The sums over the classes, including these rows."""
        if self.classes is not None:
            return self.classes
        assert self.before is not None
        return self.before.joined(self.X, self.sign, self.weight, self.norm2)

    @property
    def visits(self) -> Visits:
        """The rows in the order of the steps."""
        return Visits(self.X, self.order, self.rows)

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a quantity that does not depend on the order of the rows, computed only once."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    @property
    def rows(self) -> np.ndarray:
        """The `records` of the rows, shape (n,)."""
        return self._once("rows", lambda: records(self.X, self.sign, self.weight))

    @property
    def norm2(self) -> np.ndarray:
        """‖x‖² of each row, shape (n,)."""
        return np.ascontiguousarray(self.rows["norm2"])

    @property
    def weighted_norm2(self) -> np.ndarray:
        """weight · ‖x‖² of each row, shape (n,)."""
        return self._once("weighted norm2", lambda: self.weight * self.norm2)

    @property
    def dots(self) -> np.ndarray:
        """The dot products of the rows with the sum of each class, shape (n, 2)."""

        def make() -> np.ndarray:
            return np.column_stack([products.scores(self.X, total) for total in self.after.total])

        return self._once("dots", make)

    @property
    def smoothness(self) -> tuple[float, float]:
        """(L, M²): the largest curvature of SPAM's gradients, and the largest weight · ‖x‖².

        L = max of weight · 2(1−p)‖x‖‖x−μ₋‖ over positives and weight · 2p‖x‖‖x−μ₊‖ over negatives.
        """

        def make() -> tuple[float, float]:
            p, positive, (mass, total, _) = self.p, self.sign > 0, self.after
            opposite = np.where(positive, 1, 0)
            mean2 = np.einsum("kj,kj->k", total, total) / mass**2
            along = self.dots[np.arange(len(opposite)), opposite] / mass[opposite]
            away2 = np.maximum(self.norm2 - 2.0 * along + mean2[opposite], 0.0)
            curvature = 2.0 * np.where(positive, 1.0 - p, p) * np.sqrt(self.norm2 * away2)
            return float(np.max(self.weight * curvature)), float(np.max(self.weighted_norm2))

        return self._once("smoothness", make)

    @property
    def n_features(self) -> int:
        """d."""
        return n_features(self.X)

    @property
    def p(self) -> float:
        """The share of positives, including these rows."""
        return float(self.after.mass[0] / self.after.mass.sum())

    def by_step(self, name: str) -> np.ndarray:
        """Return ``mass`` or ``square`` of the classes at each step, shape (steps, 2)."""
        if self.before is None:
            totals, steps = getattr(self.after, name), len(self.order)
            return self._once(f"{name} by {steps} steps", lambda: np.tile(totals, (steps, 1)))
        added = self.weight if name == "mass" else self.weighted_norm2
        return self.running(getattr(self.before, name), added)

    def running(self, first: np.ndarray, each: np.ndarray) -> np.ndarray:
        """Return running sums over the rows of each class, (steps, 2), from ``first`` (2,) on."""
        added, positive = each[self.order], self.sign[self.order] > 0
        added = np.column_stack([np.where(positive, added, 0.0), np.where(positive, 0.0, added)])
        return first + np.cumsum(added, axis=0)

    def mean_norm2(self, balanced: bool = False) -> np.ndarray:
        """Return the mean of ‖x‖² over the rows seen up to each step, (steps,); 1 instead of 0.

        ``balanced`` gives each class half of the weight.
        """

        def make() -> np.ndarray:
            square, mass = self.by_step("square"), self.by_step("mass")
            if balanced:
                mean = 0.5 * (square[:, 0] / mass[:, 0] + square[:, 1] / mass[:, 1])
            else:
                mean = square.sum(axis=1) / mass.sum(axis=1)
            return np.where(mean > 0.0, mean, 1.0)

        if self.before is not None:
            return make()
        return self._once(f"mean ({balanced}) by {len(self.order)} steps", make)

    def both_met(self) -> "Batch":
        """Return the steps from the first one at which both classes have been seen."""
        if self.before is None or self.before.mass.min() > 0.0:
            return self
        met = self.by_step("mass").min(axis=1) > 0.0
        start = int(np.argmax(met)) if met.any() else len(met)
        early, after = self.order[:start], self.after
        rows = take_rows(self.X, early), self.sign[early], self.weight[early], self.norm2[early]
        before = self.before.joined(*rows)
        return replace(self, order=self.order[start:], before=before, classes=after)


class Whole:
    """A training set with known classes, batch by batch; a single batch is kept.

    Parameters
    ----------
    problem : Problem
    d : int
        Width of ``after.total``.
    """

    def __init__(self, problem: Problem, d: int) -> None:
        mass = problem.unit * np.array([problem.n_pos, problem.n_neg])
        means = np.stack([problem.mean_pos, problem.mean_neg]) if d else np.zeros((2, 0))
        self.after = Classes(mass, mass[:, None] * means, np.zeros(2))
        self.problem, self.n_features = problem, problem.n_features
        self.only: Batch | None = None
        for part in self.batches():
            squares = problem.unit * part.weight * part.norm2
            self.after.square[:] += squares[part.sign > 0].sum(), squares[part.sign < 0].sum()
        if len(part.sign) == problem.n_samples:
            self.only = replace(part, first=None)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches, in the order of the rows."""
        if self.only is not None:
            yield self.only
            return
        first = 0
        for X, sign, weight in self.problem.batches():
            order = np.arange(len(sign))
            yield Batch(X, sign, weight, order, None, self.after, self.problem.unit, first)
            first += len(sign)

    def ordered(self, order: np.ndarray) -> Iterator[Batch]:
        """Yield the batches, each with its steps; ``order`` holds positions among all rows."""
        for part in self.batches():
            mine = order
            if part.first is not None:
                mine = order - part.first
                mine = mine[(mine >= 0) & (mine < len(part.sign))]
            if len(mine):
                yield part.ordered(mine)


class Sampler:
    """The order of the rows: shuffled in each epoch, in file order, or drawn with replacement.

    Parameters
    ----------
    n : int
        Number of rows.
    order : {"shuffle", "cyclic", "random"}
    rng : RandomState
    """

    def __init__(self, n: int, order: str, rng: RandomState) -> None:
        if order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}; got {order!r}.")
        self.n, self.order, self.rng = n, order, rng
        self._left = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> np.ndarray:
        """Return the next ``count`` positions, continuing where the last call ended."""
        if self.order == "random":
            return self.rng.randint(0, self.n, size=count).astype(np.int64)
        while len(self._left) < count:
            epoch = np.arange(self.n) if self.order == "cyclic" else self.rng.permutation(self.n)
            self._left = np.concatenate([self._left, epoch.astype(np.int64)])
        positions, self._left = self._left[:count], self._left[count:]
        return positions
