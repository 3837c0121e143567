"""The logistic loss of rows in parts: sums at coefficients and an intercept, as of all scores."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import Source
from aucmax.data.rows.parts import InParts
from aucmax.objective.at_intercept import AtIntercept
from aucmax.objective.losses import Logistic
from aucmax.objective.problem import RowsProblem
from oracles import logistic, rows

CUTS = (0, 20, 20, 75, 120)  # one part is empty


def in_parts(sparse=False, gamma=0.5, offset=0.0):
    """Rows in parts, whose scores stay there, their literal columns, labels and shares."""
    X, y = rows(3, n=120, d=4, share=0.3)
    X = np.where(np.abs(X) > 1.0, X, 0.0) if sparse else X + offset
    weight = np.random.RandomState(0).choice([0.5, 1.0, 4.0], size=120)
    kind = sp.csr_array if sparse else np.asarray
    source = Source([lambda a=a, b=b: kind(X[a:b]) for a, b in pairwise(CUTS)])
    store = InParts(source, np.diff(CUTS), 4)
    problem = RowsProblem.of(store, y.astype(float), weight).scaled(gamma)
    assert problem.scores_stay
    Z = X if problem.factor is None else X * problem.factor
    return problem, Z, y, logistic.shares(y, weight)


W = np.array([0.7, -0.4, 0.2, 1.1])
ALL = np.arange(4)


@pytest.mark.parametrize("tau", [0.5, 0.05])
@pytest.mark.parametrize(("sparse", "gamma"), [(False, 0.5), (True, 0.0)])
def test_derivatives_are_those_of_all_scores(sparse, gamma, tau):
    problem, X, y, s = in_parts(sparse, gamma)
    best = logistic.intercept(X @ W, y, s, tau)
    value, gradient, hessian = logistic.at(X @ W, y, s, tau)
    v = np.array([1.0, 0.5, -2.0, 0.3])
    for S in (None, ALL, ALL[[0, 2]]):
        there = AtIntercept.of(problem, Logistic(tau), W, best, S)
        assert there.value == pytest.approx(value, rel=1e-12)
        assert there.intercept == pytest.approx(best, abs=1e-12)
        assert 0.0 <= there.excess < 1e-20
        np.testing.assert_allclose(there.gradient, X.T @ gradient, atol=1e-12)
        for T in (ALL, ALL[[0, 2]], ALL[[1]]):
            of_some = X[:, T].T @ hessian @ X[:, T]
            np.testing.assert_allclose(there.matrix(T), of_some, atol=1e-12)
        np.testing.assert_allclose(there.product(v), X.T @ hessian @ X @ v, atol=1e-12)
    z = X @ v
    assert problem.range_of_scores(v) == pytest.approx(z.max() - z.min())


def test_the_error_of_another_intercept_shrinks_with_its_square():
    problem, X, y, s = in_parts()
    best, (value, gradient, _) = logistic.intercept(X @ W, y, s), logistic.at(X @ W, y, s)
    errors = []
    for off in (0.1, 0.01):
        there = AtIntercept.of(problem, Logistic(), W, best + off, None)
        assert 0.0 < there.value - value <= there.excess
        errors.append([abs(there.intercept - best), np.abs(there.gradient - X.T @ gradient).max()])
        assert max(errors[-1]) < off**2
    assert np.all(np.array(errors[1]) < 0.02 * np.array(errors[0]))


def test_a_step_follows_the_best_intercept_and_knows_its_slope():
    problem, X, y, s = in_parts()
    start = AtIntercept.of(problem, Logistic(), W, logistic.intercept(X @ W, y, s) + 0.1, None)
    direction = np.array([-0.3, 0.2, 0.5, -1.0])
    h = 1e-5
    ahead, back = (start.moved(direction, t, None) for t in (h, -h))
    along, slope = start.towards(direction)
    assert (ahead.value - back.value) / (2 * h) == pytest.approx(slope, rel=1e-8)
    assert (ahead.b - back.b) / (2 * h) == pytest.approx(along)
    # b goes to the best one, and with it
    bests = [logistic.intercept(X @ (W + t * direction), y, s) for t in (-1e-4, 1e-4)]
    assert along == pytest.approx((bests[1] - bests[0]) / 2e-4 - 0.1, abs=0.02)


def test_rows_far_from_zero_keep_their_digits():
    near, far = in_parts(gamma=0.0), in_parts(gamma=0.0, offset=1e6)
    _, X, y, s = near
    best = logistic.intercept(X @ W, y, s)
    a, b = (
        AtIntercept.of(problem, Logistic(), W, best + shift, ALL)
        for (problem, *_), shift in ((near, 0.0), (far, -1e6 * W.sum()))
    )
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-8)
    np.testing.assert_allclose(a.matrix(ALL), b.matrix(ALL), atol=1e-8)
    np.testing.assert_allclose(a.product(W), b.product(W), atol=1e-8)
