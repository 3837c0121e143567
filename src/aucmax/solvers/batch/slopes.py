"""Slopes of the data term along all features, of which only those that may matter are computed.

The slope along feature j is x_j·r, with r the derivatives of the data term by the rows' scores. For
any combination of earlier derivatives r_k, whose slopes are known,

    ∣x_j·r − Σ_k c_k x_j·r_k∣ ≤ ‖x_j‖ ‖r − Σ_k c_k r_k‖,

in norms that weight the rows as the variances do, with x_j about the mean of the negatives if J
depends only on differences of rows.

If this leaves no doubt that a feature stays at the kink of the penalty at 0, its slope is not
computed: with a smooth loss neither the possible gain nor the duality gap depends on it. This holds
off a working set and, if its columns have many entries, on it.
"""

from typing import Protocol

import numpy as np

from aucmax.data.rows.store import Numbers
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty
from aucmax.solvers.batch.columns import shifted

__all__ = ["Slopes"]

_MANY_FEATURES = 1000  # above which a product with all rows costs more than a working set
_MANY_ENTRIES = 2_000_000  # of columns held, from which a product with them costs more than a bound
_EARLIER = 5  # derivatives to combine
# of the features that may stay at 0, above which a product with all costs less
_MAX_DOUBTFUL_SHARE = 0.02  # if their columns must be taken from the rows
_DOUBTFUL_PER_TAKEN = 5.0  # times as many, if most of their columns were taken before
_MAX_TAKEN_SHARE = 0.2  # of the features, up to which the columns taken are kept
_MAX_DOUBTFUL_SHARE_HELD = 0.3  # if they are held
_ROUNDING_FACTOR = 100.0  # times rounding: the error of the slopes that are combined


class Held(Protocol):
    """Columns S (k,) in memory, of which `slopes` returns the products with derivatives (n,)."""

    S: np.ndarray

    @property
    def entries(self) -> int: ...

    def slopes(self, derivatives: Numbers, some: np.ndarray | None = None) -> np.ndarray: ...


