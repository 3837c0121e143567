"""A source of rows in parts: a fit to it is the fit to the rows in memory."""

import gc
import gzip
import inspect
import os
import shutil
import weakref
from itertools import pairwise, repeat
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as arrow
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_info, threadpool_limits

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    Source,
    datasets,
    metrics,
    solvers,
)
from aucmax.basics.errors import DataFileError
from aucmax.data import readers
from aucmax.data.rows import passes
from aucmax.data.rows.spool import Spool
from aucmax.data.rows.store import sum_in_order
from oracles import logistic

CUTS = (0, 70, 71, 150, 280, 300)
NAMES = [f"f{j}" for j in range(6)]


def data(seed=0, n=300, d=6, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d)) + rng.normal(size=d)
    if sparse:
        X = np.where(rng.random((n, d)) < 0.4, X, 0.0)
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > 1.0).astype(int)
    return (sp.csr_matrix(X) if sparse else X), y


def source(X, y, weight=None, cuts=CUTS, **settings):
    def part(a, b):
        return (X[a:b], y[a:b]) if weight is None else (X[a:b], y[a:b], weight[a:b])

    return Source([lambda a=a, b=b: part(a, b) for a, b in pairwise(cuts)], **settings)


FITS = {
    "exact": dict(),
    "diagonal": dict(solver=solvers.Exact(covariance="diagonal")),
    "conjugate gradient": dict(solver="conjugate_gradient"),
    "within": dict(solver="conjugate_gradient", within=0.2),
    "coordinate descent": dict(l1_ratio=0.5),
    "squared hinge": dict(loss="squared_hinge"),
    "squared hinge, l1": dict(loss="squared_hinge", l1_ratio=1.0),
    # w is known to the root of what J is, unless the last step of Newton goes far beyond tol
    "logistic": dict(loss="logistic", tol=1e-14),
    "logistic, l1": dict(loss="logistic", l1_ratio=0.9, tol=1e-17),
    "VRSPAM": dict(
        solver=solvers.VRSPAM(step_size=0.05, init="zero", order="cyclic", center=False)
    ),
    "SPAM": dict(solver=solvers.SPAM(step_size=0.01, order="cyclic"), standardize=0.0),
    "OPAUC": dict(solver=solvers.OPAUC(step_size=0.01, order="cyclic"), standardize=0.0),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", FITS)
@pytest.mark.covering
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_to_parts_is_the_fit_to_all_rows(name, sparse, weighted):
    X, y = data(sparse=sparse)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    clf = AUCClassifier(**{"alpha": 1e-3, "standardize": 0.5, "tol": 1e-10, **FITS[name]})
    whole = clf.fit(X, y, weight)
    there = whole.coef_.copy(), whole.intercept_.copy(), whole.objective_
    parts = clf.fit(source(X, y, weight))
    size = np.abs(there[0]).max()
    np.testing.assert_allclose(parts.coef_, there[0], rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(parts.intercept_, there[1], rtol=1e-8, atol=1e-10)
    if name == "diagonal":  # in one pass there is a bound
        assert parts.objective_ >= there[2]
        assert parts.passes_ == 1
    else:
        assert parts.objective_ == pytest.approx(there[2], rel=1e-10)
        assert parts.passes_ >= 1
    assert parts.n_features_in_ == X.shape[1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", [np.asarray, lambda X: sp.csr_matrix(X), pd.DataFrame])
@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
def test_parts_may_be_empty(loss, kind):
    X, y = data()
    X, words = kind(X), np.where(y == 1, "yes", "no")
    parts = source(X, words)
    gaps = source(X, words, cuts=sorted([*CUTS, 0, 150, 300]))
    model, ref = (AUCClassifier(loss=loss).fit(rows) for rows in (gaps, parts))
    np.testing.assert_allclose(model.coef_, ref.coef_, rtol=1e-12)
    assert model.classes_.tolist() == ["no", "yes"]
    scores = model.decision_function(gaps)
    np.testing.assert_array_equal(scores, model.decision_function(parts))
    assert metrics.roc_auc(gaps, scores) == metrics.roc_auc(parts, scores)
    assert ClassMoments.from_data(gaps).counts.tolist() == np.bincount(y).tolist()
    nothing = source(X, words, cuts=(0, 0, 0))
    for refused in (AUCClassifier().fit, lambda rows: metrics.roc_auc(rows, [])):
        with pytest.raises(ValueError, match="the source has no rows"):
            refused(nothing)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_labels_stay_with_their_parts_and_are_read_if_asked_for(l1_ratio):
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    clf = AUCClassifier(1e-2, loss="logistic", l1_ratio=l1_ratio, standardize=0.0)
    records = []
    clf.set_params(callback=records.append).fit(source(X, y, weight))
    assert records
    sign = 2.0 * y - 1.0
    s = logistic.shares(sign, weight)
    for record in records:
        penalty = 0.5 * (1 - l1_ratio) * record.coef @ record.coef
        penalty += l1_ratio * np.abs(record.coef).sum()
        J = logistic.at(X @ record.coef, sign, s)[0] + 1e-2 * penalty
        assert record.objective == pytest.approx(J, rel=1e-12)


@pytest.mark.parametrize("what", ["labels", "weights"])
@pytest.mark.parametrize("change", [lambda of: 1 - of, np.flip])
def test_labels_and_weights_that_change_between_passes_are_an_error(what, change):
    X, y = data()
    first = {"labels": y[150:], "weights": np.linspace(0.0, 1.0, 150)}
    now = first | {what: change(first[what])}  # with the same sum, flipped or not
    passes = iter([first, first, now])
    rows = Source([lambda: (X[:150], y[:150], y[:150]), lambda: (X[150:], *next(passes).values())])
    with pytest.raises(
        ValueError, match=f"part 2: it has other {what} than when it was first read"
    ):
        AUCClassifier(loss="logistic").fit(rows)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_class_of_parts_needs_weight(loss):
    X, y = data()
    with pytest.raises(ValueError, match="zero for every row of class 1"):
        AUCClassifier(loss=loss).fit(source(X, y, 1.0 - y))
    with pytest.raises(ValueError, match="zero for every row; give"):
        AUCClassifier(loss=loss).fit(source(X, y, np.zeros(len(y))))


@pytest.mark.parametrize("name", ["spam", "vrspam", "solam", "opauc", "univariate"])
def test_a_part_may_have_no_row_that_counts(name):
    X, y = data()
    weight = np.ones(300)
    weight[70:150] = 0.0
    rest = np.flatnonzero(weight)
    clf = AUCClassifier(solver=name, random_state=0, max_iter=2)
    without = source(X[rest], y[rest], cuts=(0, 70, 200, 220))
    coef = clone(clf).fit(without).coef_
    np.testing.assert_array_equal(clf.fit(source(X, y, weight)).coef_, coef)


def test_the_hinge_optimum_has_the_same_value():
    X, y = data()
    clf = AUCClassifier(loss="hinge", alpha=1e-2, tol=1e-8)
    assert clf.fit(X, y).objective_ == pytest.approx(clf.fit(source(X, y)).objective_, rel=1e-7)


def test_the_learners_for_accuracy_take_a_source():
    X, y = data()
    clf = HingeClassifier(solver=solvers.Pegasos(order="cyclic"), l1_ratio=0.0, random_state=0)
    whole = clf.fit(X, y).coef_.copy()
    np.testing.assert_allclose(clf.fit(source(X, y)).coef_, whole, rtol=1e-9)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 299), max_size=8, unique=True))
