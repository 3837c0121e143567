"""Rows of named features that wait to be learnt.

A name gets a column when it first occurs; rows without that name have 0 there.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sp

from aucmax.basics.archive import ArraySpec
from aucmax.basics.checks import LARGEST
from aucmax.data.rows import Rows, as_rows

__all__ = ["Columns", "Waiting", "checked"]

_MIN_DENSITY = 0.25  # share of non-zero entries from which a block is dense
_MAX_DENSE_ENTRIES = 1 << 16  # up to this size a block is always dense


class Columns(dict[Any, int]):
    """The column of each name, in the order of first occurrence."""

    def __missing__(self, name: Any) -> int:
        self[name] = column = len(self)
        return column


def checked(row: Mapping[Any, Any]) -> Iterable[Any]:
    """Return the values of a row; raise ValueError, naming the feature, unless they are numbers."""
    values = row.values()
    try:
        low, high = min(values, default=0.0), max(values, default=0.0)
        if isfinite(sum(values)) and -LARGEST <= low <= high <= LARGEST:
            return values
    except (TypeError, OverflowError):
        pass
    for name, value in row.items():
        try:
            valid = not isinstance(value, str) and abs(float(value)) <= LARGEST
        except (TypeError, ValueError, OverflowError):
            valid = False
        if not valid:
            raise ValueError(
                f"feature {name!r} holds {value!r}; expected a number of at most {LARGEST:g}. "
                "Leave out missing values, and encode text beforehand."
            )
    return values


class Waiting:
    """Waiting rows, with the codes of their classes and their weights; `block` returns them."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.clear()

    def clear(self) -> None:
        """Forget the rows but not the columns."""
        self._values, self._indices = array("d"), array("q")
        self._ends, self._codes, self._weights = array("q"), array("q"), array("d")

    def __len__(self) -> int:
        return len(self._codes)

    def weight_since(self, start: int) -> float:
        """Return the weight of the rows from ``start`` on."""
        return sum(self._weights[start:])

    def add(self, names: Iterable[Any], values: Iterable[Any], code: int, weight: float) -> None:
        """Add one checked row."""
        self._indices.extend(map(self.columns.__getitem__, names))
        self._values.extend(values)
        self._ends.append(len(self._values))
        self._codes.append(code)
        self._weights.append(weight)

    def add_rows(
        self, columns: np.ndarray, X: np.ndarray, codes: np.ndarray, weights: np.ndarray
    ) -> None:
        """Add checked rows X (m, k) whose features have these ``columns`` (k,)."""
        m, k = X.shape
        start = len(self._values)
        self._indices.frombytes(np.tile(columns.astype(np.int64), m).tobytes())
        self._values.frombytes(np.ascontiguousarray(X, dtype=np.float64).tobytes())
        self._ends.extend(range(start + k, start + m * k + 1, k) if k else [start] * m)
        self._codes.frombytes(codes.astype(np.int64).tobytes())
        self._weights.frombytes(weights.astype(np.float64).tobytes())

    def block(self, gamma: float) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Return the rows (m, d), codes and weights (m,); row i's weight times γ^(m−i)."""
        codes, weights = (np.array(part) for part in (self._codes, self._weights))
        ends, columns = np.array(self._ends), np.array(self._indices)
        values, shape = np.array(self._values), (len(codes), len(self.columns))
        X: Any
        size = shape[0] * shape[1]
        if size <= _MAX_DENSE_ENTRIES or np.count_nonzero(values) >= _MIN_DENSITY * size:
            X = np.zeros(shape)
            X[np.repeat(np.arange(shape[0]), np.diff(ends, prepend=0)), columns] = values
        else:
            X = sp.csr_array((values, columns, np.concatenate(([0], ends))), shape=shape)
            X.sort_indices()
            X.eliminate_zeros()
        if gamma < 1.0:
            weights = weights * gamma ** np.arange(len(codes) - 1, -1, -1)
        return as_rows(X), codes, weights

    def arrays(self) -> dict[str, np.ndarray]:
        """Return copies of the arrays of the waiting rows; the columns are not among them."""
        return {
            "values": np.array(self._values),
            "indices": np.array(self._indices, dtype=np.int64),
            "ends": np.array(self._ends, dtype=np.int64),
            "codes": np.array(self._codes, dtype=np.int64),
            "weights": np.array(self._weights),
        }

    @staticmethod
    def specs(d: int, classes: int) -> dict[str, ArraySpec]:
        """Return the declarations of `arrays` for d columns and this many classes."""
        return {
            "values": ArraySpec(("entries",), high=LARGEST),
            "indices": ArraySpec(("entries",), np.int64, 0, d - 1),
            "ends": ArraySpec(("rows",), np.int64, 0),
            "codes": ArraySpec(("rows",), np.int64, 0, classes - 1),
            "weights": ArraySpec(("rows",), low=0.0),
        }

    def restore(self, names: Sequence[Any], learnt: int, arrays: dict[str, np.ndarray]) -> None:
        """Restore columns, of which ``learnt`` were learnt, and arrays that match `specs`.

        Raises
        ------
        ValueError
            If they do not belong together.
        """
        ends, indices = arrays["ends"], arrays["indices"]
        sizes = np.diff(ends, prepend=0)
        if np.any(sizes < 0) or np.sum(ends[-1:]) != len(indices):
            raise ValueError("its waiting rows are not consecutive")
        rows = np.repeat(np.arange(len(ends)), sizes)
        if len(np.unique(rows * len(names) + indices)) < len(indices):
            raise ValueError("one of its waiting rows has a feature twice")
        if len(np.unique(indices[indices >= learnt])) != len(names) - learnt:
            raise ValueError("it names features that no row has")
        self.columns = Columns((name, column) for column, name in enumerate(names))
        self.clear()
        for name in self.arrays():
            getattr(self, f"_{name}").frombytes(arrays[name].tobytes())
