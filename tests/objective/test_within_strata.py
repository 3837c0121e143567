"""Losses and problems of rows that are compared within strata only."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.oracles import strata as oracle

from aucmax import AUCClassifier
from aucmax.data.rows import as_rows
from aucmax.data.strata import Strata
from aucmax.objective.losses import LOSSES, RoundedHinge, Shares, conditional
from aucmax.objective.losses.active_pairs import active_pairs, pairs_in_parts
from aucmax.objective.losses.pairwise import PairwiseLoss
from aucmax.objective.objective import ConditionalObjective, Objective
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.within_strata import rows_problem
from aucmax.solvers import SOLVERS, Monitor, Run
from aucmax.solvers.batch.columns import of_square

MODES = ("positives", "pairs", "strata")


def drawn(n=120, groups=20, d=4, seed=0, weighted=True):
    """Rows far from zero in most strata, some of which have one class or one row."""
    rng = np.random.default_rng(seed)
    stratum = rng.integers(0, groups, n)
    y = (rng.random(n) < 0.35).astype(int)
    X = rng.normal(size=(n, d)) + y[:, None] * 0.5 + 30.0 * rng.normal(size=(groups, d))[stratum]
    weight = rng.random(n) + 0.1 if weighted else np.ones(n)
    if weighted:
        weight[rng.random(n) < 0.1] = 0.0
    return X, y, stratum, weight


def problem_of(X, y, stratum, weight, mode="positives"):
    return rows_problem(as_rows(X), y > 0, weight, None, Strata.of(stratum, len(y), mode))


def shares(y, stratum, weight, mode):
    strata = Strata.of(stratum, len(y), mode)
    compared = strata.compared(y > 0, weight)
    total = compared.of_stratum.sum()
    return compared.of_row / total, Shares(strata.code, compared.of_stratum / total)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("groups", [1, 7, 60])
def test_losses_are_sums_over_the_pairs_of_each_stratum(mode, groups):
    X, y, stratum, weight = drawn(groups=groups)
    s, strata = shares(y, stratum, weight, mode)
    sign, z, u = np.where(y, 1.0, -1.0), 0.1 * X[:, 0], X[:, 1]
    for name in ("square", "squared_hinge", "hinge"):
        at = LOSSES[name].at(z, sign, s, strata)
        expected = oracle.mean_loss(z, y, stratum, weight, mode, name)
        assert at.value == pytest.approx(expected, rel=1e-12)
    for loss in (LOSSES["square"], LOSSES["squared_hinge"], RoundedHinge(0.1)):
        at, every = loss.at(z, sign, s, strata), PairwiseLoss.at(loss, z, sign, s, strata)
        assert at.value == pytest.approx(every.value, rel=1e-11)
        np.testing.assert_allclose(at.gradient[:], every.gradient, atol=1e-12)
        if not isinstance(loss, RoundedHinge):
            np.testing.assert_allclose(at.product(u.copy()), every.product(u), atol=1e-11)


def test_pairs_in_parts_and_their_matrix_are_those_in_memory():
    X, y, stratum, weight = drawn()
    s, strata = shares(y, stratum, weight, "pairs")
    known = 0.1 * X[:, 0], np.where(y, 1.0, -1.0), strata.of_pairs(s), strata
    whole, parts = active_pairs(*known), pairs_in_parts(*known)
    assert whole.value == pytest.approx(parts.value, rel=1e-12)
    np.testing.assert_allclose(whole.gradient, parts.gradient[:], atol=1e-13)
    np.testing.assert_allclose(whole.product(X[:, 1].copy()), parts.product(X[:, 1]), atol=1e-12)
    problem = problem_of(X, y, stratum, weight, "pairs")
    objective = Objective(problem, LOSSES["squared_hinge"], ElasticNet(0.1))
    at = objective.at(0.1 * X[:, 0])
    columns = np.column_stack([objective.bending(at)(v) for v in np.eye(4)])
    np.testing.assert_allclose(objective.bend_matrix(at), columns, atol=1e-11)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_moments_products_and_columns_of_a_problem_are_those_of_the_pairs(mode, form):
    X, y, stratum, weight = drawn()
    square, linear = oracle.moments(X, y, stratum, weight, mode)
    problem = problem_of(form(X), y, stratum, weight, mode)
    objective = Objective(problem, LOSSES["square"], ElasticNet(0.0))
    w, scale = np.array([0.3, -0.2, 0.1, 0.4]), np.abs(square).max()
    np.testing.assert_allclose(problem.delta, linear, atol=1e-11)
    np.testing.assert_allclose(problem.curvature, np.diag(square), rtol=1e-11)
    np.testing.assert_allclose(
        problem.spread(), oracle.spread(X, y, stratum, weight, mode), rtol=1e-10
    )
    for _ in range(2):  # by products, then by moments
        value, gradient = objective.data_term(w)
        expected = oracle.mean_loss(X @ w, y, stratum, weight, mode, "square")
        assert value == pytest.approx(expected, rel=1e-11)
        np.testing.assert_allclose(gradient, square @ w - linear, atol=1e-11 * scale)
        columns = of_square(problem, np.arange(4))
        np.testing.assert_allclose(columns.gram(), square, atol=1e-11 * scale)
        problem.moments()


@pytest.mark.parametrize("most", [conditional.MOST_CELLS, 0])
def test_the_conditional_likelihood_sums_over_all_choices(most, monkeypatch):
    monkeypatch.setattr(conditional, "MOST_CELLS", most)
    X, y, stratum, _ = drawn(n=50, groups=8, weighted=False)
    weight = np.random.default_rng(1).random(8)[stratum] + 0.1
    weight[::7] = 0.0  # rows that are not there
    s, strata = shares(y, stratum, weight, "positives")
    sign, z, u = np.where(y, 1.0, -1.0), 0.1 * X[:, 0], X[:, 1]
    at = conditional.ConditionalLogistic().at(z, sign, s, strata)
    assert at.value == pytest.approx(
        oracle.likelihood(z, y, stratum, weight, efron=most == 0), rel=1e-12
    )

    def slope(z):
        return conditional.ConditionalLogistic().at(z, sign, s, strata).gradient

    step = 1e-5
    numeric = [
        (
            oracle.likelihood(z + step * e, y, stratum, weight, most == 0)
            - oracle.likelihood(z - step * e, y, stratum, weight, most == 0)
        )
        / (2 * step)
        for e in np.eye(len(z))
    ]
    np.testing.assert_allclose(at.gradient, numeric, atol=1e-9)
    change = (slope(z + step * u) - slope(z - step * u)) / (2 * step)
    np.testing.assert_allclose(at.product(u), change, atol=1e-7)
    assert at.along(u) == pytest.approx((at.gradient @ u, u @ at.product(u)))


@pytest.mark.parametrize("most", [conditional.MOST_CELLS, 8])
def test_the_third_derivative_of_the_likelihood_is_within_the_range_of_what_is_compared(
    most, monkeypatch
):
    monkeypatch.setattr(conditional, "MOST_CELLS", most)
    rng = np.random.default_rng(4)
    code = rng.integers(0, 3, 24).astype(np.int32)
    sign = np.where(rng.random(24) < 0.4, 1.0, -1.0)
    shares = Strata.of(code, 24).compared(sign > 0, None).shares
    strata, s = Shares(code, shares.of_stratum), shares.of_row
    loss = conditional.ConditionalLogistic()
    largest = 0.0
    for _ in range(40):
        z, u, h = 3.0 * rng.normal(size=24), rng.normal(size=24), 1e-4
        u = np.where(rng.random(24) < 0.5, u, 0.0)
        bend = [loss.at(z + t * u, sign, s, strata).along(u)[1] for t in (-h, 0.0, h)]
        third, at = (bend[2] - bend[0]) / (2.0 * h), loss.at(z, sign, s, strata)
        ratio = abs(third) / (bend[1] * at.range_of(u))
        assert ratio <= 1.0 + 1e-6
        largest = max(largest, ratio)
    assert largest > 0.1


@pytest.mark.parametrize("unit", [1.0, np.array([1e6, 1.0, 1e-6])])
@pytest.mark.parametrize(
    ("tol", "most"), [(1e-3, 1e-3), (1e-7, 1e-7), (1e-12, 1e-13), (1e-15, 1e-13)]
)
def test_without_a_penalty_the_likelihood_is_certified_to_the_limit_of_rounding(unit, tol, most):
    rng = np.random.default_rng(3)
    g = np.repeat(np.arange(2500), 4)
    X = rng.normal(size=(10_000, 3))
    y = X @ [2.0, 0.2, 0.1] + rng.logistic(size=10_000) > 2.0
    model, best = (
        AUCClassifier(loss="logistic", alpha=0.0, tol=t, standardize=0).fit(X * unit, y, strata=g)
        for t in (tol, 1e-14)
    )  # a warning would be an error
    gap = model.objective_ - best.objective_
    gain = rows_problem(X, y, strata=Strata.of(g, len(y)))
    at_zero = ConditionalObjective(gain, conditional.ConditionalLogistic(), ElasticNet(0.0)).at_zero
    assert gap / (at_zero - best.objective_) <= model.optimality_ <= most


def test_a_large_stratum_neither_overflows_nor_vanishes():
    """The sum over choices has more than 300 digits, and most scores are far apart."""
    rng = np.random.default_rng(0)
    z, y = 40.0 * rng.normal(size=1500), np.arange(1500) % 2
    shares = Shares(np.zeros(1500, np.int32), np.ones(1))
    at = conditional.ConditionalLogistic().at(
        z, np.where(y, 1.0, -1.0), np.full(1500, 1 / 750), shares
    )
    assert np.isfinite(at.value)
    assert at.value > 0.0
    assert abs(at.gradient.sum()) < 1e-9
    turned = conditional.ConditionalLogistic().at(
        -z, np.where(y, -1.0, 1.0), np.full(1500, 1 / 750), shares
    )
    assert turned.value == pytest.approx(at.value, rel=1e-10)


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_every_batch_solver_reaches_the_same_certified_optimum(loss, l1_ratio):
    X, y, stratum, _ = drawn(n=200, weighted=False)
    problem = problem_of(X, y, stratum, None).scaled(0.5)
    make = ConditionalObjective if loss == "logistic" else Objective
    term = conditional.ConditionalLogistic() if loss == "logistic" else LOSSES[loss]
    objective = make(problem, term, ElasticNet(0.05, l1_ratio))
    tol, values = 1e-3 if loss == "hinge" else 1e-8, []
    for form in (np.asarray, sp.csr_array):
        of_form = make(problem_of(form(X), y, stratum, None).scaled(0.5), term, objective.penalty)
        for solver in SOLVERS.values():
            if solver().unfit(of_form) is None:
                solved = solver().solve(of_form, None, Run(Monitor(of_form), tol, 5_000))
                assert solved.message is None, solver
                values.append(objective.value(solved.coef))
    assert len(values) >= (0 if loss == "hinge" and l1_ratio else 2)
    if values:
        assert np.ptp(values) <= 2.0 * tol * objective.at_zero


def test_a_sample_is_of_whole_strata_that_are_compared():
    """Every third stratum has rows of one class, and so has the first."""
    stratum = np.repeat(np.arange(300), 4)
    y = np.where(stratum % 3 == 0, 0, np.arange(1200) % 2)
    X = np.random.default_rng(0).normal(size=(1200, 2))
    sample = problem_of(X, y, stratum, None).sample(100)
    assert 50 <= sample.n_samples <= 300
    counts = np.bincount(sample.strata.code, sample.positive)
    np.testing.assert_array_equal(counts, 2)
    np.testing.assert_array_equal(np.bincount(sample.strata.code), 4)


def test_strata_without_pairs_are_told():
    X, y, _, _ = drawn(weighted=False)
    with pytest.raises(ValueError, match="none of the 120 strata has rows of both classes"):
        problem_of(X, y, np.arange(120), None)
