"""Commands on files that would take more memory than they may: the same, read in parts."""

import gzip
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from aucmax import AUCClassifier, datasets, load
from aucmax.data import large_files
from aucmax.data.digests import RowDigests
from aucmax.data.rows import as_rows
from aucmax.estimators.sampled import weight_of_all
from aucmax.explain.explanation import rows_to_explain
from aucmax.metrics.scored import Scored
from aucmax.objective import Objective
from aucmax.objective.losses import Square
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem

pytestmark = pytest.mark.usefixtures("folds_drawn_once")

SMALL = ("--memory", "1MB")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 4)).round(3)
    y = (X[:, 0] + rng.normal(size=len(X)) > 1.5).astype(int)
    rows = pd.DataFrame(X, columns=list("abcd"))
    rows = rows.assign(booked=np.where(y == 1, "yes", "no"), w=1.0 + y)
    rows.to_csv(where / "rows.csv", index=False)
    rows.to_parquet(where / "rows.parquet", row_group_size=5_000)
    (where / "rows.csv.gz").write_bytes(gzip.compress((where / "rows.csv").read_bytes()))
    dump_svmlight_file(X, y, str(where / "rows.svm"), zero_based=False)
    return where


def check_read(read, file):
    """One pass of the square loss, and one for the labels."""
    first, again = read
    if file.suffix == ".parquet":
        assert [(at["from"], at["passes"]) for at in read] == [("labels", 1), ("file", 1)]
        assert 0.5 < again["bytes"] / file.stat().st_size < 1
        assert first["bytes"] < again["bytes"] / 2
        return
    assert first == {"from": "file", "passes": 1, "bytes": file.stat().st_size}
    assert (again["from"], again["passes"]) == ("temporary file", 1)
    assert again["bytes"] > 12_000 * 4 * 8


TRAIN = ("--alpha", "0.001", "--standardize", "0.5")
TABLE = ("--target", "booked", "--weight", "w")


@pytest.mark.parametrize(
    "name",
    [
        "rows.csv",
        "rows.parquet",
        pytest.param("rows.csv.gz", marks=pytest.mark.exhaustive),
        "rows.svm",
    ],
)
def test_a_model_is_that_of_the_whole_file(name, folder, tmp_path, run):
    options = TRAIN if name.endswith("svm") else (*TRAIN, *TABLE)
    reports = []
    for k, more in enumerate(((), SMALL)):
        model = tmp_path / f"{k}.aucmax"
        code, out, err = run("train", folder / name, *options, *more, "-o", model, "--json")
        assert code == 0, err
        assert ("is read in parts" in err) == bool(more)
        reports.append(json.loads(out))
    whole, parts = reports
    check_read(parts["read"], folder / name)
    for key in ("rows", "features", "columns", "positives", "positive", "positive_is", "weight"):
        assert parts[key] == whole[key]
    assert parts["objective"] == pytest.approx(whole["objective"], rel=1e-9)
    auc = parts["training_auc"]  # of the moments, since the rows are not read again
    assert auc["if_normal"] == pytest.approx(whole["training_auc"]["auc"], abs=0.005)
    assert auc["at_least"] < whole["training_auc"]["auc"] < auc["at_most"]
    a, b = (load(tmp_path / f"{k}.aucmax") for k in (0, 1))
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=1e-8)
    assert getattr(b, "target_name_", None) == getattr(a, "target_name_", None)
    assert b.classes_.tolist() == a.classes_.tolist()
    assert b.training_rows_.rows == a.training_rows_.rows == 12_000
    np.testing.assert_array_equal(b.training_rows_.smallest, a.training_rows_.smallest)
    found = []
    for more in ((), SMALL):
        code, out, err = run("score", tmp_path / "0.aucmax", folder / name, "--flag", "1%", *more)
        assert code == 0, err
        rows = [line.split(",") for line in out.splitlines()]
        found.append(([float(row[1]) for row in rows[1:]], [row[2] for row in rows]))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-9)
    assert found[1][1] == found[0][1]
    judged = []
    for more in ((), SMALL):
        weight = () if name.endswith("svm") else ("--weight", "w")
        command = ("evaluate", tmp_path / "0.aucmax", folder / name, *weight, *more, "--json")
        code, out, err = run(*command)
        assert code == 0, err
        judged.append(json.loads(out))
    assert sum(at["passes"] for at in judged[1].pop("read")) == 2
    for report in judged:
        assert [one["kind"] for one in report.pop("suspicions")] == ["training_rows"]
    assert judged[1] == judged[0]


