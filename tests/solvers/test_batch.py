"""The batch solvers against a minimiser of the explicit sum over all pairs, and each other."""

import warnings

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, ClassMoments
from aucmax.data.rows import as_rows
from aucmax.data.rows.products import row_blocks
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2, ElasticNet
from aucmax.objective.problem import MomentsProblem, RowsProblem
from aucmax.solvers import SOLVERS, ConjugateGradient
from aucmax.solvers.batch import coordinate_descent, krylov, proximal_newton
from aucmax.solvers.batch.working_set import solved
from oracles import rows
from oracles.pairs import LOSSES as OF_PAIRS
from oracles.pairs import (
    Pairs,
    elastic_net_optimum,
    factors,
    l2_optimum,
    least_norm_optimum,
)
from specification import BATCH, STOCHASTIC, loss_of, takes

TIGHT = dict(tol=1e-13, max_iter=100_000, standardize=0.0)
# coordinate descent on the whole matrix, on the matrices of working sets, and on their columns
DESCENTS = tuple(f"coordinate_descent{path}" for path in ("", " on rows", " on columns"))
# with an l1 part Newton's models are minimised on a matrix, or by products with the rows
L1_SOLVERS = (*DESCENTS, "newton", "newton on products")
SQUARE_SOLVERS = ("exact", "conjugate_gradient", *DESCENTS)
L2_SOLVERS = (*SQUARE_SOLVERS, "newton", "cutting_plane")
each_l1_solver = pytest.mark.parametrize("solver", L1_SOLVERS)
each_l2_solver = pytest.mark.parametrize("solver", L2_SOLVERS)
each_gamma = pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])


@pytest.fixture
def named(monkeypatch):
    """Turn the name of a solver, and of its path, into what AUCClassifier takes."""

    sets = []
    columns = RowsProblem.columns

    def counted(*args):
        sets.append(1)
        assert len(sets) < 2000, "the working sets get nowhere"
        return columns(*args)

    def _named(solver):
        name, _, path = solver.partition(" on ")
        if path == "products":
            monkeypatch.setattr(proximal_newton, "MAX_MATRIX_FEATURES", 0)
        elif path:
            monkeypatch.setattr(coordinate_descent, "MAX_MATRIX_FEATURES", 0)
            monkeypatch.setattr(RowsProblem, "columns", counted)
        if path == "columns":
            monkeypatch.setattr(coordinate_descent, "MAX_SET_MATRIX_FEATURES", 0)
        return name

    return _named


# ---- problems ----------------------------------------------------------------------------


def balanced():
    return rows(1, n=40, d=6, share=0.5)


def imbalanced():
    return rows(2, n=60, d=5, share=0.05)


def sparse():
    X, y = rows(3, n=50, d=12, density=0.2)
    return sp.csr_array(X), y


def single_precision():
    X, y = rows(4, n=40, d=6)
    return X.astype(np.float32), y


def sparse_single_precision():
    X, y = rows(5, n=50, d=8, density=0.4)
    return sp.csr_array(X.astype(np.float32)), y


def weighted():
    X, y = rows(6, n=40, d=6)
    return X, y, np.random.RandomState(6).choice([0.0, 0.3, 1.0, 5.0], size=40)


def sparse_weighted():
    X, y = rows(7, n=40, d=9, density=0.3)
    return sp.csr_array(X), y, np.random.RandomState(7).rand(40) + 0.1


def more_features_than_rows():
    return rows(8, n=15, d=30)


def duplicated_columns():
    X, y = rows(9, n=40, d=4)
    return np.column_stack([X, X[:, :2], -3.0 * X[:, 0]]), y


def constant_columns():
    X, y = rows(10, n=40, d=4)
    return np.column_stack([X, np.full(40, 3.0), np.zeros(40)]), y


def sparse_constant_columns():
    X, y = rows(11, n=40, d=4, density=0.5)
    return sp.csr_array(np.column_stack([np.full(40, 2.5), X, np.zeros(40)])), y


def far_from_the_origin():
    return rows(12, n=40, d=4, shift=20.0)


def different_units():
    X, y = rows(13, n=40, d=4)
    return X * [1e-3, 1.0, 1e2, 1.0], y


def labels_far_apart():
    X, y = rows(14, n=30, d=3)
    return X, np.where(y == 1, "yes", "no")


def one_positive():
    X, y = rows(15, n=20, d=3)
    y = np.full(20, -1)
    y[4] = 1
    return X, y


PROBLEMS = {
    make.__name__: make
    for make in (
        balanced, imbalanced, sparse, single_precision, sparse_single_precision, weighted,
        sparse_weighted, more_features_than_rows, duplicated_columns, constant_columns,
        sparse_constant_columns, far_from_the_origin, different_units, labels_far_apart,
        one_positive,
    )
}  # fmt: skip
each_problem = pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)


def given(make):
    X, y, *weight = make()
    return X, y, weight[0] if weight else None


