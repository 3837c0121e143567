"""Processes that share out the parts of an experiment."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import Parallel, delayed

__all__ = ["shared_out"]


def shared_out(
    run: Callable[..., Any], parts: Iterable[tuple[Any, ...]], n_jobs: int
) -> Iterator[Any]:
    """Run a function on each part, in so many processes; yield the results as they come.

    Ctrl-C, which a terminal sends to all of its processes, is for the one that waits for the
    others; it ends them.

    Parameters
    ----------
    run : callable
        What is run.
    parts : iterable of tuple
        Its arguments.
    n_jobs : int
        Processes, as joblib counts them; with 1 all is run in this one.
    """
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from pool(delayed(_run)(run, *part) for part in parts)


def _run(run: Callable[..., Any], *part: Any) -> Any:
    worker = multiprocessing.current_process().name != "MainProcess"
    if worker and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run(*part)
