"""Suspicions: every trap in a table is named, and nothing is said of its twin without the trap."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from aucmax.data.classes import labelled_of
from aucmax.data.columns import Column, Words
from aucmax.data.digests import RowDigests
from aucmax.data.labelled import Labelled
from aucmax.data.readers import rows_of
from aucmax.data.reading import Reading
from aucmax.estimators.suspicions import (
    auc_alone,
    suspicions_of,
    suspicions_of_sample,
    suspicions_of_test,
)
from aucmax.metrics import roc_auc

N = 4000
pytestmark = pytest.mark.filterwarnings("ignore:.* looks like an ID")  # which readers tell, too
DAY = np.datetime64("2025-01-01")
ACCEPTING = {"text": True, "missing": True, "dates": True}


def table(n=N, rate=0.08, seed=0):
    """A table that has no trap, and which rows are fraud."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < rate
    columns = {
        "amount": np.round(np.exp(rng.normal(3, 1, n) + 0.8 * fraud), 2),
        "age": np.round(rng.normal(40, 10, n) + 4 * fraud).astype(int),
        "city": rng.choice(["Paris", "Rome", "Oslo"], n),
        "visits": rng.poisson(4, n),
        "ratio": np.round(rng.random(n), 3),
    }
    return pd.DataFrame(columns), fraud, rng


def suspected(tmp_path, frame, fraud, left_out=None, **reading):
    """What is suspect about a table that is read from a file."""
    path = tmp_path / "table.csv"
    labels = np.where(fraud, "yes", "no") if np.asarray(fraud).dtype == bool else fraud
    frame.assign(y=labels).to_csv(path, index=False)
    arguments = Reading(target="y", **{**ACCEPTING, **reading})
    rows = rows_of(path, Reading(target="y", **{**ACCEPTING, **reading, "positive": None}))
    return suspicions_of(labelled_of(rows, arguments)[0], rows.target, left_out)


def words_known_afterwards(frame, fraud, rng):
    frame["status"] = np.where(fraud, rng.choice(["A", "B"], N), rng.choice(["C", "D"], N))


def words_of_many_rows(frame, fraud, rng):
    frame["status"] = rng.choice([f"S {k}" for k in range(1500)], N)


def number_known_afterwards(frame, fraud, rng):
    frame["fee"] = np.round(15 * rng.random(N) + 30 * fraud, 2)


def good_number(frame, fraud, rng):
    frame["fee"] = np.round(rng.normal(0, 1, N) + 2 * fraud, 2)


def falling_number(frame, fraud, rng):
    frame["fee"] = np.round(15 * rng.random(N) - 14.9 * fraud, 2)


def date_of_frauds(frame, fraud, rng):
    frame["chargeback"] = np.where(fraud, (DAY + rng.integers(0, 90, N)).astype(str), "")


def date_with_gaps(frame, fraud, rng):
    gap = rng.random(N) < 0.6 - 0.3 * fraud
    frame["chargeback"] = np.where(gap, "", (DAY + rng.integers(0, 90, N)).astype(str))


def text_of_frauds(frame, fraud, rng):
    frame["reason"] = np.where(fraud, rng.choice(["stolen", "lost"], N), "")


def counter(frame, fraud, rng):
    frame["row"] = np.arange(N) + 17


def shuffled_amounts(frame, fraud, rng):
    frame["row"] = np.round(np.exp(rng.normal(9, 2, N)))


def hours(frame, fraud, rng):
    frame["step"] = np.sort(rng.integers(0, 300, N))


def unordered_hours(frame, fraud, rng):
    frame["step"] = rng.integers(0, 300, N)


@pytest.mark.parametrize(
    ("trap", "twin", "kind", "answer"),
    [
        (words_known_afterwards, words_of_many_rows, "ranks_alone", {"drop": ["status"]}),
        (number_known_afterwards, good_number, "ranks_alone", {"drop": ["fee"]}),
        (falling_number, good_number, "ranks_alone", {"drop": ["fee"]}),
        (date_of_frauds, date_with_gaps, "missing_ranks_alone", {"drop": ["chargeback"]}),
        (text_of_frauds, words_of_many_rows, "missing_ranks_alone", {"drop": ["reason"]}),
        (counter, shuffled_amounts, "id", {"drop": ["row"]}),
        (hours, unordered_hours, "id", {"drop": ["step"]}),
    ],
)
def test_a_column_that_is_a_trap(trap, twin, kind, answer, tmp_path):
    for change, said in ((trap, [(kind, answer)]), (twin, [])):
        frame, fraud, rng = table()
        change(frame, fraud, rng)
        suspicions = suspected(tmp_path, frame, fraud, categories=["status"] * ("status" in frame))
        assert [(one.kind, one.answer) for one in suspicions] == said


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_raise_no_false_alarm(seed, tmp_path):
    # of 200 columns of noise and of signal some rank 20 rows perfectly
    rng = np.random.default_rng(seed)
    fraud = np.arange(20) < 10
    frame = pd.DataFrame(rng.normal(size=(20, 200)) + 1.5 * fraud[:, None]).add_prefix("x")
    assert suspected(tmp_path, frame, fraud) == []


