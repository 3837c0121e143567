"""Steps that make features from columns: this package's own, and a registry of others."""

from aucmax.columns import sklearn_steps
from aucmax.columns.additive import AdditiveFeatures
from aucmax.columns.binning import Binning
from aucmax.columns.encoder import TableEncoder
from aucmax.columns.splines import SplineFeatures
from aucmax.columns.summaries import TableSummary

__all__ = [
    "AdditiveFeatures",
    "Binning",
    "SplineFeatures",
    "TableEncoder",
    "TableSummary",
    "sklearn_steps",
]
