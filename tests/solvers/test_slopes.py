"""Slopes that are bounded instead of computed, against those of all features."""

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax.data.rows import as_rows
from aucmax.estimators.tuning import path
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import UNIVARIATE_LOSSES
from aucmax.objective.losses.logistic import Logistic
from aucmax.objective.penalties import Bounded, ElasticNet, Weighted
from aucmax.objective.problem import RowsProblem
from aucmax.solvers.base import Monitor, Run
from aucmax.solvers.batch import slopes as slopes_module
from aucmax.solvers.batch.newton import Newton
from aucmax.solvers.batch.proximal_newton import ColumnSet
from aucmax.solvers.batch.slopes import Slopes

D = 1500


def objective_of(form, kind):
    """Return an objective over many features, in different units and far from the origin."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, D)) + rng.normal(size=D)) * np.exp(rng.normal(size=D))
    sign = np.where(rng.random(60) < 0.3, 1.0, -1.0)
    problem = RowsProblem.of(as_rows(form(X)), sign, rng.random(60) + 0.1)
    if kind == "univariate":
        return UnivariateObjective(problem, UNIVARIATE_LOSSES["logistic"], ElasticNet(1.0, 0.5))
    return Objective(problem, Logistic(0.2), ElasticNet(1.0, 0.5))


@pytest.mark.parametrize("kind", ["ranking", "univariate"])
def test_nothing_depends_on_slopes_that_are_not_computed(kind):
    objective, w = objective_of(np.asarray, kind), np.zeros(D)
    slopes, h, rng = Slopes(objective), objective.data_curvature(), np.random.default_rng(0)
    w[:3], passes, bounded = 0.05 / np.sqrt(h[:3]), 0, 0
    for _ in range(12):
        w[:3] *= np.exp(0.1 * rng.normal(size=3))
        loss_at = objective.at(objective.problem.scores(w))
        slopes.move(loss_at.gradient)
        exact = objective.adjoint(loss_at.gradient)
        largest = np.sort(np.abs(exact))
        for size in (*largest[:-100:-3], largest[D // 2]):
            penalty = ElasticNet(2.0 * size, 0.5)
            slopes.complete(penalty, w)
            place, exact_place = (slopes.gradient, w), (exact, w)
            promise = penalty.promise(*exact_place, h)
            np.testing.assert_allclose(penalty.promise(*place, h), promise, rtol=1e-6, atol=1e-12)
            one = objective.with_penalty(penalty)
            gap = one.gap(loss_at.value, *exact_place)
            assert one.gap(loss_at.value, *place) == pytest.approx(gap, rel=1e-9, abs=1e-12)
            differ = np.abs(slopes.gradient - exact) > 1e-12 * largest[-1]
            bounded += int(differ.sum())
            passes += 1
    assert bounded > passes * D / 10  # most slopes were not computed


@pytest.mark.parametrize("kind", ["ranking", "univariate"])
def test_nothing_depends_on_slopes_of_a_set_that_are_not_computed(kind, monkeypatch):
    monkeypatch.setattr(slopes_module, "_MANY_ENTRIES", 0)
    objective, w = objective_of(np.asarray, kind), np.zeros(D)
    slopes, S, rng = Slopes(objective), np.arange(D), np.random.default_rng(0)
    part, h, bounded = ColumnSet(objective, S), objective.data_curvature(), 0
    w[:3] = 0.05 / np.sqrt(h[:3])
    for _ in range(12):
        w[:3] *= np.exp(0.1 * rng.normal(size=3))
        loss_at = objective.at(objective.problem.scores(w))
        slopes.move(loss_at.gradient)
        exact = objective.adjoint(loss_at.gradient)
        penalty = ElasticNet(2.0 * np.sort(np.abs(exact))[-20], 0.5)
        on_set = slopes.on_set(part, penalty, w)
        promise = penalty.promise(exact, w, h)
        np.testing.assert_allclose(penalty.promise(on_set, w, h), promise, rtol=1e-6, atol=1e-12)
        bounded += int((np.abs(on_set - exact) > 1e-12 * np.abs(exact).max()).sum())
    assert bounded > 2 * D  # of twelve times as many


def test_a_path_on_a_set_of_all_features_computes_few_slopes(monkeypatch):
    monkeypatch.setattr(slopes_module, "_MANY_ENTRIES", 0)
    computed, all_slopes = [], ColumnSet.slopes

    def counted(part, derivatives, some=None):
        computed.append(len(part.S) if some is None else len(some))
        return all_slopes(part, derivatives, some)

    monkeypatch.setattr(ColumnSet, "slopes", counted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 60)) + 3.0
    sign = np.where(X[:, :5].sum(axis=1) + rng.normal(size=2000) > 15.0, 1.0, -1.0)
    goal = Objective(RowsProblem.of(as_rows(X), sign), Logistic(0.5), ElasticNet(1.0, 1.0))
    alphas = float(np.abs(goal.slope_at_zero).max()) * np.logspace(-2.0, -0.05, 30)
    objectives = [goal.with_penalty(ElasticNet(alpha, 1.0)) for alpha in alphas.tolist()]
    solutions, messages = path(objectives, alphas, 1e-4, 1000, None)
    assert messages == []
    assert sum(computed) < 0.7 * 60 * np.count_nonzero(computed)
    for one, w in zip(objectives, solutions, strict=True):
        least = one.value(Newton().solve(one, None, Run(Monitor(one), tol=1e-9)).coef)
        assert one.value(w) - least <= 1e-4 * (one.at_zero - least)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_first_slopes_are_computed(form):
    objective = objective_of(form, "ranking")
    w, slopes = np.zeros(D), Slopes(objective)
    gradient = objective.at(objective.problem.scores(w)).gradient
    slopes.move(gradient)
    slopes.learn(np.arange(3), np.ones(3))
    np.testing.assert_array_equal(slopes.gradient[:3], 1.0)
    slopes.complete(objective.penalty, w)
    np.testing.assert_allclose(slopes.gradient, objective.adjoint(gradient), rtol=1e-12)


def test_a_slope_at_the_edge_of_its_bound_is_computed():
    objective, w = objective_of(np.asarray, "ranking"), np.zeros(D)
    problem, slopes = objective.problem, Slopes(objective)
    derivatives = objective.at(problem.scores(w)).gradient
    slopes.move(derivatives)
    slopes.complete(objective.penalty, w)
    j = int(np.argmax(np.abs(slopes.gradient)))
    # what no combination explains is parallel to column j, in the norm of the bound
    weight = problem.data.share * np.where(problem.data.sign > 0, *problem.covariance_weights)
    column = problem.columns(np.array([j])).X[:, 0]
    apart = weight * (column - weight @ column / weight.sum())
    moved = derivatives + 1e-3 * np.sign(slopes.gradient[j]) * apart
    slopes.move(moved)
    exact, combined = objective.adjoint(moved), abs(slopes.gradient[j])
    threshold = combined + 0.75 * (abs(exact[j]) - combined)
    slopes.complete(ElasticNet(2.0 * threshold, 0.5), w)
    assert slopes.gradient[j] == pytest.approx(exact[j], rel=1e-12)


def test_a_slope_of_a_coefficient_at_its_bound_is_computed():
    objective, w = objective_of(np.asarray, "ranking"), np.zeros(D)
    slopes, j = Slopes(objective), int(np.argmin(objective.slope_at_zero))
    for size in (0.0, 1e-3):
        w[j] = size
        derivatives = objective.at(objective.problem.scores(w)).gradient
        slopes.move(derivatives)
        others = Weighted(ElasticNet(1e9, 0.5), np.arange(D) != j)
        slopes.complete(Bounded(others, np.tile([-1.0, size], (D, 1))), w)
    exact = objective.adjoint(derivatives)
    assert slopes.gradient[j] == pytest.approx(exact[j], rel=1e-12)
    assert np.any(slopes.gradient != exact)


def test_a_path_is_as_close_to_the_optima_as_asked():
    goal = objective_of(np.asarray, "ranking")
    largest = 2.0 * float(np.abs(goal.slope_at_zero).max())
    alphas = largest * np.logspace(-1.5, -0.05, 20)
    objectives = [goal.with_penalty(ElasticNet(alpha, 0.5)) for alpha in alphas.tolist()]
    solutions, messages = path(objectives, alphas, 1e-4, 1000, None)
    assert messages == []
    for one, w in zip(objectives, solutions, strict=True):
        run = Run(Monitor(one), tol=1e-9)
        least = one.value(Newton().solve(one, None, run).coef)
        assert one.value(w) - least <= 1e-4 * (one.at_zero - least)


@pytest.mark.parametrize("back", [False, True])
def test_a_matrix_that_follows_the_curvature_still_bounds_it(back):
    objective, rng = objective_of(np.asarray, "ranking"), np.random.default_rng(0)
    part = ColumnSet(objective, np.arange(20))
    step = 0.1 * rng.normal(size=20) / np.sqrt(part.curvature)
    ends = [objective.at(np.zeros(60)), objective.at(part.scores(step))]
    start, end = ends[::-1] if back else ends
    part.bend(start)
    change = (part.slopes(end.gradient) - part.slopes(start.gradient)) * (-1.0 if back else 1.0)
    part.follow(step, change)
    assert step @ part.bent @ step == pytest.approx(step @ change)
    share = part.share(end)
    assert share > 0.0
    unit = 1.0 / np.sqrt(part.curvature)
    rest = (part.hessian(end) - share * part.bent) * unit * unit[:, None]
    assert np.linalg.eigvalsh(rest)[0] >= -1e-9
