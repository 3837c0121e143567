"""How often the intervals of `aucmax.effects` cover, with few positives and with many.

    python benchmarks/effects_coverage.py
    python benchmarks/effects_coverage.py --splines  # of columns with several features each

Rows of five features, one of them skewed; what the same settings give on many rows with the same
share of positives is the target. Prints a Markdown table.
"""

import argparse

import numpy as np
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifier, effects
from aucmax.additive import SplineFeatures

LOSSES = ("square", "squared_hinge", "logistic")
POSITIVES = (10, 20, 30, 50, 100, 300)
ROWS, MANY = 3000, 100  # rows of a sample; how many times as many give the target


def drawn(seed, positives, rows=ROWS):
    """Return rows X (n, 5) and labels y (n,)."""
    rng = np.random.default_rng(seed)
    y = (np.arange(rows) < positives).astype(int)
    X = rng.normal(size=(rows, 5)) + np.outer(y, [1.0, 0.5, 0.3, 0.0, 0.0])
    X[:, 1] = np.exp(0.7 * X[:, 1])
    return X, y


def coverage(loss, positives, samples):
    """Return the share of the intervals, over samples and features, that hold the target."""
    model = AUCClassifier(0.03, loss=loss, standardize=0.5)
    target = model.fit(*drawn(0, MANY * positives, MANY * ROWS)).coef_[0]
    held = 0.0
    for seed in range(1, samples + 1):
        X, y = drawn(seed, positives)
        found = effects(model.fit(X, y), X, y)
        true = (target * np.sqrt(model.spread_))[found.feature.astype(int) - 1]
        held += np.mean((found.low <= true) & (true <= found.high))
    return held / samples


def coverage_of_splines(loss, positives, samples):
    """Return the same for columns with splines, the target the effects in many rows."""
    model = make_pipeline(SplineFeatures(), AUCClassifier(0.03, loss=loss, standardize=0.5))
    many = drawn(0, MANY * positives, MANY * ROWS)
    found = effects(model.fit(*many), *many)
    true = dict(zip(found.feature, found.effect, strict=True))
    held = 0.0
    for seed in range(1, samples + 1):
        X, y = drawn(seed, positives)
        found = effects(model.fit(X, y), X, y)
        held += np.mean(
            [
                low <= true[name] <= high
                for name, low, high in zip(found.feature, found.low, found.high, strict=True)
            ]
        )
    return held / samples


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--splines", action="store_true")
    given = parser.parse_args()
    share = coverage_of_splines if given.splines else coverage
    print(f"| positives of {ROWS:,} rows | {' | '.join(LOSSES)} |")
    print("|---" * (1 + len(LOSSES)) + "|")
    for positives in POSITIVES:
        shares = [f"{share(loss, positives, given.samples):.3f}"[1:] for loss in LOSSES]
        print(f"| {positives} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
