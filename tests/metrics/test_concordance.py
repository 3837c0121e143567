"""The concordance index and its interval, against every pair of rows whose order is known."""

import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aucmax import metrics
from oracles.compared import concordance

TIMES = [("event", bool), ("time", float)]


def sample(seed, kind, n=40, weighted=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n).astype(float) if kind == "grades" else rng.normal(size=n)
    score = np.round(y + rng.normal(size=n), 1)
    if kind == "times":
        y = np.array([*zip(rng.random(n) < 0.5, np.round(np.exp(-y), 1), strict=True)], TIMES)
    weight = rng.choice([0.0, 0.3, 1.0, 7.0], n) if weighted else np.ones(n)
    return y, score, weight, rng.integers(0, 5, n)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(["grades", "amounts", "times"]), st.booleans())
def test_it_is_the_share_of_explicit_pairs(seed, kind, weighted):
    y, score, weight, stratum = sample(seed, kind, weighted=weighted)
    table, moved = concordance(y, score, weight)
    assume(len(table))
    result = metrics.concordance(y, score, weight)
    assert result.auc == pytest.approx(table[0, 0], rel=1e-12, abs=1e-12)
    assert 0 <= result.low <= result.auc <= result.high <= 1
    assert result.low < result.high
    variance = moved @ moved
    if variance > 1e-12 and not weighted:
        counted = np.isin(np.arange(len(y)), np.flatnonzero(moved))
        # by Kish's number of rows, each of which counts by its pairs
        assert variance < result.std_error**2 < 2 * variance or counted.sum() < 6
    table, _ = concordance(y, score, weight, stratum)
    assume(len(table))
    for by, share in (("pairs", table[:, 1]), ("positives", table[:, 2]), ("strata", 1)):
        share = share * np.ones(len(table))
        within = metrics.concordance(y, score, weight, stratum, by)
        assert within.auc == pytest.approx(np.average(table[:, 0], weights=share), rel=1e-12)


def test_with_two_grades_it_is_the_auc():
    rng = np.random.default_rng(0)
    y, weight = rng.random(400) < 0.3, rng.random(400)
    score, stratum = np.round(y + rng.normal(size=400), 1), rng.integers(0, 60, 400)
    for known in (None, weight):
        ours, delong = (
            metrics.concordance(y, score, known),
            metrics.auc_interval(y, score, sample_weight=known),
        )
        assert ours.auc == pytest.approx(delong.auc, rel=1e-12)
        np.testing.assert_allclose(ours, delong, rtol=0.02)
    by = {"sample_weight": weight, "strata_weight": "positives"}
    np.testing.assert_allclose(
        metrics.concordance(y, score, strata=stratum, **by),
        metrics.stratified_auc(y, score, stratum, **by),
        rtol=1e-9,
    )


def test_turned_scores_have_the_turned_interval():
    y, score, _, _ = sample(3, "times", n=200)
    ours, turned = metrics.concordance(y, score), metrics.concordance(y, -score)
    np.testing.assert_allclose(
        [ours.auc, ours.low, ours.high, ours.std_error],
        [1 - turned.auc, 1 - turned.high, 1 - turned.low, turned.std_error],
        rtol=1e-9,
    )


def test_scores_that_float64_cannot_tell_apart_are_not_ties():
    assert metrics.concordance([1, 2, 3], np.array([0, 1, 2]) + 2**60).auc == 1.0


@pytest.mark.parametrize(
    ("y", "score", "more", "message"),
    [
        ([1, 1], [1, 2], {}, "y has no two rows of which one is known to rank above the other; it"),
        ([1, 2], [1, 2], {"strata": [0, 1]}, "above the other within any stratum; it needs two"),
        ([1, 2], [1, np.nan], {}, "score has 1 NaN, the first in row 1"),
        ([1, 2], [1, 2, 3], {}, "score must have one value per row of y, 2; got 3."),
        ([1, 2], [1, 2], {"sample_weight": [1, -1]}, "sample_weight must be finite and not negat"),
        ([1, 2], [1, 2], {"confidence": 2}, "confidence"),
        ([1, 2], [1, 2], {"strata": [0, 0], "strata_weight": "rows"}, "strata_weight must be"),
    ],
)
def test_what_has_no_index_is_told(y, score, more, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        metrics.concordance(y, score, **more)
