"""Figures 1 to 6 of "One-pass AUC optimization" (Gao, Jin, Zhu & Zhou 2013)."""

from functools import partial
from typing import Any

import numpy as np

from aucmax.estimators import AUCClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, grouped, mean_lines, repeated
from aucmax.experiments.jobs import Row
from aucmax.experiments.opauc_tables import HIGHDIM, ONLINE
from aucmax.experiments.sources import Source
from aucmax.experiments.trial import few_of_each, finite_auc, portions, timed_fit
from aucmax.metrics import roc_auc
from aucmax.report.figures import Figure, Line
from aucmax.solvers import OAM, OPAUC, UnivariateSGD

MAX_COVARIANCE_FEATURES = 1000  # features up to which the full covariance is kept
RANK = 50
ALPHA = 1e-4
_SLOW_SETS = ("mnist", "connect-4", "epsilon", "covtype")
_FAST_SETS = [s for s in ONLINE.sources if s.name not in _SLOW_SETS]


def _opauc(d: int, step_size: Any = "auto", rank: int = RANK) -> OPAUC:
    if d <= MAX_COVARIANCE_FEATURES:
        return OPAUC(step_size)
    return OPAUC(step_size, covariance="gaussian", rank=rank)


def _methods(d: int) -> dict[str, Any]:
    buffer = 100 if d <= MAX_COVARIANCE_FEATURES else 50
    return {
        "OPAUC" if d <= MAX_COVARIANCE_FEATURES else "OPAUCr": _opauc(d),
        "OAM_seq": OAM(update="sequential", buffer_size=buffer),
        "OAM_gra": OAM(update="gradient", buffer_size=buffer),
        "online Uni-Exp": UnivariateSGD(loss="exp", n_epochs=1),
        "online Uni-Squ": UnivariateSGD(loss="square", n_epochs=1),
    }


def _model(solver: Any, **settings: Any) -> AUCClassifier:
    """Return a solver's estimator at the figures' α, unless it has its own penalty."""
    alpha: dict[str, Any] = {} if "alpha" in solver.own else {"alpha": ALPHA}
    return AUCClassifier(**alpha, solver=solver, **settings)


def _method_pieces(source: Source, effort: Effort, first: int | None = None) -> list[Piece]:
    names = list(_methods(source.load()[0].shape[1]))[:first]
    return repeated(source, effort, [{"method": name} for name in names])


# ---- Figures 1 and 2: running time


def _time_run(piece: Piece) -> list[Row]:
    X, y, X_test, y_test = piece.train_test()
    solver, warm_up_rows = _methods(X.shape[1])[piece["method"]], few_of_each(y)
    _model(solver, random_state=0).fit(X[warm_up_rows], y[warm_up_rows])  # compile
    model = _model(solver, max_iter=1, random_state=piece["run"])
    seconds = timed_fit(model, X, y)
    auc = roc_auc(y_test, model.decision_function(X_test))
    method = piece["method"].replace("OPAUCr", "OPAUC")
    return [{"method": method, "run": piece["run"], "rows": len(y), "features": X.shape[1],
             "seconds": seconds, "auc": auc, "passes": model.n_iter_,
             "optimality": model.optimality_}]  # fmt: skip


def _median_seconds(rows: list[Row]) -> float:
    return float(np.median([row["seconds"] for row in rows]))


def _time_panels(_: str, rows: list[Row]) -> list[Figure]:
    place = {data: i for i, data in enumerate(grouped(rows, "data"), 1)}
    lines = {}
    for method, method_rows in grouped(rows, "method").items():
        at = {place[data]: _median_seconds(of) for data, of in grouped(method_rows, "data").items()}
        lines[method] = Line(np.array(list(at), float), np.array(list(at.values())), points=True)
    order = ", ".join(f"{i} {name}" for name, i in place.items())
    return [Figure(
        "time", "Seconds of one pass", "data set", "seconds", lines,
        f"Medians of the runs, one core. Data sets: {order}. Above 1000 features OPAUC keeps a "
        "Gaussian sketch of rank 50 (OPAUCr).", ylog=True,
    )]  # fmt: skip


def _time_finding(rows: list[Row]) -> str:
    words = [f"{m} {_median_seconds(of):.3g} s" for m, of in grouped(rows, "method").items()]
    return f"one pass over {rows[0]['rows']:,} rows: {', '.join(words)}"


# ---- Figures 3 to 5: one setting varies, the others are fixed


def _sweep_pieces(
    source: Source, effort: Effort, name: str, values: tuple[float, ...]
) -> list[Piece]:
    tried_values = values[::3] if effort.quick else values
    return repeated(source, effort, [{name: value} for value in tried_values])


