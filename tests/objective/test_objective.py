"""The duality gap, the objective over single rows, and what both rest on."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from aucmax import ClassMoments
from aucmax.data.rows import as_rows
from aucmax.data.rows.store import ByClass, Formula
from aucmax.objective import Objective, UnivariateObjective
from aucmax.objective.losses import LOSSES, UNIVARIATE_LOSSES, ByRow, PairsInParts
from aucmax.objective.losses.base import row_blocks
from aucmax.objective.penalties import ElasticNet, L2Ball
from aucmax.objective.problem import MomentsProblem, RowsProblem
from aucmax.solvers import CuttingPlane, Monitor, Run
from oracles import rows
from oracles.pairs import Pairs

untimed = settings(deadline=None, derandomize=True, max_examples=30)
ROWS_LOSSES = UNIVARIATE_LOSSES | {"rounded": UNIVARIATE_LOSSES["hinge"].rounded(0.3)}
each_loss = pytest.mark.parametrize("loss", ROWS_LOSSES.values(), ids=ROWS_LOSSES)
POINTS = np.linspace(-2.3, 3.1, 41)  # away from the kink of the hinge at t = 1
seeds = st.integers(0, 2**31 - 1)
penalties = st.builds(ElasticNet, st.floats(1e-3, 2.0), st.sampled_from([0.0, 0.3, 1.0]))


# ---- losses of single rows ---------------------------------------------------------------


def test_the_registry_is_keyed_by_name():
    assert set(UNIVARIATE_LOSSES) == {"exp", "square", "logistic", "hinge"}
    assert all(loss.name == name for name, loss in UNIVARIATE_LOSSES.items())


@each_loss
def test_the_derivative_is_the_slope(loss):
    h = 1e-6
    slope = (loss.point(POINTS + h) - loss.point(POINTS - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(POINTS), slope, atol=1e-7, rtol=1e-7)


@each_loss
def test_a_loss_is_convex_and_falls_at_zero(loss):
    middle = loss.point((POINTS[:-1] + POINTS[1:]) / 2)
    assert np.all(middle <= (loss.point(POINTS[:-1]) + loss.point(POINTS[1:])) / 2 + 1e-12)
    assert np.all(loss.derivative(POINTS[POINTS <= 0]) < 0)
    at_zero = np.log(2.0) if loss.name == "logistic" else 1.0
    assert loss.point(np.zeros(1))[0] == pytest.approx(at_zero)


def test_losses_by_hand():
    t = np.array([-1.0, 0.5, 3.0])
    expected = {
        "exp": np.exp([1.0, -0.5, -3.0]),
        "square": [4.0, 0.25, 4.0],
        "logistic": [np.log(1 + np.e), np.log(1 + np.exp(-0.5)), np.log(1 + np.exp(-3.0))],
        "hinge": [2.0, 0.5, 0.0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(UNIVARIATE_LOSSES[name].point(t), values, rtol=1e-14)


def test_the_logistic_loss_does_not_overflow():
    loss = UNIVARIATE_LOSSES["logistic"]
    np.testing.assert_allclose(loss.point(np.array([-1e4, 1e4])), [1e4, 0.0])
    np.testing.assert_allclose(loss.derivative(np.array([-1e4, 1e4])), [-1.0, 0.0])


# ---- rounded kinks -----------------------------------------------------------------------


@pytest.mark.parametrize("width", [1e-4, 0.1, 1.0, 3.0])
def test_smoothed_slopes_are_those_of_a_rounded_kink(width):
    """Of ℓ(t) = max(0, 1 − t) averaged over kinks between 1 − width/2 and 1 + width/2."""
    kinks = 1 + width * (np.arange(1000) + 0.5 - 500) / 1000
    t = 1 + width * np.linspace(-0.8, 0.8, 23)
    average = np.mean(t[:, None] < kinks, axis=1)
    found = -UNIVARIATE_LOSSES["hinge"].rounded(width).derivative(t)
    np.testing.assert_allclose(found, average, atol=1e-3)
    assert found.min() == 0.0
    assert found.max() == 1.0


@pytest.mark.parametrize("loss", [LOSSES["hinge"], UNIVARIATE_LOSSES["hinge"]])
@pytest.mark.parametrize("width", [1e-2, 0.3, 4.0])
def test_a_rounded_hinge_lies_on_the_hinge_or_little_above(loss, width):
    t = np.r_[1.0, 1 + width * np.linspace(-0.8, 0.8, 40)]
    above = loss.rounded(width).point(t) - loss.point(t)
    assert above.min() >= -1e-15
    assert above.argmax() == 0
    assert above[0] == pytest.approx(width / 8)
    assert np.all(np.abs(above[np.abs(t - 1) > 0.5 * width]) < 1e-15)
    h = 1e-6
    slope = (loss.rounded(width).point(t + h) - loss.rounded(width).point(t - h)) / (2 * h)
    np.testing.assert_allclose(loss.rounded(width).derivative(t), slope, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_by_class_are_sent_as_a_bit_for_each_row(weighted):
    rng = np.random.default_rng(0)
    weight = rng.random(80_003) if weighted else None
    formula = Formula((0.3, -0.7), (1.0, 1.0))
    numbers = ByClass(formula, rng.random(80_003) < 0.1, weight).part(slice(1, None))
    sent = pickle.dumps(numbers)
    assert len(sent) < 11_000 + (80_002 * 8 if weighted else 0)
    np.testing.assert_array_equal(pickle.loads(sent)[:], numbers[:])


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("share", [0.1, 0.8])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_what_is_made_block_by_block_is_what_arrays_give(loss, share, weighted, tied, monkeypatch):
    rng = np.random.default_rng(1)
    z, u, positive = rng.normal(size=200), rng.normal(size=200), rng.random(200) < share
    z, weight = z + positive, rng.random(200) + 0.5 if weighted else np.ones(200)
    z = np.rint(4.0 * z) / 4.0 if tied else z  # some margins are 1, to the last bit
    totals = [1.0 / weight[of].sum() for of in (positive, ~positive)]
    sign = ByClass(Formula((1.0, -1.0)), positive)
    s = ByClass(Formula(tuple(totals), (1.0, 1.0)), positive, weight)
    expected = LOSSES[loss].at(z, sign[:], s[:])
    monkeypatch.setattr("aucmax.objective.losses.base.ROWS_PER_BLOCK", 7)
    there = LOSSES[loss].at(z, sign, s)
    assert there.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(there.gradient[:], expected.gradient[:], rtol=0, atol=1e-15)
    np.testing.assert_allclose(there.product(u), expected.product(u), rtol=0, atol=1e-15)
    if isinstance(there, PairsInParts):
        bent, centre = there.bends((rows, u[rows]) for rows in row_blocks(200))
        bend = np.concatenate([bent[rows] * (u[rows] - centre[rows]) for rows in row_blocks(200)])
        np.testing.assert_allclose(bend, expected.product(u), rtol=0, atol=1e-15)
    else:
        assert isinstance(there, ByRow)
        steep, bend = there.along(u)
        assert steep == pytest.approx(expected.gradient @ u, rel=1e-10)
        assert bend == pytest.approx(u @ expected.product(u), rel=1e-10)


@untimed
@given(seeds, st.sampled_from([1e-4, 1e-2, 0.3, 2.0]))
def test_smoothed_pair_sums_are_sums_over_pairs(seed, width):
    rng = np.random.RandomState(seed)
    sign = np.r_[1.0, -1.0, rng.choice([-1.0, 1.0], size=rng.randint(0, 9))]
    z, weight = rng.randn(len(sign)), rng.rand(len(sign)) + 0.1
    s = weight / np.where(sign > 0, weight[sign > 0].sum(), weight[sign < 0].sum())
    expected = np.zeros(len(z))
    for i in np.flatnonzero(sign > 0):
        for j in np.flatnonzero(sign < 0):
            beta = 0.5 * s[i] * s[j] * np.clip(0.5 + (1 - z[i] + z[j]) / width, 0, 1)
            expected[i] -= beta
            expected[j] += beta
    rounded = LOSSES["hinge"].rounded(width)
    there, rounding = rounded.at(z, sign, s), 1e-14 / width + 1e-14
    np.testing.assert_allclose(there.gradient, expected, atol=rounding)
    t = z[sign > 0][:, None] - z[sign < 0]
    whole = 0.5 * s[sign > 0] @ rounded.point(t) @ s[sign < 0]
    assert there.value == pytest.approx(whole, abs=100 * rounding)


# ---- sums over rows ----------------------------------------------------------------------


@each_loss
def test_sums_over_rows_against_finite_differences(loss):
    rng = np.random.RandomState(0)
    sign, s, u = rng.choice([-1.0, 1.0], 9), rng.rand(9), rng.randn(9)
    z = sign * rng.choice(POINTS, 9)
    there, h = loss.at(z, sign, s), 1e-5

    def moved(t):
        return loss.at(z + t * u, sign, s)

    assert there.value == pytest.approx(np.sum(s * loss.point(sign * z)))
    slope = (moved(h).value - moved(-h).value) / (2 * h)
    assert there.gradient @ u == pytest.approx(slope, rel=1e-7)
    bend = (moved(h).gradient - moved(-h).gradient) / (2 * h)
    np.testing.assert_allclose(there.product(u), bend, rtol=1e-7, atol=1e-8)


# ---- dual bounds -------------------------------------------------------------------------

vectors = arrays(np.float64, 3, elements=st.floats(-20, 20))


@untimed
@given(vectors, vectors, penalties)
def test_the_conjugate_is_the_largest_of_its_definition(v, other, penalty):
    """v·w − Ω(w) ≤ Ω*(v) for all w, with equality at w = prox."""
    value = penalty.conjugate(v)
    if penalty.l2 == 0.0:
        assert value == (0.0 if np.abs(v).max() <= penalty.l1 else np.inf)
        ray = 1e6 * np.where(np.abs(v) > penalty.l1, np.sign(v), 0.0)
        assert v @ ray - penalty.value(ray) >= 0.0
    else:
        at = np.sign(v) * np.maximum(np.abs(v) - penalty.l1, 0.0) / penalty.l2
        assert v @ at - penalty.value(at) == pytest.approx(value, rel=1e-9, abs=1e-12)
    for w in (other, 0.1 * other, np.zeros(3)):
        assert v @ w - penalty.value(w) <= value + 1e-9 * (1 + abs(v @ w) + penalty.value(w))


@untimed
@given(seeds, penalties, st.booleans())
def test_a_dual_bound_is_below_the_objective_everywhere(seed, penalty, pairwise):
    """Whatever weights β in [0, 1] the slopes are given."""
    rng = np.random.RandomState(seed)
    X, y = rows(seed, n=12, d=3, share=0.4)
    if pairwise:
        pairs = Pairs(X, y, rng.rand(12) + 0.1)
        share, D = 0.5 * pairs.q, pairs.D
    else:
        share, D = rng.dirichlet(np.ones(12)), y[:, None] * X
    beta = share * rng.choice([0.0, 1.0, rng.rand()], size=len(share))
    bound = penalty.dual_value(beta.sum(), beta @ D, most=1.0)
    assert bound >= 0.0
    for w in (*(3 ** rng.randn() * rng.randn(10, 3)), np.zeros(3)):
        value = share @ np.maximum(0.0, 1.0 - D @ w) + penalty.value(w)
        assert bound <= value + 1e-12


FOUR_PENALTIES = {
    "l2": ElasticNet(0.3, 0.0),
    "elastic net": ElasticNet(0.3, 0.5),
    "l1": ElasticNet(0.3, 1.0),
    "ball": L2Ball(0.3, 0.7),
    "ball alone": L2Ball(0.0, 0.7),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("penalty", FOUR_PENALTIES.values(), ids=FOUR_PENALTIES)
@pytest.mark.parametrize("most", [1.0, np.inf])
def test_a_dual_bound_scales_the_slopes_where_that_helps(penalty, most):
    """The best c against a fine grid."""
    rng = np.random.RandomState(0)
    for k in range(10):
        linear, v = rng.rand(), rng.randn(4) * 10.0 ** rng.uniform(-1, 1)
        quadratic = rng.rand() if k % 2 or most == np.inf else 0.0
        found = penalty.dual_value(linear, v, quadratic, most)
        last = min(most, 0.5 * linear / quadratic if quadratic else np.inf)
        edge = min(last, (1 - 1e-12) * penalty.reach(v))
        grid = np.append(last * np.linspace(0, 1, 801), edge)
        best = max(c * linear - c * c * quadratic - penalty.conjugate(c * v) for c in grid)
        assert best - 1e-12 <= found <= best + 1e-3 * linear * last


def test_a_dual_bound_of_slopes_that_cancel():
    for penalty in FOUR_PENALTIES.values():
        assert penalty.dual_value(0.7, np.zeros(4), most=1.0) == pytest.approx(0.7)


@untimed
@given(vectors, vectors, st.sampled_from([0.0, 0.2, 3.0]), st.floats(0.1, 10.0))
def test_the_conjugate_of_a_ball(v, other, alpha, radius):
    """v·w − (α/2)‖w‖² ≤ Ω*(v) for all w with ‖w‖ ≤ R, with equality at one of them."""
    ball = L2Ball(alpha, radius)
    value, at = ball.conjugate(v), ball.farthest(v)
    if v.any():
        assert np.linalg.norm(at) <= radius * (1 + 1e-12)
        assert v @ at - ball.value(at) == pytest.approx(value)
    w = other * min(1.0, radius / max(np.linalg.norm(other), 1e-300))
    for inside in (w, 0.1 * w, np.zeros(3)):
        assert v @ inside - ball.value(inside) <= value + 1e-9 * (1 + abs(v @ inside))


# ---- the gap -----------------------------------------------------------------------------


def pairwise(X, y, penalty, weight=None):
    return Objective(RowsProblem.of(as_rows(X), y.astype(float), weight), LOSSES["hinge"], penalty)


GOALS = {
    "square": (LOSSES["square"], False),
    "squared_hinge": (LOSSES["squared_hinge"], False),
    "hinge": (LOSSES["hinge"], False),
    "logistic": (LOSSES["logistic"], False),
    "rows, square": (UNIVARIATE_LOSSES["square"], True),
    "rows, exp": (UNIVARIATE_LOSSES["exp"], True),
    "rows, logistic": (UNIVARIATE_LOSSES["logistic"], True),
    "rows, hinge": (UNIVARIATE_LOSSES["hinge"], True),
}


@pytest.mark.parametrize("goal", GOALS)
@settings(untimed, max_examples=6)
@given(seeds, penalties, st.sampled_from([None, 0.3, 3.0]))
def test_the_gap_is_a_bound_wherever_it_is_asked(goal, seed, penalty, radius):
    """At points that follow the gradient, and at random ones; with features in any units."""
    loss, by_rows = GOALS[goal]
    rng = np.random.RandomState(seed)
    X, y = rows(seed, n=15, d=3, share=0.4)
    problem = RowsProblem.of(
        as_rows(X * 10.0 ** rng.uniform(-2, 2, 3)), y.astype(float), rng.rand(15) + 0.1
    )
    if radius is not None:
        penalty = L2Ball(penalty.alpha, radius)
    kind = UnivariateObjective if by_rows else Objective
    goal = kind(problem, loss, penalty)
    zero = np.zeros(3)
    assert goal.value(zero) == pytest.approx(goal.at_zero)
    units = 1.0 / np.sqrt(goal.data_curvature() + penalty.l2 + 1e-300)
    if loss.kind == "kinked":
        units = 1.0 / np.sqrt(problem.curvature)
    points = [units * step for step in (3 ** rng.randn(6, 1) * rng.randn(6, 3))]
    points += [-0.5 * t * units**2 * goal.data_gradient(zero) for t in (0.1, 1.0)] + [zero]
    if radius is not None:
        points = [w * min(1.0, radius / max(np.linalg.norm(w), 1e-300)) for w in points]
    values = [goal.value(w) for w in points]
    for w, value in zip(points, values, strict=True):
        term, gradient = goal.data_term(w)
        gap = goal.gap(term, gradient, w)
        assert gap <= value * (1 + 1e-12)  # no loss is negative
        # rounding, in differences of pair sums over the narrowest kink
        assert all(value - gap <= other + 1e-11 * (1 + value) for other in values)
        found = goal.optimality(w)
        assert goal.evaluate(w) == (value, found)
        assert found == goal.relative(gap, value)
        if 0.0 < gap < np.inf and goal.at_zero - value + gap > 0.0:
            assert found == pytest.approx(gap / (goal.at_zero - value + gap))


def test_the_gap_as_a_share_of_the_fall():
    X, y = rows(2)
    goal = pairwise(X, y, ElasticNet(0.1, 0.0))
    assert goal.relative(0.0, 0.5) == 0.0  # nothing to gain, and nothing left
    assert goal.relative(0.1, 0.2) == pytest.approx(0.25)  # J* = 0.1, J(0) = 0.5
    assert goal.relative(0.1, 0.5) == 1.0
    assert goal.relative(0.1, 0.7) == np.inf  # above J(0), which may be the minimum
    assert goal.relative(np.inf, 0.2) == np.inf


@pytest.mark.covering(1)
@pytest.mark.parametrize("alpha", [1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gap_closes_at_the_optimum(alpha, weighted):
    """Nearly: the kinks' slopes are guessed from rounded ones, so many pairs make it close."""
    X, y = rows(3, n=400, d=5, share=0.3)
    weight = np.random.RandomState(0).rand(400) if weighted else None
    goal = pairwise(X, y, ElasticNet(alpha, 0.0), weight)
    result = CuttingPlane().solve(goal, None, Run(Monitor(goal), 1e-12, 500))
    assert goal.optimality(result.coef) < 1e-4
    assert goal.optimality(1.1 * result.coef) > goal.optimality(result.coef)
    if alpha == 10.0:  # every pair is active: no kink, no guess
        assert goal.optimality(result.coef) < 1e-10


