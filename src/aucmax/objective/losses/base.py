"""The base classes of losses: their interface, their kinds, and the parabola over a kink."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from aucmax.data.comparisons import Comparisons
from aucmax.data.rows.sorting import grouped
from aucmax.data.rows.store import Made, Numbers

__all__ = [
    "Bends",
    "ByRow",
    "Kind",
    "LossAt",
    "PointLoss",
    "RankingLoss",
    "Rounded",
    "Shares",
    "row_blocks",
    "total",
]

ROWS_PER_BLOCK = 1 << 16
# the usual α for a loss with curvature 1 at w = 0, times the number of rows of the rarer class
_USUAL_ALPHA = 0.6


def row_blocks(n: int) -> Iterator[slice]:
    """Yield slices of n rows; `Made` numbers are computed block by block."""
    return (slice(start, min(start + ROWS_PER_BLOCK, n)) for start in range(0, n, ROWS_PER_BLOCK))


def total(numbers: Numbers) -> float:
    """Return the sum."""
    return float(sum(numbers[rows].sum() for rows in row_blocks(len(numbers))))


# "quadratic" and "piecewise quadratic" losses are (1 − t)² wherever they are not 0; a "weighted
# quadratic" loss is not a mean over pairs
Kind = Literal["quadratic", "weighted quadratic", "piecewise quadratic", "smooth", "kinked"]


class LossAt(Protocol):
    """A loss of all rows at fixed scores z (n,).

    ``value`` is a number, ``gradient`` (n,) its derivative with respect to z, and ``product(u)``
    (n,) its second derivative times u (n,). A hinge also has ``active``, the sum of the
    weights β in [0, 1] of the slopes: −½ Σ_i Σ_j s_i s_j ℓ′.
    """

    @property
    def value(self) -> float: ...

    @property
    def gradient(self) -> Numbers: ...

    def product(self, u: np.ndarray) -> np.ndarray: ...


class ByRow:
    """A `LossAt` whose second derivative is u ↦ Σ_i bent_i (u_i − c)², diagonal or nearly so.

    c is 0 or, if a threshold follows the scores, the mean of u with weights ``bent`` (n,).
    ``gradient`` and ``bent`` may be `Made` if the rows are in parts.
    """

    follows: ClassVar[bool] = False
    gradient: Numbers
    bent: Numbers

    def product(self, u: np.ndarray) -> np.ndarray:
        bent = self.bent[:]
        total = float(bent.sum())
        return bent * (u - float(bent @ u) / total) if self.follows and total > 0.0 else bent * u

    def range_of(self, move: np.ndarray) -> float:
        """Return the largest change of a difference of scores if they change by ``move`` (n,)."""
        return float(np.ptp(move))

    def along(self, move: np.ndarray) -> tuple[float, float]:
        """Return the first and the second derivative along a change of the scores (n,)."""
        # relative to the first row, to keep digits
        origin = float(move[0]) if self.follows else 0.0
        slope = mass = first = second = 0.0
        for rows in row_blocks(len(move)):
            bent, change = self.bent[rows], move[rows]
            slope += float(self.gradient[rows] @ change)
            change = change - origin
            weighed = bent * change
            mass += float(bent.sum())
            first += float(weighed.sum())
            second += float(weighed @ change)
        return slope, second - first**2 / mass if self.follows and mass > 0.0 else second


class Bends(NamedTuple):
    """a and c of a data term whose second derivative at w = 0 is a S + c δδᵀ."""

    within: float
    between: float


@dataclass(frozen=True, eq=False)
class Shares:
    """The strata of n rows; only rows of the same stratum are compared.

    Parameters
    ----------
    code : ndarray of int32, shape (n,)
        The stratum of each row, 0 … G − 1.
    omega : ndarray, shape (G,)
        ω, which sum to 1. In stratum g the weights ``s`` of each class sum to ω_g.
    """

    code: np.ndarray
    omega: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of values (n,) in each stratum, shape (G,)."""
        return np.bincount(self.code, values, len(self.omega))

    def apart(self, values: np.ndarray) -> np.ndarray:
        """Return values (n,) minus the value of one row of the stratum, to keep digits."""
        return values - values[self._first[self.code]]

    @cached_property
    def _first(self) -> np.ndarray:
        first = np.zeros(len(self.omega), np.intp)
        first[self.code[::-1]] = np.arange(len(self.code))[::-1]
        return first

    @cached_property
    def by_stratum(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows stratum by stratum, and the starts of the strata with the end of the last."""
        return grouped(self.code, len(self.omega))

    def of_pairs(self, s: Numbers) -> Numbers:
        """Return weights (n,) such that a pair's weight is the product of those of its rows."""
        root = np.sqrt(np.where(self.omega > 0.0, self.omega, 1.0))
        if isinstance(s, np.ndarray):
            return s / root[self.code]
        return Made(len(s), lambda rows: s[rows] / root[self.code[rows]])


class RankingLoss:
    """A loss of all scores that does not change when a constant is added to all of them.

    A subclass implements `at` and the behaviour at w = 0. Methods take the scores ``z`` (n,), the
    signs ±1 ``sign`` (n,) and the sample weights divided by the sum of their class, ``s`` (n,), so
    that s sums to 1 in each class; `at` and `reweighed` also take `Numbers` computed on demand.

    Attributes
    ----------
    name : str
    kind : Kind
    by_moments : bool
        Whether the loss depends only on the means and covariances of the classes.
    within : float
        τ, the weight of the positives, or of their spread, relative to the negatives.
    weighs : bool
        Whether the loss exists for τ other than ½; `weighing` returns such a loss.
    has_threshold : bool
        Whether it has its own threshold for the scores: `at` returns an `AtThreshold`.
    usual_alpha : float
        The α that suits most data in scaled coordinates, times the number of rows of the rarer
        class: searches begin there. By default proportional to the curvature of the loss at 0.
    bytes_kept : tuple of int
        Bytes that a fit to rows in parts keeps per row, and in addition per row of the rarer class.
    concordant : bool
        Whether, along any direction of the scores, the third derivative is at most the second
        derivative times the range of what the loss compares (``range_of``), such as the largest
        change of a difference of scores: then the second derivative hardly changes while that range
        is below 1.
    at_zero : float
        The loss if all scores are 0.
    slope_at_zero : float
        The derivative with respect to w at w = 0 is this times δ.
    bends_at_zero : Bends
        The second derivative at w = 0, or a substitute that shows how features are correlated.
    """

    name: ClassVar[str]
    kind: Kind = "smooth"
    within: float = 0.5
    weighs: ClassVar[bool] = False
    has_threshold: ClassVar[bool] = False
    concordant: ClassVar[bool] = False
    bytes_kept: ClassVar[tuple[int, int]] = (100, 0)

    def bytes_of_row(self, rarer: float) -> float:
        """Return the bytes that a fit keeps per row, given the share of the rarer class."""
        of_each, of_rarer = self.bytes_kept
        return of_each + of_rarer * rarer

    @property
    def by_moments(self) -> bool:
        return self.kind in ("quadratic", "weighted quadratic")

    @property
    def usual_alpha(self) -> float:
        return _USUAL_ALPHA * self.bends_at_zero.within

    def takes_within(self, within: float) -> bool:
        """Return whether the loss exists for a τ, a number in [0, 1]."""
        return self.weighs or within == 0.5

    def weighing(self, within: float) -> "RankingLoss":
        """Return this loss with another τ, for which `takes_within` is true."""
        raise NotImplementedError

    @property
    def at_zero(self) -> float:
        raise NotImplementedError

    @property
    def slope_at_zero(self) -> float:
        raise NotImplementedError

    @property
    def bends_at_zero(self) -> Bends:
        raise NotImplementedError

    def at(self, z: np.ndarray, sign: Numbers, s: Numbers, strata: Shares | None = None) -> LossAt:
        """Return the loss at scores z."""
        raise NotImplementedError

    def over(self, z: np.ndarray, pairs: Comparisons) -> LossAt:
        """Return the loss at scores z of rows of many degrees, for square losses."""
        raise NotImplementedError

    def reweighed(
        self,
        loss_at: LossAt,
        z: np.ndarray,
        sign: Numbers,
        s: Numbers,
        strata: Shares | None = None,
    ) -> LossAt:
        """Return the loss at scores z, given the result of `at` there for other weights s."""
        return self.at(z, sign, s, strata)

    def influences(
        self, z: np.ndarray, sign: np.ndarray, s: np.ndarray, X: np.ndarray
    ) -> np.ndarray:
        """Return how the slope along X (n, d) changes with each row's share of its class, (n, d).

        That is the derivative of Σ_i x_i ∂/∂z_i with respect to s_i, up to a constant for each
        class: a row's contribution, as if their mean were the slope.
        """
        raise NotImplementedError

    def value(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> float:
        """Return the loss at scores z."""
        return self.at(z, sign, s).value

    def gradient(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the derivative of `value` with respect to z, shape (n,)."""
        return self.at(z, sign, s).gradient[:]


class PointLoss:
    """A loss ℓ of single numbers t, which are differences of scores or margins."""

    def point(self, t: np.ndarray) -> np.ndarray:
        """Return ℓ(t)."""
        raise NotImplementedError

    def derivative(self, t: np.ndarray) -> np.ndarray:
        """Return ℓ′(t)."""
        raise NotImplementedError

    def curvature(self, t: np.ndarray) -> np.ndarray:
        """Return ℓ″(t), 0 at a kink."""
        raise NotImplementedError


class Rounded:
    """A hinge with a parabola over its kink, from t = 1 − width/2 to 1 + width/2."""

    name = "rounded_hinge"

    def __init__(self, width: float) -> None:
        self.width = width

    def point(self, t: np.ndarray) -> np.ndarray:
        slope = self.derivative(t)
        return np.where(slope > -1.0, 0.5 * self.width * slope**2, 1.0 - t)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -np.clip(0.5 + (1.0 - t) / self.width, 0.0, 1.0)
