"""The criteria of a search: metrics of scores, or scorers of scikit-learn."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aucmax.basics.checks import number
from aucmax.basics.doors import Door
from aucmax.data.rows.source import opened_with_labels
from aucmax.metrics import AUCInterval, cv_auc_interval, stratified_auc
from aucmax.metrics.levels import area_of, area_up_to, levels_of, mean_precision, recall_up_to
from aucmax.metrics.reading import read
from aucmax.metrics.stratified import areas_within, interval_within_folds

if TYPE_CHECKING:
    from aucmax.data.labelled import Labelled
    from aucmax.data.strata import Strata
    from aucmax.estimators.additive import AdditiveAUCClassifier
    from aucmax.estimators.classifier import AUCClassifier

__all__ = [
    "METRICS", "Metric", "Scorer", "Scoring", "auc_within", "interval_of_tests", "scoring_of",
]  # fmt: skip

_sklearn = Door("sklearn.metrics")


def _of_levels(metric: Callable[..., float]) -> Callable[..., float]:
    """Return a metric of a score table as a metric of positives, weights and scores."""
    return lambda positive, weight, score, *limit: metric(
        levels_of(positive, weight, score), *limit
    )


METRICS: dict[str, Callable[..., float]] = {
    "auc": area_of,
    "partial_auc": _of_levels(area_up_to),
    "average_precision": _of_levels(mean_precision),
    "recall_at_fpr": _of_levels(recall_up_to),
}
_REGIONS = ("partial_auc", "recall_at_fpr")
_WORDS = {
    "auc": "AUC",
    "partial_auc": "AUC at FPR ≤ {:g}",
    "average_precision": "average precision",
    "recall_at_fpr": "recall at FPR ≤ {:g}",
}


class Metric(NamedTuple):
    """A metric of scores by its name in `METRICS`, with its max_fpr if it has one."""

    name: str
    max_fpr: float | None = None

    @property
    def top(self) -> bool:
        """Whether the highest scores matter most."""
        return self.name != "auc"

    @property
    def words(self) -> str:
        """Its name in reports."""
        return _WORDS[self.name].format(self.max_fpr)

    def of(self, model: AUCClassifier, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the metric of a model's scores."""
        _check_known(y, model.classes_)
        scores = model.decision_function(X)
        return self.of_scores(*read(y, sample_weight, model.classes_.tolist()[1], score=scores))

    def of_scores(
        self,
        positive: np.ndarray,
        weight: np.ndarray | None,
        scores: np.ndarray,
        strata: Strata | None = None,
    ) -> float:
        """Return the metric of the scores (n,) of rows; with strata, the AUC within them."""
        if strata is not None and self.name == "auc":
            code = strata.code.astype(np.intp)
            return areas_within(positive, weight, scores, code).mean(strata.weighting)
        limit = () if self.max_fpr is None else (self.max_fpr,)
        return METRICS[self.name](positive, weight, scores, *limit)


class Scorer:
    """A scorer of scikit-learn, by its name or as ``scorer(estimator, X, y)``.

    A named scorer gets 1 for the positive label and 0 for the other; a callable gets the original
    labels.
    """

    top = False

    def __init__(self, scoring: Any) -> None:
        self.named = isinstance(scoring, str)
        self.scorer = _sklearn.get_scorer(scoring) if self.named else scoring
        self.words = scoring if self.named else getattr(scoring, "__name__", repr(scoring))
        of_metric = getattr(self.scorer, "_score_func", self.scorer)
        self._weighs = "sample_weight" in inspect.signature(of_metric).parameters

    def of(self, model: AUCClassifier, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the score of a model."""
        if self.named:
            _check_known(y, model.classes_)
            y, model = np.where(np.asarray(y) == model.classes_[1], 1, 0), copy.copy(model)
            model.classes_ = np.array([0, 1])
        weighs = self._weighs and sample_weight is not None
        weights = {"sample_weight": sample_weight} if weighs else {}
        try:
            return float(self.scorer(model, X, y, **weights))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"scoring={self.words!r} cannot score this model ({error}); use a scorer of "
                f"decision_function or of predict, or one of {', '.join(map(repr, METRICS))}."
            ) from error


Scoring = Metric | Scorer


def _check_known(y: Any, classes: np.ndarray) -> None:
    """Raise ValueError for a label that is neither class of the model."""
    labels = np.asarray(y)
    unknown = labels[(labels != classes[0]) & (labels != classes[1])]
    if len(unknown):
        negative, positive = classes.tolist()
        raise ValueError(
            f"y holds the label {unknown.tolist()[0]!r}; this model was fitted to {negative!r} and "
            f"{positive!r}."
        )


def scoring_of(scoring: Any, max_fpr: Any) -> Scoring:
    """Return the metric or scorer of the settings, checked."""
    region = isinstance(scoring, str) and scoring in _REGIONS
    if region and max_fpr is None:
        raise ValueError(
            f"scoring={scoring!r} needs max_fpr, the largest false-positive rate, such "
            "as max_fpr=0.05."
        )
    if not region and max_fpr is not None:
        raise ValueError(
            f"max_fpr={max_fpr!r} is for {' or '.join(f'scoring={name!r}' for name in _REGIONS)}; "
            f"leave it out with scoring={scoring!r}."
        )
    if region:
        number(max_fpr, "max_fpr", high=1.0, open_low=True)
    if isinstance(scoring, str) and scoring in METRICS:
        return Metric(scoring, max_fpr)
    try:
        if isinstance(scoring, str) or callable(scoring):
            return Scorer(scoring)
    except ValueError:  # no scorer of this name
        pass
    raise ValueError(
        f"scoring must be one of {', '.join(map(repr, METRICS))}, a name that "
        f"sklearn.metrics.get_scorer_names() gives, or scorer(estimator, X, y); got {scoring!r}."
    )


def auc_within(
    model: AUCClassifier | AdditiveAUCClassifier, X: Any, y: Any, sample_weight: Any, strata: Any
) -> float:
    """Return the AUC of a model's scores within strata, with the strata weights of its fit."""
    X, y, sample_weight = opened_with_labels(X, y, sample_weight)
    _check_known(y, model.classes_)
    fitted = getattr(model, "strata_", None)  # which also records how moments were weighted
    weighting = model.strata_weight if fitted is None else fitted.weighting
    by = {"strata_weight": weighting, "pos_label": model.classes_.tolist()[1]}
    return stratified_auc(y, model.decision_function(X), strata, sample_weight, **by).auc


def interval_of_tests(
    labelled: Labelled,
    tests: Sequence[np.ndarray],
    held_out: Sequence[np.ndarray],
    strata: Strata | None,
) -> AUCInterval:
    """Return the interval of the mean AUC of some folds, within strata if there are any.

    Parameters
    ----------
    labelled : Labelled
    tests : sequence of ndarray of int
        The held-out rows of each fold, of both classes.
    held_out : sequence of ndarray
        Their scores.
    strata : Strata, optional
        Of all rows; they are the sampling units.
    """
    rows, scores = np.concatenate(tests), np.concatenate(held_out)
    positive, weight = labelled.positive[rows], labelled.weight_of(rows)
    fold = np.repeat(np.arange(len(tests)), [*map(len, tests)])
    if strata is not None:
        of_rows = positive, weight, scores
        return interval_within_folds(of_rows, strata.code[rows], fold, strata.weighting)
    # a row may be held out several times, and rows of a group together
    groups = rows if labelled.groups is None else labelled.groups[rows]
    return cv_auc_interval(positive, scores, fold, sample_weight=weight, groups=groups)
