"""What is kept in place of d×d covariances: their diagonals, sketches, and fewer coordinates.

`DiagonalMoments` and `FrequentDirections` stand in for `ClassMoments`: statistics of the rows of
each class that take new rows, add up, and give Σ₊ + Σ₋ as diag(D) + BᵀB. With those
(Σ₊ + Σ₋ + αI) u = δ is solved by Woodbury's identity in `woodbury`.

The functions below them make the coordinates in which OPAUC may run: some of the features, random
projections, principal axes.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from aucmax.basics.checks import LARGEST, check_array_of, check_labels, number, refuse_nul
from aucmax.rows import CSR, Rows, as_rows, n_features, n_rows, products, take_rows, to_scipy
from aucmax.rows.products import _origin
from aucmax.statistics.moments import (
    ClassMoments,
    ClassPart,
    _block_moments,
    _check_features,
    _checked,
    check_weight,
    remainder,
)

__all__ = [
    "ClassSketch",
    "DiagonalMoments",
    "FrequentDirections",
    "gaussian_projection",
    "lifted",
    "lowered",
    "principal_axes",
    "random_features",
    "reduced",
    "woodbury",
]

_BLOCK_ROWS = 512  # rows that frequent directions take in at a time
_BLOCK_BYTES = 64e6  # of them as a dense block
_FEW = 8  # directions that are worked on at a time
_DENSE_SIDE = 8  # times as many axes as this: Lanczos iterations beat a full factorisation
_NO_AXIS = 1e-13  # a share of the largest variance below which an axis is rounding
_SMALLEST = 1e-12  # a curvature below this share of the largest counts as this share


# ---- statistics of classes ---------------------------------------------------------------


class ClassSketch:
    """Weighted counts and means of K classes, and covariances in O(d) or O(rank · d) numbers.

    Base of the sketches below. An empty one takes features, and classes where none were named,
    from the first data; ``empty + a == a``.

    Parameters
    ----------
    classes : sequence of labels, optional
        The labels there may be; without it, every label met is taken in.
    feature_names : sequence of str, optional
        Names of the columns; taken from a data frame where there is one.
    """

    _not_negative: ClassVar[tuple[str, ...]] = ("counts", "variances", "lost")

    def __init__(
        self,
        classes: Sequence[Any] | np.ndarray | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        refuse_nul(classes)
        self._declared = classes is not None
        self._classes = np.array([]) if classes is None else np.unique(np.asarray(classes))
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        self._d = 0 if self.feature_names is None else len(self.feature_names)
        self._parts = self._blank(len(self._classes), self._d)

    # ---- what a sketch keeps of each class

    def _blank(self, K: int, d: int) -> dict[str, np.ndarray]:
        """Return the arrays of K classes without rows, the class along the first axis."""
        return {"counts": np.zeros(K), "means": np.zeros((K, d)), "variances": np.zeros((K, d))}

    def _measure(self, X: Rows, share: np.ndarray) -> dict[str, Any]:
        """Return the arrays of one class from rows with positive weights."""
        total = float(share.sum())
        s, sign = share / total, np.ones(len(share))
        mean = products.class_means(X, sign, s)[0]
        variance = products.class_variances(X, sign, s, mean, mean)[0]
        return {"counts": total, "means": mean, "variances": variance}

    def _merge_class(self, k: int, part: dict[str, Any]) -> None:
        """Take the rows that ``part`` stands for into class k."""
        mine, T, t = self._parts, self._parts["counts"][k], part["counts"]
        gap, total = part["means"] - mine["means"][k], T + t
        if T == 0.0:
            mine["means"][k], mine["variances"][k] = part["means"], part["variances"]
        else:
            mine["means"][k] += (t / total) * gap
            mine["variances"][k] *= T / total
            mine["variances"][k] += (t / total) * part["variances"]
            mine["variances"][k] += (T / total * (t / total)) * gap**2
        mine["counts"][k] = total

    def within(self) -> tuple[np.ndarray, np.ndarray]:
        """Return D (d,) and B (r, d): the sum of the covariances is taken as diag(D) + BᵀB."""
        raise NotImplementedError

    def empty(self, classes: Any = None) -> Self:
        """Return a sketch of the same kind without rows."""
        return type(self)(classes=classes)

    # ---- reading

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, shape (K,)."""
        return self._classes

    @property
    def counts(self) -> np.ndarray:
        """Total weight of each class, shape (K,)."""
        return self._parts["counts"]

    @property
    def means(self) -> np.ndarray:
        """Class means, shape (K, d); zero for a class without rows."""
        return self._parts["means"]

    @property
    def variances(self) -> np.ndarray:
        """Biased variances of each feature in each class, shape (K, d): exact."""
        return self._parts["variances"]

    @property
    def n_features(self) -> int:
        """Number of features d; 0 before the first data."""
        return self._d

    def _of(self, k: int, name: str) -> Any:
        if len(self._classes) != 2:
            raise ValueError(
                f"the binary views need exactly 2 classes; these are {len(self._classes)}: "
                f"{self._classes.tolist()}."
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
        return self._of(1, "means")

    @property
    def mean_neg(self) -> np.ndarray:
        """Mean of the smaller label, shape (d,)."""
        return self._of(0, "means")

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{c}: {t:g}" for c, t in zip(self._classes.tolist(), self.counts, strict=True)
        )
        return f"{type(self).__name__}({self.n_features} features, {{{counts}}})"

    def _alike(self, other: object) -> bool:
        """Whether the two can be added."""
        return type(self) is type(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassSketch) or not self._alike(other):
            return NotImplemented
        mine, theirs = self._parts, other._parts
        same = all(np.array_equal(mine[name], theirs[name]) for name in mine)
        labels = np.array_equal(self._classes, other._classes)
        return same and labels and self.feature_names == other.feature_names

    __hash__ = None  # type: ignore[assignment]  # update() changes it in place

    # ---- the monoid

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows in place and return self; on an error nothing has changed.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Sparse rows are not made dense.
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
            Non-negative; rows of weight zero are skipped.

        Raises
        ------
        ValueError
            If shapes do not match, values are not finite, a weight is negative, or a label is
            not among the classes that were named.
        """
        X, y, weight, names = _checked(X, y, sample_weight)
        return self._add_rows(as_rows(X), y, weight, names)

    def _add_rows(
        self, X: Rows, y: np.ndarray, weight: np.ndarray | None, names: list[str] | None = None
    ) -> Self:
        """Add checked rows: what `update` does after its checks."""
        d = n_features(X)
        self._match(d, names)
        labels = np.unique(y)
        self._known(labels)
        parts = []  # all of them before anything changes
        for label in labels:
            rows = np.flatnonzero(y == label)
            share = np.ones(len(rows)) if weight is None else weight[rows]
            rows, share = rows[share > 0], share[share > 0]
            if len(rows):
                part = X if len(rows) == n_rows(X) else take_rows(X, rows)
                parts.append((label, self._measure(part, share)))
        self._grow(labels, d)
        if names is not None and self.feature_names is None and not self.counts.any():
            self.feature_names = names
        for label, measured in parts:
            self._merge_class(int(np.searchsorted(self._classes, label)), measured)
        return self

    def __add__(self, other: Any) -> Self:
        """Return the sketch of both sets of rows together."""
        if not isinstance(other, ClassSketch):
            return NotImplemented
        if not self._alike(other):
            raise ValueError(f"cannot add {other!r} to {self!r}: they are of different kinds.")
        if other._d:
            self._match(other._d, other.feature_names)
        out = self.copy()
        out._grow(other._classes, other._d)
        out._declared = self._declared and other._declared
        if out.feature_names is None:
            out.feature_names = other.feature_names
        for j, label in enumerate(other._classes):
            if other.counts[j] > 0:
                part = {name: values[j] for name, values in other._parts.items()}
                out._merge_class(int(np.searchsorted(out._classes, label)), part)
        return out

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(shards)`` work, whose start is 0."""
        if isinstance(other, int) and other == 0:
            return self.copy()
        return NotImplemented

    def copy(self) -> Self:
        """Return an independent copy."""
        out = self.empty()
        out._declared, out._d, out._classes = self._declared, self._d, self._classes.copy()
        out._parts = {name: values.copy() for name, values in self._parts.items()}
        out.feature_names = None if self.feature_names is None else list(self.feature_names)
        return out

    def relabelled(self, labels: Sequence[Any] | np.ndarray) -> Self:
        """Return a copy in which the k-th class is called ``labels[k]``; classes stay sorted."""
        order = np.argsort(labels)
        out = self.copy()
        out._classes = np.asarray(labels)[order]
        out._parts = {name: values[order] for name, values in out._parts.items()}
        return out

    # ---- inside

    def _check_state(self) -> None:
        """Raise ValueError, saying what is wrong, unless rows could have given these numbers."""
        if type(self._d) is not int:
            raise ValueError("its number of features is not a whole number")
        check_labels(self._classes, self.feature_names, self._d)
        blank = self._blank(len(self._classes), self._d)
        if not isinstance(self._parts, dict) or self._parts.keys() != blank.keys():
            raise ValueError(f"it does not hold {', '.join(blank)}")
        for name, zeros in blank.items():
            low = 0.0 if name in self._not_negative else None
            high = LARGEST if name == "means" else LARGEST**2
            check_array_of(self._parts[name], zeros.shape, name, low, high)

    def _match(self, d: int, names: Sequence[str] | None) -> None:
        """Raise unless d features with these names fit what is here."""
        _check_features(d, names, self._d or None, self.feature_names, "this sketch has")

    def _known(self, labels: np.ndarray) -> None:
        unknown = np.setdiff1d(labels, self._classes)
        if self._declared and len(unknown):
            raise ValueError(
                f"y holds the label {unknown.tolist()[0]!r}, which is not among the classes "
                f"{self._classes.tolist()}; declare it in `classes` or leave its rows out."
            )

    def _grow(self, labels: np.ndarray, d: int) -> None:
        """Make room for labels and features."""
        old, parts, d = self._classes, self._parts, d or self._d
        both = np.union1d(old, labels) if len(old) else np.unique(labels)
        if len(both) == len(old) and d == self._d:
            return
        fresh = self._blank(len(both), d)
        if len(old) and d == self._d:
            for name, values in parts.items():
                fresh[name][np.searchsorted(both, old)] = values
        self._classes, self._d, self._parts = both, d, fresh


