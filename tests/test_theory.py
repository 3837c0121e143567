"""The papers' constants against values worked out by hand, and what invalid arguments get."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aucmax import theory

untimed = settings(deadline=None, derandomize=True)


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


def test_gradient_lipschitz():
    """4 max(p, 1−p) M²."""
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


PAIR = "must be a number in (0, inf)"
INVALID = [
    (theory.alpha_from_beta, (1.0, 0.0), "p, the share of positives, must lie strictly between"),
    (theory.alpha_from_beta, (1.0, 1.0), "strictly between 0 and 1; got 1.0"),
    (theory.beta_from_alpha, (1.0, -0.1), "strictly between 0 and 1; got -0.1"),
    (theory.beta_from_alpha, (1.0, math.nan), "strictly between 0 and 1; got nan"),
    (theory.gradient_lipschitz, (1.5, 1.0), "strictly between 0 and 1; got 1.5"),
    (theory.spam_constant, (0.0, 1.0), f"beta {PAIR}; got 0.0"),
    (theory.spam_constant, (1.0, 0.0), f"M {PAIR}; got 0.0"),
    (theory.spam_constant, (math.nan, 1.0), f"beta {PAIR}; got nan"),
    (theory.spam_constant, (math.inf, 1.0), f"beta {PAIR}; got inf"),
    (theory.spam_strong_constant, (-1.0, 1.0), f"beta {PAIR}; got -1.0"),
    (theory.spam_strong_constant, (1.0, -1.0), f"M {PAIR}; got -1.0"),
    (theory.spam_strong_constant, ("1", 1.0), f"beta {PAIR}; got '1'"),
    (theory.spam_rate, (0,), "T must be a whole number in [1, inf); got 0"),
    (theory.spam_rate, (2.5,), "T must be a whole number in [1, inf); got 2.5"),
    (theory.spam_rate, (10, 0.0), "theta must lie strictly between 0 and 1; got 0.0"),
    (theory.spam_rate, (10, 1.0), "theta must lie strictly between 0 and 1; got 1.0"),
    (theory.vrspam_max_step, (0.0, 1.0), f"beta {PAIR}; got 0.0"),
    (theory.vrspam_constants, (0.0, 1.0, 1.0), f"eta {PAIR}; got 0.0"),
    (theory.vrspam_constants, (True, 1.0, 1.0), f"eta {PAIR}; got True"),
    (theory.vrspam_contraction, (0.1, 1.0, 1.0, 0), "m must be a whole number in [1, inf); got 0"),
    (theory.vrspam_contraction, (-0.1, 1.0, 1.0, 5), f"eta {PAIR}; got -0.1"),
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
