"""Newton's method for the squared hinge against the explicit sum over pairs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from aucmax import AUCClassifier, AUCClassifierCV, ClassMoments, datasets, metrics
from aucmax.data.rows import as_rows, take_rows
from aucmax.estimators import tuning
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES, ActivePairs
from aucmax.objective.penalties import L2, ElasticNet
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import Monitor, Newton, Run
from aucmax.solvers.batch import krylov, proximal_newton
from aucmax.solvers.batch.coordinate_descent import on_matrix
from aucmax.solvers.batch.expansion import Expansion, PartExpansions
from aucmax.solvers.batch.krylov import minimise
from aucmax.solvers.batch.working_set import decrement, decrement_by_products, working_set
from oracles import rows
from oracles.pairs import Pairs, elastic_net_optimum


def problem(seed, n=80, d=6):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d) @ rng.randn(d, d) + 3
    y = (X @ rng.randn(d) + 2 * rng.randn(n) > 4).astype(int)
    y[:2] = 0, 1
    return X, y, rng.randint(0, 3, n) + (np.arange(n) < 2)


def optimum(pairs, alpha):
    """Minimise the explicit sum over pairs: BFGS, then Newton steps on its active pairs."""

    def value(w):
        gradient = pairs.gradient(w, "squared_hinge") + alpha * w
        return pairs.data_term(w, "squared_hinge") + 0.5 * alpha * w @ w, gradient

    w = minimize(value, np.zeros(pairs.D.shape[1]), jac=True, method="L-BFGS-B").x
    for _ in range(50):
        active = pairs.q * (pairs.D @ w < 1)
        H = (pairs.D * active[:, None]).T @ pairs.D + alpha * np.eye(len(w))
        w = np.linalg.solve(H, pairs.D.T @ active)
    assert np.abs(value(w)[1]).max() < 1e-12
    return w


@pytest.mark.covering
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_equals_the_minimiser_of_the_explicit_pair_sum(seed, sparse, gamma):
    X, y, weight = problem(seed)
    X = np.where(np.abs(X) > 2, X, 0) if sparse else X
    pairs = Pairs(X, y, weight, gamma)
    for alpha in (1e-3, 1e-1):
        clf = AUCClassifier(alpha, loss="squared_hinge", standardize=gamma, tol=1e-15)
        clf.fit(sp.csr_matrix(X) if sparse else X, y, weight)
        best = optimum(pairs, alpha)
        assert clf.solver_ == "newton"
        scale = np.abs(pairs.to_features(best)).max()
        assert clf.coef_[0] == pytest.approx(pairs.to_features(best), abs=1e-7 * scale)
        assert clf.objective_ == pytest.approx(
            pairs.data_term(best, "squared_hinge") + 0.5 * alpha * best @ best, rel=1e-10
        )


def test_invariances():
    X, y, weight = problem(0)

    def fit(X, weight, gamma=0.5):
        clf = AUCClassifier(1e-2, loss="squared_hinge", standardize=gamma, tol=1e-12)
        return clf.fit(X, y, weight)

    one, plain = fit(X, weight), fit(X, weight, 0.0)
    for other, same in (
        (fit(X + np.arange(6.0), weight), one),
        (fit(X, weight * np.where(y == 1, 5.0, 1.0), 0.0), plain),
    ):
        assert other.objective_ == pytest.approx(same.objective_, rel=1e-9)
        assert other.coef_ == pytest.approx(same.coef_, rel=1e-6, abs=1e-9)
    flipped = AUCClassifier(1e-2, loss="squared_hinge", standardize=0.0, tol=1e-12)
    assert flipped.fit(X, 1 - y, weight).coef_ == pytest.approx(-plain.coef_, rel=1e-6, abs=1e-9)


def test_more_features_than_rows_and_float32():
    X, y, weight = problem(1, n=40, d=60)
    clf = AUCClassifier(1e-2, loss="squared_hinge", standardize=0.0, tol=1e-10).fit(X, y, weight)
    assert clf.optimality_ < 1e-10
    low = AUCClassifier(1e-2, loss="squared_hinge", standardize=0.0, tol=1e-8).fit(
        X.astype("f4"), y, weight
    )
    assert low.objective_ == pytest.approx(clf.objective_, rel=1e-4, abs=1e-7)


def test_a_perfectly_ranked_start_is_left_alone():
    X = np.r_[-np.ones((5, 1)), np.ones((5, 1))]
    y = np.repeat([0, 1], 5)
    clf = AUCClassifier(0.0, loss="squared_hinge").fit(X, y)
    assert clf.objective_ == pytest.approx(0, abs=1e-20)


PATHS = {
    "matrix": {},
    "products": {"MAX_MATRIX_FEATURES": 0},
    "sparse columns": {"MIN_DENSITY": 2.0},
}


@pytest.fixture(params=PATHS)
def path(request, monkeypatch):
    """How models with an l1 part are minimised, and how the columns are held."""
    for name, value in PATHS[request.param].items():
        monkeypatch.setattr(proximal_newton, name, value)
    return request.param


@pytest.mark.covering
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_elastic_net_optimum_of_the_explicit_pair_sum(seed, sparse, rho, path):
    X, y, weight = problem(seed)
    X = np.where(np.abs(X) > 2, X, 0) if sparse else X
    pairs = Pairs(X, y, weight, 0.5)
    for alpha in (1e-3, 3e-2):
        clf = AUCClassifier(alpha, rho, loss="squared_hinge", standardize=0.5, tol=1e-14)
        clf.fit(sp.csr_matrix(X) if sparse else X, y, weight)
        best = elastic_net_optimum(pairs, alpha, rho, "squared_hinge")
        assert clf.solver_ == "newton"
        scale = np.abs(pairs.to_features(best)).max()
        assert clf.coef_[0] == pytest.approx(pairs.to_features(best), abs=1e-7 * scale)
        assert np.array_equal(clf.coef_[0] == 0, np.abs(best) < 1e-9)
        assert clf.objective_ == pytest.approx(
            pairs.objective(best, alpha, rho, "squared_hinge"), rel=1e-10
        )


def test_a_run_that_need_not_be_sure_does_not_look_twice(monkeypatch):
    looks = []
    probe = krylov.Preconditioner.probe
    monkeypatch.setattr(
        krylov.Preconditioner, "probe", lambda *how: looks.append(how) or probe(*how)
    )
    X, y, _ = problem(3, n=300)
    rows = RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0))
    objective = Objective(rows, LOSSES["squared_hinge"], ElasticNet(1e-6, 0.0))
    best = Newton().solve(objective, None, Run(Monitor(objective), 1e-12)).value
    for sure in (True, False):
        looks.clear()
        result = Newton().solve(objective, None, Run(Monitor(objective), 1e-6, sure=sure))
        assert bool(looks) == sure
        assert result.value - best <= 1e-6 * (objective.at_zero - best)
    AUCClassifierCV((1e-6, 1e-5), losses=("squared_hinge",), cv=2).fit(X, y)
    assert len(looks) <= 1  # that of the refit


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("length", [0.1, 1.0, 10.0, -1.0])
def test_a_start_counts_by_its_direction(loss, length):
    """The optimum of another loss may be far too short or long, and still as good a start."""
    X, y, _ = problem(3, n=300)
    rows = RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0)).scaled(1.0)
    objective = Objective(rows, LOSSES[loss], ElasticNet(1e-3, 0.0))
    run = Run(Monitor(objective), tol=1e-9)
    cold = Newton().solve(objective, None, run)
    warm = Newton().solve(objective, length * cold.coef, run)
    assert np.allclose(warm.coef, cold.coef, rtol=1e-3, atol=1e-5)
    assert warm.value <= cold.value * (1.0 + 1e-8)
    if length > 0.0:
        assert warm.n_iter <= cold.n_iter
    if length == 1.0 or (length > 0.0 and loss == "logistic"):
        assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize("sparse", [False, True])
def test_working_sets_grow_to_the_optimum(sparse, path, monkeypatch):
    """More features than the first set holds, and more than rows."""
    monkeypatch.setattr(proximal_newton, "FIRST_SET_FEATURES", 4)
    rng = np.random.RandomState(0)
    X = rng.randn(120, 150) * (rng.rand(120, 150) < 0.3)
    y = (X[:, :30] @ rng.randn(30) + 0.3 * rng.randn(120) > 0).astype(int)
    pairs = Pairs(X, y)
    rho = 0.7 if sparse else 1.0
    clf = AUCClassifier(
        2e-3, rho, loss="squared_hinge", standardize=0.0, tol=1e-14, max_iter=20_000
    )
    clf.fit(sp.csr_matrix(X) if sparse else X, y)
    assert 20 < np.count_nonzero(clf.coef_) < 150
    assert pairs.optimality(clf.coef_[0], 2e-3, rho, "squared_hinge") <= 1e-7


def test_the_model_over_a_set_is_the_second_derivative_over_pairs():
    X, y, weight = problem(3)
    pairs = Pairs(X, y, weight, 0.5)
    sign = np.where(y == 1, 1.0, -1.0)
    w, S = np.random.RandomState(0).randn(6), np.array([0, 2, 5])
    for form in (np.asarray, sp.csr_array):
        scaled = RowsProblem.of(as_rows(form(X)), sign, weight).scaled(0.5)
        goal = Objective(scaled, LOSSES["squared_hinge"], ElasticNet(0.1))
        part = proximal_newton.ColumnSet(goal, S)
        at = goal.at(scaled.scores(w))
        expected = pairs.hessian(w, "squared_hinge")[np.ix_(S, S)]
        assert part.hessian(at) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("few", [0, 10**6])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_set_may_use_the_columns_of_all_features(loss, few, monkeypatch):
    monkeypatch.setattr(proximal_newton, "_FEW_ENTRIES", few)
    monkeypatch.setattr(proximal_newton, "_FEW_HELD_ENTRIES", few)
    X, y, weight = problem(3)
    data = RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0), weight).scaled(0.5)
    goal = Objective(data, LOSSES[loss], ElasticNet(0.1))
    S, rng = np.array([0, 2, 5]), np.random.RandomState(0)
    at, v = goal.at(data.scores(rng.randn(6))), rng.randn(3)
    part = proximal_newton.ColumnSet(goal, S)
    shared = proximal_newton.ColumnSet(goal, S, proximal_newton.ColumnSet(goal, np.arange(6)))
    assert shared.entries == part.entries
    for one, other in (
        (shared.matrix, part.matrix),
        (shared.scores(v), part.scores(v)),
        (shared.slopes(at.gradient), part.slopes(at.gradient)),
        (shared.slopes(at.gradient, np.array([0, 2])), part.slopes(at.gradient)[[0, 2]]),
        (shared.product(at, v), part.product(at, v)),
        (shared.hessian(at), part.hessian(at)),
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_matrix_of_the_active_pairs_is_the_second_derivative(sparse, gamma):
    X, y, weight = problem(3)
    X, w = np.where(X > 3, X, 0.0) if sparse else X, np.random.RandomState(0).randn(6)
    rows = as_rows(sp.csr_array(X) if sparse else X)
    scaled = RowsProblem.of(rows, np.where(y == 1, 1.0, -1.0), weight).scaled(gamma)
    goal = Objective(scaled, LOSSES["squared_hinge"], ElasticNet(0.1))
    there = goal.at(scaled.scores(w))
    assert isinstance(there, ActivePairs)
    expected = Pairs(X, y, weight, gamma).hessian(w, "squared_hinge")
    assert goal.bend_matrix(there) == pytest.approx(expected, abs=1e-11)


@pytest.mark.covering(1)
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("by_matrix", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("count", [1, 3])
def test_parts_are_a_step_from_the_optimum_of_all_rows(loss, by_matrix, sparse, count, monkeypatch):
    """What is told to be left is about what is left, and that is far less than before."""
    if not by_matrix:
        monkeypatch.setattr("aucmax.solvers.batch.expansion.MAX_PRODUCTS_PER_MATRIX", 0)
    X, y, weight = problem(3, n=2000)
    sign, fold = np.where(y == 1, 1.0, -1.0), np.arange(2000) % 5
    form = sp.csr_array if sparse else np.asarray
    rows, weight = as_rows(form(np.where(X > 3.0, X, 0.0) if sparse else X)), weight + 1.0
    whole = RowsProblem.of(rows, sign, weight).scaled(0.5)
    everything = Objective(whole, LOSSES[loss], L2(1e-2))
    v = Newton().solve(everything, None, Run(Monitor(everything), 1e-6)).coef
    centre, parts, views = Expansion(everything, v), [], []
    for k in range(count):
        some = np.flatnonzero(fold != k)
        own = RowsProblem.of(take_rows(rows, some), sign[some], weight[some])
        parts.append(Objective(own.scaled(0.5), LOSSES[loss], L2(1e-2)))
        view = whole.part(some, own.moments()).scaled(0.5)
        views.append(Objective(view, LOSSES[loss], L2(1e-2)))
    expansions = PartExpansions(centre, views)
    assert (centre.matrix is not None) == by_matrix
    for alpha in (1e-2, 5e-3):
        W, optimality = expansions.optima(alpha, 1e-4, 1000)
        for part, view, w, left in zip(parts, views, W, optimality, strict=True):
            goal = part.with_penalty(L2(alpha))
            start = part.problem.from_features(whole.to_features(v))
            best = Newton().solve(goal, None, Run(Monitor(goal), 1e-10)).value
            assert view.with_penalty(L2(alpha)).value(w) == pytest.approx(goal.value(w), rel=1e-9)
            assert goal.value(w) - best <= 3.0 * left * (goal.at_zero - best)
            assert goal.value(w) - best <= 0.2 * (goal.value(start) - best)
            assert left < 0.01


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_parts_have_the_penalty_of_their_own_scale(loss):
    """Outliers that a part leaves out stretch a feature of all rows, and so its coordinates."""
    X, y, _ = problem(6, n=2000)
    sign, some = np.where(y == 1, 1.0, -1.0), np.flatnonzero(np.arange(2000) % 5)
    X[::5, 0] = X[some, 0].mean() + 2.0 * (X[::5, 0] - X[some, 0].mean())
    whole = RowsProblem.of(as_rows(X), sign).scaled(1.0)
    everything = Objective(whole, LOSSES[loss], L2(0.1))
    v = Newton().solve(everything, None, Run(Monitor(everything), 1e-6)).coef
    own = RowsProblem.of(as_rows(X[some]), sign[some])
    view = Objective(whole.part(some, own.moments()).scaled(1.0), LOSSES[loss], L2(0.1))
    (w, _), optimality = PartExpansions(Expansion(everything, v), [view, view]).optima(
        0.1, 1e-8, 1000
    )
    assert np.all(optimality <= 1e-8)
    goal = Objective(own.scaled(1.0), LOSSES[loss], L2(0.1))
    best = Newton().solve(goal, None, Run(Monitor(goal), 1e-11)).value
    assert goal.value(w) - best <= 1e-7 * (goal.at_zero - best)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_parts_far_from_their_optimum_take_more_steps(loss):
    """Few rows of a class: one step does not suffice, the next ones do."""
    X, _, _ = problem(5, n=2000, d=30)
    sign = np.where(np.arange(2000) < 400, 1.0, -1.0)
    rows = as_rows(X + 0.5 * (sign[:, None] > 0.0))
    whole = RowsProblem.of(rows, sign).scaled(0.5)
    everything = Objective(whole, LOSSES[loss], L2(1e-3))
    v = Newton().solve(everything, None, Run(Monitor(everything), 1e-6)).coef
    parts = []
    for k in range(2):
        some = np.flatnonzero(np.arange(2000) % 5 != k)
        moments = RowsProblem.of(take_rows(rows, some), sign[some]).moments()
        parts.append(Objective(whole.part(some, moments).scaled(0.5), LOSSES[loss], L2(1e-3)))
    expansions = PartExpansions(Expansion(everything, v), parts)
    first = expansions.step(1e-3, 1e-6, 1000)[1]
    W, last = expansions.optima(1e-3, 1e-6, 1000)
    assert np.all(first > 1e-6)
    assert np.all(last <= 1e-6)
    for part, w in zip(parts, W, strict=True):
        best = Newton().solve(part, None, Run(Monitor(part), 1e-10)).value
        assert part.value(w) - best <= 1e-5 * (part.at_zero - best)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_path_keeps_what_the_last_penalty_left(loss, monkeypatch):
    """Every optimum is as good as one solved by itself, with fewer matrices than penalties."""
    X, y, weight = problem(7, n=500, d=40)
    data = RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0), weight + 1.0).scaled(1.0)
    one = Objective(data, LOSSES[loss], ElasticNet(1.0, 1.0))
    alphas = float(np.abs(one.slope_at_zero).max()) * np.logspace(-3.0, 0.0, 40)
    objectives = [one.with_penalty(ElasticNet(alpha, 1.0)) for alpha in alphas]
    monkeypatch.setattr(proximal_newton, "FIRST_SET_FEATURES", 4)
    matrices, hessian = [], proximal_newton.ColumnSet.hessian
    monkeypatch.setattr(
        proximal_newton.ColumnSet,
        "hessian",
        lambda part, term: matrices.append(hessian(part, term)) or matrices[-1],
    )
    W, messages = tuning.path(objectives, alphas, 1e-6, 1000, None)
    assert not messages
    assert 0 < len(matrices) < len(alphas)
    assert sum(map(len, matrices)) < 20 * X.shape[1]  # columns: those of twenty matrices of all
    for goal, w in list(zip(objectives, W, strict=True))[:-1:8]:
        best = Newton().solve(goal, None, Run(Monitor(goal), 1e-11)).value
        assert goal.value(w) - best <= 1e-6 * (goal.at_zero - best)


def test_a_feature_in_no_active_pair_goes_to_zero():
    """J depends on its coefficient by the penalty alone, which no second derivative shows."""
    X = np.array([[9.0, 1.0], [1.0, 0.0], [0.4, 0.0], [0.0, 0.0], [0.3, 0.0]])
    sign = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    data = RowsProblem.of(as_rows(X), sign)
    goal = Objective(data, LOSSES["squared_hinge"], ElasticNet(1e-3, 1.0))
    w = np.array([1.0, 0.5])
    part = proximal_newton.ColumnSet(goal, np.arange(2))
    H, gradient = part.bend(goal.at(data.scores(w))), goal.data_gradient(w)
    assert H[1, 1] == gradient[1] == 0.0
    assert decrement(H, gradient, w, goal.penalty) >= 2.0 * 1e-3 * w[1]
    solved = Newton().solve(goal, w, Run(Monitor(goal), 1e-9))
    assert solved.coef[1] == 0.0
    best = Newton().solve(goal, None, Run(Monitor(goal), 1e-11))
    assert goal.value(solved.coef) <= goal.value(best.coef) * (1.0 + 1e-9)


def test_an_earlier_second_derivative_is_a_share_of_that_at_a_point():
    """The second derivative less its share is nowhere negative."""
    X, y, weight = problem(8, n=300, d=5)
    data = RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0), weight + 1.0).scaled(1.0)
    goal = Objective(data, LOSSES["logistic"], L2(1e-2))
    part, rng = proximal_newton.ColumnSet(goal, np.arange(5)), np.random.RandomState(0)
    z = data.scores(rng.randn(5))
    earlier = part.bend(goal.at(z))
    assert part.share(goal.at(z)) == 1.0
    for size in (0.01, 0.3, 3.0):
        there = goal.at(z + data.scores(size * rng.randn(5)))
        share = part.share(there)
        assert 0.0 < share < 1.0
        assert np.linalg.eigvalsh(part.hessian(there) - share * earlier).min() >= -1e-12
    hinge = Objective(data, LOSSES["squared_hinge"], L2(1e-2))
    assert proximal_newton.ColumnSet(hinge, np.arange(5)).share(hinge.at(z)) == 0.0


def test_features_that_leave_a_kink_count_in_the_decrement():
    """It bounds what the model can gain where their coefficients may only move to one side."""
    rng = np.random.RandomState(0)
    A = rng.randn(40, 6)
    H, target, penalty = A.T @ A, rng.randn(6), ElasticNet(20.0, 0.9)
    b, w = H @ target, np.zeros(6)
    w[:2] = on_matrix(H[:2, :2], -b[:2], penalty, np.zeros(2), 1e-14, 10_000)[0]
    gradient = H @ w - b
    assert np.any(np.abs(gradient[2:]) > penalty.l1)
    least, reached = on_matrix(H, gradient, penalty, w, 1e-14, 10_000)[::2]
    assert reached

    def value(v):
        return 0.5 * (v - target) @ H @ (v - target) + penalty.value(v)

    assert value(w) - value(least) > 0.1
    left = decrement(H, gradient, w, penalty)
    assert value(w) - value(least) <= 0.5 * left * (1.0 + 1e-12) < np.inf
    by_products = decrement_by_products(lambda v: H @ v, np.diag(H), gradient, w, penalty)
    assert by_products == pytest.approx(left, rel=1.0)
    assert by_products >= 0.99 * left


def test_a_working_set_holds_what_will_join_the_support_next():
    """First what promises a gain, then what is nearest to doing so."""
    penalty, w = ElasticNet(1.0, 1.0), np.zeros(8)
    w[5] = 0.1
    gradient = np.array([0.1, -0.9, 1.5, 0.5, -0.2, -1.0, 0.95, 0.0])
    promise = penalty.promise(gradient, w, np.ones(8))
    chosen = [working_set(promise, gradient, w, penalty, size).tolist() for size in (1, 2, 3, 9)]
    assert chosen == [[2, 5], [2, 5, 6], [1, 2, 5, 6], list(range(8))]


def test_systems_solved_together_are_those_solved_by_themselves():
    rng = np.random.RandomState(0)
    matrices = [np.eye(6) + (B := rng.randn(6, 6)) @ B.T * scale for scale in (0.0, 0.1, 3.0)]
    right = [rng.randn(6) for _ in matrices]

    def enough(gained, left):
        return left <= 1e-12 * gained

    def products(V, which):
        asked.append(which)
        return np.column_stack([matrices[k] @ v for k, v in zip(which, V.T, strict=True)])

    asked = []
    systems = [krylov.steps(b, np.copy, enough, 50) for b in right]
    for model, A, b in zip(
        krylov.minimise_together(products, systems), matrices, right, strict=True
    ):
        alone = minimise(lambda v, A=A: A @ v, b, np.copy, enough, 50)
        np.testing.assert_array_equal(model.x, alone.x)
        np.testing.assert_allclose(model.x, np.linalg.solve(A, b), rtol=1e-5)
    assert asked[0] == [0, 1, 2]
    assert asked[-1] != asked[0]  # one that has ended asks for no more


@pytest.mark.covering(1)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ulps", [-1, 0, 1])
def test_products_find_the_support_at_a_fraction_of_the_budget(seed, ulps, monkeypatch):
    """Whatever the rounding: the warning that the products are used up is an error."""
    X, y, weight = problem(seed, n=300, d=40)
    signs = np.random.RandomState(seed).choice([-1, 1], X.shape)
    X = np.nextafter(X, ulps * signs * np.inf) if ulps else X
    settings = dict(loss="squared_hinge", standardize=0.0, tol=1e-13)
    best = AUCClassifier(1e-2, 0.5, **settings).fit(X, y, weight)
    monkeypatch.setattr(proximal_newton, "MAX_MATRIX_FEATURES", 0)
    clf = AUCClassifier(1e-2, 0.5, **settings, max_iter=700).fit(X, y, weight)
    assert clf.objective_ == pytest.approx(best.objective_, rel=1e-12)
    assert clf.coef_ == pytest.approx(best.coef_, abs=1e-7)


def test_history_warm_start_and_stopping_with_an_l1_part(path):
    X, y, weight = problem(4, n=200, d=20)
    settings = dict(loss="squared_hinge", standardize=0.0, tol=1e-13)
    clf = AUCClassifier(1e-2, 0.5, **settings, warm_start=True, callback=lambda progress: False)
    clf.fit(X, y, weight)
    assert np.all(np.diff(clf.history_["objective"]) <= 1e-12)
    assert np.all(np.diff(clf.history_["passes"]) > 0)
    plain = AUCClassifier(1e-2, 0.5, **settings).fit(X, y, weight)
    assert clf.coef_ == pytest.approx(plain.coef_, abs=1e-7)
    assert clf.fit(X, y, weight).n_iter_ == 1
    stopped = AUCClassifier(1e-2, 0.5, **settings, callback=lambda progress: True)
    assert stopped.fit(X, y, weight).n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match=r"Newton's method stopped after \d+ products"):
        AUCClassifier(1e-6, 0.5, loss="squared_hinge", tol=1e-14, max_iter=1).fit(X, y)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "how"),
    [pytest.param("a9a", None, marks=pytest.mark.exhaustive), ("news20", "even-odd")],
)
def test_an_elastic_net_on_real_data(name, how):
    data = datasets.load(name, split="train", binarize=how, scale="unit-norm")
    for rho in (0.5, 1.0):
        clf = AUCClassifier(1e-3, rho, loss="squared_hinge").fit(data.data, data.target)
        assert clf.optimality_ <= 1e-4
        assert clf.n_iter_ < 20
        assert 10 < np.count_nonzero(clf.coef_) < 1000


def test_limits_and_what_it_cannot_do():
    X, y, _ = problem(2, n=200, d=30)
    with pytest.warns(ConvergenceWarning, match="Newton's method stopped after"):
        AUCClassifier(1e-8, loss="squared_hinge", max_iter=1, tol=1e-14).fit(X, y)
    clf = AUCClassifier(loss="squared_hinge")
    with pytest.raises(ValueError, match="no solver takes class moments alone"):
        clf.fit_moments(ClassMoments.from_data(X, y))
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        clf.partial_fit(X, y)
    assert "needs all rows at once" in str(caught.value.__cause__)
    for settings, name in (({"tol": -1}, "tol"), ({"max_iter": 0}, "max_iter")):
        solver = Newton(**settings)
        with pytest.raises(ValueError, match=f"{name} of Newton must be a"):
            AUCClassifier(loss="squared_hinge", solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="'exact' does not take loss='squared_hinge'"):
        AUCClassifier(loss="squared_hinge", solver="exact").fit(X, y)
    with pytest.raises(ValueError, match="'newton' does not take loss='square'"):
        AUCClassifier(solver="newton").fit(X, y)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "how", "alpha"),
    [
        ("a9a", None, 1e-5),
        pytest.param("mnist", "even-odd", 1e-5, marks=pytest.mark.exhaustive),
    ],
)
def test_reaches_logistic_regression_where_the_square_loss_does_not(name, how, alpha):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedShuffleSplit

    data = datasets.load(name, split="train", binarize=how, scale="unit-norm")
    X, y = data.data, data.target
    split = StratifiedShuffleSplit(1, test_size=0.2, random_state=0)
    train, test = next(split.split(X, y))
    aucs = [
        metrics.roc_auc(y[test], model.fit(X[train], y[train]).decision_function(X[test]))
        for model in (
            LogisticRegression(C=10, class_weight="balanced", max_iter=1000),
            AUCClassifier(alpha, standardize=0.0),
            AUCClassifier(alpha, loss="squared_hinge", standardize=0.0),
        )
    ]
    assert aucs[2] > aucs[0] - 0.0005
    assert aucs[2] > aucs[1] + 0.0005


def test_features_almost_too_small_to_square_end():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    for size in (1e-100, 1e-130, 1e-149):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf = AUCClassifier(loss="squared_hinge", max_iter=50).fit(X * size, y)
        assert np.all(np.isfinite(clf.coef_))
        assert clf.n_iter_ <= 10  # a step that moves nothing is the last


def test_an_inner_system_stops_where_little_is_left():
    rng = np.random.RandomState(1)
    A = np.diag(np.geomspace(1.0, 1e-4, 30))
    A += 1e-6 * np.ones((30, 30))
    b = rng.normal(size=30)
    lowest = -0.5 * b @ np.linalg.solve(A, b)
    floor = np.linalg.eigvalsh(A)[0]

    def solve(share):
        return minimise(
            lambda v: A @ v, b, lambda v: v, lambda gained, left: left <= share * gained, 500,
            floor=floor * (1 - 1e-9),
        )  # fmt: skip

    for share in (0.3, 1e-2, 1e-6):
        found = solve(share)
        value = 0.5 * found.x @ A @ found.x - b @ found.x
        assert found.gained == pytest.approx(-value, rel=1e-9)
        assert value - lowest <= found.left * (1 + 1e-9) + 1e-9 * abs(lowest)
        assert found.left <= share * found.gained
    assert solve(0.3).steps < solve(1e-6).steps
    np.testing.assert_allclose(A @ solve(1e-20).x, b, atol=1e-8)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_features_far_from_zero_are_fitted_as_well_as_others(loss, l1_ratio):
    X, y, weight = problem(1, n=300)
    far = X + 1e8
    how = {"alpha": 1e-2, "l1_ratio": l1_ratio, "loss": loss, "standardize": 0.0}
    # the same rows, with the digits that are left
    best = AUCClassifier(**how, tol=1e-12).fit(far - 1e8, y, weight)
    lowest, nothing = best.objective_, LOSSES[loss].at_zero
    clf = AUCClassifier(**how, tol=1e-6).fit(far, y, weight)
    assert clf.optimality_ <= 1e-6  # and is true, as far as J has digits
    assert clf.objective_ - lowest <= clf.optimality_ * (nothing - lowest) + 1e-7
    np.testing.assert_allclose(clf.coef_, best.coef_, atol=1e-3)


@pytest.mark.parametrize("seed", [3, 4, 6])
def test_it_stops_where_rounding_is_all_that_moves_the_weights(seed):
    """Far from the origin a loss without an intercept has digits for the common shift alone."""
    X, y = rows(seed, n=100, d=4)
    problem = RowsProblem.of(as_rows(X + 1e8), y.astype(float))
    objective = UnivariateObjective(problem, UNIVARIATE_LOSSES["exp"], L2(1e-4), balanced=True)
    result = Newton().solve(objective, None, Run(Monitor(objective), 1e-8, 4000))
    assert result.n_iter < 20
    assert result.message


def test_conjugate_gradient_claims_nothing_of_what_is_no_number():
    b = np.ones(3)
    solved = minimise(lambda v: v, b, lambda v: v * np.nan, lambda gained, left: False, 10)
    assert solved.left == np.inf
    assert minimise(lambda v: v, b, lambda v: v, lambda gained, left: False, 10).left == 0.0
