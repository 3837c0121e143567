"""``--shape``: whether a model bends, and what that needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aucmax.basics.doors import Door
from aucmax.cli.front import Prepared
from aucmax.cli.options import Transforms

__all__ = ["SHAPE_HELP", "Bends", "Shape", "check_straight"]

_estimators = Door("aucmax.estimators")
_shapes = Door("aucmax.estimators.shapes")

# of the settings of a line those that an additive model has, by their names there
_OF_ADDITIVE = {"alpha": "alphas", "loss": "losses"}


class Shape(StrEnum):
    """What a model may be."""

    line = "line"
    curves = "curves"
    interactions = "interactions"


SHAPE_HELP = (
    "What the score is: a line, a curve for each column, or curves and maps of pairs of columns "
    "(interactions). By default the simplest that ranks as well as the best in the folds; a line "
    "if nothing is tuned."
)


@dataclass(frozen=True)
class Bends:
    """Whether curves and maps are tried.

    Parameters
    ----------
    named : str
        The shape that --shape asks for, if it is not a line.
    arguments : dict
        For `tuned`.
    why_not : str
        Why they are not tried, where that is worth a word.
    """

    named: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    why_not: str = ""

    @classmethod
    def of(
        cls,
        shape: Shape | None,
        settings: dict[str, Any],
        prepared: Prepared,
        transforms: Transforms,
    ) -> Bends:
        """Return what the options mean; raise ValueError if some exclude each other."""
        before = transforms.given()
        if shape is Shape.line or (shape is None and before):
            return cls(arguments={"shape": "line"})
        others = [name for name in settings if name not in _OF_ADDITIVE]
        for name in (*before, *others):
            check_straight(shape, f"--{name.replace('_', '-')}")
        table = prepared.rows if prepared.before is None else prepared.before.rows
        if table.in_parts:
            check_straight(shape, "a file that is read in parts (--memory)")
        why_not = _shapes.why_straight(table)
        if why_not and shape is None:
            return cls(arguments={"shape": "line"}, why_not=why_not)
        if "alpha" in settings:  # of a loss, since α of different losses do not compare
            settings = {"loss": _estimators.AUCClassifier().loss, **settings}
        chosen = {of: [settings[name]] for name, of in _OF_ADDITIVE.items() if name in settings}
        kind = "" if shape is None else shape.value
        return cls(kind, {"table": table, "shape": kind or "auto", **chosen})


def check_straight(shape: str | None, reason: str) -> None:
    """Raise ValueError for curves with an option, or a reason, that means a line."""
    if shape not in (None, "", Shape.line):
        raise ValueError(f"--shape {shape} does not go with {reason}.")
