"""Bins, their weights of evidence, and the points that a scorecard gives them."""

import io
import json
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucmax import AUCClassifier, datasets, load, metrics, save, to_onnx, to_sql
from aucmax.additive import Binning, Scorecard
from aucmax.basics.errors import ModelFileError
from aucmax.columns.divisions import divide, likelihood
from exported import run_onnx, run_sql
from oracles.divisions import best_division


def loans(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 0.6, n)).round(),
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice(["clerk", "farmer", "none", "boss"], n, p=[0.5, 0.3, 0.18, 0.02]),
            "noise": rng.normal(size=n),
        }
    )
    odds = -2 - 1.2 * (np.log(frame["income"]) - 10) + 0.8 * (frame["job"] == "none")
    y = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame["job"] = frame["job"].astype(object).where(rng.random(n) > 0.1, None)
    return frame, y


FRAME, Y = loans()


@pytest.fixture(scope="module")
def card():
    return Scorecard().fit(FRAME, Y)


# ---- divisions


TRENDS = {None: (0,), "increasing": (1,), "decreasing": (-1,), "auto": (1, -1)}


def divisions_that_are_not_the_best(seed, attempts):
    """Small cells with ties, zeros and weights, divided by us and by trying every division."""
    rng = np.random.default_rng(seed)
    kinds = (
        lambda shape: rng.integers(0, 4, shape),
        lambda shape: rng.integers(0, 200, shape),
        lambda shape: rng.integers(0, 2, shape),
        lambda shape: 10 * rng.random(shape) * (rng.random(shape) < 0.7),
    )
    for _ in range(attempts):
        counts = kinds[rng.integers(4)]((rng.integers(1, 9), 2)).astype(float)
        counts = counts[counts.any(axis=1)]
        if not len(counts):
            continue
        trend = list(TRENDS)[rng.integers(4)]
        most, price = rng.integers(1, len(counts) + 2), rng.choice([0.0, 0.3, 1.0])
        smallest = rng.choice([0.0, 0.05, 0.2, 0.5]) * counts.sum()
        ends, value = divide(counts, most, smallest, price, TRENDS[trend])
        directions = ("increasing", "decreasing") if trend == "auto" else (trend,)
        wanted = max(best_division(counts, most, smallest, price, way)[0] for way in directions)
        bins = np.add.reduceat(counts, np.append(0, ends[:-1]), axis=0)
        rises = np.diff(bins[:, 1] / bins.sum(axis=1))
        follows = trend is None or any((way * rises >= -1e-12).all() for way in TRENDS[trend])
        large = len(bins) == 1 or bins.sum(axis=1).min() >= smallest * (1 - 1e-9)
        of_ends = likelihood(bins).sum() - price * len(bins)
        if not (
            value == pytest.approx(wanted, abs=1e-9)
            and of_ends == pytest.approx(wanted, abs=1e-9)
            and len(ends) <= most
            and follows
            and large
        ):
            yield counts.tolist(), most, smallest, price, trend


def test_the_division_is_the_best_of_all():
    assert list(divisions_that_are_not_the_best(0, 250)) == []
    one, _ = divide(np.ones((9, 2)), 9, 1e9, 0.0)
    assert one.tolist() == [9]


@pytest.mark.exhaustive
def test_the_division_is_the_best_of_all_for_long():
    attempts = int(os.environ.get("AUCMAX_ATTACKS", 20_000))
    assert list(divisions_that_are_not_the_best(1, attempts)) == []


def test_a_least_share_does_not_hide_a_trend():
    """Of the cells 1 | 2 and 3, the second bin is large enough only with both."""
    x = np.repeat([0.0, 1.0, 2.0], [187, 8, 5])
    y = np.repeat([0, 1, 1, 0], [9, 178, 8, 5])
    bins = Binning().fit(x[:, None], y).bins_[0]
    assert bins.counts[:-1].tolist() == [[9, 178], [5, 8]]
    assert bins.information == pytest.approx(0.79, abs=5e-3)


# ---- bins


