"""The first pass over a source: rows are checked, labels kept, and the classes summed up."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
)

from aucmax.basics.checks import refuse_nul, refuse_sizes, sample_weights
from aucmax.rows import n_features
from aucmax.rows.parts import Here, InParts, rows_of
from aucmax.rows.source import Part, Source
from aucmax.rows.store import sum_in_order
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.diagonal import DiagonalMoments
from aucmax.statistics.moments import ClassMoments

__all__ = ["Survey", "survey"]


class Survey(NamedTuple):
    """What a pass over a source tells: its rows as a store, their labels and weights (n,).

    ``known`` are the statistics of the rows by label; ``feature_names`` are None without names.
    """

    store: InParts
    y: np.ndarray
    weight: np.ndarray | None
    known: ClassStatistics
    feature_names: np.ndarray | None


class _Seen(NamedTuple):
    """What is seen of one part."""

    rows: int
    features: int
    y: np.ndarray
    weight: np.ndarray | None
    names: np.ndarray | None
    sparse: bool


@dataclass(frozen=True)
class _Sums:
    """Statistics of the classes in some parts; sparse parts may lack the last features."""

    of: ClassStatistics

    def __add__(self, other: "_Sums") -> "_Sums":
        d = max(self.of.n_features, other.of.n_features)
        a, b = self.of.widened(d), other.of.widened(d)
        if type(a) is not type(b):  # one has more features than covariances are kept of
            a, b = DiagonalMoments().taken_from(a), DiagonalMoments().taken_from(b)
        return _Sums(a + b)


def survey(source: Source, most: int, runs: Here) -> Survey:
    """Read a source once.

    Parameters
    ----------
    source : Source
    most : int
        Features up to which the covariances of the classes are kept; beyond, their variances.
    runs : Here

    Raises
    ------
    ValueError
        For a part that a fit would refuse, or whose features are not those of the first; the
        message names the part.
    """
    seen: list[_Seen] = []

    def sums() -> Iterator[_Sums]:
        for k, found in enumerate(runs.each(source, _look, repeat((most,)))):
            if isinstance(found, str):
                raise ValueError(f"{source.name(k)}: {found}")
            part, of_part = found
            if seen and (differs := _difference(seen[0], part)):
                raise ValueError(f"{source.name(k)} {differs} {source.name(0)}.")
            seen.append(part)
            yield _Sums(of_part)
        if not seen:
            raise ValueError("the source has no parts.")

    known = sum_in_order(sums()).of
    d, names = known.n_features, seen[0].names
    if source.feature_names is not None:
        names = np.array(source.feature_names, dtype=object)
        if len(names) != d:
            raise ValueError(f"there are {len(names)} feature names of {d} features.")
    weight = None
    if any(part.weight is not None for part in seen):
        given = (np.ones(part.rows) if part.weight is None else part.weight for part in seen)
        weight = np.concatenate(list(given))
    store = InParts(source, np.array([part.rows for part in seen]), d, runs)
    store.passes = 1
    return Survey(store, np.concatenate([part.y for part in seen]), weight, known, names)


def _look(part: Part, most: int) -> tuple[_Seen, ClassStatistics] | str:
    """Check a part and sum it up; return what is wrong with it as a sentence."""
    try:
        if part.y is None:
            raise ValueError("it has no labels; give (X, y).")
        names = _get_feature_names(part.X)
        refuse_nul(part.y)
        X = check_array(part.X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        refuse_sizes(X)
        y = column_or_1d(part.y, warn=False)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("y holds NaN or infinite labels; give every row a label.")
        check_consistent_length(X, y)
        weight = sample_weights(part.weight, X.shape[0])
    except ValueError as error:
        return str(error)
    rows = rows_of(X)
    kind = ClassMoments if n_features(rows) <= most else DiagonalMoments
    sums = kind().add_rows(rows, y, weight)
    return _Seen(len(y), n_features(rows), y, weight, names, hasattr(X, "indptr")), sums


def _difference(first: _Seen, part: _Seen) -> str:
    """Return how a part's features are not those of the first; nothing where they are."""
    if not (first.sparse and part.sparse) and part.features != first.features:
        return f"has {part.features:,} features, unlike the {first.features:,} of"
    if (first.names is None) != (part.names is None):
        return f"has {'no ' if part.names is None else ''}feature names, unlike"
    if first.names is not None and part.names is not None:
        for j, (a, b) in enumerate(zip(first.names, part.names, strict=True)):
            if a != b:
                return f"has {b!r} as column {j + 1}, which is {a!r} in"
    return ""
