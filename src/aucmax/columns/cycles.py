"""The weekday and the time of day of dates, as separate columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucmax.columns.axes import Cells
from aucmax.columns.functions import Function, Pieces, Word, phase
from aucmax.columns.preparations import WEEKDAYS
from aucmax.columns.summaries import MAX_DAYS, Coded, weekday

__all__ = [
    "cycle_cells",
    "cycle_functions",
    "cycle_shown",
    "cycle_start",
    "cycle_values",
    "cycles_in",
]

Floats = NDArray[np.float64]

_ROUNDING = 1e-6  # minutes


def cycles_in(days: Floats) -> Iterator[str]:
    """Yield those of `CYCLES` that vary among dates, (n,), given as days since 1970-01-01."""
    dates = days[~np.isnan(days)]
    if len(np.unique(np.floor(dates))) >= MAX_DAYS and len(np.unique(weekday(dates))) > 1:
        yield "weekday"
    if len(np.unique(phase(dates, 1.0))) > 1:
        yield "hour"


def cycle_cells(cycle: str, days: Floats) -> Cells:
    """Return the weekdays of dates, as words, or the times of day, as shares of a day."""
    if cycle == "hour":
        return phase(days, 1.0)
    gaps = np.isnan(days)
    return Coded(np.where(gaps, -1, weekday(np.where(gaps, 0.0, days))), [*WEEKDAYS])


def cycle_values(cycle: str, days: Floats) -> NDArray[Any]:
    """Return the names of the weekdays of dates, None for gaps, or their times of day in hours."""
    if cycle == "hour":
        return 24.0 * phase(days, 1.0)
    weekdays = cycle_cells(cycle, days)
    assert isinstance(weekdays, Coded)
    return np.array([*WEEKDAYS, None], dtype=object)[weekdays.codes]


def cycle_shown(cycle: str, day: float) -> str:
    """Return the weekday or the time of day of a date in a form for readers."""
    if cycle == "weekday":
        return WEEKDAYS[int(weekday(np.array([day]))[0])]
    minutes = int(1440.0 * phase(np.array([day]), 1.0)[0] + _ROUNDING)
    return f"{minutes // 60}:{minutes % 60:02d}"


def cycle_start(cycle: str) -> Function:
    """Return the identity function of a cycle."""
    return Pieces.line() if cycle == "hour" else Word()


def cycle_functions(cycle: str, functions: Sequence[Function]) -> list[Pieces]:
    """Return functions of a cycle as functions of days."""
    if cycle == "hour":
        return [_repeated(function) for function in functions if isinstance(function, Pieces)]
    words = np.array([*WEEKDAYS, None], dtype=object)
    tables = [function(words) for function in functions]
    return [
        Pieces.steps(np.arange(1.0, 7.0), table[:-1], gap=float(table[-1]), period=7.0)
        for table in tables
    ]


def _repeated(function: Pieces) -> Pieces:
    return Pieces(function.knots, function.origins, function.coefs, function.gap, 1.0)
