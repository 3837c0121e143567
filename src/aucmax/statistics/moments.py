"""Class moments: counts, means and covariances of K classes, as a monoid.

The pairwise square loss depends on the data only through these. They add, subtract and scale, so
models from different machines combine exactly and rows can be forgotten. For each class, the total
weight T, mean c and biased covariance S are kept. One row is added by

    c ← c + (x − c)/T,    S ← (1 − 1/T) S + ((T − 1)/T²)(x − c)(x − c)ᵀ,

and the code below uses the block form (Chan, Golub & LeVeque 1983; Gao et al. 2013).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from aucmax.basics.archive import ArraySpec
from aucmax.basics.checks import number
from aucmax.data.rows import CSR, Rows, to_scipy
from aucmax.data.rows.products import CANCELLED, dense_gram, dense_rows, is_sparse, sparse_gram
from aucmax.data.strata import StrataWeight, check_strata_weight
from aucmax.statistics.base import ClassStatistics, Part, members
from aucmax.statistics.strata import SeenFromStrata
from aucmax.statistics.subtraction import Remainder, is_covariance, not_there

__all__ = ["ClassMoments", "block_moments"]

_CENTRE_ROWS = 64  # rows whose mean is close enough to the mean of all rows
_MAX_MEAN_SHARE = 0.99  # share of mean² in the second moment up to which mean² can be subtracted
_UNMIXED_ROUNDING = 1e-12  # relative to the variances of the two mixed classes
_MAX_ASYMMETRY = 1e-6  # rounding error of a covariance, relative to the variances


class ClassMoments(ClassStatistics):
    """Weighted counts, means and covariances of K classes.

    An empty object takes its features and classes from the first data; ``empty + a == a``.

    Parameters
    ----------
    classes : sequence of labels, optional
        The allowed labels; others raise ValueError. By default all labels are allowed.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the first data frame.

    Attributes
    ----------
    classes : ndarray, shape (K,)
        Sorted labels.
    counts : ndarray, shape (K,)
        Total sample weight of each class.
    means : ndarray, shape (K, d)
        Class means, in the units of the features.
    covs : ndarray, shape (K, d, d)
        Biased class covariances (divided by the count), in the units of the features squared.

    References
    ----------
    Chan, Golub & LeVeque (1983), "Algorithms for computing the sample variance".
    Gao, Jin, Zhu & Zhou (2013), "One-pass AUC optimization".
    """

    kind = "moments"
    has_covariances = True

    @classmethod
    def from_query(
        cls,
        frame: Any,
        target: str,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        strata: str | None = None,
        strata_weight: StrataWeight = "positives",
    ) -> Self:
        """Compute the moments of a table in place: in a database, a cluster, a lazy frame.

        A first query computes counts, means and ranges of the classes, a second the products of
        deviations from the means. With more than 200 features, with more than 20 in DuckDB and
        Polars, and for a frame in memory, batches of rows are read instead, which is faster.
        Memory use is small in all cases, whatever the number of rows.

        Parameters
        ----------
        frame : frame or relation
            Any that narwhals supports: Polars (lazy or not), DuckDB, PySpark, Dask, Ibis, pandas,
            Arrow.
        target : str
            The column of labels, with two values, of any type that can be ordered.
        features : sequence of str, optional
            Columns of numbers or booleans; by default all other columns.
        weight : str, optional
            The column of sample weights.
        strata : str, optional
            The column of strata, of any type: only rows of the same stratum are compared. The rows
            are grouped in place; only a label and two numbers for each stratum are read.
        strata_weight : {"positives", "pairs", "strata"}
            As for `update`.

        Returns
        -------
        ClassMoments
            The same as from `from_data` for these rows, up to rounding, with the names of the
            columns.

        Raises
        ------
        ValueError
            If a column is missing, is not numeric, has missing, NaN or infinite values (the message
            counts them), or has integers or decimals with more digits than double precision;
            or if the target does not have two values, or rows have no stratum.
        ImportError
            If narwhals is not installed: ``pip install 'aucmax[query]'``.

        Examples
        --------
        >>> import polars as pl
        >>> from aucmax import ClassMoments
        >>> rows = pl.LazyFrame({"age": [41, 35, 60, 72], "ill": ["no", "no", "yes", "yes"]})
        >>> ClassMoments.from_query(rows, target="ill")
        ClassMoments(1 features, {no: 2, yes: 2})
        """
        from aucmax.statistics.query import Queried, query

        check_strata_weight(strata_weight)
        answer = query(frame, target, features, weight, strata, strata_weight)
        moments = cls(feature_names=answer.feature_names)
        if isinstance(answer, Queried):
            moments.strata = answer.strata
            moments._parts = moments._blank(0, moments.n_features)
            moments._grow(np.array(answer.labels), moments.n_features)
            for label, part in answer.classes:
                moments._add(label, part)
        else:
            moments._grow(np.array(answer.labels or []), moments.n_features)
            for X, y, w, of_rows in answer.rows:
                moments.update(X, y, w, of_rows, strata_weight)
        moments.target_name = target
        if moments.strata is not None:
            moments.strata = replace(moments.strata, column=strata)
        return moments

    @property
    def covs(self) -> np.ndarray:
        """Biased class covariances, shape (K, d, d); zero for a class without rows."""
        return self._parts["covariances"]

    @property
    def variances(self) -> np.ndarray:
        """Biased variances of each feature in each class, shape (K, d)."""
        return np.einsum("kjj->kj", self.covs)

    @property
    def cov_pos(self) -> np.ndarray:
        """Covariance of the larger label, shape (d, d)."""
        return self._of(1, "covariances")

    @property
    def cov_neg(self) -> np.ndarray:
        """Covariance of the smaller label, shape (d, d)."""
        return self._of(0, "covariances")

    def mapped(self, T: Any) -> "ClassMoments":
        """Return the moments of Tᵀx, as if rows had been mapped before they were added.

        With strata, J is the same, and the strata are kept; but the spread within strata is not
        known for sums of features, and is replaced by that of the rows as weighted by strata.

        Parameters
        ----------
        T : ndarray or sparse matrix, shape (d, k)
        """
        covariances = np.array([T.T @ (T.T @ covariance).T for covariance in self.covs])
        k = np.arange(covariances.shape[1])
        covariances[:, k, k] = np.maximum(covariances[:, k, k], 0.0)  # rounding can lower it
        if self.strata is None:
            return self._with(self.means @ T, covariances)
        features = self._with(self._parts["means"] @ T, covariances)
        features.strata, own = self.strata, self._parts["own"]
        scatter = own[:, None] * features.variances
        origins = self._parts["origins"] @ T
        features._parts |= {"origins": origins, "scatter": scatter, "own": own}
        return features

    def scaled(self, factor: np.ndarray) -> "ClassMoments":
        """Return the moments of the first k features, multiplied by factors (k,).

        With strata, here and below, the result is the moments of two classes without strata that
        have the same means and the same J.

        Parameters
        ----------
        factor : ndarray, shape (k,)
        """
        k = len(factor)
        covariances = self.covs[:, :k, :k] * factor
        covariances *= factor[:, None]
        return self._with(self.means[:, :k] * factor, covariances)

    def joined(self, other: "ClassMoments", cross: np.ndarray) -> "ClassMoments":
        """Return the moments of these features and of others of the same rows.

        Parameters
        ----------
        other : ClassMoments
            The moments of k features.
        cross : ndarray, shape (K, d, k)
            The covariances between both sets of features in each class.
        """
        covariances = [
            np.block([[own, between], [between.T, theirs]])
            for own, between, theirs in zip(self.covs, cross, other.covs, strict=True)
        ]
        return self._with(np.hstack([self.means, other.means]), np.array(covariances))

    def unmixed(self, prior: float) -> "ClassMoments":
        """Return the moments of positives and negatives, from those of positives and unlabelled.

        Parameters
        ----------
        prior : float
            π, the share of positives among the unlabelled rows (the smaller label), from 0 to below
            1. The labelled positives (the larger label) must be a random sample of all positives.

        Returns
        -------
        ClassMoments
            The weight of the negatives is 1 − π times that of the unlabelled rows. The result can
            only be added to other unmixed moments: add rows before.

        Raises
        ------
        ValueError
            If these are not two classes with weights above 0, or if a combination of features of
            the negatives would have a negative variance: then π is too large, or the labelled
            positives are not such a sample.

        Notes
        -----
        μ₋ and Σ₋ follow from μ_U = πμ₊ + (1−π)μ₋ and Σ_U = πΣ₊ + (1−π)Σ₋ + π(1−π)δδᵀ, δ = μ₊ − μ₋.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> ill, labelled = rng.random(9_000) < 0.3, rng.random(9_000) < 0.5
        >>> X = rng.normal(size=(9_000, 1)) + 2.0 * ill[:, None]
        >>> moments = ClassMoments.from_data(X, ill & labelled)
        >>> print("{:.1f}, {:.1f}".format(moments.means[0, 0], moments.unmixed(0.176).means[0, 0]))
        0.4, -0.0
        """
        number(prior, "prior", high=1.0, open_high=True)
        if len(self.classes) != 2 or self.counts.min() <= 0.0 or self.strata is not None:
            raise ValueError(
                "unmixed needs moments of labelled positives and unlabelled rows, without strata; "
                f"these are {self!r}."
            )
        if self.is_unmixed:
            raise ValueError("these moments are already unmixed; use those of the rows.")
        (of_unlabelled, of_positives), (cov_unlabelled, cov_positives) = self.means, self.covs
        rest = 1.0 - prior
        delta = (of_positives - of_unlabelled) / rest
        cov = (cov_unlabelled - prior * cov_positives) / rest - prior * np.outer(delta, delta)
        size = (np.einsum("jj->j", cov_unlabelled) + np.einsum("jj->j", cov_positives)) / rest
        if np.any(np.diag(cov) < 0.0) or not is_covariance(cov, _UNMIXED_ROUNDING * size):
            raise ValueError(
                f"with prior={prior:g} a combination of features of the negatives would have a "
                "negative variance: the prior is too large, or the labelled positives are not a "
                "random sample of all."
            )
        unmixed = self.copy()
        unmixed.is_unmixed = True
        unmixed._parts["counts"][0] *= rest
        unmixed._parts["squares"][0] *= rest
        unmixed._parts["means"][0], unmixed._parts["covariances"][0] = of_positives - delta, cov
        return unmixed

    # ---- inside --------------------------------------------------------------------------

    def _with(self, means: np.ndarray, covariances: np.ndarray) -> "ClassMoments":
        """Return the moments of other features of the same rows."""
        features = self.empty(self.classes)
        features._d, features._declared = means.shape[1], self._declared
        features.target_name, features.guarantee = self.target_name, self.guarantee
        features.is_unmixed, features.positive = self.is_unmixed, self.positive
        weights = {name: self._parts[name] for name in ("counts", "squares")}
        features._parts = weights | {"means": means, "covariances": covariances}
        return features

    def _shapes(self, d: int) -> dict[str, tuple[int, ...]]:
        return super()._shapes(d) | {"covariances": (d, d)}

    def _reordered(self, order: np.ndarray) -> dict[str, np.ndarray]:
        parts = super()._reordered(order)
        return parts | {"covariances": np.ascontiguousarray(parts["covariances"][:, order])}

    def _measure(self, X: Rows, rows: np.ndarray, share: np.ndarray) -> Part:
        return block_moments(X, rows, share)

    def _measure_seen(self, seen: SeenFromStrata, side: int) -> Part:
        share, (mean, cov) = seen.share[seen.positive == bool(side)], seen.moments(side)
        weights = {"counts": seen.weight[side], "squares": share @ share}
        return weights | {"means": mean, "covariances": cov}

    def _variance(self, part: Part) -> np.ndarray:
        return np.einsum("jj->j", part["covariances"])

    def _join(self, mine: Part, part: Part) -> None:
        # S ← (T S + t S′)/(T+t) + (T t/(T+t)²) gap gapᵀ, in place
        S, T, t = mine["covariances"], mine["counts"], part["counts"]
        gap = part["means"] - mine["means"]
        S *= T / (T + t)
        S += (t / (T + t)) * part["covariances"]
        root = np.sqrt(T / (T + t) * (t / (T + t))) * gap  # an outer square keeps S symmetric
        S += np.outer(root, root)

    def _leave(self, mine: Part, part: Part, remains: Remainder, label: Any) -> None:
        S, T, t = mine["covariances"], mine["counts"], part["counts"]
        if remains.weight == 0.0:
            scale = np.sqrt(remains.rounding)
            if np.any(np.abs(S - part["covariances"]) > np.multiply.outer(scale, scale)):
                raise not_there(f"all rows of class {label!r} have other covariances")
            S[...] = 0.0
            return
        S *= T / remains.weight
        S -= (t / remains.weight) * part["covariances"]
        root = np.sqrt(t / T) * remains.gap
        S -= np.outer(root, root)
        S[np.diag_indices(len(S))] = remains.variance
        if not is_covariance(S, remains.rounding):
            raise not_there(
                f"a combination of features of class {label!r} would be left with a negative "
                "variance"
            )

    def _make_constant(self, mine: Part, constant: np.ndarray) -> None:
        mine["covariances"][constant] = mine["covariances"][:, constant] = 0.0

    def _packed(self) -> dict[str, np.ndarray]:
        # (K, d, d) is symmetric: its lower triangles are enough
        rows, cols = np.tril_indices(self.n_features)
        lower = self.covs[:, rows, cols]
        arrays = {name: part for name, part in self._parts.items() if name != "covariances"}
        return arrays | {"lower": lower}

    def _packed_specs(self, d: int) -> dict[str, ArraySpec]:
        specs = self._specs(d)
        lower = specs.pop("covariances")._replace(shape=("classes", d * (d + 1) // 2))
        return specs | {"lower": lower}

    def _unpacked(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        lower = arrays.pop("lower")
        K, d = arrays["means"].shape
        rows, cols = np.tril_indices(d)
        covs = np.zeros((K, d, d))
        covs[:, rows, cols] = covs[:, cols, rows] = lower
        return arrays | {"covariances": covs}

    def check_state(self) -> None:
        super().check_state()
        for label, S in zip(self._classes.tolist(), self.covs, strict=True):
            variance = np.einsum("jj->j", S)
            if np.any(variance < 0.0):
                raise ValueError(f"class {label!r} has a negative variance")
            scale = np.sqrt(variance)
            near = _MAX_ASYMMETRY * np.outer(scale, scale) + 1e-13 * np.max(variance, initial=0.0)
            if np.any(np.abs(S - S.T) > near):
                raise ValueError(f"the covariance of class {label!r} is not symmetric")


def block_moments(X: Rows, rows: np.ndarray, share: np.ndarray) -> Part:
    """Return total weight, mean and biased covariance of rows with positive weights."""
    if isinstance(X, CSR) and is_sparse(X):
        class_rows = members(X, rows)
        total = float(share.sum())
        s = share / total
        mean = np.asarray(to_scipy(class_rows).T @ s)
        cov = sparse_gram(class_rows, s)  # type: ignore[arg-type]
        second = np.einsum("jj->j", cov).copy()
        cov -= np.outer(mean, mean)
        variance = np.maximum(np.einsum("jj->j", cov), 1e-14 * second)
        # else a nearly full column far from zero has lost its digits
        if np.all(mean**2 <= CANCELLED * variance):
            return {"counts": total, "squares": share @ share, "means": mean, "covariances": cov}
    return _about_their_mean(X, rows, share)


def _about_their_mean(X: Rows, rows: np.ndarray, share: np.ndarray) -> Part:
    """Return `block_moments` from squares about a point near the mean, to avoid cancellation."""
    total = float(share.sum())
    s = share / total
    first_rows, q = rows[:_CENTRE_ROWS], share[:_CENTRE_ROWS] / share[:_CENTRE_ROWS].sum()
    dense, places = dense_rows(X, first_rows)
    # the mean of the first rows, exact for constant features
    origin = dense[places[0]].astype(np.float64)
    origin += q @ (dense[places] - origin)
    cov, mean = dense_gram(X, rows, s, origin)
    if not np.all(mean**2 <= _MAX_MEAN_SHARE * np.einsum("jj->j", cov)):
        origin += mean
        cov, mean = dense_gram(X, rows, s, origin)
    cov -= np.outer(mean, mean)
    squares = float(share @ share)
    return {"counts": total, "squares": squares, "means": origin + mean, "covariances": cov}
