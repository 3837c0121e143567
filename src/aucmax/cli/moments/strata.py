"""Moments within strata, of which all rows must be known at once: in memory, or in parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from aucmax.basics.doors import postponed
from aucmax.cli.large import Large
from aucmax.cli.moments.common import Kept, check_memory, kind_of
from aucmax.data.reading import Reading

with postponed():
    import numpy as np
    import scipy.sparse as sp

    from aucmax.cli.front import rows_for
    from aucmax.data.bunch import Bunch
    from aucmax.data.classes import classes_named, of_usual_labels
    from aucmax.estimators import AUCClassifier
    from aucmax.estimators.inputs import names_after
    from aucmax.estimators.labelling import labelled_rows
    from aucmax.statistics.base import ClassStatistics
    from aucmax.statistics.strata_in_parts import statistics_in_parts

if TYPE_CHECKING:
    from aucmax.data.strata import StrataWeight

__all__ = ["HeldRows", "RowsInParts"]


@dataclass(frozen=True)
class HeldRows:
    """Rows of all files, as those of a stratum may be in any of them."""

    parts: list[Bunch]

    def with_part(self, part: HeldRows, path: Any) -> HeldRows:
        """Return these rows and those of a part of a file, which has the same columns."""
        names = self.parts[0].names, part.parts[0].names
        if names[0] != names[1]:
            raise ValueError(f"{path}: its features differ from those of the rows before.")
        return HeldRows([*self.parts, *part.parts])

    def moments(
        self, covariance: Kept, weighting: StrataWeight, column: str, positive: Any, T: Any = None
    ) -> ClassStatistics:
        """Return the moments of the rows, or of Tᵀx, within their strata."""
        first = self.parts[0]
        X = [part.data for part in self.parts]
        rows = sp.vstack(X, format="csr") if sp.issparse(X[0]) else np.concatenate(X)
        y = np.concatenate([part.target for part in self.parts])
        weight = None
        if first.weight is not None:
            weight = np.concatenate([part.weight for part in self.parts])
        strata = [value for part in self.parts for value in np.asarray(part.strata).tolist()]
        labels = _two_labels(y, first.name, positive)
        moments = kind_of(covariance)(feature_names=first.names if T is None else None)
        check_memory(moments, Bunch(name=first.name, data=rows, target=y))
        rows = rows if T is None else rows @ T
        moments.update(rows, (y == labels[1]).astype(int), weight, strata, weighting)
        return _labelled(moments, labels, first.target_name, column)


@dataclass(frozen=True)
class RowsInParts:
    """Rows of files that are read again for each pass, behind the steps that they need.

    Parameters
    ----------
    rows : Bunch
        A source, its labels and weights.
    names : list of str, optional
        Those of the features.
    """

    rows: Bunch
    names: list[str] | None

    @classmethod
    def of(cls, path: Any, reading: Reading, model: Any, large: Large) -> RowsInParts:
        """Return the rows of a file, as numbers or as a model takes them, in a pass over labels."""
        if model is None:
            numbers = replace(reading, missing=False, text=False, dates=False)
            rows = large.read(path, numbers)
            names = rows.feature_names
        else:
            rows = rows_for(model, path, reading, labels="required", large=large)
            names = rows.feature_names
        if hasattr(model, "steps"):
            spool = large.plan.spool(path, reading)
            rows.data = rows.data.mapped(model[:-1].transform, spool)
            names = names_after(model[:-1])
        return cls(of_usual_labels(rows, reading), names)

    def moments(
        self, covariance: Kept, weighting: StrataWeight, column: str, positive: Any, T: Any = None
    ) -> ClassStatistics:
        """Return the moments of the rows, or of Tᵀx, within their strata, in three passes."""
        rows, y = self.rows, np.asarray(self.rows.target)
        labels = _two_labels(y, rows.name, positive)
        source = rows.data if T is None else rows.data.mapped(partial(_times, T))
        source = source.with_labels(y == labels[1], rows.weight)
        checked = labelled_rows(AUCClassifier(), source, None, None)
        strata = checked.coded_strata
        assert strata is not None
        moments = kind_of(covariance)([False, True])
        shape = np.broadcast_to(0.0, (1, checked.n_features))
        check_memory(moments, Bunch(name=rows.name, data=shape, target=y))
        of_rows = checked.positive, checked.weight, strata.weighed(weighting)
        total = statistics_in_parts(checked.store, moments, *of_rows)
        total.feature_names = self.names if T is None else None
        return _labelled(total, labels, rows.target_name, column)


def _times(T: Any, X: Any) -> Any:
    return X @ T


def _two_labels(y: np.ndarray, name: str, positive: Any) -> list[Any]:
    """Return the negative and the positive label; raise ValueError if there are not two labels."""
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) != 2:
        raise ValueError(f"{name}: strata need rows of two labels, but there are {len(labels):,}.")
    return [*classes_named(labels, counts, positive, name).labels]


def _labelled(
    moments: ClassStatistics, labels: list[Any], target: str | None, column: str
) -> ClassStatistics:
    """Return moments of the labels 0 and 1 with those of the rows, and the strata's column."""
    moments = moments.relabelled(labels)
    assert moments.strata is not None
    moments.target_name, moments.strata = target, replace(moments.strata, column=column)
    return moments
