"""The papers' constants, rates and conversions as functions.

Symbols: p the positive share, M ≥ max‖x‖, β the strong convexity of the penalty (β/2)‖w‖² on the
papers' scale, η a step size, m the inner steps of a VRSPAM stage. Sources: SPAM, Natole, Ying &
Lyu (ICML 2018); VRSPAM, Dan & Sahoo, with the corrections that docs/symbols.md lists.
"""

import math

from aucmax._checks import number

__all__ = [
    "alpha_from_beta",
    "beta_from_alpha",
    "gradient_lipschitz",
    "spam_constant",
    "spam_rate",
    "spam_strong_constant",
    "vrspam_constants",
    "vrspam_contraction",
    "vrspam_max_step",
]


def _share(p: float) -> float:
    if not 0.0 < p < 1.0:
        raise ValueError(
            f"p, the share of positives, must lie strictly between 0 and 1; got {p!r}."
        )
    return p


def alpha_from_beta(beta: float, p: float) -> float:
    """Return the library's α for the papers' β (or β₁): α(1−ρ) = β / (2p(1−p)).

    The papers' f is p(1−p) times the mean over pairs of (1 − t)², which is 2p(1−p) times J's data
    term.
    """
    return beta / (2.0 * _share(p) * (1.0 - p))


def beta_from_alpha(alpha: float, p: float) -> float:
    """Return the papers' β (or β₁) for the library's α(1−ρ) (or αρ): the inverse."""
    return alpha * 2.0 * _share(p) * (1.0 - p)


def spam_constant(beta: float, M: float) -> float:
    """Return C_{β,M} = β/(128 M⁴), the constant of the steps C_{β,M}/t^θ (SPAM's theorem)."""
    number(beta, "beta", open_low=True)
    number(M, "M", open_low=True)
    return beta / (128.0 * M**4)


def spam_strong_constant(beta: float, M: float) -> float:
    """Return C̃_{β,M} = β / (1 + β²/(128 M⁴))², of the steps 1/(C̃(t + t0)) (SPAM's theorem)."""
    number(beta, "beta", open_low=True)
    number(M, "M", open_low=True)
    return beta / (1.0 + beta**2 / (128.0 * M**4)) ** 2


def spam_rate(T: int, theta: float | None = None) -> float:
    """Return the order of E‖w_{T+1} − w*‖² after T steps, up to SPAM's constant.

    T^{−θ} for the steps C/t^θ; log(T)/T (``theta=None``) for the steps 1/(C̃(t + t0)).
    """
    number(T, "T", low=1, whole=True)
    if theta is None:
        return math.log(T) / T
    if not 0.0 < theta < 1.0:
        raise ValueError(f"theta must lie strictly between 0 and 1; got {theta!r}.")
    return float(T) ** -theta


def gradient_lipschitz(p: float, M: float) -> float:
    """Return 4 max(p, 1−p) M², the sharp Lipschitz constant of w ↦ G(w; z).

    VRSPAM's Lemma 2 states 8M², which is true but loose.
    """
    number(M, "M", open_low=True)
    return 4.0 * max(_share(p), 1.0 - p) * M**2


def vrspam_max_step(beta: float, M: float) -> float:
    """Return β/(128 M⁴), below which VRSPAM's Theorem 1 holds."""
    return spam_constant(beta, M)


def vrspam_constants(eta: float, beta: float, M: float) -> tuple[float, float]:
    """Return (C, D) of VRSPAM's Lemma 3.

    C = (1 + 128M⁴η²)/(1 + ηβ)², D = 128M⁴η²/(1 + ηβ)².
    """
    for name, value in (("eta", eta), ("beta", beta), ("M", M)):
        number(value, name, open_low=True)
    noise, shrink = 128.0 * M**4 * eta**2, (1.0 + eta * beta) ** 2
    return (1.0 + noise) / shrink, noise / shrink


def vrspam_contraction(
    eta: float, beta: float, M: float, m: int, as_printed: bool = False
) -> float:
    """Return α of VRSPAM's Theorem 1: E‖w̃_s − w*‖² ≤ α^s ‖w̃_0 − w*‖².

    Parameters
    ----------
    eta, beta, M : float
    m : int
        Inner steps in a stage.
    as_printed : bool
        The theorem prints C^m + DC(C^m − 1)/(C − 1); summing its own recursion
        e_{t+1} ≤ C e_t + D e_0 gives C^m + D(C^m − 1)/(C − 1), which is the default.
    """
    number(m, "m", low=1, whole=True)
    C, D = vrspam_constants(eta, beta, M)
    series = float(m) if C == 1.0 else math.expm1(m * math.log(C)) / (C - 1.0)
    return C**m + (D * C if as_printed else D) * series
