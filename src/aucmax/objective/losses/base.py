"""What losses share: their kinds, the form of a sum, and the parabola over a hinge's kink."""

from typing import Literal, Protocol

import numpy as np

__all__ = ["Kind", "PairSum", "Rounded"]

# "quadratic" and "piecewise quadratic" losses are (1 − t)² wherever they are not 0; a "weighted
# quadratic" one is no mean over pairs
Kind = Literal["quadratic", "weighted quadratic", "piecewise quadratic", "smooth", "kinked"]


class PairSum(Protocol):
    """½ Σ_i Σ_j s_i s_j ℓ(z_i − z_j) at fixed scores z.

    ``value`` is the sum, ``gradient`` (n,) its derivative with respect to z, and ``product(u)``
    (n,) its second derivative times u (n,). That of a hinge also has ``active``, the sum of the
    weights β in [0, 1] that say how much each kink's slope counts: −½ Σ_i Σ_j s_i s_j ℓ′.
    """

    @property
    def value(self) -> float: ...

    @property
    def gradient(self) -> np.ndarray: ...

    def product(self, u: np.ndarray) -> np.ndarray: ...


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
