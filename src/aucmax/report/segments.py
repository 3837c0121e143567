"""How well segments of the rows are ranked: AUC, recall and calibration of each, and between them.

Segments are parts of the same rows, which share one threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucmax.data.segments import Segments
from aucmax.metrics import AUCInterval, MeasureInterval, influence
from aucmax.metrics.influence import Influence, Scores
from aucmax.metrics.measured import by_group, interval_of
from aucmax.metrics.reading import Bools, Floats
from aucmax.metrics.scored import Scored
from aucmax.metrics.segments import Equality, correlations, equal_rates, equal_values
from aucmax.report.figures import Cells, Figure
from aucmax.report.measures import Measures
from aucmax.report.page import ResultTable, Section
from aucmax.report.reports import inline, optional
from aucmax.report.style import stroke
from aucmax.report.text import (
    auc_text,
    clipped,
    counted,
    interval_text,
    p_words,
    percent_text,
    plain_number,
)

__all__ = ["Segment", "Segmented"]

_MAX_LETTERS, _MAX_LETTERS_BETWEEN = 24, 16  # of a name in a table, for 80 columns in all


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A segment; None stands for what its rows cannot measure."""

    segment: str
    rows: int
    positives: int
    auc: AUCInterval | None
    flagged_at_k: float  # the share of its rows that are among the k highest of all
    recall_at_k: MeasureInterval | None
    fpr: float | None  # at the threshold that has the rate in all rows
    recall_at_fpr: MeasureInterval | None
    predicted: float | None = optional()  # the mean probability
    observed: MeasureInterval | None = optional()  # the share of positives


@dataclass(frozen=True, kw_only=True)
class EqualityOf:
    """The test that a measure is equal in all segments."""

    measure: str
    test: Equality = inline()


