"""SOLAM and OPAUC against literal, dense NumPy versions of their papers' algorithms."""

import warnings
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from aucmax import AUCClassifier, ClassMoments, datasets, load, metrics, save, theory
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2, L2Ball
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import OPAUC, SOLAM
from literal import each_average, each_form, equal, weighted, without_zeros
from oracles import opauc, rows, solam
from oracles.pairs import Pairs
from oracles.spam import typical
from real_data import each_set


def problem(seed, weighted=False, n=30, norm=None):
    """Rows that float32 holds exactly, with some entries and some weights zero."""
    X, y = rows(seed, n=n, d=6, share=0.35, density=0.6, norm=norm)
    X = X.astype(np.float32).astype(np.float64)
    weight = np.random.RandomState(seed).choice([0.0, 0.5, 1.0, 2.5], size=n)
    return X, y, weight if weighted else np.ones(n)


def fitted(solver, X, y, weight=None, alpha=0.0, **settings):
    clf = AUCClassifier(alpha, solver=solver, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few dozen rows may not be enough
        return clf.fit(X, y, sample_weight=weight)


def streamed(solver, X, y, weight, alpha, chunk, form=np.asarray):
    clf = AUCClassifier(alpha, solver=solver)
    for lo in range(0, len(y), chunk):
        part = slice(lo, lo + chunk)
        clf.partial_fit(form(X[part]), y[part], classes=[-1, 1], sample_weight=weight[part])
    return clf


# ---- SOLAM -------------------------------------------------------------------------------


def literal_solam(X, y, weight, C, R, epochs, alpha=0.0):
    weight = typical(weight)
    beta = theory.beta_from_alpha(alpha, weight[y == 1].sum() / weight.sum())
    return solam.fit(X, y, weight, C, R, epochs, lambda p: beta)


@pytest.mark.covering
@each_form
@weighted
@each_average
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize(
    ("norm", "C", "R"),
    [(1.0, 100.0, 10.0), (1.0, 1.0, 1.0), (1.0, 10.0, 0.1), (None, 0.1, 1.0), (0.2, 10.0, 30.0)],
    ids=["authors", "short", "small-ball", "long-rows", "short-rows"],
)
def test_solam_is_the_paper(form, weighted, average, alpha, norm, C, R):
    X, y, weight = problem(1, weighted, norm=norm)
    iterates, last = literal_solam(*without_zeros(X, y, weight), C, R, 3, alpha)
    solver = SOLAM(C, n_epochs=3, order="cyclic", average=average, radius=R)
    got = fitted(solver, form(X), y, weight, alpha).coef_[0]
    equal(got, solam.mean(iterates) if average else last.w)


def test_the_literal_solam_hits_every_bound():
    """The cases above would prove little if no projection did anything."""
    X, y, weight = problem(1, norm=1.0)
    iterates, _ = literal_solam(X, y, weight, 100.0, 10.0, 3)
    kappa = np.linalg.norm(X, axis=1).max()
    for values, bound in (
        ([np.linalg.norm(at.w) for at in iterates], 10.0),
        ([at.a for at in iterates], 10.0 * kappa),
        ([-at.a for at in iterates], 10.0 * kappa),
        ([at.b for at in iterates], 10.0 * kappa),
        ([-at.b for at in iterates], 10.0 * kappa),
        ([at.alpha for at in iterates], 20.0 * kappa),
        ([-at.alpha for at in iterates], 20.0 * kappa),
    ):
        values = np.array(values)
        at_bound = values >= bound * (1 - 1e-12)
        assert 0 < at_bound[3:].sum() < len(values)


@each_form
@each_average
def test_solam_stays_exact_when_the_scale_is_folded(form, average):
    """On a small ball every step shrinks w; over 480 steps the scale falls far below 1e-5."""
    X, y, weight = problem(2, weighted=True, norm=1.0)
    kept = without_zeros(X, y, weight)
    epochs = 480 // len(kept[1])
    iterates, last = literal_solam(*kept, 3.0, 0.5, epochs, alpha=2.0)
    solver = SOLAM(3.0, n_epochs=epochs, order="cyclic", average=average, radius=0.5)
    got = fitted(solver, form(X), y, weight, 2.0).coef_[0]
    equal(got, solam.mean(iterates) if average else last.w)


@pytest.mark.covering
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize(("d", "noise"), [(5, 1.0), (2, 1.0), (5, 0.02)])
def test_solam_automatic_settings(share, alpha, d, noise):
    """The paper's algorithm on rows divided by κ, with C and R from the data."""
    X, y = rows(3, n=60, d=d, share=share)
    X[y == 1] += 1.0
    X[:, 1:] *= noise
    kappa, p = np.linalg.norm(X, axis=1).max(), np.mean(y == 1)
    pos, neg = X[y == 1], X[y == -1]
    delta = pos.mean(axis=0) - neg.mean(axis=0)
    size = np.linalg.norm(delta)
    along = (pos @ delta / size).var() + (neg @ delta / size).var()
    R = min(2 * size / (size**2 + alpha + along), 0.4 * 240**0.25 / kappa)
    # the best multiple of δ: ½(1 − t‖δ‖²)² + ½ t²‖δ‖²(along + α) is least there
    pairs, t = Pairs(X, y), np.linspace(0, 1 / size**2, 100_001)
    H = delta @ pairs.hessian() @ delta + alpha * size**2
    assert 2 * size * t[np.argmin(H * t**2 / 2 - size**2 * t)] == pytest.approx(
        2 * size / (size**2 + alpha + along), rel=1e-3
    )
    beta = theory.beta_from_alpha(alpha, p) / kappa**2  # on the divided rows, with κw
    C = 5 / np.sqrt(p * (1 - p))
    iterates, last = solam.fit(X / kappa, y, np.ones(60), C, R * kappa, 4, lambda p: beta)
    for form in (np.asarray, sp.csr_array):
        solver = SOLAM(n_epochs=4, order="cyclic")
        equal(fitted(solver, form(X), y, None, alpha).coef_[0], solam.mean(iterates) / kappa)
        solver = SOLAM(n_epochs=4, order="cyclic", average=False, radius=R)
        equal(fitted(solver, form(X), y, None, alpha).coef_[0], last.w / kappa)


@pytest.mark.parametrize("factor", [1e-6, 1e3, 1e9])
def test_solam_automatic_settings_do_not_depend_on_units(factor):
    X, y = rows(4, n=80, d=5)
    a = fitted("solam", X, y, None, 0.0, random_state=0)
    b = fitted("solam", X * factor, y, None, 0.0, random_state=0)
    equal(factor * b.coef_, a.coef_)
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-9)


