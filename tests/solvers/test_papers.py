"""What the SPAM and VRSPAM papers state, corrected where they err, as tests that can fail."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from aucmax import AUCClassifier, datasets, metrics, theory
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2, ElasticNet
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import SPAM, VRSPAM, Monitor, Run
from oracles import rows, spam, vrspam
from oracles.pairs import Pairs, l2_optimum

TINY = 1e-300  # a weight that changes neither p nor μ±
untimed = settings(deadline=None, derandomize=True, max_examples=40)


class Drawn(np.random.RandomState):
    """Draws the given rows with replacement."""

    def __init__(self, order):
        super().__init__(0)
        self.order = order

    def randint(self, low, high, size):
        assert size == len(self.order)
        return np.array(self.order)


def ended(solver, problem, start, order):
    """Where one epoch or stage from ``start`` ends that takes these rows, without a penalty."""
    objective = Objective(problem, LOSSES["square"], ElasticNet(0.0))
    once = Run(Monitor(objective), tol=1e-300, max_iter=1, rng=Drawn(order))
    return solver.solve(objective, start, once).coef


class Setting:
    """A finite sample, f and its derivatives from the pairs, and the library's one-row steps."""

    def __init__(self, X, y, weight=None):
        self.X, self.y = X, y
        self.weight = np.ones(len(y)) if weight is None else spam.typical(weight)
        self.here = spam.Population(X, y, self.weight)
        self.p = self.here.p
        self.M = np.linalg.norm(X, axis=1).max()
        self.pairs = Pairs(X, y, self.weight)
        # f = p(1−p) · mean over pairs of (1 − t)² = 2p(1−p) · (data term of J)
        self.scale = 2 * self.p * (1 - self.p)
        self.H = self.scale * self.pairs.hessian()
        self.problem = RowsProblem.of(as_rows(X), y.astype(float), self.weight)

    def f(self, w):
        return self.scale * self.pairs.data_term(w)

    def gradient(self, w):
        return self.scale * self.pairs.gradient(w)

    def other_mean(self, i):
        return self.here.mean_neg if self.y[i] == 1 else self.here.mean_pos

    def share(self, i):
        return 1 - self.p if self.y[i] == 1 else self.p

    def G(self, w, samples=None):
        """G(w; z_i) of every sample, or of these, from SPAM's own step: (n, d).

        An epoch is that step and then n of a row of zeros, which move nothing.
        """
        n = len(self.y)
        X, weight = np.vstack([self.X, 0 * w]), np.append(self.weight, TINY)
        y = np.append(self.y, 1.0)
        padded = RowsProblem.of(as_rows(X), y, weight)
        solver = SPAM(n / (n + 1), n_epochs=1, order="random", average=False)  # mean weight 1
        return np.array([w - ended(solver, padded, w, [i] + n * [n]) for i in samples or range(n)])

    def v(self, snapshot, eta):
        """w one step of VRSPAM away from w̃, and v of every sample there, from its own steps."""
        one, two = (
            VRSPAM(eta, n_stages=1, n_inner=m, order="random", center=False, safeguard=False)
            for m in (1, 2)
        )
        w = ended(one, self.problem, snapshot, [0])  # at w̃ itself v is μ̃, whatever the row
        after = [ended(two, self.problem, snapshot, [0, i]) for i in range(len(self.y))]
        return w, (w - np.array(after)) / eta

    def objective(self, alpha):
        return Objective(self.problem, LOSSES["square"], ElasticNet(alpha, 0.0))


def setting(seed, weighted=False, **kwargs):
    X, y = rows(seed, **(dict(n=40, d=4, share=0.3) | kwargs))
    return Setting(X, y, np.random.RandomState(seed).rand(len(y)) + 0.1 if weighted else None)


each_setting = pytest.mark.parametrize(
    "here",
    [setting(1), setting(2, share=0.8), setting(3, shift=2.0), setting(4, weighted=True)],
    ids=["minority", "majority", "shifted", "weighted"],
)


# ---- the reformulation -------------------------------------------------------------------


