"""Folds and splits of rows: stratified, with groups or strata kept together, or in time order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax.data.labelled import Labelled

__all__ = ["FEW_ROWS", "FOLDS", "Folding", "Pairs", "check_enough_to_hold_out", "folds_of"]
__all__ += ["time_folds"]

Pair = tuple[np.ndarray, np.ndarray]  # row numbers of a training and of a held-out part
Pairs = list[Pair]

FOLDS = 5  # unless there are too few rows
FEW_ROWS = 100  # of the rarer class: with fewer, one round of folds is too noisy
ROUNDS = 4


def time_folds(time: ArrayLike, n_folds: int, groups: ArrayLike | None = None) -> Pairs:
    """Return folds that train on the past and test on what comes next.

    The rows are cut by time into ``n_folds`` + 1 blocks of about the same size; fold k trains on
    the first k blocks and tests on the next one. Rows of the same time stay together. With groups,
    rows of a group that a fold tests are dropped from its training rows, so that no group is on
    both sides.

    Parameters
    ----------
    time : array-like, shape (n,)
        The time of each row: anything that sorts, such as numbers or ``datetime64``.
    n_folds : int
        Number of folds.
    groups : array-like, shape (n,), optional
        The group of each row, such as its customer.

    Returns
    -------
    list of (train, test)
        Row numbers, for the argument ``cv`` of `AUCClassifierCV` and scikit-learn's searches.

    Raises
    ------
    ValueError
        If there are fewer distinct times than blocks.

    Examples
    --------
    >>> from aucmax.estimators.folds import time_folds
    >>> [(train.tolist(), test.tolist()) for train, test in time_folds([5, 1, 1, 9, 7, 3], 2)]
    [([1, 2], [0, 5]), ([0, 1, 2, 5], [3, 4])]
    >>> customer = list("abcabd")
    >>> pairs = time_folds([5, 1, 1, 9, 7, 3], 2, customer)
    >>> [(train.tolist(), test.tolist()) for train, test in pairs]
    [([1, 2], [0, 5]), ([2, 5], [3, 4])]
    """
    times, moment = np.unique(np.asarray(time), return_inverse=True)
    if len(times) <= n_folds:
        raise ValueError(
            f"{n_folds} folds in the order of time need {n_folds + 1} distinct times; there are "
            f"{len(times)}."
        )
    before = np.cumsum(np.bincount(moment))  # rows up to each time
    start, starts = 0, []
    for k in range(1, n_folds + 1):
        end = len(times) - 1 - n_folds + k  # leaves a time for each of the other blocks
        ideal = k * len(moment) / (n_folds + 1)
        start += int(np.argmin(np.abs(before[start:end] - ideal))) + 1
        starts.append(start)
    block = np.searchsorted(starts, moment, side="right")
    unit = moment if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    return [
        (np.flatnonzero((block < k) & ~np.isin(unit, unit[block == k])), np.flatnonzero(block == k))
        for k in range(1, n_folds + 1)
    ]


def folds_of(rows: Labelled, n_folds: int, seed: int, rounds: int | None = None) -> Pairs:
    """Return folds of rows of two classes, by default in as many rounds as `Folding.rounds` says.

    Raises
    ------
    ValueError
        If there are too few groups or times, or a training part lacks a class.
    """
    folding = Folding.of(rows)
    rounds = folding.rounds(rows.rarest) if rounds is None else rounds
    try:
        parts = folding.folds(rows.positive, n_folds, seed, rounds)
    except ValueError as error:
        raise ValueError(f"{rows.name}: {error}") from None
    for k, (train, _) in enumerate(parts, 1):
        if len(np.unique(rows.positive[train])) < 2:
            fault = "of only one class" if len(train) else "all in groups that it tests"
            raise ValueError(
                f"{rows.name}: the training rows of fold {k} of {n_folds} are {fault}, with folds "
                f"{folding.words}."
            )
    return parts


@dataclass(frozen=True)
class Folding:
    """How rows are divided into training and test rows.

    Parameters
    ----------
    groups : ndarray, shape (n,), optional
        Rows of one group stay together.
    time : ndarray, shape (n,), optional
        Training rows come before test rows; those of a group that is tested are dropped.
    weight : ndarray, shape (n,), optional
        Rows of weight 0 are in no part.
    strata : ndarray of int, shape (n,), optional
        Rows of one stratum stay together, unless there are fewer strata than folds. With groups,
        rows that are linked by either stay together.
    """

    groups: np.ndarray | None = None
    time: np.ndarray | None = None
    weight: np.ndarray | None = None
    strata: np.ndarray | None = None

    @classmethod
    def of(cls, rows: Labelled) -> Folding:
        """Return how labelled rows may be divided."""
        strata = rows.coded_strata
        return cls(rows.groups, rows.time, rows.weight, None if strata is None else strata.code)

    def at(self, rows: np.ndarray) -> Folding:
        """Return the folding of some of the rows."""
        facts = (self.groups, self.time, self.weight, self.strata)
        return Folding(*(None if of_row is None else of_row[rows] for of_row in facts))

    def counted(self, y: np.ndarray) -> tuple[np.ndarray, Folding]:
        """Return the numbers of the rows whose weight is not 0, and their folding."""
        rows = np.arange(len(y), dtype=np.int32 if len(y) < 2**31 else np.int64)
        if self.weight is not None:
            rows = rows[self.weight != 0]
        return rows, self.at(rows)

    @property
    def words(self) -> str:
        """How the parts are made, in a few words, for messages."""
        if self.time is not None:
            return "in the order of time" + (
                ", groups kept apart" if self.groups is not None else ""
            )
        if self.strata is not None:
            kept = "strata" if self.groups is None else "strata and groups"
            return f"random, {kept} kept whole where possible"
        return "random, stratified" if self.groups is None else "random, groups kept together"

    def dropped(self, parts: Pairs) -> int | None:
        """Return how many earlier rows all folds dropped; None unless there are times and groups.

        These rows are of groups that the fold tests.
        """
        if self.time is None or self.groups is None:
            return None
        counted = np.ones(len(self.time), dtype=bool) if self.weight is None else self.weight > 0
        earlier = (counted & (self.time < self.time[test].min()) for _, test in parts)
        return sum(int(before.sum()) for before in earlier) - sum(len(train) for train, _ in parts)

    def to_hold_out(self, y: np.ndarray) -> dict[Any, int]:
        """Return the number of rows by label, or of groups if random folds hold these out."""
        rows, counted = self.counted(y)
        y, groups = y[rows], counted.groups if counted.time is None else None
        labels, counts = np.unique(y, return_counts=True)
        if groups is None:
            return dict(zip(labels.tolist(), counts.tolist(), strict=True))
        return {label: len(np.unique(groups[y == label])) for label in labels.tolist()}

    def most(self, y: np.ndarray, n_folds: int) -> int:
        """Return the number of folds, up to a maximum, that can each have rows of every label."""
        rows, counted = self.counted(y)
        units = counted.units(y[rows], n_folds)
        if units is not None:
            return min(n_folds, _with_both(units, y[rows]))
        n_possible, time = min(n_folds, *self.to_hold_out(y).values()), counted.time
        return n_possible if time is None else min(n_possible, len(np.unique(time)) - 1)

    def units(self, y: np.ndarray, n_folds: int) -> np.ndarray | None:
        """Return the number of the unit of each row (n,) that strata keep together, or None."""
        if self.strata is None or self.time is not None:
            return None
        if self.groups is None:
            return self.strata if _with_both(self.strata, y) >= n_folds else None
        units = _hanging_together(self.strata, self.groups)
        return units if _with_both(units, y) > 1 else None

    def rounds(self, rarer: int) -> int:
        """Return how often folds are drawn by default, given the rows of the rarer class."""
        return 1 if self.time is not None or rarer >= FEW_ROWS else ROUNDS

    def folds(self, y: np.ndarray, n_folds: int, seed: int, rounds: int = 1) -> Pairs:
        """Return folds, as pairs of row numbers.

        Parameters
        ----------
        y : ndarray, shape (n,)
            Labels.
        n_folds : int
            How many.
        seed : int
            Shuffles rows or groups; not used in the order of time.
        rounds : int
            How often to draw the folds; only once in the order of time.

        Raises
        ------
        ValueError
            If there are too few groups or times.
        """
        rows, counted = self.counted(y)
        pairs = counted._folds(y[rows], n_folds, seed, rounds)
        return [(rows[train], rows[test]) for train, test in pairs]

    def _folds(self, y: np.ndarray, n_folds: int, seed: int, rounds: int) -> Iterable[Pair]:
        from sklearn.model_selection import StratifiedKFold

        from aucmax.estimators.group_folds import GroupFolds

        if self.time is not None:
            return time_folds(self.time, n_folds, self.groups)
        blank, rng = np.broadcast_to(0.0, len(y)), np.random.RandomState(seed)
        units = self.units(y, n_folds)
        if units is not None:
            return (pair for _ in range(rounds) for pair in _dealt(units, y, n_folds, rng))
        if self.groups is None:
            plain = StratifiedKFold(n_folds, shuffle=True, random_state=rng)
            return (pair for _ in range(rounds) for pair in plain.split(blank, y))
        n_groups = len(np.unique(self.groups))
        if n_groups < n_folds:
            have = "is 1 group" if n_groups == 1 else f"are {n_groups} groups"
            raise ValueError(f"there {have}, fewer than the {n_folds} folds.")
        together = GroupFolds(n_folds, shuffle=True, random_state=rng)
        return (pair for _ in range(rounds) for pair in together.split(blank, y, self.groups))

    def splits(self, y: np.ndarray, n_splits: int, test_size: float, seed: int) -> Pairs:
        """Return splits, as pairs of row numbers.

        Parameters
        ----------
        y : ndarray, shape (n,)
            Labels.
        n_splits : int
            How many.
        test_size : float
            Share of the rows, or of the groups, to hold out; in the order of time it follows from
            the number of splits.
        seed : int
            Shuffles rows or groups.

        Raises
        ------
        ValueError
            If there are too few rows, groups or times.
        """
        rows, counted = self.counted(y)
        pairs = counted._splits(y[rows], n_splits, test_size, seed)
        return [(rows[train], rows[test]) for train, test in pairs]

    def _splits(self, y: np.ndarray, n_splits: int, test_size: float, seed: int) -> Pairs:
        from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit

        if self.time is not None:
            return time_folds(self.time, n_splits, self.groups)
        settings = {"test_size": test_size, "random_state": seed}
        blank, units = np.zeros(len(y)), self.units(y, 2)
        if units is not None:
            return list(GroupShuffleSplit(n_splits, **settings).split(blank, y, units))
        if self.groups is None:
            return list(StratifiedShuffleSplit(n_splits, **settings).split(blank, y))
        return list(GroupShuffleSplit(n_splits, **settings).split(blank, y, self.groups))


def check_enough_to_hold_out(rows: Labelled) -> None:
    """Raise ValueError if a label has one row, or all of its rows in one group."""
    for label, count in Folding.of(rows).to_hold_out(rows.labels).items():
        if count < 2:
            weighted = "" if rows.weight is None else " with a weight above 0"
            shortage = f"has 1 row{weighted}" if rows.groups is None else "has its rows in 1 group"
            raise ValueError(f"label {label!r} {shortage}; cross-validation needs 2 or more.")


def _with_both(units: np.ndarray, y: np.ndarray) -> int:
    """Return how many units (n,) have rows of every label y (n,)."""
    labels, code = np.unique(y, return_inverse=True)
    number = np.unique(units, return_inverse=True)[1]
    counts = np.bincount(number * len(labels) + code, minlength=len(labels) * (number.max() + 1))
    return int((counts.reshape(-1, len(labels)) > 0).all(axis=1).sum())


def _hanging_together(strata: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return a number (n,) for each row: equal if strata and groups link the two rows."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    group = np.unique(groups, return_inverse=True)[1] + (int(strata.max()) + 1)
    size = int(group.max()) + 1
    links = csr_array((np.ones(len(group), bool), (strata, group)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][strata])


def _dealt(units: np.ndarray, y: np.ndarray, n_folds: int, rng: np.random.RandomState) -> Pairs:
    """Return folds of whole units with about the same number of rows of each label.

    The shuffled units are dealt to the folds back and forth: first those with rows of both labels,
    in descending order of their rows of the rarest label, then of all their rows.
    """
    number = np.unique(units, return_inverse=True)[1]
    labels, counts = np.unique(y, return_counts=True)
    size, rare = np.bincount(number), np.bincount(number, y == labels[np.argmin(counts)])
    mixed = (rare > 0) & (rare < size)
    order = rng.permutation(len(rare))
    order = order[np.lexsort((size[order], rare[order], mixed[order]))[::-1]]
    turn = np.arange(len(order)) % (2 * n_folds)
    fold = np.empty(len(order), np.intp)
    fold[order] = np.minimum(turn, 2 * n_folds - 1 - turn)
    of_row = fold[number]
    return [(np.flatnonzero(of_row != k), np.flatnonzero(of_row == k)) for k in range(n_folds)]
