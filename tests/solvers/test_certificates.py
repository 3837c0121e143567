"""What a fit says of its distance to the optimum, held against an independent minimum.

`optimality_` is (J(w) − J*)/(J(0) − J*), bounded or estimated from above. Whatever the units of the
features, and however they are mixed, the true one is never more than ten times what is reported;
and where no warning came, what is reported is at most the tolerance.
"""

import functools
import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.optimize import minimize as smooth_minimum
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifier, HingeClassifier, datasets
from aucmax.data.rows import as_rows
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import L2, ElasticNet, L2Ball
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import OAM, OPAUC, SOLAM, SPAM, VRSPAM, Result, Solver, UnivariateSGD
from aucmax.solvers.base import Monitor, Run
from aucmax.solvers.batch import krylov
from aucmax.solvers.batch.conjugate_gradient import multi_shift
from aucmax.solvers.batch.cutting_plane import CuttingPlane
from aucmax.solvers.batch.krylov import minimise
from aucmax.solvers.batch.newton import Newton
from aucmax.solvers.certificate import Certificate
from oracles import rows, univariate
from oracles.optimum import optimum, program
from oracles.pairs import Pairs, elastic_net_optimum, l2_optimum
from oracles.solam import constrained_optimum
from real_data import LARGE, each_set
from specification import loss_of, takes

FACTOR = 10.0  # how far the truth may be above what is reported
ROUNDING = 1e-10
TOLS = (1e-2, 1e-4, 1e-7)
ALPHAS = (1e-6, 1e-1)  # as shares of half the mean squared distance of pairs
SOLVED = [
    ("square", "exact", 0.0),
    ("square", "conjugate_gradient", 0.0),
    ("square", "coordinate_descent", 0.0),
    ("square", "coordinate_descent", 0.5),
    ("square", "coordinate_descent", 1.0),
    ("squared_hinge", "newton", 0.0),
    ("squared_hinge", "newton", 0.5),
    ("squared_hinge", "newton", 1.0),
    ("logistic", "newton", 0.0),
    ("logistic", "newton", 0.5),
    ("logistic", "newton", 1.0),
]
AT_ZERO = {"square": 0.5, "squared_hinge": 0.5, "hinge": 0.5, "logistic": np.log(2.0)}  # J(0)


# ---- the same rows in other units --------------------------------------------------------


def as_given(X, rng):
    return X


def other_units(X, rng):
    k = 10.0 ** rng.randint(-4, 5, X.shape[1])
    return sp.csr_array(X @ sp.diags_array(k)) if sp.issparse(X) else X * k


def mixed(X, rng):
    dense = X.toarray() if sp.issparse(X) else X
    return dense @ rng.randn(X.shape[1], X.shape[1])


FORMS = {"raw": as_given, "units": other_units, "mixed": mixed}


def half_spread(X, sign):
    """Half the mean squared distance of a positive and a negative row: what α is relative to."""
    return 0.5 * RowsProblem.of(as_rows(X), sign).curvature.sum()


# ---- the truth ---------------------------------------------------------------------------


def share_left(value, least, at_zero=0.5):
    """(J − J*)/(J(0) − J*); 0 where w = 0 is the optimum and was found."""
    if least >= at_zero * (1 - 1e-12):
        return 0.0 if value <= at_zero * (1 + 1e-12) else np.inf
    return (value - least) / (at_zero - least)


def fitted(X, y, alpha, l1_ratio, loss, solver, tol, **options):
    """A fit, and whether it warned that it may not be good enough."""
    clf = AUCClassifier(
        alpha, l1_ratio, loss=loss, solver=solver, tol=tol, **{"standardize": 0.0} | options
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, y)
    assert all(issubclass(w.category, ConvergenceWarning) for w in caught)
    return clf, bool(caught)


def check(X, y, alpha, l1_ratio, loss, solver, tol, least, **options):
    """Hold one fit to its word; returns whether it warned."""
    clf, warned = fitted(X, y, alpha, l1_ratio, loss, solver, tol, **options)
    where = f"{solver}, {loss}, l1_ratio={l1_ratio}, alpha={alpha:g}, tol={tol:g}"
    true = share_left(clf.objective_, least, AT_ZERO[loss])
    said = f"{where}: {true:.1e} is left, {clf.optimality_:.1e} is reported"
    assert true <= FACTOR * clf.optimality_ + ROUNDING, said
    assert warned or clf.optimality_ <= tol, said
    return warned


