"""metrics.py against literal definitions, scikit-learn, invariances, and bad input."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import beta, norm, t
from sklearn import metrics as sk

from aucmax import metrics
from oracles import delong

# Every metric as f(y, score, **kwargs), so that one test serves all.
METRICS = {
    "roc_auc": metrics.roc_auc,
    "partial_auc": lambda y, s, **kw: metrics.partial_auc(y, s, 0.4, **kw),
    "average_precision": metrics.average_precision,
    "precision_at_k": lambda y, s, **kw: metrics.precision_at_k(y, s, 2, **kw),
    "recall_at_fpr": lambda y, s, **kw: metrics.recall_at_fpr(y, s, 0.4, **kw),
    "recall_at_k": lambda y, s, **kw: metrics.recall_at_k(y, s, 2, **kw),
    "stratified_auc": lambda y, s, **kw: metrics.stratified_auc(y, s, [0] * len(s), **kw),
    "ks_statistic": metrics.ks_statistic,
    "roc_curve": lambda y, s, **kw: np.stack(metrics.roc_curve(y, s, **kw)[:2]),
    "precision_recall_curve": lambda y, s, **kw: np.stack(
        metrics.precision_recall_curve(y, s, **kw)[:2]
    ),
}
UNWEIGHTED = {
    "auc_interval": metrics.auc_interval,
    "cv_auc_interval": lambda y, s, **kw: metrics.cv_auc_interval(y, s, [0] * 5, **kw),
    "auc_test": lambda y, s, **kw: metrics.auc_test(y, s, [0.2, 0.1, 0.4, 0.3, 0.5], **kw),
    "auc_difference": lambda y, s, **kw: metrics.auc_difference(
        y, s, [0.2, 0.1, 0.4, 0.3, 0.5], **kw
    ),
}
each_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
each_function = pytest.mark.parametrize(
    "function", (METRICS | UNWEIGHTED).values(), ids=METRICS | UNWEIGHTED
)
# A loaded machine must not fail a test.
untimed = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])

Y = np.array([0, 1, 1, 0, 1])
SCORE = np.array([0.1, 0.4, 0.35, 0.4, 0.8])


@st.composite
def samples(draw, n_scores=1, min_class=1):
    """Labels with both classes, scores with many ties, small whole weights (some of them zero)."""
    n = draw(st.integers(2 * min_class, 14))
    y = draw(arrays(np.int64, n, elements=st.integers(0, 1)))
    assume(min_class <= y.sum() <= n - min_class)
    scores = [draw(arrays(float, n, elements=st.integers(-3, 3))) for _ in range(n_scores)]
    weight = draw(arrays(np.int64, n, elements=st.integers(0, 3)))
    assume(weight[y == 1].any())
    assume(weight[y == 0].any())
    return y, *scores, weight


def pair_loop(y, score, weight):
    total = won = 0.0
    for y_i, s_i, w_i in zip(y, score, weight, strict=True):
        for y_j, s_j, w_j in zip(y, score, weight, strict=True):
            if y_i == 1 and y_j == 0:
                total += w_i * w_j
                won += w_i * w_j * (1.0 if s_i > s_j else 0.5 if s_i == s_j else 0.0)
    return won / total


# --------------------------------------------------------------------------- definitions


@untimed
@given(samples())
def test_roc_auc_is_the_share_of_pairs_won(sample):
    y, score, weight = sample
    assert metrics.roc_auc(y, score) == pytest.approx(pair_loop(y, score, np.ones(y.size)))
    assert metrics.roc_auc(y, score, weight) == pytest.approx(pair_loop(y, score, weight))


@untimed
@given(samples(), st.floats(0.01, 1.0))
def test_areas_and_curves_equal_scikit_learn(sample, max_fpr):
    y, score, weight = sample
    for sample_weight in (None, weight):
        kw = {"sample_weight": sample_weight}
        assert metrics.roc_auc(y, score, **kw) == pytest.approx(sk.roc_auc_score(y, score, **kw))
        assert metrics.average_precision(y, score, **kw) == pytest.approx(
            sk.average_precision_score(y, score, **kw)
        )
        for limit in (max_fpr, 0.5, 1.0):
            assert metrics.partial_auc(y, score, limit, **kw) == pytest.approx(
                sk.roc_auc_score(y, score, max_fpr=limit, **kw)
            )
        for ours, theirs in zip(
            metrics.roc_curve(y, score, **kw),
            sk.roc_curve(y, score, drop_intermediate=False, **kw),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs)
        for ours, theirs in zip(
            metrics.precision_recall_curve(y, score, **kw),
            sk.precision_recall_curve(y, score, **kw),
            strict=True,
        ):
            np.testing.assert_allclose(ours, theirs)


@untimed
@given(samples(), st.integers(1, 14), st.booleans())
def test_precision_at_k_is_the_mean_over_tie_orders(sample, k, weighted):
    y, score, weight = sample
    weight = weight if weighted else np.ones_like(weight)
    kept = weight > 0
    assume(k <= kept.sum())
    found = taken = 0.0
    for y_i, s_i, w_i in zip(y[kept], score[kept], weight[kept], strict=True):
        above, tied = np.sum(score[kept] > s_i), np.sum(score[kept] == s_i)
        chance = min(1.0, max(0.0, (k - above) / tied))
        found, taken = found + chance * w_i * y_i, taken + chance * w_i
    assert metrics.precision_at_k(y, score, k, weight) == pytest.approx(found / taken)


def test_precision_at_k_by_shuffling():
    rng = np.random.default_rng(0)
    y, score = np.array([1, 0, 1, 0, 0, 1]), np.array([3, 2, 2, 2, 2, 1])
    orders = (rng.permutation(6) for _ in range(4000))
    drawn = [y[order][np.argsort(-score[order], kind="stable")][:3].mean() for order in orders]
    # Standard error of the mean 0.0023: one of the four tied rows is positive, two are taken.
    assert metrics.precision_at_k(y, score, 3) == pytest.approx(np.mean(drawn), abs=0.01)
    assert metrics.precision_at_k(y, score, 3) == pytest.approx((1 + 2 / 4) / 3)


@untimed
@given(samples(), st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0]), st.booleans())
def test_recall_at_fpr_is_the_best_threshold(sample, max_fpr, weighted):
    y, score, weight = sample
    weight = weight if weighted else np.ones_like(weight)
    recalls = [0.0]
    for threshold in score:
        taken = score >= threshold
        if weight[taken & (y == 0)].sum() / weight[y == 0].sum() <= max_fpr + 1e-12:
            recalls.append(weight[taken & (y == 1)].sum() / weight[y == 1].sum())
    assert metrics.recall_at_fpr(y, score, max_fpr, weight) == pytest.approx(max(recalls))


@pytest.mark.parametrize("j", range(101))
def test_recall_at_fpr_meets_the_limit_exactly(j):
    # 29 / 100 is 0.29, though 0.29 * 100 is below 29 in float64.
    y, score = np.repeat([0, 1], 100), np.repeat(np.arange(100), 2)[np.r_[0:200:2, 1:200:2]]
    fpr = float(f"{j / 100:.2f}")
    for weight in (None, np.full(200, 3), np.full(200, 0.1), np.full(200, 1 / 3)):
        assert metrics.recall_at_fpr(y, score, fpr, weight) == pytest.approx(j / 100)


def test_curve_ends():
    fpr, tpr, thresholds = metrics.roc_curve(Y, SCORE)
    assert (fpr[0], tpr[0], thresholds[0]) == (0, 0, np.inf)
    assert (fpr[-1], tpr[-1], thresholds[-1]) == (1, 1, 0.1)
    precision, recall, thresholds = metrics.precision_recall_curve(Y, SCORE)
    assert (precision[-1], recall[-1], recall[0], thresholds[0]) == (1, 0, 1, 0.1)


# --------------------------------------------------------------------------- invariances


@untimed
@given(samples())
def test_whole_weights_are_repetition(sample):
    y, score, weight = sample
    again = np.repeat(np.arange(y.size), weight)
    for name, metric in METRICS.items():
        if name in ("precision_at_k", "recall_at_k"):  # there k counts rows
            continue
        weighted = metric(y, score, sample_weight=weight)
        # To the last bit, as sums of whole weights stay exact.
        np.testing.assert_array_equal(weighted, metric(y[again], score[again]), err_msg=name)


@untimed
@given(samples())
def test_zero_weight_is_absence_and_scale_is_nothing(sample):
    y, score, weight = sample
    kept = weight > 0
    assume(kept.sum() >= 2)
    for name, metric in METRICS.items():
        weighted = metric(y, score, sample_weight=weight)
        dropped = metric(y[kept], score[kept], sample_weight=weight[kept])
        np.testing.assert_array_equal(weighted, dropped, err_msg=name)
        for scale in (1e-300, 1e306):
            scaled = metric(y, score, sample_weight=weight * scale)
            np.testing.assert_allclose(weighted, scaled, rtol=1e-7, atol=1e-14, err_msg=name)
        equal = metric(y, score, sample_weight=np.full(y.size, 7))
        np.testing.assert_allclose(metric(y, score), equal, rtol=1e-7, atol=1e-14, err_msg=name)


@each_metric
def test_a_dropped_row_may_hold_anything(metric):
    y, score = np.append(Y, 2), np.append(SCORE, np.nan)
    np.testing.assert_array_equal(
        metric(y, score, sample_weight=[1, 1, 1, 1, 1, 0]), metric(Y, SCORE)
    )


@untimed
@given(samples(n_scores=2), st.randoms(use_true_random=False))
def test_order_of_rows_and_monotone_transforms_change_nothing(sample, random):
    y, a, b, _ = sample
    shuffled = np.array(random.sample(range(y.size), y.size))
    for name, metric in (METRICS | {"auc_interval": metrics.auc_interval}).items():
        value = metric(y, a)
        np.testing.assert_allclose(metric(y[shuffled], a[shuffled]), value, err_msg=name)
        np.testing.assert_array_equal(metric(y, np.exp(a) + 5), value, err_msg=name)
        ends = np.where(a == 3, np.inf, np.where(a == -3, -np.inf, a))
        np.testing.assert_array_equal(metric(y, ends), value, err_msg=name)
    test = metrics.auc_test(y, a, b)
    np.testing.assert_allclose(
        metrics.auc_test(y[shuffled], a[shuffled], b[shuffled]), test, atol=1e-12
    )
    assert metrics.auc_test(y, np.exp(a), b**3) == test


@untimed
@given(samples(n_scores=2, min_class=2))
def test_flips(sample):
    y, a, b, weight = sample
    for flipped in ((1 - y, a), (y, -a)):
        assert metrics.roc_auc(*flipped, weight) == pytest.approx(
            1 - metrics.roc_auc(y, a, weight), abs=1e-12
        )
        auc, low, high, std_error = metrics.auc_interval(y, a)
        np.testing.assert_allclose(
            metrics.auc_interval(*flipped), (1 - auc, 1 - high, 1 - low, std_error), atol=1e-9
        )
    test = metrics.auc_test(y, a, b)
    np.testing.assert_allclose(metrics.auc_test(y, b, a), (-test[0], -test[1], test[2]))
    np.testing.assert_allclose(metrics.auc_test(y, -b, -a), test, atol=1e-9)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, np.uint8, object])
@each_function
def test_kinds_of_scores(function, kind):
    score = np.array([1, 4, 3, 4, 8])
    np.testing.assert_array_equal(function(Y, score.astype(kind)), function(Y, score.astype(float)))
    np.testing.assert_array_equal(function(list(Y), score.tolist()), function(Y, score))


def test_integers_that_float64_would_tie():
    assert metrics.roc_auc([0, 1], np.array([2**60, 2**60 + 1])) == 1.0
    assert metrics.roc_auc([0, 1], np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64)) == 1.0


@each_function
def test_frames_and_read_only_arrays(function):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = function(Y, SCORE)
    y, score = Y.copy(), SCORE.copy()
    y.flags.writeable = score.flags.writeable = False
    for columns in (
        (pandas.Series(Y, index=list("edcba")), pandas.Series(SCORE)),
        (polars.Series(Y), polars.Series(SCORE)),
        (pandas.array(Y, dtype="Int64"), pandas.array(SCORE, dtype="Float64")),
        (y, score),
        (np.repeat(Y, 2)[::2], np.repeat(SCORE, 2)[::2]),
    ):
        np.testing.assert_array_equal(function(*columns), expected)


# --------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels",
    [
        (False, True),
        (-1, 1),
        (1, 2),
        (0.5, 1.5),
        ("no", "yes"),
        (b"a", b"b"),
        ("B", "a"),
    ],
)
@each_function
def test_the_larger_label_is_positive(function, labels):
    expected = function(Y, SCORE)
    for dtype in (None, object):
        y = np.array(labels, dtype=dtype)[Y]
        np.testing.assert_array_equal(function(y, SCORE), expected)
        np.testing.assert_array_equal(function(y, SCORE, pos_label=labels[1]), expected)
        flipped = function(y, SCORE, pos_label=labels[0])
        np.testing.assert_array_equal(flipped, function(1 - Y, SCORE))


@each_function
def test_pos_label_sets_one_label_against_the_rest(function):
    y = np.array(["b", "a", "c", "b", "c"])
    for label in "abc":
        expected = function((y == label).astype(int), SCORE)
        np.testing.assert_array_equal(function(y, SCORE, pos_label=label), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_pos_label_is_compared_as_a_value(dtype):
    y = np.array([0.1, 2, 2]).astype(dtype)
    assert metrics.roc_auc(y, [1, 2, 3], pos_label=2) == 1.0
    with pytest.raises(ValueError, match="pos_label=258 is not a label"):
        metrics.roc_auc(y, [1, 2, 3], pos_label=258)


def test_positional_order():
    weight = [1, 2, 1, 1, 1]
    expected = sk.roc_auc_score(1 - Y, SCORE, sample_weight=weight)
    assert metrics.roc_auc(Y, SCORE, weight, 0) == pytest.approx(expected)
    expected = sk.roc_auc_score(1 - Y, SCORE, sample_weight=weight, max_fpr=0.3)
    assert metrics.partial_auc(Y, SCORE, 0.3, weight, 0) == pytest.approx(expected)
    assert metrics.precision_at_k(Y, SCORE, 1, weight, 0) == 0
    assert metrics.recall_at_fpr(Y, SCORE, 0.2, weight, 0) == 0
    assert metrics.auc_interval(Y, SCORE, 0.9, 0).auc == metrics.roc_auc(1 - Y, SCORE)
    assert metrics.auc_test(Y, SCORE, -SCORE, 0).difference < 0


# --------------------------------------------------------------------------- DeLong


@untimed
@given(samples(n_scores=2, min_class=2))
def test_delong_equals_its_definition(sample):
    y, a, b, _ = sample
    s = delong.covariance(y == 1, [a, b])
    for score, variance in ((a, s[0, 0]), (b, s[1, 1])):
        interval = metrics.auc_interval(y, score)
        assert interval.auc == pytest.approx(delong.area(y == 1, score))
        if variance > 1e-12:
            assert interval.std_error == pytest.approx(np.sqrt(variance))
    difference, z, p_value = metrics.auc_test(y, a, b)
    assert difference == pytest.approx(delong.area(y == 1, a) - delong.area(y == 1, b), abs=1e-12)
    variance = s[0, 0] + s[1, 1] - 2 * s[0, 1]
    if variance > 1e-12:
        assert z == pytest.approx(difference / np.sqrt(variance), abs=1e-9)
        assert p_value == pytest.approx(2 * norm.sf(abs(z)))


def test_delong_on_a_worked_example():
    # By hand: psi = [[1, 1, 0.5], [1, 0, 0]], so V10 = (5/6, 1/3), V01 = (1, 1/2, 1/4).
    y, score = [1, 1, 0, 0, 0], [3, 1, 0, 2, 3]
    auc, low, high, std_error = metrics.auc_interval(y, score)
    assert auc == pytest.approx(3.5 / 6)
    assert std_error**2 == pytest.approx((1 / 8) / 2 + (7 / 48) / 3)
    assert 0 < low < auc < high < 1


@pytest.mark.parametrize("distance", [0.5, 2, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_interval_is_wilsons_with_unseen_rows_towards_one_half(sign, distance):
    """The end away from ½ gets what is left of the error by the end that few samples can miss."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [400, 30])
    score = sign * (rng.normal(size=y.size) + distance * y)
    auc, low, high, std_error = metrics.auc_interval(y, score, 0.9)
    plain, wide = std_error**2 / (auc * (1 - auc)), 0.0
    for placed in delong.components(y == 1, score):
        n, variance = placed.size, placed.var(ddof=1)
        loss = 1 - placed if auc > 0.5 else placed
        rows = np.sum(loss**2) ** 2 / np.sum(loss**4)
        wide += (rows * variance / (auc * (1 - auc)) + 1) / (rows + 1) / n
    if auc < 0.5:
        auc, low, high = 1 - auc, 1 - high, 1 - low
    quantile = t(29).isf
    assert auc - low == pytest.approx(quantile(0.05) * np.sqrt(wide * low * (1 - low)))
    top = high + quantile(0.025) * np.sqrt(wide * high * (1 - high))
    size = 1 / plain - 1
    exceeded = 0.05 * min(beta(high * size, (1 - high) * size).sf(top) / 0.025, 1)
    assert (exceeded < 1e-6) == (distance >= 2)
    reach = quantile(0.1 - exceeded) * np.sqrt(plain * high * (1 - high))
    assert high - auc == pytest.approx(reach)