class DiagonalMoments(ClassSketch):
    """Counts, means and variances of K classes: covariances without what is off the diagonal.

    O(d) numbers, all of them exact, so parts in any order and division give the same but for
    rounding. Parameters are those of `ClassSketch`.
    """

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        classes: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Return the sketch of rows X with labels y; arguments are those of `update`."""
        return cls(classes=classes).update(X, y, sample_weight)

    def from_moments(self, moments: ClassMoments) -> "DiagonalMoments":
        """Return what these moments say of the variances."""
        out = DiagonalMoments(moments.classes, moments.feature_names)
        out._grow(moments.classes, moments.n_features)
        out._declared = moments._declared
        out._parts = {
            "counts": moments.counts.copy(),
            "means": moments.means.copy(),
            "variances": moments.variances.copy(),
        }
        return out

    def within(self) -> tuple[np.ndarray, np.ndarray]:
        return self.variances.sum(axis=0), np.zeros((0, self._d))

    def __sub__(self, other: Any) -> "DiagonalMoments":
        """Return the moments without the rows of ``other``, which must be among these.

        Raises
        ------
        ValueError
            If ``other`` holds more weight of a class than is here, or a variance would turn
            negative.
        """
        if not isinstance(other, DiagonalMoments):
            return NotImplemented
        out = self.copy()
        if other._d:
            out._match(other._d, other.feature_names)
        there = dict(zip(out._classes.tolist(), range(len(out._classes)), strict=True))
        gone = [(j, label) for j, label in enumerate(other._classes.tolist()) if other.counts[j]]
        for j, label in gone:
            total = out.counts[there[label]] if label in there else 0.0
            check_weight(float(total), other.counts[j], label)
        for j, label in gone:
            part = {name: values[j] for name, values in other._parts.items()}
            out._remove_class(there[label], part)
        return out

    def _remove_class(self, k: int, part: dict[str, Any]) -> None:
        mine = self._parts
        left = remainder(
            ClassPart(mine["counts"][k], mine["means"][k], mine["variances"][k]),
            ClassPart(part["counts"], part["means"], part["variances"]),
            self._classes.tolist()[k],
            self.feature_names,
        )
        mine["counts"][k], mine["means"][k] = left.weight, left.mean
        mine["variances"][k] = left.variance


class FrequentDirections(ClassSketch):
    """Counts, means, variances, and the main directions of each class's covariance.

    With A the rows of a class, centred, times the roots of their weights, the class keeps B of
    ``rank`` rows such that

        0 ⪯ AᵀA − BᵀB ⪯ Δ I,    Δ ≤ ‖A‖_F² / (rank + 1).

    Blocks of rows are stacked under B; the stack's singular values are cut back by
    σ² ← max(σ² − σ²_{rank+1}, 0), and Δ is the sum of what was cut. Parts that are added meet in
    the same way, with the row √(Tt/(T+t)) (c′ − c) for the distance of their means, so that
    nothing needs centring beforehand. The variances are exact, and what they say beyond BᵀB is
    added on the diagonal, as D, in `within`.

    One B is kept for each class, not one for both: Σ₊ and Σ₋ are divided by their own class's
    weight, and a stream changes these.

    Parameters
    ----------
    rank : int
        Rows of B for each class.
    classes, feature_names
        As for `ClassSketch`.

    Notes
    -----
    How rows are divided into calls changes B within its bound; counts, means and variances are
    the same. Sparse rows stay sparse: only B and one row beside it are dense.

    References
    ----------
    Liberty (2013), "Simple and deterministic matrix sketching". Ghashami, Liberty, Phillips &
    Woodruff (2016), "Frequent directions", for sums of sketches.
    """

    def __init__(
        self,
        rank: int = 50,
        classes: Sequence[Any] | np.ndarray | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.rank = int(number(rank, "rank", low=1, whole=True))
        super().__init__(classes, feature_names)

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        classes: Sequence[Any] | np.ndarray | None = None,
        *,
        rank: int = 50,
    ) -> Self:
        """Return the sketch of rows X with labels y; arguments are those of `update`."""
        return cls(rank, classes).update(X, y, sample_weight)

    def from_moments(self, moments: ClassMoments) -> "FrequentDirections":
        """Return the sketch of covariances that are known in full, with this one's rank."""
        out = self.empty(moments.classes)
        out.feature_names = moments.feature_names
        out._declared = moments._declared
        d = moments.n_features
        out._grow(moments.classes, d)
        for k, T in enumerate(moments.counts):
            if T > 0:
                values, U = eigh(T * moments.covs[k])
                scatter = np.sqrt(np.maximum(values, 0.0))[:, None] * U.T
                rows, lost = _cut(scatter, self._directions(d))
                part = {"counts": T, "means": moments.means[k], "variances": moments.variances[k]}
                out._merge_class(k, part | {"rows": rows, "lost": lost})
        return out

    def empty(self, classes: Any = None) -> Self:
        return type(self)(self.rank, classes)

    @property
    def rows(self) -> np.ndarray:
        """B of each class, shape (K, min(rank, d), d)."""
        return self._parts["rows"]

    @property
    def lost(self) -> np.ndarray:
        """Δ of each class, shape (K,): ‖AᵀA − BᵀB‖ is at most this."""
        return self._parts["lost"]

    def _alike(self, other: object) -> bool:
        return isinstance(other, FrequentDirections) and self.rank == other.rank

    def __repr__(self) -> str:
        return f"rank-{self.rank} {super().__repr__()}"

    def _directions(self, d: int) -> int:
        """Return how many are kept: all d are exact, and more would be empty."""
        return min(self.rank, d)

    def _blank(self, K: int, d: int) -> dict[str, np.ndarray]:
        rows = np.zeros((K, self._directions(d), d))
        return super()._blank(K, d) | {"rows": rows, "lost": np.zeros(K)}

    def _measure(self, X: Rows, share: np.ndarray) -> dict[str, Any]:
        out = super()._measure(X, share)
        n, d = n_rows(X), n_features(X)
        B, lost = np.zeros((0, d)), 0.0
        rank = self._directions(d)
        step = max(_BLOCK_ROWS, 2 * rank)
        if not isinstance(X, CSR):
            step = max(min(step, int(_BLOCK_BYTES / (8 * max(d, 1)))), rank, 1)
        for lo in range(0, n, step):
            some = np.arange(lo, min(lo + step, n))
            block = _Centred(take_rows(X, some), share[some], out["means"])
            B, cut = _stacked(B, block, rank)
            lost += cut
        return out | {"rows": B, "lost": lost}

    def _merge_class(self, k: int, part: dict[str, Any]) -> None:
        mine, T, t = self._parts, self._parts["counts"][k], part["counts"]
        if T == 0.0:
            mine["rows"][k], mine["lost"][k] = 0.0, part["lost"]
            mine["rows"][k, : len(part["rows"])] = part["rows"]
        else:
            shift = np.sqrt(T * t / (T + t)) * (part["means"] - mine["means"][k])
            M = np.vstack([mine["rows"][k], part["rows"], shift])
            M = M[np.any(M != 0.0, axis=1)]
            rows, cut = _cut(M, len(mine["rows"][k]))
            mine["rows"][k] = 0.0
            mine["rows"][k, : len(rows)] = rows
            mine["lost"][k] += part["lost"] + cut
        super()._merge_class(k, part)

    def within(self) -> tuple[np.ndarray, np.ndarray]:
        T = np.where(self.counts > 0, self.counts, 1.0)
        B = self.rows / np.sqrt(T)[:, None, None]
        D = np.maximum(self.variances - np.einsum("krj,krj->kj", B, B), 0.0).sum(axis=0)
        return D, B.reshape(-1, self._d)


