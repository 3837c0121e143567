"""Additive models: ours on splines and bins beside EBM and LightGBM.

    python -m benchmarks.additive                # all methods on german, magic04 and a9a
    python -m benchmarks.additive --sets german  # one set

Mean AUC and processor seconds of a fit, tuning included, over three shuffled folds, everything in
one thread. The methods as they come; the 123 columns of a9a are 0 or 1, so nothing there can bend.
What is kept in benchmarks/results/additive.csv is not run again.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from aucmax import AUCClassifierCV
from aucmax.additive import Binning, SplineFeatures
from benchmarks._bench import binary

KEPT = Path(__file__).parent / "results" / "additive.csv"
COLUMNS = ("data", "method", "fold", "versions", "seconds", "auc")


def ebm(**settings: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=0, **settings)


def boosted() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


METHODS: dict[str, tuple[str, Callable[[], Any]]] = {
    "aucmax, linear": ("scikit-learn", AUCClassifierCV),
    "aucmax, splines": ("scikit-learn", lambda: make_pipeline(SplineFeatures(), AUCClassifierCV())),
    "aucmax, bins": (
        "scikit-learn",
        lambda: make_pipeline(Binning(monotone=None), AUCClassifierCV()),
    ),
    "LightGBM": ("lightgbm", boosted),
    "EBM, no pairs": ("interpret-core", lambda: ebm(interactions=0)),
    "EBM": ("interpret-core", ebm),
}


def score(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.asarray(model.predict_proba(X)[:, 1])


def main() -> None:
    """Run what is asked for, and print a table of means."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--sets", nargs="+", default=["german", "magic04", "a9a"])
    ask.add_argument("--methods", nargs="+", default=[*METHODS])
    told = ask.parse_args()
    warnings.simplefilter("ignore")
    if not KEPT.exists():
        KEPT.write_text(",".join(COLUMNS) + "\n")
    for data in told.sets:
        X, y = binary(data, scale=None)
        X = X.toarray() if hasattr(X, "toarray") else X
        folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
        for method in told.methods:
            package, new = METHODS[method]
            missing = [k for k in range(len(folds)) if (data, method, str(k)) not in kept()]
            if missing and method.startswith("aucmax"):
                few = np.random.default_rng(0).permutation(len(y))[:500]
                new().fit(X[few], y[few])  # compiles, or reads what was compiled
            for k in missing:
                train, test = folds[k]
                started = time.process_time()
                model = new().fit(X[train], y[train])
                seconds = time.process_time() - started
                auc = roc_auc_score(y[test], score(model, X[test]))
                line = (data, method, k, f"{package} {version(package)}", f"{seconds:.4g}")
                with KEPT.open("a", newline="") as stream:
                    csv.writer(stream, lineterminator="\n").writerow((*line, f"{auc:.5f}"))
            seconds, auc = (
                mean(kept()[data, method, str(k)][i] for k in range(len(folds))) for i in (0, 1)
            )
            print(f"| {data} | {method} | {auc:.4f} | {seconds:.3g} |", flush=True)


def kept() -> dict[tuple[str, str, str], tuple[float, float]]:
    """Return the seconds and the AUC of each data set, method and fold that was run."""
    with KEPT.open(newline="") as stream:
        return {
            (line["data"], line["method"], line["fold"]): (
                float(line["seconds"]),
                float(line["auc"]),
            )
            for line in csv.DictReader(stream)
        }


if __name__ == "__main__":
    main()
