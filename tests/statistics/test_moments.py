"""ClassMoments as a monoid, its digits, and the files of moments and models."""

import functools
import io
import json
import os
import pickle
import re
import tempfile
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import aucmax
from aucmax import AUCClassifier, ClassMoments
from aucmax.basics import container
from aucmax.basics.errors import ModelFileError
from aucmax.data.rows import products
from aucmax.solvers import SOLVERS
from aucmax.statistics import moments
from aucmax.statistics.diagonal import DiagonalMoments
from oracles import rows
from specification import loss_of

untimed = settings(deadline=None, derandomize=True, max_examples=30)


def literal(X, y, weight=None):
    """Counts, means and biased covariances of every class, in extended precision."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.longdouble)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    weight = weight.astype(np.longdouble)
    counts, means, covs = [], [], []
    for label in np.unique(y):
        members, q = X[y == label], weight[y == label]
        mean = q @ members / q.sum()
        counts.append(q.sum())
        means.append(mean)
        covs.append((members - mean).T @ (q[:, None] * (members - mean)) / q.sum())
    return tuple(np.array(a, dtype=np.float64) for a in (counts, means, covs))


def same(a, b, tol=1e-12, scale=None):
    """Equal to rounding: means against ``scale``, covariances against their largest entry."""
    a, b = ((m.counts, m.means, m.covs) if isinstance(m, ClassMoments) else m for m in (a, b))
    np.testing.assert_allclose(a[0], b[0], rtol=1e-13)
    size = np.sqrt(np.abs(b[2]).max(initial=0.0)) if scale is None else scale
    np.testing.assert_allclose(a[1], b[1], rtol=0, atol=tol * (size + np.abs(b[1]).max(initial=0)))
    np.testing.assert_allclose(a[2], b[2], rtol=0, atol=tol * np.abs(b[2]).max(initial=0.0))


def three_classes(seed, n=30, d=4):
    rng = np.random.RandomState(seed)
    X, y = rng.randn(n, d) + 2.0, rng.choice(["a", "b", "c"], size=n)
    y[:3] = "a", "b", "c"
    return X, y, rng.choice([0.0, 0.5, 1.0, 3.0], size=n)


# ---- what it holds -----------------------------------------------------------------------

FORMS = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr32": lambda X: sp.csr_array(X.astype(np.float32)),
    "lists": lambda X: X.tolist(),
}


@pytest.mark.covering
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("density", [0.1, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_means_and_covariances(form, density, weighted):
    X, y = rows(1, n=60, d=7, density=density)
    X = X.astype(np.float32).astype(np.float64)
    weight = np.random.RandomState(1).rand(60) if weighted else None
    m = ClassMoments.from_data(form(X), y, weight)
    same(m, literal(X, y, weight))
    np.testing.assert_array_equal(m.classes, [-1, 1])
    for array in (m.counts, m.means, m.covs):
        assert array.dtype == np.float64
    np.testing.assert_array_equal(m.covs, np.swapaxes(m.covs, 1, 2))
    assert (m.n_pos, m.n_neg) == (m.counts[1], m.counts[0])
    np.testing.assert_array_equal(m.mean_pos, m.means[1])
    np.testing.assert_array_equal(m.mean_neg, m.means[0])
    np.testing.assert_array_equal(m.cov_pos, m.covs[1])
    np.testing.assert_array_equal(m.cov_neg, m.covs[0])
    assert repr(m).startswith("ClassMoments(7 features, {-1: ")


def test_three_classes_of_strings():
    X, y, weight = three_classes(2)
    m = ClassMoments.from_data(X, y, weight)
    same(m, literal(X, y, weight))
    assert m.classes.tolist() == ["a", "b", "c"]
    assert m.means.shape == (3, 4)
    assert m.covs.shape == (3, 4, 4)
    message = r"binary views need moments of exactly 2 classes; these have 3: \['a', 'b', 'c'\]"
    for view in ("n_pos", "n_neg", "mean_pos", "mean_neg", "cov_pos", "cov_neg"):
        with pytest.raises(ValueError, match=message):
            getattr(m, view)
    with pytest.raises(ValueError, match=r"exactly two classes.*'a': "):
        AUCClassifier().fit_moments(m)


def test_the_recursion_of_the_docstring():
    """c ← c + (x − c)/T, S ← (1 − 1/T) S + ((T − 1)/T²)(x − c)(x − c)ᵀ, c before the step."""
    X, y = rows(3, n=25, d=3)
    m = ClassMoments(classes=[-1, 1])
    state = {label: (0, np.zeros(3), np.zeros((3, 3))) for label in (-1, 1)}
    for i in range(25):
        T, c, S = state[y[i]]
        T, gap = T + 1, X[i] - c
        state[y[i]] = (T, c + gap / T, (1 - 1 / T) * S + (T - 1) / T**2 * np.outer(gap, gap))
        assert m.update(X[i : i + 1], y[i : i + 1]) is m
        same(m, tuple(np.array([state[label][k] for label in (-1, 1)]) for k in range(3)), 1e-14)
    same(m, ClassMoments.from_data(X, y))


def test_weights_are_repetitions():
    X, y, _ = three_classes(4)
    times = np.random.RandomState(0).randint(0, 4, size=len(y))
    same(
        ClassMoments.from_data(X, y, times, classes=["a", "b", "c"]),
        ClassMoments.from_data(X.repeat(times, axis=0), y.repeat(times), classes=["a", "b", "c"]),
    )
    twice = ClassMoments.from_data(np.concatenate([X, X]), np.concatenate([y, y]))
    same(ClassMoments.from_data(X, y, 2.0), twice)


def test_rows_of_weight_zero_leave_no_trace():
    X, y, _ = three_classes(5)
    weight = np.ones(len(y))
    weight[::3] = 0.0
    spoilt = X.copy()
    spoilt[::3] = 1e30
    kept = weight > 0
    same(ClassMoments.from_data(spoilt, y, weight), ClassMoments.from_data(X[kept], y[kept]))
    a = ClassMoments.from_data(X, y)
    b = a.copy().update(spoilt, y, np.zeros(len(y)))
    assert a == b


def test_a_constant_feature_has_no_variance():
    X, y = rows(6, n=40, d=3)
    X[:, 1] = 0.1 + 0.2
    for form in (np.asarray, sp.csr_array):
        m = ClassMoments.from_data(form(X), y)
        np.testing.assert_array_equal(m.means[:, 1], 0.1 + 0.2)
        assert not m.covs[:, 1].any()


def test_blocks_of_rows_are_merged(monkeypatch):
    """Rows are centred a block at a time: the block size does not matter."""
    X, y = rows(7, n=200, d=5, shift=3.0)
    weight = np.random.RandomState(0).rand(200)
    monkeypatch.setattr(products, "GRAM_ENTRIES", 5 * 17)
    for form in (np.asarray, sp.csr_array):
        same(ClassMoments.from_data(form(X), y, weight), literal(X, y, weight))


# ---- the monoid --------------------------------------------------------------------------


@st.composite
def shards(draw, count=3):
    """Moments of a few shards, each of some of three classes, some of them empty."""
    seed = draw(st.integers(0, 2**31 - 1))
    out = []
    for k in range(count):
        n = draw(st.integers(0, 8))
        if n == 0:
            out.append(ClassMoments())
            continue
        rng = np.random.RandomState((seed + k) % 2**31)
        labels = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n, max_size=n))
        X = rng.randn(n, 3) * draw(st.sampled_from([1e-3, 1.0, 1e3])) + rng.randn(3)
        out.append(ClassMoments.from_data(X, labels, rng.rand(n) + 0.1))
    return out


@untimed
@given(shards())
def test_addition_is_associative_and_commutative(parts):
    a, b, c = parts
    same((a + b) + c, a + (b + c))
    same(a + b, b + a)
    np.testing.assert_array_equal((a + b).classes, np.union1d(a.classes, b.classes))


@untimed
@given(shards(count=1))
def test_the_empty_moments_change_nothing(parts):
    (a,) = parts
    for empty in (ClassMoments(), ClassMoments(classes=a.classes)):
        if len(empty.classes) or not a.counts.any():
            assert empty.n_features == 0
        assert empty + a == a
        assert a + empty == a
    assert ClassMoments() == ClassMoments()


def test_the_empty_moments_take_over_everything():
    X = pd.DataFrame(rows(8, n=20, d=2)[0], columns=["u", "v"])
    a = ClassMoments.from_data(X, [0, 1] * 10)
    b = ClassMoments() + a
    assert (b.feature_names, b.n_features, b.classes.tolist()) == (["u", "v"], 2, [0, 1])
    for each in (a, b, a + ClassMoments()):  # none has its classes fixed
        assert each.copy().update(X[:1], [7]).classes.tolist() == [0, 1, 7]
    declared = ClassMoments(classes=[0, 1], feature_names=["u", "v"])
    assert declared + a == a
    with pytest.raises(ValueError, match="only"):
        declared - a


@untimed
@given(shards(count=4))
def test_sum_of_shards(parts):
    total = sum(parts)
    same(total, parts[0] + parts[1] + parts[2] + parts[3])
    before = [p.copy() for p in parts]
    total.update(np.ones((1, 3)), ["a"])  # the sum does not share memory with its parts
    assert parts == before
    alone = sum(parts[:1])
    alone.update(np.ones((1, 3)), ["a"])
    assert parts == before


def test_merging_equals_pooling():
    X, y, weight = three_classes(9, n=90)
    pooled = ClassMoments.from_data(X, y, weight)
    for cuts in ([30, 60], [1, 2], [89], [0, 45]):
        parts = zip(np.split(X, cuts), np.split(y, cuts), np.split(weight, cuts), strict=True)
        whole = sum(
            ClassMoments.from_data(*part) if len(part[1]) else ClassMoments() for part in parts
        )
        same(whole, pooled)
        grown = ClassMoments()
        for lo, hi in zip([0, *cuts], [*cuts, 90], strict=True):
            if hi > lo:
                grown.update(X[lo:hi], y[lo:hi], weight[lo:hi])
        same(grown, pooled)


def test_update_row_by_row_equals_one_block():
    X, y, weight = three_classes(10)
    one = ClassMoments()
    for i in range(len(y)):
        one.update(X[i : i + 1], y[i : i + 1], weight[i : i + 1])
    same(one, ClassMoments.from_data(X, y, weight))
    backwards = ClassMoments()
    for i in reversed(range(len(y))):
        backwards.update(sp.csr_array(X[i : i + 1]), y[i : i + 1], weight[i : i + 1])
    same(backwards, one)


def test_subtraction_undoes_addition():
    X, y, weight = three_classes(11, n=60)
    first, second = slice(0, 40), slice(40, 60)
    a, b = (ClassMoments.from_data(X[s], y[s], weight[s]) for s in (first, second))
    whole = a + b
    same(whole - b, a, 1e-11)
    same(whole - a, b, 1e-11)
    kept = whole.copy()
    whole - a
    assert whole == kept


def test_subtracting_everything_leaves_nothing():
    X, y, weight = three_classes(12)
    a = ClassMoments.from_data(X, y, weight)
    gone = a - a
    assert gone.classes.tolist() == ["a", "b", "c"]
    for array in (gone.counts, gone.means, gone.covs):
        assert not array.any()
    same(gone + a, a)
    assert a - ClassMoments() == a


def test_variances_stay_non_negative_under_subtraction():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.randn(50), np.full(50, 0.1)])
    y = np.repeat([0, 1], 25)
    left = ClassMoments.from_data(X, y) - ClassMoments.from_data(X[1:-1], y[1:-1])
    assert np.einsum("kjj->kj", left.covs).min() >= 0.0
    np.testing.assert_allclose(left.covs, 0.0, atol=1e-13)  # one row is left of each


def test_subtracting_more_than_is_there():
    X, y, _ = three_classes(13)
    a = ClassMoments.from_data(X, y)
    kept = a.copy()
    n = int(a.counts[0])
    with pytest.raises(
        ValueError,
        match=rf"cannot subtract weight {2 * n} of class 'a': only {n} is there; subtract rows "
        "that were added before",
    ):
        a - (a + a)
    other = ClassMoments.from_data(np.ones((2, 4)), ["z", "a"])
    with pytest.raises(ValueError, match="cannot subtract weight 1 of class 'z': only 0 is there"):
        a - other
    with pytest.raises(ValueError, match="X has 3 features, but these moments have 4"):
        a - ClassMoments.from_data(np.ones((1, 3)), ["a"])
    assert a == kept


def test_decay():
    X, y, _ = three_classes(14, n=60)
    a, b = ClassMoments.from_data(X[:30], y[:30]), ClassMoments.from_data(X[30:], y[30:])
    kept = a.copy()
    old = a.decay(0.5)
    assert a == kept
    np.testing.assert_array_equal(old.counts, 0.5 * a.counts)
    np.testing.assert_array_equal(old.means, a.means)
    np.testing.assert_array_equal(old.covs, a.covs)
    assert a.decay(1.0) == a
    # older rows weigh half
    same(old + b, ClassMoments.from_data(X, y, np.repeat([0.5, 1.0], 30)))
    for gamma in (0.0, -0.1, 1.0001, np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"gamma must be in \(0, 1\]; got {gamma}"):
            a.decay(gamma)


def test_adding_what_is_no_moments():
    a = ClassMoments.from_data(np.ones((2, 1)), [0, 1])
    for other in (1, 0.0, None, "a", np.ones(2)):
        for operation in (lambda o=other: a + o, lambda o=other: o + a, lambda o=other: a - o):
            with pytest.raises(TypeError):
                operation()
    assert (a == 1) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_other_features_and_labels_are_refused_in_sums():
    a = ClassMoments.from_data(np.ones((2, 3)), [0, 1])
    with pytest.raises(ValueError, match="X has 2 features, but these moments have 3"):
        a + ClassMoments.from_data(np.ones((2, 2)), [0, 1])
    b = ClassMoments.from_data(np.ones((2, 3)), [1, 2])
    assert (a + b).classes.tolist() == [0, 1, 2]
    assert (a + b).counts.tolist() == [1, 2, 1]


# ---- updates that fail -------------------------------------------------------------------

BAD = {
    "another label": (
        lambda X, y: (X, ["a", "z", "b"]),
        "y has the label 'z', which is not among",
    ),
    "nan": (lambda X, y: (X * [[np.nan], [1], [1]], y), "Input X contains NaN"),
    "infinity": (lambda X, y: (X * [[np.inf], [1], [1]], y), "Input X contains infinity"),
    "columns": (lambda X, y: (X[:, :2], y), "X has 2 features, but these moments have 4"),
    "one dimension": (lambda X, y: (X[0], y), "Expected 2D array"),
    "length": (lambda X, y: (X, y[:2]), "inconsistent numbers of samples"),
    "weights": (lambda X, y: (X, y, [1.0, 2.0]), r"shape \(2,\); expected \(3,\), one per row"),
    "negative": (lambda X, y: (X, y, [1, -2, 3]), "must not be negative; row 1 has -2"),
    "nan weight": (lambda X, y: (X, y, [1, np.nan, 3]), "Input sample_weight contains NaN"),
    "nan label": (lambda X, y: (X, [0.0, np.nan, 1.0]), "y has NaN or infinite labels"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_update_that_raises_changes_nothing(case):
    make, message = BAD[case]
    X, y, weight = three_classes(15)
    a = ClassMoments.from_data(X, y, weight, classes=["a", "b", "c"])
    kept = a.copy()
    bad = make(X[:3], y[:3])
    with pytest.raises(ValueError, match=message):
        a.update(*bad)
    assert a == kept
    a.update(X[:3], y[:3])  # and it goes on
    same(a, kept + ClassMoments.from_data(X[:3], y[:3]))


def test_an_update_that_breaks_half_way_changes_nothing(monkeypatch):
    """Memory may run out at the second class."""
    X, y, _ = three_classes(16)
    a = ClassMoments.from_data(X[:10], y[:10])
    kept, work, calls = a.copy(), moments.block_moments, []

    def breaks(*args):
        calls.append(1)
        if len(calls) == 2:
            raise MemoryError
        return work(*args)

    monkeypatch.setattr(moments, "block_moments", breaks)
    with pytest.raises(MemoryError):
        a.update(X, y)
    assert a == kept


def test_feature_names_must_match():
    X = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["age", "dose"])
    a = ClassMoments.from_data(X, [0, 1, 0, 1])
    assert a.feature_names == ["age", "dose"]
    kept = a.copy()
    message = "feature names differ: expected 'age', got 'dose'; give the same columns in the same"
    with pytest.raises(ValueError, match=message):
        a.update(X[["dose", "age"]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=message):
        a + ClassMoments.from_data(X[["dose", "age"]], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=message):
        a - ClassMoments.from_data(X[["dose", "age"]].iloc[:2], [0, 1])
    with pytest.raises(ValueError, match="X has 3 features, but these moments have 2"):
        a.update(X.assign(more=1.0), [0, 1, 0, 1])
    assert a == kept
    # rows without names are taken as they are
    a.update(X.to_numpy(), [0, 1, 0, 1])
    assert a.feature_names == ["age", "dose"]
    b = ClassMoments(feature_names=["age", "dose"])
    assert b.n_features == 2
    same(b.update(X, [0, 1, 0, 1]), kept)
    with pytest.raises(ValueError, match="X has 3 features, but these moments have 2"):
        ClassMoments(feature_names=["age", "dose"]).update(np.ones((2, 3)), [0, 1])


def test_names_reach_the_estimator():
    X = pd.DataFrame(rows(17, n=20, d=2)[0], columns=["age", "dose"])
    y = np.repeat([0, 1], 10)
    clf = AUCClassifier(0.1).fit_moments(ClassMoments.from_data(X, y))
    np.testing.assert_array_equal(clf.feature_names_in_, ["age", "dose"])
    np.testing.assert_allclose(clf.coef_, AUCClassifier(0.1).fit(X, y).coef_, rtol=1e-10)


# ---- digits ------------------------------------------------------------------------------

FAR = 2.0**20  # about a million; adding it to multiples of 2⁻²⁰ is exact


def near_and_far(seed, d=4, n=120):
    X, y = rows(seed, n=n, d=d)
    X = np.round(X * 2**20) / 2**20
    return X, X + FAR, y


def eight_digits(far, near, shift):
    np.testing.assert_allclose(far.means - shift, near.means, rtol=0, atol=1e-8)
    np.testing.assert_allclose(far.covs, near.covs, rtol=0, atol=1e-8 * np.abs(near.covs).max())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_mean_of_a_million_and_a_variance_of_one(form, weighted):
    X, far, y = near_and_far(20)
    weight = np.random.RandomState(0).rand(120) + 0.1 if weighted else None
    near = ClassMoments.from_data(X, y, weight)
    same(near, literal(X, y, weight))
    eight_digits(ClassMoments.from_data(form(far), y, weight), near, FAR)


@pytest.mark.parametrize("full", [1, 3])
def test_full_columns_far_from_zero_among_sparse_ones(full):
    """Sparse enough for sums over pairs of stored entries, which would lose the digits here."""
    X, y = rows(21, n=120, d=40, density=0.05)
    X = np.round(X * 2**20) / 2**20
    far = X.copy()
    shift = np.zeros(40)
    shift[:full] = FAR
    far += shift
    assert np.mean(far != 0) < 0.2
    eight_digits(ClassMoments.from_data(sp.csr_array(far), y), ClassMoments.from_data(X, y), shift)


def test_digits_survive_merging_and_single_rows():
    X, far, y = near_and_far(22, n=80)
    near = ClassMoments.from_data(X, y)
    one, blocks = ClassMoments(), ClassMoments()
    for i in range(80):
        one.update(far[i : i + 1], y[i : i + 1])
    for lo in range(0, 80, 16):
        blocks = blocks + ClassMoments.from_data(far[lo : lo + 16], y[lo : lo + 16])
    eight_digits(one, near, FAR)
    eight_digits(blocks, near, FAR)
    rest = blocks - ClassMoments.from_data(far[:40], y[:40])
    eight_digits(rest, ClassMoments.from_data(X[40:], y[40:]), FAR)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("alpha", [1e-3, 0.5])
def test_digits_reach_the_exact_solution(form, gamma, alpha):
    X, far, y = near_and_far(23)
    near = AUCClassifier(alpha, solver="exact", standardize=gamma).fit(X, y)
    clf = AUCClassifier(alpha, solver="exact", standardize=gamma).fit(form(far), y)
    np.testing.assert_allclose(clf.coef_, near.coef_, rtol=0, atol=1e-8 * np.abs(near.coef_).max())
    assert clf.objective_ == pytest.approx(near.objective_, rel=1e-8)
    streamed = AUCClassifier(alpha, solver="exact", standardize=gamma)
    for lo in range(0, 120, 40):
        streamed.partial_fit(form(far)[lo : lo + 40], y[lo : lo + 40])
    np.testing.assert_allclose(streamed.coef_, clf.coef_, rtol=0, atol=1e-8)


# ---- files of moments --------------------------------------------------------------------


def saved(tmp_path, a):
    path = tmp_path / "moments.aucm"
    a.save(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # nothing is left beside it
    return path


LABELS = {
    "int": [3, 5, 7], "float": [0.5, 1.5, 2.5], "bool": [False, True], "str": ["a", "ü", "z z"],
    "objects": np.array(["a", "b"], dtype=object), "int8": np.array([1, 2], dtype=np.int8),
}  # fmt: skip


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("declared", [False, True])
def test_a_file_gives_back_the_moments(tmp_path, labels, declared):
    labels = LABELS[labels]
    rng = np.random.RandomState(0)
    y = np.asarray(labels)[rng.randint(len(labels), size=40)]
    X = pd.DataFrame(rng.randn(40, 3), columns=["x", "ü", "a b"])
    a = ClassMoments.from_data(X, y, rng.rand(40), classes=labels if declared else None)
    b = ClassMoments.load(saved(tmp_path, a))
    assert a == b
    assert b.feature_names == ["x", "ü", "a b"]
    same(b.update(X, y), a + ClassMoments.from_data(X, y))
    if declared:
        with pytest.raises(ValueError, match="is not among the classes"):
            b.update(X.iloc[:1], np.array([99]) if y.dtype.kind in "ifb" else np.array(["?"]))
    else:
        assert len((b + ClassMoments.from_data(X.iloc[:1], y[:1])).classes) == len(a.classes)


def test_empty_moments_have_files_too(tmp_path):
    for a in (ClassMoments(), ClassMoments(classes=[0, 1]), ClassMoments(feature_names=["u", "v"])):
        b = ClassMoments.load(saved(tmp_path, a))
        assert a == b
        assert b.n_features == a.n_features
        data = [[1.0, 2.0], [3.0, 4.0]], [0, 1]
        same(b.update(*data), ClassMoments.from_data(*data))
        if len(a.classes):
            with pytest.raises(ValueError, match="7"):
                b.update([[0.0, 0.0]], [7])
        else:
            assert b.update([[0.0, 0.0]], [7]).classes.tolist() == [0, 1, 7]


def test_labels_of_mixed_types_have_no_file(tmp_path):
    a = ClassMoments.from_data(np.ones((2, 1)), np.array([1, 2], dtype=object))
    with pytest.raises(ValueError, match="labels of mixed types cannot be saved"):
        a.save(tmp_path / "moments.aucm")
    assert not list(tmp_path.iterdir())


def test_a_new_file_replaces_the_old_one_only_when_it_is_complete(tmp_path, monkeypatch):
    a = ClassMoments.from_data(np.eye(2), [0, 1])
    path = saved(tmp_path, a)

    def full_disk(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        (a + a).save(path)
    assert ClassMoments.load(path) == a
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(OSError, match="nowhere"):
        a.save(tmp_path / "nowhere" / "moments.aucm")


def refusal(load, path):
    """The message with which a file is refused: one line that names the file."""
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    return message.removeprefix(f"{path}: ")


def fitted():
    X, y = rows(30, n=30, d=3)
    return AUCClassifier(0.1, solver="exact").fit(X, y), X


KINDS = {
    "moments": (lambda: ClassMoments.from_data(*rows(31, n=30, d=3)), ClassMoments.load),
    "model": (lambda: fitted()[0], aucmax.load),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def filed(tmp_path):
    """Write an object of a kind and return its path, what loads it, and the object."""

    def _filed(kind):
        make, load = KINDS[kind]
        item, path = make(), tmp_path / f"some.{kind}"
        item.save(path) if kind == "moments" else aucmax.save(item, path)
        return path, load, item

    return _filed


def unchanged(item, other):
    if isinstance(item, ClassMoments):
        return item == other
    return np.array_equal(item.coef_, other.coef_) and str(item) == str(other)


@each_kind
def test_no_flipped_bit_gives_a_wrong_object(filed, kind):
    path, load, item = filed(kind)
    raw = path.read_bytes()
    header = raw.index(b"\n") + 1
    step = 1 if kind == "moments" else 11
    positions = [*range(header), *range(header, len(raw), step)]
    seen = set()
    for position in positions:
        for bit in range(8) if position < header else [position % 8]:
            damaged = bytearray(raw)
            damaged[position] ^= 1 << bit
            path.write_bytes(damaged)
            try:
                other = load(path)
            except ModelFileError as error:
                message = str(error)
                assert message.startswith(f"{path}: ")
                assert "\n" not in message
                seen.add(message.removeprefix(f"{path}: ").split()[0])
            else:
                assert position < header  # a body that changed never loads
                assert unchanged(item, other)
    assert "damaged" in seen
    path.write_bytes(raw)
    assert unchanged(item, load(path))


@each_kind
def test_a_file_cut_short_or_with_more_at_its_end(filed, kind):
    path, load, _ = filed(kind)
    raw = path.read_bytes()
    header = raw.index(b"\n") + 1
    for length in (0, 1, 5, header // 2, header - 1):
        path.write_bytes(raw[:length])
        assert refusal(load, path).startswith(f"not an aucmax {kind} file")
    for content in (raw[:header], raw[: header + 1], raw[: len(raw) // 2], raw[:-1], raw + b"\n"):
        path.write_bytes(content)
        assert refusal(load, path) == (
            f"has {len(content) - header} bytes after its first line, expected "
            f"{len(raw) - header}; the file was cut short or changed: copy or save it again."
        )


@each_kind
def test_a_file_of_a_newer_version(filed, kind):
    path, load, _ = filed(kind)
    raw = path.read_bytes()
    start = f"aucmax {container.FORMAT} {kind} ".encode()
    assert raw.startswith(start)
    for newer in (container.FORMAT + 1, 999):
        path.write_bytes(f"aucmax {newer} {kind} ".encode() + raw.removeprefix(start))
        assert refusal(load, path) == (
            f"written by a newer aucmax (file format {newer}, this version reads up to "
            f"{container.FORMAT}); upgrade aucmax."
        )


def other_files():
    npz = io.BytesIO()
    np.savez(npz, counts=np.ones(2))
    return {
        "text": b"some notes\nand more\n",
        "binary": bytes(range(256)) * 9,
        "npz": npz.getvalue(),
        "pickle": pickle.dumps({"coef": [1.0]}),
        "skops": skops.io.dumps(StandardScaler()),
        "our name alone": b"aucmax\n",
        "half a header": b"aucmax 1 moments\n",
        "no numbers": b"aucmax one model abc ten\nabc",
        "not ascii": "aucmax 1 möments abc 3\nabc".encode(),
    }


@each_kind
@pytest.mark.parametrize("name", other_files())
def test_a_file_that_is_not_ours(tmp_path, kind, name):
    path = tmp_path / "other"
    path.write_bytes(other_files()[name])
    assert refusal(KINDS[kind][1], path) == (
        f"not an aucmax {kind} file, or its first line is damaged; give a file that aucmax saved."
    )


@each_kind
def test_no_file_at_all(tmp_path, kind):
    load = KINDS[kind][1]
    assert refusal(load, tmp_path / "none") == "cannot be read (No such file or directory)."
    assert refusal(load, tmp_path) == "cannot be read (Is a directory)."
    assert "cannot be read" in refusal(load, str(tmp_path / "none"))


@each_kind
def test_a_file_of_the_other_kind(filed, kind):
    other = next(k for k in KINDS if k != kind)
    message = refusal(KINDS[other][1], filed(kind)[0])
    assert message == f"is an aucmax {kind} file; give an aucmax {other} file."


# ---- bodies with a right digest and a wrong content ----------------------------------------


def arrays(**changed):
    m = ClassMoments.from_data(*rows(32, n=30, d=3))
    i, j = np.tril_indices(3)
    parts = dict(classes=m.classes, counts=m.counts, means=m.means, lower=m.covs[:, i, j]) | changed
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{k: v for k, v in parts.items() if v is not None})
    return buffer.getvalue()


META = {"declared": False, "n_features": 3, "feature_names": None}


def body(meta=META, **changed):
    return json.dumps(meta).encode() + b"\n" + arrays(**changed)


TRIPPED = []


def trip(*args):
    TRIPPED.append(args)


class Trap:
    """An object that tells when code from a file runs."""

    value = 1

    def __init__(self, *args):
        self.args = args

    def __reduce__(self):
        return trip, ("reduce",)

    def __getstate__(self):
        return {"args": ()}

    def __setstate__(self, state):
        trip("setstate")


class Harmless:
    """A class that no model has."""


CONTENTS = {
    "nothing": b"",
    "no json": b"{]\n" + arrays(),
    "no arrays": json.dumps(META).encode() + b"\n",
    "no zip": json.dumps(META).encode() + b"\n" + b"PK\x03\x04 and so on",
    "an array missing": body(counts=None),
    "a field missing": body({"declared": False, "n_features": 3}),
    "features of no number": body(META | {"n_features": "3"}),
    "other features": body(META | {"n_features": 4}),
    "means of another shape": body(means=np.zeros((2, 2))),
    "counts of another shape": body(counts=np.zeros(3)),
    "covariances of another shape": body(lower=np.zeros((2, 5))),
    "covariances of one class": body(lower=np.zeros((1, 6))),
    "names of another length": body(META | {"feature_names": ["a"]}),
    "meta of another type": body([1, 2]),
    "text": body(means=np.array([["a", "b", "c"], ["d", "e", "f"]])),
    "objects": body(classes=np.array([Trap(), Trap()], dtype=object)),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_a_body_of_moments_that_makes_no_sense(tmp_path, content):
    path = tmp_path / "moments.aucm"
    container.pack(path, "moments", CONTENTS[content])
    TRIPPED.clear()
    assert refusal(ClassMoments.load, path).startswith("not a readable moments file (")
    assert not TRIPPED


# ---- files of models ---------------------------------------------------------------------


def test_the_trap_would_trip():
    TRIPPED.clear()
    pickle.loads(pickle.dumps(Trap()))
    assert TRIPPED
    TRIPPED.clear()
    skops.io.loads(skops.io.dumps(Trap()), trusted=[f"{__name__}.Trap"])
    assert TRIPPED


def archive_of(path, item):
    """A model file with a right digest around any object that skops can write."""
    head = {"aucmax": "0.1", "sklearn": "1", "type": "aucmax.estimators.classifier.AUCClassifier"}
    content = item if isinstance(item, bytes) else skops.io.dumps(item)
    container.pack(path, "model", json.dumps(head).encode() + b"\n" + content)
    return path


def inside(item):
    clf, _ = fitted()
    clf.random_state = item
    return clf


FOREIGN = {
    "a class": (lambda: Trap(), f"{__name__}.Trap"),
    "a class inside a model": (lambda: inside(Trap()), f"{__name__}.Trap"),
    "a class in a pipeline": (lambda: make_pipeline(Trap(), AUCClassifier()), f"{__name__}.Trap"),
    "a list of classes": (lambda: [1, Trap()], f"{__name__}.Trap"),
    "a function": (lambda: trip, f"{__name__}.trip"),
    "a partial": (lambda: functools.partial(trip, 1), "functools.partial"),
    "another class of ours": (
        lambda: inside(container.ModelFileError("x")),
        "aucmax.basics.errors",
    ),
}


@pytest.mark.parametrize("item", FOREIGN)
def test_a_model_file_that_holds_a_foreign_type(tmp_path, item):
    make, name = FOREIGN[item]
    path = archive_of(tmp_path / "model", make())
    TRIPPED.clear()
    message = refusal(aucmax.load, path)
    assert re.match(rf"holds {name}.*, which is not among the types a model may have; nothing was "
                    "loaded", message)  # fmt: skip
    assert not TRIPPED


def renamed(item, old, new):
    """The archive of an object with one type's module and name replaced in its schema."""
    source, target = io.BytesIO(skops.io.dumps(item)), io.BytesIO()
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w") as write:
        for name in read.namelist():
            content = read.read(name)
            if name == "schema.json":
                text = content.decode()
                assert f'"{old[1]}"' in text
                text = text.replace(f'"{old[0]}"', f'"{new[0]}"')
                content = text.replace(f'"{old[1]}"', f'"{new[1]}"').encode()
            write.writestr(name, content)
    return target.getvalue()


