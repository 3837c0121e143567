"""Conversion of dense rows to CSR if most entries are zeros, so that passes skip them."""

import numpy as np

from aucmax.data.rows import CSR, Rows, compiled
from aucmax.data.rows.products import row_blocks
from aucmax.data.rows.threads import on_threads

__all__ = ["without_zeros"]

_MIN_ENTRIES = 1_000_000  # of rows that are worth the conversion
_MAX_DENSITY = 1 / 6  # share of other entries up to which every product is faster with CSR rows
_SAMPLED_ROWS = 1_000  # these usually show if a matrix is not sparse


def without_zeros(X: Rows) -> Rows:
    """Return many dense rows as CSR if most of their entries are zeros; other rows unchanged."""
    if isinstance(X, CSR) or X.size < _MIN_ENTRIES:
        return X
    sample = X[:: max(len(X) // _SAMPLED_ROWS, 1)]
    if np.count_nonzero(sample) > _MAX_DENSITY * sample.size:
        return X
    n, d = X.shape
    blocks, ends = row_blocks(X), np.zeros(n + 1, dtype=np.int64)
    on_threads(lambda k, lo, hi: _count(X, lo, hi, ends[1:]), blocks)
    np.cumsum(ends, out=ends)
    if ends[-1] > _MAX_DENSITY * X.size:
        return X
    values, columns = np.empty(ends[-1], dtype=X.dtype), np.empty(ends[-1], dtype=np.int32)
    on_threads(lambda k, lo, hi: _store(X, lo, hi, ends, values, columns), blocks)
    for array in (values, columns, ends):
        array.flags.writeable = False
    return CSR(values, columns, ends, d)


@compiled
def _count(X, lo, hi, counts):
    for i in range(lo, hi):
        for j in range(X.shape[1]):
            counts[i] += X[i, j] != 0.0


@compiled
def _store(X, lo, hi, ends, values, columns):
    for i in range(lo, hi):
        k = ends[i]
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                values[k] = X[i, j]
                columns[k] = j
                k += 1
