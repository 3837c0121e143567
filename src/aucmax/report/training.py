"""Reports of models: ``aucmax train``, ``moments fit`` and ``show``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aucmax.basics.visible import in_line
from aucmax.estimators.additive_search import SHAPES
from aucmax.estimators.classifier import AUCClassifier
from aucmax.estimators.folds import Folding
from aucmax.estimators.strata import FittedStrata
from aucmax.estimators.suspicions import Suspicion
from aucmax.estimators.training import Tuned
from aucmax.metrics import AUCInterval, BinnedAUC, MomentAUC
from aucmax.report.facts import (
    AUCOfMoments,
    Facts,
    Fit,
    FittedModel,
    Folds,
    Pass,
    TrainingRows,
    alphas_text,
    auc_facts,
    auc_with_interval,
    dropped_text,
    facts_of_fit,
    read_facts,
    strata_facts,
    suspicious,
)
from aucmax.report.odds import OddsTable
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.reports import Report, inline, optional, unlisted
from aucmax.report.text import auc_text, counted, interval_text

__all__ = ["FitToMoments", "Model", "OnePassFit", "Training", "Tuning", "Weight"]


Around = tuple[Sequence[Section], Sequence[Section]]


def _page(title: str, lead: str, facts: Facts, around: Around = ((), ())) -> Page:
    before, after = around
    model = Section("The model", tables=[ResultTable.facts(facts)])
    return Page(title, lead, [*before, model, *after])


@dataclass(frozen=True, kw_only=True)
class Bending:
    """The shape of a model, and what curves and maps gained in the folds."""

    shape: str
    held_out_auc_of_shapes: Mapping[str, float] | None = optional()
    loss: str = unlisted("")
    alphas: Mapping[str, float] | None = optional()
    interactions: Sequence[str] | None = optional()  # names of columns
    why_straight: str = unlisted("")

    @classmethod
    def of(cls, tuned: Tuned, why_straight: str) -> Bending | None:
        """Describe what was tried; None if nothing was."""
        if tuned.bent is None:
            return cls(shape="line", why_straight=why_straight) if why_straight else None
        scores, additive = tuned.bent.held_out, tuned.additive
        if additive is None:
            return cls(shape="line", held_out_auc_of_shapes=scores)
        parts = ("lines", "curves", "maps")[: SHAPES.index(additive.shape_) + 1]
        return cls(
            shape=additive.shape_,
            held_out_auc_of_shapes=scores,
            loss=additive.loss_,
            alphas=dict(zip(parts, additive.alphas_.tolist(), strict=False)),
            interactions=[" × ".join(map(str, pair)) for pair in additive.interactions_],
        )

    def settings(self) -> str:
        """Return the settings of an additive model, in words."""
        return f"loss {self.loss}, alpha {alphas_text(self.alphas or {})}"

    def words(self, within_strata: bool) -> str:
        """Return the shape, with the held-out AUC of all that were tried."""
        if self.why_straight:
            return f"line  (curves were not tried, {self.why_straight}; --shape asks for them)"
        scores = self.held_out_auc_of_shapes or {}
        if [*scores] == ["line"]:
            only = auc_text(scores["line"])
            return f"line  (held-out AUC {only}; no curve and no pair explains more than chance)"
        number = len(self.interactions or ())
        maps = f" and {counted(number, 'map')} of pairs" if number else ""
        shape = "line" if self.shape == "line" else f"curves{maps}"
        names = {"interactions": "with maps"}
        held_out = ", ".join(
            f"{names.get(shape, shape)} {auc_text(auc)}" for shape, auc in scores.items()
        )
        where = " within strata" if within_strata else ""
        return f"{shape}  (held-out AUC{where}: {held_out})"


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """How the settings of a model were chosen."""

    folds: Folds = inline()
    settings_tried: int
    held_out_auc: float
    held_out_interval: AUCInterval
    tuned_on: int | None = optional()  # rows, where not on all
    losses: Sequence[str] | None = optional()  # that were tried on those rows
    losses_left_out: Sequence[str] = unlisted(())
    bending: Bending | None = inline()

    @classmethod
    def of(cls, tuned: Tuned, folding: str, why_straight: str = "") -> Tuning:
        """Describe how a model was tuned, on folds that were made so."""
        return cls(
            folds=Folds(
                folds=tuned.folds, rounds=tuned.rounds, folding=folding, dropped=tuned.dropped
            ),
            settings_tried=tuned.settings_tried,
            held_out_auc=tuned.auc,
            held_out_interval=tuned.interval,
            tuned_on=tuned.rows,
            losses=tuned.losses,
            losses_left_out=tuned.losses_left_out,
            bending=Bending.of(tuned, why_straight),
        )

    def facts(self, settings: str, within_strata: bool) -> Facts:
        """Return the choice, and how good it is."""
        course = "" if self.folds.folding == Folding().words else f", {self.folds.folding}"
        if dropped := dropped_text(self.folds.dropped, self.folds.folds):
            course += f" ({dropped})"
        if self.tuned_on is not None:
            course += f", on {self.tuned_on:,} of the rows"
        if self.losses_left_out:
            course += f", with no room for the loss {' or '.join(self.losses_left_out)}"
        if self.bending is not None and self.bending.alphas is not None:
            settings = self.bending.settings()
        tried = counted(self.settings_tried, "setting")
        low_high = interval_text(self.held_out_interval.low, self.held_out_interval.high)
        note = "; biased upwards by tuning"
        held_out = auc_with_interval(self.held_out_auc, low_high, within_strata, note)
        return [
            ("tuned", f"{settings}: the best of {tried} in {self.folds}{course}"),
            ("held-out AUC", held_out),
            *([] if self.bending is None else [("shape", self.bending.words(within_strata))]),
        ]


@dataclass(frozen=True, kw_only=True)
class Training(Report):
    """The report of ``aucmax train``."""

    model: str
    rows: TrainingRows = inline()
    negatives: int
    tuned: bool
    tuning: Tuning | None = inline()
    why_not_tuned: str = unlisted("")
    fitted: FittedModel = inline()
    training_auc: AUCInterval | BinnedAUC | AUCOfMoments  # the last for rows that were read once
    odds: OddsTable | None = inline()
    suspicions: Sequence[Suspicion] = ()
    read: Sequence[Pass] | None = optional()
    seconds: float

    @classmethod
    def of(
        cls, rows: TrainingRows, auc: AUCInterval | BinnedAUC | MomentAUC, **more: Any
    ) -> Training:
        """Describe a training on rows, whose AUC is given; ``more`` are the other fields."""
        return cls(
            rows=rows,
            negatives=rows.rows - rows.positives,
            tuned=more["tuning"] is not None,
            training_auc=AUCOfMoments.of(auc) if isinstance(auc, MomentAUC) else auc,
            **more,
        )

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        rows, auc, facts = self.rows, self.training_auc, []
        within_strata = self.fitted.within_strata is not None
        if rows.columns != rows.features:
            columns = counted(rows.columns, "column")
            facts.append(("features", f"{rows.features:,}  (from {columns})"))
        if self.tuning is None:
            facts.append(("not tuned", f"{self.fitted}: {self.why_not_tuned}"))
        else:
            facts += self.tuning.facts(str(self.fitted), within_strata)
        if isinstance(auc, AUCOfMoments):
            auc_lines = [
                (f"training {name}", words) for name, words in auc_facts(auc, within_strata)
            ]
        else:
            interval = interval_text(auc.low, auc.high)
            auc_lines = [("training AUC", auc_with_interval(auc.auc, interval, within_strata))]
        facts += [
            *self.fitted.facts(),
            *auc_lines,
            ("seconds", f"{self.seconds:.2f}"),
            *read_facts(self.read),
            ("saved", self.model),
        ]
        odds = [] if self.odds is None else [self.odds.section()]
        around = rows.sections(), [*odds, *suspicious(self.suspicions)]
        return _page(f"Trained on {rows.data}", str(rows), facts, around)


@dataclass(frozen=True, kw_only=True)
class OnePassFit(Report):
    """The report of ``aucmax train --one-pass``."""

    model: str
    data: str
    positive: Any
    negative: Any
    weight_of_positives: float
    weight: float
    features: int
    fitted: FittedModel = inline()
    rank: int | None  # of the sketches of the covariances; None for full covariances
    auc: AUCOfMoments | None
    read: Sequence[Pass] | None = optional()
    seconds: float

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        share = 100 * self.weight_of_positives / self.weight
        described = in_line(
            f"{self.data}: rows of weight {self.weight:,.15g}, {self.features:,} features, "
            f"{self.weight_of_positives:,.15g} positive ({share:.3g} %; label {self.positive})"
        )
        facts = [
            ("not tuned", str(self.fitted)),
            *self._how_good(),
            *auc_facts(self.auc, self.fitted.within_strata is not None),
            ("seconds", f"{self.seconds:.2f}"),
            *read_facts(self.read),
            ("saved", self.model),
        ]
        return _page(f"Trained on {self.data} in one pass", described, facts)

    def _how_good(self) -> Facts:
        """Return how far from the optimum the model is, or a bound on it."""
        if self.rank is None:
            exact = "exact: the covariances of both classes are kept"
            return [("one pass", exact), *self.fitted.facts()]
        optimality = self.fitted.optimality
        bound = "not known: the sketch may miss more than the model gains"
        if optimality is not None and np.isfinite(optimality) and optimality < 1.0:
            bound = f"{optimality:.2g} or less  (0 at the optimum, 1 at w = 0)"
        return [
            *strata_facts(self.fitted.within_strata),
            ("one pass", f"approximate: {self.rank} directions for each covariance"),
            ("objective", f"{self.fitted.objective:.6g} or less"),
            ("optimality", bound),
        ]


@dataclass(frozen=True, kw_only=True)
class FitToMoments(Report):
    """The report of ``aucmax moments fit``."""

    model: str
    moments: str
    positive: Any
    negative: Any
    features: int
    fitted: FittedModel = inline()
    auc: AUCOfMoments | None
    strata: FittedStrata | None = optional()
    why_positive: str = unlisted("")
    why_not_tuned: str = unlisted("")

    @classmethod
    def of(
        cls, fitted: AUCClassifier, alphas: Mapping[str, float] | None = None, **more: Any
    ) -> FitToMoments:
        """Describe a model; ``alphas`` as for `FittedModel.of`, ``more`` are the other fields."""
        negative, positive = fitted.classes_.tolist()
        return cls(
            positive=positive,
            negative=negative,
            features=fitted.n_features_in_,
            fitted=FittedModel.of(fitted, alphas),
            strata=getattr(fitted, "strata_", None),
            **more,
        )

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        settings = ("settings", str(self.fitted))
        if self.why_not_tuned:
            settings = ("not tuned", f"{self.fitted}: {self.why_not_tuned}")
        return _page(f"Fitted to {self.moments}", "", facts_of_fit(self, settings))


@dataclass(frozen=True, kw_only=True)
class Weight:
    """A feature's weight, and its effect if the spread of the features is known."""

    feature: str
    weight: float
    effect: float | None = optional()


