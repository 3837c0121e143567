"""The report of ``aucmax evaluate``: a verdict, how many rows to flag, curves, explanations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aucmax import metrics
from aucmax.estimators.suspicions import Suspicion
from aucmax.explain.column_shapes import Shape
from aucmax.explain.explanation import Explanation
from aucmax.explain.pair_shapes import PairShape
from aucmax.metrics import MeasureInterval, MeasureTest
from aucmax.metrics.scored import Scored
from aucmax.report.comparison import Difference, paired_test
from aucmax.report.curves import (
    ScoredSets,
    gains_figure,
    lift_figure,
    measure_words,
    ranking_figures,
    roc_figure,
    wilson,
)
from aucmax.report.distributions import calibration_figure, score_figure
from aucmax.report.explained import (
    MAP_NOTE,
    effects_figure,
    effects_table,
    map_figures,
    reasons_table,
    shape_figures,
    without_table,
)
from aucmax.report.facts import Pass, Rows, read_text, suspicious
from aucmax.report.measures import Measures
from aucmax.report.operating import Budget, budgets, operating_points
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, inline, optional, unlisted
from aucmax.report.segments import Segmented
from aucmax.report.strata import AgainstWithin, Stratified
from aucmax.report.text import (
    auc_text,
    interval_text,
    left_out,
    p_words,
    percent_text,
    plain_number,
    verdict,
)

__all__ = ["Evaluation"]

_MAX_SHAPES = 12  # that are drawn
_COMPARED = {
    "tie": "It ties with",
    "better": "It ranks better than",
    "worse": "It ranks worse than",
}


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """How well scores rank."""

    name: str
    auc: float
    low: float
    high: float
    std_error: float
    average_precision: float
    precision_at_k: float
    recall_at_k: float
    recall_at_fpr: float
    intervals: Mapping[str, MeasureInterval]  # of these

    @classmethod
    def of(cls, name: str, test: Scored, measures: Measures) -> Scorer:
        """Measure scores."""
        positive, score, weight, groups = test
        by = {"sample_weight": weight, "groups": groups}
        intervals = measures.each("interval", positive, score, **by)
        return cls(
            name=name,
            **metrics.auc_interval(positive, score, measures.confidence, **by)._asdict(),
            **{measure: interval.value for measure, interval in intervals.items()},
            intervals=intervals,
        )

    @property
    def area(self) -> str:
        """The AUC with its interval, in words."""
        return f"AUC {auc_text(self.auc)} ({interval_text(self.low, self.high)})"


@dataclass(frozen=True, kw_only=True)
class AgainstAnother:
    """The first scorer's tests against another: that of the AUC, and those of other measures."""

    model: str
    against: str
    test: Difference = inline()
    measures: Mapping[str, MeasureTest]


