"""More than two classes: models from K class moments or from rows, and their AUC."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    MulticlassAUCClassifier,
    Source,
    load,
    metrics,
    save,
)

WORDS = np.array(["a", "b", "c", "d"])


def data(n=240, d=5, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = WORDS[:K][np.argmax(X[:, :K] + rng.normal(size=(n, K)), axis=1)]
    return X, y, rng.integers(1, 4, n).astype(float)


@parametrize_with_checks(
    [
        MulticlassAUCClassifier(),
        MulticlassAUCClassifier(scheme="ovo"),
        MulticlassAUCClassifier(AUCClassifier(loss="logistic", tol=1e-12)),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


SETTINGS = [dict(), dict(l1_ratio=0.5), dict(within=0.2), dict(loss="logistic")]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("settings", SETTINGS)
def test_each_class_against_the_rest(settings, form):
    X, y, weight = data()
    model = AUCClassifier(0.01, tol=1e-10, **settings)
    clf = MulticlassAUCClassifier(model).fit(form(X), y, weight)
    assert len(clf.estimators_) == 4
    for k, label in enumerate(WORDS):
        alone = AUCClassifier(0.01, tol=1e-10, **settings).fit(form(X), y == label, weight)
        np.testing.assert_allclose(clf.coef_[k], alone.coef_[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(clf.intercept_[k], alone.intercept_[0], rtol=1e-7, atol=1e-9)
    Z = clf.decision_function(form(X))
    np.testing.assert_allclose(Z, X @ clf.coef_.T + clf.intercept_, atol=1e-12)
    np.testing.assert_array_equal(clf.predict(form(X)), WORDS[Z.argmax(axis=1)])


@pytest.mark.parametrize("settings", [SETTINGS[0], SETTINGS[3]])
def test_each_class_against_each_other(settings):
    X, y, weight = data(K=3)
    model = AUCClassifier(0.01, tol=1e-10, **settings)
    clf = MulticlassAUCClassifier(model, scheme="ovo").fit(X, y, weight)
    coef = np.zeros((3, 5))
    for (a, b), model in zip(((0, 1), (0, 2), (1, 2)), clf.estimators_, strict=True):
        rows = (y == WORDS[a]) | (y == WORDS[b])
        alone = AUCClassifier(0.01, tol=1e-10, **settings)
        w = alone.fit(X[rows], y[rows] == WORDS[b], weight[rows]).coef_[0]
        np.testing.assert_allclose(model.coef_[0], w, rtol=1e-7, atol=1e-9)
        coef[b] += w / 2
        coef[a] -= w / 2
    np.testing.assert_allclose(clf.coef_, coef, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_rows_come_and_go_and_shards_merge(scheme):
    X, y, weight = data()
    whole = MulticlassAUCClassifier(scheme=scheme).fit(X, y, weight)
    parts = MulticlassAUCClassifier(scheme=scheme).fit(X[:100], y[:100], weight[:100])
    parts.partial_fit(X[100:], y[100:], sample_weight=weight[100:])
    shards = [ClassMoments.from_data(X[i::3], y[i::3], weight[i::3]) for i in range(3)]
    merged = MulticlassAUCClassifier(scheme=scheme).fit_moments(sum(shards))
    thirds = [lambda i=i: (X[i::3], y[i::3], weight[i::3]) for i in range(3)]
    read = MulticlassAUCClassifier(scheme=scheme).fit(Source(thirds))
    for other in (parts, merged, read):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    parts.forget(X[:40], y[:40], weight[:40])
    left = MulticlassAUCClassifier(scheme=scheme).fit(X[40:], y[40:], weight[40:])
    np.testing.assert_allclose(parts.coef_, left.coef_, rtol=1e-8, atol=1e-10)


def test_a_class_may_come_and_go():
    X, y, _ = data()
    early = y != "d"
    clf = MulticlassAUCClassifier().fit(X[early], y[early])
    assert clf.coef_.shape == (3, 5)
    clf.partial_fit(X[~early], y[~early])
    np.testing.assert_array_equal(clf.classes_, WORDS)
    clf.forget(X[~early], y[~early])
    np.testing.assert_array_equal(clf.classes_, WORDS[:3])
    weight = early.astype(float)
    for model in (AUCClassifier(), AUCClassifier(loss="logistic")):
        assert len(MulticlassAUCClassifier(model).fit(X, y, weight).classes_) == 3


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_declared_classes_may_be_without_rows(scheme):
    X, y, _ = data()
    early = y != "d"
    clf = MulticlassAUCClassifier(scheme=scheme).partial_fit(X[:1], y[:1], classes=WORDS)
    assert clf.coef_.shape == (4, 5)
    assert not clf.coef_.any()
    clf = MulticlassAUCClassifier(scheme=scheme).partial_fit(X[early], y[early], classes=WORDS)
    assert clf.decision_function(X).shape == (len(X), 4)
    assert set(clf.predict(X)) == set("abc")
    clf.partial_fit(X[~early], y[~early])
    whole = MulticlassAUCClassifier(scheme=scheme).fit(X, y)
    np.testing.assert_allclose(clf.coef_, whole.coef_, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="differ from the known ones"):
        clf.partial_fit(X, y, classes=["a", "b"])
    assert not hasattr(MulticlassAUCClassifier(AUCClassifier(loss="logistic")), "partial_fit")


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_two_classes_are_the_binary_model(scheme):
    X, y, _ = data(K=2)
    clf, binary = MulticlassAUCClassifier(scheme=scheme).fit(X, y), AUCClassifier().fit(X, y)
    np.testing.assert_allclose(clf.coef_, binary.coef_, rtol=1e-12)
    np.testing.assert_allclose(clf.decision_function(X), binary.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), binary.predict(X))


def test_a_search_for_each_class():
    X, y = load_wine(return_X_y=True)
    search = AUCClassifierCV(losses=("square",), cv=3)
    clf = MulticlassAUCClassifier(search).fit(X, y)
    assert metrics.multiclass_auc(y, clf.decision_function(X)) > 0.99
    assert {model.alpha_ for model in clf.estimators_}


def test_a_model_is_saved(tmp_path):
    X, y, _ = data()
    clf = MulticlassAUCClassifier().fit(X, y)
    save(clf, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), clf.decision_function(X))
    assert again.moments_ == clf.moments_
    clf.coef_ = clf.coef_[:3]
    with pytest.raises(ValueError, match="its coefficients have the shape"):
        save(clf, tmp_path / "m")


# ---- the metric


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("ties", [False, True])
def test_the_area_is_scikit_learns(ties, scheme, average):
    rng = np.random.default_rng(3)
    y = rng.choice(WORDS, 200, p=[0.5, 0.3, 0.15, 0.05])
    Z = rng.normal(size=(200, 4)) + 1.0 * (y[:, None] == WORDS)
    if ties:
        Z = Z.round()
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    expected = roc_auc_score(y, P, multi_class=scheme, average=average)
    assert metrics.multiclass_auc(y, P, scheme, average) == pytest.approx(expected, abs=1e-12)
    with_labels = metrics.multiclass_auc(y, P, scheme, average, labels=WORDS)
    assert with_labels == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_weights_of_the_area_are_rows_that_are_there_so_often(scheme, average):
    X, y, weight = data()
    Z = X[:, :4]
    often = np.repeat(np.arange(len(y)), weight.astype(int))
    found = metrics.multiclass_auc(y, Z, scheme, average, sample_weight=weight)
    assert found == pytest.approx(metrics.multiclass_auc(y[often], Z[often], scheme, average))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(scheme="all"), "scheme must be 'ovr' or 'ovo'"),
        (dict(average="micro"), "average must be 'macro' or 'weighted'"),
        (dict(score=np.zeros((3, 2))), r"got shape \(3, 2\)"),
        (dict(score=np.zeros((3, 4)), labels=[0, 1, 2, 3]), "no row has the label 3"),
        (dict(score=np.zeros((3, 2)), labels=[0, 1]), "y has the label 2"),
        (dict(labels=[2, 1, 0]), "labels must be ascending"),
    ],
)
def test_what_the_area_does_not_take(change, message):
    given = {"y": [0, 1, 2], "score": np.zeros((3, 3)), **change}
    with pytest.raises(ValueError, match=message):
        metrics.multiclass_auc(**given)


# ---- errors leave the model as it was


@pytest.mark.parametrize(
    ("settings", "call", "message"),
    [
        (dict(scheme="all"), "fit", "scheme must be 'ovr' or 'ovo'"),
        (dict(estimator=AUCClassifier(loss="nothing")), "fit", "loss must be one of"),
    ],
)
def test_errors_leave_the_model(settings, call, message):
    X, y, _ = data()
    clf = MulticlassAUCClassifier().fit(X, y)
    before = clf.coef_
    clf.set_params(**settings)
    with pytest.raises(ValueError, match=message):
        getattr(clf, call)(X[:, :3] if call == "fit" else X, y)
    assert clf.coef_ is before
    assert clf.n_features_in_ == 5


def test_a_source_needs_moments():
    X, y, _ = data()
    model = MulticlassAUCClassifier(AUCClassifier(loss="logistic"))
    with pytest.raises(ValueError, match="a Source needs the square loss"):
        model.fit(Source([lambda: (X, y)]))
    with pytest.raises(ValueError, match="cannot be fitted to moments"):
        model.fit_moments(ClassMoments.from_data(X, y))
