"""The base of all class statistics, which learn from rows, add, subtract and decay.

A subclass defines the arrays it keeps for each class besides the weight T and the mean c
(`_shapes`), how it computes them from rows (`_measure`), and how they change when rows join
(`_join`) or leave (`_leave`) a class.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from aucmax.basics.archive import ArraySpec, Specs, check_arrays, pack_arrays, unpack_arrays
from aucmax.basics.checks import (
    LARGEST,
    check_labels,
    is_label,
    is_whole,
    naming_columns,
    refuse_collections,
    refuse_nul,
    refuse_sizes,
    sample_weights,
)
from aucmax.basics.container import readable
from aucmax.data.rows import Rows, as_rows, n_features, n_rows, take_rows
from aucmax.data.rows import source as sources
from aucmax.data.rows.threads import one_blas_thread
from aucmax.data.strata import Strata, StrataWeight, strata_name
from aucmax.statistics.strata import (
    NO_STRATA,
    STRATA,
    KnownStrata,
    SeenFromStrata,
    seen_from_strata,
)
from aucmax.statistics.subtraction import ClassPart, Remainder, check_weight, remainder

__all__ = ["ClassStatistics", "Part", "Statistics", "checked_rows", "leaving_out", "members"]

Part = dict[str, Any]  # the arrays of one class, by name


def members(X: Rows, rows: np.ndarray) -> Rows:
    """Return the rows of X at these positions, without a copy if these are all rows in order."""
    return X if np.array_equal(rows, np.arange(n_rows(X))) else take_rows(X, rows)


def checked_rows(
    X: Any, y: Any, sample_weight: Any, min_rows: int = 1
) -> tuple[Rows, np.ndarray, np.ndarray | None, list[str] | None]:
    """Return rows in the form for kernels, labels, weights, and the names of the columns.

    Raises
    ------
    ValueError
        If shapes do not match, values or labels are not finite, or a weight is negative.
    """
    names = _get_feature_names(X)
    refuse_collections(X)
    refuse_nul(y)
    checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
    with naming_columns(X):
        X = check_array(X, **checks, ensure_min_samples=min_rows)
        refuse_sizes(X)
    y = column_or_1d(y, warn=False)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y has NaN or infinite labels; give every row a label.")
    check_consistent_length(X, y)
    weight = sample_weights(sample_weight, X.shape[0])
    return as_rows(X), y, weight, None if names is None else [str(name) for name in names]


_LABELS: Specs = {"classes": ArraySpec(("classes",), None)}
_LARGEST_SUMS = {"counts": 1e150, "squares": 1e300, "means": LARGEST, "origins": LARGEST}
_AVERAGES, _SUMS = ("means", "origins"), ("squares", "scatter", "own")
_STRATA_OF_PARTS = (
    "the rows of a stratum may be spread over a source, which is read only once here; use the "
    "moments_ of AUCClassifier().fit(source), or ClassMoments.from_query."
)
_SAMPLED_LABELS = 1_000  # each class is likely to occur among so many first labels
_SUBTRACTION_ROUNDING = 64 * np.finfo(np.float64).eps  # relative to the minuend


class ClassStatistics:
    """Weighted counts and means of K classes; subclasses add information on covariances.

    An empty object takes its features and classes from the first data; ``empty + a == a``.

    Parameters
    ----------
    classes : sequence of labels, optional
        The allowed labels; others raise ValueError. By default all labels are allowed.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the first data frame.

    Attributes
    ----------
    target_name : str or None
        The name of y, if it had one.
    guarantee : dict or None
        The guarantee of a private release, see `aucmax.statistics.private`; None for others.
    steps : str or None
        The steps that made the features, as text, if known; equal for equal steps.
    strata : KnownStrata or None
        The strata within which rows are compared; None if all rows are compared.
    is_unmixed : bool
        Whether the statistics come from `ClassMoments.unmixed`: the smaller label then stands for
        negatives of which there are no labelled rows, so rows can be neither added nor removed.
    positive : label or None
        The label that is ranked first by the model that has these `steps`, if known.
    merged : int
        How many files of moments ``aucmax moments merge`` added.
    """

    # defaults, also for statistics in files of earlier versions
    steps: str | None = None
    strata: KnownStrata | None = None
    is_unmixed: bool = False
    positive: Any = None
    merged: int = 1

    kind: ClassVar[str]  # the name in the header of files
    has_covariances: ClassVar[bool] = False  # full ones, as `covs`
    _settings: ClassVar[tuple[str, ...]] = ()
    _not_negative: ClassVar[tuple[str, ...]] = (
        "counts", "squares", "variances", "lost", "scatter", "own",
    )  # fmt: skip

    def __init__(
        self,
        classes: Sequence[Any] | np.ndarray | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        refuse_nul(classes)
        self._declared = classes is not None
        self._classes = np.array([]) if classes is None else np.unique(np.asarray(classes))
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self.target_name: str | None = None
        self.guarantee: dict[str, Any] | None = None
        self._d = 0 if self.feature_names is None else len(self.feature_names)
        self._parts = self._blank(len(self._classes), self._d)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        classes: Sequence[Any] | np.ndarray | None = None,
        *,
        strata: Any = None,
        strata_weight: StrataWeight = "positives",
        **settings: Any,
    ) -> Self:
        """Return the statistics of rows X with labels y.

        Parameters
        ----------
        X, y, sample_weight, strata, strata_weight
            As for `update`. X may be a `Source`, which includes labels and weights: it is read
            once, in parts, and memory use does not grow with the number of rows.
        classes : sequence, optional
            The allowed labels.
        **settings
            Settings of the class, such as the ``rank`` of `FrequentDirections`.
        """
        empty = cls(classes=classes, **settings)
        X, y, sample_weight = sources.opened(X, y, sample_weight)
        if isinstance(X, sources.Source):
            if y is not None or sample_weight is not None:
                raise ValueError("a Source includes its labels and weights; pass it alone.")
            if strata is not None:
                raise ValueError(_STRATA_OF_PARTS)
            return X.total(_updated, itertools.repeat(()), (empty,))
        return empty.update(X, y, sample_weight, strata, strata_weight)

    @classmethod
    def within_strata(cls, classes: Sequence[Any], strata: KnownStrata) -> Self:
        """Return statistics of two classes within strata, without rows."""
        blank = cls(classes=classes)
        blank.strata = strata
        blank._parts = blank._blank(len(blank._classes), 0)
        return blank

    # ---- what a subclass keeps -----------------------------------------------------------

    def _shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays of one class."""
        of_rows: dict[str, tuple[int, ...]] = {"counts": (), "squares": (), "means": (d,)}
        if self.strata is None:
            return of_rows
        return of_rows | {"origins": (d,), "scatter": (d,), "own": ()}

    def _measure(self, X: Rows, rows: np.ndarray, share: np.ndarray) -> Part:
        """Return the arrays of one class, from ``rows`` of X with positive weights ``share``."""
        raise NotImplementedError

    def _measure_seen(self, seen: SeenFromStrata, side: int) -> Part:
        """Return the arrays of one class, from rows relative to their strata."""
        X, share = seen.rows(side)
        return self._measure(X, np.arange(len(share)), share)

    def _join(self, mine: Part, part: Part) -> None:
        """Update the arrays of a class, except weights and mean, when rows of ``part`` join it.

        Both have a weight above 0; ``mine`` is changed in place.
        """
        raise NotImplementedError

    def _leave(self, mine: Part, part: Part, remains: Remainder, label: Any) -> None:
        """Update the arrays of a class, except weights and mean, when rows of ``part`` leave."""
        raise NotImplementedError

    def taken_from(self, other: "ClassStatistics") -> Self:
        """Convert other statistics of the same rows to this kind with these settings.

        Raises
        ------
        ValueError
            If the other kind lacks what this kind needs.
        """
        if not self._alike(other):
            raise ValueError(
                f"the rows so far are kept as {other!r}, from which {type(self).__name__} cannot "
                "be made; keep covariance and rank as they were, or start with a new estimator."
            )
        return other.copy()  # type: ignore[return-value]  # it has the same type

    # ---- reading -------------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, shape (K,)."""
        return self._classes

    @property
    def kept(self) -> dict[str, np.ndarray]:
        """The arrays of the classes, by name, with the class along the first axis."""
        return self._parts

    @property
    def declared(self) -> bool:
        """Whether only the declared labels are allowed."""
        return self._declared

    @property
    def counts(self) -> np.ndarray:
        """Total weight of each class, shape (K,)."""
        return self._parts["counts"]

    @property
    def row_weights(self) -> np.ndarray:
        """Total own weight of the rows of each class, shape (K,), whatever the strata weigh."""
        return self._parts["counts" if self.strata is None else "own"]

    @property
    def squares(self) -> np.ndarray:
        """Total of the squared weights of each class, shape (K,)."""
        return self._parts["squares"]

    @property
    def effective_rows(self) -> np.ndarray:
        """Effective number of rows of each class, shape (K,).

        (Σ weight)² / Σ weight², which is the number of rows if all have the same weight.
        """
        return self.counts**2 / np.where(self.squares > 0.0, self.squares, 1.0)

    @property
    def means(self) -> np.ndarray:
        """Class means, shape (K, d); zero for a class without rows.

        With strata they are the weighted means over the strata.
        """
        means = self._parts["means"]
        return means if self.strata is None else means + self._parts["origins"]

    @property
    def variances(self) -> np.ndarray:
        """Exact biased variances of each feature in each class, shape (K, d)."""
        return self._parts["variances"]

    @property
    def n_features(self) -> int:
        """Number of features d; 0 before the first data."""
        return self._d

    def within(self, weights: Sequence[float] = (1.0, 1.0)) -> tuple[np.ndarray, np.ndarray]:
        """Return D (d,) and B (r, d) such that diag(D) + BᵀB approximates the sum of covariances.

        ``weights`` are those of the class covariances in the sum, in the order of ``classes``.
        """
        raise NotImplementedError

    def missed(self, weights: Sequence[float] = (1.0, 1.0)) -> float:
        """Return a bound on the norm of the sum of covariances minus BᵀB of `within`."""
        raise NotImplementedError

    def nbytes(self, d: int) -> int:
        """Return how many bytes the matrices of two classes with d features take."""
        shapes = self._shapes(d).values()
        return 16 * sum(shape[0] * shape[1] for shape in shapes if len(shape) == 2)

    def _of(self, k: int, name: str) -> Any:
        if len(self._classes) != 2:
            raise ValueError(
                f"the binary views need moments of exactly 2 classes; "
                f"these have {len(self._classes)}: {self._classes.tolist()}."
            )
        return self._parts[name][k]

    @property
    def n_pos(self) -> float:
        """Weight of the larger label."""
        return float(self._of(1, "counts"))

    @property
    def n_neg(self) -> float:
        """Weight of the smaller label."""
        return float(self._of(0, "counts"))

    @property
    def mean_pos(self) -> np.ndarray:
        """Mean of the larger label, shape (d,)."""
        return self._mean_of(1)

    @property
    def mean_neg(self) -> np.ndarray:
        """Mean of the smaller label, shape (d,)."""
        return self._mean_of(0)

    def _mean_of(self, k: int) -> np.ndarray:
        means = self._of(k, "means")
        return means if self.strata is None else means + self._of(k, "origins")

    @property
    def spread_within_strata(self) -> np.ndarray:
        """Twice the variance of each feature within strata, shape (d,).

        Rows of both classes count with their own weights.
        """
        return 2.0 * self._parts["scatter"].sum(axis=0) / self._parts["own"].sum()

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{c}: {t:g}" for c, t in zip(self._classes.tolist(), self.counts, strict=True)
        )
        return f"{type(self).__name__}({self.n_features} features, {{{counts}}})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassStatistics) or not self._alike(other):
            return NotImplemented
        return (
            np.array_equal(self._classes, other._classes)
            and all(np.array_equal(mine, other._parts[k]) for k, mine in self._parts.items())
            and self.feature_names == other.feature_names
        )

    __hash__ = None  # type: ignore[assignment]  # update() changes it in place

    # ---- the monoid ----------------------------------------------------------------------

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        strata: Any = None,
        strata_weight: StrataWeight = "positives",
    ) -> Self:
        """Add rows in place and return self; an error changes nothing.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Sparse rows are never converted to dense all at once.
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
            Non-negative; rows of weight zero are skipped.
        strata : array-like, shape (n,), optional
            The stratum of each row: only rows of the same stratum are compared. All rows of a
            stratum must be added in one call.
        strata_weight : {"positives", "pairs", "strata"}
            What the weight of a stratum is proportional to: its positives, its pairs, or 1. Strata
            with rows of only one class have weight 0.

        Raises
        ------
        ValueError
            If shapes do not match, values are not finite, a weight is negative, a label is not
            allowed, a stratum was added before, or strata were weighted differently before.
        """
        target = getattr(y, "name", None)
        rows, y, weight, names = checked_rows(X, y, sample_weight)
        if strata is None:
            self.add_rows(rows, y, weight, names)
        else:
            column = strata_name(strata)
            self.add_strata(rows, y, weight, Strata.of(strata, len(y), strata_weight), names)
            if self.strata is not None and column is not None:
                self.strata = replace(self.strata, column=column)
        if self.target_name is None and isinstance(target, str):
            self.target_name = target
        return self

    @one_blas_thread()
    def add_strata(
        self,
        X: Rows,
        y: np.ndarray,
        weight: np.ndarray | None,
        strata: Strata,
        names: list[str] | None = None,
    ) -> Self:
        """Add checked rows of whole strata."""
        self._check_mixture()
        if self.strata is None and self.counts.any():
            raise ValueError("the rows so far have no strata; pass none, or start over with them.")
        self._match(n_features(X), names)
        labels = np.union1d(self._classes, np.unique(y)) if len(self._classes) else np.unique(y)
        if len(labels) != 2 or (self._declared and len(self._classes) < len(labels)):
            raise ValueError(
                f"strata are for rows of two classes, and these have {len(labels)}: "
                f"{labels.tolist()[:5]}; declare both in `classes`, and leave others out."
            )
        positive_label = labels.tolist()[1] if self.strata is None else self.strata.positive
        positive = y == positive_label
        compared = strata.compared(positive, weight)
        added_strata = KnownStrata.of(strata, positive, weight, positive_label)
        joined = added_strata if self.strata is None else self.strata.joined(added_strata)
        own = strata.remembered(weight)
        blocks = seen_from_strata(X, positive, own, strata, compared, self.has_covariances)
        added = self.of_seen(blocks, labels, joined, n_features(X))
        if self.strata is None:
            self.strata = joined
            self._parts = self._blank(len(self._classes), self._d)
        self._grow(labels, n_features(X))
        if names is not None and self.feature_names is None and not self.counts.any():
            self.feature_names = names
        for label, part in added._each():
            self._add(label, part)
        self.strata, self.guarantee = joined, None
        return self

    def of_seen(
        self, blocks: Iterable[SeenFromStrata], labels: np.ndarray, strata: KnownStrata, d: int
    ) -> Self:
        """Return statistics of this kind, from rows of two labels relative to their strata."""
        added = self.empty(labels)
        added.strata = strata
        added._grow(labels, d)
        added._parts = added._blank(2, d)
        for block in blocks:
            for label in labels.tolist():
                side = int(label == strata.positive)
                if block.weight[side] > 0.0:
                    added._add(label, added._measure_seen(block, side) | block.part(side))
        return added

    @one_blas_thread()
    def add_rows(
        self,
        X: Rows,
        y: np.ndarray,
        weight: np.ndarray | None,
        names: list[str] | None = None,
        some: np.ndarray | None = None,
    ) -> Self:
        """Add checked rows, as `update` does after its checks.

        With ``some`` (m,), only the rows at these positions; y and ``weight`` (m,) are theirs.
        """
        self._check_mixture()
        if self.strata is not None:
            raise ValueError("the rows so far have strata; pass those of these rows, too.")
        self._match(n_features(X), names)
        # sorting all labels takes as long as the moments of few features
        labels = self._classes if self._declared else np.unique(y[:_SAMPLED_LABELS])
        chosen = [np.flatnonzero(y == label) for label in labels]
        if not self._declared and sum(map(len, chosen)) < len(y):
            labels = np.unique(y)
            chosen = [np.flatnonzero(y == label) for label in labels]
        if sum(map(len, chosen)) < len(y):
            unknown = np.setdiff1d(y, labels)
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which is not among the classes "
                f"{self._classes.tolist()}; declare it in `classes` or leave its rows out."
            )
        parts = []  # measured before anything changes
        for label, rows in zip(labels, chosen, strict=True):
            share = np.ones(len(rows)) if weight is None else weight[rows]
            if not share.all():
                rows, share = rows[share > 0], share[share > 0]
            if len(rows):
                rows = rows if some is None else some[rows]
                parts.append((label, self._measure(X, rows, share)))
        self._grow(labels, n_features(X))
        if names is not None and self.feature_names is None and not self.counts.any():
            self.feature_names = names
        for label, part in parts:
            self._add(label, part)
        self.guarantee = None
        return self

    def __add__(self, other: Any) -> Self:
        """Return the statistics of the union of two disjoint sets of rows."""
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if not self._alike(other):
            raise ValueError(f"cannot add {other!r} to {self!r}: they are of different kinds.")
        for a, b in ((self, other), (other, self)):
            if not b._d and not len(b._classes):
                return a.copy()  # type: ignore[return-value]  # they have the same type
        self._check_features(other)
        self._check_mixture(other)
        if None not in (self.positive, other.positive) and self.positive != other.positive:
            raise ValueError(
                f"one model ranks {self.positive!r} first, and the other {other.positive!r}; make "
                "the moments of all parts with the same model."
            )
        total = self.copy()
        total.strata = self._strata_with(other, KnownStrata.joined)
        if self.strata is not total.strata is not None and self.strata is None:
            total._parts = total._blank(len(self._classes), self._d)
        total.steps = self.steps or other.steps
        total.positive = other.positive if self.positive is None else self.positive
        total.is_unmixed = self.is_unmixed or other.is_unmixed
        total._grow(other._classes, other._d)
        total._declared = self._declared and other._declared
        if total.feature_names is None:
            total.feature_names = other.feature_names
        if total.target_name is None:
            total.target_name = other.target_name
        total.guarantee = _joint_guarantee(self.guarantee, other.guarantee, max)
        for label, part in other._each():
            total._add(label, part)
        return total

    def __radd__(self, other: Any) -> Self:
        """Support ``sum(shards)``, which starts with 0."""
        if isinstance(other, int) and other == 0:
            return self.copy()
        return NotImplemented

    def __sub__(self, other: Any) -> Self:
        """Return the statistics without the rows of ``other``, which must be among these.

        Raises
        ------
        ValueError
            If ``other`` has a class that is missing here, or more weight in a class; or if a
            feature (with covariances, a combination of features) would have a negative variance.

        Notes
        -----
        The ε and δ of private releases add up, because the rows of ``other`` are in both.

        The check cannot be complete: if rows are subtracted that were never added, but are about as
        close to the mean, the result looks like the moments of other rows.
        """
        if not isinstance(other, ClassStatistics):
            return NotImplemented
        if not self._alike(other):
            raise ValueError(f"cannot subtract {other!r} from {self!r}: they differ in kind.")
        self._check_features(other)
        self._check_mixture(other)
        strata = self._strata_with(other, KnownStrata.without)
        difference = self.copy()
        difference.strata = strata
        # the rows of the other are in both, so ε and δ add up
        difference.guarantee = _joint_guarantee(self.guarantee, other.guarantee, float.__add__)
        own_parts = dict(difference._each())
        pairs = [(label, part, own_parts.get(label)) for label, part in other._each()]
        for label, part, mine in pairs:
            check_weight(0.0 if mine is None else float(mine["counts"]), part["counts"], label)
        for label, part, mine in pairs:
            assert mine is not None
            remains = remainder(self._summary(mine), self._summary(part), label, self.feature_names)
            difference._leave(mine, part, remains, label)
            if strata is not None:
                self._leave_strata(mine, part, remains.weight)
            mine["counts"][...], mine["means"][...] = remains.weight, remains.mean
            squares, largest = float(mine["squares"] - part["squares"]), remains.weight**2
            mine["squares"][...] = squares if 0.0 < squares < largest else largest  # as for one row
        difference._settle(self)
        return difference

    def decay(self, gamma: float) -> Self:
        """Return a copy with all counts multiplied by gamma, so that old rows count less.

        Parameters
        ----------
        gamma : float
            In (0, 1].
        """
        if not 0.0 < gamma <= 1.0:
            raise ValueError(f"gamma must be in (0, 1]; got {gamma!r}.")
        decayed = self.copy()
        for name in decayed._parts.keys() & ("counts", "scatter", "own"):
            decayed._parts[name] *= gamma
        decayed._parts["squares"] *= gamma**2
        decayed._scale_noise(gamma)
        return decayed

    def copy(self) -> Self:
        """Return an independent copy."""
        return deepcopy(self)

    def widened(self, d: int) -> Self:
        """Return the same statistics with d features; the additional ones are 0 in every row.

        Parameters
        ----------
        d : int
            At least the current number; if it is the same, nothing is copied.
        """
        if d == self._d:
            return self
        if d < self._d or self.feature_names is not None:
            raise ValueError(f"{self!r} cannot have {d} features, or features without names.")
        wide = self.empty()
        wide._declared, wide._d, wide._classes = self._declared, d, self._classes.copy()
        wide.strata, wide.is_unmixed = self.strata, self.is_unmixed
        wide.positive = self.positive
        wide._parts = self._blank(len(self._classes), d)
        for name, values in self._parts.items():
            wide._parts[name][tuple(map(slice, values.shape))] = values
        return wide

    def empty(self, classes: Any = None) -> Self:
        """Return statistics of the same kind and settings, without rows."""
        return type(self)(classes=classes, **self._set())

    def relabelled(self, labels: Sequence[Any] | np.ndarray) -> Self:
        """Return a copy in which the k-th class has the label ``labels[k]``.

        Classes stay sorted; classes with equal labels are joined.
        """
        order, labels = np.argsort(labels, kind="stable"), np.asarray(labels)
        renamed = self.copy()
        before = self._classes.tolist()
        if self.positive in before:
            renamed.positive = labels.tolist()[before.index(self.positive)]
        if self.strata is not None:
            positive = labels.tolist()[before.index(self.strata.positive)]
            renamed.strata = replace(self.strata, positive=positive)
        renamed._classes = np.unique(labels)
        if len(renamed._classes) == len(labels):
            renamed._parts = {name: values[order] for name, values in renamed._parts.items()}
            return renamed
        renamed._parts = renamed._blank(len(renamed._classes), renamed._d)
        renamed._scale_noise(np.sqrt(np.unique(labels, return_counts=True)[1].max()))
        for k in order:
            if self.counts[k] > 0:
                renamed._add(labels[k], {name: values[k] for name, values in self._parts.items()})
        return renamed

    def among(self, labels: Sequence[Any] | np.ndarray) -> Self:
        """Return a copy with only the classes of these labels."""
        chosen = np.isin(self._classes, labels)
        if chosen.sum() < len(np.unique(labels)):
            unknown = np.setdiff1d(labels, self._classes).tolist()[0]
            raise ValueError(f"{unknown!r} is not among the classes {self._classes.tolist()}.")
        subset = self.copy()
        subset._classes = self._classes[chosen]
        subset._parts = {name: values[chosen] for name, values in subset._parts.items()}
        return subset

    def aligned(self, feature_names: Sequence[str]) -> Self:
        """Return a copy with the features in another order.

        Parameters
        ----------
        feature_names : sequence of str
            The names of all features, in the new order.

        Raises
        ------
        ValueError
            If the names differ, or the features have no names.
        """
        mine, columns = self.feature_names, [str(name) for name in feature_names]
        if mine is None:
            raise ValueError("the features have no names by which they could be reordered.")
        if len(set(mine)) < len(mine):
            twice = next(name for name in mine if mine.count(name) > 1)
            raise ValueError(f"two features are called {twice!r}; feature names must be unique.")
        for names, others, fault in ((columns, mine, "is missing"), (mine, columns, "is extra")):
            name_of_other = next((name for name in names if name not in set(others)), None)
            if name_of_other is not None:
                raise ValueError(f"feature {name_of_other!r} {fault}; give the same columns.")
        if len(columns) > len(mine):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise ValueError(f"feature {twice!r} is named twice.")
        place = {name: j for j, name in enumerate(mine)}
        order = np.array([place[name] for name in columns], dtype=np.intp)
        reordered = self.copy()
        reordered._parts, reordered.feature_names = self._reordered(order), columns
        return reordered

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file for `load`: arrays and JSON protected by a digest, without code.

        Parameters
        ----------
        path : path
            An existing file is replaced once the new file is complete.
        """
        classes = self._stored_classes
        if classes.dtype == object:
            raise ValueError(
                f"labels of mixed types cannot be saved: {classes.tolist()}; "
                "use labels of one type (int, float, bool or str)."
            )
        facts = {
            "declared": self._declared,
            "n_features": self._d,
            "feature_names": self.feature_names,
            "target_name": self.target_name,
            "guarantee": self.guarantee,
            "steps": self.steps,
            "is_unmixed": self.is_unmixed,
            "positive": self.positive,
            "merged": self.merged,
            **self._set(),
        }
        arrays = {"classes": classes, **self._packed()}
        if self.strata is not None:
            facts["strata"], of_strata = self.strata.packed(self._classes)
            arrays |= of_strata
        pack_arrays(path, self.kind, facts, arrays)

    @property
    def _stored_classes(self) -> np.ndarray:
        """The labels in the form for files: words as text, not as Python objects."""
        words = self._classes.dtype == object and all(isinstance(c, str) for c in self._classes)
        return self._classes.astype(str) if words else self._classes

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the statistics in a file that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ModelFileError
            If the file is of another kind, is damaged, or comes from a newer version.
        """
        with readable(path, f"{cls.kind} file"):
            facts, arrays = unpack_arrays(path, cls.kind, cls._file_specs)
            loaded = cls(**{name: facts[name] for name in cls._settings})
            loaded._declared, loaded._d = facts["declared"], facts["n_features"]
            loaded._classes = arrays.pop("classes")
            if "strata" in arrays:
                packed = {name: arrays.pop(name) for name in STRATA}
                loaded.strata = KnownStrata.unpacked(facts["strata"], packed, loaded._classes)
            loaded._parts = loaded._unpacked(arrays)
            loaded.feature_names, loaded.target_name = facts["feature_names"], facts["target_name"]
            loaded.guarantee, loaded.steps = facts["guarantee"], facts.get("steps")
            loaded.is_unmixed = facts.get("is_unmixed", False)
            loaded.positive, loaded.merged = facts.get("positive"), facts.get("merged", 1)
            loaded.check_state()
        return loaded

    @classmethod
    def _file_specs(cls, facts: dict[str, Any]) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays in a file with this header."""
        if not is_whole(facts["n_features"]):
            raise ValueError("its number of features is not a whole number")
        blank = cls(**{name: facts[name] for name in cls._settings})
        if facts.get("strata") is None:
            return _LABELS | blank._packed_specs(facts["n_features"])
        blank.strata = NO_STRATA
        return _LABELS | blank._packed_specs(facts["n_features"]) | STRATA

    def _packed(self) -> dict[str, np.ndarray]:
        """Return the arrays to save in a file."""
        return self._parts

    def _packed_specs(self, d: int) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays in a file."""
        return self._specs(d)

    def _unpacked(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Convert the arrays of a file to the arrays kept in memory."""
        return arrays

    def _specs(self, d: int) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays for d features and any number of classes."""
        specs = {}
        for name, shape in self._shapes(d).items():
            low = 0.0 if name in self._not_negative else None
            high = _LARGEST_SUMS.get(name, LARGEST**2)
            specs[name] = ArraySpec(("classes", *shape), low=low, high=high)
        return specs

    def check_state(self) -> None:
        """Raise ValueError unless some rows could have these statistics."""
        flags = self._declared, self.is_unmixed
        if not is_whole(self._d) or not all(isinstance(flag, bool) for flag in flags):
            raise ValueError("its number of features is not a whole number")
        if not is_whole(self.merged):
            raise ValueError("its number of merged files is not a whole number")
        check_labels(self._classes, self.feature_names, self._d)
        if not isinstance(self.target_name, (str, type(None))):
            raise ValueError("the name of its labels is not text")
        if not isinstance(self.steps, (str, type(None))):
            raise ValueError("its steps are not text")
        if self.positive is not None and not is_label(self.positive):
            raise ValueError("the label that ranks first is not a label")
        if self.guarantee is not None and not _is_guarantee(self.guarantee):
            raise ValueError("its guarantee does not have the form of a private release's")
        labels = {"classes": self._stored_classes}
        check_arrays(labels | self._parts, _LABELS | self._specs(self._d))
        if np.any(np.sqrt(self.squares) > 1.001 * self.counts + 1e-150):
            raise ValueError("its squared weights are larger than their sums allow")

    # ---- inside --------------------------------------------------------------------------

    def _set(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._settings}

    def _alike(self, other: "ClassStatistics") -> bool:
        """Return whether the two are of the same kind and can be added."""
        return type(self) is type(other) and self._set() == other._set()

    def _blank(self, K: int, d: int) -> dict[str, np.ndarray]:
        """Return the arrays of K classes without rows, with the class along the first axis."""
        return {name: np.zeros((K, *shape)) for name, shape in self._shapes(d).items()}

    def _reordered(self, order: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays with the features in this order."""
        shapes = self._shapes(self._d)
        return {
            name: np.ascontiguousarray(values[..., order] if shapes[name] else values)
            for name, values in self._parts.items()
        }

    def _strata_with(
        self, other: "ClassStatistics", combine: Callable[[KnownStrata, KnownStrata], KnownStrata]
    ) -> KnownStrata | None:
        """Return the strata of both, combined; raise ValueError if only one has strata."""
        mine, theirs = self.strata, other.strata
        if mine is not None and theirs is not None:
            return combine(mine, theirs)
        has_rows = [part.strata is None and part.counts.any() for part in (self, other)]
        if mine is not theirs and any(has_rows):
            raise ValueError(
                "one of the two compares rows within strata, the other compares all rows; use "
                "strata in all parts, or in none."
            )
        return theirs if mine is None else mine

    def _leave_strata(self, mine: Part, part: Part, weight: float) -> None:
        """Subtract the data on strata from a class, which keeps this weight."""
        T, t = float(mine["counts"]), float(part["counts"])
        if weight > 0.0:
            mine["origins"][...] = (T * mine["origins"] - t * part["origins"]) / weight
        for name in ("scatter", "own"):
            mine[name][...] = np.maximum(mine[name] - part[name], 0.0) if weight > 0.0 else 0.0

    def _check_mixture(self, other: "ClassStatistics | None" = None) -> None:
        """Raise ValueError if only one of the two is unmixed; rows, the default, are not."""
        unmixed = other is not None and other.is_unmixed
        if (
            self.is_unmixed != unmixed
            and self.counts.any()
            and (other is None or other.counts.any())
        ):
            raise ValueError(
                "unmixed moments cannot be combined with rows or with other moments; first add or "
                "subtract labelled positives and unlabelled rows, and then call `unmixed` on the "
                "result."
            )

    def _check_features(self, other: "ClassStatistics") -> None:
        """Raise ValueError if the features of the two are known to differ, or their steps."""
        if None not in (self.steps, other.steps) and self.steps != other.steps:
            raise ValueError(
                "the features were made by different steps, with other levels, medians or knots; "
                "prepare all parts with the same steps."
            )
        if self._d and other._d:
            prepared, bare = (self, other) if other.steps is None else (other, self)
            if prepared.steps is not None and bare.feature_names is None:
                raise ValueError(
                    "the features of one were made by steps, and those of the other have no names; "
                    "prepare all parts with the same steps."
                )
            self._match(other._d, other.feature_names)

    def _match(self, d: int, names: Sequence[str] | None) -> None:
        """Raise ValueError unless d features with these names match the current ones."""
        mine, difference = self.feature_names, ""
        if names is not None and mine is not None and list(names) != mine:
            a, b = next((a, b) for a, b in itertools.zip_longest(mine, names) if a != b)
            difference = f"expected {a!r}, got {b!r}"
            if a is None or b is None:
                difference = f"expected no {b!r}" if a is None else f"{a!r} is missing"
        if self._d and d != self._d:
            detail = f": {difference}" if difference else ""
            raise ValueError(
                f"X has {d} features, but these moments have {self._d}{detail}; give the same "
                "columns."
            )
        if difference:
            raise ValueError(
                f"feature names differ: {difference}; give the same columns in the same order."
            )

    def _grow(self, labels: np.ndarray, d: int) -> None:
        """Make room for labels, in sorted order, and for d features."""
        old, d = self._classes, d or self._d
        if d == self._d and (labels is old or np.array_equal(labels, old)):
            return
        if len(old) and len(labels) and _are_words(old) != _are_words(labels):
            raise ValueError(
                f"labels differ in type: {old.tolist()[0]!r} and {labels.tolist()[0]!r}; give all "
                "of them as numbers, or all as text."
            )
        added = old[:0] if labels is old else np.setdiff1d(labels, old)
        if not len(added) and d == self._d:
            return
        joint = old if not len(added) else np.union1d(old, added) if len(old) else added
        fresh = self._blank(len(joint), d)
        if len(old) and d == self._d:
            for name, values in self._parts.items():
                fresh[name][np.searchsorted(joint, old)] = values
        self._classes, self._d, self._parts = joint, d, fresh

    def _scale_noise(self, factor: float) -> None:
        """Multiply the recorded noise of a private release by a factor."""
        if self.guarantee is not None:
            noise = {name: float(factor * self.guarantee[name]) for name in _NOISE}
            self.guarantee = self.guarantee | noise

    def _each(self) -> list[tuple[Any, Part]]:
        """Return the label of each class with a weight above 0, and views of its arrays."""
        return [
            (label, {name: values[k, ...] for name, values in self._parts.items()})
            for k, label in enumerate(self._classes.tolist())
            if self.counts[k] > 0
        ]

    def _add(self, label: Any, part: Part) -> None:
        """Add the rows of ``part`` to a class that `_grow` has added."""
        k = int(np.searchsorted(self._classes, label))
        mine = {name: values[k, ...] for name, values in self._parts.items()}
        T, t = float(mine["counts"]), float(part["counts"])
        if T == 0.0:
            for name in mine:
                mine[name][...] = part[name]
            return
        self._join(mine, part)
        for name in mine.keys() & _AVERAGES:
            mine[name] += (t / (T + t)) * (part[name] - mine[name])
        for name in mine.keys() & _SUMS:
            mine[name] += part[name]
        mine["counts"] += t

    def _settle(self, minuend: "ClassStatistics") -> None:
        """Make features constant if their variance is only rounding error of the subtraction.

        Otherwise `standardize` would magnify the error. ``minuend`` is what it was before.
        """
        occupied = self.counts > 0
        if not occupied.any():
            return
        means = self._parts["means"]
        peak = np.abs(minuend._parts["means"]).max(axis=0)
        size = np.max(minuend.counts[occupied] / self.counts[occupied]) * minuend._spread()
        rounding = (
            _SUBTRACTION_ROUNDING * np.sqrt(size) * (np.sqrt(size) + peak)
            + (_SUBTRACTION_ROUNDING * peak) ** 2
        )
        constant = self._spread() <= rounding
        value = means[occupied][0]
        value[np.abs(value) <= _SUBTRACTION_ROUNDING * (np.sqrt(size) + peak)] = 0.0
        for _, mine in self._each():
            mine["means"][constant] = value[constant]
            self._make_constant(mine, constant)

    def _make_constant(self, mine: Part, constant: np.ndarray) -> None:
        """Set the variance of some features to 0 in a class."""
        mine["variances"][constant] = 0.0

    def _spread(self) -> np.ndarray:
        """Return the variance of each feature over the rows of all classes, shape (d,)."""
        p, means = self.counts / self.counts.sum(), self._parts["means"]
        return p @ (self.variances + (means - p @ means) ** 2)

    def _variance(self, part: Part) -> np.ndarray:
        return part["variances"]

    def _summary(self, part: Part) -> ClassPart:
        return ClassPart(float(part["counts"]), part["means"], self._variance(part))


Statistics = TypeVar("Statistics", bound=ClassStatistics)


def leaving_out(parts: Sequence[Statistics]) -> tuple[list[Statistics], Statistics]:
    """Return, for each part, the sum of all others, and the sum of all.

    They are computed from sums of prefixes and suffixes. Subtracting a part from the total would
    leave noise if a feature varies only in that part.

    Parameters
    ----------
    parts : sequence of ClassStatistics
        At least one; all of the same kind.
    """
    before = list(itertools.accumulate(parts))
    after = list(itertools.accumulate(parts[:0:-1]))[::-1]
    if not after:
        return [parts[0].empty()], before[0]
    between = [a + b for a, b in zip(before[:-2], after[1:], strict=True)]
    return [after[0], *between, before[-2]], before[-1]


def _joint_guarantee(
    first: dict[str, Any] | None,
    second: dict[str, Any] | None,
    combine: Callable[[float, float], float],
) -> dict[str, Any] | None:
    """Return the joint guarantee of two private releases; their noise adds up."""
    if first is None or second is None:
        return None
    promise = {name: combine(float(first[name]), float(second[name])) for name in _PROMISE}
    return promise | {name: math.hypot(first[name], second[name]) for name in _NOISE}


_PROMISE, _NOISE = ("epsilon", "delta"), ("noise_of_counts", "noise_of_sums", "noise_of_products")


def _is_guarantee(guarantee: Any) -> bool:
    return (
        isinstance(guarantee, dict)
        and sorted(guarantee) == sorted((*_PROMISE, *_NOISE))
        and all(isinstance(value, (int, float)) and value >= 0 for value in guarantee.values())
    )


def _are_words(labels: np.ndarray) -> bool:
    return isinstance(labels.tolist()[0], str)


def _updated(part: sources.Part, empty: ClassStatistics) -> ClassStatistics:
    if part.y is None:
        raise ValueError("it has no labels; give (X, y).")
    if (part.told or {}).get("strata") is not None:
        raise ValueError(_STRATA_OF_PARTS)
    statistics = empty.copy()
    return statistics.update(part.X, part.y, part.weight) if len(part.y) else statistics