def test_a_table_in_parts_is_doubted_as_a_whole_one(tmp_path, run):
    """Constants and copies are left out, groups and times named, and rows of training found."""
    rng = np.random.default_rng(0)
    n, customers = 22_000, 1_500
    customer, risky = rng.integers(0, customers, n), rng.random(customers) < 0.15
    fraud = rng.random(n) < np.where(risky[customer], 0.5, 0.03)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 200, n)), "D")
    country, amount = rng.choice(["DE", "AT"], n), rng.lognormal(3, 1, n).round(2)
    table = pd.DataFrame({
        "customer": [f"K{k:05d}" for k in customer],
        "amount": amount,
        "currency": "EUR",
        "country": country,
        "late": np.where(np.arange(n) < n - 20, "a", "b"),  # a constant in the first parts
        "land": country,
        "paid": amount,
        "nearly": np.where(np.arange(n) == n - 1, 7.0, amount),
        "none": "",
        "day": days.strftime("%d.%m.%Y"),
        "fraud": np.where(fraud, "yes", "no"),
    })  # fmt: skip
    table.to_csv(tmp_path / "x.csv", index=False)
    table[16_000:].to_csv(tmp_path / "test.csv", index=False)
    doubts, models = [], []
    for name, more in {"whole": ("--shape", "line"), "parts": SMALL}.items():
        command = ("train", tmp_path / "x.csv", "--target", "fraud", "--alpha", "0.01", *more)
        code, out, err = run(*command, "-o", tmp_path / name, "--json")
        assert code == 0, err
        report = json.loads(out)
        left_out = [one for one in report["decisions"] if "left out" in one["what"]]
        assert [one["column"] for one in left_out] == ["currency", "land", "paid", "none"]
        named = [(one["kind"], one["column"], one["answer"]) for one in report["suspicions"]]
        assert named[:2] == [
            ("groups", "customer", {"groups": "customer"}),
            ("time", "day", {"time": "day"}),
        ]
        doubts.append([one["figure"] for one in report["suspicions"]])
        models.append(load(tmp_path / name))
    assert doubts[1][0] == pytest.approx(doubts[0][0], abs=0.03)  # of 20,000 of the rows
    assert len(doubts[0]) == len(doubts[1])
    names = [model[0].get_feature_names_out().tolist() for model in models]
    assert names[0] == names[1]
    for name in ("whole", "parts"):
        command = ("evaluate", tmp_path / name, tmp_path / "test.csv", *SMALL, "--json")
        code, out, err = run(*command)
        assert code == 0, err
        assert "training_rows" in [one["kind"] for one in json.loads(out)["suspicions"]]


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
@pytest.mark.parametrize("customers", ["customer", "customer_id"])  # ids are left out of the model
def test_numbers_alone_in_parts_show_their_groups_and_times(name, customers, tmp_path, run):
    rng = np.random.default_rng(0)
    n, k = 20_000, 1_000
    customer, risky = rng.integers(0, k, n), rng.random(k) < 0.15
    odds = np.where(risky[customer], 0.5, 0.03) * np.linspace(0.5, 1.5, n)
    table = pd.DataFrame({
        "step": np.sort(rng.integers(0, 700, n)),
        customers: customer,
        **{f"x{j}": rng.normal(size=n) for j in range(5)},
        "fraud": (rng.random(n) < odds).astype(int),
    })  # fmt: skip
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet", row_group_size=5_000)
    told = []
    for more in (("--shape", "line"), SMALL):
        command = ("train", tmp_path / name, "--target", "fraud", "--alpha", "0.01", *more)
        code, out, err = run(*command, "-o", tmp_path / "m", "--json")
        assert code == 0, err
        report = json.loads(out)
        told.append([(one["kind"], one["column"]) for one in report["suspicions"]])
        assert not any("of the rows show" in one["sentence"] for one in report["suspicions"])
    assert told[0] == told[1] == [("groups", customers), ("time", "step")]
    if name == "x.parquet":  # of which the first pass reads only the columns that may divide rows
        labels, rows = report["read"]
        assert (labels["from"], labels["passes"], rows["passes"]) == ("labels", 1, 1)
        assert labels["bytes"] < rows["bytes"] / 2


