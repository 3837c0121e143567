"""The kernels of `products` in NumPy, for few numbers, where starting Numba would take longer.

Each function takes the arguments of its kernel, but adds in another order, so that sums differ by
rounding. Neither ``einsum`` nor products with several columns use several threads, which could wait
for a busy core.
"""

import numpy as np

from aucmax.data.rows.lanes import LANES
from aucmax.data.rows.threads import one_blas_thread
from aucmax.data.rows.view import CSR, Rows, n_stored, to_scipy

__all__ = [
    "FEW_ROWS", "adjoint", "adjoints", "centred_rows", "class_sums", "csr_squares",
    "dense_variances", "few_entries", "few_pairs", "normal_product", "row_norms2", "scores",
    "scores_of", "sparse_gram", "take_columns",
]  # fmt: skip

FEW_ROWS = 3_000  # NumPy sorts and looks up so many numbers faster than Numba starts
_FEW_ENTRIES, _FEW_STORED = 100_000, 30_000  # dense and CSR
_FEW_PAIRS = 1_000_000  # of stored entries of the same row


def few_entries(X: Rows, *_: object) -> bool:
    """Return whether NumPy is fast enough for a pass over the rows."""
    return n_stored(X) <= (_FEW_STORED if isinstance(X, CSR) else _FEW_ENTRIES)