@pytest.mark.data
def test_weights_of_evidence_of_german_are_the_known_ones():
    """The status of the account: 274, 269, 63 and 394 rows, 135, 105, 14 and 46 of them bad."""
    german = datasets.load("german")
    column = german.data[:, [0]].toarray()[:, 0] if sp.issparse(german.data) else german.data[:, 0]
    binning = Binning("quantile", max_bins=20, monotone=None).fit(column[:, None], german.target)
    bins = binning.bins_[0]
    rows, bad = np.array([274, 269, 63, 394]), np.array([135, 105, 14, 46])
    assert bins.counts.sum(axis=1).tolist() == [*rows, 0]
    assert bins.counts[:, 1].tolist() == [*bad, 0]
    np.testing.assert_allclose(bins.woe[:4], [0.8181, 0.4014, -0.4055, -1.1763], atol=5e-5)
    assert bins.information == pytest.approx(0.6660, abs=5e-5)
    wanted = np.log((bad / 300) / ((rows - bad) / 700))
    place = np.searchsorted(np.unique(column), column)
    np.testing.assert_allclose(binning.transform(column[:, None])[:, 0], wanted[place])


@pytest.mark.data
def test_a_scorecard_of_german_ranks_as_logistic_regression_of_its_weights():
    german = datasets.load("german")
    card = Scorecard().fit(german.data, german.target)
    woes = card.binning_.transform(german.data)
    used = card.classifier_.coef_[0] > 0
    plain = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(woes[:, used], german.target)
    assert (card.classifier_.coef_ >= 0).all()
    assert 10 < used.sum() < 24
    wanted = metrics.roc_auc(german.target, plain.decision_function(woes[:, used]))
    assert metrics.roc_auc(german.target, card.decision_function(german.data)) > wanted - 0.002
    assert metrics.roc_auc(german.target, -card.points(german.data)) > wanted - 0.003


def test_rates_follow_the_trend_that_is_asked_for():
    x = np.arange(400.0)
    y = np.random.default_rng(0).random(400) < np.where(abs(x - 200) < 80, 0.7, 0.2)
    found = {}
    for trend in ("increasing", "decreasing", "auto", None):
        counts = Binning(monotone=trend).fit(x[:, None], y).bins_[0].counts[:-1]
        found[trend] = np.diff(counts[:, 1] / counts.sum(axis=1))
        assert (counts.sum(axis=1) >= 20).all()
    assert (found["increasing"] > 0).all()
    assert (found["decreasing"] < 0).all()
    assert (found["auto"] > 0).all() or (found["auto"] < 0).all()
    assert (found[None] > 0).any()
    assert (found[None] < 0).any()
    frame = pd.DataFrame({"a": x, "b": x})
    named = Binning(monotone={"b": None}).fit(frame, y).bins_
    assert len(named[1].counts) > len(named[0].counts)
    with pytest.raises(ValueError, match="monotone names 'c', which is not a column"):
        Binning(monotone={"c": None}).fit(frame, y)


def test_gaps_rare_words_and_unknown_ones_have_bins():
    binning = Binning().fit(FRAME, Y)
    income, _, job, _ = binning.bins_
    gaps = FRAME["income"].isna()
    assert income.counts[-1].tolist() == [(gaps & (Y == 0)).sum(), (gaps & (Y == 1)).sum()]
    assert "boss" not in job.words  # under a twentieth of the rows
    assert "others" in job.labels[job.other]
    new = FRAME.head(4).assign(job=["boss", "pilot", None, "none"], age=np.nan)
    found = binning.transform(new)
    assert found[0, 2] == found[1, 2] == job.woe[job.other]
    assert found[2, 2] == job.woe[-1] != 0
    assert found[3, 2] == job.woe[job.words["none"]] > 0
    assert (found[:, 1] == 0).all()  # training had no gap there
    known = Binning(min_share=0.0).fit(FRAME, Y)
    assert known.bins_[2].other == -1
    assert known.transform(new)[1, 2] == 0


def test_bins_do_not_depend_on_how_rows_come():
    wanted = Binning().fit(FRAME, Y).transform(FRAME)
    table = pa.Table.from_pandas(FRAME)
    for rows in (table, pl.from_pandas(FRAME), FRAME.to_numpy(object)):
        np.testing.assert_array_equal(Binning().fit(rows, Y).transform(rows), wanted)
    order = np.random.default_rng(0).permutation(len(Y))
    again = Binning().fit(FRAME.iloc[order], Y[order])
    np.testing.assert_array_equal(again.transform(FRAME), wanted)
    turned = FRAME.assign(more=1)[["more", *FRAME.columns[::-1]]]
    np.testing.assert_array_equal(again.transform(turned), wanted)
    numbers = np.nan_to_num(FRAME[["income", "age"]].to_numpy())
    dense = Binning().fit(numbers, Y).transform(numbers)
    np.testing.assert_array_equal(
        Binning().fit(sp.csr_matrix(numbers), Y).transform(numbers), dense
    )


