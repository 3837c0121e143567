"""`AUCClassifierCV(scoring=…)`: cells are scored as the scorer says, and the best of them wins."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from aucmax import AUCClassifier, AUCClassifierCV, load, metrics, save
from aucmax.estimators.scoring import METRICS
from aucmax.metrics.levels import area, area_of, levels_of

CV = StratifiedKFold(3)
GRID = {"alphas": (1e-3, 1.0), "standardize": (0.5,), "cv": CV, "within": (0.2, 0.5)}
OURS = {
    "auc": metrics.roc_auc,
    "average_precision": metrics.average_precision,
    "partial_auc": lambda *a, **k: metrics.partial_auc(*a, max_fpr=0.3, **k),
    "recall_at_fpr": lambda *a, **k: metrics.recall_at_fpr(*a, max_fpr=0.3, **k),
}


def limit(name):
    return {"scoring": name} | (
        {"max_fpr": 0.3} if name.endswith("fpr") or "partial" in name else {}
    )


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    X = rng.randn(180, 4)
    y = (X @ [1.0, 0.5, 0, 0] + rng.randn(180) > 0.8).astype(int)
    X[y == 1, 2] *= 3.0
    return X, y, rng.choice([0.0, 0.5, 2.0], size=180)


def cells(clf, X, y, weight=None):
    """Each cell of a search with the training and the held-out rows, fitted by itself."""
    for k, (train, test) in enumerate(CV.split(X, y)):
        for a, (loss, tau) in enumerate(clf.losses_):
            for j, alpha in enumerate(clf.alphas_[a, 0]):
                cell = AUCClassifier(alpha, loss=loss, within=tau, standardize=0.5, tol=1e-10)
                part = None if weight is None else weight[train]
                yield (k, a, 0, 0, j), cell.fit(X[train], y[train], part), test


def test_every_metric_is_tried_here():
    assert OURS.keys() == METRICS.keys()


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_metric_of_scores(data, name, weighted):
    X, y, weight = data
    weight = weight if weighted else None
    clf = AUCClassifierCV(losses=("square", "squared_hinge"), tol=1e-10, **GRID, **limit(name))
    clf.fit(X, y, weight)
    for place, cell, test in cells(clf, X, y, weight):
        w = None if weight is None else weight[test]
        expected = OURS[name](y[test], cell.decision_function(X[test]), sample_weight=w)
        assert clf.auc_path_[place] == pytest.approx(expected, abs=1e-12)
    assert clf.best_score_ == clf.auc_path_.mean(axis=0).max()
    expected = OURS[name](y, clf.decision_function(X), sample_weight=weight)
    assert clf.score(X, y, weight) == expected


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "weighted"), [(999, False), (999, True), (1_999, False)])
def test_the_area_without_a_table_has_the_same_bits(ties, n, weighted):
    rng = np.random.default_rng(0)
    score, positive = rng.normal(size=n), rng.uniform(size=n) < 0.3
    score = np.r_[-np.inf, np.inf, np.round(score[2:], 1) if ties else score[2:]]
    weight = rng.uniform(0.5, 2.0, n) if weighted else None
    assert area_of(positive, weight, score) == area(levels_of(positive, weight, score))


def test_the_choice_follows_the_scoring(data):
    X, y, _ = data
    found = {name: AUCClassifierCV(**GRID, **limit(name)).fit(X, y).auc_path_ for name in OURS}
    assert len({path.mean(axis=0).argmax() for path in found.values()}) > 1


def test_the_area_by_scikit_learns_name_is_ours(data):
    X, y, weight = data
    ours, theirs = (
        AUCClassifierCV(scoring=name, **GRID).fit(X, y, weight) for name in ("auc", "roc_auc")
    )
    np.testing.assert_allclose(theirs.auc_path_, ours.auc_path_, rtol=1e-12)
    assert theirs.score(X, y, weight) == pytest.approx(ours.score(X, y, weight), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "positive"),
    [
        ("balanced_accuracy", "no"),
        ("f1", "no"),
        ("roc_auc", "yes"),
        pytest.param("balanced_accuracy", "yes", marks=pytest.mark.exhaustive),
        pytest.param("f1", "yes", marks=pytest.mark.exhaustive),
        pytest.param("roc_auc", "no", marks=pytest.mark.exhaustive),
    ],
)
def test_a_named_scorer_sees_the_positive_label_as_1(data, name, positive):
    """Words as labels, and either of them to rank first."""
    X, y, _ = data
    words = np.where(y == 1, "yes", "no")
    ones = (words == positive).astype(int)
    grid = GRID | {"losses": ("square", "logistic"), "tol": 1e-10}
    clf = AUCClassifierCV(scoring=name, positive=positive, **grid).fit(X, words)
    known = AUCClassifierCV(scoring=name, **grid).fit(X, ones)
    assert np.array_equal(clf.auc_path_, known.auc_path_)
    for place, cell, test in cells(known, X, ones):
        expected = sk.get_scorer(name)(cell, X[test], ones[test])
        assert known.auc_path_[place] == pytest.approx(expected, abs=1e-12)
    assert clf.score(X, words) == sk.get_scorer(name)(known.best_estimator_, X, ones)


def test_any_other_scorer_sees_what_fit_was_given(data):
    X, y, _ = data
    frame, words = pd.DataFrame(X, columns=list("abcd")), np.where(y == 1, "yes", "no")

    def found(estimator, rows, labels):
        assert estimator.classes_.tolist() == ["no", "yes"]
        large = rows["a"] > 0
        return float(np.mean(estimator.predict(rows)[large] == labels[large]))

    clf = AUCClassifierCV(scoring=found, tol=1e-10, **GRID).fit(frame, words)
    for place, cell, test in cells(clf, X, words):
        large = X[test][:, 0] > 0
        expected = np.mean(cell.predict(X[test])[large] == words[test][large])
        assert clf.auc_path_[place] == pytest.approx(expected, abs=1e-12)
    made = sk.make_scorer(sk.f1_score, pos_label="no")
    clf = AUCClassifierCV(scoring=made, tol=1e-10, **GRID).fit(X, words)
    for place, cell, test in cells(clf, X, words):
        assert clf.auc_path_[place] == pytest.approx(made(cell, X[test], words[test]), abs=1e-12)
    assert clf.score(X, words) == made(clf.best_estimator_, X, words)


def unweighted(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize("scorer", ["accuracy", unweighted])
def test_weights_reach_scorers_that_take_them(data, scorer):
    X, y, weight = data
    clf = AUCClassifierCV(scoring=scorer, tol=1e-10, **GRID).fit(X, y, weight)
    for place, cell, test in cells(clf, X, y, weight):
        held = test[weight[test] > 0]
        w = weight[held] if scorer == "accuracy" else None
        expected = np.average(cell.predict(X[held]) == y[held], weights=w)
        assert clf.auc_path_[place] == pytest.approx(expected, abs=1e-12)


def test_a_cell_that_predicts_one_class_does_not_warn(data):
    X, y, _ = data
    X = np.r_[X, X[:1] * 1e3]  # draws the threshold off
    clf = AUCClassifierCV(scoring="precision", **GRID).fit(X, np.r_[y, 1])
    assert np.isfinite(clf.auc_path_).all()


def test_it_is_cloned_searched_and_saved(data, tmp_path):
    X, y, _ = data
    clf = AUCClassifierCV(scoring="partial_auc", max_fpr=0.3, **GRID)
    clf.fit(X, y)
    save(clf, tmp_path / "m")
    assert load(tmp_path / "m").score(X, y) == clf.score(X, y)
    outer = cross_val_score(clone(clf), X, y, cv=2)  # by its own score
    assert outer.min() > 0.5
    clf = AUCClassifierCV(scoring=unweighted, **GRID).fit(X, y)
    with pytest.raises(ValueError, match=r"cannot store.*or the best_estimator_ of a search"):
        save(clf, tmp_path / "f")
    save(clf.best_estimator_, tmp_path / "f")


# ---- τ -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OURS)
def test_within_is_searched_where_the_top_counts_most(data, name):
    X, y, _ = data
    settings = GRID | {"within": "auto", "losses": ("square", "logistic", "squared_hinge")}
    clf = AUCClassifierCV(**settings, **limit(name)).fit(X, y)
    taus, other = ([t for loss, t in clf.losses_ if loss == one] for one in ("square", "logistic"))
    assert taus == other
    assert ("pooled" in taus) == (0.05 in taus) == (name != "auc")
    assert 0.5 in taus
    assert clf.losses_[-1] == ("squared_hinge", 0.5)


# ---- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "rocauc"}, "^scoring must be one of 'auc', .*get_scorer_names.*got 'rocauc'"),
        ({"scoring": None}, "^scoring must be one of .* or scorer.*; got None"),
        ({"scoring": ["auc", "f1"]}, r"^scoring must be one of .*; got \['auc', 'f1'\]"),
        ({"scoring": "partial_auc"}, "needs max_fpr, the largest .*, such as max_fpr=0.05"),
        ({"scoring": "recall_at_fpr"}, "needs max_fpr"),
        ({"max_fpr": 0.1}, "^max_fpr=0.1 is for scoring='partial_auc' or scoring='recall_at_fpr'"),
        ({"scoring": "f1", "max_fpr": 0.1}, "leave it out with scoring='f1'"),
        ({"scoring": "partial_auc", "max_fpr": 0}, r"max_fpr must be a number in \(0, 1\]; got 0"),
        ({"scoring": "partial_auc", "max_fpr": 5}, r"max_fpr must be a number in \(0, 1\]; got 5"),
        ({"scoring": "neg_log_loss"}, "'neg_log_loss' cannot score this model .*predict_proba"),
        ({"scoring": lambda model, X, y: "high"}, "<lambda>' cannot score this model .*'high'"),
        ({"scoring": lambda model, X, y: np.nan}, "gives no number for any of the cells"),
    ],
)
def test_scorers_that_are_not_defined(data, settings, message):
    X, y, _ = data
    clf = AUCClassifierCV(**GRID).fit(X, y)
    before = clf.coef_
    with pytest.raises(ValueError, match=message):
        clf.set_params(**settings).fit(X, y)
    assert clf.coef_ is before


@pytest.mark.parametrize("scoring", ["auc", "f1"])
def test_labels_that_the_model_does_not_know_are_not_scored(data, scoring):
    X, y, _ = data
    clf = AUCClassifierCV([0.1], losses=("square",), scoring=scoring, cv=3).fit(X, y)
    for labels, one in ((7 * y, "7"), (y.astype(str), "'[01]'")):
        message = f"y holds the label {one}; this model was fitted to 0 and 1"
        with pytest.raises(ValueError, match=message):
            clf.score(X, labels)


@pytest.mark.parametrize(
    ("positives", "message"),
    [
        (3, "rows of label 1: 3, fewer than the 4 folds, .* at least one; use cv=3"),
        (1, "rows of label 1: 1, fewer than the 4 folds, .* cross-validation needs two"),
    ],
)
def test_fewer_positives_than_folds(positives, message):
    X, y = np.random.RandomState(0).randn(40, 2), (np.arange(40) < positives).astype(int)
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV(losses=("square",), cv=4).fit(X, y)
    if positives > 1:
        assert AUCClassifierCV(losses=("square",), cv=positives).fit(X, y).n_iter_


def test_held_out_parts_without_positives():
    X, y = np.random.RandomState(0).randn(40, 2), (np.arange(40) % 20 < 2).astype(int)
    clf = AUCClassifierCV(losses=("square",), cv=KFold(4))
    message = "^2 of 4 held-out parts hold only one class and are left out .*; use fewer folds or a"
    with pytest.warns(UserWarning, match=message):
        clf.fit(X, y)
    assert np.isnan(clf.auc_path_[[1, 3]]).all()
    assert np.isfinite(clf.auc_path_[[0, 2]]).any(axis=(1, 2, 3, 4)).all()
    rows = np.arange(40)
    clf = AUCClassifierCV(cv=[(rows, rows[y == 0])])
    with pytest.raises(ValueError, match=r"every held-out part .* no model can be scored; use"):
        clf.fit(X, y)
