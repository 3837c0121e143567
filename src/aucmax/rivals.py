"""scikit-learn's models under the same face, for comparisons only."""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from aucmax.metrics import roc_auc

__all__ = ["BalancedLogisticRegression"]

_NEWTON_UP_TO = 500  # features for which Newton's d×d system is the fastest way


class BalancedLogisticRegression(ClassifierMixin, BaseEstimator):
    """Class-balanced logistic regression of scikit-learn, tuned for AUC by cross-validation.

    The strongest simple rival: ``LogisticRegression(class_weight="balanced")``, with C and the
    scaling of the features chosen by the mean held-out AUC over stratified folds, then fitted to
    all rows. Along the path of C each fit starts from the last.

    Parameters
    ----------
    Cs : sequence of float, optional
        Inverse penalties to try; 10⁻⁴ to 10⁴ in powers of ten by default.
    cv : int
        Folds, at most the number of rows in the smaller class.
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

    def __init__(
        self,
        Cs: Sequence[float] | None = None,
        *,
        cv: int = 5,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Tune on rows X with labels y, then fit to all of them.

        Parameters
        ----------
        X : array or sparse, shape (n, d)
            Finite numbers.
        y : array, shape (n,)
            Two labels, each on at least two rows.

        Returns
        -------
        BalancedLogisticRegression
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
                "tuning logistic regression needs two classes of at least two rows each; got "
                f"{dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
            )
        X = X.tocsr() if sp.issparse(X) else np.asarray(X)
        Cs = np.sort(np.logspace(-4, 4, 9) if self.Cs is None else np.asarray(self.Cs, dtype=float))
        folds = StratifiedKFold(
            min(self.cv, int(counts.min())), shuffle=True, random_state=self.random_state
        )
        splits = list(folds.split(np.zeros(len(y)), y))
        best = (-np.inf, False, Cs[0])
        scalings = self._scalings(X)
        for standardized in scalings:
            paths = [self._path(X, y, train, test, Cs, standardized) for train, test in splits]
            aucs = np.mean(paths, axis=0)
            i = int(np.argmax(aucs))
            best = max(best, (float(aucs[i]), standardized, float(Cs[i])))
        self.cv_auc_, self.standardized_, self.C_ = best
        self.model_ = self._pipeline(X, self.standardized_).set_params(
            logisticregression__C=self.C_
        )
        self.model_.fit(X, y)
        self.classes_, self.n_settings_ = classes, len(Cs) * len(scalings)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores, shape (n,); positive means ``classes_[1]``."""
        check_is_fitted(self)
        return self.model_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels, shape (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def _scalings(self, X: Any) -> list[bool]:
        if X.shape[1] <= _NEWTON_UP_TO:
            return [False, True]
        return [not sp.issparse(X)]

    def _pipeline(self, X: Any, standardized: bool) -> Pipeline:
        newton = X.shape[1] <= _NEWTON_UP_TO
        regression = LogisticRegression(
            class_weight="balanced",
            solver="newton-cholesky" if newton else "lbfgs",
            max_iter=self.max_iter,
            warm_start=True,
        )
        scaler = StandardScaler(with_mean=not sp.issparse(X)) if standardized else "passthrough"
        return Pipeline([("scaler", scaler), ("logisticregression", regression)])

    def _path(
        self,
        X: Any,
        y: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        Cs: np.ndarray,
        standardized: bool,
    ) -> list[float]:
        """The held-out AUC of each C on one fold."""
        scaler, regression = (step for _, step in self._pipeline(X, standardized).steps)
        seen, held = X[train], X[test]
        if standardized:
            seen = scaler.fit_transform(seen)
            held = scaler.transform(held)
        aucs = []
        for C in Cs:
            with warnings.catch_warnings():
                # a C that does not converge shows in its AUC
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", LinAlgWarning)
                regression.set_params(C=C).fit(seen, y[train])
            aucs.append(roc_auc(y[test], regression.decision_function(held)))
        return aucs
