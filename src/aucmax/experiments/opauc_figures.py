"""Figures 1 to 6 of "One-pass AUC optimization" (Gao, Jin, Zhu & Zhou 2013)."""

import time
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax.estimators import AUCClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, Row, mean_lines
from aucmax.experiments.opauc_tables import HIGHDIM, ONLINE
from aucmax.experiments.protocol import Source
from aucmax.metrics import roc_auc
from aucmax.report.figures import Figure, Line
from aucmax.solvers import OAM, OPAUC, UnivariateSGD

FEW = 1000  # features up to which the full covariance is kept
RANK = 50
ALPHA = 1e-4
RATES = tuple(float(2.0**k) for k in range(-12, 11, 2))
PENALTIES = tuple(float(2.0**k) for k in range(-10, 11, 2))
RANKS = (1, 2, 5, 10, 20, 50, 100, 200)
_LONG = ("mnist", "connect-4", "epsilon", "covtype")
_SMALL = [s for s in ONLINE.sources if s.name not in _LONG]


def _opauc(d: int, step_size: Any = "auto", rank: int = RANK) -> OPAUC:
    if d <= FEW:
        return OPAUC(step_size)
    return OPAUC(step_size, covariance="gaussian", rank=rank)


def _split(piece: Piece) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    X, positive = piece.source.load()
    random = StratifiedShuffleSplit(1, test_size=0.2, random_state=piece["seed"] + piece["run"])
    train, test = next(random.split(np.zeros(len(positive)), positive))
    return X[train], X[test], positive[train], positive[test]


def _methods(d: int) -> dict[str, Any]:
    buffer = 100 if d <= FEW else 50
    return {
        "OPAUC" if d <= FEW else "OPAUCr": _opauc(d),
        "OAM_seq": OAM(update="sequential", buffer_size=buffer),
        "OAM_gra": OAM(update="gradient", buffer_size=buffer),
        "online Uni-Exp": UnivariateSGD(loss="exp", n_epochs=1),
        "online Uni-Squ": UnivariateSGD(loss="square", n_epochs=1),
    }


def _model(solver: Any, **settings: Any) -> AUCClassifier:
    """A solver at the figures' α, unless it has a penalty of its own."""
    alpha: dict[str, Any] = {} if "alpha" in solver.own else {"alpha": ALPHA}
    return AUCClassifier(**alpha, solver=solver, **settings)


def _each(source: Source, effort: Effort, name: str, values: Any) -> list[Piece]:
    return [
        Piece(source, ((name, value), ("run", run), ("seed", effort.seed)))
        for run in range(effort.runs)
        for value in values
    ]


# ---- Figures 1 and 2: running time


def _time_pieces(source: Source, effort: Effort) -> list[Piece]:
    return _each(source, effort, "method", _methods(source.load()[0].shape[1]))


def _time_run(piece: Piece) -> list[Row]:
    X, X_test, y, y_test = _split(piece)
    solver = _methods(X.shape[1])[piece["method"]]
    some = np.concatenate([np.flatnonzero(y)[:20], np.flatnonzero(~y)[:20]])
    _model(solver, random_state=0).fit(X[some], y[some])  # compiles
    started = time.perf_counter()
    model = _model(solver, max_iter=1, random_state=piece["run"]).fit(X, y)
    took = time.perf_counter() - started
    auc = roc_auc(y_test, model.decision_function(X_test))
    method = piece["method"].replace("OPAUCr", "OPAUC")
    return [{"method": method, "run": piece["run"], "rows": len(y), "features": X.shape[1],
             "seconds": took, "auc": auc, "passes": model.n_iter_,
             "optimality": model.optimality_}]  # fmt: skip


def _time_panels(rows: list[Row]) -> list[Figure]:
    data = list(dict.fromkeys(row["data"] for row in rows))
    lines = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        x, y = [], []
        for i, name in enumerate(data):
            found = [r["seconds"] for r in rows if (r["data"], r["method"]) == (name, method)]
            if found:
                x.append(i + 1)
                y.append(np.median(found))
        lines[method] = Line(np.array(x, float), np.array(y), points=True)
    order = ", ".join(f"{i} {name}" for i, name in enumerate(data, 1))
    return [Figure(
        "time", "Seconds of one pass", "data set", "seconds", lines,
        f"Medians of the runs, one core. Data sets: {order}. Above 1000 features OPAUC keeps a "
        "Gaussian sketch of rank 50 (OPAUCr).", ylog=True,
    )]  # fmt: skip


def _time_findings(rows: list[Row]) -> list[str]:
    out = []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = [r for r in rows if r["data"] == data]
        words = [
            f"{m} {np.median([r['seconds'] for r in mine if r['method'] == m]):.3g} s"
            for m in dict.fromkeys(r["method"] for r in mine)
        ]
        out.append(f"{data}: one pass over {mine[0]['rows']:,} rows: {', '.join(words)}")
    return out


# ---- Figures 3 to 5: one setting, everything else fixed


def _sweep_pieces(source: Source, effort: Effort, name: str, values: Any) -> list[Piece]:
    return _each(source, effort, name, values[::3] if effort.quick else values)


def _sweep_run(piece: Piece) -> list[Row]:
    X, X_test, y, y_test = _split(piece)
    name, value = piece.what[0]
    alpha, step, rank = ALPHA, "auto", RANK
    if name == "stepsize":
        step = value
    elif name == "lambda":
        alpha = value
    else:
        rank = value
    solver = _opauc(X.shape[1], step, rank)
    model = AUCClassifier(alpha, solver=solver, random_state=piece["seed"] + piece["run"])
    started = time.perf_counter()
    model.fit(X, y)
    took = time.perf_counter() - started
    scores = model.decision_function(X_test)
    auc = roc_auc(y_test, scores) if np.all(np.isfinite(scores)) else 0.5
    wide = X.shape[1] > FEW
    return [{
        "method": "OPAUCr" if wide else "OPAUC", "run": piece["run"], "stepsize": step,
        "lambda": alpha, "rank": rank if wide or name == "rank" else "", "auc": auc,
        "seconds": took, "passes": model.n_iter_, "optimality": model.optimality_,
    }]  # fmt: skip


