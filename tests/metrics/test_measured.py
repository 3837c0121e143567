"""Intervals and tests of average precision, precision and recall, against their derivatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import norm, t

from aucmax import metrics
from oracles import judged

# measure, interval and test, and what they take
MEASURES = {
    name: [getattr(metrics, f"{name}{end}") for end in ("", "_interval", "_test")]
    for name in judged.MEASURES
}
each = pytest.mark.parametrize("name", MEASURES)


def setting(name, share=0.3):
    return () if name == "average_precision" else (share,)


def sample(seed, n=400, grades=None, weighted=False):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    score, other = rng.normal(size=(2, n)) + 1.2 * y
    if grades:
        score, other = (
            np.digitize(each, np.linspace(-1, 2, grades - 1)) for each in (score, other)
        )
    weight = rng.choice([0.25, 1.0, 2.5], n) if weighted else np.ones(n)
    return y, score, other, weight


@each
@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_the_derivatives(name, weighted):
    # thresholds lie amid many equal scores, or of average precision anywhere
    n, grades = (500, 4) if setting(name) else (150, 25)
    y, score, other, weight = sample(3, n, grades, weighted)
    literal, (_, interval, test) = judged.MEASURES[name], MEASURES[name]
    share = setting(name, 0.15)
    moved, moved_b = (
        judged.derivative(literal, y, each, weight, *share or (None,)) for each in (score, other)
    )
    result = interval(y, score, *share, sample_weight=weight)
    value = literal(y, score, weight, np.ones(n), *share or (None,))
    assert result.value == pytest.approx(value, rel=1e-12)
    assert result.std_error == pytest.approx(np.sqrt(moved @ moved), rel=1e-6)
    group = np.arange(n) // 5
    sums, sums_b = (np.bincount(group, part) for part in (moved, moved_b))
    by_group = interval(y, score, *share, sample_weight=weight, groups=group)
    assert by_group.std_error == pytest.approx(np.sqrt(sums @ sums), rel=1e-6)
    # with the variance of a difference around 0
    for groups, rise in ((None, moved - moved_b), (group, sums - sums_b)):
        d, _, _, z, _ = test(y, score, other, *share, sample_weight=weight, groups=groups)
        units = (d**2 / ((d / z) ** 2 - rise @ rise)) if groups is None else None
        if units is not None and not weighted and name != "precision_at_k":
            assert units == pytest.approx(y.sum(), rel=1e-4)
        assert (d / z) ** 2 > rise @ rise


def test_average_precision_is_exact_to_rounding_with_many_ties():
    y, score, _, weight = sample(1, 60, 6, weighted=True)
    moved = judged.derivative(judged.average_precision, y, score, weight, None, 1e-4)
    result = metrics.average_precision_interval(y, score, sample_weight=weight)
    assert result.std_error == pytest.approx(np.sqrt(moved @ moved), rel=1e-7)


def test_the_slope_at_a_threshold_is_taken_two_errors_of_its_rank_around():
    y, score, _, _ = sample(4, 1000)
    in_order = y[np.argsort(-score)]
    k, reach = 100, 2 * np.sqrt(100 * 0.9)
    hits = np.concatenate([[0], np.cumsum(in_order)])
    low, high = (np.interp(end, np.arange(1001), hits) for end in (k - reach, k + reach))
    rate = (high - low) / (2 * reach)
    top, precision = np.arange(1000) < k, hits[k] / k
    moved = (top * (in_order - rate) - 0.1 * (precision - rate)) / k
    result = metrics.precision_at_k_interval(y, score, k)
    assert result.std_error == pytest.approx(np.sqrt(moved @ moved))
    recall = hits[k] / hits[-1]
    moved = (in_order * (top - recall) - rate * (top - 0.1)) / hits[-1]
    assert metrics.recall_at_k_interval(y, score, 0.1).std_error == pytest.approx(
        np.sqrt(moved @ moved)
    )
    # of a point of the curve: recall (1 - recall) / m + slope² fpr (1 - fpr) / n
    m, n = y.sum(), (~y).sum()
    point, reach = metrics.recall_at_fpr(y, score, 0.1), 2 * np.sqrt(0.09 / n)
    low, high = (metrics.recall_at_fpr(y, score, 0.1 + end) for end in (-reach, reach))
    fpr = np.floor(0.1 * n) / n
    variance = point * (1 - point) / m + ((high - low) / (2 * reach)) ** 2 * fpr * (1 - fpr) / n
    result = metrics.recall_at_fpr_interval(y, score, 0.1)
    assert result.std_error == pytest.approx(np.sqrt(variance))


def test_ends_are_wilsons_and_those_of_the_logit():
    y, score, _, _ = sample(5, 90)
    m, moved = y.sum(), judged.derivative(judged.average_precision, y, score, np.ones(90), None)
    z, result = t.ppf(0.975, m - 1), metrics.average_precision_interval(y, score)
    # one more positive that moves it as far as a trial can, beside those that carry the variance
    variance, carriers = moved @ moved, (moved @ moved) ** 2 / np.sum(moved**4)
    most = result.value * (1 - result.value)
    reach = z * np.sqrt((carriers * variance + most / m) / (carriers + 1)) / most
    ends = expit(logit(result.value) + np.array([-reach, reach]))
    np.testing.assert_allclose(result[1:3], ends, rtol=1e-7)
    result = metrics.recall_at_fpr_interval(y, score, 0.2)
    for end in result[1:3]:  # (value - end)² is z² times the variance, at the end
        share = result.std_error**2 / (result.value * (1 - result.value))
        square = norm.ppf(0.975) ** 2 * share * end * (1 - end)
        assert (result.value - end) ** 2 == pytest.approx(square)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(4, 40), st.integers(2, 9), st.booleans(), st.booleans())
def test_it_is_an_interval_whatever_the_rows(seed, n, grades, weighted, grouped):
    y, score, other, weight = sample(seed, n, grades, weighted)
    y[:2] = True, False
    weight = weight if weighted else None
    by = {"sample_weight": weight, "groups": np.arange(n) // 3 if grouped else None}
    for name, (measure, interval, test) in MEASURES.items():
        share = setting(name)
        result = interval(y, score, *share, **by)
        assert result.value == pytest.approx(measure(y, score, *share, sample_weight=weight))
        assert 0 <= result.low <= result.value <= result.high <= 1
        assert result.low < result.high
        assert result.std_error > 0
        if not grouped:  # rows one by one, not those alike together
            alone = interval(y, score, *share, sample_weight=weight, groups=np.arange(n))
            np.testing.assert_allclose(alone, result, rtol=1e-9, atol=1e-9)
        wider = interval(y, score, *share, confidence=0.99, **by)
        assert wider.low <= result.low
        assert wider.high >= result.high
        d, low, high, z, p = test(y, score, other, *share, **by)
        assert d == pytest.approx(
            result.value - measure(y, other, *share, sample_weight=weight), abs=1e-12
        )
        assert -1 <= low <= d <= high <= 1
        assert 0 <= p <= 1
        assert np.isfinite(z)
        assert (p >= 0.05) == (low <= 0 <= high)
        swapped = test(y, other, score, *share, **by)
        expected = (-d, -high, -low, -z, p)
        np.testing.assert_allclose(swapped, expected, rtol=1e-9, atol=1e-12)
        assert test(y, score, 2.0 * score + 1, *share, **by) == (0, 0, 0, 0, 1)


@each
def test_rows_that_are_repeated_in_a_group_tell_nothing_new(name):
    y, score, other, _ = sample(6, 200)
    row = np.tile(np.arange(200), 3)
    again = [np.tile(part, 3) for part in (y, score, other)]
    _, interval, test = MEASURES[name]
    share = setting(name)
    once = interval(y, score, *share)
    if name == "average_precision":  # of distinct scores a positive is not above itself
        y, score, other = (np.repeat(part, 2) for part in (y, score, other))
        once = interval(y, score, groups=np.arange(400) // 2)
    narrow = interval(*again[:2], *share)
    assert narrow.std_error < 0.65 * once.std_error
    alone = interval(y, score, *share, groups=np.arange(len(y)))
    np.testing.assert_allclose(alone, interval(y, score, *share), rtol=1e-9)
    if name in ("precision_at_k", "recall_at_k", "average_precision"):
        return  # their slopes are taken nearer to the threshold, by the number of rows
    np.testing.assert_allclose(interval(*again[:2], *share, groups=row), once, rtol=0.1)
    again = test(*again, *share, groups=row)
    np.testing.assert_allclose(again, test(y, score, other, *share), rtol=0.2)


def test_of_a_fixed_threshold_it_is_mcnemars_test():
    # all negatives tie below both thresholds, so that only the positives differ
    y = np.repeat([True, False], [40, 200])
    a, b = np.zeros((2, 240))
    a[:25], b[10:28] = 1, 1
    test = metrics.recall_at_fpr_test(y, a, b, 0.1)
    only_a, only_b = 10, 3
    assert test.difference == pytest.approx((25 - 18) / 40)
    assert test.z == pytest.approx((only_a - only_b) / np.sqrt(only_a + only_b))


def test_shares_and_numbers_of_rows_are_the_same_k():
    y, score, _, _ = sample(7, 250)
    for name in ("precision_at_k", "recall_at_k"):
        measure, interval, _ = MEASURES[name]
        assert measure(y, score, 0.1) == measure(y, score, 25)
        assert interval(y, score, 0.1) == interval(y, score, 25)
        # a row at the cut counts by the part of it that fits
        between = [measure(y, score, k) for k in (25, 0.102, 26)]
        assert min(between[::2]) <= between[1] <= max(between[::2])
    hits = metrics.precision_at_k(y, score, 25) * 25
    assert metrics.recall_at_k(y, score, 25) == pytest.approx(hits / y.sum())
    assert metrics.recall_at_k(y, score, 250) == 1.0


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_recall_of_few_rows_is_no_surer_than_their_precision(k):
    y = np.arange(400) >= 320
    score = np.arange(400.0)  # all of the k highest are positive
    recall = metrics.recall_at_k_interval(y, score, k)
    precision = metrics.precision_at_k_interval(y, score, k)
    assert recall.low <= precision.low * k / 80
    assert recall.high >= k / 80
    assert recall.std_error >= precision.std_error * k / 80


def test_the_recall_of_few_rows_covers():
    # scores of the positives, a fifth, are normal about 1, of the others about 0; k is 3 of 400
    threshold = brentq(lambda c: 0.2 * norm.sf(c - 1) + 0.8 * norm.sf(c) - 3 / 400, 0, 9)
    truth, covered = norm.sf(threshold - 1), 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        y = rng.random(400) < 0.2
        interval = metrics.recall_at_k_interval(y, rng.normal(size=400) + y, 3)
        covered += interval.low <= truth <= interval.high
    assert covered >= 0.93 * 300


@pytest.mark.parametrize("k", [2.0, 1.0, 0.0, -0.5, "2", None])
def test_k_that_is_neither(k):
    y, score, _, _ = sample(8, 20)
    for function in (metrics.recall_at_k, metrics.recall_at_k_interval):
        with pytest.raises(ValueError, match="a whole number of rows, at least 1, or a share"):
            function(y, score, k)
