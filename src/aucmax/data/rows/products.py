"""Products with all rows, each in one pass over them.

Rows are divided into blocks whose number depends only on the size of the data. Blocks run on
threads and are summed in order, so a result has the same bits for any number of threads.
"""

import itertools
from collections.abc import Callable

import numpy as np

from aucmax.data.rows import (
    CSR,
    Rows,
    allocating,
    compiled,
    fetch_ahead,
    fetch_entries,
    few,
    inlined,
    n_features,
    n_rows,
    n_stored,
    row_add,
    row_dot,
    row_entry,
    row_norm2,
    row_size,
    take_rows,
    to_scipy,
)
from aucmax.data.rows.kernels import unless, vectorised
from aucmax.data.rows.lanes import LANES, clear_lanes
from aucmax.data.rows.threads import on_threads
from aucmax.data.rows.view import LONG_VECTOR, rows_add, rows_dot

__all__ = [
    "CANCELLED",
    "adjoint",
    "class_means",
    "class_variances",
    "dense_gram",
    "dense_rows",
    "dot",
    "gram",
    "gram_cost",
    "is_sparse",
    "normal_product",
    "origin_of",
    "pair_gram",
    "row_blocks",
    "row_norms2",
    "scores",
    "scores_at",
    "sparse_gram",
    "sums_of_squares",
    "take_columns",
]

_BLOCK_ENTRIES = 400_000  # stored entries of a block; a thread for fewer costs more than it saves
_MAX_BLOCKS = 8
_ENTRIES_PER_CELL = 4  # least entries of a dense block, per cell of the d × d matrix it sums
_SPARSE_SUMS = 2  # most d × d matrices that sparse blocks sum, as these may exceed the rows
CANCELLED = 1e6  # mean² / variance above which uncentred sums lose too many digits
_MAX_SPARSE_DENSITY = 0.25
_PIECE_ROWS = 64  # a multiple of four
FAR_ENTRIES = 1_000_000  # stored entries above which the rows do not fit into the cache
_MAX_SINGLE_BY_FOURS = 256  # features up to which four float32 rows are added at once
_MIN_WIDE_FEATURES = 2000  # above which a sum of dense rows does not stay in the nearest cache
_ROWS_AT_ONCE = 16  # rows from which columns are taken together
GRAM_ENTRIES = 120_000  # entries of a piece, so that it fits into the cache
_SHORT_VECTOR = 10_000  # length of vectors up to which BLAS computes a dot product on one thread
_GRAM_ROWS = 1_000  # rows of a piece if rows are wide, since each piece reads and writes d² numbers


def row_blocks(X: Rows) -> list[tuple[int, int]]:
    """Return row ranges with about equal numbers of stored entries, one for each task.

    Their number depends only on the size of the data.
    """
    n, count = n_rows(X), n_stored(X) // _BLOCK_ENTRIES
    return _cut(n, count, X.indptr if isinstance(X, CSR) else None)


def _cut(n: int, count: int, indptr: np.ndarray | None = None) -> list[tuple[int, int]]:
    """Return about ``count`` ranges of n rows, of equal size or with equal numbers of entries."""
    count = min(max(count, 1), _MAX_BLOCKS, max(n, 1))
    count = 1 << (count.bit_length() - 1)  # two threads, or four, are done at the same time
    if count == 1:
        return [(0, n)]
    if indptr is None:
        cuts = np.linspace(0, n, count + 1).astype(int)
    else:
        # of the type of indptr, which would otherwise be copied
        shares = np.ceil(np.linspace(0, indptr[-1], count + 1)).astype(indptr.dtype)
        cuts = np.searchsorted(indptr, shares)
        cuts[0], cuts[-1] = 0, n
    return list(itertools.pairwise(cuts.tolist()))


def _each_block(X: Rows, work: Callable[[int, int, int], None]) -> None:
    """Call work(block, first row, end row) for every block, on threads if there are several."""
    on_threads(work, row_blocks(X))


def _sum_of_blocks(X: Rows, work: Callable[..., None], *shape: int) -> np.ndarray:
    """Return the sum over blocks of what work(out, first row, end row) adds to ``out``, or (d,)."""
    return _summed(row_blocks(X), work, *(shape or (n_features(X),)))


