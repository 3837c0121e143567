"""How fits within strata vary, and odds ratios."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.estimators.test_fits_within_strata import STATSMODELS, drawn
from tests.oracles import strata as oracle

from aucmax import AdditiveAUCClassifier, AUCClassifier, effects, odds_ratios
from aucmax.data.strata import Strata
from aucmax.explain.within_strata import mean_squared_differences


def test_odds_ratios_are_those_of_statsmodels():
    """Its version 0.15, ConditionalLogit by Newton's method, gives these standard errors."""
    X, y, stratum, _ = drawn(n=400, groups=50, seed=3)
    model = AUCClassifier(0.0, loss="logistic", standardize=0, tol=1e-13)
    table = odds_ratios(model.fit(X, y, strata=stratum), X, y, stratum)
    np.testing.assert_allclose(table.coef, STATSMODELS, atol=1e-6)
    np.testing.assert_allclose(table.std_error, [0.25379567, 0.24733799, 0.26827286], atol=1e-6)
    np.testing.assert_allclose(table.odds_ratio, np.exp(table.coef))
    np.testing.assert_allclose(np.log(table.high / table.low) / 3.919928, table.std_error, 1e-6)
    np.testing.assert_allclose(table.z, table.coef / table.std_error)
    assert table.feature.tolist() == ["1", "2", "3"]
    same = effects(model, X, y, strata=stratum)
    wide = (same.high - same.low) / same.effect * same.coef / 3.919928
    np.testing.assert_allclose(np.sort(np.abs(wide)), np.sort(table.std_error), rtol=1e-4)


def test_they_need_the_logistic_loss_within_strata():
    X, y, stratum, _ = drawn()
    square = AUCClassifier().fit(X, y, strata=stratum)
    for model in (square, AUCClassifier(loss="logistic").fit(X, y)):
        with pytest.raises(ValueError, match="a model with loss='logistic' fitted within strata"):
            odds_ratios(model, X, y, stratum)


def test_a_pipeline_has_effects_within_strata():
    X, y, stratum, _ = drawn()
    model = AUCClassifier(loss="squared_hinge").fit(X, y, strata=stratum)
    scaled = make_pipeline(StandardScaler(), AUCClassifier(loss="squared_hinge"))
    scaled.fit(X, y, aucclassifier__strata=stratum)
    mine, theirs = (effects(of, X, y, strata=stratum) for of in (model, scaled))
    np.testing.assert_allclose(mine.effect, theirs.effect, rtol=0.05)
    assert np.all(mine.low < mine.effect)
    assert np.all(mine.effect < mine.high)


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_the_variation_is_that_of_samples_of_strata(loss):
    """The jackknife over strata estimates the same variance."""
    X, y, stratum, _ = drawn(n=900, groups=90)
    model = AUCClassifier(1e-3, loss=loss, standardize=0, tol=1e-8)
    found = effects(model.fit(X, y, strata=stratum), X, y, strata=stratum)
    units = [k for k in np.unique(stratum) if 0 < y[stratum == k].sum() < (stratum == k).sum()]
    coefs = []
    for k in units:
        kept = stratum != k
        coefs.append(model.fit(X[kept], y[kept], strata=stratum[kept]).coef_[0])
    error = np.sqrt((len(units) - 1) * np.var(coefs, axis=0))
    order = np.argsort(found.feature)
    mine = ((found.high - found.low) / (2 * 1.99) * np.abs(found.coef / found.effect))[order]
    np.testing.assert_allclose(mine, error, rtol=0.15)


def test_curves_have_effects_within_strata():
    """Lines are a line of their features, and the effect of a curve is that of two of a stratum."""
    X, y, stratum, weight = drawn()
    settings = {"losses": ("square",), "alphas": [0.1], "focus": (0.0,), "tol": 1e-10, "n_knots": 5}
    additive = AdditiveAUCClassifier(0, shape="line", **settings).fit(X, y, weight, strata=stratum)
    Z = additive.best_estimator_[0].transform(X)
    line = AUCClassifier(0.1, standardize=0).fit(Z, y, weight, strata=stratum)
    mine = effects(additive.best_estimator_, X, y, weight, strata=stratum)
    of_line = effects(line, Z, y, weight, strata=stratum)
    for name in ("effect", "low", "high"):
        np.testing.assert_allclose(getattr(mine, name), getattr(of_line, name), rtol=1e-8)
    additive.set_params(shape="curves").fit(X, y, weight, strata=stratum)
    features, model = additive.best_estimator_
    of_curves = effects(additive.best_estimator_, X, y, weight, strata=stratum)
    coef, Z = model.coef_[0], features.transform(X).toarray()
    scores = np.zeros((len(y), 3))
    for block in features.blocks:
        scores[:, block.columns[0]] += Z[:, block.features] @ coef[block.features]
    spread = oracle.spread(scores, y, stratum, weight, "positives")
    np.testing.assert_allclose(of_curves.effect, np.sort(np.sqrt(spread))[::-1], rtol=1e-9)
    assert (of_curves.low < of_curves.effect).all()
    assert (of_curves.high > of_curves.effect).all()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_differences_are_those_of_two_rows_of_a_stratum(form):
    X, y, stratum, weight = drawn()
    strata = Strata.of(stratum, len(y))
    differences = mean_squared_differences(form(X), 2 * y - 1, weight, strata)
    mixed = mean_squared_differences(form(X @ np.ones((3, 1))), 2 * y - 1, weight, strata)
    spread = oracle.spread(np.column_stack([X, X.sum(axis=1)]), y, stratum, weight, "positives")
    np.testing.assert_allclose(np.append(np.diag(differences), mixed), spread, rtol=1e-9)
    np.testing.assert_allclose(differences.sum(), mixed, rtol=1e-9)
    plain = mean_squared_differences(form(X), 2 * y - 1, weight, None)
    covariance = np.cov(X, rowvar=False, bias=True, aweights=weight)
    np.testing.assert_allclose(plain, 2.0 * covariance, rtol=1e-9)
