"""Settings chosen by leaving out sites: against the rows themselves, and what sites may be."""

import itertools

import numpy as np
import pandas as pd
import pytest

from aucmax import AUCClassifier, ClassMoments
from aucmax.estimators.sites import tune_on_sites
from aucmax.statistics.base import leaving_out
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.private import BoundedSums
from oracles import sites as oracle

NAMES = np.array(["north", "south", "west", "east"])
ALPHAS, TAUS, GAMMAS = (0.003, 0.03, 0.3), (0.5, 0.05, "pooled"), (0.5, 1.0)


def rows(seed=0, n=130, d=4):
    """Rows of four sites of different size, place and share of positives; east has no positives."""
    rng = np.random.default_rng(seed)
    site = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    y = (rng.random(n) < 0.25 + 0.1 * site) & (site < 3)
    X = rng.normal(size=(n, d)) * (1 + rng.gamma(1, size=(n, 1)) * y[:, None])
    X += np.outer(y, np.linspace(1, 0, d)) + 0.3 * rng.normal(size=(4, d))[site]
    return X * [1, 3, 0.1, 1], y.astype(int), NAMES[site]


def moments(X, y, site, weight=None, kind=ClassMoments, names=NAMES):
    weight = np.ones(len(y)) if weight is None else weight
    of = {name: site == name for name in names}
    return {name: kind.from_data(X[i], y[i], weight[i]) for name, i in of.items()}


def judged(tuned):
    """What the oracle gives: a line for each site that was left out."""
    return np.array(
        [(one.loss, *one.auc[:2], one.positives) for one in tuned.sites if one.loss is not None]
    )


def in_order(tuned):
    return sorted(tuned.sites, key=lambda one: one.name)


# ---- against the rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tau", TAUS)
def test_a_site_left_out_is_judged_as_by_its_rows(tau, weighted):
    X, y, site = rows()
    weight = np.random.default_rng(1).random(len(y)) if weighted else np.ones(len(y))
    sites = moments(X, y, site, weight, names=sorted(NAMES))
    for alpha, gamma in itertools.product(ALPHAS, (0.0, *GAMMAS)):
        tuned = tune_on_sites(sites, alphas=[alpha], within=[tau], standardize=[gamma])
        expected = oracle.left_out(X, y, weight, site, alpha, tau, gamma)
        np.testing.assert_allclose(judged(tuned), expected, rtol=1e-9)
        found = (tuned.loss, *tuned.auc[:2])
        np.testing.assert_allclose(found, oracle.mean(expected), rtol=1e-9)
        assert tuned.settings_tried == 1


def test_the_settings_are_those_that_the_rows_choose():
    chosen = []
    for seed in range(3, 10):  # among them each τ
        X, y, site = rows(seed)
        tuned = tune_on_sites(moments(X, y, site), alphas=ALPHAS, within=TAUS, standardize=GAMMAS)
        chosen.append((tuned.model.alpha, tuned.model.within, tuned.model.standardize))
        expected = oracle.choice(X, y, np.ones(len(y)), site, ALPHAS, TAUS, GAMMAS)
        assert chosen[-1] == expected
        assert tuned.settings_tried == len(ALPHAS) * len(TAUS) * len(GAMMAS)
    alphas, taus, gammas = (set(values) for values in zip(*chosen, strict=True))
    assert (alphas, taus, gammas) == (set(ALPHAS), set(TAUS), set(GAMMAS))


def test_an_l1_penalty_is_chosen_by_the_models_of_single_fits():
    X, y, site = rows(1, n=300)
    sites = moments(X, y, site)
    tuned = tune_on_sites(sites, alphas=[0.01, 0.1], l1_ratios=[0, 0.5], within=[0.5], tol=1e-12)
    losses = {}
    for settings in itertools.product([0.01, 0.1], [0, 0.5], GAMMAS):
        alpha, rho, gamma = settings
        total = 0.0
        for name in NAMES[:3]:
            others = sum(one for other, one in sites.items() if other != name)
            model = AUCClassifier(alpha, rho, standardize=gamma, tol=1e-12).fit_moments(others)
            scores, own = X[site == name] @ model.coef_[0], y[site == name]
            apart = scores[own == 1][:, None] - scores[own == 0]
            total += own.sum() * np.mean((1 - apart) ** 2) / 2
        losses[settings] = total / y.sum()
    found = tuned.model
    assert min(losses, key=losses.get) == (found.alpha, found.l1_ratio, found.standardize)
    assert tuned.loss == pytest.approx(min(losses.values()), rel=1e-9)


