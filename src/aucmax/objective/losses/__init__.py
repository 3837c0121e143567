"""Losses as functions of the scores; they never see X.

A `RankingLoss` of all scores stays the same when all of them move by a constant: a `PairwiseLoss`
is a mean over pairs of a positive and a negative row, `BalancedLogistic` one over rows, at the best
threshold. A `UnivariateLoss` is taken at the margin of each row.
"""

from aucmax.objective.losses.base import Bends, ByRow, Kind, LossAt, RankingLoss
from aucmax.objective.losses.logistic import AtThreshold, BalancedLogistic
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
    "UNIVARIATE_LOSSES",
    "AtThreshold",
    "BalancedLogistic",
    "Bends",
    "ByRow",
    "Exponential",
    "Hinge",
    "Kind",
    "LogisticLoss",
    "LossAt",
    "PairwiseLoss",
    "RankingLoss",
    "RoundedHinge",
    "RoundedMargin",
    "RowSum",
    "Square",
    "SquareMargin",
    "SquaredHinge",
    "UnivariateHinge",
    "UnivariateLoss",
    "bend1",
    "derivative1",
]

LOSSES: dict[str, RankingLoss] = {
    loss.name: loss for loss in (Square(), SquaredHinge(), Hinge(), BalancedLogistic())
}
