"""How well scorers rank within strata: the stratified AUC, its test, and the largest strata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax import metrics
from aucmax.data.strata import StrataWeight
from aucmax.metrics import AUCInterval, MeasureTest
from aucmax.metrics.scored import Scored
from aucmax.metrics.stratified import areas_within
from aucmax.report.page import ResultTable, Section
from aucmax.report.reports import inline
from aucmax.report.text import auc_text, clipped, counted, interval_text

__all__ = ["AgainstWithin", "Stratified"]

_MOST_STRATA = 10  # that are listed
_MAX_LETTERS = 28  # of their names
_EACH: dict[StrataWeight, str] = {
    "positives": "each weighted by its positives",
    "pairs": "each weighted by its pairs",
    "strata": "each weighted the same",
}


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """One of the strata with the most positives, by the first scorer."""

    stratum: str
    rows: int
    positives: int
    area: AUCInterval = inline()


@dataclass(frozen=True, kw_only=True)
class WithinStrata:
    """How well a scorer ranks within strata."""

    name: str
    area: AUCInterval = inline()


@dataclass(frozen=True, kw_only=True)
class AgainstWithin:
    """The first scorer's test against another, within strata."""

    model: str
    against: str
    test: MeasureTest = inline()


@dataclass(frozen=True, kw_only=True)
class Stratified:
    """Scorers within strata.

    Parameters
    ----------
    column : str
        The column of the strata.
    weighting : {"positives", "pairs", "strata"}
        What the weight of a stratum is proportional to.
    fitted : bool
        Whether the first scorer is a model that was fitted within strata.
    strata : int
        Their number.
    one_class : int
        Those with rows of one class only, which do not count.
    scorers : sequence of WithinStrata
        The stratified AUC.
    tests : sequence of AgainstWithin
        Of the first against the others.
    largest : sequence of Stratum
        The strata with the most positives.
    """

    column: str
    weighting: StrataWeight
    fitted: bool
    strata: int
    one_class: int
    scorers: Sequence[WithinStrata]
    tests: Sequence[AgainstWithin]
    largest: Sequence[Stratum]

    @classmethod
    def of(
        cls,
        scored: Mapping[str, Scored],
        strata: NDArray[Any],
        column: str,
        weighting: StrataWeight,
        confidence: float,
        fitted: bool,
    ) -> Stratified:
        """Measure scorers of the same rows."""
        (first, test), *rivals = scored.items()
        names, code = np.unique(strata, return_inverse=True)
        by: dict[str, Any] = {"sample_weight": test.weight, "confidence": confidence}
        by |= {"strata_weight": weighting}
        rows = np.arange(len(code)) if test.weight is None else np.flatnonzero(test.weight)
        ours = test.of_weight()
        counted_strata = areas_within(ours.positive, ours.weight, ours.score, code[rows])
        most = np.argsort(-counted_strata.pos, kind="stable")[:_MOST_STRATA]
        return cls(
            column=column,
            weighting=weighting,
            fitted=fitted,
            strata=len(np.unique(code[rows])),
            one_class=len(np.unique(code[rows])) - len(counted_strata.number),
            scorers=[
                WithinStrata(
                    name=name,
                    area=metrics.stratified_auc(own.positive, own.score, code, **by),
                )
                for name, own in scored.items()
            ],
            tests=[
                AgainstWithin(
                    model=first,
                    against=name,
                    test=metrics.stratified_auc_test(
                        test.positive, test.score, own.score, code, **by
                    ),
                )
                for name, own in rivals
            ],
            largest=[
                _stratum(str(names[number]), ours, code[rows] == number, confidence)
                for number in counted_strata.number[most].tolist()
            ],
        )

    @property
    def area(self) -> str:
        """The first scorer's AUC with its interval, in words."""
        auc, low, high, _ = self.scorers[0].area
        return f"AUC within {self.column} {auc_text(auc)} ({interval_text(low, high)})"

    def section(self, confidence: float) -> Section:
        """Return a section of a page."""
        percent = f"{100 * confidence:g} % interval"
        counting = self.strata - self.one_class
        one_class = ""
        if self.one_class:
            verb = "has" if self.one_class == 1 else "have"
            one_class = f"; {self.one_class:,} {verb} rows of one class only and no pairs"
        areas = [scorer.area for scorer in self.scorers]
        tables = [
            ResultTable(
                ("", *(scorer.name for scorer in self.scorers)),
                [
                    ("AUC within strata", *(auc_text(area.auc) for area in areas)),
                    (percent, *(interval_text(area.low, area.high) for area in areas)),
                ],
                f"Pairs of the same {self.column} only: {counted(counting, 'stratum', 'strata')} "
                f"of {self.strata:,}, {_EACH[self.weighting]}{one_class}. Intervals count strata.",
            )
        ]
        if self.tests:
            tests = [(entry.against, entry.test) for entry in self.tests]
            caption = "Paired test with strata as units; a tie unless p < 0.05."
            head = f"{self.scorers[0].name} against"
            tables.append(ResultTable.differences(head, tests, percent, caption))
        return Section(f"Within {self.column}", tables=tables)

    def section_of_largest(self, confidence: float) -> Section:
        """Return a section of the strata with the most positives, for the HTML page."""
        rows = [
            (
                clipped(own.stratum, _MAX_LETTERS),
                f"{own.rows:,}",
                f"{own.positives:,}",
                auc_text(own.area.auc),
                interval_text(own.area.low, own.area.high),
            )
            for own in self.largest
        ]
        head = (self.column, "rows", "positives", "AUC", f"{100 * confidence:g} % interval")
        caption = "The AUC of each by itself, with DeLong's interval."
        table = ResultTable(head, rows, caption)
        heading = f"Strata of {self.column} with the most positives"
        return Section(heading, tables=[table], on_terminal=False)


def _stratum(name: str, test: Scored, own: NDArray[np.bool_], confidence: float) -> Stratum:
    part = test.at(own)
    return Stratum(
        stratum=name,
        rows=len(part.score),
        positives=int(part.positive.sum()),
        area=part.auc_interval(confidence),
    )
