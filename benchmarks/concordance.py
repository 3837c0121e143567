"""Coverage of the interval of the concordance index, for grades, amounts and times of events.

Rows, and strata of rows, are drawn at random; the true values are those of very large samples.
"""

from functools import cache

import numpy as np

from aucmax import metrics
from benchmarks.common.tables import show

POPULATION = 400_000  # rows of the sample that gives the true values
SLOPES = {"weak": 0.35, "middling": 1.0, "strong": 3.0}
KINDS = ("five grades", "one of twenty above", "amounts", "times, half of them censored",
         "times, nine in ten censored")  # fmt: skip
Rows = tuple[np.ndarray, np.ndarray]


def rows(rng: np.random.Generator, n: int, kind: str, slope: float, level=0.0) -> Rows:
    """Return labels and scores of independent rows."""
    score = rng.normal(size=n)
    latent = slope * score + rng.normal(size=n) + level
    if kind == "amounts":
        return np.exp(latent), score
    if kind == "five grades":
        return np.digitize(latent, np.sqrt(1 + slope**2) * np.array([-0.5, 0.5, 1.0, 1.7])), score
    if kind == "one of twenty above":
        grades = np.digitize(latent, np.sqrt(1 + slope**2) * np.array([1.645, 2.33]))
        grades[np.argmax(latent)] = max(1, grades.max())
        return grades, score
    ends = rng.exponential(np.exp(-slope * score))
    rate = 1.0 if "half" in kind else 12.0
    censored = rng.exponential(1.0, n) / rate
    y = np.empty(n, [("event", bool), ("time", float)])
    y["event"], y["time"] = ends <= censored, np.minimum(ends, censored)
    y["event"][np.argmin(y["time"])] = True
    return y, score


@cache
def truth(kind: str, slope: float) -> float:
    """Return the index of a very large sample."""
    return metrics.concordance(*rows(np.random.default_rng(1), POPULATION, kind, slope)).auc


def coverage(n: int, kind: str, slope: float, samples: int) -> str:
    """Return the coverage of the interval, and of the index ± 1.96 standard errors."""
    rng, true = np.random.default_rng(n), truth(kind, slope)
    covered = np.zeros(2)
    for _ in range(samples):
        interval = metrics.concordance(*rows(rng, n, kind, slope))
        plain = abs(interval.auc - true) <= 1.96 * interval.std_error
        covered += interval.low <= true <= interval.high, plain
    ours, plain = covered / samples
    return f"{ours:.3f} / {plain:.3f}"


def strata(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return grades, scores and strata, whose levels and sizes differ."""
    stratum = np.repeat(np.arange(count), rng.integers(5, 41, count))
    level = rng.normal(size=count)[stratum]
    return *rows(rng, len(stratum), "five grades", 1.0, level), stratum


@cache
def stratified_truth(mode: str) -> float:
    """Return the index of very many strata."""
    return metrics.concordance(
        *strata(np.random.default_rng(1), 20_000)[:2],
        strata=strata(np.random.default_rng(1), 20_000)[2], strata_weight=mode,
    ).auc  # fmt: skip


def of_strata(count: int, samples: int) -> list[str]:
    """Return the coverage for each weight of strata."""
    rng, modes = np.random.default_rng(count), ("pairs", "positives", "strata")
    covered = np.zeros(len(modes))
    for _ in range(samples):
        y, score, stratum = strata(rng, count)
        for i, mode in enumerate(modes):
            one = metrics.concordance(y, score, strata=stratum, strata_weight=mode)
            covered[i] += one.low <= stratified_truth(mode) <= one.high
    return [f"{share:.3f}" for share in covered / samples]


def main(samples: int = 1000) -> None:
    print("Coverage / of ± 1.96 standard errors")
    show(
        ["labels, rows", *(f"{name}, slope {slope}" for name, slope in SLOPES.items())],
        (
            [f"{kind}, {n}", *(coverage(n, kind, slope, samples) for slope in SLOPES.values())]
            for kind in KINDS
            for n in (50, 200, 1000)
        ),
    )
    print("\nCoverage with strata, by their weight")
    show(
        ["strata", "pairs", "positives", "strata"],
        ([str(count), *of_strata(count, samples)] for count in (5, 10, 20, 50, 200)),
    )
