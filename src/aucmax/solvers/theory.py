"""The papers' constants, rates and conversions as functions; `aucmax.theory` lists the symbols."""

import math

import numpy as np

from aucmax.basics.checks import number

__all__ = [
    "alpha_from_beta",
    "beta_from_alpha",
    "effective_rank",
    "gradient_lipschitz",
    "opauc_rank",
    "opauc_regret",
    "opauc_smoothness",
    "opauc_step",
    "sadmm_bound",
    "spam_bound",
    "spam_constant",
    "spam_rate",
    "spam_strong_constant",
    "spam_t0",
    "vi_gap",
    "vrspam_constants",
    "vrspam_contraction",
    "vrspam_max_step",
    "vrspam_stages",
]


def _share(p: float) -> float:
    return number(p, "p, the share of positives,", high=1.0, open_low=True, open_high=True)


def alpha_from_beta(beta: float, p: float) -> float:
    """Return the library's α for the papers' β (or β₁): α(1−ρ) = β / (2p(1−p)).

    The papers' f is p(1−p) times the mean of (1 − t)² over pairs: 2p(1−p) times the data term of J.
    """
    return number(beta, "beta") / (2.0 * _share(p) * (1.0 - p))


def beta_from_alpha(alpha: float, p: float) -> float:
    """Return the papers' β (or β₁) for the library's α(1−ρ) (or αρ): `alpha_from_beta` inverted."""
    return number(alpha, "alpha") * 2.0 * _share(p) * (1.0 - p)


def spam_constant(beta: float, M: float) -> float:
    """Return C_{β,M} = β/(128 M⁴), for the steps C_{β,M}/t^θ of SPAM's theorem."""
    number(beta, "beta", open_low=True)
    number(M, "M", open_low=True)
    return beta / (128.0 * M**4)


def spam_strong_constant(beta: float, M: float) -> float:
    """Return C̃_{β,M} = β / (1 + β²/(128 M⁴))², for the steps 1/(C̃(t + t0)) of SPAM's theorem."""
    number(beta, "beta", open_low=True)
    number(M, "M", open_low=True)
    share = beta / (M * M)  # products overflow to infinity, powers raise
    shrink = 1.0 + share * share / 128.0
    return beta / (shrink * shrink)


def spam_t0(beta: float, M: float) -> int:
    """Return t0, the first step to which SPAM's theorem for the steps 1/(C̃(t + 1)) applies.

    t0 = max(2, ⌈1 + (128M⁴ + β²)²/(128M⁴β²)⌉), from SPAM's Theorem 3 as VRSPAM quotes it. For
    t ≥ t0, 1/(C̃(t + 1)) ≤ β/(128M⁴). t0 grows like 128M⁴/β².
    """
    number(beta, "beta", open_low=True)
    number(M, "M", open_low=True)
    K = 128.0 * M**4
    return max(2, math.ceil(1.0 + (K + beta**2) ** 2 / (K * beta**2)))


def spam_bound(
    step_sizes: np.ndarray, beta: float, M: float, noise: float, start: float
) -> np.ndarray:
    """Return a bound on E‖w_{t+1} − w*‖² after each step of SPAM, with explicit constants.

    It unrolls the recursion behind SPAM's theorem, for rows drawn with replacement:

        e_{t+1} = [(1 + 128M⁴η_t²) e_t + 2η_t² σ²] / (1 + η_tβ)².

    The theorem states only the order of the result (`spam_rate`).

    Parameters
    ----------
    step_sizes : ndarray of shape (T,)
        η_1 … η_T.
    beta, M : float
    noise : float
        σ² = E‖G(w*; z) − ∇f(w*)‖².
    start : float
        e_1 = ‖w_1 − w*‖².

    Returns
    -------
    ndarray of shape (T,)
        The bound after each step.
    """
    for name, value in (("beta", beta), ("M", M)):
        number(value, name, open_low=True)
    number(noise, "noise")
    e, bounds = float(number(start, "start")), np.empty(len(step_sizes))
    for t, eta in enumerate(step_sizes):
        number(eta, "step_sizes", open_low=True)
        e = (1.0 + 128.0 * M**4 * eta**2) * e + 2.0 * eta**2 * noise
        e /= (1.0 + eta * beta) ** 2
        bounds[t] = e
    return bounds


def spam_rate(T: int, theta: float | None = None) -> float:
    """Return the order of E‖w_{T+1} − w*‖² after T steps of SPAM, up to a constant.

    It is T^{−θ} for the steps C/t^θ, and log(T)/T for the steps 1/(C̃(t + t0)) (``theta=None``).
    """
    number(T, "T", low=1, whole=True)
    if theta is None:
        return math.log(T) / T
    number(theta, "theta", high=1.0, open_low=True, open_high=True)
    return float(T) ** -theta


