"""Curves and maps of pairs give our scores in ONNX Runtime, DuckDB and PostgreSQL, too."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from aucmax import AUCClassifier, to_onnx, to_sql
from aucmax.basics.errors import DataWarning
from aucmax.columns import AdditiveFeatures, TableEncoder
from aucmax.columns.functions import Product
from aucmax.data.columns import Date, YesNo, declare
from aucmax.explain.additive import additive
from exported import run_onnx, run_postgres, run_sql

TOWNS = [f"town {k}" for k in range(12)]


def table(n=400, seed=0):
    """Numbers, words, yes and no and dates, each with and without gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.normal(50, 10, n),
        "income": np.exp(3 * rng.normal(size=n)),
        "stars": rng.integers(1, 6, n).astype(float),
        "vip": rng.random(n) < 0.2,
        "member": rng.random(n) < 0.5,
        "day": 19000 + (86400 * rng.uniform(0, 300, n)).round() / 86400,
        "colour": rng.choice(["red", "o'brien\\", "Ärger"], n),
        "town": rng.choice(TOWNS, n, p=np.arange(12, 0, -1) / 78),
        "number": [f"no. {k}" for k in range(n)],  # all words are rare
        "same": 3.0,
        "nothing": np.nan,
    })  # fmt: skip
    frame["member"] = frame["member"].astype(object).where(rng.random(n) > 0.1, None)
    for name in ("age", "day", "town"):
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    score = (frame.age.fillna(40) - 50) / 10 * (frame.stars - 3) + frame.vip
    declare(frame, [Date("day"), YesNo("member"), YesNo("vip")])
    return frame, (score + rng.normal(size=n) > 1).to_numpy()


FRAME, Y = table()
KINDS = {name: FRAME[name] for name in ("age", "income", "vip", "member", "day", "colour", "town")}
PAIRS = [*itertools.combinations(KINDS, 2), ("stars", "age"), ("number", "same")]


def rows():
    """New rows, and for each column one with a gap, unseen words, numbers beyond all knots."""
    frame = table(60, seed=1)[0]
    odd = {name: [np.nan] for name in ("age", "income", "stars", "same", "day")}
    odd |= {"age": [np.nan, -1e3, 1e3], "income": [np.nan, -5.0, 1e9, 1e-9], "day": [np.nan, 0.0]}
    odd |= {"vip": [None], "member": [None], "nothing": [4.0], "same": [np.nan, 3.5, 9.0]}
    odd |= {name: ["new", "n/a", " ", "", None] for name in ("colour", "town", "number")}
    more = []
    for name, values in odd.items():
        some = frame.iloc[: len(values)].astype({name: object})
        some[name] = np.array(values, dtype=object)
        more.append(some)
    numbers = dict.fromkeys(["age", "income", "stars", "day", "same", "nothing"], float)
    return pd.concat([frame.astype(object), *(some.astype(object) for some in more)],
                     ignore_index=True).astype(numbers)  # fmt: skip


def fitted(pairs=PAIRS, frame=FRAME, *between, **sizes):
    front = AdditiveFeatures(pairs, **sizes)
    return make_pipeline(front, *between, AUCClassifier(alpha=0.01)).fit(frame, Y)


def same(model, frame, postgres=None):
    wanted = model.decision_function(frame)
    assert np.isfinite(wanted).all()
    room = 1e-9 * np.abs(wanted).max()
    columns = additive(model).columns
    numbers = frame.astype({c.name: float for c in columns if not c.is_text and c.name in frame})
    graph = to_onnx(model)
    score, label = run_onnx(graph, numbers)
    np.testing.assert_allclose(score, wanted, rtol=0, atol=room)
    assert label.tolist() == model.predict(frame).tolist()
    given = frame.astype({c.name: "boolean" for c in columns if isinstance(c, YesNo)})
    np.testing.assert_allclose(run_sql(to_sql(model), given), wanted, rtol=0, atol=room)
    if postgres is not None:
        found = run_postgres(postgres, to_sql(model, "postgres"), given)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=room)


def test_every_kind_of_column_with_every_other(postgres):
    same(fitted(), rows(), postgres)


FEW = [("income", "age"), ("town", "income"), ("member", "town")]


@pytest.mark.parametrize(
    "sizes", [{"n_knots": 2, "map_knots": 2}, {"map_knots": 9, "max_levels": 2}]
)
def test_few_and_many_knots(sizes):
    same(fitted(FEW, **sizes), rows())


@pytest.mark.parametrize("step", [None, Normalizer()], ids=["plain", "unit norm"])
def test_an_array_has_a_term_for_each_knot_of_a_map(step):
    """And not for each cell."""
    X = FRAME[["age", "income", "stars"]]
    model = make_pipeline(AdditiveFeatures([(0, 1), (1, 2)]), step, AUCClassifier(0.1))
    model.fit(X.to_numpy(), Y)
    wanted, columns = model.decision_function(rows()[X.columns].to_numpy()), [*X.columns]
    products = [part for part in additive(model).parts if isinstance(part, Product)]
    assert len(products) == 6 + 5
    if step is None:
        assert to_sql(model, columns=columns).count("END * CASE") == len(products)
    found = run_sql(to_sql(model, columns=columns), rows()[columns])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    found = run_onnx(to_onnx(model), rows()[columns])[0]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_float32_is_that_of_the_graph():
    names = ["age", "stars", "income"]
    model = fitted([("age", "stars")], FRAME[names])
    with pytest.warns(DataWarning, match="float32 may lose the order"):
        graph = to_onnx(model, "float32", rows=FRAME[names])
    found = run_onnx(graph, FRAME[names], "float32")[0]
    ours = additive(model).scores([*FRAME[names].to_numpy().T], np.float32)
    assert ours.dtype == found.dtype == np.float32
    np.testing.assert_allclose(found, ours, atol=1e-4)
    # on a line between knots far from 0
    assert additive(model).rounding() > 1e-8


def test_a_step_behind_maps_is_refused():
    model = fitted(FEW, FRAME, StandardScaler(with_mean=False))
    for export in (to_sql, to_onnx):
        with pytest.raises(ValueError, match="to export maps of pairs, the model must"):
            export(model)


def test_a_column_of_which_every_word_is_rare():
    frame = FRAME[["number", "stars"]]
    model = make_pipeline(TableEncoder(), AUCClassifier(alpha=0.01)).fit(frame, Y)
    model[-1].coef_ = np.array([[0.5, 2.0]])
    same(model, rows()[["number", "stars"]].iloc[:60])
