"""Figures 1 to 3 of the SADMM paper: test error against samples, and the O(1/t) curve."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from aucmax.estimators import HingeClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, grouped, mean_lines, repeated
from aucmax.experiments.jobs import Row
from aucmax.experiments.sources import Source, prepared
from aucmax.experiments.trial import STREAM_POINTS, portions
from aucmax.report.figures import Figure, Line
from aucmax.solvers import COMID, RDA, SADMM, Pegasos

LAMBDAS = (1e-5, 1e-4, 1e-3)
MEDIUM = 1e-4
SOURCES = prepared("SADMM", "SADMM ours")
# the setting of each learner that is tuned on the training rows of each run, and its values
_HALF_DECADES = tuple(float(f"{10.0 ** (k / 2):.3g}") for k in range(-6, 7))
LEARNERS: dict[str, tuple[type, str, tuple[float, ...]]] = {
    "SADMM": (SADMM, "rho", _HALF_DECADES[2:10]),
    "RDA": (RDA, "gamma", _HALF_DECADES[:9]),
    "COMID": (COMID, "step_size", _HALF_DECADES[3:]),
    "Pegasos": (Pegasos, "", (0.0,)),
}


def _model(
    method: str, value: float, alpha: float, l1: bool, seed: int, average: bool = True
) -> HingeClassifier:
    solver_class, name, _ = LEARNERS[method]
    setting = {name: value} if name else {}
    solver = solver_class(**setting, n_epochs=1, average=average)
    return HingeClassifier(alpha, 1.0 if l1 else 0.0, solver=solver, random_state=seed)


def _tuned(method: str, alpha: float, l1: bool, X: Any, y: np.ndarray, seed: int) -> float:
    """Return the value with the smallest error on a held-out fifth of the training rows."""
    values = LEARNERS[method][2]
    if len(values) == 1:
        return values[0]
    split = train_test_split(X, y, train_size=min(8000, int(0.8 * len(y))), test_size=0.2,
                           random_state=seed, stratify=y)  # fmt: skip
    errors = []
    for value in values:
        model = _model(method, value, alpha, l1, seed).fit(split[0], split[2])
        errors.append(float(np.mean(model.predict(split[1]) != split[3])))
    return values[int(np.argmin(errors))]


def _pieces(
    source: Source, effort: Effort, l1: bool, lambdas: tuple[float, ...], methods: tuple[str, ...]
) -> list[Piece]:
    return repeated(source, effort, [
        # placeholders of run and seed: their position is part of the keys of stored results
        {"method": method, "lambda": value, "l1": l1, "run": 0, "seed": 0,
         "tried": LEARNERS[method][2]}
        for value, method in product(lambdas, methods)
    ])  # fmt: skip


def _run(piece: Piece) -> list[Row]:
    """Make one pass over the training rows; measure the test error along the way."""
    X, y, X_test, y_test = piece.train_test(test_size=0.3)
    method, l1, seed = piece["method"], piece["l1"], piece.seed
    alpha = piece["lambda"] if l1 else 2.0 * piece["lambda"]  # theirs has no half
    value = _tuned(method, alpha, l1, X, y, seed)
    models = {"": _model(method, value, alpha, l1, seed)}
    if l1:  # an average of iterates has few zeros, so the last iterate is followed too
        models["_last"] = _model(method, value, alpha, l1, seed, average=False)
    rows, samples = [], 0
    for part in portions(len(y), seed):
        samples += len(part)
        row = {"method": method, "lambda": piece["lambda"], "run": piece["run"], "setting": value,
               "samples": samples}  # fmt: skip
        for suffix, model in models.items():
            model.partial_fit(X[part], y[part], classes=[False, True])
            row[f"error{suffix}"] = float(np.mean(model.predict(X_test) != y_test))
            row[f"nonzero{suffix}"] = float(np.mean(model.coef_ != 0))
        rows.append(row)
    return rows


def _rate_lines(rows: list[Row]) -> dict[float, Line]:
    """Return, by λ, |error − final error|, which the paper draws."""
    return {
        value: Line(course.x, np.abs(course.y - course.y[-1]))
        for value, penalty_rows in sorted(grouped(rows, "lambda").items())
        for course in mean_lines(penalty_rows, "samples", "error", "method").values()
    }


def _rate_panels(data: str, rows: list[Row]) -> list[Figure]:
    off = _rate_lines(rows)
    lines = {f"λ = {value:g}": Line(curve.x[:-1], curve.y[:-1]) for value, curve in off.items()}
    largest = list(off.values())[-1]
    scale = largest.y[0] * largest.x[0] if largest.y[0] > 0 else 1.0
    lines["O(1/t), drawn through the first point"] = Line(largest.x, scale / largest.x)
    return [Figure(
        f"{data}-rate", f"{data}: test-error difference of SADMM", "samples",
        "|error − error at the end|", lines,
        "Mean of the runs. The O(1/t) curve is a visual guide only: as a theorem about constant "
        "steps, its bound is false (Notes on the papers, erratum 1).",
        xlog=True, ylog=True,
    )]  # fmt: skip


def _error_panels(data: str, rows: list[Row], sparsity: bool) -> list[Figure]:
    panels = [Figure(
        f"{data}-error", f"{data}: test error against samples", "samples", "test error",
        mean_lines(rows, "samples", "error", "method"),
        "Averaged iterates, one pass, each step tuned on at most 8,000 training rows; mean of "
        "the runs and one standard deviation.", xlog=True,
    )]  # fmt: skip
    if sparsity:
        panels.append(Figure(
            f"{data}-nonzero", f"{data}: share of coefficients that are not 0", "samples",
            "share not 0", mean_lines(rows, "samples", "nonzero_last", "method"),
            "Of the last iterate: a mean of iterates has few zeros.", xlog=True,
        ))  # fmt: skip
    return panels


def _rate_finding(rows: list[Row]) -> str:
    """Give the slope of the test-error difference against samples, on log axes."""
    words = []
    for value, line in _rate_lines(rows).items():
        x, y = line.x[:-3], line.y[:-3]
        if (y > 0).sum() > 3:
            slope = np.polyfit(np.log(x[y > 0]), np.log(y[y > 0]), 1)[0]
            words.append(f"λ = {value:g} falls as t^{slope:.2f}")
    return f"the test-error difference with {'; '.join(words)} (1/t is t^−1)"


def _error_finding(rows: list[Row]) -> str:
    end = max(row["samples"] for row in rows)
    words = []
    for method, at in grouped((r for r in rows if r["samples"] == end), "method").items():
        summary = f"{method} {np.mean([row['error'] for row in at]):.4f}"
        if "nonzero_last" in at[0]:
            error, share = (np.mean([r[k] for r in at]) for k in ("error_last", "nonzero_last"))
            summary += f" (its last iterate {error:.4f}, {100 * share:.0f} % not 0)"
        words.append(summary)
    return f"test error after one pass: {', '.join(words)}"


def _error_figure(name: str, title: str, l1: bool, methods: tuple[str, ...]) -> FigureSpec:
    return FigureSpec(
        name,
        title,
        sources=SOURCES,
        pieces=partial(_pieces, l1=l1, lambdas=(MEDIUM,), methods=methods),
        run=_run,
        panels=partial(_error_panels, sparsity=l1),
        finding=_error_finding,
        fixed=(STREAM_POINTS,),
        runs=10,
    )


RATE = FigureSpec(
    name="sadmm-learning-rate",
    title="Test-error difference of SADMM against the O(1/t) curve: TNNLS 2014, Figure 1",
    sources=SOURCES,
    pieces=partial(_pieces, l1=True, lambdas=LAMBDAS, methods=("SADMM",)),
    run=_run,
    panels=_rate_panels,
    finding=_rate_finding,
    fixed=(STREAM_POINTS,),
    runs=10,
)
L1 = _error_figure(
    "sadmm-l1",
    "Test error of SADMM, RDA and COMID with an l1 penalty: TNNLS 2014, Figure 2",
    l1=True,
    methods=("SADMM", "RDA", "COMID"),
)
L2 = _error_figure(
    "sadmm-l2",
    "Test error of SADMM, RDA, COMID and Pegasos, l2: TNNLS 2014, Figure 3",
    l1=False,
    methods=("SADMM", "RDA", "COMID", "Pegasos"),
)
