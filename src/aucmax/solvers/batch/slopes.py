"""Slopes of the data term along all features, of which only those that may matter are computed.

The slope along feature j is x_j·r, with r the derivatives of the data term by the rows' scores. For
any combination of earlier derivatives r_k, whose slopes are known,

    ∣x_j·r − Σ_k c_k x_j·r_k∣ ≤ ‖x_j‖ ‖r − Σ_k c_k r_k‖,

in norms that weight the rows as the variances do, with x_j about the mean of the negatives if J
depends only on differences of rows.

If this leaves no doubt that a feature stays at the kink of the penalty at 0, its slope is not
computed: with a smooth loss neither the possible gain nor the duality gap depends on it.
"""

import numpy as np

from aucmax.data.rows.store import Numbers
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty
from aucmax.solvers.batch.columns import shifted

__all__ = ["Slopes"]

_MIN_FEATURES = 1000  # up to which working sets soon have all features
_EARLIER = 5  # derivatives to combine
_MAX_DOUBTFUL_SHARE = 0.02  # of the features: a product with all costs less than with more columns
_ROUNDING_FACTOR = 100.0  # times rounding: the error of the slopes that are combined


class Slopes:
    """The data term's gradient at a point, with bounds in place of slopes that do not matter.

    Bounds are used for many dense features; a product with sparse rows costs as little.

    Attributes
    ----------
    gradient : ndarray, shape (d,)
        The slopes; where they are not computed, those of the best combination.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        problem = objective.problem
        self.gradient = np.zeros(problem.n_features)
        self._earlier: list[tuple[np.ndarray, np.ndarray]] = []
        self._bounds = False
        if problem.n_features <= _MIN_FEATURES or objective.loss.kind != "smooth":
            return
        rows, (pos, neg) = problem.columns(np.empty(0, np.int64)), problem.covariance_weights
        self._bounds = isinstance(rows.X, np.ndarray)
        # the norms weight the rows as the variances do, which are known
        weight = rows.share * np.where(rows.sign > 0, pos, neg)
        self._unit = np.sqrt(np.divide(1.0, weight, out=np.zeros(len(weight)), where=weight > 0.0))
        origin = problem.mean_neg * objective.translates
        squares = problem.curvature - problem.delta**2
        squares += pos * (problem.mean_pos - origin) ** 2 + neg * (problem.mean_neg - origin) ** 2
        self._norms = np.sqrt(np.maximum(squares, 0.0))

    def move(self, derivatives: Numbers) -> None:
        """Go to a point with other derivatives by the rows' scores (n,)."""
        d = len(self.gradient)
        self._derivatives, self._error = derivatives, np.inf
        self.gradient, self._computed = np.zeros(d), np.zeros(d, bool)
        if self._earlier:
            R, slopes = map(np.array, zip(*self._earlier, strict=True))
            r = self._unit * derivatives[:]
            c = np.linalg.lstsq(R.T, r, rcond=None)[0]
            rounding = _ROUNDING_FACTOR * float(np.finfo(float).eps)
            self._error = float(np.linalg.norm(r - c @ R))
            self._error += rounding * float(np.abs(c) @ np.linalg.norm(R, axis=1))
            self.gradient = c @ slopes

    def learn(self, S: np.ndarray, slopes: np.ndarray) -> None:
        """Take over slopes (k,) along features S, computed elsewhere."""
        self.gradient[S], self._computed[S] = slopes, True

    def complete(self, penalty: Penalty, w: np.ndarray) -> None:
        """Compute the slopes along all features that may leave 0 at w (d,)."""
        if self._computed.all():
            return
        doubtful = self._doubtful(penalty, w)
        if len(doubtful) > _MAX_DOUBTFUL_SHARE * len(w):
            self.learn(np.arange(len(w)), self.objective.adjoint(self._derivatives))
            if self._bounds:
                latest = self._unit * self._derivatives[:], self.gradient.copy()
                self._earlier = [*self._earlier[1 - _EARLIER :], latest]
        elif len(doubtful) > 0:
            problem = self.objective.problem
            means = problem.mean_neg[doubtful] * self.objective.translates
            columns, _ = shifted(problem.columns(doubtful).X, means)
            self.learn(doubtful, columns.T @ self._derivatives[:])

    def _doubtful(self, penalty: Penalty, w: np.ndarray) -> np.ndarray:
        doubtful = ~self._computed
        if np.isfinite(self._error) and doubtful.any():
            left, right, *_ = penalty.pieces(w)
            radius = self._error * self._norms
            stays = np.minimum(right + self.gradient, -self.gradient - left) >= radius
            doubtful &= ~(stays & (w == 0.0) & (left <= 0.0) & (right >= 0.0))
        return np.flatnonzero(doubtful)
