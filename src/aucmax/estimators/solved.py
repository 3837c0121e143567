"""What the classifiers with a ``solver`` share: running it, and going on with more rows."""

import copy
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from aucmax.basics.checks import refuse_nul
from aucmax.estimators.linear import Given, LinearScorer
from aucmax.objective import Objective
from aucmax.objective.penalties import Penalty
from aucmax.objective.problem import MomentsProblem, Problem, RowsProblem
from aucmax.rows import as_rows, take_rows
from aucmax.rows.parts import InParts
from aucmax.rows.store import Store
from aucmax.solvers import Monitor, Run, Solver
from aucmax.solvers.auto import choose
from aucmax.solvers.base import HISTORY_DTYPE
from aucmax.solvers.certificate import Certificate
from aucmax.solvers.stochastic.core import StochasticSolver
from aucmax.statistics.base import ClassStatistics

__all__ = ["SolvedScorer"]

_TOL = 1e-4  # where none is asked for
_LOST = 1e-10  # optimality that rounding may hide without a warning, whatever tol


class SolvedScorer(LinearScorer):
    """A linear scorer whose coefficients a solver finds.

    A subclass gives its settings (`_settings`, checked), its objective, its intercept and, where a
    batch solver can go on with more rows, `_accumulated`.
    """

    solver: str | Solver
    standardize: float | str = 0.0
    tol: float | None
    max_iter: int
    warm_start: bool
    random_state: Any
    verbose: int
    callback: Callable[..., Any] | None

    def _settings(self) -> tuple[Penalty, Solver | None]:
        """Check the settings; return the penalty and the solver, None for "auto"."""
        raise NotImplementedError

    def _objective(self, problem: Problem, penalty: Penalty) -> Objective:
        """Return what the settings ask to minimise."""
        raise NotImplementedError

    def _intercept(self, coef: np.ndarray, means: tuple[np.ndarray, np.ndarray]) -> float:
        """Return the intercept, given the class means (μ₊, μ₋) of the features."""
        raise NotImplementedError

    def _threshold(self, objective: Objective, w: np.ndarray, coef: np.ndarray) -> float:
        """Return the intercept beside a solution w, ``coef`` for the features as given."""
        return self._intercept(coef, objective.problem.raw_means())

    def _learnt(self, problem: Problem) -> dict[str, Any]:
        """Return what a fit keeps of the problem, as attributes."""
        return {}

    def _accumulated(
        self,
        rows: Any,
        labels: np.ndarray,
        weight: np.ndarray | None,
        classes: np.ndarray,
        penalty: Penalty,
        solver: Solver | None,
    ) -> dict[str, Any]:
        """Return what `partial_fit` changes with a batch solver."""
        name = "auto" if solver is None else solver.name
        raise ValueError(f"the solver {name!r} has no partial_fit.")

    @property
    def _scaling(self) -> float:
        return float(self.standardize)

    def __getstate__(self) -> Any:
        # a callback may hold anything, and saving must not fail or carry code because of it
        return {**super().__getstate__(), "callback": None}

    # ---- fitting -------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows X with labels y.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d), or Source
            Finite numbers; float32 and float64 are kept as given. A source is read once for each
            pass over the data, ``passes_`` in all; it brings its labels and weights, unless others
            are given.
        y : array-like, shape (n,)
            Two labels; the larger one is positive unless ``positive`` names one. The name of a
            pandas or polars series is kept as ``target_name_``.
        sample_weight : array-like, shape (n,), optional
            Non-negative; rows of weight zero are left out.

        Raises
        ------
        ValueError
            For one class only, values that are not finite, negative or all-zero weights, or
            settings that do not go together. The model stays as it was.
        """
        penalty, solver = self._settings()
        if solver is not None:
            solver.check()
        kept = self._names_seen()
        try:
            given = self._taken_in(X, y, sample_weight, *self._one_pass(solver))
            problem = self._problem_of(given, solver)
            start = self._start(problem.n_features)
            rng = check_random_state(self.random_state)
            fitted = self._solved(problem, penalty, solver, start, rng)
        except BaseException:
            self._restore(kept)
            raise
        self._keep(fitted, problem, given.store, given.classes, penalty, solver, rng)
        return self

    def _one_pass(self, solver: Solver | None) -> tuple[ClassStatistics | None, float]:
        """Return what the fit needs to know of the rows, and up to how many features it does so.

        Nothing where it needs the rows themselves; a source is then read again and again.
        """
        return None, 0.0

    def _problem_of(self, given: Given, solver: Solver | None) -> Problem:
        """Return the problem of rows that were taken in."""
        enough, most = self._one_pass(solver)
        if given.known is not None and enough is not None and given.store.n_features <= most:
            return MomentsProblem(given.known)
        return RowsProblem.of(given.store, given.positive, given.weight, given.known)

    def _keep(
        self,
        fitted: dict[str, Any],
        problem: Problem,
        store: Store,
        classes: np.ndarray,
        penalty: Penalty,
        solver: Solver | None = None,
        rng: np.random.RandomState | None = None,
    ) -> None:
        """Take over what `_solved` returned for these rows."""
        for old in ("moments_", "_stream", "passes_", "calibration_"):
            self.__dict__.pop(old, None)
        if isinstance(store, InParts):
            self.passes_ = store.passes.count
        state = fitted.pop("_state", None)
        self.__dict__.update(fitted, classes_=classes)
        self.__dict__.update(self._learnt(problem))
        if isinstance(solver, StochasticSolver) and self._scaling == 0:
            self._stream = {
                "solver": solver.name,
                "average": getattr(solver, "average", None),
                "passes": self.n_iter_,
                "rng": copy.deepcopy(rng),
                "steps": state,
            }

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Go on with more rows; a batch solver through `_accumulated`."""
        penalty, solver = self._settings()
        if solver is not None:
            solver.check()
        first = not hasattr(self, "classes_")
        kept = self._names_seen()
        try:
            X, y = self._validated(X, y, reset=first)
            known = self._classes_of_stream(classes, y)
            sign = np.where(y == known[1], 1.0, -1.0)
            weight = self._weights(sample_weight, X, all_zero=True)
            if first or weight is None or weight.any():
                rows = as_rows(X)
                if weight is not None and not weight.all():
                    kept_rows = np.flatnonzero(weight)
                    rows, sign = take_rows(rows, kept_rows), sign[kept_rows]
                    weight = weight[kept_rows]
                if isinstance(solver, StochasticSolver):
                    update = self._stepped(rows, sign, weight, penalty, solver)
                else:
                    labels = known[(sign > 0).astype(int)]
                    update = self._accumulated(rows, labels, weight, known, penalty, solver)
            else:
                update = {}
        except BaseException:
            self._restore(kept)
            raise
        if update and "spread_" not in update:  # a stream does not keep it up
            self.__dict__.pop("spread_", None)
        self.__dict__.pop("calibration_", None)
        self.__dict__.update(update, classes_=known)
        return self

    # ---- inside --------------------------------------------------------------------------

    def _check_state(self) -> None:
        super()._check_state()
        penalty, solver = self._settings()
        if solver is not None:
            solver.check()
        if not hasattr(self, "coef_"):
            return
        moments = getattr(self, "moments_", None)
        if moments is not None:
            moments._check_state()
            if moments.n_features != self.n_features_in_:
                raise ValueError("its moments are those of another number of features")
            if not np.array_equal(moments.classes, np.sort(self.classes_)):
                raise ValueError("its moments are those of other classes")
        stream = getattr(self, "_stream", None)
        if stream is None:
            return
        parts = {"solver": str, "passes": int, "rng": np.random.RandomState, "steps": dict}
        if not isinstance(stream, dict) or any(
            not isinstance(stream.get(name), kind) for name, kind in parts.items()
        ):
            raise ValueError("what it goes on from is not whole")
        if isinstance(solver, StochasticSolver) and solver.name == stream["solver"]:
            d = self.n_features_in_
            solver.check_steps(stream["steps"], d, self._by_name(penalty, d))

    def _classes_of_stream(self, classes: Any, y: np.ndarray) -> np.ndarray:
        """Return the two labels of a stream, and check that y holds no other."""
        known = getattr(self, "classes_", None)
        if classes is not None:
            refuse_nul(classes)
            given = np.unique(np.asarray(classes))
            if known is not None and not np.array_equal(given, np.sort(known)):
                raise ValueError(
                    f"classes={given.tolist()} differ from those of the first call, "
                    f"{known.tolist()}."
                )
            if len(given) != 2:
                raise ValueError(
                    f"classes must hold two labels; got {len(given)}: {given.tolist()}."
                )
            known = self._ordered(given) if known is None else known
        if known is None:
            if len(np.unique(y)) == 1:
                raise ValueError(
                    "the first call of partial_fit got rows of one class only; name both labels "
                    "with classes=[…, …]."
                )
            known = self._two_classes(np.unique(y))
        if self.positive not in (None, known.tolist()[1]):
            raise ValueError(
                f"positive={self.positive!r} differs from the first call's, {known.tolist()[1]!r}; "
                "begin with a new estimator."
            )
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(
                f"y holds the label {unknown.tolist()[0]!r}, which is not among the classes "
                f"{known.tolist()}."
            )
        return known

    def _by_name(self, penalty: Penalty, d: int) -> Penalty:
        """Return the penalty with its settings by feature as arrays (d, …)."""
        return penalty.named(d, getattr(self, "feature_names_in_", None))

    def _start(self, d: int) -> np.ndarray | None:
        """Return the coefficients to start from, or None."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        return self.coef_[0].copy() if self.coef_.shape[1] == d else None

    def _solved(
        self,
        problem: Problem,
        penalty: Penalty,
        solver: Solver | None = None,
        start: np.ndarray | None = None,
        rng: np.random.RandomState | None = None,
    ) -> dict[str, Any]:
        """Run the solver and return the fitted attributes."""
        problem = problem.scaled(self._scaling)
        in_units = self._by_name(penalty, problem.n_features)
        penalty = in_units.scaled(problem.factor)
        objective = self._objective(problem, penalty)
        problem = objective.problem
        chosen = choose(objective) if solver is None else solver
        objective = chosen.own_objective(objective)
        certificate = Certificate(objective)
        monitor = Monitor(objective, self.verbose, self.callback, certificate.evaluate)
        if rng is None:
            rng = check_random_state(self.random_state)
        tol = _TOL if self.tol is None else self.tol
        run = Run(monitor, tol, self.max_iter, rng)
        if start is not None:
            start = penalty.prox(problem.from_features(start), 0.0)  # within bounds
        result = chosen.solve(objective, start, run)
        message = result.message
        if np.isfinite(result.gap):
            value = objective.value(result.coef) if result.value is None else result.value
            rounding = objective.rounding(result.coef)
            optimality = objective.relative(max(result.gap, rounding), value)
            if message is None and rounding > result.gap and optimality > max(tol, _LOST):
                message = (
                    f"rounding hides how near the optimum is: optimality {optimality:.1e} > "
                    f"tol={tol:g}; scale the features (standardize=0.5), or raise alpha."
                )
        else:
            value, optimality = certificate.evaluate(result.coef)
            if message is None and not monitor.stopped:
                message = chosen.shortfall(objective, value, optimality)
        if message is not None:
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        coef = in_units.prox(problem.to_features(result.coef), 0.0)  # rounding leaves no bounds
        kept = {} if result.state is None else {"_state": result.state}
        return kept | {
            "coef_": coef[None, :],
            "intercept_": np.array([self._threshold(objective, result.coef, coef)]),
            "n_iter_": result.n_iter,
            "solver_": chosen.name,
            "objective_": value,
            "optimality_": optimality,
            "history_": monitor.history,
            "spread_": problem.spread(),
        }

    def _stepped(
        self,
        rows: Any,
        sign: np.ndarray,
        weight: np.ndarray | None,
        penalty: Penalty,
        solver: StochasticSolver,
    ) -> dict[str, Any]:
        """Return what a stochastic `partial_fit` changes: the state, and the solution read off."""
        if self._scaling > 0:
            raise ValueError(
                "standardize > 0 needs all rows at once, and a stochastic partial_fit sees them "
                "one by one; use standardize=0, or a batch solver."
            )
        d = self.n_features_in_
        penalty = self._by_name(penalty, d)
        old = getattr(self, "_stream", None)
        if old is None or old["solver"] != solver.name:
            state = {
                "solver": solver.name,
                "average": getattr(solver, "average", None),
                "passes": 0,
                "rng": copy.deepcopy(check_random_state(self.random_state)),
                "steps": solver.blank(d, penalty),
            }
        else:
            _check_average(solver, old)
            state = copy.deepcopy(old)
        weight = np.ones(len(sign)) if weight is None else weight
        solver.take(state["steps"], rows, sign, weight, penalty, state["rng"])
        coef = solver.current(state["steps"])
        if not np.all(np.isfinite(coef)):
            warnings.warn(
                f"{type(solver).__name__} diverged: its weights are not finite after this "
                f"partial_fit, which was undone; {solver.step_remedy} {solver.step_setting} or use "
                f"{solver.step_setting}='auto'.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return {} if hasattr(self, "coef_") else self._blank(d, solver.name)
        state["passes"] += 1
        mass, total = state["steps"]["mass"], state["steps"]["total"]
        fitted = self._blank(d, solver.name)
        if mass.min() > 0 and total.shape[1]:
            means = total / mass[:, None]
            fitted["intercept_"] = np.array([self._intercept(coef, (means[0], means[1]))])
        fitted.update(coef_=coef[None, :].copy(), n_iter_=state["passes"], _stream=state)
        return fitted

    @staticmethod
    def _blank(d: int, solver: str) -> dict[str, Any]:
        """Return the attributes of a model that has no solution yet: it scores every row 0."""
        return {
            "coef_": np.zeros((1, d)),
            "intercept_": np.zeros(1),
            "n_iter_": 1,
            "solver_": solver,
            "objective_": np.nan,
            "optimality_": np.nan,
            "history_": np.empty(0, dtype=HISTORY_DTYPE),
        }


def _check_average(solver: StochasticSolver, stream: dict[str, Any]) -> None:
    """Raise where a stream was begun with iterates averaged and goes on without, or the reverse."""
    if bool(getattr(solver, "average", None)) != bool(stream["average"]):
        raise ValueError(
            f"average cannot change between calls of partial_fit (it was {stream['average']!r}); "
            "set it back, or begin with a new estimator."
        )
