"""Scorecards, compared with optbinning and skorecard, on german and on generated rows.

    python -m benchmarks scorecards                # all methods on both sets, three times
    python -m benchmarks scorecards german         # one set

Each run has a process of its own: processor seconds of the fit, its memory beyond the data and the
imported libraries, and the Gini coefficient of held-out rows (german: one fifth, another one in
each repeat). Runs are kept in benchmarks/results/scorecards.csv.
"""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.common.engine import Line, in_child, measured
from benchmarks.common.results import Results
from benchmarks.common.tables import Names, show

MAX_BYTES = 12 << 30  # that a process may ask for
LIMIT = 1800  # processor seconds
WARM_ROWS = 500  # of the fit that compiles before the clock starts


def generated(n: int, seed: int) -> tuple[Any, np.ndarray]:
    """Return n rows of 12 columns: nine of numbers, four of these with gaps, and three of words."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers = {f"x{j}": rng.normal(size=n) for j in range(6)}
    numbers |= {"income": np.exp(rng.normal(10, 0.6, n)), "age": rng.integers(18, 80, n) * 1.0}
    numbers["count"] = rng.poisson(2.0, n) * 1.0
    places = [rng.integers(0, k, n) for k in (3, 8, 30)]
    odds = (
        -3 + 0.5 * numbers["x0"] - 0.4 * numbers["x1"] + 0.3 * np.tanh(2 * numbers["x2"])
        - 0.8 * (np.log(numbers["income"]) - 10) - 0.02 * (numbers["age"] - 45)
        + 0.15 * numbers["count"] + 0.4 * (places[0] == 0) + 0.05 * places[1]
    )  # fmt: skip
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    for name in ("x0", "x3", "income", "count"):
        numbers[name][rng.random(n) < 0.05] = np.nan
    words = {f"w{k}": np.char.add("v", place.astype(str)) for k, place in enumerate(places)}
    return pd.DataFrame({**numbers, **words}), y.astype(int)


def rows_of(data: str, repeat: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return the rows to fit and the rows to measure on."""
    import pandas as pd
    from sklearn.model_selection import train_test_split

    from aucmax import datasets

    if data == "generated":
        return *generated(600_000, repeat), *generated(100_000, 100 + repeat)
    german = datasets.load("german")
    X = german.data.toarray() if hasattr(german.data, "toarray") else german.data
    X = pd.DataFrame(X, columns=[f"a{j + 1}" for j in range(X.shape[1])])
    y = (german.target == 1).astype(int)
    X, other, y, truth = train_test_split(X, y, test_size=0.2, stratify=y, random_state=repeat)
    return X, y, other, truth


# ---- methods: each returns how to fit, and how to score


def ours() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from aucmax.additive import Scorecard

    return (lambda X, y: Scorecard().fit(X, y)), (lambda card, X: -card.points(X))


def optbinning() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from optbinning import BinningProcess
    from optbinning import Scorecard as Card
    from sklearn.linear_model import LogisticRegression

    def fit(X: Any, y: np.ndarray) -> Any:
        words = [name for name in X if X[name].dtype.kind not in "iuf"]
        card = Card(
            BinningProcess([*X], categorical_variables=words),
            LogisticRegression(),
            scaling_method="pdo_odds",
            scaling_method_params={"pdo": 20, "odds": 50, "scorecard_points": 600},
        )
        return card.fit(X, y)

    return fit, lambda card, X: -card.score(X)


def skorecard() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from skorecard import Skorecard

    return (
        lambda X, y: Skorecard().fit(X, y),
        lambda card, X: card.predict_proba(X)[:, 1],
    )


METHODS = {"aucmax": ours, "optbinning": optbinning, "skorecard": skorecard}


def fit(data: str, method: str, repeat: int) -> Iterator[Line]:
    """Fit once, and test."""
    from sklearn.metrics import roc_auc_score

    train, score = METHODS[method]()
    X, y, held_out, truth = rows_of(data, repeat)
    if method == "aucmax":
        few = np.random.default_rng(0).permutation(len(y))[:WARM_ROWS]
        train(X.iloc[few], y[few])
    card, spent = measured(lambda: train(X, y))
    yield spent | {"auc": f"{roc_auc_score(truth, score(card, held_out)):.6f}"}


def main(
    sets: Names = ["german", "generated"],
    methods: list[str] = [*METHODS],
    repeats: int = 3,
) -> None:
    results = Results("scorecards")
    results.complete(
        (
            {"data": data, "method": method, "repeat": repeat, "package": method},
            partial(in_child, fit, data, method, repeat, limit=LIMIT, start="spawn",
                    max_bytes=MAX_BYTES),
        )
        for data in sets for repeat in range(repeats) for method in methods
    )  # fmt: skip
    lines = results.lines()

    def row(data: str, method: str) -> list[str]:
        own = [line for line in lines if (line["data"], line["method"]) == (data, method)]
        if notes := [line["note"] for line in own if line["note"]]:
            return [data, method, notes[0], "", ""]
        seconds, memory, auc = (
            median(float(line[field]) for line in own)
            for field in ("processor_seconds", "memory_mb", "auc")
        )
        return [data, method, f"{seconds:.4g}", f"{memory:.4g}", f"{2 * auc - 1:.4g}"]

    show(["data", "method", "processor seconds", "memory, MB", "Gini"],
         (row(data, method) for data in sets for method in methods))  # fmt: skip