@settings(max_examples=25, deadline=None)
def test_moments_do_not_depend_on_the_parts(seed, inner):
    X, y = data(seed)
    if len(np.unique(y)) < 2:
        y[0] = 1 - y[0]
    cuts = (0, *sorted(inner), 300)
    found = AUCClassifier().fit(source(X, y, cuts=cuts)).moments_
    true = ClassMoments.from_data(X, y)
    for name in ("counts", "means", "covs"):
        a, b = getattr(found, name), getattr(true, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
def test_the_same_parts_give_the_same_bits(loss):
    X, y = data()
    clf = AUCClassifier(loss=loss, solver="conjugate_gradient" if loss == "square" else "auto")
    first = clf.fit(source(X, y)).coef_.copy()
    np.testing.assert_array_equal(clf.fit(source(X, y)).coef_, first)
    parts = [(X[a:b], y[a:b]) for a, b in pairwise(CUTS)]
    again = clf.fit(Source.from_iterable(lambda: iter(parts)))
    np.testing.assert_array_equal(again.coef_, first)


@pytest.mark.parametrize("count", range(1, 18))
def test_sums_are_taken_in_an_order_that_their_number_decides(count):
    parts = np.random.default_rng(count).normal(size=(count, 3)) * 10.0 ** np.arange(3)

    def tree(lo, hi):
        if hi - lo == 1:
            return parts[lo]
        half = 1 << (hi - lo - 1).bit_length() - 1
        return tree(lo, lo + half) + tree(lo + half, hi)

    np.testing.assert_array_equal(sum_in_order(parts), tree(0, count))
    pair = sum_in_order((part, part[0]) for part in parts)
    np.testing.assert_array_equal(pair[0], tree(0, count))
    assert pair[1] == tree(0, count)[0]


SEARCHES = {
    "as it comes": dict(),
    "sparse, without moments": dict(
        losses=("squared_hinge", "logistic"), standardize=(0.0,), alphas=(1e-4, 1e-2)
    ),
    "all of a grid": dict(losses=("square",), alphas=(1e-4, 1e-2), l1_ratios=(0.0, 0.5)),
    "another metric": dict(scoring="average_precision", losses=("square",), within=(0.2, 0.5)),
}


# weights are another matter than what is searched
@pytest.mark.parametrize(
    ("name", "weighted"),
    [
        pytest.param(name, weighted, marks=[pytest.mark.exhaustive] * (weighted != k % 2))
        for k, name in enumerate(SEARCHES)
        for weighted in (0, 1)
    ],
)
def test_a_search_on_parts_is_the_search_on_all_rows(name, weighted):
    X, y = data(sparse="sparse" in name)
    weight = np.random.default_rng(1).integers(0, 3, len(y)) + 0.0 if weighted else None
    search = AUCClassifierCV(cv=2, tol=1e-10, **SEARCHES[name])
    whole = search.fit(X, y, weight)
    path, coef, held = whole.auc_path_.copy(), whole.coef_.copy(), whole.held_out_
    interval = whole.best_interval_
    parts = search.fit(source(X, y, weight))
    np.testing.assert_allclose(parts.auc_path_, path, atol=1e-3)
    np.testing.assert_allclose(parts.coef_, coef, rtol=0, atol=1e-5 * np.abs(coef).max())
    for a, b in zip(parts.held_out_, held, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3 * np.abs(b).max())
    np.testing.assert_allclose(parts.best_interval_, interval, atol=1e-3)
    assert parts.best_estimator_.passes_ > 0


def test_a_search_on_parts_takes_no_scorer_that_sees_rows():
    with pytest.raises(ValueError, match=r"scoring='f1' needs the rows.*use one of 'auc'"):
        AUCClassifierCV(scoring="f1").fit(source(*data()))


def test_moments_of_few_features_take_one_pass_and_forget_rows():
    X, y = data()
    model = AUCClassifier(standardize=0.5).fit(source(X, y))
    assert model.passes_ == 1
    rest = AUCClassifier(standardize=0.5).fit(X[40:], y[40:])
    np.testing.assert_allclose(model.forget(X[:40], y[:40]).coef_, rest.coef_, rtol=1e-8)
    assert not hasattr(AUCClassifier().fit(X, y), "passes_")


@pytest.mark.parametrize(
    "name", ["conjugate gradient", "squared hinge, l1", "squared hinge", "logistic, l1"]
)
@pytest.mark.parametrize("some_weigh_nothing", [False, True])
def test_every_pass_is_counted(name, some_weigh_nothing):
    X, y = data()
    weight = np.where(np.arange(len(y)) % 7 > 0, 1.0, 0.0) if some_weigh_nothing else None
    parts, read = source(X, y, weight), []
    last = parts.loads[-1]
    parts.loads = [*parts.loads[:-1], lambda: read.append(1) or last()]
    model = AUCClassifier(**{"alpha": 1e-3, **FITS[name]}).fit(parts)
    assert model.passes_ == len(read) > 1


def _threads(part=None, fails=False):
    if fails:
        raise ValueError("no")
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


def test_products_with_a_part_leave_a_core_to_the_reader():
    parts = source(*data())
    with threadpool_limits(3, user_api="blas"):
        assert all(set(threads) == {1} for threads in parts.each(_threads, repeat(())))
        with pytest.raises(ValueError, match="part 1: no"):
            list(parts.each(_threads, repeat((True,))))
        assert set(_threads()) == {3}


def test_no_more_than_two_parts_are_in_memory():
    made, most = [], []

    class Rows(np.ndarray):
        pass

    def part(seed):
        X, y = data(seed)
        X = X.view(Rows)
        made.append(weakref.ref(X))
        most.append(sum(one() is not None for one in made))
        return X, y

    Source([lambda s=s: part(s) for s in range(6)]).labels()
    assert len(most) == 6
    assert max(most) <= 3  # one is read while one is used, and one is just let go


METRICS = {
    "roc_auc": metrics.roc_auc,
    "partial_auc": lambda y, z, **kw: metrics.partial_auc(y, z, 0.3, **kw),
    "average_precision": metrics.average_precision,
    "precision_at_k": lambda y, z, **kw: metrics.precision_at_k(y, z, 20, **kw),
    "recall_at_fpr": lambda y, z, **kw: metrics.recall_at_fpr(y, z, 0.1, **kw),
    "recall_at_k": lambda y, z, **kw: metrics.recall_at_k(y, z, 0.1, **kw),
    "average_precision_interval": metrics.average_precision_interval,
    "average_precision_test": lambda y, z, **kw: metrics.average_precision_test(y, z, -z, **kw),
    "stratified_auc": lambda y, z, **kw: metrics.stratified_auc(y, z, np.arange(len(z)) % 9, **kw),
    **{
        f"{name}_{end}": lambda y, *z, name=f"{name}_{end}", **kw: getattr(metrics, name)(
            y, *z, *([-z[0]] * name.endswith("test")), 0.1, **kw
        )
        for name in ("precision_at_k", "recall_at_k", "recall_at_fpr")
        for end in ("interval", "test")
    },
    "unlabelled_auc": lambda y, z, **kw: metrics.unlabelled_auc(y, z, 0.01, **kw),
    "stratified_auc_test": lambda y, z, **kw: metrics.stratified_auc_test(
        y, z, -z, np.arange(len(z)) % 9, **kw
    ),
    "roc_curve": lambda y, z, **kw: np.stack(metrics.roc_curve(y, z, **kw)),
    "precision_recall_curve": lambda y, z, **kw: metrics.precision_recall_curve(y, z, **kw)[0],
    "ks_statistic": metrics.ks_statistic,
    "auc_interval": metrics.auc_interval,
    "auc_test": lambda y, z, **kw: metrics.auc_test(y, z, -z, **kw),
    "auc_difference": lambda y, z, **kw: metrics.auc_difference(y, z, -z, **kw),
    "multiclass_auc": lambda y, z, **kw: metrics.multiclass_auc(y, np.c_[-z, z], **kw),
    "cv_auc_interval": lambda y, z, **kw: metrics.cv_auc_interval(
        y, z, np.arange(len(z)) % 2, **kw
    ),
}


def test_every_metric_of_labels_is_given_a_source():
    functions = {name: getattr(metrics, name) for name in metrics.__all__ if name[0].islower()}
    takes_labels = {
        name for name, metric in functions.items() if "y" in inspect.signature(metric).parameters
    }
    assert {*METRICS, "concordance"} == takes_labels  # whose y are grades or times, no labels


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_metrics_take_a_source_for_its_labels_and_weights(metric):
    X, y = data()
    z, weight = X.sum(axis=1), np.arange(len(y)) % 3
    np.testing.assert_array_equal(metric(source(X, y), z), metric(y, z))
    weighed = source(X, y, weight)
    np.testing.assert_array_equal(metric(weighed, z), metric(y, z, sample_weight=weight))
    other = weight[::-1]
    np.testing.assert_array_equal(
        metric(weighed, z, sample_weight=other), metric(y, z, sample_weight=other)
    )
    with pytest.raises(ValueError, match="part 1: it has no labels"):
        metric(Source([lambda: X]), z)
    with pytest.raises(ValueError, match="must have one value per row of y"):
        metric(source(X, y), z[:-2])


def test_models_are_scored_on_a_source_as_on_its_rows():
    X, y = data()
    weight = np.arange(len(y)) % 3
    search = AUCClassifierCV([1e-3, 1e-1], cv=3).fit(X, y)
    for model in (AUCClassifier().fit(X, y), search):
        assert model.score(source(X, y)) == model.score(X, y)
        assert model.score(source(X, y, weight)) == model.score(X, y, weight)
        assert model.score(source(X, 1 - y), y) == model.score(X, y)
        assert model.score(source(X, y), sample_weight=weight) == model.score(X, y, weight)
    search.set_params(scoring="roc_auc")
    assert search.score(source(X, y)) == pytest.approx(search.score(X, y))


def test_scores_of_a_source_stand_one_below_the_other():
    X, y = data()
    frame = pd.DataFrame(X, columns=NAMES)
    model = AUCClassifier().fit(frame, y)
    whole = model.decision_function(frame)
    named = source(frame, y)
    np.testing.assert_array_equal(model.decision_function(named), whole)
    np.testing.assert_array_equal(model.predict(named), model.predict(frame))
    np.testing.assert_array_equal(named.labels()[0], y)
    bare = source(X, y, feature_names=NAMES)
    np.testing.assert_array_equal(model.decision_function(bare), whole)
    with pytest.raises(ValueError, match="fitted to the feature 'f0', not 'g0'"):
        model.decision_function(source(X, y, feature_names=["g0", *NAMES[1:]]))
    with pytest.raises(ValueError, match=r"part 1: .*3 features"):
        model.decision_function(source(X[:, :3], y, feature_names=NAMES))


def test_sparse_parts_may_lack_the_last_features():
    X, y = data(sparse=True)
    dense = X.toarray()
    dense[:150, 4:] = 0.0
    X, narrow = sp.csr_matrix(dense), sp.csr_matrix(dense[:150, :4])
    parts = Source([lambda: (narrow, y[:150]), lambda: (X[150:], y[150:])])
    for settings_ in (dict(), dict(solver="conjugate_gradient"), dict(loss="squared_hinge")):
        clf = AUCClassifier(alpha=1e-3, tol=1e-10, **settings_)
        whole = clf.fit(X, y).coef_.copy()
        np.testing.assert_allclose(clf.fit(parts).coef_, whole, rtol=1e-8)
    np.testing.assert_allclose(clf.decision_function(parts), clf.decision_function(X))


def test_a_source_is_made_of_functions():
    X, y = data()
    for parts, kind in (([(X, y)], "tuple"), (X, "ndarray")):
        with pytest.raises(ValueError, match=f"takes functions that return .*; got {kind}"):
            Source(parts)


def test_what_is_wrong_with_a_part_is_told_with_its_name():
    X, y = data()
    good = lambda: (X[:100], y[:100])  # noqa: E731
    model = AUCClassifier().fit(X, y)
    before = model.coef_.copy()
    holes = X.copy()
    holes[120, 2] = np.nan

    def refused(parts, message, **settings):
        with pytest.raises(ValueError, match=message):
            model.fit(Source(parts, **settings))

    refused([good, lambda: (holes[100:], y[100:])], r"^part 2: Input X contains NaN")
    refused([good, lambda: X[100:]], r"^part 2: it has no labels")
    refused(
        [good, lambda: (X[100:, :4], y[100:])], r"^part 2 has 4 features, unlike the 6 of part 1"
    )
    refused([good, lambda: (X, y, y, y, y)], "part 2 is a tuple of 5")
    refused([good, lambda: (X[100:], y[100:], -y[100:])], "part 2: sample_weight must not be neg")
    refused([good, lambda: (X[100:], y[90:])], "part 2: .*inconsistent numbers")
    refused([good], "there are 2 feature names for 6", feature_names=["a", "b"])
    refused([lambda: (X, np.ones(300))], "only one class")
    refused([lambda: (X, y, np.zeros(300))], "weight is zero for every row")
    frames = [
        lambda: (pd.DataFrame(X, columns=NAMES), y),
        lambda: (pd.DataFrame(X, columns=[*NAMES[:3], "x", *NAMES[4:]]), y),
    ]
    refused(frames, "^part 2 has 'x' as column 4, which is 'f3' in part 1")
    refused(frames, "^b has 'x' as column 4, which is 'f3' in a", names=["a", "b"])
    refused([frames[0], good], "^part 2 has no feature names, unlike part 1")
    with pytest.raises(ValueError, match="y has 299 values, fewer than there are rows"):
        model.fit(source(X, y), y[1:])
    with pytest.raises(ValueError, match="y has 301 values, and there are 300 rows"):
        model.fit(source(X, y), [*y, 0])
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="at least one part"):
        Source([])
    with pytest.raises(ValueError, match="1 names for 2 parts"):
        Source([good, good], names=["a"])


