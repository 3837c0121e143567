"""From labelled rows to a fit: its settings, its result, and continuing with more rows."""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from aucmax.data.labelled import Labelled
from aucmax.data.rows import Rows, n_features
from aucmax.data.rows.threads import one_blas_thread
from aucmax.data.strata import StrataWeight
from aucmax.estimators.named_loss import Goal, HingeLoss
from aucmax.estimators.resuming import trail
from aucmax.estimators.strata import FittedStrata, fitted_strata, no_estimate
from aucmax.objective import MAX_MATRIX_FEATURES, Objective
from aucmax.objective.penalties import Penalty
from aucmax.objective.problem import ANY_ROWS, MomentsProblem, Problem, RowsProblem
from aucmax.objective.within_strata import rows_problem
from aucmax.solvers import Exact, Monitor, Run, Solver
from aucmax.solvers.auto import batch_solvers, choose
from aucmax.solvers.base import HIDDEN_OPTIMALITY, HISTORY_DTYPE
from aucmax.solvers.batch.coordinate_descent import CoordinateDescent
from aucmax.solvers.certificate import Certificate
from aucmax.solvers.stochastic.core import StochasticSolver
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.moments import ClassMoments

__all__ = [
    "MAX_CHEAP_MATRIX_FEATURES", "FirstPass", "Fit", "Settings", "fit", "one_pass", "posed",
    "problem_of", "solve", "step",
]  # fmt: skip

MAX_CHEAP_MATRIX_FEATURES = 100  # up to which the matrix costs no more than a pass over the rows


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of a fit, checked.

    Parameters
    ----------
    goal : Goal
        The loss.
    penalty : Penalty
    solver : Solver, optional
        If None, one is chosen for the problem.
    standardize : float
        γ.
    tol, max_iter : float, int
        The stopping rule of the solver.
    random_state : int, RandomState or None
        Orders the rows for stochastic solvers.
    verbose, callback
        As for `AUCClassifier`.
    strata_weight : {"positives", "pairs", "strata"}
        The weighting of strata, for rows that have any.
    """

    goal: Goal
    penalty: Penalty
    solver: Solver | None = None
    standardize: float = 0.0
    tol: float = 1e-4
    max_iter: int = 1000
    random_state: Any = None
    verbose: int = 0
    callback: Callable[..., Any] | None = None
    strata_weight: StrataWeight = "positives"

    def named(self, d: int, feature_names: Any) -> Self:
        """Return the settings with the penalty's values by feature as arrays (d, …)."""
        return replace(self, penalty=self.penalty.named(d, feature_names))

    def check_strata(self) -> None:
        """Raise ValueError if a fit with these settings does not support strata."""
        if isinstance(self.goal, HingeLoss):
            raise ValueError(
                "the hinge loss of single rows compares no pairs and takes no strata; use "
                "AUCClassifier, or leave out the strata."
            )
        if isinstance(self.solver, StochasticSolver):
            fits = batch_solvers(self.goal.objective(ANY_ROWS, self.penalty))
            raise ValueError(
                f"the solver {self.solver.name!r} learns from one row after another and takes no "
                f"strata; these do: {', '.join(map(repr, fits))}; or leave out the strata."
            )


class FirstPass(NamedTuple):
    """What a fit keeps from the first pass over rows in parts.

    Parameters
    ----------
    empty : ClassStatistics, optional
        The statistics that suffice for the fit; None if the rows are read in every pass.
    max_features : float
        The number of features up to which they suffice.
    labels : bool
        Whether to keep labels and weights in memory, rather than with their parts.
    """

    empty: ClassStatistics | None
    max_features: float
    labels: bool


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of a fit.

    Parameters
    ----------
    coef : ndarray, shape (d,)
        Coefficients for the unscaled features.
    intercept : float
    solver : str
        The name of the solver that ran.
    n_iter : int
        In the solver's own unit.
    objective, optimality : float
        J at the solution, and (J − J*)/(J(0) − J*).
    history : ndarray
        Structured: passes, seconds, objective, optimality.
    spread : ndarray, shape (d,), optional
        Mean squared difference of each feature over any two rows.
    statistics : ClassStatistics, optional
        Those of the classes −1 and +1, if the fit needed them; a batch solver continues from them.
    stream : dict, optional
        The state from which a stochastic solver continues.
    message : str, optional
        Why the solution may not be good enough.
    strata : FittedStrata, optional
        Those within which the rows were compared.
    """

    coef: np.ndarray
    intercept: float
    solver: str
    n_iter: int = 1
    objective: float = np.nan
    optimality: float = np.nan
    history: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=HISTORY_DTYPE))
    spread: np.ndarray | None = None
    statistics: ClassStatistics | None = None
    stream: dict[str, Any] | None = None
    message: str | None = None
    strata: FittedStrata | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of an estimator with this fit."""
        attributes = {"coef_": self.coef[None, :], "intercept_": np.array([self.intercept])}
        names = ("n_iter", "solver", "objective", "optimality", "history")
        attributes |= {f"{name}_": getattr(self, name) for name in names}
        further = {"spread_": self.spread, "strata_": self.strata}
        return attributes | {name: of for name, of in further.items() if of is not None}

    @classmethod
    def of_no_rows(cls, d: int, solver: str) -> Self:
        """Return a fit before any solution: it scores every row 0."""
        return cls(np.zeros(d), 0.0, solver)

    def warn(self, stacklevel: int) -> None:
        """Issue a ConvergenceWarning if the solution may not be good enough."""
        if self.message is not None:
            warnings.warn(self.message, ConvergenceWarning, stacklevel=stacklevel + 1)


