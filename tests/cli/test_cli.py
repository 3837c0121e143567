"""The command line: what each command gives, and what bad input gets."""

import csv
import io
import itertools
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from aucmax import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    HingeClassifier,
    load,
    metrics,
    reasons,
    save,
    solvers,
)
from aucmax.cli import main
from aucmax.cli.app import app
from aucmax.cli.paths import check_paths
from aucmax.cli.wording import in_options
from aucmax.datasets import read
from aucmax.experiments.rivals import BalancedLogisticRegression
from aucmax.metrics.scored import Scored
from aucmax.report.curves import ScoredSets, ranking_figures
from aucmax.report.text import auc_text, difference_text, interval_text, p_text, p_words
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from specification import loss_of

pytestmark = pytest.mark.usefixtures("folds_drawn_once")

NAMES = ["height", "weight", "age"]


@pytest.fixture
def good(run):
    """Run a command line that must succeed; give its stdout."""

    def good(*arguments):
        code, out, err = run(*arguments)
        assert code == 0, err
        assert "error" not in err
        if "--json" not in arguments:
            assert all(len(line) <= 80 for line in out.splitlines() if "/" not in line)
        return out

    return good


def made(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    y[:2] = 0, 1
    X = rng.normal(size=(n, 3)) * [1, 10, 100] + np.outer(y, [1.0, 5.0, 0.0])
    return X, y


def write_csv(path, X, labels, names=NAMES, target="ill"):
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, target])
        writer.writerows(
            [*map(repr, row), label] for row, label in zip(X.tolist(), labels, strict=True)
        )
    return path


@pytest.fixture
def files(tmp_path):
    """Training and test rows as CSV, Parquet and svmlight files."""
    (X, y), (X_test, y_test) = made(120, 0), made(80, 1)
    words = np.array(["no", "yes"])
    write_csv(tmp_path / "train.csv", X, words[y])
    write_csv(tmp_path / "test.csv", X_test, words[y_test])
    columns = {name: X_test[:, j] for j, name in enumerate(NAMES)}
    # another order, one more column: features go by name
    shuffled = {"ill": words[y_test], "more": y_test * 7.0, **dict(reversed(columns.items()))}
    pq.write_table(pa.table(shuffled), tmp_path / "test.parquet")
    for name, rows, labels in (("train", X, y), ("test", X_test, y_test)):
        dump_svmlight_file(rows, labels, str(tmp_path / f"{name}.svm"), zero_based=False)
    return tmp_path


@pytest.fixture
def model(files, good):
    path = files / "m.aucmax"
    good("train", files / "train.csv", "-o", path, "--target", "ill", "--alpha", 1e-3)
    return files / "m.aucmax"


@pytest.fixture
def svm_model(files, good):
    good("train", files / "train.svm", "-o", files / "s.aucmax", "--alpha", 1e-3)
    return files / "s.aucmax"


# ---- train


def test_train_prints_the_numbers_of_the_same_fit(files, good):
    path = files / "m.aucmax"
    out = good(
        *("train", files / "train.csv", "-o", path, "--target", "ill"),
        *("--standardize", 0.5, "--alpha", 0.01, "--json"),
    )
    report = json.loads(out)
    X, y = made(120, 0)
    expected = AUCClassifier(0.01, standardize=0.5).fit(X, y)
    np.testing.assert_allclose(load(path).coef_, expected.coef_, rtol=1e-12)
    assert report["rows"] == 120
    assert report["features"] == 3
    assert report["positive"] == "yes"
    assert report["positives"] == y.sum()
    assert report["solver"] == expected.solver_ == "exact"
    assert report["objective"] == pytest.approx(expected.objective_, rel=1e-12)
    assert report["optimality"] < 1e-10
    interval = metrics.auc_interval(y, expected.decision_function(X))
    assert report["training_auc"] == pytest.approx(interval._asdict())


@pytest.mark.parametrize("within", [0.1, "pooled"])
def test_train_weighs_the_spreads(files, good, bad, within):
    path, X, y = files / "m.aucmax", *made(120, 0)
    train = ("train", files / "train.csv", "-o", path, "--target", "ill", "--within")
    text = good(*train, within)
    assert f"loss square, within {within}, standardize" in text
    assert "--within given" in text
    expected = AUCClassifier(within=within).fit(X, y)
    np.testing.assert_allclose(load(path).coef_, expected.coef_, rtol=1e-12)
    assert f"loss square, within {within}, standardize" in good("show", path)
    message = bad(*train, "all")
    assert message.endswith(
        "error: --within, unless it is 'pooled', must be a number in [0, 1]; got 'all'.\n"
    )
    message = bad(*train, within, "--loss", "hinge")
    assert "is for --loss square" in message


def test_train_prints_a_table(files, good):
    out = good("train", files / "train.csv", "-o", files / "m", "--target", "ill")
    for word in ("rows", "120", "features", "yes", "solver", "objective", "optimality", "AUC"):
        assert word in out
    assert "saved" in out


