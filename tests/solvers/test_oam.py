"""OAM and its reservoirs against a literal NumPy version of the paper's algorithm."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax import AUCClassifier, datasets, load, metrics, save
from aucmax.data.rows import CSR, as_rows, n_rows, to_scipy
from aucmax.solvers import OAM
from aucmax.statistics.reservoir import in_front, kept_rows, slots
from literal import FORMS, each_average, each_form, equal, weighted, without_zeros
from oracles import oam, rows
from oracles.pairs import Pairs
from oracles.spam import typical
from real_data import each_set

UPDATES = {"sequential": oam.sequential, "gradient": oam.gradient}
FIRST = {"sequential": 32.0, "gradient": 16.0}  # what the automatic constant begins with
each_update = pytest.mark.parametrize("update", UPDATES)
each_size = pytest.mark.parametrize("size", [4, 100], ids=["small", "all"])


def problem(seed, weighted=False, n=40):
    """Rows that float32 holds exactly, with some entries and some weights zero."""
    X, y = rows(seed, n=n, d=6, share=0.35, density=0.6)
    X = X.astype(np.float32).astype(np.float64)
    weight = np.random.RandomState(seed).choice([0.0, 0.5, 1.0, 2.5], size=n)
    return X, y, weight if weighted else np.ones(n)


def fitted(solver, X, y, weight=None, seed=5, **settings):
    clf = AUCClassifier(solver=solver, random_state=seed, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few dozen rows may not be enough
        return clf.fit(X, y, sample_weight=weight)


def streamed(solver, X, y, weight, chunk, form=np.asarray, seed=5):
    clf = AUCClassifier(solver=solver, random_state=seed)
    for lo in range(0, len(y), chunk):
        part = slice(lo, lo + chunk)
        clf.partial_fit(form(X[part]), y[part], classes=[-1, 1], sample_weight=weight[part])
    return clf


# ---- the algorithm -----------------------------------------------------------------------


@pytest.mark.covering
@each_form
@each_update
@each_size
@weighted
@each_average
@pytest.mark.parametrize("epochs", [1, 3])
def test_oam_is_the_paper(form, update, size, weighted, average, epochs):
    X, y, weight = problem(1, weighted)
    kept = without_zeros(X, y, weight)
    C = 0.05
    iterates, B = oam.fit(
        *kept[:2], typical(kept[2]), UPDATES[update], oam.constant(C), size,
        np.random.RandomState(5), epochs,
    )  # fmt: skip
    assert size == 100 or min(b.N for b in B.values()) > 2 * size
    solver = OAM(update, C, size, epochs, "cyclic", average)
    got = fitted(solver, form(X), y, weight).coef_[0]
    equal(got, iterates.mean(axis=0) if average else iterates[-1])


@pytest.mark.parametrize("C", [1e-3, 0.3, 1e9])
def test_every_branch_of_the_sequential_step(C):
    """Steps cut at C_t/2, steps to the margin, pairs beyond it, and pairs of equal rows."""
    X, y, weight = problem(2)
    y[:4] = 1, -1, 1, -1
    X[3] = X[0]
    iterates, _ = oam.fit(X, y, weight, oam.sequential, oam.constant(C))
    equal(fitted(OAM("sequential", C, order="cyclic"), X, y).coef_[0], iterates[-1])


@each_update
def test_a_full_buffer_needs_no_random_numbers(update):
    """Without draws that count, every seed gives the same bits; with them it does not."""
    X, y, _ = problem(3)
    for size in (max(np.sum(y == 1), np.sum(y == -1)), 5):
        a, b, c = (
            fitted(OAM(update, 0.1, size, order="cyclic"), X, y, seed=seed).coef_
            for seed in (0, 1, 0)
        )
        np.testing.assert_array_equal(a, c)
        assert np.array_equal(a, b) == (size > 5)


@each_update
def test_c_t_makes_up_for_the_rows_that_are_not_kept(update):
    """One slot of each class, and equal rows of the other: C_t must be C N."""
    N, C = 7, 1e-4
    X = np.array([[0.0, 1.0]] * N + [[1.0, 0.0]])
    y = np.array([-1] * N + [1])
    w = fitted(OAM(update, C, 1, order="cyclic"), X, y).coef_[0]
    np.testing.assert_allclose(w, C * N / 2 * np.array([1.0, -1.0]), rtol=1e-12)
    # and with all of them kept it is C, once for every pair
    w = fitted(OAM(update, C, N, order="cyclic"), X, y).coef_[0]
    np.testing.assert_allclose(w, C * N / 2 * np.array([1.0, -1.0]), rtol=1e-12)


@pytest.mark.covering
@each_form
@each_update
@weighted
@pytest.mark.parametrize("size", [4, 100])
def test_the_automatic_constant(form, update, weighted, size):
    """κ over all rows met, not those kept; quartered until the first epoch ends below J(0)."""
    X, y, weight = problem(4, weighted)
    X, y, weight = without_zeros(X, y, weight)
    q, rng, c = typical(weight), np.random.RandomState(5), FIRST[update]
    pairs = Pairs(X, y, weight)
    for _ in range(7):
        iterates, _ = oam.fit(X, y, q, UPDATES[update], oam.automatic(c), size, rng)
        if pairs.objective(iterates[-1], 0, 0, "hinge") <= 0.5:
            break
        c /= 4
    equal(fitted(OAM(update, "auto", size, order="cyclic"), form(X), y, weight).coef_[0],
          iterates[-1])  # fmt: skip


def test_an_automatic_constant_that_is_too_large_is_quartered():
    """On rows without signal, where the last step may lead anywhere."""
    quarterings = []
    for seed in range(12):
        X, y, seen = (
            np.random.RandomState(seed).randn(12, 2),
            np.where(np.arange(12) % 3, -1, 1),
            [],
        )
        clf = fitted(
            OAM("gradient", n_epochs=2, order="cyclic"), X, y,
            callback=lambda progress, seen=seen: seen.append((progress.passes, progress.objective)),
        )  # fmt: skip
        assert max(value for _, value in seen) <= 0.5
        if clf.n_iter_ < 2 or seen[1][0] > seen[0][0] + 1:  # the second epoch was undone, too
            continue
        quarterings.append(seen[0][0] - 1)
        c = oam.automatic(16 / 4 ** quarterings[-1])
        iterates, _ = oam.fit(X, y, np.ones(12), oam.gradient, c, epochs=2)
        close = 1e-10 * np.abs(iterates).max()
        np.testing.assert_allclose(clf.coef_[0], iterates[-1], rtol=0, atol=close)
    assert min(quarterings) == 0
    assert max(quarterings) > 0


def test_oam_from_a_warm_start():
    X, y, weight = problem(5)
    start = np.random.RandomState(0).randn(6)
    clf = fitted(OAM(C=0.1), X, y, warm_start=True)
    clf.coef_ = start[None]
    clf.set_params(solver=OAM("gradient", 0.01, order="cyclic"))
    iterates, _ = oam.fit(X, y, weight, oam.gradient, oam.constant(0.01), start=start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        equal(clf.fit(X, y).coef_[0], iterates[-1])


@each_update
def test_only_differences_of_rows_matter(update):
    """And units only through C, which the automatic one follows."""
    X, y, _ = problem(6)
    w = fitted(OAM(update), X, y).coef_
    equal(fitted(OAM(update), X + 10.0, y).coef_, w, 1e-9)
    for factor in (1e-6, 1e6):
        equal(factor * fitted(OAM(update), factor * X, y).coef_, w)


def test_what_is_reported_is_the_mean_hinge_over_pairs():
    X, y, weight = problem(7, weighted=True)
    for gamma in (0.0, 1.0):
        clf = fitted(OAM(), X, y, weight, standardize=gamma)
        pairs = Pairs(X, y, weight, gamma)
        value = pairs.objective(pairs.from_features(clf.coef_[0]), 0, 0, "hinge")
        assert clf.objective_ == pytest.approx(value, rel=1e-9)
        other = fitted(OAM(), X, y, weight, standardize=gamma, loss="hinge")
        np.testing.assert_array_equal(clf.coef_, other.coef_)
        assert other.objective_ == clf.objective_


@each_update
def test_oam_ranks_what_can_be_ranked(update):
    rng = np.random.RandomState(8)
    X = rng.randn(2000, 5)
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] > 1.0
    clf = AUCClassifier(solver=OAM(update, buffer_size=20), random_state=0).fit(X, y)
    assert metrics.roc_auc(y, clf.decision_function(X)) > 0.995


# ---- over a stream -----------------------------------------------------------------------


@each_size
def test_a_stream_may_change_from_dense_to_sparse_rows(size):
    X, y, weight = problem(10)
    solver = OAM(C=0.05, buffer_size=size, order="cyclic")
    forms = [*FORMS.values(), lambda rows: sp.csr_array(rows, dtype=np.float32)]
    clf = AUCClassifier(solver=solver, random_state=5)
    for part in range(8):
        rows_of = slice(5 * part, 5 * part + 5)
        clf.partial_fit(forms[part % 4](X[rows_of]), y[rows_of], classes=[-1, 1])
    equal(clf.coef_, streamed(solver, X, y, weight, 40).coef_, 1e-12)


def test_no_step_until_the_other_class_has_been_seen():
    X, y, weight = problem(11)
    y[:10], y[10] = 1, -1
    solver = OAM("gradient", 0.02, order="cyclic", average=True)
    iterates, _ = oam.fit(X, y, weight, oam.gradient, oam.constant(0.02))
    assert len(iterates) == 30
    clf = streamed(solver, X[:10], y[:10], weight[:10], 3)
    assert np.all(clf.coef_ == 0)
    equal(streamed(solver, X, y, weight, 3).coef_[0], iterates.mean(axis=0))


@each_form
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_stream_goes_on_from_a_fit_and_from_a_file(form, epochs, tmp_path):
    X, y, weight = problem(12)
    solver = OAM("gradient", 0.02, 60, epochs, "cyclic")
    clf = fitted(solver, form(X[:25]), y[:25])
    save(clf, tmp_path / "model")
    met = np.r_[np.tile(np.arange(25), epochs), np.arange(25, 40)]
    iterates, _ = oam.fit(X[met], y[met], weight[met], oam.gradient, oam.constant(0.02))
    for model in (clf, load(tmp_path / "model")):
        for part in (slice(25, 30), slice(30, 40)):
            model.partial_fit(form(X[part]), y[part])
        equal(model.coef_[0], iterates[-1], 1e-12)


@pytest.mark.parametrize("label", [1, -1])
def test_after_a_fit_the_reservoirs_are_a_sample_of_each_class(label):
    """What one more row, far out, moves: C_t/2 · N/|B| times the difference to each row kept."""
    X, _, _ = problem(14, n=200)
    y = np.repeat([1, -1], 100)
    X = np.hstack([X, np.eye(200)])  # so that w tells which rows it has met
    solver, C = OAM("gradient", 1e-9, 20, order="cyclic", average=False), 1e-9
    clf = fitted(solver, X, y)
    before = clf.coef_[0].copy()
    clf.partial_fit(np.zeros((1, 206)), [label])
    moved = (clf.coef_[0] - before)[6:] * -label / C
    other = y != label
    kept = np.flatnonzero(np.abs(moved) > 0.1)
    assert len(kept) == 20
    assert np.all(other[kept])
    np.testing.assert_allclose(moved[kept], moved[kept][0], rtol=1e-6)


def test_the_buffer_keeps_its_size():
    X, y, weight = problem(15)
    clf = streamed(OAM(buffer_size=5), X, y, weight, 10)
    before = clf.coef_.copy()
    with pytest.raises(ValueError, match="buffer_size cannot change"):
        clf.set_params(solver=OAM(buffer_size=3)).partial_fit(X, y)
    np.testing.assert_array_equal(clf.coef_, before)


# ---- reservoirs --------------------------------------------------------------------------


def test_slots_are_those_of_the_literal_reservoir():
    sign = np.where(np.random.RandomState(0).rand(300) < 0.3, 1, -1)
    got = slots(sign, np.zeros(2), 7, np.random.RandomState(1))
    rng, B = np.random.RandomState(1), {1: oam.Reservoir(7), -1: oam.Reservoir(7)}
    mine = {1: [-1] * 7, -1: [-1] * 7}
    for i, (label, slot) in enumerate(zip(sign, got, strict=True)):
        B[label].meet(i, rng.random_sample())
        if slot >= 0:
            mine[label][slot] = i
    assert mine == {label: b.rows for label, b in B.items()}
    parts, rng, met = [], np.random.RandomState(1), np.zeros(2)
    for part in np.split(sign, [1, 8, 100]):
        parts.append(slots(part, met, 7, rng))
        met += [np.sum(part == 1), np.sum(part == -1)]
    np.testing.assert_array_equal(np.concatenate(parts), got)


def test_every_row_is_kept_with_the_same_probability():
    """30 rows, 6 slots: each row in a fifth of 4000 reservoirs, each pair as often as another."""
    n, size, runs = 30, 6, 4000
    rng, together = np.random.RandomState(2), np.zeros((n, n))
    for _ in range(runs):
        kept = np.full(size, -1)
        for i, slot in enumerate(slots(np.ones(n), np.zeros(2), size, rng)):
            if slot >= 0:
                kept[slot] = i
        held = np.isin(np.arange(n), kept)
        assert held.sum() == size
        together += np.outer(held, held)
    for share, counts in (
        (size / n, np.diag(together)),
        (size * (size - 1) / (n * (n - 1)), together[np.triu_indices(n, 1)]),
    ):
        error = (counts / runs - share) / np.sqrt(share * (1 - share) / runs)
        assert np.abs(error).max() < 4.5
        assert 0.5 < np.mean(error**2) < 1.5


@pytest.mark.exhaustive
def test_the_sum_over_a_reservoir_is_unbiased():
    """The mean over draws of the gradient update, N/|B| times the sum, is that over all rows."""
    X, y, _ = problem(16, n=20)
    y[:-1], y[-1] = -1, 1
    full = fitted(OAM("gradient", 0.01, 100, order="cyclic"), X, y).coef_[0]
    draws = np.array([
        fitted(OAM("gradient", 0.01, 5, order="cyclic"), X, y, seed=seed).coef_[0]
        for seed in range(300)
    ])  # fmt: skip
    error = (draws.mean(axis=0) - full) / (draws.std(axis=0) / np.sqrt(len(draws)))
    assert np.abs(error).max() < 4.5
    assert np.all(draws.std(axis=0) > 0)


@each_form
@pytest.mark.parametrize("below", FORMS.values(), ids=FORMS)
def test_kept_rows_come_first(form, below):
    X = problem(17)[0]
    above, new = as_rows(form(X)), as_rows(below(X[:5] + 1))
    joined = in_front(kept_rows(above, np.array([7, 2])), new)
    assert n_rows(joined) == 7
    sparse = any(isinstance(part, CSR) for part in (above, new))
    assert isinstance(joined, CSR) == sparse
    plain = [part.toarray() if sp.issparse(part) else part for part in map(to_scipy, (joined, new))]
    np.testing.assert_array_equal(plain[0], np.vstack([X[[7, 2]], plain[1]]))


# ---- settings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(update="both"), "update must be 'sequential' or 'gradient'; got 'both'"),
        (dict(C="large"), "C must be a number"),
    ],
)
def test_settings(settings, message):
    X, y = rows(21)
    for call in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(AUCClassifier(solver=OAM(**settings)), call)(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(alpha=1.0), r"'oam' has C instead of a penalty and takes no alpha=1\.0"),
        (dict(l1_ratio=0.5), r"takes no l1_ratio=0\.5.*solver=solvers\.OAM\(C=…\)"),
        (dict(alpha=0.0, l1_ratio=1.0), r"takes no alpha=0\.0 or l1_ratio=1\.0: leave alpha at"),
        (dict(loss="squared_hinge"), "'oam' does not take loss='squared_hinge'.*'newton'"),
    ],
)
def test_what_does_not_go_with_oam(settings, message):
    X, y = rows(22)
    for call in ("fit", "partial_fit"):
        with pytest.raises((ValueError, AttributeError)) as caught:
            getattr(AUCClassifier(solver="oam", **settings), call)(X, y)
        if call == "fit":
            assert caught.match(message)


def test_the_hinge_goes_on_with_oam_alone():
    X, y = rows(24)
    clf = AUCClassifier(solver="oam", loss="hinge", random_state=0)
    clf.partial_fit(X, y)
    assert np.any(clf.coef_ != 0)
    for solver in ("auto", "no such solver"):
        assert not hasattr(AUCClassifier(solver=solver, loss="hinge"), "partial_fit")


def test_too_large_a_c_is_told_by_its_name():
    X, y = rows(25, n=200)
    told = pytest.warns(
        ConvergenceWarning, match=r"OAM diverged.*lower C \(now 1e\+300\).*C='auto'"
    )
    with told, np.errstate(over="ignore", invalid="ignore"):  # of kernels in plain Python
        clf = AUCClassifier(solver=OAM("gradient", 1e300), random_state=0).fit(X * 1e10, y)
    assert np.all(np.isfinite(clf.coef_))


# ---- real data ---------------------------------------------------------------------------

SMALLER = {
    "diabetes": None, "fourclass": None, "fourclass.raw": None, "german": None,
    "german.numer": None, "splice": None, "usps": "even-odd", "letter": "even-odd",
    "magic04": None, "a9a": None, "sector": "even-odd",
}  # fmt: skip


@pytest.mark.data
@pytest.mark.covering(1)
@each_update
@each_set(SMALLER)
def test_defaults_do_not_diverge(name, update):
    """In any units, from the batch and from the stream; a ConvergenceWarning is an error here."""
    data = datasets.load(name, binarize=SMALLER[name])
    few = np.random.RandomState(0).permutation(len(data.target))[:5000]
    X, y = data.data[few], data.target[few]
    reached = []
    for factor in (1.0, 1000.0):
        clf = AUCClassifier(solver=OAM(update), random_state=0).fit(X * factor, y)
        reached.append(clf.objective_)
    assert reached[0] < 0.45
    assert reached[1] == pytest.approx(reached[0], rel=1e-3)
    parts = AUCClassifier(solver=OAM(update), random_state=0)
    for part in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[part], y[part])
    assert metrics.roc_auc(y, parts.decision_function(X)) > 0.6


@pytest.mark.data
@pytest.mark.covering(1)
@each_update
@pytest.mark.parametrize(
    ("name", "within"), [("splice", 0.02), ("letter", 0.01), ("german", 0.04), ("a9a", 0.02)]
)
def test_one_pass_comes_near_the_optimum(name, within, update):
    data = datasets.load(name, binarize=SMALLER[name])
    X, y, gaps = data.data, data.target, []
    split = StratifiedShuffleSplit(2, test_size=0.2, random_state=0)
    for train, test in split.split(X, y):
        train = train[:10_000]  # enough for one pass
        auc = [
            metrics.roc_auc(
                y[test],
                AUCClassifier(solver=solver, random_state=0)
                .fit(X[train], y[train])
                .decision_function(X[test]),
            )
            for solver in ("exact", OAM(update))
        ]
        gaps.append(auc[0] - auc[1])
    assert np.mean(gaps) < within


def test_buffers_far_larger_than_the_data():
    X, y = rows(5, n=30, d=3)
    coefs = []
    for size in (30, 10**9, 10**30):
        solver = OAM(C=0.1, buffer_size=size, order="cyclic")
        clf = AUCClassifier(solver=solver).fit(X, y)
        stream = AUCClassifier(solver=solver)
        for part in np.array_split(np.arange(30), 4):
            stream.partial_fit(X[part], y[part], classes=[-1, 1])
        np.testing.assert_allclose(stream.coef_, clf.coef_, rtol=1e-12)
        coefs.append(clf.coef_)
    np.testing.assert_array_equal(coefs[0], coefs[1])
    np.testing.assert_array_equal(coefs[0], coefs[2])
