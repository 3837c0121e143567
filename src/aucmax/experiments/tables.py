"""A published table beside ours: run its cells, compare them, write them out."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from aucmax.basics.replacing import replacing
from aucmax.experiments.methods import REFERENCE
from aucmax.experiments.protocol import Job, Protocol, Source
from aucmax.experiments.store import Store
from aucmax.experiments.workers import shared_out

__all__ = ["Cell", "Published", "Remark", "Results", "TableSpec", "run_table"]


class Remark(NamedTuple):
    """Why published figures may differ from ours.

    Parameters
    ----------
    words : str
    side : int
        1 explains those below ours, −1 those above, 0 both.
    """

    words: str
    side: int = 0


@dataclass(frozen=True)
class TableSpec:
    """A published table.

    Parameters
    ----------
    name : str
        As ``aucmax reproduce`` calls it.
    title : str
        What it is, and whose.
    published : str
        The file of its figures, in ``published``.
    sources : sequence of Source
        The data sets it can be run on, as the paper prepared them.
    methods : sequence of str
        Its columns, names of `METHODS`; the first is the one that tests compare with.
    protocol : Protocol
        How the paper ran it, tuned on every training part.
    columns : dict of str to str
        Published names of the methods whose names differ here.
    tested : bool
        Whether the paper tests every method against the first.
    remarks : dict of (data set, method) to Remark
        Why a published figure may differ from ours; "*" stands for all.
    """

    name: str
    title: str
    published: str
    sources: Sequence[Source]
    methods: Sequence[str]
    protocol: Protocol
    columns: dict[str, str]
    tested: bool
    remarks: dict[tuple[str, str], Remark]


@dataclass(frozen=True)
class Published:
    """A published figure: the mean and the standard deviation of test AUCs."""

    mean: float
    std: float


@dataclass(frozen=True)
class Cell:
    """A method on a data set: its single runs, and the published figure.

    Parameters
    ----------
    aucs : tuple of float
        Test AUCs, in the order of the single runs.
    seconds : float
        A fit, on average; NaN without runs.
    optimality : float
        The largest distance to the optimum of the method's own objective.
    published : Published or None
        The paper's.
    errors : tuple of str
        Of runs that failed.
    """

    data: str
    method: str
    aucs: tuple[float, ...]
    seconds: float
    optimality: float
    published: Published | None
    errors: tuple[str, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.aucs)) if self.aucs else float("nan")

    @property
    def std(self) -> float:
        return float(np.std(self.aucs, ddof=1)) if len(self.aucs) > 1 else float("nan")

    @property
    def off(self) -> float:
        """Ours minus theirs, in their standard deviations."""
        if self.published is None or not self.aucs or not self.published.std > 0:
            return float("nan")
        return (self.mean - self.published.mean) / self.published.std

    def against(self, other: "Cell") -> str | None:
        """ "win", "tie" or "loss" of this one, by a paired t-test at 95 %; None without runs."""
        if len(self.aucs) != len(other.aucs) or len(self.aucs) < 2:
            return None
        difference = np.subtract(self.aucs, other.aucs)
        if np.ptp(difference) == 0.0:
            return "tie" if difference[0] == 0.0 else "win" if difference[0] > 0 else "loss"
        p = stats.ttest_rel(self.aucs, other.aucs).pvalue
        return "tie" if not p < 0.05 else "win" if difference.mean() > 0 else "loss"


@dataclass(frozen=True)
class Results:
    """All cells of a table, by (data set, method), and every single run.

    `absent` says why data sets of the table were not run; `unasked` are those that it leaves out.
    """

    spec: TableSpec
    protocol: Protocol
    cells: dict[tuple[str, str], Cell]
    rows: list[dict[str, Any]]
    absent: Mapping[str, str]
    unasked: list[str]
    seconds: dict[str, float]

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(data for data, _ in self.cells))


def published(spec: TableSpec) -> dict[tuple[str, str], Published]:
    """Return the published figures by (data set, our name of the method)."""
    ours = {theirs: name for name, theirs in spec.columns.items()}
    text = resources.files("aucmax.experiments") / "published" / f"{spec.published}.csv"
    found = {}
    for row in csv.DictReader(text.read_text(encoding="utf-8").splitlines()):
        name = ours.get(row["method"], row["method"])
        found[row["dataset"], name] = Published(float(row["auc_mean"]), float(row["auc_std"]))
    return found


def run_table(
    spec: TableSpec,
    sources: Sequence[Source],
    protocol: Protocol,
    store: Store,
    n_jobs: int,
    done: Callable[[str, float], None],
    absent: Mapping[str, str] = MappingProxyType({}),
) -> Results:
    """Run what is not in the store yet, and gather the cells.

    Parameters
    ----------
    spec : TableSpec
    sources : sequence of Source
        Those that are there.
    protocol : Protocol
    store : Store
        Finished jobs, and where new ones go.
    n_jobs : int
        Processes.
    done : callable
        Called with the name of each job and its seconds as it ends, 0 for those in the store.
    absent : mapping of str to str
        Data sets that stand in the table with published figures only, and why.
    """
    names = [*dict.fromkeys((*spec.methods, REFERENCE))]
    pairs = [(source, name) for source in sources for name in names]
    tunings = {
        (source.name, name, part): Job(source, name, protocol, part)
        for source, name in pairs
        for part in (range(protocol.parts) if protocol.tuning == "nested" else (0,))
    }
    tuned = _all(tunings, store, n_jobs, done)
    fits = {}
    for source, name in pairs:
        for part in range(protocol.parts):
            at = tuned.get((source.name, name, part if protocol.tuning == "nested" else 0))
            if at is not None and "error" not in at:
                settings = tuple(sorted(at["settings"].items()))
                fits[source.name, name, part] = Job(source, name, protocol, part, settings)
    fitted = _all(fits, store, n_jobs, done)
    theirs = published(spec)
    cells, seconds = {}, dict.fromkeys((source.name for source in sources), 0.0)
    rows = []
    for source, name in pairs:
        found = [fitted[k] for k in fitted if k[:2] == (source.name, name)]
        tried = [tuned[k] for k in tuned if k[:2] == (source.name, name)]
        good = [row for row in found if "error" not in row]
        errors = [row["error"] for row in (*tried, *found) if "error" in row]
        whole = len(good) == protocol.parts
        cells[source.name, name] = Cell(
            source.name,
            name,
            tuple(row["auc"] for row in good) if whole else (),
            float(np.mean([row["seconds"] for row in good])) if good else float("nan"),
            float(np.max([row["optimality"] for row in good])) if good else float("nan"),
            theirs.get((source.name, name)),
            tuple(dict.fromkeys(errors)),
        )
        rows += [row for row in (*tried, *found) if "error" in row] + good
    for name, took in _job_seconds(tunings, tuned) | _job_seconds(fits, fitted):
        seconds[name] += took
    nan = float("nan")
    for data, name in product(absent, spec.methods):
        cells[data, name] = Cell(data, name, (), nan, nan, theirs.get((data, name)), ())
    order = [source.name for source in (*spec.sources, *sources)]
    cells = dict(sorted(cells.items(), key=lambda item: order.index(item[0][0])))
    unasked = [d for d in dict.fromkeys(d for d, _ in theirs) if d not in {d for d, _ in cells}]
    return Results(spec, protocol, cells, rows, absent, unasked, seconds)


def _job_seconds(jobs: dict[Any, Job], rows: dict[Any, dict[str, Any]]) -> set[tuple[str, float]]:
    """Data set and seconds of each job, a shared one once."""
    once = {job.key: (job.source.name, rows[place]["job_seconds"]) for place, job in jobs.items()}
    return set(once.values())


def _all(
    jobs: dict[Any, Job], store: Store, n_jobs: int, done: Callable[[str, float], None]
) -> dict[Any, dict[str, Any]]:
    """Run the jobs that the store does not hold; return the row of each."""
    keys = {place: job.key for place, job in jobs.items()}
    todo: dict[str, Job] = {}
    for place, job in jobs.items():
        if keys[place] in store:
            done(f"{job.method}, {job.source.name}", 0.0)
        elif keys[place] not in todo:
            todo[keys[place]] = job
        else:
            done(f"{job.method}, {job.source.name}", 0.0)
    for key, row in _run(todo, n_jobs):
        if "error" not in row:  # a failure is tried again next time
            store.add(key, row)
        else:
            store.rows[key] = row
        done(f"{row['method']}, {row['data']}", row["job_seconds"])
    # one method may have run under another of its names
    return {place: {**store[key], "method": jobs[place].method} for place, key in keys.items()}


def _run(todo: dict[str, Job], n_jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if n_jobs == 1 or len(todo) < 2:
        for key, job in todo.items():
            yield key, job.run()
        return

    yield from shared_out(_one, todo.items(), n_jobs)


def _one(key: str, job: Job) -> tuple[str, dict[str, Any]]:
    return key, job.run()


def write_runs(results: Results, path: Path) -> None:
    """Write every single run as CSV, settings as columns of their own."""
    settings = sorted({name for row in results.rows for name in row.get("settings", {})})
    head = ["data", "method", "run", "fold", "seed", "auc", "seconds", "passes", "objective",
            "optimality", *settings, "error"]  # fmt: skip
    with replacing(path, text=True) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for row in results.rows:
            flat = {**row, **row.get("settings", {})}
            writer.writerow([flat.get(name, "") for name in head])


def quick(protocol: Protocol) -> Protocol:
    """Return a version that takes seconds: one run, few rows and a wide lattice to tune."""
    return replace(
        protocol,
        runs=1 if protocol.folds else 2,
        folds=min(protocol.folds, 3),
        tune_rows=min(protocol.tune_rows, 300),
        coarse=True,
    )
