"""Coverage of the intervals of average precision, precision, recall and the stratified AUC.

How often their paired tests reject scorers that are equally good. Rows, groups and strata are drawn
at random; the true values are those of very large samples.
"""

from functools import cache

import numpy as np
from scipy.stats import norm

from aucmax import metrics
from aucmax.metrics.scored import Scored
from aucmax.report.measures import Measures
from aucmax.report.segments import Segmented
from benchmarks.auc_intervals import AUCS, FAMILIES, NEGATIVES, ROWS_OF_GROUP
from benchmarks.common.tables import show

POPULATION = 2_000_000  # rows of the sample that gives the true values
FPR = 0.05
MEASURES = ("average_precision", "precision_at_k", "recall_at_k", "recall_at_fpr")
Rows = tuple[np.ndarray, np.ndarray, np.ndarray | None]


def settings(measure: str, rate: float) -> tuple[float, ...]:
    """Return what a measure takes: as many flagged rows as there are positives, or the FPR."""
    return {"average_precision": (), "recall_at_fpr": (FPR,)}.get(measure, (rate,))


def rows(rng: np.random.Generator, n: int, rate: float, family: str, auc: float) -> Rows:
    """Return labels and scores of independent rows."""
    y = rng.random(n) < rate
    y[:2] = [True, False]
    return y, FAMILIES[family](rng, y, auc), None


def rows_in_groups(rng: np.random.Generator, n: int, rate: float, _: str, auc: float) -> Rows:
    """Return rows in groups of five of one class, half of the variance in common."""
    n_groups = n // ROWS_OF_GROUP
    group = np.repeat(np.arange(n_groups), ROWS_OF_GROUP)
    positive = rng.random(n_groups) < rate
    positive[:2] = [True, False]
    y = positive[group]
    noise = rng.normal(size=n_groups)[group] + rng.normal(size=group.size)
    return y, np.sqrt(0.5) * noise + np.sqrt(2) * norm.ppf(auc) * y, group


@cache
def truth(draw, rate: float, family: str, auc: float) -> dict[str, float]:
    """Return the measures of a very large sample."""
    y, score, _ = draw(np.random.default_rng(1), POPULATION, rate, family, auc)
    return {name: getattr(metrics, name)(y, score, *settings(name, rate)) for name in MEASURES}


def coverage(draw, n: int, rate: float, family: str, auc: float, samples: int) -> list[str]:
    """Return the coverage of each measure's interval, and of the value ± 1.96 errors."""
    rng, true = np.random.default_rng(n), truth(draw, rate, family, auc)
    covered = np.zeros((len(MEASURES), 2))
    for _ in range(samples):
        y, score, group = draw(rng, n, rate, family, auc)
        for i, name in enumerate(MEASURES):
            interval = getattr(metrics, f"{name}_interval")
            one = interval(y, score, *settings(name, rate), groups=group)
            plain = interval(y, score, *settings(name, rate))
            covered[i] += (
                one.low <= true[name] <= one.high,
                # of groups, by rows
                abs(one.value - true[name]) <= 1.96 * one.std_error
                if group is None
                else plain.low <= true[name] <= plain.high,
            )
    return [f"{ours:.3f} / {plain:.3f}" for ours, plain in covered / samples]


def rejections(n: int, rate: float, auc: float, samples: int) -> list[str]:
    """Return how often the tests of two equally good scorers reject at 5 %."""
    rng, share = np.random.default_rng(n), np.zeros(len(MEASURES))
    for _ in range(samples):
        y = rng.random(n) < rate
        y[:2] = [True, False]
        common, *own = rng.normal(size=(3, n))
        shift = np.sqrt(2) * norm.ppf(auc) * y
        a, b = (np.sqrt(0.7) * common + np.sqrt(0.3) * each + shift for each in own)
        for i, name in enumerate(MEASURES):
            test = getattr(metrics, f"{name}_test")
            share[i] += test(y, a, b, *settings(name, rate)).p_value < 0.05
    return [f"{of_measure:.3f}" for of_measure in share / samples]


