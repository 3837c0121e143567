"""Features that let a linear model bend, one column at a time, and scorecards made of them."""

from aucmax.columns import Binning, SplineFeatures
from aucmax.estimators.scorecard import Scorecard

__all__ = ["Binning", "Scorecard", "SplineFeatures"]
