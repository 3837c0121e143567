"""Facts that several reports contain: rows, settings, fit, and how often a file was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from aucmax.basics.visible import in_line
from aucmax.data.decisions import Decision
from aucmax.data.labelled import Labelled
from aucmax.data.reading import options_text
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.strata import FittedStrata
from aucmax.estimators.suspicions import Suspicion
from aucmax.metrics import MomentAUC
from aucmax.report.page import ResultTable, Section
from aucmax.report.reports import named, optional
from aucmax.report.text import auc_text, counted

__all__ = [
    "AUCOfMoments",
    "AlphaLine",
    "Facts",
    "Fit",
    "FittedModel",
    "Folds",
    "Pass",
    "Rows",
    "Settings",
    "TrainingRows",
    "alphas_text",
    "auc_facts",
    "auc_with_interval",
    "calibration_facts",
    "calibration_of",
    "dropped_text",
    "read_facts",
    "read_text",
    "strata_facts",
    "suspicious",
]

Facts = list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of two classes."""

    data: str
    rows: int
    features: int
    positives: int
    positive: Any
    weight: str | None
    strata: str | None = optional()
    groups: str | None = optional()
    number_of_groups: int | None = optional()

    @classmethod
    def of(cls, rows: Labelled, **more: Any) -> Self:
        """Describe rows; ``more`` are fields that the rows do not contain."""
        if more.get("groups") is not None and rows.groups is not None:
            more["number_of_groups"] = len(np.unique(rows.groups))
        return cls(rows=len(rows.positive), positives=int(rows.positive.sum()), **more)

    @property
    def in_groups(self) -> str:
        """The groups of the rows, in words; empty if there are none."""
        if self.number_of_groups is None:
            return ""
        return f"{counted(self.number_of_groups, 'group')} of {self.groups}"

    def __str__(self) -> str:
        share = 100 * self.positives / self.rows
        rarer = ", the rarer" if getattr(self, "positive_is", None) == "rarer" else ""
        weighted = f", weighted by {self.weight}" if self.weight else ""
        return in_line(
            f"{self.data}: {counted(self.rows, 'row')}, {counted(self.features, 'feature')}, "
            f"{self.positives:,} positive ({share:.3g} %; label {self.positive}{rarer}){weighted}"
        )


@dataclass(frozen=True, kw_only=True)
class TrainingRows(Rows):
    """Rows that a model learns from."""

    columns: int  # of the file
    positive_is: str | None  # "rarer" where the label was chosen as such
    negative: Any
    decisions: Sequence[Decision] = ()

    def sections(self) -> list[Section]:
        """Return the decisions about the table, if there were any."""
        return decided(self.decisions)


def decided(decisions: Sequence[Decision]) -> list[Section]:
    """Return a section of what was decided about a table; none if there was nothing to decide."""
    lines = [
        (decision.column or "the table", decision.what, options_text(decision.otherwise))
        for decision in decisions
    ]
    if not lines:
        return []
    table = ResultTable(("column", "decision", "to change it"), lines, words=(1, 2))
    return [Section("How the table was read", tables=[table])]


@dataclass(frozen=True, kw_only=True)
class AlphaLine:
    """The settings of a model except alpha: a line of a search's grid."""

    loss: str
    within: float | str
    standardize: float
    l1_ratio: float

    @property
    def named_loss(self) -> NamedLoss:
        """The loss with τ."""
        return NamedLoss(self.loss, self.within)


@dataclass(frozen=True, kw_only=True)
class Settings(AlphaLine):
    """The objective of a model."""

    alpha: float

    def __str__(self) -> str:
        return (
            f"loss {self.named_loss}, standardize {self.standardize:g}, l1 ratio "
            f"{self.l1_ratio:g}, alpha {self.alpha:.3g}"
        )


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A fit by a solver; None for what the model of another library does not provide."""

    solver: str | None
    iterations: int | None
    objective: float | None
    optimality: float | None

    @classmethod
    def of_solver(cls, model: Any, **more: Any) -> Self:
        """Describe the fit of a model; ``more`` are further fields."""
        iterations = int(np.max(model.n_iter_)) if hasattr(model, "n_iter_") else None
        names = ("solver", "objective", "optimality")
        more |= {name: getattr(model, f"{name}_", None) for name in names}
        return cls(iterations=iterations, **more)

    def facts(self) -> Facts:
        """Return solver, objective and optimality, as far as they are known."""
        facts = []
        if self.solver is not None:
            facts.append(("solver", f"{self.solver}, {counted(self.iterations or 0, 'iteration')}"))
        if self.objective is not None:
            optimality = f"{self.optimality:.1e}  (0 at the optimum, 1 at w = 0)"
            facts += [("objective", f"{self.objective:.6g}"), ("optimality", optimality)]
        return facts


@dataclass(frozen=True, kw_only=True)
class FittedModel(Settings, Fit):
    """A fitted `AUCClassifier`."""

    probability: str | None = optional()
    within_strata: FittedStrata | None = optional()
    alphas: Mapping[str, float] | None = optional()  # of lines, curves and maps

    @classmethod
    def of(cls, model: Any, alphas: Mapping[str, float] | None = None) -> Self:
        """Describe a fitted model; an additive one has ``alphas`` for its kinds of features."""
        settings = {name: getattr(model, name) for name in ("loss", "within", "l1_ratio", "alpha")}
        return cls.of_solver(
            model,
            **settings | ({} if alphas is None else {"alpha": alphas["lines"]}),
            standardize=model.standardize_,
            probability=calibration_of(model),
            within_strata=getattr(model, "strata_", None),
            alphas=alphas,
        )

    def __str__(self) -> str:
        if self.alphas is None:
            return super().__str__()
        return f"loss {self.named_loss}, alpha {alphas_text(self.alphas)}"

    def facts(self) -> Facts:
        """Return what `Fit` says, the strata, and how scores become probabilities."""
        return [
            *strata_facts(self.within_strata),
            *super().facts(),
            *calibration_facts(self.probability),
        ]


def alphas_text(alphas: Mapping[str, float]) -> str:
    """Return the α of the kinds of features of an additive model, in words."""
    return ", ".join(f"{alpha:.3g} of {kind}" for kind, alpha in alphas.items())


def calibration_of(model: Any) -> str | None:
    """Return the name of a model's calibration, or None."""
    return type(model.calibration_).__name__.lower() if hasattr(model, "calibration_") else None