def loss_by(solver):
    return loss_of(SOLVERS[solver.split(" on ")[0]])


def tight(solver, rho=0.0):
    """What rounding allows: more where a quadratic model tells J(w) − J*, not two values.

    J is flat at its minimum: its gradient and coefficients have half of these digits.
    """
    if solver == "cutting_plane":
        return 1e-12
    if solver.endswith(("on columns", "on products")):
        return 1e-14
    return 1e-18 if rho == 0.0 else 1e-17 if rho < 1.0 else 1e-15


def fit(data, alpha, rho=0.0, *, solver, **settings):
    X, y, weight = data
    settings = TIGHT | ({"tol": 1e-12} if solver == "cutting_plane" else {}) | settings
    clf = AUCClassifier(alpha, rho, solver=solver, loss=loss_by(solver), **settings)
    return clf.fit(X, y, sample_weight=weight)


def close(got, expected, tol=1e-8):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * max(np.abs(expected).max(), 1e-3))


# ---- equal to the minimiser over pairs ---------------------------------------------------


@pytest.mark.covering
@each_problem
@each_l2_solver
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@each_gamma
def test_l2_optimum_is_that_of_the_pairs(make, solver, alpha, gamma, named):
    data, loss = given(make), loss_by(solver)
    pairs = Pairs(*data, gamma=gamma)
    tol, rounding = tight(solver), 1e-13
    alpha = max(alpha, 0.03) if solver == "cutting_plane" else alpha  # for less many planes
    clf = fit(data, alpha, solver=named(solver), standardize=gamma, tol=tol)
    w = pairs.from_features(clf.coef_[0])
    assert clf.solver_ == solver.split()[0]
    assert pairs.optimality(w, alpha, 0.0, loss) <= (
        1e-8 if LOSSES[loss].kind == "kinked" else 1e-7
    )
    assert clf.objective_ == pytest.approx(pairs.objective(w, alpha, 0.0, loss), rel=1e-10)
    assert clf.optimality_ <= tol + rounding
    if LOSSES[loss].kind != "kinked":
        optimum = l2_optimum(pairs, alpha, loss)
        # J is flat at its minimum: the root of what is left of it, times the condition
        tol = 1e-8 if solver == "exact" else 5e-6 if tol == 1e-14 else 2e-7
        close(w, optimum, tol)
        close(clf.coef_[0], pairs.to_features(optimum), tol)
        # the reference is no better by more than ten times what is reported
        lost = pairs.objective(w, alpha, 0.0, loss) - pairs.objective(optimum, alpha, 0.0, loss)
        assert lost <= 10 * clf.optimality_ * (0.5 - clf.objective_) + rounding


@pytest.mark.covering
@each_problem
@each_l1_solver
@pytest.mark.parametrize("penalty", [(0.02, 1.0), (0.05, 0.5), (0.3, 0.1)], ids=str)
@each_gamma
def test_elastic_net_optimum_is_that_of_the_pairs(make, solver, penalty, gamma, named):
    data, loss = given(make), loss_by(solver)
    pairs = Pairs(*data, gamma=gamma)
    tol = tight(solver, penalty[1])
    clf = fit(data, *penalty, solver=named(solver), standardize=gamma, tol=tol)
    w = pairs.from_features(clf.coef_[0])
    assert clf.optimality_ <= tol + 1e-13
    # by its optimality conditions, and against another minimiser
    assert pairs.optimality(w, *penalty, loss) <= 2e-7
    optimum = elastic_net_optimum(pairs, *penalty, loss)
    assert pairs.objective(w, *penalty, loss) == pytest.approx(
        pairs.objective(optimum, *penalty, loss), rel=1e-11
    )
    if penalty[1] < 1.0:  # with an l2 part it is unique
        close(w, optimum, 2e-7)
        assert np.array_equal(w == 0, np.abs(optimum) < 1e-9)


def test_the_l1_penalty_that_just_leaves_nothing(named):
    """w = 0 is optimal exactly for αρ ≥ ‖δ‖∞."""
    X, y, _ = given(balanced)
    edge = np.abs(Pairs(X, y).gradient(np.zeros(6))).max()
    for solver in L1_SOLVERS:
        assert not fit((X, y, None), edge * 1.001, 1.0, solver=named(solver)).coef_.any()
        # J(0) − J* is so small that rounding hides more digits than elsewhere
        clf = fit((X, y, None), edge * 0.999, 1.0, solver=named(solver), tol=1e-8)
        assert np.count_nonzero(clf.coef_) == 1


@pytest.mark.parametrize("alpha", [0.0, 1e-12])
@pytest.mark.parametrize("make", [balanced, different_units, far_from_the_origin, weighted])
def test_exact_without_a_penalty(make, alpha):
    data = given(make)
    pairs = Pairs(*data)
    clf = fit(data, alpha, solver="exact")
    close(clf.coef_[0], l2_optimum(pairs, alpha))


