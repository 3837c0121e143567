"""What every solver shares: its settings, what it needs of the problem, and the monitor.

A solver is a scikit-learn ``BaseEstimator`` that holds its settings and nothing else, so that
``clone``, ``get_params`` and a grid search over ``solver__…`` work. `Solver.solve` takes an
objective and returns a `Result`; it never changes the solver.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
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
    "HISTORY_DTYPE",
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

_LIMITS: dict[str, dict[str, Any]] = {
    "tol": {"open_low": True},
    "max_iter": {"low": 1, "whole": True},
}


@dataclass
class Result:
    """What a solve gives back.

    Attributes
    ----------
    coef : ndarray, shape (d,)
        In the problem's coordinates.
    n_iter : int
        Iterations, sweeps, epochs or stages: the solver's own unit, at least 1.
    message : str or None
        Why the solution may not be good enough; becomes a ``ConvergenceWarning``.
    gap : float
        J(w) − J*, bounded or estimated from above by the solver; infinite where it has no say.
    value : float, optional
        J(w), where the solver knows it.
    state : dict or None
        What a stochastic solver goes on from with new rows, where the problem and the solution
        alone do not say it.
    """

    coef: np.ndarray
    n_iter: int
    message: str | None = None
    gap: float = np.inf
    value: float | None = None
    state: dict[str, Any] | None = None


class Progress(NamedTuple):
    """What a callback is given.

    Parameters
    ----------
    coef : ndarray, shape (d,)
        For the features as given.
    passes : float
        Passes over the data so far.
    seconds : float
        Time of solving so far, without the recording.
    objective, optimality : float
        J, and (J(w) − J*)/(J(0) − J*).
    """

    coef: np.ndarray
    passes: float
    seconds: float
    objective: float
    optimality: float


class Monitor:
    """Records objective and optimality while a solver runs, and passes on when it is to stop.

    Parameters
    ----------
    objective : Objective
    verbose : int
        Print a line at every record.
    callback : callable, optional
        ``callback(progress) -> bool``; True stops the solver.
    evaluate : callable, optional
        ``evaluate(coef)`` gives J and the optimality; None is the objective's own.
    """

    def __init__(
        self,
        objective: Objective,
        verbose: int = 0,
        callback: Callable[[Progress], Any] | None = None,
        evaluate: Callable[[np.ndarray], tuple[float, float]] | None = None,
    ) -> None:
        self.objective = objective
        self.evaluate = objective.evaluate if evaluate is None else evaluate
        self.verbose, self.callback = verbose, callback
        self.active = bool(verbose) or callback is not None
        self.stopped, self.optimality = False, np.inf
        self._records: list[tuple[float, float, float, float]] = []
        self._seconds, self._since = 0.0, time.perf_counter()

    def __call__(self, coef: np.ndarray, passes: float) -> bool:
        """Record where the solver is; return True when it should stop."""
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
        """Return the optimality of where the solver is, as just recorded or measured now."""
        return self.optimality if self.active else self.evaluate(coef)[1]

    @property
    def history(self) -> np.ndarray:
        """The records so far, a structured array of `HISTORY_DTYPE`."""
        return np.array(self._records, dtype=HISTORY_DTYPE)


@dataclass(frozen=True)
class Run:
    """How far a solver is to go, what it draws from, and who watches.

    Attributes
    ----------
    monitor : Monitor
    tol, max_iter : float, int
        The estimator's; a solver's own settings of these names win.
    rng : RandomState
    sure : bool
        Look, at the cost of a dozen products, for what may be left where a solver has not come by.
    """

    monitor: Monitor
    tol: float = 1e-4
    max_iter: int = 1000
    rng: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    sure: bool = True


_PENALTIES = {
    "prox": "penalties that are sums over features",
    "convex": "convex penalties",
    "elastic net": "elastic nets without bounds",
    "l2": "l2 penalties without bounds",
}
_TWO_VALUED = ("average", "centered", "project", "safeguard")  # of any solver's settings


class Solver(BaseEstimator):
    """Base of all solvers: an object holds its settings, `unfit` says what it cannot do.

    Attributes
    ----------
    name : str
        The name by which an estimator finds it.
    own : dict
        Which of the estimator's settings it has its own of, each with the setting's name here;
        the estimator's then stay at their defaults.
    """

    name: ClassVar[str]
    own: ClassVar[Mapping[str, str]] = {}

    def check(self) -> None:
        """Raise ValueError for a two-valued setting that is neither True nor False."""
        for name, value in self.get_params(deep=False).items():
            if name in _TWO_VALUED and not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False; got {value!r}.")

    def unfit(self, objective: Objective) -> str | None:
        """Return what this solver takes or needs where that is not this objective, else None.

        The answer goes on from "the solver …": "takes l1_ratio=0 only". Most ask `lacking`; one
        that does not answer takes everything.

        Parameters
        ----------
        objective : Objective
            As the estimator's settings make it; its problem may be `ANY_ROWS`.
        """
        return None

    def own_objective(self, objective: Objective) -> Objective:
        """Return what this solver minimises when the estimator asks for ``objective``.

        Most return it as it is; some keep to a set, or have a loss of their own.

        Parameters
        ----------
        objective : Objective

        Returns
        -------
        Objective
            By which ``objective_`` and ``optimality_`` are judged.
        """
        return objective

    def solve(self, objective: Objective, start: np.ndarray | None, run: Run) -> Result:
        """Minimise the objective.

        Parameters
        ----------
        objective : Objective
        start : ndarray of shape (d,), or None
            Where to start, in the problem's coordinates; None is the solver's own start.
        run : Run
        """
        raise NotImplementedError

    def shortfall(self, objective: Objective, value: float, optimality: float) -> str | None:
        """Return why a solution that `solve` did not complain of is far from the optimum, or None.

        Parameters
        ----------
        objective : Objective
        value, optimality : float
            Of the solution.
        """
        return None

    def settled(self, run: Run) -> Run:
        """Return the run with this solver's own ``tol`` and ``max_iter`` where they are set."""
        own = {}
        for name, limits in _LIMITS.items():
            value = getattr(self, name, None)
            if value is not None:
                own[name] = number(value, f"{name} of {type(self).__name__}", **limits)
        return replace(run, **own)


