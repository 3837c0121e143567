"""AUCRanker: a linear scorer trained for the concordance index of grades or times of events."""

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from aucmax.basics.checks import number, refuse_collections, refuse_sizes, sample_weights
from aucmax.data.columns import columns_in
from aucmax.data.degrees import Degrees, GradeWeight, check_grade_weight
from aucmax.data.rows import as_rows
from aucmax.data.rows.source import Source, opened
from aucmax.data.strata import Strata, StrataWeight, check_strata_weight, strata_name
from aucmax.estimators.fitting import MAX_CHEAP_MATRIX_FEATURES, Settings, solve
from aucmax.estimators.labelling import check_some_weight, unchanged_on_error
from aucmax.estimators.linear import LinearModel
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.penalised import Penalised
from aucmax.estimators.strata import FittedStrata
from aucmax.metrics.degrees import concordance
from aucmax.objective import MAX_MATRIX_FEATURES, Objective
from aucmax.objective.compared import ComparedProblem
from aucmax.objective.penalties import Penalty
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import Solver, get_solver
from aucmax.solvers.auto import batch_solvers, pick
from aucmax.solvers.stochastic.core import StochasticSolver

__all__ = ["AUCRanker"]

_LOSSES = ("square", "squared_hinge")


class AUCRanker(Penalised, LinearModel):
    """Linear model that ranks rows by grades, amounts, or times of events.

    Minimises, over w,

        J(w) = ½ · mean over pairs (i above j) of ℓ(w·(x_i − x_j))
               + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ]

    over all pairs of rows whose order is known: the row with the higher grade should rank higher
    or, for times, the row whose event came earlier, whatever happened to the other row later. With
    two grades this is `AUCClassifier`.

    Parameters
    ----------
    alpha, l1_ratio, penalty, coef_bounds
        The penalty, as for `AUCClassifier`.
    loss : {"square", "squared_hinge"}
        ℓ(t) = (1 − t)² or max(0, 1 − t)². The square loss takes one pass over the rows; the squared
        hinge does not penalise pairs ranked correctly by a wide margin, and takes O(n log n) per
        step.
    grade_weight : {"equal", "difference"}
        The weight of a pair: the same for all, or proportional to the difference of its grades or
        times.
    standardize : float or "auto"
        γ, as for `AUCClassifier`; "auto" is ½.
    strata_weight : {"pairs", "positives", "strata"}
        For ``fit(…, strata=…)``: the weight of a stratum is proportional to its pairs, so that each
        pair counts the same; to its rows that should rank above another row of the stratum (with
        two grades, the positives); or all strata weigh the same.
    solver : str or Solver
        "auto"; "exact", "conjugate_gradient" or "coordinate_descent" for the square loss, "newton"
        for the squared hinge; or an object of one of these solvers with its settings.
    tol : float
        Optimality at which solvers stop.
    max_iter : int
        Maximum number of iterations.

    Attributes
    ----------
    coef_ : ndarray, shape (1, d)
        Coefficients for the unscaled features.
    intercept_ : ndarray, shape (1,)
        Puts the score 0 midway between the mean scores of the higher and the lower rows of pairs.
    n_iter_, solver_, objective_, optimality_, spread_
        As for `AUCClassifier`.
    strata_ : FittedStrata
        After a fit within strata: ``count``, and ``of_one_class``, the number of strata in which
        the order of no two rows is known; they are ignored.
    target_name_ : str
        The name of y, if it had one.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Rows of the same grade are not compared. A row whose event was censored at some time should rank
    below rows with an event before that time, and above none. Memory is linear in the number of
    rows: sums over pairs are computed as sums over rows sorted by grade and, for the squared hinge,
    by score. J does not change when all rows, or all rows of one stratum, are shifted.

    Times are ordered as in a proportional hazards model, which assumes more: that the ratio of
    hazards is the same at all times.

    References
    ----------
    Pahikkala et al. (2009), "An efficient algorithm for learning to rank from preference graphs",
    for the square loss. Lee & Lin (2014), "Large-scale linear RankSVM". Pölsterl, Navab &
    Katouzian (2015), "Fast training of support vector machines for survival analysis".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from aucmax import AUCRanker
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ranker = AUCRanker().fit(X[:300], y[:300])
    >>> bool(ranker.score(X[300:], y[300:]) > 0.75)
    True
    """

    def __init__(
        self,
        alpha: float = 3e-4,
        l1_ratio: float = 0.0,
        *,
        penalty: Penalty | None = None,
        coef_bounds: Any = None,
        loss: str = "square",
        grade_weight: GradeWeight = "equal",
        standardize: float | str = "auto",
        strata_weight: StrataWeight = "pairs",
        solver: str | Solver = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.coef_bounds = coef_bounds
        self.loss = loss
        self.grade_weight = grade_weight
        self.standardize = standardize
        self.strata_weight = strata_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def standardize_(self) -> float:
        """The value γ of ``standardize``."""
        return 0.5 if self.standardize == "auto" else float(self.standardize)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, strata: Any = None) -> Self:
        """Fit to rows X with degrees y.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d)
            Finite numbers, in memory.
        y : array-like, shape (n,)
            Numbers, such as grades or amounts: higher ones should rank higher. Or a structured
            array with two fields, as in scikit-survival: whether the event occurred (bool), and
            the time of the event or of censoring; earlier events should rank higher.
        sample_weight : array-like, shape (n,), optional
            Non-negative; the weight of a pair is the product of its rows' weights.
        strata : array-like, shape (n,), optional
            The stratum of each row, such as its query or site: only rows of the same stratum are
            compared.

        Raises
        ------
        ValueError
            If the order of no two rows is known, for values that are not finite, negative or
            all-zero weights, or incompatible settings. The model stays as it was.
        """
        settings = self.settings()
        with unchanged_on_error(self):
            rows, degrees, weight = self._checked(X, y, sample_weight)
            of_rows = None
            if strata is not None:
                of_rows = Strata.of(strata, len(degrees), self.strata_weight)
            problem = ComparedProblem.among(rows, degrees, weight, of_rows, self.grade_weight)
            settings = settings.named(problem.n_features, getattr(self, "feature_names_in_", None))
            if _takes_matrix(problem.n_features, settings):
                problem.moments()  # which also give the spread, so that the rows are read once
            fitted = solve(problem, settings)
            fitted.warn(stacklevel=2)
        self.__dict__.pop("strata_", None)
        self.__dict__.update(fitted.attributes)
        if of_rows is not None:
            pairs = problem.data.pairs
            without = int(np.count_nonzero(pairs.of_stratum(pairs.lead) == 0.0))
            column = strata_name(strata)
            self.strata_ = FittedStrata(len(of_rows), without, self.strata_weight, column=column)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the scores, shape (n,), as `decision_function` does.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d), or Source
            Rows.
        """
        return self.decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None, strata: Any = None) -> float:
        """Return the concordance index: the share of pairs whose scores have the right order.

        Parameters
        ----------
        X : array-like, data frame or sparse, shape (n, d)
        y, sample_weight, strata
            As for `fit`. Tied scores count half.
        """
        weighting = self.strata_weight
        return concordance(y, self.predict(X), sample_weight, strata, strata_weight=weighting).auc

    def settings(self) -> Settings:
        """Return the checked settings of a fit.

        Returns
        -------
        Settings
            The loss, the penalty, the solver and its stopping rule.

        Raises
        ------
        ValueError
            If they are incompatible.
        """
        penalty = self._penalty()
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be 'square' or 'squared_hinge'; got {self.loss!r}.")
        if self.standardize != "auto":
            number(self.standardize, "standardize", high=1.0)
        tol = number(self.tol, "tol", open_low=True)
        number(self.max_iter, "max_iter", low=1, whole=True)
        check_grade_weight(self.grade_weight)
        check_strata_weight(self.strata_weight)
        goal = NamedLoss(self.loss)
        solver = None if self.solver == "auto" else get_solver(self.solver)
        _check_solver(solver, goal.objective(ANY_ROWS, penalty))
        return Settings(goal, penalty, solver, self.standardize_, tol, self.max_iter)

    def check_state(self) -> None:
        super().check_state()
        self.settings()

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Degrees, Any]:
        """Return checked rows, degrees and weights, and record the names of the columns."""
        refuse_collections(X)
        if isinstance(opened(X)[0], Source):
            raise ValueError(
                "AUCRanker needs all rows in memory, as each is compared with all others; give an "
                "array or a data frame."
            )
        columns = columns_in(X)
        self.__dict__.pop("target_name_", None)
        if isinstance(name := getattr(y, "name", None), str):
            self.target_name_ = name
        required = {} if y is not None else {"y": None}  # which raises scikit-learn's error
        X = validate_data(
            self, X, **required, accept_sparse="csr", dtype=[np.float64, np.float32],
            ensure_all_finite=False, ensure_min_samples=2,
        )  # fmt: skip
        self.columns_ = columns
        refuse_sizes(X, True, type(self).__name__)
        degrees = Degrees.of(y)
        check_consistent_length(X, degrees.value)
        weight = sample_weights(sample_weight, len(degrees))
        check_some_weight(weight)
        return as_rows(X), degrees, weight


def _takes_matrix(d: int, settings: Settings) -> bool:
    """Return whether a fit needs the matrix of all moments, or is no faster without it."""
    if not settings.goal.by_moments:
        return d <= MAX_CHEAP_MATRIX_FEATURES
    return d <= MAX_MATRIX_FEATURES or "l2" not in settings.penalty.offers


def _check_solver(solver: Solver | None, objective: Objective) -> None:
    """Raise ValueError, listing suitable solvers, unless the solver supports the objective."""
    if solver is None:
        if pick(objective) is None:
            raise ValueError(
                f"no solver takes loss={objective.loss.name!r} with {objective.penalty.setting}; "
                "use loss='square', which takes every penalty."
            )
        return
    reason = solver.unfit(objective)
    if isinstance(solver, StochasticSolver):
        reason = "learns from one row after another"
    if reason is not None:
        fits = map(repr, batch_solvers(objective))
        raise ValueError(
            f"the solver {solver.name!r} does not take AUCRanker(loss={objective.loss.name!r}) "
            f"with {objective.penalty.setting}: it {reason}; these do: {', '.join(fits)}."
        )
    solver.check()