def test_weights_count_as_rows():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 9, (300, 2)).astype(float), rng.random(300) < 0.4
    weight = rng.integers(0, 3, 300)
    X = np.column_stack([X, rng.normal(size=300)])
    weighed = Binning("quantile").fit(X, y, weight)
    repeated = Binning("quantile").fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    for a, b in zip(weighed.bins_, repeated.bins_, strict=True):
        np.testing.assert_allclose(a.counts / a.counts.sum(), b.counts / b.counts.sum(), rtol=1e-9)
        np.testing.assert_array_equal(a.edges, b.edges)
        assert a.information == pytest.approx(b.information, rel=1e-9)
        assert a.counts.sum() == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


SIZES = [2.0**-30, 2.0**40, 1e-6, 1e6]  # of the unit of weights


def the_same_bins(one, other):
    """Whether two fits have equal bins, to the last bit."""
    return all(
        (a.words, a.other) == (b.words, b.other)
        and np.array_equal(a.counts, b.counts)
        and (a.edges is b.edges is None or np.array_equal(a.edges, b.edges))
        for a, b in zip(one.bins_, other.bins_, strict=True)
    )


@pytest.mark.covering(1)
@pytest.mark.parametrize("method", ["best", "quantile"])
@pytest.mark.parametrize("weight", ["none", "whole", "any"])
def test_weights_have_no_unit(method, weight):
    rng = np.random.default_rng(2)
    n = len(Y)
    w = {"none": np.ones(n), "whole": rng.integers(0, 4, n), "any": rng.random(n)}[weight]
    one = Scorecard(Binning(method)).fit(FRAME, Y, w)
    if weight == "none":
        assert the_same_bins(one.binning_, Binning(method).fit(FRAME, Y))
    moved = one.binning_.stability(FRAME[:200], w[:200])
    for size in SIZES:
        other = Scorecard(Binning(method)).fit(FRAME, Y, size * w)
        assert the_same_bins(one.binning_, other.binning_)
        assert all(map(np.array_equal, one.points_, other.points_))
        assert list(one.rows()) == list(other.rows())
        assert other.binning_.stability(FRAME[:200], size * w[:200]) == moved
        np.testing.assert_array_equal(one.decision_function(FRAME), other.decision_function(FRAME))


@pytest.mark.parametrize("method", ["best", "quantile"])
def test_rows_of_weight_zero_are_not_looked_at(method):
    """New words, gaps where there were none, words among numbers, infinity: as if not there."""
    wild = pd.DataFrame(
        {
            "income": [1e300, -1e300, np.inf] * 99,
            "age": [np.nan, "old", None] * 99,
            "job": ["astronaut", None, "zzz"] * 99,
            "noise": np.linspace(-5, 5, 297),
        }
    )
    frame = pd.concat([FRAME.astype({"age": object}), wild], ignore_index=True)
    weight = np.append(np.random.default_rng(3).random(len(Y)), np.zeros(len(wild)))
    labels = np.append(Y, np.arange(len(wild)) % 2)
    for of in (lambda w: w, np.sign):
        w = of(weight)
        one = Scorecard(Binning(method)).fit(FRAME, Y, w[: len(Y)])
        for rows in (frame, pa.Table.from_pandas(frame.astype({"age": str}))):
            if isinstance(rows, pa.Table):
                rows = rows.set_column(1, "age", pa.array(frame["age"].map(_number), pa.float64()))
            other = Scorecard(Binning(method)).fit(rows, labels, w)
            assert the_same_bins(one.binning_, other.binning_)
            assert all(map(np.array_equal, one.points_, other.points_))
        moved = one.binning_.stability(FRAME[:99], w[:99])
        assert one.binning_.stability(frame, np.append(w[:99], np.zeros(len(w) - 99))) == moved


def _number(value):
    return float(value) if isinstance(value, (int, float)) else np.nan


def test_a_bin_of_one_class_has_a_finite_weight():
    x = np.repeat([0.0, 1.0], 50)
    bins = Binning().fit(x[:, None], x > 0).bins_[0]
    np.testing.assert_allclose(bins.woe, [np.log(0.01 / 1.01), np.log(1.01 / 0.01), 0.0])


