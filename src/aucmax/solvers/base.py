"""The base of all solvers: settings, requirements on the problem, and the monitor.

A solver is a scikit-learn ``BaseEstimator`` that holds only its settings, so that ``clone``,
``get_params`` and a grid search over ``solver__…`` work. `Solver.solve` takes an objective and
returns a `Result`; it never changes the solver.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from aucmax.basics.checks import number
from aucmax.objective import Objective
from aucmax.objective.losses import (
    LOSSES,
    UNIVARIATE_LOSSES,
    RankingLoss,
    UnivariateLoss,
)

__all__ = [
    "HIDDEN_OPTIMALITY",
    "HISTORY_DTYPE",
    "Minimum",
    "Monitor",
    "Progress",
    "Result",
    "Run",
    "Solver",
    "lacking",
    "unfinished",
]

HISTORY_DTYPE = np.dtype(
    [("passes", "f8"), ("seconds", "f8"), ("objective", "f8"), ("optimality", "f8")]
)

HIDDEN_OPTIMALITY = 1e-10  # below it, no warning if rounding hides whether tol was reached

_LIMITS: dict[str, dict[str, Any]] = {
    "tol": {"open_low": True},
    "max_iter": {"low": 1, "whole": True},
}


@dataclass
class Result:
    """The result of `Solver.solve`.

    Attributes
    ----------
    coef : ndarray, shape (d,)
        The solution in the problem's coordinates.
    n_iter : int
        Iterations, sweeps, epochs or stages: the solver's own unit, at least 1.
    message : str or None
        Why the solution may not be good enough; becomes a ``ConvergenceWarning``.
    gap : float
        J(w) − J*, bounded or estimated from above by the solver; infinite if unknown.
    value : float, optional
        J(w), if the solver knows it.
    intercept : float, optional
        The best intercept of a loss with its own intercept, if the solver knows it.
    state : dict or None
        The state from which a stochastic solver continues with new rows, if the problem and the
        solution do not determine it.
    """

    coef: np.ndarray
    n_iter: int
    message: str | None = None
    gap: float = np.inf
    value: float | None = None
    intercept: float | None = None
    state: dict[str, Any] | None = None


class Minimum(NamedTuple):
    """A minimiser w (d,), J(w), a bound or estimate of J(w) − J*, the steps, and their cost.

    The cost of a step is the number of products with the data that it took, but at least 1.
    ``intercept`` is that of a loss with its own, if the steps know it.
    """

    w: np.ndarray
    value: float
    gap: float
    steps: int
    cost: int
    intercept: float | None = None


class Progress(NamedTuple):
    """The argument of a callback.

    Parameters
    ----------
    coef : ndarray, shape (d,)
        Coefficients for the unscaled features.
    passes : float
        Passes over the data so far.
    seconds : float
        Solving time so far, without the time for recording.
    objective, optimality : float
        J, and (J(w) − J*)/(J(0) − J*).
    """

    coef: np.ndarray
    passes: float
    seconds: float
    objective: float
    optimality: float


class Monitor:
    """Records objective and optimality while a solver runs, and lets a callback stop it.

    Parameters
    ----------
    objective : Objective
    verbose : int
        Print a line at every record.
    callback : callable, optional
        ``callback(progress) -> bool``; True stops the solver.
    evaluate : callable, optional
        ``evaluate(coef)`` returns J and the optimality; by default the objective's own.
    keep : callable, optional
        ``keep(coef)`` is called with every iterate, whether it is recorded or not.
    """

    def __init__(
        self,
        objective: Objective,
        verbose: int = 0,
        callback: Callable[[Progress], Any] | None = None,
        evaluate: Callable[[np.ndarray], tuple[float, float]] | None = None,
        keep: Callable[[np.ndarray], None] | None = None,
    ) -> None:
        self.objective, self.keep = objective, keep
        self.evaluate = objective.evaluate if evaluate is None else evaluate
        self.verbose, self.callback = verbose, callback
        self.active = bool(verbose) or callback is not None
        self.stopped, self.optimality = False, np.inf
        self._records: list[tuple[float, float, float, float]] = []
        self._seconds, self._since = 0.0, time.perf_counter()

    def __call__(self, coef: np.ndarray, passes: float) -> bool:
        """Record the current iterate; return True if the solver should stop."""
        if self.keep is not None:
            self.keep(coef)
        if not self.active:
            return False
        self._seconds += time.perf_counter() - self._since
        value, optimality = self.evaluate(coef)
        self.optimality = optimality
        self._records.append((passes, self._seconds, value, optimality))
        if self.verbose:
            print(
                f"passes {passes:8.1f}  seconds {self._seconds:8.3f}  "
                f"objective {value:.8g}  optimality {optimality:.2e}"
            )
        stop = False
        if self.callback is not None:
            features = self.objective.problem.to_features(coef)
            progress = Progress(features.copy(), passes, self._seconds, value, optimality)
            stop = bool(self.callback(progress))
        self.stopped = self.stopped or stop
        self._since = time.perf_counter()
        return stop

    def measure(self, coef: np.ndarray) -> float:
        """Return the optimality of the current iterate, as just recorded or computed now."""
        return self.optimality if self.active else self.evaluate(coef)[1]

    @property
    def history(self) -> np.ndarray:
        """The records so far, a structured array of `HISTORY_DTYPE`."""
        return np.array(self._records, dtype=HISTORY_DTYPE)


@dataclass(frozen=True)
class Run:
    """Limits, random numbers and monitor of a solve.

    Attributes
    ----------
    monitor : Monitor
    tol, max_iter : float, int
        The estimator's; a solver's own settings with these names take precedence.
    rng : RandomState, optional
        The random numbers of stochastic solvers.
    sure : bool
        Whether to check, at the cost of a dozen products, directions that the solver may not have
        explored.
    """

    monitor: Monitor
    tol: float = 1e-4
    max_iter: int = 1000
    rng: np.random.RandomState | None = None
    sure: bool = True


_PENALTIES = {
    "prox": "penalties that are sums over features",
    "convex": "convex penalties",
    "elastic net": "elastic nets without bounds",
    "l2": "l2 penalties without bounds",
    "cone": "l2 penalties on a cone",
}
_BOOLEAN_SETTINGS = ("average", "centered", "project", "safeguard")  # of any solver


class Solver(BaseEstimator):
    """Base of all solvers, which hold only settings; `unfit` says what a solver does not support.

    Attributes
    ----------
    name : str
        The name by which an estimator selects it.
    own : dict
        The settings of the estimator that the solver replaces by its own, with their names here.
        The estimator's must then stay at their defaults.
    """

    name: ClassVar[str]
    own: ClassVar[Mapping[str, str]] = {}

    def check(self) -> None:
        """Raise ValueError for a boolean setting that is neither True nor False."""
        for name, value in self.get_params(deep=False).items():
            if name in _BOOLEAN_SETTINGS and not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False; got {value!r}.")

    def unfit(self, objective: Objective) -> str | None:
        """Return why this solver cannot minimise an objective, or None if it can.

        The answer continues "the solver …": "takes l1_ratio=0 only". Most solvers call `lacking`;
        the default supports everything.

        Parameters
        ----------
        objective : Objective
            According to the estimator's settings; its problem may be `ANY_ROWS`.
        """
        return None

    def own_objective(self, objective: Objective) -> Objective:
        """Return the objective that this solver minimises instead of the estimator's.

        Most return it unchanged; some restrict it to a set, or have their own loss.

        Parameters
        ----------
        objective : Objective

        Returns
        -------
        Objective
            The objective to which ``objective_`` and ``optimality_`` refer.
        """
        return objective

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        """Minimise the objective.

        Parameters
        ----------
        objective : Objective
        start : ndarray of shape (d,), or None
            The starting point in the problem's coordinates; None is the solver's own start.
        run : Run
        """
        raise NotImplementedError

    def shortfall(self, objective: Objective, value: float, optimality: float) -> str | None:
        """Return why a solution without a message is far from the optimum, or None.

        Parameters
        ----------
        objective : Objective
        value, optimality : float
            Objective and optimality of the solution.
        """
        return None

    def settled(self, run: Run) -> Run:
        """Return the run with this solver's own ``tol`` and ``max_iter`` if they are set."""
        own = {}
        for name, limits in _LIMITS.items():
            value = getattr(self, name, None)
            if value is not None:
                own[name] = number(value, f"{name} of {type(self).__name__}", **limits)
        return replace(run, **own) if own else run


