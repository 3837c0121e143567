"""What a linear model goes by: its features' effects, and the reasons for the scores of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from aucmax.report.figures import Figure, Line
from aucmax.report.page import ResultTable
from aucmax.report.text import plain_number

__all__ = ["effects_figure", "effects_table", "reasons_table", "reasons_text"]

Floats = NDArray[np.float64]


class Reason(Protocol):
    """What `aucmax.reasons` lists for a row."""

    @property
    def feature(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def raised(self) -> float: ...


class Effects(Protocol):
    """What `aucmax.effects` gives: arrays (d,), the largest effect first, and a note."""

    @property
    def feature(self) -> Any: ...
    @property
    def coef(self) -> Floats: ...
    @property
    def effect(self) -> Floats: ...
    @property
    def low(self) -> Floats: ...
    @property
    def high(self) -> Floats: ...
    @property
    def note(self) -> str: ...


def effects_figure(found: Effects, confidence: float = 0.95, most: int = 20) -> Figure:
    """Make a figure of the largest effects, as dots with intervals."""
    top = slice(min(most, int(np.count_nonzero(found.effect)) or 1))
    names = list(map(str, found.feature[top]))
    line = Line(
        found.effect[top],
        np.arange(len(names), dtype=float),
        interval=(found.low[top], found.high[top]),
        alone=True,
    )
    hidden = len(found.feature) - len(names)
    bars = found.note or (
        f"Bars: {100 * confidence:g} % intervals, how far the effects would vary between samples "
        "of as many rows, for these settings."
    )
    return Figure(
        "effects", "Effects of the features", "effect on the score", "", {"effect": line},
        "By how much the scores of two rows differ that differ in this feature as two rows do on "
        f"average. {bars}{f' {hidden:,} smaller ones are left out.' * (hidden > 0)}",
        names=names, guide=((0.0, 0.0), (-0.6, len(names) - 0.4)),
    )  # fmt: skip


def effects_table(found: Effects, confidence: float = 0.95, most: int = 20) -> ResultTable:
    """Make a table of the effects, their intervals and the weights."""
    columns = (found.feature, found.effect, found.low, found.high, found.coef)
    rows = [
        (
            str(name),
            _signed(effect),
            f"{_signed(low)} to {_signed(high)}" if np.isfinite(low) else "–",
            _signed(weight),
        )
        for name, effect, low, high, weight in zip(*(c[:most] for c in columns), strict=True)
    ]
    head = ("feature", "effect", f"{100 * confidence:g} % interval", "weight")
    hidden = len(found.feature) - len(rows)
    return ResultTable(head, rows, f"and {hidden:,} smaller ones" if hidden else "")


def reasons_table(
    rows: Sequence[int], score: Floats, positive: NDArray[np.bool_], why: Sequence[Sequence[Reason]]
) -> ResultTable:
    """Make a table of some rows, counted from 0, and of what raises the score of each most."""
    table = [
        (
            f"{row + 1:,}",
            plain_number(score[row], 4),
            "positive" if positive[row] else "negative",
            reasons_text(found) or "–",
        )
        for row, found in zip(rows, why, strict=True)
    ]
    caption = (
        "Rows are counted from 1. In brackets: by how much the feature raises the score above "
        "that of a row with the mean of it."
    )
    return ResultTable(("row", "score", "label", "reasons"), table, caption, words=(2, 3))


def reasons_text(found: Sequence[Reason]) -> str:
    """Write what raises a score: ``amount = 709.5 (+0.323), new = 1 (+0.232)``."""
    return ", ".join(
        f"{one.feature} = {plain_number(one.value, 4)} ({_signed(one.raised)})" for one in found
    )


def _signed(value: float) -> str:
    text = plain_number(abs(value))
    return text if text == "0" else f"{'-' if value < 0 else '+'}{text}"
