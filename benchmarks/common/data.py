"""Data sets with two classes: real ones, and generated ones of any size.

In a `Task`, sparse real sets have unit-norm rows. Dense ones are standardised and divided by the
root of the number of features, so that rows have a mean squared length of 1 and one grid of
penalties is enough for all. Labels are −1 and +1; a fifth of the rows are for testing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedShuffleSplit

from aucmax import datasets

# name -> (split, binarize)
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

SPARSE = ("a9a", "connect-4", "mnist", "news20", "sector")
DENSE = ("magic04", "letter")
MOST_TESTED = 100_000  # rows to score; more would tell the AUC no better

# the levels of the categories of glum's "narrow insurance"; three numbers stand beside them
INSURANCE_LEVELS = (6, 3, 7, 11, 2, 22)
INSURANCE_ROWS = 678_013


def binary(name: str, scale: str | None = "unit-norm") -> tuple[Any, Any]:
    """Return (X, y) of a data set with labels −1 and +1."""
    split, how = BINARY[name]
    data = datasets.load(name, split=split, binarize=how, scale=scale)
    return data.data, data.target


def as_usual(name: str) -> tuple[Any, Any]:
    """Return a data set with unit-norm rows if it is sparse, as shipped if it is dense."""
    return binary(name, "unit-norm" if datasets.about(name).sparse else None)


def splits(X: Any, y: Any, count: int = 5) -> list[Any]:
    """Return 80/20 splits, the same for every benchmark."""
    return list(StratifiedShuffleSplit(count, test_size=0.2, random_state=0).split(X, y))


class Task(NamedTuple):
    """A problem: rows to train on and rows to test on."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray

    @property
    def stored(self) -> int:
        """Numbers that the training rows hold."""
        return self.X.nnz if sp.issparse(self.X) else self.X.size

    def first(self, rows: int) -> "Task":
        """Return the problem with only so many rows of each class to train on."""
        kept = np.concatenate([np.flatnonzero(self.y == label)[:rows] for label in (-1, 1)])
        return self._replace(X=self.X[np.sort(kept)], y=self.y[np.sort(kept)])

    def dense(self) -> "Task":
        """Return the problem with dense rows."""
        if not sp.issparse(self.X):
            return self
        return self._replace(X=self.X.toarray(), X_test=self.X_test.toarray())


def real(name: str, dtype: type = np.float64) -> Task:
    """Return a set of the papers."""
    X, y = binary(name, scale="unit-norm" if name in SPARSE else None)
    if name in DENSE:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0) / np.sqrt(X.shape[1])
    ((train, test),) = splits(X, y, 1)
    X = X.astype(dtype)
    return Task(name, X[train], y[train], X[test], y[test])


def generated_dense(rows: int, features: int, dtype: type = np.float32) -> Task:
    """Return normal features that share a factor, a tenth of the rows positive."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features), dtype=np.float32)
    X += rng.standard_normal((rows, 1), dtype=np.float32)
    w = rng.standard_normal(features).astype(np.float32) / np.sqrt(features)
    X /= np.float32(np.sqrt(2 * features))
    scores = X @ (w * np.float32(np.sqrt(2 * features)))
    return _labelled(f"dense {rows}x{features}", X.astype(dtype, copy=False), scores, rng)


def generated_sparse(rows: int, features: int, entries: int = 50) -> Task:
    """Return rows of so many equal entries, some features met far more often than others.

    Each entry falls into a range of columns of its own, so that a row meets no feature twice.
    """
    rng = np.random.default_rng(0)
    width = features // entries
    columns = (width * rng.random((rows, entries), dtype=np.float32) ** 3).astype(np.int32)
    np.minimum(columns, width - 1, out=columns)
    columns += np.arange(entries, dtype=np.int32) * width
    data = np.full(rows * entries, entries**-0.5)
    indptr = np.arange(0, rows * entries + 1, entries, dtype=np.int32)
    X = sp.csr_matrix((data, columns.ravel(), indptr), shape=(rows, features))
    return _labelled(f"sparse {rows}x{features}", X, 2 * (X @ rng.standard_normal(features)), rng)


def random_sparse(rows: int, features: int, entries: int = 50) -> sp.csr_array:
    """Return rows of random entries at random places, some of them twice in a row."""
    rng = np.random.RandomState(0)
    places = np.sort(rng.randint(0, features, size=(rows, entries)), axis=1).astype(np.int32)
    starts = np.arange(0, rows * entries + 1, entries, dtype=np.int32)
    return sp.csr_array((rng.rand(rows * entries), places.ravel(), starts), (rows, features))


def insurance(rows: int = INSURANCE_ROWS) -> Task:
    """Return rows in the shape of glum's "narrow insurance" problem.

    One-hot categories beside three numbers; few rows have a claim. glum fits them with a strength
    of .001 and an l2 penalty. Its own rows need a download.
    """
    rng = np.random.default_rng(0)
    parts = [sp.csr_matrix(rng.standard_normal((rows, 3)))]
    for levels in INSURANCE_LEVELS:
        shares = rng.dirichlet(np.ones(levels))
        parts.append(sp.eye(levels, format="csr")[rng.choice(levels, rows, p=shares)])
    X = sp.csr_matrix(sp.hstack(parts))
    scores = X @ rng.standard_normal(X.shape[1]) / 3
    return _labelled("insurance", X, scores, rng, share=0.05)


def _labelled(
    name: str, X: Any, scores: np.ndarray, rng: np.random.Generator, share: float = 0.1
) -> Task:
    """Draw labels, about that share of them positive, by the logistic model."""
    noisy = scores + rng.logistic(size=len(scores))
    y = np.where(noisy > np.quantile(noisy, 1 - share), 1, -1)
    held = min(len(y) // 5, MOST_TESTED)
    return Task(name, X[held:], y[held:], X[:held], y[:held])


SETS: dict[str, Callable[[], Task]] = {
    **{name: lambda name=name: real(name) for name in (*DENSE, *SPARSE)},
    "insurance": insurance,
    "dense 1000000x100": lambda: generated_dense(1_000_000, 100),
    "sparse 1000000x100000": lambda: generated_sparse(1_000_000, 100_000),
    "sparse 1000000x1000000": lambda: generated_sparse(1_000_000, 1_000_000),
}
SMALL = (*DENSE, *SPARSE)
