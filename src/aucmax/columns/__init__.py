"""Steps that make features of columns: those of this package, and what is known of others."""

from aucmax.columns import sklearn_steps
from aucmax.columns.binning import Binning
from aucmax.columns.encoder import TableEncoder
from aucmax.columns.splines import SplineFeatures

__all__ = ["Binning", "SplineFeatures", "TableEncoder", "sklearn_steps"]
