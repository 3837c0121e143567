"""scikit-learn's class-balanced linear models, tuned for AUC, to compare with."""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from aucmax.metrics import roc_auc

__all__ = ["GRID", "BalancedLeastSquares", "BalancedLogisticRegression"]

GRID = np.logspace(-4, 4, 9)  # values of the penalty's setting that are tried by default
# features up to which both scalings are tried, and solving a d×d system is fastest
_MAX_FEATURES_BOTH_SCALINGS = 500
_MAX_ITER = 1000
_Weighted = tuple[Any, np.ndarray, np.ndarray]  # X, labels, weights


def _scaler(X: Any) -> StandardScaler:
    return StandardScaler(with_mean=not sp.issparse(X))


class _BalancedRival(ClassifierMixin, BaseEstimator):
    """A class-balanced linear model whose penalty and feature scaling are tuned for AUC.

    Parameters
    ----------
    grid : sequence of float, optional
        Values of the penalty's setting to try; 10⁻⁴ to 10⁴ in powers of ten by default.
    cv : int or list of (train, test)
        The number of stratified folds (fewer if a class has fewer rows), or their row numbers.
    random_state : int, RandomState or None
        Shuffles the rows into folds.

    Attributes
    ----------
    C_ or alpha_ : float
        The value chosen.
    standardized_ : bool
        Whether features are divided by their standard deviation (dense ones also centred).
    cv_auc_ : float
        Mean held-out AUC of the choice.
    n_settings_ : int
        Number of settings tried.
    model_ : Pipeline
        The model fitted to all rows.
    classes_ : ndarray, shape (2,)
        The larger label is positive.

    Notes
    -----
    Up to 500 features both scalings are tried. Beyond that, dense rows are standardised and sparse
    rows are left as they are.
    """

    _setting: ClassVar[str]
    _called: ClassVar[str]

    def __init__(
        self,
        grid: Sequence[float] | None = None,
        *,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.grid = grid
        self.cv = cv
        self.random_state = random_state

    def _model(self, X: Any) -> Any:
        """Return the unfitted model for rows like X."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Tune on rows X with labels y, then fit to all rows. The AUCs are weighted, too.

        Raises ValueError unless y holds two labels, each at least twice.
        """
        y = np.asarray(y)
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) != 2 or counts.min() < 2:
            raise ValueError(
                f"tuning {self._called} needs two classes of at least two rows each; got "
                f"{dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
            )
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        values = np.sort(GRID if self.grid is None else np.asarray(self.grid))
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        scalings = (
            [False, True] if X.shape[1] <= _MAX_FEATURES_BOTH_SCALINGS else [not sp.issparse(X)]
        )
        aucs = np.zeros((len(scalings), len(values)))
        folds = self._folds(y, int(counts.min()))
        for train, test in folds:
            training, held_out = ((X[part], y[part], weight[part]) for part in (train, test))
            aucs += [self._path(training, held_out, values, scaled) for scaled in scalings]
        aucs /= len(folds)
        # ties go to the first, without scaling
        scaled, place = divmod(int(np.argmax(aucs)), len(values))
        self.standardized_, self.cv_auc_ = scalings[scaled], float(aucs[scaled, place])
        setattr(self, f"{self._setting}_", float(values[place]))
        model = self._model(X).set_params(**{self._setting: values[place]})
        self.model_ = make_pipeline(_scaler(X) if self.standardized_ else "passthrough", model)
        self.model_.fit(X, y, **{f"{self.model_.steps[-1][0]}__sample_weight": weight})
        self.classes_, self.n_settings_ = classes, aucs.size
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores, shape (n,); positive means ``classes_[1]``."""
        check_is_fitted(self)
        return self.model_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels, shape (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _folds(self, y: np.ndarray, rarest: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the folds in which both parts have rows of both classes."""
        splits = self.cv
        if isinstance(splits, int):
            n_folds = min(splits, rarest)
            splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
            splits = splitter.split(np.zeros(len(y)), y)
        folds = [fold for fold in splits if all(len(np.unique(y[part])) == 2 for part in fold)]
        if not folds:
            raise ValueError(f"tuning {self._called}: no fold has both classes in both parts.")
        return folds

    def _path(
        self, training: _Weighted, held_out: _Weighted, values: np.ndarray, standardized: bool
    ) -> list[float]:
        """Return the held-out AUC of each value on one fold."""
        (X, y, weight), (X_held, y_held, weight_held) = training, held_out
        model = self._model(X)
        if standardized:
            scaler = _scaler(X).fit(X)
            X, X_held = scaler.transform(X), scaler.transform(X_held)
        aucs = []
        for value in values:
            with warnings.catch_warnings():
                # failed convergence shows in the AUC
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", LinAlgWarning)
                model.set_params(**{self._setting: value}).fit(X, y, weight)
            aucs.append(roc_auc(y_held, model.decision_function(X_held), weight_held))
        return aucs


class BalancedLogisticRegression(_BalancedRival):
    """Class-balanced logistic regression of scikit-learn: the strongest simple rival.

    Its grid is of C. Each fit starts from the last one; it uses Newton's method up to 500 features
    and L-BFGS beyond.
    """

    _setting = "C"
    _called = "logistic regression"

    def _model(self, X: Any) -> LogisticRegression:
        solver = "newton-cholesky" if X.shape[1] <= _MAX_FEATURES_BOTH_SCALINGS else "lbfgs"
        return LogisticRegression(
            class_weight="balanced", solver=solver, max_iter=_MAX_ITER, warm_start=True
        )


class BalancedLeastSquares(_BalancedRival):
    """Class-balanced ridge classifier of scikit-learn: the square loss of single rows.

    Its grid is of alpha.
    """

    _setting = "alpha"
    _called = "least squares"

    def _model(self, X: Any) -> RidgeClassifier:
        return RidgeClassifier(class_weight="balanced", max_iter=_MAX_ITER)
