"""``aucmax compare``: the same splits for all, honest tests, and a row for whatever fails."""

import functools
import itertools
import json
import re
from html import unescape

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax import AUCClassifier, metrics
from aucmax.data.labelled import Labelled
from aucmax.experiments import runs as fits
from aucmax.experiments.methods import CONTESTANTS, Task
from aucmax.experiments.other_measures import OtherMeasures, measures_of
from aucmax.experiments.paired import resampled_test
from aucmax.experiments.runs import Contestant, Split, SplitResult, compared
from aucmax.metrics.influence import Scores
from aucmax.solvers import ACCURACY_SOLVERS, SOLVERS
from specification import takes

pytestmark = pytest.mark.usefixtures("few_penalties")


@pytest.fixture
def report(run):
    """Run compare with --json; give what it prints."""

    def report(*arguments):
        code, out, err = run("compare", *arguments, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return report


@pytest.fixture
def bad(bad):
    """Run compare on bad input; give its message."""
    return functools.partial(bad, "compare")


def made(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 4)) * [1, 2, 1, 1] + np.outer(y, [1, 1, 0.3, 0])
    return X, y


@pytest.fixture
def data(tmp_path):
    X, y = made()
    rows = ["a,b,c,d,label"] + [
        f"{','.join(map(repr, row.tolist()))},{('no', 'yes')[t]}"
        for row, t in zip(X, y, strict=True)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def by_name(result):
    return {entry["name"]: entry for entry in result["solvers"]}


# ---- numbers


def test_every_number_is_that_of_a_fit_to_the_same_split(data, report):
    settings = ("--splits", 3, "--test-size", 0.25, "--seed", 5, "--alpha", 0.1)
    result = report(data, *settings, "--standardize", 0.5, "--solvers", "exact,spam,logistic")
    assert (result["rows"], result["features"], result["positive"]) == (300, 4, "yes")
    assert (result["training_rows"], result["test_rows"]) == (225, 75)
    X, y = made()
    splits = list(StratifiedShuffleSplit(3, test_size=0.25, random_state=5).split(X, y))
    entries = by_name(result)
    for name in ("exact", "spam"):
        aucs, optimality, gaps = [], [], []
        for train, test in splits:
            model = AUCClassifier(0.1, standardize=0.5, solver=name, random_state=5)
            model.fit(X[train], y[train])
            best = AUCClassifier(0.1, standardize=0.5).fit(X[train], y[train]).objective_
            aucs.append(metrics.roc_auc(y[test], model.decision_function(X[test])))
            optimality.append(model.optimality_)
            gaps.append(model.objective_ / best - 1)
        entry = entries[name]
        assert entry["aucs"] == pytest.approx(aucs, abs=1e-12)
        assert entry["auc"] == pytest.approx(np.mean(aucs))
        assert entry["auc_std"] == pytest.approx(np.std(aucs, ddof=1))
        assert entry["auc_interval"]["auc"] == pytest.approx(entry["auc"])
        assert entry["optimality"] == pytest.approx(max(optimality), rel=1e-3, abs=1e-14)
        assert entry["gap"] == pytest.approx(max(gaps), rel=1e-3, abs=1e-12)
        assert entry["gap"] >= 0
        assert entry["seconds"] > 0
    assert entries["logistic"]["optimality"] is None
    assert entries["logistic"]["gap"] is None


def test_the_test_is_nadeau_and_bengios(data, report):
    result = report(data, "--solvers", "exact,spam,logistic", "--against", "logistic")
    assert result["against"] == "logistic"
    entries = by_name(result)
    assert "p_value" not in entries["logistic"]
    for name in ("exact", "spam"):
        d = np.subtract(entries[name]["aucs"], entries["logistic"]["aucs"])
        t = d.mean() / np.sqrt((1 / 5 + 60 / 240) * d.var(ddof=1))
        assert entries[name]["difference"] == pytest.approx(d.mean())
        assert entries[name]["statistic"] == pytest.approx(t)
        assert entries[name]["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 4))
        assert entries[name]["verdict"] in ("tie", "better", "worse")
        assert (entries[name]["verdict"] == "tie") == (entries[name]["p_value"] >= 0.05)


def test_one_split_is_tested_by_delong(data, report):
    result = report(data, "--splits", 1, "--solvers", "exact,logistic")
    assert result["test"] == "DeLong's paired test"
    logistic = by_name(result)["logistic"]
    assert logistic["auc_std"] is None
    around = logistic["auc_interval"]
    assert 0 < around["low"] < logistic["auc"] < around["high"] < 1
    assert 0 < logistic["p_value"] <= 1
    assert re.match(r"p is approximate with \d+ rows of a class", result["test_note"])
    assert logistic["difference"] == pytest.approx(logistic["auc"] - result["solvers"][0]["auc"])


def test_the_corrected_test_keeps_its_level():
    # the same rows go into many splits: without the correction p is far too small
    rng = np.random.default_rng(0)
    rejected = plain = 0
    for _ in range(300):
        rows = rng.normal(size=50)  # of each row, the difference of two equal learners
        splits = [rows[rng.permutation(50)[:10]].mean() for _ in range(10)]
        rejected += resampled_test(splits, 10 / 40).p_value < 0.05
        plain += stats.ttest_1samp(splits, 0).pvalue < 0.05
    assert plain > 45
    assert rejected < 25


def test_the_interval_is_that_of_the_test():
    differences, share = [0.01, 0.03, -0.005, 0.02], 0.25
    test = resampled_test(differences, share)
    moved = resampled_test(np.subtract(differences, test.low).tolist(), share)
    assert moved.p_value == pytest.approx(0.05)  # the end is what is just not rejected
    assert test.high - test.difference == pytest.approx(test.difference - test.low)


def test_differences_that_do_not_vary():
    assert resampled_test([0.0, 0.0], 0.25) == (0, 0, 0, 0, 1)
    same = resampled_test([0.1] * 3, 0.25)
    assert same.p_value == pytest.approx(0.25)
    assert same.statistic == np.inf
    assert same[:3] == pytest.approx((0.1, -1, 1))  # p is above 0.05: 0 must be within
    sure = resampled_test([0.1] * 6, 0.25)
    assert sure.p_value < 0.05
    assert sure[:3] == pytest.approx((0.1, 0.1, 0.1))
    swapped = resampled_test([-0.1, -0.2, -0.3], 0.25)
    assert swapped.p_value == pytest.approx(resampled_test([0.1, 0.2, 0.3], 0.25).p_value)


def test_the_same_seed_gives_the_same(data, report):
    def numbers(seed):
        result = report(data, "--solvers", "spam", "--seed", seed, "--splits", 2)
        return result["solvers"][0]["aucs"]

    assert numbers(3) == numbers(3)
    assert numbers(3) != numbers(4)


def test_curves_and_maps_compete(tmp_path, report):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)).round(3)
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=600) > 0.7
    path = tmp_path / "pair.csv"
    np.savetxt(path, np.column_stack([y, X]), "%g", ",", header="y,a,b", comments="")
    entries = by_name(report(path, "--target", "y", "--splits", 2, "--solvers", "tuned,additive"))
    assert entries["additive"]["auc"] > entries["tuned"]["auc"] + 0.2
    assert entries["additive"]["gap"] is None


