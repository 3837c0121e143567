"""The interval of a cross-validated AUC against its definition, invariances, and its coverage."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold

from aucmax import AUCClassifierCV, load, metrics, save
from oracles import cvauc, delong


def sample(seed, n=60, folds=5, share=0.4, ties=True, uneven=False):
    """Labels, scores and folds, each fold with two rows of each class at least."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < share * n).astype(int)
    fold = np.arange(n) % folds
    if uneven:
        fold[rng.random(n) < 0.4] = 0
        fold[:2] = fold[-2:] = folds - 1
        fold[2:4] = fold[-4:-2] = 1
        fold[4:6] = fold[-6:-4] = 2
        fold[6:8] = fold[-8:-6] = 3
    score = rng.normal(size=n) + y + fold
    return y, np.round(2 * score) if ties else score, fold


each_kind = pytest.mark.parametrize("uneven", [False, True])
each_tie = pytest.mark.parametrize("ties", [False, True])


@each_tie
@each_kind
def test_the_formula_is_that_of_the_paper(ties, uneven):
    for seed in range(5):
        y, score, fold = sample(seed, ties=ties, uneven=uneven)
        auc, std_error = cvauc.formula(y == 1, score, fold)
        found = metrics.cv_auc_interval(y, score, fold, 0.9, small_sample=False)
        reach = 1.6448536269514722 * std_error  # the normal quantile of 0.95, from tables
        expected = (auc, max(auc - reach, 0), min(auc + reach, 1), std_error)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_formula_on_a_worked_example():
    # By hand. Fold a: V10 = (1, 1/2), V01 = (1/2, 1), auc 3/4. Fold b: V10 = 2/3, V01 = (1, 0, 1).
    # With 3 of 8 rows positive the influences are ±2/3, ±2/5 in a; 0, 8/15, −16/15, 8/15 in b.
    y, score, fold = [1, 1, 0, 0, 1, 0, 0, 0], [3, 1, 2, 0, 5, 4, 6, 1], list("aaaabbbb")
    squares = (2 * (2 / 3) ** 2 + 2 * (2 / 5) ** 2) / 4, (8**2 + 16**2 + 8**2) / 15**2 / 4
    auc, std_error = (3 / 4 + 2 / 3) / 2, (np.mean(squares) / 8) ** 0.5
    found = metrics.cv_auc_interval(y, score, fold, small_sample=False)
    low = auc - 1.959963984540054 * std_error
    np.testing.assert_allclose(found, (auc, low, 1.0, std_error), rtol=1e-12)


@each_tie
@each_kind
def test_the_corrected_error_is_its_definition(ties, uneven):
    for seed in range(5):
        y, score, fold = sample(seed, ties=ties, uneven=uneven)
        found = metrics.cv_auc_interval(y, score, fold)
        expected = cvauc.corrected(y == 1, score, fold, np.arange(len(y)))
        np.testing.assert_allclose((found.auc, found.std_error), expected, rtol=1e-12)
        # groups of two rows, of one class or of both, in one fold or in two
        groups = np.random.default_rng(seed).permutation(len(y)) // 2
        found = metrics.cv_auc_interval(y, score, fold, groups=groups)
        expected = cvauc.corrected(y == 1, score, fold, groups)
        np.testing.assert_allclose((found.auc, found.std_error), expected, rtol=1e-12)


def test_one_fold_is_the_plain_interval():
    rng = np.random.default_rng(0)
    for seed, weight in [(0, None), (1, None), (2, rng.exponential(size=60))]:
        y, score, _ = sample(seed)
        plain = metrics.auc_interval(y, score, 0.9, sample_weight=weight)
        found = metrics.cv_auc_interval(y, score, np.zeros(60), 0.9, sample_weight=weight)
        np.testing.assert_allclose(found, plain, rtol=1e-12)
    for score in (y, -y, 0 * y):  # Hoeffding's interval alone
        plain = metrics.auc_interval(y, score)
        np.testing.assert_allclose(metrics.cv_auc_interval(y, score, 0 * y), plain, rtol=1e-9)
    one = (np.arange(9) == 0, np.r_[5.5, np.arange(8)])
    plain = metrics.auc_interval(*one)
    np.testing.assert_allclose(metrics.cv_auc_interval(*one, np.zeros(9)), plain, rtol=1e-9)


