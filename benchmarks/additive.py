"""Additive models of curves, pairs, splines and bins, compared with EBM and LightGBM.

    python -m benchmarks additive                # all methods on german, magic04 and a9a
    python -m benchmarks additive german         # one set

Mean AUC and processor seconds of a fit, tuning included, over three shuffled folds; each library
has one thread. All methods have their default settings; the 123 columns of a9a are 0 or 1, so no
curve can gain anything there. Runs are kept in benchmarks/results/additive.csv.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from statistics import mean
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from aucmax import AdditiveAUCClassifier, AUCClassifierCV
from aucmax.additive import Binning, SplineFeatures
from benchmarks.common.data import binary
from benchmarks.common.engine import Line, measured
from benchmarks.common.nonlinear import explainable, light, scores
from benchmarks.common.results import Results
from benchmarks.common.tables import Names, show

FOLDS = 3
WARM_ROWS = 500  # of the fit that compiles before the clock starts


METHODS: dict[str, tuple[str, Callable[[], Any]]] = {
    "aucmax, linear": ("sklearn", AUCClassifierCV),
    "aucmax, splines": ("sklearn", lambda: make_pipeline(SplineFeatures(), AUCClassifierCV())),
    "aucmax, bins": (
        "sklearn",
        lambda: make_pipeline(Binning(monotone=None), AUCClassifierCV()),
    ),
    "aucmax, curves": ("sklearn", lambda: AdditiveAUCClassifier(0)),
    "aucmax, curves and pairs": ("sklearn", AdditiveAUCClassifier),
    "LightGBM": ("lightgbm", lambda: light(None)),
    "EBM, no pairs": ("interpret", lambda: explainable(None, interactions=0)),
    "EBM": ("interpret", lambda: explainable(None)),
}


def run(load: Callable[[], tuple[Any, np.ndarray]], method: str, fold: int) -> Iterator[Line]:
    """Fit to all folds but one, and test on that."""
    X, y = load()
    X, (_, make) = X.toarray() if hasattr(X, "toarray") else X, METHODS[method]
    if method.startswith("aucmax"):
        few = np.random.default_rng(0).permutation(len(y))[:WARM_ROWS]
        make().fit(X[few], y[few])
    train, test = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))[fold]
    model, spent = measured(lambda: make().fit(X[train], y[train]))
    yield spent | {"auc": f"{roc_auc_score(y[test], scores(model, X[test])):.5f}"}


def main(sets: Names = ["german", "magic04", "a9a"], methods: list[str] = [*METHODS]) -> None:
    warnings.simplefilter("ignore")
    results, wanted = Results("additive"), []
    for data in sets:
        load = cache(partial(binary, data, scale=None))
        for method in methods:
            for fold in range(FOLDS):
                what = {"data": data, "method": method, "repeat": fold}
                what["package"] = METHODS[method][0]
                wanted.append((what, partial(run, load, method, fold)))
    results.complete(wanted)
    lines = results.lines()

    def row(data: str, method: str) -> list[str]:
        own = [line for line in lines if (line["data"], line["method"]) == (data, method)]
        auc, time = (mean(float(line[f]) for line in own) for f in ("auc", "processor_seconds"))
        return [data, method, f"{auc:.4f}", f"{time:.3g}"]

    show(["data", "method", "AUC", "processor seconds"],
         (row(data, method) for data in sets for method in methods))  # fmt: skip
