"""``evaluate --strata`` and ``--segments``: rows that are ranked and judged by parts."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, metrics, save

N = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(N, 2)).round(3), columns=["a", "b"])
    region = rng.choice(["north", "south", "west", "islands"], N, p=[0.4, 0.3, 0.28, 0.02])
    y = rng.random(N) < 1 / (1 + np.exp(2 - (1 + (region == "north")) * rows.a - 0.5 * rows.b))
    y[region == "islands"] = False
    rows = rows.assign(
        region=region, age=rng.integers(18, 80, N), visit=rng.integers(0, 60, N) + 1000,
        person=[f"p{k}" for k in rng.integers(0, 200, N)], w=rng.integers(1, 4, N),
        label=np.where(y, "yes", "no"),
    )  # fmt: skip
    rows.to_csv(where / "rows.csv", index=False)
    rows.to_parquet(where / "rows.parquet", row_group_size=300)
    model = AUCClassifier(0.01).fit(rows[["a", "b"]], rows.label)
    save(model, where / "m.aucmax")
    save(AUCClassifier(0.01).fit(rows[["b"]], rows.label), where / "n.aucmax")
    return where


def scores(folder):
    rows = pd.read_csv(folder / "rows.csv")
    y = (rows.label == "yes").to_numpy()
    return rows, y, AUCClassifier(0.01).fit(rows[["a", "b"]], y).decision_function(rows[["a", "b"]])


def report(good, folder, *options, file="rows.csv"):
    return json.loads(good("evaluate", folder / "m.aucmax", folder / file, *options, "--json"))


@pytest.mark.parametrize("weighted", [False, True])
def test_strata(folder, good, weighted):
    rows, y, score = scores(folder)
    by = {"sample_weight": rows.w.to_numpy() if weighted else None}
    options = ("--strata", "visit", *(("--weight", "w") if weighted else ()))
    found = report(good, folder, folder / "n.aucmax", *options)["stratified"]
    classes = rows.assign(y=y).groupby("visit").y.nunique()
    assert (found["column"], found["strata"]) == ("visit", len(classes))
    assert found["one_class"] == (classes == 1).sum()
    expected = metrics.stratified_auc(y, score, rows.visit, **by)
    first, _ = found["scorers"]
    assert {key: first[key] for key in expected._fields} == pytest.approx(expected._asdict())
    rival = AUCClassifier(0.01).fit(rows[["b"]], y).decision_function(rows[["b"]])
    expected = metrics.stratified_auc_test(y, score, rival, rows.visit, **by)
    (test,) = found["tests"]
    assert {key: test[key] for key in expected._fields} == pytest.approx(expected._asdict())
    largest = found["largest"][0]
    own = (rows.visit == int(largest["stratum"])).to_numpy()
    assert (largest["rows"], largest["positives"]) == (own.sum(), y[own].sum())
    if not weighted:
        assert largest["positives"] == rows[y].groupby("visit").size().max()
        assert largest["auc"] == pytest.approx(metrics.roc_auc(y[own], score[own]))


def test_segments(folder, good):
    rows, y, score = scores(folder)
    found = report(good, folder, "--segments", "region", "--k", 90, "--fpr", 0.1)["segmented"]
    assert [part["segment"] for part in found["segments"]] == ["islands", "north", "south", "west"]
    top = np.argsort(-score)[:90]
    threshold = np.sort(score[~y])[::-1][int(0.1 * (~y).sum())]
    for part in found["segments"]:
        own = (rows.region == part["segment"]).to_numpy()
        assert (part["rows"], part["positives"]) == (own.sum(), y[own].sum())
        assert part["flagged_at_k"] == pytest.approx(own[top].sum() / own.sum())
        assert part["fpr"] == pytest.approx((score[own & ~y] > threshold).mean())
        if part["segment"] == "islands":
            assert part["auc"] is part["recall_at_k"] is part["recall_at_fpr"] is None
            continue
        assert part["auc"] == pytest.approx(metrics.auc_interval(y[own], score[own])._asdict())
        hits = own & y
        assert part["recall_at_k"]["value"] == pytest.approx(hits[top].sum() / hits.sum())
        assert part["recall_at_fpr"]["value"] == pytest.approx((score[hits] > threshold).mean())
    north, south = ((rows.region == name).to_numpy() for name in ("north", "south"))
    across = (north & y) | (south & ~y)
    cell = metrics.auc_interval(y[across], score[across])._asdict()
    assert found["between"][1][2] == pytest.approx(cell)
    assert found["between"][0] == [None] * 4
    tests = {test["measure"]: test for test in found["equality"]}
    assert set(tests) == {"auc", "recall_at_k", "recall_at_fpr"}
    assert tests["auc"]["freedom"] == 2
    assert tests["auc"]["p_value"] < 0.02  # north ranks better


def test_calibration_is_compared_where_the_model_has_probabilities(folder, tmp_path, good):
    model = tmp_path / "p.aucmax"
    columns = [
        word for name in ("region", "age", "visit", "person", "w") for word in ("--drop", name)
    ]
    good("train", folder / "rows.csv", *columns, "--shape", "line", "--probability", "-o", model)
    command = ("evaluate", model, folder / "rows.csv", "--segments", "age")
    found = json.loads(good(*command, "--json"))["segmented"]
    assert [test["measure"] for test in found["equality"]][-1] == "calibration"
    expected = sum(part["predicted"] * part["rows"] for part in found["segments"])
    assert expected == pytest.approx(sum(part["positives"] for part in found["segments"]), rel=0.1)
    for part in found["segments"]:
        assert part["observed"]["value"] == pytest.approx(part["positives"] / part["rows"])
        assert part["observed"]["low"] < part["predicted"] < part["observed"]["high"]
    by_person = json.loads(good(*command, "--groups", "person", "--json"))["segmented"]
    one, other = (each["segments"][0]["observed"] for each in (found, by_person))
    assert one["value"] == other["value"]
    assert one["std_error"] != other["std_error"]


@pytest.mark.usefixtures("undrawn")
def test_pages_show_them(folder, tmp_path, good):
    page = tmp_path / "e.html"
    command = ("evaluate", folder / "m.aucmax", folder / "rows.csv", folder / "n.aucmax")
    options = ("--strata", "visit", "--segments", "region")
    text = good(*command, *options, "--html", page)
    assert all(len(line) <= 80 for line in text.splitlines() if "/" not in line)
    for words in ("Within visit", "AUC within strata", "By region", "Equal AUC: χ² =", "1 islands"):
        assert words in text
    html = page.read_text(encoding="utf-8")
    assert "AUC between segments" in html
    assert "Strata of visit with the most positives" in html
    assert "of the pairs" in html


@pytest.mark.parametrize("file", ["rows.csv", "rows.parquet"])
def test_files_in_parts_give_the_same(file, folder, run, monkeypatch):
    from aucmax.data import large_files

    options = ("--strata", "visit", "--segments", "age", "--groups", "person", "--json")
    command = ("evaluate", folder / "m.aucmax", folder / file, *options)
    whole = json.loads(run(*command)[1])
    monkeypatch.setattr(large_files.Plan, "takes", lambda *_: True)
    code, out, err = run(*command, "--memory", "1GB")
    assert code == 0, err
    assert "is read in parts" in err
    parts = json.loads(out)
    for name in ("scorers", "stratified", "segmented"):
        assert str(flat(parts[name])) == str(flat(whole[name]))


def flat(value):
    """A report with numbers of ten digits."""
    if isinstance(value, dict):
        return {key: flat(item) for key, item in value.items()}
    if isinstance(value, list):
        return [flat(item) for item in value]
    return f"{value:.10g}" if isinstance(value, float) else value


def test_messages(folder, bad):
    command = ("evaluate", folder / "m.aucmax", folder / "rows.csv")
    assert "no column 'regio' for the segments; did you mean 'region'" in bad(
        *command, "--segments", "regio"
    )
    assert "no column 'x' for the strata" in bad(*command, "--strata", "x")
    rows = pd.read_csv(folder / "rows.csv").assign(one="all")
    rows["row"] = np.arange(len(rows))
    rows.to_csv(folder / "more.csv", index=False)
    command = ("evaluate", folder / "m.aucmax", folder / "more.csv")
    message = bad(*command, "--segments", "one")
    assert "--segments one: all rows have the same value, 'all'" in message
    assert "none of the strata has rows of both classes" in bad(*command, "--strata", "row")
    assert re.search("No such option.*--segm", bad("train", folder / "rows.csv", "--segments", "a"))
