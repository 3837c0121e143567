"""`within` = τ: the square loss with the spreads of the classes weighed by τ and 1 − τ."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, root
from scipy.stats import norm
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from aucmax import AUCClassifier, ClassMoments, load, save
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import Square
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import MomentsProblem, RowsProblem
from aucmax.solvers import SOLVERS, ConjugateGradient, Exact
from aucmax.solvers.batch import coordinate_descent
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from literal import FORMS, equal
from oracles import rows
from oracles.pairs import Pairs, elastic_net_optimum, l2_optimum
from oracles.within import Within
from specification import STOCHASTIC

TAUS = [0, 0.1, 0.5, "pooled", 1]
ALPHA = 0.03


@pytest.fixture(scope="module")
def data():
    X, y = rows(3, n=60, d=6, share=0.25)
    X[y == 1, :3] *= 3.0  # the two spreads differ
    return X, y, np.random.RandomState(3).choice([0.2, 1.0, 4.0], size=60)


def number(tau, y, weight):
    return weight[y == 1].sum() / weight.sum() if tau == "pooled" else tau


def problem_of(X, y, weight, gamma=0.0):
    return RowsProblem.of(as_rows(X), y.astype(float), weight).scaled(gamma)


# ---- the oracle, and the loss on scores --------------------------------------------------


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_at_one_half_it_is_the_mean_over_pairs(data, gamma):
    pairs, within = Pairs(*data, gamma=gamma), Within(*data, gamma=gamma)
    w = np.random.RandomState(0).randn(6)
    assert within.data_term(w) == pytest.approx(pairs.data_term(w), rel=1e-12)
    equal(within.gradient(w), pairs.gradient(w), 1e-12)
    equal(within.hessian(), pairs.hessian(), 1e-12)


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.5, 1.0])
def test_the_loss_on_scores(data, tau):
    X = data[0]
    oracle, problem = Within(*data, tau=tau), problem_of(*data)
    w, v = np.random.RandomState(1).randn(2, 6)
    there = problem.loss_at(Square(tau), X @ w)
    assert there.value == pytest.approx(oracle.data_term(w), rel=1e-12)
    equal(X.T @ there.gradient, oracle.gradient(w), 1e-12)
    equal(X.T @ there.product(X @ v), oracle.hessian() @ v, 1e-12)


# ---- every solver that takes it ----------------------------------------------------------

L2_SOLVERS = ["exact", "conjugate_gradient", "coordinate_descent"]
PATHS = {  # of coordinate descent: the largest matrix of all features, and of a working set
    "on the matrix": (1500, 1000),
    "on matrices of sets": (0, 1000),
    "on columns": (0, 0),
}


def fitted(data, form, tau, rho=0.0, **settings):
    X, y, weight = data
    clf = AUCClassifier(ALPHA, rho, within=tau, tol=1e-15, max_iter=10_000, **settings)
    return clf.fit(FORMS[form](X), y, sample_weight=weight)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("solver", L2_SOLVERS)
def test_l2_optimum(data, solver, form, tau):
    _, y, weight = data
    oracle = Within(*data, gamma=0.5, tau=number(tau, y, weight))
    expected = l2_optimum(oracle, ALPHA)
    clf = fitted(data, form, tau, solver=solver, standardize=0.5)
    equal(oracle.from_features(clf.coef_[0]), expected, 1e-7)
    assert clf.objective_ == pytest.approx(oracle.objective(expected, ALPHA, 0.0), rel=1e-12)
    assert clf.optimality_ <= 1e-13


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("path", PATHS)
def test_elastic_net_optimum(data, path, form, tau, monkeypatch):
    for name, most in zip(
        ("MAX_MATRIX_FEATURES", "MAX_SET_MATRIX_FEATURES"), PATHS[path], strict=True
    ):
        monkeypatch.setattr(coordinate_descent, name, most)
    _, y, weight = data
    oracle = Within(*data, tau=number(tau, y, weight))
    expected = elastic_net_optimum(oracle, ALPHA, 0.5)
    clf = fitted(data, form, tau, 0.5, solver="coordinate_descent", standardize=0.0)
    equal(clf.coef_[0], expected, 1e-6)
    assert clf.objective_ == pytest.approx(oracle.objective(expected, ALPHA, 0.5), rel=1e-11)
    assert clf.optimality_ <= 1e-12


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_sketches(data, form, tau):
    X, y, weight = data
    oracle = Within(*data, tau=number(tau, y, weight))
    directions = Exact("frequent_directions", rank=6)  # as many as features: nothing is lost
    clf = fitted(data, form, tau, solver=directions, standardize=0.0)
    equal(clf.coef_[0], l2_optimum(oracle, ALPHA), 1e-9)
    sketch = FrequentDirections.from_data(X, y, weight, rank=6)
    known = AUCClassifier(ALPHA, within=tau, standardize=0.0).fit_moments(sketch)
    equal(known.coef_, clf.coef_, 1e-9)
    stream = clone(clf).partial_fit(X[:25], y[:25], sample_weight=weight[:25])
    stream.partial_fit(X[25:], y[25:], sample_weight=weight[25:])
    equal(stream.coef_, clf.coef_, 1e-9)
    H = oracle.hessian()
    outer = np.outer(oracle.delta, oracle.delta)
    diagonal = np.diag(np.diag(H - outer)) + outer + ALPHA * np.eye(6)
    clf = fitted(data, form, tau, solver=Exact("diagonal"), standardize=0.0)
    equal(clf.coef_[0], np.linalg.solve(diagonal, oracle.delta), 1e-9)
    assert clf.objective_ == pytest.approx(oracle.objective(clf.coef_[0], ALPHA, 0.0), rel=1e-12)


@pytest.mark.parametrize("tau", [0.0, 0.1, 1.0])
def test_paths_of_alpha(data, tau):
    alphas = np.array([1e-12, 1e-2, 1.0])
    oracle = Within(*data, gamma=1.0, tau=tau)
    problem = problem_of(*data, gamma=1.0).weighing(tau)
    expected = np.array([l2_optimum(oracle, alpha) for alpha in alphas])
    found, quality = ConjugateGradient().solve_path(problem, alphas[1:], tol=1e-13)
    equal(found, expected[1:], 1e-6)
    assert quality.max() <= 1e-13
    known = MomentsProblem(problem.moments()).scaled(1.0).weighing(tau)
    equal(Exact().solve_path(known, alphas), expected, 1e-7)
    equal(Exact().solve_path(known, alphas[1:]), expected[1:], 1e-9)


def test_conjugate_gradient_starts_from_correlations_of_the_same_tau(data):
    X, y, weight = data
    goal = Objective(problem_of(*data), Square(0.1), ElasticNet(ALPHA, 0.0))
    part = goal.problem.sample(5)
    assert part.n_samples < 60
    some = np.concatenate([np.flatnonzero(y == s)[:: np.sum(y == s) // 5] for s in (1, -1)])
    equal(goal.data_hessian(part), Within(X[some], y[some], weight[some], tau=0.1).hessian(), 1e-12)


@pytest.mark.parametrize("tau", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("d", [4, 80])
def test_the_gap_is_a_bound(tau, d):
    """Also where the spread that counts has a null space, of the class with the weight or both."""
    X, y = rows(5, n=50, d=d, share=0.1)
    oracle = Within(X, y, tau=tau)
    for rho in (0.0, 0.4, 1.0):
        optimum = oracle.objective(elastic_net_optimum(oracle, ALPHA, rho), ALPHA, rho)
        goal = Objective(problem_of(X, y, None), Square(tau), ElasticNet(ALPHA, rho))
        for size in (1e-3, 0.1, 3.0):
            w = size * np.random.RandomState(0).randn(d)
            value, gradient = goal.data_term(w)
            gap = goal.gap(value, gradient, w)
            lost = oracle.objective(w, ALPHA, rho) - optimum
            assert lost <= gap * (1 + 1e-9) <= oracle.objective(w, ALPHA, rho) * (1 + 1e-8)


@pytest.mark.parametrize("tau", [0.0, 1.0])
def test_without_a_penalty_and_with_a_null_space(tau):
    X, y = rows(6, n=30, d=12, share=0.2)
    oracle = Within(X, y, tau=tau)
    w = AUCClassifier(0.0, within=tau, standardize=0.0).fit(X, y).coef_[0]
    equal(oracle.hessian() @ w, oracle.delta, 1e-9)


# ---- what it stands for ------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_pooled_is_fishers_discriminant(data, solver):
    X, y, _ = data
    lda = LinearDiscriminantAnalysis(solver=solver).fit(X, y).coef_[0]
    w = AUCClassifier(0.0, within="pooled").fit(X, y).coef_[0]
    equal(w / np.linalg.norm(w), lda / np.linalg.norm(lda), 1e-9)


# ---- other losses of the mean gap and the variance ---------------------------------------

# L(g, v) of the gap of the mean scores and their variance; all fall in g and grow in v > 0.
LOSSES_OF_MOMENTS = {
    "binormal": lambda g, v: -norm.logcdf(g / np.sqrt(1 + v)),
    "softplus": lambda g, v: np.logaddexp(0, 1 - g) + v,
    "fisher": lambda g, v: -(g**2) / (1 + v),
    "exponential": lambda g, v: np.exp(v / 2 - g),  # the mean of exp(−t), t normal
    "hinge": lambda g, v: (  # the mean of max(0, 1 − t), t normal
        (1 - g) * norm.cdf((1 - g) / np.sqrt(v)) + np.sqrt(v) * norm.pdf((1 - g) / np.sqrt(v))
    ),
}


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("name", LOSSES_OF_MOMENTS)
def test_a_loss_of_gap_and_variance_ends_on_the_path_of_the_square_loss(data, name, tau, gamma):
    X, y, _ = data
    loss, alpha, h = LOSSES_OF_MOMENTS[name], 0.02, 1e-5
    scale = X.var(axis=0) ** (-gamma / 2)
    if gamma:  # two rows are 2 apart in mean square
        scale /= np.sqrt((X * scale).var(axis=0).sum())
    positive, negative = (X * scale)[y == 1], (X * scale)[y == -1]
    gap = positive.mean(axis=0) - negative.mean(axis=0)
    V = 2 * (tau * np.cov(positive.T, ddof=0) + (1 - tau) * np.cov(negative.T, ddof=0))

    def slopes(w):
        g, v = w @ gap, w @ V @ w
        by_gap = (loss(g + h, v) - loss(g - h, v)) / (2 * h)
        by_variance = (loss(g, v + h) - loss(g, v - h)) / (2 * h)
        return by_gap, by_variance

    def gradient(w):
        by_gap, by_variance = slopes(w)
        return by_gap * gap + 2 * by_variance * V @ w + alpha * w

    def objective(w):
        return loss(w @ gap, w @ V @ w) + alpha / 2 * w @ w

    start = gap / np.sqrt(gap @ V @ gap)
    w = root(gradient, minimize(objective, start, jac=gradient).x, tol=1e-13).x
    by_gap, by_variance = slopes(w)
    assert by_gap < 0 < by_variance
    assert objective(w) < objective(start)
    square = AUCClassifier(alpha / (2 * by_variance), within=tau, standardize=gamma).fit(X, y)
    ours, theirs = square.coef_[0], w * scale
    equal(theirs / np.linalg.norm(theirs), ours / np.linalg.norm(ours), 1e-6)


def test_swapped_labels_swap_the_classes(data):
    X, y, weight = data
    one = AUCClassifier(ALPHA, within=0.2).fit(X, y, sample_weight=weight)
    other = AUCClassifier(ALPHA, within=0.8, positive=-1).fit(X, y, sample_weight=weight)
    equal(other.coef_, -one.coef_, 1e-12)


# ---- from moments ------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.1, "pooled"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_moments_streams_and_forgetting(data, tau, covariance, tmp_path):
    X, y, weight = data
    kind = ClassMoments if covariance == "full" else DiagonalMoments

    def model():
        return AUCClassifier(ALPHA, within=tau, standardize=0.5, solver=Exact(covariance))

    first, rest = slice(0, 25), slice(25, None)
    whole, part = (model().fit(X[k], y[k], weight[k]) for k in (slice(None), first))
    merged = sum(kind.from_data(X[k], y[k], weight[k]) for k in (first, rest))
    equal(model().fit_moments(merged).coef_, whole.coef_)
    save(part, tmp_path / "part")
    stream = load(tmp_path / "part")
    assert stream.within == tau
    stream.partial_fit(sp.csr_array(X[rest]), y[rest], sample_weight=weight[rest])
    equal(stream.coef_, whole.coef_)
    equal(stream.forget(X[rest], y[rest], weight[rest]).coef_, part.coef_)


# ---- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize("tau", [-0.1, 1.5, np.nan, True, None, "x"])
def test_a_number_out_of_range(data, tau):
    message = f"within, unless it is 'pooled', must be a number in [0, 1]; got {tau!r}."
    with pytest.raises(ValueError, match=re.escape(message)):
        AUCClassifier(within=tau).fit(*data[:2])


@pytest.mark.parametrize("tau", [0.1, "pooled"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_other_losses_have_none(data, loss, tau):
    message = f"within={tau!r} is for loss='square' or 'logistic'; leave it at 0.5 with {loss=}."
    with pytest.raises(ValueError, match=re.escape(message)):
        AUCClassifier(loss=loss, within=tau).fit(*data[:2])


@pytest.mark.parametrize("tau", [0.0, 1.0, 0, 1, 5e-324])
def test_the_logistic_loss_needs_both_classes(data, tau):
    message = f"within={tau!r} leaves out a class, but loss='logistic' needs both; give "
    with pytest.raises(ValueError, match=re.escape(message)):
        AUCClassifier(loss="logistic", within=tau).fit(*data[:2])


@pytest.mark.parametrize("rare", [0, 1])
def test_the_logistic_loss_needs_weight_in_both_classes(data, rare):
    X, y = data[:2]
    weight = np.where(y == np.unique(y)[rare], 1e-310, 1.0)
    message = "within='pooled' leaves out a class, but loss='logistic' needs both; give "
    with pytest.raises(ValueError, match=message):
        AUCClassifier(loss="logistic", within="pooled").fit(X, y, weight)
    fit = AUCClassifier(loss="logistic", within=0.1).fit(X, y, weight)
    assert fit.optimality_ <= fit.tol


@pytest.mark.parametrize("tau", [0.1, "pooled"])
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name in STOCHASTIC])
def test_stochastic_solvers_name_those_that_take_it(data, solver, tau):
    clf = AUCClassifier(within=tau, solver=solver)
    for call in (clf.fit, clf.partial_fit):
        with pytest.raises(ValueError, match=f"loss='square', within={tau!r} with") as told:
            call(*data[:2])
        assert "it takes within=0.5 only; these do: 'exact', 'conjugate" in str(told.value)
