"""Gains of pairs from sums over the cells of two columns, of rows and of tables in databases."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aucmax import AdditiveAUCClassifier, Source
from aucmax.columns.axes import Axis
from aucmax.columns.expressions import Expressions
from aucmax.columns.functions import Pieces
from aucmax.data.columns import Date
from aucmax.statistics.relation import Relation

pytestmark = pytest.mark.filterwarnings("ignore")  # of others' packages
ibis = pytest.importorskip("ibis")

BY_BATCHES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
}
FIXED = {"losses": ["square"], "alphas": [0.01], "cv": 2, "n_knots": 9, "positive": "ill"}


def clinic(n=500, seed=0):
    """Numbers that lie between knots, words and gaps as files have them, dates, yes and no."""
    rng = np.random.default_rng(seed)
    minutes = 15 * rng.integers(0, 60 * 24 * 4, n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 30, n) * 1.0,
            "dose": rng.integers(0, 30, n) / 10,
            "ward": rng.choice(["a", "b", "C", " c", "n/a", ""], n).astype(object),
            "smokes": rng.random(n) < 0.3,
            "seen": np.datetime64("2023-12-01T00:00:00", "us") + minutes.astype("m8[m]"),
        }
    )
    y = (frame.age / 5 - 5) * (frame.dose - 1.5) + rng.normal(size=n) > 0.5
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "ward"] = None
    frame.loc[rng.random(n) < 0.1, "seen"] = pd.NaT
    return frame, np.where(y, "ill", "well"), rng.integers(0, 3, n) / 2


@pytest.fixture(scope="module")
def rows():
    """A fit's rows, of which some have words and gaps that were not in the fit, and models."""
    frame, y, weight = clinic()
    fits = {0: "curves", 2: "interactions"}
    models = {
        k: AdditiveAUCClassifier(k, shape=shape, **FIXED).fit(frame, y, weight)
        for k, shape in fits.items()
    }
    new = frame.copy()
    new.loc[:9, "ward"] = "new"
    new.loc[5:19, "dose"] = np.nan
    return frame, new, y, weight, models


def same(sums, expected):
    assert sums.pairs == expected.pairs
    np.testing.assert_allclose(sums.weight, expected.weight, rtol=1e-12)
    size = np.abs(expected.scores).max()
    np.testing.assert_allclose(sums.scores, expected.scores, rtol=0, atol=1e-12 * size)


def test_gains_at_the_curves_are_those_by_which_a_fit_chooses(rows):
    frame, _, y, weight, models = rows
    sums = models[0].pair_sums(frame, y, weight)
    gains = models[0].pair_gains(sums)
    assert len(gains) == 7 * 6 // 2 - 3  # of five columns and two cycles, none of one date
    assert [*gains.values()] == sorted(gains.values(), reverse=True)
    assert [*gains][:2] == models[2].interactions_
    np.testing.assert_allclose([*gains.values()][:2], models[2].gains_, rtol=1e-4)
    further = models[2].pair_gains(models[2].pair_sums(frame, y, weight))
    assert further.keys() == gains.keys() - {*models[2].interactions_}
    named = [("dose", "age"), (2, "smokes")]
    chosen = models[0].pair_gains(models[0].pair_sums(frame, y, weight, named))
    assert chosen == pytest.approx({pair: gains[pair] for pair in chosen})
    assert {*chosen} == {("age", "dose"), ("ward", "smokes")}
    with pytest.raises(ValueError, match="there are no pairs"):
        models[0].pair_sums(frame, y, pairs=[])


def test_sums_of_parts_add_up(rows):
    _, new, y, weight, models = rows
    model = models[2]
    expected = model.pair_sums(new, y, weight)
    cuts = [slice(0, 200), slice(200, 203), slice(203, 500)]
    parts = [model.pair_sums(new[at], y[at], weight[at]) for at in cuts]
    same(parts[0] + parts[1] + parts[2], expected)
    source = Source([lambda at=at: (new[at], y[at], weight[at]) for at in cuts])
    same(model.pair_sums(source), expected)
    same(model.pair_sums(new, y), model.pair_sums(source, sample_weight=np.ones(len(y))))
    with pytest.raises(ValueError, match="of other pairs, or of another model"):
        expected + models[0].pair_sums(new, y, weight)
    with pytest.raises(ValueError, match="only rows of one class"):
        model.pair_gains(model.pair_sums(new[y == "ill"], y[y == "ill"]))