def test_equal_folds_share_delongs_variance():
    y, score, fold = sample(3, n=100)
    errors = [metrics.auc_interval(y[fold == v], score[fold == v]).std_error for v in range(5)]
    found = metrics.cv_auc_interval(y, score, fold)
    assert found.std_error == pytest.approx(np.sqrt(np.mean(np.square(errors)) / 5))
    assert found.low < found.auc < found.high


def test_both_agree_on_many_rows():
    y, score, fold = sample(0, n=20_000, share=0.1)
    corrected = metrics.cv_auc_interval(y, score, fold)
    by_formula = metrics.cv_auc_interval(y, score, fold, small_sample=False)
    np.testing.assert_allclose(corrected, by_formula, rtol=2e-3)


def test_a_row_held_out_again_tells_nothing_new():
    y, score, fold = sample(4)
    row = np.arange(60)
    once = metrics.cv_auc_interval(y, score, fold)
    thrice = (np.tile(y, 3), np.tile(score, 3), np.r_[fold, fold + 5, fold + 10])
    found = metrics.cv_auc_interval(*thrice, groups=np.tile(row, 3))
    np.testing.assert_allclose(found, once, rtol=1e-9)
    assert metrics.cv_auc_interval(*thrice).std_error < 0.6 * once.std_error
    # repeats that differ tell a little more
    other = np.random.default_rng(0).permutation(60) % 5
    again = metrics.cv_auc_interval(
        np.tile(y, 2), np.tile(score - fold, 2), np.r_[fold, other + 5], groups=np.tile(row, 2)
    )
    assert 0.8 < again.std_error / once.std_error < 1.15


