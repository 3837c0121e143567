"""What a column is: decided when data are read, kept with the model, asked by all that shows it."""

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, datasets, effects, load, reasons, save, to_sql
from aucmax.additive import Binning, SplineFeatures
from aucmax.data.bunch import frame
from aucmax.data.columns import Column, Date, Time, Words, YesNo, column_of, columns_in, declare
from exported import run_sql

N = 200
RNG = np.random.default_rng(0)
VIP, X = RNG.random(N) < 0.4, RNG.normal(size=N)
Y = (X + VIP + 0.5 * RNG.normal(size=N) > 1).astype(int)


@pytest.fixture(params=[("false", "true"), ("FALSE", "TRUE"), ("False", "True")])
def file(request, tmp_path):
    words = np.array(request.param)[VIP.astype(int)]
    path = tmp_path / "rows.csv"
    pd.DataFrame({"vip": words, "x": X, "y": Y}).to_csv(path, index=False)
    return path, request.param


def test_true_and_false_read_as_the_file_has_them(file, tmp_path, run):
    path, words = file
    assert datasets.read(path).columns == (YesNo("vip", words=words), Column("x"))
    for options in ([], ["--splines"], ["--scale", "unit-norm"], ["--impute"], ["--memory", "1MB"]):
        code, _, err = run("train", path, "--alpha", "0.1", *options, "-o", tmp_path / "m")
        assert code == 0, err
        code, out, err = run("score", tmp_path / "m", path, "--reasons", "2")
        assert code == 0, err
        assert f"vip: {words[1]} (+" in out
        assert "vip = " not in out


def test_bins_of_true_and_false_are_called_so(file):
    path, words = file
    rows = datasets.read(path)
    bins = Binning().fit(declare(frame(rows.data, rows.columns), rows.columns), rows.target).bins_
    assert bins[0].labels == [*words, "missing"]


def test_a_frame_says_what_its_columns_are(tmp_path):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D")
    rows = pd.DataFrame({"vip": VIP, "x": X, "day": days, "shop": np.where(VIP, "a", "b")})
    assert columns_in(rows) == (YesNo("vip"), Date("day"), Words("shop"))
    model = AUCClassifier(alpha=0.1).fit(rows[["vip", "x"]], Y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.columns_ == (YesNo("vip"),)
    told = {reason.value for why in reasons(again, rows[["vip", "x"]]) for reason in why}
    assert told & {"True", "False"}
    assert list(effects(again, rows[["vip", "x"]], Y).feature) != []
    found = run_sql(to_sql(again), rows[["vip", "x"]])
    np.testing.assert_allclose(found, model.decision_function(rows[["vip", "x"]]), rtol=1e-9)
    assert SplineFeatures().fit(rows[["vip", "x"]]).columns_ == (YesNo("vip"),)


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1.5, np.nan], Column), ([True, None], YesNo), ([1, None], Column), ([None, "a"], Words)],
)
def test_values_without_a_file_decide(values, kind):
    assert column_of("a", np.array(values, dtype=object)) == kind("a")


def test_every_kind_reads_what_it_shows():
    for column, word, number in (
        (YesNo("a", words=("no", "yes")), "yes", 1.0),
        (YesNo("a"), "FALSE", 0.0),
        (Date("a"), "2024-01-31", 19753.0),
    ):
        assert column.number(word) == number
        assert column.number("neither") is None
        assert str(column.shown(number)).lower() == word.lower()
        assert np.isnan(column.shown(np.nan))


def test_a_model_reads_text_as_its_columns(tmp_path):
    pd.DataFrame({"vip": ["true", "false"], "y": [1, 0]}).to_parquet(tmp_path / "rows.parquet")
    read = datasets.read(tmp_path / "rows.parquet", columns=[YesNo("vip")])
    assert read.data.tolist() == [[1.0], [0.0]]


def test_times_of_day_are_no_dates(tmp_path, run):
    hours = 0.05 + X.clip(-1, 1) / 40 + VIP / 2
    times = [str(pd.Timedelta(days=hour).floor("s")).removeprefix("0 days ") for hour in hours]
    typed = [pd.Timestamp(f"2024-01-31 {time}").time() for time in times]
    pd.DataFrame({"at": typed, "x": X, "y": Y}).to_parquet(tmp_path / "rows.parquet")
    pd.DataFrame({"at": times, "x": X, "y": Y}).to_csv(tmp_path / "rows.csv", index=False)
    scored = set()
    for name in ("rows.parquet", "rows.csv"):
        assert datasets.read(tmp_path / name, dates=True).columns[0] == Time("at")
        options = ("--dates", "--alpha", "0.1", "-o", tmp_path / "m")
        code, _, err = run("train", tmp_path / name, *options)
        assert code == 0, err
        for rows in ("rows.parquet", "rows.csv"):
            code, out, err = run("score", tmp_path / "m", tmp_path / rows, "--reasons", "2")
            assert code == 0, err
            assert "at: 13:" in out
            scored.add(out)
    assert len(scored) == 1
    frame = pd.read_parquet(tmp_path / "rows.parquet")
    found = run_sql(to_sql(load(tmp_path / "m")), frame)
    wanted = [float(line.split(",")[1]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
