"""One fit beside logistic regression: the squared hinge's, and that of the same loss.

Names of data sets as arguments, all by default. Prints a Markdown table.

By default the squared hinge beside balanced logistic regression: one stratified 80/20 split of
every data set, unit-norm rows. Seconds are medians of three after one fit that is not counted; the
square loss is there for its test AUC. Our α is the best of four on the test rows and so is logistic
regression's C: neither is tuned properly here, see tuned.py for that.

With ``--logistic`` ``loss="logistic"`` beside scikit-learn's solvers on the same objective: rows as
they are, ours scaled inside (``standardize=0.5``), theirs scaled before the clock starts, classes
weighing the same. Processor milliseconds, medians of five alternating fits, as ratios to ours. What
is left is (J − J*)/(J(0) − J*) beside the least that any fit reached.
"""

import statistics
import sys
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from _bench import BINARY, binary, seconds, splits
from sklearn.linear_model import LogisticRegression

from aucmax import AUCClassifier, metrics
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
CS = (0.1, 1.0, 10.0, 100.0)
SAME_ALPHAS = (1e-6, 1e-4, 1e-2)
TOLS = (1e-4, 1e-5, 1e-6)  # of lbfgs, the first one scikit-learn's default
GOAL = 1e-4  # our default tol: what lbfgs is to reach
FEW = 300  # features up to which newton-cholesky takes less than minutes


def best(models: list[Any], X: Any, y: Any, train: Any, test: Any) -> tuple[float, Any]:
    """Return the best test AUC and the model that had it."""
    aucs = []
    for model in models:
        model.fit(X[train], y[train])
        aucs.append(metrics.roc_auc(y[test], model.decision_function(X[test])))
    k = max(range(len(models)), key=aucs.__getitem__)
    return aucs[k], models[k]


def squared_hinge(name: str) -> None:
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


def same_loss(name: str) -> None:
    X, y = binary(name, scale=None)
    sign = np.where(y == y.max(), 1.0, -1.0)
    problem = RowsProblem.of(as_rows(X), sign).scaled(0.5)
    scaled = sp.csr_matrix(X.multiply(problem.factor)) if sp.issparse(X) else X * problem.factor
    halves = {label: 0.5 / np.sum(sign == label) for label in (-1.0, 1.0)}
    for alpha in SAME_ALPHAS:
        models = {"ours": AUCClassifier(alpha, loss="logistic", standardize=0.5, max_iter=10**5)}
        rivals = [("lbfgs", tol) for tol in TOLS]
        rivals += [("newton-cholesky", TOLS[0])] * (X.shape[1] <= FEW)
        for solver, tol in rivals:
            models[f"{solver} {tol:g}"] = LogisticRegression(
                C=1.0 / alpha, class_weight=halves, solver=solver, tol=tol, max_iter=10**5
            )
        took: dict[str, list[float]] = {key: [] for key in models}
        for _ in range(6):
            for key, model in models.items():
                start = time.process_time()
                model.fit(X if key == "ours" else scaled, sign)
                took[key].append(time.process_time() - start)
        ms = {key: 1e3 * statistics.median(each[1:]) for key, each in took.items()}
        J = Objective(problem, LOSSES["logistic"], L2(alpha))
        values = {
            key: J.value(problem.from_features(m.coef_[0]) if key == "ours" else m.coef_[0])
            for key, m in models.items()
        }
        least = min(values.values())
        left = {key: (value - least) / (J.at_zero - least) for key, value in values.items()}

        def shown(key: str, ms: dict = ms, left: dict = left) -> str:
            return f"{ms[key] / ms['ours']:.2f} ({left[key]:.0e})" if key in ms else "–"

        there = next((f"lbfgs {t:g}" for t in TOLS if left[f"lbfgs {t:g}"] <= GOAL), "")
        print(
            f"| {name} | {alpha:.0e} | {ms['ours']:.1f} ({left['ours']:.0e}) "
            f"| {shown('lbfgs 0.0001')} | {shown(there)} | {shown('newton-cholesky 0.0001')} |",
            flush=True,
        )


HEADS = {
    squared_hinge: "| data | squared hinge, ms | logistic, ms | ratio | AUC | logistic | square |",
    same_loss: "| data | α | ours, ms (left) | lbfgs | lbfgs, as near | newton-cholesky |",
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    names = [name for name in sys.argv[1:] if name != "--logistic"]
    run = same_loss if "--logistic" in sys.argv else squared_hinge
    print(HEADS[run])
    print("|---" * (HEADS[run].count("|") - 1) + "|")
    for name in names or BINARY:
        run(name)
