"""AUCClassifierCV: a linear ranking with its settings chosen by cross-validation."""

import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from aucmax.basics.checks import number
from aucmax.basics.progress import working
from aucmax.data.labelled import Labelled
from aucmax.data.rows.source import Source, opened, opened_with_labels
from aucmax.data.rows.threads import one_blas_thread
from aucmax.data.strata import Strata, StrataWeight, check_strata_weight
from aucmax.estimators.centres import Centres
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.fitting import posed, problem_of, solve
from aucmax.estimators.folds import FOLDS, Folding, Pairs, check_enough_to_hold_out
from aucmax.estimators.labelling import (
    input_names,
    labelled_rows,
    restore_names,
    unchanged_on_error,
)
from aucmax.estimators.linear import LinearScorer
from aucmax.estimators.named_loss import NamedLoss, check_likelihood, check_within
from aucmax.estimators.probabilities import CALIBRATIONS, calibrate_folds
from aucmax.estimators.scoring import (
    METRICS,
    Metric,
    Scoring,
    auc_within,
    interval_of_tests,
    scoring_of,
)
from aucmax.estimators.selection import (
    Grid,
    alpha_grid,
    penalty_of,
    takes,
    usual_alpha,
    within_of,
)
from aucmax.estimators.strata import fitted_strata
from aucmax.estimators.table import Judge, SearchProgress, Table
from aucmax.estimators.tuning import fold_moments, tune, warn_of
from aucmax.metrics import AUCInterval
from aucmax.metrics.folded import interval_of_folds
from aucmax.objective import MAX_MATRIX_FEATURES
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2, Bounded
from aucmax.objective.problem import RowsProblem
from aucmax.statistics.moments import ClassMoments

__all__ = ["AUCClassifierCV"]

_OF_THE_BEST = (
    "coef_", "intercept_", "n_iter_", "solver_", "objective_", "optimality_", "calibration_",
    "strata_",
)  # fmt: skip


