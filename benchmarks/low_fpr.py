"""Gain of `scoring="partial_auc"` and `within` when you can afford only a few false alarms.

A split trains on 50 or 300 positives and at most 3,000 others, and tests on the rest. Settings are
chosen by five folds of the training rows: by the AUC; by the partial AUC, without and with several
`within`; and logistic regression on standardised features, with balanced class weights and without,
its C by the partial AUC. The table has the partial AUC and the recall, both for false-positive
rates up to .05, means over ten splits; ± is the standard error of the recall's difference from the
first column.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifierCV
from aucmax.metrics import partial_auc, recall_at_fpr
from benchmarks.common.data import binary
from benchmarks.common.tables import Names, show

SETS = ("diabetes", "german", "splice", "letter", "magic04", "a9a", "connect-4")
MAX_FPR, SPLITS = 0.05, 10
REGION = {"scoring": "partial_auc", "max_fpr": MAX_FPR}


def logistic(weights: str | None, folds: Any) -> GridSearchCV:
    """Return logistic regression, tuned by the partial AUC."""
    scaler = StandardScaler(with_mean=False)  # of sparse rows, too
    model = make_pipeline(scaler, LogisticRegression(class_weight=weights, max_iter=300))
    grid = {"logisticregression__C": np.logspace(-4, 3, 8)}
    by = make_scorer(roc_auc_score, response_method="decision_function", max_fpr=MAX_FPR)
    return GridSearchCV(model, grid, scoring=by, cv=folds)


WAYS = {
    "by AUC": lambda folds: AUCClassifierCV(cv=folds),
    "by partial AUC": lambda folds: AUCClassifierCV(within=(0.5,), cv=folds, **REGION),
    "and within": lambda folds: AUCClassifierCV(cv=folds, **REGION),
    "square loss, and within": lambda folds: AUCClassifierCV(
        losses=("square",), cv=folds, **REGION
    ),
    "balanced logistic by partial AUC": partial(logistic, "balanced"),
    "logistic by partial AUC": partial(logistic, None),
}


def split(y: np.ndarray, positives: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and to test on."""
    rng = np.random.RandomState(seed)
    pos, neg = (rng.permutation(np.flatnonzero(y == label)) for label in (1, -1))
    k, m = min(positives, len(pos) // 2), min(3000, len(neg) // 2)
    return np.r_[pos[:k], neg[:m]], np.r_[pos[k:], neg[m:]]


def rows(name: str) -> Iterator[list[str]]:
    """Yield the rows of the table for a data set."""
    X, y = binary(name, None)
    for positives in (50, 300):
        values = np.empty((len(WAYS), 2, SPLITS))
        for seed in range(SPLITS):
            train, test = split(y, positives, seed)
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            for k, make in enumerate(WAYS.values()):
                score = make(folds).fit(X[train], y[train]).decision_function(X[test])
                values[k, :, seed] = [
                    metric(y[test], score, MAX_FPR) for metric in (partial_auc, recall_at_fpr)
                ]
        error = (values - values[0]).std(axis=2, ddof=1)[:, 1] / np.sqrt(SPLITS)
        first, *others = (f"{area:.3f}, {recall:.3f}" for area, recall in values.mean(axis=2))
        cells = [f"{cell} ± {off:.3f}" for cell, off in zip(others, error[1:], strict=True)]
        yield [name, str(positives), first, *cells]


def main(sets: Names = [*SETS]) -> None:
    warnings.simplefilter("ignore")
    show(["data", "positives", *WAYS], (row for name in sets for row in rows(name)))
