"""The figures of a page: curves with bands, convergence, AUC over alpha."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucmax.basics.replacing import replacing
from aucmax.report.curves import Band
from aucmax.report.style import (
    INK,
    MUTED,
    RC,
    Stroke,
    plain_colour,
    plain_look,
    stroke,
    to_svg,
)
from aucmax.report.text import gap_text

__all__ = [
    "Drawing",
    "Key",
    "Line",
    "alpha_drawing",
    "convergence_drawing",
    "curves_drawing",
    "lines_drawing",
    "save_lines",
]

_SIZE = (5.3, 4.3)
GAP_FLOOR = 1e-16
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Key:
    """A line of a legend.

    Parameters
    ----------
    label : str
        What the line is.
    stroke : Stroke
        How it is drawn.
    detail : str
        A number that belongs to it.
    """

    label: str
    stroke: Stroke
    detail: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure with its title, legend and caption.

    Parameters
    ----------
    title : str
        Stands above.
    svg : str
        The SVG element.
    legend : tuple of Key
        What the lines are.
    caption : str
        How to read it, and what the bands are.
    """

    title: str
    svg: str
    legend: tuple[Key, ...]
    caption: str


def curves_drawing(
    kind: str,
    curves: Mapping[str, Band],
    *,
    name: str,
    title: str,
    caption: str,
    details: Mapping[str, str] | None = None,
    bands: Collection[str] | None = None,
    share: float | None = None,
) -> Drawing:
    """Draw ROC or precision-recall curves.

    Parameters
    ----------
    kind : {"roc", "precision-recall"}
        What the axes are.
    curves : mapping of str to Band
        The curves, by their names in the legend.
    name : str
        Letters and digits, different for every figure of a page.
    title, caption : str
        Above and below.
    details : mapping of str to str, optional
        Further words for the legend, by the curves' names.
    bands : collection of str, optional
        The curves that get their band; by default all.
    share : float, optional
        The share of positives, for the line of a scorer that knows nothing.

    Returns
    -------
    Drawing
        The figure and its legend.
    """
    from matplotlib import rc_context

    legend = []
    with rc_context(RC):
        figure, axes = _figure()
        if kind == "roc":
            axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle=(0, (3, 3)))
        elif share is not None:
            axes.axhline(share, color=MUTED, linewidth=0.9, linestyle=(0, (3, 3)))
        for i, (label, curve) in enumerate(curves.items()):
            how = stroke(i)
            if bands is None or label in bands:
                axes.fill(curve.edge_x, curve.edge_y, color=how.colour, alpha=0.16, linewidth=0)
            axes.plot(
                curve.x,
                curve.y,
                color=how.colour,
                linestyle=how.linestyle,
                zorder=3 + len(curves) - i,
            )
            legend.append(Key(label, how, (details or {}).get(label, "")))
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        if kind == "roc":
            axes.set(xlabel="false-positive rate", ylabel="recall (true-positive rate)")
        else:
            axes.set(xlabel="recall (true-positive rate)", ylabel="precision")
        svg = to_svg(figure, name, f"{title}: {', '.join(curves)}")
    return Drawing(title, svg, tuple(legend), caption)


