"""One fit: the squared hinge by Newton's method beside balanced logistic regression.

One stratified 80/20 split of every data set, unit-norm rows. Seconds are medians of three after
one fit that is not counted; the square loss is there for its test AUC. Our α is the best of four
on the test rows and so is logistic regression's C: neither is tuned properly here, see tuned.py
for that. Names of data sets as arguments, all by default. Prints a Markdown table.
"""

import sys
import warnings
from typing import Any

from _bench import BINARY, binary, seconds, splits
from sklearn.linear_model import LogisticRegression

from aucmax import AUCClassifier, metrics

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
CS = (0.1, 1.0, 10.0, 100.0)


def best(models: list[Any], X: Any, y: Any, train: Any, test: Any) -> tuple[float, Any]:
    """Return the best test AUC and the model that had it."""
    aucs = []
    for model in models:
        model.fit(X[train], y[train])
        aucs.append(metrics.roc_auc(y[test], model.decision_function(X[test])))
    k = max(range(len(models)), key=aucs.__getitem__)
    return aucs[k], models[k]


def run(name: str) -> None:
    X, y = binary(name)
    ((train, test),) = splits(X, y, 1)
    rows = (X, y, train, test)
    square, _ = best([AUCClassifier(a, standardize=0.0) for a in ALPHAS], *rows)
    ours, hinge = best(
        [AUCClassifier(a, loss="squared_hinge", standardize=0.0) for a in ALPHAS], *rows
    )
    kinds = [LogisticRegression(C=C, class_weight="balanced", max_iter=1000) for C in CS]
    theirs, logistic = best(kinds, *rows)
    X, y = X[train], y[train]
    took = seconds(lambda: hinge.fit(X, y), 3)
    base = seconds(lambda: logistic.fit(X, y), 3)
    print(
        f"| {name} | {took * 1e3:.0f} | {base * 1e3:.0f} | {took / base:.2f} "
        f"| {ours:.4f} | {theirs:.4f} | {square:.4f} |",
        flush=True,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("| data | squared hinge, ms | logistic, ms | ratio | AUC | logistic | square |")
    print("|---" * 7 + "|")
    for name in sys.argv[1:] or BINARY:
        run(name)