@each_setting
def test_the_saddle_function_is_f_up_to_a_constant(here):
    """At its optimal a, b, α the mean of F is f − p(1−p): the constant that the paper drops."""
    w = np.random.RandomState(0).randn(4)

    def mean(a, b, alpha):
        terms = [
            q * spam.F(w, a, b, alpha, x, y, here.p)
            for x, y, q in zip(here.X, here.y, here.weight, strict=True)
        ]
        return np.mean(terms)

    a, b, alpha = here.here.optima(w)
    saddle = mean(a, b, alpha)
    assert saddle == pytest.approx(here.f(w) - here.p * (1 - here.p), rel=1e-12)
    for h in (-0.1, 0.1):
        assert mean(a + h, b, alpha) > saddle
        assert mean(a, b + h, alpha) > saddle
        assert mean(a, b, alpha + h) < saddle


@each_setting
def test_the_partial_derivative_of_the_saddle_function(here):
    rng, h = np.random.RandomState(0), 1e-6
    w, (a, b, alpha) = rng.randn(4), rng.randn(3)
    for x, y in zip(here.X, here.y, strict=True):
        gradient = spam.d1F(w, a, b, alpha, x, y, here.p)
        for j, e in enumerate(h * np.eye(4)):
            slope = spam.F(w + e, a, b, alpha, x, y, here.p)
            slope -= spam.F(w - e, a, b, alpha, x, y, here.p)
            assert gradient[j] == pytest.approx(slope / (2 * h), abs=1e-6)


@each_setting
def test_a_step_follows_the_papers_gradient(here):
    """SPAM's own G, simplified, is ∂₁F at a(w), b(w), α(w)."""
    w = np.random.RandomState(1).randn(4)
    literal = [
        q * spam.G(w, x, y, here.here) for x, y, q in zip(here.X, here.y, here.weight, strict=True)
    ]
    np.testing.assert_allclose(here.G(w), literal, rtol=1e-12, atol=1e-12)


@each_setting
def test_the_gradient_is_unbiased(here):
    """Lemma 1: the mean of G over the samples is ∇f, though a, b, α depend on w."""
    for seed in range(3):
        w = np.random.RandomState(seed).randn(4)
        np.testing.assert_allclose(
            here.G(w).mean(axis=0), here.gradient(w), rtol=0,
            atol=1e-12 * np.abs(here.gradient(w)).max(),
        )  # fmt: skip


def test_the_papers_objective_and_ours_have_one_minimiser():
    here = setting(5)
    beta = 0.7
    alpha = theory.alpha_from_beta(beta, here.p)
    w = AUCClassifier(alpha, standardize=0.0, solver="exact").fit(here.X, here.y).coef_[0]
    np.testing.assert_allclose(here.gradient(w) + beta * w, 0.0, atol=1e-13)


# ---- VRSPAM's lemmas ---------------------------------------------------------------------


@each_setting
def test_lemma_2_in_its_sharp_form(here):
    """‖G(w) − G(w′)‖ = 2(1−p)‖x‖ |Δw·(x−μ₋)|, or 2p, μ₊: linear in w, and far below 8M²."""
    rng = np.random.RandomState(2)
    w, other = rng.randn(2, 4)
    moved = np.linalg.norm(here.G(w) - here.G(other), axis=1)
    largest, at_w = 0.0, here.G(w)
    for i, x in enumerate(here.X):
        factor = here.weight[i] * 2 * here.share(i) * np.linalg.norm(x)
        away = x - here.other_mean(i)
        assert moved[i] == pytest.approx(factor * abs((w - other) @ away), rel=1e-9)
        # with equality in Cauchy–Schwarz where Δw is parallel to x − μ
        parallel = np.linalg.norm(here.G(w + away, [i]) - at_w[i])
        assert parallel == pytest.approx(factor * np.linalg.norm(away) ** 2, rel=1e-9)
        largest = max(largest, parallel / np.linalg.norm(away) / here.weight[i])
    assert largest <= theory.gradient_lipschitz(here.p, here.M) <= 4 * here.M**2 <= 8 * here.M**2


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_lemma_2_cannot_be_improved(p):
    """Positives at Mu, negatives at −Mu: the constant 4 max(p, 1−p) M² is reached."""
    y = np.where(np.arange(10) < 10 * p, 1, -1)
    u = np.array([0.6, 0.8])
    here = Setting(3.0 * y[:, None] * u, y)
    moved = np.linalg.norm(here.G(u) - here.G(0 * u), axis=1)
    assert moved.max() == pytest.approx(theory.gradient_lipschitz(p, 3.0), rel=1e-12)


