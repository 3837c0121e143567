"""Moments by queries: equal to those of the rows, in whatever engine these are."""

import datetime
import functools
import operator
import shutil
import sys
from fractions import Fraction
from itertools import combinations_with_replacement, product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from aucmax import AUCClassifier, ClassMoments
from aucmax.statistics import query

ENGINES = {
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
}
HERE = {**ENGINES, "pandas": lambda frame: frame, "eager polars": pl.from_pandas}
each_engine = pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES.keys())
each_here = pytest.mark.parametrize("engine", HERE.values(), ids=HERE.keys())
routes = pytest.mark.parametrize("rows", [False, True], ids=["queries", "batches"])


@pytest.fixture
def route(monkeypatch):
    """Take queries, or batches of rows, whatever the number of features."""

    def route(rows):
        monkeypatch.setattr(query, "MAX_LOCAL_FEATURES", 0 if rows else 1000)
        monkeypatch.setattr(query, "MAX_FEATURES", 0 if rows else 1000)

    return route


def table(n=4000, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.2
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + np.outer(y, rng.normal(size=d))
    out = pd.DataFrame(X, columns=[f"f{j}" for j in range(d)])
    out["whole"] = rng.integers(-5, 100, n)
    out["truth"] = rng.random(n) < 0.3
    out["constant"] = 0.1 + 0.2
    out["times"] = rng.random(n) * (rng.random(n) < 0.9)
    return out, y


def same(found, expected, rtol=1e-12):
    """Equal up to a share of what the features spread."""
    assert found.classes.tolist() == expected.classes.tolist()
    np.testing.assert_allclose(found.counts, expected.counts, rtol=rtol)
    np.testing.assert_allclose(found.effective_rows, expected.effective_rows, rtol=rtol)
    scale = np.sqrt(expected.variances)
    assert np.all(np.abs(found.means - expected.means) <= rtol * (np.abs(expected.means) + scale))
    size = np.einsum("ki,kj->kij", scale, scale)
    assert np.all(np.abs(found.covs - expected.covs) <= rtol * size)
    assert found.feature_names == expected.feature_names


LABELS = {
    "truth": lambda y: y,
    "numbers": lambda y: np.where(y, 3, -7),
    "floats": lambda y: np.where(y, 1.5, 0.25),
    "words": lambda y: np.where(y, "yes", "no"),
}


@each_here
@routes
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.covering
def test_equal_to_the_moments_of_the_rows(engine, rows, labels, route):
    route(rows)
    frame, y = table()
    y = LABELS[labels](y)
    features = frame.drop(columns="times")
    given = engine(frame.assign(ill=y))
    found = ClassMoments.from_query(given, target="ill", weight="times")
    same(found, ClassMoments.from_data(features, y, frame["times"]))
    assert found.target_name == "ill"
    assert not found.covs[:, features.columns.get_loc("constant")].any()
    names = ["whole", "f3", "truth"]
    found = ClassMoments.from_query(given, target="ill", features=names)
    same(found, ClassMoments.from_data(features[names], y))


@each_engine
def test_far_features_keep_their_digits(engine):
    """Whole numbers around ten million: sums of squares would have lost what is left of them."""
    rng = np.random.default_rng(1)
    y = rng.random(5000) < 0.5
    near = pd.DataFrame(rng.integers(-4, 5, (5000, 3)), columns=list("abc")) + 100 * y[:, None]
    far = near.assign(a=near.a + 10**7, b=near.b - 3 * 10**7).assign(ill=y)
    found = ClassMoments.from_query(engine(far), target="ill")
    expected = ClassMoments.from_data(near.astype(float), y)
    size = expected.variances.max()
    np.testing.assert_allclose(found.covs, expected.covs, rtol=0, atol=1e-12 * size)


@each_engine
def test_sums_of_millions_keep_their_digits(engine):
    """The variance of a 0/1 feature follows from counts; added one by one, it is off by 1e-11."""
    n = 1_000_000
    i = np.arange(n)
    frame = pd.DataFrame({"a": i % 5 == 0, "b": (i // 7) % 3 == 0, "ill": i % 2 == 0})
    weighted = frame.assign(w=0.1)
    for given, weight in ((frame, None), (weighted, "w")):
        found = ClassMoments.from_query(engine(given), "ill", ["a", "b"], weight)
        counts = np.array([n / 2, n / 2]) * (1.0 if weight is None else 0.1)
        np.testing.assert_allclose(found.counts, counts, rtol=1e-14)
        for k, label in enumerate((False, True)):
            part = frame[frame["ill"] == label][["a", "b"]]
            p, both = part.mean().to_numpy(), (part["a"] & part["b"]).mean()
            expected = [p[0] * (1 - p[0]), both - p[0] * p[1], p[1] * (1 - p[1])]
            np.testing.assert_allclose(found.means[k], p, rtol=1e-14)
            near = found.covs[k][np.triu_indices(2)]
            np.testing.assert_allclose(near, expected, rtol=0, atol=2e-14)


def exact_covariance(x, z, w):
    """In rational arithmetic."""
    x, z, w = ([Fraction(float(v)) for v in values] for values in (x, z, w))
    total = sum(w)
    mean_x, mean_z = (sum(map(operator.mul, w, v)) / total for v in (x, z))
    return float(
        sum(c * (a - mean_x) * (b - mean_z) for a, b, c in zip(x, z, w, strict=True)) / total
    )


@functools.cache
def spread(far):
    """Columns that vary in the last digits of their mean, and of one outlier, with weights.

    And the labels, and the exact covariances of each class.
    """
    rng = np.random.default_rng(3)
    n, y = 600, np.arange(600) % 3 == 0
    steps = np.spacing(far) * rng.integers(0, 40, (2, n))
    frame = pd.DataFrame({"a": far + steps[0], "b": far * (1 + 4e-14 * rng.random(n))})
    frame["c"] = np.where(np.arange(n) == 7, far, 1e-30 * far * rng.random(n))
    frame["w"] = rng.random(n) ** 4
    covs = np.zeros((2, 3, 3))
    for k, part in enumerate((frame[~y], frame[y])):
        for i, j in combinations_with_replacement(range(3), 2):
            exact = exact_covariance(part.iloc[:, i], part.iloc[:, j], part["w"])
            covs[k, i, j] = covs[k, j, i] = exact
    return frame, y, covs


@pytest.mark.covering(1)
@each_engine
@routes
@pytest.mark.parametrize("far", [1e-9, 1.0, -1e17, 1e60])
def test_a_spread_of_few_last_digits_is_seen(engine, rows, far, route):
    route(rows)
    frame, y, covs = spread(far)
    found = ClassMoments.from_query(engine(frame.assign(ill=y)), "ill", ["a", "b", "c"], "w")
    spreads = np.sqrt(np.einsum("kjj->kj", covs))
    scale = spreads[:, :, None] * spreads[:, None, :]
    assert np.all(np.abs(found.covs - covs) <= 1e-12 * scale)


LONG = {
    "far": ("int64", 2**60, 10, True),
    "nanoseconds": ("int64", 1_700_000_000 * 10**9, 10**15, False),
    "whole": ("int64", 2**53 - 100, 100, False),
    "constant": ("int64", 2**60, 1, False),
    "unsigned": ("uint64", 2**64 - 5000, 1000, True),
}


@each_here
@routes
@pytest.mark.parametrize("case", LONG)
@pytest.mark.covering
def test_whole_numbers_of_many_digits_are_exact_or_refused(engine, rows, case, route):
    route(rows)
    dtype, start, spread, refused = LONG[case]
    rng = np.random.default_rng(0)
    values = np.uint64(start) + rng.integers(0, spread, 1000).astype(np.uint64)
    frame = pd.DataFrame({"id": values.astype(dtype), "ill": np.arange(1000) % 2 == 0})
    if refused:
        low = int(values.min())
        with pytest.raises(ValueError, match=f"'id' are between {low} and .* subtract {low} from"):
            ClassMoments.from_query(engine(frame), "ill")
        return
    found = ClassMoments.from_query(engine(frame), "ill")
    for k, label in enumerate((False, True)):
        x = [Fraction(int(v)) for v in values[frame["ill"] == label]]
        mean = sum(x) / len(x)
        variance = float(sum((v - mean) ** 2 for v in x) / len(x))
        np.testing.assert_allclose(found.variances[k], variance, rtol=1e-9)
        assert found.means[k, 0] == float(mean)


@each_engine
def test_many_features_take_several_queries(engine, monkeypatch):
    monkeypatch.setattr(query, "TILE_FEATURES", 3)
    frame, y = table(n=800, d=8)
    frame = frame.drop(columns="times")
    found = ClassMoments.from_query(engine(frame.assign(ill=y)), target="ill")
    same(found, ClassMoments.from_data(frame, y))


@each_engine
@routes
def test_columns_may_be_called_anything(engine, rows, route):
    route(rows)
    frame, y = table(n=500, d=4)
    names = ["y", "w", "x0", "a 'b' (c)"]
    frame = frame[["f0", "f1", "f2", "f3"]].set_axis(names, axis=1)
    found = ClassMoments.from_query(engine(frame.assign(x1=y)), target="x1")
    same(found, ClassMoments.from_data(frame, y))


@each_engine
def test_a_model_is_that_of_the_rows(engine):
    frame, y = table()
    frame = frame.drop(columns="times")
    moments = ClassMoments.from_query(engine(frame.assign(ill=y)), target="ill")
    found, expected = AUCClassifier().fit_moments(moments), AUCClassifier().fit(frame, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)
    assert found.target_name_ == "ill"
    np.testing.assert_array_equal(found.predict(frame), expected.predict(frame))


def test_labels_may_be_dates():
    days = [datetime.date(2024, 1, 1), datetime.date(2025, 1, 1)]
    frame = pl.LazyFrame({"a": [1.0, 2.0, 4.0, 8.0], "day": [days[0], days[1], *days]})
    assert ClassMoments.from_query(frame, target="day").classes.tolist() == days


# ---- what is refused ---------------------------------------------------------------------


def put(frame, column, value, rows=(3, 7)):
    frame.loc[list(rows), column] = value


BAD = {
    "nulls": (lambda f: put(f, "f1", None), "or above 1e\\+75: 'f1' in 2 rows; fill them"),
    "infinity": (lambda f: put(f, "f2", np.inf), "or above 1e\\+75: 'f2' in 2 rows"),
    "two columns": (
        lambda f: (put(f, "f0", -np.inf), put(f, "f2", np.nan, [1])),
        "'f0' in 2 rows, 'f2' in 1 rows",
    ),
    "target": (lambda f: put(f, "ill", None), "the target 'ill' is missing in some rows"),
    "third": (lambda f: put(f, "ill", 2.0), r"two values; it has 3: 0\.0, 1\.0, 2\.0"),
    "one": (lambda f: f.assign(ill=1.0), r"must have two values; it has 1: 1\.0"),
    "none": (lambda f: f[:0], r"must have two values; it has 0\."),
    "continuous": (lambda f: f.assign(ill=np.arange(100.0)), r"two values; it has more than 20\."),
    "text": (lambda f: f.assign(town="Ulm"), "columns that are not numbers: 'town'"),
    "weights": (lambda f: put(f, "times", -1.0), "'times' is missing, negative or not"),
    "no weights": (
        lambda f: put(f, "times", None),
        "'times' is missing, negative or not",
    ),
}


@each_engine
@routes
@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_summed_is_named(engine, rows, case, route):
    route(rows)
    change, message = BAD[case]
    frame, y = table(n=100, d=3)
    frame["ill"] = np.where(y, 1.0, 0.0)
    changed = change(frame)
    changed = changed if isinstance(changed, pd.DataFrame) else frame
    with pytest.raises(ValueError, match=message):
        ClassMoments.from_query(engine(changed), target="ill", weight="times")


def test_what_is_no_column_or_no_frame(monkeypatch):
    frame = pl.LazyFrame({"a": [1.0, 2.0], "ill": [0, 1]})
    with pytest.raises(ValueError, match="there is no column 'b'; there are a, ill"):
        ClassMoments.from_query(frame, target="b")
    with pytest.raises(ValueError, match="there is no column 'b'"):
        ClassMoments.from_query(frame, target="ill", features=["a", "b"])
    with pytest.raises(ValueError, match="column 'ill' has the target, so it cannot be a feature"):
        ClassMoments.from_query(frame, target="ill", features=["a", "ill"])
    with pytest.raises(ValueError, match="the feature 'a' is named twice"):
        ClassMoments.from_query(frame, target="ill", features=["a", "a"])
    with pytest.raises(ValueError, match="no feature besides the target 'ill'"):
        ClassMoments.from_query(frame.select("ill"), target="ill")
    with pytest.raises(TypeError, match="list is not a frame or relation that narwhals supports"):
        ClassMoments.from_query([[1.0]], target="ill")
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ImportError, match=r"pip install 'aucmax\[query\]'"):
        ClassMoments.from_query(frame, target="ill")


# ---- other engines -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # of others' packages
@pytest.mark.parametrize("rows", [False, True], ids=["queries", "batches"])
def test_dask(rows, route):
    dask = pytest.importorskip("dask.dataframe")
    route(rows)
    frame, y = table(n=300, d=2)
    given = dask.from_pandas(frame.assign(ill=y), npartitions=3)
    found = ClassMoments.from_query(given, target="ill", weight="times")
    same(found, ClassMoments.from_data(frame.drop(columns="times"), y, frame["times"]))


@pytest.fixture(scope="session")
def on_postgres(postgres):
    """Put a frame into a table of PostgreSQL."""
    ibis = pytest.importorskip("ibis")
    home = ibis.postgres.connect(host=postgres, user="postgres", database="postgres")
    yield lambda frame, **types: home.create_table(
        f"t{len(home.list_tables())}", frame, schema={**ibis.memtable(frame).schema(), **types}
    )
    home.disconnect()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("labels", "rows"),
    [
        ("truth", False),
        ("words", False),
        pytest.param("numbers", False, marks=pytest.mark.exhaustive),
        pytest.param("floats", False, marks=pytest.mark.exhaustive),
        ("floats", True),
    ],
)
def test_postgres(on_postgres, labels, rows, route):
    route(rows)
    frame, y = table(n=300, d=2)
    y = LABELS[labels](y)
    frame["price"] = np.round(frame["whole"] / 7, 2)
    given = on_postgres(frame.assign(ill=y), price="decimal(10, 2)")
    found = ClassMoments.from_query(given, target="ill", weight="times")
    same(found, ClassMoments.from_data(frame.drop(columns="times"), y, frame["times"]))
    some = ["price", "truth", "f0"]
    same(ClassMoments.from_query(given, "ill", some), ClassMoments.from_data(frame[some], y))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [False, True], ids=["queries", "batches"])
def test_numbers_of_any_digits_in_postgres(on_postgres, rows, route):
    route(rows)
    rng = np.random.default_rng(0)
    price, ill = rng.normal(size=300) * 1e9, np.arange(300) % 3 == 0
    given = on_postgres(pd.DataFrame({"price": price, "ill": ill}), price="decimal")
    quotients = given.mutate(price=given.price / 7)  # of more digits than a type of Arrow has
    found = ClassMoments.from_query(quotients, "ill")
    expected = ClassMoments.from_data(price[:, None] / 7, ill)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(found.covs, expected.covs, rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [False, True], ids=["queries", "batches"])
@pytest.mark.parametrize("labels", [(0, 1), (0.25, 3.0)], ids=str)
def test_labels_that_are_decimals_in_postgres(on_postgres, rows, labels, route):
    route(rows)
    X, y = np.arange(12.0), np.array(labels)[np.arange(12) % 3 % 2]
    given = on_postgres(pd.DataFrame({"x": X, "y": y}), y="decimal(20, 9)")
    found = ClassMoments.from_query(given, target="y")
    assert found.classes.tolist() == list(labels)
    assert found.classes.dtype.kind == np.array(labels).dtype.kind
    assert "0E" not in repr(found)
    same(found, ClassMoments.from_data(pd.DataFrame({"x": X}), y))
    three = on_postgres(pd.DataFrame({"x": X, "y": np.arange(12) % 3}), y="decimal(20, 9)")
    with pytest.raises(ValueError, match=r"it has 3: 0, 1, 2\.$"):
        ClassMoments.from_query(three, target="y")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [False, True], ids=["queries", "batches"])