def test_interval_of_a_half_has_unseen_rows_on_both_sides():
    y, score = np.repeat([0, 1], 10), np.r_[np.arange(10), np.arange(10)[::-1]]
    auc, low, high, std_error = metrics.auc_interval(y, score)
    assert auc == 0.5
    assert 0.5 - low == pytest.approx(high - 0.5)
    square = t(9).isf(0.025) ** 2 * std_error**2
    assert 0.5 - low > np.sqrt(square / (1 + 4 * square)) + 1e-3  # Wilson's without them


def test_interval_of_many_rows_is_delongs():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50_000)
    auc, low, high, std_error = metrics.auc_interval(y, rng.normal(size=y.size) + 2 * y)
    np.testing.assert_allclose([auc - low, high - auc], norm.isf(0.025) * std_error, rtol=0.02)


@pytest.mark.parametrize("seed", range(60))
def test_an_interval_contains_those_of_less_confidence(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 60, 2)
    y = np.repeat([0, 1], [n, m])
    score = rng.normal(size=n + m) * (1 + y * rng.uniform(-0.5, 1)) + rng.uniform(-2, 3) * y
    score = np.round(score) if seed % 3 == 0 else score
    inner = metrics.auc_interval(y, score, 1e-9)
    for confidence in (0.01, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.99999):
        outer = metrics.auc_interval(y, score, confidence)
        assert outer.low <= inner.low + 1e-12
        assert outer.high >= inner.high - 1e-12
        inner = outer


