"""The minimum of J by exact Newton steps on dense matrices, in features of unit variance."""

import clarabel
import numpy as np
import scipy.sparse as sp


def optimum(X, y, loss="square", alpha=1e-4, l1_ratio=0.0, weight=None, tau=0.5, steps=200):
    """J* of ½ mean over pairs of ℓ(w·(x − x′)) + α[(1−ρ)/2 ‖w‖² + ρ‖w‖₁], and its minimiser.

    Or of the logistic loss of single rows at the best intercept, its classes weighing τ and 1 − τ.
    """
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=float)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    P, N = X[y > 0], X[y <= 0]
    p, n = weight[y > 0] / weight[y > 0].sum(), weight[y <= 0] / weight[y <= 0].sum()
    centre = N.mean(axis=0)
    P, N = P - centre, N - centre
    scale = np.sqrt(p @ (P - p @ P) ** 2 + n @ (N - n @ N) ** 2 + (p @ P - n @ N) ** 2)
    scale[scale == 0.0] = 1.0
    P, N = P / scale, N / scale
    l2, l1 = alpha * (1 - l1_ratio) / scale**2, alpha * l1_ratio / scale

    y, X = np.r_[np.ones(len(P)), -np.ones(len(N))], np.vstack([P, N])
    s = np.r_[tau * p, (1 - tau) * n] / (4 * tau * (1 - tau))

    def logistic(w, hessian=False):
        nonlocal b
        z = X @ w
        for _ in range(200):
            e = np.exp(np.clip(y * (z + b), -700, 700))
            q = s / (1 + e)
            D = q * e / (1 + e)
            step = np.clip(y @ q / max(D.sum(), 1e-300), -1.0, 1.0)
            b += step
            if abs(step) <= 1e-15 * (1.0 + abs(b)):
                break
        value, gradient = s @ np.logaddexp(0, -y * (z + b)), -X.T @ (y * q)
        if not hessian:
            return value, gradient
        centred = X - D @ X / max(D.sum(), 1e-300)
        return value, gradient, (centred.T * D) @ centred

    def at(w, hessian=False):
        """The data term at w, its gradient and second derivative."""
        if loss == "logistic":
            return logistic(w, hessian)
        a, b = P @ w, N @ w
        order = np.argsort(b, kind="stable")
        tail = {  # sums over the negatives from each place in their order on
            k: np.concatenate([np.cumsum((n * b**k)[order][::-1])[::-1], [0.0]]) for k in (0, 1, 2)
        }
        if loss == "square":
            first = np.zeros(len(a), dtype=int)
        else:
            first = np.searchsorted(b[order], a - 1.0, side="right")
        S0, S1, S2 = (tail[k][first] for k in (0, 1, 2))
        m = 1.0 - a
        value = 0.5 * p @ (m**2 * S0 + 2 * m * S1 + S2)
        g_pos = -p * (m * S0 + S1)
        heads = np.zeros((2, len(b) + 1))  # the positives to which a negative is active
        np.add.at(heads[0], first, p)
        np.add.at(heads[1], first, p * m)
        T0, T1 = np.cumsum(heads, axis=1)[:, :-1]
        g_neg = np.empty(len(b))
        g_neg[order] = n[order] * (T1 + b[order] * T0)
        gradient = P.T @ g_pos + N.T @ g_neg
        if not hessian:
            return value, gradient
        C = np.vstack([np.cumsum((n[:, None] * N)[order][::-1], axis=0)[::-1], np.zeros(len(w))])
        cross = (p[:, None] * P).T @ C[first]
        own = np.empty(len(b))
        own[order] = T0
        H = (P.T * (p * S0)) @ P + (N.T * (n * own)) @ N - cross - cross.T
        return value, gradient, H

    def penalty(w):
        return 0.5 * l2 @ w**2 + l1 @ np.abs(w)

    w, b = np.zeros(X.shape[1]), 0.0
    value, gradient, H = at(w, hessian=True)
    J, idle = value + penalty(w), 0
    for _ in range(steps):
        if l1_ratio == 0.0:
            target = w + _solve(H + np.diag(l2), -(gradient + l2 * w))
        else:
            target = _lasso(H + np.diag(l2), gradient - H @ w, l1)
        for k in range(40):
            new = w + 0.5**k * (target - w)
            value, gradient, H_new = at(new, hessian=True)
            if value + penalty(new) < J:
                break
        else:
            break
        idle = idle + 1 if J - value - penalty(new) < 1e-15 * J else 0
        w, J, H = new, value + penalty(new), H_new
        if idle > 2:
            break
    return J, w / scale


