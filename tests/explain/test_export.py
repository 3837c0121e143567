"""Exported models give our scores, in ONNX Runtime and in DuckDB."""

import csv
import io
import os
import sys
import warnings
from dataclasses import dataclass

import duckdb
import numpy as np
import onnx
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from aucmax import (
    AdditiveAUCClassifier,
    AUCClassifier,
    AUCClassifierCV,
    HingeClassifier,
    datasets,
    load,
    to_onnx,
    to_sql,
)
from aucmax.additive import Binning, SplineFeatures
from aucmax.basics.errors import DataWarning
from aucmax.columns.encoder import TableEncoder
from aucmax.columns.functions import gap_pattern
from aucmax.data.columns import Column, Date, Time, YesNo, declare
from aucmax.explain.additive import additive
from aucmax.explain.onnx_file import order_lost
from aucmax.explain.sql import DIALECTS
from exported import run_arrow, run_onnx, run_postgres, run_sql

ATTACKS = int(os.environ.get("AUCMAX_ATTACKS", 100))  # files of the long run
WORDS = ["red", "o'brien\\", '{x} "?"; --', "Ärger", np.nan]


def table(n=300, seed=0):
    """Rows with a bit of everything: gaps, words, small whole numbers, dates."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    frame = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) + y),
            'a "b"': rng.exponential(size=n),
            "size": rng.integers(0, 4, n).astype(float),
            "colour": np.array(WORDS, object)[rng.integers(0, len(WORDS), n)],
            "day": 19000 + 300 * rng.random(n) + 50 * y,
        }
    )
    frame.attrs["columns"] = (Date("day"),)
    return frame, y.astype(int)


FRAME, Y = table()
OTHER = table(200, seed=1)[0]
OTHER.loc[:20, "x"] = np.linspace(-9, 9, 21)  # beyond all knots
NUMBERS = ["x", 'a "b"', "size", "day"]
GAPS = ["x"]


def by_column(step, columns, rest="impute"):
    others = [name for name in NUMBERS if name not in columns]
    rest = SimpleImputer() if rest == "impute" else rest
    return ColumnTransformer([("some", step, columns), ("rest", rest, others)])


def filled(*steps):
    return make_pipeline(SimpleImputer(), *steps)


def splines(**settings):
    return filled(SplineTransformer(**settings))


def splines_then(step):
    return filled(SplineTransformer(), StandardScaler(), step)


MOST_FREQUENT = SimpleImputer(strategy="most_frequent")
UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
FRONTS = {
    "imputed": SimpleImputer(strategy="median", add_indicator=True),
    "union": FeatureUnion([("gaps", MissingIndicator()), ("rest", SimpleImputer())]),
    "scaled": filled(StandardScaler(), MinMaxScaler((1, 3)), MaxAbsScaler(), RobustScaler()),
    "chosen": filled(VarianceThreshold(0.5), FunctionTransformer()),
    "bins": filled(StandardScaler(), KBinsDiscretizer(4, strategy="uniform")),
    "codes": filled(KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), StandardScaler()),
    "splines": splines(n_knots=4, knots="quantile"),
    "lines": splines(degree=1, include_bias=False),
    "cubic": splines(extrapolation="linear"),
    "on": splines(degree=2, extrapolation="continue"),
    "sizes": by_column(OneHotEncoder(), ["size"]),
    "dropped": by_column(
        make_pipeline(OneHotEncoder(drop="first"), StandardScaler(with_mean=False)), ["size"]
    ),
    "ordinal": by_column(make_pipeline(OrdinalEncoder(), StandardScaler()), ["size"]),
    "unit": filled(Normalizer()),
    "nothing": by_column("drop", ["x"], "passthrough"),
}  # fmt: skip
TABLES = {
    "encoder": TableEncoder(missing=True),
    "unit": make_pipeline(TableEncoder(missing=True), Normalizer()),
    "words": ColumnTransformer([("words", OneHotEncoder(), ["colour"])]),
    "filled": ColumnTransformer(
        [
            ("size", "passthrough", ["size"]),
            ("words", make_pipeline(MOST_FREQUENT, OneHotEncoder()), ["colour"]),
        ]
    ),
}  # fmt: skip


def fitted(front, frame=FRAME):
    return make_pipeline(front, AUCClassifier(alpha=0.01)).fit(frame, Y)


def same(model, frame, dates=True):
    """The exported model scores rows as the model does."""
    wanted = model.decision_function(frame)
    room = 1e-9 * np.abs(wanted).max()
    score, label = run_onnx(to_onnx(model), frame)
    np.testing.assert_allclose(score, wanted, rtol=1e-9, atol=room)
    assert label.tolist() == model.predict(frame).tolist()
    if not dates:  # DuckDB's numbers, not its dates
        frame = frame.drop(columns="day").assign(**{"the day": frame["day"]})
        names = ["the day" if name == "day" else name for name in model.feature_names_in_]
        expression = to_sql(model).replace('"day"', '"the day"')
        frame = frame[names]
    else:
        expression = to_sql(model)
    # a timestamp counts microseconds
    near = room + 1e-10 * np.abs(wanted).max() if not dates else 1e-6 * np.abs(wanted).max()
    np.testing.assert_allclose(run_sql(expression, frame), wanted, rtol=1e-9, atol=near)


@pytest.mark.parametrize("front", FRONTS)
def test_steps_that_look_at_one_column_go_with_the_model(front):
    model = fitted(FRONTS[front], FRAME[NUMBERS])
    same(model, OTHER[NUMBERS], dates=False)


@pytest.mark.parametrize("front", TABLES)
def test_words_gaps_and_dates_go_with_the_model(front):
    model = fitted(TABLES[front])
    same(model, OTHER, dates=front in ("encoder", "unit"))


def test_unit_norm_stretches_no_rounding():
    """Beyond the last knot all splines but the last are 0, and the column itself is small."""
    X = pd.DataFrame({"x": 1e-8 * np.random.default_rng(0).normal(size=len(Y))})
    model = make_pipeline(SplineFeatures(), Normalizer(), AUCClassifier(alpha=0.01)).fit(X, Y)
    same(model, pd.DataFrame({"x": [-9e-8, -2e-8, 2.1e-8, 9e-8]}))


def test_unit_norm_of_a_model_without_coefficients():
    X = FRAME[["size"]]
    none = AUCClassifier(l1_ratio=1.0, alpha=10.0)
    same(make_pipeline(Normalizer(), none).fit(X, Y), OTHER[["size"]])


def test_a_word_that_training_did_not_have():
    skips, refuses = fitted(TABLES["encoder"]), fitted(TABLES["words"])
    new = OTHER.assign(colour="green")
    same(skips, new)
    with pytest.raises(ValueError, match="green"):
        refuses.decision_function(new)
    assert np.isnan(run_onnx(to_onnx(refuses), new)[0]).all()
    assert np.isnan(run_sql(to_sql(refuses), new)).all()


def test_a_gap_that_the_model_does_not_take_gives_no_score():
    model = fitted(StandardScaler(), FRAME[["size", "day"]])
    gaps = OTHER[["size", "day"]].assign(size=np.nan)
    assert np.isnan(run_onnx(to_onnx(model), gaps)[0]).all()
    assert np.isnan(run_sql(to_sql(model).replace('"day"', '"size"'), gaps)).all()


@pytest.mark.parametrize(
    "model",
    [
        AUCClassifier(alpha=0.1, positive="no"),
        AUCClassifier(l1_ratio=1.0, alpha=10.0),  # all coefficients are 0
        HingeClassifier(alpha=0.1, max_iter=50),
        AUCClassifierCV(alphas=[0.1], losses=("square",), cv=2),
    ],
    ids=["text", "zero", "hinge", "cv"],
)
def test_every_estimator_and_label(model):
    X = FRAME[['a "b"', "size"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, np.array(["no", "yes"])[Y])
    same(model, OTHER[['a "b"', "size"]])


def test_a_model_of_an_array_needs_names_in_sql_only():
    X = OTHER[['a "b"', "size"]]
    model = AUCClassifier().fit(FRAME[X.columns].to_numpy(), Y)
    wanted = model.decision_function(X.to_numpy())
    np.testing.assert_allclose(run_onnx(to_onnx(model), X)[0], wanted, rtol=1e-9)
    with pytest.raises(ValueError, match=r"only by position.*columns=\["):
        to_sql(model)
    with pytest.raises(ValueError, match="has 2 columns, but 1 names"):
        to_sql(model, columns=["a"])
    found = run_sql(to_sql(model, columns=X.columns), X)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_sql_of_thousands_of_columns_is_not_too_deep():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 1100)), np.arange(50) % 2
    names = [f"f{j}" for j in range(1100)]  # Python and DuckDB nest about 1000
    model = AUCClassifier(solver="conjugate_gradient").fit(pd.DataFrame(X, columns=names), y)
    frame = pd.DataFrame(X, columns=names)
    found = run_sql(to_sql(model), frame)
    np.testing.assert_allclose(found, model.decision_function(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sql_has_a_line_for_each_column_whatever_they_are_called(dialect):
    names = ["a + b", "it's - c", "two\n  lines", "é"]
    X = np.random.default_rng(0).normal(size=(len(Y), 4))
    frame = pd.DataFrame(X, columns=names)
    model = AUCClassifier().fit(frame, Y)
    model.coef_ = np.array([[1.5, -2.0, 3.0, -4.0]])
    written = to_sql(model, dialect)
    signs = [line[:2] for line in written.splitlines() if line[:2] in ("+ ", "- ")]
    assert signs == ["+ ", "- ", "+ ", "- "]
    read = sqlglot.parse_one(written, dialect=dialect)
    assert [*dict.fromkeys(column.name for column in read.find_all(sqlglot.exp.Column))][
        ::-1
    ] == names
    if dialect == "duckdb":
        found = run_sql(written, frame)
        np.testing.assert_allclose(found, model.decision_function(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("front", TABLES)
def test_other_dialects_read_what_is_written_for_them(front, dialect):
    expression = to_sql(fitted(TABLES[front]), dialect)
    read = sqlglot.parse_one(expression, dialect=dialect)
    words = {one.this for one in read.find_all(sqlglot.exp.Literal) if one.is_string}
    assert {*WORDS[:-1]} <= words
    patterns = {one.expression.this for one in read.find_all(sqlglot.exp.RegexpLike)}
    assert words - {*WORDS} <= {"NaN", *patterns}
    if dialect == "bigquery":
        assert "NaN" not in words  # it is not equal to itself there
        assert patterns <= {gap_pattern()}
    names = {column.name for column in read.find_all(sqlglot.exp.Column)}
    assert names <= {*FRAME}


# ---- databases


@pytest.mark.parametrize("front", [*FRONTS, *(f"table {name}" for name in TABLES)])
def test_postgres_gives_our_scores(postgres, front):
    """Also of days with a zone, NaN, and in a session that turns its clock."""
    step = TABLES[front[6:]] if front.startswith("table") else FRONTS[front]
    used = FRAME if front.startswith("table") else FRAME[NUMBERS]
    model, frame = fitted(step, used), OTHER[used.columns]
    wanted, expression = model.decision_function(frame), to_sql(model, "postgres")
    if front not in ("table encoder", "table unit"):  # to the others a day is a number
        frame = frame.rename(columns={"day": "the day"})
        expression = expression.replace('"day"', '"the day"')
    found = run_postgres(postgres, expression, frame)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_postgres_takes_names_and_numbers_of_every_size(postgres):
    names = ["é" * 31, "é" * 30 + "ab", "Age", "age"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(len(Y), 4)), columns=names)
    frame["Age"] = np.where(np.arange(len(Y)) % 5, frame["Age"], np.nan)
    front = SimpleImputer(add_indicator=True)
    search = AUCClassifierCV(alphas=[0.1], losses=("square",), cv=2, probability="sigmoid")
    model = make_pipeline(front, search).fit(frame, Y)
    frame.iloc[:4, 0] = 1e300, -1e300, 1e-300, -1e-300
    found = run_postgres(postgres, to_sql(model, "postgres"), frame)
    np.testing.assert_allclose(found, model.decision_function(frame), rtol=1e-9)
    found = run_postgres(postgres, to_sql(model, "postgres", probability=True), frame)
    np.testing.assert_allclose(found, model.predict_proba(frame)[:, 1], rtol=1e-9, atol=1e-15)


# to the second, which databases keep: before 1970, at midnight, far away, a gap
DAYS = [-25567.25, -1 / 86400, 0.0, 19000.0, 19000 + 10799 / 86400, 19001.125, 102000.9, np.nan]
SHOPS = [f"shop {k}" for k in range(30)]


def visits(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "day": (86400 * rng.uniform(19000, 19100, n)).round() / 86400,
            "shop": np.array([*SHOPS, np.nan], dtype=object)[rng.integers(0, 31, n)],
            "vip": rng.random(n) < 0.5,
        }
    )
    frame.loc[rng.random(n) < 0.1, "day"] = np.nan
    frame.attrs["columns"] = (Date("day"),)
    return frame


@pytest.mark.parametrize("front", ["encoder", "splines", "unit"])
def test_weekdays_times_of_day_and_other_words_go_with_the_model(postgres, front):
    more = {"encoder": [], "splines": [SplineFeatures(4)], "unit": [Normalizer()]}[front]
    frame = visits()
    model = fitted(make_pipeline(TableEncoder(missing=True), *more), frame)
    made = model[0][0].get_feature_names_out().tolist()
    assert {"day_Monday", "day_00:00", "shop_nan", "shop_other"} <= {*made}
    new = pd.DataFrame({"day": DAYS}).merge(
        pd.DataFrame({"shop": [*SHOPS[:2], "unseen", np.nan]}).astype(object), how="cross"
    ).assign(vip=[True, False] * 16)  # fmt: skip
    wanted = model.decision_function(new)
    # in rows of unit norm the date takes nearly all of it, and others' digits are lost
    room = (1e-9 if front == "unit" else 1e-12) * np.abs(wanted).max()
    score, label = run_onnx(to_onnx(model), new)
    np.testing.assert_allclose(score, wanted, rtol=1e-12, atol=room)
    assert label.tolist() == model.predict(new).tolist()
    np.testing.assert_allclose(run_sql(to_sql(model), new), wanted, rtol=1e-12, atol=room)
    found = run_postgres(postgres, to_sql(model, "postgres"), new)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=room)
    read = sqlglot.parse_one(to_sql(model, "bigquery"), dialect="bigquery")
    assert len([*read.find_all(sqlglot.exp.Floor)]) > 0


def test_days_out_of_every_calendar_score_as_the_graph_does():
    model = fitted(TableEncoder(missing=True), visits())
    far = [1e9, -1e9, 1e15, -1e15, 2.0**53 + 2, 1e-300, -1e-300, -5e-17]
    new = pd.DataFrame({"day": far, "shop": "shop 0", "vip": True}).astype({"shop": object})
    wanted = model.decision_function(new)
    np.testing.assert_allclose(run_onnx(to_onnx(model), new)[0], wanted, rtol=1e-12)


def test_times_and_yes_and_no_with_gaps_go_with_the_model(postgres):
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 86400, len(Y))
    gaps = rng.random((2, len(Y))) < 0.1
    frame = pd.DataFrame(
        {
            "at": np.where(gaps[0], np.nan, seconds / 86400),
            "vip": np.where(gaps[1], None, seconds % 3 == 0),
        }
    )
    declare(frame, [Time("at"), YesNo("vip", words=("no", "yes"))])
    model = fitted(TableEncoder(missing=True), frame)
    wanted = model.decision_function(frame)
    numbers = frame.astype(float)
    np.testing.assert_allclose(run_onnx(to_onnx(model), numbers)[0], wanted, rtol=1e-12)
    times = [
        None if gap else str(pd.Timedelta(s, "s"))[7:]
        for s, gap in zip(seconds, gaps[0], strict=True)
    ]
    rows = pa.table({"at": times, "vip": frame["vip"].tolist()})
    as_times = 'SELECT "at"::TIME AS "at", vip FROM given'
    with duckdb.connect() as database:
        database.register("given", rows)
        found = database.sql(f"SELECT {to_sql(model)} FROM ({as_times})").fetchall()
    np.testing.assert_allclose([score for (score,) in found], wanted, rtol=1e-12)
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(host=postgres, user="postgres", dbname="postgres") as base:
        base.execute('CREATE TEMP TABLE given (place serial, "at" time, vip boolean)')
        with base.cursor().copy('COPY given ("at", vip) FROM STDIN') as copy:
            for row in rows.to_pylist():
                copy.write_row([*row.values()])
        query = f"SELECT {to_sql(model, 'postgres')} FROM given ORDER BY place"
        found = base.execute(query).fetchall()
    np.testing.assert_allclose([score for (score,) in found], wanted, rtol=1e-12)


GAP_WORDS = ["", " ", "n/a", "NA ", "\tNaN", "Null\n", "?", " ?\u00a0", "\u3000N/A\x85", "\x0b"]


@pytest.mark.parametrize("front", ["encoder", "unit", "binning"])
def test_words_that_are_gaps_to_files_are_gaps_everywhere(postgres, front):
    """And those that only look alike are words."""
    near = ["none", "nane", "??", "n a", "-", "NÁ", "na\u200b", " red", "RED"]
    step = Binning() if front == "binning" else TABLES[front]
    model = fitted(step, FRAME.drop(columns="day"))
    cells = [*GAP_WORDS, *near, *near, np.nan, None]
    new = pd.concat([OTHER.iloc[:1]] * len(cells)).drop(columns="day")
    new["colour"] = np.array(cells, dtype=object)
    wanted = model.decision_function(new)
    assert len({*wanted[: len(GAP_WORDS)], *wanted[-2:]}) == 1
    assert wanted[0] not in wanted[len(GAP_WORDS) : -2]
    np.testing.assert_allclose(run_onnx(to_onnx(model), new)[0], wanted, rtol=1e-12)
    for dialect in ("duckdb", "postgres"):
        expression = to_sql(model, dialect)
        found = (
            run_sql(expression, new)
            if dialect == "duckdb"
            else run_postgres(postgres, expression, new)
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_new_kind_of_column_is_a_number_to_sql():
    """Unless it says otherwise, as yes and no do, whose numbers databases convert to no double."""

    @dataclass(frozen=True)
    class Percentage(Column):
        is_number = False

        def shown(self, value):
            return f"{value} %"

    rng = np.random.default_rng(0)
    share = rng.uniform(0, 100, 200)
    frame = pd.DataFrame({"share": share})
    model = AUCClassifier(1e-3).fit(declare(frame, [Percentage("share")]), share > 60)
    assert type(model.columns_[0]) is Percentage
    np.testing.assert_allclose(
        run_sql(to_sql(model), frame), model.decision_function(frame), rtol=1e-12
    )


def test_nan_is_a_gap_to_sql():
    frame = FRAME[["x", "size"]]
    rows = pa.table({"x": [np.nan, None, 1.0], "size": [1.0, 1.0, np.nan]})  # DuckDB keeps this NaN
    imputed = fitted(SimpleImputer(add_indicator=True), frame)
    wanted = imputed.decision_function(rows.to_pandas())
    np.testing.assert_allclose(run_arrow(to_sql(imputed), rows), wanted, rtol=1e-9)
    plain = AUCClassifier().fit(frame.fillna(0), Y)
    assert run_arrow(to_sql(plain), rows) == [None] * 3  # which is not the largest number


def test_dates_are_taken_by_their_type_only(postgres):
    """Text may mean another day than to the model, and a cast of a time moves it to the zone."""
    days = pd.to_datetime(FRAME["day"], unit="D").dt.floor("s")
    since = pd.DataFrame({"day": (days - pd.Timestamp(0)) / pd.Timedelta("1D")})
    since.attrs["columns"] = (Date("day", form="%d/%m/%Y"),)
    model = fitted(TableEncoder(), since)
    wanted = model.decision_function(pd.DataFrame({"day": days}))
    zoned = pa.table({"day": pa.array(days, pa.timestamp("us", "UTC"))})
    found = run_arrow(to_sql(model), zoned, "SET TimeZone = 'Asia/Tokyo'")
    np.testing.assert_allclose(found, wanted, rtol=1e-7)
    head = "/* day: a date or timestamp; text such as 31/01/2024 must be converted */\n"
    text = pd.DataFrame({"day": days.dt.strftime("%d/%m/%Y")})
    for dialect in DIALECTS:
        assert to_sql(model, dialect).startswith(head)
    with pytest.raises(duckdb.BinderException, match="date_part"):
        run_arrow(to_sql(model), pa.table({"day": text["day"].tolist()}))
    with pytest.raises(Exception, match=r"function pg_catalog\.extract"):
        run_postgres(postgres, to_sql(model, "postgres").replace('"day"', '"when"'),
                     text.rename(columns={"day": "when"}))  # fmt: skip


@pytest.mark.parametrize("front", ["encoder", "words"])
def test_numbers_are_no_words(postgres, front):
    """To a database 1 equals '01', which to the model is another word than '1'."""
    step = TableEncoder() if front == "encoder" else OneHotEncoder(handle_unknown="ignore")
    frame = pd.DataFrame({"zip": np.array(["01", "1", "2"], object)[np.arange(len(Y)) % 3]})
    model = fitted(step, frame)
    assert to_sql(model).startswith("/* text, as files have it: zip */\n")
    numbers = pd.DataFrame({"zip": [1, 1, 2]})
    with pytest.raises(duckdb.BinderException, match=r"lower\(BIGINT\)"):
        run_sql(to_sql(model), numbers)
    with pytest.raises(Exception, match=r"function lower\(bigint\) does not exist"):
        run_postgres(postgres, to_sql(model, "postgres"), numbers)


def test_names_that_are_one_to_a_database_are_refused():
    long = "x" * 62
    cases = {
        "duckdb": [("Age", "age", "DuckDB", "postgres"), ("É", "é", None),
                   (long + "ab", long + "ac", None)],
        "postgres": [("Age", "age", None), (long + "ab", long + "ac", "PostgreSQL", "duckdb"),
                     (long + "é", long + "яx", "PostgreSQL", "duckdb"),
                     (long + "a", long + "b", None)],
        "bigquery": [("É", "é", "BigQuery", "duckdb"), ("Age", "age", "BigQuery", "postgres")],
    }  # fmt: skip
    model = AUCClassifier().fit(FRAME[["size", 'a "b"']].to_numpy(), Y)
    for dialect, pairs in cases.items():
        for one, other, home, *able in pairs:
            if home is None:
                to_sql(model, dialect, columns=[one, other])
                continue
            said = f"the columns '{one}' and '{other}' are the same to {home}, .*; rename one, and "
            said += rf"train again, or write the SQL of {able[0]} \(dialect='{able[0]}'\)"
            with pytest.raises(ValueError, match=said):
                to_sql(model, dialect, columns=[one, other])
    for export in (to_sql, to_onnx):
        with pytest.raises(ValueError, match="two columns are called 'a'"):
            export(model, columns=["a", "a"])


@pytest.mark.parametrize("name", ['x */ + 1 /* "y', "it's", "$a$", "two\n-- lines"])
def test_a_comment_is_not_ended_by_a_name(name):
    """Nor has it quotes, after which DuckDB would take blanks out of words."""
    words = FRAME["colour"].where(FRAME["size"] > 0, "\u200b")
    frame = pd.DataFrame({name: words.astype(object)})
    model = fitted(TableEncoder(missing=True), frame)
    new = frame[:50]
    np.testing.assert_allclose(run_sql(to_sql(model), new), model.decision_function(new))


def test_columns_may_have_the_names_of_values_of_the_graph():
    frame = FRAME[["colour"]].assign(**{f"/{j}": FRAME["size"] for j in range(1, 20)})
    words = ("words", OneHotEncoder(), ["colour"])
    model = fitted(ColumnTransformer([words], remainder="passthrough"), frame)
    np.testing.assert_allclose(run_onnx(to_onnx(model), frame)[0], model.decision_function(frame))
    empty = pd.DataFrame({"colour": np.array(["", np.nan, "red"], object)[np.arange(len(Y)) % 3]})
    with pytest.raises(ValueError, match="distinguishes a gap from the empty word"):
        to_onnx(fitted(OneHotEncoder(), empty))


@pytest.mark.parametrize(
    ("front", "said"),
    [
        (filled(PCA(2)), "the step PCA cannot be exported"),
        (filled(Normalizer(), StandardScaler()), "Normalizer .* only .* in front of the model"),
        (filled(Normalizer("l1")), r"Normalizer\(norm='l1'\)"),
        (filled(FunctionTransformer(np.cbrt)), "FunctionTransformer with a function"),
        (splines(extrapolation="periodic"), "extrapolation='periodic'"),
        (splines(degree=1, extrapolation="linear"), "needs degree 2"),
        (filled(MinMaxScaler(clip=True)), r"clip=True"),
        (filled(OneHotEncoder(max_categories=3)), "puts rare words together"),
        (splines_then(KBinsDiscretizer(2, strategy="uniform")), "bins or splines of a feature"),
        (filled(OrdinalEncoder(**UNKNOWN)), "codes for unknown"),
        (filled(SimpleImputer(missing_values=0.0)), r"SimpleImputer\(missing_values=0\.0\)"),
        (filled(MissingIndicator(missing_values=0.0, features="all")), r"Indicator\(missing_val"),
        (splines(extrapolation="error"), "extrapolation='error'"),
        (filled(StandardScaler(), OneHotEncoder()), "categories of a transformed column"),
        (FeatureUnion([("a", OneHotEncoder(min_frequency=5))]), "puts rare words together"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_refused_in_a_sentence(front, said):
    model = fitted(front, FRAME[NUMBERS])
    for export in (to_onnx, to_sql):
        with pytest.raises(ValueError, match=said):
            export(model)


def test_words_without_an_encoder_and_truth_values_are_refused():
    digits = pd.DataFrame({"size": FRAME["size"].astype(int).astype(str).astype(object)})
    truth = pd.DataFrame({"large": FRAME["size"] > 1})
    most_frequent = SimpleImputer(strategy="most_frequent")
    for export in (to_onnx, to_sql):
        with pytest.raises(ValueError, match="uses a column of words directly"):
            export(fitted(most_frequent, digits))
        with pytest.raises(ValueError, match="of true and false cannot be exported; numbers can"):
            export(fitted(OneHotEncoder(), truth))


def test_only_linear_models_of_two_classes():
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.tree import DecisionTreeClassifier

    X = FRAME[["size"]]
    same(make_pipeline(LogisticRegression()).fit(X, Y), OTHER[["size"]])
    others = (DecisionTreeClassifier().fit(X, Y), LogisticRegression().fit(X, X["size"]))
    for model in (*others, Ridge().fit(X, Y)):
        with pytest.raises(ValueError, match="only linear models of two classes"):
            to_sql(model)


# ---- float32


def test_float32_warns_where_it_loses_the_order_of_rows():
    X = FRAME[["size", 'a "b"']]
    near, far = AUCClassifier().fit(X, Y), AUCClassifier().fit(X + 1e6, Y)
    made = to_onnx(near, "float32", rows=X)
    wanted = near.decision_function(X)
    np.testing.assert_allclose(run_onnx(made, X, "float32")[0], wanted, atol=1e-5)
    for rows in (X + 1e6, (X + 1e6).to_numpy(), None):
        with pytest.warns(DataWarning, match="float32 may lose the order of .* pairs"):
            made = to_onnx(far, "float32", rows=rows)
    found = run_onnx(made, X + 1e6, "float32")[0]
    assert order_lost(far.decision_function(X + 1e6), found) > 1e-3  # as it said
    np.testing.assert_allclose(run_onnx(to_onnx(far), X + 1e6)[0], far.decision_function(X + 1e6))


def test_order_lost_is_between_once_and_twice_the_pairs():
    rng = np.random.default_rng(0)
    exact = rng.permutation(60).astype(float)
    other = exact + 5 * rng.normal(size=60)
    turned = np.sign(exact[:, None] - exact) * np.sign(other[:, None] - other) < 0
    share = turned.sum() / (60 * 59)
    assert share <= order_lost(exact, other) <= 2 * share
    assert order_lost(exact, exact) == 0
    assert order_lost(exact, np.zeros(60)) > 0.5


def test_the_precision_computed_in_python_is_that_of_the_graph():
    model = fitted(FRONTS["splines"], FRAME[NUMBERS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = run_onnx(to_onnx(model, "float32"), OTHER[NUMBERS], "float32")[0]
    ours = additive(model).scores([*OTHER[NUMBERS].to_numpy().T], np.float32)
    assert ours.dtype == found.dtype == np.float32
    np.testing.assert_allclose(found, ours, rtol=1e-3, atol=1e-4)


def test_bad_settings(monkeypatch):
    model = AUCClassifier().fit(FRAME[["size"]], Y)
    with pytest.raises(ValueError, match="dialect='oracle' is not one of duckdb, post"):
        to_sql(model, "oracle")
    with pytest.raises(ValueError, match="dtype='half' must be"):
        to_onnx(model, "half")
    named = fitted(TABLES["words"], FRAME.rename(columns={"size": "score"}))
    with pytest.raises(ValueError, match="a column is called 'score'"):
        to_onnx(named)
    for package, export in (("onnx", to_onnx), ("sqlglot", to_sql)):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=r"pip install 'aucmax\[(onnx|sql)\]'"):
            export(model)


# ---- the command


@pytest.fixture
def trained(run, tmp_path):
    frame = FRAME.assign(day=pd.to_datetime(FRAME["day"], unit="D").dt.round("s"), fraud=Y)
    frame.to_csv(tmp_path / "train.csv", index=False)
    options = ("--target", "fraud", "--one-hot", "--impute", "--dates", "--alpha", 0.01)
    code, _, err = run(
        "train", tmp_path / "train.csv", *options, "--scale", "unit-norm", "-o", tmp_path / "m"
    )
    assert code == 0, err
    return tmp_path / "m"


def test_the_command_writes_what_train_has_made(run, tmp_path, trained):
    code, out, err = run("export", trained, "--to", "sql")
    assert code == 0
    assert " ".join(err.split()) == (
        "note: takes dates or timestamps, not text as in files, in 'day' (2024-01-31)"
    )
    with duckdb.connect() as database:
        source = f"read_csv('{tmp_path / 'train.csv'}')"
        found = database.sql(f"SELECT {out} AS score FROM {source}").fetchnumpy()["score"]
    code, scores, _ = run("score", trained, tmp_path / "train.csv")
    wanted = np.array([float(line.split(",")[1]) for line in scores.splitlines()[1:]])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-6 * np.abs(wanted).max())
    code, _, err = run("export", trained, "--to", "onnx", "-o", tmp_path / "m.onnx")
    assert code == 0
    assert err.startswith("note: takes days since 1970-01-01, not text")
    assert err.endswith(f"{tmp_path / 'm.onnx'} written\n")
    frame = FRAME.assign(day=(FRAME["day"] * 86400).round() / 86400)
    made = onnx.load(tmp_path / "m.onnx")
    np.testing.assert_allclose(run_onnx(made, frame)[0], load(trained).decision_function(frame))


# ---- files at random: what is read from a file is what SQL and ONNX make of its text

CELLS = [
    *(
        "red",
        "Red",
        " red",
        "none",
        "o'brien",
        "a,b",
        'say "x"',
        "Ärger",
        "A\u0308rger",
        "two\nlines",
    ),
    *(
        "-",
        "#N/A",
        "1.5x",
        "yes",
        "TRUE",
        "01",
        "1",
        "1.0",
        "1e3",
        "+1",
        "inf",
        "\u200b",
        "%",
        "\\",
    ),
]


def random_column(rng, n):
    """The cells of a column, and whether it is to be read as text."""
    kind = rng.integers(5)
    if kind < 2:
        words = [*rng.choice(CELLS, 5, replace=False), *rng.choice(GAP_WORDS, 2)]
        return rng.choice(words, n).tolist(), True
    if kind == 2:
        days = pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="D")
        return days.strftime(str(rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y"]))).tolist(), False
    numbers = rng.normal(size=n) * 10.0 ** rng.integers(-8, 8)
    cells = [str(rng.choice([" {!r}", "{!r} ", "{!r}"])).format(v) for v in numbers.tolist()]
    if kind == 3:
        cells = np.where(rng.random(n) < 0.2, str(rng.choice(GAP_WORDS)), cells).tolist()
    return cells, False


def random_file(rng, path, n=120):
    """Write a file; give its columns, and those that are to be read as text."""
    made = {name: random_column(rng, n) for name in ("a", "B b", "é'")}
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])))
        writer.writerow([*made, "target"])
        target = (rng.random(n) < 0.4).astype(int).tolist()
        writer.writerows(zip(*(cells for cells, _ in made.values()), target, strict=True))
    return {name: cells for name, (cells, _) in made.items()}, [n for n in made if made[n][1]]


@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(s, marks=pytest.mark.exhaustive) for s in range(5, ATTACKS))]
)
def test_a_file_is_scored_as_its_text_is_in_a_database(run, tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "rows.csv"
    cells, text = random_file(rng, path)
    options = ["--one-hot", "--impute", "--dates", "--alpha", 0.01]
    options += [option for name in text for option in ("--category", name)]
    options += ["--scale", "unit-norm"] if rng.random() < 0.3 else []
    code, _, err = run("train", path, "--target", "target", *options, "-o", tmp_path / "m")
    assert code == 0, err
    code, out, err = run("score", tmp_path / "m", path)
    assert code == 0, err
    wanted = np.array([float(row["score"]) for row in csv.DictReader(io.StringIO(out))])
    model = load(tmp_path / "m")
    forms = {column.name: column.form for column in model[0].columns_ if column.is_date}
    read = datasets.read(path, target="target", text=text, missing=True, dates=forms)
    numbers = dict(zip(read.feature_names, read.data.T, strict=True))
    frame = pd.DataFrame({n: cells[n] if n in text else numbers[n].astype(float) for n in cells})
    room = 2e-15 * abs(additive(model).intercept) + 1e-9 * max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(run_onnx(to_onnx(model), frame)[0], wanted, rtol=0, atol=room)
    for name in forms:
        frame[name] = pd.to_datetime(frame[name], unit="D")
    np.testing.assert_allclose(run_sql(to_sql(model), frame), wanted, rtol=0, atol=room)
    with duckdb.connect() as database:  # as it is: equal, or an error
        source = f"read_csv('{path}', header=true, delim=',', quote='\"', all_varchar=true)"
        try:
            rows = database.sql(f"SELECT {to_sql(model)} FROM {source}").fetchall()
        except duckdb.Error:
            return
    found = np.array([score for (score,) in rows], dtype=float)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=room)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--to", "onnx"), "--to onnx needs --output"),
        (("--to", "sql", "--rows", "train.csv"), "--rows is for --to onnx --float32"),
        (("--to", "pmml"), "pmml"),
        (("--to", "sql", "-o", "nowhere/m.sql"), "there is no folder"),
    ],
)
def test_bad_options_end_in_one_line(run, trained, options, said):
    code, out, err = run("export", trained, *options)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_command_tries_float32_on_rows(run, tmp_path, trained):
    written = tmp_path / "m.onnx"
    options = ("--to", "onnx", "--float32", "--rows", tmp_path / "train.csv", "-o", written)
    code, _, err = run("export", trained, *options)
    assert code == 0
    assert err.startswith("warning: float32 may lose the order of ")
    assert "of the given rows" in err
    assert onnx.load(written).graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_true_and_false_are_numbers_of_a_database(postgres):
    frame = FRAME[["size"]].assign(vip=FRAME["size"] > 1)
    model = AUCClassifier(alpha=0.01).fit(frame, Y)
    wanted = model.decision_function(frame)
    for found in (
        run_sql(to_sql(model), frame),
        run_postgres(postgres, to_sql(model, "postgres"), frame),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_allclose(run_onnx(to_onnx(model), frame)[0], wanted, rtol=1e-9)


def test_the_sql_of_a_model_of_a_file_trims_words_and_tells_what_to_convert(tmp_path, good):
    path = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.choice(['Ulm', 'Bonn'])},{rng.choice(['yes', 'no'])},${rng.random():.2f},{i % 2}"
        for i in range(60)
    ]
    path.write_text("\n".join(["town,vip,fee,y", *lines]))
    good("train", path, "--target", "y", "--loss", "square", "-o", tmp_path / "m")
    sql = to_sql(load(tmp_path / "m"))
    assert "/* vip: true and false, or 1 and 0; text such as yes and no must be converted */" in sql
    assert "/* fee: a number; text such as $ 1,234.50 or 5 % must be converted */" in sql
    towns = pd.DataFrame({"town": ["Ulm", " Ulm "], "vip": [1, 1], "fee": [0.5, 0.5]})
    one, other = run_sql(sql, towns)
    assert one == other


@pytest.mark.parametrize("kind", ["line", "words", "curves and maps"])
def test_models_within_strata(kind):
    stratum = np.random.default_rng(3).integers(0, 40, len(Y))
    frame = FRAME[["size", "colour"] if kind == "words" else ["size", 'a "b"']]
    if kind == "words":
        model = make_pipeline(TableEncoder(missing=True), AUCClassifier(alpha=0.01))
        model.fit(frame, Y, aucclassifier__strata=stratum)
    elif kind == "line":
        model = AUCClassifier(loss="logistic", alpha=0.01).fit(frame, Y, strata=stratum)
    else:
        settings = {"losses": ["square"], "shape": "interactions", "cv": 3}
        model = AdditiveAUCClassifier(1, **settings).fit(frame, Y, strata=stratum)
    last = model[-1] if hasattr(model, "steps") else model
    assert last.strata_.count == 40
    same(model, frame)
