"""Conjugate gradient for the inner systems of other solvers, cut short.

SciPy's does not stop at a direction without curvature, which a singular system has.
"""

from collections.abc import Callable

import numpy as np

from aucmax.products import dot

__all__ = ["Product", "truncated_cg"]

Product = Callable[[np.ndarray], np.ndarray]


def truncated_cg(
    product: Product,
    b: np.ndarray,
    rtol: float,
    max_iter: int,
    precondition: Product,
    enough: float = 0.0,
) -> tuple[np.ndarray, int]:
    """Solve A x = b roughly, A symmetric positive semi-definite.

    Parameters
    ----------
    product, precondition : callable
        v ↦ A v and v ↦ M⁻¹ v, shape (d,).
    b : ndarray, shape (d,)
    rtol : float
        Stop when ‖b − A x‖ ≤ rtol ‖b‖, or where a direction has no curvature left.
    max_iter : int
    enough : float
        Stop, too, when no entry of b − A x is larger than this.

    Returns
    -------
    x : ndarray, shape (d,)
        Makes ½ x·Ax − b·x negative unless b = 0, whenever it stopped.
    steps : int
        Products taken.
    """
    x, r = np.zeros_like(b), b.copy()
    z = precondition(r)
    p, rz = z.copy(), dot(r, z)
    aim = rtol**2 * dot(b, b)
    steps = 0
    while steps < max_iter and dot(r, r) > aim and np.abs(r).max() > enough:
        q = product(p)
        steps += 1
        curvature = dot(p, q)
        if not curvature > 0.0:
            break
        a = rz / curvature
        x += a * p
        r -= a * q
        z = precondition(r)
        rz, old = dot(r, z), rz
        p = z + (rz / old) * p
    return x, steps
