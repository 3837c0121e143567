"""AUCRanker beside the ranking machines and the Cox model of scikit-survival.

Their C-index on its own data sets, each tuned on the same folds, and their time and memory as rows
grow. It needs scikit-survival (pip install scikit-survival).

Five folds, divided anew up to six times for small data sets; the strength of the penalty is chosen
by three folds of the rows that remain, from eight values of each method. The C-index of the fold is
scikit-survival's. Columns of words have an indicator for each word but the first, gaps the median;
all are standardised.
"""

import resource
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from aucmax import AUCRanker
from benchmarks.common.tables import show

DATA = ("veterans_lung_cancer", "breast_cancer", "whas500", "gbsg2", "aids", "flchain")
STRENGTHS = np.logspace(-4, 3, 8)
FEATURES = 32
KERNEL_ROWS = 3_000  # of a kernel machine, whose memory grows with their square


def methods() -> dict[str, tuple[Any, str, np.ndarray]]:
    """Return the models, the name of the setting to tune, and its values."""
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.svm import FastSurvivalSVM

    machine = FastSurvivalSVM(rank_ratio=1.0, max_iter=100, random_state=0)
    return {
        "AUCRanker, square": (AUCRanker(), "alpha", 0.01 * STRENGTHS),
        "AUCRanker, squared hinge": (AUCRanker(loss="squared_hinge"), "alpha", 0.01 * STRENGTHS),
        "FastSurvivalSVM": (machine, "alpha", 0.01 * STRENGTHS),
        "CoxPHSurvivalAnalysis": (CoxPHSurvivalAnalysis(n_iter=200), "alpha", STRENGTHS),
    }


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a data set as numbers, and its events and times."""
    import sksurv.datasets

    table, y = getattr(sksurv.datasets, f"load_{name}")()
    if name == "flchain":
        table = table.drop(columns="chapter")  # of the cause of death: known only afterwards
        y["futime"] += 1.0  # the machines take no time 0
    numbers = pd.get_dummies(table, drop_first=True, dtype=float).astype(float)
    X = numbers.fillna(numbers.median()).to_numpy()
    return X[:, X.std(axis=0) > 0], y


def index(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the C-index of scikit-survival."""
    from sksurv.metrics import concordance_index_censored

    event, at = y.dtype.names
    return float(concordance_index_censored(y[event], y[at], model.predict(X))[0])


def fitted(model: Any, X: np.ndarray, y: np.ndarray, test: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the model fitted to standardised rows, and the other rows in their scale."""
    scaler = StandardScaler().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of limits of iterations
        return clone(model).fit(scaler.transform(X), y), scaler.transform(test)


def tuned(model: Any, name: str, values: np.ndarray, X: np.ndarray, y: np.ndarray) -> Any:
    """Return the model with the value that is best on three folds."""
    folds = [*KFold(3, shuffle=True, random_state=1).split(X)]
    means = []
    for value in values:
        candidate, scores = clone(model).set_params(**{name: value}), []
        for train, test in folds:
            scores.append(index(*fitted(candidate, X[train], y[train], X[test]), y[test]))
        means.append(np.mean(scores))
    return clone(model).set_params(**{name: values[int(np.argmax(means))]})


def compared(name: str) -> list[str]:
    """Return the mean C-index of each method on a data set."""
    X, y = read(name)
    event = y[y.dtype.names[0]]
    divisions = [
        fold
        for seed in range(max(1, min(6, 4000 // len(X))))
        for fold in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, event)
    ]

    def score(method: tuple[Any, str, np.ndarray], train: np.ndarray, test: np.ndarray) -> float:
        model = tuned(*method, X[train], y[train])
        return index(*fitted(model, X[train], y[train], X[test]), y[test])

    means = [np.mean([score(method, *fold) for fold in divisions]) for method in methods().values()]
    label = f"{name}: {len(X):,} × {X.shape[1]}, {event.mean():.0%} events"
    return [label, *(f"{mean:.4f}" for mean in means)]


# ---- time and memory


def generated(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with exponential times of a proportional hazards model, half of them censored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    time_of_event = rng.exponential(np.exp(-X @ rng.normal(scale=0.3, size=FEATURES)))
    censored = rng.exponential(1.0, n)
    y = np.empty(n, [("event", bool), ("time", float)])
    y["event"], y["time"] = time_of_event <= censored, np.minimum(time_of_event, censored)
    return X, y


def fits() -> dict[str, Callable[[], Any]]:
    """Return the models whose cost is measured."""
    from sksurv.svm import FastKernelSurvivalSVM

    return {name: lambda model=model: model for name, (model, *_) in methods().items()} | {
        "FastKernelSurvivalSVM": lambda: FastKernelSurvivalSVM(kernel="linear", random_state=0)
    }


def cost(name: str, n: int, repeats: int) -> tuple[float, float, float]:
    """Return the processor seconds of a fit, the growth of peak memory in MB, and the C-index."""
    warnings.simplefilter("ignore")
    fits()[name]().fit(*generated(200))  # compiles what is compiled
    X, y = generated(n)
    before, seconds = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for _ in range(repeats):
        model = fits()[name]()
        start = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return float(np.median(seconds)), grown / 1e3, index(model, X[:5000], y[:5000])


def costs(n: int, repeats: int) -> list[str]:
    """Return the cost of each method for n rows, as ratios to the first one."""
    cells = {}
    for name in fits():
        if name != "FastKernelSurvivalSVM" or n <= KERNEL_ROWS:
            with get_context("spawn").Pool(1) as pool:  # whose peak of memory is its own
                cells[name] = pool.apply(cost, (name, n, repeats))
    own = next(iter(cells.values()))[0]
    return [
        f"{n:,}",
        *(
            f"{cells[name][0] / own:.1f} ({cells[name][0]:.3f} s, {cells[name][1]:,.0f} MB)"
            if name in cells
            else "–"
            for name in fits()
        ),
    ]


def main(
    data: list[str] = list(DATA), rows: list[int] = [1_000, 3_000, 10_000, 30_000], repeats: int = 3
) -> None:
    import sklearn
    import sksurv

    versions = f"scikit-survival {sksurv.__version__}, scikit-learn {sklearn.__version__}"
    print(f"C-index, mean over folds; {versions}")
    show(["data", *methods()], map(compared, data))
    print(
        f"\nTime of a fit beside the first, {FEATURES} features, median of {repeats}; peak memory"
    )
    show(["rows", *fits()], (costs(n, repeats) for n in rows))
