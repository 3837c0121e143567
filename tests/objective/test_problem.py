"""The problem as a seam: to solvers that ask its verbs it is the same where the rows are."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
import scipy.sparse as sp

from aucmax import ClassMoments
from aucmax.data.rows import as_rows, to_scipy
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import (
    Columns,
    MomentsProblem,
    Problem,
    RowsProblem,
    SignedRows,
)
from aucmax.solvers import (
    OAM,
    OPAUC,
    SOLAM,
    SPAM,
    VRSPAM,
    ConjugateGradient,
    CoordinateDescent,
    CuttingPlane,
    Exact,
    Monitor,
    Newton,
    Run,
    UnivariateSGD,
)
from aucmax.solvers.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Partitioned(Problem):
    """Rows in several parts, of which no whole is ever made: plain NumPy behind the verbs."""

    offers = frozenset({"moments", "products", "rows"})
    knows_moments = False

    @cached_property
    def signs(self):
        return np.concatenate([sign for _, sign in self.data])

    @property
    def n_samples(self):
        return len(self.signs)

    @property
    def n_features(self):
        return self.data[0][0].shape[1]

    @cached_property
    def n_pos(self):
        return float(np.sum(self.signs > 0))

    @cached_property
    def n_neg(self):
        return float(np.sum(self.signs < 0))

    @cached_property
    def weights(self):
        return 1.0 / np.where(self.signs > 0, self.n_pos, self.n_neg)

    @cached_property
    def cuts(self):
        return np.cumsum([len(sign) for _, sign in self.data])[:-1]

    def raw_means(self):
        return tuple(
            sum(X[sign == k].sum(axis=0) for X, sign in self.data) / count
            for k, count in ((1, self.n_pos), (-1, self.n_neg))
        )

    def raw_variances(self):
        pos, neg = self.raw_means()
        return tuple(
            sum(((X[sign == k] - mean) ** 2).sum(axis=0) for X, sign in self.data) / count
            for k, count, mean in ((1, self.n_pos, pos), (-1, self.n_neg, neg))
        )

    def moments(self):
        return self.statistics(ClassMoments([-1.0, 1.0]))

    def statistics(self, empty):
        for X, sign in self.data:
            empty.add_rows(as_rows(X), sign, None)
        return empty

    def scores(self, W):
        return np.concatenate([X @ W for X, _ in self.data])

    def adjoint(self, g):
        return sum(X.T @ h for (X, _), h in zip(self.data, np.split(g, self.cuts), strict=True))

    def within_product(self, v):
        u = self.scores(v)
        pos, neg = self.raw_means()
        centred = u - np.where(self.signs > 0, pos @ v, neg @ v)
        of_class = np.where(self.signs > 0, *self.covariance_weights)
        return self.adjoint(of_class * self.weights * centred)

    def product(self, s, V, offset=0.0, origin=0.0):
        r = s * (self.scores(V) - offset)
        return self.adjoint(r) - r.sum() * origin

    def loss_at(self, loss, z, like=None, near=None):
        return loss.at(z, self.signs, self.weights)

    def margins(self, loss, z, balanced):
        even = np.full(len(z), 1.0 / len(z))
        return loss.at(z, self.signs, 0.5 * self.weights if balanced else even)

    def columns(self, S):
        return Columns(np.vstack([X[:, S] for X, _ in self.data]), self.signs, self.weights)

    def batches(self):
        for X, sign in self.data:
            yield SignedRows(as_rows(X), sign, np.ones(len(sign)))


def rows(n, d):
    rng = np.random.RandomState(n + d)
    sign = np.where(rng.rand(n) < 0.4, 1.0, -1.0)
    X = rng.randn(n, d) + 0.5 * sign[:, None] * (np.arange(d) % 5 == 0) + 2.0
    X[rng.rand(n, d) < 0.3] = 0.0
    return X, sign


def two_problems(n, d):
    """The same rows in memory and in two parts."""
    X, sign = rows(n, d)
    cut = n // 3
    parts = [(X[:cut], sign[:cut]), (X[cut:], sign[cut:])]
    return RowsProblem.of(as_rows(X), sign), Partitioned(parts)


FEW, MANY = (150, 9), (60, 1600)
SOLVES = [
    ("square", ConjugateGradient(), 0.0, FEW),
    ("square", ConjugateGradient(), 0.0, MANY),
    ("square", Exact(), 0.0, FEW),
    ("square", Exact("frequent_directions", 60), 0.0, FEW),
    ("square", CoordinateDescent(), 0.5, FEW),
    ("square", CoordinateDescent(), 0.5, MANY),
    ("squared_hinge", Newton(), 0.0, FEW),
    ("squared_hinge", Newton(), 0.0, MANY),
    ("squared_hinge", Newton(), 0.5, FEW),
    ("squared_hinge", Newton(), 0.5, MANY),
    ("hinge", CuttingPlane(), 0.0, FEW),
    ("logistic", Newton(), 0.0, FEW),
    ("logistic", Newton(), 0.0, MANY),
    ("logistic", Newton(), 0.5, FEW),
    ("logistic", Newton(), 0.5, MANY),
]


@pytest.mark.parametrize(("loss", "solver", "l1_ratio", "size"), SOLVES)
def test_rows_in_parts_give_what_rows_in_memory_give(loss, solver, l1_ratio, size):
    found = []
    for problem in two_problems(*size):
        goal = Objective(problem, LOSSES[loss], ElasticNet(0.1, l1_ratio))
        result = solver.solve(goal, None, Run(Monitor(goal), 1e-10, 10_000))
        assert result.message is None
        found.append(result.coef)
        close = 1e-4 if loss == "hinge" else 1e-6  # it is measured by rounded kinks
        assert Certificate(goal).evaluate(result.coef)[1] <= close
    scale = np.abs(found[0]).max()
    assert scale > 1e-3
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-4 * scale)


@pytest.mark.parametrize("balanced", [False, True])
def test_a_loss_of_single_rows_is_the_same_on_rows_in_parts(balanced):
    w = np.random.RandomState(0).randn(9)
    for loss in UNIVARIATE_LOSSES.values():
        goals = [
            UnivariateObjective(problem, loss, ElasticNet(0.1, 0.0), balanced)
            for problem in two_problems(*FEW)
        ]
        memory, parts = (goal.data_term(w) for goal in goals)
        assert parts[0] == pytest.approx(memory[0], rel=1e-12)
        np.testing.assert_allclose(parts[1], memory[1], rtol=1e-10)


def test_batches_are_the_rows_with_their_signs_and_weights():
    X, sign = rows(40, 3)
    weight = np.random.RandomState(1).rand(40) + 0.5
    for form in (np.asarray, sp.csr_array):
        problem = RowsProblem.of(as_rows(form(X)), sign, weight).scaled(1.0)
        (batch,) = problem.batches()
        dense = sp.csr_array(to_scipy(batch.X)).toarray()
        np.testing.assert_allclose(dense, X * problem.factor)
        np.testing.assert_array_equal(batch.sign, sign)
        np.testing.assert_allclose(batch.weight, weight / weight.mean())


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_columns_are_in_the_solvers_coordinates(form, gamma):
    X, sign = rows(40, 6)
    problem = RowsProblem.of(as_rows(form(X)), sign).scaled(gamma)
    S = np.array([1, 4])
    found = problem.columns(S)
    dense = found.X if isinstance(found.X, np.ndarray) else found.X.toarray()
    np.testing.assert_allclose(dense @ [1.0, 2.0], problem.scores(np.eye(6)[1] + 2 * np.eye(6)[4]))
    np.testing.assert_array_equal(found.sign, sign)
    for label in (1.0, -1.0):
        assert found.share[sign == label].sum() == pytest.approx(1.0)


LEARNERS = [
    (SPAM(step_size=0.01, order="cyclic"), 0.0),
    (SPAM(step_size=0.01, order="cyclic", average=False), 0.5),
    (VRSPAM(step_size=0.01, n_stages=4, order="cyclic"), 0.0),
    (VRSPAM(step_size=0.01, n_stages=4, order="cyclic"), 0.5),
    (OAM(C=0.01, order="cyclic", n_epochs=2), 0.0),
    (OPAUC(step_size=0.01, order="cyclic", n_epochs=2), 0.0),
    (UnivariateSGD("logistic", step_size=0.01, order="cyclic"), 0.0),
]


@pytest.mark.parametrize(("solver", "l1_ratio"), LEARNERS)
def test_learners_step_through_parts_as_through_rows_in_memory(solver, l1_ratio):
    found = []
    for problem in two_problems(*FEW):
        objective = solver.own_objective(
            Objective(problem, LOSSES["square"], ElasticNet(0.02, l1_ratio))
        )
        run = Run(Monitor(objective), rng=np.random.RandomState(0))
        found.append(solver.solve(objective, None, run).coef)
    assert np.linalg.norm(found[0]) > 0.01
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ["shuffle", "random"])
@pytest.mark.parametrize("kind", [SPAM, VRSPAM, SOLAM, UnivariateSGD])
def test_learners_reach_on_parts_what_they_reach_in_memory(kind, order):
    values = []
    for problem in two_problems(*FEW):
        objective = Objective(problem, LOSSES["square"], ElasticNet(0.02, 0.0))
        solver = kind(order=order)
        own = solver.own_objective(objective)
        run = Run(Monitor(own), rng=np.random.RandomState(0))
        values.append(own.value(solver.solve(own, None, run).coef) / own.at_zero)
    assert values[1] < 1.0
    np.testing.assert_allclose(*values, atol=0.02)


def test_principal_axes_need_all_rows_at_once():
    _, parts = two_problems(*FEW)
    objective = Objective(parts, LOSSES["square"], ElasticNet(0.02, 0.0))
    run = Run(Monitor(objective), rng=np.random.RandomState(0))
    with pytest.raises(ValueError, match="use covariance='projection'"):
        OPAUC(covariance="pca", rank=3).solve(objective, None, run)


def test_statistics_alone_answer_no_verb_of_rows():
    X, sign = rows(40, 3)
    problem = MomentsProblem(ClassMoments.from_data(X, sign))
    z = np.zeros(40)
    for ask in (
        lambda: problem.scores(np.zeros(3)),
        lambda: problem.adjoint(z),
        lambda: problem.product(z, np.zeros(3)),
        lambda: problem.loss_at(LOSSES["hinge"], z),
        lambda: problem.margins(UNIVARIATE_LOSSES["hinge"], z, True),
        lambda: problem.columns(np.array([0])),
        lambda: problem.batches(),
        lambda: problem.standing_out(),
    ):
        with pytest.raises(ValueError, match="needs rows"):
            ask()
    assert problem.sample(5) is problem
    assert problem.apart() is problem