class _Centred:
    """A = diag(√q)(X − 1 meanᵀ), as Y − √q gapᵀ with Y sparse, or as Y where X is dense."""

    def __init__(self, X: Rows, q: np.ndarray, mean: np.ndarray) -> None:
        self.root, self.gap = np.sqrt(q), np.zeros(0)
        if isinstance(X, CSR):
            # columns that are full are shifted first, which keeps digits far from the origin
            origin = _origin(X)
            data = X.data - origin[X.indices]
            self.gap = mean - origin
            self.Y = sp.diags_array(self.root) @ to_scipy(X._replace(data=data))
        else:
            self.Y = self.root[:, None] * (X - mean)

    def gram(self) -> np.ndarray:
        """Return A Aᵀ."""
        G = self.Y @ self.Y.T
        if not len(self.gap):
            return G
        y = self.Y @ self.gap
        cross = np.outer(y, self.root)
        return (
            G.toarray() - cross - cross.T + (self.gap @ self.gap) * np.outer(self.root, self.root)
        )

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return A V for V of shape (d,) or (d, k)."""
        out = self.Y @ V
        if len(self.gap):
            out -= np.multiply.outer(self.root, self.gap @ V)
        return out

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Return Aᵀ U for U of shape (n,) or (n, k)."""
        out = self.Y.T @ U
        if len(self.gap):
            out -= np.multiply.outer(self.gap, self.root @ U)
        return out