@pytest.mark.parametrize("engine", BY_BATCHES.values(), ids=BY_BATCHES)
def test_sums_of_engines_in_this_process(rows, engine):
    _, new, y, weight, models = rows
    table = engine(new.assign(result=y, times=weight))
    for model in models.values():
        sums = model.pair_sums(table, "result", "times")
        same(sums, model.pair_sums(new, y, weight))
    same(sums + model.pair_sums(new, y, weight), model.pair_sums(new, y, 2 * weight))


@pytest.mark.parametrize("k", [pytest.param(0, marks=pytest.mark.exhaustive), 2])
def test_sums_by_groups(rows, k, monkeypatch):
    monkeypatch.setattr("aucmax.estimators.pair_rows.PAIRS_OF_A_QUERY", 10)
    _, new, y, weight, models = rows
    table = ibis.memtable(new.assign(result=y, times=weight))
    sums = models[k].pair_sums(table, "result", "times")
    same(sums, models[k].pair_sums(new, y, weight))


def test_sums_by_groups_in_postgres(rows, postgres):
    _, new, y, weight, models = rows
    home = ibis.postgres.connect(host=postgres, user="postgres", database="postgres")
    table = home.create_table("pairs_of_columns", new.assign(result=y, times=weight), temp=True)
    pairs = [("age", "dose"), ("ward", "seen: hour"), ("smokes", "seen"), ("dose", "seen: weekday")]
    for model in models.values():
        expected = model.pair_sums(new, y, None, pairs)
        same(model.pair_sums(table, "result", None, pairs), expected)
    home.disconnect()


def test_numbers_lie_at_the_place_that_maps_say():
    rng = np.random.default_rng(1)
    for knots in ([0.1, 0.3, 0.9, 1.0], [-1.0, 1.0, 4.0], rng.random(5).cumsum()):
        knots = np.array(knots)
        ends = (knots[1:] + knots[:-1]) / 2
        near = [np.nextafter(ends, way) for way in (-9.0, 9.0)]
        x = np.concatenate([knots, ends, *near, rng.uniform(-2, 6, 50), [np.nan]])
        for has_gaps in (False, True):
            axis = Axis(knots, knots, has_gaps=has_gaps)
            low, rise = axis.map_places(x)
            (function,) = axis.place_functions(Pieces.line())
            np.testing.assert_array_equal(function(x), np.maximum(low, 0) + (rise > 0.5))


@pytest.mark.parametrize("engine", [BY_BATCHES["polars"], ibis.memtable], ids=["polars", "ibis"])
def test_days_of_dates_have_the_bits_of_days_in_memory(engine):
    days = np.arange("1896-02-25", "2104-03-05", 1, dtype="M8[D]")
    moments = days.astype("M8[us]") + (np.arange(len(days)) * 7_654_321_987 % 86_400_000_000)
    table = engine(pd.DataFrame({"day": moments, "y": 0}))
    relation = Relation(table, "y", None, ["day"])
    (column,) = Expressions(relation, [Date("day")]).columns
    computed = relation.collected(relation.native.select(column))["x0"]
    expected = (moments - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    assert sorted(computed) == expected.tolist()


REFUSED = {
    "no column": (lambda table: table.drop(columns="dose"), "there is no column 'dose'"),
    "words": (lambda table: table.assign(age="old"), "'age' must be a number .* is String"),
    "numbers": (lambda table: table.assign(ward=1), "'ward' must be text .* is Int64"),
    "zone": (
        lambda table: table.assign(seen=table.seen.dt.tz_localize("UTC")),
        "'seen' must be a date or timestamp without a time zone",
    ),
    "infinity": (lambda table: table.assign(dose=-np.inf), "column 'dose' contains infinity"),
    "label": (lambda table: table.assign(result="?"), r"'\?' is not one of 'well', 'ill'"),
    "weight": (lambda table: table.assign(times=-1.0), "'times' is missing, negative .* 500 rows"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_relation_must_not_have(rows, change, message):
    _, new, y, weight, models = rows
    table = pl.from_pandas(change(new.assign(result=y, times=weight))).lazy()
    with pytest.raises(ValueError, match=message):
        models[0].pair_sums(table, "result", "times")


def test_gains_are_of_the_square_loss(rows):
    frame, _, y, _, _ = rows
    model = AdditiveAUCClassifier(0, **FIXED | {"losses": ["logistic"]}, shape="line").fit(frame, y)
    with pytest.raises(ValueError, match=r"the logistic loss; fit one with losses=\['square'\]"):
        model.pair_sums(frame, y)