def _summed(blocks: list[tuple[int, int]], work: Callable[..., None], *shape: int) -> np.ndarray:
    parts = np.zeros((len(blocks), *shape))
    on_threads(lambda k, lo, hi: work(parts[k], lo, hi), blocks)
    return parts[0] if len(parts) == 1 else parts.sum(axis=0)


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return a · b for float64 vectors.

    For inner loops of solvers: a threaded dot product of BLAS may wait for a busy core.
    """
    return float(_dot(a, b))


def scores(X: Rows, W: np.ndarray) -> np.ndarray:
    """Return X W.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    W : ndarray, shape (d,) or (d, k)

    Returns
    -------
    ndarray of float64, shape (n,) or (n, k)
    """
    if W.ndim == 2:
        tables, columns = _tables(W), np.empty((W.shape[1], n_rows(X)))
        _each_block(
            X,
            lambda _, lo, hi: _scores_of(
                X, np.arange(lo, hi), False, tables, _piece(), columns[:, lo:hi]
            ),
        )
        return columns.T
    w = np.ascontiguousarray(W, dtype=np.float64)
    z = np.empty(n_rows(X))
    _each_block(X, lambda k, lo, hi: _scores(X, lo, hi, w, z))
    return z


def scores_at(X: Rows, rows: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Return the scores (m, k) of the rows at positions ``rows`` (m,), for W (d, k)."""
    columns = np.empty((W.shape[1], len(rows)))
    _scores_of(X, rows, n_stored(X) > FAR_ENTRIES, _tables(W), _piece(), columns)
    return columns.T


def _piece() -> np.ndarray:
    # kernels that make arrays take twice as long to compile
    return np.empty((_PIECE_ROWS, LANES))


def _tables(W: np.ndarray) -> np.ndarray:
    """Return the columns of W (d, k), eight to a table, with columns of zeros at the end."""
    tables = np.zeros((_n_tables(W.shape[1]), len(W), LANES))
    for k, table in enumerate(tables):
        columns = W[:, k * LANES : (k + 1) * LANES]
        table[:, : columns.shape[1]] = columns
    return tables