def test_train_keeps_names_and_settings(files, good):
    path = files / "m.aucmax"
    good(
        *("train", files / "train.csv", "-o", path, "--target", "ill", "--drop", "age"),
        *("--solver", "vrspam", "--seed", 3, "--l1-ratio", 0.5, "--tol", 0.1, "--max-iter", 7),
    )
    model = load(path)
    assert model.feature_names_in_.tolist() == ["height", "weight"]
    assert (model.solver, model.random_state, model.l1_ratio) == ("vrspam", 3, 0.5)
    assert (model.tol, model.max_iter) == (0.1, 7)


def test_a_trained_model_forgets_rows_given_by_name(files, model):
    pandas = pytest.importorskip("pandas")
    X, y = made(120, 0)
    labels = np.array(["no", "yes"])[y]
    forgot = load(model).forget(pandas.DataFrame(X[:20], columns=NAMES), labels[:20])
    assert forgot.feature_names_in_.tolist() == NAMES
    refit = AUCClassifier(1e-3).fit(X[20:], labels[20:])
    np.testing.assert_allclose(forgot.coef_, refit.coef_, rtol=1e-8)


def test_the_smaller_label_can_be_positive(files, good):
    path = files / "m.aucmax"
    out = good(
        *("train", files / "train.csv", "-o", path, "--target", "ill", "--positive", "no"),
        "--json",
    )
    report = json.loads(out)
    assert (report["positive"], report["negative"]) == ("no", "yes")
    out = good("evaluate", path, files / "test.csv", "--json")
    assert json.loads(out)["positive"] == "no"
    assert json.loads(out)["scorers"][0]["auc"] > 0.6
    _, labels = read_scores(good("score", path, files / "test.csv", "--threshold", 0))
    assert set(labels) == {"no", "yes"}


def test_one_label_against_the_rest(files, good, bad):
    X, y = made(60, 2)
    labels = np.where(y == 1, "b", np.where(np.arange(60) % 2, "a", "c"))
    path = write_csv(files / "three.csv", X, labels)
    message = bad("train", path, "-o", files / "m", "--target", "ill")
    assert "3 different labels (a, b, c)" in message
    assert "--positive" in message
    train = ("train", path, "-o", files / "m", "--target", "ill", "--alpha", 1e-3)
    out = good(*train, "--positive", "b", "--json")
    report = json.loads(out)
    assert (report["positive"], report["negative"]) == ("b", "not b")
    assert report["positives"] == np.sum(labels == "b")
    expected = AUCClassifier(1e-3).fit(X, labels == "b")
    np.testing.assert_allclose(load(files / "m").coef_, expected.coef_, rtol=1e-10)
    report = json.loads(good("evaluate", files / "m", path, "--json"))
    auc = metrics.roc_auc(labels == "b", expected.decision_function(X))
    assert report["scorers"][0]["auc"] == pytest.approx(auc)


def test_a_solver_that_does_not_converge_warns_in_one_line(files, run):
    code, out, err = run(
        *("train", files / "train.csv", "-o", files / "m", "--target", "ill"),
        *("--solver", "newton", "--loss", "squared_hinge", "--max-iter", 1, "--tol", 1e-12),
    )
    assert code == 0
    assert err.startswith("warning: ")
    assert err.count("\n") == 1
    assert "max_iter" in err
    assert "saved" in out


# ---- score


def read_scores(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return np.array([float(row["score"]) for row in rows]), [row.get("label") for row in rows]


@pytest.mark.parametrize("name", ["test.csv", "test.parquet"])
def test_scores_are_those_of_the_model(files, model, good, name):
    X, _ = made(80, 1)
    clf = AUCClassifier(1e-3).fit(*made(120, 0))
    scores, labels = read_scores(good("score", model, files / name, "--threshold", 0))
    np.testing.assert_allclose(scores, clf.decision_function(X), rtol=1e-12)
    assert labels == np.array(["no", "yes"])[clf.predict(X)].tolist()


def test_scores_survive_the_file_to_the_last_bit(files, svm_model, good):
    table = read(files / "test.svm")
    scores, labels = read_scores(good("score", svm_model, files / "test.svm", "--threshold", 0))
    clf = load(svm_model)
    np.testing.assert_array_equal(scores, clf.decision_function(table.data))
    assert list(map(int, labels)) == clf.predict(table.data).tolist()


def test_scores_go_to_a_file_or_to_json_lines(files, model, good, run):
    flagged = ("score", model, files / "test.csv", "--threshold", 0)
    text = good(*flagged)
    code, out, err = run(*flagged, "-o", files / "out.csv")
    assert (code, out) == (0, "")
    assert "80 scores written" in err
    assert (files / "out.csv").read_text() == text
    lines = good(*flagged, "--json").splitlines()
    lines = [json.loads(line) for line in lines]
    assert [line["row"] for line in lines] == list(range(1, 81))
    scores, labels = read_scores(text)
    assert [line["score"] for line in lines] == scores.tolist()
    assert [line["label"] for line in lines] == labels


def test_scores_come_with_their_reasons(files, model, run):
    code, out, _ = run("score", model, files / "test.csv", "--reasons", 2)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "row,score,reason_1,reason_2"
    found = [row["reason_1"] + ", " + row["reason_2"] for row in csv.DictReader(lines)]
    assert len(found) == 80
    loaded = load(model)
    X = made(80, 1)[0]
    for told, why in zip(found, reasons(loaded, X, 2), strict=True):
        assert re.findall(r"(\w+) = ", told) == [reason.feature for reason in why]


def test_rows_to_score_need_no_labels_and_may_have_fewer_features(files, svm_model, good):
    (files / "new.svm").write_text("1:0.5 2:3\n2:1\n")
    scores, _ = read_scores(good("score", svm_model, files / "new.svm"))
    expected = load(svm_model).decision_function([[0.5, 3, 0], [0, 1, 0]])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-14)  # sparse and dense sums


