"""``train``, ``cv`` and ``compare`` with ``--strata``, and svmlight text with ``qid`` fields."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, load, metrics, odds_ratios
from aucmax.datasets import read
from aucmax.report.text import auc_text, interval_text

pytestmark = pytest.mark.usefixtures("folds_drawn_once")

N, DAYS = 600, 60
FIXED = ("--alpha", 0.01)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("within")
    rng = np.random.default_rng(1)
    day = np.sort(rng.integers(0, DAYS, N))
    X = rng.normal(size=(N, 2)).round(3)
    level = 2 * rng.normal(size=DAYS)[day]
    y = rng.random(N) < 1 / (1 + np.exp(1 - X @ [1.5, -1] - level))
    y[day == 0] = False
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(day=day, label=np.where(y, "yes", "no"))
    rows.to_csv(where / "rows.csv", index=False)
    lines = [f"{int(of)} qid:{own} 1:{a} 2:{b}" for of, own, (a, b) in zip(y, day, X, strict=True)]
    (where / "rows.svm").write_text("\n".join(lines) + "\n")
    return where, X, y, day


def trained(good, folder, output, *options, file="rows.csv"):
    report = good("train", folder[0] / file, *options, "-o", output, "--json")
    return json.loads(report), load(output)


@pytest.mark.parametrize("weighting", ["positives", "pairs", "strata"])
def test_fixed_settings_are_fitted_and_measured_within_strata(folder, tmp_path, good, weighting):
    _, X, y, day = folder
    options = ("--strata", "day", "--strata-weight", weighting, *FIXED)
    report, model = trained(good, folder, tmp_path / "m.aucmax", *options)
    expected = AUCClassifier(0.01, strata_weight=weighting).fit(X, y, strata=day)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == ["a", "b"]
    area = metrics.stratified_auc(y, expected.decision_function(X), day, strata_weight=weighting)
    assert report["training_auc"] == pytest.approx(area._asdict())
    assert report["strata"] == "day"
    within = report["within_strata"]
    assert (within["count"], within["weighting"]) == (len(np.unique(day)), weighting)
    assert within["of_one_class"] == (pd.Series(y).groupby(day).nunique() == 1).sum()
    text = good("show", tmp_path / "m.aucmax")
    assert f"day: {within['count']} strata, weighted by" in text
    assert model.strata_.column == within["column"] == "day"


def test_tuning_is_within_strata_for_every_shape(folder, tmp_path, good):
    report, model = trained(good, folder, tmp_path / "t.aucmax", "--strata", "day")
    assert report["shape"] == "line"
    assert [*report["held_out_auc_of_shapes"]][:2] == ["line", "curves"]
    assert "strata kept whole" in report["folding"]
    assert not hasattr(model, "steps")
    text = good("train", folder[0] / "rows.csv", "--strata", "day", "-o", tmp_path / "t.aucmax")
    assert text.count("within strata  (95 % interval") == 2
    assert "line  (held-out AUC within strata: line " in text
    assert all(len(line) <= 80 for line in text.splitlines() if "/" not in line)


@pytest.mark.usefixtures("undrawn")
def test_curves_within_strata_are_trained_shown_and_explained(folder, tmp_path, good):
    _, X, y, day = folder
    path, page = tmp_path / "c.aucmax", tmp_path / "e.html"
    options = ("--strata", "day", "--strata-weight", "pairs", "--shape", "curves")
    report, model = trained(good, folder, path, *options, "--monotone", "a=increasing")
    assert (report["shape"], report["strata"]) == ("curves", "day")
    assert report["within_strata"]["weighting"] == "pairs"
    assert "odds_ratios" not in report
    rows = pd.DataFrame(X, columns=["a", "b"])
    area = metrics.stratified_auc(y, model.decision_function(rows), day, strata_weight="pairs")
    assert report["training_auc"] == pytest.approx(area._asdict())
    grid = pd.DataFrame({"a": np.linspace(-4, 4, 99), "b": 0.0})
    assert (np.diff(model.decision_function(grid)) > -1e-9).all()
    assert "strata, weighted by their pairs" in good("show", path)
    good("evaluate", path, folder[0] / "rows.csv", "--strata", "day", "--html", page)
    assert "of these rows within strata" in page.read_text(encoding="utf-8")
    report, _ = trained(good, folder, path, *options[:2], *options[4:], "--loss", "logistic")
    assert report["within_strata"]["exact"] > 0
    assert "odds_ratios" not in report


@pytest.mark.usefixtures("undrawn")
def test_odds_ratios_of_conditional_logistic_regression(folder, tmp_path, good):
    _, X, y, day = folder
    options = ("--strata", "day", "--loss", "logistic", "--alpha", 0, "--tol", 1e-10)
    report, model = trained(good, folder, tmp_path / "l.aucmax", *options)
    table = odds_ratios(model, X, np.where(y, "yes", "no"), day)
    assert [line["feature"] for line in report["odds_ratios"]] == ["a", "b"]
    for name in ("odds_ratio", "low", "high", "p_value"):
        values = [line[name] for line in report["odds_ratios"]]
        np.testing.assert_allclose(values, getattr(table, name), rtol=1e-6)
    page = tmp_path / "cv.html"
    command = ("cv", folder[0] / "rows.csv", "--strata", "day", "--losses", "logistic")
    text = good(*command, "--alphas", 0.001, "--standardize", 1, "--html", page)
    assert "The penalty shrinks them towards 1" in text
    assert "Odds ratios" in page.read_text(encoding="utf-8")


def test_compare_judges_within_strata(folder, good):
    command = ("compare", folder[0] / "rows.csv", "--strata", "day", "--splits", 1)
    options = ("--solvers", "exact,spam,least_squares", "--alpha", 0.01)
    report = json.loads(good(*command, *options, "--json"))
    exact, spam, rival = report["solvers"]
    assert report["test"] == "the paired test of the AUC within strata"
    assert exact["optimality"] < 1e-9
    assert exact["gap"] < 1e-9
    assert "takes no strata" in spam["error"]
    assert rival["status"] == "done"


def test_queries_of_svmlight_text_are_strata(folder, tmp_path, good):
    where, X, y, day = folder
    rows = read(where / "rows.svm")
    np.testing.assert_array_equal(rows.strata, day)
    np.testing.assert_allclose(rows.data.toarray(), X)
    report, model = trained(good, folder, tmp_path / "q.aucmax", *FIXED, file="rows.svm")
    expected = AUCClassifier(0.01).fit(X, y, strata=day)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert report["strata"] == "qid"
    found = json.loads(good("evaluate", tmp_path / "q.aucmax", where / "rows.svm", "--json"))
    area = metrics.stratified_auc(y, expected.decision_function(X), day).auc
    assert found["stratified"]["scorers"][0]["auc"] == pytest.approx(area)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("asked", [None, "strata"])
def test_the_auc_within_strata_comes_first(folder, tmp_path, good, asked):
    """Weighed as in the fit unless asked otherwise; that over all rows stands beside it."""
    where, X, y, day = folder
    path, plain = tmp_path / "m.aucmax", tmp_path / "plain.aucmax"
    options = ("--strata", "day", "--strata-weight", "pairs", *FIXED)
    _, model = trained(good, folder, path, *options)
    trained(good, folder, plain, "--drop", "day", *FIXED)
    scores = model.decision_function(pd.DataFrame(X, columns=["a", "b"]))
    by = {"strata_weight": asked or "pairs"}
    area, over_all = metrics.stratified_auc(y, scores, day, **by), metrics.auc_interval(y, scores)
    more = ("--strata", "day", *(() if asked is None else ("--strata-weight", asked)))
    command = ("evaluate", path, where / "rows.csv", plain, *more)
    report = json.loads(good(*command, "--json"))["stratified"]
    assert (report["weighting"], report["fitted"]) == (asked or "pairs", True)
    first = report["scorers"][0]
    assert {key: first[key] for key in area._fields} == pytest.approx(area._asdict())
    other = load(plain).decision_function(pd.DataFrame(X, columns=["a", "b"]))
    test = metrics.stratified_auc_test(y, scores, other, day, **by)
    assert report["tests"][0]["p_value"] == pytest.approx(test.p_value)
    area_of_plain = report["scorers"][1]["auc"]
    text = " ".join(good(*command, "--html", tmp_path / "e.html").split())
    assert text.index("Within day") < text.index("Results") < text.index("AUC over all rows")
    assert f"each weighted {'by its pairs' if asked is None else 'the same'}; " in text
    page = " ".join((tmp_path / "e.html").read_text(encoding="utf-8").split())
    within, rows = (f"{auc_text(of.auc)} ({interval_text(*of[1:3])})" for of in (area, over_all))
    assert f"AUC within day {within}; AUC {rows} over all rows. Flag the" in page
    assert f"It ties with plain.aucmax (AUC within strata {auc_text(area_of_plain)}, p" in page
    text = " ".join(good("evaluate", plain, where / "rows.csv", *more).split())
    assert text.index("Results") < text.index("AUC over all rows") < text.index("Within day")
    assert "AUC within day" not in text


def test_the_strata_of_the_model_are_those_of_the_evaluation(folder, tmp_path, run, good):
    where, X, _, day = folder
    path, rows = tmp_path / "m.aucmax", where / "rows.csv"
    trained(good, folder, path, "--strata", "day", *FIXED)
    asked = json.loads(good("evaluate", path, rows, "--strata", "day", "--json"))
    code, out, told = run("evaluate", path, rows, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["stratified"] == asked["stratified"]
    assert "AUC within strata of day comes first, as in the model's fit; --drop day leaves" in told
    _, out, told = run("evaluate", path, rows, "--drop", "day", "--json")
    assert "stratified" not in json.loads(out)
    assert "fitted within strata of day, and rows.csv is read without this column" in told
    pd.DataFrame(X, columns=["a", "b"]).assign(
        label=np.where(np.arange(N) % 2, "yes", "no"), day=day
    ).rename(columns={"day": "date"}).to_csv(tmp_path / "other.csv", index=False)
    for options in ((), ("--segments", "date")):
        _, out, told = run("evaluate", path, tmp_path / "other.csv", *options, "--json")
        assert "stratified" not in json.loads(out)
        assert "within strata of day, and other.csv is read without this column" in told
    _, out, told = run("evaluate", path, rows, "--segments", "day", "--json")
    assert "without this column" in told  # it has another role
    good("train", where / "rows.svm", *FIXED, "-o", path)
    _, out, told = run("evaluate", path, where / "rows.svm", "--json")
    assert json.loads(out)["stratified"]["column"] == "qid"
    assert told == ""


def test_dependent_features_have_no_odds_ratios(folder, tmp_path, good):
    rows = pd.read_csv(folder[0] / "rows.csv").assign(c=lambda of: of["a"] + 2 * of["b"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = ("--strata", "day", "--loss", "logistic", "--alpha", 0, "-o", tmp_path / "m.aucmax")
    text = good("train", tmp_path / "rows.csv", *options)
    assert "There are none: features are linearly dependent and have no penalty." in text
    assert "words have a column for each level, which add up to 1" in " ".join(text.split())
    options = (
        "--strata",
        "day",
        "--loss",
        "logistic",
        "--alpha",
        1e-6,
        "-o",
        tmp_path / "m.aucmax",
    )
    text = good("train", tmp_path / "rows.csv", *options)
    assert "odds ratio" in text
    assert "There are none" not in text
    assert "shrinks them" not in text


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """More rows than 1 MB holds, those of a stratum anywhere; with and without words."""
    rng, n = np.random.default_rng(2), 6000
    day = rng.integers(0, 900, n)
    X = rng.normal(size=(n, 2)).round(4)
    colour = rng.choice(["red", "green", "blue"], n)
    score = X @ [1.5, -1] + (colour == "red") + 2 * rng.normal(size=900)[day]
    y = score + rng.logistic(size=n) > 1.5
    table = pd.DataFrame(X, columns=["a", "b"]).assign(
        colour=colour, day=[f"d{k}" for k in day], label=np.where(y, "yes", "no")
    )
    where = tmp_path_factory.mktemp("large")
    table.to_csv(where / "words.csv", index=False)
    table.drop(columns="colour").to_csv(where / "numbers.csv", index=False)
    (where / "parts").mkdir()
    for k in range(3):
        table.iloc[k::3].to_csv(where / "parts" / f"{k}.csv", index=False)
    return where, X, y, day


IN_PARTS = ("--memory", "1MB")


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["words.csv", "numbers.csv", "parts"])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_files_in_parts_are_fitted_as_in_memory(large, tmp_path, run, good, name, loss):
    options = ("--strata", "day", "--loss", loss, "--alpha", 0.001, "--tol", 1e-8)
    command = ("train", large[0] / name, "--target", "label", *options, "--json")
    whole = json.loads(good(*command, "-o", tmp_path / "whole.aucmax"))
    code, out, told = run(*command, "-o", tmp_path / "parts.aucmax", *IN_PARTS)
    report = json.loads(out)
    assert code == 0
    assert "is read in parts" in told
    model, expected = (load(tmp_path / f"{of}.aucmax") for of in ("parts", "whole"))
    last, linear = (of[-1] if hasattr(of, "steps") else of for of in (model, expected))
    np.testing.assert_allclose(last.coef_, linear.coef_, rtol=1e-4, atol=1e-6)
    assert report["within_strata"] == whole["within_strata"]
    assert report["training_auc"] == pytest.approx(whole["training_auc"], abs=1e-4)
    assert ("odds_ratios" in report) == (loss == "logistic")
    for line, other in zip(
        report.get("odds_ratios", ()), whole.get("odds_ratios", ()), strict=True
    ):
        assert line["feature"] == other["feature"]
        assert (line["low"], line["high"]) == pytest.approx((other["low"], other["high"]), rel=1e-3)


def test_files_in_parts_are_tuned_on_whole_strata(large, tmp_path, run):
    def good(*command):
        code, out, told = run(*command, "--json")
        assert code == 0
        assert "is read in parts" in told
        return json.loads(out)

    rows, path = large[0] / "numbers.csv", tmp_path / "m.aucmax"
    command = (rows, "--target", "label", "--strata", "day", *IN_PARTS)
    report = good("train", *command, "--probability", "-o", path)
    assert 100 < report["tuned_on"] < 3000
    assert "strata kept whole" in report["folding"]
    truth = AUCClassifier().fit(*large[1:3], strata=large[3])
    own = load(path).coef_[0]
    assert own @ truth.coef_[0] > 0.99 * np.linalg.norm(own) * np.linalg.norm(truth.coef_)
    judged = good("evaluate", path, rows, *IN_PARTS)
    area = judged["stratified"]["scorers"][0]["auc"]
    assert report["training_auc"]["auc"] == pytest.approx(area)
    assert "probability" in report
    report = good("train", *command, "--shape", "curves", "-o", tmp_path / "c.aucmax")
    assert (report["shape"], report["within_strata"]["column"]) == ("curves", "day")
    assert report["training_auc"]["auc"] == pytest.approx(area, abs=0.01)
    options = ("--losses", "square", "--alphas", 0.001, "--standardize", 1)
    searched = good("cv", *command, *options)
    whole = json.loads(run("cv", *command[:-2], *options, "--json")[1])
    assert searched["auc"] == pytest.approx(whole["auc"])


@pytest.mark.usefixtures("undrawn")
def test_a_model_within_strata_scores_is_explained_and_becomes_sql(folder, tmp_path, good, run):
    where, X, _, _ = folder
    path = tmp_path / "m.aucmax"
    _, model = trained(good, folder, path, "--strata", "day", *FIXED)
    assert run("score", path, where / "rows.csv", "-o", tmp_path / "s.csv")[0] == 0
    scores = pd.read_csv(tmp_path / "s.csv").score
    np.testing.assert_allclose(scores, model.decision_function(pd.DataFrame(X, columns=["a", "b"])))
    assert '"a"' in good("export", path, "--to", "sql")
    page = tmp_path / "e.html"
    command = ("evaluate", path, where / "rows.csv", "--html", page)
    good(*command, "--strata", "day")
    assert "of these rows within strata" in page.read_text(encoding="utf-8")
    good(*command, "--strata", "day")
    assert run(*command, "--drop", "day")[0] == 0
    assert "the model compares rows within strata" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--solver", "spam"), "'spam' learns from one row after another and takes no strata"),
        (("--one-pass",), "name it with --positive LABEL"),
        (("--loss", "logistic", "--strata-weight", "pairs"), "is for losses of pairs"),
    ],
)
def test_what_takes_no_strata(folder, bad, options, message):
    assert message in bad("train", folder[0] / "rows.csv", "--strata", "day", *options)


@pytest.mark.parametrize("file", ["rows.csv", "rows.svm"])
def test_one_pass_is_the_fit_to_strata_one_after_another(folder, tmp_path, good, bad, file):
    where, X, y, day = folder
    options = ("--one-pass", "--strata-weight", "strata", *FIXED)
    options += ("--strata", "day", "--positive", "yes") if file == "rows.csv" else ()
    report, model = trained(good, folder, tmp_path / "m.aucmax", *options, file=file)
    expected = AUCClassifier(0.01, strata_weight="strata").fit(X, y, strata=day)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    assert report["within_strata"]["column"] == ("day" if file == "rows.csv" else "qid")
    # the first rows of svmlight text, which tell of strata and features, are no pass
    assert [each["passes"] for each in report["read"]] == [1]
    lines = (where / file).read_text().splitlines(keepends=True)
    again = tmp_path / file
    again.write_text("".join([*lines, lines[5 - N]]))
    message = bad("train", again, *options)
    assert f"row {N + 1}: the stratum {day[5]} came before" in message


def test_weights_of_strata_that_are_not_there(folder, tmp_path, good, bad):
    rows, model = folder[0] / "rows.csv", tmp_path / "m.aucmax"
    good("train", rows, *FIXED, "-o", model)
    for command in (("train", rows), ("train", rows, "--one-pass"), ("evaluate", model, rows)):
        assert "--strata-weight: there are no strata" in bad(*command, "--strata-weight", "pairs")
