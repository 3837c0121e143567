"""Penalties: what holds for each of the registry, and the minima that solvers find with them."""

import importlib.util
import os
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from aucmax import AUCClassifier, AUCClassifierCV, ClassMoments, load, penalties, save
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import PENALTIES, soft
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import SOLVERS, SPAM
from oracles import rows
from oracles.pairs import Pairs, distance_to_subdifferential
from oracles.penalised import mcp_stationary_points, minimiser
from processes import ended, forked
from specification import STOCHASTIC, penalty_of

untimed = settings(deadline=None, derandomize=True, max_examples=25)
each_penalty = pytest.mark.parametrize("kind", PENALTIES.values(), ids=PENALTIES)
vectors = arrays(np.float64, 4, elements=st.floats(-20, 20) | st.sampled_from([0.0, -0.4, 0.8]))
steps = st.floats(1e-3, 10)


def with_bounds(penalty, w):
    """w, or the nearest point where the penalty is finite."""
    return penalty.prox(w, 0.0)


# ---- what holds for every penalty --------------------------------------------------------


@each_penalty
@untimed
@given(vectors, steps)
def test_the_prox_is_the_minimum_of_its_definition(kind, u, step):
    """On each coordinate, against a grid that has its kinks and u itself."""
    penalty = penalty_of(kind, len(u))
    w = penalty.prox(u, step)
    np.testing.assert_array_equal(penalty.prox(u, np.full(len(u), step)), w)
    least = 0.5 * (w - u) ** 2 + step * penalty.values(w)
    for t in (*np.linspace(-20, 20, 81), 1.0, -1.0):
        v = with_bounds(penalty, u + t)
        there = 0.5 * (v - u) ** 2 + step * penalty.values(v)
        assert np.all(least <= there + 1e-10 * (1.0 + there))
    for v in (u, np.zeros(len(u)), with_bounds(penalty, w + 1e-3), with_bounds(penalty, w - 1e-3)):
        v = with_bounds(penalty, v)
        assert np.all(least <= 0.5 * (v - u) ** 2 + step * penalty.values(v) + 1e-10)


@each_penalty
@untimed
@given(vectors)
def test_a_penalty_is_quadratic_on_its_pieces(kind, w):
    penalty = penalty_of(kind, len(w))
    w = with_bounds(penalty, w)
    left, right, bend, start, end = penalty.pieces(w)
    assert np.all((start <= w) & (w <= end) & (left <= right))
    assert penalty.value(w) == pytest.approx(penalty.values(w).sum())
    gradient = np.random.default_rng(0).normal(size=len(w))
    slope, bend_there = penalty.slope_and_bend(gradient, w)
    np.testing.assert_array_equal(slope, penalty.pieces(w).slope(gradient))
    np.testing.assert_array_equal(np.broadcast_to(bend_there, bend.shape), bend)
    for t in (1e-3, 0.1, 0.5, 1.0):
        smooth = left == right
        up = np.where(np.isfinite(end), t * (end - w), t)
        down = np.where(np.isfinite(start), t * (start - w), -t)
        for move, slope in ((up, right), (down, left)):
            move = np.where(smooth, move, 0.0)
            slope = np.where(smooth, slope, 0.0)
            quadratic = penalty.values(w) + move * (slope + 0.5 * bend * move)
            np.testing.assert_allclose(penalty.values(w + move), quadratic, rtol=1e-9, atol=1e-9)


@each_penalty
def test_slopes_at_a_kink_are_those_to_both_sides(kind):
    penalty, w, h = penalty_of(kind, 4), np.zeros(4), 1e-7
    left, right, *_ = penalty.pieces(w)
    for slope, move in ((left, -h), (right, h)):
        there = with_bounds(penalty, w + move)
        inside = there == move
        np.testing.assert_allclose(
            penalty.values(there)[inside] / move, slope[inside], rtol=1e-5, atol=1e-6
        )
        assert np.all(np.isinf(slope[~inside]))


