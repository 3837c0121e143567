"""Intervals and tests of areas whose rows come in groups, against Obuchowski's formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from aucmax import metrics
from oracles import delong


def made(seed, n_groups=30, most=6, ties=False):
    """Rows in groups whose scores share an effect; groups have rows of one class or of both."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), rng.integers(1, most + 1, n_groups))
    y = (rng.random(len(group)) < rng.random(n_groups)[group]).astype(int)
    y[[0, -1]] = 0, 1
    score = y + rng.normal(size=n_groups)[group] + rng.normal(size=len(group))
    return y, np.round(score) if ties else score, group


def kish(group):
    sizes = np.bincount(group)
    return sizes.sum() ** 2 / np.sum(sizes**2)


@pytest.mark.parametrize("ties", [False, True])
def test_the_error_is_obuchowskis(ties):
    for seed in range(6):
        y, score, group = made(seed, ties=ties)
        positive = y == 1
        found = metrics.auc_interval(y, score, groups=group)
        # with effective numbers of groups, which count groups of unequal size for less
        cells = kish(group[positive]), kish(group[~positive])
        auc, variance = delong.clustered(positive, score, group, cells)
        np.testing.assert_allclose(found[::3], (auc, np.sqrt(variance)), rtol=1e-10)
        assert found.low < found.auc < found.high
        # a scorer that ranks at random by nothing else leaves the variance of its opponent
        test = metrics.auc_test(y, score, 0 * y, groups=group)
        assert test.z == pytest.approx((auc - 0.5) / np.sqrt(variance))
        assert test.p_value == pytest.approx(2 * ndtr(-abs(test.z)))


@pytest.mark.parametrize("both", [False, True])
def test_of_groups_of_one_size_it_is_hers_to_the_letter(both):
    rng = np.random.default_rng(1)
    # three rows of a class in each group; of both, or of one
    group = np.repeat(np.arange(40), 3)
    y = np.repeat(np.arange(40) % 2, 3)
    if both:
        group = group // 2
    score = y + rng.normal(size=40)[group] + rng.normal(size=120)
    auc, variance = delong.clustered(y == 1, score, group)
    found = metrics.auc_interval(y, score, groups=[f"customer {g}" for g in group])
    np.testing.assert_allclose(found[::3], (auc, np.sqrt(variance)), rtol=1e-10)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_a_group_for_each_row_changes_nothing(seed, ties, weighted):
    y, score, _ = made(seed, ties=ties)
    rng = np.random.default_rng(seed)
    more = {"sample_weight": rng.integers(0, 3, len(y))} if weighted else {}
    if weighted:
        more["sample_weight"][[0, -1]] = 1
    group = rng.permutation(len(y))
    other = score + rng.normal(size=len(y))
    for measure, scores in (
        (metrics.auc_interval, [score]),
        (metrics.auc_test, [score, other]),
        (metrics.auc_difference, [score, other]),
    ):
        plain = measure(y, *scores, **more)
        np.testing.assert_allclose(measure(y, *scores, **more, groups=group), plain, rtol=1e-9)


def test_rows_that_are_repeated_in_a_group_tell_nothing_new():
    for seed in range(4):
        y, score, _ = made(seed, n_groups=60)
        other = score + np.random.default_rng(seed).normal(size=len(y))
        row = np.arange(len(y))
        thrice = [np.tile(values, 3) for values in (y, score, other, row)]
        once = metrics.auc_interval(y, score)
        again = metrics.auc_interval(*thrice[:2], groups=thrice[3])
        np.testing.assert_allclose(again, once, rtol=1e-9)
        assert metrics.auc_interval(*thrice[:2]).std_error < 0.6 * once.std_error
        for measure in (metrics.auc_test, metrics.auc_difference):
            repeated = measure(*thrice[:3], groups=thrice[3])
            np.testing.assert_allclose(repeated, measure(y, score, other), rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 8), st.booleans())