def test_the_figure_of_a_column_alone_is_its_auc(tmp_path):
    frame, fraud, rng = table()
    frame["fee"] = 15 * rng.random(N) - 14.8 * fraud
    [one] = suspected(tmp_path, frame, fraud)
    assert one.figure == pytest.approx(roc_auc(fraud, -frame["fee"]), abs=1e-12)
    assert f"AUC {one.figure:.4f}" in one.sentence


# ---- groups


def of_customers(spread, seed=0):
    """A table of 600 customers, of whom each has a rate of fraud of their own."""
    frame, _, rng = table(seed=seed)
    customer = rng.integers(0, 600, N)
    rate = rng.beta(0.1 * spread, 0.9 * spread, 600)
    return frame, rng.random(N) < rate[customer], customer


def test_customers_with_few_rows_that_share_their_label(tmp_path):
    for spread, said in ((0.5, "share their label"), (1e6, "as customers or patients")):
        frame, fraud, customer = of_customers(spread)
        frame["customer"] = 10_000 + 37 * customer
        frame["diagnosis"] = [f"A{k:03d}" for k in np.arange(N) % 500]  # as even, but no owner
        [one] = suspected(tmp_path, frame, fraud)
        assert (one.kind, one.answer) == ("groups", {"groups": "customer"})
        assert said in one.sentence
    frame, fraud, customer = of_customers(0.5)
    names = np.array([f"C{k:04d}" for k in customer], dtype=object)
    [one] = suspected(tmp_path, frame, fraud, left_out={"customer": names})
    assert one.kind == "groups"
    # the intraclass correlation of a beta-binomial is 1 / (a + b + 1)
    assert one.figure == pytest.approx(1 / 1.5, abs=0.1)
    frame["customer"] = names
    [one] = suspected(tmp_path, frame, fraud, categories=["customer"])
    assert one.answer == {"groups": "customer"}
    assert suspected(tmp_path, frame, fraud, groups="customer") == []
    frame["customer"] = [f"the caller said of {name} that all was well" for name in names]
    kinds = [one.kind for one in suspected(tmp_path, frame, fraud, categories=["customer"])]
    assert "groups" not in kinds  # of sentences


