"""Penalties: value, proximal map, conjugate and subdifferential; they never see X.

Compiled code sees a penalty as a NamedTuple, and its class chooses at compile time what `prox1`
does.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba.extending import overload

__all__ = ["L1", "L2", "PENALTIES", "ElasticNet", "L2Ball", "prox1", "prox1_of", "soft"]


def soft(u: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Return sign(u) · max(|u| − threshold, 0)."""
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0.0)


_PROX1: dict[type, Callable[..., Any]] = {}


def prox1_of(kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function (penalty, j, u, step) `prox1` for penalties that kernels see as ``kind``."""

    def keep(body: Callable[..., Any]) -> Callable[..., Any]:
        _PROX1[kind] = body
        return body

    return keep


def prox1(penalty, j, u, step):
    """Return argmin_w ½(w − u)² + step · penalty_j(w), for coordinate j; also in compiled code."""
    return _PROX1[type(penalty)](penalty, j, u, step)


@overload(prox1, jit_options={"forceinline": True})
def _prox1(penalty, j, u, step):
    return _PROX1.get(getattr(penalty, "instance_class", object))


class _ElasticNet(NamedTuple):
    l1: float
    l2: float


@prox1_of(_ElasticNet)
def _soft1(penalty, j, u, step):
    size = max(abs(u) - step * penalty.l1, 0.0) * (1.0 / (1.0 + step * penalty.l2))
    return size if u > 0.0 else -size


class ElasticNet:
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
    thresholds: ClassVar[bool] = True  # its prox is soft(u, step·l1)/(1 + step·l2)

    @property
    def differentiable(self) -> bool:
        """Whether it has a gradient everywhere; if not, solvers that take it ask for `prox`."""
        return self.l1 == 0.0

    def __init__(self, alpha: float, l1_ratio: float = 0.5) -> None:
        self.alpha, self.l1_ratio = float(alpha), float(l1_ratio)
        self.l2 = self.alpha * (1.0 - self.l1_ratio)
        self.l1 = self.alpha * self.l1_ratio

    @property
    def shrinks(self) -> bool:
        """Whether its prox is u/(1 + step·l2)."""
        return self.l1 == 0.0

    def compiled(self) -> NamedTuple:
        """Return what kernels see of it."""
        return _ElasticNet(self.l1, self.l2)

    def value(self, w: np.ndarray) -> float:
        """Return the penalty at w."""
        return float(0.5 * self.l2 * (w @ w) + self.l1 * np.abs(w).sum())

    def prox(self, u: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """Return argmin_w ½‖w − u‖² + step · penalty(w).

        With a step (d,) for each coordinate: argmin_w ½ Σ (w_j − u_j)²/step_j + penalty(w).
        """
        return soft(u, step * self.l1) / (1.0 + step * self.l2)

    def farthest(self, v: np.ndarray) -> np.ndarray:
        """Return the w at which v·w − penalty(w) is largest, shape (d,); for an l2 part > 0."""
        return soft(v, self.l1) / self.l2

    def conjugate(self, v: np.ndarray) -> float:
        """Return the largest v·w − penalty(w) over all w; infinite where there is none."""
        if self.l2 == 0.0:
            return 0.0 if not soft(v, self.l1).any() else np.inf
        w = self.farthest(v)
        return float(v @ w) - self.value(w)

    def dual_value(
        self, linear: float, v: np.ndarray, quadratic: float = 0.0, most: float = np.inf
    ) -> float:
        """Return the largest c·linear − c²·quadratic − conjugate(c v) over c in [0, most].

        That is Fenchel's lower bound of a minimum at the best multiple of a dual point, for
        quadratic ≥ 0; 0 where ``linear`` is negative.
        """
        linear = max(linear, 0.0)
        if self.l2 == 0.0:
            size = float(np.abs(v).max(initial=0.0))
            if size > 0.0:
                most = min(most, self.l1 / size)
            c = min(0.5 * linear / quadratic, most) if quadratic > 0.0 else most
            return c * linear - c * c * quadratic if np.isfinite(c) else 0.0
        if self.l1 == 0.0:
            bend = quadratic + 0.5 * float(v @ v) / self.l2
            c = min(0.5 * linear / bend, most) if bend > 0.0 else most
            return c * linear - c * c * bend if np.isfinite(c) else 0.0
        return self._searched(linear, v, quadratic, most)

    def _searched(self, linear: float, v: np.ndarray, quadratic: float, most: float) -> float:
        # concave in c: bisection on the slope
        def slope(c: float) -> float:
            return linear - 2.0 * c * quadratic - float(v @ self.farthest(c * v))

        low, high = 0.0, min(most, 1.0)
        while high < most and slope(high) > 0.0 and high < 1e30:
            low, high = high, min(2.0 * high, most)
        if slope(high) >= 0.0:
            low = high
        for _ in range(60 if low < high else 0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) >= 0.0 else (low, middle)
        return low * linear - low * low * quadratic - self.conjugate(low * v)

    def distance(self, gradient: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return, coordinate by coordinate, the distance of −gradient to the subdifferential at w.

        Parameters
        ----------
        gradient : ndarray, shape (d,)
            The gradient of the data term at w.
        w : ndarray, shape (d,)

        Returns
        -------
        ndarray, shape (d,)
            All zero exactly when w minimises data term + penalty.
        """
        g = gradient + self.l2 * w
        if self.l1 == 0.0:
            return np.abs(g)
        return np.where(
            w == 0.0, np.maximum(np.abs(g) - self.l1, 0.0), np.abs(g + self.l1 * np.sign(w))
        )

    def promise(self, gradient: np.ndarray, w: np.ndarray, curvature: np.ndarray) -> np.ndarray:
        """Return the most that a step on each coordinate alone can gain, shape (d,).

        distance²/(2 (h + l2)) where the data term has curvature h (d,) and slope ``gradient``:
        like the objective, and unlike the distance, it does not depend on the units of features.
        """
        bend = curvature + self.l2
        distance = self.distance(gradient, w)
        return np.divide(0.5 * distance**2, bend, out=np.zeros(len(w)), where=bend > 0.0)


class L2(ElasticNet):
    """(α/2) ‖w‖₂²."""

    name = "l2"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha, 0.0)


class L2Ball(L2):
    """(α/2) ‖w‖₂² on the ball ‖w‖₂ ≤ R; `value` is for a w in the ball.

    Parameters
    ----------
    alpha : float
        α ≥ 0.
    radius : float
        R > 0.
    """

    name = "l2_ball"
    differentiable = False

    def __init__(self, alpha: float, radius: float) -> None:
        super().__init__(alpha)
        self.radius = float(radius)

    def prox(self, u: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        w = super().prox(u, step)
        norm = float(np.linalg.norm(w))
        return w * (self.radius / norm) if norm > self.radius else w

    def farthest(self, v: np.ndarray) -> np.ndarray:
        norm = float(np.linalg.norm(v))
        reach = norm / self.l2 if self.l2 > 0.0 else np.inf
        return v * (min(reach, self.radius) / norm) if norm > 0.0 else v

    def conjugate(self, v: np.ndarray) -> float:
        w = self.farthest(v)
        return float(v @ w) - self.value(w)

    def dual_value(
        self, linear: float, v: np.ndarray, quadratic: float = 0.0, most: float = np.inf
    ) -> float:
        return self._searched(max(linear, 0.0), v, quadratic, most)


class L1(ElasticNet):
    """α ‖w‖₁."""

    name = "l1"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha, 1.0)


PENALTIES: dict[str, type[ElasticNet]] = {p.name: p for p in (L2, L1, ElasticNet)}
