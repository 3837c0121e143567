"""Ranking with few positives: aucmax compared with tuned logistic regression and others.

For every data set the middle one of its labels is positive (the rarer one if there are two). A
split draws 30, 100, 300 or all of the positives of two thirds of the rows for training, with at
most 3,000 rows of either class; the other third is the test set. Every method tunes itself on the
training rows, by five-fold AUC, or by average precision if its name says so; aucmax draws the folds
four times if positives are few. Sparse sets get unit-norm rows, dense ones are as shipped.

    python -m benchmarks rare_events letter usps          # these sets; all of the papers by default
    python -m benchmarks rare_events --data mine.csv --target fraud --positive 1
    python -m benchmarks rare_events --suite OpenML-CC18  # its tasks of two classes, by `openml`
    python -m benchmarks rare_events --show               # the tables of the runs that are kept

Runs are kept in benchmarks/results/rare_events.csv, a line for each split and method, and are not
made again; those of a file of your own in the current folder.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer
from scipy.stats import ttest_1samp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from aucmax import AUCClassifierCV, datasets
from aucmax.basics.errors import DataFileError
from aucmax.columns.encoder import TableEncoder
from aucmax.data.bunch import frame
from aucmax.data.obstacles import TableError
from aucmax.metrics import average_precision, partial_auc, roc_auc
from benchmarks.common.data import BINARY
from benchmarks.common.engine import Line, measured
from benchmarks.common.nonlinear import NONLINEAR, PACKAGES, WIDEST, scores
from benchmarks.common.results import Results
from benchmarks.common.tables import Names, line, show

SETS = ("letter", "usps", "mnist", "connect-4", "sector", "news20", "a9a", "magic04", "splice",
        "german", "diabetes")  # fmt: skip
COUNTS = (30, 100, 300, None)  # positives to train on; None for all
MOST = 3000  # training rows of a class
FEWEST = 15  # rows of a class in a file
MAX_FPR = 0.05
CS = np.logspace(-4, 4, 9)
SHRINKAGES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9, 1.0)
TREES = (12, 25, 50, 100, 200)
WIDE = 1000  # features up to which rows are held dense
FIGURES = ("auc", "partial_auc", "average_precision", "processor_seconds")


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
    """A scaler and a model whose setting is chosen by the five-fold mean of a metric."""

    def __init__(
        self, power: float, model: Any, setting: str, grid: Any, metric: Any = roc_auc
    ) -> None:
        self.scaler, self.model = Scaler(power), model
        self.setting, self.grid, self.metric = setting, grid, metric

    def fit(self, X: Any, y: np.ndarray) -> "Tuned":
        """Tune, and fit all rows."""
        totals = np.zeros(len(self.grid))
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            seen = clone(self.scaler).fit(X[train])
            rows, held, model = seen.transform(X[train]), seen.transform(X[test]), clone(self.model)
            for k, value in enumerate(self.grid):  # warm starts, where the model has them
                model.set_params(**{self.setting: value}).fit(rows, y[train])
                totals[k] += self.metric(y[test], model.decision_function(held))
        self.score = totals.max() / 5  # of the held-out rows
        self.model.set_params(**{self.setting: self.grid[int(np.argmax(totals))]})
        self.model.fit(self.scaler.fit_transform(X), y)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores."""
        return self.model.decision_function(self.scaler.transform(X))


class Best:
    """The one of several tuned models that has the highest score on held-out rows."""

    def __init__(self, models: list[Tuned]) -> None:
        self.models = models

    def fit(self, X: Any, y: np.ndarray) -> Tuned:
        """Tune them all, and return the best."""
        return max((model.fit(X, y) for model in self.models), key=lambda model: model.score)


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


