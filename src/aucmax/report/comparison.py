"""Comparison of scorers: paired tests, dots with intervals, and groups that do not differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aucmax import metrics
from aucmax.metrics.scored import Scored
from aucmax.report.figures import Figure, Line, upright
from aucmax.report.style import stroke
from aucmax.report.text import verdict

__all__ = ["Difference", "areas_figure", "differences_figure", "few_rows_note", "paired_test"]

ROWS_FOR_TEST = 50  # rows of the smaller class below which DeLong's p is approximate

Interval = tuple[float, float, float]  # an estimate and the ends of its interval


def areas_figure(names: Sequence[str], areas: Sequence[Interval], caption: str) -> Figure:
    """Make a figure of the AUC of each scorer, as dots with intervals, best first."""
    return Figure(
        "areas", "Test AUC", "AUC", "", {"AUC": _dots(areas)}, caption, names=list(names),
        guide=upright(areas[0][0], len(names)),
    )  # fmt: skip


def differences_figure(
    names: Sequence[str],
    differences: Sequence[Interval],
    groups: Sequence[tuple[int, int]],
    caption: str,
) -> Figure:
    """Make a figure of each scorer's difference from the best, with indistinguishable groups.

    Parameters
    ----------
    names : sequence of str
        The scorers, best first.
    differences : sequence of (difference, low, high)
        AUC minus that of the first.
    groups : sequence of (int, int)
        The first and the last of each group without a significant difference, drawn as a bar.
    caption : str
        Below the figure.
    """
    line = _dots(differences)
    assert line.interval is not None
    low, high = float(np.min(line.interval[0])), max(float(np.max(line.interval[1])), 0.0)
    step = 0.04 * max(high - low, 1e-6)
    bars = {
        f"not told apart: {names[start]} to {names[end]}": Line(
            np.full(2, high + step * (i + 1)),
            np.array([start - 0.2, end + 0.2]),
            stroke=stroke(1 + i % 9, 0),
        )
        for i, (start, end) in enumerate(groups)
    }
    return Figure(
        "differences", "Which can be told apart", "AUC minus that of the best", "",
        {"difference": line, **bars}, caption, names=list(names),
        guide=upright(0.0, len(names)),
    )  # fmt: skip


def _dots(values: Sequence[Interval]) -> Line:
    middle, low, high = np.array(values, dtype=float).T
    return Line(middle, np.arange(len(middle), dtype=float), interval=(low, high), alone=True)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A paired test of two scorers: their difference in AUC, its interval and the verdict."""

    difference: float
    z: float
    p_value: float
    low: float
    high: float
    verdict: str
    note: str | None


def paired_test(
    is_positive: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    confidence: float = 0.95,
    weight: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Difference:
    """Return DeLong's paired test of two scorers."""
    scores = (is_positive, first, second)
    by: dict[str, Any] = {"sample_weight": weight, "groups": groups}
    test = metrics.auc_test(*scores, **by)
    _, low, high = metrics.auc_difference(*scores, confidence, **by)
    return Difference(
        **test._asdict(),
        low=low,
        high=high,
        verdict=verdict(test.difference, test.p_value),
        note=few_rows_note(is_positive, weight, groups),
    )


def few_rows_note(
    is_positive: np.ndarray, weight: np.ndarray | None, groups: np.ndarray | None = None
) -> str | None:
    """Return a note that DeLong's p is approximate if a class has few rows or groups, else None."""
    test = Scored(is_positive, is_positive, weight, groups)
    rows, unit = min(map(test.effective, (True, False))), "rows" if groups is None else "groups"
    if rows >= ROWS_FOR_TEST:
        return None
    return f"p is approximate with {rows:.0f} {unit} of a class; trust the interval."