@each_penalty
@untimed
@given(vectors, steps)
def test_a_penalty_promises_nothing_at_fixed_points_of_the_prox(kind, u, step):
    """w = prox(w − g/h): no step on a coordinate alone gains; elsewhere one does."""
    penalty = penalty_of(kind, len(u))
    w, h = penalty.prox(u, step), np.full(len(u), 1.0 / step)
    g = (w - u) / step
    scale = 1.0 + np.abs(u).max() ** 2
    assert penalty.promise(g, w, h).max() <= 1e-12 * scale * (1 + 1 / step)
    if "convex" in penalty.offers:
        assert np.abs(penalty.pieces(w).slope(g)).max() <= 1e-12 * scale * (1 + 1 / step)
    for off in (40.0 / step, -40.0 / step):
        moved = np.abs(penalty.prox(w - step * (g + off), step) - w) > 1e-9
        np.testing.assert_array_equal(penalty.promise(g + off, w, h) > 1e-9, moved)


@each_penalty
@untimed
@given(vectors, vectors, st.floats(0, 2), st.sampled_from([0.0, 0.2, 1.5]))
def test_a_dual_bound_is_below_what_it_bounds(kind, v, other, linear, quadratic):
    """c·linear − c²·quadratic − Ω*(c v) ≤ linear·c − c²·quadratic − c v·w + Ω(w), every w."""
    penalty = penalty_of(kind, len(v))
    bound = penalty.dual_value(linear, v, quadratic, 1.0)
    assert bound >= 0.0
    for t in (0.0, 0.01, 0.1, 1.0, 10.0):
        w = with_bounds(penalty, t * other)
        slope = linear - v @ w
        c = np.clip(0.5 * slope / quadratic, 0.0, 1.0) if quadratic else float(slope > 0.0)
        most = c * slope - c * c * quadratic + penalty.value(w)
        assert bound <= most + 1e-9 * (1.0 + abs(most))


@each_penalty
def test_a_part_is_the_penalty_on_some_features(kind):
    penalty, w, S = penalty_of(kind, 4), np.array([0.3, -2.0, 0.0, 5.0]), np.array([3, 1])
    np.testing.assert_array_equal(penalty.of(S).values(w[S]), penalty.values(w)[S])
    np.testing.assert_array_equal(penalty.of(S).prox(w[S], 0.7), penalty.prox(w, 0.7)[S])


@each_penalty
def test_a_penalty_can_be_cloned_saved_and_used(kind, tmp_path):
    X, y = rows(0, n=60, d=4)
    model = AUCClassifier(penalty=penalty_of(kind, 4), solver="coordinate_descent").fit(X, y)
    assert model.optimality_ <= 1e-4
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)
    save(model, tmp_path / "model.aucmax")
    again = load(tmp_path / "model.aucmax")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.fit(X, y).coef_, model.coef_)


EVERY_PENALTY = (
    test_the_prox_is_the_minimum_of_its_definition,
    test_a_penalty_is_quadratic_on_its_pieces,
    test_slopes_at_a_kink_are_those_to_both_sides,
    test_a_penalty_promises_nothing_at_fixed_points_of_the_prox,
    test_a_dual_bound_is_below_what_it_bounds,
    test_a_part_is_the_penalty_on_some_features,
)


# ---- the elastic net ---------------------------------------------------------------------

strengths, ratios = st.floats(0, 10), st.floats(0, 1)


@untimed
@given(vectors, strengths, ratios)
def test_an_elastic_net_is_its_formula(w, alpha, rho):
    for penalty, share in (
        (penalties.ElasticNet(alpha, rho), rho),
        (penalties.L1(alpha), 1.0),
        (penalties.L2(alpha), 0.0),
    ):
        formula = alpha * ((1 - share) / 2 * np.sum(w**2) + share * np.sum(np.abs(w)))
        assert penalty.value(w) == pytest.approx(formula, rel=1e-12)
        assert (penalty.l1, penalty.l2) == (alpha * share, alpha * (1 - share))


