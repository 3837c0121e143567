"""AdditiveFeatures: curves and maps as sparse features, their prior, and pure effects."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.functions import Feature, Pieces, Product, Word
from aucmax.columns.hat_prior import prior_root
from aucmax.columns.steps import step_of
from aucmax.data.columns import in_days


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "stars": rng.integers(1, 6, n).astype(float),
            "vip": rng.random(n) < 0.2,
            "city": rng.choice(["Bonn", "Ulm", "Jena"], n, p=[0.6, 0.3, 0.1]),
        }
    )
    table.loc[::7, "age"] = np.nan
    table.loc[::11, "city"] = None
    return table


ALL_PAIRS = [("age", "stars"), ("age", "city"), ("stars", "vip"), ("vip", "city")]


def test_hats_and_products_add_up_to_one(table):
    """In each column that bends, and in each map, wherever a row lies."""
    features = AdditiveFeatures(ALL_PAIRS).fit(table)
    beyond = table.assign(age=table.age * 3.0, stars=9.0)
    for rows in (table, beyond):
        X = features.transform(rows)
        for block in features.blocks:
            total = np.asarray(X[:, block.features].sum(axis=1)).ravel()
            if block.kind == 1:
                np.testing.assert_allclose(total, rows[table.columns[block.columns[0]]].notna())
            elif block.kind == 2:
                np.testing.assert_allclose(total, 1.0)


def test_hats_interpolate_and_maps_are_products(table):
    features = AdditiveFeatures([("age", "stars")], n_knots=9, map_knots=3).fit(table)
    X = features.transform(table).toarray()
    blocks = {(b.kind, b.columns): b.features for b in features.blocks}
    age, stars = (features.axes_[j] for j in (0, 1))
    given = table.age.notna().to_numpy()
    curve = np.sin(age.knots)
    values = X[:, blocks[1, (0,)]] @ curve
    np.testing.assert_allclose(
        values[given], np.interp(table.age[given], age.knots, curve), atol=1e-12
    )
    assert not values[~given].any()
    np.testing.assert_allclose(
        X[given, blocks[0, (0,)].start], (table.age[given] - age.centre) / age.scale
    )
    surface = np.random.default_rng(1).normal(size=(age.n_map, stars.n_map))
    made = X[:, blocks[2, (0, 1)]] @ surface.ravel()
    for row, (a, s) in enumerate(zip(table.age, table.stars, strict=True)):
        along = [np.interp(s, stars.map_knots, line) for line in surface]
        # the last line is that of gaps
        wanted = along[-1] if np.isnan(a) else np.interp(a, age.map_knots, along[:-1])
        assert made[row] == pytest.approx(wanted, abs=1e-12)


def test_few_values_and_words_stay_exact(table):
    features = AdditiveFeatures().fit(table)
    assert features.axes_[1].knots.tolist() == [1, 2, 3, 4, 5]
    assert features.axes_[3].words == ("Bonn", "Ulm", "Jena")
    new = table.head(3).assign(city=["Ulm", "Rome", None])
    city = next(b for b in features.blocks if b.columns == (3,))
    assert features.transform(new)[:, city.features].toarray().tolist() == [
        [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1],
    ]  # fmt: skip


def test_the_prior_is_a_sum_over_resolutions():
    """Hats at 2, 3 and 5 of 5 knots, each level with a quarter of the variance of the last."""
    coarse = np.array([[1, 0], [0.75, 0.25], [0.5, 0.5], [0.25, 0.75], [0, 1]])
    middle = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5], [0, 0, 1]])
    levels = [hats @ hats.T for hats in (coarse, middle, np.eye(5))]
    curve = sum(level * 0.25**k for k, level in enumerate(levels))
    root = prior_root(((5, 0, False),)).toarray()
    np.testing.assert_allclose(root @ root.T, curve / np.diag(curve).mean(), atol=1e-14)
    pair = sum(np.kron(level, level) * 0.25**k for k, level in enumerate(levels))
    root = prior_root(((5, 0, False), (5, 0, False))).toarray()
    np.testing.assert_allclose(root @ root.T, pair / np.diag(pair).mean(), atol=1e-14)
    assert np.array_equal(prior_root(((4, 1, True),)).toarray(), np.eye(5))


def test_pure_effects(table):
    """Maps have mean zero along each column, by weight, and the score changes by a constant."""
    features = AdditiveFeatures(ALL_PAIRS).fit(table)
    X = features.transform(table)
    rng = np.random.default_rng(2)
    coef, weight = rng.normal(size=X.shape[1]), rng.random(len(table))
    mass = weight @ X
    pure, constant = features.purified(coef, mass)
    np.testing.assert_allclose(X @ coef, X @ pure + constant, atol=1e-12)
    for block in features.blocks:
        if block.kind == 2:
            shape = [features.axes_[j].n_map for j in block.columns]
            weighed = (mass * pure)[block.features].reshape(shape)
            np.testing.assert_allclose(weighed.sum(axis=0), 0.0, atol=1e-10)
            np.testing.assert_allclose(weighed.sum(axis=1), 0.0, atol=1e-10)


def test_new_rows_keep_the_score_of_a_pure_model(table):
    features = AdditiveFeatures(ALL_PAIRS).fit(table)
    coef = np.random.default_rng(3).normal(size=features.n_features)
    pure, constant = features.purified(coef, np.ones(len(table)) @ features.transform(table))
    new = table.assign(age=table.age * 2 - 40, stars=3.5, city="Rome")
    X = features.transform(new)
    np.testing.assert_allclose(X @ coef, X @ pure + constant, atol=1e-11)


def test_arrays_are_tables_too():
    X = np.random.default_rng(4).normal(size=(50, 2))
    features = AdditiveFeatures([(1, 0)]).fit(X)
    assert sp.issparse(features.transform(X))
    assert features.get_feature_names_out()[-1] == "x0 × x1_map24"
    with pytest.raises(ValueError, match="X has 3 features, but AdditiveFeatures is expecting 2"):
        features.transform(np.zeros((4, 3)))


@pytest.mark.parametrize("value", [-3.0, 0.0, 1.7e18])
def test_a_constant_column_is_no_nan(value):
    X = np.column_stack([np.full(20, value), np.arange(20.0)])
    features = AdditiveFeatures([(0, 1)]).fit(X)
    assert np.isfinite(features.transform(X).data).all()
    assert np.isfinite(features.transform(X + 1.0).data).all()


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("age", "height")], "pairs name the column 'height', which the table does not have"),
        ([("age", "age")], "pairs name the column 'age' twice; a pair needs two columns"),
    ],
)
def test_pairs_must_name_two_columns(table, pairs, message):
    with pytest.raises(ValueError, match=message):
        AdditiveFeatures(pairs).fit(table)


@pytest.fixture
def dates():
    rng = np.random.default_rng(0)
    day = pd.Series(pd.date_range("2024-01-01", periods=800, freq="97min"))
    day[::9] = pd.NaT
    same = pd.Timestamp("2024-05-01")
    return pd.DataFrame({"day": day, "dose": rng.normal(size=800), "same": same})


def test_weekday_and_hour_of_dates_have_axes_of_their_own(dates):
    features = AdditiveFeatures([("day: weekday", "dose"), ("dose", "day: hour")]).fit(dates)
    assert features.cycles_ == [(0, "weekday"), (0, "hour")]
    assert features.pairs_ == [(1, 3), (1, 4)]
    assert features.axes_[3].words[0] in ("Monday", "Tuesday", "Wednesday")
    later = dates.assign(day=dates.day + pd.Timedelta(days=7))
    moved = abs(features.transform(later) - features.transform(dates)).max(axis=0).toarray()[0]
    changed = features.get_feature_names_out()[moved > 1e-9].tolist()
    assert changed
    assert all(name.startswith("day_") for name in changed)  # no weekday, no time of day


def test_features_are_functions_of_the_columns(dates):
    """What SQL and ONNX write: the same numbers, gaps too, for cycles as well."""
    features = AdditiveFeatures([("day: weekday", "dose"), ("dose", "day: hour")]).fit(dates)
    columns = [np.asarray(in_days(np.asarray(dates[name])), dtype=np.float64) for name in dates]

    def values(part):
        if isinstance(part, Product):
            return values(part.first) * values(part.second)
        return part.function(columns[part.column])

    parts = step_of(features).features([Feature(j, Pieces.line()) for j in range(3)])
    made = np.column_stack([values(part) for part in parts])
    np.testing.assert_allclose(made, features.transform(dates).toarray(), atol=1e-9)


def test_spellings_of_a_word_are_one_level():
    table = pd.DataFrame({"city": ["Ulm", "Ulm", "ULM ", "Bonn", "bonn", "Bonn", None]})
    features = AdditiveFeatures().fit(table)
    assert features.axes_[0].words == ("Ulm", "Bonn")
    assert features.axes_[0].spelt == {"ULM ": "Ulm", "bonn": "Bonn"}
    X = features.transform(table).toarray()
    np.testing.assert_array_equal(X[0], X[2])
    np.testing.assert_array_equal(X[3], X[4])
    words = [part.function for part in step_of(features).features([Feature(0, Word())])]
    made = np.column_stack([word(table.city.to_numpy(object)) for word in words])
    np.testing.assert_array_equal(made, X)
    assert "spelt in 4 ways" in features.decisions()[0].what


def test_the_words_of_a_column_are_counted_beside_its_levels():
    rare = [f"once {k}" for k in range(30)]
    features = AdditiveFeatures().fit(pd.DataFrame({"city": ["Ulm"] * 20 + rare}))
    [decision] = features.decisions()
    assert decision.what == "31 words: levels for the 1 most frequent, and one for all others"
