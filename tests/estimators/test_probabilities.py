"""Probabilities of a tuned model: calibrated, rising with the score, and nothing else changed."""

import io
import json
import pickle

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    MulticlassAUCClassifier,
    Source,
    load,
    save,
    to_onnx,
    to_sql,
)
from aucmax.basics.errors import ModelFileError
from aucmax.cli import main
from aucmax.estimators.probabilities import (
    MIN_ISOTONIC_ROWS,
    Isotonic,
    Sigmoid,
    calibrate,
    counts,
    cross_fitted,
)
from aucmax.explain.sql import DIALECTS
from oracles.probabilities import platt, pooled_adjacent_violators

SQUARE = {"losses": ("square",), "cv": 5}


def draw(n, share=0.2, d=5, seed=0, away=0.0):
    """Rows, labels, and the probability of being positive given the row."""
    rng = np.random.default_rng(seed)
    mean = np.r_[1.2, 0.8, np.zeros(d - 2)]
    y = rng.random(n) < share
    X = rng.normal(size=(n, d)) + np.outer(y, mean)
    odds = np.exp(X @ mean - mean @ mean / 2) * share / (1 - share)
    return X + away, y.astype(int), odds / (1 + odds)


@pytest.fixture(scope="module")
def rows():
    return draw(600)[:2]


@pytest.fixture(scope="module")
def fitted(rows):
    return AUCClassifierCV(probability=True, **SQUARE).fit(*rows)


@pytest.mark.parametrize(("method", "n"), [("sigmoid", 4000), ("isotonic", 20_000)])
def test_probabilities_of_new_rows_are_right(method, n):
    X, y, _ = draw(n, away=50.0)
    model = AUCClassifierCV(probability=method, **SQUARE).fit(X, y)
    X, y, true = draw(40_000, seed=1, away=50.0)
    found = model.predict_proba(X)[:, 1]
    assert np.mean(np.abs(found - true)) < 0.02
    for rank in np.array_split(np.argsort(found), 8):
        share = found[rank].mean()
        # its own noise, and that of the rows it was calibrated on
        error = np.sqrt(share * (1 - share) * (8 / n + 1 / len(rank)))
        assert abs(y[rank].mean() - share) < 4 * error


@pytest.mark.parametrize(("n", "d"), [(250, 300), (1000, 4)])
def test_scores_of_fits_that_learn_by_heart_are_calibrated_too(n, d):
    """The mean probability is the share of positives, however wide the rows are."""
    off = []
    for seed in range(4):
        X, y, _ = draw(n + 5000, 0.3, d, seed, away=3.0)
        model = AUCClassifierCV(alphas=[0.1], standardize=[1.0], probability="sigmoid", **SQUARE)
        chance = model.fit(X[:n], y[:n]).predict_proba(X[n:])[:, 1]
        off.append(chance.mean() - y[:n].mean())
    assert abs(np.mean(off)) < 0.015


def test_they_rise_with_the_score_and_add_up_to_one(rows, fitted):
    X = rows[0]
    for method in ("sigmoid", "isotonic"):
        model = clone(fitted).set_params(probability=method).fit(*rows)
        chance, score = model.predict_proba(X), model.decision_function(X)
        assert chance.shape == (len(X), 2)
        np.testing.assert_allclose(chance.sum(axis=1), 1.0, rtol=0, atol=1e-15)
        assert np.all(np.diff(chance[np.argsort(score), 1]) >= 0)
        assert chance.min() >= 0
    assert isinstance(model.calibration_, Isotonic)


def test_nothing_else_changes(rows, fitted):
    X = rows[0]
    plain = AUCClassifierCV(**SQUARE).fit(*rows)
    np.testing.assert_array_equal(plain.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(plain.predict(X), fitted.predict(X))
    assert plain.score(*rows) == fitted.score(*rows)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain.best_estimator_, "predict_proba")
    assert not hasattr(AUCClassifier(), "predict_proba")
    with pytest.raises(AttributeError) as error:
        plain.predict_proba
    assert "probability=True" in str(error.value.__cause__)