@each_setting
def test_the_variance_reduced_step_follows_the_papers(here):
    rng = np.random.RandomState(3)
    snapshot = rng.randn(4)
    w, v = here.v(snapshot, 0.05)
    mu = vrspam.full_gradient(snapshot, here.X, here.y, here.weight, here.here)
    np.testing.assert_allclose(mu, here.gradient(snapshot), rtol=1e-12)
    np.testing.assert_allclose(w, snapshot - 0.05 * mu, rtol=1e-12)
    literal = [
        vrspam.v(w, snapshot, mu, x, y, q, here.here)
        for x, y, q in zip(here.X, here.y, here.weight, strict=True)
    ]
    np.testing.assert_allclose(v, literal, rtol=0, atol=1e-11 * np.abs(literal).max())


@each_setting
def test_the_variance_reduced_gradient_is_unbiased(here):
    snapshot = np.random.RandomState(4).randn(4)
    w, v = here.v(snapshot, 0.05)
    assert np.linalg.norm(w - snapshot) > 0.01
    np.testing.assert_allclose(v.mean(axis=0), here.gradient(w), rtol=0, atol=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_lemma_5_in_its_sharp_form(seed):
    """E‖v − ∇f(w)‖² ≤ 2M² (w−w̃)ᵀH(w−w̃), averaged over all samples, H = ∇²f."""
    here = setting(seed, share=[0.1, 0.5, 0.9][seed % 3], shift=seed // 3)
    rng = np.random.RandomState(seed)
    optimum = l2_optimum(here.pairs, 1.0)
    for snapshot in rng.randn(3, 4):
        w, v = here.v(snapshot, 0.1 / here.M**2)
        variance = np.mean(np.sum((v - here.gradient(w)) ** 2, axis=1))
        e = w - snapshot
        sharp = 2 * here.M**2 * e @ here.H @ e
        assert 0 < variance <= sharp
        # the paper's own bound follows
        printed = 4 * (8 * here.M**2) ** 2 * np.sum((w - optimum) ** 2)
        printed += 2 * (8 * here.M**2) ** 2 * np.sum((snapshot - optimum) ** 2)
        assert sharp < printed


def test_lemma_5_is_tight():
    """One positive among many negatives of norm M: the bound is nearly reached."""
    n = 400
    y = np.where(np.arange(n) == 0, 1, -1)
    X = np.tile([1.0, 0.0], (n, 1))
    X[0] = [-1.0, 0.0]
    here = Setting(X, y)
    w, v = here.v(np.array([1.0, 0.0]), 0.1)
    e = w - [1.0, 0.0]
    variance = np.mean(np.sum((v - here.gradient(w)) ** 2, axis=1))
    sharp = 2 * e @ here.H @ e
    assert 0.98 * sharp < variance <= sharp


def test_the_variance_vanishes_for_vrspam_and_not_for_spam():
    here = setting(7, n=60)
    alpha = 0.5
    optimum = l2_optimum(here.pairs, alpha)

    def variance(directions):
        return np.mean(np.sum((directions - directions.mean(axis=0)) ** 2, axis=1))

    at_optimum = variance(here.G(optimum))
    assert at_optimum > 0.1
    path = [np.zeros(4)]
    AUCClassifier(
        alpha, solver=VRSPAM(n_stages=60, init="zero"), random_state=0, tol=1e-300,
        callback=lambda progress: path.append(progress.coef),
    ).fit(here.X, here.y)  # fmt: skip
    reduced = []
    stages = list(pairwise(path))
    assert len(stages) == 60
    for snapshot, w in (stages[0], stages[20], stages[-1]):
        mu, samples = here.gradient(snapshot), zip(here.X, here.y, strict=True)
        v = [vrspam.v(w, snapshot, mu, x, y, 1.0, here.here) for x, y in samples]
        reduced.append(variance(np.array(v)))
    assert reduced[0] > 1e-3
    assert reduced[1] < 1e-5 * reduced[0]
    assert reduced[2] < 1e-20
    np.testing.assert_allclose(path[-1], optimum, rtol=1e-10)

    path = []
    AUCClassifier(
        alpha, solver=SPAM(n_epochs=300, average=False), random_state=0, tol=1e-300,
        callback=lambda progress: path.append(progress.coef),
    ).fit(here.X, here.y)  # fmt: skip
    plain = [variance(here.G(w)) for w in path[9::10]]
    assert min(plain) > 0.5 * at_optimum
    assert plain[-1] == pytest.approx(at_optimum, rel=0.3)  # it settles there instead


# ---- Theorem 1 and the exact expectations -------------------------------------------------


def operators(here):
    """A_i with G(w; z_i) − G(w′; z_i) = A_i (w − w′), of every sample: (n, d, d)."""
    return np.array([
        2 * here.share(i) * np.outer(x, x - here.other_mean(i)) for i, x in enumerate(here.X)
    ])  # fmt: skip


def second_moment(maps, start, steps):
    """E z zᵀ after z ← B_i z with i uniform, ``steps`` times: exact, by Kronecker powers."""
    k = len(start)
    lifted = np.mean([np.kron(B, B) for B in maps], axis=0)
    return (np.linalg.matrix_power(lifted, steps) @ start.ravel()).reshape(k, k)


def vrspam_moments(here, beta, eta, m, stages, start):
    """Exact (E e, E e eᵀ) of e = w̃_s − w* after every stage, sampling with replacement.

    e⁺ = ((I − ηA_i) e + η(A_i − H) ẽ)/(1 + ηβ), so (e, ẽ) obeys a random linear recursion.
    """
    A, shrink = operators(here), 1 / (1 + eta * beta)
    H = A.mean(axis=0)
    np.testing.assert_allclose(H, here.H, atol=1e-12)
    eye, zero = np.eye(len(H)), np.zeros_like(H)
    maps = np.array([
        np.block([[shrink * (eye - eta * a), shrink * eta * (a - H)], [zero, eye]]) for a in A
    ])  # fmt: skip
    first = np.linalg.matrix_power(maps.mean(axis=0), m)[: len(H)]
    mean, second, out = start, np.outer(start, start), []
    for _ in range(stages):
        mean = first @ np.concatenate([mean, mean])
        second = second_moment(maps, np.tile(second, (2, 2)), m)[: len(H), : len(H)]
        out.append((mean, second))
    return out


def runs(here, solver, alpha, stages, count):
    """w after every stage or epoch of many runs: (count, stages, d)."""
    objective = here.objective(alpha)

    def one(seed):
        run = Run(Monitor(objective), max_iter=stages, rng=np.random.RandomState(seed))
        return [w.copy() for w, *_ in solver.epochs(objective, None, run)]

    return np.array([one(seed) for seed in range(count)])


def deviation(values, exact):
    """How many standard errors the mean of ``values`` is from what it should be."""
    return abs(values.mean() - exact) / (values.std(ddof=1) / np.sqrt(len(values)))


THEOREM = dict(eta=0.1 / 128, m=400)  # M = 1, β = 1
LARGE = dict(eta=0.5, m=60)  # the noise matters


@pytest.fixture(scope="module")
def unit():
    """A sample of 60 rows with M = 1."""
    X, y = rows(8, n=60, d=4, share=0.3, norm=1.0)
    return Setting(X, y)


@pytest.fixture(scope="module")
def theorem_runs(unit):
    alpha = theory.alpha_from_beta(1.0, unit.p)
    solver = VRSPAM(THEOREM["eta"], n_stages=3, n_inner=400, order="random", init="zero",
                    center=False, safeguard=False)  # fmt: skip
    return runs(unit, solver, alpha, 3, 200) - l2_optimum(unit.pairs, alpha)


def test_theorem_1_contracts(unit, theorem_runs):
    """E‖w̃_s − w*‖² ≤ α E‖w̃_{s−1} − w*‖² with the corrected α, in expectation and on average."""
    contraction = theory.vrspam_contraction(THEOREM["eta"], 1.0, 1.0, 400)
    assert 0.5 < contraction < 0.6
    alpha = theory.alpha_from_beta(1.0, unit.p)
    start = -l2_optimum(unit.pairs, alpha)
    exact = [np.trace(second) for _, second in vrspam_moments(unit, 1.0, **THEOREM, stages=3,
                                                              start=start)]  # fmt: skip
    measured = np.sum(theorem_runs**2, axis=2).mean(axis=0)
    for errors in (exact, measured):
        before = start @ start
        for error in errors:
            assert error <= contraction * before
            before = error


def test_the_runs_obey_the_exact_recursion(unit, theorem_runs):
    alpha = theory.alpha_from_beta(1.0, unit.p)
    start = -l2_optimum(unit.pairs, alpha)
    moments = vrspam_moments(unit, 1.0, **THEOREM, stages=3, start=start)
    for s, (_, second) in enumerate(moments):
        assert deviation(np.sum(theorem_runs[:, s] ** 2, axis=1), np.trace(second)) < 3


@pytest.mark.parametrize("order", ["random", "shuffle"])
def test_the_runs_obey_the_exact_recursion_with_large_steps(unit, order):
    """Mean and scatter of the error; a shuffled order scatters less, and fails."""
    alpha, beta = theory.alpha_from_beta(0.05, unit.p), 0.05
    optimum = l2_optimum(unit.pairs, alpha)
    solver = VRSPAM(LARGE["eta"], n_stages=2, n_inner=60, order=order, init="zero",
                    center=False, safeguard=False)  # fmt: skip
    errors = runs(unit, solver, alpha, 2, 400) - optimum
    moments = vrspam_moments(unit, beta, **LARGE, stages=2, start=-optimum)
    off = []
    for s, (mean, second) in enumerate(moments):
        scatter = np.trace(second - np.outer(mean, mean))
        off.append(deviation(np.sum(errors[:, s] ** 2, axis=1), np.trace(second)))
        off.append(deviation(np.sum((errors[:, s] - mean) ** 2, axis=1), scatter))
    assert (max(off) < 3) if order == "random" else (max(off) > 5)


@pytest.mark.parametrize("schedule", ["strong", "sqrt"])
def test_spam_obeys_its_exact_recursion(unit, schedule):
    """e⁺ = ((I − ηA_i)e − η(G(w*; z_i) + βw*))/(1 + ηβ): affine, so (e, 1) is linear."""
    alpha, beta = theory.alpha_from_beta(0.2, unit.p), 0.2
    optimum = l2_optimum(unit.pairs, alpha)
    C = dict(strong=beta, sqrt=1.0)[schedule]
    solver = SPAM(C, n_epochs=2, order="random", average=False, schedule=schedule, t0=5.0)
    errors = runs(unit, solver, alpha, 2, 300) - optimum
    A, noise = operators(unit), unit.G(optimum) + beta * optimum
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=1e-14)
    second = np.outer(np.append(-optimum, 1.0), np.append(-optimum, 1.0))
    for t in range(1, 121):
        eta = spam.step_size(t, C, schedule, t0=5.0)
        top = np.concatenate([np.eye(4) - eta * A, -eta * noise[:, :, None]], axis=2)
        last = np.broadcast_to([0.0, 0.0, 0.0, 0.0, 1.0], (60, 1, 5))
        maps = np.concatenate([top / (1 + eta * beta), last], axis=1)
        second = np.mean([B @ second @ B.T for B in maps], axis=0)
        if t % 60 == 0:
            squares = np.sum(errors[:, t // 60 - 1] ** 2, axis=1)
            assert deviation(squares, np.trace(second[:4, :4])) < 3


# ---- errata ------------------------------------------------------------------------------


@untimed
@given(st.floats(0.05, 1.0), st.floats(0.05, 3.0), st.floats(0.5, 2.0), st.integers(1, 10_000))
def test_erratum_2_both_rates_are_below_one(theta, beta, M, m):
    """Theorem 1's α as printed and as its own recursion sums to, for every η ≤ β/(128M⁴)."""
    eta = theta * theory.vrspam_max_step(beta, M)
    printed = theory.vrspam_contraction(eta, beta, M, m, as_printed=True)
    corrected = theory.vrspam_contraction(eta, beta, M, m)
    C, _ = theory.vrspam_constants(eta, beta, M)
    assert C < 1.0
    assert printed < corrected < 1.0


def test_erratum_2_the_recursion_gives_the_corrected_rate():
    for eta, beta, M, m in ((0.1 / 128, 1.0, 1.0, 400), (1e-4, 0.5, 1.2, 37), (0.5, 1.0, 1.0, 3)):
        C, D = theory.vrspam_constants(eta, beta, M)
        error = 1.0
        for _ in range(m):
            error = C * error + D * 1.0
        assert theory.vrspam_contraction(eta, beta, M, m) == pytest.approx(error, rel=1e-12)
        printed = theory.vrspam_contraction(eta, beta, M, m, as_printed=True)
        assert abs(printed / error - 1) > 1e-9


def test_erratum_2_the_proximal_map_contracts_by_its_strong_convexity():
    """(β/2)‖w‖² is β-strongly convex and its prox shrinks by 1 + ηβ; that of β‖w‖² by 1 + 2ηβ."""
    eta, beta = 0.3, 0.7
    u = np.random.RandomState(0).randn(5)
    np.testing.assert_allclose(L2(beta).prox(u, eta), u / (1 + eta * beta), rtol=1e-14)
    np.testing.assert_allclose(L2(2 * beta).prox(u, eta), u / (1 + 2 * eta * beta), rtol=1e-14)


def test_erratum_8_the_papers_strong_steps_overflow():
    """η_t = 1/(C̃(t + 1)) starts near 1/β: with β = 1e-3 the iterates pass 1e20."""
    X, y = rows(9, n=800, d=5, share=0.4)
    X /= np.linalg.norm(X, axis=1)[:, None]  # M = 1
    here = Setting(X, y)
    alpha = theory.alpha_from_beta(1e-3, here.p)

    def largest(t0):
        C = theory.spam_strong_constant(1e-3, 1.0)
        solver = SPAM(C, n_epochs=3, order="cyclic", average=False, schedule="strong", t0=t0)
        path = runs(here, solver, alpha, 3, 1)[0]
        offset = 2.0 / C if t0 == "auto" else t0
        return 1.0 / (C * (1.0 + offset)), np.abs(path).max(), path[-1]

    first, size, _ = largest(1)
    assert first == pytest.approx(1 / (2 * theory.spam_strong_constant(1e-3, 1.0)))
    assert first > 400
    assert not size < 1e20  # also where it is not finite
    first, size, last = largest("auto")
    assert first <= 0.5
    assert size < 10
    assert here.objective(alpha).value(last) < 0.5  # J(0)


def test_erratum_8_is_told():
    X, y = rows(9, n=800, d=5, share=0.4)
    X /= np.linalg.norm(X, axis=1)[:, None]
    for C in ("auto", 1e-3):
        solver = SPAM(C, n_epochs=1, schedule="strong", t0=1)
        clf = AUCClassifier(2e-3, solver=solver, random_state=0)
        with pytest.warns(ConvergenceWarning, match=r"SPAM diverged .* lower step_size"):
            clf.fit(X, y)


@pytest.mark.parametrize("solver", ["exact", "conjugate_gradient", "coordinate_descent"])
def test_erratum_12_a_strong_penalty_leaves_the_difference_of_means(solver):
    """α w → δ as α → ∞, the direction's error falling like 1/α."""
    X, y = rows(10, n=50, d=6, share=0.3)
    X[:, 0] *= 5.0
    delta = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    off = []
    for alpha in (1e2, 1e4, 1e6):
        w = AUCClassifier(alpha, standardize=0.0, solver=solver, tol=1e-13).fit(X, y).coef_[0]
        off.append(np.linalg.norm(w / np.linalg.norm(w) - delta / np.linalg.norm(delta)))
        assert np.linalg.norm(alpha * w - delta) < 100 / alpha * np.linalg.norm(delta)
    assert off[0] > 1e-3
    np.testing.assert_allclose(np.array(off[1:]) / off[:-1], 1e-2, rtol=0.2)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "poster", "limit", "optimum"),
    [
        pytest.param("news20", 0.8708, 0.863, 0.949, marks=pytest.mark.exhaustive),
        ("sector", 0.8768, 0.884, 0.987),
    ],
)
def test_erratum_12_on_text(name, poster, limit, optimum, data_dir):
    """The SPAM poster's AUCs are about those of δ; the exact optimum's are far higher.

    Even against odd, unit-norm rows, five random 80/20 splits; the numbers are PAPERS.md's.
    """
    data = datasets.load(name, binarize="even-odd", scale="unit-norm")
    X, y = data.data, data.target
    found = []

    def plain(alpha):
        return AUCClassifier(alpha, standardize=0.0, solver="conjugate_gradient")

    for seed in range(5):
        order = np.random.RandomState(seed).permutation(len(y))
        train, test = np.split(order, [int(0.8 * len(y))])
        models = [plain(alpha).fit(X[train], y[train]) for alpha in (1e6, 1e-4)]
        found.append([metrics.roc_auc(y[test], m.decision_function(X[test])) for m in models])
    strong, weak = np.mean(found, axis=0)
    assert strong == pytest.approx(limit, abs=0.01)
    assert strong == pytest.approx(poster, abs=0.01)
    assert weak == pytest.approx(optimum, abs=0.01)
