"""Cutting planes: the optimum of a support vector machine on the pairs, and what certifies it."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from aucmax import AUCClassifier, ClassMoments, datasets, load, save
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import CuttingPlane, Monitor, Run
from aucmax.solvers.batch import cutting_plane
from oracles import rows
from oracles.pairs import Pairs

FORMS = {"dense": np.asarray, "csr": sp.csr_array}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


def objective(X, y, weight=None, alpha=1e-2):
    problem = RowsProblem.of(as_rows(X), y.astype(float), weight)
    return Objective(problem, LOSSES["hinge"], L2(alpha))


def fit(X, y, alpha, weight=None, **settings):
    clf = AUCClassifier(alpha, loss="hinge", **{"tol": 1e-9, "standardize": 0.0, **settings})
    return clf.fit(X, y, sample_weight=weight)


@pytest.fixture
def watched(monkeypatch):
    """The planes of every quadratic program, and the bound it gave."""
    seen = []
    lowest = cutting_plane.Planes.lowest

    def recorded(planes):
        a, b = np.array(planes.a), planes.b.copy()
        w, bound = lowest(planes)
        seen.append((a, b, w, bound))
        return w, bound

    monkeypatch.setattr(cutting_plane.Planes, "lowest", recorded)
    return seen


# ---- the optimum -------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_support_vector_machine_of_the_pairs(seed, alpha):
    """½‖w‖² + Σ C_k max(0, 1 − w·D_k), C_k = q_k/(2α); D and −D together need no intercept."""
    X, y = rows(seed, n=30, d=4, share=0.3)
    weight = np.random.RandomState(seed).rand(30) + 0.1
    pairs = Pairs(X, y, weight)
    C = np.r_[pairs.q, pairs.q] / (4 * alpha)
    svm = SVC(kernel="linear", C=C.max(), tol=1e-8, cache_size=500)
    svm.fit(np.r_[pairs.D, -pairs.D], np.repeat([1, -1], len(pairs.q)), sample_weight=C / C.max())
    assert abs(svm.intercept_[0]) < 1e-4
    clf = fit(X, y, alpha, weight)
    theirs = pairs.objective(svm.coef_[0], alpha, 0.0, "hinge")
    assert clf.objective_ == pytest.approx(theirs, abs=1e-6)
    assert clf.objective_ <= theirs + 1e-10
    assert clf.coef_[0] == pytest.approx(svm.coef_[0], abs=1e-3 * abs(clf.coef_).max())


@pytest.mark.covering(1)
@each_form
@pytest.mark.parametrize("seed", range(4))
def test_the_certificate_is_at_least_the_true_gap(seed, form):
    X, y = rows(10 + seed, n=60, d=6, share=0.2, density=0.5)
    pairs = Pairs(X, y)
    best = fit(form(X), y, 1e-3, tol=1e-13)
    assert pairs.hinge_gap(best.coef_[0], 1e-3) < 1e-8
    for tol in (0.3, 1e-2, 1e-6):
        clf = fit(form(X), y, 1e-3, tol=tol)
        gap = (clf.objective_ - best.objective_) / (0.5 - best.objective_)
        assert -1e-12 < gap <= clf.optimality_ + 1e-12
        assert clf.optimality_ <= tol


def test_one_feature_by_hand():
    """Positives at 1, a negative at 0: J(w) = ½ max(0, 1 − w) + αw²/2 bends at w = 1."""
    X, y = np.array([[1.0], [1.0], [0.0]]), np.array([1, 1, 0])
    assert fit(X, y, 0.25).coef_[0, 0] == pytest.approx(1.0, abs=1e-9)  # on the kink
    assert fit(X, y, 0.25).objective_ == pytest.approx(0.125, abs=1e-12)
    assert fit(X, y, 2.0).coef_[0, 0] == pytest.approx(0.25, abs=1e-9)  # ½/α, before it
    assert fit(X, y, 2.0).objective_ == pytest.approx(0.5 * 0.75 + 0.0625, abs=1e-12)


# ---- the planes --------------------------------------------------------------------------


@each_form
@pytest.mark.parametrize("weighted", [False, True])
def test_planes_lie_below_and_the_bound_below_the_optimum(watched, form, weighted):
    X, y = rows(1, n=60, d=6, share=0.3, density=0.6)
    weight = np.random.RandomState(0).choice([0.5, 1.0, 3.0], size=60) if weighted else None
    clf = fit(form(X), y, 1e-2, weight)
    pairs = Pairs(X, y, weight)
    rng = np.random.RandomState(1)
    for w in (*(3 ** rng.randn() * rng.randn(20, 6)), clf.coef_[0], np.zeros(6)):
        a, b, _, _ = watched[-1]
        assert np.all(b - a @ w <= pairs.data_term(w, "hinge") + 1e-12)
    bounds = np.array([bound for *_, bound in watched])
    assert np.all(bounds <= clf.objective_ + 1e-13)
    # more planes, a higher bound: none is dropped this early
    assert len(watched) > 5
    assert len(watched[-1][1]) == len(watched)
    assert np.all(np.diff(bounds) >= -1e-13)
    assert bounds[-1] == pytest.approx(clf.objective_, abs=0.5e-9)


def test_each_program_is_solved(watched):
    """w_t minimises α/2‖w‖² + the largest plane: its value there is the bound."""
    X, y = rows(2, n=60, d=6)
    fit(X, y, 1e-2)
    for a, b, w, bound in watched:
        assert 0.005 * w @ w + max(0.0, np.max(b - a @ w)) == pytest.approx(bound, abs=1e-11)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**31 - 1), st.floats(-8, 3))
@example(1, 1, 0, 2.0)  # where the interior point stops early
def test_the_weights_solve_the_quadratic_program(k, d, seed, scale):
    rng = np.random.RandomState(seed)
    a, b = rng.randn(k, d), rng.rand(k) - 0.2
    H = a @ a.T * 10.0**scale
    mu = cutting_plane.plane_weights(H, b)
    assert mu.min() >= 0
    assert mu.sum() <= 1 + 1e-12
    # optimal exactly when no corner of {μ ≥ 0, Σμ ≤ 1} lies uphill
    slope = b - H @ mu
    assert max(slope.max(), 0.0) - slope @ mu <= 1e-9 * (1 + abs(mu @ H @ mu))


def test_idle_planes_are_dropped_and_the_bound_still_holds(monkeypatch, watched):
    X, y = rows(3, n=120, d=15, share=0.3)
    whole = fit(X, y, 1e-4)
    monkeypatch.setattr(cutting_plane, "MAX_IDLE_PROGRAMS", 1)
    watched.clear()
    few = fit(X, y, 1e-4)
    assert len(watched[-1][1]) < len(watched)
    assert few.objective_ == pytest.approx(whole.objective_, abs=1e-9)


# ---- what must not change ----------------------------------------------------------------


def test_shift_class_weights_and_forms():
    X, y = rows(4, n=60, d=5, share=0.3, density=0.6)
    weight = np.random.RandomState(0).choice([1.0, 2.0, 3.0], size=60)
    one = fit(X, y, 1e-2, weight, standardize=0.5)
    plain = fit(X, y, 1e-2, weight, standardize=0.0)
    times = weight.astype(int)
    for other, same in (
        (fit(X + np.arange(5.0), y, 1e-2, weight, standardize=0.5), one),
        (fit(X, y, 1e-2, weight * np.where(y == 1, 7.0, 1.0), standardize=0.0), plain),
        (fit(sp.csr_matrix(X), y, 1e-2, weight, standardize=0.5), one),
        (fit(X.repeat(times, axis=0), y.repeat(times), 1e-2, standardize=0.5), one),
    ):
        assert other.objective_ == pytest.approx(same.objective_, abs=1e-9)
        assert other.coef_ == pytest.approx(same.coef_, abs=1e-6)
    low = fit(X.astype("f4"), y, 1e-2, weight, standardize=0.5)
    assert low.objective_ == pytest.approx(one.objective_, abs=1e-6)


def test_a_warm_start_saves_planes(tmp_path):
    X, y = rows(5, n=150, d=10, share=0.3)
    cold = fit(X, y, 1e-3, tol=1e-6)
    near = fit(X, y, 1.3e-3, tol=1e-6, warm_start=True)
    warm = near.set_params(alpha=1e-3).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_ == pytest.approx(cold.objective_, abs=1e-6)
    clf = AUCClassifier(1e-3, loss="hinge", solver=CuttingPlane(tol=1e-6))
    clf.set_params(standardize=0.0).fit(X, y)
    assert np.array_equal(clf.coef_, cold.coef_)
    save(clf, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").coef_, clf.coef_)


def test_history_and_callback():
    X, y = rows(6, n=100, d=10, share=0.3)
    clf = fit(X, y, 1e-3, callback=lambda progress: False, tol=1e-5)
    history = clf.history_
    assert len(history) >= clf.n_iter_ - 1 > 3
    assert np.all(np.diff(history["objective"]) <= 1e-12)
    assert np.all(np.diff(history["passes"]) > 0)
    stopped = fit(X, y, 1e-3, callback=lambda progress: progress.passes >= 6)
    assert stopped.n_iter_ == 3


def test_the_solvers_own_bound_is_reported():
    X, y = rows(7, n=60, d=6)
    goal = objective(X, y)
    result = CuttingPlane().solve(goal, None, Run(Monitor(goal), 1e-9, 100))
    value, rounded = goal.evaluate(result.coef)
    assert 0 <= goal.relative(result.gap, value) <= 1e-9 < rounded
    clf = fit(X, y, 1e-2)
    gap = max(result.gap, goal.rounding(result.coef))
    assert (clf.objective_, clf.optimality_) == (value, goal.relative(gap, value))


# ---- limits ------------------------------------------------------------------------------


def test_limits_and_what_it_cannot_do():
    X, y = rows(8, n=100, d=10)
    with pytest.warns(ConvergenceWarning, match=r"cutting planes stopped after 3 planes at opt"):
        clf = fit(X, y, 1e-6, max_iter=3)
    assert clf.n_iter_ == 3
    assert 1e-9 < clf.optimality_ < 1
    with pytest.raises(ValueError, match=r"'cutting_plane' needs alpha > 0; got 0.* such as 1e-6"):
        fit(X, y, 0.0)
    with pytest.raises(ValueError, match=r"no solver takes loss='hinge' with l1_ratio=0\.5; use"):
        AUCClassifier(l1_ratio=0.5, loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="'cutting_plane' does not take loss='square'"):
        AUCClassifier(solver="cutting_plane").fit(X, y)
    with pytest.raises(ValueError, match="no solver takes class moments alone"):
        AUCClassifier(loss="hinge").fit_moments(ClassMoments.from_data(X, y))
    for own, name in (({"tol": 0}, "tol"), ({"max_iter": 2.5}, "max_iter")):
        with pytest.raises(ValueError, match=f"{name} of CuttingPlane must be a"):
            AUCClassifier(loss="hinge", solver=CuttingPlane(**own)).fit(X, y)


@pytest.mark.covering(1)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 1e6])
def test_any_scale_ends_no_higher_than_it_began(scale, alpha):
    X, y = rows(9, n=60, d=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf = fit(scale * X, y, alpha, tol=1e-4, max_iter=300)
    assert clf.objective_ <= 0.5
    assert np.all(np.isfinite(clf.coef_))
    pairs = Pairs(scale * X, y)
    assert clf.objective_ == pytest.approx(pairs.objective(clf.coef_[0], alpha, 0, "hinge"))


@pytest.mark.data
@pytest.mark.parametrize(("name", "how"), [("a9a", None), ("news20", "even-odd")])
def test_few_planes_are_enough_on_real_data(name, how):
    data = datasets.load(name, split="train", binarize=how, scale="unit-norm")
    for alpha, most in ((1e-3, 20), (1e-4, 40)):
        clf = fit(data.data, data.target, alpha, tol=1e-4)
        assert clf.optimality_ <= 1e-4
        assert clf.n_iter_ <= most
