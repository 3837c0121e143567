"""Curves and maps of a million rows with few positives: seconds, memory and AUC.

    python -m benchmarks additive_large          # all methods, the whole table
    python -m benchmarks additive_large --rows 200000

A generated table like one for which additive models were asked for: 1,073,122 rows of 66 columns,
half of them numbers and half yes or no, with 3,050 positives. Five columns bend, and three pairs
act together. The AUC is that of as many new rows; that of the true score is the best there can
be. Runs are kept in benchmarks/results/additive_large.csv.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from aucmax import AdditiveAUCClassifier, AUCClassifierCV
from benchmarks.common.engine import Line, measured
from benchmarks.common.results import Results
from benchmarks.common.tables import show

ROWS, COLUMNS, POSITIVES = 1_073_122, 66, 3_050
WARM_ROWS = 20_000  # of the fit that compiles before the clock starts


def boosted() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbose=-1)


METHODS: dict[str, tuple[str, Callable[[], Any]]] = {
    "aucmax, curves and pairs": ("sklearn", AdditiveAUCClassifier),
    "aucmax, curves": ("sklearn", lambda: AdditiveAUCClassifier(0)),
    "aucmax, linear": ("sklearn", AUCClassifierCV),
    "LightGBM": ("lightgbm", boosted),
}


def table(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, which are positive, and the true score, whose exponential is the odds."""
    rng = np.random.default_rng(seed)
    half = COLUMNS // 2
    numbers = rng.normal(size=(rows, half))
    numbers[:, 1:] += 0.5 * numbers[:, :-1]
    numbers[:, half // 2 :] = np.exp(numbers[:, half // 2 :]).round(1)  # skewed, and some are equal
    yes = rng.random((rows, half)) < np.linspace(0.02, 0.5, half)
    a, b = numbers.T, yes.T
    score = -np.abs(a[0]) + 0.5 * a[1] ** 2 / (1 + a[1] ** 2) + np.tanh(2 * a[2]) + np.cos(2 * a[3])
    score += 0.3 * np.log1p(a[20]) + 0.4 * b[5:13].sum(axis=0) - 0.3 * a[4]
    score += np.where(b[30], a[5], -a[5]) + 0.7 * a[6] * a[7] + 1.5 * (b[31] & (a[8] > 0.5))
    drawn = np.argsort(-score - rng.gumbel(size=rows))[: round(rows * POSITIVES / ROWS)]
    positive = np.zeros(rows, dtype=bool)
    positive[drawn] = True
    return np.column_stack([numbers, yes]), positive, score


def run(rows: int, method: str) -> Iterator[Line]:
    """Fit to a table, and test on another."""
    X, y, _ = table(rows, seed=0)
    few = np.r_[np.flatnonzero(y)[:200], np.flatnonzero(~y)[:WARM_ROWS]]
    make = METHODS[method][1]
    make().fit(X[few], y[few])
    model, spent = measured(lambda: make().fit(X, y))
    del X
    X, y, best = table(rows, seed=1)
    scores = [
        model.decision_function(X[some]) if hasattr(model, "decision_function")
        else model.predict_proba(X[some])[:, 1]
        for some in np.array_split(np.arange(rows), 20)
    ]  # fmt: skip
    auc, top = roc_auc_score(y, np.concatenate(scores)), roc_auc_score(y, best)
    yield spent | {"auc": f"{auc:.5f}", "note": f"true score {top:.4f}"}


def main(rows: int = ROWS, methods: list[str] = [*METHODS]) -> None:
    results = Results("additive_large")
    wanted = [
        (
            {"data": f"generated {rows}", "method": m, "package": METHODS[m][0]},
            partial(run, rows, m),
        )
        for m in methods
    ]
    results.complete(wanted)
    own = [line for line in results.lines() if line["data"] == f"generated {rows}"]
    fields = ("method", "auc", "note", "seconds", "processor_seconds", "memory_mb")
    show([*fields], ([line[field] for field in fields] for line in own))
