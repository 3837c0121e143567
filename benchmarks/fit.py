"""One fit compared with logistic regression: the squared hinge's, or that of the same loss.

By default the squared hinge and balanced logistic regression: one stratified 80/20 split of every
data set, unit-norm rows. Milliseconds are medians of three; the square loss is listed for its test
AUC. Our α is the best of four on the test rows and so is logistic regression's C: neither is tuned
properly here, see `python -m benchmarks tuned` for that.

With ``--logistic`` our ``loss="logistic"`` and scikit-learn's solvers on the same objective: rows
as they are, ours scaled inside (``standardize=0.5``), theirs scaled before the clock starts, both
classes with the same weight. Processor milliseconds, medians of five turns, and of scikit-learn's
the ratio to ours. In brackets (J − J*)/(J(0) − J*), where J* is the least objective that any fit
reached.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.linear_model import LogisticRegression

from aucmax import AUCClassifier, metrics
from aucmax.data.rows import as_rows
from aucmax.objective import Objective
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2
from aucmax.objective.problem import RowsProblem
from benchmarks.common.data import BINARY, binary, splits
from benchmarks.common.engine import seconds, times
from benchmarks.common.tables import Names, show

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3)
CS = (0.1, 1.0, 10.0, 100.0)
SAME_ALPHAS = (1e-6, 1e-4, 1e-2)
TOLS = (1e-4, 1e-5, 1e-6)  # of lbfgs, the first one scikit-learn's default
GOAL = 1e-4  # our default tol: what lbfgs is to reach
MAX_FEATURES = 300  # for newton-cholesky, which would take minutes


def best(models: list[Any], X: Any, y: Any, train: Any, test: Any) -> tuple[float, Any]:
    """Return the best test AUC and the model that had it."""
    aucs = []
    for model in models:
        model.fit(X[train], y[train])
        aucs.append(metrics.roc_auc(y[test], model.decision_function(X[test])))
    k = int(np.argmax(aucs))
    return aucs[k], models[k]


def squared_hinge(name: str) -> Iterator[list[str]]:
    """Yield the row of a data set."""
    X, y = binary(name)
    ((train, test),) = splits(X, y, 1)
    ours = partial(AUCClassifier, standardize=0.0)
    logistic = partial(LogisticRegression, class_weight="balanced", max_iter=1000)
    kinds = (
        [ours(a, loss="squared_hinge") for a in ALPHAS],
        [logistic(C=C) for C in CS],
        [ours(a) for a in ALPHAS],
    )
    aucs, models = zip(*(best(kind, X, y, train, test) for kind in kinds), strict=True)
    X, y = X[train], y[train]
    took, base = (1e3 * seconds(lambda m=model: m.fit(X, y), 3) for model in models[:2])
    figures = [f"{took:.0f}", f"{base:.0f}", f"{took / base:.2f}"]
    yield [name, *figures, *(f"{auc:.4f}" for auc in aucs)]


def same_loss(name: str) -> Iterator[list[str]]:
    """Yield the rows of a data set, one for each α."""
    X, y = binary(name, scale=None)
    sign = np.where(y == y.max(), 1.0, -1.0)
    problem = RowsProblem.of(as_rows(X), sign).scaled(0.5)
    scaled = sp.csr_matrix(X.multiply(problem.factor)) if sp.issparse(X) else X * problem.factor
    halves = {label: 0.5 / np.sum(sign == label) for label in (-1.0, 1.0)}
    rivals = [("lbfgs", tol) for tol in TOLS]
    if X.shape[1] <= MAX_FEATURES:
        rivals.append(("newton-cholesky", TOLS[0]))
    for alpha in SAME_ALPHAS:
        models = {"ours": AUCClassifier(alpha, loss="logistic", standardize=0.5, max_iter=10**5)}
        for solver, tol in rivals:
            models[f"{solver} {tol:g}"] = LogisticRegression(
                C=1.0 / alpha, class_weight=halves, solver=solver, tol=tol, max_iter=10**5
            )
        took = times({
            key: partial(model.fit, X if key == "ours" else scaled, sign)
            for key, model in models.items()
        })  # fmt: skip
        ms = {key: 1e3 * median(each) for key, each in took.items()}
        J = Objective(problem, LOSSES["logistic"], L2(alpha))
        values = {
            key: J.value(problem.from_features(m.coef_[0]) if key == "ours" else m.coef_[0])
            for key, m in models.items()
        }
        least = min(values.values())
        left = {key: (value - least) / (J.at_zero - least) for key, value in values.items()}
        near = next((f"lbfgs {t:g}" for t in TOLS if left[f"lbfgs {t:g}"] <= GOAL), "")
        cells = (
            f"{ms[key] / ms['ours']:.2f} ({left[key]:.0e})" if key in ms else "–"
            for key in ("lbfgs 0.0001", near, "newton-cholesky 0.0001")
        )
        yield [name, f"{alpha:.0e}", f"{ms['ours']:.1f} ({left['ours']:.0e})", *cells]


def main(
    sets: Names = [*BINARY],
    logistic: Annotated[bool, typer.Option("--logistic", help="The same loss.")] = False,
) -> None:
    warnings.simplefilter("ignore")
    head = ["data", "squared hinge, ms", "logistic, ms", "ratio", "AUC", "logistic", "square"]
    if logistic:
        head = ["data", "α", "ours, ms (left)", "lbfgs", "lbfgs, as near", "newton-cholesky"]
    rows = same_loss if logistic else squared_hinge
    show(head, (row for name in sets for row in rows(name)))
