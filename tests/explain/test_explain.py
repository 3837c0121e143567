"""Scores as sums over columns: reasons, effects and shapes of models with steps in front."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import stdtrit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from aucmax import AUCClassifier, AUCClassifierCV, Source, effects, reasons, save
from aucmax.additive import Binning, Scorecard, SplineFeatures
from aucmax.columns.encoder import TableEncoder
from aucmax.columns.functions import Pieces
from aucmax.columns.steps import Stages, Step
from aucmax.data.columns import Date
from aucmax.explain.additive import additive
from aucmax.explain.by_column import by_column
from aucmax.explain.column_shapes import shape_of, shapes
from oracles.sandwich import jackknife

WORDS, NUMBERS = ["colour", "size"], ["x", "z", "day"]


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "z": rng.exponential(size=n),
            "day": rng.integers(18000, 19000, n).astype(float),
            "size": rng.choice(["s", "m"], n),
        }
    )
    high = np.abs(frame["x"]) + (frame["colour"] == "red") - frame["z"] + rng.normal(size=n)
    frame.loc[rng.random(n) < 0.1, "x"] = np.nan
    frame.loc[rng.random(n) < 0.1, "colour"] = np.nan
    frame.attrs["columns"] = (Date("day"),)
    return frame, (high > 0.8).to_numpy().astype(int)


FRAME, Y = rows()
NEW = rows(9, seed=1)[0]


def linear():
    return AUCClassifier(alpha=0.01)


def encoder():
    return TableEncoder(missing=True, date_parts=False)


def parts(numbers, words=None):
    words = OneHotEncoder(handle_unknown="ignore") if words is None else words
    return ColumnTransformer([("words", words, WORDS), ("numbers", numbers, NUMBERS)])


# behind each of these every feature looks at one column
MODELS = {
    "encoded": make_pipeline(encoder(), linear()),
    "splines": make_pipeline(encoder(), SplineFeatures(5), linear()),
    "tuned": make_pipeline(
        encoder(),
        SplineFeatures(5),
        AUCClassifierCV(alphas=[0.01, 0.1], losses=("square",), standardize=(0.5,), cv=2),
    ),
    "scorecard": Scorecard(),
    "bins": make_pipeline(Binning(), StandardScaler(), linear()),
    "nested": make_pipeline(
        parts(
            make_pipeline(
                SimpleImputer(add_indicator=True),
                FeatureUnion(
                    [("bent", SplineTransformer(5)), ("as it is", "passthrough"), ("no", "drop")]
                ),
            ),
            OneHotEncoder(min_frequency=40, drop="first", handle_unknown="ignore"),
        ),
        make_pipeline(VarianceThreshold(0.05), StandardScaler()),
        "passthrough",
        LogisticRegression(),
    ),
    "steps": make_pipeline(
        parts(
            make_pipeline(
                SimpleImputer(),
                KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
            )
        ),
        linear(),
    ),
    "smooth": make_pipeline(
        parts(
            make_pipeline(
                SimpleImputer(),
                FunctionTransformer(np.tanh, feature_names_out="one-to-one"),
                QuantileTransformer(n_quantiles=50),
            )
        ),
        linear(),
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return MODELS[request.param].fit(FRAME, Y)


def with_each(frame, name, values):
    """The first row again and again, with one value after the other in a column."""
    rows = pd.concat([frame.iloc[[0]]] * len(values), ignore_index=True)
    return rows.assign(**{name: pd.Series(values, dtype=frame[name].dtype)})


def by_exchange(score, frame):
    """How far each row's score is above those it has with another row's value in a column."""
    exchanged = pd.concat(
        [
            with_each(frame[i:], name, frame[name].tolist())
            for i in range(len(frame))
            for name in frame
        ],
        ignore_index=True,
    )
    scores = score(exchanged).reshape(*frame.shape, len(frame))
    return score(frame)[:, None] - scores.mean(axis=2)


def test_reasons_are_what_the_scores_lose_with_the_values_of_others(fitted):
    literal = by_exchange(fitted.decision_function, NEW)
    scores = fitted.decision_function(NEW)
    assert literal.sum(axis=1) == pytest.approx(scores - scores.mean())  # nothing is left over
    for row, why in zip(literal, reasons(fitted, NEW, most=5), strict=True):
        found = {reason.feature: reason.raised for reason in why}
        assert found == pytest.approx(
            {name: up for name, up in zip(NEW, row, strict=True) if up > 1e-12}, abs=1e-9
        )
        assert list(found.values()) == sorted(found.values(), reverse=True)


def test_what_rows_are_compared_with_is_a_row_or_the_average_of_some(fitted):
    one, others = NEW.iloc[[0]], NEW.iloc[1:4]
    scores = fitted.decision_function(NEW)
    up = sum(reason.raised for reason in reasons(fitted, one, 9, mean=NEW.iloc[1])[0])
    down = sum(reason.raised for reason in reasons(fitted, NEW.iloc[[1]], 9, mean=one)[0])
    assert up - down == pytest.approx(scores[0] - scores[1])
    average = reasons(fitted, one, 9, mean=others)[0]
    literal = (
        by_exchange(fitted.decision_function, NEW.iloc[:4])[0] * 4 / 3
    )  # of which one is the row itself
    assert sum(reason.raised for reason in average) == pytest.approx(literal[literal > 0].sum())


def test_values_are_those_of_the_row_in_the_words_of_the_table():
    model = make_pipeline(encoder(), SplineFeatures(5), linear()).fit(FRAME, Y)
    for row, why in zip(NEW.to_dict("records"), reasons(model, NEW, 5), strict=True):
        for feature, value, _ in why:
            if feature == "day":
                assert value == str(np.datetime64(int(row["day"]), "D"))
            else:
                assert value == row[feature] or (value != value and row[feature] != row[feature])
    card = Scorecard().fit(FRAME, Y)
    unknown = NEW.assign(colour="pink", x=np.nan)
    names = {(row["feature"], row["bin"]) for row in card.rows()}
    told = [reason for why in reasons(card, NEW, 5, mean=FRAME) for reason in why]
    assert {(reason.feature, reason.value) for reason in told} <= names
    told = [r for why in reasons(card, unknown, 5, mean=NEW.iloc[:3]) for r in why]
    assert {r.value for r in told if r.feature == "x"} <= {"missing"}
    assert {r.value for r in told if r.feature == "colour"} <= {"pink", "others"}
    noon = NEW.assign(day=18000.5)
    told = [r.value for why in reasons(model, noon, 5, mean=FRAME) for r in why]
    assert {value for value in told if str(value).startswith("2019")} <= {"2019-04-14T12:00:00"}


def test_dates_and_truth_values_of_a_frame_are_what_files_hold():
    days = FRAME.assign(there=np.arange(len(FRAME)) % 3 == 0)
    days.loc[5, "day"] = np.nan
    dates = days.assign(day=pd.to_datetime(days["day"], unit="D"))
    splines, card = (clone(MODELS[name]).fit(days, Y) for name in ("splines", "scorecard"))
    for model in (splines, card):
        assert np.array_equal(model.decision_function(dates), model.decision_function(days))
        for ours, other in zip(reasons(model, dates), reasons(model, days), strict=True):
            assert [reason[:1] + reason[2:] for reason in ours] == [r[:1] + r[2:] for r in other]
            assert [str(r.value) for r in ours] == [str(r.value) for r in other]
        again = clone(model).fit(dates, Y)
        assert np.array_equal(again.decision_function(days), model.decision_function(days))
    told = [r.value for why in reasons(splines, days, 6) for r in why if r[0] == "there"]
    assert set(told) <= {"True", "False"}
    assert told
    typed, declared = (Binning().fit(rows[["day"]], Y).bins_[0] for rows in (dates, days))
    assert typed.labels == declared.labels


def test_features_of_several_columns_count_as_columns():
    X, y = FRAME[["z", "day"]].to_numpy(), Y
    model = make_pipeline(StandardScaler(), PCA(2), SplineFeatures(5), linear()).fit(X, y)
    turned = pd.DataFrame(model[:2].transform(X[:9]), columns=["pca0", "pca1"])
    literal = by_exchange(lambda rows: model[2:].decision_function(rows.to_numpy()), turned)
    found = reasons(model, X[:9], 2)
    for row, values, why in zip(literal, turned.to_numpy(), found, strict=True):
        assert {r.feature for r in why} == {f"pca{j}" for j in np.flatnonzero(row > 0)}
        assert all(r.value == values[int(r.feature[-1])] for r in why)
    mixed = FunctionTransformer(lambda X: X[:, ::-1])
    model = make_pipeline(mixed, linear()).fit(X, y)
    assert {r.feature for why in reasons(model, X) for r in why} == {"1", "2"}


def test_rows_of_unit_norm_add_up_too():
    model = make_pipeline(encoder(), SplineFeatures(5), Normalizer(), linear()).fit(FRAME, Y)
    by, scores = by_column(Stages.of(model, NEW)), model.decision_function(NEW)
    raised = by.added() - by.mean_added()
    assert by.names == [*NEW]
    assert raised.sum(axis=1) == pytest.approx(scores - scores.mean())
    for row, why in zip(raised, reasons(model, NEW, 5), strict=True):
        assert [r.raised for r in why] == pytest.approx(sorted(row[row > 0], reverse=True))
    assert shapes(model, FRAME, Y) == []
    with pytest.raises(ValueError, match="'x' has no shape to draw: what a value adds depends on"):
        shape_of(model, FRAME, Y, "x")
    beside = ColumnTransformer([("unit", Normalizer(), ["z", "day"])], remainder="drop")
    model = make_pipeline(beside, linear()).fit(FRAME, Y)
    with pytest.raises(ValueError, match="'z' has no shape to draw: what a value adds depends on"):
        shape_of(model, FRAME, Y, "z")


class Capped(BaseEstimator, TransformerMixin):
    """Numbers, none above a cap."""

    def __init__(self, cap=1.0):
        self.cap = cap

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.minimum(X, self.cap)


def test_a_new_type_of_step_is_one_entry():
    model = make_pipeline(Capped(), linear()).fit(FRAME[["z", "day"]].to_numpy(), Y)
    model[1].coef_ = np.array([[2.0, 0.0]])
    with pytest.raises(ValueError, match="the step Capped cannot be exported"):
        additive(model)

    class CappedStep(Step, of=[Capped]):
        def columns(self, columns):
            return columns

        def features(self, features):
            line = np.array([[0.0, 1.0], [self.fitted.cap, 0.0]])
            capped = Pieces(np.array([self.fitted.cap]), np.zeros(2), line)
            return [feature.then(capped) for feature in features]

    X = FRAME[["z", "day"]].to_numpy()
    np.testing.assert_allclose(additive(model).scores([*X.T]), model.decision_function(X))
    shape = shape_of(model, X, Y, "1")
    assert shape.added[shape.values > 1.0] == pytest.approx(shape.added.max())


def test_many_words_stay_sparse_and_give_the_same():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"shop": rng.integers(0, 60, 500).astype(str), "x": rng.normal(size=500)})
    y = (frame["x"] + rng.normal(size=500) > 1).to_numpy().astype(int)
    model = make_pipeline(TableEncoder(), linear()).fit(frame, y)
    by = by_column(Stages.of(model, frame))
    assert sp.issparse(by.features)
    new = frame.iloc[:9]
    literal = by_exchange(model.decision_function, new)
    assert by_column(Stages.of(model, new)).added() - by_column(
        Stages.of(model, new)
    ).mean_added() == pytest.approx(literal)
    found = effects(model, frame, y)
    dense = FunctionTransformer(lambda Z: Z.toarray(), feature_names_out="one-to-one")
    same = make_pipeline(TableEncoder(), dense, linear()).fit(frame, y)
    for ours, other in zip(found[1:5], effects(same, frame, y)[1:5], strict=True):
        assert ours == pytest.approx(other, nan_ok=True)
    assert np.isnan(found.coef[found.feature == "shop"]).all()


def test_what_cannot_be_explained_is_said():
    X = FRAME[["z", "day"]].to_numpy()
    forest = RandomForestClassifier(2).fit(X, Y)
    with pytest.raises(ValueError, match="a RandomForestClassifier cannot be explained; a linear"):
        reasons(forest, X)
    three = LogisticRegression().fit(FRAME[["z"]], np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="a LogisticRegression cannot be explained"):
        reasons(three, FRAME[["z"]])
    model = make_pipeline(SplineFeatures(), linear()).fit(X, Y)
    with pytest.raises(ValueError, match="feature_names must be 2 names; got 1"):
        reasons(model, X, feature_names=["a"])


@pytest.mark.usefixtures("undrawn")
def test_columns_that_no_step_asks_for_may_be_absent(tmp_path, run):
    pytest.importorskip("skops")
    named = FRAME["colour"].fillna("none")  # polars has another gap
    wide = FRAME.assign(colour=named, id=np.arange(len(Y)), note="-")[["id", *FRAME, "note"]]
    wide.attrs = {}  # of which a frame of Polars has none
    pl = pytest.importorskip("polars")
    model = make_pipeline(
        parts(SimpleImputer(), OneHotEncoder(drop="first", handle_unknown="ignore")), linear()
    ).fit(wide, Y)
    narrow = wide[[*reversed(FRAME.columns)]]
    for frame in (narrow, pl.from_pandas(narrow)):
        assert reasons(model, frame[:9], mean=wide) == reasons(model, wide[:9], mean=frame)
        assert_same(effects(model, frame, Y), effects(model, wide, Y))
        one, other = (shape_of(model, X, Y, "colour") for X in (frame, wide))
        assert_same(one[1:5], other[1:5])
    with pytest.raises(ValueError, match=r"columns are missing: \{'z'\}"):
        effects(model, narrow.drop(columns="z"), Y)

    files = [tmp_path / name for name in ("m.aucmax", "wide.csv", "narrow.csv", "page.html")]
    save(model, files[0])
    wide.assign(y=Y).to_csv(files[1], index=False)
    narrow.assign(y=Y).to_csv(files[2], index=False)
    scored = [run("score", files[0], file, "--reasons", 2) for file in files[1:3]]
    assert scored[0][:2] == scored[1][:2]
    assert scored[0][1].startswith("row,score,reason_1,reason_2\n1,")
    assert run("evaluate", *files[:2], "--html", files[3])[0] == 0
    assert "colour" in files[3].read_text()


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_search_of_a_pipeline_is_the_pipeline_that_it_chose():
    search = GridSearchCV(MODELS["steps"], {"aucclassifier__alpha": [0.1, 0.01]}, cv=2)
    search.fit(FRAME, Y)
    assert_same(effects(search, FRAME, Y), effects(search.best_estimator_, FRAME, Y))
    assert reasons(search, NEW) == reasons(search.best_estimator_, NEW)


# ---- effects


def test_the_effect_of_a_column_is_that_of_what_its_features_add():
    model = MODELS["splines"].fit(FRAME, Y)
    found = effects(model, FRAME, Y)
    assert sorted(found.feature) == sorted(FRAME)
    for name, coef, effect in zip(found.feature, found.coef, found.effect, strict=True):
        added = model.decision_function(with_each(FRAME, name, FRAME[name].tolist()))
        literal = np.sqrt(np.mean((added[:, None] - added) ** 2))
        assert effect == pytest.approx(literal)
        assert np.isnan(coef)
    assert np.all((found.low >= 0) & (found.low <= found.effect) & (found.effect < found.high))
    twice = effects(model, FRAME, Y, np.full(len(Y), 2.0))
    assert twice.high == pytest.approx(found.high)


def alone(model, name, frame=FRAME):
    """The scores of rows that differ in one column."""
    return model.decision_function(with_each(frame, name, frame[name].tolist()))


def test_the_rows_of_effects_are_those_given():
    wide = FRAME.assign(z=3 * FRAME["z"], day=18000.0)
    for model in (MODELS["encoded"], MODELS["splines"]):
        fitted = clone(model).fit(FRAME, Y)
        found = effects(fitted, wide, Y)
        literal = [np.sqrt(2) * alone(fitted, name, wide).std() for name in found.feature]
        assert np.abs(found.effect) == pytest.approx(literal, abs=1e-12)
    fit = linear().fit(FRAME[["z"]], Y)
    narrow = effects(fit, FRAME[["z"]], Y)
    given = effects(fit, wide[["z"]], Y)
    assert given.effect == pytest.approx(3 * narrow.effect)
    assert given.low < given.effect < given.high


def test_intervals_of_several_features_cover_and_hold_0_where_a_column_tells_nothing():
    def drawn(n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        return X, (np.abs(X[:, 0]) + rng.normal(size=n) > 1.5).astype(int)

    model = make_pipeline(SplineFeatures(5), AUCClassifier(0.01, standardize=0.0))
    X, y = drawn(60_000, 999)
    truth = dict(zip(*effects(model.fit(X, y), X, y)[:3:2], strict=True))
    assert truth["1"] > 10 * truth["2"]
    covered, empty, tries = 0, 0, 100
    for seed in range(tries):
        X, y = drawn(300, seed)
        found = effects(model.fit(X, y), X, y)
        ends = {name: (low, high) for name, _, _, low, high in zip(*found[:5], strict=True)}
        covered += ends["1"][0] <= truth["1"] <= ends["1"][1]
        empty += ends["2"][0] == 0
    assert covered >= 0.9 * tries
    assert empty >= 0.9 * tries


def test_what_learns_from_labels_has_no_intervals():
    for model in (Scorecard(), make_pipeline(Binning(), linear())):
        found = effects(model.fit(FRAME, Y), FRAME, Y)
        assert found.note == "No intervals: Binning learns from the labels, too."
        assert np.all(np.isnan(found.low))
        # weight of evidence has no direction that is the column's
        assert np.all(np.isnan(found.coef) & (found.effect >= 0))
        literal = [np.sqrt(2) * alone(model, name).std() for name in found.feature]
        assert found.effect == pytest.approx(literal)
    chosen = make_pipeline(SelectKBest(k=1), linear()).fit(FRAME[["z", "day"]], Y)
    found = effects(chosen, FRAME[["z", "day"]], Y)
    assert found.note == ""
    assert found.effect[1] == found.coef[1] == 0  # was not chosen
    assert np.isfinite(found.low[0])


# ---- shapes


def by_name(model, frame=FRAME):
    return {shape.feature: shape for shape in shapes(model, frame, Y)}


def test_shapes_are_what_values_add(fitted):
    for name, shape in by_name(fitted).items():
        values, added, seen = [*shape.values], [*shape.added], FRAME[name]
        if shape.values.dtype == object:
            assert {*values} == {*seen.fillna("missing")}
            assert np.all(np.diff(added) <= 0)
            values = [np.nan if value == "missing" else value for value in values]
        else:
            assert (values[0], values[-1]) == (seen.min(), seen.max())
            assert np.all(np.diff(values) > 0)
            shares = [0.01, *np.arange(1, 10) / 10, 0.99]
            rows = np.sort(seen.dropna())
            place = [int(share * len(rows) + 1e-9) for share in shares]
            assert shape.quantiles.tolist() == rows[place].tolist()
            assert np.isnan(shape.missing) != seen.isna().any()
            if seen.isna().any():
                values, added = [*values, np.nan], [*added, shape.missing]
        middle = fitted.decision_function(with_each(FRAME, name, seen.tolist())).mean()
        found = fitted.decision_function(with_each(FRAME, name, values))
        assert found - middle == pytest.approx(added)


def test_lines_between_the_points_of_a_shape_are_the_function(fitted):
    curves = [s for s in shapes(fitted, FRAME, Y) if s.values.dtype != object]
    assert curves
    for shape in curves:
        fine = np.linspace(shape.values[0], shape.values[-1], 1001)
        scores = fitted.decision_function(with_each(FRAME, shape.feature, fine.tolist()))
        middle = alone(fitted, shape.feature).mean()
        drawn = np.interp(fine, shape.values, shape.added)
        off = np.abs(drawn - (scores - middle)) > 2e-3 * np.ptp(scores)
        # at a jump the line is as steep as numbers can be, and a point of the fine grid may hit it
        jumps = np.flatnonzero(np.diff(shape.values) < 1e-6 * np.ptp(shape.values))
        near = np.abs(fine[off, None] - shape.values[jumps]) < 1e-6 * np.ptp(shape.values)
        assert near.any(axis=1).all()
        assert len(shape.values) < 600


def named(X):
    return pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, named])
def test_shapes_of_thin_rows_show_the_ends_of_training(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.normal(size=400)), rng.poisson(3, 400)])
    y = (np.log(X[:, 0]) + rng.normal(size=400) > 1).astype(int)
    model = make_pipeline(SplineFeatures(5), linear()).fit(kind(X), y)
    end, far = X[:, 0].max(), X.copy()
    far[0, 0] = 10 * end  # with no row between
    shape = {s.feature: s for s in shapes(model, kind(far), y)}["a" if kind is named else "1"]
    fine = np.column_stack([np.linspace(0.9 * end, 2 * end, 500), np.full(500, 2.0)])
    drawn = np.interp(fine[:, 0], shape.values, shape.added)
    scores = model.decision_function(kind(fine))
    assert np.abs((drawn - drawn[0]) - (scores - scores[0])).max() < 2e-3 * np.ptp(shape.added)


def test_lines_have_no_shape():
    model = make_pipeline(encoder(), linear()).fit(FRAME, Y)
    assert {*by_name(model)} == {*WORDS, "x"}  # whose gaps are not on its line
    numbers = FRAME[["z", "day"]]
    assert by_name(linear().fit(numbers, Y), numbers) == {}
    assert by_name(make_pipeline(StandardScaler(), linear()).fit(numbers, Y), numbers) == {}


VISITS = pd.DataFrame(
    {"visited": np.random.default_rng(2).uniform(19000, 19060, 300).round(5), "z": FRAME["z"]}
)
VISITS.loc[VISITS["z"] > 2, "visited"] = np.nan
VISITS.attrs["columns"] = (Date("visited"),)


@pytest.mark.parametrize("front", ["encoded", "splines"])
def test_a_date_has_shapes_of_its_weekday_and_hour(front):
    steps = [TableEncoder(missing=True), *([SplineFeatures(4)] if front == "splines" else [])]
    model = make_pipeline(*steps, linear()).fit(VISITS, Y)
    found = by_name(model, VISITS)
    assert {"visited: weekday", "visited: hour"} <= {*found}
    weekdays = dict(
        zip(found["visited: weekday"].values, found["visited: weekday"].added, strict=True)
    )
    assert {*weekdays} == {*pd.date_range("2024-01-01", periods=7).day_name()}
    hours = found["visited: hour"]
    assert (hours.values[0], hours.values[-1]) == (0.0, pytest.approx(24.0))
    assert hours.added[0] == pytest.approx(hours.added[-1])  # midnight
    assert np.isfinite(hours.low).all()
    # together they are what a date adds
    line = found.get("visited")
    added = by_column(Stages.of(model, VISITS)).added()[:, 0]
    added -= added.mean()
    filled = VISITS["visited"].notna().to_numpy()
    days = VISITS["visited"][filled].to_numpy()
    sums = np.interp(24 * (days % 1), hours.values, hours.added)
    sums += [weekdays[day] for day in pd.to_datetime(days, unit="D").day_name()]
    sums += np.interp(days, line.values, line.added)
    np.testing.assert_allclose(sums, added[filled], atol=2e-3 * np.ptp(added))
    assert line.missing == pytest.approx(added[~filled][0])
    one = shape_of(model, VISITS, Y, "visited: hour")
    assert one.added.tolist() == hours.added.tolist()
    with pytest.raises(ValueError, match="'visited: year' has no shape to draw"):
        shape_of(model, VISITS, Y, "visited: year")
    assert not {"visited: weekday", "visited: hour"} & {
        *by_name(model, VISITS.assign(visited=np.nan))
    }


def test_reasons_and_effects_name_the_date_once():
    model = make_pipeline(TableEncoder(missing=True), linear()).fit(VISITS, Y)
    assert sorted(effects(model, VISITS, Y).feature) == ["visited", "z"]
    for row, why in zip(VISITS.itertuples(), reasons(model, VISITS), strict=True):
        named = [reason for reason in why if reason.feature == "visited"]
        assert len(named) <= 1
        if named and row.visited == row.visited:
            assert named[0].value == Date("visited").shown(row.visited)


def test_intervals_of_shapes_are_those_of_the_jackknife():
    X, model = FRAME[["z", "day"]], AUCClassifier(0.03, standardize=0.0)
    splines = SplineFeatures(4).fit(X)
    whole = make_pipeline(splines, model).fit(X, Y)
    shape = by_name(whole, X)["z"]
    Z = splines.transform(X)
    mine = np.r_[0, 2 : 2 + splines.n_splines(splines.knots_[0])]  # the splines of z, and z
    at = splines.transform(with_each(X, "z", shape.values))[:, mine] - Z[:, mine].mean(axis=0)
    errors = jackknife(lambda Z, y: at @ model.fit(Z, y).coef_[0][mine], Z, Y)
    reach = stdtrit(min(np.bincount(Y)) - 1, 0.975) * errors
    assert (shape.high - shape.low) / 2 == pytest.approx(reach, rel=0.15)


def test_reasons_of_a_source_are_those_of_its_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 3 == 0
    model = AUCClassifier().fit(X, y)
    parts = Source([lambda k=k: X[20 * k : 20 * (k + 1)] for k in range(3)])
    names = list("abcd")
    for mean in (None, X[0]):
        whole = reasons(model, X, 2, mean=mean, feature_names=names)
        in_parts = reasons(model, parts, 2, mean=mean, feature_names=names)
        for of_row, of_part in zip(whole, in_parts, strict=True):
            assert [one[:2] for one in of_row] == [one[:2] for one in of_part]
            assert [one.raised for one in of_row] == pytest.approx([one.raised for one in of_part])
