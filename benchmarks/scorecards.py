"""Scorecards: aucmax beside optbinning and skorecard, on german and on generated rows.

    python -m benchmarks.scorecards                # all methods on both sets, three times
    python -m benchmarks.scorecards --sets german  # one set

Each run is a process of its own: processor seconds of the fit, how much memory it took beside the
data and the imported libraries, and the Gini of rows it has not seen (german: one fifth, another in
each repeat). Results are kept in benchmarks/results/scorecards.csv.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

KEPT = Path(__file__).parent / "results" / "scorecards.csv"
COLUMNS = ("data", "method", "repeat", "version", "seconds", "megabytes", "gini", "note")
LARGEST = 12 << 30  # bytes that a process may ask for
LIMIT = 1800  # seconds


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


def one(data: str, method: str, repeat: int) -> dict[str, Any]:
    """Fit once, in this process."""
    from importlib.metadata import PackageNotFoundError, version

    from sklearn.metrics import roc_auc_score

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST, LARGEST))
    fit, score = METHODS[method]()
    X, y, other, truth = rows_of(data, repeat)
    few = np.random.default_rng(0).permutation(len(y))[:500]
    if method == "aucmax":
        fit(X.iloc[few], y[few])  # compiles, or reads what was compiled
    before = held("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    started = time.process_time()
    card = fit(X, y)
    seconds = time.process_time() - started
    megabytes = held("VmHWM") - before
    try:
        known = version(method)
    except PackageNotFoundError:
        known = "here"
    return {
        "version": known, "seconds": seconds, "megabytes": megabytes,
        "gini": 2 * roc_auc_score(truth, score(card, other)) - 1,
    }  # fmt: skip


def held(what: str) -> float:
    """Return the megabytes that this process holds (VmRSS), or has held at most (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if what in line)


def run(data: str, method: str, repeat: int) -> dict[str, Any]:
    """Fit once in a process of its own; return what it printed, or why it did not."""
    command = [sys.executable, "-m", "benchmarks.scorecards", "--one", data, method, str(repeat)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"note": f"over {LIMIT} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return {"note": last[:200]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Run what is asked for, and print a table of medians."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--sets", nargs="+", default=["german", "generated"])
    ask.add_argument("--methods", nargs="+", default=[*METHODS])
    ask.add_argument("--repeats", type=int, default=3)
    ask.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    told = ask.parse_args()
    if told.one:
        data, method, repeat = told.one
        print(json.dumps(one(data, method, int(repeat))))
        return
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    with KEPT.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        for data in told.sets:
            for repeat in range(told.repeats):
                for method in told.methods:
                    before = found.setdefault((data, method), [])
                    if any("note" in line for line in before):
                        continue
                    line = run(data, method, repeat)
                    before.append(line)
                    writer.writerow({"data": data, "method": method, "repeat": repeat} | line)
                    stream.flush()
                    print(data, method, repeat, line, flush=True)
    for (data, method), lines in found.items():
        notes = [line["note"] for line in lines if "note" in line]
        keys = ("seconds", "megabytes", "gini")
        means = notes or [f"{median(line[key] for line in lines):.4g}" for key in keys]
        print(data, method, *means, sep=" | ")


if __name__ == "__main__":
    main()