@untimed
@given(samples(), st.floats(0.001, 0.999))
def test_interval_is_never_empty_and_never_leaves_0_1(sample, confidence):
    y, score, _ = sample
    auc, low, high, std_error = metrics.auc_interval(y, score, confidence)
    assert 0 <= low <= auc <= high <= 1
    assert low < high
    assert 0 < std_error < 1
    assert auc == metrics.roc_auc(y, score)
    wider = metrics.auc_interval(y, score, (1 + confidence) / 2)
    assert wider.low <= low + 1e-12
    assert high <= wider.high + 1e-12
    assert wider.std_error == std_error


@pytest.mark.parametrize("confidence", [1e-300, 1e-9, 0.5, 1 - 1e-16])
@pytest.mark.parametrize("score", [Y, -Y, 0 * Y, SCORE], ids=["1", "0", "tied", "between"])
def test_extreme_confidence(score, confidence):
    auc, low, high, _ = metrics.auc_interval(Y, score, confidence)
    assert 0 <= low <= auc <= high <= 1
    assert low < high


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 50), (7, 7), (20, 1000), (30000, 40000)])
def test_perfect_scores_give_the_clopper_pearson_bound(m, n):
    y = np.repeat([0, 1], [n, m])
    k = min(m, n)
    for confidence in (0.8, 0.95):
        exact = beta.ppf((1 - confidence) / 2, k, 1)
        auc, low, high, std_error = metrics.auc_interval(y, np.arange(y.size), confidence)
        assert (auc, high) == (1.0, 1.0)
        assert low == pytest.approx(exact)
        assert std_error == pytest.approx(np.sqrt((k + 1) / k) / (k + 2))
        auc, low, high, _ = metrics.auc_interval(y, -np.arange(y.size), confidence)
        assert (auc, low) == (0.0, 0.0)
        assert high == pytest.approx(1 - exact)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 9), (9, 1), (40, 60)])