def test_a_correlation_of_labels_is_at_most_one(tmp_path):
    frame, _, rng = table()
    fraud = rng.random(N) < 0.1
    # frauds have few customers, with more rows each
    customer = np.where(fraud, rng.integers(0, N // 20, N), 10 * N + rng.integers(0, N, N))
    frame["customer"] = [f"C{k}" for k in customer]
    one = next(
        one
        for one in suspected(tmp_path, frame, fraud, categories=["customer"])
        if one.kind == "groups"
    )
    assert one.figure == pytest.approx(1.0)


def test_an_amount_that_predicts_is_no_group(tmp_path):
    frame, _, rng = table()
    frame["age"] = rng.integers(18, 400, N)
    fraud = rng.random(N) < np.clip((frame["age"] - 200) / 250, 0.02, 0.9)
    assert suspected(tmp_path, frame, fraud) == []
    amount = np.round(frame.pop("age") / 7, 1).to_numpy()
    assert suspected(tmp_path, frame, fraud, {"amount": amount.astype(str).astype(object)}) == []


# ---- times


@pytest.mark.parametrize("form", ["day", "step"])
def test_the_share_of_positives_drifts(form, tmp_path):
    for drift, said in ((0.15, "time"), (0.0, "id" if form == "step" else "time")):
        frame, _, rng = table()
        day = np.sort(rng.integers(0, 400, N))
        fraud = rng.random(N) < 0.05 + drift * day / 400
        frame[form] = day if form == "step" else (DAY + day).astype(str)
        if form == "day":  # the order of the rows does not matter for dates
            order = rng.permutation(N)
            frame, fraud = frame.iloc[order], fraud[order]
        suspicions = suspected(tmp_path, frame, fraud)
        assert [one.kind for one in suspicions] == [said]
        assert ("share of positives changes" in suspicions[0].sentence) == bool(drift)
        if drift:
            assert suspicions[0].answer == {"time": form}
            assert suspected(tmp_path, frame, fraud, time=form) == []
            left_out = {form: frame.pop(form).astype(str).to_numpy(object)}
            kinds = [one.kind for one in suspected(tmp_path, frame, fraud, left_out)]
            assert kinds == (["time"] if form == "day" else [])


@pytest.mark.parametrize("name", ["birth_date", "Geburtstag", "date de naissance"])
def test_a_date_of_birth_is_no_time(name, tmp_path):
    frame, _, rng = table()
    age = rng.integers(20, 80, N)
    frame[name] = (DAY - 365 * age).astype(str)
    assert suspected(tmp_path, frame, rng.random(N) < age / 400) == []


# ---- rows and labels


def test_copies_of_rows(tmp_path):
    frame, fraud, rng = table()
    again = np.concatenate([np.arange(N), rng.integers(0, N, 200)])
    [one] = suspected(tmp_path, frame.iloc[again], fraud[again])
    assert (one.kind, one.column, one.answer) == ("copies", "", {})
    assert one.figure == pytest.approx(200 / 4200, abs=1e-12)
    assert "200 of 4,200 (4.76 %)" in one.sentence


def test_rows_of_few_distinct_values_coincide_by_chance(tmp_path):
    rng = np.random.default_rng(0)
    profile = rng.integers(0, 40, N)  # columns that depend on each other
    chances = rng.beta(0.4, 0.4, (40, 16))
    frame = pd.DataFrame((rng.random((N, 16)) < chances[profile]).astype(int)).add_prefix("x")
    assert frame.duplicated().mean() > 0.1
    assert suspected(tmp_path, frame, rng.random(N) < 0.2) == []


def test_one_label_against_several(tmp_path):
    frame, fraud, rng = table()
    labels = np.where(fraud, "fraud", rng.choice(["unknown", "ok"], N, p=[0.1, 0.9]))
    [one] = suspected(tmp_path, frame, labels, positive="fraud")
    assert one.kind == "other_labels"
    assert "2 other labels count as negative: ok (" in one.sentence
    assert suspected(tmp_path, frame, np.where(labels == "ok", 0, 3), positive="3") == []


def test_few_rows_of_a_class(tmp_path):
    frame, _, _ = table(400)
    for count, said in ((9, ["few_rows"]), (10, [])):
        fraud = (np.arange(400) % 40 == 0) & (np.arange(400) < 40 * count)
        suspicions = suspected(tmp_path, frame, fraud)
        assert [one.kind for one in suspicions] == said


def test_the_gravest_is_first_and_each_column_is_said_once(tmp_path):
    frame, fraud, rng = table()
    counter(frame, fraud, rng)
    number_known_afterwards(frame, fraud, rng)
    frame["fee_id"] = np.argsort(np.argsort(frame["fee"]))  # an id that ranks alone
    kinds = [(one.kind, one.column) for one in suspected(tmp_path, frame, fraud)]
    assert kinds == [("ranks_alone", "fee"), ("ranks_alone", "fee_id"), ("id", "row")]


def test_rows_without_weight_do_not_count():
    rng = np.random.default_rng(0)
    positive = np.arange(N) % 10 == 0
    X = np.column_stack([positive + 0.1 * rng.normal(size=N), rng.normal(size=N)])
    X[::3, 0] = rng.normal(size=len(X[::3]))
    weight = np.ones(N)
    classes = np.array([0, 1])
    assert suspicions_of(Labelled(X, positive, weight, classes)) == []
    weight[::3] = 0.0
    [one] = suspicions_of(Labelled(X, positive, weight, classes))
    assert one.sentence.startswith("feature 1 alone ranks with AUC 1.0000")


def test_sparse_rows():
    rng = np.random.default_rng(0)
    positive = np.arange(N) % 10 == 0
    X = sp.random(N, 500, 0.05, format="lil", random_state=rng)
    classes = np.array([0, 1])
    assert suspicions_of(Labelled(X.tocsr(), positive, None, classes)) == []
    X[np.flatnonzero(positive), 7] = 1.0
    X[np.flatnonzero(~positive), 7] = 0.0
    [one] = suspicions_of(Labelled(X.tocsr(), positive, None, classes))
    assert one.sentence.startswith("feature 8 alone ranks")


def test_a_sample_of_rows_in_parts_has_no_groups():
    rng = np.random.default_rng(0)
    positive = np.arange(N) % 4 == 0
    customer = rng.permutation(600)[np.where(positive, 0, 300) + rng.integers(0, 300, N)]
    X = np.column_stack([rng.normal(size=N), 37.0 * customer, positive + 0.1 * rng.random(N)])
    columns = [Column("x"), Column("customer"), Column("fee")]
    rows = Labelled(X, positive, None, np.array([0, 1]), columns=tuple(columns))
    assert [one.kind for one in suspicions_of(rows)] == ["ranks_alone", "groups"]
    [one] = suspicions_of_sample(replace(rows, columns=None), columns, total=10**6)
    assert (one.kind, one.column) == ("ranks_alone", "fee")
    assert one.sentence.endswith("(as 4,000 of the rows show)")


def test_the_span_of_dates_is_told_in_days(tmp_path):
    frame, fraud, rng = table()
    months = pd.date_range("2010-01-01", "2018-12-01", freq="MS")
    earlier = pd.date_range("1950-01-01", "2009-12-01", freq="MS")  # of the customers, say
    frame["since"] = rng.choice(earlier.strftime("%Y-%m"), N)
    frame["month"] = rng.choice(months.strftime("%Y-%m"), N)
    [one] = suspected(tmp_path, frame, fraud, prepare=True)
    assert "over 3,257 days (2010-01-01 to 2018-12-01)" in one.sentence
    assert one.figure == 3257


def test_what_a_column_ranks_alone(tmp_path):
    rng = np.random.default_rng(0)
    positive = rng.random(N) < 0.3
    frame = pd.DataFrame({"down": rng.normal(size=N) - positive})
    frame["words"] = pd.Categorical(np.where(positive, "x", rng.choice(["x", "y"], N)))
    columns = (Column("down"), Words("words"))
    rows = Labelled(frame, positive, None, np.array([0, 1]), columns=columns)
    assert auc_alone(rows, "down") == 1.0 - roc_auc(positive, frame["down"])
    assert auc_alone(rows, "words") == pytest.approx(0.75, abs=0.02)
    assert auc_alone(rows, "none") is None


# ---- rows of the test that were in training


@pytest.mark.parametrize("n", [600, 30_000])  # of the latter, a sample is kept
def test_rows_that_were_in_training(n):
    rng = np.random.default_rng(0)
    X, positive = rng.normal(size=(n, 5)), rng.random(n) < 0.3
    digests = RowDigests.of(X)

    def said(tested):
        rows = Labelled(tested, positive[: len(tested)], None, np.array([0, 1]))
        return suspicions_of_test(rows, digests)

    [one] = said(np.concatenate([X[: n // 4], rng.normal(size=(n // 4, 5))]))
    assert one.kind == "training_rows"
    assert one.figure == pytest.approx(0.5, abs=0.05)
    assert said(rng.normal(size=(n // 2, 5))) == []
    # rows that coincide by chance do so within the training rows
    X = rng.integers(0, 3, (n, 5)).astype(float)
    digests = RowDigests.of(X)
    assert said(rng.integers(0, 3, (n, 5)).astype(float)) == []


def test_numbers_that_stand_for_gaps_are_named(tmp_path):
    frame, fraud, rng = table()
    frame["until"] = DAY + rng.integers(0, 90, N).astype("timedelta64[D]")
    assert not {s.kind for s in suspected(tmp_path, frame, fraud)} & {"placeholder"}
    frame.loc[::200, "ratio"] = -999.0
    frame.loc[::90, "until"] = np.datetime64("2200-12-31")
    frame.loc[1:4, "age"] = 999  # too few
    told = {
        s.column: s.sentence for s in suspected(tmp_path, frame, fraud) if s.kind == "placeholder"
    }
    assert list(told) == ["ratio", "until"]
    assert "has the value -999 in 20 rows, far from all others (0 to 0.999)" in told["ratio"]
    assert "has the value 2200-12-31 in 45 rows" in told["until"]
