"""Figures: lines with bands on one pair of axes, drawn into a page or a separate file."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.needs import needs
from aucmax.basics.replacing import replacing
from aucmax.basics.visible import in_line, in_lines
from aucmax.report.style import INK, MUTED, PAPER_RC, RC, Stroke, on_paper, stroke, to_svg
from aucmax.report.text import SUPERSCRIPT, clipped, gap_text

__all__ = [
    "Cells",
    "Figure",
    "Line",
    "around",
    "check_image",
    "convergence_figure",
    "tuning_figure",
    "upright",
    "visible",
]

GAP_FLOOR = 1e-16
_SIZE = (5.3, 4.3)
# heights in inches of a figure whose vertical axis has names
_MARGIN_HEIGHT, _ROW_HEIGHT, _MIN_HEIGHT = 0.9, 0.27, 2.0
_MAX_ACROSS = 36  # letters of the names below an axis; more are turned
_MAX_LETTERS = 28  # of a name beside an axis
_WIDE_NUMBER = 1e4  # from which the numbers on an axis need more space
_MIN_SIDE = 0.25  # of a box, as a share of its place
_IMAGES = (".png", ".svg", ".pdf")


_OF_LINES = {"caption", "lead", "verdict"}  # texts that may have several lines


def visible(part: Any, of_lines: bool = False) -> Any:
    """Return a page, or a part of it, with the control characters in its texts escaped.

    Texts are on one line, except where ``of_lines``.
    """
    if isinstance(part, str):
        return in_lines(part) if of_lines else in_line(part)
    if is_dataclass(part):
        texts = {f.name: visible(getattr(part, f.name), f.name in _OF_LINES) for f in fields(part)}
        return replace(part, **texts)  # type: ignore[type-var]
    if isinstance(part, dict):
        return {visible(name): visible(value) for name, value in part.items()}
    if isinstance(part, list) or type(part) is tuple:
        return [visible(item) for item in part]
    return part


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
        isolated points.
    edge : (ndarray, ndarray), optional
        The outline of its band instead, a closed polygon.
    points : bool
        Mark every point.
    alone : bool
        Isolated points, without a line between them.
    filled : bool
        Fill the area between the line and 0.
    detail : str
        A number for the legend.
    stroke : Stroke, optional
        Colour and dashes; by default according to its position among the lines.
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


@dataclass(frozen=True)
class Cells(Line):
    """Boxes at some places of a map.

    Parameters
    ----------
    added, share : ndarray, shape (m,)
        What each adds to the score, and its share of the rows.
    most_added, largest_share : float
        At which a box has the full colour, and the full size.
    """

    added: np.ndarray = field(default_factory=lambda: np.empty(0))
    share: np.ndarray = field(default_factory=lambda: np.empty(0))
    most_added: float = 1.0
    largest_share: float = 1.0

    def draw(self, axes: Any, colour: str) -> None:
        """Draw the boxes, each with an edge, so that faint ones are seen."""
        from matplotlib.collections import PatchCollection
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Rectangle

        sides = 0.94 * np.maximum(np.sqrt(self.share / self.largest_share), _MIN_SIDE)
        places = zip(self.x.tolist(), self.y.tolist(), sides.tolist(), strict=True)
        boxes = [Rectangle((x - s / 2, y - s / 2), s, s) for x, y, s in places]
        fills = [to_rgba(colour, alpha) for alpha in np.abs(self.added) / self.most_added]
        look: dict[str, Any] = {"facecolors": fills, "edgecolors": colour, "linewidths": 0.6}
        axes.add_collection(PatchCollection(boxes, **look), autolim=False)


def around(y: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of symmetric intervals around y."""
    return y - reach, y + reach


def upright(x: float, rows: int) -> tuple[Sequence[float], Sequence[float]]:
    """Return a vertical guide from the top to the bottom of the names beside an axis."""
    return (x, x), (-0.6, rows - 0.4)


