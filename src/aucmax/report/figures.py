"""Figures: lines with bands on one pair of axes, drawn into a page or into a file of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.replacing import replacing
from aucmax.report.style import INK, MUTED, PAPER_RC, RC, Stroke, on_paper, stroke, to_svg
from aucmax.report.text import gap_text

__all__ = ["Figure", "Line", "check_image", "convergence_figure", "tuning_figure"]

GAP_FLOOR = 1e-16
_SIZE = (5.3, 4.3)
_IMAGES = (".png", ".svg", ".pdf")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def check_image(path: Path) -> None:
    """Raise ValueError unless the file's suffix is one that `Figure.save` can write."""
    if path.suffix.lower() not in _IMAGES:
        raise ValueError(f"{path}: the name of a plot must end in .png, .svg or .pdf.")


@dataclass(frozen=True)
class Line:
    """A line of a figure.

    Parameters
    ----------
    x, y : ndarray of shape (m,)
        Its points; those that are not finite are left out.
    spread : ndarray of shape (m,), optional
        Half the width of a band around it.
    edge : (ndarray, ndarray), optional
        The outline of its band instead, a closed polygon.
    points : bool
        Mark every point.
    detail : str
        A number for the legend.
    stroke : Stroke, optional
        How it is drawn; by default as its place among the lines has it.
    """

    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray | None = None
    edge: tuple[np.ndarray, np.ndarray] | None = None
    points: bool = False
    detail: str = ""
    stroke: Stroke | None = None