def _n_tables(k: int) -> int:
    return max(-(-k // LANES), 1)


def adjoint(X: Rows, g: np.ndarray) -> np.ndarray:
    """Return Xᵀ g in float64.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    g : ndarray, shape (n,) or (n, k)

    Returns
    -------
    ndarray of float64, shape (d,) or (d, k)
    """
    if g.ndim == 1:
        g = np.ascontiguousarray(g, dtype=np.float64)
        kernel = _adjoint_by_fours if _is_wide(X) else _adjoint
        return _sum_of_blocks(X, lambda out, lo, hi: kernel(X, lo, hi, g, out))
    columns = np.ascontiguousarray(g.T)
    shape = _n_tables(len(columns)), n_features(X), LANES
    tables = _sum_of_blocks(
        X,
        lambda out, lo, hi: _adjoints(
            X, lo, hi, columns, _piece(), np.empty(_PIECE_ROWS, np.int64), out
        ),
        *shape,
    )
    return np.hstack([*tables])[:, : len(columns)]


def _is_wide(X: Rows) -> bool:
    return not isinstance(X, CSR) and X.shape[1] > _MIN_WIDE_FEATURES


def normal_product(
    X: Rows, s: np.ndarray, V: np.ndarray, offset: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return Xᵀ r, r = s ∘ (X V − offset), and the sum of r, in one pass over the rows.

    For sparse rows with very many columns two passes are faster.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    s : ndarray, shape (n,)
    V : ndarray, shape (d,) or (d, k)
        Each column takes a pass.
    offset : ndarray, shape (n,) or (n, k), optional
        Subtracted from the scores before they are multiplied by s; with the scores of the class
        means, data far from the origin cause no cancellation.

    Returns
    -------
    product : ndarray of float64, shape (d,) or (d, k)
    total : ndarray of float64, shape () or (k,)
    """
    if V.ndim == 2:
        columns = [
            normal_product(X, s, V[:, k], None if offset is None else offset[:, k])
            for k in range(V.shape[1])
        ]
        return np.column_stack([c[0] for c in columns]), np.array([c[1] for c in columns])
    v = np.ascontiguousarray(V, dtype=np.float64)
    m = np.zeros(n_rows(X)) if offset is None else np.ascontiguousarray(offset, dtype=np.float64)
    d = n_features(X)
    if (
        isinstance(X, CSR) and d > LONG_VECTOR
    ):  # v and the product would evict each other from the cache
        r = s * (scores(X, v) - m)
        return adjoint(X, r), r.sum()
    single = not isinstance(X, CSR) and X.dtype == np.float32 and d <= _MAX_SINGLE_BY_FOURS
    kernel = _product_by_fours if single or _is_wide(X) else _normal_product
    # the last entry is the sum of r
    total = _sum_of_blocks(X, lambda out, lo, hi: kernel(X, lo, hi, s, v, m, out), d + 1)
    return total[:d], total[d]


def row_norms2(X: Rows) -> np.ndarray:
    """Return the squared L2 norms of the rows, shape (n,)."""
    norms = np.empty(n_rows(X))
    _each_block(X, lambda k, lo, hi: _row_norms2(X, lo, hi, norms))
    return norms


def origin_of(X: Rows) -> np.ndarray:
    """Return a point near the data; relative to it, the mean of a constant feature is exact.

    It is the first row; for CSR, it is 0 in every column in which some entries are not stored.
    """
    if not isinstance(X, CSR):
        return X[0].astype(np.float64)
    origin = np.zeros(X.n_features)
    first = slice(X.indptr[0], X.indptr[1])
    origin[X.indices[first]] = X.data[first]
    return np.where(_full_columns(X), origin, 0.0)


def _full_columns(X: CSR) -> np.ndarray:
    """Return which columns have an entry in every row, (d,)."""
    full, lo, n = np.ones(X.n_features, bool), 0, n_rows(X)
    while lo < n and full.any():  # the first rows usually show that no column is full
        hi = min(2 * lo + 8, n)
        stored = X.indices[X.indptr[lo] : X.indptr[hi]]
        full &= np.bincount(stored, minlength=X.n_features) == hi - lo
        lo = hi
    return full


def class_means(X: Rows, sign: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (μ₊, μ₋), the weighted class means.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)
    sign : ndarray, shape (n,)
        +1 or −1.
    s : ndarray, shape (n,)
        Weights that sum to 1 in each class.
    """
    origin = origin_of(X)
    pos, neg = origin + _sum_of_blocks(
        X, lambda out, lo, hi: _class_sums(X, lo, hi, sign, s, origin, out), 2, n_features(X)
    )
    return pos, neg


def class_variances(
    X: Rows, sign: np.ndarray, s: np.ndarray, mean_pos: np.ndarray, mean_neg: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (biased, weighted) variances of every feature in each class, about the means.

    Arguments as for `class_means`. The variance of a feature that is constant in a class is
    exactly 0 if its mean is exact.
    """
    variances = []
    for label, mean in ((1.0, mean_pos), (-1.0, mean_neg)):
        share = np.where(sign == label, s, 0.0)
        if isinstance(X, CSR):
            squares = _sum_of_blocks(X, lambda o, lo, hi, q=share: _csr_squares(X, lo, hi, q, o))
            var = squares - mean**2
            if not np.all(mean**2 <= CANCELLED * var):
                var, of_entries = np.zeros((2, len(mean)))
                _csr_variances(X, share, mean, var, of_entries, np.zeros(len(mean), np.int64))
        else:
            var = _sum_of_blocks(
                X, lambda o, lo, hi, q=share, m=mean: _dense_variances(X, lo, hi, q, m, o)
            )
        variances.append(np.maximum(var, 0.0))
    return variances[0], variances[1]


def dense_rows(X: Rows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a dense array and the positions of the rows in it: X itself, or a copy for CSR."""
    if isinstance(X, CSR):
        return to_scipy(take_rows(X, rows)).toarray(), np.arange(len(rows))
    return X, rows


def take_columns(X: np.ndarray, S: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return the columns S of dense rows times ``factor`` (k,): a new array in Fortran order."""
    columns = np.empty((len(S), len(X)))
    _take_columns(X, S, factor, columns)
    return columns.T


def gram(X: Rows, s: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Zᵀ diag(s) Z, shape (d, d), and Zᵀ s for the rows Z = X − 1 originᵀ and s ≥ 0."""
    if isinstance(X, CSR) and is_sparse(X):
        about_zero, sums, mass = sparse_gram(X, s), adjoint(X, s), float(s.sum())
        cross = np.outer(origin, sums - 0.5 * mass * origin)
        matrix = about_zero - cross - cross.T
        if np.all(np.diag(about_zero) <= CANCELLED * np.diag(matrix)):
            return matrix, sums - mass * origin
    return dense_gram(X, np.arange(n_rows(X)), s, origin)


def dense_gram(
    X: Rows, rows: np.ndarray, s: np.ndarray, origin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Zᵀ diag(s) Z and Zᵀ s for Z, some rows of X minus the origin, with s (k,) ≥ 0.

    Shifted and weighted pieces stay in the cache while they are multiplied.
    """
    d = n_features(X)
    step = max(GRAM_ENTRIES // max(d, 1), min(d, _GRAM_ROWS), 1)

    def work(out: np.ndarray, first: int, end: int) -> None:
        # the last row of out is Zᵀ s
        piece, product = np.empty((min(step, end - first), d)), np.empty((d, d))
        for lo in range(first, end, step):
            hi = min(lo + step, end)
            part = piece[: hi - lo]
            _centred_rows(X, rows[lo:hi], s[lo:hi], origin, part, out[d])
            out[:d] += np.matmul(part.T, part, out=product)  # SYRK, which releases the GIL

    entries = len(rows) * d
    count = min(entries // _BLOCK_ENTRIES, entries // (_ENTRIES_PER_CELL * d * d + 1))
    total = _summed(_cut(len(rows), count), work, d + 1, d)
    return total[:d], total[d]


def pair_gram(
    X: Rows,
    s: np.ndarray,
    pos: np.ndarray,
    neg: np.ndarray,
    first: np.ndarray,
    end: np.ndarray,
    origin: np.ndarray,
) -> np.ndarray:
    """Return Σ s_i s_j (x_i − x_j)(x_i − x_j)ᵀ, shape (d, d), over some pairs of rows.

    Row pos[k] is paired with neg[first[k]:end[k]]; neither ``first`` nor ``end`` ever decreases,
    and rows with different ends have no row in common. The origin is a point near the data.
    """
    weight, cross = np.zeros(n_rows(X)), np.zeros((n_features(X), n_features(X)))
    _pair_cross(X, s, (pos, neg, first, end), origin, weight, cross, *np.zeros((2, len(cross))))
    return gram(X, weight, origin)[0] - cross - cross.T


def gram_cost(X: Rows) -> float:
    """Return the cost of `gram` and of solving with it, in products with the rows, as measured."""
    d, stored = n_features(X), max(n_stored(X), 1)
    system = (12.0 + 0.02 * d) * d**2 / stored  # writing the matrix, and factoring it
    if isinstance(X, CSR) and is_sparse(X):
        sizes = np.diff(X.indptr).astype(np.float64)
        return 0.4 * float(sizes @ sizes) / stored + system
    return n_rows(X) * d**2 / (6.0 * stored) + system


def is_sparse(X: CSR) -> bool:
    """Return whether multiplying pairs of stored entries is faster than a dense product."""
    return n_stored(X) < _MAX_SPARSE_DENSITY * n_rows(X) * X.n_features


def sums_of_squares(
    X: Rows, sign: np.ndarray, s: np.ndarray, mean_pos: np.ndarray, mean_neg: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Σ q and Σ q² over the rows, (d,) each: q = s (x − μ)², μ the mean of the class."""
    sums = np.zeros((2, n_features(X)))
    for of_class, mean in ((sign > 0, mean_pos), (sign < 0, mean_neg)):
        share, stored = np.where(of_class, s, 0.0), np.zeros(sums.shape)
        _add_squares(X, share, mean, sums, stored)
        for k, power in enumerate((1, 2)):  # entries that are not stored count as 0
            unstored = np.maximum((share**power).sum() - stored[k], 0.0)
            sums[k] += mean ** (2 * power) * unstored
    return sums[0], sums[1]


def sparse_gram(X: CSR, s: np.ndarray) -> np.ndarray:
    """Return Xᵀ diag(s) X, shape (d, d), from the stored entries alone."""
    d = X.n_features
    blocks = _cut(n_rows(X), min(len(row_blocks(X)), _SPARSE_SUMS), X.indptr)
    lower = _summed(blocks, lambda out, lo, hi: _sparse_gram(X, lo, hi, s, out), d, d)
    return lower + np.tril(lower, -1).T


@unless(lambda a, b: len(a) <= _SHORT_VECTOR, np.dot)
@vectorised
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@unless(few.few_entries, few.scores)
@compiled
def _scores(X, lo, hi, w, out):
    for i in range(lo, hi):
        fetch_entries(X, i, w)
        out[i] = row_dot(X, i, w)


# A piece stays in the cache while it moves between columns and lanes.
@unless(few.few_entries, few.scores_of)
@compiled
def _scores_of(X, rows, far, tables, piece, out):
    for first in range(0, len(rows), _PIECE_ROWS):
        members = rows[first : first + _PIECE_ROWS]
        if far:  # the next piece
            for r in range(len(members)):
                fetch_ahead(rows, first + r + len(members), X)
        for t in range(len(tables)):
            clear_lanes(piece)
            rows_dot(X, members, tables[t], piece)
            for k in range(piece.shape[1]):
                if t * LANES + k < len(out):
                    for r in range(len(members)):
                        out[t * LANES + k, first + r] = piece[r, k]


@unless(few.few_entries, few.take_columns)
@compiled
def _take_columns(X, S, factor, out):
    # rows are in different pages of memory, of which few are fetched at once
    for lo in range(0, len(X), _ROWS_AT_ONCE):
        for k in range(len(S)):
            for i in range(lo, min(lo + _ROWS_AT_ONCE, len(X))):
                out[k, i] = X[i, S[k]] * factor[k]


@unless(few.few_entries, few.adjoint)
@compiled
def _adjoint(X, lo, hi, g, out):
    for i in range(lo, hi):
        fetch_entries(X, i, out)
        if g[i] != 0.0:
            row_add(X, i, g[i], out)


@unless(few.few_entries, few.adjoint)
@allocating
def _adjoint_by_fours(X, lo, hi, g, out):
    # reads and writes the result once for every four rows that count
    rows = lo + np.flatnonzero(g[lo:hi])
    rest = len(rows) % 4
    for k in range(0, len(rows) - rest, 4):
        four = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        _add_four(X, four, (g[four[0]], g[four[1]], g[four[2]], g[four[3]]), out)
    for i in rows[len(rows) - rest :]:
        row_add(X, i, g[i], out)


@unless(few.few_entries, few.adjoints)
@compiled
def _adjoints(X, lo, hi, G, piece, members, tables):
    for first in range(lo, hi, _PIECE_ROWS):
        for t in range(len(tables)):
            clear_lanes(piece)
            count, end = 0, first + _PIECE_ROWS if first + _PIECE_ROWS < hi else hi
            for i in range(first, end):
                size = 0.0
                for k in range(piece.shape[1]):
                    if t * LANES + k < len(G):
                        piece[count, k] = G[t * LANES + k, i]
                        size += abs(G[t * LANES + k, i])
                if size != 0.0:
                    members[count] = i
                    count += 1
            rows_add(X, members[:count], piece, tables[t])


@unless(few.few_entries, few.normal_product)
@compiled
def _normal_product(X, lo, hi, s, v, m, out):
    total = 0.0
    for i in range(lo, hi):
        r = s[i] * (row_dot(X, i, v) - m[i])
        row_add(X, i, r, out)
        total += r
    out[len(v)] += total


@vectorised
def _add_four(X, rows, factors, out):
    (h, i, k, m), (a, b, c, d) = rows, factors
    for j in range(X.shape[1]):
        out[j] += (a * X[h, j] + b * X[i, j]) + (c * X[k, j] + d * X[m, j])


@unless(few.few_entries, few.normal_product)
@compiled
def _product_by_fours(X, lo, hi, s, v, m, out):
    # reads and writes the result once for every four rows, which are still in the cache
    total = 0.0
    for i in range(lo, hi - 3, 4):
        a = s[i] * (row_dot(X, i, v) - m[i])
        b = s[i + 1] * (row_dot(X, i + 1, v) - m[i + 1])
        c = s[i + 2] * (row_dot(X, i + 2, v) - m[i + 2])
        d = s[i + 3] * (row_dot(X, i + 3, v) - m[i + 3])
        _add_four(X, (i, i + 1, i + 2, i + 3), (a, b, c, d), out)
        total += (a + b) + (c + d)
    out[len(v)] += total
    _normal_product(X, hi - (hi - lo) % 4, hi, s, v, m, out)


@unless(few.few_entries, few.row_norms2)
@compiled
def _row_norms2(X, lo, hi, out):
    for i in range(lo, hi):
        out[i] = row_norm2(X, i)


# CSR kernels use unsigned indices, which avoids the check for negative ones.
@unless(few.few_entries, few.class_sums)
@compiled
def _class_sums(X, lo, hi, sign, s, origin, out):
    # adds s (x − origin), over the stored entries of each row, to its class; for CSR the origin is
    # zero wherever a row may have no entry
    for i in range(lo, hi):
        k = 0 if sign[i] > 0 else 1
        for e in range(row_size(X, i)):
            j, x = row_entry(X, i, e)
            out[k, j] += s[i] * (x - origin[j])


@unless(few.few_entries, few.centred_rows)
@compiled
def _centred_rows(X, rows, s, origin, out, total):
    for k in range(len(rows)):
        fetch_ahead(rows, k, X)
        x, root = out[k], np.sqrt(s[k])
        _centred(X, rows[k], origin, x)
        for j in range(len(x)):
            total[j] += s[k] * x[j]
            x[j] *= root


@unless(few.few_entries, few.dense_variances)
@compiled
def _dense_variances(X, lo, hi, s, mean, out):
    for i in range(lo, hi):
        if s[i] != 0.0:
            for j in range(X.shape[1]):
                gap = X[i, j] - mean[j]
                out[j] += s[i] * (gap * gap)


@unless(few.few_entries, few.csr_squares)
@compiled
def _csr_squares(X, lo, hi, s, out):
    for i in range(lo, hi):
        if s[i] != 0.0:
            for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                x = np.float64(X.data[k])
                out[np.uint64(X.indices[k])] += s[i] * (x * x)


@compiled
def _csr_variances(X, s, mean, variances, share, count):
    members = 0
    for i in range(len(X.indptr) - 1):
        if s[i] != 0.0:
            members += 1
            for k in range(np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])):
                j = np.uint64(X.indices[k])
                gap = X.data[k] - mean[j]
                variances[j] += s[i] * (gap * gap)
                share[j] += s[i]
                count[j] += 1
    for k in range(len(mean)):
        if count[k] < members:  # add the zeros that are not stored
            variances[k] += max(1.0 - share[k], 0.0) * (mean[k] * mean[k])


@compiled
def _add_squares(X, s, mean, sums, stored):
    for i in range(len(s)):
        if s[i] != 0.0:
            for e in range(row_size(X, i)):
                j, x = row_entry(X, i, e)
                gap = x - mean[j]
                r = s[i] * (gap * gap)
                sums[0, j] += r
                sums[1, j] += r * r
                stored[0, j] += s[i]
                stored[1, j] += s[i] * s[i]


@compiled
def _pair_cross(X, s, pairs, origin, weight, out, x, total):
    # weight_i: s_i times the sum of s over the partners of row i; out: Σ s_i x_i (Σ s_j x_j)ᵀ over
    # the positives i and their partners j
    pos, neg, first, end = pairs
    j, sum_s = len(neg), 0.0
    for k in range(len(pos) - 1, -1, -1):
        if end[k] <= j:
            j, sum_s = end[k], 0.0
            for a in range(len(x)):
                total[a] = 0.0
        while j > first[k]:
            j -= 1
            if s[neg[j]] != 0.0:
                sum_s += s[neg[j]]
                _centred(X, neg[j], origin, x)
                for a in range(len(x)):
                    total[a] += s[neg[j]] * x[a]
        i = pos[k]
        if s[i] != 0.0:
            weight[i] = s[i] * sum_s
            _centred(X, i, origin, x)
            for a in range(len(x)):
                c = s[i] * x[a]
                for b in range(len(x)):
                    out[a, b] += c * total[b]
    sum_s, k, limit = 0.0, 0, 0  # over the positives whose partners end at this limit
    for j in range(len(neg)):
        while k < len(pos) and first[k] <= j:
            if end[k] != limit:
                sum_s, limit = 0.0, end[k]
            if j < limit:
                sum_s += s[pos[k]]
            k += 1
        weight[neg[j]] = s[neg[j]] * sum_s if j < limit else 0.0


@inlined
def _centred(X, i, origin, x):
    for k in range(len(x)):
        x[k] = -origin[k]
    row_add(X, i, 1.0, x)


@unless(few.few_pairs, few.sparse_gram, same_bits=True)
@compiled
def _sparse_gram(X, lo, hi, s, out):
    # indices are ascending within a row, so this fills the lower triangle
    for i in range(lo, hi):
        if s[i] != 0.0:
            first, last = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1])
            for a in range(first, last):
                c, row = s[i] * X.data[a], out[np.uint64(X.indices[a])]
                for b in range(first, a + np.uint64(1)):
                    row[np.uint64(X.indices[b])] += c * X.data[b]
