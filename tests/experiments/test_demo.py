"""The demo: its claims, computed, and its one screen."""

import contextlib
import csv
import io
import json
import re

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from aucmax import AUCClassifier, AUCClassifierCV, metrics
from aucmax.cli import main
from aucmax.experiments import demo, solver_gaps
from aucmax.metrics.scored import Scored
from aucmax.report.page import plain


@pytest.fixture(scope="module")
def seen():
    with pytest.MonkeyPatch.context() as patch:  # three are enough for the rival
        patch.setattr("aucmax.experiments.rivals.GRID", [1e-2, 1.0, 1e2])
        return demo.computed(0)


def printed(*words):
    """What a command prints, 80 columns wide, without a word on stderr."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main(list(words))
    assert (end.value.code, err.getvalue()) == (0, "")
    return out.getvalue()


def test_the_verdict_is_that_of_the_test(seen):
    kinds = [result.data.split(",")[0] for result in seen.comparison]
    assert kinds == ["payments", "digits"]
    for result in seen.comparison:
        ours, theirs = result.aucmax, result.logistic_regression
        assert result.test.difference == pytest.approx(ours.auc.auc - theirs.auc.auc, abs=1e-12)
        if result.test.p_value >= 0.05:
            assert result.test.verdict == "tie"
        else:
            assert result.test.verdict == ("better" if result.test.difference > 0 else "worse")
        for side in (ours, theirs):
            assert 0.9 < side.auc.low < side.auc.auc < side.auc.high < 1.0
        times = theirs.seconds / ours.seconds
        assert result.times_as_fast == pytest.approx(times)


def test_ours_is_the_tuned_classifier(seen):
    sets = (demo.payments(0)[0], demo.rare_digits(0))
    for data, result in zip(sets, seen.comparison, strict=True):
        folds = StratifiedKFold(demo.FOLDS, shuffle=True, random_state=0)
        tuned = AUCClassifierCV(losses=demo.LOSSES, cv=folds).fit(data.X, data.y)
        ours = result.aucmax
        assert ours.alpha == pytest.approx(tuned.alpha_)
        assert ours.standardize == tuned.standardize_
        assert ours.settings_tried == np.isfinite(tuned.auc_path_[0]).sum()
        auc = metrics.roc_auc(data.y_test, tuned.decision_function(data.X_test))
        assert ours.auc.auc == pytest.approx(auc, abs=1e-9)


def test_positives_are_rare_and_no_row_is_on_both_sides():
    for data in (demo.payments(3)[0], demo.rare_digits(3)):
        assert data.y.mean() < 0.06
        assert data.y_test.mean() == pytest.approx(data.y.mean(), rel=0.05)
        rows = np.concatenate([data.X, data.X_test])
        assert len(np.unique(rows, axis=0)) == len(rows)


def test_alerts_are_counted(seen):
    is_positive, score, *_ = seen.held_out["aucmax"]
    order = np.argsort(-score, kind="stable")
    share = is_positive.mean()
    for at in seen.alerts:
        hits = np.count_nonzero(is_positive[order[: at.alerts]])
        assert at.hits == hits
        assert at.recall == pytest.approx(hits / is_positive.sum())
        assert at.lift == pytest.approx(hits / at.alerts / share)
        assert at.false_alarms_per_hit == pytest.approx((at.alerts - hits) / hits)


def test_no_hit_is_no_division():
    (first, *_) = demo.alerts(Scored(np.arange(301) == 300, -np.arange(301.0)))
    assert (first.hits, first.false_alarms_per_hit) == (0, None)


def test_deleting_and_merging_are_exact(seen):
    deletion, merging = seen.deletion, seen.merging
    assert deletion.difference < 1e-9
    assert deletion.had_moved > 1e-3  # it did something
    assert merging.difference < 1e-9
    assert merging.bytes_sent < merging.bytes_of_rows / 50
    data, customer = demo.payments(0)
    gone = customer == deletion.customer
    assert (gone.sum(), data.y[gone].sum()) == (deletion.rows, deletion.frauds)
    assert deletion.frauds == np.bincount(customer, data.y).max()
    assert merging.auc == pytest.approx(seen.comparison[0].aucmax.auc.auc, abs=1e-9)


def test_digits_that_agree():
    assert [demo.digits_that_agree(gap) for gap in (0.0, 1e-16, 3e-14, 2e-3, 1.0)] == [
        15,
        15,
        13,
        2,
        0,
    ]


def test_the_screen_is_one_screen(seen):
    text = plain(seen.page())
    lines = text.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    for command in demo.NEXT:
        assert f"  {command}" in lines
    assert [line[0] for line in lines if re.match(r"\d  ", line)] == list("12345")
    assert "generated" in lines[0]
    for result in seen.comparison:
        assert f"; {result.test.verdict}, p " in text
        for side in (result.aucmax, result.logistic_regression):
            assert f"{side.auc.auc:.4f}" in text


@pytest.fixture
def few(monkeypatch):
    """Fewer rows, for what does not depend on them."""
    monkeypatch.setattr(demo, "PAYMENTS", 5000)
    monkeypatch.setattr(demo, "CUSTOMERS", 200)


@pytest.mark.usefixtures("undrawn", "few_penalties")
def test_the_command_prints_that_text(few, tmp_path):
    screen = printed("demo", "--html", str(tmp_path / "d.html")).splitlines()
    text = plain(demo.computed(0).page()).splitlines()
    changing = re.compile(r" +(\d+\.\d\d|-?\d*\.?\d+ (times|ms|seconds))")
    shown = zip(text, screen[: len(text)], strict=True)
    for expected, line in [[changing.sub("", line).split() for line in pair] for pair in shown]:
        assert line == expected
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 1
    assert '"positives": 80' in page
    report = json.loads(printed("demo", "--json"))
    assert report["next"] == list(demo.NEXT)
    assert report["comparison"][0]["test_rows"] == 2000


def test_the_next_commands_work(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4 == 0
    X = rng.normal(size=(80, 2)) + np.outer(y, [1.0, 0.0])
    rows = [f"{a},{b},{int(label)}" for (a, b), label in zip(X, y, strict=True)]
    (tmp_path / "your.csv").write_text("\n".join(["a,b,label", *rows[:50]]))
    (tmp_path / "holdout.csv").write_text("\n".join(["a,b,label", *rows[50:]]))
    monkeypatch.chdir(tmp_path)
    for command in demo.NEXT:
        with pytest.raises(SystemExit) as end:
            main(command.split()[1:])
        assert end.value.code == 0, capsys.readouterr().err
    assert (tmp_path / "page.html").stat().st_size > 1000


def test_the_files_of_the_tour(tmp_path):
    assert printed("demo", "--files", str(tmp_path)).count(" written\n") == 3
    again = tmp_path / "again"
    again.mkdir()
    printed("demo", "--files", str(again))
    heads = {}
    for name in ("payments.csv", "june.csv", "july.csv"):
        text = (tmp_path / name).read_bytes()
        assert text == (again / name).read_bytes()
        heads[name], *rows = csv.reader(io.StringIO(text.decode()), delimiter=";")
        assert {len(row) for row in rows} == {len(heads[name])}
        if name != "july.csv":  # only frauds have a chargeback
            fraud = [row[-1] == "yes" for row in rows]
            assert fraud == [row[-2] != "" for row in rows]
            assert 0.005 < np.mean(fraud) < 0.02
    assert heads["july.csv"] == heads["june.csv"][:-2] == heads["payments.csv"][:-2]
    assert printed("demo", "--files", str(again), "--seed", "1")
    assert (tmp_path / "june.csv").read_bytes() != (again / "june.csv").read_bytes()
    with pytest.raises(SystemExit) as end:
        main(["demo", "--files", str(again), "--json"])
    assert end.value.code == 2


# ---- for research


@pytest.fixture(scope="module")
def gaps():
    return json.loads(printed("demo", "--research", "--json"))


def test_the_gaps_are_what_is_claimed(gaps):
    assert [result["data"] for result in gaps["gaps"]] == ["breast cancer", "digits, 8"]
    for result in gaps["gaps"]:
        for gap in result["batch"].values():
            assert abs(gap) < 1e-8
        last, middle, first = (str(n) for n in sorted(solver_gaps.PASSES, reverse=True))
        assert result["VRSPAM"][last] < 0.1 * result["SPAM"][last]
        assert result["VRSPAM"][middle] < result["SPAM"][middle]
        assert result["VRSPAM"][last] < result["VRSPAM"][middle] < result["VRSPAM"][first]


def test_the_gaps_fit_on_a_screen(gaps):
    on = [
        solver_gaps.GapsOn(**{**result, **_whole(result)}, courses={"exact": ([1.0], [1e-3])})
        for result in gaps["gaps"]
    ]
    report = solver_gaps.Gaps(seed=gaps["seed"], gaps=on, seconds=gaps["seconds"])
    lines = plain(report.page()).splitlines()
    assert max(map(len, lines)) <= 80
    for result in gaps["gaps"]:
        assert any(f"{result['SPAM']['20']:.1e}" in line for line in lines)


def _whole(result):
    """Numbers of passes as numbers again."""
    return {name: {int(n): gap for n, gap in result[name].items()} for name in ("SPAM", "VRSPAM")}


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_the_reference_is_the_objective(gamma):
    rng = np.random.default_rng(1)
    y = (rng.random(40) < 0.3).astype(int)
    X = rng.normal(size=(40, 4)) * [1, 5, 0.2, 0] + np.outer(y, [1, 1, 0, 0])
    pairs = solver_gaps.AllPairs(X, y, 0.05, gamma)
    model = AUCClassifier(0.05, standardize=gamma, solver="exact").fit(X, y)
    assert pairs.n_pairs == y.sum() * (40 - y.sum())
    assert pairs.objective(model.coef_[0]) == pytest.approx(model.objective_, rel=1e-12)
    assert abs(pairs.gap(model.coef_[0])) < 1e-12
    assert pairs.gap(1.1 * model.coef_[0]) > 1e-4
