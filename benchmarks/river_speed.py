"""aucmax.river beside river's LogisticRegression: processor time, and AUC of what was predicted.

Each row is predicted, then learnt, as river evaluates; and learnt alone, one by one or a thousand
at a time. Real rows in a random order, as dicts: sparse ones without their zeros, those of news20
with unit norm. Runs alternate; figures are medians over the rounds.
"""

import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from river import linear_model, optim, preprocessing
from sklearn.metrics import roc_auc_score

from aucmax import datasets
from aucmax.river import AUCClassifier

ROUNDS = 5
DATA = {"magic04": "all", "a9a": "train", "usps": "all", "news20": "train"}
MOST = 20_000  # rows

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
    how = {"usps": "even-odd", "news20": "even-odd"}.get(name)
    norm = "unit-norm" if name == "news20" else None
    data = datasets.load(name, split=DATA[name], binarize=how, scale=norm)
    X, y = data.data, data.target == np.max(data.target)
    order = np.random.default_rng(0).permutation(len(y))[:MOST]
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
    given = []
    for x, y in zip(rows, labels, strict=True):
        given.append(model.predict_proba_one(x).get(True, 0.0))
        model.learn_one(x, y)
    return float(roc_auc_score(labels, given))


def one_by_one(model: Any, rows: Iterable[Any], labels: list[bool], frame: Any) -> None:
    """Learn each row."""
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)


def a_thousand(model: Any, rows: Iterable[Any], labels: list[bool], frame: Any) -> None:
    """Learn a thousand rows at a time."""
    y = pd.Series(labels)
    for i in range(0, len(y), 1000):
        model.learn_many(frame.iloc[i : i + 1000], y.iloc[i : i + 1000])


if __name__ == "__main__":
    for name in DATA:
        rows, labels, frame = stream(name)
        wide = len({k for row in rows for k in row}) > 1000
        print(f"\n{name}: {len(rows)} rows, {sum(map(len, rows)) / len(rows):.0f} entries a row")
        print(
            f"  {'':38} predict, learn   ratio     AUC   learn alone   ratio   1000 at once  ratio"
        )
        models = {
            label: make
            for label, make in MODELS.items()
            if not (wide and (label.startswith("AUCClassifier") and "spam" not in label))
            and not (wide and label.startswith("scaler"))
        }
        works = [progressive, one_by_one] + [] * wide + [a_thousand] * (not wide)
        took: dict[tuple[str, str], list[float]] = {}
        aucs: dict[str, Any] = {}
        for r in range(ROUNDS + 1):
            for label, make in models.items():
                for work in works:
                    model = make()
                    start = time.process_time()
                    found = work(model, rows, labels, frame)
                    spent = time.process_time() - start
                    if work is progressive:
                        aucs[label] = found
                    if r:  # the first round compiles
                        took.setdefault((label, work.__name__), []).append(spent)
        base = FIRST if FIRST in models else "LogisticRegression"
        for label in models:
            cells = []
            for work in works:
                mine, other = took[label, work.__name__], took[base, work.__name__]
                ratio = statistics.median(a / b for a, b in zip(mine, other, strict=True))
                cells.append((statistics.median(mine) / len(rows) * 1e6, ratio))
            text = f"{cells[0][0]:8.1f} µs {cells[0][1]:10.2f}  {aucs[label]:.4f}"
            text += "".join(f"  {t:8.1f} µs {ratio:7.2f}" for t, ratio in cells[1:])
            print(f"  {label:38} {text}")
