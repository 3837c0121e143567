"""`AdditiveAUCClassifier.fit(…, strata=…)`: curves and maps of pairs within strata."""

import numpy as np
import pandas as pd
import pytest
from tests.oracles import strata as oracle

from aucmax import AdditiveAUCClassifier, AUCClassifierCV, load, save
from aucmax.data.labelled import Labelled
from aucmax.datasets import scan
from aucmax.estimators import additive, additive_search
from aucmax.estimators.folds import Folding
from aucmax.estimators.sampled import sample_of
from aucmax.metrics import stratified_auc

pytestmark = pytest.mark.usefixtures("folds_drawn_once")

ONE = {"alphas": [0.05], "focus": (0.0,), "n_knots": 5, "map_knots": 3, "tol": 1e-12}


def drawn(n=240, groups=40, seed=0):
    """A curve of x0, a map of x1 and x2, and a level of each stratum that x0 betrays."""
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, groups, n)
    level = 2.0 * rng.normal(size=groups)[stratum]
    X = rng.normal(size=(n, 3))
    risk = 2.0 * np.abs(X[:, 0]) + 2.0 * X[:, 1] * X[:, 2] - 3.0 * level + rng.logistic(size=n)
    X[:, 0] += np.where(X[:, 0] > 0.0, 1.0, -1.0) * np.exp(0.5 * level)
    y = (risk > np.quantile(risk, 0.7)).astype(int)
    return X, y, stratum, rng.random(n) + 0.1


def coordinates(model, X):
    features = model.best_estimator_[0]
    return features.transform(X) @ features.coordinates()


@pytest.mark.parametrize("mode", ["positives", "pairs", "strata"])
def test_curves_and_maps_are_the_optimum_over_the_pairs_of_each_stratum(mode):
    X, y, stratum, weight = drawn()
    settings = ONE | {"focus": (1.0,), "losses": ("square",), "strata_weight": mode}
    model = AdditiveAUCClassifier(2, shape="interactions", **settings)
    model.fit(X, y, weight, strata=stratum)
    U = coordinates(model, X).toarray()
    square, linear = oracle.moments(U, y, stratum, weight, mode)
    u = np.linalg.solve(square + np.eye(len(linear)), linear)
    assert len(model.interactions_) == 2
    assert np.ptp(model.decision_function(X) - U @ u) < 1e-8
    J = oracle.mean_loss(U @ u, y, stratum, weight, mode, "square") + 0.5 * u @ u
    assert model.objective_ == pytest.approx(J, rel=1e-9)
    assert model.strata_.weighting == mode
    compared = len([*oracle.parts(y, stratum, weight, mode)])
    assert model.strata_.count - model.strata_.of_one_class == compared > 10


@pytest.mark.covering(1)
@pytest.mark.parametrize("few_features", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_curves_are_optimal_for_other_losses(loss, few_features, monkeypatch):
    if not few_features:
        monkeypatch.setattr(additive_search, "MAX_MATRIX_FEATURES", 5)
    X, y, stratum, _ = drawn(180)
    model = AdditiveAUCClassifier(0, shape="curves", losses=(loss,), **ONE).fit(
        X, y, strata=stratum
    )
    T = model.best_estimator_[0].coordinates().toarray()
    U, u = coordinates(model, X), np.linalg.solve(T, model.best_estimator_[-1].coef_[0])

    def J(u):
        of_pairs = stratum, np.ones(len(y))
        if loss == "logistic":
            return oracle.likelihood(U @ u, y, *of_pairs) + 0.5 * u @ u
        return oracle.mean_loss(U @ u, y, *of_pairs, "positives", loss) + 0.5 * u @ u

    assert model.objective_ == pytest.approx(J(u), rel=1e-9)
    slopes = [(J(u + step) - J(u - step)) / 2e-4 for step in 1e-4 * np.eye(len(u))]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-6)
    assert model.strata_.likelihood == ("exact" if loss == "logistic" else None)


def test_what_is_constant_within_strata_counts_for_nothing():
    X, y, stratum, _ = drawn()
    day = np.random.default_rng(1).normal(size=40)[stratum]
    model = AdditiveAUCClassifier(0, shape="curves", losses=("square",), **ONE)
    without = model.fit(X, y, strata=stratum).decision_function(X)
    model.fit(np.column_stack([X, day]), y, strata=stratum)
    assert np.ptp(model.decision_function(np.column_stack([X, day])) - without) < 1e-9
    own = [block.features for block in model.best_estimator_[0].blocks if block.columns == (3,)]
    coef = model.best_estimator_[-1].coef_[0]
    assert len(own) == 2
    assert max(np.abs(coef[of]).max() for of in own) < 1e-12
    assert np.abs(coef).max() > 0.01


def test_one_stratum_is_none():
    X, y, _, weight = drawn()
    model = AdditiveAUCClassifier(
        3, shape="interactions", losses=("square", "squared_hinge"), **ONE
    )
    model.fit(X, y, weight)
    plain, gains, pairs = model.decision_function(X), model.gains_, model.interactions_
    model.fit(X, y, weight, strata=np.zeros(len(y)))
    assert (model.interactions_, model.strata_.count) == (pairs, 1)
    np.testing.assert_allclose(model.gains_, gains, rtol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), plain, atol=1e-6)
    model.set_params(losses=("square",)).fit(X, y, weight)
    assert not hasattr(model, "strata_")


