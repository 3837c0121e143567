"""Contestants on the same repeated splits: scores, seconds, and distance to the optimum."""

import contextlib
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from aucmax import metrics
from aucmax.data.labelled import Labelled
from aucmax.data.rows import as_rows
from aucmax.estimators.folds import Folding, Pairs
from aucmax.estimators.named_loss import NamedLoss
from aucmax.experiments.methods import Task
from aucmax.experiments.paired import PairedTest, resampled_test
from aucmax.experiments.trial import few_of_each, quiet, timed_fit
from aucmax.metrics.stratified import interval_within_folds
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.within_strata import rows_problem

__all__ = [
    "Contestant",
    "Measure",
    "Split",
    "compared",
    "convergence",
    "interval",
    "repeated_splits",
    "run_split",
    "test_share",
    "warm_up",
]

REFERENCE_TOL = 1e-13
Course = tuple[list[float], list[float]]  # passes, and a value after each
TUNING_FOLDS = 5


class Split(NamedTuple):
    """The row numbers of one split."""

    number: int  # counted from 1
    train: np.ndarray
    test: np.ndarray
    folds: Pairs  # of the training rows, for contestants that tune


class Measure:
    """The objective on the training rows of one split, and the lowest value any solver found."""

    def __init__(self, rows: Labelled, part: Split, task: Task) -> None:
        X, y, weight = _taken(rows, part.train)
        strata = rows.coded_strata
        strata = None if strata is None else strata.weighed(task.strata_weight).at(part.train)
        problem = rows_problem(as_rows(X), y, weight, None, strata).scaled(task.standardize)
        penalty = ElasticNet(task.alpha, task.l1_ratio)
        self.objective = NamedLoss(task.loss).objective(problem, penalty)
        self.lowest = np.inf
        with contextlib.suppress(Exception), quiet():
            best = task.model("auto", tol=REFERENCE_TOL, max_iter=max(task.max_iter, 10_000))
            self.value(best.fit(X, y, weight, **_strata_of(best, rows, part.train)).coef_[0])

    def value(self, coef: np.ndarray) -> float:
        """Return J at coefficients of the features as given."""
        value = float(self.objective.value(self.objective.problem.from_features(coef)))
        if np.isfinite(value):
            self.lowest = min(self.lowest, value)
        return value

    def gap(self, value: float) -> float:
        """Return (J − J*) / J*."""
        return (value - self.lowest) / self.lowest if self.lowest > 0 else value - self.lowest


class SplitResult(NamedTuple):
    """An algorithm on one split; NaN for what is not measured of one with its own objective."""

    auc: float
    score: np.ndarray  # of the test rows
    seconds: float
    optimality: float
    objective: float
    gap: float = np.nan


@dataclass
class Contestant:
    """An algorithm, and its result on each split."""

    name: str
    results: list[SplitResult] = field(default_factory=list)
    warning: str | None = None
    error: str | None = None
    status: str = "done"  # or "unfit", "failed", "unfinished": then `error` says why
    on_objective: bool = True  # whether it minimises the objective of the task

    @property
    def aucs(self) -> list[float]:
        """The test AUC on each split."""
        return [result.auc for result in self.results]

    def keep(self, splits: int) -> None:
        """Drop all but the first splits; the result is unfinished if they are not complete."""
        if self.error is None and len(self.results) < splits:
            self.status, self.error = "unfinished", "not reached"
        del self.results[splits:]

    def close(self, measure: Measure) -> None:
        """Measure the gap on the last split, once all contestants have run on it."""
        if self.results and np.isnan(self.results[-1].gap):
            latest = self.results[-1]
            self.results[-1] = latest._replace(gap=measure.gap(latest.objective))


def repeated_splits(rows: Labelled, splits: int, test_size: float, seed: int) -> list[Split]:
    """Return splits that have rows of both classes in each part."""
    positives, n = int(rows.positive.sum()), len(rows.positive)
    folding = Folding.of(rows)
    if min(positives, n - positives) < 2:
        raise ValueError(f"{rows.name}: a split needs two rows of each class.")
    try:
        parts = folding.splits(rows.positive, splits, test_size, seed)
    except ValueError as error:
        raise ValueError(f"{rows.name}: {error}") from None
    for train, test in parts:
        for part in (train, test):
            if len(np.unique(rows.positive[part])) < 2:
                setting = "" if rows.time is not None else f"test_size={test_size:g} and "
                raise ValueError(
                    f"{rows.name}: with {setting}splits={splits} a part of a split has rows of one "
                    "class only; there are too few of the other."
                )
    drawn = []
    for i, (train, test) in enumerate(parts, 1):
        y = rows.positive[train]
        inner = folding.at(train)
        folds = inner.folds(y, max(inner.most(y, TUNING_FOLDS), 2), seed)
        drawn.append(Split(i, train, test, folds))
    return drawn


