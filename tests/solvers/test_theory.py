"""The papers' constants against values worked out by hand, and what invalid arguments get."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucmax import theory
from oracles import opauc, rows, spam

untimed = settings(deadline=None, derandomize=True, max_examples=40)


def test_alpha_and_beta():
    """p = 1/4: 2p(1−p) = 3/8."""
    assert theory.alpha_from_beta(0.375, 0.25) == 1.0
    assert theory.beta_from_alpha(1.0, 0.25) == 0.375
    assert theory.beta_from_alpha(2.0, 0.5) == 1.0
    assert theory.alpha_from_beta(0.0, 0.5) == 0.0


@untimed
@given(st.floats(0, 1e6), st.floats(1e-6, 1 - 1e-6))
def test_alpha_and_beta_are_inverse(value, p):
    assert theory.beta_from_alpha(theory.alpha_from_beta(value, p), p) == pytest.approx(value)
    # the two classes count alike
    assert theory.beta_from_alpha(value, p) == pytest.approx(theory.beta_from_alpha(value, 1 - p))


def test_spam_constants():
    """C = β/(128M⁴); C̃ = β/(1 + β²/(128M⁴))²."""
    assert theory.spam_constant(1.0, 1.0) == 1 / 128
    assert theory.spam_constant(4.0, 2.0) == 4 / 2048
    assert theory.spam_strong_constant(16.0, 1.0) == 16 / 9  # β²/128 = 2
    assert theory.spam_strong_constant(32.0, 2.0) == pytest.approx(32 / 2.25)  # 1024/2048 = 1/2


def test_spam_rates():
    assert theory.spam_rate(1) == 0.0
    assert theory.spam_rate(100) == pytest.approx(math.log(100) / 100)
    assert theory.spam_rate(16, theta=0.5) == 0.25
    assert theory.spam_rate(10_000, theta=0.75) == pytest.approx(1e-3)


def test_spam_t0():
    """β = 8, M = 1: 128 + 64 = 192, 192²/(128·64) = 36864/8192 = 4.5, so t0 = ⌈5.5⌉ = 6."""
    assert theory.spam_t0(8.0, 1.0) == 6
    # β² = 128: 256²/128² = 4, t0 = 5; there 1/(C̃·6) is below β/128
    assert theory.spam_t0(math.sqrt(128.0), 1.0) in (5, 6)
    # β = 1e-3: 128e6 steps before the theorem says anything
    assert theory.spam_t0(1e-3, 1.0) == 128_000_003


@untimed
@given(st.floats(0.1, 20.0), st.floats(0.5, 2.0))
def test_from_t0_on_the_steps_are_short_enough(beta, M):
    t0, C = theory.spam_t0(beta, M), theory.spam_strong_constant(beta, M)
    assert t0 >= 2
    assert 1 / (C * (t0 + 1)) <= theory.spam_constant(beta, M)
    if t0 > 4:  # and not long before: the theorem's ⌈1 + …⌉ is at most three steps too late
        assert 1 / (C * (t0 - 2)) > theory.spam_constant(beta, M)


def test_spam_bound_by_hand():
    """η = 1/16, β = 2, M = 1, σ² = 3, e = 5: 128η² = 1/2, 2η²σ² = 6/256, (1 + ηβ)² = 81/64."""
    first = (1.5 * 5 + 6 / 256) * 64 / 81
    second = (1.5 * first + 6 / 256) * 64 / 81
    found = theory.spam_bound(np.array([1 / 16, 1 / 16]), 2.0, 1.0, 3.0, 5.0)
    np.testing.assert_allclose(found, [first, second], rtol=1e-14)
    assert theory.spam_bound(np.array([]), 2.0, 1.0, 3.0, 5.0).shape == (0,)


@pytest.mark.parametrize("schedule", ["constant", "sqrt", "strong"])
def test_spam_bound_holds(schedule):
    """E‖w_t − w*‖² exactly, over all rows at every step, of SPAM read literally."""
    X, y = rows(11, n=12, d=2, share=0.4, norm=1.0)
    beta, here = 0.5, spam.Population(X, y, np.ones(12))
    zero = np.zeros(2)
    at_zero = np.array([spam.G(zero, x, s, here) for x, s in zip(X, y, strict=True)])
    # G(w; z_i) = A_i w + G(0; z_i)
    A = np.array([[spam.G(e, x, s, here) for e in np.eye(2)] for x, s in zip(X, y, strict=True)])
    A = np.swapaxes(A - at_zero[:, None], 1, 2)
    optimum = np.linalg.solve(A.mean(axis=0) + beta * np.eye(2), -at_zero.mean(axis=0))
    at_optimum = A @ optimum + at_zero
    noise = np.mean(np.sum((at_optimum - at_optimum.mean(axis=0)) ** 2, axis=1))
    t = np.arange(1, 41)
    C = theory.spam_strong_constant(beta, 1.0)
    eta = dict(constant=np.full(40, 0.003), sqrt=0.05 / np.sqrt(t), strong=1 / (C * (t + 600)))
    eta = eta[schedule]
    bound = theory.spam_bound(eta, beta, 1.0, noise, optimum @ optimum)
    # e⁺ = ((I − ηA_i)e − η(G(w*; z_i) + βw*))/(1 + ηβ): (e, 1) obeys a random linear recursion
    second = np.outer(np.append(-optimum, 1.0), np.append(-optimum, 1.0))
    offset = at_optimum + beta * optimum
    for step, limit in zip(eta, bound, strict=True):
        maps = np.zeros((12, 3, 3))
        maps[:, :2, :2], maps[:, :2, 2] = np.eye(2) - step * A, -step * offset
        maps /= 1 + step * beta
        maps[:, 2, 2] = 1.0
        second = np.mean(maps @ second @ np.swapaxes(maps, 1, 2), axis=0)
        assert second[0, 0] + second[1, 1] <= limit
    assert limit < 20 * optimum @ optimum  # it says something


def test_gradient_lipschitz():
    """4 max(p, 1−p) M²; printed is 8M²."""
    assert theory.gradient_lipschitz(0.25, 2.0, as_printed=True) == 32.0
    assert theory.gradient_lipschitz(0.25, 2.0) == 12.0
    assert theory.gradient_lipschitz(0.75, 2.0) == 12.0
    assert theory.gradient_lipschitz(0.5, 1.0) == 2.0


def test_vrspam_step_and_constants():
    assert theory.vrspam_max_step(1.0, 1.0) == 1 / 128
    assert theory.vrspam_max_step(2.0, 2.0) == 2 / 2048
    # η = 1/16, β = 2, M = 1: 128η² = 1/2, (1 + ηβ)² = 81/64
    C, D = theory.vrspam_constants(1 / 16, 2.0, 1.0)
    assert pytest.approx(96 / 81) == C
    assert pytest.approx(32 / 81) == D
    # M = 2: 128·16/256 = 8
    assert theory.vrspam_constants(1 / 16, 2.0, 2.0) == pytest.approx((9 * 64 / 81, 8 * 64 / 81))


def test_vrspam_contraction_by_hand():
    """η = 1/16, β = 2, M = 1: C = 32/27, D = 32/81."""
    C, D = Fraction(32, 27), Fraction(32, 81)
    assert theory.vrspam_contraction(1 / 16, 2.0, 1.0, 1) == pytest.approx(float(C + D))
    assert theory.vrspam_contraction(1 / 16, 2.0, 1.0, 2) == pytest.approx(
        float(C**2 + D * (C + 1))
    )
    assert theory.vrspam_contraction(1 / 16, 2.0, 1.0, 2, as_printed=True) == pytest.approx(
        float(C**2 + D * C * (C + 1))
    )


def test_vrspam_contraction_where_the_series_is_plain():
    """C = 1: every term of the series is 1."""
    eta = 0.25
    M = (2 / 128 / eta**2 * eta + 1 / 128) ** 0.25  # 128M⁴η² = 2ηβ + η²β², β = 1
    C, D = theory.vrspam_constants(eta, 1.0, M)
    assert pytest.approx(1.0, abs=1e-15) == C
    assert theory.vrspam_contraction(eta, 1.0, M, 7) == pytest.approx(1 + 7 * D)


@untimed
@given(st.floats(1e-6, 1.0), st.floats(1e-3, 5.0), st.floats(0.2, 3.0), st.integers(1, 30))
def test_vrspam_contraction_in_exact_arithmetic(eta, beta, M, m):
    """e_{t+1} = C e_t + D e_0, summed as fractions."""
    e, b, R = Fraction(eta), Fraction(beta), Fraction(M)
    shrink, noise = (1 + e * b) ** 2, 128 * R**4 * e**2
    error = Fraction(1)
    for _ in range(m):
        error = ((1 + noise) * error + noise) / shrink
    assert theory.vrspam_contraction(eta, beta, M, m) == pytest.approx(float(error), rel=1e-9)


@pytest.mark.parametrize("theta", [0.01, 0.5, 1.0])
def test_vrspam_contraction_keeps_its_digits(theta):
    """m = 10⁷ with C within 1e-6 of 1, against 60 decimal digits."""
    beta, M, m = 0.01, 1.0, 10**7
    eta = theta * theory.vrspam_max_step(beta, M)
    with localcontext() as context:
        context.prec = 60
        e, b = Decimal(eta), Decimal(beta)
        noise, shrink = 128 * e**2, (1 + e * b) ** 2
        C, D = (1 + noise) / shrink, noise / shrink
        series = (C**m - 1) / (C - 1)
        right, printed = float(C**m + D * series), float(C**m + D * C * series)
    assert theory.vrspam_contraction(eta, beta, M, m) == pytest.approx(right, rel=1e-12)
    found = theory.vrspam_contraction(eta, beta, M, m, as_printed=True)
    assert found == pytest.approx(printed, rel=1e-12)


def test_vrspam_contraction_of_very_long_stages():
    """As m grows it tends to D/(1 − C) = θ/(2 − θ + ηβ), η = θβ/(128M⁴); above 1 it grows."""
    eta = 0.25 / 128
    limit = 0.25 / (1.75 + eta)
    assert theory.vrspam_contraction(eta, 1.0, 1.0, 10**12) == pytest.approx(limit, rel=1e-12)
    for m in (1000, 10**7):
        assert theory.vrspam_contraction(0.5, 1.0, 1.0, m) == math.inf


def test_vrspam_stages():
    """(1/2)¹⁰ = 1/1024 ≤ 1/1000 < (1/2)⁹."""
    assert theory.vrspam_stages(0.5, 1e-3) == 10
    assert theory.vrspam_stages(0.5, 0.25) == 2
    assert theory.vrspam_stages(0.9, 0.95) == 1
    alpha = theory.vrspam_contraction(0.1 / 128, 1.0, 1.0, 400)
    s = theory.vrspam_stages(alpha, 1e-6)
    assert alpha**s <= 1e-6 < alpha ** (s - 1)


# ---- OPAUC --------------------------------------------------------------------------------


def test_opauc_step_and_regret_by_hand():
    """λ = 0, M = 1: κ = 4. T = 64, L = 1/2, B = 2: 2κTL/B² = 64, κTL/B² = 32."""
    assert theory.opauc_smoothness(0.0) == 4.0
    assert theory.opauc_smoothness(0.5, 3.0) == 36.5
    eta = theory.opauc_step(64, 0.5, 2.0, 0.0)
    assert eta == pytest.approx(1 / (4 + math.sqrt(80)))
    printed = theory.opauc_step(64, 0.5, 2.0, 0.0, as_printed=True)
    assert printed == pytest.approx(1 / (4 + math.sqrt(48)))
    # the theorem: 2·4·4 + 2√(2·4·32) = 32 + 32
    assert theory.opauc_regret(64, 0.5, 2.0, 0.0) == pytest.approx(64.0)
    # its proof for η = 1/8: (4·4 + 4·32/8)/(1 − 1/2) = (16 + 16)·2
    assert theory.opauc_regret(64, 0.5, 2.0, 0.0, eta=0.125) == pytest.approx(64.0)
    # and for the theorem's own step: B²(κ + √80)
    assert theory.opauc_regret(64, 0.5, 2.0, 0.0, eta=eta) == pytest.approx(4 * (4 + math.sqrt(80)))
    assert theory.opauc_regret(64, 0.5, 2.0, 0.0, eta=0.25) == math.inf


bounds = st.tuples(
    st.integers(1, 10**6), st.floats(0, 0.5), st.floats(0.1, 10), st.floats(0, 5), st.floats(0.1, 3)
)


@untimed
@given(bounds, st.floats(0.01, 0.99))
def test_no_step_has_a_smaller_bound(values, share):
    eta = theory.opauc_step(*values)
    best = theory.opauc_regret(*values, eta=eta)
    assert best <= theory.opauc_regret(*values) * (1 + 1e-12)
    _, _, _, lam, M = values
    other = share / theory.opauc_smoothness(lam, M)
    assert best <= theory.opauc_regret(*values, eta=other) * (1 + 1e-9)


@pytest.mark.parametrize("lam", [0.05, 1.0])
def test_opauc_obeys_its_regret_bound(lam):
    """Theorem 2 along OPAUC's own iterates, with L and B those of the minimiser of Σ L_t."""
    X, y = rows(12, n=80, d=3, share=0.4, norm=1.0)
    met = [X[:t][y[:t] != y[t]] for t in range(80)]
    D = [y[t] * (X[t] - others) for t, others in enumerate(met)]  # L_t = λ/2‖w‖² + ½mean(1 − Dw)²
    seen = [t for t in range(80) if len(D[t])]

    def loss(t, w):
        return lam / 2 * w @ w + 0.5 * np.mean((1 - D[t] @ w) ** 2)

    H = sum(D[t].T @ D[t] / len(D[t]) + lam * np.eye(3) for t in seen)
    optimum = np.linalg.solve(H, sum(D[t].mean(axis=0) for t in seen))
    at_optimum = [loss(t, optimum) for t in seen]
    assert np.mean(at_optimum) <= 0.5
    values = (len(seen), np.mean(at_optimum), np.linalg.norm(optimum), lam)
    for eta in (theory.opauc_step(*values), 0.5 / theory.opauc_smoothness(lam)):
        after = opauc.fit(X, y, np.ones(80), lam, eta)
        before = [np.zeros(3), *after[:-1]]
        regret = sum(loss(t, w) for t, w in zip(seen, before, strict=True)) - sum(at_optimum)
        assert 0 < regret <= theory.opauc_regret(*values, eta=eta)
    assert theory.opauc_regret(*values) >= theory.opauc_regret(
        *values, eta=theory.opauc_step(*values)
    )


