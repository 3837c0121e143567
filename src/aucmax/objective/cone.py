"""The point of a polyhedral cone that is nearest to a given point, in the metric of a matrix H.

    v = argmin ½ (v − u)·H(v − u)  subject to  Gv + Et ≥ 0 for some t

With multipliers z ≥ 0 of the rows, Eᵀz = 0 and v = u + H⁻¹Gᵀz. With M = GH⁻¹Gᵀ the conditions are

    s = Gu + Mz + Et,   Eᵀz = 0,   s ≥ 0,   z ≥ 0,   s∘z = 0,

which Newton steps solve with s∘z = μ for a μ that decreases to 0: an interior-point method.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

__all__ = ["Cone", "Nearest", "nearest"]

_TOL = 1e-13  # s·z over the objective at v = 0
_MAX_STEPS = 100
_INTERIOR_SHARE = 0.995  # of the way to the nearest bound
_MIN_STEP = 1e-8  # shorter steps are only rounding
_RIDGE = 1e-13  # added to M, whose rows may be dependent


class Cone(Protocol):
    """The vectors w (d,) with Gw + Et ≥ 0 for some t (k,)."""

    @property
    def rows(self) -> Any:
        """G, a csr_matrix of shape (p, d)."""

    @property
    def auxiliary(self) -> Any:
        """E, a csr_matrix of shape (p, k) and of full column rank."""

    def __contains__(self, w: np.ndarray) -> bool:
        """Whether w is in the cone, up to rounding."""

    def inside(self, w: np.ndarray) -> np.ndarray:
        """Return a point of the cone about as far from w as w is outside of the cone."""


class Nearest(NamedTuple):
    """The nearest point of a cone.

    Parameters
    ----------
    point : ndarray, shape (d,)
        v.
    pull : ndarray, shape (d,)
        Gᵀz = H(v − u): its product with any point of the cone is at least 0, and with v it is 0.
    """

    point: np.ndarray
    pull: np.ndarray


def nearest(cone: Cone, target: np.ndarray, inverse: Callable[[np.ndarray], np.ndarray]) -> Nearest:
    """Return the point of a cone that is nearest to a target.

    Parameters
    ----------
    cone : Cone
    target : ndarray, shape (d,)
        u.
    inverse : callable
        Multiplies the columns of a matrix (d, p) with H⁻¹.

    References
    ----------
    Mehrotra (1992), "On the implementation of a primal-dual interior point method". Nocedal &
    Wright (2006), "Numerical optimization", section 16.6.
    """
    if target in cone:
        return Nearest(cone.inside(target), np.zeros(len(target)))
    G = cone.rows
    moves = inverse(G.T.toarray())
    M = G @ moves
    unit = np.einsum("jj->j", M) ** -0.5
    problem = _Problem(
        M * unit * unit[:, None], unit[:, None] * cone.auxiliary.toarray(), unit * (G @ target)
    )
    z = unit * problem.multipliers()
    return Nearest(cone.inside(target + moves @ z), G.T @ z)


class _Problem(NamedTuple):
    """The problem of the multipliers, with rows G scaled so that M has a unit diagonal.

    Parameters
    ----------
    M : ndarray, shape (p, p)
    E : ndarray, shape (p, k)
    at : ndarray, shape (p,)
        Gu.
    """

    M: np.ndarray
    E: np.ndarray
    at: np.ndarray

    def multipliers(self) -> np.ndarray:
        """Return z, shape (p,)."""
        M, E, at = self
        size = float(np.abs(at).max())
        z, s = np.full(len(at), size / len(at)), np.full(len(at), size)
        t = np.zeros(E.shape[1])
        limit = _TOL * size**2
        for _ in range(_MAX_STEPS):
            lacking, unbalanced = at + M @ z + E @ t - s, E.T @ z
            if s @ z <= limit and np.abs(lacking).max() <= _TOL * size:
                break
            system = _System(self, s, z, lacking, unbalanced)
            dz, ds, _ = system.step(-s * z)
            length = min(1.0, _length(s, ds), _length(z, dz))
            mu, ahead = s @ z, (s + length * ds) @ (z + length * dz)
            centre = (ahead / mu) ** 3 * mu / len(at)
            dz, ds, dt = system.step(centre - s * z - ds * dz)
            length = min(1.0, _INTERIOR_SHARE * min(_length(s, ds), _length(z, dz)))
            if length < _MIN_STEP:
                break
            z, s, t = z + length * dz, s + length * ds, t + length * dt
        return z


class _System:
    """The Newton system at s, z and t."""

    def __init__(
        self,
        problem: _Problem,
        s: np.ndarray,
        z: np.ndarray,
        lacking: np.ndarray,
        unbalanced: np.ndarray,
    ) -> None:
        self.problem, self.z = problem, z
        self.lacking, self.unbalanced = lacking, unbalanced
        self.factor = cho_factor(
            problem.M + np.diag(np.maximum(s / z, _RIDGE)), lower=True, check_finite=False
        )
        self.solved = cho_solve(self.factor, problem.E, check_finite=False)

    def step(self, product: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the changes of z, s and t that change s∘z by ``product``, to first order."""
        M, E, _ = self.problem
        rhs = product / self.z - self.lacking
        dt = np.linalg.solve(E.T @ self.solved, self.solved.T @ rhs + self.unbalanced)
        dz = cho_solve(self.factor, rhs - E @ dt, check_finite=False)
        return dz, M @ dz + E @ dt + self.lacking, dt


def _length(at: np.ndarray, change: np.ndarray) -> float:
    """Return the longest step that keeps all numbers at or above 0."""
    falling = change < 0.0
    return float(np.min(-at[falling] / change[falling], initial=np.inf))
