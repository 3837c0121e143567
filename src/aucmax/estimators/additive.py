"""AdditiveAUCClassifier: a sum of curves of single columns and maps of pairs, tuned for the AUC."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from aucmax.basics.checks import number, sample_weights
from aucmax.basics.progress import working
from aucmax.columns.additive import AdditiveFeatures, relevance
from aucmax.columns.monotone import monotone_scores
from aucmax.data.labelled import Labelled
from aucmax.data.rows.source import Source, opened
from aucmax.data.rows.threads import one_blas_thread
from aucmax.data.strata import Strata, StrataWeight, check_strata_weight, strata_name
from aucmax.estimators.additive_moments import Prior
from aucmax.estimators.additive_search import (
    LEADING_SHARE,
    SHAPES,
    Cell,
    CurveRows,
    Grid,
    Part,
    Screening,
    Walk,
    simplest,
)
from aucmax.estimators.card import ShownEstimator
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.fitting import Fit, Settings, problem_of
from aucmax.estimators.folds import FOLDS, Folding, Pairs, check_enough_to_hold_out
from aucmax.estimators.labelling import labelled_rows
from aucmax.estimators.linear import gives_probabilities
from aucmax.estimators.many_rows import ManyRows, labelled_table
from aucmax.estimators.named_loss import NamedLoss, check_likelihood
from aucmax.estimators.pair_rows import ScoredPairs, sums_of
from aucmax.estimators.probabilities import calibrate_folds
from aucmax.estimators.sampled import weight_of_all
from aucmax.estimators.scoring import (
    METRICS,
    Metric,
    auc_within,
    interval_of_tests,
    scoring_of,
)
from aucmax.estimators.straight import line_suffices
from aucmax.estimators.strata import strata_behind
from aucmax.estimators.tuning import warn_of
from aucmax.estimators.written_steps import as_text, first_difference
from aucmax.objective.losses import LOSSES
from aucmax.objective.penalties import L2
from aucmax.objective.penalties.cone import L2Cone
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.pair_sums import PairSums
from aucmax.statistics.pairs import all_pairs

__all__ = ["AdditiveAUCClassifier"]

_COUNTS = (0, 2, 5, 10, 20, 40, 80, 160, 320, 640)  # numbers of pairs to try
_MAX_FEATURES = 3000  # of a model whose pairs are chosen by the search
_KNOTS = (33, 17, 9, 5, 3)  # of a curve: each adds a knot between any two knots of the next
_MAX_HATS = 2000  # of all curves together
_PAIRS_AT_A_TIME = 200
_OF_FIT = ("classes_", "n_iter_", "solver_", "objective_", "optimality_")
_OF_LAST = ("positive", "tol", "max_iter", "strata_weight")  # settings of the model of features
_HALF_DECADES = (-8, 6)  # of α, from the usual one


class LeftOut(NamedTuple):
    """A pair of columns without a map, and the most by which a map could lower the objective."""

    columns: tuple[str, str]
    bound: float


class AdditiveAUCClassifier(ClassifierMixin, ShownEstimator):
    """A ranking by a sum of curves of columns and of maps of pairs of columns, tuned for the AUC.

    s(x) = Σ_j f_j(x_j) + Σ_ij f_ij(x_i, x_j). Numbers have curves; each word, yes or no has its own
    level, shrunk if it is rare; gaps have their own value. Cross-validation chooses between lines,
    curves, and curves with pairs, an α for each, and the number of pairs. It takes the simplest of
    the three shapes whose mean held-out score is within one standard error of the best.

    With `monotone`, the score only rises, or only falls, with some columns, whatever the values of
    the other columns, maps included. This holds for all fits, also those to the folds.

    Pairs are screened in each training part, by how much a map added to the fitted curves lowers
    the square loss. Once the first maps are fitted, the gains of the other pairs are computed again
    for a further round, and so on. After the fit, maps have mean zero along each of their columns,
    over the rows of the fit: what depends on one column alone is in its curve.

    Parameters
    ----------
    interactions : "auto", int or sequence of (str or int, str or int)
        The pairs with maps: as many as the folds support, at most this number (0 for none), or
        exactly these. The search chooses only as many as fit into a model of 3,000 features.
    monotone : mapping of str or int to {1, −1}, optional
        Columns of numbers, yes/no or dates, by name or position; 1 if the score must not fall as
        the column rises, −1 if it must not rise. Gaps are not compared with numbers, and of a date
        only the day counts, not the weekday or the time of day. The model then has at most 3,000
        features.
    losses : sequence of {"square", "squared_hinge", "logistic"}
        Losses to try. The other settings are chosen with the first; the rest are tried at the best.
    alphas : array-like of float, optional
        The α to try for lines, curves and pairs; by default half-decades around one that suits most
        data, towards which the choice leans as in `AUCClassifierCV`.
    focus : array-like of float
        Powers to try. The prior variance of a term is proportional to a power of how much the term
        alone lowers the square loss: terms that explain more are shrunk less. 0 treats all alike.
    shape : {"auto", "line", "curves", "interactions"}
        The shape of the model; by default cross-validation chooses it.
    cv : "auto", int or iterable of (train, test)
        A number of stratified folds, or pairs of row numbers; "auto" as for `AUCClassifierCV`.
    scoring, max_fpr, probability, positive, tol, max_iter, strata_weight
        As for `AUCClassifierCV`; ``scoring`` must be a metric.
    n_knots : int, optional
        Maximum number of knots of a curve; by default 33, fewer with more than 60 columns.
    map_knots : int
        Maximum number of knots along a column of a map.
    search_rows : int
        With more rows than this, or a source, all settings are chosen on a sample of this size:
        about as many rows of each class, or all of the rarer class and at most five times as many
        others. All rows then confirm the pairs, and the model is fitted to all. With strata, rows
        in memory are not sampled; the sample of a source has whole strata and chooses the pairs.
    verbose : int
        Show progress, on a terminal.

    Attributes
    ----------
    shape_ : {"line", "curves", "interactions"}
        The chosen shape.
    interactions_ : list of (str, str)
        The pairs that have a map, by the names of their columns, in the order in which they were
        chosen: round by round, the largest gain first.
    gains_ : ndarray, shape (number of pairs,)
        How much the map of each pair alone lowers the square loss, without `monotone`, if it is
        added to the fitted curves and the maps of earlier rounds.
    loss_ : str
    alphas_ : ndarray, shape (3,)
        The chosen α of lines and levels, of curves, and of pairs; the usual α for a kind that the
        model lacks. The α of a term is divided by its ``relevance_`` in `AdditiveFeatures`.
    best_score_, best_interval_
        As for `AUCClassifierCV`.
    shape_scores_ : dict of str to ndarray, shape (folds,)
        The held-out scores of the best line and, if tried, of the best models with curves and with
        pairs. Neither is tried if no curve and no pair explains more of the labels than chance
        would; pairs are not tried if maps added one by one do not raise the held-out scores enough.
    focus_ : float
        The chosen power.
    auc_path_ : ndarray, shape (folds, losses, k, k + 1, counts, k, powers)
        Held-out scores by loss, α of lines, α of curves (no curves first), number of pairs, α of
        pairs, focus; NaN if a combination was not tried.
    best_estimator_ : Pipeline
        `AdditiveFeatures`, and the `AUCClassifier` of its features.
    classes_, optimality_, objective_, n_iter_, solver_
        Those of that `AUCClassifier`; the objective is in the coordinates in which all α are 1.
    strata_
        After a fit within strata, as in `AUCClassifier`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    Lou, Caruana, Gehrke & Hooker (2013), "Accurate intelligible models with pairwise interactions".
    Wood (2017), "Generalized additive models".
    Goeman, van de Geer & van Houwelingen (2006), "Testing against a high dimensional alternative",
    for whether a line is enough.
    Grandvalet & Canu (1998), "Outcomes of the equivalence of adaptive ridge with least absolute
    shrinkage", for prior variances that depend on the data.
    Ramsay (1988), "Monotone regression splines in action".

    Examples
    --------
    >>> import numpy as np
    >>> from aucmax import AdditiveAUCClassifier
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> y = X[:, 0] * X[:, 1] > 1
    >>> model = AdditiveAUCClassifier().fit(X, y)
    >>> model.interactions_[0]
    ('x0', 'x1')
    """

    strata_weight: StrataWeight = "positives"  # models in files of earlier versions have none

    def __init__(
        self,
        interactions: Any = "auto",
        monotone: Mapping[Any, int] | None = None,
        *,
        shape: str = "auto",
        losses: Sequence[str] = ("square", "logistic"),
        alphas: Any = None,
        focus: Any = (0.0, 1.0, 2.0),
        strata_weight: StrataWeight = "positives",
        cv: Any = "auto",
        scoring: str = "auc",
        max_fpr: float | None = None,
        probability: bool | str = False,
        positive: Any = None,
        n_knots: int | None = None,
        map_knots: int = 5,
        search_rows: int = 100_000,
        tol: float = 1e-4,
        max_iter: int = 1000,
        verbose: int = 0,
    ) -> None:
        self.interactions = interactions
        self.monotone = monotone
        self.shape = shape
        self.losses = losses
        self.alphas = alphas
        self.focus = focus
        self.strata_weight = strata_weight
        self.cv = cv
        self.scoring = scoring
        self.max_fpr = max_fpr
        self.probability = probability
        self.positive = positive
        self.n_knots = n_knots
        self.map_knots = map_knots
        self.search_rows = search_rows
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
    ) -> Self:
        """Tune and fit.

        Parameters
        ----------
        X : data frame or array, shape (n, d), Source, or Labelled
            Numbers, words, dates; None and NaN are gaps. A source has its own labels and weights,
            and `Labelled` rows have groups, times and strata, too.
        y : array-like, shape (n,)
            Two labels.
        sample_weight : array-like, shape (n,), optional
        groups : array-like, shape (n,), optional
            Rows of one group stay together.
        strata : array-like, shape (n,), optional
            As for `AUCClassifierCV.fit`; they also determine the folds, the gains of pairs and the
            held-out AUC.

        Raises
        ------
        ValueError
            As for `AUCClassifierCV`; for a pair with an unknown column; for a monotone column that
            does not exist or holds words; with `monotone`, for more than 3,000 features.
        """
        X, y, sample_weight = opened(X, y, sample_weight)
        if isinstance(X, Labelled):
            X = X if strata is None else X.within(strata)
        elif isinstance(X, Source) or _num_samples(X) > self.search_rows:
            X = labelled_table(X, y, sample_weight, groups, self.positive, strata)
        in_parts = isinstance(X, Labelled) and X.in_parts
        many = isinstance(X, Labelled) and X.strata is None and len(X.positive) > self.search_rows
        if not (in_parts or many):
            self._fit(X, y, sample_weight, groups, strata)
            return self
        every = ManyRows(X, self.strata_weight)
        rows, drawn = every.sample(self.search_rows)
        cv = self.cv
        if not isinstance(cv, (str, int, np.integer)):
            cv = [[np.flatnonzero(np.isin(rows, part)) for part in fold] for fold in cv]
        self.fit_drawn(drawn, every, cv)
        return self

    def fit_drawn(self, drawn: Labelled, every: ManyRows, cv: Any) -> None:
        """Choose all settings on a sample of the rows, and fit to all rows.

        Parameters
        ----------
        drawn : Labelled
            The sample, in memory.
        every : ManyRows
            All rows.
        cv : "auto", int or iterable of (train, test)
            Folds of the sample.

        Raises
        ------
        ValueError
            For the squared hinge with `monotone`: its curvature couples rows of all parts.
        """
        if self.monotone and "squared_hinge" in self.losses:
            raise ValueError(
                "with monotone, many rows can be fitted only with the square or logistic loss; got "
                f"losses={[*self.losses]}."
            )
        self._fit(drawn, cv=cv, every=every)

    def fit_beside(self, table: Labelled, line: np.ndarray) -> dict[str, np.ndarray]:
        """Fit to rows, unless a line is within one standard error of the best curves and maps.

        Parameters
        ----------
        table : Labelled
            In memory.
        line : ndarray, shape (folds,)
            The held-out score of the line in each fold of ``cv``.

        Returns
        -------
        dict of str to ndarray, shape (folds,)
            As ``shape_scores_``; the first entry is the given line.
        """
        return self._fit(table, line=line)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores, shape (n,); positive means ``classes_[1]``."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted labels, shape (n,)."""
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, strata: Any = None) -> float:
        """Return the accuracy, as every classifier does; with strata, the AUC within them.

        Parameters
        ----------
        X : data frame or array, shape (n, d)
            Rows as for `fit`.
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
        strata : array-like, shape (n,), optional
            The stratum of each row, as for `fit`, weighted by ``strata_weight``. Scores of
            different strata are not comparable, so that one threshold for all means little.
        """
        if strata is None:
            return super().score(X, y, sample_weight)
        return auc_within(self, X, y, sample_weight, strata)

    @available_if(gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes, shape (n, 2), if ``probability`` is set."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    def left_out(
        self, X: Any, y: Any, sample_weight: Any = None, strata: Any = None
    ) -> list[LeftOut]:
        """Bound what each pair without a map could add to the fit.

        Parameters
        ----------
        X, y, sample_weight, strata
            The rows of the fit.

        Returns
        -------
        list of LeftOut
            The largest bound first. No map of this pair alone, with the α of pairs and a relevance
            of 1, can lower the objective (``objective_``) by more.

        Notes
        -----
        The bound is ‖g‖²/(2α), with g the slope of the loss along the map in the coordinates of its
        prior: a convex loss falls by at most g·u, of which the penalty takes α‖u‖²/2. It is no
        larger than the objective itself.

        A map of a column in ``monotone`` must keep the score monotone, and allows the other terms
        to be less monotone. Its bound is ‖P(−g)‖²/2 with the map minus ‖P(−g)‖²/2 without it, where
        g is the slope along all coordinates in which every α is 1, and P(−g) the monotone score
        nearest to −g.
        """
        check_is_fitted(self)
        self._check_strata(strata)
        X, y, sample_weight, strata = _weighed(X, y, sample_weight, _codes(strata, X))
        if strata is not None:  # rows of strata of one class are never compared
            of_rows = np.asarray(y) == self.classes_[1], sample_weights(sample_weight, len(y))
            counted = np.flatnonzero(Strata.of(strata, len(y)).compared(*of_rows).of_row)
            X, y, sample_weight, strata = _taken(counted, X, y, sample_weight, strata)
        features, last = self.best_estimator_
        Z = features.transform(X)
        of_model = AUCClassifier(positive=self.positive)
        rows = labelled_rows(of_model, Z, y, sample_weight, strata=strata)
        problem = problem_of(rows, self.strata_weight)
        objective = NamedLoss(self.loss_).objective(problem, L2(1.0))
        slope = objective.at(Z @ last.coef_[0]).gradient[:]
        pairs = [pair for pair in _candidates(features) if pair not in features.pairs_]
        tied = {j for j, _ in features.trends_}
        free = [pair for pair in pairs if tied.isdisjoint(pair)]
        bounds: dict[tuple[int, int], float] = {}
        for first in range(0, len(free), _PAIRS_AT_A_TIME):
            maps = features.with_pairs(free[first : first + _PAIRS_AT_A_TIME])
            g = maps.roots().T @ (maps.transform(X).T @ slope)
            for block in maps.blocks:
                if block.kind == 2:
                    of_map = g[block.features]
                    bounds[block.columns] = float(of_map @ of_map) / (2.0 * self.alphas_[2])
        if tied:
            reach = _Reach(X, slope, problem.data.weight[:], self.alphas_)
            without = reach(features)
            for pair in pairs:
                if pair not in bounds:
                    bounds[pair] = reach(features.with_pairs([*features.pairs_, pair])) - without
        names = features.axis_names
        named = [
            LeftOut((names[i], names[j]), min(bound, self.objective_))  # no objective is below 0
            for (i, j), bound in bounds.items()
        ]
        return sorted(named, key=lambda pair: -pair.bound)

    def pair_sums(
        self, X: Any, y: Any = None, sample_weight: Any = None, pairs: Any = None
    ) -> PairSums:
        """Return the sums over rows that `pair_gains` needs; a database computes them itself.

        Sums over other rows can be added.

        Parameters
        ----------
        X : data frame or array, shape (n, d), Source, or relation
            Rows as for `fit`, or a table of any kind that `ClassMoments.from_query` takes, which
            stays where it is and is grouped by the cells of each pair.
        y, sample_weight : array-like, shape (n,), or str
            As for `fit`; for a relation, column names.
        pairs : sequence of (str or int, str or int), optional
            Columns by name or position; by default all pairs without a map.

        Raises
        ------
        ValueError
            If the model was fitted with a loss other than the square loss, or within strata; for
            invalid pairs, labels of neither class, and columns of a relation whose type differs.
        """
        check_is_fitted(self)
        features, last = self.best_estimator_
        if hasattr(self, "strata_"):
            raise ValueError(
                "these sums are for models that compare all rows, but this one compares rows "
                "within strata; left_out(…, strata=…) bounds what pairs could add to it."
            )
        if self.loss_ != "square":
            raise ValueError(
                "gains need a model fitted with the square loss, and this one was fitted with the "
                f"{self.loss_} loss; fit one with losses=['square']."
            )
        chosen = [pair for pair in _candidates(features) if pair not in features.pairs_]
        chosen = chosen if pairs is None else features.places_of(pairs)
        if not chosen:
            raise ValueError("there are no pairs: all of them have maps, or none were given.")
        scored = ScoredPairs(features, last.coef_[0], np.array(chosen), self.classes_.tolist())
        sums = sums_of(X, y, sample_weight, scored)
        names = features.axis_names
        text = f"{as_text([('features', features)])} {last.coef_.tolist()}"
        pairs = tuple((names[i], names[j]) for i, j in chosen)
        return replace(sums, pairs=pairs, model=sha256(text.encode()).hexdigest())

    def pair_gains(
        self, sums: PairSums, alpha: float | None = None
    ) -> dict[tuple[str, str], float]:
        """Return how much the square loss falls for each pair if a map of it alone is added.

        Parameters
        ----------
        sums : PairSums
            Made by `pair_sums`, of rows of both classes.
        alpha : float, optional
            α of the cells; by default that of curves. The best α is inversely proportional to the
            number of rows of the rarer class.

        Returns
        -------
        dict of (str, str) to float
            The largest gain first.
        """
        check_is_fitted(self)
        gains = sums.gains(float(self.alphas_[1] if alpha is None else alpha))
        return {sums.pairs[m]: float(gains[m]) for m in np.argsort(-gains, kind="stable")}

    def moments(
        self, X: Any, y: Any = None, sample_weight: Any = None, strata: Any = None
    ) -> ClassMoments:
        """Return the class moments of rows, in the features of the fitted model.

        Moments of other rows can be added, subtracted and decayed, also from files. `fit_moments`
        takes the result.

        Parameters
        ----------
        X : data frame or array, shape (n, d), or Source
            Rows as for `fit`; a source is read once, and has its own labels and weights.
        y, sample_weight
            As for `fit`.
        strata : array-like, shape (n,), optional
            For a model that was fitted within strata: the stratum of each row. Strata must be
            whole, and the rows in memory.

        Raises
        ------
        ValueError
            If strata are given to a model fitted without any, or missing for one fitted with them.
        """
        check_is_fitted(self)
        features = self.best_estimator_[0]
        self._check_strata(strata)
        X, y, sample_weight = opened(X, y, sample_weight)
        X = X.mapped(features.transform) if isinstance(X, Source) else features.transform(X)
        of_strata: dict[str, Any] = {"strata": strata, "strata_weight": self.strata_weight}
        rows = ClassMoments.from_data(X, y, sample_weight, **of_strata)
        rows.feature_names = features.get_feature_names_out().tolist()
        rows.steps = as_text([("features", features)])
        return rows

    def fit_moments(self, moments: ClassMoments, alpha: float | None = None) -> Self:
        """Refit the coefficients to moments, as to all of their rows.

        Columns, knots, levels and pairs stay as they are, and so do the results of the search; the
        loss is the square loss, and there are no probabilities.

        Parameters
        ----------
        moments : ClassMoments
            Made by `moments`, of exactly two classes.
        alpha : float, optional
            α of lines and levels; those of curves and pairs follow in proportion. By default all
            stay as they are.

        Raises
        ------
        ValueError
            If the moments are those of other features.
        """
        check_is_fitted(self)
        features = self.best_estimator_[0]
        if difference := first_difference(as_text([("features", features)]), moments.steps):
            raise ValueError(f"these are moments of other features: {difference}.")
        settings = {name: getattr(self, name) for name in _OF_LAST}
        settings |= {} if alpha is None else {"alpha": alpha}
        self.best_estimator_: Pipeline = Prior(features).fitted(moments, settings)
        self.loss_, self.alphas_ = "square", self.best_estimator_[0].alphas_
        self._take_facts()
        return self

    # ---- inside --------------------------------------------------------------------------

    def _check_strata(self, strata: Any) -> None:
        """Raise ValueError unless both the model and the rows have strata, or neither."""
        if (strata is not None) != hasattr(self, "strata_"):
            raise ValueError("give strata if, and only if, the model was fitted within strata.")

    def _fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        *,
        line: np.ndarray | None = None,
        cv: Any = None,
        every: ManyRows | None = None,
    ) -> dict[str, np.ndarray]:
        scoring = self._checked()
        last = AUCClassifier(alpha=1.0, **{name: getattr(self, name) for name in _OF_LAST})
        cv = self.cv if cv is None else cv
        if isinstance(X, Labelled):
            table, counted = X, X.counted(np.arange(len(X.positive)))
            if not counted.all():
                table, cv = X.at(np.flatnonzero(counted)), _among(counted, cv)
            X, features = table.named, self._features(table.named)
            Z = features.lines().transform(X)
            rows = labelled_rows(last, replace(table, X=Z, columns=None), None, None)
        else:
            of_rows, name = (y, sample_weight, groups, _codes(strata, X)), strata_name(strata)
            cv = _among(_has_weight(sample_weight, _num_samples(X)), cv)
            X, y, sample_weight, groups, strata = _weighed(X, *of_rows)
            features = self._features(X)
            Z = features.lines().transform(X)
            rows = labelled_rows(last, Z, y, sample_weight, strata=strata)
            groups = None if groups is None else np.asarray(groups)
            rows = replace(rows, groups=groups, strata_name=name)
        rows = self._weighing_strata(rows)
        with one_blas_thread(), working("tuning", quiet=not self.verbose):
            folds, n_folds = _folds(rows, cv)
            share = 1.0  # the best α is inversely proportional to the rows of the rarer class
            if every is not None and (self.alphas is None or len(self.alphas) > 1):
                share = rows.rarest / every.table.rarest
            search = Search(features, rows, X, self._settings(), scoring, self.shape)
            walk, cell = search.run(folds, self._grid(features, rows, share), n_folds, line)
            scores = {SHAPES[c.shape]: walk.held_out[c] for c in walk.of_shapes()}
            if cell is None:
                return scores
            part, fitted = search.refitted(walk.grid, cell)
        fitted.warn(stacklevel=3)
        warn_of(walk.messages)
        held_out = walk.scores_of(cell)
        self._take_over(part, fitted, walk, cell, last, rows, held_out)
        weight = rows.weight
        if every is not None:
            self._confirm(every, share, search, part, walk.grid, cell)
            table = every.table
            weight = weight_of_all(table.positive, table.weight, every.drawn)
        if self.probability:
            tests, final = [p.test for p in walk.parts], self.decision_function(X)
            self.best_estimator_[-1].calibration_ = calibrate_folds(
                tests, held_out, [final[test] for test in tests], rows.positive, weight,
                self.probability,
            )  # fmt: skip
        self.shape_scores_ = scores
        return scores

    def _weighing_strata(self, rows: Labelled) -> Labelled:
        """Return rows with the weights of their strata, if they have any.

        Raises
        ------
        ValueError
            If no stratum has rows of both classes, or the logistic loss would not be a likelihood.
        """
        strata = rows.coded_strata
        if strata is None:
            return rows
        check_likelihood(problem_of(rows, self.strata_weight), self.losses)
        return replace(rows, strata=strata.weighed(self.strata_weight))

    def _confirm(
        self, every: ManyRows, share: float, search: "Search", part: Part, grid: Grid, cell: Cell
    ) -> None:
        """Fit the model chosen on a sample to all rows, which also confirm the pairs."""
        features = copy.copy(self.best_estimator_[0])
        features.alphas_ = share * features.alphas_
        chosen_pairs = cell.shape == 2 and not search.features.pairs_
        if chosen_pairs and every.table.strata is None:  # gains within strata are not sums
            screening = search.screening(grid, cell)
            gains_of = partial(every.gains, alpha=share * screening.alpha)
            pairs, gains = screening.confirmed(part, cell.pairs, gains_of)
            features = features.with_pairs(pairs)
            features.relevance_[2] = relevance(gains, grid.powers[cell.focus])
            self.interactions_, self.gains_ = [*features.pairs], gains
        shared = {name: getattr(self, name) for name in _OF_LAST}
        model = AUCClassifier(1.0, standardize=0.0, loss=self.loss_, **shared)
        settings = replace(search.settings, goal=NamedLoss(self.loss_))
        drawn = replace(search.rows.labelled, X=search.rows.table, columns=None, store=None)
        self.best_estimator_ = every.fitted(features, model, settings, drawn)
        self.alphas_ = features.alphas_
        self._take_facts()

    def check_state(self) -> None:
        """Raise ValueError unless a fit could have left these attributes."""
        if not hasattr(self, "best_estimator_"):
            return
        best: Any = self.best_estimator_
        kinds = [*map(type, best)] if isinstance(best, Pipeline) else []
        if kinds != [AdditiveFeatures, AUCClassifier]:
            raise ValueError("its best_estimator_ is not a model of curves and maps")
        for name in ("classes_", "n_features_in_"):
            if not np.array_equal(getattr(self, name, ()), getattr(best, name)):
                raise ValueError(f"its {name} are not those of its best_estimator_")

    def _features(self, X: Any) -> AdditiveFeatures:
        named = not isinstance(self.interactions, (str, int, np.integer))
        pairs = self.interactions if named else ()
        n_knots = self.n_knots
        if n_knots is None:
            room = _MAX_HATS // max((*np.shape(X), 1, 1)[1], 1)
            n_knots = next((k for k in _KNOTS if k <= room), _KNOTS[-1])
        features = AdditiveFeatures(pairs, n_knots=n_knots, map_knots=self.map_knots).fit(X)
        return features.with_trends(self.monotone or {})

    def _checked(self) -> Metric:
        scoring = scoring_of(self.scoring, self.max_fpr)
        check_strata_weight(self.strata_weight)
        if not isinstance(scoring, Metric):
            raise ValueError(
                f"scoring={self.scoring!r} is not one of {', '.join(map(repr, METRICS))}."
            )
        for name in ("losses", "alphas"):
            values = getattr(self, name)
            if values is not None and (np.ndim(values) != 1 or not len(values)):
                raise ValueError(f"{name} must be a non-empty sequence; got {values!r}.")
        for alpha in () if self.alphas is None else np.asarray(self.alphas).tolist():
            number(alpha, "each of alphas", open_low=True)
        allowed = [name for name, loss in LOSSES.items() if loss.kind != "kinked"]
        for loss in self.losses:
            if loss not in allowed:
                names = ", ".join(map(repr, allowed))
                raise ValueError(f"each of losses must be one of {names}; got {loss!r}.")
        other_word = isinstance(self.interactions, str) and self.interactions != "auto"
        if isinstance(self.interactions, (int, np.integer)):
            number(self.interactions, "interactions", whole=True)
        elif other_word or not isinstance(self.interactions, Iterable):
            raise ValueError(
                "interactions must be 'auto', a number or a list of pairs; got "
                f"{self.interactions!r}."
            )
        if not isinstance(self.monotone, Mapping | None):
            raise ValueError(f"monotone must map columns to 1 or -1; got {self.monotone!r}.")
        if self.shape not in ("auto", *SHAPES):
            names = ", ".join(map(repr, SHAPES))
            raise ValueError(f"shape must be 'auto' or one of {names}; got {self.shape!r}.")
        if not np.size(self.focus):
            raise ValueError("focus has no power to try; give at least one, such as 0.")
        for power in np.atleast_1d(self.focus):
            number(power, "each of focus", low=0.0)
        if self.cv != "auto" and not isinstance(self.cv, Iterable):
            number(self.cv, "cv, unless it is 'auto',", low=2, whole=True)
        return scoring

    def _settings(self) -> Settings:
        return Settings(NamedLoss(self.losses[0]), L2(1.0), tol=self.tol, max_iter=self.max_iter)

    def _grid(self, features: AdditiveFeatures, rows: Labelled, share: float) -> Grid:
        low, high = _HALF_DECADES
        usual = features.n_features_in_ * LOSSES[self.losses[0]].usual_alpha / rows.rarest
        alphas = usual * 10.0 ** (0.5 * np.arange(low, high + 1))
        place = -low
        if self.alphas is not None:
            alphas = np.sort(np.asarray(self.alphas, dtype=np.float64)) / share
            place = int(np.abs(np.log(alphas / usual)).argmin())
        powers = tuple(np.unique(np.asarray(self.focus, dtype=np.float64)).tolist())
        return Grid(tuple(self.losses), alphas, place, self._counts(features), powers)

    def _counts(self, features: AdditiveFeatures) -> tuple[int, ...]:
        """Return the numbers of pairs to try."""
        if features.pairs_:
            return 0, len(features.pairs_)
        d = features.n_features_in_
        most = d * (d - 1) // 2
        widest = max(axis.n_map for axis in features.axes_)
        most = min(most, max(_MAX_FEATURES - features.n_features, 0) // widest**2)
        if not isinstance(self.interactions, str):  # an empty list names no pair
            most = min(most, int(self.interactions) if np.ndim(self.interactions) == 0 else 0)
        counts = [count for count in _COUNTS if count <= most]
        if counts[-1] < most and (len(counts) == 1 or most == self.interactions):
            counts.append(most)
        return tuple(counts)

    def _take_over(
        self,
        all_rows: Part,
        fitted: Fit,
        walk: Walk,
        cell: Cell,
        last: AUCClassifier,
        rows: Labelled,
        scores: list[np.ndarray],
    ) -> None:
        grid = walk.grid
        count = grid.counts[cell.pairs]
        part = all_rows.with_maps(count)
        features = part.focused(grid.powers[cell.focus])
        weight = np.ones(len(rows.positive)) if rows.weight is None else rows.weight
        X = part.take(part.train)[:, : len(fitted.coef)]
        mass = np.asarray(weight @ X).ravel()
        coef, constant = features.purified(fitted.coef, mass)
        last.n_features_in_ = len(coef)
        last.loss = grid.losses[cell.loss]
        strata = strata_behind(rows, self.strata_weight, last.loss == "logistic")
        intercept = fitted.intercept + constant
        fitted = replace(fitted, coef=coef, intercept=intercept, strata=strata)
        last.take_over(fitted, rows.classes)
        features.alphas_ = grid.alphas_of(cell)
        self.best_estimator_ = Pipeline([("features", features), ("model", last)])
        self.n_features_in_ = features.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(features, "feature_names_in_"):
            self.feature_names_in_ = features.feature_names_in_
        held_out = walk.held_out[cell]
        self.best_score_ = float(held_out.mean())
        tests = [part.test for part in walk.parts]
        self.best_interval_ = interval_of_tests(rows, tests, scores, rows.coded_strata)
        self.shape_, self.loss_ = SHAPES[cell.shape], grid.losses[cell.loss]
        self.alphas_, self.focus_ = grid.alphas_of(cell), grid.powers[cell.focus]
        self.interactions_ = [*features.pairs]
        self.gains_ = all_rows.ranking.first(count).gains
        self.auc_path_ = np.full((len(walk.parts), *grid.shape), np.nan)
        for tried, of_folds in walk.held_out.items():
            self.auc_path_[(slice(None), *tried._replace(curve=tried.curve + 1))] = of_folds
        self._take_facts()

    def _take_facts(self) -> None:
        """Copy the facts that the last model records of its fit."""
        last = self.best_estimator_[-1]
        for name in _OF_FIT:
            setattr(self, name, getattr(last, name))
        self.__dict__.pop("strata_", None)
        if hasattr(last, "strata_"):
            self.strata_ = last.strata_


class _Reach(NamedTuple):
    """The most by which monotone scores can lower a loss: ‖P(−g)‖²/2, see `left_out`."""

    X: Any
    slope: np.ndarray
    weight: np.ndarray
    alphas: np.ndarray

    def __call__(self, features: AdditiveFeatures) -> float:
        Z = features.transform(self.X)
        root = features.roots() @ sp.diags(self.alphas[features.kinds()] ** -0.5)
        scores = monotone_scores(features, np.asarray(self.weight @ Z).ravel())
        cone = L2Cone(1.0, scores.in_coordinates(root))
        nearest = cone.prox(-(root.T @ (Z.T @ self.slope)), 0.0)
        return 0.5 * float(nearest @ nearest)


def _weighed(X: Any, *of_rows: Any) -> tuple[Any, ...]:
    """Return the rows with weights above 0, their labels, weights, and other values."""
    has_weight = _has_weight(of_rows[1], _num_samples(X))
    if has_weight.all():
        return X, *of_rows
    return _taken(np.flatnonzero(has_weight), X, *of_rows)


def _has_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Return which of n rows count; all if every weight is 0, which causes an error later."""
    weight = sample_weights(sample_weight, n)
    return np.ones(n, dtype=bool) if weight is None or not weight.any() else weight > 0.0


def _among(counted: np.ndarray, cv: Any) -> Any:
    """Return folds of all rows as folds of the rows that count; a number of folds unchanged."""
    if isinstance(cv, (str, int, np.integer)) or counted.all():
        return cv
    place = np.cumsum(counted) - 1
    return [[place[part[counted[part]]] for part in map(np.asarray, fold)] for fold in cv]


def _taken(rows: np.ndarray, *of_rows: Any) -> tuple[Any, ...]:
    return tuple(None if of is None else _safe_indexing(of, rows) for of in of_rows)


def _codes(strata: Any, X: Any) -> np.ndarray | None:
    """Return the number of the stratum of each row of X, checked."""
    return None if strata is None else Strata.of(strata, _num_samples(X)).code


class Search:
    """The search over all rows of a table.

    Parameters
    ----------
    features : AdditiveFeatures
        With the user's pairs, if any.
    labelled : Labelled
        The rows, in the features of lines.
    table : data frame or array
        The same rows before the features.
    settings : Settings
    scoring : Metric
    shape : str
    """

    def __init__(
        self,
        features: AdditiveFeatures,
        labelled: Labelled,
        table: Any,
        settings: Settings,
        scoring: Metric,
        shape: str,
    ) -> None:
        self.features, self.settings, self.scoring = features, settings, scoring
        self.rows = CurveRows(features.lines(), labelled, table)
        self.shape = SHAPES.index(shape) if shape in SHAPES else None

    def run(
        self, folds: Any, grid: Grid, n_folds: int, rival: np.ndarray | None = None
    ) -> tuple[Walk, Cell | None]:
        """Return the walk and the chosen cell, or None if the rival line is chosen."""
        walk, of_all = self._walk(folds, grid)
        line = walk.climb(grid.start(Cell(0, grid.usual), "line"), ("line", "focus"))
        if self.shape or (self.shape is None and not self._suffices(grid, line, of_all)):
            features, table = self.features.with_pairs(()), self.rows.table
            labelled = replace(self.rows.labelled, X=features.transform(table), store=None)
            self.rows = CurveRows(features, labelled, table, LEADING_SHARE)
            of_lines, (walk, _) = walk.held_out, self._walk(folds, grid)
            walk.held_out |= of_lines
            self._bend(walk, line, n_folds)
        cells = walk.of_shapes()
        if self.shape is not None:
            cells = [cell for cell in cells if cell.shape == self.shape]
        if not cells:
            raise ValueError(
                "shape='interactions' needs pairs, and there are none: interactions=0, or no two "
                "columns can interact."
            )
        if rival is not None:
            if simplest([rival, *(walk.held_out[c] for c in cells)], n_folds) < 2:
                return walk, None
            cells = cells[1:]
        cell = cells[simplest([walk.held_out[c] for c in cells], n_folds)]
        axis = ("line", "curve", "pair")[cell.shape]
        for loss in range(1, len(grid.losses)):
            other_loss = walk.climb([cell._replace(loss=loss)], ())
            if walk.best([cell, other_loss]) == other_loss:
                cell = walk.climb([other_loss], (axis,))
        return walk, cell

    def _walk(self, folds: Any, grid: Grid) -> tuple[Walk, ClassMoments]:
        """Return a walk over the current features, and the moments of all rows."""
        of_parts, of_all = self.rows.moments(folds)
        alpha = float(grid.of_square_loss.alphas[grid.usual])
        self.gains = self.rows.gains(of_all, alpha)
        parts = [
            Part(self.rows, train, test, self.rows.gains(of_fold, alpha), of_fold)
            for (train, test), of_fold in zip(folds, of_parts, strict=True)
        ]
        settings = replace(self.settings, tol=10 * self.settings.tol)
        return Walk(grid, parts, settings, self._score), of_all

    def _suffices(self, grid: Grid, line: Cell, moments: ClassMoments) -> bool:
        """Return whether no curve and no pair explains more than a line does."""
        labelled, every = self.rows.labelled, np.arange(len(self.rows.labelled.positive))
        all_rows = Part(self.rows, every, every, self.gains, moments)
        scores = all_rows.scores(all_rows.fit(grid.of_square_loss, line, self.settings).coef)
        pairs = self.candidates if len(grid.counts) > 1 else []
        return line_suffices(self.features, self.rows.table, labelled, scores, pairs)

    def _bend(self, walk: Walk, line: Cell, n_folds: int) -> None:
        """Walk from the best line to curves and, if maps promise an improvement, to maps."""
        grid = walk.grid
        curve = walk.climb(grid.start(line, "curve"), ("curve", "focus"))
        if self.shape == 1 or len(grid.counts) == 1:
            return
        screening = self.screening(grid, curve)
        for part in walk.parts:
            screening.begin(part, self.candidates, in_order=bool(self.features.pairs_))
        if self.shape == 2 or walk.maps_promise(curve, screening.alpha, n_folds):
            pairs = curve._replace(pairs=min(2, len(grid.counts) - 1))
            best = walk.climb(grid.start(pairs, "pair"), ("pairs", "pair"))
            walk.climb([best], ("curve", "pair", "focus"))

    def refitted(self, grid: Grid, cell: Cell) -> tuple[Part, Fit]:
        """Return all rows with the pairs chosen on them, and the fit of a cell to these."""
        every = np.arange(len(self.rows.labelled.positive))
        all_rows = Part(self.rows.in_full(cell.shape), every, every, self.gains)
        if cell.shape == 2:
            screening = self.screening(grid, cell)
            screening.begin(all_rows, self.candidates, in_order=bool(self.features.pairs_))
        return all_rows, all_rows.with_maps(grid.counts[cell.pairs]).fit(grid, cell, self.settings)

    def _score(self, part: Part, scores: np.ndarray) -> float:
        rows, strata = self.rows.labelled, self.rows.labelled.coded_strata
        of_rows = rows.positive[part.test], rows.weight_of(part.test), scores
        return self.scoring.of_scores(*of_rows, None if strata is None else strata.at(part.test))

    def screening(self, grid: Grid, cell: Cell) -> Screening:
        """Return how parts choose pairs at the curves of a cell."""
        return Screening(grid, cell.without_maps, self.settings)

    @property
    def candidates(self) -> list[tuple[int, int]]:
        """The pairs that may have a map."""
        return self.features.pairs_ or _candidates(self.features)


def _candidates(features: AdditiveFeatures) -> list[tuple[int, int]]:
    """Return the pairs of axes that may have a map: not those of one date."""
    owners = features.owners
    pairs = map(tuple, all_pairs(len(owners)).tolist())
    return [(i, j) for i, j in pairs if owners[i] != owners[j]]


def _folds(rows: Labelled, cv: Any) -> tuple[Pairs, int]:
    """Return the folds that can be scored, and how many of them are independent."""
    if not isinstance(cv, (str, int, np.integer)):
        folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    else:
        check_enough_to_hold_out(rows)
        folding = Folding.of(rows)
        n_folds = folding.most(rows.positive, FOLDS if cv == "auto" else int(cv))
        rounds = folding.rounds(rows.rarest) if cv == "auto" else 1
        folds = folding.folds(rows.positive, n_folds, 0, rounds)
    usable = [fold for fold in folds if all(map(rows.both_classes, fold))]
    if not usable:
        raise ValueError("no split of cv has both classes in both of its parts.")
    tests = np.bincount(np.concatenate([test for _, test in folds]))
    return usable, max(len(usable) // int(tests.max()), 1)
