"""The second derivative of a data term over columns, against explicit sums over rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax.data.rows import as_rows
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import RowsProblem
from aucmax.solvers.batch.columns import WeightedColumns, of_square, shifted
from aucmax.solvers.batch.model import ColumnModel


def drawn(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.5)
    X[:, 2] = 1e3 + rng.normal(size=40)  # without zeros, far from the origin
    sign = np.where(rng.random(40) < 0.3, 1.0, -1.0)
    return X, sign, rng, RowsProblem.of(as_rows(form(X)), sign)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("follows", [False, True])
def test_weights_of_rows(form, follows):
    X, _, rng, problem = drawn(form)
    bent, S = rng.random(40) * (rng.random(40) < 0.7), np.array([0, 2, 4])
    matrix, shift = shifted(problem.columns(S).X, problem.mean_neg[S])
    centred = X[:, S] - shift
    if follows:
        centred = centred - bent @ centred / bent.sum()
    expected = centred.T @ (bent[:, None] * centred)
    columns, v = WeightedColumns.of_rows(matrix, bent, follows), rng.normal(size=3)
    np.testing.assert_allclose(columns.gram(), expected, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(columns.diagonal, np.diag(expected), rtol=1e-10)
    np.testing.assert_allclose(columns.product(v), expected @ v, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_square_loss(form):
    X, sign, rng, problem = drawn(form)
    S, v = np.array([1, 2, 3]), rng.normal(size=3)
    pos, neg = X[sign > 0][:, S], X[sign < 0][:, S]
    pairs = (pos[:, None] - neg).reshape(-1, 3)
    expected = pairs.T @ pairs / len(pairs)
    columns = of_square(problem, S)
    np.testing.assert_allclose(columns.gram(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(columns.product(v), expected @ v, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_sweeps_lower_the_model_and_keep_its_slope(form):
    _, _, rng, problem = drawn(form)
    columns, slope, v = of_square(problem, np.arange(5)), rng.normal(size=5), rng.normal(size=5)
    model = ColumnModel(columns, slope, v, ElasticNet(0.1, 0.5), 200)
    begin = model.promise
    model.find_support(np.inf)  # one sweep is enough
    kept = slope + columns.gram() @ (model.v - v)
    np.testing.assert_allclose(model.slope, kept, rtol=1e-9, atol=1e-9)
    assert (model.spent, model.promise < begin) == (1, True)
    model.minimise(1e-12)
    assert model.promise <= 1e-12 < begin
    assert model.spent < 100
