"""AUCClassifier: a linear scorer trained for the area under the ROC curve."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from aucmax.basics.checks import number
from aucmax.data.classes import two_classes
from aucmax.data.rows import Rows, as_rows
from aucmax.data.strata import Strata, StrataWeight, check_strata_weight
from aucmax.estimators.fitting import Fit, Settings, solve
from aucmax.estimators.labelling import (
    check_some_weight,
    checked,
    input_names,
    record_names,
    restore_names,
    with_names_of,
)
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.penalised import Penalised
from aucmax.estimators.scoring import auc_within
from aucmax.estimators.solved import SolvedScorer
from aucmax.estimators.strata import FittedStrata
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import ElasticNet, Penalty
from aucmax.objective.problem import (
    ANY_MOMENTS,
    ANY_ROWS,
    ANY_SKETCH,
    MomentsProblem,
    Problem,
    RowsProblem,
)
from aucmax.solvers import SOLVERS, Exact, Solver, get_solver
from aucmax.solvers.auto import pick
from aucmax.solvers.batch.leave_pair_out import leave_pair_out
from aucmax.solvers.stochastic.core import StochasticSolver
from aucmax.statistics.base import ClassStatistics
from aucmax.statistics.moments import ClassMoments

__all__ = ["AUCClassifier"]


class AUCClassifier(Penalised, SolvedScorer):
    """Linear classifier that maximises the AUC through a convex loss.

    Minimises, over w,

        J(w) = ½ · mean over pairs (x from +, x′ from −) of ℓ(w·(x − x′))
               + α [ (1−ρ)/2 ‖w‖₂² + ρ ‖w‖₁ ]

    or, with ``loss="logistic"``, half the sum of each class's mean of log(1 + exp(−y(w·x + b))), at
    the best b, in place of the mean over pairs.

    Parameters
    ----------
    alpha : float
        α ≥ 0, the strength of the penalty.
    l1_ratio : float
        ρ in [0, 1], the share of the l1 part.
    penalty : Penalty, optional
        One of `aucmax.penalties` in place of the elastic net, such as ``MCP`` or ``Weighted``;
        ``alpha`` and ``l1_ratio`` then stay at their defaults.
    coef_bounds : pair, array-like of shape (d, 2), or mapping of feature name to pair, optional
        (lower, upper) for the coefficients of all features, of each feature, or of named ones, such
        as ``(0, None)`` for a feature whose larger values must never lower the score. Bounds must
        include 0; None is no bound. For solvers that support every convex penalty.
    loss : {"square", "squared_hinge", "hinge", "logistic"}
        ℓ(t) = (1 − t)², max(0, 1 − t)² or max(0, 1 − t). The square loss needs only class
        moments; the hinges do not penalise pairs ranked correctly by a wide margin. The hinge
        supports an l2 penalty only. "logistic" is logistic regression with equal weight for both
        classes (unless ``within`` changes it) and an unpenalised intercept; its excess loss
        bounds that of the AUC (Kotłowski, Dembczyński & Hüllermeier 2011).
    within : float or "pooled"
        τ in [0, 1], for the square and the logistic loss: the weight of the positives relative to
        the negatives, of their covariance in the square loss and of the class in the logistic loss,
        which needs 0 < τ < 1. ½ suits the AUC, however few the positives; smaller values suit low
        false-positive rates. "pooled" is the positives' share of the weight: the covariance of
        Fisher's linear discriminant, or plain logistic regression.
        Stochastic solvers support ½ only. See Notes.
    standardize : float or "auto"
        γ in [0, 1]: feature j is divided by v_j^{γ/2}, with v_j its mean squared difference between
        two rows, weights included; then all are divided by one constant, so that the mean squared
        distance of two rows is 2. 0 leaves the features unscaled; 1 is, up to that constant, a
        ``StandardScaler(with_mean=False)`` in front. "auto" is ½ with a batch solver, and 0 with a
        stochastic one, which may have to continue with rows seen one by one.
    strata_weight : {"positives", "pairs", "strata"}
        For ``fit(…, strata=…)``: the weight of a stratum is proportional to its positives, so that
        each positive counts the same; to its pairs; or all strata weigh the same. See Notes.
    solver : str or Solver
        "auto", a name in `aucmax.solvers.SOLVERS`, or a solver object with its settings.
    tol : float
        Optimality at which batch solvers stop. A stochastic one stops only at its own ``tol``
        (``SPAM(tol=1e-3)``), and does not warn if its passes do not reach it.
    max_iter : int
        Maximum number of iterations of a batch solver, of epochs of a stochastic one.
    positive : label, optional
        The label to rank first; by default the larger of the two, as in scikit-learn's named
        scorers, such as "roc_auc". For two words in a file, the commands take the rarer one.
    warm_start : bool
        Start from ``coef_`` of the last fit.
    random_state : int, RandomState or None
        Orders the rows for stochastic solvers.
    verbose : int
        Print objective and optimality while solving; also records ``history_``.
    callback : callable, optional
        ``callback(progress) -> bool``, see `aucmax.solvers.Progress`; True stops. Recorded too.
        Dropped when the model is saved.

    Attributes
    ----------
    coef_ : ndarray, shape (1, d)
        Coefficients for the unscaled features.
    intercept_ : ndarray, shape (1,)
        Puts the threshold of `predict` midway between the classes' mean scores. With
        ``loss="logistic"`` it is b: 1/(1 + exp(−score)) is then the probability of the positive
        class as if both were equally frequent.
    classes_ : ndarray, shape (2,)
        The negative and the positive label, as in y: scores above 0 mean ``classes_[1]``.
    target_name_ : str
        The name of y, if it had one.
    n_iter_ : int
        Iterations, sweeps, epochs or stages of the solver.
    solver_ : str
        The name of the solver that ran.
    objective_ : float
        J at the solution, in the scaled coordinates.
    optimality_ : float
        (J − J*)/(J(0) − J*), J* the minimum: the share of the possible improvement that remains,
        bounded or estimated from above. It does not depend on the units of the features.
    standardize_ : float
        γ, if ``standardize`` is "auto".
    history_ : ndarray
        Structured: passes, seconds, objective, optimality. Empty unless ``verbose`` or
        ``callback`` is set.
    moments_ : ClassMoments, DiagonalMoments or FrequentDirections
        Set if the fit used them; `partial_fit` and `forget` continue from them. The last two types
        come from ``Exact(covariance=…)``.
    strata_ : FittedStrata
        After a fit within strata: ``count``, ``of_one_class`` (which are ignored) and, with
        ``loss="logistic"``, the numbers of strata whose likelihood is ``exact`` or, if they are too
        large for that, has ``efron``'s form.
    spread_ : ndarray, shape (d,)
        Mean squared difference of each feature between two rows, twice its variance. It makes
        coefficients of features in different units comparable. Not available after a stochastic
        `partial_fit`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    In moments the square loss is ½(1 − w·δ)² + w·(τΣ₊ + (1−τ)Σ₋)w, δ = μ₊ − μ₋, with the means μ
    and covariances Σ of the classes, and τ = ½. With any other τ it is not a mean over pairs, but
    is minimised, merged, streamed and forgotten in the same way: the difference of the means along
    w is compared with the variance τΣ₊ + (1−τ)Σ₋ (Anderson & Bahadur 1962, for two normal classes;
    Su & Liu 1993 for τ = ½). The logistic loss is (τL₊ + (1−τ)L₋)/4τ(1−τ), with L the classes'
    means of log(1 + e^(−margin)): its slope at w = 0 is the same for every τ, so ``alpha`` has the
    same meaning.

    With strata J is Σ_g ω_g · mean over the pairs within stratum g, Σ_g ω_g = 1: it does not change
    when all rows of a stratum are shifted, and v_j is twice the variance within strata. The
    intercept comes from the weighted means of the strata. The logistic loss within strata is
    conditional logistic regression: Σ_g −log L_g, divided by the number of positives, with L_g the
    probability that, given their number, the positives of stratum g are the observed ones. It is
    exact, by a recursion over the rows (Gail, Lubin & Rubinstein 1981), or has Efron's form in
    strata with more than ten million rows times positives. It requires ``within=0.5``,
    ``strata_weight="positives"``, and the same weight for all rows of a stratum.

    J does not change when all rows are shifted by one vector, nor with the class weights, unless
    ``within`` is "pooled". With ``standardize`` > 0 the solution does depend on the class weights,
    through the scale of the features: features that are rarely non-zero are scaled up, and if
    positives are rare, these may be the features that identify them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from aucmax import AUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = AUCClassifier(standardize=1.0).fit(X, y)
    >>> bool(roc_auc_score(y, clf.decision_function(X)) > 0.99)
    True
    """

    max_moment_bytes: ClassVar[int] = 10**9
    strata_weight: StrataWeight = "positives"  # models in files of earlier versions have none

    def __init__(
        self,
        alpha: float = 3e-4,
        l1_ratio: float = 0.0,
        *,
        penalty: Penalty | None = None,
        coef_bounds: Any = None,
        loss: str = "square",
        within: float | str = 0.5,
        standardize: float | str = "auto",
        strata_weight: StrataWeight = "positives",
        solver: str | Solver = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        positive: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.coef_bounds = coef_bounds
        self.loss = loss
        self.within = within
        self.standardize = standardize
        self.strata_weight = strata_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @property
    def standardize_(self) -> float:
        """The value γ of ``standardize``."""
        if not _is_auto(self.standardize):
            return float(self.standardize)
        batch = _is_auto(self.solver) or not isinstance(get_solver(self.solver), StochasticSolver)
        return 0.5 if batch else 0.0

    # ---- fitting -------------------------------------------------------------------------

    def fit_moments(self, moments: ClassStatistics) -> Self:
        """Fit to class moments, with the same result as `fit` on their rows.

        Parameters
        ----------
        moments : ClassMoments, DiagonalMoments or FrequentDirections
            Moments of exactly two classes, both with weight. The last two are for
            ``solver="exact"``, which "auto" selects.
        """
        if not isinstance(moments, ClassStatistics):
            raise ValueError(
                f"moments must be a ClassMoments; got {type(moments).__name__}. "
                "Make them with ClassMoments.from_data(X, y)."
            )
        data = ANY_MOMENTS if moments.has_covariances else ANY_SKETCH
        name = type(moments).__name__
        if moments.has_covariances:
            name = "class moments alone, without rows,"
        settings = self.settings(data, name)
        if len(moments.classes) != 2 or moments.counts.min() <= 0:
            counts = dict(zip(moments.classes.tolist(), moments.counts.tolist(), strict=True))
            raise ValueError(
                f"fit_moments needs moments of exactly two classes, each with weight; "
                f"these hold {counts}."
            )
        moments = moments.copy()
        classes, d = two_classes(moments.classes.copy(), self.positive), moments.n_features
        settings = settings.named(d, moments.feature_names)
        fitted = solve(_problem(moments, classes), settings, self._start(d))
        fitted.warn(stacklevel=2)
        self.take_over(fitted, classes)
        self.moments_ = moments
        if moments.strata is not None:
            self.strata_ = FittedStrata.of(moments.strata)
        record_names(self, moments)
        return self

    def _takes_parts(self) -> bool:
        if self._by_moments or self._learns():
            return True
        raise AttributeError(
            f"loss={self.loss!r} has no partial_fit: it needs all rows at once; use loss='square'."
        )

    @available_if(_takes_parts)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
    ) -> Self:
        """Continue with more rows.

        A batch solver adds the rows to the class moments (those of `fit` if it kept them) and
        solves again: after any number of calls the model is that of one fit to all rows. With
        ``Exact(covariance=…)`` a sketch replaces the moments. A stochastic solver takes one pass of
        steps over the rows, continuing its step counter and random state. Until rows of both
        classes have been seen, the rows are only counted and the coefficients stay 0; rows of
        weight zero change nothing.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. A stochastic solver does not normalise the weights.
        classes : array-like, shape (2,), optional
            Both labels; needed at the first call if y does not hold both.
        strata : array-like, shape (n,), optional
            As for `fit`; either all calls give whole strata, or none. Not for stochastic solvers.
        """
        return self._partial_fit(X, y, classes, sample_weight, strata)

    def forget(self, X: Any, y: Any, sample_weight: Any = None, strata: Any = None) -> Self:
        """Remove rows from the model exactly, as if they had never been seen.

        This needs the class moments: those of a fit by `Exact` or by coordinate descent on the
        matrix, of `partial_fit` with a batch solver, or of `fit_moments`.

        Parameters
        ----------
        X, y, sample_weight
            Rows the model was fitted to, with the weights they had.
        strata : array-like, shape (n,), optional
            Their strata, which must be whole, if the model was fitted within strata.

        Raises
        ------
        ValueError
            If the rows cannot all have been in the fit, because they have more weight than their
            class, or removing them would leave a feature, or a combination of features, with a
            negative variance. The model stays as it was.

        Notes
        -----
        Not all rows that were never in the fit can be detected: rows about as near to the class
        mean as the fitted rows cause no error, and the model then fits no possible set of rows.
        """
        check_is_fitted(self)
        if not hasattr(self, "moments_"):
            raise ValueError(
                f"forget needs class moments, and the solver {self.solver_!r} keeps none; fit "
                "loss='square' with solver='exact' (few features), or use fit_moments."
            )
        X, y, weight = checked(self, X, y, sample_weight, reset=False)
        check_some_weight(weight)
        rows, sign = as_rows(X), np.where(y == self._classes_of_stream(None, y)[1], 1.0, -1.0)
        empty, of_rows = self.moments_.empty([-1.0, 1.0]), self._strata_of(strata, len(y))
        gone = _measured(empty, rows, sign, weight, of_rows).relabelled(self.classes_)
        names = input_names(self)
        self.fit_moments(with_names_of(self, self.moments_ - gone))
        restore_names(self, names)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> float:
        """Return the accuracy, as every classifier does; with strata, the AUC within them.

        Parameters
        ----------
        X : array-like, shape (n, d), or Source
            A `Source` has its own labels and weights, if no others are given, and is read twice.
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
        strata : array-like, shape (n,), optional
            The stratum of each row, as for `fit`, weighted by ``strata_weight``. Scores of
            different strata are not comparable, so that one threshold for all means little.
        """
        if strata is None:
            return super().score(X, y, sample_weight)
        return auc_within(self, X, y, sample_weight, strata)

    def leave_pair_out_auc(self, X: Any, y: Any, alphas: Any = None) -> Any:
        """Return the leave-pair-out AUC of these settings in closed form, for small data.

        Each pair of a positive and a negative row is scored by the model fitted to all other rows;
        ties count half. Each fit uses all rows but two, and only scores of one model are compared.
        The estimator itself is neither fitted nor changed.

        Parameters
        ----------
        X, y
            As for `fit`, with at least two rows of each class. Rows cannot be weighted.
        alphas : array-like, shape (k,), optional
            Values to use one after another instead of ``alpha``.

        Returns
        -------
        float, or ndarray of shape (k,) for ``alphas``
            The share of pairs that are ranked correctly.

        Raises
        ------
        ValueError
            If the settings are not those of the square loss with an l2 penalty, solved to its
            optimum; if a class has one row; if α is so small that the rows without a pair may not
            determine the model; if a wide X has too many rows.

        Notes
        -----
        The result is that of exact refits, in O(n d² + n₊ n₋ d), or O(n² d + n³) with more
        features than rows. The scale of the features is fixed: ``standardize`` takes it from all
        rows, without their labels. The best AUC over many α is biased upwards, as in every search.

        References
        ----------
        Airola, Pahikkala, Waegeman, De Baets & Salakoski (2011), "An experimental comparison of
        cross-validation techniques for estimating the area under the ROC curve".

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from aucmax import AUCClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> auc = AUCClassifier().leave_pair_out_auc(X[:60], y[:60])
        >>> bool(0.9 < auc < 1.0)
        True
        """
        settings = self.settings()
        penalty, solver = settings.penalty, settings.solver
        sketch = isinstance(solver, Exact) and solver.covariance != "full"
        if reason := Exact().unfit(settings.goal.objective(ANY_ROWS, penalty)):
            raise ValueError(f"leave-pair-out has no closed form here: it {reason}.")
        if isinstance(solver, StochasticSolver) or sketch:
            raise ValueError(
                f"leave-pair-out needs the optimum, which solver={self.solver!r} does not "
                "reach; use solver='auto'."
            )
        tried = np.array([penalty.l2]) if alphas is None else np.asarray(alphas)
        if tried.ndim != 1 or len(tried) == 0:
            raise ValueError(f"alphas must be a non-empty sequence of numbers; got {alphas!r}.")
        for alpha in tried.tolist():
            number(alpha, "each of alphas")
        names = input_names(self)
        try:
            X, y, _ = checked(self, X, y, None, reset=True, whole=True)
            classes = two_classes(np.unique(y), self.positive)
        finally:
            restore_names(self, names)
        sign = np.where(y == classes[1], 1.0, -1.0)
        problem = RowsProblem.of(as_rows(X), sign).scaled(settings.standardize)
        tau: Any = self.within
        if tau == "pooled":  # of the remaining rows
            tau = (problem.n_pos - 1) / (problem.n_samples - 2)
        aucs = leave_pair_out(problem.weighing(tau), tried)
        return float(aucs[0]) if alphas is None else aucs

    # ---- inside --------------------------------------------------------------------------

    def _strata_of(self, strata: Any, n: int) -> Strata | None:
        coded = super()._strata_of(strata, n)
        return None if coded is None else coded.weighed(self.strata_weight)

    def take_over(self, fitted: Fit, classes: np.ndarray) -> None:
        super().take_over(fitted, classes)
        if fitted.statistics is not None:
            self.moments_ = with_names_of(self, fitted.statistics.relabelled(classes))

    def settings(self, data: Problem = ANY_ROWS, data_name: str = "") -> Settings:
        """Return the checked settings of a fit.

        Parameters
        ----------
        data : Problem
            The data, or a stand-in with their properties.
        data_name : str
            The name of the data in messages, if they have no rows.

        Returns
        -------
        Settings
            The loss, the penalty, the solver and its stopping rule.

        Raises
        ------
        ValueError
            If loss, penalty, solver and data are incompatible.
        """
        penalty = self._penalty()
        if not _is_auto(self.standardize):
            number(self.standardize, "standardize", high=1.0)
        tol = number(self.tol, "tol", open_low=True)
        number(self.max_iter, "max_iter", low=1, whole=True)
        check_strata_weight(self.strata_weight)
        goal = NamedLoss(self.loss, self.within)
        goal.check()
        solver = None if _is_auto(self.solver) else get_solver(self.solver)
        if solver is not None and "alpha" in solver.own:
            self._no_penalty(solver)
        self._check_fit(solver, penalty, data, data_name)
        if solver is not None:
            solver.check()
        return Settings(
            goal, penalty, solver, self.standardize_, tol, self.max_iter, self.random_state,
            self.verbose, self.callback, self.strata_weight,
        )  # fmt: skip

    def _check_fit(
        self, solver: Solver | None, penalty: Penalty, problem: Problem, subject: str
    ) -> None:
        """Raise ValueError, listing suitable solvers, unless the solver supports the settings."""
        loss = NamedLoss(self.loss, self.within)
        goal = loss.objective(problem, penalty)
        if solver is None:
            if pick(goal) is not None:
                return
            refusal, cause = "no solver takes", ""
        else:
            reason = solver.unfit(goal)
            if reason is None:
                return
            refusal, cause = f"the solver {solver.name!r} does not take", f": it {reason}"
        task = ", ".join([f"loss={self.loss!r}", *self._set("within")])
        task += f" with {penalty.setting}"
        if subject and (solver is None or solver.unfit(loss.objective(ANY_ROWS, penalty)) is None):
            task = f"{subject} for {task}"
        fits = [name for name, cls in SOLVERS.items() if not cls.own and cls().unfit(goal) is None]
        instead = (
            f"these do: {', '.join(map(repr, fits))}"
            if fits
            else "use loss='square' (every penalty, from rows or moments; l1_ratio=0 from "
            "sketches), 'squared_hinge' or 'logistic' (convex ones, from rows) or 'hinge' "
            "(l1_ratio=0, rows)"
        )
        raise ValueError(f"{refusal} {task}{cause}; {instead}.")

    def _accumulated(
        self,
        rows: Rows,
        sign: np.ndarray,
        weight: np.ndarray | None,
        strata: Strata | None,
        classes: np.ndarray,
    ) -> tuple[Fit, dict[str, Any]]:
        """Return the fit of a batch `partial_fit`, and the moments it is computed from."""
        settings, d = self.settings(), self.n_features_in_
        solver, goal = settings.solver, settings.goal.objective(ANY_MOMENTS, settings.penalty)
        if solver is not None and (reason := solver.unfit(goal)):
            raise ValueError(f"the solver {solver.name!r} has no partial_fit: it {reason}.")
        empty = solver.empty(classes) if isinstance(solver, Exact) else ClassMoments(classes)
        self._check_size(empty, d)
        previous = getattr(self, "moments_", None)
        moments = empty if previous is None else empty.taken_from(previous)
        if strata is None:
            moments.add_rows(rows, classes[(sign > 0).astype(int)], weight)
        else:
            addition = empty.empty([-1.0, 1.0]), rows, sign, weight, strata
            moments = moments + _measured(*addition).relabelled(classes)
        with_names_of(self, moments)
        if moments.counts.min() > 0:
            fitted = solve(_problem(moments, classes), self._named(settings), self._start(d))
        else:
            fitted = Fit.of_no_rows(d, "exact" if solver is None else solver.name)
        if moments.strata is None:
            return fitted, {"moments_": moments}
        return fitted, {"moments_": moments, "strata_": FittedStrata.of(moments.strata)}

    @property
    def _by_moments(self) -> bool:
        """Whether the loss needs only class moments; False for an unknown loss."""
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else None
        return loss is not None and loss.by_moments

    def _learns(self) -> bool:
        """Whether the solver continues with more rows by steps, and supports the loss."""
        try:
            solver = get_solver(self.solver)
        except ValueError:  # "auto", or no solver at all, which raises when it is used
            return False
        if not isinstance(solver, StochasticSolver) or self.loss not in LOSSES:
            return False
        goal = NamedLoss(self.loss, self.within).objective(ANY_ROWS, ElasticNet(0.0))
        return solver.unfit(goal) is None

    def _no_penalty(self, solver: Solver) -> None:
        """Raise ValueError if a penalty is set for a solver with a constraint of its own."""
        defaults = AUCClassifier()
        if settings := self._set("alpha", "l1_ratio", "penalty", "coef_bounds"):
            setting = solver.own["alpha"]
            raise ValueError(
                f"the solver {solver.name!r} has {setting} instead of a penalty "
                f"and takes no {' or '.join(settings)}: leave alpha at {defaults.alpha:g}, "
                f"l1_ratio at {defaults.l1_ratio:g}, penalty and coef_bounds at None, and set "
                f"solver=solvers.{type(solver).__name__}({setting}=…)."
            )

    def _check_size(self, empty: ClassStatistics, d: int) -> None:
        """Raise ValueError if the moments of d features would not fit in memory."""
        size = empty.nbytes(d)
        if size > self.max_moment_bytes:
            raise ValueError(
                f"partial_fit with a batch solver keeps {type(empty).__name__} of {d} features, "
                f"{size / 1e9:.1f} GB, more than max_moment_bytes "
                f"({self.max_moment_bytes / 1e9:g} GB); use solver='spam', which keeps O(d), "
                "Exact(covariance='diagonal'), a low rank of 'frequent_directions', or raise "
                "AUCClassifier.max_moment_bytes."
            )


def _is_auto(setting: Any) -> bool:
    return isinstance(setting, str) and setting == "auto"


def _measured(
    empty: ClassStatistics,
    rows: Rows,
    sign: np.ndarray,
    weight: np.ndarray | None,
    strata: Strata | None,
) -> ClassStatistics:
    """Return statistics of rows, within their strata if they have any."""
    if strata is None:
        return empty.add_rows(rows, sign, weight)
    return empty.add_strata(rows, sign, weight, strata)


def _problem(moments: ClassStatistics, classes: np.ndarray) -> MomentsProblem:
    """Return a problem with only these moments; the last class is positive."""
    strata, positive = moments.strata, classes.tolist()[1]
    if strata is not None and strata.weighting == "positives" and strata.positive != positive:
        raise ValueError(
            f"these moments weight strata by the rows of label {strata.positive!r}, but "
            f"{positive!r} is positive; swap the labels, or use strata_weight='pairs'."
        )
    if classes[1] != moments.classes[1]:
        moments = moments.relabelled([1.0, -1.0])
    return MomentsProblem(moments)