ROUNDS = {
    "two of five": ([0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 2, 3, 0, 1, 2, 3], [3, 0, 0, 1, 1, 2, 2, 3]),
    "uneven": ([0, 0, 0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 1, 1, 1, 1]),
    "a single row": ([0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 1, 1]),
    "once": ([0, 0, 0, 0, 0, 1, 1, 1],),
    "once, a single row": ([0, 0, 0, 0, 1, 1, 1, 2],),
    "the same twice": ([0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("rounds", ROUNDS.values(), ids=ROUNDS)
def test_the_variance_is_true_on_average(rounds):
    """Over the ways in which eight independent positives beat all negatives or none.

    Those in which the first beats them all mirror the 128 others.
    """
    fold = np.concatenate([np.add(10 * k, each) for k, each in enumerate(rounds)])
    names = np.unique(fold)
    share = np.array([np.bincount(np.flatnonzero(fold == v) % 8, minlength=8) for v in names])
    truth = np.sum((share / share.sum(axis=1, keepdims=True)).mean(axis=0) ** 2) / 4
    y = np.r_[np.ones(len(fold)), np.zeros(2 * len(names))]
    rows = np.r_[np.tile(np.arange(8), len(rounds)), 8 + np.arange(2 * len(names))]
    found = []
    for pattern in product([-1], *[[-1, 1]] * 7):
        beats = np.tile(pattern, len(rounds))
        score = np.r_[beats, np.zeros(2 * len(names))]
        one = metrics.cv_auc_interval(y, score, np.r_[fold, names, names], groups=rows)
        alike = all(np.ptp(beats[fold == v]) == 0 for v in names)
        found.append(0.0 if alike else one.std_error**2)
    assert np.mean(found) == pytest.approx(truth)


def test_names_and_order_and_shifts_of_folds_change_nothing():
    y, score, fold = sample(5, uneven=True)
    for small in (True, False):
        found = metrics.cv_auc_interval(y, score, fold, small_sample=small)
        turned = np.random.default_rng(0).permutation(60)
        for changed in (
            (y[turned], score[turned], fold[turned]),
            (y, score - 7 * fold, fold),
            (np.array(["a", "b"])[y], score, np.array(list("qwert"))[fold].tolist()),
        ):
            again = metrics.cv_auc_interval(*changed, small_sample=small)
            np.testing.assert_allclose(again, found, rtol=1e-9)
        flipped = metrics.cv_auc_interval(y, -score, fold, small_sample=small)
        expected = (1 - found.auc, 1 - found.high, 1 - found.low, found.std_error)
        np.testing.assert_allclose(flipped, expected, rtol=1e-9)
        turned = metrics.cv_auc_interval(y, -score, fold, pos_label=0, small_sample=small)
        np.testing.assert_allclose(turned, found, rtol=1e-9)


def test_weights():
    y, score, fold = sample(6)
    found = metrics.cv_auc_interval(y, score, fold)
    equal = metrics.cv_auc_interval(y, score, fold, sample_weight=np.full(60, 3.0))
    np.testing.assert_allclose(equal, found, rtol=1e-9)
    more = (np.r_[y, 1 - y], np.r_[score, -score], np.r_[fold, fold[::-1]])
    zeros = np.repeat([2.0, 0.0], 60)
    absent = metrics.cv_auc_interval(*more, sample_weight=zeros)
    np.testing.assert_allclose(absent, found, rtol=1e-9)
    weight = np.random.default_rng(0).uniform(0.5, 1.5, size=60)
    found = metrics.cv_auc_interval(y, score, fold, sample_weight=weight)
    areas, errors = zip(
        *(
            (one.auc, one.std_error)
            for one in (
                metrics.auc_interval(y[at], score[at], sample_weight=weight[at])
                for at in (fold == v for v in range(5))
            )
        ),
        strict=True,
    )
    assert found.auc == pytest.approx(np.mean(areas))
    assert found.std_error == pytest.approx(np.sqrt(np.mean(np.square(errors)) / 5))


@pytest.mark.parametrize("largest", [1e155, 1e200, 1e300])
def test_a_weight_of_any_size_in_one_fold(largest):
    """Each fold counts the same, so the others keep their areas."""
    y, score, fold = np.tile([1, 0], 4), np.arange(8.0), np.repeat([0, 1], 4)
    weight = np.r_[largest, np.ones(7)]
    found = metrics.cv_auc_interval(y, score, fold, sample_weight=weight)
    areas = [metrics.roc_auc(y[fold == v], score[fold == v], sample_weight=weight[fold == v])
             for v in (0, 1)]  # fmt: skip
    assert found.auc == pytest.approx(np.mean(areas))
    assert 0 <= found.low < found.auc < found.high <= 1


def test_single_rows_borrow_the_spread_of_other_folds():
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(7, int), np.zeros(60, int)]
    fold = np.r_[0, 0, 0, 1, 1, 1, 2, np.arange(60) % 3]
    score = rng.normal(size=67) + y
    found = metrics.cv_auc_interval(y, score, fold)
    expected = cvauc.corrected(y == 1, score, fold, np.arange(67))
    np.testing.assert_allclose((found.auc, found.std_error), expected, rtol=1e-12)
    assert found.std_error > metrics.cv_auc_interval(y, score, fold, small_sample=False).std_error


def test_where_nothing_shows_the_spread_hoeffding_guarantees_it():
    y, fold = np.r_[1, 1, 1, np.zeros(30, int)], np.r_[0, 1, 2, np.arange(30) % 3]
    for score in (y, np.r_[0.5, 0.5, 0.5, np.arange(30) % 10 / 10]):
        auc, low, high, std_error = metrics.cv_auc_interval(y, score, fold)
        assert auc == pytest.approx(np.mean([delong.area(y[at] == 1, np.asarray(score)[at])
                                             for at in (fold == v for v in range(3))]))  # fmt: skip
        for end in (low, high):
            if 0 < end < 1:
                bound = auc * np.log(auc / end)
                bound += (1 - auc) * np.log((1 - auc) / (1 - end)) if auc < 1 else 0.0
                assert 3 * bound == pytest.approx(np.log(40), rel=1e-4)
        assert 0 <= low < high <= 1
        assert std_error > 0
    # the smallest fold counts for all: one positive in it leaves three pairs of rows
    y, fold = np.repeat([1, 0], [9, 90]), np.r_[0, 1, [2] * 7, np.arange(90) % 3]
    assert metrics.cv_auc_interval(y, y, fold).low == pytest.approx(0.025 ** (1 / 3))
    # two folds of five positives that share one of them: no more than five pairs for certain
    y, fold = np.tile(np.repeat([1, 0], [5, 20]), 2), np.repeat([0, 1], 25)
    rows = np.r_[np.arange(25), 4, np.arange(25, 49)]
    assert metrics.cv_auc_interval(y, y, fold).low == pytest.approx(0.025 ** (1 / 10))
    assert metrics.cv_auc_interval(y, y, fold, groups=rows).low == pytest.approx(0.025 ** (1 / 5))


@pytest.mark.parametrize(
    ("theta", "positives", "folds"), [(0.7, 20, 10), (0.9, 30, 5), (0.8, 150, 5)]
)
def test_interval_covers(theta, positives, folds):
    """Of fixed scorers, one for each fold; the formula without corrections does worse."""
    rng = np.random.default_rng(1)
    y = np.repeat([1, 0], [positives, 300])
    fold = np.arange(positives + 300) % folds
    shift = np.sqrt(2) * norm.ppf(theta)
    covered, narrow, runs = 0, 0, 200
    for _ in range(runs):
        score = rng.normal(size=y.size) + shift * y + 10 * fold
        found = metrics.cv_auc_interval(y, score, fold)
        covered += found.low <= theta <= found.high
        found = metrics.cv_auc_interval(y, score, fold, small_sample=False)
        narrow += found.low <= theta <= found.high
    assert 0.91 < covered / runs < 0.985
    if positives > 100:
        assert abs(narrow - covered) / runs < 0.02
    else:
        assert narrow / runs < covered / runs - 0.03


def shared_by_models(positive, score, fold, row):
    """The variance that models have in common, by loops over rows and pairs of folds."""
    names, total = np.unique(fold), 0.0
    members = {v: {s: set(row[(fold == v) & (positive == s)]) for s in (0, 1)} for v in names}
    for side in (0, 1):
        above, noise = {}, {}
        for v in names:
            rivals = score[(fold == v) & (positive != side)]
            for i in members[v][side]:
                own = score[(fold == v) & (row == i)][0]
                beaten = np.where(rivals == own, 0.5, rivals > own)
                above[i, v], noise[i, v] = beaten.mean(), beaten.var(ddof=1)
        change = exchanged = 0.0
        for u in names:
            for v in names:
                both = members[u][side] & members[v][side]
                us, vs = members[u][1 - side], members[v][1 - side]
                apart = 1 / len(us) + 1 / len(vs) - 2 * len(us & vs) / len(us) / len(vs)
                exchanged += len(both) * len(members[u][side] ^ members[v][side])
                for i in both:
                    change += (above[i, u] - above[i, v]) ** 2 - apart * noise[i, u]
        n = len(set(row[positive == side]))
        p = np.mean([len(members[v][side]) for v in names]) / n
        total += change / exchanged * (1 - p) ** 2
    return max(total, 0.0)


@each_tie
def test_rounds_add_what_models_have_in_common(ties):
    rng = np.random.default_rng(3)
    y = np.tile(np.repeat([1, 0], [15, 45]), 3)
    row = np.tile(np.arange(60), 3)
    fold = np.concatenate([np.r_[rng.permutation(15), rng.permutation(45)] % 5 + 5 * r
                           for r in range(3)])  # fmt: skip
    score = rng.normal(size=60)[row] + y + rng.normal(size=180)
    score = np.round(2 * score) if ties else score
    common = shared_by_models(y, score, fold, row)
    base = cvauc.corrected(y == 1, score, fold, row)[1]
    assert common > 0.1 * base**2
    found = metrics.cv_auc_interval(y, score, fold, groups=row)
    assert found.std_error**2 == pytest.approx(base**2 + common)


def test_interval_covers_learnt_scorers():
    """Of 10 features and 20 positives: without what models share, the variance is a third less."""
    rng = np.random.default_rng(5)
    positive, apart = np.arange(220) < 20, np.full(10, np.sqrt(0.2) * norm.ppf(0.75))
    y, row = np.tile(positive, 4), np.tile(np.arange(220), 4)
    covered, off, told, runs = 0, [], [], 200
    for _ in range(runs):
        X = rng.normal(size=(220, 10)) + np.outer(positive, apart)
        folds, scores, areas = [], np.empty((4, 220)), []
        for r in range(4):
            fold = np.r_[rng.permutation(20), rng.permutation(200)] % 5
            for v in range(5):
                pos, neg = X[positive & (fold != v)], X[~positive & (fold != v)]
                spread = np.cov(pos.T) + np.cov(neg.T) + 0.1 * np.eye(10)
                w = np.linalg.solve(spread, pos.mean(axis=0) - neg.mean(axis=0))
                scores[r, fold == v] = X[fold == v] @ w
                areas.append(norm.cdf(w @ apart / (np.sqrt(2) * np.linalg.norm(w))))
            folds.append(fold + 5 * r)
        found = metrics.cv_auc_interval(y, scores.ravel(), np.concatenate(folds), groups=row)
        covered += found.low <= np.mean(areas) <= found.high
        off.append(found.auc - np.mean(areas))
        told.append(found.std_error**2)
        # Wilson's for 20 pairs or more; the end nearer to ½ allows for rows that were not seen, and
        # the other one misses in 2.5 to 5 % of samples
        share = min(told[-1] / (found.auc * (1 - found.auc)), 1 / 20)
        one_sided, square = 2.705543454095404 * share, 3.841458820694124 * share
        ends = np.array([found.low, found.high])
        nearer, farther = np.sort((ends - found.auc) ** 2 / (ends * (1 - ends)))[::-1]
        assert one_sided * (1 - 1e-9) <= farther <= square * (1 + 1e-9)
        assert nearer > square or share == 1 / 20
    assert 0.93 <= covered / runs <= 0.98
    assert 0.85 < np.mean(told) / np.mean(np.square(off)) < 1.35


def test_interval_covers_where_rows_come_in_groups():
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], [120, 400])
    groups = np.arange(520) // 4  # four rows of one class
    fold = groups % 5
    covered, narrow, runs = 0, 0, 200
    for _ in range(runs):
        score = rng.normal(size=130)[groups] * 0.9 + rng.normal(size=520) * np.sqrt(0.19) + y
        truth = norm.cdf(1 / np.sqrt(2))
        found = metrics.cv_auc_interval(y, score, fold, groups=groups)
        covered += found.low <= truth <= found.high
        found = metrics.cv_auc_interval(y, score, fold)
        narrow += found.low <= truth <= found.high
    assert 0.9 < covered / runs < 0.99
    assert narrow / runs < 0.8


