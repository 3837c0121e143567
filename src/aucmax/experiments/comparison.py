"""The report of ``aucmax compare``: tables, curves, and the convergence of the solvers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aucmax.data.labelled import Labelled
from aucmax.estimators.folds import Folding
from aucmax.experiments.methods import LOGISTIC, RIVALS, Task
from aucmax.experiments.other_measures import OtherMeasures
from aucmax.experiments.paired import PairedTest, confidence_of_each, groups_alike
from aucmax.experiments.runs import (
    REFERENCE_TOL,
    Contestant,
    Course,
    Split,
    compared,
    interval,
)
from aucmax.metrics import AUCInterval, MeasureInterval
from aucmax.metrics.scored import Scored
from aucmax.report.comparison import areas_figure, differences_figure, few_rows_note
from aucmax.report.curves import ScoredSets, ranking_figures
from aucmax.report.facts import TrainingRows, dropped_text
from aucmax.report.figures import Figure, convergence_figure
from aucmax.report.measures import Measures
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, inline, optional, unlisted
from aucmax.report.text import auc_text, counted, gap_text, interval_text, verdict

__all__ = ["Comparison"]

_STRATA = ("stratum", "strata")
_TEST_OF_SPLITS = "Nadeau and Bengio's corrected resampled t-test"
_TESTS_OF_ROWS = ("DeLong's paired test", "the paired test of the AUC within strata")


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results of an algorithm."""

    auc: float
    auc_std: float | None
    auc_interval: AUCInterval
    aucs: Sequence[float]
    intervals: Mapping[str, MeasureInterval]  # of the other measures
    seconds: float
    optimality: float | None
    gap: float | None
    warning: str | None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The paired tests of an algorithm against the reference: of the AUC, and of other measures."""

    test: PairedTest = inline()
    verdict: str
    measures: Mapping[str, PairedTest]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An algorithm: its results, or why it has none."""

    name: str
    status: str
    error: str | None
    results: Results | None = inline()
    against: Verdict | None = inline()

    @classmethod
    def of(
        cls,
        run: Contestant,
        first: Contestant | None,
        rows: Labelled,
        parts: Sequence[Split],
        task: Task,
        others: Mapping[str, OtherMeasures],
    ) -> Entry:
        """Describe an algorithm, tested against the first."""
        results = against = None
        if run.error is None:
            on_objective = run.results if run.on_objective else []
            results = Results(
                auc=float(np.mean(run.aucs)),
                auc_std=float(np.std(run.aucs, ddof=1)) if len(parts) > 1 else None,
                auc_interval=interval(run, rows, parts, task),
                aucs=run.aucs,
                intervals=others[run.name].intervals,
                seconds=float(np.mean([result.seconds for result in run.results])),
                optimality=max((result.optimality for result in on_objective), default=None),
                gap=max((result.gap for result in on_objective), default=None),
                warning=run.warning,
            )
            if first is not None and run is not first:
                test = compared(run, first, rows, parts, task)
                against = Verdict(
                    test=test,
                    verdict=verdict(test.difference, test.p_value),
                    measures=others[run.name].against(others[first.name]),
                )
        return cls(
            name=run.name, status=run.status, error=run.error, results=results, against=against
        )


@dataclass(frozen=True)
class FigureData:
    """What the figures show: the algorithms, best first."""

    names: Sequence[str]
    tests: Mapping[tuple[int, int], PairedTest]  # of all pairs, by position
    scored: Mapping[str, Sequence[Scored]]  # test sets of those whose curves are drawn
    courses: Mapping[str, Course]  # gaps over passes

    @classmethod
    def of(
        cls,
        runs: Sequence[Contestant],
        against: str | None,
        rows: Labelled,
        parts: Sequence[Split],
        task: Task,
        courses: Mapping[str, Course],
    ) -> FigureData:
        """Compare all pairs of the algorithms that ran."""
        runs = sorted(runs, key=lambda run: -float(np.mean(run.aucs)))
        confidence = confidence_of_each(len(runs))
        tests = {
            (i, j): compared(runs[j], runs[i], rows, parts, task, confidence)
            for i, j in itertools.combinations(range(len(runs)), 2)
        }
        scored = {
            run.name: [
                Scored.of(rows, part.test, result.score)
                for part, result in zip(parts, run.results, strict=True)
            ]
            for run in runs
            # the curves of many algorithms would hide each other
            if run is runs[0] or run.name in (against, LOGISTIC)
        }
        names = [run.name for run in runs]
        best_first = {name: courses[name] for name in names if name in courses}
        return cls(names, tests, scored, best_first)


