"""The rows that ``aucmax score`` flags, the columns that it keeps, and the reasons in columns."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifierCV, datasets, load, reasons, save

SMALL = ("--memory", "1MB")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with ids and customers, some scores tied, in two formats; a model of the numbers.

    Wide enough for several parts.
    """
    path = tmp_path_factory.mktemp("scored")
    rng = np.random.default_rng(0)
    n = 6_000
    y = rng.random(n) < 0.1
    X = np.round(rng.normal(size=(n, 3)) + 0.7 * y[:, None], 1)
    X[100:200] = X[:100]
    rows = pd.DataFrame(X, columns=list("abc")).assign(y=np.where(y, "yes", "no"))
    rows.insert(0, "id", [f"{k:06d}" for k in range(n)])
    rows.insert(3, "customer", [f"Smith, {k % 7}" for k in range(n)])
    rows = rows.assign(**{f"other{k}": "none" for k in range(44)})
    rows.to_csv(path / "rows.csv", index=False)
    rows.to_parquet(path / "rows.parquet", index=False, row_group_size=1000)
    search = AUCClassifierCV(losses=["square"], alphas=[0.1], probability=True)
    save(search.fit(rows[["a", "b", "c"]], rows["y"]), path / "m.aucmax")
    return path


@pytest.fixture
def scored(folder, run):
    """Run the command; its rows, and what it says on stderr."""

    def rows_of(*options, name="rows.csv"):
        code, out, err = run("score", folder / "m.aucmax", folder / name, *options)
        assert code == 0, err
        assert ("is read in parts" in err) == ("--memory" in options)
        return list(csv.DictReader(io.StringIO(out))), err

    return rows_of


@pytest.fixture
def scores(folder):
    return load(folder / "m.aucmax").decision_function(pd.read_csv(folder / "rows.csv")[[*"abc"]])


each_way = pytest.mark.parametrize("more", [(), SMALL], ids=["whole", "in parts"])


@pytest.mark.covering(1)
@each_way
@pytest.mark.parametrize(
    ("flag", "count"),
    [("200", 200), ("1%", 60), ("0.0001%", 1), (".075 %", 5), ("0.0749%", 4), ("99999", 6_000)],
)
def test_exactly_so_many_rows_are_flagged(scored, scores, flag, count, more):
    rows, err = scored("--flag", flag, *more)
    flagged = np.array([row["label"] == "yes" for row in rows])
    assert {row["label"] for row in rows} <= {"yes", "no"}
    # ties by the order of rows
    assert set(np.flatnonzero(flagged)) == set(np.lexsort((np.arange(6_000), -scores))[:count])
    assert f"{count:,} of 6,000 rows flagged: those with the highest scores; lowest score " in err


@each_way
def test_a_threshold_is_one_of_scores_or_of_probabilities(scored, scores, more):
    for options, name, limit in (((), "score", scores[7]), (["--probability"], "probability", 0.2)):
        rows, err = scored("--threshold", float(limit), *options, *more)
        of_rows = np.array([float(row[name]) for row in rows])
        flagged = np.array([row["label"] == "yes" for row in rows])
        assert np.array_equal(flagged, of_rows >= limit)
        lowest = min(float(row["score"]) for row in rows if row["label"] == "yes")
        assert f"{flagged.sum():,} of 6,000 rows flagged: a {name} of {limit:g} or more" in err
        assert f"; lowest score {lowest:.4g}" in err


@each_way
def test_costs_decide_by_the_probability(scored, more):
    rows, err = scored("--probability", "--cost", "9:1", *more)
    assert all((float(row["probability"]) > 0.1) == (row["label"] == "yes") for row in rows)
    assert "a probability above 0.1, for costs of 9:1" in err
    halves, _ = scored("--probability", "--cost", "4.5:.5", *more)
    assert halves == rows


def test_without_a_rule_there_are_no_labels(scored):
    rows, err = scored()
    assert list(rows[0]) == ["row", "score"]
    assert err == ""
    rows, err = scored("--threshold", "99")
    assert {row["label"] for row in rows} == {"no"}
    assert err == "note: 0 of 6,000 rows flagged: a score of 99 or more\n"