def check_all(X, y, alphas, tols, jobs=SOLVED):
    """Every job at every α and tolerance; returns (l1_ratio, tol) of the fits that warned."""
    sign = np.where(y > 0, 1.0, -1.0)
    scale, warned = half_spread(X, sign), []
    for relative in alphas:
        known = {}
        for loss, solver, l1_ratio in jobs:
            alpha = relative * scale
            if (loss, l1_ratio) not in known:
                known[loss, l1_ratio] = optimum(X, y, loss, alpha, l1_ratio)[0]
            least = known[loss, l1_ratio]
            for tol in tols:
                if check(X, y, alpha, l1_ratio, loss, solver, tol, least):
                    warned.append((l1_ratio, tol))
    return warned


# ---- real data ---------------------------------------------------------------------------

HOW = {"letter": "first-half", "usps": "even-odd", "mnist": "even-odd", "sector": "first-half",
       "news20": "even-odd", "connect-4": 1}  # fmt: skip
NAMES = ["diabetes", "fourclass", "german", "splice", "usps", "letter", "magic04", "a9a", "mnist",
         "connect-4", "sector", "news20"]  # fmt: skip


@functools.lru_cache(maxsize=1)
def loaded(name):
    data = datasets.load(name, binarize=HOW.get(name))
    return data.data, np.where(data.target == np.max(data.target), 1, -1)


def sampled(name, n, d, seed=0):
    """Some rows, half of each class, and the columns among them that are filled most."""
    X, y = loaded(name)
    rng = np.random.RandomState(seed)
    chosen = [rng.permutation(np.flatnonzero(y == label))[: n // 2] for label in (-1, 1)]
    chosen = np.sort(np.concatenate(chosen))
    X, y = X[chosen], y[chosen]
    filled = np.asarray((X != 0).sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-filled, kind="stable")[:d])
    return X[:, kept], y


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "form"),
    [
        # in turn, one form of each set; the others are exhaustive
        pytest.param(name, form, marks=[pytest.mark.exhaustive] * (name in LARGE or i % 3 != j))
        for i, name in enumerate(NAMES)
        for j, form in enumerate(FORMS)
    ],
)
def test_no_certificate_is_false_on_real_data(name, form):
    X, y = sampled(name, 120, 16)
    warned = check_all(FORMS[form](X, np.random.RandomState(0)), y, ALPHAS, TOLS)
    # dummy variables that are mixed leave many minimisers without an l2 part
    assert not warned or (form == "mixed" and {rho for rho, _ in warned} == {1.0})


@pytest.mark.data
@each_set(["letter", "magic04", "mnist", "a9a", "news20"])
def test_conjugate_gradient_on_more_rows_than_its_preconditioner_saw(name, monkeypatch):
    monkeypatch.setattr(
        krylov, "MAX_MULTIPLICATIONS", 0
    )  # so few features have theirs from all rows
    X, y = sampled(name, 3000, 24)
    jobs = [("square", "conjugate_gradient", 0.0)]
    for form in FORMS.values():
        assert not check_all(form(X, np.random.RandomState(0)), y, (1e-8, 1e-5, 1e-2), TOLS, jobs)


@pytest.mark.data
@pytest.mark.exhaustive
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_no_certificate_is_false_on_more_real_data(name, form):
    for seed, (n, d) in enumerate([(800, 60), (100, 80), (400, 40)]):
        X, y = sampled(name, n, d, seed)
        alphas = (1e-8, 1e-6, 1e-4, 1e-2, 1e-1)
        warned = check_all(form(X, np.random.RandomState(seed)), y, alphas, TOLS)
        # where dummy variables are mixed, nearly nothing holds the l1 part's minimiser in place
        assert all(rho > 0.5 * (form is not mixed) or tol < 1e-2 for rho, tol in warned)


# ---- made data ---------------------------------------------------------------------------


def eight_features(n=500, seed=0):
    """Amounts, counts, shares and the like: raw, skewed, of very different scales."""
    rng = np.random.RandomState(seed)
    hidden = rng.randn(n, 8)
    X = np.column_stack([
        np.exp(8 + 1.5 * hidden[:, 0]), 1e6 * rng.rand(n) + 1e5 * hidden[:, 1],
        rng.poisson(np.exp(1 + 0.5 * hidden[:, 2])), 1e-3 * hidden[:, 3], rng.rand(n) < 0.2,
        40 + 12 * hidden[:, 5], 1e-2 / (1 + np.exp(-hidden[:, 6])), 3e3 + hidden[:, 7],
    ]).astype(float)  # fmt: skip
    score = hidden @ [0.1, 0.3, 0.2, 1.0, 0.0, 0.7, 1.0, 1.0] + X[:, 4]
    return X, np.where(score + 0.7 * rng.randn(n) > 1.5, 1, -1)


def many_features(n=120, d=400, seed=0):
    """More features than rows, and one of them a thousand times as large as the others."""
    X, y = rows(seed, n=n, d=d, share=0.4)
    X[:, 7] *= 1000.0
    return X, y


