"""AUC, its interval and the paired test on a million scores; scikit-learn's AUC beside them."""

import numpy as np
from _bench import seconds
from sklearn.metrics import roc_auc_score

from aucmax import metrics

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
    }.items():
        t = seconds(work, 3)
        print(f"{name:28} {t:6.3f} s  {t / reference:5.2f} of scikit-learn's AUC")