def test_solam_from_a_warm_start():
    """w from coef_; a, b, α at their optimum for it; t from 1."""
    X, y, weight = problem(5, norm=1.0)
    clf = AUCClassifier(0.1, solver=SOLAM(1.0, n_epochs=2, order="cyclic", radius=2.0))
    clf.set_params(warm_start=True).fit(X, y)
    w = clf.coef_[0].copy()
    a, b = w @ X[y == 1].mean(axis=0), w @ X[y == -1].mean(axis=0)
    beta = theory.beta_from_alpha(0.1, np.mean(y == 1))
    begin = solam.Iterate(w, a, b, b - a)
    iterates, _ = solam.fit(X, y, weight, 1.0, 2.0, 2, lambda p: beta, begin=begin)
    equal(clf.fit(X, y).coef_[0], solam.mean(iterates))


def test_the_solution_stays_in_the_ball():
    X, y, _ = problem(6, norm=1.0)
    for R in (1e-3, 0.3, 5.0):
        for average in (False, True):
            for step_size in (0.1, 100.0, "auto"):
                solver = SOLAM(step_size, order="cyclic", average=average, radius=R)
                clf = fitted(solver, X, y)
                assert np.linalg.norm(clf.coef_) <= R * (1 + 1e-12)
                clf.set_params(warm_start=True, solver__radius=R / 7)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    clf.fit(X, y)
                assert np.linalg.norm(clf.coef_) <= R / 7 * (1 + 1e-12)


# ---- SOLAM over a stream -----------------------------------------------------------------