def test_bad_input_is_named():
    y, score, fold = sample(0)
    interval = metrics.cv_auc_interval
    alone = np.where(y == 1, fold, 5 * (fold == 0))
    with pytest.raises(ValueError, match=r"fold 1 holds no negative row.*stratified folds"):
        interval(y, score, alone)
    with pytest.raises(ValueError, match="fold b holds no positive row"):
        interval(y, score, np.where(y == 1, "a", np.where(fold > 2, "a", "b")))
    with pytest.raises(ValueError, match="fold must have one value per row of y, 60; got 59"):
        interval(y, score, fold[1:])
    with pytest.raises(ValueError, match="groups must have one value per row of y, 60; got 3"):
        interval(y, score, fold, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="fold must be one-dimensional"):
        interval(y, score, fold[:, None])
    with pytest.raises(ValueError, match=r"fold must be numbers or text.*none of them missing"):
        interval(y, score, [None, *fold[1:].astype(str)])
    for missing in (np.nan, np.datetime64("NaT", "D")):
        some = np.where(fold > 0, fold.astype(np.asarray(missing).dtype), missing)
        with pytest.raises(ValueError, match="none of them missing"):
            interval(y, score, some)
    with pytest.raises(ValueError, match="confidence"):
        interval(y, score, fold, 1.0)
    for more in ({"sample_weight": np.ones(60)}, {"groups": fold}):
        with pytest.raises(ValueError, match=r"small_sample=False.*leave out sample_weight and"):
            interval(y, score, fold, small_sample=False, **more)


