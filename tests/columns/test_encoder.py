"""TableEncoder: the columns of any table as numbers, from whatever frame or parts they come."""

import functools
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from aucmax import AUCClassifier, load, save
from aucmax.columns import summaries
from aucmax.columns.encoder import TableEncoder
from aucmax.columns.functions import Feature, Pieces, Word
from aucmax.columns.steps import step_of
from aucmax.columns.summaries import Coded, NumberSummary, TableSummary, WordSummary
from aucmax.data.columns import Date, Time, Words, YesNo, named
from oracles import tables

COLUMNS = {
    "x": [1.0, None, 3.0, 5.0] * 5,
    "colour": ["red", "blue", None, "red"] * 5,
    "z": [float(i) for i in range(20)],
}
FRAMES = {
    "arrow": pa.table(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "pandas": pd.DataFrame(COLUMNS),
    "objects": pd.DataFrame({k: np.array(v, object) for k, v in COLUMNS.items()}),
}


@pytest.fixture
def encoder():
    return TableEncoder(missing=True).fit(FRAMES["arrow"])


def test_it_is_scikit_learns_imputer_and_encoder(encoder):
    numbers = np.array([COLUMNS["x"], COLUMNS["z"]], dtype=float).T
    imputed = SimpleImputer(strategy="median", add_indicator=True).fit_transform(numbers)
    words = pd.DataFrame(COLUMNS)[["colour"]].astype(object).fillna(np.nan).to_numpy()
    codes = OneHotEncoder().fit_transform(words).toarray()
    found = encoder.transform(FRAMES["arrow"])
    np.testing.assert_array_equal(found, np.hstack([imputed, codes]))
    names = ["x", "z", "missingindicator_x", "colour_blue", "colour_red", "colour_nan"]
    assert encoder.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same(encoder, kind):
    wanted = encoder.transform(FRAMES["arrow"])
    np.testing.assert_array_equal(encoder.transform(FRAMES[kind]), wanted)
    again = TableEncoder(missing=True).fit_transform(FRAMES[kind])
    np.testing.assert_array_equal(again, wanted)


def test_times_with_a_zone_are_those_of_utc():
    when = pd.Series(pd.date_range("2024-03-30", periods=40, freq="5h", tz="Europe/Vienna"))
    when[7] = pd.NaT
    utc = pd.DataFrame({"when": when.dt.tz_convert("UTC").dt.tz_localize(None)})
    encoder = TableEncoder(missing=True).fit(utc)
    for frame in (pd.DataFrame({"when": when}), pl.from_pandas(when.to_frame("when"))):
        again = TableEncoder(missing=True).fit(frame)
        assert again.columns_ == encoder.columns_
        np.testing.assert_array_equal(again.transform(frame), encoder.transform(utc))


def test_columns_go_by_name(encoder):
    frame = pd.DataFrame(COLUMNS)
    turned = frame.assign(more=1)[["more", "z", "colour", "x"]]
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(frame))
    with pytest.raises(ValueError, match="columns are missing: z"):
        encoder.transform(frame.drop(columns="z"))
    unseen = encoder.transform(frame.assign(colour="green"))
    assert not unseen[:, -3:].any()