def test_effective_rank_by_hand():
    """ν = 3, 1, 0 and μ = 1: 3/4 + 1/2 + 0."""
    assert theory.effective_rank(np.diag([3.0, 1.0, 0.0]), 1.0) == pytest.approx(1.25)
    # of several matrices the largest
    stack = np.array([np.diag([3.0, 1.0]), np.diag([1.0, 1.0]), np.zeros((2, 2))])
    assert theory.effective_rank(stack, 1.0) == pytest.approx(1.25)
    Q = np.linalg.qr(np.random.RandomState(0).randn(3, 3))[0]
    turned = Q @ np.diag([3.0, 1.0, 0.0]) @ Q.T
    turned = (turned + turned.T) / 2
    assert theory.effective_rank(turned, 1.0) == pytest.approx(1.25)
    # between 0 and the rank
    assert theory.effective_rank(turned, 1e-9) == pytest.approx(2.0)
    assert theory.effective_rank(turned, 1e9) == pytest.approx(4e-9)
    # also where eigenvalues are 0 up to rounding, and below μ
    for v in np.random.RandomState(1).randn(20, 6):
        assert 1.0 <= theory.effective_rank(np.outer(v, v), 1e-16) <= 6.0


def test_opauc_rank_by_hand():
    """r = 2, d = 50, ε = ½, δ = 0.1, T = 3: 32·2/¼ · log(3000) = 256 · 8.00637 = 2049.6."""
    assert theory.opauc_rank(2.0, 50, 0.5, 0.1, T=3) == 2050
    assert theory.opauc_rank(2.0, 50, 0.5, 0.1) == 1769  # 256 · log(1000) = 1768.4
    # printed with λ = 1/8: 32 · 8.00637 = 256.2
    assert theory.opauc_rank(2.0, 50, 0.5, 0.1, T=3, printed_lam=0.125) == 257


