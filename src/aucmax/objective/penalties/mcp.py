"""The minimax concave penalty."""

from typing import NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.objective.penalties.base import Penalty, Pieces, prox1_of

__all__ = ["MCP"]


class _MCP(NamedTuple):
    alpha: float
    gamma: float


@prox1_of(_MCP)
def _firm1(penalty, j, u, step):
    size, far = abs(u), penalty.gamma * penalty.alpha
    if step >= penalty.gamma:  # concave between 0 and there
        return u if size * size > step * far * penalty.alpha else 0.0
    if size >= far:
        return u
    return np.copysign(max(size - step * penalty.alpha, 0.0) / (1.0 - step / penalty.gamma), u)


class MCP(Penalty):
    """The minimax concave penalty: α∣w_j∣ − w_j²/(2γ) up to ∣w_j∣ = γα, and constant beyond.

    It selects features like l1, but does not shrink large coefficients. It is not convex: a solver
    ends at a local minimum, and its optimality refers to the neighbourhood of that minimum.

    Parameters
    ----------
    alpha : float
        α ≥ 0, the slope at 0.
    gamma : float
        γ > 0. Small values come close to counting non-zeros, large ones to l1. J has one minimum
        if 1/γ is below the smallest eigenvalue of the data term's second derivative. In the scaled
        coordinates, to which ``alpha`` also refers, the mean eigenvalue is about 2/d.

    References
    ----------
    Zhang (2010), "Nearly unbiased variable selection under minimax concave penalty".
    """

    name = "mcp"

    def __init__(self, alpha: float, gamma: float) -> None:
        self.alpha = alpha
        self.gamma = gamma

    @property
    def offers(self) -> frozenset[str]:
        return frozenset({"prox"})

    def check(self) -> None:
        number(self.alpha, "alpha")
        number(self.gamma, "gamma", open_low=True)

    def compiled(self) -> NamedTuple:
        return _MCP(float(self.alpha), float(self.gamma))

    def values(self, w: np.ndarray) -> np.ndarray:
        size = np.minimum(np.abs(w), self.gamma * self.alpha)
        return size * (self.alpha - 0.5 * size / self.gamma)

    def pieces(self, w: np.ndarray) -> Pieces:
        size, far = np.abs(w), self.gamma * self.alpha
        slope = np.maximum(self.alpha - size / self.gamma, 0.0)
        near, inner = size < far, np.where(size < far, 0.0, far)
        outer = np.where(near, far, np.inf)
        return Pieces(
            np.where(w > 0.0, slope, -slope),
            np.where(w < 0.0, -slope, slope),
            np.where(near, -1.0 / self.gamma, 0.0),
            np.where(w > 0.0, inner, -outer),
            np.where(w < 0.0, -inner, outer),
        )