@each_way
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_columns_go_through_as_they_are(folder, scored, scores, name, more):
    keep = ("--keep", "id,customer", "--keep", "a", "--keep", " y ")
    rows, _ = scored(*keep, "--flag", "3", *more, name=name)
    assert list(rows[0]) == ["id", "customer", "a", "y", "row", "score", "label"]
    with (folder / "rows.csv").open(newline="") as stream:
        written = list(csv.DictReader(stream))
    for column in ("id", "customer", "a", "y"):
        assert [row[column] for row in rows] == [row[column] for row in written]
    np.testing.assert_allclose([float(row["score"]) for row in rows], scores, rtol=1e-12)
    assert [row["row"] for row in rows] == [str(k + 1) for k in range(6_000)]


def test_what_is_kept_stays_as_it_is_written(tmp_path, folder, run):
    head, lines = "a,b,c,id,note", ["1.50,2,3,007,", '01.5,2,3,=1+1," a ""b"""', "1.5,2,3,7e1,NA"]
    path = tmp_path / "new.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    code, out, _ = run("score", folder / "m.aucmax", path, "--keep", "id,a,note")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["id"] for row in rows] == ["007", "=1+1", "7e1"]
    assert [row["a"] for row in rows] == ["1.50", "01.5", "1.5"]
    assert [row["note"] for row in rows] == ["", ' a "b"', "NA"]
    assert len({row["score"] for row in rows}) == 1
    kept = datasets.read(path, labels="none", drop=["id", "note"], keep=["note", "id"]).kept
    assert kept == {"note": ["", ' a "b"', "NA"], "id": ["007", "=1+1", "7e1"]}


def test_missing_values_of_parquet_are_empty(tmp_path, folder, run):
    path = tmp_path / "new.parquet"
    rows = pd.DataFrame(np.ones((3, 3)), columns=list("abc"))
    seen = pd.to_datetime(["2026-01-31 00:00", None, "2026-02-01 12:00"])
    rows.assign(n=pd.array([1, None, 3], dtype="Int64"), seen=seen).to_parquet(path)
    command = ("score", folder / "m.aucmax", path, "--keep", "n,seen")
    _, out, _ = run(*command)
    rows = [line.split(",")[:2] for line in out.splitlines()[1:]]
    assert rows == [["1", "2026-01-31 00:00:00"], ["", ""], ["3", "2026-02-01 12:00:00"]]
    _, out, _ = run(*command, "--json")
    assert [json.loads(line)["n"] for line in out.splitlines()] == [1, None, 3]


@each_way
def test_json_has_numbers_and_truths_of_a_typed_file(tmp_path, folder, run, more):
    rows = pd.DataFrame(np.ones((3, 3)), columns=list("abc"))
    kept = {"n": [2**53 + 2, 1, 2], "x": [0.5, np.inf, None], "yes": [True, False, True]}
    rows.assign(**kept).to_parquet(tmp_path / "new.parquet")
    options = ("--keep", "n,x,yes", "--json", *more)
    _, out, _ = run("score", folder / "m.aucmax", tmp_path / "new.parquet", *options)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["n"] for line in lines] == kept["n"]
    assert [line["x"] for line in lines] == [0.5, "inf", None]
    assert [line["yes"] for line in lines] == kept["yes"]
    assert type(lines[0]["yes"]) is bool


@each_way
def test_kept_columns_are_written_once_under_a_name_of_their_own(tmp_path, folder, run, more):
    rows = pd.read_csv(folder / "rows.csv").rename(columns={"id": "row", "customer": "label"})
    rows["label_in_file"], rows["we,ird"] = "x", "y"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    keep = ("--keep", "row,label", "--keep", "label_in_file,row", "--keep", "we,ird")
    command = ("score", folder / "m.aucmax", tmp_path / "rows.csv", *keep, "--flag", 1, *more)
    code, out, _ = run(*command)
    assert code == 0
    found = list(csv.DictReader(io.StringIO(out)))
    assert list(found[0]) == [
        "row_in_file", "label_in_file_in_file", "label_in_file", "we,ird", "row", "score", "label"
    ]  # fmt: skip
    assert [row["row_in_file"] for row in found] == rows["row"].astype(str).tolist()
    assert {row["we,ird"] for row in found} == {"y"}