def test_a_model_without_names_takes_columns_in_order(files, svm_model, good, bad):
    X, _ = made(80, 1)
    scores, _ = read_scores(good("score", svm_model, files / "test.csv", "--target", "ill"))
    np.testing.assert_allclose(scores, load(svm_model).decision_function(X))
    message = bad(*("score", svm_model, files / "test.parquet", "--target", "ill"))
    assert "4 feature columns where 3 are expected" in message
    good("score", svm_model, files / "test.parquet", "--target", "ill", "--drop", "more")


def test_a_pipeline_saved_from_python_scores_too(files, good):
    pandas = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = made(120, 0)
    pipeline = make_pipeline(StandardScaler(), AUCClassifier())
    pipeline.fit(pandas.DataFrame(X, columns=NAMES), y)
    save(pipeline, files / "p.aucmax")
    scores, _ = read_scores(good("score", files / "p.aucmax", files / "test.parquet"))
    frame = pandas.DataFrame(made(80, 1)[0], columns=NAMES)
    np.testing.assert_allclose(scores, pipeline.decision_function(frame), rtol=1e-12)
    report = json.loads(good("show", files / "p.aucmax", "--json"))
    assert sorted(row["feature"] for row in report["weights"]) == sorted(NAMES)


# ---- evaluate


def test_evaluate_gives_the_metrics_of_the_scores(files, model, good):
    X, y = made(80, 1)
    score = AUCClassifier(1e-3).fit(*made(120, 0)).decision_function(X)
    out = good(
        *("evaluate", model, files / "test.csv", "--json"),
        *("--k", 7, "--fpr", 0.2, "--confidence", 0.9),
    )
    report = json.loads(out)
    assert (report["rows"], report["positives"], report["positive"]) == (80, y.sum(), "yes")
    (scorer,) = report["scorers"]
    intervals = scorer.pop("intervals")
    measures = {"average_precision": (), "precision_at_k": (7,), "recall_at_k": (7,)}
    measures["recall_at_fpr"] = (0.2,)
    assert scorer == pytest.approx(
        {
            "name": "m.aucmax",
            **metrics.auc_interval(y, score, 0.9)._asdict(),
            **{name: getattr(metrics, name)(y, score, *k) for name, k in measures.items()},
        }
    )
    for name, k in measures.items():
        interval = getattr(metrics, f"{name}_interval")(y, score, *k, confidence=0.9)
        assert intervals.pop(name) == pytest.approx(interval._asdict())
    assert not intervals
    text = good("evaluate", model, files / "test.csv", "--k", 7, "--fpr", 0.2)
    for word in ("95 % interval", "precision@7", "recall@7", "recall at FPR ≤ 0.2", "label yes"):
        assert word in text
    assert auc_text(metrics.roc_auc(y, score)) in text


def test_k_is_the_number_of_positives_unless_given(files, model, good):
    report = json.loads(good("evaluate", model, files / "test.csv", "--json"))
    assert report["k"] == report["positives"] == made(80, 1)[1].sum()


