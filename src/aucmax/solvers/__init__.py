"""The solvers, one file per published algorithm, and the registry that names them."""

from aucmax.solvers.base import Monitor, Progress, Result, Solver
from aucmax.solvers.conjugate_gradient import ConjugateGradient
from aucmax.solvers.coordinate_descent import CoordinateDescent
from aucmax.solvers.exact import Exact
from aucmax.solvers.newton import Newton
from aucmax.solvers.opauc import OPAUC
from aucmax.solvers.solam import SOLAM
from aucmax.solvers.spam import SPAM
from aucmax.solvers.vrspam import VRSPAM

__all__ = [
    "OPAUC",
    "SOLAM",
    "SOLVERS",
    "SPAM",
    "VRSPAM",
    "ConjugateGradient",
    "CoordinateDescent",
    "Exact",
    "Monitor",
    "Newton",
    "Progress",
    "Result",
    "Solver",
    "get_solver",
]

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (Exact, ConjugateGradient, CoordinateDescent, Newton, SPAM, VRSPAM, SOLAM, OPAUC)
}


def get_solver(solver: str | Solver) -> Solver:
    """Return a solver object for a name or an object.

    Parameters
    ----------
    solver : str or Solver
        A key of `SOLVERS`; case, hyphens and underscores do not matter.

    Raises
    ------
    ValueError
        If there is no solver of that name.
    """
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str):
        wanted = solver.lower().replace("-", "").replace("_", "")
        for name, kind in SOLVERS.items():
            if name.replace("_", "") == wanted:
                return kind()
    names = ", ".join(repr(n) for n in ("auto", *SOLVERS))
    raise ValueError(f"solver must be one of {names} or a solver object; got {solver!r}.")