@each_way
def test_there_are_no_more_reasons_than_columns_of_the_model(scored, more):
    rows, _ = scored("--reasons", 50, *more)
    assert list(rows[0]) == ["row", "score", "reason_1", "reason_2", "reason_3"]


@each_way
def test_reasons_have_columns_of_their_own(folder, scored, run, more):
    rows, _ = scored("--reasons", 3, "--keep", "id", *more)
    assert list(rows[0]) == ["id", "row", "score", "reason_1", "reason_2", "reason_3"]
    table = pd.read_csv(folder / "rows.csv")[[*"abc"]]
    expected = reasons(load(folder / "m.aucmax"), table, 3)
    for row, why in zip(rows, expected, strict=True):
        told = [row[f"reason_{k}"] for k in (1, 2, 3)]
        assert [text.partition(" = ")[0] for text in told] == [
            *(reason.feature for reason in why), *[""] * (3 - len(why))
        ]  # fmt: skip
    code, out, _ = run(
        *("score", folder / "m.aucmax", folder / "rows.csv", "--reasons", 3),
        *("--keep", "id", "--flag", "1%", "--json", *more),
    )
    assert code == 0
    lines = [json.loads(line) for line in out.splitlines()]
    assert list(lines[0]) == ["id", "row", "score", "label", "reasons"]
    for line, why in zip(lines, expected, strict=True):
        assert [tuple(one)[:2] for one in line["reasons"]] == [("feature", "value")] * len(why)
        assert [one["feature"] for one in line["reasons"]] == [one.feature for one in why]
        np.testing.assert_allclose(
            [one["raised"] for one in line["reasons"]], [one.raised for one in why], rtol=1e-9
        )


@each_way
def test_scores_go_through_a_pipe_and_to_a_file(folder, tmp_path, run, monkeypatch, more):
    options = ("--keep", "id", "--flag", "2%")
    path, out = folder / "rows.csv", tmp_path / "out.csv"
    code, text, _ = run("score", folder / "m.aucmax", path, *options)
    assert run("score", folder / "m.aucmax", path, *options, *more, "-o", out)[0] == code == 0
    assert [line.split(",")[3] for line in out.read_text().splitlines()] == [
        line.split(",")[3] for line in text.splitlines()
    ]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert run("score", folder / "m.aucmax", "-", *options)[1] == text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--flag", "many"], "such as 200, or a share of them, such as 1%; got 'many'"),
        (["--flag", "0"], "got '0'"),
        (["--flag", "101%"], "got '101%'"),
        (["--flag", "1.5"], "got '1.5'"),
        (["--flag", "1", "--cost", "4:1"], "exclude one another; give only one"),
        (["--threshold", "0", "--flag", "1%"], "exclude one another; give only one"),
        (["--cost", "4:1"], "add --probability"),
        (["--cost", "4", "--probability"], "such as 400:1; got '4'"),
        (["--cost", "4:0", "--probability"], "such as 400:1; got '4:0'"),
        (["--threshold", "2", "--probability"], "--threshold must be a number in [0, 1]; got 2.0"),
        (["--threshold", "nan"], "--threshold must be a"),
        (["--keep", "ids"], "no column 'ids' to keep; did you mean 'id'?"),
        (["--keep", "idea", *SMALL], "no column 'idea' to keep; the columns are id"),
    ],
)
def test_what_cannot_be(folder, bad, options, words):
    assert words in bad("score", folder / "m.aucmax", folder / "rows.csv", *options)


def test_what_a_model_or_a_file_does_not_have(folder, tmp_path, bad):
    model = load(folder / "m.aucmax").best_estimator_
    del model.calibration_
    save(model, tmp_path / "m.aucmax")
    message = bad(
        "score", tmp_path / "m.aucmax", folder / "rows.csv", "--probability", "--cost", "4:1"
    )
    assert "has scores but no probabilities; train it with --probability" in message
    command = ("score", folder / "m.aucmax")
    (tmp_path / "rows.svm").write_text("1:1 2:1 3:1\n")
    message = bad(*command, tmp_path / "rows.svm", "--keep", "id")
    assert "svmlight text has no column names" in message
