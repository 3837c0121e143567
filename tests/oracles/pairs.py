"""J read literally: every pair of a positive and a negative row is one row of a matrix.

    J(w) = ½ Σ q (ℓ(D w))  +  α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ]

D holds the differences x − x′ of all pairs, q their weights, which sum to 1.
"""

import numpy as np
from scipy.optimize import lsq_linear, minimize_scalar

__all__ = [
    "LOSSES",
    "Pairs",
    "distance_to_subdifferential",
    "elastic_net_optimum",
    "factors",
    "l2_optimum",
    "least_norm_optimum",
]

# ℓ(t), ℓ′(t) and ℓ″(t) by the library's names
LOSSES = {
    "square": lambda t: ((1 - t) ** 2, -2 * (1 - t), 2 + 0 * t),
    "squared_hinge": lambda t: (
        np.where(t < 1, (1 - t) ** 2, 0), np.where(t < 1, -2 * (1 - t), 0), np.where(t < 1, 2, 0)
    ),
    "hinge": lambda t: (np.where(t < 1, 1 - t, 0), np.where(t < 1, -1, 0), 0 * t),
}  # fmt: skip


class Pairs:
    """All pairs, in the coordinates of ``standardize=gamma``."""

    def __init__(self, X, y, weight=None, gamma=0.0):
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=np.float64)
        pos = y == max(y)
        self.D = (X[pos][:, None, :] - X[~pos][None, :, :]).reshape(-1, X.shape[1])
        self.q = np.outer(weight[pos], weight[~pos]).ravel()
        self.q /= self.q.sum()
        self.factor = np.ones(X.shape[1])
        if gamma > 0:
            self.factor = factors(X, weight, gamma)
            self.D = self.D * self.factor

    def to_features(self, w):
        return self.factor * w

    def from_features(self, coef):
        return np.array([c / f if f > 0 else 0.0 for c, f in zip(coef, self.factor, strict=True)])

    def data_term(self, w, loss="square"):
        return 0.5 * self.q @ LOSSES[loss](self.D @ w)[0]

    def gradient(self, w, loss="square"):
        return 0.5 * self.D.T @ (self.q * LOSSES[loss](self.D @ w)[1])

    def hessian(self, w=None, loss="square"):
        """Of the data term; the square loss's does not depend on w."""
        curvature = LOSSES[loss](self.D @ w if w is not None else 0 * self.q)[2]
        return 0.5 * self.D.T @ ((self.q * curvature)[:, None] * self.D)

    def objective(self, w, alpha, rho, loss="square"):
        penalty = alpha * ((1 - rho) / 2 * w @ w + rho * np.abs(w).sum())
        return self.data_term(w, loss) + penalty

    def optimality(self, w, alpha, rho, loss="square"):
        """Distance of −∇(data term) to the penalty's subdifferential over ‖∇(data term)(0)‖∞.

        For the hinge with an l2 penalty the relative duality gap.
        """
        if loss == "hinge":
            assert rho == 0
            return self.hinge_gap(w, alpha)
        distance = distance_to_subdifferential(-self.gradient(w, loss), w, alpha, rho)
        return distance.max() / np.abs(self.gradient(np.zeros_like(w), loss)).max()

    def gap(self, w, alpha, rho, loss="square"):
        """J(w) − D(cβ) for the best c ≥ 0, β the slopes of the pairs at w; a loss of squares.

        ½ Σ q (1 − t)² has the dual D(β) = Σ β − Σ β²/(2q) − Ω*(βD), which is at most J's minimum
        whatever β.
        """
        slope = -0.5 * LOSSES[loss](self.D @ w)[1]
        beta, v = self.q * slope, (self.q * slope) @ self.D

        def lost(c):
            u = c * v
            if rho == 1:
                conjugate = 0.0
            else:
                over = np.maximum(np.abs(u) - alpha * rho, 0)
                conjugate = over @ over / (2 * alpha * (1 - rho))
            return -(c * beta.sum() - c**2 * (beta @ slope) / 2 - conjugate)

        most = 1e3
        if rho == 1 and v.any():
            most = min(most, alpha / np.abs(v).max())
        found = minimize_scalar(lost, (0, most), bounds=(0, most), options={"xatol": 1e-13})
        lower = max(0.0, -found.fun, -lost(most))
        return self.objective(w, alpha, rho, loss) - lower

    def hinge_gap(self, w, alpha, band=1e-5):
        """(J(w) − D(β))/J(0) for the best weights β in [0, 1] on the slopes of pairs at the kink.

        D(β) = ½ Σ q β − ‖½ Σ q β D‖²/(2α) is at most J's minimum, whatever β.
        """
        t = self.D @ w
        beta = (t < 1) * 1.0
        near = np.abs(t - 1) < band
        corners = 0.5 * self.D * self.q[:, None]
        if near.any():
            rest = alpha * w - corners.T @ (beta * ~near)
            beta[near] = lsq_linear(corners[near].T, rest, (0, 1), tol=1e-15).x
        v = beta @ corners
        bound = 0.5 * self.q @ beta - v @ v / (2 * alpha)
        return (self.objective(w, alpha, 0.0, "hinge") - bound) / 0.5


