"""Coverage of the intervals of `aucmax.effects`, with few positives and with many.

    python -m benchmarks effects_coverage
    python -m benchmarks effects_coverage --splines  # of columns with several features each

Rows of five features, one of them skewed. The target is what the same settings give on many rows
with the same share of positives.
"""

import numpy as np
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, effects
from aucmax.additive import SplineFeatures
from benchmarks.common.tables import show

LOSSES = ("square", "squared_hinge", "logistic")
POSITIVES = (10, 20, 30, 50, 100, 300)
ROWS, MANY = 3000, 100  # rows of a sample; how many times as many give the target


def drawn(seed: int, positives: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return rows X (n, 5) and labels y (n,)."""
    rng = np.random.default_rng(seed)
    y = (np.arange(rows) < positives).astype(int)
    X = rng.normal(size=(rows, 5)) + np.outer(y, [1.0, 0.5, 0.3, 0.0, 0.0])
    X[:, 1] = np.exp(0.7 * X[:, 1])
    return X, y


def coverage(loss: str, positives: int, samples: int, splines: bool) -> float:
    """Return the share of the intervals, over samples and effects, that hold the target."""
    model = AUCClassifier(0.03, loss=loss, standardize=0.5)
    many = drawn(0, MANY * positives, MANY * ROWS)
    if splines:
        model = make_pipeline(SplineFeatures(), model)
        table = effects(model.fit(*many), *many)
        targets = dict(zip(table.feature, table.effect, strict=True))
    else:
        coef = model.fit(*many).coef_[0]
    covered = 0.0
    for seed in range(1, samples + 1):
        X, y = drawn(seed, positives)
        table = effects(model.fit(X, y), X, y)
        if not splines:  # in units of this sample's standard deviations
            names = map(str, range(1, 6))
            targets = dict(zip(names, coef * np.sqrt(model.spread_), strict=True))
        target = np.array([targets[name] for name in table.feature])
        covered += np.mean((table.low <= target) & (target <= table.high))
    return covered / samples


def main(samples: int = 400, splines: bool = False) -> None:
    show([f"positives of {ROWS:,} rows", *LOSSES],
         ([n, *(f"{coverage(loss, n, samples, splines):.3f}".lstrip("0") for loss in LOSSES)]
          for n in POSITIVES))  # fmt: skip
