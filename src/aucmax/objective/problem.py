"""The data as a batch solver sees them, in its own (scaled) coordinates.

`RowsProblem` holds rows, in memory or in parts; `MomentsProblem` holds only statistics of the
classes. Both have the same methods; the only difference is that some solvers declare that they need
rows. A problem never changes: in other coordinates it is another problem, which shares the rows
and, in one `Summaries`, the quantities computed from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn, Self

import numpy as np
import scipy.sparse as sp

from aucmax.data.rows import Rows, products, scaled_rows, some_columns, stacked_rows, take_rows
from aucmax.data.rows.store import ByClass, Formula, InMemory, Numbers, Store, Told
from aucmax.objective.losses import (
    AtThreshold,
    Logistic,
    LossAt,
    RankingLoss,
    RowSum,
    Shares,
    UnivariateLoss,
)
from aucmax.objective.scaling import feature_factors
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.moments import ClassMoments

__all__ = [
    "ANY_MOMENTS",
    "ANY_ROWS",
    "ANY_SKETCH",
    "Columns",
    "MomentsProblem",
    "Problem",
    "RowsProblem",
    "SignedRows",
    "SumsAtIntercept",
    "normal_product",
]


Offer = Literal["moments", "products", "rows"]


class SignedRows(NamedTuple):
    """Some rows X (m, d), their signs ±1 and their weights, both (m,)."""

    X: Rows
    sign: np.ndarray
    weight: np.ndarray


class Columns(NamedTuple):
    """Some columns X (n, k) of all rows, as an array or CSC, with each row's share and sign.

    ``share`` (n,) are the weights, which sum to 1 in each class; ``sign`` (n,) is ±1; ``mean_neg``
    (k,) are the means of the negatives if they differ from those of the problem.
    """

    X: np.ndarray | sp.csc_array
    sign: np.ndarray
    share: np.ndarray
    mean_neg: np.ndarray | None = None


class SumsAtIntercept(NamedTuple):
    """Sums over all rows of the logistic loss at the scores X w + b, in the solver's coordinates.

    ``value`` is the loss. ``slope`` and ``bend`` are the sums of its first and second derivatives
    by the score, ``gradient`` and ``bent`` (d,) the sums of the rows times these. ``matrix`` (k, k)
    is the second derivative by some w_j at the best b, if requested.
    """

    value: float
    slope: float
    bend: float
    gradient: np.ndarray
    bent: np.ndarray
    matrix: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Problem:
    """Two classes of d-dimensional rows, with the operations that solvers need.

    Only this class knows where rows are kept. Every problem has the weights, means and spreads of
    the classes; `moments` and `within` if d×d numbers fit in memory; the operations on rows if it
    has rows. Vectors (n,) of scores and slopes follow the problem's own order of the rows.

    S = 2τΣ₊ + 2(1−τ)Σ₋ is the spread within the classes: Σ₊ + Σ₋ unless `weighing` changed τ.

    Attributes
    ----------
    data : ClassStatistics or WeightedRows
        The two classes, in the features' own coordinates.
    n_features : int
    n_samples : int
        Number of rows; 0 if only statistics are known.
    n_pos, n_neg : float
        Weight of each class; only their ratio matters.
    unit : float
        The mean of the original weights, which are normalised to mean 1.
    gamma : float
        `standardize`, γ, of the solver's coordinates.
    factor : ndarray of shape (d,), or None
        The solver's coordinates are the features times this factor.
    tau : float
        τ, in [0, 1].
    offers : frozenset of {"moments", "products", "rows"}
        The methods beyond means and spreads: "moments" for `moments` and `within`; "products" for
        `scores`, `adjoint`, `product`, `loss_at`, `margins` and `columns`; "rows" for `batches`.
    """

    data: "ClassStatistics | WeightedRows"
    gamma: float = field(default=0.0, kw_only=True)
    factor: np.ndarray | None = field(default=None, kw_only=True)
    tau: float = field(default=0.5, kw_only=True)

    @property
    def n_features(self) -> int:
        return self.data.n_features

    @property
    def n_samples(self) -> int:
        return 0

    @property
    def n_pos(self) -> float:
        return self.data.n_pos

    @property
    def n_neg(self) -> float:
        return self.data.n_neg

    @property
    def unit(self) -> float:
        return 1.0

    @property
    def strata(self) -> Shares | None:
        """The strata within which rows are compared; None if all rows are, or there are none."""
        return None

    @property
    def within_strata(self) -> bool:
        """Whether only rows of the same stratum are compared."""
        return self.strata is not None

    @property
    def offers(self) -> frozenset[Offer]:
        raise NotImplementedError

    @property
    def p(self) -> float:
        """The share of the positive class, p = n₊/n."""
        return self.n_pos / (self.n_pos + self.n_neg)

    def raw_means(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (μ₊, μ₋) in the features' own coordinates."""
        raise NotImplementedError

    def raw_variances(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the diagonals of (Σ₊, Σ₋) in the features' own coordinates."""
        raise NotImplementedError

    def moments(self) -> ClassMoments:
        """Return the class moments (labels −1 and +1) in the features' own coordinates."""
        raise NotImplementedError

    @property
    def knows_moments(self) -> bool:
        """Whether the moments are already known."""
        raise NotImplementedError

    def statistics(self, empty: ClassStatistics) -> ClassStatistics:
        """Return statistics of the rows, in the features' own coordinates.

        They have the type of ``empty``, or that of the known statistics if there are no rows and
        these have no covariances.
        """
        raise NotImplementedError

    @property
    def known(self) -> ClassStatistics | None:
        """The statistics computed so far: the moments, or else the last of another kind."""
        raise NotImplementedError

    def scaled(self, gamma: float, spread: np.ndarray | None = None) -> Self:
        """Return the same problem in the coordinates of ``standardize=gamma``.

        ``spread`` (d,) sets the scale; by default it is that of the problem's rows.
        """
        factor = None
        if gamma > 0.0:
            factor = feature_factors(self.spread() if spread is None else spread, gamma)
        return replace(self, gamma=gamma, factor=factor)

    def weighing(self, tau: float) -> Self:
        """Return the same problem with this τ."""
        return self if tau == self.tau else replace(self, tau=tau)

    def apart(self) -> Self:
        """Return the same problem with its own copy of the summaries."""
        return self

    # ---- operations on rows --------------------------------------------------------------

    def scores(self, W: np.ndarray) -> np.ndarray:
        """Return X W for W of shape (d,) or (d, k)."""
        self._no_rows()

    def scored(self, w: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of the rows and their scores X w for w (d,): all rows, in their order."""
        yield slice(0, self.n_samples), self.scores(w)

    def adjoint(self, g: Numbers) -> np.ndarray:
        """Return Xᵀ g for g of shape (n,) or (n, k)."""
        self._no_rows()

    def product(
        self,
        s: Numbers,
        V: np.ndarray,
        offset: Numbers | float | None = None,
        origin: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return Xᵀ (s ∘ (X V − offset)) in one pass; V (d,) or (d, k).

        ``offset`` has the shape of X V, or is one number. ``origin`` (d,), in the features' own
        coordinates, is subtracted from every row on the left, (X − 1 originᵀ)ᵀ (…): this changes
        nothing if s ∘ (X V − offset) sums to 0 up to rounding, and preserves the digits of data far
        from zero.
        """
        self._no_rows()

    def gram(self, s: Numbers, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Zᵀ diag(s) Z (d, d) and Zᵀ s (d,) for s ≥ 0 (n,) and the rows Z minus an origin.

        The origin is in the features' own coordinates.
        """
        self._no_rows()

    @property
    def pair_gram_cost(self) -> float:
        """The approximate cost of `pair_gram` in products; infinite if it is not available."""
        return np.inf

    def pair_gram(
        self,
        s: Numbers,
        rows: np.ndarray,
        others: np.ndarray,
        first: np.ndarray,
        end: np.ndarray,
    ) -> np.ndarray:
        """Return Σ s_i s_j (x_i − x_j)(x_i − x_j)ᵀ over `products.pair_gram`'s pairs."""
        self._no_rows()

    @property
    def gram_cost(self) -> float:
        """The approximate cost of `gram` in products; infinite if it is not available."""
        return np.inf

    def loss_at(
        self,
        loss: RankingLoss,
        z: np.ndarray,
        like: LossAt | None = None,
        near: LossAt | None = None,
    ) -> LossAt:
        """Return the loss at scores z (n,).

        ``like`` is the same loss at the same scores with other weights of the rows, if known, and
        ``near`` the same loss at scores nearby.
        """
        self._no_rows()

    def margins(self, loss: UnivariateLoss, z: np.ndarray, balanced: bool) -> RowSum:
        """Return the mean over rows of the loss at scores z (n,).

        ``balanced`` gives each class half of the weight.
        """
        self._no_rows()

    @property
    def scores_stay(self) -> bool:
        """Whether scores stay with the rows; `sums_at` and the methods after it need none here."""
        return False

    def sums_at(
        self, loss: Logistic, w: np.ndarray, b: float, S: np.ndarray | None
    ) -> SumsAtIntercept:
        """Return the sums of the loss at the scores X w + b in one pass.

        Their matrix is that of the features S (k,), if given.
        """
        self._no_rows()

    def bent_product(
        self, loss: Logistic, w: np.ndarray, b: float, v: np.ndarray, offset: float
    ) -> np.ndarray:
        """Return `product` with the loss's second derivatives at the scores X w + b as s.

        ``offset`` is the mean of X v weighted by them, so that the sum is 0.
        """
        self._no_rows()

    def range_of_scores(self, w: np.ndarray) -> float:
        """Return the range of the scores X w, the largest minus the smallest."""
        self._no_rows()

    def columns(self, S: np.ndarray) -> Columns:
        """Return the columns S of all rows, for a small working set."""
        self._no_rows()

    def seen_columns(self, S: np.ndarray) -> Columns:
        """Return `columns` of rows with the problem's class means and covariances."""
        return self.columns(S)

    def batches(self) -> Iterator[SignedRows]:
        """Yield all rows in batches, for kernels that process one row after another."""
        self._no_rows()

    def sample(self, per_class: int) -> "Problem":
        """Return a problem of some rows of each class, or itself if its moments are known."""
        return self

    def standing_out(self) -> np.ndarray:
        """Return the effective number of rows behind each feature's variance within the classes.

        That is (Σ q)²/Σ q², shape (d,), where q_i is row i's share of the variance: a feature in
        few rows tells little about its correlations with others.
        """
        self._no_rows()

    def _no_rows(self) -> NoReturn:
        raise ValueError("this needs rows, and only statistics of the classes are known.")

    # ---- derived -------------------------------------------------------------------------

    def spread(self) -> np.ndarray:
        """Return v_j, twice feature j's variance over all rows, in its own units; shape (d,).

        That is its mean squared difference between two rows.
        """
        p, (var_pos, var_neg), (mean_pos, mean_neg) = self.p, self.raw_variances(), self.raw_means()
        delta = mean_pos - mean_neg
        return 2.0 * (p * var_pos + (1.0 - p) * var_neg + p * (1.0 - p) * delta**2)

    def _scale(self, v: np.ndarray) -> np.ndarray:
        return v if self.factor is None else v * self.factor

    @cached_property
    def mean_pos(self) -> np.ndarray:
        """μ₊, shape (d,)."""
        return self._scale(self.raw_means()[0])

    @cached_property
    def mean_neg(self) -> np.ndarray:
        """μ₋, shape (d,)."""
        return self._scale(self.raw_means()[1])

    @cached_property
    def delta(self) -> np.ndarray:
        """δ = μ₊ − μ₋, shape (d,)."""
        return self.mean_pos - self.mean_neg

    @property
    def remoteness(self) -> float:
        """The mean of ‖x‖² over the mean of ‖x − μ‖², μ the mean of all rows: 1 if centred."""
        p = self.p
        spread = 0.5 * float(np.sum(self._scale(self._scale(self.spread()))))
        centre = p * self.mean_pos + (1.0 - p) * self.mean_neg
        return 1.0 + float(centre @ centre) / spread if spread > 0.0 else 1.0

    @property
    def covariance_weights(self) -> tuple[float, float]:
        """2τ and 2(1−τ), the weights of Σ₊ and Σ₋ in S."""
        return 2.0 * self.tau, 2.0 * (1.0 - self.tau)

    @cached_property
    def within(self) -> np.ndarray:
        """S, shape (d, d)."""
        moments, (pos, neg) = self.moments(), self.covariance_weights
        within = pos * moments.cov_pos
        within += neg * moments.cov_neg
        if self.factor is not None:
            within *= self.factor
            within *= self.factor[:, None]
        return within

    @cached_property
    def curvature(self) -> np.ndarray:
        """The diagonal of S + δδᵀ, shape (d,)."""
        (var_pos, var_neg), (pos, neg) = self.raw_variances(), self.covariance_weights
        return self._scale(self._scale(pos * var_pos + neg * var_neg)) + self.delta**2

    def low_rank(self, statistics: ClassStatistics) -> tuple[np.ndarray, np.ndarray]:
        """Return D (d,) and B (k, d) of a sketch, in which diag(D) + BᵀB replaces S."""
        D, B = statistics.within(self.covariance_weights[::-1])
        return (D, B) if self.factor is None else (D * self.factor**2, B * self.factor)

    def within_product(self, v: np.ndarray) -> np.ndarray:
        """Return S v, from the moments if they are known, otherwise in one pass."""
        return self.within @ v

    def to_features(self, w: np.ndarray) -> np.ndarray:
        """Return the coefficients for the unscaled features."""
        return self._scale(w)

    def from_features(self, coef: np.ndarray) -> np.ndarray:
        """Return the solver's coordinates of coefficients for the unscaled features."""
        if self.factor is None:
            return coef.copy()
        return np.divide(coef, self.factor, out=np.zeros_like(coef), where=self.factor > 0)


@dataclass(frozen=True, eq=False)
class _Any(Problem):
    """A stand-in for data not read yet, to ask a solver whether it will support them."""

    offered: tuple[Offer, ...] = ()
    knows_moments = False
    n_pos = n_neg = np.nan

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset(self.offered)


_NO_ROWS = ClassMoments([-1.0, 1.0])
ANY_ROWS = _Any(_NO_ROWS, ("moments", "products", "rows"))
ANY_MOMENTS, ANY_SKETCH = _Any(_NO_ROWS, ("moments",)), _Any(_NO_ROWS)


@dataclass(frozen=True, eq=False)
class MomentsProblem(Problem):
    """A problem for which only statistics of the classes are known.

    Parameters
    ----------
    data : ClassStatistics
        Statistics of exactly two classes, both with weight; the larger label is positive.
    """

    data: ClassStatistics

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset({"moments"} if self.knows_moments else ())

    @property
    def within_strata(self) -> bool:
        return self.data.strata is not None

    @property
    def known(self) -> ClassStatistics:
        return self.data

    @property
    def knows_moments(self) -> bool:
        return self.data.has_covariances

    def raw_means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.data.mean_pos, self.data.mean_neg

    def raw_variances(self) -> tuple[np.ndarray, np.ndarray]:
        negative, positive = self.data.variances
        return positive, negative

    def spread(self) -> np.ndarray:
        return super().spread() if self.data.strata is None else self.data.spread_within_strata

    def moments(self) -> ClassMoments:
        if not isinstance(self.data, ClassMoments):
            raise ValueError("a sketch does not have the covariances; use solver='exact'.")
        return self.data

    def statistics(self, empty: ClassStatistics) -> ClassStatistics:
        if empty.has_covariances or not self.knows_moments:
            return self.data
        return empty.taken_from(self.data)

    @cached_property
    def _low_rank(self) -> tuple[np.ndarray, np.ndarray]:
        return self.low_rank(self.data)

    def within_product(self, v: np.ndarray) -> np.ndarray:
        if self.knows_moments:
            return self.within @ v
        D, B = self._low_rank
        return D * v + B.T @ (B @ v)


@dataclass
class Summaries:
    """Quantities computed from some rows, shared by all problems on these rows.

    Attributes
    ----------
    moments, sketch : ClassStatistics, optional
        The class moments, and the last other statistics that were requested.
    spreads : ClassStatistics, optional
        Other statistics with means and variances.
    means, variances : (ndarray, ndarray), optional
        Those of the positives and of the negatives, as first computed, (d,) each.
    """

    moments: ClassStatistics | None = None
    sketch: ClassStatistics | None = None
    spreads: ClassStatistics | None = None
    means: tuple[np.ndarray, np.ndarray] | None = None
    variances: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """The rows of a problem and their weights, independent of the coordinates.

    Attributes
    ----------
    store : Store
        The n rows.
    positive : ndarray of bool or Told, shape (n,)
        Which rows are positive; both classes occur.
    given_weight : ndarray or Made, shape (n,), optional
        The weights as given; None if all rows have the same weight.
    scale : float
        The factor that makes the mean weight 1.
    unit : float
        The mean of the original weights: moments keep it, so that rows can be forgotten.
    summaries : Summaries
    """

    store: Store
    positive: np.ndarray | Told
    given_weight: Numbers | None = None
    scale: float = 1.0
    unit: float = 1.0
    summaries: Summaries = field(default_factory=Summaries)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.store.n_features

    @cached_property
    def n_pos(self) -> float:
        """The weight of the positives."""
        return self._class_weight(True)

    @cached_property
    def n_neg(self) -> float:
        """The weight of the negatives."""
        return self._class_weight(False)

    def _class_weight(self, positive: bool) -> float:
        if isinstance(self.positive, Told):
            return self.positive.weight[positive] * self.scale
        rows = self.positive == positive
        if self.given_weight is None:
            return float(np.count_nonzero(rows))
        return float((self.given_weight[rows] * self.scale).sum())

    @property
    def rows_of_class(self) -> tuple[int, int]:
        """The number of negative and of positive rows."""
        if isinstance(self.positive, Told):
            return self.positive.rows
        n_pos = int(np.count_nonzero(self.positive))
        return len(self.positive) - n_pos, n_pos

    @cached_property
    def sign(self) -> Numbers:
        """±1, shape (n,)."""
        return self.by_class(1.0, -1.0)

    @cached_property
    def weight(self) -> Numbers:
        """The weights divided by their mean, shape (n,)."""
        return self.weight_times(1.0)

    @cached_property
    def share(self) -> Numbers:
        """The weights that sum to 1 in each class, shape (n,)."""
        return self.shares_times(1.0, 1.0)

    def weight_times(self, factor: float) -> Numbers:
        """Return `weight` times a number."""
        return self.by_class(factor, factor, (1.0, 1.0))

    def shares_times(self, pos: float, neg: float) -> Numbers:
        """Return `share` times a number for each class."""
        if self.given_weight is None:
            return self.by_class(pos / self.n_pos, neg / self.n_neg)
        return self.by_class(pos, neg, (self.n_pos, self.n_neg))

    def by_class(
        self, pos: float, neg: float, totals: tuple[float, float] | None = None
    ) -> Numbers:
        """Return for each row a number of its class; with totals, times its share of the class."""
        weight = self.given_weight
        formula = Formula((pos, neg), None if weight is None else totals, self.scale)
        numbers = ByClass(formula, self.positive, weight)
        return numbers[:] if isinstance(self.store, InMemory) else numbers

    def measured(self, empty: ClassStatistics) -> ClassStatistics:
        """Return statistics to which all rows are added, in one pass."""
        by_row = self.sign, self.weight_times(self.unit)
        return self.store.total(_measured, by_row, (empty,))

    def in_memory(self) -> Rows:
        """Return the original rows; raise ValueError if they are in parts."""
        if not isinstance(self.store, InMemory):
            raise ValueError("this needs all rows in memory, but they are read in parts.")
        return self.store.X


@dataclass(frozen=True, eq=False)
class RowsProblem(Problem):
    """A problem with rows, in memory or in parts; `of` builds it from arrays.

    Parameters
    ----------
    data : WeightedRows
        All rows of positive weight. If they are in parts, numbers that depend on the class are
        computed for one part at a time.
    """

    data: WeightedRows
    offers = frozenset({"moments", "products", "rows"})
    _samples: dict[int, "RowsProblem"] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        X: Rows | Store,
        sign: np.ndarray | Told,
        weight: Numbers | None = None,
        statistics: ClassStatistics | None = None,
    ) -> "RowsProblem":
        """Return the problem of rows in their own coordinates.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d), or Store
            As `aucmax.data.rows.as_rows` returns it, or rows kept elsewhere.
        sign : ndarray or Told, shape (n,)
            Above 0, or True, for the positive class; both must occur.
        weight : ndarray, shape (n,), optional
            Sample weights; rows of weight zero are left out, unless the parts supply classes and
            weights.
        statistics : ClassMoments or DiagonalMoments, optional
            Those of the rows with these weights, if known.
        """
        store = X if isinstance(X, Store) else InMemory(X)
        if isinstance(sign, Told):
            unit = sum(sign.weight) / sum(sign.rows)
            rows = WeightedRows(store, sign, weight, 1.0 / unit, unit)
        else:
            rows = _weighted(store, sign, None if weight is None else weight[:])
        if statistics is None and not isinstance(store, InMemory):
            statistics = rows.measured(DiagonalMoments([-1.0, 1.0]))
        if statistics is not None and statistics.has_covariances:
            rows.summaries.moments = statistics
        rows.summaries.spreads = statistics
        return cls(rows)

    @property
    def n_samples(self) -> int:
        return len(self.data.positive)

    @property
    def unit(self) -> float:
        return self.data.unit

    @property
    def store(self) -> Store:
        """The store of the rows."""
        return self.data.store

    @property
    def positive(self) -> np.ndarray:
        """Which rows are positive, bool of shape (n,)."""
        return self.data.positive[:]

    def part(self, rows: np.ndarray, moments: ClassMoments) -> "RowsProblem":
        """Return a view for some rows with these moments, in which all other rows have weight 0."""
        weight = self.data.weight[:] * np.bincount(rows, minlength=self.n_samples)
        data = replace(
            self.data, store=self.store.untold, given_weight=weight, scale=1.0,
            summaries=Summaries(moments),
        )  # fmt: skip
        return replace(self, data=data)

    def raw_means(self) -> tuple[np.ndarray, np.ndarray]:
        rows, summaries = self.data, self.data.summaries
        if summaries.means is None:
            statistics = summaries.moments or summaries.spreads
            if statistics is not None:
                summaries.means = statistics.mean_pos, statistics.mean_neg
            else:
                X = rows.in_memory()
                summaries.means = products.class_means(X, rows.sign[:], rows.share[:])
        return summaries.means

    def raw_variances(self) -> tuple[np.ndarray, np.ndarray]:
        rows, summaries = self.data, self.data.summaries
        if summaries.variances is None:
            statistics = summaries.moments or summaries.spreads
            if statistics is not None:
                summaries.variances = MomentsProblem(statistics).raw_variances()
            else:
                X, means = rows.in_memory(), self.raw_means()
                of_rows = rows.sign[:], rows.share[:]
                summaries.variances = products.class_variances(X, *of_rows, *means)
        return summaries.variances

    @property
    def knows_moments(self) -> bool:
        return self.data.summaries.moments is not None

    @property
    def known(self) -> ClassStatistics | None:
        summaries = self.data.summaries
        return summaries.sketch if summaries.moments is None else summaries.moments

    def moments(self) -> ClassMoments:
        return self.statistics(ClassMoments([-1.0, 1.0]))  # type: ignore[return-value]

    def statistics(self, empty: ClassStatistics) -> ClassStatistics:
        summaries = self.data.summaries
        if not empty.has_covariances:
            summaries.sketch = self.data.measured(empty)
            return summaries.sketch
        if summaries.moments is None:
            summaries.moments = self.data.measured(empty)
        return summaries.moments

    def scores(self, W: np.ndarray) -> np.ndarray:
        if self.factor is not None:
            W = W * (self.factor if W.ndim == 1 else self.factor[:, None])
        return self.store.stacked(products.scores, W)

    def scored(self, w: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        start = 0
        for z in self.store.each(products.scores, (), (self._scale(w),)):
            yield slice(start, start + len(z)), z
            start += len(z)

    def adjoint(self, g: Numbers) -> np.ndarray:
        total = self.store.total(products.adjoint, (g,))
        return self._scale(total.T).T

    def product(
        self,
        s: Numbers,
        V: np.ndarray,
        offset: Numbers | float | None = None,
        origin: np.ndarray | None = None,
    ) -> np.ndarray:
        factor = self.factor if self.factor is None or V.ndim == 1 else self.factor[:, None]
        moved = V if factor is None else factor * V
        if isinstance(offset, float):
            offset = self.data.by_class(offset, offset)
        total, sums = self.store.total(normal_product, (s, offset), (moved,))
        if origin is not None:
            total -= np.multiply.outer(origin, sums)
        if factor is not None:
            total *= factor
        return total

    @property
    def gram_cost(self) -> float:
        return self.store.gram_cost

    @property
    def pair_gram_cost(self) -> float:
        # the rows of a pair may be in different parts
        return self.n_features if isinstance(self.store, InMemory) else np.inf

    def gram(self, s: Numbers, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        matrix, mean = self.store.total(products.gram, (s,), (origin,))
        if self.factor is not None:
            matrix *= self.factor
            matrix *= self.factor[:, None]
        return matrix, self._scale(mean)

    def pair_gram(
        self,
        s: Numbers,
        rows: np.ndarray,
        others: np.ndarray,
        first: np.ndarray,
        end: np.ndarray,
    ) -> np.ndarray:
        X, origin = self.data.in_memory(), self.raw_means()[1]
        matrix = products.pair_gram(X, s[:], rows, others, first, end, origin)
        return matrix if self.factor is None else matrix * self.factor * self.factor[:, None]

    def loss_at(
        self,
        loss: RankingLoss,
        z: np.ndarray,
        like: LossAt | None = None,
        near: LossAt | None = None,
    ) -> LossAt:
        of_rows = self.data.sign, self.data.share, self.strata
        if isinstance(loss, Logistic) and isinstance(near, AtThreshold):
            return loss.at(z, *of_rows, near=near)
        return loss.at(z, *of_rows) if like is None else loss.reweighed(like, z, *of_rows)

    @property
    def scores_stay(self) -> bool:
        return not isinstance(self.store, InMemory)

    def sums_at(
        self, loss: Logistic, w: np.ndarray, b: float, S: np.ndarray | None
    ) -> SumsAtIntercept:
        of_matrix = None if S is None else (S, self.raw_means()[1][S])
        common = loss, self._scale(w), b, of_matrix
        value, adjoints, (slope, bend), of_gram = self.store.total(_sums_at, self._by_row, common)
        matrix = None
        if of_gram:
            matrix, mean = of_gram
            if bend > 0.0:
                matrix -= np.outer(mean, mean / bend)
            if self.factor is not None:
                matrix *= self.factor[S]
                matrix *= self.factor[S][:, None]
        gradient, bent = map(self._scale, adjoints)
        return SumsAtIntercept(value, slope, bend, gradient, bent, matrix)

    def bent_product(
        self, loss: Logistic, w: np.ndarray, b: float, v: np.ndarray, offset: float
    ) -> np.ndarray:
        common = loss, self._scale(w), b, self._scale(v), offset
        total, rest = self.store.total(_bent_product, self._by_row, common)
        return self._scale(total - rest * self.raw_means()[1])

    def range_of_scores(self, w: np.ndarray) -> float:
        ends = np.array(list(self.store.each(_ends_of_scores, (), (self._scale(w),))))
        return float(ends[:, 1].max() - ends[:, 0].min())

    @property
    def _by_row(self) -> tuple[Numbers, Numbers]:
        return self.data.sign, self.data.share

    def margins(self, loss: UnivariateLoss, z: np.ndarray, balanced: bool) -> RowSum:
        return loss.at(z, self.data.sign[:], (self._even if balanced else self._plain)[:])

    @cached_property
    def _even(self) -> Numbers:
        return self.data.shares_times(0.5, 0.5)

    @cached_property
    def _plain(self) -> Numbers:
        return self.data.weight_times(1.0 / self.n_samples)

    def columns(self, S: np.ndarray) -> Columns:
        X = self.store.columns(S, self.factor)
        return Columns(X, self.data.sign[:], self.data.share[:])

    def batches(self) -> Iterator[SignedRows]:
        if self._batch is not None:
            yield self._batch
            return
        for rows in self.store.each(_signed, (self.data.sign, self.data.weight), (self.factor,)):
            if len(rows.sign):  # a part may have no row of positive weight
                yield rows

    @cached_property
    def _batch(self) -> SignedRows | None:
        """The rows in the solver's coordinates if they are in memory; a copy if scaled."""
        if not isinstance(self.store, InMemory):
            return None
        return _signed(self.store.X, self.data.sign[:], self.data.weight[:], self.factor)

    def sample(self, per_class: int) -> Problem:
        if self.knows_moments:
            return self
        if per_class not in self._samples:
            steps, rows = [max(n // per_class, 1) for n in self.data.rows_of_class], self.data
            part = self.apart()
            if max(steps) > 1:
                of_parts = rows.store.each(_drawn, (rows.sign, rows.weight), (steps,))
                X, sign, weight = zip(*of_parts, strict=True)
                by_row = np.concatenate(sign), np.concatenate(weight)
                part = replace(self, data=RowsProblem.of(stacked_rows(X), *by_row).data)
            self._samples[per_class] = part
        return self._samples[per_class]

    def standing_out(self) -> np.ndarray:
        # units do not matter, as they cancel
        by_row = self.data.sign, self._row_weights
        q, squares = self.store.total(products.sums_of_squares, by_row, self.raw_means())
        return np.divide(q**2, squares, out=np.zeros(len(squares)), where=squares > 0)

    def apart(self) -> "RowsProblem":
        return self.with_summaries(replace(self.data.summaries))

    def with_summaries(self, summaries: Summaries) -> "RowsProblem":
        """Return the same problem with these summaries of its rows."""
        return replace(self, data=replace(self.data, summaries=summaries))

    def within_product(self, v: np.ndarray) -> np.ndarray:
        if self.knows_moments:
            return self.within @ v
        offset = self.data.by_class(products.dot(self.mean_pos, v), products.dot(self.mean_neg, v))
        return self.product(self._row_weights, v, offset, self.raw_means()[1])

    @cached_property
    def _row_weights(self) -> Numbers:
        """The weights (n,) of the rows in S."""
        return self.data.shares_times(*self.covariance_weights)


def _weighted(store: Store, sign: np.ndarray, weight: np.ndarray | None) -> WeightedRows:
    """Return rows in memory, or in parts, without those of weight zero."""
    if weight is not None and not np.all(weight > 0):
        weighed = np.flatnonzero(weight > 0)
        store, sign, weight = store.taken(weighed), sign[weighed], weight[weighed]
    positive = sign if sign.dtype == bool else sign > 0
    if weight is None:
        return WeightedRows(store, positive)
    return WeightedRows(store, positive, weight, len(weight) / weight.sum(), float(weight.mean()))


# ---- tasks for a store ---------------------------------------------------------------------


def _measured(
    X: Rows, sign: np.ndarray, weight: np.ndarray, empty: ClassStatistics
) -> ClassStatistics:
    return empty.copy().add_rows(X, sign, weight)


def _drawn(X: Rows, sign: np.ndarray, weight: np.ndarray, steps: Sequence[int]) -> SignedRows:
    """Return every ``steps``-th row of weight above 0 of each class; steps are negatives first."""
    signs = zip((-1.0, 1.0), steps, strict=True)
    chosen = [np.flatnonzero((sign == own) & (weight > 0.0))[::step] for own, step in signs]
    rows = np.sort(np.concatenate(chosen))
    return SignedRows(take_rows(X, rows), sign[rows], weight[rows])


def normal_product(
    X: Rows, s: np.ndarray, offset: np.ndarray | None, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return `products.normal_product`, with the arguments by row first."""
    return products.normal_product(X, s, V, offset)


def _signed(X: Rows, sign: np.ndarray, weight: np.ndarray, factor: np.ndarray | None) -> SignedRows:
    return SignedRows(X if factor is None else scaled_rows(X, factor), sign, weight)


def _sums_at(
    X: Rows,
    sign: np.ndarray,
    s: np.ndarray,
    loss: Logistic,
    w: np.ndarray,
    b: float,
    of_matrix: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[Any, ...]:
    at = loss.at_intercept(products.scores(X, w), sign, s, b)
    derivatives = np.column_stack([at.gradient[:], at.bent[:]])
    of_gram: tuple[Any, ...] = ()
    if of_matrix is not None:
        S, origin = of_matrix
        of_gram = products.gram(some_columns(X, S), at.bent[:], origin)
    return at.value, products.adjoint(X, derivatives).T, derivatives.sum(axis=0), of_gram


def _bent_product(
    X: Rows,
    sign: np.ndarray,
    s: np.ndarray,
    loss: Logistic,
    w: np.ndarray,
    b: float,
    v: np.ndarray,
    offset: float,
) -> tuple[np.ndarray, np.ndarray]:
    bent = loss.at_intercept(products.scores(X, w), sign, s, b).bent[:]
    return products.normal_product(X, bent, v, np.full(len(bent), offset))


def _ends_of_scores(X: Rows, w: np.ndarray) -> tuple[float, float]:
    z = products.scores(X, w)
    return float(z.min(initial=np.inf)), float(z.max(initial=-np.inf))
