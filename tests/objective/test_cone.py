"""The nearest point of a cone, and the bound of the distance to the optimum on it."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from aucmax.objective import Objective
from aucmax.objective.cone import nearest
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2
from aucmax.objective.penalties.cone import L2Cone
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import Monitor, Run
from aucmax.solvers.auto import choose
from aucmax.solvers.batch.newton_on_cone import NewtonOnCone, gap_on_cone


class Listed(NamedTuple):
    """The w with Gw + Et ≥ 0 for some t, where each t only bounds rows from below."""

    rows: sp.csr_matrix
    auxiliary: sp.csr_matrix

    def __contains__(self, w):
        rises, E = self.rows @ w, self.auxiliary.toarray()
        t = [rises[column < 0].min() for column in E.T]
        return bool(((rises + E @ t)[(E >= 0).all(axis=1)] >= -1e-11).all())

    def inside(self, w):
        return w


def listed(G):
    return Listed(sp.csr_matrix(G), sp.csr_matrix((len(G), 0)))


@pytest.fixture(scope="module")
def matrix():
    A = np.random.default_rng(0).normal(size=(12, 12))
    return A @ A.T + np.eye(12)


@pytest.mark.parametrize("copies", [1, 3])
def test_the_nearest_point_is_that_of_nonnegative_least_squares(matrix, copies):
    """Rows that occur several times change nothing."""
    rng = np.random.default_rng(1)
    root = np.linalg.cholesky(matrix)
    for m in (1, 6, 30):
        G, u = rng.normal(size=(m, 12)), rng.normal(size=12)
        point, pull = nearest(
            listed(np.tile(G, (copies, 1))), u, lambda g: np.linalg.solve(matrix, g)
        )
        z, _ = nnls(np.linalg.solve(root, G.T), -root.T @ u)
        np.testing.assert_allclose(point, u + np.linalg.solve(matrix, G.T @ z), atol=1e-9)
        np.testing.assert_allclose(pull, matrix @ (point - u), atol=1e-9)
        assert (G @ point).min() > -1e-12
        assert abs(pull @ point) < 1e-11


def test_a_bound_is_the_least_of_its_rows(matrix):
    """With t, the conditions are those of all choices of a row for each t."""
    rng = np.random.default_rng(2)
    steps, base, u = rng.normal(size=(2, 3, 12)), rng.normal(size=12), rng.normal(size=12)
    E = np.zeros((7, 2))
    E[:3, 0], E[3:6, 1], E[6] = -1.0, -1.0, 1.0
    cone = Listed(sp.csr_matrix(np.vstack([*steps, base])), sp.csr_matrix(E))
    G = np.array([base + a + b for a in steps[0] for b in steps[1]])
    points = [nearest(c, u, lambda g: np.linalg.solve(matrix, g)).point for c in (cone, listed(G))]
    np.testing.assert_allclose(*points, atol=1e-9)
    assert np.abs(u - points[0]).max() > 0.1


def test_a_point_of_the_cone_is_the_nearest_to_itself():
    u = np.ones(4)
    point, pull = nearest(listed(np.eye(4)), u, lambda g: g)
    assert np.array_equal(point, u)
    assert not pull.any()


@pytest.fixture(scope="module", params=["square", "squared_hinge", "logistic"])
def fit(request):
    """The objective, the cone, and the optimum by Newton's method."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 6))
    positive = X @ [1, -1, 0.5, -0.5, 0, 0] + rng.normal(size=150) > 0.5
    cone = listed(np.vstack([np.eye(6), -np.eye(6)[0] + 0.1]))
    objective = Objective(RowsProblem.of(X, positive), LOSSES[request.param], L2Cone(0.05, cone))
    return objective, NewtonOnCone().solve(objective, None, Run(Monitor(objective), 1e-13))


def test_the_optimum_of_each_loss(fit):
    """No point of the cone nearby is better, and both certificates say so."""
    objective, result = fit
    w, cone = result.coef, objective.penalty.cone
    assert isinstance(choose(objective), NewtonOnCone)
    assert result.message is None
    assert objective.relative(result.gap, result.value) < 1e-13
    assert objective.optimality(w) < 1e-9
    free = objective.with_penalty(L2(0.05))
    assert objective.optimality(w) < 1e-6 < free.optimality(w)
    rng = np.random.default_rng(4)
    for size in (1e-1, 1e-3):
        near = objective.penalty.prox(w + size * rng.normal(size=6), 0.0)
        assert near in cone
        assert objective.value(near) > result.value


def test_a_wrong_solution_is_told(fit):
    """The bound is above the distance for any point of the cone, and infinite outside."""
    objective, result = fit
    w, alpha = result.coef, objective.penalty.l2
    slope = objective.data_gradient(w) + alpha * w
    pull = objective.penalty.nearest(w - slope).pull
    assert gap_on_cone(objective, slope, w, pull) < 1e-6
    away = objective.penalty.prox(w + 0.1 * np.abs(w).max(), 0.0)
    for wrong in (0.9 * w, away, np.zeros(6)):
        distance = objective.value(wrong) - result.value
        slope = objective.data_gradient(wrong) + alpha * wrong
        assert distance > 1e-7
        for direction in (pull, np.zeros(6), 2.0 * pull):
            assert gap_on_cone(objective, slope, wrong, direction) >= distance
        value, gradient = objective.data_term(wrong)
        assert objective.gap(value, gradient, wrong) >= distance
    assert gap_on_cone(objective, slope, -np.ones(6), pull) == np.inf


def test_too_few_steps_are_told(fit):
    objective, _ = fit
    if objective.by_moments:
        return
    result = NewtonOnCone(max_iter=1).solve(objective, None, Run(Monitor(objective), 1e-12))
    assert "Newton's method stopped after 1 steps at optimality" in result.message
