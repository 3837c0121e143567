"""The logistic loss at coefficients and an intercept, for rows whose scores stay where they are.

Each pass recomputes the scores X w + b of each part and returns sums, so that nothing about single
rows has to be kept or sent. The exact best b would take several passes; the same sums give one
Newton step from the given b, with an error of the order of the square of the step.
"""

from dataclasses import dataclass

import numpy as np

from aucmax.data.rows.products import dot
from aucmax.objective.losses import Logistic
from aucmax.objective.problem import Problem, SumsAtIntercept

__all__ = ["AtIntercept"]


@dataclass(frozen=True, eq=False)
class AtIntercept:
    """The data term f(w, b) and, from one Newton step in b, its derivatives at the best b for w.

    Parameters
    ----------
    problem : Problem
    loss : Logistic
    w : ndarray, shape (d,)
    b : float
    S : ndarray of int, shape (k,), or None
        The features of the matrix in ``sums``, if it has one.
    sums : SumsAtIntercept
    """

    problem: Problem
    loss: Logistic
    w: np.ndarray
    b: float
    S: np.ndarray | None
    sums: SumsAtIntercept

    @classmethod
    def of(
        cls, problem: Problem, loss: Logistic, w: np.ndarray, b: float, S: np.ndarray | None
    ) -> "AtIntercept":
        """Return the data term, in one pass, with its matrix over features S (k,) if given."""
        return cls(problem, loss, w, b, S, problem.sums_at(loss, w, b, S))

    @property
    def value(self) -> float:
        """f(w, b), at least the value at the best b."""
        return self.sums.value

    @property
    def shift(self) -> float:
        """The Newton step in b."""
        return -self.sums.slope / self.sums.bend if self.sums.bend > 0.0 else 0.0

    @property
    def intercept(self) -> float:
        """The best b for w."""
        return self.b + self.shift

    @property
    def excess(self) -> float:
        """How much the best b would lower f, plus the error of the derivatives there."""
        return -self.shift * self.sums.slope

    @property
    def centre(self) -> np.ndarray:
        """The mean of the rows, weighted by the second derivatives, shape (d,)."""
        return self.sums.bent / self.sums.bend if self.sums.bend > 0.0 else 0.0 * self.sums.bent

    @property
    def gradient(self) -> np.ndarray:
        """The gradient in w at the best b, shape (d,)."""
        sums, origin = self.sums, self.problem.mean_neg
        # relative to a mean, because rounding errors grow with the distance from zero
        about = sums.gradient - origin * sums.slope
        return about + self.shift * (sums.bent - origin * sums.bend)

    def towards(self, direction: np.ndarray) -> tuple[float, float]:
        """Return how the best b moves along a direction, and the slope of f."""
        along = self.shift - dot(self.centre, direction)
        slope = dot(self.gradient, direction) + self.sums.slope * self.shift
        return along, slope

    def moved(self, direction: np.ndarray, t: float, S: np.ndarray | None) -> "AtIntercept":
        """Return the data term after a step of length t, in one pass."""
        w, b = self.w + t * direction, self.b + t * self.towards(direction)[0]
        return AtIntercept.of(self.problem, self.loss, w, b, S)

    def matrix(self, S: np.ndarray) -> np.ndarray:
        """Return the second derivative in w at the best b, over features S, shape (k, k)."""
        matrix = self.sums.matrix
        if self.S is None or not np.array_equal(self.S, S):
            matrix = self.problem.sums_at(self.loss, self.w, self.b, S).matrix
        assert matrix is not None
        return matrix.copy()

    def product(self, v: np.ndarray) -> np.ndarray:
        """Return the second derivative times v (d,), in one pass."""
        return self.problem.bent_product(self.loss, self.w, self.b, v, dot(self.centre, v))