def test_tied_scores_solve_the_divergence(m, n):
    k = min(m, n)
    auc, low, high, std_error = metrics.auc_interval(np.repeat([0, 1], [n, m]), np.zeros(m + n))
    assert auc == 0.5
    # KL(1/2 || θ) = -log(4 θ (1 - θ)) / 2 in closed form.
    half = np.sqrt(1 - np.exp(-2 * np.log(40) / k)) / 2
    np.testing.assert_allclose([low, high], [0.5 - half, 0.5 + half], atol=1e-11)
    assert std_error == pytest.approx(0.5 / np.sqrt(k))


@pytest.mark.parametrize("positives", [[6.5], [6.5, 6.5], [6.5] * 5])
def test_a_class_without_spread_gets_the_guaranteed_interval(positives):
    k = len(positives)
    y = np.repeat([0, 1], [9, k])
    auc, low, high, std_error = metrics.auc_interval(y, [*range(9), *positives])
    assert auc == pytest.approx(7 / 9)
    for theta in (low, high):
        divergence = auc * np.log(auc / theta) + (1 - auc) * np.log((1 - auc) / (1 - theta))
        assert k * divergence == pytest.approx(np.log(40), rel=1e-4)
    if k > 1:  # DeLong's, from the negatives alone: seven shares of 1 and two of 0
        assert std_error == pytest.approx(np.sqrt(9 / 8 * (7 / 9) * (2 / 9) / 9))


