"""The report of ``aucmax cv``: the held-out score along alpha for each of the other settings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.scoring import scoring_of
from aucmax.estimators.selection import Grid, best_cell
from aucmax.estimators.strata import FittedStrata
from aucmax.estimators.suspicions import Suspicion
from aucmax.metrics import AUCInterval
from aucmax.metrics.scored import Scored
from aucmax.report.curves import ScoredSets, ranking_figures
from aucmax.report.facts import (
    AlphaLine,
    Folds,
    Pass,
    Settings,
    TrainingRows,
    auc_with_interval,
    calibration_facts,
    calibration_of,
    dropped_text,
    read_facts,
    strata_facts,
    suspicious,
)
from aucmax.report.figures import Figure, Line, around, tuning_figure
from aucmax.report.odds import OddsTable
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.reports import Report, inline, optional, unlisted
from aucmax.report.style import stroke
from aucmax.report.text import auc_text, counted, interval_text

__all__ = ["AlphaPath", "InterruptedSearch", "Paths", "Search", "paths_of"]


@dataclass(frozen=True, kw_only=True)
class AlphaPath:
    """Held-out scores along alpha, with all other settings fixed; NaN for values not tried."""

    line: AlphaLine = inline()
    alphas: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    scores: np.ndarray  # of the folds
    best: int | None  # the place of the best alpha

    @property
    def top(self) -> float:
        """The mean score at the best alpha."""
        return -np.inf if self.best is None else float(self.mean[self.best])


def paths_of(grid: Grid, scores: np.ndarray) -> list[AlphaPath]:
    """Return the paths of a search, given its scores (folds, *grid.shape)."""
    paths = []
    for a, b, c in np.ndindex(grid.shape[:3]):
        of_path = scores[:, a, b, c]
        best = best_cell(of_path)
        paths.append(
            AlphaPath(
                line=AlphaLine(
                    **grid.losses[a]._asdict(),
                    standardize=grid.standardize[b],
                    l1_ratio=grid.l1_ratios[c],
                ),
                alphas=grid.alphas[b],
                mean=_over_folds(np.nanmean, of_path),
                std=_over_folds(np.nanstd, of_path, ddof=1),
                scores=of_path,
                best=None if best is None else best[0],
            )
        )
    return paths


def _over_folds(statistic: Callable[..., Any], scores: np.ndarray, **options: Any) -> np.ndarray:
    """Return a statistic over the folds, for each alpha; NaN if it was not tried."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(statistic(scores, axis=0, **options))


