"""``--shape`` and ``--monotone``: whether a score is nonlinear, how, and what that requires."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aucmax.basics.doors import Door, postponed
from aucmax.cli.options import Transforms, option

with postponed():
    from aucmax.cli.front import Prepared

__all__ = ["Bends", "Form", "Shape"]

_estimators = Door("aucmax.estimators")
_shapes = Door("aucmax.estimators.shapes")

# settings of a line that an additive model has, too, with their names there
_OF_ADDITIVE = {"alpha": "alphas", "loss": "losses"}


class Shape(StrEnum):
    """What a model may be."""

    line = "line"
    curves = "curves"
    interactions = "interactions"


_TRENDS = {"increasing": 1, "decreasing": -1}


@dataclass(frozen=True, kw_only=True)
class Form:
    """Options for the form of the score."""

    shape: Shape | None = option(
        None,
        "What the score is: a line, a curve for each column, or curves and maps of pairs of "
        "columns (interactions). By default the simplest that ranks as well as the best in the "
        "folds; a line if nothing is tuned.",
    )
    monotone: list[str] | None = option(
        None,
        "increasing: the score never falls as this column rises, whatever the others are; or "
        "decreasing.",
        metavar="COLUMN=TREND",
    )

    @property
    def needs_folds(self) -> str:
        """The option, if one is given, that requires a search over curves and maps."""
        if self.monotone:
            return "--monotone"
        return "" if self.shape in (None, Shape.line) else f"--shape {self.shape.value}"

    def check_straight(self, reason: str) -> None:
        """Raise ValueError for an option that conflicts with a reason for a plain line."""
        if self.needs_folds:
            raise ValueError(f"{self.needs_folds} does not go with {reason}.")

    def trends(self) -> dict[str, int]:
        """Return ``--monotone`` in the form of `AdditiveAUCClassifier`'s argument."""
        trends = {}
        for word in self.monotone or ():
            column, _, trend = word.rpartition("=")
            if not column or trend not in _TRENDS:
                raise ValueError(
                    f"--monotone {word} must be COLUMN=increasing or COLUMN=decreasing."
                )
            if column in trends:
                raise ValueError(f"--monotone names {column!r} twice; give one direction.")
            trends[column] = _TRENDS[trend]
        return trends


@dataclass(frozen=True)
class Bends:
    """Whether curves and maps are tried.

    Parameters
    ----------
    named : bool
        Whether an option requires a search over them.
    arguments : dict
        For `tuned`.
    why_not : str
        Why they are not tried, if that is to be reported.
    """

    named: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)
    why_not: str = ""

    @classmethod
    def of(
        cls,
        form: Form,
        settings: dict[str, Any],
        prepared: Prepared,
        transforms: Transforms,
    ) -> Bends:
        """Return what the options mean; raise ValueError if some exclude each other."""
        before, named, trends = transforms.given(), bool(form.needs_folds), form.trends()
        if not named and (form.shape is Shape.line or before):
            return cls(arguments={"shape": "line", "monotone": trends})
        others = [name for name in settings if name not in _OF_ADDITIVE]
        for name in (*before, *others):
            form.check_straight(f"--{name.replace('_', '-')}")
        table = prepared.rows if prepared.before is None else prepared.before.rows
        why_not = _shapes.why_straight(table)
        if why_not and not named:
            return cls(arguments={"shape": "line", "monotone": trends}, why_not=why_not)
        if "alpha" in settings:  # with its loss, since the α of different losses are not comparable
            settings = {"loss": _estimators.AUCClassifier().loss, **settings}
        chosen = {of: [settings[name]] for name, of in _OF_ADDITIVE.items() if name in settings}
        shape = "auto" if form.shape is None else form.shape.value
        return cls(named, {"table": table, "shape": shape, "monotone": trends, **chosen})