def convergence_drawing(
    courses: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    name: str,
    title: str,
    caption: str,
) -> Drawing:
    """Draw the relative gap to the optimum against passes over the data, on a log scale.

    Parameters
    ----------
    courses : mapping of str to (passes, gap)
        By the solvers' names in the legend.
    name : str
        Letters and digits, different for every figure of a page.
    title, caption : str
        Above and below.

    Returns
    -------
    Drawing
        Gaps below 1e-16 are drawn there.
    """
    from matplotlib import rc_context
    from matplotlib.ticker import FuncFormatter, LogLocator

    legend, longest, lowest = [], 1.0, 1.0
    with rc_context(RC):
        figure, axes = _figure()
        for i, (label, (passes, gap)) in enumerate(courses.items()):
            how = stroke(i)
            x = np.asarray(passes, dtype=float)
            y = np.maximum(np.asarray(gap, dtype=float), GAP_FLOOR)
            known = np.isfinite(x) & np.isfinite(y)
            x, y = x[known], y[known]
            if not len(x):
                continue
            axes.plot(x, y, color=how.colour, linestyle=how.linestyle)
            axes.plot(x[-1:], y[-1:], "o", color=how.colour, markersize=5)
            legend.append(Key(label, how, f"ends at {gap_text(y[-1])}"))
            longest, lowest = max(longest, x[-1]), min(lowest, float(y.min()))
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, numticks=9))
        axes.yaxis.set_major_formatter(FuncFormatter(_power))
        axes.yaxis.minorticks_off()
        axes.set_ylim(bottom=lowest / 4)
        if longest > 30:
            axes.set_xscale("log")
            few = (1.0, 2.0, 5.0) if longest < 1000 else (1.0,)
            axes.xaxis.set_major_locator(LogLocator(base=10, subs=few, numticks=12))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            axes.xaxis.minorticks_off()
        axes.set(xlabel="passes over the data", ylabel="relative gap (J − J*) / J*")
        svg = to_svg(figure, name, f"{title}: {', '.join(courses)}")
    return Drawing(title, svg, tuple(legend), caption)


def alpha_drawing(
    lines: Sequence[dict[str, Any]],
    best: tuple[float, float] | None,
    *,
    name: str,
    title: str,
    caption: str,
    floor: float | None = None,
) -> Drawing:
    """Draw the held-out AUC over alpha, one line per loss and standardize.

    Parameters
    ----------
    lines : sequence of dict
        ``label``, ``alphas`` (m,), ``mean`` (m,), ``spread`` (m,), the number ``best`` of the
        alpha that the legend speaks of, and the numbers ``colour`` and ``dashes`` that say how it
        is drawn. A line of NaN is left out.
    best : (alpha, auc), optional
        Where to put a ring.
    name : str
        Letters and digits, different for every figure of a page.
    title, caption : str
        Above and below.
    floor : float, optional
        Where the AUC axis starts.

    Returns
    -------
    Drawing
        The figure and its legend.
    """
    from matplotlib import rc_context
    from matplotlib.ticker import FuncFormatter, LogLocator

    legend, top = [], 0.0
    with rc_context(RC):
        figure, axes = _figure()
        for i, line in enumerate(lines):
            how = stroke(line["colour"], line["dashes"])
            x, mean, spread = (np.asarray(line[k], float) for k in ("alphas", "mean", "spread"))
            if not np.isfinite(mean).any():
                continue
            low, high = np.clip([mean - spread, mean + spread], 0.0, 1.0)  # no AUC is beyond
            axes.fill_between(x, low, high, color=how.colour, alpha=0.12, linewidth=0)
            axes.plot(x, mean, color=how.colour, linestyle=how.linestyle, zorder=10 - i)
            legend.append(Key(line["label"], how, f"best {mean[line['best']]:.4f}"))
            top = max(top, float(np.nanmax(high)))
        if best is not None:
            ring = {"markersize": 10, "markerfacecolor": "none", "color": INK, "zorder": 20}
            axes.plot(*best, "o", clip_on=False, **ring)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=8))
        axes.xaxis.set_major_formatter(FuncFormatter(_power))
        axes.xaxis.minorticks_off()
        axes.margins(x=0.02)
        if floor is not None and floor < top:
            axes.set_ylim(floor, min(top + 0.05 * (top - floor), 1.0))
        axes.set(xlabel="alpha", ylabel="held-out AUC")
        svg = to_svg(figure, name, f"{title}: {', '.join(line['label'] for line in lines)}")
    return Drawing(title, svg, tuple(legend), caption)


@dataclass(frozen=True)
class Line:
    """A line of a plain figure.

    Parameters
    ----------
    x, y : ndarray of shape (m,)
        Its points.
    spread : ndarray of shape (m,), optional
        Half the width of a band around it.
    points : bool
        Mark every point.
    """

    x: np.ndarray
    y: np.ndarray
    spread: np.ndarray | None = None
    points: bool = False