@dataclass(frozen=True)
class Paths:
    """All paths of a search, one of which contains the choice."""

    paths: Sequence[AlphaPath]
    chosen: AlphaPath
    words: str  # the name of the score

    @classmethod
    def of(cls, search: Any) -> Paths:
        """Describe a fitted `AUCClassifierCV`."""
        losses = tuple(NamedLoss(*named) for named in search.losses_)
        grid = Grid(losses, search.standardize, search.l1_ratios, search.alphas_[0])
        paths = paths_of(grid, np.asarray(search.auc_path_))
        chosen = AlphaLine(
            loss=search.loss_,
            within=search.within_,
            standardize=search.standardize_,
            l1_ratio=search.l1_ratio_,
        )
        k = [path.line for path in paths].index(chosen)
        at = int(np.argmin(np.abs(paths[k].alphas - search.alpha_)))
        paths[k] = replace(paths[k], best=at)
        return cls(paths, paths[k], scoring_of(search.scoring, search.max_fpr).words)

    def shown(self) -> dict[str, AlphaPath]:
        """Return one path by name for each loss and standardize: the chosen, or the best l1's."""
        several = len({path.line.l1_ratio for path in self.paths}) > 1
        alike: dict[tuple[NamedLoss, float], list[AlphaPath]] = {}
        for path in self.paths:
            alike.setdefault((path.line.named_loss, path.line.standardize), []).append(path)
        best = [
            max(paths, key=lambda path: (path is self.chosen, path.top)) for paths in alike.values()
        ]
        return {
            f"{path.line.named_loss}, standardize {path.line.standardize:g}"
            + (f", l1 {path.line.l1_ratio:g}" if several else ""): path
            for path in best
        }

    def table(self) -> ResultTable:
        """Return the best alpha of each path that is shown."""
        shown, rows = self.shown(), []
        for name, path in shown.items():
            k, cells = path.best, ("–", "not tried", "–")
            if k is not None:
                spread = f"{path.std[k]:.4f}" if np.isfinite(path.std[k]) else "–"
                cells = (f"{path.alphas[k]:.1e}", auc_text(path.mean[k]), spread)
            rows.append((name, *cells))
        return ResultTable(
            ("best of each", "alpha", self.words, "std"),
            rows,
            "std: the standard deviation over the folds.",
            strong=[i for i, path in enumerate(shown.values()) if path is self.chosen],
        )

    def figure(self) -> Figure:
        """Return the mean scores over alpha, with a ring around the choice."""
        shown, at = self.shown(), self.chosen.best
        assert at is not None
        losses = list(dict.fromkeys(path.line.named_loss for path in shown.values()))
        gammas = list(dict.fromkeys(path.line.standardize for path in shown.values()))
        at_choice = self.chosen.scores[:, [at]]
        lines = {
            name: Line(
                path.alphas,
                path.mean,
                around(path.mean, _over_folds(np.nanstd, path.scores - at_choice, ddof=1)),
                points=True,
                detail=f"best {path.top:.4f}",
                stroke=stroke(
                    losses.index(path.line.named_loss), gammas.index(path.line.standardize)
                ),
            )
            for name, path in shown.items()
            if path.best is not None
        }
        return tuning_figure(
            lines,
            (self.chosen.alphas[at], self.chosen.top),
            f"Mean of {len(at_choice)} folds. Ring: the choice. Band: one standard deviation over "
            "the folds, to either side, of the difference from the choice in the same fold; the "
            f"table has the standard deviation of the {self.words} itself. Its axis does not start "
            "at 0.",
            self.words,
        )


@dataclass(frozen=True, kw_only=True)
class InterruptedSearch(Report):
    """The report of ``aucmax cv`` after Ctrl-C: the folds that were done."""

    rows: TrainingRows = inline()
    scoring: str
    max_fpr: float | None
    interrupted: bool = True
    folds: int
    best: AlphaLine = inline()
    grid: Sequence[AlphaPath]

    @classmethod
    def of(
        cls, rows: TrainingRows, grid: Grid, scores: np.ndarray, scoring: str, max_fpr: float | None
    ) -> InterruptedSearch:
        """Describe the scores (folds, *grid.shape) of the folds that were done."""
        paths = paths_of(grid, scores)
        best = max(paths, key=lambda path: path.top)
        return cls(
            rows=rows, scoring=scoring, max_fpr=max_fpr, folds=len(scores), best=best.line,
            grid=paths,
        )  # fmt: skip

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        best = max(self.grid, key=lambda path: path.top)
        table = Paths(self.grid, best, scoring_of(self.scoring, self.max_fpr).words).table()
        return Page("", "", [Section("", tables=[table])])


