"""``aucmax train --shape``: lines, curves and maps of pairs."""

import json

import numpy as np
import pandas as pd
import pytest

from aucmax import load, metrics
from aucmax.estimators.additive_search import SHAPES


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables in which two columns act together, one bends, and all are lines."""
    folder = tmp_path_factory.mktemp("shape")
    rng = np.random.default_rng(0)
    n = 1200
    table = pd.DataFrame({
        "age": rng.normal(50, 10, n).round(1), "dose": rng.normal(size=n).round(3),
        "city": rng.choice(["Bonn", "Ulm"], n),
    })  # fmt: skip
    table.loc[::9, "dose"] = np.nan
    age, dose, noise = (table.age - 50) / 10, table.dose.fillna(0.0), rng.normal(size=n)
    scores = {"pair": 2 * age * dose + noise, "curve": age**2 + dose + noise, "line": age + noise}
    for name, score in scores.items():
        sick = np.where(score > np.quantile(score, 0.8), "yes", "no")
        table.assign(sick=sick).to_csv(folder / f"{name}.csv", index=False)
    return folder


def trained(run, folder, name, *options):
    code, out, error = run(
        "train", str(folder / f"{name}.csv"), "--target", "sick", "--json",
        "-o", str(folder / "model"), *options,
    )  # fmt: skip
    assert code == 0, error
    return json.loads(out)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("pair", ["interactions"]), ("curve", ["curves", "interactions"]), ("line", SHAPES)],
)
def test_the_folds_choose_the_shape(run, folder, name, shapes):
    report = trained(run, folder, name)
    held_out, shape = report["held_out_auc_of_shapes"], report["shape"]
    assert shape in shapes
    if name != "pair":  # of maps that gain little, one in some tables is chosen by chance
        assert held_out.get("interactions", 0.0) < held_out["curves"] + 0.01
        assert (held_out["curves"] > held_out["line"] + 0.05) == (name == "curve")
    assert held_out.keys() >= {"line", "curves"}
    assert report["held_out_auc"] == pytest.approx(held_out[shape], abs=1e-3)
    if name == "pair":
        assert "age × dose" in report["interactions"]
        assert held_out["interactions"] > held_out["curves"] + 0.05
    table = pd.read_csv(folder / f"{name}.csv")
    score = load(folder / "model").decision_function(table.drop(columns="sick"))
    assert metrics.roc_auc(table.sick == "yes", score) == pytest.approx(
        report["training_auc"]["auc"]
    )
    code, _, error = run("score", str(folder / "model"), str(folder / f"{name}.csv"))
    assert code == 0, error


def test_a_shape_that_is_asked_for(run, folder):
    assert trained(run, folder, "pair", "--shape", "curves")["shape"] == "curves"
    assert "shape" not in trained(run, folder, "pair", "--shape", "line")
    assert "shape" not in trained(run, folder, "pair", "--alpha", "0.1")
    report = trained(run, folder, "line", "--shape", "curves", "--alpha", "0.1", "--probability")
    assert report["alphas"] == {"lines": 0.1, "curves": 0.1}
    assert report["probability"] == "sigmoid"
    assert trained(run, folder, "line", "--shape", "interactions")["interactions"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--splines"], "--splines"),
        (["--scale", "unit-norm"], "--scale"),
        (["--l1-ratio", "0.5"], "--l1-ratio"),
        (["--one-pass"], "--one-pass"),
    ],
)
def test_what_means_a_line_is_told(run, folder, options, reason):
    code, _, error = run(
        "train", str(folder / "line.csv"), "--target", "sick", "--shape", "curves", *options
    )
    assert code == 2
    assert f"--shape curves does not go with {reason}" in " ".join(error.split())


def test_a_file_in_parts_is_a_line_unless_asked(run, folder):
    lines = (folder / "line.csv").read_text().splitlines(keepends=True)
    large = folder / "large.csv"
    large.write_text(lines[0] + "".join(lines[1:]) * 100)
    options = (str(large), "--target", "sick", "--memory", "2MB", "-o", str(folder / "large"))
    code, out, error = run("train", *options)
    assert code == 0, error
    told = "line (curves were not tried, as the file is read in parts; --shape asks for them)"
    assert told in " ".join(out.split())
    code, out, error = run("train", *options, "--shape", "curves", "--alpha", "0.1", "--json")
    assert code == 0, error
    report = json.loads(out)
    assert report["shape"] == "curves"
    assert report["tuned_on"] < 120_000
    assert report["alphas"] == pytest.approx({"lines": 0.1, "curves": 0.1})
    held_out = report["held_out_auc_of_shapes"]["curves"]
    assert report["training_auc"]["auc"] == pytest.approx(held_out, abs=0.02)


def test_a_rival_learns_from_columns_and_levels(run, folder):
    """Logistic regression beside an additive model gets no hats and no maps."""
    trained(run, folder, "pair")
    model, file = str(folder / "model"), str(folder / "pair.csv")
    code, out, error = run("evaluate", model, file, "--logistic", file, "--json")
    assert code == 0, error
    additive, logistic = json.loads(out)["scorers"]
    assert additive["auc"] > logistic["auc"] + 0.1


@pytest.mark.parametrize("options", [(), ("--shape", "line")])
def test_monotone_scores(run, folder, options):
    """Of a table in which the score should fall and rise with age, whatever the shape."""
    trends = ("--monotone", "age=increasing", "--monotone", "dose=decreasing")
    options = (*trends, *options, "--drop", "city", "--alpha", "0.1")
    report = trained(run, folder, "curve", *options)
    said = {d["column"]: d["what"] for d in report["decisions"]}
    assert (said["age"], said["dose"]) == (
        "the score only rises with it",
        "the score only falls with it",
    )
    assert report["shape"] == "line" or "--shape" not in options
    model = load(folder / "model")
    ages, doses = np.linspace(20.0, 90.0, 60), [-1.0, 0.5, np.nan]
    rows = pd.DataFrame([(a, d) for d in doses for a in ages], columns=["age", "dose"])
    scores = model.decision_function(rows).reshape(3, -1)
    assert np.diff(scores).min() >= -1e-12 * np.ptp(scores)
    assert (scores[0] >= scores[1] - 1e-12).all()
    code, out, error = run("show", str(folder / "model"))
    assert code == 0, error
    assert "dose: the score only falls with it" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["age=up"], "--monotone age=up must be COLUMN=increasing or COLUMN=decreasing."),
        (["age"], "--monotone age must be COLUMN=increasing or COLUMN=decreasing."),
        (["height=increasing"], "monotone names the column 'height', which the table does not"),
        (["city=increasing"], "monotone names 'city', a column of words"),
        (["age=increasing", "--splines"], "--monotone does not go with --splines."),
        (["age=increasing", "--monotone", "age=decreasing"], "--monotone names 'age' twice"),
        (["age=increasing", "--one-pass"], "moments build --like MODEL' and 'moments fit'."),
        (["age=increasing", "--l1-ratio", "0.5"], "--monotone does not go with --l1-ratio."),
    ],
)
def test_what_monotone_cannot_do_is_told(run, folder, options, message):
    file = str(folder / "line.csv")
    code, _, error = run("train", file, "--target", "sick", "--monotone", *options)
    assert code == 2
    assert message in " ".join(error.split())