def _sweep_panels(rows: list[Row], name: str, label: str) -> list[Figure]:
    words = {"stepsize": "constant step η", "lambda": "λ", "rank": "rank τ"}[name]
    return [Figure(
        name, f"OPAUC: test AUC against {label}", words, "test AUC",
        mean_lines(rows, name, "auc", "data"),
        "Mean of the runs, one standard deviation to either side; one pass.", xlog=True,
    )]  # fmt: skip


def _sweep_findings(rows: list[Row], name: str) -> list[str]:
    out = []
    for data, line in mean_lines(rows, name, "auc", "data").items():
        best = int(np.argmax(line.y))
        within = line.x[line.y >= line.y[best] - 0.01]
        out.append(
            f"{data}: best {line.y[best]:.4f} at {line.x[best]:g}; within .01 of it from "
            f"{within.min():g} to {within.max():g}"
        )
    return out


# ---- Figure 6: AUC against rows


def _rows_pieces(source: Source, effort: Effort) -> list[Piece]:
    names = list(_methods(source.load()[0].shape[1]))[:3]
    return _each(source, effort, "method", names)


def _rows_run(piece: Piece) -> list[Row]:
    X, X_test, y, y_test = _split(piece)
    solver = _methods(X.shape[1])[piece["method"]]
    order = np.random.RandomState(piece["run"]).permutation(len(y))
    model = _model(solver, random_state=piece["run"])
    out, last = [], 0
    for count in np.unique(np.geomspace(20, len(y), 25).astype(int)):
        part = order[last:count]
        model.partial_fit(X[part], y[part], classes=[False, True])
        last = count
        auc = roc_auc(y_test, model.decision_function(X_test))
        out.append({"method": piece["method"], "run": piece["run"], "rows": int(count),
                    "auc": auc})  # fmt: skip
    return out


def _rows_panels(rows: list[Row]) -> list[Figure]:
    return [
        Figure(
            f"{data}-rows", f"{data}: test AUC against rows seen", "rows", "test AUC",
            mean_lines([r for r in rows if r["data"] == data], "rows", "auc", "method"),
            "One pass, automatic settings; mean of the runs and one standard deviation.", xlog=True,
        )
        for data in dict.fromkeys(row["data"] for row in rows)
    ]  # fmt: skip


def _rows_findings(rows: list[Row]) -> list[str]:
    out = []
    for data in dict.fromkeys(row["data"] for row in rows):
        lines = mean_lines([r for r in rows if r["data"] == data], "rows", "auc", "method")
        words = [f"{name} {line.y[len(line.y) // 2]:.4f} at {line.x[len(line.x) // 2]:g} rows and "
                 f"{line.y[-1]:.4f} at {line.x[-1]:g}" for name, line in lines.items()]  # fmt: skip
        out.append(f"{data}: {'; '.join(words)}")
    return out


TIME = FigureSpec(
    name="opauc-time",
    title="Running time of online methods: Gao, Jin, Zhu & Zhou 2013, Figures 1 and 2",
    sources=[*ONLINE.sources, *HIGHDIM.sources],
    pieces=_time_pieces,
    run=_time_run,
    panels=_time_panels,
    findings=_time_findings,
    fixed=(FEW, RANK, ALPHA),
    runs=3,
    timed=True,
)
STEPSIZE = FigureSpec(
    name="opauc-stepsize",
    title="OPAUC against its step size: Gao, Jin, Zhu & Zhou 2013, Figure 3",
    sources=_SMALL,
    pieces=partial(_sweep_pieces, name="stepsize", values=RATES),
    run=_sweep_run,
    panels=partial(_sweep_panels, name="stepsize", label="the step size"),
    findings=partial(_sweep_findings, name="stepsize"),
    fixed=(FEW, RANK, ALPHA),
    runs=5,
)
LAMBDA = FigureSpec(
    name="opauc-lambda",
    title="OPAUC against its penalty: Gao, Jin, Zhu & Zhou 2013, Figure 4",
    sources=_SMALL,
    pieces=partial(_sweep_pieces, name="lambda", values=PENALTIES),
    run=_sweep_run,
    panels=partial(_sweep_panels, name="lambda", label="the penalty"),
    findings=partial(_sweep_findings, name="lambda"),
    fixed=(FEW, RANK, ALPHA),
    runs=5,
)
RANK_FIGURE = FigureSpec(
    name="opauc-rank",
    title="OPAUCr against the rank of its sketch: Gao, Jin, Zhu & Zhou 2013, Figure 5",
    sources=HIGHDIM.sources,
    pieces=partial(_sweep_pieces, name="rank", values=RANKS),
    run=_sweep_run,
    panels=partial(_sweep_panels, name="rank", label="the rank of the sketch"),
    findings=partial(_sweep_findings, name="rank"),
    fixed=(FEW, RANK, ALPHA),
    runs=3,
)
ITERATIONS = FigureSpec(
    name="opauc-iterations",
    title="OPAUC and OAM against the rows seen: Gao, Jin, Zhu & Zhou 2013, Figure 6",
    sources=_SMALL,
    pieces=_rows_pieces,
    run=_rows_run,
    panels=_rows_panels,
    findings=_rows_findings,
    fixed=(FEW, RANK, ALPHA),
    runs=5,
)
