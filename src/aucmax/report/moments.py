"""The report of a file of moments, which all commands on such files print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aucmax.data.decisions import Decision
from aucmax.estimators.strata import FittedStrata
from aucmax.metrics import moment_auc
from aucmax.report.facts import AUCOfMoments, decided
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.reports import Report, optional, unlisted
from aucmax.statistics.base import ClassStatistics

__all__ = ["Moments"]


@dataclass(frozen=True, kw_only=True)
class ClassOfRows:
    """One class of the rows behind a file of moments."""

    label: Any
    weight: float
    effective_rows: float

    def __str__(self) -> str:
        weight = f"weight {self.weight:,.6g}"
        if abs(self.weight - self.effective_rows) <= 1e-9 * self.weight:
            return weight
        return f"{weight}, {self.effective_rows:,.3g} effective rows"


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature by class: the share of its variance between the classes, and its AUC alone."""

    feature: str
    between: float
    means: np.ndarray
    deviations: np.ndarray
    auc: AUCOfMoments | None


@dataclass(frozen=True, kw_only=True)
class Moments(Report):
    """The report of ``aucmax moments show``."""

    moments: str
    covariance: str
    target: str | None
    features: int
    feature_names: Sequence[str] | None
    classes: Sequence[ClassOfRows]
    guarantee: Mapping[str, Any] | None  # of differential privacy
    strata: FittedStrata | None = optional()  # within which rows are compared
    largest: Sequence[Feature]
    decisions: Sequence[Decision] | None = optional()  # how columns became features
    first: Any = unlisted()  # the positive label of the AUCs of features

    @classmethod
    def of(cls, moments: ClassStatistics, path: object, top: int = 0, first: Any = None) -> Moments:
        """Describe moments, and the features that separate the classes best.

        Parameters
        ----------
        moments : ClassStatistics
        path : path
            Their file.
        top : int
            How many features.
        first : label, optional
            Of two classes, for the AUC of each feature alone.
        """
        names = moments.feature_names or [str(j + 1) for j in range(moments.n_features)]
        between = _between(moments)
        order = np.argsort(-between, kind="stable")[:top]
        aucs = [None] * len(order) if first is None else _alone(moments, first, order)
        weights = moments.row_weights
        counts = zip(moments.classes.tolist(), weights, moments.effective_rows, strict=True)
        return cls(
            moments=str(path),
            covariance="full" if moments.has_covariances else moments.kind,
            target=moments.target_name,
            features=moments.n_features,
            feature_names=moments.feature_names,
            classes=[
                ClassOfRows(label=label, weight=weight, effective_rows=rows)
                for label, weight, rows in counts
            ],
            guarantee=moments.guarantee,
            strata=None if moments.strata is None else FittedStrata.of(moments.strata),
            largest=[
                Feature(
                    feature=names[j],
                    between=between[j],
                    means=moments.means[:, j],
                    deviations=np.sqrt(moments.variances[:, j]),
                    auc=auc,
                )
                for j, auc in zip(order, aucs, strict=True)
            ],
            first=first,
        )

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        covariance = "" if self.covariance == "full" else f" ({self.covariance})"
        facts = [("moments", self.moments), ("features", f"{self.features:,}{covariance}")]
        if self.target is not None:
            facts.append(("target", self.target))
        facts += [(f"class {group.label}", str(group)) for group in self.classes]
        if self.strata is not None:
            facts.append(("strata", self.strata.words))
        if self.guarantee is not None:
            facts.append(("private", _guarantee(self.guarantee)))
        tables = [ResultTable.facts(facts)]
        if self.largest:
            head = ("feature", *(f"mean of {group.label}" for group in self.classes), "between")
            rows = [
                (row.feature, *(f"{mean:.4g}" for mean in row.means), f"{row.between:.1%}")
                for row in self.largest
            ]
            caption = "between: the share of a feature's variance that is between the classes"
            tables.append(ResultTable(head, rows, caption))
        if aucs := [(row.feature, *row.auc.words) for row in self.largest if row.auc is not None]:
            caption = (
                f"AUC of the feature alone, {self.first} first. If normal: an estimate that "
                "assumes normality. Bound: holds for any rows with these moments"
            )
            tables.append(ResultTable(("feature", "AUC if normal", "AUC, bound"), aucs, caption))
        sections = [*decided(self.decisions or ()), Section("Moments", tables=tables)]
        return Page(f"The moments {self.moments}", "", sections)


def _alone(moments: ClassStatistics, first: Any, features: np.ndarray) -> list[AUCOfMoments]:
    """Return what the moments of two classes imply about the AUC of single features."""
    sign = 1 if first == moments.classes[1] else -1
    gap = sign * (moments.means[1] - moments.means[0])[features]
    aucs = map(moment_auc, gap, moments.variances.sum(axis=0)[features])
    return [AUCOfMoments.of(auc) for auc in aucs]


def _between(moments: ClassStatistics) -> np.ndarray:
    """Return the share of each feature's variance that lies between the classes, shape (d,)."""
    if not moments.counts.any():
        return np.zeros(moments.n_features)
    p = moments.counts / moments.counts.sum()
    between = p @ (moments.means - p @ moments.means) ** 2
    total = between + p @ moments.variances
    return between / np.where(total > 0.0, total, 1.0)


def _guarantee(guarantee: Mapping[str, Any]) -> str:
    epsilon, delta = guarantee["epsilon"], guarantee["delta"]
    promise = f"({epsilon:g}, {delta:g})" if delta else f"{epsilon:g}"
    return (
        f"{promise}-differentially private for one row more or less; the noise of the class "
        f"sizes has the standard deviation {guarantee['noise_of_counts']:.3g}"
    )