# ---- sums without each


def test_sums_without_each_are_those_of_the_others():
    X, y, site = rows()
    X[site != "west", 1] = 1e6  # a feature that varies at one site only, far from zero
    parts = list(moments(X, y, site).values())
    others, total = leaving_out(parts)
    assert total == sum(parts)
    for k, found in enumerate(others):
        expected = sum(one for i, one in enumerate(parts) if i != k)
        np.testing.assert_array_equal(found.counts, expected.counts)
        np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
        np.testing.assert_allclose(found.covs, expected.covs, rtol=1e-10, atol=1e-10)
    assert (others[2].variances[:, 1] == 0).all()  # total − site would leave noise
    alone, total = leaving_out(parts[:1])
    assert (alone[0].n_features, total) == (0, parts[0])


# ---- properties


def test_the_model_is_that_of_the_sum_of_all_sites():
    X, y, site = rows(4)
    sites = moments(X, y, site)
    model = tune_on_sites(sites).model
    again = AUCClassifier(**model.get_params()).fit_moments(sum(sites.values()))
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert model.moments_ == again.moments_
    pooled = AUCClassifier(**model.get_params()).fit(X, y)
    np.testing.assert_allclose(model.coef_, pooled.coef_, rtol=1e-9)


def test_the_order_and_the_names_of_sites_do_not_matter():
    X, y, site = rows(5)
    sites = moments(X, y, site)
    first = tune_on_sites(sites)
    for order in itertools.islice(itertools.permutations(NAMES), 1, None, 5):
        other = tune_on_sites({f"clinic {name}": sites[name] for name in order})
        assert other.model.get_params() == first.model.get_params()
        np.testing.assert_allclose(other.model.coef_, first.model.coef_, rtol=1e-9)
        assert [one.name for one in other.sites] == [f"clinic {name}" for name in order]
        for a, b in zip(in_order(first), in_order(other), strict=True):
            assert (a.rows, a.positives) == (b.rows, b.positives)
            assert a.loss == (None if b.loss is None else pytest.approx(b.loss, rel=1e-9))


def test_weights_are_repetitions_and_have_no_unit():
    X, y, site = rows(6)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    i = np.repeat(np.arange(len(y)), times)
    weighted, repeated = (
        tune_on_sites(sites, alphas=ALPHAS, within=TAUS)
        for sites in (moments(X, y, site, times), moments(X[i], y[i], site[i]))
    )
    assert weighted.model.get_params() == repeated.model.get_params()
    np.testing.assert_allclose(judged(weighted), judged(repeated), rtol=1e-9)
    expected = tune_on_sites(moments(X, y, site, times))
    for unit in (1e-6, 1e6):
        found = tune_on_sites(moments(X, y, site, unit * times))
        assert found.model.get_params() == expected.model.get_params()
        np.testing.assert_allclose(judged(found), judged(expected) * [1, 1, 1, unit], rtol=1e-9)


def test_units_and_places_of_features_do_not_matter_to_standardized_ones():
    X, y, site = rows(7)
    settings = {"alphas": ALPHAS, "standardize": [1.0]}
    first = tune_on_sites(moments(X, y, site), **settings)
    other = tune_on_sites(moments(X * [10, 0.1, 3, 1] + 5, y, site), **settings)
    assert first.model.get_params() == other.model.get_params()
    np.testing.assert_allclose(judged(first), judged(other), rtol=1e-8)


def test_alphas_suit_the_number_of_rows():
    few, many = rows(1, n=130), rows(1, n=20_000)
    sites = [moments(X, y, site) for X, y, site in (few, many)]
    tried = [tune_on_sites(each).settings_tried for each in sites]
    assert tried[0] < tried[1]
    assert tune_on_sites(sites[0], alphas=[0.1]).settings_tried == 8


def test_of_equal_estimates_the_first_tau_is_taken():
    sites = moments(*rows(4))
    for first in TAUS:  # with so much penalty, all coefficients are nearly a multiple of δ
        tuned = tune_on_sites(sites, alphas=[1e9], within=[first, *TAUS], standardize=[0.5])
        assert tuned.model.within == first


# ---- labels