@untimed
@given(vectors, vectors, strengths, ratios, steps)
def test_the_three_point_inequality(u, other, alpha, rho, step):
    """p = prox(u) gives ½‖p−u‖² + tΩ(p) + ½(1 + tα(1−ρ))‖w−p‖² ≤ ½‖w−u‖² + tΩ(w) for all w."""
    penalty = penalties.ElasticNet(alpha, rho)
    p = penalty.prox(u, step)
    for w in (other, u, np.zeros(4), p + 1e-3 * other, p * (other > 0)):
        left = 0.5 * np.sum((p - u) ** 2) + step * penalty.value(p)
        left += 0.5 * (1 + step * penalty.l2) * np.sum((w - p) ** 2)
        right = 0.5 * np.sum((w - u) ** 2) + step * penalty.value(w)
        assert left <= right + 1e-10 * (1 + right)


@untimed
@given(vectors, vectors, strengths, ratios)
def test_the_distance_is_that_to_an_interval(g, w, alpha, rho):
    np.testing.assert_allclose(
        np.abs(penalties.ElasticNet(alpha, rho).pieces(w).slope(g)),
        distance_to_subdifferential(-g, w, alpha, rho),
        atol=1e-11,
    )


def test_soft_threshold_by_hand():
    np.testing.assert_array_equal(
        soft(np.array([3.0, -3.0, 0.5, -0.5, 1.0, 0.0]), 1.0), [2.0, -2.0, 0.0, 0.0, 0.0, 0.0]
    )


def test_mcp_by_hand():
    """α = 1, γ = 2: firm threshold; with a step of γ or more, a hard one at √(step·γ)·α."""
    mcp = penalties.MCP(1.0, 2.0)
    np.testing.assert_array_equal(mcp.values(np.array([0.0, 1.0, -2.0, 9.0])), [0, 0.75, 1, 1])
    np.testing.assert_allclose(mcp.prox(np.array([0.9, 1.5, -3.0]), 1.0), [0.0, 1.0, -3.0])
    np.testing.assert_array_equal(mcp.prox(np.array([2.9, -3.1]), 4.5), [0.0, -3.1])


# ---- the minimum, against a quadratic program --------------------------------------------

UNITS = np.array([1.0, 30.0, 0.2, 1.0, 5.0])
LOWER = np.array([0.0, -np.inf, -0.05, 0.0, -np.inf])
UPPER = np.array([np.inf, 0.0, 0.1, 0.02, np.inf])
FACTORS = np.array([1.0, 0.0, 3.0, 0.5, 1.0])


def goals(d=5):
    """Penalties, each with what the oracle is to be told of it in scaled coordinates."""
    alpha, rho = 0.02, 0.6
    l2, l1 = alpha * (1 - rho), alpha * rho
    net = penalties.ElasticNet(alpha, rho)
    bounds = np.column_stack([LOWER, UPPER])
    return {
        "bounds": (penalties.Bounded(net, bounds), dict(l2=l2, l1=l1, bounded=True)),
        "bounds alone": (
            penalties.Bounded(penalties.L2(0.0), bounds),
            dict(l2=0.0, bounded=True),
        ),
        "weighted l1": (
            penalties.Weighted(penalties.L1(alpha), FACTORS),
            dict(l1=alpha * FACTORS),
        ),
        "weighted l2": (
            penalties.Weighted(penalties.L2(alpha), FACTORS),
            dict(l2=alpha * FACTORS),
        ),
        "both": (
            penalties.Bounded(penalties.Weighted(net, FACTORS), bounds),
            dict(l2=l2 * FACTORS, l1=l1 * FACTORS, bounded=True),
        ),
        "mcp": (penalties.MCP(alpha, 40.0), dict(mcp=(alpha, 40.0))),
    }


def data(seed=1):
    X, y = rows(seed, n=36, d=5, share=0.35)
    return X * UNITS, y


def optimum(pairs, loss, bounded=False, **terms):
    if bounded:
        terms |= dict(lower=LOWER / pairs.factor, upper=UPPER / pairs.factor)
    return minimiser(pairs, loss, **terms)


def taken():
    """Every solver and loss with the penalties that the solver says it takes."""
    for name, kind in SOLVERS.items():
        for loss in ("square", "squared_hinge"):
            for word, (penalty, _) in goals().items():
                goal = Objective(ANY_ROWS, LOSSES[loss], penalty)
                if not kind.own and kind().unfit(goal) is None:
                    yield name, loss, word


