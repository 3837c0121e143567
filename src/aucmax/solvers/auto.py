"""The choice of a batch solver, by the number of features, the penalty and the loss."""

from aucmax.objective import MAX_MATRIX_FEATURES, Objective
from aucmax.solvers.base import Solver
from aucmax.solvers.batch.conjugate_gradient import ConjugateGradient
from aucmax.solvers.batch.coordinate_descent import CoordinateDescent
from aucmax.solvers.batch.cutting_plane import CuttingPlane
from aucmax.solvers.batch.exact import Exact
from aucmax.solvers.batch.newton import Newton
from aucmax.solvers.batch.newton_on_cone import NewtonOnCone

__all__ = ["batch_solvers", "choose", "pick"]

_BATCH = Exact, ConjugateGradient, CoordinateDescent, Newton, CuttingPlane


def batch_solvers(objective: Objective) -> list[str]:
    """Return the names of the batch solvers that support the objective."""
    return [cls.name for cls in _BATCH if cls().unfit(objective) is None]


def pick(objective: Objective) -> Solver | None:
    """Return the first batch solver that supports the objective, or None.

    For the square loss and an l2 penalty this is `Exact` if the d×d matrix is small or already
    known, and conjugate gradient otherwise.
    """
    problem = objective.problem
    by_matrix = problem.knows_moments or problem.n_features <= MAX_MATRIX_FEATURES
    square = Exact if by_matrix or "products" not in problem.offers else ConjugateGradient
    solvers = (cls() for cls in (square, CoordinateDescent, Newton, CuttingPlane, NewtonOnCone))
    return next((solver for solver in solvers if solver.unfit(objective) is None), None)


def choose(objective: Objective) -> Solver:
    """Return the solver that `pick` finds; raise ValueError if there is none."""
    solver = pick(objective)
    if solver is None:
        raise ValueError(
            f"solver='auto' has no solver for loss={objective.loss.name!r}; name a solver."
        )
    return solver