def _taken(rows: Labelled, part: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return X, the mask of positives and the weights for some of the rows."""
    return rows.X[part], rows.positive[part], rows.weight_of(part)


def _strata_of(model: Any, rows: Labelled, part: np.ndarray) -> dict[str, np.ndarray]:
    """Return the strata of some rows as an argument of a fit, if it takes any."""
    if rows.strata is None or "strata" not in inspect.signature(model.fit).parameters:
        return {}
    return {"strata": rows.strata[part]}


def _auc_of(rows: Labelled, part: np.ndarray, score: np.ndarray, task: Task) -> float:
    """Return the AUC of some rows, within their strata if they have any."""
    y, weight = rows.positive[part], rows.weight_of(part)
    if rows.coded_strata is None:
        return metrics.roc_auc(y, score, weight)
    code = rows.coded_strata.code[part]
    return metrics.stratified_auc(y, score, code, weight, task.strata_weight).auc


def warm_up(run: Contestant, rows: Labelled, task: Task) -> None:
    """Warm up outside the timed region; an error here will recur in the timed run."""
    sample = few_of_each(rows.positive)
    with contextlib.suppress(Exception):
        task.small(run.name).fit(rows.X[sample], rows.positive[sample])


def run_split(run: Contestant, rows: Labelled, part: Split, measure: Measure, task: Task) -> None:
    """Run one algorithm on one split, unless it has failed before."""
    if run.error is not None:
        return
    X = rows.X[part.test]
    try:
        model = task.model(run.name, folds=part.folds)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            strata = _strata_of(model, rows, part.train)
            seconds = timed_fit(model, *_taken(rows, part.train), **strata)
        score = model.decision_function(X)
        auc = _auc_of(rows, part.test, score, task)
    except Exception as error:
        run.status = "failed"
        run.error = " ".join(str(error).split()) or type(error).__name__
        return
    for warning in caught:
        if issubclass(warning.category, UserWarning) and run.warning is None:
            run.warning = " ".join(str(warning.message).split())
    optimality = objective = np.nan
    if run.on_objective:
        optimality, objective = float(model.optimality_), measure.value(model.coef_[0])
    run.results.append(SplitResult(auc, np.asarray(score), seconds, optimality, objective))


def convergence(
    runs: Sequence[Contestant],
    rows: Labelled,
    part: Split,
    task: Task,
    begin: Callable[[int, int, str], object],
) -> dict[str, Course]:
    """Return how each solver converges on one split: its gap after each pass of a separate run.

    ``begin`` is called before each run with its number, the number of runs and its name.
    """
    measure, courses = Measure(rows, part, task), {}
    solvers = [run for run in runs if run.error is None and run.on_objective]
    for i, run in enumerate(solvers):
        begin(i, len(solvers), f"convergence of {run.name}")
        with contextlib.suppress(Exception):
            passes, values = _course(run.name, rows, part, task)
            measure.lowest = min(measure.lowest, *values, run.results[0].objective)
            courses[run.name] = passes, values
    return {
        name: (passes, [measure.gap(value) for value in values])
        for name, (passes, values) in courses.items()
    }


def _course(name: str, rows: Labelled, part: Split, task: Task) -> Course:
    """Return a solver's passes over one split and the objective after each."""
    passes: list[float] = []
    values: list[float] = []

    def record(at: Any) -> None:
        passes.append(at.passes)
        values.append(at.objective)

    model = task.model(name, callback=record)
    with quiet():
        model.fit(*_taken(rows, part.train), **_strata_of(model, rows, part.train))
    return passes, values


def compared(
    run: Contestant,
    first: Contestant,
    rows: Labelled,
    parts: Sequence[Split],
    task: Task,
    confidence: float = 0.95,
) -> PairedTest:
    """Return the paired test of two contestants: on the rows of one split, else over the splits.

    That of rows is DeLong's, or that of the AUC within their strata.
    """
    by: dict[str, Any]
    if len(parts) == 1 and rows.coded_strata is not None:
        test = parts[0].test
        scores = rows.positive[test], run.results[0].score, first.results[0].score
        by = {"sample_weight": rows.weight_of(test), "strata_weight": task.strata_weight}
        strata = rows.coded_strata.code[test]
        return PairedTest(*metrics.stratified_auc_test(*scores, strata, confidence, **by))
    if len(parts) == 1:
        test = parts[0].test
        pair = rows.positive[test], run.results[0].score, first.results[0].score
        by = {"sample_weight": rows.weight_of(test), "groups": rows.groups_of(test)}
        _, statistic, p = metrics.auc_test(*pair, **by)
        return PairedTest(*metrics.auc_difference(*pair, confidence, **by), statistic, p)
    differences = np.subtract(run.aucs, first.aucs).tolist()
    return resampled_test(differences, test_share(parts), confidence)


def test_share(parts: Sequence[Split]) -> float:
    """Return the number of test rows divided by the number of training rows, mean of the splits."""
    return float(np.mean([len(part.test) / len(part.train) for part in parts]))


def interval(
    run: Contestant, rows: Labelled, parts: Sequence[Split], task: Task
) -> metrics.AUCInterval:
    """Return the mean test AUC with its interval; a row in several test parts counts once."""
    tests = [part.test for part in parts]
    test = np.concatenate(tests)
    score = np.concatenate([result.score for result in run.results])
    number = np.repeat([part.number for part in parts], [len(test) for test in tests])
    if rows.coded_strata is not None:
        held_out = rows.positive[test], rows.weight_of(test), score
        return interval_within_folds(
            held_out, rows.coded_strata.code[test], number, task.strata_weight
        )
    return metrics.cv_auc_interval(
        rows.positive[test],
        score,
        number,
        sample_weight=rows.weight_of(test),
        groups=test if rows.groups is None else rows.groups_of(test),
    )
