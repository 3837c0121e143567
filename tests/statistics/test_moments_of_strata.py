"""Moments within strata: sums over whole strata, which merge, leave and are kept in files."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.oracles import strata as oracle

from aucmax import AUCClassifier, ClassMoments, load, save
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.frequent_directions import FrequentDirections

MODES = ("positives", "pairs", "strata")


def drawn(n=240, groups=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    stratum, y = rng.integers(0, groups, n), (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d)) + y[:, None] + 9.0 * rng.normal(size=(groups, d))[stratum]
    return X, y, stratum, rng.random(n) + 0.1


def close(a, b, **tol):
    assert a.kept.keys() == b.kept.keys()
    for name, values in a.kept.items():
        if name == "rows":  # of a sketch, whose signs are arbitrary
            values, b_rows = np.abs(values), np.abs(b.kept[name])
            np.testing.assert_allclose(values, b_rows, **tol)
            continue
        np.testing.assert_allclose(values, b.kept[name], err_msg=name, **tol)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_they_are_those_of_the_pairs(mode, form):
    X, y, stratum, weight = drawn()
    moments = ClassMoments.from_data(form(X), y, weight, strata=stratum, strata_weight=mode)
    square, linear = oracle.moments(X, y, stratum, weight, mode)
    delta = moments.mean_pos - moments.mean_neg
    within = moments.cov_pos + moments.cov_neg
    np.testing.assert_allclose(delta, linear, atol=1e-12)
    np.testing.assert_allclose(within + np.outer(delta, delta), square, rtol=1e-9)
    np.testing.assert_allclose(
        moments.spread_within_strata, oracle.spread(X, y, stratum, weight, mode), rtol=1e-10
    )
    diagonal = DiagonalMoments().update(form(X), y, weight, stratum, mode)
    np.testing.assert_allclose(diagonal.variances, moments.variances, rtol=1e-9)
    np.testing.assert_allclose(diagonal.means, moments.means, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_a_shift_of_a_stratum_changes_only_the_means(mode):
    X, y, stratum, weight = drawn()
    known = {"strata": stratum, "strata_weight": mode}
    shifted = X + 1e4 * np.random.default_rng(1).normal(size=(30, 3))[stratum]
    moved = ClassMoments.from_data(shifted, y, weight, **known)
    moments = ClassMoments.from_data(X, y, weight, **known)
    np.testing.assert_allclose(moved.covs, moments.covs, atol=1e-9)
    np.testing.assert_allclose(moved.spread_within_strata, moments.spread_within_strata, rtol=1e-9)


@pytest.mark.parametrize("empty", [ClassMoments(), DiagonalMoments(), FrequentDirections(rank=3)])
def test_strata_are_added_taken_out_and_kept_in_files(empty, tmp_path):
    X, y, stratum, weight = drawn()
    early = stratum < 11
    first, second, whole = (
        empty.copy().update(X[rows], y[rows], weight[rows], stratum[rows])
        for rows in (early, ~early, slice(None))
    )
    close(first + second, whole, rtol=1e-9, atol=1e-10)
    close(sum([first, second]), whole, rtol=1e-9, atol=1e-10)
    close(first.copy().update(X[~early], y[~early], weight[~early], stratum[~early]), whole,
          rtol=1e-9, atol=1e-10)  # fmt: skip
    assert empty + first == first
    if not isinstance(empty, FrequentDirections):
        close(whole - second, first, rtol=1e-8, atol=1e-9)
    strata = (first + second).strata
    assert (len(strata), strata.weighting) == (len(np.unique(stratum)), "positives")
    halved = whole.decay(0.5)
    np.testing.assert_allclose(halved.spread_within_strata, whole.spread_within_strata)
    whole.save(tmp_path / "strata.moments")
    loaded = type(empty).load(tmp_path / "strata.moments")
    assert loaded == whole
    np.testing.assert_array_equal(loaded.strata.digests, whole.strata.digests)
    assert (loaded.strata.positive, loaded.strata.of_one_class) == (1, whole.strata.of_one_class)
    np.testing.assert_array_equal(loaded.strata.rows, whole.strata.rows)


@pytest.mark.parametrize("empty", [ClassMoments(), DiagonalMoments()])
def test_part_of_a_stratum_cannot_be_taken_out(empty, tmp_path):
    X, y, stratum, weight = drawn()
    weight[stratum == 5] *= np.arange(np.sum(stratum == 5)) > 0  # a row of weight 0 is none
    whole = empty.copy().update(X, y, weight, stratum)
    whole.save(tmp_path / "whole.moments")
    before, loaded = whole.copy(), type(empty).load(tmp_path / "whole.moments")
    joined = sum(
        empty.copy().update(X[part], y[part], weight[part], stratum[part])
        for part in (stratum < 11, stratum >= 11)
    )
    save(AUCClassifier().fit(X, y, weight, strata=stratum), tmp_path / "model")
    model = load(tmp_path / "model")
    coef = model.coef_
    rows = np.isin(stratum, [3, 4, 5]) & (weight > 0.0)
    for gone in [3], [3, 4]:
        kept = rows.copy()
        kept[[np.flatnonzero(stratum == g)[0] for g in gone]] = False
        part = X[kept], y[kept], weight[kept], stratum[kept]
        count = {1: "1 stratum to subtract has", 2: "2 strata to subtract have"}[len(gone)]
        sentence = f"^{count} another number of rows than was added; give whole strata"
        for moments in (whole, loaded, joined, whole.relabelled(["a", "b"])):
            taken = empty.copy().update(*part).relabelled(moments.classes)
            with pytest.raises(ValueError, match=sentence):
                moments - taken
        with pytest.raises(ValueError, match=sentence):
            model.forget(*part)
    assert whole == before
    np.testing.assert_array_equal(model.coef_, coef)
    part = X[rows], y[rows], weight[rows], stratum[rows]
    others = whole - empty.copy().update(*part)
    assert len(others.strata) == len(whole.strata) - 3
    model.forget(*part)
    rest = ~np.isin(stratum, [3, 4, 5])
    again = AUCClassifier().fit(X[rest], y[rest], weight[rest], strata=stratum[rest])
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-8)
    of_numbers = whole.strata
    assert of_numbers.rows.nbytes + of_numbers.digests.nbytes == 16 * len(of_numbers)


def test_other_rows_of_a_class_in_a_stratum_are_told_as_well():
    X, y, stratum, _ = drawn()
    flipped = np.where(np.arange(240) == 7, 1 - y, y)  # as many rows, not as many positives
    gone = ClassMoments.from_data(X, flipped, strata=stratum)
    with pytest.raises(ValueError, match="1 stratum to subtract has another number of rows"):
        ClassMoments.from_data(X, y, strata=stratum) - gone


def test_labels_may_be_called_otherwise():
    X, y, stratum, _ = drawn()
    words = np.array(["good", "bad"], dtype=object)[y]  # as in a data frame
    turned = ClassMoments.from_data(X, y, strata=stratum).relabelled(["good", "bad"])
    assert turned.classes.tolist() == ["bad", "good"]
    assert turned.strata.positive == "bad"
    model = AUCClassifier(positive="bad").fit_moments(turned)
    fitted = AUCClassifier(positive="bad").fit(X, words, strata=stratum)
    np.testing.assert_allclose(model.coef_, fitted.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, fitted.intercept_, rtol=1e-9)
    of_words = ClassMoments.from_data(X, words, strata=stratum)
    with pytest.raises(ValueError, match="weight strata by the rows of label 'good', but 'bad' is"):
        AUCClassifier(positive="bad").fit_moments(of_words)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a, b, rows: a + a, "11 strata are in both"),
        (lambda a, b, rows: a - b, "19 strata to subtract were never added"),
        (lambda a, b, rows: a + ClassMoments.from_data(*rows), "one of the two compares rows with"),
        (lambda a, b, rows: a.copy().update(*rows), "the rows so far have strata; pass those of"),
        (
            lambda a, b, rows: ClassMoments.from_data(*rows).update(*rows, strata=np.ones(240)),
            "the rows so far have no strata",
        ),
        (
            lambda a, b, rows: a.copy().update(*rows, None, np.arange(240) + 99, "pairs"),
            "strata_weight 'positives', the others 'pairs'",
        ),
        (
            lambda a, b, rows: ClassMoments().update(rows[0], np.arange(240) % 3, None, rows[1]),
            "strata are for rows of two classes, and these have 3",
        ),
    ],
)  # fmt: skip
def test_other_strata_or_weights_do_not_add_up(wrong, message):
    X, y, stratum, _ = drawn()
    early = stratum < 11
    a = ClassMoments.from_data(X[early], y[early], strata=stratum[early])
    b = ClassMoments.from_data(X[~early], y[~early], strata=stratum[~early])
    before = a.copy()
    with pytest.raises(ValueError, match=message):
        wrong(a, b, (X, y))
    assert a == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_as_they_lie_and_stratum_by_stratum_give_the_same(monkeypatch, form, mode):
    X, y, stratum, weight = drawn()
    X = np.column_stack([X, 1e4 * stratum + 0.1])  # constant within strata
    weight[::7] = 0.0
    of_rows = form(X), y, weight
    at_once = ClassMoments.from_data(*of_rows, strata=stratum, strata_weight=mode)
    monkeypatch.setattr("aucmax.statistics.strata.CACHED_NUMBERS", 0)
    in_blocks = ClassMoments.from_data(*of_rows, strata=stratum, strata_weight=mode)
    close(at_once, in_blocks, rtol=1e-11, atol=1e-12)
    for moments in (at_once, in_blocks):
        assert not moments.covs[:, 3].any()
        assert moments.spread_within_strata[3] == 0.0
