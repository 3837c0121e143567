"""Which method reaches a good AUC first as the number of rows, features or non-zeros grows."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.estimators import AUCClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, grouped, mean_lines
from aucmax.experiments.jobs import Row
from aucmax.experiments.sources import Source
from aucmax.experiments.trial import few_of_each, timed_fit
from aucmax.metrics import roc_auc
from aucmax.report.figures import Figure
from aucmax.solvers import SPAM, VRSPAM

CLOSE_AUC = 0.001
# strong penalties first
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
CS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
CLASS_DISTANCE = 1.5  # distance of the class means of dense rows, in deviations: AUC at most .86
# (rows, features, density), one of which grows
GROWING: dict[str, list[tuple[int, int, float]]] = {
    "rows": [(n, 100, 1.0) for n in (2_000, 8_000, 32_000, 64_000)],
    "features": [(8_000, d, 1.0) for d in (20, 80, 320, 1280)],
    "density": [(8_000, 5_000, share) for share in (0.001, 0.004, 0.016, 0.064)],
}


def _models(n: int, d: int, dense: bool) -> dict[str, list[Any]]:
    """Return each method's candidates in the order of trial; its time is that of all of them."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
    from sklearn.svm import LinearSVC

    balanced = {"class_weight": "balanced"}
    models: dict[str, list[Any]] = {}
    if d <= 1500:
        models["exact"] = [AUCClassifier(a, standardize=0.0, solver="exact") for a in ALPHAS]
    models |= {
        "conjugate gradient": [
            AUCClassifier(a, standardize=0.0, solver="conjugate_gradient") for a in ALPHAS
        ],
        "squared hinge": [AUCClassifier(a, standardize=0.0, loss="squared_hinge") for a in ALPHAS],
        "SPAM": [AUCClassifier(a, solver=SPAM(), random_state=0) for a in ALPHAS],
        "VRSPAM": [AUCClassifier(a, solver=VRSPAM(n_stages=10), random_state=0) for a in ALPHAS],
        "logistic": [LogisticRegression(C=c, max_iter=1000, **balanced) for c in CS],
        "ridge": [RidgeClassifier(n * a, **balanced) for a in ALPHAS],
        "SGD": [SGDClassifier(loss="log_loss", alpha=a, random_state=0, **balanced)
                for a in ALPHAS],
        "LinearSVC": [LinearSVC(C=c, **balanced) for c in CS],
    }  # fmt: skip
    if d <= 1500 and dense:
        models["LDA"] = [LinearDiscriminantAnalysis(solver="lsqr", shrinkage=a) for a in ALPHAS]
    return models


def _made(n: int, d: int, density: float, seed: int) -> tuple[Any, np.ndarray]:
    """Generate rows, 10 % positive, with a weak linear signal and features of unequal scale."""
    rng = np.random.RandomState(seed)
    y = rng.rand(n) < 0.1
    if density == 1.0:
        shift = rng.randn(d)
        X, factors = rng.randn(n, d), rng.randn(2, 5, d)
        for part, mixed in zip((y, ~y), factors, strict=True):  # unequal covariances
            X[part] += 0.5 * rng.randn(part.sum(), 5) @ mixed
        X[y] += CLASS_DISTANCE * shift / np.linalg.norm(shift)
        return X * np.geomspace(1.0, 0.1, d), y
    X = sp.random(n, d, density, format="csr", random_state=rng, data_rvs=rng.rand)
    w = rng.randn(d) * (rng.rand(d) < 0.2)
    z = X @ w
    z += 0.5 * z.std() * rng.randn(n)
    return X, z > np.quantile(z, 0.9)


def _pieces(source: Source, effort: Effort) -> list[Piece]:
    return [
        Piece(source, (("axis", axis), ("rows", n), ("features", d), ("density", density),
                       ("run", run_), ("seed", effort.seed)))
        for axis, sizes in GROWING.items()
        for n, d, density in (sizes[:2] if effort.quick else sizes)
        for run_ in range(effort.runs)
    ]  # fmt: skip


def _run(piece: Piece) -> list[Row]:
    n, d = piece["rows"], piece["features"]
    X, y = _made(n + n // 2, d, piece["density"], piece.seed)
    train, test = slice(0, n), slice(n, None)
    warm_up_rows = few_of_each(y[train])
    tried: dict[str, list[tuple[float, float]]] = {}
    for name, models in _models(n, d, piece["density"] == 1.0).items():
        spent, tried[name] = 0.0, []
        models[0].fit(X[warm_up_rows], y[warm_up_rows])  # compile
        for model in models:
            spent += timed_fit(model, X[train], y[train])
            tried[name].append((spent, roc_auc(y[test], model.decision_function(X[test]))))
    best = max(auc for attempts in tried.values() for _, auc in attempts)
    rows = []
    for name, attempts in tried.items():
        near = [spent for spent, auc in attempts if auc >= best - CLOSE_AUC]
        rows.append({
            "axis": piece["axis"], "size": piece[piece["axis"]], "rows": n, "features": d,
            "density": piece["density"], "run": piece["run"], "method": name,
            "seconds": near[0] if near else None, "auc": max(auc for _, auc in attempts),
            "best": best,
        })  # fmt: skip
    return rows


def _panels(axis: str, rows: list[Row]) -> list[Figure]:
    finished = [row for row in rows if row["seconds"] is not None]
    return [Figure(
        f"crossing-{axis}", f"Time to a good AUC against {axis}", axis, "seconds",
        mean_lines(finished, "size", "seconds", "method", spread=False),
        "Seconds until the test AUC is within .001 of the best that any method reaches, trying "
        "five penalties in turn, from strong to weak; mean of the runs that get there. A "
        "method without a point never does.", xlog=True, ylog=True,
    )]  # fmt: skip


def _finding(rows: list[Row]) -> str:
    finished = grouped((row for row in rows if row["seconds"] is not None), "method")
    took = {name: np.median([r["seconds"] for r in of]) for name, of in finished.items()}
    fastest = sorted(took, key=lambda name: took[name])[:3]
    return f"fastest: {', '.join(f'{name} {took[name]:.3g} s' for name in fastest)}"


FIGURE = FigureSpec(
    name="crossing",
    title="Time to within .001 of the best test AUC as rows, features and density grow",
    sources=[Source("made", made=True)],
    pieces=_pieces,
    run=_run,
    panels=_panels,
    finding=_finding,
    panels_by="axis",
    findings_by=("axis", "size"),
    runs=3,
    timed=True,
    fixed=(ALPHAS, CS, CLASS_DISTANCE, "unequal covariances"),
)