def test_when_they_are_there(rows):
    model = AUCClassifierCV(probability=True, **SQUARE)
    assert hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError):
        model.predict_proba(rows[0])
    model.fit(*rows)
    np.testing.assert_array_equal(
        model.predict_proba(rows[0]), model.best_estimator_.predict_proba(rows[0])
    )
    model.set_params(probability=False).fit(*rows)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("change", ["fit", "fit_moments", "partial_fit", "forget"])
def test_a_model_that_goes_on_has_to_be_calibrated_again(rows, fitted, change):
    X, y = rows
    best = pickle.loads(pickle.dumps(fitted.best_estimator_))
    given = (best.moments_,) if change == "fit_moments" else (X[:10], y[:10])
    assert hasattr(best, "predict_proba")
    getattr(best, change)(*given)
    assert not hasattr(best, "predict_proba")


def test_by_hand(rows):
    """Folds fitted one by one at the chosen settings, their scores moved, and Platt's sigmoid."""
    X, y = rows
    folds = list(StratifiedKFold(4).split(X, y))
    model = AUCClassifierCV(losses=("square",), cv=folds, probability="sigmoid").fit(X, y)
    settings = {"alpha": model.alpha_, "standardize": model.standardize_, "tol": 1e-10}
    own = AUCClassifier(**settings).fit(X, y).decision_function(X)
    scores = np.empty(len(y))
    for train, test in folds:
        z = AUCClassifier(**settings).fit(X[train], y[train]).decision_function(X[test])
        scores[test] = z - z.mean() + own[test].mean()
    slope, intercept = platt(scores, y == 1, np.ones(len(y)), (y == 0).sum(), (y == 1).sum())
    assert model.calibration_.slope == pytest.approx(slope, rel=1e-3)
    assert model.calibration_.intercept == pytest.approx(intercept, rel=1e-3)


@pytest.mark.parametrize("share", [0.5, 0.02])
@pytest.mark.parametrize("weighed", [False, True])
def test_sigmoid_and_steps_are_those_of_the_papers(share, weighed):
    rng = np.random.default_rng(1)
    positive = rng.random(500) < share
    scores = np.round(rng.normal(size=500) + positive, 1) * 1e-5 + 3
    weight = rng.uniform(0.5, 2.0, 500) if weighed else np.ones(500)
    of_rows = counts(positive, weight)
    slope, intercept = platt((scores - 3) * 1e5, positive, weight, *of_rows)
    found = calibrate(scores, positive, weight, of_rows, "sigmoid")
    assert found.slope == pytest.approx(slope * 1e5, rel=1e-6)
    assert found.intercept == pytest.approx(intercept - 3e5 * slope, rel=1e-6)
    steps = calibrate(scores, positive, weight, of_rows, "isotonic")
    expected = pooled_adjacent_violators(scores, positive, weight)
    np.testing.assert_allclose(steps(np.unique(scores)), expected, rtol=0, atol=1e-12)


def test_the_size_decides():
    assert MIN_ISOTONIC_ROWS == 1000
    rng = np.random.default_rng(0)
    scores, positive = rng.normal(size=50), np.arange(50) % 2 == 0
    for smaller, kind in ((999.0, Sigmoid), (1000.0, Isotonic)):
        for of_rows in ((smaller, 1e6), (1e6, smaller)):
            assert isinstance(calibrate(scores, positive, np.ones(50), of_rows), kind)


def test_scores_that_tell_nothing_give_the_share():
    positive = np.arange(100) % 4 == 0
    ones = np.ones(100)
    for scores in (np.full(100, 7.0), -positive.astype(float)):
        found = calibrate(scores, positive, ones, counts(positive, ones))
        assert found.slope == 0.0
        assert found(scores)[0] == pytest.approx(0.25, abs=0.01)


