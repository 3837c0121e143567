"""Moments and areas of negatives that are mixed with unlabelled positives."""

import numpy as np
import pytest

from aucmax import AUCClassifier, ClassMoments
from aucmax.metrics import auc_interval, roc_auc, unlabelled_auc


def drawn(seed=0):
    """Positives, negatives, and the unlabelled rows: the negatives and all positives again."""
    rng = np.random.default_rng(seed)
    pos, neg = rng.normal(size=(40, 3)) + 1.5, 2.0 * rng.normal(size=(90, 3))
    X = np.vstack([pos, neg, pos])
    labelled = np.r_[np.ones(40), np.zeros(130)].astype(int)
    truth = np.r_[np.ones(40), np.zeros(90)].astype(int)
    return X, labelled, truth, 40 / 130


def test_the_moments_of_the_negatives_follow_from_the_mixture():
    X, labelled, truth, prior = drawn()
    unmixed = ClassMoments.from_data(X, labelled).unmixed(prior)
    known = ClassMoments.from_data(X[:130], truth)
    for name, values in known.kept.items():
        np.testing.assert_allclose(unmixed.kept[name], values, atol=1e-12, err_msg=name)
    fitted, of_truth = (AUCClassifier().fit_moments(m) for m in (unmixed, known))
    np.testing.assert_allclose(fitted.coef_, of_truth.coef_, rtol=1e-9)
    same = ClassMoments.from_data(X, labelled)
    for name, values in same.unmixed(0.0).kept.items():
        np.testing.assert_allclose(values, same.kept[name], atol=1e-12)


def test_a_prior_that_the_mixture_contradicts_is_refused():
    X, labelled, _, _ = drawn()
    moments = ClassMoments.from_data(X, labelled)
    with pytest.raises(ValueError, match=r"with prior=0\.9 a combination of features of the neg"):
        moments.unmixed(0.9)
    with pytest.raises(ValueError, match="prior must be"):
        moments.unmixed(1.0)
    of_three = ClassMoments.from_data(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="needs moments of labelled positives and unlabelled rows"):
        of_three.unmixed(0.1)


def test_rows_are_added_and_taken_out_before_moments_are_unmixed(tmp_path):
    X, labelled, _, prior = drawn()
    moments = ClassMoments.from_data(X, labelled)
    moments.unmixed(prior).save(tmp_path / "unmixed")
    unmixed = ClassMoments.load(tmp_path / "unmixed")
    model = AUCClassifier().fit_moments(unmixed)
    coef, before = model.coef_, unmixed.copy()
    for wrong in (
        lambda: unmixed + moments,
        lambda: moments + unmixed,
        lambda: unmixed - moments,
        lambda: moments - unmixed,
        lambda: unmixed.relabelled([3, 4]).among([3, 4]).update(X, labelled + 3),
        lambda: unmixed.update(X, labelled),
        lambda: model.partial_fit(X, labelled),
        lambda: model.forget(X[30:60], labelled[30:60]),
    ):
        with pytest.raises(ValueError, match="unmixed moments cannot be combined with rows"):
            wrong()
    with pytest.raises(ValueError, match="these moments are already unmixed"):
        unmixed.unmixed(prior)
    assert unmixed == before
    np.testing.assert_array_equal(model.coef_, coef)
    both = unmixed + moments.unmixed(0.1)  # of two clinics
    assert both.is_unmixed
    assert all((empty + both).is_unmixed for empty in (ClassMoments(), ClassMoments([0, 1])))
    assert not unmixed.empty().update(X, labelled).is_unmixed


def test_the_area_against_the_negatives_follows_from_that_against_unlabelled_rows():
    X, labelled, truth, prior = drawn()
    score = X @ [1.0, 0.5, -0.2]
    found = unlabelled_auc(labelled, score, np.float64(prior))
    assert {type(number) for number in found} == {float}
    assert found.auc == pytest.approx(roc_auc(truth, score[:130]), abs=1e-12)
    observed = auc_interval(labelled, score)
    assert found.std_error == pytest.approx(observed.std_error / (1 - prior))
    assert found.low < found.auc < found.high <= 1.0
    np.testing.assert_allclose(unlabelled_auc(labelled, score, 0.0), observed)


def test_the_interval_covers_the_area_of_new_rows():
    rng, inside = np.random.default_rng(1), 0
    for _ in range(300):
        ill = rng.random(400) < 0.4
        score = rng.normal(size=400) + ill  # an area of Φ(1/√2) = .76025
        labelled = ill & (rng.random(400) < 0.4)
        prior = 0.4 * 0.6 / (0.4 * 0.6 + 0.6)
        _, low, high, _ = unlabelled_auc(labelled, score, prior)
        inside += low <= 0.76025 <= high
    assert inside >= 300 * 0.95 - 3.5 * np.sqrt(300 * 0.95 * 0.05)


def test_an_area_that_no_ranking_reaches_is_refused():
    labelled = np.arange(400) % 2
    with pytest.raises(ValueError, match=r"is larger than prior=0\.8 allows: at most 0\.600"):
        unlabelled_auc(labelled, labelled + 0.0, 0.8)
    with pytest.raises(ValueError, match=r"is smaller than prior=0\.8 allows: at least 0\.400"):
        unlabelled_auc(labelled, -labelled, 0.8)
