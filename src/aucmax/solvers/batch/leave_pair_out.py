"""Leave-pair-out AUC of the square loss with an l2 penalty, without a refit for each pair.

For each pair of a positive i and a negative j the model is fitted to all other rows, and asked
which of the two it scores higher. Leaving out i moves μ₊ by −x̃_i/(n₊−1), x̃_i = x_i − μ₊, and makes
of Σ₊

    n₊/(n₊−1) (Σ₊ − x̃_i x̃_iᵀ/(n₊−1)),

likewise j. So the matrix of each pair is one base matrix M less two rank-one terms,

    M − a x̃_i x̃_iᵀ − b x̃_j x̃_jᵀ,    M = 2τ n₊/(n₊−1) Σ₊ + 2(1−τ) n₋/(n₋−1) Σ₋ + αI,
    a = 2τ n₊/(n₊−1)²,  b = 2(1−τ) n₋/(n₋−1)²,

and the sign of w·(x_i − x_j) follows from products u·M⁻¹v of x̃_i, x̃_j and δ, by Woodbury's identity
with two columns.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from aucmax.objective.problem import RowsProblem
from aucmax.rows import CSR, Rows, compiled, to_scipy

__all__ = ["leave_pair_out"]

_BLOCK = 2**21  # pairs at a time, 16 MB
_LARGEST = 10**9  # bytes of an array (n, n)
_SINGULAR = 1e-9  # share of a direction's curvature that must be left without a row


def leave_pair_out(problem: RowsProblem, alphas: np.ndarray) -> np.ndarray:
    """Return the share of pairs that are ranked rightly by a model fitted without them.

    Parameters
    ----------
    problem : RowsProblem
        Rows that all weigh the same. Its τ counts, and its scale is that of all rows.
    alphas : ndarray, shape (k,)
        Strengths of the l2 penalty.

    Returns
    -------
    ndarray, shape (k,)
        The AUC at each α, ties counted half.

    Raises
    ------
    ValueError
        Where a class has one row, where there are too many rows with more features than rows, and
        where α is too small beside a singular matrix.

    Notes
    -----
    O(n d² + n₊ n₋ d) for each α. With more features than rows these are first written in n
    coordinates of their own, in O(n² d), and n takes the place of d.

    References
    ----------
    Airola, Pahikkala, Waegeman, De Baets & Salakoski (2011), "An experimental comparison of
    cross-validation techniques for estimating the area under the ROC curve". Pahikkala, Airola,
    Boberg & Salakoski (2008): the same shortcut for RankRLS with kernels.
    """
    pos, neg = problem.positive, ~problem.positive
    m, n = int(pos.sum()), int(neg.sum())
    if min(m, n) < 2:
        raise ValueError(
            f"leave-pair-out needs two rows of each class; there are {m} positive and {n} negative."
        )
    X = problem.in_memory()
    rows, tau, numbers = _coordinates(problem), problem.tau, _equal_rows(X)
    P, Q = rows[pos], rows[neg]
    delta = P.mean(axis=0) - Q.mean(axis=0)
    P, Q = P - P.mean(axis=0), Q - Q.mean(axis=0)
    base = (2 * tau / (m - 1)) * (P.T @ P) + (2 * (1 - tau) / (n - 1)) * (Q.T @ Q)
    weights = (2 * tau * m / (m - 1) ** 2, 2 * (1 - tau) * n / (n - 1) ** 2)
    found = np.empty(len(alphas))
    for k, alpha in enumerate(alphas):
        whiten = _whitening(base + alpha * np.eye(len(base)))
        if whiten is not None:
            white = whiten(P), whiten(Q), whiten(delta)
            won, held = _won(*white, weights, (numbers[pos], numbers[neg]))
            found[k] = won / (m * n)
        if whiten is None or held < _SINGULAR:
            raise ValueError(
                f"alpha={alpha:g} is too small for leave-pair-out: without a pair of rows the "
                "matrix can be singular to working precision; raise alpha."
            )
    return found


def _whitening(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return what takes rows to coordinates in which M is the identity; None where it is singular.

    By Cholesky, with M at unit diagonal first, which does not depend on the features' units.
    """
    unit = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    try:
        factor = cholesky(matrix * unit * unit[:, None], lower=True, check_finite=False)
    except LinAlgError:
        return None
    return lambda A: solve_triangular(factor, (A * unit).T, lower=True, check_finite=False).T