def test_the_gap_of_what_is_not_finite_is_infinite():
    X, y = rows(4)
    for goal in (
        pairwise(X, y, ElasticNet(0.1, 0.0)),
        UnivariateObjective(
            RowsProblem.of(as_rows(X), y.astype(float)),
            UNIVARIATE_LOSSES["hinge"],
            ElasticNet(0.1, 1.0),
        ),
    ):
        assert goal.evaluate(np.full(5, np.nan))[1] == np.inf


# ---- the objective over single rows ------------------------------------------------------


@each_loss
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_over_rows_is_its_formula(loss, balanced, weighted):
    X, y = rows(5, n=40, d=4, share=0.3)
    weight = np.random.RandomState(0).choice([0.0, 1.0, 3.0], size=40) if weighted else np.ones(40)
    problem = RowsProblem.of(as_rows(X), y.astype(float), weight)
    goal = UnivariateObjective(problem, loss, ElasticNet(0.2, 0.4), balanced)
    q = weight.copy()
    if balanced:  # n/(2n_y) of each class, n the weight in all
        for label in (-1, 1):
            q[y == label] *= weight.sum() / (2 * weight[y == label].sum())
    w = np.random.RandomState(1).randn(4)
    expected = np.sum(q * loss.point(y * (X @ w))) / q.sum()
    expected += 0.2 * (0.3 * w @ w + 0.4 * np.abs(w).sum())
    assert goal.value(w) == pytest.approx(expected, rel=1e-12)
    h, gradient = 1e-6, goal.data_gradient(w)
    for j in range(4):
        step = h * np.eye(4)[j]
        slope = (goal.data_term(w + step)[0] - goal.data_term(w - step)[0]) / (2 * h)
        assert gradient[j] == pytest.approx(slope, abs=1e-7)
    assert goal.at_zero == pytest.approx(goal.value(np.zeros(4)), rel=1e-12)
    v = np.random.RandomState(2).randn(4)
    bend = (goal.data_gradient(w + h * v) - goal.data_gradient(w - h * v)) / (2 * h)
    np.testing.assert_allclose(goal.data_product(w, v), bend, atol=1e-6)


