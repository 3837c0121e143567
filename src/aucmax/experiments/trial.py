"""What one run is made of: splits, a few rows to warm up on, a timed fit, its test AUC."""

import contextlib
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax.metrics import roc_auc

__all__ = [
    "POINTS",
    "Halves",
    "few_of_each",
    "finite_auc",
    "halves",
    "portions",
    "quiet",
    "timed_fit",
]

POINTS = 25  # at which a stream is looked at


class Halves(NamedTuple):
    """Rows to train on and rows to test on."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


def halves(X: Any, y: np.ndarray, test_size: float, seed: int) -> Halves:
    """Split rows at random, stratified."""
    split = StratifiedShuffleSplit(1, test_size=test_size, random_state=seed)
    train, test = next(split.split(np.zeros(len(y)), y))
    return Halves(X[train], y[train], X[test], y[test])


def portions(n: int, seed: int) -> Iterator[np.ndarray]:
    """Yield row numbers in random order, in portions whose ends lie evenly on a log axis."""
    order = np.random.RandomState(seed).permutation(n)
    yield from np.split(order, np.unique(np.geomspace(20, n, POINTS).astype(int)))[:-1]


def few_of_each(positive: np.ndarray, each: int = 40) -> np.ndarray:
    """Return the first rows of each class: enough to compile a fit outside the timed region."""
    return np.concatenate([np.flatnonzero(kind)[:each] for kind in (positive, ~positive)])


def timed_fit(model: Any, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
    """Fit a model in place; return its seconds."""
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    started = time.perf_counter()
    model.fit(X, y, **weights)
    return time.perf_counter() - started


def finite_auc(model: Any, X: Any, y: np.ndarray, otherwise: float) -> float:
    """Return the AUC of a model on test rows, or ``otherwise`` where it has diverged."""
    scores = model.decision_function(X)
    return float(roc_auc(y, scores)) if np.all(np.isfinite(scores)) else otherwise


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings: what does not converge shows in its AUC and its optimality."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
