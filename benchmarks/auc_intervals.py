"""Coverage and width of the intervals of an AUC, also by groups, and of a difference of two.

The samples are drawn from distributions whose AUC is known.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

from aucmax import metrics
from benchmarks.common.tables import show

NEGATIVES = 1000
AUCS = (0.7, 0.9, 0.95, 0.98)
ROWS_OF_GROUP = 5
PAIRS = ((0.8, 0.8), (0.95, 0.95), (0.98, 0.98), (0.98, 0.95))
Sampler = Callable[[np.random.Generator, np.ndarray, float], np.ndarray]


def normal(deviation: float) -> Sampler:
    """Normal scores; those of the positives have a standard deviation of their own."""

    def draw(rng: np.random.Generator, y: np.ndarray, auc: float) -> np.ndarray:
        shift = np.hypot(1, deviation) * norm.ppf(auc)
        return rng.normal(size=y.size) * np.where(y, deviation, 1.0) + shift * y

    return draw


def exponential(rng: np.random.Generator, y: np.ndarray, auc: float) -> np.ndarray:
    """Return exponential scores of both classes: many positives lie among the negatives."""
    return rng.exponential(size=y.size) * np.where(y, auc / (1 - auc), 1.0)


def logistic(rng: np.random.Generator, y: np.ndarray, auc: float) -> np.ndarray:
    """Return logistic scores."""
    shifts = np.linspace(0, 15, 3001)[1:]
    areas = (1 - np.exp(-shifts) * (1 + shifts)) / np.expm1(-shifts) ** 2
    return rng.logistic(size=y.size) + np.interp(auc, areas, shifts) * y


def student(rng: np.random.Generator, y: np.ndarray, auc: float) -> np.ndarray:
    """Return scores by Student's t with three degrees of freedom: heavy tails of both classes."""
    return rng.standard_t(3, size=y.size) + _student_shift(auc) * y


@cache
def _student_shift(auc: float) -> float:
    """Return how far Student's t is to be moved for an AUC, from 20,000 of its quantiles."""
    quantiles = t.ppf((np.arange(20_000) + 0.5) / 20_000, 3)
    return brentq(lambda shift: t.cdf(quantiles + shift, 3).mean() - auc, 0, 100)


def five_grades(rng: np.random.Generator, y: np.ndarray, auc: float) -> np.ndarray:
    """Return normal scores in five grades, whose AUC with ties is `auc`."""
    cuts = np.array([-0.5, 0.5, 1.5, 2.5])
    shifts = np.linspace(0, 6, 1201)
    neg = np.diff(norm.cdf(np.r_[-np.inf, cuts, np.inf]))
    pos = np.diff(norm.cdf(np.r_[-np.inf, cuts, np.inf] - shifts[:, None]), axis=1)
    areas = pos @ (np.cumsum(neg) - neg / 2)
    return np.digitize(rng.normal(size=y.size) + np.interp(auc, areas, shifts) * y, cuts)


FAMILIES: dict[str, Sampler] = {
    "normal": normal(1.0),
    "normal, positives half as wide": normal(0.5),
    "normal, positives twice as wide": normal(2.0),
    "exponential": exponential,
    "logistic": logistic,
    "Student's t, 3 degrees of freedom": student,
    "five grades": five_grades,
}


def of_one(draw: Sampler, m: int, n: int, auc: float, samples: int) -> tuple[float, float]:
    """Return the coverage of 95 % intervals, and their mean width by that of ±1.96 errors."""
    rng, y = np.random.default_rng(m * n), np.arange(m + n) < m
    covered, width, plain = 0, 0.0, 0.0
    for _ in range(samples):
        one = metrics.auc_interval(y, draw(rng, y, auc))
        covered += one.low <= auc <= one.high
        width += one.high - one.low
        plain += min(one.auc + 1.96 * one.std_error, 1) - max(one.auc - 1.96 * one.std_error, 0)
    return covered / samples, width / plain