def test_a_gap_in_a_late_row_group_is_a_missing_value(tmp_path, run):
    x = np.random.default_rng(0).normal(size=9_000)
    table = pd.DataFrame({"x": x, "z": x + 1.0, "y": (x > 0.5).astype(int)})
    table.loc[8_990, "z"] = np.nan
    table.to_parquet(tmp_path / "x.parquet", row_group_size=1_000)
    command = ("train", tmp_path / "x.parquet", "--target", "y", "--alpha", "0.01", *SMALL)
    code, out, err = run(*command, "-o", tmp_path / "m")
    assert code == 0, err
    assert "is read in parts" in err
    assert "1 of 9,000 missing: filled with the median" in " ".join(out.split())


def test_cells_in_doubt_are_told_in_parts(tmp_path, run):
    """By train, score and evaluate, with the place of the first; labels are as in the file."""
    rng = np.random.default_rng(0)
    n = 16_000
    sugar = [f"{x:.1f} mg/dl" for x in rng.normal(100, 10, n)]
    sugar[12_500] = "5.5 mmol/l"
    table = pd.DataFrame({"sugar": sugar, "dose": rng.normal(size=n).round(3).astype(str)})
    table.loc[14_500, "dose"] = "?!"
    table["ill"] = np.where(
        rng.normal(size=n) + [float(x.split()[0]) for x in sugar] > 110, "T", "F"
    )
    table["ill"] = table["ill"].map({"T": "TRUE", "F": "FALSE"})
    lines = table.to_csv(index=False).splitlines()
    lines.insert(11_000, lines[0])
    (tmp_path / "x.csv").write_text("\n".join([*lines, ""]))
    scores = []
    for k, more in enumerate(((), SMALL)):
        model = tmp_path / str(k)
        command = ("train", tmp_path / "x.csv", "--target", "ill", "--alpha", "0.01", "-o", model)
        code, out, err = run(*command, "--shape", "line", *more, "--json")
        assert code == 0, err
        report = json.loads(out)
        assert (report["rows"], report["positive"]) == (n, "TRUE")
        told = [out]
        for words in (
            ("score", model, tmp_path / "x.csv"),
            ("evaluate", model, tmp_path / "x.csv"),
        ):
            code, out, err = run(*words, *more)
            assert code == 0, err
            told.append(" ".join(err.split()))
            scores.append(out)
        for text in told:
            assert "'?!' (line 14503) is not a number" in text
            assert "a repeated header in line 11001: left out" in text
            assert "'5.5 mmol/l' (line 12503)" in text
        assert "label TRUE" in scores[-1]
    assert scores[0].count("\n") == scores[2].count("\n") == n + 1


def test_codes_with_zeros_in_front_are_words_in_parts(tmp_path, run):
    rng = np.random.default_rng(0)
    bank = rng.integers(1, 40, 6_000)
    ill = rng.random(6_000) < np.where(bank % 2, 0.2, 0.6)
    lines = [f"{k:04d},{x:.2f},{y}" for k, x, y in zip(bank, rng.random(6_000), ill, strict=True)]
    (tmp_path / "x.csv").write_text("\n".join(["bank,fee,ill", *lines, ""]))
    names = []
    for k, more in enumerate(((), SMALL)):
        command = ("train", tmp_path / "x.csv", "--target", "ill", "--alpha", "0.01", *more)
        code, _, err = run(*command, "--shape", "line", "-o", tmp_path / str(k))
        assert code == 0, err
        names.append(load(tmp_path / str(k))[0].get_feature_names_out().tolist())
    assert names[0] == names[1]
    assert "bank_0007" in names[0]


