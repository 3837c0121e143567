"""The report of a model whose settings were chosen by leaving out sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aucmax.estimators.sites import TunedOnSites
from aucmax.estimators.strata import FittedStrata
from aucmax.report.facts import AUCOfMoments, FittedModel, facts_of_fit
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.reports import Report, inline, optional, unlisted
from aucmax.report.text import counted

__all__ = ["FitToSites"]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """How well the model of the other sites ranks one; None if it was not left out."""

    site: str
    rows: float
    positives: float
    held_out_loss: float | None
    held_out_auc: AUCOfMoments | None


@dataclass(frozen=True, kw_only=True)
class FitToSites(Report):
    """The report of ``aucmax moments fit`` to the files of several sites."""

    model: str
    sites: Sequence[LeftOut]
    positive: Any
    negative: Any
    features: int
    settings_tried: int
    held_out_loss: float  # means over the sites
    held_out_auc: AUCOfMoments | None
    fitted: FittedModel = inline()
    auc: AUCOfMoments | None
    strata: FittedStrata | None = optional()
    why_positive: str = unlisted("")

    @classmethod
    def of(
        cls, tuned: TunedOnSites, alphas: Mapping[str, float] | None = None, **more: Any
    ) -> FitToSites:
        """Describe how a model was tuned; ``alphas`` as for `FittedModel.of`."""
        negative, positive = tuned.model.classes_.tolist()
        return cls(
            sites=[
                LeftOut(
                    site=site.name,
                    rows=site.rows,
                    positives=site.positives,
                    held_out_loss=site.loss,
                    held_out_auc=None if site.auc is None else AUCOfMoments.of(site.auc),
                )
                for site in tuned.sites
            ],
            positive=positive,
            negative=negative,
            features=tuned.model.n_features_in_,
            settings_tried=tuned.settings_tried,
            held_out_loss=tuned.loss,
            held_out_auc=None if tuned.auc is None else AUCOfMoments.of(tuned.auc),
            fitted=FittedModel.of(tuned.model, alphas),
            strata=getattr(tuned.model, "strata_", None),
            **more,
        )

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        settings = ("settings", str(self.fitted))
        if self.settings_tried > 1:
            settings = ("tuned", f"{self.fitted}: the best of {self.settings_tried:,} settings")
        tables = [self._table(), ResultTable.facts(facts_of_fit(self, settings))]
        return Page(
            f"Fitted to {counted(len(self.sites), 'site')}", "", [Section("", tables=tables)]
        )

    def _table(self) -> ResultTable:
        """Return a line for each site, and the means."""
        private = self.held_out_auc is None
        head = ["site", "rows", "positives", "held-out loss", "AUC if normal", "AUC, bound"]
        rows = [
            [site.site, _weight_text(site.rows), _weight_text(site.positives), *_judged(site)]
            for site in self.sites
        ]
        chosen = "; optimistic, since the settings were chosen by it"
        notes = {
            "Each site is ranked by the model of the others": True,
            "Loss: 0.5 if all scores are equal": True,
            f"Mean: weighted by positives{chosen if self.settings_tried > 1 else ''}": True,
            "-: lacks a class, so it is used for training only": any(
                site.held_out_loss is None for site in self.sites
            ),
            "Private moments: their noise makes losses too large, and AUCs unknown": private,
            "If normal: an estimate that assumes normality": not private,
            "Bound: holds for any rows with these moments": not private,
        }
        caption = ". ".join(note for note, holds in notes.items() if holds)
        rows.append(["mean", "", "", *_judged(self)])
        columns = slice(4 if private else 6)
        return ResultTable(head[columns], [row[columns] for row in rows], caption)


def _weight_text(weight: float) -> str:
    """Format a number of rows, or their weight."""
    return f"{weight:,.0f}" if weight >= 1e5 else f"{weight:,.6g}"


def _judged(report: LeftOut | FitToSites) -> list[str]:
    """Return the cells of held-out loss and AUC."""
    auc = report.held_out_auc
    loss = "-" if report.held_out_loss is None else f"{report.held_out_loss:.4f}"
    return [loss, *(("-", "-") if auc is None else auc.words)]
