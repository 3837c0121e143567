"""Picks a batch solver from the number of features, the penalty and the loss."""

from aucmax.objective import Objective
from aucmax.solvers.base import Solver
from aucmax.solvers.batch.conjugate_gradient import ConjugateGradient
from aucmax.solvers.batch.coordinate_descent import CoordinateDescent
from aucmax.solvers.batch.cutting_plane import CuttingPlane
from aucmax.solvers.batch.exact import Exact
from aucmax.solvers.batch.newton import Newton

__all__ = ["FEW_FEATURES", "choose"]

FEW_FEATURES = 1500  # up to here one d×d factorisation beats the passes of an iteration


def choose(objective: Objective) -> Solver:
    """Return the first batch solver that fits the objective.

    The squared hinge needs Newton's method, the hinge cutting planes, the square loss with an l1
    part coordinate descent; otherwise the exact solution where the d×d matrix is small or already
    there, and conjugate gradient elsewhere.
    """
    problem = objective.problem
    if objective.loss.name == "squared_hinge":
        return Newton()
    if objective.loss.name == "hinge":
        return CuttingPlane()
    if not objective.loss.quadratic:
        raise ValueError(f"solver='auto' knows none for loss={objective.loss.name!r}; name one.")
    if objective.penalty.l1 > 0.0:
        return CoordinateDescent()
    if not problem.has_rows or problem.knows_moments or problem.n_features <= FEW_FEATURES:
        return Exact()
    return ConjugateGradient()