@dataclass(frozen=True, kw_only=True)
class Evaluation(Report):
    """The report of ``aucmax evaluate``."""

    file: str
    rows: Rows = inline()
    measures: Measures = inline()
    scorers: Sequence[Scorer]
    tests: Sequence[AgainstAnother]
    budgets: Sequence[Budget]
    suspicions: Sequence[Suspicion] = ()
    stratified: Stratified | None = optional()
    segmented: Segmented | None = optional()
    read: Sequence[Pass] | None = optional()
    seed: int | None = unlisted()
    drawn: Mapping[str, Scored] = unlisted()  # test sets by scorer, for figures; may be empty
    chance: np.ndarray | None = unlisted()  # the first scorer's probabilities, if it gives any
    explanation: Explanation | None = unlisted()

    @classmethod
    def of(cls, scored: Mapping[str, Scored], measures: Measures, **more: Any) -> Evaluation:
        """Measure every scorer, and test the first against the others."""
        scorers = [Scorer.of(name, test, measures) for name, test in scored.items()]
        (name, (positive, scores, weight, groups)), *rivals = scored.items()
        tests = [
            AgainstAnother(
                model=name,
                against=against,
                test=paired_test(positive, scores, score, measures.confidence, weight, groups),
                measures=measures.each(
                    "test", positive, scores, score, sample_weight=weight, groups=groups
                ),
            )
            for against, (_, score, *_) in rivals
        ]
        flagged = budgets(scored[name])
        return cls(measures=measures, scorers=scorers, tests=tests, budgets=flagged, **more)

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        described = str(self.rows)
        if self.read:
            described += f"\nread: {read_text(self.read)}"
        sections = [self._results()]
        if (within := self.stratified) is not None:
            place = 0 if within.fitted else 1
            sections.insert(place, within.section(self.measures.confidence))
            sections.append(within.section_of_largest(self.measures.confidence))
        if self.segmented is not None:
            sections.append(self.segmented.section(self.measures, self.scorers[0].auc))
        if self.drawn:
            sections = [self._operating(), *sections, self._curves()]
            if self.explanation is not None:
                sections += _explained(self.explanation, self.measures.confidence)
        return Page(
            f"How well {self.scorers[0].name} ranks {self.rows.data}",
            described,
            [*suspicious(self.suspicions), *sections],
            provenance=provenance(command, [("data", described)], self.seed),
            verdict=self._verdict(),
        )

    def _verdict(self) -> str:
        """Return the conclusion in words."""
        budget = next((budget for budget in self.budgets if budget.first), None)
        flagging = [] if budget is None else [self._flagging(budget)]
        within, area = self.stratified, self.scorers[0].area
        paired: Sequence[AgainstAnother | AgainstWithin] = self.tests
        if within is not None and within.fitted:
            words = [f"{within.area}; {area} over all rows.", *flagging]
            name, paired = "AUC within strata", within.tests
            aucs = [scorer.area.auc for scorer in within.scorers[1:]]
        else:
            words = [*flagging, f"{area}."]
            name, aucs = "AUC", [scorer.auc for scorer in self.scorers[1:]]
        words += [
            f"{_COMPARED[verdict(entry.test.difference, entry.test.p_value)]} {entry.against} "
            f"({name} {auc_text(auc)}, {p_words(entry.test.p_value)})."
            for entry, auc in zip(paired, aucs, strict=True)
        ]
        return " ".join(words)

    def _flagging(self, budget: Budget) -> str:
        """Return what flagging a share of the rows finds."""
        flagged = f"{percent_text(budget.share)} of the rows with the highest scores"
        if not budget.hits:
            missed = f"hold none of the {_rows(budget.positives)} positives"
            return f"The {flagged} ({_rows(budget.flagged)}) {missed}."
        hits, trials = (budget.effective * count for count in (budget.hits, budget.positives))
        low, high = (float(end) for end in wilson(hits, trials, self.measures.confidence))
        alerts = f"One alert in {plain_number(budget.flagged / budget.hits, 2)} is right"
        if budget.flagged == budget.hits:
            alerts = "All alerts are right"
        return (
            f"Flag the {flagged} ({_rows(budget.flagged)}), and you find {_rows(budget.hits)} of "
            f"the {_rows(budget.positives)} positives: {percent_text(budget.recall)} (interval "
            f"{percent_text(low)} to {percent_text(high)}). {alerts}, "
            f"{plain_number(budget.lift, 2)} times as many as at random."
        )

    def _operating(self) -> Section:
        """Return a slider over the rows to flag, and the results of some budgets."""
        rows = [
            (
                percent_text(budget.share),
                _rows(budget.flagged),
                _rows(budget.hits),
                percent_text(budget.recall),
                percent_text(budget.precision),
                f"{plain_number(budget.lift)}×",
                plain_number(budget.flagged / budget.hits - 1) if budget.hits else "–",
                plain_number(budget.threshold, 4),
            )
            for budget in self.budgets
        ]
        head = (
            "flagged", "rows", "found", "recall", "precision", "lift", "false alarms per hit",
            "threshold",
        )  # fmt: skip
        strong = [i for i, budget in enumerate(self.budgets) if budget.first]
        weighted = "Rows count by their weights, scaled to 1 on average."
        flags = "rows with equal scores are flagged together or not at all"
        caption = f"For {self.scorers[0].name}; {flags}."
        return Section(
            "How many rows to flag",
            weighted if self.rows.weight is not None else "",
            tables=[ResultTable(head, rows, caption, strong, lesser=(5, 6))] if rows else [],
            points=[operating_points(name, test) for name, test in self.drawn.items()],
            on_terminal=False,
        )

    def _results(self) -> Section:
        measures, scorers = self.measures, self.scorers
        percent = f"{100 * measures.confidence:g} %"
        area = "AUC" if self.stratified is None else "AUC over all rows"
        cells: dict[str, Callable[[Scorer], str]] = {
            area: lambda s: auc_text(s.auc),
            f"{percent} interval": lambda s: interval_text(s.low, s.high),
        }
        rows = [(name, *map(cell, scorers)) for name, cell in cells.items()]
        for measure, name in self._shown.items():
            of_each = [scorer.intervals[measure] for scorer in scorers]
            rows.append((name, *(auc_text(of.value) for of in of_each)))
            rows.append((rows[1][0], *(interval_text(of.low, of.high) for of in of_each)))
        tables = [ResultTable(("", *(s.name for s in scorers)), rows, self._of_interval())]
        if self.tests:
            by_groups = " by groups" if self.rows.groups else ""
            caption = f"DeLong's paired test{by_groups} on the same rows; a tie unless p < 0.05."
            if note := self.tests[0].test.note:
                caption += f"\n{note}"
            tests = [(paired.against, paired.test) for paired in self.tests]
            head = f"{scorers[0].name} against"
            tables.append(ResultTable.differences(head, tests, f"{percent} interval", caption))
        for entry in self.tests:
            others = [(name, entry.measures[measure]) for measure, name in self._shown.items()]
            head, caption = f"against {entry.against}", "Paired tests of the other measures."
            interval = f"{percent} interval"
            table = ResultTable.differences(head, others, interval, caption, "difference")
            tables.append(table)
        return Section("Results", tables=tables)

    @property
    def _shown(self) -> dict[str, str]:
        """The measures in the tables."""
        return self.measures.shown(scorer.intervals for scorer in self.scorers)

    def _of_interval(self) -> str:
        """Return what the interval of the AUC is based on."""
        if self.rows.groups:
            return f"Intervals by {self.rows.in_groups}, wider with few groups."
        return (
            "Interval of the AUC from DeLong's variance, of the others from the influence of each "
            "row; wider with few rows."
        )

    def _curves(self) -> Section:
        scored = {name: [test] for name, test in self.drawn.items()}
        bands = list(scored)[:2]  # a third band would hide the others
        tests = ScoredSets(scored, self.measures.confidence, bands=bands)
        areas = {s.name: s.area for s in self.scorers}
        precisions = {
            s.name: measure_words("average precision", s.intervals["average_precision"])
            for s in self.scorers
        }
        figures = [
            *ranking_figures(tests, (areas, precisions)),
            gains_figure(tests),
            lift_figure(tests),
            roc_figure(tests, dict.fromkeys(scored, ""), few=True),
            score_figure(tests),
        ]
        if self.chance is not None:
            name, test = tests.first
            chance = {name: [test._replace(score=self.chance)]}
            figures.append(calibration_figure(replace(tests, scored=chance)))
        return Section("Curves", figures=figures, on_terminal=False)


