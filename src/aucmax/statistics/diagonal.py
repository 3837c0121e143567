"""Diagonal moments: class moments with only the diagonals of the covariances."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aucmax.data.rows import Rows, products
from aucmax.statistics.base import ClassStatistics, Part, members
from aucmax.statistics.strata import SeenFromStrata
from aucmax.statistics.subtraction import Remainder

__all__ = ["DiagonalMoments"]


class DiagonalMoments(ClassStatistics):
    """Counts, means and variances of K classes, without covariances.

    These are O(d) exact numbers: up to rounding, they do not depend on the order of the rows or
    their division into calls.

    Parameters
    ----------
    classes, feature_names
        As for `ClassMoments`.
    """

    kind = "diagonal"

    def taken_from(self, other: ClassStatistics) -> "DiagonalMoments":
        """Return the counts, means and variances of statistics of any kind."""
        diagonal = DiagonalMoments(other.classes, other.feature_names)
        diagonal._declared, diagonal._d = other._declared, other.n_features
        diagonal.strata = other.strata
        arrays = {name: other._parts[name] for name in diagonal._shapes(0).keys() - {"variances"}}
        for name, values in (arrays | {"variances": other.variances}).items():
            diagonal._parts[name] = values.copy()
        return diagonal

    def within(self, weights: Sequence[float] = (1.0, 1.0)) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(weights) @ self.variances, np.zeros((0, self._d))

    def missed(self, weights: Sequence[float] = (1.0, 1.0)) -> float:
        return np.inf

    # ---- inside

    def _shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        return super()._shapes(d) | {"variances": (d,)}

    def _measure(self, X: Rows, rows: np.ndarray, share: np.ndarray) -> Part:
        X = members(X, rows)
        total = float(share.sum())
        s, sign = share / total, np.ones(len(share))
        mean = products.class_means(X, sign, s)[0]
        variance = products.class_variances(X, sign, s, mean, mean)[0]
        return {"counts": total, "squares": share @ share, "means": mean, "variances": variance}

    def _measure_seen(self, seen: SeenFromStrata, side: int) -> Part:
        total, share = seen.weight[side], seen.share[seen.positive == bool(side)]
        mean = seen.sums.first[side] / total
        variance = np.maximum(seen.sums.second[side] / total - mean**2, 0.0)
        return {"counts": total, "squares": share @ share, "means": mean, "variances": variance}

    def _join(self, mine: Part, part: Part) -> None:
        variance, T, t = mine["variances"], mine["counts"], part["counts"]
        gap = part["means"] - mine["means"]
        variance *= T / (T + t)
        variance += (t / (T + t)) * part["variances"]
        variance += (T / (T + t) * (t / (T + t))) * gap**2

    def _leave(self, mine: Part, part: Part, remains: Remainder, label: Any) -> None:
        mine["variances"][...] = remains.variance