def test_classes_that_are_apart_have_no_certain_probability():
    positive = np.arange(100) % 4 == 0
    found = calibrate(positive * 2.0, positive, np.ones(100), (75.0, 25.0))
    assert found(np.array([0.0, 2.0])) == pytest.approx([1 / 77, 26 / 27], rel=1e-6)


def test_scores_of_folds_are_moved_to_those_of_the_final_fit():
    held_out, final = np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 10.0])
    np.testing.assert_allclose(cross_fitted(held_out, final, None), held_out + 3.0)
    moved = cross_fitted(held_out, final, np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(moved, held_out + 2.0)
    np.testing.assert_allclose(cross_fitted(held_out, final, np.zeros(3)), held_out + 3.0)


# ---- weights, units, rounds

GIVEN = {"losses": ("square",), "alphas": [0.01], "standardize": [1.0]}


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_weights_are_repetitions(rows, method):
    X, y = rows
    times = np.random.default_rng(2).integers(0, 4, len(y))
    folds = list(StratifiedKFold(3).split(X, y))
    again = np.repeat(np.arange(len(y)), times)
    of_again = [tuple(np.flatnonzero(np.isin(again, part)) for part in fold) for fold in folds]
    model = AUCClassifierCV(**GIVEN, cv=folds, probability=method)
    weighed = model.fit(X, y, times).predict_proba(X)
    repeated = clone(model).set_params(cv=of_again).fit(X[again], y[again]).predict_proba(X)
    scaled = clone(model).fit(X, y, 1e-3 * times).predict_proba(X)
    np.testing.assert_allclose(scaled, weighed, atol=1e-6)
    # Platt's targets know how many rows there were
    np.testing.assert_allclose(repeated, weighed, atol=1e-8 if method == "isotonic" else 0.01)


def test_rows_of_no_weight_are_not_there(rows):
    X, y = rows
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    kept = np.flatnonzero(weight)
    folds = list(StratifiedKFold(3).split(X[kept], y[kept]))
    less = AUCClassifierCV(**GIVEN, cv=folds, probability="sigmoid").fit(X[kept], y[kept])
    folds = [tuple(kept[part] for part in fold) for fold in folds]
    folds[0] = folds[0][0], np.union1d(folds[0][1], np.flatnonzero(weight == 0))
    all_of = AUCClassifierCV(**GIVEN, cv=folds, probability="sigmoid").fit(X, y, weight)
    assert all_of.calibration_ == pytest.approx(less.calibration_, rel=1e-5)


def test_units_and_origins_of_features_do_not_matter(rows):
    X, y = rows
    model = AUCClassifierCV(**GIVEN, cv=5, probability="sigmoid")
    expected = model.fit(X, y).predict_proba(X)
    moved = X * np.array([1e-6, 1e6, 3.0, 1e-3, 1.0]) + np.array([1.0, 0, -40.0, 2.0, 0.5])
    found = clone(model).fit(moved, y).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_row_held_out_twice_counts_once(rows):
    X, y = rows
    folds = list(StratifiedKFold(4).split(X, y))
    once, twice = (
        AUCClassifierCV(**GIVEN, cv=cv, probability="sigmoid").fit(X, y).calibration_
        for cv in (folds, folds * 2)
    )
    assert twice == pytest.approx(once, rel=1e-5)


# ---- where else they work


def test_they_are_kept(rows, fitted, tmp_path):
    X = rows[0]
    expected = fitted.predict_proba(X)
    for model in (fitted, fitted.best_estimator_):
        save(model, tmp_path / "m.aucmax")
        for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "m.aucmax")):
            np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert clone(fitted).get_params()["probability"] is True


