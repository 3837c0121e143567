"""HingeClassifier: a linear classifier fitted by stochastic learners of the hinge loss."""

from collections.abc import Callable
from typing import Any, Self

from sklearn.base import clone

from aucmax.basics.checks import number
from aucmax.estimators.fitting import Settings
from aucmax.estimators.named_loss import HingeLoss
from aucmax.estimators.solved import SolvedScorer
from aucmax.objective.penalties import ElasticNet
from aucmax.objective.problem import ANY_ROWS
from aucmax.solvers import ACCURACY_SOLVERS, Solver, get_solver

__all__ = ["HingeClassifier"]

_TOL = 1e-4  # default for solvers that measure their own optimality


class HingeClassifier(SolvedScorer):
    """Linear classifier that minimises the hinge loss, as a support vector machine does.

    Minimises, over w and without an intercept,

        F(w) = mean over rows of max(0, 1 − y w·x) + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ],    ρ = 0 or 1.

    Parameters
    ----------
    alpha : float
        α ≥ 0, the strength of the penalty. The SADMM paper writes λ‖w‖₂² and λ‖w‖₁: its λ is α/2
        with l2, and α with l1.
    l1_ratio : float
        ρ: 1 for l1, 0 for l2.
    solver : str or Solver
        A name in `aucmax.solvers.ACCURACY_SOLVERS`, or a solver object with its settings.
        "pegasos" supports l2 only.
    tol : float, optional
        Optimality at which to stop, measured after each epoch; None never stops. The solver's own
        ``tol`` takes precedence.
    max_iter : int
        Maximum number of epochs, besides the solver's ``n_epochs``.
    positive : label, optional
        The label to rank first; by default the larger of the two.
    warm_start : bool
        Start from ``coef_`` of the last fit.
    random_state : int, RandomState or None
        Orders the rows.
    verbose : int
        Print objective and optimality after every epoch; also records ``history_``.
    callback : callable, optional
        ``callback(progress) -> bool``, see `aucmax.solvers.Progress`; True stops. Recorded too.
        Dropped when the model is saved.

    Attributes
    ----------
    coef_ : ndarray, shape (1, d)
    intercept_ : ndarray, shape (1,)
        0: there is no intercept. To have one, append a constant feature to the rows.
    classes_ : ndarray, shape (2,)
        The negative and the positive label, as in y: scores above 0 mean ``classes_[1]``.
    target_name_ : str
        The name of y, if it had one.
    n_iter_ : int
        Epochs.
    solver_ : str
        The name of the solver that ran.
    objective_ : float
        F at the solution.
    optimality_ : float
        (F(w) − F*)/(F(0) − F*), bounded or estimated from above.
    history_ : ndarray
        Structured: passes, seconds, objective, optimality. Empty unless ``verbose`` or
        ``callback`` is set.
    spread_ : ndarray, shape (d,)
        Mean squared difference of each feature between two rows, twice its variance. It makes
        coefficients of features in different units comparable. Not available after a stochastic
        `partial_fit`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from aucmax import HingeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> bool(HingeClassifier(alpha=0.01, random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        alpha: float = 1e-4,
        l1_ratio: float = 1.0,
        *,
        solver: str | Solver = "sadmm",
        tol: float | None = None,
        max_iter: int = 1000,
        positive: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take one pass of steps over more rows, continuing the step counter and random state.

        Rows of a single class also cause steps; rows of weight zero change nothing.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; the weights are not normalised.
        classes : array-like, shape (2,), optional
            Both labels; needed at the first call if y does not hold both.
        """
        return self._partial_fit(X, y, classes, sample_weight)

    # ---- inside --------------------------------------------------------------------------

    def settings(self) -> Settings:
        number(self.alpha, "alpha")
        number(self.l1_ratio, "l1_ratio", high=1.0)
        number(self.max_iter, "max_iter", low=1, whole=True)
        solver = get_solver(self.solver, ACCURACY_SOLVERS)
        if self.tol is not None:
            number(self.tol, "tol", open_low=True)
            if solver.get_params().get("tol", self.tol) is None:
                solver = clone(solver).set_params(tol=self.tol)
        goal = HingeLoss()
        l1, penalty = ElasticNet(self.alpha, 1.0), ElasticNet(self.alpha, self.l1_ratio)
        fits = [
            name
            for name, cls in ACCURACY_SOLVERS.items()
            if cls().unfit(goal.objective(ANY_ROWS, l1)) is None
        ]
        choices = f"l1_ratio=1 goes with {', '.join(map(repr, fits))}, l1_ratio=0 with every solver"
        if self.l1_ratio not in (0, 1):
            raise ValueError(
                f"l1_ratio must be 0 (l2) or 1 (l1) in HingeClassifier; got {self.l1_ratio!r}: "
                f"{choices}."
            )
        reason = solver.unfit(goal.objective(ANY_ROWS, penalty))
        if reason is not None:
            raise ValueError(
                f"the solver {solver.name!r} {reason}; got l1_ratio={self.l1_ratio!r}: {choices}."
            )
        solver.check()
        return Settings(
            goal, penalty, solver, tol=_TOL if self.tol is None else self.tol,
            max_iter=self.max_iter, random_state=self.random_state, verbose=self.verbose,
            callback=self.callback,
        )  # fmt: skip