def test_other_labels_and_weights_may_be_given():
    X, y = data()
    words, weight = pd.Series(np.where(y == 1, "yes", "no"), name="paid"), np.arange(300.0)
    there = AUCClassifier().fit(X, words, weight)
    parts = AUCClassifier().fit(source(X, y), words, weight)
    np.testing.assert_allclose(parts.coef_, there.coef_, rtol=1e-9)
    assert parts.classes_.tolist() == ["no", "yes"]
    assert parts.target_name_ == "paid"


def test_parts_must_stay_as_they_are():
    X, y = data()
    sizes = iter([300, 299, 300])
    clf = AUCClassifier(loss="squared_hinge")

    def shrinking():
        n = next(sizes)
        return X[:n], y[:n]

    with pytest.raises(ValueError, match=r"part 1: it had 300 rows of 6 features.* now has 299"):
        clf.fit(Source([shrinking]))
    counts = iter([2, 3])
    with pytest.raises(ValueError, match="more parts than when it was first read"):
        clf.fit(Source.from_iterable(lambda: [(X, y)] * next(counts)))
    counts = iter([2, 1])
    with pytest.raises(ValueError, match="fewer parts than when it was first read"):
        clf.fit(Source.from_iterable(lambda: [(X, y)] * next(counts)))
    with pytest.raises(ValueError, match="has no parts"):
        clf.fit(Source.from_iterable(list))