def logistic(power: float, weights: str | None, metric: Any = roc_auc) -> Callable[[Any], Tuned]:
    """Return what makes a tuned logistic regression for rows X."""

    def make(X: Any) -> Tuned:
        solver = "newton-cholesky" if X.shape[1] <= 200 else "lbfgs"
        model = LogisticRegression(
            class_weight=weights, solver=solver, max_iter=1000, warm_start=True
        )
        return Tuned(power, model, "C", CS, metric)

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
PRECISE = (
    "aucmax, by average precision",
    "logistic regression, the best of the plain three by average precision",
)
METHODS: dict[str, Callable[[Any], Any]] = {
    "aucmax": lambda X: AUCClassifierCV(),
    "aucmax, moments only": lambda X: AUCClassifierCV(losses=("square",)),
    **LOGISTIC,
    CHOSEN: lambda X: Best([make(X) for make in LOGISTIC.values()]),
    "LDA, shrunk": shrunk,
    "linear SVM, balanced": machine,
    "LightGBM": lambda X: Trees(),
    PRECISE[0]: lambda X: AUCClassifierCV(scoring="average_precision"),
    PRECISE[1]: lambda X: Best(
        [logistic(power, None, average_precision)(X) for power in POWERS.values()]
    ),
} | NONLINEAR


def obstacle(method: str, X: Any) -> str:
    """Return why a method is not run on rows like X, or nothing."""
    widest = WIDEST if method in NONLINEAR else WIDE
    if X.shape[1] > widest and method in ("LDA, shrunk", "LightGBM", *NONLINEAR):
        return f"takes too long with {X.shape[1]:,} features"
    package = package_of(method)
    return "" if find_spec(package) else "is not installed"


def package_of(method: str) -> str:
    """Return the package that a method comes from."""
    return PACKAGES.get(method.split(",")[0], "sklearn")


# ---- the data ----------------------------------------------------------------------------


class Task(NamedTuple):
    """A data set, and which of its rows are positive."""

    name: str
    X: Any
    y: np.ndarray


