"""Which defaults lose least: five-fold AUC of every loss, `standardize` and α, without tuning.

Regret is what a setting loses to the best one on the same set. The classes of each set are grouped
as in the other benchmarks; sets with several classes are used again with one class against the
rest. Sparse sets get unit-norm rows, dense ones are as shipped; at most 20,000 rows of each. The
table has the mean and the largest regret of each setting, the least mean first, and of balanced
logistic regression with its default settings.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score

from aucmax import AUCClassifierCV, datasets
from benchmarks.common.data import BINARY
from benchmarks.common.tables import Names, show

LOSSES, GAMMAS = ("square", "squared_hinge", "logistic"), (0.0, 0.5, 1.0)
ALPHAS = np.logspace(-5, -1, 9)
RARE = {"usps": 1, "letter": 1, "mnist": 0, "connect-4": 0, "sector": 1, "news20": 1}
ROWS = 20_000


def tasks(names: list[str]) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield (name, X, y)."""
    for name in names:
        split, how = BINARY[name]
        for label in (how, RARE.get(name)):
            if label is None and name in RARE:
                continue
            scale = "unit-norm" if datasets.about(name).sparse else None
            data = datasets.load(name, split=split, binarize=label, scale=scale)
            X, y = data.data, data.target
            if len(y) > ROWS:
                kept = np.sort(np.random.RandomState(0).permutation(len(y))[:ROWS])
                X, y = X[kept], y[kept]
            yield name if label == how else f"{name}, {label} against the rest", X, y
            if name not in RARE:
                break


def main(sets: Names = [*BINARY]) -> None:
    warnings.simplefilter("ignore")
    regrets = []
    for name, X, y in tasks(sets):
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        search = AUCClassifierCV(ALPHAS, losses=LOSSES, standardize=GAMMAS, cv=folds).fit(X, y)
        aucs = search.auc_path_.mean(axis=0).ravel()
        logistic = LogisticRegression(class_weight="balanced", max_iter=1000)
        other = cross_val_score(logistic, X, y, cv=folds, scoring="roc_auc").mean()
        regrets.append(np.append(aucs, other).max() - np.append(aucs, other))
        print(f"{name}: best {aucs.max():.4f}, logistic regression {other:.4f}", flush=True)
    table = np.array(regrets)
    cells = [f"{a} γ={g:g} α={c:.0e}" for a in LOSSES for g in GAMMAS for c in ALPHAS]
    cells.append("balanced logistic regression")
    show([f"{len(table)} tasks", "mean regret", "largest"],
         ([cells[k], f"{table[:, k].mean():.4f}", f"{table[:, k].max():.4f}"]
          for k in np.argsort(table.mean(axis=0))))  # fmt: skip