def test_the_interval_is_no_wider_than_that_of_as_many_coins():
    # Two positives far apart have a variance above the largest one of two coins, 1/4.
    y, score = np.repeat([0, 1], [20, 2]), [*range(20), 0.5, 18.5]
    auc, low, high, std_error = metrics.auc_interval(y, score)
    assert auc == 0.5
    assert std_error**2 > 1 / 8
    half = 0.5 * np.sqrt(3.841458820694124 / (2 + 3.841458820694124))  # Wilson's, of one in two
    np.testing.assert_allclose([low, high], [0.5 - half, 0.5 + half], rtol=1e-9)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("theta", "m", "n", "lowest"),
    [
        (0.7, 100, 100, 0.93), (0.9, 50, 300, 0.93), (0.6, 2, 300, 0.95), (0.9, 5, 5, 0.95),
        (0.95, 15, 300, 0.94), (0.98, 15, 300, 0.94), (0.98, 30, 300, 0.94), (0.98, 20, 20, 0.93),
    ],
)  # fmt: skip
@pytest.mark.parametrize("deviation", [0.5, 1, 2])
def test_interval_covers(theta, m, n, lowest, deviation):
    """Also where one class spreads twice as far as the other: some of its rows are far off."""
    rng = np.random.default_rng(20)
    y = np.repeat([0, 1], [n, m])
    spread = 1 + (deviation - 1) * y
    shift = np.sqrt(1 + deviation**2) * norm.ppf(theta)
    covered = 0
    for _ in range(250):
        interval = metrics.auc_interval(y, rng.normal(size=m + n) * spread + shift * y)
        covered += interval.low <= theta <= interval.high
    assert covered / 250 >= lowest - 0.015
    if min(m, n) >= 15:
        assert covered / 250 <= 0.99


def test_the_guarantee_holds_where_delong_fails():
    # All-or-nothing positives: in most samples DeLong's variance is zero, or an AUC of 1 is seen.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [100, 4])
    covered = 0
    for _ in range(400):
        interval = metrics.auc_interval(y, np.where(y == 1, rng.random(y.size) < 0.9, 0.5))
        covered += interval.low <= 0.9 <= interval.high
    assert covered / 400 >= 0.97


def weighted(positive, weight, *scores):
    """An AUC, or a difference of two, and its variance by definition; 0 for less than two rows."""
    u, w = weight[positive] / weight[positive].sum(), weight[~positive] / weight[~positive].sum()
    psi = 0.0
    for sign, score in zip((1, -1), scores, strict=False):
        a, b = score[positive][:, None], score[~positive][None, :]
        psi = psi + sign * ((a > b) + (a == b) / 2)
    total = 0.0
    for share, value in ((u, psi @ w), (w, u @ psi)):
        k = 1 / (share @ share)
        if k < 2:
            return u @ psi @ w, 0.0
        total += (share**2 @ (value - share @ value) ** 2) * k / (k - 1)
    return u @ psi @ w, total


@untimed
@given(samples(n_scores=2, min_class=2), st.integers(0, 2**32 - 1))
def test_weighted_intervals_equal_their_definition(sample, seed):
    y, a, b, _ = sample
    weight = np.random.default_rng(seed).exponential(size=y.size)
    auc, variance = weighted(y == 1, weight, a)
    interval = metrics.auc_interval(y, a, sample_weight=weight)
    assert interval.auc == pytest.approx(auc)
    assert interval.low <= interval.auc <= interval.high
    if variance > 1e-12:
        assert interval.std_error == pytest.approx(np.sqrt(variance))
    difference, variance = weighted(y == 1, weight, a, b)
    test = metrics.auc_test(y, a, b, sample_weight=weight)
    assert test.difference == pytest.approx(difference, abs=1e-12)
    if variance > 1e-12:
        assert test.z == pytest.approx(difference / np.sqrt(variance), abs=1e-9)
    found = metrics.auc_difference(y, a, b, sample_weight=weight)
    assert found.low <= found.difference <= found.high
    # rows that weigh nothing are not there
    more = (np.r_[y, y[::-1]], np.r_[a, b[::-1]], np.r_[b, a[::-1]])
    zeros = np.r_[weight, 0 * weight]
    assert metrics.auc_test(*more, sample_weight=zeros) == pytest.approx(test)
    # nor do equal weights change anything
    for function, scores in ((metrics.auc_interval, (a,)), (metrics.auc_difference, (a, b))):
        plain = function(y, *scores)
        assert function(y, *scores, sample_weight=np.full(y.size, 3.0)) == pytest.approx(plain)


def test_weighted_intervals_cover():
    rng = np.random.default_rng(2)

    def rows(n):
        y = rng.random(n) < 0.4
        score = rng.normal(size=n) + y
        # rows that weigh much are easier to rank: without weights the area is another
        return y, score, np.exp(0.7 * np.where(y, score, -score))

    truth = metrics.roc_auc(*rows(500_000))
    covered = plain = 0
    for _ in range(250):
        y, score, weight = rows(300)
        interval = metrics.auc_interval(y, score, sample_weight=weight)
        covered += interval.low <= truth <= interval.high
        interval = metrics.auc_interval(y, score)
        plain += interval.low <= truth <= interval.high
    assert 0.91 < covered / 250 < 0.99
    assert plain / 250 < 0.2


def test_a_row_that_weighs_as_much_as_all_others_proves_little():
    y, score = np.repeat([0, 1], [200, 100]), np.arange(300.0)
    score[[5, 250]] = score[[250, 5]]
    weight = np.where(np.arange(300) == 299, 1e9, 1.0)
    heavy = metrics.auc_interval(y, score, sample_weight=weight)
    assert heavy.low < 0.1 < 0.9 < heavy.auc
    assert metrics.auc_interval(y, score).low > 0.9
    assert metrics.auc_test(y, score, -score, sample_weight=weight).p_value > 0.1


def test_auc_test_holds_its_level():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [60, 60])
    signal = rng.normal(size=(500, 120)) + y
    p = [
        metrics.auc_test(y, s + rng.normal(size=120), s + rng.normal(size=120)).p_value
        for s in signal
    ]
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.08
    assert 0.42 < np.mean(p) < 0.58


