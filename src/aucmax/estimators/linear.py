"""The bases of the linear models and of the linear classifiers: scoring."""

import copy
from collections.abc import Iterator
from itertools import repeat, zip_longest
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_n_features, check_array, check_is_fitted, validate_data

from aucmax.basics.checks import check_array_of, check_labels, naming_columns
from aucmax.data.digests import RowDigests
from aucmax.data.rows import as_rows
from aucmax.data.rows.products import scores
from aucmax.data.rows.source import OnPart, Part, Source, opened, opened_with_labels
from aucmax.estimators.card import ShownEstimator
from aucmax.estimators.labelling import input_names, restore_names
from aucmax.estimators.probabilities import Calibration, Sigmoid
from aucmax.statistics.score_sketch import ScoreSketch

__all__ = ["LinearModel", "LinearScorer", "gives_probabilities"]


def gives_probabilities(self: Any) -> bool:
    """Return True for a model with probabilities; raise AttributeError for others."""
    if getattr(self, "probability", False) or hasattr(self, "calibration_"):
        return True
    raise AttributeError(
        f"this {type(self).__name__} gives only scores; AUCClassifierCV(probability=True) and its "
        "best_estimator_ give probabilities."
    )


class LinearModel(ShownEstimator):
    """A fitted ``coef_`` (1, d) and ``intercept_`` (1,), and how to score with them."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores w·x + intercept, shape (n,); for classes, above 0 is ``classes_[1]``.

        X may be a `Source`: its parts are scored one after another.
        """
        check_is_fitted(self)
        X, _, _ = opened(X)
        if isinstance(X, Source):
            return np.concatenate(list(X.each(_scores, repeat(()), self._to_score(X))))
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])
        return scores(as_rows(X), self.coef_[0]) + self.intercept_[0]

    def scores_beside(
        self, source: Source, task: OnPart, *arguments: Any
    ) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield the scores of each part, with the result of a task on it, in one pass.

        Parameters
        ----------
        source : Source
        task : callable
            As for `Source.each`.
        *arguments
            Arguments of the task, the same for each part.
        """
        return source.each(_scores_beside, repeat(()), (*self._to_score(source), task, arguments))

    def _to_score(self, source: Source) -> tuple["LinearModel", bool]:
        """Return the model to send to workers, and whether its names were checked."""
        mine, names = getattr(self, "feature_names_in_", None), source.feature_names
        if mine is not None and names is not None and mine.tolist() != names:
            odd = next((a, b) for a, b in zip_longest(mine.tolist(), names) if a != b)
            raise ValueError(f"the model was fitted to the feature {odd[0]!r}, not {odd[1]!r}.")
        bare = type(self)()  # the part that is sent to workers
        bare.coef_, bare.intercept_ = self.coef_, self.intercept_
        restore_names(bare, input_names(self))
        return bare, names is not None

    # ---- checks --------------------------------------------------------------------------

    def check_state(self) -> None:
        """Raise ValueError, saying what is wrong, unless a fit could have left these attributes."""
        if not hasattr(self, "coef_"):
            return
        d = getattr(self, "n_features_in_", None)
        if type(d) is not int:
            raise ValueError("its number of features is not a whole number")
        check_array_of(self.coef_, (1, d), "coefficients")
        check_array_of(getattr(self, "intercept_", None), (1,), "intercepts")
        if hasattr(self, "spread_"):
            check_array_of(self.spread_, (d,), "spreads of the features")
        names = getattr(self, "feature_names_in_", None)
        if names is not None and not isinstance(names, np.ndarray):
            raise ValueError("its feature names are not an array")
        if not isinstance(getattr(self, "target_name_", ""), str):
            raise ValueError("the name of its labels is not text")


class LinearScorer(ClassifierMixin, LinearModel):
    """A linear model with ``classes_`` (2,): scores above 0 mean the second one."""

    classes_: np.ndarray
    calibration_: Calibration
    training_rows_: RowDigests
    label_words_: list[str]  # the words for false and true in a command's file
    positive: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels, shape (n,)."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (n, 2), in the order of ``classes_``.

        They are available after `AUCClassifierCV` was fitted with ``probability=True``, until its
        ``best_estimator_`` is fitted to other rows. They increase with the score. `predict` uses
        the score, which is above 0 long before a rare class has a probability of ½.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d), or Source
            Rows.
        """
        check_is_fitted(self, "calibration_")
        positive = self.calibration_(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, the share of rows whose predicted label is the given one.

        Parameters
        ----------
        X : array-like, shape (n, d), or Source
            A `Source` has its own labels and weights, if no others are given, and is read twice.
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
        """
        X, y, sample_weight = opened_with_labels(X, y, sample_weight)
        return super().score(X, y, sample_weight)

    def score_sketch(self, source: Source, bins: int = 2**16) -> ScoreSketch:
        """Return the scores of a source's rows in fixed memory, for their AUC: one pass.

        Parameters
        ----------
        source : Source
            With labels; all but ``classes_[1]`` are negative.
        bins : int
            As for `ScoreSketch`.
        """
        check_is_fitted(self)
        bare, named = self._to_score(source)
        empty = ScoreSketch(self.classes_.tolist()[1], bins)
        return source.total(_sketched, repeat(()), (bare, named, empty))

    # ---- checks --------------------------------------------------------------------------

    def check_state(self) -> None:
        super().check_state()
        if not hasattr(self, "coef_"):
            return
        if not isinstance(getattr(self, "calibration_", Sigmoid(0.0, 0.0)), Calibration):
            raise ValueError("the map to its probabilities is not one of the known kinds")
        if not isinstance(getattr(self, "training_rows_", None), RowDigests | None):
            raise ValueError("the digests of its training rows have the wrong type")
        words = getattr(self, "label_words_", ["", ""])
        if type(words) is not list or list(map(type, words)) != [str, str]:
            raise ValueError("the words of its labels are not two words")
        names = getattr(self, "feature_names_in_", None)
        classes: Any = getattr(self, "classes_", None)
        # the positive label is the last, whatever their order
        named = np.shape(classes) == (2,) and classes.tolist()[1] == self.positive
        check_labels(
            np.sort(classes) if named else classes,
            None if names is None else names.tolist(),
            self.n_features_in_,
        )
        if np.shape(classes) != (2,):
            raise ValueError(f"it has {np.size(classes)} classes, not 2")


def _scores(part: Part, model: LinearModel, named: bool) -> np.ndarray:
    """Return the scores of a part; ``named`` if the names of the features were checked."""
    X = part.X
    if getattr(X, "shape", (1,))[0] == 0:
        return np.zeros(0)
    if sp.issparse(X) and X.shape[1] < model.n_features_in_:
        X = sp.csr_array(X)
        X.resize(X.shape[0], model.n_features_in_)
    if not named:
        return model.decision_function(X)
    with naming_columns(X):
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    _check_n_features(model, X, reset=False)
    return scores(as_rows(X), model.coef_[0]) + model.intercept_[0]


def _scores_beside(
    part: Part, model: LinearModel, named: bool, task: OnPart, arguments: tuple[Any, ...]
) -> tuple[np.ndarray, Any]:
    return _scores(part, model, named), task(part, *arguments)


def _sketched(part: Part, model: LinearScorer, named: bool, empty: ScoreSketch) -> ScoreSketch:
    """Return the scores of a part in fixed memory."""
    if part.y is None:
        raise ValueError("it has no labels; give (X, y).")
    return copy.deepcopy(empty).update(part.y, _scores(part, model, named), part.weight)