def _sweep_run(piece: Piece) -> list[Row]:
    X, y, X_test, y_test = piece.train_test()
    ((name, value),) = piece.settings[:1]
    at = {"stepsize": "auto", "lambda": ALPHA, "rank": RANK, name: value}
    solver = _opauc(X.shape[1], at["stepsize"], at["rank"])
    wide = X.shape[1] > MAX_COVARIANCE_FEATURES
    model = AUCClassifier(at["lambda"], solver=solver, random_state=piece.seed)
    seconds = timed_fit(model, X, y)
    if not wide and name != "rank":
        at["rank"] = ""
    return [{
        "method": "OPAUCr" if wide else "OPAUC", "run": piece["run"], **at,
        "auc": finite_auc(model, X_test, y_test, 0.5), "seconds": seconds,
        "passes": model.n_iter_, "optimality": model.optimality_,
    }]  # fmt: skip


def _sweep_panels(_: str, rows: list[Row], name: str, label: str, axis: str) -> list[Figure]:
    return [Figure(
        name, f"OPAUC: test AUC against {label}", axis, "test AUC",
        mean_lines(rows, name, "auc", "data"),
        "Mean of the runs, one standard deviation to either side; one pass.", xlog=True,
    )]  # fmt: skip


def _sweep_finding(rows: list[Row], name: str) -> str:
    (line,) = mean_lines(rows, name, "auc", "data").values()
    best = int(np.argmax(line.y))
    near = line.x[line.y >= line.y[best] - 0.01]
    at_best = f"best {line.y[best]:.4f} at {line.x[best]:g}"
    return f"{at_best}; within .01 of it from {near.min():g} to {near.max():g}"


# ---- Figure 6: AUC against rows


def _rows_run(piece: Piece) -> list[Row]:
    X, y, X_test, y_test = piece.train_test()
    model = _model(_methods(X.shape[1])[piece["method"]], random_state=piece["run"])
    rows, n_rows = [], 0
    for part in portions(len(y), piece["run"]):
        model.partial_fit(X[part], y[part], classes=[False, True])
        n_rows += len(part)
        auc = roc_auc(y_test, model.decision_function(X_test))
        rows.append({"method": piece["method"], "run": piece["run"], "rows": n_rows, "auc": auc})
    return rows


def _rows_panels(data: str, rows: list[Row]) -> list[Figure]:
    return [Figure(
        f"{data}-rows", f"{data}: test AUC against rows seen", "rows", "test AUC",
        mean_lines(rows, "rows", "auc", "method"),
        "One pass, automatic settings; mean of the runs and one standard deviation.", xlog=True,
    )]  # fmt: skip


def _rows_finding(rows: list[Row]) -> str:
    return "; ".join(
        f"{name} {line.y[len(line.y) // 2]:.4f} at {line.x[len(line.x) // 2]:g} rows and "
        f"{line.y[-1]:.4f} at {line.x[-1]:g}"
        for name, line in mean_lines(rows, "rows", "auc", "method").items()
    )


_figure = partial(FigureSpec, fixed=(MAX_COVARIANCE_FEATURES, RANK, ALPHA))


def _sweep(
    figure: str, title: str, sources: list[Source], runs: int,
    name: str, values: tuple[float, ...], label: str, axis: str,
) -> FigureSpec:  # fmt: skip
    return _figure(
        name=figure,
        title=title,
        sources=sources,
        runs=runs,
        pieces=partial(_sweep_pieces, name=name, values=values),
        run=_sweep_run,
        panels=partial(_sweep_panels, name=name, label=label, axis=axis),
        finding=partial(_sweep_finding, name=name),
        panels_by="",
    )


TIME = _figure(
    name="opauc-time",
    title="Running time of online methods: Gao, Jin, Zhu & Zhou 2013, Figures 1 and 2",
    sources=[*ONLINE.sources, *HIGHDIM.sources],
    pieces=_method_pieces,
    run=_time_run,
    panels=_time_panels,
    finding=_time_finding,
    panels_by="",
    runs=3,
    timed=True,
)
STEPSIZE = _sweep(
    "opauc-stepsize",
    "OPAUC against its step size: Gao, Jin, Zhu & Zhou 2013, Figure 3",
    sources=_FAST_SETS,
    runs=5,
    name="stepsize",
    values=tuple(float(2.0**k) for k in range(-12, 11, 2)),
    label="the step size",
    axis="constant step η",
)
LAMBDA = _sweep(
    "opauc-lambda",
    "OPAUC against its penalty: Gao, Jin, Zhu & Zhou 2013, Figure 4",
    sources=_FAST_SETS,
    runs=5,
    name="lambda",
    values=tuple(float(2.0**k) for k in range(-10, 11, 2)),
    label="the penalty",
    axis="λ",
)
RANK_FIGURE = _sweep(
    "opauc-rank",
    "OPAUCr against the rank of its sketch: Gao, Jin, Zhu & Zhou 2013, Figure 5",
    sources=list(HIGHDIM.sources),
    runs=3,
    name="rank",
    values=(1, 2, 5, 10, 20, 50, 100, 200),
    label="the rank of the sketch",
    axis="rank τ",
)
ITERATIONS = _figure(
    name="opauc-iterations",
    title="OPAUC and OAM against the rows seen: Gao, Jin, Zhu & Zhou 2013, Figure 6",
    sources=_FAST_SETS,
    pieces=partial(_method_pieces, first=3),
    run=_rows_run,
    panels=_rows_panels,
    finding=_rows_finding,
    runs=5,
)
