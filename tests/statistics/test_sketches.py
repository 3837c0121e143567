"""Sketches of covariances: in OPAUC's steps, and in place of class moments."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax import AUCClassifier, ClassMoments, datasets, load, metrics, save
from aucmax.basics.errors import ModelFileError
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES, Square
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import OPAUC, Exact
from aucmax.statistics import frequent_directions
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections
from aucmax.statistics.projections import (
    gaussian_projection,
    principal_axes,
    random_features,
    reduced,
)
from aucmax.statistics.woodbury import woodbury
from literal import equal, weighted
from oracles import opauc, rows
from oracles import sketches as oracle

each_form = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
each_sketch = pytest.mark.parametrize("kind", [DiagonalMoments, FrequentDirections])
KINDS = {
    "gaussian": dict(covariance="gaussian", rank=3),
    "printed": dict(covariance="gaussian", rank=3, centered=False),
    "subset": dict(covariance="subset", rank=3),
    "projection": dict(covariance="projection", rank=3),
    "pca": dict(covariance="pca", rank=3),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
STREAMED = [name for name in KINDS if name != "pca"]


def problem(seed, weighted=False, n=60, d=6):
    """Rows, labels −1 and +1, and weights of mean 1."""
    X, y = rows(seed, n=n, d=d, density=0.6)
    X[y > 0] += 1.0
    weight = np.random.RandomState(seed).rand(n) + 0.2 if weighted else np.ones(n)
    return X, y, weight / weight.mean()


def fitted(solver, X, y, weight, alpha=0.1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a coarse sketch may end above J(0)
        return AUCClassifier(alpha, solver=solver, random_state=5).fit(X, y, weight)


def draws(count, tau=3, seed=5):
    return np.random.RandomState(seed).standard_normal((count, tau)) / np.sqrt(tau)


# ---- OPAUC against the papers' words -----------------------------------------------------


@pytest.mark.covering
@each_form
@weighted
@pytest.mark.parametrize("step_size", [0.02, "auto"])
@pytest.mark.parametrize("centered", [True, False], ids=["centered", "printed"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_opaucr_is_the_paper(form, weighted, step_size, centered, average):
    X, y, weight = problem(1, weighted)
    sketch = oracle.centered_sketch if centered else oracle.printed_sketch
    expected = oracle.gaussian_fit(X, y, weight, 0.1, step_size, draws(120), sketch, epochs=2)
    solver = OPAUC(
        step_size, 2, "cyclic", average, covariance="gaussian", rank=3, centered=centered
    )
    got = fitted(solver, form(X), y, weight).coef_[0]
    equal(got, expected.mean(axis=0) if average else expected[-1])


@pytest.mark.covering
@each_form
@weighted
@pytest.mark.parametrize("step_size", [0.02, "auto"])
@pytest.mark.parametrize("kind", ["subset", "projection", "pca"])
def test_reduced_opauc_is_opauc_on_the_reduced_rows(form, weighted, step_size, kind):
    X, y, weight = problem(2, weighted)
    rng = np.random.RandomState(5)
    if kind == "subset":
        H = np.eye(6)[:, random_features(6, 3, rng)]
    elif kind == "projection":
        H = gaussian_projection(6, 3, rng)
    else:
        H = oracle.axes(X, weight, 3)
    expected = H @ opauc.fit(X @ H, y, weight, 0.1, step_size, epochs=2)[-1]
    solver = OPAUC(step_size, 2, "cyclic", **KINDS[kind])
    clf = fitted(solver, form(X), y, weight)
    equal(clf.coef_[0], expected)
    means = [np.average(X[y == s], axis=0, weights=weight[y == s]) for s in (1, -1)]
    assert clf.intercept_[0] == pytest.approx(-0.5 * expected @ np.sum(means, axis=0), abs=1e-10)


@each_form
def test_all_features_and_all_axes_are_the_full_algorithm(form):
    X, y, weight = problem(3)
    full = fitted(OPAUC(order="cyclic"), form(X), y, weight).coef_
    for kind in ("subset", "pca"):  # rank 1000 counts as d
        equal(fitted(OPAUC(order="cyclic", covariance=kind), form(X), y, weight).coef_, full)


@pytest.mark.parametrize("kind", STREAMED)
def test_blocks_of_rows_are_seams_that_do_not_show(kind):
    """Rows are reduced, and get their random numbers, some hundreds at a time."""
    X, y, _ = problem(4, n=1300)
    solver = OPAUC(order="cyclic", **KINDS[kind])
    whole = AUCClassifier(0.1, solver=solver, random_state=5).partial_fit(X, y, [-1, 1])
    parts = AUCClassifier(0.1, solver=solver, random_state=5)
    for some in np.split(np.arange(1300), [100, 900]):
        parts.partial_fit(X[some], y[some], [-1, 1])
    equal(parts.coef_, whole.coef_, 1e-12)


@pytest.mark.covering
@each_kind
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e6])
def test_defaults_bear_rows_without_signal(kind, shift, scale):
    """Also a sketch of one direction; a ConvergenceWarning is an error here."""
    for seed in range(4):
        rng = np.random.RandomState(seed)
        n = 40 if seed % 2 else 250
        X, y = scale * (rng.standard_t(2, (n, 4)) + shift), rng.rand(n) < 0.3
        for rank in (1, None):
            solver = OPAUC(**KINDS[kind] | {"rank": rank})
            clf = AUCClassifier(1e-4 * scale**2, solver=solver, random_state=seed).fit(X, y)
            assert clf.objective_ <= 0.5 * (1 + 1e-6)


@each_kind
def test_a_warm_start_is_the_nearest_point_of_the_space(kind):
    X, y, weight = problem(6)
    start = np.arange(1.0, 7.0)
    clf = fitted(OPAUC(**KINDS[kind]), X, y, weight)
    clf.coef_ = start[None]
    clf.set_params(warm_start=True, solver=OPAUC(1e-14, order="cyclic", **KINDS[kind]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        coef = clf.fit(X, y).coef_[0]
    H = np.eye(6)
    if kind == "subset":
        H = np.eye(6)[:, random_features(6, 3, np.random.RandomState(5))]
    elif kind == "projection":
        H = gaussian_projection(6, 3, np.random.RandomState(5))
    elif kind == "pca":
        H = oracle.axes(X, weight, 3)
    equal(coef, H @ np.linalg.lstsq(H, start, rcond=None)[0], 1e-8)


# ---- OPAUC over a stream -----------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_a_stream_goes_on_from_a_fit_and_from_a_file(kind, average, tmp_path):
    X, y, weight = problem(8, True)
    solver = OPAUC(0.02, order="cyclic", average=average, **KINDS[kind])
    clf = AUCClassifier(0.1, solver=solver, random_state=5)
    first = weight[:40] / weight[:40].mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit(X[:40], y[:40], first)
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    for model in (clf, again):
        model.partial_fit(X[40:], y[40:], sample_weight=weight[40:])
    np.testing.assert_array_equal(clf.coef_, again.coef_)
    if kind != "pca":  # whose axes are those of the first part
        both = np.concatenate([first, weight[40:]])
        parts = AUCClassifier(0.1, solver=solver, random_state=5)
        equal(clf.coef_, parts.partial_fit(X, y, sample_weight=both).coef_, 1e-12)
    else:
        H = oracle.axes(X[:40], first, 3)
        both = np.concatenate([first, weight[40:]])
        iterates = opauc.fit(X @ H, y, both, 0.1, 0.02) @ H.T
        equal(clf.coef_[0], iterates.mean(axis=0) if average else iterates[-1])


def test_a_stream_keeps_the_weights_of_a_fit_as_given():
    X, y, _ = problem(9)
    solver = OPAUC(0.02, order="cyclic", covariance="gaussian", rank=3)
    # a weight of 7 in the fit is one of 7 in the stream, but its steps are those of weight 1
    stream = fitted(solver, X[:40], y[:40], np.full(40, 7.0))
    before = stream.coef_[0].copy()
    moved = stream.partial_fit(X[40:41], y[40:41], sample_weight=[1e-9]).coef_[0] - before
    other = y[:40] != y[40]
    S, _ = oracle.centered_sketch(X[:40][other], np.full(sum(other), 7.0), draws(40)[other])
    z = X[40] - X[:40][other].mean(axis=0)
    gradient = 0.1 * before + (z @ before - y[40]) * z + S @ before
    equal(moved / (-0.02 * 1e-9), gradient, 1e-4)


def test_a_fit_that_diverged_leaves_a_stream_that_goes_on():
    X, y, _ = problem(10)
    for kind in KINDS:
        clf = AUCClassifier(0.1, solver=OPAUC(1e200, **KINDS[kind]), random_state=0)
        with (
            pytest.warns(ConvergenceWarning, match=r"OPAUC diverged.*lower step_size"),
            np.errstate(all="ignore"),  # where nothing is compiled
        ):
            clf.fit(X, y)
        clf.set_params(solver=OPAUC(1e-3, **KINDS[kind])).partial_fit(X, y)
        assert np.all(np.isfinite(clf.coef_))
        assert np.any(clf.coef_ != 0)


def test_opaucr_keeps_rank_numbers_per_feature():
    X = sp.random(30, 5000, density=0.01, random_state=0, format="csr")
    clf = AUCClassifier(solver=OPAUC(covariance="gaussian", rank=4)).partial_fit(
        X, np.arange(30) % 2
    )
    assert len(pickle.dumps(clf)) < 8 * (2 * 4 + 10) * 5000


# ---- the Gaussian sketch -----------------------------------------------------------------


@pytest.mark.parametrize("step_size", [0.02, "auto"])
def test_opaucr_keeps_its_digits_far_from_the_origin(step_size):
    X, y, weight = problem(15, True)
    solver = OPAUC(step_size, order="cyclic", covariance="gaussian", rank=3)
    near = fitted(solver, X, y, weight)
    far = fitted(solver, X + 2.0**20, y, weight)
    equal(far.coef_, near.coef_, 1e-9)
    # a stream whose later rows are sparse
    some = AUCClassifier(0.1, solver=solver, random_state=5)
    some.partial_fit(X[:30], y[:30], sample_weight=weight[:30])
    some.partial_fit(sp.csr_array(X[30:]), y[30:], sample_weight=weight[30:])
    equal(some.coef_, near.coef_)


@each_form
@pytest.mark.parametrize("alpha", [50.0, 45.0, 75.0], ids=["to zero", "folded", "turned"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_opaucr_bears_a_penalty_that_undoes_w(form, alpha, average):
    """A step multiplies w by 1 − ηα, here 0, .1 and −.5."""
    X, y, weight = problem(13, True)
    expected = oracle.gaussian_fit(X, y, weight, alpha, 0.02, draws(60))
    solver = OPAUC(0.02, order="cyclic", average=average, covariance="gaussian", rank=3)
    got = fitted(solver, form(X), y, weight, alpha).coef_[0]
    equal(got, expected.mean(axis=0) if average else expected[-1])


@weighted
def test_the_sketch_is_positive_and_does_not_see_a_shift(weighted):
    X, _, weight = problem(11, weighted, n=25, d=4)
    for seed in range(5):
        R = draws(25, 2, seed)
        S, bound = oracle.centered_sketch(X + 3.0, weight, R)
        equal(S, oracle.centered_sketch(X, weight, R)[0], 1e-9)
        values = np.linalg.eigvalsh(S)
        assert values[0] > -1e-12 * values[-1]
        assert np.linalg.matrix_rank(S, tol=1e-10 * values[-1]) == 2
        assert bound == pytest.approx(np.trace(S), rel=1e-10)
        S, bound = oracle.printed_sketch(X + 3.0, weight, R)
        assert bound >= np.linalg.eigvalsh(S)[-1]


@weighted
def test_the_mean_of_the_sketch_is_the_covariance(weighted):
    """And that of the printed one is near the second moment: erratum 5."""
    X, _, weight = problem(12, weighted, n=8, d=2)
    X = X + 1.5
    T, c = weight.sum(), np.average(X, axis=0, weights=weight)
    S = oracle.scatter(X, weight) / T
    second = S + np.outer(c, c) * (1 - 1 / T)
    for sketch, mean in ((oracle.centered_sketch, S), (oracle.printed_sketch, second)):
        found = np.array([sketch(X, weight, draws(8, 2, k))[0] for k in range(1500)])
        error = found.std(axis=0) / np.sqrt(len(found))
        assert np.all(np.abs(found.mean(axis=0) - mean) < 4 * error)
        if mean is second:
            assert np.all(found.mean(axis=0) - S > 8 * error)


# ---- sketches in place of moments --------------------------------------------------------


def made(kind, rank=4, classes=None):
    return FrequentDirections(rank, classes) if kind is FrequentDirections else kind(classes)


@each_form
@each_sketch
@weighted
def test_counts_means_and_variances_are_exact(form, kind, weighted):
    X, y, weight = problem(13, weighted, n=90, d=7)
    X[:, 3] += 100.0
    weight[::7] = 0.0
    moments = ClassMoments.from_data(X, y, weight)
    whole = made(kind).update(form(X), y, weight)
    parts = made(kind)
    for lo in range(0, 90, 11):
        some = slice(lo, lo + 11)
        parts.update(form(X[some]), y[some], weight[some])
    merged = sum(made(kind).update(form(X[k::3]), y[k::3], weight[k::3]) for k in range(3))
    for sketch in (whole, parts, merged):
        np.testing.assert_array_equal(sketch.classes, moments.classes)
        np.testing.assert_allclose(sketch.counts, moments.counts, rtol=1e-12)
        np.testing.assert_allclose(sketch.means, moments.means, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(sketch.variances, moments.variances, rtol=1e-9)
        D, B = sketch.within()
        assert np.all(D >= 0)
        np.testing.assert_allclose(
            D + np.sum(B**2, axis=0), moments.variances.sum(axis=0), rtol=1e-9
        )
    assert (whole.n_pos, whole.n_neg) == pytest.approx((moments.n_pos, moments.n_neg))
    np.testing.assert_allclose(whole.mean_neg, moments.mean_neg, rtol=1e-11, atol=1e-12)


def check_bound(sketch, X, y, weight, factor=1.0):
    """0 ⪯ AᵀA − BᵀB ⪯ Δ I and Δ ≤ ‖A‖_F²/(rank + 1), for each class."""
    for k, label in enumerate(sketch.classes):
        mine = y == label
        full = oracle.scatter(X[mine], weight[mine])
        B, size = sketch.rows[k], np.trace(full)
        values = np.linalg.eigvalsh(full - B.T @ B)
        assert values[0] > -1e-9 * size
        assert values[-1] <= sketch.lost[k] + 1e-9 * size
        assert sketch.lost[k] <= factor * size / (sketch.rank + 1) * (1 + 1e-9)
        assert sketch.lost[k] > 0


@each_form
@weighted
def test_the_bound_of_frequent_directions(form, weighted, monkeypatch):
    X, y, weight = problem(14, weighted, n=300, d=20)
    X = X + np.linspace(0, 5, 20)  # Δ of many parts, whose means differ
    order = np.argsort(X[:, 5])
    X, y, weight = X[order], y[order], weight[order]
    monkeypatch.setattr(frequent_directions, "BLOCK_ROWS", 16)
    whole = FrequentDirections.from_data(form(X), y, weight, rank=6)
    check_bound(whole, X, y, weight)
    parts = FrequentDirections(6)
    for lo in range(0, 300, 13):
        some = slice(lo, lo + 13)
        parts.update(form(X[some]), y[some], weight[some])
    check_bound(parts, X, y, weight)
    a, b = (FrequentDirections(6).update(form(X[k]), y[k], weight[k])
            for k in (slice(0, 100), slice(100, 300)))  # fmt: skip
    check_bound(a + b, X, y, weight)
    check_bound(b + a, X, y, weight)


@each_form
@weighted
def test_frequent_directions_are_the_literal_ones(form, weighted, monkeypatch):
    X, y, weight = problem(15, weighted, n=100, d=9)
    monkeypatch.setattr(frequent_directions, "BLOCK_ROWS", 10)
    found = FrequentDirections.from_data(form(X), y, weight, rank=4)
    for k, label in enumerate(found.classes):
        mine = y == label
        n = int(mine.sum())
        blocks = [slice(lo, lo + 10) for lo in range(0, n, 10)]
        B, lost = oracle.frequent_directions(X[mine], weight[mine], 4, blocks)
        equal(found.rows[k].T @ found.rows[k], B.T @ B)
        assert found.lost[k] == pytest.approx(lost, rel=1e-10)


@each_form
def test_enough_directions_are_the_whole_covariance(form):
    X, y, weight = problem(16, True, n=80, d=5)
    full = AUCClassifier(0.01, solver="exact", standardize=0.5).fit(form(X), y, weight)
    solver = Exact("frequent_directions", rank=5)
    clf = AUCClassifier(0.01, solver=solver, standardize=0.5).fit(form(X), y, weight)
    equal(clf.coef_, full.coef_, 1e-9)
    assert clf.optimality_ < 1e-9
    assert np.all(clf.moments_.lost < 1e-12)


def test_far_columns_of_csr_rows_keep_their_digits():
    X, y, _ = problem(17, n=60, d=6)
    X[:, :2] += 1e6
    dense, csr = (FrequentDirections.from_data(Z, y, rank=3) for Z in (X, sp.csr_array(X)))
    for k in (0, 1):
        equal(csr.rows[k].T @ csr.rows[k], dense.rows[k].T @ dense.rows[k], 1e-7)
        full = oracle.scatter(X[y == dense.classes[k]], np.ones(sum(y == dense.classes[k])))
        assert np.linalg.eigvalsh(full - csr.rows[k].T @ csr.rows[k])[0] > -1e-7 * np.trace(full)


@each_sketch
def test_an_empty_sketch_is_neutral(kind):
    X, y, weight = problem(18, True)
    a = made(kind).update(X, y, weight)
    for empty in (made(kind), made(kind, classes=[-1, 1])):
        assert a + empty == a
        assert empty + a == a
    assert a.copy() == a
    assert sum([a]) == a
    b = a.copy().update(X, y, np.zeros(60))
    assert b == a
    assert a != made(kind).update(X[1:], y[1:])
    one = made(kind).update(X[y > 0], y[y > 0]) + made(kind).update(X[y < 0], y[y < 0])
    assert one == made(kind).update(X, y)


@each_sketch
def test_sketches_decay_and_are_saved(kind, tmp_path):
    X, y, weight = problem(21, True)
    a, b = made(kind).update(X, y, weight), made(kind).update(X[:9], y[:9])
    old, lighter = a.decay(0.25), made(kind).update(X, y, 0.25 * weight)
    for name in ("counts", "means", "variances", "rows", "lost"):
        if hasattr(old, name):
            equal(getattr(old, name), getattr(lighter, name), 1e-9)
    a.save(tmp_path / "a.moments")
    again = kind.load(tmp_path / "a.moments")
    assert again == a
    assert again + b == a + b
    message = f"is an aucmax {kind.kind} file; give an aucmax moments file"
    with pytest.raises(ModelFileError, match=message):
        ClassMoments.load(tmp_path / "a.moments")


@each_sketch
def test_full_moments_say_what_a_sketch_needs(kind):
    X, y, weight = problem(19, True, n=70, d=8)
    moments = ClassMoments.from_data(pd.DataFrame(X, columns=list("abcdefgh")), y, weight)
    found = made(kind).taken_from(moments)
    assert found.feature_names == list("abcdefgh")
    np.testing.assert_allclose(found.variances, moments.variances)
    np.testing.assert_array_equal(found.means, moments.means)
    if kind is FrequentDirections:
        check_bound(found, X, y, weight)


def test_rows_are_taken_out_of_a_diagonal():
    X, y, weight = problem(20, True)
    whole = DiagonalMoments.from_data(X, y, weight)
    part = DiagonalMoments.from_data(X[40:], y[40:], weight[40:])
    rest, expected = whole - part, DiagonalMoments.from_data(X[:40], y[:40], weight[:40])
    for name in ("counts", "means", "variances"):
        np.testing.assert_allclose(getattr(rest, name), getattr(expected, name), rtol=1e-9)
    assert not (whole - whole).counts.any()
    with pytest.raises(ValueError, match="cannot subtract weight"):
        part - whole
    other = DiagonalMoments.from_data(10 * X[40:], y[40:], weight[40:])
    with pytest.raises(ValueError, match="negative variance, so they were not all added"):
        whole - other


@pytest.mark.parametrize("rank", [0, 3])
def test_woodbury_solves_its_system(rank):
    rng = np.random.RandomState(0)
    D, B, delta = rng.rand(7), rng.randn(rank, 7), rng.randn(7)
    u = woodbury(D, B.copy(), 0.1, delta)
    np.testing.assert_allclose((np.diag(D + 0.1) + B.T @ B) @ u, delta, atol=1e-13)
    # directions that hold all: nothing on the diagonal
    D[:] = 0.0
    if rank:
        u = woodbury(D, B.copy(), 1e-6, delta)
        np.testing.assert_allclose((1e-6 * np.eye(7) + B.T @ B) @ u, delta, atol=1e-9)
    assert np.all(np.isfinite(woodbury(D, B.copy(), 0.0, delta)))
    assert np.all(woodbury(np.zeros(2), np.zeros((0, 2)), 0.0, np.zeros(2)) == 0)


# ---- the estimator on sketches -----------------------------------------------------------


def expected_coef(X, y, weight, alpha, covariance, rank=4):
    """The optimum with the covariance that a sketch stands for."""
    S, means = np.zeros((X.shape[1], X.shape[1])), []
    for label in (1, -1):
        mine = y == label
        full = oracle.scatter(X[mine], weight[mine])
        B = np.zeros((0, X.shape[1]))
        if covariance == "frequent_directions":
            B = oracle.shrink(np.linalg.cholesky(full).T, rank)[0]
        S += (B.T @ B + np.diag(np.diag(full - B.T @ B))) / weight[mine].sum()
        means.append(np.average(X[mine], axis=0, weights=weight[mine]))
    return oracle.low_rank_optimum(S, means[0] - means[1], alpha)


@pytest.mark.covering(1)
@each_form
@weighted
@pytest.mark.parametrize("covariance", ["diagonal", "frequent_directions"])
def test_exact_with_a_sketch_is_the_optimum_for_its_covariance(form, weighted, covariance):
    X, y, weight = problem(21, weighted, n=120, d=9)
    solver = Exact(covariance, 4 if covariance != "diagonal" else None)
    clf = AUCClassifier(0.05, standardize=0.0, solver=solver).fit(form(X), y, weight)
    equal(clf.coef_[0], expected_coef(X, y, weight, 0.05, covariance))
    # judged by the true objective
    J = Objective(RowsProblem.of(as_rows(X), y.astype(float), weight), LOSSES["square"], L2(0.05))
    least = AUCClassifier(0.05, standardize=0.0, solver="exact").fit(X, y, weight).objective_
    assert clf.objective_ == pytest.approx(J.value(clf.coef_[0]), rel=1e-9)
    lost = (clf.objective_ - least) / (0.5 - least)
    assert 5e-4 < lost * (1 - 1e-9) <= clf.optimality_ < 1.5 * lost
    single = AUCClassifier(0.05, standardize=0.0, solver=solver).fit(
        form(X.astype(np.float32)), y, weight
    )
    equal(single.coef_, clf.coef_, 1e-4)
    # and from the moments alone
    for moments in (clf.moments_, ClassMoments.from_data(X, y, weight)):
        again = AUCClassifier(0.05, standardize=0.0, solver=solver).fit_moments(moments)
        equal(again.coef_, clf.coef_, 1e-9)
        assert again.n_features_in_ == 9
    auto = AUCClassifier(0.05, standardize=0.0).fit_moments(clf.moments_)
    equal(auto.coef_, clf.coef_, 1e-12)
    assert auto.solver_ == "exact"


def test_the_diagonal_in_scaled_coordinates():
    X, y, weight = problem(22, True)
    X = X * np.logspace(0, 3, 6)
    clf = AUCClassifier(0.05, solver=Exact("diagonal"), standardize=1.0).fit(X, y, weight)
    factor = RowsProblem.of(as_rows(X), y.astype(float), weight).scaled(1.0).factor
    expected = factor * expected_coef(X * factor, y, weight, 0.05, "diagonal")
    equal(clf.coef_[0], expected)
    equal(AUCClassifier(0.05, standardize=1.0).fit_moments(clf.moments_).coef_[0], expected)


@each_form
@weighted
def test_a_stream_with_the_diagonal_is_one_fit(form, weighted):
    X, y, weight = problem(23, weighted)
    weight[::5] = 0.0
    settings = dict(alpha=0.05, solver=Exact("diagonal"), standardize=0.5)
    whole = AUCClassifier(**settings).fit(form(X), y, weight)
    for chunk in (1, 7, 25):
        parts = AUCClassifier(**settings)
        for lo in range(0, 60, chunk):
            some = slice(lo, lo + chunk)
            parts.partial_fit(form(X[some]), y[some], [-1, 1], weight[some])
        equal(parts.coef_, whole.coef_, 1e-10)
        equal(parts.intercept_, whole.intercept_, 1e-9)
    first = AUCClassifier(**settings).fit(form(X[:30]), y[:30], weight[:30])
    first.partial_fit(form(X[30:]), y[30:], sample_weight=weight[30:])
    equal(first.coef_, whole.coef_, 1e-10)
    # and back: rows are forgotten
    first.forget(form(X[30:]), y[30:], weight[30:])
    equal(first.coef_, AUCClassifier(**settings).fit(X[:30], y[:30], weight[:30]).coef_, 1e-8)


def test_a_stream_with_frequent_directions_keeps_its_bound():
    X, y, weight = problem(24, True, n=200, d=12)
    solver = Exact("frequent_directions", rank=5)
    clf = AUCClassifier(0.05, standardize=0.0, solver=solver).fit(X[:80], y[:80], weight[:80])
    for lo in range(80, 200, 17):
        some = slice(lo, min(lo + 17, 200))
        clf.partial_fit(X[some], y[some], sample_weight=weight[some])
    check_bound(clf.moments_, X, y, weight)
    D, B = clf.moments_.within()
    delta = clf.moments_.mean_pos - clf.moments_.mean_neg
    equal(clf.coef_[0], oracle.low_rank_optimum(np.diag(D) + B.T @ B, delta, 0.05), 1e-9)
    with pytest.raises(ValueError, match="subtracted from a sketch of frequent directions"):
        clf.forget(X[:5], y[:5])


@pytest.mark.covering(1)
@each_form
@weighted
@pytest.mark.parametrize("units", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize(
    "solver", [Exact("diagonal"), Exact("frequent_directions", 2), Exact("frequent_directions", 9)]
)
def test_without_rows_the_optimality_is_a_bound(solver, units, weighted, form):
    X, y, weight = problem(27, weighted, n=200, d=12)
    X[:, 0] = X[:, 1] + X[:, 2]  # what the diagonal does not see
    X = X * units ** np.linspace(-1.0, 1.0, 12)
    for gamma, alpha, within in ((0.0, 0.05 * units**2, 0.5), (0.5, 0.01, 0.2), (1.0, 1e-4, 0.9)):
        settings = dict(alpha=alpha, standardize=gamma, within=within)
        clf = AUCClassifier(**settings, solver=solver)
        clf.partial_fit(form(X), y, sample_weight=weight)
        best = AUCClassifier(**settings, solver="exact").fit(X, y, weight).objective_
        rows = RowsProblem.of(as_rows(X), y, weight).scaled(gamma)
        goal = Objective(rows, Square(within), L2(alpha))
        true = goal.value(rows.from_features(clf.coef_[0]))
        assert true <= clf.objective_ * (1 + 1e-9)
        assert (true - best) / (0.5 - best) <= clf.optimality_ + 1e-9
    # the more directions, the less is missed
    assert solver.rank != 9 or clf.optimality_ < 0.3


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_a_model_worse_than_none_has_a_bound_of_how_much_worse(alpha):
    rng = np.random.default_rng(0)
    spread = np.eye(8) + 0.9  # all features go together, and tell little
    X = rng.normal(size=(300, 8)) @ spread
    y = (X.sum(axis=1) + 60.0 * rng.normal(size=300) > 0).astype(int)
    settings = dict(alpha=alpha, standardize=0.0)
    clf = AUCClassifier(**settings, solver=Exact("diagonal")).partial_fit(X, y)
    best = AUCClassifier(**settings, solver="exact").fit(X, y).objective_
    rows = RowsProblem.of(as_rows(X), y, None)
    true = Objective(rows, Square(), L2(alpha)).value(clf.coef_[0])
    assert clf.objective_ > 0.5  # as far as the sketch tells
    assert true <= clf.objective_
    assert (true - best) / (0.5 - best) <= clf.optimality_ < np.inf


def test_full_moments_go_on_as_a_sketch_but_not_back():
    X, y, _ = problem(25)
    clf = AUCClassifier(0.05, standardize=0.0, solver="exact").fit(X[:30], y[:30])
    clf.set_params(solver=Exact("diagonal")).partial_fit(X[30:], y[30:])
    equal(clf.coef_, AUCClassifier(0.05, standardize=0.0, solver=Exact("diagonal")).fit(X, y).coef_)
    for solver in ("exact", "auto", Exact("frequent_directions")):
        before = clf.coef_
        with pytest.raises(ValueError, match=r"kept as DiagonalMoments\(6 features.*as they were"):
            clf.set_params(solver=solver).partial_fit(X, y)
        assert clf.coef_ is before
    directions = AUCClassifier(0.05, standardize=0.0, solver=Exact("frequent_directions", 3)).fit(
        X[:30], y[:30]
    )
    with pytest.raises(ValueError, match="rank-3 FrequentDirections"):
        directions.set_params(solver__rank=4).partial_fit(X, y)
    directions.set_params(solver=Exact("diagonal")).partial_fit(X[30:], y[30:])
    equal(directions.coef_, clf.coef_)


@pytest.mark.parametrize("covariance", ["diagonal", "frequent_directions"])
def test_models_with_sketches_are_saved(covariance, tmp_path):
    X, y, _ = problem(26)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = AUCClassifier(0.05, solver=Exact(covariance)).fit(frame, np.where(y > 0, "y", "n"))
    save(clf, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.moments_ == clf.moments_
    assert again.moments_.feature_names == list("abcdef")
    for model in (clf, again):
        model.partial_fit(frame[:20], np.where(y[:20] > 0, "y", "n"))
    np.testing.assert_array_equal(again.coef_, clf.coef_)


def test_csr_rows_are_not_made_dense():
    """20000 × 20000 would be 3.2 GB."""
    X = sp.random(400, 20_000, density=1e-3, random_state=0, format="csr")
    y = np.arange(400) % 2
    for solver in (Exact("diagonal"), Exact("frequent_directions", 5)):
        clf = AUCClassifier(1e-3, solver=solver).fit(X, y)
        assert clf.partial_fit(X, y).moments_.counts.sum() == 800
        assert np.all(np.isfinite(clf.coef_))


@pytest.mark.data
def test_sketches_of_wide_rows():
    """55,197 features; `benchmarks sketches` has .9866, .9707 and .9761 at the best alphas."""
    data = datasets.load("sector", split="train", binarize="even-odd", scale="unit-norm")
    X, y = data.data, data.target
    train, test = next(StratifiedShuffleSplit(1, test_size=0.2, random_state=0).split(X, y))
    auc = {}
    for name, alpha, solver in (
        ("full", 1e-4, "conjugate_gradient"),
        ("diagonal", 1e-5, Exact("diagonal")),
        ("directions", 1e-5, Exact("frequent_directions", 25)),
    ):
        clf = AUCClassifier(alpha, solver=solver).fit(X[train], y[train])
        auc[name] = metrics.roc_auc(y[test], clf.decision_function(X[test]))
    assert 0.96 < auc["diagonal"] < auc["directions"] < auc["full"]


# ---- coordinates -------------------------------------------------------------------------


@each_form
@pytest.mark.parametrize(
    ("n", "d", "k"), [(40, 9, 3), (9, 40, 3), (60, 40, 3), (40, 60, 3), (50, 4, 4), (5, 30, 8)]
)
def test_principal_axes(form, n, d, k):
    """From the covariance, from the Gram matrix, and by Lanczos iterations."""
    rng = np.random.RandomState(n)
    X = rng.randn(n, d) * np.logspace(1, -1, d) * (rng.rand(n, d) < 0.7) + 2.0
    weight = rng.rand(n) + 0.1
    H = principal_axes(as_rows(form(X)), weight, k, np.random.RandomState(0))
    V = oracle.axes(X, weight, min(k, n - 1))
    assert H.shape == (d, k)
    equal(H @ H.T, V @ V.T, 1e-7)
    assert np.all(H[:, n - 1 :] == 0)  # n centred rows have n − 1 axes


@each_form
def test_reduced_rows(form):
    X = problem(27)[0]
    rng = np.random.RandomState(0)
    H, index = gaussian_projection(6, 4, rng), random_features(6, 4, rng)
    assert len(np.unique(index)) == 4
    np.testing.assert_allclose(reduced(as_rows(form(X)), H), X @ H, atol=1e-14)
    some = reduced(as_rows(form(X)), index)
    some = sp.csr_array((some.data, some.indices, some.indptr), (60, 4)).toarray() if hasattr(
        some, "indptr") else some  # fmt: skip
    np.testing.assert_array_equal(some, X[:, index])
    mean = np.mean([H @ H.T for H in (gaussian_projection(3, 2, rng) for _ in range(4000))], 0)
    np.testing.assert_allclose(mean, np.eye(3), atol=0.08)


# ---- messages ----------------------------------------------------------------------------


def test_settings():
    X, y, _ = problem(28)
    for solver, message in (
        (Exact("low_rank"), "covariance must be one of 'full', 'diagonal', 'frequent_directions'"),
        (Exact("diagonal", rank=3), "rank=3 does nothing with covariance='diagonal'"),
        (Exact(rank=3), "rank=3 does nothing with covariance='full'"),
        (Exact("frequent_directions", rank=0), r"rank must be a whole number in \[1, inf\)"),
        (OPAUC(covariance="subset", rank=2.5), "rank must be a whole number"),
        (OPAUC(covariance="subset", centered=False), "centered=False is for"),
        (OPAUC(covariance="projection", rank=True), "rank must be a whole number"),
    ):
        for call in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=message):
                getattr(AUCClassifier(solver=solver), call)(X, y)
    with pytest.raises(ValueError, match=r"call fit before partial_fit, or use .*'projection'"):
        AUCClassifier(solver=OPAUC(covariance="pca")).partial_fit(X, y)


@pytest.mark.parametrize("other", [None, *KINDS])
def test_a_stream_keeps_its_covariance(other):
    X, y, _ = problem(29)
    for kind in STREAMED:
        clf = AUCClassifier(solver=OPAUC(**KINDS[kind])).partial_fit(X, y)
        changed = OPAUC() if other is None else OPAUC(**KINDS[other])
        families = {"printed": "gaussian", "pca": "projection"}
        if families.get(kind, kind) != families.get(other, other):
            with pytest.raises(ValueError, match="covariance and rank cannot change"):
                clf.set_params(solver=changed).partial_fit(X, y)
        with pytest.raises(ValueError, match="covariance and rank cannot change"):
            clf.set_params(solver=OPAUC(**KINDS[kind] | {"rank": 2})).partial_fit(X, y)


def test_memory_that_is_not_there(monkeypatch):
    X, y = sp.random(20, 9000, density=0.01, random_state=0, format="csr"), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"two 9000×9000.*or covariance='gaussian'"):
        AUCClassifier(solver=OPAUC()).fit(X, y)
    with pytest.raises(
        ValueError, match=r"ClassMoments of 9000 features.*Exact\(covariance='diagonal"
    ):
        AUCClassifier().partial_fit(X, y)
    monkeypatch.setattr(OPAUC, "max_covariance_bytes", 1000)
    for kind, what in (
        ("gaussian", "two 9000×3 matrices"),
        ("projection", "two 100×100 matrices and one of 9000×100"),
        ("pca", "two 100×100 matrices and one of 9000×100"),
        ("subset", "two 100×100 matrices"),
    ):
        solver = OPAUC(covariance=kind, rank=3 if kind == "gaussian" else 100)
        with pytest.raises(ValueError, match=f"{what}, .* use a lower rank, or solver='spam'"):
            AUCClassifier(solver=solver).fit(X, y)
    monkeypatch.setattr(AUCClassifier, "max_moment_bytes", 1000)
    clf = AUCClassifier(solver=Exact("frequent_directions"))
    with pytest.raises(ValueError, match=r"FrequentDirections of 9000 features.*a low rank"):
        clf.partial_fit(X, y)
    assert not hasattr(clf, "coef_")
    assert AUCClassifier(solver=Exact("diagonal")).partial_fit(X, y).coef_.shape == (1, 9000)


@each_sketch
def test_bad_input_to_a_sketch_changes_nothing(kind):
    X, y, _ = problem(30)
    sketch = made(kind, classes=[-1, 1]).update(X, y)
    before = sketch.copy()
    spoilt = X.copy()
    spoilt[3, 2] = 1e200
    for arguments, message in (
        ((X, np.where(y > 0, 2, -1)), "label 2, which is not among the classes"),
        ((X[:, 1:], y), "X has 5 features, but these moments have 6"),
        ((X, y, -np.ones(60)), "must not be negative"),
        ((spoilt, y), r"values of feature 2 reach 1e\+200, too large to compute with"),
        ((np.full((60, 6), np.nan), y), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            sketch.update(*arguments)
        assert sketch == before
    with pytest.raises(ValueError, match="of different kinds"):
        sketch + (DiagonalMoments() if kind is FrequentDirections else FrequentDirections())
    three = made(kind).update(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match="exactly 2 classes; these have 3"):
        assert three.mean_pos is None
    named = made(kind).update(pd.DataFrame(X, columns=list("abcdef")), y)
    with pytest.raises(ValueError, match="feature names differ: expected 'a', got 'z'"):
        named.update(pd.DataFrame(X, columns=list("zbcdef")), y)


@each_sketch
def test_a_sketch_is_for_the_exact_solver(kind):
    X, y, _ = problem(31)
    sketch = made(kind).update(X, y)
    for clf in (
        AUCClassifier(solver="conjugate_gradient"),
        AUCClassifier(l1_ratio=0.5),
        AUCClassifier(solver="coordinate_descent"),
    ):
        with pytest.raises(ValueError, match=rf"takes? {kind.__name__} for .*('exact'|l1_ratio=0)"):
            clf.fit_moments(sketch)
    with pytest.raises(ValueError, match="exactly two classes, each with weight"):
        AUCClassifier().fit_moments(made(kind).update(X, np.arange(60) % 3))


def test_more_directions_than_features_are_not_kept():
    X, y = rows(3, n=40, d=4)
    wide = FrequentDirections.from_data(X, y, rank=10**12)
    assert wide.rows.shape == (2, 4, 4)
    again = sum([FrequentDirections.from_data(X[k::2], y[k::2], rank=10**12) for k in (0, 1)])
    full = AUCClassifier(0.1, standardize=0.0).fit(X, y)
    for clf in (
        AUCClassifier(0.1, standardize=0.0, solver=Exact("frequent_directions", rank=10**12)).fit(
            X, y
        ),
        AUCClassifier(0.1, standardize=0.0, solver="exact").fit_moments(again),
    ):
        np.testing.assert_allclose(clf.coef_, full.coef_, rtol=1e-9, atol=1e-12)