def shipped(name: str) -> Task:
    """Return a data set of the papers, its middle label against the rest."""
    scale = "unit-norm" if datasets.about(name).sparse else None
    data = datasets.load(name, split=BINARY[name][0], scale=scale)
    labels, counts = np.unique(data.target, return_counts=True)
    label = labels[np.argmin(counts)] if len(labels) == 2 else labels[len(labels) // 2]
    return Task(name, held(data.data), data.target == label)


def own(path: str, target: str | None, positive: str | None) -> Task:
    """Return the rows of a file; the rarer label is positive where none is named."""
    try:
        data = datasets.read(path, target=target, positive=positive)
    except TableError:  # text, gaps or dates
        every = {"text": True, "missing": True, "dates": True}
        data = datasets.read(path, target=target, positive=positive, **every)
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
        X = TableEncoder(missing=True).fit_transform(frame(data))
    label = 1 if positive is not None else labels[np.argmin(counts)]
    return Task(Path(path).name, held(X), data.target == label)


def suite(name: str) -> dict[str, Callable[[], Task]]:
    """Return the tasks with two classes of a suite of OpenML, such as OpenML-CC18.

    The package ``openml`` downloads their tables when they are needed.
    """
    import openml

    tasks = {number: openml.tasks.get_task(number) for number in openml.study.get_suite(name).tasks}
    return {
        f"openml {number}": partial(downloaded, f"openml {number}", task)
        for number, task in tasks.items()
        if len(task.class_labels) == 2
    }


def downloaded(name: str, task: Any) -> Task:
    """Return the rows of a task of OpenML; the rarer label is positive."""
    X, y, _, _ = task.get_dataset().get_data(target=task.target_name)
    labels, counts = np.unique(np.asarray(y).astype(str), return_counts=True)
    X = X if sp.issparse(X) else TableEncoder(missing=True).fit_transform(X)
    return Task(name, held(X), np.asarray(y).astype(str) == labels[np.argmin(counts)])


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


def run(load: Callable[[], Task], positives: int | None, seed: int, method: str) -> Iterator[Line]:
    """Yield the line of a split; none if there are too few positives."""
    task = load()
    rows = sample(task.y, positives, seed)
    if rows is None:
        return
    train, test = rows
    X, y = task.X[train], task.y[train].astype(int)
    if note := obstacle(method, X):
        yield {"rows": len(train), "note": note}
        return
    model, spent = measured(lambda: METHODS[method](X).fit(X, y))
    truth, scored = task.y[test].astype(int), scores(model, task.X[test])
    yield spent | {
        "rows": len(train),
        "auc": f"{roc_auc(truth, scored):.6f}",
        "partial_auc": f"{partial_auc(truth, scored, MAX_FPR):.6f}",
        "average_precision": f"{average_precision(truth, scored):.6f}",
    }


def runs(
    tasks: dict[str, Callable[[], Task]], splits: int, methods: list[str]
) -> Iterator[tuple[Line, Callable[[], Iterator[Line]]]]:
    """Yield the runs: all sets once, then the next split."""
    for seed in range(splits):
        for name, make in tasks.items():
            load = cache(make)
            for positives in COUNTS:
                for method in methods:
                    what = {"data": name, "positives": positives or "all", "method": method}
                    run_split = partial(run, load, positives, seed, method)
                    yield what | {"repeat": seed, "package": package_of(method)}, run_split


def main(
    sets: Names = [*SETS],
    data: Annotated[str | None, typer.Option(help="A file of your own instead.")] = None,
    target: Annotated[str | None, typer.Option(help="Its column of labels.")] = None,
    positive: Annotated[str | None, typer.Option(help="The positive label.")] = None,
    suite_name: Annotated[
        str | None, typer.Option("--suite", help="A suite of OpenML instead, with a network.")
    ] = None,
    splits: int = 5,
    methods: list[str] = [*METHODS],
    results: Annotated[Path | None, typer.Option(help="The CSV file.")] = None,
    show_only: Annotated[bool, typer.Option("--show", help="Run nothing.")] = False,
) -> None:
    if unknown := [name for name in sets if name not in SETS]:
        raise typer.BadParameter(
            f"{unknown[0]!r} is not one of {', '.join(SETS)}; use --data for a file of your own."
        )
    tasks: dict[str, Callable[[], Task]] = {name: partial(shipped, name) for name in sets}
    kept = Results(results or "rare_events")
    if data:
        try:
            task = own(data, target, positive)
        except (DataFileError, ValueError) as error:
            raise typer.BadParameter(str(error)) from error
        tasks = {task.name: lambda: task}
        kept = Results(results or Path(f"rare_events_{Path(data).stem}.csv"))
    elif suite_name:
        tasks = suite(suite_name)
        kept = Results(results or Path(f"rare_events_{suite_name}.csv"))
    if not show_only:
        warnings.simplefilter("ignore")  # what does not converge shows in its AUC
        kept.complete(runs(tasks, splits, methods))
    print_tables(kept.lines())


# ---- the tables --------------------------------------------------------------------------

CASE = ["data", "positives"]


def print_tables(lines: list[dict[str, str]]) -> None:
    """Print the tables."""
    if not lines:
        return
    keys = [*CASE, "repeat", "method"]
    frame = pd.DataFrame(lines).query("note == ''").drop_duplicates(keys, keep="last")
    frame = frame.set_index(keys)[[*FIGURES]].astype(float).unstack("method", sort=False)
    methods = [method for method in METHODS if method in frame["auc"]]
    by_auc = [m for m in methods if m not in PRECISE]
    for what in FIGURES:
        print(f"\n## {what.replace('_', ' ')}, mean over splits")
        means(frame[what][by_auc], 1 if what == "processor_seconds" else 4)
    for ours in ("aucmax", "aucmax, moments only", "aucmax, curves and pairs"):
        if ours in by_auc:
            against(ours, [m for m in by_auc if m != ours], frame["auc"], "AUC")
            against_best(ours, frame["auc"])
    if set(PRECISE) <= set(methods):
        print("\n## average precision of what is tuned by it, mean over splits")
        precision = frame["average_precision"].dropna(subset=[*PRECISE])
        means(precision[["aucmax", *PRECISE]], 4)
        for ours, rival in (("aucmax", PRECISE[1]), (PRECISE[0], PRECISE[1])):
            against(ours, [rival], precision, "average precision")


def means(figures: pd.DataFrame, digits: int) -> None:
    """Print the mean over splits, a row a case, a column a method."""
    rows = figures.groupby(CASE, sort=False).mean().iterrows()
    show([*CASE, *map(short, figures)],
         ([*case, *("–" if np.isnan(mean) else f"{mean:.{digits}f}" for mean in values)]
          for case, values in rows))  # fmt: skip


def short(method: str) -> str:
    """Return a method's name for a column: LR with γ, the power of the standard deviation."""
    words = {CHOSEN: "LR, best of six", PRECISE[1]: "LR, best of three, by average precision",
             "logistic regression": "LR", "half-standardised": "γ=½",
             "standardised": "γ=1", "raw": "γ=0"}  # fmt: skip
    for long, brief in words.items():
        method = method.replace(long, brief)
    return method


def chance(d: pd.Series) -> float:
    """Return p of a paired t-test, NaN if there are too few splits to test."""
    return float(ttest_1samp(d, 0.0).pvalue) if len(d) > 1 and np.ptp(d) > 0 else np.nan


def against(ours: str, rivals: list[str], figures: pd.DataFrame, what: str) -> None:
    """Print a comparison with each of the others; .001 in the mean over splits wins a case."""

    def row(rival: str) -> list[Any]:
        differences = (figures[ours] - figures[rival]).dropna().groupby(CASE, sort=False)
        mean, significant = differences.mean(), differences.apply(chance) < 0.05
        few = mean[mean.index.get_level_values("positives").isin(["30", "100"])]
        return [
            short(rival), len(mean), f"{mean.mean():+.4f}", np.sum(mean >= 0.001),
            np.sum(mean.abs() < 0.001), np.sum(mean <= -0.001), np.sum(significant & (mean > 0)),
            np.sum(significant & (mean < 0)), f"{few.mean():+.4f}" if len(few) else "–",
        ]  # fmt: skip

    print(f"\n## {ours} against each of the others, {what}")
    show(["against", "cases", "mean difference", "won", "tied", "lost", "significantly won", "lost",
          "mean difference up to 100 positives"], map(row, rivals))  # fmt: skip


def against_best(ours: str, aucs: pd.DataFrame) -> None:
    """Print a comparison with the logistic regression that has the best test AUC in each case."""
    names = [name for name in LOGISTIC if name in aucs]
    if not names:
        return
    print(f"\n## {ours} against the logistic regression with the best test AUC")
    show(["data", "positives", "splits", "best", "AUC", "ours", "difference", "p"], [])
    mean, p, few = [], [], []
    for (data, positives), case in aucs.groupby(CASE, sort=False):
        differences = -case[names].sub(case[ours], axis=0)
        splits = differences.count()
        if splits.max() == 0:
            continue
        best = differences.loc[:, splits == splits.max()].mean().idxmin()
        difference = differences[best].dropna()
        auc = case[ours][difference.index].mean()
        mean.append(difference.mean())
        p.append(chance(difference))
        if positives in ("30", "100"):
            few.append(mean[-1])
        print(line([data, positives, len(difference), short(best), f"{auc - mean[-1]:.4f}",
                    f"{auc:.4f}", f"{mean[-1]:+.4f}", f"{p[-1]:.3f}"]))  # fmt: skip
    if mean:
        means, sure = np.array(mean), np.array(p) < 0.05
        print(
            f"\n{len(means)} cases: won by .001 or more {np.sum(means >= 0.001)}, tied "
            f"{np.sum(np.abs(means) < 0.001)}, lost {np.sum(means <= -0.001)}; significantly "
            f"(paired t, 5 %, each case by itself) better {np.sum(sure & (means > 0))}, worse "
            f"{np.sum(sure & (means < 0))}; the worst {means.min():+.4f}. Up to 100 positives "
            f"{np.sum(np.array(few) >= 0.002)} of {len(few)} better by .002 or more."
        )
