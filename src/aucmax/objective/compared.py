"""Rows of many degrees, each compared with all rows of a lower one."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from aucmax.data.comparisons import Comparisons
from aucmax.data.degrees import Degrees, GradeWeight
from aucmax.data.rows import Rows
from aucmax.data.rows.products import dot
from aucmax.data.rows.store import InMemory
from aucmax.data.strata import Strata
from aucmax.objective.losses import LossAt, RankingLoss
from aucmax.objective.problem import Columns, Problem, RowsProblem, Summaries, WeightedRows
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.compared import PairMoments, pair_moments

__all__ = ["ComparedProblem"]


@dataclass
class PairSummaries(Summaries):
    """Quantities computed from some rows, including the moments of their pairs."""

    pairs: PairMoments | None = None


@dataclass(frozen=True, eq=False)
class ComparedRows(WeightedRows):
    """The rows of a problem, and which of them are compared.

    Attributes
    ----------
    positive : ndarray of bool, shape (n,)
        The rows that should rank above some other row.
    pairs : Comparisons
        Their weights sum to 1.
    own : ndarray, shape (n,)
        The weights of the rows.
    """

    summaries: PairSummaries = field(default_factory=PairSummaries)
    pairs: Comparisons = field(kw_only=True)
    own: np.ndarray = field(kw_only=True)

    @classmethod
    def of(cls, X: Rows, pairs: Comparisons, own: np.ndarray) -> Self:
        """Return the rows for pairs with any weights."""
        pairs = pairs.scaled(np.full(len(pairs), 1.0 / pairs.lead.sum()))
        return cls(InMemory(X), pairs.lead > 0.0, pairs=pairs, own=own)


@dataclass(frozen=True, eq=False)
class ComparedProblem(RowsProblem):
    """A problem of rows of many degrees.

    J with the square loss is that of two classes, the higher and the lower rows of the pairs, with
    the moments of `aucmax.statistics.compared`; the loss itself is a sum over the pairs.
    """

    data: ComparedRows
    offers = frozenset({"moments", "products"})
    max_moment_bytes: ClassVar[int] = 10**9

    @classmethod
    def among(
        cls,
        X: Rows,
        degrees: Degrees,
        weight: np.ndarray | None = None,
        strata: Strata | None = None,
        grade_weight: GradeWeight = "equal",
    ) -> "ComparedProblem":
        """Return the problem of rows in their own coordinates.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d)
        degrees : Degrees
            Of n rows.
        weight : ndarray, shape (n,), optional
            Sample weights; rows of weight 0 do not count.
        strata : Strata, optional
            Only rows of one stratum are compared.
        grade_weight : {"equal", "difference"}
            As for `Comparisons.of`.

        Raises
        ------
        ValueError
            If the order of no two rows is known.
        """
        own = np.ones(len(degrees)) if weight is None else weight / weight.mean()
        pairs = Comparisons.of(degrees, own, strata, grade_weight)
        if not pairs.lead.any():
            where = "" if strata is None else f" within any of the {len(strata):,} strata"
            raise ValueError(
                f"no row of y is known to rank above another{where}; give at least two different "
                "grades, or an event before another time."
            )
        pairs = pairs.normalised(own, pairs.strata.weighting)
        return cls(ComparedRows.of(X, pairs, own))

    @property
    def moments_of_pairs(self) -> PairMoments:
        """The moments of the pairs' differences; only variances unless covariances are known."""
        summaries = self.data.summaries
        if summaries.pairs is None:
            summaries.pairs = self._measured(full=False)
        return summaries.pairs

    def raw_means(self) -> tuple[np.ndarray, np.ndarray]:
        moments = self.moments_of_pairs
        return moments.origin + moments.delta, moments.origin

    def raw_variances(self) -> tuple[np.ndarray, np.ndarray]:
        variances = self.moments_of_pairs.variances
        return variances, np.zeros_like(variances)

    @cached_property
    def delta(self) -> np.ndarray:
        return self._scale(self.moments_of_pairs.delta)

    def spread(self) -> np.ndarray:
        return self.moments_of_pairs.spread

    def statistics(self, empty: ClassStatistics) -> ClassStatistics:
        if not empty.has_covariances:
            raise ValueError(
                "pairs of many degrees have no sketch; use Exact(covariance='full'), or "
                "solver='conjugate_gradient' for many features."
            )
        summaries, d = self.data.summaries, self.n_features
        if summaries.moments is None:
            if 3 * 8 * d**2 > self.max_moment_bytes:
                raise ValueError(
                    f"this needs matrices of {d:,} × {d:,} numbers, {3 * 8 * d**2 / 1e9:.1f} GB; "
                    "use l1_ratio=0 without bounds, or loss='squared_hinge', which need none."
                )
            summaries.pairs = self._measured(full=True)
            summaries.moments = summaries.pairs.of_classes
        return summaries.moments

    def loss_at(
        self,
        loss: RankingLoss,
        z: np.ndarray,
        like: LossAt | None = None,
        near: LossAt | None = None,
    ) -> LossAt:
        return loss.over(self.data.pairs.apart(z), self.data.pairs)

    def within_product(self, v: np.ndarray) -> np.ndarray:
        if self.knows_moments:
            return self.within @ v
        slopes = self.data.pairs.product(self.data.pairs.apart(self.scores(v)))
        product = self.adjoint(slopes) - float(slopes.sum()) * self.mean_neg
        return product - self.delta * dot(self.delta, v)

    def seen_columns(self, S: np.ndarray) -> Columns:
        raise ValueError("pairs of many degrees need the moments of all features here.")

    @property
    def pair_gram_cost(self) -> float:
        return np.inf

    def sample(self, per_class: int) -> Problem:
        step = self.n_samples // (2 * per_class)
        if self.knows_moments or step < 2:
            return self
        if per_class not in self._samples:
            pairs = self.data.pairs
            if len(pairs.strata) > 1:
                rows = np.flatnonzero(pairs.strata.code % step == 0)
            else:
                rows = np.sort(pairs.rows[::step])
            drawn = pairs.at(rows)
            self._samples[per_class] = self
            if drawn.lead.any():
                X = InMemory(self.data.in_memory()).take(rows)
                own = ComparedRows.of(X, drawn, self.data.own[rows])
                self._samples[per_class] = replace(self, data=own)
        return self._samples[per_class]

    def _measured(self, full: bool) -> PairMoments:
        return pair_moments(self.data.in_memory(), self.data.pairs, self.data.own, full)