def taken_in_turn():
    """Of the two learners one takes each penalty; that the other does, too, is exhaustive."""
    words, learners = [*goals()], ("spam", "vrspam")
    for solver, loss, word in taken():
        other = solver in learners and solver != learners[words.index(word) % 2]
        yield pytest.param(solver, loss, word, marks=[pytest.mark.exhaustive] * other)


@pytest.mark.parametrize(("solver", "loss", "word"), list(taken_in_turn()))
def test_a_solver_reaches_the_minimum_of_what_it_says_it_takes(solver, loss, word):
    (X, y), (penalty, terms) = data(), goals()[word]
    pairs = Pairs(X, y, gamma=1.0)
    if word == "mcp":  # J is convex all the same
        assert np.linalg.eigvalsh(pairs.hessian()).min() > 1 / penalty.gamma
    least = optimum(pairs, loss, **terms)
    penalty = penalty.named(5, None)
    settings = dict(loss=loss, standardize=1.0, random_state=0, max_iter=3000, tol=1e-10)
    if solver in STOCHASTIC:
        given = dict(average=False) if solver == "spam" else {}
        own = SOLVERS[solver](**{"spam": dict(n_epochs=1500), "vrspam": dict(n_stages=400)}[solver])
        solver, slack = own.set_params(**given), 1e-2 if solver == "spam" else 1e-5
    else:
        slack = 1e-9
    clf = AUCClassifier(penalty=penalty, solver=solver, **settings).fit(X, y)
    w = pairs.from_features(clf.coef_[0])
    scaled = penalty.scaled(pairs.factor)
    J = [pairs.data_term(v, loss) + scaled.value(v) for v in (w, least)]
    assert J[0] - J[1] <= slack * (0.5 - J[1])
    if slack < 1e-8:
        assert clf.optimality_ <= 1e-9
        np.testing.assert_allclose(w, least, atol=1e-6 * np.abs(least).max())
        np.testing.assert_array_equal(np.abs(least) < 1e-9, w == 0.0)
    if terms.get("bounded"):
        assert np.all((clf.coef_[0] >= LOWER) & (clf.coef_[0] <= UPPER))
        coef = pairs.to_features(least)
        assert np.sum(np.minimum(abs(coef - LOWER), abs(coef - UPPER)) < 1e-9) >= 2


def test_what_takes_what():
    takes = set(taken())
    assert {("coordinate_descent", "square", word) for word in goals()} <= takes
    convex = {word for word in goals() if word != "mcp"}
    for name, loss in (("newton", "squared_hinge"), ("spam", "square"), ("vrspam", "square")):
        assert {word for other, its, word in takes if (other, its) == (name, loss)} == convex


