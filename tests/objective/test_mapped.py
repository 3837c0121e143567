"""Rows in other coordinates: a mapped problem is that of the mapped rows."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax.data.rows import as_rows
from aucmax.data.rows.parts import InParts
from aucmax.data.rows.source import Source
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.mapped import MappedProblem
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import Monitor, Run
from aucmax.solvers.batch.newton import Newton
from aucmax.statistics.moments import ClassMoments

CASES = {"equal": (False, False), "weighted": (True, False), "in parts": (True, True)}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def problems(request):
    """The problem of rows Tᵀx, and the same with only the rows x stored, or read in parts."""
    weighted, in_parts = request.param
    rng = np.random.default_rng(0)
    X = sp.random(400, 30, 0.2, format="csr", random_state=1) + sp.eye(400, 30, format="csr")
    T = sp.block_diag([rng.normal(size=(5, 5)) for _ in range(6)], format="csc")[:, :28]
    sign = np.where(X @ rng.normal(size=30) + rng.normal(size=400) > 0.5, 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, 400) if weighted else None
    plain = RowsProblem.of(as_rows((X @ T).toarray()), sign, weight)
    moments = ClassMoments([-1.0, 1.0]).add_rows(as_rows((X @ T).toarray()), sign, weight)
    x = as_rows(X.tocsr())
    if in_parts:
        ends = [0, 150, 151, 400]
        source = Source([lambda a=a, b=b: X.tocsr()[a:b] for a, b in pairwise(ends)])
        x = InParts(source, np.diff(ends), 30)
    return plain, MappedProblem.behind(x, T, moments, sign, weight)


def test_products_are_those_of_the_mapped_rows(problems):
    plain, mapped = problems
    rng = np.random.default_rng(1)
    v, g = rng.normal(size=28), rng.uniform(size=400)
    origin = plain.raw_means()[0]
    assert (plain.n_features, plain.n_samples) == (mapped.n_features, mapped.n_samples)
    for of in (
        lambda problem: problem.scores(v),
        lambda problem: problem.adjoint(g),
        lambda problem: problem.product(g, v, 0.3),
        lambda problem: problem.product(g, v, g, origin),
        lambda problem: problem.gram(g, origin)[0],
        lambda problem: problem.gram(g, origin)[1],
        lambda problem: problem.mean_pos,
        lambda problem: problem.spread(),
    ):
        np.testing.assert_allclose(of(mapped), of(plain), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_second_derivatives_are_those_of_the_mapped_rows(problems, loss):
    v = np.random.default_rng(2).normal(size=28)
    matrices = []
    if loss == "squared_hinge" and isinstance(problems[1].store, InParts):
        pytest.skip("pairs of rows in parts have no matrix")
    for problem in problems:
        objective = Objective(problem, LOSSES[loss], L2(0.01))
        matrices.append(objective.bend_matrix(objective.at(problem.scores(v))))
    np.testing.assert_allclose(*matrices, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_optimum_is_that_of_the_mapped_rows(problems, loss):
    fits = []
    for problem in problems:
        run = Run(Monitor(Objective(problem, LOSSES[loss], L2(0.01))), 1e-12, 1000)
        fits.append(Newton().solve(Objective(problem, LOSSES[loss], L2(0.01)), None, run).coef)
    np.testing.assert_allclose(*fits, rtol=1e-5, atol=1e-7)