def near_copies(n=200, d=12, seed=0):
    """Features that are nearly sums of others."""
    X, y = rows(seed, n=n, d=d)
    return np.column_stack([X, X @ np.ones(d) + 1e-5 * X[:, 0], X[:, 0] + 1e-7 * X[:, 1]]), y


def few_entries(n=300, d=20, seed=0):
    """Columns of a handful of entries, one of them large."""
    rng = np.random.RandomState(seed)
    X, y = rows(seed, n=n, d=d, density=0.02)
    X[:, :3] *= 1000.0
    return sp.csr_array(X + (rng.rand(n, d) < 0.01)), y


MADE = {make.__name__: make for make in (eight_features, near_copies, few_entries)}


@pytest.mark.covering(1)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_no_certificate_is_false_on_made_data(make, form):
    X, y = make()
    check_all(form(X, np.random.RandomState(1)), y, [1e-9, 1e-3], TOLS)


@pytest.mark.parametrize(("loss", "solver", "l1_ratio"), SOLVED)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in (1, 2, 3))]
)
def test_no_certificate_is_false_where_rows_are_few(seed, loss, solver, l1_ratio):
    """Hardly more rows than features: nearly all pairs can be ranked, and few are active."""
    X, y = rows(seed, n=40, d=30, share=0.5)
    check_all(X, y, [1e-6, 1e-3], (1e-2, 1e-4, 1e-6), [(loss, solver, l1_ratio)])


def test_raw_features_of_very_different_scales_are_solved():
    """As they come, at the default tolerance, where a false certificate cost most of the AUC."""
    X, y = eight_features(2000)
    for alpha in (1e-4, 1e-2, 1.0):
        for loss, solver in (("square", "conjugate_gradient"), ("squared_hinge", "newton")):
            least, best = optimum(X, y, loss, alpha)
            clf, warned = fitted(X, y, alpha, 0.0, loss, solver, 1e-4)
            assert not warned
            assert share_left(clf.objective_, least) <= 1e-4
            assert clf.n_iter_ < 50
            aucs = [roc_auc_score(y, X @ w) for w in (clf.coef_[0], best)]
            assert aucs[0] == pytest.approx(aucs[1], abs=2e-3)


@pytest.mark.parametrize("d", [400, 1600])
def test_one_column_a_thousand_times_as_large_among_many(d):
    """Beyond 1500 features conjugate gradient has only their curvatures to go by."""
    X, y = many_features(d=d)
    # an l2 penalty is the same along any orthonormal basis of the rows
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    for relative in (1e-9, 1e-5):
        alpha = relative * half_spread(X, y.astype(float))
        for loss, solver in (
            ("square", "conjugate_gradient"), ("square", "auto"), ("squared_hinge", "auto"),
            ("logistic", "auto"),
        ):  # fmt: skip
            least = optimum(U * s, y, loss, alpha)[0]
            for tol in (1e-2, 1e-4):
                assert not check(X, y, alpha, 0.0, loss, solver, tol, least)


@pytest.mark.covering(1)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("d", [5, 20])
def test_cutting_planes_against_a_quadratic_program(form, d):
    X, y = rows(d, n=40, d=d, share=0.4)
    X = form(X, np.random.RandomState(d))
    scale = half_spread(X, y.astype(float))
    pairs = Pairs(X, y)
    for relative in (1e-4, 1e-1):
        alpha = relative * scale
        least = program(pairs.D, 0.5 * pairs.q, alpha, 0.0)[0]
        for tol in TOLS:
            check(X, y, alpha, 0.0, "hinge", "cutting_plane", tol, least)


@pytest.mark.data
@pytest.mark.covering(1)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["diabetes", "german", "a9a", "magic04"])
def test_cutting_planes_on_real_data(name, form):
    X, y = sampled(name, 60, 8)
    X = form(X, np.random.RandomState(0))
    alpha = 1e-2 * half_spread(X, y.astype(float))
    pairs = Pairs(X, y)
    least = program(pairs.D, 0.5 * pairs.q, alpha, 0.0)[0]
    for tol in TOLS:
        check(X, y, alpha, 0.0, "hinge", "cutting_plane", tol, least)


def test_scaled_features_and_histories_are_certified_too():
    """Every record of a history, and in the coordinates of γ."""
    X, y = eight_features()
    sign = y.astype(float)
    for gamma in (0.5, 1.0):
        scaled = RowsProblem.of(as_rows(X), sign).scaled(gamma)
        for loss, solver, rho in SOLVED:
            least = optimum(np.asarray(next(scaled.batches()).X), y, loss, 1e-3, rho)[0]
            seen = []
            check(X, y, 1e-3, rho, loss, solver, 1e-6, least, standardize=gamma,
                  callback=lambda progress, seen=seen: seen.append(progress))  # fmt: skip
            for record in seen:
                true = share_left(record.objective, least, AT_ZERO[loss])
                assert true <= FACTOR * record.optimality + ROUNDING


