"""Tuned against tuned: AUCClassifierCV beside balanced logistic regression in a grid search.

The same 80/20 splits, five folds inside each. Sparse sets get unit-norm rows, dense ones are as
shipped. Logistic regression is tuned over 11 C: by GridSearchCV, by LogisticRegressionCV, which
goes from one C to the next, and with ``--scaled`` by GridSearchCV on features divided by their
standard deviation. Processor seconds, all threads together. Names of data sets as arguments, all of
`SPLITS` by default; ``--grid`` adds a search of all cells that ours walks among.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from _bench import binary, splits
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifierCV, datasets, metrics
from aucmax.data.rows import as_rows
from aucmax.estimators.selection import alpha_grid
from aucmax.objective.problem import RowsProblem

CS = np.logspace(-2, 3, 11)
SPLITS = {
    "a9a": 3, "magic04": 3, "letter": 3, "connect-4": 3, "mnist": 1, "sector": 3, "news20": 3
}  # fmt: skip
BALANCED = {"class_weight": "balanced", "max_iter": 1000}

Make = Callable[[Any, np.ndarray], Any]  # of the training rows and labels


def all_cells(X: Any, y: np.ndarray) -> AUCClassifierCV:
    """Return a search of every α that the default's grid has, with γ > 0 the same for all γ."""
    return AUCClassifierCV(alpha_grid(RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0)), 0.5))


def scaled(X: Any, y: np.ndarray) -> GridSearchCV:
    """Return a grid search over logistic regression on scaled features."""
    pipe = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(**BALANCED))
    grid = {"logisticregression__C": CS / 100}
    return GridSearchCV(pipe, grid, scoring="roc_auc", cv=5)


CONTESTANTS: dict[str, Make] = {
    "AUCClassifierCV": lambda X, y: AUCClassifierCV(),
    "GridSearchCV": lambda X, y: GridSearchCV(
        LogisticRegression(**BALANCED), {"C": CS}, scoring="roc_auc", cv=5
    ),
    "LogisticRegressionCV": lambda X, y: LogisticRegressionCV(
        Cs=CS, scoring="roc_auc", cv=5, l1_ratios=(0,), use_legacy_attributes=False, **BALANCED
    ),
}
MORE: dict[str, tuple[str, Make]] = {
    "--grid": ("AUCClassifierCV, all cells", all_cells),
    "--scaled": ("GridSearchCV, scaled", scaled),
}


def run(name: str, contestants: dict[str, Make]) -> None:
    """Print a row of the table."""
    X, y = binary(name, "unit-norm" if datasets.about(name).sparse else None)
    aucs: dict[str, list[float]] = {who: [] for who in contestants}
    took: dict[str, list[float]] = {who: [] for who in contestants}
    for train, test in splits(X, y, SPLITS[name]):
        for who, make in contestants.items():
            model = make(X[train], y[train])
            start = time.process_time()
            model.fit(X[train], y[train])
            took[who].append(time.process_time() - start)
            aucs[who].append(metrics.roc_auc(y[test], model.decision_function(X[test])))
    cells = [f"{np.median(took[who]):.2f} s | {np.mean(aucs[who]):.4f}" for who in contestants]
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = CONTESTANTS | dict(more for flag, more in MORE.items() if flag in sys.argv)
    print("| data | " + " | ".join(f"{who} | AUC" for who in asked) + " |")
    print("|---" * (2 * len(asked) + 1) + "|")
    X, y = binary("diabetes")
    for make in asked.values():  # what is compiled is not counted
        make(X, y).fit(X, y)
    for name in [a for a in sys.argv[1:] if not a.startswith("--")] or SPLITS:
        run(name, asked)
