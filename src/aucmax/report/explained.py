"""Explanations of scores: effects and shapes of columns, reasons for single scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.data.columns import Column
from aucmax.explain.by_column import Value
from aucmax.explain.column_shapes import Shape
from aucmax.explain.explanation import Explanation
from aucmax.explain.feature_effects import Effects
from aucmax.explain.pair_shapes import PairShape
from aucmax.explain.row_reasons import Reason
from aucmax.metrics.stratified import stratified_auc_test
from aucmax.report.comparison import paired_test
from aucmax.report.figures import Cells, Figure, Line, upright
from aucmax.report.page import ResultTable
from aucmax.report.style import stroke
from aucmax.report.text import left_out, plain_number

__all__ = [
    "MAP_NOTE", "effects_figure", "effects_table", "map_figures", "reasons_table", "reasons_text",
    "shape_figures", "without_table",
]  # fmt: skip

Floats = NDArray[np.float64]

MAP_NOTE = (
    "A larger box means more rows, no box means none. Orange raises the score, blue lowers it; a "
    "stronger colour means a larger change. Numbers with many values are divided into tenths of "
    "the rows, each labelled with its median."
)
_MAX_WORDS = 20  # shown for a column of words
_MAX_NAMED_WORDS = 3  # of those with the same contribution
_SAME_SHARE = 1e-9  # of a shape's range: differences below it between words are rounding
_CROWDED_SHARE = 0.1  # of an axis: if most rows take up less of it, it is changed


def effects_figure(effects: Effects, confidence: float = 0.95, most: int = 20) -> Figure:
    """Make a figure of the largest effects, as dots with intervals."""
    top = slice(min(most, int(np.count_nonzero(effects.effect)) or 1))
    names = list(map(str, effects.feature[top]))
    line = Line(
        effects.effect[top],
        np.arange(len(names), dtype=float),
        interval=(effects.low[top], effects.high[top]),
        alone=True,
    )
    hidden = len(effects.feature) - len(names)
    omitted = left_out(hidden, "smaller one", "smaller ones")
    bars = effects.note or (
        f"Bars: {100 * confidence:g} % intervals, for the variation of the effects between "
        "samples of as many rows, with these settings."
    )
    return Figure(
        "effects", "Effects of the features", "effect on the score", "", {"effect": line},
        "Difference in score between two rows that differ in this column as much as two rows do on "
        f"average. {bars} {omitted}".rstrip(),
        names=names, guide=upright(0.0, len(names)),
    )  # fmt: skip


def effects_table(effects: Effects, confidence: float = 0.95, most: int = 20) -> ResultTable:
    """Make a table of the effects, their intervals and the weights."""
    columns = (effects.feature, effects.effect, effects.low, effects.high, effects.coef)
    rows = [
        (str(name), *_effect_cells(*numbers))
        for name, *numbers in zip(*(c[:most] for c in columns), strict=True)
    ]
    head = ("feature", "effect", f"{100 * confidence:g} % interval", "weight")
    hidden = len(effects.feature) - len(rows)
    notes = [f"and {hidden:,} smaller {'ones' if hidden > 1 else 'one'}"] if hidden else []
    if np.isnan(effects.coef[:most]).any():
        notes.append("A column with a nonlinear effect has no single weight, and no sign.")
    return ResultTable(head, rows, ". ".join(notes))


def _effect_cells(effect: float, low: float, high: float, weight: float) -> tuple[str, str, str]:
    unsigned = math.isnan(weight)
    text = plain_number if unsigned else _signed
    interval = f"{text(low)} to {text(high)}" if math.isfinite(low) else "–"
    return text(effect), interval, "–" if unsigned else _signed(weight)


def without_table(explanation: Explanation, confidence: float = 0.95) -> ResultTable:
    """Make a table of how much the AUC falls without each of the largest terms."""
    positive, score, weight, groups = explanation.sample
    strata = explanation.strata
    tests: list[tuple[str, Any]] = []
    for name, without in explanation.without.items():
        if strata is None:
            test: Any = paired_test(positive, score, without, confidence, weight, groups)
        else:
            by: dict[str, Any] = {"sample_weight": weight, "strata_weight": strata.weighting}
            test = stratified_auc_test(positive, score, without, strata.code, confidence, **by)
        tests.append((name, test))
    within = "" if strata is None else " within strata"
    caption = (
        f"What each of the largest terms adds to the AUC of these rows{within}: the AUC of the "
        "scores minus that of the scores without the term, without a new fit. A tie unless "
        "p < 0.05."
    )
    return ResultTable.differences("with", tests, f"{100 * confidence:g} % interval", caption)


def shape_figures(shapes: Sequence[Shape]) -> list[Figure]:
    """Make a figure of each column's shape, on one scale: curves for numbers, dots for words."""
    ends = [end for shape in shapes for end in _ends(shape)]
    room = 0.04 * (max(ends, default=0.0) - min(ends, default=0.0))
    scale = (min(ends, default=0.0) - room, max(ends, default=0.0) + room)
    return [_shape_figure(f"shape-{k + 1}", shape, scale) for k, shape in enumerate(shapes)]


