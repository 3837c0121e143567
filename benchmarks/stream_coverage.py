"""Simulated streams: coverage of intervals, the test at one look, and the drift alarm.

- coverage: normal scores of a fixed model, AUC .76, and of two equal models that share half of
  their variance.
- false_alarms: such scores of a frozen model; in some streams the share of the positives changes.
- strata: such scores within strata whose levels drift; in some streams the positives lie below the
  negatives from the middle on.
- delays: streams that change after 3,000 rows; how many rows later the alarm is raised, and the
  first of the looks, one every 100 rows, has p < .05.
"""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer
from scipy.stats import norm

from aucmax.streams.drift import DriftAlarm
from aucmax.streams.paired import PairedScores
from aucmax.streams.state import Settings, State, advance
from aucmax.streams.stratum_sums import StratumLosses
from benchmarks.common.tables import show

RUNS = 2000
AUC = norm.cdf(1.0 / 2.0**0.5)
CHANGE, ROWS, EVERY = 3000, 6000, 100  # of the streams with a change
STREAMS = 100


def coverage() -> Iterator[list[Any]]:
    """Yield how often intervals cover, and how often the test of one look rejects."""
    rng = np.random.default_rng(0)
    for n, share in ((400, 0.3), (400, 0.05), (4000, 0.05)):
        for half_life in (None, n / 4):
            low = high = refused = 0
            for _ in range(RUNS):
                y = (rng.random(n) < share).astype(int)
                noise = np.sqrt(0.5) * (rng.normal(size=(2, n)) + rng.normal(size=n))
                pair = PairedScores(4096, half_life)
                pair.add(y, *(noise + y), np.ones(n))
                areas = [scores.auc(1) for scores in pair.scorers()]
                area, test = areas[0], pair.test(areas)
                low += area.high < AUC
                high += area.low > AUC
                refused += test is not None and test.p_value < 0.05
            shares = (1 - (low + high) / RUNS, low / RUNS, high / RUNS, refused / RUNS)
            yield [n, share, half_life or np.inf, *(f"{value:.3f}" for value in shares)]


def false_alarms(rows: int = 20_000) -> Iterator[list[Any]]:
    """Yield the share of streams that ever raise an alarm though no class changes."""
    rng = np.random.default_rng(1)
    for share, later in ((0.5, 0.5), (0.2, 0.2), (0.1, 0.1), (0.02, 0.02), (0.1, 0.5), (0.1, 0.01)):
        alarms = 0
        for _ in range(RUNS):
            y = (rng.random(rows) < np.where(np.arange(rows) < rows // 4, share, later)).astype(int)
            alarm = DriftAlarm()
            alarm.add(y, rng.normal(size=rows) + y, np.ones(rows), rng.normal())
            alarms += alarm.row is not None
        yield [rows, share, later, f"{alarms / RUNS:.4f}"]


def strata(count: int = 1_000, size: int = 10) -> Iterator[list[Any]]:
    """Yield the share of streams that ever raise an alarm, and after how many strata if changed."""
    rng, n = np.random.default_rng(3), count * size
    level = np.repeat(0.01 * np.arange(count), size)
    for share in (0.5, 0.2):
        for changed in (False, True):
            after = changed & (np.arange(n) >= n // 2)
            delays = []
            for _ in range(RUNS):
                y = rng.random(n) < share
                z = np.where(after, -1.0, 1.0) * y + rng.normal(size=n) + level
                z += np.repeat(3.0 * rng.normal(size=count), size)
                starts, alarm = np.arange(0, n, size), DriftAlarm()
                of_strata = StratumLosses.of(y, np.ones(n), [z, z], starts, "positives")
                of_strata.show(alarm, rng.normal())
                delays.append(np.inf if alarm.row is None else alarm.row - count // 2)
            early = np.mean(np.array(delays) <= 0) if changed else np.mean(np.isfinite(delays))
            middle, most = np.quantile(delays, [0.5, 0.9], method="higher")
            yield [share, "sign" if changed else "none", f"{early:.4f}", middle, most]


def clicks(rng: np.random.Generator, share: float, change: str) -> list[bytes]:
    """Return the lines of a stream: x1 is higher by 1 where the label is, x2 and x3 are noise."""
    y = (rng.random(ROWS) < share).astype(int)
    X, after = rng.normal(size=(ROWS, 3)), np.arange(ROWS) >= CHANGE
    X[:, 0] += y
    if change == "sign":
        X[after, 0] *= -1.0
    elif change == "lost":
        X[after, 0] -= y[after]
    elif change == "noise":
        X[after] += 1.7 * rng.normal(size=(int(after.sum()), 3))
    elif change == "other feature":  # of which the frozen model makes nothing
        X[after, 1] += y[after]
    elif change == "base rate":
        y[after & (rng.random(ROWS) < 0.5)] = 0
    return [
        f"{k} 1:{a:.4f} 2:{b:.4f} 3:{c:.4f}\n".encode()
        for k, (a, b, c) in zip(y.tolist(), X.tolist(), strict=True)
    ]


def delay(lines: list[bytes], half_life: float | None) -> tuple[float, float, float]:
    """Return the rows from the change to the alarm and to the first look with p < .05.

    Infinite for never. And the share of the looks before the change that had p < .05.
    """
    state = State(Settings(format="svmlight", half_life=half_life))
    early, late = [], np.inf
    for at in range(0, ROWS, EVERY):
        advance(state.offset, lines[at : at + EVERY], state, on_bad=print)
        areas = [scores.auc(state.positive) for scores in state.pair.scorers()]
        test = None if state.baseline is None else state.pair.test(areas)
        if test is None:
            continue
        if state.rows <= CHANGE:
            early.append(test.p_value < 0.05)
        elif test.p_value < 0.05:
            late = min(late, state.rows - CHANGE)
        if late < np.inf and state.alarm is not None:
            break
    alarm = np.inf if state.alarm is None else state.alarm - CHANGE
    return alarm, late, float(np.mean(early))


def delays() -> Iterator[list[Any]]:
    """Yield how soon a change is detected."""
    cases = [("sign", share, life) for share in (0.2, 0.1, 0.02) for life in (None, 1000.0)]
    others = ("lost", "noise", "other feature", "base rate", "none")
    cases += [(change, share, None) for change in others for share in (0.2, 0.02)]
    for change, share, half_life in cases:
        rng = np.random.default_rng(2)
        runs = [delay(clicks(rng, share, change), half_life) for _ in range(STREAMS)]
        alarm, look, early = np.array(runs).T
        late = alarm[alarm > 0]
        middle, most = np.quantile(late, [0.5, 0.9], method="higher")
        yield [
            change, share, half_life or np.inf, f"{np.mean(alarm <= 0):.2f}",
            f"{early.mean():.3f}", f"{np.isfinite(late).mean():.2f}", middle, most,
            np.quantile(look, 0.5, method="higher"),
        ]  # fmt: skip


def main(
    tables: Annotated[list[str], typer.Argument()] = [
        "coverage",
        "false_alarms",
        "strata",
        "delays",
    ],
) -> None:
    every = {
        "coverage": (["rows", "positive", "half-life", "covers", "too low", "too high", "rejects"],
                     coverage()),
        "false_alarms": (["rows", "positive", "later", "false alarms"], false_alarms()),
        "strata": (["positive", "change", "false alarms", "median delay", "90 % delay"], strata()),
        "delays": (["change", "positive", "half-life", "alarms before", "looks before",
                    "alarms", "median delay", "90 % delay", "look"], delays()),
    }  # fmt: skip
    for name in tables:
        show(*every[name])