@dataclass(frozen=True, kw_only=True)
class Segmented:
    """The rows by segments.

    Parameters
    ----------
    column : str
        The column that has them.
    segments : sequence of Segment
        Each by itself.
    equality : sequence of EqualityOf
        Tests that AUC, recalls and calibration are equal in all of them.
    between : sequence of sequence of AUCInterval or None
        How positives of a segment (rows) rank among negatives of another (columns).
    """

    column: str
    segments: Sequence[Segment]
    equality: Sequence[EqualityOf]
    between: Sequence[Sequence[AUCInterval | None]]

    @classmethod
    def of(
        cls,
        test: Scored,
        values: NDArray[Any],
        column: str,
        measures: Measures,
        chance: NDArray[Any] | None,
    ) -> Segmented:
        """Measure each segment, given the values of its column and probabilities, if there are any.

        ``measures`` are the k, the false-positive rate and the confidence.
        """
        rows = _Rows.of(test, values, column, measures, chance)
        measured = [rows.measured(k) for k in range(len(rows.segments.names))]
        return cls(
            column=column,
            segments=[
                rows.segment(k, parts, measures.confidence) for k, parts in enumerate(measured)
            ],
            equality=rows.equality(measured),
            between=rows.between(measures.confidence),
        )

    def section(self, measures: Measures, auc: float) -> Section:
        """Return a section of a page; ``auc`` is that of all rows."""
        percent = f"{100 * measures.confidence:g} % interval"
        lead = (
            "All segments share one threshold. p is from a χ² test that all are equal; with "
            "several tests a small p may be chance."
        )
        tables = [
            self._table(
                ("rows", "positives", "AUC", percent),
                lambda s: (f"{s.rows:,}", f"{s.positives:,}", *_with_interval(s.auc)),
                self._equal("AUC", "auc"),
            ),
            self._table(
                ("flagged", "recall", percent),
                lambda s: (percent_text(s.flagged_at_k), *_with_interval(s.recall_at_k)),
                f"Flagged: {measures.k_highest}. " + self._equal("recall", "recall_at_k"),
            ),
            self._table(
                ("FPR", "recall", percent),
                lambda s: (
                    "–" if s.fpr is None else auc_text(s.fpr),
                    *_with_interval(s.recall_at_fpr),
                ),
                f"Flagged: at the threshold with FPR ≤ {measures.fpr:g} in all rows. "
                + self._equal("recall", "recall_at_fpr"),
            ),
        ]
        if self.segments[0].predicted is not None:
            tables.append(
                self._table(
                    ("predicted", "observed", percent),
                    lambda s: (auc_text(s.predicted or 0.0), *_with_interval(s.observed)),
                    "Mean probability, and share of positives. "
                    + self._equal("calibration", "calibration"),
                )
            )
        tables.append(self._table_between())
        return Section(f"By {self.column}", lead, tables, [self._map(auc)])

    def _table(
        self, head: Sequence[str], cells: Callable[[Segment], tuple[str, ...]], caption: str
    ) -> ResultTable:
        rows = [(clipped(s.segment, _MAX_LETTERS), *cells(s)) for s in self.segments]
        return ResultTable((clipped(self.column, _MAX_LETTERS), *head), rows, caption)

    def _equal(self, words: str, measure: str) -> str:
        """Return the test that a measure is equal in all segments, in words."""
        for entry in self.equality:
            if entry.measure == measure:
                chi2, freedom, p_value = entry.test
                degrees = counted(freedom, "degree")
                return (
                    f"Equal {words}: χ² = {plain_number(chi2)}, {degrees} of freedom, "
                    f"{p_words(p_value)}."
                )
        return f"Fewer than two segments have the rows to compare {words}."

    def _table_between(self) -> ResultTable:
        """Return the AUC of positives of each segment among negatives of each."""
        numbers = range(1, len(self.segments) + 1)
        rows = [
            (
                clipped(f"{number} {segment.segment}", _MAX_LETTERS_BETWEEN),
                *("–" if cell is None else auc_text(cell.auc, 3) for cell in line),
            )
            for number, segment, line in zip(numbers, self.segments, self.between, strict=True)
        ]
        caption = (
            "AUC between segments: positives of the row's segment among negatives of the column's, "
            "which is given by its number."
        )
        return ResultTable(("positives of", *map(str, numbers)), rows, caption)

    def _map(self, auc: float) -> Figure:
        """Return a map of the AUC between segments, compared with that of all rows."""
        names = [segment.segment for segment in self.segments]
        positives = np.array([segment.positives for segment in self.segments])
        negatives = np.array([segment.rows for segment in self.segments]) - positives
        pairs = np.outer(positives, negatives) / (positives.sum() * negatives.sum())
        apart = np.array(
            [[np.nan if cell is None else cell.auc - auc for cell in line] for line in self.between]
        )
        down, right = np.nonzero(np.isfinite(apart))
        added, share = apart[down, right], pairs[down, right]
        lines = {}
        for words, chosen, colour in (("above", added > 0, 1), ("below", added <= 0, 0)):
            furthest = float(np.abs(added[chosen]).max(initial=0.0))
            lines[f"{words} the AUC of all rows"] = Cells(
                right[chosen].astype(float), down[chosen].astype(float), alone=True,
                detail=f"by up to {plain_number(furthest)}" if furthest else "",
                stroke=stroke(colour, 0), added=added[chosen], share=share[chosen],
                most_added=float(np.abs(added).max()) or 1.0, largest_share=float(share.max()),
            )  # fmt: skip
        return Figure(
            "between segments", "AUC between segments", "negatives of", "positives of", lines,
            f"How positives of one segment of {self.column} rank among negatives of another, "
            f"compared with the AUC of all rows, {auc_text(auc)}: a stronger colour means a "
            "larger difference, and a larger box more pairs.",
            names=names, columns=names, shares_of="of the pairs",
        )  # fmt: skip


def _with_interval(value: AUCInterval | MeasureInterval | None) -> tuple[str, str]:
    if value is None:
        return "–", "–"
    return auc_text(value[0]), interval_text(value.low, value.high)


class _Measured(NamedTuple):
    """The influences of the rows of a segment, by groups; None where it lacks a class."""

    auc: Influence | None
    recall_at_k: Influence | None
    recall_at_fpr: Influence | None
    observed: Influence
    calibration: Influence | None  # of the share of positives less the mean probability
    noise: float  # the variance of the share, by the probabilities
    of_rows: dict[str, Influence]  # of the rates, as if rows were independent