def test_two_models_get_a_paired_test(files, model, good):
    # a model that sees one feature only, and that by name
    worse = files / "worse.aucmax"
    good(
        *("train", files / "train.csv", "-o", worse, "--target", "ill"),
        *("--drop", "height", "--drop", "weight"),
    )
    y = made(80, 1)[1]
    a, _ = read_scores(good("score", model, files / "test.csv"))
    b, _ = read_scores(good("score", worse, files / "test.csv"))
    expected = metrics.auc_test(y, a, b)
    assert expected.p_value < 0.05
    (test,) = json.loads(good("evaluate", model, files / "test.csv", worse, "--json"))["tests"]
    assert [test[key] for key in expected._fields] == pytest.approx(list(expected))
    assert test["verdict"] == "better"
    expected = metrics.recall_at_fpr_test(y, a, b, 0.05)
    assert test["measures"]["recall_at_fpr"] == pytest.approx(expected._asdict())
    (test,) = json.loads(good("evaluate", worse, files / "test.csv", model, "--json"))["tests"]
    assert test["verdict"] == "worse"
    text = good("evaluate", model, files / "test.csv", worse)
    assert re.search(r"worse\.aucmax +\+0\.\d{4} +\+0\.\d{4} to \+0\.\d{4} +\S+ +better", text)
    (test,) = json.loads(good("evaluate", model, files / "test.csv", model, "--json"))["tests"]
    assert (test["p_value"], test["verdict"]) == (1.0, "tie")
    # few rows: the page says beside p that it is too small
    assert re.match(r"p is approximate with \d\d rows of a class", test["note"])
    assert test["note"] in " ".join(text.split())


@pytest.mark.usefixtures("few_penalties")
def test_a_model_against_logistic_regression(files, model, good):
    out = good(
        *("evaluate", model, files / "test.csv", "--logistic", files / "train.csv"),
        *("--json", "--seed", 4),
    )
    report = json.loads(out)
    (X, y), (X_test, y_test) = made(120, 0), made(80, 1)
    rival = BalancedLogisticRegression(random_state=4).fit(X, y)
    assert [scorer["name"] for scorer in report["scorers"]] == ["m.aucmax", "logistic regression"]
    auc = metrics.roc_auc(y_test, rival.decision_function(X_test))
    assert report["scorers"][1]["auc"] == pytest.approx(auc)
    (test,) = report["tests"]
    assert test["verdict"] == ("tie" if test["p_value"] >= 0.05 else test["verdict"])
    text = good("evaluate", model, files / "test.csv", "--logistic", files / "train.csv")
    assert re.search(rf"logistic regression +[+-].* {test['verdict']}", text)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        (".png", b"\x89PNG"),
        (".svg", b"<?xml"),
        pytest.param(".pdf", b"%PDF", marks=pytest.mark.exhaustive),
    ],
)
def test_the_roc_curve_is_drawn(files, model, good, suffix, start):
    image = files / f"roc{suffix}"
    good("evaluate", model, files / "test.csv", model, "--plot", image)
    assert image.read_bytes().startswith(start)


def test_names_and_labels_are_drawn_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array([False, True] * 20_000)
    # many points, and what matplotlib would take for mathematics
    scored = {"a $x_1$": [Scored(y, rng.normal(size=40_000) + y)]}
    ranking_figures(ScoredSets(scored, of="$"))[0].save(tmp_path / "r.svg")
    text = (tmp_path / "r.svg").read_text()
    assert "a $x_1$" in text
    assert len(text) < 500_000


def test_evaluate_warns_when_the_other_class_is_meant(files, model, run):
    code, out, err = run("evaluate", model, files / "test.csv", "--positive", "no", "--json")
    assert code == 0
    assert json.loads(out)["scorers"][0]["auc"] < 0.5
    assert err == "warning: the model ranks yes first, but is now evaluated for no\n"


# ---- show


def test_show_lists_the_largest_weights_by_name(model, good):
    clf = load(model)
    order = np.argsort(-np.abs(clf.coef_[0]))
    report = json.loads(good("show", model, "--json", "--top", 2))
    assert [row["feature"] for row in report["weights"]] == [NAMES[j] for j in order[:2]]
    assert [row["weight"] for row in report["weights"]] == clf.coef_[0][order[:2]].tolist()
    assert report["settings"]["alpha"] == 1e-3
    assert report["solver"] == "exact"
    assert report["objective"] == clf.objective_
    assert report["optimality"] == clf.optimality_
    assert (report["positive"], report["negative"], report["target"]) == ("yes", "no", "ill")
    assert report["features"] == 3
    assert report["versions"]["sklearn"]
    text = good("show", model, "--top", 2)
    assert NAMES[order[0]] in text
    assert "and 1 smaller one" in text


def root_mean_squared_differences(X):
    return np.sqrt(np.mean((X[:, None] - X) ** 2, axis=(0, 1)))


def test_show_by_effect(files, model, good, bad):
    X, y = made(120, 0)
    effect = load(model).coef_[0] * root_mean_squared_differences(X)
    order = np.argsort(-np.abs(effect))
    report = json.loads(good("show", model, "--json", "--by", "effect"))
    assert [row["feature"] for row in report["weights"]] == [NAMES[j] for j in order]
    assert [row["effect"] for row in report["weights"]] == pytest.approx(effect[order].tolist())
    streamed = AUCClassifier(solver="spam").partial_fit(X, y)
    save(streamed, files / "v")
    assert "needs the spread of each feature" in bad("show", files / "v", "--by", "effect")