def test_what_postgres_has_and_cannot_be_summed(on_postgres, rows, route):
    route(rows)
    frame, y = table(n=100, d=3)
    frame["id"] = 2**60 + np.arange(100)
    given = on_postgres(frame.assign(ill=y))
    low = f"{2**60}"
    with pytest.raises(ValueError, match=f"'id' are between {low} and .* subtract {low}"):
        ClassMoments.from_query(given, "ill")
    for change, message in (BAD[case] for case in ("nulls", "infinity", "weights", "third")):
        broken = frame.drop(columns="id").assign(ill=np.where(y, 1.0, 0.0))
        change(broken)
        with pytest.raises(ValueError, match=message):
            ClassMoments.from_query(on_postgres(broken), "ill", weight="times")


@pytest.mark.filterwarnings("ignore")
def test_queries_are_of_double_precision_in_other_databases(monkeypatch):
    """Truth values are never cast, numbers never divided, and none stands for itself as a decimal.

    What DuckDB computes is compiled for the others, whose servers are not asked.
    """
    ibis, nw = pytest.importorskip("ibis"), pytest.importorskip("narwhals")
    queries, collect = [], nw.LazyFrame.collect

    def recorded(self, *arguments, **settings):
        queries.append(self.to_native())
        return collect(self, *arguments, **settings)

    monkeypatch.setattr(nw.LazyFrame, "collect", recorded)
    frame, y = table(n=1000)
    given, features = ibis.memtable(frame.assign(ill=y)), ["truth", "whole", "f0"]
    for weight in (None, "times"):
        found = ClassMoments.from_query(given, "ill", features, weight)
        weights = None if weight is None else frame[weight]
        same(found, ClassMoments.from_data(frame[features], y, weights))
    assert len(queries) == 4
    for query_, dialect in product(queries, ("postgres", "bigquery", "snowflake", "mysql")):
        parsed = sqlglot.parse_one(ibis.to_sql(query_, dialect=dialect), dialect=dialect)
        assert not [*parsed.find_all(exp.Div)]
        for cast in parsed.find_all(exp.Cast):
            inner = cast.this.unnest()
            assert not isinstance(inner, exp.Predicate | exp.Not | exp.Connector | exp.Boolean)
            assert not (isinstance(inner, exp.Column) and inner.name in ("truth", "ill"))
        alone = [node.this for node in parsed.find_all(exp.Alias)]
        assert not [node for node in alone if isinstance(node, exp.Literal)]


@pytest.mark.filterwarnings("ignore")
def test_spark(route):
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("PySpark needs Java")
    frame, y = table(n=1000, d=2)
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        given = session.createDataFrame(frame.assign(ill=y))
        for rows in (False, True):
            route(rows)
            found = ClassMoments.from_query(given, target="ill", weight="times")
            same(found, ClassMoments.from_data(frame.drop(columns="times"), y, frame["times"]))
    finally:
        session.stop()