@pytest.mark.parametrize(
    "target", [("os", "system"), ("builtins", "eval"), ("subprocess", "Popen")], ids=".".join
)
def test_an_archive_that_names_a_function_of_the_system(tmp_path, target):
    content = renamed(StandardScaler(), ("sklearn.preprocessing._data", "StandardScaler"), target)
    path = archive_of(tmp_path / "model", content)
    message = refusal(aucmax.load, path)
    assert target[1] in message
    assert "nothing was loaded" in message


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"{}\n", b"{}\nPK\x03\x04", b"not json\n" + skops.io.dumps(StandardScaler())],
    ids=["nothing", "two bytes", "no archive", "a broken archive", "no head"],
)
def test_a_body_of_a_model_that_makes_no_sense(tmp_path, content):
    path = tmp_path / "model"
    container.pack(path, "model", content)
    assert refusal(aucmax.load, path).startswith("not a readable model file (")


def test_an_archive_without_its_schema(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as write:
        write.writestr("other.txt", "hello")
    path = archive_of(tmp_path / "model", buffer.getvalue())
    assert refusal(aucmax.load, path).startswith("not a readable model file (")


def test_what_load_would_refuse_is_not_saved(tmp_path):
    clf, _ = fitted()
    path = tmp_path / "model"
    aucmax.save(clf, path)
    before = path.read_bytes()
    message = r"the model holds .*Harmless, which a model file cannot store"
    with pytest.raises(ValueError, match=message):
        aucmax.save(inside(Harmless()), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_models_of_every_solver_come_back(tmp_path, solver):
    X, y = rows(33, n=40, d=3)
    kind = SOLVERS[solver]
    clf = AUCClassifier(loss=loss_of(kind), solver=kind(), random_state=0, max_iter=50)
    clf.set_params(alpha=clf.alpha if "alpha" in kind.own else 0.1).fit(X, y)
    path = tmp_path / "model"
    aucmax.save(clf, path)
    other = aucmax.load(path)
    np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
    assert type(other.solver) is kind
    assert other.solver.get_params() == kind().get_params()
    assert str(other) == str(clf)
    if hasattr(clf, "moments_"):
        assert other.moments_ == clf.moments_
    if hasattr(clf, "_stream") or hasattr(clf, "moments_"):  # partial_fit goes on where it was
        again = rows(34, n=20, d=3)
        np.testing.assert_array_equal(
            other.partial_fit(*again).coef_, clf.partial_fit(*again).coef_
        )


def test_a_model_that_is_not_fitted_comes_back(tmp_path):
    path = tmp_path / "model"
    aucmax.save(AUCClassifier(0.3, standardize=0.5), path)
    assert aucmax.load(path).get_params() == AUCClassifier(0.3, standardize=0.5).get_params()


def test_callbacks_are_dropped_and_the_model_keeps_its_own(tmp_path):
    X, y = rows(35, n=30, d=3)
    clf = AUCClassifier(0.1, callback=lambda progress: False).fit(X, y)
    path = tmp_path / "model"
    aucmax.save(clf, path)
    assert clf.callback is not None
    other = aucmax.load(path)
    assert other.callback is None
    np.testing.assert_array_equal(other.history_, clf.history_)


def test_pipelines_with_string_labels_come_back(tmp_path):
    X, y = rows(36, n=30, d=3)
    y, frame = np.where(y == 1, "ill", "well"), pd.DataFrame(X, columns=list("abc"))
    model = make_pipeline(StandardScaler(), AUCClassifier(0.1)).fit(frame, y)
    path = tmp_path / "model"
    aucmax.save(model, path)
    np.testing.assert_array_equal(aucmax.load(path).predict(frame), model.predict(frame))


def test_subtracting_rows_that_were_never_there_is_seen():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    everything = ClassMoments.from_data(X, y)
    before = everything.covs.copy()
    for strange in (10.0 * X[:20], X[:20] + np.array([0, 30, 0])):
        with pytest.raises(ValueError, match="negative variance, so they were not all added"):
            everything - ClassMoments.from_data(strange, y[:20])
    np.testing.assert_array_equal(everything.covs, before)
    for shift in (0.0, 1e6):  # and rounding is no reason
        whole = ClassMoments.from_data(X + shift, y)
        constant = ClassMoments.from_data(np.full((20, 3), shift), y[:20])
        rest = whole + constant - ClassMoments.from_data(X + shift, y)
        np.testing.assert_allclose(rest.covs, 0.0, atol=1e-9 * max(shift, 1.0))
    clf = AUCClassifier(0.1).fit(X, y)
    coef = clf.coef_.copy()
    with pytest.raises(ValueError, match="not all added before"):
        clf.forget(X[:20] + 40.0, y[:20])
    np.testing.assert_array_equal(clf.coef_, coef)


# ---- rows that were never there


def near(S):
    """Rows, centred, whose biased covariance is S."""
    d = len(S)
    root = np.linalg.cholesky(S) * np.sqrt(d)
    return np.concatenate([root.T, -root.T])


@pytest.mark.parametrize("kind", [ClassMoments, DiagonalMoments])
def test_rows_far_from_any_that_were_there_cannot_be_subtracted(kind):
    X, y, _ = three_classes(17)
    a = kind.from_data(X, y)
    before = a.copy()
    far = X[:3].copy()
    far[:, 1] += 1e3
    with pytest.raises(ValueError, match=r"feature 1 of class '.' would be left with a negative"):
        a - kind.from_data(far, y[:3])
    assert a == before


def test_a_combination_of_features_with_a_negative_variance():
    """Each variance alone would do: only together they show that these rows were not there."""
    here = near(np.array([[1.0, 0.9], [0.9, 1.0]]))
    gone = near(np.array([[1.0, -0.9], [-0.9, 1.0]]))
    a = ClassMoments.from_data(np.tile(here, (2, 1)), np.zeros(8))
    with pytest.raises(ValueError, match=r"a combination of features of class 0\.0 would be left"):
        a - ClassMoments.from_data(gone, np.zeros(4))
    DiagonalMoments.from_data(np.tile(here, (2, 1)), np.zeros(8)) - DiagonalMoments.from_data(
        gone, np.zeros(4)
    )  # knows no combinations
    left = a - ClassMoments.from_data(here, np.zeros(4))
    np.testing.assert_allclose(left.covs[0], [[1.0, 0.9], [0.9, 1.0]], atol=1e-14)


@pytest.mark.parametrize("kind", [ClassMoments, DiagonalMoments])
def test_as_many_other_rows_cannot_be_subtracted(kind):
    X, y, _ = three_classes(19)
    a = kind.from_data(X, y)
    with pytest.raises(ValueError, match="all rows of class 'a' have another mean or variance of"):
        a - kind.from_data(X + np.array([0.0, 0.0, 0.1, 0.0]), y)
    assert not (a - a).counts.any()


def test_all_rows_of_a_class_with_other_covariances():
    S = np.array([[1.0, 0.5], [0.5, 1.0]])
    a = ClassMoments.from_data(near(S), np.zeros(4))
    with pytest.raises(ValueError, match=r"all rows of class 0\.0 have other covariances"):
        a - ClassMoments.from_data(near(2 * np.eye(2) - S), np.zeros(4))


@untimed
@given(st.integers(0, 10**6))
def test_rows_that_were_there_can_always_be_subtracted(seed):
    """Whatever their scale, place, weights and rank, and however they came."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 120)), int(rng.integers(1, 40))
    X = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) if seed % 2 else np.eye(d))
    X *= 10.0 ** rng.integers(-6, 7, size=d)
    X += 10.0 ** rng.integers(-3, 6) * rng.normal(size=d)
    X *= rng.random((n, d)) < rng.choice([0.1, 1.0])
    y = rng.integers(0, 2, n)
    w = rng.random(n) * 10.0 ** rng.integers(-3, 4) + 1e-9
    gone = rng.permutation(n)[: rng.integers(1, n + 1)]
    for kind in (ClassMoments, DiagonalMoments):
        a = kind()
        for part in np.array_split(rng.permutation(n), 3):
            if len(part):
                a.update(X[part], y[part], w[part])
        left = a - kind.from_data(X[gone], y[gone], w[gone])
        with tempfile.TemporaryDirectory() as folder:
            left.save(f"{folder}/left")
            assert kind.load(f"{folder}/left") == left  # which checks what it holds


def test_a_model_that_cannot_forget_rows_stays_as_it_was():
    X, y, _ = three_classes(23)
    y = (y == "a").astype(int)
    clf = AUCClassifier(1e-3).fit(X, y)
    coef, moments = clf.coef_.copy(), clf.moments_.copy()
    with pytest.raises(ValueError, match="so they were not all added before"):
        clf.forget(X[:3] + 1e3, y[:3])
    np.testing.assert_array_equal(clf.coef_, coef)
    assert clf.moments_ == moments
    rest = clf.forget(X[:3], y[:3])
    fresh = AUCClassifier(1e-3).fit(X[3:], y[3:])
    np.testing.assert_allclose(rest.coef_, fresh.coef_, rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 7.3])
@pytest.mark.parametrize("solver", ["exact", SOLVERS["exact"]("diagonal")])
def test_a_feature_that_only_forgotten_rows_moved_is_constant_again(value, solver):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    X[:, 3] = value
    X[:40, 3] += rng.normal(size=40)
    for gamma in (0.5, 1.0):  # which would stretch what rounding leaves of the feature
        clf = AUCClassifier(standardize=gamma, solver=solver).fit(X, y).forget(X[:40], y[:40])
        fresh = AUCClassifier(standardize=gamma, solver=solver).fit(X[40:], y[40:])
        assert clf.coef_[0, 3] == clf.spread_[3] == 0.0
        np.testing.assert_allclose(clf.coef_, fresh.coef_, rtol=1e-9)


def test_features_that_steps_made_do_not_add_to_any_without_names():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    prepared = ClassMoments.from_data(pd.DataFrame(X, columns=["a", "b"]), y)
    bare = ClassMoments.from_data(X, y)
    assert (prepared + bare).feature_names == ["a", "b"]
    prepared.steps = "scaled"
    for one, other in ((prepared, bare), (bare, prepared)):
        with pytest.raises(ValueError, match="those of the other have no names"):
            one + other
    with pytest.raises(ValueError, match="those of the other have no names"):
        prepared - bare


def test_the_positive_label_goes_with_moments(tmp_path):
    one = ClassMoments.from_data([[1.0], [2.0]], ["no", "yes"])
    one.positive = "no"
    one.save(tmp_path / "m")
    other = ClassMoments.from_data([[1.0], [3.0]], ["no", "yes"])
    total = other + ClassMoments.load(tmp_path / "m")
    assert (total.positive, (total - other).positive) == ("no", "no")
    assert total.mapped(np.eye(1)).relabelled(["nein", "ja"]).positive == "nein"
    other.positive = "yes"
    with pytest.raises(ValueError, match="one model ranks 'yes' first, and the other 'no'"):
        other + one