@dataclass(frozen=True)
class Figure:
    """Lines on one pair of axes.

    Parameters
    ----------
    name : str
        A name that is unique among the figures of a page or a folder.
    title, caption : str
        Texts above and below.
    xlabel, ylabel : str
        Labels of the axes.
    lines : mapping of str to Line
        The lines by their names in the legend.
    xlog, ylog : bool
        Logarithmic axes.
    xpercent, ypercent : bool
        Axes of shares, labelled in percent.
    xdate : bool
        The horizontal axis is in days since 1970-01-01, labelled as dates.
    names : sequence of str
        Labels at 0, 1, 2, … of the vertical axis, from the top; intervals are then of x.
    columns : sequence of str
        Labels at 0, 1, 2, … of the horizontal axis of a map, whose lines are `Cells`.
    xlim, ylim : (float or None, float or None), optional
        Ends of the axes.
    guide : (x, y), optional
        A dotted reference line.
    ring : (x, y), optional
        A point to highlight.
    ends : bool
        Mark the last point of every line.
    rug : sequence of float
        Positions of ticks at the bottom of the horizontal axis.
    shares_of : str
        What the shares of `Cells` are of, in words.
    follows : str
        How this figure shows the operating point of a page: "roc", "precision", "gains", "lift"
        or "score"; empty if it does not.
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
    columns: Sequence[str] = ()
    xlim: tuple[float | None, float | None] | None = None
    ylim: tuple[float | None, float | None] | None = None
    guide: tuple[Sequence[float], Sequence[float]] | None = None
    ring: tuple[float, float] | None = None
    ends: bool = False
    rug: Sequence[float] = ()
    shares_of: str = "of the rows"
    follows: str = ""

    def drawn(self) -> tuple[str, dict[str, Any]]:
        """Draw the figure for a page, in the page's colours: return the SVG and its data.

        The data are the position and the limits of the axes in the SVG, and the points of the
        lines.
        """
        with needs("matplotlib", "a figure").rc_context(RC), _without_glyphs():
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
                "columns": list(self.columns),
                "of": self.shares_of,
                "follows": self.follows,
                "lines": [self._behind(label) for label in self.lines],
            }  # fmt: skip
            return svg, behind

    def save(self, path: Path) -> None:
        """Draw the figure into a file with suffix .png, .svg or .pdf, with the legend beside it."""
        check_image(path)
        self = visible(self)
        with needs("matplotlib", "a figure").rc_context(PAPER_RC), _without_glyphs():
            figure, axes = self._on_canvas(on_paper)
            axes.set_title(self.title, fontsize=11)
            # beside the axes, because many lines leave no space within them
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
        """Return colour and dashes of a line."""
        return self.lines[label].stroke or stroke(list(self.lines).index(label))

    def draw(
        self, axes: Any, paint: Callable[[str], str] = on_paper, after: int = 0
    ) -> dict[str, Any]:
        """Draw into matplotlib's axes; return the artist of each line.

        ``paint`` turns the placeholders of `aucmax.report.style` into colours; ``after`` is the
        number of existing lines, after which the colours continue.
        """
        artists = {}
        if self.guide is not None:
            axes.plot(*self.guide, color=paint(MUTED), linewidth=0.9, linestyle=(0, (3, 3)))
        for i, (label, line) in enumerate(self.lines.items()):
            look = stroke(after + i) if after else self.stroke_of(label)
            colour = paint(look.colour)
            drawable = self._known(line)
            x, y = line.x[drawable], line.y[drawable]
            if isinstance(line, Cells):
                line.draw(axes, colour)
                x, y = x[:0], y[:0]  # what follows is for the legend alone
            shade = {"color": colour, "alpha": 0.14, "linewidth": 0}
            if line.edge is not None:
                axes.fill(*line.edge, **shade)
            if line.interval is not None:
                low, high = (end[drawable] for end in line.interval)
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
                x, y, color=colour, linestyle="none" if line.alone else look.linestyle,
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
        elif self.names or (not self.xlog and max(map(abs, axes.get_xlim())) >= _WIDE_NUMBER):
            axes.locator_params("x", nbins=6)  # there is little space
        if self.names:
            axes.set_yticks(range(len(self.names)), list(map(_short, self.names)))
            axes.set_ylim(len(self.names) - 0.4, -0.6)
        if self.columns:
            labels = list(map(_short, self.columns))
            turned = 90.0 * (sum(map(len, labels)) > _MAX_ACROSS)
            axes.set_xticks(range(len(labels)), labels, rotation=turned)
            axes.set_xlim(-0.6, len(labels) - 0.4)
            axes.grid(visible=False)

    def _known(self, line: Line) -> np.ndarray:
        """Return a mask of the points that can be drawn."""
        drawable = np.isfinite(line.x) & np.isfinite(line.y)
        if self.xlog:
            drawable &= line.x > 0
        return drawable & (line.y > 0) if self.ylog else drawable

    def _behind(self, label: str) -> dict[str, Any]:
        """Return the rounded points of a line, and the ends of their intervals."""
        line = self.lines[label]
        drawable = self._known(line)
        values = {"x": line.x, "y": line.y}
        if line.interval is not None:
            values["low"], values["high"] = line.interval
        if isinstance(line, Cells):
            values["added"], values["share"] = line.added, line.share
        return {
            "name": label,
            "colour": self.stroke_of(label).variable,
            "alone": line.alone,
            **{
                name: [float(f"{v:.5g}") if np.isfinite(v) else None for v in value[drawable]]
                for name, value in values.items()
            },
        }

    def _on_canvas(self, paint: Callable[[str], str]) -> tuple[Any, Any]:
        """Draw on a new canvas; return matplotlib's figure and axes."""
        from matplotlib.figure import Figure as Canvas

        width, height = _SIZE
        if self.names and not self.columns:
            height = max(_MARGIN_HEIGHT + _ROW_HEIGHT * len(self.names), _MIN_HEIGHT)
        figure = Canvas(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        self.draw(axes, paint)
        return figure, axes


@contextlib.contextmanager
def _without_glyphs() -> Iterator[None]:
    """Allow names with characters that matplotlib's font lacks, since browsers have them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def _short(name: str) -> str:
    """Return a name shortened to fit beside an axis."""
    return clipped(name, _MAX_LETTERS)


def _label_dates(axis: Any) -> None:
    """Label an axis of days since 1970-01-01, which is how matplotlib counts them."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3, maxticks=6)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))


def _label_powers(axis: Any, percent: bool = False) -> None:
    """Label a logarithmic axis with few short numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    low, high = axis.get_view_interval()
    # long numbers need more space
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

    Gaps below 1e-16 are drawn as 1e-16.
    """
    lines = {}
    for i, (label, (passes, gap)) in enumerate(courses.items()):
        x, y = np.asarray(passes, dtype=float), np.asarray(gap, dtype=float)
        y = np.maximum(y, GAP_FLOOR)
        finite = np.isfinite(x) & np.isfinite(y)
        if finite.any():
            detail = f"ends at {gap_text(y[finite][-1])}"
            lines[label] = Line(x[finite], y[finite], detail=detail, stroke=stroke(i))
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

    The axis of the score starts such that scores near the highest are distinguishable, and ends at
    1 unless they are larger.
    """
    scores = np.concatenate([line.y[np.isfinite(line.y)] for line in lines.values()])
    low, middle, high = scores.min(), float(np.median(scores)), scores.max()
    floor = float(min(max(low, high - max(0.01, 4 * (high - middle))), high - 1e-3))
    tops = [line.y if line.interval is None else line.interval[1] for line in lines.values()]
    highest = max(float(high), 1.0)
    top = min(float(np.nanmax(np.concatenate(tops))), highest)
    return Figure(
        "alpha", f"Held-out {score} over alpha", "alpha", f"held-out {score}", lines, caption,
        xlog=True, ring=best, ylim=(floor, min(top + 0.05 * (top - floor), highest)),
    )  # fmt: skip
