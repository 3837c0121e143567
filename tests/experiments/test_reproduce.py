"""``aucmax reproduce``: tables and figures again, resumable, beside the published figures."""

import csv
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import dump_svmlight_file

from aucmax import AUCClassifier, metrics, theory
from aucmax.cli import main
from aucmax.cli import reproduce as command
from aucmax.experiments import crossing, figures, sadmm_figures, sources, table_report, tables
from aucmax.experiments.catalogue import CATALOGUE
from aucmax.experiments.jobs import Store, attempt, key_of, locked_store
from aucmax.experiments.methods import METHODS, REFERENCE, Facts, facts_of, first_name
from aucmax.experiments.protocol import Protocol, TableJob, single_runs
from aucmax.experiments.sources import Source
from aucmax.experiments.tables import Cell, Published, TableSpec
from aucmax.experiments.trial import quiet
from aucmax.experiments.tuning import coarse_to_fine, whole_grid
from aucmax.metrics import roc_auc
from aucmax.solvers import SPAM
from processes import Child

ALTERED = "its files are not the published ones"
PUBLISHED = Path(tables.__file__).parent / "published"
TABLES = [spec for spec in CATALOGUE.values() if isinstance(spec, TableSpec)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two small data sets under their own names, and an empty cache."""
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setenv("AUCMAX_DATA", str(data))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    for name, counts, d in (("fourclass_scale", (555, 307), 2), ("diabetes", (268, 500), 8)):
        y = np.repeat([-1, 1], counts)
        X = rng.normal(size=(len(y), d)) + 0.5 * y[:, None]
        dump_svmlight_file(X, y, str(data / name), zero_based=False)
    forget_data()
    yield tmp_path
    forget_data()


def forget_data():
    sources.rows_of_source.cache_clear()
    sources.digest_of.cache_clear()


@pytest.fixture
def run(run):
    """Run ``aucmax reproduce``; give its exit code, stdout and stderr."""

    def reproduce(*arguments):
        code, out, err = run("reproduce", *arguments)
        lines = err.splitlines(keepends=True)
        # the made data sets stand under the names of others
        return code, out, "".join(line for line in lines if ALTERED not in line)

    return reproduce


@pytest.fixture
def columns(monkeypatch):
    """Leave a table a few of its columns."""

    def columns(table, *names):
        assert set(names) <= set(CATALOGUE[table].methods)
        monkeypatch.setitem(CATALOGUE, table, replace(CATALOGUE[table], methods=names))

    return columns


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- the pieces


def test_a_search_from_coarse_to_fine_finds_the_top_of_a_hill():
    axes = {"a": tuple(range(23)), "b": tuple(range(13))}
    for top in ((0, 0), (22, 12), (7, 5), (13, 1)):
        calls = []

        def hill(at, top=top, calls=calls):
            calls.append(at)
            return -abs(at["a"] - top[0]) - 0.5 * abs(at["b"] - top[1])

        found = coarse_to_fine(hill, axes)
        assert found.at == {"a": top[0], "b": top[1]}
        assert found.tried == len(calls) == len({tuple(c.values()) for c in calls})
        assert found.tried < 0.25 * 23 * 13
    wide = coarse_to_fine(hill, axes, coarse_only=True)
    assert wide.tried <= 16
    flat = coarse_to_fine(lambda at: float("nan"), axes)
    assert set(flat.at) == {"a", "b"}  # and no endless search


def test_the_whole_grid_is_the_whole_grid():
    axes = {"a": (1.0, 2.0, 3.0), "b": (0.0, 5.0)}
    values = {(3.0, 0.0): 2.0, (2.0, 5.0): 7.0, (1.0, 5.0): 7.0, (1.0, 0.0): float("nan")}
    found = whole_grid(lambda at: values.get((at["a"], at["b"]), 1.0), axes, coarse_only=True)
    assert found == ({"a": 1.0, "b": 5.0}, 7.0, 6)


def test_a_line_that_a_kill_cut_short_is_dropped(tmp_path):
    path = tmp_path / "jobs.jsonl"
    store = Store(path)
    store.add("a", {"rows": [1], "job_seconds": 1.0})
    store.add("b", {"rows": [2], "job_seconds": 1.0})
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        again = Store(path)
        assert list(again.rows) == ["a", "b"][: whole[: end + 1].count(b"\n")]
        again.add("c", {"rows": [3], "job_seconds": 1.0})
        assert Store(path).rows == again.rows
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 1, "b": 3})


def test_a_key_holds_all_that_determines_a_result():
    first = Protocol(2, 5, "nested", 500, False, 0)
    source = Source("diabetes", None, "minmax")
    job = TableJob(source, "SPAM-L2", first, 3)
    others = [
        TableJob(Source("diabetes", None, "maxabs"), "SPAM-L2", first, 3),
        TableJob(Source("fourclass", None, "minmax"), "SPAM-L2", first, 3),
        TableJob(source, "SOLAM", first, 3),
        TableJob(source, "SPAM-L2", Protocol(2, 5, "nested", 600, False, 0), 3),
        TableJob(source, "SPAM-L2", Protocol(2, 5, "nested", 500, True, 0), 3),
        TableJob(source, "SPAM-L2", Protocol(2, 5, "nested", 500, False, 1), 3),
        TableJob(source, "SPAM-L2", Protocol(2, 4, "nested", 500, False, 0), 3),
        TableJob(source, "SPAM-L2", first, 4),
        TableJob(source, "SPAM-L2", first, 3, (("C", 1.0), ("beta", 0.1))),
        TableJob(source, "SPAM-L2", first, 3, (("C", 1.0), ("beta", 0.2))),
    ]
    assert len({job.key, *(other.key for other in others)}) == 1 + len(others)
    # more repetitions keep what is there
    assert TableJob(source, "SPAM-L2", Protocol(4, 5, "nested", 500, False, 0), 3).key == job.key


def test_splits_are_stratified_and_disjoint():
    positive = np.arange(200) % 4 == 0
    for runs, folds in ((3, 5), (4, 0)):
        parts = single_runs(positive, Protocol(runs, folds, "nested", 100, False, 7))
        assert len(parts) == runs * max(folds, 1)
        for train, test in parts:
            assert not set(train) & set(test)
            assert len(train) + len(test) == 200
            assert positive[test].mean() == pytest.approx(0.25)
        if folds:
            assert sorted(np.concatenate([test for _, test in parts[:5]])) == list(range(200))
    assert not np.array_equal(parts[0][1], parts[1][1])


def test_penalties_are_on_the_papers_scale():
    facts = Facts(100, 3, 0.2)
    model = METHODS["SPAM-NET"].build({"C": 10.0, "beta": 0.08, "beta1": 0.02}, facts, 0)
    assert model.alpha * (1 - model.l1_ratio) == pytest.approx(0.08 / (2 * 0.2 * 0.8))
    assert model.alpha * model.l1_ratio == pytest.approx(0.02 / (2 * 0.2 * 0.8))
    assert model.alpha == pytest.approx(theory.alpha_from_beta(0.1, 0.2))
    assert isinstance(model.solver, SPAM)
    assert model.solver.step_size == 10.0
    svm = METHODS["SVM-perf"].build({"C": 4.0}, facts, 0)
    assert (svm.alpha, svm.loss) == (0.125, "hinge")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_at_the_middle_of_its_grid(name):
    rng = np.random.default_rng(1)
    y = np.arange(120) % 3 == 0
    X = rng.normal(size=(120, 4)) + y[:, None]
    facts = Facts(120, 4, 1 / 3)
    at = {axis: values[len(values) // 2] for axis, values in METHODS[name].axes.items()}
    with quiet():
        model = METHODS[name].build(at, facts, 0).fit(X, y)
        auc = metrics.roc_auc(y, model.decision_function(X))
    assert np.isfinite(auc)
    assert all(list(values) == sorted(values) for values in METHODS[name].axes.values())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_a_row(name):
    at = {axis: values[len(values) // 2] for axis, values in METHODS[name].axes.items()}
    plan = Protocol(1, 3, "nested", 300, True, 0)
    job = TableJob(Source("fourclass", None, "minmax"), name, plan, 1, tuple(sorted(at.items())))
    row = attempt(job)
    assert "error" not in row
    assert 0.4 < row["auc"] <= 1
    assert row["settings"] == at
    assert json.loads(json.dumps(row))["auc"] == row["auc"]


def test_verdicts_are_paired_t_tests():
    rng = np.random.default_rng(2)
    a = 0.8 + 0.02 * rng.normal(size=25)

    def cell(aucs):
        return Cell("x", "m", Published(0.79, 0.02), tuple(aucs))

    for shift in (0.0, 0.001, 0.02, -0.02):
        b = a - shift + 0.005 * rng.normal(size=25)
        p = stats.ttest_rel(a, b).pvalue
        expected = "tie" if p >= 0.05 else "win" if shift > 0 else "loss"
        assert cell(a).against(cell(b)) == expected
    assert cell(a).against(cell(a)) == "tie"
    assert cell(a).against(cell(a - 0.001)) == "win"
    assert cell(a).against(cell(a[:3])) is None
    assert cell(a).off == pytest.approx((a.mean() - 0.79) / 0.02)


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_published_figures_belong_to_the_columns(spec):
    found = tables.published(spec)
    assert {name for _, name in found} == set(spec.methods) - {"class means"}
    there = dict.fromkeys(data for data, _ in found)
    assert [source.name for source in spec.sources] == list(there)
    assert all(0.5 < p.mean < 1 and 0 < p.std < 0.2 for p in found.values())


def test_two_published_figures_by_hand():
    spam = tables.published(CATALOGUE["spam-table"])
    assert spam["a9a", "SPAM-L2"] == Published(0.8998, 0.0046)
    high = tables.published(CATALOGUE["opauc-highdim"])
    assert high["sector", "OPAUCr"] == Published(0.9292, 0.0081)


# ---- a table from end to end


def test_a_table_is_fits_on_its_splits(run, tmp_path, columns):
    columns("opauc-online", "OPAUC", "online Uni-Exp", "online Uni-Squ")
    out = tmp_path / "out"
    options = ("--data", "fourclass", "--quick", "--jobs", 1, "-o", out)
    code, text, err = run("opauc-online", *options)
    assert (code, err) == (0, "")
    assert all(len(line) <= 80 for line in text.splitlines() if "written to" not in line)
    assert "online Uni-Exp" in text
    folder = out / "opauc-online"
    rows = rows_of(folder / "runs.csv")
    names = [*CATALOGUE["opauc-online"].methods, REFERENCE]
    assert [row["method"] for row in rows] == [name for name in names for _ in range(3)]
    X, positive = Source("fourclass", None, "minmax").load()
    parts = single_runs(positive, Protocol(1, 3, "nested", 300, True, 0))
    mine = [row for row in rows if row["method"] == REFERENCE]
    for row, (train, test) in zip(mine, parts, strict=True):
        model = AUCClassifier(float(row["alpha"]), standardize=0.0, max_iter=2000)
        model.fit(X[train], positive[train])
        auc = metrics.roc_auc(positive[test], model.decision_function(X[test]))
        assert float(row["auc"]) == pytest.approx(auc, abs=1e-9)
        assert float(row["optimality"]) < 1e-4
    text = (folder / "table.md").read_text(encoding="utf-8")
    assert "| fourclass | OPAUC |" in text
    assert "0.8310 ± 0.0251" in text
    assert "| against | win | tie | loss |" in text
    assert "not asked for: diabetes," in text
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "0.8310 ± 0.0251" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    # again: nothing is left to do, and the same comes out
    before = (folder / "jobs.jsonl").read_bytes()
    assert run("opauc-online", *options)[0] == 0
    assert (folder / "jobs.jsonl").read_bytes() == before
    assert rows_of(folder / "runs.csv") == rows


@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: spec.name)
def test_every_published_row_stands_in_the_table_without_data(
    run, spec, tmp_path, folder, monkeypatch
):
    monkeypatch.setenv("AUCMAX_DATA", str(folder / "nothing"))
    out = tmp_path / "out"
    code, text, err = run(spec.name, "-o", out)
    assert code == 2
    assert f"{spec.name}: none of its data sets can be read here (" in err
    assert all(len(line) <= 80 for line in text.splitlines() if "written to" not in line)
    page = (out / spec.name / "report.html").read_text(encoding="utf-8")
    lines = (out / spec.name / "table.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    shown = {(row[0], row[1]): row for row in rows}
    with open(PUBLISHED / f"{spec.published}.csv", newline="", encoding="utf-8") as file:
        figures_ = list(csv.DictReader(file))
    assert len(figures_) > 40
    ours = {theirs: name for name, theirs in spec.columns.items()}
    for row in figures_:
        figure = f"{float(row['auc_mean']):.4f} ± {float(row['auc_std']):.4f}"
        cell = shown[row["dataset"], ours.get(row["method"], row["method"])]
        assert cell[2] == f"data not found: aucmax datasets fetch {row['dataset']}"
        assert cell[3] == figure
        assert figure in text
        assert figure in page
        assert f"{row['dataset']}  data not found: aucmax datasets fetch {row['dataset']}" in text


def test_rows_stand_in_the_papers_order(run, tmp_path, columns):
    columns("opauc-online", "OPAUC", "online Uni-Squ")
    options = ("--data", "w8a,ijcnn1,diabetes", "--quick", "--jobs", 1, "-o", tmp_path / "out")
    code, text, err = run("opauc-online", *options)
    assert (code, err) == (0, "")
    places = [text.index(f"\n{name}") for name in ("diabetes", "w8a", "ijcnn1")]
    assert places == sorted(places)
    report = json.loads(run("opauc-online", *options, "--json")[1])[0]
    assert list(report["absent"]) == ["w8a", "ijcnn1"]
    assert {row["data"] for row in report["rows"]} == {"diabetes", "w8a", "ijcnn1"}


def test_a_figure_says_which_data_it_lacks(run, tmp_path):
    out = tmp_path / "out"
    code, text, err = run(
        "opauc-lambda", "--data", "diabetes,w8a", "--quick", "--jobs", 1, "-o", out
    )
    assert (code, err) == (0, "")
    line = "w8a: data not found: aucmax datasets fetch w8a"
    assert line in text
    assert line in (out / "opauc-lambda" / "findings.md").read_text(encoding="utf-8")
    page = (out / "opauc-lambda" / "report.html").read_text(encoding="utf-8")
    assert "data not found: aucmax datasets fetch w8a" in page


@pytest.mark.exhaustive
def test_tables_share_the_cells_that_are_the_same(run, tmp_path):
    options = ("--data", "fourclass", "--quick", "--jobs", 1, "-o", tmp_path / "out")
    assert run("opauc-online", *options)[0] == 0
    assert run("opauc-batch", *options)[0] == 0
    made = []
    for name in ("opauc-online", "opauc-batch"):
        lines = (tmp_path / "out" / name / "jobs.jsonl").read_text().splitlines()
        made.append({json.loads(line)["method"] for line in lines})
    assert made[0] & made[1] == set()
    assert {"OPAUC", REFERENCE} <= made[0]
    both = [rows_of(tmp_path / "out" / n / "runs.csv") for n in ("opauc-online", "opauc-batch")]
    mine, theirs = ([r for r in rows if r["method"] == "OPAUC"] for rows in both)
    shared = ("fold", "auc", "seconds", "eta", "lambda")
    assert [[r[k] for k in shared] for r in mine] == [[r[k] for k in shared] for r in theirs]
    assert len(mine) == 3


@pytest.mark.exhaustive
def test_one_objective_is_tuned_once_and_has_one_figure(run, tmp_path, columns):
    """LS-SVM minimises the pairwise square loss: its row is the column of its optimum."""
    columns("spam-table", "SPAM-L2", "B-LS-SVM")
    columns("opauc-batch", "batch LS-SVM", "batch Uni-Squ")
    out = tmp_path / "out"
    base = ("--data", "diabetes", "--quick", "--jobs", 1, "-o", out)
    for table, name in (("spam-table", "B-LS-SVM"), ("opauc-batch", "batch LS-SVM")):
        assert first_name(name) == REFERENCE
        assert run(table, *base)[0] == 0
        rows = rows_of(out / table / "runs.csv")
        mine, reference = ([r["auc"] for r in rows if r["method"] == n] for n in (name, REFERENCE))
        assert mine == reference
        assert len(mine) == 3
        head, *rows = [
            line.strip("| ").split(" | ")
            for line in (out / table / "table.md").read_text(encoding="utf-8").splitlines()
            if line.startswith("| d")
        ]
        (mine,) = (row for row in rows if row[1] == name)
        assert mine[2].split()[0] == mine[head.index(REFERENCE)]


def test_the_authors_tune_once(run, tmp_path, columns):
    columns("spam-table", "SPAM-L2", "B-LS-SVM", "class means")
    out = tmp_path / "out"
    base = ("spam-table", "--data", "fourclass", "--quick", "--jobs", 1, "-o", out)
    assert run(*base, "--protocol", "authors")[0] == 0
    jobs = [
        json.loads(line) for line in (out / "spam-table" / "jobs.jsonl").read_text().splitlines()
    ]
    tunings = [row for row in jobs if row["kind"] == "tuning"]
    assert len(tunings) == 3  # B-LS-SVM is the optimum of the square loss by another name
    fits = [row for row in jobs if row["kind"] == "fit"]
    assert len(fits) == 9
    for row in tunings:
        mine = [fit["settings"] for fit in fits if fit["method"] == row["method"]]
        assert mine == [row["settings"]] * 3
        assert row["rows"] == 300


def test_tuning_in_coordinates_is_tuning():
    """With as many coordinates as features the reduced OPAUC is OPAUC, and tunes like it."""
    source = next(s for s in CATALOGUE["opauc-online"].sources if s.name == "diabetes")
    how = Protocol(1, 3, "nested", 200, True, 0)
    full, subset = (attempt(TableJob(source, m, how, 0)) for m in ("OPAUC", "OPAUC_f"))
    assert full["settings"] == subset["settings"]
    assert full["tuning_auc"] == pytest.approx(subset["tuning_auc"], abs=1e-9)
    X, _ = source.load()
    Z = METHODS["OPAUC_pca"].coordinates(X, 0)(X)
    variances = np.cov(Z.T)
    np.testing.assert_allclose(variances, np.diag(np.diag(variances)), atol=1e-12)
    assert np.all(np.diff(np.diag(variances)) < 0)


def test_class_means_are_where_the_optimum_goes():
    source = next(s for s in CATALOGUE["spam-table"].sources if s.name == "diabetes")
    X, y = source.load()
    means = METHODS["class means"].build({}, facts_of(X, y), 0).fit(X, y)
    far = AUCClassifier(1e9, standardize=0.0, tol=1e-12).fit(X, y)
    assert roc_auc(y, means.decision_function(X)) == pytest.approx(
        roc_auc(y, far.decision_function(X)), abs=1e-9
    )


def test_opauc_keeps_a_sketch_where_features_are_many():
    for d, covariance in ((5000, "full"), (5001, "gaussian")):
        model = METHODS["OPAUC"].build({"eta": 0.1, "lambda": 0.1}, Facts(10, d, 0.5), 0)
        assert model.solver.covariance == covariance


def test_a_bad_cell_is_told_and_stops_nothing(run, tmp_path, monkeypatch, columns):
    columns("spam-table", "SPAM-L2", "SOLAM", "class means")
    broken = METHODS["SOLAM"]

    def build(at, facts, seed):
        raise RuntimeError("no luck")

    monkeypatch.setitem(METHODS, "SOLAM", type(broken)(
        broken.axes, build, broken.note))  # fmt: skip
    out = tmp_path / "out"
    code, text, err = run("spam-table", "--data", "fourclass", "--quick", "--jobs", 1, "-o", out)
    assert code == 0
    assert "warning: fourclass, SOLAM: RuntimeError: no luck" in err
    assert "SPAM-L2" in text
    assert "no luck" in (out / "spam-table" / "table.md").read_text(encoding="utf-8")
    assert b"no luck" not in (out / "spam-table" / "jobs.jsonl").read_bytes()  # to be tried again
    rows = rows_of(out / "spam-table" / "runs.csv")
    bad = [row for row in rows if row["error"]]
    assert [row["method"] for row in bad] == ["SOLAM"] * 3
    assert {(row["error"], row["auc"]) for row in bad} == {("RuntimeError: no luck", "")}
    assert len(rows) == 3 * 4


@pytest.mark.exhaustive
def test_other_data_under_the_same_name_is_run_again(run, folder, tmp_path, capsys, columns):
    columns("opauc-online", "OPAUC", "online Uni-Squ")
    out = tmp_path / "out"
    options = ("opauc-online", "--data", "diabetes", "--quick", "--jobs", 1, "-o", out)
    aucs = []
    for flipped in (False, True):
        if flipped:
            path = folder / "data" / "diabetes"
            path.write_text(path.read_text().replace("-1 1:", "1 1:", 100))
            forget_data()
        with pytest.raises(SystemExit) as end:
            main(["reproduce", *map(str, options)])
        assert end.value.code == 0
        assert "diabetes: " + ALTERED in " ".join(capsys.readouterr().err.split())
        aucs.append([row["auc"] for row in rows_of(out / "opauc-online" / "runs.csv")])
    assert all(a != b for a, b in zip(*aucs, strict=True))


@pytest.mark.exhaustive
def test_a_broken_file_is_told_and_left_out(run, folder, tmp_path, columns):
    columns("opauc-online", "OPAUC", "online Uni-Squ")
    (folder / "data" / "fourclass_scale").write_text("1 1:0.5\n-1 1:x\n")
    options = ("--quick", "--jobs", 1, "-o", tmp_path / "out")
    code, text, err = run("opauc-online", "--data", "diabetes,fourclass", *options)
    assert code == 0
    assert "warning: opauc-online: left out: " in err
    assert "fourclass_scale" in err
    assert "diabetes" in text
    code, _, err = run("opauc-online", "--data", "fourclass", *options)
    assert code == 2
    assert "none of its data sets can be read here (fourclass)" in " ".join(err.split())
    broken = {e["name"]: e["broken"] for e in json.loads(run("--list", "--json")[1])}
    assert set(broken["opauc-online"]) == {"fourclass"}


@pytest.mark.exhaustive
def test_all_goes_on_after_what_fails(run, tmp_path, monkeypatch, columns):
    columns("opauc-online", "OPAUC", "online Uni-Squ")
    few = {name: CATALOGUE[name] for name in ("opauc-online", "opauc-iterations")}
    monkeypatch.setattr(command, "CATALOGUE", few)
    out = tmp_path / "out"
    (out / "opauc-online" / "runs.csv").mkdir(parents=True)
    code, text, err = run("all", "--data", "fourclass", "--quick", "--jobs", 1, "-o", out)
    assert code == 1
    assert "error: opauc-online: " in err
    assert "runs.csv" in err
    assert "OPAUC and OAM against the rows seen" in text


@pytest.mark.parametrize("count", [61, 62, 63])
def test_tuning_takes_at_most_so_many_rows(count):
    rng = np.random.default_rng(0)
    y = np.arange(count) % 3 == 0
    job = TableJob(Source("made"), REFERENCE, Protocol(1, 5, "nested", 62, True, 0), 0)
    found = job.tune(rng.normal(size=(count, 2)) + y[:, None], y)
    assert found["rows"] == min(count, 62)


def test_two_commands_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "jobs.jsonl"
    with (
        locked_store(path) as store,
        pytest.raises(ValueError, match="another command is writing to"),
        locked_store(path),
    ):
        pass
    with locked_store(path) as store:
        store.add("a", {"rows": [], "job_seconds": 1.0})
    assert "a" in Store(path)


def test_a_row_that_lacks_something_is_run_again(tmp_path):
    path = tmp_path / "jobs.jsonl"
    whole = {"key": "a", "kind": "fit", "data": "d", "method": "m", "settings": {}, "auc": 0.5,
             "seconds": 1.0, "optimality": 0.0, "job_seconds": 1.0}  # fmt: skip
    lines = [whole, {"key": "a"}, {"key": "b", "kind": "fit"}, {"key": "c", "kind": "other"},
             {"key": "d", "rows": [], "job_seconds": 1.0}, [1], "x", {"key": ["e"]}]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"key": "f", "ro')
    assert Store(path).rows == {"a": whole, "d": lines[4]}
    assert path.read_text().count("\n") == 2


def test_a_store_that_cannot_be_written_says_so(tmp_path):
    store = Store(tmp_path / "none" / "jobs.jsonl")
    with pytest.raises(OSError, match=r"jobs.jsonl: cannot be written to .*run the same command"):
        store.add("a", {"rows": []})


def test_a_figure_whose_pieces_failed_keeps_the_others(tmp_path, monkeypatch):
    spec = CATALOGUE["sadmm-learning-rate"]
    source = Source("diabetes")

    def run(piece):
        if piece["lambda"] == 1e-4:
            raise RuntimeError("no luck")
        return spec.run(piece)

    some = replace(spec, run=run, sources=[source])
    store = Store(tmp_path / "jobs.jsonl")
    drawn = figures.run_figure(
        some, [source], figures.Effort(1, 0, True), store, 1, lambda words, seconds: None
    )
    assert [line.partition(": ")[2] for line in drawn.failures] == ["RuntimeError: no luck"]
    assert len(drawn.panels) == 1
    assert "λ = 1e-05" in drawn.findings[0]
    assert "λ = 0.0001" not in drawn.findings[0]


def test_figures_of_one_paper_stand_in_another():
    """VRSPAM's rivals are the poster's figures, whose rivals are those of OPAUC's paper."""
    found = {spec.name: tables.published(spec) for spec in TABLES}
    poster, vrspam = found["spam-table"], found["vrspam-table"]
    rivals = [k for k in vrspam if k in poster and k[0] != "usps"]
    assert len(rivals) == 28
    assert all(vrspam[k] == poster[k] for k in rivals)
    theirs = {"OPAUC": ("OPAUC", "OPAUCr"), "OAM_seq": ("OAM_seq", "OAM_seq, 50"),
              "B-LS-SVM": ("batch LS-SVM",)}  # fmt: skip
    known = found["opauc-online"] | found["opauc-batch"] | found["opauc-highdim"]
    same = [
        any(poster[data, ours] == known.get((data, name)) for name in names)
        for ours, names in theirs.items()
        for data in {d for d, m in poster if m == ours} - {"fourclass"}
    ]
    assert len(same) > 25
    assert all(same)


def test_far_cells_get_their_reason():
    spec = CATALOGUE["spam-table"]
    best = Cell("usps", REFERENCE, None, (0.9, 0.9))

    def results(cell):
        cells = {(c.data, c.method): c for c in (cell, best)}
        return tables.Results(spec, spec.protocol, cells, [], {}, [], {"usps": 1.0})

    (line,) = table_report.far_cells(
        results(Cell("usps", "OPAUC", Published(0.965, 0.004), (0.9, 0.91)))
    )
    assert "usps, OPAUC: ours 0.9050, published 0.9650 (-15.0)" in line
    assert "erratum 9" in line
    assert not table_report.far_cells(
        results(Cell("usps", "OPAUC", Published(0.91, 0.004), (0.9, 0.91)))
    )


@pytest.mark.parametrize("quick", [True, False])
def test_far_cells_are_explained_by_what_is_certain_first(quick):
    """What the objective cannot reach, then errata, then the run itself."""
    spec = CATALOGUE["vrspam-table"]
    protocol = spec.protocol.quick() if quick else spec.protocol

    def reason(data, method, published, ours, optimum):
        cells = (
            Cell(data, method, Published(published, 0.001), (ours, ours)),
            Cell(data, REFERENCE, None, (optimum, optimum)),
        )
        found = {(cell.data, cell.method): cell for cell in cells}
        results = tables.Results(spec, protocol, found, [], {}, [], {data: 1.0})
        (line,) = table_report.far_cells(results)
        return line

    tuned = ", alpha tuned on 300 rows" if quick else ""
    above = (
        "the published figure lies above what any solver of the square loss can reach on these "
        f"splits: its exact optimum has 0.9364{tuned}, "
    )
    line = reason("ijcnn1", "VRSPAM-L2", 0.9750, 0.9364, 0.9364)
    assert line.endswith(f"{above}which ours attains.")
    assert reason("ijcnn1", "VRSPAM-NET", 0.9745, 0.93, 0.9364).endswith(
        f"{above}which ours does not attain either."
    )
    # an erratum says why it is above
    assert reason("splice", "VRSPAM-L2", 0.9640, 0.9364, 0.9364).endswith(
        "which ours attains; it requires other features, another grouping, or rows in both parts "
        "(erratum 11)."
    )
    assert reason("usps", "OPAUC", 0.94, 0.93, 0.95).endswith("LETTER's (erratum 7).")
    assert reason("ijcnn1", "OPAUC", 0.92, 0.93, 0.9364).endswith(
        "ours is nearer to the optimum of the square loss."
    )
    own = "a quick run: tuned on few rows and a wide lattice." if quick else "no reason known."
    assert reason("ijcnn1", "OPAUC", 0.935, 0.93, 0.9364).endswith(own)
    # the optimum of the square loss is no limit to another loss
    own = own if quick else "the published figure is above the optimum of the square loss here."
    assert reason("ijcnn1", "OAM_seq", 0.9750, 0.93, 0.9364).endswith(own)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_killed_run_goes_on(run, tmp_path, columns):
    columns("spam-table", "SPAM-L2", "B-LS-SVM", "class means")
    out = tmp_path / "out"
    words = ("spam-table", "--data", "fourclass", "--quick", "--jobs", 1, "-o", out)
    path = out / "spam-table" / "jobs.jsonl"
    nowhere = os.open(os.devnull, os.O_WRONLY)
    child = Child(("reproduce", *words), nowhere, nowhere)
    os.close(nowhere)
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if path.exists() and path.read_bytes().count(b"\n") >= 4:
            os.kill(child.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    assert child.wait(120) == -signal.SIGKILL
    kept = [json.loads(line) for line in path.read_text().splitlines()[:4]]
    code, _, err = run(*words)
    assert (code, err) == (0, "")
    jobs = [json.loads(line) for line in path.read_text().splitlines()]
    assert jobs[:4] == kept  # with their seconds: not run again
    assert len({job["key"] for job in jobs}) == len(jobs) == 3 * 2 * 3


# ---- figures, and the command


@pytest.mark.parametrize(
    "name",
    [
        "opauc-lambda",
        pytest.param("opauc-iterations", marks=pytest.mark.exhaustive),
        pytest.param("vrspam-figure", marks=pytest.mark.exhaustive),  # many panels
    ],
)
def test_a_figure_draws_and_says_what_it_shows(run, tmp_path, name):
    out = tmp_path / "out"
    options = ("--data", "diabetes", "--quick", "--jobs", 1, "-o", out)
    code, text, err = run(name, *options)
    assert (code, err) == (0, "")
    assert "diabetes" in text
    folder = out / name
    drawn = sorted(path.suffix for path in folder.iterdir())
    assert drawn.count(".svg") == drawn.count(".png") > 0
    assert all(path.stat().st_size > 2000 for path in folder.glob("*.png"))
    assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
    rows = rows_of(folder / "runs.csv")
    assert {row["data"] for row in rows} == {"diabetes"}
    before = (folder / "jobs.jsonl").read_bytes()
    assert run(name, *options)[0] == 0
    assert (folder / "jobs.jsonl").read_bytes() == before
    assert rows_of(folder / "runs.csv") == rows


@pytest.mark.parametrize(
    "name", [n for n, spec in CATALOGUE.items() if not isinstance(spec, TableSpec)]
)
def test_every_figure_runs_on_any_rows(name, tmp_path, monkeypatch):
    monkeypatch.setitem(crossing.GROWING, "rows", [(200, 5, 1.0), (300, 5, 1.0)])
    monkeypatch.setitem(crossing.GROWING, "features", [(200, 4, 1.0)])
    monkeypatch.setitem(crossing.GROWING, "density", [(200, 50, 0.1)])
    for method, (solver, setting, tried) in sadmm_figures.LEARNERS.items():
        monkeypatch.setitem(sadmm_figures.LEARNERS, method, (solver, setting, tried[:2]))
    spec, setting = CATALOGUE[name], figures.Effort(2, 0, True)
    source = Source("diabetes", None, "minmax", made=name == "crossing")
    store = Store(tmp_path / "jobs.jsonl")
    drawn = figures.run_figure(spec, [source], setting, store, 1, lambda words, seconds: None)
    assert drawn.failures == []
    assert drawn.findings
    assert len({panel.name for panel in drawn.panels}) == len(drawn.panels) > 0
    for panel in drawn.panels:
        assert panel.lines
        for line in panel.lines.values():
            assert np.all(np.diff(line.x) > 0)
            assert np.all(np.isfinite(line.y))


def test_the_variance_of_the_update_is_the_mean_over_all_rows():
    from aucmax.experiments.vrspam_figure import Update

    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3 == 0
    p, means = y.mean(), (X[y].mean(axis=0), X[~y].mean(axis=0))

    def G(w, x, positive):
        if positive:
            return 2 * (1 - p) * (w @ x - w @ means[1] - 1) * x
        return 2 * p * (w @ x - w @ means[0] + 1) * x

    w, snapshot = rng.normal(size=(2, 3))
    plain = np.array([G(w, x, t) for x, t in zip(X, y, strict=True)])
    reduced = plain - np.array([G(snapshot, x, t) for x, t in zip(X, y, strict=True)])
    for updates, at in ((plain, None), (reduced, snapshot)):
        expected = np.mean(np.sum((updates - updates.mean(axis=0)) ** 2, axis=1))
        assert Update(X, y).variance(w, at) == pytest.approx(expected)


def test_the_command_line(run, tmp_path):
    code, text, err = run("--list")
    assert (code, err) == (0, "")
    for name, spec in CATALOGUE.items():
        assert name in text
        assert spec.title.split(":")[0] in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())
    entries = {entry["name"]: entry for entry in json.loads(run("--list", "--json")[1])}
    assert entries["spam-table"]["here"] == ["diabetes", "fourclass"]
    assert "a9a" in entries["spam-table"]["missing"]
    for arguments, message in (
        ((), "name a table or figure to regenerate"),
        (("table-9",), "no table or figure 'table-9'; there are spam-table,"),
        (("spam-table", "--data", "iris"), "no 'iris' in spam-table; there are diabetes,"),
        (("all", "--data", "diabtes"), "no 'diabtes' in any of them; there are diabetes,"),
        (("spam-table", "--data", ","), "--data names no data set"),
        (("sadmm-l1",), "none of its data sets can be read here (ccat, astro-physics,"),
        (("crossing", "--tune-rows", "100"), "--tune-rows is for tables; crossing is a figure"),
        (("sadmm-l1", "--protocol", "authors"), "--protocol is for tables"),
    ):
        code, text, err = run(*arguments, "-o", tmp_path / "out")
        assert (code, text) == (2, "")
        assert message in err
        assert err.count("\n") == 1