def fit(labelled: Labelled, settings: Settings, start: np.ndarray | None = None) -> Fit:
    """Fit to labelled rows.

    Parameters
    ----------
    labelled : Labelled
    settings : Settings
    start : ndarray, shape (d,), optional
        Coefficients to start from, for the unscaled features.
    """
    empty, max_features, _ = one_pass(settings)
    settings = settings.named(labelled.store.n_features, labelled.feature_names)
    statistics = labelled.statistics
    if statistics is not None and empty is not None and labelled.store.n_features <= max_features:
        return solve(MomentsProblem(statistics), settings, start)
    if labelled.strata is not None:
        settings.check_strata()
    if not isinstance(settings.solver, StochasticSolver):  # whose steps need the rows
        labelled = labelled.without_zeros()
    problem = problem_of(labelled, settings.strata_weight, statistics)
    if settings.goal.by_moments:
        has_covariances = empty is not None and empty.has_covariances
        takes_moments = has_covariances and problem.n_features <= max_features
    else:
        few_features = problem.n_features <= MAX_CHEAP_MATRIX_FEATURES
        takes_moments = labelled.strata is not None and few_features
    if isinstance(settings.solver, Exact):
        settings.solver.check_memory(problem)
    if takes_moments:
        problem.moments()  # which also give the spread, so that the rows are read once
    fitted, objective = solve(problem, settings, start), posed(problem, settings)
    if fitted.message is None:
        message = no_estimate(problem, objective, fitted.coef, labelled)
        fitted = replace(fitted, message=message)
    return replace(fitted, strata=fitted_strata(labelled, objective))


def problem_of(
    labelled: Labelled,
    strata_weight: StrataWeight = "positives",
    statistics: ClassStatistics | None = None,
) -> RowsProblem:
    """Return the problem for checked rows, within their strata if they have any.

    Parameters
    ----------
    labelled : Labelled
    strata_weight : {"positives", "pairs", "strata"}
        The weighting of strata.
    statistics : ClassStatistics, optional
        Those of the rows, if known.
    """
    strata = labelled.coded_strata
    rows = labelled.store, labelled.positive, labelled.weight, statistics
    return rows_problem(*rows, None if strata is None else strata.weighed(strata_weight))


def one_pass(settings: Settings) -> FirstPass:
    """Return what a fit needs from the first pass over rows in parts."""
    solver, goal = settings.solver, settings.goal
    # steps skip rows of weight 0, and coordinate descent needs columns of all rows
    by_rows = isinstance(solver, StochasticSolver | CoordinateDescent)
    columns = goal.by_moments and "l2" not in settings.penalty.offers
    labels = by_rows or columns or not goal.by_sums
    if not goal.by_moments:
        return FirstPass(None, 0.0, labels)
    if isinstance(solver, Exact) and solver.covariance != "full":
        return FirstPass(solver.empty(None), np.inf, labels)
    if solver is None or isinstance(solver, Exact | CoordinateDescent):
        return FirstPass(ClassMoments(), MAX_MATRIX_FEATURES, labels)
    return FirstPass(None, 0.0, labels)


def posed(problem: Problem, settings: Settings, spread: np.ndarray | None = None) -> Objective:
    """Return the objective of a fit: its scale, its τ and its penalty in the scaled coordinates.

    Parameters
    ----------
    problem : Problem
        In the features' own coordinates.
    settings : Settings
        With the penalty's settings by feature as arrays.
    spread : ndarray, shape (d,), optional
        The spread that sets the scale, by default that of the problem.
    """
    problem = problem.scaled(settings.standardize, spread)
    return settings.goal.objective(problem, settings.penalty.scaled(problem.factor))


