"""What drives a model's score: its effects, its shapes, and why its highest scores are high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aucmax.columns.steps import Stages, parts_of
from aucmax.data.strata import Strata
from aucmax.estimators.sampled import weight_of_all
from aucmax.explain.by_column import ByColumn, by_column
from aucmax.explain.column_shapes import Shape, shapes_of
from aucmax.explain.feature_effects import Effects, effects_of, sample
from aucmax.explain.pair_shapes import PairShape, pair_shapes_of
from aucmax.explain.row_reasons import Reason, each_reasons
from aucmax.metrics.scored import Scored

__all__ = ["Explanation", "explanation_of", "rows_to_explain"]

_EXPLAINED_ROWS = 10  # number of scores that are explained
_REASONS_PER_ROW = 4  # number of reasons for each
_TESTED_TERMS = 10  # terms to leave out, one by one, to measure the AUC without each
_TESTED_ROWS = 10**5


@dataclass(frozen=True)
class Explanation:
    """What drives a linear model's score: effects, shapes, and reasons for the highest scores.

    Parameters
    ----------
    effects : Effects
    shapes : sequence of Shape
    maps : sequence of PairShape
    rows : int
        The number of rows on which this was measured.
    sample : Scored
        The sample of these rows on which the AUC without a term is measured.
    strata : Strata or None
        The strata of the sample, if the model compares rows within strata.
    without : mapping of str to ndarray
        The sample's scores without each of the largest terms.
    test : Scored
        All rows.
    highest : sequence of int
        Row numbers of the highest scores.
    reasons : sequence of sequence of Reason
        The reasons for each of these.
    """

    effects: Effects
    shapes: Sequence[Shape]
    maps: Sequence[PairShape]
    rows: int
    sample: Scored
    strata: Strata | None
    without: Mapping[str, np.ndarray]
    test: Scored
    highest: Sequence[int]
    reasons: Sequence[Sequence[Reason]]


def explanation_of(
    stages: Stages,
    test: Scored,
    confidence: float,
    rows: np.ndarray | None = None,
    strata: Strata | None = None,
) -> Explanation | None:
    """Explain a linear model on all rows of a test, or on those with the numbers ``rows``.

    Return None if the model is not linear. Strata (n,) are ignored unless the model was fitted
    within strata.
    """
    linear = parts_of(stages.model)[1]
    if not hasattr(linear, "coef_"):
        return None
    positive, score, weight, groups = test
    if rows is None:
        rows = np.arange(len(score))
        if weight is not None and not weight.all():
            rows = np.flatnonzero(weight)
            stages, weight = stages.at(rows), weight[rows]
    else:
        weight = weight_of_all(positive, test[2], rows)
    by, sign = by_column(stages), np.where(positive[rows], 1.0, -1.0)
    if strata is not None:
        fitted = hasattr(linear, "strata_")
        strata = strata.weighed(linear.strata_weight).at(rows) if fitted else None
    effects, sampling = effects_of(by, sign, weight, confidence, strata)
    top = np.argsort(-score[rows], kind="stable")[:_EXPLAINED_ROWS]
    tested = sample(sign, _TESTED_ROWS)
    sampled = Scored(
        positive[rows][tested],
        score[rows][tested],
        None if weight is None else weight_of_all(sign > 0, weight, tested),
        None if groups is None else groups[rows][tested],
    )
    return Explanation(
        effects=effects,
        shapes=[*shapes_of(by, effects, sampling, confidence, weight)],
        maps=[*pair_shapes_of(by, effects, weight)],
        rows=len(rows),
        sample=sampled,
        strata=None if strata is None else strata.at(tested),
        without=_without(by, effects, sampled.score, tested),
        test=test,
        highest=rows[top].tolist(),
        reasons=list(each_reasons(by, _REASONS_PER_ROW, by.mean_added(weight), top)),
    )


def _without(
    by: ByColumn, effects: Effects, score: np.ndarray, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the scores of some rows without each of the largest terms."""
    names, place = effects.feature[:_TESTED_TERMS].tolist(), {t: j for j, t in enumerate(by.names)}
    added = by.features[rows] @ by.weights[:, [place[name] for name in names]].toarray()
    return dict(zip(names, (score[:, None] - added).T, strict=True))


def rows_to_explain(test: Scored, most: int) -> np.ndarray:
    """Return the numbers of a sample of rows, ascending, including those of the highest scores.

    Each class has half of the sample, evenly spread, or all of its rows.
    """
    positive, score, weight, _ = test
    counted = np.ones(len(score), dtype=bool) if weight is None else weight > 0
    highest = np.argsort(-score, kind="stable")
    chosen = [highest[counted[highest]][:_EXPLAINED_ROWS]]
    for is_positive in (True, False):
        rows = np.flatnonzero((positive == is_positive) & counted)
        at = np.linspace(0, len(rows) - 1, min(len(rows), max(most // 2, 2)))
        chosen.append(rows[at.astype(np.intp)])
    return np.unique(np.concatenate(chosen))