@pytest.mark.parametrize(
    "make", [more_features_than_rows, duplicated_columns, constant_columns, sparse]
)
def test_exact_reaches_the_minimum_where_there_are_many_minimisers(make):
    data = given(make)
    pairs = Pairs(*data)
    clf = fit(data, 0.0, solver="exact")
    least = least_norm_optimum(pairs)
    assert pairs.optimality(clf.coef_[0], 0.0, 0.0) < 1e-9
    assert pairs.data_term(clf.coef_[0]) == pytest.approx(pairs.data_term(least), abs=1e-10)
    # least norm in the features scaled to unit curvature of Σ₊+Σ₋+δδᵀ
    unit = np.sqrt(np.maximum(np.diag(pairs.hessian()), 0.0))
    varies = unit > 1e-12
    scaled = Pairs(*data)
    scaled.D = scaled.D[:, varies] / unit[varies]
    close(clf.coef_[0][varies] * unit[varies], least_norm_optimum(scaled), 1e-6)
    assert not clf.coef_[0][~varies].any()


def test_equal_features_have_equal_coefficients():
    for seed in range(200):
        rng = np.random.RandomState(seed)
        d = (1, 2, 5, 20)[seed % 4]
        X, y = rng.standard_normal((60, d)) * 10.0 ** rng.uniform(-3, 3, d), rng.rand(60) < 0.4
        X[y] += 0.3 * X.std(axis=0)
        twice = np.arange(rng.randint(1, d + 1))
        X = np.column_stack([X, X[:, twice]])
        coef = fit((X, y, None), 0.0, solver="exact", standardize=0.5 * (seed % 3)).coef_[0]
        np.testing.assert_allclose(coef[d:], coef[twice], rtol=0.0, atol=1e-8 * abs(coef).max())


@pytest.mark.parametrize("alpha", [0.0, 1e-18, 1e-15])
def test_exact_where_the_matrix_is_singular_to_rounding(alpha):
    """Cholesky may pass there and leave a solution without digits; the minimum is reached."""
    for seed in range(30):
        X, y = rows(50 + seed, n=30, d=4 + seed % 3)
        X = np.column_stack([X, X @ np.random.RandomState(seed).randn(X.shape[1], 2)])
        clf = fit((X, y, None), alpha, solver="exact")
        pairs = Pairs(X, y)
        least = pairs.data_term(least_norm_optimum(pairs))
        assert pairs.data_term(clf.coef_[0]) <= least * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["conjugate_gradient", "coordinate_descent"])
@pytest.mark.parametrize("make", [balanced, sparse, weighted, far_from_the_origin])
def test_iterative_solvers_without_a_penalty(make, solver):
    data = given(make)
    pairs = Pairs(*data)
    clf = fit(data, 0.0, solver=solver, tol=1e-9)
    assert pairs.optimality(clf.coef_[0], 0.0, 0.0) < 1e-8
    close(pairs.data_term(clf.coef_[0]), pairs.data_term(least_norm_optimum(pairs)))


@pytest.mark.parametrize("solver", ["conjugate_gradient", "coordinate_descent"])
def test_separable_rows_without_a_penalty(solver):
    """δ lies outside the range of Σ₊+Σ₋: the minimum is 0, though (Σ₊+Σ₋)u = δ has no solution."""
    data = given(more_features_than_rows)
    clf = fit(data, 0.0, solver=solver, tol=1e-12)
    assert Pairs(*data).objective(clf.coef_[0], 0.0, 0.0) <= 1e-12
    assert Pairs(*data).optimality(clf.coef_[0], 0.0, 0.0) <= 1e-6