def factors(X, weight, gamma):
    """Of ``standardize``, from the differences of all rows x from all rows x′, itself among them.

    Feature j is divided by v_j^{γ/2}, then all by one constant: the mean squared distance is 2.
    """
    D = (X[:, None, :] - X[None, :, :]).reshape(-1, X.shape[1])
    q = np.outer(weight, weight).ravel() / weight.sum() ** 2
    factor = np.array([0.0 if v == 0 else v ** (-gamma / 2) for v in q @ D**2])
    return factor * np.sqrt(2 / (q @ ((D * factor) ** 2).sum(axis=1)))


def distance_to_subdifferential(g, w, alpha, rho):
    """Distance, coordinate by coordinate, of g to ∂(α [ (1−ρ)/2 ‖·‖₂² + ρ ‖·‖₁ ]) at w."""
    out = np.empty_like(w)
    for j in range(len(w)):
        smooth = alpha * (1 - rho) * w[j]
        low = smooth + alpha * rho * (1 if w[j] > 0 else -1)
        high = smooth + alpha * rho * (-1 if w[j] < 0 else 1)
        out[j] = max(low - g[j], g[j] - high, 0.0)
    return out


def l2_optimum(pairs, alpha, loss="square", tol=1e-14):
    """The normal equations over pairs; for another loss again and again, halving the step."""
    w = np.zeros(pairs.D.shape[1])
    for _ in range(100):
        H = pairs.hessian(w, loss) + alpha * np.eye(len(w))
        move = -np.linalg.solve(H, pairs.gradient(w, loss) + alpha * w)
        now = pairs.objective(w, alpha, 0.0, loss)
        while pairs.objective(w + move, alpha, 0.0, loss) > now * (1 + 1e-15):
            move = move / 2
        w = w + move
        if pairs.optimality(w, alpha, 0.0, loss) <= tol or np.abs(move).max() < 1e-16:
            break
    return w


def least_norm_optimum(pairs):
    """A minimiser without penalty, where there are many."""
    root = np.sqrt(pairs.q)
    return np.linalg.lstsq(root[:, None] * pairs.D, root, rcond=1e-10)[0]


def elastic_net_optimum(pairs, alpha, rho, loss="square", tol=1e-13, max_iter=200_000):
    """Accelerated proximal gradient with restarts, until the optimality is below ``tol``."""
    H = pairs.hessian()  # the square loss's is the largest there is
    l2, l1 = alpha * (1 - rho), alpha * rho
    step = 1 / (np.linalg.eigvalsh(H)[-1] + l2)
    w = z = np.zeros(len(H))
    at_zero = pairs.gradient(w)

    def slope(u):
        return H @ u + at_zero if loss == "square" else pairs.gradient(u, loss)

    momentum = 1.0
    for count in range(max_iter):
        u = z - step * (slope(z) + l2 * z)
        new = np.sign(u) * np.maximum(np.abs(u) - step * l1, 0.0)
        if (z - new) @ (new - w) > 0:  # the momentum points uphill
            momentum = 1.0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        z = new + (momentum - 1) / faster * (new - w)
        w, momentum = new, faster
        if count % 100 == 0 and pairs.optimality(w, alpha, rho, loss) <= tol:
            return w
    raise AssertionError(
        f"no optimum after {max_iter} steps: {pairs.optimality(w, alpha, rho, loss)}"
    )