@pytest.mark.parametrize("word", goals())
def test_many_features_give_what_few_do(word, monkeypatch):
    """Working sets on the rows, their matrices and their columns, dense and sparse."""
    from aucmax.solvers.batch import coordinate_descent

    (X, y), (penalty, _) = data(), goals()[word]
    few = AUCClassifier(penalty=penalty, solver="coordinate_descent", tol=1e-12).fit(X, y)
    monkeypatch.setattr(coordinate_descent, "MAX_MATRIX_FEATURES", 0)
    rows_ = AUCClassifier(penalty=penalty, solver="coordinate_descent", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(rows_.coef_, few.coef_, atol=1e-7 * np.abs(few.coef_).max())


@pytest.mark.parametrize("seed", range(6))
def test_mcp_that_is_not_convex_ends_at_a_stationary_point(seed):
    X, y = rows(seed, n=30, d=4)
    penalty = penalties.MCP(0.15, 1.5)
    clf = AUCClassifier(penalty=penalty, standardize=0.0, tol=1e-10).fit(X, y)
    assert clf.solver_ == "coordinate_descent"
    assert clf.optimality_ <= 1e-10
    pairs = Pairs(X, y)
    H, b, w = pairs.hessian(), pairs.D.T @ pairs.q, clf.coef_[0]
    points = mcp_stationary_points(H, b, penalty.alpha, penalty.gamma)
    assert min(np.abs(w - v).max() for v in points) <= 1e-8

    def J(v):
        return pairs.data_term(v) + penalty.value(v)

    for j in range(4):  # and no coordinate alone goes lower
        for t in (*np.linspace(-3, 3, 61), -w[j]):
            assert J(w) <= J(w + t * np.eye(4)[j]) + 1e-12


# ---- settings, names and messages --------------------------------------------------------


def test_bounds_by_name_hold_in_the_units_of_the_features():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    bounds = {"a": (0, None), "b": (None, 0), "c": (-0.05, 0.1), "d": (0, 0.02)}
    named = AUCClassifier(coef_bounds=bounds, standardize=1.0).fit(frame, y)
    array = np.column_stack([LOWER, UPPER])
    plain = AUCClassifier(coef_bounds=array, standardize=1.0).fit(X, y)
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    assert np.all((plain.coef_[0] >= LOWER) & (plain.coef_[0] <= UPPER))
    free = AUCClassifier(standardize=1.0).fit(X, y).coef_[0]
    assert np.any((free < LOWER) | (free > UPPER))
    assert np.all(AUCClassifier(coef_bounds=(0, None)).fit(X, y).coef_ >= 0.0)
    weights = penalties.Weighted(penalties.L1(0.02), {"b": 0.0, "e": 4.0})
    by_name = AUCClassifier(penalty=weights).fit(frame, y)
    weights = penalties.Weighted(penalties.L1(0.02), [1, 0, 1, 1, 4.0])
    np.testing.assert_array_equal(AUCClassifier(penalty=weights).fit(X, y).coef_, by_name.coef_)


def test_a_search_keeps_to_the_bounds():
    X, y = rows(4, n=120, d=4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    bounds, settings = {"a": (None, 0), "b": (0, 0.1)}, dict(standardize=(0.0, 1.0), cv=3)
    search = AUCClassifierCV((1e-3, 1e-2, 0.1), (0.0, 0.5), coef_bounds=bounds, **settings)
    search.fit(frame, y)
    assert np.isfinite(search.auc_path_).all()
    chosen = dict(alpha=search.alpha_, l1_ratio=search.l1_ratio_, loss=search.loss_)
    model = AUCClassifier(**chosen, standardize=search.standardize_, coef_bounds=bounds)
    np.testing.assert_allclose(model.fit(frame, y).coef_, search.coef_, rtol=1e-12)
    # a cell by hand
    train, test = next(iter(StratifiedKFold(3).split(X, y)))
    cell = AUCClassifier(search.alphas_[0, 1, 1], 0.5, standardize=1.0, coef_bounds=bounds)
    score = cell.fit(frame.iloc[train], y[train]).decision_function(frame.iloc[test])
    auc = roc_auc_score(y[test], score)
    assert search.auc_path_[0, 0, 1, 1, 1] == pytest.approx(auc, abs=1e-12)
    with pytest.raises(ValueError, match="'z', which is not a feature"):
        AUCClassifierCV(coef_bounds={"z": (0, 1)}).fit(frame, y)
    with pytest.warns(UserWarning, match="no solver takes loss='hinge'"):
        AUCClassifierCV(losses=("square", "hinge"), coef_bounds=(0, None), **settings).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "spam"])
def test_a_stream_keeps_within_its_bounds(solver):
    X, y = data()
    X = X / np.abs(X).max(axis=0)
    clf = AUCClassifier(coef_bounds=(None, 0), solver=solver, standardize=0.0)
    for part in np.array_split(np.arange(len(y)), 3):
        clf.partial_fit(X[part], y[part], classes=[-1, 1])
    assert clf.coef_.any()
    assert clf.coef_.max() <= 0.0
    if solver == "auto":
        whole = AUCClassifier(coef_bounds=(None, 0), standardize=0.0).fit(X, y)
        np.testing.assert_allclose(clf.coef_, whole.coef_, atol=1e-9)


def test_moments_with_names_take_bounds_by_name():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    clf = AUCClassifier(coef_bounds={"b": (None, 0)})
    from_moments = clone(clf).fit_moments(ClassMoments.from_data(frame, y))
    np.testing.assert_allclose(from_moments.coef_, clf.fit(frame, y).coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="coef_bounds names features, but the data have no names"):
        clf.fit_moments(ClassMoments.from_data(X, y))


