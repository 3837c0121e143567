"""A model of curves and maps, fitted in Python and saved, serves every command."""

import csv
import io
import json
import re

import duckdb
import numpy as np
import onnx
import pandas as pd
import pytest

from aucmax import AdditiveAUCClassifier, load, metrics, save
from exported import run_onnx


def table(seed, n=600):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.normal(50, 10, n).round(2),
        "dose": rng.normal(size=n).round(4),
        "vip": rng.random(n) < 0.3,
        "city": rng.choice(["Bonn", "Ulm"], n).astype(object),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
    })  # fmt: skip
    score = (frame.age - 50) / 10 * frame.dose + frame.vip + rng.normal(size=n)
    frame.loc[::9, "dose"] = np.nan
    return frame.assign(outcome=np.where(score > 1.5, "sick", "well"))


def train():
    frame = table(0)
    return frame.drop(columns="outcome"), frame.outcome


@pytest.fixture(scope="module")
def rows():
    """New rows; a word is new, and age has a gap, too."""
    frame = table(1)
    frame.loc[3, "city"] = "Rome"
    frame.loc[4, ["age", "city"]] = [np.nan, None]
    return frame


@pytest.fixture(scope="module")
def model():
    pairs = [("age", "dose"), ("city", "vip"), ("day", "city")]
    settings = {"alphas": [0.01], "cv": 3, "positive": "sick", "probability": "sigmoid"}
    return AdditiveAUCClassifier(pairs, **settings).fit(*train())


@pytest.fixture
def files(model, rows, tmp_path):
    save(model, tmp_path / "m")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "m", tmp_path / "rows.csv"


def test_a_file_holds_the_model_and_its_tuning(model, rows, files):
    loaded = load(files[0])
    assert loaded.get_params() == model.get_params()
    assert loaded.interactions_ == model.interactions_
    assert np.array_equal(loaded.auc_path_, model.auc_path_, equal_nan=True)
    assert loaded.best_interval_ == model.best_interval_
    assert np.array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


def test_score(model, rows, files, good):
    out = good("score", *files, "--probability")
    scored = [*csv.DictReader(io.StringIO(out))]
    found = np.array([[float(row[name]) for name in ("score", "probability")] for row in scored])
    wanted = [model.decision_function(rows), model.predict_proba(rows)[:, 1]]
    np.testing.assert_allclose(found.T, wanted, rtol=1e-12, atol=1e-14)


def test_evaluate_beside_another(model, rows, files, good):
    other = files[0].with_name("curves")
    save(AdditiveAUCClassifier(0, alphas=[0.01], cv=3, positive="sick").fit(*train()), other)
    report = json.loads(good("evaluate", *files, other, "--target", "outcome", "--json"))
    for scorer, each in zip(report["scorers"], (model, load(other)), strict=True):
        auc = metrics.roc_auc(rows.outcome == "sick", each.decision_function(rows))
        assert scorer["auc"] == pytest.approx(auc, abs=1e-12)
    assert report["tests"][0]["verdict"] == "better"


def test_export(model, rows, files, run, tmp_path):
    wanted, chance = model.decision_function(rows), model.predict_proba(rows)[:, 1]
    for options, of_rows in (((), wanted), (("--probability",), chance)):
        code, sql, err = run("export", files[0], "--to", "sql", *options)
        assert code == 0, err
        with duckdb.connect() as database:
            database.sql(f"CREATE TABLE given AS FROM '{files[1]}'")
            found = database.sql(f"SELECT {sql} AS score FROM given").fetchnumpy()["score"]
        np.testing.assert_allclose(found, of_rows, rtol=0, atol=1e-9 * np.abs(wanted).max())
    code, _, err = run("export", files[0], "--to", "onnx", "-o", tmp_path / "m.onnx")
    assert code == 0, err
    days = (rows.day - pd.Timestamp(0)) / pd.Timedelta("1D")
    found = run_onnx(onnx.load(tmp_path / "m.onnx"), rows.assign(day=days))[0]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_show(model, files, good):
    shown = json.loads(good("show", files[0], "--json", "--top", 3))
    assert (shown["type"], shown["positive"]) == ("AdditiveAUCClassifier", "sick")
    settings = shown["settings"]
    alphas = dict(zip(("lines", "curves", "maps"), model.alphas_.tolist(), strict=True))
    assert (settings["shape"], settings["alpha"]) == (model.shape_, alphas)
    assert "standardize" not in settings  # of the line behind, whose features are scaled
    assert settings["interactions"] == ["age × dose", "vip × city", "city × day"]
    ranges = [term["range"] for term in shown["terms"]]
    assert (shown["terms"][0]["term"], ranges) == ("age × dose", sorted(ranges, reverse=True))
    assert (len(ranges), shown["weights"]) == (3, [])


def test_ranges_are_those_of_the_scores_along_a_column(tmp_path, good):
    X, y = train()
    curves = AdditiveAUCClassifier(0, alphas=[0.01], cv=3, shape="curves", n_knots=9).fit(X, y)
    save(curves, tmp_path / "curves")
    shown = json.loads(good("show", tmp_path / "curves", "--json"))
    ranges = {term["term"]: term["range"] for term in shown["terms"]}
    dose = curves.best_estimator_[0].axes_[1]
    for name, values in {"dose": dose.knots, "city": ["Bonn", "Ulm"]}.items():
        rows = X.iloc[np.zeros(len(values), dtype=int)]
        scores = curves.decision_function(rows.assign(**{name: values}))
        assert ranges[name] == pytest.approx(np.ptp(scores), rel=1e-9)


def test_probabilities_need_their_setting(files, run):
    settings = {"alphas": [0.01], "cv": 3, "positive": "sick"}
    save(AdditiveAUCClassifier(0, **settings).fit(*train()), files[0])
    code, _, err = run("score", *files, "--probability")
    assert code == 2
    assert "has scores but no probabilities; train it with --probability" in err


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_file_in_parts(files, tmp_path, run):
    """Some rows stand for all: with words, gaps and dates, from every part."""
    large = tmp_path / "large.csv"
    table(2, n=15_000).to_csv(large, index=False)
    command, pages = (str(files[0]), str(large), "--target", "outcome"), []
    for more in ((), ("--memory", "1MB")):
        code, _, error = run("evaluate", *command, *more, "--html", str(tmp_path / "page.html"))
        assert code == 0, error
        pages.append((tmp_path / "page.html").read_text(encoding="utf-8"))
    whole, parts = pages
    assert "Measured on" in parts
    assert "Measured on" not in whole
    assert "age × dose" in parts
    why = [re.findall(r'class="word">([\d,]+)</th>\s*<td>([^<]+)</td>', page) for page in pages]
    assert len(why[0]) == 10
    assert why[0] == why[1]  # the rows of the highest scores, and these
