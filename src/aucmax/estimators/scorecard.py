"""Scorecard: bins, a logistic regression of their weights of evidence, and points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, column_or_1d

from aucmax.basics.checks import number, weights_in_rows
from aucmax.columns.binning import Binning, Bins, TakesTables
from aucmax.estimators.card import ShownEstimator
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.probabilities import Sigmoid

__all__ = ["Scorecard"]

_MAX_POINTS = 1e12  # all whole numbers up to it, and sums of them, are exact


class Scorecard(TakesTables, ClassifierMixin, ShownEstimator):
    """A table of points for the bins of each column, which add up to a score.

    `Binning` replaces each value by the weight of evidence of its bin; logistic regression weights
    the columns, with no weight below 0, so that the points follow the rates of the bins. The
    points of a row are base_points + pdo · log2(odds / base_odds), with the odds of the negative
    label: the more points, the less likely the positive label, such as a default.

    Parameters
    ----------
    binning : Binning, optional
        By default ``Binning()``; its ``positive`` is set by the scorecard.
    classifier : estimator, optional
        A classifier whose scores are log odds, with ``coef_`` and ``intercept_``; by default
        ``AUCClassifier(loss="logistic", within="pooled", coef_bounds=(0, None))`` with a small
        penalty.
    pdo : float
        The points that double the odds.
    base_points : float
        Points of a row with the odds ``base_odds``.
    base_odds : float
        Odds of the negative label, such as 50 to 1.
    positive : label, optional
        The positive label; by default the larger of the two.

    Attributes
    ----------
    binning_ : Binning
        The bins of each column.
    classifier_ : estimator
        Fitted to the weights of evidence.
    points_ : list of ndarray
        Points of the bins of each column, whole numbers; gaps come last. See `rows`.
    other_points_ : list of float
        For each column, the points of a word that is in no bin.
    classes_ : ndarray, shape (2,)
        The negative and the positive label.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    target_name_ : str
        The name of y, if it had one.

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax.additive import Scorecard
    >>> x = np.repeat([20.0, 30.0, 40.0, np.nan], 50)[:, None]
    >>> y = np.tile([1, 0, 0, 0, 0], 40)
    >>> y[:25] = 1
    >>> card = Scorecard(base_points=500, base_odds=1).fit(x, y)
    >>> for row in card.rows():
    ...     print(row["bin"], row["rows"], row["points"])
    < 30 50.0 488
    ≥ 30 100.0 540
    missing 50.0 540
    >>> print(card.points([[25.0], [35.0]]))
    [488. 540.]
    """

    def __init__(
        self,
        binning: Any = None,
        classifier: Any = None,
        *,
        pdo: float = 20.0,
        base_points: float = 600.0,
        base_odds: float = 50.0,
        positive: Any = None,
    ) -> None:
        self.binning = binning
        self.classifier = classifier
        self.pdo = pdo
        self.base_points = base_points
        self.base_odds = base_odds
        self.positive = positive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the bins, weight the columns and assign points.

        Parameters
        ----------
        X : data frame, array or sparse matrix, shape (n, d)
            Numbers, or words; None and NaN are gaps.
        y : array-like, shape (n,)
            Labels of two classes.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows, in any unit.

        Returns
        -------
        Scorecard
            The scorecard itself.
        """
        number(self.pdo, "pdo", open_low=True, high=_MAX_POINTS)
        number(self.base_points, "base_points", low=-_MAX_POINTS, high=_MAX_POINTS)
        number(self.base_odds, "base_odds", open_low=True)
        if not isinstance(self.binning, Binning | None):
            raise ValueError(f"binning={self.binning!r} must be a Binning.")
        self.__dict__.pop("target_name_", None)
        if isinstance(name := getattr(y, "name", None), str):
            self.target_name_ = name
        binning = Binning() if self.binning is None else clone(self.binning)
        self.binning_ = binning.set_params(positive=self.positive).fit(X, y, sample_weight)
        self.n_features_in_ = binning.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(binning, "feature_names_in_"):
            self.feature_names_in_ = binning.feature_names_in_
        self.classes_ = binning.classes_
        classifier = _default() if self.classifier is None else clone(self.classifier)
        y = column_or_1d(y) == self.classes_[1]
        weight = weights_in_rows(sample_weight, len(y))
        if not weight.all():
            weighted = np.flatnonzero(weight)
            X, y, weight = _safe_indexing(X, weighted), y[weighted], weight[weighted]
        self.classifier_ = classifier.fit(binning.transform(X), y, sample_weight=weight)
        if not (hasattr(self.classifier_, "coef_") and hasattr(self.classifier_, "intercept_")):
            raise ValueError(
                f"classifier={self.classifier!r} must be linear, with coef_ and intercept_."
            )
        self.classifier_.calibration_ = Sigmoid(1.0, 0.0)  # its scores are log odds
        self._give_points()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log odds of the positive label, shape (n,); unlike points, not rounded."""
        check_is_fitted(self)
        return np.asarray(self.classifier_.decision_function(self.binning_.transform(X)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (n, 2), in the order of ``classes_``.

        They come from the fitted log odds. Bins and weights are fitted to the same labels, so with
        few rows they are overconfident.

        Parameters
        ----------
        X : data frame, array or sparse matrix, shape (n, d)
            Rows, as in the fit.
        """
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more likely label of each row, shape (n,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def points(self, X: Any) -> NDArray[np.float64]:
        """Return the points of each row, shape (n,): the fewer, the more likely it is positive."""
        check_is_fitted(self)
        codes = self.binning_.codes(X)
        tables = zip(self.points_, self.other_points_, strict=True)
        return sum(
            np.append(points, other_points)[code]
            for code, (points, other_points) in zip(codes, tables, strict=True)
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the table, bin by bin; a list of them makes a data frame.

        Yields
        ------
        dict
            feature, bin, rows, share, positives, rate, woe and points. A bin of gaps is left out
            if training had none. With weights, counts are effective numbers, see `Binning`.
        """
        check_is_fitted(self)
        for bins, points in zip(self.binning_.bins_, self.points_, strict=True):
            total = bins.counts.sum()
            n_bins = len(points) if bins.counts[-1].any() else len(points) - 1
            for k in range(n_bins):
                rows = float(bins.counts[k].sum())
                yield {
                    "feature": bins.name,
                    "bin": bins.labels[k],
                    "rows": rows,
                    "share": rows / float(total),
                    "positives": float(bins.counts[k, 1]),
                    "rate": float(bins.counts[k, 1]) / rows if rows else np.nan,
                    "woe": float(bins.woe[k]),
                    "points": int(points[k]),
                }

    # ---- inside --------------------------------------------------------------------------

    def _give_points(self) -> None:
        """Divide the points of the intercept among the columns, and round."""
        factor = self.pdo / np.log(2.0)
        coef = np.ravel(self.classifier_.coef_)
        middle = self.base_points - factor * (
            float(np.ravel(self.classifier_.intercept_)[0]) + np.log(self.base_odds)
        )
        share = middle / len(coef)
        tables: list[Bins] = self.binning_.bins_
        self.points_ = [
            np.round(share - factor * w * bins.woe) for w, bins in zip(coef, tables, strict=True)
        ]
        self.other_points_ = [float(np.round(share))] * len(coef)

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have left these points."""
        bins = getattr(getattr(self, "binning_", None), "bins_", [])
        points = getattr(self, "points_", [])
        if [len(b.counts) for b in bins] != [len(p) for p in points]:
            raise ValueError("its points are not those of its bins")
        if len(getattr(self, "other_points_", [])) != len(points):
            raise ValueError("its points are not those of its columns")
        if not hasattr(self, "points_"):
            return
        if not all(np.isfinite(p).all() for p in [*points, self.other_points_]):
            raise ValueError("its points contain NaN or infinite numbers")
        for name in ("classes_", "n_features_in_"):
            if not np.array_equal(getattr(self, name, ()), getattr(self.binning_, name)):
                raise ValueError(f"its {name} are not those of its bins")
        if np.size(self.classifier_.coef_) != len(bins):
            raise ValueError("its weights are not those of its bins")


def _default() -> AUCClassifier:
    return AUCClassifier(
        alpha=1e-4, loss="logistic", within="pooled", standardize=0.0, coef_bounds=(0, None)
    )