def _rows(count: float) -> str:
    """Format a number of rows, or of their weights scaled to 1 on average."""
    return f"{count:,}" if isinstance(count, int) else plain_number(count)


def _explained(explanation: Explanation, confidence: float) -> list[Section]:
    """Return the sections that explain the model's scores."""
    positive, score, _, groups = explanation.test
    measured = (
        f"Measured on {explanation.rows:,} of the rows." if explanation.rows < len(score) else ""
    )
    if groups is not None:
        measured += " The intervals treat the rows as independent, not by groups."
    highest = reasons_table(explanation.highest, score, positive, explanation.reasons)
    return [
        Section(
            "What drives the score",
            measured.lstrip(),
            tables=[
                effects_table(explanation.effects, confidence),
                without_table(explanation, confidence),
            ],
            figures=[effects_figure(explanation.effects, confidence)],
            on_terminal=False,
        ),
        *_bends(explanation.shapes, confidence),
        *_maps(explanation.maps),
        Section("Why the highest scores are high", tables=[highest], on_terminal=False),
    ]


def _bends(shapes: Sequence[Shape], confidence: float) -> list[Section]:
    """Return a section with a figure for each nonlinear column; none if all are linear."""
    if not shapes:
        return []
    words = [
        "The score is a sum of functions, one for each column; straight lines without missing "
        "values are not drawn. Above 0, a value adds more to the score than its column does on "
        "average. All figures share one scale, which ignores the first and the last percent of the "
        "rows. Ticks at the bottom are deciles: a tenth of the rows lies between two of them."
    ]
    if np.isfinite(np.concatenate([shape.low for shape in shapes])).any():
        words.append(
            f"Bands and bars: {100 * confidence:g} % intervals at each value, for the variation "
            "between samples of as many rows, with these settings."
        )
    if len(shapes) > _MAX_SHAPES:
        hidden = len(shapes) - _MAX_SHAPES
        words.append(left_out(hidden, "that moves the score less", "that move the score less"))
    figures = shape_figures(shapes[:_MAX_SHAPES])
    heading = "How the score depends on each column"
    return [Section(heading, " ".join(words), figures=figures, on_terminal=False)]


def _maps(maps: Sequence[PairShape]) -> list[Section]:
    """Return a section with a figure for each pair of columns; none without pairs."""
    if not maps:
        return []
    words = [
        "The score also has a function of each of these pairs: what two columns add together, "
        "beyond what each adds alone, minus the average over the rows. "
        f"{MAP_NOTE} All figures share one scale of colours."
    ]
    if len(maps) > _MAX_SHAPES:
        hidden = len(maps) - _MAX_SHAPES
        words.append(left_out(hidden, "that moves the score less", "that move the score less"))
    figures = map_figures(maps[:_MAX_SHAPES])
    heading = "How the score depends on pairs of columns"
    return [Section(heading, " ".join(words), figures=figures, on_terminal=False)]