@pytest.mark.covering
@each_gamma
@pytest.mark.parametrize("alpha", [1e-4, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_all_solvers_agree_on_larger_problems(seed, alpha, gamma, named):
    X, y = rows(100 + seed, n=400, d=25, share=0.15, density=0.3)
    X = sp.csr_array(X) if seed % 2 else X
    weight = np.random.RandomState(seed).rand(400) if seed > 1 else None
    fits = [
        fit((X, y, weight), alpha, solver=named(solver), standardize=gamma, tol=tight(solver))
        for solver in SQUARE_SOLVERS
    ]
    for clf in fits[1:]:
        close(clf.coef_, fits[0].coef_, 2e-7)
        assert clf.objective_ == pytest.approx(fits[0].objective_, rel=1e-12)


@pytest.mark.parametrize("penalty", [(0.003, 1.0), (0.01, 0.7)], ids=str)
@pytest.mark.parametrize("solver", DESCENTS[1:])
@pytest.mark.parametrize("seed", range(2))
def test_working_sets_grow_to_the_matrix_solution(penalty, seed, solver, monkeypatch, named):
    """More features than the first working set holds, on rows."""
    X, y = rows(200 + seed, n=120, d=150, density=0.2)
    monkeypatch.setattr(coordinate_descent, "FIRST_SET_FEATURES", 5)
    data = (sp.csr_array(X), y, None)
    whole = fit(data, *penalty, solver="coordinate_descent", tol=1e-15)
    sets = fit(data, *penalty, solver=named(solver), tol=1e-14)
    assert np.count_nonzero(whole.coef_) > 10
    close(sets.coef_, whole.coef_, 1e-6)
    assert sets.objective_ == pytest.approx(whole.objective_, rel=2e-14)
    assert Pairs(*data).optimality(sets.coef_[0], *penalty) <= 2e-7


@pytest.mark.parametrize("penalty", [(0.05, 0.0), (0.05, 0.5)], ids=["l2", "elastic_net"])
@each_gamma
def test_moments_alone_give_the_same_fit(penalty, gamma):
    data = given(weighted)
    from_rows = fit(data, *penalty, solver="coordinate_descent", standardize=gamma)
    clf = AUCClassifier(*penalty, **TIGHT | {"standardize": gamma})
    clf.fit_moments(ClassMoments.from_data(*data))
    close(clf.coef_, from_rows.coef_)
    assert clf.objective_ == pytest.approx(from_rows.objective_, rel=1e-12)
    close(clf.intercept_, from_rows.intercept_)


# ---- multi-shift -------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("make", [balanced, sparse, weighted, more_features_than_rows, imbalanced])
@each_gamma
def test_a_path_equals_separate_solves(make, gamma):
    X, y, weight = given(make)
    sign = np.where(y == np.max(y), 1.0, -1.0)
    alphas = np.array([1e-1, 1e-4, 1e1, 1e-3, 1e-2, 1e-3])  # unsorted, one twice
    for problem in (
        RowsProblem.of(as_rows(X), sign, weight),
        MomentsProblem(ClassMoments.from_data(X, sign, weight)),
    ):
        problem = problem.scaled(gamma)
        coefs, optimality = ConjugateGradient().solve_path(problem, alphas, tol=1e-22)
        assert coefs.shape == (6, problem.n_features)
        assert optimality.max() <= 1e-21
        pairs = Pairs(X, y, weight, gamma=gamma)
        for w, alpha in zip(coefs, alphas, strict=True):
            close(w, l2_optimum(pairs, alpha), 1e-10)
            single = fit(
                (X, y, weight), alpha, solver="conjugate_gradient", standardize=gamma, tol=1e-22
            )
            close(problem.to_features(w), single.coef_[0], 1e-10)


@pytest.mark.parametrize("make", [balanced, sparse, weighted, more_features_than_rows, imbalanced])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("sure", [True, False])
def test_a_path_tells_how_far_it_is(make, tol, sure):
    X, y, weight = given(make)
    sign, alphas = np.where(y == np.max(y), 1.0, -1.0), np.array([1e-2, 1e-4, 1.0])
    problem, pairs = RowsProblem.of(as_rows(X), sign, weight), Pairs(X, y, weight)
    coefs, optimality = ConjugateGradient().solve_path(problem, alphas, tol=tol, sure=sure)
    for w, alpha, quality in zip(coefs, alphas, optimality, strict=True):
        least = pairs.objective(l2_optimum(pairs, alpha), alpha, 0.0)
        lost = (pairs.objective(w, alpha, 0.0) - least) / (0.5 - least)
        assert lost - 1e-13 <= quality <= tol
        bound = Objective(problem, LOSSES["square"], L2(alpha)).optimality(w)
        if sure:
            assert quality <= bound * (1 + 1e-9) + 1e-15


def test_a_path_that_is_cut_short_looks_for_a_bound_that_suffices():
    X, y = rows(8, n=80, d=200)
    problem, alphas = RowsProblem.of(as_rows(X), y.astype(float)), 10.0 ** np.arange(-12.0, 1.0)
    for max_iter, tol in ((1, 0.034), (2, 0.0098), (3, 0.004)):
        _, sure = ConjugateGradient().solve_path(problem, alphas, tol, max_iter)
        _, unsure = ConjugateGradient().solve_path(problem, alphas, tol, max_iter, False)
        assert np.array_equal(sure <= tol, unsure <= tol)
        assert np.any(sure <= tol)


def test_a_gradient_at_the_weakest_alpha_confirms_a_path():
    X, y = rows(8, n=80, d=200)
    problem = RowsProblem.of(as_rows(X), y.astype(float))
    alphas = np.array([1e-1, 1e-3, 1e1, 1e-2])
    for max_iter in (1, 2, 3, 1000):
        W, sure = ConjugateGradient().solve_path(problem, alphas, 1e-3, max_iter)
        again, unsure = ConjugateGradient().solve_path(problem, alphas, 1e-3, max_iter, False)
        assert np.array_equal(W, again)
        assert unsure[1] == sure[1]
        assert np.array_equal(unsure, sure) == (max_iter < 1000)  # the weakest is not reached
    np.testing.assert_allclose(unsure, sure, rtol=0.1)


@pytest.mark.parametrize("sure", [True, False])
def test_a_path_of_rows_with_a_dominant_direction(sure):
    rng = np.random.default_rng(0)
    for common, alpha in ((30.0, 1e-6), (300.0, 1e-7), (1000.0, 1e-8)):
        X, y = rng.standard_normal((60, 200)), np.where(np.arange(60) < 25, 1.0, -1.0)
        X[y > 0] += 0.2 * rng.standard_normal(200)
        X += common * rng.standard_normal((60, 1))
        problem, alphas = RowsProblem.of(X, y).scaled(1.0), alpha * np.array([1.0, 10.0])
        W, optimality = ConjugateGradient().solve_path(problem, alphas, 1e-3, 1000, sure)
        pairs = Pairs(X, y, gamma=1.0)
        for w, k in zip(W, range(2), strict=True):
            best = pairs.objective(l2_optimum(pairs, alphas[k]), alphas[k], 0.0)
            lost = (pairs.objective(w, alphas[k], 0.0) - best) / (0.5 - best)
            assert lost <= optimality[k] * (1 + 1e-6) + 1e-12 <= 1.1e-3


@pytest.mark.parametrize("sure", [True, False])
def test_a_path_costs_the_products_of_its_hardest_member(monkeypatch, sure):
    X, y, _ = given(balanced)
    count = []
    product = RowsProblem.within_product
    monkeypatch.setattr(
        RowsProblem, "within_product", lambda self, v: count.append(1) or product(self, v)
    )
    problem = RowsProblem.of(as_rows(X), y.astype(float))

    def products(alphas):
        count.clear()
        ConjugateGradient().solve_path(problem, alphas, tol=1e-8, sure=sure)
        # each member is checked with one product, or the hardest alone
        return len(count) - (len(alphas) if sure else 1)

    assert products(np.logspace(-3, 1, 20)) <= products(np.array([1e-3])) + 1


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan])
def test_a_path_needs_positive_alphas(alpha):
    X, y, _ = given(balanced)
    problem = RowsProblem.of(as_rows(X), y.astype(float))
    with pytest.raises(ValueError, match="each alpha of a path must be a number in"):
        ConjugateGradient().solve_path(problem, [1.0, alpha])


