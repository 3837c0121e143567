"""Figures: lines with bands on one pair of axes, drawn into a page or into a file of their own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.needs import needs
from aucmax.basics.replacing import replacing
from aucmax.basics.visible import in_line, in_lines
from aucmax.report.style import INK, MUTED, PAPER_RC, RC, Stroke, on_paper, stroke, to_svg
from aucmax.report.text import SUPERSCRIPT, gap_text

__all__ = ["Figure", "Line", "around", "check_image", "convergence_figure", "tuning_figure"]

GAP_FLOOR = 1e-16
_SIZE = (5.3, 4.3)
_ROOM, _ROW, _LEAST = 0.9, 0.27, 2.0  # inches of height, where the vertical axis has names
_LETTERS = 28
_LONG = 1e4  # numbers that take much room beside an axis
_IMAGES = (".png", ".svg", ".pdf")


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
    interval : (ndarray, ndarray), optional
        The lower and the upper ends of an interval at every point: a band around a line, bars on
        points that stand alone.
    edge : (ndarray, ndarray), optional
        The outline of its band instead, a closed polygon.
    points : bool
        Mark every point.
    alone : bool
        Points only, no line from one to the next.
    filled : bool
        Fill what lies between the line and 0.
    detail : str
        A number for the legend.
    stroke : Stroke, optional
        How it is drawn; by default as its place among the lines has it.
    """

    x: np.ndarray
    y: np.ndarray
    interval: tuple[np.ndarray, np.ndarray] | None = None
    edge: tuple[np.ndarray, np.ndarray] | None = None
    points: bool = False
    alone: bool = False
    filled: bool = False
    detail: str = ""
    stroke: Stroke | None = None


