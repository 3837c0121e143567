"""The logistic loss at any class weights: its formula, its optimum, scikit-learn's, invariances."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from aucmax import AUCClassifier, AUCClassifierCV, ClassMoments
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES, Logistic
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import RowsProblem
from aucmax.solvers.batch import proximal_newton
from literal import FORMS, each_form, weighted
from oracles import logistic, rows
from oracles.optimum import optimum
from specification import STOCHASTIC, takes

untimed = settings(deadline=None, derandomize=True, max_examples=30)
TIGHT = dict(loss="logistic", standardize=0.0, tol=1e-14)


def some(seed=1, n=60, d=5, share=0.3, **made):
    X, y = rows(seed, n=n, d=d, share=share, **made)
    return X, y, np.random.RandomState(seed).choice([0.0, 0.5, 1.0, 4.0], size=n)


def objective(X, y, weight=None, alpha=0.1, l1_ratio=0.0, gamma=0.0, tau=0.5):
    problem = RowsProblem.of(as_rows(X), y.astype(float), weight).scaled(gamma)
    return Objective(problem, Logistic(tau), ElasticNet(alpha, l1_ratio))


# ---- the formula -------------------------------------------------------------------------


@untimed
@given(
    st.integers(0, 2**31 - 1),
    st.sampled_from([1e-3, 1.0, 5.0, 30.0]),
    st.sampled_from([0.5, 1e-6, 0.01, 0.8]),
)
def test_value_gradient_and_hessian_are_those_of_the_best_intercept(seed, spread, tau):
    rng = np.random.RandomState(seed)
    y = np.r_[1.0, -1.0, rng.choice([-1.0, 1.0], size=rng.randint(0, 12))]
    z, u = spread * rng.randn(len(y)) + 10 * rng.randn(), rng.randn(len(y))
    s = logistic.shares(y, rng.rand(len(y)) + 0.05)
    value, gradient, hessian = logistic.at(z, y, s, tau)
    there = Logistic(tau).at(z, y, s)
    # scores far apart leave b free: only what it gives counts
    assert there.value == pytest.approx(value, rel=1e-12, abs=1e-300)
    np.testing.assert_allclose(there.gradient, gradient, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(there.product(u), hessian @ u, rtol=1e-9, atol=1e-13)
    if spread < 30:
        assert there.intercept == pytest.approx(logistic.intercept(z, y, s, tau), abs=1e-9)


@pytest.mark.parametrize("near", [-1e3, -1.0, 0.5, 1e3])
def test_the_best_intercept_is_the_same_from_every_start(near):
    rng = np.random.RandomState(0)
    z, y = 3.0 * rng.randn(50) + 2.0, np.where(rng.rand(50) < 0.3, 1.0, -1.0)
    s, loss = logistic.shares(y), Logistic(0.3)
    alone = loss.at(z, y, s)
    there = loss.at(z, y, s, near=replace(alone, intercept=near))
    assert there.intercept == pytest.approx(alone.intercept, abs=1e-12)
    assert there.value == pytest.approx(alone.value, rel=1e-14)


@pytest.mark.parametrize("tau", [0.5, 0.01, 0.9])
def test_what_it_says_of_itself_at_zero(tau):
    X, y, weight = some()
    goal, s = objective(X, y, weight, tau=tau), logistic.shares(y, weight)
    value, gradient, H = logistic.at(np.zeros(60), y, s, tau)
    assert goal.at_zero == pytest.approx(value, rel=1e-14)
    slope, delta = goal.loss.slope_at_zero, goal.problem.delta
    np.testing.assert_allclose(X.T @ gradient, slope * delta, atol=1e-14)
    within, between = goal.loss.bends_at_zero
    bends = within * goal.problem.within + between * np.outer(delta, delta)
    np.testing.assert_allclose(X.T @ H @ X, bends, atol=1e-14)


@pytest.mark.parametrize("far", [1e2, 1e6, 1e100])
def test_scores_far_apart_neither_overflow_nor_go_on(far):
    y, z = np.array([1.0, 1.0, -1.0, -1.0]), far * np.array([1.0, 2.0, -1.0, 0.5])
    s = logistic.shares(y)
    right, wrong = LOSSES["logistic"].at(z, y, s), LOSSES["logistic"].at(-z, y, s)
    assert 0.0 <= right.value < 1e-10
    assert wrong.value == pytest.approx(0.875 * far, rel=0.05)
    for there in (right, wrong):
        assert np.all(np.isfinite(there.gradient))
        assert np.all(np.isfinite(there.product(y)))
        assert abs(there.gradient.sum()) < 1e-12


def test_scores_that_are_not_finite_give_a_value_that_is_not():
    there = LOSSES["logistic"].at(np.array([1.0, np.nan, 0.0]), np.array([1.0, -1.0, 1.0]),
                                  np.array([0.5, 1.0, 0.5]))  # fmt: skip
    assert not np.isfinite(there.value)


@each_form
@weighted
@pytest.mark.parametrize(("gamma", "tau"), [(0.0, 0.5), (0.5, 0.1)])
def test_the_objective_is_its_formula(form, weighted, gamma, tau):
    X, y, weight = some()
    weight = weight if weighted else np.ones(60)
    goal = objective(form(X), y, weight, 0.2, 0.4, gamma, tau)
    X = np.asarray(form(X).toarray() if sp.issparse(form(X)) else form(X), dtype=float)
    kept = weight > 0
    Z = X[kept] * (1.0 if goal.problem.factor is None else goal.problem.factor)
    w, v = np.random.RandomState(1).randn(2, 5)
    s = logistic.shares(y[kept], weight[kept])
    value, gradient, H = logistic.at(Z @ w, y[kept], s, tau)
    penalty = 0.2 * (0.3 * w @ w + 0.4 * np.abs(w).sum())
    rough = 1e-6 if X.dtype != np.float64 else 1e-10
    assert goal.value(w) == pytest.approx(value + penalty, rel=rough)
    np.testing.assert_allclose(goal.data_gradient(w), Z.T @ gradient, atol=rough)
    np.testing.assert_allclose(goal.data_product(w, v), Z.T @ H @ Z @ v, atol=rough)
    S = np.array([0, 2, 3])
    part = proximal_newton.ColumnSet(goal, S)
    at = goal.at(goal.problem.scores(w))
    np.testing.assert_allclose(part.hessian(at), (Z.T @ H @ Z)[np.ix_(S, S)], atol=rough)


# ---- the optimum -------------------------------------------------------------------------


@pytest.mark.covering
@each_form
@weighted
@pytest.mark.parametrize(("gamma", "tau"), [(0.0, 0.5), (0.5, 0.05), (1.0, 0.9)])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_it_is_the_optimum(form, weighted, gamma, tau, l1_ratio):
    X, y, weight = some(2, density=0.6)
    weight = weight if weighted else np.ones(60)
    goal = objective(form(X), y, weight, gamma=gamma)
    factor = np.ones(5) if goal.problem.factor is None else goal.problem.factor
    X32 = np.asarray(X, dtype=np.float32).astype(float) if form is FORMS["float32"] else X
    for alpha in (1e-4, 3e-2):
        clf = AUCClassifier(alpha, l1_ratio, within=tau, **TIGHT | {"standardize": gamma})
        clf.fit(form(X), y, weight)
        least, best = optimum(X32 * factor, y, "logistic", alpha, l1_ratio, weight, tau)
        assert clf.objective_ == pytest.approx(least, rel=1e-12)
        assert clf.coef_[0] == pytest.approx(factor * best, abs=1e-6 * np.abs(best).max())
        assert clf.solver_ == "newton"


@pytest.mark.covering(1)
@pytest.mark.parametrize("path", [{}, {"MAX_MATRIX_FEATURES": 0}, {"MIN_DENSITY": 2.0}], ids=str)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_more_features_than_rows(form, path, monkeypatch):
    for name, value in path.items():
        monkeypatch.setattr(proximal_newton, name, value)
    monkeypatch.setattr(proximal_newton, "FIRST_SET_FEATURES", 4)
    X, y, _ = some(3, n=50, d=80, density=0.3)
    for l1_ratio in (0.0, 0.5, 1.0):
        clf = AUCClassifier(1e-2, l1_ratio, max_iter=10_000, **TIGHT).fit(form(X), y)
        least, _ = optimum(X, y, "logistic", 1e-2, l1_ratio)
        assert clf.objective_ == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize("cost", [np.inf, 0.0], ids=["products", "matrix"])
@pytest.mark.parametrize(("form", "density"), [(np.asarray, 1.0), (sp.csr_array, 0.1)])
def test_systems_by_products_and_by_their_matrix(cost, form, density, monkeypatch):
    monkeypatch.setattr(RowsProblem, "gram_cost", cost)
    grams, gram = [], RowsProblem.gram
    monkeypatch.setattr(RowsProblem, "gram", lambda *args: grams.append(1) or gram(*args))
    X, y, weight = some(15, n=300, d=20, density=density)
    X[:, 0] += 50.0  # a full column far from 0
    for gamma in (0.0, 0.5):
        clf = AUCClassifier(1e-3, **TIGHT | {"standardize": gamma}).fit(form(X), y, weight)
        goal = objective(X, y, weight, 1e-3, gamma=gamma)
        factor = 1.0 if goal.problem.factor is None else goal.problem.factor
        least, best = optimum(X * factor, y, "logistic", 1e-3, 0.0, weight)
        assert clf.objective_ == pytest.approx(least, rel=1e-12)
        assert clf.coef_[0] == pytest.approx(factor * best, abs=1e-6 * np.abs(best).max())
    assert bool(grams) == (cost == 0.0)


def test_few_short_rows_of_many_features_ask_for_no_matrix(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 2_000), density=1e-3, rng=rng, format="csr")
    monkeypatch.setattr(RowsProblem, "gram", lambda *args: pytest.fail("2,000 × 2,000 numbers"))
    clf = AUCClassifier(1e-3, loss="logistic").fit(X, rng.integers(0, 2, 400))
    assert clf.optimality_ <= clf.tol


@weighted
@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 1.0])
def test_it_is_scikit_learns_with_balanced_classes(weighted, alpha):
    X, y, weight = some(4)
    weight = weight if weighted else np.ones(60)
    theirs = LogisticRegression(C=1.0 / alpha, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    theirs.fit(X, y, 0.5 * logistic.shares(y, weight))
    ours = AUCClassifier(alpha, **TIGHT).fit(X, y, weight)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-6, abs=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6, abs=1e-9)
    probability = 1.0 / (1.0 + np.exp(-ours.decision_function(X)))
    np.testing.assert_allclose(probability, theirs.predict_proba(X)[:, 1], atol=1e-7)


@weighted
@pytest.mark.parametrize("alpha", [1e-5, 1e-2, 1.0])
def test_pooled_it_is_plain_logistic_regression(weighted, alpha):
    X, y, weight = some(4)
    weight = weight if weighted else np.ones(60)
    p = weight[y > 0].sum() / weight.sum()
    C = 1.0 / (4.0 * p * (1.0 - p) * alpha)  # of the mean loss, which ours is times 1/4p(1 − p)
    theirs = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    theirs.fit(X, y, weight / weight.sum())
    ours = AUCClassifier(alpha, within="pooled", **TIGHT).fit(X, y, weight)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-6, abs=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-6, abs=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    balanced = AUCClassifier(alpha, **TIGHT).fit(X, y, weight)
    assert np.abs(ours.coef_ - balanced.coef_).max() > 1e-3 * np.abs(ours.coef_).max()


def test_coefficients_within_bounds():
    X, y, weight = some(5)
    bounds = [(0, None), (None, 0), (-0.1, 0.1), (None, None), (None, None)]
    clf = AUCClassifier(1e-2, coef_bounds=bounds, **TIGHT).fit(X, y, weight)
    goal = objective(X, y, weight, 1e-2)
    found = minimize(
        goal.value, np.zeros(5), jac=lambda w: goal.data_gradient(w) + 1e-2 * w,
        bounds=bounds, method="L-BFGS-B", options={"gtol": 1e-12, "ftol": 1e-16},
    )  # fmt: skip
    assert clf.objective_ == pytest.approx(found.fun, rel=1e-10)
    assert clf.coef_[0] == pytest.approx(found.x, abs=1e-5)
    free = AUCClassifier(1e-2, **TIGHT).fit(X, y, weight)
    assert free.objective_ < clf.objective_ - 1e-4


def test_features_in_any_units():
    X, y, _ = some(6, n=300, d=7)
    units = 10.0 ** np.arange(-3, 4)
    for alpha in (0.0, 1e-6, 1e-3):
        clf = AUCClassifier(alpha, **TIGHT | {"tol": 1e-8}).fit(X * units, y)
        least, _ = optimum(X * units, y, "logistic", alpha)
        assert clf.objective_ - least <= 10 * clf.optimality_ * (np.log(2) - least) + 1e-14
        assert clf.optimality_ <= 1e-8


@pytest.mark.covering(1)
@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("spread", "tau"), [(1.0, 0.5), (50.0, 0.5), (1.0, 0.01), (50.0, 0.9)])
def test_separable_rows(alpha, spread, tau):
    """Where the loss alone has no minimum, and margins of very different sizes."""
    X, y, _ = some(7, n=40, d=30)
    X *= np.exp(np.log(spread) * np.random.RandomState(0).rand(40, 1))
    least, _ = optimum(X, y, "logistic", alpha, tau=tau)
    at_zero = Logistic(tau).at_zero
    for tol in (1e-2, 1e-4, 1e-8):
        clf = AUCClassifier(alpha, within=tau, **TIGHT | {"tol": tol}).fit(X, y)
        true = (clf.objective_ - least) / (at_zero - least)
        assert true <= 10 * clf.optimality_ + 1e-12
        assert clf.optimality_ <= tol
    clf = AUCClassifier(0.0, within=tau, **TIGHT | {"tol": 1e-4}).fit(X, y)
    assert clf.objective_ <= 1e-4 * at_zero


def test_a_warm_start_and_a_history():
    X, y, weight = some(8, n=300)
    clf = AUCClassifier(1e-3, warm_start=True, callback=lambda progress: False, **TIGHT)
    clf.fit(X, y, weight)
    assert np.all(np.diff(clf.history_["objective"]) <= 1e-12)
    assert clf.history_["optimality"][-1] < 1e-6 < clf.history_["optimality"][0]
    first = clf.coef_.copy()
    assert clf.fit(X, y, weight).n_iter_ == 1
    assert clf.coef_ == pytest.approx(first, rel=1e-6)


def test_cross_validation_takes_it():
    X, y, _ = some(9, n=200)
    alphas = (1e-4, 1e-2, 1.0)
    clf = AUCClassifierCV(alphas, losses=("square", "logistic"), standardize=(0.5,), cv=3)
    clf.fit(X, y)
    assert np.all(np.isfinite(clf.auc_path_))
    only = AUCClassifierCV(alphas, losses=("logistic",), standardize=(0.5,), cv=3).fit(X, y)
    np.testing.assert_array_equal(only.auc_path_[:, 0], clf.auc_path_[:, 1])
    alone = AUCClassifier(only.alpha_, loss="logistic", standardize=0.5).fit(X, y)
    assert only.coef_ == pytest.approx(alone.coef_)
    assert only.intercept_ == pytest.approx(alone.intercept_)


# ---- what changes nothing ----------------------------------------------------------------


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_shifted_rows_and_class_weights(l1_ratio):
    X, y, weight = some(10)
    settings = dict(TIGHT, alpha=1e-2, l1_ratio=l1_ratio)
    shift = np.array([5.0, -3.0, 0.0, 100.0, 1.0])
    one = AUCClassifier(**settings).fit(X, y, weight)
    moved = AUCClassifier(**settings).fit(X + shift, y, weight)
    assert moved.objective_ == pytest.approx(one.objective_, rel=1e-12)
    assert moved.coef_ == pytest.approx(one.coef_, abs=1e-6)
    assert moved.intercept_ == pytest.approx(one.intercept_ - one.coef_ @ shift, abs=1e-4)
    heavy = AUCClassifier(**settings).fit(X, y, weight * np.where(y > 0, 7.0, 1.0))
    assert heavy.objective_ == pytest.approx(one.objective_, rel=1e-12)
    assert heavy.coef_ == pytest.approx(one.coef_, abs=1e-6)
    assert heavy.intercept_ == pytest.approx(one.intercept_, abs=1e-6)
    swapped = AUCClassifier(**settings).fit(X, -y, weight)
    assert swapped.coef_ == pytest.approx(-one.coef_, abs=1e-6)
    assert swapped.intercept_ == pytest.approx(-one.intercept_, abs=1e-6)


def test_repeated_rows_are_weights():
    X, y, weight = some(11)
    weight = np.round(weight + 0.1).astype(int)
    one = AUCClassifier(1e-2, **TIGHT).fit(X, y, weight)
    again = np.repeat(np.arange(60), weight)
    other = AUCClassifier(1e-2, **TIGHT).fit(X[again], y[again])
    assert other.coef_ == pytest.approx(one.coef_, abs=1e-6)
    assert other.intercept_ == pytest.approx(one.intercept_, abs=1e-6)


# ---- what it refuses ---------------------------------------------------------------------


def test_what_needs_moments_refuses_it():
    X, y, _ = some(12)
    clf = AUCClassifier(loss="logistic")
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        clf.partial_fit(X, y)
    why = "loss='logistic' has no partial_fit: it needs all rows at once; use loss='square'"
    assert why in str(caught.value.__cause__)
    with pytest.raises(ValueError, match=r"no solver takes class moments alone.*loss='logistic'"):
        clf.fit_moments(ClassMoments.from_data(X, y))
    clf.fit(X, y)
    with pytest.raises(ValueError, match="the solver 'newton' keeps none; fit loss='square'"):
        clf.forget(X[:3], y[:3])
    assert not hasattr(clf, "moments_")


@pytest.mark.parametrize(
    "name", [name for name, kind in STOCHASTIC.items() if takes(kind, "square")]
)
def test_stochastic_solvers_refuse_it(name):
    X, y, _ = some(13)
    refused = rf"the solver '{name}' does not take .*: it takes the loss square"
    with pytest.raises(ValueError, match=refused + r".* only; these do: 'newton'"):
        AUCClassifier(loss="logistic", solver=name).fit(X, y)


def test_a_limit_is_told():
    X, y, _ = some(14, n=2000, d=30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = AUCClassifier(1e-8, max_iter=1, **TIGHT).fit(X, y)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert "raise max_iter" in str(caught[0].message)
    assert clf.optimality_ > 1e-14


def test_scores_so_far_apart_that_nothing_bends():
    z, sign, s = np.array([-800.0, -800.0, 800.0]), np.array([1.0, 1.0, -1.0]), np.full(3, 0.5)
    loss_at = Logistic(0.2).at(z, sign, s)
    assert abs(loss_at.gradient.sum()) < 1e-9
