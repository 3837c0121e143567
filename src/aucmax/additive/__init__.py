"""Features that let a linear model bend, one column at a time, and scorecards made of them."""

from aucmax.additive.binning import Binning
from aucmax.additive.scorecard import Scorecard
from aucmax.additive.splines import SplineFeatures

__all__ = ["Binning", "Scorecard", "SplineFeatures"]
