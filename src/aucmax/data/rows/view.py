"""Dense and CSR rows behind one interface, so that each kernel is written once.

A kernel uses row ``i`` of ``X`` through four functions: its product with a vector (`row_dot`), its
addition to a vector (`row_add`) or to two (`row_add_both`), and its squared norm (`row_norm2`).
Kernels that treat stored entries individually also use their number (`row_size`) and single entries
(`row_entry`). In compiled code the type of ``X`` selects the body at compile time; with
``NUMBA_DISABLE_JIT=1`` the same two bodies are selected at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from aucmax.basics.sparse import sp
from aucmax.data.rows.kernels import INLINE, REORDER, fetch, inlined, overloaded
from aucmax.data.rows.lanes import lanes_at, plus_times, put_lanes

__all__ = [
    "CSR",
    "LONG_VECTOR",
    "Rows",
    "as_rows",
    "fetch_ahead",
    "fetch_entries",
    "n_features",
    "n_rows",
    "n_stored",
    "row_add",
    "row_add_both",
    "row_dot",
    "row_entry",
    "row_norm2",
    "row_size",
    "scaled_rows",
    "shifted_rows",
    "some_columns",
    "stacked_rows",
    "take_rows",
    "to_scipy",
]


class CSR(NamedTuple):
    """Compressed sparse rows, the form in which kernels take a sparse matrix.

    ``data`` float32 or float64 and ``indices`` int32, both (nnz,); ``indptr`` int64, (n + 1,).
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_features: int


Rows = np.ndarray | CSR

_STEPS_AHEAD = 4  # distance of the prefetched row
_ENTRIES_AHEAD = 64  # distance of the prefetched entries
LONG_VECTOR = 200_000  # length above which a vector does not stay in the cache


def _frozen(a: np.ndarray) -> np.ndarray:
    """Return a read-only view: one array type for the compiler, and kernels cannot write to it."""
    a = a.view()
    a.flags.writeable = False
    return a


def as_rows(X: Any) -> Rows:
    """Normalise a matrix so that every kernel compiles once for dense and once for CSR rows.

    Parameters
    ----------
    X : ndarray, sparse matrix or sparse array, or CSR, shape (n, d)
        float32 and float64 are kept; other types become float64. Only what must change is copied
        (Fortran order, int64 column indices, duplicate entries).

    Returns
    -------
    ndarray or CSR
        Read-only, C-contiguous; indices int32 and indptr int64.
    """
    if isinstance(X, CSR):
        return X
    if sp.issparse(X):
        X = X.tocsr()
        if X.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X has {X.shape[1]} features; at most 2147483647 are supported.")
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        data = X.data if X.dtype in (np.float32, np.float64) else X.data.astype(np.float64)
        return CSR(
            _frozen(np.ascontiguousarray(data)),
            _frozen(np.ascontiguousarray(X.indices, dtype=np.int32)),
            _frozen(np.ascontiguousarray(X.indptr, dtype=np.int64)),
            int(X.shape[1]),
        )
    X = np.asarray(X)
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return _frozen(np.ascontiguousarray(X, dtype=dtype))


def n_rows(X: Rows) -> int:
    """Return the number of rows."""
    return len(X.indptr) - 1 if isinstance(X, CSR) else X.shape[0]


def n_features(X: Rows) -> int:
    """Return the number of columns."""
    return X.n_features if isinstance(X, CSR) else X.shape[1]


def n_stored(X: Rows) -> int:
    """Return the number of entries that one pass over the data reads."""
    return len(X.data) if isinstance(X, CSR) else X.size


def to_scipy(X: Rows) -> Any:
    """Return a SciPy CSR array on the same memory; dense rows are returned unchanged."""
    if not isinstance(X, CSR):
        return X
    # SciPy copies neither array if both have the same type
    narrow = len(X.data) <= np.iinfo(np.int32).max
    indptr = X.indptr.astype(np.int32) if narrow else X.indptr
    return sp.csr_array((X.data, X.indices, indptr), shape=(n_rows(X), X.n_features))