@pytest.mark.parametrize(
    "wrong",
    [
        Sigmoid(-1.0, 0.0),
        Sigmoid(1.0, np.nan),
        Isotonic(np.array([0.0, 0.0]), np.array([0.1, 0.2])),
        Isotonic(np.array([0.0, 1.0]), np.array([0.3, 0.2])),
        Isotonic(np.array([0.0, 1.0]), np.array([0.3, 1.2])),
        Isotonic(np.array([0.0, 1.0]), np.array([0.3])),
        "expit",
    ],
)
def test_a_file_with_a_map_that_no_fit_leaves_is_refused(fitted, tmp_path, monkeypatch, wrong):
    model = pickle.loads(pickle.dumps(fitted.best_estimator_))
    model.calibration_ = wrong
    with pytest.raises(ValueError, match=r"cannot be saved: .*probabilities"):
        save(model, tmp_path / "m.aucmax")
    with monkeypatch.context() as patch:
        patch.setattr("aucmax.estimators.files.check_model", lambda model: None)
        save(model, tmp_path / "m.aucmax")
    with pytest.raises(ModelFileError, match="probabilities"):
        load(tmp_path / "m.aucmax")


def test_a_source_has_the_same(rows, fitted):
    X, y = rows
    parts = Source([lambda: (X[:200], y[:200]), lambda: (X[200:], y[200:])])
    model = clone(fitted).fit(parts)
    expected = clone(fitted).fit(X, y)
    assert model.calibration_ == pytest.approx(expected.calibration_, rel=1e-6)
    np.testing.assert_allclose(model.predict_proba(parts), expected.predict_proba(X), atol=1e-6)


def test_the_positive_label_has_the_last_column():
    X, y, _ = draw(400)
    words = np.where(y == 1, "bad", "good")
    model = AUCClassifierCV(positive="bad", probability=True, **SQUARE).fit(X, words)
    assert model.classes_.tolist() == ["good", "bad"]
    assert model.predict_proba(X)[y == 1, 1].mean() > model.predict_proba(X)[y == 0, 1].mean()


def test_the_report_card_names_them(fitted):
    assert "sigmoid calibration" in fitted._repr_html_()


def test_of_more_than_two_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1200)
    X = rng.normal(size=(1200, 3)) + 1.5 * np.eye(3)[y]
    model = MulticlassAUCClassifier(AUCClassifierCV(probability="sigmoid", **SQUARE))
    assert hasattr(model, "predict_proba")
    chance = model.fit(X[:600], y[:600]).predict_proba(X[600:])
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    odds = np.exp(1.5 * X[600:])
    true = odds / odds.sum(axis=1, keepdims=True)
    assert np.mean(np.abs(chance - true)) < 0.05
    two = clone(model).fit(X[y < 2], y[y < 2])
    assert two.predict_proba(X).shape == (1200, 2)
    assert np.mean(two.predict_proba(X[y == 1])[:, 1]) > 0.5
    assert not hasattr(clone(model).set_params(scheme="ovo"), "predict_proba")
    assert not hasattr(MulticlassAUCClassifier(), "predict_proba")


def test_a_row_that_no_class_is_likely_for():
    model = MulticlassAUCClassifier(AUCClassifierCV(probability=True))
    of_none = Isotonic(np.array([0.0, 1.0]), np.array([0.0, 0.9]))
    best = AUCClassifier()
    best.calibration_ = of_none
    model.coef_, model.intercept_ = np.eye(3), np.zeros(3)
    model.classes_, model.estimators_, model.n_features_in_ = np.arange(3), [best] * 3, 3
    chance = model.predict_proba([[-1.0, -1.0, -1.0], [1.0, -1.0, -1.0]])
    np.testing.assert_allclose(chance, [[1 / 3] * 3, [1, 0, 0]])


