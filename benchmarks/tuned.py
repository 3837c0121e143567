"""Tuned models, by wall and by processor time, with one thread and all, quiet and under load.

    python -m benchmarks tuned
    python -m benchmarks tuned a9a letter --under "all threads, 8 busy processes"

The same 80/20 splits, five folds inside each; sparse sets get unit-norm rows, dense ones are as
shipped. Methods take turns, a child process for each data set and condition. The table has medians
over the splits, of our times in milliseconds and of the other methods' times as multiples of ours,
and mean test AUCs. Logistic regression is tuned over 11 C, glum over seven penalties. ``--grid``
adds a search of all cells of our grid, of which AUCClassifierCV visits only some, and ``--scaled``
a grid search of logistic regression on features divided by their standard deviation.
"""

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import mean, median
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
from benchmarks.common.data import as_usual, splits
from benchmarks.common.engine import Line, in_child, measured, ratio
from benchmarks.common.tables import Names, show
from benchmarks.peers.methods import glum_cv

CS = np.logspace(-2, 3, 11)
BALANCED = {"class_weight": "balanced", "max_iter": 1000}
SETS = ["diabetes", "german", "fourclass", "splice", "usps", "letter", "magic04", "a9a",
        "connect-4", "mnist", "sector", "news20"]  # fmt: skip
DENSE_ONLY = {"glum CV": 300}  # most features of methods that form dense rows
# by condition: the threads of each library, None for its own number, and busy processes
CONDITIONS: dict[str, tuple[int | None, int]] = {
    "one thread": (1, 0),
    "all threads": (None, 0),
    "one thread, 8 busy processes": (1, 8),
    "all threads, 8 busy processes": (None, 8),
}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
LIMIT = 600.0  # processor seconds of a fit

Make = Callable[[Any, np.ndarray], Any]  # of the training rows and labels


def all_cells(X: Any, y: np.ndarray) -> AUCClassifierCV:
    """Return a search of every α that the default's grid has, with γ > 0 the same for all γ."""
    return AUCClassifierCV(alpha_grid(RowsProblem.of(as_rows(X), np.where(y == 1, 1.0, -1.0)), 0.5))


def scaled(X: Any, y: np.ndarray) -> GridSearchCV:
    """Return a grid search over logistic regression on scaled features."""
    pipe = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(**BALANCED))
    grid = {"logisticregression__C": CS / 100}
    return GridSearchCV(pipe, grid, scoring="roc_auc", cv=5)


METHODS: dict[str, Make] = {
    "AUCClassifierCV": lambda X, y: AUCClassifierCV(),
    "LogisticRegressionCV": lambda X, y: LogisticRegressionCV(
        Cs=CS, scoring="roc_auc", cv=5, l1_ratios=(0,), use_legacy_attributes=False, **BALANCED
    ),
    "GridSearchCV": lambda X, y: GridSearchCV(
        LogisticRegression(**BALANCED), {"C": CS}, scoring="roc_auc", cv=5
    ),
    "glum CV": lambda X, y: glum_cv(0.0, len(y)),
    "AUCClassifierCV, all cells": all_cells,
    "GridSearchCV, scaled": scaled,
}
DEFAULT = ["AUCClassifierCV", "LogisticRegressionCV", "glum CV"]


def fitted(make: Make, X: Any, y: np.ndarray) -> Any:
    """Return a tuned model."""
    return make(X, y).fit(X, y)


def fits(name: str, methods: list[str], repeats: int) -> Iterator[Line]:
    """Yield a line for each split and method: its times and its test AUC."""
    warnings.simplefilter("ignore")
    X, y = as_usual(name)
    methods = [method for method in methods if X.shape[1] <= DENSE_ONLY.get(method, X.shape[1])]
    for k, (train, test) in enumerate(splits(X, y, repeats)):
        rows, labels = X[train], y[train]
        for method in methods:
            make = METHODS[method]
            if k == 0:  # compile and load what is measured
                fitted(make, rows, labels)
                yield {}
            model, spent = measured(partial(fitted, make, rows, labels))
            auc = metrics.roc_auc(y[test], np.ravel(model.decision_function(X[test])))
            yield {"method": method, "auc": auc, **spent}


@contextmanager
def under(threads: int | None, busy: int) -> Iterator[None]:
    """Set the threads of child processes, beside processes that only compute."""
    before = dict(os.environ)
    if threads is not None:
        os.environ.update(dict.fromkeys(THREADS, str(threads)))
    others = [multiprocessing.Process(target=_compute, daemon=True) for _ in range(busy)]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
        os.environ.clear()
        os.environ.update(before)


def _compute() -> None:
    while True:
        pass


def row(name: str, methods: list[str], repeats: int) -> tuple[list[str], dict[str, list[float]]]:
    """Return a row of the table, and the ratios of times that it shows."""
    took: dict[str, list[Line]] = {method: [] for method in methods}
    for line in in_child(fits, name, methods, repeats, limit=LIMIT, start="spawn"):
        if "method" in line:
            took[line["method"]].append(line)
    clocks = ("seconds", "processor_seconds")
    own = {clock: [line[clock] for line in took[methods[0]]] for clock in clocks}
    cells = [name, *(f"{1e3 * median(own[clock]):.0f}" for clock in clocks)]
    cells.append(f"{mean(line['auc'] for line in took[methods[0]]):.4f}")
    ratios: dict[str, list[float]] = {}
    for method in methods[1:]:
        lines = took[method]
        if len(lines) < repeats:
            cells += ["–"] * 3
            continue
        ratios[method] = [ratio([line[clock] for line in lines], own[clock]) for clock in clocks]
        cells += [f"{each:.1f}" for each in ratios[method]]
        cells.append(f"{mean(line['auc'] for line in lines):.4f}")
    return cells, ratios


def table(sets: list[str], methods: list[str], repeats: int) -> None:
    """Print the table of one condition."""
    head = ["data", f"{methods[0]}, wall ms", "processor ms", "AUC"]
    for method in methods[1:]:
        head += [f"{method}, wall", "processor", "AUC"]

    def rows() -> Iterator[list[str]]:
        collected: dict[str, list[list[float]]] = {method: [] for method in methods[1:]}
        for name in sets:
            cells, ratios = row(name, methods, repeats)
            for method, pair in ratios.items():
                collected[method].append(pair)
            yield cells
        for of_ratios in (median, min):
            cells = ["median" if of_ratios is median else "least", "", "", ""]
            for pairs in collected.values():
                both = zip(*pairs, strict=True) if pairs else ()
                cells += [*(f"{of_ratios(of_clock):.1f}" for of_clock in both), *[""] * 3][:3]
            yield cells

    show(head, rows())


def main(
    sets: Names = SETS,
    repeats: int = 5,
    conditions: Annotated[list[str], typer.Option("--under", help=", ".join(CONDITIONS))] = [
        *CONDITIONS
    ],
    methods: Annotated[list[str], typer.Option(help=", ".join(METHODS))] = DEFAULT,
    grid: Annotated[bool, typer.Option("--grid", help="Add AUCClassifierCV, all cells.")] = False,
    scale: Annotated[bool, typer.Option("--scaled", help="Add GridSearchCV, scaled.")] = False,
) -> None:
    methods = methods + ["AUCClassifierCV, all cells"] * grid + ["GridSearchCV, scaled"] * scale
    for condition in conditions:
        print(f"\n{condition}:")
        with under(*CONDITIONS[condition]):
            table(sets, methods, repeats)