def _cut(M: np.ndarray, rank: int) -> tuple[np.ndarray, float]:
    """Return the sketch of the rows of M, and what was cut."""
    return _shrunk(M @ M.T, lambda U: U.T @ M, rank)


def _stacked(B: np.ndarray, A: _Centred, rank: int) -> tuple[np.ndarray, float]:
    """Return the sketch of B above A, and what was cut."""
    b = len(B)
    # a few directions at a time: what is made on the way stays small beside B
    cross = [A.times(np.ascontiguousarray(B[lo : lo + _FEW].T)) for lo in range(0, b, _FEW)]
    lower = np.hstack([*cross, A.gram()])
    G = np.vstack([np.hstack([B @ B.T, lower[:, :b].T]), lower])

    def combine(U: np.ndarray) -> np.ndarray:
        out = U[:b].T @ B
        for lo in range(0, len(out), _FEW):
            out[lo : lo + _FEW] += A.adjoint(U[b:, lo : lo + _FEW]).T
        return out

    return _shrunk(G, combine, rank)


def _shrunk(
    G: np.ndarray, combine: Callable[[np.ndarray], np.ndarray], rank: int
) -> tuple[np.ndarray, float]:
    """Cut the squared singular values of M back by the (rank + 1)-th.

    ``G`` is M Mᵀ and ``combine(U)`` is UᵀM. Returns at most ``rank`` rows, and what was cut.
    """
    m = len(G)
    if m == 0:
        return combine(np.zeros((0, 0))), 0.0
    first = max(m - rank - 1, 0)
    values, U = eigh(G, subset_by_index=[first, m - 1], check_finite=False)
    cut = max(float(values[0]), 0.0) if m > rank else 0.0
    kept = values > max(cut, m * np.finfo(float).eps * max(float(values[-1]), 0.0))
    values, U = values[kept], U[:, kept]
    rows = combine(U)
    rows *= np.sqrt(1.0 - cut / values)[:, None]
    return rows, cut


