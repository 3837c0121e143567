"""Small charts in characters, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.text import Text

__all__ = ["Panel", "auc_floor", "panels"]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ROWS = 5
_AXIS = 7  # columns left of the first panel
_GAP = 2


class Panel:
    """One chart of bars.

    Parameters
    ----------
    title : str
        Stands above.
    values : array-like of shape (m,)
        Heights, NaN for none.
    ends : (str, str)
        What stands below the first and the last bar.
    best : int, optional
        Which bar is set off.
    """

    def __init__(
        self, title: str, values: ArrayLike, ends: tuple[str, str], best: int | None = None
    ) -> None:
        self.title, self.ends, self.best = title, ends, best
        self.values = np.asarray(values, dtype=np.float64)


def auc_floor(values: ArrayLike) -> float:
    """Where an axis of AUCs should start, so that those near the highest can be told apart.

    Parameters
    ----------
    values : array-like
        The AUCs, NaN for none; at least one is a number.

    Returns
    -------
    float
        The lowest value, or less far down where most are near the highest.
    """
    known = np.asarray(values, dtype=np.float64)
    low, middle, high = (float(f(known)) for f in (np.nanmin, np.nanmedian, np.nanmax))
    return min(max(low, high - max(0.01, 4 * (high - middle))), high - 1e-3)


def panels(
    row: Sequence[Panel], floor: float, top: float, width: int = 80, plain: bool = False
) -> Text:
    """Draw panels side by side, in as many rows as the width asks for.

    Parameters
    ----------
    row : sequence of Panel
        All with the same scale.
    floor, top : float
        Ends of the scale.
    width : int
        Columns of the terminal.
    plain : bool
        Whether only ASCII characters can be shown.

    Returns
    -------
    Text
        Lines of at most `width` columns.
    """
    out = Text()
    widest = max(_columns(panel, width) for panel in row)
    beside = max(1, (width - _AXIS + _GAP) // (widest + _GAP))
    for start in range(0, len(row), beside):
        if start:
            out.append("\n")
        _draw(out, row[start : start + beside], floor, top, widest, width, plain)
    return out


def _columns(panel: Panel, width: int) -> int:
    """Columns of a panel: two for a bar where there is room."""
    bars = len(panel.values) * (2 if 2 * len(panel.values) <= (width - _AXIS) // 3 - _GAP else 1)
    return max(bars, len(panel.title), sum(map(len, panel.ends)) + 1)


def _draw(
    out: Text, row: Sequence[Panel], floor: float, top: float, widest: int, width: int, plain: bool
) -> None:
    space = " " * _GAP
    out.append(" " * _AXIS + space.join(p.title.ljust(widest) for p in row).rstrip() + "\n")
    bar = "|" if plain else "│"
    for line in range(_ROWS, 0, -1):
        label = f"{top:.4f}" if line == _ROWS else f"{floor:.4f}" if line == 1 else ""
        out.append(f"{label:>{_AXIS - 1}}{bar}", style="dim")
        for i, panel in enumerate(row):
            _line(out, panel, line, floor, top, widest, width, plain)
            out.append(space if i + 1 < len(row) else "\n")
    out.append(" " * _AXIS)
    for i, panel in enumerate(row):
        first, last = panel.ends
        bars = max(len(panel.values) * _wide(panel, width), len(first) + len(last) + 1)
        ends = first + last.rjust(bars - len(first))
        out.append((ends.ljust(widest) + space) if i + 1 < len(row) else ends, style="dim")
    out.append("\n")


def _wide(panel: Panel, width: int) -> int:
    return 2 if 2 * len(panel.values) <= (width - _AXIS) // 3 - _GAP else 1


def _line(
    out: Text,
    panel: Panel,
    line: int,
    floor: float,
    top: float,
    widest: int,
    width: int,
    plain: bool,
) -> None:
    """One line of a panel's bars, `line` from 1 at the bottom."""
    wide = _wide(panel, width)
    heights = _heights(panel.values, floor, top)
    for i, height in enumerate(heights):
        eighths = int(np.clip(height - 8 * (line - 1), 0, 8))
        if height < 0:
            mark = "-" if line == 1 else " "
        elif plain:
            mark = "#" if eighths > 3 or (line == 1 and height) else " "
        else:
            mark = _BLOCKS[eighths]
        out.append(mark * wide, style="bold green" if i == panel.best else "")
    out.append(" " * (widest - wide * len(heights)))


def _heights(values: NDArray[np.float64], floor: float, top: float) -> NDArray[np.int64]:
    """Heights in eighths of a line, at least 1; −1 for NaN."""
    share = np.clip((np.nan_to_num(values, nan=floor) - floor) / max(top - floor, 1e-12), 0, 1)
    heights = np.maximum(np.rint(share * 8 * _ROWS), 1).astype(np.int64)
    return np.where(np.isnan(values), -1, heights)
