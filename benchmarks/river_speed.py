"""aucmax.river compared with river's LogisticRegression: processor time, and AUC.

Each row is predicted and then learnt, as river evaluates models; or learnt only, one by one or a
thousand at a time. Real rows in a random order, as dicts: sparse ones without their zeros, those of
news20 with unit norm. Figures are medians over the rounds.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from river import linear_model, optim, preprocessing
from sklearn.metrics import roc_auc_score

from aucmax.river import AUCClassifier
from benchmarks.common.data import binary
from benchmarks.common.engine import ratio, times
from benchmarks.common.tables import Names, show

ROUNDS = 5
DATA = ("magic04", "a9a", "usps", "news20")
MAX_ROWS = 20_000

MODELS: dict[str, Callable[[], Any]] = {
    "LogisticRegression": linear_model.LogisticRegression,
    "scaler | LogisticRegression": lambda: (
        preprocessing.StandardScaler() | linear_model.LogisticRegression()
    ),
    "scaler | LogisticRegression, SGD(.1)": lambda: (
        preprocessing.StandardScaler() | linear_model.LogisticRegression(optim.SGD(0.1))
    ),
    "AUCClassifier": AUCClassifier,
    "AUCClassifier(refresh=.01)": lambda: AUCClassifier(refresh=0.01),
    "AUCClassifier('spam')": lambda: AUCClassifier(learner="spam", alpha=1e-4),
    "scaler | AUCClassifier('spam')": lambda: (
        preprocessing.StandardScaler() | AUCClassifier(learner="spam", alpha=1e-4)
    ),
}
FIRST = "scaler | LogisticRegression"


def stream(name: str) -> tuple[list[dict[Any, float]], list[bool], pd.DataFrame]:
    """Return rows in a random order as dicts and as a frame, and their labels."""
    X, y = binary(name, "unit-norm" if name == "news20" else None)
    y = y == np.max(y)
    order = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    X, y = X[order], y[order]
    if hasattr(X, "indptr"):
        X = X.tocsr()
        parts = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [
            dict(zip(map(str, X.indices[a:b]), X.data[a:b].tolist(), strict=True)) for a, b in parts
        ]
        X = X.toarray() if X.shape[1] < 1000 else X[:, :1].toarray()
    else:
        rows = [dict(zip(map(str, range(X.shape[1])), row, strict=True)) for row in X.tolist()]
    return rows, y.tolist(), pd.DataFrame(X, columns=[str(j) for j in range(X.shape[1])])


def progressive(model: Any, rows: Iterable[Any], labels: list[bool], frame: Any) -> float:
    """Predict, then learn, each row; return the AUC of the predictions."""
    scores = []
    for x, y in zip(rows, labels, strict=True):
        scores.append(model.predict_proba_one(x).get(True, 0.0))
        model.learn_one(x, y)
    return float(roc_auc_score(labels, scores))


def one_by_one(model: Any, rows: Iterable[Any], labels: list[bool], frame: Any) -> None:
    """Learn each row."""
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)


def a_thousand(model: Any, rows: Iterable[Any], labels: list[bool], frame: Any) -> None:
    """Learn a thousand rows at a time."""
    y = pd.Series(labels)
    for i in range(0, len(y), 1000):
        model.learn_many(frame.iloc[i : i + 1000], y.iloc[i : i + 1000])


def rows_of(name: str) -> Iterator[list[str]]:
    """Yield a row for each model."""
    rows, labels, frame = stream(name)
    wide = len({k for row in rows for k in row}) > 1000
    models = {
        label: make for label, make in MODELS.items()
        if not wide or label in ("LogisticRegression", "AUCClassifier('spam')")
    }  # fmt: skip
    works = [progressive, one_by_one] if wide else [progressive, one_by_one, a_thousand]
    aucs: dict[str, float] = {}

    def run(label: str, work: Callable[..., Any]) -> None:
        result = work(models[label](), rows, labels, frame)
        if work is progressive:
            aucs[label] = result

    took = times({(label, work): partial(run, label, work) for label in models for work in works},
                 ROUNDS)  # fmt: skip
    base = FIRST if FIRST in models else "LogisticRegression"
    entries = sum(map(len, rows)) / len(rows)
    for label in models:
        cells = [
            f"{median(took[label, work]) / len(rows) * 1e6:.1f} µs, "
            f"{ratio(took[label, work], took[base, work]):.2f}"
            for work in works
        ] + ["–"] * wide
        yield [f"{name}, {len(rows)} rows, {entries:.0f} entries", label, *cells,
               f"{aucs[label]:.4f}"]  # fmt: skip


def main(sets: Names = [*DATA]) -> None:
    head = ["data", "model", "predict and learn, ratio", "learn, ratio", "1000 at once, ratio"]
    show([*head, "AUC"], (row for name in sets for row in rows_of(name)))