def test_auc_test_of_scorers_that_rank_alike():
    for score in (SCORE, 0 * SCORE, Y):
        assert metrics.auc_test(Y, score, 3 * score + 1) == (0.0, 0.0, 1.0)
        assert metrics.auc_difference(Y, score, 3 * score + 1) == (0.0, 0.0, 0.0)


@untimed
@given(samples(n_scores=2, min_class=2), st.floats(0.5, 0.999))
def test_the_interval_of_a_difference_holds_what_the_test_does_not_reject(sample, confidence):
    y, a, b, _ = sample
    difference, low, high = metrics.auc_difference(y, a, b, confidence)
    test = metrics.auc_test(y, a, b)
    assert difference == test.difference
    assert -1 <= low <= difference <= high <= 1
    if test.p_value > 1 - confidence + 1e-9:
        assert low <= 0 <= high
    swapped = metrics.auc_difference(y, b, a, confidence)
    np.testing.assert_allclose(swapped, (-difference, -high, -low), atol=1e-12)
    narrower = metrics.auc_difference(y, a, b, confidence / 2)
    assert low <= narrower.low <= narrower.high <= high


def test_the_interval_of_a_difference_covers():
    rng = np.random.default_rng(5)
    y, covered = np.repeat([0, 1], [80, 60]), 0
    for _ in range(500):
        signal = rng.normal(size=140) + y
        a, b = signal + 0.5 * rng.normal(size=140), signal + 2 * rng.normal(size=140)
        _, low, high = metrics.auc_difference(y, a, b)
        # two normal samples a distance of 1 apart
        true = norm.cdf(1 / np.sqrt(2 * 1.25)) - norm.cdf(1 / np.sqrt(2 * 5))
        covered += low <= true <= high
    assert 0.92 < covered / 500 < 0.98


def test_the_interval_of_a_difference_is_delongs_with_two_more_rows_of_each_class():
    # By hand: V10 are (1, 1/2, 1) and (1/2, 1, 1), V01 (2/3, 1) and (1, 2/3): differences of
    # (1/2, -1/2, 0), mean size 1/3, and (-1/3, 1/3), mean size 1/3, with mean 0.
    y, a, b = [1, 1, 1, 0, 0], [4, 1, 5, 2, 0], [1, 4, 5, 0, 2]
    rows, size, square, variance = np.array([3, 2]), 1 / 3, np.array([1 / 6, 1 / 9]), [1 / 4, 2 / 9]
    seen = rows * size**2 / (np.array(variance))  # of the variances with one row less
    expected = np.sum((seen * variance + 2 * size) / (seen + 2) / rows)
    assert square.sum() < sum(variance)
    difference, low, high = metrics.auc_difference(y, a, b)
    assert difference == 0.0
    np.testing.assert_allclose([-low, high], norm.isf(0.025) * np.sqrt(expected))
    assert metrics.auc_test(y, a, b).z == 0.0


@pytest.mark.parametrize(("theta", "deviation"), [(0.95, 1), (0.98, 1), (0.95, 2), (0.98, 2)])
def test_the_interval_of_a_difference_covers_with_few_positives(theta, deviation):
    rng = np.random.default_rng(6)
    y, covered, accepted = np.repeat([0, 1], [200, 20]), 0, 0
    spread = 1 + (deviation - 1) * y
    shift = np.sqrt(1 + deviation**2) * norm.ppf(theta) * y
    for _ in range(250):
        common, *own = rng.normal(size=(3, 220))
        a, b = (shift + spread * (0.7 * common + np.sqrt(0.51) * each) for each in own)
        _, low, high = metrics.auc_difference(y, a, b)
        covered += low <= 0 <= high
        accepted += metrics.auc_test(y, a, b).p_value > 0.05
    assert covered / 250 >= 0.93
    assert accepted <= covered


@pytest.mark.parametrize(("m", "n", "k"), [(2, 5, 2), (12, 8, 8), (3000, 3000, 3000)])
def test_auc_test_without_variance_is_a_sign_test(m, n, k):
    y = np.repeat([0, 1], [n, m])
    up = np.arange(y.size)
    difference, z, p_value = metrics.auc_test(y, up, -up)
    assert difference == 1.0
    assert p_value == pytest.approx(2.0 ** (1 - k))
    assert np.isfinite(z)
    if k < 100:
        assert z == pytest.approx(norm.isf(p_value / 2))
    else:
        assert z > 50
    assert metrics.auc_test(y, -up, up) == (-difference, -z, p_value)
    # Perfect against no information: half the difference, by the same bound.
    expected = min(1.0, 2 * (0.75**0.75 * 0.25**0.25 * 2) ** -k)
    assert metrics.auc_test(y, up, 0 * up).p_value == pytest.approx(expected)


@pytest.mark.parametrize("y", [[0, 0, 0, 1], [1, 1, 1, 0]])
def test_auc_test_with_one_row_in_a_class_proves_nothing(y):
    assert metrics.auc_test(y, y, np.negative(y)) == (1.0, 0.0, 1.0)


def test_components_that_differ_by_a_constant_have_no_variance():
    # Every positive gains one of three negatives, every negative loses the same share.
    y = np.array([0, 0, 0, 1, 1, 1])
    a, b = np.array([0, 2, 4, 1, 3, 5]), np.array([1, 3, 5, 0, 2, 4])
    difference, z, p_value = metrics.auc_test(y, a, b)
    assert difference == pytest.approx(1 / 3)
    assert p_value == 1.0
    assert z == 0.0


