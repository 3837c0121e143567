"""``--weight``, ``--groups`` and ``--time``: what is known of the rows besides their features."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import StratifiedGroupKFold

from aucmax import AUCClassifier, AUCClassifierCV, datasets, load, metrics
from aucmax.estimators.folds import Folding, time_folds

LINE = ("--shape", "line")
QUICK = ("--losses", "square", "--alphas", "0.1,1", "--folds", 3)


def frame(n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    return pd.DataFrame(
        {
            "patient": [f"p{i}" for i in rng.integers(0, 30, n)],
            "a": rng.normal(size=n) + y,
            "day": (np.datetime64("2023-01-01") + rng.integers(0, 600, n)).astype(str),
            "b": rng.normal(size=n),
            "worth": rng.exponential(size=n).round(3),
            "class": np.where(y, "fraud", "legit"),
        }
    )


@pytest.fixture
def path(tmp_path):
    out = tmp_path / "rows.csv"
    frame().to_csv(out, index=False)
    return out


def arrays(rows, features=("a", "b")):
    X, y = rows[list(features)].to_numpy(), (rows["class"] == "fraud").to_numpy()
    return X, y, rows["worth"].to_numpy()


ASIDE = ("--drop", "patient", "--drop", "day")


# ---- weights


def test_weights_are_those_of_the_fit(path, tmp_path, good):
    X, y, worth = arrays(frame())
    model = tmp_path / "m"
    out = good("train", path, *ASIDE, "--weight", "worth", "--alpha", 0.1, "-o", model)
    first = out.splitlines()[0]
    assert "2 features" in first
    assert first.endswith("label fraud, the rarer), weighted by worth")
    expected = AUCClassifier(0.1, random_state=0).fit(X, y, worth)
    assert load(model).coef_ == pytest.approx(expected.coef_)
    plain = AUCClassifier(0.1).fit(X, y)
    assert np.abs(plain.coef_ - expected.coef_).max() > 1e-3
    report = json.loads(
        good("train", path, *ASIDE, "--weight", "worth", "--alpha", 0.1, "-o", model, "--json")
    )
    assert report["weight"] == "worth"
    interval = metrics.auc_interval(y, expected.decision_function(X), sample_weight=worth)
    assert report["training_auc"] == pytest.approx(interval._asdict())


def test_train_and_cv_tune_by_weight(path, tmp_path, good):
    X, y, worth = arrays(frame())
    weighed = (*ASIDE, "--weight", "worth")
    report = json.loads(good("cv", path, *weighed, *QUICK, "--json"))
    parts = Folding().folds(y, 3, 0, rounds=4)
    settings = {"losses": ["square"], "alphas": [0.1, 1.0]}
    tuned = AUCClassifierCV(**settings, cv=parts).fit(X, y, worth)
    assert report["auc"] == pytest.approx(tuned.best_score_)
    assert report["auc"] != pytest.approx(
        AUCClassifierCV(**settings, cv=parts).fit(X, y).best_score_
    )
    trained = json.loads(good("train", path, *weighed, *LINE, "-o", tmp_path / "m", "--json"))
    assert trained["tuned"]
    parts = Folding().folds(y, 5, 0, rounds=4)
    assert trained["held_out_auc"] == pytest.approx(
        AUCClassifierCV(cv=parts).fit(X, y, worth).best_score_
    )


@pytest.mark.usefixtures("undrawn", "few_penalties")
def test_what_is_measured_is_weighted(path, tmp_path, good):
    _, y, worth = arrays(frame())
    first, second = tmp_path / "m", tmp_path / "n"
    good("train", path, *ASIDE, "--weight", "worth", "--alpha", 0.1, "-o", first)
    good("train", path, *ASIDE, "--drop", "worth", "--drop", "b", "--alpha", 1, "-o", second)
    command = ("evaluate", first, path, second, "--weight", "worth")
    report = json.loads(good(*command, "--logistic", path, "--json"))
    X = frame()[["a", "b"]]
    scores = [load(first).decision_function(X), load(second).decision_function(X[["a"]])]
    assert report["weight"] == "worth"
    by = {"sample_weight": worth}
    for scorer, score in zip(report["scorers"], scores, strict=False):
        assert scorer["auc"] == pytest.approx(metrics.roc_auc(y, score, worth))
        assert scorer["low"] == pytest.approx(metrics.auc_interval(y, score, **by).low)
        k = int(y.sum())
        assert scorer["average_precision"] == pytest.approx(
            metrics.average_precision(y, score, **by)
        )
        assert scorer["precision_at_k"] == pytest.approx(metrics.precision_at_k(y, score, k, **by))
        assert scorer["recall_at_fpr"] == pytest.approx(metrics.recall_at_fpr(y, score, 0.05, **by))
    assert report["tests"][0]["p_value"] == pytest.approx(
        metrics.auc_test(y, *scores, **by).p_value
    )
    plain = json.loads(good("evaluate", first, path, second, "--logistic", path, "--json"))
    for with_, without in zip(report["scorers"], plain["scorers"], strict=True):
        assert with_["auc"] != pytest.approx(without["auc"])
    page, plot = tmp_path / "a.html", tmp_path / "a.svg"
    out = good(*command, "--html", page, "--plot", plot)
    assert out.splitlines()[0].endswith("label fraud), weighted by worth")
    auc = f"{report['scorers'][0]['auc']:.4f}"
    assert auc in out
    for file in (page, plot):
        assert auc in file.read_text(encoding="utf-8")
    assert "weighted by worth" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("splits", [1, 2])
def test_compare_weighs_fits_and_tests(path, good, splits):
    X, y, worth = arrays(frame())
    command = ("compare", path, *ASIDE, "--weight", "worth", "--splits", splits, "--alpha", 0.1)
    report = json.loads(good(*command, "--solvers", "exact,sadmm,tuned,logistic", "--json"))
    found = {entry["name"]: entry for entry in report["solvers"]}
    assert {entry["status"] for entry in report["solvers"]} == {"done"}
    aucs, scores, tests = [], [], []
    for train, test in Folding().splits(y, splits, 0.2, 0):
        model = AUCClassifier(0.1, standardize=0.0).fit(X[train], y[train], worth[train])
        scores.append(model.decision_function(X[test]))
        aucs.append(metrics.roc_auc(y[test], scores[-1], worth[test]))
        tests.append(test)
    assert found["exact"]["aucs"] == pytest.approx(aucs)
    rows, number = np.concatenate(tests), np.repeat(range(splits), len(tests[0]))
    interval = metrics.cv_auc_interval(
        y[rows], np.concatenate(scores), number, sample_weight=worth[rows], groups=rows
    )
    assert found["exact"]["auc_interval"] == pytest.approx(interval._asdict())
    assert found["exact"]["gap"] < 1e-9
    differences = np.subtract(found["logistic"]["aucs"], aucs)
    assert found["logistic"]["difference"] == pytest.approx(differences.mean(), abs=1e-9)


# ---- groups


def test_rows_of_a_group_stay_together(path, good):
    rows = frame()
    X, y, _ = arrays(rows)
    command = ("cv", path, "--groups", "patient", "--drop", "day", "--drop", "worth")
    report = json.loads(good(*command, *QUICK, "--json"))
    folds = StratifiedGroupKFold(3, shuffle=True, random_state=np.random.RandomState(0))
    parts = [pair for _ in range(4) for pair in folds.split(X, y, rows["patient"])]
    tuned = AUCClassifierCV(losses=["square"], alphas=[0.1, 1.0], cv=parts).fit(X, y)
    assert report["auc"] == pytest.approx(tuned.best_score_)
    tuned.fit(X, y, groups=rows["patient"])
    assert report["auc_interval"] == pytest.approx(tuned.best_interval_._asdict())
    assert report["features"] == 2
    assert report["folding"] == "random, groups kept together"
    out = good(*command, *QUICK)
    assert "4 rounds of 3 folds, random, groups kept together" in out


def test_what_tells_groups_apart_teaches_nothing_about_others(tmp_path, good):
    # six rows of each group share a label, and each group has a column of its own
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(24), 6)
    y = rng.permutation(np.arange(24) % 2)[group]
    rows = pd.DataFrame(np.eye(24)[group], columns=[f"x{j}" for j in range(24)])
    path = tmp_path / "a.csv"
    rows.assign(group=[f"g{i}" for i in group], y=y).to_csv(path, index=False)
    settings = ("--losses", "square", "--alphas", "0.1", "--standardize", 0, "--json")
    apart = json.loads(good("cv", path, *settings, "--drop", "group"))
    together = json.loads(good("cv", path, *settings, "--groups", "group"))
    assert apart["auc"] == 1.0
    assert together["auc"] < 0.7
    compared = ("compare", path, "--solvers", "exact", "--splits", 4, "--test-size", 0.4, "--json")
    assert json.loads(good(*compared, "--drop", "group"))["solvers"][0]["auc"] == 1.0
    assert json.loads(good(*compared, "--groups", "group"))["solvers"][0]["auc"] < 0.7
    trained = json.loads(
        good("train", path, "--groups", "group", *LINE, "-o", tmp_path / "m", "--json")
    )
    assert trained["held_out_auc"] < 0.7
    around = trained["held_out_interval"]
    assert around["auc"] == pytest.approx(trained["held_out_auc"])
    assert around["low"] < around["auc"] < around["high"]
    assert "x0" in good("show", tmp_path / "m", "--top", 24)


@pytest.mark.usefixtures("undrawn")
def test_intervals_and_tests_count_groups(path, tmp_path, good, bad):
    rows = frame()
    _, y, worth = arrays(rows)
    first, second, page = tmp_path / "m", tmp_path / "n", tmp_path / "a.html"
    drops = ("--drop", "patient", "--drop", "day")
    good("train", path, *drops, "--drop", "worth", "--alpha", 0.1, "-o", first)
    good("train", path, *drops, "--drop", "worth", "--drop", "a", "--alpha", 0.1, "-o", second)
    command = ("evaluate", first, path, second, "--groups", "patient")
    report = json.loads(good(*command, "--json"))
    assert (report["groups"], report["number_of_groups"]) == ("patient", rows["patient"].nunique())
    a, b = (
        load(one).decision_function(rows[[*names]]) for one, names in ((first, "ab"), (second, "b"))
    )
    by = {"groups": rows["patient"]}
    found = {name: report["scorers"][0][name] for name in ("auc", "low", "high", "std_error")}
    assert found == pytest.approx(metrics.auc_interval(y, a, **by)._asdict())
    (test,) = report["tests"]
    expected = metrics.auc_test(y, a, b, **by)._asdict()
    assert {name: test[name] for name in expected} == pytest.approx(expected)
    assert (test["low"], test["high"]) == pytest.approx(metrics.auc_difference(y, a, b, **by)[1:])
    weighted = json.loads(good(*command, "--weight", "worth", "--json"))
    interval = metrics.auc_interval(y, a, sample_weight=worth, **by)
    assert weighted["scorers"][0]["low"] == pytest.approx(interval.low)
    out = " ".join(good(*command, "--html", page).split())
    assert "Intervals by 30 groups of patient" in out
    assert "DeLong's paired test by groups on the same rows" in out
    assert "p is approximate with 2" in out  # groups
    assert "treat the rows as independent" in page.read_text(encoding="utf-8")
    assert "did you mean 'patient'" in bad("evaluate", first, path, "--groups", "patients")


# ---- time


@pytest.mark.parametrize("kind", ["dates", "numbers", "parquet"])
@pytest.mark.usefixtures("undrawn", "few_penalties")
def test_the_past_is_trained_on(tmp_path, good, kind):
    rows = frame()
    X, y, _ = arrays(rows)
    day = pd.to_datetime(rows["day"])
    written = {
        "dates": day.dt.strftime("%d.%m.%Y"), "numbers": day.dt.strftime("%Y%m%d"), "parquet": day,
    }  # fmt: skip
    path = tmp_path / ("a.parquet" if kind == "parquet" else "a.csv")
    rows = rows.assign(day=written[kind])[["a", "day", "b", "class"]]
    (rows.to_parquet if kind == "parquet" else rows.to_csv)(path, index=False)
    report = json.loads(good("cv", path, "--time", "day", *QUICK, "--json"))
    parts = time_folds(day, 3)
    tuned = AUCClassifierCV(losses=["square"], alphas=[0.1, 1.0], cv=parts).fit(X, y)
    assert report["auc"] == pytest.approx(tuned.best_score_)
    assert (report["features"], report["folding"]) == (2, "in the order of time")
    if kind != "dates":
        return
    command = ("compare", path, "--time", "day", "--splits", 3, "--alpha", 0.1)
    compared = json.loads(good(*command, "--solvers", "exact,tuned,logistic", "--json"))
    aucs = [
        metrics.roc_auc(
            y[test],
            AUCClassifier(0.1, standardize=0.0).fit(X[train], y[train]).decision_function(X[test]),
        )
        for train, test in parts
    ]
    assert compared["solvers"][0]["aucs"] == pytest.approx(aucs)
    assert compared["split_sizes"] == [[len(train), len(test)] for train, test in parts]
    page = tmp_path / "a.html"
    out = good(*command, "--solvers", "exact,spam", "--html", page)
    sizes = sorted(len(train) for train, _ in parts)
    assert f"3 splits, in the order of time: {sizes[0]} to {sizes[-1]} rows to train" in out
    assert "in the order of time" in page.read_text(encoding="utf-8")
    out = good("train", path, "--time", "day", *LINE, "-o", tmp_path / "m")
    assert "in 5 folds, in the order of time" in " ".join(out.split())


def test_forward_in_time_on_other_groups(path, tmp_path, good):
    rows = frame(800).assign(patient=np.random.default_rng(1).integers(0, 600, 800))
    rows.to_csv(path, index=False)
    X, y, _ = arrays(rows)
    day, patient = pd.to_datetime(rows["day"]), rows["patient"]
    parts = time_folds(day, 3, patient)
    dropped = sum(len(a) - len(b) for (a, _), (b, _) in zip(time_folds(day, 3), parts, strict=True))
    assert dropped > 0
    both = ("--groups", "patient", "--time", "day", "--drop", "worth")
    report = json.loads(good("cv", path, *both, *QUICK, "--json"))
    tuned = AUCClassifierCV(losses=["square"], alphas=[0.1, 1.0], cv=parts)
    tuned.fit(X, y, groups=patient)
    assert report["auc"] == pytest.approx(tuned.best_score_)
    assert report["auc_interval"] == pytest.approx(tuned.best_interval_._asdict())
    assert report["folding"] == "in the order of time, groups kept apart"
    assert report["dropped"] == dropped
    of_each = "training rows of tested groups dropped for each test part, on average"
    said = f"{round(dropped / len(parts))} {of_each}"
    out = good("cv", path, *both, *QUICK)
    assert "3 folds, in the order of time, groups kept apart; " in out
    assert f"\n{said}\n" in out
    out = " ".join(good("train", path, *both, *LINE, "-o", tmp_path / "m").split())
    assert "folds, in the order of time, groups kept apart (" in out
    assert f" {of_each})" in out
    command = ("compare", path, *both, "--splits", 3, "--alpha", 0.1, "--solvers", "exact,tuned")
    report = json.loads(good(*command, "--json"))
    assert report["split_sizes"] == [[len(train), len(test)] for train, test in parts]
    assert report["dropped"] == dropped
    assert f"\n{said}\n" in good(*command)


def test_few_times_make_few_folds(tmp_path, good, bad):
    rows = frame().assign(day=np.arange(240) % 3)[["a", "day", "class"]]
    path = tmp_path / "a.csv"
    rows.to_csv(path, index=False)
    report = json.loads(good("train", path, "--time", "day", *LINE, "-o", tmp_path / "m", "--json"))
    assert (report["tuned"], report["folds"]) == (True, 2)
    message = bad("cv", path, "--time", "day", "--folds", 5)
    assert "5 folds in the order of time need 6 distinct times; there are 3" in message
    rows.assign(day=1).to_csv(path, index=False)
    report = json.loads(good("train", path, "--time", "day", *LINE, "-o", tmp_path / "m", "--json"))
    assert report["tuned"] is False
    # the first fifth has no fraud
    rows.assign(day=np.argsort(np.argsort(rows["class"], kind="stable"))[::1]).assign(
        day=lambda r: np.where(r["class"] == "fraud", 1000, 0) + r["day"]
    ).to_csv(path, index=False)
    for command in (("train", path, "-o", tmp_path / "m"), ("cv", path)):
        message = bad(*command, "--time", "day")
        assert "training rows of fold 1 of 5 are of only one class" in message


# ---- what cannot be


def put(path, **columns):
    frame().assign(**columns).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"worth": -1}, ["--weight", "worth"], "line 2: column 'worth' holds the weight -1"),
        ({"worth": np.inf}, ["--weight", "worth"], "line 2: column 'worth' holds the weight inf"),
        ({"worth": "dear"}, ["--weight", "worth"], "holds 'dear', which is not a number; weights"),
        ({"worth": [np.nan, *[1] * 239]}, ["--weight", "worth"], "line 2: column 'worth' has a"),
        ({"worth": 0}, ["--weight", "worth"], "all positive rows have the weight 0"),
        ({"patient": ["", *"x" * 239]}, ["--groups", "patient"], "every row needs a group"),
        ({"patient": "x"}, ["--groups", "patient"], "there is 1 group, fewer than the 3 folds"),
        ({"day": "soon"}, ["--time", "day"], "column 'day' holds neither numbers nor dates"),
        ({"day": "01/02/2023"}, ["--time", "day"], "which may be day/month/year or month/day/year"),
        ({}, ["--weight", "wort"], "'wort' for the weight; did you mean 'worth'?"),
        ({}, ["--weight", "class", "--target", "class"], "both the label column and the weight"),
        ({}, ["--groups", "day", "--drop", "day"], "'day' is both dropped and the groups column"),
        ({}, ["--groups", "a", "--weight", "a"], "is both the weight column and the groups"),
        ({"patient": "x"}, ["--groups", "patient", "--time", "day"], "are all in groups that it"),
    ],
)  # fmt: skip
def test_what_cannot_be(tmp_path, bad, columns, options, words):
    path = tmp_path / "a.csv"
    put(path, **columns)
    left = [name for name in ("patient", "day", "worth") if name not in options]
    drops = [word for name in left for word in ("--drop", name)]
    assert words in " ".join(bad("cv", path, *options, *drops, *QUICK).split())


def test_they_are_part_of_the_one_pass(tmp_path, bad):
    path = tmp_path / "a.csv"
    put(path, worth=[1] * 239 + [-2], b=[np.nan, *np.arange(239) ** 0.5])
    options = ("--weight", "worth", "--groups", "patient", "--no-prepare")
    message = bad("cv", path, *options, *QUICK)
    assert "3 problems" in message
    assert "line 241: column 'worth' holds the weight -2; weights must be finite numbers" in message
    assert "column 'patient'" not in message
    assert "--impute" in message.splitlines()[-1]


def test_only_tables_have_columns(tmp_path, bad):
    path = tmp_path / "a.txt"
    X, y, _ = arrays(frame())
    dump_svmlight_file(X, y, str(path), zero_based=False)
    for option in ("--weight", "--groups", "--time"):
        assert f"so {option} does not apply" in bad("cv", path, option, "c")
        assert f"{option} is for files" in bad("cv", "diabetes", option, "c")
    assert "--test-size: with --time" in bad("compare", path, "--time", "c", "--test-size", 0.1)


def test_python_reads_them_too(path):
    rows = frame()
    found = datasets.read(path, weight="worth", groups="patient", time="day")
    assert found.feature_names == ["a", "b"]
    assert found.weight.tolist() == rows["worth"].tolist()
    assert found.groups.tolist() == rows["patient"].tolist()
    days = (pd.to_datetime(rows["day"]) - pd.Timestamp("1970-01-01")).dt.days
    assert found.time.tolist() == days.tolist()
    plain = datasets.read(path, drop=["worth", "patient", "day"])
    assert (plain.weight, plain.groups, plain.time) == (None, None, None)
