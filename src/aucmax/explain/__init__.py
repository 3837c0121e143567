"""What drives the scores of fitted models, column by column: effects, reasons, shapes, exports."""

from aucmax.explain.feature_effects import effects
from aucmax.explain.row_reasons import reasons
from aucmax.explain.within_strata import odds_ratios

__all__ = ["effects", "odds_ratios", "reasons"]
