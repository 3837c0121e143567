"""Figures 1 to 3 of the SADMM paper: test error against samples, and the O(1/t) curve."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from aucmax.estimators import HingeClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, Row, mean_lines
from aucmax.experiments.protocol import Source
from aucmax.report.figures import Figure, Line
from aucmax.solvers import COMID, RDA, SADMM, Pegasos

LAMBDAS = (1e-5, 1e-4, 1e-3)
MEDIUM = 1e-4
POINTS = 25
SOURCES = [
    # the paper's
    Source("ccat", None, "unit-norm"),
    Source("astro-physics", None, "unit-norm"),
    Source("covtype", None, ("minmax", "unit-norm")),
    Source("a9a", None, None),
    Source("gisette", None, "unit-norm"),
    Source("mnist", "even-odd", "unit-norm"),
    # ours
    Source("splice", None, "unit-norm"),
    Source("usps", "even-odd", "unit-norm"),
    Source("sector", "even-odd", "unit-norm"),
]
# one pass, averaged, the step tuned on the training rows of each run
_HALF_DECADES = tuple(float(f"{10.0 ** (k / 2):.3g}") for k in range(-6, 7))
GRIDS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "SADMM": (lambda v: SADMM(rho=v, n_epochs=1, average=True), _HALF_DECADES[2:10]),
    "RDA": (lambda v: RDA(gamma=v, n_epochs=1, average=True), _HALF_DECADES[:9]),
    "COMID": (lambda v: COMID(step_size=v, n_epochs=1, average=True), _HALF_DECADES[3:]),
    "Pegasos": (lambda v: Pegasos(n_epochs=1, average=True), (0.0,)),
}


def _parts(piece: Piece) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    X, positive = piece.source.load()
    y = np.where(positive, 1, -1)
    seed = piece["seed"] + piece["run"]
    return tuple(train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y))


def _model(
    method: str, value: float, alpha: float, l1: bool, seed: int, average: bool = True
) -> HingeClassifier:
    solver = GRIDS[method][0](value)
    solver.average = average
    return HingeClassifier(alpha, 1.0 if l1 else 0.0, solver=solver, random_state=seed)


def _tuned(method: str, alpha: float, l1: bool, X: Any, y: np.ndarray, seed: int) -> float:
    """Return the setting with the least error on a held-out fifth of the training rows."""
    values = GRIDS[method][1]
    if len(values) == 1:
        return values[0]
    few = train_test_split(X, y, train_size=min(8000, int(0.8 * len(y))), test_size=0.2,
                           random_state=seed, stratify=y)  # fmt: skip
    errors = []
    for value in values:
        model = _model(method, value, alpha, l1, seed).fit(few[0], few[2])
        errors.append(float(np.mean(model.predict(few[1]) != few[3])))
    return values[int(np.argmin(errors))]


def pieces(source: Source, effort: Effort, l1: bool, lambdas: tuple[float, ...],
           methods: tuple[str, ...]) -> list[Piece]:  # fmt: skip
    return [
        Piece(source, (("method", method), ("lambda", value), ("l1", l1), ("run", run_),
                       ("seed", effort.seed), ("tried", GRIDS[method][1])))
        for run_ in range(effort.runs)
        for value in lambdas
        for method in methods
    ]  # fmt: skip


def run(piece: Piece) -> list[Row]:
    """One pass over the training rows, the test error at points on the way."""
    X, X_test, y, y_test = _parts(piece)
    l1, seed = piece["l1"], piece["seed"] + piece["run"]
    alpha = piece["lambda"] if l1 else 2.0 * piece["lambda"]  # theirs has no half
    value = _tuned(piece["method"], alpha, l1, X, y, seed)
    model = _model(piece["method"], value, alpha, l1, seed)
    # a mean of iterates has few zeros: where they matter, the last iterate is followed too
    last_model = _model(piece["method"], value, alpha, l1, seed, average=False) if l1 else None
    order = np.random.RandomState(seed).permutation(len(y))
    points = np.unique(np.geomspace(20, len(y), POINTS).astype(int))
    rows, last = [], 0
    for count in points:
        part = order[last:count]
        model.partial_fit(X[part], y[part], classes=[-1, 1])
        last = count
        error = float(np.mean(model.predict(X_test) != y_test))
        row = {
            "method": piece["method"], "lambda": piece["lambda"], "run": piece["run"],
            "setting": value, "samples": int(count), "error": error,
            "nonzero": float(np.mean(model.coef_ != 0)),
        }  # fmt: skip
        if last_model is not None:
            last_model.partial_fit(X[part], y[part], classes=[-1, 1])
            row["error_last"] = float(np.mean(last_model.predict(X_test) != y_test))
            row["nonzero_last"] = float(np.mean(last_model.coef_ != 0))
        rows.append(row)
    return rows


def _rate_panels(rows: list[Row]) -> list[Figure]:
    out = []
    for data in dict.fromkeys(row["data"] for row in rows):
        lines: dict[str, Line] = {}
        mine = [row for row in rows if row["data"] == data]
        for value in sorted({row["lambda"] for row in mine}):
            course = mean_lines([r for r in mine if r["lambda"] == value], "samples", "error",
                                "method").get("SADMM")  # fmt: skip
            if course is None:
                continue
            # relative to the error at the end, as the paper draws it
            off = np.abs(course.y - course.y[-1])
            lines[f"λ = {value:g}"] = Line(course.x[:-1], off[:-1])
            scale, first = (off[0] * course.x[0], course.x) if off[0] > 0 else (1.0, course.x)
        if not lines:
            continue
        lines["O(1/t), drawn through the first point"] = Line(first, scale / first)
        out.append(Figure(
            f"{data}-rate", f"{data}: test-error difference of SADMM", "samples",
            "|error − error at the end|", lines,
            "Mean of the runs. The curve is drawn for the eye: the bound it stands for is false "
            "as a theorem about constant steps (Notes on the papers, erratum 1).",
            xlog=True, ylog=True,
        ))  # fmt: skip
    return out


def _error_panels(rows: list[Row], sparsity: bool) -> list[Figure]:
    out = []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [row for row in rows if row["data"] == data]
        out.append(Figure(
            f"{data}-error", f"{data}: test error against samples", "samples", "test error",
            mean_lines(mine, "samples", "error", "method"),
            "Averaged iterates, one pass, each step tuned on at most 8,000 training rows; mean of "
            "the runs and one standard deviation.", xlog=True,
        ))  # fmt: skip
        if sparsity:
            out.append(Figure(
                f"{data}-nonzero", f"{data}: share of coefficients that are not 0", "samples",
                "share not 0", mean_lines(mine, "samples", "nonzero_last", "method"),
                "Of the last iterate: a mean of iterates has few zeros.", xlog=True,
            ))  # fmt: skip
    return out


def _rate_findings(rows: list[Row]) -> list[str]:
    """The slope of the test-error difference against samples, on log axes."""
    out = []
    for data in dict.fromkeys(row["data"] for row in rows):
        words = []
        for value in sorted({row["lambda"] for row in rows}):
            mine = [r for r in rows if (r["data"], r["lambda"]) == (data, value)]
            course = mean_lines(mine, "samples", "error", "method").get("SADMM")
            if course is None:
                continue
            off = np.abs(course.y - course.y[-1])[:-3]
            known = off > 0
            if known.sum() > 3:
                slope = np.polyfit(np.log(course.x[:-3][known]), np.log(off[known]), 1)[0]
                words.append(f"λ = {value:g} falls as t^{slope:.2f}")
        out.append(f"{data}: the test-error difference with {'; '.join(words)} (1/t is t^−1)")
    return out


def _error_findings(rows: list[Row]) -> list[str]:
    out = []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [r for r in rows if r["data"] == data]
        end = max(r["samples"] for r in mine)
        words = []
        for method in dict.fromkeys(r["method"] for r in mine):
            at = [r for r in mine if r["method"] == method and r["samples"] == end]
            told = f"{method} {np.mean([r['error'] for r in at]):.4f}"
            if "nonzero_last" in at[0]:
                last, share = (np.mean([r[k] for r in at]) for k in ("error_last", "nonzero_last"))
                told += f" (its last iterate {last:.4f}, {100 * share:.0f} % not 0)"
            words.append(told)
        out.append(f"{data}: test error after one pass: {', '.join(words)}")
    return out


RATE = FigureSpec(
    name="sadmm-learning-rate",
    title="Test-error difference of SADMM against the O(1/t) curve: TNNLS 2014, Figure 1",
    sources=SOURCES,
    pieces=partial(pieces, l1=True, lambdas=LAMBDAS, methods=("SADMM",)),
    run=run,
    panels=_rate_panels,
    findings=_rate_findings,
    fixed=(POINTS,),
    runs=10,
)
L1 = FigureSpec(
    name="sadmm-l1",
    title="Test error of SADMM, RDA and COMID with an l1 penalty: TNNLS 2014, Figure 2",
    sources=SOURCES,
    pieces=partial(pieces, l1=True, lambdas=(MEDIUM,), methods=("SADMM", "RDA", "COMID")),
    run=run,
    panels=partial(_error_panels, sparsity=True),
    findings=_error_findings,
    fixed=(POINTS,),
    runs=10,
)
L2 = FigureSpec(
    name="sadmm-l2",
    title="Test error of SADMM, RDA, COMID and Pegasos, l2: TNNLS 2014, Figure 3",
    sources=SOURCES,
    pieces=partial(
        pieces, l1=False, lambdas=(MEDIUM,), methods=("SADMM", "RDA", "COMID", "Pegasos")
    ),
    run=run,
    panels=partial(_error_panels, sparsity=False),
    findings=_error_findings,
    fixed=(POINTS,),
    runs=10,
)
