"""The solvers, one file per published algorithm, and the registry that names them."""

from aucmax.solvers.base import Monitor, Progress, Result, Run, Solver, lacking
from aucmax.solvers.batch.conjugate_gradient import ConjugateGradient
from aucmax.solvers.batch.coordinate_descent import CoordinateDescent
from aucmax.solvers.batch.cutting_plane import CuttingPlane
from aucmax.solvers.batch.exact import Exact
from aucmax.solvers.batch.newton import Newton
from aucmax.solvers.stochastic.comid import COMID
from aucmax.solvers.stochastic.oam import OAM
from aucmax.solvers.stochastic.opauc import OPAUC
from aucmax.solvers.stochastic.pegasos import Pegasos
from aucmax.solvers.stochastic.rda import RDA
from aucmax.solvers.stochastic.sadmm import SADMM
from aucmax.solvers.stochastic.solam import SOLAM
from aucmax.solvers.stochastic.spam import SPAM
from aucmax.solvers.stochastic.univariate import UnivariateSGD
from aucmax.solvers.stochastic.vrspam import VRSPAM

__all__ = [
    "ACCURACY_SOLVERS",
    "COMID",
    "OAM",
    "OPAUC",
    "RDA",
    "SADMM",
    "SOLAM",
    "SOLVERS",
    "SPAM",
    "VRSPAM",
    "ConjugateGradient",
    "CoordinateDescent",
    "CuttingPlane",
    "Exact",
    "Monitor",
    "Newton",
    "Pegasos",
    "Progress",
    "Result",
    "Run",
    "Solver",
    "UnivariateSGD",
    "get_solver",
    "lacking",
]

SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver
    for solver in (
        Exact,
        ConjugateGradient,
        CoordinateDescent,
        Newton,
        CuttingPlane,
        SPAM,
        VRSPAM,
        SOLAM,
        OPAUC,
        OAM,
        UnivariateSGD,
    )
}

ACCURACY_SOLVERS: dict[str, type[Solver]] = {
    solver.name: solver for solver in (SADMM, RDA, COMID, Pegasos)
}


def get_solver(solver: str | Solver, registry: dict[str, type[Solver]] | None = None) -> Solver:
    """Return a solver object for a name or an object.

    Parameters
    ----------
    solver : str or Solver
        A key of the registry; case, hyphens and underscores do not matter.
    registry : dict, optional
        `ACCURACY_SOLVERS` for `HingeClassifier`; by default `SOLVERS`, for
        `AUCClassifier`.

    Raises
    ------
    ValueError
        If there is no solver with that name, or it belongs to the other estimator.
    """
    accuracy = registry is ACCURACY_SOLVERS
    own, foreign = (ACCURACY_SOLVERS, SOLVERS) if accuracy else (SOLVERS, ACCURACY_SOLVERS)
    if isinstance(solver, Solver):
        if solver.name not in foreign:
            return solver
        name: str | None = solver.name
    elif isinstance(solver, str):
        name = _key(solver, own)
        if name is not None:
            return own[name]()
        name = _key(solver, foreign)
    else:
        name = None
    names = ", ".join(repr(n) for n in (*(() if accuracy else ("auto",)), *own))
    belongs = ""
    if name is not None:
        belongs = f" {name!r} belongs to {'AUCClassifier' if accuracy else 'HingeClassifier'}."
    names += "" if isinstance(solver, str) else " or a solver object"
    raise ValueError(f"solver must be one of {names}; got {solver!r}.{belongs}")


def _key(name: str, registry: dict[str, type[Solver]]) -> str | None:
    """Return the key for a name, or None."""
    plain = name.lower().replace("-", "").replace("_", "")
    return next((key for key in registry if key.replace("_", "") == plain), None)