def _coordinates(problem: RowsProblem) -> np.ndarray:
    """Return the rows (n, r) about their mean: as they are, or in fewer dimensions if wide."""
    (batch,), n = problem.batches(), problem.n_samples
    rows = batch.X
    wide = problem.n_features > n
    if wide and 8 * n**2 > _LARGEST:
        raise ValueError(
            f"leave-pair-out of {n:,} rows with more features than rows needs {8 * n**2 / 1e9:.1f} "
            "GB; it is for small data, so use cross-validation."
        )
    if not (wide and isinstance(rows, CSR)):
        X = to_scipy(rows).toarray() if isinstance(rows, CSR) else rows
        X = X - X.mean(axis=0, dtype=np.float64)
        return np.asarray(np.linalg.qr(X.T, mode="r")).T if wide else X
    X = to_scipy(rows).astype(np.float64)
    gram = (X @ X.T).toarray()
    means = gram.mean(axis=0)
    gram += means.mean() - means - means[:, None]
    values, vectors = eigh(gram, overwrite_a=True, check_finite=False)
    kept = values > n * np.finfo(float).eps * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def _equal_rows(X: Rows) -> np.ndarray:
    """Return which of the distinct rows each row is, shape (n,): equal rows tie whatever w is."""
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


def _won(
    P: np.ndarray,
    Q: np.ndarray,
    e: np.ndarray,
    weights: tuple[float, float],
    same: tuple[np.ndarray, np.ndarray],
) -> tuple[float, float]:
    """Return the pairs that are ranked rightly, and the least curvature that a pair leaves.

    Of rows P (n₊, r) and Q (n₋, r) about the means of their classes and of e = δ, in coordinates in
    which M is the identity. The curvature is a share of the one with the pair.
    """
    squares, along = [(A**2).sum(axis=1) for A in (P, Q)], [A @ e for A in (P, Q)]
    step, rounding = max(_BLOCK // len(Q), 1), 4 * np.finfo(float).eps * np.sqrt(len(e))
    won, least = 0.0, 1.0
    for k in range(0, len(P), step):
        part = slice(k, k + step)
        found, held = _pairs(
            P[part] @ Q.T, squares[0][part], squares[1], along[0][part], along[1], e @ e,
            *weights, 1.0 / (len(P) - 1), 1.0 / (len(Q) - 1), same[0][part], same[1], rounding,
        )  # fmt: skip
        won, least = won + found, min(least, held)
    return won, least


@compiled
def _pairs(pq, pp, qq, pe, qe, ee, a, b, c_pos, c_neg, same_pos, same_neg, rounding):
    # a, b: of the rank-one terms; c: how far a row moves its class's mean
    won, least = 0.0, 1.0
    norm_p, norm_q, norm_e = np.sqrt(pp), np.sqrt(qq), np.sqrt(ee)
    for i in range(len(pp)):
        f = 1.0 - a * pp[i]
        for j in range(len(qq)):
            g, r = 1.0 - b * qq[j], pq[i, j]
            det = f * g - a * b * r * r
            least = min(least, f, g, det / (f * g))
            if same_pos[i] == same_neg[j]:
                won += 0.5
                continue
            # d = x_i − x_j = e + p − q, and δ of the others = e − c₊p + c₋q
            dp, dq, de = pe[i] + pp[i] - r, qe[j] + r - qq[j], ee + pe[i] - qe[j]
            d_delta = de - c_pos * dp + c_neg * dq
            p_delta = pe[i] - c_pos * pp[i] + c_neg * r
            q_delta = qe[j] - c_pos * r + c_neg * qq[j]
            # det · d·(M − a ppᵀ − b qqᵀ)⁻¹δ, and the size of its terms
            ranked = det * d_delta + a * g * dp * p_delta + b * f * dq * q_delta
            ranked += a * b * r * (dp * q_delta + dq * p_delta)
            size = det + a * g * pp[i] + b * f * qq[j] + 2 * a * b * abs(r) * norm_p[i] * norm_q[j]
            size *= norm_e + norm_p[i] + norm_q[j]
            size *= norm_e + c_pos * norm_p[i] + c_neg * norm_q[j]
            if ranked > rounding * size:
                won += 1.0
            elif ranked >= -rounding * size:
                won += 0.5
    return won, least