def _entries(X: CSR, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row, column and value of each stored entry of some rows."""
    stored = slice(X.indptr[lo], X.indptr[hi])
    row = np.repeat(np.arange(lo, hi), np.diff(X.indptr[lo : hi + 1]))
    return row, X.indices[stored], X.data[stored].astype(np.float64)


def scores(X: Rows, lo: int, hi: int, w: np.ndarray, out: np.ndarray) -> None:
    """Write the rows' products with w (d,) to ``out``."""
    if isinstance(X, CSR):
        row, column, x = _entries(X, lo, hi)
        out[lo:hi] = np.bincount(row - lo, x * w[column], minlength=hi - lo)
    else:
        np.einsum("ij,j->i", X[lo:hi], w, out=out[lo:hi])


@one_blas_thread()
def scores_of(
    X: Rows, rows: np.ndarray, _: bool, tables: np.ndarray, __: np.ndarray, out: np.ndarray
) -> None:
    """Write the products of some rows (m,) with the first k columns of tables to ``out`` (k, m)."""
    out[...] = (to_scipy(X)[rows] @ np.hstack([*tables])[:, : len(out)]).T


def adjoint(X: Rows, lo: int, hi: int, g: np.ndarray, total: np.ndarray) -> None:
    """Add the rows, multiplied by g (n,), to ``total`` (d,)."""
    total += _sum_of_rows(X, lo, hi, g[lo:hi])


@one_blas_thread()
def adjoints(
    X: Rows, lo: int, hi: int, G: np.ndarray, _: np.ndarray, __: np.ndarray, tables: np.ndarray
) -> None:
    """Add the rows, multiplied by each row of G (k, n), to the first k columns of ``tables``."""
    total = to_scipy(X)[lo:hi].T @ G[:, lo:hi].T
    for k, table in enumerate(tables):
        columns = total[:, k * LANES : (k + 1) * LANES]
        table[:, : columns.shape[1]] += columns


def _sum_of_rows(X: Rows, lo: int, hi: int, g: np.ndarray) -> np.ndarray:
    if isinstance(X, CSR):
        row, column, x = _entries(X, lo, hi)
        return np.bincount(column, x * g[row - lo], minlength=X.n_features)
    return np.einsum("i,ij->j", g, X[lo:hi])


def normal_product(
    X: Rows, lo: int, hi: int, s: np.ndarray, v: np.ndarray, m: np.ndarray, product: np.ndarray
) -> None:
    """Add Xᵀ r and the sum of r = s ∘ (X v − m) to ``product`` (d + 1,)."""
    z = np.empty(hi)
    scores(X, lo, hi, v, z)
    r = s[lo:hi] * (z[lo:] - m[lo:hi])
    product[:-1] += _sum_of_rows(X, lo, hi, r)
    product[-1] += r.sum()


def row_norms2(X: Rows, lo: int, hi: int, out: np.ndarray) -> None:
    """Write the squared norms of the rows to ``out``."""
    if isinstance(X, CSR):
        row, _, x = _entries(X, lo, hi)
        out[lo:hi] = np.bincount(row - lo, x * x, minlength=hi - lo)
    else:
        np.einsum("ij,ij->i", X[lo:hi], X[lo:hi], out=out[lo:hi], dtype=np.float64)


def class_sums(
    X: Rows,
    lo: int,
    hi: int,
    sign: np.ndarray,
    s: np.ndarray,
    origin: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add s (x − origin) over the stored entries of each class's rows to its row of ``out``."""
    of_class = sign[lo:hi] > 0
    if isinstance(X, CSR):
        row, column, x = _entries(X, lo, hi)
        gaps = s[row] * (x - origin[column])
        for k, members in enumerate((of_class[row - lo], ~of_class[row - lo])):
            out[k] += np.bincount(column[members], gaps[members], minlength=X.n_features)
        return
    centred = X[lo:hi] - origin
    for k, members in enumerate((of_class, ~of_class)):
        out[k] += np.einsum("i,ij->j", np.where(members, s[lo:hi], 0.0), centred)


def centred_rows(
    X: Rows,
    rows: np.ndarray,
    s: np.ndarray,
    origin: np.ndarray,
    centred: np.ndarray,
    total: np.ndarray,
) -> None:
    """Write √s (x − origin) of some rows to ``centred``; add s (x − origin) to ``total`` (d,)."""
    dense = to_scipy(X)[rows]
    np.subtract(dense.toarray() if isinstance(X, CSR) else dense, origin, out=centred)
    total += np.einsum("i,ij->j", s, centred)
    centred *= np.sqrt(s)[:, None]


def dense_variances(
    X: np.ndarray, lo: int, hi: int, s: np.ndarray, mean: np.ndarray, variances: np.ndarray
) -> None:
    """Add s (x − mean)² to ``variances`` (d,)."""
    variances += np.einsum("i,ij->j", s[lo:hi], (X[lo:hi] - mean) ** 2)


def csr_squares(X: CSR, lo: int, hi: int, s: np.ndarray, squares: np.ndarray) -> None:
    """Add s x² of the stored entries to ``squares`` (d,)."""
    row, column, x = _entries(X, lo, hi)
    squares += np.bincount(column, s[row] * x**2, minlength=len(squares))


def few_pairs(X: CSR, lo: int, hi: int, *_: object) -> bool:
    """Return whether NumPy is fast enough for the pairs of stored entries of the same row."""
    sizes = np.diff(X.indptr[lo : hi + 1]).astype(np.float64)
    return few_entries(X) and float(sizes @ sizes) <= _FEW_PAIRS


def sparse_gram(X: CSR, lo: int, hi: int, s: np.ndarray, matrix: np.ndarray) -> None:
    """Add the lower triangle of Xᵀ diag(s) X to ``matrix`` (d, d), which is 0."""
    row, column, x = _entries(X, lo, hi)
    # each entry with those of its row up to itself, in the order in which the kernel adds them
    entry, count = np.arange(len(row)), np.arange(1, len(row) + 1) - (X.indptr[row] - X.indptr[lo])
    left = np.repeat(entry, count)
    right = np.arange(len(left)) - np.repeat(np.cumsum(count) - 1 - entry, count)
    cells = column[left].astype(np.int64) * len(matrix) + column[right]
    pairs = (s[row] * x)[left] * x[right]
    matrix += np.bincount(cells, pairs, minlength=matrix.size).reshape(matrix.shape)


def take_columns(X: np.ndarray, S: np.ndarray, factor: np.ndarray, out: np.ndarray) -> None:
    """Write the columns S (k,) of dense rows, times ``factor`` (k,), to ``out`` (k, n)."""
    np.multiply(X[:, S].T, factor[:, None], out=out)
