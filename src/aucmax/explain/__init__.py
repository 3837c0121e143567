"""What fitted models go by, column by column: effects, and reasons for the scores of rows."""

from aucmax.explain.feature_effects import effects
from aucmax.explain.row_reasons import reasons

__all__ = ["effects", "reasons"]
