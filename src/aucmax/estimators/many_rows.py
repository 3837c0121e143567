"""Additive models of many rows: settings chosen on a sample, and fitted to all, read in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, column_or_1d

from aucmax.basics.checks import sample_weights
from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.monotone import monotone_scores
from aucmax.data.classes import two_classes
from aucmax.data.columns import Column, named
from aucmax.data.labelled import Labelled
from aucmax.data.large_files import rows_of
from aucmax.data.rows import as_rows
from aucmax.data.rows.parts import InParts
from aucmax.data.rows.source import Part, Source
from aucmax.data.rows.spool import Spool
from aucmax.data.strata import StrataWeight
from aucmax.estimators.additive_moments import Prior
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.fitting import Fit, Settings, solve
from aucmax.estimators.pair_rows import ScoredPairs, as_table, sums_of_rows
from aucmax.estimators.sampled import sample_of
from aucmax.estimators.strata import strata_behind
from aucmax.objective.mapped import MappedProblem
from aucmax.objective.penalties.cone import L2Cone
from aucmax.objective.problem import MomentsProblem
from aucmax.statistics.moments import ClassMoments
from aucmax.statistics.pair_sums import PairSums
from aucmax.statistics.strata_in_parts import statistics_in_parts

__all__ = ["ManyRows", "by_features", "labelled_table"]

_ROWS_OF_A_PART = 1 << 15  # of a table in memory
_RARER_TIMES = 5  # rows of the commoner class per row of the rarer one: more would add little
_LEAST_ROWS = 20_000  # minimum size of a sample, if there are as many rows


class ManyRows:
    """Rows of two classes by their columns, turned into features one part at a time.

    Parameters
    ----------
    table : Labelled
        In memory, or a source.
    strata_weight : {"positives", "pairs", "strata"}
        The weighting of their strata, if they have any.
    """

    def __init__(self, table: Labelled, strata_weight: StrataWeight) -> None:
        strata = table.coded_strata
        if strata is not None:
            table = replace(table, strata=strata.weighed(strata_weight))
        self.table = table
        self.sizes = getattr(table.X, "sizes", None)
        self.drawn = np.arange(0)  # the rows of a sample
        if table.in_parts:
            source = table.X
        else:
            n = len(table.positive)
            ends = [*range(0, n, _ROWS_OF_A_PART), n]
            source = Source([partial(_some, table.X, a, b) for a, b in pairwise(ends)])
            self.sizes = np.diff(ends)
        self.source: Source = source.with_labels(table.positive, table.weight)

    def sample(self, most: int) -> tuple[np.ndarray, Labelled]:
        """Return the numbers of up to ``most`` rows, ascending, and these rows in memory.

        They are about as many of each class, or all of the rarer class and at most five times as
        many others; or whole strata.
        """
        table = self.table
        enough = max((1 + _RARER_TIMES) * table.rarest, _LEAST_ROWS)
        self.drawn = sample_of(table, most if table.strata is not None else min(most, enough))
        return self.drawn, replace(table.at(self.drawn), columns=table.columns)

    def gains(self, scores: Sequence[ScoredPairs], alpha: float) -> list[np.ndarray]:
        """Return how much a map of each pair alone lowers the square loss, in one pass.

        Parameters
        ----------
        scores : sequence of ScoredPairs
            The scores to add a map to, each with its pairs.
        alpha : float
            α of the cells.

        Returns
        -------
        list of ndarray, shape (number of pairs,)
        """
        of_columns = [scored._replace(columns=self.table.columns) for scored in scores]
        sums: tuple[PairSums, ...] = self.source.total(_pair_sums, repeat(()), of_columns)
        return [of_score.gains(alpha) for of_score in sums]

    def fitted(
        self, features: AdditiveFeatures, model: AUCClassifier, settings: Settings, drawn: Labelled
    ) -> Pipeline:
        """Return features and a model of all rows: the optimum of a loss at the features' α.

        The square loss takes one pass; others take more, from the optimum of some of the rows.

        Parameters
        ----------
        features : AdditiveFeatures
        model : AUCClassifier
            Unfitted, with α = 1.
        settings : Settings
            Those of the model.
        drawn : Labelled
            Some of the rows, in memory.
        """
        prior, start = Prior(features), None
        if not settings.goal.by_moments:
            sample = ManyRows(drawn, model.strata_weight)
            start = sample._optimum(prior, settings, None)[0].coef
        fit, held = self._optimum(prior, settings, start)
        fit.warn(stacklevel=4)
        model.n_features_in_ = features.n_features
        if self.table.target_name is not None:
            model.target_name_ = self.table.target_name
        strata = strata_behind(self.table, model.strata_weight, model.loss == "logistic")
        fit = replace(fit, statistics=None, spread=None, strata=strata)
        model.take_over(fit, self.table.classes)
        features, last = prior.behind(model, held.counts @ held.means)
        return Pipeline([("features", features), ("model", last)])

    def _optimum(
        self, prior: Prior, settings: Settings, start: np.ndarray | None
    ) -> tuple[Fit, ClassMoments]:
        """Return the fit to the rows in coordinates u, and the moments of the features."""
        features, table, strata = prior.features, self.table, self.table.coded_strata
        several_passes = not settings.goal.by_moments
        rows = by_features(
            self.source, features, table.columns, several_passes or strata is not None
        )
        store = InParts(rows, np.array(self.sizes), features.n_features)
        of_rows = table.positive, table.weight
        if strata is None:
            held: Any = rows.total(_moments, repeat(()))
        else:
            held = statistics_in_parts(store, ClassMoments([False, True]), *of_rows, strata)
        moments = prior.moments(held)
        if features.trends_:
            rises = monotone_scores(features, held.counts @ held.means)
            settings = replace(settings, penalty=L2Cone(1.0, rises.in_coordinates(prior.root)))
        if not several_passes:
            return solve(MomentsProblem(moments), settings), held
        problem = MappedProblem.behind(store, prior.root, moments, *of_rows, strata)
        return solve(problem, settings, start), held


def labelled_table(
    X: Any, y: Any, sample_weight: Any, groups: Any, positive: Any, strata: Any = None
) -> Labelled:
    """Return rows in memory, or a source, as rows of two classes by their columns.

    Parameters
    ----------
    X, y, sample_weight, groups
        As given to a fit; a source has its own labels and weights unless others are given.
    positive : label, optional
        The label to rank first.
    strata : array-like, shape (n,), optional
        By default those of a source.

    Raises
    ------
    ValueError
        If there are not two labels, or not one label for each row.
    """
    columns = None
    if isinstance(X, Source):
        X = X.with_labels(y, sample_weight)
        if X.feature_names is not None:
            columns = tuple(named(X.feature_names, X.columns))
        of_rows = rows_of(X)
        y, weight, X.sizes = (of_rows[name] for name in ("target", "weight", "sizes"))
        if y is None:
            raise ValueError("it has no labels; give (X, y).")
        strata = of_rows["strata"] if strata is None else strata
    else:
        y = column_or_1d(y, warn=False)
        check_consistent_length(X, y, groups, strata)
        weight = sample_weights(sample_weight, len(y))
    classes = two_classes(np.unique(y), positive)
    groups = None if groups is None else np.asarray(groups)
    rows = Labelled(X, np.asarray(y) == classes[1], weight, classes, groups, columns=columns)
    return rows if strata is None else rows.within(strata)


def by_features(
    source: Source,
    features: AdditiveFeatures,
    columns: tuple[Column, ...] | None,
    keeps: bool = False,
) -> Source:
    """Return the rows of a source by features, kept in temporary files if ``keeps``.

    Parameters
    ----------
    source : Source
    features : AdditiveFeatures
        Fitted.
    columns : tuple of Column, optional
        Those of the source, if they have names.
    keeps : bool
        Whether to keep the features for several passes.
    """
    spool = Spool() if keeps and not source.elsewhere else None
    rows = source.mapped(partial(_features, features, columns), spool)
    rows.n_features = features.n_features
    return rows


def _some(X: Any, first: int, end: int) -> Any:
    return _safe_indexing(X, slice(first, end))


def _features(features: AdditiveFeatures, columns: tuple[Column, ...] | None, X: Any) -> Any:
    """Return rows by features, given by the columns of a table."""
    return features.transform(as_table(X, columns))


def _moments(part: Part) -> ClassMoments:
    return ClassMoments([False, True]).add_rows(as_rows(part.X), part.y, part.weight)


def _pair_sums(part: Part, *scores: ScoredPairs) -> tuple[PairSums, ...]:
    return tuple(sums_of_rows(part, scored) for scored in scores)
