"""The Cholesky factor, directly from LAPACK: SciPy's checks take longer than a small system."""

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

__all__ = ["Cholesky"]


class Cholesky:
    """The Cholesky factor of a matrix.

    Parameters
    ----------
    matrix : ndarray of float64, shape (d, d)
        Symmetric, positive definite and finite.
    overwrite : bool
        Whether the factor may replace the matrix.

    Raises
    ------
    LinAlgError
        If it is not positive definite.
    """

    def __init__(self, matrix: np.ndarray, overwrite: bool = False) -> None:
        self._factor, info = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=overwrite)
        if info:
            raise LinAlgError(f"the leading minor of order {info} is not positive definite.")

    @property
    def smallest(self) -> float:
        """The smallest entry of the factor's diagonal."""
        return float(np.diag(self._factor).min())

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return x with A x = b, for b (d,) or (d, k)."""
        x, _ = dpotrs(self._factor, b, lower=True)
        return x if b.ndim == 2 else x.reshape(-1)