def test_curves_within_strata_rank_new_strata_better():
    X, y, stratum, _ = drawn(1500, 150, seed=1)
    new, of_new, new_stratum, _ = drawn(3000, 300, seed=2)

    def auc(model):
        return stratified_auc(of_new, model.decision_function(new), new_stratum).auc

    model = AdditiveAUCClassifier(5, losses=("square",), focus=(0.0,))
    within = auc(model.fit(X, y, strata=stratum))
    assert model.interactions_[0] == ("x1", "x2")
    assert model.best_interval_.low < within < model.best_interval_.high
    assert within > auc(AUCClassifierCV(losses=("square",)).fit(X, y, strata=stratum)) + 0.1
    assert within > auc(model.fit(X, y)) + 0.02


def test_folds_keep_strata_whole_and_are_scored_within_them():
    X, y, stratum, _ = drawn()
    model = AdditiveAUCClassifier(0, shape="line", losses=("square",), **ONE)
    score = model.fit(X, y, strata=stratum).best_score_
    folding = Folding(strata=np.unique(stratum, return_inverse=True)[1])
    folds = folding.folds(y == 1, 5, 0, 1)
    U, areas = coordinates(model, X).toarray(), []
    for train, test in folds:
        of_train = U[train], y[train], stratum[train], np.ones(len(train)), "positives"
        square, linear = oracle.moments(*of_train)
        u = np.linalg.solve(square + np.eye(len(linear)), linear)
        areas.append(stratified_auc(y[test], U[test] @ u, stratum[test]).auc)
    assert score == pytest.approx(np.mean(areas), abs=1e-12)
    assert model.auc_path_.shape[0] == 5


def test_trends_hold_within_strata():
    X, y, stratum, _ = drawn()
    model = AdditiveAUCClassifier(0, {0: 1}, shape="curves", losses=("square",), **ONE)
    model.fit(X, y, strata=stratum)
    grid = np.column_stack([np.linspace(-9.0, 9.0, 300), np.zeros((300, 2))])
    assert (np.diff(model.decision_function(grid)) > -1e-9).all()
    free = model.set_params(monotone=None).fit(X, y, strata=stratum)
    assert (np.diff(free.decision_function(grid)) < -1e-3).any()


def test_what_a_map_can_add_is_bounded_within_strata():
    X, y, stratum, weight = drawn()
    y[stratum < 25] = 0  # most rows are compared with none
    model = AdditiveAUCClassifier(0, shape="curves", losses=("square",), **ONE)
    curves = model.fit(X, y, weight, strata=stratum).objective_
    bounds = {pair.columns: pair.bound for pair in model.left_out(X, y, weight, stratum)}
    for pair in ((0, 1), (1, 2)):
        model = AdditiveAUCClassifier([pair], shape="interactions", losses=("square",), **ONE)
        fall = curves - model.fit(X, y, weight, strata=stratum).objective_
        assert 1e-6 < fall <= bounds[f"x{pair[0]}", f"x{pair[1]}"]


def test_no_pair_is_named():
    X, y, stratum, _ = drawn()
    model = AdditiveAUCClassifier([], losses=("square",), **ONE)
    scores = model.fit(X, y, strata=stratum).decision_function(X)
    assert model.interactions_ == []
    same = model.set_params(interactions=0).fit(X, y, strata=stratum)
    np.testing.assert_array_equal(same.decision_function(X), scores)


@pytest.mark.exhaustive
def test_many_rows_are_fitted_in_memory():
    X, y, stratum, _ = drawn()
    model = AdditiveAUCClassifier(1, losses=("square",), search_rows=100, **ONE)
    many = model.fit(X, y, strata=stratum).decision_function(X)
    whole = model.set_params(search_rows=1000).fit(X, y, strata=stratum)
    np.testing.assert_array_equal(many, whole.decision_function(X))
    model.set_params(search_rows=100)
    rows = Labelled(X, y == 1, None, np.array([0, 1]), strata=stratum)
    np.testing.assert_array_equal(many, model.fit(rows).decision_function(X))
    rows = Labelled(X, y == 1, None, np.array([0, 1]))
    np.testing.assert_array_equal(many, model.fit(rows, strata=stratum).decision_function(X))


def test_a_model_within_strata_is_saved(tmp_path):
    X, y, stratum, _ = drawn()
    model = AdditiveAUCClassifier(1, losses=("square",), strata_weight="pairs", **ONE)
    save(model.fit(X, y, strata=stratum), tmp_path / "m.aucmax")
    loaded = load(tmp_path / "m.aucmax")
    assert loaded.strata_ == model.strata_ == loaded.best_estimator_[-1].strata_
    assert loaded.strata_weight == loaded.best_estimator_[-1].strata_weight == "pairs"
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert model.strata_.words in loaded._repr_html_()


