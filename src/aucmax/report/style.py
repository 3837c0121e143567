"""One look for every figure of a page, and figures as SVG that takes the page's colours.

Figures are drawn in placeholder colours, which the SVG names as CSS variables: a figure follows
the page from light to dark. Words that a user chose (names of models, labels) never go into a
figure; they stand beside it, in the page's own text.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "GRID",
    "INK",
    "MUTED",
    "PAPER_RC",
    "RC",
    "Stroke",
    "on_paper",
    "stroke",
    "to_svg",
]

# Placeholders, and the variables of templates/page.css that stand for them.
INK, MUTED, GRID = "#fd0001", "#fd0002", "#fd0003"
_SERIES = 10
_VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid"} | {
    f"#fe00{i:02x}": f"--series-{i}" for i in range(_SERIES)
}
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2))

RC: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11,
    "axes.labelsize": 11,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.which": "major",
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


class Stroke(NamedTuple):
    """How one line is drawn, in a figure and in the legend beside it.

    Parameters
    ----------
    colour : str
        The placeholder.
    dashes : tuple of float
        On and off, in widths of the line; empty for a solid line.
    """

    colour: str
    dashes: tuple[float, ...]

    @property
    def linestyle(self) -> Any:
        """The dashes as matplotlib takes them."""
        return (0, self.dashes) if self.dashes else "-"

    @property
    def variable(self) -> str:
        """The CSS variable of the colour."""
        return _VARIABLES[self.colour]

    @property
    def dasharray(self) -> str:
        """The dashes as SVG takes them."""
        return " ".join(f"{2 * length:g}" for length in self.dashes)


def stroke(colour: int, dashes: int | None = None) -> Stroke:
    """Return the stroke of one line among several, the same for the same numbers.

    After the last colour they come again, with other dashes. ``dashes`` is for dashes that mean
    something of their own.
    """
    i = dashes if dashes is not None else colour // _SERIES + colour % _SERIES
    return Stroke(f"#fe00{colour % _SERIES:02x}", _DASHES[i % len(_DASHES)])


# For figures in files of their own, on white: the light colours of templates/page.css.
_PLAIN = (
    "#0072b2", "#d55e00", "#009e73", "#b0568f", "#b97f00",
    "#6a4fc3", "#7d5a3c", "#6c757d", "#8a8a00", "#0093a7",
)  # fmt: skip


_PAPER = {INK: "#1a1a1a", MUTED: "#666666", GRID: "#dddddd"} | {
    f"#fe00{i:02x}": colour for i, colour in enumerate(_PLAIN)
}
_WHITE = {"figure.facecolor": "white", "savefig.facecolor": "white", "svg.hashsalt": "aucmax"}


def on_paper(colour: Any) -> Any:
    """Return what a placeholder is on white paper; anything else as it is."""
    return _PAPER.get(colour, colour)


PAPER_RC: dict[str, Any] = {key: on_paper(value) for key, value in RC.items()} | _WHITE


_JOINED = 'stroke-linejoin="round" stroke-linecap="butt"'


def to_svg(figure: Figure, name: str, label: str) -> str:
    """Write a figure drawn under `RC` as an SVG element to be put into a page.

    Parameters
    ----------
    name : str
        Letters and digits; keeps the ids of several figures apart.
    label : str
        What the figure shows, for readers who cannot see it.
    """
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    # what it says of all elements they inherit from the first; a page takes no other style sheet
    svg = re.sub(r"<style.*?</style>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r"font: ([0-9.]+)px [^;\"]*", r"font: \1px var(--sans)", svg)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", svg)
    for placeholder, variable in _VARIABLES.items():
        svg = svg.replace(placeholder, f"var({variable})")
    head, body = svg.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<svg {spaces} {box.group()} role="img" aria-label="{escape(label)}" {_JOINED}>{body}'
