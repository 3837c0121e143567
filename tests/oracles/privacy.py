"""What one row more changes, by trying every small data set; and privacy of noise, by summing."""

import itertools
from decimal import Decimal, localcontext

import numpy as np

__all__ = ["changes", "gaussian_delta", "laplace_pmf", "log_delta", "normal_pmf", "sums"]


def sums(Z, y, classes):
    """n, s and Q of each class, row by row."""
    d = len(Z[0]) if len(Z) else 0
    out = {c: [0.0, np.zeros(d), np.zeros((d, d))] for c in classes}
    for z, label in zip(Z, y, strict=True):
        out[label][0] += 1
        for i in range(d):
            out[label][1][i] += z[i]
            for j in range(d):
                out[label][2][i, j] += z[i] * z[j]
    return out


def changes(d, classes=(0, 1), grid=(-1.0, -0.5, 0.0, 1.0), most=1):
    """By how much n, s and the upper triangle of Q change between any two neighbours.

    Over all data sets of at most ``most`` rows on a grid, and every row added to them. Yields three
    flat arrays, of all classes together.
    """
    rows = list(itertools.product(itertools.product(grid, repeat=d), classes))
    upper = np.triu_indices(d)

    def flat(data):
        found = sums([z for z, _ in data], [c for _, c in data], classes)
        n = [found[c][0] for c in classes]
        s = [found[c][1] if len(data) else np.zeros(d) for c in classes]
        Q = [found[c][2][upper] if len(data) else np.zeros(len(upper[0])) for c in classes]
        return np.array(n), np.concatenate(s), np.concatenate(Q)

    for size in range(most + 1):
        for data in itertools.combinations_with_replacement(rows, size):
            before = flat(data)
            for row in rows:
                yield tuple(a - b for a, b in zip(flat((*data, row)), before, strict=True))


def gaussian_delta(mu, epsilon):
    """δ(ε) of two unit normal laws μ apart: the integral of max(0, p − e^ε q)."""
    x = np.linspace(-12.0, 12.0 + mu, 400_001)
    p, q = (np.exp(-((x - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (mu, 0.0))
    return float(np.sum(np.maximum(p - np.exp(epsilon) * q, 0.0)) * (x[1] - x[0]))


def laplace_pmf(t, x):
    """P(x) ∝ exp(−|x|/t) over all whole numbers."""
    every = np.arange(-60 * int(t + 1), 60 * int(t + 1) + 1)
    return np.exp(-np.abs(x) / t) / np.exp(-np.abs(every) / t).sum()


def normal_pmf(sigma, x):
    """P(x) ∝ exp(−x²/2σ²) over all whole numbers."""
    every = np.arange(-60 * int(sigma + 1), 60 * int(sigma + 1) + 1)
    return np.exp(-((x / sigma) ** 2) / 2) / np.exp(-((every / sigma) ** 2) / 2).sum()


def log_delta(rho, epsilon):
    """The least of (a − 1)(aρ − ε) + a log(1 − 1/a) − log(a − 1) over a > 1, to 60 digits.

    By ternary search over log(a − 1), in which it falls and then rises.
    """
    with localcontext() as context:
        context.prec = 400  # a may be 1 + 10⁻²⁰⁰
        rho, epsilon = Decimal(float(rho)), Decimal(float(epsilon))

        def at(t):
            u = (t * Decimal(10).ln()).exp()
            a = 1 + u
            return u * (a * rho - epsilon) + a * (u / a).ln() - u.ln()

        low, high = Decimal(-110), Decimal(110)
        context.prec = 250
        for _ in range(60):
            third = (high - low) / 3
            if at(low + third) < at(high - third):
                high -= third
            else:
                low += third
        return float(at((low + high) / 2))
