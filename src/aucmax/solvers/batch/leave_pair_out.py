"""Leave-pair-out AUC of the square loss with an l2 penalty, without a refit for each pair.

For each pair of a positive i and a negative j, the model is fitted to all other rows and scores the
two. Leaving out i moves μ₊ by −x̃_i/(n₊−1), x̃_i = x_i − μ₊, and turns Σ₊ into

    n₊/(n₊−1) (Σ₊ − x̃_i x̃_iᵀ/(n₊−1)),

and likewise for j. So the matrix of each pair is one base matrix M minus two rank-one terms,

    M − a x̃_i x̃_iᵀ − b x̃_j x̃_jᵀ,    M = 2τ n₊/(n₊−1) Σ₊ + 2(1−τ) n₋/(n₋−1) Σ₋ + αI,
    a = 2τ n₊/(n₊−1)²,  b = 2(1−τ) n₋/(n₋−1)²,

and the sign of w·(x_i − x_j) follows from products u·M⁻¹v of x̃_i, x̃_j and δ, by Woodbury's identity
with two columns.

This loses digits if, with few rows or a small α, little of M remains without a row. If rounding
could change the sign of a pair, it is solved again from the remaining rows, with the approximate
inverse above. Let H be the matrix of the pair and, as sums over rows,

    δ = Σ c_k x_k,    H = Σ t_k x̃_k x̃_kᵀ + αI,    x_i − x_j = Σ e_k x_k.

The margin of the pair is

    w·(x_i − x_j) = Σ (e_k w·x_k + c_k v·x_k − t_k (w·x̃_k)(v·x̃_k)) − α w·v,
    w = H⁻¹δ,  v = H⁻¹(x_i − x_j).

This is stationary in w and v, so their errors count only squared. Its derivative with respect to
row x_k is (e_k − t_k v·x̃_k) w + (c_k − t_k w·x̃_k) v, which shows how far rounding of the rows moves
the margin. If that could change its sign, the pair is a tie.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpocon

from aucmax.data.rows import CSR, Rows, allocating, to_scipy
from aucmax.objective.problem import RowsProblem

__all__ = ["leave_pair_out"]

PAIRS_PER_BLOCK = 2**21  # 16 MB
MAX_MATRIX_BYTES = 10**9  # of an array of shape (n, n)
_MIN_CURVATURE_SHARE = 1e-9  # share of a direction's curvature that must remain without a row
_SOLVES_PER_SYSTEM = 4  # with the approximate inverse: one, and three refinements
_EPS = np.finfo(float).eps
_TIE_SHARE = 16 * _EPS  # a margin below this share of the sum of its absolute terms is a tie


def leave_pair_out(problem: RowsProblem, alphas: np.ndarray) -> np.ndarray:
    """Return the share of pairs that are ranked correctly by a model fitted without them.

    Parameters
    ----------
    problem : RowsProblem
        Rows of equal weight. Its τ is used, and its scale is that of all rows.
    alphas : ndarray, shape (k,)
        Strengths of the l2 penalty.

    Returns
    -------
    ndarray, shape (k,)
        The AUC at each α, ties counted half.

    Raises
    ------
    ValueError
        If a class has one row, if there are too many rows for a matrix and even more features, or
        if the matrix is singular and α too small.

    Notes
    -----
    The cost is O(n d² + n₊ n₋ d) for each α. With more features than rows, the rows are first
    written in n coordinates, in O(n² d), and n replaces d.

    References
    ----------
    Airola, Pahikkala, Waegeman, De Baets & Salakoski (2011), "An experimental comparison of
    cross-validation techniques for estimating the area under the ROC curve". Pahikkala, Airola,
    Boberg & Salakoski (2008): the same shortcut for RankRLS with kernels.
    """
    pos, neg = np.flatnonzero(problem.positive), np.flatnonzero(~problem.positive)
    m, n, order = len(pos), len(neg), np.append(pos, neg)
    if min(m, n) < 2:
        raise ValueError(
            f"leave-pair-out needs two rows of each class; there are {m} positive and {n} negative."
        )
    X, magnitude = _coordinates(problem)
    number = _equal_rows(problem.data.in_memory())[order]
    rows = _Rows(X[order], magnitude[order], number, m, problem.tau)
    aucs = np.empty(len(alphas))
    for k, alpha in enumerate(alphas):
        try:
            aucs[k] = _Pairs(rows, alpha).wins() / (m * n)
        except LinAlgError:
            raise ValueError(
                f"alpha={alpha:g} is too small for leave-pair-out: without a pair of rows the "
                "matrix can be singular to working precision; raise alpha."
            ) from None
    return aucs


def _coordinates(problem: RowsProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (n, r) about their mean, in fewer dimensions if there are many features.

    Also return the magnitude (n, r) relative to which each entry is rounded.
    """
    (batch,), n = problem.batches(), problem.n_samples
    rows = batch.X
    wide = problem.n_features > n
    if wide and 8 * n**2 > MAX_MATRIX_BYTES:
        raise ValueError(
            f"leave-pair-out of {n:,} rows with more features than rows needs {8 * n**2 / 1e9:.1f} "
            "GB; it is for small data, so use cross-validation."
        )
    if not (wide and isinstance(rows, CSR)):
        X = to_scipy(rows).toarray() if isinstance(rows, CSR) else rows
        about_mean = X - X.mean(axis=0, dtype=np.float64)
        if not wide:
            return about_mean, np.abs(X) + np.abs(about_mean)
        turned = np.asarray(np.linalg.qr(about_mean.T, mode="r")).T
        longest = np.sqrt(np.max(np.einsum("ij,ij->i", X, X, dtype=np.float64)))
        return turned, np.full_like(turned, longest)
    X = to_scipy(rows).astype(np.float64)
    gram = (X @ X.T).toarray()
    longest = np.sqrt(np.max(np.diag(gram)))
    means = gram.mean(axis=0)
    gram += means.mean() - means - means[:, None]
    values, vectors = eigh(gram, overwrite_a=True, check_finite=False)
    nonzero = values > n * np.finfo(float).eps * values[-1]
    turned = vectors[:, nonzero] * np.sqrt(values[nonzero])
    return turned, np.full_like(turned, longest)


