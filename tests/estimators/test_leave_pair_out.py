"""Leave-pair-out in closed form against a refit for every pair."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from aucmax import AUCClassifier, metrics, solvers
from aucmax.objective import penalties
from aucmax.solvers.batch import leave_pair_out
from oracles import leave_pair_out as oracle
from oracles import rows
from oracles.within import Within


def model(alpha, **settings):
    return AUCClassifier(alpha, **{"standardize": 0.0, **settings})


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("within", [0.0, 0.2, 0.5, 1.0, "pooled"])
@pytest.mark.parametrize(("n", "d"), [(24, 4), (20, 19), (16, 40)])
def test_every_pair_is_that_of_a_refit(n, d, within, alpha):
    X, y = rows(n + d, n, d, share=0.3, shift=3.0)
    expected = oracle.auc(X, y, alpha, within)
    assert expected not in (0.0, 0.5, 1.0)
    found = model(alpha, within=within).leave_pair_out_auc(X, y)
    assert found == pytest.approx(expected, abs=1e-12)
    for given in (X.astype(np.float64, order="F"), sp.csr_matrix(X), sp.csr_array(X)):
        again = model(alpha, within=within).leave_pair_out_auc(given, y)
        assert again == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_it_is_the_estimators_own_refit_on_the_same_scale(gamma):
    X, y = rows(1, 18, 3, share=0.4)
    X *= [1.0, 10.0, 0.1]
    pos, neg = np.flatnonzero(y == 1), np.flatnonzero(y == -1)
    scaled, won = X * Within(X, y, gamma=gamma).factor, 0.0
    for i in pos:
        for j in neg:
            others = np.setdiff1d(np.arange(18), [i, j])
            score = model(0.05, solver="exact").fit(scaled[others], y[others]).decision_function
            a, b = score(scaled[[i, j]])
            won += 1.0 if a > b else 0.5 if a == b else 0.0
    found = model(0.05, standardize=gamma).leave_pair_out_auc(X, y)
    assert found == pytest.approx(won / (len(pos) * len(neg)), abs=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("alpha", [1e-4, 0.1, 10.0])
def test_ties_count_half(kind, alpha):
    """Equal rows, and rows that differ in what no other row has: its weight is 0 without them."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(30) < 10, 1, -1)
    base = (rng.random((30, 2)) < 0.4 + 0.2 * (y == 1)[:, None]).astype(float)
    own = np.eye(30)[:, rng.permutation(30)[:15]]
    for X in (base, np.hstack([base, own]), np.hstack([base, own, 0 * own, own])):
        margins = oracle.margins(X, y, alpha)
        assert np.sum(np.abs(margins) < 1e-12) > 20
        expected = oracle.auc(X, y, alpha)
        found = model(alpha).leave_pair_out_auc(kind(X), y)
        assert found == pytest.approx(expected, abs=1e-12)
    # a zero that is stored, or has a sign, is a zero
    X = sp.csr_array(np.hstack([base, own]))
    stored = sp.csr_array(
        (np.append(X.data, 0.0), np.append(X.indices, 5), np.append(X.indptr[:-1], X.nnz + 1)),
        shape=X.shape,
    )
    assert model(alpha).leave_pair_out_auc(stored, y) == model(alpha).leave_pair_out_auc(X, y)
    signed = np.where(base == 0, -0.0 * rng.choice([-1, 1], base.shape), base)
    expected = model(alpha).leave_pair_out_auc(base, y)
    assert model(alpha).leave_pair_out_auc(signed, y) == expected