def test_it_is_an_interval_whatever_the_groups(seed, n_groups, ties):
    y, score, group = made(seed, n_groups, ties=ties)
    found = metrics.auc_interval(y, score, groups=group)
    assert 0 <= found.low <= found.auc <= found.high <= 1
    assert found.low < found.high
    assert found.std_error > 0
    assert found.auc == metrics.roc_auc(y, score)
    turned = metrics.auc_interval(y, -score, groups=group)
    flipped = (1 - found.auc, 1 - found.high, 1 - found.low, found.std_error)
    np.testing.assert_allclose(turned, flipped, rtol=1e-6, atol=1e-9)
    # their order and names do not matter
    order = np.random.default_rng(seed).permutation(len(y))
    names = np.array([f"g{-k}" for k in group])
    again = metrics.auc_interval(y[order], score[order], groups=names[order])
    np.testing.assert_allclose(again, found, rtol=1e-9)
    test = metrics.auc_test(y, score, -score, groups=group)
    low, high = metrics.auc_difference(y, score, -score, groups=group)[1:]
    assert 0 <= test.p_value <= 1
    assert -1 <= low <= test.difference <= high <= 1
    if test.p_value >= 0.0501:
        assert low <= 0 <= high


def test_one_fold_is_the_interval_by_groups():
    for seed in range(4):
        y, score, group = made(seed, n_groups=40)
        weight = np.random.default_rng(seed).exponential(size=len(y))
        for more in ({}, {"sample_weight": weight}):
            found = metrics.auc_interval(y, score, 0.9, groups=group, **more)
            folded = metrics.cv_auc_interval(y, score, 0 * y, 0.9, groups=group, **more)
            np.testing.assert_allclose(found, folded, rtol=1e-9)


def test_a_class_in_one_group_has_the_interval_that_holds_for_every_distribution():
    y = np.repeat([1, 0], [5, 20])
    group = np.r_[np.zeros(5, int), np.arange(20)]
    score = np.r_[2.0, 3.0, 4.0, 5.0, 6.0, np.arange(20) / 5]
    found = metrics.auc_interval(y, score, groups=group)
    one = metrics.auc_interval(np.r_[1, np.zeros(20)], np.r_[2.6, np.arange(20) / 5])
    assert found.high - found.low > 0.5
    assert one.high - one.low > 0.5
    # all groups ranked perfectly: Clopper and Pearson's bound for as many groups
    perfect = metrics.auc_interval(y, y, groups=np.arange(25) // 5)
    assert perfect.low == pytest.approx(0.025)
    assert metrics.auc_interval(
        [0] * 20 + [1] * 20, np.arange(40), groups=np.arange(40) // 5
    ).low == (pytest.approx(0.025 ** (1 / 4)))


def test_it_covers_where_rows_depend_on_each_other():
    """Of 400 samples the 95 % interval holds the area in 380, give or take 4 standard errors."""
    rng = np.random.default_rng(0)
    # areas of normal scores: variance 1 within and 1 between groups
    area = ndtr(1.5 / 2)
    hits = {"groups": 0, "rows": 0}
    for _ in range(400):
        group = np.repeat(np.arange(120), 5)
        y = (np.arange(120) < 40)[group].astype(int)
        score = 1.5 * y + rng.normal(size=120)[group] + rng.normal(size=600)
        for name, more in (("groups", {"groups": group}), ("rows", {})):
            found = metrics.auc_interval(y, score, **more)
            hits[name] += found.low <= area <= found.high
    assert abs(hits["groups"] / 400 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 400)
    assert hits["rows"] / 400 < 0.85


@pytest.mark.parametrize(
    ("groups", "words"),
    [([1, 2], "one value per row of y"), ([1, None, 2, 3], "groups must be numbers or text")],
)
def test_groups_that_are_wrong(groups, words):
    with pytest.raises(ValueError, match=words):
        metrics.auc_interval([0, 1, 0, 1], [0, 1, 2, 3], groups=groups)
