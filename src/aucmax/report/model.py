"""The report of ``aucmax show``: what is in a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aucmax.report.facts import Fit
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.reports import Report, inline, optional

__all__ = ["Model", "Weight"]


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A feature's weight, and its effect where the spread of the features is known."""

    feature: str
    weight: float
    effect: float | None = optional()


@dataclass(frozen=True, kw_only=True)
class Model(Report):
    """The report of ``aucmax show``."""

    model: str
    type: str
    positive: Any
    negative: Any
    target: str | None
    features: int
    nonzero: int
    settings: Mapping[str, Any]
    fit: Fit = inline()
    keeps_moments: bool
    intercept: float
    weights: Sequence[Weight]  # the largest
    versions: Mapping[str, str | None]

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        target = f"  (column {self.target})" if self.target else ""
        versions = f"aucmax {self.versions['aucmax']}, scikit-learn {self.versions['sklearn']}"
        facts = [
            ("model", self.model),
            ("positive", f"{self.positive}{target}"),
            ("negative", self.negative),
            ("features", f"{self.features:,}, {self.nonzero:,} with a nonzero weight"),
            ("settings", ", ".join(f"{name} {value}" for name, value in self.settings.items())),
            ("intercept", f"{self.intercept:.6g}"),
            *self.fit.facts(),
            ("saved by", versions),
        ]
        tables = [ResultTable.facts(facts)]
        if self.weights:
            with_effect = self.weights[0].effect is not None
            rows = [
                (
                    one.feature,
                    f"{one.weight:+.4g}",
                    *([f"{one.effect:+.4g}"] if with_effect else []),
                )
                for one in self.weights
            ]
            hidden = self.features - len(rows)
            more = f"and {hidden:,} smaller ones (--top)" if hidden else ""
            head = ("feature", "weight", "effect")[: len(rows[0])]
            tables.append(ResultTable(head, rows, more))
        return Page(f"The model {self.model}", "", [Section("", tables=tables)])