def whole_numbers(seed):
    """Few rows, tall or wide, with many ties: (X, y, alpha, τ) that rational arithmetic takes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    d = int(rng.integers(1, 4) if rng.random() < 0.8 else rng.integers(4, 9))
    X = [
        rng.integers(-2, 3, (n, d)),
        rng.integers(-20, 21, (n, d)),
        (rng.random((n, d)) < 0.3) * rng.integers(1, 100, d),
        rng.integers(0, 3, (3, d))[rng.integers(0, 3, n)],  # the same rows several times
    ][seed % 4]
    y = np.append([1, 1, -1, -1], rng.choice([-1, 1], n - 4))
    alpha = float(rng.choice([2.0**-24, 2.0**-20, 2.0**-10, 0.125, 1.0, 8.0]))
    return X.astype(float), y, alpha, [0.0, 0.25, 0.5, 1.0, "pooled"][rng.integers(5)]


def differences_from_rational_arithmetic(seeds):
    """How many of these designs were ranked, and what is wrong with which in which units."""
    ranked, wrong = 0, []
    for seed in seeds:
        X, y, alpha, within = whole_numbers(seed)
        expected = float(oracle.exact_auc(X, y, alpha, within))
        forms = {
            "as they are": (X, alpha),
            "sparse": (sp.csr_array(X), alpha),
            "halved 20 times": (X * 2.0**-20, alpha * 2.0**-40),
            "millionths": (X * 1e-6, alpha * 1e-12),
            "millions": (X * 1e6, alpha * 1e12),
            "float32, moved": (X.astype(np.float32) + 100, alpha),
        }
        for name in ("as they are", list(forms)[1 + seed // 4 % 5]):
            A, strength = forms[name]
            try:
                auc = model(strength, within=within).leave_pair_out_auc(A, y)
            except ValueError:  # α is too small
                continue
            ranked += 1
            if abs(auc - expected) > 1e-12:
                wrong.append((seed, name, auc, expected))
    return ranked, wrong


def test_ties_are_those_of_rational_arithmetic():
    ranked, wrong = differences_from_rational_arithmetic(range(150))
    assert ranked > 250
    assert wrong == []


def test_ties_where_little_is_left_without_a_row():
    """Five rows, whose 1 − a p·p is of the order of α."""
    X, y = np.array([[-1, 2], [0, 2], [0, 1], [0, 2], [0, 1]]), np.array([1, 1, -1, -1, -1])
    expected = float(oracle.exact_auc(X, y, 2.0**-20))
    assert expected == pytest.approx(5 / 6)
    assert model(2.0**-20).leave_pair_out_auc(X, y) == pytest.approx(expected)


@pytest.mark.exhaustive
def test_ties_are_those_of_rational_arithmetic_for_long():
    total = int(os.environ.get("AUCMAX_ATTACKS", "10000"))
    ranked, wrong = differences_from_rational_arithmetic(range(total))
    print(f"{ranked} ranked, {len(wrong)} wrong")
    assert wrong == []


def test_several_alphas_and_blocks_of_pairs(monkeypatch):
    X, y = rows(3, 40, 6)
    alphas = [1e-3, 10.0, 0.1]
    single = [model(alpha).leave_pair_out_auc(X, y) for alpha in alphas]
    np.testing.assert_array_equal(model(7.0).leave_pair_out_auc(X, y, alphas), single)
    monkeypatch.setattr(leave_pair_out, "PAIRS_PER_BLOCK", 30)
    np.testing.assert_array_equal(model(7.0).leave_pair_out_auc(X, y, np.array(alphas)), single)


@pytest.mark.parametrize("d", [5, 50])
def test_what_changes_nothing(d):
    X, y = rows(4, 30, d, share=0.3)
    found = model(0.1).leave_pair_out_auc(X, y)
    turned = np.random.default_rng(0).permutation(30)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))[0]
    for A, b in ((X[turned], y[turned]), (X + 100.0, y), (X @ rotation, y), (-X, y)):
        assert model(0.1).leave_pair_out_auc(A, b) == pytest.approx(found, abs=1e-12)
    assert model(0.1, positive=-1).leave_pair_out_auc(X, y) == pytest.approx(found, abs=1e-12)
    assert model(10.0).leave_pair_out_auc(10 * X, y) == pytest.approx(found, abs=1e-12)
    names = np.array(["no", "yes"])[(y > 0).astype(int)]
    assert model(0.1).leave_pair_out_auc(X, names) == found
    low = model(0.1, within=0.1).leave_pair_out_auc(X, y)
    flipped = model(0.1, within=0.9, positive=-1).leave_pair_out_auc(X, y)
    assert flipped == pytest.approx(low, abs=1e-12)


def test_units_of_features_do_not_matter_where_nothing_is_penalised():
    X, y = rows(5, 40, 4)
    expected = oracle.auc(X, y, 0.0)
    for units in (1.0, [1e-6, 1.0, 1e5, 1e8]):
        assert model(0.0).leave_pair_out_auc(X * units, y) == pytest.approx(expected, abs=1e-12)


def test_noise_is_ranked_by_chance():
    """Where the training AUC is far above ½; the mean over seeds has a standard error of .022."""
    out, inside = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 8)), np.arange(40) < 12
        clf = model(0.01)
        out.append(clf.leave_pair_out_auc(X, y))
        inside.append(metrics.roc_auc(y, clf.fit(X, y).decision_function(X)))
    assert np.mean(out) == pytest.approx(0.5, abs=0.07)
    assert np.mean(inside) > 0.75


def test_the_model_stays_as_it_was():
    X, y = rows(6, 30, 4)
    blank = model(0.1)
    blank.leave_pair_out_auc(X, y)
    assert vars(blank) == vars(clone(blank))
    fitted = model(0.1).fit(X, y)
    before = dict(vars(fitted))
    fitted.leave_pair_out_auc(X[:, :2], np.array(["a", "b"])[(y > 0).astype(int)])
    with pytest.raises(ValueError, match="NaN"):
        fitted.leave_pair_out_auc(X * np.nan, y)
    assert set(vars(fitted)) == set(before)
    assert all(vars(fitted)[name] is before[name] for name in before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "squared_hinge"}, "no closed form here: it takes the loss square only"),
        ({"l1_ratio": 0.5}, "no closed form here: it takes l1_ratio=0 only"),
        ({"coef_bounds": (0, None)}, "no closed form here: it takes l2 penalties without bounds"),
        ({"solver": "spam"}, "solver='spam' does not reach; use solver='auto'"),
        ({"solver": solvers.Exact("diagonal")}, "does not reach; use solver='auto'"),
        ({"solver": "oam", "alpha": 3e-4}, "solver='oam' does not reach"),
        ({"alpha": -1.0}, "alpha"),
        ({"within": 2.0}, "within"),
    ],
)
def test_settings_without_a_closed_form_are_named(settings, message):
    X, y = rows(7, 20, 3)
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**settings).leave_pair_out_auc(X, y)
    with pytest.raises(ValueError, match="no closed form"):
        AUCClassifier(penalty=penalties.MCP(0.1, 3.0)).leave_pair_out_auc(X, y)


def test_bad_input_is_named(monkeypatch):
    X, y = rows(8, 20, 3)
    for alphas in ([], 0.1, "ab", [[0.1]]):
        with pytest.raises(ValueError, match="alphas must be a non-empty sequence of numbers"):
            model(0.1).leave_pair_out_auc(X, y, alphas)
    for alphas in ([0.1, -1.0], [np.nan], ["a"]):
        with pytest.raises(ValueError, match="each of alphas must be a number"):
            model(0.1).leave_pair_out_auc(X, y, alphas)
    for few, counts in ((np.arange(20) == 3, "1 positive and 19"), (np.arange(20) > 0, "19 .* 1 ")):
        with pytest.raises(ValueError, match=rf"two rows of each class; there are {counts}"):
            model(0.1).leave_pair_out_auc(X, few)
    with pytest.raises(ValueError, match="only one class"):
        model(0.1).leave_pair_out_auc(X, np.ones(20))
    # what only one row tells, or no row
    X[:, 1] = np.arange(20) == 4
    for extra in (X, np.c_[X, np.ones(20)], np.random.default_rng(0).normal(size=(20, 30))):
        with pytest.raises(ValueError, match=r"alpha=0 is too small for leave-pair-out.*raise al"):
            model(0.0).leave_pair_out_auc(extra, y)
    monkeypatch.setattr(leave_pair_out, "MAX_MATRIX_BYTES", 3000)
    with pytest.raises(ValueError, match=r"20 rows with more features.*use cross-validation"):
        model(0.1).leave_pair_out_auc(np.zeros((20, 30)), y)
