"""Frequent words in a column of numbers are a column of their own, wherever a model goes."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import aucmax
from aucmax import AUCClassifier, datasets
from aucmax.basics.errors import DataFileError
from aucmax.columns import TableEncoder
from aucmax.data.bunch import frame
from aucmax.data.columns import Column, Remarks
from aucmax.data.obstacles import TableError
from aucmax.data.readers import rows_of
from aucmax.data.reading import Reading
from aucmax.estimators.written_steps import as_text
from aucmax.export import to_onnx, to_sql
from aucmax.streams.prepared import Prepared
from exported import run_arrow, run_onnx, run_postgres

N = 900
RARE = {5: "haemolysed", 7: "tube 12 lost"}
ODD = {11: "NA", 13: "", 17: "Neg ", 19: " 1e-1"}


def laboratory():
    """Return rows with a column of numbers and words, and the same cleaned by hand."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["number", "neg", "pos"], N, p=[0.6, 0.2, 0.2])
    number, x = rng.normal(size=(2, N)).round(3)
    logit = 0.5 * x + np.select([kind == "neg", kind == "pos"], [-1.5, 1.5], number)
    y = (rng.random(N) < 1 / (1 + np.exp(1 - logit))).astype(int)
    cells = np.where(kind == "number", number.astype(str), kind).astype(object)
    for row, cell in {**RARE, **ODD}.items():
        cells[row] = cell
    by_hand = pd.DataFrame({"x": x, "number": pd.to_numeric(cells, errors="coerce")})
    words = pd.Series(cells).str.strip().str.lower()
    by_hand["neg"], by_hand["pos"] = words == "neg", words == "pos"
    return pd.DataFrame({"x": x, "lab": cells, "y": y}), by_hand


@pytest.fixture
def path(tmp_path):
    table, _ = laboratory()
    table.to_csv(tmp_path / "lab.csv", index=False)
    return tmp_path / "lab.csv"


def read(path, **arguments):
    return rows_of(path, Reading(target="y", prepare=True, **arguments))


@pytest.fixture
def model(path):
    rows = read(path)
    encoder = TableEncoder(missing=True)
    return make_pipeline(encoder, AUCClassifier(alpha=1e-3)).fit(rows.data, rows.target)


def test_words_stand_beside_the_numbers(path):
    rows, (_, by_hand) = read(path), laboratory()
    assert rows.feature_names == ["x", "lab", "lab: word"]
    assert rows.columns[1] == Column("lab")
    np.testing.assert_array_equal(rows.data["lab"], by_hand["number"])
    words = rows.data["lab: word"].astype(object)
    assert (words[by_hand["pos"]] == "pos").all()
    assert set(words[by_hand["neg"]]) == {"neg", "Neg"}  # one word, spelt in two ways
    assert words[~(by_hand["pos"] | by_hand["neg"])].isna().all()
    apart, unfit = (decision.what for decision in rows.decisions)
    assert apart.endswith("put into a separate column")
    assert unfit.startswith("2 values are not a number, the first 'haemolysed' (line 7)")
    assert rows.decisions[0].otherwise == {"numbers": ["lab"]}


@pytest.mark.parametrize(
    "switch", [{"numbers": ["lab"]}, {"drop": ["lab: word"]}, {"text": False}], ids=str
)
def test_words_may_be_gaps_instead(path, switch):
    rows = read(path, **switch)
    assert rows.feature_names == ["x", "lab"]
    np.testing.assert_array_equal(rows.data[:, 1], laboratory()[1]["number"])
    [decision] = rows.decisions
    assert "values are not a number" in decision.what


