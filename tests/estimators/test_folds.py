"""Folds in the order of time and by groups, and the rivals that are tuned on them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold

from aucmax.estimators.folds import Folding, time_folds
from aucmax.estimators.group_folds import GroupFolds
from aucmax.experiments.rivals import BalancedLeastSquares, BalancedLogisticRegression
from aucmax.metrics import roc_auc


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.integers(1, 6))
def test_the_past_is_trained_on_and_the_next_tested(times, n_folds):
    time = np.array(times)
    different = len(set(times))
    if different <= n_folds:
        with pytest.raises(ValueError, match=f"there are {different}"):
            time_folds(time, n_folds)
        return
    found = time_folds(time, n_folds)
    assert len(found) == n_folds
    tested = []
    for k, (train, test) in enumerate(found):
        assert min(len(train), len(test)) > 0
        assert time[train].max() < time[test].min()  # so ties stay together, too
        if k:
            before = found[k - 1]
            assert set(train) == {*before[0], *before[1]}
        tested += test.tolist()
    assert {*found[0][0], *tested} == set(range(len(times)))


@pytest.mark.parametrize("n_folds", [2, 5, 10])
@pytest.mark.parametrize("labels", [2, 3])
def test_folds_of_groups_are_those_of_scikit_learn(n_folds, labels):
    rng = np.random.default_rng(n_folds)
    groups, y = rng.zipf(1.6, 400) % 60, rng.binomial(labels - 1, 0.2, 400)
    ours, theirs = (
        kind(n_folds, shuffle=True, random_state=0).split(y, y, groups)
        for kind in (GroupFolds, StratifiedGroupKFold)
    )
    assert [test.tolist() for _, test in ours] == [test.tolist() for _, test in theirs]


def test_blocks_have_about_the_same_size_and_dates_sort():
    days = np.arange("2024-01-01", "2024-04-10", dtype="datetime64[D]")[::-1]
    sizes = [(len(train), len(test)) for train, test in time_folds(days, 4)]
    assert sizes == [(20, 20), (40, 20), (60, 20), (80, 20)]
    # half of the rows share a time
    heavy = np.concatenate([np.full(50, 7), np.arange(50)])
    assert all(len(test) for _, test in time_folds(heavy, 5))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), min_size=4, max_size=60),
    st.integers(1, 4),
)
def test_forward_in_time_no_group_is_on_both_sides(rows, n_folds):
    time, groups = np.array(rows).T
    if len(set(time.tolist())) <= n_folds:
        return
    plain = time_folds(time, n_folds)
    parts = Folding(groups, time).folds(np.zeros(len(time)), n_folds, 0)
    dropped = 0
    for (train, test), (earlier, same) in zip(parts, plain, strict=True):
        assert np.array_equal(test, same)
        tested = set(groups[test].tolist())
        # no more is dropped than has to be
        assert train.tolist() == [i for i in earlier.tolist() if groups[i] not in tested]
        dropped += len(earlier) - len(train)
    assert Folding(groups, time).dropped(parts) == dropped
    names = [f"customer {group}" for group in groups]
    again = time_folds(time, n_folds, names)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(parts, again, strict=True))
    apart = time_folds(time, n_folds, np.arange(len(time)))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(plain, apart, strict=True))


def test_rows_without_weight_are_in_no_part_and_not_dropped():
    rng = np.random.default_rng(0)
    time, groups, weight = rng.permutation(90), rng.integers(0, 20, 90), np.arange(90) % 3 > 0
    some = np.flatnonzero(weight)
    folding = Folding(groups, time, weight.astype(float))
    parts = folding.folds(np.arange(90) % 2, 3, 0)
    within = Folding(groups[some], time[some]).folds(np.zeros(len(some)), 3, 0)
    for (train, test), (a, b) in zip(parts, within, strict=True):
        assert np.array_equal(train, some[a])
        assert np.array_equal(test, some[b])
    assert folding.dropped(parts) == Folding(groups[some], time[some]).dropped(within) > 0
    assert Folding(groups).dropped(parts) is Folding(time=time).dropped(parts) is None
    assert folding.words == "in the order of time, groups kept apart"
    # three groups can be tested in more than three folds
    y = np.arange(90) % 2 == 0
    assert Folding(np.arange(90) % 3, np.arange(90)).most(y, 5) == 5
    splits = folding.splits(y, 3, 0.2, 0)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(splits, parts, strict=True))


def test_groups_are_never_parted():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 20, 200)
    y = rng.integers(0, 2, 200)
    folding = Folding(groups)
    for pairs in (folding.folds(y, 4, 0), folding.splits(y, 4, 0.25, 0)):
        assert len(pairs) == 4
        for train, test in pairs:
            assert not set(groups[train]) & set(groups[test])
    some = np.arange(0, 200, 2)
    assert np.array_equal(folding.at(some).groups, groups[some])
    with pytest.raises(ValueError, match="there are 2 groups, fewer than the 3 folds"):
        Folding(y).folds(y, 3, 0)


def test_without_groups_and_time_folds_are_stratified():
    y = np.arange(100) % 5 == 0
    for train, test in [*Folding().folds(y, 5, 1), *Folding().splits(y, 3, 0.2, 1)]:
        assert (y[train].sum(), y[test].sum()) == (16, 4)


@pytest.mark.parametrize("groups", [None, np.arange(100) // 4])
def test_every_round_draws_folds_of_its_own(groups):
    y = np.arange(100) % 5 == 0
    folding = Folding(groups)
    pairs = folding.folds(y, 4, 1, rounds=3)
    tests = [set(test) for _, test in pairs]
    assert tests[:4] == [set(test) for _, test in folding.folds(y, 4, 1)]
    assert len({frozenset(test) for test in tests}) == 12
    for k in (0, 4, 8):
        assert sorted(i for test in tests[k : k + 4] for i in test) == list(range(100))
    assert Folding(time=np.arange(100)).rounds(3) == 1
    assert folding.rounds(3) > folding.rounds(10**6) == 1


@pytest.mark.usefixtures("few_penalties")
@pytest.mark.parametrize("kind", [BalancedLogisticRegression, BalancedLeastSquares])
def test_rivals_take_folds_and_weights(kind):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3 == 0
    X = rng.normal(size=(120, 4)) + 0.5 * y[:, None]
    weight = rng.integers(0, 3, 120)
    parts = time_folds(np.arange(120), 3)
    model = kind(cv=parts).fit(X, y, weight)
    chosen = model.C_ if kind is BalancedLogisticRegression else model.alpha_
    again = kind(grid=[chosen], cv=parts).fit(X, y, weight)
    assert again.cv_auc_ == pytest.approx(model.cv_auc_)
    plain = kind(cv=parts).fit(X, y)
    assert not np.allclose(plain.decision_function(X), model.decision_function(X))
    # weights of one are none
    ones = kind(cv=parts).fit(X, y, np.ones(120))
    assert ones.decision_function(X) == pytest.approx(plain.decision_function(X), abs=1e-6)
    assert roc_auc(y, model.decision_function(X), weight) > 0.6
    with pytest.raises(ValueError, match="no fold has both classes in both parts"):
        kind(cv=[(np.arange(60), np.flatnonzero(y))]).fit(X, y)