@pytest.mark.parametrize(
    "loss", [loss for loss in UNIVARIATE_LOSSES.values() if loss.kind != "kinked"]
)
def test_second_derivatives_at_zero_as_if_the_classes_weighed_the_same(loss):
    X, y = rows(8, n=40, d=4, share=0.3)
    problem = RowsProblem.of(as_rows(X), y.astype(float), np.random.RandomState(0).rand(40))
    goal = UnivariateObjective(problem, loss, ElasticNet(0.2), balanced=True)
    zero, eye = np.zeros(4), np.eye(4)
    H = np.array([goal.data_product(zero, e) for e in eye])
    np.testing.assert_allclose(goal.data_hessian(problem), H, atol=1e-12)
    np.testing.assert_allclose(goal.data_curvature(), np.diag(H), atol=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_second_derivatives_at_zero_of_a_loss_of_the_ranking(name):
    X, y = rows(8, n=40, d=4, share=0.3)
    problem = RowsProblem.of(as_rows(X), y.astype(float), np.random.RandomState(0).rand(40))
    goal = Objective(problem, LOSSES[name], ElasticNet(0.2))
    # a hinge bends nowhere: its features go together as those of the square loss do
    bent = Objective(problem, LOSSES["square" if name == "hinge" else name], ElasticNet(0.2))
    H = np.array([bent.data_product(np.zeros(4), e) for e in np.eye(4)])
    np.testing.assert_allclose(goal.data_hessian(problem), H, atol=1e-12)
    np.testing.assert_allclose(goal.data_curvature(), np.diag(H), atol=1e-12)


@pytest.mark.parametrize("name", ["exp", "square", "logistic"])
def test_optimality_over_rows_vanishes_at_the_minimum_alone(name):
    X, y = rows(6, n=60, d=3)
    problem = RowsProblem.of(as_rows(X), y.astype(float))
    goal = UnivariateObjective(problem, UNIVARIATE_LOSSES[name], ElasticNet(0.1, 0.0), True)
    found = minimize(
        goal.value, np.zeros(3), jac=lambda w: goal.data_gradient(w) + 0.1 * w, method="BFGS",
        options={"gtol": 1e-9},
    )  # fmt: skip
    assert goal.optimality(found.x) < 1e-12
    assert goal.optimality(np.zeros(3)) == pytest.approx(1.0)
    for off in (1.01 * found.x, 0.7 * found.x):
        lost = goal.value(off) - goal.value(found.x)
        lost /= goal.at_zero - goal.value(found.x)
        assert 1e-6 < lost <= goal.optimality(off) * (1 + 1e-9) < 30 * lost


def test_rows_are_needed_where_moments_do_not_do():
    X, y = rows(7)
    moments = MomentsProblem(ClassMoments.from_data(X, y))
    goal = Objective(moments, LOSSES["squared_hinge"], ElasticNet(0.1))
    with pytest.raises(ValueError, match="needs rows"):
        goal.value(np.zeros(5))
