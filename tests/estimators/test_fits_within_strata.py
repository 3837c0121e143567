"""`fit(…, strata=…)`: the model, its searches, and what merges, forgets and is saved."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from tests.oracles import strata as oracle

from aucmax import (
    AdditiveAUCClassifier,
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    load,
    odds_ratios,
    save,
)
from aucmax.data.rows.source import Source
from aucmax.estimators.folds import Folding
from aucmax.metrics import stratified_auc

MODES = ("positives", "pairs", "strata")
STATSMODELS = [0.6184285934, -0.3683131399, -1.236148378]


def drawn(n=240, groups=40, d=3, seed=0):
    """Scores of different strata cannot be compared: each has its own level."""
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, groups, n)
    level = 4.0 * rng.normal(size=groups)
    X = rng.normal(size=(n, d)) + level[stratum][:, None]
    risk = X @ np.linspace(1.0, -1.0, d) - level[stratum] + rng.logistic(size=n)
    return X, (risk > np.quantile(risk, 0.7)).astype(int), stratum, rng.random(n) + 0.1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_the_optimum_is_that_of_the_pairs_of_each_stratum(loss, mode):
    X, y, stratum, weight = drawn()
    model = AUCClassifier(0.02, loss=loss, standardize=0, strata_weight=mode, tol=1e-12)
    model.fit(X, y, weight, strata=stratum)

    def J(w):
        return oracle.mean_loss(X @ w, y, stratum, weight, mode, loss) + 0.01 * w @ w

    best = minimize(J, np.zeros(3), options={"gtol": 1e-9})
    np.testing.assert_allclose(model.coef_[0], best.x, atol=1e-6)
    assert model.objective_ == pytest.approx(J(model.coef_[0]), rel=1e-12)
    assert model.optimality_ <= 1e-12
    assert model.strata_.count == len(np.unique(stratum))
    assert model.strata_.weighting == mode


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_a_shift_of_a_stratum_changes_nothing(loss, gamma):
    X, y, stratum, _ = drawn()
    tol = 1e-5 if loss == "hinge" else 1e-11
    model = AUCClassifier(0.01, loss=loss, standardize=gamma, tol=tol)
    coef = model.fit(X, y, strata=stratum).coef_
    shift = 100.0 * np.random.default_rng(1).normal(size=(40, 3))
    moved = model.fit(X + shift[stratum], y, strata=stratum).coef_
    np.testing.assert_allclose(moved, coef, atol=1e-2 if loss == "hinge" else 1e-7)


def test_one_stratum_is_none():
    X, y, _, weight = drawn()
    for loss in ("square", "squared_hinge"):
        model = AUCClassifier(loss=loss, tol=1e-10)
        plain = model.fit(X, y, weight).coef_
        of_one = model.fit(X, y, weight, strata=np.zeros(len(y)))
        np.testing.assert_allclose(of_one.coef_, plain, rtol=1e-8)
        assert of_one.strata_.count == 1


def test_the_intercept_comes_from_the_weighed_means_of_the_strata():
    X, y, stratum, weight = drawn()
    model = AUCClassifier().fit(X, y, weight, strata=stratum)
    middle, mass = 0.0, 0.0
    for omega, pos, neg in oracle.parts(y, stratum, weight, "positives"):
        means = [np.average(X[rows], axis=0, weights=weight[rows]) for rows in (pos, neg)]
        middle, mass = middle + omega * 0.5 * sum(means), mass + omega
    np.testing.assert_allclose(model.intercept_[0], -model.coef_[0] @ middle / mass)


def test_the_logistic_loss_is_conditional_logistic_regression():
    """The figures are those of statsmodels 0.15 on the same rows (ConditionalLogit, Newton)."""
    X, y, stratum, _ = drawn(n=400, groups=50, seed=3)
    model = AUCClassifier(0.0, loss="logistic", standardize=0, tol=1e-13)
    model.fit(X, y, strata=stratum)
    np.testing.assert_allclose(model.coef_[0], STATSMODELS, atol=1e-6)
    value = oracle.likelihood(X @ model.coef_[0], y, stratum, np.ones(len(y)))
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert model.strata_.likelihood == "exact"


def test_coefficients_without_a_finite_estimate_are_named():
    rng = np.random.default_rng(0)
    stratum = np.repeat(np.arange(100), 4)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["dose", "age"])
    y = np.zeros(400, int)
    y[
        np.arange(0, 400, 4)
        + (X["dose"] + rng.gumbel(size=400)).to_numpy().reshape(100, 4).argmax(1)
    ] = 1
    only_cases = X.assign(
        mark=(y == 1) & (rng.random(400) < 0.1), rare=-1.0 * (rng.random(400) < 0.2)
    )
    only_cases["rare"] *= 1 - y  # is below 0 of controls only
    model = AUCClassifier(loss="logistic", alpha=0.0, tol=1e-10)
    for form in (pd.DataFrame, lambda rows: sp.csr_array(rows.to_numpy(float))):
        model.fit(form(X), y, strata=stratum)  # without a warning
        names = "'mark', 'rare'" if form is pd.DataFrame else "column 3, column 4"
        message = f"coefficients of {names} without a finite estimate: within strata their values"
        with pytest.warns(ConvergenceWarning, match=message):
            model.fit(form(only_cases), y, strata=stratum)
    with pytest.warns(ConvergenceWarning, match="mark"):
        model.fit(only_cases, y, strata=stratum)
    table = odds_ratios(model, only_cases, y, stratum)
    assert np.isfinite(table.high[:2]).all()
    assert table.high[2] == np.inf
    both = X.assign(sum=X["dose"] + 9.0 * y)  # neither column separates the labels alone
    both["dose"] += 9.0 * rng.random(400)
    both["sum"] += both["dose"]
    with pytest.warns(
        ConvergenceWarning, match="coefficients without a finite estimate: within strata the"
    ):
        model.fit(both, y, strata=stratum)
    for held in (
        AUCClassifier(loss="logistic", alpha=0.01),
        AUCClassifier(loss="logistic", alpha=0.01, l1_ratio=1.0),
        AUCClassifier(loss="logistic", alpha=0.0, coef_bounds=(-1.0, 1.0)),
        AUCClassifier(loss="squared_hinge", alpha=0.0),
    ):
        held.fit(only_cases, y, strata=stratum)  # without a warning


def test_a_likelihood_weighs_whole_strata_by_their_positives():
    X, y, stratum, weight = drawn()
    model = AUCClassifier(loss="logistic", tol=1e-10)
    doubled = model.fit(X, y, 1.0 + (stratum % 2), strata=stratum).coef_
    again = np.flatnonzero(stratum % 2)
    twice = model.fit(
        np.vstack([X, X[again]]), np.r_[y, y[again]], strata=np.r_[stratum, stratum[again] + 100]
    )
    np.testing.assert_allclose(twice.coef_, doubled, rtol=1e-5)
    with pytest.raises(ValueError, match="strata have different weights; the logistic"):
        model.fit(X, y, weight, strata=stratum)
    tasks = []
    for model in (
        AUCClassifier(loss="logistic", strata_weight="pairs"),
        AUCClassifierCV(strata_weight="pairs", callback=tasks.append),
    ):
        with pytest.raises(ValueError, match=r"for losses of pairs.* squared hinge alone"):
            model.fit(X, y, strata=stratum)
    assert not tasks  # nothing is searched in vain
    pairs = AUCClassifierCV(losses=["square", "squared_hinge"], strata_weight="pairs")
    assert pairs.fit(X, y, strata=stratum).loss_ in pairs.losses


def test_strata_are_learnt_part_by_part_and_forgotten():
    X, y, stratum, weight = drawn()
    early, model = stratum < 17, AUCClassifier(strata_weight="pairs")
    for rows in (early, ~early):
        model.partial_fit(X[rows], y[rows], None, weight[rows], stratum[rows])
    whole = AUCClassifier(strata_weight="pairs").fit(X, y, weight, strata=stratum)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
    assert model.strata_ == whole.strata_
    model.forget(X[early], y[early], weight[early], strata=stratum[early])
    left = AUCClassifier(strata_weight="pairs").fit(
        X[~early], y[~early], weight[~early], strata=stratum[~early]
    )
    np.testing.assert_allclose(model.coef_, left.coef_, rtol=1e-7)
    for wrong in (model.forget, model.partial_fit):
        known = {"sample_weight": weight[early]}
        with pytest.raises(ValueError, match=r"the rows so far have strata|in all parts, or in"):
            wrong(X[early], y[early], **known)
    with pytest.raises(ValueError, match="never added"):
        model.forget(X[early], y[early], weight[early], strata=stratum[early])
    np.testing.assert_allclose(model.coef_, left.coef_, rtol=1e-7)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AUCClassifier(solver="spam"), "the solver 'spam' learns from one row after another"),
        (HingeClassifier(), "compares no pairs and takes no strata; use AUCClassifier"),
        (AUCClassifier(within=0.2), "within=0.2 is for rows that are all compared"),
        (AUCClassifier(strata_weight="rows"), "strata_weight must be 'positives', 'pairs' or"),
        (AUCClassifierCV(strata_weight="rows"), "strata_weight must be 'positives', 'pairs' or"),
    ],
)
def test_what_does_not_go_with_strata_is_said(model, message):
    X, y, stratum, _ = drawn()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, strata=stratum)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("groups", "of_row"),
    [(60, lambda stratum: stratum % 3), (2, lambda stratum: np.arange(len(stratum)) % 3)],
    ids=["whole strata", "fewer strata than folds"],
)
def test_a_search_compares_held_out_rows_within_strata(groups, of_row):
    """Moments of the parts add up to those of all rows only if the strata are kept whole."""
    X, y, stratum, _ = drawn(n=600, groups=groups)
    fold = of_row(stratum)
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    for loss in ("square", "squared_hinge", "logistic"):
        search = AUCClassifierCV([0.01], losses=[loss], standardize=[0.0], tol=1e-8, cv=folds)
        search.fit(X, y, strata=stratum)
        model = AUCClassifier(0.01, loss=loss, standardize=0, tol=1e-8)
        aucs = []
        for train, test in folds:
            model.fit(X[train], y[train], strata=stratum[train])
            scores = model.decision_function(X[test])
            aucs.append(stratified_auc(y[test], scores, stratum[test]).auc)
        np.testing.assert_allclose(search.auc_path_.ravel(), aucs, atol=1e-12)
        assert search.best_estimator_.strata_.count == groups


def test_a_search_within_strata_beats_one_across_them():
    """Across strata, the first column falls with the risk, and within them it rises."""
    rng = np.random.default_rng(0)
    stratum, level = np.repeat(np.arange(100), 12), rng.normal(size=100)
    X = rng.normal(size=(1200, 2)) + np.c_[2.0 * level, 0.0 * level][stratum]
    risk = X[:, 0] - 4.0 * level[stratum] + rng.logistic(size=1200)
    y, train, aucs = (risk > 0).astype(int), stratum < 60, []
    for strata in (None, stratum[train]):
        model = AUCClassifierCV().fit(X[train], y[train], strata=strata)
        scores = model.decision_function(X[~train])
        aucs.append(stratified_auc(y[~train], scores, stratum[~train]).auc)
    assert aucs[0] < 0.5
    assert aucs[1] > 0.6
    low, high = model.best_interval_[1:3]
    assert low < aucs[1] < high


@pytest.mark.parametrize("form", ["arrays", "source"])
@pytest.mark.parametrize("mode", MODES)
def test_scores_within_strata_are_their_auc(mode, form):
    X, y, stratum, weight = drawn()
    labels = np.array(["yes", "no"])[y]  # the positive label is the first of the words
    rows = X, labels, weight
    if form == "source":
        halves = slice(100), slice(100, None)
        rows = (Source([lambda p=p: (X[p], labels[p], weight[p]) for p in halves]),)
    model = AUCClassifier(strata_weight=mode, positive="no")
    few = dict(losses=["square"], cv=3, strata_weight=mode, positive="no")
    search = AUCClassifierCV(alphas=[0.1], **few)
    curves = AdditiveAUCClassifier(**few)
    for fitted in (model, search) if form == "source" else (model, search, curves):
        fitted.fit(X, labels, weight)
        scores = fitted.decision_function(X)
        area = stratified_auc(y, scores, stratum, weight, mode).auc
        assert fitted.score(*rows, strata=stratum) == area
    moments = ClassMoments.from_data(X, y, weight, strata=stratum, strata_weight=mode)
    of_moments = AUCClassifier().fit_moments(moments)
    area = stratified_auc(y, of_moments.decision_function(X), stratum, weight, mode).auc
    assert of_moments.score(X, y, weight, strata=stratum) == area
    accuracy = np.average((model.decision_function(X) > 0) == y, weights=weight)
    assert model.score(*rows) == pytest.approx(accuracy)
    search = AUCClassifierCV(alphas=[0.1], losses=["square"], scoring="average_precision").fit(X, y)
    with pytest.raises(ValueError, match="'average_precision' compares rows across strata; leave"):
        search.score(X, y, strata=stratum)


def test_folds_keep_strata_whole_if_there_are_enough():
    _, y, stratum, _ = drawn(n=600, groups=60)
    whole = Folding(strata=stratum)
    parts = whole.folds(y, 5, 0)
    for train, test in parts:
        assert not np.intersect1d(stratum[train], stratum[test]).size
        assert abs(y[test].mean() - y.mean()) < 0.06
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), range(600))
    few = Folding(strata=stratum % 3)
    for train, test in few.folds(y, 5, 0):
        assert set(stratum[train] % 3) == set(stratum[test] % 3) == {0, 1, 2}
    groups = np.arange(600) // 2  # a pair hangs together, and with it two strata
    hanging = Folding(strata=stratum // 20 * 20 + np.arange(600) // 200, groups=groups)
    for train, test in hanging.folds(y, 2, 0):
        assert not np.intersect1d(hanging.strata[train], hanging.strata[test]).size
        assert not np.intersect1d(groups[train], groups[test]).size


def test_a_model_file_tells_the_strata(tmp_path):
    X, y, stratum, _ = drawn()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            AUCClassifier().fit(X, y, strata=stratum.astype(str)),
            AUCClassifierCV(alphas=[0.1], losses=["logistic"]).fit(X, y, strata=stratum),
        ]
    for model in models:
        save(model, tmp_path / "m.aucmax")
        loaded = load(tmp_path / "m.aucmax")
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        assert loaded.strata_ == model.strata_
    assert model.strata_ == model.best_estimator_.strata_
    assert not hasattr(model.fit(X, y), "strata_")
    fitted, loaded = models[0], None
    save(fitted, tmp_path / "m.aucmax")
    loaded = load(tmp_path / "m.aucmax")
    assert loaded.strata_ == fitted.strata_
    assert loaded.strata_.words.startswith(
        "39 strata, weighted by their positives; 24 of one class"
    )
    with pytest.raises(ValueError, match="39 strata are in both"):
        loaded.partial_fit(X, y, strata=stratum.astype(str))


@pytest.mark.parametrize("solver", ["spam", "vrspam", "solam", "opauc", "oam"])
def test_stochastic_solvers_take_no_strata(solver):
    X, y, stratum, _ = drawn()
    model = AUCClassifier(solver=solver).partial_fit(X, y)
    before = model.coef_.copy()
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"'{solver}' learns .* takes no strata; these do: 'e"):
            learn(X, y, strata=stratum)
    np.testing.assert_array_equal(model.coef_, before)