class AUCClassifierCV(LinearScorer):
    """`AUCClassifier` with its settings chosen by cross-validation, for the AUC or another score.

    Each combination of settings is fitted on every training part and scored on the held-out part;
    the one with the best mean score is refitted on all rows. One warning lists the combinations
    that no solver supports.

    With ``alphas``, every combination of loss, `standardize`, l1_ratio and α is tried. Without, the
    search begins with the first of ``losses``, every `standardize` and l1_ratio, and the usual α
    for that many rows, with a decade to each side. It tries neighbours of the best α until both
    have been tried or promise too little, then the other losses with the best settings, and again
    the neighbours of the best α. So it tries some fifteen of up to seventy-two combinations, with
    no measurable loss of AUC (docs/choosing.md).

    Parameters
    ----------
    alphas : array-like of float, optional
        All α to try. None is a grid of half-decades that depends on the data and `standardize`,
        and is shorter with fewer rows in the rarer class. On it the choice leans towards the usual
        α for that many rows if the folds cannot tell them apart: an α that is x decades away must
        be better by 0.1·x² standard deviations of a fold. Among ties the largest α wins.
    l1_ratios : sequence of float
        ρ to try, each in [0, 1].
    losses : sequence of str
        Losses to try, in this order: the square loss costs least.
    within : "auto" or sequence of float
        τ to try with the square and the logistic loss, each in [0, 1] or "pooled"; the logistic
        loss leaves out 0 and 1. "auto" is ½, which suits the AUC; with the other three criteria
        below it also tries "pooled", .05 and .2, which suit low false-positive rates.
    strata_weight : {"positives", "pairs", "strata"}
        The weighting of strata, as for `AUCClassifier`; with strata τ is ½.
    scoring : str or callable
        The criterion: "auc", with strata the AUC within them; "partial_auc" or "recall_at_fpr",
        for false-positive rates up to ``max_fpr``; "average_precision"; all four as in
        `aucmax.metrics`. Or a scorer of scikit-learn: a name in
        ``sklearn.metrics.get_scorer_names()``, which gets 1 for the positive label and 0 for the
        other, or ``scorer(estimator, X, y)``, which gets the original labels. Larger scores are
        better.
    max_fpr : float, optional
        In (0, 1], for "partial_auc" and "recall_at_fpr".
    standardize : sequence of float
        γ to try, each in [0, 1].
    cv : "auto", int, splitter or iterable
        As in scikit-learn: a number of stratified folds, in the order of the rows, a splitter, or
        (train, test) pairs of row indices. A splitter for groups gets them from
        ``fit(X, y, groups=…)``.
        "auto" is five folds of shuffled rows, fewer if a class has fewer than five rows; drawn four
        times if a class has fewer than 100. Groups stay together, rows of weight 0 are left out.
        For rows ordered by time use a splitter such as ``TimeSeriesSplit``.
    n_jobs : int, optional
        Number of folds to solve in parallel, on threads; -1 is one per core.
    coef_bounds, tol, max_iter
        As for `AUCClassifier`, for every cell and the refit; folds use ten times ``tol``.
    positive : label, optional
        The label to rank first; by default the larger of the two, as for `AUCClassifier`.
    probability : bool or {"sigmoid", "isotonic"}
        Whether to provide `predict_proba`, by calibrating the chosen model's scores on the held-out
        scores of the folds. True is isotonic regression if at least a thousand rows of each class
        were held out, and Platt's sigmoid otherwise. Nothing else changes.
    verbose : int
        Show a progress bar, on a terminal.
    callback : callable, optional
        Called with a `SearchProgress` (``what``, ``done``, ``total``, ``best``, the scores so far)
        before every path of α, on the thread that solves it, and before the refit. Dropped when
        the model is saved.

    Attributes
    ----------
    alpha_, l1_ratio_, loss_, within_, standardize_
        The chosen settings.
    best_score_ : float
        Their mean held-out score, the AUC unless ``scoring`` is set. As a maximum over the grid it
        is biased upwards. For an unbiased figure, score rows that were not used.
    auc_path_ : ndarray, shape (folds, losses, standardize, l1_ratios, alphas)
        Held-out scores by ``scoring``, weighted by ``sample_weight`` where the scorer takes
        weights; NaN if a combination was not tried. The square and the logistic loss occur
        once for each τ.
    losses_ : list of (loss, τ)
        The entries along the axis of losses.
    alphas_ : ndarray, shape (losses, standardize, alphas)
        The α of the grid, ascending. To try them all, pass them as ``alphas``.
    best_interval_ : AUCInterval
        ``(auc, low, high, std_error)``, see `metrics.cv_auc_interval`: the mean held-out AUC of the
        chosen settings and its 95 % interval, over the folds that hold out both classes. It covers
        the AUC of settings fixed in advance; like ``best_score_`` it is biased upwards if
        the settings are the best of several.
    held_out_ : list of ndarray
        For each fold, the scores w·x of its held-out rows with the chosen settings, w fitted to its
        training part. Dropped when the model is saved.
    best_estimator_ : AUCClassifier
        Fitted to all rows.
    calibration_ : callable
        With ``probability``: the map from scores to probabilities of ``classes_[1]``, a `Sigmoid`
        (``slope``, ``intercept``) or `Isotonic` (``scores``, ``probabilities``).
    coef_, intercept_, classes_, n_iter_, solver_, objective_, optimality_
        Those of ``best_estimator_``.
    strata_ : FittedStrata
        After a fit within strata: those of ``best_estimator_``, as for `AUCClassifier`.

    Notes
    -----
    If the square loss is among ``losses``, a training part with more than half of the rows, at
    least ten per feature and effectively a hundred of each class is fitted by Newton steps from the
    optimum of all rows, mostly one or two, until the result is within ``tol``; the error of a step
    is about the square of how far the held-out rows move the optimum (Wilson, Kasy & Mackey 2020,
    "Approximate cross-validation: guarantees for model assessment and selection"). All others are
    fitted from scratch. If all parts are such, ``scoring`` is "auc" and there is no l1 part, a loss
    is left out that ranks all rows worse than another one tried in the same round, by more than the
    standard deviation over the folds of the differences between cells: NaN in ``auc_path_``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from aucmax import AUCClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = AUCClassifierCV(losses=("square",)).fit(X, y)
    >>> bool(clf.best_score_ > 0.98)
    True
    """

    strata_weight: StrataWeight = "positives"  # models in files of earlier versions have none
    # groups are for the splitter, never for the estimator itself
    __metadata_request__fit: ClassVar = {"groups": UNUSED}

    def __init__(
        self,
        alphas: Any = None,
        l1_ratios: Sequence[float] = (0.0,),
        losses: Sequence[str] = ("square", "squared_hinge", "logistic"),
        standardize: Sequence[float] = (0.5, 1.0),
        cv: Any = "auto",
        n_jobs: int | None = None,
        *,
        within: Sequence[float | str] | str = "auto",
        strata_weight: StrataWeight = "positives",
        scoring: str | Callable[..., float] = "auc",
        max_fpr: float | None = None,
        coef_bounds: Any = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        positive: Any = None,
        probability: bool | str = False,
        verbose: int = 0,
        callback: Callable[[SearchProgress], object] | None = None,
    ) -> None:
        self.alphas = alphas
        self.l1_ratios = l1_ratios
        self.losses = losses
        self.standardize = standardize
        self.cv = cv
        self.n_jobs = n_jobs
        self.within = within
        self.strata_weight = strata_weight
        self.scoring = scoring
        self.max_fpr = max_fpr
        self.coef_bounds = coef_bounds
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.probability = probability
        self.verbose = verbose
        self.callback = callback

    def __getstate__(self) -> Any:
        # a callback may hold anything; a generator of splits is exhausted after the fit
        unsaved = {"callback": None, **({"cv": None} if isinstance(self.cv, Iterator) else {})}
        state = {**super().__getstate__(), **unsaved}
        state.pop("held_out_", None)  # as many numbers as there were rows
        return state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
    ) -> Self:
        """Tune and refit.

        Parameters
        ----------
        X, y, sample_weight
            As for `AUCClassifier.fit`; the weights also apply to the held-out scores. For a
            `Source` the criterion is a metric of its scores, not a scorer that sees its rows.
        groups : array-like, shape (n,), optional
            By default those of `Labelled` rows. ``cv="auto"`` keeps them together; otherwise they
            are passed to the ``split`` of a splitter, such as `GroupKFold`. With
            ``enable_metadata_routing`` they are routed there, also through pipelines and
            `cross_validate`.
        strata : array-like, shape (n,), optional
            As for `AUCClassifier.fit`; the held-out AUC also compares rows only within strata. The
            folds of ``cv="auto"`` keep strata whole if there are at least as many as folds; with
            groups, rows that are linked by either stay together.

        Raises
        ------
        ValueError
            As for `AUCClassifier.fit`; also if ``cv`` needs groups and there are none, or if a
            class has only one row or one group. The model stays as it was.
        """
        self._check_settings()
        X, y, sample_weight = opened(X, y, sample_weight)
        scoring = scoring_of(self.scoring, self.max_fpr)
        in_parts = X.in_parts if isinstance(X, Labelled) else isinstance(X, Source)
        if in_parts and not isinstance(scoring, Metric):
            raise ValueError(
                f"scoring={self.scoring!r} needs the rows, but those of a Source are not in "
                f"memory; use one of {', '.join(map(repr, METRICS))}."
            )
        quiet = not self.verbose
        with one_blas_thread(), unchanged_on_error(self), working("tuning", quiet=quiet) as stage:
            rows = labelled_rows(self, X, y, sample_weight, strata=strata).without_zeros()
            within = rows.coded_strata and rows.coded_strata.weighed(self.strata_weight)
            if groups is not None:
                rows = replace(rows, groups=np.asarray(groups))
            folds = self._folds(rows)
            self._check_folds(folds, rows)
            training: Sequence[ClassMoments | None] = [None] * len(folds)
            total = rows.statistics
            has_moments = rows.store.n_features <= MAX_MATRIX_FEATURES
            if has_moments and any(LOSSES[loss].by_moments for loss in self.losses):
                training, total = fold_moments(rows, folds, within)
            all_rows = problem_of(rows, self.strata_weight, total)
            grid, judge = self._grid(all_rows, scoring), self._judge(scoring, rows, within)
            table = Table(grid, folds, judge, partial(self._tell, stage))
            centres = Centres(all_rows, self.tol, self.max_iter, within)
            tune(table, training, centres, self.n_jobs)
            place = table.best
            if place is None:
                raise ValueError(f"scoring={self.scoring!r} gives no number for any of the cells.")
            settings, held_out = grid.settings(place), table.held_out(place)
            interval = _interval(table, held_out)
            best = self._refitted(settings, all_rows, rows, table.start)
            if self.probability:
                stage("calibrating")
                scores = table.scores_of([best.coef_[0]] * len(folds))
                final = [of_part + best.intercept_[0] for of_part in scores]
                best.calibration_ = calibrate_folds(
                    table.tests, held_out, final, rows.positive, rows.weight, self.probability
                )
        warn_of(table.messages)
        self.__dict__.update({f"{name}_": value for name, value in settings.items()})
        self.best_score_ = float(np.nanmean([of_fold[place] for of_fold in table.scores]))
        self.auc_path_, self.held_out_, self.best_interval_ = table.scores, held_out, interval
        self.best_estimator_, self.classes_ = best, rows.classes
        self.losses_ = [tuple(named) for named in grid.losses]
        self.alphas_ = np.broadcast_to(grid.alphas, (len(grid.losses), *grid.alphas.shape)).copy()
        for name in _OF_THE_BEST:
            self.__dict__.pop(name, None)
            if hasattr(best, name):  # not every fit has all of them
                setattr(self, name, getattr(best, name))
        return self

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None) -> float:
        """Return the score by which settings are chosen, ``scoring``: by default the AUC.

        scikit-learn's searches with ``scoring="roc_auc"`` do the same; `AUCClassifier.score` is the
        accuracy, as for every other classifier.

        Parameters
        ----------
        X, y, sample_weight
            Rows of both classes, their labels and weights. A `Source` has its own labels and
            weights, if no others are given, and is read twice.
        strata : array-like, shape (n,), optional
            As for `fit`: the AUC is that within strata.

        Returns
        -------
        float
            The area under the ROC curve, or the requested score.

        Raises
        ------
        ValueError
            For strata with a ``scoring`` other than the AUC.
        """
        check_is_fitted(self)
        scoring = scoring_of(self.scoring, self.max_fpr)
        if strata is not None:
            if scoring != Metric("auc"):
                raise ValueError(
                    f"scoring={self.scoring!r} compares rows across strata; leave strata out, or "
                    "use metrics.stratified_auc."
                )
            return auc_within(self.best_estimator_, X, y, sample_weight, strata)
        X, y, sample_weight = opened_with_labels(X, y, sample_weight)
        return scoring.of(self.best_estimator_, X, y, sample_weight)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata: groups to the splitter, by scikit-learn's rules.

        Returns
        -------
        MetadataRouter
            For scikit-learn.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        splitter = StratifiedGroupKFold() if self._chooses_folds() else self.cv
        # numbers of folds and pairs of row numbers take no groups; a generator would be exhausted
        if hasattr(splitter, "split") and not isinstance(splitter, str):
            to_split = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=splitter, method_mapping=to_split)
        return router

    # ---- inside --------------------------------------------------------------------------

    def _judge(self, scoring: Scoring, rows: Labelled, strata: Strata | None) -> Judge:
        """Return the judge, which scores the cells."""
        like = AUCClassifier(coef_bounds=self.coef_bounds, positive=self.positive)
        restore_names(like, input_names(self))
        like.classes_ = rows.classes
        return Judge(scoring, rows, like, strata)

    def _tell(self, stage: Any, at: SearchProgress) -> None:
        """Report the progress of the search to the progress bar and the callback."""
        if self.verbose:
            best = "" if np.isnan(at.best) else f"{at.best:.4f}"
            stage.at(at.done, at.total, at.what, best)
        if self.callback is not None:
            self.callback(at)

    def _refitted(
        self,
        settings: dict[str, Any],
        all_rows: RowsProblem,
        rows: Labelled,
        start: np.ndarray | None,
    ) -> AUCClassifier:
        """Return the chosen model, fitted to all rows."""
        shared = ("coef_bounds", "tol", "max_iter", "positive", "strata_weight")
        best = AUCClassifier(**settings, **{name: getattr(self, name) for name in shared})
        restore_names(best, input_names(self))
        named = best.settings().named(all_rows.n_features, rows.feature_names)
        fitted = solve(all_rows, named, start)
        fitted = replace(fitted, strata=fitted_strata(rows, posed(all_rows, named)))
        fitted.warn(stacklevel=3)
        if not named.goal.by_moments:  # the solver keeps no moments
            fitted = replace(fitted, statistics=None)
        best.take_over(fitted, rows.classes)
        if rows.in_parts:
            best.passes_ = rows.store.passes.count
        return best

    def _check_settings(self) -> None:
        for name, high in (("l1_ratios", 1.0), ("standardize", 1.0), ("alphas", np.inf)):
            values = getattr(self, name)
            if values is None and name == "alphas":
                continue
            if np.ndim(values) != 1 or len(values) == 0:
                raise ValueError(f"{name} must be a non-empty sequence of numbers; got {values!r}.")
            for value in np.asarray(values).tolist():
                number(value, f"each of {name}", high=high)
        if not isinstance(self.losses, (list, tuple, np.ndarray)) or not len(self.losses):
            raise ValueError(f"losses must be a non-empty sequence; got {self.losses!r}.")
        for loss in self.losses:
            if not isinstance(loss, str) or loss not in LOSSES:
                names = ", ".join(map(repr, LOSSES))
                raise ValueError(f"each of losses must be one of {names}; got {loss!r}.")
        if not (isinstance(self.within, str) and self.within == "auto"):
            if not isinstance(self.within, (list, tuple, np.ndarray)) or not len(self.within):
                raise ValueError(
                    f"within must be 'auto' or a non-empty sequence; got {self.within!r}."
                )
            for tau in self.within:
                check_within(tau, "each of within")
            if not any(LOSSES[named.loss].weighs for named in self._named_losses(self.within)):
                raise ValueError(
                    f"within={self.within!r} is for loss='square' or, between 0 and 1, 'logistic'; "
                    "add one of them to losses, or leave it at 'auto'."
                )
        number(self.tol, "tol", open_low=True)
        number(self.max_iter, "max_iter", low=1, whole=True)
        n_jobs: Any = self.n_jobs
        if n_jobs is not None and (n_jobs == 0 or not isinstance(n_jobs, Integral)):
            raise ValueError(f"n_jobs must be None or a whole number other than 0; got {n_jobs!r}.")
        check_strata_weight(self.strata_weight)
        if self.probability not in (False, True, *CALIBRATIONS):
            names = ", ".join(map(repr, CALIBRATIONS))
            raise ValueError(
                f"probability must be True, False or one of {names}; got {self.probability!r}."
            )
        missing = [
            f"loss={loss!r} with l1_ratio={float(rho):g}"
            + (" and coef_bounds" if self.coef_bounds is not None else "")
            for loss in self.losses
            for rho in self.l1_ratios
            if not takes(loss, penalty_of(1.0, rho, self.coef_bounds))
        ]
        if len(missing) == len(self.losses) * len(self.l1_ratios):
            raise ValueError(
                f"no solver takes any of the combinations: {'; '.join(missing)}; add 'square', "
                "'squared_hinge' or 'logistic' to losses."
            )
        if missing:
            warnings.warn(
                f"no solver takes {'; '.join(missing)}: these cells of auc_path_ are NaN.",
                UserWarning,
                stacklevel=3,
            )

    def _grid(self, all_rows: RowsProblem, scoring: Scoring) -> Grid:
        check_likelihood(all_rows, self.losses)
        gammas = tuple(float(g) for g in self.standardize)
        ratios, bounds = tuple(float(r) for r in self.l1_ratios), None
        if self.coef_bounds is not None:
            names = getattr(self, "feature_names_in_", None)
            box = Bounded(L2(0.0), self.coef_bounds).named(all_rows.n_features, names)
            bounds = box.coef_bounds
        automatic = (0.5,) if all_rows.strata is not None else within_of(scoring)
        taus = automatic if isinstance(self.within, str) else self.within
        losses = self._named_losses(taus)
        if self.alphas is not None:
            ascending = np.sort(np.asarray(self.alphas, dtype=np.float64))
            alphas = np.repeat(ascending[None, :], len(gammas), axis=0)
            return Grid(losses, gammas, ratios, alphas, bounds)
        alphas = np.array([alpha_grid(all_rows, gamma) for gamma in gammas])
        usual = [[usual_alpha(all_rows, gamma, named.loss) for gamma in gammas] for named in losses]
        return Grid(losses, gammas, ratios, alphas, bounds, np.array(usual))

    def _named_losses(self, taus: Sequence[float | str]) -> tuple[NamedLoss, ...]:
        return tuple(
            NamedLoss(loss, tau)
            for loss in self.losses
            for tau in (taus if LOSSES[loss].weighs else (0.5,))
            if tau == "pooled" or LOSSES[loss].takes_within(float(tau))
        )

    def _chooses_folds(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "auto"

    def _folds(self, rows: Labelled) -> Pairs:
        """Return the splits, as row numbers."""
        y, in_parts = rows.labels, rows.in_parts
        if self._chooses_folds():
            return _folds_of(_automatic_folds(rows), y, in_parts)
        if isinstance(self.cv, Iterable) and not hasattr(self.cv, "split"):
            return _folds_of(list(self.cv), y, in_parts)
        splitter = check_cv(self.cv, y, classifier=True)
        if isinstance(splitter, StratifiedKFold):
            _check_enough(y, splitter.get_n_splits())
        extra = {} if rows.groups is None else {"groups": rows.groups}
        if extra and get_config()["enable_metadata_routing"]:
            extra = process_routing(self, "fit", **extra).splitter.split
        try:
            to_split = np.zeros((len(y), 1)) if in_parts else rows.named
            pairs = list(splitter.split(to_split, y, **extra))
        except ValueError as error:
            if extra or "groups" not in str(error):
                raise
            raise ValueError(
                f"cv={self.cv!r} needs groups, one for each row: fit(X, y, groups=…)."
            ) from None
        return _folds_of(pairs, y, in_parts)

    @staticmethod
    def _check_folds(folds: Pairs, rows: Labelled) -> None:
        have, advice = "only one class", "use fewer folds or a stratified splitter."
        if rows.strata is not None:
            have, advice = "no stratum with both classes", "use fewer folds or larger strata."
        for k, (train, _) in enumerate(folds):
            if not rows.both_classes(train):
                raise ValueError(f"the training part of fold {k} holds {have}; {advice}")
        n_blind = sum(not rows.both_classes(test) for _, test in folds)
        if n_blind == len(folds):
            raise ValueError(
                f"every held-out part holds {have}, so no model can be scored; {advice}"
            )
        if n_blind:
            warnings.warn(
                f"{n_blind} of {len(folds)} held-out parts hold {have} and are left out of "
                f"the means, NaN in auc_path_; {advice}",
                UserWarning,
                stacklevel=3,
            )


def _interval(table: Table, scores: list[np.ndarray]) -> AUCInterval:
    """Return the interval of the mean AUC of the folds whose held-out parts hold both classes."""
    labelled, usable = table.judge.labelled, np.flatnonzero(table.scorable)
    strata, plain = table.judge.strata, labelled.weight is None and labelled.groups is None
    if strata is None and plain and _once(table.tests, labelled):
        parts = ((labelled.positive[table.tests[k]], scores[k]) for k in usable)
        return interval_of_folds(parts, 0.95)
    tests, held_out = ([of[k] for k in usable] for of in (table.tests, scores))
    return interval_of_tests(labelled, tests, held_out, strata)


def _once(tests: Sequence[np.ndarray], labelled: Labelled) -> bool:
    """Return whether no row is held out more than once."""
    held_out = np.zeros(len(labelled.positive), dtype=bool)
    for test in tests:
        held_out[test] = True
    return np.count_nonzero(held_out) == sum(map(len, tests))


def _folds_of(pairs: list[Any], y: np.ndarray, in_order: bool) -> Pairs:
    """Return pairs of row numbers, or of masks, as folds; raise ValueError for anything else."""
    if not pairs:
        raise ValueError("cv gives no splits; name at least one (train, test) pair.")
    folds: Pairs = []
    for k, pair in enumerate(pairs):
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise ValueError(
                f"split {k} of cv must be a pair (train, test) of row numbers; got "
                f"{reprlib.repr(pair)}."
            )
        parts = []
        for part in pair:
            rows = np.asarray(part)
            if rows.dtype == bool and rows.shape == y.shape:
                rows = np.flatnonzero(rows)
            integers = rows.ndim == 1 and len(rows) > 0 and rows.dtype.kind in "iu"
            if not (integers and rows.min() >= 0 and rows.max() < len(y)):
                raise ValueError(
                    f"split {k} of cv must hold two non-empty arrays of row numbers from 0 to "
                    f"{len(y) - 1}; got {reprlib.repr(rows.tolist())}."
                )
            dtype = np.int32 if in_order and len(y) < 2**31 else np.int64  # saves half the memory
            ordered = not in_order or bool((rows[1:] >= rows[:-1]).all())
            parts.append((rows if ordered else np.sort(rows)).astype(dtype, copy=False))
        folds.append((parts[0], parts[1]))
    return folds


def _automatic_folds(rows: Labelled) -> Pairs:
    """Return five stratified folds, or as many as possible; drawn four times if rows are few.

    Rows are shuffled, because folds of neighbouring rows would differ if the rows are sorted.
    """
    y, folding = rows.labels, Folding.of(rows)
    check_consistent_length(y, rows.groups)
    check_enough_to_hold_out(rows)
    return folding.folds(y, folding.most(y, FOLDS), 0, folding.rounds(rows.rarest))


def _check_enough(y: np.ndarray, n_folds: int) -> None:
    """Raise ValueError if a label has too few rows for this number of stratified folds."""
    labels, counts = np.unique(y, return_counts=True)
    few, label = int(counts.min()), labels.tolist()[counts.argmin()]
    if few < n_folds:
        instead = f"use cv={few}" if few > 1 else "cross-validation needs two"
        raise ValueError(
            f"rows of label {label!r}: {few}, fewer than the {n_folds} folds, each of which holds "
            f"out at least one; {instead}."
        )