def _solve(A, b):
    unit = np.diag(A) ** -0.5
    values, vectors = np.linalg.eigh(A * unit * unit[:, None])
    kept = values > len(b) * 1e-17 * values[-1]
    return unit * (vectors[:, kept] @ ((vectors[:, kept].T @ (unit * b)) / values[kept]))


def _lasso(A, b, l1):
    """argmin ½ v·Av + b·v + Σ l1_j |v_j| by an interior point, then exactly on its signs."""
    d = len(b)
    eye, zero = sp.identity(d, format="csc"), sp.csc_array((d, d))
    quadratic = sp.csc_array(sp.block_diag([np.triu(A), zero]))
    rows = sp.csc_array(sp.bmat([[eye, -eye], [-eye, -eye]]))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.NonnegativeConeT(2 * d)]
    limits = np.zeros(2 * d)
    found = clarabel.DefaultSolver(quadratic, np.r_[b, l1], rows, limits, cones, settings).solve()
    v = np.array(found.x)[:d]

    def value(u):
        return 0.5 * u @ A @ u + b @ u + l1 @ np.abs(u)

    best, S = (value(v), v), []
    for limit in 10.0 ** np.arange(-9.0, -2.0):
        last, S = S, np.flatnonzero(np.abs(A @ v + b) > (1 - limit) * l1)
        if not np.array_equal(S, last):
            u = np.zeros(d)
            u[S] = _solve(A[np.ix_(S, S)], -(b[S] + l1[S] * np.sign(v[S])))
            best = min(best, (value(u), u), key=lambda pair: pair[0])
    return best[1]


def program(D, share, l2, l1, power=1):
    """The least share·max(0, 1 − Dw)^power + ½ l2 ‖w‖² + l1 ‖w‖₁, as a quadratic program.

    Over (w⁺, w⁻, ξ) ≥ 0 with w = w⁺ − w⁻ and ξ ≥ 1 − Dw, in columns of mean square 1.
    """
    n, d = D.shape
    scale = np.sqrt(np.mean(D**2, axis=0))
    scale[scale == 0.0] = 1.0
    D, l2, l1 = D / scale, l2 / scale**2, l1 / scale
    bend = sp.diags(2.0 * share if power == 2 else 0.0 * share)
    cross = sp.diags(np.broadcast_to(l2, d))
    quadratic = sp.block_diag([sp.bmat([[cross, -cross], [-cross, cross]]), bend])
    linear = np.r_[np.full(d, l1), np.full(d, l1), 0.0 * share if power == 2 else share]
    rows = sp.vstack([sp.hstack([-D, D, -sp.identity(n)]), -sp.identity(2 * d + n)], format="csc")
    limits = np.r_[-np.ones(n), np.zeros(2 * d + n)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    found = clarabel.DefaultSolver(
        sp.triu(quadratic, format="csc"), linear, rows, limits,
        [clarabel.NonnegativeConeT(2 * n + 2 * d)], settings,
    ).solve()  # fmt: skip
    v = np.array(found.x)
    w = v[:d] - v[d : 2 * d]
    value = share @ np.maximum(1 - D @ w, 0.0) ** power
    return value + 0.5 * l2 @ w**2 + l1 @ np.abs(w), w / scale
