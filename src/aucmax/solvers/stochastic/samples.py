"""The rows that a learner steps through: their order, and what is known of the classes by then."""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from aucmax.objective.problem import Problem
from aucmax.rows import Rows, n_features, products, take_rows

__all__ = ["Batch", "Classes", "Sampler"]

ORDERS = ("shuffle", "cyclic", "random")


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