# ---- numbers that must not depend on units -----------------------------------------------


@pytest.mark.parametrize(("loss", "solver", "l1_ratio"), SOLVED)
def test_units_change_nothing_where_features_are_standardised(loss, solver, l1_ratio):
    """Powers of two, which leave no rounding: the same solve, digit for digit."""
    X, y = rows(1, n=60, d=6, share=0.4)
    units = 2.0 ** np.random.RandomState(0).randint(-12, 13, 6)
    a, b = (
        fitted(Z, y, 1e-3, l1_ratio, loss, solver, 1e-3, standardize=1.0)[0] for Z in (X, X * units)
    )
    assert (a.objective_, a.optimality_, a.n_iter_) == (b.objective_, b.optimality_, b.n_iter_)
    np.testing.assert_array_equal(a.coef_, b.coef_ * units)


@pytest.mark.parametrize("solver", ["exact", "conjugate_gradient", "coordinate_descent"])
def test_units_change_nothing_without_a_penalty(solver):
    X, y = rows(2, n=1500, d=6, share=0.4)
    units = 2.0 ** np.random.RandomState(0).randint(-12, 13, 6)
    a, b = (fitted(Z, y, 0.0, 0.0, "square", solver, 1e-3)[0] for Z in (X, X * units))
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-12)
    assert a.optimality_ == pytest.approx(b.optimality_, rel=1e-6, abs=1e-13)
    np.testing.assert_allclose(a.coef_, b.coef_ * units, rtol=1e-9)


# ---- stochastic solvers ------------------------------------------------------------------


def sharp(reported, true, slack=1e-6):
    """Neither a tenth of the truth nor ten times as much."""
    assert true <= FACTOR * reported + ROUNDING
    assert reported <= FACTOR * max(true, 0.0) + slack


