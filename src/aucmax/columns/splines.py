"""SplineFeatures: columns of numbers together with cubic splines, for nonlinear functions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from aucmax.basics.checks import check_array_of, number, refuse_collections, refuse_sizes
from aucmax.columns.functions import Feature
from aucmax.columns.sklearn_steps import spline_with_ends
from aucmax.columns.steps import Places, Step
from aucmax.data.columns import columns_in, values_at

__all__ = ["SplineFeatures", "basis"]

_HIGHEST_DEGREE = 1000  # of splines that are read from a file
_MIN_KNOT_GAP = 1e-150  # least distance of knots, by which splines divide
_MIN_VALUES = 4  # columns with no more different values are left unchanged


class SplineFeatures(TransformerMixin, BaseEstimator):
    """Add B-splines to each column of numbers, so that a linear model becomes additive.

    The score is then a sum of one smooth function of each column. Columns with up to four
    different values, for instance 0/1 features, are left unchanged. Beyond the smallest and the
    largest value of the training rows the splines are constant, and the functions continue as lines
    whose slope is the weight of the column itself.

    scikit-learn's `SplineTransformer` omits the columns themselves, so that a strong penalty
    makes each function constant, not linear; it has the same number of knots in every column, and
    several at the same place if values repeat; and model files cannot contain it.

    Parameters
    ----------
    n_knots : int
        Maximum number of knots of a column, at quantiles of its values; equal knots are merged.
    degree : int
        Degree of the polynomials between knots.

    Attributes
    ----------
    knots_ : list of ndarray
        Knots of each column; none if it is left unchanged.
    columns_ : tuple of Column
        The columns that are not plain numbers in files or data frames.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from aucmax import AUCClassifier
    >>> from aucmax.additive import SplineFeatures
    >>> x = np.linspace(-1, 1, 200)[:, None]
    >>> model = make_pipeline(SplineFeatures(), AUCClassifier()).fit(x, np.abs(x[:, 0]) > 0.5)
    >>> print(model.score(x, np.abs(x[:, 0]) > 0.5) > 0.95)
    True
    """

    def __init__(self, n_knots: int = 10, degree: int = 3) -> None:
        self.n_knots = n_knots
        self.degree = degree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the knots.

        Parameters
        ----------
        X : data frame, array or sparse matrix, shape (n, d)
            Numbers, without missing values.
        y : ignored

        Returns
        -------
        SplineFeatures
            The transformer itself.
        """
        for name, low in (("n_knots", 3), ("degree", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < low:
                raise ValueError(f"{name}={value!r} must be a whole number, {low} or more.")
        self.columns_ = columns_in(X)
        X = self._checked(X, reset=True)
        refuse_sizes(X)
        self.knots_ = [self._knots(values_at(X, j)) for j in range(X.shape[1])]
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns, then the splines of each, shape (n, number of features)."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        bent = [
            basis(values_at(X, j), knots, self.degree)
            for j, knots in enumerate(self.knots_)
            if len(knots)
        ]
        if sp.issparse(X):
            return sp.hstack([X, *bent], format="csr")
        return np.hstack([X, *(part.toarray() for part in bent)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features: the columns, then columns with a spline's number."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        bent = [
            f"{name}_sp{b}"
            for name, knots in zip(names, self.knots_, strict=True)
            for b in range(self.n_splines(knots))
        ]
        return np.array([*names, *bent], dtype=object)

    def n_splines(self, knots: NDArray[np.float64]) -> int:
        """Return the number of splines of a column with these knots."""
        return len(knots) + self.degree - 2 if len(knots) else 0

    # ---- inside --------------------------------------------------------------------------

    def _checked(self, X: Any, reset: bool) -> Any:
        refuse_collections(X)
        kinds = [np.float64, np.float32]
        return validate_data(self, X, reset=reset, accept_sparse="csc", dtype=kinds)

    def _knots(self, x: NDArray[Any]) -> NDArray[np.float64]:
        no_knots = np.empty(0)
        if len(np.unique(x)) <= _MIN_VALUES:
            return no_knots
        knots = np.unique(np.quantile(x.astype(np.float64), np.linspace(0, 1, self.n_knots)))
        knots = knots[np.append(True, np.diff(knots) > _MIN_KNOT_GAP)]
        return knots if len(knots) > 2 else no_knots

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have led to these knots."""
        if not hasattr(self, "knots_"):
            return
        number(self.degree, "degree", low=1, high=_HIGHEST_DEGREE, whole=True)
        if not isinstance(self.knots_, list) or len(self.knots_) != self.n_features_in_:
            raise ValueError("its knots are not those of its columns")
        for knots in self.knots_:
            check_array_of(knots, np.shape(knots), "knots")
            if knots.ndim != 1 or len(knots) in (1, 2) or (np.diff(knots) <= 0).any():
                raise ValueError("its knots are not ascending")


def basis(x: NDArray[Any], knots: NDArray[np.float64], degree: int) -> Any:
    """Return all B-splines at x but the last, which is redundant; constant beyond the knots.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Numbers.
    knots : ndarray, shape (k,)
        Increasing.
    degree : int
        The degree of the polynomials.

    Returns
    -------
    csr_array, shape (n, k + degree − 2)
        The values of the splines.
    """
    ends = np.repeat(knots[0], degree), np.repeat(knots[-1], degree)
    inside = np.clip(x.astype(np.float64), knots[0], knots[-1])
    full = BSpline.design_matrix(inside, np.concatenate([ends[0], knots, ends[1]]), degree)
    return full[:, :-1]


class _SplineFeatures(Step, of=[SplineFeatures]):
    file_types = (SplineFeatures,)
    results = ("knots_", "n_features_in_")
    encodes = True
    takes_tables = True

    def columns(self, columns: Places) -> Places:
        counts = [self.fitted.n_splines(knots) for knots in self.fitted.knots_]
        return np.append(columns, np.repeat(columns, counts))

    def features(self, features: list[Feature]) -> list[Feature]:
        with_splines, k = [*features], self.fitted.degree
        for feature, knots in zip(features, self.fitted.knots_, strict=True):
            count = self.fitted.n_splines(knots)
            t = np.concatenate([np.repeat(knots[:1], k), knots, np.repeat(knots[-1:], k)])
            for row in np.eye(count, count + 1):
                with_splines.append(feature.then(spline_with_ends(BSpline(t, row, k))))
        return with_splines