def test_labels_are_those_of_a_fit_to_the_sum():
    X, y, site = rows(2)
    words = np.where(y == 1, "fraud", "honest")
    sites = moments(X, words, site)
    tuned = tune_on_sites(sites)
    assert tuned.model.classes_.tolist() == ["honest", "fraud"]  # the rarer
    np.testing.assert_allclose(judged(tuned), judged(tune_on_sites(moments(X, y, site))))
    turned = tune_on_sites(sites, "honest")
    assert turned.model.classes_.tolist() == ["fraud", "honest"]
    assert turned.sites[0].positives == (words[site == "north"] == "honest").sum()
    assert turned.auc.binormal > 0.5


def test_one_label_against_all_others():
    X, y, site = rows(2)
    grade = np.where(y == 1, 2, np.arange(len(y)) % 2)
    tuned = tune_on_sites(moments(X, grade, site), 2)
    assert tuned.model.classes_.tolist() == ["not 2", "2"]
    np.testing.assert_allclose(judged(tuned), judged(tune_on_sites(moments(X, y, site))), rtol=1e-9)
    with pytest.raises(
        ValueError, match=r"the sum of the sites: has 3 labels \(0, 1, 2\); a model"
    ):
        tune_on_sites(moments(X, grade, site))


# ---- what sites may be


def test_a_site_without_a_class_counts_for_training_only():
    X, y, site = rows(3)
    sites = moments(X, y, site)
    tuned = tune_on_sites(sites, alphas=[0.1], within=[0.5], standardize=[0.5])
    east = tuned.sites[-1]
    assert (east.name, east.rows, east.positives) == ("east", (site == "east").sum(), 0)
    assert (east.loss, east.auc) == (None, None)
    assert tuned.model.moments_.counts.sum() == len(y)
    # also for the models of the others
    without = {name: one for name, one in sites.items() if name != "east"}
    other = tune_on_sites(without, alphas=[0.1], within=[0.5], standardize=[0.5])
    assert not np.allclose(judged(other)[:, 0], judged(tuned)[:, 0], rtol=1e-6)
    only = moments(X[y == 1], y[y == 1], site[y == 1], names=NAMES[:1])
    assert tune_on_sites(without | {"ill": only["north"].decay(0.5)}).sites[-1].loss is None


def test_private_moments_have_losses_but_no_estimates():
    X, y, site = rows(4, n=1200)
    settings = {"alphas": ALPHAS, "within": TAUS}
    private = {}
    for name in NAMES:
        sums = BoundedSums([0, 1], (-20, 20)).update(X[site == name], y[site == name])
        private[name] = sums.release(50.0, 1e-3, np.random.default_rng(0).bytes)
    for sites in (private, moments(X, y, site) | {"west": private["west"]}):
        tuned = tune_on_sites(sites, **settings)
        assert tuned.auc is None
        assert [one.auc for one in tuned.sites] == [None] * 4
        assert tuned.loss > tune_on_sites(moments(X, y, site), **settings).loss
        assert tuned.model.within == 0.5
    assert tune_on_sites(private, **settings).model.moments_.guarantee["epsilon"] == 50.0


def bad(message, *sites, **settings):
    with pytest.raises(ValueError, match=message):
        tune_on_sites(*sites, **settings)


def test_what_cannot_be_left_out_is_refused():
    X, y, site = rows()
    sites = moments(X, y, site)
    north, east = sites["north"], sites["east"]
    two = "rows of both classes, and leaving one out needs two such sites; give more, or merge all"
    bad(f"only north has {two}", {"north": north, "east": east})
    bad(f"only north has {two}", {"north": north})
    bad("the sum of the sites: has 0 labels", {})
    bad("south: has no covariances", {**sites, "south": DiagonalMoments.from_data(X, y)})
    bad("copy: has the same moments as north, but no row may", {**sites, "copy": north.copy()})
    frame = pd.DataFrame(X, columns=list("abcd"))
    frames = {
        name: ClassMoments.from_data(frame[columns][site == name], y[site == name])
        for name, columns in {"north": list("abcd"), "south": list("abdc")}.items()
    }
    bad("feature names differ: expected 'c', got 'd'", frames)
    bad("have 4", {"north": north, "south": ClassMoments.from_data(X[:, :3], y)})


def test_settings_are_those_of_a_model():
    sites = moments(*rows())
    bad("alpha must be", sites, alphas=[-1.0])
    bad("within, unless it is 'pooled', must be", sites, within=[2.0])
    bad("standardize must be", sites, standardize=[2.0])
    bad("l1_ratio must be", sites, l1_ratios=[2.0])
    bad("tol must be", sites, tol=0.0)
    for name in ("alphas", "within", "standardize", "l1_ratios"):
        bad("must each have a value", sites, **{name: []})