@pytest.mark.parametrize(
    "fitted",
    [
        *(AUCClassifier(solver=name, loss=loss_of(kind)) for name, kind in SOLVERS.items()),
        *(HingeClassifier(solver=name, l1_ratio=0) for name in ACCURACY_SOLVERS),
        AUCClassifier(solver=solvers.Exact(covariance="diagonal")),
        AUCClassifier(solver=solvers.Exact(covariance="frequent_directions", rank=2)),
        AUCClassifier(solver=solvers.OPAUC(covariance="gaussian", rank=2)),
        AUCClassifierCV(cv=2, losses=("square",)),
        make_pipeline(StandardScaler(with_mean=False), AUCClassifier()),
    ],
    ids=str,
)
def test_every_solver_has_effects(fitted, files, good):
    X, y = made(120, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, y)
    save(fitted, files / "any")
    linear = fitted[-1] if hasattr(fitted, "steps") else fitted
    seen = fitted[:-1].transform(X) if hasattr(fitted, "steps") else X
    effect = linear.coef_[0] * root_mean_squared_differences(seen)
    report = json.loads(good("show", files / "any", "--json", "--by", "effect"))
    shown = {row["feature"]: row["effect"] for row in report["weights"]}
    assert [shown[name] for name in ("1", "2", "3")] == pytest.approx(effect.tolist(), rel=1e-6)
    assert np.all(np.diff(np.abs([row["effect"] for row in report["weights"]])) <= 0)


def test_effects_of_models_from_moments_and_streams(files, good):
    X, y = made(120, 0)
    expected = AUCClassifier().fit(X, y).spread_
    for model in (
        AUCClassifier().fit_moments(ClassMoments.from_data(X, y)),
        AUCClassifier().partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:]),
    ):
        assert model.spread_ == pytest.approx(expected)
        save(model, files / "any")
        assert "effect" in good("show", files / "any", "--by", "effect")


def test_show_numbers_the_features_of_svmlight_from_one(svm_model, good):
    report = json.loads(good("show", svm_model, "--json"))
    assert sorted(row["feature"] for row in report["weights"]) == ["1", "2", "3"]
    assert report["target"] is None


# ---- datasets


def test_datasets_are_listed(good, monkeypatch, tmp_path):
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    rows = {row["name"]: row for row in json.loads(good("datasets", "--json"))}
    assert rows["a9a"]["features"] == 123
    assert rows["a9a"]["rows"] == 48842
    assert not rows["a9a"]["found"]
    text = good("datasets")
    assert "a9a" in text
    assert "AUCMAX_DATA" in text


def test_a_data_set_in_detail(good, bad, monkeypatch, tmp_path):
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    assert "not found" in good("datasets", "fourclass")
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [555, 307])
    dump_svmlight_file(rng.random((862, 2)), y, str(tmp_path / "fourclass_scale"), zero_based=False)
    report = json.loads(good("datasets", "fourclass", "--json"))
    assert report["labels"] == {"-1": 555, "1": 307}
    assert report["positive_share"] == pytest.approx(307 / 862)
    assert report["verified"] is False
    assert "35.6%" in good("datasets", "fourclass")
    assert str(tmp_path) in good("datasets").replace("\n", "").replace(" ", "")
    assert "no data set named 'fourclas'" in bad("datasets", "fourclas")


# ---- bad input


def test_files_that_cannot_be_read(files, bad):
    (files / "bad.svm").write_text("1 1:0.5\n0 2:1\n1 2:x\n")
    message = bad("train", files / "bad.svm", "-o", files / "m")
    assert "bad.svm, line 3" in message
    (files / "bad.csv").write_text("a,b,label\n1,2,yes\n3,,no\n")
    message = bad("train", files / "bad.csv", "-o", files / "m", "--no-prepare")
    assert "bad.csv, line 3: column 'b' has a missing value" in message
    (files / "empty.csv").write_text("")
    assert "empty" in bad("train", files / "empty.csv", "-o", files / "m")
    assert "no such file" in bad("train", files / "none.csv", "-o", files / "m")
    message = bad("train", files / "train.csv", "-o", files / "m")
    assert "--target" in message
    message = bad("train", files / "train.svm", "-o", files / "m", "--target", "x")
    assert "svmlight" in message
    assert not (files / "m").exists()


def test_settings_that_cannot_be(files, bad):
    train = ("train", files / "train.svm", "-o", files / "m")
    assert "error: --alpha must be a number" in bad(*train, "--alpha", -1)
    assert "'--alpha'" in bad(*train, "--alpha", "much")
    message = bad(*train, "--solver", "exactly")
    assert "error: --solver must be one of 'auto', 'exact'" in message
    assert message.endswith("'univariate'; got 'exactly'.\n")
    assert "coordinate_descent" in bad(*train, "--solver", "exact", "--l1-ratio", 1)
    assert "--loss must be one of" in bad(*train, "--loss", "huge")
    assert "with --output" in bad("train", "-")
    assert "No such option" in bad(*train, "--alfa", 1)
    message = bad(*train, "--format", "sql")
    assert message.startswith("error: Invalid value for '--format': 'sql' is not one of ")
    assert "onnx, sql " in bad("export", files / "train.svm")
    assert "No such command 'trian'" in bad("trian")
    assert "there is no folder" in bad("train", files / "train.svm", "-o", files / "no" / "m")
    assert "this is a folder" in bad("train", files / "train.svm", "-o", files)
    assert not (files / "m").exists()


