"""The engine, the store of results and the tables of `python -m benchmarks`; nothing is timed."""

import importlib
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks import large_files, messy, rare_events, regression
from benchmarks.__main__ import main, summaries
from benchmarks.common import engine
from benchmarks.common.data import Task, generated_dense, generated_sparse, insurance
from benchmarks.common.results import FIELDS, FOLDER, Results
from benchmarks.peers import fits, page, run
from benchmarks.peers.methods import Method
from benchmarks.peers.summary import Cell, best_auc, cells, fastest, ratio, slope

from aucmax import datasets, metrics

SIZES = (10, 2, 20)


def line(method, auc, seconds, repeat=0, setting="1", **more):
    """A line of the CSV as it is read back."""
    return {
        "question": "fit", "data": "letter", "rows": "10", "features": "2", "stored": "20",
        "method": method, "setting": setting, "repeat": str(repeat), "auc": str(auc),
        "seconds": str(2 * seconds), "processor_seconds": str(seconds), "memory_mb": "1",
        "note": "",
    } | more  # fmt: skip


def test_the_fastest_is_sought_among_those_that_are_near_the_best():
    lines = [
        line("slow", 0.9, 3.0),
        line("near", 0.8991, 2.0),
        line("near", 0.8992, 1.5, setting="2"),
        line("quick", 0.8989, 0.1),
    ]
    ((_, found),) = cells(lines, "fit").items()
    assert best_auc(found) == 0.9
    chosen = fastest(found, 0.9)
    assert (chosen.method, chosen.setting) == ("near", "2")
    assert fastest(found, 0.95) is None


def test_a_run_that_was_made_again_replaces_the_first():
    lines = [line("a", 0.8, 5.0), line("a", 0.9, 2.0), line("a", 0.7, 4.0, repeat=1)]
    (cell,) = cells(lines, "fit")["letter"]
    assert cell.processor_seconds == {0: 2.0, 1: 4.0}
    assert cell.auc == pytest.approx(0.8)


def test_a_ratio_is_the_median_over_the_repeats_that_both_have():
    ours, theirs = Cell("a", "", *SIZES), Cell("b", "", *SIZES)
    ours.seconds = {0: 1.0, 1: 10.0, 2: 1.0}
    theirs.seconds = {0: 3.0, 1: 20.0, 2: 5.0, 3: 100.0}
    assert ratio(theirs, ours, "seconds") == 3.0


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_slope_is_the_power_of_the_size(power):
    sizes = np.array([1e3, 1e4, 1e5])
    assert slope(sizes, 7 * sizes**power) == pytest.approx(power)


def test_the_table_tells_ratios_and_who_does_not_come_near():
    both = cells([line("square", 0.9, 1.0), line("LinearSVC", 0.9, 3.0)], "fit")
    text = page.duel_table(both, {"square"})
    assert "square, 1 s, .9000 | LinearSVC, 3 s, .9000 | 3.00 | 3.00 |" in text
    assert "faster on 1 of 1" in text
    apart = cells([line("square", 0.9, 1.0), line("LinearSVC", 0.8, 3.0)], "fit")
    assert "none; LinearSVC, 3 s, .8000 | – | – |" in page.duel_table(apart, {"square"})


# ---- the command and the store of results ------------------------------------------------


def test_the_command_lists_every_benchmark(capsys):
    main([])
    text = capsys.readouterr().out
    for name, summary in summaries().items():
        assert f"{name} " in text
        assert summary.endswith(".")
    with pytest.raises(SystemExit, match="no benchmark 'fits'; choose one of accuracy"):
        main(["fits"])


@pytest.mark.parametrize("name", summaries())
def test_benchmarks_find_what_they_import_from_aucmax(name):
    try:
        module = importlib.import_module(f"benchmarks.{name}")
    except ImportError as error:  # of a library that is not installed
        if (error.name or "").split(".")[0] in ("aucmax", "benchmarks"):
            raise
        pytest.skip(str(error))
    assert callable(module.main)


def test_all_files_of_results_have_one_form():
    for path in FOLDER.glob("*.csv"):
        assert tuple(Results(path).lines()[0]) == FIELDS


def test_a_run_that_is_kept_or_failed_is_not_made_again(tmp_path):
    results, made = Results(tmp_path / "runs.csv"), []

    def works(name, repeat, *lines):
        def work():
            made.append((name, repeat))
            return lines

        return {"data": "letter", "method": name, "repeat": repeat}, work

    good, bad = {"auc": 0.9}, {"note": "over 1 s"}
    wanted = [works("a", 0, good, good), works("b", 0, bad), works("b", 1, bad)]
    results.complete(wanted)
    assert made == [("a", 0), ("b", 0)]
    assert [(line["method"], line["auc"]) for line in results.lines()] == [
        ("a", "0.9"),
        ("a", "0.9"),
        ("b", ""),
    ]
    results.complete([*wanted, works("a", 1, good)])
    assert made[2:] == [("a", 1)]
    results.complete(wanted[:1], again=True)
    assert made[3:] == [("a", 0)]


