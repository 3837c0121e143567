"""Messy tables, each by one command: it ranks as after an analyst's hour, and names its traps."""

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifierCV
from aucmax.metrics import roc_auc
from messy import TABLES, unnamed

ROWS, NEW_ROWS = 6_000, 20_000
MANY_ROWS = {"loans": 11_000}  # bad cells beyond the rows that decide
SHORTFALL = 0.005  # of the AUC on new rows, compared with the analyst's


def auc_by_hand(table, rows, new_rows):
    """The AUC on new rows of a model of cleaned rows.

    The search tries the square loss alone: here other losses change the AUC by less than .002.
    """
    rows = rows.drop_duplicates()
    X, y, new_y = table.clean(rows), table.labels(rows), table.labels(new_rows)
    model = AUCClassifierCV(losses=("square",)).fit(X[y.notna()], y.dropna())
    new_X = table.clean(new_rows).reindex(columns=X.columns, fill_value=0.0)
    return roc_auc(new_y.dropna(), model.decision_function(new_X[new_y.notna()]))


RANKED = ("payments", "machines", "labs", "stays")  # by default


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.exhaustive] * (name not in RANKED)) for name in TABLES],
)
def test_a_messy_table_takes_one_command(name, run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")  # no line breaks within a sentence
    monkeypatch.chdir(tmp_path)  # the model is written beside the file
    table = TABLES[name](MANY_ROWS.get(name, ROWS), np.random.default_rng(0))
    path = table.write(tmp_path, name)
    new_path = TABLES[name](NEW_ROWS, np.random.default_rng(1)).write(tmp_path, "new")
    train = ("train", path.name, "--target", table.target)
    code, out, err = run(*train)
    assert code == 0, err
    if table.leaks:  # with one, any model ranks perfectly
        code, _, error = run(*train, *(word for leak in table.leaks for word in ("--drop", leak)))
        assert code == 0, error
    code, _, error = run("score", f"{name}.aucmax", new_path.name, "-o", "scores.csv")
    assert code == 0, error
    new_rows = table.read(new_path)
    new_y, scores = table.labels(new_rows), pd.read_csv("scores.csv")["score"]
    auc = roc_auc(new_y.dropna(), scores[new_y.notna()])
    shortfall = auc_by_hand(table, table.read(path), new_rows) - auc
    assert (shortfall <= SHORTFALL, unnamed(out + err, table.traps)) == (True, []), shortfall


@pytest.mark.parametrize("name", [name for name in TABLES if name not in RANKED])
def test_every_trap_is_named(name, run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")  # no line breaks within a sentence
    table = TABLES[name](MANY_ROWS.get(name, ROWS), np.random.default_rng(0))
    train = ("train", table.write(tmp_path, name), "--target", table.target, "-o", tmp_path / "m")
    code, out, err = run(*train, "--alpha", "0.01", "--shape", "line")
    assert (code, unnamed(out + err, table.traps)) == (0, [])


@pytest.mark.parametrize("name", TABLES)
def test_a_cleaning_leaves_numbers_of_a_rare_event(name, tmp_path):
    table = TABLES[name](2_000, np.random.default_rng(2))
    rows = table.read(table.write(tmp_path, name))
    X = table.clean(rows)
    assert np.isfinite(X.to_numpy()).all()
    assert X.columns.is_unique
    assert not {*table.leaks, table.target} & {column.split()[0] for column in X.columns}
    assert 0.01 < table.labels(rows).mean() < 0.1
    assert {column for column, _ in table.traps} <= {"", *rows.columns}


def test_a_trap_is_named_by_a_line_with_its_column_and_one_of_its_words():
    output = "ward: 12 gaps: a level\nage: 3 missing, the median\nheat"
    traps = [("age", "gap|missing"), ("ward", "LEVEL"), ("", "median")]
    assert unnamed(output, traps) == []
    not_named = [("heat", "gap|level"), ("war", "gap"), ("", "copy")]
    assert unnamed(output, not_named) == ["heat: gap|level", "war: gap", "table: copy"]