def test_it_is_saved_with_a_model(tmp_path, encoder):
    y = np.arange(20) % 2
    frame = FRAMES["pandas"].copy()
    frame.attrs["columns"] = columns = (Words("colour"), Date("z", form="%d/%m/%Y"))
    model = make_pipeline(TableEncoder(missing=True), AUCClassifier()).fit(frame, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again[0].columns_ == columns
    np.testing.assert_array_equal(
        again.decision_function(FRAMES["polars"]), model.decision_function(FRAMES["arrow"])
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("text", [["colour", "word"], ["word"], []])
def test_what_is_saved_is_what_was_learnt_not_scikit_learns_steps(text, missing):
    # so many words that the result is sparse
    rows = pd.DataFrame(COLUMNS).assign(word=[f"word {i}" for i in range(20)])
    frame = rows[[*text, *["x"] * missing, "z"]]
    encoder = TableEncoder(missing).fit(frame)
    saved = pickle.dumps(encoder)
    assert b"ColumnTransformer" not in saved
    again = pickle.loads(saved)
    found, wanted = again.transform(frame), encoder.transform(frame)
    assert sp.issparse(found) == sp.issparse(wanted) == ("word" in text)
    np.testing.assert_array_equal(sp.csr_array(found).toarray(), sp.csr_array(wanted).toarray())
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()


# ---- any table, against the literal oracle

KINDS = {
    "amount": "number",
    "vip": "yes/no",
    "visited": "date",
    "booked": "date",
    "empty": "number",
    "clock": "time",
    "length": "time",
    "city": "words",
    "shop": "words",
}
DECLARED = (
    *(YesNo("vip", words=("no", "yes")), Date("visited"), Date("booked"), Time("clock")),
    *(Time("length"), Words("city"), Words("shop")),
)


def table(n=600, seed=0):
    """Rows with a column of each kind, most with gaps, as lists."""
    rng = np.random.default_rng(seed)
    shops = [f"shop {k:03d}" for k in rng.zipf(1.4, n) % 150]
    columns = {
        "amount": rng.lognormal(3, 1, n).round(2),
        "vip": (rng.random(n) < 0.3).astype(float),
        "visited": rng.uniform(-400, 20000, n).round(4),
        "booked": np.floor(rng.uniform(18000, 18030, n)),
        "empty": np.full(n, np.nan),
        "clock": rng.integers(0, 1440, n) / 1440,
        "length": rng.exponential(0.7, n).round(3),
        "city": rng.choice(["Bonn", "Köln", "Ulm", "n/a", " NA"], n),
        "shop": shops,
    }
    gaps = {name: rng.random(n) < 0.1 for name in ("amount", "vip", "visited", "shop", "clock")}
    lists = {}
    for name, values in columns.items():
        values, gap = np.asarray(values).tolist(), gaps.get(name, np.zeros(n, bool)).tolist()
        nothing = None if KINDS[name] == "words" else np.nan
        lists[name] = [nothing if g else v for v, g in zip(values, gap, strict=True)]
    return lists


def framed(lists, words=None):
    frame = pd.DataFrame(
        {
            name: pd.Series(values, dtype=(words or object) if KINDS[name] == "words" else float)
            for name, values in lists.items()
        }
    )
    frame.attrs["columns"] = DECLARED
    return frame


FIT, NEW = table(), table(200, seed=1)
for _name, _value in (("shop", "a new shop"), ("city", "Rome"), ("amount", 1e12)):
    NEW[_name][3] = _value
for _name in ("visited", "amount", "city", "booked", "length", "vip"):
    NEW[_name][5] = None if KINDS[_name] == "words" else np.nan
NEW["visited"][7:11] = [-1e-20, -0.25, 8.9e6, 1e9]


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("rules", [{}, {"min_level_rows": 3, "max_levels": 12}], ids=str)
def test_a_table_is_prepared_as_the_literal_oracle_does_it(missing, rules):
    encoder = TableEncoder(missing, **rules).fit(framed(FIT))
    for rows in (FIT, table(50, seed=2)):
        names, values = tables.prepared(KINDS, FIT, rows, missing, **rules)
        found = dense(encoder.transform(framed(rows)))
        assert encoder.get_feature_names_out().tolist() == names
        np.testing.assert_allclose(found, values, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(
        dense(TableEncoder(missing, **rules).fit_transform(framed(FIT))),
        dense(encoder.transform(framed(FIT))),
    )


def test_words_as_categories_are_words():
    encoder, other = (TableEncoder(True).fit(framed(FIT, words)) for words in (None, "category"))
    assert encoder.decisions() == other.decisions()
    again = other.transform(framed(NEW, "category"))
    np.testing.assert_array_equal(dense(encoder.transform(framed(NEW))), dense(again))
    unused = framed(FIT, "category")
    unused["city"] = unused["city"].cat.add_categories(["Nowhere"])
    assert TableEncoder(True).fit(unused).decisions() == other.decisions()


def test_the_output_is_sparse_where_levels_are_most_of_it():
    X = TableEncoder(True, min_level_rows=1).fit_transform(framed(FIT))
    assert sp.issparse(X)
    X.check_format(full_check=True)
    assert X.has_canonical_format
    assert X.data.all()
    few = framed(FIT)[["amount", "vip", "booked", "city"]]
    few.attrs["columns"] = DECLARED
    assert not sp.issparse(TableEncoder(True).fit_transform(few))


def test_switches():
    frame = framed(FIT)
    plain = TableEncoder(True, date_parts=False).fit(frame).get_feature_names_out().tolist()
    every = TableEncoder(True).fit(frame).get_feature_names_out().tolist()
    assert [
        name for name in every if not name.startswith(("visited_", "booked_", "clock_"))
    ] == plain
    assert {"visited_Monday", "visited_21:00", "booked_Sunday", "clock_00:00"} <= {*every}
    assert not {"booked_00:00", "length_00:00", "empty"} & {*every}
    for rules in ({"min_level_rows": 0}, {"max_levels": 0.5}):
        with pytest.raises(ValueError, match=f"{next(iter(rules))} must be"):
            TableEncoder(**rules).fit(frame)


def test_one_rare_word_keeps_its_level():
    words = [f"w{k:02d}" for k in range(20)] * 10
    names = ["x_other", "x_rare"]
    for more, wanted in (([], []), (["rare"], names[1:]), (["rare", "odd"], names[:1])):
        encoder = TableEncoder().fit(pd.DataFrame({"x": [*words, *more]}))
        made = encoder.get_feature_names_out().tolist()
        assert [name for name in made if name not in {f"x_{word}" for word in words}] == wanted
    new = dense(encoder.transform(pd.DataFrame({"x": ["w00", "odd", "unseen", None]})))
    assert new[:, -1].tolist() == [0, 1, 1, 1]
    assert new[0, 0] == 1


def test_dates_on_few_days_have_no_weekdays():
    days = pd.date_range("2024-01-01", periods=15)
    for some, has in ((days[:14], False), (days, True), (days[[0, 7] * 20], False)):
        names = TableEncoder().fit(pd.DataFrame({"day": some})).get_feature_names_out()
        assert ("day_Monday" in names) == has
    mondays = pd.date_range("2024-01-01", periods=20, freq="7D")
    assert TableEncoder().fit(pd.DataFrame({"d": mondays})).get_feature_names_out() == ["d"]


# ---- parts


def in_parts(frame, cuts, **rules):
    encoder = TableEncoder(True, **rules)
    for k in range(len(cuts) - 1):
        part = frame.iloc[cuts[k] : cuts[k + 1]]
        part.attrs["columns"] = frame.attrs["columns"]
        encoder.partial_fit(part)
    return encoder


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 600), max_size=5), st.randoms(use_true_random=False))
def test_parts_give_what_the_whole_gives_in_any_order(cuts, random):
    frame = framed(FIT)
    whole = TableEncoder(True).fit(frame)
    order = [*range(600)]
    random.shuffle(order)
    turned = frame.iloc[order]
    turned.attrs["columns"] = DECLARED
    encoder = in_parts(turned, [0, *sorted(cuts), 600])
    assert encoder.decisions() == whole.decisions()
    assert encoder.preparations_ == whole.preparations_
    wanted, found = whole.transform(framed(NEW)), encoder.transform(framed(NEW))
    np.testing.assert_array_equal(dense(found), dense(wanted))


