"""Measures other than the AUC over the splits of a comparison: their means, and paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aucmax.basics.checks import number
from aucmax.data.labelled import Labelled
from aucmax.experiments.paired import PairedTest, resampled_test
from aucmax.experiments.runs import Contestant, Split, test_share
from aucmax.metrics import MeasureInterval
from aucmax.metrics.influence import Scores
from aucmax.metrics.intervals import wilson
from aucmax.metrics.measured import interval_of, interval_of_recall, logit_ends, mean_of
from aucmax.metrics.reading import codes_of, read, row_count
from aucmax.report.measures import Measures

__all__ = ["OtherMeasures", "measures_of"]

_ENDS = {"average_precision": logit_ends}  # of an interval, where they are not Wilson's


def measures_of(
    rows: Labelled, parts: Sequence[Split], k: int | None, fpr: float, confidence: float = 0.95
) -> Measures:
    """Return what is measured; k is by default the mean number of positives that are tested.

    Raises ValueError for a k above the rows that some split tests.
    """
    fewest = min(int(rows.counted(part.test).sum()) for part in parts)
    if k is None:
        positives = np.mean([rows.positive[part.test].sum() for part in parts])
        k = min(round(float(positives)), fewest)
    row_count(k, fewest)
    number(fpr, "fpr", high=1.0)
    return Measures(confidence=confidence, k=k, fpr=fpr)


@dataclass(frozen=True, eq=False)
class OtherMeasures:
    """The measures of a contestant other than the AUC, by their names in `metrics`."""

    run: Contestant
    rows: Labelled
    parts: Sequence[Split]
    measures: Measures

    @cached_property
    def _splits(self) -> dict[str, tuple[list[float], MeasureInterval]]:
        """The values on the splits, and their mean."""
        rows, n = self.rows, len(self.rows.positive)
        unit = np.arange(n) if rows.groups is None else codes_of(rows.groups, "groups")[1]
        samples = []
        for part, result in zip(self.parts, self.run.results, strict=True):
            labelled = rows.positive[part.test], rows.weight_of(part.test), None
            *scored, units = read(*labelled, score=result.score, unit=unit[part.test])
            samples.append((Scores(*scored), units))
        splits, means, confidence = {}, {}, self.measures.confidence
        for name, measure in self.measures.influences.items():
            influences = [(measure(scores), units) for scores, units in samples]
            means[name] = mean = mean_of(influences, int(unit.max()) + 1)
            if name == "recall_at_k":
                interval = interval_of_recall(mean, means["precision_at_k"], confidence)
            else:
                interval = interval_of(mean, confidence, _ENDS.get(name, wilson))
            splits[name] = [of_rows.value for of_rows, _ in influences], interval
        return splits

    @property
    def intervals(self) -> dict[str, MeasureInterval]:
        """The means; a row, or a group, that several splits test counts once."""
        return {name: interval for name, (_, interval) in self._splits.items()}

    def against(self, first: OtherMeasures) -> dict[str, PairedTest]:
        """Return the paired tests: on the rows of one split, else over the splits."""
        if len(self.parts) > 1:
            share, level = test_share(self.parts), self.measures.confidence
            return {
                name: resampled_test(np.subtract(a, first._splits[name][0]).tolist(), share, level)
                for name, (a, _) in self._splits.items()
            }
        test = self.parts[0].test
        scores = (each.run.results[0].score for each in (self, first))
        by = {"sample_weight": self.rows.weight_of(test), "groups": self.rows.groups_of(test)}
        tests = self.measures.each("test", self.rows.positive[test], *scores, **by)
        return {name: PairedTest(*of_rows) for name, of_rows in tests.items()}