# ---- invariances of J --------------------------------------------------------------------

PENALTIES = {"l2": (0.1, 0.0), "elastic_net": (0.1, 0.4), "l1": (0.03, 1.0)}
SOLVED = [(s, "l2") for s in L2_SOLVERS] + [
    (s, p) for s in L1_SOLVERS for p in ("elastic_net", "l1")
]
each_solve = pytest.mark.parametrize(("solver", "penalty"), SOLVED)


def test_every_batch_solver_is_held_to_the_invariances():
    batch = set(BATCH)
    assert batch == {solver.split()[0] for solver, _ in SOLVED}
    taken = {name: [loss for loss in LOSSES if takes(SOLVERS[name], loss)] for name in batch}
    assert taken.pop("newton") == ["squared_hinge", "logistic"]  # see test_logistic.py
    assert all(len(losses) == 1 for losses in taken.values())
    with_l1 = {name for name in batch if takes(SOLVERS[name], loss_of(SOLVERS[name]), 0.5)}
    assert with_l1 == {solver.split()[0] for solver, penalty in SOLVED if penalty != "l2"}


@pytest.mark.covering(1)
@each_solve
@each_gamma
def test_nothing_changes_when_all_rows_are_shifted(solver, penalty, gamma, named):
    X, y, weight = given(weighted)
    shift = np.array([5.0, -3.0, 0.0, 100.0, 1.0, -20.0])
    a, b = (
        fit((Z, y, weight), *PENALTIES[penalty], solver=named(solver), standardize=gamma)
        for Z in (X, X + shift)
    )
    close(b.coef_, a.coef_)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-10)
    # the scores do not change either: the intercept takes the shift up
    close(b.decision_function(X + shift), a.decision_function(X))


@pytest.mark.covering(1)
@each_solve
@each_gamma
def test_rows_far_from_the_origin(solver, penalty, gamma, named):
    """A million away from the moments, a thousand through products with the rows."""
    X, y, weight = given(weighted)
    X = np.round(X * 2**20) / 2**20  # so that the shifted rows hold the same differences
    shift = 2.0**20 if solver in ("exact", "coordinate_descent") else 2.0**10
    a, b = (
        fit((Z, y, weight), *PENALTIES[penalty], solver=named(solver), standardize=gamma, tol=1e-7)
        for Z in (X, X + shift)
    )
    close(b.coef_, a.coef_, 1e-6)


