"""How the papers' tables were run: repeated folds, tuning, and one row for every single run."""

import contextlib
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from aucmax import datasets
from aucmax.experiments.methods import METHODS, facts_of, first_name
from aucmax.experiments.store import key_of
from aucmax.metrics import roc_auc

__all__ = [
    "Job",
    "Presence",
    "Protocol",
    "Source",
    "digest_of",
    "present",
    "quiet",
    "rows_of_source",
    "single_runs",
]

_TUNE_FOLDS = 3


@dataclass(frozen=True)
class Source:
    """A data set as a paper prepared it.

    Parameters
    ----------
    name : str
        As `aucmax.datasets` calls it.
    binarize : str, tuple or None
        Which classes are positive.
    scale : str, tuple of str or None
        Of rows or features, one after the other.
    made : bool
        Whether the experiment makes its rows itself: nothing to load.
    split : {"all", "train", "test"}
        Which of its rows the paper counts.
    """

    name: str
    binarize: Any = None
    scale: str | tuple[str, ...] | None = None
    made: bool = False
    split: str = "all"

    @property
    def facts(self) -> list[Any]:
        """What determines its rows, for the keys of results."""
        digest = digest_of(self.name, self.split)
        return [self.name, self.split, self.binarize, self.scale, digest]

    def load(self) -> tuple[Any, np.ndarray]:
        """Return (X, is positive)."""
        return rows_of_source(self)


@lru_cache(maxsize=2)
def rows_of_source(source: Source) -> tuple[Any, np.ndarray]:
    """Return (X, is positive); the last two sources are kept."""
    data = datasets.load(source.name, source.split, binarize=source.binarize)
    X, y = data.data, np.asarray(data.target)
    for how in (source.scale,) if isinstance(source.scale, str) else source.scale or ():
        X = datasets.scale(X, how)
    return X, y == y.max()


@dataclass(frozen=True)
class Protocol:
    """How a table is run.

    Parameters
    ----------
    runs : int
        Repetitions.
    folds : int
        Cross-validation folds of a repetition; 0 for random 80/20 splits.
    tuning : {"nested", "authors"}
        "nested" tunes on every training part; "authors" once, on the first, as they did, which
        leaks rows that later parts are tested on into the tuning.
    tune_rows : int
        Rows of a training part that tuning may use, at most.
    coarse : bool
        Tune on the wide lattice of the grid only.
    seed : int
        Of the splits and the methods.
    """

    runs: int
    folds: int
    tuning: str
    tune_rows: int
    coarse: bool
    seed: int

    @property
    def parts(self) -> int:
        """Single runs of a method on a data set."""
        return self.runs * max(self.folds, 1)