class Slopes:
    """The data term's gradient at a point, with bounds in place of slopes that do not matter.

    Bounds are used for many dense entries; a product with sparse rows costs as little.

    Attributes
    ----------
    gradient : ndarray, shape (d,)
        The slopes; where they are not computed, those of the best combination.
    bounds : bool
        Whether bounds are used.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        problem = objective.problem
        n, d = problem.n_samples, problem.n_features
        self.gradient = np.zeros(d)
        self.bounds = False
        self._taken: dict[int, np.ndarray] = {}  # dense columns (n,) by feature
        if objective.loss.kind != "smooth" or (d <= _MANY_FEATURES and n * d < _MANY_ENTRIES):
            return
        rows, (pos, neg) = problem.columns(np.empty(0, np.int64)), problem.covariance_weights
        self.bounds = isinstance(rows.X, np.ndarray)
        # the norms weight the rows as the variances do, which are known
        weight = rows.share * np.where(rows.sign > 0, pos, neg)
        self._unit = np.sqrt(np.divide(1.0, weight, out=np.zeros(len(weight)), where=weight > 0.0))
        origin = problem.mean_neg * objective.translates
        squares = problem.curvature - problem.delta**2
        squares += pos * (problem.mean_pos - origin) ** 2 + neg * (problem.mean_neg - origin) ** 2
        self._norms = np.sqrt(np.maximum(squares, 0.0))
        # the last derivatives of which all slopes are known, their products, and these slopes
        self._count, self._earlier = 0, np.zeros((_EARLIER, n))
        self._products, self._slopes = np.zeros((_EARLIER, _EARLIER)), np.zeros((_EARLIER, d))

    def move(self, derivatives: Numbers) -> None:
        """Go to a point with other derivatives by the rows' scores (n,)."""
        d = len(self.gradient)
        self._derivatives, self._error = derivatives, np.nan
        self.gradient, self._computed = np.zeros(d), np.zeros(d, bool)
        self._on: np.ndarray | None = None  # features whose slopes are computed

    def learn(self, S: np.ndarray, slopes: np.ndarray) -> None:
        """Take over slopes (k,) along features S, computed elsewhere."""
        self.gradient[S], self._computed[S] = slopes, True

    def on_set(self, part: Held, penalty: Penalty, v: np.ndarray) -> np.ndarray:
        """Return the slopes along the features of a working set, at v (k,) with its penalty."""
        S = part.S
        if self.bounds and part.entries >= _MANY_ENTRIES:
            places, support = self._doubtful(penalty, v, S), np.count_nonzero(v)
            if len(places) > support + _MAX_DOUBTFUL_SHARE_HELD * (len(S) - support):
                places = np.flatnonzero(~self._computed[S])
            if len(places) > 0:
                self.learn(S[places], part.slopes(self._derivatives, places))
                if self._computed.all():
                    self._remember()
        elif self._on is not S and not self._computed[S].all():
            self.learn(S, part.slopes(self._derivatives))
            self._on = S
        return self.gradient[S]

    def complete(self, penalty: Penalty, w: np.ndarray) -> None:
        """Compute the slopes along all features that may leave 0 at w (d,)."""
        if self._computed.all():
            return
        doubtful, few = self._doubtful(penalty, w), _MAX_DOUBTFUL_SHARE * len(w)
        if len(doubtful) > _DOUBTFUL_PER_TAKEN * few or len(self._not_taken(doubtful)) > few:
            self.learn(np.arange(len(w)), self.objective.adjoint(self._derivatives))
            if self.bounds:
                self._remember()
        elif len(doubtful) > 0:
            self.learn(doubtful, self._by_columns(doubtful))

    def _not_taken(self, S: np.ndarray) -> list[int]:
        return [j for j in S.tolist() if j not in self._taken]

    def _by_columns(self, S: np.ndarray) -> np.ndarray:
        """Return the slopes along features S; dense columns are kept, as most are needed again."""
        if len(self._taken) > _MAX_TAKEN_SHARE * len(self.gradient):
            self._taken.clear()
        g = self._derivatives[:]
        if new := self._not_taken(S):
            problem = self.objective.problem
            means = problem.mean_neg[new] * self.objective.translates
            columns, _ = shifted(problem.columns(np.array(new)).X, means)
            if not isinstance(columns, np.ndarray):
                return columns.T @ g
            self._taken.update(zip(new, columns.T, strict=True))
        return np.array([self._taken[j] @ g for j in S.tolist()])

    def _doubtful(
        self, penalty: Penalty, w: np.ndarray, S: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return the places in S of features that may leave 0 at w (k,), and are not computed."""
        doubtful = ~self._computed[S]
        if self.bounds and self._count > 0 and doubtful.any():
            if np.isnan(self._error):
                self._combine()
            left, right, *_ = penalty.pieces(w)
            gradient, radius = self.gradient[S], self._error * self._norms[S]
            stays = np.minimum(right + gradient, -gradient - left) >= radius
            doubtful &= ~(stays & (w == 0.0) & (left <= 0.0) & (right >= 0.0))
        return np.flatnonzero(doubtful)

    def _combine(self) -> None:
        """Set the slopes that are not computed to those of a combination of earlier derivatives."""
        r = self._unit * self._derivatives[:]
        c = np.linalg.lstsq(self._products, self._earlier @ r, rcond=None)[0]
        size = float(np.abs(c) @ np.sqrt(self._products.diagonal()))
        rounding = _ROUNDING_FACTOR * float(np.finfo(float).eps)
        self._error = float(np.linalg.norm(r - c @ self._earlier)) + rounding * size
        np.copyto(self.gradient, c @ self._slopes, where=~self._computed)

    def _remember(self) -> None:
        """Keep derivatives whose slopes are all computed, in place of the oldest ones."""
        k = self._count % _EARLIER
        self._count += 1
        self._slopes[k], self._earlier[k] = self.gradient, self._unit * self._derivatives[:]
        self._products[k] = self._products[:, k] = self._earlier @ self._earlier[k]
