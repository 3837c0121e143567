"""The optimum of monotone scores read literally: rows of a table are compared, two by two.

Every row with values at the places where a score bends is scored, and must not score above the row
whose only difference is the next value of the column. Solved by sequential quadratic programming.
"""

import itertools

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from oracles import logistic
from oracles.pairs import Pairs

__all__ = ["differences", "optimum"]


def differences(features, mass, monotone):
    """The features of the higher row minus those of the lower one, for all rows at the places.

    ``mass`` is the sum of each feature over the rows: maps are pure before the score is monotone.
    """
    names = features.axis_names
    rows = []
    for column, sign in monotone.items():
        places = []
        for name, axis in zip(names, features.axes_, strict=True):
            values = [*axis.words, "new"] if axis.is_text else [*axis.map_knots, np.nan]
            knots = axis.knots
            if name == column:
                values = [knots[0] - 1.0, *knots, knots[-1] + 1.0]
            places.append(values)
        table = pd.DataFrame([*itertools.product(*places)], columns=names)
        Z = (features.transform(table) @ features.purification(mass)[1:]).toarray()
        at = names.index(column)
        Z = np.moveaxis(Z.reshape(*map(len, places), -1), at, 0)
        rows.append(sign * np.diff(Z, axis=0).reshape(-1, Z.shape[-1]))
    rows = np.unique(np.vstack(rows).round(12), axis=0)
    return rows[np.abs(rows).max(axis=1) > 0]


def optimum(Z, y, loss, alphas, rows, weight=None):
    """The least J over coefficients (d,) whose product with no row (m, d) is negative.

    The penalty is ½ Σ α_j w_j² (d,); features whose prior is not one number must be mapped before.
    """
    root = alphas**-0.5
    Z, rows, sign = Z * root, rows * root, np.where(y, 1.0, -1.0)
    pairs, shares = Pairs(Z, sign, weight), logistic.shares(sign, weight)

    def data_term(v):
        if loss == "logistic":
            value, slope, _ = logistic.at(Z @ v, sign, shares)
            return value, Z.T @ slope
        return pairs.data_term(v, loss), pairs.gradient(v, loss)

    def J(v):
        value, gradient = data_term(v)
        return value + 0.5 * v @ v, gradient + v

    rows = rows / np.linalg.norm(rows, axis=1)[:, None]
    solved = minimize(
        J, np.zeros(Z.shape[1]), jac=True, method="SLSQP", options={"maxiter": 500, "ftol": 1e-15},
        constraints={"type": "ineq", "fun": lambda v: rows @ v, "jac": lambda v: rows},
    )  # fmt: skip
    return solved.fun