class _Rows(NamedTuple):
    """Scored rows, all of which have weight, with their segments."""

    test: Scored
    segments: Segments
    group: NDArray[np.intp] | None
    flagged: tuple[Floats, Floats]  # how much of each row is among the k highest, and at the FPR
    chance: Floats | None

    @classmethod
    def of(
        cls,
        test: Scored,
        values: NDArray[Any],
        column: str,
        measures: Measures,
        chance: NDArray[Any] | None,
    ) -> _Rows:
        if test.weight is not None:
            weighs = test.weight > 0
            values, chance = values[weighs], None if chance is None else chance[weighs]
            test = test.of_weight()
        scores = Scores(test.positive, test.weight, test.score)
        flagged = (
            influence.flagged_at_k(measures.k, scores),
            influence.flagged_at_fpr(measures.fpr, scores),
        )
        group = None if test.groups is None else np.unique(test.groups, return_inverse=True)[1]
        return cls(test, Segments.of(values, column), group, flagged, chance)

    def measured(self, k: int) -> _Measured:
        """Return the influences of the rows of a segment."""
        positive, score, weight = self.test.positive, self.test.score, self.test.weights
        own = np.flatnonzero(self.segments.code == k)
        hits = own[positive[own]]
        of_rows: dict[str, tuple[Influence, NDArray[np.intp]]] = {}
        calibration = None
        if 0 < len(hits) < len(own):
            scores = Scores(positive[own], weight[own], score[own])
            of_rows["auc"] = influence.area(scores), own
        if len(hits):
            for name, share in zip(("recall_at_k", "recall_at_fpr"), self.flagged, strict=True):
                of_rows[name] = influence.rate(share[hits], weight[hits]), hits
        observed, noise = influence.rate(positive[own].astype(float), weight[own]), 0.0
        if self.chance is not None:
            chance, total = self.chance[own], weight[own].sum()
            apart = positive[own] - chance
            mean = float(weight[own] @ apart) / total
            moved = weight[own] * (apart - mean) / total
            calibration = self._by_group(Influence(mean, moved, weight[own]), own)
            noise = float((weight[own] ** 2) @ (chance * (1.0 - chance))) / total**2
        rates = {name: self._by_group(*part) for name, part in of_rows.items()}
        return _Measured(
            auc=rates.get("auc"),
            recall_at_k=rates.get("recall_at_k"),
            recall_at_fpr=rates.get("recall_at_fpr"),
            observed=self._by_group(observed, own),
            calibration=calibration,
            noise=noise,
            of_rows={name: part for name, (part, _) in of_rows.items()},
        )

    def _by_group(self, of_rows: Influence, rows: NDArray[np.intp]) -> Influence:
        if self.group is None:
            return of_rows
        return by_group(of_rows, self.group[rows], int(self.group.max()) + 1)

    def segment(self, k: int, parts: _Measured, confidence: float) -> Segment:
        """Return the report of a segment."""
        positive, weights = self.test.positive, self.test.weights
        own = self.segments.code == k
        negatives = own & ~positive
        of_k, of_fpr = self.flagged
        predicted = (
            None if self.chance is None else np.average(self.chance[own], None, weights[own])
        )
        return Segment(
            segment=self.segments.names[k],
            rows=int(own.sum()),
            positives=int(positive[own].sum()),
            auc=self._area(own, confidence),
            flagged_at_k=float(np.average(of_k[own], weights=weights[own])),
            recall_at_k=_interval(parts.recall_at_k, confidence),
            fpr=float(np.average(of_fpr[negatives], weights=weights[negatives]))
            if negatives.any()
            else None,
            recall_at_fpr=_interval(parts.recall_at_fpr, confidence),
            predicted=predicted,
            observed=_interval(parts.observed, confidence),
        )

    def _area(self, rows: Bools, confidence: float) -> AUCInterval | None:
        """Return the AUC of some rows with its interval; None if they lack a class."""
        part = self.test.at(rows)
        if part.positive.all() or not part.positive.any():
            return None
        return part.auc_interval(confidence)

    def between(self, confidence: float) -> list[list[AUCInterval | None]]:
        """Return the AUC of positives of each segment among negatives of each."""
        positive, code = self.test.positive, self.segments.code
        numbers = range(len(self.segments.names))
        return [
            [self._area(np.where(positive, code == a, code == b), confidence) for b in numbers]
            for a in numbers
        ]

    def equality(self, measured: Sequence[_Measured]) -> list[EqualityOf]:
        """Return the tests that measures are equal in all segments that have them."""
        tests = []
        for name in ("auc", "recall_at_k", "recall_at_fpr", "calibration"):
            parts = [part for of in measured if (part := getattr(of, name)) is not None]
            if len(parts) < 2:
                continue
            correlation = np.eye(len(parts)) if self.group is None else correlations(parts)
            if name == "calibration":
                values = np.array([part.value for part in parts])
                variances = [max(part.variance, of.noise)
                             for part, of in zip(parts, measured, strict=True)]  # fmt: skip
                test = equal_values(values, np.array(variances), correlation)
            else:
                rows = [of.of_rows[name] for of in measured if name in of.of_rows]
                test = equal_rates(parts, correlation, None if self.group is None else rows)
            tests.append(EqualityOf(measure=name, test=test))
        return tests


def _interval(part: Influence | None, confidence: float) -> MeasureInterval | None:
    return None if part is None else interval_of(part, confidence)
