"""AUC, its interval and the paired test on a million scores, compared with scikit-learn's AUC.

Then the error of score sketches, and their bound for it.
"""

import time
from statistics import median

import numpy as np
from sklearn.metrics import roc_auc_score

from aucmax import ScoreSketch, metrics
from benchmarks.common.engine import ratio, times
from benchmarks.common.tables import show


def main() -> None:
    rng = np.random.RandomState(0)
    y = (rng.rand(1_000_000) < 0.05).astype(int)
    a, b = rng.randn(len(y)) + y, rng.randn(len(y)) + y
    works = {
        "scikit-learn roc_auc_score": lambda: roc_auc_score(y, a),
        "roc_auc": lambda: metrics.roc_auc(y, a),
        "auc_interval": lambda: metrics.auc_interval(y, a),
        "auc_test": lambda: metrics.auc_test(y, a, b),
        "average_precision": lambda: metrics.average_precision(y, a),
        "ScoreSketch": lambda: ScoreSketch().update(y, a).auc(),
    }
    took = times(works, 3, time.perf_counter)
    base = took["scikit-learn roc_auc_score"]
    show(["of a million scores", "s", "of scikit-learn's AUC"],
         ([name, f"{median(each):.3f}", f"{ratio(each, base):.2f}"]
          for name, each in took.items()))  # fmt: skip
    scores = {
        "normal": a,
        "normal, far from 0 (a million + x)": 1e6 + a,
        "probabilities of rare events": 1.0 / (1.0 + np.exp(7.0 - 2.0 * a)),
        "heavy tails (x to the 15th power)": a**15,
        "two digits": a.round(2),
    }

    def row(name: str, bins: int) -> list[str]:
        sketch = ScoreSketch(bins=bins).update(y, scores[name]).auc()
        error = abs(sketch.auc - metrics.roc_auc(y, scores[name]))
        return [name, f"{bins:,}", f"{sketch.error:.1e}", f"{error:.1e}"]

    show(["scores of a million rows", "bins", "bound", "error"],
         (row(name, bins) for name in scores for bins in (2**12, 2**16)))  # fmt: skip