def test_labels_that_cannot_be(files, model, bad):
    X, y = made(60, 2)
    one = write_csv(files / "one.csv", X, ["no"] * 60)
    assert "all rows have the label no" in bad("train", one, "-o", files / "m", "--target", "ill")
    assert "no label 'yes'" in bad("evaluate", model, one)
    only = write_csv(files / "only.csv", X, ["yes"] * 60)
    assert "all rows have the label yes" in bad("evaluate", model, only)
    train = ("train", files / "train.csv", "-o", files / "m", "--target", "ill")
    assert "no label 'maybe'; the labels are no, yes" in bad(*train, "--positive", "maybe")
    other = write_csv(files / "other.csv", X, np.array(["never", "yes"])[y])
    message = bad("evaluate", model, other)
    assert "the label never is not one of the model's (no and yes)" in message


def test_files_that_do_not_fit_the_model(files, model, svm_model, bad):
    (files / "wide.svm").write_text("1 1:1\n0 9:1\n")
    message = bad("score", svm_model, files / "wide.svm")
    assert "wide.svm, line 2: the feature index is 9; at most 3 is expected" in message
    short = write_csv(files / "short.csv", np.ones((2, 2)), ["a", "b"], names=NAMES[:2])
    assert "missing: age" in bad("score", model, short)
    assert "svmlight text has no column names" in bad("score", model, files / "test.svm")


def test_models_that_cannot_be_read(files, model, bad):
    whole = model.read_bytes()
    (files / "cut").write_bytes(whole[:3000])
    assert "cut short" in bad("score", files / "cut", files / "test.csv")
    (files / "flipped").write_bytes(whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:])
    assert "damaged" in bad("show", files / "flipped")
    assert "not an aucmax model file" in bad("evaluate", files / "test.csv", model)
    assert "cannot be read" in bad("show", files / "none")
    from sklearn.preprocessing import StandardScaler

    save(StandardScaler().fit(made(120, 0)[0]), files / "scaler")
    assert "does not score two classes" in bad("score", files / "scaler", files / "test.csv")


def test_measures_that_cannot_be(files, model, bad):
    evaluate = ("evaluate", model, files / "test.csv")
    assert "--k must be from 1" in bad(*evaluate, "--k", 0)
    assert "error: --fpr must be" in bad(*evaluate, "--fpr", 2)
    assert "error: --confidence must be" in bad(*evaluate, "--confidence", 1)
    assert ".png, .svg or .pdf" in bad(*evaluate, "--plot", files / "roc.jpg")
    assert "there is no folder" in bad(*evaluate, "--plot", files / "no" / "roc.png")


# ---- the program


@pytest.mark.parametrize("command", ["demo", "train", "score", "evaluate", "show", "datasets"])
def test_help_has_an_example(command, good):
    out = good(command, "--help")
    assert f"aucmax {command}" in out.split("Example")[1]
    assert "--json" in out


def test_without_a_command_it_says_what_there_is(good):
    assert "evaluate" in good()
    assert good("--version").startswith("aucmax ")


