"""Moments within strata by queries: equal to those of the rows, in whatever engine these are."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aucmax import ClassMoments
from aucmax.statistics import query

MODES = ("positives", "pairs", "strata")
HERE = {
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
    "pandas": lambda frame: frame,
}
KINDS = {
    "numbers": lambda g: g - 7,
    "words": lambda g: np.array([f"site {k}" for k in g]),
    "days": lambda g: np.array([datetime.date(2024, 1, 1) + datetime.timedelta(int(k)) for k in g]),
    "times": lambda g: np.datetime64("2024-01-01T03", "us") + g.astype("m8[h]").astype("m8[us]"),
}
each_here = pytest.mark.parametrize("engine", HERE.values(), ids=HERE.keys())
routes = pytest.mark.parametrize("rows", [False, True], ids=["queries", "batches"])


@pytest.fixture
def route(monkeypatch):
    """Take queries, or small batches of rows, whatever the number of features."""

    def route(rows):
        monkeypatch.setattr(query, "MAX_LOCAL_FEATURES", 0 if rows else 1000)
        monkeypatch.setattr(query, "MAX_FEATURES", 0 if rows else 1000)
        monkeypatch.setattr("aucmax.statistics.relation.BATCH_ROWS", 50)

    return route


def table(n=600, groups=80, seed=0):
    """Strata far from each other, some of one class; one has more rows than a batch."""
    rng = np.random.default_rng(seed)
    g = np.where(rng.random(n) < 0.2, 5, rng.integers(0, groups, n))
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 3)) + y[:, None] + 1e5 * rng.normal(size=(groups, 3))[g]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(whole=rng.integers(0, 9, n))
    frame["times"] = rng.random(n) * (rng.random(n) < 0.9)
    return frame, g, y


def expected(frame, g, y, mode):
    X = frame.drop(columns="times")
    return ClassMoments.from_data(X, y, frame["times"], strata=g, strata_weight=mode)


def same(found, moments):
    assert found.classes.tolist() == moments.classes.tolist()
    for name, values in moments.kept.items():
        scale = 1e5 if name == "origins" else 1.0
        np.testing.assert_allclose(
            found.kept[name], values, rtol=1e-9, atol=1e-9 * scale, err_msg=name
        )
    np.testing.assert_array_equal(found.strata.digests, moments.strata.digests)
    np.testing.assert_array_equal(found.strata.rows, moments.strata.rows)
    for name in ("weighting", "positive", "of_one_class"):
        assert getattr(found.strata, name) == getattr(moments.strata, name)
    assert found.feature_names == moments.feature_names


@pytest.mark.covering
@each_here
@routes
@pytest.mark.parametrize(("mode", "kind"), [*zip(MODES, KINDS, strict=False), ("pairs", "times")])
def test_equal_to_the_moments_of_the_rows(engine, rows, mode, kind, route):
    route(rows)
    frame, g, y = table()
    values = KINDS[kind](g)
    found = ClassMoments.from_query(
        engine(frame.assign(stratum=values, ill=y)), "ill", weight="times", strata="stratum",
        strata_weight=mode,
    )  # fmt: skip
    same(found, expected(frame, values, y, mode))
    assert found.strata.of_one_class > 0


@pytest.mark.filterwarnings("ignore")  # of others' packages
def test_postgres(postgres, route):
    ibis = pytest.importorskip("ibis")
    home = ibis.postgres.connect(host=postgres, user="postgres", database="postgres")
    frame, g, y = table(n=300)
    whole = frame.assign(stratum=[Decimal(int(k)) for k in g], ill=y)
    schema = {**ibis.memtable(whole).schema(), "stratum": "decimal(20, 0)"}
    given = home.create_table("strata", whole, schema=schema)
    for rows in (False, True):
        route(rows)
        found = ClassMoments.from_query(given, "ill", weight="times", strata="stratum")
        same(found, expected(frame, g, y, "positives"))
    home.disconnect()


@each_here
@routes
def test_what_it_refuses_and_what_has_no_pairs(engine, rows, route):
    route(rows)
    frame, g, y = table(n=200)
    alone = ClassMoments.from_query(
        engine(frame.assign(stratum=y, ill=y)), "ill", strata="stratum", weight="times"
    )
    assert (alone.counts.tolist(), alone.strata.of_one_class) == ([0.0, 0.0], 2)
    assert alone.classes.tolist() == [0, 1]
    for values in (np.where(g < 9, np.nan, g), np.where(g < 9, None, KINDS["words"](g))):
        broken = engine(frame.assign(stratum=values, ill=y))
        with pytest.raises(ValueError, match=f"'stratum' is missing in {(g < 9).sum()} rows"):
            ClassMoments.from_query(broken, "ill", strata="stratum")
    given = engine(frame.assign(stratum=g, ill=y))
    with pytest.raises(ValueError, match="'stratum' has the strata, so it cannot be a feature"):
        ClassMoments.from_query(given, "ill", ["a", "stratum"], strata="stratum")
    with pytest.raises(ValueError, match="there is no column 'site'"):
        ClassMoments.from_query(given, "ill", strata="site")
    with pytest.raises(ValueError, match="strata_weight must be 'positives'"):
        ClassMoments.from_query(given, "ill", strata="stratum", strata_weight="rows")
