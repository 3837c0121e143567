"""Pairwise losses as functions of the scores; they never see X.

A loss ℓ(t) is taken at the differences t = z_i − z_j between the scores of a positive i and a
negative j. `PairwiseLoss` gives ½ · mean over pairs of ℓ, its derivative with respect to every
score, and the product of its second derivative with a vector of scores.
"""

from typing import ClassVar

import numpy as np

__all__ = ["LOSSES", "PairwiseLoss", "Square"]


class PairwiseLoss:
    """½ · weighted mean over pairs of ℓ(z_i − z_j), i positive, j negative.

    Every method takes ``z`` (n,) the scores, ``sign`` (n,) of ±1 and ``s`` (n,) the sample
    weights divided by their class's sum, so that s sums to 1 in each class.
    """

    name: ClassVar[str]
    quadratic: ClassVar[bool] = False

    def point(self, t: np.ndarray) -> np.ndarray:
        """Return ℓ(t)."""
        raise NotImplementedError

    def derivative(self, t: np.ndarray) -> np.ndarray:
        """Return ℓ′(t)."""
        raise NotImplementedError

    def value(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> float:
        """Return ½ Σ_i Σ_j s_i s_j ℓ(z_i − z_j)."""
        raise NotImplementedError

    def gradient(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Return the derivative of `value` with respect to z, shape (n,)."""
        raise NotImplementedError

    def hessian_product(
        self, z: np.ndarray, u: np.ndarray, sign: np.ndarray, s: np.ndarray
    ) -> np.ndarray:
        """Return the second derivative of `value` at z times u, shape (n,)."""
        raise NotImplementedError


class Square(PairwiseLoss):
    """ℓ(t) = (1 − t)²: the mean over pairs needs only each class's mean and variance of scores.

    ½ mean (1 − t)² = ½(1 − (m₊ − m₋))² + ½(v₊ + v₋), with m and v the class means and variances
    of the scores (Gao et al. 2013).
    """

    name = "square"
    quadratic = True

    def point(self, t: np.ndarray) -> np.ndarray:
        return (1.0 - t) ** 2

    def derivative(self, t: np.ndarray) -> np.ndarray:
        return -2.0 * (1.0 - t)

    def value(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> float:
        pos = sign > 0
        m_pos, m_neg = s[pos] @ z[pos], s[~pos] @ z[~pos]
        spread = s[pos] @ (z[pos] - m_pos) ** 2 + s[~pos] @ (z[~pos] - m_neg) ** 2
        return float(0.5 * (1.0 - (m_pos - m_neg)) ** 2 + 0.5 * spread)

    def gradient(self, z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> np.ndarray:
        centred, gap = self._centred(z, sign, s)
        return s * (centred - sign * (1.0 - gap))

    def hessian_product(
        self, z: np.ndarray, u: np.ndarray, sign: np.ndarray, s: np.ndarray
    ) -> np.ndarray:
        centred, gap = self._centred(u, sign, s)
        return s * (centred + sign * gap)

    @staticmethod
    def _centred(z: np.ndarray, sign: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, float]:
        """Return z minus its class's mean, and the difference of the class means."""
        pos = sign > 0
        m_pos, m_neg = float(s[pos] @ z[pos]), float(s[~pos] @ z[~pos])
        return z - np.where(pos, m_pos, m_neg), m_pos - m_neg


LOSSES: dict[str, PairwiseLoss] = {loss.name: loss for loss in (Square(),)}