@pytest.mark.covering(1)
@each_solve
@each_gamma
def test_a_solver_ends_where_rounding_forbids_its_tolerance(solver, penalty, gamma, named):
    X, y, weight = given(weighted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = fit((X + 2.0**24, y, weight), *PENALTIES[penalty], solver=named(solver),
                  standardize=gamma, max_iter=500)  # fmt: skip
    assert clf.n_iter_ <= 500
    assert clf.objective_ < 0.5  # J(0)


@pytest.mark.parametrize("solver", L2_SOLVERS)
@pytest.mark.parametrize("density", [1.0, 0.5])
def test_many_features_far_from_the_origin(solver, density, named):
    """Where few digits are left a solver may miss its tolerance, but not J(0)."""
    X, y = rows(16, n=60, d=80, density=density)
    penalty = (0.01, 0.5) if solver in L1_SOLVERS else (0.01, 0.0)
    full = X + 2.0**24 * (np.arange(80) % 5 == 0)  # every fifth column is full and far
    far = sp.csr_array(full) if density < 1 else X + 2.0**24
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = fit((far, y, None), *penalty, solver=named(solver), tol=1e-4, max_iter=200)
    assert clf.objective_ < 0.5


@pytest.mark.covering
@each_solve
@each_gamma
@pytest.mark.parametrize("factor", [3.0, 1e-3])
def test_class_weights_change_the_scale_of_the_features_alone(
    solver, penalty, gamma, factor, named
):
    X, y, weight = given(sparse_weighted)
    heavier = np.where(y == 1, factor * weight, weight)
    scale = np.ones(X.shape[1]) if gamma == 0 else factors(X.toarray(), heavier, gamma)
    a = fit((X, y, heavier), *PENALTIES[penalty], solver=named(solver), standardize=gamma)
    scaled = sp.csr_array(X.multiply(scale))
    b = fit((scaled, y, weight), *PENALTIES[penalty], solver=named(solver), standardize=0.0)
    close(a.coef_, b.coef_ * scale)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-10)
    close(b.intercept_, a.intercept_)


@each_solve
def test_standardize_one_is_a_scaler_in_front(solver, penalty, named):
    """But for a constant: the scaler's mean squared distance of two rows is 2d."""
    X, y, weight = given(weighted)
    (alpha, ratio), d = PENALTIES[penalty], X.shape[1]
    clf = fit((X, y, weight), alpha, ratio, solver=named(solver), standardize=1.0)
    scaler = StandardScaler(with_mean=False).fit(X, sample_weight=weight)
    rows = (scaler.transform(X) / np.sqrt(d), y, weight)
    front = fit(rows, alpha, ratio, solver=named(solver), standardize=0.0)
    close(clf.coef_, front.coef_ / np.sqrt(d) / scaler.scale_)
    if ratio == 0.0:
        front = fit(
            (rows[0] * np.sqrt(d), *rows[1:]), d * alpha, solver=named(solver), standardize=0.0
        )
        close(clf.coef_, front.coef_ / scaler.scale_)


@each_solve
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_standardize_scales_to_mean_squared_distance_two(solver, penalty, gamma, named):
    """γ = 1 makes the fit independent of the features' units, γ > 0 of a common unit."""
    X, y, weight = given(weighted)
    a = fit((X, y, weight), *PENALTIES[penalty], solver=named(solver), standardize=gamma)
    units = np.array([1e-2, 3.0, 7.0, 1e3, 1.0, 0.2]) if gamma == 1.0 else np.full(6, 1e3)
    b = fit((X * units, y, weight), *PENALTIES[penalty], solver=named(solver), standardize=gamma)
    close(b.coef_ * units, a.coef_)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-9)
    problem = RowsProblem.of(as_rows(X), y.astype(float), weight).scaled(gamma)
    close(problem.factor, factors(X, weight, gamma), 1e-12)
    assert 2.0 * np.cov((X * problem.factor).T, aweights=weight, ddof=0).trace() == pytest.approx(2)


# ---- objective_ and optimality_ ----------------------------------------------------------


