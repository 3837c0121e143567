"""AdditiveAUCClassifier(monotone=…): the best of the scores that follow trends as a whole."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aucmax import AdditiveAUCClassifier, load, save
from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.monotone import monotone_scores
from aucmax.estimators import additive_search
from aucmax.objective.penalties.cone import L2Cone
from oracles.monotone import differences, optimum


@pytest.fixture(scope="module")
def table():
    """Two columns that act together and whose curves fall and rise, gaps, words, yes and no."""
    rng = np.random.default_rng(0)
    n = 500
    table = pd.DataFrame({
        "age": rng.normal(50, 10, n), "dose": rng.normal(size=n), "iron": rng.normal(size=n),
        "smokes": rng.random(n) < 0.3, "city": rng.choice(["Bonn", "Ulm", "Jena"], n),
    })  # fmt: skip
    age = (table.age - 50) / 10
    score = np.sin(2 * age) + age * table.dose - table.dose + 0.5 * table.iron * table.smokes
    score += (table.city == "Ulm") + rng.normal(size=n)
    table.loc[::7, "dose"] = np.nan
    return table, (score > 1.0).to_numpy()


def least_rise(model, table, column, rows=25):
    """The least rise of the score along a column over its range, for rows of any kind."""
    rng = np.random.default_rng(1)
    features = model.best_estimator_[0]
    axes = dict(zip(features.axis_names, features.axes_, strict=True))
    knots = axes[column].knots
    path = np.union1d(knots, np.linspace(2 * knots[0] - knots[-1], 2 * knots[-1] - knots[0], 9))
    seen = table.sample(rows, random_state=2)
    mixed, gaps = (seen.apply(rng.permutation).astype(object) for _ in range(2))
    at_knots = mixed.copy()
    numbers = [name for name in table if not axes[name].is_text]
    for name in numbers:
        at_knots[name] = rng.choice(axes[name].map_knots, rows)
        gaps.loc[rng.random(rows) < 0.5, name] = np.nan
    rises = []
    for others in (seen, mixed, at_knots, gaps):
        walk = pd.concat([others] * len(path)).astype({c: float for c in numbers})
        walk[column] = np.repeat(path, rows)
        scores = model.decision_function(walk).reshape(len(path), rows)
        rises.append(np.diff(scores, axis=0) / np.ptp(scores))
    return np.concatenate(rises)


@pytest.mark.parametrize(
    ("shape", "loss", "trends"),
    [
        ("interactions", "square", {"age": 1}),
        ("interactions", "square", {"age": 1, "dose": 1}),
        pytest.param(
            "interactions",
            "logistic",
            {"dose": -1, "age": -1, "smokes": -1, "iron": 1},
            marks=pytest.mark.exhaustive,
        ),
        ("curves", "square", {"age": -1}),
        ("line", "logistic", {"age": -1}),
    ],
)
def test_the_whole_score_follows_the_trends(table, shape, loss, trends):
    X, y = table
    settings: dict[str, Any] = {"shape": shape, "losses": [loss], "alphas": [0.003], "cv": 2}
    pairs = [("age", "dose"), ("age", "city"), ("iron", "smokes"), ("age", "iron")]
    model = AdditiveAUCClassifier(pairs, trends, **settings).fit(X, y)
    free = AdditiveAUCClassifier(pairs, **settings).fit(X, y)
    for column, sign in trends.items():
        assert (sign * least_rise(model, X, column)).min() > -1e-12
    assert min((s * least_rise(free, X, c)).min() for c, s in trends.items()) < -1e-3
    assert model.optimality_ < 1e-4
    assert model.objective_ > free.objective_


@pytest.mark.parametrize("shape", ["line", "curves"])
def test_a_trend_that_no_row_follows_leaves_nothing(shape):
    """Rounding does not turn a score around that would best be constant."""
    x = np.arange(60.0)[:, None]
    model = AdditiveAUCClassifier(0, {0: -1}, shape=shape, alphas=[0.01], cv=2).fit(x, x[:, 0] > 40)
    scores = model.decision_function(np.linspace(-50, 110, 300)[:, None])
    assert np.ptp(scores) < 1e-9
    assert np.diff(scores).max() <= 0.0


def test_the_folds_choose_under_the_trends(table):
    X, y = table
    model = AdditiveAUCClassifier(2, {"age": 1, 1: -1}, alphas=[0.01, 0.1], cv=3).fit(X, y)
    assert [*model.shape_scores_] == ["line", "curves", "interactions"]
    assert (least_rise(model, X, "age")).min() > -1e-12
    assert (-least_rise(model, X, "dose")).min() > -1e-12


@pytest.mark.covering(1)
@pytest.mark.parametrize("loss", ["square", "squared_hinge", "logistic"])
@pytest.mark.parametrize(
    ("pairs", "trends"),
    [
        ([("age", "dose"), ("age", "city")], {"age": 1, "dose": 1}),
        ([("smokes", "city"), ("smokes", "dose")], {"smokes": -1}),
    ],
    ids=["both", "two values"],
)
def test_the_optimum_is_that_of_literal_comparisons(table, pairs, trends, loss):
    rng = np.random.default_rng(0)
    names = [*dict.fromkeys(name for pair in pairs for name in pair)]
    X, y = table[0].astype({"smokes": float})[names].iloc[:70], table[1][:70]
    if "smokes" in X:
        X.loc[rng.random(70) < 0.3, "smokes"] = np.nan
    weight = rng.uniform(0.5, 2.0, 70)
    model = AdditiveAUCClassifier(
        pairs, trends, shape="interactions", losses=[loss], alphas=[0.05], cv=2, tol=1e-12,
        n_knots=5, map_knots=3,
    ).fit(X, y, weight)  # fmt: skip
    features = model.best_estimator_[0]
    Z = features.transform(X).toarray()
    rows = differences(features, weight @ Z, trends)
    root, alphas = features.roots().toarray(), model.alphas_[features.kinds()]
    assert (rows @ model.best_estimator_[-1].coef_[0]).min() > -1e-12
    best = optimum(Z @ root, y, loss, alphas, rows @ root, weight)
    assert model.objective_ == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_scores_follow_literal_comparisons(table, seed):
    """Of any coefficients: along two values with gaps, words and numbers, and beyond all knots.

    The two values hardly occur with the same word, so that pure curves compare both with gaps.
    """
    rng = np.random.default_rng(seed)
    X = table[0].astype({"smokes": float})
    X.loc[rng.random(len(X)) < 0.3, "smokes"] = np.nan
    trends = {"smokes": 1, "age": -1}
    features = AdditiveFeatures(
        [("age", "iron"), ("smokes", "city"), ("age", "dose"), ("dose", "smokes")],
        n_knots=4,
        map_knots=3,
    ).fit(X)
    features = features.with_trends(trends)
    mass = rng.uniform(size=features.n_features)
    block = next(b for b in features.blocks if len(b.columns) == 2 and 4 in b.columns)
    mass[block.features] = np.where([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]], 1.0, 1e-3).ravel()
    scores = monotone_scores(features, mass)
    w = L2Cone(1.0, scores).prox(rng.normal(size=features.n_features), 0.0)
    rises = differences(features, mass, trends) @ w
    assert -1e-10 < rises.min() < 1e-9
    w[scores.lines[[0, -1]]] -= [1e-6, -1e-6]
    assert scores.least(w).min() < -1e-8
    assert scores.least(scores.inside(w)).min() > -1e-15


def test_what_is_monotone_anyway_is_left_as_it_is(table):
    X, y = table
    settings: dict[str, Any] = {"shape": "curves", "alphas": [0.3], "losses": ["square"], "cv": 2}
    free = AdditiveAUCClassifier(**settings).fit(X, y)
    assert least_rise(free, X, "iron").min() > -1e-12
    assert least_rise(free, X, "iron").max() > 1e-3
    model = AdditiveAUCClassifier("auto", {"iron": 1}, **settings).fit(X, y)
    scores = [m.decision_function(X) for m in (free, model)]
    np.testing.assert_allclose(*scores, atol=1e-9)
    assert model.objective_ == pytest.approx(free.objective_, abs=1e-12)


def test_units_and_direction_of_a_column_change_nothing(table):
    X, y = table
    settings: dict[str, Any] = {"shape": "interactions", "alphas": [0.01], "cv": 2, "tol": 1e-10}
    models = []
    for factor, sign in ((1.0, 1), (1e6, 1), (-3.0, -1)):
        other = X.assign(age=factor * X.age + 7.0)
        model = AdditiveAUCClassifier([("age", "dose")], {"age": sign}, **settings).fit(other, y)
        models.append(model.decision_function(other))
    np.testing.assert_allclose(models[1], models[0], atol=1e-6)
    np.testing.assert_allclose(models[2], models[0], atol=1e-6)


@pytest.mark.parametrize("loss", ["square", pytest.param("logistic", marks=pytest.mark.exhaustive)])
def test_what_is_left_out_is_bounded(table, loss):
    """A map lowers the objective by no more than its bound, and that of a free map is no bound."""
    X, y = table
    settings: dict[str, Any] = {"shape": "interactions", "alphas": [0.02], "losses": [loss]}
    settings |= {"tol": 1e-10, "cv": 2, "monotone": {"age": -1}}
    few = AdditiveAUCClassifier([("iron", "smokes")], **settings).fit(X, y)
    bounds = few.left_out(X, y)
    assert len(bounds) == 9
    assert [b.bound for b in bounds] == sorted((b.bound for b in bounds), reverse=True)
    for pair, bound in bounds[:2]:
        more = AdditiveAUCClassifier([("iron", "smokes"), pair], **settings).fit(X, y)
        assert -1e-9 < few.objective_ - more.objective_ <= bound + 1e-9
    assert bounds[0].bound > 1e-4


def test_the_bound_is_reached_where_the_penalty_is_strong(table):
    X, y = table
    settings: dict[str, Any] = {"shape": "interactions", "alphas": [100.0], "losses": ["square"]}
    settings |= {"cv": 2, "monotone": {"age": -1}}
    few = AdditiveAUCClassifier([("iron", "smokes")], **settings).fit(X, y)
    for pair, bound in [b for b in few.left_out(X, y) if "age" in b.columns][:2]:
        more = AdditiveAUCClassifier([("iron", "smokes"), pair], **settings).fit(X, y)
        assert few.objective_ - more.objective_ == pytest.approx(bound, rel=0.1)


def test_a_model_remembers(table, tmp_path):
    X, y = table
    model = AdditiveAUCClassifier(0, {"age": 1, "smokes": -1}, alphas=[0.1], cv=2).fit(X, y)
    assert "rises with age, falls with smokes" in model._repr_html_()
    save(model, tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.monotone == {"age": 1, "smokes": -1}
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    said = [*map(str, loaded.best_estimator_[0].decisions())]
    assert said[-2:] == [
        "age: the score only rises with it", "smokes: the score only falls with it"
    ]  # fmt: skip
    other = copy.deepcopy(model)
    other.best_estimator_[0].trends_[0] = (4, 1)
    with pytest.raises(ValueError, match="monotone in what is not a column of numbers"):
        save(other, tmp_path / "m")


def test_days_of_dates_are_monotone():
    """Their times of day are not part of it."""
    rng = np.random.default_rng(0)
    hours = rng.integers(0, 24 * 400, 500)
    X = pd.DataFrame({"seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, "h")})
    y = np.sin(hours / 24 / 30) + (hours % 24 > 12) + rng.normal(size=500) > 1
    model = AdditiveAUCClassifier(0, {"seen": -1}, shape="curves", alphas=[0.01], cv=2).fit(X, y)
    days = pd.Timestamp("2023-06-01 08:00") + pd.to_timedelta(7 * np.arange(150), "D")
    scores = model.decision_function(pd.DataFrame({"seen": days}))
    assert np.diff(scores).max() <= 1e-12


@pytest.mark.parametrize(
    ("monotone", "message"),
    [
        (["age"], r"monotone must map columns to 1 or -1; got \['age'\]"),
        ({"height": 1}, "monotone names the column 'height', which the table does not have"),
        ({9: 1}, "monotone names the column 9, which the table does not have"),
        ({"age": 2}, r"monotone\['age'\] must be 1, for a score that only rises .* got 2"),
        ({"age": True}, "got True"),
        ({"age": 1, 0: 1}, "monotone names a column twice, by its name and by its place"),
        ({"age": "up"}, "got 'up'"),
        ({"city": 1}, "monotone names 'city', a column of words, which have no order"),
    ],
)
def test_messages(table, monotone, message):
    with pytest.raises(ValueError, match=message):
        AdditiveAUCClassifier(monotone=monotone).fit(*table)


def test_too_many_features_are_told(table, monkeypatch):
    monkeypatch.setattr(additive_search, "MAX_MATRIX_FEATURES", 20)
    with pytest.raises(ValueError, match="with monotone, a model has at most 40 features, and thi"):
        AdditiveAUCClassifier(0, {"age": 1}, shape="curves").fit(*table)