@pytest.mark.covering
@each_form
@each_average
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("chunk", [1, 7, 40])
def test_streamed_solam(form, average, alpha, chunk):
    """κ and p are those of the rows met so far, and β follows p̂."""
    X, y, weight = problem(7, weighted=True, n=40)
    X, y, weight = without_zeros(X, y, weight)
    y[:2] = -1, 1
    X[: len(X) // 2] *= 0.25  # κ grows on the way
    iterates, last = solam.fit(
        X, y, weight, 2.0, 3.0, 1, lambda p: 2 * p * (1 - p) * alpha, kappa="running"
    )
    solver = SOLAM(2.0, order="cyclic", average=average, radius=3.0)
    got = streamed(solver, X, y, weight, alpha, chunk, form).coef_[0]
    equal(got, solam.mean(iterates) if average else last.w)


def test_a_stream_of_solam_goes_on_from_a_fit():
    X, y, weight = problem(9, n=40)
    X[3] *= 1.5 * np.linalg.norm(X, axis=1).max() / np.linalg.norm(X[3])  # κ is that of the fit
    solver = SOLAM(1.0, n_epochs=2, order="cyclic", average=False, radius=3.0)
    clf = fitted(solver, X[:25], y[:25], None, 0.1)
    met = np.array([(y[:25] == 1).sum(), (y[:25] == -1).sum()])
    beta = theory.beta_from_alpha(0.1, met[0] / 25)
    _, last = solam.fit(X[:25], y[:25], np.ones(25), 1.0, 3.0, 2, lambda p: beta)
    equal(clf.coef_[0], last.w)
    kappa = np.linalg.norm(X, axis=1)
    assert kappa[:25].max() > kappa[25:].max()
    _, last = solam.fit(
        X[25:], y[25:], weight[25:], 1.0, 3.0, 1, lambda p: theory.beta_from_alpha(0.1, p),
        kappa=kappa.max(), begin=last, steps=50, met=2 * met,
    )  # fmt: skip
    equal(clf.partial_fit(X[25:], y[25:]).coef_[0], last.w)


# ---- SOLAM: the problem on the ball ------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_the_gap_on_a_ball(alpha):
    """Zero at the constrained optimum, where a step and the prox lead back; else a bound."""
    X, y = rows(10, n=40, d=4)
    pairs, problem = Pairs(X, y), RowsProblem.of(as_rows(X), y.astype(float))
    free = np.linalg.norm(solam.constrained_optimum(pairs, alpha, np.inf))
    for R in (0.1 * free, 0.9 * free, 2.0 * free):
        ball = L2Ball(alpha, R)
        goal = Objective(problem, LOSSES["square"], ball)
        w = solam.constrained_optimum(pairs, alpha, R)
        assert np.linalg.norm(w) == pytest.approx(min(R, free), rel=1e-12)
        assert goal.gap(*goal.data_term(w), w) < 1e-12
        for step in (0.1, 1.0):
            np.testing.assert_allclose(ball.prox(w - step * pairs.gradient(w), step), w, rtol=1e-9)
        for seed in range(5):
            other = ball.prox(R * np.random.RandomState(seed).randn(4), 0.0)
            gap = goal.gap(*goal.data_term(other), other)
            assert goal.value(other) - goal.value(w) <= gap + 1e-12


def test_the_ball_in_the_three_point_inequality():
    rng = np.random.RandomState(0)
    for _ in range(50):
        u, alpha, R, step = rng.randn(4), rng.rand(), 2 * rng.rand(), 10 ** rng.uniform(-2, 1)
        ball = L2Ball(alpha, R)
        p = ball.prox(u, step)
        for w in (ball.prox(rng.randn(4), 0.0), np.zeros(4), 0.9 * p):
            left = 0.5 * np.sum((p - u) ** 2) + step * ball.value(p)
            left += 0.5 * (1 + step * alpha) * np.sum((w - p) ** 2)
            assert left <= (0.5 * np.sum((w - u) ** 2) + step * ball.value(w)) * (1 + 1e-12)


@pytest.mark.parametrize("gamma", [pytest.param(0.0, marks=pytest.mark.exhaustive), 1.0])
def test_solam_reports_the_optimality_on_its_ball(gamma):
    """And goes to the optimum there, which is not that of J where the ball is small."""
    X, y = rows(11, n=60, d=4)
    pairs = Pairs(X, y, gamma=gamma)
    free = np.linalg.norm(solam.constrained_optimum(pairs, 0.1, np.inf))
    least_of_all = pairs.objective(solam.constrained_optimum(pairs, 0.1, np.inf), 0.1, 0.0)
    for R in (0.5 * free, 3.0 * free):
        seen = []
        optimum = solam.constrained_optimum(pairs, 0.1, R)
        least = pairs.objective(optimum, 0.1, 0.0)

        def record(progress, R=R, seen=seen, least=least):
            w = pairs.from_features(progress.coef)
            now = pairs.objective(w, 0.1, 0.0)
            on_ball = (now - least) / (0.5 - least)
            # the true measure, from above and near
            assert on_ball - 1e-9 <= progress.optimality <= 2 * max(on_ball, 0.0) + 1e-3
            assert progress.objective == pytest.approx(now, rel=1e-9)
            on_space = (now - least_of_all) / (0.5 - least_of_all)
            seen.append((np.linalg.norm(w), progress.optimality, on_space))

        clf = AUCClassifier(0.1, standardize=gamma, random_state=0, max_iter=800, tol=1e-12)
        clf.set_params(solver=SOLAM(n_epochs=800, average=False, radius=R), callback=record)
        w = pairs.from_features(clf.fit(X, y).coef_[0])
        np.testing.assert_allclose(w, optimum, atol=0.1 * np.abs(optimum).max())
        assert clf.objective_ == pytest.approx(pairs.objective(optimum, 0.1, 0.0), rel=0.02)
        assert seen[-1][1] == clf.optimality_
        norm, on_ball, on_space = np.array(seen[-200:]).T
        assert norm.max() <= R * (1 + 1e-12)
        if free > R:  # an iterate on the sphere is nearly optimal there, and not for J
            on_sphere = norm > R * (1 - 1e-9)
            assert on_sphere.sum() > 10
            assert on_ball[on_sphere].max() < 0.1
            assert on_space.min() > 0.1
        else:
            np.testing.assert_allclose(on_ball, on_space, rtol=1.0, atol=1e-3)
            assert on_ball.max() < 0.1


# ---- OPAUC -------------------------------------------------------------------------------


@pytest.mark.covering
@each_form
@weighted
@each_average
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("step_size", [0.02, "auto"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_opauc_is_the_paper(form, weighted, average, alpha, step_size, epochs):
    X, y, weight = problem(12, weighted)
    kept = without_zeros(X, y, weight)
    iterates = opauc.fit(*kept[:2], typical(kept[2]), alpha, step_size, epochs)
    solver = OPAUC(step_size, n_epochs=epochs, order="cyclic", average=average)
    got = fitted(solver, form(X), y, weight, alpha).coef_[0]
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


@each_form
@weighted
def test_opauc_is_the_paper_where_rows_wait_for_the_matrix(form, weighted):
    """With many features the matrices take in several rows at a time, and the rest at the end."""
    X, y = rows(18, n=61, d=153, density=0.3)  # from 150 on, eight rows at a time
    X = X.astype(np.float32).astype(np.float64)
    weight = np.random.RandomState(0).rand(61) + 0.5 if weighted else np.ones(61)
    assert min(np.sum(y == 1), np.sum(y == -1)) > 16
    expected = opauc.fit(X, y, typical(weight), 0.1, 1e-3, 2)[-1]
    solver = OPAUC(1e-3, n_epochs=2, order="cyclic")
    equal(fitted(solver, form(X), y, weight, 0.1).coef_[0], expected)


@weighted
def test_equations_4_and_5_are_the_gradient_over_pairs(weighted):
    X, y, weight = problem(13, weighted)
    kept = without_zeros(X, y, weight)
    a, b = (opauc.fit(*kept, 0.1, 0.03, pairwise=pairwise) for pairwise in (False, True))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_opauc_from_a_warm_start():
    X, y, weight = problem(14)
    start = np.random.RandomState(0).randn(6)
    clf = AUCClassifier(0.1, solver=OPAUC(1e-9), warm_start=True).fit(X, y)
    clf.coef_ = start[None]
    clf.set_params(solver=OPAUC(0.02, order="cyclic"))
    w = start
    for i in range(1, len(X)):
        others = np.flatnonzero(y[:i] != y[i])
        if len(others):
            w = w - 0.02 * opauc.gradient(w, X[i], y[i], X[others], weight[others], 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        equal(clf.fit(X, y).coef_[0], w)


@pytest.mark.parametrize("solver", [OPAUC(1e6), SOLAM(1e6, radius=100.0)], ids=["opauc", "solam"])
def test_too_long_a_step_warns_and_stays_finite(solver):
    """SOLAM's projections bound it: on a small ball even such steps average to something."""
    X, y = rows(25, n=200)
    with pytest.warns(ConvergenceWarning, match=r"diverged.*lower step_size"):
        clf = AUCClassifier(solver=solver, random_state=0).fit(X, y)
    assert np.all(np.isfinite(clf.coef_))


def test_opauc_over_epochs_reaches_the_optimum():
    X, y = rows(15, n=80, d=5, share=0.3)
    optimum = AUCClassifier(0.2, solver="exact", standardize=0.0).fit(X, y)
    clf = fitted(OPAUC(n_epochs=500), X, y, None, 0.2, random_state=0)
    equal(clf.coef_, optimum.coef_, 0.02)
    assert clf.objective_ == pytest.approx(optimum.objective_, rel=1e-3)


# ---- OPAUC over a stream -----------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 7])
def test_opauc_takes_no_step_until_the_other_class_has_been_seen(chunk):
    X, y, weight = problem(17, n=40)
    y[:10], y[10] = 1, -1
    solver = OPAUC(0.02, order="cyclic", average=True)
    iterates = opauc.fit(X, y, weight, 0.1, 0.02)
    assert len(iterates) == 30
    clf = streamed(solver, X[:10], y[:10], weight[:10], 0.1, chunk)
    assert np.all(clf.coef_ == 0)
    equal(streamed(solver, X, y, weight, 0.1, chunk).coef_[0], iterates.mean(axis=0))


@pytest.mark.parametrize("step_size", [0.02, "auto"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_stream_of_opauc_goes_on_from_a_fit(step_size, epochs, tmp_path):
    X, y, weight = problem(18, n=40)
    solver = OPAUC(step_size, n_epochs=epochs, order="cyclic")
    clf = fitted(solver, X[:25], y[:25], None, 0.1)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    met = np.r_[np.tile(np.arange(25), epochs), np.arange(25, 40)]
    expected = opauc.fit(X[met], y[met], weight[met], 0.1, 0.02)[-1]
    for model in (clf, again):
        model.partial_fit(X[25:], y[25:])
        if step_size != "auto":
            equal(model.coef_[0], expected, 1e-12)
    np.testing.assert_array_equal(clf.coef_, again.coef_)


# ---- OPAUC: the covariances --------------------------------------------------------------


@weighted
@pytest.mark.parametrize("step_size", [0.02, "auto"])
def test_the_covariances_do_not_see_a_shift(weighted, step_size):
    """Also far from the origin, where x xᵀ − c cᵀ has no digits left."""
    X, y, weight = problem(19, weighted, n=200)
    solver = OPAUC(step_size, order="cyclic")
    near, far = (fitted(solver, X + shift, y, weight, 0.1).coef_ for shift in (0.0, 2.0**20))
    equal(far, near, 1e-8)


def test_the_printed_recursion_is_wrong():
    """Erratum 4: it leaves out − c_{t−1}c_{t−1}ᵀ inside the /t term."""
    X = rows(20, n=200, d=5)[0] + 0.4
    S = opauc.covariance(X)
    scale = np.abs(S).max()
    assert np.abs(opauc.printed_recursion(X) - S).max() > 0.01 * scale
    assert np.abs(opauc.right_recursion(X) - S).max() < 1e-14 * scale
    # and the library's own moments agree
    moments = ClassMoments.from_data(X, np.arange(200) % 2)
    for k in (0, 1):
        right = opauc.right_recursion(X[k::2])
        np.testing.assert_allclose(right, moments.covs[k], atol=1e-14 * scale)


def test_covariances_that_do_not_fit_in_memory(monkeypatch):
    wide = sp.random(20, 9000, density=0.01, random_state=0, format="csr")
    y = np.arange(20) % 2
    message = r"two 9000×9000 matrices, 1\.3 GB, more than .*use solver='spam'"
    for call in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(AUCClassifier(solver="opauc"), call)(wide, y)
    monkeypatch.setattr(OPAUC, "max_covariance_bytes", 100)
    with pytest.raises(ValueError, match=r"two 3×3 matrices.*use solver='spam'"):
        AUCClassifier(solver="opauc").fit(rows(24, n=20, d=3)[0], y)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (OPAUC(covariance="diagonal"), "covariance must be one of 'full', 'gaussian', 'subset'"),
        (OPAUC(rank=3), "rank=3 does nothing with covariance='full'"),
        (OPAUC(covariance="gaussian", rank=0), r"rank must be a whole number in \[1, inf\); got 0"),
        (OPAUC(covariance="pca", centered=False), "centered=False is for covariance='gaussian'"),
        (SOLAM(step_size="fast"), "step_size must be a number"),
        (SOLAM(radius="wide"), "radius must be a number"),
    ],
)
def test_settings(solver, message):
    X, y = rows(21)
    with pytest.raises(ValueError, match=message):
        AUCClassifier(solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", ["solam", "opauc"])
def test_no_l1_part(solver):
    X, y = rows(22)
    with pytest.raises(ValueError, match=f"'{solver}' does not take .*these do: .*'spam'"):
        AUCClassifier(l1_ratio=0.5, solver=solver).fit(X, y)


# ---- real data ---------------------------------------------------------------------------

SMALLER = {
    "diabetes": None, "fourclass": None, "fourclass.raw": None, "german": None,
    "german.numer": None, "splice": None, "usps": "even-odd", "letter": "even-odd",
    "magic04": None, "a9a": None, "connect-4": 1,
}  # fmt: skip


@pytest.mark.data
def test_solam_on_a9a_as_its_authors_ran_it():
    """Their own result file: .8991 ± .0039 over 5 × 5 folds."""
    data = datasets.load("a9a", split="train", scale="unit-norm")
    X, y, aucs = data.data, data.target, []
    solver = SOLAM(100.0, n_epochs=15, order="cyclic", radius=10.0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    for train, test in islice(folds, 2):
        clf = AUCClassifier(0.0, solver=solver).fit(X[train], y[train])
        aucs.append(metrics.roc_auc(y[test], clf.decision_function(X[test])))
    assert np.mean(aucs) == pytest.approx(0.899, abs=0.004)


@pytest.mark.covering(1)
@pytest.mark.data
@pytest.mark.parametrize("scale", [None, "unit-norm"])
@each_set(SMALLER)
def test_defaults_do_not_diverge(name, scale):
    """In any units, from the batch and from the stream; a ConvergenceWarning is an error here."""
    data = datasets.load(name, binarize=SMALLER[name], scale=scale)
    few = np.random.RandomState(0).permutation(len(data.target))[:8000]
    X, y = data.data[few], data.target[few]
    whole = RowsProblem.of(as_rows(X), np.where(y == y.max(), 1.0, -1.0))
    J, zero = Objective(whole, LOSSES["square"], L2(1e-4)), 0.5
    best = AUCClassifier(1e-4, standardize=0.0).fit(X, y).objective_
    for solver in ("solam", "opauc"):
        reached = []
        for factor in (1.0, 1000.0):
            clf = AUCClassifier(1e-4 * factor**2, solver=solver, random_state=0)
            clf.fit(X * factor, y)
            reached.append(clf.objective_)
            assert best * (1 - 1e-6) <= clf.objective_ < zero
        assert reached[1] == pytest.approx(reached[0], rel=1e-6)
        parts = AUCClassifier(1e-4, solver=solver, random_state=0)
        half = np.random.RandomState(0).permutation(len(y))
        for part in np.array_split(half, 5):
            parts.partial_fit(X[part], y[part])
        assert J.value(parts.coef_[0]) < zero


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "scale", "within"),
    [("a9a", "unit-norm", 0.001), ("usps", "unit-norm", 0.004), ("splice", None, 0.003),
     ("letter", "unit-norm", 0.002), ("german", None, 0.004)],
)  # fmt: skip
def test_one_pass_of_opauc_comes_near_the_optimum(name, scale, within):
    data = datasets.load(name, binarize=SMALLER[name], scale=scale)
    X, y, gaps = data.data, data.target, []
    split = StratifiedShuffleSplit(2, test_size=0.2, random_state=0)
    for train, test in split.split(X, y):
        auc = {
            solver: metrics.roc_auc(
                y[test],
                AUCClassifier(solver=solver, random_state=0)
                .fit(X[train], y[train])
                .decision_function(X[test]),
            )
            for solver in ("exact", "opauc")
        }
        gaps.append(auc["exact"] - auc["opauc"])
    assert np.mean(gaps) < within