def test_what_score_says_at_a_gap_trains_a_model_that_takes_it(folder, tmp_path, run):
    rows = pd.read_csv(folder / "rows.csv", nrows=50)
    rows.loc[3, "b"] = np.nan
    rows.to_csv(tmp_path / "gap.csv", index=False)
    fit = ("train", folder / "rows.csv", "--target", "booked", "--drop", "w", "--alpha", "0.1")
    scores = []
    for k, more in enumerate(((), SMALL)):
        model = tmp_path / str(k)
        code, _, err = run(*fit, "--shape", "line", *more, "-o", model)
        assert code == 0, err
        code, _, err = run("score", model, tmp_path / "gap.csv")
        assert code == 2
        assert "line 5: column 'b' has a missing value" in err
        advice = err.rpartition("train the model again with ")[2].split()
        assert advice == ["--no-prepare", "--impute"]
        assert run(*fit, *more, *advice, "-o", model)[0] == 0
        code, out, err = run("score", model, tmp_path / "gap.csv")
        assert code == 0, err
        scores.append([float(line.split(",")[1]) for line in out.splitlines()[1:]])
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-8)
    code, _, err = run(*fit, "--one-pass", *advice, "-o", tmp_path / "m")
    assert code == 2
    assert "--impute needs all rows at once" in err


@pytest.mark.parametrize("name", ["a.csv", pytest.param("a.parquet", marks=pytest.mark.exhaustive)])
def test_rows_without_labels_are_told_in_any_part_and_counts_as_those_of_the_first(
    name, tmp_path, run
):
    rng = np.random.default_rng(0)
    n, path, model = 60_000, tmp_path / name, tmp_path / "m"
    y = rng.integers(0, 2, n).astype(float)
    y[[45_000, 59_000]] = np.nan
    rows = pd.DataFrame(
        {"x": rng.normal(size=n).round(4), "z": rng.normal(size=n).round(4), "y": y}
    )
    for words in (False, True):
        if words:
            rows["bp"] = [f"{high}/70" for high in rng.integers(100, 180, n)]
        if name.endswith("parquet"):
            rows.to_parquet(path, row_group_size=15_000)
        else:
            rows.to_csv(path, index=False)
        train = ("train", path, "--target", "y", "--alpha", "1", "--shape", "line", "-o", model)
        code, out, err = run(*train, *SMALL)
        assert code == 0, err
        assert f"{n - 2:,} rows" in out
        assert "no label: left out" in " ".join(out.split())
        assert ("in the first part," in " ".join(out.split())) == words
        _, _, err = run("evaluate", model, path, *SMALL)
        assert "no label: left out" in err