# --------------------------------------------------------------------------- large counts


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_pair_counts_beyond_32_bits(dtype):
    n = 70_000
    y = np.repeat(np.array([0, 1], dtype=dtype), n)
    score = np.concatenate([np.arange(n), np.arange(n)]).astype(np.int32)
    assert metrics.roc_auc(y, score) == 0.5
    halves = np.where(y == 1, score // 40_000, 0)  # 30,000 positives above, 40,000 tied with all
    assert metrics.roc_auc(y, halves) == pytest.approx(5 / 7)
    assert metrics.roc_auc(y, score + y.astype(np.int32)) == pytest.approx(0.5 + (n - 0.5) / n**2)
    auc, low, high, std_error = metrics.auc_interval(y, score)
    assert auc == 0.5
    # Two uniform samples: the variance is (m + n + 1) / (12 m n).
    assert std_error == pytest.approx(np.sqrt((2 * n + 1) / (12 * n * n)), rel=1e-4)
    assert 0.49 < low < 0.5 < high < 0.51
    # All wrong but for the top half of the positives, against the half turned round.
    difference, z, _ = metrics.auc_test(y, score, np.where(y == 1, n - score, score))
    assert abs(difference) < 1e-4
    assert abs(z) < 0.1


def test_interval_covers_under_heavy_tails():
    """Of Student's t with three degrees of freedom: rare positives are ranked among the worst."""
    rng = np.random.default_rng(7)
    y, shift = np.repeat([0, 1], [300, 50]), 4.9723
    quantiles = t.ppf((np.arange(2000) + 0.5) / 2000, 3)
    theta = float(t.cdf(quantiles + shift, 3).mean())
    assert theta == pytest.approx(0.98, abs=5e-4)
    covered = 0
    for _ in range(600):
        interval = metrics.auc_interval(y, rng.standard_t(3, size=350) + shift * y)
        covered += interval.low <= theta <= interval.high
    assert covered / 600 >= 0.925


def test_an_area_is_never_above_one_nor_the_interval_closed():
    n = 50_000
    y = np.repeat([0, 1], n)
    score = np.arange(2.0 * n)
    score[[n - 1, n]] = score[[n, n - 1]]  # one wrong pair of 2.5e9
    auc, low, high, std_error = metrics.auc_interval(y, score)
    assert 1 - auc == pytest.approx(1 / n**2, rel=1e-6)
    assert std_error == pytest.approx(np.sqrt(2) / n**2, rel=1e-4)
    # one wrong pair says little of how often rows are far off: about as n coins of which none fell
    assert 1 - low == pytest.approx(norm.isf(0.025) ** 2 / n, rel=0.01)
    assert auc < high < 1


@untimed
@given(arrays(float, 40, elements=st.floats(0.001, 1000)))
def test_rounding_of_weights_never_carries_a_value_above_one(weight):
    y = np.repeat([0, 1], 20)
    score = np.arange(40)
    for name, metric in METRICS.items():
        value = metric(y, score, sample_weight=weight)
        assert np.max(value) <= 1.0, name
        assert np.min(value) >= 0.0, name
    assert metrics.roc_auc(y, score, weight) == 1.0
    assert metrics.roc_auc(y, -score, weight) == 0.0


def test_weights_of_any_size():
    expected = metrics.average_precision(Y, SCORE, [1, 2, 3, 4, 5])
    for scale in (5e-324, 1e-310, 3e307):
        weight = np.array([1, 2, 3, 4, 5]) * scale
        assert metrics.average_precision(Y, SCORE, weight) == pytest.approx(expected)


@pytest.mark.parametrize("score", [[*range(9), 0.5], [*range(9), 7.5], [*range(99), 0.5]])
def test_the_guaranteed_interval_far_from_its_mean(score):
    # One positive: an end of the interval may be nearer to 0 or 1 than any float.
    y = np.repeat([0, 1], [len(score) - 1, 1])
    for confidence in (0.5, 0.95, 0.9999):
        auc, low, high, _ = metrics.auc_interval(y, score, confidence)
        assert 0 <= low < auc < high <= 1
        for theta in (low, high):
            if 1e-300 < theta < 1 - 1e-9:
                terms = auc * np.log(auc / theta), (1 - auc) * np.log((1 - auc) / (1 - theta))
                assert sum(terms) == pytest.approx(np.log(2 / (1 - confidence)))


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1, 1, 1], "y has only one class, 1; it needs at least one positive and one neg"),
        (["a"] * 5, "y has only one class, 'a'"),
        ([0, 1, 2, 1, 0], r"y has 3 labels \(0, 1, 2\); give two, or name .* pos_label"),
        ([0.1, 0.2, 0.3, 0.4, 0.5], r"y has 5 labels"),
        ([0, 1, np.nan, 1, 0], "y has missing labels"),
        (["a", "b", None, "b", "a"], "y has missing labels"),
        ([None] * 5, "y has missing labels"),
        (np.array(["a", 1, "a", 1, 1], dtype=object), "labels of different types"),
        (Y[:4], "score(_a)? must have one value per row of y, 4; got 5"),
        (Y[:, None], r"y must be one-dimensional \(ravel it\); got shape \(5, 1\)"),
        (1, r"y must be one-dimensional; got shape \(\)"),
        ([[0, 1], [1]], "y must be one-dimensional; got rows of unequal length"),
        ([], "y is empty"),
    ],
)
@each_function
def test_bad_labels(function, y, message):
    with pytest.raises(ValueError, match=message):
        function(y, SCORE)


def test_many_labels_are_not_all_shown():
    with pytest.raises(ValueError, match=r"y has 9 labels \(0, 1, 2, 3, 4, \.\.\.\);"):
        metrics.roc_auc(np.arange(9), np.arange(9))