def test_parts_hold_the_rows_that_they_held_first():
    X, y = data()
    rng = np.random.default_rng(0)
    clf = AUCClassifier(loss="squared_hinge")
    same = clf.fit(Source([lambda: (X, y)])).coef_

    for kind in (np.asarray, sp.csr_matrix, pd.DataFrame):
        drawn = Source([lambda kind=kind: (kind(rng.normal(size=X.shape)), y)])
        with pytest.raises(ValueError, match=r"part 1: it has other rows.* fixed seed"):
            clf.fit(drawn)
        orders = iter([slice(None), slice(None, None, -1)])
        turned = Source.from_iterable(lambda kind=kind, to=orders: [(kind(X[o := next(to)]), y[o])])
        with pytest.raises(ValueError, match=r"part 1: it has other rows.* nor their order"):
            clf.fit(turned)
        np.testing.assert_array_equal(clf.coef_, same)
        # what is computed again need not have the same bits
        again = Source([lambda kind=kind: (kind(X * (1 + 1e-12 * rng.normal(size=X.shape))), y)])
        np.testing.assert_allclose(AUCClassifier(loss="squared_hinge").fit(again).coef_, same, 1e-5)


# ---- files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("parts")
    X, y = data(n=400)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, w=np.arange(400) % 3 + 1.0)
    frame.to_csv(where / "all.csv", index=False)
    frame.to_csv(where / "all.tsv", index=False, sep="\t")
    frame.to_parquet(where / "all.parquet", row_group_size=37, index=False)
    frame[:150].to_csv(where / "2026-1.csv", index=False)
    frame[150:][frame.columns[::-1]].to_csv(where / "2026-2.csv", index=False)
    dump_svmlight_file(X, y, str(where / "all.svm"), zero_based=False)
    for name in ("all.csv", "all.svm"):
        (where / f"{name}.gz").write_bytes(gzip.compress((where / name).read_bytes()))
    return where