def calibration_facts(probability: str | None) -> Facts:
    """Return the calibration as a line of a table."""
    return [("probabilities", f"{probability}, on the held-out rows")] if probability else []


def strata_facts(strata: FittedStrata | None) -> Facts:
    """Return the strata of a fit as a line of a table; none without any."""
    return [] if strata is None else [("strata", strata.words)]


def auc_with_interval(auc: float, interval: str, within_strata: bool, note: str = "") -> str:
    """Return an AUC with the ends of its 95 % interval, and whether it is one within strata."""
    area = f"{auc_text(auc)} within strata" if within_strata else auc_text(auc)
    return f"{area}  (95 % interval {interval}{note})"


def dropped_text(dropped: int | None, parts: int) -> str:
    """Return how many training rows were dropped, in words; empty if that was not asked for.

    Parameters
    ----------
    dropped : int or None
        In all parts together.
    parts : int
        Their number.
    """
    if dropped is None:
        return ""
    each = " for each test part, on average" if parts > 1 else ""
    return f"{counted(round(dropped / parts), 'training row')} of tested groups dropped{each}"


@dataclass(frozen=True, kw_only=True)
class Folds:
    """How rows were divided into folds."""

    folds: int  # of all rounds
    rounds: int
    folding: str
    dropped: int | None = optional()  # earlier rows of groups that are tested, in all folds

    def __str__(self) -> str:
        if self.rounds == 1:
            return f"{self.folds} folds"
        return f"{self.rounds} rounds of {self.folds // self.rounds} folds"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """How often rows in parts were read from one place."""

    place: str = named("from")
    passes: int
    bytes: int

    def __str__(self) -> str:
        passes = f"{self.passes:,} pass{'' if self.passes == 1 else 'es'}"
        return f"{passes} over the {self.place}, {self.bytes / 1e9:.3g} GB"


def read_text(read: Sequence[Pass] | None) -> str:
    """Return how often rows in parts were read, in words; empty if they were in memory."""
    return ", ".join(map(str, read or ()))


def read_facts(read: Sequence[Pass] | None) -> Facts:
    """Return the passes as a line of a table."""
    return [("read", read_text(read))] if read else []


@dataclass(frozen=True, kw_only=True)
class AUCOfMoments:
    """What moments imply about an AUC."""

    if_normal: float
    at_least: float
    at_most: float

    @classmethod
    def of(cls, auc: MomentAUC) -> Self:
        """Describe an estimate and its bounds."""
        normal, low, high = map(float, auc)
        return cls(if_normal=normal, at_least=low, at_most=high)

    @property
    def words(self) -> tuple[str, str]:
        """The estimate and the nontrivial bound."""
        low, high = auc_text(self.at_least), auc_text(self.at_most)
        bound = f"{low} or more" if self.at_least > 0.0 else f"{high} or less"
        return auc_text(self.if_normal), bound


def auc_facts(auc: AUCOfMoments | None, within_strata: bool = False) -> Facts:
    """Return what moments imply about an AUC as lines of a table; none if it is unknown."""
    if auc is None:
        return []
    normal, bound = auc.words
    within = " within strata" if within_strata else ""
    return [
        (
            "AUC if normal",
            f"{normal}{within}  (an estimate that assumes normal scores in both classes)",
        ),
        ("AUC, bound", f"{bound}{within}  (for any rows with these moments)"),
    ]


def facts_of_fit(report: Any, settings: tuple[str, str]) -> Facts:
    """Return the lines of the report of a fit to moments, of one file or of several sites."""
    reason = f"  ({report.why_positive})" if report.why_positive else ""
    return [
        ("positive", f"{report.positive}, against {report.negative}{reason}"),
        ("features", f"{report.features:,}"),
        settings,
        *report.fitted.facts(),
        *auc_facts(report.auc, report.fitted.within_strata is not None),
        ("saved", report.model),
    ]


def suspicious(suspicions: Sequence[Suspicion]) -> list[Section]:
    """Return a section that lists suspicions; none if there are none."""
    if not suspicions:
        return []
    listed = ((f"{number}.", suspicion.sentence) for number, suspicion in enumerate(suspicions, 1))
    return [Section("Look at this first", tables=[ResultTable.facts(listed)])]
