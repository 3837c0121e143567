"""Rows of two classes, in memory or in parts, with all that belongs to them."""

from dataclasses import dataclass

import numpy as np

from aucmax.data.rows.store import Store
from aucmax.statistics.base import ClassStatistics

__all__ = ["Labelled"]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows of two classes that were checked.

    Parameters
    ----------
    store : Store
        n rows.
    positive : ndarray of bool, shape (n,)
        Which of them are positive; some are and some are not.
    weight : ndarray, shape (n,), optional
        Their weights, as given.
    classes : ndarray, shape (2,)
        The negative and the positive label.
    statistics : ClassStatistics, optional
        Those of the classes −1 and +1, where the rows came with some.
    feature_names : ndarray, shape (d,), optional
    """

    store: Store
    positive: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray
    statistics: ClassStatistics | None = None
    feature_names: np.ndarray | None = None

    @property
    def labels(self) -> np.ndarray:
        """The label of each row, shape (n,)."""
        return self.classes[self.positive.astype(np.intp)]

    def weight_of(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of some rows, None where none has one."""
        return None if self.weight is None else self.weight[rows]

    def counted(self, rows: np.ndarray) -> np.ndarray:
        """Return which of some rows weigh anything, as a mask."""
        weight = self.weight_of(rows)
        return np.ones(len(rows), dtype=bool) if weight is None else weight > 0

    def both_classes(self, rows: np.ndarray) -> bool:
        """Tell whether rows of both classes weigh anything among these."""
        positive = self.positive[rows][self.counted(rows)]
        return bool(positive.any() and not positive.all())
