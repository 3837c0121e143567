"""aucmax.river: river's own checks, and that streams end where fits to all rows do."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

river = pytest.importorskip("river")

from river import preprocessing  # noqa: E402
from river.checks import yield_checks  # noqa: E402

import aucmax  # noqa: E402
from aucmax import solvers  # noqa: E402
from aucmax.river import AUCClassifier  # noqa: E402

NAMES = ["a", "b", "c", "d", "e"]
LEARNERS = [{"learner": "moments"}, {"learner": "spam"}, {"half_life": 40.0}, {"l1_ratio": 1.0}]


def stream(n=150, seed=0):
    """Rows whose features come and go, and labels that depend on two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) + 3.0
    y = rng.random(n) < 1 / (1 + np.exp(-2 * (X[:, 0] - X[:, 1])))
    rows = []
    for i, values in enumerate(X.tolist()):
        kept = [j for j in range(5) if rng.random() < 0.7 and (j < 4 or i > n // 2)]
        rows.append({NAMES[j]: values[j] for j in kept})
    return rows, y.tolist()


def dense(rows):
    return np.array([[row.get(name, 0.0) for name in NAMES] for row in rows])


def taught(model, rows, labels):
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    return model


@pytest.mark.parametrize(
    "settings",
    [pytest.param(LEARNERS[0], marks=pytest.mark.exhaustive), LEARNERS[1]],
    ids=lambda given: given["learner"],
)
def test_every_check_of_river_passes_and_none_is_skipped(settings):
    model = AUCClassifier(**settings)
    assert not model._unit_test_skips()
    checks = list(yield_checks(model))
    assert len(checks) > 40
    for check in checks:
        check(model.clone())


# ---- many at once are one by one ---------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("settings", LEARNERS, ids=str)
@pytest.mark.parametrize("refresh", [0.0, 0.05, 0.4])
def test_many_rows_give_the_bits_of_one_by_one_whatever_is_asked_between(settings, refresh):
    rows, labels = stream()
    frame, y = pd.DataFrame(rows, columns=NAMES), pd.Series(labels)
    every = [{name: row.get(name, 0.0) for name in NAMES} for row in rows]
    one = taught(AUCClassifier(**settings, refresh=refresh), every, labels)
    many = AUCClassifier(**settings, refresh=refresh)
    for lo, hi in [(0, 1), (1, 1), (1, 50), (50, 53), (53, 150)]:
        many.learn_many(frame[lo:hi], y[lo:hi])
        many.predict_proba_one(rows[0])
    assert one.weights == many.weights
    assert one.intercept == many.intercept
    assert one.predict_proba_one(rows[3]) == many.predict_proba_one(rows[3])


def test_blocks_are_what_refresh_says():
    rows, labels = stream(60)
    model, seen = AUCClassifier(refresh=0.25), []
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
        seen.append(model.weights)
    learnt = [i for i in range(5, 60) if seen[i] != seen[i - 1]]
    # after m rows the next block ends with the first row n for which n − m ≥ n/4
    for before, now in itertools.pairwise(learnt):
        assert now + 1 == -(-4 * (before + 1) // 3)
    assert len(learnt) > 4


# ---- exact moments -----------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [0.0, 0.5])
def test_the_model_is_that_of_one_fit_to_all_rows(standardize):
    rows, labels = stream()
    settings = {"alpha": 1e-3, "standardize": standardize, "within": 0.3}
    model = taught(AUCClassifier(**settings, refresh=0.0), rows, labels)
    whole = aucmax.AUCClassifier(**settings).fit(dense(rows), labels)
    found = [model.weights[name] for name in NAMES]
    np.testing.assert_allclose(found, whole.coef_[0], rtol=1e-9)
    assert model.intercept == pytest.approx(whole.intercept_[0], rel=1e-9)
    assert model.score_one(rows[7]) == pytest.approx(whole.decision_function(dense(rows[7:8]))[0])


@pytest.mark.parametrize("refresh", [pytest.param(0.0, marks=pytest.mark.exhaustive), 0.3])
def test_moments_with_a_half_life_are_those_of_exact_weights(refresh):
    rows, labels = stream(40)
    model = taught(AUCClassifier(half_life=7.0, refresh=refresh), rows, labels)
    before = pickle.dumps(model)
    moments = model.moments
    assert pickle.dumps(model) == before
    columns = [moments.feature_names.index(name) for name in NAMES]
    # weights 2^(−(m−i)/7) to 30 digits, and sums without rounding
    root = Fraction(round(Fraction(2 ** (1 / 7)) * 10**40), 10**40)
    for _ in range(3):  # Newton's steps to the seventh root of two
        root -= (root**7 - 2) / (7 * root**6)
        root = root.limit_denominator(10**30)
    weights = [1 / root ** (39 - i) for i in range(40)]
    for k, label in enumerate([False, True]):
        mine = [i for i in range(40) if labels[i] == label]
        total = sum(weights[i] for i in mine)
        assert moments.counts[k] == pytest.approx(float(total), rel=1e-13)
        X = [[Fraction(value) for value in row] for row in dense(rows).tolist()]
        mean = [sum(weights[i] * X[i][j] for i in mine) / total for j in range(5)]
        np.testing.assert_allclose(moments.means[k][columns], [float(c) for c in mean], rtol=1e-13)
        cov = [
            [
                float(
                    sum(weights[i] * (X[i][a] - mean[a]) * (X[i][b] - mean[b]) for i in mine)
                    / total
                )
                for b in range(5)
            ]
            for a in range(5)
        ]
        found = moments.covs[k][np.ix_(columns, columns)]
        np.testing.assert_allclose(found, cov, rtol=1e-11, atol=1e-14)


def test_spam_takes_the_steps_of_partial_fit():
    rows, labels = stream()
    model = taught(AUCClassifier(learner="spam", step_size=0.02, refresh=0.0), rows, labels)
    spam = solvers.SPAM(step_size=0.02, order="cyclic")
    whole = aucmax.AUCClassifier(solver=spam).partial_fit(
        dense(rows), labels, classes=[False, True]
    )
    found = [model.weights[name] for name in NAMES]
    np.testing.assert_allclose(found, whole.coef_[0], rtol=1e-12)


@pytest.mark.parametrize("refresh", [0.0, 0.2])
def test_rows_of_weight_0_change_no_step_of_spam(refresh):
    rows, labels = stream(40)
    settings = {"learner": "spam", "step_size": 0.02, "refresh": refresh}
    all_rows, heavy = AUCClassifier(**settings), AUCClassifier(**settings)
    for i, (x, y) in enumerate(zip(rows, labels, strict=True)):
        all_rows.learn_one(x | {"rare": 1.0}, y, w=float(i % 3 > 0))
        if i % 3:
            heavy.learn_one(x | {"rare": 1.0}, y)
    assert all_rows.weights == heavy.weights


def test_weights_are_repetitions():
    rows, labels = stream(40)
    weighted, repeated = AUCClassifier(refresh=0.0), AUCClassifier(refresh=0.0)
    for i, (x, y) in enumerate(zip(rows, labels, strict=True)):
        weighted.learn_one(x, y, w=i % 3)
        for _ in range(i % 3):
            repeated.learn_one(x, y)
    for name in NAMES:
        assert weighted.weights[name] == pytest.approx(repeated.weights[name], rel=1e-9)


# ---- labels, frames, probabilities -------------------------------------------------------


@pytest.mark.parametrize("settings", LEARNERS[:2], ids=str)
def test_labels_are_what_was_given_and_the_larger_is_ranked_first(settings):
    rows, labels = stream()
    reference = taught(AUCClassifier(**settings), rows, labels)
    names = {False: "bad", True: "good"}
    named = taught(AUCClassifier(**settings), rows, [names[y] for y in labels])
    other = taught(AUCClassifier(**settings, positive="bad"), rows, [names[y] for y in labels])
    for x in rows[:10]:
        expected = reference.predict_proba_one(x)
        assert named.predict_one(x) == names[reference.predict_one(x)]
        assert list(named.predict_proba_one(x)) == ["bad", "good"]
        assert named.predict_proba_one(x)["good"] == pytest.approx(expected[True], rel=1e-9)
        assert other.predict_proba_one(x)["good"] == pytest.approx(expected[True], rel=1e-9)
        assert other.score_one(x) == pytest.approx(-named.score_one(x), rel=1e-9, abs=1e-12)


def test_before_both_labels_came():
    model = AUCClassifier()
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_proba_one({"a": 1.0}) == {"x": 1.0}
    with pytest.raises(ValueError, match="no moments of two classes yet"):
        model.moments


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_of_any_library_and_missing_values_are_features_not_there(make):
    rows, labels = stream()
    table = {name: [row.get(name) for row in rows] for name in NAMES}
    series = pd.Series(labels) if make is pd.DataFrame else pl.Series(labels)
    model = AUCClassifier(refresh=0.0)
    model.learn_many(make(table), series)
    one = taught(AUCClassifier(refresh=0.0), rows, labels)
    for name in NAMES:
        assert model.weights[name] == pytest.approx(one.weights[name], rel=1e-9)
    assert isinstance(model.predict_proba_many(make(table)), make)
    assert list(model.predict_many(make(table))) == [model.predict_one(x) for x in rows]


def test_probabilities_are_those_of_two_normal_classes():
    rng = np.random.default_rng(1)
    y = rng.random(4000) < 0.2
    X = rng.normal(size=(4000, 3)) + np.outer(y, [1.0, 0.5, 0.0])
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    for settings in LEARNERS[:2]:
        model = AUCClassifier(**settings)
        model.learn_many(frame, pd.Series(y))
        true = 1 / (1 + np.exp(-(np.log(0.25) + X @ [1.0, 0.5, 0.0] - 0.625)))
        off = model.predict_proba_many(frame)[True].to_numpy() - true
        assert np.abs(off).mean() < 0.02


def test_a_pipeline_learns_and_predicts():
    rows, labels = stream()
    model = preprocessing.StandardScaler() | AUCClassifier(learner="spam")
    taught(model, rows, labels)
    assert 0.0 <= model.predict_proba_one(rows[0])[True] <= 1.0


# ---- what cannot be taken ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "w", "message"),
    [
        ({"a": "red"}, True, 1.0, r"feature 'a' holds 'red'; expected a number"),
        ({"a": 1.0, "b": float("nan")}, True, 1.0, "feature 'b' holds nan"),
        ({"a": 1e200}, True, 1.0, "feature 'a' holds 1e"),
        ({"a": None}, True, 1.0, "feature 'a' holds None"),
        ({"new": 1.0}, "third", 1.0, "the label 'third' is a third one"),
        ({"new": 1.0}, True, -1.0, "w must be a number"),
    ],
)
def test_a_row_that_is_refused_changes_nothing(x, y, w, message):
    model = taught(AUCClassifier(), *stream(30))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y, w)
    assert pickle.dumps(model) == before


def test_a_frame_that_is_refused_changes_nothing():
    model = taught(AUCClassifier(), *stream(30))
    before = pickle.dumps(model)
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(ValueError, match="third"):
        model.learn_many(frame, pd.Series([True, "x"], dtype=object))
    with pytest.raises(ValueError, match="has 2 rows and y has 1"):
        model.learn_many(frame, pd.Series([True]))
    with pytest.raises(ValueError, match="feature 'a' has values above"):
        model.learn_many(frame * np.inf, pd.Series([True, False]))
    with pytest.raises(ValueError, match="w must be"):
        model.learn_many(frame, pd.Series([True, False]), w=[1.0, -1.0])
    assert pickle.dumps(model) == before


def test_scoring_tells_of_what_is_no_number():
    model = taught(AUCClassifier(), *stream(30))
    with pytest.raises(ValueError, match="feature 'a' holds 'x'"):
        model.score_one({"a": "x"})
    with pytest.raises(ValueError, match="feature 'a' holds nan"):
        model.predict_one({"a": float("nan")})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "sgd"}, "learner must be 'moments' or 'spam'"),
        ({"learner": "spam", "half_life": 9.0}, "half_life is for learner='moments'"),
        ({"learner": "spam", "within": 0.1}, "within=0.1 is for learner='moments'"),
        ({"step_size": 1.0}, "step_size is for learner='spam'"),
        ({"half_life": 0.5}, "half_life must be a number"),
        ({"refresh": 1.0}, "refresh must be a number"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"standardize": 2.0}, "standardize must be"),
    ],
)
def test_settings_that_do_not_go_are_told_at_once(settings, message):
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**settings)


def test_more_features_than_moments_fit_is_an_error_that_names_the_way_out(monkeypatch):
    monkeypatch.setattr(aucmax.AUCClassifier, "max_moment_bytes", 1000)
    model = taught(AUCClassifier(), [{"a": 1.0}, {"b": 2.0}], [True, False])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="use learner='spam'"):
        model.learn_one({str(j): 1.0 for j in range(20)}, True)
    assert pickle.dumps(model) == before