def unfinished(objective: Objective, run: Run, quality: float, spent: int, stop: str) -> str | None:
    """Return a message on an insufficient solution of a batch solver and its remedies, or None.

    Parameters
    ----------
    objective : Objective
    run : Run
    quality : float
        The optimality reached.
    spent : int
        The number of iterations that count towards ``max_iter``.
    stop : str
        What stopped, and when, such as "conjugate gradient stopped after 12 steps".
    """
    enough = run.tol if spent >= run.max_iter else max(run.tol, HIDDEN_OPTIMALITY)
    if quality <= enough or run.monitor.stopped:
        return None
    remedies = ["raise max_iter"] if spent >= run.max_iter else []
    if objective.problem.factor is None:
        remedies.append("scale the features (standardize=0.5)")
    remedies.append("raise alpha")
    advice = remedies[-1] if len(remedies) == 1 else f"{', '.join(remedies[:-1])} or {remedies[-1]}"
    return f"{stop} at optimality {quality:.1e} > tol={run.tol:g}; {advice}."


def lacking(
    objective: Objective,
    *,
    loss: Collection[str],
    single: bool = False,
    penalty: str = "convex",
    data: Collection[str] | None = ("moments", "products"),
) -> str | None:
    """Return the first requirement of a solver that an objective does not meet, or None.

    Parameters
    ----------
    objective : Objective
    loss : kinds of losses
        The supported kinds of losses.
    single : bool
        Whether the loss must be one of single rows, not of pairs.
    penalty : {"prox", "convex", "elastic net", "l2", "cone"}
        What the penalty must offer.
    data : subset of {"moments", "products", "rows"}, optional
        The problem must offer one of these.
    """
    losses: Mapping[str, RankingLoss | UnivariateLoss] = UNIVARIATE_LOSSES if single else LOSSES
    if isinstance(objective.loss, UnivariateLoss) != single:
        return f"belongs to {'HingeClassifier' if single else 'AUCClassifier'}"
    if objective.loss.kind not in loss:
        if objective.loss.kind == "weighted quadratic" and "quadratic" in loss:
            return "takes within=0.5 only"
        names = [name for name, candidate in losses.items() if candidate.kind in loss]
        return f"takes the loss {' or '.join(names)} only"
    if penalty not in objective.penalty.offers:
        if penalty == "l2" and "elastic net" in objective.penalty.offers:
            return "takes l1_ratio=0 only"
        return f"takes {_PENALTIES[penalty]} only"
    if data is not None and objective.problem.offers.isdisjoint(data):
        return "needs rows" + (" or ClassMoments" if "moments" in data else "")
    return None