def gradient_lipschitz(p: float, M: float, as_printed: bool = False) -> float:
    """Return 4 max(p, 1−p) M², the smallest Lipschitz constant of w ↦ G(w; z).

    ``as_printed`` gives the 8M² of VRSPAM's Lemma 2, which is valid but loose.
    """
    number(M, "M", open_low=True)
    share = max(_share(p), 1.0 - p)
    return 8.0 * M**2 if as_printed else 4.0 * share * M**2


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
        Number of inner steps in a stage.
    as_printed : bool
        Use the printed C^m + DC(C^m − 1)/(C − 1). The default sums the theorem's own recursion
        e_{t+1} ≤ C e_t + D e_0, which gives C^m + D(C^m − 1)/(C − 1).
    """
    number(m, "m", low=1, whole=True)
    _, D = vrspam_constants(eta, beta, M)
    # C − 1, without cancellation for small η
    noise, shrink = 128.0 * M**4 * eta**2, eta * beta
    excess = (noise - shrink * (2.0 + shrink)) / (1.0 + shrink) ** 2
    exponent = int(m) * math.log1p(excess)
    if exponent > 700.0:  # e^700 is near the largest float
        return math.inf
    series = float(m) if excess == 0.0 else math.expm1(exponent) / excess
    return math.exp(exponent) + (D * (1.0 + excess) if as_printed else D) * series


def vrspam_stages(contraction: float, reduction: float) -> int:
    """Return the number of stages that reduce E‖w̃_s − w*‖² to ``reduction`` times its first value.

    This is the smallest integer s with α^s ≤ reduction, where α is the ``contraction`` of VRSPAM's
    Theorem 1. (The later version has s ≥ log(1/reduction)/log(1/α); v1 prints the product of the
    logarithms.)
    """
    for name, value in (("contraction", contraction), ("reduction", reduction)):
        number(value, name, high=1.0, open_low=True, open_high=True)
    return math.ceil(math.log(reduction) / math.log(contraction))


def opauc_smoothness(lam: float, M: float = 1.0) -> float:
    """Return κ = 4M² + λ, the Lipschitz constant of OPAUC's ∇L_t; the paper has M = 1."""
    return 4.0 * number(M, "M", open_low=True) ** 2 + number(lam, "lam")


def opauc_step(
    T: int, L: float, B: float, lam: float, M: float = 1.0, as_printed: bool = False
) -> float:
    """Return the constant η of OPAUC's Theorem 2: η = 1/(κ + √(κ² + 2κTL/B²)).

    It minimises `opauc_regret` over η; the minimum is B²(κ + √(κ² + 2κTL/B²)).

    Parameters
    ----------
    T : int
        Number of steps.
    L : float
        Bound on the mean of L_t(w*), where w* minimises their sum; ½ is always valid.
    B : float
        Bound on ‖w*‖.
    lam : float
        λ.
    M : float
        Bound on ‖x‖, 1 in the paper.
    as_printed : bool
        Use the printed κTL/B² under the root, without the 2. For large TL the proof does not give
        the theorem's bound for that step: the factor of √T is 1.5 instead of √2.
    """
    number(T, "T", low=1, whole=True)
    number(L, "L")
    number(B, "B", open_low=True)
    kappa = opauc_smoothness(lam, M)
    noise = (1.0 if as_printed else 2.0) * kappa * T * L / B**2
    return 1.0 / (kappa + math.sqrt(kappa**2 + noise))


def opauc_regret(
    T: int, L: float, B: float, lam: float, M: float = 1.0, eta: float | None = None
) -> float:
    """Return OPAUC's bound on Σ L_t(w_t) − Σ L_t(w*): 2κB² + B√(2κTL), its Theorem 2.

    With ``eta``, return the bound that the proof gives for that constant step:
    [B²/(2η) + κηTL]/(1 − κη), infinite if κη ≥ 1.

    Parameters
    ----------
    T, L, B, lam, M
        As for `opauc_step`.
    eta : float, optional
        The step size.
    """
    number(T, "T", low=1, whole=True)
    number(L, "L")
    number(B, "B", open_low=True)
    kappa = opauc_smoothness(lam, M)
    if eta is None:
        return 2.0 * kappa * B**2 + B * math.sqrt(2.0 * kappa * T * L)
    if kappa * number(eta, "eta", open_low=True) >= 1.0:
        return math.inf
    return (B**2 / (2.0 * eta) + kappa * eta * T * L) / (1.0 - kappa * eta)