@pytest.mark.parametrize("method", ["best", "quantile"])
def test_columns_that_say_nothing(method):
    X = np.column_stack([np.full(100, np.nan), np.ones(100)])
    binning = Binning(method).fit(X, np.arange(100) % 2)
    assert (binning.transform(X) == 0).all()
    assert [bins.labels for bins in binning.bins_] == [["any", "missing"]] * 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "tree"}, "method='tree' must be one of best, quantile"),
        ({"max_bins": 1}, "max_bins=1 must be a whole number"),
        ({"min_share": 0.7}, "min_share"),
        ({"monotone": "up"}, "monotone='up' must be"),
        ({"positive": 7}, "positive=7 is not among the labels"),
    ],
)
def test_bad_settings_of_bins(settings, said):
    with pytest.raises(ValueError, match=said):
        Binning(**settings).fit(FRAME, Y)


def test_bad_rows():
    binning = Binning().fit(FRAME, Y)
    with pytest.raises(ValueError, match="columns are missing: job"):
        binning.transform(FRAME.drop(columns="job"))
    unnamed = Binning().fit(FRAME.to_numpy(object), Y)
    with pytest.raises(ValueError, match="expecting 4 features"):
        unnamed.transform(FRAME.to_numpy(object)[:, :2])
    with pytest.raises(ValueError, match="column 'age' holds words"):
        binning.transform(FRAME.assign(age="old"))
    with pytest.raises(ValueError, match="column 'age' holds infinity"):
        Binning().fit(FRAME.assign(age=np.inf), Y)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        Binning().fit(FRAME, np.arange(len(Y)) % 3)


DAYS = pd.date_range("2020-01-01", periods=60)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["a", 1.5] * 30, r"'x' holds words, but also 1.5 \(float\); make all of them text"),
        (DAYS.date, r"'x' holds datetime.date\(2020, 1, 1\) \(date\)"),
        ([b"a", b"b"] * 30, r"'x' holds b'a' \(bytes\); give numbers, words or datetime64"),
        (1j * np.arange(60), r"'x' holds .*\(complex128\)"),
    ],
    ids=["words and numbers", "date", "bytes", "complex"],
)
def test_values_that_are_of_no_kind_are_refused_by_name(values, said):
    with pytest.raises(ValueError, match=said):
        Binning().fit(pd.DataFrame({"x": values}), np.arange(60) % 2)


def test_times_with_a_zone_are_dates_in_utc():
    binnings = [
        Binning().fit(pd.DataFrame({"x": days}), np.arange(60) >= 30)
        for days in (DAYS, DAYS.tz_localize("UTC").tz_convert("Asia/Tokyo"))
    ]
    one, other = (binning.bins_[0].edges for binning in binnings)
    np.testing.assert_array_equal(one, other)


def test_a_number_where_training_had_words_is_refused_and_a_gap_is_not():
    binning = Binning().fit(pd.DataFrame({"x": ["1", "2"] * 30}), np.arange(60) % 2)
    assert (binning.transform(pd.DataFrame({"x": [np.nan, None]})) == 0).all()
    with pytest.raises(ValueError, match=r"'x' holds words, but also .*1.*make all of them text"):
        binning.transform(pd.DataFrame({"x": [1, 2]}))


@pytest.mark.parametrize("labels", [["a", None], ["a", np.nan], ["a", 1]])
def test_labels_that_are_missing_or_of_two_kinds_are_refused(labels):
    for model in (Binning(), Scorecard(), AUCClassifier()):
        with pytest.raises(ValueError, match=r"the label of row 1 is .*, and others are text"):
            model.fit(np.arange(60.0)[:, None], np.array(labels * 30, dtype=object))


def test_a_column_of_words_that_are_all_gaps(tmp_path):
    frame = pd.DataFrame({"x": ["n/a", "?", None] * 20, "z": np.arange(60.0)})
    card = Scorecard().fit(frame, np.arange(60) > 20)
    assert card.binning_.bins_[0].labels == ["others", "missing"]
    assert (card.binning_.transform(frame.assign(x="new"))[:, 0] == 0).all()
    save(card, tmp_path / "card")
    rows = frame.assign(x="new")
    wanted = card.decision_function(rows)
    np.testing.assert_allclose(run_sql(to_sql(load(tmp_path / "card")), rows), wanted, rtol=1e-9)


