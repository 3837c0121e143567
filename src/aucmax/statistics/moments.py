"""Class moments: counts, means and covariances of K classes, as a monoid.

With the pairwise square loss these are all that the data say. They add, subtract and scale, so
that models from different machines combine exactly and rows can be forgotten. Each class keeps
its total weight T, mean c and biased covariance S; adding one row is

    c ← c + (x − c)/T,    S ← (1 − 1/T) S + ((T − 1)/T²)(x − c)(x − c)ᵀ,

and everything below is the block form of it (Chan, Golub & LeVeque 1983; Gao et al. 2013).
"""

import io
import json
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from aucmax.basics.checks import (
    LARGEST,
    check_array_of,
    check_labels,
    refuse_nul,
    refuse_sizes,
    sample_weights,
)
from aucmax.basics.container import pack, unpack
from aucmax.basics.errors import ModelFileError
from aucmax.rows import CSR, Rows, as_rows, n_features, n_rows, take_rows, to_scipy
from aucmax.rows.products import sparse_gram

__all__ = ["ClassMoments"]

_KIND = "moments"
_BLOCK_BYTES = 32e6  # dense copies of rows are made this many bytes at a time
_SPARSE_BELOW = 0.25  # density under which pairs of stored entries beat a dense product
_ROUNDING = 1e-6  # share of a variance, and of a mean, that differences may be off by
_NOTHING = 1e-9  # share of a class's weight that is taken for rounding
_CANCELLED = 1e6  # mean² over variance at which uncentred sums have lost too many digits