def test_summaries_of_other_machines_merge():
    frame = framed(FIT)
    halves = [frame.iloc[:250], frame.iloc[250:]]
    for half in halves:
        half.attrs["columns"] = DECLARED
    first, second = (pickle.loads(pickle.dumps(TableSummary.of(half))) for half in halves)
    merged = TableEncoder(True).fit_summary(second.merge(first))
    assert merged.preparations_ == TableEncoder(True).fit(frame).preparations_
    np.testing.assert_array_equal(
        dense(merged.transform(frame)), dense(TableEncoder(True).fit_transform(frame))
    )


def test_what_part_of_the_rows_does_not_show():
    """A column that has only gaps in a part is of the kind that others have."""
    words = pd.DataFrame({"x": ["a", "b", "a"]})
    nothing = pd.DataFrame({"x": np.array([None, None], dtype=object)})
    whole = TableEncoder(True).fit(pd.concat([nothing, words]))
    for parts in ([nothing, words], [words, nothing]):
        encoder = TableEncoder(True)
        for part in parts:
            encoder.partial_fit(part)
        assert encoder.preparations_ == whole.preparations_
    with pytest.raises(ValueError, match=r"column 'x' is of two kinds .*: Words and Column"):
        TableEncoder().partial_fit(words).partial_fit(pd.DataFrame({"x": [1.0]}))
    with pytest.raises(ValueError, match="some parts lack the columns y"):
        TableSummary.of(words.assign(y=1)).merge(TableSummary.of(words))


