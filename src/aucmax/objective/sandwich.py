"""The sampling variation of a fit: the sandwich estimator of its objective.

A solution has ∇J(w) = 0, and ∇J is a mean over pairs of rows. Its Hájek projection is a sum over
single rows, h_i of row i (`RankingLoss.influences`), so that to first order

    Cov(w) = H⁻¹ [ Σ_± k±/(k± − 1) Σ_i s_i² (h_i − h̄)(h_i − h̄)ᵀ ] H⁻¹,

where H is the second derivative of J, s_i the row's share of its class weight, h̄ the class mean of
h, and k the effective number of rows of the class. If the features are scaled by the same rows
(`standardize`), h_i includes the row's effect on the penalty's slope (`scaling.slope_influences`).
The estimate does not include the penalty's bias towards 0, and takes the settings as fixed.

References
----------
Hoeffding (1948), "A class of statistics with asymptotically normal distribution". White (1982),
"Maximum likelihood estimation of misspecified models". Sherman (1993), "The limiting distribution
of the maximum rank correlation estimator".
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from aucmax.metrics.delong import effective_rows
from aucmax.objective.losses import ActivePairs, ByRow
from aucmax.objective.objective import Objective
from aucmax.objective.problem import RowsProblem

__all__ = ["DEPENDENT", "sandwich"]

DEPENDENT = (
    "features are linearly dependent and have no penalty. One is a copy or a sum of others, or "
    "words have a column for each level, which add up to 1: use a small penalty, such as an alpha "
    "of 1e-6, or leave such columns out."
)


def sandwich(
    objective: Objective,
    w: np.ndarray,
    bend: np.ndarray,
    counts: tuple[float, float] | None = None,
    penalty_influences: np.ndarray | float = 0.0,
    fixed_scores: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return the covariance (d, d) of a minimiser w (d,) over samples of the same size.

    Parameters
    ----------
    objective : Objective
        J on dense rows in memory.
    w : ndarray, shape (d,)
    bend : ndarray, shape (d,)
        The penalty's second derivative at w, which replaces the objective's penalty.
    counts : (float, float), optional
        The numbers of positive and negative rows of the full sample, if the problem has only some
        of them; effective numbers if the rows have weights.
    penalty_influences : ndarray, shape (n, d), optional
        How the penalty's slope changes with each row's share of its class, up to a constant for
        each class.
    fixed_scores : ndarray, shape (n,), optional
        The contribution to the scores of other features, whose coefficients do not vary.

    Raises
    ------
    ValueError
        If the loss has kinks, the second derivative is singular, or a class has one row.
    """
    problem = objective.problem
    assert isinstance(problem, RowsProblem)
    X = np.asarray(problem.data.in_memory(), dtype=np.float64)
    # shifting all rows only changes rounding
    X = X - problem.mean_neg
    z = X @ w + fixed_scores
    loss_at = objective.at(z)
    if objective.loss.kind == "kinked":
        raise ValueError("the loss has kinks, so its second derivative is not informative.")
    if objective.by_moments:
        bent = problem.within + np.outer(problem.delta, problem.delta)
    elif isinstance(loss_at, ByRow | ActivePairs):
        bent = objective.bend_matrix(loss_at)
    else:
        bent = X.T @ np.column_stack([loss_at.product(column) for column in X.T])
    sign, s = problem.data.sign[:], problem.data.share[:]
    h = objective.loss.influences(z, sign, s, X) + penalty_influences
    spread = np.zeros((len(w), len(w)))
    for i, rows in enumerate((sign > 0, sign < 0)):
        apart = s[rows, None] * (h[rows] - s[rows] @ h[rows])
        effective = effective_rows(s[rows])
        full = effective if counts is None else counts[i]
        if effective < 1.0 + 1e-9:
            raise ValueError("a class has only one row, which does not show how its rows vary.")
        spread += apart.T @ apart * (effective / (effective - 1.0)) * (effective / full)
    try:
        factor = cho_factor(bent + np.diag(bend))
    except LinAlgError:
        raise ValueError(DEPENDENT) from None
    half = cho_solve(factor, spread)
    return cho_solve(factor, half.T)
