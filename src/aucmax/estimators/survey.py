"""The first pass over a source: rows are checked, labels kept, and class statistics computed."""

from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d

from aucmax.basics.checks import sample_weights
from aucmax.data.classes import too_many_labels, two_classes
from aucmax.data.columns import Column, columns_in, named
from aucmax.data.labelled import Labelled
from aucmax.data.rows import CSR, n_features
from aucmax.data.rows.parts import InParts, Passes, sample_of
from aucmax.data.rows.source import Part, Source
from aucmax.data.strata import Strata
from aucmax.statistics.base import ClassStatistics, checked_rows
from aucmax.statistics.diagonal import DiagonalMoments

__all__ = ["survey"]


class _Seen(NamedTuple):
    """Summary of one part: its labels in ascending order, and the rows that have the last one."""

    rows: int
    features: int
    labels: np.ndarray
    last: np.ndarray
    weight: np.ndarray | None
    names: list[str] | None
    columns: tuple[Column, ...]
    sparse: bool
    sample: np.ndarray
    strata: Strata | None


@dataclass(frozen=True)
class _Looks:
    """Summary of some parts in order, with the statistics of their classes."""

    parts: list[_Seen]
    statistics: ClassStatistics

    def __add__(self, other: "_Looks") -> "_Looks":
        # sparse parts may lack the last features
        d = max(self.statistics.n_features, other.statistics.n_features)
        a, b = self.statistics.widened(d), other.statistics.widened(d)
        if type(a) is not type(b):  # one has too many features for covariances
            a, b = DiagonalMoments().taken_from(a), DiagonalMoments().taken_from(b)
        return _Looks(self.parts + other.parts, a + b)


def survey(
    source: Source,
    empty: ClassStatistics,
    max_features: float,
    positive: Any,
) -> Labelled:
    """Read a source once, and return its rows.

    Parameters
    ----------
    source : Source
    empty : ClassStatistics
        The statistics to keep of rows with up to ``most`` features; beyond, variances are kept.
    max_features : float
    positive : label, optional
        As for `two_classes`.

    Raises
    ------
    ValueError
        For a part that a fit would refuse, or whose features are not those of the first; the
        message names the part.
    """
    looks = source.total(_look, repeat(()), (empty, max_features))
    parts, statistics = looks.parts, looks.statistics
    for k, part in enumerate(parts):
        if differs := _difference(parts[0], part):
            raise ValueError(f"{source.name(k)} {differs} {source.name(0)}.")
    d, listed = statistics.n_features, source.feature_names or parts[0].names
    if listed is not None and len(listed) != d:
        raise ValueError(f"there are {len(listed)} feature names for {d} features.")
    strata = None
    if parts[0].strata is not None:
        strata = Strata.joined([part.strata for part in parts if part.strata is not None])
    weight = None
    if any(part.weight is not None for part in parts):
        weights = (np.ones(part.rows) if part.weight is None else part.weight for part in parts)
        weight = np.concatenate(list(weights))
    if odd := [k for k, part in enumerate(parts) if (part.strata is None) != (strata is None)]:
        raise ValueError(
            f"{source.name(odd[0])} has {'strata' if strata is None else 'no strata'}, unlike "
            f"{source.name(0)}."
        )
    labels_by_part = [part.labels for part in parts if part.rows]
    if not labels_by_part:
        raise ValueError("the source has no rows.")
    labels = np.unique(np.concatenate(labels_by_part))
    classes = two_classes(labels, positive)
    alone = [len(part.labels) == 1 and part.labels[0] != labels[-1] for part in parts]
    # a part whose only label is the first of all calls it its last
    turned = [low == (classes[1] == labels[-1]) for low in alone]
    positive_by_part = [part.last != turn for part, turn in zip(parts, turned, strict=True)]
    rows = source.rows_alone
    rows.sizes = [part.rows for part in parts]
    samples = [part.sample for part in parts]
    tell = None
    if source.elsewhere and not source.replaced:
        counts = [int(np.count_nonzero(rows)) for rows in positive_by_part]
        tell = [
            partial(_told, last=part.labels[-1:], turned=turn, n_pos=n)
            for part, turn, n in zip(parts, turned, counts, strict=True)
        ]
    store = InParts(rows, np.array(rows.sizes), d, samples, passes=Passes(1), tell=tell)
    signs = np.where(statistics.classes == classes[1], 1.0, -1.0)
    kinds = source.columns or parts[0].columns
    return Labelled(
        source, np.concatenate(positive_by_part), weight, classes, strata=strata,
        columns=None if listed is None else tuple(named(listed, kinds)),
        target_name=source.target_name, statistics=statistics.relabelled(signs), store=store,
    )  # fmt: skip


def _look(part: Part, empty: ClassStatistics, max_features: float) -> _Looks:
    """Check a part and return its summary."""
    if part.y is None:
        raise ValueError("it has no labels; give (X, y).")
    rows, y, weight, names = checked_rows(part.X, part.y, part.weight, min_rows=0)
    labels, last = _two_labels(y)
    values = (part.told or {}).get("strata")
    strata = None if values is None else Strata.of(values, len(y))
    keeps = strata is None and n_features(rows) <= max_features
    statistics = (empty.copy() if keeps else DiagonalMoments()).add_rows(rows, y, weight)
    look = _Seen(
        len(y), n_features(rows), labels, last, weight, names, columns_in(part.X),
        isinstance(rows, CSR), sample_of(rows), strata,
    )  # fmt: skip
    return _Looks([look], statistics)


def _told(part: Part, last: np.ndarray, turned: bool, n_pos: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows of a part are positive, and the weights of all of them.

    They are those with the ``last`` label of the part, of shape (1,), or the others if ``turned``.
    """
    positive = (column_or_1d(part.y, warn=False) == last) != turned
    if np.count_nonzero(positive) != n_pos:
        raise ValueError("it has other labels than when it was read first: parts must not change.")
    weight = sample_weights(part.weight, len(positive))
    return positive, np.ones(len(positive)) if weight is None else weight


def _two_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of y (n,), at most two, ascending, and the rows that have the last."""
    if not len(y):
        return y, np.zeros(0, bool)
    different = y != y[0]
    labels = np.unique(np.concatenate([y[:1], y[different][:1]]))
    last = y == labels[-1]
    if not (last | (y == labels[0])).all():
        raise ValueError(too_many_labels(np.unique(y)))
    return labels, last


def _difference(first: _Seen, part: _Seen) -> str:
    """Return how a part's features differ from those of the first; "" if they do not."""
    if not (first.sparse and part.sparse) and part.features != first.features:
        return f"has {part.features:,} features, unlike the {first.features:,} of"
    if (first.names is None) != (part.names is None):
        return f"has {'no ' if part.names is None else ''}feature names, unlike"
    if first.names is not None and part.names is not None:
        for j, (a, b) in enumerate(zip(first.names, part.names, strict=True)):
            if a != b:
                return f"has {b!r} as column {j + 1}, which is {a!r} in"
    return ""
