"""Proximal Newton steps for the logistic loss of rows in parts: the optimum of all rows."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import AUCClassifier, AUCClassifierCV, Source
from aucmax.data.rows import as_rows
from aucmax.data.rows.parts import InParts
from aucmax.objective import Objective
from aucmax.objective.losses import Logistic
from aucmax.objective.penalties import L2, ElasticNet
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import Newton
from aucmax.solvers.base import Monitor, Run
from aucmax.solvers.batch import in_parts

CUTS = (0, 50, 50, 170, 400)


def data(d, sparse=False):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, d)) + rng.normal(size=(400, 1))
    if sparse:
        X = np.where(rng.random(X.shape) < 0.1, X, 0.0)
    y = X[:, :12] @ rng.normal(size=12) + rng.normal(size=400) > 1.0
    weight = rng.integers(0, 3, 400).astype(float)
    rows = sp.csr_array(X) if sparse else X
    parts = [lambda a=a, b=b: (rows[a:b], y[a:b], weight[a:b]) for a, b in pairwise(CUTS)]
    return (rows, y, weight), Source(parts)


@pytest.mark.parametrize(
    ("d", "sparse", "most"),
    [(30, False, 9), (300, False, 11), (300, True, 11), (90, False, None)],
    ids=["all features", "working sets", "sparse", "by products"],
)
def test_the_optimum_is_that_of_all_rows_in_few_passes(d, sparse, most, monkeypatch):
    if most is None:  # as if there were more features than a matrix has
        monkeypatch.setattr(in_parts, "MAX_MATRIX_FEATURES", 0)
    # no column of a working set is kept
    monkeypatch.setattr(InParts, "columns", lambda *_: pytest.fail("columns were collected"))
    rows, source = data(d, sparse)
    settings = dict(l1_ratio=0.8, loss="logistic", tol=1e-12, within="pooled", standardize=0.5)
    clf = AUCClassifier(2e-3, **settings)
    whole, parts = AUCClassifier(2e-3, **settings).fit(*rows), clf.fit(source)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-5)
    assert parts.intercept_ == pytest.approx(whole.intercept_, abs=1e-5)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-11)
    assert 0.0 <= parts.optimality_ <= 1e-12
    assert 2 < np.count_nonzero(parts.coef_) < d
    assert most is None or parts.passes_ <= most


def objectives(d, penalty):
    """Return J of rows in parts, and of the same rows in memory."""
    (X, y, weight), source = data(d)
    stores = InParts(source, np.diff(CUTS), d), as_rows(X)
    problems = [RowsProblem.of(store, np.where(y, 1.0, -1.0), weight) for store in stores]
    return [Objective(problem, Logistic(), penalty) for problem in problems]


@pytest.mark.parametrize("penalty", [L2(1e-2), ElasticNet(1e-2, 0.5)], ids=["l2", "l1"])
def test_from_an_optimum_the_value_is_that_of_its_best_intercept(penalty):
    objective, of_rows = objectives(20, penalty)
    best = Newton().solve(objective, None, Run(Monitor(objective), 1e-10, 1000)).coef
    again = Newton().solve(objective, best, Run(Monitor(objective), 0.1, 1000))
    np.testing.assert_array_equal(again.coef, best)
    assert again.value == pytest.approx(of_rows.value(best), rel=1e-6)
    assert again.gap < 1e-6


@pytest.mark.parametrize("sure", [False, True])
def test_the_gap_bounds_what_is_left(sure):
    objective, _ = objectives(150, ElasticNet(1e-2, 0.5))

    def solved(tol):
        run = Run(Monitor(objective), tol, 1000, sure=sure)
        return Newton().solve(objective, None, run)

    best = solved(1e-14).value
    gaps = []
    for tol in (0.3, 0.1, 1e-2, 1e-4, 1e-6):
        result = solved(tol)
        assert -1e-14 <= result.value - best <= result.gap
        assert objective.relative(result.gap, result.value) <= tol
        gaps.append(result.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > gaps[-1]


def test_each_solve_of_a_path_begins_where_the_last_one_ended():
    rows, source = data(40)
    settings = dict(alphas=[1e-3, 3e-3, 1e-2], l1_ratios=(0.5,), losses=("logistic",), cv=3)
    whole, parts = (AUCClassifierCV(**settings, tol=1e-9) for _ in range(2))
    whole.fit(*rows), parts.fit(source)
    assert (parts.alpha_, parts.l1_ratio_) == (whole.alpha_, whole.l1_ratio_)
    assert parts.best_score_ == pytest.approx(whole.best_score_, abs=1e-6)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-3)