# ---- the engine --------------------------------------------------------------------------


def test_runs_take_turns_and_the_first_round_is_not_counted():
    order = []

    def record(name):
        order.append(name)
        return len(order)

    results = engine.in_turn({name: partial(record, name) for name in "ab"}, 2)
    assert "".join(order) == "abbaab"
    assert results == {"a": [4, 5], "b": [3, 6]}


def test_a_ratio_of_times_is_the_median_over_the_rounds():
    assert engine.ratio([1.0, 9.0, 4.0], [1.0, 1.0, 2.0]) == 2.0


def test_a_measured_call_tells_what_memory_it_took():
    total, spent = engine.measured(lambda: np.ones(4_000_000).sum())
    assert total == 4e6
    assert spent["memory_mb"] > 25


def test_a_regression_is_sought_in_the_package_of_each_version():
    assert regression.sources(".").joinpath("aucmax", "__init__.py").exists()
    names = subprocess.run(
        [sys.executable, "-c", "from benchmarks.regression import serve; serve()"],
        input='"moments, dense"\n"no such case"\n', capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert "square, dense" in names[0]
    assert "processor_seconds" in names[1]
    assert names[2] == "null"


# ---- runs in a child process -------------------------------------------------------------


class Model:
    """Scores by the first feature; 13 is no luck, and infinity takes for ever."""

    def __init__(self, setting):
        self.setting = setting

    def fit(self, X, y):
        if self.setting == 13.0:
            raise ValueError("no luck")
        while self.setting == np.inf:
            pass
        return self

    def decision_function(self, X):
        return X[:, 0]


@pytest.fixture
def task():
    X = np.arange(12.0)[:, None]
    y = np.where(X[:, 0] > 5, 1, -1)
    return Task("small", X, y, X, y)


forks = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def in_child(task, *settings):
    """Fit at these settings in a child process with a limit of a second."""
    method = Method("m", lambda setting, rows: Model(setting), settings)
    return list(engine.in_child(fits, task, method, limit=1.0))


@forks
def test_a_run_tells_what_each_setting_gives(task):
    lines = in_child(task, 1.0, 2.0)
    assert [(line["setting"], line["auc"]) for line in lines] == [
        (1.0, "1.000000"),
        (2.0, "1.000000"),
    ]


@forks
def test_a_run_that_fails_is_told_with_the_reason(task):
    *lines, last = in_child(task, 1.0, 2.0, 13.0)
    assert len(lines) == 2
    assert last == {"note": "ValueError: no luck"}


@pytest.mark.exhaustive
@forks
def test_a_run_ends_at_the_limit(task):
    *lines, last = in_child(task, 1.0, 2.0, np.inf)
    assert len(lines) == 2
    assert last == {"note": "over 1 s"}


@pytest.mark.exhaustive
def test_a_process_that_starts_anew_sends_its_lines_too():
    (line,) = engine.in_child(spawned, 3, limit=60.0, start="spawn")
    assert line == {"auc": 3}


def spawned(value):
    """Yield a line that only renews the limit, and one to keep."""
    yield {}
    yield {"auc": value}


def test_a_method_for_few_features_is_not_run_on_many(task):
    (only,) = run(lambda: task, Method("m", None, most_features=0), 1.0)
    assert only["note"] == "forms a matrix of all features: not run with more than 0 features"


@pytest.mark.parametrize(
    "make",
    [lambda: generated_dense(500, 4), lambda: generated_sparse(500, 60, 6), lambda: insurance(500)],
)
def test_generated_rows_hold_both_classes_and_a_signal(make):
    task = make()
    assert len(task.y) == 400
    assert task.X.shape == (400, task.X_test.shape[1])
    assert set(task.y) == set(task.y_test) == {-1, 1}


def test_sparse_rows_meet_no_feature_twice():
    X = generated_sparse(50, 60, 6).X
    assert (np.diff(X.indices.reshape(-1, 6)) > 0).all()


# ---- files larger than memory ------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Both files, as small as they get."""
    folder = tmp_path_factory.mktemp("large")
    large_files.write_parquet(folder / "rows.parquet", 25_000, 0)
    assert large_files.write_svmlight(folder / "rows.svm", 0, 0, rows=10_000) == 10_000
    return folder


@pytest.mark.parametrize("name", ["rows.parquet", "rows.svm"])
def test_files_have_a_rare_class_that_can_be_ranked(name, large):
    (_, _, passes, _, scores), *_ = large_files.ours("square", large / name, 10**8)
    assert passes >= 1
    rows = datasets.read(large / name, **large_files.target(large / name))
    assert set(rows.target) == {0, 1}
    assert 0.005 < rows.target.mean() < 0.15
    assert metrics.roc_auc(rows.target, scores(large_files.wide(rows.data))) > 0.8


@pytest.mark.parametrize(
    ("run", "passes"),
    [
        (large_files.reading, [1, 2]),
        pytest.param(
            partial(large_files.sgd, "hinge"),
            [0.25, 0.5, *range(1, 16)],
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_there_is_a_checkpoint_for_each_pass(run, passes, large):
    assert [at[2] for at in run(large / "rows.svm", 10**7)] == passes


def test_the_table_has_who_comes_near_first():
    shared = dict.fromkeys(FIELDS, "1") | dict(data="svm", setting="", note="")
    lines = [
        shared | dict(method="reading alone", auc="", seconds="2", passes="1"),
        shared | dict(method="a", auc="0.8", seconds="3", passes="1"),
        shared | dict(method="a", auc="0.8995", seconds="4", passes="2"),
        shared | dict(method="a", auc="0.9", seconds="5", passes="3"),
        shared | dict(method="b", auc="0.85", seconds="1", passes="1"),
        shared | dict(method="c", auc="", seconds="", passes="", note="not here"),
    ]
    text = large_files.table(lines)
    assert "best AUC 0.9000" in text
    assert "| reading alone | 1 |  | 2 | 1 | 1 | 1 |" in text
    assert "| a | 2 | 0.8995 | 4 |" in text
    assert "| b | 1 | 0.8500, not near | 1 |" in text
    assert "| c | not here |" in text


# ---- a messy file ------------------------------------------------------------------------


def test_a_messy_file_repeats_a_block_and_is_read_by_both(tmp_path):
    path = messy.write(tmp_path / "messy.csv", 2_000)
    assert len(path.read_text().splitlines()) == 1 + 2_000
    few = messy.write(tmp_path / "few.csv", messy.WARM_ROWS)
    by_pyarrow, rows = (read(few) for _, read in messy.READERS.values())
    assert by_pyarrow.num_rows == len(rows.target) == messy.WARM_ROWS


@pytest.mark.parametrize("words", messy.REFUSED.values())
def test_line_2_refutes_the_options(words, tmp_path, bad):
    few = messy.write(tmp_path / "few.csv", 500)
    assert "merchant" in bad("train", few, *words, "-o", tmp_path / "none.aucmax")


def test_rates_are_relative_to_the_parser_of_the_same_repeat():
    lines = [
        line(method, "", seconds, repeat, question="read", data="450 MB", machine="here")
        for method, all_seconds in ((messy.PARSER, [1, 3, 2]), ("aucmax", [2, 4, 8]))
        for repeat, seconds in enumerate(all_seconds, 1)
    ]
    refused = line("a weight of words", "", 5, 1, question="refuse", data="450 MB", machine="here")
    text = "\n".join(messy.table([*lines, refused]))
    assert "read: 450 MB, 10 rows. here." in text
    assert "| pyarrow.csv | 3 | 4.00 | 2.00 | 1.00 | 1.00 | 1 |" in text
    assert "| aucmax | 3 | 8.00 | 4.00 | 0.50 | 0.50 | 1 |" in text
    assert "| a weight of words | 1 | 10.00 | 5.00 |  |  | 1 |" in text


@pytest.mark.exhaustive
def test_tasks_of_two_classes_of_a_suite_are_run(monkeypatch, tmp_path, capsys):
    """OpenML's package has these functions; the tables would come from its server."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=600), "city": rng.choice(["Bonn", "Ulm"], 600)})
    X.loc[::7, "age"] = np.nan
    y = pd.Series(
        np.where(X.age.fillna(0.0) + rng.normal(size=600) > 1, "ill", "well"), dtype="category"
    )
    table = SimpleNamespace(get_data=lambda target: (X, y, [False, True], [*X]))

    def task(number):
        labels = ["ill", "well"] if number == 31 else ["a", "b", "c"]
        return SimpleNamespace(class_labels=labels, target_name="y", get_dataset=lambda: table)

    openml = SimpleNamespace(
        study=SimpleNamespace(get_suite=lambda name: SimpleNamespace(tasks=[3, 31])),
        tasks=SimpleNamespace(get_task=task),
    )
    monkeypatch.setitem(sys.modules, "openml", openml)
    path = tmp_path / "results.csv"
    rare_events.main(
        suite_name="OpenML-CC18", splits=1, methods=["aucmax, moments only", "LightGBM, default"],
        results=path,
    )  # fmt: skip
    runs = pd.read_csv(path)
    assert {*runs.data} == {"openml 31"}
    assert runs[runs.method == "aucmax, moments only"].auc.min() > 0.6