SCANS = {
    "CSV": ("all.csv", dict(weight="w")),
    "TSV": ("all.tsv", dict(weight="w")),
    "compressed": ("all.csv.gz", dict(weight="w")),
    "several": ("2026-*.csv", dict(weight="w")),
    "Parquet": ("all.parquet", dict(weight="w")),
    "without a column": ("all.parquet", dict(drop=["w", "f2"])),
    "svmlight": ("all.svm", {}),
    "compressed svmlight": ("all.svm.gz", {}),
}


@pytest.mark.parametrize("name", SCANS)
def test_files_are_read_in_parts(name, folder):
    pattern, arguments = SCANS[name]
    first = "all.csv" if name == "several" else pattern
    rows = datasets.read(folder / first, **arguments)
    X = (
        rows.data
        if rows.feature_names is None
        else pd.DataFrame(rows.data, columns=rows.feature_names)
    )
    whole = AUCClassifier(standardize=0.5).fit(X, rows.target, rows.weight)
    scanned = datasets.scan(str(folder / pattern), part_bytes=5_000, **arguments)
    assert len(list(scanned)) > 2
    parts = AUCClassifier(standardize=0.5).fit(scanned)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert list(getattr(parts, "feature_names_in_", [])) == list(rows.feature_names or [])
    assert getattr(parts, "target_name_", None) == rows.target_name
    np.testing.assert_allclose(parts.decision_function(scanned), whole.decision_function(X))


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_lazy_frames_are_read_in_parts(kind, folder):
    path = folder / "all.parquet"
    lazy = pl.scan_parquet(path) if kind == "polars" else arrow.dataset(path)
    scanned = datasets.scan(lazy, target="y", weight="w", part_bytes=5_000)
    assert len(list(scanned)) > 2
    frame = pd.read_parquet(path)
    whole = AUCClassifier().fit(frame[NAMES], frame["y"], frame["w"])
    parts = AUCClassifier().fit(scanned)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    assert parts.target_name_ == "y"
    assert parts.feature_names_in_.tolist() == NAMES
    assert datasets.scan(lazy).target_name == "y"
    with pytest.raises(ValueError, match="the frame: no label column 'z'; the columns are f0"):
        datasets.scan(lazy, target="z")


