"""The report of ``aucmax scorecard``: the table of points, and how well they rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from aucmax import metrics
from aucmax.basics.visible import in_line
from aucmax.data.labelled import Labelled
from aucmax.report.facts import TrainingRows
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, inline

__all__ = ["SEED", "Column", "HeldOut", "LaterRows", "Points", "Quality", "Scale"]

SEED = 0  # of the folds
# loss of information value by a trend from which the page mentions it
_MAX_LOST_IV = 0.1


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How well points rank: the fewer, the more likely positive."""

    gini: float
    auc: float
    ks: float
    auc_within: float | None  # strata; None without any

    @classmethod
    def of(cls, rows: Labelled, points: np.ndarray) -> Self:
        """Measure how well points rank."""
        by_class = rows.positive, -points
        auc = metrics.roc_auc(*by_class, rows.weight)
        ks = metrics.ks_statistic(*by_class, rows.weight)
        auc_within = None
        if (strata := rows.coded_strata) is not None:
            auc_within = metrics.stratified_auc(*by_class, strata.code, rows.weight).auc
        return cls(gini=2 * auc - 1, auc=auc, ks=ks, auc_within=auc_within)

    @classmethod
    def mean(cls, qualities: Sequence[Quality]) -> Self:
        """Return the mean of several, which all have the same measures."""
        values: list[dict[str, Any]] = [vars(quality) for quality in qualities]
        names = [name for name, value in values[0].items() if value is not None]
        means: dict[str, Any] = {
            name: float(np.mean([own[name] for own in values])) for name in names
        }
        return cls(**values[0] | means)


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """The mean quality over folds."""

    folds: int
    quality: Quality = inline()


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The scale of the points."""

    pdo: float
    base_points: float
    base_odds: float

    def __str__(self) -> str:
        return (
            f"{self.base_points:g} points at {self.base_odds:g} to 1, twice the odds for "
            f"{self.pdo:g} more"
        )


@dataclass(frozen=True, kw_only=True)
class LaterRows:
    """How well the points rank other rows, and how far the population has shifted."""

    data: str
    rows: int
    quality: Quality | None  # None for rows without labels
    psi: float
    psi_of_features: Mapping[str, float]

    def __str__(self) -> str:
        change = "no change to speak of" if self.psi < 0.1 else "a change"
        if self.psi >= 0.25:
            change = "a large change"
        return in_line(f"PSI of the points on {self.data}: {self.psi:.3f}, {change}.")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a scorecard."""

    feature: str
    bins: int
    weight: float
    information_value: float
    information_value_without_trend: float
    fewest_points: int
    most_points: int


@dataclass(frozen=True, kw_only=True)
class Points(Report):
    """The report of ``aucmax scorecard``."""

    model: str
    rows: TrainingRows = inline()
    strata: str | None  # their column
    training: Quality
    held_out: HeldOut | None  # None where there are too few rows of a class
    scale: Scale
    against: LaterRows | None
    by_column: Sequence[Column]  # the most informative first
    bins: Sequence[Mapping[str, Any]]  # as `Scorecard.rows` lists them

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        fewer = f"the fewer, the more likely {self.rows.positive}"
        facts = [("scale", f"{self.scale}; {fewer}"), ("saved", self.model)]
        tables = [self._ranking(), ResultTable.facts(facts)]
        sections = [Section("The scorecard", tables=tables)]
        if self.against is not None:
            sections.append(Section("Rows then and now", str(self.against)))
        sections += [
            Section("Columns", tables=[self._columns()]),
            Section("Points", tables=[self._bins()]),
        ]
        described = str(self.rows)
        return Page(
            f"Scorecard of {self.rows.data}",
            described,
            sections,
            provenance=provenance(command, [("data", described)], SEED),
        )

    def _ranking(self) -> ResultTable:
        """Return how well the points rank, in training and elsewhere."""
        measured = [("training rows", self.training)]
        if self.held_out is not None:
            measured.append((f"{self.held_out.folds} folds, held out", self.held_out.quality))
        if self.against is not None and self.against.quality is not None:
            measured.append((self.against.data, self.against.quality))
        within = self.strata is not None
        head = ("", "Gini", "KS", "AUC", *(("within",) if within else ()))
        rows = [
            (
                name, f"{q.gini:.4f}", f"{q.ks:.4f}", f"{q.auc:.4f}",
                *(("" if q.auc_within is None else f"{q.auc_within:.4f}",) if within else ()),
            )
            for name, q in measured
        ]  # fmt: skip
        caption = f"Within: the AUC over pairs of the same {self.strata}." if within else ""
        return ResultTable(head, rows, in_line(caption))

    def _columns(self) -> ResultTable:
        """Return the weight, the information value and the points of each column."""
        psi = {} if self.against is None else self.against.psi_of_features
        head = ("feature", "bins", "weight", "IV", "points", *(("PSI",) if psi else ()))
        rows = [
            (
                column.feature, str(column.bins), f"{column.weight:.2f}",
                f"{column.information_value:.3f}",
                f"{column.fewest_points} to {column.most_points}",
                *((f"{psi[column.feature]:.3f}",) if psi else ()),
            )
            for column in self.by_column
        ]  # fmt: skip
        caption = "IV, the information value: how well a column separates the classes by itself."
        caption += "".join(
            f" {column.feature} rises and falls: without a trend its IV would be "
            f"{column.information_value_without_trend:.3f} (--monotone {column.feature}=none)."
            for column in self.by_column
            if column.information_value_without_trend >= column.information_value + _MAX_LOST_IV
        )
        return ResultTable(head, rows, in_line(caption))

    def _bins(self) -> ResultTable:
        """Return the points of each bin, the most informative column first."""
        rank = {column.feature: place for place, column in enumerate(self.by_column)}
        lines, previous = [], None
        for row in sorted(self.bins, key=lambda row: rank[row["feature"]]):
            name = "" if row["feature"] == previous else row["feature"]
            previous = row["feature"]
            lines.append((
                name, row["bin"], f"{round(row['rows'], 1):,.10g}", f"{100 * row['share']:.1f}",
                f"{100 * row['rate']:.3g}", f"{row['woe']:+.3f}", str(row["points"]),
            ))  # fmt: skip
        head = ("feature", "bin", "rows", "% of rows", "% positive", "WoE", "points")
        caption = "WoE: log odds of the positives in a bin, over those in all rows."
        return ResultTable(head, lines, caption, words=(1,))
