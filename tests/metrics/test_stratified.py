"""The area over pairs of the same stratum, against loops over these pairs."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from aucmax import metrics
from oracles import judged

MODES = ("positives", "pairs", "strata")


def sample(seed, n=60, strata=12, ties=False, weighted=False):
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, strata, n)
    y = rng.random(n) < 0.1 + 0.5 * rng.random(strata)[stratum]
    score = y + rng.normal(size=n) + 3 * rng.normal(size=strata)[stratum]
    score = np.round(score) if ties else score
    return y, score, stratum, rng.choice([0.0, 0.3, 1.0, 7.0], n) if weighted else np.ones(n)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 20), st.booleans(), st.booleans())
def test_it_is_the_mean_over_explicit_pairs(seed, strata, ties, weighted):
    y, score, stratum, weight = sample(seed, strata=strata, ties=ties, weighted=weighted)
    table = judged.areas_of_strata(y, score, stratum, weight)
    assume(len(table))
    for mode in MODES:
        by = {"sample_weight": weight, "strata_weight": mode}
        mean, variance, k = judged.stratified(table, mode)
        result = metrics.stratified_auc(y, score, stratum, **by)
        auc = result.auc
        assert auc == pytest.approx(mean, rel=1e-12, abs=1e-12)
        assert 0 <= result.low <= auc <= result.high <= 1
        assert result.low < result.high
        if k > 2 and variance > 1e-12:
            assert result.std_error == pytest.approx(np.sqrt(variance))
        shifted = score + 10.0 * stratum**2  # strata are not compared
        again = metrics.stratified_auc(y, np.round(shifted, 9), stratum, **by)
        assert again.auc == pytest.approx(auc, abs=1e-12)


def test_one_stratum_is_the_area_of_all_rows_and_says_little():
    y, score, _, weight = sample(1, weighted=True)
    alone = np.full(60, "all")
    assert metrics.stratified_auc(y, score, alone, weight).auc == pytest.approx(
        metrics.roc_auc(y, score, weight), rel=1e-12
    )
    result = metrics.stratified_auc(y, score, alone)
    assert result.low < 0.1 < 0.9 < result.high


def test_matched_pairs_are_trials():
    # each a positive and a negative: the area is a share of k trials, and the test McNemar's
    rng = np.random.default_rng(2)
    stratum, y = np.repeat(np.arange(50), 2), np.tile([1, 0], 50)
    won = np.repeat(rng.random(50) < 0.7, 2)
    score = np.where(won, y, -y)
    result = metrics.stratified_auc(y, score, stratum)
    share = won.mean()
    assert result.auc == pytest.approx(share)
    assert result.std_error == pytest.approx(np.sqrt(share * (1 - share) / 49))
    other = np.where(np.repeat(rng.random(50) < 0.5, 2), y, -y)
    test = metrics.stratified_auc_test(y, score, other, stratum)
    rise = (score > other)[::2].astype(int) - (score < other)[::2]
    d, variance = rise.mean(), rise.var(ddof=1) / 50
    assert test.difference == pytest.approx(d)
    assert test.z == pytest.approx(d / np.sqrt(variance + d**2 / 50))
    assert test.low <= d <= test.high
    assert metrics.stratified_auc_test(y, score, score * 2.0, stratum) == (0, 0, 0, 0, 1)


def test_weights_of_strata_that_are_repeated_tell_nothing_new_but_more_strata_do():
    y, score, stratum, _ = sample(3, 600, 40)
    once = metrics.stratified_auc(y, score, stratum)
    rows = [np.tile(part, 2) for part in (y, score, stratum)]
    np.testing.assert_allclose(metrics.stratified_auc(*rows), once, rtol=1e-9)
    rows[2] = rows[2] + 40 * (np.arange(1200) >= 600)
    assert metrics.stratified_auc(*rows).std_error == pytest.approx(
        once.std_error / np.sqrt(2), rel=0.03
    )


def test_strata_of_one_class_do_not_count():
    y, score, stratum, _ = sample(4, 200)
    more = [
        np.r_[part, extra]
        for part, extra in ((y, [1, 1, 0]), (score, [9, -9, 9]), (stratum, [98, 98, 99]))
    ]
    for mode in MODES:
        assert metrics.stratified_auc(*more, strata_weight=mode) == metrics.stratified_auc(
            y, score, stratum, strata_weight=mode
        )
    with pytest.raises(ValueError, match="none of the strata has rows of both classes"):
        metrics.stratified_auc([0, 1, 0], [1, 2, 3], ["a", "b", "a"])


def test_bad_arguments():
    y, score, stratum, _ = sample(5)
    with pytest.raises(ValueError, match="'positives', 'pairs' or 'strata'; got 'rows'"):
        metrics.stratified_auc(y, score, stratum, strata_weight="rows")
    with pytest.raises(ValueError, match="strata must have one value per row of y, 60; got 59"):
        metrics.stratified_auc(y, score, stratum[1:])
    with pytest.raises(ValueError, match="strata must be numbers or text, all of one type"):
        metrics.stratified_auc(y, score, [None, *stratum[1:]])
