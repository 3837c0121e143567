"""A path of α: the time beside that of its hardest single solve, and the AUC at the best α.

news20 and sector, even against odd classes, unit-norm rows, five 80/20 splits. For each
`standardize`: mean test AUC at the best of 13 α, and the seconds of the whole path beside those of
its hardest single solve; balanced logistic regression on the same splits.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from aucmax import metrics
from aucmax.data.rows import as_rows
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import ConjugateGradient
from benchmarks.common.data import binary, splits
from benchmarks.common.engine import measured, seconds

ALPHAS = np.logspace(-6, -1, 13)
CS = (1.0, 3.0, 10.0, 30.0, 100.0)


def aucs(X: Any, y: np.ndarray, W: np.ndarray) -> list[float]:
    """Return the AUC of each row of weights."""
    return [metrics.roc_auc(y, z) for z in np.asarray(X @ W.T).T]


def logistic(X: Any, y: np.ndarray) -> np.ndarray:
    """Return the weights of balanced logistic regression for each C."""
    models = [LogisticRegression(C=C, class_weight="balanced", max_iter=1000) for C in CS]
    return np.array([model.fit(X, y).coef_[0] for model in models])


def main() -> None:
    solver = ConjugateGradient(tol=1e-4)
    for name in ("news20", "sector"):
        X, y = binary(name)
        ours: dict[float, list[list[float]]] = {0.0: [], 0.5: [], 1.0: []}
        theirs = []
        for k, (train, test) in enumerate(splits(X, y)):
            whole = RowsProblem.of(as_rows(X[train]), y[train].astype(float))
            for gamma, table in ours.items():
                problem = whole.scaled(gamma)
                W, _ = solver.solve_path(problem, ALPHAS)
                W = np.array([problem.to_features(w) for w in W])
                table.append(aucs(X[test], y[test], W))
                if k == 0:
                    path, *single = (
                        seconds(lambda p=problem, a=some: solver.solve_path(p, a), 3)
                        for some in (ALPHAS, ALPHAS[:1], ALPHAS[1:2], ALPHAS[2:3])
                    )
                    print(
                        f"{name} standardize={gamma}: path {path:.3f} s, hardest single "
                        f"{max(single):.3f} s, ratio {path / max(single):.2f}"
                    )
            W, spent = measured(partial(logistic, X[train], y[train]))
            theirs.append(aucs(X[test], y[test], W))
            if k == 0:
                print(f"{name} logistic regression, {len(CS)} fits: {spent['seconds']:.3f} s")
        for gamma, table in ours.items():
            mean = np.mean(table, axis=0)
            best = int(mean.argmax())
            print(f"{name} standardize={gamma}: AUC {mean[best]:.4f} at alpha {ALPHAS[best]:.1e}")
        mean = np.mean(theirs, axis=0)
        print(
            f"{name} balanced logistic regression: AUC {mean.max():.4f} at C={CS[mean.argmax()]:g}"
        )