def single_runs(positive: np.ndarray, protocol: Protocol) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (training rows, test rows) of every single run, stratified."""
    blank = np.zeros(len(positive))
    if protocol.folds == 0:
        random = StratifiedShuffleSplit(protocol.runs, test_size=0.2, random_state=protocol.seed)
        return list(random.split(blank, positive))
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for run in range(protocol.runs):
        folds = StratifiedKFold(protocol.folds, shuffle=True, random_state=protocol.seed + run)
        parts += list(folds.split(blank, positive))
    return parts


@dataclass(frozen=True)
class Job:
    """One tuning, or one fit and its test, of a method on a part of a data set."""

    source: Source
    method: str
    protocol: Protocol
    part: int
    settings: tuple[tuple[str, float], ...] | None = None  # None: tune

    @property
    def key(self) -> str:
        """A digest of all that determines the result."""
        p = self.protocol
        return key_of(
            {
                "source": self.source.facts,
                "method": first_name(self.method),
                "axes": METHODS[self.method].axes,
                "note": METHODS[self.method].note,
                "splits": [p.folds, p.seed + self.part // max(p.folds, 1) if p.folds else p.seed],
                "runs": p.runs if p.folds == 0 else None,
                "part": self.part % p.folds if p.folds else self.part,
                "tuning": self._tuning() if self.settings is None else None,
                "settings": self.settings,
                "seed": p.seed,
            }
        )

    def _tuning(self) -> list[Any]:
        """What determines the settings that tuning finds, beside the rows and the grid."""
        p = self.protocol
        return [p.tune_rows, p.coarse, METHODS[self.method].search.__name__]

    def run(self) -> dict[str, Any]:
        """Do it; a failure becomes the row's ``error``."""
        row: dict[str, Any] = {
            "data": self.source.name,
            "method": self.method,
            "run": self.part // max(self.protocol.folds, 1),
            "fold": self.part % self.protocol.folds if self.protocol.folds else 0,
            "seed": self.protocol.seed,
        }
        started = time.perf_counter()
        try:
            X, positive = self.source.load()
            train, test = single_runs(positive, self.protocol)[self.part]
            if self.settings is None:
                row |= self._tune(X[train], positive[train])
            else:
                row |= self._fit(X, positive, train, test)
        except Exception as error:
            row["error"] = " ".join(f"{type(error).__name__}: {error}".split())
        row["job_seconds"] = time.perf_counter() - started
        return row

    def _tune(self, X: Any, positive: np.ndarray) -> dict[str, Any]:
        method, seed = METHODS[self.method], self.protocol.seed
        rows = np.arange(len(positive))
        if len(rows) == self.protocol.tune_rows + 1:  # which stratified splits refuse
            rows = np.delete(rows, np.argmax(positive == (np.mean(positive) > 0.5)))
        elif len(rows) > self.protocol.tune_rows:
            some = StratifiedShuffleSplit(1, train_size=self.protocol.tune_rows, random_state=seed)
            rows, _ = next(some.split(rows, positive))
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
            parts.append((X_train, positive[train], X_test, positive[test]))

        def value(at: dict[str, float]) -> float:
            aucs = []
            for X_train, y_train, X_test, y_test in parts:
                with quiet():
                    model = build(at, facts_of(X_train, y_train), seed).fit(X_train, y_train)
                    scores = model.decision_function(X_test)
                if not np.all(np.isfinite(scores)):
                    return float("nan")
                aucs.append(roc_auc(y_test, scores))
            return float(np.mean(aucs))

        found = method.search(value, method.axes, self.protocol.coarse)
        return {
            "kind": "tuning",
            "settings": found.at,
            "tuning_auc": found.value,
            "tried": found.tried,
            "rows": len(rows),
        }

    def _fit(
        self, X: Any, positive: np.ndarray, train: np.ndarray, test: np.ndarray
    ) -> dict[str, Any]:
        assert self.settings is not None
        at = dict(self.settings)
        facts = facts_of(X[train], positive[train])
        model = METHODS[self.method].build(at, facts, self.protocol.seed + self.part)
        X_train, X_test = X[train], X[test]
        with quiet():
            started = time.perf_counter()
            model.fit(X_train, positive[train])
            seconds = time.perf_counter() - started
            scores = model.decision_function(X_test)
        return {
            "kind": "fit",
            "settings": at,
            "auc": float(roc_auc(positive[test], scores)),
            "seconds": seconds,
            "passes": _number(getattr(model, "n_iter_", None)),
            "objective": float(getattr(model, "objective_", np.nan)),
            "optimality": float(getattr(model, "optimality_", np.nan)),
        }


def _number(value: Any) -> float:
    return float("nan") if value is None else float(np.max(value))


@lru_cache(maxsize=64)
def digest_of(name: str, split: str = "all") -> str:
    """Return the digests of a data set's files as they are here, for the keys of results."""
    if name not in datasets.names():
        return ""
    return ",".join(digest[:12] for digest in datasets.load(name, split).sha256)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What does not converge shows in its AUC, and in its optimality."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Presence(NamedTuple):
    """Which data sets are there.

    Parameters
    ----------
    there : list of Source
        They can be read.
    missing : list of str
        Names of those that have no file.
    broken : dict of str to str
        What is wrong with the files of others.
    altered : list of str
        Of those that are there, the names whose files are not the registry's.
    """

    there: list[Source]
    missing: list[str]
    broken: dict[str, str]
    altered: list[str]

    @property
    def absent(self) -> dict[str, str]:
        """Why the others cannot be run, by name."""
        words = {name: f"data not found: aucmax datasets fetch {name}" for name in self.missing}
        return words | dict.fromkeys(self.broken, "its files cannot be read")


def present(sources: Sequence[Source]) -> Presence:
    """Return which data sets are there."""
    found = Presence([], [], {}, [])
    for source in sources:
        if source.made:
            found.there.append(source)
            continue
        try:
            datasets.locate(source.name, source.split)
        except ValueError:
            found.missing.append(source.name)
            continue
        try:
            verified = datasets.load(source.name, source.split).verified
        except Exception as error:
            found.broken[source.name] = str(error)
            continue
        found.there.append(source)
        if verified is False:
            found.altered.append(source.name)
    return found