def effective_rank(S: np.ndarray, mu: float) -> float:
    """Return OPAUC's effective numerical rank r(S, μ) = Σ ν_i/(μ + ν_i) (Definition 3).

    The ν_i are the eigenvalues. The result lies between 0 and the rank, and decreases as μ grows.

    Parameters
    ----------
    S : ndarray of shape (d, d) or (T, d, d)
        A positive semi-definite matrix, or several, of whose ranks the largest is returned.
    mu : float

    Raises
    ------
    ValueError
        If a matrix is not square, finite, symmetric and positive semi-definite.
    """
    number(mu, "mu", open_low=True)
    S = np.asarray(S, dtype=np.float64)
    if S.ndim not in (2, 3) or S.shape[-1] != S.shape[-2] or S.size == 0:
        raise ValueError(f"S must be a square matrix or a stack of them; got shape {S.shape}.")
    if not np.isfinite(S).all():
        raise ValueError("S must be finite; it has NaN or infinite values.")
    noise = 1e-10 * np.abs(S).max()
    if np.abs(S - np.swapaxes(S, -1, -2)).max() > noise:
        raise ValueError("S must be symmetric.")
    values = np.linalg.eigvalsh(S)
    if values.min() < -noise * S.shape[-1]:
        raise ValueError(
            f"S must be positive semi-definite; its least eigenvalue is {values.min():g}."
        )
    values = np.maximum(values, 0.0)
    return float((values / (mu + values)).sum(axis=-1).max())


def opauc_rank(
    rank: float, d: int, epsilon: float, delta: float, T: int = 1, printed_lam: float | None = None
) -> int:
    """Return the rank τ that OPAUC's Theorem 4 requires of its Gaussian sketch: 32r/ε² log(2dT/δ).

    Let r = r(S, μ), K = μI + S and K̂ = μI + S^{½}RRᵀS^{½}, where R of shape (d, τ) has entries
    from N(0, 1/τ). Lemma 6 (T = 1) says that ‖I − K^{−½} K̂ K^{−½}‖₂ ≤ ε with probability 1 − δ.
    The result is rounded up.

    Parameters
    ----------
    rank : float
        r, from `effective_rank` with μ = λ.
    d : int
        Number of features.
    epsilon, delta : float
        In (0, ½] and (0, 1).
    T : int
        Number of covariance matrices to sketch: the number of steps.
    printed_lam : float, optional
        λ, to use the 32rλ/ε² that Theorem 4 prints. Its proof has no λ, and a small λ breaks it.
    """
    number(rank, "rank", open_low=True)
    number(epsilon, "epsilon", open_low=True, high=0.5)
    for name, value in (("d", d), ("T", T)):
        number(value, name, low=1, whole=True)
    number(delta, "delta", high=1.0, open_low=True, open_high=True)
    factor = 1.0 if printed_lam is None else number(printed_lam, "printed_lam", open_low=True)
    return math.ceil(32.0 * rank * factor / epsilon**2 * math.log(2.0 * d * T / delta))


_Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def vi_gap(value: float, reference: float, at: _Triple, v: _Triple) -> float:
    """Return the gap of SADMM's variational inequality at v_t, measured from v.

    The gap is F(u_t) − F(u) + ⟨v_t − v, Q(v)⟩ with u = (w, z), F(u) = l(w) + R(z) and
    Q(v) = (μ, −μ, z − w). Definition 4.2 takes the expectation of its negative. v_t solves the
    problem if the gap is at most 0 for every v.

    Parameters
    ----------
    value, reference : float
        F(u_t) and F(u).
    at, v : tuple of three ndarrays of shape (d,)
        v_t and v, each (w, z, μ).
    """
    w, z, mu = v
    return value - reference + float((at[0] - w - at[1] + z) @ mu + (at[2] - mu) @ (z - w))


def sadmm_bound(rho: float, v: _Triple, start: _Triple) -> float:
    """Return ρ/2 ‖z − z_0‖² + ‖μ − μ_0‖²/(2ρ), the bound of SADMM's Theorem 4.1.

    It bounds the sum of `vi_gap` over the steps so far, each with the loss of the step's own row
    and at v_t = (w_{t+1}, z_{t+1}, μ_t + ρ(w_{t+1} − z_t)). (Theorem 4.2 divides it by the number
    of steps and replaces each row's loss by the mean loss; that does not follow.)

    Parameters
    ----------
    rho : float
    v, start : tuple of three ndarrays of shape (d,)
        v and v_0, each (w, z, μ).
    """
    number(rho, "rho", open_low=True)
    (_, z, mu), (_, z0, mu0) = v, start
    return float(rho / 2.0 * np.sum((z - z0) ** 2) + np.sum((mu - mu0) ** 2) / (2.0 * rho))