def of_two(
    deviation: float, m: int, n: int, areas: tuple[float, float], samples: int
) -> tuple[float, float]:
    """Return the coverage of the interval of a difference, and of 1.96 DeLong errors."""
    rng, y = np.random.default_rng(m * n), np.arange(m + n) < m
    spread, shifts = np.where(y, deviation, 1.0), np.hypot(1, deviation) * norm.ppf(areas)
    truth, covered, plain = areas[0] - areas[1], 0, 0
    for _ in range(samples):
        common, *own = rng.normal(size=(3, y.size))
        a, b = (
            spread * (np.sqrt(0.7) * common + np.sqrt(0.3) * each) + shift * y
            for each, shift in zip(own, shifts, strict=True)
        )
        interval = metrics.auc_difference(y, a, b)
        covered += interval.low <= truth <= interval.high
        test = metrics.auc_test(y, a, b)
        error = abs(test.difference / test.z) if test.z else 0.0
        plain += abs(test.difference - truth) <= 1.96 * error or not test.difference
    return covered / samples, plain / samples


def of_groups(m: int, n: int, both: bool, auc: float, samples: int) -> tuple[float, float]:
    """Return the coverage of the interval by groups, and of the one that takes rows as independent.

    Groups of five rows, m with positives and n with negatives, or all with rows of both classes;
    half of the variance of the normal scores is common to a group.
    """
    rng = np.random.default_rng(m * n)
    group, covered, plain = np.repeat(np.arange(m + n), ROWS_OF_GROUP), 0, 0
    y = np.arange(group.size) % ROWS_OF_GROUP < 1 if both else group < m
    for _ in range(samples):
        common, own = rng.normal(size=m + n)[group], rng.normal(size=group.size)
        score = np.sqrt(0.5) * (common + own) + np.sqrt(2) * norm.ppf(auc) * y
        by_group, by_row = (
            metrics.auc_interval(y, score, groups=group),
            metrics.auc_interval(y, score),
        )
        covered += by_group.low <= auc <= by_group.high
        plain += by_row.low <= auc <= by_row.high
    return covered / samples, plain / samples


def main(samples: int = 2000) -> None:
    def row(name: str, m: int, n: int) -> list[str]:
        cells = [of_one(FAMILIES[name], m, n, auc, samples) for auc in AUCS]
        return [f"{name}, {m} and {n}", *(f"{share:.3f} ({width:.2f})" for share, width in cells)]

    sizes = [(m, NEGATIVES) for m in (10, 15, 20, 30, 50, 100)] + [(15, 15)]
    print("Coverage (width divided by that of ±1.96 DeLong errors)")
    show(["positives and negatives", *(f"AUC {auc}" for auc in AUCS)],
         (row(name, m, n) for m, n in sizes for name in FAMILIES))  # fmt: skip

    def row_of_groups(m: int, n: int, both: bool) -> list[str]:
        cells = [of_groups(m, n, both, auc, samples) for auc in AUCS]
        name = f"{m + n}, each with a positive" if both else f"{m} and {n}"
        return [name, *(f"{ours:.3f} / {plain:.3f}" for ours, plain in cells)]

    print("\nCoverage by groups of five rows, half of the variance in common / by rows")
    groups = [(m, 100, False) for m in (15, 30, 100)] + [(m, 0, True) for m in (15, 30, 100)]
    show(["groups of positives and of negatives", *(f"AUC {auc}" for auc in AUCS)],
         (row_of_groups(*case) for case in groups))  # fmt: skip

    def row_of_two(deviation: float, m: int) -> list[str]:
        cells = [of_two(deviation, m, 200, pair, samples) for pair in PAIRS]
        name = f"deviation {deviation:g}, {m} and 200"
        return [name, *(f"{ours:.3f} / {plain:.3f}" for ours, plain in cells)]

    print("\nCoverage for a difference, scores correlated by .7 / of 1.96 DeLong errors")
    cases = [(deviation, m) for deviation in (1.0, 2.0) for m in (15, 20, 50, 100)]
    head = ["positives and negatives", *(f"{a} and {b}" for a, b in PAIRS)]
    show(head, (row_of_two(*case) for case in cases))
