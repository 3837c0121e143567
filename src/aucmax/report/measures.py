"""The measures of a report beside the AUC: average precision, precision and recall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aucmax import metrics
from aucmax.metrics import MeasureInterval, influence
from aucmax.metrics.influence import Measure

__all__ = ["Measures"]


@dataclass(frozen=True, kw_only=True)
class Measures:
    """What is measured."""

    confidence: float
    k: int
    fpr: float

    @property
    def k_highest(self) -> str:
        """The rows that are flagged, in words."""
        return f"the {self.k:,} rows with the highest scores overall"

    @property
    def influences(self) -> dict[str, Measure]:
        """The influence of rows on each measure but the AUC, by its name in `metrics`."""
        return {
            "average_precision": influence.average_precision,
            "precision_at_k": influence.precision_at_k(self.k),
            "recall_at_k": influence.recall_at_k(self.k),
            "recall_at_fpr": influence.recall_at_fpr(self.fpr),
        }

    def each(self, function: str, *rows: Any, **by: Any) -> dict[str, Any]:
        """Return the "interval" or "test" of each measure but the AUC, by its name in `metrics`."""
        settings: dict[str, tuple[float, ...]] = {
            "average_precision": (),
            "precision_at_k": (self.k,),
            "recall_at_k": (self.k,),
            "recall_at_fpr": (self.fpr,),
        }
        by |= {"confidence": self.confidence}
        return {
            name: getattr(metrics, f"{name}_{function}")(*rows, *setting, **by)
            for name, setting in settings.items()
        }

    def shown(self, scorers: Iterable[Mapping[str, MeasureInterval]]) -> dict[str, str]:
        """Return what a page calls each measure but the AUC, given those of each scorer.

        recall@k is left out where it is precision@k.
        """
        names = {
            "average_precision": "average precision",
            "precision_at_k": f"precision@{self.k}",
            "recall_at_k": f"recall@{self.k}",
            "recall_at_fpr": f"recall at FPR ≤ {self.fpr:g}",
        }
        if all(each["recall_at_k"].value == each["precision_at_k"].value for each in scorers):
            del names["recall_at_k"]
        return names
