"""What drives the scores of fitted models, column by column: effects, reasons, shapes, exports."""

from aucmax.explain.feature_effects import effects
from aucmax.explain.row_reasons import reasons

__all__ = ["effects", "reasons"]
