"""The odds ratios of conditional logistic regression, as a table of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aucmax.data.labelled import Labelled
from aucmax.explain.within_strata import odds_ratios, odds_ratios_in_parts
from aucmax.report.page import ResultTable, Section
from aucmax.report.reports import unlisted
from aucmax.report.text import left_out, p_text, plain_number

__all__ = ["OddsRatio", "OddsTable"]

_MOST_LISTED = 20
_NEXT_TO_NONE = 1e-6  # a penalty that only determines coefficients of dependent features


@dataclass(frozen=True, kw_only=True)
class OddsRatio:
    """The odds ratio of a feature, its 95 % interval, and Wald's test that it is 1."""

    feature: str
    coef: float
    std_error: float
    odds_ratio: float
    low: float
    high: float
    z: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class OddsTable:
    """The odds ratios of all features, or why there are none."""

    odds_ratios: Sequence[OddsRatio]
    no_odds_ratios: str = ""
    penalised: bool = unlisted(False)
    efron: int = unlisted(0)

    @classmethod
    def of(cls, rows: Labelled, model: Any, names: Sequence[str]) -> OddsTable | None:
        """Return the odds ratios of a model; None if it is not conditional logistic regression."""
        if rows.strata is None or model.loss != "logistic":
            return None
        arguments = rows.X, rows.labels, rows.strata, rows.weight
        try:
            if rows.in_parts:
                table = odds_ratios_in_parts(model, rows, names)
            else:
                table = odds_ratios(model, *arguments, feature_names=names)
        except ValueError as why:
            return cls(odds_ratios=[], no_odds_ratios=str(why))
        lines = [
            OddsRatio(**dict(zip(table._fields, line, strict=True)))
            for line in zip(*table, strict=True)
        ]
        penalised = model.alpha > _NEXT_TO_NONE
        return cls(odds_ratios=lines, penalised=penalised, efron=model.strata_.efron)

    def section(self) -> Section:
        """Return a section of a page, with the odds ratios that differ most clearly from 1."""
        if not self.odds_ratios:
            return Section("Odds ratios", f"There are none: {self.no_odds_ratios}")
        z = np.array([line.z for line in self.odds_ratios])
        order = np.argsort(-np.abs(np.nan_to_num(z)), kind="stable")[:_MOST_LISTED]
        rows = [_cells(self.odds_ratios[k]) for k in order.tolist()]
        notes = [
            "An odds ratio compares two rows of a stratum that differ by 1 in this feature alone; "
            "p is from Wald's test."
        ]
        if self.penalised:
            notes.append(
                "The penalty shrinks them towards 1: to report them, use --alpha 0, or 1e-6 if "
                "words have a column for each level."
            )
        if self.efron:
            notes.append(
                "Efron's form of the likelihood, for strata too large for the exact one, biases "
                "odds ratios and intervals towards 1 if a large share of a stratum is positive; "
                "logistic regression with an intercept for each stratum is nearly unbiased there."
            )
        if hidden := left_out(len(z) - len(rows), "less certain one", "less certain ones"):
            notes.append(hidden)
        head = ("feature", "odds ratio", "95 % interval", "p")
        return Section("Odds ratios", tables=[ResultTable(head, rows, " ".join(notes))])


def _cells(line: OddsRatio) -> tuple[str, str, str, str]:
    if np.isnan(line.std_error):
        return line.feature, plain_number(line.odds_ratio, 4), "–", "–"
    interval = f"{plain_number(line.low, 4)} to {plain_number(line.high, 4)}"
    return line.feature, plain_number(line.odds_ratio, 4), interval, p_text(line.p_value)