def ended(solver, X, y, alpha, l1_ratio=0.0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some end above J(0)
        return AUCClassifier(
            alpha, l1_ratio, solver=solver, random_state=0, standardize=0.0, **options
        ).fit(X, y)


LEARNERS = {
    "spam, a step": SPAM(n_epochs=1), "spam, long": SPAM(n_epochs=30), "vrspam": VRSPAM(n_stages=2),
    "vrspam, long": VRSPAM(n_stages=30), "opauc": OPAUC(), "opauc, long": OPAUC(n_epochs=50),
}  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize("make", [eight_features, near_copies, few_entries])
@pytest.mark.parametrize("name", LEARNERS)
def test_stochastic_solvers_report_the_true_measure(name, make):
    X, y = make(200)
    alpha = 1e-4 * half_spread(X, y.astype(float))
    for rho in (0.0, 0.5) if takes(LEARNERS[name], loss_of(LEARNERS[name]), 0.5) else (0.0,):
        clf = ended(LEARNERS[name], X, y, alpha, rho, max_iter=100)
        true = share_left(clf.objective_, optimum(X, y, "square", alpha, rho)[0])
        if true < 1.0:
            sharp(clf.optimality_, true)
        else:  # no better than w = 0
            assert clf.optimality_ >= 1.0 - 1e-9


def test_their_histories_are_those_of_the_true_measure():
    X, y = eight_features()
    alpha = 1e-4 * half_spread(X, y.astype(float))
    least, seen = optimum(X, y, "square", alpha)[0], []
    ended(VRSPAM(n_stages=20), X, y, alpha, callback=seen.append, max_iter=20)
    assert len(seen) >= 20
    for record in seen:
        true = share_left(record.objective, least)
        sharp(record.optimality, true)


@pytest.mark.parametrize("radius", [0.2, 0.7, 5.0])
def test_solam_is_measured_on_its_ball(radius):
    X, y = rows(4, n=80, d=4)
    pairs = Pairs(X, y)
    free = np.linalg.norm(constrained_optimum(pairs, 0.05, np.inf))
    best = constrained_optimum(pairs, 0.05, radius * free)
    for epochs in (1, 100):
        clf = ended(SOLAM(n_epochs=epochs, radius=radius * free), X, y, 0.05, max_iter=100)
        sharp(clf.optimality_, share_left(clf.objective_, pairs.objective(best, 0.05, 0.0)), 1e-4)


def test_oam_is_measured_by_the_hinge():
    X, y = rows(5, n=60, d=4, share=0.4)
    X = X * [1e-2, 1.0, 30.0, 1.0]
    pairs = Pairs(X, y)
    least = program(pairs.D, 0.5 * pairs.q, 0.0, 0.0)[0]
    for epochs in (1, 20):
        clf = AUCClassifier(solver=OAM(n_epochs=epochs), random_state=0, max_iter=50).fit(X, y)
        sharp(clf.optimality_, share_left(clf.objective_, least), 5e-3)


@pytest.mark.parametrize("loss", ["exp", "square", "logistic"])
def test_univariate_learners_are_measured_by_their_own_loss(loss):
    X, y = rows(6, n=60, d=4, share=0.3)

    def F(w):
        return univariate.objective(X, y, np.ones(60), w, loss, 0.1)

    least = smooth_minimum(F, np.zeros(4), tol=1e-12).fun
    for epochs in (1, 100):
        clf = ended(UnivariateSGD(loss, n_epochs=epochs), X, y, 0.1, max_iter=100)
        sharp(clf.optimality_, share_left(clf.objective_, least, F(np.zeros(4))), 1e-5)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("solver", ["sadmm", "rda", "comid", "pegasos"])
def test_learners_of_the_hinge_are_measured_by_it(solver, l1_ratio):
    if solver == "pegasos" and l1_ratio:
        pytest.skip("pegasos takes an l2 penalty")
    X, y = rows(7, n=80, d=4, share=0.4)
    X = X * [0.1, 1.0, 5.0, 1.0]
    share, alpha = np.full(80, 1 / 80), 0.02
    least = program(y[:, None] * X, share, alpha * (1 - l1_ratio), alpha * l1_ratio)[0]
    for epochs in (1, 60):
        clf = HingeClassifier(alpha, l1_ratio, solver=solver, max_iter=epochs, random_state=0)
        clf.set_params(solver=clf.solver).fit(X, y)
        true = share_left(clf.objective_, least, 1.0)
        if true < 1.0:
            sharp(clf.optimality_, true, 5e-3)


class Still(Solver):
    """Gives back what it is told, and says nothing of how good that is."""

    name = "still"

    def __init__(self, where=None):
        self.where = where

    def solve(self, objective, start, run):
        return Result(self.where.copy(), 1)


def test_where_newton_does_not_end_no_sharper_kink_is_tried(monkeypatch):
    """Each would take as many steps as are allowed, and bound no better."""
    ended = []

    class Observed(Newton):
        def solve(self, objective, start, run):
            solution = super().solve(objective, start, run)
            ended.append(not solution.message)
            return solution

    monkeypatch.setattr("aucmax.solvers.certificate.Newton", Observed)
    X, y = rows(31, n=30)
    HingeClassifier(0.05, 1.0, solver="rda", max_iter=5, random_state=7).fit(X, y)
    assert ended == [True, False]


def test_a_solver_that_says_nothing_is_measured():
    X, y = eight_features(300)
    least, best = optimum(X, y, "square", 1e-2)
    for off in (0.0, 1e-3, 0.1, 0.9):
        clf = ended(Still((1 - off) * best), X, y, 1e-2)
        sharp(clf.optimality_, share_left(clf.objective_, least), 1e-7)


# ---- certificates ------------------------------------------------------------------------


def objective(X, y, loss="square", penalty=None):
    problem = RowsProblem.of(as_rows(X), y.astype(float))
    return Objective(problem, LOSSES[loss], L2(1e-3) if penalty is None else penalty)


@pytest.mark.parametrize("far", [0.5, 3.0])
def test_a_point_worse_than_no_model_is_not_flattered(far):
    """There a lower bound on J* bounds the share from below."""
    X, y = rows(5, n=60, d=4)
    goal = objective(X, y, "hinge", L2(0.05))
    least = CuttingPlane().solve(goal, None, Run(Monitor(goal), 1e-9))
    w = -far * least.coef
    value, optimality = Certificate(goal).evaluate(w)
    assert value > goal.at_zero
    assert optimality >= (value - goal.value(least.coef)) / (goal.at_zero - goal.value(least.coef))


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
@pytest.mark.parametrize("bounds", [None, (0.0, None)])
def test_no_model_is_not_certified_where_rounding_hides_the_gain(loss, bounds):
    X, y = eight_features(200)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = AUCClassifier(3e-4, loss=loss, standardize=0.0, coef_bounds=bounds)
    expected = model.fit(1e-5 * X, y).decision_function(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        hidden = model.fit(1e-10 * X, y)
    assert np.corrcoef(hidden.decision_function(X), expected)[0, 1] > 0.999
    assert objective(1e-10 * X, y, loss, L2(3e-4)).optimality(np.zeros(8)) > 0.01
    alike = np.vstack([X, X[::-1]]), np.repeat([1, -1], len(X))  # the classes, but for rounding
    assert objective(*alike, loss, L2(3e-4)).optimality(np.zeros(8)) == 0.0


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_a_certificate_serves_every_point(loss, l1_ratio):
    X, y = eight_features(200)
    X = (X - X.mean(axis=0)) / X.std(axis=0) * np.geomspace(0.3, 30.0, 8)
    alpha = 1e-2
    goal = objective(X, y, loss, ElasticNet(alpha, l1_ratio))
    least, best = optimum(X, y, loss, alpha, l1_ratio)
    certificate, rng = Certificate(goal), np.random.RandomState(0)
    points = [best * t for t in (0.0, 0.5, 0.99, 1.0, 1.3)] + [best * rng.randn(8)]
    for order in (points, points[::-1]):
        for w in order:
            value, said = certificate.evaluate(w)
            assert value == pytest.approx(goal.value(w), rel=1e-12)
            true = share_left(value, least, AT_ZERO[loss])
            if 0.0 < value < goal.at_zero:
                sharp(said, true, 1e-7)
            else:
                assert said >= 1.0 - 1e-9
    assert certificate.evaluate(np.full(8, np.nan))[1] == np.inf


def test_who_asks_for_a_certificate_leaves_the_problem_alone():
    X, y = rows(8, n=100, d=5)
    goal = objective(X, y)
    Certificate(goal).evaluate(np.ones(5))
    assert not goal.problem.knows_moments
    apart = goal.apart()
    sample = apart.problem.sample(10)
    assert apart.problem.sample(10) is sample
    apart.problem.moments()
    assert apart.problem.knows_moments
    assert not goal.problem.knows_moments
    assert goal.problem.sample(10) is not sample
    again = goal.apart()
    assert not again.problem.knows_moments
    goal.problem.moments()
    assert goal.apart().problem.knows_moments  # what is known now is known there
    assert not again.problem.knows_moments
    w = np.arange(5.0)
    for gamma in (0.0, 0.5):
        scaled = Objective(goal.problem.scaled(gamma), goal.loss, goal.penalty)
        np.testing.assert_array_equal(scaled.apart().data_gradient(w), scaled.data_gradient(w))
        assert scaled.apart().problem.store is goal.problem.store


def test_how_many_rows_a_feature_stands_out_in():
    n = 40
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = np.zeros((n, 5))
    X[:, 0] = np.where(np.arange(n) % 4 < 2, 1.0, -1.0)  # every row is as far from its mean
    X[5, 1] = 3.0
    X[[4, 8, 12], 2] = 1.0
    X[:, 4] = np.where(np.arange(n) % 3, 2.0, 0.0)
    gap = np.abs(X[:, 4] - np.where(y > 0, X[y > 0, 4].mean(), X[y < 0, 4].mean()))
    for form in (np.asarray, sp.csr_array):
        found = RowsProblem.of(as_rows(form(X)), y).standing_out()
        assert found[0] == pytest.approx(n)
        assert found[4] == pytest.approx((gap**2).sum() ** 2 / (gap**4).sum())
        assert 1.0 <= found[1] < 1.3
        assert 3.0 <= found[2] < 4.5
        assert found[3] == 0.0


def test_the_least_on_a_ball_is_what_a_ball_is_measured_by():
    X, y = rows(9, n=60, d=4)
    pairs = Pairs(X, y)
    for alpha in (0.0, 0.05):
        free = np.linalg.norm(constrained_optimum(pairs, alpha, np.inf))
        for radius in (0.1 * free, 0.8 * free, 3.0 * free):
            certificate = Certificate(objective(X, y, penalty=L2Ball(alpha, radius)))
            best = constrained_optimum(pairs, alpha, radius)
            least = pairs.objective(best, alpha, 0.0)
            for t in (1.0, 0.9, 0.3):
                value, said = certificate.evaluate(t * best)
                sharp(said, share_left(value, least), 1e-4)


# ---- conjugate gradient's estimates ------------------------------------------------------


def system(seed, d=30, condition=1e4):
    """A positive definite A with curvature 1 everywhere, b, and the least ½ x·Ax − b·x."""
    rng = np.random.RandomState(seed)
    Q, _ = np.linalg.qr(rng.randn(d, d))
    A = Q * np.geomspace(1.0, 1.0 / condition, d) @ Q.T
    unit = 1.0 / np.sqrt(np.diag(A))
    A, b = A * unit * unit[:, None], rng.randn(d)
    return A, b, -0.5 * b @ np.linalg.solve(A, b)


def clustered(seed, d=30, condition=1e4):
    """The same with most eigenvalues near 1, and a few far below."""
    rng = np.random.RandomState(seed)
    near = rng.rand(d) < 0.8
    near[0] = False
    spectrum = np.where(near, 10.0 ** rng.uniform(-0.3, 0.3, d), 1.0 / condition)
    Q, _ = np.linalg.qr(rng.randn(d, d))
    A = Q * spectrum @ Q.T
    unit = 1.0 / np.sqrt(np.diag(A))
    A, b = A * unit * unit[:, None], rng.randn(d)
    return A, b, -0.5 * b @ np.linalg.solve(A, b)


@pytest.mark.parametrize("condition", [3.0, 1e2, 1e4, 1e6])
def test_what_conjugate_gradient_gained(condition):
    for seed in range(8):
        A, b, _ = system(seed, condition=condition)
        for steps in (0, 1, 2, 5, 10, 20, 28):
            found = minimise(
                lambda v, A=A: A @ v, b, lambda v: v, lambda gained, left: False, steps
            )
            now = 0.5 * found.x @ A @ found.x - b @ found.x
            assert found.steps == steps
            assert found.gained == pytest.approx(-now, rel=1e-9)
            np.testing.assert_allclose(found.residual, b - A @ found.x, atol=1e-8)


@pytest.mark.covering(1)
@pytest.mark.parametrize("condition", [3.0, 1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
def test_what_is_left_where_conjugate_gradient_stops(condition, tol):
    """An estimate within the factor; a bound where the smallest eigenvalue is known to be near."""
    for seed, kind in itertools.product(range(30, 46), (system, clustered)):
        A, b, least = kind(seed, condition=condition)
        floor = np.linalg.eigvalsh(A)[0] * (1 - 1e-6)
        for end in (0.0, floor):
            found = minimise(
                lambda v, A=A: A @ v, b, lambda v: v,
                lambda gained, left: left <= tol * (gained + left), 1000, floor=end,
            )  # fmt: skip
            true = 0.5 * found.x @ A @ found.x - b @ found.x - least
            rounding = 0.1 * np.finfo(float).eps * condition  # of products with A
            noise = (1e-9 + rounding) * abs(least)
            assert true <= FACTOR * found.left + noise, seed
            if end >= 0.1 * found.smallest and condition < 1e9:  # Gauss–Radau, to rounding
                assert true <= found.left * (1 + 1e-6) + noise, seed


def test_it_stops_when_told_that_it_is_enough():
    A, b, _ = system(3)
    floor = np.linalg.eigvalsh(A)[0]
    for share in (0.3, 1e-3, 1e-9):
        found = minimise(
            lambda v: A @ v, b, lambda v: v,
            lambda gained, left, share=share: left <= share * gained, 1000, floor=floor,
        )  # fmt: skip
        assert found.left <= share * found.gained
        before = minimise(lambda v: A @ v, b, lambda v: v, lambda g, l: False, found.steps - 1,
                          floor=floor)  # fmt: skip
        assert before.left > share * before.gained
    seen = []
    minimise(lambda v: A @ v, b, lambda v: v, lambda g, l: False, 50,
             watch=lambda x, steps: seen.append((x.copy(), steps)) or steps == 4)  # fmt: skip
    assert [steps for _, steps in seen] == [1, 2, 3, 4]
    with np.errstate(all="raise"):
        nothing = minimise(lambda v: A @ v, 0 * b, lambda v: v, lambda g, l: False, 50)
    assert (nothing.steps, nothing.gained, nothing.left) == (0, 0.0, 0.0)


def test_a_preconditioner_changes_the_steps_and_not_the_solution():
    A, b, least = system(5, condition=1e3)
    units = 10.0 ** np.random.RandomState(0).randint(-3, 4, len(b))
    B, c = A * units * units[:, None], b * units
    found = minimise(
        lambda v: B @ v, c, lambda v: v / units**2,
        lambda gained, left: left <= 1e-9 * gained, 500,
    )  # fmt: skip
    plain = minimise(
        lambda v: A @ v, b, lambda v: v, lambda gained, left: left <= 1e-9 * gained, 500
    )
    assert abs(found.steps - plain.steps) <= 2
    np.testing.assert_allclose(found.x * units, plain.x, rtol=1e-4, atol=1e-6)
    assert found.gained == pytest.approx(-least, rel=1e-8)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-8])
def test_shifted_systems_from_one_space(tol):
    for seed in range(5):
        A, b, _ = system(seed, condition=1e5)
        shifts = np.array([1e-2, 1e-5, 1.0, 1e-3, 1e-2])
        U, reach, squares, steps = multi_shift(lambda v, A=A: A @ v, b, shifts, tol, 500)
        assert U.shape == (5, 30)
        assert 0 < steps < 200
        for u, far, square, shift in zip(U, reach, squares, shifts, strict=True):
            system_k = A + shift * np.eye(30)
            r = b - system_k @ u
            least = -0.5 * b @ np.linalg.solve(system_k, b)
            left = 0.5 * u @ system_k @ u - b @ u - least
            assert square == pytest.approx(r @ r, rel=1e-4, abs=1e-20 * (b @ b))
            said = 0.5 * far * r @ r
            assert left <= FACTOR * said + 1e-12 * abs(least)
            assert said <= 1.01 * tol * abs(least)
    *_, steps = multi_shift(lambda v: A @ v, b, shifts, tol, 3)
    assert steps == 3


# ---- the references ----------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_the_reference_is_the_minimum_by_other_ways(loss, l1_ratio):
    X, y = rows(3, n=40, d=5, share=0.4)
    X = X * [0.3, 1.0, 1.0, 2.0, 3.0]
    pairs = Pairs(X, y)
    for alpha in (1e-3, 0.05):
        least, w = optimum(X, y, loss, alpha, l1_ratio)
        assert least == pytest.approx(pairs.objective(w, alpha, l1_ratio, loss), rel=1e-12)
        l2, l1 = alpha * (1 - l1_ratio), alpha * l1_ratio
        if loss == "squared_hinge":
            other = program(pairs.D, 0.5 * pairs.q, l2, l1, power=2)[0]
        else:
            best = elastic_net_optimum(pairs, alpha, l1_ratio) if l1 else l2_optimum(pairs, alpha)
            other = pairs.objective(best, alpha, l1_ratio)
        assert least == pytest.approx(other, abs=1e-9)


def test_the_quadratic_program_is_a_minimum_of_the_hinge():
    X, y = rows(4, n=30, d=4, share=0.4)
    pairs, rng = Pairs(X * [1e-3, 1.0, 10.0, 1e3], y), np.random.RandomState(0)
    for l1_ratio in (0.0, 0.5, 1.0):
        least, w = program(pairs.D, 0.5 * pairs.q, 1e-2 * (1 - l1_ratio), 1e-2 * l1_ratio)
        assert least == pytest.approx(pairs.objective(w, 1e-2, l1_ratio, "hinge"), rel=1e-9)
        for _ in range(200):
            near = w + 10.0 ** rng.uniform(-4, 0) * rng.randn(4) / [1e-3, 1.0, 10.0, 1e3]
            assert pairs.objective(near, 1e-2, l1_ratio, "hinge") >= least - 1e-9


def least_hinge(X, y, alpha):
    """The least mean of max(0, 1 − y w·x) + α‖w‖₁, and where, by linear programming."""
    n, d = X.shape
    unit = np.abs(X).max(axis=0)
    M = y[:, None] * X / unit
    cost = np.concatenate([alpha / unit, alpha / unit, np.full(n, 1 / n)])
    found = linprog(cost, -np.hstack([M, -M, np.eye(n)]), -np.ones(n), method="highs")
    return found.fun, (found.x[:d] - found.x[d : 2 * d]) / unit


@pytest.mark.parametrize("scaled", [False, True], ids=["raw", "scaled"])
@pytest.mark.parametrize("alpha", [0.0, pytest.param(1e-4, marks=pytest.mark.exhaustive), 1e-2])
def test_a_hinge_in_any_units_is_never_told_to_be_nearer_than_it_is(alpha, scaled):
    """In the rounded kink there may be few rows, and second derivatives then say nothing."""
    X, target = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X) if scaled else X, 2.0 * target - 1.0
    X, y = X[::3], y[::3]
    least, best = least_hinge(X, y, alpha)
    problem = RowsProblem.of(as_rows(X), y)
    goal = UnivariateObjective(problem, UNIVARIATE_LOSSES["hinge"], ElasticNet(alpha, 1.0))
    for factor in (1.1, 1.001):
        value, told = Certificate(goal).evaluate(factor * best)
        assert share_left(value, least, 1.0) <= FACTOR * told + 1e-7


@pytest.mark.parametrize("shift", [1e6, 1e8])
@pytest.mark.parametrize("ratio", [0.0, 1.0], ids=["l2", "l1"])
def test_far_from_the_origin_no_bound_lies_above_what_another_learner_reached(ratio, shift):
    """The hinge of single rows has no intercept: a shift leaves its Hessian few digits."""
    rng = np.random.RandomState(0)
    y = np.where(rng.rand(600) < 0.3, 1, -1)
    direction = 0.6 * np.array([1.0, 0.5, 0.0, -0.5, 0.3, 0.0])
    X = rng.randn(600, 6) + (y == 1)[:, None] * direction + shift
    values, bounds = [], []
    for solver in ("sadmm", "rda", "comid"):
        clf = HingeClassifier(1e-4, l1_ratio=ratio, solver=solver, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            clf.fit(X, y)
        share = min(clf.optimality_, 1.0 - 1e-12)
        values.append(clf.objective_)
        bounds.append(clf.objective_ - share / (1.0 - share) * (1.0 - clf.objective_))
    assert max(bounds) <= min(values) + 1e-9