@dataclass(frozen=True, kw_only=True)
class Term:
    """A column or a pair, and the highest minus the lowest value that it adds to the score."""

    term: str
    range: float


@dataclass(frozen=True, kw_only=True)
class Model(Report):
    """The report of ``aucmax show``."""

    model: str
    type: str
    positive: Any
    negative: Any
    target: str | None
    features: int
    nonzero: int
    settings: Mapping[str, Any]
    fit: Fit = inline()
    within_strata: FittedStrata | None = optional()
    keeps_moments: bool
    decisions: Sequence[str] = ()  # about the table it was trained on
    intercept: float
    weights: Sequence[Weight]  # the largest; none of curves and maps
    terms: Sequence[Term] | None = optional()  # of curves and maps, the largest
    more_terms: int = unlisted(0)
    versions: Mapping[str, str | None]

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        target = f"  (column {self.target})" if self.target else ""
        versions = f"aucmax {self.versions['aucmax']}, scikit-learn {self.versions['sklearn']}"
        facts = [
            ("model", self.model),
            ("positive", f"{self.positive}{target}"),
            ("negative", self.negative),
            ("features", f"{self.features:,}, {self.nonzero:,} with a nonzero weight"),
            ("settings", ", ".join(f"{n} {_setting(of)}" for n, of in self.settings.items())),
            ("intercept", f"{self.intercept:.6g}"),
            *strata_facts(self.within_strata),
            *self.fit.facts(),
            ("saved by", versions),
            *(("prepared" if not k else "", line) for k, line in enumerate(self.decisions)),
        ]
        tables = [ResultTable.facts(facts)]
        if self.weights:
            with_effect = self.weights[0].effect is not None
            rows = [
                (
                    weight.feature,
                    f"{weight.weight:+.4g}",
                    *([f"{weight.effect:+.4g}"] if with_effect else []),
                )
                for weight in self.weights
            ]
            hidden = self.features - len(rows)
            caption = f"and {hidden:,} smaller ones (--top)" if hidden else ""
            head = ("feature", "weight", "effect")[: len(rows[0])]
            tables.append(ResultTable(head, rows, caption))
        if self.terms:
            ranges = [(term.term, f"{term.range:.4g}") for term in self.terms]
            more = f"and {self.more_terms:,} smaller ones (--top)" if self.more_terms else ""
            tables.append(ResultTable(("column or pair", "range"), ranges, more))
        return Page(f"The model {self.model}", "", [Section("", tables=tables)])


def _setting(value: Any) -> str:
    """Return a setting in words."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return f"({', '.join(f'{of:.3g} of {name}' for name, of in value.items())})"
    return str(value)
