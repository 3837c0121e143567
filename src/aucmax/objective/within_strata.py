"""Rows that are compared only within strata."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import Rows
from aucmax.data.rows.products import dot
from aucmax.data.rows.store import InMemory, Store
from aucmax.data.strata import Compared, Strata
from aucmax.objective.losses import Shares, Square
from aucmax.objective.problem import (
    Columns,
    MomentsProblem,
    Problem,
    RowsProblem,
    Summaries,
    WeightedRows,
)
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.strata_in_parts import statistics_in_parts

__all__ = ["ProblemWithinStrata", "rows_problem"]

_SHARE_COPIED = 0.5  # if at most this share of the rows is compared, these rows are copied


def rows_problem(
    X: Rows | Store,
    sign: np.ndarray,
    weight: np.ndarray | None = None,
    statistics: ClassStatistics | None = None,
    strata: Strata | None = None,
) -> RowsProblem:
    """Return the problem of rows, compared within strata if there are any.

    Parameters
    ----------
    X, sign, weight, statistics
        As for `RowsProblem.of`.
    strata : Strata, optional
        Of n rows. Rows in strata of one class are never compared and have no weight; they are left
        out if that saves more than copying the other rows costs.

    Raises
    ------
    ValueError
        If no stratum has rows of both classes.
    """
    if strata is None:
        return RowsProblem.of(X, sign, weight, statistics)
    store = X.untold if isinstance(X, Store) else InMemory(X)
    positive = sign if sign.dtype == bool else sign > 0
    counted = np.flatnonzero(strata.compared(positive, weight).of_row > 0.0)
    if len(counted) == 0:
        raise ValueError(
            f"none of the {len(strata):,} strata has rows of both classes; rows are compared "
            "within strata only."
        )
    if len(counted) <= _SHARE_COPIED * len(positive):
        store, positive, strata = store.taken(counted), positive[counted], strata.at(counted)
        weight = None if weight is None else weight[counted]
    rows = RowsOfStrata.weighed(store, positive, weight, strata)
    if statistics is not None and statistics.has_covariances:
        rows.summaries.moments = statistics
    rows.summaries.spreads = statistics
    return ProblemWithinStrata(rows)


@dataclass(frozen=True, eq=False)
class RowsOfStrata(WeightedRows):
    """The rows of a problem, weighted in their class as `Strata.compared` says.

    Attributes
    ----------
    own_weight : ndarray, shape (n,), optional
        The original weights; ``given_weight`` are the weights that follow from the strata.
    strata : Strata
        Of n rows.
    shares : Shares
        The strata and their ω.
    """

    own_weight: np.ndarray | None = field(default=None, kw_only=True)
    strata: Strata = field(kw_only=True)
    shares: Shares = field(kw_only=True)

    @classmethod
    def weighed(
        cls, store: Store, positive: np.ndarray, weight: np.ndarray | None, strata: Strata
    ) -> "RowsOfStrata":
        """Return rows with weights of their own, some of which may be 0."""
        compared: Compared = strata.compared(positive, weight)
        of_row, omega = compared.of_row, compared.of_stratum
        return cls(
            store, positive, of_row, len(of_row) / of_row.sum(), float(of_row.mean()),
            own_weight=weight, strata=strata, shares=Shares(strata.code, omega / omega.sum()),
        )  # fmt: skip

    def measured(self, empty: ClassStatistics) -> ClassStatistics:
        if not isinstance(self.store, InMemory):
            of_rows = self.positive[:], self.own_weight, self.strata
            return statistics_in_parts(self.store, empty, *of_rows)
        return empty.copy().add_strata(self.store.X, self.sign[:], self.own_weight, self.strata)


@dataclass(frozen=True, eq=False)
class ProblemWithinStrata(RowsProblem):
    """A problem of rows that are compared within strata.

    J is that of two plain classes of rows, relative to the mean of the negatives of their stratum
    (`aucmax.statistics.strata`), with the weights of `RowsOfStrata`. Such rows are computed only
    for statistics; scores are compared as they are.
    """

    data: RowsOfStrata
    offers = frozenset({"moments", "products"})  # no rows for stochastic steps

    @property
    def strata(self) -> Shares:
        return self.data.shares

    def check_likelihood(self) -> None:
        """Raise ValueError unless the strata and their rows have the weights of a likelihood."""
        strata, own = self.data.strata, self.data.own_weight
        if strata.weighting != "positives":
            raise ValueError(
                f"strata_weight={strata.weighting!r} is for losses of pairs; the logistic loss "
                "within strata is a likelihood, in which every positive counts the same: use "
                "strata_weight='positives', or the square loss or squared hinge alone."
            )
        if own is None:
            return
        low, high = np.full(len(strata), np.inf), np.zeros(len(strata))
        weighed = own > 0.0
        np.minimum.at(low, strata.code[weighed], own[weighed])
        np.maximum.at(high, strata.code[weighed], own[weighed])
        if np.any(odd := high > low):
            raise ValueError(
                f"the rows of {int(odd.sum()):,} strata have different weights; the logistic loss "
                "within strata is a likelihood of whole strata: give all rows of one the same "
                "weight, or use the square loss or squared hinge alone."
            )

    def separated_by(self, values: np.ndarray) -> int:
        """Return 1 if no negative has a higher value (n,) than a positive of its stratum.

        Return −1 if no positive has a higher value, and 0 otherwise or if all values are equal.
        """
        (low_neg, high_neg), (low_pos, high_pos) = (
            (np.minimum.reduceat(values[rows], starts), np.maximum.reduceat(values[rows], starts))
            for rows, starts in self._rows_by_class
        )
        if np.all(low_pos >= high_neg):
            return int(np.any(high_pos > low_neg))
        return -int(np.all(high_pos <= low_neg))

    @cached_property
    def _rows_by_class(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The compared rows by class and stratum, and where strata begin; negatives are first."""
        order = self.strata.by_stratum[0]
        order = order[self.data.share[:][order] > 0.0]
        by_class = [order[self.positive[order] == side] for side in (False, True)]
        code = self.strata.code
        return [(rows, np.flatnonzero(np.diff(code[rows], prepend=-1))) for rows in by_class]

    @cached_property
    def _class_weights(self) -> np.ndarray:
        weight = np.bincount(self.positive, self.data.own_weight, 2)
        return weight * (self.n_samples / weight.sum())

    @property
    def n_pos(self) -> float:
        return float(self._class_weights[1])

    @property
    def n_neg(self) -> float:
        return float(self._class_weights[0])

    def part(self, rows: np.ndarray, moments: ClassMoments) -> RowsProblem:
        count = np.bincount(rows, minlength=self.n_samples).astype(np.float64)
        weight = count if self.data.own_weight is None else count * self.data.own_weight
        weighted = self.store.untold, self.positive, weight, self.data.strata
        data = replace(RowsOfStrata.weighed(*weighted), summaries=Summaries(moments))
        return replace(self, data=data)

    def spread(self) -> np.ndarray:
        return MomentsProblem(self._spreads).spread()

    def raw_means(self) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.store, InMemory):
            return super().raw_means()
        return self._spreads.mean_pos, self._spreads.mean_neg

    def raw_variances(self) -> tuple[np.ndarray, np.ndarray]:
        negative, positive = self._spreads.variances
        return positive, negative

    @property
    def _spreads(self) -> ClassStatistics:
        """Statistics of the rows with means and variances."""
        summaries = self.data.summaries
        if summaries.moments is not None:
            return summaries.moments
        if summaries.spreads is None:
            summaries.spreads = self.data.measured(DiagonalMoments([-1.0, 1.0]))
        return summaries.spreads

    def within_product(self, v: np.ndarray) -> np.ndarray:
        if self.knows_moments:
            return self.within @ v
        u = self.scores(v)
        product = self.adjoint(self.loss_at(Square(self.tau), u).product(u))
        product -= self.delta * dot(self.delta, v)
        return product

    def seen_columns(self, S: np.ndarray) -> Columns:
        columns, strata = self.columns(S), self.strata
        held: Any = columns.X
        X = held.toarray() if sp.issparse(held) else np.array(held, np.float64)
        negative = ~self.positive * columns.share
        omega = np.where(strata.omega > 0.0, strata.omega, 1.0)
        for x in X.T:
            x[:] = strata.apart(x)
            x -= (strata.sums(negative * x) / omega)[strata.code]
        return columns._replace(X=X, mean_neg=np.zeros(len(S)))

    def sample(self, per_class: int) -> Problem:
        step = self.n_samples // (2 * per_class)
        if self.knows_moments or step < 2:
            return self
        if per_class not in self._samples:
            chosen = np.zeros(len(self.strata.omega), bool)
            chosen[np.flatnonzero(self.strata.omega > 0.0)[::step]] = True
            rows, own = np.flatnonzero(chosen[self.strata.code]), self.data.own_weight
            weight = None if own is None else own[rows]
            weighted = InMemory(self.store.take(rows)), self.positive[rows], weight
            drawn = RowsOfStrata.weighed(*weighted, self.data.strata.at(rows))
            self._samples[per_class] = replace(self, data=drawn)
        return self._samples[per_class]
