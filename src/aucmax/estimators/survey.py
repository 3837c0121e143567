"""The first pass over a source: rows are checked, labels kept, and class statistics computed."""

from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.utils import column_or_1d

from aucmax.basics.checks import sample_weights
from aucmax.data.classes import too_many_labels, two_classes
from aucmax.data.columns import Column, columns_in, named
from aucmax.data.labelled import Labelled
from aucmax.data.rows import CSR, n_features
from aucmax.data.rows.parts import InParts, Passes, changed, same_numbers, sample_of
from aucmax.data.rows.source import Part, Source
from aucmax.data.rows.store import Made, Told
from aucmax.data.strata import Strata
from aucmax.statistics.base import ClassStatistics, checked_rows
from aucmax.statistics.diagonal import DiagonalMoments

__all__ = ["survey"]


class _Marks(NamedTuple):
    """Fingerprints of the labels and weights of a part: a checksum, and sums of weights."""

    labels: int
    weights: np.ndarray

    @classmethod
    def of(cls, last: np.ndarray, weight: np.ndarray | None) -> "_Marks":
        """Return the marks of which rows (n,) have the last label, and of their weights (n,)."""
        # sums of all weights, and of every seventh
        sums = [0.0, 0.0] if weight is None else [weight.sum(), weight[::7].sum()]
        return cls(crc32(np.packbits(last).tobytes()), np.array(sums))

    def check(self, last: np.ndarray, weight: np.ndarray | None) -> None:
        """Raise ValueError if the labels or weights of another pass are not the same."""
        now = _Marks.of(last, weight)
        if now.labels != self.labels:
            raise changed("labels")
        if not same_numbers(now.weights, self.weights):
            raise changed("weights")


class _Seen(NamedTuple):
    """Summary of one part: its labels in ascending order, and which rows have the last label.

    ``weighing`` is the number of rows with weights above 0: of all, and of those with the last
    label. ``last`` marks the latter, and ``weight`` is the weight of each row, if they are kept;
    ``marks`` are kept of both.
    """

    rows: int
    features: int
    labels: np.ndarray
    marks: _Marks
    weighing: tuple[int, int]
    weighted: bool
    last: np.ndarray | None
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
        if type(a) is not type(b):  # one of them has too many features for covariances
            a, b = DiagonalMoments().taken_from(a), DiagonalMoments().taken_from(b)
        return _Looks(self.parts + other.parts, a + b)


def survey(
    source: Source,
    empty: ClassStatistics,
    max_features: float,
    positive: Any,
    keeps_labels: bool = True,
) -> Labelled:
    """Read a source once, and return its rows.

    Parameters
    ----------
    source : Source
    empty : ClassStatistics
        The statistics to keep for up to ``max_features`` features; beyond, variances are kept.
    max_features : float
    positive : label, optional
        As for `two_classes`.
    keeps_labels : bool
        Whether to keep the labels and weights of all rows. Otherwise they stay with their parts,
        and are read when they are needed, unless others were given or there are strata.

    Raises
    ------
    ValueError
        For a part that a fit would refuse, or whose features differ from those of the first part;
        the message names the part.
    """
    keeps_labels = keeps_labels or bool(source.replaced)
    looks = source.total(_look, repeat(()), (empty, max_features, keeps_labels))
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
    # in a part with one label, that is the last, even if it is the first of all labels
    turned = [low == (classes[1] == labels[-1]) for low in alone]
    rows = source.rows_alone
    rows.sizes = [part.rows for part in parts]
    samples = [part.sample for part in parts]
    keeps_labels = keeps_labels or strata is not None
    tell = None
    if not keeps_labels or (source.elsewhere and not source.replaced):
        tell = [
            partial(_told, last=part.labels[-1:], turned=turn, marks=part.marks)
            for part, turn in zip(parts, turned, strict=True)
        ]
    store = InParts(rows, np.array(rows.sizes), d, samples, passes=Passes(1), tell=tell)
    signs = np.where(statistics.classes == classes[1], 1.0, -1.0)
    of_classes = statistics.relabelled(signs)
    if keeps_labels:
        is_positive, weight = _of_all_rows(parts, turned)
    else:
        is_positive, weight = _staying(store, parts, turned, of_classes)
    kinds = source.columns or parts[0].columns
    return Labelled(
        source, is_positive, weight, classes, strata=strata,
        columns=None if listed is None else tuple(named(listed, kinds)),
        target_name=source.target_name, statistics=of_classes, store=store,
    )  # fmt: skip


def _of_all_rows(parts: list[_Seen], turned: list[bool]) -> tuple[Any, Any]:
    """Return which rows are positive, and their weights if there are any."""
    positive = np.concatenate(
        [
            part.last != turn
            for part, turn in zip(parts, turned, strict=True)
            if part.last is not None
        ]
    )
    if not any(part.weighted for part in parts):
        return positive, None
    weights = (np.ones(part.rows) if part.weight is None else part.weight for part in parts)
    return positive, np.concatenate(list(weights))


def _staying(
    store: InParts, parts: list[_Seen], turned: list[bool], statistics: ClassStatistics
) -> tuple[Any, Any]:
    """Return the same for rows whose labels and weights stay with their parts."""
    n, rows = store.n_rows, np.zeros(2, dtype=np.int64)
    for part, turn in zip(parts, turned, strict=True):
        of_all, of_last = part.weighing
        rows += [of_last, of_all - of_last] if turn else [of_all - of_last, of_last]
    of_classes = (int(rows[0]), int(rows[1])), (statistics.n_neg, statistics.n_pos)
    positive = Told(n, lambda some: store.told[0][some], *of_classes)
    weighted = any(part.weighted for part in parts)
    return positive, Made(n, lambda some: store.told[1][some]) if weighted else None


def _look(part: Part, empty: ClassStatistics, max_features: float, keeps_labels: bool) -> _Looks:
    """Check a part and return its summary."""
    if part.y is None:
        raise ValueError("it has no labels; give (X, y).")
    rows, y, weight, names = checked_rows(part.X, part.y, part.weight, min_rows=0)
    labels, last = _two_labels(y)
    values = (part.told or {}).get("strata")
    strata = None if values is None else Strata.of(values, len(y))
    keeps = strata is None and n_features(rows) <= max_features
    statistics = (empty.copy() if keeps else DiagonalMoments()).add_rows(rows, y, weight)
    weighing = len(y), int(np.count_nonzero(last))
    if weight is not None:
        weighing = int(np.count_nonzero(weight)), int(np.count_nonzero(weight[last]))
    look = _Seen(
        len(y), n_features(rows), labels, _Marks.of(last, weight), weighing, weight is not None,
        last, weight, names, columns_in(part.X), isinstance(rows, CSR), sample_of(rows), strata,
    )  # fmt: skip
    if not keeps_labels and strata is None:
        look = look._replace(last=None, weight=None)
    return _Looks([look], statistics)


def _told(
    part: Part, last: np.ndarray, turned: bool, marks: _Marks
) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows of a part are positive, and the weights of all its rows.

    Positive are those with the ``last`` label of the part, of shape (1,), or, if ``turned``, the
    others.
    """
    has_last = column_or_1d(part.y, warn=False) == last
    weight = sample_weights(part.weight, len(has_last))
    marks.check(has_last, weight)
    return has_last != turned, np.ones(len(has_last)) if weight is None else weight


def _two_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of y (n,), at most two, ascending, and which rows have the last one."""
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