def strata(rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
    """Return labels, two scores and strata: their sizes, rates and separations differ."""
    stratum = np.repeat(np.arange(count), rng.integers(5, 41, count))
    rate, shift = rng.beta(1, 6, count)[stratum], rng.normal(1.2, 0.5, count)[stratum]
    level = 2 * rng.normal(size=count)[stratum]
    y = rng.random(stratum.size) < rate
    y[:2] = [True, False]
    common, *own = rng.normal(size=(3, stratum.size))
    a, b = (np.sqrt(0.7) * common + np.sqrt(0.3) * each + shift * y + level for each in own)
    return y, a, b, stratum


@cache
def stratified_truth(mode: str) -> float:
    """Return the area of very many strata."""
    y, score, _, stratum = strata(np.random.default_rng(1), 40_000)
    return metrics.stratified_auc(y, score, stratum, strata_weight=mode)


def of_strata(count: int, samples: int) -> list[str]:
    """Return the coverage of the interval for each weight, and how often the test rejects."""
    rng, modes = np.random.default_rng(count), ("positives", "pairs", "strata")
    covered, rejected = np.zeros(len(modes)), 0
    for _ in range(samples):
        y, a, b, stratum = strata(rng, count)
        for i, mode in enumerate(modes):
            one = metrics.stratified_auc_interval(y, a, stratum, strata_weight=mode)
            covered[i] += one.low <= stratified_truth(mode) <= one.high
        rejected += metrics.stratified_auc_test(y, a, b, stratum).p_value < 0.05
    return [f"{share:.3f}" for share in (*covered / samples, rejected / samples)]


def of_segments(positives: int, auc: float, samples: int) -> list[str]:
    """Return how often the tests reject at 5 % that four segments are alike, as they are."""
    rng, rejected, n = np.random.default_rng(positives), np.zeros(3), 50 * positives
    asked = Measures(confidence=0.95, k=2 * positives, fpr=FPR)
    for _ in range(samples):
        y = rng.random(n) < 4 * positives / n
        y[:2] = [True, False]
        score = rng.normal(size=n) + np.sqrt(2) * norm.ppf(auc) * y
        odds = 4 * positives / n * norm.pdf(score - np.sqrt(2) * norm.ppf(auc)) / norm.pdf(score)
        chance = odds / (odds + 1 - 4 * positives / n)
        report = Segmented.of(Scored(y, score), rng.integers(0, 4, n), "segment", asked, chance)
        tests = {entry.measure: entry.test.p_value for entry in report.equality}
        rejected += [tests[name] < 0.05 for name in ("auc", "recall_at_k", "calibration")]
    return [f"{share:.3f}" for share in rejected / samples]


def main(samples: int = 1000) -> None:
    head = [name.replace("_", " ") for name in MEASURES]
    print(f"Coverage / of ± 1.96 standard errors, with {NEGATIVES} negatives")
    families = ("normal", "normal, positives twice as wide", "five grades")
    cases = [(family, m, auc) for family in families for m in (15, 30, 100) for auc in AUCS]

    def row(family: str, m: int, auc: float) -> list[str]:
        n = m + NEGATIVES
        return [f"{family}, {m}, {auc}", *coverage(rows, n, m / n, family, auc, samples)]

    show(["scores, positives, AUC", *head], (row(*case) for case in cases))

    def row_of_groups(m: int, auc: float) -> list[str]:
        n = m + 200
        shares = coverage(rows_in_groups, ROWS_OF_GROUP * n, m / n, "normal", auc, samples)
        return [f"{m}, {auc}", *shares]

    print("\nCoverage by groups of five rows, half of the variance in common / by rows")
    cases_of_groups = [(m, auc) for m in (15, 30, 100) for auc in AUCS]
    show(["groups of positives, AUC", *head], (row_of_groups(*case) for case in cases_of_groups))
    print("\nTests of equal scorers, correlated by .7, that reject at 5 %")
    show(
        ["positives, AUC", *head],
        (
            [f"{m}, {auc}", *rejections(m + NEGATIVES, m / (m + NEGATIVES), auc, samples)]
            for m in (15, 30, 100)
            for auc in AUCS
        ),
    )
    print("\nThe stratified AUC: coverage by weight of strata, tests that reject at 5 %")
    show(
        ["strata", "positives", "pairs", "strata", "test"],
        ([str(count), *of_strata(count, samples)] for count in (5, 10, 20, 50, 200)),
    )
    print("\nFour equal segments: tests that reject at 5 %")
    show(
        ["positives of each, AUC", "AUC", "recall at k", "calibration"],
        ([f"{m}, {auc}", *of_segments(m, auc, samples)] for m in (5, 15, 50) for auc in (0.7, 0.9)),
    )
