"""Private releases: what one row changes, how much noise there is, and what is released."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, ClassMoments
from aucmax.statistics.private import (
    SHARES,
    UNITS,
    BoundedSums,
    noise_scales,
    sensitivity,
    zcdp_delta,
)
from oracles import privacy

PARTS = ("counts", "sums", "products")


def seeded(seed):
    return np.random.default_rng(seed).bytes


def data(seed, n=500, d=4, box=1.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return np.clip(rng.normal(size=(n, d)) * 0.3 * box + 0.2 * y[:, None] * box, -box, box), y


# ---- sensitivity -------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_neighbours_are_further_apart_and_some_are_as_far(d):
    found = list(privacy.changes(d, most=0 if d == 3 else 1))
    for order in (1, 2):
        stated = sensitivity(d, order)
        for name, each in zip(PARTS, zip(*found, strict=True), strict=True):
            size = max(np.linalg.norm(change, order) for change in each)
            assert size == pytest.approx(stated[name], rel=1e-12)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_the_parts_together_spend_no_more_than_the_budget(d, epsilon):
    """Laplace: the sum of |change|/scale is ε; normal: that of change²/2σ² gives δ."""
    delta = 1e-5
    laplace, normal = noise_scales(d, epsilon), noise_scales(d, epsilon, delta)
    spent, rho = [], []
    for change in privacy.changes(d):
        parts = dict(zip(PARTS, change, strict=True))
        spent.append(sum(np.abs(parts[name]).sum() / laplace[name] for name in PARTS))
        rho.append(sum((parts[name] ** 2).sum() / (2 * normal[name] ** 2) for name in PARTS))
    assert max(spent) == pytest.approx(epsilon, rel=1e-9)
    assert zcdp_delta(max(rho), epsilon) == pytest.approx(delta, rel=1e-3)
    assert zcdp_delta(max(rho), epsilon) <= delta
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_delta_is_no_less_than_that_of_a_normal_law(epsilon):
    for rho in (epsilon / 100, epsilon / 10, epsilon / 4):
        exact = privacy.gaussian_delta(np.sqrt(2 * rho), epsilon)
        assert exact <= zcdp_delta(rho, epsilon) <= max(100 * exact, 1e-9)


@pytest.mark.covering(1)
@pytest.mark.parametrize("epsilon", [1e-50, 1e-6, 0.3, 20.0, 1e40])
@pytest.mark.parametrize("delta", [1e-200, 1e-6, 0.7])
def test_the_noise_is_the_least_for_its_delta(epsilon, delta):
    """By the formula of Canonne, Kamath & Steinke with as many digits as it takes."""
    scales = noise_scales(1, epsilon, delta)
    rho = 1 / (2 * SHARES["counts"] * scales["counts"] ** 2)
    wanted = privacy.log_delta(rho, epsilon)
    assert wanted <= np.log(delta) < privacy.log_delta(rho * (1 + 1e-8), epsilon)
    if wanted > -700:
        assert np.log(zcdp_delta(rho, epsilon)) == pytest.approx(wanted, rel=1e-9)


def test_extreme_budgets():
    assert noise_scales(3, 1e100)["products"] == pytest.approx(6 / 0.6 * 1e-100)
    # δ alone is enough: hardly any distribution of the release differs by more
    assert noise_scales(3, 1e-100, 1e-9)["counts"] == pytest.approx(1.918e9, rel=1e-3)
    assert noise_scales(0, 1.0)["sums"] == 0.0
    for epsilon in (0, -1.0, np.nan, np.inf, -np.inf, 1e-320, 1e308, "1", None):
        for delta in (0.0, 1e-6):
            with pytest.raises(
                ValueError, match=r"epsilon must be a number in \[1e-100, 1e\+100\]"
            ):
                noise_scales(2, epsilon, delta)
    for delta in (-1e-9, 1.0, 2, np.nan, np.inf, "0", None):
        with pytest.raises(ValueError, match=r"delta must be a number in \[0, 1\)"):
            noise_scales(2, 1.0, delta)
    with pytest.raises(ValueError, match="too small to compute with; use 0, or 1e-200 or more"):
        noise_scales(2, 1.0, 5e-324)
    with pytest.raises(ValueError, match="d must be a whole number"):
        noise_scales(2.5, 1.0)
    with pytest.raises(ValueError, match="rho must be"):
        zcdp_delta(0.0, 1.0)


def test_the_sums_are_those_of_the_rows():
    X, y = data(0, n=40, d=3, box=5.0)
    X[0] = [-9.0, 9.0, 0.0]  # moved to the bounds
    for form in (np.asarray, sp.csr_array):
        found = (
            BoundedSums([0, 1], (-5, 5)).update(form(X[:15]), y[:15]).update(form(X[15:]), y[15:])
        )
        steps = np.rint(np.clip(X / 5, -1, 1) * UNITS["sums"])
        expected = privacy.sums(steps, y, [0, 1])
        for k, label in enumerate((0, 1)):
            n, s, Q = expected[label]
            assert found.counts[k] == n
            np.testing.assert_array_equal(found.sums[k], s)
            np.testing.assert_array_equal(found.products[k], Q)


# ---- noise -------------------------------------------------------------------------------


@pytest.mark.covering(1)
@pytest.mark.parametrize("epsilon", [0.7, 2.0, 13.0, 200.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_of_the_counts_has_the_law_that_was_promised(delta, epsilon):
    K = 2000
    exact = BoundedSums(range(K), (-1, 1)).update(np.zeros((K, 1)), np.arange(K))
    exact.counts += 999
    noise = exact.release(epsilon, delta, seeded(0)).counts - 1000
    scale = noise_scales(1, epsilon, delta)["counts"]
    x = np.arange(-3 * int(scale + 1), 3 * int(scale + 1) + 1)
    law = privacy.normal_pmf(scale, x) if delta else privacy.laplace_pmf(scale, x)
    share = np.array([np.mean(noise == value) for value in x])
    # of four rows expected, twenty are as rare as five deviations
    assert np.all(np.abs(share - law) < 5 * np.sqrt(law / K) + 10 * (law < 1e-3) / K)
    assert share.sum() > 0.9


def test_laplace_noise_has_no_end():
    """A source of bits that are 1 for long, as some one day are, gives noise of 100 scales."""
    exact = BoundedSums([0], (-1, 1)).update(np.zeros((9, 1)), np.zeros(9))
    ones, later = iter(range(230)), seeded(0)

    def random(size):
        return later(size) if next(ones, None) is None else b"\1\0\0\0\0\0\0\0" * (size // 8)

    exact.counts += 2**20
    noise = exact.release(1.0, random=random).counts - 2**20 - 9
    assert abs(noise[0]) > 100 * noise_scales(1, 1.0)["counts"]


def test_sums_that_pass_64_bits_are_refused_no_row():
    """Noise of a product of up to 2⁵⁶ is added modulo 2⁶⁴, without a word of an overflow."""
    X, y = data(7, n=50, d=1)
    exact = BoundedSums([0, 1], (-1, 1)).update(X, y)
    for delta in (0.0, 1e-3):
        assert np.isfinite(exact.release(2e-7, delta, seeded(0)).covs).all()
    with pytest.raises(ValueError, match="a larger epsilon"):
        exact.release(1e-9)


@pytest.mark.parametrize(("delta", "flatness"), [(0.0, np.sqrt(0.5)), (1e-6, np.sqrt(2 / np.pi))])
def test_the_noise_of_means_and_covariances_has_the_stated_size(delta, flatness):
    """Mean |x| over the deviation: √½ for Laplace, √(2/π) for normal noise."""
    d, n, epsilon = 60, 4000, 1e4
    X, y = data(1, n, d)
    exact = BoundedSums([0, 1], (-1, 1)).update(X, y)
    found = exact.release(epsilon, delta, seeded(1))
    n = found.counts
    upper = np.triu_indices(d)
    s = n[:, None] * found.means - exact.sums / UNITS["sums"]
    second = found.covs + np.einsum("ki,kj->kij", found.means, found.means)
    Q = (n[:, None, None] * second - exact.products / UNITS["products"])[:, *upper]
    for noise, name in ((s, "sums"), (Q, "products")):
        stated, count = found.guarantee[f"noise_of_{name}"], noise.size
        assert abs(noise.mean()) < 5 * stated / np.sqrt(count)
        assert noise.std() == pytest.approx(stated, rel=6 / np.sqrt(count))
        assert np.abs(noise).mean() == pytest.approx(flatness * stated, rel=6 / np.sqrt(count))


def test_noise_comes_from_no_seed():
    X, y = data(2)
    exact = BoundedSums([0, 1], (-1, 1)).update(X, y)
    np.random.seed(0)  # noqa: NPY002
    one = exact.release(1.0)
    np.random.seed(0)  # noqa: NPY002
    assert exact.release(1.0) != one
    assert exact.release(1.0, random=seeded(3)) == exact.release(1.0, random=seeded(3))


# ---- what is released --------------------------------------------------------------------


def test_with_hardly_any_noise_these_are_the_moments():
    X, y = data(3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    box = [(-1, 1), (-2, 1), (-1, 3), (-1, 1)]
    labels = pd.Series(np.array(["no", "yes"])[y], name="ill")
    found = BoundedSums(["yes", "no"], box).update(frame, labels).release(1e9)
    expected = ClassMoments.from_data(frame, labels)
    np.testing.assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-4)
    np.testing.assert_allclose(found.covs, expected.covs, atol=1e-4)
    assert found.feature_names == list("abcd")
    assert found.target_name == "ill"
    assert found.classes.tolist() == ["no", "yes"]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_whatever_the_noise_a_model_can_be_fitted(delta, tmp_path):
    X, y = data(4, n=60)
    found = BoundedSums([0, 1], (-1, 1)).update(X, y).release(0.01, delta, seeded(5))
    assert np.all(found.counts >= 1)
    assert np.all(np.abs(found.means) <= 1)
    for S in found.covs:
        assert np.linalg.eigvalsh(S).min() >= -1e-9 * np.abs(S).max()
    found.save(tmp_path / "p.moments")
    again = ClassMoments.load(tmp_path / "p.moments")
    assert again.guarantee == found.guarantee
    assert (again.guarantee["epsilon"], again.guarantee["delta"]) == (0.01, delta)
    assert np.isfinite(AUCClassifier().fit_moments(again).coef_).all()


def test_the_noise_of_a_sum_is_that_of_its_parts_together():
    """Over many releases of the same rows, four to a sum, as sites would send them."""
    X, y = data(5)
    exact = BoundedSums([0, 1], (-1, 1)).update(X, y)
    sums = [sum(exact.release(1.0, random=seeded(4 * k + j)) for j in range(4)) for k in range(30)]
    stated = sums[0].guarantee["noise_of_counts"]
    noise = np.array([found.counts - 4 * exact.counts for found in sums])
    assert noise.std() == pytest.approx(stated, rel=0.3)
    assert stated == pytest.approx(2 * exact.release(1.0).guarantee["noise_of_counts"])


def test_a_guarantee_is_lost_with_plain_rows_and_weakest_in_a_sum():
    X, y = data(5)
    exact = BoundedSums([0, 1], (-1, 1)).update(X, y)
    a, b, plain = exact.release(1.0), exact.release(2.0, 1e-6), ClassMoments.from_data(X, y)
    both = a + b
    assert (both.guarantee["epsilon"], both.guarantee["delta"]) == (2.0, 1e-6)
    assert (a + plain).guarantee is None
    assert (plain + a).guarantee is None
    assert a.copy().guarantee == a.guarantee
    assert a.copy().update(X, y).guarantee is None
    assert AUCClassifier().fit_moments(a).partial_fit(X, y).moments_.guarantee is None


def promise(held):
    return held.guarantee["epsilon"], held.guarantee["delta"]


def test_a_row_that_is_in_two_releases_spends_both_budgets():
    X, y = data(6)
    box = (-1, 1)
    all_rows = BoundedSums([0, 1], box).update(X, y).release(100.0, 1e-6, seeded(1))
    some = BoundedSums([0, 1], box).update(X[:90], y[:90]).release(50.0, 1e-7, seeded(2))
    others = BoundedSums([0, 1], box).update(X, y).release(3.0, random=seeded(3))
    rest = all_rows - some
    assert promise(rest) == (150.0, 1e-6 + 1e-7)
    assert promise(rest + some) == (150.0, 1e-6 + 1e-7)  # some are in all and in some
    assert promise(rest + others) == (150.0, 1e-6 + 1e-7)  # others are other rows
    assert promise(all_rows + some) == (100.0, 1e-6)
    assert (ClassMoments.from_data(X, y) - some).guarantee is None
    assert (all_rows - ClassMoments.from_data(X[:90], y[:90])).guarantee is None
    for name in ("noise_of_counts", "noise_of_sums", "noise_of_products"):
        parts = all_rows.guarantee[name], some.guarantee[name]
        assert rest.guarantee[name] == pytest.approx(np.hypot(*parts))


def test_the_noise_that_is_told_is_that_of_what_becomes_of_a_release():
    X, y = data(7)
    three = BoundedSums([0, 1, 2], (-1, 1)).update(X, y + (X[:, 0] > 0)).release(5.0)
    faded, two = three.decay(0.25), three.relabelled([0, 1, 1])
    for name in ("noise_of_counts", "noise_of_sums", "noise_of_products"):
        assert faded.guarantee[name] == 0.25 * three.guarantee[name]
        assert two.guarantee[name] == pytest.approx(np.sqrt(2) * three.guarantee[name])
    assert promise(faded) == promise(two) == promise(three)
    assert three.relabelled([2, 0, 1]).guarantee == three.guarantee


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: BoundedSums([0, 1], (1, 1)), "the first below the second; got 1 and 1"),
        (lambda X, y: BoundedSums([0, 1], [(0, 1), (0, np.inf)]), "got 0 and inf for feature 1"),
        (lambda X, y: BoundedSums([0, 1], (np.nan, 1)), "got nan and 1"),
        (lambda X, y: BoundedSums([0, 1], (2, 1)), "the first below the second; got 2 and 1"),
        (lambda X, y: BoundedSums([0, 1], (-1e308, 1e308)), "at most 1e.75 in size"),
        (lambda X, y: BoundedSums([0, 1], (1e307, 1e308)), "at most 1e.75 in size"),
        (lambda X, y: BoundedSums([0, 1], [(0, 1), (0, 1e-300)]), "1e-75 or more apart.*feature 1"),
        (lambda X, y: BoundedSums([0, 1], ("low", "high")), "bounds must be numbers; got"),
        (lambda X, y: BoundedSums([0, 1], [0, 1, 2]), r"must be a pair.*shape \(3,\)"),
        (lambda X, y: BoundedSums([0, 2], (0, 1)).update(X, y), "label 1, which is not among"),
        (lambda X, y: BoundedSums([0, 1], [(0, 1)] * 3).update(X, y), "for 3 features, and X has"),
        (lambda X, y: BoundedSums([0, 1], (0, 1)).update(X, y).release(0.0), "epsilon must be"),
        (lambda X, y: BoundedSums([0, 1], (0, 1)).update(X, y).release(1, 1), "delta must be"),
        (lambda X, y: BoundedSums([0, 1], (0, 1)).update(X, y).release(1e-9), "a larger epsilon"),
        (
            lambda X, y: BoundedSums([0, 1], (0, 1)).update(X, y).update(X[:, 1:], y),
            "X has 3 features, but these moments have 4",
        ),
    ],
)
def test_what_cannot_be_released(make, message):
    with pytest.raises(ValueError, match=message):
        make(*data(6))
