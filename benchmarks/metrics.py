"""AUC, its interval and the paired test on a million scores; scikit-learn's AUC beside them.

Then, of a sketch of the scores, the bound of its error and its error.
"""

import numpy as np
from _bench import seconds
from sklearn.metrics import roc_auc_score

from aucmax import ScoreSketch, metrics

if __name__ == "__main__":
    rng = np.random.RandomState(0)
    y = (rng.rand(1_000_000) < 0.05).astype(int)
    a, b = rng.randn(len(y)) + y, rng.randn(len(y)) + y
    reference = seconds(lambda: roc_auc_score(y, a), 3)
    for name, work in {
        "scikit-learn roc_auc_score": lambda: roc_auc_score(y, a),
        "roc_auc": lambda: metrics.roc_auc(y, a),
        "auc_interval": lambda: metrics.auc_interval(y, a),
        "auc_test": lambda: metrics.auc_test(y, a, b),
        "average_precision": lambda: metrics.average_precision(y, a),
        "ScoreSketch": lambda: ScoreSketch().update(y, a).auc(),
    }.items():
        t = seconds(work, 3)
        print(f"{name:28} {t:6.3f} s  {t / reference:5.2f} of scikit-learn's AUC")
    print("scores of a million rows                      bins    bound    error")
    for name, score in {
        "normal": a,
        "normal, far from 0 (a million + x)": 1e6 + a,
        "probabilities of rare events": 1.0 / (1.0 + np.exp(7.0 - 2.0 * a)),
        "heavy tails (x to the 15th power)": a**15,
        "two digits": a.round(2),
    }.items():
        exact = metrics.roc_auc(y, score)
        for bins in (2**12, 2**16):
            found = ScoreSketch(bins=bins).update(y, score).auc()
            print(f"{name:40} {bins:9,}  {found.error:.1e}  {abs(found.auc - exact):.1e}")