def test_typer_can_run_it_too(files):
    result = CliRunner().invoke(app, ["show", str(files / "none")])
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_the_program_as_a_process(files):
    done = subprocess.run(
        [sys.executable, "-m", "aucmax", "train", files / "none.csv"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_a_terminal_that_cannot_show_every_character(files, model, monkeypatch):
    shown = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", shown)
    with pytest.raises(SystemExit) as end:
        main(["evaluate", str(model), str(files / "test.csv")])
    assert end.value.code == 0
    shown.flush()
    assert b"recall at FPR ? 0.05" in shown.buffer.getvalue()


# ---- numbers as text


def test_numbers_say_neither_more_nor_less():
    assert auc_text(0.5) == "0.5000"
    assert auc_text(1.0) == "1.0000"
    assert auc_text(0.99999) == "0.99999"
    assert auc_text(1 - 3e-7) == "0.9999997"
    assert auc_text(2e-6) == "0.000002"
    assert interval_text(0.25, 0.75) == "0.2500 to 0.7500"
    assert interval_text(0.99999, 1.0) == "0.99999 to 1.00000"
    assert interval_text(0.90001, 0.90002) == "0.90001 to 0.90002"
    assert p_text(0.301) == "0.30"
    assert p_text(0.0512) == "0.051"
    assert p_text(1.24e-9) == "1.2e-09"
    assert p_text(0.0) == p_text(1e-40) == "< 1e-16"
    assert (p_words(0.0), p_words(0.2)) == ("p < 1e-16", "p = 0.20")


def test_a_difference_is_written_so_that_its_sign_shows():
    assert difference_text(0.0123, -0.002, 0.0266) == ("+0.0123", "-0.0020 to +0.0266")
    assert difference_text(0.0028, -3e-5, 0.0056) == ("+0.00280", "-0.00003 to +0.00560")
    assert difference_text(3e-5, 1e-5, 5e-5) == ("+0.000030", "+0.000010 to +0.000050")
    assert difference_text(-0.2, -0.3, -4e-6) == ("-0.2000000", "-0.3000000 to -0.0000040")
    assert difference_text(-0.2, -0.4, 3e-9) == ("-0.2000", "-0.4000 to +0.0000")  # a tie
    assert difference_text(0.0, 0.0, 0.0) == ("+0.0000", "+0.0000 to +0.0000")
    assert difference_text(-1e-17, -2e-16, 2e-16)[0] == "+0.0000"


# ---- the rival


def test_the_rival_is_what_a_grid_search_finds():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = made(200, 5)
    rival = BalancedLogisticRegression(cv=4, random_state=0).fit(X, y)
    pipeline = Pipeline(
        [
            ("scale", StandardScaler()),
            ("fit", LogisticRegression(class_weight="balanced", tol=1e-8)),
        ]
    )
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    grid = {"fit__C": np.logspace(-4, 4, 9)}
    search = GridSearchCV(pipeline, grid, scoring="roc_auc", cv=folds).fit(X, y)
    assert rival.cv_auc_ >= search.best_score_ - 1e-6
    assert rival.n_settings_ == 18
    assert set(rival.predict(X)) == {0, 1}


def test_the_rival_takes_sparse_and_wide_rows():
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = sp.random(60, 600, density=0.05, random_state=0, format="csr") + sp.csr_matrix(
        np.outer(y, rng.random(600) < 0.02)
    )
    rival = BalancedLogisticRegression(grid=[0.1, 1.0], cv=3, random_state=0).fit(X, y)
    assert not rival.standardized_
    assert metrics.roc_auc(y, rival.decision_function(X)) > 0.9
    with pytest.raises(ValueError, match="two classes of at least two rows"):
        BalancedLogisticRegression().fit(X, [1] + [0] * 59)


# of each command the paths that it writes, which follow the words, then those that it reads
PATHS = {
    "train": (["x.csv"], ["-o"], ["DATA"]),
    "cv": (["x.csv"], ["-o", "--html"], ["DATA"]),
    "score": (["x.model", "x.csv"], ["-o"], ["FILE", "MODEL"]),
    "evaluate": (
        ["x.model", "x.csv", "y.model", "--logistic", "y.csv"],
        ["--plot", "--html"],
        ["FILE", "MODEL", "OTHER", "--logistic"],
    ),
    "compare": (["x.csv"], ["--html"], ["DATA"]),
    "export": (
        ["x.model", "--to", "onnx", "--float32", "--rows", "x.csv"],
        ["-o"],
        ["MODEL", "--rows"],
    ),
    "scorecard": (["x.csv", "--against", "y.csv"], ["-o", "--html"], ["DATA", "--against"]),
    "moments build": (
        ["x.csv", "y.csv", "--like", "x.model", "--bounds-file", "b.csv"],
        ["-o"],
        ["DATA y.csv", "--like", "--bounds-file"],
    ),
    "moments merge": (["x.sum", "y.sum"], ["-o"], ["MOMENTS y.sum"]),
    "moments subtract": (["x.sum", "y.sum"], ["-o"], ["TOTAL", "PART"]),
    "moments fit": (
        ["x.sum", "y.sum", "--like", "x.model"],
        ["-o"],
        ["MOMENTS x.sum", "MOMENTS y.sum", "--like"],
    ),
    "stream": (
        ["x.csv", "--like", "x.model"],
        ["--state", "--monitor", "--predictions", "-o", "--html"],
        ["FILE", "--like"],
    ),
}
READ = {
    "DATA": "x.csv", "DATA y.csv": "y.csv", "FILE": "x.csv", "MODEL": "x.model",
    "OTHER": "y.model", "--logistic": "y.csv", "--rows": "x.csv", "--against": "y.csv",
    "--like": "x.model", "--bounds-file": "b.csv", "MOMENTS x.sum": "x.sum",
    "MOMENTS y.sum": "y.sum", "TOTAL": "x.sum", "PART": "y.sum",
}  # fmt: skip
LONG = {name: "--out" if name.startswith("moments") else "--output" for name in PATHS}


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in set(READ.values()):
        Path(name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("command", PATHS)
def test_two_paths_of_a_command_are_never_one_file(command, inputs, bad):
    words, outputs, read = PATHS[command]
    if command == "scorecard":  # which must have an output
        words = [*words, "-o", "unused.card"]
    for flag, other in itertools.combinations(outputs, 2):
        message = bad(*command.split(), *words, flag, "out.html", other, inputs / "out.html")
        names = [LONG[command] if name == "-o" else name for name in (flag, other)]
        assert all(name in message for name in ("out.html: is the file of both ", *names))
        assert not Path("out.html").exists()
    for flag, name in itertools.product(outputs, read):
        if flag == "--html":
            os.link(READ[name], "linked.html")
        out = "linked.html" if flag == "--html" else READ[name]
        message = bad(*command.split(), *words, flag, out)
        told = f"is the file of both {LONG[command] if flag == '-o' else flag} and {name}, and one"
        assert f"error: {out}: {told} would overwrite the other; name two files." in message
        assert Path(READ[name]).read_text() == READ[name]
        Path("linked.html").unlink(missing_ok=True)


def test_one_file_is_told_by_links_and_in_folders_that_ignore_case(inputs):
    folder = inputs / "Folder"
    folder.mkdir()
    Path("hard").hardlink_to("x.csv")
    Path("soft").symlink_to("y.csv")
    Path("open").symlink_to("folder-to-come")
    for one, other in (
        ("hard", "x.csv"),
        ("soft", inputs / "y.csv"),
        ("new", "Folder/../new"),
        ("open", "folder-to-come"),
    ):
        with pytest.raises(ValueError, match="is the file of both --a and --b"):
            check_paths({"--a": Path(one), "--b": Path(other)})
    upper = {"--a": folder / "NEW", "--b": folder / "new"}
    if not (inputs / "FOLDER").exists():
        check_paths(upper)
        (inputs / "fOLDER").symlink_to(folder)  # as where names that differ in case are one
    with pytest.raises(ValueError, match="is the file of both --a and --b"):
        check_paths(upper)
    check_paths(dict.fromkeys(("--a", "--b"), Path(os.devnull)))
    check_paths({"--a": Path("a9a")}, {"DATA": "a9a"})  # a name, not a file


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no name for standard input")
def test_a_redirected_file_is_the_file_of_standard_input(inputs, bad):
    before = os.dup(0)
    try:
        with Path("x.csv").open("rb") as redirected:
            os.dup2(redirected.fileno(), 0)
        for words, flag in (
            (["score", "m.aucmax", "-", "-o", "x.csv"], "--output and FILE"),
            (["stream", "-", "--predictions", "x.csv"], "--predictions and FILE"),
            (["train", "-", "-o", "x.csv"], "--output and DATA"),
        ):
            assert f"x.csv: is the file of both {flag}" in bad(*words)
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_the_lock_of_a_state_takes_no_results(inputs, bad):
    Path("link").symlink_to("a.state")
    for flag in ("--output", "--monitor", "--predictions"):
        message = bad("stream", "x.csv", "--state", "link", flag, "a.state.lock")
        assert f"is the file of both {flag} and the lock of --state" in message
    assert "this is a folder" in bad("stream", "x.csv", "--state", "/")


# ---- the words of messages


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("leave it out (drop=['a b'])", "leave it out (--drop 'a b')"),
        ("or let missing=True do so, or text=['a']", "or let --impute do so, or --one-hot"),
        (r"""take each (categories=["it's", 'b\\c'])""", """--category 'it'"'"'s' --category 'b"""),
        ("so target= does not apply", "so --target does not apply"),
        ("read larger parts (part_bytes=…)", "(--memory …)"),
        ("within=0.3 is for --loss square", "--within 0.3 is for --loss square"),
        (
            "l1_ratio=0.5 and max_fpr=None, coef_bounds=None",
            "--l1-ratio 0.5 and max_fpr=None, coef",
        ),
        ("column 'drop=3' of time=3/x.csv, read(drop=1)", "column 'drop=3' of "),
        ("Spam(text=1), alphas=1", "Spam(text=1), alphas=1"),
        ("alpha must be a number; got -1.", "--alpha must be a number; got -1."),
        ("a.csv: each of within, unless it is 'pooled', must be", "a.csv: each of --within, unl"),
        ("the weight must be positive", "the weight must be positive"),
        ("parameter: text must be whole", "parameter: --one-hot must be whole"),
    ],
)
def test_arguments_become_options(said, told):
    assert told in in_options(said, ["train", "x.csv"])
    assert in_options("loss='hinge' with max_fpr=None", ["-h", "cv"]) == (
        "--losses hinge with no --max-fpr"
    )


def test_each_speaks_its_own_words(tmp_path, bad):
    path = tmp_path / "a.csv"
    path.write_text("a,y\nred,0\n,1\nblue,1\nred,0\n")
    for arguments in ({}, {"text": True}):
        with pytest.raises(ValueError, match=r"text=True|missing=True") as error:
            read(path, **arguments)
        assert not re.search(r"--\w", str(error.value))
    assert "--one-hot" in bad("train", path, "-o", tmp_path / "m", "--no-prepare")