def test_medians_of_more_numbers_than_are_counted(monkeypatch):
    monkeypatch.setattr(summaries, "MAX_BINS", 64)
    x = np.random.default_rng(0).lognormal(size=5001)
    assert NumberSummary.of(x).median == np.median(x)  # of one part
    parts = [NumberSummary.of(some) for some in np.split(x, [100, 3000, 3000, 4000])]
    merged = functools.reduce(NumberSummary.merge, parts)
    turned = functools.reduce(lambda a, b: b.merge(a), parts)
    assert len(merged.bins.low) <= 64
    assert merged.median == turned.median
    k = np.searchsorted(merged.bins.high, np.median(x))
    assert merged.bins.low[k] <= np.median(x) <= merged.bins.high[k]
    assert merged.bins.low[k] <= merged.median <= merged.bins.high[k]
    for one, other in zip(merged.bins, turned.bins, strict=True):
        np.testing.assert_array_equal(one, other)
    assert merged.bins.counts.sum() == 5001


def test_counts_of_more_words_than_are_kept(monkeypatch):
    monkeypatch.setattr(summaries, "MAX_WORDS", 30)
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in rng.zipf(1.5, 4000)], dtype=object)
    truth = Counter(words)
    parts = [WordSummary.of(Coded.of(some)) for some in np.array_split(words, 9)]
    merged = functools.reduce(WordSummary.merge, parts)
    assert len(merged.counts) <= 30
    assert 0 < merged.uncounted <= 4000 / 31
    for word, count in truth.items():
        assert count - merged.uncounted <= merged.counts.get(word, 0) <= count
    encoder = TableEncoder()
    for some in np.array_split(words, 9):
        encoder.partial_fit(pd.DataFrame({"w": some}))
    assert {"w_w1", "w_other"} <= {*encoder.get_feature_names_out()}
    assert str(encoder.decisions()[0]).startswith("w: more than ")


# ---- what is said and refused


DECISIONS = {
    "amount": "63 of 600 missing: filled with the median 19.5, and marked by a feature",
    "vip": "68 of 600 missing: filled with 'no', the more frequent, and marked by a feature",
    "visited": "a date: days, weekday and time of day; 66 of 600 missing: filled with the median "
    "1996-12-10T22:14:27, and marked by a feature",
    "booked": "a date: days and weekday",
    "empty": "no row has a value: left out",
    "clock": "a time of day: a number, and levels near 0:00, 3:00, …, 21:00; 54 of 600 missing: "
    "filled with the median 12:03:30, and marked by a feature",
    "length": "a time: days",
    "city": "3 words and gaps, a level each",
    "shop": "106 words: levels for gaps and the 8 with at least 10 rows, 'other' for the rest",
}