def test_a_strict_reader_stops_at_them(path):
    with pytest.raises(TableError, match=r"which is not a number, as .* of its values are"):
        read(path, strict=True)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["unknown"], Column),  # which tells no more than a gap
        (["yes", "no"], None),
        (["A12", "B7"], None),
    ],
)
def test_other_words_are_not_apart(tmp_path, words, kind):
    cells = [*(f"{k}.5" for k in range(60)), *np.resize(words, 30)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,y", *(f"{cell},{k % 2}" for k, cell in enumerate(cells)), ""]))
    [column] = read(path).columns
    assert kind is None or type(column) is kind
    assert not isinstance(column, Remarks)
    assert column.name == "a"


def test_a_column_keeps_its_name(tmp_path):
    table, _ = laboratory()
    table["lab: word"] = table["x"]
    table.to_csv(tmp_path / "a.csv", index=False)
    assert read(tmp_path / "a.csv").feature_names == ["x", "lab", "lab: word"]


def test_it_ranks_as_columns_cleaned_by_hand(model, path):
    rows, (_, by_hand) = read(path), laboratory()
    by_hand["gap"] = by_hand["number"].isna()
    by_hand["number"] = by_hand["number"].fillna(by_hand["number"].median())
    other = AUCClassifier(alpha=1e-3).fit(by_hand.astype(float), rows.target)
    aucs = [
        roc_auc_score(rows.target, fitted.decision_function(X))
        for fitted, X in ((model, rows.data), (other, by_hand.astype(float)))
    ]
    assert aucs[0] == pytest.approx(aucs[1], abs=0.002)
    without = rows.data.drop(columns="lab: word")
    encoder = make_pipeline(TableEncoder(missing=True), AUCClassifier(alpha=1e-3))
    assert aucs[0] > encoder.fit(without, rows.target).score(without, rows.target) + 0.03


def test_parts_are_read_as_the_first_one(path, tmp_path):
    table, _ = laboratory()
    tail = table[pd.to_numeric(table["lab"], errors="coerce").notna()]  # numbers alone
    pd.concat([table, tail, tail]).to_csv(path, index=False)
    whole = read(path)
    encoder = TableEncoder(missing=True).fit(whole.data)
    pd.concat([table, tail, tail]).to_parquet(tmp_path / "lab.parquet", row_group_size=300)
    for data, part_bytes in ((path, 12_000), (tmp_path / "lab.parquet", 8_000)):
        source = datasets.scan(data, target="y", prepare=True, part_bytes=part_bytes)
        parts = [frame(part.X, whole.columns) for part in source]
        assert len(parts) > 2
        learnt = TableEncoder(missing=True)
        for part in parts:
            learnt.partial_fit(part)
        assert [*learnt.get_feature_names_out()] == [*encoder.get_feature_names_out()]
        features = np.concatenate([learnt.transform(part) for part in parts])
        np.testing.assert_array_equal(features, encoder.transform(whole.data))


def test_a_saved_model_reads_them_again(model, path, tmp_path):
    rows = read(path)
    aucmax.save(model, tmp_path / "lab.aucmax")
    loaded = aucmax.load(tmp_path / "lab.aucmax")
    columns = loaded[0].prepared_columns
    again = read(path, columns=[column for column, _ in columns])
    pd.testing.assert_frame_equal(again.data, rows.data)
    [doubt] = again.decisions
    assert doubt.what.startswith("2 values are not a number, the first 'haemolysed'")
    laboratory()[0].drop(columns="lab").to_csv(path, index=False)
    with pytest.raises(DataFileError, match="the model needs are missing: lab;"):
        read(path, columns=[column for column, _ in columns])
    with pytest.raises(ValueError, match="a column of words has words that are not text"):
        Remarks("lab: word", words=(1,)).check_state()


@pytest.fixture
def table():
    """Return the table as a database has it."""
    return laboratory()[0][["x", "lab"]].replace([*RARE.values(), ""], None)


def test_exports_take_the_column_of_the_file(model, path, table):
    rows, expression = read(path), to_sql(model)
    scores = model.decision_function(rows.data)
    assert "text, as files have it: lab */" in expression
    np.testing.assert_allclose(run_arrow(expression, table), scores, rtol=1e-12)
    words = rows.data.astype({"lab: word": object})
    np.testing.assert_allclose(run_onnx(to_onnx(model), words)[0], scores, rtol=1e-12)
    for cell in (*RARE.values(), "1,5"):
        with pytest.raises(duckdb.ConversionException, match=f"string '{cell}'"):
            run_arrow(expression, table.assign(lab=cell))


def test_postgres_takes_it_too(model, path, postgres, table):
    scores = run_postgres(postgres, to_sql(model, "postgres"), table)
    np.testing.assert_allclose(scores, model.decision_function(read(path).data), rtol=1e-12)


def test_a_stream_reads_cells_in_the_same_way(model, path):
    steps, features = [("columns", model[0])], model[0].transform(read(path).data)
    prepared = Prepared(as_text(steps))
    names, unfit = model[0].get_feature_names_out(), []
    for cells, expected in zip(laboratory()[0].to_dict("records"), features, strict=True):
        row, odd = prepared.features({"x": str(cells["x"]), "lab": cells["lab"]})
        np.testing.assert_array_equal([row.get(name, 0.0) for name in names], expected)
        unfit += odd
    assert unfit == ["lab", "lab"]
