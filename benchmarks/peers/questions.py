"""The questions of ``python -m benchmarks peers``: each has its sets and its methods."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegressionCV, RidgeClassifierCV

from aucmax import AUCClassifierCV
from benchmarks.common.data import SETS, Task, generated_dense, generated_sparse, real
from benchmarks.peers.methods import FOLDS, GRID, OURS, PEERS, Method, auc, glum_cv

SCALING_SIZES = (1_000, 10_000, 100_000, 1_000_000)
GRID_ROWS = (1_000, 10_000, 100_000)
GRID_FEATURES = (30, 300, 1_000, 3_000, 30_000)
GRID_DENSITIES = (1.0, 0.1, 0.01)
GRID_STORED = 3e7  # most numbers of a case


class Question(NamedTuple):
    """Sets, and the methods that are tried on each."""

    sets: dict[str, Callable[[], Task]]
    methods: Sequence[Method]
    limit: float  # processor seconds a fit may take, unless told otherwise


def tuned() -> list[Method]:
    """Return the forms that tune themselves, ours first; a grid search where there is none."""
    own = partial(Method, settings=(0.0,), tuned=True)
    ours = partial(own, package="aucmax", scales=True)
    forms = [
        ours("AUCClassifierCV", lambda _, rows: AUCClassifierCV()),
        ours("AUCClassifierCV square", lambda _, rows: AUCClassifierCV(losses=("square",))),
        own("LogisticRegressionCV", lambda _, rows: LogisticRegressionCV(
            cv=FOLDS, scoring="roc_auc", class_weight="balanced", max_iter=1000)),
        own("RidgeClassifierCV", lambda _, rows: RidgeClassifierCV(
            [alpha * rows for alpha in GRID], cv=FOLDS, scoring="roc_auc",
            class_weight="balanced")),
        own("glum CV", glum_cv, package="glum", most_features=1_000),
    ]  # fmt: skip
    have = ("LogisticRegression lbfgs", "RidgeClassifier", "glum")
    return forms + [peer.searched() for peer in PEERS if peer.name not in have]


def scaling_sets() -> dict[str, Callable[[], Task]]:
    """Return rows × 20 dense, rows × 10,000 sparse, and 10,000 rows with ever more entries."""
    sets: dict[str, Callable[[], Task]] = {}
    for rows in SCALING_SIZES:
        sets[f"rows, dense: {rows}"] = partial(generated_dense, rows, 20)
        sets[f"rows, sparse: {rows}"] = partial(generated_sparse, rows, 10_000)
    for entries in (2, 20, 200, 2_000):
        name = f"entries: {10_000 * entries}"
        sets[name] = partial(generated_sparse, 10_000, 10_000, entries)
    return sets


def precision_sets() -> dict[str, Callable[[], Task]]:
    """Return dense rows in both precisions."""
    sets: dict[str, Callable[[], Task]] = {}
    for name, dtype in PRECISIONS.items():
        sets[f"mnist, {name}"] = lambda dtype=dtype: real("mnist", dtype).dense()
        sets[f"dense 1000000x100, {name}"] = partial(generated_dense, 1_000_000, 100, dtype)
    return sets


def grid_sets() -> dict[str, Callable[[], Task]]:
    """Return cases over rows, features and density."""
    sets: dict[str, Callable[[], Task]] = {}
    for n in GRID_ROWS:
        for d in GRID_FEATURES:
            for density in GRID_DENSITIES:
                entries = round(d * density)
                if entries < 3 or n * entries > GRID_STORED:
                    continue
                make = partial(generated_sparse, n, d, entries)
                if density == 1:
                    make = partial(generated_dense, n, d, float)
                sets[f"{n} x {d}, density {density:g}"] = make
    return sets


def single(name: str, alpha: float, **settings: object) -> Method:
    """Return one of our solvers at one penalty."""
    loss = settings.pop("loss", "square")
    return Method(
        name, partial(auc, loss, **settings), (alpha,), package="aucmax", scales=True
    )  # fmt: skip


PRECISIONS = {"float32": np.float32, "float64": np.float64}
SOLVERS = ("auto", "exact", "conjugate_gradient", "coordinate_descent")
QUESTIONS = {
    "fit": Question(SETS, [*OURS, *PEERS], 120),
    "tuned": Question(SETS, tuned(), 300),
    "scaling": Question(scaling_sets(), [replace(each, settings=(1e-3,)) for each in OURS], 120),
    "precision": Question(
        precision_sets(),
        [replace(each, settings=(1e-4,)) for each in OURS if each.scales],
        120,
    ),
    "auto": Question(grid_sets(), [single(name, 1e-4, solver=name) for name in SOLVERS], 60),
}