def test_decisions_in_plain_english():
    said = {
        decision.column: decision for decision in TableEncoder(True).fit(framed(FIT)).decisions()
    }
    assert {name: decision.what for name, decision in said.items()} == DECISIONS
    assert said["shop"].otherwise == {"drop": ["shop"]}
    words = pd.DataFrame({"one": ["a"] * 60, "many": [f"m{k}" for k in range(30)] * 2})
    told = [*map(str, TableEncoder(min_level_rows=2, max_levels=7).fit(words).decisions())]
    assert told == [
        "one: 1 word, a level",
        "many: 30 words: levels for the 7 most frequent, 'other' for the rest",
    ]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"a": ["x", 1, "y"]}), "column 'a' has words and 1, a int"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "column 'a' contains infinity"),
        (pd.DataFrame({"a": np.array([1.0, (2,)], dtype=object)}), "column 'a': "),
        (pd.DataFrame(index=[1, 2]), "X must be a data frame whose columns have names"),
        (np.ones((3, 2)), "X must be a data frame whose columns have names"),
        (pd.DataFrame(np.ones((3, 2))), "X must be a data frame whose columns have names"),
    ],
)
def test_what_is_no_table_is_refused(frame, said):
    for learn in (TableEncoder().fit, TableEncoder().fit_transform, TableEncoder().partial_fit):
        with pytest.raises(ValueError, match=said):
            learn(frame)


def test_pandas_own_gaps_are_gaps():
    frame = pd.DataFrame({"x": pd.array([1, None, 4], dtype="Int64"), "w": ["a", pd.NA, "b"]})
    found = TableEncoder(True).fit_transform(frame)
    assert found.tolist() == [[1, 0, 1, 0, 0], [2.5, 1, 0, 0, 1], [4, 0, 0, 1, 0]]


def test_a_file_has_no_summary_of_the_rows(tmp_path):
    frame = framed(FIT)
    model = make_pipeline(TableEncoder(True), AUCClassifier()).fit(frame, np.arange(600) % 2)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again[0].decisions() == model[0].decisions()
    np.testing.assert_array_equal(
        again.decision_function(framed(NEW)), model.decision_function(framed(NEW))
    )
    assert not hasattr(again[0], "summary_")
    with pytest.raises(ValueError, match="an encoder from a file cannot learn more rows"):
        again[0].partial_fit(frame)


# ---- the functions of columns


def test_features_are_the_functions_of_their_columns():
    encoder = TableEncoder(True).fit(framed(FIT))
    step = step_of(encoder)
    identity = [
        Feature(j, Word() if column.is_text else Pieces.line())
        for j, column in enumerate(named([*KINDS], DECLARED))
    ]
    features = step.features(identity)
    X, columns = dense(encoder.transform(framed(NEW))), framed(NEW)
    assert [f.column for f in features] == step.columns(np.arange(len(KINDS))).tolist()
    for feature, values in zip(features, X.T, strict=True):
        column = columns.iloc[:, feature.column].to_numpy()
        np.testing.assert_array_equal(feature.function(column), values)


@pytest.mark.parametrize("slope", [1.0, -0.5])
def test_pieces_of_pieces(slope):
    """Splines and bins of the time of day are functions of the date."""
    x = np.random.default_rng(0).uniform(-3, 3, 500)
    hat = Pieces(
        np.array([0.25, 0.5]), np.array([0.0, 0.25, 0.0]),
        np.array([[0.0, 4.0], [1.0, -4.0], [0.0, 0.0]]), np.nan, 1.0,
    ).times(slope)  # fmt: skip
    bent = Pieces(np.array([0.2, 0.6]), np.zeros(3), np.arange(9.0).reshape(3, 3), 5.0)
    both = hat.then(bent)
    np.testing.assert_allclose(both(x), bent(hat(x)), rtol=1e-12)
    assert (both.period, both.gap) == (1.0, 5.0)
    falling = Pieces.line(-2.0, 1.0).then(bent)
    np.testing.assert_allclose(falling(x), bent(-2.0 * (x - 1.0)), rtol=1e-12)
    with pytest.raises(ValueError, match="weekday or time of day of a changed column"):
        Pieces.line(2.0).then(hat)