def woodbury(D: np.ndarray, B: np.ndarray, alpha: float, delta: np.ndarray) -> np.ndarray:
    """Return u with (diag(D) + BᵀB + αI) u = δ.

    Parameters
    ----------
    D : ndarray, shape (d,)
        Not negative. Entries of D + α below 1e-12 of the largest curvature count as that: where
        a feature does not vary and α is 0 there is no solution.
    B : ndarray, shape (r, d)
        Overwritten.
    alpha : float
    delta : ndarray, shape (d,)
    """
    curvature = D + alpha
    largest = np.max(curvature + np.einsum("rj,rj->j", B, B) + delta**2, initial=0.0)
    curvature = np.maximum(curvature, _SMALLEST * largest if largest > 0.0 else 1.0)
    if not len(B):
        return delta / curvature
    # in units in which the diagonal is I:  (I + CᵀC) v = r,  v = r − Cᵀ(I + CCᵀ)⁻¹ C r
    root = np.sqrt(curvature)
    B /= root
    inner = cho_factor(np.eye(len(B)) + B @ B.T, lower=True, check_finite=False)

    def solve(r: np.ndarray) -> np.ndarray:
        return r - B.T @ cho_solve(inner, B @ r, check_finite=False)

    r = delta / root
    v = solve(r)
    v += solve(r - v - B.T @ (B @ v))
    return v / root