def _ends(shape: Shape) -> tuple[float, float]:
    """Return the lowest and the highest of a shape and of the nearby parts of its intervals.

    Values in the first and the last percent of the rows are left out, or they would set the scale.
    """
    inner = np.ones(len(shape.values), dtype=bool)
    if len(shape.quantiles):
        inner = (shape.quantiles[0] <= shape.values) & (shape.values <= shape.quantiles[-1])
    low, high = shape.added[inner].min(), shape.added[inner].max()
    reach = 0.3 * (high - low)
    bottom, top = np.nanmin([*shape.low[inner], low]), np.nanmax([*shape.high[inner], high])
    return float(max(bottom, low - reach)), float(min(top, high + reach))


def _shape_figure(name: str, shape: Shape, scale: tuple[float, float]) -> Figure:
    """Make a figure of one column's shape."""
    adds = "adds to the score"
    title = f"feature {shape.feature}" if shape.feature.isdigit() else shape.feature
    interval = None if np.isnan(shape.low).all() else (shape.low, shape.high)
    if shape.values.dtype == object:
        first, names = _words_alike(shape)
        # those with the largest and the smallest contributions
        place = np.arange(len(first))
        shown = np.minimum(place, place[::-1]) < _MAX_WORDS // 2
        words = [names[k] for k in np.flatnonzero(shown)]
        first = first[shown]
        if interval is not None:
            interval = (shape.low[first], shape.high[first])
        line = Line(shape.added[first], np.arange(float(len(words))), interval, alone=True)
        hidden = len(names) - len(words)
        caption = left_out(hidden, "that lies between these", "that lie between these")
        zero = upright(0.0, len(words))
        return Figure(
            name, title, adds, "", {title: line}, caption, names=words, xlim=scale, guide=zero
        )
    line = Line(shape.values, shape.added, interval)
    ends, (xlog, xlim) = (shape.values[0], shape.values[-1]), _across(shape)
    notes = ["The axis is logarithmic."] if xlog else []
    if not math.isnan(shape.missing):
        notes.insert(0, f"Where it is missing: {_signed(shape.missing)}.")
    if xlim is not None:
        farthest = ends[0] if xlim[0] > ends[0] else ends[1]
        end = _place(farthest, shape.column)
        notes.append(f"The axis leaves out one percent of the rows, which reach {end}.")
    notes += _beyond(shape, scale)
    return Figure(
        name, title, title, adds, {title: line}, " ".join(notes), xlog=xlog, xlim=xlim, ylim=scale,
        guide=(ends, (0.0, 0.0)), xdate=shape.column.is_date, rug=shape.quantiles[1:-1].tolist(),
    )  # fmt: skip


def _words_alike(shape: Shape) -> tuple[NDArray[np.intp], list[str]]:
    """Return the first of each run of words with the same contribution, and the run's name.

    Spellings that differ in case only are one word.
    """
    numbers = np.nan_to_num(np.array([shape.added, shape.low, shape.high]))
    apart = np.abs(np.diff(numbers)).max(axis=0) > _SAME_SHARE * np.ptp(numbers)
    starts = np.flatnonzero(np.append(True, apart))
    names = []
    for run in np.split(shape.values, starts[1:]):
        words = list({word.casefold(): word for word in reversed(run.tolist())}.values())[::-1]
        if len(words) > _MAX_NAMED_WORDS:
            words[_MAX_NAMED_WORDS - 1 :] = [f"{len(words) - _MAX_NAMED_WORDS + 1:,} more"]
        names.append(", ".join(words))
    return starts, names


