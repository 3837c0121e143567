"""Statistics within strata from rows that are read once, one stratum after another.

A stratum is complete when the rows of another begin, so the last stratum of a part is held until
the next part. Memory does not grow with the rows, except for a digest of each stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from aucmax.data.rows.source import Part
from aucmax.data.strata import Strata, StrataWeight, came_again
from aucmax.statistics.base import ClassStatistics, checked_rows

__all__ = ["statistics_in_order"]


def statistics_in_order(
    parts: Iterable[Part],
    empty: ClassStatistics,
    positives: Callable[[NDArray[Any]], NDArray[np.bool_]],
    weighting: StrataWeight,
) -> ClassStatistics:
    """Return the statistics within strata of rows whose strata come one after another.

    Parameters
    ----------
    parts : iterable of Part
        Parts with strata in ``told``.
    empty : ClassStatistics
        Empty statistics of the requested kind, with the labels False and True.
    positives : callable
        Returns which of some labels (n,) are positive.
    weighting : {"positives", "pairs", "strata"}

    Raises
    ------
    ValueError
        If a stratum comes again after others.
    """
    total, row = empty.copy(), 0
    for rows in _whole_strata(parts):
        strata = Strata.of(rows.strata, len(rows.y), weighting)
        runs = np.flatnonzero(np.diff(strata.code, prepend=-1))  # the first rows
        number = strata.code[runs]
        again = np.ones(len(runs), dtype=bool)
        again[np.unique(number, return_index=True)[1]] = False
        if total.strata is not None:
            again |= total.strata.has(strata.digests)[number]
        if again.any():
            place = int(runs[np.argmax(again)])
            stratum = np.asarray(rows.strata)[place : place + 1].tolist()[0]
            raise ValueError(
                f"row {row + place + 1:,}: {came_again(stratum)}, or take more than one pass."
            )
        X, y, weight, _ = checked_rows(rows.X, positives(rows.y), rows.weight)
        total.add_strata(X, y, weight, strata)
        row += len(y)
    return total


class _Rows(NamedTuple):
    """Some rows, their labels, weights (or None) and strata, (n,) each."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None
    strata: NDArray[Any]

    @classmethod
    def of(cls, part: Part) -> Self:
        """Return the rows of a part; raise ValueError if they have no labels or strata."""
        strata = (part.told or {}).get("strata")
        if part.y is None or strata is None:
            raise ValueError("it has rows without labels or strata; give every row both.")
        weight = None if part.weight is None else np.asarray(part.weight)
        return cls(part.X, np.asarray(part.y), weight, np.asarray(strata))

    def at(self, rows: slice) -> _Rows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return _Rows(self.X[rows], self.y[rows], weight, self.strata[rows])

    def with_rows(self, rows: _Rows) -> _Rows:
        """Return these rows followed by others."""
        X = (sp.vstack if sp.issparse(self.X) else np.concatenate)([self.X, rows.X])
        weight = None
        if self.weight is not None and rows.weight is not None:
            weight = np.concatenate([self.weight, rows.weight])
        strata = [self.strata, rows.strata]
        if strata[0].dtype.kind != strata[1].dtype.kind:  # as objects, numbers stay numbers
            strata = [values.astype(object) for values in strata]
        return _Rows(X, np.concatenate([self.y, rows.y]), weight, np.concatenate(strata))


def _whole_strata(parts: Iterable[Part]) -> Iterator[_Rows]:
    """Yield the rows of whole strata, assuming that no stratum comes again."""
    pending: _Rows | None = None
    for part in parts:
        rows = _Rows.of(part)
        if not len(rows.y):
            continue
        rows = rows if pending is None else pending.with_rows(rows)
        code = Strata.of(rows.strata, len(rows.y)).code
        last = int(np.flatnonzero(np.diff(code, prepend=-1))[-1])
        pending = rows.at(slice(last, None))
        if last:
            yield rows.at(slice(last))
    if pending is not None:
        yield pending
