"""news20 and sector, even against odd, unit-norm rows, five 80/20 splits.

For each `standardize`: mean test AUC at the best of 13 α, and the seconds of the whole path beside
those of its hardest single solve; balanced logistic regression on the same splits. Needs
AUCMAX_DATA or fetched data.
"""

import time

import numpy as np
from _bench import binary, seconds, splits
from sklearn.linear_model import LogisticRegression

from aucmax import metrics
from aucmax.data.rows import as_rows
from aucmax.objective.problem import RowsProblem
from aucmax.solvers import ConjugateGradient

ALPHAS = np.logspace(-6, -1, 13)
CS = (1.0, 3.0, 10.0, 30.0, 100.0)


def aucs(X, y, W):
    return [metrics.roc_auc(y, z) for z in np.asarray(X @ W.T).T]


if __name__ == "__main__":
    solver = ConjugateGradient(tol=1e-4)
    for name in ("news20", "sector"):
        X, y = binary(name)
        ours: dict[float, list] = {0.0: [], 0.5: [], 1.0: []}
        theirs = []
        for k, (train, test) in enumerate(splits(X, y)):
            whole = RowsProblem.of(as_rows(X[train]), y[train].astype(float))
            for gamma, table in ours.items():
                problem = whole.scaled(gamma)
                W, _ = solver.solve_path(problem, ALPHAS)
                W = np.array([problem.to_features(w) for w in W])
                table.append(aucs(X[test], y[test], W))
                if k == 0:
                    path = seconds(lambda p=problem: solver.solve_path(p, ALPHAS), 3)
                    single = max(
                        seconds(lambda p=problem, a=a: solver.solve_path(p, [a]), 3)
                        for a in ALPHAS[:3]
                    )
                    print(
                        f"{name} standardize={gamma}: path {path:.3f} s, hardest single "
                        f"{single:.3f} s, ratio {path / single:.2f}"
                    )
            start = time.perf_counter()
            theirs.append(
                [
                    metrics.roc_auc(
                        y[test],
                        LogisticRegression(C=C, class_weight="balanced", max_iter=1000)
                        .fit(X[train], y[train])
                        .decision_function(X[test]),
                    )
                    for C in CS
                ]
            )
            if k == 0:
                took = time.perf_counter() - start
                print(f"{name} logistic regression, {len(CS)} fits: {took:.3f} s")
        for gamma, table in ours.items():
            mean = np.mean(table, axis=0)
            best = int(mean.argmax())
            print(f"{name} standardize={gamma}: AUC {mean[best]:.4f} at alpha {ALPHAS[best]:.1e}")
        mean = np.mean(theirs, axis=0)
        print(
            f"{name} balanced logistic regression: AUC {mean.max():.4f} at C={CS[mean.argmax()]:g}"
        )
