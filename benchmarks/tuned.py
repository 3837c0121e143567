"""Tuned models: AUCClassifierCV compared with balanced logistic regression in a grid search.

The same 80/20 splits, five folds inside each. Sparse sets get unit-norm rows, dense ones are as
shipped. Logistic regression is tuned over 11 C: by GridSearchCV; by LogisticRegressionCV, which
starts each C from the one before; and with ``--scaled`` by GridSearchCV on features divided by
their standard deviation. ``--grid`` adds a search of all cells of our grid, of which
AUCClassifierCV visits only some. Processor seconds, all threads together.
"""

import warnings
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucmax import AUCClassifierCV, metrics
from aucmax.data.rows import as_rows
from aucmax.estimators.selection import alpha_grid
from aucmax.objective.problem import RowsProblem
from benchmarks.common.data import as_usual, binary, splits
from benchmarks.common.engine import measured
from benchmarks.common.tables import Names, show

CS = np.logspace(-2, 3, 11)
SPLITS = {
    "a9a": 3, "magic04": 3, "letter": 3, "connect-4": 3, "mnist": 1, "sector": 3, "news20": 3
}  # fmt: skip
BALANCED = {"class_weight": "balanced", "max_iter": 1000}

Make = Callable[[Any, np.ndarray], Any]  # of the training rows and labels


def all_cells(X: Any, y: np.ndarray) -> AUCClassifierCV:
    """Return a search of every α that the default's grid has, with γ > 0 the same for all γ."""
    return AUCClassifierCV(alpha_grid(RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0)), 0.5))


def scaled(X: Any, y: np.ndarray) -> GridSearchCV:
    """Return a grid search over logistic regression on scaled features."""
    pipe = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(**BALANCED))
    grid = {"logisticregression__C": CS / 100}
    return GridSearchCV(pipe, grid, scoring="roc_auc", cv=5)


CONTESTANTS: dict[str, Make] = {
    "AUCClassifierCV": lambda X, y: AUCClassifierCV(),
    "GridSearchCV": lambda X, y: GridSearchCV(
        LogisticRegression(**BALANCED), {"C": CS}, scoring="roc_auc", cv=5
    ),
    "LogisticRegressionCV": lambda X, y: LogisticRegressionCV(
        Cs=CS, scoring="roc_auc", cv=5, l1_ratios=(0,), use_legacy_attributes=False, **BALANCED
    ),
}
ALL_CELLS, SCALED = "AUCClassifierCV, all cells", "GridSearchCV, scaled"


def row(name: str, contestants: dict[str, Make]) -> list[str]:
    """Return a row of the table."""
    X, y = as_usual(name)
    aucs: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    took: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    for train, test in splits(X, y, SPLITS[name]):
        for contestant, make in contestants.items():
            model = make(X[train], y[train])
            _, spent = measured(lambda m=model, rows=train: m.fit(X[rows], y[rows]))
            took[contestant].append(spent["processor_seconds"])
            aucs[contestant].append(metrics.roc_auc(y[test], model.decision_function(X[test])))
    cells = [(f"{np.median(took[c]):.2f} s", f"{np.mean(aucs[c]):.4f}") for c in contestants]
    return [name, *(cell for pair in cells for cell in pair)]


def main(
    sets: Names = [*SPLITS],
    grid: Annotated[bool, typer.Option("--grid", help=f"Add {ALL_CELLS}.")] = False,
    scale: Annotated[bool, typer.Option("--scaled", help=f"Add {SCALED}.")] = False,
) -> None:
    warnings.simplefilter("ignore")
    contestants = dict(CONTESTANTS)
    if grid:
        contestants[ALL_CELLS] = all_cells
    if scale:
        contestants[SCALED] = scaled
    X, y = binary("diabetes")
    for make in contestants.values():  # compile what is measured afterwards
        make(X, y).fit(X, y)
    head = ["data", *(cell for name in contestants for cell in (name, "AUC"))]
    show(head, (row(name, contestants) for name in sets))