@dataclass(frozen=True)
class Figure:
    """Lines on one pair of axes.

    Parameters
    ----------
    name : str
        Different for every figure of a page or a folder.
    title, caption : str
        Above and below.
    xlabel, ylabel : str
        Of the axes.
    lines : mapping of str to Line
        By their names in the legend.
    xlog, ylog : bool
        Logarithmic axes.
    xlim, ylim : (float or None, float or None), optional
        Ends of the axes.
    guide : (x, y), optional
        A dotted line to compare with.
    ring : (x, y), optional
        A point to set off.
    ends : bool
        Mark the last point of every line.
    """

    name: str
    title: str
    xlabel: str
    ylabel: str
    lines: Mapping[str, Line]
    caption: str = ""
    xlog: bool = False
    ylog: bool = False
    xlim: tuple[float | None, float | None] | None = None
    ylim: tuple[float | None, float | None] | None = None
    guide: tuple[Sequence[float], Sequence[float]] | None = None
    ring: tuple[float, float] | None = None
    ends: bool = False

    def svg(self) -> str:
        """Draw it for a page, whose colours it takes."""
        from matplotlib import rc_context

        with rc_context(RC):
            figure, _ = self._drawn(lambda colour: colour)
            name = "".join(c for c in self.name if c.isalnum())
            return to_svg(figure, name, f"{self.title}: {', '.join(self.lines)}")

    def save(self, path: Path) -> None:
        """Draw it into a file, by its suffix .png, .svg or .pdf, with the legend beside it."""
        from matplotlib import rc_context

        check_image(path)
        with rc_context(PAPER_RC):
            figure, axes = self._drawn(on_paper)
            axes.set_title(self.title, fontsize=11)
            # beside the axes: with many lines there is no room for it within
            beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
            legend = axes.legend(frameon=False, fontsize=9, **beside)
            legend.set_in_layout(False)  # long names widen the image, not narrow the axes
            with replacing(path) as stream:
                figure.savefig(
                    stream,
                    dpi=150,
                    bbox_inches="tight",
                    bbox_extra_artists=[legend],
                    format=path.suffix[1:].lower(),
                )

    def stroke_of(self, label: str) -> Stroke:
        """How a line is drawn."""
        return self.lines[label].stroke or stroke(list(self.lines).index(label))

    def _drawn(self, paint: Any) -> tuple[Any, Any]:
        """Draw with ``paint`` turning placeholders into colours; return figure and axes."""
        from matplotlib.figure import Figure as Canvas

        figure = Canvas(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        if self.guide is not None:
            axes.plot(*self.guide, color=paint(MUTED), linewidth=0.9, linestyle=(0, (3, 3)))
        for i, (label, line) in enumerate(self.lines.items()):
            how = self.stroke_of(label)
            colour = paint(how.colour)
            known = np.isfinite(line.x) & np.isfinite(line.y)
            if self.ylog:
                known &= line.y > 0
            x, y = line.x[known], line.y[known]
            if line.edge is not None:
                axes.fill(*line.edge, color=colour, alpha=0.14, linewidth=0)
            if line.spread is not None:
                wide = line.spread[known]
                low = np.maximum(y - wide, y / 10) if self.ylog else y - wide
                axes.fill_between(x, low, y + wide, color=colour, alpha=0.14, linewidth=0)
            named = f"{label}\n{line.detail}" if line.detail else label
            marker = "o" if line.points or len(x) == 1 else None
            axes.plot(
                x, y, color=colour, linestyle=how.linestyle, marker=marker, markersize=4,
                label=named, zorder=3 + len(self.lines) - i,
            )  # fmt: skip
            if self.ends:
                axes.plot(x[-1:], y[-1:], "o", color=colour, markersize=5)
        if self.ring is not None:
            ring = {"markersize": 10, "markerfacecolor": "none", "color": paint(INK), "zorder": 99}
            axes.plot(*self.ring, "o", clip_on=False, **ring)
        if self.xlog:
            axes.set_xscale("log")
        if self.ylog:
            axes.set_yscale("log")
        axes.set(xlabel=self.xlabel, ylabel=self.ylabel)
        if self.xlim is not None:
            axes.set_xlim(*self.xlim)
        if self.ylim is not None:
            axes.set_ylim(*self.ylim)
        for log, axis in ((self.xlog, axes.xaxis), (self.ylog, axes.yaxis)):
            if log:
                _label_powers(axis)
        return figure, axes


def _label_powers(axis: Any) -> None:
    """Label a logarithmic axis with few numbers, written short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    # long numbers need more room
    subs = (1.0,) if high > 100 * low else (1.0, 2.0, 5.0) if high < 1e4 else (1.0, 3.0)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=10))
    axis.set_major_formatter(FuncFormatter(_power if high > 100 * low else lambda v, _: f"{v:g}"))
    axis.set_minor_locator(NullLocator())


def _power(value: float, _: Any = None) -> str:
    exponent = round(float(np.log10(value))) if value > 0 else 0
    if -3 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"


def convergence_figure(
    courses: Mapping[str, tuple[ArrayLike, ArrayLike]], *, name: str, title: str, caption: str
) -> Figure:
    """Make a figure of each solver's (passes over the data, relative gap to the optimum).

    Gaps below 1e-16 are drawn there.
    """
    lines = {}
    for i, (label, (passes, gap)) in enumerate(courses.items()):
        x, y = np.asarray(passes, dtype=float), np.asarray(gap, dtype=float)
        y = np.maximum(y, GAP_FLOOR)
        known = np.isfinite(x) & np.isfinite(y)
        if known.any():
            detail = f"ends at {gap_text(y[known][-1])}"
            lines[label] = Line(x[known], y[known], detail=detail, stroke=stroke(i))
    longest = max((line.x[-1] for line in lines.values()), default=1.0)
    lowest = min((float(line.y.min()) for line in lines.values()), default=1.0)
    return Figure(
        name, title, "passes over the data", "relative gap (J − J*) / J*", lines, caption,
        xlog=longest > 30, ylog=True, ylim=(lowest / 4, None), ends=True,
    )  # fmt: skip


def tuning_figure(
    lines: Mapping[str, Line], best: tuple[float, float], caption: str, score: str = "AUC"
) -> Figure:
    """Make a figure of a held-out score over alpha, with a ring around the best (alpha, score).

    The axis of the score starts where those near the highest can be told apart, and ends at 1
    unless they are larger.
    """
    scores = np.concatenate([line.y[np.isfinite(line.y)] for line in lines.values()])
    low, middle, high = scores.min(), float(np.median(scores)), scores.max()
    floor = float(min(max(low, high - max(0.01, 4 * (high - middle))), high - 1e-3))
    tops = [line.y if line.spread is None else line.y + line.spread for line in lines.values()]
    most = max(float(high), 1.0)
    top = min(float(np.nanmax(np.concatenate(tops))), most)
    return Figure(
        "alpha", f"Held-out {score} over alpha", "alpha", f"held-out {score}", lines, caption,
        xlog=True, ring=best, ylim=(floor, min(top + 0.05 * (top - floor), most)),
    )  # fmt: skip