def test_numbers_beside_words_in_lists_stay_numbers():
    rows = [[value, "u"] for value in np.repeat([0.0, 1.0], 30).tolist()]
    bins = Binning().fit(rows, np.repeat([0, 1], 30)).bins_
    assert [one.labels for one in bins] == [["< 1", "≥ 1", "missing"], ["u", "missing"]]


def test_labels_of_bins_tell_them_apart():
    y = np.repeat([0, 1, 0, 1], 50)
    x = np.repeat(1e6 + np.arange(4) / 1e3, 50)[:, None]
    labels = Binning(monotone=None).fit(x, y).bins_[0].labels
    assert labels[:-1] == ["< 1000000.001", "1000000.001 to < 1000000.002",
                           "1000000.002 to < 1000000.003", "≥ 1000000.003"]  # fmt: skip
    days = np.repeat(np.array(["2020-01-01T06", "2020-01-01T07:30"], dtype="M8[s]"), 100)
    found = Binning().fit(days[:, None], np.repeat([0, 1], 100)).bins_[0]
    assert found.labels == ["< 2020-01-01T07:30:00", "≥ 2020-01-01T07:30:00", "missing"]


@pytest.mark.parametrize("method", ["best", "quantile"])
def test_very_many_words_are_binned_by_their_rates(method):
    rng = np.random.default_rng(0)
    rate = rng.random(900)
    place = rng.integers(0, 900, 20_000)
    words = np.array([f"w{k}" for k in range(900)], dtype=object)[place]
    y = rng.random(20_000) < rate[place]
    one = Binning(method, min_share=0.0).fit(words[:, None], y).bins_[0]
    assert len(one.words) == 900
    assert one.counts.sum() == 20_000
    assert len(one.counts) - 1 <= (12 if method == "best" else 900)
    seen = np.array([y[place == k].mean() for k in range(900)])
    bins = np.array([one.words[f"w{k}"] for k in range(900)])
    assert (np.diff(bins[np.argsort(seen, kind="stable")]) >= 0).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pdo": np.nan}, "pdo must be a number"),
        ({"pdo": 1e300}, "pdo must be a number"),
        ({"base_points": np.inf}, "base_points must be a number"),
        ({"base_points": "600"}, "base_points must be a number"),
        ({"base_odds": 0}, "base_odds must be a number"),
        ({"binning": "best"}, "binning='best' must be a Binning"),
        ({"classifier": DecisionTreeClassifier()}, "must be linear, with coef_ and intercept_"),
    ],
)
def test_bad_settings_of_scorecards(settings, said):
    with pytest.raises(ValueError, match=said):
        Scorecard(**settings).fit(FRAME, Y)


def test_in_a_pipeline_and_as_shape_of_a_linear_model():
    model = make_pipeline(Binning(), AUCClassifier(alpha=0.01)).fit(FRAME, Y)
    assert metrics.roc_auc(Y, model.decision_function(FRAME)) > 0.7
    assert model[:-1].get_feature_names_out().tolist() == FRAME.columns.tolist()


# ---- points


def test_points_follow_the_odds(card):
    factor = 20 / np.log(2)
    wanted = 600 + factor * (-card.decision_function(FRAME) - np.log(50))
    assert np.abs(card.points(FRAME) - wanted).max() <= 0.5 * FRAME.shape[1]
    twice = clone(card).set_params(pdo=40, base_points=100, base_odds=1).fit(FRAME, Y)
    wanted = 100 - 2 * factor * card.decision_function(FRAME)
    assert np.abs(twice.points(FRAME) - wanted).max() <= 0.5 * FRAME.shape[1]


def test_the_table_adds_up(card):
    table = pd.DataFrame(list(card.rows()))
    assert (table.groupby("feature")["rows"].sum() == len(Y)).all()
    assert (table.groupby("feature")["positives"].sum() == Y.sum()).all()
    np.testing.assert_allclose(table["rate"], table["positives"] / table["rows"])
    for _, part in table.groupby("feature"):
        order = part.sort_values("rate")["points"].to_numpy()
        assert (np.diff(order) <= 0).all()  # signs are constrained
    ages = table[table["feature"] == "age"]
    assert "missing" not in set(ages["bin"])
    assert "missing" in set(table[table["feature"] == "job"]["bin"])


def test_a_column_that_would_count_against_its_rates_counts_nothing():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.3
    x = rng.normal(size=3000) + y
    X = np.column_stack([x, x + 0.3 * rng.normal(size=3000) - 0.3 * y])
    free = LogisticRegression().fit(Binning().fit(X, y).transform(X), y)
    assert free.coef_.min() < -0.05
    assert Scorecard().fit(X, y).classifier_.coef_.min() == 0


