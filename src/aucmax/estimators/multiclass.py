"""More than two classes: a score for each, from models of two classes at a time."""

from collections.abc import Iterator
from itertools import combinations, repeat
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from aucmax.basics.checks import check_array_of, check_labels
from aucmax.data.rows import as_rows
from aucmax.data.rows.products import scores
from aucmax.data.rows.source import Part, Source, opened
from aucmax.estimators.card import ShownEstimator
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.labelling import (
    checked,
    input_names,
    record_names,
    restore_names,
    unchanged_on_error,
    with_names_of,
)
from aucmax.objective import MAX_MATRIX_FEATURES
from aucmax.objective.problem import ANY_MOMENTS
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.moments import ClassMoments

__all__ = ["MulticlassAUCClassifier"]

_SCHEMES = ("ovr", "ovo")


def _goes_on(self: "MulticlassAUCClassifier") -> bool:
    if self._by_moments():
        return True
    raise AttributeError("only models fitted from class moments can continue with other rows.")


def _gives_probabilities(self: "MulticlassAUCClassifier") -> bool:
    if self.scheme == "ovr" and getattr(self.estimator, "probability", False):
        return True
    raise AttributeError("probabilities need scheme='ovr' with AUCClassifierCV(probability=True).")


class MulticlassAUCClassifier(ClassifierMixin, ShownEstimator):
    """Scores for each of K classes; a higher score means "more likely that class".

    Each class is ranked against all others, or against each of the others in turn. With the square
    loss and up to 1500 features, all these models come from one set of K class moments, in one pass
    over the data for any K; rows can be added and forgotten, and shards merged.

    Parameters
    ----------
    estimator : AUCClassifier, AUCClassifierCV or another linear scorer, optional
        The binary model to fit; by default `AUCClassifier`.
    scheme : {"ovr", "ovo"}
        "ovr" fits a model of each class against the rest. "ovo" fits one for each pair of classes;
        the score of a class is the mean of its scores against the others.

    Attributes
    ----------
    classes_ : ndarray, shape (K,)
        The labels in ascending order.
    coef_, intercept_ : ndarray, shape (K, d) and (K,)
        For the score of each class; for two classes (1, d) and (1,), as for `AUCClassifier`.
    estimators_ : list
        The fitted models with labels −1 and 1: one for each class (for two classes, only that of
        the second); with "ovo" one for each pair, (1, 0), (2, 0), …, (2, 1), …, whose first class
        is positive. None if a declared class has no rows.
    moments_ : ClassMoments
        The moments of the K classes, if the models were fitted from them.
    target_name_ : str
        The name of y, if it had one.

    See Also
    --------
    aucmax.metrics.multiclass_auc : The AUC of such scores.

    Notes
    -----
    With "ovr" the predicted label is that with the highest score. Scores of different models are
    comparable: each is 0 midway between the mean scores of its two classes, and the square loss
    makes the distance between these about 1, its margin.

    References
    ----------
    Hand & Till (2001), "A simple generalisation of the area under the ROC curve for multiple class
    classification problems": one against one. Provost & Domingos (2000), "Well-trained PETs": one
    against the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from aucmax import MulticlassAUCClassifier, metrics
    >>> X, y = load_wine(return_X_y=True)
    >>> clf = MulticlassAUCClassifier().fit(X, y)
    >>> clf.decision_function(X).shape
    (178, 3)
    >>> metrics.multiclass_auc(y, clf.decision_function(X)) > 0.99
    True
    """

    classes_: np.ndarray
    coef_: np.ndarray
    intercept_: np.ndarray

    def __init__(self, estimator: Any = None, scheme: str = "ovr") -> None:
        self.estimator = estimator
        self.scheme = scheme

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- fitting -------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the models of all classes.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d), or Source
            Finite numbers. A source has its own labels and weights, and is read once; this needs
            the square loss and at most 1500 features.
        y : array-like, shape (n,)
            Labels of two or more classes.
        sample_weight : array-like, shape (n,), optional
            Non-negative; rows of weight zero are left out.

        Raises
        ------
        ValueError
            For only one class, or input that the estimator does not support. The model stays as it
            was.
        """
        self._check()
        X, y, sample_weight = opened(X, y, sample_weight)
        if isinstance(X, Source):
            if y is not None or sample_weight is not None:
                X = X.with_labels(y, sample_weight)
            if not self._by_moments():
                raise ValueError("a Source needs the square loss and a solver that takes moments.")
            return self.fit_moments(ClassMoments.from_data(X))
        with unchanged_on_error(self):
            X, y, weight = checked(self, X, y, sample_weight, reset=True, whole=True)
            if self._by_moments() and X.shape[1] <= MAX_MATRIX_FEATURES:
                moments = ClassMoments().add_rows(as_rows(X), y, weight)
                models = self._from_moments(with_names_of(self, moments))
            else:
                models = self._from_rows(X, y, weight)
        return self._keep(*models)

    def fit_moments(self, moments: ClassMoments) -> Self:
        """Fit the models of all classes to class moments alone.

        Parameters
        ----------
        moments : ClassMoments
            Moments of two or more classes, each with weight.
        """
        self._check()
        if not self._by_moments():
            raise ValueError(
                f"{self._model()!r} cannot be fitted to moments; use AUCClassifier with the square "
                "loss and solver='auto'."
            )
        models = self._from_moments(moments.copy())
        record_names(self, moments)
        return self._keep(*models)

    @available_if(_goes_on)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more rows; the result is that of one fit to all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All possible labels, at the first call. A label without rows so far gets the score −1
            for every row. By default the first rows must have at least two classes, and later rows
            may add more.
        """
        if classes is not None:
            classes = np.unique(classes)
            if hasattr(self, "classes_") and not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"classes={classes.tolist()} differ from the known ones, "
                    f"{self.classes_.tolist()}."
                )
        return self._moved(X, y, sample_weight, 1, classes)

    @available_if(_goes_on)
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows from the model exactly, as if they had never been seen.

        Parameters
        ----------
        X, y, sample_weight
            Rows the models were fitted to, with the weights they had.
        """
        check_is_fitted(self)
        return self._moved(X, y, sample_weight, -1)

    # ---- use -----------------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class, shape (n, K); for two, that of the second, shape (n,).

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d), or Source
            Rows; the parts of a source are scored one after another.
        """
        check_is_fitted(self)
        X, _, _ = opened(X)
        if isinstance(X, Source):
            bare = MulticlassAUCClassifier()  # the part that is sent to workers
            restore_names(bare, input_names(self))
            bare.classes_, bare.coef_, bare.intercept_ = self.classes_, self.coef_, self.intercept_
            return np.concatenate(list(X.each(_scores_of_part, repeat(()), (bare,))))
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        margins = scores(as_rows(X), np.ascontiguousarray(self.coef_.T)) + self.intercept_
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of the highest score, shape (n,)."""
        margins = self.decision_function(X)
        best = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        return self.classes_[best]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (n, K).

        They are the probabilities of each class against the rest, divided by their sum. They need
        ``AUCClassifierCV(probability=True)`` with "ovr".

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d)
            Rows.
        """
        margins = self.decision_function(X)
        if margins.ndim == 1:
            positive = self.estimators_[0].calibration_(margins)
            return np.column_stack([1.0 - positive, positive])
        models = zip(self.estimators_, margins.T, strict=True)
        shares = np.column_stack([model.calibration_(score) for model, score in models])
        shares[~shares.any(axis=1)] = 1.0  # no class is likely
        return shares / shares.sum(axis=1, keepdims=True)

    # ---- inside --------------------------------------------------------------------------

    def check_state(self) -> None:
        """Raise ValueError, saying what is wrong, unless a fit could have left these attributes."""
        self._check()
        if not hasattr(self, "coef_"):
            return
        d, classes = getattr(self, "n_features_in_", None), getattr(self, "classes_", np.empty(0))
        if type(d) is not int:
            raise ValueError("its number of features is not a whole number")
        check_labels(classes, None, d)
        models = 1 if np.size(classes) == 2 else np.size(classes)
        check_array_of(self.coef_, (models, d), "coefficients")
        check_array_of(getattr(self, "intercept_", None), (models,), "intercepts")
        moments = getattr(self, "moments_", None)
        if moments is not None and moments.n_features != d:
            raise ValueError("its moments are those of another number of features")

    def _check(self) -> None:
        if self.scheme not in _SCHEMES:
            raise ValueError(f"scheme must be 'ovr' or 'ovo'; got {self.scheme!r}.")

    def _model(self) -> Any:
        return AUCClassifier() if self.estimator is None else clone(self.estimator)

    def _by_moments(self) -> bool:
        """Whether the models come from class moments."""
        model = self._model()
        if not isinstance(model, AUCClassifier):
            return False
        try:
            model.settings(ANY_MOMENTS)
        except ValueError:
            return False
        return True

    def _sides(self, K: int) -> Iterator[np.ndarray]:
        """Yield, for each model, the side of each of the K classes: −1, 0 or 1."""
        places = np.arange(K)
        if self.scheme == "ovo":
            for a, b in combinations(places, 2):
                yield (places == b) * 1.0 - (places == a)
            return
        for k in places[-1:] if K == 2 else places:
            yield np.where(places == k, 1.0, -1.0)

    def _from_moments(self, moments: ClassMoments) -> tuple[np.ndarray, list[Any], Any]:
        present, models = moments.counts > 0, []
        classes = moments.classes
        if not moments.declared:
            classes = _with_weight(classes, moments.counts)
        for side in self._sides(len(classes)):
            mine = np.isin(moments.classes, classes[side != 0]) & present
            sides = side[np.isin(classes, moments.classes[mine])]
            model = None
            if len(np.unique(sides)) == 2:
                two = moments.among(moments.classes[mine]).relabelled(sides)
                model = self._model().fit_moments(two)
            models.append(model)
        return classes, models, moments

    def _from_rows(
        self, X: Any, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray, list[Any], Any]:
        labels, code = np.unique(y, return_inverse=True)
        totals = np.bincount(code, weight, len(labels))
        classes = _with_weight(labels, totals)
        models = []
        for side in self._sides(len(classes)):
            sides = np.zeros(len(labels))
            sides[totals > 0] = side
            sign = sides[code]
            rows = np.flatnonzero(sign)
            mine = (X, sign, weight)
            if len(rows) < len(sign):
                mine = (X[rows], sign[rows], None if weight is None else weight[rows])
            try:
                models.append(self._model().fit(*mine))
            except ValueError as error:
                raise ValueError(f"{_sides_in_words(classes, side)}: {error}") from None
        return classes, models, None

    def _keep(self, classes: np.ndarray, models: list[Any], moments: Any) -> Self:
        K = len(classes)
        coef = np.zeros((K, self.n_features_in_))
        intercept = np.zeros(K)
        for side, model in zip(self._sides(K), models, strict=True):
            share = (side > 0) * 1.0 if self.scheme == "ovr" else side / (K - 1)
            if model is None:  # a declared class has no rows yet
                intercept += share * np.where(moments.counts[side > 0].any(), 1.0, -1.0)
                continue
            coef += np.outer(share, model.coef_[0])
            intercept += share * model.intercept_[0]
        self.__dict__.pop("moments_", None)
        if moments is not None:
            self.moments_ = moments
        self.classes_, self.estimators_ = classes, models
        self.coef_, self.intercept_ = (coef, intercept) if K > 2 else (coef[1:], intercept[1:])
        return self

    def _moved(self, X: Any, y: Any, sample_weight: Any, sign: int, declared: Any = None) -> Self:
        """Add rows to the moments or remove them, and fit again."""
        self._check()
        is_first = not hasattr(self, "classes_")
        if not is_first and not hasattr(self, "moments_"):
            raise ValueError("this model keeps no moments, so it cannot continue with other rows.")
        with unchanged_on_error(self):
            X, y, weight = checked(self, X, y, sample_weight, reset=is_first, whole=is_first)
            if declared is None and not is_first and self.moments_.declared:
                declared = self.moments_.classes
            rows: ClassStatistics = ClassMoments(declared).add_rows(as_rows(X), y, weight)
            if not is_first:
                rows = self.moments_ + rows if sign > 0 else self.moments_ - rows
            models = self._from_moments(rows)  # type: ignore[arg-type]
        return self._keep(*models)


def _scores_of_part(part: Part, model: MulticlassAUCClassifier) -> np.ndarray:
    """Return the scores of a part, which may have no rows."""
    if part.X.shape[0] == 0:
        return np.zeros((0, len(model.classes_)) if len(model.classes_) > 2 else 0)
    return model.decision_function(part.X)


def _sides_in_words(classes: np.ndarray, side: np.ndarray) -> str:
    """Return the classes that a model separates, for messages."""
    against = "the rest" if (side != 0).sum() > 2 else f"class {classes[side < 0].tolist()[0]!r}"
    return f"class {classes[side > 0].tolist()[0]!r} against {against}"


def _with_weight(classes: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the classes with weight; raise ValueError if there are fewer than two."""
    if not totals.any():
        raise ValueError("sample_weight is zero for every row; give some rows a weight.")
    classes = classes[totals > 0]
    if len(classes) < 2:
        raise ValueError(
            f"y holds only one class ({', '.join(map(repr, classes.tolist()))}); ranking needs "
            "rows of two classes."
        )
    return classes