@pytest.mark.parametrize(
    "name",
    [
        "a.csv",
        pytest.param("a.csv.gz", marks=pytest.mark.exhaustive),
        pytest.param("a.parquet", marks=pytest.mark.exhaustive),  # a cluster reads one
    ],
)
def test_columns_that_are_empty_at_first_are_what_their_first_values_are(name, tmp_path, run):
    rng = np.random.default_rng(0)
    n = 45_000
    late = {
        "colour": (12_500, rng.choice(["red", "blue"], n)),
        "price": (25_000, [f"${price:.2f}" for price in rng.uniform(1, 99, n)]),
        "vip": (35_000, rng.choice(["yes", "no"], n)),
        "day": (35_000, [f"2024-03-{day:02d}" for day in rng.integers(1, 29, n)]),
        "fee": (35_000, rng.normal(size=n).round(3)),
    }
    rows = pd.DataFrame({"x": rng.normal(size=n).round(4)})
    for column, (start, values) in late.items():
        rows[column] = np.where(np.arange(n) < start, None, np.array(values, dtype=object))
    rows["fee"] = rows["fee"].astype(float)
    rows["y"] = (rows["x"] + rng.normal(size=n) > 1.5).astype(int)
    if name.endswith("parquet"):
        rows.to_parquet(tmp_path / name, row_group_size=7_500)
    else:
        rows.to_csv(tmp_path / name, index=False)
    models = []
    for k, more in enumerate(((), SMALL)):
        command = ("train", tmp_path / name, "--target", "y", "--alpha", "0.01", "--shape", "line")
        code, _, err = run(*command, *more, "-o", tmp_path / str(k))
        assert code == 0, err
        assert ("is read in parts" in err) == bool(more)
        models.append(load(tmp_path / str(k)))
    whole, parts = models
    names = [model[0].get_feature_names_out().tolist() for model in models]
    assert names[1] == names[0]
    assert {"colour_red", "price", "vip", "day", "fee"} < {*names[0]}
    np.testing.assert_allclose(parts[-1].coef_, whole[-1].coef_, rtol=1e-2, atol=1e-4)
    assert [*map(type, parts[0].columns_)] == [*map(type, whole[0].columns_)]