def test_a_warm_start_outside_of_the_bounds_is_put_inside():
    X, y = data()
    clf = AUCClassifier(warm_start=True, tol=1e-8).fit(X, y)
    clf.set_params(coef_bounds=(0, 0.01)).fit(X, y)
    cold = AUCClassifier(tol=1e-8, coef_bounds=(0, 0.01)).fit(X, y)
    np.testing.assert_allclose(clf.coef_, cold.coef_, atol=1e-7)


def test_a_grid_search_over_the_settings_of_a_penalty():
    X, y = rows(3, n=80, d=4)
    search = GridSearchCV(
        AUCClassifier(penalty=penalties.MCP(1e-3, 50.0)),
        {"penalty__alpha": [1e-4, 1.0]},
        scoring="roc_auc",
    )
    assert search.fit(X, y).best_params_ == {"penalty__alpha": 1e-4}


BAD = {
    "no object": (dict(penalty="l1"), "penalty must be an object of aucmax.penalties"),
    "alpha, too": (
        dict(penalty=penalties.L1(0.1), alpha=0.2),
        r"penalty=L1\(…\) replaces alpha and l1_ratio: set alpha=0.2 there",
    ),
    "alpha": (dict(penalty=penalties.MCP(-1.0, 3.0)), "alpha must be"),
    "gamma": (dict(penalty=penalties.MCP(1.0, 0.0)), "gamma must be"),
    "not convex": (
        dict(penalty=penalties.MCP(0.1, 3.0), coef_bounds=(0, None)),
        "coef_bounds need a convex penalty",
    ),
    "twice weighted": (
        dict(penalty=penalties.Weighted(penalties.Weighted(penalties.L1(1), 1), 1)),
        "Weighted takes a penalty that is the same for every feature",
    ),
    "bounds around no penalty": (
        dict(penalty=penalties.Weighted("l1", 1.0), coef_bounds=(0, None)),
        "Weighted takes a penalty that is the same for every feature, .* got 'l1'",
    ),
    "negative factors": (
        dict(penalty=penalties.Weighted(penalties.L1(1.0), -1.0)),
        "factors must be finite and at least 0; got -1",
    ),
    "words": (dict(coef_bounds=("a", "b")), "coef_bounds must hold numbers"),
    "nan": (dict(coef_bounds=(np.nan, 1.0)), "coef_bounds must hold numbers; got nan"),
    "shape": (
        dict(coef_bounds=np.zeros((3, 2))),
        r"must have shape \(2,\) for all .* \(5, 2\) for each of 5",
    ),
    "without 0": (dict(coef_bounds=(1.0, 2.0)), "pairs with lower ≤ 0 ≤ upper"),
    "unknown": (dict(coef_bounds={"z": (0, 1)}), "coef_bounds names 'z', which is not a feature"),
    "one number": (
        dict(coef_bounds={"a": 0.0}),
        r"coef_bounds of 'a' must have shape \(2,\); got \(\)",
    ),
    "solver": (
        dict(coef_bounds=(0, None), solver="exact"),
        "'exact' does not take loss='square' with l1_ratio=0.0 and coef_bounds: it takes l2 "
        "penalties without bounds only; these do: .*'coordinate_descent'",
    ),
    "newton": (
        dict(penalty=penalties.MCP(0.1, 3.0), loss="squared_hinge", solver="newton"),
        "with penalty=MCP: it takes convex penalties only",
    ),
    "auto": (
        dict(penalty=penalties.MCP(0.1, 3.0), loss="squared_hinge"),
        "no solver takes loss='squared_hinge' with penalty=MCP; use loss='square'",
    ),
    "oam": (
        dict(coef_bounds=(0, None), solver="oam"),
        r"takes no coef_bounds=\(0, None\)",
    ),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_settings_that_cannot_be_are_named(given, message):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(ValueError, match=message):
        AUCClassifier(**given).fit(frame, y)


def test_a_strong_schedule_asks_for_a_strongly_convex_penalty():
    X, y = data()
    solver = SPAM(schedule="strong")
    AUCClassifier(0.1, coef_bounds=(0, None), solver=solver).fit(X / UNITS, y)
    with pytest.raises(ValueError, match="schedule='strong' needs an l2 penalty"):
        AUCClassifier(penalty=penalties.Weighted(penalties.L2(0.1), FACTORS), solver=solver).fit(
            X, y
        )


PENALTY_OF_A_USER = """
from typing import NamedTuple
from aucmax.objective.penalties import Penalty, prox1_of

class Seen(NamedTuple):
    by: float

@prox1_of(Seen)
def prox(penalty, j, u, step):
    return u - step * penalty.by * {times}

class Linear(Penalty):
    name = "linear"
    def compiled(self):
        return Seen(1.0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(("times", "expected"), [(1, 0.5), (2, 0.0)])
def test_what_is_compiled_for_a_penalty_of_the_user_is_not_kept(tmp_path, times, expected):
    """Else the next version of the user's file would run the last one's kernels."""
    script = tmp_path / "mine.py"
    script.write_text(PENALTY_OF_A_USER.format(times=times), encoding="utf-8")

    def prox():
        spec = importlib.util.spec_from_file_location("mine_for_a_test", script)
        mine = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(mine)
        assert mine.Linear().prox(np.ones(2), 0.5)[0] == expected

    assert ended(forked(prox)) == 0


@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
def test_unpenalised_features_among_many_are_certified(loss):
    """Their conjugate is infinite; on a thousand features and more no matrix is formed."""
    X = sp.random_array((300, 1600), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = np.where(X[:, :40].sum(axis=1) > 0.45, 1, -1)
    factors = np.where(np.arange(1600) < 3, 0.0, 1.0)
    for net in (penalties.L2(1e-4), penalties.ElasticNet(1e-3, 0.5)):
        penalty = penalties.Weighted(net, factors)
        rough, fine = (
            AUCClassifier(penalty=penalty, loss=loss, tol=tol).fit(X, y) for tol in (1e-3, 1e-9)
        )
        assert rough.optimality_ <= 1e-3
        lost = (rough.objective_ - fine.objective_) / (0.5 - fine.objective_)
        assert -1e-9 <= lost <= 2 * rough.optimality_ + 1e-9


def test_a_series_gives_by_name_whatever_its_order():
    X, y = rows(3, n=60, d=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    factors = pd.Series({"c": 0.0, "b": 1.0, "a": 100.0})
    bounds = pd.DataFrame({"low": [0.0, -1.0], "high": [1.0, 0.0]}, index=["c", "a"])
    for asked, same in (
        ({"penalty": penalties.Weighted(penalties.L1(0.1), factors)},
         {"penalty": penalties.Weighted(penalties.L1(0.1), factors.to_dict())}),
        ({"coef_bounds": bounds}, {"coef_bounds": {"c": (0, 1), "a": (-1, 0)}}),
    ):  # fmt: skip
        coef = AUCClassifier(**asked).fit(frame, y).coef_
        np.testing.assert_array_equal(coef, AUCClassifier(**same).fit(frame, y).coef_)
        with pytest.raises(ValueError, match="a model file cannot store"):
            save(AUCClassifier(**asked).fit(frame, y), "nowhere")


@pytest.mark.covering(1)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["square", "squared_hinge"])
@pytest.mark.parametrize("seed", range(10))
def test_dependent_features_without_a_penalty_reach_the_optimum(loss, seed):
    """Twice the same feature, and one that is constant: J has many minima, and all are found."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 5)) * 10.0 ** rng.uniform(-2, 2, 5)
    y = np.repeat([0, 1], 20)
    X[:, 0], X[:, 4] = 2.0 * X[:, 1], 3.0
    without = AUCClassifier(0.0, loss=loss, tol=1e-8).fit(X[:, 1:4], y)
    free = penalties.Weighted(penalties.L1(1.0), np.zeros(5))
    for ask in (
        {"alpha": 0.0},
        {"alpha": 0.0, "l1_ratio": 0.5},
        {"penalty": free},
        {"penalty": free, "coef_bounds": [(0, 0), *[(None, None)] * 4]},
    ):
        clf = AUCClassifier(**ask, loss=loss, tol=1e-8, standardize=0.5).fit(X, y)
        assert clf.objective_ == pytest.approx(without.objective_, abs=1e-7), ask
        assert np.abs(X * clf.coef_).max() < 1e3, ask  # nothing drifts