@dataclass(frozen=True, kw_only=True)
class Search(Report):
    """The report of ``aucmax cv``."""

    rows: TrainingRows = inline()
    scoring: str
    max_fpr: float | None
    folds: Folds = inline()
    seed: int
    scale: str
    leaning: bool  # whether the choice favours alphas that are usual for this number of rows
    settings_tried: int
    chosen: Settings = inline()
    score: float
    score_std: float
    auc: float
    auc_interval: AUCInterval
    at_edge: bool
    solver: str
    objective: float
    optimality: float
    nonzero: int
    within_strata: FittedStrata | None = optional()
    probability: str | None = optional()
    odds: OddsTable | None = inline()
    grid: Sequence[AlphaPath]
    suspicions: Sequence[Suspicion] = ()
    seconds: float
    read: Sequence[Pass] | None = optional()
    model: str | None = optional()
    paths: Paths = unlisted()
    held_out: Sequence[Scored] = unlisted(())  # test sets, for curves

    @classmethod
    def of(cls, search: Any, **more: Any) -> Search:
        """Describe a fitted `AUCClassifierCV`; ``more`` are the other fields."""
        paths, best = Paths.of(search), search.best_estimator_
        chosen, at = paths.chosen, paths.chosen.best
        assert at is not None
        return cls(
            leaning=search.alphas is None,
            settings_tried=int(np.isfinite(search.auc_path_).any(axis=0).sum()),
            chosen=Settings(**vars(chosen.line), alpha=search.alpha_),
            scoring=search.scoring,
            max_fpr=search.max_fpr,
            score=float(search.best_score_),
            score_std=float(chosen.std[at]),
            auc=search.best_interval_.auc,
            auc_interval=search.best_interval_,
            at_edge=at in (0, len(chosen.alphas) - 1) and len(chosen.alphas) > 1,
            solver=best.solver_,
            objective=best.objective_,
            optimality=best.optimality_,
            nonzero=int(np.count_nonzero(best.coef_)),
            within_strata=getattr(best, "strata_", None),
            probability=calibration_of(best),
            grid=paths.paths,
            paths=paths,
            **more,
        )

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        described, folds = str(self.rows), f"{self.folds}, {self.folds.folding}"
        tried = f"{counted(self.settings_tried, 'setting')}, {self.seconds:.2f} seconds"
        if dropped := dropped_text(self.folds.dropped, self.folds.folds):
            tried += f"\n{dropped}"
        words = self.paths.words
        pooled = "" if self.within_strata is None else "; all rows of a fold, across strata"
        sections = [
            *self.rows.sections(),
            *suspicious(self.suspicions),
            Section("Chosen", tables=[self._choice()]),
            *([] if self.odds is None else [self.odds.section()]),
            Section(
                f"{words} over alpha", tables=[self.paths.table()], figures=[self.paths.figure()]
            ),
        ]
        if self.held_out:
            sections.append(
                Section(
                    "Curves on held-out rows",
                    f"The chosen settings, fitted to the training part of each fold{pooled}.",
                    figures=ranking_figures(ScoredSets({"chosen": self.held_out})),
                    on_terminal=False,
                )
            )
        return Page(
            f"Tuned on {self.rows.data}",
            f"{described}\n{folds}; {tried}",
            sections,
            provenance=provenance(command, [("data", described), ("folds", folds)], self.seed),
        )

    def _choice(self) -> ResultTable:
        """Return what was chosen, and how good it is."""
        chosen, low_high = self.chosen, interval_text(*self.auc_interval[1:3])
        within_strata = self.within_strata is not None
        edge = "; at the edge of the grid (--alphas)" if self.at_edge else ""
        score = []
        if self.scoring != "auc":
            text = f"{auc_text(self.score)} ± {self.score_std:.4f} over the folds"
            score = [(f"held-out {self.paths.words}", text)]
        return ResultTable.facts(
            [
                ("loss", str(chosen.named_loss)),
                ("standardize", f"{chosen.standardize:g}"),
                ("l1 ratio", f"{chosen.l1_ratio:g}"),
                ("alpha", f"{chosen.alpha:.3g}{edge}"),
                *score,
                ("held-out AUC", auc_with_interval(self.auc, low_high, within_strata)),
                *strata_facts(self.within_strata),
                ("refit", f"{self.solver}, optimality {self.optimality:.1e}"),
                ("weights", f"{self.nonzero:,} of {self.rows.features:,} nonzero"),
                *calibration_facts(self.probability),
                *read_facts(self.read),
                *([("saved", self.model)] if self.model else []),
            ],
            self._how_chosen(),
        )

    def _how_chosen(self) -> str:
        if self.settings_tried == 1:
            return "Only one setting was tried, so nothing was chosen on the held-out rows."
        leaning = ", favouring usual alphas for this number of rows" if self.leaning else ""
        return (
            f"Chosen among {self.settings_tried:,} settings by the mean held-out "
            f"{self.paths.words}{leaning}; its value and interval are biased upwards, being a "
            "maximum over the grid. For unbiased ones, evaluate on rows that were not used here."
        )