@dataclass(frozen=True, kw_only=True)
class Comparison(Report):
    """The report of ``aucmax compare``."""

    rows: TrainingRows = inline()
    splits: int
    splitting: str
    dropped: int | None = optional()
    training_rows: int
    test_rows: int
    split_sizes: Sequence[tuple[int, int]]
    task: Task = inline()
    measures: Measures = inline()
    scale: str
    against: str | None
    unit: str  # that intervals count, and tests of one split: "row" or "group"
    test: str
    test_note: str | None
    solvers: Sequence[Entry]
    interrupted: bool
    figure_data: FigureData | None = unlisted()

    @classmethod
    def of(
        cls,
        rows: Labelled,
        facts: TrainingRows,
        runs: Sequence[Contestant],
        reference: str | None,
        parts: Sequence[Split],
        task: Task,
        measures: Measures,
        scale: str,
        interrupted: bool,
        courses: Mapping[str, Course] | None,
    ) -> Comparison:
        """Describe the results of algorithms on the same splits; figures need ``courses``."""
        finished = [run for run in runs if run.error is None]
        base = next((run for run in finished if reference in (None, run.name)), None)
        against = None if base is None else base.name
        tested, folding = parts[0].test, Folding.of(rows)
        of_tested = rows.positive[tested], rows.weight_of(tested), rows.groups_of(tested)
        others = {run.name: OtherMeasures(run, rows, parts, measures) for run in finished}
        return cls(
            rows=facts,
            splits=len(parts),
            splitting=folding.words,
            dropped=folding.dropped([(part.train, part.test) for part in parts]),
            training_rows=len(parts[0].train),
            test_rows=len(tested),
            split_sizes=[(len(part.train), len(part.test)) for part in parts],
            task=task,
            measures=measures,
            scale=scale,
            against=against,
            test=_TEST_OF_SPLITS if len(parts) > 1 else _TESTS_OF_ROWS[rows.strata is not None],
            unit="row" if rows.groups is None else "group",
            test_note=few_rows_note(*of_tested) if len(parts) == 1 else None,
            solvers=[Entry.of(run, base, rows, parts, task, others) for run in runs],
            interrupted=interrupted,
            figure_data=None
            if courses is None
            else FigureData.of(finished, against, rows, parts, task, courses),
        )

    @property
    def done(self) -> list[tuple[Entry, Results]]:
        """The algorithms that have results."""
        return [(entry, entry.results) for entry in self.solvers if entry.results is not None]

    @property
    def notes(self) -> list[tuple[str, str]]:
        """The messages of algorithms that failed or did not converge."""
        failed = [
            (entry.name, str(entry.error)) for entry in self.solvers if entry.status == "failed"
        ]
        return failed + [
            (entry.name, results.warning) for entry, results in self.done if results.warning
        ]

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        described, seed = str(self.rows), self.task.seed
        sections = [
            Section("Results", tables=self._tables()),
            Section("Other measures", tables=self._other_tables()),
        ]
        if self.notes:
            wrong = ResultTable(("", "message"), self.notes, words=(1,))
            sections.append(Section("What went wrong", tables=[wrong], on_terminal=False))
        if self.figure_data is not None:
            sections += self._figures(self.figure_data)
        splits = f"{counted(self.splits, 'split')}, {self.splitting}: {self._sizes()}; seed {seed}"
        if dropped := dropped_text(self.dropped, self.splits):
            splits += f"\n{dropped}"
        data = [("data", described), ("splits", f"{self.splits}, {self.splitting}")]
        return Page(
            f"Algorithms compared on {self.rows.data}",
            f"{described}\n{splits}\n{self._settings()}",
            sections,
            provenance=provenance(command, data, seed),
        )

    def _tables(self) -> list[ResultTable]:
        """Return the results of each algorithm, the paired tests, and how to read them."""
        best = auc_text(max(results.auc for _, results in self.done))
        strong = [i for i, (_, results) in enumerate(self.done) if auc_text(results.auc) == best]
        reached = [
            (
                entry.name,
                auc_text(results.auc),
                interval_text(*results.auc_interval[1:3]),
                _seconds(results.seconds),
                "–" if results.optimality is None else f"{results.optimality:.1e}",
                "–" if results.gap is None else gap_text(results.gap),
            )
            for entry, results in self.done
        ]
        caption = "\n".join(self._legend())
        head = ("", "test AUC", "95 % interval", "seconds", "optimality", "gap to J*")
        strong = strong if len(strong) < len(reached) else []
        tests = [
            (entry.name, entry.against.test) for entry in self.solvers if entry.against is not None
        ]
        if not tests:
            return [ResultTable(head, reached, caption, strong)]
        against = f"against {self.against}"
        return [
            ResultTable(head, reached, strong=strong),
            ResultTable.differences(against, tests, "95 % interval", caption),
        ]

    def _other_tables(self) -> list[ResultTable]:
        """Return the tables of each other measure: its values, and the paired tests."""
        tables, value = [], "value" if self.splits == 1 else "mean"
        shown = self.measures.shown(results.intervals for _, results in self.done)
        for measure, words in shown.items():
            intervals = [(entry.name, results.intervals[measure]) for entry, results in self.done]
            cells = [
                (name, auc_text(of.value), interval_text(of.low, of.high)) for name, of in intervals
            ]
            tables.append(ResultTable((words, value, "95 % interval"), cells))
            tests = [
                (entry.name, entry.against.measures[measure])
                for entry in self.solvers
                if entry.against is not None
            ]
            if tests:
                head = f"against {self.against}", tests, "95 % interval", ""
                tables.append(ResultTable.differences(*head, "difference"))
        tables[-1] = replace(tables[-1], caption="\n".join(self._other_legend()))
        return tables

    def _other_legend(self) -> list[str]:
        """Return how to read the tables of the other measures."""
        lines = []
        if self.rows.strata is not None:
            lines.append(f"Over all test rows, across strata of {self.rows.strata}.")
        if self.splits > 1:
            lines.append(
                f"Means of the splits; their intervals count a {self.unit} once, even if several "
                "splits test it."
            )
            test = f"{_TEST_OF_SPLITS}, as for the AUC"
        else:
            test = f"paired tests on the test rows, with independent {self.unit}s"
        return [*lines, f"difference, interval and p: {test}; a tie unless p < 0.05."]

    def _sizes(self) -> str:
        """Return how many rows a split trains on and tests on."""
        words = []
        for sizes in zip(*self.split_sizes, strict=True):
            low, high = min(sizes), max(sizes)
            words.append(f"{low:,}" if low == high else f"{low:,} to {high:,}")
        return f"{words[0]} rows to train and {words[1]} to test"

    def _settings(self) -> str:
        at = self.task
        scaled = "" if self.scale == "none" else ", rows of unit norm"
        return (
            f"loss {at.loss}, alpha {at.alpha:g}, l1 ratio {at.l1_ratio:g}, standardize "
            f"{at.standardize:g}{scaled}"
        )

    def _legend(self) -> list[str]:
        """Return which algorithms were left out, and how to read the tables."""
        causes: dict[str | None, list[str]] = {}
        for entry in self.solvers:
            if entry.status in ("unfit", "unfinished"):
                causes.setdefault(entry.error, []).append(entry.name)
        left_out = "; ".join(f"{', '.join(names)} ({error})" for error, names in causes.items())
        names = [entry.name for entry, _ in self.done]
        rivals = ", ".join(f"{name} ({RIVALS[name].note})" for name in names if name in RIVALS)
        own_objective = [
            entry.name
            for entry, results in self.done
            if results.gap is None and entry.name not in RIVALS
        ]
        within = self.rows.strata is not None
        unit, units = _STRATA if within else (self.unit, f"{self.unit}s")
        over, largest = f"on the test rows, with independent {units}", ""
        lines = [f"Left out: {left_out}."] if left_out else []
        if within:
            lines.append(f"test AUC: over pairs of the same {self.rows.strata} only.")
        if self.splits > 1:
            freedom = counted(self.splits - 1, "degree")
            over = f"over the {self.splits} splits, {freedom} of freedom"
            largest = ", the largest of the splits"
            lines.append(
                f"test AUC: mean of the splits; its interval counts a {unit} once, even if several "
                "splits test it."
            )
        lines += [
            f"difference, interval and p: {self.test} {over}; a tie unless p < 0.05, without "
            "correction for the number of tests.",
            *([self.test_note] if self.test_note else []),
            "seconds: one fit, mean of the splits. optimality and gap (J − J*) / J*: on the "
            f"training rows{largest}.",
        ]
        if own_objective:
            lines.append(f"With an objective of their own: {', '.join(own_objective)}.")
        if rivals:
            lines.append(
                "Settings chosen by cross-validation on the training rows, which the seconds "
                f"include: {rivals}."
            )
        return lines

    def _figures(self, data: FigureData) -> list[Section]:
        """Return the figures of AUCs and differences, the curves, and the solvers' convergence."""
        results_by_name = {entry.name: results for entry, results in self.done}
        auc = "AUC" if self.rows.strata is None else "AUC within strata"
        areas = {name: f"{auc} {auc_text(results_by_name[name].auc)}" for name in data.scored}
        at_best = [
            (results.auc, *results.auc_interval[1:3])
            for results in map(results_by_name.get, data.names)
            if results
        ]
        side_by_side = [
            areas_figure(
                data.names,
                at_best,
                "Bars: 95 % interval of each by itself. Two may overlap although the paired test "
                "tells them apart: see the other figure. Dotted: the best.",
            )
        ]
        if data.tests:
            side_by_side.append(self._differences(data))
        curves = ranking_figures(ScoredSets(data.scored), (areas, {}))
        pooled = "" if self.rows.strata is None else "Of all test rows, across strata."
        sections = [
            Section("Side by side", figures=side_by_side),
            Section("Curves", pooled, figures=curves),
        ]
        if data.courses:
            course = convergence_figure(
                data.courses,
                name="gap",
                title="Distance to the true optimum",
                caption="Relative gap (J − J*) / J* on the training rows of the first split, from "
                f"runs that stop at optimality {self.task.tol:g}; J* is the lowest value found, by "
                f"the batch solver at optimality {REFERENCE_TOL:g}. Below 1e-14 it is rounding.",
            )
            sections.append(Section("Convergence", figures=[course]))
        return sections

    def _differences(self, data: FigureData) -> Figure:
        """Return the differences from the best, and which algorithms cannot be told apart."""
        k, pairs = len(data.names), len(data.tests)
        differ = np.zeros((k, k), dtype=bool)
        for pair, test in data.tests.items():
            differ[pair] = not test.low <= 0 <= test.high
        from_best = [data.tests[0, j][:3] for j in range(1, k)]
        together = "They are 95 % intervals."
        if pairs > 1:
            together = (
                f"Those of all {pairs} pairs of algorithms hold together with 95 % confidence, so "
                "choosing the best on the same rows does no harm: each has "
                f"{100 * confidence_of_each(k):.4g} % (Bonferroni), and is wider than in the table."
            )
        return differences_figure(
            data.names,
            [(0.0, 0.0, 0.0), *from_best],
            groups_alike(differ),
            f"Dots: paired differences from the best, with intervals by {self.test}. {together} "
            "Vertical bars join algorithms that cannot be told apart: the intervals of all "
            "their differences contain 0.",
        )


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"