@one_blas_thread()
def solve(problem: Problem, settings: Settings, start: np.ndarray | None = None) -> Fit:
    """Fit to a problem in the features' own coordinates.

    Parameters
    ----------
    problem : Problem
        It keeps the class statistics that the fit needed.
    settings : Settings
        With the penalty's settings by feature as arrays.
    start : ndarray, shape (d,), optional
        Coefficients to start from.
    """
    objective = posed(problem, settings)
    scaled, penalty = objective.problem, objective.penalty
    solver = choose(objective) if settings.solver is None else settings.solver
    objective = solver.own_objective(objective)
    certificate = Certificate(objective)
    kept, name = trail(), f"a fit to {problem.n_samples} rows"
    keep = kept.keeper(name, scaled.to_features)
    monitor = Monitor(objective, settings.verbose, settings.callback, certificate.evaluate, keep)
    rng = check_random_state(settings.random_state)
    run = Run(monitor, settings.tol, settings.max_iter, rng)
    if (last := kept.last(name, (problem.n_features,))) is not None:
        start = last
    if start is not None:
        start = penalty.prox(scaled.from_features(start), 0.0)  # within bounds
    solved = solver.solve(objective, start, run)
    message, spread = solved.message, problem.spread()
    if np.isfinite(solved.gap):
        value = objective.value(solved.coef) if solved.value is None else solved.value
        rounding = objective.rounding(solved.coef)
        optimality = objective.relative(max(solved.gap, rounding), value)
        hidden = rounding > solved.gap and optimality > max(settings.tol, HIDDEN_OPTIMALITY)
        if message is None and hidden:
            message = (
                f"rounding hides how near the optimum is: optimality {optimality:.1e} > "
                f"tol={settings.tol:g}; scale the features (standardize=0.5), or raise alpha."
            )
    else:
        value, optimality = certificate.evaluate(solved.coef)
        if message is None and not monitor.stopped:
            message = solver.shortfall(objective, value, optimality)
    coef = settings.penalty.prox(scaled.to_features(solved.coef), 0.0)  # clip rounding errors
    kept.keep(name, coef)
    stream = None
    if isinstance(solver, StochasticSolver) and settings.standardize == 0:
        stream = _stream(solver, solved.n_iter, rng, solved.state)
    intercept = solved.intercept
    if intercept is None:
        intercept = settings.goal.intercept(objective, solved.coef, coef)
    return Fit(
        coef, intercept, solver.name, solved.n_iter, value, optimality, history=monitor.history,
        spread=spread, statistics=problem.known, stream=stream, message=message,
    )  # fmt: skip


def step(
    stream: dict[str, Any] | None,
    rows: Rows,
    sign: np.ndarray,
    weight: np.ndarray | None,
    settings: Settings,
) -> Fit | None:
    """Take one pass of steps over more rows; warn and return None if the steps diverge.

    Parameters
    ----------
    stream : dict, optional
        The state from which to continue; with another solver the fit starts again.
    rows : ndarray or CSR, shape (m, d)
    sign, weight : ndarray, shape (m,)
        ±1, and weights above 0, or None.
    settings : Settings
        With a stochastic solver, and the penalty's settings by feature as arrays.
    """
    solver, penalty = settings.solver, settings.penalty
    assert isinstance(solver, StochasticSolver)
    if settings.standardize > 0:
        raise ValueError(
            "standardize > 0 needs all rows at once, but a stochastic partial_fit sees them "
            "one by one; use standardize=0, or a batch solver."
        )
    if stream is None or stream["solver"] != solver.name:
        rng = check_random_state(settings.random_state)
        stream = _stream(solver, 0, rng, solver.blank(n_features(rows), penalty))
    else:
        _check_average(solver, stream)
        stream = copy.deepcopy(stream)
    weight = np.ones(len(sign)) if weight is None else weight
    solver.take(stream["steps"], rows, sign, weight, penalty, stream["rng"])
    coef = solver.current(stream["steps"])
    if not np.all(np.isfinite(coef)):
        warnings.warn(
            f"{type(solver).__name__} diverged: its weights are not finite after this "
            f"partial_fit, which was undone; {solver.step_remedy} {solver.step_setting} or use "
            f"{solver.step_setting}='auto'.",
            ConvergenceWarning,
            stacklevel=5,
        )
        return None
    stream["passes"] += 1
    mass, total = stream["steps"]["mass"], stream["steps"]["total"]
    intercept = 0.0
    if mass.min() > 0 and total.shape[1]:
        means = total / mass[:, None]
        intercept = settings.goal.midpoint(coef, (means[0], means[1]))
    return Fit(coef.copy(), intercept, solver.name, stream["passes"], stream=stream)


def _stream(
    solver: StochasticSolver, passes: int, rng: np.random.RandomState, steps: Any
) -> dict[str, Any]:
    """Return the state from which a stochastic solver continues."""
    average, generator = getattr(solver, "average", None), copy.deepcopy(rng)
    facts: dict[str, Any] = {"solver": solver.name, "average": average, "passes": passes}
    return facts | {"rng": generator, "steps": steps}


def _check_average(solver: StochasticSolver, stream: dict[str, Any]) -> None:
    """Raise ValueError if ``average`` has changed since a stream began."""
    if bool(getattr(solver, "average", None)) != bool(stream["average"]):
        raise ValueError(
            f"average cannot change between calls of partial_fit (it was {stream['average']!r}); "
            "set it back, or begin with a new estimator."
        )
