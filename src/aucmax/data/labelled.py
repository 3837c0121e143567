"""Rows of two classes, in memory or in parts, with weights, groups, strata and the like."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from aucmax.basics.doors import Door
from aucmax.data.bunch import Labels, frame
from aucmax.data.columns import Column, declare
from aucmax.data.large_files import take
from aucmax.data.rows.source import Source
from aucmax.data.rows.store import InMemory, Told
from aucmax.data.rows.zeros import without_zeros
from aucmax.data.strata import Strata, strata_name

__all__ = ["Labelled"]

_sklearn = Door("sklearn.utils")


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows of two classes.

    Parameters
    ----------
    X : array-like, sparse, data frame or Source
        n rows, as the user or a reader supplied them. A source also has the labels and weights.
    positive : ndarray of bool or Told, shape (n,)
        Which rows are positive; some must be, and some must not.
    weight : ndarray or Made, shape (n,), optional
        The weights of the rows, unchanged.
    classes : ndarray, shape (2,)
        The negative and the positive label.
    groups : ndarray, shape (n,), optional
        Splits keep the rows of one group together.
    time : ndarray, shape (n,), optional
        Splits follow this order, to train on the past; with groups, no training group is tested.
    strata : ndarray, shape (n,), or Strata, optional
        Only rows of the same stratum are compared.
    strata_name : str, optional
        The name of the strata, such as that of their column.
    segments : ndarray, shape (n,), optional
        Parts of the rows that are evaluated separately.
    columns : tuple of Column, optional
        The name and the kind of each of d columns; None if they have no names.
    target_name : str, optional
        The name of the label column.
    name : str
        The name of the rows in messages.
    statistics : ClassStatistics, optional
        The statistics of the classes −1 and +1, if the rows came with them.
    store : Store, optional
        The rows after the checks of a fit.
    """

    X: Any
    positive: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray
    groups: np.ndarray | None = None
    time: np.ndarray | None = None
    strata: Any = None
    strata_name: str | None = None
    segments: np.ndarray | None = None
    columns: tuple[Column, ...] | None = None
    target_name: str | None = None
    name: str = ""
    statistics: Any = None
    store: Any = None

    @property
    def in_parts(self) -> bool:
        """Whether the rows are a source, read in parts."""
        return isinstance(self.X, Source)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        counted = self.X if self.store is None else self.store
        return int(counted.n_features if hasattr(counted, "n_features") else counted.shape[1])

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the columns, shape (d,); None if they have none."""
        if self.columns is None:
            return None
        return np.array([column.name for column in self.columns], dtype=object)

    @property
    def labels(self) -> np.ndarray:
        """The label of each row, shape (n,)."""
        return self.classes[self.positive.astype(np.intp)]

    @property
    def positive_label(self) -> Any:
        """The positive label, as a Python object."""
        return self.classes.tolist()[1]

    @cached_property
    def named(self) -> Any:
        """The rows, in a data frame with the names and kinds of their columns if any are known."""
        if self.in_parts or self.columns is None or hasattr(self.X, "columns"):
            return self.X
        return declare(frame(self.X, self.columns), self.columns)

    @property
    def arguments(self) -> tuple[Any, Labels, np.ndarray | None]:
        """Rows in memory, labels and weights: the arguments of a scikit-learn fit."""
        return self.named, Labels(self.labels, self.target_name), self.weight

    @property
    def rarest(self) -> int:
        """The number of rows of the rarer class, without those of weight 0."""
        counted = True if self.weight is None else self.weight > 0.0
        return int(min((self.positive & counted).sum(), (~self.positive & counted).sum()))

    @cached_property
    def coded_strata(self) -> Strata | None:
        """The strata, after checks; None if all rows are compared."""
        n = len(self.positive)
        if isinstance(self.strata, Strata) and len(self.strata.code) == n:
            return self.strata
        return None if self.strata is None else Strata.of(self.strata, n)

    def without_zeros(self) -> Self:
        """Return the same rows, as CSR if they are in memory and most of their entries are 0."""
        if self.in_parts:
            return self
        return replace(self, store=InMemory(without_zeros(self.store.X)))

    def within(self, strata: Any) -> Labelled:
        """Return the rows with strata, given by a value for each row."""
        values = strata if isinstance(strata, Strata) else np.asarray(strata)
        return replace(self, strata=values, strata_name=strata_name(strata), statistics=None)

    def weight_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of some rows; None if rows have no weights."""
        return None if self.weight is None else self.weight[rows]

    def groups_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the groups of some rows; None if rows have no groups."""
        return None if self.groups is None else self.groups[rows]

    def weighs(self, positive: bool) -> bool:
        """Return whether any row of a class has a weight other than 0."""
        if isinstance(self.positive, Told):
            return self.positive.rows[positive] > 0
        return self.weight is None or bool(self.weight[self.positive == positive].any())

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Return which of some rows have a weight above 0, as a mask."""
        weight = self.weight_of(rows)
        return np.ones(len(rows), dtype=bool) if weight is None else weight > 0

    def both_classes(self, rows: np.ndarray) -> bool:
        """Return whether both classes have rows of weight above 0 among these, in one stratum."""
        if self.coded_strata is not None:
            strata, of_rows = (
                self.coded_strata.at(rows),
                (self.positive[rows], self.weight_of(rows)),
            )
            return bool(strata.compared(*of_rows).of_stratum.any())
        positive = self.positive[rows][self.counted(rows)]
        return bool(positive.any() and not positive.all())

    def at(self, rows: np.ndarray) -> Labelled:
        """Return the rows at some ascending positions; rows of a source are loaded into memory.

        The latter have no column names: with names, a fit would copy them.
        """
        of_rows: dict[str, Any] = {
            name: None if (values := getattr(self, name)) is None else values[rows]
            for name in ("groups", "time", "segments")
        }
        strata = self.strata
        if strata is not None:
            of_rows["strata"] = strata.at(rows) if isinstance(strata, Strata) else strata[rows]
        X = take(self.X, rows) if self.in_parts else _sklearn._safe_indexing(self.X, rows)
        columns = None if self.in_parts else self.columns
        return replace(
            self, X=X, positive=self.positive[rows], weight=self.weight_of(rows), columns=columns,
            statistics=None, store=None, **of_rows,
        )  # fmt: skip