def of_dask(path):
    return pytest.importorskip("dask.dataframe").from_pandas(pd.read_parquet(path), npartitions=4)


FRAMES = {
    "polars": pl.scan_parquet,
    "polars, in memory": pl.read_parquet,
    "arrow": arrow.dataset,
    "arrow, in memory": pq.read_table,
    "dask": of_dask,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_have_the_columns_that_are_wanted(kind, folder):
    path = folder / "all.parquet"
    frame, lazy = pd.read_parquet(path), FRAMES[kind](path)
    some = dict(columns=["f4", "f1"], part_bytes=2_000)
    scanned = datasets.scan(lazy, target="y", weight="w", **some)
    model = AUCClassifier().fit(scanned)
    assert model.feature_names_in_.tolist() == ["f4", "f1"]
    ref = AUCClassifier().fit(datasets.scan(path, target="y", weight="w", **some))
    np.testing.assert_allclose(model.coef_, ref.coef_, rtol=1e-9)
    for unlabelled in (
        datasets.scan(lazy, labels="none", **some),
        datasets.scan(lazy, labels="none", target="y", drop=["w", "f0", "f2", "f3", "f5"]),
    ):
        parts = list(unlabelled)
        assert all(part.y is None and part.weight is None for part in parts)
        X = np.vstack([np.asarray(part.X) for part in parts])
        np.testing.assert_array_equal(X, frame[unlabelled.feature_names])
    for wrong, message in (
        (dict(columns=["f1", "z"], target="y"), "columns the model needs are missing: z"),
        (dict(columns="f1", target="y"), "lists of column names, not one string"),
        (dict(columns=[], target="y"), "no feature column is left"),
        (dict(labels="some", target="y"), "labels='some' is not one of required, optional, none"),
        (dict(labels="optional", target="y"), "labels='optional' is for files"),
        (dict(columns=["f1"], n_features=2, target="y"), "1 columns of features where 2"),
        (dict(sep=";", target="y"), "sep= is for files"),
    ):
        with pytest.raises(ValueError, match=message):
            datasets.scan(lazy, **wrong)


@pytest.mark.covering(1)
@pytest.mark.parametrize("value", [None, np.inf, "q"])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_fault_in_a_frame_is_told_with_its_column(kind, value, folder, tmp_path):
    model = AUCClassifier().fit(datasets.scan(folder / "all.parquet", target="y", drop=["w"]))
    frame = pd.read_parquet(folder / "all.parquet")
    column = frame["f2"].astype(str) if value == "q" else frame["f2"].copy()
    column[399] = value
    frame.assign(f2=column).to_parquet(tmp_path / "bad.parquet")
    rows = FRAMES[kind](tmp_path / "bad.parquet")
    bad = datasets.scan(rows, target="y", drop=["w"], part_bytes=8 * 7 * 100)
    for refused in (model.fit, model.decision_function, ClassMoments.from_data):
        with pytest.raises(ValueError, match=r"^part 4: column 'f2': "):
            refused(bad)
    good = datasets.scan(rows, target="y", columns=["f0", "f1"])
    assert len(model.fit(good).coef_[0]) == 2


def test_parts_of_no_size_are_refused(folder):
    with pytest.raises(ValueError, match="part_bytes must be a number"):
        datasets.scan(folder / "all.csv", part_bytes=-1)


def test_a_fault_in_a_file_is_told_with_its_line(folder, tmp_path):
    lines = (folder / "all.csv").read_text().splitlines()
    lines[301] = "1,2,oops,4,5,6,0,1"
    bad = tmp_path / "bad.csv"
    bad.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataFileError, match=r"bad\.csv, line 302: column 'f2' holds 'oops'"):
        AUCClassifier().fit(datasets.scan(bad, part_bytes=5_000))
    lines[301] = "1,2,3"
    bad.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataFileError, match=r"bad\.csv, line 302: 3 values"):
        AUCClassifier().fit(datasets.scan(bad, part_bytes=5_000))
    text = (folder / "all.svm").read_text().splitlines()
    text[350] = "1 3:x"
    rows = tmp_path / "bad.svm"
    rows.write_text("\n".join(text) + "\n")
    with pytest.raises(DataFileError, match=r"bad\.svm, line 351: the value 'x'"):
        AUCClassifier().fit(datasets.scan(rows, part_bytes=5_000))
    packed = tmp_path / "bad.svm.gz"
    packed.write_bytes(gzip.compress(rows.read_bytes()))
    with pytest.raises(DataFileError, match=r"bad\.svm\.gz, line 351: the value 'x'"):
        AUCClassifier().fit(datasets.scan(packed, part_bytes=5_000))


