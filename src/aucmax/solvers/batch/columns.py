"""The second derivative of a data term over the columns of a working set."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import Rows, as_rows, n_rows, row_entry, row_size, to_scipy
from aucmax.data.rows.kernels import vectorised
from aucmax.data.rows.products import adjoint, scores
from aucmax.objective.problem import Problem

__all__ = ["WeightedColumns", "about_mean", "of_square", "shifted", "weighted_gram"]


class WeightedColumns(NamedTuple):
    """Columns of all rows, with H = Σ_i ω_i x_i x_iᵀ + Σ_r c_r a_r a_rᵀ over these columns.

    ``columns`` (k, n) has a row for each column; ``weight`` (n,) is ω, ``directions`` (r, k) are
    the a_r, ``factor`` (r,) is c, and ``diagonal`` (k,) is the diagonal of H.
    """

    columns: Rows
    weight: np.ndarray
    directions: np.ndarray
    factor: np.ndarray
    diagonal: np.ndarray

    @classmethod
    def of_rows(
        cls, matrix: np.ndarray | sp.csc_array, bent: np.ndarray, follows: bool
    ) -> "WeightedColumns":
        """Return the second derivative of a data term that is `ByRow` over columns (n, k)."""
        columns = as_rows(matrix.T)
        sums = np.empty((2, n_rows(columns)))
        _weighted_sums(columns, bent, sums)
        total, diagonal = sums
        directions, factor = about_mean(total, float(bent.sum()) if follows else 0.0)
        return cls(columns, bent, directions, factor, diagonal + factor @ directions**2)

    def product(self, v: np.ndarray) -> np.ndarray:
        """Return H v."""
        return self.of_scores(adjoint(self.columns, v), self.directions @ v)

    def of_scores(self, z: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return H v for scores z = Σ_j v_j x_j (n,) and a_r·v (r,)."""
        return scores(self.columns, self.weight * z) + (self.factor * along) @ self.directions

    def gram(self) -> np.ndarray:
        """Return H."""
        H = weighted_gram(to_scipy(self.columns).T, self.weight, self.directions, self.factor)
        H[np.diag_indices(len(H))] = self.diagonal
        return H


def about_mean(total: np.ndarray, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a direction and a factor that turn sums of squares about 0 into those about the mean.

    ``total`` (k,) are weighted sums of columns and ``mass`` is the sum of the weights; if it is 0,
    there are no directions.
    """
    if mass == 0.0:
        return np.empty((0, len(total))), np.empty(0)
    return total[None], np.array([-1.0 / mass])


def weighted_gram(
    matrix: np.ndarray | sp.sparray, weight: np.ndarray, directions: np.ndarray, factor: np.ndarray
) -> np.ndarray:
    """Return H over columns (n, k); see `WeightedColumns`."""
    rows = np.flatnonzero(weight)  # the others have no curvature
    if len(rows) < len(weight):
        matrix, weight = matrix[rows], weight[rows]
    root = np.sqrt(weight)[:, None]
    if isinstance(matrix, np.ndarray):
        rooted = matrix * root
        H = rooted.T @ rooted
    else:
        rooted = matrix.multiply(root).tocsc()
        H = (rooted.T @ rooted).toarray()
    for a, c in zip(directions, factor, strict=True):
        H += np.outer(c * a, a)
    return H


def shifted(
    X: np.ndarray | sp.csc_array, mean_neg: np.ndarray
) -> tuple[np.ndarray | sp.csc_array, np.ndarray]:
    """Move columns (n, k) without zeros near the origin; return the columns and the shift of each.

    Near the origin their products keep their digits. A J over pairs does not change.
    """
    if isinstance(X, np.ndarray):
        X -= mean_neg  # all of them, in place
        return X, mean_neg
    part = sp.csc_array(X)
    count = np.diff(part.indptr)
    shift = np.where(count == part.shape[0], mean_neg, 0.0)
    data = part.data - np.repeat(shift, count)
    return sp.csc_array((data, part.indices, part.indptr), shape=part.shape), shift


def of_square(problem: Problem, S: np.ndarray) -> WeightedColumns:
    """Return the second derivative S + δδᵀ of the square loss over the columns S of a problem."""
    columns, delta = problem.seen_columns(S), problem.delta[S]
    pos, neg = problem.covariance_weights
    mean_neg = problem.mean_neg[S] if columns.mean_neg is None else columns.mean_neg
    matrix, shift = shifted(columns.X, mean_neg)
    mean_neg = mean_neg - shift
    return WeightedColumns(
        as_rows(matrix.T),
        columns.share * np.where(columns.sign > 0, pos, neg),
        np.array([mean_neg + delta, mean_neg, delta]),
        np.array([-pos, -neg, 1.0]),
        problem.curvature[S],
    )


@vectorised
def _weighted_sums(columns, weight, sums):
    # Σ_i ω_i x_ij and Σ_i ω_i x_ij² for each of k columns
    for j in range(sums.shape[1]):
        first, second = 0.0, 0.0
        for e in range(row_size(columns, j)):
            i, x = row_entry(columns, j, e)
            first += weight[i] * x
            second += weight[i] * x * x
        sums[0, j], sums[1, j] = first, second
