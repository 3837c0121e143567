"""What the benchmarks share: how a call is timed, and the labels each data set gets."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from sklearn.model_selection import StratifiedShuffleSplit

from aucmax import datasets

# name -> (split, binarize): the grouping used throughout the benchmarks and data tests
BINARY: dict[str, tuple[str, Any]] = {
    "diabetes": ("all", None),
    "fourclass": ("all", None),
    "german": ("all", None),
    "splice": ("all", None),
    "usps": ("all", "even-odd"),
    "letter": ("all", "even-odd"),
    "magic04": ("all", None),
    "a9a": ("train", None),
    "mnist": ("all", "even-odd"),
    "connect-4": ("all", 1),
    "sector": ("train", "even-odd"),
    "news20": ("train", "even-odd"),
}


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median seconds of a call, after one call that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def processor_seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the least processor seconds of a call, after one call that is not counted.

    Other work on the machine changes this least.
    """
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def binary(name: str, scale: str | None = "unit-norm") -> tuple[Any, Any]:
    """Return (X, y) of a data set with labels −1 and +1."""
    split, how = BINARY[name]
    data = datasets.load(name, split=split, binarize=how, scale=scale)
    return data.data, data.target


def splits(X: Any, y: Any, count: int = 5) -> list[Any]:
    """Return 80/20 splits, the same for every benchmark."""
    return list(StratifiedShuffleSplit(count, test_size=0.2, random_state=0).split(X, y))
