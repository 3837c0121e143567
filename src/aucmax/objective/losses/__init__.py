"""Losses as functions of the scores: of pairs of rows, and of single rows. They never see X."""

from aucmax.objective.losses.base import Kind, PairSum
from aucmax.objective.losses.pairwise import (
    LOSSES,
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
    "Exponential",
    "Hinge",
    "Kind",
    "LogisticLoss",
    "PairSum",
    "PairwiseLoss",
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
