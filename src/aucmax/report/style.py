"""The style of all figures, and figures as SVG in the colours of their page.

Figures are drawn in placeholder colours, which the SVG refers to as CSS variables, so that a figure
follows the light or dark mode of the page. Texts chosen by a user (names of models, labels) are
never inside a figure but beside it, in the text of the page.
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

# Placeholders, and the corresponding variables of templates/page.css.
INK, MUTED, GRID = "#fd0001", "#fd0002", "#fd0003"
_MAX_SERIES = 10
_VARIABLES = {INK: "--ink", MUTED: "--muted", GRID: "--grid"} | {
    f"#fe00{i:02x}": f"--series-{i}" for i in range(_MAX_SERIES)
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
    """Colour and dashes of a line, in a figure and in the legend beside it.

    Parameters
    ----------
    colour : str
        The placeholder.
    dashes : tuple of float
        On and off, in multiples of the line width; empty for a solid line.
    """

    colour: str
    dashes: tuple[float, ...]

    @property
    def linestyle(self) -> Any:
        """The dashes in matplotlib's form."""
        return (0, self.dashes) if self.dashes else "-"

    @property
    def variable(self) -> str:
        """The CSS variable of the colour."""
        return _VARIABLES[self.colour]

    @property
    def dasharray(self) -> str:
        """The dashes in SVG's form."""
        return " ".join(f"{2 * length:g}" for length in self.dashes)


def stroke(colour: int, dashes: int | None = None) -> Stroke:
    """Return the stroke of one line among several, the same for the same numbers.

    After the last colour the colours repeat with other dashes. ``dashes`` is for dashes that have
    a meaning.
    """
    i = dashes if dashes is not None else colour // _MAX_SERIES + colour % _MAX_SERIES
    return Stroke(f"#fe00{colour % _MAX_SERIES:02x}", _DASHES[i % len(_DASHES)])


# For figures in separate files, on white: the light colours of templates/page.css.
_PLAIN = (
    "#0072b2", "#d55e00", "#009e73", "#b0568f", "#b97f00",
    "#6a4fc3", "#7d5a3c", "#6c757d", "#8a8a00", "#0093a7",
)  # fmt: skip


_PAPER = {INK: "#1a1a1a", MUTED: "#666666", GRID: "#dddddd"} | {
    f"#fe00{i:02x}": colour for i, colour in enumerate(_PLAIN)
}
_WHITE = {"figure.facecolor": "white", "savefig.facecolor": "white", "svg.hashsalt": "aucmax"}


def on_paper(colour: Any) -> Any:
    """Return the colour of a placeholder on white; other values unchanged."""
    return _PAPER.get(colour, colour)


PAPER_RC: dict[str, Any] = {key: on_paper(value) for key, value in RC.items()} | _WHITE


_JOINED = 'stroke-linejoin="round" stroke-linecap="butt"'


def to_svg(figure: Figure, name: str, label: str) -> str:
    """Return a figure drawn under `RC` as an SVG element for a page.

    Parameters
    ----------
    name : str
        Letters and digits; makes the ids of several figures distinct.
    label : str
        A description of the figure for screen readers.
    """
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    # the first element's attributes replace this sheet, because the policy allows no other sheet
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