def test_constants_of_numbers_in_parts_are_told_and_kept(tmp_path, run):
    """No pass before the fit sees all rows of numbers without gaps."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.normal(size=6_000).round(3), "k": 3.5})
    rows["y"] = (rows["a"] + rng.normal(size=6_000) > 1.0).astype(int)
    rows.to_csv(tmp_path / "x.csv", index=False)
    command = ("train", tmp_path / "x.csv", "--target", "y", "--alpha", "0.01", *SMALL, "--json")
    code, out, err = run(*command, "-o", tmp_path / "m")
    assert code == 0, err
    [told] = json.loads(out)["decisions"]
    assert told["column"] == "k"
    assert told["what"] == "the same value in every row, in the first part: kept"
    assert load(tmp_path / "m").feature_names_in_.tolist() == ["a", "k"]


def test_the_training_auc_is_that_of_the_scores_without_moments_of_rows(folder, tmp_path, run):
    """Of losses for which the fit does not keep the moments; the page names an estimate as one."""
    aucs = {}
    for loss in ("square", "logistic"):
        words = ("train", folder / "rows.parquet", *TABLE, *TRAIN, "--loss", loss)
        for more in ((), SMALL):
            code, out, err = run(*words, *more, "-o", tmp_path / "m", "--json")
            assert code == 0, err
            aucs[loss, bool(more)] = json.loads(out)["training_auc"]
    assert aucs["logistic", True].pop("error") == 0.0  # of so few scores all are kept
    assert aucs["logistic", True] == pytest.approx(aucs["logistic", False], rel=1e-6)
    _, out, _ = run(*words[:-1], "square", *SMALL, "-o", tmp_path / "m")
    assert "training AUC if normal" in out
    assert f"{aucs['square', True]['if_normal']:.4f}  (an estimate that " in out
    assert "1 pass over the labels, " in out


def test_a_search_is_that_of_the_whole_file(folder, run):
    command = ("cv", folder / "rows.csv", *TABLE, "--folds", 3, "--losses", "square", "--json")
    (_, whole, _), (_, parts, _) = run(*command), run(*command, *SMALL)
    whole, parts = json.loads(whole), json.loads(parts)
    assert parts["auc"] == pytest.approx(whole["auc"], rel=1e-9)
    assert parts["alpha"] == whole["alpha"]
    assert parts["settings_tried"] == whole["settings_tried"]


def test_a_file_in_parts_is_tuned_on_some_of_its_rows(folder, tmp_path, run):
    command = ("train", folder / "rows.csv", *TABLE, *SMALL, "-o", tmp_path / "m", "--json")
    code, out, err = run(*command)
    assert code == 0, err
    report = json.loads(out)
    assert 0 < report["tuned_on"] < report["rows"]
    model = load(tmp_path / "m")
    chosen = {name: report[name] for name in ("alpha", "l1_ratio", "loss", "within")}
    again = AUCClassifier(**chosen, standardize=report["standardize"], positive=model.classes_[1])
    rows = datasets.scan(folder / "rows.csv", target="booked", weight="w")
    np.testing.assert_allclose(again.fit(rows).coef_, model.coef_, rtol=1e-6)
    assert model.coef_.shape == (1, report["features"])
    code, out, _ = run(*command[:-1])
    assert f"on {report['tuned_on']:,} of the rows" in " ".join(out.split())


def test_what_is_kept_of_each_row_decides_on_the_losses_and_is_told(tmp_path, run):
    rng, n = np.random.default_rng(0), 75_000
    x = rng.normal(size=n)
    rows = pd.DataFrame({"x": x, "z": rng.normal(size=n), "y": x + rng.normal(size=n) > 2.9})
    rows.astype({"y": int}).to_csv(tmp_path / "long.csv", index=False, float_format="%.3f")
    command = ("train", tmp_path / "long.csv", "--target", "y", "--memory", "1MB")
    code, out, err = run(*command, "-o", tmp_path / "m")
    assert code == 0, err
    assert "with no room for the loss squared_hinge" in " ".join(out.split())


def test_too_few_rows_that_fit_are_not_tuned_on(tmp_path, run):
    X = np.random.default_rng(0).normal(size=(20, 3_000))
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(3_000)])
    rows.assign(y=np.arange(20) % 2).to_parquet(tmp_path / "wide.parquet")
    command = ("train", tmp_path / "wide.parquet", "--target", "y", *SMALL, "-o", tmp_path / "m")
    code, _, err = run(*command)
    assert code == 2
    assert "of its rows fit in memory, too few to tune on" in err
    assert not (tmp_path / "m").exists()


def test_one_pass_is_the_fit_to_the_moments(folder, tmp_path, run):
    options = ("--target", "booked", "--weight", "w", "--alpha", 0.01, "--one-pass")
    for name in ("rows.csv", "rows.parquet"):
        code, out, err = run("train", folder / name, *options, "-o", tmp_path / "m", "--json")
        assert code == 0, err
        report = json.loads(out)
        assert [at["passes"] for at in report["read"]] == [1]
        rows = datasets.read(folder / name, target="booked", weight="w")
        whole = AUCClassifier(0.01).fit(rows.data, rows.target, rows.weight)
        model = load(tmp_path / "m")
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9)
        assert (report["rank"], report["positive"]) == (None, "yes")
        assert list(model.feature_names_in_) == list("abcd")
        assert model.target_name_ == "booked"
        smallest = RowDigests.of(rows.data).smallest
        np.testing.assert_array_equal(model.training_rows_.smallest, smallest)
        assert report["auc"]["at_least"] < report["auc"]["if_normal"]


def test_one_pass_over_many_features_says_what_it_missed(tmp_path, run):
    rng = np.random.default_rng(1)
    X = sp.random(600, 1_600, density=0.01, random_state=1, format="csr")
    y = (X[:, :40].sum(axis=1).A1 + 0.1 * rng.normal(size=600) > 0.3).astype(int) + 3
    y[:20] = 7  # a third label
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=False)
    command = ("train", tmp_path / "x.svm", "--one-pass", "-o", tmp_path / "m")
    code, _, err = run(*command)
    assert code == 2
    assert "name it with --positive LABEL" in err
    code, out, err = run(*command, "--positive", 4, "--alpha", 1.0, "--json")
    assert code == 0, err
    report, model = json.loads(out), load(tmp_path / "m")
    assert model.classes_.tolist() == ["not 4", "4"]
    sign = np.where(y == 4, 1.0, -1.0)
    best = AUCClassifier(1.0, solver="exact").fit(X, sign).objective_
    goal = RowsProblem.of(as_rows(X), sign).scaled(0.5)
    true = Objective(goal, Square(), L2(1.0)).value(goal.from_features(model.coef_[0]))
    assert best <= true <= report["objective"]
    assert (true - best) / (0.5 - best) <= report["optimality"] < 1.0
    code, out, _ = run(*command, "--positive", 4, "--alpha", 1.0)
    assert "approximate: 50 directions" in out
    code, out, _ = run(*command, "--positive", 4, "--alpha", 1e-6)
    assert "not known" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--loss", "logistic"), "class moments alone"),
        (("--binarize", "even-odd"), "--binarize needs the labels beforehand"),
        (("--splines",), "by --one-pass, and --splines needs all rows at once; leave out one"),
    ],
)
def test_one_pass_says_what_it_does_not_take(options, message, folder, tmp_path, run):
    command = ("train", folder / "rows.svm", "--one-pass", "-o", tmp_path / "m")
    code, _, err = run(*command, *options)
    assert code == 2
    assert message in err
    assert not (tmp_path / "m").exists()


def test_parts_take_what_whole_files_take(folder, tmp_path, run):
    model = tmp_path / "m.aucmax"
    command = ("train", folder / "rows.csv", *TABLE, *SMALL, "-o", model)
    for option in (("--groups", "a"), ("--scale", "unit-norm"), ("--splines",)):
        code, _, err = run(*command, *option)
        assert code == 0, err
        assert "rows.csv is read in parts" in err
        model.unlink()
    assert run("train", folder / "rows.csv", *TRAIN, *TABLE, "-o", model)[0] == 0
    logistic = ("--logistic", folder / "rows.csv", "--weight", "w")
    code, _, err = run("evaluate", model, folder / "rows.csv", *logistic, *SMALL)
    assert code == 2
    assert "--logistic needs the rows in memory" in err
    for size in ("much", "1kB", "-3GB"):
        code, _, err = run(*command[:-4], "--memory", size, "-o", model)
        assert code == 2
        assert f"--memory {size}: give a size of 1MB or more" in err


@pytest.mark.parametrize(
    "name", ["rows.csv", pytest.param("rows.svm", marks=pytest.mark.exhaustive)]
)
def test_reasons_are_those_of_the_whole_file(name, folder, tmp_path, run):
    model, options = tmp_path / "m.aucmax", () if name.endswith("svm") else TABLE
    assert run("train", folder / name, *TRAIN, *options, "-o", model)[0] == 0
    found = []
    for more in ((), SMALL):
        code, out, err = run("score", model, folder / name, "--reasons", 2, *more)
        assert code == 0, err
        assert ("is read in parts" in err) == bool(more)
        found.append(out)
    assert found[0] == found[1]
    assert " (+" in found[0]


@pytest.mark.usefixtures("undrawn")
def test_the_page_of_a_file_in_parts_has_the_model(folder, tmp_path, run):
    model, rows = tmp_path / "m.aucmax", folder / "rows.csv"
    assert run("train", rows, *TRAIN, *TABLE, "-o", model)[0] == 0
    pages = []
    for k, more in enumerate(((), SMALL)):
        page = tmp_path / f"{k}.html"
        code, _, err = run("evaluate", model, rows, "--weight", "w", *more, "--html", page)
        assert code == 0, err
        assert ("is read in parts" in err) == bool(more)
        pages.append(page.read_text(encoding="utf-8"))
    whole, parts = (text[text.index("What drives the score") :] for text in pages)
    number = int(re.search(r"Measured on ([\d,]+) of the rows", parts)[1].replace(",", ""))
    assert 1000 < number < 12_000
    assert "Measured on" not in whole
    # about the same effects, and the same rows, explained
    effects = [
        re.findall(
            r'class="word">([abcd])</th>\s*<td>([^<]+)<', text.partition("AUC difference")[0]
        )
        for text in (whole, parts)
    ]
    assert len(effects[0]) == 4
    for (name, of_all), (again, of_some) in zip(*effects, strict=True):
        assert name == again
        assert float(of_some) == pytest.approx(float(of_all), rel=0.05)
    why = [
        re.findall(r'class="word">([\d,]+)</th>\s*<td>([^<]+)</td>\s*<td class="word">(\w+)', text)
        for text in (whole, parts)
    ]
    assert len(why[0]) == 10
    assert why[0] == why[1]


def test_some_rows_stand_for_all():
    rng = np.random.default_rng(0)
    positive = rng.random(5000) < 0.02
    score, weight = rng.normal(size=5000), rng.exponential(size=5000)
    weight[::7] = 0.0
    for test in (Scored(positive, score), Scored(positive, score, weight)):
        rows = rows_to_explain(test, 600)
        assert 300 < len(rows) < 620
        assert set(np.argsort(-score)[:10]) <= set(rows)
        counted = positive if weight is not test.weight else positive & (weight > 0)
        assert set(np.flatnonzero(counted)) <= set(rows)
        each, of_all = (
            weight_of_all(positive, test.weight, rows),
            np.ones(5000) if test.weight is None else weight,
        )
        for kind in (True, False):
            total = each[positive[rows] == kind].sum()
            assert total == pytest.approx(of_all[positive == kind].sum())


@pytest.mark.parametrize("command", ["evaluate", "train"])
def test_a_file_that_changes_between_passes_is_an_error(
    command, folder, tmp_path, run, monkeypatch
):
    path, model = tmp_path / "rows.parquet", tmp_path / "m.aucmax"
    path.write_bytes((folder / "rows.parquet").read_bytes())
    run("train", path, *SMALL, *TABLE, *TRAIN, "-o", model)
    known = model.read_bytes()
    first_pass = large_files.rows_of

    def then_changed(source):
        found = first_pass(source)
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 5_000_000))
        return found

    monkeypatch.setattr(large_files, "rows_of", then_changed)
    words = {
        "evaluate": ("evaluate", model, path, "--weight", "w"),
        "train": ("train", path, *TABLE, *TRAIN, "-o", model),
    }[command]
    _, _, err = run(*words, *SMALL)
    assert "rows.parquet: the file of" in err
    assert "was overwritten" in err
    assert model.read_bytes() == known


@pytest.mark.parametrize("size", ["20GB", "20 gb", "0.1T", "9000000KB"])
def test_a_file_that_fits_is_read_whole(size, folder, tmp_path, run):
    command = ("train", folder / "rows.csv", *TRAIN, *TABLE, "--memory", size)
    code, _, err = run(*command, "-o", tmp_path / "m.aucmax")
    assert code == 0
    assert "in parts" not in err


def test_a_cut_file_is_named(folder, tmp_path, bad):
    cut = tmp_path / "cut.parquet"
    cut.write_bytes((folder / "rows.parquet").read_bytes()[:-100])
    assert "cut.parquet: not a readable Parquet file" in bad("train", cut, "-o", tmp_path / "m")


def test_what_cannot_be_kept_is_said_before_rows_are_read(folder, tmp_path, run):
    file, model = folder / "rows.parquet", tmp_path / "m.aucmax"
    train = ("train", file, *TRAIN, *TABLE, "-o", model)
    said = "MB are kept for 12,000 rows, beside the parts that are read, and only 1 MB are allowed"
    assert said not in run(*train, *SMALL)[2]
    assert said not in run(*train, "--memory", "100MB", "--loss", "logistic")[2]
    big = tmp_path / "big.parquet"
    rows = pd.read_parquet(file)
    pd.concat([rows] * 6).to_parquet(big)
    words = ("--target", "booked", *SMALL)
    for command, size in (
        (
            (
                "train",
                big,
                *TABLE,
                *SMALL,
                "--loss",
                "squared_hinge",
                "--alpha",
                "0.1",
                "-o",
                model,
            ),
            1,
        ),
        (("evaluate", model, big, *words), 2),
        (("cv", big, *words, "--losses", "square", "--alphas", "0.1", "--folds", 2), 4),
    ):
        code, _, err = run(*command)
        assert code == 0, err
        told = f"about {size} MB are kept for 72,000 rows, beside the parts that are read, and only"
        assert f"warning: {big}: {told} 1 MB are allowed; raise --memory" in err