def test_labels_and_the_positive_one(card):
    words = np.where(Y == 1, "bad", "good")
    named = Scorecard(positive="bad").fit(FRAME, pd.Series(words, name="outcome"))
    np.testing.assert_array_equal(named.points(FRAME), card.points(FRAME))
    assert named.classes_.tolist() == ["good", "bad"]
    assert named.target_name_ == "outcome"
    assert set(named.predict(FRAME)) <= {"good", "bad"}
    label = run_onnx(to_onnx(named), FRAME)[1]
    assert label.tolist() == named.predict(FRAME).tolist()


def test_a_scorecard_is_saved_and_exported(tmp_path, card):
    save(card, tmp_path / "card")
    again = load(tmp_path / "card")
    np.testing.assert_array_equal(again.points(FRAME), card.points(FRAME))
    wanted = card.decision_function(FRAME)
    np.testing.assert_allclose(run_sql(to_sql(again), FRAME), wanted, rtol=1e-9)
    score, label = run_onnx(to_onnx(again), FRAME)
    np.testing.assert_allclose(score, wanted, rtol=1e-9)
    assert label.tolist() == card.predict(FRAME).tolist()


@pytest.mark.parametrize(
    "harm",
    [
        lambda card: card.points_.pop(),
        lambda card: card.other_points_.pop(),
        lambda card: card.binning_.bins_[0].counts.fill(np.nan),
        lambda card: card.binning_.bins_[0].edges.fill(1.0),
        lambda card: card.binning_.bins_[2].words.update(clerk=99),
    ],
)
def test_a_scorecard_that_no_fit_leaves_is_not_saved(tmp_path, harm):
    card = Scorecard().fit(FRAME, Y)
    harm(card)
    with pytest.raises((ValueError, ModelFileError), match="cannot be saved"):
        save(card, tmp_path / "card")


COUNTED = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "rows of weight 2 count no more than those of weight 1: weights have no unit",
)


