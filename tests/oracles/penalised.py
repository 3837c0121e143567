"""The minimum of J with a penalty that differs by feature, as a quadratic program; and of MCP's."""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp

__all__ = ["mcp_stationary_points", "minimiser"]


def minimiser(pairs, loss, l2=0.0, l1=0.0, lower=-np.inf, upper=np.inf, mcp=None):
    """argmin of ½ Σ q_k ℓ(D_k·w) + Σ_j [ ½ l2_j w_j² + l1_j |w_j| ] on lower ≤ w ≤ upper.

    ``mcp`` = (α, γ) adds α|w_j| − w_j²/(2γ) up to γα and a constant beyond, for the square loss and
    a γ with which J is convex all the same. Variables: w, t ≥ |w|, s ≥ (t − γα)₊ and, for the
    squared hinge, ξ ≥ (1 − D w)₊.
    """
    D, q = pairs.D, pairs.q
    d = D.shape[1]
    l2, l1, lower, upper = (np.broadcast_to(np.float64(a), d) for a in (l2, l1, lower, upper))
    (alpha, gamma), bend = mcp or (0.0, 1.0), float(mcp is not None)
    H, slope = np.diag(l2 - bend / gamma), np.zeros(d)
    if loss == "square":
        H, slope = H + D.T @ (q[:, None] * D), -D.T @ q
        D, q = D[:0], q[:0]
    K, I, N = len(D), sp.eye_array(d), sp.csc_array((d, d))
    P = sp.block_diag([H, N, sp.diags_array(np.full(d, bend / gamma)), sp.diags_array(q)])
    c = np.concatenate([slope, l1 + alpha, np.zeros(d), np.zeros(K)])
    A = [[I, -I, N], [-I, -I, N], [N, I, -I], [N, N, -I], [I, N, N], [-I, N, N]]
    A = [sp.hstack([*row, sp.csc_array((d, K))]) for row in A]
    b = [np.zeros(2 * d), np.full(d, gamma * alpha), np.zeros(d), upper, -lower]
    E = sp.eye_array(K)
    A += [sp.hstack([sp.csc_array(-D), sp.csc_array((K, 2 * d)), -E])]
    A += [sp.hstack([sp.csc_array((K, 3 * d)), -E])]
    b = np.concatenate([*b, -np.ones(K), np.zeros(K)])
    known = np.isfinite(b)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    A, b = sp.vstack(A).tocsr()[known].tocsc(), b[known]
    cones = [clarabel.NonnegativeConeT(len(b))]
    solution = clarabel.DefaultSolver(sp.triu(P).tocsc(), c, A, b, cones, settings).solve()
    return np.array(solution.x[:d])


def mcp_stationary_points(H, b, alpha, gamma):
    """All w at which ½ w·Hw − b·w + MCP is stationary, by the pieces of all coordinates."""
    found = []
    for pieces in itertools.product(("zero", "near +", "near -", "far"), repeat=len(b)):
        S = [j for j, piece in enumerate(pieces) if piece != "zero"]
        sign = np.array([{"near +": 1.0, "near -": -1.0}.get(pieces[j], 0.0) for j in S])
        w = np.zeros(len(b))
        w[S] = np.linalg.solve(H[np.ix_(S, S)] - np.diag(np.abs(sign)) / gamma, b[S] - alpha * sign)
        g = H @ w - b
        if all(
            abs(g[j]) <= alpha if piece == "zero"
            else abs(w[j]) >= gamma * alpha if piece == "far"
            else 0 < (w[j] if piece == "near +" else -w[j]) < gamma * alpha
            for j, piece in enumerate(pieces)
        ):  # fmt: skip
            found.append(w)
    return found
