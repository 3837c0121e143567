"""The rivals: each is scikit-learn's model, and tuning it is a grid search for AUC."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import metrics
from aucmax.experiments.rivals import BalancedLeastSquares, BalancedLogisticRegression
from oracles import rows

GRID = (0.1, 10.0, 1000.0)
RIVALS = {
    "logistic": (
        BalancedLogisticRegression,
        "C",
        LogisticRegression(solver="newton-cholesky"),
    ),
    "least squares": (BalancedLeastSquares, "alpha", RidgeClassifier()),
}
each_rival = pytest.mark.parametrize(("kind", "setting", "model"), RIVALS.values(), ids=RIVALS)


@each_rival
def test_the_choice_is_that_of_a_grid_search(kind, setting, model):
    X, y = rows(0, n=200, d=6, share=0.2)
    X *= np.logspace(-2, 2, 6)
    rival = kind(GRID[::-1], cv=4, random_state=0).fit(X, y)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = clone(model).set_params(class_weight="balanced")
    searches = {}
    for standardized in (False, True):
        scaler = StandardScaler() if standardized else "passthrough"
        pipeline = Pipeline([("scale", scaler), ("fit", model)])
        search = GridSearchCV(pipeline, {f"fit__{setting}": GRID}, scoring="roc_auc", cv=folds)
        searches[standardized] = search.set_params(error_score="raise").fit(X, y)
    best = max(search.best_score_ for search in searches.values())
    assert rival.cv_auc_ == pytest.approx(best, abs=1e-3 if setting == "C" else 1e-12)
    if setting == "alpha":
        chosen = searches[rival.standardized_]
        assert rival.alpha_ == chosen.best_params_["fit__alpha"]
        np.testing.assert_allclose(
            rival.decision_function(X), chosen.best_estimator_.decision_function(X)
        )
        np.testing.assert_array_equal(rival.predict(X), chosen.predict(X))
    assert getattr(rival, f"{setting}_") in GRID
    assert rival.n_settings_ == 6
    assert kind().fit(X, y).n_settings_ == 18


def test_least_squares_weighs_both_classes_alike():
    """Twice the rows of one class change nothing but the weight of the penalty."""
    X, y = rows(1, n=80, d=4, share=0.3)
    rival = BalancedLeastSquares([1e-8], cv=3, random_state=0).fit(X, y)
    more = np.r_[np.arange(80), np.flatnonzero(y == 1)]
    other = BalancedLeastSquares([1e-8], cv=3, random_state=0).fit(X[more], y[more])
    np.testing.assert_allclose(
        metrics.roc_auc(y, rival.decision_function(X)),
        metrics.roc_auc(y, other.decision_function(X)),
        atol=1e-12,
    )
    plain = [r.model_[-1].coef_ / r.model_[0].scale_ if r.standardized_ else r.model_[-1].coef_
             for r in (rival, other)]  # fmt: skip
    np.testing.assert_allclose(plain[0], plain[1], rtol=1e-6)


@each_rival
def test_sparse_wide_rows_are_taken_as_they_are(kind, setting, model):
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = sp.random(60, 600, density=0.05, random_state=0, format="csr") + sp.csr_matrix(
        np.outer(y, rng.random(600) < 0.02)
    )
    rival = kind([0.1, 1.0], cv=3, random_state=0).fit(X, y)
    assert not rival.standardized_
    assert metrics.roc_auc(y, rival.decision_function(X)) > 0.9
    assert kind([0.1], cv=3).fit(X.toarray(), y).standardized_


@each_rival
def test_a_class_of_one_row_is_refused(kind, setting, model):
    what = "logistic regression" if setting == "C" else "least squares"
    with pytest.raises(ValueError, match=f"tuning {what} needs two classes of at least two rows"):
        kind().fit(np.zeros((60, 2)), [1] + [0] * 59)
