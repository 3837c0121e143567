"""Scores in fixed memory: the error told is never exceeded, and sketches add up bit for bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucmax import ScoreSketch, metrics
from aucmax.basics.errors import ModelFileError
from aucmax.metrics.binned import binned_auc
from oracles import binned

untimed = settings(deadline=None, derandomize=True, max_examples=40)
# ties, heavy tails, denormals, both zeros, infinities, and neighbours
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0, np.nextafter(1.0, 2.0), np.inf, -np.inf]),
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False),
    st.floats(-2.0, 2.0),
)


@st.composite
def samples(draw):
    """Labels with both classes, scores, whole weights, and few bins."""
    n = draw(st.integers(2, 30))
    y = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]
    score = draw(st.lists(SCORES, min_size=n, max_size=n))
    weight = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return np.array(y), np.array(score), np.array(weight), draw(st.integers(2, 12))


def parts(n, seed, k=4):
    """Some rows of n in each of k parts, in any order."""
    rng = np.random.default_rng(seed)
    return np.array_split(rng.permutation(n), np.sort(rng.integers(0, n + 1, size=k - 1)))


@untimed
@given(samples())
def test_area_and_error_are_those_of_the_bins(sample):
    y, score, _, bins = sample
    found = ScoreSketch(bins=bins).update(y, score).auc()
    auc, error = binned.area_and_error(y == 1, score.tolist(), bins)
    assert found.auc == pytest.approx(auc, abs=1e-14)
    assert found.error == pytest.approx(error, abs=1e-14)


@untimed
@given(samples())
def test_the_area_of_the_scores_is_within_the_error_that_is_told(sample):
    y, score, weight, bins = sample
    for of_rows in (None, weight):
        found = ScoreSketch(bins=bins).update(y, score, of_rows).auc()
        assert abs(metrics.roc_auc(y, score, of_rows) - found.auc) <= found.error + 1e-14
        assert 0.0 <= found.low <= found.auc <= found.high <= 1.0


@pytest.mark.parametrize("near", [1.0 - 2.0**-50, 1.0 + 2.0**-50])
def test_the_error_is_reached(near):
    y, score = [0, 0, 1], [-1.0, 1.5, 1.5 * near]
    found = ScoreSketch(bins=2).update(y, score).auc()
    assert (found.auc, found.error) == (0.75, 0.25)
    assert abs(metrics.roc_auc(y, score) - found.auc) == found.error


@untimed
@given(samples(), st.integers(0, 2**32))
def test_any_parts_in_any_order_add_up_bit_for_bit(sample, seed):
    y, score, weight, bins = sample
    whole = ScoreSketch(bins=bins).update(y, score, weight)
    chosen = parts(len(y), seed)
    a, b, c, d = (
        ScoreSketch(bins=bins).update(y[rows], score[rows], weight[rows]) for rows in chosen
    )
    assert (a + b) + (c + d) == whole
    assert a + (b + (c + d)) == whole
    assert d + c + b + a == whole
    assert sum([c, a, d, b]) == whole
    by_parts = ScoreSketch(bins=bins)
    for rows in chosen:
        by_parts.update(y[rows], score[rows], weight[rows])
    assert by_parts == whole
    assert (a + b + c + d).auc() == whole.auc()


@untimed
@given(samples())
def test_turned_labels_turn_the_area(sample):
    y, score, _, bins = sample
    found = ScoreSketch(bins=bins).update(y, score).auc()
    turned = ScoreSketch(bins=bins, pos_label=0).update(y, score).auc()
    assert turned.auc == pytest.approx(1.0 - found.auc, abs=1e-14)
    assert turned.error == found.error


def test_units_do_not_matter():
    rng = np.random.default_rng(4)
    y = rng.random(3000) < 0.3
    score = rng.normal(size=3000) + y
    first = ScoreSketch(bins=300).update(y, score).auc()
    assert first.error > 0.0
    for unit in (1e-200, 0.017, 1e6, 1e200):
        assert ScoreSketch(bins=300).update(y, unit * score).auc().error < 2.0 * first.error
    assert ScoreSketch(bins=300).update(y, 2.0**-100 * score).auc() == first


@pytest.mark.parametrize("weighted", [False, True])
def test_all_scores_kept_give_the_interval_of_the_scores(weighted):
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.3
    score = (rng.normal(size=600) + y).round(2)
    weight = rng.integers(0, 4, size=600) if weighted else None
    found = ScoreSketch().update(y, score, weight).auc(0.9)
    assert found.error == 0.0
    expected = metrics.auc_interval(y, score, 0.9, sample_weight=weight)
    np.testing.assert_allclose(found[:4], expected, rtol=1e-12)


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 1], [0, 0, 1, 1, 1]], ids=str)
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_intervals_of_few_rows_are_those_of_the_scores(y, gap):
    score = gap * np.array(y)
    found = ScoreSketch().update(y, score).auc()
    np.testing.assert_allclose(found[:4], metrics.auc_interval(y, score), rtol=1e-12)


@pytest.mark.parametrize(
    "scores",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.standard_cauchy(n) ** 3,
        lambda rng, n: 1e9 + rng.normal(size=n),
        lambda rng, n: np.exp(-rng.exponential(10.0, size=n)),
    ],
    ids=["normal", "heavy", "far", "rare"],
)
def test_memory_is_fixed_and_the_error_small(scores):
    rng = np.random.default_rng(1)
    sketch = ScoreSketch(bins=4096)
    for _ in range(12):
        y = rng.random(10_000) < 0.2
        sketch.update(y, scores(rng, 10_000) * np.where(y, 1.5, 1.0))
    assert sketch.auc().error < 0.003
    assert sketch.counts.sum() == 120_000
    assert len(pickle.dumps(sketch)) <= 48 * 4096 + 2000


def test_a_score_that_many_rows_share_costs_nothing():
    rng = np.random.default_rng(2)
    y = rng.random(20_000) < 0.3
    score = np.where(rng.random(20_000) < 0.9, 0.0, rng.normal(size=20_000))
    assert ScoreSketch(bins=500).update(y, score).auc().error < 1e-3


def test_rows_one_by_one_and_labels_as_they_come():
    y, score = ["yes", "yes", "no", "yes"], [0.4, 0.2, 0.3, 0.9]
    sketch = ScoreSketch()
    for label, z in zip(y, score, strict=True):
        sketch.update([label], [z])
    assert sketch.labels == ["no", "yes"]
    assert sketch == ScoreSketch().update(y, score)
    assert repr(sketch) == "ScoreSketch({no: 1, yes: 3})"
    assert sketch.auc().auc == pytest.approx(metrics.roc_auc(y, score))
    only = ScoreSketch().update(["yes"], [0.5])
    assert only + ScoreSketch().update(["no"], [0.1]) == ScoreSketch().update(
        ["no", "yes"], [0.1, 0.5]
    )


def test_one_label_against_all_others():
    y, score = [0, 1, 2, 1, 0], [0.1, 0.9, 0.3, 0.2, 0.7]
    found = ScoreSketch(pos_label=1).update(y, score).auc().auc
    assert found == metrics.roc_auc(y, score, pos_label=1)


def test_a_file_holds_the_sketch(tmp_path):
    rng = np.random.default_rng(3)
    y = np.where(rng.random(3000) < 0.3, "ill", "well")
    sketch = ScoreSketch(pos_label="ill", bins=300).update(y, rng.normal(size=3000))
    sketch.save(tmp_path / "scores")
    found = ScoreSketch.load(tmp_path / "scores")
    assert found == sketch
    more = rng.normal(size=3000)
    assert found.update(y, more).auc() == sketch.update(y, more).auc()
    (tmp_path / "other").write_bytes((tmp_path / "scores").read_bytes()[:-3])
    with pytest.raises(ModelFileError, match="was cut short or changed"):
        ScoreSketch.load(tmp_path / "other")


# ---- decay


def by_hand(y, score, weight, half_life, now=None):
    """The AUC of scores whose weights halve after so many rows, and the weights."""
    now = len(y) - 1 if now is None else now
    decayed = weight * 0.5 ** ((now - np.arange(len(y))) / half_life)
    return metrics.roc_auc(y, score, np.maximum(decayed, 1e-300)), decayed


@untimed
@given(samples(), st.floats(1.0, 100.0))
def test_a_half_life_weights_rows_by_their_age(sample, half_life):
    y, score, weight, bins = sample
    true, decayed = by_hand(y, score, weight, half_life)
    sketch = ScoreSketch(half_life=half_life).update(y, score, weight)
    np.testing.assert_allclose(sketch.counts, [decayed[y == k].sum() for k in (0, 1)])
    assert sketch.auc().auc == pytest.approx(true, abs=1e-12)
    np.testing.assert_allclose(sketch.auc(), ScoreSketch().update(y, score, decayed).auc())
    binned = ScoreSketch(bins=bins, half_life=half_life).update(y, score, weight).auc()
    assert abs(binned.auc - true) <= binned.error + 1e-12


@untimed
@given(samples(), st.floats(0.01, 1.0))
def test_decay_multiplies_the_weights_so_far(sample, gamma):
    y, score, weight, bins = sample
    old = ScoreSketch(bins=bins).update(y, score, weight)
    same = ScoreSketch(bins=bins).update(y, score, weight)
    sketch = old.decay(gamma).update(1 - y, score)
    assert old == same
    both = np.concatenate([y, 1 - y]), np.tile(score, 2)
    decayed = np.concatenate([gamma * weight, np.ones(len(y))])
    expected = ScoreSketch(bins=bins).update(*both, decayed)
    np.testing.assert_allclose(sketch.counts, expected.counts)
    np.testing.assert_allclose(sketch.auc(), expected.auc(), atol=1e-12)


@untimed
@given(samples(), st.integers(0, 2**32), st.floats(0.01, 1.0))
def test_decayed_sketches_add(sample, seed, gamma):
    y, score, weight, bins = sample
    a, b, c, d = (
        ScoreSketch(bins=bins).update(y[rows], score[rows], weight[rows])
        for rows in parts(len(y), seed)
    )
    assert a.decay(gamma) + b.decay(gamma) == (a + b).decay(gamma)
    assert a.decay(gamma) + ScoreSketch(bins=bins) == a.decay(gamma)
    mixed = sum([a.decay(gamma), b, c.decay(gamma**2), d])
    order = np.concatenate(parts(len(y), seed))
    shares = np.repeat([gamma, 1.0, gamma**2, 1.0], [len(p) for p in parts(len(y), seed)])
    expected = ScoreSketch(bins=bins).update(y[order], score[order], shares * weight[order])
    np.testing.assert_allclose(mixed.counts, expected.counts)
    np.testing.assert_allclose(mixed.auc(), expected.auc(), atol=1e-12)


@untimed
@given(samples(), st.integers(0, 2**32), st.floats(1.0, 50.0))
def test_neither_batches_nor_looks_change_a_bit(sample, seed, half_life):
    y, score, weight, bins = sample
    rng = np.random.default_rng(seed)
    for life in (half_life, None):
        weight = rng.exponential(size=len(y))
        whole = ScoreSketch(1, bins, life).update(y, score, weight)
        by_batches = ScoreSketch(1, bins, life)
        for rows in np.split(np.arange(len(y)), np.sort(rng.integers(0, len(y), 4))):
            by_batches.update(y[rows], score[rows], weight[rows])
            if rng.random() < 0.5:
                assert by_batches.counts.shape == (2,)
        assert by_batches == whole


@pytest.mark.parametrize("half_life", [1.0, 37.5])
def test_old_rows_fade_without_overflow(half_life, tmp_path):
    rng = np.random.default_rng(5)
    y, score = rng.integers(0, 2, 30_000), rng.normal(size=30_000)
    whole = ScoreSketch(1, 300, half_life).update(y, score)
    last = slice(30_000 - int(60 * half_life), None)
    assert whole.auc().auc == pytest.approx(
        by_hand(y[last], score[last], 1.0, half_life)[0], abs=0.01
    )
    parted = ScoreSketch(1, 300, half_life)
    for rows in np.array_split(np.arange(30_000), 7):
        parted.update(y[rows], score[rows]).save(tmp_path / "scores")
        parted = ScoreSketch.load(tmp_path / "scores")
    assert parted == whole
    # one class has not been seen for so long that it counts as nothing
    whole.update(np.zeros(20_000), np.zeros(20_000)).save(tmp_path / "scores")
    assert ScoreSketch.load(tmp_path / "scores") == whole
    assert whole.counts[1] < 1e-100
    assert whole.decay(1e-300).decay(1e-300).counts.sum() == 0.0


def test_a_file_keeps_the_decay(tmp_path):
    rng = np.random.default_rng(6)
    y, score = rng.integers(0, 2, 500), rng.normal(size=500)
    sketch = ScoreSketch(bins=50, half_life=20.0).update(y, score).decay(0.7)
    sketch.save(tmp_path / "scores")
    loaded = ScoreSketch.load(tmp_path / "scores")
    assert loaded == sketch
    assert loaded.half_life == 20.0
    assert loaded.update(y, -score) == sketch.update(y, -score)


@pytest.mark.parametrize(("half_life", "each", "calls"), [(None, 9e147, 1), (2.0, 1e136, 0)])
def test_weights_too_large_together_are_refused_before_they_are_counted(
    half_life, each, calls, tmp_path
):
    rng = np.random.default_rng(0)
    y, score, weight = np.tile([0, 1], 50), rng.normal(size=100), np.full(100, each)
    sketch = ScoreSketch(half_life=half_life).update(["a", "b"], [1.0, 2.0])
    with pytest.raises(ValueError, match="labels must be all numbers"):
        sketch.update(y, score)
    sketch, message = ScoreSketch(half_life=half_life), "too large to compute with; multiply all"
    for _ in range(calls):
        sketch.update(y, score, weight)
    before = pickle.dumps(sketch)
    with pytest.raises(ValueError, match=message):
        sketch.update(y, score, weight)
    assert sketch == pickle.loads(before)
    sketch.save(tmp_path / "a.scores")
    assert ScoreSketch.load(tmp_path / "a.scores") == sketch
    if half_life is None:
        with pytest.raises(ValueError, match=message):
            sketch + sketch


def test_wrong_decay_is_refused():
    for gamma in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match=r"gamma must be a number in \(0, 1\]"):
            ScoreSketch().decay(gamma)
    with pytest.raises(ValueError, match="half_life must be a number in"):
        ScoreSketch(half_life=0.5)
    with pytest.raises(ValueError, match=r"half_life=None and 5.0 cannot be added"):
        ScoreSketch() + ScoreSketch(half_life=5.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 1, 2], [1.0, 2.0, 3.0]), "there are more than two labels: .*pos_label"),
        (([0, None], [1.0, 2.0]), "y must be numbers or text"),
        ((["a", "b"], [1.0, 2.0]), "labels must be all numbers, or all text"),
        (([0, 1], [1.0, np.nan]), "score has 1 NaN, the first in row 1"),
        (([0, 1], [1.0]), "score must have one value per row of y, 2; got 1"),
        (([0, 1], [1, 2**53 + 1]), "numbers that float64 cannot represent"),
        (([0, 1], [1.0, 2.0], [1.0, -1.0]), "sample_weight must not be negative"),
    ],
)
def test_what_is_refused_changes_nothing(given, message):
    sketch, same = (ScoreSketch().update([0, 1], [0.2, 0.3]) for _ in range(2))
    with pytest.raises(ValueError, match=message):
        sketch.update(*given)
    assert sketch == same


def test_what_cannot_be_told_or_added():
    with pytest.raises(ValueError, match="needs rows of two classes"):
        ScoreSketch().update([1, 1], [0.2, 0.3]).auc()
    with pytest.raises(ValueError, match="bins=4 and 8 cannot be added"):
        ScoreSketch(bins=4) + ScoreSketch(bins=8)
    with pytest.raises(ValueError, match=r"bins must be a whole number in \[2, 1e\+09\]"):
        ScoreSketch(bins=2**70)  # more than a kernel can count
    with pytest.raises(ValueError, match="bins must be a whole number"):
        ScoreSketch(bins=1)


def test_squares_of_weights_that_decay_has_lost_break_nothing():
    """Squared weights underflow before the weights do."""
    weight = np.array([[1.0, 1.0, 0.0, 1e-200, 0.0], [0.0, 0.0, 1.0, 0.0, 1.0]])
    auc, low, high, *_ = binned_auc(weight, weight**2, False, 0.95)
    assert 0.0 <= low < auc <= high <= 1.0
