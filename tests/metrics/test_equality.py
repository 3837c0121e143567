"""Tests that a measure is equal in all segments."""

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from aucmax import metrics
from aucmax.metrics import influence
from aucmax.metrics.measured import by_group
from aucmax.metrics.segments import correlations, equal_rates, equal_values


def rates(hits, rows):
    return [
        influence.rate((np.arange(n) < k).astype(float), np.ones(n))
        for k, n in zip(hits, rows, strict=True)
    ]


@pytest.mark.parametrize("hits", [(3, 9, 20), (0, 9, 20), (12, 9, 20), (1, 0, 0)])
def test_of_shares_it_is_the_test_of_proportions(hits):
    rows = (12, 30, 41)
    table = np.array([hits, np.subtract(rows, hits)])
    expected = chi2_contingency(table, correction=False)
    test = equal_rates(rates(hits, rows), np.eye(3))
    assert test.chi2 == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)
    assert test.freedom == 2


def test_of_rates_that_are_all_the_same_it_is_zero():
    for hits in ((0, 0), (5, 8)):
        assert equal_rates(rates(hits, (5, 8)), np.eye(2)) == (0, 1, 1)


def test_the_influence_on_the_area_is_delongs():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    score, weight = np.round(rng.normal(size=200) + y, 1), rng.choice([0.5, 2.0], 200)
    plain = influence.area(influence.Scores(y, None, score))
    interval = metrics.auc_interval(y, score)
    assert plain.value == pytest.approx(interval.auc)
    own = plain.moved[y], plain.moved[~y]
    corrected = [part @ part * len(part) / (len(part) - 1) for part in own]
    assert sum(corrected) == pytest.approx(interval.std_error**2)
    assert plain.trials.sum() == y.sum()
    alike = influence.area(influence.Scores(y, None, score, alike=True))
    assert (alike.value, alike.variance) == pytest.approx((plain.value, plain.variance))
    assert alike.units == y.sum()
    weighted = influence.area(influence.Scores(y, weight, score))
    step = np.zeros(200)
    step[17] = 1e-6
    ends = [metrics.roc_auc(y, score, weight * (1 + sign * step)) for sign in (1, -1)]
    assert weighted.moved[17] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_groups_may_be_larger_in_one_segment_than_in_another():
    """Of independent rows groups change nothing but by chance; of equal ones only groups count."""
    rng, apart, pairs = np.random.default_rng(0), [], []
    many, single = np.repeat(np.arange(40), 8), 40 + np.arange(60)
    for _ in range(400):
        rows = [influence.rate((rng.random(n) < 0.4) * 1.0, np.ones(n)) for n in (320, 60)]
        of_groups = [by_group(part, of, 100) for part, of in zip(rows, (many, single), strict=True)]
        plain, grouped = equal_rates(rows, np.eye(2)), equal_rates(of_groups, np.eye(2), rows)
        apart.append(plain.chi2 - grouped.chi2)
        pairs.append(grouped.p_value < 0.05)
    assert abs(np.median(apart)) < 0.05
    assert 0.02 < np.mean(pairs) < 0.08
    share = (rng.random(40) < 0.5) * 1.0
    rows = [influence.rate(share[many], np.ones(320)), influence.rate(1 - share, np.ones(40))]
    of_groups = [
        by_group(part, of, 40) for part, of in zip(rows, (many, np.arange(40)), strict=True)
    ]
    once = [influence.rate(part, np.ones(40)) for part in (share, 1 - share)]
    assert equal_rates(of_groups, np.eye(2), rows).chi2 == pytest.approx(
        equal_rates(once, np.eye(2)).chi2, rel=0.2
    )


def test_units_in_several_segments_are_correlated():
    # the same people in both segments, each with the same result: the difference is known better
    rng = np.random.default_rng(1)
    share = (rng.random(60) < 0.5).astype(float)
    other = np.where(np.arange(60) < 3, 1 - share, share)
    people = np.arange(60)
    parts = [by_group(influence.rate(part, np.ones(60)), people, 60) for part in (share, other)]
    between = correlations(parts)
    assert between[0, 1] == pytest.approx(np.corrcoef(share, other)[0, 1])
    alone, together = (equal_rates(parts, each) for each in (np.eye(2), between))
    assert together.chi2 == pytest.approx(alone.chi2 / (1 - between[0, 1]), rel=1e-2)
    # Wald's statistic of explicit contrasts
    values, variances = np.array([0.2, 0.5, 0.4]), np.array([0.01, 0.02, 0.015])
    correlation = np.array([[1, 0.3, 0.1], [0.3, 1, 0], [0.1, 0, 1]])
    errors = np.sqrt(variances)
    contrast = np.array([[1, -1, 0], [0, 1, -1]])
    covariance = contrast @ (correlation * np.outer(errors, errors)) @ contrast.T
    d = contrast @ values
    expected = d @ np.linalg.solve(covariance, d)
    test = equal_values(values, variances, correlation)
    assert test.chi2 == pytest.approx(expected)
    assert test.p_value == pytest.approx(chi2.sf(expected, 2))
