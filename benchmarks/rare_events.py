"""How well few positives are ranked: aucmax beside tuned logistic regression and others.

For every data set the middle one of its labels is positive (the rarer one, where there are two).
A split draws 30, 100, 300 or all of the positives of two thirds of the rows for training, with at
most 3,000 rows of either class; the other third is the test set. Every method tunes itself on the
training rows, by five-fold AUC. Sparse sets get unit-norm rows, dense ones are as shipped.

    python benchmarks/rare_events.py letter usps          # these sets; all of the papers by default
    python benchmarks/rare_events.py --data mine.csv --target fraud --positive 1
    python benchmarks/rare_events.py --show               # the tables of what has been run

Runs are lines of a CSV file, one for each split and method; what is there is not run again. Those
of a file of your own go to one in the current folder.
"""

import argparse
import csv
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import ttest_rel
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from aucmax import AUCClassifierCV, datasets
from aucmax.basics.errors import DataFileError
from aucmax.datasets.bunch import frame
from aucmax.estimators.encoder import TableEncoder
from aucmax.metrics import average_precision, partial_auc, roc_auc

SETS = {"letter": "all", "usps": "all", "mnist": "all", "connect-4": "all", "sector": "train",
        "news20": "train", "a9a": "train", "magic04": "all", "splice": "all", "german": "all",
        "diabetes": "all"}  # fmt: skip
COUNTS = (30, 100, 300, None)  # positives to train on; None for all
MOST = 3000  # training rows of a class
FEWEST = 15  # rows of a class in a file
MAX_FPR = 0.05
CS = np.logspace(-4, 4, 9)
SHRINKAGES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9, 1.0)
TREES = (12, 25, 50, 100, 200)
WIDE = 1000  # features up to which rows are held dense
RESULTS = Path(__file__).parent / "results" / "rare_events.csv"
FIELDS = ("data", "positives", "rows", "split", "method", "auc", "partial_auc",
          "average_precision", "seconds", "skipped")  # fmt: skip


# ---- the methods -------------------------------------------------------------------------


class Scaler(TransformerMixin, BaseEstimator):
    """Features divided by their standard deviation to a power: 1 standardises, ½ goes halfway.

    Dense ones are centred, too, which changes no optimum but speeds up its search.
    """

    def __init__(self, power: float) -> None:
        self.power = power

    def fit(self, X: Any, y: Any = None) -> "Scaler":
        """Learn means and deviations."""
        if sp.issparse(X):
            mean = np.asarray(X.mean(axis=0)).ravel()
            variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
            self.mean_ = None
        else:
            self.mean_, variance = X.mean(axis=0), X.var(axis=0)
        deviation = np.sqrt(np.maximum(variance, 0.0))
        there = deviation > 1e-10
        self.factor_ = np.where(there, np.where(there, deviation, 1.0) ** -self.power, 1.0)
        return self

    def transform(self, X: Any) -> Any:
        """Return the rows scaled."""
        if self.mean_ is None:
            return sp.csr_matrix(X.multiply(self.factor_))
        return (X - self.mean_) * self.factor_