def unfinished(objective: Objective, run: Run, quality: float, spent: int, what: str) -> str | None:
    """Return why a batch solver's solution is not good enough and what may help, None if it is.

    Parameters
    ----------
    objective : Objective
    run : Run
    quality : float
        The optimality reached.
    spent : int
        What counts towards ``max_iter``.
    what : str
        What stopped, and when: "conjugate gradient stopped after 12 steps".
    """
    if quality <= run.tol or run.monitor.stopped:
        return None
    ways = ["raise max_iter"] if spent >= run.max_iter else []
    if objective.problem.factor is None:
        ways.append("scale the features (standardize=0.5)")
    ways.append("raise alpha")
    advice = ", ".join(ways[:-1]) + " or " * (len(ways) > 1) + ways[-1]
    return f"{what} at optimality {quality:.1e} > tol={run.tol:g}; {advice}."


def lacking(
    objective: Objective,
    *,
    loss: Collection[str],
    single: bool = False,
    penalty: str = "convex",
    data: Collection[str] | None = ("moments", "products"),
) -> str | None:
    """Return which of a solver's needs an objective does not meet, else None.

    Parameters
    ----------
    objective : Objective
    loss : kinds of losses
        The loss must be of one of them.
    single : bool
        It must be a loss of single rows, not of pairs.
    penalty : {"prox", "convex", "elastic net", "l2"}
        What the penalty must offer.
    data : of {"moments", "products", "rows"}, optional
        The problem must offer one of them.
    """
    losses: Mapping[str, RankingLoss | UnivariateLoss] = UNIVARIATE_LOSSES if single else LOSSES
    if isinstance(objective.loss, UnivariateLoss) != single:
        return f"belongs to {'HingeClassifier' if single else 'AUCClassifier'}"
    if objective.loss.kind not in loss:
        if objective.loss.kind == "weighted quadratic" and "quadratic" in loss:
            return "takes within=0.5 only"
        names = [repr(name) for name, other in losses.items() if other.kind in loss]
        return f"takes loss={' or '.join(names)} only"
    if penalty not in objective.penalty.offers:
        if penalty == "l2" and "elastic net" in objective.penalty.offers:
            return "takes l1_ratio=0 only"
        return f"takes {_PENALTIES[penalty]} only"
    if data is not None and objective.problem.offers.isdisjoint(data):
        return "needs rows" + (" or ClassMoments" if "moments" in data else "")
    return None