@pytest.mark.covering
@each_problem
@each_gamma
@pytest.mark.parametrize("penalty", PENALTIES)
def test_objective_and_optimality_are_those_of_the_pairs(make, gamma, penalty):
    """Also far from the optimum: at a rough solution, and with rows as well as from moments."""
    data = given(make)
    pairs = Pairs(*data, gamma=gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = fit(data, *PENALTIES[penalty], standardize=gamma, max_iter=1, tol=1e-300,
                  solver="coordinate_descent")  # fmt: skip
    w, penalty = pairs.from_features(clf.coef_[0]), PENALTIES[penalty]
    now = pairs.objective(w, *penalty)
    assert clf.objective_ == pytest.approx(now, rel=1e-9)
    best = elastic_net_optimum(pairs, *penalty) if penalty[1] else l2_optimum(pairs, penalty[0])
    least = pairs.objective(best, *penalty)
    lost = (now - least) / (0.5 - least) if least < 0.5 else 0.0
    gap = pairs.gap(w, *penalty)
    assert lost <= 10 * clf.optimality_ + 1e-12
    assert clf.optimality_ <= gap / (0.5 - now + gap) * (1 + 1e-6) + 1e-11


@pytest.mark.covering
@each_problem
@each_gamma
@pytest.mark.parametrize("loss", OF_PAIRS)
def test_value_gradient_and_optimality_anywhere(make, gamma, loss):
    X, y, weight = given(make)
    sign = np.where(y == max(y), 1.0, -1.0)
    pairs = Pairs(X, y, weight, gamma=gamma)
    rng = np.random.RandomState(0)
    problems = [RowsProblem.of(as_rows(X), sign, weight).scaled(gamma)]
    if LOSSES[loss].kind == "quadratic":
        problems.append(MomentsProblem(ClassMoments.from_data(X, sign, weight)).scaled(gamma))
    zero = np.zeros(X.shape[1])
    for rho in (0.0, 0.5, 1.0):
        w = rng.randn(X.shape[1]) * (rng.rand(X.shape[1]) < 0.7)
        w[pairs.factor == 0] = 0.0
        v = rng.randn(X.shape[1])
        for problem in problems:
            objective = Objective(problem, LOSSES[loss], ElasticNet(0.2, rho))
            assert objective.value(w) == pytest.approx(pairs.objective(w, 0.2, rho, loss), rel=1e-9)
            close(objective.data_gradient(w), pairs.gradient(w, loss))
            close(objective.data_product(w, v), pairs.hessian(w, loss) @ v)
            for at in (w, zero):
                gap = objective.gap(*objective.data_term(at), at)
                if LOSSES[loss].kind != "kinked":
                    expected = pairs.gap(at, 0.2, rho, loss)
                    assert gap == pytest.approx(expected, rel=1e-6, abs=1e-13)
                else:  # it says how low J may be, at most
                    low = objective.value(at) - gap
                    downhill = -0.5 * pairs.gradient(zero, loss)
                    for other in (w, zero, 0.1 * v, downhill, 0.1 * downhill):
                        assert low <= pairs.objective(other, 0.2, rho, loss) + 1e-12
            value, optimality = objective.evaluate(w)
            assert (value, optimality) == (objective.value(w), objective.optimality(w))
            gap = objective.gap(*objective.data_term(w), w)
            assert optimality == pytest.approx(gap / (0.5 - value + gap), rel=1e-12)


def many_rows():
    """More than conjugate gradient takes its preconditioner from, so that it needs some steps."""
    return rows(1, n=3000, d=6, share=0.5)


def test_the_tolerance_is_kept_and_a_miss_is_told(named, monkeypatch):
    data = given(balanced)
    for solver in L2_SOLVERS:
        for tol in (1e-2, 1e-5, 1e-9):
            clf = fit(data, 1e-3, solver=named(solver), tol=tol)
            pairs, w = Pairs(*data), clf.coef_[0]
            if clf.loss == "hinge":
                best = fit(data, 1e-3, solver=solver).coef_[0]
                assert pairs.hinge_gap(best, 1e-3) <= 1e-8
            else:
                best = l2_optimum(pairs, 1e-3, clf.loss)
            now, least = (pairs.objective(v, 1e-3, 0.0, clf.loss) for v in (w, best))
            lost = (now - least) / (0.5 - least)
            assert lost <= clf.optimality_ * (1 + 1e-6) + 1e-13
            assert clf.optimality_ <= tol
    data = (*many_rows(), None)
    monkeypatch.setattr(
        krylov, "MAX_MULTIPLICATIONS", 0
    )  # so few features have their preconditioner from all
    for solver in ("conjugate_gradient", "coordinate_descent", "newton", "cutting_plane"):
        unfinished = r"optimality .* > tol=1e-300; raise max_iter"
        scale = r"scale the features \(standardize=0.5\)"
        with pytest.warns(ConvergenceWarning, match=rf"{unfinished}, {scale} or raise alpha\.$"):
            fit(data, 1e-3, solver=solver, max_iter=1, tol=1e-300)
    with pytest.warns(ConvergenceWarning, match=rf"{unfinished} or raise alpha\.$"):
        fit(data, 1e-3, solver="cutting_plane", max_iter=1, tol=1e-300, standardize=0.5)


def test_a_warm_start_at_the_optimum_takes_one_look(monkeypatch):
    monkeypatch.setattr(
        krylov, "MAX_MULTIPLICATIONS", 0
    )  # a preconditioner from all rows needs one look anyway
    X, y = many_rows()
    for solver in ("conjugate_gradient", "coordinate_descent", "newton"):
        settings = dict(loss=loss_by(solver), warm_start=True, tol=1e-8)
        clf = AUCClassifier(0.1, solver=solver, **settings).fit(X, y)
        assert clf.n_iter_ > 1
        clf.fit(X, y)
        assert clf.n_iter_ == 1


# ---- forms of the same data --------------------------------------------------------------


@pytest.mark.covering(1)
@each_solve
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_dense_and_sparse_rows_give_the_same(solver, penalty, gamma, named):
    X, y, weight = given(sparse_weighted)
    tol = tight(solver, PENALTIES[penalty][1])
    settings = dict(solver=named(solver), standardize=gamma, tol=tol)
    a, b = (fit((Z, y, weight), *PENALTIES[penalty], **settings) for Z in (X, X.toarray()))
    close(a.coef_, b.coef_, 2e-8)


@pytest.mark.covering(1)
@each_solve
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_weights_are_repetitions(solver, penalty, gamma, named):
    X, y, _ = given(balanced)
    times = np.random.RandomState(3).randint(0, 4, size=len(y))
    tol = tight(solver, PENALTIES[penalty][1])
    settings = dict(solver=named(solver), standardize=gamma, tol=tol)
    a = fit((X, y, times), *PENALTIES[penalty], **settings)
    b = fit((X.repeat(times, axis=0), y.repeat(times), None), *PENALTIES[penalty], **settings)
    close(a.coef_, b.coef_, 2e-8)
    close(a.intercept_, b.intercept_, 2e-8)


@each_solve
def test_single_precision_rows_are_summed_in_double(solver, penalty, named):
    X, y, _ = given(balanced)
    rough = X.astype(np.float32)
    a, b, c = (
        fit((Z, y, None), *PENALTIES[penalty], solver=named(solver))
        for Z in (rough, rough.astype(np.float64), X)
    )
    close(a.coef_, b.coef_, 1e-10)
    close(a.coef_, c.coef_, 1e-5)


@each_solve
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_swapped_labels_flip_the_coefficients(solver, penalty, gamma, named):
    X, y, weight = given(weighted)
    settings = dict(solver=named(solver), standardize=gamma)
    a, b = (fit((X, z, weight), *PENALTIES[penalty], **settings) for z in (y, -y))
    close(a.coef_, -b.coef_, 1e-9)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-12)


