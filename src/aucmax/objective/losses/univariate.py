"""Losses at the margins t = y z of single rows, also for compiled steps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from aucmax.data.rows.kernels import INLINE, overloaded
from aucmax.objective.losses.base import ByRow, Kind, PointLoss, Rounded

__all__ = [
    "UNIVARIATE_LOSSES",
    "Exponential",
    "LogisticLoss",
    "RoundedMargin",
    "RowSum",
    "SquareMargin",
    "UnivariateHinge",
    "UnivariateLoss",
    "bend1",
    "derivative1",
]


_DERIVATIVE1: dict[type, Callable[..., Any]] = {}
_BEND1: dict[type, Callable[..., Any]] = {}


def derivative1(loss, t):
    """Return ℓ′(t), also in compiled code."""
    return _DERIVATIVE1[type(loss)](loss, t)


def bend1(loss, t):
    """Return the largest ℓ″ along a Newton step from t, also in compiled code."""
    return _BEND1[type(loss)](loss, t)


@overloaded(derivative1, **INLINE)
def _derivative1(loss, t):
    return _DERIVATIVE1.get(getattr(loss, "instance_class", object))


@overloaded(bend1, **INLINE)
def _bend1(loss, t):
    return _BEND1.get(getattr(loss, "instance_class", object))


def in_kernels(loss_class: type, derivative: Callable[..., Any], bend: Callable[..., Any]) -> None:
    """Register (loss, t) functions as `derivative1` and `bend1` for a compiled loss's class."""
    _DERIVATIVE1[loss_class], _BEND1[loss_class] = derivative, bend


class UnivariateLoss(PointLoss):
    """ℓ at the margins t = y w·x of single rows; ℓ(0) is 1 except for the logistic loss."""

    name: ClassVar[str]
    kind: ClassVar[Kind] = "smooth"
    bend: ClassVar[float] = 1.0  # ℓ″(0), or ℓ″ where ℓ is curved
    concordant: ClassVar[bool] = False  # as in `RankingLoss`; univariate losses are not invariant

    def compiled(self) -> NamedTuple:
        """Return the loss in the form for kernels, if it has `derivative1` and `bend1`."""
        raise ValueError(f"the loss {self.name!r} is not one for steps on single rows.")

    def at(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> "RowSum":
        """Return Σ_i s_i ℓ(y_i z_i) at scores z (n,), with signs y (n,) and weights s (n,)."""
        return RowSum(self, sign * z, sign, s)


@dataclass(frozen=True)
class RowSum(ByRow):
    """Σ_i s_i ℓ(t_i) over single rows at the margins t = y z."""

    loss: UnivariateLoss
    t: np.ndarray
    sign: np.ndarray
    s: np.ndarray

    @property
    def value(self) -> float:
        return float(self.s @ self.loss.point(self.t))

    @cached_property
    def gradient(self) -> np.ndarray:  # type: ignore[override]
        return self.s * self.sign * self.loss.derivative(self.t)

    @property
    def active(self) -> float:
        """−Σ s_i ℓ′(t_i), for a hinge."""
        return -float(self.sign @ self.gradient)

    @cached_property
    def bent(self) -> np.ndarray:  # type: ignore[override]
        return self.s * self.loss.curvature(self.t)


class _Exp(NamedTuple):
    bend: float


class Exponential(UnivariateLoss):
    """ℓ(t) = exp(−t)."""

    name = "exp"

    def point(self, t: np.ndarray) -> np.ndarray:
        return np.exp(-t)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -np.exp(-t)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.exp(-t)

    def compiled(self) -> NamedTuple:
        return _Exp(self.bend)


in_kernels(
    _Exp,
    lambda loss, t: -np.exp(min(-t, 700.0)),
    lambda loss, t: np.exp(min(-t, 700.0)),
)


class _Squared(NamedTuple):
    bend: float


class SquareMargin(UnivariateLoss):
    """ℓ(t) = (1 − t)²."""

    name = "square"
    kind = "quadratic"
    bend = 2.0

    def point(self, t: np.ndarray) -> np.ndarray:
        return (1.0 - t) ** 2

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -2.0 * (1.0 - t)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.full(len(t), 2.0)

    def compiled(self) -> NamedTuple:
        return _Squared(self.bend)


in_kernels(
    _Squared,
    lambda loss, t: -2.0 * (1.0 - t),
    lambda loss, t: loss.bend,
)


class _Logistic(NamedTuple):
    bend: float


class LogisticLoss(UnivariateLoss):
    """ℓ(t) = log(1 + exp(−t))."""

    name = "logistic"
    bend = 0.25

    def point(self, t: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -t)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -expit(-t)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return expit(t) * expit(-t)

    def compiled(self) -> NamedTuple:
        return _Logistic(self.bend)


in_kernels(
    _Logistic,
    lambda loss, t: -1.0 / (1.0 + np.exp(min(t, 700.0))),
    lambda loss, t: loss.bend,
)


class UnivariateHinge(UnivariateLoss):
    """ℓ(t) = max(0, 1 − t); the derivative at the kink t = 1 is taken as 0."""

    name = "hinge"
    kind = "kinked"

    def point(self, t: np.ndarray) -> np.ndarray:
        return np.maximum(1.0 - t, 0.0)

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(t) < 1.0, -1.0, 0.0)

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return np.zeros(len(t))

    def rounded(self, width: float) -> "RoundedMargin":
        """Return this loss with its kink rounded over a range of t of this width."""
        return RoundedMargin(width)


class RoundedMargin(Rounded, UnivariateLoss):
    """`RoundedHinge` at the margins of single rows.

    Parameters
    ----------
    width : float
    """

    def curvature(self, t: np.ndarray) -> np.ndarray:
        return (np.abs(1.0 - t) < 0.5 * self.width) / self.width


UNIVARIATE_LOSSES: dict[str, UnivariateLoss] = {
    loss.name: loss for loss in (Exponential(), SquareMargin(), LogisticLoss(), UnivariateHinge())
}