class Tuned:
    """A scaler and a model whose setting is chosen by five-fold AUC."""

    def __init__(self, power: float, model: Any, setting: str, grid: Any) -> None:
        self.scaler, self.model = Scaler(power), model
        self.setting, self.grid = setting, grid

    def fit(self, X: Any, y: np.ndarray) -> "Tuned":
        """Tune, and fit all rows."""
        aucs = np.zeros(len(self.grid))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            seen = clone(self.scaler).fit(X[train])
            rows, held, model = seen.transform(X[train]), seen.transform(X[test]), clone(self.model)
            for k, value in enumerate(self.grid):  # warm starts, where the model has them
                model.set_params(**{self.setting: value}).fit(rows, y[train])
                aucs[k] += roc_auc(y[test], model.decision_function(held))
        self.auc = aucs.max() / 5  # of the held-out rows
        self.model.set_params(**{self.setting: self.grid[int(np.argmax(aucs))]})
        self.model.fit(self.scaler.fit_transform(X), y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return self.model.decision_function(self.scaler.transform(X))


class Best:
    """The one of several tuned models that has the highest held-out AUC."""

    def __init__(self, models: list[Tuned]) -> None:
        self.models = models

    def fit(self, X: Any, y: np.ndarray) -> Tuned:
        """Tune them all, and return the best."""
        return max((model.fit(X, y) for model in self.models), key=lambda model: model.auc)


class Trees:
    """LightGBM, the number of trees chosen by five-fold AUC."""

    def fit(self, X: Any, y: np.ndarray) -> "Trees":
        """Tune, and fit all rows."""
        aucs = np.zeros(len(TREES))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            model = self._model(TREES[-1]).fit(X[train], y[train])
            for k, count in enumerate(TREES):
                scores = model.predict(X[test], raw_score=True, num_iteration=count)
                aucs[k] += roc_auc(y[test], scores)
        self.model = self._model(TREES[int(np.argmax(aucs))]).fit(X, y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return self.model.predict(X, raw_score=True)

    @staticmethod
    def _model(count: int) -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            n_estimators=count, learning_rate=0.05, num_leaves=15, n_jobs=1, random_state=0,
            verbose=-1,
        )  # fmt: skip


def logistic(power: float, weights: str | None) -> Callable[[Any], Tuned]:
    """Return what makes a tuned logistic regression for rows X."""

    def make(X: Any) -> Tuned:
        solver = "newton-cholesky" if X.shape[1] <= 200 else "lbfgs"
        model = LogisticRegression(
            class_weight=weights, solver=solver, max_iter=1000, warm_start=True
        )
        return Tuned(power, model, "C", CS)

    return make


def shrunk(X: Any) -> Tuned:
    """Return linear discriminant analysis with tuned shrinkage."""
    return Tuned(1.0, LinearDiscriminantAnalysis(solver="lsqr"), "shrinkage", SHRINKAGES)


def machine(X: Any) -> Tuned:
    """Return a class-balanced linear support vector machine."""
    model = LinearSVC(class_weight="balanced", dual="auto", max_iter=200, random_state=0)
    return Tuned(1.0, model, "C", np.logspace(-5, 0, 6))


POWERS = {"raw": 0.0, "half-standardised": 0.5, "standardised": 1.0}
LOGISTIC = {
    f"logistic regression, {'balanced, ' * (weights is not None)}{name}": logistic(power, weights)
    for weights in (None, "balanced")
    for name, power in POWERS.items()
}
CHOSEN = "logistic regression, the best of the six by its own folds"
METHODS: dict[str, Callable[[Any], Any]] = {
    "aucmax": lambda X: AUCClassifierCV(),
    "aucmax, moments only": lambda X: AUCClassifierCV(losses=("square",)),
    **LOGISTIC,
    CHOSEN: lambda X: Best([make(X) for make in LOGISTIC.values()]),
    "LDA, shrunk": shrunk,
    "linear SVM, balanced": machine,
    "LightGBM": lambda X: Trees(),
}


def obstacle(method: str, X: Any) -> str:
    """Return why a method is not run on rows like X, or nothing."""
    if X.shape[1] > WIDE and method in ("LDA, shrunk", "LightGBM"):
        return f"takes too long with {X.shape[1]:,} features"
    if method == "LightGBM":
        try:
            import lightgbm  # noqa: F401
        except ImportError:
            return "is not installed"
    return ""


# ---- the data ----------------------------------------------------------------------------


class Task(NamedTuple):
    """A data set, and which of its rows are positive."""

    name: str
    X: Any
    y: np.ndarray


def own(name: str) -> Task:
    """Return a data set of the papers, its middle label against the rest."""
    scale = "unit-norm" if datasets.about(name).sparse else None
    data = datasets.load(name, split=SETS[name], scale=scale)
    labels, counts = np.unique(data.target, return_counts=True)
    label = labels[np.argmin(counts)] if len(labels) == 2 else labels[len(labels) // 2]
    return Task(name, held(data.data), data.target == label)


def given(path: str, target: str | None, positive: str | None) -> Task:
    """Return the rows of a file; the rarer label is positive where none is named."""
    data = datasets.read(
        path, target=target, positive=positive, text=True, missing=True, dates=True
    )
    X, (labels, counts) = data.data, np.unique(data.target, return_counts=True)
    if len(labels) != 2:
        raise ValueError(
            f"{path} holds {len(labels)} label(s), {', '.join(map(str, labels[:5]))}; two are "
            "needed, or one of them as --positive."
        )
    if counts.min() < FEWEST:
        raise ValueError(
            f"{path} holds {counts.min()} rows of label {labels[np.argmin(counts)]}; at least "
            f"{FEWEST} are needed to tune and to test on."
        )
    if data.feature_names is not None:
        X = TableEncoder(data.text, missing=True, dates=data.dates).fit_transform(frame(data))
    label = 1 if positive is not None else labels[np.argmin(counts)]
    return Task(Path(path).name, held(X), data.target == label)


def held(X: Any) -> Any:
    """Return rows as the methods take them fastest: dense where there are few features."""
    if sp.issparse(X):
        return X.toarray() if X.shape[1] <= WIDE else sp.csr_matrix(X)
    return np.asarray(X, dtype=np.float64)


def sample(y: np.ndarray, positives: int | None, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the training and the test rows of a split; None where positives are too few."""
    rng = np.random.RandomState(seed)
    train, test = [], []
    for label, most in ((True, MOST if positives is None else positives), (False, MOST)):
        rows = rng.permutation(np.flatnonzero(y == label))
        pool = rows[: 2 * len(rows) // 3]
        if label and positives is not None and len(pool) <= positives:
            return None
        train.append(pool[:most])
        test.append(rows[len(pool) :])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


# ---- runs --------------------------------------------------------------------------------


def run(task: Task, positives: int | None, seed: int, method: str) -> dict[str, Any] | None:
    """Return one line of the results."""
    rows = sample(task.y, positives, seed)
    if rows is None:
        return None
    train, test = rows
    line: dict[str, Any] = {
        "data": task.name, "positives": positives or "all", "rows": len(train), "split": seed,
        "method": method,
    }  # fmt: skip
    X, y = task.X[train], task.y[train].astype(int)
    if reason := obstacle(method, X):
        return line | {"skipped": reason}
    start = time.process_time()
    model = METHODS[method](X).fit(X, y)
    spent = time.process_time() - start
    truth, scores = task.y[test].astype(int), model.decision_function(task.X[test])
    return line | {
        "auc": f"{roc_auc(truth, scores):.6f}",
        "partial_auc": f"{partial_auc(truth, scores, MAX_FPR):.6f}",
        "average_precision": f"{average_precision(truth, scores):.6f}",
        "seconds": f"{spent:.3f}",
    }


def lines_of(path: Path) -> list[dict[str, str]]:
    """Return the lines of a CSV file, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def wanted(
    tasks: list[Callable[[], Task]], splits: int, methods: list[str]
) -> Iterator[tuple[Task, int | None, int, str]]:
    """Yield what there is to run: all sets once, then the next split."""
    for seed in range(splits):
        for make in tasks:
            task = make()
            for positives in COUNTS:
                for method in methods:
                    yield task, positives, seed, method


def main() -> None:
    """Run what is asked for and not there yet, and print the tables."""
    ask = argparse.ArgumentParser(description="How well few positives are ranked.")
    ask.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    ask.add_argument("--data", help="a CSV, Parquet or svmlight file of your own in their place")
    ask.add_argument("--target", help="its column of labels")
    ask.add_argument("--positive", help="the label to rank first; by default the rarer of two")
    ask.add_argument("--splits", type=int, default=5)
    ask.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", default=METHODS)
    ask.add_argument("--results", type=Path, help="the CSV file")
    ask.add_argument("--show", action="store_true", help="run nothing")
    asked = ask.parse_args()
    if unknown := [name for name in asked.sets if name not in SETS]:
        ask.error(f"{unknown[0]!r} is none of {', '.join(SETS)}; files of your own go by --data")
    tasks: list[Callable[[], Task]] = [partial(own, name) for name in asked.sets or SETS]
    results = RESULTS
    if asked.data:
        try:
            task = given(asked.data, asked.target, asked.positive)
        except (DataFileError, ValueError) as error:
            ask.error(str(error))
        tasks, results = [lambda: task], Path(f"rare_events_{Path(asked.data).stem}.csv")
    results = asked.results or results
    lines = lines_of(results)
    if not asked.show:
        warnings.simplefilter("ignore")  # what does not converge shows in its AUC
        done = {(r["data"], r["positives"], r["split"], r["method"]) for r in lines}
        results.parent.mkdir(parents=True, exist_ok=True)
        for task, positives, seed, method in wanted(tasks, asked.splits, list(asked.methods)):
            if (task.name, str(positives or "all"), str(seed), method) in done:
                continue
            line = run(task, positives, seed, method)
            if line is not None:
                with results.open("a", newline="") as file:
                    writer = csv.DictWriter(file, FIELDS)
                    if file.tell() == 0:
                        writer.writeheader()
                    writer.writerow(line)
        lines = lines_of(results)
    show(lines)


# ---- the tables --------------------------------------------------------------------------


def show(lines: list[dict[str, str]]) -> None:
    """Print the tables in Markdown."""
    figures: dict[tuple[str, str], dict[str, dict[str, dict[str, float]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for line in lines:
        if not line["skipped"]:
            values = figures[line["data"], line["positives"]][line["method"]]
            values[line["split"]] = {k: float(line[k]) for k in FIELDS[5:9]}
    methods = [m for m in METHODS if any(m in case for case in figures.values())]
    for what in FIELDS[5:9]:
        print(f"\n## {what.replace('_', ' ')}, mean over splits\n")
        print("| data | positives | " + " | ".join(methods) + " |")
        print("|---" * (len(methods) + 2) + "|")
        for (data, positives), values in figures.items():
            cells = []
            for method in methods:
                runs = [run[what] for run in values.get(method, {}).values()]
                cells.append(f"{np.mean(runs):.{1 if what == 'seconds' else 4}f}" if runs else "–")
            print(f"| {data} | {positives} | " + " | ".join(cells) + " |")
    for ours in ("aucmax", "aucmax, moments only"):
        beside(ours, figures)


def beside(ours: str, figures: dict[Any, Any]) -> None:
    """Print how a method stands beside the best logistic regression of each case."""
    print(f"\n## {ours} beside the best logistic regression\n")
    print("| data | positives | splits | best logistic regression | AUC | ours | difference | p |")
    print("|---" * 8 + "|")
    differences, few = [], []
    for (data, positives), values in figures.items():
        if ours not in values:
            continue
        mine = values[ours]
        rivals = {
            m: np.mean([values[m][s]["auc"] for s in mine])
            for m in LOGISTIC
            if m in values and set(mine) <= set(values[m])
        }
        if not rivals:
            continue
        best = max(rivals, key=lambda m: rivals[m])
        a = np.array([mine[s]["auc"] for s in mine])
        b = np.array([values[best][s]["auc"] for s in mine])
        p = float(ttest_rel(a, b).pvalue) if len(a) > 1 and np.ptp(a - b) > 0 else np.nan
        differences.append((float(np.mean(a - b)), p))
        if positives != "all" and int(positives) <= 100:
            few.append(differences[-1][0])
        print(
            f"| {data} | {positives} | {len(a)} | {best.removeprefix('logistic regression, ')} "
            f"| {b.mean():.4f} | {a.mean():.4f} | {np.mean(a - b):+.4f} | {p:.3f} |"
        )
    if not differences:
        return
    mean, p = np.array(differences).T
    print(
        f"\n{len(mean)} cases: won by .001 or more {np.sum(mean >= 0.001)}, lost "
        f"{np.sum(mean <= -0.001)}, tied {np.sum(np.abs(mean) < 0.001)}; significantly (paired t, "
        f"5 %, of each case by itself) better {np.sum((p < 0.05) & (mean > 0))}, worse "
        f"{np.sum((p < 0.05) & (mean < 0))}; the worst {mean.min():+.4f}. Up to 100 positives: "
        f"{np.sum(np.array(few) >= 0.002)} of {len(few)} better by .002 or more."
    )


if __name__ == "__main__":
    main()
