"""Tuned against tuned: AUCClassifierCV beside balanced logistic regression in a grid search.

The same 80/20 splits, five folds inside each. Sparse sets get unit-norm rows, dense ones are as
shipped. Logistic regression is tuned over 11 C, once on the features as they are and once
divided by their standard deviation; the better of the two test AUCs counts. Names of data sets
as arguments, all by default; ``--square`` adds the issue of speed: 11 α × 11 l1_ratio of the
square loss on the same folds.
"""

import sys
import time
import warnings

import numpy as np
from _bench import BINARY, binary, splits
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifierCV, datasets, metrics

CS = np.logspace(-2, 3, 11)
SPLITS = {"a9a": 3, "mnist": 1, "connect-4": 1, "sector": 3, "news20": 3}


def logistic(scaled: bool) -> GridSearchCV:
    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    if not scaled:
        return GridSearchCV(model, {"C": CS}, scoring="roc_auc", cv=5)
    pipe = make_pipeline(StandardScaler(with_mean=False), model)
    grid = {"logisticregression__C": CS / 100}
    return GridSearchCV(pipe, grid, scoring="roc_auc", cv=5)


def run(name: str, square: bool) -> None:
    sparse = datasets.about(name).sparse
    X, y = binary(name, "unit-norm" if sparse else None)
    assert issparse(X) == sparse
    contestants = {
        "ours": AUCClassifierCV,
        "logistic": lambda: logistic(False),
        "logistic, scaled": lambda: logistic(True),
    }
    if square:
        contestants["square, 11 x 11"] = lambda: AUCClassifierCV(
            np.logspace(-6, -1, 11), np.linspace(0, 1, 11), ("square",), (0.0,)
        )
    aucs: dict[str, list[float]] = {who: [] for who in contestants}
    took: dict[str, list[float]] = {who: [] for who in contestants}
    chosen = []
    for train, test in splits(X, y, SPLITS.get(name, 10)):
        for who, make in contestants.items():
            model, start = make(), time.perf_counter()
            model.fit(X[train], y[train])
            took[who].append(time.perf_counter() - start)
            aucs[who].append(metrics.roc_auc(y[test], model.decision_function(X[test])))
            if who == "ours":
                chosen.append(f"{model.loss_}/{model.standardize_:g}")
    best = max(np.mean(aucs["logistic"]), np.mean(aucs["logistic, scaled"]))
    gap = np.mean(aucs["ours"]) - best
    print(f"{name} ({len(chosen)} splits): ours minus the better logistic regression {gap:+.4f}")
    print(f"    chosen {', '.join(sorted(set(chosen)))}")
    for who in contestants:
        mean, median = np.mean(aucs[who]), np.median(took[who])
        print(f"    {who:18} AUC {mean:.4f}   {median:8.2f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    for name in names or BINARY:
        run(name, "--square" in sys.argv)
