"""Where one method overtakes another: time to a good AUC as n, d and density grow."""

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.estimators import AUCClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, Row, mean_lines
from aucmax.experiments.protocol import Source
from aucmax.metrics import roc_auc
from aucmax.report.figures import Figure
from aucmax.solvers import SPAM, VRSPAM

WITHIN = 0.001
# from strong to weak
ALPHAS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
CS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
APART = 1.5  # of the class means of dense rows, in deviations: an AUC of .86 at best
# (rows, features, density): one of them grows at a time
GROWING: dict[str, list[tuple[int, int, float]]] = {
    "rows": [(n, 100, 1.0) for n in (2_000, 8_000, 32_000, 64_000)],
    "features": [(8_000, d, 1.0) for d in (20, 80, 320, 1280)],
    "density": [(8_000, 5_000, share) for share in (0.001, 0.004, 0.016, 0.064)],
}


def _models(n: int, d: int, dense: bool) -> dict[str, list[Any]]:
    """Return each method's candidates, tried from the first: the time of all is counted."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
    from sklearn.svm import LinearSVC

    balanced = {"class_weight": "balanced"}
    out: dict[str, list[Any]] = {
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
    if d <= 1500:
        out = {"exact": [AUCClassifier(a, standardize=0.0, solver="exact") for a in ALPHAS], **out}
    if d <= 1500 and dense:
        out["LDA"] = [LinearDiscriminantAnalysis(solver="lsqr", shrinkage=a) for a in ALPHAS]
    return out


def made(n: int, d: int, density: float, seed: int) -> tuple[Any, np.ndarray]:
    """Return rows with a weak linear signal, correlated features of unequal size, 10 % positive."""
    rng = np.random.RandomState(seed)
    y = rng.rand(n) < 0.1
    if density == 1.0:
        shift = rng.randn(d)
        X, factors = rng.randn(n, d), rng.randn(2, 5, d)
        for part, mixed in zip((y, ~y), factors, strict=True):  # unequal covariances
            X[part] += 0.5 * rng.randn(part.sum(), 5) @ mixed
        X[y] += APART * shift / np.linalg.norm(shift)
        return X * np.geomspace(1.0, 0.1, d), y
    X = sp.random(n, d, density, format="csr", random_state=rng, data_rvs=rng.rand)
    w = rng.randn(d) * (rng.rand(d) < 0.2)
    z = X @ w
    z += 0.5 * z.std() * rng.randn(n)
    return X, z > np.quantile(z, 0.9)


def pieces(source: Source, effort: Effort) -> list[Piece]:
    return [
        Piece(source, (("axis", axis), ("rows", n), ("features", d), ("density", density),
                       ("run", run_), ("seed", effort.seed)))
        for axis, sizes in GROWING.items()
        for n, d, density in (sizes[:2] if effort.quick else sizes)
        for run_ in range(effort.runs)
    ]  # fmt: skip


def run(piece: Piece) -> list[Row]:
    n, d = piece["rows"], piece["features"]
    X, y = made(n + n // 2, d, piece["density"], piece["seed"] + piece["run"])
    train, test = slice(0, n), slice(n, None)
    some = np.concatenate([np.flatnonzero(y[train])[:40], np.flatnonzero(~y[train])[:40]])
    tried: dict[str, list[tuple[float, float]]] = {}
    for name, models in _models(n, d, piece["density"] == 1.0).items():
        spent, tried[name] = 0.0, []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models[0].fit(X[some], y[some])  # compiles
            for model in models:
                started = time.perf_counter()
                model.fit(X[train], y[train])
                spent += time.perf_counter() - started
                auc = roc_auc(y[test], np.asarray(model.decision_function(X[test])))
                tried[name].append((spent, auc))
    best = max(auc for found in tried.values() for _, auc in found)
    rows = []
    for name, found in tried.items():
        near = [spent for spent, auc in found if auc >= best - WITHIN]
        rows.append({
            "axis": piece["axis"], "size": piece[piece["axis"]], "rows": n, "features": d,
            "density": piece["density"], "run": piece["run"], "method": name,
            "seconds": near[0] if near else None, "auc": max(auc for _, auc in found),
            "best": best,
        })  # fmt: skip
    return rows


def panels(rows: list[Row]) -> list[Figure]:
    out = []
    for axis in dict.fromkeys(row["axis"] for row in rows):
        mine = [r for r in rows if r["axis"] == axis and r["seconds"] is not None]
        out.append(Figure(
            f"crossing-{axis}", f"Time to a good AUC against {axis}", axis, "seconds",
            mean_lines(mine, "size", "seconds", "method", spread=False),
            "Seconds until the test AUC is within .001 of the best that any method reaches, trying "
            "five penalties in turn, from strong to weak; mean of the runs that get there. A "
            "method without a point did not.", xlog=True, ylog=True,
        ))  # fmt: skip
    return out


def findings(rows: list[Row]) -> list[str]:
    out = []
    for axis in dict.fromkeys(row["axis"] for row in rows):
        for size in sorted({r["size"] for r in rows if r["axis"] == axis}):
            mine = [r for r in rows if (r["axis"], r["size"]) == (axis, size)]
            there: dict[str, list[float]] = {}
            for r in mine:
                if r["seconds"] is not None:
                    there.setdefault(r["method"], []).append(r["seconds"])
            first = sorted(there, key=lambda name: np.median(there[name]))[:3]
            words = ", ".join(f"{name} {np.median(there[name]):.3g} s" for name in first)
            out.append(f"{axis} {size:g}: first there {words}")
    return out


FIGURE = FigureSpec(
    name="crossing",
    title="Time to within .001 of the best test AUC as rows, features and density grow",
    sources=[Source("made", made=True)],
    pieces=pieces,
    run=run,
    panels=panels,
    findings=findings,
    runs=3,
    timed=True,
    fixed=(ALPHAS, CS, APART, "unequal covariances"),
)