# ---- on the command line, and away from Python


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file, new rows, and a model trained with probabilities, words and gaps in front."""
    folder = tmp_path_factory.mktemp("files")
    X, y, _ = draw(500)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(
        word=np.where(X[:, 4] > 0, "red", "blue"), y=y
    )
    frame.loc[::20, "a"] = np.nan
    frame.iloc[:300].to_csv(folder / "rows.csv", index=False)
    frame.iloc[300:].to_csv(folder / "new.csv", index=False)
    numbers = pd.DataFrame(X, columns=list("abcde")).assign(y=y)
    pd.concat([numbers] * 30).to_csv(folder / "large.csv", index=False)
    given = ("--target", "y", "--impute", "--one-hot", "--shape", "line")
    run("train", folder / "rows.csv", *given, "--probability", "-o", folder / "m.aucmax")
    run("train", folder / "rows.csv", *given, "-o", folder / "plain.aucmax")
    return folder


def run(*words, code=0):
    with pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    assert end.value.code == code


def test_train_and_score_on_the_command_line(folder, capsys):
    run("train", folder / "rows.csv", "--impute", "--one-hot", "--shape", "line", "--probability",
        "--json", "-o", folder / "again.aucmax")  # fmt: skip
    assert json.loads(capsys.readouterr().out)["probability"] == "sigmoid"
    run("score", folder / "m.aucmax", folder / "new.csv", "--probability")
    scored = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert scored.columns.tolist() == ["row", "score", "probability"]
    model, rows = load(folder / "m.aucmax"), pd.read_csv(folder / "new.csv")
    expected = model.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(scored["probability"], expected, atol=1e-12)
    run("score", folder / "plain.aucmax", folder / "new.csv")
    plain = pd.read_csv(io.StringIO(capsys.readouterr().out))
    np.testing.assert_array_equal(plain["score"], scored["score"])


@pytest.mark.usefixtures("undrawn")
def test_a_file_in_parts_has_the_same(folder, capsys):
    model, large = folder / "large.aucmax", folder / "large.csv"
    run("train", large, "--probability", "--shape", "line", "-o", model)
    found = []
    for more in ((), ("--memory", "1MB")):
        capsys.readouterr()
        run("score", model, large, "--probability", *more)
        found.append(pd.read_csv(io.StringIO(capsys.readouterr().out))["probability"])
    np.testing.assert_allclose(*found, atol=1e-12)
    run("evaluate", model, large, "--memory", "1MB", "--html", folder / "p.html")
    assert "Calibration" in (folder / "p.html").read_text(encoding="utf-8")


def test_cv_saves_the_model_that_train_does(folder, capsys):
    given = (folder / "large.csv", "--probability", "-o")
    run("train", *given, folder / "train.aucmax", "--shape", "line")  # as all of cv
    capsys.readouterr()
    run("cv", *given, folder / "cv.aucmax", "--json")
    assert json.loads(capsys.readouterr().out)["probability"] == "isotonic"
    X = pd.read_csv(folder / "large.csv")[list("abcde")][:500]
    one, other = (load(folder / f"{name}.aucmax").predict_proba(X) for name in ("train", "cv"))
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("weight", [(), ("--weight", "w")])
def test_a_file_in_parts_is_calibrated_on_the_rows_it_was_tuned_on(tmp_path, capsys, weight):
    """Those have more of the rare class; weighed as the whole file has them, they tell as much."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 4))
    chance = expit(X @ [1.0, 0.5, -0.7, 0.0] - 3)
    y = rng.random(len(X)) < chance
    w = np.where(y, 3.0, 1.0)  # odds three times as high
    rows = pd.DataFrame(X, columns=list("abcd"))
    rows.assign(w=w, y=y.astype(int)).to_csv(tmp_path / "rows.csv", index=False)
    ignored = () if weight else ("--drop", "w")
    made = ("--probability", "--memory", "12MB", "--json", "-o", tmp_path / "m.aucmax")
    run("train", tmp_path / "rows.csv", *made, *weight, *ignored)
    assert json.loads(capsys.readouterr().out)["tuned_on"] < len(X) / 2
    found = load(tmp_path / "m.aucmax").predict_proba(rows)[:, 1]
    truth = expit(logit(chance) + np.log(3)) if weight else chance
    assert np.average(found - y, weights=w if weight else None) == pytest.approx(0, abs=0.004)
    assert np.abs(found - truth).mean() < 0.2 * np.abs(truth - truth.mean()).mean()


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_evaluate_draws_them(folder, capsys):
    page = folder / "e.html"
    run("evaluate", folder / "m.aucmax", folder / "new.csv", "--html", page)
    assert "Calibration" in page.read_text(encoding="utf-8")
    run("evaluate", folder / "plain.aucmax", folder / "new.csv", "--html", page)
    assert "Calibration" not in page.read_text(encoding="utf-8")