def around(y: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals that reach as far to both sides of y."""
    return y - reach, y + reach


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
    xpercent, ypercent : bool
        Axes of shares, labelled in percent.
    xdate : bool
        The horizontal axis is of days since 1970-01-01, labelled as dates.
    names : sequence of str
        What lies at 0, 1, 2, … of the vertical axis, from the top; intervals are then of x.
    xlim, ylim : (float or None, float or None), optional
        Ends of the axes.
    guide : (x, y), optional
        A dotted line to compare with.
    ring : (x, y), optional
        A point to set off.
    ends : bool
        Mark the last point of every line.
    rug : sequence of float
        Places on the horizontal axis that get a stroke at its foot.
    follows : str
        What the operating point of a page is in this figure: "roc", "precision", "gains", "lift"
        or "score"; empty where it is nothing.
    """

    name: str
    title: str
    xlabel: str
    ylabel: str
    lines: Mapping[str, Line]
    caption: str = ""
    xlog: bool = False
    ylog: bool = False
    xpercent: bool = False
    ypercent: bool = False
    xdate: bool = False
    names: Sequence[str] = ()
    xlim: tuple[float | None, float | None] | None = None
    ylim: tuple[float | None, float | None] | None = None
    guide: tuple[Sequence[float], Sequence[float]] | None = None
    ring: tuple[float, float] | None = None
    ends: bool = False
    rug: Sequence[float] = ()
    follows: str = ""

    def visible(self) -> Figure:
        """Return it with control characters in its words as escapes."""
        return replace(
            self,
            title=in_line(self.title),
            caption=in_lines(self.caption),
            xlabel=in_line(self.xlabel),
            ylabel=in_line(self.ylabel),
            lines={in_line(label): line for label, line in self.lines.items()},
            names=[*map(in_line, self.names)],
        )

    def drawn(self) -> tuple[str, dict[str, Any]]:
        """Draw it for a page, whose colours it takes: the SVG, and what lies behind it.

        That is where in the SVG the axes stand and what they span, and the points of the lines.
        """
        with _matplotlib().rc_context(RC), _without_glyphs():
            figure, axes = self._on_canvas(lambda colour: colour)
            name = "".join(c for c in self.name if c.isalnum())
            svg = to_svg(figure, name, f"{self.title}: {', '.join(self.lines)}")
            (width, height), box = 72 * figure.get_size_inches(), axes.get_position()
            sides = [width * box.x0, height * (1 - box.y1), width * box.width, height * box.height]
            behind = {
                "title": self.title,
                "box": [round(float(side), 2) for side in sides],
                "x": {"label": self.xlabel, "log": bool(self.xlog), "percent": self.xpercent,
                      "date": self.xdate, "lim": list(map(float, axes.get_xlim()))},
                "y": {"label": self.ylabel, "log": bool(self.ylog), "percent": self.ypercent,
                      "lim": list(map(float, axes.get_ylim()))},
                "names": list(self.names),
                "follows": self.follows,
                "lines": [self._behind(label) for label in self.lines],
            }  # fmt: skip
            return svg, behind

    def save(self, path: Path) -> None:
        """Draw it into a file, by its suffix .png, .svg or .pdf, with the legend beside it."""
        check_image(path)
        self = self.visible()
        with _matplotlib().rc_context(PAPER_RC), _without_glyphs():
            figure, axes = self._on_canvas(on_paper)
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

    def draw(
        self, axes: Any, paint: Callable[[str], str] = on_paper, after: int = 0
    ) -> dict[str, Any]:
        """Draw into matplotlib's axes; return the artist of each line.

        ``paint`` turns the placeholders of `aucmax.report.style` into colours; ``after`` so many
        lines that are there already the colours go on.
        """
        artists = {}
        if self.guide is not None:
            axes.plot(*self.guide, color=paint(MUTED), linewidth=0.9, linestyle=(0, (3, 3)))
        for i, (label, line) in enumerate(self.lines.items()):
            how = stroke(after + i) if after else self.stroke_of(label)
            colour = paint(how.colour)
            known = self._known(line)
            x, y = line.x[known], line.y[known]
            shade = {"color": colour, "alpha": 0.14, "linewidth": 0}
            if line.edge is not None:
                axes.fill(*line.edge, **shade)
            if line.interval is not None:
                low, high = (end[known] for end in line.interval)
                if not line.alone:
                    axes.fill_between(
                        x, np.maximum(low, y / 10) if self.ylog else low, high, **shade
                    )
                elif self.names:
                    axes.hlines(y, low, high, color=colour, linewidth=1.7)
                else:
                    axes.vlines(x, low, high, color=colour, linewidth=1.7)
            if line.filled:
                axes.fill_between(x, 0, y, **shade)
            named = f"{label}\n{line.detail}" if line.detail else label
            marked = line.points or line.alone or len(x) == 1
            (artists[label],) = axes.plot(
                x, y, color=colour, linestyle="none" if line.alone else how.linestyle,
                marker="o" if marked else None, markersize=5 if line.alone else 4,
                label=named, zorder=3 + len(self.lines) - i,
            )  # fmt: skip
            if self.ends:
                axes.plot(x[-1:], y[-1:], "o", color=colour, markersize=5)
        if len(self.rug):
            foot = {"transform": axes.get_xaxis_transform(), "markersize": 9, "zorder": 2}
            axes.plot(self.rug, np.full(len(self.rug), 0.02), "|", color=paint(INK), **foot)
        if self.ring is not None:
            ring = {"markersize": 10, "markerfacecolor": "none", "color": paint(INK), "zorder": 99}
            axes.plot(*self.ring, "o", clip_on=False, **ring)
        self._dress(axes)
        return artists

    def _dress(self, axes: Any) -> None:
        """Set the scales, labels and ends of the axes."""
        axes.set(xlabel=self.xlabel, ylabel=self.ylabel)
        sides = (
            (axes.xaxis, axes.set_xscale, axes.set_xlim, self.xlog, self.xpercent, self.xlim),
            (axes.yaxis, axes.set_yscale, axes.set_ylim, self.ylog, self.ypercent, self.ylim),
        )
        for axis, scale, end, log, percent, lim in sides:
            if log:
                scale("log")
            if lim is not None:
                end(*lim)
            if log:
                _label_powers(axis, percent)
            elif percent:
                axis.set_major_formatter(lambda value, _: f"{100 * value:.10g} %")
        if self.xdate:
            _label_dates(axes.xaxis)
        elif self.names or (not self.xlog and max(map(abs, axes.get_xlim())) >= _LONG):
            axes.locator_params("x", nbins=6)  # there is little room
        if self.names:
            axes.set_yticks(range(len(self.names)), list(map(_short, self.names)))
            axes.set_ylim(len(self.names) - 0.4, -0.6)

    def _known(self, line: Line) -> np.ndarray:
        """Which points can be drawn."""
        known = np.isfinite(line.x) & np.isfinite(line.y)
        if self.xlog:
            known &= line.x > 0
        return known & (line.y > 0) if self.ylog else known

    def _behind(self, label: str) -> dict[str, Any]:
        """The points of a line, rounded, and the ends of their intervals."""
        line = self.lines[label]
        known = self._known(line)
        values = {"x": line.x, "y": line.y}
        if line.interval is not None:
            values["low"], values["high"] = line.interval
        return {
            "name": label,
            "colour": self.stroke_of(label).variable,
            "alone": line.alone,
            **{
                name: [float(f"{v:.5g}") if np.isfinite(v) else None for v in value[known]]
                for name, value in values.items()
            },
        }

    def _on_canvas(self, paint: Callable[[str], str]) -> tuple[Any, Any]:
        """Draw on a canvas of its own; return matplotlib's figure and axes."""
        from matplotlib.figure import Figure as Canvas

        width, height = _SIZE
        if self.names:
            height = max(_ROOM + _ROW * len(self.names), _LEAST)
        figure = Canvas(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        self.draw(axes, paint)
        return figure, axes


def _matplotlib() -> Any:
    return needs("matplotlib", "a figure")


@contextlib.contextmanager
def _without_glyphs() -> Iterator[None]:
    """Let names have characters that matplotlib's font lacks: a browser's has them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def _short(name: str) -> str:
    """A name short enough to stand beside an axis."""
    return name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"


def _label_dates(axis: Any) -> None:
    """Label an axis of days since 1970-01-01, which is how matplotlib counts them."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def _label_powers(axis: Any, percent: bool = False) -> None:
    """Label a logarithmic axis with few numbers, written short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    # long numbers need more room
    subs = (1.0,) if high > 100 * low else (1.0, 2.0, 5.0) if high < 1e4 else (1.0, 3.0)
    axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=10))
    text = _power if high > 100 * low else lambda v, _: f"{v:g}"
    axis.set_major_formatter(FuncFormatter(_percent if percent else text))
    axis.set_minor_locator(NullLocator())


def _power(value: float, _: Any = None) -> str:
    exponent = round(float(np.log10(value))) if value > 0 else 0
    if -3 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return f"10{str(exponent).translate(SUPERSCRIPT)}"


def _percent(value: float, _: Any = None) -> str:
    return f"{100 * value:.4g} %" if value >= 1e-6 else f"{_power(100 * value)} %"


def convergence_figure(
    courses: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    name: str,
    title: str,
    caption: str,
    ylabel: str = "relative gap (J − J*) / J*",
) -> Figure:
    """Make a figure of each solver's (passes over the data, distance to the optimum).

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
        name, title, "passes over the data", ylabel, lines, caption,
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
    tops = [line.y if line.interval is None else line.interval[1] for line in lines.values()]
    most = max(float(high), 1.0)
    top = min(float(np.nanmax(np.concatenate(tops))), most)
    return Figure(
        "alpha", f"Held-out {score} over alpha", "alpha", f"held-out {score}", lines, caption,
        xlog=True, ring=best, ylim=(floor, min(top + 0.05 * (top - floor), most)),
    )  # fmt: skip