def take_rows(X: Rows, index: np.ndarray) -> Rows:
    """Return a copy of the rows selected by ``index`` (positions or a mask)."""
    return as_rows(to_scipy(X)[index])


def some_columns(X: Rows, S: np.ndarray) -> Rows:
    """Return the columns at ascending positions S (k,); X itself if these are all."""
    return X if len(S) == n_features(X) else as_rows(to_scipy(X)[:, S])


def stacked_rows(parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, as CSR if any part is; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, CSR) for part in parts):
        return as_rows(sp.vstack([sp.csr_array(to_scipy(part)) for part in parts], format="csr"))
    return as_rows(np.concatenate([to_scipy(part) for part in parts]))


def scaled_rows(X: Rows, factor: np.ndarray) -> Rows:
    """Return a copy with column j multiplied by ``factor[j]``."""
    if isinstance(X, CSR):
        data = (X.data * factor[X.indices]).astype(X.data.dtype, copy=False)
        return X._replace(data=_frozen(data))
    return _frozen(np.multiply(X, factor, out=np.empty_like(X), casting="same_kind"))


def shifted_rows(X: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return a copy of dense rows with ``shift`` (d,) subtracted from each."""
    return _frozen(np.subtract(X, shift, out=np.empty_like(X), casting="same_kind"))


def _dense_dot(X, i, w):
    s = 0.0
    for j in range(X.shape[1]):
        s += X[i, j] * w[j]
    return s


# CSR bodies use unsigned indices, which avoids the check for negative ones, and the dot
# keeps four sums, so that additions need not wait for each other (docs/performance.md).
def _csr_dot(X, i, w):
    step, block = np.uint64(1), np.uint64(4)
    k, end = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
    blocks_end = k + (end - k) // block * block
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    while k < blocks_end:
        a += X.data[k] * w[np.uint64(X.indices[k])]
        k += step
        b += X.data[k] * w[np.uint64(X.indices[k])]
        k += step
        c += X.data[k] * w[np.uint64(X.indices[k])]
        k += step
        d += X.data[k] * w[np.uint64(X.indices[k])]
        k += step
    while k < end:
        a += X.data[k] * w[np.uint64(X.indices[k])]
        k += step
    return (a + b) + (c + d)


def _dense_add(X, i, c, w):
    for j in range(X.shape[1]):
        w[j] += c * X[i, j]


def _csr_add(X, i, c, w):
    for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
        w[np.uint64(X.indices[k])] += c * X.data[k]


def _dense_add_both(X, i, c, v, d, u):
    for j in range(X.shape[1]):
        v[j] += c * X[i, j]
        u[j] += d * X[i, j]


# Both sums are formed before either is stored, as for the compiler v and u might overlap.
def _csr_add_both(X, i, c, v, d, u):
    for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
        j, x = np.uint64(X.indices[k]), X.data[k]
        of_v, of_u = v[j] + c * x, u[j] + d * x
        v[j] = of_v
        u[j] = of_u


def _dense_norm2(X, i):
    s = 0.0
    for j in range(X.shape[1]):
        x = np.float64(X[i, j])
        s += x * x
    return s


def _csr_norm2(X, i):
    s = 0.0
    for k in range(X.indptr[i], X.indptr[i + 1]):
        x = np.float64(X.data[k])
        s += x * x
    return s


def _dense_size(X, i):
    return X.shape[1]


def _csr_size(X, i):
    return X.indptr[i + 1] - X.indptr[i]


def _dense_entry(X, i, k):
    return k, X[i, k]


def _csr_entry(X, i, k):
    at = np.uint64(X.indptr[i] + k)
    return np.uint64(X.indices[at]), X.data[at]


# A cache line of 64 bytes holds 8 numbers of 8 bytes, or 16 indices. Steps of the loops that are
# constants, and unsigned positions, spare divisions that take longer than the prefetching. The
# start of a CSR row must be loaded before the row is prefetched.
def _dense_ahead(order, t, X):
    if t + _STEPS_AHEAD < len(order):
        size = X.shape[1] if X.ndim == 2 else 1
        first = order[t + _STEPS_AHEAD] * size
        for k in range(first, first + size, 8):
            fetch(X, k)


def _csr_ahead(order, t, X):
    if t + 2 * _STEPS_AHEAD < len(order):
        fetch(X.indptr, order[t + 2 * _STEPS_AHEAD])
    if t + _STEPS_AHEAD < len(order):
        i = np.uint64(order[t + _STEPS_AHEAD])
        first, end = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + np.uint64(1)])
        for k in range(first, end, np.uint64(16)):
            fetch(X.indices, k)
            fetch(X.data, k)
            fetch(X.data, k + np.uint64(8))
        fetch(X.indices, end)
        fetch(X.data, end)


def _dense_entries(X, i, w):
    pass  # dense entries are read sequentially


def _csr_entries(X, i, w):
    if len(w) > LONG_VECTOR:
        first, end = X.indptr[i], X.indptr[i + 1]
        after = len(X.indices) - end
        ahead = _ENTRIES_AHEAD if after > _ENTRIES_AHEAD else after
        for k in range(np.uint64(first + ahead), np.uint64(end + ahead)):
            fetch(w, np.uint64(X.indices[k]))


# Four dense rows at a time: additions need not wait for each other, and the table is read once.
@inlined
def _four_at(rows, r):
    # the last row takes the place of those after it; min and max would be compiled as functions
    last = len(rows) - 1
    h = r + 1 if r + 1 < last else last
    i = r + 2 if r + 2 < last else last
    k = r + 3 if r + 3 < last else last
    return rows[r], rows[h], rows[i], rows[k]


def _dense_rows_dot(X, rows, table, out):
    for r in range(0, len(rows), 4):
        g, h, i, k = _four_at(rows, r)
        a, b = lanes_at(out, r), lanes_at(out, r + 1)
        c, d = lanes_at(out, r + 2), lanes_at(out, r + 3)
        for j in range(X.shape[1]):
            w = lanes_at(table, j)
            a, b = plus_times(a, X[g, j], w), plus_times(b, X[h, j], w)
            c, d = plus_times(c, X[i, j], w), plus_times(d, X[k, j], w)
        put_lanes(out, r, a)
        put_lanes(out, r + 1, b)
        put_lanes(out, r + 2, c)
        put_lanes(out, r + 3, d)


def _csr_rows_dot(X, rows, table, out):
    for r in range(len(rows)):
        total = lanes_at(out, r)
        for k in range(np.uint64(X.indptr[rows[r]]), np.uint64(X.indptr[rows[r] + 1])):
            total = plus_times(total, X.data[k], lanes_at(table, np.uint64(X.indices[k])))
        put_lanes(out, r, total)


def _dense_rows_add(X, rows, factors, out):
    for r in range(0, len(rows), 4):
        g, h, i, k = _four_at(rows, r)
        a, b = lanes_at(factors, r), lanes_at(factors, r + 1)
        c, d = lanes_at(factors, r + 2), lanes_at(factors, r + 3)
        for j in range(X.shape[1]):
            total = plus_times(plus_times(lanes_at(out, j), X[g, j], a), X[h, j], b)
            put_lanes(out, j, plus_times(plus_times(total, X[i, j], c), X[k, j], d))


def _csr_rows_add(X, rows, factors, out):
    for r in range(len(rows)):
        a = lanes_at(factors, r)
        for k in range(np.uint64(X.indptr[rows[r]]), np.uint64(X.indptr[rows[r] + 1])):
            j = np.uint64(X.indices[k])
            put_lanes(out, j, plus_times(lanes_at(out, j), X.data[k], a))


def row_dot(X, i, w):
    """Return x_i · w, summed in float64."""
    return (_csr_dot if isinstance(X, CSR) else _dense_dot)(X, i, w)


def row_add(X, i, c, w):
    """Add c x_i to w in place; only the row's stored entries are touched."""
    (_csr_add if isinstance(X, CSR) else _dense_add)(X, i, c, w)


def row_add_both(X, i, c, v, d, u):
    """Add c x_i to v and d x_i to u in place, where v and u do not overlap."""
    (_csr_add_both if isinstance(X, CSR) else _dense_add_both)(X, i, c, v, d, u)


def row_norm2(X, i):
    """Return ‖x_i‖², summed in float64."""
    return (_csr_norm2 if isinstance(X, CSR) else _dense_norm2)(X, i)


def row_size(X, i):
    """Return the number of stored entries of x_i."""
    return (_csr_size if isinstance(X, CSR) else _dense_size)(X, i)


def row_entry(X, i, k):
    """Return (j, x_ij) of the k-th stored entry of x_i."""
    return (_csr_entry if isinstance(X, CSR) else _dense_entry)(X, i, k)


def fetch_ahead(order, t, X):
    """Prefetch the row that a step after t reads, so that the step need not wait for it.

    ``order`` lists the rows of all steps. X may also be an array of one or several numbers per row.
    """
    (_csr_ahead if isinstance(X, CSR) else _dense_ahead)(order, t, X)


def fetch_entries(X, i, w):
    """Prefetch the entries of a long w that rows soon after x_i read or change."""
    (_csr_entries if isinstance(X, CSR) else _dense_entries)(X, i, w)


def rows_dot(X, rows, table, out):
    """Add the product of each row with a table (d, 8) to a row of ``out`` (m, 8).

    ``out`` has a multiple of four rows, so those beyond ``rows`` may be changed.
    """
    (_csr_rows_dot if isinstance(X, CSR) else _dense_rows_dot)(X, rows, table, out)


def rows_add(X, rows, factors, out):
    """Add x_i times its row of ``factors`` (m, 8) to the columns of ``out`` (d, 8).

    ``factors`` has a multiple of four rows; those beyond ``rows`` are 0.
    """
    (_csr_rows_add if isinstance(X, CSR) else _dense_rows_add)(X, rows, factors, out)


def _is_csr(kind):
    return getattr(kind, "instance_class", None) is CSR  # Numba's type for the NamedTuple


# Dense sums may be reordered. CSR sums must not be, or the compiler would use gathers, which are
# slower. CSR bodies are inlined, since passing three arrays costs as much as a short row, and so is
# the dense addition, which makes a step on 16 features a fifth faster.
@overloaded(row_dot, fastmath=REORDER)
def _row_dot_dense(X, i, w):
    return None if _is_csr(X) else _dense_dot


@overloaded(row_dot, **INLINE)
def _row_dot_csr(X, i, w):
    return _csr_dot if _is_csr(X) else None


@overloaded(row_add, **INLINE)
def _row_add(X, i, c, w):
    return _csr_add if _is_csr(X) else _dense_add


@overloaded(row_add_both, **INLINE)
def _row_add_both(X, i, c, v, d, u):
    return _csr_add_both if _is_csr(X) else _dense_add_both


@overloaded(row_norm2, fastmath=REORDER - {"contract"})  # squares are rounded before they are added
def _row_norm2(X, i):
    return _csr_norm2 if _is_csr(X) else _dense_norm2


@overloaded(row_size, **INLINE)
def _row_size(X, i):
    return _csr_size if _is_csr(X) else _dense_size


@overloaded(row_entry, **INLINE)
def _row_entry(X, i, k):
    return _csr_entry if _is_csr(X) else _dense_entry


@overloaded(fetch_ahead, **INLINE)
def _fetch_ahead(order, t, X):
    return _csr_ahead if _is_csr(X) else _dense_ahead


@overloaded(fetch_entries, **INLINE)
def _fetch_entries(X, i, w):
    return _csr_entries if _is_csr(X) else _dense_entries


@overloaded(rows_dot, **INLINE)
def _rows_dot(X, rows, table, out):
    return _csr_rows_dot if _is_csr(X) else _dense_rows_dot


@overloaded(rows_add, **INLINE)
def _rows_add(X, rows, factors, out):
    return _csr_rows_add if _is_csr(X) else _dense_rows_add