# ---- in the search


def searched(cv, weight=None, groups=None, n=90):
    rng = np.random.default_rng(8)
    y = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, 3)) + 0.8 * y[:, None]
    search = AUCClassifierCV([1e-3, 1e-1], losses=("square",), standardize=(0.0,), cv=cv)
    return search.fit(X, y, weight, groups=groups), X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_the_search_gives_the_interval_of_its_choice(weighted, tmp_path):
    weight = np.random.default_rng(0).uniform(0.2, 2, 90) if weighted else None
    search, X, y = searched(
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), weight
    )
    folds = list(search.cv.split(X, y))
    rows = np.concatenate([test for _, test in folds])
    expected = metrics.cv_auc_interval(
        y[rows],
        np.concatenate(search.held_out_),
        np.repeat(range(6), [len(test) for _, test in folds]),
        sample_weight=None if weight is None else weight[rows],
        groups=rows,
    )
    assert search.best_interval_ == pytest.approx(expected)
    assert search.best_interval_.auc == pytest.approx(search.best_score_)
    save(search, tmp_path / "m.aucmax")
    assert load(tmp_path / "m.aucmax").best_interval_ == search.best_interval_


def test_the_search_keeps_groups_together_and_leaves_out_folds_of_one_class():
    groups = np.arange(90) // 6
    search, X, y = searched(GroupKFold(5), groups=groups)
    folds = list(search.cv.split(X, y, groups))
    rows = np.concatenate([test for _, test in folds])
    args = (y[rows], np.concatenate(search.held_out_), np.repeat(range(5), 18))
    expected = metrics.cv_auc_interval(*args, groups=groups[rows])
    assert search.best_interval_ == pytest.approx(expected)
    assert metrics.cv_auc_interval(*args) != pytest.approx(expected)
    rows = np.arange(90)
    negatives = np.flatnonzero(y == 0)[:10]
    parts = [(np.setdiff1d(rows, test), test) for test in (negatives, rows[:30], rows[30:60])]
    with pytest.warns(UserWarning, match="1 of 3 held-out parts hold only one class"):
        search = searched(parts)[0]
    assert np.isnan(search.auc_path_[0]).all()
    args = (y[:60], np.concatenate(search.held_out_[1:]), rows[:60] // 30)
    assert search.best_interval_ == pytest.approx(metrics.cv_auc_interval(*args))


@pytest.mark.parametrize("positives", [2, 3, 9, 300])
@pytest.mark.parametrize("ties", [False, True])
def test_rows_that_are_groups_of_one_give_the_same(positives, ties):
    rng = np.random.default_rng(positives)
    y = np.arange(900) < positives
    score, fold = rng.normal(size=900) + y, np.arange(900) % 2
    if ties:
        score = np.round(score)
    by_rows, by_groups = (
        metrics.cv_auc_interval(y, score, fold, groups=groups) for groups in (None, np.arange(900))
    )
    assert by_rows == pytest.approx(by_groups, rel=1e-12)
