"""What each column adds to the score of a model that bends, as figures of a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from aucmax.export.additive import additive
from aucmax.export.shapes import Pieces
from aucmax.report.figures import Figure, Line
from aucmax.report.page import Section

__all__ = ["shape_sections"]

_MOST = 12  # columns that are drawn, those that move the score most first
_POINTS = 300


def shape_sections(model: Any) -> list[Section]:
    """Return a section with a curve for each column that bends; none where none does.

    Parameters
    ----------
    model : estimator
        Fitted.
    """
    try:
        found = additive(model)
    except ValueError:  # its steps look at several columns, or are not known
        return []
    drawn = []
    for part in found.parts:
        shape = part.shape
        if not isinstance(shape, Pieces) or not len(shape.knots) or found.squares:
            continue
        low, high = shape.knots[0], shape.knots[-1]
        room = 0.1 * ((high - low) or 1.0)
        x = np.linspace(low - room, high + room, _POINTS)
        y = shape(x)
        name = found.columns[part.column].name or f"column {part.column + 1}"
        drawn.append((float(np.ptp(y)), name, x, y - y.mean()))
    drawn.sort(key=lambda one: -one[0])
    figures = [
        Figure(f"shape-{j + 1}", name, name, "adds to the score", {name: Line(x, y)})
        for j, (_, name, x, y) in enumerate(drawn[:_MOST])
    ]
    left = len(drawn) - len(figures)
    lead = "The score is a sum of one function of each column; these are not lines."
    more = f" {left} that move the score less are left out." if left else ""
    heading = "How each column bends the score"
    return [Section(heading, lead + more, figures=figures, on_terminal=False)] if figures else []
