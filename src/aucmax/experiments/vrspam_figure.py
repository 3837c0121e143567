"""Figure 1 of the VRSPAM paper: variance of the update, and AUC against time and passes."""

from typing import Any

import numpy as np

from aucmax.estimators import AUCClassifier
from aucmax.experiments.figures import Effort, FigureSpec, Piece, grouped, mean_lines, repeated
from aucmax.experiments.jobs import Row
from aucmax.experiments.methods import REFERENCE, facts_of
from aucmax.experiments.sources import Source, prepared
from aucmax.experiments.trial import few_of_each
from aucmax.experiments.vrspam_table import TABLE
from aucmax.metrics import roc_auc
from aucmax.report.figures import Figure
from aucmax.solvers import OPAUC, SOLAM, SPAM, VRSPAM

ALPHA = 1e-4
EPOCHS = 15
CLOSE_AUC = 0.001  # difference in AUC that counts as reaching the optimum
MAX_OPAUC_FEATURES = 1000  # features up to which OPAUC is shown


def _solvers(d: int) -> dict[str, Any]:
    solvers = {
        "VRSPAM-L2": VRSPAM(n_stages=EPOCHS),
        "SPAM-L2": SPAM(n_epochs=2 * EPOCHS),
        "SOLAM": SOLAM(n_epochs=2 * EPOCHS),
    }
    if d <= MAX_OPAUC_FEATURES:
        solvers["OPAUC"] = OPAUC(n_epochs=4)
    return solvers


def _pieces(source: Source, effort: Effort) -> list[Piece]:
    X, _ = source.load()
    names = (*_solvers(X.shape[1]), REFERENCE)
    return repeated(source, effort, [{"method": name} for name in names])


def _run(piece: Piece) -> list[Row]:
    X, y, X_test, y_test = piece.train_test()
    common = {"method": piece["method"], "run": piece["run"], "alpha": ALPHA}
    if piece["method"] == REFERENCE:
        model = AUCClassifier(ALPHA, standardize=0.0, tol=1e-8, max_iter=5000).fit(X, y)
        auc = roc_auc(y_test, model.decision_function(X_test))
        return [{**common, "passes": None, "seconds": None, "auc": auc, "variance": None}]
    solver, warm_up_rows = _solvers(X.shape[1])[piece["method"]], few_of_each(y)
    warm = AUCClassifier(ALPHA, solver=solver, max_iter=1, random_state=piece.seed)
    warm.fit(X[warm_up_rows], y[warm_up_rows])  # compile
    states: list[Any] = []
    model = AUCClassifier(ALPHA, solver=solver, tol=1e-15, random_state=piece.seed)
    model.set_params(callback=states.append).fit(X, y)
    update = Update(X, y)
    # the first stage starts from one epoch of SPAM, which is not recorded
    rows, before = [], None
    for state in states:
        variance = None
        if piece["method"] == "SPAM-L2":
            variance = update.variance(state.coef, None)
        elif piece["method"] == "VRSPAM-L2" and before is not None:
            variance = update.variance(state.coef, before)
        before = state.coef
        auc = roc_auc(y_test, np.asarray(X_test @ state.coef))
        at = {"passes": round(float(state.passes), 6), "seconds": float(state.seconds)}
        rows.append({**common, **at, "auc": auc, "variance": variance})
    return rows


class Update:
    """The exact variance of both methods' updates, as mean squared distance to the gradient."""

    def __init__(self, X: Any, positive: np.ndarray) -> None:
        self.X, self.positive = X, positive
        self.p = facts_of(X, positive).p
        self.norm2 = np.asarray(X.multiply(X).sum(axis=1)).ravel() if hasattr(X, "multiply") else (
            np.einsum("ij,ij->i", X, X)
        )  # fmt: skip
        self.means = [np.asarray(X[part].mean(axis=0)).ravel() for part in (positive, ~positive)]

    def variance(self, w: np.ndarray, snapshot: np.ndarray | None) -> float:
        """Return that of G(w), or of G(w) − G(snapshot); a row's is a multiple of its x."""
        move = w if snapshot is None else w - snapshot
        z = np.asarray(self.X @ move)
        offset = 0.0 if snapshot is not None else 1.0
        scale = np.where(
            self.positive,
            2 * (1 - self.p) * (z - move @ self.means[1] - offset),
            2 * self.p * (z - move @ self.means[0] + offset),
        )
        mean = np.asarray(self.X.T @ scale) / len(scale)
        return float(np.mean(scale**2 * self.norm2) - mean @ mean)


def _panels(data: str, rows: list[Row]) -> list[Figure]:
    panels = []
    learner_rows = [row for row in rows if row["method"] != REFERENCE]
    best = np.mean([row["auc"] for row in rows if row["method"] == REFERENCE])
    measured = [row for row in learner_rows if row["variance"] is not None]
    panels.append(Figure(
        f"{data}-variance", f"{data}: variance of the update", "passes over the data",
        "mean squared distance to the gradient",
        mean_lines(measured, "passes", "variance", "method"),
        "Exact, over all training rows, at the end of each pass or stage; for VRSPAM with the "
        "snapshot of that stage, from the second on.", ylog=True,
    ))  # fmt: skip
    caption = (
        "Mean of the runs, one standard deviation to either side; the optimum of the square "
        f"loss has {best:.4f}."
    )
    panels.append(Figure(
        f"{data}-passes", f"{data}: test AUC against passes", "passes over the data",
        "test AUC", mean_lines(learner_rows, "passes", "auc", "method"), caption,
    ))  # fmt: skip
    timed = []
    for rows_of_pass in grouped(learner_rows, "method", "passes").values():
        at = float(np.median([row["seconds"] for row in rows_of_pass]))
        timed += [{**row, "at": at} for row in rows_of_pass]
    panels.append(Figure(
        f"{data}-seconds", f"{data}: test AUC against time", "seconds",
        "test AUC", mean_lines(timed, "at", "auc", "method"), caption, xlog=True,
    ))  # fmt: skip
    return panels


def _finding(rows: list[Row]) -> str:
    """Give the passes and seconds to within .001 of the optimum's test AUC, medians over runs."""
    best = {row["run"]: row["auc"] for row in rows if row["method"] == REFERENCE}
    courses = [row for row in rows if row["method"] != REFERENCE and row["run"] in best]
    words = []
    for method, method_rows in grouped(courses, "method").items():
        runs = grouped(method_rows, "run")
        near = [row for row in method_rows if row["auc"] >= best[row["run"]] - CLOSE_AUC]
        nearest = [min(run, key=lambda row: row["passes"]) for run in grouped(near, "run").values()]
        summary = f"{method} in {len(nearest)} of {len(runs)} runs"
        if nearest:
            passes, seconds = (np.median([r[k] for r in nearest]) for k in ("passes", "seconds"))
            summary += f" ({passes:.3g} passes, {seconds:.3g} s)"
        words.append(summary)
    return f"within .001 of the square-loss optimum's test AUC {'; '.join(words)}"


FIGURE = FigureSpec(
    name="vrspam-figure",
    title="Variance of the update, AUC against time and passes: Dan & Sahoo, Figure 1",
    sources=[
        *(source for source in TABLE.sources if source.name != "letter"),
        *prepared("VRSPAM figure"),
    ],
    pieces=_pieces,
    run=_run,
    panels=_panels,
    finding=_finding,
    runs=5,
    timed=True,
    fixed=(ALPHA, EPOCHS),
)
