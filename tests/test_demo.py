"""The demo: its claims, computed, and its one screen."""

import contextlib
import io
import json
import re

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from aucmax import AUCClassifier, AUCClassifierCV, metrics
from aucmax.cli import main
from aucmax.cli.demo import FOLDS, LOSSES, NEXT, PASSES, AllPairs, data_sets


@pytest.fixture(scope="module")
def report():
    return json.loads(printed("demo", "--json", "--seed", "0"))


@pytest.fixture(scope="module")
def screen():
    return printed("demo", "--seed", "0")


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


def test_the_verdict_is_that_of_the_test(report):
    assert [result["data"] for result in report["comparison"]] == ["breast cancer", "digits, 8"]
    for result in report["comparison"]:
        ours, theirs = result["aucmax"], result["logistic_regression"]
        assert result["difference"] == pytest.approx(ours["auc"] - theirs["auc"], abs=1e-12)
        if result["p_value"] >= 0.05:
            assert result["verdict"] == "tie"
        else:
            assert result["verdict"] == ("better" if result["difference"] > 0 else "worse")
        for side in (ours, theirs):
            assert 0.9 < side["low"] < side["auc"] < side["high"] < 1.0
            assert side["seconds"] > 0


def test_ours_is_the_tuned_classifier(report):
    for data, result in zip(data_sets(0), report["comparison"], strict=True):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        tuned = AUCClassifierCV(losses=LOSSES, cv=folds).fit(data.X, data.y)
        ours = result["aucmax"]
        assert ours["alpha"] == pytest.approx(tuned.alpha_)
        assert ours["standardize"] == tuned.standardize_
        assert ours["settings_tried"] == np.isfinite(tuned.auc_path_[0]).sum()
        auc = metrics.roc_auc(data.y_test, tuned.decision_function(data.X_test))
        assert ours["auc"] == pytest.approx(auc, abs=1e-9)


def test_the_gaps_are_what_is_claimed(report):
    for result in report["gaps"]:
        for gap in result["batch"].values():
            assert abs(gap) < 1e-8
        last, middle, first = (str(n) for n in sorted(PASSES, reverse=True))
        assert result["VRSPAM"][last] < 0.1 * result["SPAM"][last]
        assert result["VRSPAM"][middle] < result["SPAM"][middle]
        assert 0 < result["VRSPAM"][last] < result["VRSPAM"][middle] < result["VRSPAM"][first]


def test_merging_and_forgetting_are_exact(report):
    for result in report["algebra"]:
        assert result["merge_difference"] < 1e-9
        assert result["forget_difference"] < 1e-8
        assert result["forgotten"] == 50
        # forgetting did something
        assert result["moved_by_forgetting"] > 1e-3


def test_the_screen_is_one_screen(screen):
    lines = screen.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    for command in NEXT:
        assert f"  {command}" in lines
    assert [line[0] for line in lines if re.match(r"\d  ", line)] == ["1", "2", "3", "4"]
    # nothing cut short, nothing folded
    assert "…" not in screen


def test_the_screen_shows_the_numbers_of_the_json(report, screen):
    for result in report["comparison"]:
        assert f"  {result['verdict']}, p " in screen
        for side in ("aucmax", "logistic_regression"):
            assert f"{result[side]['auc']:.4f}" in screen
    for result in report["gaps"]:
        for solver in ("SPAM", "VRSPAM"):
            for n in PASSES:
                assert f"{result[solver][str(n)]:.1e}" in screen
    assert report["next"] == list(NEXT)


def test_the_next_commands_work(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(80) % 4 == 0
    X = rng.normal(size=(80, 2)) + np.outer(y, [1.0, 0.0])
    rows = [f"{a},{b},{int(label)}" for (a, b), label in zip(X, y, strict=True)]
    (tmp_path / "your.csv").write_text("\n".join(["a,b,label", *rows[:50]]))
    (tmp_path / "holdout.csv").write_text("\n".join(["a,b,label", *rows[50:]]))
    monkeypatch.chdir(tmp_path)
    for command in NEXT:
        with pytest.raises(SystemExit) as end:
            main(command.split()[1:])
        assert end.value.code == 0, capsys.readouterr().err
    assert (tmp_path / "roc.png").stat().st_size > 1000


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_the_reference_is_the_objective(gamma):
    rng = np.random.default_rng(1)
    y = (rng.random(40) < 0.3).astype(int)
    X = rng.normal(size=(40, 4)) * [1, 5, 0.2, 0] + np.outer(y, [1, 1, 0, 0])
    pairs = AllPairs(X, y, 0.05, gamma)
    model = AUCClassifier(0.05, standardize=gamma, solver="exact").fit(X, y)
    assert pairs.n_pairs == y.sum() * (40 - y.sum())
    assert pairs.objective(model.coef_[0]) == pytest.approx(model.objective_, rel=1e-12)
    assert abs(pairs.gap(model.coef_[0])) < 1e-12
    assert pairs.gap(1.1 * model.coef_[0]) > 1e-4