@parametrize_with_checks([Scorecard()], expected_failed_checks=lambda _: COUNTED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_probabilities_are_those_of_the_odds_and_true_on_average(card):
    weight = np.random.default_rng(4).integers(1, 4, len(Y)).astype(float)
    weighed = Scorecard().fit(FRAME, Y, weight)
    for one, w in ((card, np.ones(len(Y))), (weighed, weight)):
        p = one.predict_proba(FRAME)
        assert np.all(np.abs(p.sum(axis=1) - 1.0) < 1e-15)
        odds = np.log(p[:, 1] / p[:, 0])
        np.testing.assert_allclose(odds, one.decision_function(FRAME), rtol=1e-9)
        # what a logistic regression with an intercept makes sure of
        assert np.average(p[:, 1], weights=w) == pytest.approx(np.average(Y, weights=w), rel=1e-4)
    found = run_sql(to_sql(card, probability=True), FRAME)
    np.testing.assert_allclose(found, card.predict_proba(FRAME)[:, 1], rtol=1e-9)


# ---- metrics


def test_ks_and_stability_are_what_they_say():
    rng = np.random.default_rng(0)
    y, score = rng.random(300) < 0.3, rng.integers(0, 20, 300)
    assert metrics.ks_statistic(y, score) == pytest.approx(ks_2samp(score[y], score[~y]).statistic)
    weight = rng.integers(1, 4, 300)
    many = np.repeat(score, weight), np.repeat(y, weight)
    wanted = ks_2samp(many[0][many[1]], many[0][~many[1]]).statistic
    for sign in (1, -1):  # a reversed ranking is as far from chance
        found = metrics.ks_statistic(y, sign * score, weight)
        assert found == pytest.approx(wanted)
        assert metrics.ks_statistic([0, 0, 1], [sign, 2 * sign, 3 * sign]) == 1.0
    before, now = np.array([10, 0, 30, 0]), np.array([20, 5, 0, 0])
    shares = np.array([10, 0.5, 30]) / 40, np.array([20, 5, 0.5]) / 25
    wanted = sum((b - a) * np.log(b / a) for a, b in zip(*shares, strict=True))
    assert metrics.population_stability(before, now) == pytest.approx(wanted)
    with pytest.raises(ValueError, match="the same length"):
        metrics.population_stability([1], [1, 2])
    with pytest.raises(ValueError, match="must be counts of rows: 0 or more, not all 0"):
        metrics.population_stability([0, 0], [1, 2])


def test_stability_counts_the_bins_of_each_column(card):
    binning, rows = card.binning_, FRAME[:400].assign(job="a new word")
    assert max(abs(psi) for psi in binning.stability(FRAME).values()) < 1e-12
    weight = np.random.default_rng(0).random(400)
    weight *= weight.sum() / (weight @ weight)  # so that an empty bin counts as half a row
    found = binning.stability(rows, 7 * weight)
    assert list(found) == list(FRAME.columns)
    for one, codes in zip(binning.bins_, binning.codes(rows), strict=True):
        now = [weight[codes == k].sum() for k in [*range(len(one.counts)), -1]]
        wanted = metrics.population_stability([*one.counts.sum(axis=1), 0], now)
        assert found[one.name] == pytest.approx(wanted, rel=1e-9)
    assert found["job"] > 1.0 > found["age"]


# ---- the command


@pytest.fixture
def files(tmp_path):
    FRAME.assign(default=np.where(Y == 1, "yes", "no")).to_csv(tmp_path / "a.csv", index=False)
    frame, y = loans(600, seed=1)
    frame = frame.assign(income=1.5 * frame["income"])
    frame.assign(default=np.where(y == 1, "yes", "no")).to_csv(tmp_path / "b.csv", index=False)
    frame.to_csv(tmp_path / "unlabelled.csv", index=False)
    return tmp_path


@pytest.mark.usefixtures("undrawn")
def test_the_command_prints_what_a_credit_officer_reads(run, files):
    card = files / "card"
    options = ("scorecard", files / "a.csv", "--target", "default", "-o", card)
    code, out, err = run(*options, "--against", files / "b.csv", "--monotone", "age=increasing")
    assert (code, err) == (0, "")
    for word in ("Gini", "KS", "held out", "PSI of the points", "WoE", "600 points at 50 to 1"):
        assert word in out
    html = files / "card.html"
    more = ("--json", "--pdo", 30, "--html", html)
    code, out, err = run(*options, "--against", files / "unlabelled.csv", *more)
    page = html.read_text(encoding="utf-8")
    assert "aucmax scorecard" in page
    assert "600 points at 50 to 1" in page
    report = json.loads(out)
    assert report["against"]["quality"] is None
    assert (
        report["against"]["psi_of_features"]["income"]
        > 0.1
        > report["against"]["psi_of_features"]["age"]
    )
    assert report["scale"]["pdo"] == 30
    assert report["training"]["gini"] > report["held_out"]["gini"] > 0.3
    fitted = load(card)
    assert [row["points"] for row in report["bins"]] == [row["points"] for row in fitted.rows()]
    code, out, err = run("evaluate", card, files / "b.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["scorers"][0]["auc"] > 0.6
    code, out, _ = run("show", card)
    assert code == 0
    assert "income" in out


@pytest.mark.usefixtures("undrawn")
def test_a_scorecard_is_judged_within_strata_but_fitted_to_all_rows(good, files):
    rows = pd.read_csv(files / "a.csv")
    month = np.arange(len(rows)) % 25
    rows.assign(month=month).to_csv(files / "months.csv", index=False)
    options = ("--target", "default", "-o", files / "card", "--against", files / "b.csv")
    within = ("scorecard", files / "months.csv", *options, "--strata", "month")
    assert "AUC over pairs of the same month" in good(*within)
    within = json.loads(good(*within, "--json"))
    fitted = load(files / "card")
    area = metrics.stratified_auc(rows["default"] == "yes", -fitted.points(rows), month).auc
    assert within["training"]["auc_within"] == pytest.approx(area, rel=1e-12)
    assert 0.5 < within["held_out"]["auc_within"] < 1.0
    assert within["against"]["quality"]["auc_within"] is None  # it has no months
    plain = json.loads(good("scorecard", files / "a.csv", *options, "--json"))
    assert plain["bins"] == within["bins"]
    assert plain["training"] == within["training"] | {"auc_within": None}


def test_scores_of_a_scorecard_come_with_points(run, files):
    card = files / "card"
    assert run("scorecard", files / "a.csv", "--target", "default", "-o", card)[0] == 0
    frame = pd.read_csv(files / "unlabelled.csv")
    code, out, _ = run("score", card, files / "unlabelled.csv", "--probability")
    found = pd.read_csv(io.StringIO(out))
    assert found.columns.tolist() == ["row", "score", "probability", "points"]
    fitted = load(card)
    np.testing.assert_array_equal(found["points"], fitted.points(frame))
    np.testing.assert_allclose(found["score"], fitted.decision_function(frame))
    np.testing.assert_allclose(found["probability"], fitted.predict_proba(frame)[:, 1])
    code, out, _ = run("score", card, files / "unlabelled.csv", "--json")
    assert code == 0
    lines = [json.loads(line)["points"] for line in out.splitlines()]
    assert lines == found["points"].tolist()


def test_rates_of_rare_positives_are_told(run, tmp_path):
    y = np.zeros(4000, int)
    y[[0, 1, 2, 3, 4, 5, 6, 2000]] = 1  # 7 of one bin, 1 of the other
    rows = pd.DataFrame({"x": np.repeat([0, 1], 2000), "y": y})
    rows.to_csv(tmp_path / "rare.csv", index=False)
    code, out, _ = run("scorecard", tmp_path / "rare.csv", "--target", "y", "-o", tmp_path / "card")
    assert code == 0
    assert re.search(r"< 1 +2,000 +50.0 +0.35 ", out)
    assert re.search(r"≥ 1 +2,000 +50.0 +0.05 ", out)


def test_what_rises_and_falls_is_told(run, tmp_path):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 2000))
    rows = pd.DataFrame({"x": x, "z": z, "y": np.abs(x) + 0.3 * z + rng.normal(size=2000) > 2})
    rows.astype({"y": int}).to_csv(tmp_path / "bent.csv", index=False)
    command = ("scorecard", tmp_path / "bent.csv", "--target", "y", "-o", tmp_path / "card")
    code, out, _ = run(*command)
    assert code == 0
    (told,) = re.findall(
        r"(\w+) rises and falls: without a trend its IV would be (\S+) ", _words(out)
    )
    assert told[0] == "x"
    _, out, _ = run(*command, "--monotone", "x=none", "--json")
    first = json.loads(out)["by_column"][0]
    assert (first["feature"], f"{first['information_value']:.3f}") == told


