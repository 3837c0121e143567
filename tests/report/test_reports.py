"""The keys of what commands print with --json, which programs read."""

import json

import numpy as np
import pytest

from aucmax.cli import main

ROWS = "decisions data rows features columns positives positive positive_is negative weight"
SETTINGS = "loss within standardize l1_ratio alpha"
FIT = f"{SETTINGS} solver iterations objective optimality"
FOLDS = "folds rounds folding settings_tried"
AREA = "auc low high std_error"
KEYS = {
    "train rows.csv -o m": f"{ROWS} {FIT} {FOLDS} model negatives tuned held_out_auc "
    "held_out_interval shape held_out_auc_of_shapes training_auc suspicions seconds",
    "train rows.csv -o f --alpha 1": f"{ROWS} {FIT} model negatives tuned training_auc "
    "suspicions seconds",
    "train rows.csv -o o --one-pass": f"{FIT} model data positive negative weight_of_positives "
    "weight features rank auc read seconds",
    "cv rows.csv -o c --alphas 1 --probability": f"{ROWS} {SETTINGS} {FOLDS} scoring max_fpr seed "
    "scale leaning score score_std auc auc_interval at_edge solver objective optimality nonzero "
    "probability grid suspicions seconds model",
    "evaluate m rows.csv f --weight w": "file data rows features positives positive weight "
    "confidence k fpr scorers tests budgets suspicions",
    "compare rows.csv --solvers exact,spam --splits 2": f"{ROWS} splits splitting loss alpha "
    "l1_ratio standardize strata_weight confidence k fpr unit "
    "training_rows test_rows split_sizes tol max_iter seed scale against test test_note solvers "
    "interrupted",
    "scorecard rows.csv -o s --against rows.csv": f"{ROWS} model training held_out scale strata "
    "against by_column bins",
    "show m": "decisions model type positive negative target features nonzero settings solver "
    "iterations objective optimality keeps_moments intercept weights versions",
    "moments build rows.csv -o r.moments": "moments covariance target features feature_names "
    "classes guarantee largest",
    "moments fit r.moments -o n": f"{FIT} model moments positive negative features auc",
    "moments build more.csv --target label -o s.moments": "moments covariance target features "
    "feature_names classes guarantee largest",
    "moments fit r.moments s.moments -o n": f"{FIT} model sites positive negative features "
    "settings_tried held_out_loss held_out_auc auc",
}
INSIDE = {
    "train rows.csv -o m": {"training_auc": AREA, "held_out_interval": AREA},
    "cv rows.csv -o c --alphas 1 --probability": {
        "grid": "loss within standardize l1_ratio alphas mean std scores best"
    },
    "evaluate m rows.csv f --weight w": {
        "scorers": f"name {AREA} average_precision precision_at_k recall_at_k recall_at_fpr "
        "intervals",
        "tests": "model against difference z p_value low high verdict note measures",
        "budgets": "share flagged found positives rows effective threshold first",
    },
    "scorecard rows.csv -o s --against rows.csv": {
        "training": "gini auc ks auc_within",
        "held_out": "folds gini auc ks auc_within",
        "against": "data rows quality psi psi_of_features",
    },
    "show m": {"weights": "feature weight effect"},
    "moments fit r.moments s.moments -o n": {
        "sites": "site rows positives held_out_loss held_out_auc",
        "held_out_auc": "if_normal at_least at_most",
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3 == 0
    X = rng.normal(size=(90, 3)) + np.outer(y, [1.0, 0.0, 0.5])
    lines = [f"{a},{b},{abs(c) + 0.1},{int(label)}" for (a, b, c), label in zip(X, y, strict=True)]
    for name, some in (("rows", lines), ("more", lines[::-2])):
        (folder / f"{name}.csv").write_text("\n".join(["a,b,w,label", *some]))
    return folder


def printed(capsys, *words):
    with pytest.raises(SystemExit) as end:
        main([*words, "--json"])
    out = capsys.readouterr().out
    assert end.value.code == 0
    return json.loads(out)


def test_reports_have_these_keys(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for command, keys in KEYS.items():
        report = printed(capsys, *command.split())
        assert sorted(report) == sorted(set(keys.split())), command
        for name, inner in INSIDE.get(command, {}).items():
            part = report[name][0] if isinstance(report[name], list) else report[name]
            assert sorted(part) == sorted(inner.split()), (command, name)
