"""Maps of pairs as terms of a score: reasons, effects and shapes of AdditiveAUCClassifier."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from aucmax import AdditiveAUCClassifier, AUCClassifier, effects, load, reasons, save
from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.steps import Stages
from aucmax.explain.by_column import by_column
from aucmax.explain.column_shapes import shape_of, shapes
from aucmax.explain.feature_effects import labelled, sampling_of
from oracles.sandwich import by_weights

PAIRS = [("age", "income"), ("city", "vip"), ("stars", "age"), ("stars", "vip")]
NAMES = ["age × income", "city × vip", "age × stars", "vip × stars"]


def rows(n=400, seed=0, gaps=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "income": rng.exponential(20_000, n),
            "city": rng.choice(["Ulm", "Bonn", "Jena"], n, p=[0.5, 0.3, 0.2]),
            "vip": rng.random(n) < 0.4,
            "stars": rng.integers(1, 4, n).astype(float),
        }
    )
    joint = (frame.age - 50) / 10 * (np.log1p(frame.income) - 9) + (frame.city == "Ulm") * frame.vip
    if gaps:
        frame.loc[::9, "age"] = np.nan
        frame.loc[::13, "city"] = None
    return frame, (joint + 0.3 * rng.normal(size=n) > 0.6).to_numpy().astype(int)


def additive(pairs, **settings):
    return AdditiveAUCClassifier(
        pairs, losses=("square",), alphas=[0.03], cv=2, n_knots=5, map_knots=3, **settings
    )


FRAME, Y = rows()
WEIGHT = np.random.default_rng(1).uniform(0.3, 2.0, len(Y))


@pytest.fixture(scope="module")
def model():
    fitted = additive(PAIRS).fit(FRAME, Y, WEIGHT)
    assert fitted.shape_ == "interactions"
    return fitted


@pytest.fixture(scope="module", params=["itself", "best_estimator_", "file"])
def form(request, model, tmp_path_factory):
    """The model in each form in which it can be explained."""
    if request.param == "itself":
        return model
    if request.param == "best_estimator_":
        return model.best_estimator_
    path = tmp_path_factory.mktemp("models") / "m.aucmax"
    save(model.best_estimator_, path)
    return load(path)


def test_reasons_add_up_to_the_score(form):
    scores = form.decision_function(FRAME)
    by = by_column(Stages.of(form, FRAME))
    assert by.names == [*FRAME, *NAMES]
    assert by.linear.intercept_ + by.added().sum(axis=1) == pytest.approx(scores, abs=1e-12)
    found, falls = (
        reasons(form, FRAME, most=9),
        (by.added() - by.mean_added()).clip(max=0.0).sum(axis=1),
    )
    raised = [sum(reason.raised for reason in why) for why in found]
    assert scores.mean() + raised + falls == pytest.approx(scores, abs=1e-9)


def test_reasons_of_a_pair_have_two_values(form):
    found = {reason.feature: reason.value for why in reasons(form, FRAME, 9) for reason in why[:9]}
    assert set(NAMES) <= set(found)
    values = {why.feature: why.value for why in reasons(form, FRAME, 9)[1]}
    row = FRAME.iloc[1]
    cells = {**row, "vip": str(row.vip)}
    for name in values.keys() & NAMES:
        first, second = name.split(" × ")
        assert values[name] == (cells[first], cells[second])


def test_effects_are_those_of_what_terms_add(form):
    found = effects(form, FRAME, Y)
    by = by_column(Stages.of(form, FRAME))
    spread = dict(zip(by.names, np.sqrt(2.0) * by.added().std(axis=0), strict=True))
    assert dict(zip(found.feature, abs(found.effect), strict=True)) == pytest.approx(spread)
    assert np.all(found.low <= found.effect)
    assert np.all(found.effect < found.high)
    assert not found.note


@pytest.mark.parametrize("pairs", [PAIRS[:2], 0])
def test_covariances_are_those_of_rows_a_little_heavier(pairs):
    """Of ridge in the coordinates of the prior, with pure maps by the weights of the fit."""
    frame, y = rows(120)
    weight = WEIGHT[:120]
    y = (frame.age > 50) == (frame.income > 14_000) if pairs else abs(frame.age - 50) > 8
    y = y.to_numpy().astype(int)
    model = additive(pairs).fit(frame, y, weight)
    features, linear = model.best_estimator_
    assert model.shape_ == ("interactions" if pairs else "curves")
    X = features.transform(frame).toarray()
    root = features.roots() @ np.diag(model.alphas_[features.kinds()] ** -0.5)
    pure = features.purification(weight @ X)[1:]

    def refitted(weight):
        Z, means, spread = X @ root, [], np.eye(X.shape[1])
        for label in (0, 1):
            share = np.where(y == label, weight, 0.0) / weight[y == label].sum()
            means.append(share @ Z)
            spread += (Z - means[-1]).T @ ((Z - means[-1]) * share[:, None])
        apart = means[1] - means[0]
        return pure @ (root @ np.linalg.solve(spread + np.outer(apart, apart), apart))

    assert refitted(weight) == pytest.approx(linear.coef_[0], abs=1e-9)
    literal = by_weights(refitted, y, weight)
    sampling = sampling_of(*labelled(model, frame, y, weight, None))
    assert sampling.features.tolist() == [*range(len(literal))]
    assert sampling.covariance == pytest.approx(literal, abs=1e-5 * np.abs(literal).max())


def test_a_line_has_the_covariance_of_its_features_alone():
    rng = np.random.default_rng(3)
    X = (rng.random((300, 2)) < 0.4).astype(float)
    y = X[:, 0] + rng.normal(size=300) > 0.5
    model = AdditiveAUCClassifier(0, losses=("square",), cv=2).fit(X, y)
    assert model.shape_ == "line"
    found = effects(model, X, y)
    Z = model.best_estimator_[0].transform(X)
    same = effects(AUCClassifier(model.alphas_[0], standardize=0.0, tol=1e-12).fit(Z, y), Z, y)
    for ends in ("effect", "low", "high"):
        assert getattr(found, ends) == pytest.approx(getattr(same, ends), abs=1e-6)


def test_maps_have_mean_zero_where_rows_are(model):
    found = {shape.feature: shape for shape in shapes(model, FRAME, Y, WEIGHT)}
    assert [*found][-4:] == [
        name for name in effects(model, FRAME, Y, WEIGHT).feature if name in NAMES
    ]
    by = by_column(Stages.of(model, FRAME))
    for k, name in enumerate(NAMES):
        shape, added = found[name], by.added()[:, by.names.index(name)]
        assert shape.share.sum() == pytest.approx(1.0)
        assert np.array_equal(np.isnan(shape.added), shape.share == 0.0)
        total = np.nan_to_num(shape.added) * shape.share
        assert total.sum() == pytest.approx(0.0, abs=1e-12)
        assert np.nanmin(shape.added) >= added.min() - np.average(added, weights=WEIGHT) - 1e-12
        if k in (1, 3):  # whose values are cells, of the model as well
            assert np.abs(total.sum(axis=0)).max() < 1e-12
            assert np.abs(total.sum(axis=1)).max() < 1e-12
    ages, incomes = found["age × income"].values
    assert (len(ages), len(incomes)) == (11, 10)
    assert np.isnan(ages[-1])
    assert np.all(np.diff(ages[:-1]) > 0)
    assert sorted(found["city × vip"].values[0]) == ["Bonn", "Jena", "Ulm", "missing"]
    assert found["vip × stars"].values[1].tolist() == [1.0, 2.0, 3.0]
    assert shape_of(model, FRAME, Y, "age × income", WEIGHT).added == pytest.approx(
        found["age × income"].added, nan_ok=True
    )
    with pytest.raises(ValueError, match="column='a × b' is not one of the model's columns: age"):
        shape_of(model, FRAME, Y, "a × b")


def test_many_words_are_cells_of_the_most_frequent_and_one_of_others():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=900), "w": rng.choice(list("abcdefghijklmno"), 900)})
    y = (frame.x * np.where(frame.w < "h", 1, -1) > 0.3).to_numpy()
    model = additive([("x", "w")]).fit(frame, y)
    words = shape_of(model, frame, y, "x × w").values[1]
    counts = frame.w.value_counts()
    assert counts[words[:-1]].tolist() == counts.tolist()[:9]
    assert words[-1] == "other words"


def test_a_step_in_front_that_mixes_columns_makes_columns_of_its_features():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] > 0.4
    for front, names in [
        (FunctionTransformer(np.tanh, feature_names_out="one-to-one"), ["1", "2", "3", "1 × 3"]),
        (PCA(3), ["pca0", "pca1", "pca2", "pca0 × pca2"]),
    ]:
        model = make_pipeline(front, AdditiveFeatures([(0, 2)], n_knots=5), AUCClassifier()).fit(
            X, y
        )
        assert by_column(Stages.of(model, X)).names == names


def test_files_in_parts_have_the_reasons_of_whole_ones(model, tmp_path, run):
    frame, y = rows(3000, gaps=False)
    wide = frame.assign(**{f"other{k}": "none" for k in range(90)})
    wide.to_csv(tmp_path / "rows.csv", index=False)
    save(additive(PAIRS).fit(frame, y).best_estimator_, tmp_path / "m.aucmax")
    command = ("score", tmp_path / "m.aucmax", tmp_path / "rows.csv", "--reasons", 9)
    tables = []
    for more in ((), ("--memory", "1MB")):
        code, out, err = run(*command, *more)
        assert code == 0
        assert ("is read in parts" in err) == bool(more)
        tables.append(pd.read_csv(io.StringIO(out)))
    assert tables[0].reason_1.tolist() == tables[1].reason_1.tolist()
    assert tables[0].reason_1.str.contains(" with income = ", regex=False).any()


def test_cycles_of_dates_are_sides_of_pairs():
    """A weekday by its name, a time of day by the clock, in reasons and maps."""
    rng = np.random.default_rng(0)
    n = 1500
    day = pd.Series(pd.date_range("2024-01-01", periods=n, freq="97min"))
    day[::11] = pd.NaT
    table = pd.DataFrame({"day": day, "dose": rng.normal(size=n)})
    weekend = ((day - day[1].normalize()).dt.days % 7 >= 5).to_numpy()  # from a Monday on
    y = weekend * table.dose + 0.3 * rng.normal(size=n) > 0.4
    pairs = [("day: weekday", "dose"), ("day: hour", "dose")]
    model = AdditiveAUCClassifier(pairs, shape="interactions", alphas=[0.01]).fit(table, y)
    assert model.interactions_ == [("dose", "day: weekday"), ("dose", "day: hour")]
    rows = reasons(model, table, 10)
    by_name = [{one.feature: one for one in row} for row in rows]
    values = [row["dose × day: weekday"].value for row in by_name if "dose × day: weekday" in row]
    assert {"Saturday", "Sunday"} <= {weekday for _, weekday in values}
    one = next(row["dose × day: hour"] for row in by_name[1:] if "dose × day: hour" in row)
    assert re.fullmatch(r"\d?\d:\d\d", one.value[1])
    shape = {shape.feature: shape for shape in shapes(model, table, y)}["dose × day: weekday"]
    names = shape.values[1].tolist()
    strong = {name: np.nanmax(np.abs(shape.added[:, names.index(name)])) for name in names}
    assert min(strong["Saturday"], strong["Sunday"]) > 2 * strong["Tuesday"]