def test_files_that_do_not_go_together_are_told_apart(folder, tmp_path):
    frame = pd.read_csv(folder / "all.csv").rename(columns={"f3": "g3"})
    frame.to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(DataFileError, match=r"other\.csv: lacks f3 and has g3, unlike .*all\.csv"):
        datasets.scan([folder / "all.csv", tmp_path / "other.csv"])
    with pytest.raises(DataFileError, match=r"all\.svm: is read as svmlight"):
        datasets.scan([folder / "all.csv", folder / "all.svm"])
    with pytest.raises(DataFileError, match="no file matches"):
        datasets.scan(str(tmp_path / "*.parquet"))
    with pytest.raises(DataFileError, match="no such file"):
        datasets.scan(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="the list of files is empty"):
        datasets.scan([])
    for rows in (np.ones((3, 2)), pd.DataFrame({"y": [0, 1]}), pl.Series([0, 1])):
        with pytest.raises(ValueError, match=f"data must be a path.*got {type(rows).__name__}"):
            datasets.scan(rows, target="y")
    (tmp_path / "empty.csv").write_text("a,y\n")
    with pytest.raises(DataFileError, match=r"empty\.csv: the file has no rows"):
        datasets.scan(tmp_path / "empty.csv")
    quoted = tmp_path / "quoted.csv"
    quoted.write_text("a,y\n" + '1,"0\n"\n' * 2000)
    with pytest.raises(DataFileError, match="quoted value contains a line break"):
        AUCClassifier().fit(datasets.scan(quoted, part_bytes=1001))


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["x", "1"], "row 1: column 'b' holds 'x', which is not a number"),
        ([1.0, None], "row 2: column 'b' has a missing value"),
        ([1.0, np.inf], "row 2: column 'b' holds inf, which is not finite"),
        ([None, None], "column 'b' is empty in every row"),
        (pd.to_datetime(["2024-01-31"] * 2), "column 'b' holds dates"),
    ],
)
def test_a_later_file_is_held_to_the_first_and_not_to_a_model(values, what, tmp_path):
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [0, 1]}).to_parquet(first)
    pd.DataFrame({"a": [1.0, 2.0], "b": values, "y": [0, 1]}).to_parquet(second)
    with pytest.raises(DataFileError, match=r"2\.parquet(, |: )" + what) as error:
        AUCClassifier().fit(datasets.scan([first, second], target="y"))
    assert "the first part, which decides, has no such values; correct it" in str(error.value)
    assert "out (drop=['b'])" in str(error.value)
    assert "model" not in str(error.value)
    model = AUCClassifier().fit(datasets.scan([first, second], target="y", drop=["b"]))
    assert model.feature_names_in_.tolist() == ["a"]


@pytest.mark.parametrize("part_bytes", [2_000, None])
@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz"])
def test_some_files_may_have_no_rows(kind, part_bytes, folder, tmp_path):
    def put(rows, name):
        path = tmp_path / f"{name}.{kind}"
        rows.to_parquet(path) if kind == "parquet" else rows.to_csv(path, index=False)
        return path

    rows = pd.read_parquet(folder / "all.parquet")
    empty = [put(rows[:0], name) for name in "abc"]
    full = [put(rows[:150], "b1"), put(rows[150:], "b2")]

    def scan(files):
        return datasets.scan(files, target="y", drop=["w"], part_bytes=part_bytes)

    there, ref = (scan(files) for files in (str(tmp_path / f"*.{kind}"), full))
    for mine, other in zip(there, ref, strict=True):
        np.testing.assert_array_equal(mine.X, other.X)
        np.testing.assert_array_equal(mine.y, other.y)
    assert there.feature_names == NAMES
    with pytest.raises(DataFileError, match=rf"a\.{kind}: the file has no rows$"):
        scan(empty[0])
    with pytest.raises(DataFileError, match=rf"a\.{kind}: the file has no rows, and neither have"):
        scan(empty)


@pytest.mark.parametrize("pattern", ["all.csv", "all.svm.gz"])
def test_text_is_read_once(pattern, folder, tmp_path, monkeypatch):
    spooled = datasets.scan(folder / pattern, part_bytes=20_000, spool=tmp_path)
    (kept,) = tmp_path.iterdir()
    plain = datasets.scan(folder / pattern, part_bytes=20_000, spool=False)
    clf = AUCClassifier(loss="squared_hinge", alpha=1e-1, tol=0.1)
    there = clf.fit(plain).coef_.copy()
    np.testing.assert_array_equal(clf.fit(spooled).coef_, there)
    assert clf.passes_ > 2
    monkeypatch.setattr("aucmax.data.scanning.rows_of", None)  # nothing is read any more
    np.testing.assert_array_equal(clf.fit(spooled).coef_, there)
    assert len(list(kept.iterdir())) == len(list(spooled))
    del spooled
    gc.collect()
    assert not kept.exists()


def written_again(path):
    """Write a file again, as long as before."""
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 5_000_000))


def replaced(path):
    """Put another file in its place, as long and as old."""
    old, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(0, old.st_mtime_ns))
    os.replace(other, path)


def grown(path):
    with path.open("ab") as stream:
        stream.write(b"\n")


CHANGES = {
    written_again: r"the file of 20\d\d-.* was overwritten at 20",
    replaced: "it was replaced by another file",
    grown: r"the file changed from [\d,]+ to [\d,]+ bytes",
    os.unlink: "the file disappeared",
}


@pytest.fixture(params=SCANS)
def copied(request, folder, tmp_path):
    """A source of files of one's own, its arguments, and one of the files."""
    pattern, how = SCANS[request.param]
    for path in folder.glob(pattern):
        shutil.copy(path, tmp_path)
    how = dict(target="y", part_bytes=3_000, **how) if ".svm" not in pattern else dict(how)
    return tmp_path / pattern, how, sorted(tmp_path.iterdir())[-1]