def _across(shape: Shape) -> tuple[bool, tuple[float, float] | None]:
    """Return whether the axis of a column is logarithmic, and its limits if it is cut.

    If most rows crowd at one end, the axis becomes logarithmic, or leaves out the percent of the
    rows that is farthest from that end.
    """
    low, high, rows = shape.values[0], shape.values[-1], shape.quantiles
    if not len(rows):
        return False, None
    crowd, room = _CROWDED_SHARE * (high - low), 0.04 * (rows[-1] - rows[0])
    if low > 0 and rows[-2] - low <= crowd and not shape.column.is_date:
        return True, None
    if room and rows[-1] - low <= crowd:
        return False, (low - room, rows[-1] + room)
    if room and high - rows[0] <= crowd:
        return False, (rows[0] - room, high + room)
    return False, None


def _beyond(shape: Shape, scale: tuple[float, float]) -> list[str]:
    """Describe the farthest points of a curve outside the frame."""
    farthest = {int(np.argmin(shape.added)), int(np.argmax(shape.added))}
    outside = [
        f"{_signed(shape.added[k])} at {_place(shape.values[k], shape.column)}"
        for k in sorted(farthest)
        if not scale[0] <= shape.added[k] <= scale[1]
    ]
    return [f"The curve leaves the frame: {', '.join(outside)}."] if outside else []


def _place(value: float | str, column: Column, digits: int = 4) -> str:
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "missing"
    shown = column.shown(round(value) if column.is_date else value)
    return shown if isinstance(shown, str) else plain_number(shown, digits)


def map_figures(maps: Sequence[PairShape]) -> list[Figure]:
    """Make a figure of what each pair of columns adds, on one scale of colours."""
    scale = max((float(np.nanmax(np.abs(shape.added))) for shape in maps), default=0.0)
    return [_map_figure(f"map-{k + 1}", shape, scale) for k, shape in enumerate(maps)]


def _map_figure(name: str, shape: PairShape, scale: float) -> Figure:
    columns, rows = (
        [_place(value, column, 3) for value in values]
        for values, column in zip(shape.values, shape.columns, strict=True)
    )
    right, up = np.nonzero(shape.share)
    added, share, down = shape.added[right, up], shape.share[right, up], len(rows) - 1 - up
    lines: dict[str, Line] = {}
    for words, chosen, colour in (("raises", added > 0, 1), ("lowers", added <= 0, 0)):
        label = f"{words} the score"
        furthest = float(np.abs(added[chosen]).max(initial=0.0))
        lines[label] = Cells(
            right[chosen].astype(float), down[chosen].astype(float), alone=True,
            detail=f"by up to {plain_number(furthest)}" if furthest else "",
            stroke=stroke(colour, 0), added=added[chosen], share=share[chosen],
            most_added=scale or 1.0, largest_share=share.max(),
        )  # fmt: skip
    across, upward = (column.name for column in shape.columns)
    return Figure(name, shape.feature, across, upward, lines, names=rows[::-1], columns=columns)


def reasons_table(
    rows: Sequence[int], score: Floats, positive: NDArray[np.bool_], why: Sequence[Sequence[Reason]]
) -> ResultTable:
    """Make a table of some rows, counted from 0, with the main reasons for their scores."""
    table = [
        (
            f"{row + 1:,}",
            plain_number(score[row], 4),
            "positive" if positive[row] else "negative",
            reasons_text(reasons) or "–",
        )
        for row, reasons in zip(rows, why, strict=True)
    ]
    caption = (
        "Rows are counted from 1. In brackets: the column's contribution to the score, minus its "
        "average contribution."
    )
    return ResultTable(("row", "score", "label", "reasons"), table, caption, words=(2, 3))


def reasons_text(reasons: Sequence[Reason]) -> str:
    """Format the reasons for a score: ``amount = 709.5 (+0.323), channel: phone (+0.232)``.

    A pair of columns reads ``age = 62 with channel: phone (+0.41)``.
    """
    return ", ".join(f"{_of_row(*reason[:2])} ({_signed(reason.raised)})" for reason in reasons)


def _of_row(name: str, value: Value) -> str:
    """Format the value of a column in a row: a number, a word, a bin or "missing"; or of a pair."""
    if isinstance(value, tuple):
        names = name.split(" × ")
        if len(names) == len(value):
            return " with ".join(map(_of_row, names, value))
        value = " × ".join(_of_row("", half).lstrip(" =:") for half in value)
    if isinstance(value, str):
        return f"{name}: {value}"
    if math.isnan(value):
        return f"{name}: missing"
    return f"{name} = {plain_number(value, 4)}"


def _signed(value: float) -> str:
    text = plain_number(abs(value))
    return text if text == "0" else f"{'-' if value < 0 else '+'}{text}"
