"""The jobs of an experiment: run in processes, stored in a file, resumed after a kill."""

import contextlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from joblib import Parallel, delayed

from aucmax.basics.journal import Journal, Row, key_of, rows_in
from aucmax.basics.locks import locked
from aucmax.experiments.sources import Source
from aucmax.experiments.trial import quiet

__all__ = ["Job", "Row", "Store", "attempt", "core_seconds", "finish", "key_of", "locked_store"]

Place = TypeVar("Place", bound=Hashable)


class Job(Protocol):
    """A unit of work that is run and stored separately."""

    @property
    def source(self) -> Source: ...

    @property
    def title(self) -> str:
        """Its name in the progress line."""

    @property
    def key(self) -> str:
        """A digest of everything that determines the result."""

    @property
    def about(self) -> Row:
        """The part of its row that is known before it runs."""

    def run(self) -> Row:
        """Return the rest of its row."""


# the keys that a row of each kind must have; rows without them are ignored
_PARTS = {
    "figure": {"key", "rows", "job_seconds"},
    "tuning": {"key", "data", "method", "settings", "job_seconds"},
    "fit": {"key", "data", "method", "settings", "auc", "seconds", "optimality", "job_seconds"},
}


def _is_whole(row: Row) -> bool:
    return _PARTS[row.get("kind", "figure")] <= row.keys()


class Store(Journal):
    """The rows of an experiment.

    Parameters
    ----------
    path : Path
    beside : sequence of Path
        Files of other experiments, which may contain some of the same results. They are only read.
    """

    def __init__(self, path: Path, beside: Sequence[Path] = ()) -> None:
        super().__init__(path, _is_whole)
        for neighbour in reversed(beside):
            self.rows = rows_in(neighbour, _is_whole) | self.rows

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def __getitem__(self, key: str) -> Row:
        return self.rows[key]


@contextlib.contextmanager
def locked_store(path: Path, beside: Sequence[Path] = ()) -> Iterator[Store]:
    """Yield a `Store` that no other process can write to."""
    busy = (
        f"another command is writing to {path.parent}; wait until it ends, or name another folder."
    )
    with locked(path.with_name(".lock"), "a store of results", busy):
        yield Store(path, beside)


def finish(
    jobs: Mapping[Place, Job], store: Store, n_jobs: int, on_done: Callable[[str, float], None]
) -> dict[Place, Row]:
    """Run the jobs whose results are not stored yet; return the row of each.

    Parameters
    ----------
    jobs : mapping of place to Job
        Jobs with the same key are run once.
    store : Store
    n_jobs : int
        Processes, as joblib counts them.
    on_done : callable
        Called as each job ends, with its title and seconds: 0 if it was not run.
    """
    keys = {place: job.key for place, job in jobs.items()}
    todo: dict[str, Job] = {}
    for place, job in jobs.items():
        if keys[place] in store or keys[place] in todo:
            on_done(job.title, 0.0)
        else:
            todo[keys[place]] = job
    for key, row in _in_processes(todo, n_jobs):
        if "error" in row:
            store.rows[key] = row  # not on disk: it is tried again next time
        else:
            store.add(key, row)
        on_done(todo[key].title, row["job_seconds"])
    return {place: store[key] for place, key in keys.items()}


def attempt(job: Job) -> Row:
    """Run a job; a failure becomes its row's ``error``."""
    row, started = job.about, time.perf_counter()
    try:
        with quiet():
            row |= job.run()
    except Exception as error:
        row["error"] = " ".join(f"{type(error).__name__}: {error}".split())
    return {**row, "job_seconds": time.perf_counter() - started}


def _in_processes(todo: Mapping[str, Job], n_jobs: int) -> Iterator[tuple[str, Row]]:
    """Run jobs in processes; yield the key and the row of each as it ends.

    A terminal sends Ctrl-C to every process. Workers ignore it, because the parent process ends
    them.
    """
    if n_jobs == 1 or len(todo) < 2:
        yield from ((key, attempt(job)) for key, job in todo.items())
        return
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from pool(delayed(_in_worker)(key, job) for key, job in todo.items())


def _in_worker(key: str, job: Job) -> tuple[str, Row]:
    worker = multiprocessing.current_process().name != "MainProcess"
    if worker and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return key, attempt(job)


def core_seconds(jobs: Mapping[Place, Job], rows: Mapping[Place, Row]) -> dict[str, float]:
    """Return the core seconds that each data set took; a shared job counts once."""
    by_key = {job.key: (job.source.name, rows[at]["job_seconds"]) for at, job in jobs.items()}
    seconds: dict[str, float] = {}
    for data, took in by_key.values():
        seconds[data] = seconds.get(data, 0.0) + took
    return seconds
