"""Losses as functions of the scores; they never see X.

A `RankingLoss` of all scores does not change when a constant is added to them: a `PairwiseLoss` is
a mean over pairs of a positive and a negative row, `Logistic` a mean over rows at the best
threshold. A `UnivariateLoss` is evaluated at the margin of each row.
"""

from aucmax.objective.losses.active_pairs import ActivePairs, PairsInParts
from aucmax.objective.losses.base import Bends, ByRow, Kind, LossAt, RankingLoss, Shares
from aucmax.objective.losses.conditional import (
    MOST_CELLS,
    ConditionalLogistic,
    StrataLikelihood,
    likelihoods,
)
from aucmax.objective.losses.logistic import AtThreshold, Logistic
from aucmax.objective.losses.pairwise import (
    Hinge,
    PairwiseLoss,
    RoundedHinge,
    Square,
    SquaredHinge,
)
from aucmax.objective.losses.univariate import (
    UNIVARIATE_LOSSES,
    Exponential,
    LogisticLoss,
    RoundedMargin,
    RowSum,
    SquareMargin,
    UnivariateHinge,
    UnivariateLoss,
    bend1,
    derivative1,
)

__all__ = [
    "LOSSES",
    "MOST_CELLS",
    "UNIVARIATE_LOSSES",
    "ActivePairs",
    "AtThreshold",
    "Bends",
    "ByRow",
    "ConditionalLogistic",
    "Exponential",
    "Hinge",
    "Kind",
    "Logistic",
    "LogisticLoss",
    "LossAt",
    "PairsInParts",
    "PairwiseLoss",
    "RankingLoss",
    "RoundedHinge",
    "RoundedMargin",
    "RowSum",
    "Shares",
    "Square",
    "SquareMargin",
    "SquaredHinge",
    "StrataLikelihood",
    "UnivariateHinge",
    "UnivariateLoss",
    "bend1",
    "derivative1",
    "likelihoods",
]

LOSSES: dict[str, RankingLoss] = {
    loss.name: loss for loss in (Square(), SquaredHinge(), Hinge(), Logistic())
}