def _words(out):
    return " ".join(out.split())


def test_the_quality_is_that_of_the_points(run, files):
    card, b = files / "card", files / "b.csv"
    options = ("--target", "default", "-o", card, "--against", b, "--json")
    _, out, _ = run("scorecard", files / "a.csv", *options)
    report = json.loads(out)
    frame = pd.read_csv(b)
    points = load(card).points(frame.drop(columns="default"))
    auc = metrics.roc_auc(frame["default"] == "yes", -points)
    assert report["against"]["quality"]["auc"] == pytest.approx(auc)
    assert report["against"]["quality"]["gini"] == pytest.approx(2 * auc - 1)


def test_the_command_does_not_depend_on_the_unit_of_weights(run, tmp_path):
    pages = []
    for size in (1.0, 1e6):
        for name, (frame, y) in {"a": (FRAME, Y), "b": loans(600, seed=1)}.items():
            weight = size * (np.arange(len(y)) % 4)
            frame.assign(default=y, w=weight).to_csv(tmp_path / f"{name}.csv", index=False)
        options = ("--target", "default", "--weight", "w", "-o", tmp_path / "card", "--json")
        code, out, _ = run(
            "scorecard", tmp_path / "a.csv", *options, "--against", tmp_path / "b.csv"
        )
        assert code == 0
        page = json.loads(out)
        pages.append({key: page[key] for key in ("bins", "by_column", "training", "against")})
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--monotone", "wealth=auto"), "monotone names 'wealth'"),
        (("--monotone", "up"), "--monotone up must be"),
        (("--max-bins", "1"), "--max-bins 1"),
        (("--against", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_options_end_in_one_line(run, files, options, said):
    code, out, err = run(
        "scorecard", files / "a.csv", "--target", "default", "-o", files / "card", *options
    )
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_svmlight_text_has_points_too(good, tmp_path):
    frame, y = loans(400)
    lines = zip(y, frame["age"], frame["noise"], strict=True)
    (tmp_path / "rows.svm").write_text("".join(f"{c} 1:{a} 2:{b}\n" for c, a, b in lines))
    good("scorecard", tmp_path / "rows.svm", "-o", tmp_path / "card")
    good("evaluate", tmp_path / "card", tmp_path / "rows.svm")