# ---- coordinates for OPAUC ---------------------------------------------------------------
#
# A basis is either the positions of some features, (k,) integers, or a matrix H (d, k).


def random_features(d: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the positions of k of d features, ascending."""
    return np.sort(rng.permutation(d)[:k]).astype(np.int64)


def gaussian_projection(d: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return H (d, k) of independent N(0, 1/k), so that the mean of H Hᵀ is I."""
    return rng.standard_normal((d, k)) / np.sqrt(k)


def principal_axes(X: Rows, weight: np.ndarray, k: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the first k principal axes (d, k) of weighted rows; zeros where there are fewer.

    From the covariance or the Gram matrix, whichever is smaller, where its side is at most 8k;
    else by Lanczos iterations on the rows.
    """
    n, d = n_rows(X), n_features(X)
    side = min(n, d)
    out = np.zeros((d, k))
    if side <= _DENSE_SIDE * k and d <= n:
        cov = _block_moments(X, weight)[2]
        values, V = eigh(cov, subset_by_index=[d - min(k, d), d - 1], check_finite=False)
        U = V[:, ::-1]
        found = values[::-1] > _NO_AXIS * max(float(values[-1]), 0.0)
        out[:, : np.sum(found)] = U[:, found]
        return out
    sign, s = np.ones(n), weight / weight.sum()
    A = _Centred(X, s, products.class_means(X, sign, s)[0])
    if side <= _DENSE_SIDE * k:
        values, U = eigh(A.gram(), subset_by_index=[n - min(k, n), n - 1], check_finite=False)
    else:
        order = (A.times, A.adjoint) if n <= d else (A.adjoint, A.times)
        operator = LinearOperator((side, side), lambda v: order[0](order[1](v)), dtype=float)
        values, U = eigsh(operator, k, v0=rng.standard_normal(side))
    values, U = values[::-1], U[:, ::-1]
    found = values > _NO_AXIS * max(float(values[0]), 0.0)
    V = U[:, found] if d < n else A.adjoint(U[:, found]) / np.sqrt(values[found])
    out[:, : V.shape[1]] = V
    return out


def reduced(X: Rows, basis: np.ndarray) -> Rows:
    """Return the rows in the coordinates of a basis."""
    if basis.ndim == 1:
        return as_rows(to_scipy(X)[:, basis])
    return as_rows(products.scores(X, basis))


def lifted(w: np.ndarray, basis: np.ndarray, d: int) -> np.ndarray:
    """Return the coefficients (d,) of the features that score as w (k,) does in a basis."""
    if basis.ndim == 1:
        out = np.zeros(d)
        out[basis] = w
        return out
    return basis @ w


def lowered(coef: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the w (k,) that, lifted, is nearest to the coefficients (d,)."""
    if basis.ndim == 1:
        return coef[basis]
    return np.linalg.lstsq(basis, coef, rcond=None)[0]
