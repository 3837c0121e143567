"""Scored rows of two classes, from which curves, tests and operating points are computed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.labelled import Labelled
from aucmax.metrics.delong import effective_rows
from aucmax.metrics.intervals import AUCInterval, auc_interval
from aucmax.metrics.reading import Bools, Floats

__all__ = ["Scored"]


class Scored(NamedTuple):
    """Scored rows of two classes.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Which rows are positive; both classes must occur.
    score : ndarray of shape (n,)
        The scores of the rows.
    weight : ndarray of shape (n,), optional
        The weights of the rows.
    groups : ndarray of shape (n,), optional
        The groups of the rows; rows of one group are not independent.
    """

    positive: Bools
    score: NDArray[Any]
    weight: Floats | None = None
    groups: NDArray[Any] | None = None

    @classmethod
    def of(cls, labelled: Labelled, rows: NDArray[np.intp], score: NDArray[Any]) -> Scored:
        """Return some of the labelled rows with their scores."""
        return cls(labelled.positive[rows], score, labelled.weight_of(rows))

    @property
    def weights(self) -> Floats:
        """The weights of the rows, 1 if they have none."""
        return np.ones(len(self.positive)) if self.weight is None else self.weight

    @property
    def share(self) -> float:
        """The share of the weight that the positives have."""
        return float(np.average(self.positive, weights=self.weight))

    def effective(self, positive: bool) -> float:
        """Return Kish's effective number of rows of one class, or of groups with such rows."""
        own = self.positive == positive
        weight = self.weights[own]
        if self.groups is not None:
            weight = np.bincount(np.unique(self.groups[own], return_inverse=True)[1], weight)
        return effective_rows(weight)

    def of_weight(self) -> Scored:
        """Return the rows whose weight is not 0."""
        return self if self.weight is None or self.weight.all() else self.at(self.weight != 0)

    def at(self, rows: NDArray[Any]) -> Scored:
        """Return some rows, by a mask or by position; they may all be of one class."""
        weight, groups = (None if of is None else of[rows] for of in (self.weight, self.groups))
        return Scored(self.positive[rows], self.score[rows], weight, groups)

    def auc_interval(self, confidence: float) -> AUCInterval:
        """Return the area under the ROC curve of the rows, with its interval."""
        by: dict[str, Any] = {"sample_weight": self.weight, "groups": self.groups}
        return auc_interval(self.positive, self.score, confidence, **by)