@pytest.mark.covering(1)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_between_passes_is_told(copied, change):
    pattern, how, path = copied
    rows = datasets.scan(pattern, spool=False, **how)
    assert len(list(rows)) == len(list(rows))  # as long as nothing changes
    change(path)
    gone = "no file matches|the file disappeared" if change is os.unlink else CHANGES[change]
    with pytest.raises(DataFileError, match=gone) as caught:
        list(rows)
    assert str(path) in str(caught.value) or "no file matches" in str(caught.value)


def test_a_spooled_file_may_change(copied):
    pattern, how, path = copied
    rows = datasets.scan(pattern, spool=True, **how)
    before = list(rows)
    os.unlink(path)
    assert len(list(rows)) == len(before)


def test_a_file_that_changes_during_a_fit_leaves_the_model(folder, tmp_path):
    path = shutil.copy(folder / "all.parquet", tmp_path / "rows.parquet")
    clf = AUCClassifier(loss="squared_hinge", alpha=1e-2)
    rows = datasets.scan(path, target="y", part_bytes=6_000)
    there = clf.fit(rows).coef_.copy()
    clf.set_params(callback=lambda state: written_again(path))
    with pytest.raises(DataFileError, match="when nothing writes to it, or use a copy"):
        clf.fit(rows)
    np.testing.assert_array_equal(clf.coef_, there)


def test_a_file_that_comes_to_a_pattern_is_told(folder, tmp_path):
    for name in ("2026-1.csv", "2026-2.csv"):
        shutil.copy(folder / name, tmp_path)
    rows = datasets.scan(tmp_path / "2026-*.csv", target="y", spool=False)
    list(rows)
    shutil.copy(tmp_path / "2026-1.csv", tmp_path / "2026-3.csv")
    with pytest.raises(DataFileError, match=r"2026-3.csv: the file was not there when the others"):
        list(rows)


def test_a_dataset_of_files_that_changes_is_told(folder, tmp_path):
    path = shutil.copy(folder / "all.parquet", tmp_path / "rows.parquet")
    rows = datasets.scan(arrow.dataset(tmp_path), target="y")
    list(rows)
    written_again(path)
    with pytest.raises(DataFileError, match=r"rows.parquet: the file of .* was overwritten"):
        list(rows)


@pytest.mark.parametrize("name", ["all.csv", "all.svm", "all.csv.gz", "all.parquet"])
def test_a_file_that_changes_while_it_is_read_is_told(name, folder, tmp_path, monkeypatch):
    path = tmp_path / name
    shutil.copy(folder / name, path)
    made = readers.rows_and_labels

    def late(*rows, **more):
        written_again(path)
        return made(*rows, **more)

    for module in ("readers", "tables.extract"):
        monkeypatch.setattr(f"aucmax.data.{module}.rows_and_labels", late)
    how = {} if ".svm" in name else dict(target="y")
    with pytest.raises(DataFileError, match=rf"{name}: the file of .* was overwritten"):
        datasets.read(path, **how)


def test_labels_in_words_are_kept_as_they_are(tmp_path):
    X, y = data()
    words = np.where(y == 1, "yes", "no").astype(object)
    rows = pd.DataFrame(X, columns=NAMES).assign(y=words)
    rows.to_csv(tmp_path / "words.csv", index=False)
    spooled = datasets.scan(tmp_path / "words.csv", part_bytes=5_000)
    for _ in range(2):
        model = AUCClassifier(positive="no").fit(spooled)
        assert model.classes_.tolist() == ["yes", "no"]
    assert model.predict(spooled).tolist() == model.predict(rows[NAMES]).tolist()


def test_a_source_tells_how_far_it_is(monkeypatch):
    X, y = data()
    kept = source(X, y)
    kept.spool = Spool()
    seen = []
    monkeypatch.setattr(passes, "on_screen", lambda: SimpleNamespace(reads=seen.append))
    next(iter(kept))  # a pass that ends early counts for none
    assert kept.counts.passes.total() == 0
    seen.clear()
    for number in (1, 2):
        for _ in kept:
            pass
        at = seen[-len(CUTS) + 1 :]
        assert [each.rows for each in at] == list(CUTS[1:])
        assert [each.number for each in at] == [number] * len(at)
        assert [each.share for each in at] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert at[-1].size > X.nbytes
    assert kept.counts.passes == {"source": 1, "temporary file": 1}
    assert kept.counts.read["temporary file"] == at[-1].size


def test_a_parquet_file_that_changes_is_read_anew(tmp_path):
    path = tmp_path / "rows.parquet"
    long_ago = 1_000_000_000
    for k in range(3):  # of one size, and not fresh
        rows = pd.DataFrame({"a": np.arange(60.0) + k, "y": [0, 1] * 30})
        rows.to_parquet(path, row_group_size=(10, 15, 20)[k])
        os.utime(path, (long_ago + k, long_ago + k))
        for _ in range(2):
            parts = list(datasets.scan(path, target="y", part_bytes=(160, 240, 320)[k]))
            assert len(parts) == (6, 4, 3)[k]
            np.testing.assert_array_equal(np.concatenate([part.X[:, 0] for part in parts]), rows.a)