def lines_drawing(
    lines: Mapping[str, Line],
    *,
    name: str,
    title: str,
    caption: str,
    xlabel: str,
    ylabel: str,
    xlog: bool = False,
    ylog: bool = False,
) -> Drawing:
    """Draw lines with bands on plain axes, for a page.

    Parameters
    ----------
    lines : mapping of str to Line
        By their names in the legend.
    name : str
        Letters and digits, different for every figure of a page.
    title, caption : str
        Above and below.
    xlabel, ylabel : str
        Of the axes.
    xlog, ylog : bool
        Logarithmic axes.

    Returns
    -------
    Drawing
        The figure and its legend.
    """
    from matplotlib import rc_context

    with rc_context(RC):
        figure, axes = _figure()
        legend = _plain_lines(axes, lines, xlabel, ylabel, xlog, ylog)
        svg = to_svg(figure, name, f"{title}: {', '.join(lines)}")
    return Drawing(title, svg, tuple(legend), caption)


def save_lines(
    path: Path,
    lines: Mapping[str, Line],
    *,
    title: str,
    xlabel: str,
    ylabel: str,
    xlog: bool = False,
    ylog: bool = False,
) -> None:
    """Write the same figure to a file of its own, the legend beside it.

    Parameters
    ----------
    path : Path
        Its suffix is the format.
    lines : mapping of str to Line
        By their names in the legend.
    title, xlabel, ylabel : str
        Above, and of the axes.
    xlog, ylog : bool
        Logarithmic axes.
    """
    from matplotlib import rc_context

    look = plain_look()
    with rc_context(look):
        figure, axes = _figure()
        _plain_lines(axes, lines, xlabel, ylabel, xlog, ylog, in_colour=True)
        axes.set_title(title, fontsize=11)
        # beside the axes: with many lines there is no room for it within
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.0))
        with replacing(path) as stream:
            figure.savefig(stream, dpi=150, bbox_inches="tight", format=path.suffix[1:])


def _plain_lines(
    axes: Any,
    lines: Mapping[str, Line],
    xlabel: str,
    ylabel: str,
    xlog: bool,
    ylog: bool,
    in_colour: bool = False,
) -> list[Key]:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    legend = []
    for i, (label, line) in enumerate(lines.items()):
        how = stroke(i)
        colour = plain_colour(how) if in_colour else how.colour
        known = np.isfinite(line.x) & np.isfinite(line.y)
        if ylog:
            known &= line.y > 0
        x, y = line.x[known], line.y[known]
        if line.spread is not None:
            wide = line.spread[known]
            low = np.maximum(y - wide, y / 10) if ylog else y - wide
            axes.fill_between(x, low, y + wide, color=colour, alpha=0.14, linewidth=0)
        marker = "o" if line.points or len(x) == 1 else None
        axes.plot(
            x, y, color=colour, linestyle=how.linestyle, marker=marker, markersize=4, label=label,
            zorder=3 + len(lines) - i,
        )  # fmt: skip
        legend.append(Key(label, how))
    for log, axis, scale in (
        (xlog, axes.xaxis, axes.set_xscale),
        (ylog, axes.yaxis, axes.set_yscale),
    ):
        if log:
            scale("log")
            low, high = axis.get_view_interval()
            # long numbers need more room
            subs = (1.0,) if high > 100 * low else (1.0, 2.0, 5.0) if high < 1e4 else (1.0, 3.0)
            axis.set_major_locator(LogLocator(base=10, subs=subs, numticks=10))
            written = _power if high > 100 * low else lambda v, _: f"{v:g}"
            axis.set_major_formatter(FuncFormatter(written))
            axis.set_minor_locator(NullLocator())
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return legend


def _figure() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE, layout="constrained")
    return figure, figure.add_subplot()


def _power(value: float, _: Any = None) -> str:
    exponent = round(float(np.log10(value))) if value > 0 else 0
    if -3 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return f"10{str(exponent).translate(_SUPERSCRIPT)}"