PAIR = "must be a number in (0, inf)"
INVALID = [
    (
        theory.alpha_from_beta,
        (1.0, 0.0),
        "p, the share of positives, must be a number in (0, 1); got 0.0",
    ),
    (theory.alpha_from_beta, (1.0, 1.0), "must be a number in (0, 1); got 1.0"),
    (theory.beta_from_alpha, (1.0, -0.1), "must be a number in (0, 1); got -0.1"),
    (theory.beta_from_alpha, (1.0, math.nan), "must be a number in (0, 1); got nan"),
    (theory.gradient_lipschitz, (1.5, 1.0), "must be a number in (0, 1); got 1.5"),
    (theory.spam_constant, (0.0, 1.0), f"beta {PAIR}; got 0.0"),
    (theory.spam_constant, (1.0, 0.0), f"M {PAIR}; got 0.0"),
    (theory.spam_constant, (math.nan, 1.0), f"beta {PAIR}; got nan"),
    (theory.spam_constant, (math.inf, 1.0), f"beta {PAIR}; got inf"),
    (theory.spam_strong_constant, (-1.0, 1.0), f"beta {PAIR}; got -1.0"),
    (theory.spam_strong_constant, (1.0, -1.0), f"M {PAIR}; got -1.0"),
    (theory.spam_strong_constant, ("1", 1.0), f"beta {PAIR}; got '1'"),
    (theory.spam_rate, (0,), "T must be a whole number in [1, inf); got 0"),
    (theory.spam_rate, (2.5,), "T must be a whole number in [1, inf); got 2.5"),
    (theory.spam_rate, (10, 0.0), "theta must be a number in (0, 1); got 0.0"),
    (theory.spam_rate, (10, 1.0), "theta must be a number in (0, 1); got 1.0"),
    (theory.vrspam_max_step, (0.0, 1.0), f"beta {PAIR}; got 0.0"),
    (theory.vrspam_constants, (0.0, 1.0, 1.0), f"eta {PAIR}; got 0.0"),
    (theory.vrspam_constants, (True, 1.0, 1.0), f"eta {PAIR}; got True"),
    (theory.vrspam_contraction, (0.1, 1.0, 1.0, 0), "m must be a whole number in [1, inf); got 0"),
    (theory.vrspam_contraction, (-0.1, 1.0, 1.0, 5), f"eta {PAIR}; got -0.1"),
    (theory.vrspam_stages, (1.0, 0.1), "contraction must be a number in (0, 1); got 1.0"),
    (theory.vrspam_stages, (0.5, 2.0), "reduction must be a number in (0, 1); got 2.0"),
    (theory.vrspam_stages, (0.0, 0.1), "contraction must be a number in (0, 1); got 0.0"),
    (theory.spam_t0, (0.0, 1.0), f"beta {PAIR}; got 0.0"),
    (theory.spam_t0, (1.0, -1.0), f"M {PAIR}; got -1.0"),
    (theory.spam_bound, ([0.1, 0.0], 1.0, 1.0, 1.0, 1.0), f"step_sizes {PAIR}; got 0.0"),
    (theory.spam_bound, ([0.1], 0.0, 1.0, 1.0, 1.0), f"beta {PAIR}; got 0.0"),
    (theory.spam_bound, ([0.1], 1.0, 1.0, -1.0, 1.0), "noise must be a number in [0, inf)"),
    (theory.spam_bound, ([0.1], 1.0, 1.0, 1.0, -1.0), "start must be a number in [0, inf)"),
    (theory.opauc_smoothness, (-1.0,), "lam must be a number in [0, inf); got -1.0"),
    (theory.opauc_smoothness, (1.0, 0.0), f"M {PAIR}; got 0.0"),
    (theory.opauc_step, (0, 0.5, 1.0, 1.0), "T must be a whole number in [1, inf); got 0"),
    (theory.opauc_step, (5, -0.5, 1.0, 1.0), "L must be a number in [0, inf); got -0.5"),
    (theory.opauc_step, (5, 0.5, 0.0, 1.0), f"B {PAIR}; got 0.0"),
    (theory.opauc_regret, (5, 0.5, 1.0, math.nan), "lam must be a number in [0, inf); got nan"),
    (theory.opauc_regret, (5, 0.5, 1.0, 1.0, 1.0, 0.0), f"eta {PAIR}; got 0.0"),
    (theory.opauc_rank, (0.0, 5, 0.5, 0.1), f"rank {PAIR}; got 0.0"),
    (theory.opauc_rank, (1.0, 0, 0.5, 0.1), "d must be a whole number in [1, inf); got 0"),
    (theory.opauc_rank, (1.0, 5, 0.6, 0.1), "epsilon must be a number in (0, 0.5]; got 0.6"),
    (theory.opauc_rank, (1.0, 5, 0.5, 1.0), "delta must be a number in (0, 1); got 1.0"),
    (theory.opauc_rank, (1.0, 5, 0.5, 0.1, 0), "T must be a whole number in [1, inf); got 0"),
    (theory.opauc_rank, (1.0, 5, 0.5, 0.1, 1, 0.0), f"printed_lam {PAIR}; got 0.0"),
    (theory.effective_rank, (np.eye(2), 0.0), f"mu {PAIR}; got 0.0"),
    (theory.effective_rank, (np.ones(3), 1.0), "a square matrix or a stack of them; got shape"),
    (theory.effective_rank, (np.ones((2, 3)), 1.0), "got shape (2, 3)"),
    (theory.effective_rank, (np.full((2, 2), math.nan), 1.0), "S must be finite"),
    (theory.effective_rank, (np.array([[1.0, 1.0], [0.0, 1.0]]), 1.0), "S must be symmetric"),
    (theory.effective_rank, (np.diag([1.0, -0.5]), 1.0), "its least eigenvalue is -0.5"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), INVALID)
def test_invalid_arguments_are_named(function, arguments, message):
    with pytest.raises(ValueError) as caught:
        function(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("function", "arguments", "name"),
    [
        (theory.gradient_lipschitz, (0.5, -1.0), "M"),
        (theory.gradient_lipschitz, (0.5, math.nan), "M"),
        (theory.vrspam_constants, (0.1, -1.0, 1.0), "beta"),
        (theory.vrspam_constants, (0.1, math.inf, 1.0), "beta"),
        (theory.vrspam_constants, (0.1, 1.0, -1.0), "M"),
        (theory.vrspam_contraction, (0.1, -1.0, 1.0, 5), "beta"),
    ],
)
def test_arguments_without_a_meaning_are_refused_too(function, arguments, name):
    with pytest.raises(ValueError, match=f"^{name} must be a number in"):
        function(*arguments)


def test_numpy_numbers_are_numbers():
    assert theory.spam_constant(np.float64(1.0), np.float32(1.0)) == 1 / 128
    assert theory.vrspam_contraction(np.float64(0.1), 1.0, np.int64(1), np.int32(3)) > 0