# ---- other measures

MEASURES = {
    "average_precision": {},
    "precision_at_k": {"k": 9},
    "recall_at_k": {"k": 9},
    "recall_at_fpr": {"max_fpr": 0.1},
}


@pytest.fixture
def scored():
    """Make two copies of 60 rows, and runs that have scored the test rows of splits."""

    def scored(parts, groups=None, weight=None):
        X, y = (np.concatenate([copy, copy]) for copy in made(60))
        rows = Labelled(X, y > 0, weight, np.array([0, 1]), groups=groups)
        splits = [Split(i, np.arange(120), test, []) for i, test in enumerate(parts, 1)]
        runs = []
        for column in (0, 1):
            run = Contestant(str(column))
            run.results = [SplitResult(0.5, X[test, column], 1, 1, 1) for test in parts]
            runs.append(OtherMeasures(run, rows, splits, measures_of(rows, splits, 9, 0.1)))
        return rows, runs

    return scored


TASK = Task(1e-4, 0.0, "square", 0.0, tol=1e-4, max_iter=1000, seed=0)
UNITS = {"rows": None, "groups": np.arange(120) // 3}
WEIGHTS = {"equal": None, "weighted": np.arange(120) % 4 / 2}  # some are 0


@pytest.mark.parametrize("groups", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_the_measures_of_one_split_are_those_of_its_rows(scored, groups, weight):
    test = np.arange(30, 110)
    rows, runs = scored([test], groups, weight)
    by = {"sample_weight": weight, "groups": groups}
    by = {name: None if of_row is None else of_row[test] for name, of_row in by.items()}
    y, a, b = rows.positive[test], rows.X[test, 0], rows.X[test, 1]
    for name, setting in MEASURES.items():
        interval = getattr(metrics, f"{name}_interval")(y, a, **setting, **by)
        assert runs[0].intervals[name] == pytest.approx(interval, rel=1e-9)
        paired = getattr(metrics, f"{name}_test")(y, a, b, **setting, **by)
        assert runs[0].against(runs[1])[name] == pytest.approx(paired)
    of_auc = compared(runs[0].run, runs[1].run, rows, runs[0].parts, TASK)
    assert of_auc[:3] == metrics.auc_difference(y, a, b, **by)
    assert of_auc.p_value == metrics.auc_test(y, a, b, **by).p_value


def test_a_row_that_several_splits_test_counts_once(scored):
    test, rest = np.arange(60), np.arange(60, 120)
    _, (single, _) = scored([test])
    _, (copies, _) = scored([test] * 4)
    _, (disjoint, _) = scored([test, rest])
    for name, interval in single.intervals.items():
        assert copies.intervals[name] == pytest.approx(interval, rel=1e-9)
        mean = disjoint.intervals[name]
        assert mean.value == pytest.approx(interval.value)
        assert mean.std_error == pytest.approx(interval.std_error / np.sqrt(2))
    # equal halves have the average precision of the whole, and their rows move it as far
    _, (whole, _) = scored([np.arange(120)])
    name = "average_precision"
    assert disjoint.intervals[name] == pytest.approx(whole.intervals[name], rel=1e-9)


def test_a_group_that_several_splits_test_counts_once(scored):
    parts = np.arange(0, 120, 2), np.arange(1, 120, 2)
    _, (by_rows, _) = scored(parts)
    _, (by_groups, _) = scored(parts, np.arange(120) // 2)
    for name, moved in by_groups.intervals.items():
        of_parts = [influence_of(name, by_groups, part) for part in parts]
        assert moved.std_error == pytest.approx(np.linalg.norm(np.add(*of_parts) / 2))
        assert by_rows.intervals[name].std_error != pytest.approx(moved.std_error)


def influence_of(name, runs, part):
    """How far each row of a part moves a measure."""
    scores = Scores(runs.rows.positive[part], None, runs.rows.X[part, 0])
    return runs.measures.influences[name](scores).moved


def test_other_measures_are_tested_over_the_splits(data, report, run):
    settings = ("--solvers", "exact,spam", "--splits", 3, "--k", 12, "--fpr", 0.1)
    result = report(data, *settings)
    assert (result["k"], result["fpr"], result["confidence"], result["unit"]) == (
        12, 0.1, 0.95, "row",
    )  # fmt: skip
    X, y = made()
    splits = StratifiedShuffleSplit(3, test_size=0.2, random_state=0).split(X, y)
    values = []
    for train, test in splits:
        models = (AUCClassifier(1e-4, standardize=0, solver=name, random_state=0)
                  for name in ("spam", "exact"))  # fmt: skip
        scores = [model.fit(X[train], y[train]).decision_function(X[test]) for model in models]
        values.append([metrics.average_precision(y[test], score) for score in scores])
    spam = by_name(result)["spam"]
    mean = spam["intervals"]["average_precision"]["value"]
    assert mean == pytest.approx(np.mean(values, axis=0)[0])
    expected = resampled_test(np.subtract(*np.transpose(values)).tolist(), 0.25)
    assert list(spam["measures"]["average_precision"].values()) == pytest.approx(expected)
    code, text, _ = run("compare", data, *settings)
    assert code == 0
    shown = spam["intervals"]["recall_at_k"]
    assert re.search(rf"^recall@12 .*\n.*\nspam +{shown['value']:.4f}  {shown['low']:.4f} to",
                     text, re.MULTILINE)  # fmt: skip
    assert "recall at FPR ≤ 0.1" in text


def test_groups_are_told(data, run):
    settings = ("--splits", 1, "--solvers", "exact,univariate", "--groups", "a")
    code, text, _ = run("compare", data, *settings)
    assert code == 0
    assert " ".join(text.split()).count("on the test rows, with independent groups;") == 2


def test_k_is_the_number_of_positives_that_are_tested(data, bad, report, monkeypatch):
    result = report(data, "--splits", 2, "--solvers", "exact")
    assert result["k"] == round(0.2 * result["positives"])
    monkeypatch.setattr(fits, "timed_fit", None)  # nothing is fitted before settings are checked
    assert "k must be from 1 to the number of rows, 60; got 61" in bad(data, "--k", 61)
    assert "fpr must" in bad(data, "--fpr", 2)


# ---- what does not run


def test_everything_runs_by_default_but_misfits(data, run, report):
    result = report(data, "--splits", 1)
    entries = by_name(result)
    assert list(entries) == [name for name in CONTESTANTS if name != "additive"]
    for name, kind in SOLVERS.items():
        fits = takes(kind, "square")
        assert entries[name]["status"] == ("done" if fits else "unfit")
        assert (entries[name].get("gap") is not None) == (fits and not kind.own)
    for name in (*ACCURACY_SOLVERS, "tuned", "logistic", "least_squares"):
        assert entries[name]["status"] == "done"
        assert entries[name]["gap"] is None
    assert entries["newton"]["error"] == "takes the loss squared_hinge or logistic only"
    code, out, err = run("compare", data, "--splits", 2, "--l1-ratio", 0.5, "--solvers",
                         "exact,coordinate_descent")  # fmt: skip
    assert (code, err) == (0, "")
    assert out.count("exact") == 1  # said once
    assert "Left out: exact (takes l1_ratio=0 only)." in out
    hinge = by_name(report(data, "--splits", 2, "--loss", "squared_hinge", "--solvers",
                           "newton,logistic"))  # fmt: skip
    assert hinge["newton"]["gap"] == pytest.approx(0, abs=1e-6)


@pytest.mark.usefixtures("undrawn")
def test_a_failure_does_not_stop_the_rest(data, run, monkeypatch):
    real = Task.model

    class Broken:
        def set_params(self, **_):
            return self

        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("no\nluck")

    monkeypatch.setattr(
        Task,
        "model",
        lambda s, name, **other: Broken() if name == "spam" else real(s, name, **other),
    )
    page = data.parent / "c.html"
    code, out, err = run("compare", data, "--solvers", "spam,exact", "--html", page)
    assert code == 0
    assert err == "warning: spam: no luck\n"
    assert not re.search(r"^spam ", out, re.MULTILINE)
    assert re.search(r"^exact +0\.\d{4}", out, re.MULTILINE)
    assert "no luck" in page.read_text(encoding="utf-8")
    code, out, err = run("compare", data, "--solvers", "spam")
    assert (code, out) == (2, "")
    assert err == "error: none of the algorithms ran; spam: no luck\n"


def test_what_did_not_converge_is_told(data, run):
    few = ("--solvers", "cutting_plane", "--loss", "hinge", "--max-iter", 1, "--splits", 1)
    code, _, err = run("compare", data, *few)
    assert code == 0
    assert "warning: cutting_plane: cutting planes stopped after 1 planes" in err


def test_bad_input(data, bad, monkeypatch, tmp_path):
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    assert "no algorithm 'exactly'; there are exact," in bad(data, "--solvers", "exactly")
    assert "--solvers names no algorithm" in bad(data, "--solvers", ",")
    assert "not among those compared" in bad(data, "--solvers", "spam", "--against", "exact")
    assert "--against: no algorithm" in bad(data, "--against", "x")
    assert "--test-size must lie between" in bad(data, "--test-size", 1)
    assert "alpha" in bad(data, "--alpha", -1)
    assert "--loss must be one of" in bad(data, "--loss", "huge")
    assert "there is no such file, and no data set named 'diabets'" in bad("diabets")
    assert "no such file" in bad(tmp_path / "none.csv")
    assert "no file diabetes" in bad("diabetes")
    assert "--target is for files; diabetes is a data set" in bad("diabetes", "--target", "x")
    assert "must end in .html" in bad(data, "--html", tmp_path / "a.txt")
    assert "--binarize third" in bad(data, "--binarize", "third")
    (tmp_path / "one.svm").write_text("1 1:2\n" * 30 + "0 1:1\n")
    assert "two rows of each class" in bad(tmp_path / "one.svm")
    (tmp_path / "two.svm").write_text("1 1:2\n" * 300 + "0 1:1\n" * 2)
    assert "of one class only" in bad(tmp_path / "two.svm", "--test-size", 0.01)


# ---- data


def test_data_sets_by_name_and_two_classes_out_of_many(report, bad, monkeypatch, tmp_path):
    monkeypatch.setenv("AUCMAX_DATA", str(tmp_path))
    monkeypatch.setenv("AUCMAX_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], [555, 307])
    X = rng.random((862, 2)) + 0.2 * y[:, None]
    dump_svmlight_file(X, y, str(tmp_path / "fourclass_scale"), zero_based=False)
    exact = ("--solvers", "exact", "--splits", 2)
    result = report("fourclass", *exact, "--scale", "unit-norm")
    assert (result["data"], result["rows"], result["positives"]) == ("fourclass", 862, 307)
    assert result["scale"] == "unit-norm"
    turned = report("fourclass", *exact, "--positive", -1)
    assert turned["positives"] == 555
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 2)) + y[:, None]
    dump_svmlight_file(X, y, str(tmp_path / "three.svm"), zero_based=False)
    message = bad(tmp_path / "three.svm", *exact)
    assert "--positive LABEL" in message
    assert "--binarize even-odd" in message
    assert report(tmp_path / "three.svm", *exact, "--positive", 2)["positives"] == 100
    even = report(tmp_path / "three.svm", *exact, "--binarize", "even-odd")
    assert (even["positives"], even["positive"]) == (200, "even")
    half = report(tmp_path / "three.svm", *exact, "--binarize", "random-halves:3")
    assert half["positives"] == 100
    both = (*exact, "--binarize", "even-odd", "--positive", 2)
    assert "leave out --positive" in bad(tmp_path / "three.svm", *both)


# ---- screen and page


@pytest.mark.exhaustive
def test_the_screen_fits_and_shows_the_numbers(data, run, report):
    few = ("--splits", 2, "--solvers", "exact,vrspam,newton,pegasos,logistic")
    result = report(data, *few)
    code, out, err = run("compare", data, *few)
    assert (code, err) == (0, "")
    assert all(len(line) <= 80 for line in out.splitlines())
    for entry in result["solvers"]:
        if entry["status"] == "done":
            row = next(line for line in out.splitlines() if line.startswith(entry["name"]))
            assert f"{entry['auc']:.4f}" in row
    assert "Nadeau and Bengio" in out
    assert "without correction for the number of tests" in " ".join(out.split())


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.usefixtures("undrawn")
def test_the_page_has_it_all(data, report, splits):
    page = data.parent / "c.html"
    names = "exact,vrspam,newton,logistic"
    result = report(data, "--splits", splits, "--solvers", names, "--html", page)
    text = page.read_text(encoding="utf-8")
    for entry in result["solvers"]:
        if entry["status"] == "done":
            values = [entry["auc"], *(of["value"] for of in entry["intervals"].values())]
            assert all(f">{value:.4f}<" in text for value in values)
    assert text.count("<figure") == 5
    assert "Which can be told apart" in text
    assert "Left out: newton (takes the loss squared_hinge or logistic only)." in unescape(text)
    assert ("one standard deviation" in text) == (splits > 1)
    assert "rows.csv: 300 rows, 4 features" in text


@pytest.mark.parametrize("splits", [1, 8])
@pytest.mark.usefixtures("undrawn")
def test_bars_and_intervals_say_the_same_of_every_pair(tmp_path, report, splits):
    # one feature is the noise to take from the other, which so strong a penalty forbids
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [200, 100])
    noise = 3 * rng.normal(size=300)
    X = np.c_[noise + y + 0.7 * rng.normal(size=300), noise]
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    page, settings = tmp_path / "c.html", ("--alpha", 3, "--splits", splits)
    solvers = ("--solvers", "tuned,oam,rda,pegasos")
    result = report(tmp_path / "rows.svm", *settings, *solvers, "--html", page)
    (behind,) = (
        json.loads(found)
        for found in re.findall(
            r'<script type="application/json">(.*?)</script>', page.read_text(encoding="utf-8")
        )
        if "Which can be told apart" in found
    )
    dots, *bars = behind["lines"]
    best, *others = names = behind["names"]
    apart = {
        frozenset((best, name))
        for i, name in enumerate(others, 1)
        if not dots["low"][i] <= 0 <= dots["high"][i]
    }
    joined = set()
    for bar in bars:
        first, last = round(bar["y"][0] + 0.2), round(bar["y"][1] - 0.2)
        joined |= set(map(frozenset, itertools.combinations(names[first : last + 1], 2)))
    assert apart == {frozenset((best, "rda")), frozenset((best, "pegasos"))}
    assert joined == {frozenset(("tuned", "oam")), frozenset(("rda", "pegasos"))}
    if splits > 1:  # by hand: Bonferroni's p-values and intervals of six pairs
        aucs = {name: by_name(result)[name]["aucs"] for name in names}
        for i, name in enumerate(others, 1):
            d = np.subtract(aucs[name], aucs[best])
            error = np.sqrt((1 / splits + 60 / 240) * d.var(ddof=1))
            reach = stats.t.isf(0.05 / 6 / 2, splits - 1) * error
            assert dots["low"][i] == pytest.approx(d.mean() - reach, rel=1e-3)
            assert dots["high"][i] == pytest.approx(d.mean() + reach, rel=1e-3)
            p = 2 * stats.t.sf(abs(d.mean() / error), splits - 1)
            assert (6 * p < 0.05) == (frozenset((best, name)) in apart)


def test_help_has_an_example(run):
    code, out, _ = run("compare", "--help")
    assert code == 0
    assert "aucmax compare diabetes" in out
