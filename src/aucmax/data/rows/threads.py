"""Threads: our own for passes over many rows, but one for BLAS, whose threads spin while they wait.

BLAS splits even small products over all cores and waits for the last of them. On a busy machine
that takes many times the processor time of one thread, and results depend on the number of threads.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["on_threads", "one_blas_thread"]

_limited = False  # whether a context is open


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context, or decorator, in which BLAS uses one thread.

    The setting applies to the whole process, so only the outermost context in the main thread
    changes it: OpenBLAS ignores what other threads set.
    """
    global _limited
    if _limited or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(library, library.get_num_threads()) for library in _libraries()]
    _limited = True
    try:
        for library, _ in before:
            library.set_num_threads(1)
        yield
    finally:
        for library, threads in before:
            library.set_num_threads(threads)
        _limited = False


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="aucmax")


# a fork copies the pool without its threads, so work submitted to it would wait forever
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _available() -> int:
    """Return the maximum number of threads: the available cores, or NUMBA_NUM_THREADS.

    Numba's ``get_num_threads`` would start its own threads and acquire a lock that forked
    processes share: a process killed while it holds the lock would block all others.
    """
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def on_threads(work: Callable[[int, int, int], None], blocks: Sequence[tuple[int, int]]) -> None:
    """Call work(k, first row, end row) for every block k, on threads if there are several."""
    threads = min(_available(), len(blocks)) if len(blocks) > 1 else 1
    if threads == 1:
        for k, (lo, hi) in enumerate(blocks):
            work(k, lo, hi)
        return
    tasks = [_pool(threads).submit(work, k, lo, hi) for k, (lo, hi) in enumerate(blocks)]
    for task in tasks:
        task.result()
