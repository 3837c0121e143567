"""How tables are run: repeated folds, tuning, and a row of results for every single run."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from aucmax.experiments.jobs import Row, key_of
from aucmax.experiments.methods import METHODS, facts_of, first_name
from aucmax.experiments.sources import Source
from aucmax.experiments.trial import TrainTest, finite_auc, timed_fit
from aucmax.metrics import roc_auc

__all__ = ["Protocol", "TableJob", "single_runs"]

_TUNE_FOLDS = 3


@dataclass(frozen=True)
class Protocol:
    """How a table is run.

    ``tuning`` is "nested" (on every training part) or "authors" (once, on the first). The papers'
    authors did the latter, which leaks test rows of later parts into the tuning.
    """

    runs: int  # repetitions
    folds: int  # of cross-validation in each repetition; 0 for random 80/20 splits
    tuning: str
    tune_rows: int  # maximum number of rows that tuning uses
    coarse: bool  # tune on a wide lattice of the grid only
    seed: int  # of the splits and the methods

    @property
    def parts(self) -> int:
        """Number of single runs of a method on a data set."""
        return self.runs * max(self.folds, 1)

    @property
    def tuned_parts(self) -> int:
        """Number of parts on whose training rows settings are tuned: all of them, or one."""
        return self.parts if self.tuning == "nested" else 1

    def quick(self) -> "Protocol":
        """Return a version that takes seconds: one run, tuned on few rows over a wide lattice."""
        return replace(
            self,
            runs=1 if self.folds else 2,
            folds=min(self.folds, 3),
            tune_rows=min(self.tune_rows, 300),
            coarse=True,
        )


def single_runs(positive: np.ndarray, protocol: Protocol) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the stratified (training rows, test rows) of every single run."""
    blank = np.zeros(len(positive))
    if protocol.folds == 0:
        random = StratifiedShuffleSplit(protocol.runs, test_size=0.2, random_state=protocol.seed)
        return list(random.split(blank, positive))
    parts = []
    for run in range(protocol.runs):
        folds = StratifiedKFold(protocol.folds, shuffle=True, random_state=protocol.seed + run)
        parts += list(folds.split(blank, positive))
    return parts


@dataclass(frozen=True)
class TableJob:
    """One tuning of a method on a part of a data set, or one fit and its test."""

    source: Source
    method: str
    protocol: Protocol
    part: int
    settings: tuple[tuple[str, float], ...] | None = None  # None: tune

    @property
    def title(self) -> str:
        return f"{self.method}, {self.source.name}"

    @property
    def key(self) -> str:
        p, method = self.protocol, METHODS[self.method]
        run, part = self._place
        tuning = [p.tune_rows, p.coarse, method.search.__name__]
        return key_of(
            {
                "source": self.source.facts,
                "method": first_name(self.method),
                "axes": method.axes,
                "note": method.note,
                "splits": [p.folds, p.seed + run if p.folds else p.seed],
                "runs": p.runs if p.folds == 0 else None,
                "part": part if p.folds else self.part,
                "tuning": tuning if self.settings is None else None,
                "settings": self.settings,
                "seed": p.seed,
            }
        )

    @property
    def about(self) -> Row:
        run, fold = self._place
        return {
            "data": self.source.name,
            "method": self.method,
            "run": run,
            "fold": fold,
            "seed": self.protocol.seed,
        }

    @property
    def _place(self) -> tuple[int, int]:
        """Its repetition, and its fold within it."""
        return divmod(self.part, max(self.protocol.folds, 1))

    def run(self) -> Row:
        X, positive = self.source.load()
        train, test = single_runs(positive, self.protocol)[self.part]
        if self.settings is None:
            return self.tune(X[train], positive[train])
        return self._fit(TrainTest(X[train], positive[train], X[test], positive[test]))

    def tune(self, X: Any, positive: np.ndarray) -> Row:
        method, seed = METHODS[self.method], self.protocol.seed
        rows = np.arange(len(positive))
        if len(rows) == self.protocol.tune_rows + 1:  # stratified splits need two test rows
            rows = np.delete(rows, np.argmax(positive == (np.mean(positive) > 0.5)))
        elif len(rows) > self.protocol.tune_rows:
            sampler = StratifiedShuffleSplit(
                1, train_size=self.protocol.tune_rows, random_state=seed
            )
            rows, _ = next(sampler.split(rows, positive))
            rows = np.sort(rows)
        X, positive = X[rows], positive[rows]
        folds = StratifiedKFold(_TUNE_FOLDS, shuffle=True, random_state=seed)
        parts, build = [], method.build
        for train, test in folds.split(rows, positive):
            X_train, X_test = X[train], X[test]
            if method.coordinates is not None:
                coordinates = method.coordinates(X_train, seed)
                X_train, X_test = coordinates(X_train), coordinates(X_test)
                build = METHODS[method.inside].build
            parts.append(TrainTest(X_train, positive[train], X_test, positive[test]))

        def value(at: dict[str, float]) -> float:
            total = 0.0
            for part in parts:
                model = build(at, facts_of(part.X, part.y), seed).fit(part.X, part.y)
                total += finite_auc(model, part.X_test, part.y_test, math.nan)
                if math.isnan(total):
                    break
            return total / len(parts)

        best = method.search(value, method.axes, self.protocol.coarse)
        return {
            "kind": "tuning",
            "settings": best.at,
            "tuning_auc": best.value,
            "tried": best.tried,
            "rows": len(rows),
        }

    def _fit(self, part: TrainTest) -> Row:
        at, seed = dict(self.settings or ()), self.protocol.seed + self.part
        model = METHODS[self.method].build(at, facts_of(part.X, part.y), seed)
        seconds = timed_fit(model, part.X, part.y)
        passes = getattr(model, "n_iter_", None)
        return {
            "kind": "fit",
            "settings": at,
            "auc": float(roc_auc(part.y_test, model.decision_function(part.X_test))),
            "seconds": seconds,
            "passes": math.nan if passes is None else float(np.max(passes)),
            "objective": float(getattr(model, "objective_", math.nan)),
            "optimality": float(getattr(model, "optimality_", math.nan)),
        }