def test_what_does_not_go_with_strata_is_said(monkeypatch):
    X, y, stratum, weight = drawn()

    def fails(match, of_rows=stratum, sample_weight=None, **settings):
        with pytest.raises(ValueError, match=match):
            AdditiveAUCClassifier(**settings).fit(X, y, sample_weight, strata=of_rows)

    monkeypatch.setattr(additive, "Search", None)  # nothing is searched in vain
    fails(r"strata must have one value for each of 240 rows", stratum[1:])
    fails("strata has no value for 1 rows", np.where(np.arange(240) == 7, np.nan, stratum))
    fails("strata_weight must be 'positives', 'pairs' or", strata_weight="rows")
    fails("strata_weight='pairs' is for losses of pairs", strata_weight="pairs")
    fails("strata have different weights; the logistic", sample_weight=weight)
    fails("none of the 240 strata has rows of both classes", np.arange(240))
    monkeypatch.undo()
    model = AdditiveAUCClassifier(0, shape="line", losses=("square",), **ONE)
    model.fit(X, y, strata=stratum)
    with pytest.raises(ValueError, match="this one compares rows within strata"):
        model.pair_sums(X, y)
    for of_rows in (model.left_out, model.moments):
        with pytest.raises(ValueError, match="give strata if, and only if"):
            of_rows(X, y)
    reversed_labels = model.moments(X, 1 - y, strata=stratum).relabelled([1, 0])
    with pytest.raises(ValueError, match="weight strata by the rows of label 0, but 1 is positive"):
        model.fit_moments(reversed_labels)


@pytest.mark.parametrize("mode", ["positives", "strata"])
def test_moments_of_whole_strata_give_the_fit_to_all(mode):
    X, y, stratum, weight = drawn()
    settings = ONE | {"losses": ("square",), "strata_weight": mode}
    model = AdditiveAUCClassifier(1, shape="interactions", **settings)
    scores = model.fit(X, y, weight, strata=stratum).decision_function(X)
    of_all = model.strata_
    halves = [
        model.moments(X[rows], y[rows], weight[rows], stratum[rows])
        for rows in (stratum < 11, stratum >= 11)
    ]
    model.fit_moments(halves[1])
    assert np.ptp(model.decision_function(X) - scores) > 0.01
    assert model.fit_moments(sum(halves)).strata_ == of_all
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-10)
    with pytest.raises(ValueError, match="strata are in both"):
        sum([*halves, halves[0]])


@pytest.mark.parametrize(
    "mode", ["positives", pytest.param("pairs", marks=pytest.mark.exhaustive), "strata"]
)
def test_rows_in_parts_are_fitted_as_those_in_memory(mode, tmp_path):
    """Those of a stratum may be in any part; the sample has all strata, so it chooses the same."""
    X, y, stratum, weight = drawn()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(day=stratum, y=y, w=weight)
    table.to_csv(tmp_path / "rows.csv", index=False)
    settings = ONE | {"losses": ("square",), "strata_weight": mode}
    model = AdditiveAUCClassifier(1, shape="interactions", **settings)
    whole = model.fit(X, y, weight, strata=stratum)
    scores, strata = whole.decision_function(X), whole.strata_
    source = scan(tmp_path / "rows.csv", target="y", weight="w", strata="day", part_bytes=4000)
    fitted = model.fit(source)
    assert sum(1 for _ in source) > 3
    np.testing.assert_allclose(fitted.decision_function(X), scores, atol=1e-9)
    assert fitted.strata_ == strata


@pytest.mark.parametrize(
    ("loss", "monotone"),
    [pytest.param("logistic", None, marks=pytest.mark.exhaustive), ("square", {1: 1})],
)
def test_other_fits_to_rows_in_parts(loss, monotone, tmp_path):
    X, y, stratum, _ = drawn()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(day=stratum, y=y)
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = AdditiveAUCClassifier(0, monotone, shape="curves", losses=(loss,), **ONE)
    model.set_params(tol=1e-9)
    scores = model.fit(X, y, strata=stratum).decision_function(X)
    source = scan(tmp_path / "rows.csv", target="y", strata="day", part_bytes=4000)
    fitted = model.fit(source)
    np.testing.assert_allclose(fitted.decision_function(X), scores, atol=1e-4)
    assert fitted.strata_.likelihood == ("exact" if loss == "logistic" else None)


def test_a_sample_has_whole_strata():
    X, y, stratum, weight = drawn(2400, 400)
    weight[::7] = 0.0
    rows = Labelled(X, y == 1, weight, np.array([0, 1]), strata=stratum)
    sample = sample_of(rows, 500)
    assert 400 < len(sample) < 600
    drawn_strata = np.unique(stratum[sample])
    assert len(drawn_strata) > 40
    of_drawn = np.isin(stratum, drawn_strata) & (weight > 0)
    np.testing.assert_array_equal(sample, np.flatnonzero(of_drawn))
    assert all(len(np.unique(y[of_drawn & (stratum == k)])) == 2 for k in drawn_strata)
    np.testing.assert_array_equal(sample_of(rows, 2400), np.flatnonzero(weight))
