"""The elastic net, its special cases l1 and l2, and l2 on a ball."""

from typing import NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.penalties.base import Penalty, Pieces, prox1_of

__all__ = ["L1", "L2", "ElasticNet", "L2Ball", "soft"]

_OFFERS = frozenset({"prox", "convex", "elastic net"})


def soft(u: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Return sign(u) · max(∣u∣ − threshold, 0)."""
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0.0)


class _ElasticNet(NamedTuple):
    l1: float
    l2: float


@prox1_of(_ElasticNet)
def _soft1(penalty, j, u, step):
    size = max(abs(u) - step * penalty.l1, 0.0) * (1.0 / (1.0 + step * penalty.l2))
    return size if u > 0.0 else 0.0 - size  # never -0.0


class ElasticNet(Penalty):
    """α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ].

    Parameters
    ----------
    alpha : float
        α ≥ 0, the strength.
    l1_ratio : float
        ρ in [0, 1], the share of the l1 part.

    Attributes
    ----------
    l2, l1 : float
        α(1−ρ) and αρ.
    """

    name = "elastic_net"
    l1_ratio: float

    def __init__(self, alpha: float, l1_ratio: float = 0.5) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio

    def check(self) -> None:
        number(self.alpha, "alpha")
        number(self.l1_ratio, "l1_ratio", high=1.0)

    @property
    def setting(self) -> str:
        return f"l1_ratio={self.l1_ratio!r}"

    @property
    def l2(self) -> float:
        return float(self.alpha) * (1.0 - float(self.l1_ratio))

    @property
    def l1(self) -> float:
        return float(self.alpha) * float(self.l1_ratio)

    @property
    def offers(self) -> frozenset[str]:
        return _OFFERS | {"l2"} if self.l1 == 0.0 else _OFFERS

    @property
    def convexity(self) -> float:
        return self.l2

    def compiled(self) -> NamedTuple:
        return _ElasticNet(self.l1, self.l2)

    def prox(self, u: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        size = np.maximum(np.abs(u) - step * self.l1, 0.0) * (1.0 / (1.0 + step * self.l2))
        return np.where(u > 0.0, size, 0.0 - size)  # never -0.0

    def values(self, w: np.ndarray) -> np.ndarray:
        return 0.5 * self.l2 * w * w + self.l1 * np.abs(w)

    def value(self, w: np.ndarray) -> float:
        return float(0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum())

    def pieces(self, w: np.ndarray) -> Pieces:
        l1, l2 = self.l1, self.l2
        slope, positive, negative, kink = l2 * w, w > 0.0, w < 0.0, l1 > 0.0
        return Pieces(
            slope + np.where(positive, l1, -l1),
            slope + np.where(negative, -l1, l1),
            np.full(len(w), l2),
            np.where(kink & positive, 0.0, -np.inf),
            np.where(kink & negative, 0.0, np.inf),
        )

    def slope_and_bend(
        self, gradient: np.ndarray, w: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | float]:
        l1, l2 = self.l1, self.l2
        off = gradient + (l2 * w + np.copysign(l1, w))
        beyond = gradient - np.minimum(np.maximum(gradient, -l1), l1)
        return np.where(w == 0.0, beyond, off), l2

    def farthest(self, v: np.ndarray) -> np.ndarray:
        beyond = soft(v, self.l1)
        if self.l2 > 0.0:
            return beyond / self.l2
        return np.where(beyond == 0.0, 0.0, np.copysign(np.inf, v))

    def reach(self, v: np.ndarray) -> float:
        size = float(np.abs(v).max(initial=0.0))
        return self.l1 / size if self.l2 == 0.0 and size > 0.0 else np.inf

    def dual_value(
        self, linear: float, v: np.ndarray, quadratic: float = 0.0, most: float = np.inf
    ) -> float:
        if self.l1 > 0.0 and self.l2 > 0.0:
            return super().dual_value(linear, v, quadratic, most)
        # the conjugate at c v is c²/(2 l2) ‖v‖² or, if l2 = 0, 0 wherever it is finite
        bend = quadratic + (0.5 * float(v @ v) / self.l2 if self.l2 > 0.0 else 0.0)
        most, linear = min(most, self.reach(v)), max(linear, 0.0)
        c = min(0.5 * linear / bend, most) if bend > 0.0 else most
        return c * linear - c * c * bend if np.isfinite(c) else 0.0


class L2(ElasticNet):
    """(α/2) ‖w‖₂².

    Parameters
    ----------
    alpha : float
        α ≥ 0.
    """

    name = "l2"
    l1_ratio = 0.0

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha


class L1(ElasticNet):
    """α ‖w‖₁.

    Parameters
    ----------
    alpha : float
        α ≥ 0.
    """

    name = "l1"
    l1_ratio = 1.0

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha


class L2Ball(L2):
    """(α/2) ‖w‖₂² on the ball ‖w‖₂ ≤ R; not a sum over coordinates; `value` is valid in the ball.

    Parameters
    ----------
    alpha : float
        α ≥ 0.
    radius : float
        R > 0.
    """

    name = "l2_ball"

    def __init__(self, alpha: float, radius: float) -> None:
        self.alpha = alpha
        self.radius = radius

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"convex"})

    def prox(self, u: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        w = super().prox(u, step)
        norm = float(np.linalg.norm(w))
        return w * (self.radius / norm) if norm > self.radius else w

    def farthest(self, v: np.ndarray) -> np.ndarray:
        norm = float(np.linalg.norm(v))
        reach = norm / self.l2 if self.l2 > 0.0 else np.inf
        return v * (min(reach, self.radius) / norm) if norm > 0.0 else v

    def reach(self, v: np.ndarray) -> float:
        return np.inf

    def dual_value(
        self, linear: float, v: np.ndarray, quadratic: float = 0.0, most: float = np.inf
    ) -> float:
        return Penalty.dual_value(self, linear, v, quadratic, most)
