"""The l2 penalty on a cone."""

import numpy as np

from aucmax.objective.cone import Cone, Nearest, nearest
from aucmax.objective.penalties.elastic_net import L2

__all__ = ["L2Cone"]


class L2Cone(L2):
    """(α/2) ‖w‖₂² on a cone; not a sum over coordinates; `value` is valid in the cone.

    The conjugate at v is ‖P(v)‖²/(2α), where P(v) is the point of the cone nearest to v. So the
    dual bound on the distance to the optimum is that without a cone, at P(v).

    Parameters
    ----------
    alpha : float
        α > 0.
    cone : Cone
    """

    name = "l2_cone"

    def __init__(self, alpha: float, cone: Cone) -> None:
        self.alpha = alpha
        self.cone = cone

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"cone"})

    def nearest(self, v: np.ndarray) -> Nearest:
        """Return the point of the cone that is nearest to v (d,)."""
        return nearest(self.cone, v, lambda g: g)

    def prox(self, u: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        return self.nearest(u / (1.0 + step * self.l2)).point

    def farthest(self, v: np.ndarray) -> np.ndarray:
        return self.nearest(v).point / self.l2

    def dual_value(
        self, linear: float, v: np.ndarray, quadratic: float = 0.0, most: float = np.inf
    ) -> float:
        return super().dual_value(linear, self.nearest(v).point, quadratic, most)