def test_what_the_command_line_refuses(folder, capsys):
    rows, made = folder / "rows.csv", ("--probability", "-o", folder / "x.aucmax")
    ready = ("--impute", "--one-hot", *made)
    refused = {
        ("train", rows, *ready, "--alpha", "1", "--l1-ratio", "0"): "--alpha, --l1-ratio turns off",
        ("train", rows, *ready, "--one-pass"): "--one-pass turns off",
        ("cv", rows, "--probability", "--impute", "--one-hot"): "give its file as --output",
        ("score", folder / "plain.aucmax", rows, "--probability"): "train it with --probability",
    }
    for words, message in refused.items():
        run(*words, code=2)
        out, err = capsys.readouterr()
        assert out == ""
        assert message in err.splitlines()[-1]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_onnx_gives_them(fitted, rows, method):
    X = rows[0]
    model = clone(fitted).set_params(probability=method).fit(*rows)
    X = np.concatenate([X, 100 * X[:5]])  # beyond all that were calibrated on
    for dtype, off in (("float64", 1e-9), ("float32", 1e-4)):
        session = onnxruntime.InferenceSession(to_onnx(model, dtype).SerializeToString())
        score, label, chance = session.run(None, {"X": X.astype(dtype)})
        np.testing.assert_allclose(chance, model.predict_proba(X)[:, 1], atol=off)
        assert (label == (score > 0)).all()
    assert len(to_onnx(AUCClassifier().fit(*rows)).graph.output) == 2


def test_sql_gives_them(fitted, rows):
    frame = pd.DataFrame(rows[0], columns=list("abcde"))
    frame.loc[0] *= 1e6
    model = clone(fitted).set_params(probability="sigmoid").fit(frame[1:], rows[1][1:])
    for dialect in DIALECTS:
        to_sql(model, dialect, probability=True)
    written = to_sql(model, probability=True)
    with duckdb.connect() as database:
        database.register("given", frame)
        found = database.sql(f"SELECT {written} AS p FROM given").fetchnumpy()["p"]
        none = database.sql(f"SELECT {written} FROM (SELECT * REPLACE (NULL AS b) FROM given)")
        assert none.limit(1).fetchall() == [(None,)]
    np.testing.assert_allclose(found, model.predict_proba(frame)[:, 1], atol=1e-12)


def test_sql_takes_sigmoids_only(rows):
    model = AUCClassifierCV(probability="isotonic", **SQUARE).fit(*rows)
    with pytest.raises(ValueError, match="isotonic regression; SQL needs"):
        to_sql(model, columns=list("abcde"), probability=True)
    with pytest.raises(ValueError, match="no probabilities; SQL needs"):
        to_sql(AUCClassifier().fit(*rows), columns=list("abcde"), probability=True)


@pytest.mark.parametrize("wrong", ["platt", 2, None])
def test_what_there_is_not(rows, wrong):
    with pytest.raises(ValueError, match="probability must be True, False or one of 'sigmoid'"):
        AUCClassifierCV(probability=wrong).fit(*rows)


MUST_FAIL = {
    "check_classifiers_train": "predict goes by the score, not by the probability ½",
    **dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "Platt's targets know how many rows there were",
    ),
}


@parametrize_with_checks(
    [AUCClassifierCV(alphas=[0.1], losses=("square",), cv=3, probability=True)],
    expected_failed_checks=lambda model: MUST_FAIL,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)