@each_function
def test_bad_pos_label(function):
    with pytest.raises(ValueError, match="pos_label='1' is not a label of y: 0, 1"):
        function(Y, SCORE, pos_label="1")
    with pytest.raises(ValueError, match="y has only one class, 1"):
        function(np.ones(5, dtype=int), SCORE, pos_label=1)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ([0, np.nan, 1, np.nan, 2], "has 2 NaN, the first in row 1; every row needs a number"),
        ([0, None, 1, 2, 3], "has 1 NaN, the first in row 1"),
        ([0, 1, 2, 3], "must have one value per row of y, 5; got 4"),
        (np.ones((5, 1)), r"must be one-dimensional \(ravel it\); got shape \(5, 1\)"),
        (np.ones((5, 2)), r"must be one-dimensional \(pass one column, score(_a)?\[:, 1\]\)"),
        (list("abcde"), "must be real numbers; got text"),
        (np.array(list("12345"), dtype=object), "must be real numbers; got text"),
        (np.array([0, 1, 2, 3, {}], dtype=object), "must be numbers, none of them missing"),
        (1j * np.ones(5), "must be real numbers; got complex128"),
    ],
)
@each_function
def test_bad_scores(function, score, message):
    with pytest.raises(ValueError, match="^score(_a)? " + message):
        function(Y, score)


def test_scores_of_the_test_are_told_apart():
    with pytest.raises(ValueError, match="score_a has 5 NaN"):
        metrics.auc_test(Y, SCORE * np.nan, SCORE)
    with pytest.raises(ValueError, match="score_b must have one value per row of y, 5; got 2"):
        metrics.auc_test(Y, SCORE, SCORE[:2])
    with pytest.raises(ValueError, match="score_b has 5 NaN"):
        metrics.auc_test(Y, SCORE, SCORE * np.nan)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 1, -2, 1, 1], r"must be finite and not negative; got -2\.0 in row 2"),
        ([1, 1, 1, np.nan, 1], "must be finite and not negative; got nan in row 3"),
        ([np.inf, 1, 1, 1, 1], "must be finite and not negative; got inf in row 0"),
        (np.zeros(5), "is zero in every row; at least one must be positive"),
        ([1, 1, 1], "must have one value per row of y, 5; got 3"),
        (np.ones((5, 1)), r"must be one-dimensional \(ravel it\)"),
        (["1"] * 5, "must be real numbers; got text"),
        (1.0, "must be one-dimensional"),
    ],
)
@each_metric
def test_bad_weights(metric, weight, message):
    with pytest.raises(ValueError, match="^sample_weight " + message):
        metric(Y, SCORE, sample_weight=weight)


@each_metric
def test_all_zero_weights_in_one_class(metric):
    message = "y has only one class in the rows of non-zero sample_weight, 0; it needs"
    with pytest.raises(ValueError, match=message):
        metric(Y, SCORE, sample_weight=1 - Y)
    message = "pos_label=1 is not a label of y in the rows of non-zero sample_weight: 0"
    with pytest.raises(ValueError, match=message):
        metric(Y, SCORE, sample_weight=1 - Y, pos_label=1)


def test_the_row_of_a_nan_is_counted_before_rows_are_dropped():
    with pytest.raises(ValueError, match="score has 1 NaN, the first in row 3"):
        metrics.roc_auc(Y, [np.nan, 1, 2, np.nan, 3], [0, 1, 1, 1, 1])


@pytest.mark.parametrize("max_fpr", [0, -0.1, 1.01, np.nan, "0.1x", None])
def test_bad_max_fpr(max_fpr):
    with pytest.raises(ValueError, match=r"max_fpr must be a number in \(0, 1\]; got"):
        metrics.partial_auc(Y, SCORE, max_fpr)
    if max_fpr != 0:
        with pytest.raises(ValueError, match=r"max_fpr must be a number in \[0, 1\]; got"):
            metrics.recall_at_fpr(Y, SCORE, max_fpr)


@pytest.mark.parametrize("k", [0, -1, 6])
def test_k_out_of_range(k):
    with pytest.raises(ValueError, match=f"k must be from 1 to the number of rows, 5; got {k}"):
        metrics.precision_at_k(Y, SCORE, k)


@pytest.mark.parametrize("k", [2.0, "2", None, -0.5])
def test_k_not_whole(k):
    with pytest.raises(
        ValueError, match="k must be a whole number of rows, at least 1, or a share"
    ):
        metrics.precision_at_k(Y, SCORE, k)


def test_k_counts_rows_of_non_zero_weight():
    weight = [1, 1, 1, 0, 1]
    assert metrics.precision_at_k(Y, SCORE, np.int8(4), weight) == 0.75
    with pytest.raises(ValueError, match="number of rows, 4; got 5"):
        metrics.precision_at_k(Y, SCORE, 5, weight)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, np.nan, "high"])
def test_bad_confidence(confidence):
    with pytest.raises(ValueError, match=r"confidence must be a number in \(0, 1\); got"):
        metrics.auc_interval(Y, SCORE, confidence)
    with pytest.raises(ValueError, match=r"confidence must be a number in \(0, 1\); got"):
        metrics.auc_difference(Y, SCORE, -SCORE, confidence)


def test_public_names():
    others = {"concordance", "moment_auc", "multiclass_auc", "population_stability"}
    others |= {"unlabelled_auc"}  # tested elsewhere
    intervals = {name for name in metrics.__all__ if name.endswith(("_interval", "_test"))}
    functions = {*METRICS, *UNWEIGHTED, *others, *intervals}
    results = {"AUCDifference", "AUCInterval", "AUCTest", "BinnedAUC", "MomentAUC"}
    results |= {"MeasureInterval", "MeasureTest"}
    assert set(metrics.__all__) == functions | results
    assert metrics.auc_interval(Y, SCORE)._fields == ("auc", "low", "high", "std_error")
    assert metrics.auc_test(Y, SCORE, SCORE)._fields == ("difference", "z", "p_value")
