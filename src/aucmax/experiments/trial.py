"""The steps of a single run: a split, a stream of rows, a warm-up, a timed fit, its AUC."""

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax.metrics import roc_auc

__all__ = [
    "STREAM_POINTS",
    "TrainTest",
    "few_of_each",
    "finite_auc",
    "portions",
    "quiet",
    "timed_fit",
    "train_test",
]

STREAM_POINTS = 25  # how often a stream is evaluated
_WARM_UP_ROWS = 40  # of each class


class TrainTest(NamedTuple):
    """Rows to train on and rows to test on."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def train_test(X: Any, y: np.ndarray, test_size: float, seed: int) -> TrainTest:
    """Make a random stratified split."""
    split = StratifiedShuffleSplit(1, test_size=test_size, random_state=seed)
    train, test = next(split.split(np.zeros(len(y)), y))
    return TrainTest(X[train], y[train], X[test], y[test])


def portions(n: int, seed: int) -> Iterator[np.ndarray]:
    """Yield all row numbers in random order, in portions that end at evenly spaced log counts.

    The first 20 rows are one portion.
    """
    order = np.random.RandomState(seed).permutation(n)
    yield from np.split(order, np.unique(np.geomspace(20, n, STREAM_POINTS).astype(int)))[:-1]


def few_of_each(positive: np.ndarray) -> np.ndarray:
    """Return the first rows of each class, enough for a warm-up fit that compiles the kernels."""
    return np.concatenate([np.flatnonzero(rows)[:_WARM_UP_ROWS] for rows in (positive, ~positive)])


def timed_fit(
    model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None, **of_rows: Any
) -> float:
    """Fit a model and return the seconds that it took."""
    if sample_weight is not None:
        of_rows["sample_weight"] = sample_weight
    started = time.perf_counter()
    model.fit(X, y, **of_rows)
    return time.perf_counter() - started


def finite_auc(model: Any, X: Any, y: np.ndarray, otherwise: float) -> float:
    """Return the test AUC of a model, or ``otherwise`` if it has diverged."""
    scores = model.decision_function(X)
    return float(roc_auc(y, scores)) if np.all(np.isfinite(scores)) else otherwise


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings; failed convergence is visible in the AUC and the optimality."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