def _equal_rows(X: Rows) -> np.ndarray:
    """Return the number of each row among the distinct ones, (n,): equal rows tie for any w."""
    if isinstance(X, CSR):
        rows = to_scipy(X).copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
        parts = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        keys = [rows.indices[a:b].tobytes() + rows.data[a:b].tobytes() for a, b in parts]
    else:
        keys = [(row + 0.0).tobytes() for row in X]  # + 0.0: −0 is 0
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


class _Rows:
    """Rows (n, r), positives first, and quantities that do not depend on α.

    Attributes
    ----------
    X, magnitude : ndarray, shape (n, r)
        The rows about some origin, and the size relative to which each entry is rounded.
    number : ndarray, shape (n,)
        The number of each row among the distinct rows.
    m, n : int
        Numbers of positive and negative rows.
    P, Q, delta : ndarray
        The rows of each class about its mean, and δ.
    a, b, base : float, float, ndarray
        The factors of the rank-one terms, and M without αI.
    share, spread : ndarray, shape (n,)
        |c| and t of the rows of a model that leaves out a pair.
    """

    def __init__(
        self, X: np.ndarray, magnitude: np.ndarray, number: np.ndarray, m: int, tau: float
    ) -> None:
        _, first, distinct = np.unique(number, return_index=True, return_inverse=True)
        X = X[first][distinct]  # equal rows have equal errors
        self.X, self.number, self.m, self.n = X, number, m, len(X) - m
        self.magnitude, self.member = magnitude[first], sp.eye_array(len(first)).tocsr()[distinct]
        counts, weights = np.array([m, self.n]), 2 * np.array([tau, 1 - tau])
        means = X[:m].mean(axis=0), X[m:].mean(axis=0)
        self.delta, self.P, self.Q = means[0] - means[1], X[:m] - means[0], X[m:] - means[1]
        self.share = np.repeat(1.0 / (counts - 1), counts)
        self.spread = np.repeat(weights / (counts - 1), counts)
        self.a, self.b = weights * counts / (counts - 1) ** 2
        self.base = self.spread[0] * (self.P.T @ self.P) + self.spread[-1] * (self.Q.T @ self.Q)

    def about_means(self, scores: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return scores (k, n) minus the mean of their class, with these shares (k, n)."""
        centred = scores.copy()
        for rows in (slice(self.m), slice(self.m, None)):
            centred[:, rows] -= (share[:, rows] * scores[:, rows]).sum(axis=1, keepdims=True)
        return centred


class _Pairs:
    """All pairs at one α.

    Raises
    ------
    LinAlgError
        If M, or the matrix without one of the pairs, is singular to working precision.
    """

    def __init__(self, rows: _Rows, alpha: float) -> None:
        self.rows, self.alpha = rows, alpha
        matrix = rows.base + alpha * np.eye(len(rows.base))
        # with a unit diagonal, whatever the units of the features
        unit = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
        matrix *= unit * unit[:, None]
        factor = cholesky(matrix, lower=True, check_finite=False)
        inverse_condition, _ = dpocon(factor, np.abs(matrix).sum(axis=0).max(), uplo="L")
        self.rounding = 16 * _EPS * np.sqrt(len(matrix)) / max(inverse_condition, _EPS)
        # a @ whiten.T are the coordinates of a in which M is the identity
        self.whiten = solve_triangular(factor, np.diag(unit), lower=True, check_finite=False)
        self.P, self.Q, self.e = [A @ self.whiten.T for A in (rows.P, rows.Q, rows.delta)]
        self.squares = [(A**2).sum(axis=1) for A in (self.P, self.Q)]

    def wins(self) -> float:
        """Return the number of pairs that are ranked correctly, ties counted half."""
        rows, m, ee = self.rows, self.rows.m, float(self.e @ self.e)
        pp, qq, pe, qe = *self.squares, self.P @ self.e, self.Q @ self.e
        neg = _Side(qq, qe, rows.number[m:], rows.b, 1.0 / (rows.n - 1))
        wins, step = 0.0, max(PAIRS_PER_BLOCK // rows.n, 1)
        for k in range(0, m, step):
            part = slice(k, min(k + step, m))
            pos = _Side(pp[part], pe[part], rows.number[part], rows.a, 1.0 / (m - 1))
            near = np.zeros((part.stop - k, rows.n), dtype=np.bool_)
            clear_wins, curvature = _clear_wins(
                self.P[part] @ self.Q.T, pos, neg, ee, self.rounding, near
            )
            if curvature < _MIN_CURVATURE_SHARE:
                raise LinAlgError
            i, j = np.nonzero(near)
            wins += clear_wins + self._near_wins(i + k, j)
        return wins

    def _near_wins(self, i: np.ndarray, j: np.ndarray) -> float:
        """Return the number of these pairs that are ranked correctly, ties counted half."""
        step = max(PAIRS_PER_BLOCK // (8 * sum(self.rows.X.shape)), 1)
        parts = [slice(k, k + step) for k in range(0, len(i), step)]
        return sum(float((1.0 + self._signs(i[part], j[part])).sum()) / 2 for part in parts)

    def _signs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the signs of the pairs' margins, from the remaining rows; 0 for ties."""
        rows, pair = self.rows, np.arange(len(i))
        e, share = np.zeros((len(i), len(rows.X))), np.tile(rows.share, (len(i), 1))
        e[pair, i], e[pair, rows.m + j] = 1.0, -1.0
        share[e != 0] = 0.0
        c, t = share.copy(), np.where(share > 0, rows.spread, 0.0)
        c[:, rows.m :] *= -1.0

        def scores(A: np.ndarray) -> np.ndarray:  # relative to the midpoint of the classes
            Z = A @ rows.X.T
            return Z - (share * Z).sum(axis=1, keepdims=True) / 2

        w, v = np.zeros((2, len(i), rows.X.shape[1]))
        for _ in range(_SOLVES_PER_SYSTEM):
            by_w, by_v = [rows.about_means(scores(A), share) for A in (w, v)]
            w += self._inverse((c - t * by_w) @ rows.X - self.alpha * w, i, j)
            v += self._inverse((e - t * by_v) @ rows.X - self.alpha * v, i, j)
        by_w, by_v = [rows.about_means(scores(A), share) for A in (w, v)]
        terms = e * scores(w), c * scores(v), -t * by_w * by_v
        margins = sum(terms).sum(axis=1) - self.alpha * (w * v).sum(axis=1)
        sizes = sum(map(np.abs, terms)).sum(axis=1) + self.alpha * np.abs(w * v).sum(axis=1)
        # derivatives with respect to each distinct row
        for slope, A in ((e - t * by_v, w), (c - t * by_w, v)):
            sizes += (np.abs(slope @ rows.member) * (np.abs(A) @ rows.magnitude.T)).sum(axis=1)
        return np.where(np.abs(margins) > _TIE_SHARE * sizes, np.sign(margins), 0.0)

    def _inverse(self, A: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return about (M − a ppᵀ − b qqᵀ)⁻¹ times each row of A, for the pair of that row."""
        p, q, y = self.P[i], self.Q[j], A @ self.whiten.T
        a, b = self.rows.a, self.rows.b
        f, g = 1.0 - a * self.squares[0][i], 1.0 - b * self.squares[1][j]
        pq, py, qy = [(B * C).sum(axis=1) for B, C in ((p, q), (p, y), (q, y))]
        det = f * g - a * b * pq * pq
        y += (a * (g * py + b * pq * qy) / det)[:, None] * p
        y += (b * (f * qy + a * pq * py) / det)[:, None] * q
        return y @ self.whiten


class _Side(NamedTuple):
    """One class in coordinates in which M is the identity.

    ``squares`` and ``along`` are x̃·x̃ and x̃·δ; ``weight`` is a or b; ``shift``, 1/(n₊−1) or
    1/(n₋−1), is how far a row moves its class's mean.
    """

    squares: np.ndarray
    along: np.ndarray
    number: np.ndarray
    weight: float
    shift: float


@allocating
def _clear_wins(products, pos, neg, ee, rounding, near):
    # wins of the pairs whose sign is safe from rounding, and the least curvature; others are `near`
    wins, least = 0.0, 1.0
    pp, pe, same_pos, a, c_pos = pos
    qq, qe, same_neg, b, c_neg = neg
    norm_p, norm_q, norm_e = np.sqrt(pp), np.sqrt(qq), np.sqrt(ee)
    for i in range(len(pp)):
        f = 1.0 - a * pp[i]
        for j in range(len(qq)):
            g, r = 1.0 - b * qq[j], products[i, j]
            det = f * g - a * b * r * r
            least = min(least, f, g, det / (f * g))
            if same_pos[i] == same_neg[j]:
                wins += 0.5
                continue
            # d = x_i − x_j = e + p − q, and δ of the other rows = e − c₊p + c₋q
            dp, dq, de = pe[i] + pp[i] - r, qe[j] + r - qq[j], ee + pe[i] - qe[j]
            d_delta = de - c_pos * dp + c_neg * dq
            p_delta = pe[i] - c_pos * pp[i] + c_neg * r
            q_delta = qe[j] - c_pos * r + c_neg * qq[j]
            # det · d·(M − a ppᵀ − b qqᵀ)⁻¹δ, and the size relative to which its terms are rounded
            margin = det * d_delta + a * g * dp * p_delta + b * f * dq * q_delta
            margin += a * b * r * (dp * q_delta + dq * p_delta)
            size = norm_e + norm_p[i] + norm_q[j]
            size *= norm_e + c_pos * norm_p[i] + c_neg * norm_q[j]
            if margin > rounding * size:
                wins += 1.0
            elif margin >= -rounding * size:
                near[i, j] = True
    return wins, least