class ClassMoments:
    """Weighted counts, means and covariances of K classes.

    An empty object knows neither features nor classes and takes both from the first data;
    ``empty + a == a``.

    Parameters
    ----------
    classes : sequence of labels, optional
        The labels there may be. Without it, every label met is taken in; with it, any other
        label raises.
    feature_names : sequence of str, optional
        Names of the columns; taken from a data frame where there is one.

    Attributes
    ----------
    classes : ndarray, shape (K,)
        Sorted labels.
    counts : ndarray, shape (K,)
        Total sample weight of each class.
    means : ndarray, shape (K, d)
        Class means, in the features' units.
    covs : ndarray, shape (K, d, d)
        Biased class covariances (divided by the count), in the features' units squared.

    References
    ----------
    Chan, Golub & LeVeque (1983), "Algorithms for computing the sample variance".
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization".
    """

    def __init__(
        self,
        classes: Sequence[Any] | np.ndarray | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        refuse_nul(classes)
        self._declared = classes is not None
        self._classes = np.array([]) if classes is None else np.unique(np.asarray(classes))
        self._d: int | None = None
        self._counts = np.zeros(len(self._classes))
        self._means = np.zeros((len(self._classes), 0))
        self._covs = np.zeros((len(self._classes), 0, 0))
        self.feature_names = None if feature_names is None else [str(f) for f in feature_names]
        if self.feature_names is not None:
            self._set_features(len(self.feature_names))

    @classmethod
    def from_data(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        classes: Sequence[Any] | np.ndarray | None = None,
    ) -> Self:
        """Return the moments of rows X with labels y.

        Parameters
        ----------
        X : array-like or sparse, shape (n, d)
            Sparse rows are not made dense as a whole.
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
            Non-negative; rows of weight zero are skipped.
        classes : sequence, optional
            The labels there may be.

        Raises
        ------
        ValueError
            If shapes do not match, values are not finite, a weight is negative, or a label is
            not in ``classes``.
        """
        return cls(classes=classes).update(X, y, sample_weight)

    # ---- reading -------------------------------------------------------------------------

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels, shape (K,)."""
        return self._classes

    @property
    def counts(self) -> np.ndarray:
        """Total weight of each class, shape (K,)."""
        return self._counts

    @property
    def means(self) -> np.ndarray:
        """Class means, shape (K, d); zero for a class without rows."""
        return self._means

    @property
    def covs(self) -> np.ndarray:
        """Biased class covariances, shape (K, d, d); zero for a class without rows."""
        return self._covs

    @property
    def variances(self) -> np.ndarray:
        """Biased variances of each feature in each class, shape (K, d)."""
        return np.einsum("kjj->kj", self._covs)

    @property
    def n_features(self) -> int:
        """Number of features d; 0 before the first data."""
        return self._d or 0

    def _binary(self) -> None:
        if len(self._classes) != 2:
            raise ValueError(
                f"the binary views need moments of exactly 2 classes; "
                f"these have {len(self._classes)}: {self._classes.tolist()}."
            )

    @property
    def n_pos(self) -> float:
        """Weight of the larger label."""
        self._binary()
        return float(self._counts[1])

    @property
    def n_neg(self) -> float:
        """Weight of the smaller label."""
        self._binary()
        return float(self._counts[0])

    @property
    def mean_pos(self) -> np.ndarray:
        """Mean of the larger label, shape (d,)."""
        self._binary()
        return self._means[1]

    @property
    def mean_neg(self) -> np.ndarray:
        """Mean of the smaller label, shape (d,)."""
        self._binary()
        return self._means[0]

    @property
    def cov_pos(self) -> np.ndarray:
        """Covariance of the larger label, shape (d, d)."""
        self._binary()
        return self._covs[1]

    @property
    def cov_neg(self) -> np.ndarray:
        """Covariance of the smaller label, shape (d, d)."""
        self._binary()
        return self._covs[0]

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{c}: {t:g}" for c, t in zip(self._classes.tolist(), self._counts, strict=True)
        )
        return f"ClassMoments({self.n_features} features, {{{counts}}})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        return (
            np.array_equal(self._classes, other._classes)
            and np.array_equal(self._counts, other._counts)
            and np.array_equal(self._means, other._means)
            and np.array_equal(self._covs, other._covs)
            and self.feature_names == other.feature_names
        )

    __hash__ = None  # type: ignore[assignment]  # update() changes it in place

    # ---- the monoid ----------------------------------------------------------------------

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add rows in place and return self; on an error nothing has changed.

        Parameters and errors are those of `from_data`.
        """
        X, y, weight, names = _checked(X, y, sample_weight)
        return self._add_rows(as_rows(X), y, weight, names)

    def _add_rows(
        self, X: Rows, y: np.ndarray, weight: np.ndarray | None, names: list[str] | None = None
    ) -> Self:
        """Add checked rows: what `update` does after its checks."""
        self._match(n_features(X), names)
        labels = np.unique(y)
        unknown = np.setdiff1d(labels, self._classes)
        if self._declared and len(unknown):
            raise ValueError(
                f"y holds the label {unknown.tolist()[0]!r}, which is not among the classes "
                f"{self._classes.tolist()}; declare it in `classes` or leave its rows out."
            )
        parts = []  # all of them before anything changes
        for label in labels:
            rows = np.flatnonzero(y == label)
            share = np.ones(len(rows)) if weight is None else weight[rows]
            if not share.all():
                rows, share = rows[share > 0], share[share > 0]
            if len(rows):
                part = X if len(rows) == n_rows(X) else take_rows(X, rows)
                parts.append((label, _block_moments(part, share)))
        if self._d is None:
            self._set_features(n_features(X))
        if names is not None and self.feature_names is None and not self._counts.any():
            self.feature_names = names
        if len(unknown):
            self._grow(unknown)
        for label, sums in parts:
            self._merge_class(int(np.searchsorted(self._classes, label)), *sums)
        return self

    def __add__(self, other: "ClassMoments") -> "ClassMoments":
        """Return the moments of both sets of rows together."""
        if not isinstance(other, ClassMoments):
            return NotImplemented
        out = self.copy()
        if other._d is None and not len(other._classes):
            return out
        if self._d is None and not len(self._classes):
            return other.copy()
        if other._d is not None:
            out._match(other._d, other.feature_names)
            if out._d is None:
                out._set_features(other._d)
        if out.feature_names is None:
            out.feature_names = other.feature_names
        out._grow(np.setdiff1d(other._classes, out._classes))
        out._declared = self._declared and other._declared
        for j, label in enumerate(other._classes):
            if other._counts[j] > 0:
                k = int(np.searchsorted(out._classes, label))
                out._merge_class(k, other._counts[j], other._means[j], other._covs[j])
        return out

    def __radd__(self, other: Any) -> "ClassMoments":
        """Let ``sum(shards)`` work, whose start is 0."""
        if isinstance(other, int) and other == 0:
            return self.copy()
        return NotImplemented

    def __sub__(self, other: "ClassMoments") -> "ClassMoments":
        """Return the moments without the rows of ``other``, which must be among these.

        Raises
        ------
        ValueError
            If ``other`` holds a class, or more weight of one, than is here; or if a feature, or a
            combination of features, would be left with a negative variance.

        Notes
        -----
        That ``other`` is among these cannot be seen for certain: rows that were never there but
        lie as near to the mean as those that were leave moments that some other rows have.
        """
        if not isinstance(other, ClassMoments):
            return NotImplemented
        out = self.copy()
        if other._d is None:
            return out
        out._match(other._d, other.feature_names)
        there = dict(zip(out._classes.tolist(), range(len(out._classes)), strict=True))
        gone = [(j, label) for j, label in enumerate(other._classes.tolist()) if other._counts[j]]
        for j, label in gone:
            total = out._counts[there[label]] if label in there else 0.0
            check_weight(float(total), other._counts[j], label)
        for j, label in gone:
            out._remove_class(there[label], other._counts[j], other._means[j], other._covs[j])
        return out

    def decay(self, gamma: float) -> "ClassMoments":
        """Return a copy whose counts are multiplied by gamma: older rows weigh less.

        Parameters
        ----------
        gamma : float
            In (0, 1].
        """
        if not 0.0 < gamma <= 1.0:
            raise ValueError(f"gamma must be in (0, 1]; got {gamma!r}.")
        out = self.copy()
        out._counts *= gamma
        return out

    def copy(self) -> "ClassMoments":
        """Return an independent copy."""
        out = ClassMoments.__new__(ClassMoments)
        out._declared, out._d = self._declared, self._d
        out._classes = self._classes.copy()
        out._counts, out._means = self._counts.copy(), self._means.copy()
        out._covs = self._covs.copy()
        out.feature_names = None if self.feature_names is None else list(self.feature_names)
        return out

    def relabelled(self, labels: Sequence[Any] | np.ndarray) -> "ClassMoments":
        """Return a copy in which the k-th class is called ``labels[k]``; classes stay sorted."""
        order = np.argsort(labels)
        out = self.copy()
        out._classes = np.asarray(labels)[order]
        out._counts, out._means, out._covs = out._counts[order], out._means[order], out._covs[order]
        return out

    # ---- files ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write to a file that `load` reads: arrays and JSON behind a digest, no code."""
        buffer = io.BytesIO()
        classes = self._classes
        if classes.dtype == object:
            classes = classes.astype(str) if all(isinstance(c, str) for c in classes) else classes
        if classes.dtype == object:
            raise ValueError(
                f"labels of mixed types cannot be saved: {self._classes.tolist()}; "
                "use labels of one type (int, float, bool or str)."
            )
        # (K, d, d) is symmetric: its lower triangles are enough
        rows, cols = np.tril_indices(self.n_features)
        np.savez_compressed(
            buffer,
            classes=classes,
            counts=self._counts,
            means=self._means,
            lower=self._covs[:, rows, cols],
        )
        meta = {
            "declared": self._declared,
            "n_features": self._d,
            "feature_names": self.feature_names,
        }
        body = json.dumps(meta).encode() + b"\n" + buffer.getvalue()
        pack(path, _KIND, body)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "ClassMoments":
        """Return the moments that `save` wrote.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ModelFileError
            If the file is not a moments file, is damaged, or comes from a newer version.
        """
        body = unpack(path, _KIND)
        try:
            head, _, arrays = body.partition(b"\n")
            meta = json.loads(head)
            with np.load(io.BytesIO(arrays), allow_pickle=False) as npz:
                classes, counts = npz["classes"], npz["counts"]
                means, lower = npz["means"], npz["lower"]
            out = cls()
            out._declared, out._d = bool(meta["declared"]), meta["n_features"]
            out.feature_names = meta["feature_names"]
            out._classes, out._counts, out._means = classes, counts, means
            K, d = means.shape
            rows, cols = np.tril_indices(d)
            check_array_of(lower, (K, len(rows)), "covariances")
            out._covs = np.zeros((K, d, d))
            out._covs[:, rows, cols] = lower
            out._covs[:, cols, rows] = lower
            out._check_state()
        except Exception as error:  # whatever a parser makes of a body that is none
            what = " ".join(str(error).split()) or type(error).__name__
            raise ModelFileError(f"{path}: not a readable moments file ({what}).") from error
        return out

    # ---- inside --------------------------------------------------------------------------

    def _match(self, d: int, names: Sequence[str] | None) -> None:
        """Raise unless d features with these names fit what is here."""
        _check_features(d, names, self._d, self.feature_names, "these moments have")

    def _set_features(self, d: int) -> None:
        K = len(self._classes)
        self._d = d
        self._means, self._covs = np.zeros((K, d)), np.zeros((K, d, d))

    def _grow(self, labels: np.ndarray) -> None:
        """Take in new labels, keeping the order sorted."""
        if not len(labels):
            return
        old = self._classes
        both = np.union1d(old, labels) if len(old) else np.unique(labels)
        K, d = len(both), self.n_features
        where = np.searchsorted(both, old)
        counts, means, covs = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
        if len(old):
            counts[where], means[where], covs[where] = self._counts, self._means, self._covs
        self._classes, self._counts, self._means, self._covs = both, counts, means, covs

    def _merge_class(self, k: int, t: float, mean: np.ndarray, cov: np.ndarray) -> None:
        T = self._counts[k]
        total = T + t
        gap = mean - self._means[k]
        S = self._covs[k]
        if T == 0.0:
            S[...] = cov
            self._means[k] = mean
        else:
            # S ← (T S + t S′)/(T+t) + (T t/(T+t)²) gap gapᵀ, in place
            S *= T / total
            S += (t / total) * cov
            root = np.sqrt(T / total * (t / total)) * gap  # the same twice keeps S symmetric
            S += np.outer(root, root)
            self._means[k] += (t / total) * gap
        self._counts[k] = total

    def _remove_class(self, k: int, t: float, mean: np.ndarray, cov: np.ndarray) -> None:
        T, S, label = self._counts[k], self._covs[k], self._classes.tolist()[k]
        here = ClassPart(T, self._means[k], np.einsum("jj->j", S))
        left = remainder(
            here, ClassPart(t, mean, np.einsum("jj->j", cov)), label, self.feature_names
        )
        self._counts[k], self._means[k] = left.weight, left.mean
        if left.weight == 0.0:
            scale = np.sqrt(left.rounding)
            if np.any(np.abs(S - cov) > np.multiply.outer(scale, scale)):
                raise not_there(f"all rows of class {label!r} have other covariances")
            S[...] = 0.0
            return
        S *= T / left.weight
        S -= (t / left.weight) * cov
        root = np.sqrt(t / T) * left.gap
        S -= np.outer(root, root)
        S[np.diag_indices(len(S))] = left.variance
        if not is_covariance(S, left.rounding):
            raise not_there(
                f"a combination of features of class {label!r} would be left with a negative "
                "variance"
            )

    def _check_state(self) -> None:
        """Raise ValueError, saying what is wrong, unless rows could have given these numbers."""
        K, d = len(self._classes), self.n_features
        if not (self._d is None or type(self._d) is int):
            raise ValueError("its number of features is not a whole number")
        check_labels(self._classes, self.feature_names, d)
        check_array_of(self._counts, (K,), "counts", low=0.0)
        check_array_of(self._means, (K, d), "means", high=LARGEST)
        check_array_of(self._covs, (K, d, d), "covariances", high=LARGEST**2)
        for label, S in zip(self._classes.tolist(), self._covs, strict=True):
            variance = np.einsum("jj->j", S)
            if np.any(variance < 0.0):
                raise ValueError(f"class {label!r} has a negative variance")
            scale = np.sqrt(variance)
            near = _ROUNDING * np.outer(scale, scale) + 1e-13 * np.max(variance, initial=0.0)
            if np.any(np.abs(S - S.T) > near):
                raise ValueError(f"the covariance of class {label!r} is not symmetric")


class ClassPart(NamedTuple):
    """Weight, mean and variances of rows of one class."""

    weight: float
    mean: np.ndarray
    variance: np.ndarray


class Remainder(NamedTuple):
    """What is left of a class: with ``gap``, its mean minus the mean of what was taken out, and
    ``rounding``, by how much each variance may be off."""

    weight: float
    mean: np.ndarray
    variance: np.ndarray
    gap: np.ndarray
    rounding: np.ndarray


def remainder(here: ClassPart, gone: ClassPart, label: Any, names: list[str] | None) -> Remainder:
    """Return what is left of a class without some rows.

    Raises ValueError, naming the class and the feature, where the rows cannot all have been there.
    """
    (T, mean, variance), t = here, gone.weight
    rest = T - t
    if rest <= _NOTHING * T:
        zero = np.zeros_like(mean)
        rounding = _ROUNDING * (variance + gone.variance) + _ROUNDING**2 * mean**2
        off = (mean - gone.mean) ** 2 > _ROUNDING * rounding
        off |= np.abs(variance - gone.variance) > rounding
        if off.any():
            raise not_there(
                f"all rows of class {label!r} have another mean or variance of feature "
                f"{_feature(int(np.argmax(off)), names)}"
            )
        return Remainder(0.0, zero, zero, zero, rounding)
    gap = (T / rest) * (mean - gone.mean)
    size = (T / rest) * variance + (t / T) * gap**2
    left = (T / rest) * variance - (t / rest) * gone.variance - (t / T) * gap**2
    rounding = _ROUNDING * size + _ROUNDING**2 * (T / rest) * mean**2
    if np.any(left < -rounding):
        j = int(np.argmax(-left / np.maximum(rounding, np.finfo(float).tiny)))
        raise not_there(
            f"feature {_feature(j, names)} of class {label!r} would be left with a negative "
            "variance"
        )
    return Remainder(rest, gone.mean + gap, np.maximum(left, 0.0), gap, rounding)


def check_weight(total: float, t: float, label: Any) -> None:
    """Raise ValueError where more weight is to be taken out of a class than is there."""
    if t > total * (1 + _NOTHING):
        raise ValueError(
            f"cannot subtract weight {t:g} of class {label!r}: only {total:g} is there; "
            "subtract rows that were added before, with the weight they were added with."
        )


def not_there(what: str) -> ValueError:
    """Return the error for rows that cannot be subtracted."""
    return ValueError(
        f"cannot subtract these rows: {what}, so they were not all added before; subtract only "
        "rows that were, with the weight they were added with."
    )


def _feature(j: int, names: list[str] | None) -> str:
    return repr(j) if names is None else repr(names[j])


def is_covariance(S: np.ndarray, rounding: np.ndarray) -> bool:
    """Tell whether no combination of features has a negative variance, but for rounding.

    Parameters
    ----------
    S : ndarray, shape (d, d)
        Symmetric, but for rounding, with a diagonal that is not negative.
    rounding : ndarray, shape (d,)
        By how much each variance may be off.
    """
    size = np.einsum("jj->j", S) + rounding
    scale = np.sqrt(np.where(size > 0.0, size, 1.0))
    Z = S / scale
    Z /= scale[:, None]
    Z[np.diag_indices(len(Z))] = 1.0
    try:
        cholesky(Z, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _check_features(
    d: int, names: Sequence[str] | None, known: int | None, mine: list[str] | None, have: str
) -> None:
    """Raise ValueError unless d features with these names are those already ``known``."""
    if known is not None and d != known:
        raise ValueError(f"X has {d} features, but {have} {known}; give the same columns.")
    if names is not None and mine is not None and list(names) != mine:
        odd = next((a, b) for a, b in zip(mine, names, strict=True) if a != b)
        raise ValueError(
            f"feature names differ: expected {odd[0]!r}, got {odd[1]!r}; "
            "give the same columns in the same order."
        )


def _checked(
    X: Any, y: Any, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray | None, list[str] | None]:
    """Check raw input as an estimator would, and return arrays with the feature names."""
    names = _get_feature_names(X)
    refuse_nul(y)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    refuse_sizes(X)
    y = column_or_1d(y, warn=False)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinite labels; give every row a label.")
    check_consistent_length(X, y)
    return (
        X,
        y,
        sample_weights(sample_weight, X.shape[0]),
        None if names is None else [str(n) for n in names],
    )


def _block_moments(X: Rows, share: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return (total weight, mean, biased covariance) of rows with positive weights."""
    if isinstance(X, CSR) and len(X.data) < _SPARSE_BELOW * n_rows(X) * X.n_features:
        total = float(share.sum())
        s = share / total
        view = to_scipy(X)
        mean = np.asarray(view.T @ s)
        cov = sparse_gram(X, s)
        second = np.einsum("jj->j", cov).copy()
        cov -= np.outer(mean, mean)
        variance = np.maximum(np.einsum("jj->j", cov), 1e-14 * second)
        # a nearly full column far from zero would have lost its digits here
        if np.all(mean**2 <= _CANCELLED * variance):
            return total, mean, cov
    return _dense_blocks(X, share)


def _dense_blocks(X: Rows, share: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return total weight, mean and covariance, centred block by block before multiplying."""
    n, d = n_rows(X), n_features(X)
    step = max(int(_BLOCK_BYTES / (8 * max(d, 1))), 1)
    state = ClassMoments(classes=[0])
    state._set_features(d)
    view = to_scipy(X)
    for lo in range(0, n, step):
        block = view[lo : lo + step]
        if sp.issparse(block):
            block = block.toarray()
        block = block.astype(np.float64)  # a copy, centred in place below
        q = share[lo : lo + step]
        t = float(q.sum())
        # shifting by a row first makes the mean of a constant feature exact
        origin = block[0].copy()
        block -= origin
        mean = (q / t) @ block
        block -= mean
        if not np.all(q == q[0]):
            block *= np.sqrt(q / t)[:, None]
            cov = block.T @ block
        else:
            cov = block.T @ block
            cov /= len(block)
        state._merge_class(0, t, origin + mean, cov)
    return float(state._counts[0]), state._means[0], state._covs[0]