# ---- determinism -------------------------------------------------------------------------


@pytest.fixture(params=["dense", "csr"])
def large(request):
    """Rows in several blocks, which run on threads."""
    X, y = rows(300, n=15_000, d=60, share=0.2, density=0.95)
    X = X if request.param == "dense" else sp.csr_array(X)
    assert len(row_blocks(as_rows(X))) > 1
    return X, y


@pytest.fixture
def threads(monkeypatch):
    return lambda count: monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", count)


@pytest.mark.covering
@pytest.mark.parametrize("solver", [*L2_SOLVERS, "spam", "vrspam"])
def test_bit_for_bit_the_same_whatever_the_threads(solver, large, threads, named):
    if numba.config.DISABLE_JIT:
        pytest.skip("kernels in plain Python")
    rho, name, coefs = 0.5 if solver in L1_SOLVERS else 0.0, named(solver), []
    for count in (1, 2, 2):
        threads(count)
        clf = AUCClassifier(
            1e-3, rho, loss=loss_by(solver), solver=name, standardize=0.5, random_state=0,
            max_iter=3 if name in STOCHASTIC else 500,
        )  # fmt: skip
        coefs.append(clf.fit(*large).coef_)
    np.testing.assert_array_equal(coefs[0], coefs[1])
    np.testing.assert_array_equal(coefs[1], coefs[2])


# ---- settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [SOLVERS[s] for s in ("conjugate_gradient", "coordinate_descent", "newton")]
)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tol": -1}, r"tol of {} must be a number in \(0, inf\); got -1\."),
        ({"tol": 0.0}, r"tol of {} must be a number in \(0, inf\); got 0\.0\."),
        ({"tol": "small"}, r"tol of {} must be a number in \(0, inf\); got 'small'\."),
        ({"max_iter": 0}, r"max_iter of {} must be a whole number in \[1, inf\); got 0\."),
        ({"max_iter": 1.5}, r"max_iter of {} must be a whole number in \[1, inf\); got 1\.5\."),
    ],
)
def test_a_solvers_own_limits_are_checked(kind, settings, message):
    X, y, _ = given(balanced)
    with pytest.raises(ValueError, match=message.format(kind.__name__)):
        AUCClassifier(loss=loss_of(kind), solver=kind(**settings)).fit(X, y)
    if kind is ConjugateGradient:
        problem = RowsProblem.of(as_rows(X), y.astype(float))
        with pytest.raises(ValueError, match=message.format(kind.__name__)):
            kind(**settings).solve_path(problem, [1.0])


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_a_system_without_full_rank_is_solved_without_eigenvalues(rank, monkeypatch):
    def refuse(matrix):
        raise AssertionError("eigenvalues cost a hundred times as much")

    rng = np.random.default_rng(rank)
    monkeypatch.setattr(np.linalg, "eigh", refuse)
    units = 10.0 ** np.linspace(-6, 6, 6)
    A = rng.normal(size=(rank, 6)) * units
    x = A.T @ rng.normal(size=rank)
    system = A.T @ A
    found = solved(system.copy(), np.zeros(6), system @ x)
    np.testing.assert_allclose(A @ found, A @ x, rtol=1e-6)
    assert solved(system.copy(), -0.5 * np.diag(system), system @ x) is None
