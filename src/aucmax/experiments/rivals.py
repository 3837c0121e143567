"""scikit-learn's models under the same face, for comparisons only."""

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
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from aucmax.metrics import roc_auc

__all__ = ["BalancedLeastSquares", "BalancedLogisticRegression"]

_FEW = 500  # features up to which both scalings are tried, and a d×d system is fastest


class _BalancedRival(ClassifierMixin, BaseEstimator):
    """A class-balanced linear model of scikit-learn, tuned for AUC over its penalty and scaling.

    A subclass names the penalty's setting (``_setting``), and gives its grid and the model.
    """

    _setting: ClassVar[str]
    _called: ClassVar[str]
    cv: Any
    random_state: Any

    def _grid(self) -> np.ndarray:
        """Return the values of the setting to try, in the order of a path."""
        raise NotImplementedError

    def _model(self, X: Any) -> Any:
        """Return the unfitted model for rows like X."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Tune on rows X with labels y, then fit to all of them.

        Parameters
        ----------
        X : array or sparse, shape (n, d)
            Finite numbers.
        y : array, shape (n,)
            Two labels, each on at least two rows.
        sample_weight : array, shape (n,), optional
            Weighs the fits and the held-out AUC.

        Returns
        -------
        estimator
            Itself.

        Raises
        ------
        ValueError
            If y holds other than two labels, or one of them once only.
        """
        y = np.asarray(y)
        classes, counts = np.unique(y, return_counts=True)
        if len(classes) != 2 or counts.min() < 2:
            raise ValueError(
                f"tuning {self._called} needs two classes of at least two rows each; got "
                f"{dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
            )
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        values = self._grid()
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        splits = self.cv
        if isinstance(splits, int):
            folds = StratifiedKFold(
                min(splits, int(counts.min())), shuffle=True, random_state=self.random_state
            )
            splits = list(folds.split(np.zeros(len(y)), y))
        best = (-np.inf, False, values[0])
        scalings = self._scalings(X)
        for standardized in scalings:
            paths = [
                self._path(X, y, weight, train, test, values, standardized)
                for train, test in splits
                if len(np.unique(y[train])) == len(np.unique(y[test])) == 2
            ]
            if not paths:
                raise ValueError(
                    f"tuning {self._called}: in no fold do both parts hold both classes."
                )
            aucs = np.mean(paths, axis=0)
            i = int(np.argmax(aucs))
            best = max(best, (float(aucs[i]), standardized, float(values[i])))
        self.cv_auc_, self.standardized_, chosen = best
        setattr(self, f"{self._setting}_", chosen)
        model = self._model(X).set_params(**{self._setting: chosen})
        self.model_ = Pipeline([("scaler", self._scaler(X, self.standardized_)), ("model", model)])
        self.model_.fit(X, y, model__sample_weight=weight)
        self.classes_, self.n_settings_ = classes, len(values) * len(scalings)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores, shape (n,); positive means ``classes_[1]``."""
        check_is_fitted(self)
        return self.model_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels, shape (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _scalings(self, X: Any) -> list[bool]:
        if X.shape[1] <= _FEW:
            return [False, True]
        return [not sp.issparse(X)]

    @staticmethod
    def _scaler(X: Any, standardized: bool) -> Any:
        return StandardScaler(with_mean=not sp.issparse(X)) if standardized else "passthrough"

    def _path(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None,
        train: np.ndarray,
        test: np.ndarray,
        values: np.ndarray,
        standardized: bool,
    ) -> list[float]:
        """The held-out AUC of each value on one fold."""
        model, seen, held = self._model(X), X[train], X[test]
        if standardized:
            scaler = self._scaler(X, standardized)
            seen = scaler.fit_transform(seen)
            held = scaler.transform(held)
        aucs = []
        for value in values:
            with warnings.catch_warnings():
                # a fit that does not converge shows in its AUC
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", LinAlgWarning)
                model.set_params(**{self._setting: value})
                model.fit(seen, y[train], None if weight is None else weight[train])
            held_weight = None if weight is None else weight[test]
            aucs.append(roc_auc(y[test], model.decision_function(held), held_weight))
        return aucs


class BalancedLogisticRegression(_BalancedRival):
    """Class-balanced logistic regression of scikit-learn, tuned for AUC by cross-validation.

    The strongest simple rival: ``LogisticRegression(class_weight="balanced")``, with C and the
    scaling of the features chosen by the mean held-out AUC over stratified folds, then fitted to
    all rows. Along the path of C each fit starts from the last.

    Parameters
    ----------
    Cs : sequence of float, optional
        Inverse penalties to try; 10⁻⁴ to 10⁴ in powers of ten by default.
    cv : int or list of (train, test)
        A number of folds, at most that of rows in the smaller class; or row numbers.
    max_iter : int
        Most iterations of one fit.
    random_state : int, RandomState or None
        Shuffles the rows into folds.

    Attributes
    ----------
    C_ : float
        The C chosen.
    standardized_ : bool
        Whether features are divided by their standard deviation (dense ones also centred).
    cv_auc_ : float
        Mean held-out AUC of the choice.
    n_settings_ : int
        Settings tried.
    model_ : Pipeline
        The fit to all rows.
    classes_ : ndarray, shape (2,)
        The larger label is positive.

    Notes
    -----
    Up to 500 features both scalings are tried, by Newton's method. Beyond, by L-BFGS, dense rows
    are standardised and sparse rows are taken as they are.
    """

    _setting = "C"
    _called = "logistic regression"

    def __init__(
        self,
        Cs: Sequence[float] | None = None,
        *,
        cv: Any = 5,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.max_iter = max_iter
        self.random_state = random_state

    def _grid(self) -> np.ndarray:
        return np.sort(np.logspace(-4, 4, 9) if self.Cs is None else np.asarray(self.Cs, float))

    def _model(self, X: Any) -> LogisticRegression:
        return LogisticRegression(
            class_weight="balanced",
            solver="newton-cholesky" if X.shape[1] <= _FEW else "lbfgs",
            max_iter=self.max_iter,
            warm_start=True,
        )


class BalancedLeastSquares(_BalancedRival):
    """Class-balanced least squares of scikit-learn, tuned for AUC by cross-validation.

    ``RidgeClassifier(class_weight="balanced")``, with its alpha and the scaling of the features
    chosen by the mean held-out AUC over stratified folds, then fitted to all rows: the batch
    counterpart of the square loss of single rows.

    Parameters
    ----------
    alphas : sequence of float, optional
        Penalties to try; 10⁻⁴ to 10⁴ in powers of ten by default.
    cv : int or list of (train, test)
        A number of folds, at most that of rows in the smaller class; or row numbers.
    max_iter : int
        Most iterations of one fit to sparse rows.
    random_state : int, RandomState or None
        Shuffles the rows into folds.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen.
    standardized_ : bool
        Whether features are divided by their standard deviation (dense ones also centred).
    cv_auc_ : float
        Mean held-out AUC of the choice.
    n_settings_ : int
        Settings tried.
    model_ : Pipeline
        The fit to all rows.
    classes_ : ndarray, shape (2,)
        The larger label is positive.

    Notes
    -----
    Up to 500 features both scalings are tried. Beyond, dense rows are standardised and sparse
    rows are taken as they are.
    """

    _setting = "alpha"
    _called = "least squares"

    def __init__(
        self,
        alphas: Sequence[float] | None = None,
        *,
        cv: Any = 5,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.alphas = alphas
        self.cv = cv
        self.max_iter = max_iter
        self.random_state = random_state

    def _grid(self) -> np.ndarray:
        given = np.logspace(-4, 4, 9) if self.alphas is None else np.asarray(self.alphas, float)
        return np.sort(given)

    def _model(self, X: Any) -> RidgeClassifier:
        return RidgeClassifier(class_weight="balanced", max_iter=self.max_iter)
